#include "odt/loss_model.hpp"

#include <algorithm>
#include <map>

#include "odt/kernels.hpp"

namespace odt {

std::optional<Loss> plain_errors(const Loss* losses, std::size_t rows, std::size_t labels,
                                 std::int32_t* right) {
  Loss total = 0;
  for (const Loss* row = losses; row != losses + rows * labels; row += labels) {
    const Loss* least = std::min_element(row, row + labels);
    const auto dearer = std::count(row, row + labels, *least + 1);
    if (labels < 2 || static_cast<std::size_t>(dearer) != labels - 1) return std::nullopt;
    *right++ = static_cast<std::int32_t>(least - row);
    total += *least;
  }
  return total;
}

bool LossModel::has_right() const {
  if (unit() || labels == 2) return true;
  for (std::size_t k = 0; k * lanes < wide_size_; ++k) {
    const Loss* of = wide.data() + k * lanes;
    const auto other = [&](Loss x) { return x == of[lanes - 1]; };
    if (std::count_if(of, of + labels, other) < labels - 1) return false;
  }
  return true;
}

LossModel::LossModel(const Problem& p) : labels(std::max(p.classes, 1)) {
  if (uniform(p) > 0) {
    each = uniform(p);
    kind = p.classes <= 2 ? LossKind::two_class : LossKind::multi_class;
    return;
  }
  kind = LossKind::general;
  const std::size_t n = static_cast<std::size_t>(labels) + 1;
  lanes = n <= 4 ? 4 : n <= 8 ? 8 : (n + 15) / 16 * 16;
  std::vector<Loss> least;
  make_table(p, make_kinds(p), least);
  Loss total = 0;
  for (std::size_t i = 0; i < p.rows; ++i) {
    offset += least[static_cast<std::size_t>(kind_of[i])];
    total = std::min(total + worst(i), kInfinite);
  }
  const bool small = total <= kSmall;  // sums stay within 32 bits, doubled ones too
  if (labels == 2 && small) {
    kind = LossKind::signed_two;
    difference.resize(p.rows);
    for (std::size_t i = 0; i < p.rows; ++i)
      difference[i] = static_cast<std::int32_t>(losses(i)[0] - losses(i)[1]);
    return;
  }
  make_margins(total);
  if (!small) return;
  const std::size_t cells = least.size() * lanes;
  std::int32_t* to = narrow.reserve(cells);
  for (std::size_t i = 0; i < cells; ++i) to[i] = static_cast<std::int32_t>(wide[i]);
}

void LossModel::make_margins(Loss total) {
  if (labels < 2 || labels > MarginScan::kMost + 1) return;
  margins = static_cast<std::size_t>(labels) - 1;
  while (total >> shift >= MarginScan::kNone) ++shift;
  margin.reserve(wide_size_ / lanes * margins);
  for (const Loss* of = wide.data(); of != wide.data() + wide_size_; of += lanes)
    for (std::size_t c = 1; c <= margins; ++c)
      margin.push_back(static_cast<std::int32_t>((of[c] >> shift) - (of[0] >> shift)));
}

Loss LossModel::uniform(const Problem& p) {
  if (!p.cost.empty() || p.classes > 16) return 0;
  if (p.weight.empty()) return 1;
  return std::all_of(p.weight.begin(), p.weight.end(), [&](Loss w) { return w == p.weight[0]; })
             ? p.weight[0]
             : 0;
}

std::vector<LossModel::Kind> LossModel::make_kinds(const Problem& p) {
  std::map<Kind, std::int32_t> known;
  std::vector<Kind> kinds;
  kind_of.resize(p.rows);
  for (std::size_t i = 0; i < p.rows; ++i) {
    const Kind key{p.label[i], p.weight.empty() ? 1 : p.weight[i]};
    const auto at = known.emplace(key, static_cast<std::int32_t>(kinds.size()));
    if (at.second) kinds.push_back(key);
    kind_of[i] = at.first->second;
  }
  return kinds;
}

void LossModel::make_table(const Problem& p, const std::vector<Kind>& kinds,
                           std::vector<Loss>& least) {
  const std::size_t n = static_cast<std::size_t>(labels);
  wide_size_ = kinds.size() * lanes;
  wide.reserve(wide_size_);
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    Loss* row = wide.data() + k * lanes;
    const std::size_t label = static_cast<std::size_t>(kinds[k].first);
    for (std::size_t c = 0; c < n; ++c)
      row[c] = kinds[k].second *
               (p.cost.empty() ? static_cast<Loss>(c != label) : p.cost[label * n + c]);
    least.push_back(*std::min_element(row, row + n));
    for (std::size_t c = 0; c < n; ++c) row[c] -= least.back();
    std::fill(row + n, row + lanes, *std::max_element(row, row + n));
  }
}

}  // namespace odt
