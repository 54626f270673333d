// Absolute error. The loss of a set of points is told by a weighted median of theirs; taking points
// away from a list that is linked by target, in the order of a column, gives the losses of all its
// prefixes with few steps of the median each. Where all columns are 0/1, one pass over the points
// tells the losses of many at once.
#include <algorithm>
#include <cmath>

#include "odt/cluster_bound.hpp"
#include "odt/median_chain.hpp"
#include "odt/pair_medians.hpp"
#include "odt/regression_scan.hpp"

namespace odt {
namespace {

class AbsoluteScan : public RegressionScan {
 public:
  AbsoluteScan(const RegressionData& data, Control& control)
      : data_(data),
        price_(data.problem.leaf_price),
        tolerance_(data.tolerance),
        control_(control),
        cluster_(control) {}

  double leaf(const RegressionView& view) override;
  Pick stump(const RegressionView& view, int state) override;
  void depth_two(const RegressionView& view, int leaves, int state, Pick& best) override;
  bool tells_sides(const RegressionView& view) override;
  void side_depth_two(const RegressionView& view, std::size_t column, bool below, int leaves,
                      int state, Pick& best) override;
  double clusters(const RegressionView& view, int leaves, double enough, double hopeless) override;

 private:
  using Order = std::vector<std::uint32_t>;

  void sort_points(const RegressionView& view);
  void link(const RegressionView& view, const Order& order);
  void prefix_losses(const Order& order, bool backwards, std::vector<double>& out);
  struct Best {
    double value = kNever, free = kNever;  // of leaves that hold enough rows, and of any
  };
  Best best_split(const RegressionView& view, const Order& order, const std::uint32_t* codes,
                  double least, double* splits);
  void side(const RegressionView& view, std::size_t column, std::uint32_t cut, int k, int state,
            Sides& sides);
  Pick stump_of_pairs(const RegressionView& view, int state);
  void best_pair(const RegressionView& view, int leaves, int state, Pick& best);
  // What a leaf must count.
  double least(int state) const {
    return data_.rules().strict(state) ? data_.leaf_least : -kNever / 2;
  }

  const RegressionData& data_;
  double price_, tolerance_;
  Control& control_;
  std::vector<Order> sorted_;  // per column, positions by code
  Order rows_;
  std::vector<double> before_, behind_;
  std::vector<CutSpan> spans_;
  LastSplits last_;
  MedianChain chain_;
  std::vector<char> member_;
  std::vector<std::uint32_t> place_;  // of a position in the chain
  ClusterBound cluster_;
  std::vector<Moments> prefix_;
  // Of a node with 0/1 columns only.
  PairMedians pairs_;
  PairMedians::Parts ones_, halves_[2];
  std::vector<double> stump_[2];  // per column and value of it, the best split of the points behind
  std::vector<std::vector<LastSplits::Kind>> behind_column_;
  std::vector<double> asked_;  // per column, of leaves behind it
  PreparedNode prepared_;
};

void AbsoluteScan::sort_points(const RegressionView& view) {
  sorted_.resize(view.columns.size());
  std::vector<std::uint32_t> ends;
  for (std::size_t k = 0; k < view.columns.size(); ++k) {
    const std::uint32_t* codes = view.codes(k);
    ends.assign(view.columns[k].values + 1, 0);
    for (std::size_t i = 0; i < view.points; ++i) ++ends[codes[i] + 1];
    for (std::size_t v = 1; v < ends.size(); ++v) ends[v] += ends[v - 1];
    sorted_[k].resize(view.points);
    for (std::uint32_t i = 0; i < view.points; ++i) sorted_[k][ends[codes[i]]++] = i;
  }
  place_.resize(view.points);
}

void AbsoluteScan::link(const RegressionView& view, const Order& order) {
  member_.assign(view.points, 0);
  for (std::uint32_t i : order) member_[i] = 1;
  chain_.clear();
  std::uint32_t place = 0;
  for (std::uint32_t i : view.by_target) {
    if (!member_[i]) continue;
    place_[i] = place++;
    chain_.push(view.target[i], view.point[i].w, view.point[i].s);
  }
  chain_.close();
}

// out[i] = loss of one leaf over the first (backwards: last) i + 1 points, which are linked.
void AbsoluteScan::prefix_losses(const Order& order, bool backwards, std::vector<double>& out) {
  const std::size_t n = order.size();
  out.resize(n);
  chain_.begin();
  for (std::size_t i = n; i-- > 0;) {
    out[i] = chain_.loss();
    if (i > 0) chain_.remove(place_[order[backwards ? n - 1 - i : i]]);
  }
}

// Least loss of two leaves; where `splits` is given, the loss of every cut.
AbsoluteScan::Best AbsoluteScan::best_split(const RegressionView& view, const Order& order,
                                            const std::uint32_t* codes, double least,
                                            double* splits) {
  Best best;
  const std::size_t n = order.size();
  if (n < 2 || codes[order.front()] == codes[order.back()]) return best;
  ++counters.scans;
  link(view, order);
  prefix_losses(order, false, before_);
  prefix_losses(order, true, behind_);
  double all = 0, low = 0;
  for (std::uint32_t i : order) all += view.point[i].n;
  for (std::size_t i = 0; i + 1 < n; ++i) {
    low += view.point[order[i]].n;
    if (codes[order[i]] == codes[order[i + 1]]) continue;
    const double value = before_[i] + behind_[n - 2 - i] + 2 * price_;
    if (splits) *splits++ = value;
    best.free = std::min(best.free, value);
    if (low >= least && all - low >= least) best.value = std::min(best.value, value);
  }
  return best;
}

double AbsoluteScan::leaf(const RegressionView& view) {
  double weight = 0;
  std::size_t median = 0;
  for (; median + 1 < view.points; ++median) {
    weight += view.sorted_point(median).w;
    if (2 * weight >= view.total.w) break;
  }
  const double y = view.sorted_target(median);
  double sum = 0;
  for (std::size_t i = 0; i < view.points; ++i)
    sum += view.sorted_point(i).w * std::fabs(view.sorted_target(i) - y);
  return sum + price_;
}

Pick AbsoluteScan::stump(const RegressionView& view, int state) {
  if (tells_sides(view)) return stump_of_pairs(view, state);
  sort_points(view);
  std::size_t cuts = 0;
  for (const auto& column : view.columns) cuts += column.values - 1;
  splits.resize(cuts);
  last_.list(data_, view, state);
  const double asked = least(state);
  Pick best;
  double* at = splits.data();
  for (std::size_t k = 0; k < view.columns.size(); ++k) {
    best_split(view, sorted_[k], view.codes(k), asked, at);
    std::size_t below = 0;
    double low = 0;
    for (std::uint32_t cut = 1; cut < view.columns[k].values; ++cut, ++at) {
      while (view.codes(k)[sorted_[k][below]] < cut) low += view.point[sorted_[k][below++]].n;
      if (*at >= best.value || last_.of[k] != LastSplits::always) continue;
      if (low < asked || view.total.n - low < asked) continue;
      best.value = *at;
      best.column = static_cast<int>(k);
      best.cut = cut;
    }
    control_.poll(view.points * 4);
  }
  return best;
}

// Losses of the best leaf and stump of one side of a cut behind a path in a state.
void AbsoluteScan::side(const RegressionView& view, std::size_t column, std::uint32_t cut, int k,
                        int state, Sides& sides) {
  const std::uint32_t* side_codes = view.codes(column);
  const double asked = least(state);
  double alone = 0, count = 0;
  Best best;
  bool first = true;
  for (std::size_t other = 0; other < view.columns.size(); ++other) {
    if (!first && last_.of[other] == LastSplits::never) continue;
    rows_.clear();
    for (std::uint32_t i : sorted_[other])
      if ((side_codes[i] < cut) == (k == 0)) rows_.push_back(i);
    if (first) {
      link(view, rows_);
      chain_.begin();
      alone = chain_.loss() + price_;
      for (std::uint32_t i : rows_) count += view.point[i].n;
      first = false;
    }
    if (last_.of[other] == LastSplits::never) continue;
    const Best found = best_split(view, rows_, view.codes(other), asked, nullptr);
    best.free = std::min(best.free, found.free);
    if (last_.of[other] == LastSplits::always) best.value = std::min(best.value, found.value);
    control_.poll(rows_.size() * 4);
  }
  sides.leaf[k] = data_.ends(state, count) ? alone : kNever;
  sides.stump[k] = data_.splits(state, count) ? best.value : kNever;
  if (data_.rules().strict(state)) sides.free[k] = std::min(alone, best.free);
}

void AbsoluteScan::depth_two(const RegressionView& view, int leaves, int state, Pick& best) {
  ++counters.depth_two;
  if (tells_sides(view)) {
    pairs_.pick_all();
    return best_pair(view, leaves, state, best);
  }
  sort_points(view);
  for (std::size_t k = 0; k < view.columns.size(); ++k) {
    const int after = data_.after(state, view.columns[k].column);
    if (after < 0) continue;
    last_.list(data_, view, after);
    spans_.assign(1, {0, view.columns[k].values, price_, price_});
    while (!spans_.empty()) {
      const CutSpan span = spans_.back();
      spans_.pop_back();
      if (span.high - span.low < 2) continue;
      if (span.left + span.right >= best.value - tolerance_) {
        ++counters.pruned_interval;
        continue;
      }
      const std::uint32_t cut = (span.low + span.high) / 2;
      Sides sides;
      for (int s = 0; s < 2; ++s) side(view, k, cut, s, after, sides);
      sides.offer(leaves, tolerance_, k, cut, best);
      spans_.push_back({span.low, cut, span.left, sides.least(1)});
      spans_.push_back({cut, span.high, sides.least(0), span.right});
    }
  }
}

bool AbsoluteScan::tells_sides(const RegressionView& view) {
  if (!std::all_of(view.columns.begin(), view.columns.end(),
                   [](const auto& c) { return c.values == 2; }))
    return false;
  if (prepared_.is(data_, view)) return true;
  pairs_.prepare(view);
  prepared_.keep(view);
  control_.poll(view.points * view.columns.size() / 4);
  return true;
}

Pick AbsoluteScan::stump_of_pairs(const RegressionView& view, int state) {
  const double asked = least(state);
  last_.list(data_, view, state);
  splits.clear();
  pairs_.pick_all();
  pairs_.by_one(ones_, true);
  Pick best;
  for (std::size_t k = 0; k < view.columns.size(); ++k) {
    const double value = ones_.one[k] + ones_.none[k] + 2 * price_, n = ones_.n[k];
    splits.push_back(value);
    if (value >= best.value || last_.of[k] != LastSplits::always) continue;
    if (n >= asked && ones_.all_n - n >= asked)
      best = {value, static_cast<int>(k), 1, {false, false}};
  }
  control_.poll(view.points * view.columns.size() / 4);
  return best;
}

void AbsoluteScan::side_depth_two(const RegressionView& view, std::size_t column, bool below,
                                  int leaves, int state, Pick& best) {
  ++counters.depth_two;
  pairs_.pick(column, !below);
  best_pair(view, leaves, state, best);
}

// The best tree of depth two on the points that are picked.
void AbsoluteScan::best_pair(const RegressionView& view, int leaves, int state, Pick& best) {
  const std::size_t columns = view.columns.size();
  const bool ruled = !data_.rules().none();
  if (ruled) {
    behind_column_.resize(columns);
    asked_.resize(columns);
    for (std::size_t k = 0; k < columns; ++k) {
      const int after = data_.after(state, view.columns[k].column);
      asked_[k] = after >= 0 ? least(after) : 0;
      if (after >= 0)
        last_.list(data_, view, after);
      else
        last_.of.assign(columns, LastSplits::never);
      behind_column_[k] = last_.of;
    }
  }
  for (auto& stump : stump_) stump.assign(columns, kNever);
  pairs_.by_one(ones_, true);
  for (std::size_t i = 0; i < columns; ++i) {
    if (!pairs_.by_two(i, halves_, ruled)) continue;
    control_.poll(pairs_.picked() * (columns - i) / 8 + columns);
    // Part [a][b]: value a of column i, value b of the other one.
    const double* part[2][2] = {{halves_[0].none.data(), halves_[0].one.data()},
                                {halves_[1].none.data(), halves_[1].one.data()}};
    if (!ruled) {
      for (std::size_t j = i + 1; j < columns; ++j)
        for (int b = 0; b < 2; ++b) {
          stump_[b][i] = std::min(stump_[b][i], part[b][0][j] + part[b][1][j]);
          stump_[b][j] = std::min(stump_[b][j], part[0][b][j] + part[1][b][j]);
        }
      continue;
    }
    for (std::size_t j = i + 1; j < columns; ++j) {
      double n[2][2];  // less than nothing where there are no points
      for (int a = 0; a < 2; ++a) {
        const PairMedians::Parts& half = halves_[a];
        n[a][1] = half.points[j] > 0 ? half.n[j] : -kNever;
        n[a][0] = half.points[j] < half.all_points ? half.all_n - half.n[j] : -kNever;
      }
      for (int b = 0; b < 2; ++b) {
        if (behind_column_[i][j] == LastSplits::always && std::min(n[b][0], n[b][1]) >= asked_[i])
          stump_[b][i] = std::min(stump_[b][i], part[b][0][j] + part[b][1][j]);
        if (behind_column_[j][i] == LastSplits::always && std::min(n[0][b], n[1][b]) >= asked_[j])
          stump_[b][j] = std::min(stump_[b][j], part[0][b][j] + part[1][b][j]);
      }
    }
  }
  for (std::size_t k = 0; k < columns; ++k) {
    const int after = data_.after(state, view.columns[k].column);
    if (after < 0 || ones_.points[k] == 0 || ones_.points[k] == ones_.all_points) continue;
    const double counts[2] = {ones_.all_n - ones_.n[k], ones_.n[k]};
    const double alone[2] = {ones_.none[k], ones_.one[k]};
    Sides sides;
    for (int s = 0; s < 2; ++s) {
      sides.leaf[s] = data_.ends(after, counts[s]) ? alone[s] + price_ : kNever;
      const bool splits = stump_[s][k] < kNever && data_.splits(after, counts[s]);
      sides.stump[s] = splits ? stump_[s][k] + 2 * price_ : kNever;
    }
    sides.offer(leaves, tolerance_, k, 1, best);
  }
  counters.scans += columns;
}

double AbsoluteScan::clusters(const RegressionView& view, int leaves, double /*enough*/,
                              double /*hopeless*/) {
  prefix_.resize(view.points + 1);
  for (std::size_t i = 0; i < view.points; ++i) {
    prefix_[i + 1] = prefix_[i];
    prefix_[i + 1].add(view.sorted_point(i));
  }
  const auto cost = [&](std::size_t a, std::size_t b) {
    const double half = (prefix_[a].w + prefix_[b].w) / 2;
    const auto at = std::lower_bound(prefix_.begin() + static_cast<std::ptrdiff_t>(a) + 1,
                                     prefix_.begin() + static_cast<std::ptrdiff_t>(b), half,
                                     [](const Moments& m, double w) { return m.w < w; });
    const double y = view.sorted_target(static_cast<std::size_t>(at - prefix_.begin()) - 1);
    return y * (at->w - prefix_[a].w) - (at->s - prefix_[a].s) + (prefix_[b].s - at->s) -
           y * (prefix_[b].w - at->w);
  };
  return std::max(price_, cluster_(view.points, leaves, price_, cost) - tolerance_ * 1e-3);
}

}  // namespace

std::unique_ptr<RegressionScan> make_absolute_scan(const RegressionData& data, Control& control) {
  return std::make_unique<AbsoluteScan>(data, control);
}

}  // namespace odt
