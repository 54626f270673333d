#include "odt/problem.hpp"

namespace odt {

Problem::Problem() = default;
Problem::Problem(const Problem&) = default;
Problem::Problem(Problem&&) noexcept = default;
Problem& Problem::operator=(const Problem&) = default;
Problem& Problem::operator=(Problem&&) noexcept = default;
Problem::~Problem() = default;

Problem thinned(const Problem& problem, std::size_t every) {
  Problem part;
  part.rows = (problem.rows + every - 1) / every;
  part.features = problem.features;
  part.classes = problem.classes;
  part.distinct = problem.distinct;
  part.allowed = problem.allowed;
  part.cost = problem.cost;
  part.depth = problem.depth;
  part.leaves = problem.leaves;
  part.leaf_price = problem.leaf_price;
  part.column = problem.column;
  part.columns = problem.columns;
  part.next = problem.next;
  const auto thin = [&](const auto* from, auto& to) {
    for (std::size_t i = 0; i < problem.rows; i += every) to.push_back(from[i]);
  };
  for (std::size_t f = 0; f < problem.features; ++f) thin(problem.ranks(f), part.rank);
  thin(problem.label.data(), part.label);
  if (!problem.weight.empty()) thin(problem.weight.data(), part.weight);
  return part;
}

}  // namespace odt
