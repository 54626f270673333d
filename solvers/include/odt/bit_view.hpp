// Rows of a node as a table of bits over 0/1 tests (every admissible cut of every feature is a test).
#pragma once

#include <cstdint>
#include <vector>

#include "odt/aligned.hpp"
#include "odt/kernels.hpp"
#include "odt/problem.hpp"

namespace odt {

struct Test {
  int feature;
  std::uint32_t bound;  // ranks below it pass
};

// Tests before repeats are removed, the features that have any, and the most that one has.
struct TestCount {
  std::size_t tests = 0, features = 0, most = 0;
};

// The tests of a problem that tell rows apart, without repeats and complements, and rows sorted by class.
struct BitProblem {
  const Problem& problem;
  const Kernels& kernels;
  std::vector<Test> tests;
  std::vector<std::uint32_t> order;                 // table position -> row, by class
  std::size_t member_words = 0;
  std::vector<std::vector<std::uint64_t>> passes;   // per test, over table positions
  std::vector<std::uint64_t> hopeless;              // rows that every tree gets wrong: the rarer classes among equal rows

  BitProblem(const Problem& p, const Kernels& k);
  static TestCount count_tests(const Problem& p);
};

// Losses of the two sides of every test when each side gets a tree of depth two, and the tests of those trees.
struct DepthThree {
  bool ready = false;
  std::vector<Loss> pass, fail;
  std::vector<int> pass_test, fail_test;  // local; -1: a stump does as well
  Aligned<std::int16_t> counts;           // [test][class][stride]: rows of the class that pass both tests
  Aligned<std::int16_t> all;              // [class][stride]
};

class BitView {
 public:
  std::size_t rows = 0;
  std::vector<std::uint64_t> members;  // over table positions of the problem
  std::vector<int> ids;                // local test -> test of the problem
  std::vector<std::int32_t> class_start;
  std::vector<std::int16_t> totals;    // rows per class
  std::size_t stride = 0;
  Aligned<std::uint16_t> bits;
  DepthThree three;

  void make_root(const BitProblem& problem);
  // Rows that pass (or fail) a local test of the parent. Tests that no longer split are dropped.
  void make_child(const BitProblem& problem, const BitView& parent, int test, bool pass);

  std::size_t tests() const { return ids.size(); }
  int classes() const { return static_cast<int>(totals.size()); }
  BitTable table() const { return {bits.data(), stride, class_start.data(), classes()}; }
  std::size_t words() const { return static_cast<std::size_t>(class_start.back()); }
  // One entry per word: rows of a test, or those outside it.
  void column(int test, bool pass, std::uint16_t* out) const;
  void all_rows(std::uint16_t* out) const;

 private:
  void keep_splitting(const BitProblem& problem, const BitView& parent, const std::vector<int>& kept);
  Aligned<std::uint16_t> narrow_, keep_;
};

}  // namespace odt
