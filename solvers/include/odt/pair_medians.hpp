// Absolute losses of the four parts that two 0/1 columns make of points, for all pairs of columns:
// what trees of depth two are made of.
//
// Points stand in the order of their targets. Between two targets that follow one another, the loss
// of a part grows with the output by the weight below less the weight above: so a part loses, from
// each target to the next, the lesser of both weights times what lies between the targets. One pass
// over the points tells that of many columns, and no median is looked for.
#pragma once

#include <cstdint>
#include <vector>

#include "odt/aligned.hpp"
#include "odt/lanes.hpp"
#include "odt/masked_sums.hpp"
#include "odt/regression_view.hpp"

namespace odt {

// Points in the order of their targets, and columns by blocks of lanes.
struct MedianPass {
  const double* steps;   // per point: its weight, and how far it is to the next target
  MaskedRows columns;    // of the points; numbers are not read
  double weight;         // of all
  double *one, *none;    // per column: what the points with its bit lose, and the others
};
void median_pass(const MedianPass& in, std::size_t block);

class PairMedians {
 public:
  // Of the points that have one value of a column, those that have the higher value of another one
  // (`one`) or the lower one (`none`): losses, numbers of points, what sizes count.
  struct Parts {
    Aligned<double> one, none;                    // [stride]
    Aligned<double> points, n;                    // [stride], of `one`; where they were asked for
    double all_points = 0, all_n = 0, all_w = 0;  // of both
  };

  void prepare(const RegressionView& view);
  // The points that the next calls are about: all, or those with a value of a column.
  void pick_all();
  void pick(std::size_t column, bool one);
  std::size_t picked() const { return picked_.size(); }
  // By every column: of all that are picked.
  void by_one(Parts& out, bool counts) { tell(picked_, 0, out, counts); }
  // By every column from the first of the given one's block on: of those that have a value of it.
  // False where all have the same.
  bool by_two(std::size_t column, Parts (&out)[2], bool counts);

 private:
  void tell(const std::vector<std::uint32_t>& points, std::size_t block, Parts& out, bool counts);
  bool has(std::uint32_t point, std::size_t column) const {
    return masks_[point * blocks_ + column / kLanes] >> (column % kLanes) & 1;
  }

  std::size_t blocks_ = 0;           // of lanes
  std::vector<std::uint8_t> masks_;  // [place among the targets][block]
  std::vector<double> weight_, target_, counted_;  // counted: pairs of 1 and what sizes count
  std::vector<std::uint32_t> picked_, half_[2];
  std::vector<double> steps_;
};

}  // namespace odt
