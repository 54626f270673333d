#include "odt/triple_sums.hpp"

#include <algorithm>
#include <numeric>

#include "odt/lane_scores.hpp"
#include "odt/logs.hpp"
#include "odt/masked_sums.hpp"

namespace odt {
namespace {

// Scores of two columns' parts, for one column and lanes of others.
struct PairRow {
  std::size_t first, stride;  // the first lane that counts
  const double *w, *s, *n;    // of side 1 of both; n: what it counts
  const double *one_w, *one_s, *one_n;
  double own_w, own_s, own_n, all_w, all_s, all_n;
  double least;  // what a leaf counts at least
  double* leaf[4];
};

template <class L, class Score>
ODT_INLINE void score_pairs(const PairRow& row, const Score& score_of) {
  for (std::size_t j = row.first; j < row.stride; j += kLanes) {
    L w, s, n, one_w, one_s, one_n;
    load(w, row.w + j);
    load(s, row.s + j);
    load(n, row.n + j);
    load(one_w, row.one_w + j);
    load(one_s, row.one_s + j);
    load(one_n, row.one_n + j);
    const auto tell = [&](const L& part_w, const L& part_s, const L& part_n,
                          double* leaf) {
      store(only(score_of(part_w, part_s), part_n >= row.least), leaf + j);
    };
    tell(row.all_w - row.own_w - one_w + w, row.all_s - row.own_s - one_s + s,
         row.all_n - row.own_n - one_n + n, row.leaf[0]);
    tell(one_w - w, one_s - s, one_n - n, row.leaf[1]);
    tell(row.own_w - w, row.own_s - s, row.own_n - n, row.leaf[2]);
    tell(w, s, n, row.leaf[3]);
  }
}

// Scores of three columns' parts, for two columns and lanes of third ones.
struct TripleRow {
  std::size_t first, stride;
  const double *w, *s;                  // of side 1 of all three
  const double *a_w, *a_s, *b_w, *b_s;  // of the third with the first, and with the second
  const double *one_w, *one_s;          // of the third
  double part_w[4], part_s[4];          // of the first two
  // Under rules: third columns that may be last, and those with which the first (the second) may
  // stand before the other of the two, by blocks of lanes; and what leaves count.
  const std::uint8_t *last, *beside_a, *beside_b;
  const double *n, *a_n, *b_n, *one_n;
  double part_n[4], least;
  double* best;                         // [part of the first two]
  double *best_a[4], *best_b[4];        // of a part by the third and the first, or the second
};

// What is asked of last splits: nothing, or which columns stand before them, and that leaves weigh
// or count so much.
enum class AskedOfThree { nothing, weights, counts };

template <class L, AskedOfThree kAsked, class Score>
ODT_INLINE void score_triples(const TripleRow& row, const Score& score_of) {
  L best[4];
  for (int part = 0; part < 4; ++part) best[part] = L{} + row.best[part];
  for (std::size_t j = row.first; j < row.stride; j += kLanes) {
    L w, s, a_w, a_s, b_w, b_s, one_w, one_s;
    load(w, row.w + j);
    load(s, row.s + j);
    load(a_w, row.a_w + j);
    load(a_s, row.a_s + j);
    load(b_w, row.b_w + j);
    load(b_s, row.b_s + j);
    load(one_w, row.one_w + j);
    load(one_s, row.one_s + j);
    // On side 1 of the third column, then on its side 0; by the parts of the first two.
    const L in_w[4] = {one_w - a_w - b_w + w, b_w - w, a_w - w, w};
    const L in_s[4] = {one_s - a_s - b_s + s, b_s - s, a_s - s, s};
    L in[4], out[4], in_n[4];
    typename BitsOf<L>::type last, beside_a, beside_b;
    if constexpr (kAsked != AskedOfThree::nothing) {
      const auto& bits_of = lane_masks().of;
      load_bits(last, bits_of[row.last[j / kLanes]]);
      load_bits(beside_a, bits_of[row.beside_a[j / kLanes]]);
      load_bits(beside_b, bits_of[row.beside_b[j / kLanes]]);
    }
    if constexpr (kAsked == AskedOfThree::counts) {
      L n, a_n, b_n, one_n;
      load(n, row.n + j);
      load(a_n, row.a_n + j);
      load(b_n, row.b_n + j);
      load(one_n, row.one_n + j);
      in_n[0] = one_n - a_n - b_n + n;
      in_n[1] = b_n - n;
      in_n[2] = a_n - n;
      in_n[3] = n;
    }
#pragma GCC unroll 4
    for (int part = 0; part < 4; ++part) {
      const L out_w = row.part_w[part] - in_w[part];
      in[part] = score_of(in_w[part], in_s[part]);
      out[part] = score_of(out_w, row.part_s[part] - in_s[part]);
      if constexpr (kAsked == AskedOfThree::weights) {
        in[part] = only(in[part], in_w[part] >= row.least);
        out[part] = only(out[part], out_w >= row.least);
      }
      if constexpr (kAsked == AskedOfThree::counts) {
        in[part] = only(in[part], in_n[part] >= row.least);
        out[part] = only(out[part], row.part_n[part] - in_n[part] >= row.least);
      }
      L both = in[part] + out[part];
      if constexpr (kAsked != AskedOfThree::nothing) both = only(both, last);
      best[part] = larger(best[part], both);
    }
    if constexpr (kAsked == AskedOfThree::nothing)
      raise_quarters(in, out, row.best_a, row.best_b, j);
    else
      raise_quarters(in, out, row.best_a, row.best_b, j, beside_a, beside_b);
  }
  for (int part = 0; part < 4; ++part) row.best[part] = largest(best[part]);
}

// Scores of both sides of columns.
struct ColumnSums {
  std::size_t stride;
  const double *one_w, *one_s, *one_n;
  double all_w, all_s, all_n, least;
  double *none, *one;
};

template <class L, class Score>
ODT_INLINE void score_alone(const ColumnSums& row, const Score& score_of) {
  for (std::size_t j = 0; j < row.stride; j += kLanes) {
    L w, s, n;
    load(w, row.one_w + j);
    load(s, row.one_s + j);
    load(n, row.one_n + j);
    store(only(score_of(row.all_w - w, row.all_s - s), row.all_n - n >= row.least), row.none + j);
    store(only(score_of(w, s), n >= row.least), row.one + j);
  }
}

ODT_VERSIONS(void alone_of_squares(const ColumnSums& row), score_alone<L>(row, OfSquares()))
ODT_VERSIONS(void alone_of_counts(const ColumnSums& row), score_alone<L>(row, OfCounts()))
ODT_VERSIONS(void pairs_of_squares(const PairRow& row), score_pairs<L>(row, OfSquares()))
ODT_VERSIONS(void pairs_of_counts(const PairRow& row), score_pairs<L>(row, OfCounts()))
ODT_VERSIONS(void triples_of_squares(const TripleRow& row),
             score_triples<L, AskedOfThree::nothing>(row, OfSquares()))
ODT_VERSIONS(void triples_of_counts(const TripleRow& row),
             score_triples<L, AskedOfThree::nothing>(row, OfCounts()))
ODT_VERSIONS(void ruled_triples_of_squares(const TripleRow& row),
             score_triples<L, AskedOfThree::weights>(row, OfSquares()))
ODT_VERSIONS(void ruled_triples_of_counts(const TripleRow& row),
             score_triples<L, AskedOfThree::weights>(row, OfCounts()))
ODT_VERSIONS(void sized_triples_of_squares(const TripleRow& row),
             score_triples<L, AskedOfThree::counts>(row, OfSquares()))
ODT_VERSIONS(void sized_triples_of_counts(const TripleRow& row),
             score_triples<L, AskedOfThree::counts>(row, OfCounts()))

// The points of a bit set, or of two; their number.
std::size_t list_bits(const std::uint64_t* a, const std::uint64_t* b, std::size_t words,
                      std::uint32_t* rows) {
  std::uint32_t* to = rows;
  for (std::size_t k = 0; k < words; ++k) {
    std::uint64_t word = a[k] & b[k];
    while (word != 0) {
      *to++ =
          static_cast<std::uint32_t>(64 * k) + static_cast<std::uint32_t>(__builtin_ctzll(word));
      word &= word - 1;
    }
  }
  return static_cast<std::size_t>(to - rows);
}

}  // namespace

void TripleSums::prepare(const RegressionView& view) {
  columns_ = view.columns.size();
  stride_ = (columns_ + kLanes - 1) / kLanes * kLanes;
  points_ = view.points;
  words_ = (points_ + 63) / 64;
  all_w_ = view.total.w;
  all_s_ = view.total.s;
  std::vector<std::size_t> ones(columns_);
  turned_.assign(columns_, 0);
  for (std::size_t k = 0; k < columns_; ++k) {
    const std::uint32_t* codes = view.codes(k);
    ones[k] = std::accumulate(codes, codes + points_, std::size_t{0});
    turned_[k] = 2 * ones[k] > points_;
    if (turned_[k]) ones[k] = points_ - ones[k];
  }
  // The sums of two columns run over the points of both, and there are most third columns for the
  // first ones: those come first that have few points.
  column_.resize(columns_);
  std::iota(column_.begin(), column_.end(), 0u);
  std::stable_sort(column_.begin(), column_.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return ones[a] < ones[b]; });
  const std::size_t blocks = stride_ / kLanes;
  masks_.assign(points_ * blocks, 0);
  bits_.assign(columns_ * words_, 0);
  for (std::size_t k = 0; k < columns_; ++k) {
    const std::uint32_t* codes = view.codes(column_[k]);
    const std::uint32_t flip = turned_[column_[k]] ? 1 : 0;
    std::uint8_t* masks = masks_.data() + k / kLanes;
    for (std::size_t w = 0; w < words_; ++w) {
      std::uint64_t word = 0;
      const std::size_t end = std::min(points_, 64 * (w + 1));
      for (std::size_t i = 64 * w; i < end; ++i) {
        const std::uint32_t bit = codes[i] ^ flip;
        masks[i * blocks] |= static_cast<std::uint8_t>(bit << (k % kLanes));
        word |= std::uint64_t{bit} << (i % 64);
      }
      bits_[k * words_ + w] = word;
    }
  }
  counted_ = !data_.weighed;
  all_n_ = view.total.n;
  step_ = counted_ ? 3 : 2;
  sums_.resize(step_ * points_);
  for (std::size_t i = 0; i < points_; ++i) {
    sums_[step_ * i] = view.point[i].w;
    sums_[step_ * i + 1] = view.point[i].s;
    if (counted_) sums_[step_ * i + 2] = view.point[i].n;
  }
  for (Table* table : {&one_w_, &one_s_, &triple_w_, &triple_s_, &alone_[0], &alone_[1]})
    table->reserve(stride_);
  for (Table* table : {&pair_w_, &pair_s_}) table->reserve(columns_ * stride_);
  if (counted_) {
    one_n_.reserve(stride_);
    triple_n_.reserve(stride_);
    pair_n_.reserve(columns_ * stride_);
  }
  for (auto* tables : {&leaf_, &stump_})
    for (Table& table : *tables) table.reserve(columns_ * stride_);
}

void TripleSums::sum(const MaskedRows& rows, std::size_t block, double* w, double* s,
                     double* n) const {
  add_masked_two(rows, block, w, s);
  if (counted_) add_masked_one(rows.behind(2), block, n);
}

void TripleSums::sum_pairs(bool counts) {
  rows_.resize(points_);
  const MaskedRows in{sums_.data(), step_, masks_.data(), stride_ / kLanes, rows_.data(), 0};
  const auto listed = [&](const std::uint64_t* bits) {
    MaskedRows some = in;
    some.rows = list_bits(bits, bits, words_, rows_.data());
    return some;
  };
  std::iota(rows_.begin(), rows_.end(), 0u);
  MaskedRows whole = in;
  whole.rows = points_;
  sum(whole, 0, one_w_.data(), one_s_.data(), one_n_.data());
  const double* one_n = this->one_n().data();
  // Of a stump that parts the points no leaf is empty.
  const double least = data_.problem.sized() ? least_ : -1;
  const ColumnSums alone{stride_, one_w_.data(), one_s_.data(),     one_n,          all_w_, all_s_,
                         all_n(), least,         alone_[0].data(), alone_[1].data()};
  counts ? alone_of_counts(alone) : alone_of_squares(alone);
  for (std::size_t k = 0; k < columns_; ++k) {
    const std::size_t block = k / kLanes, row = k * stride_;
    sum(listed(bits_.data() + k * words_), block, pair_w_.data() + row, pair_s_.data() + row,
        counted_ ? pair_n_.data() + row : nullptr);
    PairRow pairs{block * kLanes,
                  stride_,
                  pair_w_.data() + row,
                  pair_s_.data() + row,
                  pair_n().data() + row,
                  one_w_.data(),
                  one_s_.data(),
                  one_n,
                  one_w_.data()[k],
                  one_s_.data()[k],
                  one_n[k],
                  all_w_,
                  all_s_,
                  all_n(),
                  least,
                  {}};
    for (std::size_t part = 0; part < kParts; ++part) pairs.leaf[part] = leaf_[part].data() + row;
    counts ? pairs_of_counts(pairs) : pairs_of_squares(pairs);
    for (std::size_t part = 0; part < kParts; ++part) {
      double* stump = stump_[part].data() + row;
      if (kinds_ > 0)
        std::fill(stump + pairs.first, stump + stride_, -kNever);
      else
        std::copy(pairs.leaf[part] + pairs.first, pairs.leaf[part] + stride_, stump + pairs.first);
    }
  }
}

// The kinds of columns, and the masks of columns that may be last behind two of a kind each, and
// beside one where another is last.
void TripleSums::list_last(const RegressionView& view, int state) {
  const NumberRules& rules = data_.rules();
  kinds_ = paths_.count;
  if (kinds_ == 0) return;
  kind_.resize(columns_);
  for (std::size_t k = 0; k < columns_; ++k) {
    const std::size_t f = static_cast<std::size_t>(view.feature(data_, column_[k]));
    kind_[k] = paths_.of[static_cast<std::size_t>(rules.column[f])];
  }
  std::vector<int> both(kinds_ * kinds_);  // the state behind two, in an order that may stand
  for (std::size_t a = 0; a < kinds_; ++a)
    for (std::size_t b = 0; b < kinds_; ++b) {
      const int one = paths_.after(paths_.after(state, a), b);
      both[a * kinds_ + b] = one >= 0 ? one : paths_.after(paths_.after(state, b), a);
    }
  const auto last = [&](int behind, std::size_t kind) {
    const int third = paths_.after(behind, kind);
    return third >= 0 && rules.ends(third);
  };
  const std::size_t blocks = stride_ / kLanes;
  last_masks_.assign(blocks, 0);
  const auto add = [&](const auto& may) {
    const std::size_t from = last_masks_.size();
    last_masks_.resize(from + blocks, 0);
    bool any = false;
    for (std::size_t k = 0; k < columns_; ++k) {
      if (!may(kind_[k])) continue;
      last_masks_[from + k / kLanes] |= static_cast<std::uint8_t>(1 << (k % kLanes));
      any = true;
    }
    if (!any) last_masks_.resize(from);
    return any ? from : 0;
  };
  std::vector<std::pair<int, std::size_t>> known{{-1, 0}};  // a state and its mask
  last_.resize(both.size());
  for (std::size_t k = 0; k < both.size(); ++k) {
    auto at = std::find_if(known.begin(), known.end(),
                           [&](const auto& one) { return one.first == both[k]; });
    if (at == known.end()) {
      known.emplace_back(both[k], add([&](std::size_t kind) { return last(both[k], kind); }));
      at = known.end() - 1;
    }
    last_[k] = at->second;
  }
  beside_ = last_;
  if (paths_.unordered) return;
  for (std::size_t a = 0; a < kinds_; ++a)
    for (std::size_t b = 0; b < kinds_; ++b)
      beside_[a * kinds_ + b] =
          add([&](std::size_t kind) { return last(both[a * kinds_ + kind], b); });
}

// Each three columns once: two, and lanes of third ones behind them.
void TripleSums::sum_triples(bool counts, Control& control) {
  const std::size_t blocks = stride_ / kLanes;
  using Version = void (*)(const TripleRow&);
  const auto pick = [counts](Version of_squares, Version of_counts) {
    return counts ? of_counts : of_squares;
  };
  auto score = pick(triples_of_squares, triples_of_counts);
  if (kinds_ > 0) score = pick(ruled_triples_of_squares, ruled_triples_of_counts);
  if (counted_) score = pick(sized_triples_of_squares, sized_triples_of_counts);
  for (std::size_t a = 0; a + 2 < columns_; ++a) {
    std::size_t work = 0;
    for (std::size_t b = a + 1; b + 1 < columns_; ++b) {
      const std::size_t block = b / kLanes, row_a = a * stride_, row_b = b * stride_;
      std::size_t last = 0, beside_a = 0, beside_b = 0;
      if (kinds_ > 0) {
        last = last_[kind_[a] * kinds_ + kind_[b]];
        beside_a = beside_[kind_[a] * kinds_ + kind_[b]];
        beside_b = beside_[kind_[b] * kinds_ + kind_[a]];
        if (last + beside_a + beside_b == 0) continue;
      }
      const std::size_t rows =
          list_bits(bits_.data() + a * words_, bits_.data() + b * words_, words_, rows_.data());
      sum({sums_.data(), step_, masks_.data(), blocks, rows_.data(), rows}, block,
          triple_w_.data(), triple_s_.data(), triple_n_.data());
      double best[kParts];
      TripleRow row{block * kLanes,
                    stride_,
                    triple_w_.data(),
                    triple_s_.data(),
                    pair_w_.data() + row_a,
                    pair_s_.data() + row_a,
                    pair_w_.data() + row_b,
                    pair_s_.data() + row_b,
                    one_w_.data(),
                    one_s_.data(),
                    {},
                    {},
                    last_masks_.data() + last,
                    last_masks_.data() + beside_a,
                    last_masks_.data() + beside_b,
                    triple_n().data(),
                    pair_n().data() + row_a,
                    pair_n().data() + row_b,
                    one_n().data(),
                    {},
                    least_,
                    best,
                    {},
                    {}};
      const auto parts = [a, b](double all, const double* one, const double* pair,
                                double (&of)[kParts]) {
        of[3] = pair[b];
        of[2] = one[a] - pair[b];
        of[1] = one[b] - pair[b];
        of[0] = all - one[a] - one[b] + pair[b];
      };
      parts(all_w_, row.one_w, row.a_w, row.part_w);
      parts(all_s_, row.one_s, row.a_s, row.part_s);
      parts(all_n(), row.one_n, row.a_n, row.part_n);
      for (std::size_t part = 0; part < kParts; ++part) {
        best[part] = stump_[part].data()[row_a + b];
        row.best_a[part] = stump_[part].data() + row_a;
        row.best_b[part] = stump_[part].data() + row_b;
      }
      score(row);
      for (std::size_t part = 0; part < kParts; ++part) {
        double& known = stump_[part].data()[row_a + b];
        known = std::max(known, best[part]);
      }
      work += words_ + (rows + 16) * (blocks - block);
    }
    control.poll(work);
  }
}

// The best tree on a side of a column, by how many leaves it has at most; losses are less what all
// points lose by themselves.
void TripleSums::offer_side(const RegressionView& view, std::size_t root, std::size_t side,
                            int state, std::array<Pick, 5>& of_leaves) const {
  const double price = data_.problem.leaf_price;
  const double alone = alone_[side].data()[root];
  const NumberRules& rules = data_.rules();
  for (std::size_t leaves = 1; leaves < of_leaves.size(); ++leaves)
    of_leaves[leaves] = {rules.ends(state) ? price - alone : kNever, -1, 1, {false, false}};
  const double *one = one_n().data(), *pair = pair_n().data();
  const double n = side == 1 ? one[root] : all_n() - one[root];
  if (!data_.splits(state, n)) return;
  for (std::size_t k = 0; k < columns_; ++k) {
    if (k == root) continue;
    const double both = k < root ? pair[k * stride_ + root] : pair[root * stride_ + k];
    const double inside = side == 1 ? both : one[k] - both;
    if (least_ > 0 && (inside <= 0 || inside >= n)) continue;
    const std::size_t column = column_[k], turned = turned_[column] ? 1 : 0;
    const int after = rules.after(state, static_cast<std::size_t>(view.feature(data_, column)));
    if (after < 0) continue;
    Sides sides;
    for (std::size_t code = 0; code < 2; ++code) {
      const std::size_t part = code ^ turned;
      const double stump = of(stump_, root, side, k, part);
      const bool splits = data_.splits(after, part == 1 ? inside : n - inside);
      sides.leaf[code] = rules.ends(after) ? price - of(leaf_, root, side, k, part) : kNever;
      sides.stump[code] = splits && stump > -kNever / 2 ? 2 * price - stump : kNever;
    }
    for (int leaves : {3, 4})
      sides.offer(leaves, data_.tolerance, column, 1, of_leaves[static_cast<std::size_t>(leaves)]);
    const double two = sides.leaf[0] + sides.leaf[1];
    if (two < of_leaves[2].value - data_.tolerance)
      of_leaves[2] = {two, static_cast<int>(column), 1, {false, false}};
  }
}

void TripleSums::gather(const RegressionView& view, int leaves, int state,
                        ThreeLevels& best) const {
  const int half = 4;
  best.by_first.assign(columns_, kNever);
  for (std::size_t root = 0; root < columns_; ++root) {
    const int after = data_.after(state, view.columns[column_[root]].column);
    if (after < 0) continue;
    std::array<Pick, 5> side[2];
    for (std::size_t k = 0; k < 2; ++k) offer_side(view, root, k, after, side[k]);
    const std::size_t turned = turned_[column_[root]] ? 1 : 0;
    for (int l = std::max(1, leaves - half); l <= std::min(half, leaves - 1); ++l) {
      const Pick& below = side[turned][static_cast<std::size_t>(l)];
      const Pick& beside = side[1 - turned][static_cast<std::size_t>(leaves - l)];
      const double value =
          std::max(view.total.q + below.value + beside.value, 2 * data_.problem.leaf_price);
      double& least = best.by_first[column_[root]];
      least = std::min(least, value);
      if (!(value < best.value - data_.tolerance)) continue;
      best.value = value;
      best.column = static_cast<int>(column_[root]);
      best.side[0] = below;
      best.side[1] = beside;
    }
  }
}

// The last splits of the best tree, which are kept by their scores alone.
void TripleSums::tell_thirds(bool counts, ThreeLevels& best) {
  std::vector<std::size_t> place(columns_);
  for (std::size_t k = 0; k < columns_; ++k) place[column_[k]] = k;
  // Points on the side with a code of a column.
  const auto keep = [&](int column, std::size_t code, std::vector<std::uint64_t>& bits) {
    const std::size_t k = place[static_cast<std::size_t>(column)];
    const bool one = (code == 1) != (turned_[static_cast<std::size_t>(column)] != 0);
    for (std::size_t w = 0; w < words_; ++w) {
      const std::uint64_t ones = bits_[k * words_ + w];
      bits[w] &= one ? ones : ~ones;
    }
  };
  const auto score = [counts](double w, double s) {
    return counts ? gain_of_ratio(s, w) : s * s / (w + kNoWeight);
  };
  for (std::size_t code = 0; code < 2; ++code) {
    Pick& side = best.side[code];
    for (std::size_t inner = 0; inner < 2; ++inner) {
      if (side.column < 0 || !side.stump[inner]) continue;
      std::vector<std::uint64_t> bits(words_, ~std::uint64_t{0});
      if (points_ % 64 != 0) bits.back() = low_bits(points_ % 64);
      keep(best.column, code, bits);
      keep(side.column, inner, bits);
      const std::size_t rows = list_bits(bits.data(), bits.data(), words_, rows_.data());
      add_masked_two({sums_.data(), 2, masks_.data(), stride_ / kLanes, rows_.data(), rows}, 0,
                     triple_w_.data(), triple_s_.data());
      double w = 0, s = 0, most = -kNever;
      for (std::size_t i = 0; i < rows; ++i) {
        w += sums_[2 * rows_[i]];
        s += sums_[2 * rows_[i] + 1];
      }
      for (std::size_t column = 0; column < columns_; ++column) {
        const double one_w = triple_w_[place[column]], one_s = triple_s_[place[column]];
        if (one_w < least_ || w - one_w < least_) continue;
        const double found = score(one_w, one_s) + score(w - one_w, s - one_s);
        if (found <= most) continue;
        most = found;
        side.third[inner] = static_cast<int>(column);
      }
    }
  }
}

void TripleSums::best_tree(const RegressionView& view, bool counts, int leaves, int state,
                           Control& control, ThreeLevels& best) {
  prepare(view);
  least_ = counted_ ? data_.leaf_least : data_.leaf_weight;
  // Relaxed states ask nothing of rows.
  if (data_.problem.sized() && !data_.rules().strict(state)) least_ = -1;
  list_last(view, state);
  sum_pairs(counts);
  const int most = std::min(leaves, 8);
  try {
    sum_triples(counts, control);
  } catch (const Stop&) {
    gather(view, most, state, best);
    throw;
  }
  gather(view, most, state, best);
  if (best.column >= 0 && kinds_ == 0 && !data_.problem.sized()) tell_thirds(counts, best);
}

}  // namespace odt
