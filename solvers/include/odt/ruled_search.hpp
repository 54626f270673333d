// Branch and bound over fronts of sub-trees, under a budget for the weighted sum of the components.
//
// The weighted sum is, for every tree that keeps the rules, at most a known multiple of its objective plus a constant.
// So a budget stands for an objective, and what free trees (without rules) must at least lose in the weighted sum,
// which is a plain search, bounds every sub-tree from below: subset and deletion bounds hold for it whatever the rules.
// Budgets grow until a tree that keeps the rules is found, and then shrink to it.
#pragma once

#include <memory>
#include <vector>

#include "odt/front.hpp"
#include "odt/monotone.hpp"
#include "odt/ruled.hpp"
#include "odt/search.hpp"

namespace odt {

template <class R>
class RuledSearch {
 public:
  RuledSearch(const RuledProblem& p, Control& control, Result& result);
  void run();

 private:
  struct Level {
    View<R> side[2];
    Front front[2];
    std::vector<RuledInterval> stack;
    std::vector<Loss> upto;      // worst losses of the rows below a cut
    std::vector<Loss> sums;      // of the node's rows: see totals()
    std::vector<Loss> split;     // components of the split itself
    std::vector<Loss> part[2];   // sums of both sides of a stump
    std::vector<Loss> weighted;  // the same, the weighted sum per label
    std::vector<Loss> values;
    std::vector<int> labels, labels_of[2];
  };
  // Bounds on the two sides of a cut: of free trees, and of those that keep the rules on paths and rows.
  struct Sides {
    Loss free[2], ruled[2];
  };

  void weigh();
  void choose_bounds();
  void choose_most();
  bool deletion_holds() const;
  bool deletion_at(int level, int depth) const;
  Loss ceiling() const;
  bool grow(int depth, int rounds);
  Loss objective_from(Loss budget) const;
  void solve(View<R>& view, int level, int depth, int state, Loss budget, Front& front);
  void branch(View<R>& view, int level, int depth, int state, Loss budget, Front& front);
  Sides evaluate(View<R>& view, int level, int depth, int next, std::size_t f, std::int32_t cut, const RuledInterval& around,
                 const RowWeights& weights, Loss room, Front& front);
  void join(View<R>& view, int level, int depth, int next, std::size_t f, std::uint32_t bound, std::uint64_t facts, Sides& sides, Loss room,
            Loss slack, int first, Front& front);
  // Monotone rules: ruled_monotone.hpp.
  struct Case {
    Monotone::Limits limits[2];
    Front front[2];
    std::uint64_t given_up = 0;  // facts that need not stay clear
  };
  void untangle(View<R>& view, int level, int depth, int next, std::size_t f, std::uint32_t bound, std::uint64_t facts, Loss room,
                Loss price, Front& front);
  bool untangled(int level, std::uint64_t facts, Loss room, Loss price, const Monotone::Meeting& here, const Entry& split,
                 const Case& c, Front& front, Monotone::Regions regions[2], std::vector<Monotone::Tangle>& tangles);
  bool of_use(int level, const Entry& e, const Loss* values, const Front& front) const;
  void stumps(View<R>& view, int level, int state, Loss budget, Front& front);
  void stump_at(View<R>& view, int level, int next, std::size_t f, std::size_t i, Loss price, Loss budget, Front& front);
  void leaves(const Loss* sums, int state, std::vector<int>& labels) const;
  void offer_leaf(const Loss* sums, int label, Loss budget, Front& front);
  bool clause_holds(const RowClause& clause, const Loss* sums, int label) const;
  bool within(const Loss* values, const Loss* lowest) const;
  bool may_stand(std::size_t f, std::uint32_t low, std::uint32_t high, int level) const;
  std::uint64_t facts_of(const View<R>& view, std::size_t f, std::uint32_t bound, int level);
  Loss split_values(const Loss* sums, int state, int column, std::vector<Loss>& out) const;
  Loss free_loss(View<R>& view, int depth, Loss upper, Loss lower);
  Loss tightened(Loss budget, const Front& front, int level) const;
  void totals(const View<R>& view, std::vector<Loss>& sums) const;
  void add(std::uint32_t row, Loss* sums) const;
  Loss leaf_value(const Loss* sums, int k, int label) const;
  bool accepts(std::uint64_t facts, const Loss* values) const;
  Loss objective(std::uint64_t facts, const Loss* values) const;
  void consider(const Entry& e, const Loss* values);
  void keep(Front& front);
  void check_memory() const;
  int build(int node);
  Level& at(int level);
  int need(int state) const { return p_.need[static_cast<std::size_t>(state)]; }
  Loss negative(int depth) const { return negative_[static_cast<std::size_t>(depth)]; }

  const RuledProblem& p_;
  Control& control_;
  Result& result_;
  std::size_t labels_, components_, sums_, columns_;
  std::size_t width_ = 0;
  std::vector<Loss> table_;     // [row * width]: row values, least of each component, least of the weighted sum
  std::vector<Loss> weighted_;  // [row * labels + label]: the weighted sum above its least
  std::vector<Loss> worst_;     // per row, the largest of these
  Loss offset_ = 0;             // sum of the leasts
  Loss grain_ = 1;              // the free search counts in these
  Loss leaf_weight_ = 0;
  Loss most_ = 0;
  std::vector<Loss> negative_;  // per depth: what prices below zero may take off the free loss of a sub-tree
  std::vector<Loss> slack_;     // per component with a bound of its own: above the least that the rows allow
  std::uint64_t wanted_ = 0, unwanted_ = 0, forbidden_ = 0;
  bool deletion_ = false;       // the deletion bound holds for trees under rules
  bool subset_ = false;         // the subset bound too
  bool single_ = false;         // one component, no facts: the best sub-tree is the only one of use
  std::unique_ptr<Monotone> monotone_;  // none without such rules
  Problem free_problem_;
  std::unique_ptr<Dataset> data_;
  Search<R> search_;
  View<R> root_;
  std::vector<std::unique_ptr<Level>> levels_;
  std::vector<ArenaNode> arena_;
  std::size_t case_bytes_ = 0;
  std::vector<std::vector<std::vector<std::uint32_t>>> allowed_upto_;  // per level and feature
  Loss best_ = kInfinite;
};

}  // namespace odt

#include "odt/ruled_impl.hpp"
#include "odt/ruled_monotone.hpp"
