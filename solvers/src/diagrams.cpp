#include "odt/diagrams.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <queue>
#include <stdexcept>
#include <tuple>
#include <unordered_set>

#include "odt/control.hpp"
#include "odt/kept_trees.hpp"
#include "odt/pair_lanes.hpp"
#include "odt/stump_lanes.hpp"

namespace odt {
namespace {

constexpr int kEnds = -1;  // an arc to the best class of its rows

// What all searches of one problem read, and the trees that they keep for each other. W words of
// rows.
template <int W>
struct Table {
  explicit Table(LayeredProblem problem)
      : p(std::move(problem)),
        lanes(p),
        pairs(p),
        order(p.features),
        place(p.features),
        after(p.features) {
    for (std::size_t r = 0; r < p.rows; ++r) all.put(r);
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
  // Per feature its rows by rank, and the place of each row there.
  std::vector<std::vector<int>> order, place;
  // Per feature and rank, the first one from it on where a cut may stand.
  std::vector<std::vector<std::uint32_t>> after;
  Rows<W> all;

 private:
  std::mutex mutex_;
  std::map<int, KeptTrees<W>> trees_;  // by what the layers below are
};

// The search of one shape.
template <int W>
class ShapeSearch {
  using Set = Rows<W>;

  // The cuts between the rows of a set in the order of a feature.
  struct Line {
    std::vector<Set> sets;           // the rows left of each cut
    std::vector<std::uint32_t> cut;  // its rank
    std::vector<Loss> left, right;   // what the rows on each side of it lose with one label

    int cuts() const { return static_cast<int>(sets.size()); }
    const Set& before(int c) const { return sets[c]; }
  };

  // A cut of a node, and the next layer's node that each side leads to, or kEnds.
  struct Choice {
    Loss bound;
    int feature;
    std::uint32_t cut;
    int left, right;
    Set goes_left;
  };

 public:
  explicit ShapeSearch(Table<W>& table) : table_(table), p_(table.p), stumps_(table.lanes.room()) {}

  LayeredAnswer solve(const std::vector<int>& shape, Loss below, bool bound_only,
                      const Options& options) {
    check(shape);
    Control control(options);
    control_ = &control;
    most_ = options.memory_limit ? options.memory_limit : std::size_t{1} << 30;
    shape_ = shape;
    std::vector<int> code(shape.size(), 1);
    for (std::size_t i = shape.size() - 1; i-- > 0;) code[i] = 2 * code[i + 1] + (shape[i + 1] > 1);
    for (int c : code) known_.push_back(table_.trees_of(c));
    below_ = below;
    drawn_.assign(shape.size(), {});
    try {
      answer_.bound = std::min(below, trees(0, table_.all, below - 1));
      answer_.complete = answer_.bound >= below;
      if (!answer_.complete && !bound_only) {
        layer(0, {table_.all}, 0);
        answer_.bound = below_;
        answer_.complete = true;
      }
    } catch (const Stop&) {
    }
    answer_.work = control.work();
    return answer_;
  }

 private:
  static void check(const std::vector<int>& shape) {
    bool stands = !shape.empty() && shape[0] == 1;
    for (std::size_t i = 1; i < shape.size(); ++i)
      stands = stands && shape[i] >= 1 && shape[i] <= 2 * shape[i - 1];
    if (!stands || shape.size() > 30)
      throw std::invalid_argument(
          "a shape has 1 node, then up to twice as many in each of at most 30 layers");
  }

  int labels() const { return p_.labels; }
  bool last(std::size_t layer) const { return layer + 1 == shape_.size(); }
  bool narrows(std::size_t layer) const { return shape_[layer + 1] == 1; }

  // ---- trees

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

  // Of rows that are not all that a node will hold, a cut may leave none on a side.
  static void idle(Line& line, const Set& s, const Held& h) {
    line.sets.insert(line.sets.begin(), Set{});
    line.sets.push_back(s);
    line.cut.insert(line.cut.begin(), 0);
    line.cut.push_back(~std::uint32_t{0});
    line.left.insert(line.left.begin(), 0);
    line.left.push_back(h.least());
    line.right.insert(line.right.begin(), h.least());
    line.right.push_back(0);
  }

  void lay(Line& line, const Held& h, std::size_t f) const {
    line.sets.clear();
    line.cut.clear();
    line.left.clear();
    line.right.clear();
    Set passed;
    walk<false>(
        h, f, [&](int r) { passed.put(r); },
        [&](int, std::uint32_t cut, Loss left, Loss right) {
          line.sets.push_back(passed);
          line.cut.push_back(cut);
          line.left.push_back(left);
          line.right.push_back(right);
          return true;
        });
  }

  // What the rows lose at least in a tree of this layer and those below it: exact where it is at
  // most `budget`.
  Loss trees(std::size_t i, const Set& s, Loss budget) {
    const bool quick = last(i) && table_.lanes.works();
    if (!quick)
      if (const auto e = known_[i]->find(s); e.loss >= 0 && (e.exact || e.loss > budget))
        return e.loss;
    control_->poll(p_.rows);
    if ((looked_ += p_.rows * p_.features) >
        Looks::work.load(std::memory_order_relaxed) *
            kWiden) {  // the clock, however many features there are
      looked_ = 0;
      control_->check();
    }
    if (quick) return std::min(budget + 1, table_.lanes.least(s.word, W, stumps_));
    const Loss found =
        i + 2 == shape_.size() && table_.pairs.works() && pairs_.pack(table_.pairs, s.word, W)
            ? pairs_.least(table_.pairs, narrows(i), budget)
            : trees_of(i, s, budget);
    control_->poll(pairs_.work() / kPairs);
    if (++kept_ % 4096 == 0) table_.forget(most_);
    known_[i]->keep(s, found, found <= budget);
    return found;
  }

  Loss trees_of(std::size_t i, const Set& s, Loss budget) {
    const Held h = held(s);
    const Loss found = std::min(budget + 1, h.least());
    if (found == 0) return 0;
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
    best = std::min(best, trees(i + 1, s, best - 1));
    for (std::size_t f = 0; f < p_.features && best > 0; ++f) {
      best = ended<false>(i, s, h, f, best);
      best = ended<true>(i, s, h, f, best);
    }
    return best;
  }

  // The rows that end, of one side of a feature: as many as there are at each loss.
  template <bool Down>
  Loss ended(std::size_t i, const Set& s, const Held& h, std::size_t f, Loss best) {
    struct End {
      Loss loss;
      Set rows;
    };
    std::vector<End> ends;
    Set passed;
    walk<Down>(
        h, f, [&](int r) { passed.put(r); },
        [&](int, std::uint32_t, Loss loss, Loss) {
          if (loss >= best) return false;
          if (ends.empty() || ends.back().loss < loss)
            ends.push_back({loss, passed});
          else
            ends.back().rows = passed;
          return true;
        });
    descend(
        0, static_cast<int>(ends.size()) - 1, 0, 0, best,
        [&](int e, Loss, Loss) { return ends[e].loss; },
        [&](int e, Loss room) { return trees(i + 1, s.without(ends[e].rows), room); });
    return best;
  }

  Loss both(std::size_t i, const Set& s, const Held& h, Loss best) {
    Line line;
    for (std::size_t f = 0; f < p_.features && best > 0; ++f) {
      lay(line, h, f);
      descend(
          0, line.cuts() - 1, 0, 0, best,
          [&](int c, Loss room, Loss) { return trees(i + 1, line.before(c), room); },
          [&](int c, Loss room) { return trees(i + 1, s.without(line.before(c)), room); });
    }
    return best;
  }

  // The least left(c) + right(c) of the cuts from lo to hi where it is below `best`. Left sides
  // only lose more from cut to cut, right sides less: `from` is a bound on all left sides, `to` on
  // all right ones.
  template <class Left, class Right>
  void descend(int lo, int hi, Loss from, Loss to, Loss& best, const Left& left,
               const Right& right) {
    while (lo <= hi && from + to < best) {
      const int mid = lo + (hi - lo) / 2;
      const Loss l = std::max(from, left(mid, best - 1 - to, to));
      if (l + to >= best) {
        hi = mid - 1;
        continue;
      }
      const Loss r = std::max(to, right(mid, best - 1 - l));
      best = std::min(best, l + r);
      descend(lo, mid - 1, from, r, best, left, right);
      lo = mid + 1;
      from = l;
    }
  }

  // ---- diagrams

  // The nodes of a layer hold these rows; `spent` is what ended above.
  void layer(std::size_t i, const std::vector<Set>& sets, Loss spent) {
    if (last(i)) {
      finish(sets, spent);
      return;
    }
    drawn_[i].assign(sets.size(), {});
    node(i, sets, 0, {}, spent, false);
  }

  // Choices of one feature in the order of their cuts, whose arcs lead to the same nodes.
  struct Group {
    Loss bound;
    const Choice *first, *last;
    bool operator<(const Group& o) const {
      return bound != o.bound ? bound > o.bound : first < o.first;
    }
  };

  // Cuts for the node `j` of a layer and those behind it; `next` holds the rows of the next layer
  // so far. A probe ends where the layer does, and tells whether anything is left.
  bool node(std::size_t i, const std::vector<Set>& sets, std::size_t j,
            const std::vector<Set>& next, Loss spent, bool probe) {
    if (j == sets.size()) {
      if (!probe) layer(i + 1, next, spent);
      return probe;
    }
    std::vector<Choice> choices = choices_of(i, sets, j, next, spent, probe);
    if (probe && j + 1 == sets.size()) return !choices.empty();
    const auto alike = [](const Choice& c) { return std::tuple(c.left, c.right, c.feature); };
    std::sort(choices.begin(), choices.end(), [alike](const Choice& a, const Choice& b) {
      return std::tuple(alike(a), a.cut) < std::tuple(alike(b), b.cut);
    });
    std::priority_queue<Group> groups;  // the most promising first
    const auto push = [&](const Choice* first, const Choice* last) {
      const auto least = std::min_element(
          first, last + 1, [](const Choice& a, const Choice& b) { return a.bound < b.bound; });
      groups.push({least->bound, first, last});
    };
    const Choice *from = choices.data(), *end = from + choices.size();
    for (const Choice* last = from; from != end; from = last) {
      while (last != end && alike(*last) == alike(*from)) ++last;
      push(from, last - 1);
    }
    while (!groups.empty() && groups.top().bound < below_) {
      auto [bound, lo, hi] = groups.top();
      groups.pop();
      while (lo->bound >= below_) ++lo;
      while (hi->bound >= below_) --hi;
      if (lo == hi) {
        if (take(i, sets, j, next, spent, probe, *lo, *hi)) return true;
      } else if (may_hold(i, sets, j, next, spent, probe, *lo, *hi)) {
        const Choice* mid = lo + (hi - lo) / 2;
        push(lo, mid);
        push(mid + 1, hi);
      }
    }
    return false;
  }

  // What is left for a choice that sends left what all choices from `lo` to `hi` do, and right what
  // all of them do. If that is nothing, nothing is for any of them.
  bool may_hold(std::size_t i, const std::vector<Set>& sets, std::size_t j,
                const std::vector<Set>& next, Loss spent, bool probe, const Choice& lo,
                const Choice& hi) {
    if (j + 1 == sets.size() && (probe || last(i + 1))) return true;  // as their bounds tell
    if (&hi - &lo < kFew) return true;
    Probes& probes = probes_[std::min(i, probes_.size() - 1)];
    // Where it seldom tells more, it is asked seldom.
    if (probes.asked >= 8 && 4 * probes.closed < probes.asked && ++probes.passed % 16 != 0)
      return true;
    ++probes.asked;
    const bool left_over = take(i, sets, j, next, spent, true, lo, hi);
    probes.closed += !left_over;
    return left_over;
  }

  bool take(std::size_t i, const std::vector<Set>& sets, std::size_t j,
            const std::vector<Set>& next, Loss spent, bool probe, const Choice& lo,
            const Choice& hi) {
    std::vector<Set> then = next;
    const int most = std::max(lo.left, lo.right);
    if (most >= static_cast<int>(then.size())) then.resize(most + 1);
    const auto arc = [&](int to, const Set& rows) {
      if (to != kEnds) {
        then[to] = then[to] | rows;
        return to;
      }
      const Held h = held(rows);
      spent += h.least();
      return ~h.label();
    };
    const int left = arc(lo.left, lo.goes_left),
              right = arc(lo.right, sets[j].without(hi.goes_left));
    if (!probe) drawn_[i][j] = {lo.feature, lo.cut, left, right};
    // A probe of the last node of a layer goes on to the layer below.
    return probe && &lo != &hi && j + 1 == sets.size() ? node(i + 1, then, 0, {}, spent, true)
                                                       : node(i, sets, j + 1, then, spent, probe);
  }

  std::vector<Choice> choices_of(std::size_t i, const std::vector<Set>& sets, std::size_t j,
                                 const std::vector<Set>& next, Loss spent, bool probe) {
    control_->poll(p_.rows * p_.features);
    const int used = static_cast<int>(next.size()), nodes = shape_[i + 1],
              behind = static_cast<int>(sets.size() - j) - 1;
    std::vector<Loss> has(used);
    Loss others = spent;  // what is lost at least beside this node
    for (int d = 0; d < used; ++d) others += has[d] = trees(i + 1, next[d], below_ - 1);
    for (std::size_t k = j + 1; k < sets.size(); ++k) others += trees(i, sets[k], below_ - 1);
    std::vector<Choice> found;
    if (others >= below_) return found;
    for (int left = kEnds; left <= used && left < nodes; ++left)
      for (int right = kEnds; right < nodes && right <= std::max(left + 1, used); ++right) {
        if (left == right && left != kEnds) continue;
        if (left < used && right > used) continue;  // new nodes come in order
        const int now = std::max({left + 1, right + 1, used});
        if (nodes - now > 2 * behind) continue;  // some would stay empty
        Loss rest = others;
        if (left >= 0 && left < used) rest -= has[left];
        if (right >= 0 && right < used) rest -= has[right];
        search(i, sets[j], next, left, right, rest, found, probe);
        if (probe && behind == 0 && !found.empty()) return found;  // it is enough that there is one
      }
    return found;
  }

  // All cuts of a node that may pay, with these ends of its arcs.
  void search(std::size_t i, const Set& s, const std::vector<Set>& next, int left, int right,
              Loss rest, std::vector<Choice>& found, bool probe) {
    const Set into_left = left >= 0 && left < static_cast<int>(next.size()) ? next[left] : Set{};
    const Set into_right =
        right >= 0 && right < static_cast<int>(next.size()) ? next[right] : Set{};
    std::unordered_set<Set, HashRows<W>> seen;
    const Held h = held(s);
    const std::size_t first = found.size();
    Line line;
    for (std::size_t f = 0; f < p_.features; ++f) {
      lay(line, h, f);
      if (probe) idle(line, s, h);
      if (left == kEnds && right == kEnds) {
        for (int c = 0; c < line.cuts(); ++c)
          keep_best(found, first,
                    {rest + line.left[c] + line.right[c], static_cast<int>(f), line.cut[c], left,
                     right, line.before(c)});
        continue;
      }
      const auto lost_left = [&](int c, Loss room) {
        return left == kEnds ? line.left[c] : trees(i + 1, into_left | line.before(c), room);
      };
      const auto lost_right = [&](int c, Loss room) {
        return right == kEnds ? line.right[c]
                              : trees(i + 1, into_right | s.without(line.before(c)), room);
      };
      spread(0, line.cuts() - 1, 0, 0, rest, lost_left, lost_right, [&](int c, Loss bound) {
        // A side that ends may as well hold more rows at the same loss. Not above the last layer,
        // where a cut below might be left without rows on one side.
        if (last(i + 1) && left == kEnds && c + 1 < line.cuts() && line.left[c + 1] == line.left[c])
          return;
        if (last(i + 1) && right == kEnds && c > 0 && line.right[c - 1] == line.right[c]) return;
        Set goes = line.before(c);
        if (seen.insert(goes).second)
          found.push_back({bound, static_cast<int>(f), line.cut[c], left, right, goes});
      });
    }
  }

  void keep_best(std::vector<Choice>& found, std::size_t first, const Choice& c) const {
    if (c.bound >= below_) return;
    if (found.size() == first)
      found.push_back(c);
    else if (c.bound < found[first].bound)
      found[first] = c;
  }

  // As descend, but all cuts whose bound is below what is known are told.
  template <class Left, class Right, class Tell>
  void spread(int lo, int hi, Loss from, Loss to, Loss rest, const Left& left, const Right& right,
              const Tell& tell) {
    while (lo <= hi && rest + from + to < below_) {
      const int mid = lo + (hi - lo) / 2;
      const Loss l = std::max(from, left(mid, below_ - 1 - rest - to));
      if (rest + l + to >= below_) {
        hi = mid - 1;
        continue;
      }
      const Loss r = std::max(to, right(mid, below_ - 1 - rest - l));
      if (rest + l + r < below_) tell(mid, rest + l + r);
      spread(lo, mid - 1, from, r, rest, left, right, tell);
      lo = mid + 1;
      from = l;
    }
  }

  // The last layer: each node has its best cut by itself.
  void finish(const std::vector<Set>& sets, Loss spent) {
    const std::size_t i = shape_.size() - 1;
    Loss total = spent;
    for (const Set& s : sets) {
      total += trees(i, s, below_ - 1 - total);
      if (total >= below_) return;
    }
    drawn_[i].clear();
    for (const Set& s : sets) drawn_[i].push_back(stump_of(s));
    below_ = answer_.value = total;
    answer_.layers = drawn_;
  }

  LayeredNode stump_of(const Set& s) const {
    const Held h = held(s);
    Loss best = h.least();
    LayeredNode node{0, 0, ~h.label(), ~h.label()};
    Line line;
    for (std::size_t f = 0; f < p_.features; ++f) {
      lay(line, h, f);
      for (int c = 0; c < line.cuts(); ++c) {
        if (line.left[c] + line.right[c] >= best) continue;
        best = line.left[c] + line.right[c];
        const Set left = line.before(c);
        node = {static_cast<int>(f), line.cut[c], ~held(left).label(),
                ~held(s.without(left)).label()};
      }
    }
    return node;
  }

  Table<W>& table_;
  const LayeredProblem& p_;
  StumpLanes::Room stumps_;
  PairLanes::Room pairs_;
  std::vector<KeptTrees<W>*> known_;  // of the layers of this shape
  std::size_t kept_ = 0, most_ = 0, looked_ = 0;
  static constexpr std::ptrdiff_t kFew = 3;  // choices that are as soon taken one by one
  static constexpr std::size_t kPairs = 64;  // as quick is a row in bytes
  static constexpr std::size_t kWiden = 10;  // cells between two looks, to visits of rows
  Control* control_ = nullptr;
  std::vector<int> shape_;
  Loss below_ = 0;
  LayeredAnswer answer_;
  std::vector<std::vector<LayeredNode>> drawn_;
  struct Probes {
    std::size_t asked = 0, closed = 0, passed = 0;
  };
  std::array<Probes, 8> probes_;  // by layer
};

template <int W>
class Search final : public LayeredSearch {
 public:
  explicit Search(LayeredProblem problem) : table_(std::move(problem)) {}

  LayeredAnswer solve(const std::vector<int>& shape, Loss below, bool bound_only,
                      const Options& options) override {
    return ShapeSearch<W>(table_).solve(shape, below, bound_only, options);
  }

 private:
  Table<W> table_;
};

void check(const LayeredProblem& p) {
  if (p.rows == 0 || p.rows > kMostLayeredRows)
    throw std::invalid_argument("between 1 and 512 rows");
  if (p.labels < 1 || p.labels > kMostLayeredLabels || p.loss.size() != p.rows * p.labels)
    throw std::invalid_argument("one loss per row and label");
  if (p.rank.size() != p.rows * p.features || p.distinct.size() != p.features ||
      p.allowed.size() != p.features)
    throw std::invalid_argument("one rank per feature and row");
  for (std::size_t f = 0; f < p.features; ++f)
    for (std::size_t r = 0; r < p.rows; ++r)
      if (p.rank[f * p.rows + r] >= p.distinct[f])
        throw std::invalid_argument("a rank is too large");
  if (std::any_of(p.loss.begin(), p.loss.end(), [](Loss l) { return l < 0; }))
    throw std::invalid_argument("losses are at least 0");
}

}  // namespace

std::unique_ptr<LayeredSearch> layered_search(LayeredProblem problem) {
  check(problem);
  const std::size_t words = (problem.rows + 63) / 64;
  if (words <= 1) return std::make_unique<Search<1>>(std::move(problem));
  if (words <= 2) return std::make_unique<Search<2>>(std::move(problem));
  if (words <= 4) return std::make_unique<Search<4>>(std::move(problem));
  return std::make_unique<Search<8>>(std::move(problem));
}

}  // namespace odt
