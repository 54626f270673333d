#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>

#include "diagram_bytes.hpp"
#include "diagram_sets.hpp"
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
         __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vpopcntdq") &&
         __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
#else
  return false;
#endif
}

bool counts_bits() {
#ifdef ODT_SETS_TARGET
  return may_use(Isa::avx2) && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
#else
  return false;
#endif
}

void set_bit(std::uint64_t* bits, std::size_t at) {
  bits[at >> 6] |= std::uint64_t{1} << (at & 63);
}

int count_bits(std::uint64_t bits) { return __builtin_popcountll(bits); }

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
      }
    }
    if (base != 0) base_.emplace_back(r, base);
  }
  rows_ = rows;
  unit_ = unit;
  return true;
}

PairLanes::PairLanes(const LayeredProblem& p)
    : labels_(p.labels), lanes_(pairs_have_bytes()), asked_(p.features) {
  if (p.labels < 2 || p.labels > kMostLabels || p.features == 0 || p.rows >= kMostRows ||
      !(lanes_ || counts_bits()) || !split_rows(p))
    return;
  std::vector<std::size_t> order(rows_), cuts;
  for (std::size_t f = 0; f < p.features; ++f) {
    const auto rank = [&](std::size_t r) { return p.rank[f * p.rows + origin_[r]]; };
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [rank](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
    cuts.clear();  // how many rows are before each
    for (std::size_t i = 1; i < rows_; ++i) {
      bool cut = false;
      for (std::uint32_t r = rank(order[i - 1]); r < rank(order[i]) && !cut; ++r)
        cut = p.allowed[f].empty() || p.allowed[f][r];
      if (cut) cuts.push_back(i);
    }
    if (cuts.size() <= kFewCuts || !lanes_)
      for (const std::size_t cut : cuts) add_cut(f, order, cut);
    else
      add_feature(f, order, cuts);
  }
  const std::size_t few = p.features * (p.labels == 2 ? kFewSets : kManySets);
  if (!lanes_ && cut_of_.size() > few) unit_ = 0;  // other ways are quicker
}

void PairLanes::add_cut(std::size_t f, const std::vector<std::size_t>& order, std::size_t before) {
  std::array<std::uint64_t, kWords> left = {};
  for (std::size_t i = 0; i < before; ++i) set_bit(left.data(), order[i]);
  // The first row that counts is on the right, whichever side the feature has it on.
  bool flipped = false;
  for (std::size_t w = kWords; w-- > 0;)
    if (is_[w]) flipped = (left[w] & is_[w] & -is_[w]) != 0;
  for (std::size_t w = 0; w < kWords; ++w) left[w] = is_[w] & (flipped ? ~left[w] : left[w]);
  const auto [known, is_new] = cut_by_left_.emplace(left, cut_of_.size());
  if (is_new) {
    const std::size_t at = cut_of_.size();
    if (at % kCutLanes == 0) left_.resize(left_.size() + kCutLanes * kWords);
    for (std::size_t w = 0; w < kWords; ++w) left_[word_of_cut(at, w)] = left[w];
    cut_of_.emplace_back();
  }
  cut_of_[known->second].push_back({f, flipped});
}

void PairLanes::add_feature(std::size_t f, const std::vector<std::size_t>& order,
                            const std::vector<std::size_t>& cuts) {
  const std::size_t at = features_++, blocks = at / 64 + 1;
  feature_of_.push_back(f);
  // Where there is no row at a place, the one behind the last: it is never asked for.
  row_.resize(features_ * kMostRows, static_cast<std::uint8_t>(rows_));
  for (auto* bytes : {&place_, &cut_}) bytes->resize(features_ * kMostRows);
  row_at_.resize(blocks * rows_ * 64);
  cuts_at_.resize(blocks * rows_);
  std::size_t before = 0;  // cuts
  for (std::size_t i = 0; i < rows_; ++i) {
    const std::size_t here = at / 64 * rows_ + i;
    if (before < cuts.size() && cuts[before] == i) {
      cuts_at_[here - 1] |= std::uint64_t{1} << (at % 64);
      ++before;
    }
    row_at_[here * 64 + at % 64] = static_cast<std::uint8_t>(order[i]);
    row_[at * kMostRows + i] = static_cast<std::uint8_t>(order[i]);
    place_[at * kMostRows + order[i]] = static_cast<std::uint8_t>(i);
    cut_[at * kMostRows + i] = static_cast<std::uint8_t>(before);
  }
}

#ifdef ODT_PAIR_LANES

ODT_SETS_TARGET void PairLanes::Room::take(const PairLanes& lanes, const std::uint64_t* bits,
                                           std::size_t words) {
  std::fill(all_, all_ + kWords, 0);
  std::copy(bits, bits + std::min(words, kWords), all_);
  for (const auto& [row, other] : lanes.more_)
    if (has_bit(bits, row)) set_bit(all_, other);
  base_ = 0;
  for (const auto& [row, loss] : lanes.base_)
    if (has_bit(bits, row)) base_ += loss;
  rows_ = labels_ = 0;
  for (int k = 0; k < lanes.labels_; ++k) {
    int many = 0;
    for (std::size_t w = 0; w < kWords; ++w) {
      is_[labels_][w] = all_[w] & lanes.of_[k][w];
      many += count_bits(is_[labels_][w]);
    }
    rows_ += many;
    if (many > 0) of_[labels_++] = many;
  }
  for (std::size_t w = 0; w < kWords; ++w) all_[w] &= lanes.is_[w];
}

bool PairLanes::Room::signs() const {
  return labels_ == 2 && std::max(of_[0], of_[1]) <= kMostOfASign;
}

// Those of some rows that are in a set, by their numbers in it, of which so many are in the words
// before each. The words of the rows lie so far apart.
template <int R>
ODT_SETS_TARGET inline void squeeze(const std::uint64_t* rows, std::size_t apart,
                                    const std::uint64_t* set, const int* behind,
                                    std::uint64_t* packed) {
  std::fill(packed, packed + PairLanes::kWords + 1, 0);
  for (int w = 0; w < R; ++w) {
    const std::uint64_t here = _pext_u64(rows[static_cast<std::size_t>(w) * apart], set[w]);
    const int at = behind[w] / 64, shift = behind[w] % 64;
    packed[at] |= here << shift;
    if (shift) packed[at + 1] |= here >> (64 - shift);
  }
}

// The places behind which a cut stands, among 64 from this one on.
ODT_PAIR_TARGET std::uint64_t PairLanes::Room::cuts_from(std::size_t f, std::size_t place) const {
  const std::size_t most = static_cast<std::size_t>(rows_) - 1;
  if (place >= most) return 0;
  const std::uint8_t* cut = cut_.data() + f * kPairRoom + place;
  return _mm512_cmpneq_epi8_mask(load_bytes(cut), load_bytes(cut + 1)) &
         (most - place < 64 ? (std::uint64_t{1} << (most - place)) - 1 : ~std::uint64_t{0});
}

// By place what is there by feature. Tables of 128 rows are looked up without the first bit of a
// number, which says meanwhile where cuts are.
ODT_PAIR_TARGET void PairLanes::Room::lay_by_place(std::size_t features) {
  const std::size_t n = static_cast<std::size_t>(rows_);
  const bool few = n <= 128;
  for (std::size_t from = 0; from < features; from += 64) {
    const std::size_t many = std::min<std::size_t>(64, features - from),
                      first = from / 64 * kPairRows;
    if (!few) std::fill_n(cuts_at_.begin() + static_cast<std::ptrdiff_t>(first), n, 0);
    for (std::size_t i = 0; i < n; i += 64) {
      const std::uint8_t* rows = row_.data() + from * kPairRoom + i;
      alignas(64) std::uint8_t with_cuts[64 * 64];
      for (std::size_t f = 0; f < many; ++f) {
        std::uint64_t cuts = cuts_from(from + f, i);
        const Bytes row = load_bytes(rows + f * kPairRoom);
        _mm512_store_si512(with_cuts + 64 * f,
                           few ? _mm512_mask_add_epi8(row, cuts, row, all_bytes(0x80)) : row);
        for (; !few && cuts; cuts &= cuts - 1)
          cuts_at_[first + i + static_cast<std::size_t>(__builtin_ctzll(cuts))] |= std::uint64_t{1}
                                                                                   << f;
      }
      transpose_bytes(with_cuts, 64, many, n - i, row_at_.data() + (first + i) * 64);
    }
    for (std::size_t i = first; few && i < first + n; ++i)
      cuts_at_[i] = _mm512_movepi8_mask(load_bytes(row_at_.data() + i * 64));
  }
}

// Numbers the rows of the set from 0, in their order, and lays out each feature's order of them.
// They were R words.
template <int R>
ODT_PAIR_TARGET void PairLanes::Room::pack(const PairLanes& lanes) {
  const Bytes nowhere = all_bytes(0xff), first = counted_bytes();
  Bytes number[R];
  int behind[R + 1] = {};  // the rows of the words before
  for (int w = 0; w < R; ++w) {
    number[w] =
        _mm512_mask_expand_epi8(nowhere, all_[w], _mm512_add_epi8(first, all_bytes(behind[w])));
    behind[w + 1] = behind[w] + count_bits(all_[w]);
  }
  for (std::size_t f = 0; f < lanes.features_; ++f) {
    std::uint8_t *row = row_.data() + f * kPairRoom, *place = place_.data() + f * kPairRoom,
                 *cut = cut_.data() + f * kPairRoom;
    int n = 0;
    for (int w = 0; w < R; ++w) {
      const std::size_t from = f * kPairRows + 64 * static_cast<std::size_t>(w);
      const Bytes rows = bytes_at<R>(number, load_bytes(lanes.row_.data() + from));
      const __mmask64 asked = _mm512_cmpneq_epi8_mask(rows, nowhere);
      _mm512_storeu_si512(row + n, _mm512_maskz_compress_epi8(asked, rows));
      _mm512_storeu_si512(cut + n,
                          _mm512_maskz_compress_epi8(asked, load_bytes(lanes.cut_.data() + from)));
      n += count_bits(asked);
      _mm512_storeu_si512(place + behind[w], _mm512_maskz_compress_epi8(
                                                 all_[w], load_bytes(lanes.place_.data() + from)));
    }
  }
  lay_by_place(lanes.features_);
  for (int k = 0; k < labels_; ++k) {
    std::uint64_t packed[kWords + 1] = {};
    for (int w = 0; w < R; ++w) {
      const std::uint64_t here =
          _mm512_movepi8_mask(_mm512_maskz_compress_epi8(all_[w], _mm512_movm_epi8(is_[k][w])));
      packed[behind[w] / 64] |= here << (behind[w] % 64);
      if (behind[w] % 64) packed[behind[w] / 64 + 1] |= here >> (64 - behind[w] % 64);
    }
    std::copy(packed, packed + kWords, is_[k]);
    for (std::size_t w = 0; w < kWords; ++w)
      _mm512_mask_storeu_epi8(label_ + 64 * w, packed[w], all_bytes(k));
  }
  pack_cuts<R>(lanes, behind);
  for (std::size_t w = 0; w < kWords; ++w) {
    all_[w] = 0;
    for (int k = 0; k < labels_; ++k) all_[w] |= is_[k][w];
  }
}

// The cuts that part the rows, of which so many are in the words before each.
template <int R>
ODT_PAIR_TARGET void PairLanes::Room::pack_cuts(const PairLanes& lanes, const int* behind) {
  cut_of_.clear();
  left_.assign((lanes.cut_of_.size() + kCutLanes) / kCutLanes * kCutLanes * kWords, 0);
  for (std::size_t c = 0; c < lanes.cut_of_.size(); ++c) {
    std::uint64_t packed[kWords + 1];
    squeeze<R>(lanes.left_.data() + word_of_cut(c, 0), kCutLanes, all_, behind, packed);
    int before = 0;
    for (std::size_t w = 0; w < kWords; ++w) before += count_bits(packed[w]);
    if (before == 0 || before == rows_) continue;
    for (std::size_t w = 0; w < kWords; ++w) left_[word_of_cut(cut_of_.size(), w)] = packed[w];
    cut_of_.push_back(c);
  }
}

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

// Numbers the rows of the set from 0, in their order, and keeps the cuts that part them: one of
// those that part them alike, with the first row on the right. They were R words.
template <int R>
ODT_SETS_TARGET void PairLanes::Room::pack_sets(const PairLanes& lanes) {
  int behind[R + 1] = {};
  for (int w = 0; w < R; ++w) behind[w + 1] = behind[w] + count_bits(all_[w]);
  std::uint64_t packed[kWords + 1];
  const std::size_t words = (static_cast<std::size_t>(rows_) + 63) / 64;
  const std::size_t cuts = lanes.cut_of_.size();
  left_.resize((cuts + kCutLanes) / kCutLanes * kCutLanes * kWords);
  std::size_t places = 64;
  while (places < 2 * cuts) places *= 2;
  cut_by_rows_.assign(places, 0);
  cut_of_.clear();
  for (std::size_t c = 0; c < cuts; ++c) {
    std::uint64_t left = 0, right = 0;
    for (std::size_t w = 0; w < R; ++w) {
      left |= lanes.left_[word_of_cut(c, w)] & all_[w];
      right |= ~lanes.left_[word_of_cut(c, w)] & all_[w];
    }
    if (left == 0 || right == 0) continue;
    squeeze<R>(lanes.left_.data() + word_of_cut(c, 0), kCutLanes, all_, behind, packed);
    if (packed[0] & 1)
      for (std::size_t w = 0; w < words; ++w) {
        const int rows = std::min(rows_ - 64 * static_cast<int>(w), 64);
        packed[w] ^= ~std::uint64_t{0} >> (64 - rows);
      }
    std::uint64_t place = 0;
    for (std::size_t w = 0; w < words; ++w) {
      place = (place ^ packed[w]) * 0x9e3779b97f4a7c15u;
      place ^= place >> 29;
    }
    const std::size_t at = cut_of_.size();
    bool is_new = false;
    for (place &= places - 1; !is_new; place = (place + 1) & (places - 1)) {
      const std::uint32_t known = cut_by_rows_[place];
      is_new = known == 0;
      bool alike = !is_new;
      for (std::size_t w = 0; w < words && alike; ++w)
        alike = left_[word_of_cut(known - 1, w)] == packed[w];
      if (alike) break;
      if (is_new) cut_by_rows_[place] = static_cast<std::uint32_t>(at + 1);
    }
    if (!is_new) continue;
    for (std::size_t w = 0; w < words; ++w) left_[word_of_cut(at, w)] = packed[w];
    cut_of_.push_back(c);
  }
  for (int k = 0; k < labels_; ++k) {
    squeeze<R>(is_[k], 1, all_, behind, packed);
    std::copy(packed, packed + kWords, is_[k]);
  }
  std::fill(all_, all_ + kWords, 0);
  for (int k = 0; k < labels_; ++k)
    for (std::size_t w = 0; w < kWords; ++w) all_[w] |= is_[k][w];
}

template <int R>
ODT_SETS_TARGET void PairLanes::Room::set_sides_that_may_end(const PairLanes& lanes, int all,
                                                             int best,
                                                             std::vector<Ends>& ends) const {
  using Sets = SetSearch<R>;
  for (std::size_t c = 0; c < lanes.cut_of_.size(); ++c) {
    const std::uint64_t* cut = Sets::cut_at(lanes.left_.data(), c);
    int left = 0, right = 0, before = 0;
    for (int k = 0; k < labels_; ++k) {
      const int here = Sets::count_left(cut, is_[k]);
      left = std::max(left, here);
      right = std::max(right, of_[k] - here);
      before += here;
    }
    const bool up = Sets::may_end(left, before, all, best),
               down = Sets::may_end(right, rows_ - before, all, best);
    for (const auto& [f, flipped] : lanes.cut_of_[c]) {
      ends[f].up |= flipped ? down : up;
      ends[f].down |= flipped ? up : down;
    }
  }
}

namespace {

// For as many words as hold so many rows.
template <class Ask>
auto ask_sets(std::size_t rows, const Ask& ask) {
  if (rows <= 64) return ask(std::integral_constant<int, 1>());
  if (rows <= 128) return ask(std::integral_constant<int, 2>());
  if (rows <= 192) return ask(std::integral_constant<int, 3>());
  return ask(std::integral_constant<int, 4>());
}

template <int R, class Ask>
int ask_labels(const PairLanes& lanes, PairLanes::Room& room, bool signs, const Ask& ask) {
  return signs ? ask(PairSearch<R, true>{lanes, room}) : ask(PairSearch<R, false>{lanes, room});
}

template <class Ask>
int ask_pairs(const PairLanes& lanes, PairLanes::Room& room, bool signs, std::size_t rows,
              const Ask& ask) {
  if (rows <= 64) return ask_labels<1>(lanes, room, signs, ask);
  if (rows <= 128) return ask_labels<2>(lanes, room, signs, ask);
  return ask_labels<4>(lanes, room, signs, ask);
}

}  // namespace

Loss PairLanes::Room::stump(const PairLanes& lanes, const std::uint64_t* bits, std::size_t words) {
  take(lanes, bits, words);
  if (labels_ < 2) return base_;
  if (!lanes.lanes_)
    return base_ + lanes.unit_ * ask_sets(lanes.rows_, [&](auto words) {
             looked_ += lanes.rows_;
             return SetSearch<words>{*this}.stump(lanes.left_.data(), lanes.cut_of_.size(), all_);
           });
  const int lost = ask_pairs(lanes, *this, signs(), lanes.rows_, [&](const auto& search) {
    return search.stump(search.placed(), all_);
  });
  return base_ + lanes.unit_ * lost;
}

void PairLanes::Room::make_room(const PairLanes& lanes) {
  const std::size_t places = (lanes.features_ + 63) / 64 * kPairRows;
  if (cuts_at_.size() >= places) return;
  cuts_at_.resize(places);
  for (auto* features : {&up_, &down_}) features->resize(places / kPairRows);
  for (auto* bytes : {&row_, &place_, &cut_}) bytes->resize(lanes.features_ * kPairRoom);
  row_at_.resize(places * 64);
  sum_at_.resize(places * 64);
}

template <class Ask>
int PairLanes::Room::ask_packed(const PairLanes& lanes, const Ask& ask) {
  make_room(lanes);
  if (lanes.rows_ <= 64)
    pack<1>(lanes);
  else if (lanes.rows_ <= 128)
    pack<2>(lanes);
  else
    pack<4>(lanes);
  return ask_pairs(lanes, *this, signs(), static_cast<std::size_t>(rows_), [&](const auto& search) {
    search.sum_up();
    return ask(search);
  });
}

void PairLanes::Room::sides_that_may_end(const PairLanes& lanes, const std::uint64_t* bits,
                                         std::size_t words, Loss all, Loss best,
                                         std::vector<Ends>& ends) {
  take(lanes, bits, words);
  ends.assign(lanes.asked_, {labels_ < 2, labels_ < 2});
  if (labels_ < 2) return;
  Loss given = 0;  // what rows lose anyway can be less than nothing: they have most labels then
  for (const auto& [row, loss] : lanes.base_)
    if (loss < 0 && has_bit(bits, row)) given -= loss;
  // In units: a side loses less than `best`, and enough of its rows end right.
  const int few = static_cast<int>(std::min<Loss>((best + given - 1) / lanes.unit_ + 1, kPairRows)),
            away = static_cast<int>(
                std::min<Loss>(all < best ? 0 : (all - best) / lanes.unit_, kPairRows));
  if (!lanes.lanes_) {
    ask_sets(lanes.rows_, [&](auto words) {
      set_sides_that_may_end<words>(lanes, few + away, few, ends);
      return 0;
    });
    return;
  }
  ask_packed(lanes, [&](const auto& search) {
    search.sides_that_may_end(few + away, few);
    for (std::size_t c = 0; c < cut_of_.size(); ++c) {
      std::uint64_t rows[kWords];
      search.side_of(c, true, rows);
      const bool up = search.may_end(rows, few + away, few);
      search.side_of(c, false, rows);
      const bool down = search.may_end(rows, few + away, few);
      for (const auto& [f, flipped] : lanes.cut_of_[cut_of_[c]]) {
        ends[f].up |= flipped ? down : up;
        ends[f].down |= flipped ? up : down;
      }
    }
    return 0;
  });
  for (std::size_t f = 0; f < lanes.features_; ++f)
    ends[lanes.feature_of_[f]] = {(up_[f / 64] >> (f % 64) & 1) != 0,
                                  (down_[f / 64] >> (f % 64) & 1) != 0};
}

Loss PairLanes::Room::pair(const PairLanes& lanes, const std::uint64_t* bits, std::size_t words,
                           bool chain, Loss budget) {
  take(lanes, bits, words);
  if (budget < base_) return budget + 1;
  if (labels_ < 2) return base_;
  const Loss room = (budget - base_) / lanes.unit_ + 1;
  int best = rows_ - *std::max_element(of_, of_ + labels_);
  best = static_cast<int>(std::min<Loss>(room, best));
  if (!lanes.lanes_) {
    ask_sets(lanes.rows_, [&](auto words) {
      pack_sets<words>(lanes);
      return 0;
    });
    best = ask_sets(static_cast<std::size_t>(rows_),
                    [&](auto words) { return SetSearch<words>{*this}.pair(chain, best); });
    return std::min(budget + 1, base_ + lanes.unit_ * best);
  }
  best = ask_packed(
      lanes, [&](const auto& search) { return chain ? search.chain(best) : search.both(best); });
  return std::min(budget + 1, base_ + lanes.unit_ * best);
}

#else

Loss PairLanes::Room::stump(const PairLanes&, const std::uint64_t*, std::size_t) { return 0; }
Loss PairLanes::Room::pair(const PairLanes&, const std::uint64_t*, std::size_t, bool, Loss) {
  return 0;
}
void PairLanes::Room::sides_that_may_end(const PairLanes&, const std::uint64_t*, std::size_t, Loss,
                                         Loss, std::vector<Ends>&) {}

#endif

}  // namespace odt
