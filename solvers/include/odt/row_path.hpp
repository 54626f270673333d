// Sets of rows, by the tests on the way to them.
//
// A cache finds the rows of a node by a hash, and then compares them: rows that pass all tests on
// the way to another node are rows of that node, and if both nodes have equally many, they have the
// same. So nothing rests on the hash, and an entry keeps a few tests instead of its rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace odt {

// A hash for every row; that of a set is the exclusive or of its rows'.
std::vector<std::uint64_t> row_hashes(std::size_t rows);

// For tests: all sets of rows have one hash.
inline bool blind_hashes = false;

// What lies up to a cell (a rank) of a column, or beyond it. Of 0/1 tests: what passes, or fails.
struct RowStep {
  std::uint32_t column, last;
  bool beyond;
  bool operator==(const RowStep& o) const {
    return column == o.column && last == o.last && beyond == o.beyond;
  }
};

struct RowPath {
  std::size_t rows = 0;  // at the end
  std::vector<RowStep> steps;

  void follow(const RowPath& parent, RowStep step, std::size_t left) {
    steps = parent.steps;
    steps.push_back(step);
    rows = left;
  }
  // Whether it leads to n rows, all of which have passed the steps of another path: the others are
  // asked of them, passed(step).
  template <class Passed>
  bool leads_to(std::size_t n, const RowPath& other, const Passed& passed) const {
    return n == rows && std::all_of(steps.begin(), steps.end(), [&](const RowStep& step) {
             const auto& taken = other.steps;
             return std::find(taken.begin(), taken.end(), step) != taken.end() || passed(step);
           });
  }
  // The same; row(i) is one of the n, cell(column, row) where it stands.
  template <class Row, class Cell>
  bool leads_to(std::size_t n, const RowPath& other, const Row& row, const Cell& cell) const {
    return leads_to(n, other, [&](const RowStep& step) {
      for (std::size_t i = 0; i < n; ++i)
        if ((cell(step.column, row(i)) > step.last) != step.beyond) return false;
      return true;
    });
  }
  std::size_t bytes() const { return steps.size() * sizeof(RowStep); }
};

// A sub-problem in a cache, beside its rows: their hash, the shape of the tree, the state of the
// path above.
struct SubProblem {
  std::uint64_t set;
  int depth, leaves, state;
  bool operator==(const SubProblem& o) const {
    return set == o.set && depth == o.depth && leaves == o.leaves && state == o.state;
  }
  std::uint64_t hash() const {
    const std::uint64_t asked = static_cast<std::uint64_t>(depth) << 40 ^
                                static_cast<std::uint64_t>(leaves) << 20 ^
                                static_cast<std::uint64_t>(state);
    return set ^ asked * 0x9e3779b97f4a7c15ULL;
  }
};

// Entries have a `path`. `Key` has what else there is to compare, and tells a hash.
template <class Key, class Entry>
class RowCache {
 public:
  // The entry whose path leads to the asked rows: `same(path)`.
  template <class Same>
  Entry* find(const Key& key, const Same& same) {
    for (auto [at, end] = entries_.equal_range(key); at != end; ++at)
      if (same(at->second.path)) return &at->second;
    return nullptr;
  }
  // Where there is none of these rows.
  Entry& add(const Key& key, const RowPath& path) {
    Entry& entry = entries_.emplace(key, Entry{})->second;
    entry.path = path;
    return entry;
  }
  std::size_t size() const { return entries_.size(); }
  void clear() { entries_.clear(); }

 private:
  struct Hash {
    std::size_t operator()(const Key& k) const { return static_cast<std::size_t>(k.hash()); }
  };
  std::unordered_multimap<Key, Entry, Hash> entries_;
};

}  // namespace odt
