// The rows of a regression problem as weighted points.
//
// Cuts that no rule allows vanish: a feature's ranks become cells with an allowed cut between any
// two. Rows of weight zero do not count, and but for absolute error rows alike in all cells become
// one point: what they lose among themselves, every tree loses.
#pragma once

#include <cstdint>
#include <vector>

#include "odt/regression.hpp"

namespace odt {

// In place of no weight: the sum beside it is exactly 0.
constexpr double kNoWeight = 1e-290;

// Sums over points: weight, weight * target, weight * target^2; of counts, weight * target *
// log(target) last.
struct alignas(32) Moments {
  double w = 0, s = 0, q = 0, unused = 0;
  void add(const Moments& o) {
    w += o.w;
    s += o.s;
    q += o.q;
  }
  void subtract(const Moments& o) {
    w -= o.w;
    s -= o.s;
    q -= o.q;
  }
};

// A set of points, by a hash of 128 bits; sets that collide would be taken for one.
struct PointSet {
  std::uint64_t low = 0, high = 0;
  void toggle(const PointSet& o) {
    low ^= o.low;
    high ^= o.high;
  }
  bool operator==(const PointSet& o) const { return low == o.low && high == o.high; }
};

struct RegressionData {
  const RegressionProblem& problem;
  std::size_t points = 0;
  std::vector<Moments> point;      // targets are relative to their mean: differences, or ratios
  std::vector<double> target;      // s / w
  std::vector<std::uint32_t> row;  // one of its rows
  // Columns: of a feature's cells each, or, where there are few cuts, 0/1 columns of one cut each.
  std::vector<std::uint32_t> feature;            // of a column
  std::vector<std::vector<std::uint32_t>> cell;  // [column][point]
  std::vector<std::vector<std::uint32_t>>
      bound;  // [column][cell]: ranks below it lie in this cell or a lower one
  std::vector<PointSet> hash;
  double offset = 0;  // lost by every tree
  double tolerance = 0;
  double least = 0;  // what the rows that a leaf must hold weigh, less half a row

  explicit RegressionData(const RegressionProblem& problem);

  const NumberRules& rules() const { return problem.rules; }
  // The state behind a split on a column; -1: it may not stand.
  int after(int state, std::size_t column) const {
    return problem.rules.after(state, feature[column]);
  }
  // What each side of a split must weigh at least before a path in a state.
  double least_side(int state) const { return problem.rules.strict(state) ? least : 0; }
  bool ends(int state, double weight) const {
    return problem.rules.ends(state) && weight >= least_side(state);
  }

 private:
  void make_cells(const std::vector<std::uint32_t>& rows);
  void make_tests();
  void make_points(const std::vector<std::uint32_t>& rows,
                   const std::vector<std::vector<std::uint32_t>>& groups, double weight_unit);
  void make_counts(const std::vector<std::uint32_t>& rows,
                   const std::vector<std::vector<std::uint32_t>>& groups);
  double weight(std::uint32_t row, double unit) const;
  void merge(std::size_t rows, std::vector<std::vector<std::uint32_t>>& groups) const;
};

}  // namespace odt
