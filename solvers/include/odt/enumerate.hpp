// All trees under rules up to an objective, the best ones first.
//
// A node's trees are a stream, in the order of the weighted sum of their components: leaves, and
// for each cut the sums of a tree of the left and one of the right stream. Free trees bound a cut
// from below before its streams are asked for anything, and intervals of cuts before these are
// looked at, so that what comes next is known without what comes later. Streams are kept by the
// rows, the state of the path, and the shape of their trees.
#pragma once

#include <functional>
#include <vector>

#include "odt/ruled.hpp"

namespace odt {

struct Listing {
  Loss at_most = 0;  // the objective of the trees that are wanted
  // No split of two leaves with one label: where such a split is never needed.
  bool collapse = false;
  // Per feature one that differs from it by the side of missing cells only, or -1; and which rows
  // have such a cell. Of both, only the other one is tested where no row has.
  std::vector<int> twin;
  std::vector<std::vector<char>> absent;
  // Told of each tree with its objective, in ascending order. False: that is enough.
  std::function<bool(const Tree&, Loss)> found;
};

struct Listed {
  bool complete = false;   // there are no others
  bool no_memory = false;  // why not
  Counters counters;
  double seconds = 0;
};

// Rules on the order of predictions are not asked.
Listed enumerate(const RuledProblem& problem, const Listing& listing, const Options& options);

}  // namespace odt
