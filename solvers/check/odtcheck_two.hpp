// Kernels of depth two: what the tests of the second level lose, of many tests of the first one at
// once. Only speed makes them longer than a loop over pairs of tests.
#pragma once

#include "odtcheck_rows.hpp"

namespace {

// ---- depth two: both sides of a test may be split once more

constexpr size_t kLanes = 32;  // tests of the first level that are tried in one pass over the rows
constexpr size_t kStep = 24;   // rows between two bounds on all tests of the second level there

struct Test {
  size_t f, t;  // feature, and how many rows go left
};

// Up to 32 tests of the first level. What a leaf gains is the most that its rows can lose less what
// they lose, a sum over rows that is at least 0 for every class; so the best leaf of more rows
// gains no less. Sums are kept per block, that is per class, and lane. Where leaves have a least
// size, one block more counts rows. `Value` is wide enough for the sums of all rows.
template <class Value>
struct Batch {
  struct Part {
    size_t block;
    Value much;  // a row adds to it
  };
  const View& v;
  size_t classes, blocks, sized;
  Value least;
  vector<vector<Part>> parts;   // per kind, those that are not 0
  vector<std::uint32_t> sides;  // per row; bit l: it goes left at test l
  vector<Value> total, all;     // sums of the rows that go left at a test, and of all rows
  vector<Value> in, below;      // the same of the rows at lower places of a feature
  Value best[2][2][kLanes];     // [leaves of any size, of the least][side]: the most of two leaves

  Batch(const Problem& p, const View& view, Int size)
      : v(view),
        classes(p.classes.size()),
        blocks(classes + (size > 1)),
        sized(size > 1),
        least(static_cast<Value>(std::min<Int>(size, static_cast<Int>(view.rows()) + 1))),
        parts(p.most.size()) {
    for (size_t kind = 0; kind < p.most.size(); ++kind)
      for (size_t k = 0; k < blocks; ++k)
        if (const Int much = k < classes ? p.most[kind] - p.loss[kind][k] : 1)
          parts[kind].push_back({k, static_cast<Value>(much)});
    all.assign(blocks, 0);
    for (Index kind : v.kind) add(all, kind);
  }
  void add(vector<Value>& to, Index kind) const {
    for (const Part& part : parts[kind])
      to[part.block] = static_cast<Value>(to[part.block] + part.much);
  }

  QUICK void fill(const vector<Test>& tests) {
    sides.assign(v.rows(), 0);
    total.assign(blocks * kLanes, 0);
    for (size_t l = 0, end; l < tests.size(); l = end) {  // tests of a feature, in order
      std::uint32_t bits = 0;
      for (end = l; end < tests.size() && tests[end].f == tests[l].f; ++end) bits |= 1u << end;
      vector<Value> sum(blocks, 0);
      for (size_t at = 0, i = l; i < end; bits &= ~(1u << i++)) {
        for (; at < tests[i].t; ++at) {
          sides[v.order[tests[l].f][at]] |= bits;
          add(sum, v.kinds[tests[l].f][at]);
        }
        for (size_t k = 0; k < blocks; ++k) total[k * kLanes + i] = sum[k];
      }
    }
    for (size_t i = 0; i < 4 * kLanes; ++i)  // of idle lanes there is nothing to find
      best[i / kLanes / 2][i / kLanes % 2][i % kLanes] =
          i % kLanes < tests.size() ? Value{0} : std::numeric_limits<Value>::max();
  }
};

// Every test of feature g on both sides of the tests of a batch; `look` says which places count.
// Two leaves of a test between two places gain no more than the left one of the later place and the
// right one of the earlier place (MONO): so most steps need no look at their tests. After one that
// does the next one most often does, too.
template <class Value>
WIDE void scan(Batch<Value>& b, size_t g, const char* look) {
  using Bit = typename std::make_unsigned<Value>::type;
  const Index *order = b.v.order[g].data(), *kinds = b.v.kinds[g].data();
  const size_t classes = b.classes;
  const Value *total = b.total.data(), *all = b.all.data();
  b.in.assign(b.blocks * kLanes, 0);
  b.below.assign(b.blocks, 0);
  Bit bit[kLanes / 2];
  for (size_t l = 0; l < kLanes / 2; ++l) bit[l] = static_cast<Bit>(1u << l);
  const auto add = [&](size_t at) {
    const std::uint32_t left = b.sides[order[at]];
    for (const auto& part : b.parts[kinds[at]]) {
      const Value much = part.much;
      b.below[part.block] = static_cast<Value>(b.below[part.block] + much);
      Value* in = b.in.data() + part.block * kLanes;
      for (int half = 0; half < 2; ++half, in += kLanes / 2) {
        const Bit sides = static_cast<Bit>(left >> 16 * half);
        for (size_t l = 0; l < kLanes / 2; ++l)
          in[l] = static_cast<Value>(in[l] + (sides & bit[l] ? much : 0));
      }
    }
  };
  // Sums of both sides of the last place, on the left of the batch's tests and on the right.
  const auto four = [&](size_t k, size_t l, Value* x) {
    x[0] = b.in[k * kLanes + l];
    x[1] = static_cast<Value>(total[k * kLanes + l] - x[0]);
    x[2] = static_cast<Value>(b.below[k] - x[0]);
    x[3] = static_cast<Value>(all[k] - b.below[k] - x[1]);
  };
  const auto leaves = [&](Value(*gain)[kLanes]) {
    Value x[4];
    for (size_t k = 0; k < classes; ++k)
      for (size_t l = 0; l < kLanes; ++l) {
        four(k, l, x);
        for (int i = 0; i < 4; ++i) gain[i][l] = k ? std::max(gain[i][l], x[i]) : x[i];
      }
  };
  Value before[4][kLanes], after[4][kLanes], now[4][kLanes], x[4];
  leaves(before);
  vector<Value> in, below;
  bool close = false;  // whether the tests of a step are looked at
  for (size_t from = 0, to; from + 1 < b.v.rows(); from = to) {
    to = std::min(from + kStep, b.v.rows() - 1);
    in = b.in;
    below = b.below;
    Value over = 0;
    for (;;) {
      for (size_t at = from; at < to; ++at) {
        add(at);
        if (!close || !look[at + 1]) continue;
        leaves(now);
        for (int side = 0; side < 2; ++side)
          for (size_t l = 0; l < kLanes; ++l) {
            const Value sum = static_cast<Value>(now[2 * side][l] + now[2 * side + 1][l]);
            b.best[0][side][l] = std::max(b.best[0][side][l], sum);
            if (!b.sized) continue;
            four(classes, l, x);
            if (x[2 * side] >= b.least && x[2 * side + 1] >= b.least)
              b.best[1][side][l] = std::max(b.best[1][side][l], sum);
          }
      }
      leaves(after);
      over = 0;
      for (int side = 0; side < 2; ++side)
        for (size_t l = 0; l < kLanes; ++l) {
          const Value most = static_cast<Value>(b.best[b.sized][side][l] - before[2 * side + 1][l]);
          over = std::max<Value>(over, after[2 * side][l] > most);  // a difference may overflow
        }
      if (close || over <= 0) break;
      close = true;
      b.in = in;
      b.below = below;
    }
    close = over > 0;
    std::copy_n(after[0], 4 * kLanes, before[0]);
  }
}

// The most that two leaves gain on a side of a test; 0 where no split may stand.
struct Gains {
  Int of[2][2][kLanes];  // [leaves of any size, of the least][side]
};

// The gains of all tests of the second level, behind each of some tests of the first level.
template <class Value>
Gains gains(const Problem& p, const View& v, const vector<Test>& tests, int state, Int least,
            const vector<vector<char>>& look) {
  Batch<Value> batch(p, v, least);
  batch.fill(tests);
  for (size_t g = 0; g < p.features.size(); ++g)
    if (p.after(state, g) >= 0) scan(batch, g, look[g].data());
  Gains found;
  std::copy_n(&batch.best[0][0][0], 4 * kLanes, &found.of[0][0][0]);
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
