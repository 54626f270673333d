// The answers of depth two that a search remembers.
#pragma once

#include "odt/near_boxes.hpp"

namespace odt {

struct Memory {
  explicit Memory(std::size_t bytes) : boxes(bytes), near(bytes / 2) {}
  BoxCache boxes;
  NearBoxes near;

  // All that another one holds, which is empty then.
  void take(Memory& other) {
    boxes.take(other.boxes);
    near.take(other.near);
  }
};

}  // namespace odt
