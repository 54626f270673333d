#include "odt/problem.hpp"

#include <algorithm>

namespace odt {

Problem::Problem() = default;
Problem::Problem(const Problem&) = default;
Problem::Problem(Problem&&) noexcept = default;
Problem& Problem::operator=(const Problem&) = default;
Problem& Problem::operator=(Problem&&) noexcept = default;
Problem::~Problem() = default;

bool gap_open(const std::vector<std::vector<char>>& allowed, std::size_t f, std::uint32_t low,
              std::uint32_t high) {
  if (f >= allowed.size() || allowed[f].empty()) return true;
  high = std::min(high, static_cast<std::uint32_t>(allowed[f].size()));
  for (std::uint32_t r = low; r < high; ++r)
    if (allowed[f][r]) return true;
  return false;
}

std::vector<std::uint32_t> Problem::cuts_below(std::size_t f) const {
  std::vector<std::uint32_t> counts(distinct[f] + 1, 0);
  for (std::uint32_t r = 0; r < distinct[f]; ++r) counts[r + 1] = counts[r] + gap_open(f, r, r + 1);
  return counts;
}

PartedRows::PartedRows(const Problem& problem, std::size_t f, std::uint32_t bound,
                       const std::vector<std::uint32_t>& rows) {
  const std::uint32_t* rank = problem.ranks(f);
  for (std::uint32_t i : rows) {
    side[rank[i] < bound ? 0 : 1].push_back(i);
    if (rank[i] < bound)
      low = std::max(low, rank[i]);
    else
      high = std::min(high, rank[i]);
  }
}

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
