// The rows of one node, in the order of every feature.
//
// For a pair of features, pair(outer, inner) holds the outer ranks in the inner feature's order:
// the comparison of one such array with a bound says, in inner order, which rows an outer cut sends
// left. Children filter their parent's arrays instead of gathering anew; an array is made when it
// is first asked for.
#pragma once

#include <cassert>
#include <cstring>
#include <limits>
#include <vector>

#include "odt/aligned.hpp"
#include "odt/dataset.hpp"

namespace odt {

template <class R>
class View {
 public:
  static constexpr R kPad = std::numeric_limits<R>::max();

  // `keep_order`: order() is asked for at all nodes.
  void make_root(const Dataset& data, bool keep_pairs, bool keep_order = false) {
    keep_order_ = keep_order;
    prepare(data, keep_pairs);
    parent_ = nullptr;
    rows_ = data.rows();
    words_ = words_of(rows_);
    for (std::size_t f = 0; f < p_; ++f) {
      std::uint32_t* order = order_[f].reserve((words_ + 1) * kBlock);
      std::memcpy(order, data.order.data() + f * rows_, rows_ * sizeof *order);
      gather(f, f);
      set_classes_from_labels(f);
      set_values(f, nullptr);
      set_ends(f);
      data.look(f);
    }
    set_columns();
    set_all();
  }

  // The parent's rows whose rank of `feature` is below `bound` (or, if not `left`, the others).
  void make_child(View& parent, std::size_t feature, R bound, bool left) {
    make_child(parent, feature, bound, bound, left);
  }

  // The same, of which only those count whose rank is below `counted` (or not below it): the others
  // make leaves large but lose nothing.
  void make_child(View& parent, std::size_t feature, R bound, R counted, bool left) {
    keep_order_ = parent.keep_order_;
    prepare(*parent.data_, parent.keep_pairs_);
    parent_ = &parent;
    for (std::size_t f = 0; f < p_; ++f) {
      std::uint64_t* keep = keep_[f].reserve(parent.words_);
      parent.rows_below(feature, f, bound, keep);
      if (!left)
        for (std::size_t w = 0; w < parent.words_; ++w) keep[w] = ~keep[w];
      keep[parent.words_ - 1] &= valid_bits(parent.rows_, parent.words_ - 1);
      filter(f);
    }
    set_all();
    if (parent.idle_ || counted != bound) set_counted(feature, counted, left);
    if (!data_->columns.empty())
      data_->kernels.compress_bits(parent.columns(), parent.words_,
                                   static_cast<int>(data_->column_stride()), keep_[0].data(),
                                   columns_.reserve((words_ + 1) * data_->column_stride()));
  }

  // Promises that the view has no children and that feature f as the inner one is asked no further
  // than words_to_cut(f), but for feature 0 with 0/1 tests: pairs are then made no longer than
  // that.
  void scan_only() { scan_only_ = true; }

  const Dataset& data() const { return *data_; }
  std::size_t rows() const { return rows_; }
  std::size_t words() const { return words_; }
  std::size_t features() const { return p_; }
  int stride() const { return stride_; }
  const std::uint32_t* order(std::size_t f) const { return order_[f].data(); }
  const std::uint64_t* classes(std::size_t f) const { return classes_[f].data(); }
  const std::uint64_t* ends(std::size_t f) const { return ends_[f].data(); }
  // The rows that count, and whether there are others.
  const std::uint64_t* all(std::size_t f) const { return idle_ ? counted_[f].data() : all_.data(); }
  bool idle() const { return idle_; }
  // Per row, its signed loss or its kind of loss.
  const std::int32_t* values(std::size_t f) const { return values_[f].data(); }
  // Sums of the losses of each block, where they are vectors.
  template <class T>
  const T* label_sums(std::size_t f) const {
    return label_sums_of<T>()[f].data();
  }
  const std::int32_t* block_sums(std::size_t f) const { return block_sum_[f].data(); }
  const std::int32_t* block_ups(std::size_t f) const { return block_up_[f].data(); }
  // Bitmaps of the data's columns, in the order of feature 0.
  const std::uint64_t* columns() const { return columns_.data(); }
  const R* sorted(std::size_t f) const { return pair_[keep_pairs_ ? f * p_ + f : f].ranks.data(); }
  bool splittable(std::size_t f) const { return words_to_cut_[f] != 0; }
  // The words up to the last one with an end: no cut stands behind them.
  std::size_t words_to_cut(std::size_t f) const { return words_to_cut_[f]; }

  const R* pair(std::size_t outer, std::size_t inner) {
    Pair& pair = slot(outer, inner);
    if (pair.stamp == stamp_ && pair.outer == outer) return pair.ranks.data();
    pair.stamp = stamp_;
    pair.outer = outer;
    if (parent_ == nullptr || !keep_pairs_) {
      gather(outer, inner);
    } else {
      filter_pair(parent_->pair(outer, inner), inner, pair.ranks.reserve((words_ + 2) * kBlock),
                  outer != inner);
    }
    return pair.ranks.data();
  }

  // Makes every array, so that threads may read this view.
  void make_all_pairs() {
    if (!keep_pairs_) return;
    for (std::size_t i = 0; i < p_; ++i)
      for (std::size_t j = 0; j < p_; ++j) pair(i, j);
  }

 private:
  struct Pair {
    Aligned<R> ranks;
    std::uint64_t stamp = 0;
    std::size_t outer = 0;
  };

  // Without room for all pairs there is one array per inner feature, made anew for each outer one.
  Pair& slot(std::size_t outer, std::size_t inner) {
    if (keep_pairs_) return pair_[outer * p_ + inner];
    return outer == inner ? pair_[inner] : pair_[p_ + inner];
  }

  // In inner order, the rows whose outer rank is below a bound. Threads call this on a view they
  // share.
  void rows_below(std::size_t outer, std::size_t inner, R bound, std::uint64_t* out) {
    if (keep_pairs_ || outer == inner)
      return below(data_->kernels, pair(outer, inner), words_, bound, out);
    const std::uint32_t* rank = data_->problem.ranks(outer);
    const std::uint32_t* order = order_[inner].data();
    for (std::size_t w = 0; w < words_; ++w) out[w] = 0;
    for (std::size_t i = 0; i < rows_; ++i)
      out[i / kBlock] |= static_cast<std::uint64_t>(rank[order[i]] < bound) << (i % kBlock);
  }

  void prepare(const Dataset& data, bool keep_pairs) {
    ++stamp_;
    scan_only_ = false;
    if (data_ == &data) return;
    data_ = &data;
    keep_pairs_ = keep_pairs;
    p_ = data.features();
    const int c = data.problem.classes;
    stride_ = data.loss.kind == LossKind::two_class     ? 1
              : data.loss.kind == LossKind::multi_class ? (c <= 8 ? 8 : 16)
                                                        : 0;
    order_.resize(p_);
    classes_.resize(p_);
    ends_.resize(p_);
    keep_.resize(p_);
    pair_.resize(keep_pairs ? p_ * p_ : 2 * p_);
    values_.resize(p_);
    block_sum_.resize(p_);
    block_up_.resize(p_);
    label_sums_.resize(p_);
    wide_label_sums_.resize(p_);
    words_to_cut_.resize(p_);
  }

  void set_all() {
    idle_ = false;
    std::uint64_t* all = all_.reserve(words_ + kBlock / 8);
    for (std::size_t w = 0; w < words_; ++w) all[w] = valid_bits(rows_, w);
  }

  void set_counted(std::size_t feature, R counted, bool left) {
    idle_ = true;
    counted_.resize(p_);
    for (std::size_t f = 0; f < p_; ++f) {
      std::uint64_t* bits = count_.reserve(parent_->words_);
      parent_->rows_below(feature, f, counted, bits);
      for (std::size_t w = 0; w < parent_->words_; ++w)
        bits[w] = (left ? bits[w] : ~bits[w]) & parent_->all(f)[w];
      data_->kernels.compress_bits(bits, parent_->words_, 1, keep_[f].data(),
                                   counted_[f].reserve(words_ + kBlock / 8));
    }
  }

  // A cut here stands in one of the parent's gaps: behind the parent's last end there is none.
  void filter_pair(const R* from, std::size_t inner, R* to, bool shorter) {
    const Kernels& k = data_->kernels;
    const std::uint64_t* keep = keep_[inner].data();
    const bool whole = !scan_only_ || !shorter || (inner == 0 && !data_->columns.empty());
    std::size_t words = whole ? parent_->words_ : parent_->words_to_cut(inner);
    std::size_t rows = compress(k, from, words, keep, to);
    for (; rows % kBlock != 0 && words < parent_->words_; ++words)
      rows += compress(k, from + words * kBlock, 1, keep + words, to + rows);
    if (words == parent_->words_) pad(to);
  }

  void pad(R* ranks) const {
    for (std::size_t i = rows_; i < (words_ + 1) * kBlock; ++i) ranks[i] = kPad;
  }

  void gather(std::size_t outer, std::size_t inner) {
    Pair& pair = slot(outer, inner);
    R* to = pair.ranks.reserve((words_ + 2) * kBlock);
    const std::uint32_t* rank = data_->problem.ranks(outer);
    const std::uint32_t* order = order_[inner].data();
    for (std::size_t i = 0; i < rows_; ++i) to[i] = static_cast<R>(rank[order[i]]);
    pad(to);
    pair.stamp = stamp_;
    pair.outer = outer;
  }

  void filter(std::size_t f) {
    const Kernels& k = data_->kernels;
    const std::uint64_t* keep = keep_[f].data();
    if (f == 0) {
      rows_ = 0;
      for (std::size_t w = 0; w < parent_->words_; ++w)
        rows_ += static_cast<std::size_t>(popcount(keep[w]));
      words_ = words_of(rows_);
    }
    if (!keep_pairs_ || stride_ == 0 || keep_order_) {
      std::uint32_t* order = order_[f].reserve((words_ + 2) * kBlock);
      compress(k, parent_->order_[f].data(), parent_->words_, keep, order);
    }
    if (stride_ > 0) {
      std::uint64_t* classes =
          classes_[f].reserve((words_ + 1) * static_cast<std::size_t>(stride_));
      k.compress_bits(parent_->classes_[f].data(), parent_->words_, stride_, keep, classes);
    }
    set_values(f, keep);
    pair(f, f);
    set_ends(f);
  }

  // Losses in this feature's order, with the sums of each block.
  void set_values(std::size_t f, const std::uint64_t* keep) {
    if (data_->loss.unit()) return;
    const LossModel& loss = data_->loss;
    const std::vector<std::int32_t>& source =
        loss.kind == LossKind::signed_two ? loss.difference : loss.kind_of;
    std::int32_t* to = values_[f].reserve((words_ + 2) * kBlock);
    if (keep) {
      compress(data_->kernels, reinterpret_cast<const std::uint32_t*>(parent_->values_[f].data()),
               parent_->words_, keep, reinterpret_cast<std::uint32_t*>(to));
    } else {
      for (std::size_t i = 0; i < rows_; ++i) to[i] = source[order_[f][i]];
    }
    for (std::size_t i = rows_; i < (words_ + 1) * kBlock; ++i) to[i] = 0;
    if (loss.kind == LossKind::signed_two) return set_signed_sums(f, to);
    if (loss.fits32())
      set_label_sums(f, to, loss.narrow.data());
    else
      set_label_sums(f, to, loss.wide.data());
  }

  template <class T>
  void set_label_sums(std::size_t f, const std::int32_t* kinds, const T* table) {
    LabelScan<T> scan{};
    scan.kind = kinds;
    scan.table = table;
    scan.rows = rows_;
    scan.words = words_;
    scan.lanes = data_->loss.lanes;
    T* sums = label_sums_of<T>()[f].reserve((words_ + 4) * scan.lanes);
    scan.spare = sums + words_ * scan.lanes;
    label_blocks(data_->kernels, scan, sums);
  }
  template <class T>
  auto& label_sums_of() const {
    if constexpr (sizeof(T) == 4)
      return label_sums_;
    else
      return wide_label_sums_;
  }
  template <class T>
  auto& label_sums_of() {
    if constexpr (sizeof(T) == 4)
      return label_sums_;
    else
      return wide_label_sums_;
  }

  void set_signed_sums(std::size_t f, const std::int32_t* to) {
    std::int32_t* sum = block_sum_[f].reserve(words_);
    std::int32_t* up = block_up_[f].reserve(words_);
    for (std::size_t w = 0; w < words_; ++w) {
      sum[w] = up[w] = 0;
      for (std::size_t i = w * kBlock; i < (w + 1) * kBlock; ++i) {
        sum[w] += to[i];
        up[w] += to[i] > 0 ? to[i] : 0;
      }
    }
  }

  void set_columns() {
    const std::size_t stride = data_->column_stride();
    if (stride == 0) return;
    std::uint64_t* columns = columns_.reserve((words_ + 1) * stride);
    std::memset(columns, 0, (words_ + 1) * stride * sizeof *columns);
    for (std::size_t j = 0; j < data_->columns.size(); ++j) {
      const Column& column = data_->columns[j];
      const std::uint32_t* rank = data_->problem.ranks(column.feature);
      for (std::size_t i = 0; i < rows_; ++i)
        columns[i / kBlock * stride + j] |=
            static_cast<std::uint64_t>(rank[order_[0][i]] < column.bound) << (i % kBlock);
      data_->look(j);
    }
  }

  void set_classes_from_labels(std::size_t f) {
    if (stride_ == 0) return;
    const std::size_t stride = static_cast<std::size_t>(stride_);
    std::uint64_t* classes = classes_[f].reserve((words_ + 1) * stride);
    std::memset(classes, 0, words_ * stride * sizeof *classes);
    for (std::size_t i = 0; i < rows_; ++i) {
      const std::size_t label = static_cast<std::size_t>(data_->problem.label[order_[f][i]]);
      const std::uint64_t bit = 1ULL << (i % kBlock);
      if (stride_ > 1)
        classes[i / kBlock * stride + label] |= bit;
      else if (label == 1)
        classes[i / kBlock] |= bit;
    }
  }

  void set_ends(std::size_t f) {
    std::uint64_t* ends = ends_[f].reserve(words_);
    const R* ranks = sorted(f);
    changes(data_->kernels, ranks, words_, ends);
    ends[words_ - 1] &= low_bits(rows_ - 1 - (words_ - 1) * kBlock);
    if (!data_->allowed_upto[f].empty()) keep_allowed_ends(f, ends, ranks);
    words_to_cut_[f] = words_;
    while (words_to_cut_[f] > 0 && ends[words_to_cut_[f] - 1] == 0) --words_to_cut_[f];
  }

  void keep_allowed_ends(std::size_t f, std::uint64_t* ends, const R* ranks) const {
    for (std::size_t w = 0; w < words_; ++w)
      for (std::uint64_t bits = ends[w]; bits; bits &= bits - 1) {
        const std::size_t i = w * kBlock + static_cast<std::size_t>(__builtin_ctzll(bits));
        if (!data_->gap_allowed(f, ranks[i], ranks[i + 1])) ends[w] &= ~(1ULL << (i % kBlock));
      }
  }

  const Dataset* data_ = nullptr;
  View* parent_ = nullptr;
  bool keep_pairs_ = true, keep_order_ = false, idle_ = false, scan_only_ = false;
  std::size_t p_ = 0, rows_ = 0, words_ = 0;
  int stride_ = 1;
  std::uint64_t stamp_ = 0;
  std::vector<Aligned<std::uint32_t>> order_;
  std::vector<Aligned<std::uint64_t>> classes_, ends_, keep_;
  std::vector<Aligned<std::uint64_t>> counted_;
  Aligned<std::uint64_t> columns_, all_, count_;
  std::vector<Aligned<std::int32_t>> values_, block_sum_, block_up_, label_sums_;
  std::vector<Aligned<std::int64_t>> wide_label_sums_;
  std::vector<Pair> pair_;
  std::vector<std::size_t> words_to_cut_;
};

}  // namespace odt
