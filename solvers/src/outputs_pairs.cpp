#include "odt/outputs_pairs.hpp"

#include <algorithm>
#include <cmath>

#include "odt/lanes.hpp"
#include "odt/masked_sums.hpp"

namespace odt {
namespace {

// Rows lighter than this share of all rows together are too light for sums to tell them.
constexpr double kLightest = 1e-9, kNothing = 1e-11;

// Sums of whole numbers are exact below this.
constexpr double kWhole = 4503599627370496.0;

struct GainRow {
  const double *left, *all;                         // [part][stride], [part]
  std::size_t stride, targets, measures, measured;  // measured: the first of the measures' parts
  const double *factor, *scale;                     // [target], [measure][target]
  const double* allowed;                            // [stride]
  double price, least, heavy;                       // heavy: makes weights large
  const OutputPairs::Size* size;
  std::size_t sizes;
  double* out;
};

double most_of(const Lanes& lanes) {
  double found = lanes[0];
  for (std::size_t l = 1; l < kLanes; ++l) found = std::max(found, lanes[l]);
  return found;
}

// What both leaves of a split on each column lose less than their rows one by one, minus infinity
// where a leaf does not hold what it must; the most of it, and of leaves that may hold anything.
template <bool kMeasured, bool kSized>
ODT_INLINE OutputPairs::Gains gain_row(const GainRow& in) {
  Lanes most = Lanes{} - kUnbounded, sized = most;
  for (std::size_t j = 0; j < in.stride; j += kLanes) {
    Lanes w, open;
    load(w, in.left + j);
    load(open, in.allowed + j);
    const Lanes v = in.all[0] - w;
    Lanes low = {}, high = {};
    for (std::size_t t = 0; t < in.targets; ++t) {
      Lanes s;
      load(s, in.left + (1 + t) * in.stride + j);
      const Lanes r = in.all[1 + t] - s;
      if constexpr (kMeasured) {
        const Lanes x = s / w, y = r / v;  // the means
        Lanes a = in.factor[t] * s, b = in.factor[t] * r;
        for (std::size_t m = 0; m < in.measures; ++m) {
          const std::size_t at = in.measured + m * (1 + in.targets);
          const double scale = in.scale[m * in.targets + t];
          Lanes gw, gs;
          load(gw, in.left + at * in.stride + j);
          load(gs, in.left + (at + 1 + t) * in.stride + j);
          a += scale * (2 * gs - x * gw);
          b += scale * (2 * (in.all[at + 1 + t] - gs) - y * (in.all[at] - gw));
        }
        low += x * a;
        high += y * b;
      } else {
        low += in.factor[t] * s * s;
        high += in.factor[t] * r * r;
      }
    }
    Lanes both = kMeasured ? low + high : low / w + high / v;
    both = both - in.price + open;
    // Minus infinity where a side has no rows, else infinity. (GCC compares lane by lane for
    // masks.)
    const Lanes lighter = w < v ? w : v, limit = (lighter - in.least) * in.heavy * 1e300;
    both = both < limit ? both : limit;
    most = both > most ? both : most;
    if constexpr (kSized) {
      for (std::size_t k = 0; k < in.sizes; ++k) {
        Lanes n;
        load(n, in.left + in.size[k].part * in.stride + j);
        const Lanes m = in.all[in.size[k].part] - n, fewer = n < m ? n : m,
                    held = (fewer - in.size[k].least) * 1e300 * 1e300;
        both = both < held ? both : held;
      }
      sized = both > sized ? both : sized;
    }
    store(both, in.out + j);
  }
  const double found = most_of(most);
  return {found, kSized ? most_of(sized) : found};
}
ODT_CLONES OutputPairs::Gains free_gains(const GainRow& in) { return gain_row<false, false>(in); }
ODT_CLONES OutputPairs::Gains mixed_gains(const GainRow& in) { return gain_row<true, false>(in); }
ODT_CLONES OutputPairs::Gains sized_gains(const GainRow& in) { return gain_row<false, true>(in); }
ODT_CLONES OutputPairs::Gains sized_mixed_gains(const GainRow& in) {
  return gain_row<true, true>(in);
}

ODT_CLONES double largest_sum(const double* a, const double* b, std::size_t n) {
  Lanes most = Lanes{} - kUnbounded;
  for (std::size_t j = 0; j < n; j += kLanes) {
    Lanes x, y;
    load(x, a + j);
    load(y, b + j);
    const Lanes sum = x + y;
    most = sum > most ? sum : most;
  }
  double found = most[0];
  for (std::size_t l = 1; l < kLanes; ++l) found = std::max(found, most[l]);
  return found;
}

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

// ---- columns, and the numbers of rows

OutputPairs::OutputPairs(const OutputRows& data, std::size_t leaf_rows) : data_(data) {
  const OutputProblem& p = data.problem;
  const std::size_t features = p.base.features;
  if (p.loss != OutputLoss::squared || !data.free()) return;
  double total = 0, lightest = kUnbounded;
  for (std::uint32_t row : data.used) {
    total += data.of(row)[kWeight];
    lightest = std::min(lightest, data.of(row)[kWeight]);
  }
  if (!(lightest > kLightest * total)) return;  // a side without weight is one with rows
  least_ = kNothing * total;
  for (std::uint32_t f = 0; f < features; ++f) {
    const auto& counts = data.counts[f];
    const std::size_t before = columns_.size();
    for (std::uint32_t r = 1; r < p.base.distinct[f]; ++r)
      if (counts[r] > counts[r - 1]) columns_.push_back({f, counts[r] - 1, r});
    if (columns_.size() > kMost) return;
    if (columns_.size() > before) first_.push_back(before);
  }
  if (columns_.size() < 2) return;
  stride_ = (columns_.size() + kLanes - 1) / kLanes * kLanes;
  find_sizes(leaf_rows);
  free_parts_ = 1 + data.targets + counted_.size();
  const auto& measures = p.model.measures;
  measured_ = !measures.empty() && measures.size() <= kMostMeasures &&
              std::all_of(measures.begin(), measures.end(), [](const NumberMeasure& one) {
                return one.kind == MeasuredLoss::squared;
              });
  parts_ = measured_ ? measure_at(measures.size()) : free_parts_;
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

// ---- what leaves must hold

void OutputPairs::find_sizes(std::size_t leaf_rows) {
  const std::size_t first = 1 + data_.targets;
  if (leaf_rows > 1) {
    const double one = data_.of(data_.used[0])[kWeight],
                 least = static_cast<double>(leaf_rows) - 0.5;
    const bool alike = std::all_of(data_.used.begin(), data_.used.end(), [&](std::uint32_t row) {
      return data_.of(row)[kWeight] == one;
    });
    sizes_.push_back({alike ? 0 : first, alike ? least * one : least});
    if (!alike) counted_.push_back(-1);
  }
  uniform_ = sizes_.size();
  if (!data_.rules().any_strict()) return;
  const bool told = find_conditions();
  if (!told) {
    sizes_.resize(uniform_);
    while (!counted_.empty() && counted_.back() >= 0) counted_.pop_back();
  }
  find_known(told);
}

// The conditions on leaves behind strict states, as sizes: false where they are no such ones.
bool OutputPairs::find_conditions() {
  const NumberRules& rules = data_.rules();
  if (!rules.strict(0)) return false;
  for (int which : rules.leaf_rules[0]) {
    const RowConditions& any = rules.leaf_conditions[at(which)];
    if (any.size() != 1 || sizes_.size() == kMostSizes) return false;
    double total = std::fabs(static_cast<double>(any[0].at_most));
    for (std::uint32_t row : data_.used)
      total += std::fabs(static_cast<double>(rules.value[row * at(rules.sums) + at(any[0].sum)]));
    if (!(total < kWhole)) return false;
    sizes_.push_back(
        {1 + data_.targets + counted_.size(), -static_cast<double>(any[0].at_most) - 0.5});
    counted_.push_back(any[0].sum);
  }
  return true;
}

// Strict states behind which the same is asked of all leaves and splits, and no more of paths than
// behind the relaxed ones. `told`: whether sizes say what is asked.
void OutputPairs::find_known(bool told) {
  const NumberRules& rules = data_.rules();
  const std::size_t states = rules.need.size(), columns = at(rules.columns);
  for (std::size_t s = 0; s < states; ++s)
    known_.push_back(!rules.strict(static_cast<int>(s)) ||
                     (told && !rules.asks_cuts() && rules.need[s] == 0 &&
                      rules.leaf_rules[s] == rules.leaf_rules[0] &&
                      rules.split_rules[s] == rules.split_rules[0]));
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t s = 0; s < states; ++s)
      for (std::size_t c = 0; c < columns && known_[s]; ++c) {
        const int next = rules.next[s * columns + c],
                  beside = rules.next[at(rules.relaxed[s]) * columns + c];
        if (next < 0 ? beside < 0 : known_[at(next)] && rules.relax(next) == beside) continue;
        known_[s] = 0;
        changed = true;
      }
  }
}

bool OutputPairs::leaf_holds(const std::vector<double>& all, int state) const {
  for (std::size_t k = 0; k < sizes(state); ++k)
    if (!(all[sizes_[k].part] > sizes_[k].least)) return false;
  return true;
}

bool OutputPairs::may_split(const std::vector<double>& all, int state) const {
  const NumberRules& rules = data_.rules();
  if (!rules.asks_split(state)) return true;
  std::vector<Loss> sums(at(rules.sums));
  for (std::size_t k = 0; k < sums.size(); ++k) sums[k] = std::llround(rule_sum(all, k));
  return rules.split_holds(state, sums);
}

void OutputPairs::make_values() {
  const OutputProblem& p = data_.problem;
  const std::size_t blocks = stride_ / kLanes, rows = p.base.rows, targets = data_.targets;
  values_.assign(rows * entries_, 0.0);
  masks_.assign(rows * blocks, 0);
  slots_.assign((first_.size() - 1) * rows, 0);
  if (measured_) rounding_.assign(p.model.measures.size(), 0.0);
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
      double* part = of + measure_at(m);
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
      if (data_.cells(columns_[c].feature)[row] <= columns_[c].cell)
        masks_[row * blocks + c / kLanes] |= static_cast<std::uint8_t>(1 << (c % kLanes));
    for (std::size_t k = 0; k + 1 < first_.size(); ++k)
      for (std::size_t c = first_[k]; c < first_[k + 1]; ++c)
        slots_[k * rows + row] += data_.cells(columns_[c].feature)[row] > columns_[c].cell;
  }
}

// ---- sums

// Of the rows left of each column, the sums of those left of each other one.
void OutputPairs::sum(const std::uint32_t* rows, std::size_t n, bool measured, Table& out) {
  const std::size_t count = parts(measured), blocks = stride_ / kLanes;
  out.measured = measured;
  out.pairs.reserve(columns_.size() * count * stride_);
  out.ones.reserve((entries_ + 1) * stride_);
  const MaskedRows in{values_.data(), entries_, masks_.data(), blocks, rows, n};
  for (std::size_t e = 0; e < entries_; e += 2) {
    double* to = out.ones.data() + e * stride_;
    if (e + 1 < entries_)
      add_masked_two(in.behind(e), 0, to, to + stride_);
    else
      add_masked_one(in.behind(e), 0, to);
  }
  out.all.assign(entries_, 0.0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t e = 0; e < entries_; ++e) out.all[e] += values_[rows[i] * entries_ + e];
  for (std::size_t k = 0; k + 1 < first_.size(); ++k) add_feature(k, rows, n, count, out);
  for (std::size_t k = 1; k + 1 < first_.size(); ++k) {
    const std::size_t told = first_[k] / kLanes * kLanes;
    for (std::size_t c = first_[k]; c < first_[k + 1]; ++c)
      for (std::size_t p = 0; p < count; ++p) {
        double* to = out.pairs.data() + (c * count + p) * stride_;
        for (std::size_t g = 0; g < told; ++g) to[g] = out.pairs[(g * count + p) * stride_ + c];
      }
  }
}

// The columns of a feature, with all from the first of them on. Of the rows between two
// neighbouring ones, those that are most are not added up.
void OutputPairs::add_feature(std::size_t k, const std::uint32_t* rows, std::size_t n,
                              std::size_t count, Table& out) {
  const std::size_t first = first_[k], columns = first_[k + 1] - first;
  const std::uint16_t* slot = slots_.data() + k * data_.problem.base.rows;
  picked_.resize(n + 1);
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
  const std::size_t block = first / kLanes, from = block * kLanes, width = stride_ - from;
  const auto add = [&](std::size_t s, double* to) {
    const std::size_t begin = s == 0 ? 0 : ends_[s - 1];
    const MaskedRows in{values_.data(),         entries_,        masks_.data(), stride_ / kLanes,
                        picked_.data() + begin, ends_[s] - begin};
    for (std::size_t p = 0; p < count; p += 2) {
      if (p + 1 < count)
        add_masked_two(in.behind(p), block, to + p * stride_, to + (p + 1) * stride_);
      else
        add_masked_one(in.behind(p), block, to + p * stride_);
    }
  };
  const auto of = [&](std::size_t c) { return out.pairs.data() + (first + c) * count * stride_; };
  for (std::size_t s = 0; s < most; ++s) {
    add(s, of(s));
    for (std::size_t p = 0; p < count && s > 0; ++p)
      add_to(of(s) + p * stride_ + from, of(s - 1) + p * stride_ + from, width);
  }
  for (std::size_t s = columns; s > most; --s) {
    double* to = of(s - 1);
    add(s, to);
    const double* whole = s == columns ? out.ones.data() : of(s);
    for (std::size_t p = 0; p < count; ++p)
      differences(whole + p * stride_ + from, to + p * stride_ + from, width,
                  to + p * stride_ + from);
  }
}

void OutputPairs::subtract(const Table& from, const Table& part, Table& out) const {
  out.measured = from.measured;
  const std::size_t cells = columns_.size() * parts(from.measured) * stride_;
  out.pairs.reserve(cells);
  out.ones.reserve((entries_ + 1) * stride_);
  differences(from.pairs.data(), part.pairs.data(), cells, out.pairs.data());
  differences(from.ones.data(), part.ones.data(), entries_ * stride_, out.ones.data());
  out.all.resize(entries_);
  for (std::size_t e = 0; e < entries_; ++e) out.all[e] = from.all[e] - part.all[e];
}

// ---- sides

void OutputPairs::enter(const Table& table, std::size_t column, bool low, bool whole, Side& side) {
  const std::size_t count = parts(table.measured);
  const double* pairs = table.pairs.data() + column * count * stride_;
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
    const double mean = all[1 + t] / all[0];
    double part = mix.loss * data_.problem.factor[t] * all[1 + t];
    for (std::size_t m = 0; m < mix.measure.size(); ++m) {
      const double* of = &all[measure_at(m)];
      part += mix.measure[m] * data_.problem.model.measures[m].factor[t] *
              (2 * of[1 + t] - mean * of[0]);
    }
    total += mean * part;
  }
  return total;
}

OutputPairs::Gains OutputPairs::gains(const Side& side, int state, const Mix& mix, double* out) {
  const OutputProblem& p = data_.problem;
  const std::size_t measures = mix.measure.size();
  scaled_.resize(data_.targets * (1 + measures));
  for (std::size_t t = 0; t < data_.targets; ++t) {
    scaled_[t] = mix.loss * p.factor[t];
    for (std::size_t m = 0; m < measures; ++m)
      scaled_[(1 + m) * data_.targets + t] = mix.measure[m] * p.model.measures[m].factor[t];
  }
  const GainRow in{side.left,
                   side.all.data(),
                   stride_,
                   data_.targets,
                   measures,
                   free_parts_,
                   scaled_.data(),
                   scaled_.data() + data_.targets,
                   allowed(state),
                   2 * mix.loss * p.leaf_price,
                   least_,
                   kNothing / least_ * 1e300,
                   sizes_.data(),
                   sizes(state),
                   out};
  if (in.sizes > 0) return measures > 0 ? sized_mixed_gains(in) : sized_gains(in);
  return measures > 0 ? mixed_gains(in) : free_gains(in);
}

double OutputPairs::largest(const double* gains, const double* added) const {
  return largest_sum(gains, added, stride_);
}

const double* OutputPairs::allowed(int state) {
  const std::size_t at = static_cast<std::size_t>(state);
  if (allowed_.size() <= at) allowed_.resize(at + 1);
  auto& open = allowed_[at];
  if (open.empty()) {
    open.assign(stride_, -kUnbounded);
    for (std::size_t c = 0; c < columns_.size(); ++c)
      if (data_.rules().after(state, columns_[c].feature) >= 0) open[c] = 0;
  }
  return open.data();
}

// ---- the best trees

void OutputPairs::scan(const Table& table, int state, const Mix& mix, Scan& out) {
  const double price = mix.measure.empty() ? mix.loss * data_.problem.leaf_price : -kUnbounded;
  out.low.assign(columns_.size(), kUnbounded);
  out.high.assign(columns_.size(), kUnbounded);
  out.gains.resize(2 * columns_.size() * stride_);
  out.free = std::max(own(table.all, mix) - leaf_gain(table.all, mix), price);
  out.least = leaf_holds(table.all, state) ? out.free : kUnbounded;
  out.column = -1;
  const bool splits = may_split(table.all, state);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const double weight = table.ones[c];
    if (!(weight > least_ && table.all[0] - weight > least_)) continue;
    const int next = data_.rules().after(state, columns_[c].feature);
    if (next < 0) continue;
    double free = 0;
    for (std::size_t s = 0; s < 2; ++s) {
      enter(table, c, s == 0, true, side_);
      double* each = &out.gains[(2 * c + s) * stride_];
      const double rows = own(side_.all, mix), leaf = leaf_gain(side_.all, mix);
      Gains most = gains(side_, next, mix, each);
      free += std::max(rows - std::max(most.free, leaf), price);
      if (!may_split(side_.all, next)) {
        std::fill(each, each + stride_, -kUnbounded);
        most.sized = -kUnbounded;
      }
      if (leaf_holds(side_.all, next)) most.sized = std::max(most.sized, leaf);
      if (splits) (s == 0 ? out.low : out.high)[c] = std::max(rows - most.sized, price);
    }
    out.free = std::min(out.free, free);
    if (out.low[c] + out.high[c] < out.least) {
      out.least = out.low[c] + out.high[c];
      out.column = static_cast<int>(c);
    }
  }
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
    if (!(each[g] > gain(side_.all, next, mix))) {
      add_leaf(side_.all, table.measured, sums);
      continue;
    }
    (s == 0 ? found.low : found.high) = static_cast<int>(g);
    add_stump(side_, table.measured, g, sums);
  }
  return found;
}

void OutputPairs::add_leaf(const std::vector<double>& all, bool measured, Sums& sums) const {
  const OutputProblem& p = data_.problem;
  sums.loss += all[own_] + p.leaf_price;
  for (std::size_t t = 0; t < data_.targets; ++t)
    sums.loss -= p.factor[t] * all[1 + t] * all[1 + t] / all[0];
  if (!measured) return;
  sums.measure.resize(rounding_.size());
  for (std::size_t m = 0; m < rounding_.size(); ++m) {
    const double* of = &all[measure_at(m)];
    sums.measure[m] += all[own_ + 1 + m];
    for (std::size_t t = 0; t < data_.targets; ++t) {
      const double mean = all[1 + t] / all[0];
      sums.measure[m] -= p.model.measures[m].factor[t] * mean * (2 * of[1 + t] - mean * of[0]);
    }
  }
}

void OutputPairs::add_stump(const Side& side, bool measured, std::size_t column, Sums& sums) {
  half_ = side.all;  // what the rows lose one by one stands with the leaf on the left
  for (std::size_t p = 0; p < parts(measured); ++p) half_[p] = side.left[p * stride_ + column];
  add_leaf(half_, measured, sums);
  for (std::size_t p = 0; p < parts(measured); ++p) half_[p] = side.all[p] - half_[p];
  std::fill(half_.begin() + static_cast<std::ptrdiff_t>(own_), half_.end(), 0.0);
  add_leaf(half_, measured, sums);
}

double OutputPairs::best(const OutputNode& node, int state, Plan& plan, double& free) {
  sum(node.of(0), node.rows, false, table_);
  scan(table_, state, {}, scan_);
  Sums sums;
  free = scan_.free;
  if (scan_.least < kUnbounded) plan = plan_of(tree(table_, state, {}, scan_, sums));
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

void OutputPairs::open(const OutputNode& node, int state, double limit, std::vector<Cut>& found) {
  found.clear();
  sum(node.of(0), node.rows, false, table_);
  scan(table_, state, {}, scan_);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (!(scan_.low[c] + scan_.high[c] < limit)) continue;
    const std::uint32_t *rows = node.of(columns_[c].feature),
                        *cells = data_.cells(columns_[c].feature);
    const std::uint32_t* at = std::partition_point(
        rows, rows + node.rows, [&](std::uint32_t row) { return cells[row] <= columns_[c].cell; });
    // Between two cuts of a feature that part the same rows, the first one stands for both.
    if (c > 0 && columns_[c - 1].feature == columns_[c].feature && cells[at[-1]] < columns_[c].cell)
      continue;
    found.push_back(
        {columns_[c].feature, static_cast<std::size_t>(at - rows), scan_.low[c], scan_.high[c]});
  }
}

}  // namespace odt
