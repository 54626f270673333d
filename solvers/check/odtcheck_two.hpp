// Kernels of depth two: what the tests of the second level lose, of many tests of the first one at
// once. Only speed makes them longer than a loop over pairs of tests.
#pragma once

#include "odtcheck_rows.hpp"

namespace {

// ---- depth two: both sides of a test may be split once more

constexpr size_t kLanes = 32;  // tests of the first level that are tried in one pass over the rows
constexpr size_t kAtOnce = 8;  // of a feature, before the stairs are looked at again

struct Test {
  size_t f, t;  // feature, and how many rows go left
};

// Up to 32 tests of the first level. A sum is kept per block and lane, as the block of a class is
// the loss of that class less the loss of class 0: a leaf loses that of class 0 and the least of 0
// and the sums. Where leaves have a least size, one block more counts rows. `Value` is wide enough
// for the sums of all rows.
template <class Value>
struct Batch {
  const View& v;
  size_t classes, blocks;
  Value least;
  vector<Value> delta;                  // per kind and block
  vector<Index> pattern;                // per row: which tests it goes left at, as a row of `mask`
  vector<Value> mask;                   // per pattern and lane: -1 left, 0 right
  vector<Value> all, total, in, below;  // sums of all rows, and of those on the left
  Value best[2][2][kLanes];  // [leaves of any size, of the least][side]: two leaves; 1: none

  Batch(const Problem& p, const View& view, Int size)
      : v(view),
        classes(p.classes.size() - 1),
        blocks(classes + (size > 1)),
        least(static_cast<Value>(std::min<Int>(size, static_cast<Int>(view.rows()) + 1))),
        pattern(view.rows()) {
    for (const auto& loss : p.loss)
      for (size_t k = 0; k < blocks; ++k)
        delta.push_back(static_cast<Value>(k < classes ? loss[k + 1] - loss[0] : 1));
    all.assign(blocks, 0);
    for (Index kind : v.kind) add(all, 0, 1, kind);
  }
  void add(vector<Value>& to, size_t from, size_t step, Index kind) const {
    for (size_t k = 0; k < blocks; ++k)
      to[from + k * step] = static_cast<Value>(to[from + k * step] + delta[kind * blocks + k]);
  }

  QUICK void fill(const vector<Test>& tests) {
    vector<std::uint32_t> sides(v.rows(), 0);
    for (size_t l = 0, end; l < tests.size(); l = end) {  // tests of a feature, in order
      std::uint32_t bits = 0;
      for (end = l; end < tests.size() && tests[end].f == tests[l].f; ++end) bits |= 1u << end;
      for (size_t at = 0, next = l; at < tests[end - 1].t; ++at) {
        for (; tests[next].t <= at; ++next) bits &= ~(1u << next);
        sides[v.order[tests[l].f][at]] |= bits;
      }
    }
    std::unordered_map<std::uint32_t, Index> known;
    vector<Value> sums;  // per pattern and block
    mask.clear();
    std::uint32_t last = 0;
    Index id = 0;
    for (Index row : v.order[tests[0].f]) {
      if (mask.empty() || sides[row] != last) {
        last = sides[row];
        const auto found = known.emplace(last, static_cast<Index>(known.size()));
        id = found.first->second;
        for (size_t l = 0; found.second && l < kLanes; ++l)
          mask.push_back(static_cast<Value>(last >> l & 1 ? -1 : 0));
        sums.resize(known.size() * blocks, 0);
      }
      pattern[row] = id;
      add(sums, id * blocks, 1, v.kind[row]);
    }
    total.assign(blocks * kLanes, 0);
    for (size_t i = 0; i < known.size(); ++i)
      for (size_t k = 0; k < blocks; ++k)
        for (size_t l = 0; l < kLanes; ++l)
          total[k * kLanes + l] = static_cast<Value>(total[k * kLanes + l] +
                                                     (sums[i * blocks + k] & mask[i * kLanes + l]));
    std::fill_n(&best[0][0][0], 4 * kLanes, Value{1});
  }
};

// Every test of feature g on both sides of the tests of a batch; `look` says which places count.
// `one`: there is one block, of two classes and leaves of any size; so known, it takes less time.
template <class Value, bool one>
WIDE void scan(Batch<Value>& b, size_t g, const char* look) {
  const size_t blocks = one ? 1 : b.blocks, classes = one ? 1 : b.classes;
  b.in.assign(blocks * kLanes, 0);
  b.below.assign(blocks, 0);
  Value *in = b.in.data(), *below = b.below.data();
  const Value *total = b.total.data(), *all = b.all.data();
  for (size_t at = 0; at + 1 < b.v.rows(); ++at) {
    const Index row = b.v.order[g][at];
    const Value *m = &b.mask[size_t{b.pattern[row]} * kLanes],
                *of = b.delta.data() + b.v.kind[row] * blocks;
    for (size_t k = 0; k < blocks; ++k) {
      const Value d = of[k];
      if (!d) continue;
      below[k] = static_cast<Value>(below[k] + d);
      for (size_t l = 0; l < kLanes; ++l)
        in[k * kLanes + l] = static_cast<Value>(in[k * kLanes + l] + (d & m[l]));
    }
    if (!look[at + 1]) continue;
    // Both sides of this test on the left of those of the batch, and on the right of them.
    const auto four = [&](size_t k, size_t l, Value* x) {
      x[0] = in[k * kLanes + l];
      x[1] = static_cast<Value>(total[k * kLanes + l] - x[0]);
      x[2] = static_cast<Value>(below[k] - x[0]);
      x[3] = static_cast<Value>(all[k] - below[k] - x[1]);
    };
    Value low[4][kLanes] = {}, x[4];
    for (size_t k = 0; k < classes; ++k)
      for (size_t l = 0; l < kLanes; ++l) {
        four(k, l, x);
        for (int i = 0; i < 4; ++i) low[i][l] = std::min(low[i][l], x[i]);
      }
    for (int side = 0; side < 2; ++side)
      for (size_t l = 0; l < kLanes; ++l) {
        const Value sum = static_cast<Value>(low[2 * side][l] + low[2 * side + 1][l]);
        b.best[0][side][l] = std::min(b.best[0][side][l], sum);
        if (blocks == classes) continue;
        four(classes, l, x);
        if (x[2 * side] >= b.least && x[2 * side + 1] >= b.least)
          b.best[1][side][l] = std::min(b.best[1][side][l], sum);
      }
  }
}

// What two leaves on a side of a test lose less than one, without the price of one; kLargest where
// no split of the side may stand.
struct Gains {
  Int of[2][2][kLanes];  // [leaves of any size, of the least][side]
};

// The gains of all tests of the second level, behind each of some tests of the first level.
template <class Value>
Gains gains(const Problem& p, const View& v, const vector<Test>& tests, int state, Int least,
            const vector<vector<char>>& look) {
  Batch<Value> batch(p, v, least);
  batch.fill(tests);
  for (size_t g = 0; g < p.features.size(); ++g) {
    if (p.after(state, g) < 0) continue;
    if (batch.blocks == 1 && batch.classes == 1)
      scan<Value, true>(batch, g, look[g].data());
    else
      scan<Value, false>(batch, g, look[g].data());
  }
  Gains found;
  for (size_t l = 0; l < tests.size(); ++l)
    for (int side = 0; side < 2; ++side) {
      Int lowest = 0;  // of one leaf, class by class as in a batch
      for (size_t k = 0; k < batch.classes; ++k) {
        const Int sum = batch.total[k * kLanes + l];
        lowest = std::min(lowest, side ? batch.all[k] - sum : sum);
      }
      for (int size = 0; size < 2; ++size) {
        const Int two = batch.best[size][side][l];
        found.of[size][side][l] = two > 0 ? kLargest : two - lowest;
      }
    }
  return found;
}

// What some rows of one kind lose that go left, by class and test, added to `sum`: `loss` per class
// times how many they are.
WIDE void add_left(const vector<std::uint64_t>& rows, const vector<std::uint64_t>& left,
                   const vector<Int>& loss, Small* many, Small* sum, size_t tests) {
  const size_t words = rows.size();
  for (size_t g = 0; g < tests; ++g) {
    int found = 0;
    for (size_t w = 0; w < words; ++w) found += __builtin_popcountll(rows[w] & left[g * words + w]);
    many[g] = found;
  }
  for (size_t c = 0; c < loss.size(); ++c) {
    const Small each = static_cast<Small>(loss[c]);
    Small* to = sum + c * tests;
    for (size_t g = 0; each && g < tests; ++g) to[g] += each * many[g];
  }
}

// The least loss of a split, without prices: `left` by class and test, what the rows lose that go
// left; `all` of them by class.
WIDE Small least_split(const Small* left, const Small* all, size_t classes, size_t n, Small* low) {
  std::fill_n(low, 2 * n, std::numeric_limits<Small>::max());
  for (size_t c = 0; c < classes; ++c) {
    const Small *of = left + c * n, sum = all[c];
    for (size_t g = 0; g < n; ++g) {
      low[g] = std::min<Small>(low[g], of[g]);
      low[n + g] = std::min<Small>(low[n + g], sum - of[g]);
    }
  }
  Small best = low[0] + low[n];
  for (size_t g = 1; g < n; ++g) best = std::min<Small>(best, low[g] + low[n + g]);
  return best;
}

// Features that part some rows, one of those that part them alike.
vector<size_t> apart(const Bits& bits, size_t features, const vector<std::uint64_t>& rows) {
  std::set<vector<std::uint64_t>> known;
  vector<size_t> found;
  vector<std::uint64_t> side(bits.words);
  size_t first = 0;
  while (first < bits.words && !rows[first]) ++first;
  for (size_t f = 0; f < features; ++f) {
    bool lower = false, upper = false;
    for (size_t w = 0; w < bits.words; ++w) {
      side[w] = rows[w] & bits.left[f * bits.words + w];
      lower = lower || side[w] != 0;
      upper = upper || side[w] != rows[w];
    }
    if (!lower || !upper) continue;
    // The side that the first row is not on stands for both.
    if (side[first] & rows[first] & (~rows[first] + 1))
      for (size_t w = 0; w < bits.words; ++w) side[w] ^= rows[w];
    if (known.insert(side).second) found.push_back(f);
  }
  return found;
}

// Some rows where every feature has two ranks. What a leaf, a split and more levels lose follows
// from how many rows of a kind go left at one, two and three tests.
struct Few {
  size_t tests = 0;     // that part these rows, one of those that part them alike
  Int alone;            // what a leaf loses
  vector<Int> side[2];  // what the left and the right side of each test lose, by `leaf` or more

  Few(const Problem& p, const Bits& bits, const vector<std::uint64_t>& rows)
      : classes(p.classes.size()), price(p.price), total(classes, 0), sum(classes) {
    const vector<size_t> features = apart(bits, p.features.size(), rows);
    tests = features.size();
    for (size_t k = 0; k + 1 < p.most.size(); ++k) gather(p.loss[k], k, bits, rows, features);
    alone = *std::min_element(total.begin(), total.end()) + price;
    many.resize(tests);
    low.resize(2 * tests);
    left.resize(classes * tests);
    left_at({}, all);
    for (size_t t = 0; t < tests; ++t)
      for (const bool right : {false, true}) {
        for (size_t c = 0; c < classes; ++c)
          sum[c] = right ? total[c] - all[c * tests + t] : all[c * tests + t];
        side[right].push_back(*std::min_element(sum.begin(), sum.end()) + price);
      }
  }

  // TWO: sides are leaves or splits.
  void two() {
    for (size_t s = 0; s < tests; ++s) {
      left_at({s}, both);
      for (const bool right : {false, true}) {
        const Small a = right, b = right ? -1 : 1;
        for (size_t i = 0; i < left.size(); ++i) left[i] = a * all[i] + b * both[i];
        for (size_t c = 0; c < classes; ++c) sum[c] = a * total[c] + b * all[c * tests + s];
        keep(right, s, split() + 2 * price);
      }
    }
  }

  // THREE: sides are trees of two levels. Two tests make four quarters, whichever is asked first.
  void three() {
    vector<vector<Small>> one(tests);
    for (size_t t = 0; t < tests; ++t) left_at({t}, one[t]);
    for (size_t s = 0; s < tests; ++s)
      for (size_t t = s + 1; t < tests; ++t) {
        left_at({s, t}, both);
        Int value[4];  // left at both, left at the first, left at the second, right at both
        for (int q = 0; q < 4; ++q) {
          // The rows of a quarter are those of four sets, added and taken away.
          const Small a = q == 3, b = q == 3 ? -1 : q == 1, c = q == 3 ? -1 : q == 2,
                      d = q == 0 || q == 3 ? 1 : -1;
          for (size_t i = 0; i < left.size(); ++i)
            left[i] = a * all[i] + b * one[s][i] + c * one[t][i] + d * both[i];
          for (size_t k = 0; k < classes; ++k)
            sum[k] = a * total[k] + b * all[k * tests + s] + c * all[k * tests + t] +
                     d * one[s][k * tests + t];
          value[q] =
              std::min(*std::min_element(sum.begin(), sum.end()) + price, split() + 2 * price);
        }
        keep(0, s, value[0] + value[1]);
        keep(1, s, value[2] + value[3]);
        keep(0, t, value[0] + value[2]);
        keep(1, t, value[1] + value[3]);
      }
  }

 private:
  struct Kind {
    vector<std::uint64_t> rows, left;  // of those of a kind all; per test those that go left
    vector<Int> loss;                  // of one of them, by class
  };
  size_t classes;
  Int price;
  vector<Kind> kinds;        // that are met
  vector<Small> total, all;  // of all rows by class; by class and test, of those on the left
  vector<Small> sum, left;   // the same of the rows that are looked at
  vector<Small> both, many, low;

  void keep(int which, size_t test, Int value) {
    side[which][test] = std::min(side[which][test], value);
  }
  Int split() { return least_split(left.data(), sum.data(), classes, tests, low.data()); }

  void gather(const vector<Int>& loss, size_t kind, const Bits& bits,
              const vector<std::uint64_t>& rows, const vector<size_t>& features) {
    vector<size_t> at;
    for (size_t i = 0; i < bits.words * 64; ++i)
      if ((rows[i / 64] & bits.kind[kind * bits.words + i / 64]) >> i % 64 & 1) at.push_back(i);
    if (at.empty()) return;
    const size_t words = (at.size() + 63) / 64;
    Kind these{vector<std::uint64_t>(words, 0), vector<std::uint64_t>(tests * words, 0), loss};
    for (size_t i = 0; i < at.size(); ++i) these.rows[i / 64] |= std::uint64_t{1} << i % 64;
    for (size_t f = 0; f < tests; ++f) {
      const std::uint64_t* from = &bits.left[features[f] * bits.words];
      for (size_t i = 0; i < at.size(); ++i)
        these.left[f * words + i / 64] |= (from[at[i] / 64] >> at[i] % 64 & 1) << i % 64;
    }
    for (size_t c = 0; c < classes; ++c)
      total[c] += static_cast<Small>(static_cast<Int>(at.size()) * loss[c]);
    kinds.push_back(std::move(these));
  }

  // By class and test, what the rows lose that go left there and at some other tests.
  void left_at(std::initializer_list<size_t> others, vector<Small>& sums) {
    sums.assign(classes * tests, 0);
    for (const Kind& kind : kinds) {
      vector<std::uint64_t> rows = kind.rows;
      for (size_t test : others)
        for (size_t w = 0; w < rows.size(); ++w) rows[w] &= kind.left[test * rows.size() + w];
      add_left(rows, kind.left, kind.loss, many.data(), sums.data(), tests);
    }
  }
};

}  // namespace
