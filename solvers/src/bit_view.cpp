#include "odt/bit_view.hpp"

#include <algorithm>
#include <cstring>
#include <set>

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
    for (std::uint32_t r = 0; r + 1 < p.distinct[f]; ++r) count.tests += cut_allowed(p, f, r);
    count.features += count.tests > before;
    count.most = std::max(count.most, count.tests - before);
  }
  return count;
}

BitProblem::BitProblem(const Problem& p, const Kernels& k) : problem(p), kernels(k) {
  order.resize(p.rows);
  for (std::size_t i = 0; i < p.rows; ++i) order[i] = static_cast<std::uint32_t>(i);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return p.label[a] < p.label[b]; });
  member_words = words_of(p.rows);
  std::set<std::vector<std::uint64_t>> seen;
  for (std::size_t f = 0; f < p.features; ++f)
    for (std::uint32_t r = 0; r + 1 < p.distinct[f]; ++r) {
      if (!cut_allowed(p, f, r)) continue;
      std::vector<std::uint64_t> column(member_words, 0);
      for (std::size_t i = 0; i < p.rows; ++i)
        if (p.ranks(f)[order[i]] <= r) column[i / 64] |= 1ULL << (i % 64);
      std::vector<std::uint64_t> other(member_words);
      for (std::size_t w = 0; w < member_words; ++w) other[w] = ~column[w] & valid_bits(p.rows, w);
      const bool trivial = std::all_of(column.begin(), column.end(), [](auto w) { return w == 0; }) ||
                           std::all_of(other.begin(), other.end(), [](auto w) { return w == 0; });
      if (trivial || seen.count(column) || seen.count(other)) continue;
      seen.insert(column);
      passes.push_back(column);
      tests.push_back({static_cast<int>(f), r + 1});
    }
  std::vector<std::size_t> position(p.rows);
  for (std::size_t i = 0; i < p.rows; ++i) position[order[i]] = i;
  hopeless.assign(member_words, 0);
  const EqualRows equal(p);
  std::vector<int> count(static_cast<std::size_t>(p.classes));
  for (std::size_t g = 0; g < equal.groups(); ++g) {
    const auto first = equal.row.begin() + equal.start[g], last = equal.row.begin() + equal.start[g + 1];
    std::fill(count.begin(), count.end(), 0);
    for (auto i = first; i != last; ++i) ++count[static_cast<std::size_t>(p.label[*i])];
    const int majority = static_cast<int>(std::max_element(count.begin(), count.end()) - count.begin());
    for (auto i = first; i != last; ++i)
      if (p.label[*i] != majority) hopeless[position[*i] / 64] |= 1ULL << (position[*i] % 64);
  }
}

void BitView::make_root(const BitProblem& problem) {
  const Problem& p = problem.problem;
  rows = p.rows;
  members.assign(problem.member_words, 0);
  for (std::size_t w = 0; w < members.size(); ++w) members[w] = valid_bits(rows, w);
  ids.resize(problem.tests.size());
  for (std::size_t t = 0; t < ids.size(); ++t) ids[t] = static_cast<int>(t);
  totals.assign(static_cast<std::size_t>(p.classes), 0);
  for (int label : p.label) ++totals[static_cast<std::size_t>(label)];
  class_start.assign(totals.size() + 1, 0);
  for (std::size_t c = 0; c < totals.size(); ++c) class_start[c + 1] = class_start[c] + (totals[c] + 15) / 16;
  stride = round_up(ids.size());
  bits.reserve((words() + 1) * stride);
  std::memset(bits.data(), 0, (words() + 1) * stride * sizeof(std::uint16_t));
  std::size_t position = 0;
  for (std::size_t c = 0; c < totals.size(); ++c)
    for (std::int16_t i = 0; i < totals[c]; ++i, ++position) {
      const std::size_t word = static_cast<std::size_t>(class_start[c] + i / 16);
      for (std::size_t t = 0; t < ids.size(); ++t)
        if (problem.passes[t][position / 64] >> (position % 64) & 1)
          bits[word * stride + t] = static_cast<std::uint16_t>(bits[word * stride + t] | 1u << (i % 16));
    }
  three.ready = false;
}

void BitView::all_rows(std::uint16_t* out) const {
  for (std::size_t c = 0; c < totals.size(); ++c)
    for (std::int32_t w = class_start[c]; w < class_start[c + 1]; ++w) {
      const int rest = totals[c] - 16 * (w - class_start[c]);
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
  three.ready = false;
  std::uint16_t* keep = keep_.reserve(parent.words() + 1);
  parent.column(test, pass, keep);
  const auto& passes = problem.passes[static_cast<std::size_t>(parent.ids[static_cast<std::size_t>(test)])];
  members.resize(parent.members.size());
  for (std::size_t w = 0; w < members.size(); ++w) members[w] = parent.members[w] & (pass ? passes[w] : ~passes[w]);
  totals.assign(parent.totals.size(), 0);
  rows = 0;
  for (std::size_t c = 0; c < totals.size(); ++c) {
    int count = 0;
    for (std::int32_t w = parent.class_start[c]; w < parent.class_start[c + 1]; ++w) count += __builtin_popcount(keep[w]);
    totals[c] = static_cast<std::int16_t>(count);
    rows += static_cast<std::size_t>(count);
  }
  class_start.resize(parent.class_start.size());
  std::uint16_t* narrow = narrow_.reserve((parent.words() + 2) * parent.stride);
  problem.kernels.bit_compress(parent.table(), keep, narrow, class_start.data());
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
  keep_splitting(problem, parent, kept);
}

void BitView::keep_splitting(const BitProblem&, const BitView& parent, const std::vector<int>& kept) {
  ids.resize(kept.size());
  for (std::size_t j = 0; j < kept.size(); ++j) ids[j] = parent.ids[static_cast<std::size_t>(kept[j])];
  stride = round_up(kept.size());
  std::uint16_t* to = bits.reserve((words() + 1) * stride);
  for (std::size_t w = 0; w < words(); ++w) {
    const std::uint16_t* from = narrow_.data() + w * parent.stride;
    for (std::size_t j = 0; j < kept.size(); ++j) to[w * stride + j] = from[kept[j]];
    for (std::size_t j = kept.size(); j < stride; ++j) to[w * stride + j] = 0;
  }
}

}  // namespace odt
