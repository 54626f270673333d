#include "odt/outputs_pairs.hpp"

#include <algorithm>

namespace odt {

OutputPairs::OutputPairs(const OutputRows& data, std::size_t leaf_rows) : data_(data) {
  const OutputProblem& p = data.problem;
  const std::size_t features = p.base.features;
  if (p.loss != OutputLoss::squared || leaf_rows > 1 || !data.free()) return;
  for (std::uint32_t row : data.used)
    if (!(data.of(row)[kWeight] > 0)) return;  // a side without weight is one with rows
  for (std::uint32_t f = 0; f < features; ++f) {
    const auto& counts = data.counts[f];
    for (std::uint32_t r = 1; r < p.base.distinct[f]; ++r)
      if (counts[r] > counts[r - 1]) columns_.push_back({f, counts[r] - 1, r});
    if (columns_.size() > kMost) return;
  }
  if (columns_.size() < 2) return;
  stride_ = (columns_.size() + 7) / 8 * 8;
  if (p.base.rows * stride_ > kMostCells) return;
  parts_ = 1 + data.targets;
  mask_.assign(p.base.rows * stride_, 0.0);
  for (std::uint32_t row : data.used)
    for (std::size_t c = 0; c < columns_.size(); ++c)
      mask_[row * stride_ + c] = data.cells(columns_[c].feature)[row] <= columns_[c].cell;
  own_.resize(columns_.size());
  pairs_.assign(columns_.size() * parts_ * stride_, 0.0);
  all_.resize(parts_);
  rest_.resize(parts_);
  one_.resize(parts_);
  other_.resize(parts_ * stride_);
  ready_ = true;
}

// Of the rows left of each column, the sums of those left of each other one; the diagonal has those
// of the column itself.
void OutputPairs::sum(const OutputNode& node) {
  std::fill(pairs_.begin(), pairs_.end(), 0.0);
  std::fill(all_.begin(), all_.end(), 0.0);
  std::fill(own_.begin(), own_.end(), 0.0);
  const std::size_t stride = stride_;
  for (std::size_t i = 0; i < node.rows; ++i) {
    const std::uint32_t row = node.of(0)[i];
    const double* mask = &mask_[row * stride];
    const double* sums = data_.of(row);
    const double own = sums[kOwn] - sums[kFloor];
    for (std::size_t c = 0; c < columns_.size(); ++c) own_[c] += own * mask[c];
    for (std::size_t k = 0; k < parts_; ++k) {
      const double part = k == 0 ? sums[kWeight] : sums[kTargets + k - 1];
      all_[k] += part;
      for (std::size_t c = 0; c < columns_.size(); ++c) {
        if (mask[c] == 0) continue;
        double* out = &pairs_[(c * parts_ + k) * stride];
        for (std::size_t g = 0; g < stride; ++g) out[g] += part * mask[g];
      }
    }
  }
}

// How much less than their own losses rows of these sums lose as a leaf, its price taken off.
double OutputPairs::gain(const double* sums) const {
  double total = 0;
  for (std::size_t t = 1; t < parts_; ++t) total += data_.problem.factor[t - 1] * sums[t] * sums[t];
  return total / sums[0] - data_.problem.leaf_price;
}

// The best leaf or split of rows with these sums, `pairs` being those left of each column.
OutputPairs::Side OutputPairs::side(const double* pairs, const double* all, int state) const {
  Side found{gain(all), -1};
  const double least = all[0] * 1e-12;
  const double* factor = data_.problem.factor.data();
  for (std::size_t g = 0; g < columns_.size(); ++g) {
    const double w = pairs[g], v = all[0] - w;
    if (!(w > least && v > least)) continue;
    double left = 0, right = 0;
    for (std::size_t t = 1; t < parts_; ++t) {
      const double s = pairs[t * stride_ + g], r = all[t] - s;
      left += factor[t - 1] * s * s;
      right += factor[t - 1] * r * r;
    }
    const double both = left / w + right / v - 2 * data_.problem.leaf_price;
    if (both <= found.gain || data_.rules().after(state, columns_[g].feature) < 0) continue;
    found = {both, static_cast<int>(g)};
  }
  return found;
}

PlanNode OutputPairs::node_of(int column) const {
  PlanNode node;
  if (column < 0) return node;
  node.feature = static_cast<int>(columns_[static_cast<std::size_t>(column)].feature);
  node.bound = columns_[static_cast<std::size_t>(column)].bound;
  return node;
}

template <class Told>
void OutputPairs::cuts(const OutputNode& node, int state, Told told) {
  sum(node);
  const double least = all_[0] * 1e-12;
  // Sums of all rows left of each column, as its own row of pairs has them.
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const int next = data_.rules().after(state, columns_[c].feature);
    if (next < 0) continue;
    const double* pairs = &pairs_[c * parts_ * stride_];
    for (std::size_t k = 0; k < parts_; ++k) {
      one_[k] = pairs[k * stride_ + c];
      rest_[k] = all_[k] - one_[k];
    }
    if (!(one_[0] > least && rest_[0] > least)) continue;
    for (std::size_t k = 0; k < parts_; ++k)
      for (std::size_t g = 0; g < columns_.size(); ++g)
        other_[k * stride_ + g] = pairs_[(g * parts_ + k) * stride_ + g] - pairs[k * stride_ + g];
    const Side low = side(pairs, one_.data(), next), high = side(other_.data(), rest_.data(), next);
    told(c, low, high);
  }
}

double OutputPairs::best(const OutputNode& node, int state, Plan& plan) {
  plan = Plan::leaf();
  double most = -kUnbounded;
  Side best[2];
  std::size_t column = 0;
  cuts(node, state, [&](std::size_t c, const Side& low, const Side& high) {
    if (low.gain + high.gain <= most) return;
    most = low.gain + high.gain;
    column = c;
    best[0] = low;
    best[1] = high;
  });
  const double own = node.sums[kOwn] - node.sums[kFloor], single = gain(all_.data());
  if (most > single) {
    const auto part = [&](const Side& side) {
      const PlanNode split = node_of(side.column);
      return side.column < 0 ? Plan::leaf()
                             : Plan::split(split.feature, split.bound, Plan::leaf(), Plan::leaf());
    };
    const PlanNode split = node_of(static_cast<int>(column));
    plan = Plan::split(split.feature, split.bound, part(best[0]), part(best[1]));
  }
  return std::max(own - std::max(most, single), data_.problem.leaf_price);
}

void OutputPairs::open(const OutputNode& node, int state, double limit, std::vector<Cut>& found) {
  found.clear();
  const double price = data_.problem.leaf_price, own = node.sums[kOwn] - node.sums[kFloor];
  cuts(node, state, [&](std::size_t c, const Side& low, const Side& high) {
    const double left = std::max(own_[c] - low.gain, price),
                 right = std::max(own - own_[c] - high.gain, price);
    if (left + right >= limit) return;
    const std::uint32_t *rows = node.of(columns_[c].feature),
                        *cells = data_.cells(columns_[c].feature);
    const std::uint32_t* at = std::partition_point(
        rows, rows + node.rows, [&](std::uint32_t row) { return cells[row] <= columns_[c].cell; });
    // Between two cuts of a feature that part the same rows, the first one stands for both.
    if (c > 0 && columns_[c - 1].feature == columns_[c].feature && cells[at[-1]] < columns_[c].cell)
      return;
    found.push_back({columns_[c].feature, static_cast<std::size_t>(at - rows), left, right});
  });
}

}  // namespace odt
