// Sub-trees of which none is better than another: sorted by their weighted sum, without those that
// another dominates.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "odt/problem.hpp"

namespace odt {

// Left and right are nodes of the arena, or leaves as -1 - label. A leaf has no feature and its
// label in `left`.
struct Entry {
  Loss weighted = 0;
  std::uint64_t facts = 0;
  int feature = -1;
  std::uint32_t bound = 0;
  int left = 0, right = 0;
  std::uint32_t at = 0;  // its components in the pool
  double threshold = 0;  // where the cut comes out, if rules ask
};

// A split of a sub-tree that is kept; children are nodes, or leaves as -1 - label.
struct ArenaNode {
  int feature;
  std::uint32_t bound;
  int left, right;
  double threshold;
};

// What of sub-trees is compared: whether their weighted sums are, of their components these; facts
// of `wanted` are better set, facts of `unwanted` better clear.
struct FrontOrder {
  std::vector<std::size_t> components;
  std::uint64_t wanted = 0, unwanted = 0;
  bool value = true;
};

// `kValue` is the member of an entry that has its weighted sum.
template <class Entry, auto kValue>
class FrontOf {
 public:
  using Number = std::decay_t<decltype(std::declval<Entry>().*kValue)>;

  // Where what is around a sub-tree may yet set facts of `open`, only one that has them set already
  // makes another one superfluous.
  void clear(std::size_t components, const FrontOrder& order, std::uint64_t open = 0) {
    components_ = components;
    order_ = &order;
    open_ = open;
    entries_.clear();
    pool_.clear();
    free_.clear();
  }
  const std::vector<Entry>& entries() const { return entries_; }
  std::vector<Entry>& entries() { return entries_; }
  const Number* components(const Entry& e) const { return pool_.data() + e.at * components_; }
  bool empty() const { return entries_.empty(); }
  Number least(Number none) const { return empty() ? none : entries_.front().*kValue; }
  std::size_t bytes() const {
    return sizeof(*this) + entries_.size() * sizeof(Entry) + pool_.size() * sizeof(Number);
  }

  // Whether an entry of these facts and components would be of no use.
  bool covers(const Entry& e, const Number* values) const {
    for (const Entry& one : entries_) {
      if (order_->value && one.*kValue > e.*kValue) return false;
      if (dominates(one.facts, components(one), e.facts, values)) return true;
    }
    return false;
  }

  // True if the entry stays. `values` are its components.
  bool offer(Entry e, const Number* values) {
    if (covers(e, values)) return false;
    std::size_t place = 0;
    while (place < entries_.size() && entries_[place].*kValue <= e.*kValue) ++place;
    // What is dominated has no smaller weighted sum, where these are compared.
    const std::size_t from = order_->value ? place : 0;
    std::size_t keep = from, before = 0;
    for (std::size_t i = from; i < entries_.size(); ++i) {
      if (dominates(e.facts, values, entries_[i].facts, components(entries_[i]))) {
        free_.push_back(entries_[i].at);
        before += i < place;
      } else {
        entries_[keep++] = entries_[i];
      }
    }
    entries_.resize(keep);
    if (free_.empty()) {
      e.at = static_cast<std::uint32_t>(pool_.size() / std::max<std::size_t>(components_, 1));
      pool_.insert(pool_.end(), values, values + components_);
      if (components_ == 0) pool_.push_back(0);
    } else {
      e.at = free_.back();
      free_.pop_back();
      std::copy(values, values + components_,
                pool_.begin() + static_cast<std::ptrdiff_t>(e.at * components_));
    }
    entries_.insert(entries_.begin() + static_cast<std::ptrdiff_t>(place - before), e);
    return true;
  }

 private:
  // Of the one whose weighted sum is no larger, where these are compared.
  bool dominates(std::uint64_t a, const Number* x, std::uint64_t b, const Number* y) const {
    if ((b & order_->wanted & ~a) || (a & order_->unwanted & ~b) || (open_ & ~a)) return false;
    for (std::size_t k : order_->components)
      if (x[k] > y[k]) return false;
    return true;
  }

  std::size_t components_ = 0;
  const FrontOrder* order_ = nullptr;
  std::uint64_t open_ = 0;
  std::vector<Entry> entries_;
  std::vector<Number> pool_;
  std::vector<std::uint32_t> free_;
};

using Front = FrontOf<Entry, &Entry::weighted>;

}  // namespace odt
