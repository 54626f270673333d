// Answers of depth-two problems by their rows, so that a set of rows that two orders of features
// lead to is searched once.
//
// The rows of a node are those of a box: per feature tested on the path a range of ranks, drawn
// in to the rows inside. Equal boxes over the same features hold equal rows, whichever way led to
// them, so keys are compared whole and nothing rests on a hash. An answer that falls on another's
// place takes it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "odt/plan.hpp"

namespace odt {

class BoxCache {
 public:
  static constexpr std::size_t kMostFeatures = 3;
  struct Range {
    std::uint32_t feature = ~0u, low = 0, high = 0;
    bool operator==(const Range& o) const {
      return feature == o.feature && low == o.low && high == o.high;
    }
    bool operator<(const Range& o) const { return feature < o.feature; }
  };
  // Sorted by feature; those not used are alike.
  struct Box {
    std::array<Range, kMostFeatures> ranges;
    std::int32_t state = 0;  // of the path
    bool operator==(const Box& o) const { return ranges == o.ranges && state == o.state; }
  };
  struct Answer {
    Loss bound = 0;  // no tree loses less
    bool known = false, exact = false;
    Hint split;          // the first one of the best tree, if it has one above stumps
    bool stump = false;  // without one: a stump is best, not a leaf
    Plan plan() const {
      if (split.feature >= 0)
        return Plan::split(split.feature, split.bound, Plan::stump(), Plan::stump());
      return stump ? Plan::stump() : Plan::leaf();
    }
  };

  // Never holds more than `bytes`, also while it grows; nothing if they are too few.
  explicit BoxCache(std::size_t bytes) {
    while (most_ >= kFewest && (most_ + most_ / 2) * sizeof(Entry) > bytes) most_ /= 2;
    if (most_ < kFewest) most_ = 0;
  }

  bool off() const { return most_ == 0; }
  std::size_t size() const { return used_; }

  const Answer* find(const Box& box) const {
    if (entries_.empty()) return nullptr;
    const Entry& entry = entries_[place(box)];
    return entry.answer.known && entry.box == box ? &entry.answer : nullptr;
  }

  static Answer answer_of(const Outcome& out) {
    Answer answer{out.value, true, out.exact, {}, false};
    if (out.plan.empty()) return answer;
    const PlanNode& root = out.plan.nodes[0];
    answer.split = {root.feature, root.bound};
    answer.stump = root.stump;
    return answer;
  }

  void store(const Box& box, const Outcome& out) { store(box, answer_of(out)); }
  void store(const Box& box, const Answer& answer) {
    if (off()) return;
    Entry& entry = room_for(box);
    entry.box = box;
    entry.answer = answer;
  }

  // All that another one holds, which is empty then.
  void take(BoxCache& other) {
    for (const Entry& entry : other.entries_)
      if (entry.answer.known && !off()) room_for(entry.box) = entry;
    other.entries_.clear();
    other.used_ = 0;
  }

 private:
  struct Entry {
    Box box;
    Answer answer;
  };
  static constexpr std::size_t kFewest = std::size_t{1} << 10;

  Entry& room_for(const Box& box) {
    if (2 * used_ >= entries_.size() && entries_.size() < most_) grow();
    Entry& entry = entries_[place(box)];
    used_ += !entry.answer.known;
    return entry;
  }

  std::size_t place(const Box& box) const {
    std::uint64_t mixed = static_cast<std::uint64_t>(box.state);
    for (const Range& r : box.ranges)
      for (const std::uint32_t word : {r.feature, r.low, r.high})
        mixed = (mixed ^ word) * 0x9e3779b97f4a7c15ULL, mixed ^= mixed >> 29;
    return static_cast<std::size_t>(mixed) & (entries_.size() - 1);
  }

  void grow() {
    std::vector<Entry> old(entries_.empty() ? kFewest : 2 * entries_.size());
    old.swap(entries_);
    used_ = 0;
    for (const Entry& entry : old) {
      if (!entry.answer.known) continue;
      Entry& to = entries_[place(entry.box)];
      used_ += !to.answer.known;
      to = entry;
    }
  }

  std::size_t most_ = std::size_t{1} << 20, used_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace odt
