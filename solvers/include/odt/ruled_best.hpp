// The best tree known under rules, and what is proven of all others.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "odt/control.hpp"
#include "odt/problem.hpp"

namespace odt {

class RuledBest {
 public:
  // `largest`: no tree has a larger objective. A bound above it proves that none keeps the rules.
  RuledBest(const Control& control, Result& result, Loss offset, Loss largest)
      : control_(control), result_(result), offset_(offset), value_(std::min(control.options().upper_bound, largest) + 1) {
    result_.bound = -kInfinite;
  }

  Loss value() const { return value_; }
  Loss bound() const { return result_.bound; }
  // Only trees of a lower objective are searched for: the best known's less the gap that is allowed.
  Loss cutoff() const {
    const double gap = control_.options().relative_gap;
    if (gap <= 0 || result_.tree.empty()) return value_;
    return value_ - static_cast<Loss>(gap * std::abs(static_cast<double>(value_) + static_cast<double>(offset_)));
  }
  bool done() const { return result_.bound >= cutoff(); }

  template <class Build>
  void offer(Loss value, Build build) {
    if (value >= value_) return;
    value_ = value;
    result_.tree = build();
    result_.value = value;
    result_.bound = std::min(result_.bound, value);
    control_.incumbent(result_.timeline, value, result_.bound);
  }
  // No tree is better than this.
  void raise(Loss bound, bool tell = true) {
    bound = std::min(bound, value_);
    if (bound <= result_.bound) return;
    result_.bound = bound;
    if (tell && !result_.tree.empty() && bound < value_) control_.incumbent(result_.timeline, value_, bound);
  }

 private:
  const Control& control_;
  Result& result_;
  Loss offset_;
  Loss value_;
};

}  // namespace odt
