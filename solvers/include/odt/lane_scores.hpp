// Scores of eight leaves at a time, and the largest of them.
#pragma once

#include <algorithm>

#include "odt/lanes.hpp"
#include "odt/logs.hpp"
#include "odt/regression_scan.hpp"

namespace odt {

struct OfSquares {
  ODT_INLINE Lanes operator()(const Lanes& w, const Lanes& s) const {
    return s * s / (w + kNoWeight);
  }
};
struct OfCounts {
  ODT_INLINE Lanes operator()(const Lanes& w, const Lanes& s) const {
    return gain_of_ratio<Lanes, LaneBits>(s, w);
  }
};
// Those of a mask, -kNever in place of the others.
ODT_INLINE Lanes only(const Lanes& score, const LaneBits& mask) {
  const Lanes none = Lanes{} - kNever;
  return (Lanes)(((LaneBits)score & mask) | ((LaneBits)none & ~mask));
}
ODT_INLINE Lanes larger(const Lanes& a, const Lanes& b) { return a > b ? a : b; }
ODT_INLINE double largest(const Lanes& a) {
  double best = a[0];
  for (std::size_t l = 1; l < kLanes; ++l) best = std::max(best, a[l]);
  return best;
}

}  // namespace odt
