// The purest cuts of a view: what trees are grown by.
#include <algorithm>

#include "odt/anytime.hpp"

namespace odt {

// The purest cut of a feature in each of some segments of its rows: for gini the sum over both
// sides of squared counts over rows, for entropy that of count log count less rows log rows.
void Anytime::scan_cuts(View& view, const Place& at, std::size_t f, Impurity impurity,
                        std::size_t segments, std::vector<Cut>& found) {
  constexpr std::size_t kMostRows = std::size_t{1} << 26;  // whose squares doubles hold exactly
  const std::size_t first = found.size();
  for (std::size_t s = 0; s < segments; ++s) found.push_back({-1e300, f, 0});
  if (impurity == Impurity::gini && data_.loss.kind == LossKind::two_class &&
      view.rows() <= kMostRows)
    scan_classes(view, at, segments, &found[first]);
  else
    scan_sums(view, at, impurity, segments, &found[first]);
  for (std::size_t s = 0, k = first; s < segments; ++s) {
    if (found[k].bound == 0)
      found.erase(found.begin() + static_cast<long>(k));
    else
      ++k;
  }
}

void Anytime::scan_sums(View& view, const Place& at, Impurity impurity, std::size_t segments,
                        Cut* best) const {
  const std::size_t f = best->feature;
  const std::size_t rows = view.rows(), labels = static_cast<std::size_t>(data_.loss.labels);
  const std::uint32_t* order = view.order(f);
  const Ranks sorted = view.sorted(f);
  const std::uint64_t* ends = view.ends(f);
  const bool gini = impurity == Impurity::gini, unit = weight_of_.empty();
  std::vector<double> low(labels, 0), high(labels, 0);
  double low_all = 0, high_all = 0, low_sum = 0, high_sum = 0;
  for (std::size_t i = 0; i < rows; ++i)
    high[class_of_[order[i]]] += unit ? 1.0 : weight_of_[order[i]];
  for (double h : high) {
    high_all += h;
    high_sum += gini ? h * h : xlogx(h);
  }
  const std::size_t least = static_cast<std::size_t>(least_), stop = view.words_to_cut(f) * kBlock;
  std::size_t segment = 0, segment_end = rows / segments;
  for (std::size_t i = 0; i + least < rows && i < stop; ++i) {
    const std::size_t c = class_of_[order[i]];
    const double w = unit ? 1.0 : weight_of_[order[i]];
    if (gini) {
      low_sum += w * (2 * low[c] + w);
      high_sum -= w * (2 * high[c] - w);
    } else {
      low_sum += xlogx(low[c] + w) - xlogx(low[c]);
      high_sum += xlogx(high[c] - w) - xlogx(high[c]);
    }
    low[c] += w;
    high[c] -= w;
    low_all += w;
    high_all -= w;
    if (!(ends[i / kBlock] >> (i % kBlock) & 1) || i + 1 < least) continue;
    while (i >= segment_end && segment + 1 < segments)
      segment_end = ++segment + 1 == segments ? rows : rows * (segment + 1) / segments;
    const double score =
        gini ? (low_all > 0 ? low_sum / low_all : 0) + (high_all > 0 ? high_sum / high_all : 0)
             : low_sum - xlogx(low_all) + high_sum - xlogx(high_all);
    Cut& known = best[segment];
    if (score > known.score && may_cut(at, f, sorted[i], sorted[i + 1])) {
      known.score = score;
      known.bound = static_cast<std::uint32_t>(sorted[i]) + 1;
    }
  }
}

// The same by gini, of two classes whose rows count one each: all sums are whole numbers. The score
// is convex in the number of rows of one class that go left, so that a cut between two single rows
// of the same class is worse than one at an end of their run, and is passed over.
void Anytime::scan_classes(View& view, const Place& at, std::size_t segments, Cut* best) const {
  const std::size_t f = best->feature;
  const Ranks sorted = view.sorted(f);
  const std::uint64_t *ones = view.classes(f), *ends = view.ends(f);
  const std::size_t rows = view.rows(), least = static_cast<std::size_t>(least_);
  const std::size_t words = view.words_to_cut(f);
  const auto start_of = [&](std::size_t segment) { return rows * segment / segments; };
  // The first and the last cut of a segment, and of those that leave enough rows, stay.
  const auto outermost = [&](std::size_t w) {
    std::uint64_t bits = 0;
    const auto add = [&](std::size_t i) { bits |= std::uint64_t{i / kBlock == w} << (i % kBlock); };
    for (std::size_t s = 1; s < segments; ++s) add(start_of(s) - 1), add(start_of(s));
    if (least > 1 && least < rows) add(least - 1), add(rows - least - 1);
    return bits;
  };
  const auto worth = [&](std::size_t w) {
    if (!plain()) return ends[w];
    const std::uint64_t next_end = w + 1 < view.words() ? ends[w + 1] : 0,
                        next_one = w + 1 < view.words() ? ones[w + 1] : 0;
    const std::uint64_t before = ends[w] << 1 | (w > 0 ? ends[w - 1] >> 63 : 1),
                        after = ends[w] >> 1 | next_end << 63,
                        differ = ones[w] ^ (ones[w] >> 1 | next_one << 63);
    return ends[w] & (~(before & after) | differ | outermost(w));
  };
  std::int64_t all = 0, below = 0;  // of class one
  for (std::size_t w = 0; w < view.words(); ++w) all += popcount(ones[w] & valid_bits(rows, w));
  const auto purity = [](std::int64_t count, std::int64_t one) {
    const std::int64_t other = count - one;
    return static_cast<double>(one * one + other * other) / static_cast<double>(count);
  };
  std::size_t segment = 0, segment_end = start_of(1);
  for (std::size_t w = 0; w < words; ++w) {
    std::uint64_t counted = 0;
    for (std::uint64_t open = worth(w); open; open &= open - 1) {
      const std::uint64_t upto = open ^ (open - 1);  // the bits up to the next end
      below += popcount(ones[w] & upto & ~counted);
      counted = upto;
      const std::size_t i = w * kBlock + static_cast<std::size_t>(__builtin_ctzll(open));
      if (i + least >= rows) return;
      if (i + 1 < least) continue;
      while (i >= segment_end && segment + 1 < segments) segment_end = start_of(++segment + 1);
      const std::int64_t low = static_cast<std::int64_t>(i) + 1;
      const double score =
          purity(low, below) + purity(static_cast<std::int64_t>(rows) - low, all - below);
      Cut& known = best[segment];
      if (score > known.score && may_cut(at, f, sorted[i], sorted[i + 1])) {
        known.score = score;
        known.bound = static_cast<std::uint32_t>(sorted[i]) + 1;
      }
    }
    below += popcount(ones[w] & ~counted);
  }
}

std::vector<Anytime::Cut> Anytime::cuts(View& view, const Place& at, Impurity impurity,
                                        std::size_t segments) {
  if (impurity == Impurity::entropy && weight_of_.empty() && xlogx_.empty()) {
    xlogx_.resize(p_.rows + 1);
    for (std::size_t i = 1; i <= p_.rows; ++i)
      xlogx_[i] = static_cast<double>(i) * std::log(static_cast<double>(i));
  }
  std::vector<Cut> found;
  found.reserve(segments * p_.features);
  for (std::size_t f = 0; f < p_.features; ++f)
    if (view.splittable(f) && open(at, f)) scan_cuts(view, at, f, impurity, segments, found);
  control_.poll(view.rows() * p_.features / 8 + 1);
  std::stable_sort(found.begin(), found.end(),
                   [](const Cut& a, const Cut& b) { return a.score > b.score; });
  return found;
}

}  // namespace odt
