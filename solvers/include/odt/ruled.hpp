// Optimal trees under rules: everything a rule can ask that is no filter on single cuts.
//
// A sub-tree is known by its components (additive measures, less is better), its facts (bits that a
// split may set) and the state of the path above it. Of two sub-trees of the same rows and state
// one is dropped if the other is no worse in all of these. See docs/explanation/exact.md.
#pragma once

#include <cstdint>
#include <vector>

#include "odt/problem.hpp"
#include "odt/space.hpp"

namespace odt {

// constant + sum of a row value over the rows of a leaf (by its label) or of a split <= at_most.
struct RowLiteral {
  std::vector<int> sum;  // per label: index of a row value, -1: none; one entry for splits
  Loss constant = 0;
  Loss at_most = 0;
};
using RowClause = std::vector<RowLiteral>;  // one of them holds

struct ModelLiteral {
  int component = -1;  // -1: a fact
  int fact = 0;
  bool positive = true;
  Loss at_most = 0;  // components
};
using ModelClause = std::vector<ModelLiteral>;

// coefficient * the largest of these components, or coefficient * a fact. Coefficients are at least
// 0.
struct ObjectiveTerm {
  Loss coefficient = 1;
  std::vector<int> components;
  int fact = -1;
};

struct Pair {
  int fact;
  std::uint32_t first, second;  // the fact is set by a split that parts these rows
};

struct RuledProblem {
  Problem base;  // labels, weights and costs are not read; `classes` is the number of labels
  std::vector<int> column;  // per feature
  int columns = 0;
  std::vector<char> missing_low,
      missing_high;  // per feature: is the first (last) rank that of missing cells
  std::vector<std::vector<std::vector<char>>>
      allowed_at;  // per level: as base.allowed; empty: all that base allows

  int components = 0;
  int sums = 0;
  std::vector<Loss> value;       // [row * sums + sum]
  std::vector<int> sum_of;       // [component * classes + label], -1: none
  std::vector<Loss> leaf;        // per component, for each leaf
  std::vector<Loss> split;       // [component * columns + column], for each split
  std::vector<int> path_weight;  // per component: row value that weighs path costs, -1: none
  std::vector<std::vector<Loss>> path_delta;  // per component: empty, or [state * columns + column]

  int states = 1;
  std::vector<int> next;  // [state * columns + column], -1: no tree below
  std::vector<int> need;  // per state: splits that must follow before a leaf may stand
  bool closed =
      false;  // leaving a test out of a path that may stand never makes it one that may not
  std::vector<std::vector<int>> leaf_rules,
      split_rules;  // per state: the clauses that the path leaves open
  std::vector<RowClause> leaf_clauses, split_clauses;

  int facts = 0;                           // at most 64
  std::vector<std::uint64_t> split_facts;  // [level * columns + column]
  std::vector<Pair> pairs;
  std::vector<MonotoneRule> monotone;
  SpaceProblem space;   // read only where there are monotone rules
  bool steady = false;  // a lower (higher) gap inside a gap has no higher (lower) threshold, and
                        // columns one rule
  std::vector<ModelClause> clauses;
  std::vector<ObjectiveTerm> objective;
  Loss offset = 0;  // a gap that is asked for is relative to the size of the objective and this

  // Whether a cut between two ranks parts missing cells alone from others.
  bool only_missing(std::size_t f, std::uint32_t low, std::uint32_t high) const {
    return (!missing_low.empty() && missing_low[f] && low == 0) ||
           (!missing_high.empty() && missing_high[f] && high + 1 == base.distinct[f]);
  }
  // Whether a cut between two ranks of a node of this level may stand.
  bool cut_stands(std::size_t f, std::uint32_t low, std::uint32_t high, int level) const {
    return !only_missing(f, low, high) && base.gap_open(f, low, high) &&
           (static_cast<std::size_t>(level) >= allowed_at.size() ||
            gap_open(allowed_at[static_cast<std::size_t>(level)], f, low, high));
  }

  // Made once, in ruled.cpp.
  RuledProblem();
  RuledProblem(const RuledProblem&);
  RuledProblem(RuledProblem&&) noexcept;
  RuledProblem& operator=(const RuledProblem&);
  RuledProblem& operator=(RuledProblem&&) noexcept;
  ~RuledProblem();
};

// Refuses a problem whose parts do not fit together (std::invalid_argument).
void check(const RuledProblem& problem);

// Least objective among the trees that keep all rules. `result.bound` bounds it from below.
Result solve_ruled(const RuledProblem& problem, const Options& options);

}  // namespace odt
