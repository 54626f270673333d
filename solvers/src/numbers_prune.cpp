#include "odt/numbers_prune.hpp"

#include <algorithm>
#include <limits>

namespace odt {
namespace {

using Ptr = NumberTree::Ptr;

// Per number of leaves, from one: the least loss of a pruned subtree, and how many of them are to
// the left.
struct Choices {
  std::vector<double> value;
  std::vector<int> left;
  std::unique_ptr<Choices> side[2];
};

Choices choose(const NumberTree& tree, std::size_t most, double price) {
  Choices all;
  const std::size_t count = std::min(most, static_cast<std::size_t>(tree.leaves));
  all.value.assign(count, tree.single - price);
  all.left.assign(count, 0);
  if (tree.feature < 0 || count < 2) return all;
  all.side[0] = std::make_unique<Choices>(choose(*tree.left, most - 1, price));
  all.side[1] = std::make_unique<Choices>(choose(*tree.right, most - 1, price));
  const std::vector<double>&low = all.side[0]->value, &high = all.side[1]->value;
  for (std::size_t a = 0; a < low.size(); ++a)
    for (std::size_t b = 0; b < high.size() && a + b + 1 < count; ++b) {
      const double value = low[a] + high[b];
      if (value >= all.value[a + b + 1]) continue;
      all.value[a + b + 1] = value;
      all.left[a + b + 1] = static_cast<int>(a) + 1;
    }
  for (std::size_t k = 1; k < count; ++k)
    if (all.value[k] >= all.value[k - 1]) {
      all.value[k] = all.value[k - 1];
      all.left[k] = -1;  // no better than with one leaf less
    }
  return all;
}

Ptr made(const NumberTree& tree, const Choices& all, std::size_t k, double price) {
  while (k > 0 && all.left[k] < 0) --k;
  auto node = std::make_shared<NumberTree>();
  node->single = node->value = tree.single - price;
  if (k == 0 || all.left[k] == 0) return node;
  const std::size_t a = static_cast<std::size_t>(all.left[k]) - 1;
  node->feature = tree.feature;
  node->cell = tree.cell;
  node->left = made(*tree.left, *all.side[0], a, price);
  node->right = made(*tree.right, *all.side[1], k - a - 1, price);
  node->value = node->left->value + node->right->value;
  node->leaves = node->left->leaves + node->right->leaves;
  return node;
}

}  // namespace

Ptr pruned(const Ptr& tree, int leaves, double price) {
  const Choices all = choose(*tree, static_cast<std::size_t>(leaves), price);
  return made(*tree, all, all.value.size() - 1, price);
}

Ptr repriced(const Ptr& tree, double before, double after) {
  auto node = std::make_shared<NumberTree>();
  node->single = node->value = tree->single - before + after;
  if (tree->feature < 0) return node;
  const Ptr left = repriced(tree->left, before, after),
            right = repriced(tree->right, before, after);
  if (left->value + right->value >= node->value) return node;
  node->value = left->value + right->value;
  node->feature = tree->feature;
  node->cell = tree->cell;
  node->leaves = left->leaves + right->leaves;
  node->left = left;
  node->right = right;
  return node;
}

}  // namespace odt
