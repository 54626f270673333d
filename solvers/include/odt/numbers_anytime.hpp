// Good trees for number targets early, as `anytime.hpp` has them for classes: growth, lookahead
// over trees that are nearly optimal at the bottom, and then moves of whole subtrees for as long as
// there is time. Nothing that comes out is a proof.
//
// Here the loss of a cut's two leaves is what growth goes by, as in CART.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "odt/control.hpp"
#include "odt/dice.hpp"
#include "odt/numbers.hpp"
#include "odt/plan.hpp"

namespace odt {

// A finished subtree on the rows of its node. Subtrees are shared and never changed.
struct NumberTree {
  using Ptr = std::shared_ptr<const NumberTree>;
  double value = 0;        // with prices
  double single = 0;       // of a leaf in its place
  int feature = -1;        // -1: leaf
  std::uint32_t cell = 0;  // cells up to it go left
  int leaves = 1;
  Ptr left, right;
};

class NumberAnytime {
 public:
  using Told = std::function<void(double value, const Plan&)>;
  // At most `leaves` leaves. `told` hears of every better tree.
  NumberAnytime(const NumberRows& data, Control& control, int depth, int leaves, std::uint64_t seed,
                Told told);

  // A first tree.
  void begin();
  // Another one, by cuts that are the best in pairs, as far as so much work suffices.
  void look_ahead(double work = kAhead);
  // Then searches until a limit is met (Stop), a tree as good as `target` is found, or there is
  // nothing left to try. `others` are looked at for better trees. True only in the second case: no
  // tree can be better then.
  bool run(double target, const SharedTree<double>* others);

 private:
  static constexpr double kAhead = 1e7;
  static constexpr std::size_t kAll = static_cast<std::size_t>(-1);
  static constexpr double kNoTree = std::numeric_limits<double>::infinity();

  // The rows of a node in the order of every feature, then of every target that is wanted in order.
  struct View {
    std::size_t rows = 0;
    int state = 0;  // of the path above
    std::vector<std::uint32_t> order;
    std::uint64_t set = 0;  // hash of the rows
    RowPath path;           // cells of features
    const std::uint32_t* of(std::size_t f) const { return order.data() + f * rows; }
  };
  struct Place {
    int level, depth;  // of the view; levels that may follow
  };
  struct Cut {
    double score;  // the less the better
    std::size_t feature;
    std::uint32_t cell;
    std::size_t place;  // rows left of it
  };
  struct How {
    std::size_t most =
        0;  // cuts of a depth-two tree that are tried; 0: only the best one as a single split
    double noise = 0;   // chance that a cut is not the best one but one of the next
    bool even = false;  // cuts near the middle are preferred
  };
  struct Side {  // of a cut: as a leaf (infinite where none may stand), and its best split
    double single = 0, value = 0;
    Cut cut{0, 0, 0, 0};
    bool split = false;
  };
  struct Span {  // of a feature's open places, between two that are known
    std::size_t feature, low, high, first;
    double left, right;
  };
  struct Remembered {
    NumberTree::Ptr tree;  // none: not below `upper`
    double upper = 0, extra = 0;
    std::size_t most = 0;
    RowPath path;
  };
  struct Key {
    std::uint64_t set;
    int state;
    bool operator==(const Key& o) const { return set == o.set && state == o.state; }
    std::uint64_t hash() const { return set; }
  };
  using Ptr = NumberTree::Ptr;

  void make_root();
  View& child(const Place& at, const Cut& cut, bool left);
  std::size_t place_of(const View& view, std::size_t feature, std::uint32_t cell) const;
  bool wide_enough(const View& view) const {
    return view.rows >= 2 && view.rows >= 2 * data_.least;
  }
  // Infinite where the rules allow no leaf.
  double leaf_value(int state, const std::uint32_t* rows, std::size_t n) {
    return data_.may_end(state, rows, n) ? losses_.leaf(rows, n) + extra_ : kNoTree;
  }
  int after(int state, std::size_t feature) const { return data_.rules->after(state, feature); }
  std::size_t level_of(const View& view) const {
    return static_cast<std::size_t>(&view - views_.data());
  }
  // Whether a cut may stand between the rows i - 1 and i of a feature's order.
  bool stands(const std::uint32_t* order, std::size_t f, std::size_t i, std::size_t level) const {
    return data_.cell[f][order[i - 1]] != data_.cell[f][order[i]] &&
           (!data_.rules->asks_cuts() ||
            data_.rules->open(f, data_.rank(f, order[i - 1]), data_.rank(f, order[i]), level));
  }
  bool may_split(const View& view) const {
    return wide_enough(view) && data_.may_split(view.state, view.of(0), view.rows);
  }
  // Whether the split of a tree may stand at a node.
  bool admits(const View& view, const Cut& cut) const {
    return after(view.state, cut.feature) >= 0 && may_split(view) &&
           stands(view.of(cut.feature), cut.feature, cut.place, level_of(view));
  }
  Ptr leaf(const View& view);
  Ptr leaf_of(double value) const;
  Ptr join(double single, const Cut& cut, const Ptr& left, const Ptr& right) const;
  Cut cut_of(const View& view, const NumberTree& tree) const {
    const std::size_t f = static_cast<std::size_t>(tree.feature);
    return {0, f, tree.cell, place_of(view, f, tree.cell)};
  }
  bool scan(const std::uint32_t* order, std::size_t f, std::size_t n, std::size_t level,
            const std::uint32_t* const* by_target);
  std::vector<Cut> cuts(const View& view, std::size_t segments, bool even);
  void settle(Side& side, std::vector<Cut>& best, int state, const std::uint32_t* rows,
              std::size_t n);
  void sides(const View& view, const Cut& cut, Side (&out)[2]);
  Ptr tree_of(const Side& side) const;
  Ptr stump(const View& view, const Ptr& one);
  Ptr depth_two(const View& view, const Ptr& one, double upper, std::size_t& most);
  Ptr bottom(const View& view, const Place& at, double upper, const How& how);
  Ptr grow(const View& view, const Place& at, double upper, const How& how);
  Ptr grow_below(double single, const Place& at, const Cut& cut, double upper, const How& how);
  Ptr ahead(const View& view, const Place& at, double work);
  Ptr look(const View& view, const Place& at, std::size_t segments, std::size_t width,
           std::size_t most);
  Ptr polish(const View& view, const Place& at, const Ptr& tree);
  bool recut(const View& view, const Ptr& tree, Cut& cut);
  Ptr measure(const View& view, const Place& at, const Ptr& tree);
  Ptr read(const View& view, const Place& at, const Plan& plan, int node);
  bool shifted(const View& view, const NumberTree& tree, Cut& cut);
  Ptr replace(const View& view, const Place& at, const Ptr& tree);
  Ptr move(const View& view, const Place& at, const Ptr& tree, int height);
  void offer(const Ptr& tree);
  void reprice();

  const NumberRows& data_;
  Control& control_;
  NumberLosses losses_;
  Told told_;
  Dice dice_;
  int depth_, leaves_;  // leaves: 0 where a tree of the depth has no more than may be
  double extra_ = 0;    // price of a leaf beside the problem's, where leaves are few
  std::vector<View> views_;
  std::vector<char> mark_, open_;
  std::vector<double> split_;
  std::vector<std::uint32_t> part_[2], half_[2];
  std::vector<std::vector<std::uint32_t>>
      sorted_[2];  // of the sides, per target that is wanted in order
  RowCache<Key, Remembered> memory_;
  std::size_t cap_;  // cuts of a depth-two tree that are tried before it is polished
  double best_ = std::numeric_limits<double>::infinity();  // told
  Ptr now_;                                                // what is moved
};

// What a tree is as a plan.
Plan plan_of(const NumberRows& data, const NumberTree& tree);

}  // namespace odt
