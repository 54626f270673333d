#include "odt/outputs_stumps.hpp"

#include <algorithm>

namespace odt {

OutputStumps::OutputStumps(const OutputRows& data, OutputValues& values, Control& control,
                           Counters& counters, double tolerance)
    : data_(data),
      values_(values),
      control_(control),
      counters_(counters),
      rules_(data.rules()),
      check_(data.problem.base, data.rules()),
      leaf_rows_(data.leaf_rows),
      gains_(data),
      rest_(data.width),
      tolerance_(tolerance) {
  if (!gains_.ready()) return;
  const std::size_t columns = 1 + data.targets;
  packed_.resize(data.problem.base.rows * columns);
  for (std::uint32_t i : data.used) {
    packed_[i * columns] = data.of(i)[kWeight];
    std::copy(data.of(i) + kTargets, data.of(i) + data.width, &packed_[i * columns + 1]);
  }
}

void OutputStumps::Cuts::make_room(std::size_t rows, std::size_t columns, std::size_t width) {
  count = 0;
  if (place.size() >= rows) return;
  const std::size_t room = 2 * rows;
  place.resize(room);
  row.resize(room);
  sum.resize(columns);
  for (std::vector<double>& one : sum) one.resize(room);
  sums.resize(room * width);
  ordered.resize(room);
}

// Medians sort the rows of both sides: so many visits of a row for each.
constexpr std::uint64_t kSorted = 4;

void OutputStumps::solve(const OutputNode& node, const std::vector<char>& side,
                         OutputStump* const stumps[2]) {
  for (int k = 0; k < 2; ++k) {
    if (stumps[k] == nullptr) continue;
    OutputStump& one = *stumps[k];
    ++counters_.depth_two;
    one.lower = one.single;
    const bool ends = one.single < one.upper && one.part.rows >= leaf_rows_ &&
                      check_.leaf(one.state, one.part.row, one.part.rows);
    one.value = ends ? one.single : kUnbounded;
    one.feature = -1;
  }
  const bool fast = gains_.ready();
  for (Cuts& cuts : cuts_)
    cuts.make_room(node.rows, fast ? 1 + data_.targets : 0, fast ? 0 : data_.width);
  control_.poll(node.rows * data_.problem.base.features * data_.targets);
  if (fast) return scan(node, side, stumps);
  for (int k = 0; k < 2; ++k) {
    if (stumps[k] == nullptr) continue;
    OutputStump* only[2] = {k == 0 ? stumps[0] : nullptr, k == 1 ? stumps[1] : nullptr};
    values_.know(stumps[k]->part.sums);
    scan(node, side, only);
    values_.forget();
  }
}

void OutputStumps::scan(const OutputNode& node, const std::vector<char>& side,
                        OutputStump* const stumps[2]) {
  const double least = data_.problem.leaf_price;
  for (std::size_t f = 0; f < data_.problem.base.features; ++f) {
    const std::uint32_t* rows = node.of(f);
    const std::uint32_t* cell = data_.cells(f);
    if (cell[rows[0]] == cell[rows[node.rows - 1]]) continue;
    OutputStump* asked[2];
    for (int k = 0; k < 2; ++k)
      asked[k] =
          stumps[k] && rules_.after(rules_.relax(stumps[k]->state), f) >= 0 ? stumps[k] : nullptr;
    if (!asked[0] && !asked[1]) continue;
    gather(node, side, f, asked);
    for (int k = 0; k < 2; ++k) {
      if (asked[k] == nullptr || cuts_[k].count == 0) continue;
      strict_ = rules_.strict(asked[k]->state);
      if (strict_) permit(node, side, f, k, *asked[k]);
      if (gains_.ready())
        all(f, *stumps[k], cuts_[k]);
      else
        halve(f, *stumps[k], cuts_[k], 0, cuts_[k].count, least, least);
    }
  }
}

// The cuts of a feature on both sides, with the sums of the rows left of them.
void OutputStumps::gather(const OutputNode& node, const std::vector<char>& side, std::size_t f,
                          OutputStump* const stumps[2]) {
  const bool fast = gains_.ready();
  const std::size_t columns = fast ? 1 + data_.targets : data_.width;
  const std::uint32_t* rows = node.of(f);
  const std::uint32_t* cell = data_.cells(f);
  constexpr std::uint32_t kNever = ~0u;
  std::uint32_t last[2] = {kNever, kNever}, seen[2] = {0, 0};
  std::size_t count[2] = {0, 0};
  double sums[2][64];
  std::vector<double> wide[2];
  double* sum[2] = {sums[0], sums[1]};
  for (int k = 0; k < 2; ++k) {
    if (columns > 64) {
      wide[k].resize(columns);
      sum[k] = wide[k].data();
    }
    std::fill(sum[k], sum[k] + columns, 0.0);
  }
  for (std::size_t i = 0; i < node.rows; ++i) {
    const std::uint32_t r = rows[i];
    const int k = side[r];
    if (stumps[k] == nullptr) continue;
    Cuts& cuts = cuts_[k];
    // Written whether it is a cut or not: the next one overwrites it if not.
    const std::size_t at = count[k];
    cuts.place[at] = seen[k];
    cuts.row[at] = r;
    if (fast) {
      for (std::size_t c = 0; c < columns; ++c) cuts.sum[c][at] = sum[k][c];
    } else if (last[k] != kNever && cell[r] > last[k]) {
      std::copy(sum[k], sum[k] + columns, &cuts.sums[at * columns]);
    }
    count[k] += last[k] != kNever && cell[r] > last[k];
    last[k] = cell[r];
    if (!fast) cuts.ordered[seen[k]] = r;
    ++seen[k];
    const double* row = fast ? &packed_[r * columns] : data_.of(r);
    for (std::size_t c = 0; c < columns; ++c) sum[k][c] += row[c];
  }
  for (int k = 0; k < 2; ++k) cuts_[k].count = count[k];
}

void OutputStumps::permit(const OutputNode& node, const std::vector<char>& side, std::size_t f,
                          int k, const OutputStump& stump) {
  may_.assign(stump.part.rows + 1, 0);
  const int next = rules_.after(stump.state, f);
  if (next < 0 || !rules_.ends(next) || !check_.split(stump.state, stump.part.row, stump.part.rows))
    return;
  const bool asked = rules_.asks_leaf(next);
  below_.assign(static_cast<std::size_t>(rules_.sums), 0);
  beside_ = below_;
  for (std::size_t i = 0; asked && i < stump.part.rows; ++i) rules_.add(stump.part.row[i], beside_);
  const std::vector<Loss> all = beside_;
  std::uint32_t low = NumberRules::kNoRank;
  std::size_t seen = 0;
  for (std::size_t i = 0; i < node.rows; ++i) {
    const std::uint32_t row = node.of(f)[i];
    if (side[row] != k) continue;
    const std::uint32_t high = data_.rank(f, row);
    if (seen > 0 && high > low && rules_.open(f, low, high, stump.level)) {
      for (std::size_t s = 0; s < all.size(); ++s) beside_[s] = all[s] - below_[s];
      may_[seen] = !asked || (rules_.leaf_holds(next, below_) && rules_.leaf_holds(next, beside_));
    }
    if (asked) rules_.add(row, below_);
    low = high;
    ++seen;
  }
}

// All cuts of a feature: the gains of their left sides, then of the right ones.
void OutputStumps::all(std::size_t f, OutputStump& stump, Cuts& cuts) {
  const std::size_t m = cuts.count, columns = 1 + data_.targets;
  const double* sums = stump.part.sums;
  const double own = sums[kOwn] - sums[kFloor] + 2 * data_.problem.leaf_price;
  counters_.scans += m;
  if (lost_.size() < m) {
    lost_.resize(2 * m);
    gain_.resize(2 * m);
  }
  std::vector<const double*> column;
  for (std::size_t c = 1; c < columns; ++c) column.push_back(cuts.sum[c].data());
  gains_.of(m, cuts.sum[0].data(), column.data(), lost_.data());
  for (std::size_t c = 0; c < columns; ++c) {
    const double total = sums[c == 0 ? kWeight : kTargets + c - 1];
    double* here = cuts.sum[c].data();
    for (std::size_t i = 0; i < m; ++i) here[i] = total - here[i];
  }
  gains_.of(m, cuts.sum[0].data(), column.data(), gain_.data());
  for (std::size_t i = 0; i < m; ++i) lost_[i] = own - lost_[i] - gain_[i];
  const auto low =
      std::partition_point(cuts.place.begin(), cuts.place.begin() + static_cast<std::ptrdiff_t>(m),
                           [this](std::uint32_t place) { return place < leaf_rows_; });
  const auto high = std::partition_point(
      low, cuts.place.begin() + static_cast<std::ptrdiff_t>(m),
      [&](std::uint32_t place) { return stump.part.rows - place >= leaf_rows_; });
  const std::size_t from = static_cast<std::size_t>(low - cuts.place.begin()),
                    to = static_cast<std::size_t>(high - cuts.place.begin());
  const double least = 2 * data_.problem.leaf_price;
  double best = kUnbounded;
  for (std::size_t i = 0; i < m; ++i) best = lost_[i] < best ? lost_[i] : best;
  stump.lower = std::min(stump.lower, std::max(best, least));
  if (best >= std::min(stump.value, stump.upper) - tolerance_) return;
  std::size_t at = m;
  double value = std::min(stump.value, stump.upper) - tolerance_;
  for (std::size_t i = from; i < to; ++i)
    if (lost_[i] < value && permitted(cuts.place[i])) {
      value = lost_[i];
      at = i;
    }
  if (at == m) return;
  stump.value = std::max(value, least);
  stump.feature = static_cast<int>(f);
  stump.bound = bound_at(f, cuts, at);
}

// Fills both sides of a cut as far as they may be best; lower bounds of them come in and exact
// ones, or better bounds, go out.
void OutputStumps::fill(std::size_t f, OutputStump& stump, const Cuts& cuts, std::size_t cut,
                        double& left, double& right) {
  const double limit = std::min(stump.value, stump.upper) - tolerance_;
  const double* sums = &cuts.sums[cut * data_.width];
  for (std::size_t k = 0; k < data_.width; ++k) rest_[k] = stump.part.sums[k] - sums[k];
  left = std::max(left, values_.quick(sums));
  right = std::max(right, values_.quick(rest_.data()));
  if (left + right >= limit) return;
  ++counters_.scans;
  if (values_.by_rows()) control_.poll(stump.part.rows * data_.targets * kSorted);
  const std::size_t place = cuts.place[cut], rest = stump.part.rows - place;
  const double one = values_.leaf({cuts.ordered.data(), place, sums}, limit - right);
  if (one == kUnbounded) {
    left = std::max(left, limit - right);
    return;
  }
  left = one;
  const double other = values_.leaf({cuts.ordered.data() + place, rest, rest_.data()}, limit - one);
  if (other == kUnbounded) {
    right = std::max(right, limit - one);
    return;
  }
  right = other;
  if (place < leaf_rows_ || rest < leaf_rows_ || !permitted(place)) return;
  stump.value = one + other;
  stump.feature = static_cast<int>(f);
  stump.bound = bound_at(f, cuts, cut);
}

// The cuts low .. high - 1 of one feature, whose left sides lose `left` at least, and right ones
// `right`.
void OutputStumps::halve(std::size_t f, OutputStump& stump, const Cuts& cuts, std::size_t low,
                         std::size_t high, double left, double right) {
  if (low >= high) return;
  if (left + right >= std::min(stump.value, stump.upper) - tolerance_) {
    stump.lower = std::min(stump.lower, left + right);
    ++counters_.pruned_interval;
    return;
  }
  const std::size_t middle = (low + high) / 2;
  double below = left, beside = right;
  fill(f, stump, cuts, middle, below, beside);
  stump.lower = std::min(stump.lower, below + beside);
  halve(f, stump, cuts, low, middle, left, beside);
  halve(f, stump, cuts, middle + 1, high, below, right);
}

}  // namespace odt
