// Trees of depth three over 0/1 columns, by sums over the points that have the higher value of
// three columns.
//
// A leaf is one of eight parts of the points by three columns. Which of the three stands first does
// not change the parts, so each three columns are summed and scored once. What is kept of them is
// the best last split of each part by two columns: the best tree follows from these. Under rules on
// paths that ask for no order, the same holds of which three columns a path may test.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "odt/aligned.hpp"
#include "odt/control.hpp"
#include "odt/regression_scan.hpp"

namespace odt {

class TripleSums {
 public:
  // What is polled at most. A column's rarer value is that of half the points or fewer.
  static std::uint64_t work(const RegressionView& view) {
    const std::uint64_t columns = view.columns.size(), blocks = columns / kLanes + 1;
    return columns * columns / 2 * (view.points / 64 + 1 + (view.points / 2 + 16) * blocks);
  }
  // The best tree with at most `leaves` leaves, in `best` if it is better than that one. What is
  // found before a limit is there when `Stop` is thrown.
  void best_tree(const RegressionData& data, const RegressionView& view, bool counts, int leaves,
                 int state, Control& control, ThreeLevels& best);

 private:
  static constexpr std::size_t kParts =
      4;                          // of two columns: 2 * (side of the first) + (of the second)
  using Table = Aligned<double>;  // [first][stride], the first before the second

  void prepare(const RegressionView& view);
  void sum_pairs(bool counts, double lightest);
  void list_last(const RegressionData& data, const RegressionView& view, int state);
  void sum_triples(bool counts, double lightest, Control& control);
  void tell_thirds(const RegressionData& data, bool counts, ThreeLevels& best);
  void gather(const RegressionData& data, const RegressionView& view, int leaves, int state,
              ThreeLevels& best) const;
  void offer_side(const RegressionData& data, const RegressionView& view, std::size_t root,
                  std::size_t side, int state, std::array<Pick, 5>& of_leaves) const;
  // Of the points on a side of a column and of another one.
  double of(const std::array<Table, kParts>& table, std::size_t column, std::size_t side,
            std::size_t other, std::size_t other_side) const {
    return column < other ? table[2 * side + other_side].data()[column * stride_ + other]
                          : table[2 * other_side + side].data()[other * stride_ + column];
  }

  std::size_t columns_ = 0, stride_ = 0, points_ = 0, words_ = 0;
  // Columns by how many points the rarer of both values has, which is side 1 here.
  std::vector<std::uint32_t> column_;  // of the view
  std::vector<char> turned_;           // whether side 1 has the lower value
  std::vector<double> sums_;           // [point][weight, sum]
  std::vector<std::uint8_t> masks_;    // [point][block of lanes]
  std::vector<std::uint64_t> bits_;    // [column][word]: the points on side 1
  std::vector<std::uint32_t> rows_;
  // Under rules, columns of these; of two, where the mask of columns that may be last begins, -1:
  // none may.
  std::size_t kinds_ = 0;
  std::vector<std::size_t> kind_;
  std::vector<int> last_;
  std::vector<std::uint8_t> last_masks_;
  double all_w_ = 0, all_s_ = 0;
  Table one_w_, one_s_;         // [stride], of side 1
  Table pair_w_, pair_s_;       // [first][stride], of side 1 of both
  Table triple_w_, triple_s_;   // [stride], of side 1 of two columns and of the lane
  std::array<Table, 2> alone_;  // [side][stride]: scores
  std::array<Table, kParts> leaf_,
      stump_;  // scores of both columns' parts, and of their best split
};

}  // namespace odt
