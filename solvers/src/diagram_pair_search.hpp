// One cut of some rows, and two layers of cuts, where the rows of 64 features lie in one vector of
// bytes. Of diagram_pairs.cpp only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "diagram_bytes.hpp"
#include "odt/pair_lanes.hpp"

namespace odt {

constexpr std::size_t kPairRows = PairLanes::kMostRows, kPairRoom = kPairRows + 64;
constexpr int kMostOfASign = 127;  // of which a byte holds the sum

inline int count_bits(std::uint64_t bits) { return __builtin_popcountll(bits); }

#ifdef ODT_PAIR_LANES

// Of so many words of rows; with signs where they have two labels.
template <int R, bool Signs>
struct PairSearch {
  using Vector = Bytes;
  struct Sides {
    int left, right;
  };
  struct Part {
    int lo, hi, from, to;
  };

  const PairLanes& lanes;
  PairLanes::Room& room;
  std::size_t blocks = (lanes.features_ + 63) / 64;

  std::size_t many() const { return static_cast<std::size_t>(room.rows_); }

  PlacedBytes placed() const {
    return {lanes.row_at_.data(), lanes.cuts_at_.data(), lanes.rows_, lanes.rows_, blocks,
            lanes.left_.data(),   lanes.cut_of_.size()};
  }
  PlacedBytes packed() const {
    return {room.row_at_.data(), room.cuts_at_.data(), many(), kPairRows, blocks,
            room.left_.data(),   room.cut_of_.size()};
  }

  ODT_PAIR_TARGET int count(const std::uint64_t* rows, int label) const {
    int sum = 0;
    for (int w = 0; w < R; ++w) sum += count_bits(rows[w] & room.is_[label][w]);
    return sum;
  }

  ODT_PAIR_TARGET void signs_of(const std::uint64_t* rows, int plus, int minus,
                                Vector* sign) const {
    for (int w = 0; w < R; ++w)
      sign[w] = _mm512_mask_set1_epi8(_mm512_maskz_set1_epi8(rows[w] & room.is_[plus][w], 1),
                                      rows[w] & room.is_[minus][w], -1);
  }

  // Sums up the signs of the packed rows.
  ODT_PAIR_TARGET void sum_up() const {
    if constexpr (!Signs) return;
    Vector sign[R];
    signs_of(room.all_, 0, 1, sign);
    for (std::size_t b = 0; b < blocks; ++b) {
      Vector sum = _mm512_setzero_si512();
      for (std::size_t i = b * kPairRows; i < b * kPairRows + many(); ++i) {
        sum = _mm512_add_epi8(sum, bytes_at<R>(sign, load_bytes(room.row_at_.data() + i * 64)));
        _mm512_storeu_si512(room.sum_at_.data() + i * 64, sum);
      }
    }
    room.sum_of_cuts_.resize(room.cut_of_.size() + PairLanes::kCutLanes);
    for (std::size_t c = 0; c < room.cut_of_.size(); c += PairLanes::kCutLanes)
      _mm512_storeu_si512(room.sum_of_cuts_.data() + c,
                          _mm512_sub_epi64(left_of_cuts(room.left_.data(), c, room.all_, 0),
                                           left_of_cuts(room.left_.data(), c, room.all_, 1)));
  }

  // The rows that lie at most at this place of a feature.
  ODT_PAIR_TARGET void up_to(std::size_t f, int place, std::uint64_t* rows) const {
    const Vector most = all_bytes(place);
    for (int w = 0; w < R; ++w)
      rows[w] =
          room.all_[w] & _mm512_cmple_epu8_mask(load_bytes(room.place_.data() + f * kPairRoom +
                                                           64 * static_cast<std::size_t>(w)),
                                                most);
  }

  // What these rows lose with one cut.
  ODT_PAIR_TARGET int stump(const PlacedBytes& at, const std::uint64_t* rows) const {
    room.looked_ += at.places;
    if constexpr (Signs) return by_signs(at, rows, 0, 1, count(rows, 0), count(rows, 1));
    int label[PairLanes::kMostLabels], of[PairLanes::kMostLabels], labels = 0;  // that there are
    for (int k = 0; k < room.labels_; ++k) {
      label[labels] = k;
      of[labels] = count(rows, k);
      labels += of[labels] > 0;
    }
    if (labels < 2) return 0;
    if (labels == 2 && std::max(of[0], of[1]) <= kMostOfASign)
      return by_signs(at, rows, label[0], label[1], of[0], of[1]);
    if (labels == 2) return by_labels<2>(at, rows, label, of);
    if (labels == 3) return by_labels<3>(at, rows, label, of);
    if (labels == 4) return by_labels<4>(at, rows, label, of);
    return by_labels<PairLanes::kMostLabels>(at, rows, label, of);
  }

  ODT_PAIR_TARGET int by_signs(const PlacedBytes& at, const std::uint64_t* rows, int plus,
                               int minus, int of_plus, int of_minus) const {
    Vector sign[R];
    signs_of(rows, plus, minus, sign);
    const int sum = of_plus - of_minus, least = least_by_signs<R>(at, sign, sum);
    const Span span = cut_sums(at, rows, plus, minus);
    return of_minus + std::min({least, span.least, sum - span.most});
  }

  template <int K>
  ODT_PAIR_TARGET int by_labels(const PlacedBytes& at, const std::uint64_t* rows, const int* label,
                                const int* of) const {
    Vector is[R];
    for (int w = 0; w < R; ++w) {
      is[w] = all_bytes(K);
      for (int k = 0; k < K; ++k)
        is[w] = _mm512_mask_set1_epi8(is[w], rows[w] & room.is_[label[k]][w], static_cast<char>(k));
    }
    return std::accumulate(of, of + K, 0) -
           std::max(most_right<R, K>(at, is, of), most_right_of_cuts<K>(at, rows, label, of));
  }

  // Of the rows left of a cut that have one label less those that have another, over all cuts that
  // are kept as sets of rows, and 0.
  struct Span {
    int least, most;
  };
  ODT_PAIR_TARGET Span cut_sums(const PlacedBytes& at, const std::uint64_t* rows, int plus,
                                int minus) const {
    Vector least = _mm512_setzero_si512(), most = least;
    for (std::size_t c = 0; c < at.few_cuts; c += PairLanes::kCutLanes) {
      const Vector sum = _mm512_sub_epi64(left_of_cuts(at.left, c, rows, plus),
                                          left_of_cuts(at.left, c, rows, minus));
      least = _mm512_min_epi64(least, sum);
      most = _mm512_max_epi64(most, sum);
    }
    return {least_number(least), most_number(most)};
  }

  // How many of the rows with a label are left of each of eight cuts.
  ODT_PAIR_TARGET Vector left_of_cuts(const std::uint64_t* left, std::size_t cut,
                                      const std::uint64_t* rows, int label) const {
    Vector sum = _mm512_setzero_si512();
    for (std::size_t w = 0; w < R; ++w)
      sum = _mm512_add_epi64(
          sum, _mm512_popcnt_epi64(_mm512_and_si512(
                   load_bytes(left + PairLanes::word_of_cut(cut, w)),
                   _mm512_set1_epi64(static_cast<long long>(rows[w] & room.is_[label][w])))));
    return sum;
  }

  // As most_right, of cuts that are kept as sets of rows.
  template <int K>
  ODT_PAIR_TARGET int most_right_of_cuts(const PlacedBytes& at, const std::uint64_t* rows,
                                         const int* label, const int* of) const {
    Vector best = _mm512_setzero_si512();
    for (std::size_t c = 0; c < at.few_cuts; c += PairLanes::kCutLanes) {
      Vector left = _mm512_setzero_si512(), right = left;
      for (int k = 0; k < K; ++k) {
        const Vector here = left_of_cuts(at.left, c, rows, label[k]);
        left = _mm512_max_epi64(left, here);
        right = _mm512_max_epi64(right, _mm512_sub_epi64(_mm512_set1_epi64(of[k]), here));
      }
      best = _mm512_max_epi64(best, _mm512_add_epi64(left, right));
    }
    return most_number(best);
  }

  // The same, and what the others of the packed rows lose with one: if the first is no less than
  // `enough`, only `others`, which is known of them.
  ODT_PAIR_TARGET Sides stumps(const std::uint64_t* rows, int enough, int others_lose) const {
    if constexpr (!Signs) {
      const int left = stump(packed(), rows);
      if (left >= enough) return {left, others_lose};
      std::uint64_t others[R];
      for (int w = 0; w < R; ++w) others[w] = room.all_[w] & ~rows[w];
      return {left, stump(packed(), others)};
    }
    room.looked_ += many();
    const int minus = count(rows, 1), sum = count(rows, 0) - minus;
    const Vector none = _mm512_setzero_si512(), all = all_bytes(sum),
                 others = all_bytes(room.of_[0] - room.of_[1] - sum);
    Vector sign[R];
    signs_of(rows, 0, 1, sign);
    Vector least = none, most = none, least_there = none, most_there = none;
    for (std::size_t b = 0; b < blocks; ++b) {
      Vector here = none;
      for (std::size_t i = b * kPairRows; i < b * kPairRows + many(); ++i) {
        const __mmask64 cut = room.cuts_at_[i];
        here = _mm512_add_epi8(here, bytes_at<R>(sign, load_bytes(room.row_at_.data() + i * 64)));
        const Vector there = _mm512_sub_epi8(load_bytes(room.sum_at_.data() + i * 64), here);
        least = _mm512_mask_min_epi8(least, cut, least, here);
        most = _mm512_mask_max_epi8(most, cut, most, here);
        least_there = _mm512_mask_min_epi8(least_there, cut, least_there, there);
        most_there = _mm512_mask_max_epi8(most_there, cut, most_there, there);
      }
    }
    Vector few = none, many_few = none, few_there = none, many_there = none;
    for (std::size_t c = 0; c < room.cut_of_.size(); c += PairLanes::kCutLanes) {
      const std::uint64_t* left_of = room.left_.data();
      const Vector here =
          _mm512_sub_epi64(left_of_cuts(left_of, c, rows, 0), left_of_cuts(left_of, c, rows, 1));
      const Vector there = _mm512_sub_epi64(load_bytes(room.sum_of_cuts_.data() + c), here);
      few = _mm512_min_epi64(few, here);
      many_few = _mm512_max_epi64(many_few, here);
      few_there = _mm512_min_epi64(few_there, there);
      many_there = _mm512_max_epi64(many_there, there);
    }
    const int whole = room.of_[0] - room.of_[1];
    return {
        minus + std::min({least_byte(_mm512_min_epi8(least, _mm512_sub_epi8(all, most))),
                          least_number(few), sum - most_number(many_few)}),
        room.of_[1] - minus +
            std::min({least_byte(_mm512_min_epi8(least_there, _mm512_sub_epi8(others, most_there))),
                      least_number(few_there), whole - sum - most_number(many_there)})};
  }

  // The packed rows on a side of a cut that is kept as a set of rows.
  ODT_PAIR_TARGET void side_of(std::size_t cut, bool left, std::uint64_t* rows) const {
    for (std::size_t w = 0; w < R; ++w) {
      const std::uint64_t here = room.left_[PairLanes::word_of_cut(cut, w)];
      rows[w] = left ? here : room.all_[w] & ~here;
    }
  }

  // Of some rows, how many are right with one label.
  ODT_PAIR_TARGET int right_of(const std::uint64_t* rows) const {
    int most = 0;
    for (int k = 0; k < room.labels_; ++k) most = std::max(most, count(rows, k));
    return most;
  }

  // A cut, and one of each side.
  ODT_PAIR_TARGET int both(int best) const {
    std::vector<Part> parts;
    std::vector<std::uint8_t> last(kPairRows);  // places of the rows before the cuts
    std::vector<int> rows(kPairRows);           // how many there are
    for (std::size_t f = 0; f < lanes.features_ && best > 0; ++f) {
      const std::uint8_t *place = room.place_.data() + f * kPairRoom,
                         *row = room.row_.data() + f * kPairRoom,
                         *cut = room.cut_.data() + f * kPairRoom;
      int cuts = 0;
      for (int i = 0; i + 1 < room.rows_; ++i) {
        last[cuts] = place[row[i]];
        rows[cuts] = i;
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
        const Sides lost = stumps(left, best - p.to, p.to);
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
    for (std::size_t c = 0; c < room.cut_of_.size() && best > 0; ++c) {
      std::uint64_t left[R];
      side_of(c, true, left);
      const Sides lost = stumps(left, best, 0);
      best = std::min(best, lost.left + lost.right);
    }
    return best;
  }

  ODT_PAIR_TARGET static __mmask64 more_than(Vector rows, int most) {
    return most < 0     ? ~__mmask64{0}
           : most > 254 ? 0
                        : _mm512_cmpgt_epu8_mask(rows, all_bytes(most));
  }

  // The features with a side that may end, in their order and against it, where all rows lose so
  // much with one cut. A row that ends takes at most one loss away; so enough rows must end right.
  ODT_PAIR_TARGET void sides_that_may_end(int all, int best) const {
    Vector label[R], count[PairLanes::kMostLabels], whole[PairLanes::kMostLabels];
    if constexpr (!Signs) {
      for (int w = 0; w < R; ++w) label[w] = load_bytes(room.label_ + 64 * w);
      for (int k = 0; k < room.labels_; ++k) whole[k] = all_bytes(room.of_[k]);
    }
    const auto fewest = [&](int ending) { return std::max(all, ending) - best; };
    const Vector sum = all_bytes(Signs ? room.of_[0] - room.of_[1] : 0);
    for (std::size_t b = 0; b < blocks; ++b) {
      __mmask64 up = 0, down = 0;
      for (int k = 0; k < room.labels_; ++k) count[k] = _mm512_setzero_si512();
      for (int i = 0; i + 1 < room.rows_; ++i) {
        const std::size_t at = b * kPairRows + static_cast<std::size_t>(i);
        const int before = i + 1, behind = room.rows_ - before;
        const __mmask64 cut = room.cuts_at_[at];
        if constexpr (Signs) {  // twice the rows that end right are all of them and the sum
          const Vector here = load_bytes(room.sum_at_.data() + at * 64);
          up |= cut & more_than(_mm512_abs_epi8(here), 2 * fewest(before) - before);
          down |= cut & more_than(_mm512_abs_epi8(_mm512_sub_epi8(sum, here)),
                                  2 * fewest(behind) - behind);
        } else {
          const Vector here = bytes_at<R>(label, load_bytes(room.row_at_.data() + at * 64));
          Vector left = _mm512_setzero_si512(), right = _mm512_setzero_si512();
          for (int k = 0; k < room.labels_; ++k) {
            count[k] = _mm512_mask_add_epi8(count[k], _mm512_cmpeq_epi8_mask(here, all_bytes(k)),
                                            count[k], all_bytes(1));
            left = _mm512_max_epu8(left, count[k]);
            right = _mm512_max_epu8(right, _mm512_sub_epi8(whole[k], count[k]));
          }
          up |= cut & more_than(left, fewest(before));
          down |= cut & more_than(right, fewest(behind));
        }
      }
      room.up_[b] = up;
      room.down_[b] = down;
    }
  }

  // Whether these rows may end, where all lose so much with one cut; as above.
  ODT_PAIR_TARGET bool may_end(const std::uint64_t* rows, int all, int best) const {
    int ending = 0;
    for (int w = 0; w < R; ++w) ending += count_bits(rows[w]);
    return right_of(rows) > std::max(all, ending) - best;
  }

  // The places of a feature where one side may end, in its order or against it, and what it loses.
  template <bool Up>
  ODT_PAIR_TARGET void ends_of(std::size_t f, int all, int best, Vector* lost,
                               std::uint64_t* may) const {
    const Vector first = counted_bytes();
    Vector label[R], right[R], order[R];
    std::uint64_t there[R];
    for (int w = 0; w < R; ++w) {
      label[w] = load_bytes(room.label_ + 64 * w);
      right[w] = _mm512_setzero_si512();
      order[w] = load_bytes(room.row_.data() + f * kPairRoom + 64 * w);
      const int left = room.rows_ - 64 * w;
      there[w] = left >= 64 ? ~std::uint64_t{0} : left > 0 ? (std::uint64_t{1} << left) - 1 : 0;
    }
    for (int k = 0; k < room.labels_; ++k) {
      int before = 0;
      for (int w = 0; w < R; ++w) {
        const __mmask64 is =
            there[w] & _mm512_cmpeq_epi8_mask(bytes_at<R>(label, order[w]), all_bytes(k));
        const Vector one = _mm512_maskz_set1_epi8(is, 1),
                     sum = _mm512_add_epi8(sums_of_bytes(one), all_bytes(before));
        right[w] = _mm512_max_epu8(
            right[w],
            Up ? sum : _mm512_sub_epi8(_mm512_add_epi8(all_bytes(room.of_[k]), one), sum));
        before += count_bits(is);
      }
    }
    std::uint64_t carry = 0;
    for (int w = 0; w < R; ++w) {
      std::uint64_t cuts = room.cuts_from(f, 64 * static_cast<std::size_t>(w));
      if (!Up) {  // before the place
        const std::uint64_t last = cuts >> 63;
        cuts = cuts << 1 | carry;
        carry = last;
      }
      const Vector ends = Up ? _mm512_add_epi8(first, all_bytes(64 * w + 1))
                             : _mm512_sub_epi8(all_bytes(room.rows_ - 64 * w), first);
      lost[w] = _mm512_sub_epi8(ends, right[w]);
      may[w] = cuts & there[w] & more_than(right[w], all - best) & ~more_than(lost[w], best - 1);
    }
  }

  // A cut, and one of one side; the other ends. Of what ends at the same loss, the most rows. All
  // rows lose `all` with one cut.
  template <bool Up>
  ODT_PAIR_TARGET int ended(std::size_t f, int all, int best) const {
    Vector lost[R];
    std::uint64_t may[R];
    ends_of<Up>(f, all, best, lost, may);
    std::uint8_t lost_at[64 * R];
    for (int w = 0; w < R; ++w) _mm512_storeu_si512(lost_at + 64 * w, lost[w]);
    const std::uint8_t *row = room.row_.data() + f * kPairRoom,
                       *place = room.place_.data() + f * kPairRoom;
    for (int w = Up ? R - 1 : 0; w >= 0 && w < R; w += Up ? -1 : 1)
      while (may[w]) {
        const int last = 64 * w + (Up ? 63 - __builtin_clzll(may[w]) : __builtin_ctzll(may[w])),
                  at = place[row[last]], here = lost_at[last];
        std::uint64_t rest[R];
        up_to(f, Up ? at : at - 1, rest);
        if (Up)
          for (int v = 0; v < R; ++v) rest[v] = room.all_[v] & ~rest[v];
        const int others = stump(packed(), rest);
        best = std::min(best, here + others);
        const int most = std::min(here, best - others) - 1;  // fewer that end leave no less
        for (int v = 0; v < R; ++v) may[v] &= ~more_than(lost[v], most);
      }
    return best;
  }

  ODT_PAIR_TARGET int chain(int best) const {
    const int all = stump(packed(), room.all_);
    best = std::min(best, all);
    if (best == 0) return 0;
    sides_that_may_end(all, best);
    room.looked_ += many();
    for (std::size_t b = 0; b < blocks; ++b)
      for (std::uint64_t left = room.up_[b] | room.down_[b]; left && best > 0; left &= left - 1) {
        const std::uint64_t bit = left & -left;
        const std::size_t f = 64 * b + static_cast<std::size_t>(__builtin_ctzll(left));
        if (room.up_[b] & bit) best = ended<true>(f, all, best);
        if (best > 0 && room.down_[b] & bit) best = ended<false>(f, all, best);
      }
    for (std::size_t c = 0; c < room.cut_of_.size(); ++c)
      for (const bool left : {true, false}) {
        std::uint64_t ends[R], rest[R];
        side_of(c, left, ends);
        if (best == 0 || !may_end(ends, all, best)) continue;
        side_of(c, !left, rest);
        int lost = stump(packed(), rest) - right_of(ends);
        for (int w = 0; w < R; ++w) lost += count_bits(ends[w]);
        best = std::min(best, lost);
      }
    return best;
  }
};

#endif

}  // namespace odt
