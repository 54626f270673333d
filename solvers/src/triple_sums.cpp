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
  const double *w, *s;        // of side 1 of both
  const double *one_w, *one_s;
  double own_w, own_s, all_w, all_s;
  double lightest;  // what a leaf weighs at least
  double* leaf[4];
};

template <class Score>
ODT_INLINE void score_pairs(const PairRow& row, const Score& score_of) {
  for (std::size_t j = row.first; j < row.stride; j += kLanes) {
    Lanes w, s, one_w, one_s;
    load(w, row.w + j);
    load(s, row.s + j);
    load(one_w, row.one_w + j);
    load(one_s, row.one_s + j);
    const auto tell = [&](const Lanes& part_w, const Lanes& part_s, double* leaf) {
      store(only(score_of(part_w, part_s), part_w >= row.lightest), leaf + j);
    };
    tell(row.all_w - row.own_w - one_w + w, row.all_s - row.own_s - one_s + s, row.leaf[0]);
    tell(one_w - w, one_s - s, row.leaf[1]);
    tell(row.own_w - w, row.own_s - s, row.leaf[2]);
    tell(w, s, row.leaf[3]);
  }
}

// Scores of three columns' parts, for two columns and lanes of third ones.
struct TripleRow {
  std::size_t first, stride;
  const double *w, *s;                  // of side 1 of all three
  const double *a_w, *a_s, *b_w, *b_s;  // of the third with the first, and with the second
  const double *one_w, *one_s;          // of the third
  double part_w[4], part_s[4];          // of the first two
  const std::uint8_t* allowed;          // under rules: third columns, by blocks of lanes
  double lightest;                      // and what a leaf weighs at least
  double* best;                         // [part of the first two]
  double *best_a[4], *best_b[4];        // of a part by the third and the first, or the second
};

template <bool kRuled, class Score>
ODT_INLINE void score_triples(const TripleRow& row, const Score& score_of) {
  Lanes best[4];
  for (int part = 0; part < 4; ++part) best[part] = Lanes{} + row.best[part];
  for (std::size_t j = row.first; j < row.stride; j += kLanes) {
    Lanes w, s, a_w, a_s, b_w, b_s, one_w, one_s;
    load(w, row.w + j);
    load(s, row.s + j);
    load(a_w, row.a_w + j);
    load(a_s, row.a_s + j);
    load(b_w, row.b_w + j);
    load(b_s, row.b_s + j);
    load(one_w, row.one_w + j);
    load(one_s, row.one_s + j);
    // On side 1 of the third column, then on its side 0; by the parts of the first two.
    const Lanes in_w[4] = {one_w - a_w - b_w + w, b_w - w, a_w - w, w};
    const Lanes in_s[4] = {one_s - a_s - b_s + s, b_s - s, a_s - s, s};
    Lanes in[4], out[4];
    LaneBits allowed;
    if constexpr (kRuled)
      std::memcpy(&allowed, lane_masks().of[row.allowed[j / kLanes]], sizeof allowed);
#pragma GCC unroll 4
    for (int part = 0; part < 4; ++part) {
      const Lanes out_w = row.part_w[part] - in_w[part];
      in[part] = score_of(in_w[part], in_s[part]);
      out[part] = score_of(out_w, row.part_s[part] - in_s[part]);
      if constexpr (kRuled) {
        in[part] = only(in[part], allowed & (in_w[part] >= row.lightest));
        out[part] = only(out[part], allowed & (out_w >= row.lightest));
      }
      best[part] = larger(best[part], in[part] + out[part]);
    }
    raise_quarters(in, out, row.best_a, row.best_b, j);
  }
  for (int part = 0; part < 4; ++part) row.best[part] = largest(best[part]);
}

template <class Score>
ODT_INLINE void score_alone(const double* one_w, const double* one_s, double all_w, double all_s,
                            double lightest, std::size_t n, double* none, double* one,
                            const Score& score_of) {
  for (std::size_t j = 0; j < n; j += kLanes) {
    Lanes w, s;
    load(w, one_w + j);
    load(s, one_s + j);
    store(only(score_of(all_w - w, all_s - s), all_w - w >= lightest), none + j);
    store(only(score_of(w, s), w >= lightest), one + j);
  }
}

ODT_CLONES void alone_of_squares(const double* w, const double* s, double all_w, double all_s,
                                 double lightest, std::size_t n, double* none, double* one) {
  score_alone(w, s, all_w, all_s, lightest, n, none, one, OfSquares());
}
ODT_CLONES void alone_of_counts(const double* w, const double* s, double all_w, double all_s,
                                double lightest, std::size_t n, double* none, double* one) {
  score_alone(w, s, all_w, all_s, lightest, n, none, one, OfCounts());
}
ODT_CLONES void pairs_of_squares(const PairRow& row) { score_pairs(row, OfSquares()); }
ODT_CLONES void pairs_of_counts(const PairRow& row) { score_pairs(row, OfCounts()); }
ODT_CLONES void triples_of_squares(const TripleRow& row) { score_triples<false>(row, OfSquares()); }
ODT_CLONES void triples_of_counts(const TripleRow& row) { score_triples<false>(row, OfCounts()); }
ODT_CLONES void ruled_triples_of_squares(const TripleRow& row) {
  score_triples<true>(row, OfSquares());
}
ODT_CLONES void ruled_triples_of_counts(const TripleRow& row) {
  score_triples<true>(row, OfCounts());
}

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
  sums_.resize(2 * points_);
  for (std::size_t i = 0; i < points_; ++i) {
    sums_[2 * i] = view.point[i].w;
    sums_[2 * i + 1] = view.point[i].s;
  }
  for (Table* table : {&one_w_, &one_s_, &triple_w_, &triple_s_, &alone_[0], &alone_[1]})
    table->reserve(stride_);
  for (Table* table : {&pair_w_, &pair_s_}) table->reserve(columns_ * stride_);
  for (auto* tables : {&leaf_, &stump_})
    for (Table& table : *tables) table.reserve(columns_ * stride_);
}

void TripleSums::sum_pairs(bool counts, double lightest) {
  rows_.resize(points_);
  const MaskedRows in{sums_.data(), 2, masks_.data(), stride_ / kLanes, rows_.data(), 0};
  const auto listed = [&](const std::uint64_t* bits) {
    MaskedRows some = in;
    some.rows = list_bits(bits, bits, words_, rows_.data());
    return some;
  };
  std::iota(rows_.begin(), rows_.end(), 0u);
  MaskedRows whole = in;
  whole.rows = points_;
  add_masked_two(whole, 0, one_w_.data(), one_s_.data());
  (counts ? alone_of_counts : alone_of_squares)(one_w_.data(), one_s_.data(), all_w_, all_s_,
                                                lightest, stride_, alone_[0].data(),
                                                alone_[1].data());
  for (std::size_t k = 0; k < columns_; ++k) {
    const std::size_t block = k / kLanes, row = k * stride_;
    add_masked_two(listed(bits_.data() + k * words_), block, pair_w_.data() + row,
                   pair_s_.data() + row);
    PairRow pairs{block * kLanes,
                  stride_,
                  pair_w_.data() + row,
                  pair_s_.data() + row,
                  one_w_.data(),
                  one_s_.data(),
                  one_w_.data()[k],
                  one_s_.data()[k],
                  all_w_,
                  all_s_,
                  lightest,
                  {}};
    for (std::size_t part = 0; part < kParts; ++part) pairs.leaf[part] = leaf_[part].data() + row;
    (counts ? pairs_of_counts : pairs_of_squares)(pairs);
    for (std::size_t part = 0; part < kParts; ++part) {
      double* stump = stump_[part].data() + row;
      if (kinds_ > 0)
        std::fill(stump + pairs.first, stump + stride_, -kNever);
      else
        std::copy(pairs.leaf[part] + pairs.first, pairs.leaf[part] + stride_, stump + pairs.first);
    }
  }
}

// The kinds of columns, and the columns that may be last behind two of a kind each: whichever of
// the three stands first, it is the same for all orders.
void TripleSums::list_last(const RegressionData& data, const RegressionView& view, int state) {
  const NumberRules& rules = data.rules();
  kinds_ = rules.none() ? 0 : static_cast<std::size_t>(rules.columns);
  if (kinds_ == 0) return;
  const std::size_t blocks = stride_ / kLanes;
  kind_.resize(columns_);
  std::vector<std::size_t> feature(kinds_, 0);
  std::vector<char> met(kinds_, 0);
  for (std::size_t k = 0; k < columns_; ++k) {
    const std::size_t f = static_cast<std::size_t>(view.feature(data, column_[k]));
    kind_[k] = static_cast<std::size_t>(rules.column[f]);
    feature[kind_[k]] = f;
    met[kind_[k]] = 1;
  }
  last_.assign(kinds_ * kinds_, -1);
  last_masks_.clear();
  std::vector<std::pair<int, int>> known;  // a state and its masks
  for (std::size_t a = 0; a < kinds_; ++a)
    for (std::size_t b = 0; b < kinds_; ++b) {
      if (!met[a] || !met[b]) continue;
      const int first = rules.after(state, feature[a]),
                second = first < 0 ? -1 : rules.after(first, feature[b]);
      if (second < 0) continue;
      const auto at = std::find_if(known.begin(), known.end(),
                                   [&](const auto& one) { return one.first == second; });
      if (at != known.end()) {
        last_[a * kinds_ + b] = at->second;
        continue;
      }
      const std::size_t from = last_masks_.size();
      last_masks_.resize(from + blocks, 0);
      bool any = false;
      for (std::size_t k = 0; k < columns_; ++k) {
        const int third = rules.after(second, feature[kind_[k]]);
        if (third < 0 || !rules.ends(third)) continue;
        last_masks_[from + k / kLanes] |= static_cast<std::uint8_t>(1 << (k % kLanes));
        any = true;
      }
      last_[a * kinds_ + b] = any ? static_cast<int>(from) : -1;
      known.emplace_back(second, last_[a * kinds_ + b]);
    }
}

// Each three columns once: two, and lanes of third ones behind them.
void TripleSums::sum_triples(bool counts, double lightest, Control& control) {
  const std::size_t blocks = stride_ / kLanes;
  auto score = counts ? triples_of_counts : triples_of_squares;
  if (kinds_ > 0) score = counts ? ruled_triples_of_counts : ruled_triples_of_squares;
  for (std::size_t a = 0; a + 2 < columns_; ++a) {
    std::size_t work = 0;
    for (std::size_t b = a + 1; b + 1 < columns_; ++b) {
      const std::size_t block = b / kLanes, row_a = a * stride_, row_b = b * stride_;
      const int last = kinds_ > 0 ? last_[kind_[a] * kinds_ + kind_[b]] : 0;
      if (last < 0) continue;
      const std::size_t rows =
          list_bits(bits_.data() + a * words_, bits_.data() + b * words_, words_, rows_.data());
      add_masked_two({sums_.data(), 2, masks_.data(), blocks, rows_.data(), rows}, block,
                     triple_w_.data(), triple_s_.data());
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
                    lightest,
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
void TripleSums::offer_side(const RegressionData& data, const RegressionView& view,
                            std::size_t root, std::size_t side, int state,
                            std::array<Pick, 5>& of_leaves) const {
  const double price = data.problem.leaf_price;
  const double alone = alone_[side].data()[root];
  const NumberRules& rules = data.rules();
  for (std::size_t leaves = 1; leaves < of_leaves.size(); ++leaves)
    of_leaves[leaves] = {rules.ends(state) ? price - alone : kNever, -1, 1, {false, false}};
  const double w = side == 1 ? one_w_.data()[root] : all_w_ - one_w_.data()[root];
  for (std::size_t k = 0; k < columns_; ++k) {
    if (k == root) continue;
    const double both =
        k < root ? pair_w_.data()[k * stride_ + root] : pair_w_.data()[root * stride_ + k];
    const double inside = side == 1 ? both : one_w_.data()[k] - both;
    if (inside <= 0 || inside >= w) continue;
    const std::size_t column = column_[k], turned = turned_[column] ? 1 : 0;
    const int after = rules.after(state, static_cast<std::size_t>(view.feature(data, column)));
    if (after < 0) continue;
    Sides sides;
    for (std::size_t code = 0; code < 2; ++code) {
      const double stump = of(stump_, root, side, k, code ^ turned);
      sides.leaf[code] =
          rules.ends(after) ? price - of(leaf_, root, side, k, code ^ turned) : kNever;
      sides.stump[code] = stump > -kNever / 2 ? 2 * price - stump : kNever;
    }
    for (int leaves : {3, 4})
      sides.offer(leaves, data.tolerance, column, 1, of_leaves[static_cast<std::size_t>(leaves)]);
    const double two = sides.leaf[0] + sides.leaf[1];
    if (two < of_leaves[2].value - data.tolerance)
      of_leaves[2] = {two, static_cast<int>(column), 1, {false, false}};
  }
}

void TripleSums::gather(const RegressionData& data, const RegressionView& view, int leaves,
                        int state, ThreeLevels& best) const {
  const int half = 4;
  best.by_first.assign(columns_, kNever);
  for (std::size_t root = 0; root < columns_; ++root) {
    const int after = data.after(state, view.columns[column_[root]].column);
    if (after < 0) continue;
    std::array<Pick, 5> side[2];
    for (std::size_t k = 0; k < 2; ++k) offer_side(data, view, root, k, after, side[k]);
    const std::size_t turned = turned_[column_[root]] ? 1 : 0;
    for (int l = std::max(1, leaves - half); l <= std::min(half, leaves - 1); ++l) {
      const Pick& below = side[turned][static_cast<std::size_t>(l)];
      const Pick& beside = side[1 - turned][static_cast<std::size_t>(leaves - l)];
      const double value =
          std::max(view.total.q + below.value + beside.value, 2 * data.problem.leaf_price);
      double& least = best.by_first[column_[root]];
      least = std::min(least, value);
      if (!(value < best.value - data.tolerance)) continue;
      best.value = value;
      best.column = static_cast<int>(column_[root]);
      best.side[0] = below;
      best.side[1] = beside;
    }
  }
}

// The last splits of the best tree, which are kept by their scores alone.
void TripleSums::tell_thirds(const RegressionData& data, bool counts, ThreeLevels& best) {
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
        if (one_w < data.leaf_weight || w - one_w < data.leaf_weight) continue;
        const double found = score(one_w, one_s) + score(w - one_w, s - one_s);
        if (found <= most) continue;
        most = found;
        side.third[inner] = static_cast<int>(column);
      }
    }
  }
}

void TripleSums::best_tree(const RegressionData& data, const RegressionView& view, bool counts,
                           int leaves, int state, Control& control, ThreeLevels& best) {
  prepare(view);
  list_last(data, view, state);
  sum_pairs(counts, data.problem.sized() ? data.leaf_weight : -1);
  const int most = std::min(leaves, 8);
  try {
    sum_triples(counts, data.leaf_weight, control);
  } catch (const Stop&) {
    gather(data, view, most, state, best);
    throw;
  }
  gather(data, view, most, state, best);
  if (best.column >= 0 && kinds_ == 0 && !data.problem.sized()) tell_thirds(data, counts, best);
}

}  // namespace odt
