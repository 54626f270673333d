// Trees of output vectors.
#include <optional>
#include <stdexcept>
#include <string>

#include "odt/outputs_leaf.hpp"
#include "odt/outputs_search.hpp"
#include "numbers.hpp"
#include "outputs.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace odt_python;

odt::OutputWay way_of(const std::string& name) {
  if (name == "optimal") return odt::OutputWay::optimal;
  if (name == "relaxed") return odt::OutputWay::relaxed;
  if (name == "medoid") return odt::OutputWay::medoid;
  if (name == "average") return odt::OutputWay::average;
  throw std::invalid_argument("no such way of filling leaves");
}

odt::OutputProblem problem_of(const RankTable& table, const Matrix<double>& targets,
                              const Vector<double>& factors, const OutputSpace& space, int depth,
                              const std::optional<Vector<double>>& weights, const std::string& loss,
                              std::optional<int> max_leaves, double leaf_price,
                              const std::optional<Matrix<std::int64_t>>& bounded,
                              const std::optional<Vector<std::int64_t>>& minima,
                              const odt::NumberRules* rules, const odt::NumberModel* model) {
  odt::OutputProblem p;
  p.base = table.problem(depth);
  p.base.leaves = max_leaves.value_or(0);
  const std::size_t n = factors.shape(0);
  if (targets.shape(0) != p.base.rows || targets.shape(1) != n || space.set->targets != n)
    throw std::invalid_argument("targets need a row per row and a column per target");
  p.target = copied(targets);
  p.factor = copied(factors);
  p.weight = weights_of(weights, p.base.rows);
  p.loss = loss_of(loss);
  p.set = *space.set;
  if (rules) p.rules = *rules;
  if (model) p.model = *model;
  p.leaf_price = leaf_price;
  if (bounded && minima) {
    if (bounded->shape(0) != p.base.rows || bounded->shape(1) != minima->shape(0))
      throw std::invalid_argument("bounded needs a row per row");
    p.bounded = copied(*bounded);
    p.minima = copied(*minima);
  }
  return p;
}

struct Grown {
  TreeArrays tree;
  double value;
  std::uint64_t relaxations, candidates, evaluated;
};

Grown grow_outputs(const odt::OutputProblem& p, const std::string& split, const std::string& leaf,
                   double split_price, double leaf_price, const Asked& interrupted) {
  odt::OutputGrowth g;
  g.split = way_of(split);
  g.leaf = way_of(leaf);
  g.split_price = split_price;
  g.leaf_price = leaf_price;
  Interrupt interrupt(interrupted);
  g.interrupted = [&interrupt] { return interrupt(); };
  odt::GrownOutputs r;
  {
    Unlocked free;
    r = odt::grow_outputs(p, g);
  }
  return {TreeArrays(r.tree, r.output), r.value, r.relaxations, r.candidates, r.evaluated};
}

NumberAnswer solve_vectors(const odt::OutputProblem& p, const Limits& limits, int leaf_rows,
                           const std::optional<TreeArrays>& start,
                           std::optional<double> upper_bound, const Progress<double>& progress,
                           const std::vector<double>& by_first) {
  odt::OutputOptions o;
  static_cast<odt::RegressionOptions&>(o) = real_options_of(limits);
  o.leaf_rows = leaf_rows;
  if (upper_bound) o.upper_bound = *upper_bound;
  if (start) o.start = start->start();
  if (!by_first.empty() && by_first.size() != p.base.features)
    throw std::invalid_argument("by_first needs one entry per feature");
  o.by_first = by_first;
  return answered<NumberAnswer, double>(
      std::move(o), limits, progress,
      [&p](const odt::OutputOptions& o) { return odt::solve_outputs(p, o); });
}

}  // namespace

void bind_outputs_trees(nb::module_& m) {
  nb::class_<odt::OutputProblem>(
      m, "OutputProblem",
      "A tree of output vectors, each in `space`.\n\n"
      "loss: squared, absolute or poisson. bounded, minima: each leaf that is grown needs these\n"
      "sums of its rows. rules, model: of the search.")
      .def(
          "__init__",
          [](odt::OutputProblem* self, const RankTable& table, const Matrix<double>& targets,
             const Vector<double>& factors, const OutputSpace& space, int depth,
             const std::optional<Vector<double>>& weights, const std::string& loss,
             std::optional<int> max_leaves, double leaf_price,
             const std::optional<Matrix<std::int64_t>>& bounded,
             const std::optional<Vector<std::int64_t>>& minima, const odt::NumberRules* rules,
             const odt::NumberModel* model) {
            new (self) odt::OutputProblem(problem_of(table, targets, factors, space, depth, weights,
                                                     loss, max_leaves, leaf_price, bounded, minima,
                                                     rules, model));
          },
          "table"_a, "targets"_a, "factors"_a, "space"_a, "depth"_a, nb::kw_only(),
          "weights"_a = nb::none(), "loss"_a = "squared", "max_leaves"_a = nb::none(),
          "leaf_price"_a = 0.0, "bounded"_a = nb::none(), "minima"_a = nb::none(),
          "rules"_a.none() = nb::none(), "model"_a.none() = nb::none());
  nb::class_<Grown>(m, "Grown")
      .def_ro("tree", &Grown::tree)
      .def_ro("value", &Grown::value, "Of the way of the splits, over leaves.")
      .def_ro("relaxations", &Grown::relaxations)
      .def_ro("candidates", &Grown::candidates)
      .def_ro("evaluated", &Grown::evaluated);
  m.def("grow_outputs", &grow_outputs, "problem"_a, nb::kw_only(), "split"_a = "optimal",
        "leaf"_a = "optimal", "split_price"_a = 0.0, "leaf_price"_a = 0.0,
        "interrupted"_a = nb::none(),
        "split, leaf: how leaves are filled while splits are scored, and at the end: optimal,\n"
        "relaxed, medoid or average.");
  m.def("solve_outputs", &solve_vectors, "problem"_a, "limits"_a, nb::kw_only(), "leaf_rows"_a = 1,
        "start"_a = nb::none(), "upper_bound"_a = nb::none(), "progress"_a = nb::none(),
        "by_first"_a = std::vector<double>(),
        "by_first: per feature, what no tree that tests it first loses less than; empty: unknown.");
  m.def(
      "finish_outputs",
      [](const odt::OutputProblem& p, const odt::Plan& plan) {
        return answer_of<NumberAnswer>(odt::finished(p, plan));
      },
      "problem"_a, "plan"_a, "The tree of a plan that `solve_outputs` told of.");
}
