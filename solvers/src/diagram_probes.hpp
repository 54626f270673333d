// Several cuts of a node at once: which are taken together, and when it pays to ask about them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "odt/problem.hpp"

namespace odt {

// The choices of a node by feature and ends of their arcs, in the order of their cuts; the most
// promising ones first. What is left of these may be parted in two.
template <class Choice>
class ChoiceGroups {
 public:
  explicit ChoiceGroups(std::vector<Choice>& choices) {
    const auto alike = [](const Choice& c) { return std::tuple(c.left, c.right, c.feature); };
    std::sort(choices.begin(), choices.end(), [alike](const Choice& a, const Choice& b) {
      return std::tuple(alike(a), a.cut) < std::tuple(alike(b), b.cut);
    });
    const Choice *from = choices.data(), *end = from + choices.size();
    for (const Choice* last = from; from != end; from = last) {
      while (last != end && alike(*last) == alike(*from)) ++last;
      put(from, last - 1);
    }
  }

  // Whether a choice with a bound below this one is left.
  bool left(Loss below) const { return least() < below; }
  Loss least() const { return groups_.empty() ? kInfinite : groups_.top().bound; }

  // The first and last such choice of the best group, which is taken out.
  std::pair<const Choice*, const Choice*> next(Loss below) {
    auto [bound, lo, hi] = groups_.top();
    groups_.pop();
    while (lo->bound >= below) ++lo;
    while (hi->bound >= below) --hi;
    return {lo, hi};
  }

  void part(const Choice* lo, const Choice* hi) {
    const Choice* mid = lo + (hi - lo) / 2;
    put(lo, mid);
    put(mid + 1, hi);
  }

  void put(const Choice* first, const Choice* last) {
    const auto least = std::min_element(
        first, last + 1, [](const Choice& a, const Choice& b) { return a.bound < b.bound; });
    groups_.push({least->bound, first, last});
  }

 private:
  struct Group {
    Loss bound;
    const Choice *first, *last;
    bool operator<(const Group& o) const {
      return bound != o.bound ? bound > o.bound : first < o.first;
    }
  };

  std::priority_queue<Group> groups_;
};

// Where probes seldom tell more than the choices one by one, they are asked seldom.
class ProbesThatPay {
 public:
  // Of choices so far apart.
  bool pays(std::ptrdiff_t apart) {
    if (apart < kFew) return false;
    if (asked_ >= 8 && 4 * closed_ < asked_ && ++passed_ % 16 != 0) return false;
    ++asked_;
    return true;
  }

  bool told(bool left_over) {
    closed_ += !left_over;
    return left_over;
  }

 private:
  static constexpr std::ptrdiff_t kFew = 3;  // as soon taken one by one
  std::size_t asked_ = 0, closed_ = 0, passed_ = 0;
};

// What choices take one by one.
class MeanWork {
 public:
  void add(std::uint64_t work) {
    sum_ += work;
    ++many_;
  }
  std::uint64_t mean(std::uint64_t unless_known) const {
    return many_ > 0 ? sum_ / many_ : unless_known;
  }

 private:
  std::uint64_t sum_ = 0, many_ = 0;
};

}  // namespace odt
