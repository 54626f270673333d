// Lookahead by trees of depth three: at each node the first cut of the best one, as nearly as time
// allows, and below it the same again.
#include <algorithm>

#include "odt/anytime.hpp"

namespace odt {

// Nodes of so many cells or fewer are looked at.
constexpr std::size_t kMostCells = std::size_t{1} << 20;

bool Anytime::sketches(const View& view, const Place& at) const {
  return plain() && at.depth >= 3 && view.rows() * p_.features <= kMostCells;
}

// At depth four the sides of few cuts are all there is to find, and soon found for good.
std::vector<Anytime::Parts> Anytime::reaches() const {
  if (!sketches(*views_[0], top_)) return {};
  if (top_.depth == 4) return {{0.3, 0.5}, {0.1, 0.3}, {0.1, 0}, {0, 0}};
  return {{0.4, 0.4}, {0.2, 0.2}, {0.05, 0.05}, {0, 0}};
}

// Remembered by the rows of the node.
const Anytime::Sketch& Anytime::sketch(View& view, const Place& at, double part, Loss upper) {
  const std::uint64_t most =
      top_.depth == 4 ? 400000000 : std::max<std::uint64_t>(40000000, spent() / 4);
  spare_memory();
  Sketch& known = sketches_[key_of(view, at)];
  if (known.part <= part && known.most >= most / 4 &&
      ((known.tree && known.tree->value < known.upper) || upper <= known.upper)) {
    ++counters_.cache_hits;
    return known;
  }
  if (known.most == 0)
    memory_bytes_ += p_.features * (2 * sizeof(std::uint32_t) + 2 * sizeof(Cut)) + 1200;
  std::vector<BestCut> cuts;
  bool complete = false;
  const Outcome out =
      exact_.sketch(view, upper, {least_, false, at.state}, part, most, cuts, complete);
  counters_.add(exact_.counters);
  exact_.counters = {};
  const Grown::Ptr tree = out.exact ? measure(view, at, out.plan, 0) : nullptr;
  if (tree && (!known.tree || tree->value <= known.tree->value)) known.tree = tree;
  known.upper = upper;
  known.part = part;
  known.most = complete ? ~std::uint64_t{0} : most;
  known.cuts.clear();
  for (const auto& cut : cuts)
    if (cut.hint.feature >= 0)
      known.cuts.push_back({-static_cast<double>(cut.value),
                            static_cast<std::size_t>(cut.hint.feature), cut.hint.bound});
  std::stable_sort(known.cuts.begin(), known.cuts.end(),
                   [](const Cut& a, const Cut& b) { return a.score > b.score; });
  return known;
}

// A tree by the first cuts of trees of depth three; nothing where it would not be below `upper`.
Grown::Ptr Anytime::reach(View& view, const Place& at, Parts parts, Loss upper) {
  if (at.depth <= 2)
    return bottom(view, at, upper, {Impurity::gini, static_cast<std::size_t>(-1), 0});
  const Grown::Ptr one = leaf(view, at);
  if (one->value <= price_ || static_cast<std::int32_t>(view.rows()) < 2 * least_)
    return one->value < upper ? one : nullptr;
  if (at.depth == 3) {
    const Sketch& last = sketch(view, at, parts.below, upper);
    if (!last.tree || last.tree->value >= upper) return nullptr;
    return last.solved() ? settled(*last.tree) : last.tree;
  }
  const Grown::Ptr three = sketch(view, at, parts.above, kInfinite).tree;
  const Grown::Ptr best = three && three->value < upper ? three : nullptr;
  if (!three || three->feature < 0) return best;
  const Cut cut{0, static_cast<std::size_t>(three->feature), three->bound};
  const Grown::Ptr made = reach_below(at, cut, parts, best ? best->value : upper);
  return made ? made : best;
}

Grown::Ptr Anytime::reach_below(const Place& at, const Cut& cut, Parts parts, Loss upper) {
  const Place next = below(at, cut.feature);
  Loss left_upper = upper >= kInfinite ? upper : upper - price_;
  const Grown::Ptr left = reach(child(at, cut.feature, cut.bound, true), next, parts, left_upper);
  if (!left) return nullptr;
  const Loss right_upper = upper >= kInfinite ? upper : upper - left->value;
  const Grown::Ptr right = right_upper > price_ ? reach(child(at, cut.feature, cut.bound, false),
                                                        next, parts, right_upper)
                                                : nullptr;
  return right ? join(cut, left, right) : nullptr;
}

}  // namespace odt
