// Bit tables: 16 rows of a test a word, 32 tests a vector. Included by one file per instruction set
// (see kernel_generic.hpp); GNU vector types let one source serve all of them.
#pragma once

#include "kernel_generic.hpp"

namespace {

using V16 = int16_t __attribute__((vector_size(64), aligned(64), may_alias));
using U16 = uint16_t __attribute__((vector_size(64), aligned(64), may_alias));

inline U16 load(const uint16_t* p) { return *reinterpret_cast<const U16*>(p); }
inline V16 popcount16(U16 x) {
#if defined(__AVX512BITALG__)
  return reinterpret_cast<V16>(_mm512_popcnt_epi16(reinterpret_cast<__m512i>(x)));
#else
  x = x - ((x >> 1) & 0x5555);
  x = (x & 0x3333) + ((x >> 2) & 0x3333);
  x = (x + (x >> 4)) & 0x0f0f;
  return reinterpret_cast<V16>((x + (x >> 8)) & 0x1f);
#endif
}

inline V16 count_group(const uint16_t* bits, size_t stride, const uint16_t* row, int32_t first,
                       int32_t last) {
  V16 sum = {};
  for (int32_t w = first; w < last; ++w)
    sum += popcount16(load(bits + static_cast<size_t>(w) * stride) & row[w]);
  return sum;
}

// Numbers of 32 tests, in as many registers as their type takes.
template <class T>
struct TestLanes;
template <>
struct TestLanes<int16_t> {
  using V = V16;
};
template <>
struct TestLanes<int32_t> {
  using V = int32_t __attribute__((vector_size(64), aligned(64), may_alias));
};
template <class T>
struct Tests {
  using V = typename TestLanes<T>::V;
  static constexpr size_t kEach = 64 / sizeof(T), kParts = 32 / kEach;
  V part[kParts];

  static Tests load(const T* p) {
    Tests out;
    for (size_t i = 0; i < kParts; ++i) out.part[i] = *reinterpret_cast<const V*>(p + i * kEach);
    return out;
  }
  void store(T* p) const {
    for (size_t i = 0; i < kParts; ++i) *reinterpret_cast<V*>(p + i * kEach) = part[i];
  }
  void raise(const Tests& o) {
    for (size_t i = 0; i < kParts; ++i) part[i] = part[i] > o.part[i] ? part[i] : o.part[i];
  }
  void add(V16 count, T weight);
};
template <class T>
inline Tests<T> operator+(Tests<T> a, const Tests<T>& b) {
  for (size_t i = 0; i < Tests<T>::kParts; ++i) a.part[i] += b.part[i];
  return a;
}
template <class T>
inline Tests<T> operator-(Tests<T> a, const Tests<T>& b) {
  for (size_t i = 0; i < Tests<T>::kParts; ++i) a.part[i] -= b.part[i];
  return a;
}
template <class T>
inline Tests<T> operator-(T a, Tests<T> b) {
  for (size_t i = 0; i < Tests<T>::kParts; ++i) b.part[i] = a - b.part[i];
  return b;
}
template <>
inline void Tests<int16_t>::add(V16 count, int16_t weight) {
  part[0] += count * weight;
}
template <>
inline void Tests<int32_t>::add(V16 count, int32_t weight) {
  using Half = int16_t __attribute__((vector_size(32)));
  Half half[2];
  std::memcpy(half, &count, sizeof half);
  for (size_t i = 0; i < 2; ++i) part[i] += __builtin_convertvector(half[i], V) * weight;
}

// Weight of the rows of a class that pass each of 32 tests.
template <class T>
inline Tests<T> weigh_class(const odt::BitTable& t, size_t j, const uint16_t* row, int c) {
  Tests<T> sum = {};
  for (int32_t g = t.class_start[c]; g < t.class_start[c + 1]; ++g)
    sum.add(count_group(t.bits + j, t.stride, row, t.group_start[g], t.group_start[g + 1]),
            static_cast<T>(t.weight[g]));
  return sum;
}

inline int16_t largest(const Tests<int16_t>& v) {
  alignas(64) int16_t lane[32];
  v.store(lane);
#if defined(__SSE4_1__)
  const __m128i* q = reinterpret_cast<const __m128i*>(lane);
  __m128i m = _mm_max_epi16(_mm_max_epi16(q[0], q[1]), _mm_max_epi16(q[2], q[3]));
  // minpos finds the least unsigned lane; counts are not negative here.
  m = _mm_sub_epi16(_mm_set1_epi16(0x7fff), m);
  return static_cast<int16_t>(0x7fff - (_mm_extract_epi16(_mm_minpos_epu16(m), 0) & 0xffff));
#else
  int16_t m = lane[0];
  for (int i = 1; i < 32; ++i) m = lane[i] > m ? lane[i] : m;
  return m;
#endif
}
inline int32_t largest(const Tests<int32_t>& v) {
  alignas(64) int32_t lane[32];
  v.store(lane);
  for (int width = 16; width > 0; width /= 2)
    for (int i = 0; i < width; ++i) lane[i] = lane[i] > lane[i + width] ? lane[i] : lane[i + width];
  return lane[0];
}

template <class T>
void bit_counts_generic(const odt::BitTable& t, const uint16_t* row, T* out) {
  for (int c = 0; c < t.classes; ++c)
    for (size_t j = 0; j < t.stride; j += 32)
      weigh_class<T>(t, j, row, c).store(out + static_cast<size_t>(c) * t.stride + j);
}

// For every 32 tests what a stump on each labels right in the four sets: take(first test, set,
// weights).
template <class T, class Take>
inline void each_quarter(const odt::QuarterScan<T>& s, Take take) {
  const size_t stride = s.table.stride;
  for (size_t j = 0; j < stride; j += 32) {
    Tests<T> pass[4] = {}, fail[4] = {};
    for (int c = 0; c < s.table.classes; ++c) {
      const size_t at = static_cast<size_t>(c) * stride + j;
      const Tests<T> ab = weigh_class<T>(s.table, j, s.row, c),
                     all_a = Tests<T>::load(s.a_count + at);
      const Tests<T> a = all_a - ab, b = Tests<T>::load(s.b_count + at) - ab;
      const Tests<T> none = Tests<T>::load(s.all_count + at) - all_a - b;
      const T t_ab = s.ab_total[c], t_a = static_cast<T>(s.a_total[c] - t_ab);
      const T t_b = static_cast<T>(s.b_total[c] - t_ab);
      const T t_none = static_cast<T>(s.all_total[c] - s.a_total[c] - t_b);
      pass[0].raise(ab);
      fail[0].raise(t_ab - ab);
      pass[1].raise(a);
      fail[1].raise(t_a - a);
      pass[2].raise(b);
      fail[2].raise(t_b - b);
      pass[3].raise(none);
      fail[3].raise(t_none - none);
    }
    for (int q = 0; q < 4; ++q) take(j, q, pass[q] + fail[q]);
  }
}

template <class T>
void quarters_generic(const odt::QuarterScan<T>& s, T best[4]) {
  Tests<T> most[4] = {};
  each_quarter(s, [&](size_t, int q, const Tests<T>& right) { most[q].raise(right); });
  for (int q = 0; q < 4; ++q) best[q] = largest(most[q]);
}

inline Tests<int32_t> widened(const Tests<int32_t>& v) { return v; }
inline Tests<int32_t> widened(const Tests<int16_t>& v) {
  Tests<int32_t> out = {};
  out.add(v.part[0], 1);
  return out;
}

template <class T>
void paid_quarters_generic(const odt::PaidScan<T>& p, int32_t best[4]) {
  Tests<int32_t> most[4] = {};
  each_quarter(p.scan, [&](size_t j, int q, const Tests<T>& right) {
    const Tests<int32_t> rate = Tests<int32_t>::load(p.rate + j),
                         fixed = Tests<int32_t>::load(p.fixed + j);
    Tests<int32_t> gain = widened(right);
    for (size_t i = 0; i < Tests<int32_t>::kParts; ++i)
      gain.part[i] = gain.part[i] * p.each - rate.part[i] * p.load[q] - fixed.part[i];
    most[q].raise(gain);
  });
  for (int q = 0; q < 4; ++q) best[q] = largest(most[q]);
}

// Moves kept bits of 16-bit words to the low end, the same way for every test: the mask's moves are
// found once a word.
struct BitMoves {
  uint16_t move[4];
  uint16_t mask;
  explicit BitMoves(uint16_t keep) : mask(keep) {
    uint32_t m = keep, mk = static_cast<uint32_t>(~m << 1) & 0xffff;
    for (int i = 0; i < 4; ++i) {
      uint32_t mp = mk ^ (mk << 1);
      mp ^= mp << 2;
      mp ^= mp << 4;
      mp ^= mp << 8;
      mp &= 0xffff;
      const uint32_t mv = mp & m;
      m = (m ^ mv) | (mv >> (1 << i));
      mk &= ~mp;
      move[i] = static_cast<uint16_t>(mv);
    }
  }
  U16 operator()(U16 x) const {
    x &= mask;
    for (int i = 0; i < 4; ++i) {
      const U16 t = x & move[i];
      x = (x ^ t) | (t >> (1 << i));
    }
    return x;
  }
};

void bit_compress_generic(const odt::BitTable& t, const uint16_t* keep, uint16_t* out,
                          int32_t* kept_start) {
  const size_t stride = t.stride;
  int32_t word = 0;
  for (int32_t g = 0; g < t.class_start[t.classes]; ++g) {
    kept_start[g] = word;
    int filled = 16;  // bits in the current output word; 16: a new one is due
    for (int32_t w = t.group_start[g]; w < t.group_start[g + 1]; ++w) {
      if (keep[w] == 0) continue;
      const BitMoves moves(keep[w]);
      const int count = __builtin_popcount(keep[w]);
      const uint16_t* in = t.bits + static_cast<size_t>(w) * stride;
      if (filled == 16) {
        uint16_t* to = out + static_cast<size_t>(word) * stride;
        for (size_t j = 0; j < stride; j += 32)
          *reinterpret_cast<U16*>(to + j) = moves(load(in + j));
        ++word;
        filled = count;
        continue;
      }
      uint16_t* to = out + static_cast<size_t>(word - 1) * stride;
      const bool spills = filled + count > 16;
      for (size_t j = 0; j < stride; j += 32) {
        const U16 x = moves(load(in + j));
        *reinterpret_cast<U16*>(to + j) |= x << filled;
        if (spills) *reinterpret_cast<U16*>(to + stride + j) = x >> (16 - filled);
      }
      filled += count;
      if (spills) {
        ++word;
        filled -= 16;
      }
    }
  }
  kept_start[t.class_start[t.classes]] = word;
}

}  // namespace
