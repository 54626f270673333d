// The rows of a node in the order of every feature, and sums along a feature.
#pragma once

#include "odtcheck_read.hpp"

namespace {

// ---- the rows of a node, in the order of every feature

// Where every feature has two ranks: sets of rows as bits, per feature those that go left, and per
// kind.
struct Bits {
  size_t words = 0;
  vector<std::uint64_t> left, kind;
};

struct View {
  vector<Index> kind;           // per row
  vector<vector<Index>> order;  // per feature: the rows by rank
  vector<vector<Index>> rank;   // per feature and row
  vector<vector<char>> cut;  // per feature and place: whether a test parts it from the one before
  Bits bits;                 // only where the problem says `by_bits`
  size_t rows() const { return kind.size(); }
  void find_bits(size_t kinds) {
    bits.words = (rows() + 63) / 64;
    bits.left.assign(order.size() * bits.words, 0);
    bits.kind.assign(kinds * bits.words, 0);
    for (size_t i = 0; i < rows(); ++i) {
      const std::uint64_t bit = std::uint64_t{1} << i % 64;
      bits.kind[kind[i] * bits.words + i / 64] |= bit;
      for (size_t f = 0; f < order.size(); ++f)
        if (rank[f][i] == 0) bits.left[f * bits.words + i / 64] |= bit;
    }
  }
  // The rows at some places of a feature.
  vector<std::uint64_t> places(size_t f, size_t from, size_t to) const {
    vector<std::uint64_t> found(bits.words, 0);
    for (size_t at = from; at < to; ++at)
      found[order[f][at] / 64] |= std::uint64_t{1} << order[f][at] % 64;
    return found;
  }
  void find_cuts() {
    for (size_t f = 0; f < order.size(); ++f) {
      cut.emplace_back(rows() + 1, 0);
      for (size_t t = 1; t < rows(); ++t)
        cut[f][t] = rank[f][order[f][t - 1]] != rank[f][order[f][t]];
    }
  }
  // How many rows have at most this rank.
  size_t upto(size_t f, Int r) const {
    const auto above = [&](Int x, Index row) { return x < static_cast<Int>(rank[f][row]); };
    return static_cast<size_t>(std::upper_bound(order[f].begin(), order[f].end(), r, above) -
                               order[f].begin());
  }
};

View whole(const Problem& p) {
  View v;
  v.kind = p.kind;
  for (const Feature& f : p.features) {
    v.order.emplace_back(p.rows);
    std::iota(v.order.back().begin(), v.order.back().end(), 0u);
    std::stable_sort(v.order.back().begin(), v.order.back().end(),
                     [&](Index a, Index b) { return f.rank[a] < f.rank[b]; });
    v.rank.push_back(f.rank);
  }
  v.find_cuts();
  return v;
}

// The rows at places from..to of a feature. Those outside of count_from..count_to only make leaves
// large: they are of the kind `idle`, which loses nothing.
QUICK View part(const View& v, size_t f, size_t from, size_t to, size_t count_from, size_t count_to,
                Index idle) {
  View made;
  vector<Index> place(v.rows(), ~0u);
  for (size_t at = from; at < to; ++at)
    place[v.order[f][at]] = at < count_from || at >= count_to ? 1 : 0;
  made.rank.resize(v.order.size());
  for (Index i = 0; i < v.rows(); ++i) {
    if (place[i] == ~0u) continue;
    const Index kind = place[i] ? idle : v.kind[i];
    place[i] = static_cast<Index>(made.rows());
    made.kind.push_back(kind);
    for (size_t g = 0; g < v.order.size(); ++g) made.rank[g].push_back(v.rank[g][i]);
  }
  for (const auto& order : v.order) {
    made.order.emplace_back();
    for (Index i : order)
      if (place[i] != ~0u) made.order.back().push_back(place[i]);
  }
  made.find_cuts();
  return made;
}

// What the rows at lower places can lose together.
vector<Int> upto(const View& v, size_t f, const vector<Int>& most) {
  vector<Int> found(1, 0);
  for (Index row : v.order[f]) found.push_back(found.back() + most[v.kind[row]]);
  return found;
}

// What a leaf on the lower rows, or one on the others, loses at every place, with its price.
QUICK vector<Int> leaves(const View& v, size_t f, bool right, const vector<vector<Int>>& loss,
                         Int price) {
  const size_t n = loss[0].size(), rows = v.rows();
  vector<Int> sum(n, price), found(rows + 1, price);
  for (size_t t = 1; t <= rows; ++t) {
    const Int* row = loss[v.kind[v.order[f][right ? rows - t : t - 1]]].data();
    Int least = sum[0] += row[0];
    for (size_t l = 1; l < n; ++l) least = std::min(least, sum[l] += row[l]);
    found[right ? rows - t : t] = least;
  }
  return found;
}

// ---- bounds along a feature: STAIR

// What is known of the two sides of each test of a feature, by places: the rows on the left.
// [0] holds for trees whose leaves may be of any size, and goes up and down the feature (MONO,
// DEL); [1] for leaves of the least size, and goes to fewer rows only (DEL).
struct Stairs {
  vector<Int> most;        // that the rows at lower places lose
  vector<Int> side[2][2];  // [size][0 left, 1 right]
  bool sized;
  Stairs(vector<Int> upto, Int price, Int least) : most(std::move(upto)), sized(least > 1) {
    for (int size = 0; size <= sized; ++size)
      for (auto& one : side[size]) one.assign(most.size(), price);
  }
  void add(bool size, int which, size_t at, Int value) {
    side[size][which][at] = std::max(side[size][which][at], value);
  }
  // Carries every bound as far as it goes.
  QUICK void spread() {
    const auto carry = [](vector<Int>& x, size_t to, size_t from, Int lost) {
      x[to] = std::max(x[to], x[from] - lost);
    };
    const size_t n = most.size() - 1;
    for (int size = 0; size <= sized; ++size) {
      for (size_t t = n; t > 0; --t) carry(side[size][0], t - 1, t, most[t] - most[t - 1]);
      for (size_t t = 0; t < n; ++t) carry(side[size][1], t + 1, t, most[t + 1] - most[t]);
    }
    for (size_t t = n; t > 0; --t) carry(side[0][1], t - 1, t, 0);
    for (size_t t = 0; t < n; ++t) carry(side[0][0], t + 1, t, 0);
  }
  Int best(int which, size_t t) const {
    return sized ? std::max(side[0][which][t], side[1][which][t]) : side[0][which][t];
  }
  Int sum(size_t t) const { return best(0, t) + best(1, t); }
};

// A bound on one side of a test, and the rows there.
struct Near {
  int side;
  Int value;
  vector<std::uint64_t> rows;
};

}  // namespace
