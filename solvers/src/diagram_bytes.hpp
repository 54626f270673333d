// Tables of a byte per row, looked up at 64 rows at once, and the best cut of 64 features by them.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#include <algorithm>
#define ODT_PAIR_LANES 1
#define ODT_PAIR_TARGET \
  __attribute__((target("avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx512vpopcntdq,bmi2,popcnt")))

namespace odt {

using Bytes = __m512i;
constexpr std::size_t kByteLanes = 64;

ODT_PAIR_TARGET inline Bytes load_bytes(const void* from) { return _mm512_loadu_si512(from); }

ODT_PAIR_TARGET inline Bytes all_bytes(int value) {
  return _mm512_set1_epi8(static_cast<char>(value));
}

// 0, 1, 2, ...
ODT_PAIR_TARGET inline Bytes counted_bytes() {
  return _mm512_set_epi8(63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45,
                         44, 43, 42, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26,
                         25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6,
                         5, 4, 3, 2, 1, 0);
}

// Each byte and all before it.
ODT_PAIR_TARGET inline Bytes sums_of_bytes(Bytes v) {
  const Bytes first = counted_bytes();
  for (int by = 1; by < 64; by *= 2)
    v = _mm512_add_epi8(v, _mm512_maskz_permutexvar_epi8(~std::uint64_t{0} << by,
                                                         _mm512_sub_epi8(first, all_bytes(by)), v));
  return v;
}

// A table of R times 64 rows, at so many rows.
template <int R>
ODT_PAIR_TARGET inline Bytes bytes_at(const Bytes* table, Bytes rows) {
  if constexpr (R == 1) return _mm512_permutexvar_epi8(rows, table[0]);
  if constexpr (R == 2) return _mm512_permutex2var_epi8(table[0], rows, table[1]);
  if constexpr (R == 4)
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(rows),
                                  _mm512_permutex2var_epi8(table[0], rows, table[1]),
                                  _mm512_permutex2var_epi8(table[2], rows, table[3]));
}

// The least of 64 bytes without a sign.
ODT_PAIR_TARGET inline int least_plain_byte(Bytes v) {
  const __m256i half = _mm256_min_epu8(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
  __m128i least = _mm_min_epu8(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
  least = _mm_min_epu8(least, _mm_srli_epi16(least, 8));  // of two bytes, in the lower one
  return _mm_cvtsi128_si32(_mm_minpos_epu16(least)) & 0xff;
}

ODT_PAIR_TARGET inline int least_byte(Bytes v) {
  return least_plain_byte(_mm512_xor_si512(v, all_bytes(0x80))) - 128;
}

ODT_PAIR_TARGET inline int most_byte(Bytes v) {
  return 255 - least_plain_byte(_mm512_xor_si512(v, all_bytes(0xff)));
}

// Bytes of up to 64 features, `stride` apart, by place instead: 64 bytes each. Writes up to 15
// places more.
ODT_PAIR_TARGET inline void transpose_bytes(const std::uint8_t* from, std::size_t stride,
                                            std::size_t features, std::size_t places,
                                            std::uint8_t* to) {
  Bytes part[8][8];  // of two places in each quarter, eight bytes of each of eight features
  for (std::size_t g = 0; g < 8; ++g) {
    Bytes of[8];
    for (std::size_t j = 0; j < 8; ++j)
      of[j] =
          8 * g + j < features ? load_bytes(from + (8 * g + j) * stride) : _mm512_setzero_si512();
    Bytes two[8], four[8];
    for (std::size_t j = 0; j < 4; ++j) {
      two[j] = _mm512_unpacklo_epi8(of[2 * j], of[2 * j + 1]);
      two[4 + j] = _mm512_unpackhi_epi8(of[2 * j], of[2 * j + 1]);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      four[2 * j] = _mm512_unpacklo_epi16(two[2 * j], two[2 * j + 1]);
      four[2 * j + 1] = _mm512_unpackhi_epi16(two[2 * j], two[2 * j + 1]);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      const std::size_t low = j / 2 * 4 + j % 2;
      part[2 * j][g] = _mm512_unpacklo_epi32(four[low], four[low + 2]);
      part[2 * j + 1][g] = _mm512_unpackhi_epi32(four[low], four[low + 2]);
    }
  }
  for (std::size_t q = 0; q < 8; ++q)
    for (std::size_t h = 0; h < 2; ++h) {
      Bytes two[4];
      for (std::size_t j = 0; j < 4; ++j)
        two[j] = h ? _mm512_unpackhi_epi64(part[q][2 * j], part[q][2 * j + 1])
                   : _mm512_unpacklo_epi64(part[q][2 * j], part[q][2 * j + 1]);
      const Bytes first = _mm512_shuffle_i64x2(two[0], two[1], 0x44),
                  second = _mm512_shuffle_i64x2(two[2], two[3], 0x44),
                  third = _mm512_shuffle_i64x2(two[0], two[1], 0xee),
                  fourth = _mm512_shuffle_i64x2(two[2], two[3], 0xee);
      std::uint8_t* at = to + (2 * q + h) * kByteLanes;
      _mm512_storeu_si512(at, _mm512_shuffle_i64x2(first, second, 0x88));
      if (places > 16)
        _mm512_storeu_si512(at + 16 * kByteLanes, _mm512_shuffle_i64x2(first, second, 0xdd));
      if (places > 32)
        _mm512_storeu_si512(at + 32 * kByteLanes, _mm512_shuffle_i64x2(third, fourth, 0x88));
      if (places > 48)
        _mm512_storeu_si512(at + 48 * kByteLanes, _mm512_shuffle_i64x2(third, fourth, 0xdd));
    }
}

ODT_PAIR_TARGET inline int least_number(Bytes v) {
  return static_cast<int>(_mm512_reduce_min_epi64(v));
}
ODT_PAIR_TARGET inline int most_number(Bytes v) {
  return static_cast<int>(_mm512_reduce_max_epi64(v));
}

// The rows at the places of 64 features a block, and which of these have a cut behind a place. Of
// the cuts of other features, the rows on the left, those of eight side by side.
struct PlacedBytes {
  const std::uint8_t* row;
  const std::uint64_t* cuts;
  std::size_t places, stride, blocks;
  const std::uint64_t* left;
  std::size_t few_cuts;
};

// How many rows can be right with a cut: of a table that says each row's label, or another number
// for those that are not asked for. `of`: how many there are of a label.
template <int R, int K>
ODT_PAIR_TARGET inline int most_right(const PlacedBytes& at, const Bytes* label, const int* of) {
  const Bytes one = all_bytes(1);
  Bytes best = all_bytes(*std::max_element(of, of + K)), all[K];
  for (int k = 0; k < K; ++k) all[k] = all_bytes(of[k]);
  for (std::size_t b = 0; b < at.blocks; ++b) {
    Bytes count[K];
    for (int k = 0; k < K; ++k) count[k] = _mm512_setzero_si512();
    for (std::size_t i = b * at.stride; i < b * at.stride + at.places; ++i) {
      const Bytes here = bytes_at<R>(label, load_bytes(at.row + i * kByteLanes));
      Bytes left = _mm512_setzero_si512(), right = _mm512_setzero_si512();
      for (int k = 0; k < K; ++k) {
        count[k] = _mm512_mask_add_epi8(count[k], _mm512_cmpeq_epi8_mask(here, all_bytes(k)),
                                        count[k], one);
        left = _mm512_max_epu8(left, count[k]);
        right = _mm512_max_epu8(right, _mm512_sub_epi8(all[k], count[k]));
      }
      best = _mm512_mask_max_epu8(best, at.cuts[i], best, _mm512_add_epi8(left, right));
    }
  }
  return most_byte(best);
}

// The same for two labels of at most 127 rows each, and a table of signs: 1, -1 or 0. With d the
// sum before a cut, and `sum` that of all, a cut changes the loss by min(0, sum, d, sum - d) from
// that of the rows with a minus.
template <int R>
ODT_PAIR_TARGET inline int least_by_signs(const PlacedBytes& at, const Bytes* sign, int sum) {
  const Bytes none = _mm512_setzero_si512();
  Bytes least = none, most = none;
  for (std::size_t b = 0; b < at.blocks; ++b) {
    Bytes here = none;
    for (std::size_t i = b * at.stride; i < b * at.stride + at.places; ++i) {
      here = _mm512_add_epi8(here, bytes_at<R>(sign, load_bytes(at.row + i * kByteLanes)));
      least = _mm512_mask_min_epi8(least, at.cuts[i], least, here);
      most = _mm512_mask_max_epi8(most, at.cuts[i], most, here);
    }
  }
  return std::min(least_byte(_mm512_min_epi8(least, _mm512_sub_epi8(all_bytes(sum), most))),
                  std::min(0, sum));
}

}  // namespace odt
#endif
