// Rules on paths, splits and leaves, as the searches for number targets read them.
//
// A path in a state may split on a column whose entry in `next` is not -1; the state behind the
// split stands there. A state that asks nothing of rows or levels, and that allows all that the
// states behind it do, relaxes to itself: whatever rows are taken away from a node, its best tree
// loses no more. Of all others this does not hold. They relax to a state that allows more and has
// that property, so that bounds are told from there.
#pragma once

#include <cstdint>
#include <vector>

#include "odt/plan.hpp"
#include "odt/problem.hpp"

namespace odt {

// A sum over the rows of a leaf or split is at most so much.
struct RowCondition {
  int sum = 0;
  Loss at_most = 0;
};
using RowConditions = std::vector<RowCondition>;  // one of them holds

struct NumberRules {
  std::vector<int> column;  // per feature
  int columns = 0;
  std::vector<int> next;  // [state * columns + column]; a tree begins in state 0; empty: no rules
  std::vector<int> need;  // per state: splits that must follow before a leaf may stand
  std::vector<int> relaxed;  // per state
  // Per state the conditions that the path leaves to the rows.
  std::vector<std::vector<int>> leaf_rules, split_rules;
  std::vector<RowConditions> leaf_conditions, split_conditions;
  int sums = 0;
  std::vector<Loss> value;  // [row * sums + sum]
  // Per level and feature: cuts that may stand below a rank; empty: all that the problem allows.
  std::vector<std::vector<std::vector<std::uint32_t>>> cuts_at;
  // Per feature the rank of missing cells where it is the first (the last) one, else kNoRank; a
  // side must hold a row of another rank.
  std::vector<std::uint32_t> missing_low, missing_high;
  static constexpr std::uint32_t kNoRank = ~0u;

  bool none() const { return next.empty(); }
  int after(int state, std::size_t feature) const {
    return next.empty() ? 0 : next[static_cast<std::size_t>(state * columns + column[feature])];
  }
  int relax(int state) const { return next.empty() ? 0 : relaxed[static_cast<std::size_t>(state)]; }
  bool strict(int state) const { return relax(state) != state; }
  bool any_strict() const;
  // Whether a path may end in the state, and whether so many splits are enough for that.
  bool ends(int state) const { return within(state, 0); }
  bool within(int state, int splits) const {
    return next.empty() || need[static_cast<std::size_t>(state)] <= splits;
  }
  bool asks_leaf(int state) const {
    return !next.empty() && !leaf_rules[static_cast<std::size_t>(state)].empty();
  }
  bool asks_split(int state) const {
    return !next.empty() && !split_rules[static_cast<std::size_t>(state)].empty();
  }
  // Whether leaves or splits must hold so much of a sum; those that path costs weigh have none.
  bool asks_sums() const { return !leaf_conditions.empty() || !split_conditions.empty(); }
  // Whether single cuts may be refused for what they part, or for their level.
  bool asks_cuts() const { return !cuts_at.empty() || !missing_low.empty(); }
  // Whether some cut between two neighbouring ranks of a node may stand there.
  bool open(std::size_t feature, std::uint32_t low, std::uint32_t high, std::size_t level) const {
    if (!missing_low.empty() && (low == missing_low[feature] || high == missing_high[feature]))
      return false;
    return level >= cuts_at.size() || cuts_at[level][feature][high] > cuts_at[level][feature][low];
  }
  void add(std::uint32_t row, std::vector<Loss>& total) const {
    for (int k = 0; k < sums; ++k)
      total[static_cast<std::size_t>(k)] +=
          value[row * static_cast<std::size_t>(sums) + static_cast<std::size_t>(k)];
  }
  // Of the sums of a leaf's (a split's) rows.
  bool leaf_holds(int state, const std::vector<Loss>& total) const;
  bool split_holds(int state, const std::vector<Loss>& total) const;
};

// Columns of rules by kinds: those of a kind lead from each state to the same one.
struct PathKinds {
  explicit PathKinds(const NumberRules& rules);
  int after(int state, std::size_t kind) const {
    return state < 0 ? -1 : next[static_cast<std::size_t>(state) * count + kind];
  }
  std::size_t count = 0;
  std::vector<std::size_t> of;  // per column
  std::vector<int> next;        // [state * count + kind]
  // Whether no order of the tests of a path matters; and whether none of the first two of three,
  // where both may stand, to which may be the last one. False as well where that takes long to
  // tell.
  bool unordered = true, told_by_two = true;
};

// Trees and nodes on rows of a problem under its rules.
class RuleCheck {
 public:
  RuleCheck(const Problem& base, const NumberRules& rules) : base_(base), rules_(rules) {}
  // Whether rows may be a leaf (be split) in a state.
  bool leaf(int state, const std::uint32_t* rows, std::size_t n);
  bool split(int state, const std::uint32_t* rows, std::size_t n);
  // Whether a plan without stumps keeps the rules below a state and level.
  bool keeps(const Plan& plan, int state, std::size_t level, std::vector<std::uint32_t> rows,
             std::size_t at = 0);

 private:
  const std::vector<Loss>& sums_of(const std::uint32_t* rows, std::size_t n);

  const Problem& base_;
  const NumberRules& rules_;
  std::vector<Loss> total_;
};

// Refuses rules whose parts do not fit together (std::invalid_argument).
void check(const NumberRules& rules, const Problem& base);

}  // namespace odt
