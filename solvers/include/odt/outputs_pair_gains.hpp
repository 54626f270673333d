// What splits of some rows gain, by each of many columns: kernels of `OutputPairs`.
#pragma once

#include <cstddef>
#include <cstdint>

#include "odt/outputs.hpp"

namespace odt {

// What both leaves of the best split of a side lose less than their rows one by one: of any rows,
// and of those that leaves must hold.
struct PairGains {
  double free = -kUnbounded, sized = -kUnbounded;
};

// A sum over rows, one of the parts, is more than this in each leaf.
struct PairSize {
  std::size_t part;
  double least;
  bool or_next = false;  // where it is not, the next one is
  bool operator==(const PairSize& o) const {
    return part == o.part && least == o.least && or_next == o.or_next;
  }
};

// A loss beside the one that is made least, of the same outputs. A squared one has two kinds of
// parts, weights and weighted targets. An absolute one is bounded from below by tangents, whose
// parts are weights and weighted targets that are negative up to a threshold: |y - x| is no less
// than y - x and x - y, whichever of the two is taken for a row.
struct PairMeasure {
  std::size_t part;  // the first
  bool absolute;
  bool signs = false;  // a difference between groups: told by rows alone, without parts
  static constexpr std::size_t kTangents = 4;  // per target
};

struct PairGainRow {
  const double *left, *all;  // [part][stride], [part]
  std::size_t stride, targets;
  const PairMeasure* measure;
  std::size_t measures;
  const double *factor, *scale;  // [target], [measure][target]
  const double* allowed;         // [stride]
  double price;
  double lightest;       // weights are taken for no less
  std::size_t rows;      // the part that tells whether a side has rows: it is more than `fewest`
  double fewest, heavy;  // heavy: makes what this part sums up large
  const PairSize* size;
  std::size_t sizes;
  double* out;
};

// What both leaves of a split on each column lose less than their rows one by one, minus infinity
// where a leaf does not hold what it must; the most of it. `absolute`: whether a measure is.
PairGains pair_gains(const PairGainRow& in, bool absolute);

// Rows, and the columns of one block of lanes that part them.
struct AbsoluteRows {
  const double* part;  // two numbers of each row: a weight and a target
  const std::uint32_t* row;
  std::size_t rows;
  const std::uint8_t* masks;  // [row][blocks]: bits of the columns that it is left of
  std::size_t blocks;
  const double *left_w, *left_s;  // of each column
  double all_w, all_s, lightest;
};

// Adds the weighted distances of targets from the means of both sides, for each of the columns.
void absolute_losses(const AbsoluteRows& in, double* out);

}  // namespace odt
