// AVX-512 with VBMI2 (compress of 16-bit ranks), BITALG and VPOPCNTDQ. Compiled with flags of its
// own. On Windows nothing tells at run time what the processor has, as libgcc and compiler-rt do
// elsewhere.
#if defined(__AVX512VBMI2__) && defined(__AVX512VPOPCNTDQ__) && defined(__AVX512BW__) && \
    !defined(_MSC_VER)

#include <immintrin.h>

#include "kernel_shared.hpp"

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

// Running sums of the halves of eight lanes.
inline __m512i prefix_pairs(__m512i v) {
  const __m512i zero = _mm512_setzero_si512();
  v = _mm512_add_epi32(v, _mm512_alignr_epi64(v, zero, 7));
  v = _mm512_add_epi32(v, _mm512_alignr_epi64(v, zero, 6));
  return _mm512_add_epi32(v, _mm512_alignr_epi64(v, zero, 4));
}

// What is true of the left side in the low half of a lane, and of the right one in the high half.
inline long long pair_of(int32_t left, int32_t right) {
  return static_cast<long long>(static_cast<uint64_t>(static_cast<uint32_t>(right)) << 32 |
                                static_cast<uint32_t>(left));
}
inline __mmask16 pair_mask(__m512i left, __m512i right) {
  return static_cast<__mmask16>(_pdep_u32(_mm512_test_epi64_mask(left, left), 0x5555) |
                                _pdep_u32(_mm512_test_epi64_mask(right, right), 0xaaaa));
}
// Rows of both sides in each of eight blocks.
inline __m512i count_pairs(__m512i bits, __m512i left, __m512i right) {
  return _mm512_or_si512(_mm512_popcnt_epi64(_mm512_and_si512(bits, left)),
                         _mm512_slli_epi64(_mm512_popcnt_epi64(_mm512_and_si512(bits, right)), 32));
}

// Eight blocks at a time: bounds of all of them, then a look into those that can beat the
// incumbent. A lane is a block, its halves the two sides.
void two_class(const TwoClassScan& s, TwoClassGain& gain) {
  const __m512i total = _mm512_set1_epi64(pair_of(s.left_total, s.right_total));
  __m512i before = _mm512_setzero_si512(), most = _mm512_set1_epi32(-(1 << 30));
  int32_t best[2] = {gain.left, gain.right}, opened_cap[2] = {-(1 << 30), -(1 << 30)};
  for (size_t w = 0; w < s.words; w += 8) {
    const __mmask8 lanes =
        static_cast<__mmask8>(s.words - w >= 8 ? 255 : (1u << (s.words - w)) - 1);
    const __m512i all = _mm512_maskz_loadu_epi64(lanes, s.all + w),
                  left = _mm512_and_si512(_mm512_maskz_loadu_epi64(lanes, s.left + w), all),
                  right = _mm512_andnot_si512(left, all);
    const __m512i rows = count_pairs(all, left, right),
                  up = count_pairs(_mm512_maskz_loadu_epi64(lanes, s.positive + w), left, right);
    const __m512i sum = _mm512_sub_epi32(_mm512_slli_epi32(up, 1), rows);
    const __m512i after = _mm512_add_epi32(before, prefix_pairs(sum));
    const __m512i start = _mm512_sub_epi32(after, sum);
    before = _mm512_permutexvar_epi64(_mm512_set1_epi64(7), after);
    const __m512i above =
                      _mm512_sub_epi32(_mm512_slli_epi32(_mm512_add_epi32(start, up), 1), total),
                  under =
                      _mm512_sub_epi32(total, _mm512_slli_epi32(_mm512_sub_epi32(after, up), 1));
    const __m512i cap = _mm512_max_epi32(above, under);
    const __mmask16 live = pair_mask(_mm512_maskz_loadu_epi64(lanes, s.ends[0] + w),
                                     _mm512_maskz_loadu_epi64(lanes, s.ends[1] + w));
    const __mmask16 open =
        _mm512_mask_cmpgt_epi32_mask(live, cap, _mm512_set1_epi64(pair_of(best[0], best[1])));
    most = _mm512_mask_max_epi32(most, static_cast<__mmask16>(live & ~open), most, cap);
    if (open == 0) continue;
    alignas(64) int32_t caps[16], starts[16];
    _mm512_store_si512(caps, cap);
    _mm512_store_si512(starts, start);
    for (unsigned m = open; m; m &= m - 1) {
      const size_t i = static_cast<size_t>(__builtin_ctz(m)), side = i & 1, at = w + i / 2;
      int32_t found = caps[i];
      if (found > best[side]) {
        const uint64_t mask = side == 0 ? s.left[at] : ~s.left[at];
        const Extremes e = extremes512(mask & s.all[at], s.positive[at], s.ends[side][at]);
        const int32_t t = side == 0 ? s.left_total : s.right_total;
        found = larger(2 * (starts[i] + e.largest) - t, t - 2 * (starts[i] + e.smallest));
        best[side] = larger(best[side], found);
        ++gain.opened;
      }
      opened_cap[side] = larger(opened_cap[side], found);
    }
  }
  gain.left = best[0];
  gain.right = best[1];
  gain.left_cap = larger(opened_cap[0], _mm512_mask_reduce_max_epi32(0x5555, most));
  gain.right_cap = larger(opened_cap[1], _mm512_mask_reduce_max_epi32(0xaaaa, most));
}

// Word by word, the bitmaps of eight classes become eight words of each class.
inline void transpose_classes(const uint64_t* classes, size_t stride, size_t words, __m512i* out) {
  __m512i r[8], a[8];
  for (size_t i = 0; i < 8; ++i)
    r[i] = i < words ? _mm512_load_si512(classes + i * stride) : _mm512_setzero_si512();
  for (size_t i = 0; i < 8; i += 2) {
    a[i] = _mm512_unpacklo_epi64(r[i], r[i + 1]);
    a[i + 1] = _mm512_unpackhi_epi64(r[i], r[i + 1]);
  }
  for (size_t odd = 0; odd < 2; ++odd) {
    const __m512i b = _mm512_shuffle_i64x2(a[odd], a[2 + odd], 0x88),
                  c = _mm512_shuffle_i64x2(a[4 + odd], a[6 + odd], 0x88),
                  d = _mm512_shuffle_i64x2(a[odd], a[2 + odd], 0xdd),
                  e = _mm512_shuffle_i64x2(a[4 + odd], a[6 + odd], 0xdd);
    out[odd] = _mm512_shuffle_i64x2(b, c, 0x88);
    out[4 + odd] = _mm512_shuffle_i64x2(b, c, 0xdd);
    out[2 + odd] = _mm512_shuffle_i64x2(d, e, 0x88);
    out[6 + odd] = _mm512_shuffle_i64x2(d, e, 0xdd);
  }
}

// Least loss of a split of one side at the ends inside a block. `before` has the class counts ahead
// of it, a class every eight entries and of both sides in turn. Within the block counts are bytes,
// less those of the class that leads at its start (for the second part: at its end): a class that
// is more than 64 behind cannot catch up.
int32_t open_block(const MultiClassScan& s, size_t w, uint64_t side, uint64_t ends,
                   const int32_t* before, const int32_t* total, int32_t rows) {
  constexpr int32_t kFar = -100;
  const size_t n = static_cast<size_t>(s.class_count);
  const uint64_t* classes = s.classes + w * static_cast<size_t>(s.stride);
  int32_t here[16], behind[16], most_before = 0, most_behind = 0;
  for (size_t c = 0; c < n; ++c) {
    here[c] = pop(classes[c] & side);
    behind[c] = total[c] - before[16 * c] - here[c];
    most_before = larger(most_before, before[16 * c]);
    most_behind = larger(most_behind, behind[c]);
  }
  const __m512i byte = _mm512_set_epi64(0x0707070707070707, 0x0606060606060606, 0x0505050505050505,
                                        0x0404040404040404, 0x0303030303030303, 0x0202020202020202,
                                        0x0101010101010101, 0);
  const __m512i upto = _mm512_set1_epi64(static_cast<long long>(0xff7f3f1f0f070301ULL));
  __m512i first = _mm512_set1_epi8(kFar), second = first;
  for (size_t c = 0; c < n; ++c) {
    const uint64_t bits = classes[c] & side;
    const __m128i counts = _mm_popcnt_epi8(_mm_cvtsi64_si128(static_cast<long long>(bits)));
    const uint64_t ahead =
        (static_cast<uint64_t>(_mm_cvtsi128_si64(counts)) * 0x0101010101010101ULL) << 8;
    const __m512i near = _mm512_popcnt_epi8(_mm512_and_si512(
        _mm512_shuffle_epi8(_mm512_set1_epi64(static_cast<long long>(bits)), byte), upto));
    const __m512i prefix = _mm512_add_epi8(
        near, _mm512_shuffle_epi8(_mm512_set1_epi64(static_cast<long long>(ahead)), byte));
    const int32_t start = larger(before[16 * c] - most_before, kFar),
                  stop = larger(behind[c] - most_behind, kFar) + here[c];
    first =
        _mm512_max_epi8(first, _mm512_add_epi8(prefix, _mm512_set1_epi8(static_cast<char>(start))));
    second =
        _mm512_max_epi8(second, _mm512_sub_epi8(_mm512_set1_epi8(static_cast<char>(stop)), prefix));
  }
  const __m512i most =
      _mm512_mask_add_epi8(_mm512_set1_epi8(-127), ends, first, second);  // 0 to 64
  return rows - most_before - most_behind - max_epi8(most);
}

// Eight blocks at a time: bounds of all of them, then a look into those that can beat the
// incumbent. A lane is a block, its halves the two sides.
void multi_class(const MultiClassScan& s, MultiClassLoss& loss) {
  const size_t n = static_cast<size_t>(s.class_count), stride = static_cast<size_t>(s.stride);
  const __m512i last = _mm512_set1_epi64(7);
  __m512i before[16], total[16], words_of[16];
  __m512i most_rest = _mm512_setzero_si512(), most = most_rest, rows = most_rest;
  for (size_t c = 0; c < n; ++c) {
    before[c] = _mm512_setzero_si512();
    total[c] = _mm512_set1_epi64(pair_of(s.left_total[c], s.right_total[c]));
    most_rest = _mm512_max_epi32(most_rest, total[c]);
  }
  const __m512i all_rows = _mm512_set1_epi64(pair_of(s.left_rows, s.right_rows));
  __m512i floor = _mm512_set1_epi32(1 << 30);
  int32_t opened_floor[2] = {1 << 30, 1 << 30}, best[2] = {loss.left, loss.right};
  alignas(64) int32_t start[16][16], bounds[16];
  for (size_t w = 0; w < s.words; w += 8) {
    const size_t count = s.words - w < 8 ? s.words - w : 8;
    const __mmask8 lanes = static_cast<__mmask8>((1u << count) - 1);
    const __m512i all = _mm512_maskz_loadu_epi64(lanes, s.all + w),
                  left = _mm512_and_si512(_mm512_maskz_loadu_epi64(lanes, s.left + w), all),
                  right = _mm512_andnot_si512(left, all);
    for (size_t c = 0; c < n; c += 8)
      transpose_classes(s.classes + w * stride + c, stride, count, words_of + c);
    __m512i most_after = _mm512_setzero_si512(), rest_after = most_after;
    for (size_t c = 0; c < n; ++c) {
      const __m512i here = count_pairs(words_of[c], left, right);
      const __m512i after = _mm512_add_epi64(before[c], prefix_pairs(here));
      _mm512_store_si512(start[c], _mm512_sub_epi64(after, here));
      most_after = _mm512_max_epi32(most_after, after);
      rest_after = _mm512_max_epi32(rest_after, _mm512_sub_epi64(total[c], after));
      before[c] = _mm512_permutexvar_epi64(last, after);
    }
    const __m512i rows_here = count_pairs(all, left, right);
    const __m512i rows_after = _mm512_add_epi64(rows, prefix_pairs(rows_here));
    const __m512i rows_start = _mm512_sub_epi64(rows_after, rows_here);
    const __m512i first_start =
        _mm512_sub_epi32(rows_start, _mm512_alignr_epi64(most_after, most, 7));
    const __m512i first_after = _mm512_sub_epi32(rows_after, most_after);
    const __m512i second_start = _mm512_sub_epi32(_mm512_sub_epi32(all_rows, rows_start),
                                                  _mm512_alignr_epi64(rest_after, most_rest, 7));
    const __m512i second_after =
        _mm512_sub_epi32(_mm512_sub_epi32(all_rows, rows_after), rest_after);
    // The rows of a block left out of both parts, or counted in both.
    const __m512i bound =
        _mm512_max_epi32(_mm512_add_epi32(first_start, second_after),
                         _mm512_sub_epi32(_mm512_add_epi32(first_after, second_start), rows_here));
    most = _mm512_permutexvar_epi64(last, most_after);
    most_rest = _mm512_permutexvar_epi64(last, rest_after);
    rows = _mm512_permutexvar_epi64(last, rows_after);
    const __mmask16 live = pair_mask(_mm512_maskz_loadu_epi64(lanes, s.ends[0] + w),
                                     _mm512_maskz_loadu_epi64(lanes, s.ends[1] + w));
    const __mmask16 open =
        _mm512_mask_cmplt_epi32_mask(live, bound, _mm512_set1_epi64(pair_of(best[0], best[1])));
    floor = _mm512_mask_min_epi32(floor, static_cast<__mmask16>(live & ~open), floor, bound);
    if (open == 0) continue;
    _mm512_store_si512(bounds, bound);
    for (unsigned m = open; m; m &= m - 1) {
      const size_t i = static_cast<size_t>(__builtin_ctz(m)), side = i & 1, at = w + i / 2;
      int32_t lower = bounds[i];
      if (lower < best[side]) {
        const uint64_t mask = side == 0 ? s.left[at] : ~s.left[at];
        lower = open_block(s, at, mask & s.all[at], s.ends[side][at], start[0] + i,
                           side == 0 ? s.left_total : s.right_total,
                           side == 0 ? s.left_rows : s.right_rows);
        best[side] = smaller(best[side], lower);
        ++loss.opened;
      }
      opened_floor[side] = smaller(opened_floor[side], lower);
    }
  }
  loss.left = best[0];
  loss.right = best[1];
  loss.left_floor = smaller(opened_floor[0], _mm512_mask_reduce_min_epi32(0x5555, floor));
  loss.right_floor = smaller(opened_floor[1], _mm512_mask_reduce_min_epi32(0xaaaa, floor));
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
      kShared,
      "avx512",
      below16,
      below32,
      compress16,
      compress32,
      compress_bits_generic<extract_bmi>,
      changes16,
      changes_generic<std::uint32_t>,
      two_class,
      multi_class,
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
