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
  const vector<Feature>* features;
  vector<Index> row;            // per row of the view: which one it is of the data
  vector<Index> kind;           // per row
  vector<vector<Index>> order;  // per feature: the rows by rank
  vector<vector<Index>> kinds;  // theirs
  vector<vector<char>> cut;  // per feature and place: whether a test parts it from the one before
  Bits bits;                 // only where the problem says `by_bits`
  size_t rows() const { return kind.size(); }
  Index rank(size_t f, Index i) const { return (*features)[f].rank[row[i]]; }
  void find_bits(size_t kinds) {
    bits.words = (rows() + 63) / 64;
    bits.left.assign(order.size() * bits.words, 0);
    bits.kind.assign(kinds * bits.words, 0);
    for (Index i = 0; i < rows(); ++i) {
      const std::uint64_t bit = std::uint64_t{1} << i % 64;
      bits.kind[kind[i] * bits.words + i / 64] |= bit;
      for (size_t f = 0; f < order.size(); ++f)
        if (rank(f, i) == 0) bits.left[f * bits.words + i / 64] |= bit;
    }
  }
  void find_kinds() {
    for (const auto& rows : order) {
      kinds.emplace_back(rows.size());
      for (size_t at = 0; at < rows.size(); ++at) kinds.back()[at] = kind[rows[at]];
    }
  }
  // The rows at some places of a feature.
  vector<std::uint64_t> places(size_t f, size_t from, size_t to) const {
    vector<std::uint64_t> found(bits.words, 0);
    for (size_t at = from; at < to; ++at)
      found[order[f][at] / 64] |= std::uint64_t{1} << order[f][at] % 64;
    return found;
  }
  // How many rows have at most this rank.
  size_t upto(size_t f, Int r) const {
    const auto above = [&](Int x, Index i) { return x < static_cast<Int>(rank(f, i)); };
    return static_cast<size_t>(std::upper_bound(order[f].begin(), order[f].end(), r, above) -
                               order[f].begin());
  }
};

View whole(const Problem& p) {
  View v;
  v.features = &p.features;
  v.kind = p.kind;
  v.row.resize(p.rows);
  std::iota(v.row.begin(), v.row.end(), 0u);
  for (const Feature& f : p.features) {
    vector<Index> order = v.row;
    std::stable_sort(order.begin(), order.end(),
                     [&](Index a, Index b) { return f.rank[a] < f.rank[b]; });
    v.cut.emplace_back(p.rows + 1, 0);
    for (size_t t = 1; t < p.rows; ++t) v.cut.back()[t] = f.rank[order[t - 1]] != f.rank[order[t]];
    v.order.push_back(std::move(order));
  }
  v.find_kinds();
  return v;
}

// The rows at places from..to of a feature. Those outside of count_from..count_to only make leaves
// large: they are of the kind `idle`, which loses nothing.
QUICK View part(const View& v, size_t f, size_t from, size_t to, size_t count_from, size_t count_to,
                Index idle) {
  View made;
  made.features = v.features;
  const Index none = ~0u;
  vector<Index> place(v.rows(), none);  // in the part, of each row
  for (size_t at = from; at < to; ++at)
    place[v.order[f][at]] = at < count_from || at >= count_to ? 1 : 0;
  for (Index i = 0; i < v.rows(); ++i) {
    if (place[i] == none) continue;
    made.kind.push_back(place[i] ? idle : v.kind[i]);
    place[i] = static_cast<Index>(made.row.size());
    made.row.push_back(v.row[i]);
  }
  for (size_t g = 0; g < v.order.size(); ++g) {
    vector<Index> order(made.rows() + 1);
    vector<char> cut(made.rows() + 1);
    size_t n = 0;
    char parted = 0;  // a test parts some rows since the last one that was taken
    for (size_t at = 0; at < v.rows(); ++at) {
      const Index i = order[n] = place[v.order[g][at]];
      parted = cut[n] = static_cast<char>(parted | v.cut[g][at]);
      parted = i == none ? parted : 0;
      n += i != none;
    }
    order.pop_back();
    cut[0] = cut[n] = 0;
    made.order.push_back(std::move(order));
    made.cut.push_back(std::move(cut));
  }
  made.find_kinds();
  return made;
}

// What the rows at lower places can lose together.
vector<Int> upto(const View& v, size_t f, const vector<Int>& most) {
  vector<Int> found(1, 0);
  found.reserve(v.rows() + 1);
  for (Index kind : v.kinds[f]) found.push_back(found.back() + most[kind]);
  return found;
}

// What a leaf on the lower rows, or one on the others, loses at every place, with its price.
QUICK vector<Int> leaves(const View& v, size_t f, bool right, const vector<vector<Int>>& loss,
                         Int price) {
  const size_t n = loss[0].size(), rows = v.rows();
  vector<Int> sum(n, price), found(rows + 1, price);
  for (size_t t = 1; t <= rows; ++t) {
    const Int* row = loss[v.kinds[f][right ? rows - t : t - 1]].data();
    Int least = sum[0] += row[0];
    for (size_t l = 1; l < n; ++l) least = std::min(least, sum[l] += row[l]);
    found[right ? rows - t : t] = least;
  }
  return found;
}

// ---- bounds along a feature: STAIR

// What is known of the two sides of each test of a feature, by places: the rows on the left.
// [0] holds for trees whose leaves may be of any size, and goes up and down the feature (MONO,
// DEL); [1] for leaves of the least size, and goes to fewer rows only (DEL). Every bound has been
// carried as far as it goes, so a new one goes on only while it is better than those it meets.
struct Stairs {
  struct Held {
    size_t at;
    Int value;
  };
  vector<Int> most;        // that the rows at lower places lose
  vector<Int> side[2][2];  // [size][0 left, 1 right]
  vector<Held> held[2];    // of trees with leaves of any size: bounds that were better than others
  bool sized;
  Stairs(vector<Int> upto, Int price, Int least) : most(std::move(upto)), sized(least > 1) {
    for (int size = 0; size <= sized; ++size)
      for (auto& one : side[size]) one.assign(most.size(), price);
    held[0].push_back({0, price});
    held[1].push_back({most.size() - 1, price});
  }
  QUICK void add(bool size, int which, size_t at, Int value) {
    vector<Int>& x = side[size][which];
    const auto better = [&](size_t t, Int bound) {
      if (x[t] >= bound) return false;
      x[t] = bound;
      return true;
    };
    if (!better(at, value)) return;
    if (!size) held[which].push_back({at, value});
    if (which == 0 || !size)
      for (size_t t = at; t-- > 0;)
        if (!better(t, which ? value : value - (most[at] - most[t]))) break;
    if (which == 1 || !size)
      for (size_t t = at + 1; t < x.size(); ++t)
        if (!better(t, which ? value - (most[t] - most[at]) : value)) break;
  }
  // CLASSES: so many leaves gain no more than so many classes, each on all rows. So a bound of
  // fewer rows also holds with what the others lose at least. Only for the tests that are `wanted`.
  QUICK void lose(const Problem& p, const vector<Index>& kinds, int which, Int leaves,
                  const vector<char>& wanted) {
    if (leaves >= static_cast<Int>(p.classes.size())) return;
    for (const Held& one : held[which]) {
      vector<Int> gain(p.classes.size(), 0), best;
      Int bound = one.value;
      for (size_t t = one.at; which ? t-- > 0 : ++t < most.size();) {
        const Index kind = kinds[which ? t : t - 1];
        bound += p.most[kind];
        for (size_t l = 0; l < gain.size(); ++l) gain[l] += p.most[kind] - p.loss[kind][l];
        if (!wanted[t] || bound <= side[0][which][t]) continue;
        best = gain;
        std::nth_element(best.begin(), best.begin() + leaves, best.end(), std::greater<>());
        // Only while it is better: all gains together may be more than an Int holds.
        Int rest = bound, &x = side[0][which][t];
        for (Int l = 0; l < leaves && rest > x; ++l) rest -= best[static_cast<size_t>(l)];
        x = std::max(x, rest);
      }
    }
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
