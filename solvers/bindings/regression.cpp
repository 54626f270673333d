// Trees of numbers.
#include <optional>
#include <stdexcept>

#include "numbers.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace odt_python;

odt::RegressionProblem problem_of(const RankTable& table, const Vector<double>& targets, int depth,
                                  const std::optional<Vector<double>>& weights,
                                  std::optional<int> max_leaves, double leaf_price,
                                  const std::string& loss) {
  odt::RegressionProblem p;
  p.base = table.problem(depth);
  if (targets.shape(0) != p.base.rows)
    throw std::invalid_argument("targets need one entry per row");
  p.target = copied(targets);
  p.weight = weights_of(weights, p.base.rows);
  if (max_leaves && *max_leaves < 1) throw std::invalid_argument("max_leaves must be positive");
  p.base.leaves = max_leaves.value_or(0);
  p.leaf_price = leaf_price;
  p.loss = loss_of(loss);
  return p;
}

NumberAnswer solve_numbers(const odt::RegressionProblem& p, const Limits& limits,
                           const std::optional<TreeArrays>& start,
                           std::optional<double> upper_bound, const Progress<double>& progress) {
  odt::RegressionOptions o = real_options_of(limits);
  if (upper_bound) o.upper_bound = *upper_bound;
  if (start) o.start = start->start();
  return answered<NumberAnswer, double>(
      std::move(o), limits, progress,
      [&p](const odt::RegressionOptions& o) { return odt::solve_regression(p, o); });
}

}  // namespace

void bind_regression(nb::module_& m) {
  nb::class_<odt::RegressionProblem>(
      m, "RegressionProblem",
      "A tree of numbers of least loss: squared, absolute or poisson, with prices of leaves.")
      .def(
          "__init__",
          [](odt::RegressionProblem* self, const RankTable& table, const Vector<double>& targets,
             int depth, const std::optional<Vector<double>>& weights, std::optional<int> max_leaves,
             double leaf_price, const std::string& loss, const odt::NumberRules* rules,
             int leaf_rows) {
            new (self) odt::RegressionProblem(
                problem_of(table, targets, depth, weights, max_leaves, leaf_price, loss));
            if (rules) self->rules = *rules;
            self->leaf_rows = leaf_rows;
          },
          "table"_a, "targets"_a, "depth"_a, nb::kw_only(), "weights"_a = nb::none(),
          "max_leaves"_a = nb::none(), "leaf_price"_a = 0.0, "loss"_a = "squared",
          "rules"_a.none() = nb::none(), "leaf_rows"_a = 1);
  m.def("solve_regression", &solve_numbers, "problem"_a, "limits"_a, nb::kw_only(),
        "start"_a = nb::none(), "upper_bound"_a = nb::none(), "progress"_a = nb::none());
  m.def(
      "finish_regression",
      [](const odt::RegressionProblem& p, const odt::Plan& plan) {
        return answer_of<NumberAnswer>(odt::finished(p, plan));
      },
      "problem"_a, "plan"_a, "The tree of a plan that `solve_regression` told of.");
}
