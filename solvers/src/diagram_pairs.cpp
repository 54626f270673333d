#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "diagram_bytes.hpp"
#include "odt/kernels.hpp"
#include "odt/pair_lanes.hpp"

namespace odt {
namespace {

constexpr std::size_t kPairRows = PairLanes::kMostRows, kPairRoom = kPairRows + 64;
constexpr int kMostOfASign = 127;  // of which a byte holds the sum

bool pairs_have_bytes() {
#ifdef ODT_PAIR_LANES
  return may_use(Isa::avx512) && __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi") &&
         __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("popcnt");
#else
  return false;
#endif
}

void set_bit(std::uint64_t* bits, std::size_t at) {
  bits[at >> 6] |= std::uint64_t{1} << (at & 63);
}

bool has_bit(const std::uint64_t* bits, std::size_t at) { return bits[at >> 6] >> (at & 63) & 1; }

}  // namespace

// A row loses by a label as often as it is of others, and once more what it loses anyway: so often
// is it of each as it loses less by that than by the worst.
bool PairLanes::split_rows(const LayeredProblem& p) {
  const std::size_t labels = static_cast<std::size_t>(labels_);
  Loss unit = 0;
  std::vector<Loss> less(p.loss.size());
  for (std::size_t r = 0; r < p.rows; ++r) {
    const auto of = p.loss.begin() + static_cast<std::ptrdiff_t>(r * labels);
    const Loss most = *std::max_element(of, of + labels_);
    for (std::size_t k = 0; k < labels; ++k)
      unit = std::gcd(unit, less[r * labels + k] = most - of[static_cast<std::ptrdiff_t>(k)]);
  }
  if (unit == 0) return false;
  std::size_t rows = p.rows;
  for (std::size_t r = 0; r < p.rows; ++r) origin_.push_back(r);
  for (std::size_t r = 0; r < p.rows; ++r) {
    Loss base = p.loss[r * labels] + less[r * labels];
    bool first = true;
    for (std::size_t k = 0; k < labels; ++k) {
      base -= less[r * labels + k];
      for (Loss left = less[r * labels + k]; left > 0; left -= unit) {
        const std::size_t at = first ? r : rows++;
        if (rows >= kMostRows) return false;
        if (!first) {
          more_.emplace_back(r, at);
          origin_.push_back(r);
        }
        first = false;
        set_bit(is_, at);
        set_bit(of_[k], at);
        label_[at] = static_cast<std::uint8_t>(k);
      }
    }
    if (base != 0) base_.emplace_back(r, base);
  }
  rows_ = rows;
  unit_ = unit;
  return true;
}

PairLanes::PairLanes(const LayeredProblem& p) : features_(p.features), labels_(p.labels) {
  if (p.labels < 2 || p.labels > kMostLabels || p.features == 0 || p.rows >= kMostRows ||
      !pairs_have_bytes() || !split_rows(p))
    return;
  const std::size_t blocks = (features_ + 63) / 64;
  // Where there is no row at a place, the one behind the last: it is never asked for.
  row_.assign(features_ * kMostRows, static_cast<std::uint8_t>(rows_));
  place_.assign(features_ * kMostRows, 0);
  cut_.assign(features_ * kMostRows, 0);
  row_at_.assign(blocks * rows_ * 64, 0);
  cuts_at_.assign(blocks * rows_, 0);
  std::vector<std::size_t> order(rows_);
  for (std::size_t f = 0; f < features_; ++f) {
    const auto rank = [&](std::size_t r) { return p.rank[f * p.rows + origin_[r]]; };
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [rank](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
    std::size_t cuts = 0;
    for (std::size_t i = 0; i < rows_; ++i) {
      bool cut = false;  // whether one may stand between this row and the one before
      for (std::uint32_t r = rank(order[i - (i > 0)]); r < rank(order[i]) && !cut; ++r)
        cut = p.allowed[f].empty() || p.allowed[f][r];
      cuts += cut;
      const std::size_t at = f / 64 * rows_ + i;
      if (cut) cuts_at_[at - 1] |= std::uint64_t{1} << (f % 64);
      row_at_[at * 64 + f % 64] = static_cast<std::uint8_t>(order[i]);
      row_[f * kMostRows + i] = static_cast<std::uint8_t>(order[i]);
      place_[f * kMostRows + order[i]] = static_cast<std::uint8_t>(i);
      cut_[f * kMostRows + i] = static_cast<std::uint8_t>(cuts);
    }
  }
}

void PairLanes::Room::take(const PairLanes& lanes, const std::uint64_t* bits, std::size_t words) {
  std::fill(all_, all_ + kWords, 0);
  std::copy(bits, bits + std::min(words, kWords), all_);
  for (const auto& [row, other] : lanes.more_)
    if (has_bit(bits, row)) set_bit(all_, other);
  base_ = 0;
  for (const auto& [row, loss] : lanes.base_)
    if (has_bit(bits, row)) base_ += loss;
  rows_ = 0;
  for (int k = 0; k < lanes.labels_; ++k) {
    of_[k] = 0;
    for (std::size_t w = 0; w < kWords; ++w)
      of_[k] += __builtin_popcountll(all_[w] & lanes.of_[k][w]);
    rows_ += of_[k];
  }
  for (std::size_t w = 0; w < kWords; ++w) all_[w] &= lanes.is_[w];
}

bool PairLanes::Room::signs(const PairLanes& lanes) const {
  return lanes.labels_ == 2 && std::max(of_[0], of_[1]) <= kMostOfASign;
}

#ifdef ODT_PAIR_LANES

// Of a problem of so many words of rows and labels; without labels by signs.
template <int R, int K>
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
    return {lanes.row_at_.data(), lanes.cuts_at_.data(), lanes.rows_, lanes.rows_, blocks};
  }
  PlacedBytes packed() const {
    return {room.row_at_.data(), room.cuts_at_.data(), many(), kPairRows, blocks};
  }

  ODT_PAIR_TARGET int count(const std::uint64_t* rows, int label) const {
    int sum = 0;
    for (int w = 0; w < R; ++w) sum += __builtin_popcountll(rows[w] & lanes.of_[label][w]);
    return sum;
  }

  ODT_PAIR_TARGET void signs_of(const std::uint64_t* rows, Vector* sign) const {
    for (int w = 0; w < R; ++w)
      sign[w] = _mm512_mask_set1_epi8(_mm512_maskz_set1_epi8(rows[w] & lanes.of_[0][w], 1),
                                      rows[w] & lanes.of_[1][w], -1);
  }

  ODT_PAIR_TARGET void labels_of(const std::uint64_t* rows, Vector* label) const {
    for (int w = 0; w < R; ++w) {
      label[w] = all_bytes(K);
      for (int k = 0; k < K; ++k)
        label[w] = _mm512_mask_set1_epi8(label[w], rows[w] & lanes.of_[k][w], static_cast<char>(k));
    }
  }

  ODT_PAIR_TARGET void pack() const {
    const Vector first = _mm512_set_epi8(
        63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41,
        40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18,
        17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    Vector in[R];
    for (int w = 0; w < R; ++w) in[w] = _mm512_movm_epi8(room.all_[w]);
    for (std::size_t f = 0; f < lanes.features_; ++f) {
      std::uint8_t *row = room.row_.data() + f * kPairRoom,
                   *place = room.place_.data() + f * kPairRoom,
                   *cut = room.cut_.data() + f * kPairRoom;
      std::size_t n = 0;
      for (int w = 0; w < R; ++w) {
        const std::size_t from = f * kPairRows + 64 * static_cast<std::size_t>(w);
        const Vector rows = load_bytes(lanes.row_.data() + from);
        const __mmask64 asked = _mm512_movepi8_mask(bytes_at<R>(in, rows));
        _mm512_storeu_si512(row + n, _mm512_maskz_compress_epi8(asked, rows));
        _mm512_storeu_si512(place + n, _mm512_maskz_compress_epi8(
                                           asked, _mm512_add_epi8(first, all_bytes(64 * w))));
        _mm512_storeu_si512(
            cut + n, _mm512_maskz_compress_epi8(asked, load_bytes(lanes.cut_.data() + from)));
        n += static_cast<std::size_t>(__builtin_popcountll(asked));
      }
      const std::size_t lane = f / 64 * kPairRows * 64 + f % 64;
      for (std::size_t i = 0; i < n; ++i) {
        room.row_at_[lane + i * 64] = row[i];
        room.cut_at_[lane + i * 64] = cut[i];
      }
    }
    Vector sign[R];
    if constexpr (K == 0) signs_of(room.all_, sign);
    for (std::size_t b = 0; b < blocks; ++b) {
      Vector sum = _mm512_setzero_si512();
      for (std::size_t i = b * kPairRows; i < b * kPairRows + many(); ++i) {
        if constexpr (K == 0) {
          sum = _mm512_add_epi8(sum, bytes_at<R>(sign, load_bytes(room.row_at_.data() + i * 64)));
          _mm512_storeu_si512(room.sum_at_.data() + i * 64, sum);
        }
        const std::size_t next = std::min(i + 1, b * kPairRows + many() - 1);
        room.cuts_at_[i] = _mm512_cmpneq_epi8_mask(load_bytes(room.cut_at_.data() + i * 64),
                                                   load_bytes(room.cut_at_.data() + next * 64));
      }
    }
  }

  // The rows that lie at most at this place of a feature.
  ODT_PAIR_TARGET void up_to(std::size_t f, std::uint8_t place, std::uint64_t* rows) const {
    const Vector most = all_bytes(place);
    for (int w = 0; w < R; ++w)
      rows[w] =
          room.all_[w] & _mm512_cmple_epu8_mask(load_bytes(lanes.place_.data() + f * kPairRows +
                                                           64 * static_cast<std::size_t>(w)),
                                                most);
  }

  // What these rows lose with one cut.
  ODT_PAIR_TARGET int stump(const PlacedBytes& at, const std::uint64_t* rows) const {
    room.looked_ += at.places;
    if constexpr (K == 0) {
      Vector sign[R];
      signs_of(rows, sign);
      const int minus = count(rows, 1);
      return minus + least_by_signs<R>(at, sign, count(rows, 0) - minus);
    } else {
      Vector label[R];
      labels_of(rows, label);
      int of[K], sum = 0;
      for (int k = 0; k < K; ++k) sum += of[k] = count(rows, k);
      return sum - most_right<R, K>(at, label, of);
    }
  }

  // The same, and what the others of the packed rows lose with one.
  ODT_PAIR_TARGET Sides stumps(const std::uint64_t* rows) const {
    if constexpr (K > 0) {
      std::uint64_t others[R];
      for (int w = 0; w < R; ++w) others[w] = room.all_[w] & ~rows[w];
      return {stump(packed(), rows), stump(packed(), others)};
    }
    room.looked_ += many();
    const int minus = count(rows, 1), sum = count(rows, 0) - minus;
    const Vector none = _mm512_setzero_si512(), all = all_bytes(sum),
                 others = all_bytes(room.of_[0] - room.of_[1] - sum);
    Vector sign[R];
    signs_of(rows, sign);
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
    return {minus + least_byte(_mm512_min_epi8(least, _mm512_sub_epi8(all, most))),
            room.of_[1] - minus +
                least_byte(_mm512_min_epi8(least_there, _mm512_sub_epi8(others, most_there)))};
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
      for (int i = 0; i + 1 < room.rows_; ++i) {
        last[cuts] = place[i];
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
        const Sides lost = stumps(left);
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

  ODT_PAIR_TARGET static __mmask64 more_than(Vector rows, int most) {
    return most < 0     ? ~__mmask64{0}
           : most > 254 ? 0
                        : _mm512_cmpgt_epu8_mask(rows, all_bytes(most));
  }

  // The features with a side that may end, in their order and against it, where all rows lose so
  // much with one cut. A row that ends takes at most one loss away; so enough rows must end right.
  ODT_PAIR_TARGET void sides_that_may_end(int all, int best) const {
    Vector label[R], count[K > 0 ? K : 1], whole[K > 0 ? K : 1];
    if constexpr (K > 0) {
      labels_of(room.all_, label);
      for (int k = 0; k < K; ++k) whole[k] = all_bytes(room.of_[k]);
    }
    const auto fewest = [&](int ending) { return std::max(all, ending) - best; };
    const Vector sum = all_bytes(room.of_[0] - room.of_[1]);
    for (std::size_t b = 0; b < blocks; ++b) {
      __mmask64 up = 0, down = 0;
      for (int k = 0; k < K; ++k) count[k] = _mm512_setzero_si512();
      for (int i = 0; i + 1 < room.rows_; ++i) {
        const std::size_t at = b * kPairRows + static_cast<std::size_t>(i);
        const int before = i + 1, behind = room.rows_ - before;
        const __mmask64 cut = room.cuts_at_[at];
        if constexpr (K == 0) {  // twice the rows that end right are all of them and the sum
          const Vector here = load_bytes(room.sum_at_.data() + at * 64);
          up |= cut & more_than(_mm512_abs_epi8(here), 2 * fewest(before) - before);
          down |= cut & more_than(_mm512_abs_epi8(_mm512_sub_epi8(sum, here)),
                                  2 * fewest(behind) - behind);
        } else {
          const Vector here = bytes_at<R>(label, load_bytes(room.row_at_.data() + at * 64));
          Vector left = _mm512_setzero_si512(), right = _mm512_setzero_si512();
          for (int k = 0; k < K; ++k) {
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

  // A cut, and one of one side; the other ends. Of what ends at the same loss, the most rows. All
  // rows lose `all` with one cut.
  template <bool Up>
  ODT_PAIR_TARGET int ended(std::size_t f, int all, int best) const {
    const std::uint8_t *row = room.row_.data() + f * kPairRoom,
                       *place = room.place_.data() + f * kPairRoom,
                       *cut = room.cut_.data() + f * kPairRoom;
    const int n = room.rows_;
    int last[kPairRows];  // by loss: the last row that ends, -1: none
    int most = -1, right = 0, of[PairLanes::kMostLabels] = {};
    for (int i = 0; i + 1 < n; ++i) {
      const int here = Up ? i : n - 1 - i, next = Up ? here + 1 : here - 1;
      right = std::max(right, ++of[lanes.label_[row[here]]]);
      const int lost = i + 1 - right;
      if (lost >= best) break;
      if (cut[here] == cut[next]) continue;
      while (most < lost) last[++most] = -1;
      last[lost] = all - right < best ? here : -1;
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
      const int lost = stump(packed(), rest);
      best = std::min(best, most + lost);
      most = std::min(most, best - lost) - 1;  // fewer rows that end leave no less
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
    return best;
  }
};

namespace {

template <int R, class Ask>
int ask_labels(const PairLanes& lanes, PairLanes::Room& room, bool signs, int labels,
               const Ask& ask) {
  if (signs) return ask(PairSearch<R, 0>{lanes, room});
  if (labels == 2) return ask(PairSearch<R, 2>{lanes, room});
  if (labels == 3) return ask(PairSearch<R, 3>{lanes, room});
  return ask(PairSearch<R, PairLanes::kMostLabels>{lanes, room});
}

template <class Ask>
int ask_pairs(const PairLanes& lanes, PairLanes::Room& room, bool signs, std::size_t rows,
              int labels, const Ask& ask) {
  if (rows <= 64) return ask_labels<1>(lanes, room, signs, labels, ask);
  if (rows <= 128) return ask_labels<2>(lanes, room, signs, labels, ask);
  return ask_labels<4>(lanes, room, signs, labels, ask);
}

}  // namespace

Loss PairLanes::Room::stump(const PairLanes& lanes, const std::uint64_t* bits, std::size_t words) {
  take(lanes, bits, words);
  const int lost =
      ask_pairs(lanes, *this, signs(lanes), lanes.rows_, lanes.labels_,
                [&](const auto& search) { return search.stump(search.placed(), all_); });
  return base_ + lanes.unit_ * lost;
}

Loss PairLanes::Room::pair(const PairLanes& lanes, const std::uint64_t* bits, std::size_t words,
                           bool chain, Loss budget) {
  take(lanes, bits, words);
  if (budget < base_) return budget + 1;
  const Loss room = (budget - base_) / lanes.unit_ + 1;
  int best = rows_ - *std::max_element(of_, of_ + lanes.labels_);
  best = static_cast<int>(std::min<Loss>(room, best));
  const std::size_t places = (lanes.features_ + 63) / 64 * kPairRows;
  if (cuts_at_.size() < places) {
    cuts_at_.resize(places);
    for (auto* features : {&up_, &down_}) features->resize(places / kPairRows);
    for (auto* bytes : {&row_, &place_, &cut_}) bytes->resize(lanes.features_ * kPairRoom);
    for (auto* bytes : {&row_at_, &cut_at_}) bytes->resize(places * 64);
    sum_at_.resize(places * 64);
  }
  if (best > 0)
    best =
        ask_pairs(lanes, *this, signs(lanes), lanes.rows_, lanes.labels_, [&](const auto& search) {
          search.pack();
          return chain ? search.chain(best) : search.both(best);
        });
  return std::min(budget + 1, base_ + lanes.unit_ * best);
}

#else

Loss PairLanes::Room::stump(const PairLanes&, const std::uint64_t*, std::size_t) { return 0; }
Loss PairLanes::Room::pair(const PairLanes&, const std::uint64_t*, std::size_t, bool, Loss) {
  return 0;
}

#endif

}  // namespace odt
