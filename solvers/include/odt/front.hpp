// Sub-trees of which none is better than another: sorted by their weighted sum, without those that
// another dominates.
#pragma once

#include <algorithm>
#include <cstdint>
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

class Front {
 public:
  // Facts of `wanted` are better set, facts of `unwanted` better clear; of the components,
  // `compared` count. Where what is around a sub-tree may yet set facts of `open`, only one that
  // has them set already makes another one superfluous.
  void clear(std::size_t components, const std::vector<std::size_t>& compared, std::uint64_t wanted,
             std::uint64_t unwanted, std::uint64_t open = 0) {
    components_ = components;
    compared_ = &compared;
    wanted_ = wanted | open;
    unwanted_ = unwanted;
    open_ = open;
    entries_.clear();
    pool_.clear();
    free_.clear();
  }
  const std::vector<Entry>& entries() const { return entries_; }
  std::vector<Entry>& entries() { return entries_; }
  const Loss* components(const Entry& e) const { return pool_.data() + e.at * components_; }
  bool empty() const { return entries_.empty(); }
  std::size_t bytes() const {
    return entries_.size() * sizeof(Entry) + pool_.size() * sizeof(Loss);
  }

  // Whether an entry of these facts and components would be of no use.
  bool covers(Loss weighted, std::uint64_t facts, const Loss* values) const {
    for (std::size_t i = 0; i < entries_.size() && entries_[i].weighted <= weighted; ++i)
      if (dominates(entries_[i].facts, components(entries_[i]), facts, values)) return true;
    return false;
  }

  // True if the entry stays. `values` are its components.
  bool offer(Entry e, const Loss* values) {
    // What dominates has no larger weighted sum.
    std::size_t i = 0;
    for (; i < entries_.size() && entries_[i].weighted <= e.weighted; ++i)
      if (dominates(entries_[i].facts, components(entries_[i]), e.facts, values)) return false;
    std::size_t keep = i;
    for (std::size_t j = i; j < entries_.size(); ++j) {
      if (dominates(e.facts, values, entries_[j].facts, components(entries_[j])))
        free_.push_back(entries_[j].at);
      else
        entries_[keep++] = entries_[j];
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
    entries_.insert(entries_.begin() + static_cast<std::ptrdiff_t>(i), e);
    return true;
  }

 private:
  bool dominates(std::uint64_t a, const Loss* x, std::uint64_t b, const Loss* y) const {
    if ((b & wanted_ & ~a) || (a & unwanted_ & ~b) || (open_ & ~a)) return false;
    for (std::size_t k : *compared_)
      if (x[k] > y[k]) return false;
    return true;
  }

  std::size_t components_ = 0;
  const std::vector<std::size_t>* compared_ = nullptr;
  std::uint64_t wanted_ = 0, unwanted_ = 0, open_ = 0;
  std::vector<Entry> entries_;
  std::vector<Loss> pool_;
  std::vector<std::uint32_t> free_;
};

}  // namespace odt
