// Trees of classes under rules (see odtdsl/backends/exact/ruled.py).
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "odt/ruled.hpp"
#include "space.hpp"
#include "values.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace odt_python;
using odt::Loss;

// Sums (per label, or one), constant, at most.
using RowClauses = std::vector<std::vector<std::tuple<std::vector<int>, Loss, Loss>>>;
// ("component", index, at most) or ("fact", index, whether it must be set).
using ModelClauses = std::vector<std::vector<std::tuple<std::string, int, Loss>>>;
// Coefficient, components, fact or -1.
using Objective = std::vector<std::tuple<Loss, std::vector<int>, int>>;

// The parts of a problem. They keep views of their arrays, and them alive.
struct Columns {
  std::vector<int> column;
  int columns;
  std::vector<bool> missing_low, missing_high;
  std::vector<Cuts> allowed_at;
};
struct Components {
  Matrix<Loss> value;
  std::vector<int> sum_of;
  std::vector<Loss> leaf;
  Matrix<Loss> split;
  std::vector<int> path_weight;
  std::vector<std::optional<Matrix<Loss>>> path_delta;
};
struct PathStates {
  Matrix<std::int32_t> next;
  std::vector<int> need;
  bool closed;
  std::vector<std::vector<int>> leaf_rules, split_rules;
};
struct Facts {
  int count;
  std::vector<std::uint64_t> split;
  std::vector<std::tuple<int, std::uint32_t, std::uint32_t>> pairs;
};
struct Clauses {
  std::vector<odt::RowClause> leaf, split;
  std::vector<odt::ModelClause> model;
};

std::vector<odt::RowClause> row_clauses(const RowClauses& clauses) {
  std::vector<odt::RowClause> made;
  for (const auto& clause : clauses) {
    auto& literals = made.emplace_back();
    for (const auto& [sums, constant, at_most] : clause)
      literals.push_back({sums, constant, at_most});
  }
  return made;
}

std::vector<odt::ModelClause> model_clauses(const ModelClauses& clauses) {
  std::vector<odt::ModelClause> made;
  for (const auto& clause : clauses) {
    auto& literals = made.emplace_back();
    for (const auto& [kind, index, value] : clause) {
      odt::ModelLiteral l;
      if (kind == "component") {
        l.component = index;
        l.at_most = value;
      } else if (kind == "fact") {
        l.fact = index;
        l.positive = value != 0;
      } else {
        throw std::invalid_argument("a literal is about a component or a fact");
      }
      literals.push_back(l);
    }
  }
  return made;
}

// The value and side of both ends of a piece of a set of thresholds.
using Piece = std::tuple<double, int, double, int>;
// The value that goes left or -1, the side of missing cells or -1, the thresholds that may stand
// by level, whether they are shortened.
using SpaceTests = std::vector<std::tuple<int, int, std::vector<std::vector<Piece>>, bool>>;

Space space_of(const std::vector<std::tuple<int, bool, bool>>& column_kinds,
               const SpaceTests& tests, const std::vector<std::tuple<int, int, bool>>& monotone,
               bool steady, const Matrix<double>& cells) {
  Space made;
  for (const auto& [fact, column, increasing] : monotone)
    made.monotone.push_back({fact, column, increasing});
  for (const auto& [known, other, missing] : column_kinds)
    made.problem.columns.push_back({known, other, missing});
  for (const auto& [code, missing, levels, shorten] : tests) {
    odt::SpaceTest test{0, code, missing, shorten, {}};
    for (const auto& level : levels) {
      odt::RealSet& set = test.admitted.emplace_back();
      for (const auto& [low, low_side, high, high_side] : level)
        set.push_back({{low, low_side}, {high, high_side}});
    }
    made.problem.tests.push_back(std::move(test));
  }
  made.steady = steady;
  made.problem.cells = copied(cells);
  return made;
}

void set_columns(odt::RuledProblem& p, const Columns& given, const RankTable& table) {
  p.column = given.column;
  p.columns = given.columns;
  p.missing_low.assign(given.missing_low.begin(), given.missing_low.end());
  p.missing_high.assign(given.missing_high.begin(), given.missing_high.end());
  for (const Cuts& level : given.allowed_at)
    p.allowed_at.push_back(flags_of(level, table.distinct));
}

void set_components(odt::RuledProblem& p, const Components& given) {
  p.components = static_cast<int>(given.leaf.size());
  p.sums = static_cast<int>(given.value.shape(1));
  p.value = copied(given.value);
  p.sum_of = given.sum_of;
  p.leaf = given.leaf;
  p.split = copied(given.split);
  p.path_weight = given.path_weight;
  for (const auto& delta : given.path_delta)
    p.path_delta.push_back(delta ? copied(*delta) : std::vector<Loss>{});
}

void set_states(odt::RuledProblem& p, const PathStates& given) {
  p.states = static_cast<int>(given.need.size());
  p.next = copied(given.next);
  p.need = given.need;
  p.closed = given.closed;
  p.leaf_rules = given.leaf_rules;
  p.split_rules = given.split_rules;
}

void set_facts(odt::RuledProblem& p, const Facts& given) {
  p.facts = given.count;
  p.split_facts = given.split;
  for (const auto& [fact, first, second] : given.pairs) p.pairs.push_back({fact, first, second});
}

void set_space(odt::RuledProblem& p, const Space& given) {
  p.space = given.problem;
  std::size_t feature = 0;
  for (odt::SpaceTest& test : p.space.tests) test.column = p.column.at(feature++);
  p.monotone = given.monotone;
  p.steady = given.steady;
}

odt::RuledProblem problem_of(const RankTable& table, int classes, int depth,
                             std::optional<int> max_leaves, const Columns& columns,
                             const Components& components, const PathStates& states,
                             const Facts& facts, const Clauses& clauses, const Objective& objective,
                             Loss offset, const std::optional<Space>& space) {
  odt::RuledProblem p;
  p.base = table.problem(depth);
  p.base.classes = classes;
  p.base.leaves = max_leaves.value_or(0);
  set_columns(p, columns, table);
  set_components(p, components);
  set_states(p, states);
  set_facts(p, facts);
  p.leaf_clauses = clauses.leaf;
  p.split_clauses = clauses.split;
  p.clauses = clauses.model;
  for (const auto& [coefficient, of, fact] : objective)
    p.objective.push_back({coefficient, of, fact});
  p.offset = offset;
  if (space) set_space(p, *space);
  return p;
}

RuledAnswer solve_under_rules(const odt::RuledProblem& p, const Limits& limits,
                              const std::optional<TreeArrays>& start,
                              std::optional<Loss> upper_bound, const Progress<Loss>& progress) {
  if (limits.method != "auto" && limits.method != "anytime")
    throw std::invalid_argument("method must be auto or anytime");
  odt::Options o = options_of(limits);
  o.upper_bound = upper_bound.value_or(odt::kInfinite);
  if (start) o.start = start->start();
  RuledAnswer answer =
      answered<RuledAnswer, Loss>(std::move(o), limits, progress,
                                  [&p](const odt::Options& o) { return odt::solve_ruled(p, o); });
  if (*answer.bound <= -odt::kInfinite) answer.bound.reset();
  return answer;
}

void bind_parts(nb::module_& m) {
  nb::class_<Columns>(m, "Columns",
                      "What is tested: per feature its column, and whether its first (last) rank "
                      "is that of missing\ncells; per level the cuts that may stand, where levels "
                      "differ.")
      .def(
          "__init__",
          [](Columns* self, const std::vector<int>& column, int columns,
             const std::vector<bool>& missing_low, const std::vector<bool>& missing_high,
             const std::vector<Cuts>& allowed_at) {
            new (self) Columns{column, columns, missing_low, missing_high, allowed_at};
          },
          nb::kw_only(), "column"_a, "columns"_a, "missing_low"_a, "missing_high"_a,
          "allowed_at"_a);
  nb::class_<Components>(
      m, "Components",
      "Additive measures of a tree.\n\n"
      "value: int64 (row, sum). sum_of: per component and label, the sum that a leaf's rows add,\n"
      "or -1. leaf: per component, for each leaf. split: int64 (component, column), for each\n"
      "split. path_weight: per component the sum that weighs costs of paths, or -1. path_delta:\n"
      "per component int64 (state, column), or None.")
      .def(
          "__init__",
          [](Components* self, const Matrix<Loss>& value, const std::vector<int>& sum_of,
             const std::vector<Loss>& leaf, const Matrix<Loss>& split,
             const std::vector<int>& path_weight,
             const std::vector<std::optional<Matrix<Loss>>>& path_delta) {
            new (self) Components{value, sum_of, leaf, split, path_weight, path_delta};
          },
          nb::kw_only(), "value"_a, "sum_of"_a, "leaf"_a, "split"_a, "path_weight"_a,
          "path_delta"_a);
  nb::class_<PathStates>(
      m, "PathStates",
      "The automaton of rules on paths.\n\n"
      "next: int32 (state, column), -1 where no tree may stand below. need: per state, splits\n"
      "that must follow before a leaf. closed: a path that may stand may do without any of its\n"
      "tests. leaf_rules, split_rules: per state the clauses that the path leaves open.")
      .def(
          "__init__",
          [](PathStates* self, const Matrix<std::int32_t>& next, const std::vector<int>& need,
             bool closed, const std::vector<std::vector<int>>& leaf_rules,
             const std::vector<std::vector<int>>& split_rules) {
            new (self) PathStates{next, need, closed, leaf_rules, split_rules};
          },
          nb::kw_only(), "next"_a, "need"_a, "closed"_a, "leaf_rules"_a, "split_rules"_a);
  nb::class_<Facts>(
      m, "Facts",
      "Bits that splits set: `split` per level and column, `pairs` (fact, row, row) where the\n"
      "rows part.")
      .def(
          "__init__",
          [](Facts* self, int count, const std::vector<std::uint64_t>& split,
             const std::vector<std::tuple<int, std::uint32_t, std::uint32_t>>& pairs) {
            new (self) Facts{count, split, pairs};
          },
          nb::kw_only(), "count"_a, "split"_a, "pairs"_a);
  nb::class_<Clauses>(
      m, "Clauses",
      "Rules, each a list of conditions of which one must hold.\n\n"
      "leaf, split: (sums, constant, at most), a sum per label or one. model: (\"component\",\n"
      "index, at most) or (\"fact\", index, whether it must be set).")
      .def(
          "__init__",
          [](Clauses* self, const RowClauses& leaf, const RowClauses& split,
             const ModelClauses& model) {
            new (self) Clauses{row_clauses(leaf), row_clauses(split), model_clauses(model)};
          },
          nb::kw_only(), "leaf"_a, "split"_a, "model"_a);
  nb::class_<Space>(
      m, "Space",
      "The feature space beyond the rows, for rules on the order of predictions.\n\n"
      "column_kinds: per column the number of its values (-1 for numbers), whether there are\n"
      "others, whether cells are missing. tests: per feature the value that goes left (-1 for\n"
      "thresholds), the side of missing cells, by level the pieces in which thresholds may stand,\n"
      "whether they are shortened. monotone: (fact, column, increasing). cells: float64 (column,\n"
      "row), NaN where missing.")
      .def(
          "__init__",
          [](Space* self, const std::vector<std::tuple<int, bool, bool>>& column_kinds,
             const SpaceTests& tests, const std::vector<std::tuple<int, int, bool>>& monotone,
             bool steady, const Matrix<double>& cells) {
            new (self) Space(space_of(column_kinds, tests, monotone, steady, cells));
          },
          nb::kw_only(), "column_kinds"_a, "tests"_a, "monotone"_a, "steady"_a, "cells"_a);
}

}  // namespace

void bind_ruled(nb::module_& m) {
  bind_parts(m);
  m.def(
      "shortest",
      [](double low, double high, double wish) -> std::optional<double> {
        const auto found = odt::shortest(low, high, wish);
        return found ? std::optional<double>(found->value) : std::nullopt;
      },
      "low"_a, "high"_a, "wish"_a,
      "The shortest decimal of [low, high) that is nearest to `wish`: as `data/decimals.py` has "
      "it.");
  nb::class_<odt::RuledProblem>(
      m, "RuledProblem",
      "A tree of classes of least objective that keeps rules.\n\n"
      "objective: (coefficient, components, fact): the coefficient counts the largest of the\n"
      "components, or the fact where it is not -1. offset: a relative gap counts it in.")
      .def(
          "__init__",
          [](odt::RuledProblem* self, const RankTable& table, int classes, int depth,
             std::optional<int> max_leaves, const Columns& columns, const Components& components,
             const PathStates& states, const Facts& facts, const Clauses& clauses,
             const Objective& objective, Loss offset, const Space* space) {
            new (self) odt::RuledProblem(problem_of(
                table, classes, depth, max_leaves, columns, components, states, facts, clauses,
                objective, offset, space ? std::optional<Space>(*space) : std::nullopt));
          },
          "table"_a, "classes"_a, "depth"_a, nb::kw_only(), "max_leaves"_a = nb::none(),
          "columns"_a, "components"_a, "states"_a, "facts"_a, "clauses"_a, "objective"_a,
          "offset"_a = 0, "space"_a.none() = nb::none());
  m.def("solve_ruled", &solve_under_rules, "problem"_a, "limits"_a, nb::kw_only(),
        "start"_a = nb::none(), "upper_bound"_a = nb::none(), "progress"_a = nb::none());
}
