// Trees without an error, where a grown one has few: those that are worth it are found sooner by
// a search for them than by one for better trees.
#include <algorithm>

#include "odt/anytime.hpp"

namespace odt {

// A grown tree with fewer errors than half the leaves that it may have is near enough to one
// without. Ends after so much work.
void Anytime::look_for_perfect() {
  constexpr std::uint64_t kWork = 150000;
  if (!sketches(*views_[0], top_) || !Perfect::suits(data_)) return;
  const Loss few = data_.loss.each * full_leaves(std::min(top_.depth, 20)) / 2;
  if (best_value_ <= 0 || best_value_ >= few) return;
  if (control_.turns) control_.turns->keep(control_.work() + 2 * kWork);
  perfect_ = std::make_unique<Perfect>(data_, control_);
  std::uint64_t end = spent() + kWork / 4;
  offer(mend(*views_[0], top_, best_, end));
  end = spent() + kWork;
  if (best_value_ > 0) offer(perfect(*views_[0], top_, end));
  perfect_.reset();
}

// The same tree, without errors at the lowest nodes where that can be had.
Grown::Ptr Anytime::mend(View& view, const Place& at, const Grown::Ptr& tree, std::uint64_t end) {
  if (tree->value <= 0 || at.depth < 2 || spent() >= end) return tree;
  Grown::Ptr now = tree;
  if (tree->feature >= 0 && at.depth > 2) {
    const Cut cut{0, static_cast<std::size_t>(tree->feature), tree->bound};
    Grown::Ptr side[2] = {tree->left, tree->right};
    for (int s = 0; s < 2; ++s)
      if (side[s]->value > 0)
        side[s] =
            mend(child(at, cut.feature, cut.bound, s == 0), below(at, cut.feature), side[s], end);
    now = join(cut, side[0], side[1]);
  }
  if (now->value <= 0 || at.depth > 3) return now;
  const Grown::Ptr found = perfect(view, at, end);
  return found ? found : now;
}

// A tree without an error, or nothing: there may be some even so. Its cuts halve the rows by one of
// the two features that are purest if cut well: that leaves as few rows as can be for the last
// levels, where few are soon told apart. Where one side has no such tree, no wider one has, so that
// few cuts of a feature say much of all.
Grown::Ptr Anytime::perfect(View& view, const Place& at, std::uint64_t end) {
  constexpr std::size_t kFeatures = 2;
  constexpr int kCuts = 4;
  if (at.depth == 2) {
    Perfect::Two two;
    return perfect_->two(view, two) ? grown(two) : nullptr;
  }
  if (at.depth > 3) {
    const Grown::Ptr one = leaf(view, at);
    if (one->value <= 0) return one;
  }
  std::vector<Cut> tried = cuts(view, at, Impurity::gini, 1);
  if (tried.size() > kFeatures) tried.resize(kFeatures);
  if (at.depth == 3) {
    std::vector<std::size_t> features;
    for (const Cut& cut : tried) features.push_back(cut.feature);
    Perfect::Three three;
    return perfect_->three(view, features, kCuts, three) ? grown(three) : nullptr;
  }
  const std::int32_t rows = static_cast<std::int32_t>(view.rows());
  for (Cut cut : tried) {
    std::int32_t low = 0, high = rows;
    for (int i = 0; i < kCuts && spent() < end; ++i) {
      const std::int32_t middle =
          nearest_cut(view.ends(cut.feature), (low + high) / 2, low + 1, high - 1);
      if (middle < 0) break;
      cut.bound = static_cast<std::uint32_t>(view.sorted(cut.feature)[middle - 1]) + 1;
      Grown::Ptr side[2];
      const int smaller = 2 * middle <= rows ? 0 : 1;
      for (const int s : {smaller, 1 - smaller}) {
        side[s] = perfect(child(at, cut.feature, cut.bound, s == 0), below(at, cut.feature), end);
        if (side[s]) continue;
        (s == 0 ? high : low) = middle;
        break;
      }
      if (side[0] && side[1]) return join(cut, side[0], side[1]);
    }
  }
  return nullptr;
}

}  // namespace odt
