// A feasible set of outputs as Python holds it.
#pragma once

#include <memory>

#include "odt/outputs.hpp"

namespace odt_python {

struct OutputSpace {
  std::unique_ptr<odt::OutputSet> set;
  std::unique_ptr<odt::OutputSolver> solver;  // for single questions; searches make their own
};

}  // namespace odt_python
