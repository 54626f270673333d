#include "odt/bit_view.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>

#include "odt/equal_rows.hpp"

namespace odt {
namespace {

std::size_t round_up(std::size_t n) { return std::max<std::size_t>(32, (n + 31) / 32 * 32); }

bool cut_allowed(const Problem& p, std::size_t f, std::uint32_t rank) {
  return f >= p.allowed.size() || p.allowed[f].empty() || p.allowed[f][rank];
}

}  // namespace

TestCount BitProblem::count_tests(const Problem& p) {
  TestCount count;
  for (std::size_t f = 0; f < p.features; ++f) {
    const std::size_t before = count.tests;
    if (f >= p.allowed.size() || p.allowed[f].empty())
      count.tests += std::max(p.distinct[f], 1u) - 1;
    else
      for (std::uint32_t r = 0; r + 1 < p.distinct[f]; ++r) count.tests += p.allowed[f][r] != 0;
    count.features += count.tests > before;
    count.most = std::max(count.most, count.tests - before);
  }
  return count;
}

BitProblem::BitProblem(const Problem& p, const LossModel& loss, const Kernels& k)
    : problem(p), kernels(k), offset(loss.offset) {
  make_groups(loss);
  make_loads(loss);
  make_tolls();
  make_tests();
  make_hopeless();
}

// Groups by weight, or by binary digits of weights, whichever takes fewer words.
void BitProblem::add_groups(int label, const std::map<Loss, Rows>& by_weight) {
  constexpr std::size_t kMostRows = 32767;  // of a group
  const auto words = [](const std::map<Loss, Rows>& of) {
    return std::accumulate(
        of.begin(), of.end(), std::size_t{0},
        [](std::size_t sum, const auto& g) { return sum + (g.second.size() + 15) / 16; });
  };
  std::map<Loss, Rows> by_digit;
  for (const auto& [units, rows] : by_weight)
    for (Loss digit = 1, rest = units; rest > 0; digit *= 2, rest /= 2)
      if (rest % 2) by_digit[digit].insert(by_digit[digit].end(), rows.begin(), rows.end());
  for (const auto& [units, rows] : words(by_digit) < words(by_weight) ? by_digit : by_weight)
    for (std::size_t i = 0; i < rows.size(); i += kMostRows) {
      groups.push_back({label, units});
      weight.push_back(units);
      group_at.push_back(static_cast<std::uint32_t>(order.size()));
      order.insert(
          order.end(), rows.begin() + static_cast<std::ptrdiff_t>(i),
          rows.begin() + static_cast<std::ptrdiff_t>(std::min(rows.size(), i + kMostRows)));
    }
}

void BitProblem::make_groups(const LossModel& loss) {
  const std::size_t classes = static_cast<std::size_t>(std::max(1, problem.classes));
  shared = !loss.has_right();
  each = 0;
  for (std::size_t i = 0; i < problem.rows; ++i)
    for (std::size_t c = 0; c < classes; ++c) each = std::gcd(each, loss.gain(problem, i, c));
  each = std::max<Loss>(each, 1);
  std::vector<std::map<Loss, Rows>> by_weight(classes);
  std::map<Loss, Rows> by_size;
  for (std::size_t i = 0; i < problem.rows; ++i) {
    const Loss most = loss.most(i) / each;
    total += most;
    if (most > 0) by_size[most].push_back(static_cast<std::uint32_t>(i));
    for (std::size_t c = 0; c < classes; ++c)
      if (const Loss gain = loss.gain(problem, i, c) / each; gain > 0)
        by_weight[c][gain].push_back(static_cast<std::uint32_t>(i));
  }
  class_start.assign(1, 0);
  for (std::size_t c = 0; c < classes; ++c) {
    add_groups(static_cast<int>(c), by_weight[c]);
    class_start.push_back(static_cast<std::int32_t>(groups.size()));
  }
  size_groups[0] = static_cast<std::int32_t>(groups.size());
  if (shared) add_groups(-1, by_size);
  size_groups[1] = static_cast<std::int32_t>(groups.size());
}

// Where rows weigh for costs as for losses, or in a ratio to that, no groups are needed for it.
void BitProblem::make_loads(const LossModel& loss) {
  paid = !problem.paths.weight.empty();
  load_groups[0] = static_cast<std::int32_t>(groups.size());
  if (paid) {
    const std::vector<Loss>& weights = problem.paths.weight;
    load_each_ = 0;
    for (Loss w : weights) load_each_ = std::gcd(load_each_, w);
    load_each_ = std::max<Loss>(load_each_, 1);
    std::map<Loss, Rows> by_weight;
    along = -1;
    for (std::size_t i = 0; i < problem.rows; ++i) {
      const Loss gain = loss.most(i) / each, units = weights[i] / load_each_;
      load += units;
      if (units > 0) by_weight[units].push_back(static_cast<std::uint32_t>(i));
      if (gain > 0 && along < 0) along = units / gain;
      apart = apart || units != std::max<Loss>(0, along) * gain;
    }
    along = std::max<Loss>(0, along);
    if (apart) add_groups(-2, by_weight);
  }
  load_groups[1] = every_group[1] = static_cast<std::int32_t>(groups.size());
  group_at.push_back(static_cast<std::uint32_t>(order.size()));
  member_words = words_of(order.size());
}

void BitProblem::make_tolls() {
  if (!paid) return;
  const PathCosts& paths = problem.paths;
  Loss most_rate = 0, most_fixed = 0;
  const std::size_t first = static_cast<std::size_t>(problem.column[0]);
  for (std::size_t f = 0; f < problem.features; ++f) {
    const std::size_t c = static_cast<std::size_t>(problem.column[f]);
    even = even && paths.fixed[c] == paths.fixed[first];
    most_fixed = std::max(most_fixed, paths.fixed[c]);
    for (std::size_t at = c; at < paths.rate.size();
         at += static_cast<std::size_t>(problem.columns)) {
      even = even && paths.rate[at] == paths.rate[first];
      most_rate = std::max(most_rate, paths.rate[at]);
    }
  }
  const double sum = static_cast<double>(each) * static_cast<double>(total) +
                     static_cast<double>(most_fixed) +
                     static_cast<double>(most_rate * load_each_) * static_cast<double>(load);
  dearest_ = sum < 4e18 ? static_cast<Loss>(sum) + 1 : kInfinite;
}

// Features, the cheapest first where one that parts the rows alike is as good as a dearer one
// everywhere; `alike`: it is.
std::vector<std::size_t> BitProblem::cheapest_first(bool& alike) const {
  std::vector<std::size_t> order_of(problem.features);
  std::iota(order_of.begin(), order_of.end(), std::size_t{0});
  alike = even;
  if (even || !problem.next.empty()) return order_of;
  const auto column_of = [&](std::size_t f) { return static_cast<std::size_t>(problem.column[f]); };
  const auto& fixed_costs = problem.paths.fixed;
  alike = std::all_of(order_of.begin(), order_of.end(), [&](std::size_t f) {
    return fixed_costs[column_of(f)] == fixed_costs[column_of(0)];
  });
  if (alike)
    std::stable_sort(order_of.begin(), order_of.end(), [&](std::size_t f, std::size_t g) {
      return problem.paths.rate[column_of(f)] < problem.paths.rate[column_of(g)];
    });
  return order_of;
}

void BitProblem::make_tests() {
  const Problem& p = problem;
  std::map<std::pair<int, std::vector<std::uint64_t>>, std::size_t>
      seen;  // a test that costs more elsewhere is no repeat
  bool alike = true;
  for (std::size_t f : cheapest_first(alike))
    for (std::uint32_t r = 0; r + 1 < p.distinct[f]; ++r) {
      if (!cut_allowed(p, f, r)) continue;
      std::vector<std::uint64_t> column(member_words, 0);
      for (std::size_t i = 0; i < order.size(); ++i)
        if (p.ranks(f)[order[i]] <= r) column[i / 64] |= 1ULL << (i % 64);
      std::vector<std::uint64_t> other(member_words);
      for (std::size_t w = 0; w < member_words; ++w)
        other[w] = ~column[w] & valid_bits(order.size(), w);
      const bool trivial =
          std::all_of(column.begin(), column.end(), [](auto w) { return w == 0; }) ||
          std::all_of(other.begin(), other.end(), [](auto w) { return w == 0; });
      const int kind = alike ? 0 : p.column[f];
      if (trivial) continue;
      const int feature = static_cast<int>(f);
      const auto same = seen.find({kind, column}), exchanged = seen.find({kind, other});
      if (same != seen.end()) {
        twins[same->second].push_back({feature, r + 1, false});
      } else if (exchanged != seen.end()) {
        twins[exchanged->second].push_back({feature, r + 1, true});
      } else {
        seen.emplace(std::make_pair(kind, column), tests.size());
        passes.push_back(column);
        tests.push_back({feature, r + 1});
        twins.push_back({{feature, r + 1, false}});
      }
    }
}

void BitProblem::make_hopeless() {
  const EqualRows equal(problem);
  std::vector<std::uint32_t> set_of(problem.rows);
  for (std::size_t s = 0; s < equal.groups(); ++s)
    for (std::uint32_t i = equal.start[s]; i < equal.start[s + 1]; ++i)
      set_of[equal.row[i]] = static_cast<std::uint32_t>(s);
  const std::size_t classes = class_start.size() - 1;
  std::vector<Loss> sum(equal.groups() * classes, 0), size(equal.groups(), 0);
  std::vector<std::size_t> place(equal.groups(),
                                 order.size());  // where one of them stands: all do, or none
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (std::size_t at = group_at[g]; groups[g].label >= -1 && at < group_at[g + 1]; ++at) {
      const std::size_t set = set_of[order[at]];
      place[set] = std::min(place[set], at);
      if (groups[g].label >= 0)
        sum[set * classes + static_cast<std::size_t>(groups[g].label)] += groups[g].weight;
      if ((groups[g].label < 0) == shared) size[set] += groups[g].weight;
    }
  for (std::size_t set = 0; set < equal.groups(); ++set) {
    const auto first = sum.begin() + static_cast<std::ptrdiff_t>(set * classes);
    const Loss lost =
        size[set] - *std::max_element(first, first + static_cast<std::ptrdiff_t>(classes));
    if (lost == 0) continue;
    auto found = std::find_if(hopeless_.begin(), hopeless_.end(),
                              [&](const Hopeless& h) { return h.weight == lost; });
    if (found == hopeless_.end())
      found = hopeless_.insert(found, {lost, std::vector<std::uint64_t>(member_words, 0)});
    found->rows[place[set] / 64] |= 1ULL << (place[set] % 64);
  }
}

std::size_t count_of(const std::vector<std::uint64_t>& members) {
  std::size_t count = 0;
  for (std::uint64_t w : members) count += static_cast<std::size_t>(popcount(w));
  return count;
}

std::uint64_t hash_of(const std::vector<std::uint64_t>& members) {
  std::uint64_t hash = 0;
  for (std::uint64_t w : members) {
    hash = (hash + w) * 0xd6e8feb86659fd93ULL;
    hash ^= hash >> 32;
  }
  return blind_hashes ? 0 : hash;
}

bool BitProblem::same_rows(const RowPath& path, const std::vector<std::uint64_t>& members,
                           const RowPath& own) const {
  return path.leads_to(own.rows, own, [&](const RowStep& step) {
    const std::vector<std::uint64_t>& pass = passes[step.column];
    for (std::size_t w = 0; w < members.size(); ++w)
      if (members[w] & (step.beyond ? pass[w] : ~pass[w])) return false;
    return true;
  });
}

Loss BitProblem::hopeless(const std::vector<std::uint64_t>& members) const {
  Loss sum = 0;
  for (const Hopeless& part : hopeless_) {
    Loss count = 0;
    for (std::size_t w = 0; w < members.size(); ++w)
      count += __builtin_popcountll(members[w] & part.rows[w]);
    sum += part.weight * count;
  }
  return sum;
}

void BitView::make_root(const BitProblem& problem) {
  problem_ = &problem;
  state = 0;
  const std::size_t rows = problem.order.size(), groups = problem.groups.size();
  members.assign(problem.member_words, 0);
  for (std::size_t w = 0; w < members.size(); ++w) members[w] = valid_bits(rows, w);
  ids.resize(problem.tests.size());
  for (std::size_t t = 0; t < ids.size(); ++t) ids[t] = static_cast<int>(t);
  group_rows.resize(groups);
  group_start.assign(groups + 1, 0);
  for (std::size_t g = 0; g < groups; ++g) {
    group_rows[g] = static_cast<std::int32_t>(problem.group_at[g + 1] - problem.group_at[g]);
    group_start[g + 1] = group_start[g] + (group_rows[g] + 15) / 16;
  }
  weigh();
  stride = round_up(ids.size());
  bits.reserve((words() + 1) * stride);
  std::memset(bits.data(), 0, (words() + 1) * stride * sizeof(std::uint16_t));
  std::size_t position = 0;
  for (std::size_t g = 0; g < groups; ++g)
    for (std::int32_t i = 0; i < group_rows[g]; ++i, ++position) {
      const std::size_t word = static_cast<std::size_t>(group_start[g] + i / 16);
      for (std::size_t t = 0; t < ids.size(); ++t)
        if (problem.passes[t][position / 64] >> (position % 64) & 1)
          bits[word * stride + t] =
              static_cast<std::uint16_t>(bits[word * stride + t] | 1u << (i % 16));
    }
}

void BitView::weigh() {
  totals.assign(problem_->class_start.size() - 1, 0);
  weight = load = 0;
  for (std::size_t g = 0; g < groups(); ++g) {
    const Loss sum = problem_->groups[g].weight * group_rows[g];
    const int label = problem_->groups[g].label;
    if (label == -2) load += sum;
    if (label == -1 || (label >= 0 && !problem_->shared)) weight += sum;
    if (label < 0) continue;
    totals[static_cast<std::size_t>(label)] += sum;
  }
  if (!problem_->apart) load = problem_->along * weight;
}

void BitView::all_rows(std::uint16_t* out) const {
  for (std::size_t g = 0; g < groups(); ++g)
    for (std::int32_t w = group_start[g]; w < group_start[g + 1]; ++w) {
      const int rest = group_rows[g] - 16 * (w - group_start[g]);
      out[w] = static_cast<std::uint16_t>(rest >= 16 ? 0xffff : (1 << rest) - 1);
    }
}

void BitView::column(int test, bool pass, std::uint16_t* out) const {
  const std::uint16_t* at = bits.data() + test;
  const std::size_t n = words();
  if (pass) {
    for (std::size_t w = 0; w < n; ++w) out[w] = at[w * stride];
    return;
  }
  all_rows(out);
  for (std::size_t w = 0; w < n; ++w) out[w] = static_cast<std::uint16_t>(out[w] & ~at[w * stride]);
}

void BitView::make_child(const BitProblem& problem, const BitView& parent, int test, bool pass) {
  problem_ = &problem;
  std::uint16_t* keep = keep_.reserve(parent.words() + 1);
  parent.column(test, pass, keep);
  const int id = parent.ids[static_cast<std::size_t>(test)];
  state = problem.after(parent.state, id);
  const auto& passes = problem.passes[static_cast<std::size_t>(id)];
  members.resize(parent.members.size());
  for (std::size_t w = 0; w < members.size(); ++w)
    members[w] = parent.members[w] & (pass ? passes[w] : ~passes[w]);
  group_rows.assign(parent.groups(), 0);
  for (std::size_t g = 0; g < groups(); ++g)
    for (std::int32_t w = parent.group_start[g]; w < parent.group_start[g + 1]; ++w)
      group_rows[g] += __builtin_popcount(keep[w]);
  weigh();
  group_start.resize(parent.group_start.size());
  std::uint16_t* narrow = narrow_.reserve((parent.words() + 2) * parent.stride);
  problem.kernels.bit_compress(parent.every_group(), keep, narrow, group_start.data());
  // Tests that still split.
  std::vector<std::uint16_t> any(parent.stride, 0), every(parent.stride, 0xffff);
  std::vector<std::uint16_t> valid(words() + 1);
  all_rows(valid.data());
  for (std::size_t w = 0; w < words(); ++w)
    for (std::size_t j = 0; j < parent.stride; ++j) {
      const std::uint16_t x = narrow[w * parent.stride + j];
      any[j] = static_cast<std::uint16_t>(any[j] | x);
      every[j] = static_cast<std::uint16_t>(every[j] & (x | ~valid[w]));
    }
  std::vector<int> kept;
  for (std::size_t j = 0; j < parent.tests(); ++j)
    if (any[j] != 0 && every[j] != 0xffff) kept.push_back(static_cast<int>(j));
  keep_splitting(parent, kept);
}

void BitView::keep_splitting(const BitView& parent, const std::vector<int>& kept) {
  ids.resize(kept.size());
  for (std::size_t j = 0; j < kept.size(); ++j)
    ids[j] = parent.ids[static_cast<std::size_t>(kept[j])];
  stride = round_up(kept.size());
  std::uint16_t* to = bits.reserve((words() + 1) * stride);
  for (std::size_t w = 0; w < words(); ++w) {
    const std::uint16_t* from = narrow_.data() + w * parent.stride;
    for (std::size_t j = 0; j < kept.size(); ++j) to[w * stride + j] = from[kept[j]];
    for (std::size_t j = kept.size(); j < stride; ++j) to[w * stride + j] = 0;
  }
}

}  // namespace odt
