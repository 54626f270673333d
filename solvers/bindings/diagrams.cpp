// Diagrams of a shape: one table, asked shape by shape.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "odt/diagrams.hpp"
#include "shared.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace odt_python;
using odt::Loss;

class Layered {
 public:
  Layered(const Ranks& ranks, const Vector<std::uint32_t>& distinct, const Matrix<std::int64_t>& losses, const nb::object& allowed) {
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
    search_ = odt::layered_search(std::move(table));
  }

  nb::dict solve(const std::vector<int>& shape, Loss below, bool bound_only, std::uint64_t work_limit, std::optional<double> time_limit,
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
    nb::list layers;
    for (const auto& layer : answer.layers) {
      nb::list nodes;
      for (const odt::LayeredNode& n : layer) nodes.append(nb::make_tuple(n.feature, n.cut, n.left, n.right));
      layers.append(nodes);
    }
    nb::dict d;
    d["bound"] = answer.bound;
    d["complete"] = answer.complete;
    d["value"] = answer.value < odt::kInfinite ? nb::cast(answer.value) : nb::none();
    d["work"] = answer.work;
    d["layers"] = layers;
    d["interrupted"] = interrupt.raised();
    return d;
  }

 private:
  std::unique_ptr<odt::LayeredSearch> search_;
};

}  // namespace

void bind_diagrams(nb::module_& m) {
  nb::class_<Layered>(m, "Layered")
      .def(nb::init<const Ranks&, const Vector<std::uint32_t>&, const Matrix<std::int64_t>&, const nb::object&>(), "ranks"_a, "distinct"_a,
           "losses"_a, "allowed"_a = nb::none())
      .def("solve", &Layered::solve, "shape"_a, "below"_a, nb::kw_only(), "bound_only"_a = false, "work_limit"_a = 0, "time_limit"_a = nb::none(),
           "memory_limit"_a = nb::none(), "interrupted"_a = nb::none());
  m.attr("most_layered_rows") = odt::kMostLayeredRows;
  m.attr("most_layered_labels") = odt::kMostLayeredLabels;
}
