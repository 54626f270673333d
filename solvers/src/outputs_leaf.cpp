#include "odt/outputs_leaf.hpp"

#include <algorithm>
#include <cmath>

#include "odt/logs.hpp"

namespace odt {

std::vector<double> weighted_means(const NumberProblem& p) {
  const std::size_t n = p.targets();
  std::vector<double> mean(n, 0.0);
  double total = 0;
  for (std::uint32_t i = 0; i < p.base.rows; ++i) {
    total += p.weight_of(i);
    for (std::size_t t = 0; t < n; ++t) mean[t] += p.weight_of(i) * p.target[i * n + t];
  }
  for (double& m : mean) m = total > 0 ? m / total : 0;
  return mean;
}

double free_loss(const NumberProblem& p, const std::vector<double>& mean, double w, double own,
                 const double* sums) {
  if (!(w > 0)) return 0;
  double gained = 0;
  if (p.loss == OutputLoss::squared) {
    for (std::size_t t = 0; t < p.targets(); ++t) gained += p.factor[t] * sums[t] * sums[t];
    return std::max(0.0, own - gained / w);
  }
  for (std::size_t t = 0; t < p.targets(); ++t)
    gained += p.factor[t] * gain_over(sums[t], w, mean[t]);
  return std::max(0.0, own - gained);
}

void NearOutput::know(OutputSolver& solver, SquaredLoss& squared, const std::vector<double>& mean) {
  far_ = 0;
  mean_ = mean;
  foot_.resize(mean.size());
  squared.aim(mean_.data());
  const double square = solver.solve(squared, foot_.data());
  if (!(square > 0) || square == kUnbounded) return;
  far_ = std::sqrt(square);
  factor_ = squared.weights();
  convex_ = solver.convex();
  ahead_.resize(mean.size());
  for (std::size_t t = 0; t < mean.size(); ++t)
    ahead_[t] = factor_[t] * (mean_[t] - foot_[t]) / far_;
}

double NearOutput::beyond(double w, const std::vector<double>& centre, const double* sums) const {
  if (!(far_ > 0) || !(w > 0)) return 0;
  double least = 0;
  if (convex_) {  // the set lies behind the plane at the foot
    for (std::size_t t = 0; t < mean_.size(); ++t)
      least += ahead_[t] * (centre[t] + sums[t] / w - foot_[t]);
  } else {  // the distance to a set changes no faster than the point moves
    double moved = 0;
    for (std::size_t t = 0; t < mean_.size(); ++t) {
      const double d = centre[t] + sums[t] / w - mean_[t];
      moved += factor_[t] * d * d;
    }
    least = far_ - std::sqrt(moved);
  }
  least *= 1 - 1e-9;
  return least > 0 ? w * least * least : 0;
}

OutputLeaf::OutputLeaf(const NumberProblem& p, OutputWay way, double price)
    : problem_(p),
      way_(way),
      solver_(p.set),
      squared_(p.factor, way == OutputWay::relaxed ? price : kUnbounded),
      distance_(p.factor),
      poisson_(p.factor),
      absolute_(p.factor, way == OutputWay::relaxed ? price : kUnbounded),
      centre_(p.targets(), 0.0),
      mean_(weighted_means(p)),
      goal_(p.targets()) {
  const std::size_t n = p.targets();
  if (p.loss == OutputLoss::squared) {
    centre_ = mean_;
  } else if (p.loss == OutputLoss::poisson) {
    own_.resize(p.base.rows);
    for (std::uint32_t i = 0; i < p.base.rows; ++i)
      for (std::size_t t = 0; t < n; ++t)
        own_[i] += p.factor[t] * gain_over(p.target[i * n + t], 1, mean_[t]);
  }
  if (way == OutputWay::medoid) {
    feasible_.resize(p.base.rows);
    for (std::uint32_t i = 0; i < p.base.rows; ++i)
      feasible_[i] = solver_.contains(&p.target[i * n], 1e-9);
  }
}

void OutputLeaf::clear(OutputSums& sums) const {
  sums.w = sums.q = 0;
  sums.s.assign(problem_.targets(), 0.0);
}

void OutputLeaf::add(OutputSums& sums, std::uint32_t row) const {
  const std::size_t n = problem_.targets();
  const double w = problem_.weight_of(row);
  const double* y = &problem_.target[row * n];
  sums.w += w;
  if (problem_.loss == OutputLoss::squared) {
    for (std::size_t t = 0; t < n; ++t) {
      const double d = y[t] - centre_[t];
      sums.s[t] += w * d;
      sums.q += w * problem_.factor[t] * d * d;
    }
  } else {
    for (std::size_t t = 0; t < n; ++t) sums.s[t] += w * y[t];
    if (!own_.empty()) sums.q += w * own_[row];
  }
}

void OutputLeaf::rest(const OutputSums& all, const OutputSums& part, OutputSums& rest) const {
  rest.w = all.w - part.w;
  rest.q = all.q - part.q;
  rest.s.resize(all.s.size());
  for (std::size_t t = 0; t < all.s.size(); ++t) rest.s[t] = all.s[t] - part.s[t];
}

void OutputLeaf::mean(const OutputSums& sums, std::vector<double>& out) const {
  out.resize(sums.s.size());
  for (std::size_t t = 0; t < sums.s.size(); ++t) {
    out[t] = centre_[t] + (sums.w > 0 ? sums.s[t] / sums.w : 0);
    if (problem_.loss == OutputLoss::poisson && out[t] < 0) out[t] = 0;  // rounding of differences
  }
}

double OutputLeaf::nearest(const std::vector<double>& goal, double w, double limit,
                           std::vector<double>& output) {
  output.resize(goal.size());
  double value;
  if (problem_.loss == OutputLoss::poisson) {
    poisson_.aim(goal.data());
    value = solver_.solve(poisson_, output.data(), limit / w);
  } else {
    squared_.aim(goal.data());
    value = solver_.solve(squared_, output.data(), limit / w);
  }
  return value * w;
}

// What rows of a mean lose by y above their free loss, per unit of weight.
double OutputLeaf::lost_at(const std::vector<double>& mean, const double* y) const {
  double total = 0;
  for (std::size_t t = 0; t < mean.size(); ++t) {
    double y_out = 0;
    if (problem_.loss == OutputLoss::poisson)
      total += poisson_.best(t, y[t], y[t], y_out);
    else
      total += problem_.factor[t] * (y[t] - mean[t]) * (y[t] - mean[t]);
  }
  return total;
}

double OutputLeaf::medoid(const std::vector<std::uint32_t>& rows, const OutputSums& sums,
                          double free, std::vector<double>& output) {
  const std::size_t n = problem_.targets();
  if (by_sums()) {
    mean(sums, goal_);
    poisson_.aim(goal_.data());
  }
  double best[2] = {kUnbounded, kUnbounded};  // of all rows, of feasible ones
  std::uint32_t row[2] = {rows[0], rows[0]};
  for (std::uint32_t i : rows) {
    const double* y = &problem_.target[i * n];
    double value = 0;
    if (by_sums()) {
      value = lost_at(goal_, y);
    } else {
      for (std::size_t t = 0; t < n; ++t) value += absolute_.value(t, y[t]);
    }
    for (int k = 0; k < 2; ++k)
      if (value < best[k] && (k == 0 || feasible_[i])) {
        best[k] = value;
        row[k] = i;
      }
  }
  const int k = best[1] < kUnbounded ? 1 : 0;
  output.assign(&problem_.target[row[k] * n], &problem_.target[row[k] * n] + n);
  double value = best[k];
  if (k == 0) {
    const std::vector<double> goal = output;
    distance_.aim(goal.data());
    if (!(solver_.solve(distance_, output.data()) < kUnbounded)) return kUnbounded;
    if (by_sums()) {
      value = lost_at(goal_, output.data());
    } else {
      value = 0;
      for (std::size_t t = 0; t < n; ++t) value += absolute_.value(t, output[t]);
    }
  }
  return by_sums() ? free + sums.w * value : value;
}

// The output of rows that weigh nothing, which count alike; what they lose is nothing.
double OutputLeaf::alike(const std::vector<std::uint32_t>& rows, std::vector<double>& output) {
  const std::vector<double> goal = goal_;
  if (!by_sums()) {
    absolute_.aim(rows, problem_.target.data(), nullptr);
    if (exact_free())
      for (std::size_t t = 0; t < output.size(); ++t)
        absolute_.best(t, -kUnbounded, kUnbounded, output[t]);
    if (exact_free() || solver_.solve(absolute_, output.data()) < kUnbounded) return 0;
  } else if (nearest(goal, 1, kUnbounded, output) < kUnbounded) {
    return 0;
  }
  distance_.aim(goal.data());
  return solver_.solve(distance_, output.data()) < kUnbounded ? 0 : kUnbounded;
}

double OutputLeaf::fill(const std::vector<std::uint32_t>& rows, const OutputSums& sums, double free,
                        double limit, std::vector<double>& output) {
  const std::size_t n = problem_.targets();
  if (!by_sums())
    absolute_.aim(rows, problem_.target.data(),
                  problem_.weight.empty() ? nullptr : problem_.weight.data());
  if (!(sums.w >
        0)) {  // rows that weigh nothing lose nothing: any feasible output, near their plain mean
    goal_.assign(n, 0.0);
    for (std::uint32_t i : rows)
      for (std::size_t t = 0; t < n; ++t)
        goal_[t] += problem_.target[i * n + t] / static_cast<double>(rows.size());
    output = goal_;
    if (way_ == OutputWay::average || rows.empty()) return 0;
    if (way_ == OutputWay::optimal) return alike(rows, output);
    const std::vector<double> goal = goal_;
    distance_.aim(goal.data());
    return solver_.solve(distance_, output.data()) < kUnbounded ? 0 : kUnbounded;
  }
  if (way_ == OutputWay::medoid) return medoid(rows, sums, free, output);
  if (!by_sums()) {
    output.resize(n);
    if (!exact_free()) return solver_.solve(absolute_, output.data(), limit);
    double total = 0;
    for (std::size_t t = 0; t < n; ++t)
      total += absolute_.best(t, -kUnbounded, kUnbounded, output[t]);
    return total;
  }
  mean(sums, goal_);
  if (exact_free()) {
    output = goal_;
    return free;
  }
  const std::vector<double> goal = goal_;
  return free + nearest(goal, sums.w, limit - free, output);
}

void OutputLeaf::know(const OutputSums& sums) {
  near_.forget();
  if (way_ != OutputWay::optimal || problem_.loss != OutputLoss::squared || exact_free() ||
      !(sums.w > 0))
    return;
  mean(sums, goal_);
  near_.know(solver_, squared_, goal_);
}

}  // namespace odt
