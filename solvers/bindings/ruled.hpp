// A problem under rules, from the dictionary that odtdsl/backends/exact/ruled.py makes.
#pragma once

#include <optional>

#include "odt/ruled.hpp"
#include "shared.hpp"

namespace odt_python {

odt::RuledProblem ruled_problem_of(const Ranks& ranks, const Vector<std::uint32_t>& distinct,
                                   int classes, int depth, const nb::dict& rules,
                                   const nb::object& allowed, std::optional<int> max_leaves);

}  // namespace odt_python
