// What of a node's trees is known: those found, in order, and bounds on all others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "odt/interval.hpp"

namespace odt {

struct Step {  // of a path
  std::size_t feature;
  std::uint32_t bound;  // ranks below it go left
  bool left;
  bool operator==(const Step& o) const {
    return feature == o.feature && bound == o.bound && left == o.left;
  }
};

struct TreeStream {
  // Trees that are still to come. Of a leaf `which` is the label; of a stump the feature, with the
  // labels of both sides; of a cut or pair the split, and the places of a pair's trees in the
  // streams of both sides.
  enum class Kind : std::uint8_t { leaf, stump, pair, cut, interval };
  struct Item {
    Loss key;  // no tree of it weighs less
    Kind kind;
    std::uint32_t which, bound, i, j;
    bool operator<(const Item& o) const { return key > o.key; }  // the least is on top of a heap
  };
  struct Tree {
    Loss weighted;
    Kind kind;
    std::uint32_t which, bound, i, j;
  };
  struct Split {
    std::size_t feature;
    std::uint32_t bound;
    Loss price;
    Loss least[2];
    TreeStream* side[2];
  };
  struct Cuts {
    std::size_t feature;
    Interval interval;
  };

  std::vector<std::uint32_t> rows;
  std::vector<Step> path;  // one that leads here
  int depth, state;
  int leaves;  // of each tree; 0: any number
  Loss floor;  // no tree weighs less, as long as it is closed
  bool open = false;
  // Stumps are kept up to a weight, beyond which there is none below another.
  Loss scanned = -kInfinite, beyond = kInfinite;
  std::vector<Loss> sums;  // of the rows
  std::vector<Item> heap;
  std::vector<Tree> found;
  std::vector<Split> splits;
  std::vector<Cuts> intervals;

  int level() const { return static_cast<int>(path.size()); }
  void push(const Item& item) {
    heap.push_back(item);
    std::push_heap(heap.begin(), heap.end());
  }
  Item pop() {
    std::pop_heap(heap.begin(), heap.end());
    const Item item = heap.back();
    heap.pop_back();
    return item;
  }
  // What the tree of a rank weighs at least; kInfinite if there is none.
  Loss least(std::size_t rank) const {
    if (rank < found.size()) return found[rank].weighted;
    if (!open) return floor;
    return std::min(beyond, heap.empty() ? kInfinite : heap.front().key);
  }
};

}  // namespace odt
