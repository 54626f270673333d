// Feasible sets of outputs: dictionaries in, arrays out.
#include "outputs.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <cmath>
#include <numeric>
#include <stdexcept>

#include "shared.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace odt_python;

std::vector<double> numbers(const nb::handle& item, std::size_t size) {
  const auto array = nb::cast<Vector<double>>(item);
  if (array.shape(0) != size) throw std::invalid_argument("an array of another length");
  return {array.data(), array.data() + size};
}

// (factors, low, high): a matrix with a row per range, and its ends.
std::vector<odt::OutputRange> ranges_of(const nb::handle& item, std::size_t targets) {
  const auto parts = nb::cast<nb::tuple>(item);
  const auto factors = nb::cast<Matrix<double>>(parts[0]);
  if (factors.shape(1) != targets) throw std::invalid_argument("ranges need one factor per target");
  const std::size_t count = factors.shape(0);
  const auto low = numbers(parts[1], count), high = numbers(parts[2], count);
  std::vector<odt::OutputRange> found(count);
  for (std::size_t r = 0; r < count; ++r) {
    found[r].factor.assign(factors.data() + r * targets, factors.data() + (r + 1) * targets);
    found[r].low = low[r];
    found[r].high = high[r];
  }
  return found;
}

odt::OutputPiece piece_of(const nb::dict& d, std::size_t targets) {
  odt::OutputPiece piece;
  piece.low = numbers(d["low"], targets);
  piece.high = numbers(d["high"], targets);
  piece.gaps.resize(targets);
  for (nb::handle item : nb::cast<nb::list>(d["gaps"])) {
    const auto gap = nb::cast<nb::tuple>(item);
    piece.gaps.at(nb::cast<std::size_t>(gap[0]))
        .emplace_back(nb::cast<double>(gap[1]), nb::cast<double>(gap[2]));
  }
  piece.ranges = ranges_of(d["ranges"], targets);
  for (nb::handle item : nb::cast<nb::list>(d["counts"])) {
    const auto parts = nb::cast<nb::tuple>(item);
    odt::OutputCount count;
    count.most = nb::cast<int>(parts[0]);
    const auto target = nb::cast<Vector<std::uint32_t>>(parts[1]);
    count.target.assign(target.data(), target.data() + target.shape(0));
    for (std::uint32_t t : count.target)
      if (t >= targets) throw std::invalid_argument("a count of an unknown target");
    count.low = numbers(parts[2], count.target.size());
    count.high = numbers(parts[3], count.target.size());
    if (!count.target.empty()) piece.counts.push_back(std::move(count));
  }
  for (nb::handle item : nb::cast<nb::list>(d["choices"])) {
    piece.choices.emplace_back();
    for (nb::handle alternative : nb::cast<nb::list>(item))
      piece.choices.back().push_back(ranges_of(alternative, targets));
  }
  return piece;
}

OutputSpace* space_of(const Vector<double>& step, const nb::list& pieces) {
  auto space = std::make_unique<OutputSpace>();
  space->set = std::make_unique<odt::OutputSet>();
  space->set->targets = step.shape(0);
  space->set->step.assign(step.data(), step.data() + step.shape(0));
  for (nb::handle item : pieces)
    space->set->pieces.push_back(piece_of(nb::cast<nb::dict>(item), step.shape(0)));
  space->solver = std::make_unique<odt::OutputSolver>(*space->set);
  return space.release();
}

nb::object matrix_of(std::vector<double>&& values, std::size_t rows, std::size_t columns) {
  auto* data = new std::vector<double>(std::move(values));
  nb::capsule owner(data, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
  return nb::cast(
      nb::ndarray<nb::numpy, double, nb::ndim<2>>(data->data(), {rows, columns}, owner));
}

// Least losses and outputs for goals, a row each; NaN outputs where nothing fits.
template <class Loss>
nb::tuple nearest(OutputSpace& space, Loss& loss, const Matrix<double>& goals) {
  const std::size_t n = goals.shape(1), rows = goals.shape(0);
  if (n != space.set->targets) throw std::invalid_argument("goals need one column per target");
  std::vector<double> outputs(rows * n, std::nan("")), values(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    loss.aim(goals.data() + i * n);
    values[i] = space.solver->solve(loss, outputs.data() + i * n);
  }
  return nb::make_tuple(array_of<double>(rows, [&](std::size_t i) { return values[i]; }),
                        matrix_of(std::move(outputs), rows, n));
}

nb::tuple project(OutputSpace& space, const Matrix<double>& goals, const Vector<double>& weights,
                  std::optional<double> price) {
  odt::SquaredLoss loss(numbers(nb::cast(weights), space.set->targets),
                        price.value_or(odt::kUnbounded));
  return nearest(space, loss, goals);
}

nb::tuple deviance(OutputSpace& space, const Matrix<double>& goals, const Vector<double>& weights) {
  odt::PoissonLoss loss(numbers(nb::cast(weights), space.set->targets));
  return nearest(space, loss, goals);
}

nb::tuple absolute(OutputSpace& space, const Matrix<double>& points,
                   const Vector<double>& row_weights, const Vector<double>& weights,
                   std::optional<double> price) {
  const std::size_t n = space.set->targets;
  if (points.shape(1) != n || row_weights.shape(0) != points.shape(0))
    throw std::invalid_argument("points need one column per target, and weights");
  odt::AbsoluteLoss loss(numbers(nb::cast(weights), n), price.value_or(odt::kUnbounded));
  std::vector<std::uint32_t> rows(points.shape(0));
  std::iota(rows.begin(), rows.end(), 0u);
  loss.aim(rows, points.data(), row_weights.data());
  std::vector<double> output(n, std::nan(""));
  const double value = space.solver->solve(loss, output.data());
  return nb::make_tuple(value, array_of<double>(n, [&](std::size_t t) { return output[t]; }));
}

nb::object contains(OutputSpace& space, const Matrix<double>& points, double slack) {
  if (points.shape(1) != space.set->targets)
    throw std::invalid_argument("points need one column per target");
  return array_of<bool>(points.shape(0), [&](std::size_t i) {
    return space.solver->contains(points.data() + i * points.shape(1), slack);
  });
}

}  // namespace

void bind_outputs(nb::module_& m) {
  nb::class_<OutputSpace>(m, "OutputSpace")
      .def(
          "__init__",
          [](OutputSpace* self, const Vector<double>& step, const nb::list& pieces) {
            std::unique_ptr<OutputSpace> made(space_of(step, pieces));
            new (self) OutputSpace(std::move(*made));
          },
          "step"_a, "pieces"_a)
      .def("project", &project, "goals"_a, "weights"_a, "price"_a = nb::none())
      .def("deviance", &deviance, "goals"_a, "weights"_a)
      .def("absolute", &absolute, "points"_a, "row_weights"_a, "weights"_a, "price"_a = nb::none())
      .def("contains", &contains, "points"_a, "slack"_a)
      .def_prop_ro("relaxations", [](const OutputSpace& s) { return s.solver->relaxations; })
      .def_prop_ro("convex", [](const OutputSpace& s) { return s.solver->convex(); })
      .def_prop_ro("everything", [](const OutputSpace& s) { return s.solver->everything(); });
}
