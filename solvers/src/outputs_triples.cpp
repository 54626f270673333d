#include "odt/outputs_triples.hpp"

#include <algorithm>
#include <numeric>

#include "odt/lane_scores.hpp"
#include "odt/masked_sums.hpp"

namespace odt {

// What a leaf gains, by the sums of its rows: how much less it loses of the mix than they do one by
// one. Of the measure first the part of its weights.
struct MixGain {
  std::size_t parts, targets, measured, bins;
  bool absolute;
  const double *factor, *scale;  // [target]: of the loss, and of the measure
  double price, lightest, fewest;
  std::size_t rows;  // the part that tells whether a leaf has rows
  const PairSize* size;
  std::size_t sizes;
};

namespace {

constexpr std::size_t kMost = 28;  // parts

template <class L, bool kAbsolute>
ODT_INLINE L gain_of(const MixGain& mix, const L* sums) {
  const L inverse = 1 / larger(sums[0], L{} + mix.lightest);
  L total = L{} - mix.price;
  for (std::size_t t = 0; t < mix.targets; ++t) {
    const L middle = sums[1 + t] * inverse;
    L part = mix.factor[t] * sums[1 + t];
    if constexpr (kAbsolute) {
      const L* of = sums + mix.measured;
      L least = {};  // of a bin, what its rows lose together is no less than what their sum does
      for (std::size_t k = 0; k < mix.bins; ++k)
        least += magnitude(of[2 * k + 1] - middle * of[2 * k]);
      total -= mix.scale[t] * least;
    } else if (mix.bins > 0) {
      const L* of = sums + mix.measured;
      part += mix.scale[t] * (2 * of[1 + t] - middle * of[0]);
    }
    total += middle * part;
  }
  typename BitsOf<L>::type held = sums[mix.rows] > mix.fewest;
  for (std::size_t k = 0; k < mix.sizes; ++k) {
    typename BitsOf<L>::type any = sums[mix.size[k].part] > mix.size[k].least;
    for (; mix.size[k].or_next; ++k) any |= sums[mix.size[k + 1].part] > mix.size[k + 1].least;
    held &= any;
  }
  return only(total, held);
}

// Both sides of columns.
struct AloneRow {
  const double *one, *all;  // [part][stride], [part]
  std::size_t stride;
  double* gain[2];
};

template <class L, bool kAbsolute>
ODT_INLINE void gain_alone(const MixGain& mix, const AloneRow& row) {
  for (std::size_t j = 0; j < row.stride; j += kLanes) {
    L side[2][kMost];
    for (std::size_t p = 0; p < mix.parts; ++p) {
      load(side[1][p], row.one + p * row.stride + j);
      side[0][p] = row.all[p] - side[1][p];
    }
    for (int s = 0; s < 2; ++s) store(gain_of<L, kAbsolute>(mix, side[s]), row.gain[s] + j);
  }
}

// The quarters of the rows by a column and lanes of others.
struct QuarterRow {
  const double *pair, *one, *all;  // [part][stride], of side 1; [part]
  std::size_t column, first, stride;
  double* gain[4];
};

template <class L, bool kAbsolute>
ODT_INLINE void gain_quarters(const MixGain& mix, const QuarterRow& row) {
  for (std::size_t j = row.first; j < row.stride; j += kLanes) {
    L part[4][kMost];
    for (std::size_t p = 0; p < mix.parts; ++p) {
      const double own = row.one[p * row.stride + row.column];
      L both, one;
      load(both, row.pair + p * row.stride + j);
      load(one, row.one + p * row.stride + j);
      part[3][p] = both;
      part[2][p] = own - both;
      part[1][p] = one - both;
      part[0][p] = row.all[p] - own - one + both;
    }
    for (int q = 0; q < 4; ++q) store(gain_of<L, kAbsolute>(mix, part[q]), row.gain[q] + j);
  }
}

// Two columns, and lanes of third ones: what the best of these makes of the quarters by the two,
// and each of the two of the quarters by the other and the third.
struct ThirdRow {
  const double *triple, *a, *b, *one;  // [part][stride], of side 1
  const double* quarter;               // [quarter of the two][part]
  std::size_t first, stride;
  const std::uint8_t* open;  // third columns that may be last, by blocks of lanes
  double* best;              // [quarter]
  double *best_a[4], *best_b[4];
};

template <class L, bool kAbsolute>
ODT_INLINE void gain_thirds(const MixGain& mix, const ThirdRow& row) {
  L best[4];
  for (int q = 0; q < 4; ++q) best[q] = L{} + row.best[q];
  for (std::size_t j = row.first; j < row.stride; j += kLanes) {
    L part[4][kMost], rest[kMost], in[4], out[4];
    for (std::size_t p = 0; p < mix.parts; ++p) {
      const std::size_t at = p * row.stride + j;
      L all, a, b, one;
      load(all, row.triple + at);
      load(a, row.a + at);
      load(b, row.b + at);
      load(one, row.one + at);
      part[0][p] = one - a - b + all;
      part[1][p] = b - all;
      part[2][p] = a - all;
      part[3][p] = all;
    }
    typename BitsOf<L>::type open;
    load_bits(open, lane_masks().of[row.open[j / kLanes]]);
    for (int q = 0; q < 4; ++q) {
      for (std::size_t p = 0; p < mix.parts; ++p)
        rest[p] = row.quarter[static_cast<std::size_t>(q) * kMost + p] - part[q][p];
      in[q] = only(gain_of<L, kAbsolute>(mix, part[q]), open);
      out[q] = only(gain_of<L, kAbsolute>(mix, rest), open);
      best[q] = larger(best[q], in[q] + out[q]);
    }
    raise_quarters(in, out, row.best_a, row.best_b, j);
  }
  for (int q = 0; q < 4; ++q) row.best[q] = largest(best[q]);
}

ODT_VERSIONS(void alone_squared(const MixGain& mix, const AloneRow& row),
             gain_alone<L, false>(mix, row))
ODT_VERSIONS(void alone_absolute(const MixGain& mix, const AloneRow& row),
             gain_alone<L, true>(mix, row))
ODT_VERSIONS(void quarters_squared(const MixGain& mix, const QuarterRow& row),
             gain_quarters<L, false>(mix, row))
ODT_VERSIONS(void quarters_absolute(const MixGain& mix, const QuarterRow& row),
             gain_quarters<L, true>(mix, row))
ODT_VERSIONS(void thirds_squared(const MixGain& mix, const ThirdRow& row),
             gain_thirds<L, false>(mix, row))
ODT_VERSIONS(void thirds_absolute(const MixGain& mix, const ThirdRow& row),
             gain_thirds<L, true>(mix, row))

}  // namespace

OutputTriples::OutputTriples(const OutputRows& data, const OutputPairs& pairs)
    : data_(data), pairs_(pairs) {
  static_assert(kMostParts == kMost, "what a leaf's sums have room for");
}

bool OutputTriples::tells(const OutputPairs::Mix& mix) const {
  std::size_t asked = 0, parts = pairs_.free_parts_;
  for (std::size_t m = 0; m < mix.measure.size(); ++m) {
    if (mix.measure[m] == 0) continue;
    const PairMeasure& one = pairs_.measures_[m];
    if (one.signs || (one.absolute && data_.targets > 1)) return false;
    parts += one.absolute ? 2 * kBins : 1 + data_.targets;
    ++asked;
  }
  return asked <= 1 && parts <= kMostParts &&
         pairs_.columns_.size() * pairs_.stride_ * (parts + 2 * kQuarters) <=
             OutputPairs::kMostCells;
}

std::vector<double> OutputTriples::least(const OutputPairs::Mix& mix, int state, Control& control) {
  const double own = sum_all(mix, state, control);
  std::vector<double> found(columns_, kUnbounded);
  for (std::size_t k = 0; k < columns_; ++k) {
    const int next = after(state, k);
    if (next < 0) continue;
    double gained = 0;
    for (std::size_t side = 0; side < 2; ++side) {
      const std::array<double, 6> gains = side_gains(k, side, next, kUnbounded);
      gained += *std::max_element(gains.begin(), gains.end());
    }
    if (gained > -kNever / 2) found[column_[k]] = own - gained;
  }
  return found;
}

std::vector<OutputTriples::Shapes> OutputTriples::shapes(const std::vector<Sides>& most, int state,
                                                         Control& control) {
  const double own = sum_all({}, state, control);
  Shapes none;
  for (auto& row : none) row.fill(kUnbounded);
  std::vector<Shapes> found(columns_, none);
  for (std::size_t k = 0; k < columns_; ++k) {
    const int next = after(state, k);
    if (next < 0) continue;
    const std::uint32_t c = column_[k];
    const std::size_t left = turned_[c] ? 0 : 1;
    const std::array<double, 6> low = side_gains(k, left, next, most[c][0]),
                                high = side_gains(k, 1 - left, next, most[c][1]);
    for (std::size_t l = 1; l < 5; ++l)
      for (std::size_t r = 1; r < 5; ++r) {
        const double gained = low[l == 3 && r == 1 ? 5 : l] + high[r == 3 && l == 1 ? 5 : r];
        if (gained > -kNever / 2) found[c][l][r] = own - gained;
      }
  }
  return found;
}

// What all rows lose one by one; all else is what trees gain.
double OutputTriples::sum_all(const OutputPairs::Mix& mix, int state, Control& control) {
  choose_measure(mix);
  order_rows();
  make_columns();
  const std::vector<PairSize>& sizes = pairs_.sizes_of_all(state);
  const MixGain gain{
      parts_,           data_.targets,  measured_,         bins_,
      absolute_,        factor_.data(), scale_.data(),     mix.loss * data_.problem.leaf_price,
      pairs_.lightest_, pairs_.fewest_, pairs_.rows_part_, sizes.data(),
      sizes.size()};
  sum_quarters(gain);
  sum_triples(gain, state, control);
  double own = 0;
  for (std::uint32_t row : data_.used) {
    const double* of = pairs_.values_.data() + row * pairs_.entries_ + pairs_.own_;
    own += mix.loss * of[0];
    for (std::size_t m = 0; m < mix.measure.size(); ++m) own += mix.measure[m] * of[1 + m];
  }
  return own;
}

void OutputTriples::choose_measure(const OutputPairs::Mix& mix) {
  const NumberProblem& p = data_.problem;
  measure_ = nullptr;
  absolute_ = false;
  factor_.assign(data_.targets, 0.0);
  scale_.assign(data_.targets, 0.0);
  for (std::size_t t = 0; t < data_.targets; ++t) factor_[t] = mix.loss * p.factor[t];
  for (std::size_t m = 0; m < mix.measure.size(); ++m) {
    if (mix.measure[m] == 0) continue;
    measure_ = &p.model.measures[m];
    absolute_ = pairs_.measures_[m].absolute;
    first_ = pairs_.measures_[m].part;
    for (std::size_t t = 0; t < data_.targets; ++t)
      scale_[t] = mix.measure[m] * measure_->factor[t];
  }
  ordered_ = !PathKinds(data_.rules()).unordered;
}

// Places of rows: those of a bin begin with a word of bits, those without a measure come last.
void OutputTriples::order_rows() {
  std::vector<std::uint32_t> weighed, others;
  for (std::uint32_t row : data_.used)
    (measure_ != nullptr && measure_->weight[row] != 0 ? weighed : others).push_back(row);
  if (absolute_)
    std::stable_sort(weighed.begin(), weighed.end(), [&](std::uint32_t a, std::uint32_t b) {
      return data_.problem.target[a] < data_.problem.target[b];
    });
  measured_ = pairs_.free_parts_;
  bins_ = measure_ == nullptr || weighed.empty() ? 0
          : absolute_                            ? std::min(kBins, weighed.size())
                                                 : 1;
  parts_ = measured_ + (absolute_ ? 2 * bins_ : bins_ * (1 + data_.targets));
  row_.clear();
  bin_.clear();
  const auto add = [&](auto begin, auto end, std::size_t part) {
    const std::size_t from = row_.size() / kBlock;
    row_.insert(row_.end(), begin, end);
    row_.resize((row_.size() + kBlock - 1) / kBlock * kBlock, NumberRules::kNoRank);
    bin_.push_back({from, row_.size() / kBlock, part});
  };
  const auto at = [&](std::size_t k) {
    return weighed.begin() + static_cast<std::ptrdiff_t>(k * weighed.size() / bins_);
  };
  for (std::size_t k = 0; k < bins_; ++k) add(at(k), at(k + 1), measured_ + 2 * k);
  add(others.begin(), others.end(), parts_);
  words_ = row_.size() / kBlock;
  values_.assign(row_.size() * parts_, 0.0);
  for (const Bin& bin : bin_)
    for (std::size_t i = bin.from * kBlock; i < bin.to * kBlock; ++i) {
      if (row_[i] == NumberRules::kNoRank) continue;
      const double* of = pairs_.values_.data() + row_[i] * pairs_.entries_;
      double* to = values_.data() + i * parts_;
      std::copy(of, of + measured_, to);
      if (bin.part == parts_) continue;
      if (absolute_) {
        to[bin.part] = measure_->weight[row_[i]];
        to[bin.part + 1] = to[bin.part] * (data_.problem.target[row_[i]] - data_.centre[0]);
      } else {
        std::copy(of + first_, of + first_ + 1 + data_.targets, to + bin.part);
      }
    }
}

void OutputTriples::make_columns() {
  const auto& columns = pairs_.columns_;
  columns_ = columns.size();
  stride_ = pairs_.stride_;
  std::vector<std::size_t> left(columns_, 0);
  const auto goes_left = [&](std::size_t c, std::uint32_t row) {
    return data_.cells(columns[c].feature)[row] <= columns[c].cell;
  };
  for (std::size_t c = 0; c < columns_; ++c)
    for (std::uint32_t row : data_.used) left[c] += goes_left(c, row);
  turned_.assign(columns_, 0);
  for (std::size_t c = 0; c < columns_; ++c) {
    turned_[c] = 2 * left[c] > data_.used.size();
    if (turned_[c]) left[c] = data_.used.size() - left[c];
  }
  column_.resize(columns_);
  std::iota(column_.begin(), column_.end(), 0u);
  std::stable_sort(column_.begin(), column_.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return left[a] < left[b]; });
  const std::size_t blocks = stride_ / kLanes;
  masks_.assign(row_.size() * blocks, 0);
  bits_.assign(columns_ * words_, 0);
  for (std::size_t k = 0; k < columns_; ++k)
    for (std::size_t i = 0; i < row_.size(); ++i) {
      if (row_[i] == NumberRules::kNoRank ||
          goes_left(column_[k], row_[i]) == (turned_[column_[k]] != 0))
        continue;
      masks_[i * blocks + k / kLanes] |= static_cast<std::uint8_t>(1 << (k % kLanes));
      bits_[k * words_ + i / kBlock] |= std::uint64_t{1} << (i % kBlock);
    }
  listed_.resize(row_.size());
  one_.reserve(parts_ * stride_);
  triple_.reserve(parts_ * stride_);
  pair_.reserve(columns_ * parts_ * stride_);
  for (Aligned<double>& gains : alone_) gains.reserve(stride_);
  for (auto* tables : {&leaf_, &stump_})
    for (Aligned<double>& table : *tables) table.reserve(columns_ * stride_);
}

// The state behind a path that tests a column as well; -1: it may not.
int OutputTriples::after(int state, std::size_t k) const {
  const OutputPairs::Column& column = pairs_.columns_[column_[k]];
  if (!column.stands) return -1;
  return ordered_ ? 0 : data_.rules().after(state, column.feature);
}

// Sums of the rows in two sets of bits that are on side 1 of columns, from a block of these on.
std::size_t OutputTriples::sum(const std::uint64_t* a, const std::uint64_t* b, std::size_t block,
                               double* out) {
  std::uint32_t* to = listed_.data();
  const MaskedRows all{values_.data(), parts_, masks_.data(), stride_ / kLanes, to, 0};
  const auto add = [&](MaskedRows in, std::size_t from, std::size_t end) {
    for (std::size_t p = from; p < end; p += 2) {
      double* sums = out + p * stride_;
      if (p + 1 < end)
        add_masked_two(in.behind(p), block, sums, sums + stride_);
      else
        add_masked_one(in.behind(p), block, sums);
    }
  };
  for (const Bin& bin : bin_) {
    MaskedRows some = all;
    some.row = to;
    for (std::size_t k = bin.from; k < bin.to; ++k)
      for (std::uint64_t word = a[k] & b[k]; word != 0; word &= word - 1)
        *to++ = static_cast<std::uint32_t>(kBlock * k) +
                static_cast<std::uint32_t>(__builtin_ctzll(word));
    some.rows = static_cast<std::size_t>(to - some.row);
    add(some, bin.part, std::min(parts_, bin.part + (absolute_ ? 2 : 1 + data_.targets)));
  }
  MaskedRows every = all;
  every.rows = static_cast<std::size_t>(to - listed_.data());
  add(every, 0, measured_);
  return every.rows;
}

void OutputTriples::sum_quarters(const MixGain& gain) {
  const std::vector<std::uint64_t> every(words_, ~std::uint64_t{0});
  std::vector<std::uint64_t> rows(words_, 0);
  for (std::size_t i = 0; i < row_.size(); ++i)
    if (row_[i] != NumberRules::kNoRank) rows[i / kBlock] |= std::uint64_t{1} << (i % kBlock);
  sum(every.data(), rows.data(), 0, one_.data());
  all_.assign(parts_, 0.0);
  for (std::size_t i = 0; i < row_.size(); ++i)
    for (std::size_t p = 0; p < parts_; ++p) all_[p] += values_[i * parts_ + p];
  const AloneRow alone{one_.data(), all_.data(), stride_, {alone_[0].data(), alone_[1].data()}};
  absolute_ ? alone_absolute(gain, alone) : alone_squared(gain, alone);
  for (std::size_t k = 0; k < columns_; ++k) {
    const std::size_t block = k / kLanes;
    double* pair = pair_.data() + k * parts_ * stride_;
    sum(bits_.data() + k * words_, every.data(), block, pair);
    QuarterRow row{pair, one_.data(), all_.data(), k, block * kLanes, stride_, {}};
    for (std::size_t q = 0; q < kQuarters; ++q) {
      row.gain[q] = leaf_[q].data() + k * stride_;
      std::fill_n(stump_[q].data() + k * stride_, stride_, -kNever);
    }
    absolute_ ? quarters_absolute(gain, row) : quarters_squared(gain, row);
  }
}

// The columns that may be last behind a path in a state, by blocks of lanes.
const std::uint8_t* OutputTriples::last(int state) {
  std::vector<std::uint8_t>& open = last_[state];
  if (!open.empty()) return open.data();
  open.assign(stride_ / kLanes, 0);
  for (std::size_t k = 0; k < columns_; ++k)
    if (const int next = after(state, k); next >= 0 && ends(next))
      open[k / kLanes] |= static_cast<std::uint8_t>(1 << (k % kLanes));
  return open.data();
}

void OutputTriples::sum_triples(const MixGain& gain, int state, Control& control) {
  last_.clear();
  for (std::size_t a = 0; a + 2 < columns_; ++a) {
    const int first = after(state, a);
    if (first < 0) continue;
    std::uint64_t work = 0;
    for (std::size_t b = a + 1; b + 1 < columns_; ++b) {
      const int second = after(first, b);
      if (second < 0) continue;
      const std::size_t block = b / kLanes;
      const std::size_t rows =
          sum(bits_.data() + a * words_, bits_.data() + b * words_, block, triple_.data());
      const double *of_a = pair_.data() + a * parts_ * stride_,
                   *of_b = pair_.data() + b * parts_ * stride_;
      double quarter[kQuarters * kMost], best[kQuarters];
      for (std::size_t p = 0; p < parts_; ++p) {
        const double both = of_a[p * stride_ + b], one_a = one_[p * stride_ + a],
                     one_b = one_[p * stride_ + b];
        quarter[3 * kMost + p] = both;
        quarter[2 * kMost + p] = one_a - both;
        quarter[kMost + p] = one_b - both;
        quarter[p] = all_[p] - one_a - one_b + both;
      }
      ThirdRow row{triple_.data(), of_a,         of_b, one_.data(), quarter, block * kLanes,
                   stride_,        last(second), best, {},          {}};
      for (std::size_t q = 0; q < kQuarters; ++q) {
        best[q] = stump_[q][a * stride_ + b];
        row.best_a[q] = stump_[q].data() + a * stride_;
        row.best_b[q] = stump_[q].data() + b * stride_;
      }
      absolute_ ? thirds_absolute(gain, row) : thirds_squared(gain, row);
      for (std::size_t q = 0; q < kQuarters; ++q) {
        double& known = stump_[q][a * stride_ + b];
        known = std::max(known, best[q]);
      }
      work += words_ + (rows + 16) * (stride_ / kLanes - block) * parts_ / 2;
    }
    control.poll(work);
  }
}

double OutputTriples::weight(std::size_t column, std::size_t side, std::size_t other,
                             std::size_t other_side) const {
  const std::size_t first = std::min(column, other), second = std::max(column, other);
  const double both = pair_[first * parts_ * stride_ + second];
  const double of_side = side == 1 ? one_[column] : all_[0] - one_[column],
               inside = side == 1 ? both : one_[other] - both;
  return other_side == 1 ? inside : of_side - inside;
}

// What a side of a column gains at most as a tree of two levels.
std::array<double, 6> OutputTriples::side_gains(std::size_t root, std::size_t side, int state,
                                                double heavy) const {
  std::array<double, 6> most;
  most.fill(-kNever);
  if (ends(state)) most[1] = alone_[side][root];
  for (std::size_t k = 0; k < columns_; ++k) {
    const int next = k == root ? -1 : after(state, k);
    if (next < 0) continue;
    double leaf[2], stump[2];
    for (std::size_t s = 0; s < 2; ++s) {
      leaf[s] = ends(next) ? quarter(leaf_, root, side, k, s) : -kNever;
      stump[s] = quarter(stump_, root, side, k, s);
    }
    most[2] = std::max(most[2], leaf[0] + leaf[1]);
    most[3] = std::max({most[3], leaf[0] + stump[1], stump[0] + leaf[1]});
    most[4] = std::max(most[4], stump[0] + stump[1]);
    for (std::size_t s = 0; s < 2 && heavy < kUnbounded; ++s)
      if (leaf[1 - s] + stump[s] > most[5] && !(weight(root, side, k, s) > heavy + 1e-9 * all_[0]))
        most[5] = leaf[1 - s] + stump[s];
  }
  if (!(heavy < kUnbounded)) most[5] = most[3];
  return most;
}

}  // namespace odt
