// The scan over losses of a few labels, as margins: how much more each label but the first loses
// than that one. With D a margin's sum over the rows ahead of a cut, and T over all of a side, the
// cut loses what the first label does, plus the least of 0 and all D, plus the least of 0 and all
// T - D. Margins of a label are consecutive in memory, so that rows of a side are added a vector at
// a time. Included by one file per instruction set (see kernel_generic.hpp).
#pragma once

#include <limits>

#include "kernel_generic.hpp"

namespace {

// Per word of 64 rows, the sums of the margins, and behind them of what the best label of a row
// loses less than the first.
constexpr int kMarginSums = odt::MarginScan::kMost + 1;
constexpr size_t kMarginWords = 16;  // words that are bounded at once

#if defined(__AVX512F__)
// Per 128 bits, the sums of four vectors.
inline __m128i sums_of_four(__m512i a, __m512i b, __m512i c, __m512i d) {
  const __m512i ab = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b)),
                cd = _mm512_add_epi32(_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d)),
                all =
                    _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
  const __m256i half =
      _mm256_add_epi32(_mm512_castsi512_si256(all), _mm512_extracti64x4_epi64(all, 1));
  return _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}

template <int N>
inline void margin_sums(const int32_t* value, size_t stride, uint64_t rows, int32_t* out) {
  static_assert(kMarginSums == 4);
  const __m512i zero = _mm512_setzero_si512();
  __m512i sum[4] = {zero, zero, zero, zero};
  for (int q = 0; q < 4; ++q) {
    const __mmask16 at = static_cast<__mmask16>(rows >> (16 * q));
    __m512i least = zero;
    for (int k = 0; k < N; ++k) {
      const __m512i v =
          _mm512_maskz_load_epi32(at, value + static_cast<size_t>(k) * stride + 16 * q);
      sum[k] = _mm512_add_epi32(sum[k], v);
      least = _mm512_min_epi32(least, v);
    }
    sum[N] = _mm512_add_epi32(sum[N], least);
  }
  _mm_store_si128(reinterpret_cast<__m128i*>(out),
                  sums_of_four(sum[0], sum[1], sum[2], sum[3]));
}

// The least of what both parts lose above the first label's loss, over the ends in a word.
template <int N>
inline int32_t margin_least(const int32_t* value, size_t stride, uint64_t rows, uint64_t ends,
                            const int32_t* start, const int32_t* total) {
  const __m512i zero = _mm512_setzero_si512(), last = _mm512_set1_epi32(15);
  __m512i before[N], least = _mm512_set1_epi32(1);
  for (int k = 0; k < N; ++k) before[k] = _mm512_set1_epi32(start[k]);
  for (int q = 0; q < 4; ++q) {
    const __mmask16 at = static_cast<__mmask16>(rows >> (16 * q));
    __m512i head = zero, tail = zero;
    for (int k = 0; k < N; ++k) {
      const __m512i sum = _mm512_add_epi32(
          prefix_epi32(
              _mm512_maskz_load_epi32(at, value + static_cast<size_t>(k) * stride + 16 * q)),
          before[k]);
      head = _mm512_min_epi32(head, sum);
      tail = _mm512_min_epi32(tail, _mm512_sub_epi32(_mm512_set1_epi32(total[k]), sum));
      before[k] = _mm512_permutexvar_epi32(last, sum);
    }
    least = _mm512_mask_min_epi32(least, static_cast<__mmask16>(ends >> (16 * q)), least,
                                  _mm512_add_epi32(head, tail));
  }
  return _mm512_reduce_min_epi32(least);
}
#else
template <int N>
inline void margin_sums(const int32_t* value, size_t stride, uint64_t rows, int32_t* out) {
  int32_t keep[64], least[64] = {0};
  for (int half = 0; half < 64; half += 32) {
    const uint32_t bits = static_cast<uint32_t>(rows >> half);
    for (int i = 0; i < 32; ++i) keep[half + i] = -static_cast<int32_t>(bits >> i & 1);
  }
  for (int k = 0; k < N; ++k) {
    const int32_t* of = value + static_cast<size_t>(k) * stride;
    int32_t sum = 0;
    for (int i = 0; i < 64; ++i) {
      const int32_t v = of[i] & keep[i];
      sum += v;
      least[i] = smaller(least[i], v);
    }
    out[k] = sum;
  }
  out[N] = 0;
  for (int32_t v : least) out[N] += v;
}

template <int N>
inline int32_t margin_least(const int32_t* value, size_t stride, uint64_t rows, uint64_t ends,
                            const int32_t* start, const int32_t* total) {
  int32_t sum[N], least = 1;
  for (int k = 0; k < N; ++k) sum[k] = start[k];
  for (int i = 0; i < 64; ++i) {
    const int32_t keep = -static_cast<int32_t>(rows >> i & 1);
    int32_t head = 0, tail = 0;
    for (int k = 0; k < N; ++k) {
      sum[k] += value[static_cast<size_t>(k) * stride + static_cast<size_t>(i)] & keep;
      head = smaller(head, sum[k]);
      tail = smaller(tail, total[k] - sum[k]);
    }
    if (ends >> i & 1) least = smaller(least, head + tail);
  }
  return least;
}
#endif

template <int N>
class MarginKernel {
  static constexpr int32_t kFar = std::numeric_limits<int32_t>::max();
  using Sums = int32_t[N][kMarginWords + 1];
  struct Side {
    Sums at;  // ahead of each word
    int32_t here[kMarginWords];  // what the best labels of the word's rows lose less than the first
    int32_t best, floor = 1;     // above what the first label loses
  };
  const odt::MarginScan& s_;

  // What no cut in a word loses less than: with one label on both sides, what that loses on all
  // rows; with two, what these lose up to the word and behind it, and each row's best label in it.
  void side(Side& side, int which, size_t w, size_t count, const int32_t* total,
            uint32_t& opened) const {
    int32_t tail[N + 1][kMarginWords], bound[kMarginWords], one = 0;
    for (size_t i = 0; i < kMarginWords; ++i) bound[i] = kFar, tail[0][i] = 0;
    for (int k = 0; k < N; ++k) {
      one = smaller(one, total[k]);
      for (size_t i = 0; i < kMarginWords; ++i) tail[k + 1][i] = total[k] - side.at[k][i + 1];
    }
    for (int j = 1; j <= N; ++j)
      for (size_t i = 0; i < kMarginWords; ++i) bound[i] = smaller(bound[i], tail[j][i]);
    for (int k = 0; k < N; ++k)
      for (int j = 0; j <= N; ++j)
        for (size_t i = 0; j != k + 1 && i < kMarginWords; ++i)
          bound[i] = smaller(bound[i], side.at[k][i] + tail[j][i]);
    for (size_t i = 0; i < kMarginWords; ++i) bound[i] = smaller(one, bound[i] + side.here[i]);
    for (size_t i = 0; i < count; ++i) {
      const uint64_t ends = s_.ends[which][w + i];
      if (ends == 0) continue;
      int32_t lower = bound[i];
      if (lower < side.best) {
        const uint64_t left = s_.left[w + i];
        int32_t start[N];
        for (int k = 0; k < N; ++k) start[k] = side.at[k][i];
        lower = margin_least<N>(s_.value + 64 * (w + i), s_.stride, which == 0 ? left : ~left, ends,
                                start, total);
        side.best = smaller(side.best, lower);
        ++opened;
      }
      side.floor = smaller(side.floor, lower);
    }
  }

 public:
  explicit MarginKernel(const odt::MarginScan& s) : s_(s) {}

  void upto(int32_t* out) const {
    const size_t stride = odt::MarginScan::upto_stride(s_.words);
    int32_t sum[N + 1] = {0};
    for (size_t w = 0; w < stride; ++w) {
      alignas(16) int32_t here[kMarginSums] = {0};
      if (w < s_.words) margin_sums<N>(s_.value + 64 * w, s_.stride, ~0ULL, here);
      for (int k = 0; k <= N; ++k) {
        out[static_cast<size_t>(k) * stride + w] = sum[k];
        sum[k] += here[k];
      }
    }
  }

  void scan(odt::LabelLoss<int32_t>& loss) const {
    const int32_t first[2] = {-s_.left_total[N], -s_.right_total[N]};
    Side left, right;
    left.best = loss.left - first[0];
    right.best = loss.right - first[1];
    int32_t before[N] = {0};
    for (size_t w = 0; w < s_.words; w += kMarginWords) {
      const size_t count = s_.words - w < kMarginWords ? s_.words - w : kMarginWords;
      alignas(16) int32_t sums[kMarginWords][kMarginSums];
      for (size_t i = 0; i < count; ++i)
        margin_sums<N>(s_.value + 64 * (w + i), s_.stride, s_.left[w + i], sums[i]);
      for (size_t i = count; i < kMarginWords; ++i)
        for (int32_t& x : sums[i]) x = 0;
      for (int k = 0; k < N; ++k) {
        const int32_t* all = s_.upto + static_cast<size_t>(k) * s_.upto_words + w;
        left.at[k][0] = before[k];
        for (size_t i = 0; i < kMarginWords; ++i)
          left.at[k][i + 1] = left.at[k][i] + sums[i][k];
        before[k] = left.at[k][kMarginWords];
        for (size_t i = 0; i <= kMarginWords; ++i) right.at[k][i] = all[i] - left.at[k][i];
      }
      const int32_t* all = s_.upto + static_cast<size_t>(N) * s_.upto_words + w;
      for (size_t i = 0; i < kMarginWords; ++i) {
        left.here[i] = sums[i][N];
        right.here[i] = all[i + 1] - all[i] - sums[i][N];
      }
      side(left, 0, w, count, s_.left_total, loss.opened);
      side(right, 1, w, count, s_.right_total, loss.opened);
    }
    loss.left = left.best + first[0];
    loss.right = right.best + first[1];
    loss.left_floor = left.floor > 0 ? odt::MarginScan::kNone : left.floor + first[0];
    loss.right_floor = right.floor > 0 ? odt::MarginScan::kNone : right.floor + first[1];
  }
};

template <int N = 1, class Use>
void with_margin_kernel(const odt::MarginScan& scan, Use use) {
  if constexpr (N < odt::MarginScan::kMost)
    if (scan.margins > N) return with_margin_kernel<N + 1>(scan, use);
  use(MarginKernel<N>(scan));
}

inline void margin_upto_generic(const odt::MarginScan& scan, int32_t* out) {
  with_margin_kernel(scan, [&](const auto& kernel) { kernel.upto(out); });
}
inline void margin_scan_generic(const odt::MarginScan& scan, odt::LabelLoss<int32_t>& loss) {
  with_margin_kernel(scan, [&](const auto& kernel) { kernel.scan(loss); });
}

}  // namespace
