// What the engine is asked and what it answers. Plain data, no behaviour beyond checks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace odt {

using Loss = std::int64_t;
constexpr Loss kInfinite = std::numeric_limits<Loss>::max() / 4;

// Rows with rank <= cut go left. Ranks of a feature are 0 .. distinct-1 and dense over the training rows.
struct Problem {
  std::size_t rows = 0;
  std::size_t features = 0;
  int classes = 0;
  std::vector<std::uint32_t> rank;        // [feature * rows + row]
  std::vector<std::uint32_t> distinct;    // ranks per feature
  std::vector<std::vector<char>> allowed; // per feature: empty, or one flag per rank: may the cut stand there
  std::vector<int> label;                 // per row
  std::vector<Loss> weight;               // empty: one each
  std::vector<Loss> cost;                 // empty, or [label * classes + prediction]
  int depth = 0;
  int leaves = 0;                         // 0: no limit
  Loss leaf_price = 0;
  bool smallest = false;                  // least depth, then least leaves, among trees without loss

  const std::uint32_t* ranks(std::size_t feature) const { return rank.data() + feature * rows; }
};

struct TreeNode {
  int feature = -1;          // -1: leaf
  std::uint32_t cut = 0;     // largest rank among the node's rows that goes left
  std::uint32_t next = 0;    // smallest rank among the node's rows that goes right
  int left = -1, right = -1;
  int label = -1;
};

struct Tree {
  std::vector<TreeNode> nodes;  // the root is node 0; empty: no tree
  bool empty() const { return nodes.empty(); }
};

enum class Status { optimal, feasible, infeasible, unknown };
enum class Isa { best, portable, avx2, avx512 };

struct Incumbent {
  double seconds;
  Loss value;
  Loss bound;
};

struct Options {
  double time_limit = -1;        // seconds; negative: none
  Loss absolute_gap = 0;
  double relative_gap = 0;
  int threads = 1;
  std::size_t memory_limit = 0;  // bytes of cache; 0: a default
  Isa isa = Isa::best;
  int method = 0;                // 0: chosen, 1: sorted scans, 2: bitsets
  Loss upper_bound = kInfinite;  // only trees of at most this loss are of interest
  Tree start;
  std::function<void(const Incumbent&)> progress;
  std::function<bool()> interrupted;
};

struct Counters {
  std::uint64_t nodes = 0;              // sub-problems of depth three and more
  std::uint64_t depth_two = 0;          // sub-problems of depth two
  std::uint64_t cuts = 0;               // cuts evaluated in sub-problems of depth three and more
  std::uint64_t scans = 0;              // depth-two passes over one inner feature
  std::uint64_t scans_skipped = 0;      // saved by the bounds of neighbouring cuts, feature by feature
  std::uint64_t blocks = 0;             // blocks of rows opened inside a scan
  std::uint64_t pruned_neighbour = 0;   // intervals cut short by a neighbour's loss (deletion bound)
  std::uint64_t pruned_interval = 0;    // intervals closed by their two ends (subset bound)
  std::uint64_t pruned_lower = 0;       // sub-problems closed by a lower bound
  std::uint64_t cache_hits = 0;
  std::uint64_t cache_entries = 0;

  void add(const Counters& other);
};

struct Result {
  Status status = Status::unknown;
  Loss value = kInfinite;
  Loss bound = 0;
  double real_value = 0;  // regression
  double real_bound = 0;
  Tree tree;
  Counters counters;
  std::vector<Incumbent> timeline;
  std::string isa;
  std::string method;
  double seconds = 0;
};

Result solve(const Problem& problem, const Options& options);

}  // namespace odt
