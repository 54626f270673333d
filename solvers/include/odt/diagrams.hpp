// The least loss of diagrams of a shape: so many splits in each layer, an arc leading to the next
// layer or to a class.
//
// From below: what the rows of a node lose in the best tree that walks the paths below it apart.
// Its layers are those of the shape; where the next layer has one node, one arc of each split ends.
// Both sides of a cut lose more the more rows they hold, so intervals of cuts are closed by their
// ends. These trees are kept by their rows.
//
// Then branch and bound, node by node and layer by layer: the cut of a node and where its arcs
// lead. Nodes of the next layer collect rows from several arcs; what they hold so far, and the
// nodes of this layer without a cut, are bounded as trees. Of arcs that end with the same loss, the
// one with most rows is enough.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "odt/problem.hpp"

namespace odt {

// Rows that no test tells apart are one. Ranks and `allowed` as in Problem.
struct LayeredProblem {
  std::size_t rows = 0;
  std::size_t features = 0;
  int labels = 0;
  std::vector<std::uint32_t> rank;         // [feature * rows + row]
  std::vector<std::uint32_t> distinct;     // ranks per feature
  std::vector<std::vector<char>> allowed;  // per feature: empty, or one flag per rank
  std::vector<Loss> loss;                  // [row * labels + label], at least 0
};

struct LayeredNode {
  int feature = 0;
  std::uint32_t cut = 0;    // largest rank among the node's rows that goes left
  int left = 0, right = 0;  // a node of the next layer, or ~label
};

using Layers = std::vector<std::vector<LayeredNode>>;

struct LayeredAnswer {
  Loss bound = 0;          // no diagram of the shape loses less
  Loss value = kInfinite;  // of the diagram; kInfinite: none below what was asked
  bool complete = false;   // `value`, or what was asked or met meanwhile, is the least
  std::uint64_t work = 0;  // rows visited, roughly
  Layers layers;
};

constexpr std::size_t kMostLayeredRows = 512;
constexpr int kMostLayeredLabels = 32;

using LayeredTold = std::function<void(Loss, const Layers&)>;

struct LayeredWish {
  bool bound_only = false;  // only the bound by trees
  Loss paid = 0;            // of what `upper` counts, what every diagram of the shape has anyway
  LayeredTold told;         // hears of each better diagram, on the thread that found it
};

class LayeredSearch {
 public:
  virtual ~LayeredSearch() = default;
  // Diagrams that lose less than `below`; `shape`: nodes per layer, from 1. Trees are kept for the
  // other shapes; threads may each search a shape at once, or one together. A search that a limit
  // ended goes on where it was.
  virtual LayeredAnswer solve(const std::vector<int>& shape, Loss below, const LayeredWish& wish,
                              const Options& options) = 0;

  // Of all shapes only better diagrams are of interest. It may be lowered while they are searched.
  std::atomic<Loss> upper{kInfinite};
};

// Throws std::invalid_argument on more than kMostLayeredRows rows, or a table that does not fit.
std::unique_ptr<LayeredSearch> layered_search(LayeredProblem problem);

}  // namespace odt
