// Optimal trees of output vectors: squared or absolute error or Poisson deviance, every leaf's
// output in a feasible set.
//
// What every row loses to its own best feasible output, every tree loses: its floor. What sets of
// rows lose above their floors grows with the set, for leaves and for trees of a shape, so the
// losses at two cuts of a feature bound those of all cuts between them. Rules on the size of leaves
// break that; the bounds are of trees without them.
#pragma once

#include <cstdint>

#include "odt/outputs_leaf.hpp"
#include "odt/regression.hpp"

namespace odt {

struct OutputOptions : RegressionOptions {
  std::int32_t leaf_rows = 1;
  // Per feature: no tree whose first split tests it loses less, whatever the rules. Empty: unknown.
  std::vector<double> by_first;
};

// `output` of the result: [node * targets + target].
RegressionResult solve_outputs(const OutputProblem& problem, const OutputOptions& options);
// The tree of a plan that the search told.
RegressionResult finished(const OutputProblem& problem, const Plan& plan);

}  // namespace odt
