// What a plan of the search by scans leaves open.
#pragma once

#include "odt/control.hpp"
#include "odt/plan.hpp"
#include "odt/regression_view.hpp"

namespace odt {

// A plan whose stumps are found, and whose splits all part the points. `root`: all points, with
// columns.
Plan resolved(const RegressionData& data, const RegressionView& root, Control& control,
              const Plan& plan);

}  // namespace odt
