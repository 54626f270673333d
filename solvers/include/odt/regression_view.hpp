// The points of a node and the cuts that still tell them apart.
//
// Made in two steps: the points, enough for a leaf and for bounds, and the columns, when the node is searched.
#pragma once

#include <cstdint>
#include <vector>

#include "odt/regression_data.hpp"

namespace odt {

class RegressionView {
 public:
  struct Column {
    std::uint32_t column;    // of the data
    std::uint32_t values;    // codes 0 .. values - 1 occur, each at least once
    std::size_t cells;       // where its cells stand in `cell_`
  };

  std::size_t points = 0;
  std::vector<std::uint32_t> id;         // point of the data
  std::vector<Moments> point;
  std::vector<double> target;
  std::vector<std::uint32_t> by_target;  // positions, by rising target
  Moments total;
  PointSet set;
  std::vector<Column> columns;

  void make_root(const RegressionData& data);
  // The points of `parent` with codes below `cut` in a column, or the others.
  void make_points(const RegressionData& data, const RegressionView& parent, std::size_t column, std::uint32_t cut, bool below);
  void make_columns(const RegressionView& parent);
  bool has_columns() const { return has_columns_; }

  const std::uint32_t* codes(std::size_t column) const { return code_.data() + column * points; }
  int feature(const RegressionData& data, std::size_t column) const { return static_cast<int>(data.feature[columns[column].column]); }
  // Ranks of the feature below this bound go left when codes below `cut` do.
  std::uint32_t bound(const RegressionData& data, std::size_t column, std::uint32_t cut) const {
    return data.bound[columns[column].column][cell_[columns[column].cells + cut - 1]];
  }
  // The column and cut that part the points as a bound on a feature's ranks does; -1: it does not part them.
  int find(const RegressionData& data, int feature, std::uint32_t bound, std::uint32_t& cut) const;

 private:
  void add_column(std::uint32_t column, const std::vector<std::uint32_t>& cell_of, std::uint32_t* codes);

  bool has_columns_ = false;
  std::vector<std::uint32_t> from_;  // position in the parent
  std::vector<std::uint32_t> code_;  // [column][position]
  std::vector<std::uint32_t> cell_;  // per column: cell of each code
  std::vector<std::uint32_t> place_;
};

}  // namespace odt
