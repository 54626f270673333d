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
      two_class_generic<extremes256>,
      multi_class_generic,
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
