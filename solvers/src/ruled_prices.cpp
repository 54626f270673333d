#include "odt/ruled_prices.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "odt/plan.hpp"

namespace odt {
namespace {

constexpr double kNarrow = 1 << 28;  // sums that the scans keep in 32 bits
constexpr double kWide = 1LL << 58;  // sums that 64 bits keep
constexpr double kSteps = 256;       // whole steps that a multiplier should have
constexpr double kMost = 8;          // a multiplier at most, in units
constexpr double kNothing =
    1e-5;  // prices that change less than this share of the objective are left out

std::vector<double> ranges(const RuledProblem& p) {
  const std::size_t labels = static_cast<std::size_t>(p.base.classes),
                    sums = static_cast<std::size_t>(p.sums);
  std::vector<double> found;
  for (std::size_t k = 0; k < static_cast<std::size_t>(p.components); ++k) {
    double range = static_cast<double>(std::abs(p.leaf[k]));
    for (std::size_t i = 0; i < p.base.rows; ++i) {
      Loss low = kInfinite, high = -kInfinite;
      for (std::size_t c = 0; c < labels; ++c) {
        const int s = p.sum_of[k * labels + c];
        const Loss v = s < 0 ? 0 : p.value[i * sums + static_cast<std::size_t>(s)];
        low = std::min(low, v);
        high = std::max(high, v);
      }
      range += static_cast<double>(high - low);
    }
    found.push_back(std::max(1.0, range));
  }
  return found;
}

std::vector<double> reaches(const RuledProblem& p) {
  const std::size_t labels = static_cast<std::size_t>(p.base.classes),
                    sums = static_cast<std::size_t>(p.sums);
  const std::size_t columns = static_cast<std::size_t>(p.columns);
  const double leaves = static_cast<double>(
      std::min<std::size_t>(p.base.rows, static_cast<std::size_t>(full_leaves(p.base.depth))));
  std::vector<double> of_sum(sums, 0), found;
  for (std::size_t i = 0; i < p.base.rows; ++i)
    for (std::size_t s = 0; s < sums; ++s)
      of_sum[s] += std::abs(static_cast<double>(p.value[i * sums + s]));
  for (std::size_t k = 0; k < static_cast<std::size_t>(p.components); ++k) {
    double reach = 1 + std::abs(static_cast<double>(p.leaf[k])) * leaves, split = 0, step = 0;
    for (std::size_t c = 0; c < labels; ++c)
      if (const int s = p.sum_of[k * labels + c]; s >= 0)
        reach += of_sum[static_cast<std::size_t>(s)];
    for (std::size_t c = 0; c < columns; ++c)
      split = std::max(split, std::abs(static_cast<double>(p.split[k * columns + c])));
    if (p.path_weight[k] >= 0)
      for (Loss d : p.path_delta[k])
        step = std::max(step, std::abs(static_cast<double>(d)) *
                                  of_sum[static_cast<std::size_t>(p.path_weight[k])]);
    found.push_back(reach + split * leaves + step * p.base.depth);
  }
  return found;
}

// Components of which sub-trees must always tell: summed in the objective, in clauses of several
// literals, or without rows, such as the number of leaves.
std::vector<char> always_compared(const RuledProblem& p) {
  const std::size_t labels = static_cast<std::size_t>(p.base.classes);
  std::vector<char> found(static_cast<std::size_t>(p.components), 0);
  for (const ObjectiveTerm& t : p.objective)
    if (t.components.size() == 1) found[static_cast<std::size_t>(t.components[0])] = 1;
  for (const ModelClause& clause : p.clauses)
    for (const ModelLiteral& l : clause)
      if (l.component >= 0 && clause.size() > 1) found[static_cast<std::size_t>(l.component)] = 1;
  for (std::size_t k = 0; k < found.size(); ++k) {
    const auto first = p.sum_of.begin() + static_cast<std::ptrdiff_t>(k * labels);
    const bool rows = std::any_of(first, first + static_cast<std::ptrdiff_t>(labels),
                                  [](int s) { return s >= 0; });
    if (!rows && p.path_weight[k] < 0) found[k] = 1;
  }
  return found;
}

}  // namespace

Prices::Prices(const RuledProblem& p)
    : p_(p), range_(ranges(p)), reach_(reaches(p)), compared_(always_compared(p)) {
  for (const ObjectiveTerm& t : p.objective) {
    double range = 0, reach = t.fact >= 0;
    for (int k : t.components) {
      range = std::max(range, range_[static_cast<std::size_t>(k)]);
      reach = std::max(reach, reach_[static_cast<std::size_t>(k)]);
    }
    const double factor = static_cast<double>(t.coefficient);
    cost_unit_ += factor * range;
    cost_reach_ += factor * reach;
    if (t.components.size() < 2) continue;
    for (int k : t.components)
      priced_.push_back({static_cast<std::size_t>(k), 0, static_cast<int>(terms_.size()), range});
    terms_.push_back(&t);
  }
  cost_unit_ = std::max(1.0, cost_unit_);
  const std::vector<Loss> bounds = single_bounds(p);
  for (std::size_t k = 0; k < bounds.size(); ++k)
    if (static_cast<double>(std::abs(bounds[k])) <= reach_[k])
      priced_.push_back({k, bounds[k], -1, range_[k]});
  make_master();
}

void Prices::make_master() {
  std::vector<DualMaster::Row> rows;
  std::vector<double> weights(terms_.size(), 0.0);
  for (const Priced& one : priced_)
    rows.push_back({static_cast<double>(one.at_most) / one.unit, kMost, one.term});
  for (const Priced& one : priced_)
    if (one.term >= 0)
      weights[static_cast<std::size_t>(one.term)] =
          static_cast<double>(terms_[static_cast<std::size_t>(one.term)]->coefficient) * one.unit /
          cost_unit_;
  master_ = std::make_unique<DualMaster>(std::move(rows), std::move(weights));
}

// What has a multiplier is compared; so is the part of a maximum that stands for all.
void Prices::close(Multipliers& m) const {
  m.compared = compared_;
  for (std::size_t k = 0; k < m.of.size(); ++k)
    if (m.of[k] > 0) m.compared[k] = 1;
}

Multipliers Prices::first() const {
  Multipliers m;
  m.of.assign(range_.size(), 0);
  for (const ObjectiveTerm& t : p_.objective)
    if (!t.components.empty()) m.of[static_cast<std::size_t>(t.components[0])] += t.coefficient;
  close(m);
  return m;
}

// By how much the objective is scaled so that rounded multipliers are near the prices; 0 where sums
// would leave 64 bits.
double Prices::steps_for(const std::vector<double>& prices) const {
  double least = kWide, range = cost_unit_, reach = cost_reach_;
  for (std::size_t i = 0; i < priced_.size(); ++i) {
    if (prices[i] <= 0) continue;
    least = std::min(least, prices[i]);
    if (priced_[i].term >= 0) continue;
    range += prices[i] * range_[priced_[i].component];
    reach += prices[i] *
             (reach_[priced_[i].component] + static_cast<double>(std::abs(priced_[i].at_most)));
  }
  if (least >= kWide) return 1;
  const double narrow = std::floor(kNarrow / range), wide = std::floor(kWide / (2 * reach));
  return std::min(std::ceil(kSteps / least), narrow * least >= kSteps / 16 ? narrow : wide);
}

// Clauses: the nearest whole number. Parts of a maximum share its coefficient; what is left over is
// the largest one's.
Multipliers Prices::rounded(const std::vector<double>& prices) const {
  std::vector<double> wanted = prices;
  std::vector<std::size_t> largest(terms_.size(), priced_.size());
  for (std::size_t i = 0; i < priced_.size(); ++i) {
    if (wanted[i] * range_[priced_[i].component] < kNothing * cost_unit_) wanted[i] = 0;
    if (priced_[i].term < 0) continue;
    std::size_t& most = largest[static_cast<std::size_t>(priced_[i].term)];
    if (most == priced_.size() || wanted[i] > wanted[most]) most = i;
  }
  Multipliers m;
  m.of.assign(range_.size(), 0);
  m.scale = static_cast<Loss>(steps_for(wanted));
  if (m.scale < 1) return first();
  for (const ObjectiveTerm& t : p_.objective)
    if (t.components.size() == 1)
      m.of[static_cast<std::size_t>(t.components[0])] += m.scale * t.coefficient;
  std::vector<Loss> left;
  for (const ObjectiveTerm* t : terms_) left.push_back(m.scale * t->coefficient);
  for (std::size_t i = 0; i < priced_.size(); ++i) {
    const Priced& one = priced_[i];
    Loss steps = static_cast<Loss>(std::llround(wanted[i] * static_cast<double>(m.scale)));
    if (one.term >= 0) {
      Loss& rest = left[static_cast<std::size_t>(one.term)];
      if (largest[static_cast<std::size_t>(one.term)] == i) continue;
      steps = std::min(steps, rest);
      rest -= steps;
    } else {
      m.constant += steps * one.at_most;
    }
    m.of[one.component] += steps;
  }
  for (std::size_t t = 0; t < terms_.size(); ++t) m.of[priced_[largest[t]].component] += left[t];
  close(m);
  return m;
}

std::vector<Loss> Prices::of_clauses(const Multipliers& m) const {
  std::vector<Loss> extra = m.of, found;
  for (const ObjectiveTerm& t : p_.objective)
    if (t.components.size() == 1)
      extra[static_cast<std::size_t>(t.components[0])] -= m.scale * t.coefficient;
  const std::vector<Loss> bounds = single_bounds(p_);
  for (const ModelClause& clause : p_.clauses) {
    found.push_back(0);
    if (clause.size() != 1 || clause[0].component < 0) continue;
    const auto k = static_cast<std::size_t>(clause[0].component);
    if (clause[0].at_most == bounds[k]) std::swap(found.back(), extra[k]);  // for the first of them
  }
  return found;
}

void Prices::add(const Measured& tree) {
  double cost = 0;
  for (const ObjectiveTerm& t : p_.objective)
    if (t.components.size() == 1)
      cost += static_cast<double>(t.coefficient) *
              static_cast<double>(tree.free_values[static_cast<std::size_t>(t.components[0])]);
  std::vector<double> values;
  for (const Priced& one : priced_)
    values.push_back(static_cast<double>(tree.free_values[one.component]) / one.unit);
  master_->add(cost / cost_unit_, std::move(values));
}

double Prices::best(std::vector<double>& prices) {
  const double value = master_->solve(prices) * cost_unit_;
  for (std::size_t i = 0; i < prices.size(); ++i) prices[i] *= cost_unit_ / priced_[i].unit;
  return value;
}

}  // namespace odt
