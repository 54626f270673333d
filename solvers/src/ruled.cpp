#include "odt/ruled.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "odt/ranks.hpp"
#include "odt/ruled_run.hpp"
#include "odt/ruled_simplify.hpp"

namespace odt {

RuledProblem::RuledProblem() = default;
RuledProblem::RuledProblem(const RuledProblem&) = default;
RuledProblem::RuledProblem(RuledProblem&&) noexcept = default;
RuledProblem& RuledProblem::operator=(const RuledProblem&) = default;
RuledProblem& RuledProblem::operator=(RuledProblem&&) noexcept = default;
RuledProblem::~RuledProblem() = default;

void check(const RuledProblem& p) {
  const auto demand = [](bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
  };
  const std::size_t k = static_cast<std::size_t>(p.components), n = p.base.rows,
                    c = static_cast<std::size_t>(p.columns);
  const std::size_t states = static_cast<std::size_t>(p.states),
                    labels = static_cast<std::size_t>(p.base.classes);
  demand(n > 0 && p.base.features > 0 && labels > 0, "no rows, features or labels");
  demand(p.base.depth >= 0 && p.base.depth <= 30, "depth must be between 0 and 30");
  demand(p.column.size() == p.base.features, "one column per feature");
  demand(p.value.size() == n * static_cast<std::size_t>(p.sums), "value has the wrong size");
  demand(p.sum_of.size() == k * labels && p.leaf.size() == k && p.split.size() == k * c,
         "components have the wrong size");
  demand(p.path_weight.size() == k && p.path_delta.size() == k, "components have the wrong size");
  demand(p.next.size() == states * c && p.need.size() == states, "states have the wrong size");
  demand(p.leaf_rules.size() == states && p.split_rules.size() == states,
         "states have the wrong size");
  demand(p.split_facts.size() == static_cast<std::size_t>(p.base.depth) * c,
         "facts have the wrong size");
  demand(p.facts >= 0 && p.facts <= 64, "too many facts");
  if (!p.monotone.empty()) {
    demand(p.space.columns.size() == c && p.space.cells.size() == c * n,
           "columns have the wrong size");
    demand(p.space.tests.size() == p.base.features, "one test per feature");
    for (const SpaceTest& t : p.space.tests)
      demand(t.code >= 0 || !t.admitted.empty(), "a feature has no thresholds");
    for (const MonotoneRule& r : p.monotone)
      demand(r.column >= 0 && r.column < p.columns && r.fact >= 0 && r.fact < p.facts,
             "a monotone rule is out of range");
  }
  for (const ObjectiveTerm& t : p.objective)
    demand(t.coefficient >= 0, "the objective has a coefficient below 0");
  for (std::size_t f = 0; f < p.base.features; ++f)
    demand(all_below(p.base.ranks(f), p.base.rows, p.base.distinct[f]), "a rank is out of range");
}

namespace {

void check_start(const RuledProblem& p, const Tree& tree) {
  const int n = static_cast<int>(tree.nodes.size());
  for (int i = 0; i < n; ++i) {
    const TreeNode& node = tree.nodes[static_cast<std::size_t>(i)];
    const bool leaf = node.feature < 0;
    const bool fits = leaf ? node.label < p.base.classes
                           : node.feature < static_cast<int>(p.base.features) && node.left > i &&
                                 node.right > i && node.left < n && node.right < n &&
                                 node.cut < p.base.distinct[static_cast<std::size_t>(node.feature)];
    if (!fits) throw std::invalid_argument("the start tree does not fit the problem");
  }
}

void run(const RuledProblem& p, Control& control, Result& result) {
  result.isa = choose_kernels(control.options().isa).name;
  result.method = "ruled";
  RuledRun(p, control, result).run();
}

}  // namespace

Result solve_ruled(const RuledProblem& p, const Options& options) {
  check(p);
  check_start(p, options.start);
  const Simplified s = simplify(p);
  Options inner = options;
  if (!options.start.empty()) inner.start = reduced(s, options.start);
  if (options.progress)
    inner.progress = [&](const Incumbent& at, const Found& found) {
      if (found.tree == nullptr) return options.progress(at, found);
      const Tree told = restore(p, s, *found.tree);
      options.progress(at, {nullptr, &told});
    };
  Control control(inner);
  Result result;
  run(s.problem, control, result);
  if (!result.tree.empty()) result.tree = restore(p, s, std::move(result.tree));
  result.seconds = control.seconds();
  result.work = control.work();
  return result;
}

}  // namespace odt
