// The rows of one node, in the order of every feature.
//
// For a pair of features, pair(outer, inner) holds the outer ranks in the inner feature's order:
// the comparison of one such array with a bound says, in inner order, which rows an outer cut sends
// left. Children filter their parent's arrays instead of gathering anew; an array is made when it
// is first asked for.
#pragma once

#include <atomic>
#include <cassert>
#include <cstring>
#include <limits>
#include <vector>

#include "odt/aligned.hpp"
#include "odt/dataset.hpp"

namespace odt {

// Ranks one after another, of 16 bits where those of all features fit and else of 32.
class Ranks {
 public:
  Ranks(const void* at, bool narrow) : at_(at), narrow_(narrow) {}
  std::uint32_t operator[](std::size_t i) const { return narrow_ ? narrow()[i] : wide()[i]; }
  bool is_narrow() const { return narrow_; }
  const std::uint16_t* narrow() const { return static_cast<const std::uint16_t*>(at_); }
  const std::uint32_t* wide() const { return static_cast<const std::uint32_t*>(at_); }
  // Of sorted ranks, how many of the first `to` are below a bound; those before `from` are.
  std::size_t below(std::uint32_t bound, std::size_t to, std::size_t from = 0) const {
    while (from < to) {
      const std::size_t middle = from + (to - from) / 2;
      if ((*this)[middle] < bound)
        from = middle + 1;
      else
        to = middle;
    }
    return from;
  }

 private:
  const void* at_;
  bool narrow_;
};

// Which of them are below a bound, as bits.
inline void below(const Kernels& k, Ranks ranks, std::size_t words, std::uint32_t bound,
                  std::uint64_t* out) {
  if (ranks.is_narrow())
    k.below16(ranks.narrow(), words, static_cast<std::uint16_t>(bound), out);
  else
    k.below32(ranks.wide(), words, bound, out);
}

class View {
 public:
  static constexpr std::uint32_t kPad = ~std::uint32_t{0};  // above all ranks; also if cut short

  View();
  ~View();

  // `keep_order`: order() is asked for at all nodes.
  void make_root(const Dataset& data, bool keep_pairs, bool keep_order = false);

  // The parent's rows whose rank of `feature` is below `bound` (or, if not `left`, the others).
  void make_child(View& parent, std::size_t feature, std::uint32_t bound, bool left) {
    make_child(parent, feature, bound, bound, left);
  }

  // The same, of which only those count whose rank is below `counted` (or not below it): the others
  // make leaves large but lose nothing.
  void make_child(View& parent, std::size_t feature, std::uint32_t bound, std::uint32_t counted,
                  bool left);

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
  // Margins, label by label, and their sums ahead of each word: as a MarginScan has them.
  const std::int32_t* margins(std::size_t f) const { return margins_[f].data(); }
  const std::int32_t* margins_upto(std::size_t f) const { return margins_upto_[f].data(); }
  std::size_t margin_stride() const { return (words_ + 1) * kBlock; }
  // Bitmaps of the data's columns, in the order of feature 0.
  const std::uint64_t* columns() const { return columns_.data(); }
  Ranks sorted(std::size_t f) const { return ranks_of(pair_[keep_pairs_ ? f * p_ + f : f]); }
  bool splittable(std::size_t f) const { return words_to_cut_[f] != 0; }
  // The words up to the last one with an end: no cut stands behind them.
  std::size_t words_to_cut(std::size_t f) const { return words_to_cut_[f]; }

  Ranks pair(std::size_t outer, std::size_t inner);

  // Makes every array, so that threads may read this view.
  void make_all_pairs();

 private:
  struct Pair {
    Aligned<std::byte> ranks;
    std::uint64_t stamp = 0;
    std::size_t outer = 0;
  };

  Ranks ranks_of(const Pair& pair) const { return {pair.ranks.data(), data_->narrow}; }

  // Without room for all pairs there is one array per inner feature, made anew for each outer one.
  Pair& slot(std::size_t outer, std::size_t inner) {
    if (keep_pairs_) return pair_[outer * p_ + inner];
    return outer == inner ? pair_[inner] : pair_[p_ + inner];
  }

  // In inner order, the rows whose outer rank is below a bound: by pairs, or looked up one by one.
  // Threads call this on a view they share.
  void rows_below(std::size_t outer, std::size_t inner, std::uint32_t bound, bool by_pairs,
                  std::uint64_t* out);
  bool cuts_by_pairs(std::size_t outer);
  void prepare(const Dataset& data, bool keep_pairs);

  void set_all();
  void set_counted(std::size_t feature, std::uint32_t counted, bool left);

  // A cut here stands in one of the parent's gaps: behind the parent's last end there is none.
  template <class R>
  void filter_pair(const R* from, std::size_t inner, Pair& pair, bool shorter);

  template <class R>
  void pad(R* ranks) const {
    for (std::size_t i = rows_; i < (words_ + 1) * kBlock; ++i) ranks[i] = static_cast<R>(kPad);
  }

  void gather(std::size_t outer, std::size_t inner);
  template <class R>
  void gather(Pair& pair, std::size_t outer, std::size_t inner);
  void filter(std::size_t f);

  // Losses in this feature's order, with the sums of each block.
  void set_values(std::size_t f, const std::uint64_t* keep);

  template <class T>
  void set_label_sums(std::size_t f, const std::int32_t* kinds, const T* table);
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

  void set_margins(std::size_t f, const std::uint64_t* keep);
  void set_signed_sums(std::size_t f, const std::int32_t* to);
  void set_columns();

  void set_classes_from_labels(std::size_t f);
  void set_ends(std::size_t f);

  void keep_allowed_ends(std::size_t f, std::uint64_t* ends, Ranks ranks) const;

  const Dataset* data_ = nullptr;
  View *parent_ = nullptr, *root_ = nullptr;
  bool keep_pairs_ = true, keep_order_ = false, idle_ = false, scan_only_ = false;
  std::size_t p_ = 0, rows_ = 0, words_ = 0;
  int stride_ = 1;
  std::uint64_t stamp_ = 0;
  std::vector<Aligned<std::uint32_t>> order_;
  std::vector<Aligned<std::uint64_t>> classes_, ends_, keep_;
  std::vector<Aligned<std::uint64_t>> counted_;
  Aligned<std::uint64_t> columns_, all_, count_;
  std::vector<Aligned<std::int32_t>> values_, block_sum_, block_up_, label_sums_;
  std::vector<Aligned<std::int32_t>> margins_, margins_upto_;
  std::vector<Aligned<std::int64_t>> wide_label_sums_;
  std::vector<Pair> pair_;
  std::vector<std::size_t> words_to_cut_;
  // Of a root, which threads share: rows of it and its children, per outer feature.
  std::vector<std::atomic<std::size_t>> looked_up_;
};

// A pair array costs its rows times the width of a rank; beyond this much, children gather instead.
inline bool pairs_fit(const Dataset& data, std::size_t memory_limit) {
  const std::size_t limit = memory_limit ? memory_limit : std::size_t{1} << 28;
  return data.features() * data.features() * data.rows() * data.rank_bytes() * 3 <= limit;
}

}  // namespace odt
