// The anytime search beside the search under rules. With one thread they take turns; the proof
// begins.
#pragma once

#include <exception>
#include <thread>

#include "odt/counters.hpp"
#include "odt/ruled_best.hpp"
#include "odt/ruled.hpp"

namespace odt {

class RuledPartner {
 public:
  RuledPartner(const RuledProblem& p, Control& control, RuledBest& best);
  ~RuledPartner() { join(); }
  RuledPartner(const RuledPartner&) = delete;
  RuledPartner& operator=(const RuledPartner&) = delete;

  // Waits for its end, which is soon; what it counted.
  const Counters& end();

 private:
  // Of polled work: some hundredths of a second. Four of these go to the proof, and one to the
  // other search: at depth 5 and more, where proofs are far, the other way round.
  static constexpr std::uint64_t kSlice = 5000000;

  void run();
  void join();

  const RuledProblem& p_;
  Control& control_;
  RuledBest& best_;
  Turns turns_;
  Counters counters_;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace odt
