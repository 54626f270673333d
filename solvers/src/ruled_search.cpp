#include "odt/ruled_search.hpp"

#include <algorithm>

#include "odt/ruled_crew.hpp"

namespace odt {

RuledSearch::RuledSearch(FreeTrees& free, Search& bounds, Control& control, RuledBest& best,
                         int threads)
    : free_(free),
      bounds_(bounds),
      w_(free.weights),
      p_(w_.p),
      control_(control),
      best_(best),
      counters_(bounds.counters),
      missing_(w_.components, 0),
      threads_(static_cast<std::size_t>(threads)) {
  if (!p_.monotone.empty())
    monotone_ = std::make_unique<Monotone>(p_.monotone, p_.space, p_.base.rows, p_.base.classes);
}

RuledSearch::Level& RuledSearch::at(int level) {
  while (static_cast<int>(levels_.size()) <= level) levels_.push_back(std::make_unique<Level>());
  return *levels_[static_cast<std::size_t>(level)];
}

// ---- the root

// Trees of interest have a weighted sum below this.
Loss RuledSearch::ceiling() const { return std::min(w_.most + 1, w_.sum_below(best_.cutoff())); }

void RuledSearch::poll(std::uint64_t work) {
  control_.poll(work);
  if (control_.proof_work() > until_) throw Late{};
}

bool RuledSearch::grow(int depth, Progress& progress, int rounds, std::uint64_t until) {
  until_ = until;
  try {
    while (progress.budget < ceiling() && rounds-- != 0) {
      const Loss budget = std::min(progress.budget + progress.step, ceiling());
      arena_.clear();
      Front front;
      solve(free_.root, 0, depth, 0, budget, front);
      if (missed_at_ < best_.cutoff()) {
        missed_ = missing_;
        return false;
      }
      progress = {budget, 2 * progress.step};
      // Trees from the cutoff on were left out: where a gap is allowed, it lies below the budget.
      if (depth == p_.base.depth) best_.raise(std::min(w_.objective_from(budget), best_.cutoff()));
    }
  } catch (const Late&) {
    return false;
  }
  return progress.budget >= ceiling();
}

// ---- whole trees

bool RuledSearch::relaxed_holds(std::uint64_t facts, const Loss* values) const {
  return std::all_of(p_.clauses.begin(), p_.clauses.end(), [&](const ModelClause& clause) {
    const bool asked = clause.size() > 1 || clause[0].component < 0 ||
                       w_.multipliers.compared[static_cast<std::size_t>(clause[0].component)];
    return !asked || clause_holds(clause, facts, values);
  });
}

// The objective, of maxima only the parts that are compared.
Loss RuledSearch::relaxed_objective(std::uint64_t facts, const Loss* values) const {
  Loss total = 0;
  for (const ObjectiveTerm& t : p_.objective) {
    Loss largest = t.fact >= 0 ? static_cast<Loss>(facts >> t.fact & 1) : -kInfinite;
    for (int k : t.components)
      if (w_.multipliers.compared[static_cast<std::size_t>(k)])
        largest = std::max(largest, values[k]);
    total += t.coefficient * largest;
  }
  return total;
}

// A whole tree: the incumbent, if it keeps the rules and is better.
void RuledSearch::consider(const Entry& e, const Loss* values) {
  if (!relaxed_holds(e.facts, values)) return;
  const Loss relaxed = relaxed_objective(e.facts, values);
  if (relaxed >= best_.cutoff()) return;
  Loss value = kInfinite;
  if (keeps_clauses(p_, e.facts, values)) {
    value = objective_of(p_, e.facts, values);
    best_.offer(value, [&] { return tree_of(e); });
  }
  if (value > relaxed) remember(e.facts, values, relaxed);
}

// What of this tree breaks a rule, or counts more, and was not compared.
void RuledSearch::remember(std::uint64_t facts, const Loss* values, Loss relaxed) {
  missed_at_ = std::min(missed_at_, relaxed);
  for (const ModelClause& clause : p_.clauses)
    if (clause.size() == 1 && clause[0].component >= 0 && !clause_holds(clause, facts, values))
      missing_[static_cast<std::size_t>(clause[0].component)] = 1;
  for (const ObjectiveTerm& t : p_.objective) {
    if (t.components.size() < 2) continue;
    const auto largest = std::max_element(t.components.begin(), t.components.end(),
                                          [&](int a, int b) { return values[a] < values[b]; });
    missing_[static_cast<std::size_t>(*largest)] = 1;
  }
}

Tree RuledSearch::tree_of(const Entry& e) {
  Tree tree;
  if (e.feature >= 0) {
    arena_.push_back({e.feature, e.bound, e.left, e.right, e.threshold});
    build(static_cast<int>(arena_.size()) - 1, tree);
  } else {
    build(e.left, tree);
  }
  return tree;
}

int RuledSearch::build(int node, Tree& tree) {
  TreeNode made;
  const int index = static_cast<int>(tree.nodes.size());
  tree.nodes.push_back(made);
  if (node < 0) {
    tree.nodes.back().label = -1 - node;
    return index;
  }
  const ArenaNode n = arena_[static_cast<std::size_t>(node)];
  made.feature = n.feature;
  made.cut = n.bound - 1;
  made.next = n.bound;
  made.left = build(n.left, tree);
  made.right = build(n.right, tree);
  tree.nodes[static_cast<std::size_t>(index)] = made;
  return index;
}

void RuledSearch::keep(Front& front) {
  for (Entry& e : front.entries()) {
    if (e.feature < 0) continue;
    arena_.push_back({e.feature, e.bound, e.left, e.right, e.threshold});
    e.left = static_cast<int>(arena_.size()) - 1;
    e.feature = -1;
  }
  check_memory();
}

void RuledSearch::check_memory() const {
  const std::size_t limit =
      control_.options().memory_limit ? control_.options().memory_limit : std::size_t{1} << 31;
  std::size_t bytes =
      arena_.size() * sizeof(ArenaNode) + (monotone_ ? monotone_->bytes() + case_bytes_ : 0);
  for (const auto& level : levels_) bytes += level->front[0].bytes() + level->front[1].bytes();
  if (bytes > limit / threads_) throw Stop{};
}

// ---- nodes

// All sub-trees below the budget that none dominates.
void RuledSearch::solve(View& view, int level, int depth, int state, Loss budget, Front& front) {
  front.clear(w_.components, w_.order,
              monotone_ ? monotone_->facts_above(level) & w_.order.wanted : 0);
  ++counters_.nodes;
  poll(view.rows() * view.features());
  Level& here = at(level);
  enter(view, level, state);
  for (int label : here.labels) offer_leaf(here.sums.data(), label, budget, front);
  if (level == 0)
    for (const Entry& e : front.entries()) consider(e, front.components(e));
  bool may_split = depth > 0;
  for (int rule : p_.split_rules[static_cast<std::size_t>(state)])
    may_split = may_split && row_clause_holds(p_.split_clauses[static_cast<std::size_t>(rule)],
                                              here.sums.data(), 0);
  if (may_split && depth == 1) stumps(view, level, state, tightened(budget, front, level), front);
  if (may_split && depth > 1)
    branch(view, level, depth, state, tightened(budget, front, level), front);
  keep(front);
}

void RuledSearch::enter(View& view, int level, int state) {
  Level& here = at(level);
  totals(view, here.sums);
  leaves(here.sums.data(), state, here.labels);
  if (monotone_) monotone_->keep(level, here.labels);
}

// Where one number says all, only a better sub-tree is of use.
Loss RuledSearch::tightened(Loss budget, const Front& front, int level) const {
  if (level == 0) return std::min(budget, ceiling());
  return w_.single && !front.empty() ? std::min(budget, front.entries()[0].weighted) : budget;
}

void RuledSearch::branch(View& view, int level, int depth, int state, Loss budget, Front& front) {
  Level& here = at(level);
  const Loss shift = w_.below_zero(depth - 1);
  const Loss whole = free_.bound(bounds_, view, depth - 1, budget, shift, 0);
  if (level == 0 && crew_ && crew_->ready(control_))
    return crew_->branch(view, depth, state, budget, all_cuts(view, shift, whole), until_);
  for (std::size_t f = 0; f < view.features(); ++f) {
    Column column;
    if (!begin(view, level, depth, state, f, column)) continue;
    here.stack.assign(1, all_cuts(view, shift, whole));
    while (!here.stack.empty()) {
      const RuledInterval i = here.stack.back();
      here.stack.pop_back();
      RuledInterval halves[2];
      budget = tightened(budget, front, level);
      if (part(view, level, depth, column, i, budget, front, halves))
        here.stack.insert(here.stack.end(), halves, halves + 2);
    }
  }
}

// What splits of a feature have in common; false if there can be none.
bool RuledSearch::begin(View& view, int level, int depth, int state, std::size_t f, Column& made) {
  Level& here = at(level);
  const int column = p_.column[f];
  const int next =
      p_.next[static_cast<std::size_t>(state) * w_.columns + static_cast<std::size_t>(column)];
  if (next < 0 || need(next) > depth - 1 || !view.splittable(f)) return false;
  made = {f, next, split_values(here.sums.data(), state, column, here.split)};
  here.upto.resize(view.rows() + 1);
  here.upto[0] = 0;
  for (std::size_t i = 0; i < view.rows(); ++i)
    here.upto[i + 1] = here.upto[i] + w_.worst[view.order(f)[i]];
  return true;
}

RuledInterval RuledSearch::all_cuts(const View& view, Loss shift, Loss whole) {
  return {
      {0, static_cast<std::int32_t>(view.rows()), shift, whole, whole, shift, 0, 0}, whole, whole};
}

// Evaluates the middle cut of an interval; false if no cut of it is open.
bool RuledSearch::part(View& view, int level, int depth, const Column& column, RuledInterval i,
                       Loss budget, Front& front, RuledInterval halves[2]) {
  const std::size_t f = column.feature;
  const RowWeights weights{at(level).upto.data()};
  const Loss room = budget - column.price;
  settle(i.ends, weights);
  if (interval_bound(i, weights) >= room) {
    ++counters_.pruned_interval;
    return false;
  }
  const OpenCuts open = open_cuts(i, weights, room);
  if (open.first > i.ends.low + 1 || open.last < i.ends.high - 1) ++counters_.pruned_neighbour;
  const std::int32_t cut =
      open.first > open.last ? -1
                             : nearest_cut(view.ends(f), open.first + (open.last - open.first) / 2,
                                           open.first, open.last);
  if (cut < 0) return false;
  const Sides sides = evaluate(view, level, depth, column.next, f, cut, i, weights, room, front);
  const Interval& e = i.ends;
  halves[0] = {{e.low, cut, e.low_left, e.low_right, sides.free[0], sides.free[1], 0, 0},
               i.low_right,
               sides.ruled[0]};
  halves[1] = {{cut, e.high, sides.free[0], sides.free[1], e.high_left, e.high_right, 0, 0},
               sides.ruled[1],
               i.high_left};
  return true;
}

// Bounds on both sides of a cut and, where these leave room, all sub-trees that split there.
RuledSearch::Sides RuledSearch::evaluate(View& view, int level, int depth, int next, std::size_t f,
                                         std::int32_t cut, const RuledInterval& whole,
                                         const RowWeights& weights, Loss room, Front& front) {
  Level& here = at(level);
  ++counters_.cuts;
  const std::uint32_t bound = view.sorted(f)[cut - 1] + 1;
  const Interval& around = whole.ends;
  const Loss below = weights.between(around.low, cut), above = weights.between(cut, around.high);
  Loss value[2] = {std::max(around.low_left, around.high_left - above),
                   std::max(around.high_right, around.low_right - below)};
  const Loss slack = std::min(below, above) / 2;  // exact bounds prune neighbours
  const int first = 2 * cut <= static_cast<std::int32_t>(view.rows()) ? 0 : 1;
  bool open = true;
  for (int k = 0; k < 2; ++k) {
    const int s = k == 0 ? first : 1 - first;
    const Loss limit = room - value[1 - s] + slack;
    open = open && value[s] < limit;
    if (!open) break;
    here.side[s].make_child(view, f, bound, s == 0);
    poll(2 * view.features() * view.words());  // many columns take long, even of few rows
    value[s] = free_.bound(bounds_, here.side[s], depth - 1, limit, value[s], 0);
  }
  if (open && value[0] + value[1] < room &&
      w_.may_stand(f, view.sorted(f)[cut - 1], view.sorted(f)[cut], level)) {
    const std::uint64_t facts = facts_of(view, f, bound, level);
    Sides sides{{value[0], value[1]}, {value[0], value[1]}};
    const bool deletion = deletion_at(level, depth);
    if (deletion) {
      sides.ruled[0] = std::max(value[0], whole.high_left - above);
      sides.ruled[1] = std::max(value[1], whole.low_right - below);
    }
    if (monotone_) monotone_->split(level, f, view.order(f)[cut - 1], view.order(f)[cut]);
    if (!(facts & w_.forbidden))
      join(view, level, depth, next, f, bound, facts, sides, room, slack, first, front);
    if (!deletion) return {{value[0], value[1]}, {value[0], value[1]}};
    if (w_.subset)
      for (int s = 0; s < 2; ++s) sides.free[s] = sides.ruled[s];
    return sides;
  }
  return {{value[0], value[1]}, {value[0], value[1]}};
}

void RuledSearch::join(View& view, int level, int depth, int next, std::size_t f,
                       std::uint32_t bound, std::uint64_t facts, Sides& sides, Loss room,
                       Loss slack, int first, Front& front) {
  Level& here = at(level);
  // As in the plain search: a side solved a little beyond what can still win prunes its neighbours.
  const bool deletion = deletion_at(level, depth);
  const Loss beyond = deletion && w_.single ? slack : 0;
  for (int k = 0; k < 2; ++k) {
    const int s = k == 0 ? first : 1 - first;
    if (sides.ruled[0] + sides.ruled[1] >= room) return;
    const Loss budget = room - sides.ruled[1 - s] + beyond;
    if (monotone_) monotone_->enter(level, s, monotone_->limits_of(level, s));
    solve(here.side[s], level + 1, depth - 1, next, budget, here.front[s]);
    const Loss found = here.front[s].empty() ? budget : here.front[s].entries()[0].weighted;
    if (deletion || k == 0) sides.ruled[s] = std::max(sides.ruled[s], found);
    if (here.front[s].empty()) return;
  }
  Loss price = 0;
  for (std::size_t k = 0; k < w_.components; ++k) price += w_.multipliers.of[k] * here.split[k];
  if (monotone_ && monotone_->facts_of(f) != 0)
    return untangle(view, level, depth, next, f, bound, facts, room, price, front);
  here.values.resize(w_.components);
  std::uint64_t work = 0;
  for (const Entry& a : here.front[0].entries())
    for (const Entry& b : here.front[1].entries()) {
      if ((work += front.entries().size() + w_.components + 1) >
          20000) {  // large fronts: an offer looks through all entries
        poll(work);
        check_memory();
        work = 0;
      }
      if (a.weighted + b.weighted >= tightened(room + price, front, level) - price) break;
      const Loss* x = here.front[0].components(a);
      const Loss* y = here.front[1].components(b);
      for (std::size_t k = 0; k < w_.components; ++k) here.values[k] = x[k] + y[k] + here.split[k];
      if (!within(here.values.data(), here.sums.data() + w_.sums)) continue;
      Entry e;
      e.weighted = a.weighted + b.weighted + price;
      e.facts = a.facts | b.facts | facts;
      e.feature = static_cast<int>(f);
      e.bound = bound;
      e.left = a.left;
      e.right = b.left;
      if (monotone_) e.threshold = monotone_->threshold(level);
      if (level == 0)
        consider(e, here.values.data());
      else
        front.offer(e, here.values.data());
    }
}

}  // namespace odt
