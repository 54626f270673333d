#include "odt/outputs_pairs.hpp"

#include <algorithm>
#include <cmath>

#include "odt/masked_sums.hpp"
#include "odt/paired_lanes.hpp"

namespace odt {
namespace {

template <class L>
ODT_INLINE double most_of_sums(const double* a, const double* b, std::size_t n) {
  L most = L{} - kUnbounded;
  for (std::size_t j = 0; j < n; j += kLanes) {
    L x, y;
    load(x, a + j);
    load(y, b + j);
    most = larger(x + y, most);
  }
  return largest(most);
}
ODT_VERSIONS(double largest_sum(const double* a, const double* b, std::size_t n),
             return most_of_sums<L>(a, b, n))

// Whole blocks of lanes.
ODT_CLONES void add_to(double* a, const double* b, std::size_t n) {
  for (std::size_t j = 0; j < n; j += kLanes) {
    Lanes x, y;
    load(x, a + j);
    load(y, b + j);
    store(x + y, a + j);
  }
}

}  // namespace

// ---- sums

// Of the rows left of each column, the sums of those left of each other one.
void OutputPairs::sum(const std::uint32_t* rows, std::size_t n, bool measured, Table& out) {
  const bool known = measured && !out.measured && rows == out.row && n == out.rows;
  out.measured = measured;
  out.row = rows;
  out.rows = n;
  out.pairs.reserve(columns_.size() * parts_ * stride_);
  out.ones.reserve((entries_ + 1) * stride_);
  out.all.resize(entries_);
  if (!known) {
    sum_ones(rows, n, own_, entries_, out);
    sum_parts(rows, n, 0, free_parts_, out);
  }
  if (!measured) return;
  list_weighed(out);
  sum_parts(out.weighed.data(), out.weighed.size(), free_parts_, parts_, out);
}

void OutputPairs::list_weighed(Table& out) const {
  out.weighed.clear();
  for (std::size_t i = 0; i < out.rows; ++i)
    if (weighed_[out.row[i]]) out.weighed.push_back(out.row[i]);
}

void OutputPairs::sum_ones(const std::uint32_t* rows, std::size_t n, std::size_t from,
                           std::size_t to, Table& out) const {
  const MaskedRows in{values_.data(), entries_, masks_.data(), stride_ / kLanes, rows, n};
  for (std::size_t e = from; e < to; e += 2) {
    double* sums = out.ones.data() + e * stride_;
    if (e + 1 < to)
      add_masked_two(in.behind(e), 0, sums, sums + stride_);
    else
      add_masked_one(in.behind(e), 0, sums);
  }
  std::fill(out.all.begin() + static_cast<std::ptrdiff_t>(from),
            out.all.begin() + static_cast<std::ptrdiff_t>(to), 0.0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t e = from; e < to; ++e) out.all[e] += values_[rows[i] * entries_ + e];
}

// Some of the parts, of all rows that have them.
void OutputPairs::sum_parts(const std::uint32_t* rows, std::size_t n, std::size_t from,
                            std::size_t to, Table& out) {
  sum_ones(rows, n, from, to, out);
  for (std::size_t k = 0; k + 1 < first_.size(); ++k) add_feature(k, rows, n, from, to, out);
  // What is left of two columns is known behind the earlier of their features.
  for (std::size_t block = kLanes; block < columns_.size(); block += kLanes) {
    const std::size_t last = std::min(block + kLanes, columns_.size());
    for (std::size_t p = from; p < to; ++p)
      for (std::size_t g = 0; g < block; ++g) {
        const double* sums = out.pairs.data() + (g * parts_ + p) * stride_;
        for (std::size_t c = block; c < last; ++c)
          out.pairs.data()[(c * parts_ + p) * stride_ + g] = sums[c];
      }
  }
}

// The columns of a feature, with all from the first of them on. Of the rows between two
// neighbouring ones, those that are most are not added up.
void OutputPairs::add_feature(std::size_t k, const std::uint32_t* rows, std::size_t n,
                              std::size_t from, std::size_t to, Table& out) {
  const std::size_t first = first_[k], columns = first_[k + 1] - first;
  const std::uint16_t* slot = slots_.data() + k * data_.problem.base.rows;
  if (picked_.size() <= n) picked_.resize(n + 1);
  std::size_t most = 0;
  if (columns == 1) {
    const bool left = 2 * out.ones[first] <= out.all[0];
    std::size_t picked = 0;
    for (std::size_t i = 0; i < n; ++i) {
      picked_[picked] = rows[i];
      picked += (slot[rows[i]] == 0) == left;
    }
    most = left ? 1 : 0;
    ends_.assign({left ? picked : 0, picked});
  } else {
    ends_.assign(columns + 2, 0);
    for (std::size_t i = 0; i < n; ++i) ++ends_[slot[rows[i]] + 1];
    most = static_cast<std::size_t>(std::max_element(ends_.begin() + 1, ends_.end()) -
                                    ends_.begin() - 1);
    for (std::size_t s = 0; s <= columns; ++s) ends_[s + 1] += ends_[s];
    for (std::size_t i = 0; i < n; ++i) picked_[ends_[slot[rows[i]]]++] = rows[i];
    // Now the end of every slot stands where its beginning stood.
  }
  const std::size_t block = first / kLanes, lane = block * kLanes, width = stride_ - lane;
  const auto of = [&](std::size_t c) { return out.pairs.data() + (first + c) * parts_ * stride_; };
  const auto add = [&](std::size_t s) {
    const std::size_t begin = s == 0 ? 0 : ends_[s - 1];
    const MaskedRows in{values_.data(),         entries_,        masks_.data(), stride_ / kLanes,
                        picked_.data() + begin, ends_[s] - begin};
    double* sums = of(s < most ? s : s - 1);
    for (std::size_t p = from; p < to; p += 2) {
      if (p + 1 < to)
        add_masked_two(in.behind(p), block, sums + p * stride_, sums + (p + 1) * stride_);
      else
        add_masked_one(in.behind(p), block, sums + p * stride_);
    }
  };
  for (std::size_t s = 0; s < most; ++s) {
    add(s);
    for (std::size_t p = from; p < to && s > 0; ++p)
      add_to(of(s) + p * stride_ + lane, of(s - 1) + p * stride_ + lane, width);
  }
  for (std::size_t s = columns; s > most; --s) {
    add(s);
    double* sums = of(s - 1);
    const double* whole = s == columns ? out.ones.data() : of(s);
    for (std::size_t p = from; p < to; ++p)
      differences(whole + p * stride_ + lane, sums + p * stride_ + lane, width,
                  sums + p * stride_ + lane);
  }
}

// `measured`: what the tables have of measures. Where all else is known already, that alone.
void OutputPairs::subtract(const Table& from, const Table& part, const std::uint32_t* rows,
                           Table& out) const {
  const std::size_t left = from.rows - part.rows;
  const bool measured = from.measured && part.measured,
             known = measured && !out.measured && rows == out.row && left == out.rows;
  out.measured = measured;
  out.row = rows;
  out.rows = left;
  out.pairs.reserve(columns_.size() * parts_ * stride_);
  out.ones.reserve((entries_ + 1) * stride_);
  const std::size_t first = known ? free_parts_ : 0, last = out.measured ? parts_ : free_parts_;
  for (std::size_t c = 0; c < columns_.size() && first < last; ++c) {
    const std::size_t at = (c * parts_ + first) * stride_;
    differences(from.pairs.data() + at, part.pairs.data() + at, (last - first) * stride_,
                out.pairs.data() + at);
  }
  differences(from.ones.data(), part.ones.data(), entries_ * stride_, out.ones.data());
  out.all.resize(entries_);
  for (std::size_t e = 0; e < entries_; ++e) out.all[e] = from.all[e] - part.all[e];
  if (out.measured && tangents_) list_weighed(out);
}

// ---- sides

void OutputPairs::enter(const Table& table, std::size_t column, bool low, bool whole, Side& side) {
  const std::size_t count = table.measured ? parts_ : free_parts_;
  const double* pairs = table.pairs.data() + column * parts_ * stride_;
  side.all.resize(entries_);
  for (std::size_t e = 0; e < entries_; ++e) {
    const double left = table.ones[e * stride_ + column];
    side.all[e] = low ? left : table.all[e] - left;
  }
  side.left = pairs;
  if (low || !whole) return;
  made_.resize(count * stride_);
  differences(table.ones.data(), pairs, count * stride_, made_.data());
  side.left = made_.data();
}

double OutputPairs::own(const std::vector<double>& all, const Mix& mix) const {
  double total = mix.loss * all[own_];
  for (std::size_t m = 0; m < mix.measure.size(); ++m) total += mix.measure[m] * all[own_ + 1 + m];
  return total;
}

double OutputPairs::gain(const std::vector<double>& all, int state, const Mix& mix) const {
  return leaf_holds(all, state) ? leaf_gain(all, mix) : -kUnbounded;
}

double OutputPairs::leaf_gain(const std::vector<double>& all, const Mix& mix) const {
  double total = -mix.loss * data_.problem.leaf_price;
  for (std::size_t t = 0; t < data_.targets; ++t) {
    const double middle = mean(all, t);
    double part = mix.loss * data_.problem.factor[t] * all[1 + t];
    for (std::size_t m = 0; m < mix.measure.size(); ++m) {
      if (measures_[m].absolute) continue;
      const double* of = &all[measures_[m].part];
      part += mix.measure[m] * data_.problem.model.measures[m].factor[t] *
              (2 * of[1 + t] - middle * of[0]);
    }
    total += middle * part;
  }
  for (std::size_t m = 0; m < mix.measure.size(); ++m)
    if (measures_[m].absolute && mix.measure[m] > 0) total -= mix.measure[m] * least_lost(m, all);
  return total;
}

// What a leaf of rows with these sums loses at least of an absolute measure.
double OutputPairs::least_lost(std::size_t m, const std::vector<double>& all) const {
  double total = 0;
  const double* of = &all[measures_[m].part];
  for (std::size_t t = 0; t < data_.targets; ++t) {
    const double middle = mean(all, t);
    double most = 0;
    for (std::size_t k = 0; k < PairMeasure::kTangents; ++k, of += 2)
      most = std::max(most, of[1] - middle * of[0]);
    total += data_.problem.model.measures[m].factor[t] * most;
  }
  return total;
}

PairGains OutputPairs::gains(const Side& side, Place at, const Mix& mix, double* out) {
  const NumberProblem& p = data_.problem;
  const std::size_t measures = mix.measure.size();
  scaled_.resize(data_.targets * (1 + measures));
  for (std::size_t t = 0; t < data_.targets; ++t) {
    scaled_[t] = mix.loss * p.factor[t];
    for (std::size_t m = 0; m < measures; ++m)
      scaled_[(1 + m) * data_.targets + t] = mix.measure[m] * p.model.measures[m].factor[t];
  }
  const std::vector<PairSize>& asked = sizes(at.state);
  const PairGainRow in{side.left,
                       side.all.data(),
                       stride_,
                       data_.targets,
                       measures_.data(),
                       measures,
                       scaled_.data(),
                       scaled_.data() + data_.targets,
                       allowed(at),
                       2 * mix.loss * p.leaf_price,
                       lightest_,
                       rows_part_,
                       fewest_,
                       heavy_,
                       asked.data(),
                       asked.size(),
                       out};
  PairGains most = pair_gains(in, tangents_);
  if (guarded_.empty() || !data_.rules().strict(at.state)) return most;
  for (std::size_t c : guarded_)
    if (refused(side.left, c)) out[c] = -kUnbounded;
  most.sized = *std::max_element(out, out + stride_);
  return most;
}

double OutputPairs::largest(const double* gains, const double* added) const {
  return largest_sum(gains, added, stride_);
}

const double* OutputPairs::allowed(Place of) {
  const std::size_t state = at(of.state);
  if (allowed_.size() <= of.level) allowed_.resize(of.level + 1);
  auto& here = allowed_[of.level];
  if (here.size() <= state) here.resize(state + 1);
  auto& open = here[state];
  if (open.empty()) {
    open.assign(stride_, -kUnbounded);
    for (std::size_t c = 0; c < columns_.size(); ++c)
      if (const int next = data_.rules().after(of.state, columns_[c].feature);
          next >= 0 && data_.rules().ends(next) && stands(columns_[c], of))
        open[c] = 0;
  }
  return open.data();
}

// ---- the best trees

namespace {

// What the sides of a column lose, as a leaf and as the best tree of one level.
struct SideLosses {
  double single[2], best[2];
  double total(int leaves) const {
    return leaves > 3 ? best[0] + best[1] : std::min(single[0] + best[1], best[0] + single[1]);
  }
};

}  // namespace

// The least of trees under relaxed rules, whose leaves may hold any rows.
double OutputPairs::relaxed_least(const Table& table, Place at) {
  const int state = data_.rules().relax(at.state);
  const double price = data_.problem.leaf_price;
  double least = std::max(own(table.all, {}) - leaf_gain(table.all, {}), price);
  gains_.resize(stride_);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const int next = data_.rules().after(state, columns_[c].feature);
    if (next < 0 || !parts_rows(table, c)) continue;
    SideLosses lost;
    for (std::size_t s = 0; s < 2; ++s) {
      enter(table, c, s == 0, true, side_);
      const double rows = own(side_.all, {}), leaf = leaf_gain(side_.all, {}),
                   most = gains(side_, {next}, {}, gains_.data()).free;
      lost.single[s] = std::max(rows - leaf, price);
      lost.best[s] = std::max(rows - std::max(most, leaf), price);
    }
    least = std::min(least, lost.total(at.leaves));
  }
  return least;
}

void OutputPairs::scan(const Table& table, Place at, const Mix& mix, Scan& out) {
  const int state = at.state;
  const double price = mix.measure.empty() ? mix.loss * data_.problem.leaf_price : -kUnbounded;
  out.low.assign(columns_.size(), kUnbounded);
  out.high.assign(columns_.size(), kUnbounded);
  out.gains.resize(2 * columns_.size() * stride_);
  out.free = std::max(own(table.all, mix) - leaf_gain(table.all, mix), price);
  out.least = leaf_holds(table.all, state) ? out.free : kUnbounded;
  out.column = out.leaf = -1;
  const bool splits = may_split(table.all, state), strict = data_.rules().strict(state);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const int next = data_.rules().after(state, columns_[c].feature);
    if (next < 0 || !parts_rows(table, c) || !stands(columns_[c], at)) continue;
    const bool open = splits && !(strict && refused(table.ones.data(), c));
    SideLosses free, lost;
    for (std::size_t s = 0; s < 2; ++s) {
      enter(table, c, s == 0, true, side_);
      double* each = &out.gains[(2 * c + s) * stride_];
      const double rows = own(side_.all, mix), leaf = leaf_gain(side_.all, mix),
                   single = std::max(rows - leaf, price);
      PairGains most = gains(side_, {next, at.level + 1}, mix, each);
      free.single[s] = single;
      free.best[s] = std::min(single, std::max(rows - most.free, price));
      if (!may_split(side_.all, next)) {
        std::fill(each, each + stride_, -kUnbounded);
        most.sized = -kUnbounded;
      }
      lost.single[s] = leaf_holds(side_.all, next) ? single : kUnbounded;
      lost.best[s] = std::min(lost.single[s], std::max(rows - most.sized, price));
      if (open) (s == 0 ? out.low : out.high)[c] = lost.best[s];
    }
    out.free = std::min(out.free, free.total(at.leaves));
    if (open && lost.total(at.leaves) < out.least) {
      out.least = lost.total(at.leaves);
      out.column = static_cast<int>(c);
      out.leaf = at.leaves > 3 ? -1 : lost.single[0] + lost.best[1] > out.least ? 1 : 0;
    }
  }
  if (mix.measure.empty() && !alike(at)) out.free = relaxed_least(table, at);
}

OutputPairs::Tree OutputPairs::tree(const Table& table, int state, const Mix& mix, const Scan& scan,
                                    Sums& sums) {
  Tree found;
  found.column = scan.column;
  if (found.column < 0) {
    add_leaf(table.all, table.measured, sums);
    return found;
  }
  const std::size_t c = static_cast<std::size_t>(found.column);
  const int next = data_.rules().after(state, columns_[c].feature);
  for (int s = 0; s < 2; ++s) {
    enter(table, c, s == 0, true, side_);
    const double* each = gains(scan, c, s == 0);
    const std::size_t g = static_cast<std::size_t>(std::max_element(each, each + stride_) - each);
    if (s == scan.leaf || !(each[g] > gain(side_.all, next, mix))) {
      add_leaf(side_.all, table.measured, sums);
      continue;
    }
    (s == 0 ? found.low : found.high) = static_cast<int>(g);
    add_stump(side_, table.measured, g, sums);
  }
  return found;
}

void OutputPairs::add_leaf(const std::vector<double>& all, bool measured, Sums& sums) const {
  const NumberProblem& p = data_.problem;
  sums.loss += all[own_] + p.leaf_price;
  for (std::size_t t = 0; t < data_.targets; ++t)
    sums.loss -= p.factor[t] * all[1 + t] * mean(all, t);
  if (!measured) return;
  sums.measure.resize(rounding_.size());
  for (std::size_t m = 0; m < rounding_.size(); ++m) {
    if (measures_[m].signs) continue;
    if (measures_[m].absolute) {
      sums.measure[m] += least_lost(m, all);
      continue;
    }
    const double* of = &all[measures_[m].part];
    sums.measure[m] += all[own_ + 1 + m];
    for (std::size_t t = 0; t < data_.targets; ++t) {
      const double middle = mean(all, t);
      sums.measure[m] -= p.model.measures[m].factor[t] * middle * (2 * of[1 + t] - middle * of[0]);
    }
  }
}

void OutputPairs::add_stump(const Side& side, bool measured, std::size_t column, Sums& sums) {
  half_ = side.all;  // what the rows lose one by one stands with the leaf on the left
  const std::size_t count = measured ? parts_ : free_parts_;
  for (std::size_t p = 0; p < count; ++p) half_[p] = side.left[p * stride_ + column];
  add_leaf(half_, measured, sums);
  for (std::size_t p = 0; p < count; ++p) half_[p] = side.all[p] - half_[p];
  std::fill(half_.begin() + static_cast<std::ptrdiff_t>(own_), half_.end(), 0.0);
  add_leaf(half_, measured, sums);
}

double OutputPairs::best(const OutputNode& node, Place at, Plan& plan, double& free) {
  sum(node.of(0), node.rows, false, table_);
  scan(table_, at, {}, scan_);
  Sums sums;
  free = scan_.free;
  if (scan_.least < kUnbounded) plan = plan_of(tree(table_, at.state, {}, scan_, sums));
  return scan_.least;
}

Plan OutputPairs::plan_of(const Tree& tree) const {
  const auto part = [&](int column) {
    if (column < 0) return Plan::leaf();
    const Column& split = columns_[static_cast<std::size_t>(column)];
    return Plan::split(static_cast<int>(split.feature), split.bound, Plan::leaf(), Plan::leaf());
  };
  if (tree.column < 0) return Plan::leaf();
  const Column& split = columns_[static_cast<std::size_t>(tree.column)];
  return Plan::split(static_cast<int>(split.feature), split.bound, part(tree.low), part(tree.high));
}

void OutputPairs::open(const OutputNode& node, Place at, double limit, std::vector<Cut>& found) {
  found.clear();
  sum(node.of(0), node.rows, false, table_);
  scan(table_, at, {}, scan_);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (!(scan_.low[c] + scan_.high[c] < limit)) continue;
    const std::uint32_t *rows = node.of(columns_[c].feature),
                        *cells = data_.cells(columns_[c].feature);
    const std::size_t place = static_cast<std::size_t>(
        std::partition_point(rows, rows + node.rows,
                             [&](std::uint32_t row) { return cells[row] <= columns_[c].cell; }) -
        rows);
    // Among cuts of a feature that part the same rows, the first one stands for all.
    if (!found.empty() && found.back().feature == columns_[c].feature &&
        found.back().place == place)
      continue;
    found.push_back({columns_[c].feature, place, scan_.low[c], scan_.high[c]});
  }
}

}  // namespace odt
