#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "odt/kernels.hpp"
#include "odt/stump_lanes.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define ODT_STUMP_AVX2 1
#endif

namespace odt {
namespace {

constexpr std::size_t kStumpLanes = 8;

bool stumps_have_lanes() {
#ifdef ODT_STUMP_AVX2
  return may_use(Isa::avx2) && __builtin_cpu_supports("avx2");
#else
  return false;
#endif
}

#ifdef ODT_STUMP_AVX2
// With d the surplus of the second label on one side of a cut, and `total` that of all rows, the
// sides lose min(0, d) + min(0, total - d) more than all rows do by the first label.
__attribute__((target("avx2"))) std::int32_t best_of_stumps(const std::int32_t* row_at,
                                                            std::size_t rows, std::size_t width,
                                                            const std::int32_t* asked,
                                                            std::int32_t total) {
  const __m256i zero = _mm256_setzero_si256(), all = _mm256_set1_epi32(total);
  __m256i best = zero;
  for (std::size_t f = 0; f < width; f += kStumpLanes) {
    __m256i sum = zero;
    for (std::size_t i = 0; i < rows; ++i) {
      const __m256i at =
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row_at + i * width + f));
      const __m256i none = _mm256_srai_epi32(at, 31);  // all ones where no cut is
      sum = _mm256_add_epi32(sum, _mm256_i32gather_epi32(asked, _mm256_xor_si256(at, none), 4));
      const __m256i lost = _mm256_add_epi32(_mm256_min_epi32(zero, sum),
                                            _mm256_min_epi32(zero, _mm256_sub_epi32(all, sum)));
      best = _mm256_min_epi32(best, _mm256_andnot_si256(none, lost));
    }
  }
  alignas(32) std::int32_t each[kStumpLanes];
  _mm256_store_si256(reinterpret_cast<__m256i*>(each), best);
  return *std::min_element(each, each + kStumpLanes);
}
#endif

}  // namespace

StumpLanes::StumpLanes(const LayeredProblem& p) {
  if (p.labels != 2 || p.features == 0 || !stumps_have_lanes()) return;
  Loss most = 0;
  for (std::size_t r = 0; r < p.rows; ++r) {
    const Loss more = p.loss[2 * r + 1] - p.loss[2 * r];
    most += std::abs(more);
    if (most >= Loss{1} << 30) return;
    first_.push_back(p.loss[2 * r]);
    more_.push_back(static_cast<std::int32_t>(more));
  }
  rows_ = p.rows;
  width_ = (p.features + kStumpLanes - 1) / kStumpLanes * kStumpLanes;
  row_at_.assign(rows_ * width_, ~std::int32_t{0});  // of features that fill up: never a cut
  std::vector<int> order(rows_);
  for (std::size_t f = 0; f < p.features; ++f) {
    const std::uint32_t* rank = p.rank.data() + f * p.rows;
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [rank](int a, int b) { return rank[a] < rank[b]; });
    for (std::size_t i = 0; i < rows_; ++i) {
      bool cut = false;  // whether one may stand between this row and the next
      const std::uint32_t next = rank[order[std::min(i + 1, rows_ - 1)]];
      for (std::uint32_t r = rank[order[i]]; r < next && !cut; ++r)
        cut = p.allowed[f].empty() || p.allowed[f][r];
      row_at_[i * width_ + f] = cut ? order[i] : ~order[i];
    }
  }
}

Loss StumpLanes::least(const std::uint64_t* bits, std::size_t words, Room& room) const {
  Loss by_first = 0;
  std::int32_t total = 0;
  for (std::size_t w = 0; w < words; ++w)
    for (std::uint64_t left = bits[w]; left; left &= left - 1) {
      const std::size_t r = 64 * w + static_cast<std::size_t>(__builtin_ctzll(left));
      by_first += first_[r];
      total += room[r] = more_[r];
    }
  std::int32_t best = std::min(0, total);
#ifdef ODT_STUMP_AVX2
  best = std::min(best, best_of_stumps(row_at_.data(), rows_, width_, room.data(), total));
#endif
  std::fill(room.begin(), room.end(), 0);
  return by_first + best;
}

}  // namespace odt
