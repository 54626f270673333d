// What tests cost under some multipliers, as the search over bit sets takes it.
#include <algorithm>
#include <numeric>

#include "odt/ruled_weights.hpp"

namespace odt {
namespace {

constexpr std::size_t kMostCompared = std::size_t{1} << 24;

std::vector<std::size_t> tested_columns(const RuledProblem& p) {
  std::vector<std::size_t> found;
  for (int c : p.column) found.push_back(static_cast<std::size_t>(c));
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

// Whether all tests may stand at any depth, cost as much in any order, and cost no more behind
// others.
class AnyOrder {
 public:
  AnyOrder(const RuledProblem& p, const std::vector<Loss>& rate, int depth)
      : p_(p), rate_(rate), columns_(tested_columns(p)), depth_(depth) {}

  bool holds() const {
    if (static_cast<std::size_t>(p_.states) * columns_.size() * columns_.size() > kMostCompared)
      return false;
    std::vector<int> level(static_cast<std::size_t>(p_.states), -1), found{0};
    level[0] = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const int state = found[i], here = level[static_cast<std::size_t>(state)];
      if (here == depth_) continue;
      for (std::size_t c : columns_) {
        const int next = after(state, c);
        if (next < 0) return false;
        if (level[static_cast<std::size_t>(next)] >= 0) continue;
        level[static_cast<std::size_t>(next)] = here + 1;
        found.push_back(next);
      }
      if (here + 1 < depth_ && !pairs_agree(state)) return false;
    }
    return true;
  }

 private:
  int after(int state, std::size_t c) const {
    return p_.next[static_cast<std::size_t>(state) * static_cast<std::size_t>(p_.columns) + c];
  }
  Loss rate(int state, std::size_t c) const {
    return rate_[static_cast<std::size_t>(state) * static_cast<std::size_t>(p_.columns) + c];
  }
  bool pairs_agree(int state) const {
    for (std::size_t a : columns_)
      for (std::size_t b : columns_) {
        const int one = after(state, a), other = after(state, b);
        if (one < 0 || other < 0 || after(one, b) < 0 || after(one, b) != after(other, a))
          return false;
        if (rate(one, b) > rate(state, b) ||
            rate(state, a) + rate(one, b) != rate(state, b) + rate(other, a))
          return false;
      }
    return true;
  }

  const RuledProblem& p_;
  const std::vector<Loss>& rate_;
  std::vector<std::size_t> columns_;
  int depth_;
};

// Per column the least of all states.
std::vector<Loss> least_rates(const RuledProblem& p, const std::vector<Loss>& rate) {
  const std::size_t columns = static_cast<std::size_t>(p.columns);
  std::vector<Loss> least(columns, kInfinite);
  for (std::size_t at = 0; at < rate.size(); ++at)
    if (p.next[at] >= 0) least[at % columns] = std::min(least[at % columns], rate[at]);
  for (Loss& r : least) r = r == kInfinite ? 0 : r;
  return least;
}

}  // namespace

// Costs below 0, and of rows that weigh otherwise than the first, are left out: what is left is no
// more than all.
PathCosts Weights::path_costs(std::vector<int>& next) const {
  PathCosts costs;
  costs.fixed.assign(columns, 0);
  std::vector<Loss> rate(p.next.size(), 0);
  int weigher = -1;
  for (std::size_t k = 0; k < components; ++k) {
    const Loss m = multipliers.of[k];
    for (std::size_t c = 0; c < columns; ++c)
      costs.fixed[c] += m * std::max<Loss>(0, p.split[k * columns + c]);
    const auto& delta = p.path_delta[k];
    if (m == 0 || p.path_weight[k] < 0 || delta.empty() ||
        (weigher >= 0 && p.path_weight[k] != weigher))
      continue;
    const std::size_t at = static_cast<std::size_t>(p.path_weight[k]);
    bool positive = std::all_of(delta.begin(), delta.end(), [](Loss d) { return d >= 0; });
    for (std::size_t i = 0; i < p.base.rows; ++i)
      positive = positive && p.value[i * sums + at] >= 0;
    if (!positive) continue;
    weigher = p.path_weight[k];
    for (std::size_t i = 0; i < delta.size(); ++i) rate[i] += m * delta[i];
  }
  const auto none = [](const std::vector<Loss>& of) {
    return std::all_of(of.begin(), of.end(), [](Loss x) { return x == 0; });
  };
  if (none(rate) && none(costs.fixed)) return {};
  const bool exact = AnyOrder(p, rate, p.base.depth).holds();
  if (exact && p.states > 1)
    next = p.next;
  else
    rate = least_rates(p, rate);
  costs.rate = std::move(rate);
  for (std::size_t i = 0; i < p.base.rows; ++i)
    costs.weight.push_back(weigher < 0 ? 0 : p.value[i * sums + static_cast<std::size_t>(weigher)]);
  return costs;
}

void Weights::make_paid() {
  Loss common = common_;
  std::vector<int> next;
  PathCosts costs = path_costs(next);
  if (costs.weight.empty()) return;
  Loss unit = 0;
  for (Loss w : costs.weight) unit = std::gcd(unit, w);
  unit = std::max<Loss>(1, unit);
  for (Loss& w : costs.weight) w /= unit;
  for (Loss& r : costs.rate) common = std::gcd(common, r *= unit);
  for (Loss f : costs.fixed) common = std::gcd(common, f);
  paid_grain = std::max<Loss>(1, common);
  for (Loss& r : costs.rate) r /= paid_grain;
  for (Loss& f : costs.fixed) f /= paid_grain;
  paid = problem_in(paid_grain);
  paid.depth = free.depth;
  paid.column = p.column;
  paid.columns = p.columns;
  paid.next = std::move(next);
  paid.paths = std::move(costs);
}

}  // namespace odt
