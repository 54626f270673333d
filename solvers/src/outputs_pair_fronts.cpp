// Fronts of trees of depth two and three from sums over pairs of cuts, without nodes of their own.
//
// Columns that add the same to a tree are one class, of which only the best column counts. Where a
// rule bounds a squared loss of some rows, a multiple of that loss stands beside the loss that is
// made least (a Lagrangian): trees of depth two that lose too much of both are left out. The
// multiple is told for each cut of the root, from the trees of two multiples around it. An absolute
// loss is bounded from below by tangents, and told from the rows of the trees that are left.
#include <algorithm>
#include <cmath>

#include "odt/outputs_fronts.hpp"

namespace odt {

// Whether nodes of this shape and state are told from sums alone.
bool OutputFronts::tabled(const OutputAsk& ask) const {
  const OutputPairs& pairs = lane_.pairs();
  return pairs.knows(ask.state) && !monotone_ && model_.pairs.size() <= 64 &&
         (model_.measures.empty() || (pairs.measures() && !goal())) &&
         ask.shape.leaves == full_leaves(ask.shape.depth) &&
         (ask.shape.depth == 2 || ask.shape.depth == 3);
}

// ---- what columns add

// Which columns add the same, behind a path in a state, to a tree whose split stands at a level.
const OutputFronts::Classes& OutputFronts::classes(int state, std::size_t level) {
  Classes& made = classes_[{state, level}];
  const auto& columns = lane_.pairs().columns();
  if (!made.of.empty()) return made;
  std::map<std::pair<std::vector<double>, std::vector<std::uint64_t>>, int> known;
  made.of.assign(columns.size(), -1);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (rules_.after(state, columns[c].feature) < 0) continue;
    const std::size_t column = static_cast<std::size_t>(rules_.column[columns[c].feature]);
    std::vector<double> adds;
    for (std::size_t k = 0; k < model_.components; ++k) {
      adds.push_back(model_.split[k * model_.columns + column]);
      if (model_.path_sum[k] >= 0)
        adds.push_back(static_cast<double>(
            model_.path_delta[k][static_cast<std::size_t>(state) * model_.columns + column]));
    }
    const std::vector<std::uint64_t> facts{model_.split_facts[level * model_.columns + column],
                                           parted(columns[c])};
    made.of[c] = known.try_emplace({adds, facts}, static_cast<int>(known.size())).first->second;
    const std::size_t k = static_cast<std::size_t>(made.of[c]);
    if (k == made.first.size()) {
      made.first.push_back(c);
      made.only.emplace_back(lane_.pairs().stride(), -kUnbounded);
    }
    made.only[k][c] = 0;
  }
  return made;
}

// The pairs of rows, as bits, that a column parts.
std::uint64_t OutputFronts::parted(const OutputPairs::Column& column) const {
  std::uint64_t found = 0;
  const std::uint32_t* rank = data_.problem.base.ranks(column.feature);
  for (std::size_t p = 0; p < model_.pairs.size(); ++p)
    if ((rank[model_.pairs[p].first] < column.bound) !=
        (rank[model_.pairs[p].second] < column.bound))
      found |= std::uint64_t{1} << p;
  return found;
}

// Those of the pairs within a node that are within one side of a column as well.
std::uint64_t OutputFronts::within_side(std::uint64_t inside, const OutputPairs::Column& column,
                                        bool low) const {
  std::uint64_t found = 0;
  const std::uint32_t* rank = data_.problem.base.ranks(column.feature);
  for (std::size_t p = 0; p < model_.pairs.size(); ++p)
    if ((inside >> p & 1) != 0 && (rank[model_.pairs[p].first] < column.bound) == low &&
        (rank[model_.pairs[p].second] < column.bound) == low)
      found |= std::uint64_t{1} << p;
  return found;
}

// A split of rows with these sums, behind a path in a state.
bool OutputFronts::split_by(const OutputPairs::Column& column, const std::vector<double>& all,
                            std::uint64_t inside, int state, std::size_t level, Split& split) {
  const std::size_t at = static_cast<std::size_t>(rules_.column[column.feature]);
  split.feature = static_cast<int>(column.feature);
  split.bound = column.bound;
  split.facts = model_.split_facts[level * model_.columns + at];
  for (std::uint64_t left = parted(column) & inside, p = 0; left != 0; left >>= 1, ++p)
    if (left & 1) split.facts |= std::uint64_t{1} << model_.pairs[p].fact;
  if (split.facts & forbidden_) return false;
  sums_.resize(static_cast<std::size_t>(rules_.sums));
  for (std::size_t k = 0; k < sums_.size(); ++k)
    sums_[k] = std::llround(lane_.pairs().rule_sum(all, k));
  split.values.resize(model_.components);
  parts_.split(sums_, state, column.feature, split.values.data());
  split.price = NumberModel::sum(model_.prices, 0, split.values.data());
  return true;
}

// ---- the last level

// Leaves and splits of one side that may be of use, together with the other side: their mix below
// `most`, their value below `budget`. Until it is kept, the plan of a split is its class, or its
// column where there are measures.
void OutputFronts::choices(const OutputPairs::Side& side, const double* gains, int state,
                           std::size_t level, std::uint64_t inside, const OutputPairs::Mix& mix,
                           double most, double budget, NumberFront& found) {
  OutputPairs& pairs = lane_.pairs();
  const bool measured = !model_.measures.empty();
  found.clear();
  const double own = pairs.own(side.all, mix), single = own - pairs.gain(side.all, state, mix);
  if (single < most) {
    made_.loss = single;
    made_.measure.clear();
    if (measured) {
      made_.loss = 0;
      pairs.add_leaf(side.all, true, made_);
    }
    values_.assign(model_.components, 0.0);
    if (measured_by_rows(-1)) choose(-1, 0, budget, found);
  }
  const Classes& classed = classes(state, level);
  if (measured) {
    for (std::size_t c = 0; c < classed.of.size(); ++c) {
      if (!(own - gains[c] < most) ||
          !split_by(pairs.columns()[c], side.all, inside, state, level, last_split_))
        continue;
      made_.loss = 0;
      made_.measure.clear();
      pairs.add_stump(side, true, c, made_);
      if (!measured_by_rows(static_cast<int>(c))) continue;
      values_ = last_split_.values;
      choose(static_cast<int>(c), last_split_.facts, budget, found);
    }
    return;
  }
  for (std::size_t k = 0; k < classed.first.size(); ++k) {
    made_.loss = own - pairs.largest(gains, classed.only[k].data());
    if (!(made_.loss < most) ||
        !split_by(pairs.columns()[classed.first[k]], side.all, inside, state, level, last_split_))
      continue;
    values_ = last_split_.values;
    choose(static_cast<int>(k), last_split_.facts, budget, found);
  }
}

// What tangents tell of absolute measures gives way to what the rows of a side lose, as a leaf or
// split on a column. False where even the tangents tell too much.
bool OutputFronts::measured_by_rows(int column) {
  OutputPairs& pairs = lane_.pairs();
  if (!pairs.tangents()) return true;
  for (std::size_t m = 0; m < made_.measure.size(); ++m)
    if (made_.measure[m] > slack_[static_cast<std::size_t>(model_.measures[m].component)])
      return false;
  poll(side_rows_.size());
  pairs.measure(side_sums_, side_rows_.data(), side_rows_.size(), column, made_);
  return true;
}

// A leaf, or a split with the values of its own, as one of the choices.
void OutputFronts::choose(int plan, std::uint64_t facts, double budget, NumberFront& found) {
  for (std::size_t k = 0; k < model_.components; ++k)
    values_[k] += (plan < 0 ? 1 : 2) * model_.leaf[k];
  for (std::size_t m = 0; m < made_.measure.size(); ++m)
    values_[static_cast<std::size_t>(model_.measures[m].component)] += made_.measure[m];
  NumberEntry e;
  e.value = std::max(made_.loss, data_.problem.leaf_price) +
            NumberModel::sum(model_.prices, 0, values_.data());
  e.facts = facts;
  e.plan = plan;
  if (e.value < budget && within(facts, values_.data())) found.offer(e, values_.data(), order_);
}

// The step of a split of the last level, by its plan among the choices.
int OutputFronts::step_of(int plan, const double* gains, const Classes& classed) {
  if (plan < 0) return -1;
  std::size_t column = static_cast<std::size_t>(plan);
  if (model_.measures.empty()) {
    column = classed.first[static_cast<std::size_t>(plan)];
    for (std::size_t c = column; c < classed.of.size(); ++c)
      if (classed.of[c] == plan && gains[c] > gains[column]) column = c;
  }
  const OutputPairs::Column& of = lane_.pairs().columns()[column];
  steps_.push_back({static_cast<int>(of.feature), of.bound, -1, -1, 0});
  return static_cast<int>(steps_.size()) - 1;
}

// ---- the last two levels

// All trees that split rows with these sums and that none dominates.
void OutputFronts::by_table(const OutputPairs::Table& table, std::uint64_t inside,
                            const OutputAsk& ask, const OutputPairs::Mix& mix,
                            const OutputPairs::Scan& scan, double most, double budget,
                            NumberFront& front) {
  OutputPairs& pairs = lane_.pairs();
  const auto& columns = pairs.columns();
  std::vector<double> values(model_.components);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (!(scan.low[c] + scan.high[c] < most)) continue;
    const int next = rules_.after(ask.state, columns[c].feature);
    if (!split_by(columns[c], table.all, inside, ask.state, ask.level, split_)) continue;
    const double other[2] = {scan.high[c], scan.low[c]};
    for (int s = 0; s < 2; ++s) {
      pairs.enter(table, c, s == 0, !model_.measures.empty(), side_sums_);
      if (pairs.tangents()) pairs.fill_rows(table, c, s == 0, side_rows_);
      choices(side_sums_, pairs.gains(scan, c, s == 0), next, ask.level + 1,
              within_side(inside, columns[c], s == 0), mix, most - other[s],
              budget - split_.price - model_.least_price(2), options_[s]);
    }
    for (const NumberEntry& a : options_[0].entries())
      for (const NumberEntry& b : options_[1].entries()) {
        NumberEntry e;
        e.value = a.value + b.value + split_.price;
        if (e.value >= budget) break;
        e.facts = a.facts | b.facts | split_.facts;
        const double *x = options_[0].values(a), *y = options_[1].values(b);
        for (std::size_t k = 0; k < values.size(); ++k) values[k] = x[k] + y[k] + split_.values[k];
        if (!of_use(ask, e, values.data(), front)) continue;
        const Classes& classed = classes(next, ask.level + 1);
        const int left = step_of(a.plan, pairs.gains(scan, c, true), classed),
                  right = step_of(b.plan, pairs.gains(scan, c, false), classed);
        offer(ask, e, values.data(), front, &split_, left, right);
      }
  }
}

// A leaf of all rows with these sums.
void OutputFronts::leaf_by(const OutputPairs::Table& table, const OutputAsk& ask, double budget,
                           NumberFront& front) {
  if (!lane_.pairs().leaf_holds(table.all, ask.state)) return;
  OutputPairs::Sums sums;
  lane_.pairs().add_leaf(table.all, !model_.measures.empty(), sums);
  if (lane_.pairs().tangents())
    lane_.pairs().measure({nullptr, table.all}, table.row, table.rows, -1, sums);
  values_ = model_.leaf;
  for (std::size_t m = 0; m < sums.measure.size(); ++m)
    values_[static_cast<std::size_t>(model_.measures[m].component)] += sums.measure[m];
  NumberEntry e;
  e.value = std::max(sums.loss, data_.problem.leaf_price) +
            NumberModel::sum(model_.prices, 0, values_.data());
  if (e.value < budget) offer(ask, e, values_.data(), front, nullptr, -1, -1);
}

// ---- three levels

// The pairs of rows, as bits, that are within a node.
std::uint64_t OutputFronts::pairs_inside(const OutputNode& node) const {
  std::uint64_t found = 0;
  for (std::size_t p = 0; p < model_.pairs.size(); ++p) {
    int here = 0;
    for (std::size_t i = 0; i < node.rows; ++i)
      here += node.of(0)[i] == model_.pairs[p].first || node.of(0)[i] == model_.pairs[p].second;
    if (here == 2) found |= std::uint64_t{1} << p;
  }
  return found;
}

// Sums of both sides of a cut of a node, `measured` or not.
void OutputFronts::sum_sides(const OutputNode& node, const RootCut& cut, bool measured) {
  OutputPairs& pairs = lane_.pairs();
  const std::uint32_t* rows = node.of(cut.column.feature);
  const int first = 2 * cut.place <= node.rows ? 0 : 1;
  const std::size_t few = first == 0 ? cut.place : node.rows - cut.place;
  poll(pairs.work(few) + pairs.columns().size() * pairs.columns().size());
  OutputPairs::Table& whole = wholes_[measured];
  if (whole.row != node.of(0) || whole.rows != node.rows)
    pairs.sum(node.of(0), node.rows, measured, whole);
  pairs.sum(first == 0 ? rows : rows + cut.place, few, measured, sides_[first]);
  pairs.subtract(whole, sides_[first], first == 0 ? rows + cut.place : rows, sides_[1 - first]);
}

void OutputFronts::scan_sides(const OutputAsk& asked) {
  for (int s = 0; s < 2; ++s)
    lane_.pairs().scan(sides_[s], {asked.state, asked.level}, {}, scans_[s]);
}

// All trees of three levels that split a node. Measures are many numbers of each row: they are
// summed where the loss alone leaves a cut open. Of such cuts, those that promise less than one
// before wait until the others have shown good trees.
void OutputFronts::by_tables(const OutputNode& node, const OutputAsk& ask, double budget,
                             NumberFront& front) {
  const bool measured = !model_.measures.empty();
  const std::uint64_t inside = pairs_inside(node);
  const OutputAsk below = ask.below(full_leaves(2), 0);
  OutputFrontier frontier(data_, node, ask, leaf_rows_);
  OutputFrontier::Span span;
  std::vector<RootCut> waiting;
  double record = kUnbounded;
  for (OutputPairs::Table& whole : wholes_) whole.row = nullptr;
  while (frontier.pop(limit(ask, budget = tightened(ask, budget)), span)) {
    const std::size_t place = frontier.place(span);
    RootCut cut{{span.feature, 0, data_.rank(span.feature, node.of(span.feature)[place])}, place};
    OutputAsk asked = below;
    asked.state = rules_.after(ask.state, span.feature);
    sum_sides(node, cut, false);
    scan_sides(asked);
    frontier.part(span, scans_[0].free, scans_[1].free);
    if (!split_by(cut.column, wholes_[0].all, inside, ask.state, ask.level, cut.split)) continue;
    cut.least = scans_[0].least + scans_[1].least + 2 * model_.least_price(asked.shape.leaves) +
                cut.split.price;
    if (!(cut.least < budget)) continue;
    if (measured && cut.least >= record) {
      waiting.push_back(std::move(cut));
      continue;
    }
    record = cut.least;
    if (measured) sum_sides(node, cut, true);
    if (refuted(asked, budget - cut.split.price)) continue;
    by_sides(cut, inside, ask, asked, budget, front);
  }
  std::sort(waiting.begin(), waiting.end(),
            [](const RootCut& a, const RootCut& b) { return a.least < b.least; });
  for (const RootCut& cut : waiting) {
    if (!(cut.least < (budget = tightened(ask, budget)))) return;
    OutputAsk asked = below;
    asked.state = rules_.after(ask.state, cut.column.feature);
    sum_sides(node, cut, true);
    if (refuted(asked, budget - cut.split.price)) continue;
    scan_sides(asked);
    by_sides(cut, inside, ask, asked, budget, front);
  }
}

// All trees of three levels that begin with a cut, whose sides are summed and scanned.
void OutputFronts::by_sides(const RootCut& cut, std::uint64_t inside, const OutputAsk& ask,
                            const OutputAsk& asked, double budget, NumberFront& front) {
  OutputPairs::Mix mix;
  const double rest = model_.least_price(asked.shape.leaves);
  double low[2] = {scans_[0].least + rest, scans_[1].least + rest};
  if (ask.level == 0 && !mixed(cut.column, asked, budget - cut.split.price, mix)) return;
  const double room = tightened(ask, budget) - cut.split.price;
  if (!(low[0] + low[1] < room)) return;
  const double most = room - 2 * rest + mix_bound(mix);
  NumberFront found[2] = {front_at(asked.level), front_at(asked.level)};
  const int first = sides_[0].rows <= sides_[1].rows ? 0 : 1;
  double other = scans_[1 - first].least;
  for (int s : {first, 1 - first}) {
    const std::uint64_t inner = within_side(inside, cut.column, s == 0);
    leaf_by(sides_[s], asked, room - low[1 - s], found[s]);
    by_table(sides_[s], inner, asked, mix, scans_[s], most - other, room - low[1 - s], found[s]);
    if (found[s].empty()) return;
    low[s] = std::max(low[s], found[s].least());
    other = least_mix(found[s], mix) - rest;
  }
  join(ask, cut.split, found[0], found[1], budget, front);
}

// ---- bounds on losses of some rows

// What a mix adds at most to the loss of a tree within the bounds.
double OutputFronts::mix_bound(const OutputPairs::Mix& mix) const {
  double total = 0;
  for (const Cap& cap : caps_)
    if (!mix.measure.empty()) total += mix.measure[cap.measure] * cap.at_most;
  return total;
}

double OutputFronts::least_mix(const NumberFront& front, const OutputPairs::Mix& mix) const {
  if (mix.measure.empty()) return front.least();
  double least = kUnbounded;
  for (const NumberEntry& e : front.entries()) {
    double total = e.value;
    for (std::size_t m = 0; m < mix.measure.size(); ++m)
      total +=
          mix.measure[m] * front.values(e)[static_cast<std::size_t>(model_.measures[m].component)];
    least = std::min(least, total);
  }
  return least;
}

// The best tree of both sides by their scans; it is the answer so far if it loses less than `room`
// and keeps all rules.
OutputPairs::Sums OutputFronts::propose(const OutputPairs::Column& column, int state,
                                        const OutputPairs::Mix& mix,
                                        const OutputPairs::Scan scans[2], double room) {
  OutputPairs& pairs = lane_.pairs();
  OutputPairs::Sums sums;
  Plan plans[2];
  for (int s = 0; s < 2; ++s)
    plans[s] = pairs.plan_of(pairs.tree(sides_[s], state, mix, scans[s], sums));
  if (!(sums.loss < std::min(best, room))) return sums;
  for (const Cap& cap : caps_)
    if (sums.measure[cap.measure] > cap.at_most) return sums;
  const Plan plan = Plan::split(static_cast<int>(column.feature), column.bound, std::move(plans[0]),
                                std::move(plans[1]));
  std::vector<double> values;
  const std::uint64_t facts = parts_.measure(plan, data_.used, values);
  if (!model_.holds(facts, values.data())) return sums;
  best = sums.loss;
  found_(best, plan);
  return sums;
}

// What both sides of a cut lose at least of so much of the loss and of a measure; their scans.
double OutputFronts::scan_mixed(const OutputAsk& asked, const OutputPairs::Mix& mix) {
  for (int s = 0; s < 2; ++s)
    lane_.pairs().scan(sides_[s], {asked.state, asked.level}, mix, mixed_scans_[s]);
  return mixed_scans_[0].least + mixed_scans_[1].least;
}

OutputPairs::Mix OutputFronts::mix_of(double loss, std::size_t measure, double multiple) const {
  OutputPairs::Mix mix{loss, std::vector<double>(model_.measures.size(), 0.0)};
  mix.measure[measure] = multiple;
  return mix;
}

// Whether the last mix shows that no tree behind a cut keeps the rules and loses less than `room`
// or the best known one.
bool OutputFronts::refuted(const OutputAsk& asked, double room) {
  if (last_mix_.measure.empty()) return false;
  const double over = scan_mixed(asked, last_mix_) - mix_bound(last_mix_);
  return last_mix_.loss > 0 ? !(over < std::min(room, best - tolerance_)) : over > 0;
}

// The mix of the loss and a bounded one that bounds the trees behind a cut of the root best; its
// scans. False where it shows that none loses less than `room` or the best known one.
bool OutputFronts::mixed(const OutputPairs::Column& column, const OutputAsk& asked, double room,
                         OutputPairs::Mix& mix) {
  if (caps_.empty() || !model_.prices.empty()) return true;
  constexpr int kTurns = 8;
  OutputPairs::Sums low = propose(column, asked.state, {}, scans_, room);
  const Cap* tight = nullptr;
  double most = 0;
  for (const Cap& cap : caps_) {
    const double over = (low.measure[cap.measure] - cap.at_most) / cap.scale;
    if (over <= most) continue;
    most = over;
    tight = &cap;
  }
  if (tight == nullptr) return true;
  const std::size_t m = tight->measure;
  OutputPairs::Mix trial = mix_of(0, m, 1);
  if (scan_mixed(asked, trial) > tight->at_most) {
    last_mix_ = std::move(trial);
    return false;
  }
  OutputPairs::Sums high = propose(column, asked.state, trial, mixed_scans_, room);
  for (int turn = 0; turn < kTurns; ++turn) {
    const double multiple = (high.loss - low.loss) / (low.measure[m] - high.measure[m]);
    if (!(multiple > 0) || !(multiple < kUnbounded)) return true;
    const double known = low.loss + multiple * low.measure[m];
    last_mix_ = trial = mix_of(1, m, multiple);
    const double least = scan_mixed(asked, trial);
    if (!(least - mix_bound(trial) < std::min(room, best - tolerance_))) return false;
    mix = trial;
    if (least >= known - 1e-9 * std::fabs(known)) break;
    OutputPairs::Sums one = propose(column, asked.state, trial, mixed_scans_, room);
    (one.measure[m] > tight->at_most ? low : high) = std::move(one);
  }
  std::swap(scans_, mixed_scans_);
  return true;
}

}  // namespace odt
