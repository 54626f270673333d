// The points of a node and the cuts that still tell them apart.
//
// Made in three steps: sums and the order of targets, enough for a leaf and for bounds; points;
// columns.
#pragma once

#include <cstdint>
#include <vector>

#include "odt/regression_data.hpp"

namespace odt {

class RegressionView {
 public:
  struct Column {
    std::uint32_t column;  // of the data
    std::uint32_t values;  // codes 0 .. values - 1 occur, each at least once
    std::size_t cells;     // where its cells stand in `cell_`
  };

  std::size_t points = 0;
  std::vector<std::uint32_t> id;  // point of the data
  std::vector<Moments> point;
  std::vector<double> target;
  std::vector<std::uint32_t> by_target;  // positions in `source`, by rising target
  const RegressionView* source =
      nullptr;  // the view that has the points: this one, or still its parent
  Moments total;
  std::uint64_t set = 0;    // hash of the points
  RowPath path;             // cells of columns
  std::uint64_t stamp = 0;  // no other points have it
  std::vector<Column> columns;

  void make_root(const RegressionData& data);
  // Sums and order of the points below and beside a cut.
  static void part(const RegressionData& data, const RegressionView& parent, std::size_t column,
                   std::uint32_t cut, RegressionView (&sides)[2]);
  void make_points(const RegressionView& parent);
  void make_columns(const RegressionView& parent);

  // Whether a path leads to these points.
  bool at_end_of(const RegressionData& data, const RowPath& path) const;
  // A new stamp.
  void renew();
  // The points in the order of their targets.
  const Moments& sorted_point(std::size_t k) const { return source->point[by_target[k]]; }
  double sorted_target(std::size_t k) const { return source->target[by_target[k]]; }

  const std::uint32_t* codes(std::size_t column) const { return code_.data() + column * points; }
  int feature(const RegressionData& data, std::size_t column) const {
    return static_cast<int>(data.feature[columns[column].column]);
  }
  // Ranks of the feature below this bound go left when codes below `cut` do.
  std::uint32_t bound(const RegressionData& data, std::size_t column, std::uint32_t cut) const {
    return data.bound[columns[column].column][cell_[columns[column].cells + cut - 1]];
  }
  // The column and cut that part the points as a bound on a feature's ranks does; -1: it does not
  // part them.
  int find(const RegressionData& data, int feature, std::uint32_t bound, std::uint32_t& cut) const;

 private:
  void add_column(std::uint32_t column, const std::vector<std::uint32_t>& cell_of,
                  std::uint32_t* codes);

  std::vector<std::uint32_t> from_;  // position in the parent
  std::vector<std::uint32_t> code_;  // [column][position]
  std::vector<std::uint32_t> cell_;  // per column: cell of each code
  std::vector<std::uint32_t> place_;
};

// The node that a scan has prepared last: this view, or another one of the same points.
class PreparedNode {
 public:
  bool is(const RegressionData& data, const RegressionView& view) const {
    return stamp_ == view.stamp || (set_ == view.set && view.at_end_of(data, path_));
  }
  void keep(const RegressionView& view) {
    stamp_ = view.stamp;
    set_ = view.set;
    path_ = view.path;
  }

 private:
  std::uint64_t stamp_ = 0, set_ = 0;
  RowPath path_;
};

}  // namespace odt
