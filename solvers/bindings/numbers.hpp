// What the searches for number targets share.
#pragma once

#include <optional>
#include <stdexcept>
#include <vector>

#include "odt/regression.hpp"
#include "values.hpp"

namespace odt_python {

inline std::vector<double> weights_of(const std::optional<Vector<double>>& weights,
                                      std::size_t rows) {
  if (!weights) return {};
  if (weights->shape(0) != rows) throw std::invalid_argument("weights need one entry per row");
  return copied(*weights);
}

}  // namespace odt_python
