// Optimal regression trees: squared or absolute error, or deviance, one target.
//
// Losses are floating-point numbers: a tree is called optimal when no other is better by more than
// 1e-9 of the loss of a single leaf.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "odt/loss_kind.hpp"
#include "odt/number_rules.hpp"
#include "odt/problem.hpp"

namespace odt {

struct RegressionProblem {
  Problem base;  // ranks, distinct, allowed, depth, leaves; labels and classes unused
  std::vector<double> target;
  std::vector<double> weight;  // empty: one each
  double leaf_price = 0;
  OutputLoss loss = OutputLoss::squared;
  NumberRules rules;  // on paths, and on how much of one sum leaves and splits hold at least
  std::int32_t leaf_rows = 1;  // that each leaf must hold; more than one: the states of the rules
                               // relax to others
  bool sized() const {
    return leaf_rows > 1 || !rules.leaf_conditions.empty() || !rules.split_conditions.empty();
  }
  bool absolute() const { return loss == OutputLoss::absolute; }
  bool poisson() const { return loss == OutputLoss::poisson; }
};

struct RealIncumbent {
  double seconds;
  double value;
  double bound;
};

struct RegressionOptions {
  double time_limit = -1;        // seconds; negative: none
  std::uint64_t work_limit = 0;  // of the work that is polled; 0: none
  double absolute_gap = 0;
  double relative_gap = 0;
  int threads = 1;
  std::size_t memory_limit = 0;  // bytes of cache; 0: a default
  double upper_bound =
      std::numeric_limits<double>::infinity();  // only trees of at most this loss are of interest
  bool prove = true;                            // false: the anytime search alone
  bool beside = true;  // the anytime search runs beside a proof that takes longer than
  std::uint64_t alone =
      20000000;  // so much work (a tenth of a second or two; a quarter from depth five on)
  std::uint64_t seed = 0;  // of the anytime search
  Tree start;
  std::function<void(const RealIncumbent&, const Found&)> progress;
  std::function<bool()> interrupted;
};

struct RegressionResult {
  Status status = Status::unknown;
  double value = 0, bound = 0;
  Tree tree;
  std::vector<double> output;  // per node of the tree
  Counters counters;
  std::vector<RealIncumbent> timeline;
  double seconds = 0;
  std::uint64_t work = 0;  // what was polled
  // Per feature: no tree whose first split tests it loses less. Empty: not told.
  std::vector<double> by_first;
};

RegressionResult solve_regression(const RegressionProblem& problem,
                                  const RegressionOptions& options);
// The tree of a plan that the search told.
RegressionResult finished(const RegressionProblem& problem, const Plan& plan);

}  // namespace odt
