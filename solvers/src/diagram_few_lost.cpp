#include <algorithm>
#include <cstdint>
#include <numeric>

#include "diagram_furthest.hpp"
#include "odt/few_lost.hpp"
#include "odt/kernels.hpp"

namespace odt {
namespace {

bool few_have_lanes() {
#ifdef ODT_FEW_AVX2
  return may_use(Isa::avx2) && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt") &&
         __builtin_cpu_supports("bmi");
#else
  return false;
#endif
}

}  // namespace

FewLost::FewLost(const LayeredProblem& p) {
  constexpr std::uint8_t kMostCuts = 253;
  constexpr Loss kMostOfARow = 1 << 20;
  std::size_t blocks = (p.features + kLanes - 1) / kLanes;
  if (blocks > 4) blocks = std::max<std::size_t>(blocks, 8);  // as there are searches of
  if (p.labels != 2 || blocks == 0 || blocks > 8 || p.rows >= kRows || !few_have_lanes()) return;
  for (std::size_t r = 0; r < p.rows; ++r) {
    const Loss first = p.loss[2 * r], second = p.loss[2 * r + 1], loss = std::max(first, second);
    if (std::min(first, second) != 0 || loss > kMostOfARow) return;
    label_[r] = first > 0;
    loss_[r] = static_cast<int>(loss);
    if (loss > 0) lose_[r / 64] |= std::uint64_t{1} << (r % 64);
    if (first > 0) second_[r / 64] |= std::uint64_t{1} << (r % 64);
  }
  rows_ = p.rows;
  block_.resize(rows_ * blocks);
  order_.resize(p.features);
  before_.resize(p.features * 256);
  std::vector<std::uint8_t> order(rows_);
  for (std::size_t f = 0; f < p.features; ++f) {
    const std::uint32_t* rank = p.rank.data() + f * p.rows;
    std::iota(order.begin(), order.end(), std::uint8_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [rank](std::uint8_t a, std::uint8_t b) { return rank[a] < rank[b]; });
    Order& o = order_[f];
    std::uint8_t before = 1;
    for (std::size_t i = 0; i < rows_; ++i) {
      const std::size_t r = order[i];
      bool cut = false;
      for (std::uint32_t v = i > 0 ? rank[order[i - 1]] : rank[r]; v < rank[r] && !cut; ++v)
        cut = p.allowed[f].empty() || p.allowed[f][v];
      if (cut && before++ > kMostCuts) return;
      o.byte[i] = static_cast<std::uint8_t>(r / 8 % 16 + (r < 128 ? 0 : 128));
      o.bit[i] = static_cast<std::uint8_t>(1 << (r % 8));
      o.row[i] = order[i];
      o.cuts[i] = before;
    }
    for (std::size_t i = 0; i < rows_; ++i)
      for (std::size_t cut = o.cuts[i] + std::size_t{1}; cut < 256; ++cut)
        before_[f * 256 + cut][o.row[i] / 64] |= std::uint64_t{1} << (o.row[i] % 64);
    for (std::size_t i = 0; i < rows_; ++i) {
      const std::size_t r = o.row[i], second = label_[r];
      std::uint8_t* lanes = block_[r * blocks + f / kLanes].of[second] + f % kLanes;
      lanes[second ? kLanes : 0] = o.cuts[i];
      lanes[second ? 0 : kLanes] = static_cast<std::uint8_t>(255 - o.cuts[i]);
    }
  }
  // Features that fill up a vector: no row of one label lies before one of the other.
  for (std::size_t f = p.features; f < blocks * kLanes; ++f)
    for (Block* block = block_.data() + f / kLanes; block < block_.data() + block_.size();
         block += blocks)
      for (auto& lanes : block->of) lanes[f % kLanes] = lanes[f % kLanes + kLanes] = 128;
  blocks_ = blocks;
}

#ifdef ODT_FEW_AVX2

FewLost::Bits FewLost::asked(const std::uint64_t* bits, std::size_t words) const {
  Bits rows = {};
  for (std::size_t w = 0; w < words; ++w) rows[w] = bits[w] & lose_[w];
  return rows;
}

ODT_FEW_TARGET static __m256i few_of_128(const std::uint64_t* bits) {
  return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bits)));
}

ODT_FEW_TARGET static __m256i load_few(const std::array<std::uint64_t, 4>& bits) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bits.data()));
}

ODT_FEW_TARGET static void store_few(std::array<std::uint64_t, 4>& bits, __m256i from) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(bits.data()), from);
}

ODT_FEW_TARGET static int count_few(const std::array<std::uint64_t, 4>& bits) {
  int sum = 0;
  for (const std::uint64_t word : bits) sum += __builtin_popcountll(word);
  return sum;
}

// The places of these rows.
ODT_FEW_TARGET FewLost::Bits FewLost::placed(const Bits& rows, std::size_t f) const {
  const __m256i low = few_of_128(rows.data()), high = few_of_128(rows.data() + 2),
                other = _mm256_set1_epi8(-128);
  const Order& order = order_[f];
  Bits placed = {};
  for (std::size_t i = 0; i < rows_; i += 32) {
    const __m256i byte = _mm256_load_si256(reinterpret_cast<const __m256i*>(order.byte + i)),
                  bit = _mm256_load_si256(reinterpret_cast<const __m256i*>(order.bit + i));
    const __m256i here = _mm256_and_si256(
        bit, _mm256_or_si256(_mm256_shuffle_epi8(low, byte),
                             _mm256_shuffle_epi8(high, _mm256_xor_si256(byte, other))));
    const __m256i none = _mm256_cmpeq_epi8(here, _mm256_setzero_si256());
    const auto which = ~static_cast<std::uint32_t>(_mm256_movemask_epi8(none));
    placed[i / 64] |= static_cast<std::uint64_t>(which) << (i % 64);
  }
  return placed;
}

// At most E lost.
template <int E, int B>
struct FewSearch {
  static constexpr int kBeyond[] = {0, 256};  // before the first cut, and behind the last one

  using Furthest = FewFurthest<E, B>;

  const FewLost& few;
  FewLost::Bits rows;
  std::uint64_t looked = 0;
  Furthest furthest;

  struct Sides {
    FewLost::Bits rows, always;  // those that lie beyond every side
    std::array<FewLost::Bits, 2 * B * FewLost::kLanes> beyond;

    // Whether one of so many sides ends all these rows.
    ODT_FEW_TARGET bool fits(__m256i wanted, std::size_t sides) const {
      for (std::size_t i = 0; i < sides; ++i)
        if (_mm256_testz_si256(wanted, load_few(beyond[i]))) return true;
      return false;
    }
  };

  // What is listed of them comes later: to clear it first takes longer than some searches.
  FewSearch(const FewLost& few_lost, const FewLost::Bits& asked) : few(few_lost), rows(asked) {}

  // As often as it is lost. Those that are never are not asked for.
  ODT_FEW_TARGET void add(Furthest& so_far, std::size_t r) const {
    const FewLost::Block* row = few.block_.data() + r * B;
    so_far.add(row, few.label_[r]);
    if constexpr (E > 0)
      for (int times = std::min(few.loss_[r], E + 1); times > 1; --times)
        so_far.add(row, few.label_[r]);
  }

  ODT_FEW_TARGET int stump(int most) {
    int lost = 0;
    Furthest so_far;
    so_far.clear();
    for (std::size_t w = 0; w < FewLost::kWords; ++w)
      for (std::uint64_t bits = rows[w]; bits; bits &= bits - 1) {
        add(so_far, 64 * w + static_cast<std::size_t>(__builtin_ctzll(bits)));
        while (so_far.lose_more_than(lost))
          if (++lost > most) return lost;
      }
    return lost;
  }

  // Of a side of a cut: where in the order of a feature its rows lose more than 0, 1, ... with a
  // cut of their own. From its first row on (`Up`), or from its last one back.
  struct Reach {
    int row[E + 1];
    Reach(bool up) { std::fill_n(row, E + 1, kBeyond[up]); }
  };

  template <bool Up>
  ODT_FEW_TARGET static std::size_t take_next(std::uint64_t& bits) {
    const int bit = Up ? __builtin_ctzll(bits) : 63 ^ __builtin_clzll(bits);
    bits ^= std::uint64_t{1} << bit;
    return static_cast<std::size_t>(bit);
  }

  template <bool Up>
  ODT_FEW_TARGET Reach with_a_cut(const FewLost::Order& order, const FewLost::Bits& placed,
                                  int most) {
    Reach reach(Up);
    int lost = 0;
    Furthest so_far;
    so_far.clear();
    for (std::size_t i = 0; i < FewLost::kWords; ++i) {
      const std::size_t w = Up ? i : FewLost::kWords - 1 - i;
      for (std::uint64_t bits = placed[w]; bits;) {
        const std::size_t at = 64 * w + take_next<Up>(bits);
        ++looked;
        add(so_far, order.row[at]);
        while (so_far.lose_more_than(lost)) {
          reach.row[lost] = order.cuts[at];
          if (++lost > most) return reach;
        }
      }
    }
    return reach;
  }

  // The same of rows that end.
  template <bool Up>
  ODT_FEW_TARGET Reach that_end(const FewLost::Order& order, const FewLost::Bits& placed,
                                int most) const {
    Reach reach(Up);
    int lost = 0, of[2] = {};
    for (std::size_t i = 0; i < FewLost::kWords; ++i) {
      const std::size_t w = Up ? i : FewLost::kWords - 1 - i;
      for (std::uint64_t bits = placed[w]; bits;) {
        const std::size_t at = 64 * w + take_next<Up>(bits), r = order.row[at];
        of[few.label_[r]] += few.loss_[r];
        for (; std::min(of[0], of[1]) > lost; ++lost) {
          if (lost > most) return reach;
          reach.row[lost] = order.cuts[at];
        }
      }
    }
    return reach;
  }

  // The least that both sides of a cut lose, where it is below `best`. One reaches so far, the
  // other begins at the other end of the order.
  template <bool Up>
  ODT_FEW_TARGET int meet(const FewLost::Order& order, const FewLost::Bits& placed,
                          const Reach& other, int best) {
    const auto parts = [](int row, int from) { return Up ? row > from : row < from; };
    int lost = 0;
    Furthest so_far;
    so_far.clear();
    for (std::size_t i = 0; i < FewLost::kWords; ++i) {
      const std::size_t w = Up ? i : FewLost::kWords - 1 - i;
      for (std::uint64_t bits = placed[w]; bits;) {
        const std::size_t at = 64 * w + take_next<Up>(bits);
        const int here = order.cuts[at];
        if (parts(here, other.row[0])) return std::min(best, lost);
        ++looked;
        add(so_far, order.row[at]);
        while (so_far.lose_more_than(lost)) {
          for (int j = 0; lost + j < best; ++j)
            if (parts(here, other.row[j])) best = lost + j;
          if (++lost >= best) return best;
        }
      }
    }
    return std::min(best, lost);
  }

  int pair(int best) {
    for (std::size_t f = 0; f < few.order_.size() && best > 0; ++f) {
      const FewLost::Order& order = few.order_[f];
      const FewLost::Bits placed = few.placed(rows, f);
      best = meet<false>(order, placed, with_a_cut<true>(order, placed, best - 1), best);
    }
    return best;
  }

  int chain(int best) {
    add_all();
    pay_.fill(0);
    bool any = false;
    for (int lost = 0; lost <= E; ++lost)
      for (int label = 0; label < 2; ++label) {
        list_sides(label, lost);
        any |= match_sides(label, E - lost);
      }
    if (E == 0 || !any) return any ? 0 : best;
    for (std::size_t f = 0; f < few.order_.size() && best > 0; ++f) {
      if (pay_[2 * f] + pay_[2 * f + 1] == 0) continue;
      const FewLost::Order& order = few.order_[f];
      const FewLost::Bits placed = few.placed(rows, f);
      if (pay_[2 * f])
        best = meet<false>(order, placed, that_end<true>(order, placed, best - 1), best);
      if (best > 0 && pay_[2 * f + 1])
        best = meet<true>(order, placed, that_end<false>(order, placed, best - 1), best);
    }
    return best;
  }

  ODT_FEW_TARGET void add_all() {
    Furthest all;
    all.clear();
    for (std::size_t w = 0; w < FewLost::kWords; ++w)
      for (std::uint64_t bits = rows[w]; bits; bits &= bits - 1, ++looked)
        add(all, 64 * w + static_cast<std::size_t>(__builtin_ctzll(bits)));
    furthest = all;
  }

  std::size_t sides() const { return 2 * few.order_.size(); }

  // Of a feature the cuts before the first row of a label, or the last one, but for so many.
  std::size_t first(int label, std::size_t f, int lost) const {
    return 255u - lane(label, f, lost, label == 0);
  }
  std::size_t last(int label, std::size_t f, int lost) const {
    return lane(label, f, lost, label != 0);
  }
  std::size_t lane(int label, std::size_t f, int lost, bool second) const {
    const auto* lanes =
        reinterpret_cast<const std::uint8_t*>(&furthest.of[label][lost][f / FewLost::kLanes]);
    return lanes[f % FewLost::kLanes + (second ? FewLost::kLanes : 0)];
  }

  // A side of a feature may end with a label, but for so many of the other one. Lists for each,
  // from its first row on or from its last one back, the rows of the label that lie beyond that.
  ODT_FEW_TARGET void list_sides(int label, int lost) {
    Sides& of = of_label[label];
    for (std::size_t w = 0; w < FewLost::kWords; ++w)
      of.rows[w] = rows[w] & (label ? few.second_[w] : ~few.second_[w]);
    const __m256i all = load_few(of.rows);
    __m256i always = all;
    for (std::size_t f = 0; f < few.order_.size(); ++f) {
      const FewLost::Bits* before = few.before_.data() + f * 256;
      const __m256i beyond[] = {
          _mm256_andnot_si256(load_few(before[first(1 - label, f, lost)]), all),
          _mm256_and_si256(load_few(before[last(1 - label, f, lost) + 1]), all)};
      store_few(of.beyond[2 * f], beyond[0]);
      store_few(of.beyond[2 * f + 1], beyond[1]);
      always = _mm256_and_si256(always, _mm256_and_si256(beyond[0], beyond[1]));
    }
    store_few(of.always, always);
  }

  // Where one side ends with a label and another cut parts the others, at most so many rows of it
  // may be lost: those that lie beyond both sides. Marks sides that may be one of the two, and
  // tells whether there are any; where none may be lost, that is all there is to it.
  ODT_FEW_TARGET bool match_sides(int label, int most) {
    const Sides& of = of_label[label];
    if (count_few(of.always) > most) return false;
    const int together = count_few(of.rows) + most;
    int many[2 * B * FewLost::kLanes];
    for (std::size_t i = 0; i < sides(); ++i) many[i] = count_few(of.beyond[i]);
    bool any = false;
    for (std::size_t i = 0; i < sides(); ++i) {
      if (2 * many[i] > together) continue;  // one of the two has at most half
      if (E == 0) {
        if (of.fits(load_few(of.beyond[i]), sides())) return true;
        continue;
      }
      for (std::size_t j = 0; j < sides(); ++j) {
        if (many[i] + many[j] > together || pay_[i] + pay_[j] == 2) continue;
        FewLost::Bits both;
        for (std::size_t w = 0; w < FewLost::kWords; ++w)
          both[w] = of.beyond[i][w] & of.beyond[j][w];
        if (count_few(both) > most) continue;
        any = true;
        pay_[i] = pay_[j] = 1;
      }
    }
    return any;
  }

  // Whether a set contains one of these. (A lambda would be compiled without the instructions.)
  ODT_FEW_TARGET static bool contains_any(const FewLost::Bits& all, const FewLost::Bits* some,
                                          std::size_t many) {
    const __m256i here = load_few(all);
    for (std::size_t i = 0; i < many; ++i)
      if (_mm256_testc_si256(here, load_few(some[i]))) return true;
    return false;
  }

  // Of some sets the least ones, that contain no other; those of few rows come first.
  ODT_FEW_TARGET static void keep_least(std::vector<FewLost::Bits>& sets) {
    std::array<std::uint16_t, FewLost::kRows + 2> from = {};
    std::vector<std::uint16_t> many(sets.size());
    for (std::size_t i = 0; i < sets.size(); ++i) {
      many[i] = static_cast<std::uint16_t>(count_few(sets[i]));
      ++from[many[i] + 1u];
    }
    std::partial_sum(from.begin(), from.end(), from.begin());
    std::vector<FewLost::Bits> in_order(sets.size());
    for (std::size_t i = 0; i < sets.size(); ++i) in_order[from[many[i]]++] = sets[i];
    std::size_t kept = 0;
    for (const FewLost::Bits& one : in_order)
      if (!contains_any(one, sets.data(), kept)) sets[kept++] = one;
    sets.resize(kept);
  }

  // The rows of a label that lie beyond a side which ends with it and loses nothing.
  ODT_FEW_TARGET std::vector<FewLost::Bits> least_beyond(int label) {
    list_sides(label, 0);
    const auto& beyond = of_label[label].beyond;
    std::vector<FewLost::Bits> least(beyond.begin(), beyond.begin() + sides());
    keep_least(least);
    return least;
  }

  // Those that lose most come first, as they are refuted soonest.
  ODT_FEW_TARGET void list_rests(std::vector<FewLost::Rest>& found) {
    add_all();
    const __m256i all = load_few(rows);
    for (int lost = 0; lost <= E; ++lost) {
      std::vector<FewLost::Bits> least;
      for (int label = 0; label < 2; ++label)
        for (std::size_t f = 0; f < few.order_.size(); ++f) {
          const FewLost::Bits* before = few.before_.data() + f * 256;
          store_few(least.emplace_back(),
                    _mm256_andnot_si256(load_few(before[first(1 - label, f, lost)]), all));
          store_few(least.emplace_back(),
                    _mm256_and_si256(load_few(before[last(1 - label, f, lost) + 1]), all));
        }
      keep_least(least);
      std::vector<FewLost::Bits> before;
      for (const FewLost::Rest& r : found) before.push_back(r.rows);
      for (const FewLost::Bits& rest : least)
        if (!contains_any(rest, before.data(), before.size())) found.push_back({lost, rest});
    }
    std::reverse(found.begin(), found.end());
  }

  // Whether three of these sets, those of few rows first, have none of so many rows in common: they
  // leave out each of them at least once.
  ODT_FEW_TARGET static bool three_part(const std::vector<FewLost::Bits>& sets, int rows) {
    std::vector<int> left_out;
    __m256i always = _mm256_set1_epi8(-1);
    for (const FewLost::Bits& one : sets) {
      left_out.push_back(rows - count_few(one));
      always = _mm256_and_si256(always, load_few(one));
    }
    if (!_mm256_testz_si256(always, always)) return false;
    for (std::size_t i = 0; i < sets.size() && 3 * left_out[i] >= rows; ++i)
      for (std::size_t j = i; j < sets.size() && left_out[i] + 2 * left_out[j] >= rows; ++j) {
        const __m256i two = _mm256_and_si256(load_few(sets[i]), load_few(sets[j]));
        const int least = rows - left_out[i] - left_out[j];
        for (std::size_t k = j; k < sets.size() && left_out[k] >= least; ++k)
          if (_mm256_testz_si256(two, load_few(sets[k]))) return true;
      }
    return false;
  }

  // What ends is twice of one label, and so is a side of the last cut: three sides that have no
  // row of it beyond all. Or it is of one label first and then of the other one, for which only the
  // rows beyond the first side count.
  ODT_FEW_TARGET bool chain_of_three() {
    add_all();
    const std::vector<FewLost::Bits> beyond[] = {least_beyond(0), least_beyond(1)};
    for (int label = 0; label < 2; ++label)
      if (three_part(beyond[label], count_few(of_label[label].rows))) return true;
    for (int label = 0; label < 2; ++label)
      for (const FewLost::Bits& left : beyond[label]) {
        Furthest of_left;
        of_left.clear();
        for (std::size_t w = 0; w < FewLost::kWords; ++w)
          for (std::uint64_t bits = left[w]; bits; bits &= bits - 1, ++looked)
            add(of_left, 64 * w + static_cast<std::size_t>(__builtin_ctzll(bits)));
        std::copy_n(of_left.of[label][0], B, furthest.of[label][0]);
        list_sides(1 - label, 0);
        looked += sides();
        if (match_sides(1 - label, 0)) return true;
      }
    return false;
  }

  // Whether these rows and others may lose nothing where a side of a cut of each ends, and one cut
  // parts what is left of both.
  ODT_FEW_TARGET bool meets(FewSearch& others) {
    FewSearch all(few, {});
    for (std::size_t w = 0; w < FewLost::kWords; ++w) all.rows[w] = rows[w] | others.rows[w];
    for (int label = 0; label < 2; ++label)
      for (int b = 0; b < B; ++b)
        all.furthest.of[label][0][b] =
            _mm256_max_epu8(furthest.of[label][0][b], others.furthest.of[label][0][b]);
    for (int label = 0; label < 2; ++label) {  // what ends is of one label
      list_sides(label, 0);
      others.list_sides(label, 0);
      all.list_sides(label, 0);
      for (std::size_t i = 0; i < sides(); ++i) {
        const __m256i beyond = load_few(all.of_label[label].beyond[i]);
        if (of_label[label].fits(beyond, sides()) && others.of_label[label].fits(beyond, sides()))
          return true;
      }
    }
    for (int label = 0; label < 2; ++label)  // or what ends of these is of this label
      for (std::size_t f = 0; f < few.order_.size(); ++f)
        for (const bool down : {false, true}) {
          if (down ? others.first(label, f, 0) <= last(1 - label, f, 0)
                   : others.last(label, f, 0) >= first(1 - label, f, 0))
            continue;
          const Sides &here = of_label[label], &there = others.of_label[1 - label];
          if (here.fits(load_few(here.beyond[2 * f + down]), sides()) &&
              there.fits(load_few(there.beyond[2 * f + !down]), sides()))
            return true;
        }
    return false;
  }

  Sides of_label[2];
  std::array<std::uint8_t, 2 * B * FewLost::kLanes> pay_;
};

namespace {

template <int E, class Ask>
int ask_few_blocks(std::size_t blocks, const Ask& ask) {
  using std::integral_constant;
  const integral_constant<int, E> most;
  if (blocks == 1) return ask(most, integral_constant<int, 1>());
  if (blocks == 2) return ask(most, integral_constant<int, 2>());
  if (blocks == 3) return ask(most, integral_constant<int, 3>());
  if (blocks == 4) return ask(most, integral_constant<int, 4>());
  return ask(most, integral_constant<int, 8>());
}

template <class Ask>
int ask_few(std::size_t blocks, Loss budget, const Ask& ask) {
  if (budget == 0) return ask_few_blocks<0>(blocks, ask);
  if (budget == 1) return ask_few_blocks<1>(blocks, ask);
  if (budget == 2) return ask_few_blocks<2>(blocks, ask);
  return ask_few_blocks<3>(blocks, ask);
}

}  // namespace

Loss FewLost::stump(const std::uint64_t* bits, std::size_t words, Loss budget) const {
  if (budget < 0) return 0;
  return ask_few(blocks_, budget, [&](auto most, auto blocks) {
    FewSearch<most, blocks> search(*this, asked(bits, words));
    return search.stump(most);
  });
}

Loss FewLost::pair(const std::uint64_t* bits, std::size_t words, Loss budget,
                   std::uint64_t& looked) const {
  if (budget < 0) return 0;
  return ask_few(blocks_, budget, [&](auto most, auto blocks) {
    FewSearch<most, blocks> search(*this, asked(bits, words));
    const int best = search.pair(most + 1);
    looked += search.looked;
    return best;
  });
}

Loss FewLost::chain(const std::uint64_t* bits, std::size_t words, Loss budget,
                    std::uint64_t& looked) const {
  if (budget < 0) return 0;
  return ask_few(blocks_, budget, [&](auto most, auto blocks) {
    FewSearch<most, blocks> search(*this, asked(bits, words));
    const int best = search.chain(most + 1);
    looked += search.looked;
    return best;
  });
}

bool FewLost::chain_of_three(const std::uint64_t* bits, std::size_t words,
                             std::uint64_t& looked) const {
  const auto ask = [&](auto most, auto blocks) {
    FewSearch<most, blocks> search(*this, asked(bits, words));
    const bool may = search.chain_of_three();
    looked += search.looked;
    return static_cast<int>(may);
  };
  return ask_few_blocks<0>(blocks_, ask) != 0;
}

std::vector<FewLost::Rest> FewLost::rests(const std::uint64_t* bits, std::size_t words,
                                          Loss most) const {
  std::vector<Rest> found;
  ask_few(blocks_, most, [&](auto lost, auto blocks) {
    FewSearch<lost, blocks> search(*this, asked(bits, words));
    search.list_rests(found);
    return 0;
  });
  return found;
}

bool FewLost::may_meet(const std::uint64_t* bits, const std::uint64_t* others,
                       std::size_t words) const {
  const auto ask = [&](auto, auto blocks) {
    FewSearch<0, blocks> search(*this, asked(bits, words)), other(*this, asked(others, words));
    search.add_all();
    other.add_all();
    return static_cast<int>(search.meets(other));
  };
  return ask_few_blocks<0>(blocks_, ask) != 0;
}

#else

Loss FewLost::stump(const std::uint64_t*, std::size_t, Loss) const { return 0; }
Loss FewLost::pair(const std::uint64_t*, std::size_t, Loss, std::uint64_t&) const { return 0; }
Loss FewLost::chain(const std::uint64_t*, std::size_t, Loss, std::uint64_t&) const { return 0; }
bool FewLost::chain_of_three(const std::uint64_t*, std::size_t, std::uint64_t&) const {
  return true;
}
std::vector<FewLost::Rest> FewLost::rests(const std::uint64_t*, std::size_t, Loss) const {
  return {};
}
bool FewLost::may_meet(const std::uint64_t*, const std::uint64_t*, std::size_t) const {
  return true;
}

#endif

}  // namespace odt
