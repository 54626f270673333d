// The inner loops that depend on the instruction set, behind one table of functions that is chosen
// at run time. All sets give the same answers; a test compares them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "odt/problem.hpp"

namespace odt {

// One pass over the rows of a view in the order of an inner feature, for one cut of the outer
// feature. With S = running sum of +1 (positive) and -1 (negative) over the rows of a side and T
// its total, the best split of that side in this order loses (rows - G) / 2, where G = max |2 S -
// T| over the ends of ties: the gain.
struct TwoClassScan {
  const std::uint64_t* left;  // rows on the left of the outer cut
  const std::uint64_t* all;   // rows that count
  const std::uint64_t* positive;
  const std::uint64_t* ends[2];  // per side: a cut of the inner feature may stand after this row
  std::size_t rows, words;
  std::int32_t left_total, right_total;
};
struct TwoClassGain {
  std::int32_t left, right;          // in: gain to beat; out: best gain
  std::int32_t left_cap, right_cap;  // out: no split of this feature has a larger gain
  std::uint32_t opened;
};

// The same with one signed number a row in place of +1 and -1; `rows` of the loss becomes the sum
// of their absolutes.
struct SignedScan {
  const std::uint64_t* left;
  const std::int32_t* value;      // zero beyond the rows
  const std::int32_t* block_sum;  // per block
  const std::int32_t* block_up;   // sum of the positive ones
  const std::uint64_t* ends[2];
  std::size_t rows, words;
  std::int32_t left_total, right_total;
};

// The same for up to 16 classes; `classes` holds `stride` bitmaps a word, bitmap c of word w at w *
// stride + c.
struct MultiClassScan {
  const std::uint64_t* left;
  const std::uint64_t* all;
  const std::uint64_t* classes;
  const std::uint64_t* ends[2];
  std::size_t rows, words;
  int class_count, stride;
  const std::int32_t* left_total;  // per class, `stride` entries
  const std::int32_t* right_total;
  std::int32_t left_rows, right_rows;
  std::int32_t* scratch;  // (words + 1) * (2 * stride + 4)
};
struct MultiClassLoss {
  std::int32_t left, right;              // in: loss to beat; out: least loss
  std::int32_t left_floor, right_floor;  // out: no split of this feature has a smaller loss
  std::uint32_t opened;
};

// The same for any losses: row i of a view has the losses table[kind[i] * lanes ..], one per label
// and padded with the row's worst loss (at least one lane of it). T is wide enough for the sum over
// all rows.
template <class T>
struct LabelScan {
  const std::uint64_t* left;
  const std::int32_t* kind;
  const T* table;
  const T* block_sum;  // [word * lanes + label]
  const std::uint64_t* ends[2];
  std::size_t rows, words, lanes;
  const T* left_total;  // per lane
  const T* right_total;
  T* scratch;  // (words + 1) * (2 * lanes + 4)
  T* spare;    // 4 * lanes
  T none;      // the floor of a feature without cuts
};
template <class T>
struct LabelLoss {
  T left, right;              // in: loss to beat; out: least loss
  T left_floor, right_floor;  // out: no split of this feature has a smaller loss
  std::uint32_t opened;
};

// The same where labels are few, on margins (see LossModel): those of a label are consecutive, and
// zero beyond the rows. Sums of what all rows lose at most stay below kNone.
struct MarginScan {
  static constexpr int kMost = 3;  // margins: of more labels, vectors row by row take less time
  static constexpr std::int32_t kNone = std::int32_t{1}
                                        << 30;  // the floor of a feature without cuts
  static std::size_t upto_stride(std::size_t words) { return words + 17; }
  const std::uint64_t* left;
  const std::int32_t* value;  // [margin * stride + row]
  // [margin * upto_words + word]: sums ahead of each word, the last ones repeated; behind them, of
  // what the best label of a row loses less than the first
  const std::int32_t* upto;
  const std::uint64_t* ends[2];
  std::size_t stride, upto_words, words;
  int margins;
  const std::int32_t* left_total;  // as `upto` has them
  const std::int32_t* right_total;
};

// All stumps on 0/1 tests at once, for both sides of an outer cut: a bitmap per test, in any order
// of the rows. Finds the most rows that one of them labels right on each side.
struct ColumnScan {
  const std::uint64_t* left;
  const std::uint64_t* columns;  // [word * stride + test], zero beyond rows and tests
  const std::uint64_t*
      classes;  // [word * class_stride + class]; class_stride 1: the positive of two classes
  std::size_t words, stride;  // stride: tests, rounded up to a multiple of 8
  int class_count, class_stride;
  const std::int64_t* all;         // [class * stride + test]: rows of the class that pass
  const std::int32_t* left_total;  // rows per class; class_stride 1: only the positive ones
  const std::int32_t* right_total;
  std::int32_t left_rows, right_rows;
  std::int32_t least;           // rows that each leaf must hold
  const std::int64_t* open[2];  // per side and test: -1 if it may stand, else 0; null: all may
};
struct ColumnBest {
  std::int32_t left, right;
};

// Depth two of two classes by lanes, a lane being a pair of cut and inner feature: for up to 64 /
// inner cuts of an outer feature the gains (see TwoClassScan) of all inner features. Values are
// those of SignedScan where they fit: of so few positions as a chunk has they sum up to 127 at
// most, of all rows to 32,767. Arrays are aligned and hold whole words of positions.
struct LaneScan {
  const std::uint16_t* rank;  // [position * inner + feature]: the outer rank
  const std::int8_t* value;   // likewise
  const std::int8_t* ends;    // -1: a cut may stand behind this position; else 0
  std::size_t positions, chunk;
  std::size_t inner;       // features, rounded up to 8, 16, 32 or 64
  std::size_t cuts;        // of 64 / inner; entries beyond are to be set, but mean nothing
  std::uint16_t bound[8];  // per cut: ranks below it are on the left
  std::int16_t left_total[8], right_total[8];
  const std::int16_t* cap;  // per feature, what a gain counts at most
};
// [cut * inner + feature]; undefined where a feature has no end.
struct LaneGains {
  alignas(64) std::int16_t left[64], right[64];
  std::int16_t most_left[8], most_right[8];  // per cut, of all features, up to the caps
};

// Bit tables of 0/1 tests: 16 rows a word, word-major, so that a vector register holds the same
// rows of 32 tests. Rows of one class and weight are a group, of at most 32,767 rows; each group
// starts a new word.
struct BitTable {
  const std::uint16_t* bits;        // [word * stride + test]
  std::size_t stride;               // tests, rounded up to a multiple of 32
  const std::int32_t* group_start;  // first word of each group; one entry more than groups
  const std::int64_t* weight;       // per group
  const std::int32_t* class_start;  // first group of each class; one entry more than classes
  int classes;
};
// For sets of rows a and b and every test j: the most weight that a stump on j labels right in a &
// b, a & ~b, ~a & b and ~a & ~b; `best` gets the largest over all j. The table holds the rows of a
// only. T holds the weight of all rows.
template <class T>
struct QuarterScan {
  BitTable table;
  const std::uint16_t* row;  // b, in the table's rows, one entry per word
  const T* a_count;          // [class * stride + test]: weight of the rows of a that pass the test
  const T* b_count;          // of b
  const T* all_count;        // of all rows
  const T* a_total;          // per class
  const T* b_total;
  const T* ab_total;
  const T* all_total;
};

// The same where tests cost something: of each stump `each` times the weight that it labels right,
// less rate * load + fixed of its test. What is below 0 counts as 0.
template <class T>
struct PaidScan {
  QuarterScan<T> scan;
  const std::int32_t* rate;  // [test]
  const std::int32_t* fixed;
  std::int32_t load[4];  // of the four sets
  std::int32_t each;
};

// Those that are written once for all instruction sets, and compiled for each.
struct SharedKernels {
  void (*lanes)(const LaneScan& scan, LaneGains& gains);
  // out[i * inner + j] = rows[j][i] of `count` arrays, whole vectors of positions.
  void (*interleave16)(const std::uint16_t* const* rows, std::size_t count, std::size_t positions,
                       std::size_t inner, std::uint16_t* out);
  void (*signed_two)(const SignedScan& scan, TwoClassGain& gain);
  // Sums of each block of 64 rows; of `scan` only kinds, table, sizes and spare are read.
  void (*label_blocks32)(const LabelScan<std::int32_t>& scan, std::int32_t* out);
  void (*label_blocks64)(const LabelScan<std::int64_t>& scan, std::int64_t* out);
  void (*label_scan32)(const LabelScan<std::int32_t>& scan, LabelLoss<std::int32_t>& loss);
  void (*label_scan64)(const LabelScan<std::int64_t>& scan, LabelLoss<std::int64_t>& loss);
  // Of `scan` only margins, values and sizes are read.
  void (*margin_upto)(const MarginScan& scan, std::int32_t* out);
  void (*margin_scan)(const MarginScan& scan, LabelLoss<std::int32_t>& loss);
  void (*columns)(const ColumnScan& scan, ColumnBest& best);
  // out[class * stride + test] = rows of `left` that pass, as `all` needs them. Only bitmaps and
  // sizes are read.
  void (*column_counts)(const ColumnScan& scan, std::int64_t* out);
  // out[class * stride + j] = weight of the rows of the class in `row` that pass test j.
  void (*bit_counts16)(const BitTable& table, const std::uint16_t* row, std::int16_t* out);
  void (*bit_counts32)(const BitTable& table, const std::uint16_t* row, std::int32_t* out);
  void (*quarters16)(const QuarterScan<std::int16_t>& scan, std::int16_t best[4]);
  void (*quarters32)(const QuarterScan<std::int32_t>& scan, std::int32_t best[4]);
  void (*paid_quarters16)(const PaidScan<std::int16_t>& scan, std::int32_t best[4]);
  void (*paid_quarters32)(const PaidScan<std::int32_t>& scan, std::int32_t best[4]);
  // Keeps the rows of `keep` (one entry per word). `kept_start` gets the word of each group in
  // `out`.
  void (*bit_compress)(const BitTable& table, const std::uint16_t* keep, std::uint16_t* out,
                       std::int32_t* kept_start);
};

struct Kernels : SharedKernels {
  const char* name;
  // Bit i of `out` = rank[i] < bound. Arrays are padded to whole blocks; bits beyond the rows are
  // undefined.
  void (*below16)(const std::uint16_t* rank, std::size_t words, std::uint16_t bound,
                  std::uint64_t* out);
  void (*below32)(const std::uint32_t* rank, std::size_t words, std::uint32_t bound,
                  std::uint64_t* out);
  // Keeps the entries whose bit is set, in order. May write up to one block beyond the last.
  std::size_t (*compress16)(const std::uint16_t* in, std::size_t words, const std::uint64_t* keep,
                            std::uint16_t* out);
  std::size_t (*compress32)(const std::uint32_t* in, std::size_t words, const std::uint64_t* keep,
                            std::uint32_t* out);
  // The same for bitmaps with `stride` words a block. `out` gets whole words, zero beyond the last
  // bit.
  void (*compress_bits)(const std::uint64_t* in, std::size_t words, int stride,
                        const std::uint64_t* keep, std::uint64_t* out);
  // Bit i of `out` = rank[i] != rank[i + 1].
  void (*changes16)(const std::uint16_t* rank, std::size_t words, std::uint64_t* out);
  void (*changes32)(const std::uint32_t* rank, std::size_t words, std::uint64_t* out);
  void (*two_class)(const TwoClassScan& scan, TwoClassGain& gain);
  void (*multi_class)(const MultiClassScan& scan, MultiClassLoss& loss);
};

const Kernels& kernels_portable();
const Kernels* kernels_avx2();  // nullptr where the processor or the compiler lacks it
const Kernels* kernels_avx512();
// Throws std::invalid_argument where the asked set is missing.
const Kernels& choose_kernels(Isa isa);
// Whether ODTDSL_ISA leaves this set to code that chooses by itself.
bool may_use(Isa isa);

// Overloads on the width of ranks, so that views can be templates.
inline void below(const Kernels& k, const std::uint16_t* r, std::size_t w, std::uint16_t b,
                  std::uint64_t* o) {
  k.below16(r, w, b, o);
}
inline void below(const Kernels& k, const std::uint32_t* r, std::size_t w, std::uint32_t b,
                  std::uint64_t* o) {
  k.below32(r, w, b, o);
}
inline std::size_t compress(const Kernels& k, const std::uint16_t* i, std::size_t w,
                            const std::uint64_t* m, std::uint16_t* o) {
  return k.compress16(i, w, m, o);
}
inline std::size_t compress(const Kernels& k, const std::uint32_t* i, std::size_t w,
                            const std::uint64_t* m, std::uint32_t* o) {
  return k.compress32(i, w, m, o);
}
inline void changes(const Kernels& k, const std::uint16_t* r, std::size_t w, std::uint64_t* o) {
  k.changes16(r, w, o);
}
inline void bit_counts(const Kernels& k, const BitTable& t, const std::uint16_t* r,
                       std::int16_t* o) {
  k.bit_counts16(t, r, o);
}
inline void bit_counts(const Kernels& k, const BitTable& t, const std::uint16_t* r,
                       std::int32_t* o) {
  k.bit_counts32(t, r, o);
}
inline void quarters(const Kernels& k, const QuarterScan<std::int16_t>& s, std::int16_t* best) {
  k.quarters16(s, best);
}
inline void quarters(const Kernels& k, const QuarterScan<std::int32_t>& s, std::int32_t* best) {
  k.quarters32(s, best);
}
inline void paid_quarters(const Kernels& k, const PaidScan<std::int16_t>& s, std::int32_t* best) {
  k.paid_quarters16(s, best);
}
inline void paid_quarters(const Kernels& k, const PaidScan<std::int32_t>& s, std::int32_t* best) {
  k.paid_quarters32(s, best);
}
inline void label_blocks(const Kernels& k, const LabelScan<std::int32_t>& s, std::int32_t* o) {
  k.label_blocks32(s, o);
}
inline void label_blocks(const Kernels& k, const LabelScan<std::int64_t>& s, std::int64_t* o) {
  k.label_blocks64(s, o);
}
inline void label_scan(const Kernels& k, const LabelScan<std::int32_t>& s,
                       LabelLoss<std::int32_t>& l) {
  k.label_scan32(s, l);
}
inline void label_scan(const Kernels& k, const LabelScan<std::int64_t>& s,
                       LabelLoss<std::int64_t>& l) {
  k.label_scan64(s, l);
}
inline void changes(const Kernels& k, const std::uint32_t* r, std::size_t w, std::uint64_t* o) {
  k.changes32(r, w, o);
}

}  // namespace odt
