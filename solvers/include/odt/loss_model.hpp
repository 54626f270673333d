// Losses of predictions as integers, and the three forms the scans know.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "odt/aligned.hpp"
#include "odt/problem.hpp"

namespace odt {

// Where each row has one label of least loss and all others lose one more: that label of each row,
// and the sum of the least losses.
std::optional<Loss> plain_errors(const Loss* losses, std::size_t rows, std::size_t labels,
                                 std::int32_t* right);

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
  // Of 2 to 4 labels in the general form: how much more each but the first loses than that one, in
  // steps of 1 << shift. What a label loses is rounded down, so that the least of sums, times the
  // step, is a lower bound, and sums of what all rows lose fit in 30 bits.
  std::size_t margins = 0;  // per row; 0: none
  int shift = 0;
  std::vector<std::int32_t> margin;      // [kind * margins + label - 1]
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
  bool has_right() const;

  explicit LossModel(const Problem& p);

  // What every error counts, if all count alike; else 0. A list of errors and then leaves, a price
  // that is a fraction and the like come as weights that are all the same.
  static Loss uniform(const Problem& p);

 private:
  static constexpr Loss kSmall = Loss{1} << 29;
  using Kind = std::pair<int, Loss>;  // label and weight
  std::size_t wide_size_ = 0;

  std::vector<Kind> make_kinds(const Problem& p);

  void make_margins(Loss total);

  void make_table(const Problem& p, const std::vector<Kind>& kinds, std::vector<Loss>& least);
};

}  // namespace odt
