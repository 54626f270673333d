// What rows lose to their median, as rows are taken from them: a list that is linked by target,
// whose median moves by few steps each time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace odt {

class MedianChain {
 public:
  void clear() { link_.clear(); }
  // A target, its weight, and their product; by rising target. Its place is the number of those
  // before it.
  void push(double target, double weight, double sum) {
    link_.push_back({target, weight, sum, 0, 0});
  }
  void close() {
    end_ = static_cast<std::uint32_t>(link_.size());
    push(0, 0, 0);
  }
  // All that were pushed between `clear` and `close` are in the list.
  void begin() {
    all_w_ = all_s_ = low_w_ = low_s_ = 0;
    for (std::uint32_t k = 0; k <= end_; ++k) {
      link_[k].next = k == end_ ? 0 : k + 1;
      link_[k].before = k == 0 ? end_ : k - 1;
      all_w_ += link_[k].w;
      all_s_ += link_[k].s;
    }
    median_ = 0;
    settle();
  }
  // Never the last one.
  void remove(std::uint32_t place) {
    const Link& of = link_[place];
    link_[of.before].next = of.next;
    link_[of.next].before = of.before;
    all_w_ -= of.w;
    all_s_ -= of.s;
    if (place != median_) {
      if (place < median_) {
        low_w_ -= of.w;
        low_s_ -= of.s;
      }
    } else if (of.next != end_) {
      median_ = of.next;
    } else {
      down();
    }
    settle();
  }
  double loss() const {
    const Link& at = link_[median_];
    return std::max(
        0.0, at.y * low_w_ - low_s_ + (all_s_ - low_s_ - at.s) - at.y * (all_w_ - low_w_ - at.w));
  }

 private:
  struct Link {
    double y, w, s;
    std::uint32_t next, before;
  };
  void down() {
    median_ = link_[median_].before;
    low_w_ -= link_[median_].w;
    low_s_ -= link_[median_].s;
  }
  void settle() {
    while (2 * low_w_ > all_w_ && link_[median_].before != end_) down();
    while (2 * (low_w_ + link_[median_].w) < all_w_ && link_[median_].next != end_) {
      low_w_ += link_[median_].w;
      low_s_ += link_[median_].s;
      median_ = link_[median_].next;
    }
  }

  std::vector<Link> link_;  // the end is the last one
  std::uint32_t median_ = 0, end_ = 0;
  double all_w_ = 0, all_s_ = 0, low_w_ = 0, low_s_ = 0;  // of the list, and before the median
};

}  // namespace odt
