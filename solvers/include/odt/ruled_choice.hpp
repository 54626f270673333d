// Multipliers by which the least weighted sum of all trees bounds the objective best.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "odt/ruled_free.hpp"
#include "odt/ruled_prices.hpp"

namespace odt {

struct Chosen {
  Multipliers m;
  double bound = 0;
};

// Tries multipliers, `tried` first, until no others are much better by the trees known to `prices`:
// the bound lies within a share `near` of what is left up to `value`.
Chosen choose_multipliers(const RuledProblem& p, Prices& prices, Multipliers tried, Loss value,
                          int rounds, double near, Control& control, Counters& counters);

}  // namespace odt
