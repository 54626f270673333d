// Two searches of one problem: what they tell each other, and how they share one thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

#include "odt/plan.hpp"

namespace odt {

// The best tree that either has. Losses lack the loss model's offset.
template <class Value>
class SharedTree {
 public:
  explicit SharedTree(Value none) : value_(none) {}
  // False if there is one as good.
  bool offer(Value value, const Plan& plan) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (value >= value_.load(std::memory_order_relaxed)) return false;
    plan_ = plan;
    value_.store(value, std::memory_order_release);
    return true;
  }
  // Sets both if there is a tree below `value`.
  bool take(Value& value, Plan& plan) const {
    if (value_.load(std::memory_order_acquire) >= value) return false;
    std::lock_guard<std::mutex> lock(mutex_);
    value = value_.load(std::memory_order_relaxed);
    plan = plan_;
    return true;
  }

 private:
  mutable std::mutex mutex_;
  std::atomic<Value> value_;
  Plan plan_;
};

class SharedBest : public SharedTree<Loss> {
 public:
  SharedBest() : SharedTree(kInfinite) {}
};

// Takes turns by work done, not by time: so the same problem runs alike on any machine. Lane 1
// begins if it is to `lead` for some work, and lane 0 otherwise, with its `first` turn in both
// cases; the next turn of lane 1 is longer by `head`. Turns begin as `part` of what they are later.
class Turns {
 public:
  Turns(std::uint64_t first, std::uint64_t slice0, std::uint64_t slice1, std::uint64_t head = 0,
        double part = 1, std::uint64_t lead = 0)
      : slice_{slice0, slice1},
        head_(head),
        first_(first),
        part_(part),
        until_(lead > 0 ? lead : first),
        turn_(lead > 0 ? 1 : 0),
        leading_(lead > 0) {}

  // The lane that leads runs in the calling thread: it calls `begin` before it first gives its turn
  // away, and `look` now and then while it waits for the next one.
  void lead_here(std::function<void()> begin, std::function<void()> look) {
    begin_ = std::move(begin);
    look_ = std::move(look);
  }
  // Waits for the first turn of a lane.
  void enter(int lane) {
    std::unique_lock<std::mutex> lock(mutex_);
    wait(lock, lane);
  }
  // Called by the lane whose turn it is.
  void step(int lane, std::uint64_t work) {
    if (work < until_.load(std::memory_order_relaxed) || alone_.load(std::memory_order_relaxed))
      return;
    std::unique_lock<std::mutex> lock(mutex_);
    if (lane == 0 && work < patience_ && !bounded_.load(std::memory_order_relaxed)) return;
    turn_ = 1 - lane;
    if (leading_) {
      leading_ = false;
      until_ = work + first_;
      if (begin_) begin_();
      hand_over(lock, lane);
      return;
    }
    // A lane that took more than its turn, in one long step, gives as much.
    const double times = closing_                         ? (turn_ == 0 ? kClosing : 1)
                         : bounded_ && turn_ == favoured_ ? times_
                                                          : 1;
    const auto slice =
        static_cast<std::uint64_t>(part_ * times * static_cast<double>(slice_[turn_]));
    if (turn_ == 1) part_ = std::min(1.0, 2 * part_);
    until_ =
        work + slice + (turn_ == 1 ? head_ : 0) + (work - until_.load(std::memory_order_relaxed));
    if (turn_ == 1) head_ = 0;
    hand_over(lock, lane);
  }
  // A lane gets so many times its turns from now on, but not before there is a bound.
  void favour(int lane, double times) {
    std::lock_guard<std::mutex> lock(mutex_);
    favoured_ = lane;
    times_ = times;
  }
  // The lane that leads does so until so much work is done in all.
  void keep(std::uint64_t work) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (leading_) until_ = std::max(until_.load(std::memory_order_relaxed), work);
  }
  // Lane 0 keeps its turn until so much work is done in all, or until it has a bound.
  void wait_for_bound(std::uint64_t work) { patience_ = work; }
  // Lane 0 has a bound.
  void bounded() { bounded_.store(true, std::memory_order_relaxed); }
  // Lane 0 has nearly closed the gap, and gets most of the turns from now on.
  void closing() { closing_.store(true, std::memory_order_relaxed); }
  // The other lane goes on alone.
  void leave() {
    std::lock_guard<std::mutex> lock(mutex_);
    alone_ = true;
    wake_.notify_all();
  }

 private:
  static constexpr double kClosing = 5;
  static constexpr std::chrono::milliseconds kLook{50};

  // Until it is the lane's turn again.
  void hand_over(std::unique_lock<std::mutex>& lock, int lane) {
    wake_.notify_all();
    wait(lock, lane);
  }
  void wait(std::unique_lock<std::mutex>& lock, int lane) {
    const auto ready = [&] { return alone_ || turn_ == lane; };
    if (lane == 0 || !look_) return wake_.wait(lock, ready);
    while (!wake_.wait_for(lock, kLook, ready)) {
      lock.unlock();
      look_();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::uint64_t slice_[2], head_, first_;
  std::uint64_t patience_ = 0;
  double times_ = 1, part_;
  std::atomic<std::uint64_t> until_;
  int turn_, favoured_ = 0;
  bool leading_;
  std::function<void()> begin_, look_;
  std::atomic<bool> alone_{false}, bounded_{false}, closing_{false};
};

}  // namespace odt
