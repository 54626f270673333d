// Feasible sets of outputs.
#include "outputs.hpp"

#include <cmath>
#include <numeric>
#include <stdexcept>
#include <tuple>

#include "shared.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace odt_python;

template <class Values>
std::vector<double> numbers(const Values& array, std::size_t size) {
  if (array.shape(0) != size) throw std::invalid_argument("an array of another length");
  return copied(array);
}

using Vectors = Vector<double>;
// A row of factors per range, and its ends.
using Ranges = std::tuple<Matrix<double>, Vectors, Vectors>;
// At most so many of these targets outside their intervals.
using Count = std::tuple<int, Vector<std::uint32_t>, Vectors, Vectors>;

std::vector<odt::OutputRange> ranges_of(const Ranges& given, std::size_t targets) {
  const auto& [factors, lows, highs] = given;
  if (factors.shape(1) != targets) throw std::invalid_argument("ranges need one factor per target");
  const std::size_t count = factors.shape(0);
  const auto low = numbers(lows, count), high = numbers(highs, count);
  std::vector<odt::OutputRange> found(count);
  for (std::size_t r = 0; r < count; ++r) {
    found[r].factor.assign(factors.data() + r * targets, factors.data() + (r + 1) * targets);
    found[r].low = low[r];
    found[r].high = high[r];
  }
  return found;
}

odt::OutputCount count_of(const Count& given, std::size_t targets) {
  const auto& [most, target, low, high] = given;
  odt::OutputCount count;
  count.most = most;
  count.target = copied(target);
  for (std::uint32_t t : count.target)
    if (t >= targets) throw std::invalid_argument("a count of an unknown target");
  count.low = numbers(low, count.target.size());
  count.high = numbers(high, count.target.size());
  return count;
}

odt::OutputPiece piece_of(const Vectors& low, const Vectors& high,
                          const std::vector<std::tuple<std::size_t, double, double>>& gaps,
                          const Ranges& ranges, const std::vector<Count>& counts,
                          const std::vector<std::vector<Ranges>>& choices) {
  const std::size_t targets = low.shape(0);
  odt::OutputPiece piece;
  piece.low = copied(low);
  piece.high = numbers(high, targets);
  piece.gaps.resize(targets);
  for (const auto& [target, from, to] : gaps) piece.gaps.at(target).emplace_back(from, to);
  piece.ranges = ranges_of(ranges, targets);
  for (const Count& one : counts)
    if (odt::OutputCount count = count_of(one, targets); !count.target.empty())
      piece.counts.push_back(std::move(count));
  for (const auto& choice : choices) {
    auto& alternatives = piece.choices.emplace_back();
    for (const Ranges& alternative : choice)
      alternatives.push_back(ranges_of(alternative, targets));
  }
  return piece;
}

OutputSpace space_of(const Vectors& step, const std::vector<odt::OutputPiece>& pieces) {
  OutputSpace space;
  space.set = std::make_unique<odt::OutputSet>();
  space.set->targets = step.shape(0);
  space.set->step = copied(step);
  for (const odt::OutputPiece& piece : pieces)
    if (piece.low.size() != step.shape(0))
      throw std::invalid_argument("an array of another length");
  space.set->pieces = pieces;
  space.solver = std::make_unique<odt::OutputSolver>(*space.set);
  return space;
}

// Least losses and outputs for goals, a row each; NaN outputs where nothing fits.
using Nearest = std::tuple<Array<double>, Array2<double>>;

template <class Loss>
Nearest nearest(OutputSpace& space, Loss& loss, const Matrix<double>& goals) {
  const std::size_t n = goals.shape(1), rows = goals.shape(0);
  if (n != space.set->targets) throw std::invalid_argument("goals need one column per target");
  std::vector<double> outputs(rows * n, std::nan("")), values(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    loss.aim(goals.data() + i * n);
    values[i] = space.solver->solve(loss, outputs.data() + i * n);
  }
  return {array_of(std::move(values)), matrix_of(std::move(outputs), rows, n)};
}

Nearest project(OutputSpace& space, const Matrix<double>& goals, const Vector<double>& weights,
                std::optional<double> price) {
  odt::SquaredLoss loss(numbers(weights, space.set->targets), price.value_or(odt::kUnbounded));
  return nearest(space, loss, goals);
}

Nearest deviance(OutputSpace& space, const Matrix<double>& goals, const Vector<double>& weights) {
  odt::PoissonLoss loss(numbers(weights, space.set->targets));
  return nearest(space, loss, goals);
}

std::tuple<double, Array<double>> absolute(OutputSpace& space, const Matrix<double>& points,
                                           const Vector<double>& row_weights,
                                           const Vector<double>& weights,
                                           std::optional<double> price) {
  const std::size_t n = space.set->targets;
  if (points.shape(1) != n || row_weights.shape(0) != points.shape(0))
    throw std::invalid_argument("points need one column per target, and weights");
  odt::AbsoluteLoss loss(numbers(weights, n), price.value_or(odt::kUnbounded));
  std::vector<std::uint32_t> rows(points.shape(0));
  std::iota(rows.begin(), rows.end(), 0u);
  loss.aim(rows, points.data(), row_weights.data());
  std::vector<double> output(n, std::nan(""));
  const double value = space.solver->solve(loss, output.data());
  return {value, array_of(std::move(output))};
}

Array<bool> contains(OutputSpace& space, const Matrix<double>& points, double slack) {
  if (points.shape(1) != space.set->targets)
    throw std::invalid_argument("points need one column per target");
  return array_of<bool>(points.shape(0), [&](std::size_t i) {
    return space.solver->contains(points.data() + i * points.shape(1), slack);
  });
}

}  // namespace

void bind_outputs(nb::module_& m) {
  nb::class_<odt::OutputPiece>(
      m, "OutputPiece",
      "A polyhedron of outputs, less what is said without taking it apart.\n\n"
      "low, high: float64 (n_targets,). gaps: (target, low, high), open intervals without "
      "outputs.\n"
      "ranges: factors (n_ranges, n_targets), low and high of their sums. counts: at most so many\n"
      "of these targets outside low .. high. choices: of each list of ranges, one must hold.")
      .def(
          "__init__",
          [](odt::OutputPiece* self, const Vectors& low, const Vectors& high,
             const std::vector<std::tuple<std::size_t, double, double>>& gaps, const Ranges& ranges,
             const std::vector<Count>& counts, const std::vector<std::vector<Ranges>>& choices) {
            new (self) odt::OutputPiece(piece_of(low, high, gaps, ranges, counts, choices));
          },
          nb::kw_only(), "low"_a, "high"_a, "gaps"_a, "ranges"_a, "counts"_a, "choices"_a);
  nb::class_<OutputSpace>(
      m, "OutputSpace",
      "A feasible set of outputs. step: float64 (n_targets,), outputs are multiples of it, 0: any.")
      .def(
          "__init__",
          [](OutputSpace* self, const Vectors& step, const std::vector<odt::OutputPiece>& pieces) {
            new (self) OutputSpace(space_of(step, pieces));
          },
          "step"_a, "pieces"_a)
      .def("project", &project, "goals"_a, "weights"_a, "price"_a = nb::none(),
           "Least squared losses to goals and the outputs that have them, a row each; NaN outputs\n"
           "where nothing fits.")
      .def("deviance", &deviance, "goals"_a, "weights"_a)
      .def("absolute", &absolute, "points"_a, "row_weights"_a, "weights"_a, "price"_a = nb::none())
      .def("contains", &contains, "points"_a, "slack"_a)
      .def_prop_ro("relaxations", [](const OutputSpace& s) { return s.solver->relaxations; })
      .def_prop_ro("convex", [](const OutputSpace& s) { return s.solver->convex(); })
      .def_prop_ro("everything", [](const OutputSpace& s) { return s.solver->everything(); });
}
