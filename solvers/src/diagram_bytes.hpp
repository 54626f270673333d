// Tables of a byte per row, looked up at 64 rows at once, and the best cut of 64 features by them.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#include <algorithm>
#define ODT_PAIR_LANES 1
#define ODT_PAIR_TARGET __attribute__((target("avx512f,avx512bw,avx512vbmi,avx512vbmi2,popcnt")))

namespace odt {

using Bytes = __m512i;
constexpr std::size_t kByteLanes = 64;

ODT_PAIR_TARGET inline Bytes load_bytes(const void* from) { return _mm512_loadu_si512(from); }

ODT_PAIR_TARGET inline Bytes all_bytes(int value) {
  return _mm512_set1_epi8(static_cast<char>(value));
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

// The rows at the places of 64 features a block, and which of these have a cut behind a place.
struct PlacedBytes {
  const std::uint8_t* row;
  const std::uint64_t* cuts;
  std::size_t places, stride, blocks;
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
