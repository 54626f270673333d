#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>

#include "odt/outputs_leaf.hpp"

namespace odt {
namespace {

// Counts and sums over the ordered values of one target: the least sum of absolute differences of
// what was added.
class Middle {
 public:
  void reset(const std::vector<double>& values) {
    values_ = values;
    count_.assign(values.size() + 1, 0.0);
    sum_.assign(values.size() + 1, 0.0);
    all_ = total_ = 0;
    top_ = 1;
    while (top_ * 2 <= values.size()) top_ *= 2;
  }
  void add(std::size_t place, double w) {
    all_ += w;
    total_ += w * values_[place];
    for (std::size_t i = place + 1; i <= values_.size(); i += i & (~i + 1)) {
      count_[i] += w;
      sum_[i] += w * values_[place];
    }
  }
  double lost() const {
    if (!(all_ > 0)) return 0;
    double half = all_ / 2, below = 0, sum = 0;
    std::size_t at = 0;
    for (std::size_t step = top_; step > 0; step /= 2)
      if (at + step <= values_.size() && below + count_[at + step] < half) {
        at += step;
        below += count_[at];
        sum += sum_[at];
      }
    const double middle = values_[std::min(at, values_.size() - 1)];
    return std::max(0.0, (2 * below - all_) * middle + total_ - 2 * sum);
  }

 private:
  std::vector<double> values_, count_, sum_;
  double all_ = 0, total_ = 0;
  std::size_t top_ = 1;
};

struct Candidate {
  double bound = 0, free_left = 0, free_right = 0;
  std::uint32_t feature = 0,
                end = 0;  // the left side ends before this place in the feature's order
  bool before(const Candidate& o) const {
    return feature != o.feature ? feature < o.feature : end < o.end;
  }
};

struct Open {
  std::size_t node = 0, begin = 0, end = 0;
  int level = 0;
  double gain = 0;
  Candidate split;
  bool operator<(const Open& o) const { return gain != o.gain ? gain < o.gain : node > o.node; }
};

class Grower {
 public:
  Grower(const NumberProblem& p, const OutputGrowth& g)
      : p_(p), g_(g), leaf_(p, g.split, g.split_price), filler_(p, g.leaf, g.leaf_price) {}
  GrownOutputs run();

 private:
  void sort();
  bool best(Open& open);
  void scan(std::size_t feature, const Open& open, std::vector<Candidate>& found);
  void scan_middles(std::size_t feature, const Open& open, std::vector<Candidate>& found);
  bool admitted(std::size_t feature, std::uint32_t below, std::uint32_t above) const;
  bool enough(const std::vector<std::int64_t>& left, const std::vector<std::int64_t>& all) const;
  void bounded_of(const Open& open, std::vector<std::int64_t>& all) const;
  double value_of(const Candidate& c, const Open& open, double limit);
  void gather(std::size_t feature, std::size_t begin, std::size_t end,
              std::vector<std::uint32_t>& rows) const;
  void part(const Open& open);
  void finish(std::size_t node, std::size_t begin, std::size_t end);
  const std::uint32_t* order(std::size_t f) const { return order_.data() + f * p_.base.rows; }

  const NumberProblem& p_;
  const OutputGrowth& g_;
  OutputLeaf leaf_, filler_;
  GrownOutputs out_;
  std::vector<std::uint32_t> order_;                // [feature][place]
  std::vector<std::vector<std::uint32_t>> counts_;  // per feature: allowed cuts below a rank
  OutputSums all_, left_, right_;
  std::vector<std::vector<std::uint32_t>>
      places_;  // absolute error: of a row's value among the node's
  std::vector<std::vector<double>> values_;
  std::vector<Middle> middles_;
  std::vector<std::uint32_t> side_[2];
  std::vector<double> output_;
};

void Grower::sort() {
  const Problem& b = p_.base;
  order_.resize(b.features * b.rows);
  counts_.resize(b.features);
  for (std::size_t f = 0; f < b.features; ++f) {
    std::uint32_t* order = order_.data() + f * b.rows;
    std::iota(order, order + b.rows, 0u);
    const std::uint32_t* rank = b.ranks(f);
    std::stable_sort(order, order + b.rows,
                     [&](std::uint32_t x, std::uint32_t y) { return rank[x] < rank[y]; });
    counts_[f] = b.cuts_below(f);
  }
}

bool Grower::admitted(std::size_t f, std::uint32_t below, std::uint32_t above) const {
  return counts_[f][above] > counts_[f][below];
}

bool Grower::enough(const std::vector<std::int64_t>& left,
                    const std::vector<std::int64_t>& all) const {
  for (std::size_t k = 0; k < p_.minima.size(); ++k)
    if (left[k] < p_.minima[k] || all[k] - left[k] < p_.minima[k]) return false;
  return true;
}

void Grower::bounded_of(const Open& open, std::vector<std::int64_t>& all) const {
  const std::size_t k = p_.minima.size();
  all.assign(k, 0);
  for (std::size_t i = open.begin; i < open.end; ++i)
    for (std::size_t j = 0; j < k; ++j) all[j] += p_.bounded[order(0)[i] * k + j];
}

void Grower::scan(std::size_t f, const Open& open, std::vector<Candidate>& found) {
  const std::uint32_t* rows = order(f);
  const std::uint32_t* rank = p_.base.ranks(f);
  if (rank[rows[open.begin]] == rank[rows[open.end - 1]]) return;
  const std::size_t k = p_.minima.size();
  std::vector<std::int64_t> bounded(k, 0), all;
  if (k > 0) bounded_of(open, all);
  leaf_.clear(left_);
  const bool skip = leaf_.exact_free() || !leaf_.bounded_below();
  for (std::size_t i = open.begin; i + 1 < open.end; ++i) {
    leaf_.add(left_, rows[i]);
    for (std::size_t j = 0; j < k; ++j) bounded[j] += p_.bounded[rows[i] * k + j];
    const std::uint32_t below = rank[rows[i]], above = rank[rows[i + 1]];
    if (below == above || !admitted(f, below, above) || !enough(bounded, all)) continue;
    leaf_.rest(all_, left_, right_);
    Candidate c;
    c.feature = static_cast<std::uint32_t>(f);
    c.end = static_cast<std::uint32_t>(i + 1);
    c.free_left = leaf_.free(left_);
    c.free_right = leaf_.free(right_);
    c.bound = c.free_left + c.free_right;
    if (!skip) c.bound += leaf_.beyond(left_) + leaf_.beyond(right_);
    found.push_back(c);
  }
}

void Grower::scan_middles(std::size_t f, const Open& open, std::vector<Candidate>& found) {
  const std::uint32_t* rows = order(f);
  const std::uint32_t* rank = p_.base.ranks(f);
  if (rank[rows[open.begin]] == rank[rows[open.end - 1]]) return;
  const std::size_t n = p_.targets(), k = p_.minima.size(), count = open.end - open.begin;
  std::vector<double> free(count, 0.0);
  std::vector<std::int64_t> bounded(k, 0), all;
  if (k > 0) bounded_of(open, all);
  for (std::size_t t = 0; t < n; ++t) middles_[t].reset(values_[t]);
  for (std::size_t i = count; i-- > 1;) {
    for (std::size_t t = 0; t < n; ++t) {
      middles_[t].add(places_[t][rows[open.begin + i]], p_.weight_of(rows[open.begin + i]));
      free[i] += p_.factor[t] * middles_[t].lost();
    }
  }
  for (std::size_t t = 0; t < n; ++t) middles_[t].reset(values_[t]);
  for (std::size_t i = 0; i + 1 < count; ++i) {
    const std::uint32_t row = rows[open.begin + i];
    for (std::size_t t = 0; t < n; ++t) middles_[t].add(places_[t][row], p_.weight_of(row));
    for (std::size_t j = 0; j < k; ++j) bounded[j] += p_.bounded[row * k + j];
    const std::uint32_t below = rank[row], above = rank[rows[open.begin + i + 1]];
    if (below == above || !admitted(f, below, above) || !enough(bounded, all)) continue;
    Candidate c;
    c.feature = static_cast<std::uint32_t>(f);
    c.end = static_cast<std::uint32_t>(open.begin + i + 1);
    for (std::size_t t = 0; t < n; ++t) c.free_left += p_.factor[t] * middles_[t].lost();
    c.free_right = free[i + 1];
    c.bound = c.free_left + c.free_right;
    found.push_back(c);
  }
}

void Grower::gather(std::size_t f, std::size_t begin, std::size_t end,
                    std::vector<std::uint32_t>& rows) const {
  rows.assign(order(f) + begin, order(f) + end);
}

double Grower::value_of(const Candidate& c, const Open& open, double limit) {
  gather(c.feature, open.begin, c.end, side_[0]);
  leaf_.clear(left_);
  for (std::uint32_t i : side_[0]) leaf_.add(left_, i);
  leaf_.rest(all_, left_, right_);
  if (leaf_.needs_rows()) gather(c.feature, c.end, open.end, side_[1]);
  // The greater share first: it may end the question.
  const double left = leaf_.fill(side_[0], left_, c.free_left, limit - c.free_right, output_);
  if (!(left < kUnbounded)) return kUnbounded;
  return left + leaf_.fill(side_[1], right_, c.free_right, limit - left, output_);
}

// The split of least loss; of equals the first feature, then the lowest cut.
bool Grower::best(Open& open) {
  if (open.level >= p_.base.depth || open.end - open.begin < 2) return false;
  if (g_.interrupted && g_.interrupted()) return false;
  leaf_.clear(all_);
  for (std::size_t i = open.begin; i < open.end; ++i) leaf_.add(all_, order(0)[i]);
  std::vector<Candidate> found;
  if (leaf_.by_sums()) {
    leaf_.know(all_);
    for (std::size_t f = 0; f < p_.base.features; ++f) scan(f, open, found);
  } else {
    const std::size_t n = p_.targets();
    places_.assign(n, std::vector<std::uint32_t>(p_.base.rows));
    values_.assign(n, {});
    middles_.resize(n);
    for (std::size_t t = 0; t < n; ++t) {
      for (std::size_t i = open.begin; i < open.end; ++i)
        values_[t].push_back(p_.target[order(0)[i] * n + t]);
      std::sort(values_[t].begin(), values_[t].end());
      values_[t].erase(std::unique(values_[t].begin(), values_[t].end()), values_[t].end());
      for (std::size_t i = open.begin; i < open.end; ++i) {
        const std::uint32_t row = order(0)[i];
        places_[t][row] = static_cast<std::uint32_t>(
            std::lower_bound(values_[t].begin(), values_[t].end(), p_.target[row * n + t]) -
            values_[t].begin());
      }
    }
    for (std::size_t f = 0; f < p_.base.features; ++f) scan_middles(f, open, found);
  }
  out_.candidates += found.size();
  if (found.empty()) return false;
  const double slack = 1e-12 * (leaf_.by_sums() ? std::fabs(all_.q) : found[0].bound) + 1e-300;
  double least = kUnbounded;
  if (leaf_.exact_free()) {
    for (const Candidate& c : found)
      if (c.bound < least - slack) {
        least = c.bound;
        open.split = c;
      }
  } else {
    std::sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
      return a.bound != b.bound ? a.bound < b.bound : a.before(b);
    });
    for (const Candidate& c : found) {
      if (c.bound > least + slack) break;
      const double value = value_of(c, open, least == kUnbounded ? kUnbounded : least + 2 * slack);
      ++out_.evaluated;
      if (value < least - slack || (value < least + slack && c.before(open.split))) {
        least = std::min(value, least);
        open.split = c;
      }
    }
  }
  if (least == kUnbounded) return false;
  if (p_.base.leaves > 0) {
    std::vector<std::uint32_t> rows(order(0) + open.begin, order(0) + open.end);
    std::vector<double> scratch;
    double free = 0;
    if (leaf_.by_sums()) free = leaf_.free(all_);
    open.gain = leaf_.fill(rows, all_, free, kUnbounded, scratch) - least;
  }
  return true;
}

// Stable parts of every order: rows of the left side come first.
void Grower::part(const Open& open) {
  const Problem& b = p_.base;
  std::vector<char> left(b.rows, 0);
  for (std::size_t i = open.begin; i < open.split.end; ++i) left[order(open.split.feature)[i]] = 1;
  std::vector<std::uint32_t> right;
  for (std::size_t f = 0; f < b.features; ++f) {
    std::uint32_t* rows = order_.data() + f * b.rows;
    right.clear();
    std::size_t at = open.begin;
    for (std::size_t i = open.begin; i < open.end; ++i) {
      if (left[rows[i]])
        rows[at++] = rows[i];
      else
        right.push_back(rows[i]);
    }
    std::copy(right.begin(), right.end(), rows + at);
  }
}

void Grower::finish(std::size_t node, std::size_t begin, std::size_t end) {
  std::vector<std::uint32_t> rows(order(0) + begin, order(0) + end);
  std::sort(rows.begin(), rows.end());
  OutputSums sums;
  filler_.clear(sums);
  for (std::uint32_t i : rows) filler_.add(sums, i);
  std::vector<double> output(p_.targets());
  const double free = filler_.by_sums() ? filler_.free(sums) : 0;
  out_.value += filler_.fill(rows, sums, free, kUnbounded, output);
  std::copy(output.begin(), output.end(),
            out_.output.begin() + static_cast<std::ptrdiff_t>(node * p_.targets()));
}

GrownOutputs Grower::run() {
  const Problem& b = p_.base;
  sort();
  struct Segment {
    std::size_t begin, end;
  };
  std::vector<Segment> segments;
  std::priority_queue<Open> open;
  const auto add = [&](std::size_t begin, std::size_t end, int level) {
    Open one;
    one.node = out_.tree.nodes.size();
    one.begin = begin;
    one.end = end;
    one.level = level;
    out_.tree.nodes.emplace_back();
    segments.push_back({begin, end});
    if (best(one)) open.push(one);
    return one.node;
  };
  add(0, b.rows, 0);
  int leaves = 1;
  while (!open.empty() && (b.leaves <= 0 || leaves < b.leaves)) {
    const Open one = open.top();
    open.pop();
    const std::uint32_t* rows = order(one.split.feature);
    const std::uint32_t* rank = b.ranks(one.split.feature);
    const std::uint32_t below = rank[rows[one.split.end - 1]], above = rank[rows[one.split.end]];
    // Where rules leave only some of the cuts between two ranks, one that they leave.
    std::uint32_t cut = below;
    const auto& counts = counts_[one.split.feature];
    while (cut + 1 < above && counts[cut + 1] == counts[cut]) ++cut;
    part(one);
    const std::size_t left = add(one.begin, one.split.end, one.level + 1),
                      right = add(one.split.end, one.end, one.level + 1);
    TreeNode& node = out_.tree.nodes[one.node];
    node.feature = static_cast<int>(one.split.feature);
    node.cut = cut;
    node.next = above;
    node.left = static_cast<int>(left);
    node.right = static_cast<int>(right);
    ++leaves;
  }
  out_.output.assign(out_.tree.nodes.size() * p_.targets(), 0.0);
  for (std::size_t k = 0; k < out_.tree.nodes.size(); ++k)
    if (out_.tree.nodes[k].feature < 0) finish(k, segments[k].begin, segments[k].end);
  out_.relaxations = leaf_.relaxations() + filler_.relaxations();
  return std::move(out_);
}

}  // namespace

GrownOutputs grow_outputs(const NumberProblem& problem, const OutputGrowth& growth) {
  return Grower(problem, growth).run();
}

}  // namespace odt
