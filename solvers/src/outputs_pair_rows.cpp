// What sums over pairs of cuts are made of: columns, numbers of rows, what leaves must hold.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "odt/lanes.hpp"
#include "odt/outputs_pairs.hpp"

namespace odt {
namespace {

// Rows lighter than this share of all rows together are too light for the sum of their weights to
// tell them: then rows are counted. Without such rows, less than the second share is no row.
constexpr double kLightest = 1e-9, kNothing = 1e-11;

// Where rows are counted, the mean of leaves lighter than the first share is told as if they were
// as heavy: they seem to lose more, by up to that weight times the square of their distance from
// the mean of all rows. That is little beside the loss of all where light rows, if each weighed as
// much as all do, would lose at most so many times that loss.
constexpr double kFaint = 1e-13, kFarthest = 100;

// Products of two weights are told up to this one.
constexpr double kHeaviest = 1e100;

// Means of rows lighter than this share are too rough for measures that are compared with bounds,
// unless these weigh so much of all rows, and light rows lie near.
constexpr double kLightestMeasured = 1e-6, kHeavyMeasure = 1e-3;

// Sums of whole numbers are exact below this.
constexpr double kWhole = 4503599627370496.0;

// Whether sums over pairs, or rows of leaves, tell a loss: rows that have no weight for the outputs
// of leaves must have none here.
bool may_tell(const NumberMeasure& one, const OutputRows& data) {
  for (std::uint32_t row : data.used)
    if (!(data.of(row)[kWeight] > 0) && one.weight[row] != 0) return false;
  return one.kind == MeasuredLoss::squared || one.kind == MeasuredLoss::absolute;
}

// The most that a measure weighs a row, per unit of its weight.
double largest_share(const NumberMeasure& one, const OutputRows& data) {
  double share = 0;
  for (std::uint32_t row : data.used)
    if (const double weight = data.of(row)[kWeight]; weight > 0)
      share = std::max(share, std::fabs(one.weight[row]) / weight);
  return share;
}

// Whether a measure weighs so many rows that what the sums of all round is little beside it.
bool weighs_many(const NumberMeasure& one, const OutputRows& data, double total) {
  double weighed = 0;
  for (std::uint32_t row : data.used) weighed += std::fabs(one.weight[row]);
  return weighed >= kHeavyMeasure * largest_share(one, data) * total;
}

// Whether a loss is a difference between groups, of which tangents tell nothing.
bool has_signs(const NumberMeasure& one) {
  const auto negative = [](double part) { return part < 0; };
  return std::any_of(one.factor.begin(), one.factor.end(), negative) ||
         std::any_of(one.weight.begin(), one.weight.end(), negative);
}

// The targets of the rows with weight that tangents change their sides at: all but the last one if
// these are few.
std::vector<double> thresholds(const NumberMeasure& one, const OutputRows& data, std::size_t t) {
  std::vector<double> values;
  for (std::uint32_t row : data.used)
    if (one.weight[row] > 0) values.push_back(data.problem.target[row * data.targets + t]);
  std::sort(values.begin(), values.end());
  std::vector<double> distinct = values;
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  std::vector<double> found;
  for (std::size_t k = 0; k < PairMeasure::kTangents && !values.empty(); ++k)
    found.push_back(distinct.size() <= PairMeasure::kTangents + 1
                        ? distinct[std::min(k, distinct.size() - 1)]
                        : values[(k + 1) * values.size() / (PairMeasure::kTangents + 1)]);
  found.resize(PairMeasure::kTangents, 0);
  return found;
}

// Features, those first of which sums leave out most rows: the rows between two neighbouring cuts
// that are most. The first ones are summed for most others.
std::vector<std::uint32_t> fewest_first(const OutputRows& data) {
  std::vector<std::uint32_t> order(data.problem.base.features);
  std::iota(order.begin(), order.end(), 0u);
  std::vector<std::size_t> most(order.size()), rows;
  for (std::uint32_t f : order) {
    rows.assign(data.problem.base.distinct[f] + 1, 0);
    for (std::uint32_t row : data.used) ++rows[data.cells(f)[row]];
    most[f] = *std::max_element(rows.begin(), rows.end());
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return most[a] > most[b]; });
  return order;
}

}  // namespace

// ---- columns, and the numbers of rows

OutputPairs::OutputPairs(const OutputRows& data) : data_(data) {
  const NumberProblem& p = data.problem;
  if (p.loss != OutputLoss::squared || !data.free()) return;
  double total = 0, own = 0, lightest = kUnbounded, farthest = 0;
  for (std::uint32_t row : data.used) {
    total += data.of(row)[kWeight];
    own += data.of(row)[kOwn];
  }
  bool counted = false;
  for (std::uint32_t row : data.used) {
    const double weight = data.of(row)[kWeight];
    counted = counted || !(weight > kLightest * total);
    if (!(weight > 0)) continue;
    lightest = std::min(lightest, weight);
    if (!(weight > kLightestMeasured * total))
      farthest = std::max(farthest, data.of(row)[kOwn] / weight);
  }
  const bool near = farthest * total <= kFarthest * own;
  if (counted && !near) return;
  if (!(total < kHeaviest) || !(lightest > 1 / kHeaviest)) return;
  fewest_ = counted ? 0.5 : kNothing * total;
  heavy_ = counted ? 1e300 : 1e300 / total;
  lightest_ = counted ? kFaint * total : 0;
  for (std::uint32_t f : fewest_first(data)) {
    const std::size_t before = columns_.size();
    add_columns(f);
    if (columns_.size() > kMost) return;
    if (columns_.size() > before) first_.push_back(before);
  }
  if (columns_.size() < 2) return;
  stride_ = (columns_.size() + kLanes - 1) / kLanes * kLanes;
  find_sizes(counted);
  free_parts_ = 1 + data.targets + counted_.size();
  const auto& measures = p.model.measures;
  measured_ = !measures.empty() && measures.size() <= kMostMeasures && lightest > 2 * lightest_ &&
              std::all_of(measures.begin(), measures.end(), [&](const NumberMeasure& one) {
                return may_tell(one, data) && (lightest > kLightestMeasured * total ||
                                               (near && weighs_many(one, data, total)));
              });
  parts_ = free_parts_;
  for (std::size_t m = 0; measured_ && m < measures.size(); ++m) {
    const bool absolute = measures[m].kind == MeasuredLoss::absolute;
    measures_.push_back({parts_, absolute, absolute && has_signs(measures[m])});
    tangents_ = tangents_ || absolute;
    if (measures_[m].signs) continue;
    parts_ += absolute ? 2 * PairMeasure::kTangents * data.targets : 1 + data.targets;
  }
  own_ = parts_;
  sums_ = own_ + 1 + (measured_ ? measures.size() : 0);
  entries_ = sums_ + static_cast<std::size_t>(p.rules.sums);
  if (p.base.rows * std::max(stride_, entries_) > kMostCells ||
      columns_.size() * stride_ * parts_ > kMostCells)
    return;
  first_.push_back(columns_.size());
  make_values();
  ready_ = true;
}

// The cuts of a feature, and the one between missing cells and the others.
void OutputPairs::add_columns(std::uint32_t f) {
  const NumberRules& rules = data_.rules();
  const auto& counts = data_.counts[f];
  const bool asked = !rules.missing_low.empty();
  const std::uint32_t low = asked && rules.missing_low[f] == 0 ? 1 : NumberRules::kNoRank,
                      high = asked ? rules.missing_high[f] : NumberRules::kNoRank;
  const std::size_t before = columns_.size();
  int missing = -1;
  for (std::uint32_t r = 1; r < data_.problem.base.distinct[f]; ++r) {
    const bool stands = counts[r] > counts[r - 1];
    if (!stands && r != low && r != high) continue;
    if (r == low || r == high) missing = static_cast<int>(columns_.size());
    columns_.push_back({f, counts[r] - 1, r, stands});
  }
  for (std::size_t c = before; c < columns_.size() && missing >= 0; ++c) {
    columns_[c].missing = missing;
    guarded_.push_back(c);
  }
}

// Whether one side of a column holds missing cells alone, by the rows left of each.
bool OutputPairs::refused(const double* left, std::size_t column) const {
  const int missing = columns_[column].missing;
  left += rows_part_ * stride_;
  return missing >= 0 && !(std::fabs(left[column] - left[missing]) > fewest_);
}

// ---- what leaves must hold

void OutputPairs::find_sizes(bool counted) {
  const std::size_t first = 1 + data_.targets;
  if (data_.leaf_rows > 1) {
    const double one = data_.of(data_.used[0])[kWeight],
                 least = static_cast<double>(data_.leaf_rows) - 0.5;
    const bool alike = std::all_of(data_.used.begin(), data_.used.end(), [&](std::uint32_t row) {
      return data_.of(row)[kWeight] == one;
    });
    uniform_.push_back({alike ? 0 : first, alike ? least * one : least});
    if (!alike) counted_.push_back(-1);
  }
  if (counted) {
    counted_.assign(1, -1);
    rows_part_ = first;
  }
  if (!data_.rules().any_strict()) return;
  told_ = find_conditions();
  if (!told_) counted_.resize(!counted_.empty() && counted_[0] < 0 ? 1 : 0);
  find_alike();
}

// The conditions on leaves behind strict states, as sizes: false where these are too many.
bool OutputPairs::find_conditions() {
  const NumberRules& rules = data_.rules();
  std::vector<std::vector<PairSize>> of_rule(rules.leaf_conditions.size());
  for (std::size_t which = 0; which < of_rule.size(); ++which) {
    for (const RowCondition& one : rules.leaf_conditions[which]) {
      double total = std::fabs(static_cast<double>(one.at_most));
      for (std::uint32_t row : data_.used)
        total += std::fabs(static_cast<double>(rules.value[row * at(rules.sums) + at(one.sum)]));
      if (!(total < kWhole)) return false;
      const auto known = std::find(counted_.begin(), counted_.end(), one.sum);
      of_rule[which].push_back(
          {1 + data_.targets + static_cast<std::size_t>(known - counted_.begin()),
           -static_cast<double>(one.at_most) - 0.5, true});
      if (known == counted_.end()) counted_.push_back(one.sum);
    }
    if (of_rule[which].empty() || counted_.size() > kMostSizes) return false;
    of_rule[which].back().or_next = false;
  }
  sizes_.assign(rules.need.size(), uniform_);
  for (std::size_t s = 0; s < sizes_.size(); ++s)
    for (int which : rules.leaf_rules[s])
      sizes_[s].insert(sizes_[s].end(), of_rule[at(which)].begin(), of_rule[at(which)].end());
  return true;
}

// Strict states of which no more is asked of paths than behind the relaxed ones, and levels at
// which all may stand that may stand below.
void OutputPairs::find_alike() {
  const NumberRules& rules = data_.rules();
  const std::size_t states = rules.need.size(), columns = at(rules.columns);
  for (std::size_t s = 0; s < states; ++s)
    alike_.push_back(!rules.strict(static_cast<int>(s)) || rules.need[s] == 0);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t s = 0; s < states; ++s)
      for (std::size_t c = 0; c < columns && alike_[s]; ++c) {
        const int next = rules.next[s * columns + c],
                  beside = rules.next[at(rules.relaxed[s]) * columns + c];
        if (next < 0 ? beside < 0 : alike_[at(next)] && rules.relax(next) == beside) continue;
        alike_[s] = 0;
        changed = true;
      }
  }
  for (std::size_t level = 0; level < rules.cuts_at.size(); ++level)
    widest_.push_back(std::all_of(columns_.begin(), columns_.end(), [&](const Column& one) {
      return stands(one, {0, level}) || !stands(one, {0, level + 1});
    }));
}

const std::vector<PairSize>& OutputPairs::sizes_of_all(int state) const {
  const NumberRules& rules = data_.rules();
  if (!told_ || !rules.strict(state)) return uniform_;
  for (std::size_t s = 0; s < sizes_.size(); ++s) {
    if (!rules.strict(static_cast<int>(s))) continue;
    if (!(sizes_[s] == sizes_[at(state)])) return uniform_;
    for (std::size_t c = 0; c < at(rules.columns); ++c)
      if (const int next = rules.next[s * at(rules.columns) + c]; next >= 0 && !rules.strict(next))
        return uniform_;
  }
  return sizes_[at(state)];
}

// Whether a column may be tested at a level, whatever the path above tests.
bool OutputPairs::stands(const Column& column, Place at) const {
  const NumberRules& rules = data_.rules();
  if (!column.stands) return false;
  return !rules.strict(at.state) ||
         rules.open(column.feature, column.bound - 1, column.bound, at.level);
}

bool OutputPairs::leaf_holds(const std::vector<double>& all, int state) const {
  const std::vector<PairSize>& asked = sizes(state);
  bool held = false;
  for (const PairSize& one : asked) {
    held = held || all[one.part] > one.least;
    if (one.or_next) continue;
    if (!held) return false;
    held = false;
  }
  return data_.rules().ends(state);
}

bool OutputPairs::may_split(const std::vector<double>& all, int state) const {
  const NumberRules& rules = data_.rules();
  if (!rules.asks_split(state)) return true;
  std::vector<Loss> sums(at(rules.sums));
  for (std::size_t k = 0; k < sums.size(); ++k) sums[k] = std::llround(rule_sum(all, k));
  return rules.split_holds(state, sums);
}

void OutputPairs::make_values() {
  const NumberProblem& p = data_.problem;
  const std::size_t blocks = stride_ / kLanes, rows = p.base.rows, targets = data_.targets;
  values_.assign(rows * entries_, 0.0);
  masks_.assign(rows * blocks, 0);
  slots_.assign((first_.size() - 1) * rows, 0);
  if (measured_) rounding_.assign(p.model.measures.size(), 0.0);
  if (measured_) weighed_.assign(rows, 0);
  std::vector<std::vector<double>> turns;
  for (std::size_t m = 0; m < measures_.size(); ++m)
    for (std::size_t t = 0; t < targets; ++t)
      turns.push_back(measures_[m].absolute && !measures_[m].signs
                          ? thresholds(p.model.measures[m], data_, t)
                          : std::vector<double>{});
  for (std::uint32_t row : data_.used) {
    double* of = &values_[row * entries_];
    const double* sums = data_.of(row);
    of[0] = sums[kWeight];
    for (std::size_t t = 0; t < targets; ++t) of[1 + t] = sums[kTargets + t];
    for (std::size_t k = 0; k < counted_.size(); ++k)
      of[1 + targets + k] =
          counted_[k] < 0
              ? 1
              : -static_cast<double>(p.rules.value[row * at(p.rules.sums) + at(counted_[k])]);
    of[own_] = sums[kOwn] - sums[kFloor];
    for (std::size_t m = 0; m < rounding_.size(); ++m) {
      const NumberMeasure& one = p.model.measures[m];
      double* part = of + measures_[m].part;
      if (one.weight[row] != 0) weighed_[row] = 1;
      if (measures_[m].absolute) {
        for (std::size_t t = 0; t < targets; ++t) {
          const double y = p.target[row * targets + t], d = y - data_.centre[t];
          for (double turn : turns[m * targets + t]) {
            const double sign = y > turn ? one.weight[row] : -one.weight[row];
            *part++ = sign;
            *part++ = sign * d;
          }
          rounding_[m] += std::fabs(one.factor[t] * one.weight[row]) *
                          (1e-11 * std::fabs(d) + 1e-14 * std::fabs(data_.centre[t]));
        }
        continue;
      }
      part[0] = one.weight[row];
      for (std::size_t t = 0; t < targets; ++t) {
        const double d = p.target[row * targets + t] - data_.centre[t];
        part[1 + t] = one.weight[row] * d;
        of[own_ + 1 + m] += one.factor[t] * one.weight[row] * d * d;
      }
      rounding_[m] += 1e-11 * std::fabs(of[own_ + 1 + m]);
    }
    for (std::size_t k = sums_; k < entries_; ++k)
      of[k] = static_cast<double>(
          p.rules.value[row * static_cast<std::size_t>(p.rules.sums) + k - sums_]);
    for (std::size_t c = 0; c < columns_.size(); ++c)
      if (data_.rank(columns_[c].feature, row) < columns_[c].bound)
        masks_[row * blocks + c / kLanes] |= static_cast<std::uint8_t>(1 << (c % kLanes));
    for (std::size_t k = 0; k + 1 < first_.size(); ++k)
      for (std::size_t c = first_[k]; c < first_[k + 1]; ++c)
        slots_[k * rows + row] += data_.rank(columns_[c].feature, row) >= columns_[c].bound;
  }
  round_means();
}

// Sums of few rows are differences of those of all rows. What these round makes the mean of a leaf
// rough by as much over the leaf's weight, and so a measure by its share of that weight.
void OutputPairs::round_means() {
  const auto& measures = data_.problem.model.measures;
  for (std::size_t t = 0; t < data_.targets; ++t) {
    double total = 0, farthest = 0;
    for (std::uint32_t row : data_.used) {
      const double sum = std::fabs(data_.of(row)[kTargets + t]), weight = data_.of(row)[kWeight];
      total += sum;
      if (weight > 0) farthest = std::max(farthest, sum / weight);
    }
    for (std::size_t m = 0; m < rounding_.size(); ++m) {
      rounding_[m] += 1e-13 * total * largest_share(measures[m], data_) *
                      std::fabs(measures[m].factor[t]) * (measures_[m].absolute ? 1 : 2 * farthest);
    }
  }
}

// ---- absolute losses

// Those that some measure weighs.
void OutputPairs::fill_rows(const Table& table, std::size_t column, bool low, Rows& found) const {
  const std::uint32_t* cells = column == kAll ? nullptr : data_.cells(columns_[column].feature);
  found.row.clear();
  for (std::uint32_t row : table.weighed)
    if (cells == nullptr || (cells[row] <= columns_[column].cell) == low) found.row.push_back(row);
  found.parts.clear();
  for (std::size_t m = 0; m < measures_.size(); ++m) {
    if (!measures_[m].absolute) continue;
    const NumberMeasure& one = data_.problem.model.measures[m];
    for (std::size_t t = 0; t < data_.targets; ++t)
      for (std::uint32_t row : found.row) {
        found.parts.push_back(one.factor[t] * one.weight[row]);
        found.parts.push_back(data_.problem.target[row * data_.targets + t] - data_.centre[t]);
      }
  }
}

void OutputPairs::measure(const std::vector<double>& all, const Rows& rows, Sums& sums) {
  const double* part = rows.parts.data();
  for (std::size_t m = 0; m < measures_.size(); ++m) {
    if (!measures_[m].absolute) continue;
    sums.measure[m] = 0;
    for (std::size_t t = 0; t < data_.targets; ++t) {
      const double middle = mean(all, t);
      for (std::size_t i = 0; i < rows.row.size(); ++i, part += 2)
        sums.measure[m] += part[0] * std::fabs(part[1] - middle);
    }
  }
}

std::size_t OutputPairs::measure(const Side& side, const Rows& rows, std::size_t column) {
  const std::size_t block = column / kLanes, blocks = stride_ / kLanes, from = block * kLanes;
  absolute_.assign(measures_.size() * kLanes, 0.0);
  const double* part = rows.parts.data();
  for (std::size_t m = 0; m < measures_.size(); ++m) {
    if (!measures_[m].absolute) continue;
    for (std::size_t t = 0; t < data_.targets; ++t, part += 2 * rows.row.size())
      absolute_losses(
          {part, rows.row.data(), rows.row.size(), masks_.data() + block, blocks, side.left + from,
           side.left + (1 + t) * stride_ + from, side.all[0], side.all[1 + t], lightest_},
          &absolute_[m * kLanes]);
  }
  return from + kLanes;
}

void OutputPairs::told(std::size_t column, Sums& sums) const {
  for (std::size_t m = 0; m < measures_.size(); ++m)
    if (measures_[m].absolute) sums.measure[m] = absolute_[m * kLanes + column % kLanes];
}

}  // namespace odt
