#include "odt/masked_sums.hpp"

#include "odt/kernels.hpp"
#include "odt/paired_lanes.hpp"

// Bits of AVX-512 are masks as they are; elsewhere a table makes them masks of lanes. Both add the
// same numbers in the same order.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__)
#define ODT_BIT_MASKS 1
#include <immintrin.h>
#endif

namespace odt {
namespace {

#ifdef ODT_BIT_MASKS

bool has_bit_masks() {
  static const bool has = may_use(Isa::avx512) && __builtin_cpu_supports("avx512f");
  return has;
}

template <int kBlocks>
__attribute__((target("avx512f"))) void add_by_bits(const MaskedRows& in, std::size_t block,
                                                    double* a, double* b) {
  __m512d sum_a[kBlocks], sum_b[kBlocks];
  for (int i = 0; i < kBlocks; ++i) sum_a[i] = sum_b[i] = _mm512_setzero_pd();
  for (std::size_t k = 0; k < in.rows; ++k) {
    const double* from = in.first + in.row[k] * in.step;
    const std::uint8_t* mask = in.masks + in.row[k] * in.blocks + block;
    const __m512d x = _mm512_set1_pd(from[0]), y = _mm512_set1_pd(from[1]);
    for (int i = 0; i < kBlocks; ++i) {
      sum_a[i] = _mm512_mask_add_pd(sum_a[i], mask[i], sum_a[i], x);
      sum_b[i] = _mm512_mask_add_pd(sum_b[i], mask[i], sum_b[i], y);
    }
  }
  for (int i = 0; i < kBlocks; ++i) {
    _mm512_storeu_pd(a + (block + static_cast<std::size_t>(i)) * kLanes, sum_a[i]);
    _mm512_storeu_pd(b + (block + static_cast<std::size_t>(i)) * kLanes, sum_b[i]);
  }
}

#endif

// The rows of some blocks, of one number or of two.
template <class L, int kBlocks, int kNumbers>
ODT_INLINE void add_blocks(const MaskedRows& in, std::size_t block,
                           double* const (&sums)[kNumbers]) {
  L sum[kNumbers][kBlocks] = {};
  for (std::size_t k = 0; k < in.rows; ++k) {
    const double* from = in.first + in.row[k] * in.step;
    const std::uint8_t* mask = in.masks + in.row[k] * in.blocks + block;
    for (int i = 0; i < kBlocks; ++i) {
      typename BitsOf<L>::type bits;
      load_bits(bits, in.lanes[mask[i]]);
      for (int s = 0; s < kNumbers; ++s) sum[s][i] += masked(L{} + from[s], bits);
    }
  }
  for (int i = 0; i < kBlocks; ++i)
    for (int s = 0; s < kNumbers; ++s)
      store(sum[s][i], sums[s] + (block + static_cast<std::size_t>(i)) * kLanes);
}

template <class L, int kNumbers>
ODT_INLINE void add_all(const MaskedRows& in, std::size_t block, double* const (&sums)[kNumbers]) {
  constexpr int kMost = 4 / kNumbers;
  for (; block + kMost <= in.blocks; block += kMost) add_blocks<L, kMost>(in, block, sums);
  for (; block < in.blocks; ++block) add_blocks<L, 1>(in, block, sums);
}

ODT_VERSIONS(void add_one(const MaskedRows& in, std::size_t block, double* const (&sums)[1]),
             add_all<L>(in, block, sums))
ODT_VERSIONS(void add_two(const MaskedRows& in, std::size_t block, double* const (&sums)[2]),
             add_all<L>(in, block, sums))

}  // namespace

ODT_CLONES void differences(const double* a, const double* b, std::size_t n, double* out) {
  for (std::size_t j = 0; j < n; j += kLanes) {
    Lanes x, y;
    load(x, a + j);
    load(y, b + j);
    store(x - y, out + j);
  }
}

void add_two_by_lanes(const MaskedRows& in, std::size_t block, double* a, double* b) {
  add_two(in, block, {a, b});
}

void add_masked_two(const MaskedRows& in, std::size_t block, double* a, double* b) {
#ifdef ODT_BIT_MASKS
  if (has_bit_masks()) {
    for (; block + 8 <= in.blocks; block += 8) add_by_bits<8>(in, block, a, b);
    if (block + 4 <= in.blocks) {
      add_by_bits<4>(in, block, a, b);
      block += 4;
    }
    if (block + 2 <= in.blocks) {
      add_by_bits<2>(in, block, a, b);
      block += 2;
    }
    if (block < in.blocks) add_by_bits<1>(in, block, a, b);
    return;
  }
#endif
  add_two_by_lanes(in, block, a, b);
}

void add_masked_one(const MaskedRows& in, std::size_t block, double* sums) {
  add_one(in, block, {sums});
}

}  // namespace odt
