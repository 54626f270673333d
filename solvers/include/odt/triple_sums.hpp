// Trees of depth three over 0/1 columns, by sums over the points that have the higher value of
// three columns.
//
// A leaf is one of eight parts of the points by three columns. Which of the three stands first does
// not change the parts, so each three columns are summed and scored once. What is kept of them is
// the best last split of each part by two columns: the best tree follows from these. Under rules on
// paths, which third column may be last must not depend on which of the other two stands first,
// where both may.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "odt/aligned.hpp"
#include "odt/control.hpp"
#include "odt/masked_sums.hpp"
#include "odt/regression_scan.hpp"

namespace odt {

class TripleSums {
 public:
  explicit TripleSums(const RegressionData& data) : data_(data), paths_(data.rules()) {}
  // Whether the rules on paths are told so.
  bool ready() const { return paths_.told_by_two; }
  // What is polled at most. A column's rarer value is that of half the points or fewer.
  static std::uint64_t work(const RegressionView& view) {
    const std::uint64_t columns = view.columns.size(), blocks = columns / kLanes + 1;
    return columns * columns / 2 * (view.points / 64 + 1 + (view.points / 2 + 16) * blocks);
  }
  // The best tree with at most `leaves` leaves, in `best` if it is better than that one. What is
  // found before a limit is there when `Stop` is thrown.
  void best_tree(const RegressionView& view, bool counts, int leaves, int state, Control& control,
                 ThreeLevels& best);

 private:
  static constexpr std::size_t kParts =
      4;                          // of two columns: 2 * (side of the first) + (of the second)
  using Table = Aligned<double>;  // [first][stride], the first before the second

  void prepare(const RegressionView& view);
  void sum_pairs(bool counts);
  void list_last(const RegressionView& view, int state);
  void sum_triples(bool counts, Control& control);
  void tell_thirds(bool counts, ThreeLevels& best);
  void gather(const RegressionView& view, int leaves, int state, ThreeLevels& best) const;
  void offer_side(const RegressionView& view, std::size_t root, std::size_t side, int state,
                  std::array<Pick, 5>& of_leaves) const;
  // What rows on side 1 of a column, of two, or of three count: their weight where that says it.
  const Table& one_n() const { return counted_ ? one_n_ : one_w_; }
  const Table& pair_n() const { return counted_ ? pair_n_ : pair_w_; }
  const Table& triple_n() const { return counted_ ? triple_n_ : triple_w_; }
  double all_n() const { return counted_ ? all_n_ : all_w_; }
  void sum(const MaskedRows& rows, std::size_t block, double* w, double* s, double* n) const;
  // Of the points on a side of a column and of another one.
  double of(const std::array<Table, kParts>& table, std::size_t column, std::size_t side,
            std::size_t other, std::size_t other_side) const {
    return column < other ? table[2 * side + other_side].data()[column * stride_ + other]
                          : table[2 * other_side + side].data()[other * stride_ + column];
  }

  const RegressionData& data_;
  const PathKinds paths_;
  std::size_t columns_ = 0, stride_ = 0, points_ = 0, words_ = 0, step_ = 2;
  bool counted_ = false;  // whether weights do not say what sizes count
  double least_ = 0;      // what a leaf counts at least; below zero: nothing is asked
  // Columns by how many points the rarer of both values has, which is side 1 here.
  std::vector<std::uint32_t> column_;  // of the view
  std::vector<char> turned_;           // whether side 1 has the lower value
  std::vector<double> sums_;           // [point][weight, sum, and maybe what it counts]
  std::vector<std::uint8_t> masks_;    // [point][block of lanes]
  std::vector<std::uint64_t> bits_;    // [column][word]: the points on side 1
  std::vector<std::uint32_t> rows_;
  // Under rules, kinds of columns; of two, where the mask of columns begins that may be last behind
  // them, and of those that may stand with the first where the second is last. One is of none.
  std::size_t kinds_ = 0;
  std::vector<std::size_t> kind_, last_, beside_;
  std::vector<std::uint8_t> last_masks_;
  double all_w_ = 0, all_s_ = 0, all_n_ = 0;
  Table one_w_, one_s_, one_n_;           // [stride], of side 1
  Table pair_w_, pair_s_, pair_n_;        // [first][stride], of side 1 of both
  Table triple_w_, triple_s_, triple_n_;  // [stride], of side 1 of two columns and of the lane
  std::array<Table, 2> alone_;            // [side][stride]: scores
  std::array<Table, kParts> leaf_,
      stump_;  // scores of both columns' parts, and of their best split
};

}  // namespace odt
