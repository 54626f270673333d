// Splits of a column that a monotone rule names: sub-trees of both sides that go together.
//
// Two sub-trees, each the best of its side, may set a fact that is to stay clear: at two points
// that agree but in the column their labels are in the wrong order. Each pair that leaves the fact
// clear keeps one of two limits, on the label of the one side or of the other at these points, so
// both are searched: a side anew under one limit more. A case is closed when no tangled pair is
// left whose values would be of use. Each limit rules out the pair that asked for it, and points
// are of finitely many, so cases end.
#include "odt/ruled_search.hpp"

namespace odt {

// Whether the deletion bound holds for the sides of a node. Rows more move thresholds, and leaves
// that were apart may come to meet. Not so in two levels: below a split of the ruled column two
// thresholds are to be kept in order, one of both orders (both would ask for labels in a circle),
// and rows inside a gap can all go where the threshold moves away from the other one.
bool RuledSearch::deletion_at(int level, int depth) const {
  return w_.deletion &&
         (!monotone_ || (p_.steady && depth <= 3 && monotone_->limits(level).empty()));
}

// Whether a sub-tree of these values would be kept.
bool RuledSearch::of_use(int level, const Entry& e, const Loss* values, const Front& front) const {
  if (e.facts & w_.forbidden) return false;
  // Where a tree was missed, what counts no less is searched again anyway.
  if (level == 0)
    return relaxed_holds(e.facts, values) &&
           relaxed_objective(e.facts, values) < std::min(best_.cutoff(), missed_at_);
  return !front.covers(e, values);
}

// Offers the pairs of a case. Whether one is tangled that would be of use otherwise: the first
// such.
bool RuledSearch::untangled(int level, std::uint64_t facts, Loss room, Loss price,
                            const Monotone::Meeting& here, const Entry& split, const Case& c,
                            Front& front, Monotone::Regions regions[2],
                            std::vector<Monotone::Tangle>& tangles) {
  Level& level_ = at(level);
  const std::uint64_t own = monotone_->facts_of(here.feature);
  std::vector<Monotone::Regions> of[2];
  for (int s = 0; s < 2; ++s)
    for (const Entry& e : c.front[s].entries())
      of[s].push_back(monotone_->regions(arena_, e.left, here, s));
  std::uint64_t work = 0;
  // First all that go together, then the first tangle that these leave of use.
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < of[0].size(); ++i)
      for (std::size_t j = 0; j < of[1].size(); ++j) {
        const Entry& a = c.front[0].entries()[i];
        const Entry& b = c.front[1].entries()[j];
        if ((work += front.entries().size() + 100) > 20000) {
          poll(work);
          check_memory();
          work = 0;
        }
        if (a.weighted + b.weighted >= tightened(room + price, front, level) - price) break;
        const Loss* x = c.front[0].components(a);
        const Loss* y = c.front[1].components(b);
        level_.values.resize(w_.components);
        for (std::size_t k = 0; k < w_.components; ++k)
          level_.values[k] = x[k] + y[k] + level_.split[k];
        if (!within(level_.values.data(), level_.sums.data() + w_.sums)) continue;
        Entry e = split;
        e.weighted = a.weighted + b.weighted + price;
        e.facts = a.facts | b.facts | facts;
        e.left = a.left;
        e.right = b.left;
        if (!(own & w_.order.wanted) && !of_use(level, e, level_.values.data(), front)) continue;
        if (round == 0) {
          e.facts |= monotone_->facts_between(of[0][i], of[1][j], here, 0, nullptr);
          if (e.facts & w_.forbidden) continue;
          if (level == 0)
            consider(e, level_.values.data());
          else
            front.offer(e, level_.values.data());
          continue;
        }
        const std::uint64_t wish = own & w_.order.unwanted & ~c.given_up & ~e.facts;
        const std::uint64_t set =
            monotone_->facts_between(of[0][i], of[1][j], here, wish, &tangles);
        e.facts |= set & ~wish;
        if (!(set & wish) || !of_use(level, e, level_.values.data(), front)) {
          tangles.clear();
          continue;
        }
        regions[0] = std::move(of[0][i]);  // the tangle points into these
        regions[1] = std::move(of[1][j]);
        return false;
      }
  }
  return true;
}

void RuledSearch::untangle(View& view, int level, int depth, int next, std::size_t f,
                           std::uint32_t bound, std::uint64_t facts, Loss room, Loss price,
                           Front& front) {
  Level& here = at(level);
  const Monotone::Meeting meeting = monotone_->meeting(level);
  const std::vector<std::uint32_t> rows(view.order(0), view.order(0) + view.rows());
  const std::size_t points = monotone_->points(), bytes = case_bytes_;
  Entry split;
  split.feature = static_cast<int>(f);
  split.bound = bound;
  split.threshold = monotone_->threshold(level);
  std::vector<Case> open(1);
  for (int s = 0; s < 2; ++s) {
    open[0].limits[s] = monotone_->limits_of(level, s);
    open[0].front[s] = here.front[s];
  }
  const auto size_of = [](const Case& c) {
    return c.front[0].bytes() + c.front[1].bytes() +
           (c.limits[0].size() + c.limits[1].size()) * sizeof(Monotone::Limit);
  };
  while (!open.empty()) {
    Case c = std::move(open.back());
    open.pop_back();
    Monotone::Regions regions[2];
    std::vector<Monotone::Tangle> tangles;
    if (untangled(level, facts, room, price, meeting, split, c, front, regions, tangles)) continue;
    const Monotone::Ways ways = monotone_->ways(tangles, meeting, rows);
    std::vector<Case> made;
    Loss least[2];
    for (int way = 0; way < 2; ++way) {
      const int s = ways.side[way];
      Case& d = made.emplace_back(c);
      d.limits[s].push_back(ways.limit[way]);
      const Loss other = d.front[1 - s].entries()[0].weighted;
      const Loss budget = tightened(room + price, front, level) - price - other;
      monotone_->enter(level, s, d.limits[s]);
      solve(here.side[s], level + 1, depth - 1, next, budget, d.front[s]);
      least[way] = d.front[s].empty() ? kInfinite : d.front[s].least(0) + other;
    }
    c.given_up |= ways.fact;
    if (!(w_.forbidden & ways.fact) && (monotone_->facts_of(f) & w_.order.unwanted & ~c.given_up))
      open.push_back(std::move(c));
    const int better = least[0] <= least[1] ? 0 : 1;  // goes on top
    for (int way : {1 - better, better})
      if (least[way] < kInfinite) open.push_back(std::move(made[static_cast<std::size_t>(way)]));
    case_bytes_ = bytes;
    for (const Case& d : open) case_bytes_ += size_of(d);
    check_memory();
  }
  case_bytes_ = bytes;
  monotone_->forget(points);
}

}  // namespace odt
