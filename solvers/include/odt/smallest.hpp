// Trees without error: least depth, then least leaves.
//
// Both "a tree of depth d without error exists" and "the least number of leaves of one" only get
// easier with fewer rows, so for the nested cuts of one feature the left side grows harder and the
// right side easier: a binary search finds a feasible cut, and intervals of cuts are dropped by
// their two ends. Sub-problems are kept by set of rows.
#pragma once

#include <vector>

#include "odt/bit_search.hpp"
#include "odt/bit_view.hpp"
#include "odt/control.hpp"
#include "odt/plan.hpp"

namespace odt {

class Smallest {
 public:
  Smallest(const BitProblem& problem, Control& control, std::size_t cache_limit);

  // value and bound count leaves; the plan's depth is the least one. Without a tree: infeasible if
  // complete.
  RootAnswer run(Result& result);

 private:
  using Members = std::vector<std::uint64_t>;
  struct Chain {  // the cuts of one feature, in order
    std::vector<int> tests;
  };
  struct Known {
    std::int32_t least = 1;     // leaves: a lower bound, or the number if exact
    std::int8_t feasible = -1;  // -1: not known
    bool exact = false;
    std::int32_t test = -1;  // first split of the best tree, or of a feasible one
    RowPath path;
  };
  struct Span {
    int low, high;             // evaluated cuts of the chain, exclusive
    std::int32_t left, right;  // bounds: left side at low, right side at high
  };

  static constexpr std::int32_t kNone = 1 << 28;

  int class_count(const Members& rows) const;
  void part(const Members& rows, int test, bool pass, Members& out) const;
  // What is asked of the rows on a side of a test.
  template <class Ask>
  auto behind(int test, bool pass, const Ask& ask) {
    path_.push_back({static_cast<std::uint32_t>(test), 0, !pass});
    const auto answer = ask();
    path_.pop_back();
    return answer;
  }
  void cuts_of(const Members& rows, const Chain& chain, int& first, int& last) const;
  bool parted_at_once(const Members& rows) const;
  bool feasible(const Members& rows, int depth);
  std::int32_t least(const Members& rows, int depth, std::int32_t upper);
  Plan rebuild(const Members& rows, int depth, bool smallest);
  Known& known(const Members& rows, int depth);

  const BitProblem& problem_;
  Control& control_;
  std::size_t limit_;
  std::vector<Chain> chains_;
  std::vector<Members> classes_;
  RowCache<SubProblem, Known> cache_;
  std::vector<RowStep> path_;  // to the rows that are asked about
  Counters counters_;
  RootAnswer answer_;
};

}  // namespace odt
