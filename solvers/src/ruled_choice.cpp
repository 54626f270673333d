#include "odt/ruled_choice.hpp"

#include <algorithm>
#include <limits>

#include "odt/ruled_free.hpp"

namespace odt {

Chosen choose_multipliers(const RuledProblem& p, Prices& prices, Multipliers tried, Loss value,
                          int rounds, double near, Control& control, Counters& counters) {
  Chosen best{tried, -std::numeric_limits<double>::infinity()};
  std::vector<double> wanted;
  for (int round = 0; round < rounds && prices.any(); ++round) {
    control.check();
    FreeTrees free(p, tried, p.base.depth, control);
    Options o;
    o.interrupted = control.options().interrupted;
    if (control.options().time_limit >= 0)
      o.time_limit = std::max(0.0, control.options().time_limit - control.seconds());
    const FreeTrees::Answer answer = free.solve(o, counters);
    if (!answer.complete || answer.tree.empty()) break;
    const double found = free.weights.objective(answer.bound);
    if (found > best.bound) best = {tried, found};
    prices.add(measure(p, answer.tree));
    const double top = prices.best(wanted);
    if (top - best.bound <= near * std::max(1.0, static_cast<double>(value) - best.bound)) break;
    tried = prices.rounded(wanted);
  }
  return best;
}

}  // namespace odt
