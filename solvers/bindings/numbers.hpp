// What the searches for number targets share.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "odt/regression.hpp"
#include "values.hpp"

namespace odt_python {

inline odt::OutputLoss loss_of(const std::string& name) {
  if (name == "squared") return odt::OutputLoss::squared;
  if (name == "absolute") return odt::OutputLoss::absolute;
  if (name == "poisson") return odt::OutputLoss::poisson;
  throw std::invalid_argument("no such loss");
}

inline std::vector<double> weights_of(const std::optional<Vector<double>>& weights,
                                      std::size_t rows) {
  if (!weights) return {};
  if (weights->shape(0) != rows) throw std::invalid_argument("weights need one entry per row");
  return copied(*weights);
}

}  // namespace odt_python
