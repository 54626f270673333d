// Rules on whole trees of numbers, and what may stand in the objective beside the loss.
//
// A tree is known by its components (sums over leaves, splits and rows; less is better) and by
// facts, which splits set. Components are floats: whole numbers below 2^53, or losses.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "odt/plan.hpp"
#include "odt/problem.hpp"
#include "odt/space.hpp"

namespace odt {

struct NumberProblem;
class OutputLeaf;

enum class MeasuredLoss { squared, absolute, poisson };

// A loss of the outputs that the leaves have by the objective: of other targets or rows, or of
// another kind.
struct NumberMeasure {
  int component = 0;
  MeasuredLoss kind = MeasuredLoss::squared;
  std::vector<double> factor;  // per target
  std::vector<double> weight;  // per row; of differences between groups below zero, too
};

struct NumberLiteral {
  int component = -1;  // -1: a fact
  int fact = 0;
  bool positive = true;  // facts
  double at_most = 0;    // components
};

// coefficient * component or fact.
struct NumberTerm {
  double coefficient = 0;
  int component = -1;  // -1: a fact
  int fact = 0;
};

struct NumberPair {
  int fact;
  std::uint32_t first, second;  // the fact is set by a split that parts these rows
};

struct NumberModel {
  std::size_t components = 0, columns = 0;
  std::vector<double> leaf;   // per component, for each leaf
  std::vector<double> split;  // [component * columns + column], for each split
  std::vector<int> path_sum;  // per component: the sum of the rules that weighs path costs, or -1
  std::vector<std::vector<Loss>> path_delta;  // per component: empty, or [state * columns + column]
  std::vector<NumberMeasure> measures;
  std::size_t facts = 0;                   // at most 64
  std::vector<std::uint64_t> split_facts;  // [level * columns + column]
  std::vector<NumberPair> pairs;
  SpaceProblem space;  // where there are rules on the order of predictions
  std::vector<MonotoneRule> monotone;
  std::vector<std::vector<NumberLiteral>> clauses;  // of each, one literal holds
  std::vector<NumberTerm> prices;                   // added to the loss
  std::vector<NumberTerm> goal;  // what is made least, if any, of all trees below the upper bound

  bool none() const { return clauses.empty() && prices.empty() && goal.empty(); }
  bool holds(std::uint64_t set, const double* values) const;
  static double sum(const std::vector<NumberTerm>& terms, std::uint64_t set, const double* values);
  // What a tree of so many leaves adds to the loss at least.
  double least_price(int leaves) const;
};

// Refuses a model whose parts do not fit together (std::invalid_argument).
void check(const NumberModel& model, const NumberProblem& problem);

// Components and facts of leaves and splits on a problem's rows.
class NumberParts {
 public:
  explicit NumberParts(const NumberProblem& problem);
  ~NumberParts();

  // The output of a leaf under the objective and the rules on outputs.
  const std::vector<double>& output(const std::uint32_t* rows, std::size_t n);
  // Components of a leaf.
  void leaf(const std::uint32_t* rows, std::size_t n, double* out);
  // Sums of the rows that weigh path costs, for `split`.
  void weigh(const std::uint32_t* rows, std::size_t n, std::vector<Loss>& sums) const;
  // Components of a split itself, behind a path in a state.
  void split(const std::vector<Loss>& sums, int state, std::size_t feature, double* out) const;
  // Facts that a split sets. `rows` are those of the node.
  std::uint64_t facts(const std::uint32_t* rows, std::size_t n, std::size_t feature,
                      std::uint32_t bound, std::size_t level) const;
  // Components and facts of a whole plan, which keeps the rules on paths.
  std::uint64_t measure(const Plan& plan, const std::vector<std::uint32_t>& rows,
                        std::vector<double>& out);

 private:
  std::uint64_t add(const Plan& plan, std::size_t at, int state, std::size_t level,
                    const std::vector<std::uint32_t>& rows, std::vector<double>& out);
  double lost(const NumberMeasure& measure, const std::vector<double>& output) const;

  const NumberProblem& problem_;
  const NumberModel& model_;
  std::unique_ptr<OutputLeaf> outputs_;  // where losses are measured, or leaves compared
  std::vector<std::uint32_t> rows_;
  std::vector<double> output_, part_;
};

}  // namespace odt
