// The least loss of rows of two labels with one cut, or in two layers of cuts, where few may be
// lost.
//
// Rows lose at most e with a cut of a feature if, in its order or against it, those of one label
// but the last i lie before those of the other but the first e - i. So of each label the e + 1 that
// lie furthest to either side are all that counts, and a row that is added changes them of 16
// features in one vector. For two layers rows are added in the order of each feature, from both of
// its ends, until they lose too much: so far may a side of a cut reach. Needs AVX2.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "odt/diagrams.hpp"

namespace odt {

class FewLost {
 public:
  explicit FewLost(const LayeredProblem& problem);

  // Whether so much may be asked for. Never where there are more labels, more than 255 rows or 128
  // features, or the processor lacks the instructions.
  bool takes(Loss budget) const { return blocks_ > 0 && budget <= kMost; }

  // What the rows that are set in so many words of bits lose with at most one cut: exact where it
  // is at most `budget`, and else above it.
  Loss stump(const std::uint64_t* bits, std::size_t words, Loss budget) const;

  // The same with a cut, and a cut of each side. `looked`: rows that were looked at.
  Loss pair(const std::uint64_t* bits, std::size_t words, Loss budget,
            std::uint64_t& looked) const;

  // The same where one side ends.
  Loss chain(const std::uint64_t* bits, std::size_t words, Loss budget,
             std::uint64_t& looked) const;

  // Whether they may lose nothing with a cut more above such two, of which one side ends as well.
  // Only if `takes(0)`, as all below.
  bool chain_of_three(const std::uint64_t* bits, std::size_t words, std::uint64_t& looked) const;

  // What is left of them where one side of a cut ends and loses so much, at most `most`: without
  // what contains another one that loses no more. The cuts below tell of the others as much.
  using Bits = std::array<std::uint64_t, 4>;
  struct Rest {
    Loss lost;
    Bits rows;
  };
  std::vector<Rest> rests(const std::uint64_t* bits, std::size_t words, Loss most) const;

  // Whether rows of two nodes may lose nothing where one side of each ends, and the others have a
  // cut together. Not of a node whose sides both end.
  bool may_meet(const std::uint64_t* bits, const std::uint64_t* others, std::size_t words) const;

 private:
  template <int E, int B>
  friend struct FewSearch;
  template <int E, int B>
  friend struct FewFurthest;

  static constexpr Loss kMost = 3;
  static constexpr std::size_t kRows = 256, kWords = std::tuple_size_v<Bits>, kLanes = 16;
  // What a row is among those of each label, of 16 features: how many cuts are before it, from 1,
  // and 255 less these, so that the last and the first row both have the most. The second label has
  // the two the other way round. Nothing, where the row is of the other label.
  struct alignas(32) Block {
    std::uint8_t of[2][2 * kLanes] = {};
  };
  // The rows of a feature in its order: the byte of a set that a row is in, with the first bit set
  // in the second half of 256 rows, and its bit; the row; and the cuts before it, from 1.
  struct alignas(32) Order {
    std::uint8_t byte[kRows] = {}, bit[kRows] = {}, row[kRows] = {}, cuts[kRows] = {};
  };

  Bits asked(const std::uint64_t* bits, std::size_t words) const;
  Bits placed(const Bits& rows, std::size_t feature) const;

  std::size_t rows_ = 0, blocks_ = 0;
  std::vector<Block> block_;  // [row * blocks + block]
  std::vector<Order> order_;  // by feature
  std::vector<Bits> before_;  // [feature * 256 + cut]: the rows before it
  // Per row the label that it loses nothing by, and what it loses by the other one.
  std::array<std::uint8_t, kRows> label_ = {};
  std::array<int, kRows> loss_ = {};
  Bits lose_ = {};    // the rows that can lose anything
  Bits second_ = {};  // those of the second label
};

}  // namespace odt
