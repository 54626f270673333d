// A whole tree under rules: its components and facts, whether it may stand, what it costs.
#pragma once

#include <cstdint>
#include <vector>

#include "odt/ruled.hpp"

namespace odt {

struct Measured {
  bool stands = true;  // by the rules on paths, leaves and splits; false where rules are monotone:
                       // not looked at
  std::vector<Loss> values;  // components, if it stands
  std::uint64_t facts = 0;
  std::vector<Loss> free_values;  // components without the prices of splits and paths
};
Measured measure(const RuledProblem& p, const Tree& tree);

bool clause_holds(const ModelClause& clause, std::uint64_t facts, const Loss* values);
bool keeps_clauses(const RuledProblem& p, std::uint64_t facts, const Loss* values);
Loss objective_of(const RuledProblem& p, std::uint64_t facts, const Loss* values);
// No tree has a larger one.
Loss largest_objective(const RuledProblem& p);

bool row_clause_holds(const RowClause& clause, const Loss* sums, int label);

// The largest rank among the rows that go left, the smallest among the others, of each split of a
// tree.
void set_cuts(const Problem& p, Tree& tree);

}  // namespace odt
