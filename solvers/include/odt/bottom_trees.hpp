// Trees of few levels as the searches that find them whole hand them over.
#pragma once

#include <cstdint>

#include "odt/problem.hpp"

namespace odt {

// A leaf (no feature), or a split of two leaves.
struct BottomSplit {
  int feature = -1;
  std::uint32_t bound = 0;  // ranks below it go left
  int label[2] = {-1, -1};  // a leaf has the first one only
  Loss lost[2] = {0, 0};    // without prices
};

// A split of two such trees; without a feature, side[0] is the whole tree.
template <class Side>
struct SplitOf {
  int feature = -1;
  std::uint32_t bound = 0;
  Side side[2];
};

}  // namespace odt
