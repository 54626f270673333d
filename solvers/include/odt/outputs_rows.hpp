// Rows as the search for trees of output vectors sees them: sums that leaves are filled from,
// floors, cuts.
#pragma once

#include <cstdint>
#include <vector>

#include "odt/outputs_leaf.hpp"
#include "odt/regression_data.hpp"

namespace odt {

// Entries of a row's sums; weighted targets, relative to a centre, follow.
constexpr std::size_t kWeight = 0, kFloor = 1, kOwn = 2, kTargets = 3;

struct OutputRows {
  const NumberProblem& problem;
  std::size_t targets, leaf_rows, width;  // width: entries of a row's sums
  std::vector<double> centre, mean;  // the mean: of all rows
  std::vector<double> sum;  // [row][width]
  std::vector<std::uint64_t> hash;
  std::vector<std::uint32_t> used;                 // rows that count
  std::vector<std::vector<std::uint32_t>> counts;  // per feature: allowed cuts below a rank
  std::vector<std::uint32_t> cell;                 // [feature][row]: allowed cuts below the row

  explicit OutputRows(const NumberProblem& problem);
  const NumberRules& rules() const { return problem.rules; }
  const double* of(std::uint32_t row) const { return sum.data() + row * width; }
  const std::uint32_t* cells(std::size_t f) const { return cell.data() + f * problem.base.rows; }
  bool free() const;  // whether every output is feasible
  std::uint32_t rank(std::size_t f, std::uint32_t row) const { return problem.base.ranks(f)[row]; }
  // Whether a path of ranks leads to these rows, all of which have passed the steps of another.
  bool at_end_of(const RowPath& path, const std::uint32_t* row, std::size_t n,
                 const RowPath& other) const {
    return path.leads_to(
        n, other, [&](std::size_t i) { return row[i]; },
        [&](std::uint32_t f, std::uint32_t r) { return rank(f, r); });
  }

 private:
  void make_sums();
  double floor_of(std::uint32_t row, OutputSolver& solver, SquaredLoss& squared,
                  PoissonLoss& poisson, AbsoluteLoss& absolute) const;
};

// The rows of a node in the order of every feature, and their sums.
struct OutputNode {
  std::size_t rows = 0;
  std::vector<std::uint32_t> order;  // [feature][place]
  std::vector<double> sums;
  std::uint64_t set = 0;  // hash of the rows
  RowPath path;
  const std::uint32_t* of(std::size_t f) const { return order.data() + f * rows; }

  void make_root(const OutputRows& data);
  // The first `place` rows of a feature's order, and the others: their hashes, and as nodes.
  void sets(const OutputRows& data, std::size_t f, std::size_t place,
            std::uint64_t (&sides)[2]) const;
  void part(const OutputRows& data, std::size_t f, std::size_t place, OutputNode& left,
            OutputNode& right, std::vector<char>& side) const;
};

}  // namespace odt
