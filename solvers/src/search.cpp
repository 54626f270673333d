#include <cstdlib>

#include "odt/search.hpp"

namespace odt {

inline Hint hint_of(const Plan& plan) {
  if (plan.empty() || plan.nodes[0].feature < 0) return {};
  return {plan.nodes[0].feature, plan.nodes[0].bound};
}

View& Search::child(int level, int which) {
  const std::size_t at = 4 * static_cast<std::size_t>(level) + static_cast<std::size_t>(which);
  while (children_.size() <= at) children_.push_back(std::make_unique<View>());
  return *children_[at];
}

Outcome Search::solve(View& view, int level, Shape shape, Loss upper, Loss lower, Ask ask,
                      const Hint* hints, int hint_count) {
  if (log_) log_->last = -1;
  lower = std::max(lower, view.data().problem.leaf_price);
  if (lower >= upper) {
    ++counters.pruned_lower;
    return {lower, false, {}};
  }
  const bool last = shape.depth == 0 || shape.leaves == 1;
  if (ask.must) {
    if (last) return {kInfinite, false, {}};
  } else {
    const Loss leaf = depth_two_.leaf_loss(view);
    if (leaf <= lower || last) {
      counters.pruned_leaf += leaf <= lower;
      if (leaf >= upper) return {leaf, false, {}};
      return {leaf, true, Plan::leaf()};
    }
  }
  if (shape.depth == 1 || shape.leaves == 2) return depth_two_.stump(view, upper, ask);
  if (shape.depth == 2) return remembered(view, level, shape, upper, lower, ask, hints, hint_count);
  ++counters.nodes;
  Branch node(*this, view, level, shape, upper, lower, ask);
  const Shape flatter = odt::shape(shape.depth - 1, shape.leaves);
  const Outcome flat = solve(view, level, flatter, upper, lower, ask, hints, hint_count);
  if (log_) node.log(flat.value > lower ? flat.value : 0, log_->last);
  const Loss any =
      ask.must ? solve(view, level, flatter, upper, 0, ask.relaxed(), hints, hint_count).value
               : flat.value;
  node.begin(flat, flat.value, any, hints, hint_count);
  Branch::Task task;
  while (node.next(task)) {
    CutValue value = node.evaluate(*this, task);
    node.merge(task, value);
  }
  if (log_) log_->last = node.logged;
  return node.outcome();
}

// Depth two, unless it was solved on these rows before. Where some of them are idle, a box does not
// say which.
Outcome Search::remembered(View& view, int level, Shape shape, Loss upper, Loss lower, Ask ask,
                           const Hint* hints, int hint_count) {
  BoxCache::Box box;
  const bool kept = !memory_->boxes.off() && level > 0 && shape.leaves == 4 && ask.least == 1 &&
                    !ask.must && !view.idle() && box_of(view, level, ask.state, box);
  const BoxCache::Answer* known = kept ? memory_->boxes.find(box) : nullptr;
  if (!known && kept && common_) known = common_->boxes.find(box);
  if (known) {
    if (known->exact || known->bound >= upper) ++counters.cache_hits;
    if (known->bound >= upper) return {known->bound, false, {}};
    if (known->exact) return {known->bound, true, known->plan()};
    lower = std::max(lower, known->bound);
  }
  if (!kept || memory_->near.off()) {
    Outcome out = depth_two_.solve(view, shape, upper, lower, ask, hints, hint_count);
    if (kept) memory_->boxes.store(box, out);
    return out;
  }
  const Loss load = depth_two_.load(view);
  lower = std::max(lower, memory_->near.bound(box, load, upper));
  if (common_ && lower < upper) lower = std::max(lower, common_->near.bound(box, load, upper));
  if (lower >= upper) {
    ++counters.pruned_lower;
    return {lower, false, {}};
  }
  KnownCuts cuts;
  cuts.rows = static_cast<std::int32_t>(view.rows());
  cuts.load = load;
  Outcome out = depth_two_.solve(view, shape, upper, lower, ask, hints, hint_count,
                                 {&memory_->near, common_ ? &common_->near : nullptr, &box, &cuts});
  memory_->store(box, load, out, std::move(cuts));
  return out;
}

// False if more features are tested than a box holds.
bool Search::box_of(const View& view, int level, int state, BoxCache::Box& box) const {
  const auto above = path_.begin() + level;
  std::size_t count = 0;
  for (auto f = path_.begin(); f != above; ++f) {
    if (std::find(path_.begin(), f, *f) != f) continue;
    if (count == box.ranges.size()) return false;
    const Ranks sorted = view.sorted(*f);
    box.ranges[count++] = {static_cast<std::uint32_t>(*f), sorted[0], sorted[view.rows() - 1]};
  }
  std::sort(box.ranges.begin(), box.ranges.begin() + static_cast<long>(count));
  box.state = state;
  return true;
}

Outcome Search::sketch(View& view, Loss upper, Ask ask, double part, std::uint64_t most,
                       std::vector<BestCut>& cuts, bool& complete) {
  const Loss lower = view.data().problem.leaf_price;
  const std::uint64_t began = Control::own_work();
  const Outcome flat = solve(view, 0, shape(2, 4), upper, lower, ask, nullptr, 0);
  complete = true;
  if (flat.exact && flat.value <= lower) return flat;
  ++counters.nodes;
  Branch node(*this, view, 0, shape(3, 8), upper, lower, ask);
  node.begin(flat, flat.value, flat.value, nullptr, 0);
  const auto narrow = [&] {
    if (node.best() < upper)
      node.set_cutoff(node.best() - static_cast<Loss>(part * static_cast<double>(node.best())));
  };
  narrow();
  Branch::Task task;
  while (node.next(task)) {
    CutValue value = node.evaluate(*this, task);
    if (node.merge(task, value)) narrow();
    if (Control::own_work() - began < most) continue;
    complete = false;
    break;
  }
  cuts = node.best_cuts();
  return node.outcome();
}

// With leaves of a least size, a side is first solved without: cheaper, and a value that the subset
// bound carries on. Then with the rows up to the interval's end counted for their size, which
// bounds all cuts on the way there; then as asked. A side that must test a column may, with fewer
// rows, be left without a split on it, and then has a leaf less: the subset bound carries the
// lesser of what is asked and of any tree with a leaf less.
CutValue Search::evaluate(Branch& node, View& view, int level, std::size_t feature,
                          std::int32_t cut, const Interval& around, int number, Ask ask,
                          Loss upper) {
  ++counters.cuts;
  const Division& division = node.division(number);
  const RowWeights w = node.weights(feature);
  const Loss below = w.between(around.low, cut), above = w.between(cut, around.high);
  Loss value[2] = {std::max(around.low_left, around.high_left - above),
                   std::max(around.high_right, around.low_right - below)};
  const CutRecord& low = node.record(around.low_record);
  const CutRecord& high = node.record(around.high_record);
  const std::int32_t rows = static_cast<std::int32_t>(view.rows());
  const Ranks sorted = view.sorted(feature);
  const std::uint32_t bound = sorted[cut - 1] + 1;
  const std::uint32_t ends[2] = {around.high == rows ? View::kPad : sorted[around.high],
                                 around.low == 0 ? 0 : sorted[around.low]};
  const bool must[2] = {division.must_left, division.must_right};
  Loss any[2] = {value[0], value[1]};
  if (ask.least > 1 || must[0]) any[0] = std::max(low.any_left, high.any_left - above);
  if (ask.least > 1 || must[1]) any[1] = std::max(high.any_right, low.any_right - below);
  Loss free[2] = {std::max(low.free_left, high.free_left - above),
                  std::max(high.free_right, low.free_right - below)};
  Outcome out[2];
  bool made[2] = {false, false};
  // The smaller side first: cheaper, and its value may spare the other.
  const int first = 2 * cut <= rows ? 0 : 1;
  const bool both = ask.least > 1 || must[0] || must[1];  // views of both sides are kept
  path_.resize(std::max(path_.size(), static_cast<std::size_t>(level) + 1));
  path_[static_cast<std::size_t>(level)] = feature;
  enum { relaxed, wide, asked, kinds };
  for (int k = ask.least > 1 ? 0 : 2 * asked; k < 2 * kinds; ++k) {
    const int kind = k / 2, side = k % 2 == 0 ? first : 1 - first;
    if (kind == wide && !view.data().loss.unit()) continue;
    const Loss limit = upper - (side == 0 ? around.high_right : around.low_left);
    if (value[side] >= limit) {
      counters.pruned_lower += kind == asked;
      out[side].exact = false;
      continue;
    }
    View& part = child(level + 1, both ? 2 * (kind == wide) + side : 0);
    if (kind == wide)
      part.make_child(view, feature, ends[side], bound, side == 0);
    else if (!made[side])
      part.make_child(view, feature, bound, side == 0);
    if (!both && (side == 0 ? division.left : division.right).depth <= 2) part.scan_only();
    made[side] = made[side] || kind != wide;
    Hint hints[2] = {side == 0 ? low.left : low.right, side == 0 ? high.left : high.right};
    const Hint found = hint_of(out[side].plan);
    if (found.feature >= 0) hints[0] = found;
    const Ask this_ask =
        kind == relaxed ? ask.relaxed() : Ask{ask.least, kind == asked && must[side], ask.state};
    // A certificate has one statement at a time: what no tree at all undercuts, or what holds here.
    const Loss known = kind == asked             ? value[side]
                       : log_ && kind == relaxed ? free[side]
                                                 : any[side];
    out[side] = solve(part, level + 1, side == 0 ? division.left : division.right, limit, known,
                      this_ask, hints, found.feature >= 0 ? 1 : 2);
    if (kind == relaxed) free[side] = std::max(free[side], out[side].value);
    if (log_ && node.logged >= 0 && out[side].value > known) {
      const ProofLog::Kind as = kind == relaxed || ask.least == 1 ? ProofLog::any
                                : kind == wide                    ? ProofLog::wide
                                                                  : ProofLog::sized;
      log_->note(node.logged,
                 {static_cast<std::uint32_t>(feature), bound,
                  std::min<std::uint32_t>(ends[side], view.data().problem.distinct[feature]),
                  log_->last, out[side].value, static_cast<std::uint16_t>(number), as, side == 1});
    }
    if (kind != asked || !both) any[side] = std::max(any[side], out[side].value);
    out[side].exact = out[side].exact && kind == asked;
    value[side] = std::max(value[side], out[side].value);
  }
  for (int side = 0; side < 2 && ask.least == 1; ++side) {
    if (!must[side])
      any[side] = value[side];
    else if (made[side])
      any[side] =
          leaf_less(child(level + 1, side), level + 1, side == 0 ? division.left : division.right,
                    ask, value[side], any[side]);
  }
  CutValue result;
  result.left = value[0];
  result.right = value[1];
  result.any_left = any[0];
  result.any_right = any[1];
  result.exact = out[0].exact && out[1].exact;
  result.record = {hint_of(out[0].plan), hint_of(out[1].plan), any[0], any[1], free[0], free[1]};
  if (result.record.left.feature < 0)
    result.record.left = low.left.feature >= 0 ? low.left : high.left;
  if (result.record.right.feature < 0)
    result.record.right = high.right.feature >= 0 ? high.right : low.right;
  if (result.exact && value[0] + value[1] < node.best())
    result.plan = Plan::split(static_cast<int>(feature), bound, out[0].plan, out[1].plan);
  return result;
}

// The least of `upper` and what trees of one leaf less lose.
Loss Search::leaf_less(View& view, int level, Shape shape, Ask ask, Loss upper, Loss lower) {
  if (shape.leaves < 2) return upper;
  --shape.leaves;
  return std::min(
      upper,
      std::max(lower, solve(view, level, shape, upper, lower, ask.relaxed(), nullptr, 0).value));
}

void Branch::set_weights() {
  const Dataset& data = view_.data();
  if (data.loss.unit() && !view_.idle()) return;
  upto_.resize(view_.features());
  for (std::size_t f = 0; f < view_.features(); ++f) {
    upto_[f].assign(view_.rows() + 1, 0);
    for (std::size_t i = 0; i < view_.rows(); ++i)
      upto_[f][i + 1] =
          upto_[f][i] +
          (view_.idle()
               ? data.loss.each * static_cast<Loss>(view_.all(f)[i / kBlock] >> (i % kBlock) & 1)
               : data.loss.worst(view_.order(f)[i]));
  }
}

void Branch::begin(const Outcome& flat, Loss flat_bound, Loss any_bound, const Hint* hints,
                   int hint_count, const std::vector<BestCut>* cuts) {
  set_weights();
  if (flat.exact) offer(flat.value, flat.plan);
  const Hint first = hint_of(flat.plan);
  records_.push_back({Hint{}, first, 0, 0, 0, 0});
  records_.push_back({first, Hint{}, 0, 0, 0, 0});
  first_.assign(view_.features(), BestCut{});
  best_cuts_.assign(view_.features(), BestCut{});
  if (cuts) first_ = *cuts;
  if (first.feature >= 0) first_[static_cast<std::size_t>(first.feature)] = {-1, first};
  for (int i = 0; i < hint_count; ++i)
    if (hints[i].feature >= 0) first_[static_cast<std::size_t>(hints[i].feature)] = {-1, hints[i]};
  divide();
  const Problem& p = view_.data().problem;
  const Loss price = p.leaf_price;
  const std::int32_t rows = static_cast<std::int32_t>(view_.rows());
  for (std::size_t d = 0; d < divisions_.size(); ++d) {
    const Division& sides = divisions_[d];
    const bool neither = !sides.must_left && !sides.must_right;
    const Loss all_left = sides.must_left || neither ? flat_bound : any_bound,
               all_right = sides.must_right || neither ? flat_bound : any_bound;
    for (std::size_t f = 0; f < view_.features(); ++f) {
      if (!view_.splittable(f) || p.after(ask_.state, f) < 0) continue;
      const bool tests = ask_.must && p.tests_must(f);
      if (ask_.must && tests != neither) continue;
      const Loss left = tests ? any_bound : all_left, right = tests ? any_bound : all_right;
      push(f, static_cast<int>(d), {0, rows, price, right, left, price, 0, 1});
    }
  }
}

bool Branch::resume(const CutRecord& low, const CutRecord& high, int division) {
  set_weights();
  records_ = {low, high};
  first_.assign(view_.features(), BestCut{});
  best_cuts_.assign(view_.features(), BestCut{});
  divide();
  return division >= 0 && static_cast<std::size_t>(division) < divisions_.size();
}

// The leaves that either side may have and, if a column must be tested below, the side that does.
void Branch::divide() {
  const int half = full_leaves(shape_.depth - 1);
  for (int l = std::max(1, shape_.leaves - half); l <= std::min(half, shape_.leaves - 1); ++l) {
    const Division sides{shape(shape_.depth - 1, l), shape(shape_.depth - 1, shape_.leaves - l)};
    divisions_.push_back(sides);
    if (!ask_.must) continue;
    divisions_.push_back({sides.left, sides.right, true, false});
    divisions_.push_back({sides.left, sides.right, false, true});
  }
}

void Branch::push(std::size_t feature, int division, Interval interval) {
  const RowWeights w = weights(feature);
  settle(interval, w);
  Loss bound = interval_bound(interval, w);
  const Division& sides = divisions_[static_cast<std::size_t>(division)];
  if (bound < cutoff() && few_leaves(sides)) {
    few_leaves_.begin(view_, feature);
    bound = std::max(bound, few_leaves_.bound(interval, sides.left.leaves, sides.right.leaves));
  }
  if (bound >= cutoff()) {
    ++search_.counters.pruned_interval;
    return;
  }
  Loss promise =
      std::min(interval.low_left + interval.low_right, interval.high_left + interval.high_right);
  if (first_[feature].hint.feature >= 0) promise = first_[feature].value;
  queue_.push({std::max(bound, lower_), promise, sequence_++, feature, division, interval});
}

// In the middle half of the open cuts (the middle eighth of many), the rank that the largest power
// of two divides: nodes that test the same features in other orders then meet at the same rows.
std::int32_t Branch::aligned(std::size_t feature, OpenCuts cuts) const {
  const Ranks sorted = view_.sorted(feature);
  const std::int32_t length = cuts.last - cuts.first;
  const bool wide = 8 * static_cast<std::size_t>(length) > view_.rows();
  const std::int32_t margin = length * (wide ? 7 : 4) / 16;
  const std::uint32_t low = sorted[cuts.first + margin - 1], high = sorted[cuts.last - margin];
  if (low >= high) return cuts.first + length / 2;
  const std::uint32_t rank = high & ~((std::uint32_t{1} << (31 - __builtin_clz(low ^ high))) - 1);
  return static_cast<std::int32_t>(sorted.below(rank, view_.rows()));
}

bool Branch::next(Task& task) {
  while (!queue_.empty() && cutoff() > lower_) {
    const Open open = queue_.top();
    queue_.pop();
    if (open.bound >= cutoff()) {
      ++search_.counters.pruned_interval;
      continue;
    }
    const RowWeights w = weights(open.feature);
    OpenCuts cuts = open_cuts(open.interval, w, cutoff())
                        .within(ask_.least, static_cast<std::int32_t>(view_.rows()) - ask_.least);
    const Division& sides = division(open.division);
    if (few_leaves(sides)) {
      few_leaves_.begin(view_, open.feature);
      cuts =
          few_leaves_.narrow(open.interval, cuts, cutoff(), sides.left.leaves, sides.right.leaves);
    }
    if (cuts.first > open.interval.low + 1 || cuts.last < open.interval.high - 1)
      ++search_.counters.pruned_neighbour;
    if (cuts.first > cuts.last) continue;
    std::int32_t want = level_ > 0 || shape_.depth > 3 ? aligned(open.feature, cuts)
                                                       : cuts.first + (cuts.last - cuts.first) / 2;
    Hint& hint = first_[open.feature].hint;
    if (hint.feature >= 0) {
      const Ranks sorted = view_.sorted(open.feature);
      want = static_cast<std::int32_t>(sorted.below(hint.bound, view_.rows()));
      want = std::max(cuts.first, std::min(cuts.last, want));
      hint.feature = -1;
    }
    const std::int32_t cut = nearest_cut(view_.ends(open.feature), want, cuts.first, cuts.last);
    if (cut < 0) continue;
    task = {open.feature, cut, open.division, open.interval};
    return true;
  }
  return false;
}

bool Branch::merge(const Task& task, CutValue& value) {
  const bool better = value.exact && value.left + value.right < best_;
  met(task.feature,
      {value.left + value.right,
       {static_cast<int>(task.feature), view_.sorted(task.feature)[task.cut - 1] + 1u}});
  if (better) offer(value.left + value.right, value.plan);
  const int record = static_cast<int>(records_.size());
  records_.push_back(value.record);
  const Interval& i = task.interval;
  push(task.feature, task.division,
       {i.low, task.cut, i.low_left, i.low_right, value.left,
        std::max(i.high_right, value.any_right), i.low_record, record});
  push(task.feature, task.division,
       {task.cut, i.high, std::max(i.low_left, value.any_left), value.right, i.high_left,
        i.high_right, record, i.high_record});
  return better;
}

void Branch::met(std::size_t feature, const BestCut& cut) {
  if (cut.value < best_cuts_[feature].value) best_cuts_[feature] = cut;
}

Rest Branch::rest(std::size_t feature) {
  Rest rest{{}, std::move(records_), best_cuts_[feature], best_ < upper_, best_, plan_};
  for (; !queue_.empty(); queue_.pop())
    if (queue_.top().bound < cutoff()) rest.open.push_back(queue_.top().interval);
  return rest;
}

bool Branch::merge(const Task& task, const Rest& rest) {
  const bool better = rest.better && rest.value < best_;
  met(task.feature, rest.cut);
  if (better) offer(rest.value, rest.plan);
  const int ends[2] = {task.interval.low_record, task.interval.high_record};
  const int more = static_cast<int>(records_.size()) - 2;
  records_.insert(records_.end(), rest.records.begin() + 2, rest.records.end());
  for (Interval part : rest.open) {
    for (int* record : {&part.low_record, &part.high_record})
      *record = *record < 2 ? ends[*record] : *record + more;
    push(task.feature, task.division, part);
  }
  return better;
}

}  // namespace odt
