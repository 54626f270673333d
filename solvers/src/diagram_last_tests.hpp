// What rows lose at least in the trees of a shape's layers where all of them share the tests of the
// last layer.
//
// Trees of single nodes each have last tests of their own; a diagram has as many as its last layer
// has nodes. A last node is one of two functions of rows for each test: one label left of it and
// the other one right of it, or the other way round. For a choice of as many functions, the best
// trees of all nodes of a layer are found one by one. So what the rows of a node lose is kept for
// every choice at once, a byte each; for the nodes of a layer these are added, and the least of the
// sums is a bound. For problems of two labels and few tests. Needs AVX2.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "odt/diagrams.hpp"
#include "odt/kept_trees.hpp"

namespace odt {

// The tests of a problem. None, where there are more than it takes, rows, labels or losses.
class LastTests {
 public:
  static constexpr std::size_t kMostRows = 256, kMost = 32;
  using Set = Rows<kMostRows / 64>;
  struct alignas(32) Bytes {
    std::uint8_t at[kMost] = {};
  };

  explicit LastTests(const LayeredProblem& problem);
  bool works() const { return !left.empty(); }

  std::vector<Set> left;             // by test: the rows left of it
  Set can_lose;                      // rows that lose by a label
  std::vector<std::uint8_t> label;   // by row: the one that it loses nothing by
  std::vector<std::uint8_t> loss;    // by row: what it loses by the other one
  std::vector<std::uint32_t> tests;  // by row: those that it is left of
  std::vector<Bytes> loss_left_of;   // by row: its loss, where it is left of a test

 private:
  static constexpr Loss kMostLoss = 250;  // in all: a byte holds it
};

// Those of the last layer of one shape.
class SharedLastTests {
 public:
  using Set = LastTests::Set;

  SharedLastTests(const LastTests& tests, const std::vector<int>& shape);

  // `most`: bytes for what is kept, until it is cleared.
  void begin(std::size_t most) { most_ = most; }
  void clear();

  // Whether nodes of this layer are bounded.
  bool works(std::size_t layer) const;

  // Whether the nodes of a layer from one on, and some of the next layer, may lose less than `room`
  // by a choice that is left. Choices by which they do not are left out while `Narrowed` stands.
  template <int W>
  bool narrow(std::size_t layer, const std::vector<Rows<W>>& sets, std::size_t from,
              const std::vector<Rows<W>>& next, Loss room) {
    if (bytes_ > most_) clear();
    left_.push_back(left_.back());
    sum_.assign(left_.back().size(), {});
    for (const Rows<W>& s : next) add(layer + 1, asked(s), room);
    for (std::size_t k = from; k < sets.size(); ++k) add(layer, asked(sets[k]), room);
    return !left_.back().empty();
  }

  // What is asked while this stands is of a part of what was asked before.
  class Narrowed {
   public:
    explicit Narrowed(SharedLastTests& of) : of_(of), before_(of.left_.size()) {}
    ~Narrowed() { of_.left_.resize(before_); }
    Narrowed(const Narrowed&) = delete;
    Narrowed& operator=(const Narrowed&) = delete;

   private:
    SharedLastTests& of_;
    const std::size_t before_;
  };

  std::uint64_t take_work() { return std::exchange(work_, 0); }

 private:
  using Bytes = LastTests::Bytes;
  using Lost = std::vector<Bytes>;
  using Which = std::vector<std::uint16_t>;  // of the choices, in their order

  // What the rows of a node lose: by functions in the last two layers, by these choices above.
  struct Kept {
    Which which;
    Lost lost;
  };

  // Functions of the last nodes; of the last one all that are in a vector. By place: 32 with the
  // first label on the right of tests, and 32 with it on their left.
  struct Choice {
    std::array<int, 3> others;
    int vector;
  };
  static constexpr int kMostShared = 4;
  static constexpr std::size_t kFunctions = 2 * LastTests::kMost;

  struct Counts;

  template <int W>
  Set asked(const Rows<W>& rows) const {
    Set s;
    for (int w = 0; w < W && w < static_cast<int>(std::size(s.word)); ++w)
      s.word[w] = rows.word[w] & t_.can_lose.word[w];
    return s;
  }

  std::size_t below(std::size_t layer) const { return shape_.size() - 1 - layer; }
  void list_choices(std::array<int, 3> others, int many, std::size_t from);
  void add(std::size_t layer, const Set& s, Loss room);
  const Kept& kept(std::size_t layer, const Set& s, const Which& which);
  void spell(std::size_t layer, const Set& s, const Which& which, bool keep, Lost& lost);
  Counts count(const Set& s) const;
  void last(const Set& s, Bytes* lost);
  void pair(const Set& s, Bytes* lost, std::size_t apart);
  void cuts(std::size_t layer, const Set& s, const Which& which, Lost& lost);
  template <int Others>
  void best_of_pairs(const Bytes* pairs, std::size_t sides, const Which& which, Lost& lost) const;
  void by_choice(const Bytes* pairs, std::size_t sides, const Which& which, Lost& lost) const;
  int with_one_label(const Set& s) const;

  const LastTests& t_;
  const std::vector<int> shape_;
  std::vector<int> functions_;
  std::vector<Choice> choices_;
  std::vector<std::unordered_map<Set, Kept, HashRows<LastTests::kMostRows / 64>>> kept_;
  std::size_t bytes_ = 0, most_ = 0;
  std::vector<Which> left_;        // the choices that are left, of one state in another
  Lost sum_, one_, pairs_, more_;  // of one moment
  std::uint64_t work_ = 0;
};

}  // namespace odt
