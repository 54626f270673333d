#include "odt/pair_sums.hpp"

#include <algorithm>
#include <cstddef>

#include "odt/lane_scores.hpp"
#include "odt/masked_sums.hpp"

namespace odt {
namespace {

constexpr std::size_t kSquares = 2, kCounts = 3;  // their places in Moments

struct ScoreRow {
  std::size_t column, stride;
  const double *w, *s, *n;  // pair sums with the columns of lanes
  const double *one_w, *one_s, *one_n;
  double all_w, all_s, all_n;
  double *best_one, *best_none;
  const std::uint8_t *below, *above;  // masks of the columns; null: all, whatever they weigh
  double least;
};

// What is asked of splits: nothing, which columns they may stand on, or what parts must count as
// well.
enum class Asked { nothing, columns, counts };

// Scores of the quarters of one column with all later ones serve both.
template <class L, Asked kAsked, class Score>
ODT_INLINE void score_row(const ScoreRow& row, const Score& score_of) {
  const auto& bits_of = lane_masks().of;
  const double own_w = row.one_w[row.column], own_s = row.one_s[row.column];
  L best_one = L{} - kNever, best_none = best_one;
  for (std::size_t j = row.column / kLanes * kLanes; j < row.stride; j += kLanes) {
    L w, s, one_w, one_s;
    load(w, row.w + j);
    load(s, row.s + j);
    load(one_w, row.one_w + j);
    load(one_s, row.one_s + j);
    const L both = score_of(w, s), own = score_of(own_w - w, own_s - s),
                other = score_of(one_w - w, one_s - s);
    const L neither = score_of(row.all_w - own_w - one_w + w, row.all_s - own_s - one_s + s);
    L mine_one = both + own, mine_none = other + neither, its_one = both + other,
          its_none = own + neither;
    typename BitsOf<L>::type below, above;
    if constexpr (kAsked != Asked::nothing) {
      load_bits(below, bits_of[row.below[j / kLanes]]);
      load_bits(above, bits_of[row.above[j / kLanes]]);
    }
    if constexpr (kAsked == Asked::columns) {
      mine_one = only(mine_one, below);
      mine_none = only(mine_none, below);
      its_one = only(its_one, above);
      its_none = only(its_none, above);
    }
    if constexpr (kAsked == Asked::counts) {
      const L least = L{} + row.least;
      L n, one_n;
      load(n, row.n + j);
      load(one_n, row.one_n + j);
      const double own_n = row.one_n[row.column];
      const typename BitsOf<L>::type heavy_both = n >= least, heavy_own = own_n - n >= least,
                     heavy_other = one_n - n >= least,
                     heavy_neither = row.all_n - own_n - one_n + n >= least;
      mine_one = only(mine_one, below & heavy_both & heavy_own);
      mine_none = only(mine_none, below & heavy_other & heavy_neither);
      its_one = only(its_one, above & heavy_both & heavy_other);
      its_none = only(its_none, above & heavy_own & heavy_neither);
    }
    best_one = larger(best_one, mine_one);
    best_none = larger(best_none, mine_none);
    L other_one, other_none;
    load(other_one, row.best_one + j);
    load(other_none, row.best_none + j);
    store(larger(other_one, its_one), row.best_one + j);
    store(larger(other_none, its_none), row.best_none + j);
  }
  row.best_one[row.column] = std::max(row.best_one[row.column], largest(best_one));
  row.best_none[row.column] = std::max(row.best_none[row.column], largest(best_none));
}

ODT_VERSIONS(void score_squares(const ScoreRow& row),
             score_row<L, Asked::nothing>(row, OfSquares()))
ODT_VERSIONS(void score_counts(const ScoreRow& row), score_row<L, Asked::nothing>(row, OfCounts()))
ODT_VERSIONS(void score_some_squares(const ScoreRow& row),
             score_row<L, Asked::columns>(row, OfSquares()))
ODT_VERSIONS(void score_some_counts(const ScoreRow& row),
             score_row<L, Asked::columns>(row, OfCounts()))
ODT_VERSIONS(void score_sized_squares(const ScoreRow& row),
             score_row<L, Asked::counts>(row, OfSquares()))
ODT_VERSIONS(void score_sized_counts(const ScoreRow& row),
             score_row<L, Asked::counts>(row, OfCounts()))

}  // namespace

void PairSums::prepare(const RegressionView& view, bool counts) {
  counts_ = counts;
  columns_ = view.columns.size();
  stride_ = (columns_ + kLanes - 1) / kLanes * kLanes;
  const std::size_t blocks = stride_ / kLanes;
  masks_.assign(view.points * blocks, 0);
  for (std::size_t k = 0; k < columns_; ++k) {
    const std::uint32_t* codes = view.codes(k);
    std::uint8_t* masks = masks_.data() + k / kLanes;
    for (std::size_t i = 0; i < view.points; ++i)
      masks[i * blocks] |= static_cast<std::uint8_t>(codes[i] << (k % kLanes));
  }
}

void PairSums::reserve(Sums& sums) const {
  sums.w.reserve(columns_ * stride_);
  sums.s.reserve(columns_ * stride_);
  for (auto* a : {&sums.one_w, &sums.one_s, &sums.one_q, &sums.best_one, &sums.best_none})
    a->reserve(stride_);
  if (!counts_) return;
  sums.n.reserve(columns_ * stride_);
  sums.one_n.reserve(stride_);
}

void PairSums::sum(const RegressionView& view, Sums& out) {
  rows_.resize(view.points);
  for (std::uint32_t i = 0; i < view.points; ++i) rows_[i] = i;
  add(view, out);
}

void PairSums::sum_side(const RegressionView& view, std::size_t column, bool one, Sums& out) {
  rows_.clear();
  const std::uint32_t* codes = view.codes(column);
  for (std::uint32_t i = 0; i < view.points; ++i)
    if ((codes[i] != 0) == one) rows_.push_back(i);
  add(view, out);
}

void PairSums::add(const RegressionView& view, Sums& out) {
  reserve(out);
  static_assert(sizeof(Moments) == 4 * sizeof(double) && offsetof(Moments, s) == sizeof(double) &&
                offsetof(Moments, q) == kSquares * sizeof(double) &&
                offsetof(Moments, n) == kCounts * sizeof(double));
  MaskedRows in{reinterpret_cast<const double*>(view.point.data()),
                sizeof(Moments) / sizeof(double),
                masks_.data(),
                stride_ / kLanes,
                rows_.data(),
                rows_.size()};
  add_masked_two(in, 0, out.one_w.data(), out.one_s.data());
  add_masked_one(in.behind(kSquares), 0, out.one_q.data());
  if (counts_) add_masked_one(in.behind(kCounts), 0, out.one_n.data());
  out.all = Moments{};
  for (std::uint32_t i : rows_) out.all.add(view.point[i]);
  picked_.resize(rows_.size() + 1);
  for (std::size_t k = 0; k < columns_; ++k) {
    const std::uint32_t* codes = view.codes(k);
    // The lighter side is added up.
    const bool direct = 2 * out.one_w[k] <= out.all.w;
    std::size_t count = 0;
    for (std::uint32_t i : rows_) {
      picked_[count] = i;
      count += (codes[i] != 0) == direct;
    }
    in.row = picked_.data();
    in.rows = count;
    double *w = out.w.data() + k * stride_, *s = out.s.data() + k * stride_;
    add_masked_two(in, k / kLanes, w, s);
    double* n = counts_ ? out.n.data() + k * stride_ : nullptr;
    if (n) add_masked_one(in.behind(kCounts), k / kLanes, n);
    if (direct) continue;
    const std::size_t first = k / kLanes * kLanes;
    if (n) differences(out.one_n.data() + first, n + first, stride_ - first, n + first);
    differences(out.one_w.data() + first, w + first, stride_ - first, w + first);
    differences(out.one_s.data() + first, s + first, stride_ - first, s + first);
  }
}

void PairSums::subtract(const Sums& from, const Sums& part, Sums& out) const {
  reserve(out);
  differences(from.one_w.data(), part.one_w.data(), stride_, out.one_w.data());
  differences(from.one_s.data(), part.one_s.data(), stride_, out.one_s.data());
  for (std::size_t k = 0; k < columns_; ++k) {
    out.one_q.data()[k] = from.one_q.data()[k] - part.one_q.data()[k];
    const std::size_t first = k * stride_ + k / kLanes * kLanes,
                      count = stride_ - k / kLanes * kLanes;
    differences(from.w.data() + first, part.w.data() + first, count, out.w.data() + first);
    differences(from.s.data() + first, part.s.data() + first, count, out.s.data() + first);
    if (counts_)
      differences(from.n.data() + first, part.n.data() + first, count, out.n.data() + first);
  }
  if (counts_) differences(from.one_n.data(), part.one_n.data(), stride_, out.one_n.data());
  out.all = from.all;
  out.all.subtract(part.all);
}

void PairSums::score(Sums& sums, bool counts, const Allowed& allowed) const {
  std::fill(sums.best_one.data(), sums.best_one.data() + stride_, -kNever);
  std::fill(sums.best_none.data(), sums.best_none.data() + stride_, -kNever);
  using Version = void (*)(const ScoreRow&);
  const auto pick = [counts](Version of_squares, Version of_counts) {
    return counts ? of_counts : of_squares;
  };
  const auto plain = pick(score_squares, score_counts);
  auto ruled = pick(score_some_squares, score_some_counts);
  if (allowed.least > 0) ruled = pick(score_sized_squares, score_sized_counts);
  const std::size_t blocks = stride_ / kLanes;
  for (std::size_t k = 0; k < columns_; ++k) {
    const double* w = sums.w.data() + k * stride_;
    ScoreRow row{k,
                 stride_,
                 w,
                 sums.s.data() + k * stride_,
                 counts_ ? sums.n.data() + k * stride_ : w,
                 sums.one_w.data(),
                 sums.one_s.data(),
                 counts_ ? sums.one_n.data() : sums.one_w.data(),
                 sums.all.w,
                 sums.all.s,
                 counts_ ? sums.all.n : sums.all.w,
                 sums.best_one.data(),
                 sums.best_none.data(),
                 nullptr,
                 nullptr,
                 allowed.least};
    if (allowed.any) {
      plain(row);
      continue;
    }
    row.below = allowed.below.data() + k * blocks;
    row.above = allowed.above.data() + k * blocks;
    ruled(row);
  }
}

}  // namespace odt
