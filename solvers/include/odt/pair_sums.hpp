// Sums over the points that have the higher value of two 0/1 columns, for all pairs of columns:
// what trees of depth two are made of. The sums of one side of a split are those of the node less
// those of the other side.
#pragma once

#include <cstdint>
#include <vector>

#include "odt/aligned.hpp"
#include "odt/lanes.hpp"
#include "odt/regression_view.hpp"

namespace odt {

class PairSums {
 public:
  // Of some points of the node. "One": the points with the higher value of a column; "none": the
  // others.
  struct Sums {
    Aligned<double> w, s,
        n;  // [column][stride]; blocks of lanes before the column's own are not filled
    Aligned<double> one_w, one_s, one_q, one_n;  // [stride]
    Aligned<double> best_one, best_none;         // [stride] best score of a split of these
    Moments all;
  };

  // `counts`: whether what sizes count is summed as well; else weights stand for it.
  void prepare(const RegressionView& view, bool counts);
  // Of all points, or of those with (or without) the higher value of a column.
  void sum(const RegressionView& view, Sums& out);
  void sum_side(const RegressionView& view, std::size_t column, bool one, Sums& out);
  void subtract(const Sums& from, const Sums& part, Sums& out) const;
  // Which columns may be split on behind which others, and what each part must count at least.
  struct Allowed {
    bool any = true;  // all of them, whatever they count
    double least = 0;
    // [column][block of lanes]: what may stand below the column, and what it may stand below.
    std::vector<std::uint8_t> below, above;
    bool may(std::size_t column) const { return any || open[column]; }
    std::vector<char> open;  // whether the column may stand first
  };
  // `state_behind[k]`: behind a split on column k, -1 where it may not stand; `last(state, j)`:
  // whether a split on column j may be the last one there.
  template <class Last>
  Allowed allowed(const std::vector<int>& state_behind, const Last& last) const {
    const std::size_t blocks = stride_ / kLanes;
    Allowed made;
    made.any = false;
    made.below.assign(columns_ * blocks, 0);
    made.above = made.below;
    made.open.assign(columns_, 0);
    for (std::size_t k = 0; k < columns_; ++k) {
      if (state_behind[k] < 0) continue;
      made.open[k] = 1;
      for (std::size_t j = 0; j < columns_; ++j) {
        if (!last(state_behind[k], j)) continue;
        made.below[k * blocks + j / kLanes] |= static_cast<std::uint8_t>(1 << (j % kLanes));
        made.above[j * blocks + k / kLanes] |= static_cast<std::uint8_t>(1 << (k % kLanes));
      }
    }
    return made;
  }
  // Fills best_one and best_none: scores are s^2 / w, or s log(s / w); -kNever: none may stand.
  void score(Sums& sums, bool counts, const Allowed& allowed) const;

 private:
  void add(const RegressionView& view, Sums& out);
  void reserve(Sums& sums) const;

  std::size_t columns_ = 0, stride_ = 0;
  bool counts_ = false;
  std::vector<std::uint8_t> masks_;  // [position][block of lanes]
  std::vector<std::uint32_t> rows_, picked_;
};

}  // namespace odt
