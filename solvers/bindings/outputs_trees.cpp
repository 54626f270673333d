// Trees of output vectors: arrays in, a dictionary out. The interpreter's lock is free meanwhile.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <stdexcept>
#include <string>

#include "odt/outputs_leaf.hpp"
#include "odt/outputs_search.hpp"
#include "outputs.hpp"
#include "real.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace odt_python;

odt::OutputLoss loss_of(const std::string& name) {
  if (name == "squared") return odt::OutputLoss::squared;
  if (name == "absolute") return odt::OutputLoss::absolute;
  if (name == "poisson") return odt::OutputLoss::poisson;
  throw std::invalid_argument("no such loss");
}

odt::OutputWay way_of(const std::string& name) {
  if (name == "optimal") return odt::OutputWay::optimal;
  if (name == "relaxed") return odt::OutputWay::relaxed;
  if (name == "medoid") return odt::OutputWay::medoid;
  if (name == "average") return odt::OutputWay::average;
  throw std::invalid_argument("no such way of filling leaves");
}

struct Given {
  const Matrix<double>& targets;
  const Vector<double>& factors;
  const OutputSpace& space;
  const std::optional<Vector<double>>& weights;
};

odt::OutputProblem problem_with(odt::Problem&& base, const Given& given, const std::string& loss) {
  odt::OutputProblem p;
  p.base = std::move(base);
  const std::size_t n = given.factors.shape(0);
  if (given.targets.shape(0) != p.base.rows || given.targets.shape(1) != n ||
      given.space.set->targets != n)
    throw std::invalid_argument("targets need a row per row and a column per target");
  p.target.assign(given.targets.data(), given.targets.data() + p.base.rows * n);
  p.factor.assign(given.factors.data(), given.factors.data() + n);
  p.weight = weights_of(given.weights, p.base.rows);
  p.loss = loss_of(loss);
  p.set = *given.space.set;
  return p;
}

nb::dict grow_outputs(const Ranks& ranks, const Vector<std::uint32_t>& distinct,
                      const Matrix<double>& targets, const Vector<double>& factors,
                      OutputSpace& space, int depth, const nb::object& allowed,
                      const std::optional<Vector<double>>& weights, const std::string& loss,
                      const std::string& split, const std::string& leaf, double split_price,
                      double leaf_price, std::optional<int> max_leaves,
                      const std::optional<Matrix<std::int64_t>>& bounded,
                      const std::optional<Vector<std::int64_t>>& minima,
                      const nb::object& interrupted) {
  odt::Problem base = problem_of(ranks, distinct, depth);
  set_allowed(base, allowed);
  base.leaves = max_leaves.value_or(0);
  odt::OutputProblem p = problem_with(std::move(base), {targets, factors, space, weights}, loss);
  if (bounded && minima) {
    if (bounded->shape(0) != p.base.rows || bounded->shape(1) != minima->shape(0))
      throw std::invalid_argument("bounded needs a row per row");
    p.bounded.assign(bounded->data(), bounded->data() + bounded->shape(0) * bounded->shape(1));
    p.minima.assign(minima->data(), minima->data() + minima->shape(0));
  }
  odt::OutputGrowth g;
  g.split = way_of(split);
  g.leaf = way_of(leaf);
  g.split_price = split_price;
  g.leaf_price = leaf_price;
  Interrupt interrupt(interrupted);
  g.interrupted = [&interrupt] { return interrupt(); };
  odt::GrownOutputs r;
  {
    nb::gil_scoped_release free;
    r = odt::grow_outputs(p, g);
  }
  nb::dict d;
  nb::dict tree = tree_of(r.tree);
  tree["output"] = array_of<double>(r.output.size(), [&](std::size_t i) { return r.output[i]; });
  d["tree"] = tree;
  d["value"] = r.value;
  d["relaxations"] = r.relaxations;
  d["candidates"] = r.candidates;
  d["evaluated"] = r.evaluated;
  return d;
}

nb::dict solve_outputs(const Ranks& ranks, const Vector<std::uint32_t>& distinct,
                       const Matrix<double>& targets, const Vector<double>& factors,
                       OutputSpace& space, int depth, const nb::object& allowed,
                       const std::optional<Vector<double>>& weights, const std::string& loss,
                       std::optional<int> max_leaves, double leaf_price, int leaf_rows, int threads,
                       std::optional<double> time_limit, double relative_gap,
                       std::optional<std::size_t> memory_limit, std::optional<double> upper_bound,
                       const nb::object& start, const nb::object& progress,
                       const nb::object& interrupted, const std::string& method, std::uint64_t seed,
                       std::uint64_t alone, std::uint64_t work_limit, const nb::object& plan) {
  odt::Problem base = problem_of(ranks, distinct, depth);
  set_allowed(base, allowed);
  base.leaves = max_leaves.value_or(0);
  odt::OutputProblem p = problem_with(std::move(base), {targets, factors, space, weights}, loss);
  p.leaf_price = leaf_price;
  if (!plan.is_none()) return result_of(odt::finished(p, plan_of(nb::cast<nb::dict>(plan))));
  odt::OutputOptions options;
  options.leaf_rows = leaf_rows;
  const AnytimeArgs anytime{method, seed, alone, work_limit};
  return answered(
      options, {time_limit, 0.0, relative_gap, threads, memory_limit, upper_bound, start, anytime},
      progress, interrupted,
      [&p](const odt::OutputOptions& o) { return odt::solve_outputs(p, o); });
}

}  // namespace

void bind_outputs_trees(nb::module_& m) {
  m.def("grow_outputs", &grow_outputs, "ranks"_a, "distinct"_a, "targets"_a, "factors"_a, "space"_a,
        "depth"_a, nb::kw_only(), "allowed"_a = nb::none(), "weights"_a = nb::none(),
        "loss"_a = "squared", "split"_a = "optimal", "leaf"_a = "optimal", "split_price"_a = 0.0,
        "leaf_price"_a = 0.0, "max_leaves"_a = nb::none(), "bounded"_a = nb::none(),
        "minima"_a = nb::none(), "interrupted"_a = nb::none());
  m.def("solve_outputs", &solve_outputs, "ranks"_a, "distinct"_a, "targets"_a, "factors"_a,
        "space"_a, "depth"_a, nb::kw_only(), "allowed"_a = nb::none(), "weights"_a = nb::none(),
        "loss"_a = "squared", "max_leaves"_a = nb::none(), "leaf_price"_a = 0.0, "leaf_rows"_a = 1,
        "threads"_a = 1, "time_limit"_a = nb::none(), "relative_gap"_a = 0.0,
        "memory_limit"_a = nb::none(), "upper_bound"_a = nb::none(), "start"_a = nb::none(),
        "progress"_a = nb::none(), "interrupted"_a = nb::none(), "method"_a = "auto", "seed"_a = 0,
        "alone"_a = odt::RegressionOptions{}.alone, "work_limit"_a = 0, "plan"_a = nb::none());
}
