// The feature space beyond the training rows: what of a column a path leaves, and where a point
// goes.
//
// As odtdsl/problem/ir/monotone.py has it: (low, high] of thresholds, or a set of values with one
// for all that no row has; and whether missing cells remain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "odt/places.hpp"

namespace odt {

struct ColumnKind {
  int known = -1;      // values 0 .. known-1 without an order for tests; -1: numbers
  bool other = false;  // values that no training row has
  bool missing = false;
};

struct SpaceTest {  // per feature
  int column = 0;
  int code = -1;                  // the value that goes left; -1: thresholds
  int missing = -1;               // the side of missing cells: 0 left, 1 right
  bool shorten = false;           // thresholds come out as the shortest decimals
  std::vector<RealSet> admitted;  // thresholds that may stand: per level, or at all levels
};

// A lattice of points: missing is NaN, and a point that stands for all values of a column has
// kEvery there.
struct SpaceProblem {
  std::vector<ColumnKind> columns;
  std::vector<SpaceTest> tests;
  std::vector<double>
      cells;  // [column * rows + row]: the number or the value's index; NaN where missing
};

// The fact is set by a tree whose prediction falls (not `increasing`: rises) somewhere in the space
// as the column grows.
struct MonotoneRule {
  int fact;
  int column;
  bool increasing;
};

constexpr double kEvery = std::numeric_limits<double>::infinity();
using Point = std::vector<double>;  // per column

struct Cells {
  double low = -std::numeric_limits<double>::infinity(),
         high = std::numeric_limits<double>::infinity();
  std::vector<char> codes;  // empty for numbers; the last one stands for values that no row has
  bool missing = false;

  bool ranked() const { return codes.empty(); }
  bool holds(double x) const {
    if (std::isnan(x)) return missing;
    return ranked() ? low < x && x <= high : codes[static_cast<std::size_t>(x)] != 0;
  }
};

inline Cells common(const Cells& a, const Cells& b) {
  Cells c = a;
  c.missing = a.missing && b.missing;
  c.low = std::max(a.low, b.low);
  c.high = std::min(a.high, b.high);
  for (std::size_t v = 0; v < c.codes.size(); ++v)
    c.codes[v] = static_cast<char>(a.codes[v] && b.codes[v]);
  return c;
}

inline bool meet(const Cells& a, const Cells& b) {
  if (a.missing && b.missing) return true;
  if (a.ranked()) return std::max(a.low, b.low) < std::min(a.high, b.high);
  for (std::size_t v = 0; v < a.codes.size(); ++v)
    if (a.codes[v] && b.codes[v]) return true;
  return false;
}

// The least (or largest) known value, -1 if there is none.
inline int extreme(const Cells& cells, bool least) {
  int found = -1;
  for (int v = 0; v + 1 < static_cast<int>(cells.codes.size()); ++v)
    if (cells.codes[static_cast<std::size_t>(v)] && (found < 0 || !least)) found = v;
  return found;
}

class Space {
 public:
  Space(const SpaceProblem& p, std::size_t rows) : p_(p), rows_(rows) {}

  std::size_t columns() const { return p_.columns.size(); }
  const SpaceTest& test(std::size_t feature) const { return p_.tests[feature]; }
  double cell(std::size_t column, std::uint32_t row) const {
    return p_.cells[column * rows_ + row];
  }

  Cells everything(std::size_t column) const {
    const ColumnKind& kind = p_.columns[column];
    Cells cells;
    cells.missing = kind.missing;
    if (kind.known >= 0) {
      cells.codes.assign(static_cast<std::size_t>(kind.known) + 1, 1);
      cells.codes.back() = kind.other;
    }
    return cells;
  }

  // The threshold between two values; of other tests none.
  double threshold(std::size_t feature, double low, double high, int level) const {
    const SpaceTest& test = p_.tests[feature];
    if (test.code >= 0) return 0;
    const RealSet& admitted =
        test.admitted[std::min(static_cast<std::size_t>(level), test.admitted.size() - 1)];
    return place(admitted, low, high, test.shorten).value_or(low);
  }

  Cells side(Cells cells, std::size_t feature, double threshold, bool left) const {
    const SpaceTest& test = p_.tests[feature];
    cells.missing = cells.missing && (test.missing == 0) == left;
    if (test.code < 0) {
      if (left)
        cells.high = std::min(cells.high, threshold);
      else
        cells.low = std::max(cells.low, threshold);
      return cells;
    }
    for (std::size_t v = 0; v < cells.codes.size(); ++v)
      if ((static_cast<int>(v) == test.code) != left) cells.codes[v] = 0;
    return cells;
  }

  // Whether a test sends a point to a side.
  bool reaches(const Point& point, std::size_t feature, double threshold, bool left) const {
    const SpaceTest& test = p_.tests[feature];
    const double x = point[static_cast<std::size_t>(test.column)];
    if (x == kEvery) return true;
    if (std::isnan(x)) return (test.missing == 0) == left;
    return (test.code < 0 ? x <= threshold : x == test.code) == left;
  }

  // A value of the cells, in the middle of those of the rows that have one.
  double typical(const Cells& cells, std::size_t column,
                 const std::vector<std::uint32_t>& rows) const {
    std::vector<double> found;
    for (std::uint32_t row : rows)
      if (const double x = cell(column, row); !std::isnan(x) && cells.holds(x)) found.push_back(x);
    if (!found.empty()) {
      const auto middle = found.begin() + static_cast<std::ptrdiff_t>(found.size() / 2);
      std::nth_element(found.begin(), middle, found.end());
      return *middle;
    }
    if (!cells.ranked()) {
      for (std::size_t v = 0; v < cells.codes.size(); ++v)
        if (cells.codes[v]) return static_cast<double>(v);
    } else if (cells.low < cells.high) {
      return std::isfinite(cells.high) ? cells.high : largest(column);
    }
    return std::numeric_limits<double>::quiet_NaN();
  }

 private:
  // No threshold reaches it.
  double largest(std::size_t column) const {
    double most = -std::numeric_limits<double>::infinity();
    for (std::uint32_t row = 0; row < rows_; ++row)
      if (const double x = cell(column, row); x > most) most = x;
    return std::isfinite(most) ? most : 0;
  }

  const SpaceProblem& p_;
  std::size_t rows_;
};

}  // namespace odt
