#include "odt/ruled_partner.hpp"

#include <chrono>

#include "odt/ruled_anytime.hpp"

namespace odt {

RuledPartner::RuledPartner(const RuledProblem& p, Control& control, RuledBest& best)
    : p_(p),
      control_(control),
      best_(best),
      turns_(control.options().alone, p.base.depth >= 5 ? kSlice : 4 * kSlice,
             p.base.depth >= 5 ? 4 * kSlice : kSlice) {
  if (!control.options().beside || p.base.depth < 2) return;
  if (control.options().threads == 1) control_.turns = &turns_;
  thread_ = std::thread([this] { run(); });
}

const Counters& RuledPartner::end() {
  join();
  if (failure_) std::rethrow_exception(failure_);
  return counters_;
}

void RuledPartner::join() {
  if (!thread_.joinable()) return;
  control_.stop();
  turns_.leave();
  thread_.join();
  control_.turns = nullptr;
}

void RuledPartner::run() {
  Control::mark_worker();
  Control::lane() = 1;
  try {
    if (control_.turns)
      turns_.enter(1);
    else
      while (control_.work() < control_.options().alone && !control_.stopped())
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    control_.check();
    improve_ruled(p_, control_.options().start, control_, counters_, best_);
  } catch (const Stop&) {
  } catch (...) {
    failure_ = std::current_exception();
    control_.stop();
  }
  turns_.leave();
}

}  // namespace odt
