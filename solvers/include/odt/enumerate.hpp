// All trees under rules up to an objective: their number, and the trees, the best ones first.
//
// Sub-trees of the same rows behind the same state of the path are one node of an AND/OR graph: it
// knows how many of them there are of each value (tree_graph.hpp). So trees are counted without
// being made, and made in the order of their values.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "odt/big_count.hpp"
#include "odt/ruled.hpp"
#include "odt/tree_function.hpp"

namespace odt {

struct Listing {
  Loss at_most = 0;                               // the objective of the trees that are wanted
  Loss least = std::numeric_limits<Loss>::max();  // that of the best one, where it is known
  // No split of two leaves with one label: where such a split is never needed.
  bool collapse = false;
  // Only trees that reach the depth bound.
  bool deepest = false;
  // Per feature one that differs from it by the side of missing cells only, or -1; and which rows
  // have such a cell. Of both, only the other one is tested where no row has.
  std::vector<int> twin;
  std::vector<std::vector<char>> absent;
  // Where the functions of trees are compared: a tree is told if none that computes its function
  // was told that is better, or as good and of fewer leaves, then no deeper.
  bool merge = false;
  FunctionSpace space;
  // Told of each tree with its objective, in ascending order, and the number of its function (-1:
  // not compared). False: that is enough. None: trees are only counted.
  std::function<bool(const Tree&, Loss, int)> found;
  std::size_t most = 0;  // functions are told
  bool count = false;    // first of all trees, and of those without each column
};

struct Listed {
  bool complete = false;   // there are no others
  bool enough = false;     // why not: there are more than `most`
  bool no_memory = false;  // or that
  // How many trees have which objective, and how many in all do without each column; where all were
  // counted.
  bool counted = false;
  std::vector<std::pair<Loss, BigCount>> counts;
  std::vector<BigCount> without;
  std::size_t told = 0;  // trees; of each function once
  Counters counters;
  double seconds = 0;
};

// Rules on the order of predictions are not asked.
Listed enumerate(const RuledProblem& problem, const Listing& listing, const Options& options);

}  // namespace odt
