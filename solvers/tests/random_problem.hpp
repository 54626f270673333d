// Random problems and an oracle that tries every tree.
#pragma once

#include <algorithm>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include "odt/kernels.hpp"
#include "odt/problem.hpp"

namespace odt_test {

// The instruction sets that this machine and build have.
inline std::vector<odt::Isa> instruction_sets() {
  std::vector<odt::Isa> sets{odt::Isa::portable};
  if (odt::kernels_avx2()) sets.push_back(odt::Isa::avx2);
  if (odt::kernels_avx512()) sets.push_back(odt::Isa::avx512);
  return sets;
}

using Random = std::mt19937;
inline int draw(Random& random, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random);
}

inline odt::Problem random_problem(Random& random, int rows, int features, int classes,
                                   int values) {
  odt::Problem p;
  p.rows = static_cast<std::size_t>(rows);
  p.features = static_cast<std::size_t>(features);
  p.classes = classes;
  for (int f = 0; f < features; ++f) {
    std::vector<int> x(p.rows);
    for (int& v : x) v = draw(random, 0, values - 1);
    std::vector<int> sorted = x;
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    for (int v : x)
      p.rank.push_back(static_cast<std::uint32_t>(
          std::lower_bound(sorted.begin(), sorted.end(), v) - sorted.begin()));
    p.distinct.push_back(static_cast<std::uint32_t>(sorted.size()));
  }
  for (int i = 0; i < rows; ++i) p.label.push_back(draw(random, 0, classes - 1));
  return p;
}

// State 1 allows some of what state 0 allows.
inline void forbid_some(Random& random, odt::Problem& p) {
  p.columns = static_cast<int>(p.features);
  std::vector<int> further;
  for (int f = 0; f < p.columns; ++f) {
    p.column.push_back(f);
    p.next.push_back(draw(random, -1, 1));
    further.push_back(p.next.back() < 0 || draw(random, 0, 1) == 0 ? -1 : 1);
  }
  p.next.insert(p.next.end(), further.begin(), further.end());
}

// The best loss by trying every tree whose paths the automaton of the problem lets through, and
// that tests the column it must.
class Oracle {
 public:
  explicit Oracle(const odt::Problem& p) : p_(p) {}
  odt::Loss best() { return best((1u << p_.rows) - 1, p_.depth, 0, p_.must >= 0); }

 private:
  odt::Loss leaf(unsigned rows) const {
    odt::Loss least = odt::kInfinite;
    std::int32_t all = 0;
    for (std::size_t i = 0; i < p_.rows; ++i) all += rows >> i & 1;
    if (all < p_.leaf_rows) return odt::kInfinite;
    for (int c = 0; c < p_.classes; ++c) {
      odt::Loss sum = 0;
      for (std::size_t i = 0; i < p_.rows; ++i) {
        if (!(rows >> i & 1)) continue;
        const std::size_t label = static_cast<std::size_t>(p_.label[i]);
        const odt::Loss unit = p_.cost.empty()
                                   ? p_.label[i] != c
                                   : p_.cost[label * static_cast<std::size_t>(p_.classes) +
                                             static_cast<std::size_t>(c)];
        sum += unit * (p_.weight.empty() ? 1 : p_.weight[i]);
      }
      least = std::min(least, sum);
    }
    return least + p_.leaf_price;
  }
  odt::Loss best(unsigned rows, int depth, int state, bool must) {
    odt::Loss value = must ? odt::kInfinite : leaf(rows);
    if (depth == 0) return value;
    const auto key = std::make_tuple(rows, depth, state, must);
    if (const auto at = known_.find(key); at != known_.end()) return at->second;
    for (std::size_t f = 0; f < p_.features; ++f) {
      const int next = p_.after(state, f);
      if (next < 0) continue;
      const bool open = must && !p_.tests_must(f);
      for (std::uint32_t cut = 0; cut + 1 < p_.distinct[f]; ++cut) {
        unsigned left = 0;
        for (std::size_t i = 0; i < p_.rows; ++i)
          if ((rows >> i & 1) && p_.ranks(f)[i] <= cut) left |= 1u << i;
        if (left == 0 || left == rows) continue;
        const auto sides = [&](bool left_must, bool right_must) {
          value = std::min(value, best(left, depth - 1, next, left_must) +
                                      best(rows & ~left, depth - 1, next, right_must));
        };
        sides(open, false);
        if (open) sides(false, true);
      }
    }
    return known_[key] = value;
  }

  const odt::Problem& p_;
  std::map<std::tuple<unsigned, int, int, bool>, odt::Loss> known_;
};

}  // namespace odt_test
