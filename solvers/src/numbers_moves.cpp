// Moves of the anytime search for number targets: a subtree in place of another.
#include "odt/numbers_anytime.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace odt {

// The best cut for the two subtrees as they are: rows are sent to the one that loses less on them,
// as far as one cut can. Leaves have their best outputs without rules, of the rows that they have
// now. What is below is counted anew by `measure`.
bool NumberAnytime::recut(const View& view, const Ptr& tree, Cut& cut) {
  std::vector<double> lost[2];
  for (auto& side : lost) side.assign(view.rows, 0.0);
  const Cut now = cut_of(view, *tree);
  const std::uint32_t* along = view.of(now.feature);
  std::vector<double> output(data_.targets);
  std::vector<std::uint32_t> all(view.rows);
  for (std::uint32_t i = 0; i < view.rows; ++i) all[i] = i;
  // Rows are places in `along`. Of those that come to a node, `own` says which are its rows now.
  const std::function<void(const NumberTree&, const std::vector<std::uint32_t>&, std::size_t)>
      walk =
          [&](const NumberTree& node, const std::vector<std::uint32_t>& places, std::size_t side) {
            if (places.empty()) return;
            if (node.feature < 0) {
              std::vector<std::uint32_t> rows;
              for (std::uint32_t k : places)
                if ((k >= now.place) == (side == 1)) rows.push_back(along[k]);
              losses_.outputs(rows, output.data());
              for (std::uint32_t k : places) lost[side][k] = losses_.lost(along[k], output.data());
              return;
            }
            std::vector<std::uint32_t> parts[2];
            const auto& cell = data_.cell[static_cast<std::size_t>(node.feature)];
            for (std::uint32_t k : places) parts[cell[along[k]] > node.cell].push_back(k);
            walk(*node.left, parts[0], side);
            walk(*node.right, parts[1], side);
          };
  walk(*tree->left, all, 0);
  walk(*tree->right, all, 1);
  std::vector<double> gain(data_.rows);  // of going left
  double right = 0, before = 0;
  for (std::size_t k = 0; k < view.rows; ++k) {
    gain[along[k]] = lost[1][k] - lost[0][k];
    right += lost[1][k];
    before += k < now.place ? lost[0][k] : lost[1][k];
  }
  double best = before - 1e-9 * std::fabs(before);
  bool found = false;
  for (std::size_t f = 0; f < data_.features; ++f) {
    if (after(view.state, f) < 0) continue;
    const std::uint32_t* order = view.of(f);
    double value = right;
    for (std::size_t i = 0; i + 1 < view.rows; ++i) {
      value -= gain[order[i]];
      if (value >= best || !stands(order, f, i + 1, level_of(view))) continue;
      best = value;
      cut = {0, f, data_.cell[f][order[i]], i + 1};
      found = true;
    }
  }
  control_.poll(view.rows * (data_.features + static_cast<std::size_t>(depth_) * data_.targets));
  return found;
}

// The tree on these rows: its cuts with what they lose here, without those that part nothing or do
// not pay; nothing where a leaf would be too small, or the rules allow neither the split nor a
// leaf.
NumberAnytime::Ptr NumberAnytime::measure(const View& view, const Place& at, const Ptr& tree) {
  if (view.rows < data_.least || view.rows == 0) return nullptr;
  const Ptr one = leaf(view);
  if (tree->feature < 0) return one->value < kNoTree ? one : nullptr;
  const Cut cut = cut_of(view, *tree);
  if (cut.place == 0) return measure(view, at, tree->right);
  if (cut.place == view.rows) return measure(view, at, tree->left);
  const Ptr alone = one->value < kNoTree ? one : nullptr;
  if (!admits(view, cut)) return alone;
  const Place next{at.level + 1, at.depth - 1};
  const Ptr left = measure(child(at, cut, true), next, tree->left);
  const Ptr right = left ? measure(child(at, cut, false), next, tree->right) : nullptr;
  if (!right) return data_.rules->none() ? nullptr : alone;
  return left->value + right->value < one->value ? join(one->single, cut, left, right) : one;
}

NumberAnytime::Ptr NumberAnytime::read(const View& view, const Place& at, const Plan& plan,
                                       int node) {
  const PlanNode& n = plan.nodes[static_cast<std::size_t>(node)];
  if (view.rows < data_.least || view.rows == 0) return nullptr;
  const Ptr one = leaf(view);
  if (n.feature < 0) {
    const Ptr found = n.stump && at.depth > 0 ? stump(view, one) : one;
    return found->feature < 0
               ? found
               : measure(view, at, found);  // it may stand high: moves ask what each half loses
  }
  const std::size_t f = static_cast<std::size_t>(n.feature);
  const std::uint32_t below = data_.counts[f][n.bound];
  const std::size_t place = below == 0 ? 0 : place_of(view, f, below - 1);
  if (place == 0) return read(view, at, plan, n.right);
  if (place == view.rows) return read(view, at, plan, n.left);
  const Cut cut{0, f, below - 1, place};
  if (!admits(view, cut)) return nullptr;
  const Place next{at.level + 1, at.depth - 1};
  const Ptr left = read(child(at, cut, true), next, plan, n.left);
  const Ptr right = left ? read(child(at, cut, false), next, plan, n.right) : nullptr;
  return right ? join(one->single, cut, left, right) : nullptr;
}

// The same upper cuts with the best bottoms, then better cuts for these, as long as that helps.
NumberAnytime::Ptr NumberAnytime::polish(const View& view, const Place& at, const Ptr& tree) {
  if (at.depth <= 2) {
    const Ptr found = bottom(view, at, tree->value, {kAll, 0, false});
    return found ? found : tree;
  }
  if (tree->feature < 0) return tree;
  Ptr now = tree;
  Cut cut = cut_of(view, *tree);
  for (int round = 0; round < 4; ++round) {
    Ptr side[2];
    for (std::size_t s = 0; s < 2; ++s) {
      const View& part = child(at, cut, s == 0);
      const Place next{at.level + 1, at.depth - 1};
      const Ptr& old = s == 0 ? now->left : now->right;
      // After a new cut the rows below are others: what the old subtree loses on them is counted
      // anew.
      const Ptr here = round == 0 ? old : measure(part, next, old);
      if (!here) return now;
      side[s] = polish(part, next, here);
    }
    const Ptr made = join(tree->single, cut, side[0], side[1]);
    if (round > 0 && made->value >= now->value) break;
    now = made;
    if (!recut(view, now, cut)) break;
  }
  return now;
}

bool NumberAnytime::shifted(const View& view, const NumberTree& tree, Cut& cut) {
  const Cut now = cut_of(view, tree);
  const double reach = std::exp(dice_.real() * std::log(static_cast<double>(view.rows)));
  const std::ptrdiff_t step = std::max<std::ptrdiff_t>(1, static_cast<std::ptrdiff_t>(reach)) *
                              (dice_.real() < 0.5 ? -1 : 1);
  const std::ptrdiff_t least = static_cast<std::ptrdiff_t>(data_.least),
                       last = static_cast<std::ptrdiff_t>(view.rows) - least;
  if (least > last) return false;
  std::ptrdiff_t place =
      std::min(last, std::max(least, static_cast<std::ptrdiff_t>(now.place) + step));
  const std::uint32_t* order = view.of(now.feature);
  const auto open = [&](std::ptrdiff_t i) {
    return i > 0 && i < static_cast<std::ptrdiff_t>(view.rows) &&
           stands(order, now.feature, static_cast<std::size_t>(i), level_of(view));
  };
  while (place >= least && place <= last && !open(place)) place += step < 0 ? -1 : 1;
  if (place < least || place > last || !open(place)) return false;
  cut = {0, now.feature, data_.cell[now.feature][order[place - 1]],
         static_cast<std::size_t>(place)};
  return true;
}

// A new subtree in place of one: another cut, and below it old subtrees polished, new ones grown or
// looked for.
NumberAnytime::Ptr NumberAnytime::replace(const View& view, const Place& at, const Ptr& tree) {
  if (!may_split(view)) return tree;
  Cut cut{0, 0, 0, 0};
  if (tree->feature >= 0 && dice_.real() < 0.5) {
    if (!shifted(view, *tree, cut)) return tree;
  } else {
    const std::vector<Cut> good = cuts(view, 3, dice_.real() < 0.5);
    if (good.empty()) return tree;
    const double u = dice_.real();
    cut = good[static_cast<std::size_t>(
        u * u * static_cast<double>(std::min<std::size_t>(good.size(), 24)))];
  }
  const Place next{at.level + 1, at.depth - 1};
  const double upper = tree->value * 1.03, price = data_.price + extra_;
  Ptr side[2];
  for (std::size_t s = 0; s < 2; ++s) {
    const View& part = child(at, cut, s == 0);
    const double taken = s == 0 ? price : side[0]->value, way = dice_.real();
    if (tree->feature >= 0 && way < 0.4) {
      const Ptr here = measure(part, next, s == 0 ? tree->left : tree->right);
      side[s] = here ? polish(part, next, here) : look(part, next, 3, 5, cap_);
    } else if (way < 0.7) {
      side[s] = grow(part, next, upper - taken, {cap_, 0.25, dice_.real() < 0.5});
    } else {
      side[s] = look(part, next, 3, 5, cap_);
    }
    if (!side[s] || side[s]->value + taken >= upper) return tree;
  }
  const Ptr made = polish(view, at, join(tree->single, cut, side[0], side[1]));
  return made->value <= tree->value ? made : tree;
}

// Goes down to a node of the wanted height, to the child that loses more with the better chance,
// and replaces its subtree.
NumberAnytime::Ptr NumberAnytime::move(const View& view, const Place& at, const Ptr& tree,
                                       int height) {
  const double price = data_.price + extra_;
  if (at.depth <= height || tree->feature < 0)
    return tree->value <= price ? tree : replace(view, at, tree);
  const double left = tree->left->value - price * tree->left->leaves,
               right = tree->right->value - price * tree->right->leaves;
  const double floor = 1e-3 * tree->value;
  const bool low = dice_.real() * (left + right + 2 * floor) < left + floor;
  const Ptr& old = low ? tree->left : tree->right;
  const Ptr made =
      move(child(at, cut_of(view, *tree), low), {at.level + 1, at.depth - 1}, old, height);
  if (made == old) return tree;
  const Cut cut{0, static_cast<std::size_t>(tree->feature), tree->cell, 0};
  return low ? join(tree->single, cut, made, tree->right)
             : join(tree->single, cut, tree->left, made);
}

}  // namespace odt
