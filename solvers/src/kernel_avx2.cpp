// AVX2 with BMI2 and POPCNT. Compiled with flags of its own.
// On Windows nothing tells at run time what the processor has, as libgcc and compiler-rt do
// elsewhere.
#if defined(__AVX2__) && defined(__BMI2__) && defined(__POPCNT__) && !defined(_MSC_VER)

#include <immintrin.h>

#include "kernel_shared.hpp"

namespace {

inline uint32_t below_32_ranks(const uint16_t* rank, __m256i last) {
  const __m256i zero = _mm256_setzero_si256();
  const __m256i a = _mm256_load_si256(reinterpret_cast<const __m256i*>(rank));
  const __m256i b = _mm256_load_si256(reinterpret_cast<const __m256i*>(rank + 16));
  // rank <= last, unsigned, by saturating subtraction
  const __m256i x = _mm256_cmpeq_epi16(_mm256_subs_epu16(a, last), zero);
  const __m256i y = _mm256_cmpeq_epi16(_mm256_subs_epu16(b, last), zero);
  const __m256i packed = _mm256_permute4x64_epi64(_mm256_packs_epi16(x, y), 0xd8);
  return static_cast<uint32_t>(_mm256_movemask_epi8(packed));
}

void below16(const uint16_t* rank, size_t words, uint16_t bound, uint64_t* out) {
  if (bound == 0) {
    std::memset(out, 0, words * sizeof *out);
    return;
  }
  const __m256i last = _mm256_set1_epi16(static_cast<short>(bound - 1));
  for (size_t w = 0; w < words; ++w, rank += 64) {
    const uint64_t low = below_32_ranks(rank, last), high = below_32_ranks(rank + 32, last);
    out[w] = low | high << 32;
  }
}

// For each byte of a mask, the shuffle that moves the kept 16-bit entries to the front.
struct ShuffleTable {
  alignas(16) uint8_t of[256][16];
  ShuffleTable() {
    for (int mask = 0; mask < 256; ++mask) {
      int k = 0;
      for (int i = 0; i < 8; ++i)
        if (mask >> i & 1) {
          of[mask][2 * k] = static_cast<uint8_t>(2 * i);
          of[mask][2 * k + 1] = static_cast<uint8_t>(2 * i + 1);
          ++k;
        }
      for (; k < 8; ++k) of[mask][2 * k] = of[mask][2 * k + 1] = 0x80;
    }
  }
};

size_t compress16(const uint16_t* in, size_t words, const uint64_t* keep, uint16_t* out) {
  static const ShuffleTable table;
  uint16_t* at = out;
  for (size_t w = 0; w < words; ++w) {
    uint64_t bits = keep[w];
    for (int q = 0; q < 8; ++q, in += 8, bits >>= 8) {
      const __m128i shuffle =
          _mm_load_si128(reinterpret_cast<const __m128i*>(table.of[bits & 255]));
      const __m128i packed =
          _mm_shuffle_epi8(_mm_load_si128(reinterpret_cast<const __m128i*>(in)), shuffle);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(at), packed);
      at += pop(bits & 255);
    }
  }
  return static_cast<size_t>(at - out);
}

inline uint64_t extract_bmi(uint64_t value, uint64_t mask) { return _pext_u64(value, mask); }

inline __m256i bytes_of(uint32_t bits) {
  const __m256i spread =
      _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(bits)),
                          _mm256_setr_epi64x(0x0000000000000000LL, 0x0101010101010101LL,
                                             0x0202020202020202LL, 0x0303030303030303LL));
  const __m256i bit = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201ULL));
  return _mm256_cmpeq_epi8(_mm256_and_si256(spread, bit), bit);
}

inline int32_t max_epi8(__m256i v) {
  __m128i b = _mm_max_epi8(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  b = _mm_sub_epi8(_mm_set1_epi8(127), b);
  b = _mm_min_epu8(b, _mm_srli_epi16(b, 8));
  return 127 - (_mm_extract_epi16(_mm_minpos_epu16(b), 0) & 255);
}

// Prefix sums of +-1 over 32 byte lanes.
inline __m256i prefix32(uint32_t side, uint32_t positive) {
  const __m256i up = bytes_of(side & positive), down = bytes_of(side & ~positive);
  __m256i v = _mm256_sub_epi8(down, up);  // all ones is -1
  v = _mm256_add_epi8(v, _mm256_slli_si256(v, 1));
  v = _mm256_add_epi8(v, _mm256_slli_si256(v, 2));
  v = _mm256_add_epi8(v, _mm256_slli_si256(v, 4));
  v = _mm256_add_epi8(v, _mm256_slli_si256(v, 8));
  const __m256i sums = _mm256_shuffle_epi8(v, _mm256_set1_epi8(15));
  return _mm256_add_epi8(v, _mm256_permute2x128_si256(sums, sums, 0x08));
}

inline Extremes extremes256(uint64_t side, uint64_t positive, uint64_t ends) {
  const uint32_t low_side = static_cast<uint32_t>(side),
                 low_positive = static_cast<uint32_t>(positive);
  const __m256i first = prefix32(low_side, low_positive);
  __m256i second =
      prefix32(static_cast<uint32_t>(side >> 32), static_cast<uint32_t>(positive >> 32));
  second = _mm256_add_epi8(
      second,
      _mm256_set1_epi8(static_cast<char>(2 * pop(low_side & low_positive) - pop(low_side))));
  const __m256i end_first = bytes_of(static_cast<uint32_t>(ends)),
                end_second = bytes_of(static_cast<uint32_t>(ends >> 32));
  const __m256i none = _mm256_set1_epi8(-127), zero = _mm256_setzero_si256();
  const __m256i high = _mm256_max_epi8(_mm256_blendv_epi8(none, first, end_first),
                                       _mm256_blendv_epi8(none, second, end_second));
  const __m256i low =
      _mm256_max_epi8(_mm256_blendv_epi8(none, _mm256_sub_epi8(zero, first), end_first),
                      _mm256_blendv_epi8(none, _mm256_sub_epi8(zero, second), end_second));
  return {max_epi8(high), -max_epi8(low)};
}

// How many bits are set in each byte.
inline __m256i pop_bytes(__m256i v) {
  const __m256i count = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2,
                                         1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
  const __m256i nibble = _mm256_set1_epi8(15);
  return _mm256_add_epi8(
      _mm256_shuffle_epi8(count, _mm256_and_si256(v, nibble)),
      _mm256_shuffle_epi8(count, _mm256_and_si256(_mm256_srli_epi16(v, 4), nibble)));
}

// How many bits are set in each of eight words, as 32 bits each.
inline __m256i pop_words(__m256i low, __m256i high) {
  const __m256i zero = _mm256_setzero_si256();
  return _mm256_permute4x64_epi64(_mm256_packs_epi32(_mm256_sad_epu8(pop_bytes(low), zero),
                                                     _mm256_sad_epu8(pop_bytes(high), zero)),
                                  0xd8);
}

inline __m256i load256(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
inline void store256(void* p, __m256i v) { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }

// Running sums of eight lanes.
inline __m256i prefix_lanes(__m256i v) {
  v = _mm256_add_epi32(v, _mm256_slli_si256(v, 4));
  v = _mm256_add_epi32(v, _mm256_slli_si256(v, 8));
  const __m256i low = _mm256_permute2x128_si256(v, v, 0x08);
  return _mm256_add_epi32(v, _mm256_shuffle_epi32(low, 0xff));
}

inline int32_t largest_lane(__m256i v) {
  __m128i a = _mm_max_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  a = _mm_max_epi32(a, _mm_shuffle_epi32(a, 0x4e));
  return _mm_cvtsi128_si32(_mm_max_epi32(a, _mm_shuffle_epi32(a, 0xb1)));
}

inline uint32_t movemask(__m256i lanes) {
  return static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(lanes)));
}

// Eight blocks of one side of a scan, a lane each.
struct EightBlocks {
  __m256i start, cap;  // the running sum before a block; no cut inside has a larger gain
  __m256i live;        // all ones where a cut may stand

  // `before`, the running sum, in all lanes
  EightBlocks(const __m256i* side, const __m256i* positive, const uint64_t* ends, int32_t total,
              __m256i& before) {
    const __m256i rows = pop_words(side[0], side[1]),
                  up = pop_words(_mm256_and_si256(side[0], positive[0]),
                                 _mm256_and_si256(side[1], positive[1]));
    const __m256i sum = _mm256_sub_epi32(_mm256_add_epi32(up, up), rows);
    const __m256i after = _mm256_add_epi32(before, prefix_lanes(sum));
    start = _mm256_sub_epi32(after, sum);
    before = _mm256_permutevar8x32_epi32(after, _mm256_set1_epi32(7));
    const __m256i all = _mm256_set1_epi32(total), largest = _mm256_add_epi32(start, up),
                  smallest = _mm256_sub_epi32(after, up);
    cap = _mm256_max_epi32(_mm256_sub_epi32(_mm256_add_epi32(largest, largest), all),
                           _mm256_sub_epi32(all, _mm256_add_epi32(smallest, smallest)));
    const __m256i zero = _mm256_setzero_si256(),
                  none = _mm256_packs_epi32(_mm256_cmpeq_epi64(load256(ends), zero),
                                            _mm256_cmpeq_epi64(load256(ends + 4), zero));
    live = _mm256_xor_si256(_mm256_permute4x64_epi64(none, 0xd8), _mm256_set1_epi32(-1));
  }
};

// Looks into the blocks of one side that can beat the incumbent; the rest only have bounds.
inline __m256i open_blocks(const TwoClassScan& s, size_t w, size_t side, const EightBlocks& blocks,
                           uint32_t open, int32_t total, int32_t& best, uint32_t& opened) {
  alignas(32) int32_t caps[8], starts[8];
  store256(caps, blocks.cap);
  store256(starts, blocks.start);
  for (; open; open &= open - 1) {
    const size_t i = static_cast<size_t>(__builtin_ctz(open)), at = w + i;
    if (caps[i] <= best) continue;
    const uint64_t mask = side == 0 ? s.left[at] : ~s.left[at];
    const Extremes e = extremes256(mask & s.all[at], s.positive[at], s.ends[side][at]);
    caps[i] = larger(2 * (starts[i] + e.largest) - total, total - 2 * (starts[i] + e.smallest));
    best = larger(best, caps[i]);
    ++opened;
  }
  return load256(caps);
}

// Bounds of eight blocks at a time; the last few one by one.
void two_class(const TwoClassScan& s, TwoClassGain& gain) {
  const __m256i none = _mm256_set1_epi32(-(1 << 30));
  const int32_t total[2] = {s.left_total, s.right_total};
  BlockSide sides[2] = {{0, gain.left, -(1 << 30)}, {0, gain.right, -(1 << 30)}};
  __m256i most[2] = {none, none}, before[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
  size_t w = 0;
  for (; w + 8 <= s.words; w += 8) {
    __m256i rows[2][2], positive[2];
    for (size_t h = 0; h < 2; ++h) {
      const __m256i all = load256(s.all + w + 4 * h), left = load256(s.left + w + 4 * h);
      rows[0][h] = _mm256_and_si256(left, all);
      rows[1][h] = _mm256_andnot_si256(left, all);
      positive[h] = load256(s.positive + w + 4 * h);
    }
    for (size_t k = 0; k < 2; ++k) {
      const EightBlocks blocks(rows[k], positive, s.ends[k] + w, total[k], before[k]);
      const uint32_t open = movemask(_mm256_and_si256(
          blocks.live, _mm256_cmpgt_epi32(blocks.cap, _mm256_set1_epi32(sides[k].gain))));
      const __m256i cap =
          open == 0 ? blocks.cap
                    : open_blocks(s, w, k, blocks, open, total[k], sides[k].gain, gain.opened);
      most[k] = _mm256_max_epi32(most[k], _mm256_blendv_epi8(none, cap, blocks.live));
    }
  }
  for (size_t k = 0; k < 2; ++k) {
    sides[k].before = _mm256_cvtsi256_si32(before[k]);
    sides[k].cap = largest_lane(most[k]);
  }
  two_class_rest<extremes256>(s, w, sides, gain);
}

// The largest of the eight lanes of each.
inline __m128i largest_of_each(__m256i a, __m256i b, __m256i c, __m256i d) {
  const __m256i ab = _mm256_max_epi32(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b)),
                cd = _mm256_max_epi32(_mm256_unpacklo_epi32(c, d), _mm256_unpackhi_epi32(c, d)),
                all =
                    _mm256_max_epi32(_mm256_unpacklo_epi64(ab, cd), _mm256_unpackhi_epi64(ab, cd));
  return _mm_max_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
}

// As multi_class_boundaries, eight classes at once, so many times.
template <size_t N>
void multi_class_boundaries256_of(const MultiClassScan& s) {
  constexpr size_t kStride = 8 * N;
  const __m256i zero = _mm256_setzero_si256();
  __m256i left[N], right[N], left_total[N], right_total[N], used[N];
  for (size_t k = 0; k < N; ++k) {
    used[k] = _mm256_cmpgt_epi32(_mm256_set1_epi32(s.class_count - static_cast<int>(8 * k)),
                                 _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    left[k] = right[k] = zero;
    left_total[k] = _mm256_and_si256(load256(s.left_total + 8 * k), used[k]);
    right_total[k] = _mm256_and_si256(load256(s.right_total + 8 * k), used[k]);
  }
  __m128i rows = _mm_setr_epi32(0, s.left_rows, 0, s.right_rows);
  int32_t* at = s.scratch;
  for (size_t w = 0;; ++w, at += 2 * kStride + 4) {
    __m256i most[4] = {zero, zero, zero, zero};  // of both sides in turn: first and second part
    for (size_t k = 0; k < N; ++k) {
      store256(at + 8 * k, left[k]);
      store256(at + kStride + 8 * k, right[k]);
      most[0] = _mm256_max_epi32(most[0], left[k]);
      most[1] = _mm256_max_epi32(most[1], _mm256_sub_epi32(left_total[k], left[k]));
      most[2] = _mm256_max_epi32(most[2], right[k]);
      most[3] = _mm256_max_epi32(most[3], _mm256_sub_epi32(right_total[k], right[k]));
    }
    _mm_storeu_si128(reinterpret_cast<__m128i*>(at + 2 * kStride),
                     _mm_sub_epi32(rows, largest_of_each(most[0], most[1], most[2], most[3])));
    if (w == s.words) return;
    const uint64_t v = s.all[w], l = s.left[w] & v, r = v & ~l;
    const __m256i on_left = _mm256_set1_epi64x(static_cast<long long>(l)),
                  on_right = _mm256_set1_epi64x(static_cast<long long>(r));
    for (size_t k = 0; k < N; ++k) {
      const uint64_t* classes = s.classes + w * kStride + 8 * k;
      const __m256i low = load256(classes), high = load256(classes + 4);
      left[k] = _mm256_add_epi32(
          left[k], _mm256_and_si256(used[k], pop_words(_mm256_and_si256(low, on_left),
                                                       _mm256_and_si256(high, on_left))));
      right[k] = _mm256_add_epi32(
          right[k], _mm256_and_si256(used[k], pop_words(_mm256_and_si256(low, on_right),
                                                        _mm256_and_si256(high, on_right))));
    }
    const int32_t here[2] = {pop(l), pop(r)};
    rows = _mm_add_epi32(rows, _mm_setr_epi32(here[0], -here[0], here[1], -here[1]));
  }
}
void multi_class_boundaries256(const MultiClassScan& s) {
  if (s.stride == 8)
    multi_class_boundaries256_of<1>(s);
  else
    multi_class_boundaries256_of<2>(s);
}

// Counts of the bits ahead of each byte of a word.
inline uint64_t ahead_of_bytes(uint64_t bits) {
  uint64_t v = bits - (bits >> 1 & 0x5555555555555555ULL);
  v = (v & 0x3333333333333333ULL) + (v >> 2 & 0x3333333333333333ULL);
  return (((v + (v >> 4)) & 0x0f0f0f0f0f0f0f0fULL) * 0x0101010101010101ULL) << 8;
}

// As multi_class_open, all rows at once. Within the block counts are bytes, less those of the class
// that leads at its start (for the second part: at its end): a class that is more than 64 behind
// cannot catch up.
inline int32_t multi_class_open256(const MultiClassScan& s, size_t w, uint64_t side, uint64_t ends,
                                   const int32_t* before, const int32_t* total, int32_t rows) {
  constexpr int32_t kFar = -100;
  const size_t n = static_cast<size_t>(s.class_count);
  const uint64_t* classes = s.classes + w * static_cast<size_t>(s.stride);
  int32_t here[16], behind[16], most_before = 0, most_behind = 0;
  for (size_t c = 0; c < n; ++c) {
    here[c] = pop(classes[c] & side);
    behind[c] = total[c] - before[c] - here[c];
    most_before = larger(most_before, before[c]);
    most_behind = larger(most_behind, behind[c]);
  }
  const __m256i byte[2] = {
      _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303),
      _mm256_setr_epi64x(0x0404040404040404, 0x0505050505050505, 0x0606060606060606,
                         0x0707070707070707)};
  const __m256i upto = _mm256_set1_epi64x(static_cast<long long>(0xff7f3f1f0f070301ULL));
  __m256i first[2], second[2];
  for (size_t h = 0; h < 2; ++h) first[h] = second[h] = _mm256_set1_epi8(kFar);
  for (size_t c = 0; c < n; ++c) {
    const int32_t start = larger(before[c] - most_before, kFar),
                  stop = larger(behind[c] - most_behind, kFar) + here[c];
    if (start + here[c] < 0 && stop < 0) continue;
    const uint64_t word = classes[c] & side;
    const __m256i bits = _mm256_set1_epi64x(static_cast<long long>(word)),
                  ahead = _mm256_set1_epi64x(static_cast<long long>(ahead_of_bytes(word)));
    for (size_t h = 0; h < 2; ++h) {
      const __m256i prefix =
          _mm256_add_epi8(pop_bytes(_mm256_and_si256(_mm256_shuffle_epi8(bits, byte[h]), upto)),
                          _mm256_shuffle_epi8(ahead, byte[h]));
      first[h] = _mm256_max_epi8(
          first[h], _mm256_add_epi8(prefix, _mm256_set1_epi8(static_cast<char>(start))));
      second[h] = _mm256_max_epi8(
          second[h], _mm256_sub_epi8(_mm256_set1_epi8(static_cast<char>(stop)), prefix));
    }
  }
  const __m256i none = _mm256_set1_epi8(-127);
  __m256i most = none;
  for (size_t h = 0; h < 2; ++h)
    most = _mm256_max_epi8(most,
                           _mm256_blendv_epi8(none, _mm256_add_epi8(first[h], second[h]),
                                              bytes_of(static_cast<uint32_t>(ends >> (32 * h)))));
  return rows - most_before - most_behind - max_epi8(most);  // its last: 0 to 64
}

bool supported() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("popcnt");
}

}  // namespace

namespace odt {

const Kernels* kernels_avx2() {
  static const Kernels table = {
      kShared,
      "avx2",
      below16,
      below_generic<std::uint32_t>,
      compress16,
      compress_generic<std::uint32_t>,
      compress_bits_generic<extract_bmi>,
      changes_generic<std::uint16_t>,
      changes_generic<std::uint32_t>,
      two_class,
      multi_class_generic<multi_class_boundaries256, multi_class_open256>,
  };
  return supported() ? &table : nullptr;
}

}  // namespace odt

#else

#include "odt/kernels.hpp"

namespace odt {
const Kernels* kernels_avx2() { return nullptr; }
}  // namespace odt

#endif
