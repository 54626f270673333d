// The envelope of one feature, held at the ends of open intervals of cuts.
//
// With the rows sorted by a feature, let L[t] and R[t] be lower bounds on the loss of the t lowest
// rows on the left and of the rest on the right. Fewer rows never lose more (subset bound), and
// taking rows away gains at most their worst losses (deletion bound):
//     L[t] >= L[u] for u < t,    L[t] >= L[u] - w(t..u) for u > t,    and mirrored for R.
// So an interval between two evaluated cuts needs only the bounds at its ends. A cut is dropped
// once L + R >= the incumbent: this contains neighbourhood pruning, interval shrinking and
// sub-interval pruning of ConTree.
#pragma once

#include <algorithm>
#include <cstdint>

#include "odt/problem.hpp"

namespace odt {

// Where leaves must hold a least number of rows, the subset bound is lost. Then low_left and
// high_right, which it carries into the interval, are of trees whose leaves may be of any size;
// low_right and high_left, which only the deletion bound carries, are of the trees in question.
struct Interval {
  std::int32_t low, high;  // evaluated cuts (rows on the left); open in between
  Loss low_left, low_right, high_left, high_right;
  std::int32_t low_record, high_record;  // what else is known at the ends
};

// Worst loss of the rows between two cuts; the same for each where losses are unit.
struct RowWeights {
  const Loss* upto = nullptr;  // worst loss of the rows below a cut
  Loss each = 1;               // without: of a row
  Loss between(std::int32_t low, std::int32_t high) const {
    return upto ? upto[high] - upto[low] : each * (high - low);
  }
  // First cut after `cut` that is not within `radius` of it.
  std::int32_t beyond(std::int32_t cut, std::int32_t last, Loss radius) const {
    if (!upto) return static_cast<std::int32_t>(std::min<Loss>(last + 1, cut + radius / each + 1));
    return static_cast<std::int32_t>(
        std::upper_bound(upto + cut, upto + last + 1, upto[cut] + radius) - upto);
  }
  std::int32_t before(std::int32_t cut, std::int32_t first, Loss radius) const {
    if (!upto) return static_cast<std::int32_t>(std::max<Loss>(first - 1, cut - radius / each - 1));
    return static_cast<std::int32_t>(
               std::lower_bound(upto + first, upto + cut + 1, upto[cut] - radius) - upto) -
           1;
  }
};

// Tightens both ends by each other.
inline void settle(Interval& i, const RowWeights& weights) {
  const Loss width = weights.between(i.low, i.high);
  i.high_left = std::max(i.high_left, i.low_left);
  i.low_left = std::max(i.low_left, i.high_left - width);
  i.low_right = std::max(i.low_right, i.high_right);
  i.high_right = std::max(i.high_right, i.low_right - width);
}

// Least L + R over the open cuts.
inline Loss interval_bound(const Interval& i, const RowWeights& weights) {
  const Loss width = weights.between(i.low, i.high);
  return std::max(i.low_left + i.high_right, i.high_left + i.low_right - width);
}

// Under rules: what is true of the two sides at the ends and, of the side that shrinks from there
// on, a bound that only the deletion bound carries over (the subset bound needs rules that hold for
// fewer rows too).
struct RuledInterval {
  Interval ends;
  Loss low_right, high_left;
};

// Cuts that survive against `upper`: first .. last, empty if first > last.
struct OpenCuts {
  std::int32_t first, last;
  OpenCuts within(std::int32_t low, std::int32_t high) const {
    return {std::max(first, low), std::min(last, high)};
  }
};
inline OpenCuts open_cuts(const Interval& i, const RowWeights& weights, Loss upper) {
  OpenCuts open{i.low + 1, i.high - 1};
  const Loss low_radius = i.low_left + i.low_right - upper,
             high_radius = i.high_left + i.high_right - upper;
  if (low_radius >= 0) open.first = std::max(open.first, weights.beyond(i.low, i.high, low_radius));
  if (high_radius >= 0) open.last = std::min(open.last, weights.before(i.high, i.low, high_radius));
  return open;
}

inline Loss interval_bound(const RuledInterval& i, const RowWeights& weights) {
  return std::max(interval_bound(i.ends, weights),
                  i.high_left + i.low_right - weights.between(i.ends.low, i.ends.high));
}
inline OpenCuts open_cuts(const RuledInterval& i, const RowWeights& weights, Loss upper) {
  Interval ends = i.ends;
  ends.low_right = std::max(ends.low_right, i.low_right);
  ends.high_left = std::max(ends.high_left, i.high_left);
  return open_cuts(ends, weights, upper);
}

// The admissible cut nearest to `want` within first .. last; -1 if there is none. Bit i of `ends`
// allows cut i + 1.
inline std::int32_t nearest_cut(const std::uint64_t* ends, std::int32_t want, std::int32_t first,
                                std::int32_t last) {
  const auto up = [&](std::int32_t cut) -> std::int32_t {
    for (std::int32_t i = cut - 1; i < last;) {
      const std::uint64_t bits = ends[i >> 6] >> (i & 63);
      if (bits) {
        i += __builtin_ctzll(bits);
        return i < last ? i + 1 : -1;
      }
      i = (i | 63) + 1;
    }
    return -1;
  };
  const auto down = [&](std::int32_t cut) -> std::int32_t {
    for (std::int32_t i = cut - 1; i >= first - 1;) {
      const std::uint64_t bits = ends[i >> 6] << (63 - (i & 63));
      if (bits) {
        i -= __builtin_clzll(bits);
        return i >= first - 1 ? i + 1 : -1;
      }
      i = (i & ~63) - 1;
    }
    return -1;
  };
  const std::int32_t above = up(want);
  if (above == want && want >= first) return want;
  const std::int32_t below = down(want);
  if (above < 0 || (below > 0 && want - below <= above - want)) return below;
  return above;
}

}  // namespace odt
