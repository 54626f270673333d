// Trees without error: least depth, then least leaves.
//
// Both "a tree of depth d without error exists" and "the least number of leaves of one" only get
// easier with fewer rows, so for the nested cuts of one feature the left side grows harder and the
// right side easier: a binary search finds a feasible cut, and intervals of cuts are dropped by
// their two ends. Sub-problems are kept by set of rows.
//
// Several threads do all the same search, each by itself, and share what is known of sets of rows.
// What one is searching the others leave for later, so they part at the root, or wherever nothing
// else is left; what one has settled the others leave at once. Only values are shared, and the tree
// is read off them in the order of its tests, so it is that of one thread.
#pragma once

#include <array>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "odt/bit_search.hpp"
#include "odt/bit_view.hpp"
#include "odt/control.hpp"
#include "odt/plan.hpp"

namespace odt {

// What is known of sets of rows.
class SmallestTable {
 public:
  static constexpr std::int32_t kNone = 1 << 28;

  struct Facts {
    std::int32_t least = 1, most = kNone;  // leaves: bounds
    std::int8_t feasible = -1;             // -1: not known
    int busy = 0;                          // threads that search it
    bool exact() const { return least >= most || feasible == 0; }
  };
  struct Asked {
    const std::vector<std::uint64_t>* rows;
    SubProblem key;
    RowPath path;
  };

  SmallestTable(const BitProblem& problem, std::size_t cache_limit)
      : problem_(problem), most_(cache_limit / 160 / kShelves) {}

  Facts look(const Asked& asked);
  void enter(const Asked& asked);
  void leave(const Asked& asked);
  void set_feasible(const Asked& asked, bool feasible);
  void set_leaves(const Asked& asked, std::int32_t least, std::int32_t most);
  std::size_t size() const;

  // Counts what became known of rows that several threads search.
  std::uint64_t news() const { return news_.load(std::memory_order_relaxed); }
  void end() { over_.store(true, std::memory_order_relaxed); }
  bool over() const { return over_.load(std::memory_order_relaxed); }

 private:
  struct Known {
    Facts facts;
    RowPath path;
  };
  struct Shelf {
    std::mutex mutex;
    RowCache<SubProblem, Known> cache;
  };
  static constexpr std::size_t kShelves = 64;

  Shelf& shelf(const Asked& asked) { return shelves_[asked.key.hash() >> 32 & (kShelves - 1)]; }
  Known* known(Shelf& shelf, const Asked& asked);
  template <class Change>
  void change(const Asked& asked, const Change& change);

  const BitProblem& problem_;
  std::size_t most_;  // entries of a shelf
  std::array<Shelf, kShelves> shelves_;
  std::atomic<std::uint64_t> news_{0};
  std::atomic<bool> over_{false};
};

class Smallest {
 public:
  Smallest(const BitProblem& problem, Control& control, SmallestTable& table);

  // value and bound count leaves; the plan's depth is the least one. Without a tree: infeasible if
  // complete.
  RootAnswer run(Result& result);

 private:
  using Members = std::vector<std::uint64_t>;
  using Asked = SmallestTable::Asked;
  using Facts = SmallestTable::Facts;
  static constexpr std::int32_t kNone = SmallestTable::kNone;
  static constexpr std::int32_t kAway = -1;  // an answer: another thread searches it

  struct Chain {  // the cuts of one feature, in order
    std::vector<int> tests;
  };
  struct Range {  // cuts of a chain among which one may be feasible
    const Chain* chain;
    int first, last;
  };
  struct Span {
    int low, high;             // evaluated cuts of the chain, exclusive
    std::int32_t left, right;  // bounds: left side at low, right side at high
  };
  struct Spans {  // that are still open; the last one is next
    const Chain* chain;
    std::vector<Span> open;
  };
  // What a walk along a chain came to.
  enum class Step { end, away, found };
  // Leaves of trees of these rows that are of interest, and the split of the last one found.
  struct Aim {
    const Asked* asked;
    std::int32_t best, lower;
    int test = -1;
    std::uint64_t seen = 0;  // news
  };
  // A search this thread is in.
  struct Frame {
    const Asked* asked;
    std::int32_t upper;  // of leaves; 0: is there a tree?
  };
  class Inside;
  // Another thread settled what a frame asks.
  struct Settled {
    std::size_t frame;
    Facts facts;
  };
  struct Over {};

  Asked ask(const Members& rows, int depth) const;
  int class_count(const Members& rows) const;
  void part(const Members& rows, int test, bool pass, Members& out) const;
  // What is asked of the rows on a side of a test.
  template <class Ask>
  auto behind(int test, bool pass, const Ask& ask) {
    struct Back {
      std::vector<RowStep>& path;
      ~Back() { path.pop_back(); }
    };
    path_.push_back({static_cast<std::uint32_t>(test), 0, !pass});
    const Back back{path_};
    return ask();
  }
  void cuts_of(const Members& rows, const Chain& chain, int& first, int& last) const;
  bool parted_at_once(const Members& rows) const;
  // `stay`: also where another thread searches it.
  std::int32_t feasible(const Members& rows, int depth, bool stay);
  std::int32_t search_feasible(const Members& rows, int depth);
  Step walk(const Members& rows, int depth, Range& range, bool stay, int& test);
  std::int32_t least(const Members& rows, int depth, std::int32_t upper, bool stay);
  std::int32_t search_least(const Members& rows, int depth, std::int32_t upper, Aim& aim);
  Step walk(const Members& rows, int depth, Spans& spans, bool stay, Aim& aim);
  int first_test(const Members& rows, int depth, std::int32_t leaves);
  Plan rebuild(const Members& rows, int depth, bool smallest);
  void look_around();
  void search(Result* result);
  void join_in();
  void end();

  const BitProblem& problem_;
  Control& control_;
  SmallestTable& table_;
  bool many_;  // threads
  std::vector<Chain> chains_;
  std::vector<Members> classes_;
  std::vector<RowStep> path_;  // to the rows that are asked about
  std::vector<Frame> frames_;
  std::uint64_t seen_ = 0;  // news
  Counters counters_;
  RootAnswer answer_;
  // Of the calling thread only:
  bool leads_ = false;
  std::vector<std::unique_ptr<Smallest>> others_;
  std::vector<std::thread> threads_;
  std::mutex failing_;
  std::exception_ptr failure_;
};

}  // namespace odt
