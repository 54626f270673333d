// The anytime search for number targets beside a proof, and what both tell.
#pragma once

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

#include "odt/control.hpp"
#include "odt/number_problem.hpp"

namespace odt {

// Incumbents and bounds as they are told, from whatever thread. Bounds are those of the proof
// alone.
class RealStory {
 public:
  RealStory(Control& control, const NumberOptions& options, std::vector<RealIncumbent>& timeline)
      : control_(control), options_(options), timeline_(timeline) {}
  ~RealStory() { control_.tell_soon(nullptr); }

  void better(double value, const Plan& plan) {
    std::lock_guard<std::mutex> lock(telling_);
    if (!(value < value_)) return;
    value_ = value;
    timeline_.push_back(now());
    if (control_.turns) control_.turns->found(value);
    if (options_.progress) options_.progress(now(), {&plan});
  }
  // Told a few times a second, where there is an incumbent.
  void higher(double bound) {
    {
      std::lock_guard<std::mutex> lock(telling_);
      bound_ = std::max(bound_, bound);
    }
    if (control_.turns) control_.turns->proven(bound);
    control_.tell_soon([this] {
      std::lock_guard<std::mutex> lock(telling_);
      if (!timeline_.empty() && options_.progress) options_.progress(now(), {});
    });
  }

 private:
  RealIncumbent now() const { return {control_.seconds(), value_, std::min(bound_, value_)}; }

  Control& control_;
  const NumberOptions& options_;
  std::vector<RealIncumbent>& timeline_;
  std::mutex telling_;
  double value_ = std::numeric_limits<double>::infinity(),
         bound_ = -std::numeric_limits<double>::infinity();
};

// With one thread the two searches take turns by work; the proof begins, so that what is proven at
// once is not held up.
class NumberBeside {
 public:
  // `medians`: the losses are absolute, of which less is looked at in a second.
  NumberBeside(Control& control, const NumberOptions& options, int depth, bool medians)
      : shared(std::numeric_limits<double>::infinity()),
        control_(control),
        options_(options),
        alone_(depth < 5 ? options.alone : options.alone / 4),
        turns_(alone_, depth < 5 ? 2 * kSlice : kSlice,
               (depth < 5 ? 1 : 4) * (medians ? 1 : kQuick) * kSlice) {}
  ~NumberBeside() { finish(); }

  // Whether trees are grown before a proof. Of depth one the best is as soon known.
  static bool grows(const NumberOptions& options, int depth) {
    return options.beside && depth >= 2 &&
           options.upper_bound == std::numeric_limits<double>::infinity();
  }
  // Trees of depth two are proven too soon.
  static bool suits(const NumberOptions& options, int depth) {
    return grows(options, depth) && depth >= 3;
  }

  // Whether a proof of so much work is through before the other search has its first turn.
  bool outlives(std::uint64_t work) const { return work < alone_; }

  // `improve` runs until Stop, or returns whether nothing is left to improve; else the proof goes
  // on alone.
  void start(std::function<bool()> improve) {
    turns_.look_here(0, [this] { control_.look(); });  // an interrupt need not wait for a turn
    if (options_.threads <= 1) control_.turns = &turns_;
    other_ = std::thread([this, improve = std::move(improve)] {
      Control::mark_worker();
      Control::lane() = 1;
      try {
        if (control_.turns)
          turns_.enter(1);
        else
          while (control_.work() < alone_ && !control_.stopped())
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        control_.check();
        if (improve()) control_.stop();
      } catch (const Stop&) {
      } catch (...) {
        failure_ = std::current_exception();
        control_.stop();
      }
      turns_.leave();
    });
  }
  // Ends the other search where it still runs.
  void finish() {
    if (!other_.joinable()) return;
    control_.stop();
    turns_.leave();
    other_.join();
    control_.turns = nullptr;
  }
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

  SharedTree<double> shared;

 private:
  static constexpr std::uint64_t kSlice = 4000000;  // of polled work: some hundredths of a second
  static constexpr std::uint64_t kQuick =
      3;  // the anytime search does so much more work in a second

  Control& control_;
  const NumberOptions& options_;
  const std::uint64_t alone_;  // a proof of depth five is seldom soon
  Turns turns_;
  std::thread other_;
  std::exception_ptr failure_;
};

}  // namespace odt
