// Moves of the anytime search: a subtree in place of another.
#include <algorithm>
#include <cmath>

#include "odt/anytime.hpp"

namespace odt {

// The best cut for the two subtrees as they are: rows are sent to the one that loses less on them,
// as far as one cut can. What is below is not looked at: it may break a rule, and has the values of
// before (see `measure`).
Grown::Ptr Anytime::recut(View& view, const Place& at, const Grown::Ptr& tree) {
  const std::size_t rows = view.rows();
  std::vector<Loss> gain(p_.rows, 0);  // of going left
  const std::uint32_t* tested = p_.ranks(static_cast<std::size_t>(tree->feature));
  Loss all_right = 0, now = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::uint32_t row = view.order(0)[i];
    const Loss left =
        data_.loss.loss(p_, row, static_cast<std::size_t>(predicted(*tree->left, row)));
    const Loss right =
        data_.loss.loss(p_, row, static_cast<std::size_t>(predicted(*tree->right, row)));
    gain[row] = right - left;
    all_right += right;
    now += tested[row] < tree->bound ? left : right;
  }
  Loss best = now;
  Cut cut{0, 0, 0};
  for (std::size_t f = 0; f < p_.features; ++f) {
    const int state = p_.after(at.state, f);
    if (!view.splittable(f) || !open(at, f) ||
        (!p_.next.empty() && state != p_.after(at.state, static_cast<std::size_t>(tree->feature))))
      continue;
    const std::uint32_t* order = view.order(f);
    const std::uint64_t* ends = view.ends(f);
    Loss value = all_right;
    for (std::size_t i = 0; i + 1 < rows; ++i) {
      value -= gain[order[i]];
      if (value >= best || !(ends[i / kBlock] >> (i % kBlock) & 1) ||
          !may_cut(at, f, view.sorted(f)[i], view.sorted(f)[i + 1]))
        continue;
      best = value;
      cut = {0, f, static_cast<std::uint32_t>(view.sorted(f)[i]) + 1};
    }
  }
  control_.poll(rows * p_.features / 16 + 1);
  if (cut.bound == 0) return tree;
  auto moved = std::make_shared<Grown>(*join(cut, tree->left, tree->right, tree->price));
  moved->value = tree->value - now + best;
  return moved;
}

// The same upper cuts with the best bottoms, then better cuts for these, as long as that helps.
Grown::Ptr Anytime::polish(View& view, const Place& at, const Grown::Ptr& tree) {
  if (at.depth <= 2) {
    const Grown::Ptr found =
        bottom(view, at, tree->value, {Impurity::gini, static_cast<std::size_t>(-1), 0});
    return found ? found : tree;
  }
  if (tree->feature < 0 || tree->settled) return tree;
  Grown::Ptr now = tree, cut_anew = tree;
  for (int round = 0; round < 4; ++round) {
    const Cut cut{0, static_cast<std::size_t>(cut_anew->feature), cut_anew->bound};
    const Place next = below(at, cut.feature);
    Grown::Ptr side[2];
    for (int s = 0; s < 2; ++s) {
      View& part = child(at, cut.feature, cut.bound, s == 0);
      const Grown::Ptr& old = s == 0 ? cut_anew->left : cut_anew->right;
      // After a new cut the rows below are others: what the old subtree loses on them is counted
      // anew.
      const Grown::Ptr here = round == 0 ? old : measure(part, next, plan_of(*old), 0);
      if (!here) return now;
      side[s] = polish(part, next, here);
    }
    const Grown::Ptr made = join(cut, side[0], side[1], split_price(view, at, cut.feature));
    if (made->value > now->value) break;
    now = made;
    cut_anew = recut(view, at, now);
    if (cut_anew == now) break;
  }
  return now;
}

Grown::Ptr Anytime::settled(const Grown& tree) {
  auto same = std::make_shared<Grown>(tree);
  same->settled = true;
  return same;
}

// The best subtree of depth three, for nodes of that height.
Grown::Ptr Anytime::exact_three(View& view, const Place& at, const Grown::Ptr& tree) {
  const Sketch& found = sketch(view, at, 0, tree->value);
  const Grown::Ptr& best = found.tree && found.tree->value < tree->value ? found.tree : tree;
  return found.solved() ? settled(*best) : best;
}

Anytime::Cut Anytime::shifted(View& view, std::size_t feature, std::uint32_t bound) {
  const std::size_t rows = view.rows();
  const Ranks sorted = view.sorted(feature);
  const auto here = static_cast<std::int32_t>(sorted.below(bound, rows));
  const double reach = std::exp(dice_.real() * std::log(static_cast<double>(rows)));
  const std::int32_t step =
      std::max<std::int32_t>(1, static_cast<std::int32_t>(reach)) * (dice_.real() < 0.5 ? -1 : 1);
  const std::int32_t last = static_cast<std::int32_t>(rows) - least_;
  const std::int32_t want = std::min(last, std::max(least_, here + step));
  if (least_ > last) return {0, feature, 0};
  const std::int32_t cut = nearest_cut(view.ends(feature), want, least_, last);
  return {0, feature,
          cut <= 0 || cut >= static_cast<std::int32_t>(rows)
              ? 0
              : static_cast<std::uint32_t>(sorted[cut - 1]) + 1u};
}

// Moves inside a new subtree, for as long as they bring it nearer to the value of the old one: that
// has had such moves.
Grown::Ptr Anytime::catch_up(View& view, const Place& at, Grown::Ptr tree, Loss value) {
  nested_ = true;
  const int moves = 2 << (at.depth - 3);
  for (bool nearer = true; nearer && tree->value > value;) {
    const Loss gap = tree->value - value;
    for (int i = 0; i < moves; ++i) {
      int height = 3;
      while (height + 1 < at.depth && dice_.real() < 0.5) ++height;
      const Grown::Ptr made = move(view, at, tree, height);
      if (made->value <= tree->value) tree = made;
    }
    nearer = 4 * (tree->value - value) <= 3 * gap;
  }
  nested_ = false;
  return tree;
}

// A new subtree in place of one: another cut, and below it what can be reached.
Grown::Ptr Anytime::replace_far(View& view, const Place& at, const Grown::Ptr& tree) {
  if (at.depth == 4) return climb(view, at, tree);
  const double part = 0.1 * std::floor(5 * dice_.real());
  Cut cut{0, 0, 0};
  if (tree->feature >= 0 && dice_.real() < 0.5) {
    cut = shifted(view, static_cast<std::size_t>(tree->feature), tree->bound);
  } else {
    const std::vector<Cut>& good = sketch(view, at, std::max(part, 0.2), kInfinite).cuts;
    const double u = dice_.real();
    if (!good.empty())
      cut = good[static_cast<std::size_t>(u * u * static_cast<double>(good.size()))];
  }
  if (cut.bound == 0) return tree;
  const Grown::Ptr made = reach_below(at, cut, {part, part}, tree->value + 1);
  return made ? made : tree;
}

// The first cuts to shift at a node of height four: at first those of trees of depth three.
std::vector<Anytime::FirstCut>& Anytime::first_cuts(View& view, const Place& at) {
  const std::vector<Cut>& met = sketch(view, at, 0.1, kInfinite).cuts;
  std::vector<FirstCut>& known = sketches_[key_of(view, at)].first;
  if (known.empty())
    for (const Cut& cut : met) known.push_back({cut.feature, cut.bound, kInfinite});
  return known;
}

// A tree of depth four in place of one. Of each feature the best first cut so far is remembered,
// and shifted once all have been tried. The sides are sketched, and solved where that is promising.
Grown::Ptr Anytime::climb(View& view, const Place& at, const Grown::Ptr& tree) {
  std::vector<FirstCut>& known = first_cuts(view, at);
  if (known.empty()) return tree;
  Loss upper = tree->value + tree->value / 8 + 1;
  const auto untried = std::find_if(known.begin(), known.end(),
                                    [](const FirstCut& cut) { return cut.value == kInfinite; });
  Cut cut{0, 0, 0};
  if (untried != known.end()) {
    cut = {0, untried->feature, untried->bound};
    untried->value = upper;
  } else {
    const double u = dice_.real();
    const FirstCut& from =
        known[static_cast<std::size_t>(u * u * static_cast<double>(known.size()))];
    cut = shifted(view, from.feature, from.bound);
    if (cut.bound == 0) return tree;
    upper = std::min(upper, from.value);
    // A sketch may miss what a solve finds.
    if (dice_.real() < 0.25) upper = 0;
  }
  if (upper > 0) {
    Grown::Ptr made = reach_below(at, cut, {0.3, 0.3}, upper);
    if (!made) return tree;
    remember(first_cuts(view, at), cut, made->value);
    const Loss near = tree->value + tree->value / 32 + 1;
    if (made->value <= near + tree->value / 32) made = reach_below(at, cut, {0.1, 0.1}, near);
    if (!made) return tree;
  }
  const Grown::Ptr made = reach_below(at, cut, {0, 0}, tree->value + 1);
  return made ? made : tree;
}

// A feature's first cut, if it is better than the one known; the best feature comes first.
void Anytime::remember(std::vector<FirstCut>& known, const Cut& cut, Loss value) {
  for (FirstCut& one : known)
    if (one.feature == cut.feature && one.value > value) one = {cut.feature, cut.bound, value};
  std::stable_sort(known.begin(), known.end(),
                   [](const FirstCut& a, const FirstCut& b) { return a.value < b.value; });
}

// A new subtree in place of one: another cut, and below it old subtrees polished, new ones grown or
// looked for.
Grown::Ptr Anytime::replace(View& view, const Place& at, const Grown::Ptr& tree) {
  Cut cut{0, 0, 0};
  if (tree->feature >= 0 && dice_.real() < 0.5) {
    cut = shifted(view, static_cast<std::size_t>(tree->feature), tree->bound);
  } else {
    std::vector<Cut> good =
        cuts(view, at, dice_.real() < 0.5 ? Impurity::gini : Impurity::entropy, 3);
    if (good.empty()) return tree;
    const double u = dice_.real();
    cut = good[static_cast<std::size_t>(
        u * u * static_cast<double>(std::min<std::size_t>(good.size(), 24)))];
  }
  if (cut.bound == 0) return tree;
  const std::size_t cap = 2 * p_.features + 10;
  const Place next = below(at, cut.feature);
  if (next.state < 0) return tree;
  const Loss price = split_price(view, at, cut.feature);
  const Loss slack = at.depth >= 5 && top_.depth >= 6 && !nested_
                         ? tree->value / 8 + 2 * data_.loss.each
                         : tree->value * 3 / 100 + 1;
  const Loss upper = tree->value + slack - price;
  Grown::Ptr side[2];
  for (int s = 0; s < 2; ++s) {
    View& part = child(at, cut.feature, cut.bound, s == 0);
    if (part.rows() == 0) return tree;
    const double way = dice_.real();
    const bool old = tree->feature >= 0 && way < 0.4;
    if (old && (p_.next.empty() ||
                next.state == p_.after(at.state, static_cast<std::size_t>(tree->feature)))) {
      const Grown::Ptr here = measure(part, next, plan_of(s == 0 ? *tree->left : *tree->right), 0);
      side[s] = here ? polish(part, next, here)
                     : look(part, next, 3, 5, cap, upper - (s == 0 ? price_ : side[0]->value));
    } else if (way < 0.7) {
      side[s] = grow(part, next, upper - (s == 0 ? price_ : side[0]->value),
                     {dice_.real() < 0.5 ? Impurity::gini : Impurity::entropy, cap, 0.25});
    } else {
      side[s] = look(part, next, 3, 5, cap, upper - (s == 0 ? price_ : side[0]->value));
    }
    if (!side[s] || side[s]->value + (s == 0 ? price_ : side[0]->value) >= upper) return tree;
  }
  Grown::Ptr made = polish(view, at, join(cut, side[0], side[1], price));
  if (at.depth >= 5 && top_.depth >= 6 && !nested_) made = catch_up(view, at, made, tree->value);
  return made->value <= tree->value ? made : tree;
}

// Goes down to a node of the wanted height, to the child that loses more with the better chance,
// and replaces its subtree.
Grown::Ptr Anytime::move(View& view, const Place& at, const Grown::Ptr& tree, int height) {
  if (at.depth <= height || tree->feature < 0) {
    if (tree->value <= price_) return tree;
    if (tree->settled) return tree;
    const bool far =
        !nested_ && sketches(view, at) && far_work_ <= (top_.depth == 4 ? 4 : 1) * near_work_;
    const std::uint64_t began = spent();
    const Grown::Ptr made = !far            ? replace(view, at, tree)
                            : at.depth == 3 ? exact_three(view, at, tree)
                                            : replace_far(view, at, tree);
    if (!nested_) (far ? far_work_ : near_work_) += spent() - began;
    return made;
  }
  const double lost[2] = {
      static_cast<double>(tree->left->value - price_ * tree->left->leaves) + 0.01,
      static_cast<double>(tree->right->value - price_ * tree->right->leaves) + 0.01};
  const int s = dice_.real() * (lost[0] + lost[1]) < lost[0] ? 0 : 1;
  const Cut cut{0, static_cast<std::size_t>(tree->feature), tree->bound};
  View& part = child(at, cut.feature, cut.bound, s == 0);
  const Grown::Ptr& old = s == 0 ? tree->left : tree->right;
  const Grown::Ptr made = move(part, below(at, cut.feature), old, height);
  if (made == old) return tree;
  return s == 0 ? join(cut, made, tree->right, tree->price)
                : join(cut, tree->left, made, tree->price);
}

// The best tree that tests the column that must be tested by one split in place of a subtree.
Grown::Ptr Anytime::forced(View& view, const Place& at, const Grown::Ptr& tree) {
  if (at.depth == 0) return nullptr;
  Grown::Ptr best = stump(view, at, true);
  if (tree->feature < 0) return best;
  const Cut cut{0, static_cast<std::size_t>(tree->feature), tree->bound};
  const Place next = below(at, cut.feature);
  for (int s = 0; s < 2; ++s) {
    const Grown::Ptr& old = s == 0 ? tree->left : tree->right;
    const Grown::Ptr made = forced(child(at, cut.feature, cut.bound, s == 0), next, old);
    if (!made) continue;
    const Grown::Ptr whole = s == 0 ? join(cut, made, tree->right, tree->price)
                                    : join(cut, tree->left, made, tree->price);
    if (!best || whole->value < best->value) best = whole;
  }
  return best;
}

}  // namespace odt
