// What rows lose because a tree has fewer leaves than they have classes.
//
// A tree of k leaves tells at most k classes, so of any rows it loses all but those of their k most
// frequent classes. The best tree of more rows loses on fewer of them no less than their best one,
// and on the rest what is said above. So between two cuts the subset bound (see interval.hpp) is
//     L[t] >= L[u] + lost(u..t) for u < t,  and mirrored for R.
// It holds where the subset bound does, and where all errors count alike.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "odt/interval.hpp"
#include "odt/view.hpp"

namespace odt {

class FewLeaves {
 public:
  // Whether trees of so many leaves can lose rows so.
  static bool suits(const LossModel& loss, std::size_t rows, int leaves) {
    constexpr std::size_t kMostRows = 32767;
    return loss.kind == LossKind::multi_class && leaves < loss.labels && rows <= kMostRows;
  }
  static bool suits(const View& view, int leaves) {
    return !view.idle() && suits(view.data().loss, view.rows(), leaves);
  }
  // The rows of a view in the order of a feature.
  void begin(const View& view, std::size_t feature) {
    begin(view.classes(feature), view.stride(), view.rows(), view.data().loss);
  }
  void begin(const std::uint64_t* classes, int stride, std::size_t rows, const LossModel& loss);

  // Of the open cuts in an interval, those where trees of so many leaves on either side may lose
  // less than `upper`, from the first one to the last.
  OpenCuts narrow(const Interval& i, OpenCuts open, Loss upper, int left_leaves, int right_leaves);
  // Rows between two cuts lose that at least.
  Loss lost(std::int32_t low, std::int32_t high, int leaves);
  // What such trees lose at least, whatever the cut.
  Loss bound(const Interval& i, int left_leaves, int right_leaves);

  static constexpr int kMost = 16;              // classes
  static constexpr std::size_t kTogether = 16;  // points

 private:
  using Counts = std::array<std::int16_t, kMost>;
  // A cell is eight rows, or what of them lies in an interval: its cuts are taken together.
  static constexpr std::int32_t kCell = 8;

  void count();
  Counts before(std::int32_t cut) const;
  // What is lost between the ends of an interval and each point: its low end, the ends of cells,
  // its high end.
  void look(const Interval& i, int left_leaves, int right_leaves);
  std::int32_t low(const Interval& i, std::int32_t cell) const;
  std::int32_t high(const Interval& i, std::int32_t cell) const;
  // At any of its cuts.
  Loss loses(const Interval& i, std::int32_t cell) const;

  int labels_ = 0;
  Loss each_ = 1;
  const std::uint64_t* classes_ = nullptr;
  std::size_t stride_ = 0, words_ = 0, row_ = 0;
  bool counted_ = false;
  std::int32_t first_ = 0, inner_ = 0;  // of the points between the ends: the first, and how many
  std::vector<std::int16_t> counts_;    // [class * row_ + cell]: rows before it
  std::vector<std::uint64_t> bytes_;
  std::vector<std::int16_t> lost_left_, lost_right_;  // per point
};

}  // namespace odt
