// Trees of numbers.
#include <optional>
#include <stdexcept>
#include <string>

#include "odt/outputs_leaf.hpp"
#include "odt/number_problem.hpp"
#include "outputs.hpp"
#include "values.hpp"

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

odt::OutputLoss loss_of(const std::string& name) {
  if (name == "squared") return odt::OutputLoss::squared;
  if (name == "absolute") return odt::OutputLoss::absolute;
  if (name == "poisson") return odt::OutputLoss::poisson;
  throw std::invalid_argument("no such loss");
}

odt::NumberProblem problem_of(const RankTable& table, const Matrix<double>& targets, int depth,
                              const std::optional<Vector<double>>& factors,
                              const OutputSpace* space,
                              const std::optional<Vector<double>>& weights, const std::string& loss,
                              std::optional<int> max_leaves, double leaf_price, int leaf_rows,
                              const std::optional<Matrix<std::int64_t>>& bounded,
                              const std::optional<Vector<std::int64_t>>& minima,
                              const odt::NumberRules* rules, const odt::NumberModel* model) {
  odt::NumberProblem p;
  p.base = table.problem(depth);
  if (max_leaves && *max_leaves < 1) throw std::invalid_argument("max_leaves must be positive");
  p.base.leaves = max_leaves.value_or(0);
  const std::size_t n = targets.shape(1);
  p.factor = factors ? copied(*factors) : std::vector<double>(n, 1.0);
  p.set = space ? *space->set : odt::OutputSet::all(n);
  if (targets.shape(0) != p.base.rows || p.targets() != n || p.set.targets != n)
    throw std::invalid_argument("targets need one entry per row, and a column per target");
  p.target = copied(targets);
  if (weights) p.weight = copied(*weights);
  if (weights && p.weight.size() != p.base.rows)
    throw std::invalid_argument("weights need one entry per row");
  p.loss = loss_of(loss);
  if (rules) p.rules = *rules;
  if (model) p.model = *model;
  p.leaf_price = leaf_price;
  p.leaf_rows = leaf_rows;
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

Grown grow_outputs(const odt::NumberProblem& p, const std::string& split, const std::string& leaf,
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

NumberAnswer solve_numbers(const odt::NumberProblem& p, const Limits& limits,
                           const std::optional<TreeArrays>& start,
                           std::optional<double> upper_bound, const Progress<double>& progress,
                           const std::vector<double>& by_first, bool vectors) {
  odt::NumberOptions o = real_options_of(limits);
  if (upper_bound) o.upper_bound = *upper_bound;
  if (start) o.start = start->start();
  o.by_first = by_first;
  o.vectors = vectors;
  return answered<NumberAnswer, double>(
      std::move(o), limits, progress,
      [&p](const odt::NumberOptions& o) { return odt::solve_numbers(p, o); });
}

}  // namespace

void bind_numbers(nb::module_& m) {
  nb::class_<odt::NumberProblem>(
      m, "NumberProblem",
      "A tree of numbers of least loss: squared, absolute or poisson, with prices of leaves.\n\n"
      "targets: float64 (n_rows, n_targets). factors: what the loss of each counts, 1 without.\n"
      "space: of outputs; without it, all. bounded, minima: each leaf that is grown needs these\n"
      "sums of its rows. leaf_rows, rules, model: of the search.")
      .def(
          "__init__",
          [](odt::NumberProblem* self, const RankTable& table, const Matrix<double>& targets,
             int depth, const std::optional<Vector<double>>& factors, const OutputSpace* space,
             const std::optional<Vector<double>>& weights, const std::string& loss,
             std::optional<int> max_leaves, double leaf_price, int leaf_rows,
             const std::optional<Matrix<std::int64_t>>& bounded,
             const std::optional<Vector<std::int64_t>>& minima, const odt::NumberRules* rules,
             const odt::NumberModel* model) {
            new (self) odt::NumberProblem(problem_of(table, targets, depth, factors, space, weights,
                                                     loss, max_leaves, leaf_price, leaf_rows,
                                                     bounded, minima, rules, model));
          },
          "table"_a, "targets"_a, "depth"_a, nb::kw_only(), "factors"_a = nb::none(),
          "space"_a.none() = nb::none(), "weights"_a = nb::none(), "loss"_a = "squared",
          "max_leaves"_a = nb::none(), "leaf_price"_a = 0.0, "leaf_rows"_a = 1,
          "bounded"_a = nb::none(), "minima"_a = nb::none(), "rules"_a.none() = nb::none(),
          "model"_a.none() = nb::none());
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
  m.def("solve_numbers", &solve_numbers, "problem"_a, "limits"_a, nb::kw_only(),
        "start"_a = nb::none(), "upper_bound"_a = nb::none(), "progress"_a = nb::none(),
        "by_first"_a = std::vector<double>(), "vectors"_a = false,
        "One number without rules on outputs or on the whole tree is solved by scans, unless\n"
        "`vectors`; all else by the search for vectors. by_first: per cut between ranks, feature\n"
        "by feature, what no tree that splits there first loses less than; empty: unknown.");
  m.def(
      "finish_numbers",
      [](const odt::NumberProblem& p, const odt::Plan& plan) {
        return answer_of<NumberAnswer>(odt::finished(p, plan));
      },
      "problem"_a, "plan"_a, "The tree of a plan that `solve_numbers` told of.");
}
