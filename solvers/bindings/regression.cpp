// Regression trees: arrays in, a dictionary out. The interpreter's lock is free during the search.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <optional>
#include <stdexcept>

#include "odt/regression.hpp"
#include "shared.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace odt_python;

nb::dict solve_regression(const Ranks& ranks, const Vector<std::uint32_t>& distinct, const Vector<double>& targets, int depth,
                          const nb::object& allowed, const std::optional<Vector<double>>& weights,
                          std::optional<int> max_leaves, double leaf_price, bool absolute, std::optional<double> time_limit,
                          double absolute_gap, double relative_gap, int threads, std::optional<std::size_t> memory_limit,
                          std::optional<double> upper_bound, const nb::object& start, const nb::object& progress,
                          const nb::object& interrupted) {
  odt::RegressionProblem p;
  p.base = problem_of(ranks, distinct, depth);
  set_allowed(p.base, allowed);
  if (targets.shape(0) != p.base.rows) throw std::invalid_argument("targets need one entry per row");
  p.target.assign(targets.data(), targets.data() + p.base.rows);
  if (weights) {
    if (weights->shape(0) != p.base.rows) throw std::invalid_argument("weights need one entry per row");
    p.weight.assign(weights->data(), weights->data() + p.base.rows);
  }
  if (max_leaves && *max_leaves < 1) throw std::invalid_argument("max_leaves must be positive");
  p.base.leaves = max_leaves.value_or(0);
  p.leaf_price = leaf_price;
  p.absolute = absolute;
  odt::RegressionOptions o;
  o.time_limit = time_limit.value_or(-1);
  o.absolute_gap = absolute_gap;
  o.relative_gap = relative_gap;
  o.threads = threads;
  o.memory_limit = memory_limit.value_or(0);
  if (upper_bound) o.upper_bound = *upper_bound;
  if (!start.is_none()) o.start = start_of(nb::cast<nb::dict>(start));
  Progress heard(progress);
  if (heard.wanted()) o.progress = [&heard](const odt::RealIncumbent& i) { heard(i.value, i.bound, i.seconds); };
  Interrupt interrupt(interrupted);
  o.interrupted = [&interrupt] { return interrupt(); };
  odt::RegressionResult r;
  {
    nb::gil_scoped_release free;
    r = odt::solve_regression(p, o);
  }
  heard.rethrow();
  nb::dict d;
  const bool has_tree = !r.tree.empty();
  d["status"] = name_of(r.status);
  d["objective"] = has_tree ? nb::cast(r.value) : nb::none();
  d["bound"] = r.bound;
  d["tree"] = nb::none();
  if (has_tree) {
    nb::dict tree = tree_of(r.tree);
    tree["output"] = array_of<double>(r.output.size(), [&](std::size_t i) { return r.output[i]; });
    d["tree"] = tree;
  }
  d["counters"] = counters_of(r.counters);
  nb::list timeline;
  for (const odt::RealIncumbent& i : r.timeline) timeline.append(nb::make_tuple(i.seconds, i.value, i.bound));
  d["timeline"] = timeline;
  d["seconds"] = r.seconds;
  d["interrupted"] = interrupt.raised();
  return d;
}

}  // namespace

void bind_regression(nb::module_& m) {
  m.def("solve_regression", &solve_regression, "ranks"_a, "distinct"_a, "targets"_a, "depth"_a, nb::kw_only(),
        "allowed"_a = nb::none(), "weights"_a = nb::none(), "max_leaves"_a = nb::none(), "leaf_price"_a = 0.0,
        "absolute"_a = false, "time_limit"_a = nb::none(), "absolute_gap"_a = 0.0, "relative_gap"_a = 0.0, "threads"_a = 1,
        "memory_limit"_a = nb::none(), "upper_bound"_a = nb::none(), "start"_a = nb::none(), "progress"_a = nb::none(),
        "interrupted"_a = nb::none());
}
