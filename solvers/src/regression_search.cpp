#include "odt/regression_search.hpp"

#include <algorithm>

namespace odt {

namespace {
SubProblem key_of(const RegressionView& view, RealAsk ask) {
  return {view.set, ask.shape.depth, ask.shape.leaves, ask.state};
}
}  // namespace

RegressionCache::Entry* RegressionCache::entry(const RegressionView& view, const SubProblem& key) {
  return entries_.find(key, [&](const RowPath& path) { return view.at_end_of(data_, path); });
}

const RealOutcome* RegressionCache::find(const RegressionView& view, RealAsk ask) {
  return entry(view, key_of(view, ask));
}

void RegressionCache::store(const RegressionView& view, RealAsk ask, const RealOutcome& outcome) {
  const std::size_t size = sizeof(SubProblem) + sizeof(Entry) + 32 + view.path.bytes() +
                           outcome.plan.nodes.size() * sizeof(PlanNode);
  if (bytes_ + size > limit_) return;
  const SubProblem key = key_of(view, ask);
  Entry* known = entry(view, key);
  if (known && (known->exact || (!outcome.exact && outcome.value <= known->value))) return;
  if (!known) known = &entries_.add(key, view.path);
  bytes_ += size;
  static_cast<RealOutcome&>(*known) = outcome;
}

Frontier::Frontier(const RegressionData& data, const RegressionView& view,
                   const std::vector<double>& splits, RealAsk ask)
    : splits_(splits), shape_(ask.shape) {
  std::size_t first = 0;
  for (const auto& column : view.columns) {
    first_.push_back(first);
    first += column.values - 1;
    state_.push_back(data.after(ask.state, column.column));
  }
  for (std::uint32_t k = 0; k < view.columns.size(); ++k)
    if (state_[k] >= 0) begin(k, view.columns[k].values - 1, shape_, data.problem.leaf_price);
}

RealAsk Frontier::side(const Span& span, int k) const {
  return {odt::shape(shape_.depth - 1, k == 0 ? span.leaves : shape_.leaves - span.leaves),
          state_[span.column]};
}

void LastSplits::list(const RegressionData& data, const RegressionView& view, int state) {
  of.assign(view.columns.size(), always);
  const NumberRules& rules = data.rules();
  if (rules.none()) return;
  const int beside = rules.relax(state);
  for (std::size_t k = 0; k < of.size(); ++k) {
    const int after = data.after(state, view.columns[k].column);
    if (after >= 0 && rules.ends(after)) continue;
    of[k] = beside != state && data.after(beside, view.columns[k].column) >= 0 ? relaxed : never;
  }
}

std::unique_ptr<RegressionScan> make_scan(const RegressionData& data, Control& control) {
  return data.problem.absolute() ? make_absolute_scan(data, control)
                                 : make_mean_scan(data, control);
}

RegressionSearch::RegressionSearch(const RegressionData& data, Control& control,
                                   std::size_t cache_bytes)
    : data_(data),
      control_(control),
      tolerance_(data.tolerance),
      scan_(make_scan(data, control)),
      cache_(data, cache_bytes) {}

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
  const auto split = [&](int column, std::uint32_t cut, const Plan& below, const Plan& beside) {
    const std::size_t k = static_cast<std::size_t>(column);
    return Plan::split(view.feature(data_, k), view.bound(data_, k, cut), below, beside);
  };
  const auto side = [&](std::size_t k) {
    if (!pick.stump[k]) return Plan::leaf();
    return pick.third[k] < 0 ? Plan::stump()
                             : split(pick.third[k], 1, Plan::leaf(), Plan::leaf());
  };
  return split(pick.column, pick.cut, side(0), side(1));
}

Plan RegressionSearch::plan_of(const RegressionView& view, const ThreeLevels& found) const {
  const auto side = [&](const Pick& pick) {
    return pick.column >= 0 ? plan_of(view, pick) : Plan::leaf();
  };
  const std::size_t k = static_cast<std::size_t>(found.column);
  return Plan::split(view.feature(data_, k), view.bound(data_, k, 1), side(found.side[0]),
                     side(found.side[1]));
}

RealOutcome RegressionSearch::join(const RegressionView& view, const Cut& cut) const {
  if (!cut.side[0].exact || !cut.side[1].exact) return {cut.value[0] + cut.value[1], false, {}};
  return {cut.side[0].value + cut.side[1].value, true,
          Plan::split(view.feature(data_, cut.span.column),
                      view.bound(data_, cut.span.column, cut.span.cut), cut.side[0].plan,
                      cut.side[1].plan)};
}

// What is known of a sub-problem before it is searched; at least `enough` would close it.
double RegressionSearch::bound(const RegressionView& view, RealAsk ask, double lower, double enough,
                               double hopeless) {
  if (const RealOutcome* known = cache_.find(view, ask)) return std::max(lower, known->value);
  if (ask.shape.depth < 2 || ask.shape.leaves < 3 || lower >= enough) return lower;
  return std::max(lower, scan_->clusters(view, ask.shape.leaves, enough, hopeless));
}

void RegressionSearch::evaluate(const RegressionView& view, int level, const Frontier& frontier,
                                double upper, Cut& cut) {
  ++counters_.cuts;
  const Frontier::Span& span = cut.span;
  auto& views = views_at(level);
  RegressionView::part(data_, view, span.column, span.cut, views);
  for (int k = 0; k < 2; ++k) cut.value[k] = span.bound[k];
  // A side that is too small for a leaf has no tree.
  const double fewest = std::min(views[0].total.n, views[1].total.n);
  if (data_.rules().strict(frontier.side(span, 0).state) && fewest < data_.leaf_least) {
    cut.side[0] = cut.side[1] = RealOutcome{};
    return;
  }
  const int first = views[0].points <= views[1].points ? 0 : 1;
  for (int k : {1 - first, first}) {
    // The second bound must close what the first has left open.
    const double enough = upper - cut.value[1 - k];
    RealAsk ask = frontier.side(span, k);
    ask.state = data_.rules().relax(ask.state);
    cut.value[k] = bound(views[static_cast<std::size_t>(k)], ask, cut.value[k], enough,
                         k == first ? enough : -kNever);
  }
  const bool open = solve_sides(view, level, frontier, upper, true, cut.value, cut);
  if (!data_.rules().strict(frontier.side(span, 0).state)) return;
  cut.side[0] = cut.side[1] = RealOutcome{};
  double value[2] = {cut.value[0], cut.value[1]};
  if (open) solve_sides(view, level, frontier, upper, false, value, cut);
}

// Both sides of a cut in their states, or the ones these relax to, while the known losses may still
// beat `upper`; whether they may at the end.
bool RegressionSearch::solve_sides(const RegressionView& view, int level, const Frontier& frontier,
                                   double upper, bool relaxed, double (&value)[2], Cut& cut) {
  const Frontier::Span& span = cut.span;
  auto& views = views_at(level);
  // Solved up to the whole incumbent where cuts have neighbours: exact losses close more of them
  // than tight limits save.
  const bool wide = relaxed && view.columns[span.column].values > 2;
  const int first = views[0].points <= views[1].points ? 0 : 1;
  for (int k : {first, 1 - first}) {
    if (value[0] + value[1] >= upper - tolerance_) {
      ++counters_.pruned_lower;
      return false;
    }
    RegressionView& side = views[static_cast<std::size_t>(k)];
    RealAsk ask = frontier.side(span, k);
    if (relaxed) ask.state = data_.rules().relax(ask.state);
    if (ask.shape.depth == 2 && ask.shape.leaves > 2 && scan_->tells_sides(view))
      cut.side[k] = solve_side(side, view, span, k, ask, value[k]);
    else
      cut.side[k] =
          solve(side, view, level + 1, ask, wide ? upper : upper - value[1 - k], value[k]);
    value[k] = std::max(value[k], cut.side[k].value);
  }
  return value[0] + value[1] < upper - tolerance_;
}

// A side of depth two by what the scan keeps of the node.
RealOutcome RegressionSearch::solve_side(const RegressionView& side, const RegressionView& view,
                                         const Frontier::Span& span, int k, RealAsk ask,
                                         double lower) {
  const double leaf = ends(side, ask.state) ? scan_->leaf(side) : kNever;
  if (leaf <= lower + tolerance_) return {leaf, true, Plan::leaf()};
  if (!data_.splits(ask.state, side.total.n)) return {leaf, leaf < kNever, Plan::leaf()};
  if (const RealOutcome* known = cache_.find(side, ask); known && known->exact) {
    ++counters_.cache_hits;
    return *known;
  }
  Pick pick;
  pick.value = leaf;
  scan_->side_depth_two(view, span.column, k == 0, ask.shape.leaves, ask.state, pick);
  const RealOutcome out{pick.value, pick.value < kNever,
                        pick.column >= 0 ? plan_of(view, pick) : Plan::leaf()};
  cache_.store(side, ask, out);
  return out;
}

RealOutcome RegressionSearch::solve(RegressionView& view, const RegressionView& parent, int level,
                                    RealAsk ask, double upper, double lower) {
  const Shape& s = ask.shape;
  const bool single = s.depth == 0 || s.leaves == 1 || !data_.splits(ask.state, view.total.n);
  if (ends(view, ask.state)) {
    const double leaf = scan_->leaf(view);
    if (single || leaf <= lower + tolerance_) return {leaf, true, Plan::leaf()};
  } else if (single) {
    return {kNever, false, {}};
  }
  if (lower >= upper - tolerance_) return {lower, false, {}};
  const bool cached = s.depth > 1 && s.leaves > 2;
  if (cached) {
    if (const RealOutcome* known = cache_.find(view, ask)) {
      if (known->exact || known->value >= upper) {
        ++counters_.cache_hits;
        return *known;
      }
    }
  }
  if (view.source != &view) {
    view.make_points(parent);
    view.make_columns(parent);
  }
  const RealOutcome out = search(view, level, ask, upper, lower);
  if (cached) cache_.store(view, ask, out);
  return out;
}

RealOutcome RegressionSearch::search(const RegressionView& view, int level, RealAsk ask,
                                     double upper, double lower) {
  const Shape& s = ask.shape;
  RealOutcome best{upper, false, {}};
  const auto offer = [&](double value, const Plan& plan) {
    if (value < best.value - tolerance_) best = {value, true, plan};
  };
  const double leaf = ends(view, ask.state) ? scan_->leaf(view) : kNever;
  if (s.depth == 0 || s.leaves == 1 || view.columns.empty() ||
      !data_.splits(ask.state, view.total.n))
    return {leaf, leaf < kNever, Plan::leaf()};
  if (s.depth > 1 && s.leaves > 2)
    scan_->tells_sides(view);  // sums that the stump is told from, too
  const Pick stump = scan_->stump(view, ask.state);
  if (s.depth == 1 || s.leaves == 2) {
    if (stump.value < leaf - tolerance_) return {stump.value, true, Plan::stump()};
    return {leaf, leaf < kNever, Plan::leaf()};
  }
  offer(leaf, Plan::leaf());
  offer(stump.value, Plan::stump());
  if (best.value <= lower + tolerance_) return best;
  if (s.depth == 2) {
    Pick pick;
    pick.value = best.value;
    scan_->depth_two(view, s.leaves, ask.state, pick);
    if (pick.column >= 0) best = {pick.value, true, plan_of(view, pick)};
    return best;
  }
  // A shallower tree first: often most of the way, at a small part of the cost.
  RealOutcome flat =
      search(view, level, {shape(s.depth - 1, s.leaves), ask.state}, best.value, lower);
  if (flat.exact && flat.value < best.value) best = std::move(flat);
  if (best.value <= lower + tolerance_) return best;
  // Of few points bounds by their targets leave less to do, which counts do not have.
  const bool many = data_.problem.poisson() || view.points >= 2 * view.columns.size();
  if (s.depth == 3 && many && scan_->tells_three(view)) {
    ThreeLevels found;
    found.value = best.value;
    scan_->depth_three(view, s.leaves, ask.state, found);
    if (found.column >= 0) best = {found.value, true, plan_of(view, found)};
    return best;
  }
  return branch(view, level, ask, std::move(best), lower);
}

RealOutcome RegressionSearch::branch(const RegressionView& view, int level, RealAsk ask,
                                     RealOutcome best, double lower) {
  ++counters_.nodes;
  scan_->stump(view, ask.state);
  Frontier frontier(data_, view, scan_->splits, ask);
  Cut cut;
  while (best.value > lower + tolerance_ && frontier.pop(best.value - tolerance_, cut.span)) {
    cut.side[0] = cut.side[1] = RealOutcome{};
    evaluate(view, level, frontier, best.value, cut);
    RealOutcome made = join(view, cut);
    if (made.exact && made.value < best.value - tolerance_) best = std::move(made);
    frontier.part(cut.span, cut.value[0], cut.value[1]);
  }
  counters_.pruned_interval += frontier.open();
  return best;
}

}  // namespace odt
