#include <algorithm>
#include <cmath>

#include "odt/outputs.hpp"

namespace odt {
namespace {

// goal - y + y log(y / goal) turned round: what half the deviance of a leaf with this mean loses by
// the output y.
double lost(double goal, double y) {
  if (y < 0) return kUnbounded;
  if (goal <= 0) return y;
  if (y <= 0) return kUnbounded;
  const double apart = y - goal;
  return std::max(0.0, apart - goal * std::log1p(apart / goal));
}

}  // namespace

double PoissonLoss::best(std::size_t t, double low, double high, double& output) const {
  low = std::max(low, 0.0);
  if (low > high) return kUnbounded;
  output = std::min(std::max(goal_[t], low), high);
  const double value = lost(goal_[t], output);
  return value == kUnbounded ? value : weight_[t] * value;
}

double PoissonLoss::value(const double* y) const {
  double total = 0;
  for (std::size_t t = 0; t < weight_.size(); ++t) total += weight_[t] * lost(goal_[t], y[t]);
  return total;
}

// A feasible output of finite loss: near the goal, and off zero where the goal is.
bool PoissonLoss::start(OutputBox box, const std::vector<const OutputRange*>& ranges, double* y) {
  const std::size_t n = weight_.size();
  std::vector<double> weight(n);
  for (std::size_t t = 0; t < n; ++t) weight[t] = weight_[t] / std::max(goal_[t], 1e-3);
  SquaredLoss near(weight);
  near.aim(goal_);
  for (double share : {0.5, 0.1, 1e-2, 1e-3, 1e-4, 1e-6}) {
    OutputBox raised = box;
    bool fits = true;
    for (std::size_t t = 0; t < n; ++t) {
      raised.low[t] = std::max(raised.low[t], goal_[t] > 0 ? share * goal_[t] : 0.0);
      fits = fits && raised.low[t] <= raised.high[t];
    }
    if (fits && near.least(raised, ranges, kUnbounded, y) < kUnbounded) return true;
  }
  return false;
}

double PoissonLoss::least(const OutputBox& box, const std::vector<const OutputRange*>& ranges,
                          double limit, double* output) {
  const std::size_t n = weight_.size();
  if (!start(box, ranges, output)) return kUnbounded;
  double scale = 0;
  for (std::size_t t = 0; t < n; ++t) scale = std::max(scale, goal_[t]);
  if (scale <= 0) scale = 1;
  double now = value(output);
  std::vector<double> weight(n), goal(n), next(n);
  for (int round = 0; round < 200; ++round) {
    OutputBox inner = box;
    for (std::size_t t = 0; t < n; ++t) {
      const double y = output[t];
      const double slope = goal_[t] > 0 ? weight_[t] * (1 - goal_[t] / y) : weight_[t];
      const double curve = goal_[t] > 0 ? weight_[t] * goal_[t] / (y * y) : weight_[t] / scale;
      weight[t] = curve / 2;
      goal[t] = y - slope / curve;
      inner.low[t] = std::max(inner.low[t], goal_[t] > 0 ? 0.1 * y : 0.0);
    }
    SquaredLoss model(weight);
    model.aim(goal.data());
    if (!(model.least(inner, ranges, kUnbounded, next.data()) < kUnbounded)) break;
    double descent = 0;
    for (std::size_t t = 0; t < n; ++t)
      descent += (goal_[t] > 0 ? weight_[t] * (1 - goal_[t] / output[t]) : weight_[t]) *
                 (next[t] - output[t]);
    if (descent > -1e-15 * scale) break;
    double step = 1, found = kUnbounded;
    std::vector<double> trial(n);
    for (; step > 1e-12; step /= 2) {
      for (std::size_t t = 0; t < n; ++t)
        trial[t] = step == 1 ? next[t] : output[t] + step * (next[t] - output[t]);
      found = value(trial.data());
      if (found <= now + 1e-4 * step * descent) break;
    }
    if (!(found < now)) break;
    now = found;
    std::copy(trial.begin(), trial.end(), output);
  }
  return now < limit ? now : kUnbounded;
}

}  // namespace odt
