// The split scan: at one node, the best test of every family of tests.
//
// A family holds the codes of one column. A threshold family sends codes <= r left, code -1
// and codes >= n_values being missing cells that go left and right under every test. An
// equality family (also: bins) sends code r and code -1 left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace odt {

enum class Kind : std::uint8_t { threshold = 0, equals = 1 };

// How the two sides of a test are scored; more is better.
//   gini   sum over sides of (sum of squares of the class sums) / (their sum)
//   gain   largest class sum on the left + largest on the right, ties by gini
//   sides  column 0 summed over the left + column 1 summed over the right
enum class Score : std::uint8_t { gini = 0, gain = 1, sides = 2 };

struct Family {
  const std::int32_t* codes;    // (n_rows)
  const std::int64_t* allowed;  // (n_tests + 1): how many of the tests before each are allowed
  std::int64_t n_tests;
  std::int64_t n_values;
  Kind kind;
};

struct Node {
  const std::int64_t* rows;  // (n_rows): rows that reach the node
  std::int64_t n_rows;
  const std::int64_t* gains;  // (all rows, n_gains): what each label gains on each row
  std::int64_t n_gains;
  const std::int64_t* bounded;  // (all rows, n_bounded): quantities that a side must have enough of
  const std::int64_t* minima;   // (n_bounded)
  std::int64_t n_bounded;
};

struct Best {
  std::int64_t test = -1;  // -1: no test may stand here
  std::int64_t gain = 0;   // exact, of Score::gain and Score::sides
  double gini = 0.0;
};

// Scans families one after the other and keeps its buffers between calls.
class Scanner {
 public:
  Best best(const Node& node, const Family& family, Score score);

 private:
  void sort_rows(const Node& node, const Family& family);

  std::vector<std::int32_t> codes_;  // of the node's rows
  std::vector<std::int32_t> order_;  // positions among the node's rows, by code
  std::vector<std::int32_t> starts_;
  std::vector<std::int64_t> total_, left_, below_;
};

}  // namespace odt
