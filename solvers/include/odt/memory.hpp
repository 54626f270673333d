// The answers of depth two that a search remembers.
#pragma once

#include <vector>

#include "odt/near_boxes.hpp"

namespace odt {

// An answer that another process may know too, without its cuts: they are far larger.
struct Learnt {
  // As many go with a task, either way: not more than is sent in little of its time.
  static constexpr std::size_t kMost = 4000;

  BoxCache::Box box;
  Loss load;  // what the rows can lose at most
  BoxCache::Answer answer;
};

struct Memory {
  explicit Memory(std::size_t bytes) : boxes(bytes), near(bytes / 2) {}
  BoxCache boxes;
  NearBoxes near;
  std::vector<Learnt>* learnt = nullptr;  // where answers are written down as well

  void store(const BoxCache::Box& box, Loss load, const Outcome& out, KnownCuts&& cuts) {
    near.store(box, load, out.value, std::move(cuts));
    boxes.store(box, out);
    if (learnt && learnt->size() < Learnt::kMost)
      learnt->push_back({box, load, BoxCache::answer_of(out)});
  }

  void learn(const Learnt& other) {
    const BoxCache::Answer* known = boxes.find(other.box);
    if (known && (known->exact || known->bound >= other.answer.bound)) return;
    near.store(other.box, other.load, other.answer.bound, {});
    boxes.store(other.box, other.answer);
  }

  // All that another one holds, which is empty then.
  void take(Memory& other) {
    boxes.take(other.boxes);
    near.take(other.near);
  }
};

}  // namespace odt
