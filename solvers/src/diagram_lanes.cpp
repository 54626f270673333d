#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>

#include "odt/kernels.hpp"
#include "odt/stump_lanes.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define ODT_STUMP_AVX2 1
#define ODT_STUMP_TARGET __attribute__((target("avx2,popcnt")))
#else
#define ODT_STUMP_TARGET
#endif

namespace odt {
namespace {

constexpr std::size_t kStumpLanes = 8, kByteRows = 256, kMostAlike = 16;

bool stumps_have_lanes() {
#ifdef ODT_STUMP_AVX2
  return may_use(Isa::avx2) && __builtin_cpu_supports("avx2") &&
         __builtin_cpu_supports("popcnt");
#else
  return false;
#endif
}

#ifdef ODT_STUMP_AVX2
// With d the surplus of the second label on one side of a cut, and `total` that of all rows, the
// sides lose min(0, d) + min(0, total - d) more than all rows do by the first label.
ODT_STUMP_TARGET std::int32_t best_of_stumps(const std::int32_t* row_at,
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

ODT_STUMP_TARGET inline __m256i load_32(const void* from) {
  return _mm256_load_si256(static_cast<const __m256i*>(from));
}

ODT_STUMP_TARGET inline __m256i rows_128(const std::uint64_t* bits) {
  return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bits)));
}
#endif

}  // namespace

#ifdef ODT_STUMP_AVX2
// As above, where up to 128 (`Halves` 1) or 256 rows are asked for. What the sides lose more is the
// least of 0, d, total - d and total.
template <int Halves>
ODT_STUMP_TARGET int StumpLanes::best_of_bytes(const std::vector<Place>& places, std::size_t many,
                                               const Bits& asked, int total) const {
  const __m256i low = rows_128(asked.data()), high = rows_128(asked.data() + 2 * (Halves - 1)),
                other = _mm256_set1_epi8(-128);
  __m256i least = _mm256_setzero_si256(), most = least;
  for (std::size_t from = 0; from < places.size(); from += rows_) {
    __m256i sum = _mm256_setzero_si256();
    for (std::size_t i = from; i < from + many; ++i) {
      const Place& at = places[i];
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
  return *std::min_element(each, each + kBytes);
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
  features_ = p.features;
  lay_bytes();
}

StumpLanes::Room StumpLanes::room() const {
  Room room;
  room.asked_.resize(rows_);
  room.packed_.resize(places_.size());
  room.row_.resize(place_.size());
  return room;
}

void StumpLanes::set_place(Place& place, std::size_t f, std::size_t r, bool cut) const {
  place.byte[f % kBytes] = static_cast<std::uint8_t>(r / 8 % 16 + (r < 128 ? 0 : 128));
  place.bit[f % kBytes] = static_cast<std::uint8_t>(1 << (r % 8));
  place.more[f % kBytes] = static_cast<std::int8_t>(more_[r]);
  place.cut[f % kBytes] = static_cast<std::int8_t>(cut ? -1 : 0);
}

// Where a row loses nothing by one of the labels, and bytes hold the sums.
void StumpLanes::lay_bytes() {
  std::int64_t plus = 0, minus = 0;
  for (const std::int32_t more : more_) (more > 0 ? plus : minus) += more;
  if (rows_ >= kByteRows || std::max(plus, -minus) > INT8_MAX) return;
  for (std::size_t r = 0; r < rows_; ++r) {
    if (first_[r] != std::max(0, -more_[r]) || alike_.size() > kMostAlike) {
      alike_.clear();
      return;
    }
    const auto alike = std::find_if(alike_.begin(), alike_.end(),
                                    [&](const Alike& a) { return a.more == more_[r]; });
    Alike& a = alike != alike_.end() ? *alike : alike_.emplace_back(Alike{more_[r], {}});
    a.rows[r / 64] |= std::uint64_t{1} << (r % 64);
  }
  places_.resize((features_ + kBytes - 1) / kBytes * rows_);
  for (auto* bytes : {&place_, &cuts_before_}) bytes->resize(features_ * rows_);
  for (std::size_t f = 0; f < features_; ++f) {
    std::uint8_t cuts = 0;
    for (std::size_t i = 0; i < rows_; ++i) {
      const std::int32_t at = row_at_[i * width_ + f];
      const std::size_t r = static_cast<std::size_t>(at < 0 ? ~at : at);
      set_place(places_[f / kBytes * rows_ + i], f, r, at >= 0);
      place_[f * rows_ + r] = static_cast<std::uint8_t>(i);
      cuts_before_[f * rows_ + i] = cuts;
      cuts = static_cast<std::uint8_t>(cuts + (at >= 0));
    }
  }
  row_at_.clear();
}

ODT_STUMP_TARGET StumpLanes::Sums StumpLanes::sums(const Bits& rows) const {
  Sums sums;
  for (const Alike& a : alike_) {
    int many = 0;
    for (std::size_t w = 0; w < kWords; ++w) many += __builtin_popcountll(rows[w] & a.rows[w]);
    sums.first += many * std::max(0, -a.more);
    sums.more += many * a.more;
  }
  return sums;
}

// What these rows lose with one cut, of all rows or of those that are packed.
int StumpLanes::least_of(const Bits& rows, const std::vector<Place>& places,
                         std::size_t many) const {
  const Sums all = sums(rows);
  int best = std::min(0, all.more);
#ifdef ODT_STUMP_AVX2
  best = std::min(best, rows_ > 128 ? best_of_bytes<2>(places, many, rows, all.more)
                                    : best_of_bytes<1>(places, many, rows, all.more));
#endif
  return all.first + best;
}

// Lays out each feature's order of these rows.
void StumpLanes::pack(const Bits& rows, Room& room) const {
  std::array<std::uint8_t, kByteRows> numbers;
  std::size_t many = 0;
  for (std::size_t w = 0; w < kWords; ++w)
    for (std::uint64_t bits = rows[w]; bits; bits &= bits - 1)
      numbers[many++] = static_cast<std::uint8_t>(64 * w + __builtin_ctzll(bits));
  room.many_ = many;
  room.looked_ += many * features_;
  for (std::size_t f = 0; f < features_; ++f) {
    const std::uint8_t *place = place_.data() + f * rows_, *cuts = cuts_before_.data() + f * rows_;
    std::uint8_t* row = room.row_.data() + f * rows_;
    std::array<std::uint8_t, kByteRows> row_at;
    Bits placed = {};
    for (std::size_t k = 0; k < many; ++k) {
      const std::size_t at = place[numbers[k]];
      row_at[at] = numbers[k];
      placed[at / 64] |= std::uint64_t{1} << (at % 64);
    }
    Place* to = room.packed_.data() + f / kBytes * rows_;
    std::size_t k = 0, before = 0;  // the place of the row before
    for (std::size_t w = 0; w < kWords; ++w)
      for (std::uint64_t bits = placed[w]; bits; bits &= bits - 1) {
        const std::size_t at = 64 * w + static_cast<std::size_t>(__builtin_ctzll(bits));
        if (k > 0)
          to[k - 1].cut[f % kBytes] = static_cast<std::int8_t>(-(cuts[before] != cuts[at]));
        set_place(to[k], f, row[k] = row_at[at], false);
        before = at;
        ++k;
      }
  }
}

// The cuts of a feature between packed rows.
void StumpLanes::cuts_of(std::size_t f, const Room& room, std::vector<Cut>& cuts) const {
  cuts.clear();
  const std::uint8_t* row = room.row_.data() + f * rows_;
  const Place* at = room.packed_.data() + f / kBytes * rows_;
  Cut cut = {};
  for (std::size_t k = 0; k + 1 < room.many_; ++k) {
    const std::size_t r = row[k];
    cut.before[r / 64] |= std::uint64_t{1} << (r % 64);
    cut.dearest += std::abs(more_[r]);
    if (at[k].cut[f % kBytes]) cuts.push_back(cut);
  }
}

Loss StumpLanes::pair(const std::uint64_t* bits, std::size_t words, Loss budget,
                      Room& room) const {
  Bits rows = {};
  std::copy(bits, bits + words, rows.begin());
  int best = static_cast<int>(std::min<Loss>(budget + 1, sums(rows).least()));
  if (best == 0) return 0;
  pack(rows, room);
  const auto least = [&](const Bits& of) {
    room.looked_ += room.many_;
    return least_of(of, room.packed_, room.many_);
  };
  const auto behind = [&](const Cut& cut) {
    Bits others;
    for (std::size_t w = 0; w < kWords; ++w) others[w] = rows[w] & ~cut.before[w];
    return least(others);
  };
  struct Part {
    int lo, hi, from, to;
  };
  std::vector<Cut> cuts;
  std::vector<Part> parts;
  for (std::size_t f = 0; f < features_ && best > 0; ++f) {
    cuts_of(f, room, cuts);
    parts.assign(1, {0, static_cast<int>(cuts.size()) - 1, 0, 0});
    while (!parts.empty()) {
      const Part p = parts.back();
      parts.pop_back();
      if (p.lo > p.hi || p.from + p.to >= best) continue;
      const int mid = p.lo + (p.hi - p.lo) / 2;
      const Cut* cut = cuts.data() + mid;
      const int l = std::max(p.from, least(cut->before)),
                r = l + p.to < best ? std::max(p.to, behind(*cut)) : p.to;
      best = std::min(best, l + r);
      // A row that passes over the cut changes the sum by at most what it loses.
      const int away = l + r - best;
      int below = mid - 1, above = mid + 1;
      while (below >= p.lo && cut->dearest - cuts[below].dearest <= away) --below;
      while (above <= p.hi && cuts[above].dearest - cut->dearest <= away) ++above;
      parts.push_back({p.lo, below, p.from, r});
      parts.push_back({above, p.hi, l, p.to});
    }
  }
  return best;
}

Loss StumpLanes::least(const std::uint64_t* bits, std::size_t words, Room& room) const {
  if (has_pairs()) {
    Bits rows = {};
    std::copy(bits, bits + words, rows.begin());
    return least_of(rows, places_, rows_);
  }
  Loss by_first = 0;
  std::int32_t total = 0;
  for (std::size_t w = 0; w < words; ++w)
    for (std::uint64_t left = bits[w]; left; left &= left - 1) {
      const std::size_t r = 64 * w + static_cast<std::size_t>(__builtin_ctzll(left));
      by_first += first_[r];
      total += room.asked_[r] = more_[r];
    }
  std::int32_t best = std::min(0, total);
#ifdef ODT_STUMP_AVX2
  best = std::min(best, best_of_stumps(row_at_.data(), rows_, width_, room.asked_.data(), total));
#endif
  std::fill(room.asked_.begin(), room.asked_.end(), 0);
  return by_first + best;
}

}  // namespace odt
