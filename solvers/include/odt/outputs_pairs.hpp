// Trees of depth two from sums over pairs of cuts, where all features together have few cuts.
//
// Every cut is a 0/1 column. One pass over the rows gives the weights and targets of all pairs of
// columns, and these the loss of every tree with two levels: squared error, any output.
#pragma once

#include <cstdint>
#include <vector>

#include "odt/outputs_rows.hpp"
#include "odt/plan.hpp"

namespace odt {

class OutputPairs {
 public:
  explicit OutputPairs(const OutputRows& data, std::size_t leaf_rows);

  // Whether trees of this shape behind a path in a state are told on so many rows.
  bool tells(Shape shape, int state, std::size_t rows) const {
    return ready_ && shape.depth == 2 && shape.leaves == 4 && rows > 1 &&
           !data_.rules().strict(state);
  }
  // The least loss above the floor, prices included, and its tree.
  double best(const OutputNode& node, int state, Plan& plan);
  // Cuts of a node whose sides lose less than `limit` together, and what each loses at least.
  struct Cut {
    std::uint32_t feature;
    std::size_t place;  // rows left of it
    double left, right;
  };
  void open(const OutputNode& node, int state, double limit, std::vector<Cut>& found);
  // Roughly what it takes to look at so many rows.
  std::uint64_t work(std::size_t rows) const { return rows * columns_.size() / 4; }

 private:
  struct Column {
    std::uint32_t feature, cell, bound;  // cells up to it, ranks below the bound go left
  };
  struct Side {
    double gain = 0;  // of the best tree of a level, less prices
    int column = -1;  // of its split; -1: a leaf
  };
  template <class Told>
  void cuts(const OutputNode& node, int state, Told told);
  void sum(const OutputNode& node);
  double gain(const double* sums) const;
  Side side(const double* pairs, const double* all, int state) const;
  PlanNode node_of(int column) const;

  static constexpr std::size_t kMost = 256, kMostCells = std::size_t{1} << 22;

  const OutputRows& data_;
  bool ready_ = false;
  std::vector<Column> columns_;
  std::size_t stride_ = 0, parts_ = 0;  // parts: the weight and every target
  std::vector<double> mask_;            // [row][stride]: 1 where the row goes left
  std::vector<double> pairs_;           // [column][part][stride]
  std::vector<double> own_, all_, one_, rest_, other_;
};

}  // namespace odt
