// One cut of some rows, and two layers of cuts, where each cut is a set of rows: their bits are
// counted word by word. Of diagram_pairs.cpp only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "odt/pair_lanes.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define ODT_SETS_TARGET __attribute__((target("popcnt,bmi2")))

namespace odt {

// Of so many words of rows. Cuts lie in `left` as in PairLanes::left_.
template <int R>
struct SetSearch {
  PairLanes::Room& room;

  ODT_SETS_TARGET static int count(const std::uint64_t* rows) {
    int sum = 0;
    for (int w = 0; w < R; ++w) sum += __builtin_popcountll(rows[w]);
    return sum;
  }

  static const std::uint64_t* cut_at(const std::uint64_t* left, std::size_t cut) {
    return left + PairLanes::word_of_cut(cut, 0);
  }

  // How many of the rows are left of a cut.
  ODT_SETS_TARGET static int count_left(const std::uint64_t* cut, const std::uint64_t* rows) {
    int sum = 0;
    for (int w = 0; w < R; ++w)
      sum += __builtin_popcountll(cut[PairLanes::kCutLanes * w] & rows[w]);
    return sum;
  }

  // Of the rows of two labels, how many are right with the first one left of a cut and the other
  // right of it.
  ODT_SETS_TARGET static int count_right(const std::uint64_t* cut, const std::uint64_t* rows,
                                         const std::uint64_t* second) {
    int sum = 0;
    for (int w = 0; w < R; ++w)
      sum += __builtin_popcountll((cut[PairLanes::kCutLanes * w] ^ second[w]) & rows[w]);
    return sum;
  }

  // What rows of two labels lose with the best of some cuts, by how many are right so.
  struct Two {
    int rows, most, fewest;
    Two(int all, int first) : rows(all), most(std::max(first, all - first)), fewest(all - most) {}
    void add(int right) {
      most = std::max(most, right);
      fewest = std::min(fewest, right);
    }
    int lost() const { return std::min(rows - most, fewest); }
  };

  // The rows of each label that there are of, and how many.
  struct Labelled {
    int labels = 0, of[PairLanes::kMostLabels];
    std::uint64_t is[PairLanes::kMostLabels][R];
  };
  ODT_SETS_TARGET Labelled labelled(const std::uint64_t* rows) const {
    Labelled found;
    for (int k = 0; k < room.labels_; ++k) {
      for (int w = 0; w < R; ++w) found.is[found.labels][w] = rows[w] & room.is_[k][w];
      found.of[found.labels] = count(found.is[found.labels]);
      found.labels += found.of[found.labels] > 0;
    }
    return found;
  }

  // What these rows lose with one cut.
  ODT_SETS_TARGET int stump(const std::uint64_t* left, std::size_t cuts,
                            const std::uint64_t* rows) const {
    const Labelled l = labelled(rows);
    if (l.labels == 2) return least_of_two(left, cuts, rows, l);
    if (l.labels == 3) return least<3>(left, cuts, l);
    if (l.labels == 4) return least<4>(left, cuts, l);
    if (l.labels == 5) return least<5>(left, cuts, l);
    return 0;
  }

  ODT_SETS_TARGET static int least_of_two(const std::uint64_t* left, std::size_t cuts,
                                          const std::uint64_t* rows, const Labelled& l) {
    Two two(l.of[0] + l.of[1], l.of[0]);
    for (std::size_t c = 0; c < cuts; ++c) two.add(count_right(cut_at(left, c), rows, l.is[1]));
    return two.lost();
  }

  template <int K>
  ODT_SETS_TARGET static int least(const std::uint64_t* left, std::size_t cuts,
                                   const Labelled& l) {
    int most = *std::max_element(l.of, l.of + K);  // that are right
    for (std::size_t c = 0; c < cuts; ++c) {
      const std::uint64_t* cut = cut_at(left, c);
      int on_left = 0, on_right = 0;
      for (int k = 0; k < K; ++k) {
        const int here = count_left(cut, l.is[k]);
        on_left = std::max(on_left, here);
        on_right = std::max(on_right, l.of[k] - here);
      }
      most = std::max(most, on_left + on_right);
    }
    return std::accumulate(l.of, l.of + K, 0) - most;
  }

  std::size_t cuts() const { return room.cut_of_.size(); }

  // The packed rows left of a cut.
  void left_of(std::size_t cut, std::uint64_t* rows) const {
    for (int w = 0; w < R; ++w) rows[w] = cut_at(room.left_.data(), cut)[PairLanes::kCutLanes * w];
  }

  // Counts the packed rows of each label on the left of all cuts.
  ODT_SETS_TARGET void count_all() const {
    const std::size_t labels = static_cast<std::size_t>(room.labels_);
    room.count_.resize(cuts() * labels);
    for (std::size_t c = 0; c < cuts(); ++c)
      for (std::size_t k = 0; k < labels; ++k)
        room.count_[c * labels + k] = count_left(cut_at(room.left_.data(), c), room.is_[k]);
  }

  // What these of the packed rows and the others lose, with a cut each.
  template <int K>
  ODT_SETS_TARGET int sides(const std::uint64_t* rows) const {
    if (K == 2) return sides_of_two(rows);
    std::uint64_t is[K][R];
    int of[K], others[K];
    for (int k = 0; k < K; ++k) {
      for (int w = 0; w < R; ++w) is[k][w] = rows[w] & room.is_[k][w];
      of[k] = count(is[k]);
      others[k] = room.of_[k] - of[k];
    }
    int most = *std::max_element(of, of + K), most_there = *std::max_element(others, others + K);
    const int* all = room.count_.data();
    for (std::size_t c = 0; c < cuts(); ++c, all += K) {
      const std::uint64_t* cut = cut_at(room.left_.data(), c);
      int left = 0, right = 0, left_there = 0, right_there = 0;
      for (int k = 0; k < K; ++k) {
        const int here = count_left(cut, is[k]), there = all[k] - here;
        left = std::max(left, here);
        right = std::max(right, of[k] - here);
        left_there = std::max(left_there, there);
        right_there = std::max(right_there, others[k] - there);
      }
      most = std::max(most, left + right);
      most_there = std::max(most_there, left_there + right_there);
    }
    return room.rows_ - most - most_there;
  }

  ODT_SETS_TARGET int sides_of_two(const std::uint64_t* rows) const {
    std::uint64_t first[R];
    for (int w = 0; w < R; ++w) first[w] = rows[w] & room.is_[0][w];
    const int here = count(rows), of_first = count(first);
    Two two(here, of_first), others(room.rows_ - here, room.of_[0] - of_first);
    const int* all = room.count_.data();
    for (std::size_t c = 0; c < cuts(); ++c, all += 2) {
      const int right = count_right(cut_at(room.left_.data(), c), rows, room.is_[1]);
      two.add(right);
      others.add(all[0] + room.of_[1] - all[1] - right);
    }
    return two.lost() + others.lost();
  }

  // A cut, and one of each side. A row that changes sides changes the sum by one loss at most; so
  // what is far above the best closes the cuts that differ from it, or from its other side, by few.
  template <int K>
  ODT_SETS_TARGET int both(int best) const {
    std::vector<std::size_t>& todo = room.todo_;
    todo.resize(cuts());
    std::iota(todo.begin(), todo.end(), std::size_t{0});
    std::uint64_t from[R] = {};  // first no cut at all
    int lost = stump(room.left_.data(), cuts(), room.all_);
    for (;;) {
      room.looked_ += static_cast<std::uint64_t>(room.rows_);
      best = std::min(best, lost);
      const int fewest = lost - best + 1;
      std::size_t left = 0;
      for (std::size_t at = 0; fewest > 1 && at < todo.size(); ++at) {
        std::uint64_t apart[R];
        left_of(todo[at], apart);
        for (int w = 0; w < R; ++w) apart[w] ^= from[w];
        const int differ = count(apart);
        todo[left] = todo[at];
        left += std::min(differ, room.rows_ - differ) >= fewest;
      }
      if (fewest > 1) todo.resize(left);
      if (todo.empty() || best == 0) return best;
      left_of(todo.back(), from);
      todo.pop_back();
      lost = sides<K>(from);
    }
  }

  // Whether so many rows may end, of which so many are right then, where all lose so much with one
  // cut. A row that ends takes one loss away at most.
  static bool may_end(int right, int ending, int all, int best) {
    return right > std::max(all, ending) - best;
  }

  // A side of a cut that ends, and what its rows lose then.
  struct End {
    int lost, right;
    std::uint64_t rows[R];
  };

  // A cut, and one of one side; the other ends. Those come first that leave least to lose. What the
  // others lose is at most one less for each row that another end takes from them; so it closes
  // ends that take few more.
  ODT_SETS_TARGET int chain(int best) const {
    std::vector<End> ends;
    const int all = stump(room.left_.data(), cuts(), room.all_);
    room.looked_ += static_cast<std::uint64_t>(room.rows_);
    best = std::min(best, all);
    add_ends(all, best, ends);
    std::sort(ends.begin(), ends.end(),
              [](const End& a, const End& b) { return a.right < b.right; });
    while (!ends.empty() && best > 0) {
      const End end = ends.back();
      ends.pop_back();
      std::uint64_t rest[R];
      for (int w = 0; w < R; ++w) rest[w] = room.all_[w] & ~end.rows[w];
      room.looked_ += static_cast<std::uint64_t>(room.rows_);
      const int lost = stump(room.left_.data(), cuts(), rest);
      best = std::min(best, end.lost + lost);
      std::size_t left = 0;
      for (const End& other : ends) {
        std::uint64_t more[R];
        for (int w = 0; w < R; ++w) more[w] = other.rows[w] & rest[w];
        ends[left] = other;
        left += other.lost + std::max(0, lost - count(more)) < best;
      }
      ends.resize(left);
    }
    return best;
  }

  // The sides that may end.
  ODT_SETS_TARGET void add_ends(int all, int best, std::vector<End>& ends) const {
    const int* of = room.count_.data();
    for (std::size_t c = 0; c < cuts(); ++c, of += room.labels_) {
      int left = 0, right = 0, before = 0;
      for (int k = 0; k < room.labels_; ++k) {
        left = std::max(left, of[k]);
        right = std::max(right, room.of_[k] - of[k]);
        before += of[k];
      }
      const int behind = room.rows_ - before;
      if (may_end(left, before, all, best)) {
        ends.push_back({before - left, left, {}});
        left_of(c, ends.back().rows);
      }
      if (may_end(right, behind, all, best)) {
        ends.push_back({behind - right, right, {}});
        left_of(c, ends.back().rows);
        for (int w = 0; w < R; ++w) ends.back().rows[w] = room.all_[w] & ~ends.back().rows[w];
      }
    }
  }

  int pair(bool in_chain, int best) const {
    count_all();
    if (in_chain) return chain(best);
    if (room.labels_ == 2) return both<2>(best);
    if (room.labels_ == 3) return both<3>(best);
    if (room.labels_ == 4) return both<4>(best);
    return both<5>(best);
  }
};

}  // namespace odt
#endif
