// The feature space beyond the rows, as searches for classes and for numbers take it.
#pragma once

#include <vector>

#include "odt/space.hpp"

namespace odt_python {

struct Space {
  odt::SpaceProblem problem;  // tests without their columns
  std::vector<odt::MonotoneRule> monotone;
  bool steady;
};

}  // namespace odt_python
