// Losses that means make least: squared error, and deviance. A leaf loses q - s^2 / w of its
// moments (of counts q - s log(s / w)), so a split is the better the larger the sum of s^2 / w (its
// score) over both sides: two sums decide, and those of one side are the total less those of the
// other.
#include <algorithm>
#include <map>

#include "odt/cluster_bound.hpp"
#include "odt/four_clusters.hpp"
#include "odt/logs.hpp"
#include "odt/pair_sums.hpp"
#include "odt/regression_scan.hpp"
#include "odt/triple_sums.hpp"

namespace odt {
namespace {

constexpr std::uint32_t kStep = 32;  // values per block of a long column

template <bool kCounts>
inline double score(double w, double s) {
  if constexpr (kCounts) return gain_of_ratio(s, w);
  return s * s / (w + kNoWeight);
}
template <bool kCounts>
inline double loss(const Moments& m) {
  return std::max(0.0, m.q - score<kCounts>(m.w, m.s));
}

template <bool kCounts>
class MeanScan : public RegressionScan {
 public:
  MeanScan(const RegressionData& data, Control& control)
      : data_(data),
        price_(data.problem.leaf_price),
        tolerance_(data.tolerance),
        control_(control),
        triples_(data),
        cluster_(control) {}

  double leaf(const RegressionView& view) override { return loss<kCounts>(view.total) + price_; }
  Pick stump(const RegressionView& view, int state) override;
  void depth_two(const RegressionView& view, int leaves, int state, Pick& best) override;
  bool tells_sides(const RegressionView& view) override;
  void side_depth_two(const RegressionView& view, std::size_t column, bool below, int leaves,
                      int state, Pick& best) override;
  bool tells_three(const RegressionView& view) const override {
    return triples_.ready() && binary(view);
  }
  std::uint64_t work_of_three(const RegressionView& view) const override {
    return TripleSums::work(view);
  }
  void depth_three(const RegressionView& view, int leaves, int state, ThreeLevels& best) override;
  double clusters(const RegressionView& view, int leaves, double enough, double hopeless) override;

 private:
  void make_totals(const RegressionView& view);
  void best_pair(const RegressionView& view, PairSums::Sums& sums, int leaves, int state,
                 Pick& best);
  const PairSums::Allowed& allowed(const RegressionView& view, int state);
  void column_depth_two(const RegressionView& view, std::size_t column, int leaves, int state,
                        Pick& best);
  void sort_points(const RegressionView& view, std::size_t column);
  void move_to(const RegressionView& view, std::uint32_t cut);
  Sides sides_at(const RegressionView& view, int state);
  struct Best {
    double of[2], free[2];  // in a state, and in the one it relaxes to
  };
  template <bool kStrict>
  void best_of_column(const RegressionView& view, std::size_t column, double least,
                      Best& best) const;
  bool binary(const RegressionView& view) const {
    return std::all_of(view.columns.begin(), view.columns.end(),
                       [](const auto& c) { return c.values == 2; });
  }

  const RegressionData& data_;
  double price_, tolerance_;
  Control& control_;
  TripleSums triples_;
  // Moments per value, columns behind one another: of the node, and of the points below the cut.
  std::vector<std::size_t> first_;        // of a column, in values
  std::vector<std::size_t> first_block_;  // and in blocks
  std::vector<Moments> all_, below_, all_block_, below_block_;
  Moments below_total_, total_;
  std::vector<std::uint32_t> sorted_, ends_;
  std::uint32_t at_ = 0;            // cut that `below_` stands for
  std::size_t likely_[2] = {0, 0};  // column of the last best stump of a side
  std::vector<CutSpan> spans_;
  // Of a node with 0/1 columns only, and of the sides of one of its cuts.
  PairSums pairs_;
  PairSums::Sums node_, side_[2];
  PreparedNode prepared_;
  int side_column_ = -1;
  std::map<int, PairSums::Allowed> allowed_;  // by state, for this node
  LastSplits last_;
  ClusterBound cluster_;
  FourClusters four_;
  std::vector<Moments> prefix_;
};

template <bool kCounts>
void MeanScan<kCounts>::make_totals(const RegressionView& view) {
  first_.clear();
  first_block_.clear();
  std::size_t values = 0, blocks = 0;
  for (const auto& column : view.columns) {
    first_.push_back(values);
    first_block_.push_back(blocks);
    values += column.values;
    blocks += (column.values + kStep - 1) / kStep;
  }
  all_.assign(values, Moments{});
  all_block_.assign(blocks, Moments{});
  for (std::size_t k = 0; k < view.columns.size(); ++k) {
    const std::uint32_t* codes = view.codes(k);
    Moments* bins = all_.data() + first_[k];
    for (std::size_t i = 0; i < view.points; ++i) bins[codes[i]].add(view.point[i]);
    for (std::uint32_t v = 0; v < view.columns[k].values; ++v)
      all_block_[first_block_[k] + v / kStep].add(bins[v]);
  }
}

template <bool kCounts>
Pick MeanScan<kCounts>::stump(const RegressionView& view, int state) {
  splits.clear();
  Pick best;
  const bool strict = data_.rules().strict(state);
  const double least = prepared_.is(data_, view) && binary(view) && data_.weighed
                           ? data_.leaf_weight
                           : data_.leaf_least;
  last_.list(data_, view, state);
  const auto offer = [&](double w, double s, double n, double other, std::size_t column,
                         std::uint32_t cut) {
    const double value = view.total.q - score<kCounts>(w, s) -
                         score<kCounts>(view.total.w - w, view.total.s - s) + 2 * price_;
    splits.push_back(value);
    if (value < best.value && last_.of[column] == LastSplits::always &&
        (!strict || (n >= least && other >= least)))
      best = {value, static_cast<int>(column), cut, {false, false}};
  };
  if (prepared_.is(data_, view) && binary(view)) {
    const double* n = data_.weighed ? node_.one_w.data() : node_.one_n.data();
    const double all = data_.weighed ? view.total.w : view.total.n;
    for (std::size_t k = 0; k < view.columns.size(); ++k)
      offer(node_.one_w[k], node_.one_s[k], n[k], all - n[k], k, 1);
    best.value = std::max(best.value, 2 * price_);
    return best;
  }
  make_totals(view);
  for (std::size_t k = 0; k < view.columns.size(); ++k) {
    Moments low;
    for (std::uint32_t v = 0; v + 1 < view.columns[k].values; ++v) {
      low.add(all_[first_[k] + v]);
      offer(low.w, low.s, low.n, view.total.n - low.n, k, v + 1);
    }
  }
  best.value = std::max(best.value, 2 * price_);
  control_.poll(view.points * view.columns.size());
  return best;
}

template <bool kCounts>
bool MeanScan<kCounts>::tells_sides(const RegressionView& view) {
  if (!binary(view)) return false;
  if (prepared_.is(data_, view)) return true;
  pairs_.prepare(view, !data_.weighed);
  pairs_.sum(view, node_);
  prepared_.keep(view);
  side_column_ = -1;
  allowed_.clear();
  control_.poll(view.points * view.columns.size() * 4);
  return true;
}

template <bool kCounts>
const PairSums::Allowed& MeanScan<kCounts>::allowed(const RegressionView& view, int state) {
  const auto known = allowed_.find(state);
  if (known != allowed_.end()) return known->second;
  PairSums::Allowed& made = allowed_[state];
  if (data_.rules().none()) return made;
  std::vector<int> behind;
  for (const auto& column : view.columns) behind.push_back(data_.after(state, column.column));
  int listed = -1;
  made = pairs_.allowed(behind, [&](int after, std::size_t j) {
    if (after != listed) last_.list(data_, view, listed = after);
    return last_.of[j] == LastSplits::always;
  });
  if (data_.rules().strict(state))
    made.least = data_.weighed ? data_.leaf_weight : data_.leaf_least;
  return made;
}

template <bool kCounts>
void MeanScan<kCounts>::side_depth_two(const RegressionView& view, std::size_t column, bool below,
                                       int leaves, int state, Pick& best) {
  ++counters.depth_two;
  if (side_column_ != static_cast<int>(column)) {
    side_column_ = -1;
    const std::uint32_t* codes = view.codes(column);
    std::size_t ones = 0;
    for (std::size_t i = 0; i < view.points; ++i) ones += codes[i];
    const bool one = 2 * ones <= view.points;
    pairs_.sum_side(view, column, one, side_[one]);
    pairs_.subtract(node_, side_[one], side_[!one]);
    side_column_ = static_cast<int>(column);
    control_.poll(std::min(ones, view.points - ones) * view.columns.size() * 2);
  }
  best_pair(view, side_[!below], leaves, state, best);
}

template <bool kCounts>
void MeanScan<kCounts>::best_pair(const RegressionView& view, PairSums::Sums& sums, int leaves,
                                  int state, Pick& best) {
  const PairSums::Allowed& allowed = this->allowed(view, state);
  pairs_.score(sums, kCounts, allowed);
  const Moments& all = sums.all;
  for (std::size_t k = 0; k < view.columns.size(); ++k) {
    const double w = sums.one_w[k], s = sums.one_s[k], q = sums.one_q[k];
    const bool parts =
        (w > 0 && w < all.w) || (!data_.weighed && sums.one_n[k] > 0 && sums.one_n[k] < all.n);
    if (!parts || !allowed.may(k)) continue;
    Sides sides;
    sides.leaf[0] = std::max(0.0, all.q - q - score<kCounts>(all.w - w, all.s - s)) + price_;
    sides.leaf[1] = std::max(0.0, q - score<kCounts>(w, s)) + price_;
    sides.stump[0] = std::max(0.0, all.q - q - sums.best_none[k]) + 2 * price_;
    sides.stump[1] = std::max(0.0, q - sums.best_one[k]) + 2 * price_;
    if (!allowed.any) {
      const int after = data_.after(state, view.columns[k].column);
      // Weights stand for counts: they say whether there are rows, or are equal to them.
      const double one = data_.weighed ? w / data_.leaf_weight * data_.leaf_least : sums.one_n[k];
      const double none =
          data_.weighed ? (all.w - w) / data_.leaf_weight * data_.leaf_least : all.n - one;
      const double counts[2] = {none, one};
      for (int side = 0; side < 2; ++side) {
        if (!data_.ends(after, counts[side])) sides.leaf[side] = kNever;
        if (!data_.splits(after, counts[side])) sides.stump[side] = kNever;
      }
    }
    sides.offer(leaves, tolerance_, k, 1, best);
  }
  counters.scans += view.columns.size();
}

template <bool kCounts>
void MeanScan<kCounts>::sort_points(const RegressionView& view, std::size_t column) {
  const std::uint32_t* codes = view.codes(column);
  ends_.assign(view.columns[column].values + 1, 0);
  for (std::size_t i = 0; i < view.points; ++i) ++ends_[codes[i] + 1];
  for (std::size_t v = 1; v < ends_.size(); ++v) ends_[v] += ends_[v - 1];
  sorted_.resize(view.points);
  for (std::uint32_t i = 0; i < view.points; ++i) sorted_[ends_[codes[i]]++] = i;
  for (std::size_t v = ends_.size() - 1; v > 0; --v) ends_[v] = ends_[v - 1];
  ends_[0] = 0;
  below_.assign(all_.size(), Moments{});
  below_block_.assign(all_block_.size(), Moments{});
  below_total_ = Moments{};
  at_ = 0;
}

template <bool kCounts>
void MeanScan<kCounts>::move_to(const RegressionView& view, std::uint32_t cut) {
  const bool more = cut > at_;
  const std::uint32_t* begin = sorted_.data() + ends_[more ? at_ : cut];
  const std::uint32_t* end = sorted_.data() + ends_[more ? cut : at_];
  for (std::size_t k = 0; k < view.columns.size(); ++k) {
    const std::uint32_t* codes = view.codes(k);
    Moments* bins = below_.data() + first_[k];
    Moments* blocks = below_block_.data() + first_block_[k];
    const bool long_column = view.columns[k].values > kStep;
    for (const std::uint32_t* i = begin; i != end; ++i) {
      const std::uint32_t v = codes[*i];
      if (more)
        bins[v].add(view.point[*i]);
      else
        bins[v].subtract(view.point[*i]);
      if (!long_column) continue;
      if (more)
        blocks[v / kStep].add(view.point[*i]);
      else
        blocks[v / kStep].subtract(view.point[*i]);
    }
  }
  for (const std::uint32_t* i = begin; i != end; ++i) {
    if (more)
      below_total_.add(view.point[*i]);
    else
      below_total_.subtract(view.point[*i]);
  }
  at_ = cut;
  control_.poll(static_cast<std::uint64_t>(end - begin) * view.columns.size());
}

// Raises the best scores of stumps below and beside the cut by those of one column. A block of a
// long column is opened only if losing nothing inside it would do.
template <bool kCounts>
template <bool kStrict>
void MeanScan<kCounts>::best_of_column(const RegressionView& view, std::size_t column, double least,
                                       Best& best) const {
  const std::uint32_t values = view.columns[column].values;
  const Moments *below = below_.data() + first_[column], *all = all_.data() + first_[column];
  const Moments *below_block = below_block_.data() + first_block_[column],
                *all_block = all_block_.data() + first_block_[column];
  const Moments total[2] = {below_total_, total_};
  Moments low[2];
  for (std::uint32_t start = 0, b = 0; start < values; start += kStep, ++b) {
    const std::uint32_t end = std::min(values - 1, start + kStep);
    bool open = values <= kStep;
    if (!open) {
      for (int side = 0; side < 2; ++side) {
        Moments inside = side == 0 ? below_block[b] : all_block[b];
        if (side == 1) inside.subtract(below_block[b]);
        Moments high = total[side];
        high.subtract(low[side]);
        high.subtract(inside);
        open = open || score<kCounts>(low[side].w, low[side].s) + score<kCounts>(high.w, high.s) +
                               inside.q >
                           best.of[side];
      }
    }
    if (!open) {
      Moments rest = all_block[b];
      rest.subtract(below_block[b]);
      low[0].add(below_block[b]);
      low[1].add(rest);
      continue;
    }
    for (std::uint32_t v = start; v < std::min(values, start + kStep); ++v) {
      Moments rest = all[v];
      rest.subtract(below[v]);
      low[0].add(below[v]);
      low[1].add(rest);
      if (v >= end) break;
      const double x = score<kCounts>(low[0].w, low[0].s) +
                       score<kCounts>(total[0].w - low[0].w, total[0].s - low[0].s);
      const double y = score<kCounts>(low[1].w, low[1].s) +
                       score<kCounts>(total[1].w - low[1].w, total[1].s - low[1].s);
      if constexpr (kStrict) {
        best.free[0] = std::max(best.free[0], x);
        best.free[1] = std::max(best.free[1], y);
        if (x > best.of[0] && low[0].n >= least && total[0].n - low[0].n >= least) best.of[0] = x;
        if (y > best.of[1] && low[1].n >= least && total[1].n - low[1].n >= least) best.of[1] = y;
      } else {
        if (x > best.of[0]) best.of[0] = x;
        if (y > best.of[1]) best.of[1] = y;
      }
    }
  }
}

// Both sides of the cut behind a path in a state, by the columns listed for it.
template <bool kCounts>
Sides MeanScan<kCounts>::sides_at(const RegressionView& view, int state) {
  total_ = view.total;
  total_.subtract(below_total_);
  const Moments* of[2] = {&below_total_, &total_};
  const bool strict = data_.rules().strict(state);
  const double least = data_.leaf_least;
  Best best, relaxed;
  Sides sides;
  for (int side = 0; side < 2; ++side) {
    const double alone = score<kCounts>(of[side]->w, of[side]->s);
    best.free[side] = relaxed.of[side] = alone;
    best.of[side] = strict ? -kNever : alone;
    sides.leaf[side] = data_.ends(state, of[side]->n) ? loss<kCounts>(*of[side]) + price_ : kNever;
  }
  const auto scan = [&](std::size_t k) {
    if (last_.of[k] == LastSplits::never) return;
    ++counters.scans;
    if (last_.of[k] == LastSplits::relaxed)
      best_of_column<false>(view, k, least, relaxed);
    else if (strict)
      best_of_column<true>(view, k, least, best);
    else
      best_of_column<false>(view, k, least, best);
  };
  const std::size_t m = view.columns.size();
  const std::size_t likely[2] = {likely_[0] < m ? likely_[0] : 0, likely_[1] < m ? likely_[1] : 0};
  scan(likely[0]);
  if (likely[1] != likely[0]) scan(likely[1]);
  for (std::size_t k = 0; k < m; ++k) {
    if (k == likely[0] || k == likely[1]) continue;
    const double known[2] = {best.of[0], best.of[1]};
    scan(k);
    for (int side = 0; side < 2; ++side)
      if (best.of[side] > known[side]) likely_[side] = k;
  }
  for (int side = 0; side < 2; ++side) {
    const double q = of[side]->q;
    sides.stump[side] = std::max(0.0, q - best.of[side]) + 2 * price_;
    if (!strict) continue;
    if (!data_.splits(state, of[side]->n)) sides.stump[side] = kNever;
    const double free = std::max(best.free[side], relaxed.of[side]);
    sides.free[side] =
        std::min(loss<kCounts>(*of[side]) + price_, std::max(0.0, q - free) + 2 * price_);
  }
  return sides;
}

template <bool kCounts>
void MeanScan<kCounts>::column_depth_two(const RegressionView& view, std::size_t column, int leaves,
                                         int state, Pick& best) {
  last_.list(data_, view, state);
  sort_points(view, column);
  spans_.assign(1, {0, view.columns[column].values, price_, price_});
  while (!spans_.empty()) {
    const CutSpan span = spans_.back();
    spans_.pop_back();
    if (span.high - span.low < 2) continue;
    if (span.left + span.right >= best.value - tolerance_) {
      ++counters.pruned_interval;
      continue;
    }
    const std::uint32_t cut = (span.low + span.high) / 2;
    move_to(view, cut);
    const Sides sides = sides_at(view, state);
    sides.offer(leaves, tolerance_, column, cut, best);
    control_.poll(view.columns.size() * 8);
    spans_.push_back({span.low, cut, span.left, sides.least(1)});
    spans_.push_back({cut, span.high, sides.least(0), span.right});
  }
}

template <bool kCounts>
void MeanScan<kCounts>::depth_two(const RegressionView& view, int leaves, int state, Pick& best) {
  ++counters.depth_two;
  if (tells_sides(view)) {
    best_pair(view, node_, leaves, state, best);
    return;
  }
  make_totals(view);
  for (std::size_t k = 0; k < view.columns.size(); ++k) {
    const int after = data_.after(state, view.columns[k].column);
    if (after >= 0) column_depth_two(view, k, leaves, after, best);
  }
}

template <bool kCounts>
void MeanScan<kCounts>::depth_three(const RegressionView& view, int leaves, int state,
                                    ThreeLevels& best) {
  ++counters.nodes;
  counters.cuts += view.columns.size();
  triples_.best_tree(view, kCounts, leaves, state, control_, best);
}

template <bool kCounts>
double MeanScan<kCounts>::clusters(const RegressionView& view, int leaves, double enough,
                                   double hopeless) {
  if (kCounts) return price_;
  if (leaves == 4) {
    four_.reset(view.points);
    for (std::size_t k = 0; k < view.points; ++k) four_.add(view.sorted_point(k));
    return std::max(price_, four_.bound(price_, enough, hopeless) - tolerance_ * 1e-3);
  }
  prefix_.resize(view.points + 1);
  for (std::size_t i = 0; i < view.points; ++i) {
    prefix_[i + 1] = prefix_[i];
    prefix_[i + 1].add(view.sorted_point(i));
  }
  const auto cost = [&](std::size_t a, std::size_t b) {
    const double s = prefix_[b].s - prefix_[a].s;
    return prefix_[b].q - prefix_[a].q - score<kCounts>(prefix_[b].w - prefix_[a].w, s);
  };
  return std::max(price_, cluster_(view.points, leaves, price_, cost) - tolerance_ * 1e-3);
}

}  // namespace

std::unique_ptr<RegressionScan> make_mean_scan(const RegressionData& data, Control& control) {
  if (data.problem.poisson()) return std::make_unique<MeanScan<true>>(data, control);
  return std::make_unique<MeanScan<false>>(data, control);
}

}  // namespace odt
