#include "odt/outputs_lane.hpp"

#include <algorithm>
#include <cmath>

namespace odt {
namespace {

// How much more than its share of what may be lost the first of two dear sides is asked for: bounds
// of neighbours gain by it.
constexpr double kGenerous = 1.2;

Plan plan_of(const OutputStump& stump) {
  return stump.feature < 0 ? Plan::leaf()
                           : Plan::split(stump.feature, stump.bound, Plan::leaf(), Plan::leaf());
}

OutputAnswer answer_of(const OutputStump& stump) {
  OutputAnswer answer;
  answer.value = stump.value;
  answer.lower = stump.lower;
  answer.least = std::min(stump.value, stump.upper);
  if (stump.value < kUnbounded) answer.plan = plan_of(stump);
  return answer;
}

}  // namespace

double joined(const OutputRows& data, const OutputNode& node, const OutputFrontier::Span& span,
              std::size_t place, double limit, const OutputAnswer sides[2], Plan& plan) {
  const double value = sides[0].value + sides[1].value;
  if (!(value < limit)) return kUnbounded;
  const std::uint32_t bound = data.problem.base.ranks(span.column)[node.of(span.column)[place]];
  plan = Plan::split(static_cast<int>(span.column), bound, sides[0].plan, sides[1].plan);
  return value;
}

// ---- open cuts

OutputFrontier::OutputFrontier(const OutputRows& data, const OutputNode& node, const OutputAsk& ask,
                               const std::vector<double>& by_first)
    : data_(data),
      node_(node),
      level_(ask.level),
      strict_(data.rules().strict(ask.state)),
      places_(data.problem.base.features) {
  for (std::uint32_t f = 0; f < places_.size(); ++f) {
    if (data.rules().after(ask.state, f) < 0) continue;
    const std::uint32_t* rows = node.of(f);
    const std::uint32_t* cell = data.cells(f);
    for (std::uint32_t i = 1; i < node.rows; ++i)
      if (cell[rows[i]] > cell[rows[i - 1]]) places_[f].push_back(i);
    begin(f, places_[f].size(), ask.shape, data.problem.leaf_price,
          by_first.empty() ? 0 : by_first[f]);
  }
}

// The middle cut, or the nearest to it that leaves enough rows on both sides.
bool OutputFrontier::choose(Span& span) const {
  const auto& at = places_[span.column];
  const std::int64_t middle = (span.low + span.high) / 2;
  for (std::int64_t away = 0; away < span.high - span.low; ++away)
    for (int sign : {1, -1}) {
      const std::int64_t cut = middle + sign * away;
      if (cut <= span.low || cut >= span.high) continue;
      const std::size_t place = at[static_cast<std::size_t>(cut) - 1];
      if (place < data_.leaf_rows || node_.rows - place < data_.leaf_rows) continue;
      if (strict_ && !open_at(span.column, place)) continue;
      span.cut = static_cast<std::uint32_t>(cut);
      return true;
    }
  return false;
}

bool OutputFrontier::open_at(std::size_t feature, std::size_t place) const {
  const std::uint32_t* rows = node_.of(feature);
  return data_.rules().open(feature, data_.rank(feature, rows[place - 1]),
                            data_.rank(feature, rows[place]), level_);
}

// ---- one thread's search

OutputLane::OutputLane(const OutputRows& data, Control& control, std::size_t cache_bytes,
                       double tolerance)
    : data_(data),
      rules_(data.rules()),
      check_(data.problem.base, data.rules()),
      control_(control),
      leaf_rows_(data.leaf_rows),
      room_(cache_bytes),
      tolerance_(tolerance),
      values_(data),
      stumps_(data, values_, control, counters_, tolerance),
      pairs_(data),
      depth_two_(data, control),
      side_(data.problem.base.rows) {}

Counters OutputLane::counters() const {
  Counters found = counters_;
  found.cache_entries = cache_.size();
  return found;
}

OutputAnswer OutputLane::leaf_of(const OutputPart& part, int state, double single, double upper) {
  OutputAnswer answer;
  answer.lower = answer.least = single;
  if (sized(part.rows) && single < upper && check_.leaf(state, part.row, part.rows)) {
    answer.value = single;
    answer.plan = Plan::leaf();
  }
  return answer;
}

OutputAnswer OutputLane::solve(const OutputNode& node, const OutputAsk& ask, double upper) {
  const Shape shape = ask.shape;
  const double single = leaf(node);
  OutputAnswer answer =
      leaf_of({node.of(0), node.rows, node.sums.data()}, ask.state, single, upper);
  if (shape.depth == 0 || shape.leaves < 2 || node.rows < 2) return answer;
  if (single <= data_.problem.leaf_price + tolerance_ && answer.value < kUnbounded) {
    answer.lower = data_.problem.leaf_price;
    ++counters_.pruned_leaf;
    return answer;
  }
  if (shape.depth == 1 || shape.leaves == 2) return stump(node, ask, single, upper);
  if (ask.level > 0 && recall(node, ask, upper, answer)) return answer;
  if (pairs_.tells(shape, ask.state, node.rows)) {
    answer = of_pairs(node, ask, upper);
  } else {
    if (rules_.strict(ask.state))
      answer = ruled(node, ask, single, upper);
    else if (!depth_two_.tells(shape, ask.state, node.rows) ||
             !of_scans(node, ask, single, upper, answer))
      branch(node, ask, upper, answer);
    answer.least = std::min(answer.value, upper);
  }
  if (ask.level > 0) remember(node, ask, answer);
  return answer;
}

// Both levels at once: exact, whatever may be lost.
OutputAnswer OutputLane::of_pairs(const OutputNode& node, const OutputAsk& ask, double upper) {
  ++counters_.depth_two;
  control_.poll(pairs_.work(node.rows));
  OutputAnswer answer;
  answer.least =
      pairs_.best(node, {ask.state, ask.level, ask.shape.leaves}, answer.plan, answer.lower);
  if (answer.least < upper) answer.value = answer.least;
  return answer;
}

// The scans say what the best tree loses and where it splits first; its sides are found from there.
// False where rounding leaves no such tree.
bool OutputLane::of_scans(const OutputNode& node, const OutputAsk& ask, double single, double upper,
                          OutputAnswer& answer) {
  ++counters_.depth_two;
  Plan plan;
  const double found = depth_two_.best(node, ask.shape, ask.state, single, plan),
               limit = found + 1e-9 * (std::fabs(found) + single) + 8 * tolerance_;
  const PlanNode& first = plan.nodes.front();
  if (found - tolerance_ >= upper) {
    answer = OutputAnswer{};
  } else if (first.feature >= 0) {
    const std::uint32_t f = static_cast<std::uint32_t>(first.feature);
    const std::uint32_t *rank = data_.problem.base.ranks(f), *rows = node.of(f);
    const std::size_t place = static_cast<std::size_t>(
        std::partition_point(rows, rows + node.rows,
                             [&](std::uint32_t row) { return rank[row] < first.bound; }) -
        rows);
    const int leaves = plan.nodes[static_cast<std::size_t>(first.left)].stump ? 2 : 1;
    const double price = data_.problem.leaf_price;
    const OutputFrontier::Span span{
        f, 0, 0, 0, std::max(leaves, ask.shape.leaves - 2), {price, price}};
    OutputAnswer sides[2];
    evaluate(node, ask, span, place, limit, sides);
    OutputAnswer made;
    made.value = joined(data_, node, span, place, limit, sides, made.plan);
    if (made.value == kUnbounded) return false;
    answer = made.value < upper ? made : OutputAnswer{};
  } else if (first.stump) {
    answer = stump(node, {{1, 2}, ask.state, ask.level}, single, upper);
  }
  answer.lower = std::max(0.0, std::min(answer.value, found) - tolerance_);
  return true;
}

// The best tree under relaxed rules bounds the others, and often keeps the rules.
OutputAnswer OutputLane::ruled(const OutputNode& node, const OutputAsk& ask, double single,
                               double upper) {
  OutputAsk relaxed = ask;
  relaxed.state = rules_.relax(ask.state);
  OutputAnswer bound = solve(node, relaxed, upper);
  const std::uint32_t* rows = node.of(0);
  if (bound.value == kUnbounded ||
      check_.keeps(bound.plan, ask.state, ask.level, {rows, rows + node.rows}))
    return bound;
  OutputAnswer answer = leaf_of({rows, node.rows, node.sums.data()}, ask.state, single, upper);
  if (rules_.within(ask.state, std::min(ask.shape.depth, ask.shape.leaves - 1)) &&
      check_.split(ask.state, rows, node.rows))
    branch(node, ask, upper, answer);
  answer.lower = bound.lower;
  return answer;
}

OutputLane::Entry* OutputLane::entry(const OutputNode& node, const OutputAsk& ask) {
  const std::uint32_t* rows = node.of(0);
  return cache_.find(key_of(node.set, ask), [&](const RowPath& path) {
    return data_.at_end_of(path, rows, node.rows, node.path);
  });
}

bool OutputLane::recall(const OutputNode& node, const OutputAsk& ask, double upper,
                        OutputAnswer& answer) {
  const Entry* const at = entry(node, ask);
  if (!at) return false;
  const Entry& known = *at;
  if (known.value == kUnbounded && known.least < upper) return false;
  ++counters_.cache_hits;
  answer = OutputAnswer{};
  answer.lower = known.lower;
  answer.least = known.least;
  if (known.value < upper) {
    answer.value = known.value;
    answer.plan = known.plan;
  }
  return true;
}

void OutputLane::remember(const OutputNode& node, const OutputAsk& ask,
                          const OutputAnswer& answer) {
  const std::size_t size =
      sizeof(Entry) + 64 + node.path.bytes() + answer.plan.nodes.size() * sizeof(PlanNode);
  if (cached_ + size >= room_) return;
  Entry* known = entry(node, ask);
  if (!known) known = &cache_.add(key_of(node.set, ask), node.path);
  known->value = answer.value;
  known->lower = std::max(answer.lower, known->lower);
  known->least = answer.least;
  known->plan = answer.plan;
  cached_ += size;
}

OutputAnswer OutputLane::stump(const OutputNode& node, const OutputAsk& ask, double single,
                               double upper) {
  OutputStump one;
  one.part = {node.of(0), node.rows, node.sums.data()};
  one.state = ask.state;
  one.level = ask.level;
  one.single = single;
  one.upper = upper;
  OutputStump* const both[2] = {&one, nullptr};
  for (std::size_t i = 0; i < node.rows; ++i) side_[node.of(0)[i]] = 0;
  stumps_.solve(node, side_, both);
  return answer_of(one);
}

void OutputLane::evaluate(const OutputNode& node, const OutputAsk& ask,
                          const OutputFrontier::Span& span, std::size_t place, double limit,
                          OutputAnswer sides[2]) {
  ++counters_.cuts;
  control_.poll(node.rows);
  // No more than this: then a neighbour's cut cannot be best either.
  const double most[2] = {limit - span.bound[1], limit - span.bound[0]};
  if (ask.shape.depth == 2)
    stumps(node, ask, span, place, most, limit, sides);
  else
    deeper(node, ask, span, place, most, limit, sides);
}

// The last two levels: a stump on each side, from the node's own orders.
void OutputLane::stumps(const OutputNode& node, const OutputAsk& ask,
                        const OutputFrontier::Span& span, std::size_t place, const double most[2],
                        double limit, OutputAnswer sides[2]) {
  const std::uint32_t* rows = node.of(span.column);
  OutputStump side[2];
  const int allowed[2] = {span.leaves, ask.shape.leaves - span.leaves};
  for (int k = 0; k < 2; ++k) {
    sums_[k].assign(data_.width, 0.0);
    const std::size_t from = k == 0 ? 0 : place, to = k == 0 ? place : node.rows;
    for (std::size_t i = from; i < to; ++i) {
      side_[rows[i]] = static_cast<char>(k);
      const double* row = data_.of(rows[i]);
      for (std::size_t c = 0; c < data_.width; ++c) sums_[k][c] += row[c];
    }
    side[k].part = {rows + from, to - from, sums_[k].data()};
    side[k].state = rules_.after(ask.state, span.column);
    side[k].level = ask.level + 1;
    side[k].single = values_.leaf(side[k].part, kUnbounded);
    side[k].upper = most[k];
  }
  const auto may = [&](int k) { return allowed[k] > 1 && side[k].part.rows > 1; };
  if (!stumps_.at_once()) {
    // Where outputs are dear to find, what both may lose is shared out as leaves of them would lose
    // it.
    const double both = side[0].single + side[1].single,
                 share = both > 0 ? side[0].single / both : 0.5;
    side[0].upper = std::min(most[0], std::max(span.bound[0], limit * share * kGenerous));
    side[1].upper = std::min(most[1], std::max(span.bound[1], limit * (1 - share) * kGenerous));
  }
  const auto settle = [&](int first, int last) {
    OutputStump* asked[2] = {nullptr, nullptr};
    for (int k = first; k <= last; ++k) {
      sides[k] = leaf_of(side[k].part, side[k].state, side[k].single, side[k].upper);
      if (may(k)) asked[k] = &side[k];
    }
    if (asked[0] != nullptr || asked[1] != nullptr) stumps_.solve(node, side_, asked);
    for (int k = first; k <= last; ++k)
      if (may(k)) sides[k] = answer_of(side[k]);
  };
  if (stumps_.at_once()) return settle(0, 1);
  const double asked = side[1].upper;
  settle(0, 0);
  side[1].upper = sides[0].value < kUnbounded ? limit - sides[0].value
                                              : std::max(limit - sides[0].least, asked);
  settle(1, 1);
  if (sides[0].value < kUnbounded || sides[1].value == kUnbounded ||
      sides[0].least + sides[1].value >= limit)
    return;
  const double known = sides[0].lower;
  side[0].upper = limit - sides[1].value;
  settle(0, 0);
  sides[0].lower = std::max(sides[0].lower, known);
}

// Values of both sides bound those of all neighbours, so they are found whatever the other side
// loses.
void OutputLane::deeper(const OutputNode& node, const OutputAsk& ask,
                        const OutputFrontier::Span& span, std::size_t place, const double most[2],
                        double limit, OutputAnswer sides[2]) {
  while (levels_.size() <= ask.level) levels_.push_back(std::make_unique<Level>());
  auto& [left, right] = *levels_[ask.level];
  node.part(data_, span.column, place, left, right, side_);
  const int next = rules_.after(ask.state, span.column);
  sides[0] = solve(left, ask.below(span.leaves, next), most[0]);
  if (sides[0].lower + span.bound[1] >=
      limit) {  // closed already, and so are all cuts further right
    sides[1].lower = sides[1].least = span.bound[1];
    return;
  }
  // Beside a side without a tree, a bound is all that is wanted.
  const int other = sides[0].value < kUnbounded ? next : rules_.relax(next);
  sides[1] = solve(right, ask.below(ask.shape.leaves - span.leaves, other), most[1]);
}

void OutputLane::branch(const OutputNode& node, const OutputAsk& ask, double upper,
                        OutputAnswer& answer) {
  ++counters_.nodes;
  OutputFrontier frontier(data_, node, ask);
  OutputFrontier::Span span;
  while (frontier.pop(std::min(answer.value, upper) - tolerance_, span)) {
    OutputAnswer sides[2];
    const std::size_t place = frontier.place(span);
    const double limit = std::min(answer.value, upper) - tolerance_;
    evaluate(node, ask, span, place, limit, sides);
    answer.lower = std::min(answer.lower, std::max(sides[0].lower, span.bound[0]) +
                                              std::max(sides[1].lower, span.bound[1]));
    const double value = joined(data_, node, span, place, limit, sides, answer.plan);
    if (value < limit) answer.value = value;
    frontier.part(span, sides[0].lower, sides[1].lower);
  }
  counters_.pruned_interval += frontier.open();
  answer.lower = std::min({answer.lower, frontier.dropped(), frontier.least_bound()});
}

}  // namespace odt
