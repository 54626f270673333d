// The four ways of filling a leaf with an output.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "odt/number_problem.hpp"

namespace odt {

// The feasible output of least loss; of least loss plus price times violation; the row of least
// loss that is feasible; the output of least loss, feasible or not.
enum class OutputWay { optimal, relaxed, medoid, average };

// Weight, weighted sums per target of what is relative to a centre, and the loss of the best free
// output.
struct OutputSums {
  double w = 0, q = 0;
  std::vector<double> s;
};

// Of all rows, per target; 0 where they weigh nothing.
std::vector<double> weighted_means(const NumberProblem& problem);

// The loss of the best free output of rows, from their weight, their own losses and their sums. A
// deviance is told from the means of all rows.
double free_loss(const NumberProblem& problem, const std::vector<double>& mean, double w,
                 double own, const double* sums);

// What sets near one that is known lose at least above their free loss: distances to a convex set,
// or to any.
class NearOutput {
 public:
  void forget() { far_ = 0; }
  bool known() const { return far_ > 0; }
  // The nearest feasible output of a mean.
  void know(OutputSolver& solver, SquaredLoss& squared, const std::vector<double>& mean);
  // Of rows of a weight whose sums are relative to a centre.
  double beyond(double w, const std::vector<double>& centre, const double* sums) const;

 private:
  std::vector<double> mean_, foot_, factor_;  // the mean, its nearest feasible output
  std::vector<double> ahead_;                 // the way between
  double far_ = 0;
  bool convex_ = false;
};

// Losses of sets of rows, filled in one way.
class OutputLeaf {
 public:
  OutputLeaf(const NumberProblem& problem, OutputWay way, double price);

  bool by_sums() const { return problem_.loss != OutputLoss::absolute; }
  // Sums of rows, row by row.
  void clear(OutputSums& sums) const;
  void add(OutputSums& sums, std::uint32_t row) const;
  void rest(const OutputSums& all, const OutputSums& part, OutputSums& rest) const;
  // The loss of the best free output, from sums.
  double free(const OutputSums& sums) const {
    return free_loss(problem_, mean_, sums.w, sums.q, sums.s.data());
  }
  void mean(const OutputSums& sums, std::vector<double>& out) const;
  // The loss of rows filled in this way, at least `free`; infinite where it is `limit` or more.
  // `sums` are theirs.
  double fill(const std::vector<std::uint32_t>& rows, const OutputSums& sums, double free,
              double limit, std::vector<double>& output);
  bool needs_rows() const { return way_ == OutputWay::medoid || !by_sums(); }
  // See NearOutput.
  void know(const OutputSums& sums);
  double beyond(const OutputSums& sums) const {
    return near_.beyond(sums.w, centre_, sums.s.data());
  }
  bool bounded_below() const { return near_.known(); }
  bool exact_free() const { return way_ == OutputWay::average || solver_.everything(); }
  std::uint64_t relaxations() const { return solver_.relaxations; }
  bool feasible(std::uint32_t row) const { return feasible_[row] != 0; }

 private:
  double nearest(const std::vector<double>& goal, double w, double limit,
                 std::vector<double>& output);
  double alike(const std::vector<std::uint32_t>& rows, std::vector<double>& output);
  double medoid(const std::vector<std::uint32_t>& rows, const OutputSums& sums, double free,
                std::vector<double>& output);
  double lost_at(const std::vector<double>& mean, const double* y) const;

  const NumberProblem& problem_;
  OutputWay way_;
  OutputSolver solver_;
  SquaredLoss squared_;
  SquaredLoss distance_;
  PoissonLoss poisson_;
  AbsoluteLoss absolute_;
  std::vector<double> centre_, mean_, goal_;  // the mean: of all rows
  std::vector<double> own_;                   // Poisson, per row: what it loses by that
  NearOutput near_;
  std::vector<char> feasible_;
};

// A tree grown from the root by the best split each time, and its outputs.
struct OutputGrowth {
  OutputWay split = OutputWay::optimal, leaf = OutputWay::optimal;
  double split_price = 0, leaf_price = 0;
  std::function<bool()> interrupted;
};

struct GrownOutputs {
  Tree tree;
  std::vector<double> output;  // [node * targets + target]
  double value = 0;            // of the splits' way, over leaves
  std::uint64_t relaxations = 0, candidates = 0, evaluated = 0;
};

GrownOutputs grow_outputs(const NumberProblem& problem, const OutputGrowth& growth);

}  // namespace odt
