// The best tree known under rules, and what is proven of all others.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <utility>

#include "odt/control.hpp"
#include "odt/problem.hpp"

namespace odt {

// The proof and the anytime search beside it share it.
class RuledBest {
 public:
  // `largest`: no tree has a larger objective. A bound above it proves that none keeps the rules.
  RuledBest(const Control& control, Result& result, Loss offset, Loss largest)
      : control_(control),
        result_(result),
        offset_(offset),
        value_(std::min(control.options().upper_bound, largest) + 1) {
    result_.bound = -kInfinite;
  }

  Loss value() const { return value_; }
  Loss bound() const { return bound_; }
  // Only trees of a lower objective are searched for: the best known's less the gap that is
  // allowed.
  Loss cutoff() const {
    const double gap = std::min(control_.options().relative_gap, 1.0);
    const Loss value = value_;
    if (gap <= 0 || !found_) return value;
    return value - static_cast<Loss>(
                       gap * std::abs(static_cast<double>(value) + static_cast<double>(offset_)));
  }
  bool done() const { return bound_ >= cutoff(); }

  template <class Build>
  void offer(Loss value, Build build) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (value >= value_) return;
    result_.tree = build();
    result_.value = value;
    value_ = value;
    found_ = true;
    if (bound_ > value) result_.bound = bound_ = value;
    if (control_.turns) control_.turns->found(static_cast<double>(value + offset_));
    control_.incumbent(result_.timeline, value, bound_, {nullptr, &result_.tree});
  }
  // Sets both if there is a tree below `value`.
  bool take(Loss& value, Tree& tree) const {
    if (!found_ || value_ >= value) return false;
    std::lock_guard<std::mutex> lock(mutex_);
    value = value_;
    tree = result_.tree;
    return true;
  }
  // No tree is better than this.
  void raise(Loss bound, bool tell = true) {
    std::lock_guard<std::mutex> lock(mutex_);
    bound = std::min<Loss>(bound, value_);
    if (bound <= bound_) return;
    result_.bound = bound_ = bound;
    if (control_.turns) control_.turns->proven(static_cast<double>(bound + offset_));
    if (tell && found_ && bound < value_) control_.incumbent(result_.timeline, value_, bound, {});
  }

 private:
  const Control& control_;
  Result& result_;
  Loss offset_;
  mutable std::mutex mutex_;
  std::atomic<Loss> value_, bound_{-kInfinite};
  std::atomic<bool> found_{false};
};

}  // namespace odt
