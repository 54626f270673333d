// Losses that means make least: squared error, and deviance. A leaf loses q - s^2 / w of its
// moments (of counts q - s log(s / w)), so a split is the better the larger the sum of s^2 / w (its
// score) over both sides: two sums decide, and those of one side are the total less those of the
// other.
#include <algorithm>

#include "odt/cluster_bound.hpp"
#include "odt/four_clusters.hpp"
#include "odt/logs.hpp"
#include "odt/pair_sums.hpp"
#include "odt/regression_scan.hpp"

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
      : price_(data.problem.leaf_price), tolerance_(data.tolerance), control_(control) {}

  double leaf(const RegressionView& view) override { return loss<kCounts>(view.total) + price_; }
  Pick stump(const RegressionView& view) override;
  void depth_two(const RegressionView& view, int leaves, Pick& best) override;
  bool tells_sides(const RegressionView& view) override;
  void side_depth_two(const RegressionView& view, std::size_t column, bool below, int leaves,
                      Pick& best) override;
  double clusters(const RegressionView& view, int leaves, double enough, double hopeless) override;

 private:
  void make_totals(const RegressionView& view);
  void best_pair(const RegressionView& view, PairSums::Sums& sums, int leaves, Pick& best);
  void column_depth_two(const RegressionView& view, std::size_t column, int leaves, Pick& best);
  void sort_points(const RegressionView& view, std::size_t column);
  void move_to(const RegressionView& view, std::uint32_t cut);
  Sides sides_at(const RegressionView& view);
  void best_of_column(const RegressionView& view, std::size_t column, double best[2]) const;
  bool binary(const RegressionView& view) const {
    return std::all_of(view.columns.begin(), view.columns.end(),
                       [](const auto& c) { return c.values == 2; });
  }

  double price_, tolerance_;
  Control& control_;
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
  PointSet prepared_;
  int side_column_ = -1;
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
Pick MeanScan<kCounts>::stump(const RegressionView& view) {
  splits.clear();
  Pick best;
  const auto offer = [&](double w, double s, std::size_t column, std::uint32_t cut) {
    const double value = view.total.q - score<kCounts>(w, s) -
                         score<kCounts>(view.total.w - w, view.total.s - s) + 2 * price_;
    splits.push_back(value);
    if (value < best.value) best = {value, static_cast<int>(column), cut, {false, false}};
  };
  if (prepared_ == view.set && binary(view)) {
    for (std::size_t k = 0; k < view.columns.size(); ++k)
      offer(node_.one_w[k], node_.one_s[k], k, 1);
    best.value = std::max(best.value, 2 * price_);
    return best;
  }
  make_totals(view);
  for (std::size_t k = 0; k < view.columns.size(); ++k) {
    double w = 0, s = 0;
    for (std::uint32_t v = 0; v + 1 < view.columns[k].values; ++v) {
      const Moments& bin = all_[first_[k] + v];
      w += bin.w;
      s += bin.s;
      offer(w, s, k, v + 1);
    }
  }
  best.value = std::max(best.value, 2 * price_);
  control_.poll(view.points * view.columns.size());
  return best;
}

template <bool kCounts>
bool MeanScan<kCounts>::tells_sides(const RegressionView& view) {
  if (!binary(view)) return false;
  if (prepared_ == view.set) return true;
  pairs_.prepare(view);
  pairs_.sum(view, node_);
  prepared_ = view.set;
  side_column_ = -1;
  control_.poll(view.points * view.columns.size() * 4);
  return true;
}

template <bool kCounts>
void MeanScan<kCounts>::side_depth_two(const RegressionView& view, std::size_t column, bool below,
                                       int leaves, Pick& best) {
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
  best_pair(view, side_[!below], leaves, best);
}

template <bool kCounts>
void MeanScan<kCounts>::best_pair(const RegressionView& view, PairSums::Sums& sums, int leaves,
                                  Pick& best) {
  pairs_.score(sums, kCounts);
  const Moments& all = sums.all;
  for (std::size_t k = 0; k < view.columns.size(); ++k) {
    const double w = sums.one_w[k], s = sums.one_s[k], q = sums.one_q[k];
    if (w <= 0 || w >= all.w) continue;
    Sides sides;
    sides.leaf[0] = std::max(0.0, all.q - q - score<kCounts>(all.w - w, all.s - s)) + price_;
    sides.leaf[1] = std::max(0.0, q - score<kCounts>(w, s)) + price_;
    sides.stump[0] = std::max(0.0, all.q - q - sums.best_none[k]) + 2 * price_;
    sides.stump[1] = std::max(0.0, q - sums.best_one[k]) + 2 * price_;
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
void MeanScan<kCounts>::best_of_column(const RegressionView& view, std::size_t column,
                                       double best[2]) const {
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
                           best[side];
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
      if (x > best[0]) best[0] = x;
      if (y > best[1]) best[1] = y;
    }
  }
}

template <bool kCounts>
Sides MeanScan<kCounts>::sides_at(const RegressionView& view) {
  total_ = view.total;
  total_.subtract(below_total_);
  double best[2] = {score<kCounts>(below_total_.w, below_total_.s),
                    score<kCounts>(total_.w, total_.s)};
  Sides sides;
  sides.leaf[0] = loss<kCounts>(below_total_) + price_;
  sides.leaf[1] = loss<kCounts>(total_) + price_;
  const std::size_t m = view.columns.size();
  std::size_t likely[2] = {likely_[0] < m ? likely_[0] : 0, likely_[1] < m ? likely_[1] : 0};
  best_of_column(view, likely[0], best);
  if (likely[1] != likely[0]) best_of_column(view, likely[1], best);
  const std::size_t done[2] = {likely[0], likely[1]};
  for (std::size_t k = 0; k < m; ++k) {
    if (k == done[0] || k == done[1]) continue;
    const double known[2] = {best[0], best[1]};
    best_of_column(view, k, best);
    for (int side = 0; side < 2; ++side)
      if (best[side] > known[side]) likely_[side] = k;
  }
  sides.stump[0] = std::max(0.0, below_total_.q - best[0]) + 2 * price_;
  sides.stump[1] = std::max(0.0, total_.q - best[1]) + 2 * price_;
  counters.scans += m;
  return sides;
}

template <bool kCounts>
void MeanScan<kCounts>::column_depth_two(const RegressionView& view, std::size_t column, int leaves,
                                         Pick& best) {
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
    const Sides sides = sides_at(view);
    sides.offer(leaves, tolerance_, column, cut, best);
    control_.poll(view.columns.size() * 8);
    spans_.push_back({span.low, cut, span.left, sides.least(1)});
    spans_.push_back({cut, span.high, sides.least(0), span.right});
  }
}

template <bool kCounts>
void MeanScan<kCounts>::depth_two(const RegressionView& view, int leaves, Pick& best) {
  ++counters.depth_two;
  if (tells_sides(view)) {
    best_pair(view, node_, leaves, best);
    return;
  }
  make_totals(view);
  for (std::size_t k = 0; k < view.columns.size(); ++k) column_depth_two(view, k, leaves, best);
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
