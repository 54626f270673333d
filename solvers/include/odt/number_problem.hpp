// Optimal trees of numbers, one or several: squared or absolute error or Poisson deviance, every
// leaf's output in a feasible set.
//
// Losses are floating-point numbers: a tree is called optimal when no other is better by more than
// 1e-9 of the loss of a single leaf.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "odt/loss_kind.hpp"
#include "odt/number_model.hpp"
#include "odt/number_rules.hpp"
#include "odt/outputs.hpp"
#include "odt/problem.hpp"

namespace odt {

struct NumberProblem {
  Problem base;                // ranks, distinct, allowed, depth, leaves; labels and classes unused
  std::vector<double> target;  // [row * targets + target]
  std::vector<double> weight;  // per row; empty: one each
  std::vector<double> factor{1};  // per target: what its loss weighs
  OutputLoss loss = OutputLoss::squared;
  OutputSet set = OutputSet::all(1);
  NumberRules rules;
  NumberModel model;
  double leaf_price = 0;
  std::int32_t leaf_rows = 1;         // that each leaf must hold
  std::vector<std::int64_t> bounded;  // [row * minima + k]: each leaf needs these sums, where trees
  std::vector<std::int64_t> minima;   // are grown

  std::size_t targets() const { return factor.size(); }
  double weight_of(std::uint32_t row) const { return weight.empty() ? 1 : weight[row]; }
  bool absolute() const { return loss == OutputLoss::absolute; }
  bool poisson() const { return loss == OutputLoss::poisson; }
  // Whether leaves or splits must hold so much.
  bool sized() const { return leaf_rows > 1 || rules.asks_sums(); }
};

// Per feature, how many cuts between ranks those before it have; then how many all have.
std::vector<std::size_t> first_cuts(const Problem& base);

struct RealIncumbent {
  double seconds;
  double value;
  double bound;
};

struct NumberOptions {
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
  // Per cut between ranks of a feature, in the order of `first_cuts`: no tree whose first split
  // stands there loses less, whatever the rules. Empty: unknown.
  std::vector<double> by_first;
  bool vectors = false;  // the search for vectors, also where scans would do
};

struct NumberResult {
  Status status = Status::unknown;
  double value = 0, bound = 0;
  Tree tree;
  std::vector<double> output;  // [node * targets + target]
  Counters counters;
  std::vector<RealIncumbent> timeline;
  double seconds = 0;
  std::uint64_t work = 0;  // what was polled
  // As in the options. Empty: not told.
  std::vector<double> by_first;
};

// One number without rules on outputs or on the whole tree is solved by scans, all else by the
// search for vectors.
NumberResult solve_numbers(const NumberProblem& problem, const NumberOptions& options);
// The tree of a plan that the search told.
NumberResult finished(const NumberProblem& problem, const Plan& plan);

}  // namespace odt
