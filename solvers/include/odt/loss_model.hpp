// Losses of predictions as integers, and the three forms the scans know.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "odt/problem.hpp"

namespace odt {

enum class LossKind {
  two_class,    // one error counts one; two classes
  multi_class,  // one error counts one; 3 to 16 classes
  signed_two,   // two labels, weights or costs: one signed number a row, loss of label 0 minus loss of label 1
  general       // weights, costs, or more classes
};

struct LossModel {
  LossKind kind = LossKind::two_class;
  int labels = 2;
  Loss offset = 0;           // sum over rows of the least loss; not contained in what follows
  std::vector<Loss> of;      // [row * labels + prediction]; only in the general form
  std::vector<Loss> worst;   // per row, the largest of these; only in the general form
  std::vector<std::int32_t> difference;  // per row; only in the signed form
  bool unit() const { return kind == LossKind::two_class || kind == LossKind::multi_class; }

  explicit LossModel(const Problem& p) : labels(std::max(p.classes, 1)) {
    if (p.weight.empty() && p.cost.empty() && p.classes <= 16) {
      kind = p.classes <= 2 ? LossKind::two_class : LossKind::multi_class;
      return;
    }
    kind = LossKind::general;
    const std::size_t n = static_cast<std::size_t>(labels);
    of.resize(p.rows * n);
    worst.resize(p.rows);
    for (std::size_t i = 0; i < p.rows; ++i) {
      const Loss weight = p.weight.empty() ? 1 : p.weight[i];
      Loss* row = of.data() + i * n;
      for (std::size_t c = 0; c < n; ++c) {
        const std::size_t label = static_cast<std::size_t>(p.label[i]);
        row[c] = weight * (p.cost.empty() ? static_cast<Loss>(c != label) : p.cost[label * n + c]);
      }
      const Loss least = *std::min_element(row, row + n);
      for (std::size_t c = 0; c < n; ++c) row[c] -= least;
      offset += least;
      worst[i] = *std::max_element(row, row + n);
    }
    if (labels == 2) use_differences(p.rows);
  }

 private:
  // Sums stay within 32 bits, doubled ones too.
  void use_differences(std::size_t rows) {
    Loss total = 0;
    for (Loss w : worst) {
      if (w > (Loss{1} << 29) || total > (Loss{1} << 29)) return;
      total += w;
    }
    if (total > (Loss{1} << 29)) return;
    kind = LossKind::signed_two;
    difference.resize(rows);
    for (std::size_t i = 0; i < rows; ++i) difference[i] = static_cast<std::int32_t>(of[2 * i] - of[2 * i + 1]);
  }
};

}  // namespace odt
