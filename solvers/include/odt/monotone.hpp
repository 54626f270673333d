// Predictions that may not fall (or rise) along a column, over the whole feature space.
//
// Leaves are told by labels: a class, which stands for itself, or the place of a leaf's outputs.
//
// Two leaves can break such a rule only where their paths part at a test of that column: below a
// test of another one no two points agree in it. So a sub-tree keeps a rule iff its sides do and,
// at a split of the column, no leaf of the one side and leaf of the other with points that agree
// elsewhere are in the wrong order. To ask for this order at one point is to limit the label of the
// one side or of the other there: `Limit`s, which a node hands down to the side that the point goes
// to, by the thresholds that come out.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "odt/front.hpp"
#include "odt/space.hpp"

namespace odt {

class Monotone {
 public:
  struct Limit {  // a target's prediction at a point is less than `at`, or no less than it
    std::uint32_t point;
    std::size_t target;
    double at;
    bool below;
  };
  using Limits = std::vector<Limit>;
  // A leaf below a side of a split: its label, and what its path leaves of the columns that it
  // tests there.
  struct Region {
    int label;
    std::vector<std::pair<int, Cells>> cells;
  };
  using Regions = std::vector<Region>;
  // A split whose sides are compared: the cells of its node, and those of its column on each side.
  struct Meeting {
    std::size_t feature;
    int column;
    std::vector<Cells> box;
    Cells side[2];
  };
  // Labels in the wrong order at two points that agree but in the column.
  struct Tangle {
    std::uint64_t fact = 0;
    int low = 0;             // the side of the point that has less of the column
    bool falls = true;       // its prediction is the larger one, else the smaller one
    std::size_t target = 0;  // in which it is
    int labels[2] = {0, 0};  // by side
    const Region* regions[2] = {nullptr, nullptr};
  };

  // Of classes.
  Monotone(const std::vector<MonotoneRule>& rules, const SpaceProblem& space, std::size_t rows,
           int labels);
  // Of numbers: [label * targets + target], read whenever labels are compared. Numbers that differ
  // by no more than rounding are equal.
  Monotone(const std::vector<MonotoneRule>& rules, const SpaceProblem& space, std::size_t rows,
           const std::vector<double>& outputs, std::size_t targets);

  // The facts that a split of this feature can set.
  std::uint64_t facts_of(std::size_t feature) const;
  // Those of splits above a node of this level.
  std::uint64_t facts_above(int level) const;

  // The path to a node: the split that it tries, between the values of these rows, and the side
  // that is looked at.
  void split(int level, std::size_t feature, std::uint32_t low_row, std::uint32_t high_row);
  double threshold(int level) const { return placed(level).threshold; }
  void enter(int level, int side, Limits limits);
  // The limits of a node; those that its split hands to a side.
  const Limits& limits(int level) const { return at_[static_cast<std::size_t>(level)].limits; }
  Limits limits_of(int level, int side) const;

  // Drops the labels that the limits of a node forbid; those that they forbid on a side of its
  // split.
  void keep(int level, std::vector<int>& labels) const;
  void keep(int level, int side, std::vector<int>& labels) const;
  // Whether the limits of a node, or those on a side of its split, admit a label.
  bool admits(int level, int label) const;
  bool admits(int level, int side, int label) const;
  // What leaves of these labels on both sides of the split set.
  std::uint64_t stump_facts(int level, int left, int right) const;

  // What of the path to a node decides on order below it, beside its rows: values that none of them
  // has, and the level.
  std::string context(int level) const;

  // ---- sub-trees on both sides of a split

  Meeting meeting(int level) const;
  Regions regions(const std::vector<ArenaNode>& arena, int node, const Meeting& here,
                  int side) const;
  // The facts that both set together; the tangles of those in `wish`, if asked.
  std::uint64_t facts_between(const Regions& left, const Regions& right, const Meeting& here,
                              std::uint64_t wish, std::vector<Tangle>* tangles) const;
  // Two limits, each for a side of the split: what keeps the rule at the points of a tangle keeps
  // one of them. `rows` are those of the node.
  struct Ways {
    std::uint64_t fact;
    int side[2];
    Limit limit[2];
  };
  Ways ways(const std::vector<Tangle>& tangles, const Meeting& here,
            const std::vector<std::uint32_t>& rows);

  std::size_t points() const { return points_.size(); }
  void forget(std::size_t points) { points_.resize(points); }
  std::size_t bytes() const {
    return points_.size() * (space_.columns() * sizeof(double) + sizeof(Point));
  }

 private:
  struct At {
    std::size_t feature = 0;
    std::uint32_t low_row = 0, high_row = 0;
    mutable bool placed = false;  // most splits are dropped before one asks for it
    mutable double threshold = 0;
    int side = 0;
    Limits limits;
  };
  const At& placed(int level) const;
  Cells cells(int level, int column) const;
  bool reaches(const At& here, const Limit& l, int side) const {
    return space_.reaches(points_[l.point], here.feature, here.threshold, side == 0);
  }
  // Whether a number is less than another one.
  bool falls(double a, double b) const {
    return a < b - rounding_ * (1 + std::max(std::fabs(a), std::fabs(b)));
  }
  double value(int label, std::size_t target) const {
    return (*outputs_)[static_cast<std::size_t>(label) * targets_ + target];
  }
  int fallen(int from, int to) const;
  bool holds(const Limit& l, int label) const {
    return l.below ? value(label, l.target) < l.at : !falls(value(label, l.target), l.at);
  }
  void drop(const Limit& l, std::vector<int>& labels) const;
  std::uint64_t wrong(const Meeting& here, const Cells& left, const Cells& right, int left_label,
                      int right_label, std::uint64_t wish, Tangle* tangle) const;
  std::vector<std::uint32_t> rows_between(const Tangle& t, const Meeting& here,
                                          const std::vector<std::uint32_t>& rows) const;
  void walk(const std::vector<ArenaNode>& arena, int node, const Meeting& here, int side,
            Region& path, Regions& found) const;

  const std::vector<MonotoneRule>& rules_;
  Space space_;
  std::vector<double> classes_;
  const std::vector<double>* outputs_;
  std::size_t targets_ = 1;
  double rounding_ = 0;
  std::vector<std::uint64_t> of_column_;
  std::vector<At> at_;
  std::vector<Point> points_;
};

}  // namespace odt
