// The weighted sum of the components, and what it bounds.
//
// Its multipliers are at least 0. A clause of a single component adds `multiplier * component` to
// the sum and at most `multiplier * at_most` to the constant; of a maximum, the multipliers of its
// parts share its coefficient. So a tree that keeps the rules has a weighted sum of at most scale *
// objective + constant, and the least weighted sum of all trees, a problem without rules, bounds
// the objective from below: Lagrange's bound.
#pragma once

#include <cstdint>
#include <vector>

#include "odt/front.hpp"
#include "odt/ruled.hpp"

namespace odt {

inline Loss round_up(Loss a, Loss b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }
inline Loss round_down(Loss a, Loss b) { return -round_up(-a, b); }

struct Multipliers {
  std::vector<Loss> of;  // per component
  // Per component: sub-trees are compared in it. A component that is not has no multiplier, and the
  // clauses and maxima that it stands in are asked of whole trees only.
  std::vector<char> compared;
  Loss scale = 1, constant = 0;
};

// The least bound of each component in clauses of its own; kInfinite where there is none.
std::vector<Loss> single_bounds(const RuledProblem& p);

// Rows and prices under some multipliers: all that the search reads of them.
class Weights {
 public:
  // Of trees of at most this depth.
  Weights(const RuledProblem& p, const Multipliers& multipliers, int depth);

  // What every tree costs at least whose weighted sum is at least this; and what weighted sums
  // trees of a lower objective stay below.
  Loss objective_from(Loss sum) const {
    return round_up(sum + offset - multipliers.constant, multipliers.scale);
  }
  double objective(Loss sum) const {
    return static_cast<double>(sum + offset - multipliers.constant) /
           static_cast<double>(multipliers.scale);
  }
  Loss sum_below(Loss objective) const {
    return objective * multipliers.scale + multipliers.constant - offset;
  }
  Loss below_zero(int depth) const { return negative[static_cast<std::size_t>(depth)]; }

  const RuledProblem& p;
  Multipliers multipliers;
  std::size_t labels, components, sums, columns;
  std::size_t width;  // of a row of `table`
  std::vector<Loss>
      table;  // [row * width]: row values, least of each component, least of the weighted sum
  std::vector<Loss> weighted;  // [row * labels + label]: the weighted sum above its least
  std::vector<Loss> worst;     // per row, the largest of these
  Loss offset = 0;             // sum of the leasts
  Loss grain = 1;              // the free search counts in these
  Loss leaf_weight = 0;
  Loss most = 0;  // no tree has a larger weighted sum
  std::vector<Loss>
      negative;  // per depth: what prices below zero may take off the free loss of a sub-tree
  std::vector<Loss>
      slack;  // per compared component with a bound of its own: above the least that the rows allow
  FrontOrder order;  // of sub-trees
  std::uint64_t forbidden = 0;
  bool deletion = false;  // the deletion bound holds for trees under rules
  bool subset = false;    // the subset bound too
  bool single =
      false;  // one component compared, no facts: the best sub-tree is the only one of use
  std::vector<std::vector<std::vector<std::uint32_t>>> allowed_upto;  // per level and feature
  // Whether a cut between two ranks of a node of this level may stand, where the problem allows
  // one.
  bool may_stand(std::size_t f, std::uint32_t low, std::uint32_t high, int level) const {
    if (p.only_missing(f, low, high)) return false;
    if (static_cast<std::size_t>(level) >= allowed_upto.size()) return true;
    const auto& upto = allowed_upto[static_cast<std::size_t>(level)][f];
    return upto.empty() || upto[high] > upto[low];
  }
  Problem free;  // least weighted sum of all trees, in grains
  // The same with what tests cost, in grains of its own; no rows where they cost nothing. Made when
  // it is asked for.
  Problem paid;
  Loss paid_grain = 1;
  void make_paid();

 private:
  void weigh();
  Loss common_ = 0;  // divisor of losses and prices of leaves; 0: all are 0
  void make_free(Loss common);
  Problem problem_in(Loss grain) const;
  PathCosts path_costs(std::vector<int>& next) const;
  void choose_bounds();
  void choose_facts();
  void choose_most();
  bool deletion_holds() const;
  bool subset_holds() const;
};

}  // namespace odt
