// Branch and bound over fronts of sub-trees, under a budget for the weighted sum of the components.
//
// The weighted sum is, for every tree that keeps the rules, at most a known multiple of its
// objective plus a constant. So a budget stands for an objective, and what free trees (without
// rules) must at least lose in the weighted sum, which is a plain search, bounds every sub-tree
// from below: subset and deletion bounds hold for it whatever the rules. Budgets grow until a tree
// that keeps the rules is found, and then shrink to it.
//
// Sub-trees are compared in some of the components only. A whole tree that would be better than all
// known, but breaks a rule on a component that was not compared, is remembered: with it the search
// has proven nothing, and is to be repeated with that component.
#pragma once

#include <memory>
#include <vector>

#include "odt/front.hpp"
#include "odt/monotone.hpp"
#include "odt/ruled_best.hpp"
#include "odt/ruled_free.hpp"
#include "odt/ruled_tree.hpp"

namespace odt {

class RuledCrew;

class RuledSearch {
 public:
  RuledSearch(FreeTrees& free, Control& control, RuledBest& best)
      : RuledSearch(free, free.search, control, best, 1) {}
  // One of so many searches, each in a thread of its own.
  RuledSearch(FreeTrees& free, Search& bounds, Control& control, RuledBest& best, int threads);

  // The cuts of the root are shared with these from now on.
  void share(RuledCrew& crew) { crew_ = &crew; }

  // How far a search has come: trees of a weighted sum below `budget` are known; the next round
  // goes a step beyond.
  struct Progress {
    Loss budget, step;
  };
  // Trees of at most this depth under growing budgets, so many rounds (below 0: any number), until
  // the proof has so much work behind it. Whether none is left out.
  bool grow(int depth, Progress& progress, int rounds, std::uint64_t until);
  // The components that must be compared too; empty if what was found says all.
  const std::vector<char>& missed() const { return missed_; }
  std::size_t nodes_kept() const { return arena_.size(); }
  Counters& counters() const { return counters_; }

 private:
  friend class RuledCrew;

  struct Level {
    View side[2];
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
  // Bounds on the two sides of a cut: of free trees, and of those that keep the rules on paths and
  // rows.
  struct Sides {
    Loss free[2], ruled[2];
  };

  struct Late {};
  void poll(std::uint64_t work);
  Loss ceiling() const;
  bool deletion_at(int level, int depth) const;
  void solve(View& view, int level, int depth, int state, Loss budget, Front& front);
  void branch(View& view, int level, int depth, int state, Loss budget, Front& front);
  void enter(View& view, int level, int state);
  struct Column {
    std::size_t feature;
    int next;    // the state below a split
    Loss price;  // what the split itself adds to the weighted sum
  };
  bool begin(View& view, int level, int depth, int state, std::size_t f, Column& column);
  static RuledInterval all_cuts(const View& view, Loss shift, Loss whole);
  bool part(View& view, int level, int depth, const Column& column, RuledInterval i, Loss budget,
            Front& front, RuledInterval halves[2]);
  Sides evaluate(View& view, int level, int depth, int next, std::size_t f, std::int32_t cut,
                 const RuledInterval& around, const RowWeights& weights, Loss room, Front& front);
  void join(View& view, int level, int depth, int next, std::size_t f, std::uint32_t bound,
            std::uint64_t facts, Sides& sides, Loss room, Loss slack, int first, Front& front);
  // Monotone rules: ruled_monotone.cpp.
  struct Case {
    Monotone::Limits limits[2];
    Front front[2];
    std::uint64_t given_up = 0;  // facts that need not stay clear
  };
  void untangle(View& view, int level, int depth, int next, std::size_t f, std::uint32_t bound,
                std::uint64_t facts, Loss room, Loss price, Front& front);
  bool untangled(int level, std::uint64_t facts, Loss room, Loss price,
                 const Monotone::Meeting& here, const Entry& split, const Case& c, Front& front,
                 Monotone::Regions regions[2], std::vector<Monotone::Tangle>& tangles);
  bool of_use(int level, const Entry& e, const Loss* values, const Front& front) const;
  void stumps(View& view, int level, int state, Loss budget, Front& front);
  void stump_at(View& view, int level, int next, std::size_t f, std::size_t i, Loss price,
                Loss budget, Front& front);
  void leaves(const Loss* sums, int state, std::vector<int>& labels) const;
  void offer_leaf(const Loss* sums, int label, Loss budget, Front& front);
  bool within(const Loss* values, const Loss* lowest) const;
  std::uint64_t facts_of(const View& view, std::size_t f, std::uint32_t bound, int level);
  Loss split_values(const Loss* sums, int state, int column, std::vector<Loss>& out) const;
  Loss tightened(Loss budget, const Front& front, int level) const;
  void totals(const View& view, std::vector<Loss>& sums) const;
  void add(std::uint32_t row, Loss* sums) const;
  Loss leaf_value(const Loss* sums, std::size_t k, int label) const;
  void consider(const Entry& e, const Loss* values);
  bool relaxed_holds(std::uint64_t facts, const Loss* values) const;
  Loss relaxed_objective(std::uint64_t facts, const Loss* values) const;
  void remember(std::uint64_t facts, const Loss* values, Loss relaxed);
  void keep(Front& front);
  void check_memory() const;
  Tree tree_of(const Entry& e);
  int build(int node, Tree& tree);
  Level& at(int level);
  int need(int state) const { return p_.need[static_cast<std::size_t>(state)]; }

  FreeTrees& free_;
  Search& bounds_;
  const Weights& w_;
  const RuledProblem& p_;
  Control& control_;
  RuledBest& best_;
  Counters& counters_;
  std::vector<std::unique_ptr<Level>> levels_;
  std::vector<ArenaNode> arena_;
  std::unique_ptr<Monotone> monotone_;  // none without such rules
  std::size_t case_bytes_ = 0;
  Loss missed_at_ = kInfinite;  // the least relaxed objective of the trees remembered
  std::vector<char> missing_, missed_;
  std::uint64_t until_ = 0;
  std::size_t threads_;
  RuledCrew* crew_ = nullptr;
};

}  // namespace odt
