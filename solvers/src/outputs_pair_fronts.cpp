// Fronts of trees of depth two and three from sums over pairs of cuts, without nodes of their own.
//
// Columns that add the same to a tree are one class, of which only the best column counts. Where a
// rule bounds a squared loss of some rows, a multiple of that loss stands beside the loss that is
// made least (a Lagrangian): trees of depth two that lose too much of both are left out. The
// multiple is told for each cut of the root, from the trees of two multiples around it
// (outputs_pair_bounds.cpp). An absolute loss is bounded from below by tangents, and told from the
// rows of the trees that are left.
#include <algorithm>
#include <cmath>
#include <utility>

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

// Leaves and splits of one side that may be of use, together with the other side: no screen leaves
// them out, and their value is below `budget`. Until it is kept, the plan of a split is its class,
// or its column where there are measures.
void OutputFronts::choices(const std::vector<Screen>& screens, std::size_t column, bool low,
                           int state, std::size_t level, std::uint64_t inside, double budget,
                           NumberFront& found) {
  OutputPairs& pairs = lane_.pairs();
  const OutputPairs::Side& side = side_sums_;
  const bool measured = !model_.measures.empty();
  found.clear(model_.components, order_);
  std::vector<SideScreen>& here = side_screens_;
  here.clear();
  bool leaf = true;
  double single = 0;
  for (const Screen& one : screens) {
    const double own = pairs.own(side.all, one.mix),
                 alone = own - pairs.gain(side.all, state, one.mix),
                 most = one.most - (low ? one.scan->high : one.scan->low)[column];
    if (here.empty()) single = alone;
    leaf = leaf && alone < most;
    here.push_back({pairs.gains(*one.scan, column, low), own, most});
  }
  if (leaf) {
    made_.loss = single;
    made_.measure.clear();
    if (measured) {
      made_.loss = 0;
      pairs.add_leaf(side.all, true, made_);
      if (pairs.tangents()) pairs.measure(side.all, side_rows_, made_);
    }
    values_.assign(model_.components, 0.0);
    choose(-1, 0, budget, found);
  }
  const Classes& classed = classes(state, level);
  if (measured) {
    const auto open = [&](std::size_t c) {
      return std::all_of(here.begin(), here.end(),
                         [&](const SideScreen& one) { return one.own - one.gains[c] < one.most; });
    };
    for (std::size_t c = 0; c < classed.of.size(); ++c) {
      if (!open(c) || !split_by(pairs.columns()[c], side.all, inside, state, level, last_split_))
        continue;
      made_.loss = 0;
      made_.measure.clear();
      pairs.add_stump(side, true, c, made_);
      if (pairs.tangents()) {
        if (c >= told_) {
          poll(side_rows_.row.size());
          told_ = pairs.measure(side, side_rows_, c);
        }
        pairs.told(c, made_);
      }
      values_ = last_split_.values;
      choose(static_cast<int>(c), last_split_.facts, budget, found);
    }
    told_ = 0;
    return;
  }
  for (std::size_t k = 0; k < classed.first.size(); ++k) {
    made_.loss = here[0].own - pairs.largest(here[0].gains, classed.only[k].data());
    if (!(made_.loss < here[0].most) ||
        !split_by(pairs.columns()[classed.first[k]], side.all, inside, state, level, last_split_))
      continue;
    values_ = last_split_.values;
    choose(static_cast<int>(k), last_split_.facts, budget, found);
  }
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
  if (e.value < budget && within(facts, values_.data())) found.offer(e, values_.data());
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
                            const OutputAsk& ask, const std::vector<Screen>& screens, double budget,
                            NumberFront& front) {
  OutputPairs& pairs = lane_.pairs();
  const auto& columns = pairs.columns();
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (!std::all_of(screens.begin(), screens.end(), [&](const Screen& one) {
          return one.scan->low[c] + one.scan->high[c] < one.most;
        }))
      continue;
    const int next = rules_.after(ask.state, columns[c].feature);
    if (!split_by(columns[c], table.all, inside, ask.state, ask.level, split_)) continue;
    for (int s = 0; s < 2; ++s) {
      pairs.enter(table, c, s == 0, !model_.measures.empty(), side_sums_);
      if (pairs.tangents()) pairs.fill_rows(table, c, s == 0, side_rows_);
      choices(screens, c, s == 0, next, ask.level + 1, within_side(inside, columns[c], s == 0),
              budget - split_.price - model_.least_price(2), options_[s]);
      if (options_[s].empty()) break;
    }
    if (options_[0].empty() || options_[1].empty()) continue;
    const Classes& classed = classes(next, ask.level + 1);
    join(ask, split_, options_[0], options_[1], budget, front, [&](int plan, bool low) {
      return step_of(plan, pairs.gains(*screens[0].scan, c, low), classed);
    });
  }
}

// A leaf of all rows with these sums.
void OutputFronts::leaf_by(const OutputPairs::Table& table, const OutputAsk& ask, double budget,
                           NumberFront& front) {
  if (!lane_.pairs().leaf_holds(table.all, ask.state)) return;
  OutputPairs::Sums sums;
  lane_.pairs().add_leaf(table.all, !model_.measures.empty(), sums);
  if (lane_.pairs().tangents()) {
    lane_.pairs().fill_rows(table, OutputPairs::kAll, true, side_rows_);
    lane_.pairs().measure(table.all, side_rows_, sums);
  }
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
  const std::uint32_t* least = first == 0 ? rows : rows + cut.place;
  OutputPairs::Table& part = sides_[first];
  if (part.row == least && part.rows == few && part.measured) return;
  poll(pairs.work(few) + pairs.columns().size() * pairs.columns().size());
  if (whole_.row == nullptr || (measured && !whole_.measured))
    pairs.sum(node.of(0), node.rows, measured, whole_);
  pairs.sum(least, few, measured, part);
  pairs.subtract(whole_, part, first == 0 ? rows + cut.place : rows, sides_[1 - first]);
}

void OutputFronts::scan_sides(const OutputAsk& asked) {
  for (int s = 0; s < 2; ++s)
    lane_.pairs().scan(sides_[s], {asked.state, asked.level}, {}, scans_[s]);
}

// All trees of three levels that split a node. Measures are many numbers of each row: they are
// summed where the loss alone leaves a cut open. Of such cuts, those that promise less than one
// before wait until the others have shown good trees; where cuts come in the order of what they
// promise, none waits.
void OutputFronts::by_tables(const OutputNode& node, const OutputAsk& ask, double budget,
                             NumberFront& front) {
  const bool measured = !model_.measures.empty();
  const std::uint64_t inside = pairs_inside(node);
  if (ask.level == 0 && !std::exchange(shaped_, true)) tell_shapes(node, ask);
  OutputFrontier frontier(data_, node, ask, ask.level == 0 ? by_first_ : std::vector<double>{});
  OutputFrontier::Span span;
  std::vector<RootCut> waiting, open;
  double record = kUnbounded;
  for (OutputPairs::Table* one : {&whole_, &sides_[0], &sides_[1]}) one->row = nullptr;
  while (frontier.pop(limit(ask, budget = tightened(ask, budget)), span)) {
    const std::size_t place = frontier.place(span);
    RootCut cut{{span.column, 0, data_.rank(span.column, node.of(span.column)[place])}, place};
    cut.asked = ask.below(full_leaves(2), rules_.after(ask.state, span.column));
    if (ask.level == 0 && !by_column_.empty() &&
        !(by_column_[column_of(cut, node)] - 8 * tolerance_ < budget)) {
      frontier.part(span, span.bound[0], span.bound[1]);
      continue;
    }
    if (bounded(ask)) {
      tell_by_first(frontier.cuts(limit(ask, budget)), ask.state);
      if (refuted_by_first(cut, node, budget)) {
        frontier.part(span, span.bound[0], span.bound[1]);
        continue;
      }
    }
    // Where no tree is known, bounds on the loss leave out nothing.
    const bool any = !(budget < kUnbounded) && last_mix_.loss == 0 && bounded(ask);
    sum_sides(node, cut, any);
    if (any && refuted(cut.asked, budget)) {
      frontier.part(span, span.bound[0], span.bound[1]);
      continue;
    }
    scan_sides(cut.asked);
    frontier.part(span, scans_[0].free, scans_[1].free);
    if (!split_by(cut.column, whole_.all, inside, ask.state, ask.level, cut.split)) continue;
    for (int s = 0; s < 2; ++s) cut.low[s] = scans_[s].least;
    cut.least =
        cut.low[0] + cut.low[1] + 2 * model_.least_price(cut.asked.shape.leaves) + cut.split.price;
    if (!(cut.least < budget)) continue;
    if (measured && !any && by_first_.empty() && cut.least >= record) {
      waiting.push_back(std::move(cut));
      continue;
    }
    record = cut.least;
    if (measured) sum_sides(node, cut, true);
    if (!bounded(ask)) {
      by_sides(cut, inside, ask, budget, front);
    } else if ((any || !refuted(cut.asked, budget - cut.split.price)) && mixed(cut, budget) &&
               !looked(cut, inside, ask, budget, front)) {
      open.push_back(std::move(cut));
    }
  }
  const auto least_first = [](const RootCut& a, const RootCut& b) { return a.least < b.least; };
  std::sort(waiting.begin(), waiting.end(), least_first);
  for (RootCut& cut : waiting) {
    if (!(cut.least < (budget = tightened(ask, budget)))) break;
    if (bounded(ask) && refuted_by_first(cut, node, budget)) continue;
    sum_sides(node, cut, true);
    if (!bounded(ask)) {
      scan_sides(cut.asked);
      by_sides(cut, inside, ask, budget, front);
      continue;
    }
    if (refuted(cut.asked, budget - cut.split.price)) continue;
    scan_sides(cut.asked);
    if (mixed(cut, budget) && !looked(cut, inside, ask, budget, front))
      open.push_back(std::move(cut));
  }
  std::sort(open.begin(), open.end(), least_first);
  by_budgets(node, open, inside, ask, budget, front);
}

// All trees of three levels that begin with one of these cuts. Bounds on measures leave few that
// lose little more than the mixes tell, and many that lose more.
void OutputFronts::by_budgets(const OutputNode& node, const std::vector<RootCut>& open,
                              std::uint64_t inside, const OutputAsk& ask, double budget,
                              NumberFront& front) {
  if (open.empty()) return;
  const double all = all_lost();
  double step = first_step(open.front(), ask, budget);
  for (double most = open.front().least + step;; most += step *= 2) {
    if (most >= all) most = kUnbounded;
    for (const RootCut& cut : open) {
      budget = tightened(ask, budget);
      if (!(cut.least < std::min(budget, most))) break;
      sum_sides(node, cut, true);
      scan_mixed(cut.asked, cut.mix, scans_);
      if (cut.tight != nullptr)
        scan_mixed(cut.asked, mix_of(0, cut.tight->measure, 1), alone_scans_);
      by_sides(cut, inside, ask, std::min(budget, most), front);
    }
    if (!(most < tightened(ask, budget))) return;
  }
}

double OutputFronts::all_lost() {
  return lane_.pairs().own(whole_.all, {}) + 8 * data_.problem.leaf_price;
}

// By how much the first budget of a cut is above what its trees lose at least.
double OutputFronts::first_step(const RootCut& cut, const OutputAsk& ask, double budget) {
  const double known = tightened(ask, budget),
               step = std::max((all_lost() - cut.least) / kShare, 4 * tolerance_);
  return known < kUnbounded ? std::max(step, (known - cut.least) / 8) : step;  // few are enough
}

// The same of a cut whose sides are summed and scanned still, while that takes less than to sum and
// scan them again; whether it tells of all its trees.
bool OutputFronts::looked(RootCut& cut, std::uint64_t inside, const OutputAsk& ask, double budget,
                          NumberFront& front) {
  constexpr int kLooks = 6;
  constexpr std::size_t kMost = 4096;  // pairs of sub-trees
  double step = first_step(cut, ask, budget);
  for (int look = 0; look < kLooks; ++look, step *= 2) {
    const double most = cut.least + step;
    const std::size_t pairs = by_sides(cut, inside, ask, std::min(budget, most), front);
    cut.least = most;
    if (!(cut.least < tightened(ask, budget))) return true;
    if (pairs > kMost) return false;
  }
  return false;
}

// All trees of three levels that begin with a cut, whose sides are summed and scanned; how many
// pairs of sub-trees that are.
std::size_t OutputFronts::by_sides(const RootCut& cut, std::uint64_t inside, const OutputAsk& ask,
                                   double budget, NumberFront& front) {
  const double rest = model_.least_price(cut.asked.shape.leaves);
  double low[2] = {cut.low[0] + rest, cut.low[1] + rest};
  const double room = tightened(ask, budget) - cut.split.price;
  if (!(low[0] + low[1] < room)) return 0;
  NumberFront found[2] = {front_at(cut.asked.level), front_at(cut.asked.level)};
  const int first = sides_[0].rows <= sides_[1].rows ? 0 : 1;
  std::vector<Screen> screens;
  for (int s : {first, 1 - first}) {
    const auto beside = [&](const OutputPairs::Mix& mix, const OutputPairs::Scan& scan) {
      return s == first ? scan.least : least_mix(found[first], mix);
    };
    const double least = beside(cut.mix, scans_[1 - s]) - (s == first ? 0 : rest);
    screens.assign(1, {&scans_[s], cut.mix, room - 2 * rest + mix_bound(cut.mix) - least});
    if (cut.tight != nullptr) {
      const OutputPairs::Mix alone = mix_of(0, cut.tight->measure, 1);
      const double most = cut.tight->at_most - beside(alone, alone_scans_[1 - s]);
      screens.push_back({&alone_scans_[s], alone, std::nextafter(most, kUnbounded)});
    }
    const std::uint64_t inner = within_side(inside, cut.column, s == 0);
    leaf_by(sides_[s], cut.asked, room - low[1 - s], found[s]);
    by_table(sides_[s], inner, cut.asked, screens, room - low[1 - s], found[s]);
    if (found[s].empty()) return 0;
    low[s] = std::max(low[s], found[s].least(kUnbounded));
  }
  join(ask, cut.split, found[0], found[1], budget, front);
  return found[0].entries().size() * found[1].entries().size();
}

}  // namespace odt
