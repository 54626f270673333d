// The trees of a class, one by one: members of TreeGraph.
#include "odt/tree_graph.hpp"

#include <algorithm>

namespace odt {

const std::vector<GraphNode::Item>& TreeGraph::list(GraphNode& n, std::size_t at) {
  // Where sub-trees of one function count once, those that weigh less come first.
  for (std::size_t before = reduce_ ? 0 : at; before < at; ++before)
    if (!n.trees->classes[before].listed) list(n, before);
  Class& c = n.trees->classes[at];
  if (c.listed) return c.items;
  c.listed = true;
  each(n, c, [&](const Item& item) {
    c.items.push_back(item);
    return true;
  });
  if (reduce_) keep_new(n, c);
  charge(c.items.size() * sizeof(Item));
  control_.poll(c.items.size() + n.trees->splits.size() + n.trees->stumps.size());
  return c.items;
}

// Of sub-trees that compute one function keeps the best: a tree of another one is no better.
void TreeGraph::keep_new(GraphNode& n, Class& c) {
  std::stable_sort(c.items.begin(), c.items.end(), [](const Item& a, const Item& b) {
    return a.leaves != b.leaves ? a.leaves < b.leaves : a.depth < b.depth;
  });
  std::vector<Item> kept;
  for (const Item& item : c.items) {
    control_.poll(100);
    if (n.functions.insert(function_of(n, item)).second) kept.push_back(item);
  }
  c.items = std::move(kept);
}

Tree TreeGraph::tree_of(const GraphNode& n, const Item& item) const {
  Tree tree;
  build(n, item, tree);
  set_cuts(p_.base, tree);
  return tree;
}

int TreeGraph::build(const GraphNode& n, const Item& item, Tree& tree) const {
  const int at = static_cast<int>(tree.nodes.size());
  TreeNode made;
  tree.nodes.push_back(made);
  const auto leaf = [&](int label) {
    TreeNode node;
    node.label = label;
    tree.nodes.push_back(node);
    return static_cast<int>(tree.nodes.size()) - 1;
  };
  if (item.kind == Item::leaf) {
    made.label = static_cast<int>(item.which);
  } else if (item.kind == Item::stump) {
    const GraphNode::Stump& stump = n.trees->stumps[item.which];
    made.feature = static_cast<int>(stump.feature);
    made.cut = stump.bound - 1;
    made.left = leaf(stump.label[0]);
    made.right = leaf(stump.label[1]);
  } else {
    const GraphNode::Split& split = n.trees->splits[item.which];
    const GraphNode &left = *split.side[0], &right = *split.side[1];
    made.feature = static_cast<int>(split.feature);
    made.cut = split.bound - 1;
    made.left = build(left, left.trees->classes[item.left_class].items[item.left], tree);
    made.right = build(right, right.trees->classes[item.right_class].items[item.right], tree);
  }
  tree.nodes[static_cast<std::size_t>(at)] = made;
  return at;
}

// ---- functions

int TreeGraph::function_of(GraphNode& n, const Item& item) {
  form_.clear();
  add_function(n, item);
  return functions_.of(form_);
}

int TreeGraph::add_function(GraphNode& n, const Item& item) {
  const std::size_t at = form_.size();
  form_.emplace_back();
  const auto leaf = [&](int label) {
    form_.emplace_back();
    form_.back().label = label;
    return static_cast<int>(form_.size()) - 1;
  };
  FunctionNode made;
  if (item.kind == Item::leaf) {
    made.label = static_cast<int>(item.which);
  } else if (item.kind == Item::stump) {
    GraphNode::Stump& stump = n.trees->stumps[item.which];
    if (stump.region < 0) place(n, stump.feature, stump.bound, stump.region, stump.missing_left);
    made.region = stump.region;
    made.missing_left = stump.missing_left;
    made.left = leaf(stump.label[0]);
    made.right = leaf(stump.label[1]);
  } else {
    GraphNode::Split& split = n.trees->splits[item.which];
    if (split.region < 0) place(n, split.feature, split.bound, split.region, split.missing_left);
    GraphNode &left = *split.side[0], &right = *split.side[1];
    made.region = split.region;
    made.missing_left = split.missing_left;
    made.left = add_function(left, left.trees->classes[item.left_class].items[item.left]);
    made.right = add_function(right, right.trees->classes[item.right_class].items[item.right]);
  }
  form_[at] = made;
  return static_cast<int>(at);
}

// What of the feature space goes left at a split, and where missing cells go.
void TreeGraph::place(const GraphNode& n, std::size_t f, std::uint32_t bound, int& region,
                      bool& missing_left) {
  const FunctionSpace& space = listing_.space;
  const std::uint32_t* rank = p_.base.ranks(f);
  int low = 0, high = 0;
  if (!space.codes[f].empty()) {
    low = -1;
    high = space.values[f];
    for (std::uint32_t i : n.rows) {
      const int code = space.codes[f][i];
      if (code < 0 || code >= space.values[f]) continue;
      if (rank[i] < bound)
        low = std::max(low, code);
      else
        high = std::min(high, code);
    }
  }
  const int level = static_cast<int>(n.path.size());
  const std::vector<int> key{static_cast<int>(f), low, high, level};
  auto at = regions_.find(key);
  if (at == regions_.end()) {
    const int made = functions_.add(space.region(key[0], low, high, level));
    at = regions_.emplace(key, made).first;
  }
  region = at->second;
  missing_left = space.policy[f] == 0;
  if (space.policy[f] < 2) return;
  const std::vector<char>& absent = space.absent[f];
  const bool some = !absent.empty() && std::any_of(n.rows.begin(), n.rows.end(),
                                                   [&](std::uint32_t i) { return absent[i]; });
  std::int64_t heavier = 0;
  for (std::uint32_t i : n.rows) heavier += rank[i] < bound ? space.weight[i] : -space.weight[i];
  missing_left = some && space.own[f] < 2 ? space.own[f] == 0 : heavier >= 0;
}

// ---- counts

std::vector<BigCount> TreeGraph::without(int column) const {
  std::vector<BigCount> counts(classes_);
  std::vector<char> known(classes_, 0);
  add_without(column, *root_, counts, known);
  const auto first = counts.begin() + static_cast<std::ptrdiff_t>(root_->first);
  return {first, first + static_cast<std::ptrdiff_t>(root_->trees->classes.size())};
}

// Numbers the classes of all nodes.
void TreeGraph::number_classes() {
  classes_ = 0;
  for (Shelf& shelf : shelves_)
    for (auto& [key, n] : shelf.known) {
      n->first = classes_;
      classes_ += n->trees->classes.size();
    }
}

void TreeGraph::add_without(int column, const GraphNode& n, std::vector<BigCount>& counts,
                            std::vector<char>& known) const {
  const Trees& trees = *n.trees;
  if (trees.classes.empty() || known[n.first]) return;
  known[n.first] = 1;
  BigCount none;  // of what is no class: idle splits, that are added and taken off again
  const auto count_of = [&](const TreeKey& key) -> BigCount& {
    const auto at = std::lower_bound(trees.classes.begin(), trees.classes.end(), key,
                                     [](const Class& c, const TreeKey& k) { return c.key < k; });
    if (at == trees.classes.end() || !(at->key == key)) return none;
    return counts[n.first + static_cast<std::size_t>(at - trees.classes.begin())];
  };
  for (int label : n.labels)
    if (const TreeKey key = leaf_key(n.totals, label); key.weight <= trees.budget)
      count_of(key) += BigCount(1);
  for (const GraphNode::Stump& stump : trees.stumps)
    if (p_.column[stump.feature] != column) count_of(stump.key) += BigCount(1);
  for (const GraphNode::Split& split : trees.splits) {
    if (p_.column[split.feature] == column) continue;
    const GraphNode &left = *split.side[0], &right = *split.side[1];
    add_without(column, left, counts, known);
    add_without(column, right, counts, known);
    pairs(split, *left.trees, *right.trees, trees.budget,
          [&](const Class& l, const Class& r, const TreeKey& key) {
            const auto of = [&](const GraphNode& side, const Class& c) {
              return counts[side.first + static_cast<std::size_t>(&c - side.trees->classes.data())];
            };
            const BigCount a = of(left, l), b = of(right, r);
            if (!a.zero() && !b.zero()) count_of(key) += a * b;
          });
    if (listing_.collapse)
      idle_pairs(split, [&](const TreeKey& key) {
        if (key.weight <= trees.budget) count_of(key) -= BigCount(1);
      });
  }
  control_.poll(trees.splits.size() + trees.stumps.size() + 1);
}

}  // namespace odt
