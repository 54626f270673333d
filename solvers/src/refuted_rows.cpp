#include "refuted_rows.hpp"

#include <algorithm>
#include <cstdint>

#include "odt/kernels.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define ODT_REFUTED_LANES 1
#define ODT_REFUTED_AVX2 __attribute__((target("avx2")))
#define ODT_REFUTED_AVX512 __attribute__((target("avx512f,avx512dq,avx512vpopcntdq")))
#endif

namespace odt {
namespace {

RefutedRows::Vectors vectors_here() {
#ifdef ODT_REFUTED_LANES
  if (may_use(Isa::avx512) && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vpopcntdq"))
    return RefutedRows::Vectors::avx512;
  if (may_use(Isa::avx2) && __builtin_cpu_supports("avx2")) return RefutedRows::Vectors::avx2;
#endif
  return RefutedRows::Vectors::none;
}

#ifdef ODT_REFUTED_LANES
// What a set is asked: whether it loses more than `budget` after `cheapest` for each row that it
// has and `rows` has not. `alone`: none may be, with one such row none would.
struct Asked {
  const std::uint64_t* rows;
  Loss budget, cheapest;
  bool alone;
};

// Of eight sets, those that do.
template <std::size_t W>
ODT_REFUTED_AVX512 unsigned eight_that_may_tell(const std::uint64_t* sets, const Asked& asked) {
  __m512i others = _mm512_setzero_si512();
  for (std::size_t w = 0; w < W; ++w)
    others = _mm512_add_epi64(others, _mm512_popcnt_epi64(_mm512_and_si512(
                                          _mm512_set1_epi64(static_cast<long long>(~asked.rows[w])),
                                          _mm512_loadu_si512(sets + 8 * w))));
  const __m512i left = _mm512_sub_epi64(
      _mm512_loadu_si512(sets + 8 * W),
      _mm512_mullo_epi64(others, _mm512_set1_epi64(asked.cheapest)));
  return _mm512_cmpgt_epi64_mask(left, _mm512_set1_epi64(asked.budget));
}

// The same of four.
template <std::size_t W>
ODT_REFUTED_AVX2 inline unsigned four_that_may_tell(const std::uint64_t* sets, const Asked& asked) {
  const __m256i zero = _mm256_setzero_si256(), low = _mm256_set1_epi8(15),
                bits = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2,
                                        1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
  const auto* from = reinterpret_cast<const __m256i*>(sets);
  const __m256i loss = _mm256_loadu_si256(from + 2 * W);
  __m256i sum = zero;
  for (std::size_t w = 0; w < W; ++w) {
    const __m256i others =
        _mm256_andnot_si256(_mm256_set1_epi64x(static_cast<long long>(asked.rows[w])),
                            _mm256_loadu_si256(from + 2 * w));
    sum = asked.alone
              ? _mm256_or_si256(sum, others)
              : _mm256_add_epi8(
                    _mm256_add_epi8(sum, _mm256_shuffle_epi8(bits, _mm256_and_si256(others, low))),
                    _mm256_shuffle_epi8(bits, _mm256_and_si256(_mm256_srli_epi16(others, 4), low)));
  }
  // Where a loss is more than 32 bits hold, less is taken away: more sets may tell.
  const Loss each = std::min<Loss>(asked.cheapest, INT32_MAX);
  const __m256i less = asked.alone ? _mm256_andnot_si256(_mm256_cmpeq_epi64(sum, zero), loss)
                                   : _mm256_mul_epu32(_mm256_sad_epu8(sum, zero),
                                                      _mm256_set1_epi64x(each)),
                more = _mm256_cmpgt_epi64(_mm256_sub_epi64(loss, less),
                                          _mm256_set1_epi64x(asked.budget));
  return static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(more)));
}

// The first of so many eights, from `from` on, that has one, and which these are.
template <std::size_t W>
ODT_REFUTED_AVX512 std::size_t next_of_eights(const std::uint64_t* kept, std::size_t from,
                                              std::size_t many, const Asked& asked,
                                              unsigned* which) {
  while (from < many && (*which = eight_that_may_tell<W>(kept + from * 8 * (W + 1), asked)) == 0)
    ++from;
  return from;
}

template <std::size_t W, bool Alone>
ODT_REFUTED_AVX2 std::size_t next_of_fours(const std::uint64_t* kept, std::size_t from,
                                           std::size_t many, Asked asked, unsigned* which) {
  asked.alone = Alone;
  for (; from < many; ++from) {
    const std::uint64_t* sets = kept + from * 8 * (W + 1);
    *which = four_that_may_tell<W>(sets, asked) | four_that_may_tell<W>(sets + 4, asked) << 4;
    if (*which != 0) break;
  }
  return from;
}

template <std::size_t W>
std::size_t next_that_may_tell(bool wide, const std::uint64_t* kept, std::size_t from,
                               std::size_t many, const Asked& asked, unsigned* which) {
  return wide          ? next_of_eights<W>(kept, from, many, asked, which)
         : asked.alone ? next_of_fours<W, true>(kept, from, many, asked, which)
                       : next_of_fours<W, false>(kept, from, many, asked, which);
}
#endif

}  // namespace

RefutedRows::RefutedRows(std::size_t words, const std::vector<Loss>& dearest)
    : words_(words), dearest_(dearest), can_lose_(words, 0), vectors_(vectors_here()) {
  for (std::size_t r = 0; r < dearest.size(); ++r) {
    if (dearest[r] == 0) continue;
    cheapest_ = std::min(cheapest_, dearest[r]);
    can_lose_[r / 64] |= std::uint64_t{1} << (r % 64);
  }
}

void RefutedRows::put(std::size_t set, const std::uint64_t* rows, Loss loss) {
  for (std::size_t w = 0; w < words_; ++w) at(set, w) = rows[w] & can_lose_[w];
  at(set, words_) = static_cast<std::uint64_t>(loss);
}

void RefutedRows::keep(const std::uint64_t* rows, Loss loss) {
  most_ = std::max(most_, loss);
  if (many_ < kMost) {
    if (many_ % kLanes == 0) kept_.resize(kept_.size() + kLanes * (words_ + 1));
    put(many_++, rows, loss);
    return;
  }
  next_ = next_ + 1 < kMost ? next_ + 1 : kMost / 2;  // the first half stays
  put(next_, rows, loss);
}

Loss RefutedRows::least_by(std::size_t set, const std::uint64_t* rows) {
  Loss least = static_cast<Loss>(at(set, words_));
  for (std::size_t w = 0; w < words_; ++w)
    for (std::uint64_t others = at(set, w) & ~rows[w]; others; others &= others - 1)
      least -= dearest_[64 * w + static_cast<std::size_t>(__builtin_ctzll(others))];
  return least;
}

Loss RefutedRows::least(const std::uint64_t* rows, Loss budget) {
  for (std::size_t eight = 0; eight * kLanes < many_; ++eight) {
    unsigned which = 0xff;
#ifdef ODT_REFUTED_LANES
    if (vectors_ != Vectors::none) {
      const auto next = words_ == 1   ? next_that_may_tell<1>
                        : words_ == 2 ? next_that_may_tell<2>
                        : words_ == 4 ? next_that_may_tell<4>
                                      : next_that_may_tell<8>;
      const std::size_t eights = (many_ + kLanes - 1) / kLanes;
      eight = next(vectors_ == Vectors::avx512, kept_.data(), eight, eights,
                   {rows, budget, cheapest_, most_ - cheapest_ <= budget}, &which);
      if (eight == eights) return 0;
    }
#endif
    for (; which; which &= which - 1) {
      const std::size_t set = eight * kLanes + static_cast<std::size_t>(__builtin_ctz(which));
      if (set >= many_ || static_cast<Loss>(at(set, words_)) <= budget) continue;
      const Loss least = least_by(set, rows);
      if (least <= budget) continue;
      for (std::size_t w = 0; w <= words_; ++w)  // those that help come first
        std::swap(at(set, w), at(set / 2, w));
      return least;
    }
  }
  return 0;
}

}  // namespace odt
