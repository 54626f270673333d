// Rules on the order of predictions in the search for trees of numbers.
//
// As for classes (odt/ruled_monotone.hpp): of two sub-trees that do not go together, one side or
// the other is searched anew under one limit more. Leaves have the outputs that their rows give
// them, so a limit admits some leaves and refuses others; it moves none.
#include <algorithm>

#include "odt/outputs_fronts.hpp"

namespace odt {

// The place of a leaf's output.
int OutputFronts::predict(const std::uint32_t* rows, std::size_t n, const double* sums) {
  if (plain_means_ && sums[kWeight] > 0) {
    for (std::size_t t = 0; t < data_.targets; ++t) {
      const double mean = data_.centre[t] + sums[kTargets + t] / sums[kWeight];
      predicted_.push_back(mean);
    }
  } else {
    const std::vector<double>& output = parts_.output(rows, n);
    predicted_.insert(predicted_.end(), output.begin(), output.end());
  }
  return static_cast<int>(predicted_.size() / data_.targets) - 1;
}

int OutputFronts::context(std::size_t level) {
  if (!monotone_) return 0;
  const auto found = contexts_.emplace(monotone_->context(static_cast<int>(level)),
                                       static_cast<int>(contexts_.size()));
  return found.first->second;
}

NumberFront OutputFronts::front_at(std::size_t level) const {
  const std::uint64_t open =
      monotone_ ? monotone_->facts_above(static_cast<int>(level)) & order_.wanted : 0;
  NumberFront front;
  front.clear(model_.components, order_, open);
  return front;
}

double OutputFronts::tightened(const OutputAsk& ask, double budget) const {
  return ask.level == 0 && !goal() ? std::min(budget, best - tolerance_) : budget;
}

// Whether a sub-tree of these values would be kept.
bool OutputFronts::of_use(const OutputAsk& ask, const NumberEntry& e, const double* values,
                          const NumberFront& front) const {
  if (!within(e.facts, values)) return false;
  if (ask.level > 0) return !front.covers(e, values);
  if (!nearly_holds(e.facts, values)) return false;
  return (goal() ? NumberModel::sum(model_.goal, e.facts, values) : e.value) < best;
}

// Offers the pairs of a case. Whether none is left that is tangled and would be of use otherwise;
// else the first such.
bool OutputFronts::untangled(const OutputAsk& ask, const Split& split,
                             const Monotone::Meeting& here, const Case& c, double budget,
                             NumberFront& front, Monotone::Regions regions[2],
                             std::vector<Monotone::Tangle>& tangles) {
  const std::uint64_t own = monotone_->facts_of(here.feature);
  std::vector<Monotone::Regions> of[2];
  for (int s = 0; s < 2; ++s)
    for (const NumberEntry& e : c.front[s]->entries())
      of[s].push_back(monotone_->regions(steps_, e.plan, here, s));
  std::vector<double> values(model_.components);
  std::uint64_t work = 0;
  // First all that go together, then the first tangle that these leave of use.
  for (int round = 0; round < 2; ++round)
    for (std::size_t i = 0; i < of[0].size(); ++i)
      for (std::size_t j = 0; j < of[1].size(); ++j) {
        const NumberEntry& a = c.front[0]->entries()[i];
        const NumberEntry& b = c.front[1]->entries()[j];
        if ((work += front.entries().size() + 100) > 20000) {
          poll(work);
          work = 0;
        }
        NumberEntry e;
        e.value = a.value + b.value + split.price;
        if (e.value >= tightened(ask, budget)) break;
        const double *x = c.front[0]->components(a), *y = c.front[1]->components(b);
        for (std::size_t k = 0; k < values.size(); ++k) values[k] = x[k] + y[k] + split.values[k];
        e.facts = a.facts | b.facts | split.facts;
        if (!(own & order_.wanted) && !of_use(ask, e, values.data(), front)) continue;
        if (round == 0) {
          e.facts |= monotone_->facts_between(of[0][i], of[1][j], here, 0, nullptr);
          offer(ask, e, values.data(), front, &split, a.plan, b.plan);
          continue;
        }
        const std::uint64_t wish = own & order_.unwanted & ~c.given_up & ~e.facts;
        const std::uint64_t set =
            monotone_->facts_between(of[0][i], of[1][j], here, wish, &tangles);
        e.facts |= set & ~wish;
        if (!(set & wish) || !of_use(ask, e, values.data(), front)) {
          tangles.clear();
          continue;
        }
        regions[0] = std::move(of[0][i]);  // the tangles point into these
        regions[1] = std::move(of[1][j]);
        return false;
      }
  return true;
}

// All trees that split at a cut of a ruled column. `sides` are the best without further limits.
void OutputFronts::untangle(const OutputAsk& ask, const OutputAsk asked[2], const Split& split,
                            const std::vector<std::uint32_t>& rows, Front sides[2], double budget,
                            NumberFront& front) {
  const int level = static_cast<int>(ask.level);
  const Monotone::Meeting meeting = monotone_->meeting(level);
  const std::size_t points = monotone_->points();
  const OutputNode* part[2] = {&levels_[ask.level]->left, &levels_[ask.level]->right};
  std::vector<Case> open(1);
  for (int s = 0; s < 2; ++s) {
    open[0].limits[s] = monotone_->limits_of(level, s);
    open[0].front[s] = sides[s];
  }
  while (!open.empty()) {
    Case c = std::move(open.back());
    open.pop_back();
    Monotone::Regions regions[2];
    std::vector<Monotone::Tangle> tangles;
    if (untangled(ask, split, meeting, c, budget, front, regions, tangles)) continue;
    const Monotone::Ways ways = monotone_->ways(tangles, meeting, rows);
    std::vector<Case> made;
    double least[2];
    for (int way = 0; way < 2; ++way) {
      const int s = ways.side[way];
      Case& d = made.emplace_back(c);
      d.limits[s].push_back(ways.limit[way]);
      const double other = d.front[1 - s]->least(kUnbounded);
      monotone_->enter(level, s, d.limits[s]);
      d.front[s] = solve(*part[s], asked[s], tightened(ask, budget) - split.price - other);
      least[way] = d.front[s]->least(kUnbounded) + other;
    }
    c.given_up |= ways.fact;
    if (!(forbidden_ & ways.fact) &&
        (monotone_->facts_of(meeting.feature) & order_.unwanted & ~c.given_up))
      open.push_back(std::move(c));
    const int better = least[0] <= least[1] ? 0 : 1;  // goes on top
    for (int way : {1 - better, better})
      if (least[way] < kUnbounded) open.push_back(std::move(made[static_cast<std::size_t>(way)]));
  }
  monotone_->forget(points);
}

}  // namespace odt
