// Optimal regression trees: squared or absolute error, one target.
//
// Fewer rows never lose more (subset bound), so an interval of cuts is dropped by the left loss at its low end plus the
// right loss at its high end. The deletion bound holds only with the squared range of the target and is not used.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "odt/control.hpp"
#include "odt/plan.hpp"
#include "odt/problem.hpp"

namespace odt {

struct RegressionProblem {
  Problem base;                 // ranks, distinct, allowed, depth, leaves; labels and classes unused
  std::vector<double> target;
  std::vector<double> weight;   // empty: one each; only with squared error
  double leaf_price = 0;
  bool absolute = false;
};

struct RegressionResult {
  Status status = Status::unknown;
  double value = 0, bound = 0;
  Tree tree;
  std::vector<double> output;   // per node of the tree
  Counters counters;
  double seconds = 0;
};

RegressionResult solve_regression(const RegressionProblem& problem, const Options& options);

}  // namespace odt
