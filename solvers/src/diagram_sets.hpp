// One cut of some rows, and two layers of cuts, where each cut is a set of rows: a byte for each
// cut says whether a row is left of it, and 32 are counted at once. Of diagram_pairs.cpp only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "odt/pair_lanes.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define ODT_SETS_TARGET __attribute__((target("avx2,popcnt,bmi2")))

namespace odt {

// Of so many labels, which the rows that the room has taken are of.
template <int K>
struct SetSearch {
  using Vector = __m256i;
  static constexpr std::size_t kWords = PairLanes::kWords, kBlock = PairLanes::kCutBlock;

  // Some of the rows, those of each label one behind the other.
  struct Rows {
    std::uint8_t row[PairLanes::kMostRows];
    int end[K], of[K], many;
    int right() const { return *std::max_element(of, of + K); }  // with one label
  };

  const PairLanes& lanes;
  PairLanes::Room& room;
  const PairLanes::Cuts& cuts;
  Rows all = {};

  ODT_SETS_TARGET SetSearch(const PairLanes& of, PairLanes::Room& in, const PairLanes::Cuts& by)
      : lanes(of), room(in), cuts(by) {
    list_all();
  }

  ODT_SETS_TARGET static Vector load(const std::uint8_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const Vector*>(from));
  }
  ODT_SETS_TARGET static void store(std::uint8_t* to, Vector v) {
    _mm256_storeu_si256(reinterpret_cast<Vector*>(to), v);
  }
  ODT_SETS_TARGET static Vector all_of(int value) {
    return _mm256_set1_epi8(static_cast<char>(value));
  }
  // Of which bytes the first is at least the second, without signs.
  ODT_SETS_TARGET static std::uint32_t at_least(Vector a, Vector b) {
    return static_cast<std::uint32_t>(
        _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_max_epu8(a, b), a)));
  }
  ODT_SETS_TARGET static int most(Vector v) {
    __m128i of = _mm_max_epu8(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    of = _mm_max_epu8(of, _mm_srli_epi16(of, 8));  // of two bytes, in the lower one
    return 255 - (_mm_cvtsi128_si32(_mm_minpos_epu16(
                      _mm_sub_epi16(_mm_set1_epi16(255), _mm_and_si128(of, _mm_set1_epi16(255))))) &
                  255);
  }

  ODT_SETS_TARGET void list_all() {
    int n = 0;
    for (int k = 0; k < K; ++k) {
      for (std::size_t w = 0; w < kWords; ++w)
        for (std::uint64_t bits = room.is_[k][w]; bits; bits &= bits - 1)
          all.row[n++] = static_cast<std::uint8_t>(64 * w + __builtin_ctzll(bits));
      all.end[k] = n;
      all.of[k] = room.of_[k];
    }
    all.many = n;
  }

  // Those on a side of a cut.
  void list(std::size_t cut, bool left, Rows& rows) const {
    const std::uint8_t* here = cuts.left.data() + cut;
    const int side = left ? 1 : 0;
    int n = 0, i = 0;
    for (int k = 0; k < K; ++k) {
      const int before = n;
      for (; i < all.end[k]; ++i) {
        rows.row[n] = all.row[i];
        n += (here[all.row[i] * cuts.stride] & 1) == side;
      }
      rows.end[k] = n;
      rows.of[k] = n - before;
    }
    rows.many = n;
  }

  // The rows of each label on the left of two blocks of cuts, or of the last one; how many blocks.
  ODT_SETS_TARGET std::size_t count(const Rows& rows, std::size_t block, Vector (*of)[K]) const {
    const std::uint8_t* left = cuts.left.data() + block * kBlock;
    const bool two = block + 1 < cuts.blocks();
    int i = 0;
    for (int k = 0; k < K; ++k) {
      Vector sum = _mm256_setzero_si256(), next = sum;
      if (two)
        for (; i < rows.end[k]; ++i) {
          const std::uint8_t* here = left + rows.row[i] * cuts.stride;
          sum = _mm256_sub_epi8(sum, load(here));
          next = _mm256_sub_epi8(next, load(here + kBlock));
        }
      else
        for (; i < rows.end[k]; ++i)
          sum = _mm256_sub_epi8(sum, load(left + rows.row[i] * cuts.stride));
      of[0][k] = sum;
      of[1][k] = next;
    }
    return two ? 2 : 1;
  }

  // Of so many rows of each label, and those left of cuts, how many are right with a cut.
  ODT_SETS_TARGET static Vector right_of(const int* of, const Vector* left) {
    Vector on_left = left[0], on_right = _mm256_sub_epi8(all_of(of[0]), left[0]);
#pragma GCC unroll 5
    for (int k = 1; k < K; ++k) {
      on_left = _mm256_max_epu8(on_left, left[k]);
      on_right = _mm256_max_epu8(on_right, _mm256_sub_epi8(all_of(of[k]), left[k]));
    }
    return _mm256_add_epi8(on_left, on_right);
  }

  ODT_SETS_TARGET static Vector sum_of(const Vector* of) {
    Vector sum = of[0];
#pragma GCC unroll 5
    for (int k = 1; k < K; ++k) sum = _mm256_add_epi8(sum, of[k]);
    return sum;
  }

  // What rows lose at least that end at two places, of so many of each label: all others.
  ODT_SETS_TARGET static Vector beside_two(const Vector* of) {
    Vector most = of[0], second = _mm256_setzero_si256();
#pragma GCC unroll 5
    for (int k = 1; k < K; ++k) {
      second = _mm256_max_epu8(second, _mm256_min_epu8(most, of[k]));
      most = _mm256_max_epu8(most, of[k]);
    }
    return _mm256_sub_epi8(sum_of(of), _mm256_add_epi8(most, second));
  }

  // What all rows lose with one cut.
  ODT_SETS_TARGET int stump() const {
    Vector right = all_of(all.right()), left[2][K];
    for (std::size_t b = 0; b < cuts.blocks(); b += 2)
      for (std::size_t many = count(all, b, left), i = 0; i < many; ++i)
        right = _mm256_max_epu8(right, right_of(all.of, left[i]));
    return all.many - most(right);
  }

  // The same; keeps how many of each label are on the left of all cuts.
  ODT_SETS_TARGET int count_all() const {
    room.count_.resize(cuts.stride * K);
    room.apart_.resize(cuts.stride);
    Vector right = all_of(all.right()), left[2][K];
    for (std::size_t b = 0; b < cuts.blocks(); b += 2)
      for (std::size_t many = count(all, b, left), i = 0; i < many; ++i) {
        for (int k = 0; k < K; ++k) store(count_at(b + i, k), left[i][k]);
        store(room.apart_.data() + (b + i) * kBlock, sum_of(left[i]));
        right = _mm256_max_epu8(right, right_of(all.of, left[i]));
      }
    return all.many - most(right);
  }
  std::uint8_t* count_at(std::size_t block, int label) const {
    return room.count_.data() + (block * K + static_cast<std::size_t>(label)) * kBlock;
  }

  // How many of the rows are left of a cut.
  int left_of(std::size_t cut) const {
    int many = 0;
    for (int k = 0; k < K; ++k) many += count_at(cut / kBlock, k)[cut % kBlock];
    return many;
  }

  // What some of the rows and all others lose, with a cut each. How many rows of each cut are not
  // on the side that these are on goes to `apart_`.
  ODT_SETS_TARGET int sides(const Rows& rows) const {
    int others[K];
    for (int k = 0; k < K; ++k) others[k] = all.of[k] - rows.of[k];
    Vector right = all_of(rows.right()),
           right_there = all_of(*std::max_element(others, others + K));
    Vector left[2][K], there[K];
    for (std::size_t b = 0; b < cuts.blocks(); b += 2)
      for (std::size_t many = count(rows, b, left), i = 0; i < many; ++i) {
#pragma GCC unroll 5
        for (int k = 0; k < K; ++k)
          there[k] = _mm256_sub_epi8(load(count_at(b + i, k)), left[i][k]);
        right = _mm256_max_epu8(right, right_of(rows.of, left[i]));
        right_there = _mm256_max_epu8(right_there, right_of(others, there));
        store(room.apart_.data() + (b + i) * kBlock,
              _mm256_add_epi8(_mm256_sub_epi8(all_of(rows.many), sum_of(left[i])), sum_of(there)));
      }
    return all.many - most(right) - most(right_there);
  }

  // Those of so many flags that say that there is something to do.
  static std::size_t last_of(const std::vector<std::uint32_t>& todo) {
    for (std::size_t b = todo.size(); b-- > 0;)
      if (todo[b]) return b * kBlock + 31 - static_cast<std::size_t>(__builtin_clz(todo[b]));
    return todo.size() * kBlock;
  }

  // Cuts of two sides of which labels beside two each are too many.
  ODT_SETS_TARGET void leave_out_by_labels(int best) const {
    for (std::size_t b = 0; b < cuts.blocks(); ++b) {
      Vector here[K], there[K];
      sides_at(b, here, there);
      room.todo_[b] &= ~at_least(_mm256_add_epi8(beside_two(here), beside_two(there)),
                                 all_of(std::min(best, 255)));
    }
  }

  // The rows of each label on the left and on the right of cuts.
  ODT_SETS_TARGET void sides_at(std::size_t block, Vector* left, Vector* right) const {
#pragma GCC unroll 5
    for (int k = 0; k < K; ++k) {
      left[k] = load(count_at(block, k));
      right[k] = _mm256_sub_epi8(all_of(all.of[k]), left[k]);
    }
  }

  // A cut, and one of each side. A row that changes sides changes the sum by one loss at most; so
  // what is far above the best closes the cuts that differ from it, or from its other side, by few.
  ODT_SETS_TARGET int both(int best) const {
    std::vector<std::uint32_t>& todo = room.todo_;
    todo.assign(cuts.blocks(), ~std::uint32_t{0});
    if (cuts.many() % kBlock) todo.back() = (std::uint32_t{1} << cuts.many() % kBlock) - 1;
    int lost = count_all();  // with no cut at all first
    if constexpr (K > 2) leave_out_by_labels(best);
    for (;;) {
      room.looked_ += static_cast<std::uint64_t>(all.many);
      best = std::min(best, lost);
      const Vector fewest = all_of(std::min(lost - best + 1, 255)), every = all_of(all.many);
      for (std::size_t b = 0; b < todo.size(); ++b) {
        const Vector apart = load(room.apart_.data() + b * kBlock);
        todo[b] &= at_least(_mm256_min_epu8(apart, _mm256_sub_epi8(every, apart)), fewest);
      }
      const std::size_t cut = last_of(todo);
      if (cut == todo.size() * kBlock || best == 0) return best;
      Rows rows;
      list(cut, 2 * left_of(cut) <= all.many, rows);
      lost = sides(rows);
    }
  }

  // A cut, and one of one side; the other ends. Those come first that leave least to lose. What the
  // others lose is at most one less for each row that another end takes from them; so it closes
  // ends that take few more.
  ODT_SETS_TARGET int chain(int best) const {
    const int lost_by_all = count_all();
    room.looked_ += static_cast<std::uint64_t>(all.many);
    best = std::min(best, lost_by_all);
    add_ends<true>(lost_by_all, best);
    End end;
    while (best > 0 && next_end(end)) {
      room.looked_ += static_cast<std::uint64_t>(all.many);
      const int lost = rest_of(end);
      best = std::min(best, room.lost_[end.left][end.cut] + lost);
      close_ends(lost, best);
    }
    return best;
  }

  // A side of a cut.
  struct End {
    std::size_t cut;
    bool left;
  };

  // That of most rows that are right, which is taken out.
  ODT_SETS_TARGET bool next_end(End& end) const {
    Vector right = _mm256_setzero_si256();
    for (const std::vector<std::uint8_t>& ends : room.right_)
      for (std::size_t at = 0; at < cuts.stride; at += kBlock)
        right = _mm256_max_epu8(right, load(ends.data() + at));
    const int found = most(right);
    if (found == 0) return false;
    for (const bool left : {false, true})
      for (std::size_t at = 0; at < cuts.stride; at += kBlock) {
        const Vector here = _mm256_cmpeq_epi8(load(room.right_[left].data() + at), all_of(found));
        const auto which = static_cast<std::uint32_t>(_mm256_movemask_epi8(here));
        if (which == 0) continue;
        end = {at + static_cast<std::size_t>(__builtin_ctz(which)), left};
        room.right_[left][end.cut] = 0;
        return true;
      }
    return false;
  }

  // What those on the other side of a cut lose with one cut. How many of them are left of each goes
  // to `apart_`, how many there are to `left_over_`.
  ODT_SETS_TARGET int rest_of(const End& end) const {
    const bool lefts = 2 * left_of(end.cut) <= all.many, by_end = lefts == end.left;
    Rows rows;
    list(end.cut, lefts, rows);
    int of[K];
    for (int k = 0; k < K; ++k) of[k] = by_end ? all.of[k] - rows.of[k] : rows.of[k];
    room.left_over_ = std::accumulate(of, of + K, 0);
    Vector right = all_of(*std::max_element(of, of + K)), left[2][K];
    for (std::size_t b = 0; b < cuts.blocks(); b += 2)
      for (std::size_t many = count(rows, b, left), i = 0; i < many; ++i) {
        if (by_end) {
#pragma GCC unroll 5
          for (int k = 0; k < K; ++k)
            left[i][k] = _mm256_sub_epi8(load(count_at(b + i, k)), left[i][k]);
        }
        store(room.apart_.data() + (b + i) * kBlock, sum_of(left[i]));
        right = _mm256_max_epu8(right, right_of(of, left[i]));
      }
    return room.left_over_ - most(right);
  }

  // Takes ends out that are no better, where these rows lose so much without another end.
  ODT_SETS_TARGET void close_ends(int lost, int best) const {
    const Vector rest = all_of(room.left_over_), then = all_of(lost), paid = all_of(best);
    for (std::size_t at = 0; at < cuts.stride; at += kBlock) {
      const Vector on_left = load(room.apart_.data() + at);
      for (const bool left : {false, true}) {
        const Vector more = left ? on_left : _mm256_sub_epi8(rest, on_left),
                     least = _mm256_adds_epu8(load(room.lost_[left].data() + at),
                                              _mm256_subs_epu8(then, more));
        std::uint8_t* right = room.right_[left].data() + at;
        store(right, _mm256_andnot_si256(_mm256_cmpeq_epi8(_mm256_max_epu8(least, paid), least),
                                         load(right)));
      }
    }
  }

  // The sides that may end, where all rows lose so much with one cut: what their rows lose, and how
  // many of them are right; 0 where it may not. A row that ends takes one loss away at most, so
  // more must be right than what all lose is above the best, and than what they are above it.
  // `OneCut`: the others have one cut.
  template <bool OneCut>
  ODT_SETS_TARGET void add_ends(int lost_by_all, int best) const {
    for (auto* of : {room.right_, room.lost_})
      for (const bool left : {false, true}) of[left].resize(cuts.stride);
    const Vector above = all_of(std::min(lost_by_all - best, 255)),
                 paid = all_of(std::min(best, 255));
    for (std::size_t b = 0; b < cuts.blocks(); ++b) {
      Vector here[K], there[K];
      sides_at(b, here, there);
      for (const bool left : {false, true}) {
        const Vector* of = left ? here : there;
        Vector right = of[0];
        for (int k = 1; k < K; ++k) right = _mm256_max_epu8(right, of[k]);
        const Vector ending = sum_of(of), lost = _mm256_sub_epi8(ending, right),
                     fewest = _mm256_max_epu8(above, _mm256_subs_epu8(ending, paid));
        Vector out = _mm256_cmpeq_epi8(_mm256_max_epu8(fewest, right), fewest);
        if constexpr (OneCut && K > 2) {
          const Vector least = _mm256_add_epi8(lost, beside_two(left ? there : here));
          out = _mm256_or_si256(out, _mm256_cmpeq_epi8(_mm256_max_epu8(least, paid), least));
        }
        store(room.lost_[left].data() + b * kBlock, lost);
        store(room.right_[left].data() + b * kBlock, _mm256_andnot_si256(out, right));
      }
    }
  }

  // The features of which a side may end, where all rows lose so much with one cut.
  ODT_SETS_TARGET void sides_that_may_end(int lost_by_all, int best,
                                          std::vector<PairLanes::Room::Ends>& ends) const {
    count_all();
    add_ends<false>(lost_by_all, best);
    for (std::size_t c = 0; c < cuts.many(); ++c)
      for (const auto& [f, flipped] : lanes.cut_of_[cuts.cut[c]]) {
        ends[f].up |= room.right_[!flipped][c] > 0;
        ends[f].down |= room.right_[flipped][c] > 0;
      }
  }
};

}  // namespace odt
#endif
