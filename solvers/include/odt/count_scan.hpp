// The kernel of the search by counts: sums of losses of all boxes of three features, and the least
// loss of a split on the third one. Included once: its clones are chosen by the loader.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "odt/lanes.hpp"
#include "odt/problem.hpp"

namespace odt {

constexpr Loss kLargest = Loss{1} << 28;  // of sums in 32 bits; no leaf stands for four times that

template <class V>
constexpr V kNone = sizeof(V) == 4 ? V(2 * kLargest) : V(kInfinite / 8);

// Sums of losses of all boxes from the origin, [lane][a][b][c], for every label; a last lane counts
// rows if leaves have a least size. Finds the least loss of a split on the third feature in each of
// the four boxes that a cut of the first and one of the second leave.
template <class V>
struct ThirdScan {
  const V* sums;
  std::size_t labels, lanes;
  std::size_t bins[3];
  V least;
  V* work;  // (4 * lanes + 2) * bins[2]
  V* best;  // [cut of the first][cut of the second][box]
};

template <class V>
ODT_INLINE V least_of_cuts(const V* q, const ThirdScan<V>& s, V* low, V* high) {
  const std::size_t n = s.bins[2];
  const V total = q[n - 1];
  for (std::size_t v = 0; v + 1 < n; ++v) {
    low[v] = q[v];
    high[v] = total - q[v];
  }
  for (std::size_t l = 1; l < s.labels; ++l) {
    const V* of = q + l * n;
    const V all = of[n - 1];
    for (std::size_t v = 0; v + 1 < n; ++v) {
      low[v] = std::min(low[v], of[v]);
      high[v] = std::min(high[v], all - of[v]);
    }
  }
  if (s.lanes > s.labels) {
    const V* rows = q + s.labels * n;
    const V all = rows[n - 1];
    for (std::size_t v = 0; v + 1 < n; ++v)
      low[v] = rows[v] < s.least || all - rows[v] < s.least ? kNone<V> : low[v];
  }
  V best = kNone<V>;
  for (std::size_t v = 0; v + 1 < n; ++v) best = std::min(best, low[v] + high[v]);
  return best;
}

// The sums of the four boxes at a cut of the first and one of the second feature.
template <class V>
ODT_INLINE void four_boxes(const ThirdScan<V>& s, std::size_t t, std::size_t u) {
  const std::size_t n = s.bins[2], line = s.bins[1] * n, size = s.bins[0] * line;
  for (std::size_t l = 0; l < s.lanes; ++l) {
    const V* ll = s.sums + l * size + t * line + u * n;
    const V* la = s.sums + l * size + t * line + (s.bins[1] - 1) * n;
    const V* al = s.sums + l * size + (s.bins[0] - 1) * line + u * n;
    const V* aa = s.sums + l * size + (s.bins[0] - 1) * line + (s.bins[1] - 1) * n;
    V* to[4];
    for (std::size_t box = 0; box < 4; ++box) to[box] = s.work + (box * s.lanes + l) * n;
    for (std::size_t v = 0; v < n; ++v) {
      to[0][v] = ll[v];
      to[1][v] = la[v] - ll[v];
      to[2][v] = al[v] - ll[v];
      to[3][v] = aa[v] - la[v] - al[v] + ll[v];
    }
  }
}

template <class V>
ODT_INLINE void scan_thirds(const ThirdScan<V>& s) {
  V* low = s.work + 4 * s.lanes * s.bins[2];
  V* high = low + s.bins[2];
  V* best = s.best;
  for (std::size_t t = 0; t + 1 < s.bins[0]; ++t)
    for (std::size_t u = 0; u + 1 < s.bins[1]; ++u) {
      four_boxes(s, t, u);
      for (std::size_t box = 0; box < 4; ++box)
        *best++ = least_of_cuts(s.work + box * s.lanes * s.bins[2], s, low, high);
    }
}
ODT_CLONES static void scan(const ThirdScan<std::int32_t>& s) { scan_thirds(s); }
ODT_CLONES static void scan(const ThirdScan<std::int64_t>& s) { scan_thirds(s); }

// The first cut of the third feature that reaches `value` in a box.
template <class V>
std::size_t cut_of(const ThirdScan<V>& s, std::size_t t, std::size_t u, std::size_t box, V value) {
  four_boxes(s, t, u);
  V* low = s.work + 4 * s.lanes * s.bins[2];
  V* high = low + s.bins[2];
  least_of_cuts(s.work + box * s.lanes * s.bins[2], s, low, high);
  std::size_t v = 0;
  while (low[v] + high[v] != value) ++v;
  return v;
}

}  // namespace odt
