// Good trees early: growth, lookahead over trees that are optimal at the bottom, and then moves of
// whole subtrees for as long as there is time. Nothing that comes out is a proof.
//
// A tree of depth d is grown by impurity down to depth two, where the best tree is found by scans
// (DepthTwo). Lookahead takes, of some cuts at a node, the one whose grown completion loses least.
// A move replaces the subtree of a node by a new one and keeps it if it loses no more. See
// docs/explanation/exact.md, "Before a proof".
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "odt/control.hpp"
#include "odt/depth_two.hpp"
#include "odt/dice.hpp"
#include "odt/bottom_trees.hpp"
#include "odt/few_rows.hpp"
#include "odt/perfect.hpp"
#include "odt/root.hpp"
#include "odt/search.hpp"

namespace odt {

// A finished subtree on the rows of its node. Subtrees are shared and never changed.
struct Grown {
  using Ptr = std::shared_ptr<const Grown>;
  Loss value = 0;           // with prices, without the loss model's offset
  int feature = -1;         // -1: leaf
  std::uint32_t bound = 0;  // ranks below it go left
  int label = -1;
  int leaves = 1;
  Loss price = 0;        // of the split itself: contained in `value`
  bool settled = false;  // an exact search found nothing better for these rows
  Ptr left, right;
};

// What a node allows for: as much as the path above it leaves.
struct Place {
  int level;  // of the view
  int depth;  // levels that may follow
  int state;  // of the path
};

class Anytime {
 public:
  // `told` hears of every better tree and its value.
  using Told = std::function<void(const Grown::Ptr&, Loss)>;
  Anytime(const Dataset& data, Control& control, Counters& counters, std::uint64_t seed, Told told);
  virtual ~Anytime() = default;

  // Searches until a limit is met (Stop), a tree as good as `target` is found, or there is nothing
  // left to try. `others`, if given, are looked at for better trees.
  void run(int depth, Loss target, const SharedBest* others = nullptr);
  // The same in parts: `begin` first, then what grows trees, then one move after the other.
  void begin(int depth);
  void first_trees(Loss target, bool perfect = false);
  void look_ahead(std::size_t segments, std::size_t width, std::size_t most);
  void step();
  // The same where a tree may have only so many leaves (0: any number).
  void step_within(int leaves);
  // A tree to go on from, if it is better than the own one.
  void adopt(const Plan& plan);
  const Grown::Ptr& best() const { return best_; }

 protected:
  enum class Impurity { gini, entropy };
  struct Cut {
    double score;  // the larger, the purer
    std::size_t feature;
    std::uint32_t bound;
  };
  struct How {
    Impurity impurity = Impurity::gini;
    std::size_t most = 0;  // cuts of a depth-two tree that are tried; 0: only the purest
    double noise = 0;      // chance that a cut is not the purest one but one of the next
  };
  struct Remembered {
    Grown::Ptr tree;
    Loss upper = 0;  // only trees below it were looked for
    std::size_t most = 0;
  };
  // The first cut of a tree, and what that loses; infinite: it has not been tried.
  struct FirstCut {
    std::size_t feature;
    std::uint32_t bound;
    Loss value;
  };
  // A tree of depth three that no other one beats by more than `part` of what it loses, unless the
  // search for it ended early; and good cuts for a deeper tree, the best first.
  struct Sketch {
    Grown::Ptr tree;
    Loss upper = 0;  // only trees below it were looked for
    double part = 1;
    std::uint64_t most = 0;  // work after which the search would have ended
    std::vector<Cut> cuts;
    std::vector<FirstCut> first;  // of trees of depth four, per feature the best so far
    // Whether no tree of depth three that loses less than `upper` beats `tree`.
    bool solved() const { return part == 0 && most == ~std::uint64_t{0}; }
  };
  // What a reach leaves to chance: up to so much of what a tree of depth three loses, in the last
  // three levels and where such a tree only gives the first cut.
  struct Parts {
    double above, below;
  };
  struct KeyHash {
    std::size_t operator()(const std::vector<std::uint32_t>& key) const;
  };

  View& child(const Place& at, std::size_t feature, std::uint32_t bound, bool left);
  Place below(const Place& at, std::size_t feature) const;
  Grown::Ptr join(const Cut& cut, const Grown::Ptr& left, const Grown::Ptr& right,
                  Loss price = 0) const;

  // What rules beyond those of the problem change (see ruled_anytime.hpp). The best leaf; the best
  // tree of at most one split, or of one that tests the column that must be tested; a tree of depth
  // two.
  virtual Grown::Ptr leaf(View& view, const Place& at);
  virtual Grown::Ptr stump(View& view, const Place& at, bool must = false);
  virtual Grown::Ptr scan_bottom(View& view, const Place& at, Loss upper, std::size_t most,
                                 bool& complete);
  // Whether a feature may be tested at a place, and cut between two ranks that are neighbours
  // there; what that costs.
  virtual bool open(const Place& at, std::size_t f) const { return p_.after(at.state, f) >= 0; }
  virtual bool may_cut(const Place&, std::size_t, std::uint32_t, std::uint32_t) const {
    return true;
  }
  // Whether trees of depth three may be looked for by what the problem alone says.
  virtual bool plain() const { return true; }
  virtual Loss split_price(View&, const Place&, std::size_t) const { return 0; }
  // Takes a whole tree that is at least as good as the best.
  virtual void offer(const Grown::Ptr& tree);
  // Trees of at least this value are not worth being finished.
  virtual Loss limit() const { return best_value_; }

  Grown::Ptr bottom(View& view, const Place& at, Loss upper, const How& how);
  Grown::Ptr grow(View& view, const Place& at, Loss upper, const How& how);
  Grown::Ptr grow_below(View& view, const Place& at, const Cut& cut, Loss upper, const How& how);
  Grown::Ptr grow_side(View& view, const Place& at, const Cut& cut, bool left, Loss upper,
                       const How& how);
  static int only_class(const std::uint64_t* ones, std::size_t from, std::size_t to);
  Grown::Ptr look(View& view, const Place& at, std::size_t segments, std::size_t width,
                  std::size_t most, Loss upper);
  void look_for_perfect();
  Grown::Ptr mend(View& view, const Place& at, const Grown::Ptr& tree, std::uint64_t end);
  Grown::Ptr perfect(View& view, const Place& at, std::uint64_t end);
  Grown::Ptr grown(const BottomSplit& split) const;
  template <class Side>
  Grown::Ptr grown(const SplitOf<Side>& tree) const {
    const Grown::Ptr left = grown(tree.side[0]);
    if (tree.feature < 0) return left;
    return join({0, static_cast<std::size_t>(tree.feature), tree.bound}, left, grown(tree.side[1]));
  }
  std::vector<std::uint32_t> key_of(View& view, const Place& at) const;
  void spare_memory();
  void forget();
  const Sketch& sketch(View& view, const Place& at, double part, Loss upper);
  Grown::Ptr reach(View& view, const Place& at, Parts parts, Loss upper);
  void reach_in_levels(Parts parts);
  Grown::Ptr reach_below(const Place& at, const Cut& cut, Parts parts, Loss upper);
  // Work of this search, not of one beside it or before it.
  std::uint64_t spent() const { return Control::own_work() - began_; }
  void share_turns(bool reaching, std::uint64_t improved_at);
  std::vector<Parts> reaches() const;
  bool sketches(const View& view, const Place& at) const;
  Grown::Ptr polish(View& view, const Place& at, const Grown::Ptr& tree);
  Grown::Ptr recut(View& view, const Place& at, const Grown::Ptr& tree);
  Grown::Ptr few_rows(View& view, Loss upper);
  Grown::Ptr move(View& view, const Place& at, const Grown::Ptr& tree, int height);
  Grown::Ptr replace(View& view, const Place& at, const Grown::Ptr& tree);
  Grown::Ptr replace_far(View& view, const Place& at, const Grown::Ptr& tree);
  Grown::Ptr climb(View& view, const Place& at, const Grown::Ptr& tree);
  std::vector<FirstCut>& first_cuts(View& view, const Place& at);
  static void remember(std::vector<FirstCut>& known, const Cut& cut, Loss value);
  Grown::Ptr catch_up(View& view, const Place& at, Grown::Ptr tree, Loss value);
  static Grown::Ptr settled(const Grown& tree);
  Grown::Ptr exact_three(View& view, const Place& at, const Grown::Ptr& tree);
  void grow_anew(int leaves);
  Grown::Ptr forced(View& view, const Place& at, const Grown::Ptr& tree);
  Grown::Ptr measure(View& view, const Place& at, const Plan& plan, int node);
  Cut shifted(View& view, std::size_t feature, std::uint32_t bound);
  std::vector<Cut> cuts(View& view, const Place& at, Impurity impurity, std::size_t segments);
  void scan_cuts(View& view, const Place& at, std::size_t f, Impurity impurity,
                 std::size_t segments, std::vector<Cut>& found);
  void scan_sums(View& view, const Place& at, Impurity impurity, std::size_t segments,
                 Cut* best) const;
  void scan_classes(View& view, const Place& at, std::size_t segments, Cut* best) const;
  int predicted(const Grown& tree, std::uint32_t row) const;
  double xlogx(double x) const;

  const Dataset& data_;
  const Problem& p_;
  Control& control_;
  Counters& counters_;
  DepthTwo depth_two_;
  FewRows few_rows_;
  std::unique_ptr<Perfect> perfect_;  // while trees without an error are looked for
  Search exact_;
  Told told_;
  Dice dice_;
  Loss price_;
  std::int32_t least_;
  std::vector<std::unique_ptr<View>> views_;
  std::vector<std::uint16_t> class_of_;  // the label that a row is best given
  std::vector<double> weight_of_;        // and what the worst one costs; empty: one each
  std::vector<double> xlogx_;
  std::unordered_map<std::vector<std::uint32_t>, Remembered, KeyHash> memory_;
  std::unordered_map<std::vector<std::uint32_t>, Sketch, KeyHash> sketches_;
  std::size_t memory_bytes_ = 0;
  Place top_{0, 0, 0};
  std::uint64_t began_ = 0;
  std::uint64_t far_work_ = 0, near_work_ = 0;  // of moves by sketches, and of all others
  bool nested_ = false;                         // in moves of a subtree that is not yet in the tree
  Grown::Ptr best_;
  Loss best_value_ = kInfinite;
};

// What a tree is as a plan.
Plan plan_of(const Grown& tree);

// Runs until a limit is met or the loss is as low as `lower`, the least that any tree can lose.
RootAnswer solve_anytime(const Dataset& data, Control& control, Result& result,
                         const RootAnswer& start);

// The same beside another search, whose trees it improves and which it tells its own. Returns where
// nothing is left to improve; else ends by Stop.
void improve_tree(const Dataset& data, Control& control, Counters& counters, SharedBest& shared,
                  Result& result, Loss lower);

}  // namespace odt
