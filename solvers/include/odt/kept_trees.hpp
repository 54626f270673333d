// What the trees below sets of rows lose, kept by those rows; threads may share it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include "odt/problem.hpp"

namespace odt {

template <int W>
struct Rows {
  std::uint64_t word[W] = {};

  bool has(std::size_t row) const { return word[row >> 6] >> (row & 63) & 1; }
  void put(std::size_t row) { word[row >> 6] |= std::uint64_t{1} << (row & 63); }
  int count() const {
    int sum = 0;
    for (std::uint64_t w : word) sum += __builtin_popcountll(w);
    return sum;
  }
  bool none() const { return *this == Rows{}; }
  bool operator==(const Rows& o) const {
    std::uint64_t differ = 0;
    for (int w = 0; w < W; ++w) differ |= word[w] ^ o.word[w];
    return differ == 0;
  }
  Rows operator|(const Rows& o) const {
    Rows r;
    for (int w = 0; w < W; ++w) r.word[w] = word[w] | o.word[w];
    return r;
  }
  Rows both(const Rows& o) const {
    Rows r;
    for (int w = 0; w < W; ++w) r.word[w] = word[w] & o.word[w];
    return r;
  }
  Rows without(const Rows& o) const {
    Rows r;
    for (int w = 0; w < W; ++w) r.word[w] = word[w] & ~o.word[w];
    return r;
  }
};

template <int W>
struct HashRows {
  std::size_t operator()(const Rows<W>& s) const {
    std::uint64_t h = 0x243f6a8885a308d3u;
    for (std::uint64_t w : s.word) {
      h = (h ^ w) * 0x9e3779b97f4a7c15u;
      h ^= h >> 29;
    }
    return h;
  }
};

// What the trees of sets of rows lose at least; `exact`: and no more. In parts, each with a lock
// of its own. One line of the processor's cache holds an entry or two.
template <int W>
class KeptTrees {
 public:
  struct Entry {
    Rows<W> rows;
    Loss loss = -1;  // -1: free
    bool exact = false;
  };

  // What is kept of these rows, or an entry that is free.
  Entry find(const Rows<W>& rows) {
    const std::size_t hash = HashRows<W>()(rows);
    Part& part = part_of(hash);
    const std::lock_guard<std::mutex> lock(part.mutex);
    return part.entries.empty() ? Entry{} : part.entries[part.place(rows, hash)];
  }

  void keep(const Rows<W>& rows, Loss loss, bool exact) {
    const std::size_t hash = HashRows<W>()(rows);
    Part& part = part_of(hash);
    const std::lock_guard<std::mutex> lock(part.mutex);
    if (2 * part.used >= part.entries.size()) part.grow();
    Entry& e = part.entries[part.place(rows, hash)];
    if (e.loss < 0) {
      e.rows = rows;
      ++part.used;
    }
    e.loss = std::max(e.loss, loss);
    e.exact = e.exact || exact;
  }

  std::size_t bytes() {
    std::size_t sum = 0;
    for (Part& part : parts_) {
      const std::lock_guard<std::mutex> lock(part.mutex);
      sum += part.entries.size() * sizeof(Entry);
    }
    return sum;
  }

  void clear() {
    for (Part& part : parts_) {
      const std::lock_guard<std::mutex> lock(part.mutex);
      std::vector<Entry>().swap(part.entries);  // `= {}` would keep the memory
      part.used = 0;
    }
  }

 private:
  struct Part {
    // Where the rows are, or the free entry where they would be. The size is a power of two.
    std::size_t place(const Rows<W>& rows, std::size_t hash) const {
      std::size_t at = hash & (entries.size() - 1);
      while (entries[at].loss >= 0 && !(entries[at].rows == rows))
        at = (at + 1) & (entries.size() - 1);
      return at;
    }

    void grow() {
      std::vector<Entry> old(std::max<std::size_t>(64, 2 * entries.size()));
      old.swap(entries);
      for (const Entry& e : old)
        if (e.loss >= 0) entries[place(e.rows, HashRows<W>()(e.rows))] = e;
    }

    std::mutex mutex;
    std::vector<Entry> entries;
    std::size_t used = 0;
  };

  static constexpr int kPartBits = 4;
  Part& part_of(std::size_t hash) { return parts_[hash >> (64 - kPartBits)]; }

  std::array<Part, std::size_t{1} << kPartBits> parts_;
};

// The same of what was asked last, for trees that are found sooner than memory answers: one set of
// rows in each place, no lock, small enough for the processor's cache.
template <int W>
class LastTrees {
 public:
  using Entry = typename KeptTrees<W>::Entry;

  Entry find(const Rows<W>& rows) const {
    if (entries_.empty()) return {};
    const Entry& e = entries_[place(rows)];
    return e.rows == rows ? e : Entry{};
  }

  void keep(const Rows<W>& rows, Loss loss, bool exact) {
    if (entries_.empty()) entries_.resize(std::size_t{1} << kBits);
    entries_[place(rows)] = {rows, loss, exact};
  }

  void clear() { std::vector<Entry>().swap(entries_); }

 private:
  static constexpr int kBits = 13;
  static std::size_t place(const Rows<W>& rows) { return HashRows<W>()(rows) >> (64 - kBits); }

  std::vector<Entry> entries_;
};

}  // namespace odt
