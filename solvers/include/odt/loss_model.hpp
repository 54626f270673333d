// Losses of predictions as integers, and the three forms the scans know.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "odt/aligned.hpp"
#include "odt/problem.hpp"

namespace odt {

enum class LossKind {
  two_class,    // all errors count alike; two classes
  multi_class,  // all errors count alike; 3 to 16 classes
  signed_two,   // two labels, weights or costs: one signed number a row, loss of label 0 minus loss
                // of label 1
  general       // weights, costs, or more classes: a vector of losses a row
};

struct LossModel {
  LossKind kind = LossKind::two_class;
  int labels = 2;
  Loss each = 1;    // if unit: what one error counts
  Loss offset = 0;  // sum over rows of the least loss; not contained in what follows
  // Unless unit: rows of one label and weight are of one kind, and a kind has a loss per label.
  // Lanes beyond the labels hold the largest of them; there is at least one.
  std::vector<std::int32_t> kind_of;  // per row
  std::size_t lanes = 0;
  Aligned<Loss> wide;                    // [kind * lanes + label]
  Aligned<std::int32_t> narrow;          // the same where all sums fit in 32 bits; else empty
  std::vector<std::int32_t> difference;  // per row; only in the signed form

  bool unit() const { return kind == LossKind::two_class || kind == LossKind::multi_class; }
  bool fits32() const { return narrow.data() != nullptr; }
  const Loss* losses(std::size_t row) const {
    return wide.data() + static_cast<std::size_t>(kind_of[row]) * lanes;
  }
  Loss loss(const Problem& p, std::size_t row, std::size_t label) const {
    return unit() ? each * (p.label[row] != static_cast<int>(label)) : losses(row)[label];
  }
  Loss worst(std::size_t row) const { return losses(row)[lanes - 1]; }

  // A row's best label and what all others lose, above that. Not every row has such: with three
  // labels or more, costs may tell the others apart.
  struct Right {
    int label;
    Loss gain;
  };
  Right right(const Problem& p, std::size_t row) const {
    if (unit()) return {p.label[row], each};
    const Loss* of = losses(row);
    return {static_cast<int>(std::min_element(of, of + labels) - of), worst(row)};
  }
  // What a label loses less than the worst one.
  Loss gain(const Problem& p, std::size_t row, std::size_t label) const {
    if (unit()) return p.label[row] == static_cast<int>(label) ? each : 0;
    return worst(row) - losses(row)[label];
  }
  Loss most(std::size_t row) const { return unit() ? each : worst(row); }
  bool has_right() const {
    if (unit() || labels == 2) return true;
    for (std::size_t k = 0; k * lanes < wide_size_; ++k) {
      const Loss* of = wide.data() + k * lanes;
      const auto other = [&](Loss x) { return x == of[lanes - 1]; };
      if (std::count_if(of, of + labels, other) < labels - 1) return false;
    }
    return true;
  }

  explicit LossModel(const Problem& p) : labels(std::max(p.classes, 1)) {
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
    bool small = true;  // sums stay within 32 bits, doubled ones too
    for (std::size_t i = 0; i < p.rows; ++i) {
      offset += least[static_cast<std::size_t>(kind_of[i])];
      small = small && worst(i) <= kSmall && total <= kSmall;
      if (small) total += worst(i);
    }
    if (!small || total > kSmall) return;
    if (labels == 2) {
      kind = LossKind::signed_two;
      difference.resize(p.rows);
      for (std::size_t i = 0; i < p.rows; ++i)
        difference[i] = static_cast<std::int32_t>(losses(i)[0] - losses(i)[1]);
      return;
    }
    const std::size_t cells = least.size() * lanes;
    std::int32_t* to = narrow.reserve(cells);
    for (std::size_t i = 0; i < cells; ++i) to[i] = static_cast<std::int32_t>(wide[i]);
  }

  // What every error counts, if all count alike; else 0. A list of errors and then leaves, a price
  // that is a fraction and the like come as weights that are all the same.
  static Loss uniform(const Problem& p) {
    if (!p.cost.empty() || p.classes > 16) return 0;
    if (p.weight.empty()) return 1;
    return std::all_of(p.weight.begin(), p.weight.end(), [&](Loss w) { return w == p.weight[0]; })
               ? p.weight[0]
               : 0;
  }

 private:
  static constexpr Loss kSmall = Loss{1} << 29;
  using Kind = std::pair<int, Loss>;  // label and weight
  std::size_t wide_size_ = 0;

  std::vector<Kind> make_kinds(const Problem& p) {
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

  void make_table(const Problem& p, const std::vector<Kind>& kinds, std::vector<Loss>& least) {
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
};

}  // namespace odt
