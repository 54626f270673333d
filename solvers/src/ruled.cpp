#include "odt/ruled.hpp"

#include <algorithm>
#include <memory>
#include <cmath>
#include <stdexcept>

#include "odt/ruled_prices.hpp"
#include "odt/ruled_search.hpp"
#include "odt/ruled_simplify.hpp"

namespace odt {
namespace {

void check(const RuledProblem& p) {
  const auto demand = [](bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
  };
  const std::size_t k = static_cast<std::size_t>(p.components), n = p.base.rows, c = static_cast<std::size_t>(p.columns);
  const std::size_t states = static_cast<std::size_t>(p.states), labels = static_cast<std::size_t>(p.base.classes);
  demand(n > 0 && p.base.features > 0 && labels > 0, "no rows, features or labels");
  demand(p.base.depth >= 0 && p.base.depth <= 30, "depth must be between 0 and 30");
  demand(p.column.size() == p.base.features, "one column per feature");
  demand(p.value.size() == n * static_cast<std::size_t>(p.sums), "value has the wrong size");
  demand(p.sum_of.size() == k * labels && p.leaf.size() == k && p.split.size() == k * c, "components have the wrong size");
  demand(p.path_weight.size() == k && p.path_delta.size() == k, "components have the wrong size");
  demand(p.next.size() == states * c && p.need.size() == states, "states have the wrong size");
  demand(p.leaf_rules.size() == states && p.split_rules.size() == states, "states have the wrong size");
  demand(p.split_facts.size() == static_cast<std::size_t>(p.base.depth) * c, "facts have the wrong size");
  demand(p.facts >= 0 && p.facts <= 64, "too many facts");
  if (!p.monotone.empty()) {
    demand(p.space.columns.size() == c && p.space.cells.size() == c * n, "columns have the wrong size");
    demand(p.space.tests.size() == p.base.features, "one test per feature");
    for (const SpaceTest& t : p.space.tests) demand(t.code >= 0 || !t.admitted.empty(), "a feature has no thresholds");
    for (const MonotoneRule& r : p.monotone)
      demand(r.column >= 0 && r.column < p.columns && r.fact >= 0 && r.fact < p.facts, "a monotone rule is out of range");
  }
  for (const ObjectiveTerm& t : p.objective) demand(t.coefficient >= 0, "the objective has a coefficient below 0");
  for (std::size_t f = 0; f < p.base.features; ++f)
    for (std::size_t i = 0; i < n; ++i) demand(p.base.ranks(f)[i] < p.base.distinct[f], "a rank is out of range");
}

// The depths one after the other: multipliers, then the search.
template <class R>
class Run {
 public:
  Run(const RuledProblem& p, Control& control, Result& result)
      : p_(p), control_(control), result_(result), best_(control, result, p.offset), prices_(p) {}

  void run() {
    try {
      // Shallower trees first: an incumbent early, at a small part of the cost.
      for (int depth = 0; depth <= p_.base.depth && !best_.done(); ++depth) search(depth);
    } catch (const Stop&) {
    }
    const bool found = !result_.tree.empty();
    // A gap that was asked for and reached is not a proof.
    if (best_.value() < kInfinite && best_.bound() >= best_.value()) result_.status = found ? Status::optimal : Status::infeasible;
    else if (best_.bound() >= kInfinite) result_.status = Status::infeasible;
    else result_.status = found ? Status::feasible : Status::unknown;
  }

 private:
  static constexpr int kShallowRounds = 8;

  void search(int depth) {
    const bool final = depth == p_.base.depth;
    Multipliers m = choose(depth);
    for (;;) {
      FreeTrees<R> free(p_, m, control_);
      RuledSearch<R> search(free, control_, best_);
      const auto count = [&] {
        free.search.counters.cache_entries = search.nodes_kept();
        result_.counters.add(free.search.counters);
      };
      bool complete;
      try {
        complete = search.grow(depth, final ? -1 : kShallowRounds);
      } catch (const Stop&) {
        count();
        throw;
      }
      count();
      if (search.missed().empty()) {
        if (final && complete) best_.raise(best_.cutoff(), false);
        return;
      }
      for (std::size_t k = 0; k < m.compared.size(); ++k) m.compared[k] = m.compared[k] || search.missed()[k];
    }
  }

  // Multipliers whose bound on trees of this depth is high.
  Multipliers choose(int depth) {
    Multipliers chosen = prices_.first();
    if (!prices_.any()) return chosen;
    std::vector<double> wanted;
    Multipliers m = chosen;
    if (prices_.trees() > 0) {
      prices_.best(wanted);
      m = prices_.rounded(wanted);
    }
    double highest = -1e300;
    for (int step = 0; step < kSteps; ++step) {
      FreeTrees<R> free(p_, m, control_);
      Tree tree;
      const Loss least = free.least(depth, tree);
      const double bound = free.weights.objective(least);
      if (depth == p_.base.depth) best_.raise(free.weights.objective_from(least));
      if (bound > highest) {
        highest = bound;
        chosen = m;
      }
      learn(tree);
      if (best_.done()) break;
      const double top = prices_.best(wanted);
      const double room = best_.value() < kInfinite ? static_cast<double>(best_.value()) - highest : std::abs(highest);
      if (top - highest <= kNear * room) break;
      m = prices_.rounded(wanted);
    }
    return chosen;
  }

  void learn(const Tree& tree) {
    const Measured m = measure(p_, tree);
    prices_.add(m);
    if (m.stands && keeps_clauses(p_, m.facts, m.values.data()))
      best_.offer(objective_of(p_, m.facts, m.values.data()), [&] { return tree; });
  }

  static constexpr int kSteps = 30;
  static constexpr double kNear = 0.03;

  const RuledProblem& p_;
  Control& control_;
  Result& result_;
  RuledBest best_;
  Prices prices_;
};

template <class R>
void run(const RuledProblem& p, Control& control, Result& result) {
  result.isa = choose_kernels(control.options().isa).name;
  result.method = "ruled";
  Run<R>(p, control, result).run();
}

}  // namespace

Result solve_ruled(const RuledProblem& p, const Options& options) {
  check(p);
  Control control(options);
  Result result;
  const Simplified s = simplify(p);
  const auto& distinct = s.problem.base.distinct;
  const bool narrow = *std::max_element(distinct.begin(), distinct.end()) < 65535;
  (narrow ? run<std::uint16_t> : run<std::uint32_t>)(s.problem, control, result);
  if (!result.tree.empty()) result.tree = restore(p, s, std::move(result.tree));
  result.seconds = control.seconds();
  return result;
}

}  // namespace odt
