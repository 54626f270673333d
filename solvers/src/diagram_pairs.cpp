#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "odt/pair_lanes.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define ODT_PAIR_LANES 1
#define ODT_PAIR_TARGET __attribute__((target("avx512f,avx512bw,avx512vbmi,avx512vbmi2,popcnt")))
#endif

namespace odt {
namespace {

constexpr std::size_t kPairLanes = 64, kPairRows = PairLanes::kMostRows,
                      kPairRoom = kPairRows + kPairLanes;
constexpr int kMostOfASign = 127;  // of which a byte holds the sum

bool pairs_have_bytes() {
#ifdef ODT_PAIR_LANES
  static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512vbmi") &&
                          __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("popcnt");
  return has;
#else
  return false;
#endif
}

}  // namespace

PairLanes::PairLanes(const LayeredProblem& p) {
  if (p.labels != 2 || p.features == 0 || p.rows > kMostRows || !pairs_have_bytes()) return;
  Loss unit = 0;
  for (std::size_t r = 0; r < p.rows; ++r) {
    const Loss more = p.loss[2 * r + 1] - p.loss[2 * r];
    if (more != 0 && unit != 0 && std::abs(more) != unit) return;
    if (more != 0) unit = std::abs(more);
    least_.push_back(std::min(p.loss[2 * r], p.loss[2 * r + 1]));
    sign_.push_back(static_cast<std::int8_t>((more > 0) - (more < 0)));
  }
  unit_ = unit;
  rows_ = p.rows;
  features_ = p.features;
  // Where there is no row at a place, the one behind the last: it is never asked for.
  row_.assign(features_ * kMostRows, static_cast<std::uint8_t>(rows_));
  place_.assign(features_ * kMostRows, 0);
  cut_.assign(features_ * kMostRows, 0);
  std::vector<std::size_t> order(rows_);
  for (std::size_t f = 0; f < features_; ++f) {
    const std::uint32_t* rank = p.rank.data() + f * rows_;
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [rank](std::size_t a, std::size_t b) { return rank[a] < rank[b]; });
    std::size_t cuts = 0;
    for (std::size_t i = 0; i < rows_; ++i) {
      bool cut = false;  // whether one may stand between this row and the one before
      for (std::uint32_t r = rank[order[i - (i > 0)]]; r < rank[order[i]] && !cut; ++r)
        cut = p.allowed[f].empty() || p.allowed[f][r];
      cuts += cut;
      row_[f * kMostRows + i] = static_cast<std::uint8_t>(order[i]);
      place_[f * kMostRows + order[i]] = static_cast<std::uint8_t>(i);
      cut_[f * kMostRows + i] = static_cast<std::uint8_t>(cuts);
    }
  }
}

std::uint64_t PairLanes::Room::work() { return std::exchange(looked_, 0); }

#ifdef ODT_PAIR_LANES

// Of a problem of so many words of rows.
template <int R>
struct PairSearch {
  using Vector = __m512i;
  struct Sides {
    int left, right;
  };
  struct Part {
    int lo, hi, from, to;
  };

  const PairLanes& lanes;
  PairLanes::Room& room;
  std::size_t blocks = (lanes.features_ + kPairLanes - 1) / kPairLanes;

  ODT_PAIR_TARGET static Vector load(const void* from) { return _mm512_loadu_si512(from); }

  // A table of bytes per row, at so many rows.
  ODT_PAIR_TARGET static Vector at(const Vector* table, Vector rows) {
    if constexpr (R == 1) return _mm512_permutexvar_epi8(rows, table[0]);
    if constexpr (R == 2) return _mm512_permutex2var_epi8(table[0], rows, table[1]);
    if constexpr (R == 4)
      return _mm512_mask_blend_epi8(_mm512_movepi8_mask(rows),
                                    _mm512_permutex2var_epi8(table[0], rows, table[1]),
                                    _mm512_permutex2var_epi8(table[2], rows, table[3]));
  }

  ODT_PAIR_TARGET static int least_of(Vector v) {
    const __m256i half =
        _mm256_min_epi8(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
    __m128i part = _mm_min_epi8(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    part = _mm_min_epi8(part, _mm_srli_si128(part, 8));
    part = _mm_min_epi8(part, _mm_srli_si128(part, 4));
    part = _mm_min_epi8(part, _mm_srli_si128(part, 2));
    part = _mm_min_epi8(part, _mm_srli_si128(part, 1));
    return static_cast<std::int8_t>(_mm_extract_epi8(part, 0));
  }

  ODT_PAIR_TARGET void pack() {
    const Vector none = _mm512_setzero_si512();
    const Vector first = _mm512_set_epi8(
        63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41,
        40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18,
        17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    Vector sign[R];
    for (int w = 0; w < R; ++w) sign[w] = load(room.sign_.data() + kPairLanes * w);
    for (std::size_t f = 0; f < lanes.features_; ++f) {
      std::uint8_t *row = room.row_.data() + f * kPairRoom,
                   *place = room.place_.data() + f * kPairRoom,
                   *cut = room.cut_.data() + f * kPairRoom;
      std::size_t n = 0;
      for (int w = 0; w < R; ++w) {
        const std::size_t from = f * kPairRows + kPairLanes * w;
        const Vector rows = load(lanes.row_.data() + from);
        const __mmask64 asked = _mm512_cmpneq_epi8_mask(at(sign, rows), none);
        _mm512_storeu_si512(row + n, _mm512_maskz_compress_epi8(asked, rows));
        _mm512_storeu_si512(
            place + n, _mm512_maskz_compress_epi8(
                           asked, _mm512_add_epi8(
                                      first, _mm512_set1_epi8(static_cast<char>(kPairLanes * w)))));
        _mm512_storeu_si512(cut + n,
                            _mm512_maskz_compress_epi8(asked, load(lanes.cut_.data() + from)));
        n += static_cast<std::size_t>(__builtin_popcountll(asked));
      }
      const std::size_t lane = f / kPairLanes * kPairRows * kPairLanes + f % kPairLanes;
      for (std::size_t i = 0; i < n; ++i) {
        room.row_at_[lane + i * kPairLanes] = row[i];
        room.cut_at_[lane + i * kPairLanes] = cut[i];
      }
    }
    for (std::size_t b = 0; b < blocks; ++b) {
      Vector sum = none;
      for (std::size_t i = b * kPairRows; i < b * kPairRows + room.rows_; ++i) {
        sum = _mm512_add_epi8(sum, at(sign, load(room.row_at_.data() + i * kPairLanes)));
        _mm512_storeu_si512(room.sum_at_.data() + i * kPairLanes, sum);
        const std::size_t next = std::min(i + 1, b * kPairRows + room.rows_ - 1);
        room.cuts_at_[i] = _mm512_cmpneq_epi8_mask(load(room.cut_at_.data() + i * kPairLanes),
                                                   load(room.cut_at_.data() + next * kPairLanes));
      }
    }
  }

  // The rows that lie at most at this place of a feature.
  ODT_PAIR_TARGET void up_to(std::size_t f, std::uint8_t place, std::uint64_t* rows) const {
    const Vector most = _mm512_set1_epi8(static_cast<char>(place));
    for (int w = 0; w < R; ++w)
      rows[w] =
          room.all_[w] &
          _mm512_cmple_epu8_mask(load(lanes.place_.data() + f * kPairRows + kPairLanes * w), most);
  }

  ODT_PAIR_TARGET int minuses(const std::uint64_t* rows) const {
    int sum = 0;
    for (int w = 0; w < R; ++w) sum += __builtin_popcountll(rows[w] & room.minuses_[w]);
    return sum;
  }

  ODT_PAIR_TARGET static int many(const std::uint64_t* rows) {
    int sum = 0;
    for (int w = 0; w < R; ++w) sum += __builtin_popcountll(rows[w]);
    return sum;
  }

  // What these rows lose with one cut, and, with `Both`, what the others lose with one. With d the
  // sum of signs before a cut, and `all` that of a side, a cut changes what the side loses by
  // min(0, all, d, all - d).
  template <bool Both>
  ODT_PAIR_TARGET Sides stumps(const std::uint64_t* rows) const {
    room.looked_ += room.rows_;
    const int minus = minuses(rows), sum = many(rows) - 2 * minus;
    const Vector none = _mm512_setzero_si512(), all = _mm512_set1_epi8(static_cast<char>(sum)),
                 others = _mm512_set1_epi8(static_cast<char>(room.plus_ - room.minus_ - sum));
    Vector sign[R];
    for (int w = 0; w < R; ++w)
      sign[w] = _mm512_maskz_loadu_epi8(rows[w], room.sign_.data() + kPairLanes * w);
    Vector left = none, right = none;
    for (std::size_t b = 0; b < blocks; ++b) {
      Vector here = none, least = none, most = none, least_there = none, most_there = none;
      for (std::size_t i = b * kPairRows; i < b * kPairRows + room.rows_; ++i) {
        const __mmask64 cut = room.cuts_at_[i];
        here = _mm512_add_epi8(here, at(sign, load(room.row_at_.data() + i * kPairLanes)));
        least = _mm512_mask_min_epi8(least, cut, least, here);
        most = _mm512_mask_max_epi8(most, cut, most, here);
        if constexpr (Both) {
          const Vector there = _mm512_sub_epi8(load(room.sum_at_.data() + i * kPairLanes), here);
          least_there = _mm512_mask_min_epi8(least_there, cut, least_there, there);
          most_there = _mm512_mask_max_epi8(most_there, cut, most_there, there);
        }
      }
      left = _mm512_min_epi8(left, _mm512_min_epi8(least, _mm512_sub_epi8(all, most)));
      if constexpr (Both)
        right = _mm512_min_epi8(right,
                                _mm512_min_epi8(least_there, _mm512_sub_epi8(others, most_there)));
    }
    return {minus + least_of(left), Both ? room.minus_ - minus + least_of(right) : 0};
  }

  // A cut, and one of each side.
  ODT_PAIR_TARGET int both(int best) const {
    std::vector<Part> parts;
    std::vector<std::uint8_t> last(kPairRows);  // places of the rows before the cuts
    std::vector<int> rows(kPairRows);           // how many there are
    for (std::size_t f = 0; f < lanes.features_ && best > 0; ++f) {
      const std::uint8_t *place = room.place_.data() + f * kPairRoom,
                         *cut = room.cut_.data() + f * kPairRoom;
      int cuts = 0;
      for (std::size_t i = 0; i + 1 < room.rows_; ++i) {
        last[cuts] = place[i];
        rows[cuts] = static_cast<int>(i);
        cuts += cut[i] != cut[i + 1];
      }
      parts.assign(1, {0, cuts - 1, 0, 0});
      while (!parts.empty()) {
        const Part p = parts.back();
        parts.pop_back();
        if (p.lo > p.hi || p.from + p.to >= best) continue;
        const int mid = p.lo + (p.hi - p.lo) / 2;
        std::uint64_t left[R];
        up_to(f, last[mid], left);
        const Sides lost = stumps<true>(left);
        best = std::min(best, lost.left + lost.right);
        // So many rows must pass over the cut before the sum is below the best.
        const int away = lost.left + lost.right - best + 1;
        int below = mid - 1, above = mid + 1;
        while (below >= p.lo && rows[mid] - rows[below] < away) --below;
        while (above <= p.hi && rows[above] - rows[mid] < away) ++above;
        parts.push_back({p.lo, below, p.from, lost.right});
        parts.push_back({above, p.hi, lost.left, p.to});
      }
    }
    return best;
  }

  // A cut, and one of one side; the other ends. Of what ends at the same loss, the most rows.
  template <bool Up>
  ODT_PAIR_TARGET int ended(std::size_t f, int best) const {
    const std::uint8_t *row = room.row_.data() + f * kPairRoom,
                       *place = room.place_.data() + f * kPairRoom,
                       *cut = room.cut_.data() + f * kPairRoom;
    const int n = static_cast<int>(room.rows_);
    int last[kMostOfASign + 1];  // by loss: the last row that ends, -1: none
    int most = -1, plus = 0, minus = 0;
    for (int i = 0; i + 1 < n; ++i) {
      const int here = Up ? i : n - 1 - i, next = Up ? here + 1 : here - 1;
      (room.sign_[row[here]] > 0 ? plus : minus)++;
      const int lost = std::min(plus, minus);
      if (lost >= best) break;
      if (cut[here] == cut[next]) continue;
      while (most < lost) last[++most] = -1;
      last[lost] = here;
    }
    while (most >= 0) {
      if (last[most] < 0) {
        --most;
        continue;
      }
      std::uint64_t rest[R];
      up_to(f, Up ? place[last[most]] : place[last[most] - 1], rest);
      if (Up)
        for (int w = 0; w < R; ++w) rest[w] = room.all_[w] & ~rest[w];
      const int lost = stumps<false>(rest).left;
      best = std::min(best, most + lost);
      most = std::min(most, best - lost) - 1;  // fewer rows that end leave no less
    }
    return best;
  }

  ODT_PAIR_TARGET int chain(int best) const {
    best = std::min(best, stumps<false>(room.all_).left);
    for (std::size_t f = 0; f < lanes.features_ && best > 0; ++f) {
      best = ended<true>(f, best);
      if (best > 0) best = ended<false>(f, best);
    }
    return best;
  }
};

bool PairLanes::Room::pack(const PairLanes& lanes, const std::uint64_t* bits, std::size_t words) {
  sign_.assign(kMostRows, 0);
  std::fill(all_, all_ + kWords, 0);
  std::fill(minuses_, minuses_ + kWords, 0);
  base_ = 0;
  plus_ = minus_ = 0;
  for (std::size_t w = 0; w < words; ++w)
    for (std::uint64_t left = bits[w]; left; left &= left - 1) {
      const std::size_t r = 64 * w + static_cast<std::size_t>(__builtin_ctzll(left));
      base_ += lanes.least_[r];
      sign_[r] = lanes.sign_[r];
      plus_ += sign_[r] > 0;
      minus_ += sign_[r] < 0;
      if (sign_[r] != 0) all_[w] |= left & -left;  // others lose as much wherever they go
      if (sign_[r] < 0) minuses_[w] |= left & -left;
    }
  if (plus_ > kMostOfASign || minus_ > kMostOfASign) return false;
  rows_ = static_cast<std::size_t>(plus_ + minus_);
  const std::size_t places = (lanes.features_ + kPairLanes - 1) / kPairLanes * kPairRows;
  if (cuts_at_.size() < places) {
    cuts_at_.resize(places);
    for (auto* bytes : {&row_, &place_, &cut_}) bytes->resize(lanes.features_ * kPairRoom);
    for (auto* bytes : {&row_at_, &cut_at_}) bytes->resize(places * kPairLanes);
    sum_at_.resize(places * kPairLanes);
  }
  if (lanes.rows_ <= 64)
    PairSearch<1>{lanes, *this}.pack();
  else if (lanes.rows_ <= 128)
    PairSearch<2>{lanes, *this}.pack();
  else
    PairSearch<4>{lanes, *this}.pack();
  return true;
}

Loss PairLanes::Room::least(const PairLanes& lanes, bool chain, Loss budget) {
  if (budget < base_) return budget + 1;
  const Loss room = (budget - base_) / lanes.unit_ + 1;
  int best = static_cast<int>(std::min<Loss>(room, std::min(plus_, minus_)));
  const auto search = [&](const auto& rows) {
    if (best > 0) best = chain ? rows.chain(best) : rows.both(best);
  };
  if (lanes.rows_ <= 64)
    search(PairSearch<1>{lanes, *this});
  else if (lanes.rows_ <= 128)
    search(PairSearch<2>{lanes, *this});
  else
    search(PairSearch<4>{lanes, *this});
  return std::min(budget + 1, base_ + lanes.unit_ * best);
}

#else

bool PairLanes::Room::pack(const PairLanes&, const std::uint64_t*, std::size_t) { return false; }
Loss PairLanes::Room::least(const PairLanes&, bool, Loss) { return 0; }

#endif

}  // namespace odt
