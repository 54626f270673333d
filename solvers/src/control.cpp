#include "odt/control.hpp"

#include <algorithm>
#include <utility>

namespace odt {

void Control::check() {
  looks_.fetch_add(1, std::memory_order_relaxed);
  if (options_.time_limit >= 0 &&
      seconds() > options_.time_limit + grace_.load(std::memory_order_relaxed))
    stopped_ = true;
  if (options_.work_limit > 0 && work() > options_.work_limit) stopped_ = true;
  look();
  if (withholds_) {
    std::lock_guard<std::mutex> lock(withholding_);
    tell_withheld();
  }
  if (options_.outer) options_.outer->check();
  if (stopped_) throw Stop{};
  if (turns) turns->step(lane(), work());
}

void Control::incumbent(std::vector<Incumbent>& timeline, Loss value, Loss bound,
                        const Found& found) const {
  std::lock_guard<std::mutex> lock(telling_);
  if (!timeline.empty() && (timeline.back().value < value ||
                            (timeline.back().value == value && timeline.back().bound >= bound)))
    return;
  bound = timeline.empty() ? bound : std::max(bound, timeline.back().bound);
  timeline.push_back({seconds(), value, bound});
  if (options_.progress) options_.progress(timeline.back(), found);
}

void Control::bound(std::vector<Incumbent>& timeline, Loss bound) {
  tell_soon([this, &timeline, bound] {
    std::lock_guard<std::mutex> lock(telling_);
    if (timeline.empty() || bound <= timeline.back().bound) return;
    timeline.push_back({seconds(), timeline.back().value, bound});
    if (options_.progress) options_.progress(timeline.back(), {});
  });
}

void Control::tell_soon(std::function<void()> tell) {
  std::lock_guard<std::mutex> lock(withholding_);
  withheld_ = std::move(tell);
  withholds_ = withheld_ != nullptr;
  tell_withheld();
}

void Control::tell_withheld() {
  constexpr double kSoon = 0.2;  // seconds
  if (!withheld_ || seconds() < told_ + kSoon) return;
  told_ = seconds();
  withholds_ = false;
  std::exchange(withheld_, nullptr)();
}

}  // namespace odt
