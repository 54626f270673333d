// The scans of one inner feature for a cut of the outer one, by kind of loss, and the sums they
// start from.
#include <cstdlib>

#include "odt/depth_two.hpp"

namespace odt {

// Class counts (or losses per label) of the rows on each side of a cut, and the loss of making each
// side a leaf.
void DepthTwo::totals(View& view, std::size_t outer, std::int32_t cut) {
  const std::int32_t rows = static_cast<std::int32_t>(view.rows());
  left_rows_ = left_size_ = cut;
  right_rows_ = right_size_ = rows - cut;
  if (data_->loss.kind == LossKind::signed_two) return totals_signed(view, outer, cut);
  if (data_->loss.margins > 0) totals_margins(view, outer, cut);
  if (data_->loss.kind == LossKind::general)
    return data_->loss.fits32() ? totals_labels(view, outer, cut, data_->loss.narrow.data())
                                : totals_labels(view, outer, cut, data_->loss.wide.data());
  const std::size_t stride = static_cast<std::size_t>(view.stride());
  const std::uint64_t* classes = view.classes(outer);
  const std::uint64_t* all = view.all(outer);
  // One side is counted, the one with fewer rows; the first cut of a view, behind all of its rows,
  // counts them all.
  const bool whole = cut == rows, left = whole || 2 * cut <= rows;
  std::int32_t* here = left ? left_count_ : right_count_;
  std::int32_t* there = left ? right_count_ : left_count_;
  std::int32_t counted = 0;
  std::fill(here, here + 16, 0);
  const std::size_t at = static_cast<std::size_t>(cut) / kBlock;
  const std::uint64_t below = low_bits(static_cast<std::size_t>(cut) % kBlock);
  const auto add = [&](std::size_t w, std::uint64_t mask) {
    for (std::size_t c = 0; c < stride; ++c)
      here[c] += popcount(classes[w * stride + c] & mask & all[w]);
    if (view.idle()) counted += popcount(all[w] & mask);
  };
  if (left) {
    for (std::size_t w = 0; w < at; ++w) add(w, ~0ULL);
    if (below != 0) add(at, below);
  } else {
    add(at, ~below);
    for (std::size_t w = at + 1; w < view.words(); ++w) add(w, ~0ULL);
  }
  if (!view.idle()) counted = left ? cut : rows - cut;
  if (whole) {
    std::copy(here, here + 16, all_count_);
    all_rows_ = counted;
  }
  for (std::size_t c = 0; c < 16; ++c) there[c] = all_count_[c] - here[c];
  (left ? left_rows_ : right_rows_) = counted;
  (left ? right_rows_ : left_rows_) = all_rows_ - counted;
  if (stride == 1) {
    leaf_left_ = each_ * std::min(left_count_[0], left_rows_ - left_count_[0]);
    leaf_right_ = each_ * std::min(right_count_[0], right_rows_ - right_count_[0]);
  } else {
    leaf_left_ = each_ * (left_rows_ - *std::max_element(left_count_, left_count_ + 16));
    leaf_right_ = each_ * (right_rows_ - *std::max_element(right_count_, right_count_ + 16));
  }
}

Loss DepthTwo::leaf_loss(View& view) {
  begin(view);
  totals(view, 0, static_cast<std::int32_t>(view.rows()));
  return leaf_left_ + price_;
}

// One scan per inner feature, up to its last cut. `best` are in and out, `floor` say what no split
// by this feature undercuts.
void DepthTwo::scan(View& view, std::size_t inner, const std::uint64_t* left, Loss& best_left,
                    Loss& best_right, Loss& floor_left, Loss& floor_right) {
  ++counters_.scans;
  if (data_->loss.kind == LossKind::signed_two)
    return scan_signed(view, inner, left, best_left, best_right, floor_left, floor_right);
  if (data_->loss.margins > 0 && (rough_ || data_->loss.shift == 0))
    return scan_margins(view, inner, left, best_left, best_right, floor_left, floor_right);
  if (data_->loss.kind == LossKind::general)
    return data_->loss.fits32() ? scan_labels(view, inner, left, best_left, best_right, floor_left,
                                              floor_right, data_->loss.narrow.data())
                                : scan_labels(view, inner, left, best_left, best_right, floor_left,
                                              floor_right, data_->loss.wide.data());
  const Kernels& k = data_->kernels;
  // Best losses may be negative or huge (a price, a side that must not be split); the kernels count
  // errors in 32 bits. As many errors lose less than x if they are fewer than x / each, rounded up.
  const std::int32_t rows = static_cast<std::int32_t>(view.rows());
  const auto clamp = [rows, this](Loss x) {
    return static_cast<std::int32_t>(
        x < 0 ? -1 : std::min<Loss>(x / each_ + (x % each_ != 0), rows + 1));
  };
  const std::int32_t target_left = clamp(best_left), target_right = clamp(best_right);
  if (view.stride() == 1) {
    const TwoClassScan s{left,
                         view.all(inner),
                         view.classes(inner),
                         {ends_[0], ends_[1]},
                         view.rows(),
                         view.words_to_cut(inner),
                         2 * left_count_[0] - left_rows_,
                         2 * right_count_[0] - right_rows_};
    TwoClassGain g{left_rows_ - 2 * target_left, right_rows_ - 2 * target_right, 0, 0, 0};
    k.two_class(s, g);
    counters_.blocks += g.opened;
    const std::int32_t new_left = (left_rows_ - g.left) / 2,
                       new_right = (right_rows_ - g.right) / 2;
    if (new_left < target_left) best_left = each_ * new_left;
    if (new_right < target_right) best_right = each_ * new_right;
    floor_left = each_ * ((left_rows_ - g.left_cap) / 2);
    floor_right = each_ * ((right_rows_ - g.right_cap) / 2);
    return;
  }
  const MultiClassScan s{left,
                         view.all(inner),
                         view.classes(inner),
                         {ends_[0], ends_[1]},
                         view.rows(),
                         view.words_to_cut(inner),
                         labels_,
                         view.stride(),
                         left_count_,
                         right_count_,
                         left_rows_,
                         right_rows_,
                         scratch_.data()};
  MultiClassLoss l{target_left, target_right, 0, 0, 0};
  k.multi_class(s, l);
  counters_.blocks += l.opened;
  if (l.left < target_left) best_left = each_ * l.left;
  if (l.right < target_right) best_right = each_ * l.right;
  floor_left = each_ * l.left_floor;
  floor_right = each_ * l.right_floor;
}

// Rows of each class that pass each column.
void DepthTwo::count_columns(View& view) {
  if (data_->columns.empty()) return;
  ColumnScan s{};
  std::uint64_t* all = mask_.data();
  std::copy(view.all(0), view.all(0) + view.words(), all);
  s.left = all;
  s.columns = view.columns();
  s.classes = view.classes(0);
  s.words = view.words();
  s.stride = data_->column_stride();
  s.class_count = std::max(labels_, 2);
  s.class_stride = view.stride();
  data_->kernels.column_counts(
      s, column_counts_.reserve(static_cast<std::size_t>(s.class_count) * s.stride));
}

// Stumps of all few-valued features at once; `left` is in the order of feature 0.
void DepthTwo::scan_columns(View& view, const std::uint64_t* left, bool large,
                            const Open& open_left, const Open& open_right, Loss& best_left,
                            Loss& best_right) {
  ++counters_.column_scans;
  const ColumnScan s{left,
                     view.columns(),
                     view.classes(0),
                     view.words(),
                     data_->column_stride(),
                     std::max(labels_, 2),
                     view.stride(),
                     column_counts_.data(),
                     left_count_,
                     right_count_,
                     left_rows_,
                     right_rows_,
                     large && !view.idle() ? least_ : 1,
                     {open_left.lanes.data(), open_right.lanes.data()}};
  ColumnBest best{0, 0};
  data_->kernels.columns(s, best);
  // None right: no test may stand.
  if (best.left > 0) best_left = std::min<Loss>(best_left, each_ * (left_rows_ - best.left));
  if (best.right > 0) best_right = std::min<Loss>(best_right, each_ * (right_rows_ - best.right));
}

// With v = loss of label 0 minus loss of label 1, rows lose (sum of |v| - |sum of v|) / 2 in one
// leaf.
void DepthTwo::totals_signed(View& view, std::size_t outer, std::int32_t cut) {
  const std::int32_t* value = view.values(outer);
  left_sum_ = right_sum_ = left_weight_ = right_weight_ = 0;
  for (std::int32_t i = 0; i < cut; ++i) {
    left_sum_ += value[i];
    left_weight_ += std::abs(value[i]);
  }
  for (std::int32_t i = cut; i < static_cast<std::int32_t>(view.rows()); ++i) {
    right_sum_ += value[i];
    right_weight_ += std::abs(value[i]);
  }
  leaf_left_ = (left_weight_ - std::abs(left_sum_)) / 2;
  leaf_right_ = (right_weight_ - std::abs(right_sum_)) / 2;
}

void DepthTwo::scan_signed(View& view, std::size_t inner, const std::uint64_t* left,
                           Loss& best_left, Loss& best_right, Loss& floor_left, Loss& floor_right) {
  const auto clamp = [](Loss x, std::int32_t most) {
    return static_cast<std::int32_t>(std::max<Loss>(-1, std::min<Loss>(x, most + 1)));
  };
  const std::int32_t target_left = clamp(best_left, left_weight_),
                     target_right = clamp(best_right, right_weight_);
  const SignedScan s{left,
                     view.values(inner),
                     view.block_sums(inner),
                     view.block_ups(inner),
                     {ends_[0], ends_[1]},
                     view.rows(),
                     view.words_to_cut(inner),
                     left_sum_,
                     right_sum_};
  TwoClassGain g{left_weight_ - 2 * target_left, right_weight_ - 2 * target_right, 0, 0, 0};
  data_->kernels.signed_two(s, g);
  counters_.blocks += g.opened;
  const std::int32_t new_left = (left_weight_ - g.left) / 2,
                     new_right = (right_weight_ - g.right) / 2;
  if (new_left < target_left) best_left = new_left;
  if (new_right < target_right) best_right = new_right;
  floor_left = (left_weight_ - g.left_cap) / 2;
  floor_right = (right_weight_ - g.right_cap) / 2;
}

void DepthTwo::totals_margins(View& view, std::size_t outer, std::int32_t cut) {
  const std::size_t words = MarginScan::upto_stride(view.words()), n = data_->loss.margins,
                    at = static_cast<std::size_t>(cut) / kBlock;
  const std::int32_t* value = view.margins(outer);
  for (std::size_t k = 0; k <= n; ++k) {
    const std::int32_t* upto = view.margins_upto(outer) + k * words;
    left_margins_[k] = upto[at];
    right_margins_[k] = upto[view.words()];
  }
  for (std::size_t i = at * kBlock; i < static_cast<std::size_t>(cut); ++i) {
    std::int32_t least = 0;
    for (std::size_t k = 0; k < n; ++k) {
      const std::int32_t v = value[k * view.margin_stride() + i];
      left_margins_[k] += v;
      least = std::min(least, v);
    }
    left_margins_[n] += least;
  }
  for (std::size_t k = 0; k <= n; ++k) right_margins_[k] -= left_margins_[k];
}

void DepthTwo::scan_margins(View& view, std::size_t inner, const std::uint64_t* left,
                            Loss& best_left, Loss& best_right, Loss& floor_left,
                            Loss& floor_right) {
  const int shift = data_->loss.shift;
  // As many steps lose less than x if they are fewer than x in steps, rounded up.
  const auto clamp = [shift](Loss x) {
    if (x < 0) return std::int32_t{-1};
    return static_cast<std::int32_t>(
        std::min<Loss>(x - 1, Loss{MarginScan::kNone} << shift) >> shift) + 1;
  };
  const std::int32_t target_left = clamp(best_left), target_right = clamp(best_right);
  MarginScan s{};
  s.left = left;
  s.value = view.margins(inner);
  s.upto = view.margins_upto(inner);
  s.ends[0] = ends_[0];
  s.ends[1] = ends_[1];
  s.stride = view.margin_stride();
  s.upto_words = MarginScan::upto_stride(view.words());
  s.words = view.words_to_cut(inner);
  s.margins = static_cast<int>(data_->loss.margins);
  s.left_total = left_margins_;
  s.right_total = right_margins_;
  LabelLoss<std::int32_t> l{target_left, target_right, 0, 0, 0};
  data_->kernels.margin_scan(s, l);
  counters_.blocks += l.opened;
  if (l.left < target_left) best_left = Loss{l.left} << shift;
  if (l.right < target_right) best_right = Loss{l.right} << shift;
  floor_left = Loss{l.left_floor} << shift;
  floor_right = Loss{l.right_floor} << shift;
}

// Whole blocks by their sums, then the rows around the cut.
template <class T>
void DepthTwo::totals_labels(View& view, std::size_t outer, std::int32_t cut, const T* table) {
  const std::size_t lanes = data_->loss.lanes, rows = static_cast<std::size_t>(cut);
  LabelSums<T>& sums = label_sums<T>();
  T* left = sums.left.reserve(lanes);
  T* right = sums.right.reserve(lanes);
  std::fill(left, left + lanes, T{0});
  std::fill(right, right + lanes, T{0});
  const T* block = view.template label_sums<T>(outer);
  const std::int32_t* kind = view.values(outer);
  for (std::size_t w = 0; w < view.words(); ++w, block += lanes) {
    if ((w + 1) * kBlock <= rows || w * kBlock >= rows) {
      T* side = w * kBlock >= rows ? right : left;
      for (std::size_t c = 0; c < lanes; ++c) side[c] += block[c];
      continue;
    }
    for (std::size_t i = w * kBlock; i < rows; ++i) {
      const T* row = table + static_cast<std::size_t>(kind[i]) * lanes;
      for (std::size_t c = 0; c < lanes; ++c) left[c] += row[c], right[c] -= row[c];
    }
    for (std::size_t c = 0; c < lanes; ++c) right[c] += block[c];
  }
  leaf_left_ = *std::min_element(left, left + lanes);
  leaf_right_ = *std::min_element(right, right + lanes);
}

template <class T>
void DepthTwo::scan_labels(View& view, std::size_t inner, const std::uint64_t* left,
                           Loss& best_left, Loss& best_right, Loss& floor_left, Loss& floor_right,
                           const T* table) {
  const std::size_t lanes = data_->loss.lanes;
  LabelSums<T>& sums = label_sums<T>();
  // Beyond what all rows of a side can lose, a target says nothing.
  const auto clamp = [](Loss x, T most) {
    return static_cast<T>(std::max<Loss>(-1, std::min<Loss>(x, Loss{most} + 1)));
  };
  const T target_left = clamp(best_left, sums.left[lanes - 1]),
          target_right = clamp(best_right, sums.right[lanes - 1]);
  LabelScan<T> s{};
  s.left = left;
  s.kind = view.values(inner);
  s.table = table;
  s.block_sum = view.template label_sums<T>(inner);
  s.ends[0] = ends_[0];
  s.ends[1] = ends_[1];
  s.rows = view.rows();
  s.words = view.words_to_cut(inner);
  s.lanes = lanes;
  s.left_total = sums.left.data();
  s.right_total = sums.right.data();
  s.scratch = sums.scratch.reserve((s.words + 1) * (2 * lanes + 4));
  s.spare = sums.spare.reserve(4 * lanes);
  s.none = std::numeric_limits<T>::max() / 4;
  LabelLoss<T> l{target_left, target_right, 0, 0, 0};
  label_scan(data_->kernels, s, l);
  counters_.blocks += l.opened;
  if (l.left < target_left) best_left = l.left;
  if (l.right < target_right) best_right = l.right;
  floor_left = l.left_floor;
  floor_right = l.right_floor;
}

}  // namespace odt
