// Diagrams of a shape: one table, asked shape by shape.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "odt/diagram_moves.hpp"
#include "odt/diagrams.hpp"
#include "shared.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace odt_python;
using odt::Loss;

odt::LayeredProblem table_of(const Ranks& ranks, const Vector<std::uint32_t>& distinct,
                             const Matrix<std::int64_t>& losses, const nb::object& allowed) {
  odt::Problem p = problem_of(ranks, distinct, 0);
  set_allowed(p, allowed);
  if (losses.shape(0) != p.rows) throw std::invalid_argument("losses need one row per row");
  odt::LayeredProblem table;
  table.rows = p.rows;
  table.features = p.features;
  table.labels = static_cast<int>(losses.shape(1));
  table.rank = std::move(p.rank);
  table.distinct = std::move(p.distinct);
  table.allowed = std::move(p.allowed);
  table.allowed.resize(table.features);
  table.loss.assign(losses.data(), losses.data() + losses.shape(0) * losses.shape(1));
  return table;
}

nb::list list_of(const odt::Layers& found) {
  nb::list layers;
  for (const auto& layer : found) {
    nb::list nodes;
    for (const odt::LayeredNode& n : layer)
      nodes.append(nb::make_tuple(n.feature, n.cut, n.left, n.right));
    layers.append(nodes);
  }
  return layers;
}

using Tuples = std::vector<std::vector<std::tuple<int, std::uint32_t, int, int>>>;

odt::Layers layers_of(const Tuples& given, const odt::LayeredProblem& table,
                      const std::vector<int>& widths) {
  const auto demand = [](bool holds) {
    if (!holds) throw std::invalid_argument("a start that is no diagram of the widths");
  };
  demand(given.size() <= widths.size());
  odt::Layers layers;
  for (std::size_t l = 0; l < given.size(); ++l) {
    demand(!given[l].empty() && given[l].size() <= static_cast<std::size_t>(widths[l]));
    const int below = l + 1 < given.size() ? static_cast<int>(given[l + 1].size()) : 0;
    layers.emplace_back();
    for (const auto& [feature, cut, left, right] : given[l]) {
      demand(feature >= 0 && static_cast<std::size_t>(feature) < table.features &&
             std::max(left, right) < below && std::min(left, right) >= -table.labels);
      layers.back().push_back({feature, cut, left, right});
    }
  }
  return layers;
}

// `judge(value, layers)` says whether a diagram may be kept; see `DiagramMoves`.
nb::dict improve_diagram(const Ranks& ranks, const Vector<std::uint32_t>& distinct,
                         const Matrix<std::int64_t>& losses, const std::vector<int>& widths,
                         Loss price, const Tuples& start, Loss upper, const nb::callable& judge,
                         const nb::object& allowed, bool picky, std::uint64_t patience,
                         std::uint64_t seed, std::uint64_t work_limit,
                         std::optional<double> time_limit, const nb::object& interrupted) {
  const odt::LayeredProblem table = table_of(ranks, distinct, losses, allowed);
  if (widths.empty() || widths[0] != 1 || table.rows == 0 || table.features == 0)
    throw std::invalid_argument("no rows, no features or no root");
  const odt::Layers given = layers_of(start, table, widths);
  odt::Options o;
  o.work_limit = work_limit;
  o.time_limit = time_limit.value_or(-1);
  Interrupt interrupt(interrupted);
  o.interrupted = [&interrupt] { return interrupt(); };
  odt::Control control(o);
  std::unique_ptr<nb::python_error> error;
  const auto asked = [&](Loss value, const odt::Layers& layers) {
    nb::gil_scoped_acquire lock;
    try {
      return nb::cast<bool>(judge(value, list_of(layers)));
    } catch (nb::python_error& e) {
      error = std::make_unique<nb::python_error>(std::move(e));
    }
    throw odt::Stop{};
  };
  Loss value = upper;
  std::uint64_t moves = 0;
  bool stopped = false;
  {
    nb::gil_scoped_release free;
    std::unique_ptr<odt::DiagramMoves> search;
    try {
      search =
          std::make_unique<odt::DiagramMoves>(table, widths, price, picky, seed, control, asked);
      search->run(given, upper, patience);
    } catch (const odt::Stop&) {
      stopped = true;
    }
    if (search) {
      value = search->value();
      moves = search->moves();
    }
  }
  if (error) throw nb::python_error(std::move(*error));
  nb::dict d;
  d["value"] = value;
  d["moves"] = moves;
  d["work"] = control.work();
  d["stopped"] = stopped;
  d["interrupted"] = interrupt.raised();
  return d;
}

class Layered {
 public:
  Layered(const Ranks& ranks, const Vector<std::uint32_t>& distinct,
          const Matrix<std::int64_t>& losses, const nb::object& allowed)
      : search_(odt::layered_search(table_of(ranks, distinct, losses, allowed))) {}

  nb::dict solve(const std::vector<int>& shape, Loss below, bool bound_only,
                 std::uint64_t work_limit, std::optional<double> time_limit,
                 std::optional<std::size_t> memory_limit, const nb::object& interrupted) {
    odt::Options o;
    o.work_limit = work_limit;
    o.time_limit = time_limit.value_or(-1);
    o.memory_limit = memory_limit.value_or(0);
    Interrupt interrupt(interrupted);
    o.interrupted = [&interrupt] { return interrupt(); };
    odt::LayeredAnswer answer;
    {
      nb::gil_scoped_release free;
      answer = search_->solve(shape, below, bound_only, o);
    }
    nb::dict d;
    d["bound"] = answer.bound;
    d["complete"] = answer.complete;
    d["value"] = answer.value < odt::kInfinite ? nb::cast(answer.value) : nb::none();
    d["work"] = answer.work;
    d["layers"] = list_of(answer.layers);
    d["interrupted"] = interrupt.raised();
    return d;
  }

 private:
  std::unique_ptr<odt::LayeredSearch> search_;
};

}  // namespace

void bind_diagrams(nb::module_& m) {
  nb::class_<Layered>(m, "Layered")
      .def(nb::init<const Ranks&, const Vector<std::uint32_t>&, const Matrix<std::int64_t>&,
                    const nb::object&>(),
           "ranks"_a, "distinct"_a, "losses"_a, "allowed"_a = nb::none())
      .def("solve", &Layered::solve, "shape"_a, "below"_a, nb::kw_only(), "bound_only"_a = false,
           "work_limit"_a = 0, "time_limit"_a = nb::none(), "memory_limit"_a = nb::none(),
           "interrupted"_a = nb::none());
  m.def("improve_diagram", &improve_diagram, "ranks"_a, "distinct"_a, "losses"_a, "widths"_a,
        "price"_a, "start"_a, "upper"_a, "judge"_a, nb::kw_only(), "allowed"_a = nb::none(),
        "picky"_a = false, "patience"_a = 0, "seed"_a = 0, "work_limit"_a = 0,
        "time_limit"_a = nb::none(), "interrupted"_a = nb::none());
  m.attr("most_layered_rows") = odt::kMostLayeredRows;
  m.attr("most_layered_labels") = odt::kMostLayeredLabels;
}
