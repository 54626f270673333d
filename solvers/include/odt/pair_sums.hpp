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
    Aligned<double> w,
        s;  // [column][stride]; blocks of lanes before the column's own are not filled
    Aligned<double> one_w, one_s, one_q;  // [stride]
    Aligned<double> best_one, best_none;  // [stride] best score of a split of these
    Moments all;
  };

  void prepare(const RegressionView& view);
  // Of all points, or of those with (or without) the higher value of a column.
  void sum(const RegressionView& view, Sums& out);
  void sum_side(const RegressionView& view, std::size_t column, bool one, Sums& out);
  void subtract(const Sums& from, const Sums& part, Sums& out) const;
  // Fills best_one and best_none: scores are s^2 / w, or s log(s / w).
  void score(Sums& sums, bool counts) const;

 private:
  void add(const RegressionView& view, Sums& out);
  void reserve(Sums& sums) const;

  std::size_t columns_ = 0, stride_ = 0;
  std::vector<std::uint8_t> masks_;  // [position][block of lanes]
  std::vector<std::uint32_t> rows_, picked_;
};

}  // namespace odt
