// Kernels in plain C++. Included by one file per instruction set, each with flags of its own, so
// everything here has internal linkage: a shared inline function compiled for AVX must never be
// picked for the portable table.
#pragma once

#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "odt/kernels.hpp"

namespace {

using odt::MultiClassLoss;
using odt::MultiClassScan;
using odt::SignedScan;
using odt::TwoClassGain;
using odt::TwoClassScan;
using std::int32_t;
using std::size_t;
using std::uint16_t;
using std::uint32_t;
using std::uint64_t;

inline uint64_t valid(size_t rows, size_t w) {
  const size_t count = rows - w * 64;
  return count >= 64 ? ~0ULL : (1ULL << count) - 1;
}
inline int32_t pop(uint64_t x) { return __builtin_popcountll(x); }
inline int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }
inline int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }

template <class R>
void below_generic(const R* rank, size_t words, R bound, uint64_t* out) {
  for (size_t w = 0; w < words; ++w) {
    uint64_t bits = 0;
    for (int i = 0; i < 64; ++i) bits |= static_cast<uint64_t>(rank[w * 64 + i] < bound) << i;
    out[w] = bits;
  }
}

template <class R>
size_t compress_generic(const R* in, size_t words, const uint64_t* keep, R* out) {
  size_t count = 0;
  for (size_t w = 0; w < words; ++w) {
    uint64_t bits = keep[w];
    const R* block = in + w * 64;
    while (bits) {
      out[count++] = block[__builtin_ctzll(bits)];
      bits &= bits - 1;
    }
  }
  return count;
}

template <class R>
void changes_generic(const R* rank, size_t words, uint64_t* out) {
  for (size_t w = 0; w < words; ++w) {
    uint64_t bits = 0;
    for (int i = 0; i < 64; ++i)
      bits |= static_cast<uint64_t>(rank[w * 64 + i] != rank[w * 64 + i + 1]) << i;
    out[w] = bits;
  }
}

inline uint64_t extract_slow(uint64_t value, uint64_t mask) {
  uint64_t result = 0;
  for (int k = 0; mask; ++k) {
    result |= ((value >> __builtin_ctzll(mask)) & 1ULL) << k;
    mask &= mask - 1;
  }
  return result;
}

// Appends the kept bits of each bitmap behind those kept so far.
template <uint64_t (*Extract)(uint64_t, uint64_t)>
void compress_bits_generic(const uint64_t* in, size_t words, int stride, const uint64_t* keep,
                           uint64_t* out) {
  size_t filled = 0;  // bits in the current output word
  for (int c = 0; c < stride; ++c) out[c] = 0;
  for (size_t w = 0; w < words; ++w, in += stride) {
    const uint64_t mask = keep[w];
    const size_t count = static_cast<size_t>(pop(mask));
    if (count == 0) continue;
    const bool spills = filled + count > 64;
    const bool closes = filled + count >= 64;
    for (int c = 0; c < stride; ++c) {
      const uint64_t bits = Extract(in[c], mask);
      out[c] |= bits << filled;
      if (closes) out[stride + c] = spills ? bits >> (64 - filled) : 0;
    }
    filled += count;
    if (closes) {
      filled -= 64;
      out += stride;
    }
  }
}

// Largest and smallest running sum at the ends of ties inside one block.
struct Extremes {
  int32_t largest, smallest;
};
inline Extremes block_extremes(uint64_t side, uint64_t positive, uint64_t ends) {
  Extremes e{-1000, 1000};
  while (ends) {
    const uint64_t upto = ends ^ (ends - 1);
    const int32_t sum = 2 * pop(side & positive & upto) - pop(side & upto);
    e.largest = larger(e.largest, sum);
    e.smallest = smaller(e.smallest, sum);
    ends &= ends - 1;
  }
  return e;
}

struct BlockSide {
  int32_t before;  // running sum at the block's start
  int32_t gain, cap;
};

template <Extremes (*Open)(uint64_t, uint64_t, uint64_t)>
inline void two_class_block(BlockSide& side, int32_t total, uint64_t rows, uint64_t positive,
                            uint64_t ends, uint32_t& opened) {
  const int32_t up = pop(rows & positive), down = pop(rows) - up;
  int32_t cap = larger(2 * (side.before + up) - total, total - 2 * (side.before - down));
  if (ends) {
    if (cap > side.gain) {
      const Extremes e = Open(rows, positive, ends);
      cap = larger(2 * (side.before + e.largest) - total, total - 2 * (side.before + e.smallest));
      side.gain = larger(side.gain, cap);
      ++opened;
    }
    side.cap = larger(side.cap, cap);
  }
  side.before += up - down;
}

// From word w on.
template <Extremes (*Open)(uint64_t, uint64_t, uint64_t)>
inline void two_class_rest(const TwoClassScan& s, size_t w, const BlockSide (&before)[2],
                           TwoClassGain& gain) {
  BlockSide left = before[0], right = before[1];
  uint32_t opened = 0;
  for (; w < s.words; ++w) {
    const uint64_t v = s.all[w], l = s.left[w] & v, r = v & ~s.left[w];
    two_class_block<Open>(left, s.left_total, l, s.positive[w], s.ends[0][w], opened);
    two_class_block<Open>(right, s.right_total, r, s.positive[w], s.ends[1][w], opened);
  }
  gain.left = left.gain;
  gain.right = right.gain;
  gain.left_cap = left.cap;
  gain.right_cap = right.cap;
  gain.opened += opened;
}
template <Extremes (*Open)(uint64_t, uint64_t, uint64_t)>
void two_class_generic(const TwoClassScan& s, TwoClassGain& gain) {
  two_class_rest<Open>(s, 0, {{0, gain.left, -(1 << 30)}, {0, gain.right, -(1 << 30)}}, gain);
}

struct BlockSums {
  int32_t sum, up;
};
inline BlockSums masked_sums(const int32_t* value, uint64_t mask) {
#if defined(__AVX512F__)
  const __m512i zero = _mm512_setzero_si512();
  __m512i sum = zero, up = zero;
  for (int q = 0; q < 4; ++q) {
    const __m512i v =
        _mm512_maskz_loadu_epi32(static_cast<__mmask16>(mask >> (16 * q)), value + 16 * q);
    sum = _mm512_add_epi32(sum, v);
    up = _mm512_add_epi32(up, _mm512_max_epi32(v, zero));
  }
  return {_mm512_reduce_add_epi32(sum), _mm512_reduce_add_epi32(up)};
#else
  BlockSums s{0, 0};
  for (int i = 0; i < 64; ++i) {
    const int32_t v = value[i] & -static_cast<int32_t>(mask >> i & 1);
    s.sum += v;
    s.up += v > 0 ? v : 0;
  }
  return s;
#endif
}

#if defined(__AVX512F__)
// Running sums of 16 lanes.
inline __m512i prefix_epi32(__m512i v) {
  const __m512i zero = _mm512_setzero_si512();
  v = _mm512_add_epi32(v, _mm512_alignr_epi32(v, zero, 15));
  v = _mm512_add_epi32(v, _mm512_alignr_epi32(v, zero, 14));
  v = _mm512_add_epi32(v, _mm512_alignr_epi32(v, zero, 12));
  return _mm512_add_epi32(v, _mm512_alignr_epi32(v, zero, 8));
}

inline Extremes signed_extremes(const int32_t* value, uint64_t side, uint64_t ends) {
  __m512i most = _mm512_set1_epi32(-(1 << 30)), least = _mm512_set1_epi32(1 << 30),
          before = _mm512_setzero_si512();
  const __m512i last = _mm512_set1_epi32(15);
  for (int q = 0; q < 4; ++q) {
    const __m512i v =
        _mm512_maskz_loadu_epi32(static_cast<__mmask16>(side >> (16 * q)), value + 16 * q);
    const __m512i sum = _mm512_add_epi32(prefix_epi32(v), before);
    const __mmask16 at = static_cast<__mmask16>(ends >> (16 * q));
    most = _mm512_mask_max_epi32(most, at, most, sum);
    least = _mm512_mask_min_epi32(least, at, least, sum);
    before = _mm512_permutexvar_epi32(last, sum);
  }
  return {_mm512_reduce_max_epi32(most), _mm512_reduce_min_epi32(least)};
}
#else
inline Extremes signed_extremes(const int32_t* value, uint64_t side, uint64_t ends) {
  Extremes e{-(1 << 30), 1 << 30};
  int32_t sum = 0;
  for (int i = 0; i < 64; ++i) {
    sum += value[i] & -static_cast<int32_t>(side >> i & 1);
    if (!(ends >> i & 1)) continue;
    e.largest = larger(e.largest, sum);
    e.smallest = smaller(e.smallest, sum);
  }
  return e;
}
#endif

inline void signed_block(BlockSide& side, int32_t total, BlockSums s, const int32_t* value,
                         uint64_t rows, uint64_t ends, uint32_t& opened) {
  int32_t cap = larger(2 * (side.before + s.up) - total, total - 2 * (side.before + s.sum - s.up));
  if (ends) {
    if (cap > side.gain) {
      const Extremes e = signed_extremes(value, rows, ends);
      cap = larger(2 * (side.before + e.largest) - total, total - 2 * (side.before + e.smallest));
      side.gain = larger(side.gain, cap);
      ++opened;
    }
    side.cap = larger(side.cap, cap);
  }
  side.before += s.sum;
}

void signed_two_generic(const SignedScan& s, TwoClassGain& gain) {
  BlockSide left{0, gain.left, -(1 << 30)}, right{0, gain.right, -(1 << 30)};
  uint32_t opened = 0;
  for (size_t w = 0; w < s.words; ++w) {
    const uint64_t v = valid(s.rows, w), l = s.left[w] & v, r = v & ~s.left[w];
    const int32_t* value = s.value + 64 * w;
    const BlockSums a = masked_sums(value, l), b{s.block_sum[w] - a.sum, s.block_up[w] - a.up};
    signed_block(left, s.left_total, a, value, l, s.ends[0][w], opened);
    signed_block(right, s.right_total, b, value, r, s.ends[1][w], opened);
  }
  gain.left = left.gain;
  gain.right = right.gain;
  gain.left_cap = left.cap;
  gain.right_cap = right.cap;
  gain.opened += opened;
}

// Least loss of a split of one side at the ends of ties inside a block; `before` are the side's
// class counts at its start, `total` those of all its rows.
inline int32_t multi_class_open(const MultiClassScan& s, size_t w, uint64_t side, uint64_t ends,
                                const int32_t* before, const int32_t* total, int32_t rows) {
  const uint64_t* classes = s.classes + w * static_cast<size_t>(s.stride);
  int32_t count[16], rest[16];
  int32_t best_left = 0;
  for (int c = 0; c < s.class_count; ++c) {
    count[c] = before[c];
    rest[c] = total[c] - before[c];
    best_left = larger(best_left, count[c]);
  }
  unsigned char label[64];
  for (int c = 0; c < s.class_count; ++c) {
    uint64_t bits = classes[c] & side;
    while (bits) {
      label[__builtin_ctzll(bits)] = static_cast<unsigned char>(c);
      bits &= bits - 1;
    }
  }
  int32_t prefix[64];  // most frequent class's count up to and with row i
  for (uint64_t bits = side; bits; bits &= bits - 1) {
    const int i = __builtin_ctzll(bits);
    best_left = larger(best_left, ++count[label[i]]);
    prefix[i] = best_left;
  }
  for (int c = 0; c < s.class_count; ++c) rest[c] -= count[c] - before[c];
  int32_t best_right = 0;
  for (int c = 0; c < s.class_count; ++c) best_right = larger(best_right, rest[c]);
  int32_t most = 0;
  // Backwards: a cut after row i counts the rows behind i, up to the next end of ties, on the
  // right.
  uint64_t bits = side;
  while (bits) {
    const int i = 63 - __builtin_clzll(bits);
    const uint64_t from_i = ~0ULL << i;
    // an end at or after i and before the next row of this side
    if (ends & from_i) most = larger(most, prefix[i] + best_right);
    ends &= ~from_i;
    best_right = larger(best_right, ++rest[label[i]]);
    bits &= ~(1ULL << i);
  }
  // an end before the side's first row of the block
  if (ends) {
    int32_t first = 0;
    for (int c = 0; c < s.class_count; ++c) first = larger(first, before[c]);
    most = larger(most, first + best_right);
  }
  return rows - most;
}

inline int32_t most_of(const int32_t* count, int n) {
  int32_t most = 0;
  for (int c = 0; c < n; ++c) most = larger(most, count[c]);
  return most;
}

// Two bounds on the loss of a cut inside a block: its rows left out of both parts, or counted in
// both. `at` and `next` hold the losses of prefix and suffix at the block's two boundaries.
inline int32_t block_bound(const int32_t* at, const int32_t* next, int32_t rows_here) {
  return larger(at[0] + next[1], next[0] + at[1] - rows_here);
}

// Per block boundary the scratch holds: class counts of both sides, then the losses of both sides'
// prefix and suffix.
inline void multi_class_boundaries(const MultiClassScan& s) {
  const int stride = s.stride, n = s.class_count;
  const size_t step = static_cast<size_t>(2 * stride + 4);
  int32_t left[16] = {0}, right[16] = {0};
  int32_t left_rows = 0, right_rows = 0;
  for (size_t w = 0; w <= s.words; ++w) {
    int32_t* at = s.scratch + w * step;
    int32_t left_most = 0, right_most = 0, left_rest = 0, right_rest = 0;
    for (int c = 0; c < n; ++c) {
      at[c] = left[c];
      at[stride + c] = right[c];
      left_most = larger(left_most, left[c]);
      right_most = larger(right_most, right[c]);
      left_rest = larger(left_rest, s.left_total[c] - left[c]);
      right_rest = larger(right_rest, s.right_total[c] - right[c]);
    }
    at[2 * stride] = left_rows - left_most;
    at[2 * stride + 1] = s.left_rows - left_rows - left_rest;
    at[2 * stride + 2] = right_rows - right_most;
    at[2 * stride + 3] = s.right_rows - right_rows - right_rest;
    if (w == s.words) break;
    const uint64_t v = s.all[w], l = s.left[w] & v, r = v & ~s.left[w];
    for (int c = 0; c < n; ++c) {
      const uint64_t bits = s.classes[w * static_cast<size_t>(stride) + static_cast<size_t>(c)];
      left[c] += pop(bits & l);
      right[c] += pop(bits & r);
    }
    left_rows += pop(l);
    right_rows += pop(r);
  }
}

using MultiClassBoundaries = void(const MultiClassScan&);
using MultiClassOpen = int32_t(const MultiClassScan&, size_t, uint64_t, uint64_t, const int32_t*,
                               const int32_t*, int32_t);
template <MultiClassBoundaries* Boundaries, MultiClassOpen* Open>
void multi_class_generic(const MultiClassScan& s, MultiClassLoss& loss) {
  const int stride = s.stride;
  const size_t step = static_cast<size_t>(2 * stride + 4);
  Boundaries(s);
  int32_t left_floor = 1 << 30, right_floor = 1 << 30;
  for (size_t w = 0; w < s.words; ++w) {
    const uint64_t left_ends = s.ends[0][w], right_ends = s.ends[1][w];
    const int32_t* at = s.scratch + w * step;
    const int32_t* next = at + step;
    const uint64_t v = s.all[w];
    if (left_ends) {
      int32_t lower = block_bound(at + 2 * stride, next + 2 * stride, pop(s.left[w] & v));
      if (lower < loss.left) {
        lower = Open(s, w, s.left[w] & v, left_ends, at, s.left_total, s.left_rows);
        loss.left = smaller(loss.left, lower);
        ++loss.opened;
      }
      left_floor = smaller(left_floor, lower);
    }
    if (right_ends) {
      int32_t lower = block_bound(at + 2 * stride + 2, next + 2 * stride + 2, pop(v & ~s.left[w]));
      if (lower < loss.right) {
        lower = Open(s, w, v & ~s.left[w], right_ends, at + stride, s.right_total, s.right_rows);
        loss.right = smaller(loss.right, lower);
        ++loss.opened;
      }
      right_floor = smaller(right_floor, lower);
    }
  }
  loss.left_floor = left_floor;
  loss.right_floor = right_floor;
}

}  // namespace
