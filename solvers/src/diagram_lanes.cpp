#include <algorithm>
#include <cstdint>
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

constexpr std::size_t kStumpLanes = 8, kByteRows = 256, kMostAlike = 16;

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

__attribute__((target("avx2"))) inline __m256i load_32(const void* from) {
  return _mm256_load_si256(static_cast<const __m256i*>(from));
}

__attribute__((target("avx2"))) inline __m256i rows_128(const std::uint64_t* bits) {
  return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bits)));
}
#endif

}  // namespace

#ifdef ODT_STUMP_AVX2
// As above, where up to 128 (`Halves` 1) or 256 rows are asked for. What the sides lose more is the
// least of 0, d, total - d and total.
template <int Halves>
__attribute__((target("avx2"))) int StumpLanes::best_of_bytes(const std::uint64_t* asked,
                                                              int total) const {
  const __m256i low = rows_128(asked), high = rows_128(asked + 2 * (Halves - 1)),
                other = _mm256_set1_epi8(-128);
  __m256i least = _mm256_setzero_si256(), most = least;
  for (std::size_t from = 0; from < places_.size(); from += rows_) {
    __m256i sum = _mm256_setzero_si256();
    for (std::size_t i = from; i < from + rows_; ++i) {
      const Place& at = places_[i];
      const __m256i byte = load_32(at.byte), bit = load_32(at.bit);
      __m256i rows = _mm256_shuffle_epi8(low, byte);
      if (Halves == 2)
        rows = _mm256_or_si256(rows, _mm256_shuffle_epi8(high, _mm256_xor_si256(byte, other)));
      const __m256i here = _mm256_cmpeq_epi8(_mm256_and_si256(rows, bit), bit);
      sum = _mm256_add_epi8(sum, _mm256_and_si256(here, load_32(at.more)));
      const __m256i cut = _mm256_and_si256(sum, load_32(at.cut));
      least = _mm256_min_epi8(least, cut);
      most = _mm256_max_epi8(most, cut);
    }
  }
  const __m256i all = _mm256_set1_epi8(static_cast<char>(total));
  alignas(kBytes) std::int8_t each[kBytes];
  _mm256_store_si256(reinterpret_cast<__m256i*>(each),
                     _mm256_min_epi8(least, _mm256_sub_epi8(all, most)));
  return std::min<int>(total, *std::min_element(each, each + kBytes));
}
#endif

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
  group_alike();
  if (!alike_.empty()) lay_bytes();
}

void StumpLanes::group_alike() {
  std::int64_t plus = 0, minus = 0;
  for (const std::int32_t more : more_) {
    unit_ = std::gcd(unit_, more);
    (more > 0 ? plus : minus) += more;
  }
  if (unit_ == 0 || rows_ > kByteRows || std::max(plus, -minus) / unit_ > INT8_MAX) return;
  for (std::size_t r = 0; r < rows_; ++r) {
    const int more = more_[r] / unit_;
    const auto alike = std::find_if(alike_.begin(), alike_.end(), [&](const Alike& a) {
      return a.first == first_[r] && a.more == more;
    });
    Alike& a = alike != alike_.end() ? *alike
                                     : alike_.emplace_back(Alike{first_[r], more, {0, 0, 0, 0}});
    a.rows[r / 64] |= std::uint64_t{1} << (r % 64);
  }
  if (alike_.size() > kMostAlike) alike_.clear();
}

void StumpLanes::lay_bytes() {
  places_.resize((width_ + kBytes - 1) / kBytes * rows_);
  for (std::size_t f = 0; f < width_; ++f)
    for (std::size_t i = 0; i < rows_; ++i) {
      const std::int32_t at = row_at_[i * width_ + f], r = at < 0 ? ~at : at;
      Place& place = places_[f / kBytes * rows_ + i];
      place.byte[f % kBytes] = static_cast<std::uint8_t>(r / 8 % 16 + (r < 128 ? 0 : 128));
      place.bit[f % kBytes] = static_cast<std::uint8_t>(1 << (r % 8));
      place.more[f % kBytes] = static_cast<std::int8_t>(more_[r] / unit_);
      place.cut[f % kBytes] = static_cast<std::int8_t>(at < 0 ? 0 : -1);
    }
  row_at_.clear();
}

Loss StumpLanes::least_of_bytes(const std::uint64_t* bits, std::size_t words) const {
  std::uint64_t asked[kByteRows / 64] = {};
  std::copy(bits, bits + words, asked);
  Loss by_first = 0;
  int total = 0;
  for (const Alike& a : alike_) {
    int many = 0;
    for (std::size_t w = 0; w < words; ++w) many += __builtin_popcountll(asked[w] & a.rows[w]);
    by_first += many * a.first;
    total += many * a.more;
  }
  int best = std::min(0, total);
#ifdef ODT_STUMP_AVX2
  best = std::min(best,
                  words > 2 ? best_of_bytes<2>(asked, total) : best_of_bytes<1>(asked, total));
#endif
  return by_first + Loss{unit_} * best;
}

Loss StumpLanes::least(const std::uint64_t* bits, std::size_t words, Room& room) const {
  if (!alike_.empty()) return least_of_bytes(bits, words);
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
