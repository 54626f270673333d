// Optimal trees of depth two on few rows, where errors are counted: each cut is a bitmap of the
// rows that it sends left, and the best stumps on both sides of one come from counts over the
// bitmaps of all (the kernel of 0/1 columns). Below some hundred rows that takes a fraction of the
// scans' time: many cuts of different features part the rows alike, and of the lower ones only
// those between different classes matter.
#pragma once

#include <algorithm>
#include <vector>

#include "odt/bottom_trees.hpp"
#include "odt/control.hpp"
#include "odt/view.hpp"

namespace odt {

class FewRows {
 public:
  using Stump = BottomSplit;
  struct Tree : SplitOf<Stump> {
    Loss value = kInfinite;  // with a price per leaf
  };
  static constexpr std::size_t kMostRows = 192;

  // No least size of leaves and no rules on paths are known here.
  static bool suits(const Dataset& data, std::size_t rows) {
    return data.loss.unit() && rows <= kMostRows && data.problem.leaf_rows == 1 &&
           data.problem.next.empty();
  }

  FewRows(Control& control, Counters& counters) : control_(control), counters_(counters) {}

  // The best tree, if one is below `upper`. The view keeps its order and holds rows of two classes
  // or more.
  bool solve(View& view, Loss upper, Tree& tree);

 private:
  struct Cut {
    std::uint32_t bound;
    std::int32_t below;  // rows
    std::uint32_t mask;  // of those below or of those above: the one without the first row
    bool flipped;
  };
  struct Sides {
    Loss left, right;
  };
  // Cuts `low` to `high` of a feature, both apart. What is known of the sides at both.
  struct Interval {
    std::size_t feature;
    long low, high;
    Sides at_low, at_high;
    Loss promise() const {
      return std::min(at_low.left + at_low.right, at_high.left + at_high.right);
    }
    bool operator<(const Interval& other) const {
      return promise() != other.promise() ? promise() > other.promise()
                                          : high - low < other.high - other.low;
    }
  };

  void set_classes(View& view);
  void set_cuts(View& view);
  std::uint32_t mask_number(const std::uint64_t* rows, bool inner, bool& flipped);
  void set_columns();
  Sides sides(std::uint32_t mask);
  Sides at(const Cut& cut) {
    const Sides s = sides(cut.mask);
    return cut.flipped ? Sides{s.right, s.left} : s;
  }
  std::int32_t count(const std::uint64_t* rows, std::size_t c) const;
  std::int32_t below(const Interval& i, long cut) const;
  long pick(const Interval& i, Loss best) const;
  Stump stump(const std::uint64_t* rows, Loss value) const;
  Loss value(std::int32_t rows, std::int32_t as_leaf, std::int32_t as_stump) const {
    return std::min(each_ * (rows - as_leaf) + price_, each_ * (rows - as_stump) + 2 * price_);
  }

  Control& control_;
  Counters& counters_;
  const Dataset* data_ = nullptr;
  Loss each_ = 1, price_ = 0;
  std::size_t rows_ = 0, words_ = 0, stride_ = 0;
  std::vector<int> labels_;              // the classes of the view
  std::vector<std::uint32_t> place_;     // of a row of the data: its bit
  std::vector<std::uint16_t> class_at_;  // of a bit
  Aligned<std::uint64_t> classes_;       // [word * classes + class]
  std::vector<std::vector<Cut>> cuts_;   // per feature
  std::vector<std::uint64_t> masks_;     // [mask * words + word]; mask 0 is empty
  std::vector<char> inner_;              // per mask: the best stump of some rows may cut there
  std::vector<std::uint32_t> table_;     // of masks by hash; 0: none
  Aligned<std::uint64_t> columns_;       // the inner ones
  Aligned<std::int64_t> passing_;
  std::vector<Sides> known_;  // per mask; negative: not yet
  std::vector<Interval> open_;
};

}  // namespace odt
