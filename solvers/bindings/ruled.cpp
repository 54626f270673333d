// Trees under rules: a dictionary of arrays in (see odtdsl/backends/exact/ruled.py), a dictionary
// out.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <stdexcept>
#include <string>

#include "ruled.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace odt_python;
using odt::Loss;

template <class T>
std::vector<T> list(const nb::dict& d, const char* key) {
  return nb::cast<std::vector<T>>(d[key]);
}

std::vector<Loss> losses(const nb::handle& array) {
  const auto a = nb::cast<nb::ndarray<const Loss, nb::c_contig, nb::device::cpu>>(array);
  return std::vector<Loss>(a.data(), a.data() + a.size());
}

std::vector<odt::RowClause> row_clauses(const nb::handle& clauses) {
  std::vector<odt::RowClause> made;
  for (nb::handle clause : clauses) {
    auto& literals = made.emplace_back();
    for (nb::handle item : clause) {
      const auto t = nb::cast<nb::tuple>(item);
      literals.push_back(
          {nb::cast<std::vector<int>>(t[0]), nb::cast<Loss>(t[1]), nb::cast<Loss>(t[2])});
    }
  }
  return made;
}

// ("component", index, at most) or ("fact", index, whether it must be set)
std::vector<odt::ModelClause> model_clauses(const nb::handle& clauses) {
  std::vector<odt::ModelClause> made;
  for (nb::handle clause : clauses) {
    auto& literals = made.emplace_back();
    for (nb::handle item : clause) {
      const auto t = nb::cast<nb::tuple>(item);
      odt::ModelLiteral l;
      if (nb::cast<std::string>(t[0]) == "component") {
        l.component = nb::cast<int>(t[1]);
        l.at_most = nb::cast<Loss>(t[2]);
      } else {
        l.fact = nb::cast<int>(t[1]);
        l.positive = nb::cast<bool>(t[2]);
      }
      literals.push_back(l);
    }
  }
  return made;
}

void set_components(odt::RuledProblem& p, const nb::dict& d) {
  p.components = nb::cast<int>(d["components"]);
  p.sums = nb::cast<int>(d["sums"]);
  p.value = losses(d["value"]);
  p.sum_of = list<int>(d, "sum_of");
  p.leaf = list<Loss>(d, "leaf");
  p.split = losses(d["split"]);
  p.path_weight = list<int>(d, "path_weight");
  for (nb::handle item : d["path_delta"])
    p.path_delta.push_back(item.is_none() ? std::vector<Loss>{} : losses(item));
  p.offset = nb::cast<Loss>(d["offset"]);
  for (nb::handle item : d["objective"]) {
    const auto t = nb::cast<nb::tuple>(item);
    p.objective.push_back(
        {nb::cast<Loss>(t[0]), nb::cast<std::vector<int>>(t[1]), nb::cast<int>(t[2])});
  }
}

// A set of thresholds: flat quadruples, each the value and side of both ends of a piece.
odt::RealSet real_set(const nb::handle& pieces) {
  odt::RealSet made;
  for (nb::handle item : pieces) {
    const auto t = nb::cast<nb::tuple>(item);
    made.push_back({{nb::cast<double>(t[0]), nb::cast<int>(t[1])},
                    {nb::cast<double>(t[2]), nb::cast<int>(t[3])}});
  }
  return made;
}

// Rules (fact, column, increasing); columns (known values or -1, whether others are possible,
// whether cells are missing); features (the value that goes left or -1, the side of missing cells
// or -1, the thresholds that may stand by level, whether they are shortened).
void set_monotone(odt::RuledProblem& p, const nb::dict& d) {
  for (nb::handle item : d["monotone"]) {
    const auto t = nb::cast<nb::tuple>(item);
    p.monotone.push_back({nb::cast<int>(t[0]), nb::cast<int>(t[1]), nb::cast<bool>(t[2])});
  }
  if (p.monotone.empty()) return;
  for (nb::handle item : d["column_kinds"]) {
    const auto t = nb::cast<nb::tuple>(item);
    p.space.columns.push_back({nb::cast<int>(t[0]), nb::cast<bool>(t[1]), nb::cast<bool>(t[2])});
  }
  std::size_t feature = 0;
  for (nb::handle item : d["tests"]) {
    const auto t = nb::cast<nb::tuple>(item);
    odt::SpaceTest test{p.column.at(feature++), nb::cast<int>(t[0]), nb::cast<int>(t[1]), {}};
    for (nb::handle level : t[2]) test.admitted.push_back(real_set(level));
    test.shorten = nb::cast<bool>(t[3]);
    p.space.tests.push_back(std::move(test));
  }
  p.steady = nb::cast<bool>(d["steady"]);
  const auto cells =
      nb::cast<nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>>(d["cells"]);
  p.space.cells.assign(cells.data(), cells.data() + cells.size());
}

void set_rules(odt::RuledProblem& p, const nb::dict& d) {
  p.column = list<int>(d, "column");
  p.columns = nb::cast<int>(d["columns"]);
  for (int flag : list<int>(d, "missing_low")) p.missing_low.push_back(flag != 0);
  for (int flag : list<int>(d, "missing_high")) p.missing_high.push_back(flag != 0);
  for (nb::handle level : d["allowed_at"]) {
    odt::Problem one;
    one.features = p.base.features;
    one.distinct = p.base.distinct;
    set_allowed(one, nb::borrow(level));
    p.allowed_at.push_back(std::move(one.allowed));
  }
  p.states = nb::cast<int>(d["states"]);
  const auto next = nb::cast<Matrix<std::int32_t>>(d["next"]);
  p.next.assign(next.data(), next.data() + next.size());
  p.need = list<int>(d, "need");
  p.closed = nb::cast<bool>(d["closed"]);
  p.leaf_rules = list<std::vector<int>>(d, "leaf_rules");
  p.split_rules = list<std::vector<int>>(d, "split_rules");
  p.leaf_clauses = row_clauses(d["leaf_clauses"]);
  p.split_clauses = row_clauses(d["split_clauses"]);
  p.facts = nb::cast<int>(d["facts"]);
  p.split_facts = list<std::uint64_t>(d, "split_facts");
  for (nb::handle item : d["pairs"]) {
    const auto t = nb::cast<nb::tuple>(item);
    p.pairs.push_back(
        {nb::cast<int>(t[0]), nb::cast<std::uint32_t>(t[1]), nb::cast<std::uint32_t>(t[2])});
  }
  p.clauses = model_clauses(d["clauses"]);
}

}  // namespace

odt::RuledProblem odt_python::ruled_problem_of(const Ranks& ranks,
                                               const Vector<std::uint32_t>& distinct, int classes,
                                               int depth, const nb::dict& rules,
                                               const nb::object& allowed,
                                               std::optional<int> max_leaves) {
  odt::RuledProblem p;
  p.base = problem_of(ranks, distinct, depth);
  p.base.classes = classes;
  set_allowed(p.base, allowed);
  p.base.leaves = max_leaves.value_or(0);
  set_components(p, rules);
  set_rules(p, rules);
  set_monotone(p, rules);
  return p;
}

namespace {

nb::dict solve_ruled(const Ranks& ranks, const Vector<std::uint32_t>& distinct, int classes,
                     int depth, const nb::dict& rules, const nb::object& allowed,
                     std::optional<int> max_leaves, std::optional<double> time_limit,
                     double relative_gap, std::optional<std::size_t> memory_limit,
                     std::optional<Loss> upper_bound, const nb::object& start,
                     const nb::object& progress, const nb::object& interrupted, int threads,
                     std::uint64_t seed, const std::string& method, bool beside,
                     std::uint64_t alone, std::uint64_t work_limit) {
  const odt::RuledProblem p =
      ruled_problem_of(ranks, distinct, classes, depth, rules, allowed, max_leaves);
  odt::Options o;
  o.time_limit = time_limit.value_or(-1);
  o.relative_gap = relative_gap;
  o.memory_limit = memory_limit.value_or(0);
  o.upper_bound = upper_bound.value_or(odt::kInfinite);
  if (method != "auto" && method != "anytime")
    throw std::invalid_argument("method must be auto or anytime");
  o.method = method == "anytime" ? 3 : 0;
  o.threads = threads;
  o.seed = seed;
  o.beside = beside;
  o.alone = alone;
  o.work_limit = work_limit;
  if (!start.is_none()) o.start = start_of(nb::cast<nb::dict>(start));
  Interrupt interrupt(interrupted);
  o.interrupted = [&interrupt] { return interrupt(); };
  Progress tell(progress);
  if (tell.wanted())
    o.progress = [&tell](const odt::Incumbent& i, const odt::Found& found) {
      tell(i.value, i.bound, i.seconds, found);
    };
  odt::Result result;
  {
    nb::gil_scoped_release free;
    result = odt::solve_ruled(p, o);
  }
  tell.rethrow();
  nb::dict d;
  const bool has_tree = !result.tree.empty();
  d["status"] = name_of(result.status);
  d["objective"] = has_tree ? nb::cast(result.value) : nb::none();
  d["bound"] = result.bound <= -odt::kInfinite ? nb::none() : nb::cast(result.bound);
  d["tree"] = has_tree ? nb::object(tree_of(result.tree)) : nb::none();
  d["counters"] = counters_of(result.counters);
  d["seconds"] = result.seconds;
  nb::list timeline;
  for (const odt::Incumbent& i : result.timeline)
    timeline.append(nb::make_tuple(i.seconds, i.value, i.bound));
  d["timeline"] = timeline;
  d["interrupted"] = interrupt.raised();
  return d;
}

}  // namespace

void bind_ruled(nb::module_& m) {
  m.def(
      "shortest",
      [](double low, double high, double wish) -> std::optional<double> {
        const auto found = odt::shortest(low, high, wish);
        return found ? std::optional<double>(found->value) : std::nullopt;
      },
      "low"_a, "high"_a, "wish"_a,
      "The shortest decimal of [low, high) that is nearest to `wish`: as `data/decimals.py` has "
      "it.");
  m.def("solve_ruled", &solve_ruled, "ranks"_a, "distinct"_a, "classes"_a, "depth"_a, "rules"_a,
        nb::kw_only(), "allowed"_a = nb::none(), "max_leaves"_a = nb::none(),
        "time_limit"_a = nb::none(), "relative_gap"_a = 0.0, "memory_limit"_a = nb::none(),
        "upper_bound"_a = nb::none(), "start"_a = nb::none(), "progress"_a = nb::none(),
        "interrupted"_a = nb::none(), "threads"_a = 1, "seed"_a = 0, "method"_a = "auto",
        "beside"_a = true, "alone"_a = odt::Options{}.alone, "work_limit"_a = 0);
}
