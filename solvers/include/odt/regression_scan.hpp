// What depends on the kind of error: losses of leaves, stumps and trees of depth two, and a bound
// for deeper ones.
#pragma once

#include <memory>
#include <vector>

#include "odt/control.hpp"
#include "odt/plan.hpp"
#include "odt/regression_view.hpp"

namespace odt {

constexpr double kNever = 1e300;

// A first split, or none that beats what was asked.
struct Pick {
  double value = kNever;
  int column = -1;
  std::uint32_t cut = 0;
  bool stump[2] = {false, false};  // depth two: below the cut, beside it
  int third[2] = {-1, -1};         // columns of 0/1 of the stumps, where they are known
};

// A root and the tree of depth two on either side of it; -1 as the column of a side: a leaf.
struct ThreeLevels {
  double value = kNever;
  int column = -1;
  Pick side[2];
  std::vector<double> by_first;  // per column: what trees lose that begin with it
};

// Both sides of a cut as leaves and as stumps; kNever where the rules allow none.
struct Sides {
  double leaf[2], stump[2];
  double free[2] = {-kNever, -kNever};  // the less of both in a relaxed state; -kNever: it is this

  // What a side loses at least, and more the more points it has.
  double least(int side) const {
    if (free[side] > -kNever) return free[side];
    return leaf[side] < stump[side] ? leaf[side] : stump[side];
  }
  void offer(int leaves, double tolerance, std::size_t column, std::uint32_t cut,
             Pick& best) const {
    bool stumps[2] = {stump[0] < leaf[0] - tolerance, stump[1] < leaf[1] - tolerance};
    if (leaves < 4 && stumps[0] && stumps[1]) {
      stumps[0] = stump[0] + leaf[1] <= leaf[0] + stump[1];
      stumps[1] = !stumps[0];
    }
    const double value = (stumps[0] ? stump[0] : leaf[0]) + (stumps[1] ? stump[1] : leaf[1]);
    if (value < best.value - tolerance)
      best = {value, static_cast<int>(column), cut, {stumps[0], stumps[1]}};
  }
};

// Cuts between two that are known, with the loss below the low one and beside the high one: more
// points lose more.
struct CutSpan {
  std::uint32_t low, high;
  double left, right;
};

// Which columns may be the last split of a path in a state, or in the one it relaxes to.
struct LastSplits {
  enum Kind : char { never, relaxed, always };
  std::vector<Kind> of;  // per column of the view
  void list(const RegressionData& data, const RegressionView& view, int state);
};

class RegressionScan {
 public:
  virtual ~RegressionScan() = default;

  // Loss of one leaf, its price included, as everywhere here.
  virtual double leaf(const RegressionView& view) = 0;
  // Per column and cut: the loss of the split into two leaves, in `splits`; the best one that may
  // stand behind a path in the state is returned.
  virtual Pick stump(const RegressionView& view, int state) = 0;
  // Best tree with a split at the root and at most `leaves` leaves (3 or 4) if better than `best`
  // is; what is found before a limit stays there.
  virtual void depth_two(const RegressionView& view, int leaves, int state, Pick& best) = 0;
  // Whether trees of depth two on both sides of the node's cuts can be told without a view of the
  // sides; if so, the best one with at most `leaves` leaves (3 or 4) of a side in a state, in terms
  // of the node's columns.
  virtual bool tells_sides(const RegressionView&) { return false; }
  virtual void side_depth_two(const RegressionView&, std::size_t /*column*/, bool /*below*/,
                              int /*leaves*/, int /*state*/, Pick&) {}
  // Whether trees of depth three can be told in one pass; if so, the best one with at most `leaves`
  // leaves if better than `best` is. What is found before a limit stays there.
  virtual bool tells_three(const RegressionView&) const { return false; }
  virtual std::uint64_t work_of_three(const RegressionView&) const { return 0; }  // at most
  virtual void depth_three(const RegressionView&, int /*leaves*/, int /*state*/, ThreeLevels&) {}
  // Trees with at most `leaves` leaves lose no less than the best clustering of the targets alone.
  // A lower bound on that; the search for it may stop when it is `enough`, or when it is known to
  // stay below `hopeless`.
  virtual double clusters(const RegressionView& view, int leaves, double enough = kNever,
                          double hopeless = -kNever) = 0;

  // After stump(): losses of single splits, columns behind one another, cut c of a column at [first
  // + c - 1].
  std::vector<double> splits;
  Counters counters;
};

std::unique_ptr<RegressionScan> make_mean_scan(const RegressionData& data, Control& control);
std::unique_ptr<RegressionScan> make_absolute_scan(const RegressionData& data, Control& control);

}  // namespace odt
