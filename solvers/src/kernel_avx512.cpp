// AVX-512 with VBMI2 (compress of 16-bit ranks), BITALG and VPOPCNTDQ. Compiled with flags of its
// own. On Windows nothing tells at run time what the processor has, as libgcc and compiler-rt do
// elsewhere.
#if defined(__AVX512VBMI2__) && defined(__AVX512VPOPCNTDQ__) && defined(__AVX512BW__) && \
    !defined(_MSC_VER)

#include <immintrin.h>

#include "kernel_bits.hpp"
#include "kernel_columns.hpp"
#include "kernel_labels.hpp"
#include "kernel_lanes.hpp"

namespace {

void below16(const uint16_t* rank, size_t words, uint16_t bound, uint64_t* out) {
  const __m512i b = _mm512_set1_epi16(static_cast<short>(bound));
  for (size_t w = 0; w < words; ++w, rank += 64) {
    const __mmask32 low = _mm512_cmplt_epu16_mask(_mm512_load_si512(rank), b);
    const __mmask32 high = _mm512_cmplt_epu16_mask(_mm512_load_si512(rank + 32), b);
    out[w] = _mm512_kunpackd(high, low);
  }
}

void below32(const uint32_t* rank, size_t words, uint32_t bound, uint64_t* out) {
  const __m512i b = _mm512_set1_epi32(static_cast<int>(bound));
  for (size_t w = 0; w < words; ++w) {
    uint64_t bits = 0;
    for (int q = 0; q < 4; ++q, rank += 16)
      bits |= static_cast<uint64_t>(_mm512_cmplt_epu32_mask(_mm512_load_si512(rank), b))
              << (16 * q);
    out[w] = bits;
  }
}

// The register form and a full store: the memory form of compress is microcoded on some processors.
size_t compress16(const uint16_t* in, size_t words, const uint64_t* keep, uint16_t* out) {
  uint16_t* at = out;
  for (size_t w = 0; w < words; ++w, in += 64) {
    const uint64_t bits = keep[w];
    const __mmask32 low = static_cast<__mmask32>(bits), high = static_cast<__mmask32>(bits >> 32);
    _mm512_storeu_si512(at, _mm512_maskz_compress_epi16(low, _mm512_load_si512(in)));
    at += _mm_popcnt_u32(low);
    _mm512_storeu_si512(at, _mm512_maskz_compress_epi16(high, _mm512_load_si512(in + 32)));
    at += _mm_popcnt_u32(high);
  }
  return static_cast<size_t>(at - out);
}

size_t compress32(const uint32_t* in, size_t words, const uint64_t* keep, uint32_t* out) {
  uint32_t* at = out;
  for (size_t w = 0; w < words; ++w)
    for (int q = 0; q < 4; ++q, in += 16) {
      const __mmask16 bits = static_cast<__mmask16>(keep[w] >> (16 * q));
      _mm512_storeu_si512(at, _mm512_maskz_compress_epi32(bits, _mm512_load_si512(in)));
      at += _mm_popcnt_u32(bits);
    }
  return static_cast<size_t>(at - out);
}

void changes16(const uint16_t* rank, size_t words, uint64_t* out) {
  for (size_t w = 0; w < words; ++w, rank += 64) {
    const __mmask32 low =
        _mm512_cmpneq_epu16_mask(_mm512_load_si512(rank), _mm512_loadu_si512(rank + 1));
    const __mmask32 high =
        _mm512_cmpneq_epu16_mask(_mm512_load_si512(rank + 32), _mm512_loadu_si512(rank + 33));
    out[w] = _mm512_kunpackd(high, low);
  }
}

inline uint64_t extract_bmi(uint64_t value, uint64_t mask) { return _pext_u64(value, mask); }

inline int32_t max_epi8(__m512i v) {
  const __m256i a = _mm256_max_epi8(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
  // minpos works on unsigned 16-bit lanes: turn the largest signed byte into the least unsigned
  // one.
  __m128i b = _mm_max_epi8(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
  b = _mm_sub_epi8(_mm_set1_epi8(127), b);
  b = _mm_min_epu8(b, _mm_srli_epi16(b, 8));
  return 127 - (_mm_extract_epi16(_mm_minpos_epu16(b), 0) & 255);
}

// Prefix sums of +-1 over 64 byte lanes, then the largest and smallest at ends of ties.
inline Extremes extremes512(uint64_t side, uint64_t positive, uint64_t ends) {
  __m512i v = _mm512_maskz_set1_epi8(side & positive, 1);
  v = _mm512_mask_set1_epi8(v, side & ~positive, -1);
  v = _mm512_add_epi8(v, _mm512_bslli_epi128(v, 1));
  v = _mm512_add_epi8(v, _mm512_bslli_epi128(v, 2));
  v = _mm512_add_epi8(v, _mm512_bslli_epi128(v, 4));
  v = _mm512_add_epi8(v, _mm512_bslli_epi128(v, 8));
  const __m512i sums = _mm512_shuffle_epi8(v, _mm512_set1_epi8(15));
  const __m512i one = _mm512_maskz_shuffle_i64x2(0xfc, sums, sums, 0x90);    // lanes -, 0, 1, 2
  const __m512i two = _mm512_maskz_shuffle_i64x2(0xf0, sums, sums, 0x40);    // lanes -, -, 0, 1
  const __m512i three = _mm512_maskz_shuffle_i64x2(0xc0, sums, sums, 0x00);  // lanes -, -, -, 0
  v = _mm512_add_epi8(_mm512_add_epi8(v, one), _mm512_add_epi8(two, three));
  const __m512i high = _mm512_mask_blend_epi8(ends, _mm512_set1_epi8(-127), v);
  const __m512i low = _mm512_mask_sub_epi8(_mm512_set1_epi8(-127), ends, _mm512_setzero_si512(), v);
  return {max_epi8(high), -max_epi8(low)};
}

inline __m512i prefix_epi64(__m512i v) {
  const __m512i zero = _mm512_setzero_si512();
  v = _mm512_add_epi64(v, _mm512_alignr_epi64(v, zero, 7));
  v = _mm512_add_epi64(v, _mm512_alignr_epi64(v, zero, 6));
  return _mm512_add_epi64(v, _mm512_alignr_epi64(v, zero, 4));
}

struct Side {
  __m512i before;  // running sum ahead of the group, in every lane
  __m512i cap;
  int32_t gain;
};

// Eight blocks: bounds of all of them at once, then a look into those that can beat the incumbent.
inline void eight_blocks(Side& side, int32_t total, __m512i rows, __m512i positive, __m512i has_end,
                         const uint64_t* row_words, const uint64_t* all_words,
                         const uint64_t* positive_words, const uint64_t* ends, uint64_t flip,
                         uint32_t& opened) {
  const __m512i up = _mm512_popcnt_epi64(_mm512_and_si512(rows, positive));
  const __m512i down = _mm512_popcnt_epi64(_mm512_andnot_si512(positive, rows));
  const __m512i sum = prefix_epi64(_mm512_sub_epi64(up, down));
  const __m512i t = _mm512_set1_epi64(total);
  const __m512i after = _mm512_add_epi64(side.before, sum);
  // start + up = after + down, start - down = after - up
  const __m512i above = _mm512_sub_epi64(_mm512_slli_epi64(_mm512_add_epi64(after, down), 1), t);
  const __m512i under = _mm512_sub_epi64(t, _mm512_slli_epi64(_mm512_sub_epi64(after, up), 1));
  __m512i cap = _mm512_max_epi64(above, under);
  const __mmask8 live = _mm512_test_epi64_mask(has_end, has_end);
  __mmask8 open = _mm512_mask_cmpgt_epi64_mask(live, cap, _mm512_set1_epi64(side.gain));
  if (open) {
    alignas(64) int64_t caps[8], start[8];
    _mm512_store_si512(caps, cap);
    _mm512_store_si512(start, _mm512_sub_epi64(after, _mm512_sub_epi64(up, down)));
    for (unsigned m = open; m; m &= m - 1) {
      const int i = __builtin_ctz(m);
      if (caps[i] <= side.gain) continue;
      const Extremes e =
          extremes512((row_words[i] ^ flip) & all_words[i], positive_words[i], ends[i]);
      const int32_t before = static_cast<int32_t>(start[i]);
      const int32_t best =
          larger(2 * (before + e.largest) - total, total - 2 * (before + e.smallest));
      caps[i] = best;
      side.gain = larger(side.gain, best);
      ++opened;
    }
    cap = _mm512_load_si512(caps);
  }
  side.cap = _mm512_mask_max_epi64(side.cap, live, side.cap, cap);
  side.before = _mm512_permutexvar_epi64(_mm512_set1_epi64(7), after);
}

void two_class(const TwoClassScan& s, TwoClassGain& gain) {
  const __m512i least = _mm512_set1_epi64(-(1 << 30));
  Side left{_mm512_setzero_si512(), least, gain.left},
      right{_mm512_setzero_si512(), least, gain.right};
  uint32_t opened = 0;
  for (size_t w = 0; w < s.words; w += 8) {
    const __mmask8 lanes =
        static_cast<__mmask8>(s.words - w >= 8 ? 255 : (1u << (s.words - w)) - 1);
    const __m512i all = _mm512_maskz_loadu_epi64(lanes, s.all + w);
    const __m512i mask = _mm512_maskz_loadu_epi64(lanes, s.left + w);
    const __m512i positive = _mm512_maskz_loadu_epi64(lanes, s.positive + w);
    eight_blocks(left, s.left_total, _mm512_and_si512(mask, all), positive,
                 _mm512_maskz_loadu_epi64(lanes, s.ends[0] + w), s.left + w, s.all + w,
                 s.positive + w, s.ends[0] + w, 0, opened);
    eight_blocks(right, s.right_total, _mm512_andnot_si512(mask, all), positive,
                 _mm512_maskz_loadu_epi64(lanes, s.ends[1] + w), s.left + w, s.all + w,
                 s.positive + w, s.ends[1] + w, ~0ULL, opened);
  }
  gain.left = left.gain;
  gain.right = right.gain;
  gain.left_cap = static_cast<int32_t>(_mm512_reduce_max_epi64(left.cap));
  gain.right_cap = static_cast<int32_t>(_mm512_reduce_max_epi64(right.cap));
  gain.opened += opened;
}

// Class counts of one side ahead of a block, and of all its rows.
template <int Registers>
struct Counts {
  __m512i before[Registers], total[Registers], bits[Registers];

  // Rows that are wrong if the first part ends with `head` and the second starts behind `tail`: for
  // equal masks the loss of a cut, for head beyond tail a bound for the cuts in between.
  int32_t loss(uint64_t head, uint64_t tail, int32_t rows) const {
    __m512i most = _mm512_setzero_si512();
    const __m512i h = _mm512_set1_epi64(static_cast<long long>(head)),
                  t = _mm512_set1_epi64(static_cast<long long>(tail));
    for (int r = 0; r < Registers; ++r) {
      const __m512i prefix =
          _mm512_add_epi64(before[r], _mm512_popcnt_epi64(_mm512_and_si512(bits[r], h)));
      const __m512i upto =
          _mm512_add_epi64(before[r], _mm512_popcnt_epi64(_mm512_and_si512(bits[r], t)));
      const __m512i both =
          _mm512_or_si512(prefix, _mm512_slli_epi64(_mm512_sub_epi64(total[r], upto), 32));
      most = _mm512_max_epi32(most, both);
    }
    const __m256i x =
        _mm256_max_epi32(_mm512_castsi512_si256(most), _mm512_extracti64x4_epi64(most, 1));
    __m128i y = _mm_max_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    y = _mm_max_epi32(y, _mm_shuffle_epi32(y, 0x4e));
    const uint64_t packed = static_cast<uint64_t>(_mm_cvtsi128_si64(y));
    return rows - static_cast<int32_t>(packed) - static_cast<int32_t>(packed >> 32);
  }
};

// Least loss of a cut inside a block if it is below `best`; a lower bound otherwise. Sixteen rows
// at a time: bound, then the cuts one by one.
template <int Registers>
int32_t open_block(const MultiClassScan& s, size_t w, uint64_t side, uint64_t all_ends,
                   const int32_t* before, const int32_t* total, int32_t rows, int32_t best) {
  Counts<Registers> counts;
  const __m512i mask = _mm512_set1_epi64(static_cast<long long>(side));
  for (int r = 0; r < Registers; ++r) {
    counts.before[r] =
        _mm512_cvtepi32_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(before + 8 * r)));
    counts.total[r] =
        _mm512_cvtepi32_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(total + 8 * r)));
    counts.bits[r] = _mm512_and_si512(
        mask, _mm512_load_si512(s.classes + w * 8 * Registers + 8 * static_cast<size_t>(r)));
  }
  // Rows outside the side count for nobody, but the cut's row totals are those of the side.
  int32_t floor = 1 << 30;
  for (int q = 0; q < 4; ++q) {
    const uint64_t low = q == 0 ? 0 : (1ULL << (16 * q)) - 1,
                   high = q == 3 ? ~0ULL : (1ULL << (16 * q + 16)) - 1;
    uint64_t ends = all_ends & high & ~low;
    if (ends == 0) continue;
    // Wherever the cut stands in here, neither part counts more of a class than with the whole
    // quarter.
    const int32_t lower = counts.loss(high, low, rows);
    if (lower >= best) {
      floor = smaller(floor, lower);
      continue;
    }
    uint64_t seen = 0;
    for (bool first = true; ends; first = false) {
      const uint64_t upto = ends ^ (ends - 1);
      ends &= ends - 1;
      // The same cut as the last one, as far as this side's rows go.
      if (!first && ((upto ^ seen) & side) == 0) continue;
      seen = upto;
      const int32_t value = counts.loss(upto, upto, rows);
      floor = smaller(floor, value);
      best = smaller(best, value);
    }
  }
  return floor;
}

// Up to eight classes: one register of counts a side; more: two.
template <int Registers>
void multi_class_registers(const MultiClassScan& s, MultiClassLoss& loss) {
  constexpr int kStride = 8 * Registers;
  const size_t step = 2 * kStride + 4;
  __m512i left[Registers], right[Registers], left_total[Registers], right_total[Registers];
  for (int r = 0; r < Registers; ++r) {
    left[r] = right[r] = _mm512_setzero_si512();
    left_total[r] = _mm512_cvtepi32_epi64(
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(s.left_total + 8 * r)));
    right_total[r] = _mm512_cvtepi32_epi64(
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(s.right_total + 8 * r)));
  }
  int32_t left_rows = 0, right_rows = 0;
  for (size_t w = 0; w <= s.words; ++w) {
    int32_t* at = s.scratch + w * step;
    __m512i most[4];
    for (int r = 0; r < Registers; ++r) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(at + 8 * r), _mm512_cvtepi64_epi32(left[r]));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(at + kStride + 8 * r),
                          _mm512_cvtepi64_epi32(right[r]));
      const __m512i left_rest = _mm512_sub_epi64(left_total[r], left[r]);
      const __m512i right_rest = _mm512_sub_epi64(right_total[r], right[r]);
      most[0] = r ? _mm512_max_epi64(most[0], left[r]) : left[r];
      most[1] = r ? _mm512_max_epi64(most[1], left_rest) : left_rest;
      most[2] = r ? _mm512_max_epi64(most[2], right[r]) : right[r];
      most[3] = r ? _mm512_max_epi64(most[3], right_rest) : right_rest;
    }
    // Four horizontal maxima in one go: counts fit in 32 bits, so pack pairs, then fold.
    const __m512i ab = _mm512_or_si512(most[0], _mm512_slli_epi64(most[1], 32));
    const __m512i cd = _mm512_or_si512(most[2], _mm512_slli_epi64(most[3], 32));
    const __m256i x =
        _mm256_max_epi32(_mm512_castsi512_si256(ab), _mm512_extracti64x4_epi64(ab, 1));
    const __m256i y =
        _mm256_max_epi32(_mm512_castsi512_si256(cd), _mm512_extracti64x4_epi64(cd, 1));
    const __m256i z = _mm256_max_epi32(_mm256_unpacklo_epi64(x, y), _mm256_unpackhi_epi64(x, y));
    const __m128i m = _mm_max_epi32(_mm256_castsi256_si128(z), _mm256_extracti128_si256(z, 1));
    const __m128i side_rows =
        _mm_setr_epi32(left_rows, s.left_rows - left_rows, right_rows, s.right_rows - right_rows);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(at + 2 * kStride), _mm_sub_epi32(side_rows, m));
    if (w == s.words) break;
    const uint64_t v = s.all[w], l = s.left[w] & v, rr = v & ~s.left[w];
    const __m512i lm = _mm512_set1_epi64(static_cast<long long>(l)),
                  rm = _mm512_set1_epi64(static_cast<long long>(rr));
    for (int r = 0; r < Registers; ++r) {
      const __m512i bits = _mm512_load_si512(s.classes + w * kStride + 8 * r);
      left[r] = _mm512_add_epi64(left[r], _mm512_popcnt_epi64(_mm512_and_si512(bits, lm)));
      right[r] = _mm512_add_epi64(right[r], _mm512_popcnt_epi64(_mm512_and_si512(bits, rm)));
    }
    left_rows += pop(l);
    right_rows += pop(rr);
  }
  int32_t left_floor = 1 << 30, right_floor = 1 << 30;
  for (size_t w = 0; w < s.words; ++w) {
    const uint64_t left_ends = s.ends[0][w], right_ends = s.ends[1][w];
    const int32_t* at = s.scratch + w * step;
    const int32_t* next = at + step;
    if (left_ends) {
      const uint64_t side = s.left[w] & s.all[w];
      int32_t lower = block_bound(at + 2 * kStride, next + 2 * kStride, pop(side));
      if (lower < loss.left) {
        lower =
            open_block<Registers>(s, w, side, left_ends, at, s.left_total, s.left_rows, loss.left);
        loss.left = smaller(loss.left, lower);
        ++loss.opened;
      }
      left_floor = smaller(left_floor, lower);
    }
    if (right_ends) {
      const uint64_t side = s.all[w] & ~s.left[w];
      int32_t lower = block_bound(at + 2 * kStride + 2, next + 2 * kStride + 2, pop(side));
      if (lower < loss.right) {
        lower = open_block<Registers>(s, w, side, right_ends, at + kStride, s.right_total,
                                      s.right_rows, loss.right);
        loss.right = smaller(loss.right, lower);
        ++loss.opened;
      }
      right_floor = smaller(right_floor, lower);
    }
  }
  loss.left_floor = left_floor;
  loss.right_floor = right_floor;
}

void multi_class(const MultiClassScan& s, MultiClassLoss& loss) {
  if (s.stride == 8) return multi_class_registers<1>(s, loss);
  multi_class_registers<2>(s, loss);
}

bool supported() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512bitalg") &&
         __builtin_cpu_supports("avx512vpopcntdq") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("popcnt");
}

}  // namespace

namespace odt {

const Kernels* kernels_avx512() {
  static const Kernels table = {
      "avx512",
      below16,
      below32,
      compress16,
      compress32,
      compress_bits_generic<extract_bmi>,
      changes16,
      changes_generic<std::uint32_t>,
      two_class,
      lane_scan_generic,
      interleave16_generic,
      signed_two_generic,
      multi_class,
      label_blocks_generic<std::int32_t>,
      label_blocks_generic<std::int64_t>,
      label_scan_generic<std::int32_t>,
      label_scan_generic<std::int64_t>,
      columns_generic,
      column_counts_generic,
      bit_counts_generic<int16_t>,
      bit_counts_generic<int32_t>,
      quarters_generic<int16_t>,
      quarters_generic<int32_t>,
      paid_quarters_generic<int16_t>,
      paid_quarters_generic<int32_t>,
      bit_compress_generic,
  };
  return supported() ? &table : nullptr;
}

}  // namespace odt

#else

#include "odt/kernels.hpp"

namespace odt {
const Kernels* kernels_avx512() { return nullptr; }
}  // namespace odt

#endif
