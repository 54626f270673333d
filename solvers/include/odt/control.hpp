// Limits, interrupts and the incumbent's story. Search code polls; a limit unwinds as an exception
// that the root catches, so that no level in between needs to carry a flag.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>

#include "odt/beside.hpp"
#include "odt/problem.hpp"

namespace odt {

class ProofLog;

struct Stop {};

// How often searches look at the clock and for an interrupt. A test sets a small `work` and asks
// for `counted`: a search then looks often, each look is a second of its clock, and every place
// where it may stop can be met on purpose.
struct Looks {
  static constexpr std::uint64_t kUsual = 200000;
  static inline std::atomic<std::uint64_t> work{kUsual};
  static inline std::atomic<bool> counted{false};
};

class Control {
 public:
  explicit Control(const Options& options)
      : options_(options), start_(Clock::now()), next_look_(Looks::work.load()) {}

  double seconds() const {
    if (Looks::counted.load(std::memory_order_relaxed))
      return static_cast<double>(looks_.load(std::memory_order_relaxed));
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }

  // `work` is a rough count of row visits; the clock is read once in a while only.
  void poll(std::uint64_t work) {
    own_work() += work;
    const std::uint64_t done = work_.fetch_add(work, std::memory_order_relaxed) + work;
    if (options_.outer) options_.outer->work_.fetch_add(work, std::memory_order_relaxed);
    if (lane() == 1) {
      Control& told = options_.outer ? *options_.outer : *this;
      told.beside_.fetch_add(work, std::memory_order_release);
    }
    if (done < next_look_.load(std::memory_order_relaxed)) {
      if (stopped_.load(std::memory_order_relaxed)) throw Stop{};
      return;
    }
    next_look_.store(done + Looks::work.load(std::memory_order_relaxed), std::memory_order_relaxed);
    check();
  }

  // All work polled so far. With one thread the same problem does the same work, on any machine.
  std::uint64_t work() const { return work_.load(std::memory_order_relaxed); }
  // The same without that of the search beside.
  std::uint64_t proof_work() const {
    const std::uint64_t beside = beside_.load(std::memory_order_acquire);  // first: never above
    return work() - beside;
  }
  // That of the calling thread, in all searches.
  static std::uint64_t& own_work() {
    thread_local std::uint64_t done = 0;
    return done;
  }

  void check();
  // Asks for an interrupt, also while the calling thread waits for others, which stop then. Only
  // that thread may touch the interpreter.
  void look() {
    if (options_.interrupted && on_main_thread() && options_.interrupted()) stopped_ = true;
  }

  // A first tree is grown in any case, unless that takes `kGrace` seconds beyond the limit.
  static constexpr double kGrace = 5;
  void grow_first(bool growing) { grace_.store(growing ? kGrace : 0, std::memory_order_relaxed); }

  // A search that runs beside this one, and which of the two the calling thread belongs to.
  SharedBest* shared = nullptr;
  ProofLog* log = nullptr;  // where bounds are written down for a certificate
  Turns* turns = nullptr;
  static int& lane() {
    thread_local int number = 0;
    return number;
  }

  void stop() { stopped_ = true; }
  bool stopped() const { return stopped_; }

  // The least bound that is close enough to a value to end; both lack `offset`.
  Loss cutoff(Loss value, Loss offset = 0) const {
    const Loss relative =
        options_.relative_gap > 0
            ? static_cast<Loss>(options_.relative_gap * static_cast<double>(value + offset))
            : 0;
    return value - std::max<Loss>(0, std::max(options_.absolute_gap, relative));
  }
  // Gap between incumbent and bound small enough to end.
  bool close_enough(Loss value, Loss bound, Loss offset = 0) const {
    return value < kInfinite && bound >= cutoff(value, offset);
  }

  void incumbent(std::vector<Incumbent>& timeline, Loss value, Loss bound,
                 const Found& found) const;

  // A better bound for the last incumbent; told a few times a second.
  void bound(std::vector<Incumbent>& timeline, Loss bound);

  // Tells now, or at the first look that is not too soon after the one before: of several, the
  // last.
  void tell_soon(std::function<void()> tell);

  const Options& options() const { return options_; }

 private:
  using Clock = std::chrono::steady_clock;
  static bool& main_flag() {
    thread_local bool worker = false;
    return worker;
  }
  static bool on_main_thread() { return !main_flag(); }

 public:
  static void mark_worker() { main_flag() = true; }

 private:
  const Options& options_;
  Clock::time_point start_;
  void tell_withheld();

  double told_ = 0;
  std::function<void()> withheld_;
  std::atomic<bool> withholds_{false};
  std::mutex withholding_;
  mutable std::mutex telling_;
  std::atomic<std::uint64_t> work_{0}, beside_{0}, looks_{0}, next_look_;
  std::atomic<bool> stopped_{false};
  std::atomic<double> grace_{0};
};

}  // namespace odt
