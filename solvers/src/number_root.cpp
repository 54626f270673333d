#include "odt/number_root.hpp"

#include <cmath>
#include <numeric>
#include <stdexcept>

#include "odt/number_repeats.hpp"
#include "odt/ranks.hpp"

namespace odt {

NumberRoot::NumberRoot(const NumberProblem& problem, const NumberOptions& options, Control& control)
    : p_(problem),
      o_(options),
      control_(control),
      goal_(shape(problem.base.depth,
                  problem.base.leaves > 0 ? problem.base.leaves : full_leaves(30))),
      story_(control, options, result_.timeline),
      beside_(control, options, problem.base.depth, problem.absolute()) {
  if (threads() > 1) workers_ = std::make_unique<Workers>(static_cast<int>(threads()));
}

void NumberRoot::begin_with() {
  story_.higher(bound_ + offset_);
  if (std::isfinite(o_.upper_bound)) {
    const double slack = 2 * tolerance_ + 1e-12 * std::fabs(o_.upper_bound);
    most_ = o_.upper_bound - offset_ + slack;
  }
  if (o_.start.empty()) return;
  std::size_t fewest = 0;
  const Plan plan = plan_of_tree(p_, o_.start, fewest);
  std::vector<std::uint32_t> all(p_.base.rows);
  std::iota(all.begin(), all.end(), 0u);
  if (fewest >= static_cast<std::size_t>(p_.leaf_rows) &&
      RuleCheck(p_.base, p_.rules).keeps(plan, 0, 0, std::move(all)))
    consider(plan, finish(p_, plan).value - offset_);
}

void NumberRoot::accept(double value, const Plan& plan) {
  value_ = value;
  plan_ = plan;
  beside_.shared.offer(value, plan);
  story_.better(value_ + offset_, plan_);
}

void NumberRoot::raise(double bound) {
  if (bound <= bound_) return;
  bound_ = bound;
  story_.higher(bound_ + offset_);
}

// What the search beside has found.
void NumberRoot::take() {
  double value = limit();
  if (beside_.shared.take(value, plan_)) value_ = value;
}

// Good trees, which the proof takes as incumbents.
void NumberRoot::begin_beside() {
  rows_ = rows();
  finder_ = std::make_unique<NumberAnytime>(*rows_, control_, goal_.depth, goal_.leaves, o_.seed,
                                            [this](double value, const Plan& plan) {
                                              double price = 0;
                                              if (!keeps(plan, price)) return;
                                              value += price;
                                              if (beside_.shared.offer(value, plan))
                                                story_.better(value + offset_, plan);
                                            });
  control_.grow_first(o_.start.empty());
  finder_->begin();
  control_.grow_first(false);
}

bool NumberRoot::close_enough() const {
  if (plan_.empty()) return bound_ >= limit();
  const double gap = value_ - bound_;
  return gap <= std::max(tolerance_, o_.absolute_gap) ||
         gap <= o_.relative_gap * std::fabs(value_ + offset_);
}

NumberResult NumberRoot::run() {
  bool complete = true;
  struct Ends {  // before what the search beside uses
    NumberBeside& beside;
    ~Ends() { beside.finish(); }
  } ends{beside_};
  try {
    if (begin()) {
      if (!o_.prove || (grows() && !quick())) begin_beside();
      // Through before the search beside has its first turn, and before other bounds are of use.
      const bool soon = o_.prove && beside_.outlives(work());
      const bool bounded = soon || bound(true);
      if (finder_) finder_->look_ahead();
      control_.check();
      if (o_.prove && !soon && grows() && NumberBeside::suits(o_, goal_.depth))
        beside_.start([this] {
          if (!finder_) begin_beside();
          return improve();
        });
      if (!bounded) bound(false);
      if (o_.prove)
        prove();
      else
        improve();
    }
  } catch (const Stop&) {
    complete = false;
  }
  beside_.finish();
  beside_.rethrow();
  take();
  workers_.reset();
  result_.counters.add(counters());
  conclude((complete && o_.prove) || close_enough());
  result_.seconds = control_.seconds();
  result_.work = control_.work();
  return std::move(result_);
}

void NumberRoot::conclude(bool complete) {
  bound_ = std::min(bound_, upper());
  result_.bound = bound_ + offset_;
  if (plan_.empty()) {
    result_.status = complete ? Status::infeasible : Status::unknown;
    return;
  }
  const double claimed = value_ + offset_;
  FinishedNumbers done = finish(p_, whole(plan_));
  // Weights may have been rounded, for both.
  if (p_.model.none() && OutputSolver(p_.set).everything() &&
      done.value > claimed + 16 * tolerance_ + 1e-9 * std::fabs(claimed))
    throw std::logic_error("the tree's loss differs from the search's claim");
  result_.value = p_.model.none() ? done.value : claimed;
  result_.tree = std::move(done.tree);
  result_.output = std::move(done.output);
  const bool proven = value_ - bound_ <= 4 * tolerance_;
  result_.status = proven ? Status::optimal : Status::feasible;
  result_.bound = proven ? result_.value : std::min(result_.bound, result_.value);
}

namespace {

void demand(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

void check(const NumberProblem& p) {
  demand(p.base.rows > 0 && p.base.features > 0, "no rows or no features");
  demand(p.base.rows < (1u << 30), "too many rows");
  demand(p.base.depth >= 0 && p.base.depth <= 30, "depth must be between 0 and 30");
  demand(p.leaf_rows >= 1, "a leaf holds a row");
  demand(p.leaf_price >= 0 && std::isfinite(p.leaf_price),
         "the price per leaf must not be negative");
  demand(p.target.size() == p.base.rows * p.targets() && p.set.targets == p.targets(),
         "targets need one entry per row, and a column per target");
  for (double y : p.target) {
    demand(std::isfinite(y), "a target is not finite");
    demand(std::fabs(y) <= 1e100, "a target is too large");
    demand(y >= 0 || !p.poisson(), "a count is negative");
  }
  for (double w : p.weight)
    demand(w >= 0 && w <= 1e60, "a weight is negative, not finite or too large");
  for (std::size_t f = 0; f < p.base.features; ++f)
    demand(all_below(p.base.ranks(f), p.base.rows, p.base.distinct[f]), "a rank is out of range");
  check(p.rules, p.base);
  check(p.model, p);
}

// Whether what leaves and splits must hold is so much of one sum, which scans count.
bool counts_alike(const NumberProblem& p) {
  const NumberRules& r = p.rules;
  if (!p.sized()) return true;
  const auto single = [](const std::vector<RowConditions>& conditions) {
    return std::all_of(conditions.begin(), conditions.end(),
                       [](const RowConditions& one) { return one.size() == 1; });
  };
  const auto value = r.value.begin();
  return r.any_strict() && r.sums <= 1 && single(r.leaf_conditions) && single(r.split_conditions) &&
         std::all_of(value, r.value.end(), [](Loss v) { return v <= 0; }) &&
         (r.value.empty() || p.leaf_rows <= 1 ||
          std::all_of(value, r.value.end(), [&](Loss v) { return v == r.value[0]; })) &&
         // A row that no rule on leaves counts.
         (!r.leaf_conditions.empty() || std::find(value, r.value.end(), 0) == r.value.end());
}

bool scans(const NumberProblem& p) {
  return p.targets() == 1 && p.factor[0] == 1 && p.model.none() && !p.rules.asks_cuts() &&
         counts_alike(p) && OutputSolver(p.set).everything();
}

}  // namespace

NumberResult finished(const NumberProblem& problem, const Plan& plan) {
  check(problem);
  FinishedNumbers done = finish(problem, scans(problem) ? whole_plan(problem, plan) : plan);
  NumberResult result;
  result.status = Status::feasible;
  result.value = done.value;
  result.tree = std::move(done.tree);
  result.output = std::move(done.output);
  return result;
}

std::vector<std::size_t> first_cuts(const Problem& base) {
  std::vector<std::size_t> first(1, 0);
  for (std::size_t f = 0; f < base.features; ++f)
    first.push_back(first.back() + (base.distinct[f] > 0 ? base.distinct[f] - 1 : 0));
  return first;
}

NumberResult solve_numbers(const NumberProblem& problem, const NumberOptions& options) {
  check(problem);
  demand(options.by_first.empty() || options.by_first.size() == first_cuts(problem.base).back(),
         "by_first needs one entry per cut");
  Options limits;
  limits.time_limit = options.time_limit;
  limits.work_limit = options.work_limit;
  limits.interrupted = options.interrupted;
  Control control(limits);
  const auto solve = [&](const NumberProblem& p, const NumberOptions& o) {
    return (!o.vectors && scans(p) ? make_scan_root : make_vector_root)(p, o, control)->run();
  };
  const NumberRepeats repeats(problem);
  if (repeats.none()) return solve(problem, options);
  NumberOptions o = options;
  if (!o.start.empty()) o.start = repeats.retold(o.start);
  NumberResult result = solve(repeats.without(), o);
  repeats.spread(result.by_first);
  return result;
}

}  // namespace odt
