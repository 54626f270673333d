// Rules on the paths, splits and leaves of trees of numbers.
#include "odt/number_rules.hpp"

#include <nanobind/stl/pair.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "values.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace odt_python;
using odt::Loss;

using Conditions = std::vector<std::vector<std::pair<int, Loss>>>;

std::vector<odt::RowConditions> conditions_of(const Conditions& given) {
  std::vector<odt::RowConditions> made;
  for (const auto& any : given) {
    made.emplace_back();
    for (const auto& [sum, at_most] : any) made.back().push_back({sum, at_most});
  }
  return made;
}

// Per feature how many of its cuts stand below a rank.
std::vector<std::vector<std::uint32_t>> counts_of(const Cuts& level,
                                                  const Vector<std::uint32_t>& distinct) {
  const auto flags = flags_of(level, distinct);
  std::vector<std::vector<std::uint32_t>> made(flags.size());
  for (std::size_t f = 0; f < flags.size(); ++f) {
    made[f].assign(distinct(f) + 1, 0);
    for (std::uint32_t r = 0; r < distinct(f); ++r)
      made[f][r + 1] = made[f][r] + (flags[f].empty() || flags[f][r] ? 1 : 0);
  }
  return made;
}

struct States {
  Matrix<std::int32_t> next;
  std::vector<int> need, relaxed;
  std::vector<std::vector<int>> leaf_rules, split_rules;
};

odt::NumberRules rules_of(const RankTable& table, const std::vector<int>& column,
                          const States& states, const Conditions& leaf, const Conditions& split,
                          const Matrix<Loss>& value, const std::vector<Cuts>& allowed_at,
                          const std::vector<bool>& missing_low,
                          const std::vector<bool>& missing_high) {
  odt::NumberRules rules;
  rules.column = column;
  rules.columns = static_cast<int>(states.next.shape(1));
  rules.next = copied(states.next);
  rules.need = states.need;
  rules.relaxed = states.relaxed;
  rules.leaf_rules = states.leaf_rules;
  rules.split_rules = states.split_rules;
  rules.leaf_conditions = conditions_of(leaf);
  rules.split_conditions = conditions_of(split);
  rules.sums = static_cast<int>(value.shape(1));
  rules.value = copied(value);
  for (const Cuts& level : allowed_at) rules.cuts_at.push_back(counts_of(level, table.distinct));
  for (std::size_t f = 0; f < missing_low.size(); ++f)
    rules.missing_low.push_back(missing_low[f] ? 0 : odt::NumberRules::kNoRank);
  for (std::size_t f = 0; f < missing_high.size(); ++f)
    rules.missing_high.push_back(missing_high[f] ? table.distinct(f) - 1
                                                 : odt::NumberRules::kNoRank);
  return rules;
}

}  // namespace

void bind_number_rules(nb::module_& m) {
  nb::class_<odt::NumberRules>(
      m, "NumberRules",
      "Rules on the paths, splits and leaves of a tree of numbers.\n\n"
      "column: per feature. next: int32 (state, column), -1 where no tree may stand below. need:\n"
      "per state, splits that must follow before a leaf. relaxed: per state, one that allows more\n"
      "and asks nothing of rows. leaf_rules, split_rules: per state the conditions that the path\n"
      "leaves open. leaf, split: lists of (sum, at most), of which one must hold. value: int64\n"
      "(row, sum). allowed_at: per level the cuts that may stand, where levels differ.\n"
      "missing_low, missing_high: per feature whether the first (last) rank is that of missing\n"
      "cells; none where there are none.")
      .def(
          "__init__",
          [](odt::NumberRules* self, const RankTable& table, const std::vector<int>& column,
             const Matrix<std::int32_t>& next, const std::vector<int>& need,
             const std::vector<int>& relaxed, const std::vector<std::vector<int>>& leaf_rules,
             const std::vector<std::vector<int>>& split_rules, const Conditions& leaf,
             const Conditions& split, const Matrix<Loss>& value,
             const std::vector<Cuts>& allowed_at, const std::vector<bool>& missing_low,
             const std::vector<bool>& missing_high) {
            new (self) odt::NumberRules(
                rules_of(table, column, {next, need, relaxed, leaf_rules, split_rules}, leaf, split,
                         value, allowed_at, missing_low, missing_high));
          },
          "table"_a, nb::kw_only(), "column"_a, "next"_a, "need"_a, "relaxed"_a, "leaf_rules"_a,
          "split_rules"_a, "leaf"_a, "split"_a, "value"_a, "allowed_at"_a, "missing_low"_a,
          "missing_high"_a);
}
