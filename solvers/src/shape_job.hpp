// What is left of the search of one shape. Of diagrams.cpp only.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "diagram_probes.hpp"
#include "odt/diagrams.hpp"

namespace odt {

// The choices of a shape's root that are left, and the best diagram so far. Threads may work on
// them at once, and a search that a limit ends may be taken up where it was. A thread works by a
// `Search` of its own.
template <class Choice, class Search>
class ShapeJob {
 public:
  explicit ShapeJob(Loss below) : asked(below), below_(below) {}

  const Loss asked;  // only diagrams that lose less are looked for

  // The same by now, as better ones were found here or elsewhere.
  Loss below() const { return below_.load(std::memory_order_relaxed); }
  void lower(Loss below) {
    Loss known = this->below();
    while (below < known && !below_.compare_exchange_weak(known, below)) continue;
  }

  // Whether this diagram is the best so far.
  bool keep(Loss value, const Layers& layers) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (value >= below()) return false;
    lower(value);
    value_ = value;
    layers_ = layers;
    return true;
  }

  bool done() const { return done_.load(std::memory_order_relaxed); }

  // Nothing is left: what asks again is answered at once.
  void end() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (busy_ > 0) return;  // others are to learn it
    std::vector<Choice>().swap(choices_);
    groups_.emplace(choices_);
    idle_.clear();
    done_ = true;
  }

  // One that an earlier call left, with what it knows; `make` makes another.
  template <class Make>
  std::unique_ptr<Search> taken(const Make& make) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (idle_.empty()) {
      lock.unlock();
      return make();
    }
    std::unique_ptr<Search> search = std::move(idle_.back());
    idle_.pop_back();
    return search;
  }
  void leave(std::unique_ptr<Search> search) {
    const std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back(std::move(search));
  }

  void tell(LayeredAnswer& answer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    answer.value = value_;
    answer.layers = layers_;
    if (groups_ && busy_ == 0)
      answer.bound = std::max(answer.bound, std::min(below(), groups_->least()));
  }

  // Until nothing is left: `look` finds the choices, `holds` says of several whether any of them
  // may have a diagram, `follow` takes one. What is cut short by an exception is left. `enough` is
  // asked before each, and while other threads have the rest. Whether nothing is left.
  template <class Look, class Holds, class Follow, class Enough>
  bool run(const Look& look, const Holds& holds, const Follow& follow, const Enough& enough) {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      const Loss below = this->below();  // once, as others may lower it without the lock
      if (!groups_ && busy_ == 0) {
        std::vector<Choice> found;
        work(lock, [&] { found = look(); }, [] {});
        choices_ = std::move(found);
        groups_.emplace(choices_);
      } else if (busy_ == 0 && !groups_->left(below)) {
        return true;
      } else if (enough()) {
        return false;
      } else if (groups_ && groups_->left(below)) {
        const auto [lo, hi] = groups_->next(below);
        const Choice *first = lo, *last = hi;
        bool open = false;
        const auto take = [&] {
          if (first == last)
            follow(*first);
          else
            open = holds(*first, *last);
        };
        work(lock, take, [&] { groups_->put(first, last); });
        if (open) groups_->part(first, last);
      } else {
        changed_.wait_for(lock, std::chrono::milliseconds(2));
      }
    }
  }

 private:
  template <class Do, class Undo>
  void work(std::unique_lock<std::mutex>& lock, const Do& act, const Undo& undo) {
    ++busy_;
    lock.unlock();
    try {
      act();
    } catch (...) {
      lock.lock();
      --busy_;
      undo();
      changed_.notify_all();
      throw;
    }
    lock.lock();
    --busy_;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<Loss> below_;
  std::atomic<bool> done_{false};
  Loss value_ = kInfinite;
  Layers layers_;
  std::vector<Choice> choices_;
  std::optional<ChoiceGroups<Choice>> groups_;  // of `choices_`
  std::vector<std::unique_ptr<Search>> idle_;
  int busy_ = 0;  // threads that look for choices or have some
};

}  // namespace odt
