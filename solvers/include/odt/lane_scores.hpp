// Scores of eight leaves at a time, and the largest of them.
#pragma once

#include "odt/paired_lanes.hpp"
#include "odt/logs.hpp"
#include "odt/regression_scan.hpp"

namespace odt {

struct OfSquares {
  template <class L>
  ODT_INLINE L operator()(const L& w, const L& s) const {
    return s * s / (w + kNoWeight);
  }
};
struct OfCounts {
  ODT_INLINE Lanes operator()(const Lanes& w, const Lanes& s) const {
    return gain_of_ratio<Lanes, LaneWords>(s, w);
  }
  ODT_INLINE PairedLanes operator()(const PairedLanes& w, const PairedLanes& s) const {
    return {gain_of_ratio<HalfLanes, HalfWords>(s.low, w.low),
            gain_of_ratio<HalfLanes, HalfWords>(s.high, w.high)};
  }
};
// Those of a mask, -kNever in place of the others.
template <class L>
ODT_INLINE L only(const L& score, const typename BitsOf<L>::type& mask) {
  return choose(mask, score, L{} - kNever);
}
template <class L>
ODT_INLINE void keep_larger(double* known, const L& score) {
  L found;
  load(found, known);
  store(larger(found, score), known);
}
// What a third column makes of the quarters by two others, on its side 1 and on its side 0 (`in`,
// `out`), raises what is known of the quarters by the third one and each of the two, by lanes in
// which the other of the two may be last.
template <class L>
ODT_INLINE void raise_quarters(const L (&in)[4], const L (&out)[4], double* const (&a)[4],
                               double* const (&b)[4], std::size_t at,
                               const typename BitsOf<L>::type& of_a = L{} >= L{},
                               const typename BitsOf<L>::type& of_b = L{} >= L{}) {
  for (int side = 0; side < 2; ++side) {
    keep_larger(a[2 * side] + at, only(out[2 * side] + out[2 * side + 1], of_a));
    keep_larger(a[2 * side + 1] + at, only(in[2 * side] + in[2 * side + 1], of_a));
    keep_larger(b[2 * side] + at, only(out[side] + out[2 + side], of_b));
    keep_larger(b[2 * side + 1] + at, only(in[side] + in[2 + side], of_b));
  }
}

}  // namespace odt
