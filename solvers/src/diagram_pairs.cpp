#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>

#include "diagram_pair_search.hpp"
#include "diagram_sets.hpp"
#include "odt/kernels.hpp"
#include "odt/pair_lanes.hpp"

namespace odt {
namespace {

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

bool counts_cuts() {
#ifdef ODT_SETS_TARGET
  return may_use(Isa::avx2) && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
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
      }
    }
    if (base != 0) base_.emplace_back(r, base);
  }
  rows_ = rows;
  unit_ = unit;
  return true;
}

PairLanes::PairLanes(const LayeredProblem& p) : labels_(p.labels), asked_(p.features) {
  const bool bytes = pairs_have_bytes();
  if (p.labels < 2 || p.labels > kMostLabels || p.features == 0 || p.rows >= kMostRows ||
      !(bytes || counts_cuts()) || !split_rows(p))
    return;
  // Tells each feature's order of the rows, and how many of them are before each cut.
  const auto each = [&](const auto& tell) {
    std::vector<std::size_t> order(rows_), cuts;
    for (std::size_t f = 0; f < p.features; ++f) {
      const auto rank = [&](std::size_t r) { return p.rank[f * p.rows + origin_[r]]; };
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(),
                       [rank](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
      cuts.clear();
      for (std::size_t i = 1; i < rows_; ++i) {
        bool cut = false;
        for (std::uint32_t r = rank(order[i - 1]); r < rank(order[i]) && !cut; ++r)
          cut = p.allowed[f].empty() || p.allowed[f][r];
        if (cut) cuts.push_back(i);
      }
      tell(f, order, cuts);
    }
  };
  using Places = std::vector<std::size_t>;
  std::size_t many = 0;
  each([&](std::size_t, const Places&, const Places& cuts) { many += cuts.size(); });
  const bool few = many <= p.features * (bytes || p.labels == 2 ? kFewSets : kManySets);
  lanes_ = bytes && !(few && counts_cuts());
  if (!lanes_ && !few) {
    unit_ = 0;  // other ways are quicker
    return;
  }
  each([&](std::size_t f, const Places& order, const Places& cuts) {
    if (lanes_ && cuts.size() > kFewCuts)
      add_feature(f, order, cuts);
    else
      for (const std::size_t cut : cuts) add_cut(f, order, cut);
  });
  if (lanes_) return;
  std::copy(is_, is_ + kWords, cuts_.rows.begin());
  cuts_.cut.resize(cut_of_.size());
  std::iota(cuts_.cut.begin(), cuts_.cut.end(), std::size_t{0});
  lay(cuts_);
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

// Eight rows of 32 cuts at once.
ODT_SETS_TARGET void PairLanes::lay(Cuts& cuts) const {
  cuts.stride = (cuts.many() + kCutBlock - 1) / kCutBlock * kCutBlock;
  cuts.left.resize(std::max(cuts.left.size(), rows_ * cuts.stride));
  for (std::size_t eight = 0; eight < kWords * 8; ++eight) {
    const std::size_t word = eight / 8, shift = eight % 8 * 8;
    const std::uint64_t rows = cuts.rows[word] >> shift & 0xff;
    if (rows == 0) continue;
    for (std::size_t from = 0; from < cuts.many(); from += kCutBlock) {
      alignas(32) std::uint8_t bytes[kCutBlock] = {};
      const std::size_t many = std::min(kCutBlock, cuts.many() - from);
      for (std::size_t i = 0; i < many; ++i)
        bytes[i] = static_cast<std::uint8_t>(left_[word_of_cut(cuts.cut[from + i], word)] >> shift);
      const __m256i here = _mm256_load_si256(reinterpret_cast<const __m256i*>(bytes));
      for (std::uint64_t left = rows; left; left &= left - 1) {
        const std::size_t row = static_cast<std::size_t>(__builtin_ctzll(left));
        const __m256i bit = _mm256_set1_epi8(static_cast<char>(1 << row));
        _mm256_storeu_si256(
            reinterpret_cast<__m256i*>(cuts.left.data() + (8 * eight + row) * cuts.stride + from),
            _mm256_cmpeq_epi8(_mm256_and_si256(here, bit), bit));
      }
    }
  }
}

// Those of the lowest level whose rows hold the ones that are asked for.
const PairLanes::Cuts& PairLanes::Room::kept_cuts(const PairLanes& lanes) const {
  const auto kept =
      std::find_if(kept_.rbegin(), kept_.rend(), [&](const Cuts& cuts) { return cuts.has(all_); });
  return kept == kept_.rend() ? lanes.cuts_ : *kept;
}

void PairLanes::Room::keep_cuts(const PairLanes& lanes, std::size_t level,
                                const std::uint64_t* bits, std::size_t words) {
  if (lanes.lanes_ || lanes.cuts_.blocks() < 2) return;
  take(lanes, bits, words);
  if (labels_ < 2) return;
  if (kept_.size() <= level) kept_.resize(level + 1);
  const Cuts& from = kept_cuts(lanes);
  std::vector<std::size_t> cuts;
  std::size_t places = 64;
  while (places < 2 * from.many()) places *= 2;
  cut_by_rows_.assign(places, 0);
  parts_.clear();
  for (const std::size_t c : from.cut) {
    std::array<std::uint64_t, kWords> left, right;
    std::uint64_t on_left = 0, on_right = 0, place = 0;
    bool flips = false;  // the first row is on the right
    for (std::size_t w = kWords; w-- > 0;) {
      on_left |= left[w] = all_[w] & lanes.left_[word_of_cut(c, w)];
      on_right |= right[w] = all_[w] & ~left[w];
      if (all_[w]) flips = (left[w] & all_[w] & -all_[w]) != 0;
    }
    if (on_left == 0 || on_right == 0) continue;
    if (flips) left = right;
    for (const std::uint64_t word : left) {
      place = (place ^ word) * 0x9e3779b97f4a7c15u;
      place ^= place >> 29;
    }
    for (place &= places - 1; cut_by_rows_[place]; place = (place + 1) & (places - 1))
      if (parts_[cut_by_rows_[place] - 1] == left) break;
    if (cut_by_rows_[place]) continue;
    parts_.push_back(left);
    cuts.push_back(c);
    cut_by_rows_[place] = static_cast<std::uint32_t>(parts_.size());
  }
  Cuts& kept = kept_[level];
  std::copy(all_, all_ + kWords, kept.rows.begin());
  kept.cut = std::move(cuts);
  lanes.lay(kept);
}

namespace {

// For so many labels.
template <class Ask>
int ask_sets(int labels, const Ask& ask) {
  if (labels == 2) return ask(std::integral_constant<int, 2>());
  if (labels == 3) return ask(std::integral_constant<int, 3>());
  if (labels == 4) return ask(std::integral_constant<int, 4>());
  return ask(std::integral_constant<int, PairLanes::kMostLabels>());
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

// What is lost at least where rows end at so many places: those of the other labels.
Loss PairLanes::Room::least_of(const PairLanes& lanes, int ends) const {
  int of[kMostLabels];
  std::copy(of_, of_ + labels_, of);
  std::sort(of, of + labels_, std::greater<int>());
  const int others = std::accumulate(of + std::min(ends, labels_), of + labels_, 0);
  return base_ + lanes.unit_ * others;
}

Loss PairLanes::Room::stump(const PairLanes& lanes, const std::uint64_t* bits, std::size_t words,
                            Loss budget) {
  take(lanes, bits, words);
  if (labels_ < 2) return base_;
  if (const Loss least = least_of(lanes, 2); least > budget) return least;
  if (!lanes.lanes_)
    return base_ + lanes.unit_ * ask_sets(labels_, [&](auto labels) {
                     looked_ += lanes.rows_;
                     return SetSearch<labels>{lanes, *this, kept_cuts(lanes)}.stump();
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
    ask_sets(labels_, [&](auto labels) {
      SetSearch<labels>{lanes, *this, lanes.cuts_}.sides_that_may_end(few + away, few, ends);
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
  if (least_of(lanes, chain ? 3 : 4) > budget) return budget + 1;
  const Loss room = (budget - base_) / lanes.unit_ + 1;
  int best = rows_ - *std::max_element(of_, of_ + labels_);
  best = static_cast<int>(std::min<Loss>(room, best));
  if (!lanes.lanes_) {
    best = ask_sets(labels_, [&](auto labels) {
      const SetSearch<labels> search{lanes, *this, kept_cuts(lanes)};
      return chain ? search.chain(best) : search.both(best);
    });
    return std::min(budget + 1, base_ + lanes.unit_ * best);
  }
  best = ask_packed(
      lanes, [&](const auto& search) { return chain ? search.chain(best) : search.both(best); });
  return std::min(budget + 1, base_ + lanes.unit_ * best);
}

#else

Loss PairLanes::Room::stump(const PairLanes&, const std::uint64_t*, std::size_t, Loss) { return 0; }
Loss PairLanes::Room::pair(const PairLanes&, const std::uint64_t*, std::size_t, bool, Loss) {
  return 0;
}
void PairLanes::Room::sides_that_may_end(const PairLanes&, const std::uint64_t*, std::size_t, Loss,
                                         Loss, std::vector<Ends>&) {}
void PairLanes::Room::keep_cuts(const PairLanes&, std::size_t, const std::uint64_t*, std::size_t) {}
void PairLanes::lay(Cuts&) const {}

#endif

}  // namespace odt
