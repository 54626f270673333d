// Stumps on 0/1 tests by bitmaps, eight tests a vector. Included by one file per instruction set
// (see kernel_generic.hpp).
#pragma once

#include "kernel_generic.hpp"

namespace {

using U64 = uint64_t __attribute__((vector_size(64), aligned(64), may_alias));
using I64 = int64_t __attribute__((vector_size(64), aligned(64), may_alias));

inline I64 popcount64(U64 x) {
#if defined(__AVX512VPOPCNTDQ__)
  return reinterpret_cast<I64>(_mm512_popcnt_epi64(reinterpret_cast<__m512i>(x)));
#else
  I64 out;
  for (int i = 0; i < 8; ++i) out[i] = __builtin_popcountll(x[i]);
  return out;
#endif
}
inline I64 larger64(I64 a, I64 b) { return a > b ? a : b; }

// Rows of class c on the left that pass each of the tests j .. j + 7. Of two classes, class 0 is
// what is not positive.
inline I64 column_count(const odt::ColumnScan& s, size_t j, int c) {
  I64 sum = {};
  const uint64_t* column = s.columns + j;
  const uint64_t* rows = s.classes + (s.class_stride > 1 ? c : 0);
  const uint64_t flip = s.class_stride == 1 && c == 0 ? ~0ULL : 0;
  for (size_t w = 0; w < s.words; ++w, column += s.stride, rows += s.class_stride)
    sum += popcount64(*reinterpret_cast<const U64*>(column) & (s.left[w] & (*rows ^ flip)));
  return sum;
}

inline void column_counts_generic(const odt::ColumnScan& s, int64_t* out) {
  for (int c = 0; c < s.class_count; ++c)
    for (size_t j = 0; j < s.stride; j += 8)
      *reinterpret_cast<I64*>(out + static_cast<size_t>(c) * s.stride + j) = column_count(s, j, c);
}

inline int64_t class_rows(const odt::ColumnScan& s, const int32_t* total, int32_t rows, int c) {
  return s.class_stride > 1 ? total[c] : c == 1 ? total[0] : rows - total[0];
}

// Rows that a stump labels right, where both of its leaves hold enough rows.
inline I64 kept(I64 right, I64 pass, int64_t rows, int64_t least) {
  return pass >= least && rows - pass >= least ? right : I64{};
}

inline void columns_generic(const odt::ColumnScan& s, odt::ColumnBest& best) {
  I64 most_left = {}, most_right = {};
  for (size_t j = 0; j < s.stride; j += 8) {
    I64 pass_left = {}, fail_left = {}, pass_right = {}, fail_right = {}, rows_left = {},
        rows_right = {};
    for (int c = 0; c < s.class_count; ++c) {
      const I64 left = column_count(s, j, c);
      const I64 right =
          *reinterpret_cast<const I64*>(s.all + static_cast<size_t>(c) * s.stride + j) - left;
      rows_left += left;
      rows_right += right;
      pass_left = larger64(pass_left, left);
      fail_left = larger64(fail_left, class_rows(s, s.left_total, s.left_rows, c) - left);
      pass_right = larger64(pass_right, right);
      fail_right = larger64(fail_right, class_rows(s, s.right_total, s.right_rows, c) - right);
    }
    const I64 left = kept(pass_left + fail_left, rows_left, s.left_rows, s.least);
    const I64 right = kept(pass_right + fail_right, rows_right, s.right_rows, s.least);
    most_left =
        larger64(most_left, s.open[0] ? left & *reinterpret_cast<const I64*>(s.open[0] + j) : left);
    most_right = larger64(most_right,
                          s.open[1] ? right & *reinterpret_cast<const I64*>(s.open[1] + j) : right);
  }
  int64_t left = 0, right = 0;
  for (int i = 0; i < 8; ++i) {
    left = most_left[i] > left ? most_left[i] : left;
    right = most_right[i] > right ? most_right[i] : right;
  }
  best.left = static_cast<int32_t>(left);
  best.right = static_cast<int32_t>(right);
}

}  // namespace
