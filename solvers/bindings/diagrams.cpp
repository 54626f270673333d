// Diagrams of a shape: one table, asked shape by shape.
#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "odt/diagram_moves.hpp"
#include "odt/diagrams.hpp"
#include "values.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace odt_python;
using odt::Loss;

// Per layer and node: feature, cut, and the ends of both arcs.
using Tuples = std::vector<std::vector<std::tuple<int, std::uint32_t, int, int>>>;

odt::LayeredProblem table_of(const RankTable& ranks, const Matrix<std::int64_t>& losses) {
  odt::Problem p = ranks.problem(0);
  if (losses.shape(0) != p.rows) throw std::invalid_argument("losses need one row per row");
  odt::LayeredProblem table;
  table.rows = p.rows;
  table.features = p.features;
  table.labels = static_cast<int>(losses.shape(1));
  table.rank = std::move(p.rank);
  table.distinct = std::move(p.distinct);
  table.allowed = std::move(p.allowed);
  table.allowed.resize(table.features);
  table.loss = copied(losses);
  return table;
}

Tuples tuples_of(const odt::Layers& found) {
  Tuples layers;
  for (const auto& layer : found) {
    auto& nodes = layers.emplace_back();
    for (const odt::LayeredNode& n : layer) nodes.emplace_back(n.feature, n.cut, n.left, n.right);
  }
  return layers;
}

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

struct Improved {
  Loss value;
  std::uint64_t moves, work;
  bool stopped, interrupted;
};

using Judge = nb::typed<nb::callable, bool(Loss, Tuples)>;
using Told = nb::typed<nb::callable, void(Loss, Tuples)>;

// `judge(value, layers)` says whether a diagram may be kept; see `DiagramMoves`.
Improved improve_diagram(const RankTable& ranks, const Matrix<std::int64_t>& losses,
                         const std::vector<int>& widths, Loss price, const Tuples& start,
                         Loss upper, const Judge& judge, const Limits& limits, bool picky,
                         std::uint64_t patience) {
  const odt::LayeredProblem table = table_of(ranks, losses);
  if (widths.empty() || widths[0] != 1 || table.rows == 0 || table.features == 0)
    throw std::invalid_argument("no rows, no features or no root");
  const odt::Layers given = layers_of(start, table, widths);
  odt::Options o = options_of(limits);
  Interrupt interrupt(limits.interrupted);
  o.interrupted = [&interrupt] { return interrupt(); };
  odt::Control control(o);
  Callback heard(judge);
  const auto asked = [&heard](Loss value, const odt::Layers& layers) {
    Locked lock;
    const bool kept = heard.ask(false, value, tuples_of(layers));
    if (heard.raised()) throw odt::Stop{};
    return kept;
  };
  Improved made{upper, 0, 0, false, false};
  {
    Unlocked free;
    std::unique_ptr<odt::DiagramMoves> search;
    try {
      search = std::make_unique<odt::DiagramMoves>(table, widths, price, picky, limits.seed,
                                                   control, asked);
      search->run(given, upper, patience);
    } catch (const odt::Stop&) {
      made.stopped = true;
    }
    if (search) {
      made.value = search->value();
      made.moves = search->moves();
    }
  }
  heard.rethrow();
  made.work = control.work();
  made.interrupted = interrupt.raised();
  return made;
}

struct LayeredAnswer {
  Loss bound;
  std::optional<Loss> value;
  bool complete;
  std::uint64_t work;
  Tuples layers;
  bool interrupted;
};

class Layered {
 public:
  Layered(const RankTable& ranks, const Matrix<std::int64_t>& losses)
      : search_(odt::layered_search(table_of(ranks, losses))) {}

  LayeredAnswer solve(const std::vector<int>& shape, Loss below, const Limits& limits,
                      bool bound_only, Loss paid, const std::optional<Told>& told) {
    odt::Options o = options_of(limits);
    Interrupt interrupt(limits.interrupted);
    o.interrupted = [&interrupt] { return interrupt(); };
    Callback heard(told ? nb::handle(*told) : nb::handle());
    odt::LayeredWish wish{bound_only, paid, {}};
    if (told)
      wish.told = [&heard](Loss value, const odt::Layers& layers) {
        Locked lock;
        heard.tell(value, tuples_of(layers));
        if (heard.raised()) throw odt::Stop{};
      };
    odt::LayeredAnswer answer;
    {
      Unlocked free;
      answer = search_->solve(shape, below, wish, o);
    }
    heard.rethrow();
    LayeredAnswer made{
        answer.bound,      std::nullopt, answer.complete, answer.work, tuples_of(answer.layers),
        interrupt.raised()};
    if (answer.value < odt::kInfinite) made.value = answer.value;
    return made;
  }

  Loss upper() const { return search_->upper; }
  void set_upper(Loss upper) { search_->upper = upper; }

 private:
  std::unique_ptr<odt::LayeredSearch> search_;
};

}  // namespace

void bind_diagrams(nb::module_& m) {
  nb::class_<LayeredAnswer>(m, "LayeredAnswer")
      .def_ro("bound", &LayeredAnswer::bound, "No diagram of the shape loses less.")
      .def_ro("value", &LayeredAnswer::value, "Of the diagram; None: none below what was asked.")
      .def_ro("complete", &LayeredAnswer::complete, "`value`, or what was asked, is the least.")
      .def_ro("work", &LayeredAnswer::work)
      .def_ro("layers", &LayeredAnswer::layers,
              "Per layer and node: feature, cut, and the ends of both arcs.")
      .def_ro("interrupted", &LayeredAnswer::interrupted);
  nb::class_<Layered>(m, "Layered", "Diagrams of a shape: one table, asked shape by shape.")
      .def(nb::init<const RankTable&, const Matrix<std::int64_t>&>(), "table"_a, "losses"_a)
      .def_prop_rw("upper", &Layered::upper, &Layered::set_upper,
                   "Of all shapes only better diagrams are of interest; may be lowered meanwhile.")
      .def("solve", &Layered::solve, "shape"_a, "below"_a, "limits"_a, nb::kw_only(),
           "bound_only"_a = false, "paid"_a = 0, "told"_a = nb::none(),
           "`paid`: of `upper`, what all of the shape have anyway; `told` hears of better ones.");
  nb::class_<Improved>(m, "Improved")
      .def_ro("value", &Improved::value)
      .def_ro("moves", &Improved::moves)
      .def_ro("work", &Improved::work)
      .def_ro("stopped", &Improved::stopped)
      .def_ro("interrupted", &Improved::interrupted);
  m.def("improve_diagram", &improve_diagram, "table"_a, "losses"_a, "widths"_a, nb::kw_only(),
        "price"_a, "start"_a, "upper"_a, "judge"_a, "limits"_a, "picky"_a = false, "patience"_a = 0,
        "Moves from a diagram to better ones; `judge` says whether one may be kept.");
  m.attr("most_layered_rows") = odt::kMostLayeredRows;
  m.attr("most_layered_labels") = odt::kMostLayeredLabels;
}
