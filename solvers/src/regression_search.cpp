#include "odt/regression_search.hpp"

#include <algorithm>

namespace odt {

PointSet RegressionCache::key(const PointSet& set, Shape shape) {
  const std::uint64_t mark =
      static_cast<std::uint64_t>(shape.depth) << 32 | static_cast<std::uint32_t>(shape.leaves);
  return {set.low ^ mark * 0x9e3779b97f4a7c15ULL, set.high ^ mark * 0xd6e8feb86659fd93ULL};
}

const RealOutcome* RegressionCache::find(const PointSet& set, Shape shape) const {
  const auto at = entries_.find(key(set, shape));
  return at == entries_.end() ? nullptr : &at->second;
}

void RegressionCache::store(const PointSet& set, Shape shape, const RealOutcome& outcome) {
  const std::size_t size =
      sizeof(PointSet) + sizeof(RealOutcome) + 32 + outcome.plan.nodes.size() * sizeof(PlanNode);
  if (bytes_ + size > limit_) return;
  RealOutcome& entry =
      entries_.try_emplace(key(set, shape), RealOutcome{0, false, {}}).first->second;
  if (entry.exact || (!outcome.exact && outcome.value <= entry.value)) return;
  bytes_ += size;
  entry = outcome;
}

Frontier::Frontier(const RegressionView& view, const std::vector<double>& splits, Shape shape,
                   double price)
    : splits_(splits), shape_(shape) {
  std::size_t first = 0;
  for (const auto& column : view.columns) {
    first_.push_back(first);
    first += column.values - 1;
  }
  const int half = full_leaves(shape.depth - 1);
  for (int l = std::max(1, shape.leaves - half); l <= std::min(half, shape.leaves - 1); ++l)
    for (std::uint32_t k = 0; k < view.columns.size(); ++k)
      push({k, 0, view.columns[k].values, 0, l, {price, price}, 0});
}

Shape Frontier::side(const Span& span, int k) const {
  return odt::shape(shape_.depth - 1, k == 0 ? span.leaves : shape_.leaves - span.leaves);
}

bool Frontier::later(const Span& a, const Span& b) {
  return a.least() != b.least() ? a.least() > b.least() : a.split > b.split;
}

void Frontier::push(Span span) {
  if (span.high - span.low < 2) return;
  span.cut = (span.low + span.high) / 2;
  span.split = splits_[first_[span.column] + span.cut - 1];
  heap_.push_back(span);
  std::push_heap(heap_.begin(), heap_.end(), later);
}

bool Frontier::pop(double limit, Span& span) {
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    span = heap_.back();
    heap_.pop_back();
    if (span.least() < limit) return true;
    ++pruned;
  }
  return false;
}

void Frontier::part(const Span& span, double below, double beside) {
  Span low = span, high = span;
  low.high = high.low = span.cut;
  low.bound[1] = std::max(beside, span.bound[1]);
  high.bound[0] = std::max(below, span.bound[0]);
  push(low);
  push(high);
}

double Frontier::least_bound() const { return heap_.empty() ? kNever : heap_.front().least(); }

std::unique_ptr<RegressionScan> make_scan(const RegressionData& data, Control& control) {
  return data.problem.absolute() ? make_absolute_scan(data, control)
                                 : make_mean_scan(data, control);
}

RegressionSearch::RegressionSearch(const RegressionData& data, Control& control,
                                   std::size_t cache_bytes)
    : data_(data),
      control_(control),
      price_(data.problem.leaf_price),
      tolerance_(data.tolerance),
      scan_(make_scan(data, control)),
      cache_(cache_bytes) {}

Counters RegressionSearch::counters() const {
  Counters all = counters_;
  all.add(scan_->counters);
  all.cache_entries = cache_.size();
  return all;
}

RegressionSearch::Views& RegressionSearch::views_at(int level) {
  while (static_cast<int>(views_.size()) <= level) views_.push_back(std::make_unique<Pair>());
  return views_[static_cast<std::size_t>(level)]->views;
}

Plan RegressionSearch::plan_of(const RegressionView& view, const Pick& pick) const {
  const std::size_t k = static_cast<std::size_t>(pick.column);
  return Plan::split(view.feature(data_, k), view.bound(data_, k, pick.cut),
                     pick.stump[0] ? Plan::stump() : Plan::leaf(),
                     pick.stump[1] ? Plan::stump() : Plan::leaf());
}

RealOutcome RegressionSearch::join(const RegressionView& view, const Cut& cut) const {
  if (!cut.side[0].exact || !cut.side[1].exact) return {cut.value[0] + cut.value[1], false, {}};
  return {cut.side[0].value + cut.side[1].value, true,
          Plan::split(view.feature(data_, cut.span.column),
                      view.bound(data_, cut.span.column, cut.span.cut), cut.side[0].plan,
                      cut.side[1].plan)};
}

// What is known of a sub-problem before it is searched; at least `enough` would close it.
double RegressionSearch::bound(const RegressionView& view, Shape shape, double lower, double enough,
                               double hopeless) {
  if (const RealOutcome* known = cache_.find(view.set, shape)) return std::max(lower, known->value);
  if (shape.depth < 2 || shape.leaves < 3 || lower >= enough) return lower;
  return std::max(lower, scan_->clusters(view, shape.leaves, enough, hopeless));
}

void RegressionSearch::evaluate(const RegressionView& view, int level, const Frontier& frontier,
                                double upper, Cut& cut) {
  ++counters_.cuts;
  const Frontier::Span& span = cut.span;
  auto& views = views_at(level);
  RegressionView::part(data_, view, span.column, span.cut, views);
  for (int k = 0; k < 2; ++k) cut.value[k] = span.bound[k];
  // Solved up to the whole incumbent where cuts have neighbours: exact losses close more of them
  // than tight limits save.
  const bool wide = view.columns[span.column].values > 2;
  const int first = views[0].points <= views[1].points ? 0 : 1;
  for (int k : {1 - first, first}) {
    // The second bound must close what the first has left open.
    const double enough = upper - cut.value[1 - k];
    cut.value[k] = bound(views[static_cast<std::size_t>(k)], frontier.side(span, k), cut.value[k],
                         enough, k == first ? enough : -kNever);
  }
  for (int k : {first, 1 - first}) {
    if (cut.value[0] + cut.value[1] >= upper - tolerance_) {
      ++counters_.pruned_lower;
      return;
    }
    RegressionView& side = views[static_cast<std::size_t>(k)];
    const Shape shape = frontier.side(span, k);
    if (shape.depth == 2 && shape.leaves > 2 && scan_->tells_sides(view))
      cut.side[k] = solve_side(side, view, span, k, shape, cut.value[k]);
    else
      cut.side[k] = solve(side, view, level + 1, shape, wide ? upper : upper - cut.value[1 - k],
                          cut.value[k]);
    cut.value[k] = std::max(cut.value[k], cut.side[k].value);
  }
}

// A side of depth two by what the scan keeps of the node.
RealOutcome RegressionSearch::solve_side(const RegressionView& side, const RegressionView& view,
                                         const Frontier::Span& span, int k, Shape s, double lower) {
  const double leaf = scan_->leaf(side);
  if (leaf <= lower + tolerance_) return {leaf, true, Plan::leaf()};
  if (const RealOutcome* known = cache_.find(side.set, s); known && known->exact) {
    ++counters_.cache_hits;
    return *known;
  }
  Pick pick;
  pick.value = leaf;
  scan_->side_depth_two(view, span.column, k == 0, s.leaves, pick);
  const RealOutcome out{pick.value, true, pick.column >= 0 ? plan_of(view, pick) : Plan::leaf()};
  cache_.store(side.set, s, out);
  return out;
}

RealOutcome RegressionSearch::solve(RegressionView& view, const RegressionView& parent, int level,
                                    Shape s, double upper, double lower) {
  const double leaf = scan_->leaf(view);
  if (s.depth == 0 || s.leaves == 1) return {leaf, true, Plan::leaf()};
  if (leaf <= lower + tolerance_) return {leaf, true, Plan::leaf()};
  if (lower >= upper - tolerance_) return {lower, false, {}};
  const bool cached = s.depth > 1 && s.leaves > 2;
  if (cached) {
    if (const RealOutcome* known = cache_.find(view.set, s)) {
      if (known->exact || known->value >= upper) {
        ++counters_.cache_hits;
        return *known;
      }
    }
  }
  view.make_points(parent);
  view.make_columns(parent);
  const RealOutcome out = search(view, level, s, upper, lower);
  if (cached) cache_.store(view.set, s, out);
  return out;
}

RealOutcome RegressionSearch::search(const RegressionView& view, int level, Shape s, double upper,
                                     double lower) {
  RealOutcome best{upper, false, {}};
  const auto offer = [&](double value, const Plan& plan) {
    if (value < best.value - tolerance_) best = {value, true, plan};
  };
  const double leaf = scan_->leaf(view);
  if (s.depth == 0 || s.leaves == 1 || view.columns.empty()) return {leaf, true, Plan::leaf()};
  if (s.depth > 1 && s.leaves > 2)
    scan_->tells_sides(view);  // sums that the stump is told from, too
  const Pick stump = scan_->stump(view);
  if (s.depth == 1 || s.leaves == 2) {
    if (stump.value < leaf - tolerance_) return {stump.value, true, Plan::stump()};
    return {leaf, true, Plan::leaf()};
  }
  offer(leaf, Plan::leaf());
  offer(stump.value, Plan::stump());
  if (best.value <= lower + tolerance_) return best;
  if (s.depth == 2) {
    Pick pick;
    pick.value = best.value;
    scan_->depth_two(view, s.leaves, pick);
    if (pick.column >= 0) best = {pick.value, true, plan_of(view, pick)};
    return best;
  }
  // A shallower tree first: often most of the way, at a small part of the cost.
  RealOutcome flat = search(view, level, shape(s.depth - 1, s.leaves), best.value, lower);
  if (flat.exact && flat.value < best.value) best = std::move(flat);
  if (best.value <= lower + tolerance_) return best;
  return branch(view, level, s, std::move(best), lower);
}

RealOutcome RegressionSearch::branch(const RegressionView& view, int level, Shape s,
                                     RealOutcome best, double lower) {
  ++counters_.nodes;
  scan_->stump(view);
  Frontier frontier(view, scan_->splits, s, price_);
  Cut cut;
  while (best.value > lower + tolerance_ && frontier.pop(best.value - tolerance_, cut.span)) {
    cut.side[0] = cut.side[1] = RealOutcome{};
    evaluate(view, level, frontier, best.value, cut);
    RealOutcome made = join(view, cut);
    if (made.exact && made.value < best.value - tolerance_) best = std::move(made);
    frontier.part(cut.span, cut.value[0], cut.value[1]);
  }
  counters_.pruned_interval += frontier.pruned;
  return best;
}

}  // namespace odt
