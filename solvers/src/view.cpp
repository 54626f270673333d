#include "odt/view.hpp"

namespace odt {

View::View() = default;
View::~View() = default;

void View::make_root(const Dataset& data, bool keep_pairs, bool keep_order) {
  keep_order_ = keep_order;
  prepare(data, keep_pairs);
  parent_ = nullptr;
  root_ = this;
  looked_up_ = std::vector<std::atomic<std::size_t>>(p_);
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

void View::make_child(View& parent, std::size_t feature, std::uint32_t bound, std::uint32_t counted,
                      bool left) {
  keep_order_ = parent.keep_order_;
  prepare(*parent.data_, parent.keep_pairs_);
  parent_ = &parent;
  root_ = parent.root_;
  const bool by_pairs = parent.cuts_by_pairs(feature);
  for (std::size_t f = 0; f < p_; ++f) {
    std::uint64_t* keep = keep_[f].reserve(parent.words_);
    parent.rows_below(feature, f, bound, by_pairs, keep);
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

Ranks View::pair(std::size_t outer, std::size_t inner) {
  Pair& pair = slot(outer, inner);
  if (pair.stamp == stamp_ && pair.outer == outer) return ranks_of(pair);
  pair.stamp = stamp_;
  pair.outer = outer;
  if (parent_ == nullptr || !keep_pairs_) {
    gather(outer, inner);
  } else {
    const Ranks from = parent_->pair(outer, inner);
    if (from.is_narrow())
      filter_pair(from.narrow(), inner, pair, outer != inner);
    else
      filter_pair(from.wide(), inner, pair, outer != inner);
  }
  return ranks_of(pair);
}

void View::make_all_pairs() {
  if (!keep_pairs_) return;
  for (std::size_t i = 0; i < p_; ++i)
    for (std::size_t j = 0; j < p_; ++j) pair(i, j);
}

// A pair takes that of every view above. Where a tree is grown, most features are cut at few nodes:
// on few rows, looking these up takes less time than the memory of all the pairs.
bool View::cuts_by_pairs(std::size_t outer) {
  constexpr std::size_t kFewCells = 1 << 16, kTimes = 4;
  if (!keep_pairs_) return false;
  if (!keep_order_ || root_->rows_ * p_ > kFewCells) return true;
  std::atomic<std::size_t>& looked_up = root_->looked_up_[outer];
  if (looked_up.load(std::memory_order_relaxed) >= kTimes * root_->rows_) return true;
  looked_up.fetch_add(rows_, std::memory_order_relaxed);
  return false;
}

void View::rows_below(std::size_t outer, std::size_t inner, std::uint32_t bound, bool by_pairs,
                      std::uint64_t* out) {
  if (by_pairs || outer == inner)
    return below(data_->kernels, pair(outer, inner), words_, bound, out);
  const std::uint32_t* rank = data_->problem.ranks(outer);
  const std::uint32_t* order = order_[inner].data();
  for (std::size_t w = 0; w < words_; ++w) {
    const std::size_t from = w * kBlock, count = std::min(kBlock, rows_ - from);
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < count; ++i)
      bits |= static_cast<std::uint64_t>(rank[order[from + i]] < bound) << i;
    out[w] = bits;
  }
}

void View::prepare(const Dataset& data, bool keep_pairs) {
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
  margins_.resize(p_);
  margins_upto_.resize(p_);
  wide_label_sums_.resize(p_);
  words_to_cut_.resize(p_);
}

void View::set_all() {
  idle_ = false;
  std::uint64_t* all = all_.reserve(words_ + kBlock / 8);
  for (std::size_t w = 0; w < words_; ++w) all[w] = valid_bits(rows_, w);
}

void View::set_counted(std::size_t feature, std::uint32_t counted, bool left) {
  idle_ = true;
  counted_.resize(p_);
  for (std::size_t f = 0; f < p_; ++f) {
    std::uint64_t* bits = count_.reserve(parent_->words_);
    parent_->rows_below(feature, f, counted, keep_pairs_, bits);
    for (std::size_t w = 0; w < parent_->words_; ++w)
      bits[w] = (left ? bits[w] : ~bits[w]) & parent_->all(f)[w];
    data_->kernels.compress_bits(bits, parent_->words_, 1, keep_[f].data(),
                                 counted_[f].reserve(words_ + kBlock / 8));
  }
}

template <class R>
void View::filter_pair(const R* from, std::size_t inner, Pair& pair, bool shorter) {
  R* to = reinterpret_cast<R*>(pair.ranks.reserve((words_ + 2) * kBlock * sizeof(R)));
  const Kernels& k = data_->kernels;
  const std::uint64_t* keep = keep_[inner].data();
  const bool whole = !scan_only_ || !shorter || (inner == 0 && !data_->columns.empty());
  std::size_t words = whole ? parent_->words_ : parent_->words_to_cut(inner);
  std::size_t rows = compress(k, from, words, keep, to);
  for (; rows % kBlock != 0 && words < parent_->words_; ++words)
    rows += compress(k, from + words * kBlock, 1, keep + words, to + rows);
  if (words == parent_->words_) pad(to);
}

void View::gather(std::size_t outer, std::size_t inner) {
  Pair& pair = slot(outer, inner);
  if (data_->narrow)
    gather<std::uint16_t>(pair, outer, inner);
  else
    gather<std::uint32_t>(pair, outer, inner);
  pair.stamp = stamp_;
  pair.outer = outer;
}

template <class R>
void View::gather(Pair& pair, std::size_t outer, std::size_t inner) {
  R* to = reinterpret_cast<R*>(pair.ranks.reserve((words_ + 2) * kBlock * sizeof(R)));
  const std::uint32_t* rank = data_->problem.ranks(outer);
  const std::uint32_t* order = order_[inner].data();
  for (std::size_t i = 0; i < rows_; ++i) to[i] = static_cast<R>(rank[order[i]]);
  pad(to);
}

void View::filter(std::size_t f) {
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
    std::uint64_t* classes = classes_[f].reserve((words_ + 1) * static_cast<std::size_t>(stride_));
    k.compress_bits(parent_->classes_[f].data(), parent_->words_, stride_, keep, classes);
  }
  set_values(f, keep);
  pair(f, f);
  set_ends(f);
}

void View::set_values(std::size_t f, const std::uint64_t* keep) {
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
  if (loss.margins > 0) set_margins(f, keep);
  if (loss.fits32())
    set_label_sums(f, to, loss.narrow.data());
  else
    set_label_sums(f, to, loss.wide.data());
}

template <class T>
void View::set_label_sums(std::size_t f, const std::int32_t* kinds, const T* table) {
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

void View::set_margins(std::size_t f, const std::uint64_t* keep) {
  const LossModel& loss = data_->loss;
  const std::size_t stride = margin_stride();
  std::int32_t* to = margins_[f].reserve(loss.margins * stride);
  for (std::size_t k = 0; k < loss.margins; ++k) {
    std::int32_t* of = to + k * stride;
    if (keep) {
      const std::int32_t* from = parent_->margins_[f].data() + k * parent_->margin_stride();
      compress(data_->kernels, reinterpret_cast<const std::uint32_t*>(from), parent_->words_, keep,
               reinterpret_cast<std::uint32_t*>(of));
    } else {
      const std::int32_t* kind = values_[f].data();
      for (std::size_t i = 0; i < rows_; ++i)
        of[i] = loss.margin[static_cast<std::size_t>(kind[i]) * loss.margins + k];
    }
    std::fill(of + rows_, of + stride, 0);
  }
  MarginScan scan{};
  scan.value = to;
  scan.stride = stride;
  scan.words = words_;
  scan.margins = static_cast<int>(loss.margins);
  data_->kernels.margin_upto(
      scan,
      margins_upto_[f].reserve((loss.margins + 1) * MarginScan::upto_stride(words_)));
}

void View::set_signed_sums(std::size_t f, const std::int32_t* to) {
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

void View::set_columns() {
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

void View::set_classes_from_labels(std::size_t f) {
  if (stride_ == 0) return;
  const std::size_t stride = static_cast<std::size_t>(stride_);
  std::uint64_t* classes = classes_[f].reserve((words_ + 1) * stride);
  std::memset(classes, 0, words_ * stride * sizeof *classes);
  const int* label = data_->problem.label.data();
  const std::uint32_t* order = order_[f].data();
  for (std::size_t i = 0; i < rows_; ++i) {
    const int of = label[order[i]];
    if (stride_ > 1)
      classes[i / kBlock * stride + static_cast<std::size_t>(of)] |= 1ULL << (i % kBlock);
    else
      classes[i / kBlock] |= static_cast<std::uint64_t>(of == 1) << (i % kBlock);
  }
}

void View::set_ends(std::size_t f) {
  std::uint64_t* ends = ends_[f].reserve(words_);
  const Ranks ranks = sorted(f);
  if (ranks.is_narrow())
    data_->kernels.changes16(ranks.narrow(), words_, ends);
  else
    data_->kernels.changes32(ranks.wide(), words_, ends);
  ends[words_ - 1] &= low_bits(rows_ - 1 - (words_ - 1) * kBlock);
  if (!data_->allowed_upto[f].empty()) keep_allowed_ends(f, ends, ranks);
  words_to_cut_[f] = words_;
  while (words_to_cut_[f] > 0 && ends[words_to_cut_[f] - 1] == 0) --words_to_cut_[f];
}

void View::keep_allowed_ends(std::size_t f, std::uint64_t* ends, Ranks ranks) const {
  for (std::size_t w = 0; w < words_; ++w)
    for (std::uint64_t bits = ends[w]; bits; bits &= bits - 1) {
      const std::size_t i = w * kBlock + static_cast<std::size_t>(__builtin_ctzll(bits));
      if (!data_->gap_allowed(f, ranks[i], ranks[i + 1])) ends[w] &= ~(1ULL << (i % kBlock));
    }
}

}  // namespace odt
