// Optimal trees of depth two on one view: intervals of cuts for the outer split, scans for the two
// inner ones.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "odt/control.hpp"
#include "odt/interval.hpp"
#include "odt/cut_lanes.hpp"
#include "odt/few_leaves.hpp"
#include "odt/near_boxes.hpp"
#include "odt/plan.hpp"
#include "odt/view.hpp"

namespace odt {

class DepthTwo {
 public:
  DepthTwo(Control& control, Counters& counters) : control_(control), counters_(counters) {}

  // Depth one and zero come out of one scan.
  Loss leaf_loss(View& view);
  Outcome stump(View& view, Loss upper, Ask ask);
  // With `near`, four leaves of any size may stand, and none must test a column.
  Outcome solve(View& view, Shape shape, Loss upper, Loss lower, Ask ask, const Hint* hints,
                int hint_count, const Neighbours& near = {});
  // What the rows can lose at most.
  static Loss load(const View& view);
  // The same, the most promising cut of all features first, and at most `most` of them: a good tree
  // early. `first` says per feature where to cut it first (0: in the middle). `complete`: all cuts
  // were tried or closed.
  Outcome sketch(View& view, Shape shape, Loss upper, Ask ask,
                 const std::vector<std::uint32_t>& first, std::size_t most, bool& complete);

 private:
  // Per inner feature, lower bounds on the loss of a split of each side at one cut of the outer
  // feature.
  struct Floors {
    std::vector<Loss> left, right;
  };
  // What is known at one cut. Leaves of a least size break the subset bound (a side with fewer rows
  // may have fewer splits), so both kinds of trees are bounded: those whose leaves may be of any
  // size, and those in question.
  struct Record {
    Floors any, large;
    int best_left = -1, best_right = -1;
  };
  struct Sides {
    Loss left, right;  // optimal losses of the two sides, leaf prices included
  };
  struct Values {
    Sides any, large;
    Loss sum() const { return large.left + large.right; }
  };
  // Which sides may be split again, and which of them by the column that must be tested.
  struct Inner {
    bool split[2] = {true, true};
    bool must[2] = {false, false};
  };
  // The inner features that a state of the path leaves open (of them, if `must`, those of that
  // column).
  struct Open {
    bool known = false;
    std::vector<char> feature;
    std::vector<std::size_t> sorted;
    Aligned<std::int64_t> lanes;  // -1 or 0 per 0/1 test
  };
  // Least losses of a split of all rows, by restriction: none, leaves of a least size, and a column
  // that must be tested.
  struct Whole {
    Loss any, large, must;
  };

  void begin(View& view);
  void whole(View& view, Ask ask);
  Loss whole(View& view, Floors& floors, bool large, const Open& open, bool must,
             int& best_feature);
  bool rounds() const { return data_->loss.margins > 0 && data_->loss.shift > 0; }
  bool may_cut(const View& view, int side) const;
  const Open& open(int state, bool must);
  std::vector<Inner> inner_kinds(const Shape& shape, bool must) const;
  void set_upto(View& view, std::size_t outer);
  static Plan plan_of(const Hint& found, const Inner& inner);
  void totals(View& view, std::size_t outer, std::int32_t cut);
  Values evaluate(View& view, std::size_t outer, std::int32_t cut, const Interval& around,
                  const Inner& inner, int state, Loss upper, int& record);
  Sides pass(View& view, std::size_t outer, std::uint32_t bound, const Interval& around,
             const Inner& inner, int state, const int (&first)[4], bool large, Record& record);
  void inherit(const std::vector<Loss>& fewer, const std::vector<Loss>& more, Loss lost, Loss apart,
               std::vector<Loss>& floor) const;
  void set_ends(View& view, std::size_t inner, int side, const std::uint64_t* left,
                std::int32_t size);
  void scan(View& view, std::size_t inner, const std::uint64_t* left, Loss& best_left,
            Loss& best_right, Loss& floor_left, Loss& floor_right);
  void scan_signed(View& view, std::size_t inner, const std::uint64_t* left, Loss& best_left,
                   Loss& best_right, Loss& floor_left, Loss& floor_right);
  void count_columns(View& view);
  void scan_columns(View& view, const std::uint64_t* left, bool large, const Open& open_left,
                    const Open& open_right, Loss& best_left, Loss& best_right);
  void totals_signed(View& view, std::size_t outer, std::int32_t cut);
  void totals_margins(View& view, std::size_t outer, std::int32_t cut);
  void scan_margins(View& view, std::size_t inner, const std::uint64_t* left, Loss& best_left,
                    Loss& best_right, Loss& floor_left, Loss& floor_right);
  template <class T>
  void totals_labels(View& view, std::size_t outer, std::int32_t cut, const T* table);
  template <class T>
  void scan_labels(View& view, std::size_t inner, const std::uint64_t* left, Loss& best_left,
                   Loss& best_right, Loss& floor_left, Loss& floor_right, const T* table);
  void search_feature(View& view, std::size_t outer, const Inner& inner, int state, Loss& best,
                      Loss lower, Hint& found, const Hint* hint);
  // The same by lanes, for sides without a column that must be tested.
  void take_over(View& view, std::size_t outer, const KnownCuts& from, bool fewer,
                 const RowWeights& w, std::vector<KnownCut>& cuts) const;
  void stack_known(View& view, std::size_t outer, Loss best, const RowWeights& w);
  void keep_known(View& view, std::size_t outer, Loss best, const RowWeights& w);
  void search_lanes(View& view, std::size_t outer, const Inner& inner, int state, Loss& best,
                    Loss lower, Hint& found, const Hint* hint);
  void choose_cuts(View& view, std::size_t outer, Loss best, const RowWeights& w, const Hint* hint);
  void value_cuts(View& view, std::size_t outer, const Inner& inner, int state);
  void value_cuts_by_totals(View& view, std::size_t outer, const Open& open);
  void set_ones(View& view, std::size_t outer);
  void stack_lanes(Loss best, const RowWeights& w);
  bool suits_lanes(View& view, Ask ask, Loss best);
  std::int32_t pick(View& view, std::size_t outer, const OpenCuts& open, const Hint* hint) const;
  int new_record();
  RowWeights weights(View& view, std::size_t outer);

  Control& control_;
  Counters& counters_;
  const Dataset* data_ = nullptr;
  std::size_t p_ = 0;
  int labels_ = 0;
  Loss price_ = 0, each_ = 1;
  std::vector<Record> records_;  // 0: nothing known; 1: one side empty on the left; 2: on the right
  int record_count_ = 0;
  std::vector<Interval> stack_;
  // The intervals that a pass of lanes cuts, and the cuts of all of them in order.
  struct Batched {
    Interval interval;
    OpenCuts open;
    std::int32_t cuts, share;  // share: the cuts that stay open between two of them
  };
  struct LaneKnown {
    Sides leaf, stump, weight;
  };
  CutLanes lanes_;
  const Dataset* lanes_for_ = nullptr;
  bool lanes_suit_ = false;
  std::vector<Batched> batch_;
  std::vector<LaneCut> lane_cuts_;
  std::vector<Sides> lane_values_;
  std::vector<LaneKnown> lane_known_;
  std::vector<std::int32_t> lane_ones_;  // of the outer feature, per block; empty: not counted so
  std::vector<Loss> lane_bounds_;
  struct Pending {
    Loss promise;  // the sum of the bounds of both sides at their better ends, and how wide the
                   // interval is
    Loss width;
    std::size_t outer, kind;
    Interval interval;
    bool operator<(const Pending& other) const {
      return promise != other.promise ? promise > other.promise : width < other.width;
    }
  };
  std::vector<Pending> pending_;
  static constexpr int kStump = 2;  // leaves
  FewLeaves few_leaves_;
  bool loses_ = false;  // for want of leaves
  Neighbours near_;
  NearBoxes::Cuts neighbours_;
  std::vector<KnownCut> known_[2], closed_;  // `rows_left` is the cut of this view
  Aligned<std::uint64_t> mask_, wide_, window_[2];
  const std::uint64_t* ends_[2] = {nullptr, nullptr};  // where the next scan may cut, per side
  std::int32_t least_ = 1;
  Aligned<std::int32_t> scratch_;
  Aligned<std::int64_t> column_counts_;
  std::int32_t left_count_[16], right_count_[16],
      all_count_[16];  // on each side of the cut, in the view
  std::int32_t left_rows_ = 0, right_rows_ = 0, all_rows_ = 0;  // those that count
  std::int32_t left_size_ = 0, right_size_ = 0;                 // all of them
  std::vector<Loss> upto_;
  template <class T>
  struct LabelSums {
    Aligned<T> left, right, scratch, spare;  // per lane: losses of the rows on each side
  };
  std::int32_t left_margins_[MarginScan::kMost + 1], right_margins_[MarginScan::kMost + 1];
  bool rough_ = false;  // scans may tell less than a split loses, where losses are rounded down
  LabelSums<std::int32_t> label_sums_;
  LabelSums<std::int64_t> wide_label_sums_;
  template <class T>
  LabelSums<T>& label_sums() {
    if constexpr (sizeof(T) == 4)
      return label_sums_;
    else
      return wide_label_sums_;
  }
  std::int32_t left_sum_ = 0, right_sum_ = 0, left_weight_ = 0, right_weight_ = 0,
               whole_weight_ = 0;
  Loss leaf_left_ = 0, leaf_right_ = 0;
  Whole whole_{};
  std::vector<Open> open_[2];  // per state
  const Dataset* open_for_ = nullptr;
  std::vector<int> order_;
};

}  // namespace odt
