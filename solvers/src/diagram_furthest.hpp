// Of the rows of two labels those that lie furthest to either side of each feature, and whether few
// of all are lost with one cut. Of diagram_few_lost.cpp only.
#pragma once

#include <cstddef>

#include "odt/few_lost.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define ODT_FEW_AVX2 1
#define ODT_FEW_TARGET __attribute__((target("avx2,popcnt,bmi")))

namespace odt {

// The E + 1 rows of each label that lie furthest to either side, in so many blocks of features.
template <int E, int B>
struct FewFurthest {
  static constexpr bool kBoth = B * (E + 1) <= 4;  // as quick as to ask for the label

  __m256i of[2][E + 1][B];  // by label

  ODT_FEW_TARGET void clear() {
#pragma GCC unroll 2
    for (int label = 0; label < 2; ++label)
#pragma GCC unroll 4
      for (int i = 0; i <= E; ++i)
#pragma GCC unroll 8
        for (int b = 0; b < B; ++b) of[label][i][b] = _mm256_setzero_si256();
  }

  // A row, by its blocks.
  ODT_FEW_TARGET void add(const FewLost::Block* row, std::size_t label) {
    if (kBoth) {
      add_to<0>(row);
      add_to<1>(row);
    } else if (label == 0) {
      add_to<0>(row);
    } else {
      add_to<1>(row);
    }
  }

  template <int Label>
  ODT_FEW_TARGET void add_to(const FewLost::Block* row) {
#pragma GCC unroll 8
    for (int b = 0; b < B; ++b) {
      __m256i lanes = _mm256_load_si256(reinterpret_cast<const __m256i*>(row[b].of[Label]));
#pragma GCC unroll 4
      for (int i = 0; i <= E; ++i) {
        __m256i& one = of[Label][i][b];
        const __m256i less = _mm256_min_epu8(one, lanes);
        one = _mm256_max_epu8(one, lanes);
        lanes = less;
      }
    }
  }

  // Whether the rows so far lose more than `Lost` with any cut.
  template <int Lost>
  ODT_FEW_TARGET bool lose_more() const {
    __m256i all = _mm256_set1_epi8(-1);
#pragma GCC unroll 4
    for (int i = 0; i <= Lost; ++i)
#pragma GCC unroll 8
      for (int b = 0; b < B; ++b)
        all = _mm256_and_si256(all, _mm256_adds_epu8(of[0][i][b], of[1][Lost - i][b]));
    return _mm256_testc_si256(all, _mm256_set1_epi8(-1)) != 0;
  }

  ODT_FEW_TARGET bool lose_more_than(int lost) const {
    if (lost == 0) return lose_more<0>();
    if constexpr (E >= 1)
      if (lost == 1) return lose_more<1>();
    if constexpr (E >= 2)
      if (lost == 2) return lose_more<2>();
    if constexpr (E >= 3)
      if (lost == 3) return lose_more<3>();
    return false;
  }
};

}  // namespace odt
#endif
