// The order of predictions of a whole tree of numbers, as it results.
#pragma once

#include <vector>

#include "odt/monotone.hpp"
#include "odt/number_model.hpp"
#include "odt/outputs_leaf.hpp"

namespace odt {

class NumberOrder {
 public:
  NumberOrder(const NumberProblem& problem, NumberParts& parts);
  // The facts that leaves in the wrong order set.
  std::uint64_t facts(const Plan& plan, const std::vector<std::uint32_t>& rows);

 private:
  int add(const Plan& plan, std::size_t at, int level, const std::vector<std::uint32_t>& rows,
          std::uint64_t& found);

  const NumberProblem& problem_;
  NumberParts& parts_;
  std::vector<double> outputs_;  // [leaf * targets + target]
  std::vector<ArenaNode> arena_;
  Monotone monotone_;
};

}  // namespace odt
