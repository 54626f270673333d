// Two searches of one problem: what they tell each other, and how they share one thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <limits>
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
    look_here(1, std::move(look));
  }
  // The lane of the calling thread, and what it calls now and then while it waits.
  void look_here(int lane, std::function<void()> look) {
    looking_ = lane;
    look_ = std::move(look);
  }
  // Lane 0 goes on in the turns of lane 1: others do its work, and a processor is free for both.
  void share_processors() { waits_ = false; }
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
    if (lane != turn_) return;  // lane 0, which does not wait
    if (lane == 0 && work < patience_ && !bounded_.load(std::memory_order_relaxed)) return;
    turn_ = 1 - lane;
    if (leading_) {
      leading_ = false;
      until_ = work + first_;
      if (begin_) begin_();
      hand_over(lock, lane);
      return;
    }
    const double times = turn_ == 0 ? std::max(closing_, favoured_ == 0 && bounded_ ? times_ : 1)
                         : favoured_ == 1 && bounded_ && closing_ < kClosing ? times_
                                                                             : 1;
    const auto slice =
        static_cast<std::uint64_t>(part_ * times * static_cast<double>(slice_[turn_]));
    if (turn_ == 1) part_ = std::min(1.0, 2 * part_);
    // A lane that took more than its turn, in one long step, gives as much.
    const std::uint64_t until = until_.load(std::memory_order_relaxed);
    until_ = work + slice + (turn_ == 1 ? head_ : 0) + (until > 0 ? work - until : 0);
    if (turn_ == 1) head_ = 0;
    hand_over(lock, lane);
  }
  // A lane gets so many times its turns from now on, but not before there is a bound.
  void favour(int lane, double times) {
    std::lock_guard<std::mutex> lock(mutex_);
    favoured_ = lane;
    times_ = times;
  }
  // Lane 1 did work of `now`, and found its best tree at `improved`: the longer ago, the less it
  // gets; the larger `power`, the sooner. Lane 0 gets at least `least` times its turns.
  void favour_proof(std::uint64_t now, std::uint64_t improved, double least = 1, double power = 1) {
    const double times = static_cast<double>(now) / (1.3 * static_cast<double>(improved + 1));
    favour(0, std::clamp(std::pow(times, power), least, kMost));
  }
  // The lane that leads does so until so much work is done in all.
  void keep(std::uint64_t work) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (leading_) until_ = std::max(until_.load(std::memory_order_relaxed), work);
  }
  // Lane 0 keeps its turn until so much work is done in all, or until it has a bound.
  void wait_for_bound(std::uint64_t work) { patience_ = work; }
  // Either lane has a tree of this value.
  void found(double value) {
    std::lock_guard<std::mutex> lock(mutex_);
    value_ = std::min(value_, value);
    share();
  }
  // Lane 0 has proven that no tree is better than this.
  void proven(double bound) {
    bounded_.store(true, std::memory_order_relaxed);
    std::lock_guard<std::mutex> lock(mutex_);
    bound_ = std::max(bound_, bound);
    share();
  }
  // The other lane goes on alone.
  void leave() {
    std::lock_guard<std::mutex> lock(mutex_);
    alone_ = true;
    wake_.notify_all();
  }

 private:
  static constexpr double kClosing = 4, kMost = 20;
  static constexpr std::chrono::milliseconds kLook{50};

  // A proof that has come far needs the rest of the work more than a search for trees does.
  void share() {
    if (!(value_ > 0 && bound_ > 0) || std::isinf(value_)) return;
    const double left = 1 - bound_ / value_;
    const bool closed = closing_ < kClosing;
    closing_ = std::max(closing_, left > 1 / kMost ? 1 / left : kMost);
    if (closing_ < kClosing || !closed || turn_ != 1 || leading_) return;
    head_ = 0;
    until_ = 0;  // the turn is over
  }

  // Until it is the lane's turn again.
  void hand_over(std::unique_lock<std::mutex>& lock, int lane) {
    wake_.notify_all();
    if (lane == 1 || waits_) wait(lock, lane);
  }
  void wait(std::unique_lock<std::mutex>& lock, int lane) {
    const auto ready = [&] { return alone_ || turn_ == lane; };
    if (lane != looking_) return wake_.wait(lock, ready);
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
  double times_ = 1, part_, closing_ = 1;
  double value_ = std::numeric_limits<double>::infinity(), bound_ = 0;
  std::atomic<std::uint64_t> until_;
  int turn_, favoured_ = 0, looking_ = -1;
  bool leading_, waits_ = true;
  std::function<void()> begin_, look_;
  std::atomic<bool> alone_{false}, bounded_{false};
};

}  // namespace odt
