// Bounds on the sub-trees on both sides of all tests of a node at once, by bit sets.
#pragma once

#include <memory>
#include <vector>

#include "odt/control.hpp"
#include "odt/dataset.hpp"
#include "odt/plan.hpp"

namespace odt {

struct Step {  // of a path
  std::size_t feature;
  std::uint32_t bound;  // ranks below it go left
  bool left;
  bool operator==(const Step& o) const {
    return feature == o.feature && bound == o.bound && left == o.left;
  }
};

// Losses of the best sub-trees behind each test, exact below the `upper` that was asked for.
struct BitSides {
  std::vector<Loss> pass, fail;  // per test of the problem
};

class BitBounds {
 public:
  virtual ~BitBounds() = default;
  // Nothing where bit sets do not suit the problem.
  static std::unique_ptr<BitBounds> make(const Dataset& data, Control& control);
  // Of sub-trees of this shape below the node that a path leads to.
  virtual BitSides sides(const std::vector<Step>& path, Shape shape, Loss upper) = 0;

  // The test that parts all rows as a cut does, or as its complement does.
  struct Same {
    int test = -1;
    bool swapped = false;
  };
  const Same& same(std::size_t feature, std::uint32_t bound) const {
    return same_[feature][bound - 1];
  }
  Loss side(const BitSides& of, const Same& test, bool left) const {
    return (left != test.swapped ? of.pass : of.fail)[static_cast<std::size_t>(test.test)];
  }

 protected:
  std::vector<std::vector<Same>> same_;  // [feature][bound - 1]
};

}  // namespace odt
