#include "odt/dataset.hpp"

#include <algorithm>

namespace odt {

Dataset::Dataset(const Problem& p, const Kernels& k, Control* control)
    : problem(p),
      kernels(k),
      narrow(std::all_of(p.distinct.begin(), p.distinct.end(),
                         [](std::uint32_t d) { return d < 65535; })),
      loss(p),
      control_(control) {
  order.resize(p.features * p.rows);
  allowed_upto.resize(p.features);
  std::vector<std::uint32_t> start;
  for (std::size_t f = 0; f < p.features; ++f) {
    const std::uint32_t* rank = p.ranks(f);
    start.assign(p.distinct[f] + 1, 0);
    for (std::size_t i = 0; i < p.rows; ++i) ++start[rank[i] + 1];
    for (std::size_t r = 0; r < p.distinct[f]; ++r) start[r + 1] += start[r];
    for (std::size_t i = 0; i < p.rows; ++i)
      order[f * p.rows + start[rank[i]]++] = static_cast<std::uint32_t>(i);
    if (f < p.allowed.size() && !p.allowed[f].empty()) {
      allowed_upto[f].assign(p.distinct[f] + 1, 0);
      for (std::size_t r = 0; r < p.distinct[f]; ++r)
        allowed_upto[f][r + 1] = allowed_upto[f][r] + (p.allowed[f][r] != 0);
    }
    const bool few = loss.unit() && p.distinct[f] <= kFewValues + 1;
    if (!few) sorted.push_back(f);
    for (std::uint32_t r = 0; few && r + 1 < p.distinct[f]; ++r)
      if (gap_allowed(f, r, r + 1)) columns.push_back({f, r + 1});
    look(f);
  }
}

Loss Dataset::inseparable() const {
  std::call_once(known_, [this] { inseparable_ = lost_by_equal_rows(); });
  return inseparable_;
}

Loss Dataset::lost_by_equal_rows() const {
  const EqualRows equal(problem);
  Loss sum = 0;
  std::vector<Loss> losses(static_cast<std::size_t>(loss.labels));
  for (std::size_t g = 0; g < equal.groups(); ++g) {
    if (equal.start[g + 1] - equal.start[g] == 1) continue;  // the row's least loss is 0
    std::fill(losses.begin(), losses.end(), 0);
    for (std::uint32_t i = equal.start[g]; i < equal.start[g + 1]; ++i)
      for (std::size_t c = 0; c < losses.size(); ++c)
        losses[c] += loss.loss(problem, equal.row[i], c);
    sum += *std::min_element(losses.begin(), losses.end());
  }
  return sum;
}

}  // namespace odt
