// Rows of a node as a table of bits over 0/1 tests (every admissible cut of every feature is a
// test).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "odt/aligned.hpp"
#include "odt/kernels.hpp"
#include "odt/loss_model.hpp"
#include "odt/problem.hpp"
#include "odt/row_path.hpp"

namespace odt {

struct Test {
  int feature;
  std::uint32_t bound;  // ranks below it pass
};

// Tests before repeats are removed, the features that have any, and the most that one has.
struct TestCount {
  std::size_t tests = 0, features = 0, most = 0;
};

// Rows of a bit table for which a label loses as much less than the worst one: that is their
// weight. Where only one label is right, it is their class. Else a row stands in a group for each
// label but the worst; and where many weights differ, in one for each binary digit of its weight.
struct BitGroup {
  int label;  // -1: rows by what the worst label loses, where several stand for a row; -2: by what
              // they weigh for costs
  Loss weight;  // of a row, in units of what all weights have in common
};

// Of members: how many, and a hash of them.
std::size_t count_of(const std::vector<std::uint64_t>& members);
std::uint64_t hash_of(const std::vector<std::uint64_t>& members);

// The tests of a problem that tell rows apart, without repeats and complements, and rows sorted by
// group.
struct BitProblem {
  const Problem& problem;
  const Kernels& kernels;
  Loss each = 1;                        // the unit of weights
  Loss offset = 0;                      // of the loss model
  Loss total = 0;                       // weight of all rows: what the worst labels lose
  std::vector<BitGroup> groups;         // by class
  std::vector<std::uint32_t> group_at;  // first table position of each; one entry more than groups
  std::vector<std::int32_t> class_start;  // first group of each class; one entry more than classes
  std::vector<std::int64_t> weight;       // per group
  bool shared = false;  // rows stand in groups of several labels, so weights in groups of their own
  std::int32_t size_groups[2] = {0, 0};  // these
  bool paid = false;                     // tests cost something
  bool even = true;                      // each of them as much, wherever it stands
  bool apart = false;  // rows weigh for costs otherwise than for losses: groups of their own
  Loss along = 0;      // else: what a unit of weight weighs for costs
  Loss load = 0;       // what all rows weigh for costs
  std::int32_t every_group[2] = {0, 0};  // first and one beyond the last
  std::int32_t load_groups[2] = {0, 0};  // those of costs, if apart
  std::vector<Test> tests;
  // A cut that parts all rows as a test does, or with its sides exchanged. The test itself is one.
  struct Twin {
    int feature;
    std::uint32_t bound;
    bool exchanged;
  };
  std::vector<std::vector<Twin>> twins;  // per test
  std::vector<std::uint32_t> order;      // table position -> row
  std::size_t member_words = 0;
  std::vector<std::vector<std::uint64_t>> passes;  // per test, over table positions

  BitProblem(const Problem& p, const LossModel& loss, const Kernels& k);
  static TestCount count_tests(const Problem& p);
  // What a test costs at a node of the state whose rows weigh so much.
  Loss toll(int state, int test, Loss load_there) const {
    return paid ? rate(state, test) * load_there + fixed(test) : 0;
  }
  Loss rate(int state, int test) const {
    return paid ? load_each_ * problem.paths.rate[at(state, test)] : 0;
  }
  Loss fixed(int test) const {
    return paid ? problem.paths.fixed[static_cast<std::size_t>(column(test))] : 0;
  }
  int after(int state, int test) const {
    return paid && !problem.next.empty() ? problem.next[at(state, test)] : 0;
  }
  // Whether sums fit in T, and those of stumps and what they cost in 32 bits.
  template <class T>
  bool fits() const {
    return std::max(total, apart ? load : 0) <= std::numeric_limits<T>::max() &&
           (even || dearest_ <= std::numeric_limits<std::int32_t>::max());
  }
  // Weight of those members that every tree gets wrong: all but the best label's among equal rows.
  Loss hopeless(const std::vector<std::uint64_t>& members) const;
  // Whether a path of tests leads to the members to which their own one does.
  bool same_rows(const RowPath& path, const std::vector<std::uint64_t>& members,
                 const RowPath& own) const;

 private:
  struct Hopeless {
    Loss weight;
    std::vector<std::uint64_t> rows;
  };
  std::vector<Hopeless> hopeless_;  // one for each weight that occurs
  using Rows = std::vector<std::uint32_t>;
  Loss load_each_ = 1;  // the unit of what rows weigh for costs
  Loss dearest_ = 0;
  int column(int test) const {
    return problem.column[static_cast<std::size_t>(tests[static_cast<std::size_t>(test)].feature)];
  }
  std::size_t at(int state, int test) const {
    return static_cast<std::size_t>(state * problem.columns + column(test));
  }
  void make_groups(const LossModel& loss);
  void add_groups(int label, const std::map<Loss, Rows>& by_weight);
  void make_loads(const LossModel& loss);
  void make_tolls();
  std::vector<std::size_t> cheapest_first(bool& alike) const;
  void make_tests();
  void make_hopeless();
};

// Losses of the two sides of every test when each side gets a tree of depth two, and the tests of
// those trees.
template <class T>
struct DepthThree {
  bool ready = false;
  std::vector<Loss> pass, fail;
  std::vector<int> pass_test, fail_test;  // local; -1: a stump does as well
  Aligned<T> counts;  // [test][class][stride]: weight of the rows of the class that pass both tests
  Aligned<T> all;     // [class][stride]
  Aligned<T> size;    // [test][stride]: weight of the rows that pass both, if rows share groups
  Aligned<T>
      load;  // [test][stride]: what the rows that pass both weigh for costs, if they do so apart
};

class BitView {
 public:
  Loss weight = 0;                     // of all rows
  Loss load = 0;                       // what they weigh for costs of tests
  int state = 0;                       // of the path above
  std::vector<std::uint64_t> members;  // over table positions of the problem
  std::vector<int> ids;                // local test -> test of the problem
  std::vector<std::int32_t> group_start, group_rows;
  std::vector<Loss> totals;  // weight per class
  std::size_t stride = 0;
  Aligned<std::uint16_t> bits;

  void make_root(const BitProblem& problem);
  // Rows that pass (or fail) a local test of the parent. Tests that no longer split are dropped.
  void make_child(const BitProblem& problem, const BitView& parent, int test, bool pass);

  std::size_t tests() const { return ids.size(); }
  int classes() const { return static_cast<int>(totals.size()); }
  BitTable table() const { return table(bits.data(), group_start.data()); }
  // All groups as if they were of one class; those of weights, of costs alone.
  BitTable every_group() const {
    return {bits.data(),           stride, group_start.data(), problem_->weight.data(),
            problem_->every_group, 1};
  }
  BitTable sizes() const {
    return {bits.data(),           stride, group_start.data(), problem_->weight.data(),
            problem_->size_groups, 1};
  }
  BitTable loads() const {
    return {bits.data(),           stride, group_start.data(), problem_->weight.data(),
            problem_->load_groups, 1};
  }
  // Other rows of the same groups.
  BitTable table(const std::uint16_t* rows, const std::int32_t* start) const {
    return {rows, stride, start, problem_->weight.data(), problem_->class_start.data(), classes()};
  }
  std::size_t groups() const { return group_rows.size(); }
  std::size_t words() const { return static_cast<std::size_t>(group_start.back()); }
  // One entry per word: rows of a test, or those outside it.
  void column(int test, bool pass, std::uint16_t* out) const;
  void all_rows(std::uint16_t* out) const;

 private:
  void keep_splitting(const BitView& parent, const std::vector<int>& kept);
  void weigh();
  const BitProblem* problem_ = nullptr;
  Aligned<std::uint16_t> narrow_, keep_;
};

}  // namespace odt
