#include "odt/finish.hpp"

#include <algorithm>

namespace odt {
namespace {

using Rows = std::vector<std::uint32_t>;

class Finisher {
 public:
  Finisher(const Problem& p, const LossModel& l) : p_(p), loss_(l) {}

  int build(const Plan& plan, int at, const Rows& rows, int state, Tree& tree) {
    const PlanNode& node = plan.nodes[static_cast<std::size_t>(at)];
    if (node.feature >= 0) {
      const std::size_t f = static_cast<std::size_t>(node.feature);
      const PartedRows parted(p_, f, node.bound, rows);
      // Sets of equal value may have been split in vain; such a split is not part of the tree.
      if (parted.side[0].empty()) return build(plan, node.right, rows, state, tree);
      if (parted.side[1].empty()) return build(plan, node.left, rows, state, tree);
      const int below = p_.after(state, f);
      return split(
          tree, parted, f, [&] { return build(plan, node.left, parted.side[0], below, tree); },
          [&] { return build(plan, node.right, parted.side[1], below, tree); });
    }
    if (node.stump) return stump(rows, state, node.must, tree);
    return leaf(rows, tree);
  }

 private:
  Loss row_loss(std::uint32_t row, int label) const {
    return loss_.loss(p_, row, static_cast<std::size_t>(label));
  }

  // Least loss and its first label.
  std::pair<Loss, int> best_label(const std::vector<Loss>& sums) const {
    const auto least = std::min_element(sums.begin(), sums.end());
    return {*least, static_cast<int>(least - sums.begin())};
  }
  std::vector<Loss> sums_of(const Rows& rows) const {
    std::vector<Loss> sums(static_cast<std::size_t>(loss_.labels), 0);
    for (std::uint32_t i : rows)
      for (int c = 0; c < loss_.labels; ++c) sums[static_cast<std::size_t>(c)] += row_loss(i, c);
    return sums;
  }

  int leaf(const Rows& rows, Tree& tree) const {
    TreeNode node;
    node.label = best_label(sums_of(rows)).second;
    tree.nodes.push_back(node);
    return static_cast<int>(tree.nodes.size()) - 1;
  }

  template <class Left, class Right>
  int split(Tree& tree, const PartedRows& parted, std::size_t feature, Left left,
            Right right) const {
    const int at = static_cast<int>(tree.nodes.size());
    TreeNode node;
    node.feature = static_cast<int>(feature);
    node.cut = parted.low;
    node.next = parted.high;
    tree.nodes.push_back(node);
    const int l = left(), r = right();
    const std::size_t a = static_cast<std::size_t>(at);
    // Both sides predict alike: the split goes, and a leaf's price with it.
    if (!p_.tests_must(feature) && tree.nodes[static_cast<std::size_t>(l)].feature < 0 &&
        tree.nodes[static_cast<std::size_t>(r)].feature < 0 &&
        tree.nodes[static_cast<std::size_t>(l)].label ==
            tree.nodes[static_cast<std::size_t>(r)].label) {
      tree.nodes[a] = tree.nodes[static_cast<std::size_t>(l)];
      tree.nodes.resize(a + 1);
      return at;
    }
    tree.nodes[a].left = l;
    tree.nodes[a].right = r;
    return at;
  }

  int stump(const Rows& rows, int state, bool must, Tree& tree) const {
    const std::vector<Loss> total = sums_of(rows);
    Loss best = must ? kInfinite : best_label(total).first - p_.leaf_price;
    Loss load = 0;
    for (std::uint32_t i : rows) load += p_.paths.weight.empty() ? 0 : p_.paths.weight[i];
    int feature = -1;
    std::uint32_t bound = 0;
    const std::size_t least = static_cast<std::size_t>(p_.leaf_rows);
    for (std::size_t f = 0; f < p_.features; ++f) {
      if (p_.after(state, f) < 0 || (must && !p_.tests_must(f))) continue;
      const Loss toll = p_.toll(state, f, load);
      Rows sorted = rows;
      const std::uint32_t* rank = p_.ranks(f);
      std::sort(sorted.begin(), sorted.end(),
                [&](std::uint32_t a, std::uint32_t b) { return rank[a] < rank[b]; });
      std::vector<Loss> low(total.size(), 0), high = total;
      for (std::size_t i = 0; i + 1 < sorted.size(); ++i) {
        for (std::size_t c = 0; c < total.size(); ++c) {
          const Loss x = row_loss(sorted[i], static_cast<int>(c));
          low[c] += x;
          high[c] -= x;
        }
        const std::uint32_t here = rank[sorted[i]], next = rank[sorted[i + 1]];
        if (here == next || !p_.gap_open(f, here, next) || i + 1 < least ||
            sorted.size() < i + 1 + least)
          continue;
        const Loss value = best_label(low).first + best_label(high).first + toll;
        if (value < best) {
          best = value;
          feature = static_cast<int>(f);
          bound = here + 1;
        }
      }
    }
    if (feature < 0) return leaf(rows, tree);
    const std::size_t f = static_cast<std::size_t>(feature);
    const PartedRows parted(p_, f, bound, rows);
    return split(
        tree, parted, f, [&] { return leaf(parted.side[0], tree); },
        [&] { return leaf(parted.side[1], tree); });
  }

  const Problem& p_;
  const LossModel& loss_;
};

}  // namespace

Finished finish(const Problem& problem, const LossModel& loss, const Plan& plan) {
  Rows rows(problem.rows);
  for (std::size_t i = 0; i < problem.rows; ++i) rows[i] = static_cast<std::uint32_t>(i);
  Finished done;
  Finisher(problem, loss).build(plan, 0, rows, 0, done.tree);
  done.value = evaluate(problem, done.tree);
  return done;
}

Loss evaluate(const Problem& p, const Tree& tree, std::vector<std::size_t>* held) {
  Loss value = 0;
  if (held) held->assign(tree.nodes.size(), 0);
  for (std::size_t i = 0; i < p.rows; ++i) {
    std::size_t at = 0;
    int state = 0;
    while (tree.nodes[at].feature >= 0) {
      const TreeNode& node = tree.nodes[at];
      const std::size_t f = static_cast<std::size_t>(node.feature);
      const bool left = p.ranks(f)[i] <= node.cut;
      if (!p.paths.weight.empty())
        value += p.toll(state, f, p.paths.weight[i]) - p.toll(state, f, 0);
      state = p.after(state, f);
      at = static_cast<std::size_t>(left ? node.left : node.right);
    }
    if (held) ++(*held)[at];
    const std::size_t label = static_cast<std::size_t>(p.label[i]),
                      given = static_cast<std::size_t>(tree.nodes[at].label);
    const Loss loss = p.cost.empty() ? static_cast<Loss>(label != given)
                                     : p.cost[label * static_cast<std::size_t>(p.classes) + given];
    value += p.weight.empty() ? loss : p.weight[i] * loss;
  }
  for (const TreeNode& node : tree.nodes)
    value += node.feature < 0 ? p.leaf_price : p.toll(0, static_cast<std::size_t>(node.feature), 0);
  return value;
}

}  // namespace odt
