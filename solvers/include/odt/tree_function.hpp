// The function that a tree computes, as a number: two trees have the same one iff they predict
// alike everywhere.
//
// The feature space is that of rules on order: each number line, each level, one value for all
// categories that no spec names, and missing cells where the training rows have some. A function is
// written column by column: a line is cut only where the rest of the function changes, and a column
// on which nothing depends is left out. Equal rests are one number, found by comparing them whole.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace odt {

// What goes left at a split, in the units of the data: the cells between two places on a line, or
// those that equal a value. A place is a number and whether it is in front of it (0) or behind (1).
struct Region {
  int column = 0;
  bool line = true;
  std::pair<double, int> low, high;  // infinite: the ends
  int value = 0;
};

// How splits of features part the feature space.
struct FunctionSpace {
  std::vector<char> column_missing;  // per column: may its cells be missing
  // Per feature. Of thresholds the code of each row, and how many codes are values; empty: others.
  std::vector<std::vector<std::int32_t>> codes;
  std::vector<std::int32_t> values;
  // Where missing cells go: 0 left, 1 right, 2 as `own` says where rows there have some, else to
  // the side of more weight.
  std::vector<char> policy, own;
  std::vector<std::vector<char>> absent;  // empty: none
  std::vector<std::int64_t> weight;       // per row
  // The region of a feature's split between two codes at a level.
  std::function<Region(int feature, int low, int high, int level)> region;
};

struct FunctionNode {
  int region = -1;  // index; -1: a leaf
  bool missing_left = false;
  int left = -1, right = -1;
  int label = -1;
};

class Functions {
 public:
  // Trees have at most so many leaves.
  static constexpr int kMostLeaves = 32;
  explicit Functions(const std::vector<char>& column_missing) : missing_(column_missing) {}
  int add(Region region);
  int of(const std::vector<FunctionNode>& tree);

 private:
  struct Cells {
    int column;
    std::vector<std::pair<double, int>> cuts;
    std::vector<int> values;
    std::size_t present() const { return (values.empty() ? cuts.size() : values.size()) + 1; }
  };
  struct Leaf {
    std::vector<std::uint64_t> box;
    int label;
  };
  struct Hash {
    std::size_t operator()(const std::vector<std::int64_t>& v) const;
  };
  std::uint64_t passing(const Cells& cells, const Region& region) const;
  void walk(const std::vector<FunctionNode>& tree, int at, std::vector<std::uint64_t>& box);
  int rest(std::size_t index, std::uint64_t leaves);
  int written(std::size_t index, std::uint64_t leaves);

  std::vector<char> missing_;
  std::vector<Region> regions_;
  std::unordered_map<std::vector<std::int64_t>, int, Hash> numbers_;
  std::vector<Cells> cells_;  // of the tree at hand, by column
  std::vector<Leaf> leaves_;
  std::vector<std::vector<std::pair<std::uint64_t, int>>> known_;  // per column: leaves, rest
};

}  // namespace odt
