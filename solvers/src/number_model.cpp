#include "odt/number_model.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "odt/number_order.hpp"
#include "odt/outputs_leaf.hpp"

namespace odt {

bool NumberModel::holds(std::uint64_t set, const double* values) const {
  return std::all_of(clauses.begin(), clauses.end(), [&](const auto& clause) {
    return std::any_of(clause.begin(), clause.end(), [&](const NumberLiteral& one) {
      if (one.component >= 0) return values[one.component] <= one.at_most;
      return ((set >> one.fact & 1) != 0) == one.positive;
    });
  });
}

double NumberModel::sum(const std::vector<NumberTerm>& terms, std::uint64_t set,
                        const double* values) {
  double total = 0;
  for (const NumberTerm& term : terms)
    total += term.coefficient * (term.component >= 0 ? values[term.component]
                                                     : static_cast<double>(set >> term.fact & 1));
  return total;
}

double NumberModel::least_price(int leaves) const {
  double total = 0;
  for (const NumberTerm& term : prices) {
    if (term.component < 0) continue;  // facts cost
    const std::size_t k = static_cast<std::size_t>(term.component);
    const auto from = split.begin() + static_cast<std::ptrdiff_t>(k * columns);
    const double least = std::accumulate(from, from + static_cast<std::ptrdiff_t>(columns), 0.0,
                                         [](double a, double b) { return std::min(a, b); });
    total += term.coefficient * (std::min(leaf[k], leaf[k] * leaves) + least * (leaves - 1));
  }
  return total;
}

NumberParts::NumberParts(const NumberProblem& problem) : problem_(problem), model_(problem.model) {
  if (!model_.measures.empty() || !model_.monotone.empty())
    outputs_ = std::make_unique<OutputLeaf>(problem, OutputWay::optimal, 0);
}

NumberParts::~NumberParts() = default;

const std::vector<double>& NumberParts::output(const std::uint32_t* rows, std::size_t n) {
  rows_.assign(rows, rows + n);
  OutputSums sums;
  outputs_->clear(sums);
  for (std::uint32_t row : rows_) outputs_->add(sums, row);
  output_.resize(problem_.targets());
  outputs_->fill(rows_, sums, outputs_->free(sums), kUnbounded, output_);
  return output_;
}

void NumberParts::leaf(const std::uint32_t* rows, std::size_t n, double* out) {
  std::copy(model_.leaf.begin(), model_.leaf.end(), out);
  if (model_.measures.empty()) return;
  output(rows, n);
  for (const NumberMeasure& one : model_.measures) out[one.component] += lost(one, output_);
}

// Of the rows that are noted.
double NumberParts::lost(const NumberMeasure& measure, const std::vector<double>& output) const {
  double total = 0;
  for (std::size_t t = 0; t < output.size(); ++t) {
    if (measure.factor[t] == 0) continue;
    for (std::uint32_t row : rows_) {
      const double w = measure.weight[row], y = problem_.target[row * output.size() + t];
      if (w == 0) continue;
      double each = std::fabs(y - output[t]);
      if (measure.kind == MeasuredLoss::squared) each *= each;
      if (measure.kind == MeasuredLoss::poisson)
        each = y > 0 ? (output[t] > 0 ? y * std::log(y / output[t]) - y + output[t] : kUnbounded)
                     : output[t];
      if (each == kUnbounded) return measure.factor[t] > 0 ? kUnbounded : -kUnbounded;
      total += measure.factor[t] * w * each;
    }
  }
  return total;
}

void NumberParts::weigh(const std::uint32_t* rows, std::size_t n, std::vector<Loss>& sums) const {
  sums.assign(static_cast<std::size_t>(problem_.rules.sums), 0);
  const bool any =
      std::any_of(model_.path_sum.begin(), model_.path_sum.end(), [](int sum) { return sum >= 0; });
  for (std::size_t i = 0; any && i < n; ++i) problem_.rules.add(rows[i], sums);
}

void NumberParts::split(const std::vector<Loss>& sums, int state, std::size_t feature,
                        double* out) const {
  const std::size_t column = static_cast<std::size_t>(problem_.rules.column[feature]);
  for (std::size_t k = 0; k < model_.components; ++k) {
    out[k] = model_.split[k * model_.columns + column];
    if (model_.path_sum[k] >= 0)
      out[k] += static_cast<double>(
          sums[static_cast<std::size_t>(model_.path_sum[k])] *
          model_.path_delta[k][static_cast<std::size_t>(state) * model_.columns + column]);
  }
}

std::uint64_t NumberParts::facts(const std::uint32_t* rows, std::size_t n, std::size_t feature,
                                 std::uint32_t bound, std::size_t level) const {
  const std::size_t column = static_cast<std::size_t>(problem_.rules.column[feature]);
  std::uint64_t set = model_.split_facts[level * model_.columns + column];
  const std::uint32_t* rank = problem_.base.ranks(feature);
  for (const NumberPair& pair : model_.pairs) {
    if ((rank[pair.first] < bound) == (rank[pair.second] < bound)) continue;
    int here = 0;
    for (std::size_t i = 0; i < n; ++i) here += rows[i] == pair.first || rows[i] == pair.second;
    if (here == 2) set |= std::uint64_t{1} << pair.fact;
  }
  return set;
}

std::uint64_t NumberParts::measure(const Plan& plan, const std::vector<std::uint32_t>& rows,
                                   std::vector<double>& out) {
  out.assign(model_.components, 0.0);
  const std::uint64_t set = add(plan, 0, 0, 0, rows, out);
  return model_.monotone.empty() ? set : set | NumberOrder(problem_, *this).facts(plan, rows);
}

std::uint64_t NumberParts::add(const Plan& plan, std::size_t at, int state, std::size_t level,
                               const std::vector<std::uint32_t>& rows, std::vector<double>& out) {
  const PlanNode& node = plan.nodes[at];
  part_.resize(model_.components);
  if (node.feature < 0) {
    leaf(rows.data(), rows.size(), part_.data());
    for (std::size_t k = 0; k < out.size(); ++k) out[k] += part_[k];
    return 0;
  }
  const std::size_t f = static_cast<std::size_t>(node.feature);
  std::vector<Loss> sums;
  weigh(rows.data(), rows.size(), sums);
  split(sums, state, f, part_.data());
  for (std::size_t k = 0; k < out.size(); ++k) out[k] += part_[k];
  std::uint64_t set = facts(rows.data(), rows.size(), f, node.bound, level);
  const PartedRows parted(problem_.base, f, node.bound, rows);
  const int next = problem_.rules.after(state, f);
  set |= add(plan, static_cast<std::size_t>(node.left), next, level + 1, parted.side[0], out);
  return set |
         add(plan, static_cast<std::size_t>(node.right), next, level + 1, parted.side[1], out);
}

void check(const NumberModel& model, const NumberProblem& problem) {
  if (model.none()) return;
  const auto demand = [](bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
  };
  const std::size_t n = model.components, columns = model.columns;
  const std::size_t states = problem.rules.need.size();
  demand(!problem.rules.none() && columns == static_cast<std::size_t>(problem.rules.columns),
         "rules on a tree need the states of its paths");
  demand(model.leaf.size() == n && model.split.size() == n * columns &&
             model.path_sum.size() == n && model.path_delta.size() == n,
         "an entry per component");
  for (std::size_t k = 0; k < n; ++k) {
    demand(model.path_sum[k] < problem.rules.sums, "an unknown sum");
    demand(model.path_sum[k] < 0 || model.path_delta[k].size() == states * columns,
           "an entry per state and column");
  }
  for (const NumberMeasure& one : model.measures)
    demand(one.component >= 0 && one.component < static_cast<int>(n) &&
               one.factor.size() == problem.targets() && one.weight.size() == problem.base.rows,
           "a measure needs factors and weights");
  demand(model.facts <= 64, "too many facts");
  demand(model.split_facts.size() == static_cast<std::size_t>(problem.base.depth) * columns,
         "facts per level and column");
  for (const NumberPair& pair : model.pairs)
    demand(pair.first < problem.base.rows && pair.second < problem.base.rows && pair.fact >= 0 &&
               pair.fact < static_cast<int>(model.facts),
           "an unknown row or fact");
  const SpaceProblem& space = model.space;
  if (!model.monotone.empty())
    demand(space.columns.size() == columns && space.tests.size() == problem.base.features &&
               space.cells.size() == columns * problem.base.rows,
           "order needs the cells of every column");
  for (const MonotoneRule& rule : model.monotone)
    demand(rule.column >= 0 && rule.column < static_cast<int>(columns) && rule.fact >= 0 &&
               rule.fact < static_cast<int>(model.facts),
           "an unknown column or fact");
  const auto known = [&](int component, int fact) {
    demand(component >= -1 && component < static_cast<int>(n), "an unknown component");
    demand(component >= 0 || (fact >= 0 && fact < static_cast<int>(model.facts)),
           "an unknown fact");
  };
  for (const auto& clause : model.clauses)
    for (const NumberLiteral& one : clause) known(one.component, one.fact);
  for (const auto* terms : {&model.prices, &model.goal})
    for (const NumberTerm& term : *terms) {
      known(term.component, term.fact);
      demand(term.coefficient >= 0, "coefficients of at least zero");
    }
}

}  // namespace odt
