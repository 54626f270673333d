#include "odt/diagrams.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "diagram_last_tests.hpp"
#include "diagram_probes.hpp"
#include "diagram_trees.hpp"
#include "shape_job.hpp"

namespace odt {
namespace {

constexpr int kEnds = -1;  // an arc to the best class of its rows

// A cut of a node, and the next layer's node that each side leads to, or kEnds.
template <int W>
struct ShapeChoice {
  Loss bound;
  int feature;
  std::uint32_t cut;
  int left, right;
  Rows<W> goes_left;
};

template <int W>
class ShapeSearch;
template <int W>
using Job = ShapeJob<ShapeChoice<W>, ShapeSearch<W>>;

// What one thread does of the search of one shape.
template <int W>
class ShapeSearch : ShapeTrees<W> {
  using Trees = ShapeTrees<W>;
  using Trees::begin, Trees::held, Trees::last, Trees::lay, Trees::may_meet, Trees::rest,
      Trees::trees;
  using Trees::control_, Trees::most_, Trees::p_, Trees::shape_, Trees::table_;
  using typename Trees::Held, typename Trees::Line, typename Trees::Set;

  using Choice = ShapeChoice<W>;

  // Cuts of a node that may pay whatever the others of its layer have: per feature the first and
  // the last one, by which of its arcs ends. No features: none.
  struct Within {
    bool asked = false, known = false;
    std::array<std::vector<std::pair<int, int>>, 3> cuts;
  };
  // Those of the nodes of a layer, where so much was lost above.
  struct LayerWithin {
    LayerWithin() = default;
    LayerWithin(std::size_t many, Loss above) : nodes(many), spent(above) {}
    std::vector<Within> nodes;
    Loss spent = 0;
  };

 public:
  ShapeSearch(ShapeTable<W>& table, const std::vector<int>& shape)
      : Trees(table, shape), shared_(table.last_tests, shape) {
    drawn_.assign(shape.size(), {});
    turn_.assign(shape.size(), {});
    within_.assign(shape.size(), {});
    lines_.resize(p_.features);
  }

  // `lowered`: what is good enough by now. `told`: what hears of better diagrams.
  LayeredAnswer solve(Job<W>& job, bool bound_only, const Options& options,
                      const std::function<Loss()>& lowered, const LayeredTold& told) {
    Options further = options;  // the last choices that a turn takes are taken to their end
    if (!bound_only) further.work_limit *= kFurtherTurn;
    Control control(further);
    begin(options, control);
    shared_.begin(most_ / 8);
    job_ = &job;
    lowered_ = &lowered;
    told_ = &told;
    probe_ends_ = ~std::uint64_t{0};
    refresh();
    LayeredAnswer answer;
    try {
      answer.bound = std::min(below_, trees(0, table_.all, below_ - 1));
      answer.complete = answer.bound >= below_;
      if (!answer.complete && !bound_only && root(options.work_limit)) {
        refresh();
        answer.bound = below_;
        answer.complete = true;
      }
    } catch (const Stop&) {
    }
    shared_.clear();
    rest();
    job.tell(answer);
    answer.work = control.work();
    return answer;
  }

 private:
  // No more is asked than what is good enough by now.
  void refresh() {
    job_->lower((*lowered_)());
    below_ = job_->below();
  }

  // As `layer` and `node`, but other threads may take some of the choices. Whether none are left;
  // more than `most` rows visited are enough.
  bool root(std::uint64_t most) {
    const std::vector<Set> all = {table_.all};
    if (last(0)) {
      finish(all, 0);
      return true;
    }
    drawn_[0].assign(1, {});
    turn_[0] = {0};
    const std::uint64_t before = control_->work();
    return job_->run([&] { return choices_of(0, all, 0, {}, 0, false); },
                     [&](const Choice& lo, const Choice& hi) {
                       return may_hold(0, all, 0, {}, 0, false, lo, hi);
                     },
                     [&](const Choice& one) { follow(0, all, 0, {}, 0, false, one); },
                     [&] {
                       control_->check();
                       return most > 0 && control_->work() - before >= most;
                     });
  }

  // Of rows that are not all that a node will hold, a cut may leave none on a side.
  static void idle(Line& line, const Set& s, const Held& h) {
    line.sets.insert(line.sets.begin(), Set{});
    line.sets.push_back(s);
    for (std::uint32_t& cut : line.cut) ++cut;  // for their order: the first may be 0, too
    line.cut.insert(line.cut.begin(), 0);
    line.cut.push_back(~std::uint32_t{0});
    line.left.insert(line.left.begin(), 0);
    line.left.push_back(h.least());
    line.right.insert(line.right.begin(), h.least());
    line.right.push_back(0);
  }

  // The nodes of a layer hold these rows; `spent` is what ended above.
  void layer(std::size_t i, const std::vector<Set>& sets, Loss spent) {
    if (last(i)) {
      finish(sets, spent);
      return;
    }
    drawn_[i].assign(sets.size(), {});
    std::vector<int>& turn = turn_[i];
    turn.resize(sets.size());
    std::iota(turn.begin(), turn.end(), 0);
    std::stable_sort(turn.begin(), turn.end(),
                     [&](int a, int b) { return has_more(sets[a], sets[b]); });
    std::vector<Set> in_turn;
    for (int k : turn) in_turn.push_back(sets[k]);
    node(i, in_turn, 0, {}, spent, false);
  }

  // Cuts for the node `j` of a layer and those behind it; `next` holds the rows of the next layer
  // so far. A probe ends where the layer does, and tells whether anything is left.
  bool node(std::size_t i, const std::vector<Set>& sets, std::size_t j,
            const std::vector<Set>& next, Loss spent, bool probe) {
    refresh();
    if (spent >= below_) return false;
    if (probe && control_->work() > probe_ends_) return true;  // too long to be told
    if (j == 0) {
      within_[i][1] = LayerWithin(sets.size(), spent);
      if (!probe) within_[i][0] = LayerWithin(sets.size(), spent);
    }
    const SharedLastTests::Narrowed narrowed(shared_);
    if (shared_.works(i)) {
      const bool open = shared_.narrow(i, sets, j, next, below_ - spent);
      control_->poll(shared_.take_work());
      if (!open) return false;
    }
    if (j == sets.size()) {
      if (!probe) layer(i + 1, next, spent);
      return probe;
    }
    std::vector<Choice> choices = choices_of(i, sets, j, next, spent, probe);
    if (probe && j + 1 == sets.size()) return !choices.empty();
    ChoiceGroups<Choice> groups(choices);
    while (groups.left(below_)) {
      const auto [lo, hi] = groups.next(below_);
      if (lo == hi) {
        if (follow(i, sets, j, next, spent, probe, *lo)) return true;
      } else if (may_hold(i, sets, j, next, spent, probe, *lo, *hi)) {
        groups.part(lo, hi);
      }
    }
    return false;
  }

  bool follow(std::size_t i, const std::vector<Set>& sets, std::size_t j,
              const std::vector<Set>& next, Loss spent, bool probe, const Choice& one) {
    const std::uint64_t before = control_->work();
    const bool open = take(i, sets, j, next, spent, probe, one, one);
    work_of(i, j, probe).add(control_->work() - before);
    return open;
  }

  // What one choice takes at such a node of a layer.
  MeanWork& work_of(std::size_t i, std::size_t j, bool probe) {
    auto& layer = one_by_one_[std::min(i, one_by_one_.size() - 1)];
    return layer[std::min(j, layer.size() - 1)][probe];
  }

  // What is left for a choice that sends left what all choices from `lo` to `hi` do, and right what
  // all of them do. If that is nothing, nothing is for any of them. It is not asked for longer than
  // they take one by one: its cuts part fewer rows, so that more of them seem to pay.
  bool may_hold(std::size_t i, const std::vector<Set>& sets, std::size_t j,
                const std::vector<Set>& next, Loss spent, bool probe, const Choice& lo,
                const Choice& hi) {
    if (j + 1 == sets.size() && (probe || last(i + 1))) return true;  // as their bounds tell
    ProbesThatPay& probes = probes_[std::min(i, probes_.size() - 1)];
    if (!probes.pays(&hi - &lo)) return true;
    const std::uint64_t one = work_of(i, j, probe).mean(kFirst * p_.rows * p_.features),
                        end = control_->work() + one * static_cast<std::uint64_t>(&hi - &lo + 1),
                        before = std::exchange(probe_ends_, std::min(probe_ends_, end));
    const bool open = take(i, sets, j, next, spent, true, lo, hi);
    probe_ends_ = before;
    return probes.told(open);
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
    if (!probe) drawn_[i][turn_[i][j]] = {lo.feature, lo.cut, left, right};
    // A probe of the last node of a layer goes on to the layer below.
    if (!probe || &lo == &hi || j + 1 < sets.size())
      return node(i, sets, j + 1, then, spent, probe);
    std::stable_sort(then.begin(), then.end(), has_more);
    return node(i + 1, then, 0, {}, spent, true);
  }

  // What has most rows comes first: it leaves least room for the others.
  static bool has_more(const Set& a, const Set& b) { return a.count() > b.count(); }

  std::vector<Choice> choices_of(std::size_t i, const std::vector<Set>& sets, std::size_t j,
                                 const std::vector<Set>& next, Loss spent, bool probe) {
    control_->poll(p_.rows * p_.features);
    const int used = static_cast<int>(next.size()), nodes = shape_[i + 1],
              behind = static_cast<int>(sets.size() - j) - 1;
    std::vector<Loss> has(used);
    Loss others = spent;  // what is lost at least beside this node
    std::vector<Choice> found;
    for (int d = 0; d < used; ++d) {
      others += has[d] = trees(i + 1, next[d], below_ - 1 - others);
      if (others >= below_) return found;
    }
    for (std::size_t k = j + 1; k < sets.size(); ++k) {
      others += trees(i, sets[k], below_ - 1 - others);
      if (others >= below_) return found;
    }
    if (used == 2) {
      const Loss budget = below_ - 1 - others + has[0] + has[1];
      if (budget <= kMostMet && !may_meet(i + 1, next[0], next[1], budget)) return found;
    }
    const Held h = held(sets[j]);
    for (std::size_t f = 0; f < p_.features; ++f) {
      lay(lines_[f], h, f);
      if (probe) idle(lines_[f], sets[j], h);
    }
    const Within* within = j > 0 ? within_of(i, sets, j, probe) : nullptr;
    for (int left = kEnds; left <= used && left < nodes; ++left)
      for (int right = kEnds; right < nodes && right <= std::max(left + 1, used); ++right) {
        if (left == right && left != kEnds) continue;
        if (left < used && right > used) continue;  // new nodes come in order
        const int now = std::max({left + 1, right + 1, used});
        if (nodes - now > 2 * behind) continue;  // some would stay empty
        Loss rest = others;
        if (left >= 0 && left < used) rest -= has[left];
        if (right >= 0 && right < used) rest -= has[right];
        search(i, sets[j], next, left, right, rest, within, found);
        if (probe && behind == 0 && !found.empty()) return found;  // it is enough that there is one
      }
    return found;
  }

  // Which arc ends: none, the left or the right one. Where both do, a cut pays only if it does with
  // the left one alone, as what leads on loses no more.
  static std::size_t ending(int left, int right) {
    return left == kEnds ? 1 : right == kEnds ? 2 : 0;
  }

  // What is asked of the node `j` of a layer more than once, with other cuts above or before it:
  // of `lines_`, the cuts that may pay at all.
  const Within* within_of(std::size_t i, const std::vector<Set>& sets, std::size_t j, bool probe) {
    LayerWithin& layer = within_[i][probe];
    Within& within = layer.nodes[j];
    if (within.known) return &within;
    if (!std::exchange(within.asked, true)) return nullptr;
    within.known = true;
    Loss rest = layer.spent;
    for (std::size_t k = 0; k < sets.size(); ++k)
      if (k != j) rest += trees(i, sets[k], below_ - 1 - rest);
    constexpr std::pair<int, int> kArcs[] = {{0, 1}, {kEnds, 0}, {0, kEnds}};
    for (const auto& [left, right] : kArcs) {
      if (left != kEnds && right != kEnds && shape_[i + 1] == 1) continue;
      std::vector<Choice> found;
      search(i, sets[j], {}, left, right, rest, nullptr, found);
      auto& cuts = within.cuts[ending(left, right)];
      if (!found.empty()) cuts.assign(p_.features, {std::numeric_limits<int>::max(), -1});
      for (const Choice& c : found) {
        const int at = lines_[c.feature].between(c.goes_left, {}).first;
        auto& [first, last] = cuts[c.feature];
        first = std::min(first, at);
        last = std::max(last, at);
      }
    }
    return &within;
  }

  // All cuts of a node, of `lines_`, that may pay, with these ends of its arcs.
  void search(std::size_t i, const Set& s, const std::vector<Set>& next, int left, int right,
              Loss rest, const Within* within, std::vector<Choice>& found) {
    const auto* cuts = within ? &within->cuts[ending(left, right)] : nullptr;
    if (cuts && cuts->empty()) return;
    Set into_left = left >= 0 && left < static_cast<int>(next.size()) ? next[left] : Set{};
    Set into_right = right >= 0 && right < static_cast<int>(next.size()) ? next[right] : Set{};
    ProbesThatPay& shares = shares_[std::min(i, shares_.size() - 1)];
    if (left != kEnds && right != kEnds && shares.pays(s.count()) &&
        !shares.told(share(i, s, rest, into_left, into_right)))
      return;
    const Set goes_left = s.both(into_left), goes_right = s.both(into_right);
    std::unordered_set<Set, HashRows<W>> seen;
    const std::size_t first = found.size();
    std::vector<char> closed(p_.features, 0);
    if (left == kEnds && right != kEnds) close_ends(i, s, true, into_right | s, rest, closed);
    if (right == kEnds && left != kEnds) close_ends(i, s, false, into_left | s, rest, closed);
    for (std::size_t f = 0; f < p_.features; ++f) {
      if (closed[f]) continue;
      const Line& line = lines_[f];
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
      auto [lo, hi] = line.between(goes_left, goes_right);
      Loss from = 0, to = 0;
      if (cuts) {
        lo = std::max(lo, (*cuts)[f].first);
        hi = std::min(hi, (*cuts)[f].second);
        if (lo < hi) {  // few are left: their ends may close them all
          from = lost_left(lo, below_ - 1 - rest);
          if (rest + from >= below_) continue;
          to = lost_right(hi, below_ - 1 - rest - from);
        }
      }
      spread(lo, hi, from, to, rest, lost_left, lost_right, [&](int c, Loss bound) {
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

  // Rows of a node whose arcs lead to two nodes that hold `left` and `right` so far: those that
  // only one of them has room for go there. Whether there is room for all.
  bool share(std::size_t i, const Set& s, Loss rest, Set& left, Set& right) {
    Loss by_left = trees(i + 1, left, below_ - 1 - rest);
    if (rest + by_left >= below_) return false;
    Loss by_right = trees(i + 1, right, below_ - 1 - rest - by_left);
    if (rest + by_left + by_right >= below_) return false;
    for (int w = 0; w < W; ++w)
      for (std::uint64_t bits = s.word[w]; bits; bits &= bits - 1) {
        Set row;
        row.word[w] = bits & -bits;
        const Loss l = trees(i + 1, left | row, below_ - 1 - rest - by_right);
        const Loss r = trees(i + 1, right | row, below_ - 1 - rest - by_left);
        const bool fits_left = rest + l + by_right < below_,
                   fits_right = rest + by_left + r < below_;
        if (!fits_left && !fits_right) return false;
        if (!fits_left) {
          right = right | row;
          by_right = r;
        } else if (!fits_right) {
          left = left | row;
          by_left = l;
        }
      }
    return true;
  }

  // The features, of `lines_`, of which no cut pays whose left (or right) side ends, if the arc of
  // the other leads to a node with `all` these rows then. Of the rows that end with a label, those
  // that lose by it as by the worst might as well stay: so of some features at once, what stays at
  // least are all rows but those that may end on a side of one of them and gain by the label.
  void close_ends(std::size_t i, const Set& s, bool left, const Set& all, Loss rest,
                  std::vector<char>& closed) {
    struct Ending {
      int many;
      std::size_t feature;
      Set rows;
    };
    std::vector<Ending> ends;
    const Loss room = below_ - rest;
    for (std::size_t f = 0; f < p_.features; ++f) {
      const Line& line = lines_[f];
      const std::vector<Loss>& lost = left ? line.left : line.right;
      const auto fits = [room](Loss l) { return l < room; };
      if (std::none_of(lost.begin(), lost.end(), fits)) {
        closed[f] = 1;
        continue;
      }
      const auto most = left ? std::find_if(lost.rbegin(), lost.rend(), fits).base() - 1
                             : std::find_if(lost.begin(), lost.end(), fits);
      const Set& before = line.before(static_cast<int>(most - lost.begin()));
      const Set rows = left ? before : s.without(before);
      ends.push_back({rows.count(), f, rows});
    }
    std::sort(ends.begin(), ends.end(), [](const Ending& a, const Ending& b) {
      return std::tuple(a.many, a.feature) < std::tuple(b.many, b.feature);
    });
    ProbesThatPay& probes = ends_[std::min(i, ends_.size() - 1)];
    std::vector<std::pair<std::size_t, std::size_t>> todo = {{0, ends.size()}};
    while (!todo.empty()) {
      const auto [lo, hi] = todo.back();
      todo.pop_back();
      if (!probes.pays(static_cast<std::ptrdiff_t>(hi - lo))) continue;
      Set may_end;
      for (std::size_t e = lo; e < hi; ++e) may_end = may_end | ends[e].rows;
      const bool open = std::any_of(table_.gains.begin(), table_.gains.end(), [&](const Set& gain) {
        return trees(i + 1, all.without(may_end.without(may_end.without(gain))), room - 1) < room;
      });
      if (probes.told(open)) {
        todo.emplace_back(lo, lo + (hi - lo) / 2);
        todo.emplace_back(lo + (hi - lo) / 2, hi);
      } else {
        for (std::size_t e = lo; e < hi; ++e) closed[ends[e].feature] = 1;
      }
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
    below_ = total;
    if (job_->keep(total, drawn_) && *told_) (*told_)(total, drawn_);
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

  static constexpr std::uint64_t kFurtherTurn = 4;
  static constexpr std::uint64_t kFirst = 100;  // looks at all cuts: a choice, until one is known
  static constexpr Loss kMostMet = 1;  // where more may be lost, two nodes seldom tell more
  Job<W>* job_ = nullptr;
  const std::function<Loss()>* lowered_ = nullptr;
  const LayeredTold* told_ = nullptr;
  Loss below_ = 0;
  Layers drawn_;
  std::vector<std::vector<int>> turn_;              // per layer, which node comes when
  std::vector<std::array<LayerWithin, 2>> within_;  // by layer, without and with those of probes
  SharedLastTests shared_;
  std::vector<Line> lines_;  // of the node whose choices are looked for, by feature
  std::array<ProbesThatPay, 8> probes_, ends_, shares_;  // by layer
  std::array<std::array<std::array<MeanWork, 2>, 4>, 8>
      one_by_one_;  // by layer and node, and those of probes
  std::uint64_t probe_ends_ = ~std::uint64_t{0};
};

template <int W>
class Search final : public LayeredSearch {
 public:
  explicit Search(LayeredProblem problem)
      : anyway_(take_out(problem)), unit_(by_unit(problem)), table_(std::move(problem)) {}

  LayeredAnswer solve(const std::vector<int>& shape, Loss below, const LayeredWish& wish,
                      const Options& options) override {
    check(shape);
    const std::function<Loss()> lowered = [this, &wish] {
      return inside(upper.load(std::memory_order_relaxed) - wish.paid);
    };
    const Loss asked = inside(below);
    const std::shared_ptr<Job<W>> job = wish.bound_only ? std::make_shared<Job<W>>(asked)
                                                        : job_of(shape, asked, asked >= lowered());
    LayeredTold told;
    if (wish.told)
      told = [this, &wish](Loss value, const auto& layers) { wish.told(outside(value), layers); };
    auto search = job->taken([&] { return std::make_unique<ShapeSearch<W>>(table_, shape); });
    LayeredAnswer found = search->solve(*job, wish.bound_only, options, lowered, told);
    job->leave(std::move(search));
    if (found.complete) job->end();
    if (!wish.bound_only && !found.complete) leave({shape, job->asked}, job);
    found.bound = std::min(below, outside(found.bound));
    if (found.value < kInfinite) found.value = outside(found.value);
    if (found.value >= below) {  // of an earlier call
      found.value = kInfinite;
      found.layers.clear();
    }
    return found;
  }

 private:
  using Asked = std::pair<std::vector<int>, Loss>;  // the shape, and below what

  static void check(const std::vector<int>& shape) {
    bool stands = !shape.empty() && shape[0] == 1;
    for (std::size_t i = 1; i < shape.size(); ++i)
      stands = stands && shape[i] >= 1 && shape[i] <= 2 * shape[i - 1];
    if (!stands || shape.size() > 30)
      throw std::invalid_argument(
          "a shape has 1 node, then up to twice as many in each of at most 30 layers");
  }

  // What rows lose by all labels goes out of the problem, so that a row loses nothing by its best.
  static Loss take_out(LayeredProblem& p) {
    Loss sum = 0;
    for (auto row = p.loss.begin(); row != p.loss.end(); row += p.labels) {
      const Loss least = *std::min_element(row, row + p.labels);
      for (auto k = row; k != row + p.labels; ++k) *k -= least;
      sum += least;
    }
    return sum;
  }

  // Losses are told by what they are multiples of: a sum that leaves no room for one more row is
  // seen as full.
  static Loss by_unit(LayeredProblem& p) {
    Loss unit = 0;
    for (const Loss l : p.loss) unit = std::gcd(unit, l);
    if (unit == 0) return 1;
    for (Loss& l : p.loss) l /= unit;
    return unit;
  }

  // Losses without what all lose anyway, in units, and back.
  Loss inside(Loss below) const {
    const Loss most = std::max<Loss>(0, below - anyway_);
    return most / unit_ + (most % unit_ != 0);
  }
  Loss outside(Loss loss) const { return loss * unit_ + anyway_; }

  // That of other threads, or of an earlier call: for as much, or for more where all that is better
  // than the best is asked for. What it has closed for less than it was asked for would be lost.
  std::shared_ptr<Job<W>> job_of(const std::vector<int>& shape, Loss below, bool all) {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto job = jobs_.lower_bound({shape, 0});
    while (job != jobs_.end() && job->first < Asked{shape, below}) job = jobs_.erase(job);
    if (job == jobs_.end() || job->first.first != shape || (job->first.second > below && !all))
      job = jobs_.emplace(Asked{shape, below}, std::make_shared<Job<W>>(below)).first;
    job->second->lower(below);
    return job->second;
  }

  // What is not done is kept for later, of so many searches.
  void leave(const Asked& asked, const std::shared_ptr<Job<W>>& job) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto kept = jobs_.find(asked);
    if (kept != jobs_.end() && kept->second == job &&
        std::count_if(jobs_.begin(), jobs_.end(),
                      [](const auto& one) { return !one.second->done(); }) > kMostKept)
      jobs_.erase(kept);
  }

  static constexpr std::ptrdiff_t kMostKept = 64;
  const Loss anyway_, unit_;
  ShapeTable<W> table_;
  std::mutex mutex_;
  std::map<Asked, std::shared_ptr<Job<W>>> jobs_;
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
