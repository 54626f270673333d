#include "odt/control.hpp"

#include <algorithm>

namespace odt {

void Control::check() {
  looks_.fetch_add(1, std::memory_order_relaxed);
  if (options_.time_limit >= 0 &&
      seconds() > options_.time_limit + grace_.load(std::memory_order_relaxed))
    stopped_ = true;
  if (options_.work_limit > 0 && work() > options_.work_limit) stopped_ = true;
  look();
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
  const double now = seconds();
  std::lock_guard<std::mutex> lock(telling_);
  if (timeline.empty() || bound <= timeline.back().bound || now < told_ + 0.2) return;
  told_ = now;
  timeline.push_back({now, timeline.back().value, bound});
  if (options_.progress) options_.progress(timeline.back(), {});
}

}  // namespace odt
