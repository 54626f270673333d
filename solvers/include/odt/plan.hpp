// A tree as the search holds it: splits down to the stumps, whose own splits and labels are found
// again at the end.
#pragma once

#include <cstdint>
#include <vector>

#include "odt/problem.hpp"

namespace odt {

// What a subtree may look like. A tree of depth d has at most 2^d leaves.
struct Shape {
  int depth;
  int leaves;
};
inline int full_leaves(int depth) { return depth >= 30 ? 1 << 30 : 1 << depth; }
inline Shape shape(int depth, int leaves) {
  const int most = full_leaves(depth);
  return {depth, leaves < most ? leaves : most};
}

// What is asked of a sub-tree beside its shape.
struct Ask {
  std::int32_t least;  // rows that each leaf must hold
  bool must;           // some split must test the problem's column
  int state;           // of the path above
  Ask(std::int32_t least_rows = 1, bool must_test = false, int path = 0)
      : least(least_rows), must(must_test), state(path) {}
  // The same without what the subset bound does not survive.
  Ask relaxed() const { return {1, false, state}; }
};

struct PlanNode {
  int feature = -1;         // -1: the best leaf or, if `stump`, the best split of depth one
  std::uint32_t bound = 0;  // ranks below it go left
  int left = -1, right = -1;
  bool stump = false;
  bool must = false;  // of a stump: it tests the column that must be tested
};

struct Plan {
  std::vector<PlanNode> nodes;  // the root is node 0; empty: none

  static Plan leaf() { return {{PlanNode{}}}; }
  static Plan stump(bool must = false) {
    PlanNode node;
    node.stump = true;
    node.must = must;
    return {{node}};
  }
  static Plan split(int feature, std::uint32_t bound, const Plan& left, const Plan& right) {
    Plan plan;
    plan.nodes.reserve(1 + left.nodes.size() + right.nodes.size());
    PlanNode root;
    root.feature = feature;
    root.bound = bound;
    root.left = 1;
    root.right = 1 + static_cast<int>(left.nodes.size());
    plan.nodes.push_back(root);
    plan.append(left);
    plan.append(right);
    return plan;
  }
  bool empty() const { return nodes.empty(); }

 private:
  void append(const Plan& other) {
    const int base = static_cast<int>(nodes.size());
    for (PlanNode node : other.nodes) {
      if (node.left >= 0) node.left += base;
      if (node.right >= 0) node.right += base;
      nodes.push_back(node);
    }
  }
};

// An answer to a sub-problem under an upper bound: exact if below it, else a lower bound that is at
// least the upper.
struct Outcome {
  Loss value = 0;
  bool exact = false;
  Plan plan;
};

// Where a neighbouring sub-problem had its best first split.
struct Hint {
  int feature = -1;
  std::uint32_t bound = 0;
};

}  // namespace odt
