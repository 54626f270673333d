#include "odt/regression_data.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "odt/logs.hpp"

namespace odt {
namespace {

// Pairs of tests are counted in time rows * tests^2, cheap at each but blind to neighbours. The
// medians of pairs are cheaper still beside those of ranges, while features have few tests each.
constexpr std::size_t kMostTests = 200, kRowsPerTest = 3, kTestsPerFeature = 25;

// Multiples of a power of two whose sums are exact in any order, so that what is added can be taken
// away again.
double grain(double total) { return total > 0 ? std::exp2(std::ceil(std::log2(total)) - 51) : 1; }
double round_to(double x, double unit) { return std::nearbyint(x / unit) * unit; }

double weighted_mean(const NumberProblem& p, const std::vector<std::uint32_t>& rows) {
  double sum = 0, weights = 0;
  for (std::uint32_t i : rows) {
    const double w = p.weight.empty() ? 1 : p.weight[i];
    sum += w * p.target[i];
    weights += w;
  }
  return weights > 0 ? sum / weights : 0;
}

}  // namespace

void RegressionData::make_cells(const std::vector<Rows>& below) {
  cell.resize(below.size());
  for (std::size_t f = 0; f < cell.size(); ++f) {
    cell[f].resize(points);
    const std::uint32_t* ranks = problem.base.ranks(f);
    for (std::size_t k = 0; k < points; ++k) cell[f][k] = below[f][ranks[row[k]]];
  }
}

// Few cuts: 0/1 columns, whose pairs are counted at once.
void RegressionData::make_tests() {
  std::size_t tests = 0, features = 0;
  for (const auto& bounds : bound) {
    tests += bounds.size();
    features += bounds.empty() ? 0 : 1;
  }
  if (tests > kMostTests || points < (problem.absolute() ? 1 : kRowsPerTest) * tests) return;
  if (problem.absolute() && tests > kTestsPerFeature * features) return;
  std::vector<std::uint32_t> of;
  std::vector<std::vector<std::uint32_t>> cells, bounds;
  for (std::size_t f = 0; f < cell.size(); ++f) {
    std::size_t parting = bound[f].size();  // bounds with ranks on both sides
    while (parting > 0 && bound[f][parting - 1] >= problem.base.distinct[f]) --parting;
    for (std::uint32_t c = 0; c < parting; ++c) {
      std::vector<std::uint32_t> above;
      if (parting == 1) {
        above = std::move(cell[f]);  // 0 and 1 already
      } else {
        above.resize(points);
        for (std::size_t i = 0; i < points; ++i) above[i] = cell[f][i] > c;
      }
      of.push_back(static_cast<std::uint32_t>(f));
      cells.push_back(std::move(above));
      bounds.push_back({bound[f][c]});
    }
  }
  feature = std::move(of);
  cell = std::move(cells);
  bound = std::move(bounds);
}

// Groups of rows that are equal in all cells, in the order of their first rows.
RegressionData::Groups RegressionData::merge(const Rows& rows,
                                             const std::vector<Rows>& below) const {
  Groups groups;
  const std::size_t n = rows.size();
  if (problem.absolute() || problem.sized()) {  // each row stands alone
    groups.place.resize(n);
    groups.from.resize(n + 1);
    std::iota(groups.place.begin(), groups.place.end(), 0u);
    std::iota(groups.from.begin(), groups.from.end(), 0u);
    return groups;
  }
  // Cells side by side in as few words as hold them.
  std::vector<std::vector<std::uint64_t>> words;
  int used = 64;
  for (std::size_t f = 0; f < below.size(); ++f) {
    const std::uint32_t last = problem.base.distinct[f] - 1, most = below[f][last];
    int bits = 0;
    while (most >> bits != 0) ++bits;
    if (bits == 0) continue;
    if (used + bits > 64) {
      words.emplace_back(n, 0);
      used = 0;
    }
    std::uint64_t* word = words.back().data();
    const std::uint32_t *ranks = problem.base.ranks(f), *cells = below[f].data();
    if (n == problem.base.rows && most == last) {  // cells are ranks
      for (std::size_t i = 0; i < n; ++i) word[i] |= std::uint64_t{ranks[i]} << used;
    } else {
      for (std::size_t i = 0; i < n; ++i) word[i] |= std::uint64_t{cells[ranks[rows[i]]]} << used;
    }
    used += bits;
  }
  int bits = 4;
  while (n >> (bits - 1) != 0) ++bits;
  constexpr std::uint32_t kNone = ~0u;
  std::vector<std::uint32_t> known(std::size_t{1} << bits, kNone), group(n), first, size;
  for (std::uint32_t i = 0; i < n; ++i) {
    std::uint64_t mark = 0;
    for (const auto& word : words) mark = (mark ^ mark >> 29 ^ word[i]) * 0x9e3779b97f4a7c15ULL;
    const auto alike = [&](std::uint32_t other) {
      return std::all_of(words.begin(), words.end(),
                         [&](const auto& word) { return word[i] == word[other]; });
    };
    std::size_t at = mark >> (64 - bits);
    while (known[at] != kNone && !alike(first[known[at]])) at = (at + 1) & (known.size() - 1);
    if (known[at] == kNone) {
      known[at] = static_cast<std::uint32_t>(first.size());
      first.push_back(i);
      size.push_back(0);
    }
    group[i] = known[at];
    ++size[group[i]];
  }
  groups.from.resize(first.size() + 1);
  std::partial_sum(size.begin(), size.end(), groups.from.begin() + 1);
  groups.place.resize(n);
  std::vector<std::uint32_t> next(groups.from.begin(), groups.from.end() - 1);
  for (std::uint32_t i = 0; i < n; ++i) groups.place[next[group[i]]++] = i;
  return groups;
}

double RegressionData::weight(std::uint32_t i, double unit) const {
  return problem.weight.empty() ? 1.0 : round_to(problem.weight[i], unit);
}

void RegressionData::make_points(const Rows& rows, const Groups& groups,
                                 double weight_unit) {
  const NumberProblem& p = problem;
  const double mean = weighted_mean(p, rows);
  double sizes = 0, spread = 0, largest = 0, weights = 0;
  for (std::uint32_t i : rows) {
    const double y = std::fabs(p.target[i] - mean), w = weight(i, weight_unit);
    weights += w;
    sizes += w * y;
    largest = std::max(largest, std::fabs(p.target[i]));
    spread += w * (p.absolute() ? y : y * y);
  }
  const double unit = grain(sizes), square_unit = grain(spread);
  // Targets that differ by rounding alone are alike.
  const double noise = 4e-16 * largest;
  tolerance = 1e-11 * spread + 4 * weights * (p.absolute() ? noise : noise * noise) + 1e-290;
  points = groups.size();
  point.resize(points);
  target.resize(points);
  for (std::size_t k = 0; k < points; ++k) {
    double sum = 0;
    for (std::uint32_t at : groups[k]) {
      const std::uint32_t i = rows[at];
      point[k].w += weight(i, weight_unit);
      sum += weight(i, weight_unit) * (p.target[i] - mean);
    }
    target[k] = point[k].w > 0 ? sum / point[k].w : 0;
    for (std::uint32_t at : groups[k]) {
      const double apart = p.target[rows[at]] - mean - target[k];
      if (!p.absolute()) offset += weight(rows[at], weight_unit) * apart * apart;
    }
    point[k].s = round_to(sum, unit);
    if (point[k].w > 0) target[k] = point[k].s / point[k].w;
    point[k].q = p.absolute() ? 0 : round_to(point[k].s * target[k], square_unit);
  }
}

// Half the deviance of a leaf is the sum of q less s log(s / w). In units in which the mean of all
// is 1, so that logarithms are small. Where a weight is a hazard, its target may be events by that
// hazard: rounded before they are multiplied, a tiny weight would change the events.
void RegressionData::make_counts(const Rows& rows, const Groups& groups) {
  const double found = weighted_mean(problem, rows), mean = found > 0 ? found : 1;
  points = groups.size();
  point.resize(points);
  target.resize(points);
  double weights = 0, counts = 0, sizes = 0, spread = 0, largest = 0;
  for (std::size_t k = 0; k < points; ++k) {
    for (std::uint32_t at : groups[k]) {
      const std::uint32_t i = rows[at];
      const double w = (problem.weight.empty() ? 1 : problem.weight[i]) * mean,
                   y = problem.target[i] / mean;
      point[k].w += w;
      point[k].s += w * y;
      point[k].q += y > 0 ? w * y * std::log(y) : 0;
    }
    weights += point[k].w;
    counts += point[k].s;
    sizes += std::fabs(point[k].q);
    spread += point[k].q;  // less that of one leaf, s log(s / w), which is 0 here
  }
  const double unit = grain(weights), count_unit = grain(counts), gain_unit = grain(sizes);
  for (std::size_t k = 0; k < points; ++k) {
    if (point[k].w > 0) point[k].w = std::max(unit, round_to(point[k].w, unit));
    point[k].s = round_to(point[k].s, count_unit);
    const double own = gain_of_ratio(point[k].s, point[k].w);
    offset += std::max(0.0, point[k].q - own);
    point[k].q = round_to(own, gain_unit);
    target[k] = point[k].w > 0 ? point[k].s / point[k].w : 0;
    largest = std::max(largest, target[k]);
  }
  // A leaf's loss changes with its weight by its output, at most the largest target.
  tolerance = 1e-11 * std::max(0.0, spread) + 4e-15 * (counts + sizes) + largest * unit + 1e-290;
}

// What sizes count. Where only leaves without rows are refused, or where rows weigh one each,
// weights say it as well.
void RegressionData::count(const Rows& rows, const Groups& groups) {
  const NumberRules& r = problem.rules;
  const bool asked = r.asks_sums();  // or else there may be one that nothing asks about
  const auto value = [&](std::uint32_t row) {
    return asked ? r.value[row * static_cast<std::size_t>(r.sums)] : Loss{-1};
  };
  // A count of rows, of a group maybe, or else some sum.
  const Loss most = asked ? -*std::min_element(r.value.begin(), r.value.end()) : 1;
  const bool rows_alone = !asked || std::all_of(r.value.begin(), r.value.end(), [&](Loss v) {
    return v == 0 || v == -most;
  });
  const Loss unit = rows_alone ? std::max<Loss>(1, most) : 1;
  double lightest = 0;
  bool alike = true;
  for (std::size_t k = 0; k < points; ++k) {
    for (std::uint32_t at : groups[k])
      point[k].n -= static_cast<double>(value(rows[at])) / static_cast<double>(unit);
    lightest = k == 0 ? point[k].w : std::min(lightest, point[k].w);
    alike = alike && point[k].n == point[k].w;
  }
  const auto least = [&](const std::vector<RowConditions>& conditions) {
    double most = 0;
    for (const RowConditions& one : conditions)
      most = std::max(most, static_cast<double>((unit - 1 - one[0].at_most) / unit) - 0.5);
    return most;
  };
  leaf_least = std::max({leaf_least, problem.leaf_rows - 0.5, least(r.leaf_conditions)});
  split_least = least(r.split_conditions);
  weighed = alike || (!problem.sized() && lightest > 0);
  leaf_weight = alike ? leaf_least : lightest / 2;
}

RegressionData::RegressionData(const NumberProblem& p) : problem(p) {
  Rows rows;
  double weights = p.weight.empty() ? static_cast<double>(p.base.rows) : 0;
  for (double w : p.weight) weights += w;
  const double weight_unit = grain(weights);
  for (std::uint32_t i = 0; i < p.base.rows; ++i)
    if (p.rules.any_strict() || weight(i, weight_unit) > 0) rows.push_back(i);
  std::vector<Rows> below;
  for (std::size_t f = 0; f < p.base.features; ++f) {
    below.push_back(p.base.cuts_below(f));
    bound.emplace_back();
    for (std::uint32_t r = 1; r < below[f].size(); ++r)
      if (below[f][r] > below[f][r - 1]) bound[f].push_back(r);
  }
  const Groups groups = merge(rows, below);

  if (p.poisson())
    make_counts(rows, groups);
  else
    make_points(rows, groups, weight_unit);
  count(rows, groups);
  row.resize(points);
  for (std::size_t k = 0; k < points; ++k) row[k] = rows[*groups[k].begin()];
  make_cells(below);
  feature.resize(cell.size());
  std::iota(feature.begin(), feature.end(), 0u);
  make_tests();
  hash = row_hashes(points);
}

}  // namespace odt
