// What the engine is asked and what it answers. Plain data, no behaviour beyond checks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "odt/counters.hpp"

namespace odt {

using Loss = std::int64_t;
constexpr Loss kInfinite = std::numeric_limits<Loss>::max() / 4;

// What tests on a path cost: a split at a node takes `rate` from each unit of weight of the rows
// there, and `fixed`.
struct PathCosts {
  std::vector<Loss> weight;  // per row; empty: tests cost nothing
  std::vector<Loss> rate;    // [state * columns + column]
  std::vector<Loss> fixed;   // [column]
};

// Rows with rank <= cut go left. Ranks of a feature are 0 .. distinct-1 and dense over the training
// rows.
// Whether a cut with a flag in `allowed` (as a problem has them) lies between two ranks.
bool gap_open(const std::vector<std::vector<char>>& allowed, std::size_t feature, std::uint32_t low,
              std::uint32_t high);

struct Problem {
  std::size_t rows = 0;
  std::size_t features = 0;
  int classes = 0;
  std::vector<std::uint32_t> rank;      // [feature * rows + row]
  std::vector<std::uint32_t> distinct;  // ranks per feature
  std::vector<std::vector<char>>
      allowed;               // per feature: empty, or one flag per rank: may the cut stand there
  std::vector<int> label;    // per row
  std::vector<Loss> weight;  // empty: one each
  std::vector<Loss> cost;    // empty, or [label * classes + prediction]
  int depth = 0;
  int leaves = 0;  // 0: no limit
  Loss leaf_price = 0;
  std::int32_t leaf_rows = 1;  // that each leaf must hold at least
  // What rules on paths leave open, as an automaton: a path in a state may split on a column with
  // an entry that is not -1 and is in that state below. Each state allows all that the states
  // behind it do. Empty: everything.
  std::vector<int> column;  // per feature; empty: each its own
  int columns = 0;
  std::vector<int> next;  // [state * columns + column]; a tree begins in state 0
  // Only bit sets know these: other searches find the least loss without them, which is no more.
  // `next` then says what a path has paid for: it leaves everything open, and no order of tests
  // costs more than another.
  PathCosts paths;
  int must = -1;          // a column that some split must test
  bool smallest = false;  // least depth, then least leaves, among trees without loss

  // Made once, in problem.cpp.
  Problem();
  Problem(const Problem&);
  Problem(Problem&&) noexcept;
  Problem& operator=(const Problem&);
  Problem& operator=(Problem&&) noexcept;
  ~Problem();

  const std::uint32_t* ranks(std::size_t feature) const { return rank.data() + feature * rows; }
  // Per rank of a feature (and one more): allowed cuts below it.
  std::vector<std::uint32_t> cuts_below(std::size_t feature) const;
  // Whether an allowed cut lies between two ranks.
  bool gap_open(std::size_t feature, std::uint32_t low, std::uint32_t high) const {
    return odt::gap_open(allowed, feature, low, high);
  }
  // The state behind a split on a feature; -1: it may not stand.
  int after(int state, std::size_t feature) const {
    return next.empty() ? 0 : next[static_cast<std::size_t>(state * columns + column[feature])];
  }
  int states() const { return next.empty() ? 1 : static_cast<int>(next.size()) / columns; }
  // What a split on a feature costs at a node of the state whose rows weigh so much.
  Loss toll(int state, std::size_t feature, Loss load) const {
    if (paths.weight.empty()) return 0;
    const std::size_t c = static_cast<std::size_t>(column[feature]);
    return paths.rate[static_cast<std::size_t>(state * columns) + c] * load + paths.fixed[c];
  }
  bool tests_must(std::size_t feature) const { return must >= 0 && column[feature] == must; }
};

// Each so manieth of the rows, with leaves of any size: each tree loses no more on them.
Problem thinned(const Problem& problem, std::size_t every);

struct TreeNode {
  int feature = -1;        // -1: leaf
  std::uint32_t cut = 0;   // largest rank among the node's rows that goes left
  std::uint32_t next = 0;  // smallest rank among the node's rows that goes right
  int left = -1, right = -1;
  int label = -1;
};

struct Tree {
  std::vector<TreeNode> nodes;  // the root is node 0; empty: no tree
  bool empty() const { return nodes.empty(); }
};

class Control;
struct Plan;

// Where cuts of the root are evaluated by others: see elsewhere.hpp.
struct RemoteTask;
struct Returned;
using Elsewhere = std::function<Returned(const std::vector<RemoteTask>&, bool drop)>;

// Rows on both sides of a cut, and the ranks beside it.
struct PartedRows {
  std::vector<std::uint32_t> side[2];
  std::uint32_t low = 0, high = ~0u;
  // Ranks of the feature below `bound` go left.
  PartedRows(const Problem& problem, std::size_t feature, std::uint32_t bound,
             const std::vector<std::uint32_t>& rows);
};

// The tree of a new incumbent: as the search holds it, or finished.
struct Found {
  const Plan* plan = nullptr;
  const Tree* tree = nullptr;
};

enum class Status { optimal, feasible, infeasible, unknown };
enum class Isa { best, portable, avx2, avx512 };  // ascending

struct Incumbent {
  double seconds;
  Loss value;
  Loss bound;
};

struct Options {
  double time_limit = -1;        // seconds; negative: none
  std::uint64_t work_limit = 0;  // of the work that is polled; 0: none
  Loss absolute_gap = 0;
  double relative_gap = 0;
  int threads = 1;
  std::size_t memory_limit = 0;  // bytes of cache; 0: a default
  Isa isa = Isa::best;
  int method = 0;          // 0: chosen, 1: sorted scans, 2: bitsets, 3: anytime, without a proof,
                           // 4: counts, where they suit
  std::uint64_t seed = 0;  // of the anytime search
  bool certify = false;    // with the certificate of its bound or multipliers
  bool beside = true;      // the anytime search runs beside a proof that takes longer than
  std::uint64_t alone = 30000000;  // so much work (some tenths of a second)
  Loss upper_bound = kInfinite;    // only trees of at most this loss are of interest
  Tree start;
  Control* outer =
      nullptr;  // of the search that this one is part of: its work counts, its limits hold
  std::function<void(const Incumbent&, const Found&)>
      progress;  // nothing is found where only the bound is news
  std::function<bool()> interrupted;
  Elsewhere elsewhere;  // of the sorted search for classes; empty: here
};

struct Result {
  Status status = Status::unknown;
  Loss value = kInfinite;
  Loss bound = 0;
  Tree tree;
  Counters counters;
  std::vector<Incumbent> timeline;
  std::string isa;
  std::string method;
  double seconds = 0;
  std::uint64_t work = 0;   // what was polled
  std::string certificate;  // if asked for
  Loss certified = 0;       // the bound that it shows
  // Under rules, if asked for: of each clause on whole trees, over `scale`.
  std::vector<Loss> multipliers;
  Loss scale = 1;
};

Result solve(const Problem& problem, const Options& options);
// The tree of a plan that a search told, and its value.
Result finished(const Problem& problem, const Plan& plan);

}  // namespace odt
