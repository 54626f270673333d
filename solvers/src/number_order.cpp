#include "odt/number_order.hpp"

namespace odt {

NumberOrder::NumberOrder(const NumberProblem& problem, NumberParts& parts)
    : problem_(problem),
      parts_(parts),
      monotone_(problem.model.monotone, problem.model.space, problem.base.rows, outputs_,
                problem.targets()) {}

std::uint64_t NumberOrder::facts(const Plan& plan, const std::vector<std::uint32_t>& rows) {
  outputs_.clear();
  arena_.clear();
  std::uint64_t found = 0;
  add(plan, 0, 0, rows, found);
  return found;
}

// The node in the arena, or a leaf as -1 - its place.
int NumberOrder::add(const Plan& plan, std::size_t at, int level,
                     const std::vector<std::uint32_t>& rows, std::uint64_t& found) {
  const PlanNode& node = plan.nodes[at];
  if (node.feature < 0) {
    const std::vector<double>& output = parts_.output(rows.data(), rows.size());
    outputs_.insert(outputs_.end(), output.begin(), output.end());
    return -static_cast<int>(outputs_.size() / problem_.targets());
  }
  const std::size_t f = static_cast<std::size_t>(node.feature);
  const std::uint32_t* rank = problem_.base.ranks(f);
  const auto [sides, below, beside] = PartedRows(problem_.base, f, node.bound, rows);
  const auto less = [rank](std::uint32_t a, std::uint32_t b) { return rank[a] < rank[b]; };
  const std::uint32_t low = *std::max_element(sides[0].begin(), sides[0].end(), less),
                      high = *std::min_element(sides[1].begin(), sides[1].end(), less);
  int children[2];
  for (int s = 0; s < 2; ++s) {
    monotone_.split(level, f, low, high);
    monotone_.enter(level, s, {});
    children[s] = add(plan, static_cast<std::size_t>(s == 0 ? node.left : node.right), level + 1,
                      sides[s], found);
  }
  if (monotone_.facts_of(f) != 0) {
    const Monotone::Meeting here = monotone_.meeting(level);
    found |=
        monotone_.facts_between(monotone_.regions(arena_, children[0], here, 0),
                                monotone_.regions(arena_, children[1], here, 1), here, 0, nullptr);
  }
  arena_.push_back(
      {node.feature, node.bound, children[0], children[1], monotone_.threshold(level)});
  return static_cast<int>(arena_.size()) - 1;
}

}  // namespace odt
