// Branch and bound over sorted features, any depth.
//
// A node keeps one queue of (feature, interval) over all features, ordered by the envelope's bound,
// so the least bound in the queue is a lower bound for the node at any time. The cut in the middle
// of the most promising interval is evaluated next; its two sides are sub-problems of one depth
// less.
//
// A side is solved up to what closes the interval behind it, not only up to what can still win
// there: if the left side loses at least the upper bound less what is known of the right side at
// the interval's high end, all cuts up to that end are closed.
#pragma once

#include <memory>
#include <queue>
#include <vector>

#include "odt/box_cache.hpp"
#include "odt/depth_two.hpp"
#include "odt/memory.hpp"
#include "odt/proof_log.hpp"

namespace odt {

struct CutRecord {
  Hint left, right;
  Loss any_left = 0, any_right = 0;  // bounds on trees whose leaves may be of any size
  // The same without what sizes counted on wider rows tell, which holds up to the interval's end.
  Loss free_left = 0, free_right = 0;
};

// What the two sides of a cut may look like, and which of them tests the column that must be tested
// (neither, if the cut itself does or none must).
struct Division {
  Shape left, right;
  bool must_left = false, must_right = false;
};

// An evaluated cut.
struct CutValue {
  Loss left = 0, right = 0;
  // The same, of trees whose leaves may be of any size (see Interval).
  Loss any_left = 0, any_right = 0;
  bool exact = false;
  Plan plan;
  CutRecord record;
};

class Branch;

// The best cut of a feature that was evaluated so far: where to begin one level deeper.
struct BestCut {
  Loss value = kInfinite;
  Hint hint;
};

// What became of an interval that was searched for a while: its parts that are still open, and the
// best cut that was met.
struct Rest {
  std::vector<Interval> open;
  std::vector<CutRecord> records;  // of ends of the parts; the first two are of the interval's own
  BestCut cut;
  bool better = false;  // then the plan loses `value`, less than the best before
  Loss value = 0;
  Plan plan;
};

// Views and scratch of one thread.
class Search {
 public:
  // With `memory`, at level 0 the view holds all rows, and answers of depth two are remembered in
  // so many bytes.
  explicit Search(Control& control, std::size_t memory = 0)
      : control_(control), depth_two_(control, counters), own_(memory) {}

  // The view has the rows of a leaf.
  Outcome solve(View& view, int level, Shape shape, Loss upper, Loss lower, Ask ask,
                const Hint* hints, int hint_count);
  // A tree of depth three, the most promising cuts first, until none can lose less than the best by
  // more than `part` of it, or after so much work (`complete` says which). `cuts`: per feature, the
  // best cut that was met.
  Outcome sketch(View& view, Loss upper, Ask ask, double part, std::uint64_t most,
                 std::vector<BestCut>& cuts, bool& complete);
  CutValue evaluate(Branch& node, View& view, int level, std::size_t feature, std::int32_t cut,
                    const Interval& around, int number, Ask ask, Loss upper);
  Control& control() { return control_; }
  // Bounds are written down from here on, for a certificate.
  void keep(ProofLog* log) { log_ = log; }
  ProofLog* log() const { return log_; }
  // Its own, unless it was told to use another.
  Memory& memory() { return *memory_; }
  // From here on answers are remembered there; those in `common` are known too.
  void remember(Memory* memory, const Memory* common) {
    memory_ = memory;
    common_ = common;
  }

  Counters counters;

 private:
  View& child(int level, int which);
  Outcome remembered(View& view, int level, Shape shape, Loss upper, Loss lower, Ask ask,
                     const Hint* hints, int hint_count);
  bool box_of(const View& view, int level, int state, BoxCache::Box& box) const;
  Loss leaf_less(View& view, int level, Shape shape, Ask ask, Loss upper, Loss lower);

  Control& control_;
  ProofLog* log_ = nullptr;
  DepthTwo depth_two_;
  std::vector<std::unique_ptr<View>> children_;
  Memory own_;
  Memory* memory_ = &own_;
  const Memory* common_ = nullptr;
  std::vector<std::size_t> path_;  // the features tested above each level
};

struct Open {
  Loss bound;
  Loss promise;  // sum of losses at the better end: breaks ties
  std::uint32_t sequence;
  std::size_t feature;
  int division;  // index into the node's divisions
  Interval interval;
  bool operator<(const Open& other) const {  // the top of a priority queue is the largest
    if (bound != other.bound) return bound > other.bound;
    if (promise != other.promise) return promise > other.promise;
    return sequence > other.sequence;
  }
};

// One node of depth three or more: its queue and its incumbent.
class Branch {
 public:
  Branch(Search& search, View& view, int level, Shape shape, Loss upper, Loss lower, Ask ask)
      : search_(search),
        view_(view),
        level_(level),
        shape_(shape),
        ask_(ask),
        upper_(upper),
        lower_(lower),
        best_(upper) {}

  // Opens one interval per feature and division. `flat` is what a tree of one depth less reaches on
  // the same rows, `flat_bound` what none undercuts, `any_bound` what none without restrictions
  // undercuts (see Ask::relaxed). `cuts`, if given, orders the features and says where to cut them
  // first.
  void begin(const Outcome& flat, Loss flat_bound, Loss any_bound, const Hint* hints,
             int hint_count, const std::vector<BestCut>* cuts = nullptr);
  // In place of `begin`, to evaluate cuts of one interval with these records, 0 and 1. False if
  // there is no such division.
  bool resume(const CutRecord& low, const CutRecord& high, int division);
  // What `merge` needs of it elsewhere; nothing is open here then.
  Rest rest(std::size_t feature);
  // The next cut to evaluate, if any can still beat the incumbent.
  struct Task {
    std::size_t feature;
    std::int32_t cut;
    int division;
    Interval interval;
  };
  bool next(Task& task);
  CutValue evaluate(Search& search, const Task& task) {
    const Ask ask{ask_.least, false, view_.data().problem.after(ask_.state, task.feature)};
    return search.evaluate(*this, view_, level_, task.feature, task.cut, task.interval,
                           task.division, ask, cutoff());
  }
  // True if the incumbent improved.
  bool merge(const Task& task, CutValue& value);
  // The same for what others left of the task's interval, under a cutoff that was not below ours.
  bool merge(const Task& task, const Rest& rest);

  Loss best() const { return best_; }
  // Lower bound on the node's loss from what is still open.
  Loss bound() const {
    return queue_.empty() ? cutoff() : std::max(lower_, std::min(cutoff(), queue_.top().bound));
  }
  // So many intervals at most are open that were not given to be evaluated.
  std::size_t waiting() const { return queue_.size(); }
  // Trees of at least this loss are of no interest: the incumbent's or, if a gap is allowed,
  // somewhat less.
  Loss cutoff() const { return std::min(best_, cutoff_); }
  void set_cutoff(Loss cutoff) { cutoff_ = cutoff; }
  const Plan& plan() const { return plan_; }
  void offer(Loss value, const Plan& plan) {
    if (value < best_) {
      best_ = value;
      plan_ = plan;
    }
  }
  Outcome outcome() const { return {best_, best_ < upper_, plan_}; }
  RowWeights weights(std::size_t feature) const {
    return RowWeights{upto_.empty() ? nullptr : upto_[feature].data(), view_.data().loss.each};
  }
  const Division& division(int i) const { return divisions_[static_cast<std::size_t>(i)]; }
  const std::vector<BestCut>& best_cuts() const { return best_cuts_; }
  // What no tree of an open interval undercuts.
  Loss bound(const Task& task) const {
    return std::max(lower_, interval_bound(task.interval, weights(task.feature)));
  }
  const CutRecord& record(int i) const { return records_[static_cast<std::size_t>(i)]; }
  // Its place in the log; -1: none is kept. `flat` is of what `begin` is given.
  std::int32_t logged = -1;
  void log(Loss flat, std::int32_t flat_child) {
    if (search_.log()) logged = search_.log()->open(flat, flat_child);
  }

 private:
  void set_weights();
  // Whether sides of a cut may have fewer leaves than there are classes, so that rows are lost.
  bool few_leaves(const Division& sides) const {
    return ask_.least == 1 && !ask_.must &&
           FewLeaves::suits(view_, std::min(sides.left.leaves, sides.right.leaves));
  }
  void divide();
  void met(std::size_t feature, const BestCut& cut);
  std::int32_t aligned(std::size_t feature, OpenCuts cuts) const;
  void push(std::size_t feature, int division, Interval interval);

  Search& search_;
  View& view_;
  int level_;
  Shape shape_;
  Ask ask_;
  Loss upper_, lower_, best_, cutoff_ = kInfinite;
  Plan plan_;
  std::vector<Division> divisions_;
  std::vector<CutRecord> records_;
  std::vector<BestCut> first_;  // first cut to try, per feature
  std::vector<BestCut> best_cuts_;
  std::vector<std::vector<Loss>> upto_;
  FewLeaves few_leaves_;
  std::priority_queue<Open> queue_;
  std::uint32_t sequence_ = 0;
};

}  // namespace odt
