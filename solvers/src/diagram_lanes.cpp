#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "odt/stump_lanes.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define ODT_STUMP_AVX2 1
#endif

namespace odt {
namespace {

constexpr std::size_t kStumpLanes = 8;

// Rows of which a byte holds the sum, and of which two vectors hold all.
constexpr std::size_t kByteRows = 127, kByteTable = 128, kByteLanes = 64;

bool stumps_have_bytes() {
#ifdef ODT_STUMP_AVX2
  static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512vbmi");
  return has;
#else
  return false;
#endif
}

bool stumps_have_lanes() {
#ifdef ODT_STUMP_AVX2
  static const bool has = __builtin_cpu_supports("avx2");
  return has;
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

// The same, in units of a row's loss. Each side holds at most 127 rows with the other, so no sum
// leaves a byte.
__attribute__((target("avx512f,avx512bw,avx512vbmi"))) int best_of_byte_stumps(
    const std::uint8_t* row_at, const std::uint64_t* cuts, std::size_t rows, std::size_t blocks,
    const std::int8_t* asked, std::int8_t total) {
  const __m512i zero = _mm512_setzero_si512(), all = _mm512_set1_epi8(total);
  const __m512i low = _mm512_loadu_si512(asked), high = _mm512_loadu_si512(asked + kByteLanes);
  __m512i best = zero;
  for (std::size_t b = 0; b < blocks; ++b) {
    __m512i sum = zero;
    for (std::size_t i = b * rows; i < (b + 1) * rows; ++i) {
      const __m512i at = _mm512_loadu_si512(row_at + i * kByteLanes);
      sum = _mm512_add_epi8(sum, _mm512_permutex2var_epi8(low, at, high));
      const __m512i lost = _mm512_add_epi8(_mm512_min_epi8(zero, sum),
                                           _mm512_min_epi8(zero, _mm512_sub_epi8(all, sum)));
      best = _mm512_mask_min_epi8(best, cuts[i], best, lost);
    }
  }
  alignas(64) std::int8_t each[kByteLanes];
  _mm512_store_si512(each, best);
  return *std::min_element(each, each + kByteLanes);
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
  if (rows_ <= kByteRows && stumps_have_bytes()) pack();
}

void StumpLanes::pack() {
  for (const std::int32_t more : more_) {
    if (more != 0 && unit_ != 0 && std::abs(more) != unit_) {
      unit_ = 0;
      return;
    }
    if (more != 0) unit_ = std::abs(more);
  }
  if (unit_ == 0) return;
  const std::size_t blocks = (width_ + kByteLanes - 1) / kByteLanes;
  byte_at_.assign(blocks * rows_ * kByteLanes, 0);
  cuts_.assign(blocks * rows_, 0);
  for (std::size_t f = 0; f < width_; ++f)
    for (std::size_t i = 0; i < rows_; ++i) {
      const std::int32_t at = row_at_[i * width_ + f];
      const std::size_t place = f / kByteLanes * rows_ + i;
      byte_at_[place * kByteLanes + f % kByteLanes] = static_cast<std::uint8_t>(at < 0 ? ~at : at);
      if (at >= 0) cuts_[place] |= std::uint64_t{1} << (f % kByteLanes);
    }
}

Loss StumpLanes::least_of_bytes(const std::uint64_t* bits, std::size_t words, Room& room) const {
  Loss by_first = 0;
  int total = 0;
  for (std::size_t w = 0; w < words; ++w)
    for (std::uint64_t left = bits[w]; left; left &= left - 1) {
      const std::size_t r = 64 * w + static_cast<std::size_t>(__builtin_ctzll(left));
      const int sign = (more_[r] > 0) - (more_[r] < 0);
      by_first += first_[r];
      total += sign;
      room.units[r] = static_cast<std::int8_t>(sign);
    }
  int best = std::min(0, total);
#ifdef ODT_STUMP_AVX2
  best =
      std::min(best, best_of_byte_stumps(byte_at_.data(), cuts_.data(), rows_, cuts_.size() / rows_,
                                         room.units.data(), static_cast<std::int8_t>(total)));
#endif
  std::fill(room.units.begin(), room.units.end(), 0);
  return by_first + unit_ * best;
}

StumpLanes::Room StumpLanes::room() const {
  return {std::vector<std::int32_t>(rows_), std::vector<std::int8_t>(kByteTable)};
}

Loss StumpLanes::least(const std::uint64_t* bits, std::size_t words, Room& room) const {
  if (unit_ > 0) return least_of_bytes(bits, words, room);
  Loss by_first = 0;
  std::int32_t total = 0;
  for (std::size_t w = 0; w < words; ++w)
    for (std::uint64_t left = bits[w]; left; left &= left - 1) {
      const std::size_t r = 64 * w + static_cast<std::size_t>(__builtin_ctzll(left));
      by_first += first_[r];
      total += room.more[r] = more_[r];
    }
  std::int32_t best = std::min(0, total);
#ifdef ODT_STUMP_AVX2
  best = std::min(best, best_of_stumps(row_at_.data(), rows_, width_, room.more.data(), total));
#endif
  std::fill(room.more.begin(), room.more.end(), 0);
  return by_first + best;
}

}  // namespace odt
