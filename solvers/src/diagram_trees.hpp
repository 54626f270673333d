// What rows lose at least in the trees of a shape's layers; see diagrams.hpp. Of diagrams.cpp only.
#pragma once

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "odt/control.hpp"
#include "odt/diagrams.hpp"
#include "odt/few_lost.hpp"
#include "odt/kept_trees.hpp"
#include "odt/pair_lanes.hpp"
#include "odt/stump_lanes.hpp"
#include "diagram_last_tests.hpp"
#include "refuted_rows.hpp"

namespace odt {

// What all searches of one problem read, and the trees that they keep for each other. W words of
// rows.
template <int W>
struct ShapeTable {
  explicit ShapeTable(LayeredProblem problem)
      : p(std::move(problem)),
        lanes(p),
        pairs(p),
        few(p),
        last_tests(p),
        order(p.features),
        place(p.features),
        after(p.features),
        gains(p.labels) {
    for (std::size_t r = 0; r < p.rows; ++r) {
      all.put(r);
      const Loss* loss = p.loss.data() + r * static_cast<std::size_t>(p.labels);
      dearest.push_back(*std::max_element(loss, loss + p.labels));
      for (int k = 0; k < p.labels; ++k)
        if (loss[k] < dearest[r]) gains[k].put(r);
    }
    for (std::size_t f = 0; f < p.features; ++f) {
      const std::uint32_t* rank = p.rank.data() + f * p.rows;
      order[f].resize(p.rows);
      for (std::size_t r = 0; r < p.rows; ++r) order[f][r] = static_cast<int>(r);
      std::stable_sort(order[f].begin(), order[f].end(),
                       [rank](int a, int b) { return rank[a] < rank[b]; });
      place[f].resize(p.rows);
      for (std::size_t i = 0; i < p.rows; ++i) place[f][order[f][i]] = static_cast<int>(i);
      after[f].assign(p.distinct[f] + 1, p.distinct[f]);
      for (std::uint32_t r = p.distinct[f]; r-- > 0;)
        after[f][r] = p.allowed[f].empty() || p.allowed[f][r] ? r : after[f][r + 1];
    }
  }

  // The trees of such layers, and of those below them.
  KeptTrees<W>* trees_of(int code) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return &trees_[code];
  }

  // Tables double when they are half full.
  void forget(std::size_t most) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::size_t bytes = 0;
    for (auto& [code, kept] : trees_) bytes += 3 * kept.bytes();
    if (bytes <= most) return;
    for (auto& [code, kept] : trees_) kept.clear();
  }

  const LayeredProblem p;
  const StumpLanes lanes;
  const PairLanes pairs;
  const FewLost few;
  const LastTests last_tests;
  std::vector<Loss> dearest;  // what a row loses at most
  // Per feature its rows by rank, and the place of each row there.
  std::vector<std::vector<int>> order, place;
  // Per feature and rank, the first one from it on where a cut may stand.
  std::vector<std::vector<std::uint32_t>> after;
  std::vector<Rows<W>> gains;  // by label: the rows that lose less by it than by the worst
  Rows<W> all;

 private:
  std::mutex mutex_;
  std::map<int, KeptTrees<W>> trees_;  // by what the layers below are
};

// The trees of one shape.
template <int W>
class ShapeTrees {
 protected:
  using Set = Rows<W>;

  // The cuts between the rows of a set in the order of a feature.
  struct Line {
    std::vector<Set> sets;           // the rows left of each cut
    std::vector<std::uint32_t> cut;  // its rank
    std::vector<Loss> left, right;   // what the rows on each side of it lose with one label
    std::vector<Loss> dearest;       // what the rows left of it lose at most

    int cuts() const { return static_cast<int>(sets.size()); }
    const Set& before(int c) const { return sets[c]; }
    // The first and last cut with all of these rows on its left and all of those on its right.
    std::pair<int, int> between(const Set& on_left, const Set& on_right) const {
      const auto first = std::partition_point(sets.begin(), sets.end(), [&](const Set& before) {
        return !on_left.without(before).none();
      });
      const auto behind = std::partition_point(
          first, sets.end(), [&](const Set& before) { return before.both(on_right).none(); });
      return {static_cast<int>(first - sets.begin()), static_cast<int>(behind - sets.begin()) - 1};
    }
  };

  ShapeTrees(ShapeTable<W>& table, const std::vector<int>& shape)
      : table_(table), p_(table.p), shape_(shape), stumps_(table.lanes.room()) {
    dearest_ = *std::max_element(table.dearest.begin(), table.dearest.end());
    std::vector<int> code(shape.size(), 1);
    for (std::size_t i = shape.size() - 1; i-- > 0;) code[i] = 2 * code[i + 1] + (shape[i + 1] > 1);
    for (int c : code) known_.push_back(table_.trees_of(c));
    for (std::size_t i = 0; i < shape.size(); ++i) refuted_.emplace_back(W, table_.dearest);
    first_.assign(shape.size(), std::vector<std::size_t>(p_.features));
    for (auto& turn : first_) std::iota(turn.begin(), turn.end(), std::size_t{0});
  }

  void begin(const Options& options, Control& control) {
    control_ = &control;
    most_ = options.memory_limit ? options.memory_limit : std::size_t{1} << 30;
  }

  // Many shapes may wait for their next turn.
  void rest() { last_.clear(); }

  int labels() const { return p_.labels; }
  bool last(std::size_t layer) const { return layer + 1 == shape_.size(); }
  bool narrows(std::size_t layer) const { return shape_[layer + 1] == 1; }

  // The rows of a set, and what they lose by each label.
  struct Held {
    std::vector<int> row;
    std::vector<Loss> loss;
    Loss least() const { return *std::min_element(loss.begin(), loss.end()); }
    int label() const {
      return static_cast<int>(std::min_element(loss.begin(), loss.end()) - loss.begin());
    }
  };

  Held held(const Set& s) const {
    Held h;
    h.loss.assign(labels(), 0);
    h.row.reserve(p_.rows);
    for (int w = 0; w < W; ++w)
      for (std::uint64_t bits = s.word[w]; bits; bits &= bits - 1) {
        const int r = 64 * w + __builtin_ctzll(bits);
        h.row.push_back(r);
        for (int k = 0; k < labels(); ++k)
          h.loss[k] += p_.loss[static_cast<std::size_t>(r) * labels() + k];
      }
    return h;
  }

  // Tells the rows of a set in the order of a feature, or against it, and between them the cuts:
  // rows so far, the rank of the cut, and the losses of those rows and of the others by one label
  // each. Ends when told to.
  template <bool Down, class Row, class Cut>
  void walk(const Held& h, std::size_t f, const Row& row, const Cut& cut) const {
    if (p_.labels == 2)
      walk_of<Down, 2>(h, f, row, cut);
    else
      walk_of<Down, 0>(h, f, row, cut);
  }

  // `Labels` of them, or as many as the problem has.
  template <bool Down, int Labels, class Row, class Cut>
  void walk_of(const Held& h, std::size_t f, const Row& row, const Cut& cut) const {
    const std::uint32_t* rank = p_.rank.data() + f * p_.rows;
    const int *place = table_.place[f].data(), *order = table_.order[f].data();
    std::uint64_t placed[W] = {};
    for (int r : h.row) placed[place[r] >> 6] |= std::uint64_t{1} << (place[r] & 63);
    const int labels = Labels ? Labels : p_.labels;
    Loss sum[Labels ? Labels : kMostLayeredLabels];
    std::fill(sum, sum + labels, 0);
    std::uint32_t last = 0;
    int before = 0;
    for (int i = 0; i < W; ++i) {
      const int w = Down ? W - 1 - i : i;
      std::uint64_t bits = placed[w];
      while (bits) {
        const int bit = Down ? 63 - __builtin_clzll(bits) : __builtin_ctzll(bits);
        bits ^= std::uint64_t{1} << bit;
        const int r = order[64 * w + bit];
        const std::uint32_t low = Down ? rank[r] : last, high = Down ? last : rank[r];
        if (before > 0 && table_.after[f][low] < high) {
          Loss passed = kInfinite, left = kInfinite;
          for (int k = 0; k < labels; ++k) {
            passed = std::min(passed, sum[k]);
            left = std::min(left, h.loss[k] - sum[k]);
          }
          if (!cut(before, table_.after[f][low], passed, left)) return;
        }
        row(r);
        last = rank[r];
        ++before;
        for (int k = 0; k < labels; ++k)
          sum[k] += p_.loss[static_cast<std::size_t>(r) * labels + k];
      }
    }
  }

  void lay(Line& line, const Held& h, std::size_t f) const {
    line.sets.clear();
    line.cut.clear();
    line.left.clear();
    line.right.clear();
    line.dearest.clear();
    Set passed;
    Loss dearest = 0;
    walk<false>(
        h, f,
        [&](int r) {
          passed.put(r);
          dearest += table_.dearest[r];
        },
        [&](int, std::uint32_t cut, Loss left, Loss right) {
          line.sets.push_back(passed);
          line.cut.push_back(cut);
          line.left.push_back(left);
          line.right.push_back(right);
          line.dearest.push_back(dearest);
          return true;
        });
  }

  // What the rows lose at least in a tree of this layer and those below it: exact where it is at
  // most `budget`.
  Loss trees(std::size_t i, const Set& s, Loss budget) {
    const bool pairs = table_.pairs.works(), few = table_.few.takes(budget) && !pairs_of_one_,
               quick = last(i) && (few || pairs || table_.lanes.works()),
               two = i + 2 == shape_.size(), soon = two && few && narrows(i),
               three = few && budget == 0 && i + 3 == shape_.size() && narrows(i) && narrows(i + 1);
    if (!quick) {
      const auto e = soon ? last_.find(s) : known_[i]->find(s);
      if (e.loss >= 0 && (e.exact || e.loss > budget)) return e.loss;
    }
    control_->poll(p_.rows);
    if ((looked_ += p_.rows * p_.features) >
        Looks::work.load(std::memory_order_relaxed) *
            kWiden) {  // the clock, however many features there are
      looked_ = 0;
      control_->check();
    }
    if (!quick)
      if (const Loss least = refuted_[i].least(s.word, budget); least > budget) return least;
    if (quick) return std::min(budget + 1, one_cut(s, budget));
    const Loss found =
        soon           ? table_.few.chain(s.word, W, budget, few_looked_)
        : two && few   ? table_.few.pair(s.word, W, budget, few_looked_)
        : three        ? Loss{!table_.few.chain_of_three(s.word, W, few_looked_)}
        : two && pairs ? pairs_.pair(table_.pairs, s.word, W, narrows(i), budget)
        : two && !narrows(i) && table_.lanes.has_pairs()
            ? table_.lanes.pair(s.word, W, budget, stumps_)
            : trees_of(i, s, budget);
    control_->poll((pairs_.work() + stumps_.work() + std::exchange(few_looked_, 0)) / kPairs);
    if (++kept_ % 4096 == 0) table_.forget(most_);
    if (soon)
      last_.keep(s, found, found <= budget);
    else
      known_[i]->keep(s, found, found <= budget);
    if (found > budget) refuted_[i].keep(s.word, found);
    return found;
  }

  // Whether the rows of both nodes of a layer may lose so little, where the next layer has one
  // node. What one cut tells leads nowhere, and leaves that node to the other one.
  bool may_meet(std::size_t i, const Set& s, const Set& others, Loss budget) {
    if (last(i) || !narrows(i) || !table_.few.takes(budget)) return true;
    const auto ends = [&](const Set& all) {
      return table_.few.stump(all.word, W, budget) <= budget;
    };
    if (ends(s) || ends(others)) return true;
    if (budget == 0 && i + 2 == shape_.size()) return table_.few.may_meet(s.word, others.word, W);
    const std::vector<Rest> here = rests(i, s, budget), there = rests(i, others, budget);
    for (const Rest& a : here)
      for (const Rest& b : there) {
        const Loss room = budget - a.lost - b.lost;
        if (room >= 0 && trees(i + 1, a.rows | b.rows, room) <= room) return true;
      }
    return false;
  }

  // What a cut of which one side ends may lead on of these rows, so that so few are lost.
  struct Rest {
    Loss lost;
    Set rows;
  };
  std::vector<Rest> rests(std::size_t i, const Set& s, Loss budget) {
    std::vector<Rest> found;
    for (const FewLost::Rest& left : table_.few.rests(s.word, W, budget)) {
      const Set rows = set_of(left.rows);
      if (left.lost + trees(i + 1, rows, budget - left.lost) <= budget)
        found.push_back({left.lost, rows});
    }
    return found;
  }

  static Set set_of(const FewLost::Bits& rows) {
    Set set;
    std::copy_n(rows.begin(), std::min<std::size_t>(W, rows.size()), set.word);
    return set;
  }

  // What the rows lose at least with one cut: exact where it is at most `budget`, and where there
  // are sums for all features at once.
  Loss one_cut(const Set& s, Loss budget) {
    const bool few = table_.few.takes(budget), sums = table_.pairs.works() || table_.lanes.works();
    if (few && (budget <= kFewest || !sums)) return table_.few.stump(s.word, W, budget);
    if (table_.pairs.works()) return pairs_.stump(table_.pairs, s.word, W, budget);
    return sums ? table_.lanes.least(s.word, W, stumps_) : 0;
  }

  Loss trees_of(std::size_t i, const Set& s, Loss budget) {
    const Held h = held(s);
    const Loss found = std::min(budget + 1, h.least());
    if (found == 0) return 0;
    if (table_.pairs.works() && i + 2 < shape_.size())
      pairs_.keep_cuts(table_.pairs, i, s.word, W);
    return last(i) ? stump(h, found) : narrows(i) ? chain(i, s, h, found) : both(i, s, h, found);
  }

  Loss stump(const Held& h, Loss best) const {
    for (std::size_t f = 0; f < p_.features && best > 0; ++f)
      walk<false>(
          h, f, [](int) {},
          [&](int, std::uint32_t, Loss left, Loss right) {
            best = std::min(best, left + right);
            return left < best;  // further cuts have more rows on the left
          });
    return best;
  }

  // One arc ends, the other leads on.
  Loss chain(std::size_t i, const Set& s, const Held& h, Loss best) {
    if (best - 1 <= kMostListed && table_.few.takes(best - 1) && !pairs_of_one_) {
      for (const FewLost::Rest& rest : table_.few.rests(s.word, W, best - 1)) {
        const Loss room = best - 1 - rest.lost;
        if (room < 0) continue;
        best = std::min(best, rest.lost + trees(i + 1, set_of(rest.rows), room));
        if (best == 0) break;
      }
      return best;
    }
    const Loss further = !table_.few.takes(best - 1) ? kFurther
                         : shape_.back() > 1         ? kFewFurther
                                                     : 0;  // the last two layers are told soon
    const Loss all = trees(i + 1, s, best - 1 + further * dearest_);
    best = std::min(best, all);
    std::vector<PairLanes::Room::Ends> may_end(p_.features, {true, true});
    if (table_.pairs.works())
      pairs_.sides_that_may_end(table_.pairs, s.word, W, all, best, may_end);
    return least_of(i, best, [&](std::size_t f, Loss so_far) {
      if (may_end[f].up) so_far = ended<false>(i, s, h, f, all, so_far);
      return may_end[f].down && so_far > 0 ? ended<true>(i, s, h, f, all, so_far) : so_far;
    });
  }

  // The rows that end, of one side of a feature: as many as there are at each loss. All rows lose
  // `all` at least in the layers below; those that end take no more of that away than they can
  // lose.
  template <bool Down>
  Loss ended(std::size_t i, const Set& s, const Held& h, std::size_t f, Loss all, Loss best) {
    struct End {
      Loss loss, dearest;
      Set rows;
    };
    std::vector<End> ends;
    Set passed;
    Loss dearest = 0;
    walk<Down>(
        h, f,
        [&](int r) {
          passed.put(r);
          dearest += table_.dearest[r];
        },
        [&](int, std::uint32_t, Loss loss, Loss) {
          if (loss >= best) return false;
          if (ends.empty() || ends.back().loss < loss)
            ends.push_back({loss, dearest, passed});
          else
            ends.back() = {loss, dearest, passed};
          return true;
        });
    descend(
        0, static_cast<int>(ends.size()) - 1, 0, 0, best, 0, {},
        [&](int e, Loss) { return ends[e].loss; },
        [&](int e, Loss room) {
          if (all - ends[e].dearest > room) return all - ends[e].dearest;
          return trees(i + 1, s.without(ends[e].rows), room);
        });
    return best;
  }

  Loss both(std::size_t i, const Set& s, const Held& h, Loss best) {
    const Loss further = best / 4;
    Line line;
    return least_of(i, best, [&](std::size_t f, Loss so_far) {
      lay(line, h, f);
      descend(
          0, line.cuts() - 1, 0, 0, so_far, further, line.dearest,
          [&](int c, Loss room) { return trees(i + 1, line.before(c), room); },
          [&](int c, Loss room) { return trees(i + 1, s.without(line.before(c)), room); });
      return so_far;
    });
  }

  // The least of all features, until one has nothing to lose; what was best last comes first.
  template <class Of>
  Loss least_of(std::size_t i, Loss best, const Of& of) {
    std::vector<std::size_t>& turn = first_[i];
    std::size_t winner = 0;
    for (std::size_t k = 0; k < turn.size() && best > 0; ++k) {
      const Loss least = of(turn[k], best);
      if (least < best) winner = k;
      best = least;
    }
    std::rotate(turn.begin(), turn.begin() + winner, turn.begin() + winner + 1);
    return best;
  }

  // The least left(c) + right(c) of the cuts from lo to hi where it is below `best`. Left sides
  // only lose more from cut to cut, right sides less: `from` is a bound on all left sides, `to` on
  // all right ones. Sides are asked `further` than the best leaves room: a row that passes over a
  // cut changes the sum by what it can lose at most (`dearest`: of all before a cut), so a sum far
  // above the best closes the cuts around it.
  template <class Left, class Right>
  void descend(int lo, int hi, Loss from, Loss to, Loss& best, Loss further,
               const std::vector<Loss>& dearest, const Left& left, const Right& right) {
    while (lo <= hi && from + to < best) {
      const int mid = lo + (hi - lo) / 2;
      const Loss l = std::max(from, left(mid, best - 1 - to + further));
      Loss r = to;
      if (l + to < best) {
        r = std::max(to, right(mid, best - 1 - l + further));
        best = std::min(best, l + r);
      }
      int below = mid - 1, above = mid + 1;
      if (further > 0) {
        while (below >= lo && l + r - (dearest[mid] - dearest[below]) >= best) --below;
        while (above <= hi && l + r - (dearest[above] - dearest[mid]) >= best) ++above;
      }
      descend(lo, below, from, r, best, further, dearest, left, right);
      lo = above;
      from = l;
    }
  }

  ShapeTable<W>& table_;
  const LayeredProblem& p_;
  const std::vector<int> shape_;
  Control* control_ = nullptr;
  std::size_t most_ = 0;  // bytes of tables

 private:
  const bool pairs_of_one_ = table_.pairs.in_one_block();
  StumpLanes::Room stumps_;
  PairLanes::Room pairs_;
  std::uint64_t few_looked_ = 0;
  std::vector<KeptTrees<W>*> known_;  // of the layers of this shape
  LastTrees<W> last_;                 // of its last two, where these are a chain that is told soon
  std::vector<RefutedRows> refuted_;  // by layer
  std::vector<std::vector<std::size_t>> first_;  // by layer, which feature comes when
  Loss dearest_ = 0;                  // what a row loses at most
  std::size_t kept_ = 0, looked_ = 0;
  static constexpr Loss kMostListed = 2;  // of rows that a side which ends may lose
  static constexpr Loss kFewest = 1;        // above it sums are quicker
  static constexpr Loss kFewFurther = 3;    // rows that end where few are lost, and elsewhere,
  static constexpr Loss kFurther = 8;       // of which the layers below tell at once
  static constexpr std::size_t kPairs = 2;  // rows in bytes are as quick as one
  static constexpr std::size_t kWiden = 10;  // cells between two looks, to visits of rows
};

}  // namespace odt
