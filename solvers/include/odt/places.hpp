// Where in a gap the threshold of a split comes out: the arithmetic of odtdsl/ir/intervals.py, in the same floats.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

namespace odt {

using Edge = std::pair<double, int>;   // just before a value (0) or just after it (1)
using Piece = std::pair<Edge, Edge>;   // from one edge to a later one
using RealSet = std::vector<Piece>;    // disjoint, in increasing order

// The float nearest to the middle of low < high, inside [low, high).
inline double midpoint(double low, double high) {
  const double total = low + high;
  const double middle = std::isfinite(total) ? total / 2 : low / 2 + high / 2;
  return low <= middle && middle < high ? middle : low;
}

inline std::optional<double> nearest_in(Edge low, Edge high, double wish) {
  if (low >= high) return {};
  if (low <= Edge(wish, 0) && Edge(wish, 1) <= high) return wish;
  if (Edge(wish, 0) < low && low.second == 0) return low.first;
  if (Edge(wish, 1) > high && high.second == 1) return high.first;
  const double middle = low.first / 2 + high.first / 2;
  if (low <= Edge(middle, 0) && Edge(middle, 1) <= high) return middle;
  // Neighbouring floats leave no room between open ends; a closed far end may still do.
  if (low.second == 0) return low.first;
  if (high.second == 1) return high.first;
  return {};
}

// The threshold of a split between two neighbouring values: the admitted one nearest to the midpoint.
inline std::optional<double> place(const RealSet& admitted, double low, double high) {
  const double wish = midpoint(low, high);
  const Edge first(low, 0), last(high, 0);
  auto piece = std::lower_bound(admitted.begin(), admitted.end(), Piece(first, first));
  if (piece != admitted.begin()) --piece;
  std::optional<double> best;
  for (; piece != admitted.end() && piece->first < last; ++piece) {
    const auto t = nearest_in(std::max(piece->first, first), std::min(piece->second, last), wish);
    if (t && (!best || std::abs(*t - wish) < std::abs(*best - wish))) best = t;
  }
  return best;
}

}  // namespace odt
