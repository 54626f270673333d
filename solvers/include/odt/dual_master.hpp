// Multipliers from trees: a small linear program in floats. Its answers are advice, never a bound.
//
// The bound min over trees of (cost + multipliers * (values - bounds)) is concave in the
// multipliers; every tree that is known gives a plane above it. The program finds the multipliers
// where the least of these planes is highest: Kelley's cutting planes, solved as their dual, a
// mixture of trees (Dantzig and Wolfe).
#pragma once

#include <cstddef>
#include <vector>

namespace odt {

class DualMaster {
 public:
  // A row of the program: a value that is to be at most `bound`, at a price of at most `most`, or
  // (term >= 0) one of the values whose largest counts in that term.
  struct Row {
    double bound = 0;
    double most = 0;
    int term = -1;
  };
  DualMaster(std::vector<Row> rows, std::vector<double> weights)
      : rows_(std::move(rows)), weights_(std::move(weights)) {}

  // A tree: what it costs beside the terms, and its values, one per row.
  void add(double cost, std::vector<double> values);
  std::size_t trees() const { return costs_.size(); }

  // The best value of the planes known, with its multipliers, one per row. There is at least one
  // tree.
  double solve(std::vector<double>& multipliers);

 private:
  std::vector<Row> rows_;
  std::vector<double> weights_;
  std::vector<double> costs_;
  std::vector<std::vector<double>> values_;
};

}  // namespace odt
