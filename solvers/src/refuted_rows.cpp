#include "refuted_rows.hpp"

#include <algorithm>

#include "odt/kernels.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define ODT_REFUTED_LANES 1
#define ODT_REFUTED_TARGET __attribute__((target("avx512f,avx512dq,avx512vpopcntdq")))
#endif

namespace odt {
namespace {

bool counts_bits_in_vectors() {
#ifdef ODT_REFUTED_LANES
  return may_use(Isa::avx512) && __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vpopcntdq");
#else
  return false;
#endif
}

#ifdef ODT_REFUTED_LANES
// Of eight sets, those that lose more than `budget` after `cheapest` for each row that they have
// and `rows` has not.
template <std::size_t W>
ODT_REFUTED_TARGET unsigned eight_that_may_tell(const std::uint64_t* sets,
                                                const std::uint64_t* rows, Loss budget,
                                                Loss cheapest) {
  __m512i others = _mm512_setzero_si512();
  for (std::size_t w = 0; w < W; ++w)
    others = _mm512_add_epi64(others, _mm512_popcnt_epi64(_mm512_and_si512(
                                          _mm512_set1_epi64(static_cast<long long>(~rows[w])),
                                          _mm512_loadu_si512(sets + 8 * w))));
  const __m512i left = _mm512_sub_epi64(_mm512_loadu_si512(sets + 8 * W),
                                        _mm512_mullo_epi64(others, _mm512_set1_epi64(cheapest)));
  return _mm512_cmpgt_epi64_mask(left, _mm512_set1_epi64(budget));
}

// The first of so many eights, from `from` on, that has one, and which these are.
template <std::size_t W>
ODT_REFUTED_TARGET std::size_t next_that_may_tell(const std::uint64_t* kept, std::size_t from,
                                                  std::size_t many, const std::uint64_t* rows,
                                                  Loss budget, Loss cheapest, unsigned* which) {
  while (from < many &&
         (*which = eight_that_may_tell<W>(kept + from * 8 * (W + 1), rows, budget, cheapest)) == 0)
    ++from;
  return from;
}
#endif

}  // namespace

RefutedRows::RefutedRows(std::size_t words, const std::vector<Loss>& dearest)
    : words_(words), dearest_(dearest), can_lose_(words, 0), vectors_(counts_bits_in_vectors()) {
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
    if (vectors_) {
      const auto next = words_ == 1   ? next_that_may_tell<1>
                        : words_ == 2 ? next_that_may_tell<2>
                        : words_ == 4 ? next_that_may_tell<4>
                                      : next_that_may_tell<8>;
      const std::size_t eights = (many_ + kLanes - 1) / kLanes;
      eight = next(kept_.data(), eight, eights, rows, budget, cheapest_, &which);
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
