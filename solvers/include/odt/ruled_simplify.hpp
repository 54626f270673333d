// An equal problem with less in it: of all that the search under rules walks through.
//
// Measures that only the objective adds up become one component. Ranks that no admissible cut tells
// apart become one rank, and rows of equal ranks one row: they share a leaf in every tree, so all
// that is summed over rows stays as it is, and what each row costs at least is known for the whole
// group.
#pragma once

#include <vector>

#include "odt/ruled.hpp"

namespace odt {

struct Simplified {
  RuledProblem problem;
  std::vector<std::vector<std::uint32_t>> last;  // per feature and rank, the largest rank before
};
Simplified simplify(const RuledProblem& p);

// A tree of the simplified problem as one of the problem.
Tree restore(const RuledProblem& p, const Simplified& s, Tree tree);
// And the other way.
Tree reduced(const Simplified& s, Tree tree);

}  // namespace odt
