// Depth two by lanes: one pass over all positions, in the orders of all inner features at once, for
// several cuts of the outer feature. A lane is a pair of cut and inner feature; it keeps the
// running sums of both sides and, at ends of ties, their extremes. With AVX-512 sums are bytes:
// after as many rows as these can hold, they are added to sums of 16 bits and start anew. Included
// by one file per instruction set.
#pragma once

#include <cstring>

#include "odt/kernels.hpp"
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace {

using odt::LaneGains;
using odt::LaneScan;

#if defined(__AVX512BW__)

struct LaneSums {
  __m512i left, right;  // of all rows of the chunk
  __m512i most_left, least_left, most_right, least_right;
};
// 64 lanes of 16 bits.
struct LaneShorts {
  __m512i low, high;
};
inline LaneShorts lane_shorts(__m512i bytes) {
  return {_mm512_cvtepi8_epi16(_mm512_castsi512_si256(bytes)),
          _mm512_cvtepi8_epi16(_mm512_extracti64x4_epi64(bytes, 1))};
}

template <size_t J>
inline __m512i lane_bytes(const int8_t* p) {
  if constexpr (J == 8) {
    int64_t x;
    std::memcpy(&x, p, 8);
    return _mm512_set1_epi64(x);
  } else if constexpr (J == 16) {
    return _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(p)));
  } else if constexpr (J == 32) {
    return _mm512_broadcast_i64x4(_mm256_load_si256(reinterpret_cast<const __m256i*>(p)));
  } else {
    return _mm512_load_si512(p);
  }
}
template <size_t J>
inline __m512i lane_ranks(const uint16_t* p, int half) {
  if constexpr (J == 8)
    return _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(p)));
  else if constexpr (J == 16)
    return _mm512_broadcast_i64x4(_mm256_load_si256(reinterpret_cast<const __m256i*>(p)));
  else if constexpr (J == 32)
    return _mm512_load_si512(p);
  else
    return _mm512_load_si512(p + 32 * half);
}

template <size_t J>
inline LaneSums lane_chunk(const LaneScan& s, size_t from, size_t to, __m512i low, __m512i high) {
  const __m512i none = _mm512_set1_epi8(-128);
  __m512i l = _mm512_setzero_si512(), all = l;
  __m512i ml = none, nl = _mm512_set1_epi8(127), mr = ml, nr = nl;
  for (size_t i = from; i < to; ++i) {
    const __mmask64 below =
        _mm512_kunpackd(_mm512_cmplt_epu16_mask(lane_ranks<J>(s.rank + i * J, 1), high),
                        _mm512_cmplt_epu16_mask(lane_ranks<J>(s.rank + i * J, 0), low));
    const __m512i v = lane_bytes<J>(s.value + i * J);
    const __mmask64 end = _mm512_movepi8_mask(lane_bytes<J>(s.ends + i * J));
    all = _mm512_add_epi8(all, v);
    l = _mm512_mask_add_epi8(l, below, l, v);
    const __m512i r = _mm512_sub_epi8(all, l);
    ml = _mm512_mask_max_epi8(ml, end, ml, l);
    nl = _mm512_mask_min_epi8(nl, end, nl, l);
    mr = _mm512_mask_max_epi8(mr, end, mr, r);
    nr = _mm512_mask_min_epi8(nr, end, nr, r);
  }
  return {l, _mm512_sub_epi8(all, l), ml, nl, mr, nr};
}

// Intrinsics, since vectors of 128 bytes are taken apart lane by lane by some compilers.
struct LaneSide {
  LaneShorts base, most, least;

  void add(__m512i sum, __m512i most_here, __m512i least_here) {
    const __mmask64 up = _mm512_cmpneq_epi8_mask(most_here, _mm512_set1_epi8(-128)),
                    down = _mm512_cmpneq_epi8_mask(least_here, _mm512_set1_epi8(127));
    const LaneShorts m = lane_shorts(most_here), n = lane_shorts(least_here),
                     all = lane_shorts(sum);
    const auto half = [](__mmask64 of, bool high) {
      return static_cast<__mmask32>(high ? of >> 32 : of);
    };
    most.low = _mm512_mask_max_epi16(most.low, half(up, false), most.low,
                                     _mm512_add_epi16(base.low, m.low));
    most.high = _mm512_mask_max_epi16(most.high, half(up, true), most.high,
                                      _mm512_add_epi16(base.high, m.high));
    least.low = _mm512_mask_min_epi16(least.low, half(down, false), least.low,
                                      _mm512_add_epi16(base.low, n.low));
    least.high = _mm512_mask_min_epi16(least.high, half(down, true), least.high,
                                       _mm512_add_epi16(base.high, n.high));
    base.low = _mm512_add_epi16(base.low, all.low);
    base.high = _mm512_add_epi16(base.high, all.high);
  }
  // Each fits, whatever the steps on the way do: a gain is no more than the sum of absolutes.
  static __m512i gain(__m512i most, __m512i least, __m512i total) {
    return _mm512_max_epi16(_mm512_sub_epi16(_mm512_add_epi16(most, most), total),
                            _mm512_sub_epi16(total, _mm512_add_epi16(least, least)));
  }
  void store(const int16_t* total, int16_t* to) const {
    _mm512_store_si512(to, gain(most.low, least.low, _mm512_load_si512(total)));
    _mm512_store_si512(to + 32, gain(most.high, least.high, _mm512_load_si512(total + 32)));
  }
};

template <size_t J>
void lane_scan_of(const LaneScan& s, LaneGains& out) {
  alignas(64) uint16_t bound[64];
  alignas(64) int16_t total[2][64];
  for (size_t i = 0; i < 64; ++i) {
    const size_t cut = i / J;
    bound[i] = s.bound[cut];
    total[0][i] = s.left_total[cut];
    total[1][i] = s.right_total[cut];
  }
  const __m512i low = _mm512_load_si512(bound), high = _mm512_load_si512(bound + 32);
  const __m512i zero = _mm512_setzero_si512(), lowest = _mm512_set1_epi16(-32767),
                highest = _mm512_set1_epi16(32767);
  LaneSide left{{zero, zero}, {lowest, lowest}, {highest, highest}}, right = left;
  for (size_t from = 0; from < s.positions; from += s.chunk) {
    const size_t to = from + s.chunk < s.positions ? from + s.chunk : s.positions;
    const LaneSums sums = lane_chunk<J>(s, from, to, low, high);
    left.add(sums.left, sums.most_left, sums.least_left);
    right.add(sums.right, sums.most_right, sums.least_right);
  }
  left.store(total[0], out.left);
  right.store(total[1], out.right);
}

#else

// Sums of 16 bits, where bytes would hold too few rows or the instruction set has too little.
#if defined(__AVX2__)
constexpr size_t kWide = 16;
#else
constexpr size_t kWide = 8;
#endif
using Shorts = int16_t __attribute__((vector_size(2 * kWide), may_alias));
using Wraps = uint16_t __attribute__((vector_size(2 * kWide), may_alias));

template <size_t J>
inline Wraps lane_ranks(const uint16_t* p) {
#if defined(__AVX2__)
  if constexpr (J == 8)
    return reinterpret_cast<Wraps>(
        _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(p))));
#endif
  return *reinterpret_cast<const Wraps*>(p);
}
template <size_t J>
inline Shorts lane_bytes(const int8_t* p) {
#if defined(__AVX2__)
  const __m128i x = J == 8 ? _mm_set1_epi64x(*reinterpret_cast<const long long*>(p))
                           : _mm_load_si128(reinterpret_cast<const __m128i*>(p));
  return reinterpret_cast<Shorts>(_mm256_cvtepi8_epi16(x));
#elif defined(__SSE2__)
  const __m128i x = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  return reinterpret_cast<Shorts>(_mm_srai_epi16(_mm_unpacklo_epi8(x, x), 8));
#else
  Shorts v;
  for (size_t i = 0; i < kWide; ++i) v[i] = p[i];
  return v;
#endif
}

#if defined(__AVX2__)

// 32 lanes: of four cuts, of two or of one.
template <size_t J>
inline __m256i lane_bytes32(const int8_t* p) {
  if constexpr (J == 8) {
    long long x;
    std::memcpy(&x, p, sizeof x);
    return _mm256_set1_epi64x(x);
  } else if constexpr (J == 16) {
    return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(p)));
  } else {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(p));
  }
}
// Which of 32 lanes are not below their bounds. Two vectors of 16 bits are packed half by half, and
// so they hold the halves of lanes in turn.
struct LaneBounds {
  __m256i of[2];
};
template <size_t J>
inline __m256i lanes_above(const uint16_t* rank, const LaneBounds& bound) {
  const auto both = [](const uint16_t* p) {
    return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(p)));
  };
  __m256i a, b;
  if constexpr (J == 8) {
    a = b = both(rank);
  } else if constexpr (J == 16) {
    a = both(rank);
    b = both(rank + 8);
  } else {
    a = _mm256_load_si256(reinterpret_cast<const __m256i*>(rank));
    b = _mm256_load_si256(reinterpret_cast<const __m256i*>(rank + 16));
  }
  // What is left of a bound, saturated: none, if it is not above.
  __m256i left =
      _mm256_packs_epi16(_mm256_subs_epu16(bound.of[0], a), _mm256_subs_epu16(bound.of[1], b));
  if constexpr (J > 16) left = _mm256_permute4x64_epi64(left, 0xd8);
  return _mm256_cmpeq_epi8(left, _mm256_setzero_si256());
}
template <size_t J>
inline LaneBounds lane_bounds(const LaneScan& s, size_t lane) {
  alignas(32) uint16_t bound[2][16];
  for (size_t i = 0; i < 32; ++i) {
    // Lanes of J up to 16 take turns by eights.
    const size_t half = J > 16 ? i / 16 : i / 8 % 2, at = J > 16 ? i % 16 : i / 16 * 8 + i % 8;
    bound[half][at] = s.bound[(lane + i) / J];
  }
  return {{_mm256_load_si256(reinterpret_cast<const __m256i*>(bound[0])),
           _mm256_load_si256(reinterpret_cast<const __m256i*>(bound[1]))}};
}

// Of one side of 32 lanes: sums of 16 bits.
struct LaneSide {
  __m256i base[2], most[2], least[2];

  LaneSide() {
    for (size_t h = 0; h < 2; ++h) {
      base[h] = _mm256_setzero_si256();
      most[h] = _mm256_set1_epi16(-32767 - 1);
      least[h] = _mm256_set1_epi16(32767);
    }
  }
  static __m256i shorts(__m256i bytes, size_t half) {
    return _mm256_cvtepi8_epi16(half == 0 ? _mm256_castsi256_si128(bytes)
                                          : _mm256_extracti128_si256(bytes, 1));
  }
  // Extremes beyond 63 are of no end.
  void add(__m256i sum, __m256i most_here, __m256i least_here) {
    for (size_t h = 0; h < 2; ++h) {
      const __m256i m = shorts(most_here, h), n = shorts(least_here, h);
      most[h] = _mm256_max_epi16(most[h],
                                 _mm256_blendv_epi8(most[h], _mm256_add_epi16(base[h], m),
                                                    _mm256_cmpgt_epi16(m, _mm256_set1_epi16(-64))));
      least[h] = _mm256_min_epi16(least[h],
                                  _mm256_blendv_epi8(least[h], _mm256_add_epi16(base[h], n),
                                                     _mm256_cmpgt_epi16(_mm256_set1_epi16(64), n)));
      base[h] = _mm256_add_epi16(base[h], shorts(sum, h));
    }
  }
  // Each fits, whatever the steps on the way do: a gain is no more than the sum of absolutes.
  template <size_t J>
  void store(const int16_t* total, size_t lane, int16_t* to) const {
    alignas(32) int16_t of[32];
    for (size_t i = 0; i < 32; ++i) of[i] = total[(lane + i) / J];
    for (size_t h = 0; h < 2; ++h) {
      const __m256i t = _mm256_load_si256(reinterpret_cast<const __m256i*>(of + 16 * h));
      _mm256_store_si256(
          reinterpret_cast<__m256i*>(to + lane + 16 * h),
          _mm256_max_epi16(_mm256_sub_epi16(_mm256_add_epi16(most[h], most[h]), t),
                           _mm256_sub_epi16(t, _mm256_add_epi16(least[h], least[h]))));
    }
  }
};

// Sums of bytes, up to 63: what is no end is moved out of their reach by 127.
template <size_t J>
void lane_scan_bytes(const LaneScan& s, LaneGains& out) {
  const __m256i zero = _mm256_setzero_si256(), beyond = _mm256_set1_epi8(127),
                none = _mm256_set1_epi8(-128);
  const size_t chunk = s.chunk / 2;
  for (size_t lane = 0; lane < 64 && lane / J < s.cuts; lane += 32) {
    const size_t offset = J > 32 ? lane : 0;
    const LaneBounds bound = lane_bounds<J>(s, lane);
    LaneSide left, right;
    for (size_t from = 0; from < s.positions; from += chunk) {
      const size_t to = from + chunk < s.positions ? from + chunk : s.positions;
      __m256i all = zero, r = zero, ml = none, nl = beyond, mr = none, nr = beyond;
      for (size_t i = from; i < to; ++i) {
        const size_t at = i * J + offset;
        const __m256i v = lane_bytes32<J>(s.value + at);
        const __m256i out_of_reach = _mm256_andnot_si256(lane_bytes32<J>(s.ends + at), beyond);
        all = _mm256_add_epi8(all, v);
        r = _mm256_add_epi8(r, _mm256_and_si256(v, lanes_above<J>(s.rank + at, bound)));
        const __m256i l = _mm256_sub_epi8(all, r);
        ml = _mm256_max_epi8(ml, _mm256_subs_epi8(l, out_of_reach));
        nl = _mm256_min_epi8(nl, _mm256_adds_epi8(l, out_of_reach));
        mr = _mm256_max_epi8(mr, _mm256_subs_epi8(r, out_of_reach));
        nr = _mm256_min_epi8(nr, _mm256_adds_epi8(r, out_of_reach));
      }
      left.add(_mm256_sub_epi8(all, r), ml, nl);
      right.add(r, mr, nr);
    }
    left.store<J>(s.left_total, lane, out.left);
    right.store<J>(s.right_total, lane, out.right);
  }
}

#endif

template <size_t J>
void lane_scan_of(const LaneScan& s, LaneGains& out) {
#if defined(__AVX2__)
  if (s.chunk >= 32) return lane_scan_bytes<J>(s, out);
#endif
  constexpr int16_t kLeast = -32767 - 1, kMost = 32767;
  const Shorts lowest = Shorts{} + kLeast, highest = Shorts{} + kMost;
  for (size_t lane = 0; lane < 64 && lane / J < s.cuts; lane += kWide) {
    const size_t offset = J > kWide ? lane % J : 0;
    Wraps bound, total[2];
    for (size_t i = 0; i < kWide; ++i) {
      const size_t cut = (lane + i) / J;
      bound[i] = s.bound[cut];
      total[0][i] = static_cast<uint16_t>(s.left_total[cut]);
      total[1][i] = static_cast<uint16_t>(s.right_total[cut]);
    }
    Shorts l = {}, all = {}, most_l = lowest, least_l = highest, most_r = lowest, least_r = highest;
    for (size_t i = 0; i < s.positions; ++i) {
      const size_t at = i * J + offset;
      const Shorts below = reinterpret_cast<Shorts>(lane_ranks<J>(s.rank + at) < bound),
                   v = lane_bytes<J>(s.value + at), end = lane_bytes<J>(s.ends + at);
      all += v;
      l += v & below;
      const Shorts r = all - l, low = ~end & lowest, high = ~end & highest;
      const Shorts low_l = (l & end) | low, high_l = (l & end) | high, low_r = (r & end) | low,
                   high_r = (r & end) | high;
      most_l = most_l > low_l ? most_l : low_l;
      least_l = least_l < high_l ? least_l : high_l;
      most_r = most_r > low_r ? most_r : low_r;
      least_r = least_r < high_r ? least_r : high_r;
    }
    const auto store = [&](Shorts most, Shorts least, Wraps t, int16_t* to) {
      // Each fits, whatever the steps on the way do: a gain is no more than the sum of absolutes.
      const Shorts up = reinterpret_cast<Shorts>((reinterpret_cast<Wraps>(most) << 1) - t),
                   down = reinterpret_cast<Shorts>(t - (reinterpret_cast<Wraps>(least) << 1));
      *reinterpret_cast<Shorts*>(to + lane) = up > down ? up : down;
    };
    store(most_l, least_l, total[0], out.left);
    store(most_r, least_r, total[1], out.right);
  }
}

#endif

using EightShorts = int16_t __attribute__((vector_size(16), may_alias));

// The largest of so many gains, none of which counts more than its cap.
template <size_t J>
inline int16_t most_of(const int16_t* gain, const int16_t* cap) {
  EightShorts most = EightShorts{} - 32767;
  for (size_t j = 0; j < J; j += 8) {
    const EightShorts g = *reinterpret_cast<const EightShorts*>(gain + j),
                      c = *reinterpret_cast<const EightShorts*>(cap + j), x = g < c ? g : c;
    most = most > x ? most : x;
  }
  int16_t best[8], half[4];
  std::memcpy(best, &most, sizeof best);
  for (size_t i = 0; i < 4; ++i) half[i] = best[i] > best[i + 4] ? best[i] : best[i + 4];
  for (size_t i = 0; i < 2; ++i) half[i] = half[i] > half[i + 2] ? half[i] : half[i + 2];
  return half[0] > half[1] ? half[0] : half[1];
}

template <size_t J>
void lane_pass(const LaneScan& s, LaneGains& out) {
  lane_scan_of<J>(s, out);
  for (size_t c = 0; c < s.cuts; ++c) {
    out.most_left[c] = most_of<J>(out.left + c * J, s.cap);
    out.most_right[c] = most_of<J>(out.right + c * J, s.cap);
  }
}

void lane_scan_generic(const LaneScan& s, LaneGains& out) {
  switch (s.inner) {
    case 8:
      return lane_pass<8>(s, out);
    case 16:
      return lane_pass<16>(s, out);
    case 32:
      return lane_pass<32>(s, out);
    default:
      return lane_pass<64>(s, out);
  }
}

// out[i * inner + j] = rows[j][i].
void interleave16_generic(const uint16_t* const* rows, size_t count, size_t positions, size_t inner,
                          uint16_t* out) {
#if defined(__SSE2__)
  for (size_t j = 0; j < count; j += 8) {
    const uint16_t* from[8];
    for (size_t q = 0; q < 8; ++q) from[q] = rows[j + q < count ? j + q : count - 1];
    for (size_t i = 0; i < positions; i += 8) {
      __m128i a[8], b[8];
      for (size_t q = 0; q < 8; ++q)
        a[q] = _mm_load_si128(reinterpret_cast<const __m128i*>(from[q] + i));
      for (size_t q = 0; q < 4; ++q) {
        b[2 * q] = _mm_unpacklo_epi16(a[2 * q], a[2 * q + 1]);
        b[2 * q + 1] = _mm_unpackhi_epi16(a[2 * q], a[2 * q + 1]);
      }
      for (size_t h = 0; h < 2; ++h) {
        a[4 * h] = _mm_unpacklo_epi32(b[h], b[2 + h]);
        a[4 * h + 1] = _mm_unpackhi_epi32(b[h], b[2 + h]);
        a[4 * h + 2] = _mm_unpacklo_epi32(b[4 + h], b[6 + h]);
        a[4 * h + 3] = _mm_unpackhi_epi32(b[4 + h], b[6 + h]);
      }
      uint16_t* to = out + i * inner + j;
      for (size_t h = 0; h < 2; ++h)
        for (size_t q = 0; q < 2; ++q) {
          _mm_store_si128(reinterpret_cast<__m128i*>(to + (4 * h + 2 * q) * inner),
                          _mm_unpacklo_epi64(a[4 * h + q], a[4 * h + 2 + q]));
          _mm_store_si128(reinterpret_cast<__m128i*>(to + (4 * h + 2 * q + 1) * inner),
                          _mm_unpackhi_epi64(a[4 * h + q], a[4 * h + 2 + q]));
        }
    }
  }
#else
  for (size_t i = 0; i < positions; ++i)
    for (size_t j = 0; j < count; ++j) out[i * inner + j] = rows[j][i];
#endif
}

}  // namespace
