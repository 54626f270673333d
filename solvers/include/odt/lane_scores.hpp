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
    return gain_of_ratio<Lanes, LaneWords>(s, w);
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
ODT_INLINE void keep_larger(double* known, const Lanes& score) {
  Lanes found;
  load(found, known);
  store(larger(found, score), known);
}
// What a third column makes of the quarters by two others, on its side 1 and on its side 0 (`in`,
// `out`), raises what is known of the quarters by the third one and each of the two, by lanes in
// which the other of the two may be last.
ODT_INLINE void raise_quarters(const Lanes (&in)[4], const Lanes (&out)[4], double* const (&a)[4],
                               double* const (&b)[4], std::size_t at,
                               const LaneBits& of_a = LaneBits{} - 1,
                               const LaneBits& of_b = LaneBits{} - 1) {
  for (int side = 0; side < 2; ++side) {
    keep_larger(a[2 * side] + at, only(out[2 * side] + out[2 * side + 1], of_a));
    keep_larger(a[2 * side + 1] + at, only(in[2 * side] + in[2 * side + 1], of_a));
    keep_larger(b[2 * side] + at, only(out[side] + out[2 + side], of_b));
    keep_larger(b[2 * side + 1] + at, only(in[side] + in[2 + side], of_b));
  }
}

}  // namespace odt
