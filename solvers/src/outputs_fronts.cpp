#include "odt/outputs_fronts.hpp"

#include <algorithm>
#include <cmath>

namespace odt {

// ---- what is compared, and what no tree gets rid of again

OutputFronts::OutputFronts(const OutputRows& data, OutputLane& lane, Control& control,
                           std::size_t memory, double tolerance,
                           const std::vector<double>& by_first, Found found)
    : data_(data),
      rules_(data.rules()),
      model_(data.problem.model),
      lane_(lane),
      control_(control),
      leaf_rows_(data.leaf_rows),
      memory_(memory),
      tolerance_(tolerance),
      found_(std::move(found)),
      parts_(data.problem),
      check_(data.problem.base, data.rules()),
      slack_(model_.components, kUnbounded),
      side_(data.problem.base.rows),
      values_(model_.components),
      triples_(data, lane.pairs()) {
  keep_by_first(by_first);
  if (!model_.monotone.empty())
    monotone_ = std::make_unique<Monotone>(model_.monotone, model_.space, data.problem.base.rows,
                                           predicted_, data.targets);
  plain_means_ = data.problem.loss != OutputLoss::absolute && data.free();
  const std::size_t n = model_.components;
  std::vector<char> compared(n, 0), rising(n, 1);
  for (std::size_t k = 0; k < n; ++k) {
    const auto at_least_zero = [](const auto& all) {
      return std::all_of(all.begin(), all.end(), [](auto one) { return one >= 0; });
    };
    const auto split = model_.split.begin() + static_cast<std::ptrdiff_t>(k * model_.columns);
    rising[k] = model_.leaf[k] >= 0 && at_least_zero(model_.path_delta[k]) &&
                std::all_of(split, split + static_cast<std::ptrdiff_t>(model_.columns),
                            [](double one) { return one >= 0; });
    for (std::size_t i = 0; i < data.problem.base.rows && model_.path_sum[k] >= 0; ++i)
      rising[k] = rising[k] && rules_.value[i * static_cast<std::size_t>(rules_.sums) +
                                            static_cast<std::size_t>(model_.path_sum[k])] >= 0;
  }
  for (const NumberMeasure& one : model_.measures)
    for (const auto* parts : {&one.factor, &one.weight})
      for (double part : *parts)
        if (part < 0) rising[static_cast<std::size_t>(one.component)] = 0;
  if (lane.pairs().ready() && lane.pairs().measures() && !monotone_ && !goal()) round_measures();
  for (const auto& clause : model_.clauses)
    for (const NumberLiteral& one : clause) {
      if (one.component < 0) {
        (one.positive ? order_.wanted : order_.unwanted) |= std::uint64_t{1} << one.fact;
        if (clause.size() == 1 && !one.positive) forbidden_ |= std::uint64_t{1} << one.fact;
        continue;
      }
      const std::size_t k = static_cast<std::size_t>(one.component);
      compared[k] = 1;
      if (clause.size() == 1 && rising[k])
        slack_[k] = std::min(slack_[k], one.at_most + (rounded_.empty() ? 0 : rounded_[k]));
    }
  rising_ = true;
  for (const NumberTerm& term : model_.goal) {
    if (term.component < 0) {
      order_.unwanted |= std::uint64_t{1} << term.fact;
      continue;
    }
    compared[static_cast<std::size_t>(term.component)] = 1;
    rising_ = rising_ && rising[static_cast<std::size_t>(term.component)];
  }
  for (std::size_t k = 0; k < n; ++k)
    if (compared[k]) order_.components.push_back(k);
}

// What is known of trees by their first cuts.
void OutputFronts::keep_by_first(const std::vector<double>& by_cut) {
  if (by_cut.empty()) return;
  const Problem& base = data_.problem.base;
  const std::vector<std::size_t> first = first_cuts(base);
  by_first_.assign(base.features, kUnbounded);
  for (std::size_t f = 0; f < base.features; ++f)
    for (std::size_t k = first[f]; k < first[f + 1]; ++k)
      by_first_[f] = std::min(by_first_[f], by_cut[k]);
  for (const OutputPairs::Column& one : lane_.pairs().columns())
    by_column_.push_back(by_cut[first[one.feature] + one.bound - 1]);
}

// Measures that are told from sums over pairs of cuts, and the bounds on them that hold alone.
void OutputFronts::round_measures() {
  rounded_.assign(model_.components, 0.0);
  for (std::size_t m = 0; m < model_.measures.size(); ++m) {
    const std::size_t k = static_cast<std::size_t>(model_.measures[m].component);
    rounded_[k] = lane_.pairs().rounding(m);
    double most = kUnbounded;
    if (!lane_.pairs().summed(m)) continue;
    for (const auto& clause : model_.clauses)
      if (clause.size() == 1 && clause[0].component == static_cast<int>(k))
        most = std::min(most, clause[0].at_most);
    if (most < kUnbounded) caps_.push_back({m, most + rounded_[k], rounded_[k] + 1e-290});
  }
}

// Whether a tree keeps the rules, up to the rounding of measures.
bool OutputFronts::nearly_holds(std::uint64_t facts, const double* values) const {
  if (rounded_.empty()) return model_.holds(facts, values);
  std::vector<double> least(values, values + model_.components);
  for (std::size_t k = 0; k < least.size(); ++k) least[k] -= rounded_[k];
  return model_.holds(facts, least.data());
}

bool OutputFronts::within(std::uint64_t facts, const double* values) const {
  if (facts & forbidden_) return false;
  for (std::size_t k = 0; k < slack_.size(); ++k)
    if (values[k] > slack_[k]) return false;
  return !goal() || !rising_ || NumberModel::sum(model_.goal, facts, values) < best;
}

void OutputFronts::poll(std::uint64_t work) {
  control_.poll(work);
  const std::size_t made = steps_.size() * sizeof(ArenaNode) + predicted_.size() * sizeof(double);
  if (bytes_ + made + (monotone_ ? monotone_->bytes() : 0) > memory_) throw Stop{};
}

// What the loss of a node's tree stays below: prices may be rewards.
double OutputFronts::limit(const OutputAsk& ask, double budget) const {
  return budget - model_.least_price(ask.shape.leaves);
}

// ---- whole trees

void OutputFronts::search(const OutputNode& root, const OutputAsk& ask, double budget) {
  order_.value = budget < kUnbounded || !goal();
  NumberFront front = front_at(0);
  leaf(root, ask, budget, front);
  if (ask.shape.depth == 0 || ask.shape.leaves < 2 || root.rows < 2 ||
      !check_.split(ask.state, root.of(0), root.rows))
    return;
  if (ask.shape.depth == 1 || ask.shape.leaves == 2)
    stumps(root, ask, budget, front);
  else
    branch(root, ask, budget, front);
}

void OutputFronts::consider(const NumberEntry& e, const double* values, const Split* split,
                            int left, int right) {
  if (!nearly_holds(e.facts, values)) return;
  const double value = goal() ? NumberModel::sum(model_.goal, e.facts, values) : e.value;
  if (!(value < best)) return;
  Plan plan = Plan::leaf();
  if (split != nullptr)
    plan = Plan::split(split->feature, split->bound, plan_of(left), plan_of(right));
  if (!rounded_.empty()) {
    std::vector<double> exact;
    const std::uint64_t facts = parts_.measure(plan, data_.used, exact);
    if (!model_.holds(facts, exact.data())) return;
  }
  best = value;
  found_(value, plan);
}

Plan OutputFronts::plan_of(int step) const {
  if (step < 0) return Plan::leaf();
  const ArenaNode& s = steps_[static_cast<std::size_t>(step)];
  return Plan::split(s.feature, s.bound, plan_of(s.left), plan_of(s.right));
}

// Whole trees are looked at; others stand in a front where none is better. Whether it stays.
bool OutputFronts::offer(const OutputAsk& ask, NumberEntry e, const double* values,
                         NumberFront& front, const Split* split, int left, int right) {
  if (!within(e.facts, values)) return false;
  if (ask.level == 0) {
    consider(e, values, split, left, right);
    return false;
  }
  if (split != nullptr) e.plan = static_cast<int>(steps_.size());
  if (!front.offer(e, values)) return false;
  if (split != nullptr)
    steps_.push_back({split->feature, split->bound, left, right, split->threshold});
  return true;
}

// ---- nodes

void OutputFronts::leaf(const OutputNode& node, const OutputAsk& ask, double budget,
                        NumberFront& front) {
  if (!sized(node.rows) || !check_.leaf(ask.state, node.of(0), node.rows)) return;
  NumberEntry e;
  values_.assign(model_.components, 0.0);
  parts_.leaf(node.of(0), node.rows, values_.data());
  e.value = lane_.values().leaf({node.of(0), node.rows, node.sums.data()}, kUnbounded) +
            NumberModel::sum(model_.prices, 0, values_.data());
  if (!(e.value < budget)) return;
  const std::size_t before = predicted_.size();
  bool admitted = true;
  if (monotone_) {
    const int label = predict(node.of(0), node.rows, node.sums.data());
    admitted = monotone_->admits(static_cast<int>(ask.level), label);
    e.plan = -1 - label;
  }
  if (!admitted || !offer(ask, e, values_.data(), front, nullptr, -1, -1))
    predicted_.resize(before);
}

OutputFronts::Known* OutputFronts::known(const Part& part, const OutputAsk& ask) {
  return known_.find({key_of(part.set, ask), context(ask.level)}, [&](const RowPath& path) {
    return data_.at_end_of(path, part.row, part.rows, *part.passed);
  });
}

// What is known of such rows, if that is all below the budget; else null.
OutputFronts::Front OutputFronts::recall(const Part& part, const OutputAsk& ask, double budget) {
  if (limited(ask)) return nullptr;
  const Known* at = known(part, ask);
  return at && at->budget >= budget ? at->front : nullptr;
}

// All sub-trees below the budget that none dominates.
OutputFronts::Front OutputFronts::solve(const OutputNode& node, const OutputAsk& ask,
                                        double budget) {
  poll(node.rows * data_.problem.base.features);
  const Part all{node.set, node.of(0), node.rows, &node.path};
  if (Front found = recall(all, ask, budget)) return found;
  const Front front = std::make_shared<NumberFront>(front_at(ask.level));
  leaf(node, ask, budget, *front);
  const bool splits = ask.shape.depth > 0 && ask.shape.leaves > 1 && node.rows > 1 &&
                      rules_.within(ask.state, std::min(ask.shape.depth, ask.shape.leaves - 1)) &&
                      check_.split(ask.state, node.of(0), node.rows);
  if (splits && (ask.shape.depth == 1 || ask.shape.leaves == 2))
    stumps(node, ask, budget, *front);
  else if (splits && lane_.solve(node, ask, limit(ask, budget)).least < limit(ask, budget))
    branch(node, ask, budget, *front);
  if (limited(ask)) return front;
  // Where a goal is to be less than the best known one, less may be left later: that is sound.
  bytes_ += front->bytes() + sizeof(Known) + 64 + node.path.bytes();
  Known* at = known(all, ask);
  if (!at) at = &known_.add({key_of(node.set, ask), context(ask.level)}, node.path);
  at->budget = budget;
  at->front = front;
  return front;
}

void OutputFronts::branch(const OutputNode& node, const OutputAsk& ask, double budget,
                          NumberFront& front) {
  if (tabled(ask)) {
    if (ask.shape.depth == 3) return by_tables(node, ask, budget, front);
    OutputPairs& pairs = lane_.pairs();
    control_.poll(pairs.work(node.rows));
    whole_.row = nullptr;
    pairs.sum(node.of(0), node.rows, !model_.measures.empty(), whole_);
    pairs.scan(whole_, {ask.state, ask.level}, {}, scans_[0]);
    return by_table(whole_, pairs_inside(node), ask, {{&scans_[0], {}, limit(ask, budget)}}, budget,
                    front);
  }
  if (ask.level > 0 && ask.shape.leaves == 4 &&
      lane_.pairs().tells(ask.shape, ask.state, node.rows))
    return by_pairs(node, ask, budget, front);
  OutputFrontier frontier(data_, node, ask);
  OutputFrontier::Span span;
  for (;;) {
    if (ask.level == 0 && !goal()) budget = std::min(budget, best - tolerance_);
    const double most = limit(ask, budget);
    if (!frontier.pop(most, span)) return;
    OutputAnswer sides[2];
    const std::size_t place = frontier.place(span);
    lane_.evaluate(node, ask, span, place, most, sides);
    frontier.part(span, sides[0].lower, sides[1].lower);
    cut(node, ask, span, place, budget, sides, front);
  }
}

// All cuts of the last two levels at once.
void OutputFronts::by_pairs(const OutputNode& node, const OutputAsk& ask, double budget,
                            NumberFront& front) {
  std::vector<OutputPairs::Cut> open;
  control_.poll(lane_.pairs().work(node.rows));
  lane_.pairs().open(node, {ask.state, ask.level}, limit(ask, budget), open);
  for (const OutputPairs::Cut& one : open) {
    OutputFrontier::Span span{};
    span.column = one.feature;
    span.leaves = ask.shape.leaves / 2;
    OutputAnswer sides[2];
    sides[0].least = one.left;
    sides[1].least = one.right;
    cut(node, ask, span, one.place, budget, sides, front);
  }
}

bool OutputFronts::split_of(const OutputNode& node, const OutputAsk& ask, std::size_t feature,
                            std::uint32_t bound, Split& split) {
  split.feature = static_cast<int>(feature);
  split.bound = bound;
  split.facts = parts_.facts(node.of(0), node.rows, feature, bound, ask.level);
  parts_.weigh(node.of(0), node.rows, sums_);
  split.values.resize(model_.components);
  parts_.split(sums_, ask.state, feature, split.values.data());
  split.price = NumberModel::sum(model_.prices, 0, split.values.data());
  return !(split.facts & forbidden_);
}

// All trees that split at a cut, whose sides lose so much at least.
void OutputFronts::cut(const OutputNode& node, const OutputAsk& ask,
                       const OutputFrontier::Span& span, std::size_t place, double budget,
                       const OutputAnswer sides[2], NumberFront& front) {
  const OutputAsk asked[2] = {
      ask.below(span.leaves, rules_.after(ask.state, span.column)),
      ask.below(ask.shape.leaves - span.leaves, rules_.after(ask.state, span.column))};
  if (asked[0].state < 0) return;
  Split split;
  if (!split_of(node, ask, span.column, data_.rank(span.column, node.of(span.column)[place]),
                split))
    return;
  double low[2] = {std::max(sides[0].least, span.bound[0]),
                   std::max(sides[1].least, span.bound[1])};
  for (int k = 0; k < 2; ++k) low[k] += model_.least_price(asked[k].shape.leaves);
  const double room = budget - split.price;
  if (low[0] + low[1] >= room) return;
  while (levels_.size() <= ask.level) levels_.push_back(std::make_unique<Level>());
  Level& here = *levels_[ask.level];
  std::uint64_t sets[2];
  node.sets(data_, span.column, place, sets);
  const std::uint32_t* order = node.of(span.column);
  const Part halves[2] = {{sets[0], order, place, &node.path},
                          {sets[1], order + place, node.rows - place, &node.path}};
  const int first = 2 * place <= node.rows ? 0 : 1;
  const OutputNode* part[2] = {&here.left, &here.right};
  bool made = false;
  const auto make = [&] {
    if (!made) node.part(data_, span.column, place, here.left, here.right, side_);
    made = true;
  };
  const int level = static_cast<int>(ask.level);
  if (monotone_) {
    const std::uint32_t* rows = node.of(span.column);
    monotone_->split(level, span.column, rows[place - 1], rows[place]);
  }
  Front found[2];
  for (int s : {first, 1 - first}) {
    if (monotone_) monotone_->enter(level, s, monotone_->limits_of(level, s));
    found[s] = recall(halves[s], asked[s], room - low[1 - s]);
    if (!found[s]) {
      make();
      found[s] = solve(*part[s], asked[s], room - low[1 - s]);
    }
    if (found[s]->empty()) return;
    low[s] = std::max(low[s], found[s]->least(kUnbounded));
    if (low[0] + low[1] >= room) return;
  }
  if (monotone_) split.threshold = monotone_->threshold(level);
  if (!monotone_ || monotone_->facts_of(span.column) == 0)
    return join(ask, split, *found[0], *found[1], budget, front);
  make();
  untangle(ask, asked, split, {node.of(0), node.of(0) + node.rows}, found, budget, front);
}

void OutputFronts::join(const OutputAsk& ask, const Split& split, const NumberFront& left,
                        const NumberFront& right, double budget, NumberFront& front,
                        const std::function<int(int plan, bool low)>& step) {
  std::vector<double> values(model_.components);
  std::uint64_t work = 0;
  for (const NumberEntry& a : left.entries())
    for (const NumberEntry& b : right.entries()) {
      if ((work += front.entries().size() + model_.components + 1) > 20000) {
        poll(work);
        work = 0;
      }
      NumberEntry e;
      e.value = a.value + b.value + split.price;
      if (e.value >= budget) break;
      e.facts = a.facts | b.facts | split.facts;
      const double *x = left.components(a), *y = right.components(b);
      for (std::size_t k = 0; k < values.size(); ++k) values[k] = x[k] + y[k] + split.values[k];
      if (step && !of_use(ask, e, values.data(), front)) continue;
      const int plans[2] = {step ? step(a.plan, true) : a.plan,
                            step ? step(b.plan, false) : b.plan};
      offer(ask, e, values.data(), front, &split, plans[0], plans[1]);
    }
}

// ---- the last level

void OutputFronts::stumps(const OutputNode& node, const OutputAsk& ask, double budget,
                          NumberFront& front) {
  const std::size_t width = data_.width;
  for (std::size_t f = 0; f < data_.problem.base.features; ++f) {
    const int next = rules_.after(ask.state, f);
    if (next < 0 || !rules_.ends(next)) continue;
    const std::uint32_t* rows = node.of(f);
    const std::uint32_t* cell = data_.cells(f);
    if (cell[rows[0]] == cell[rows[node.rows - 1]]) continue;
    control_.poll(node.rows);
    places_.clear();
    below_.clear();
    rest_.assign(width, 0.0);
    for (std::size_t i = 0; i < node.rows; ++i) {
      if (i > 0 && cell[rows[i]] > cell[rows[i - 1]]) {
        places_.push_back(static_cast<std::uint32_t>(i));
        below_.insert(below_.end(), rest_.begin(), rest_.end());
      }
      for (std::size_t c = 0; c < width; ++c) rest_[c] += data_.of(rows[i])[c];
    }
    const double least = data_.problem.leaf_price;
    halve(node, ask, f, 0, places_.size(), least, least, budget, front);
  }
}

// The cuts low .. high - 1 of a feature, whose sides lose so much at least.
void OutputFronts::halve(const OutputNode& node, const OutputAsk& ask, std::size_t f,
                         std::size_t low, std::size_t high, double left, double right,
                         double budget, NumberFront& front) {
  if (low >= high) return;
  if (ask.level == 0 && !goal()) budget = std::min(budget, best - tolerance_);
  const double most = limit(ask, budget);
  if (left + right >= most) return;
  const std::size_t middle = (low + high) / 2, place = places_[middle];
  const std::uint32_t* rows = node.of(f);
  const double* sums = &below_[middle * data_.width];
  for (std::size_t c = 0; c < data_.width; ++c) rest_[c] = node.sums[c] - sums[c];
  OutputValues& values = lane_.values();
  double lost[2] = {std::max(left, values.quick(sums)),
                    std::max(right, values.quick(rest_.data()))};
  if (lost[0] + lost[1] < most) {
    const double one = values.leaf({rows, place, sums}, most - lost[1]);
    lost[0] = std::max(lost[0], std::min(one, most - lost[1]));
    if (one < kUnbounded) {
      const double other =
          values.leaf({rows + place, node.rows - place, rest_.data()}, most - lost[0]);
      lost[1] = std::max(lost[1], std::min(other, most - lost[0]));
      const double both[2] = {one, other};
      if (other < kUnbounded) stump(node, ask, f, middle, both, budget, front);
    }
  }
  halve(node, ask, f, low, middle, left, lost[1], budget, front);
  halve(node, ask, f, middle + 1, high, lost[0], right, budget, front);
}

void OutputFronts::stump(const OutputNode& node, const OutputAsk& ask, std::size_t f,
                         std::size_t at, const double lost[2], double budget, NumberFront& front) {
  const std::size_t place = places_[at];
  const std::uint32_t* rows = node.of(f);
  const std::size_t rest = node.rows - place;
  const std::uint32_t low = data_.rank(f, rows[place - 1]), high = data_.rank(f, rows[place]);
  if (!sized(place) || !sized(rest) || !rules_.open(f, low, high, ask.level)) return;
  const int next = rules_.after(ask.state, f);
  if (!check_.leaf(next, rows, place) || !check_.leaf(next, rows + place, rest)) return;
  Split split;
  if (!split_of(node, ask, f, high, split)) return;
  if (!model_.measures.empty()) control_.poll(node.rows);
  std::vector<double>& total = split.values;
  for (int k = 0; k < 2; ++k) {
    parts_.leaf(k == 0 ? rows : rows + place, k == 0 ? place : rest, values_.data());
    for (std::size_t c = 0; c < total.size(); ++c) total[c] += values_[c];
  }
  NumberEntry e;
  e.value = lost[0] + lost[1] + NumberModel::sum(model_.prices, 0, total.data());
  e.facts = split.facts;
  if (!(e.value < budget)) return;
  const std::size_t before = predicted_.size();
  int label[2] = {0, 0};
  bool admitted = true;
  if (monotone_) {
    const int level = static_cast<int>(ask.level);
    monotone_->split(level, f, rows[place - 1], rows[place]);
    for (std::size_t c = 0; c < data_.width; ++c)
      rest_[c] = node.sums[c] - below_[at * data_.width + c];
    label[0] = predict(rows, place, &below_[at * data_.width]);
    label[1] = predict(rows + place, rest, rest_.data());
    admitted = monotone_->admits(level, 0, label[0]) && monotone_->admits(level, 1, label[1]);
    if (admitted) e.facts |= monotone_->stump_facts(level, label[0], label[1]);
    if (admitted) split.threshold = monotone_->threshold(level);
  }
  if (!admitted || !offer(ask, e, total.data(), front, &split, -1 - label[0], -1 - label[1]))
    predicted_.resize(before);
}

}  // namespace odt
