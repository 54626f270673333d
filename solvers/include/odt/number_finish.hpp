// From a plan to a tree of numbers on the rows as given, and back.
#pragma once

#include <cstdint>
#include <vector>

#include "odt/number_problem.hpp"
#include "odt/plan.hpp"

namespace odt {

struct FinishedNumbers {
  Tree tree;
  std::vector<double> output;  // [node * targets + target]; of leaves
  double value = 0;            // recounted, with leaf prices
};

// The tree of a plan without stumps, whose splits all part the rows. A split that changes no output
// is dropped where a leaf may stand in its place.
FinishedNumbers finish(const NumberProblem& problem, const Plan& plan);

// A given tree without the splits that part no rows, and the rows of its smallest leaf. Throws
// std::invalid_argument where it does not keep the limits, or has cuts that are not allowed.
Plan plan_of_tree(const NumberProblem& problem, const Tree& tree, std::size_t& fewest);

}  // namespace odt
