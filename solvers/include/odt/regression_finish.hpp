// From a plan to a regression tree on the rows as given, and back.
#pragma once

#include <vector>

#include "odt/control.hpp"
#include "odt/plan.hpp"
#include "odt/regression_view.hpp"

namespace odt {

struct FinishedRegression {
  Tree tree;
  std::vector<double> output;  // per node: weighted mean or median of its rows
  double value = 0;            // recounted, with leaf prices
};

// Finds the stumps of a plan, drops splits that part no rows or change no output. `root`: all
// points, with columns.
FinishedRegression finish(const RegressionData& data, const RegressionView& root, Control& control,
                          const Plan& plan);

// A given tree that keeps the limits; throws std::invalid_argument otherwise.
Plan plan_of_tree(const RegressionProblem& problem, const Tree& tree);

}  // namespace odt
