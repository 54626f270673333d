#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "odt/outputs.hpp"

// The dual active-set method of Goldfarb and Idnani for distances: start at the goal, take in one
// violated bound after the other, and drop those whose multiplier would leave its range. A finite
// price caps the multipliers.

namespace odt {
namespace {

constexpr double kTiny = 1e-13;

double size_of(double a) { return std::isfinite(a) ? std::fabs(a) : 0; }

}  // namespace

double SquaredLoss::best(std::size_t t, double low, double high, double& output) const {
  const double goal = goal_[t];
  const double near = goal < low ? low : goal > high ? high : goal;
  const double apart = std::fabs(goal - near);
  if (!(apart < kUnbounded)) return kUnbounded;
  if (price_ == kUnbounded || weight_[t] * apart * 2 <= price_) {
    output = near;
    return weight_[t] * apart * apart;
  }
  const double step = price_ / (2 * weight_[t]);
  output = near > goal ? goal + step : goal - step;
  return weight_[t] * step * step + price_ * (apart - step);
}

SquaredLoss::Bound& SquaredLoss::add(double c, double cap, bool equal) {
  if (used_ == bounds_.size()) bounds_.emplace_back();
  Bound& b = bounds_[used_++];
  b.g.assign(free_.size(), 0.0);
  b.c = c;
  b.cap = cap;
  b.u = 0;
  b.state = 0;
  b.equal = equal;
  return b;
}

// Bounds of the program in free targets; false where a range alone cannot hold.
bool SquaredLoss::rows(const OutputBox& box, const std::vector<const OutputRange*>& ranges) {
  const std::size_t targets = weight_.size();
  const bool hard = price_ == kUnbounded;
  used_ = 0;
  free_.clear();
  low_ = box.low;
  high_ = box.high;
  for (std::uint32_t t = 0; t < targets; ++t)
    if (!hard || low_[t] < high_[t]) free_.push_back(t);
  // First ranges that speak of one free target: they are bounds.
  std::vector<const OutputRange*> joint;
  for (const OutputRange* range : ranges) {
    if (!hard) {
      joint.push_back(range);
      continue;
    }
    double fixed = 0, scale = 1;
    std::size_t count = 0, only = 0;
    for (std::size_t t = 0; t < targets; ++t) {
      const double a = range->factor[t];
      if (a == 0) continue;
      if (box.low[t] < box.high[t]) {
        ++count;
        only = t;
      } else {
        fixed += a * box.low[t];
        scale += std::fabs(a * box.low[t]);
      }
    }
    if (count > 1) {
      joint.push_back(range);
      continue;
    }
    const double low = range->low - fixed, high = range->high - fixed;
    const double slack = 1e-10 * (scale + size_of(range->low) + size_of(range->high));
    if (count == 0) {
      if (low > slack || high < -slack) return false;
      continue;
    }
    const double a = range->factor[only];
    const double from = a > 0 ? low / a : high / a, to = a > 0 ? high / a : low / a;
    low_[only] = std::max(low_[only], from);
    high_[only] = std::min(high_[only], to);
    if (low_[only] > high_[only]) {
      if (low_[only] - high_[only] > slack / std::fabs(a)) return false;
      low_[only] = high_[only] = std::min(std::max(from, box.low[only]), box.high[only]);
    }
  }
  const std::size_t n = free_.size();
  root_.resize(n);
  start_.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    root_[i] = std::sqrt(weight_[free_[i]]);
    start_[i] = root_[i] * goal_[free_[i]];
  }
  for (const OutputRange* range : joint) {
    double fixed = 0, norm = 0;
    for (std::size_t t = 0; t < targets; ++t)
      if (hard && !(box.low[t] < box.high[t])) fixed += range->factor[t] * box.low[t];
    for (std::size_t i = 0; i < n; ++i) norm += std::pow(range->factor[free_[i]] / root_[i], 2);
    norm = std::sqrt(norm);
    const double cap = hard ? kUnbounded : price_ * norm / 2;
    const auto put = [&](double sign, double end, bool equal) {
      Bound& b = add(sign * (end - fixed) / norm, cap, equal);
      for (std::size_t i = 0; i < n; ++i) b.g[i] = sign * range->factor[free_[i]] / root_[i] / norm;
    };
    if (hard && range->low == range->high) {
      put(1, range->low, true);
      continue;
    }
    if (range->low > -kUnbounded) put(1, range->low, false);
    if (range->high < kUnbounded) put(-1, range->high, false);
  }
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t t = free_[i];
    const double cap = hard ? kUnbounded : price_ / root_[i] / 2;
    if (low_[t] > -kUnbounded) add(low_[t] * root_[i], cap, false).g[i] = 1;
    if (high_[t] < kUnbounded) add(-high_[t] * root_[i], cap, false).g[i] = -1;
  }
  return true;
}

// z: the part of g that the active bounds leave; r: the combination of these that makes the rest.
// False: nothing is left.
bool SquaredLoss::direction(const std::vector<double>& g) {
  const std::size_t n = free_.size(), k = active_.size();
  z_ = g;
  r_.assign(k, 0.0);
  if (k > 0) {
    // Cholesky of the Gram matrix, by rows in `gram_`.
    gram_.resize(k * k);
    for (std::size_t i = 0; i < k; ++i) {
      const auto& a = bounds_[active_[i]].g;
      for (std::size_t j = 0; j <= i; ++j) {
        const auto& b = bounds_[active_[j]].g;
        double sum = 0;
        for (std::size_t t = 0; t < n; ++t) sum += a[t] * b[t];
        for (std::size_t l = 0; l < j; ++l) sum -= gram_[i * k + l] * gram_[j * k + l];
        gram_[i * k + j] = i == j ? std::sqrt(std::max(sum, 1e-30)) : sum / gram_[j * k + j];
      }
      double sum = 0;
      for (std::size_t t = 0; t < n; ++t) sum += a[t] * g[t];
      for (std::size_t l = 0; l < i; ++l) sum -= gram_[i * k + l] * r_[l];
      r_[i] = sum / gram_[i * k + i];
    }
    for (std::size_t i = k; i-- > 0;) {
      double sum = r_[i];
      for (std::size_t l = i + 1; l < k; ++l) sum -= gram_[l * k + i] * r_[l];
      r_[i] = sum / gram_[i * k + i];
    }
    for (std::size_t i = 0; i < k; ++i) {
      const auto& a = bounds_[active_[i]].g;
      for (std::size_t t = 0; t < n; ++t) z_[t] -= r_[i] * a[t];
    }
  }
  double left = 0;
  for (std::size_t t = 0; t < n; ++t) left += z_[t] * z_[t];
  return left > 1e-20;
}

// Takes a bound in (`up`), or takes one that is paid for back, until it holds exactly. False: it
// never can.
bool SquaredLoss::enter(std::size_t p, bool up) {
  const double sign = up ? 1 : -1;
  for (int round = 0;; ++round) {
    if (round > 1000) throw std::runtime_error("a projection does not end");
    Bound& b = bounds_[p];
    double s = -b.c;
    for (std::size_t t = 0; t < free_.size(); ++t) s += b.g[t] * x_[t];
    const bool moves = direction(b.g);
    double zz = 0;
    for (double z : z_) zz += z * z;
    const double full = moves ? std::max(0.0, -sign * s / zz) : kUnbounded;
    double step = full;
    std::size_t block = active_.size();
    bool high = false;
    for (std::size_t j = 0; j < active_.size(); ++j) {
      const Bound& a = bounds_[active_[j]];
      const double rate = sign * r_[j];
      if (a.equal) continue;
      if (rate > kTiny && std::max(a.u, 0.0) / rate < step) {
        step = std::max(a.u, 0.0) / rate;
        block = j;
        high = false;
      } else if (rate < -kTiny && std::max(a.cap - a.u, 0.0) / -rate < step) {
        step = std::max(a.cap - a.u, 0.0) / -rate;
        block = j;
        high = true;
      }
    }
    const double own = up ? b.cap - b.u : b.u;
    const bool ends = own < step;
    if (ends) step = own;
    if (step == kUnbounded) return false;
    if (moves)
      for (std::size_t t = 0; t < free_.size(); ++t) x_[t] += sign * step * z_[t];
    for (std::size_t j = 0; j < active_.size(); ++j) bounds_[active_[j]].u -= sign * step * r_[j];
    b.u += sign * step;
    if (ends) {
      b.state = up ? 2 : 0;
      b.u = up ? b.cap : 0;
      return true;
    }
    if (block < active_.size()) {
      Bound& a = bounds_[active_[block]];
      a.state = high ? 2 : 0;
      a.u = high ? a.cap : 0;
      active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(block));
      continue;
    }
    b.state = 1;
    active_.push_back(p);
    return true;
  }
}

// The point again from its active bounds alone, free of the rounding of the steps that led to it.
void SquaredLoss::polish() {
  const std::size_t n = free_.size(), k = active_.size();
  if (k == 0) return;
  rhs_ = start_;
  for (std::size_t p = 0; p < used_; ++p)
    if (bounds_[p].state == 2)
      for (std::size_t t = 0; t < n; ++t) rhs_[t] += bounds_[p].cap * bounds_[p].g[t];
  for (int round = 0; round < 2; ++round) {
    std::vector<double> miss(k);
    for (std::size_t i = 0; i < k; ++i) {
      miss[i] = bounds_[active_[i]].c;
      for (std::size_t t = 0; t < n; ++t) miss[i] -= bounds_[active_[i]].g[t] * rhs_[t];
    }
    direction(bounds_[active_[0]].g);  // for the factor of the Gram matrix
    for (std::size_t i = 0; i < k; ++i) {
      for (std::size_t l = 0; l < i; ++l) miss[i] -= gram_[i * k + l] * miss[l];
      miss[i] /= gram_[i * k + i];
    }
    for (std::size_t i = k; i-- > 0;) {
      for (std::size_t l = i + 1; l < k; ++l) miss[i] -= gram_[l * k + i] * miss[l];
      miss[i] /= gram_[i * k + i];
    }
    for (std::size_t i = 0; i < k; ++i)
      for (std::size_t t = 0; t < n; ++t) rhs_[t] += miss[i] * bounds_[active_[i]].g[t];
  }
  x_ = rhs_;
}

bool SquaredLoss::program(double limit, double fixed) {
  const std::size_t n = free_.size();
  x_ = start_;
  active_.clear();
  double scale = 0;
  for (double s : start_) scale = std::max(scale, std::fabs(s));
  for (std::size_t p = 0; p < used_; ++p) scale = std::max(scale, std::fabs(bounds_[p].c));
  double slack = 1e-12;
  for (std::size_t p = 0; p < used_; ++p) {
    Bound& b = bounds_[p];
    if (!b.equal) continue;
    double s = -b.c;
    for (std::size_t t = 0; t < n; ++t) s += b.g[t] * x_[t];
    if (s > 0) {
      for (double& g : b.g) g = -g;
      b.c = -b.c;
      s = -s;
    }
    if (!direction(b.g)) {
      if (s < -1e-10 * (1 + scale + std::fabs(b.c))) return false;
      continue;
    }
    if (!enter(p, true)) return false;
  }
  for (int round = 0;; ++round) {
    // Rounding can make bounds come and go; what they miss by then is let pass.
    if (round > 0 && round % 100 == 0) slack *= 10;
    if (round > 1000) throw std::runtime_error("a projection does not end");
    double apart = fixed;
    for (std::size_t t = 0; t < n; ++t) apart += (x_[t] - start_[t]) * (x_[t] - start_[t]);
    if (price_ == kUnbounded && apart >= limit) return false;
    std::size_t worst = used_;
    double most = 0;
    for (std::size_t p = 0; p < used_; ++p) {
      const Bound& b = bounds_[p];
      if (b.state == 1 || b.equal) continue;
      double s = -b.c;
      for (std::size_t t = 0; t < n; ++t) s += b.g[t] * x_[t];
      const double off = b.state == 0 ? -s : s;
      if (off > most && off > slack * (scale + std::fabs(b.c)) + 1e-300) {
        most = off;
        worst = p;
      }
    }
    if (worst == used_) break;
    if (!enter(worst, bounds_[worst].state == 0)) return false;
  }
  polish();
  return true;
}

double SquaredLoss::least(const OutputBox& box, const std::vector<const OutputRange*>& ranges,
                          double limit, double* output) {
  const std::size_t targets = weight_.size();
  if (!rows(box, ranges)) return kUnbounded;
  double fixed = 0;
  if (price_ == kUnbounded)
    for (std::size_t t = 0; t < targets; ++t)
      if (!(box.low[t] < box.high[t])) {
        output[t] = box.low[t];
        fixed += weight_[t] * (output[t] - goal_[t]) * (output[t] - goal_[t]);
      }
  if (fixed >= limit || !program(limit, fixed)) return kUnbounded;
  const std::size_t n = free_.size();
  double value = fixed;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t t = free_[i];
    double y = x_[i] / root_[i];
    if (price_ == kUnbounded) y = std::min(std::max(y, low_[t]), high_[t]);
    output[t] = y;
    value += weight_[t] * (y - goal_[t]) * (y - goal_[t]);
  }
  if (price_ < kUnbounded) {
    for (std::size_t p = 0; p < used_; ++p) {
      double s = -bounds_[p].c;
      for (std::size_t i = 0; i < n; ++i) s += bounds_[p].g[i] * output[free_[i]] * root_[i];
      if (s < 0) value -= 2 * bounds_[p].cap * s;
    }
  }
  return value < limit ? value : kUnbounded;
}

}  // namespace odt
