// Regression trees: arrays in, a dictionary out.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <stdexcept>
#include <string>

#include "real.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace odt_python;

nb::dict solve_regression(const Ranks& ranks, const Vector<std::uint32_t>& distinct,
                          const Vector<double>& targets, int depth, const nb::object& allowed,
                          const std::optional<Vector<double>>& weights,
                          std::optional<int> max_leaves, double leaf_price, bool absolute,
                          std::optional<double> time_limit, double absolute_gap,
                          double relative_gap, int threads, std::optional<std::size_t> memory_limit,
                          std::optional<double> upper_bound, const nb::object& start,
                          const nb::object& progress, const nb::object& interrupted,
                          const std::string& method, std::uint64_t seed, std::uint64_t alone,
                          std::uint64_t work_limit, const nb::object& plan) {
  odt::RegressionProblem p;
  p.base = problem_of(ranks, distinct, depth);
  set_allowed(p.base, allowed);
  if (targets.shape(0) != p.base.rows)
    throw std::invalid_argument("targets need one entry per row");
  p.target.assign(targets.data(), targets.data() + p.base.rows);
  p.weight = weights_of(weights, p.base.rows);
  if (max_leaves && *max_leaves < 1) throw std::invalid_argument("max_leaves must be positive");
  p.base.leaves = max_leaves.value_or(0);
  p.leaf_price = leaf_price;
  p.absolute = absolute;
  if (!plan.is_none()) return result_of(odt::finished(p, plan_of(nb::cast<nb::dict>(plan))));
  const AnytimeArgs anytime{method, seed, alone, work_limit};
  return answered(
      odt::RegressionOptions{},
      {time_limit, absolute_gap, relative_gap, threads, memory_limit, upper_bound, start, anytime},
      progress, interrupted,
      [&p](const odt::RegressionOptions& o) { return odt::solve_regression(p, o); });
}

}  // namespace

void bind_regression(nb::module_& m) {
  m.def("solve_regression", &solve_regression, "ranks"_a, "distinct"_a, "targets"_a, "depth"_a,
        nb::kw_only(), "allowed"_a = nb::none(), "weights"_a = nb::none(),
        "max_leaves"_a = nb::none(), "leaf_price"_a = 0.0, "absolute"_a = false,
        "time_limit"_a = nb::none(), "absolute_gap"_a = 0.0, "relative_gap"_a = 0.0,
        "threads"_a = 1, "memory_limit"_a = nb::none(), "upper_bound"_a = nb::none(),
        "start"_a = nb::none(), "progress"_a = nb::none(), "interrupted"_a = nb::none(),
        "method"_a = "auto", "seed"_a = 0, "alone"_a = odt::RegressionOptions{}.alone,
        "work_limit"_a = 0, "plan"_a = nb::none());
}
