#include "odt/anytime_limits.hpp"

#include <algorithm>
#include <numeric>

namespace odt {

Prunings::Prunings(const Dataset& data, const Grown& tree, int leaves, bool must)
    : data_(data), leaves_(leaves > 0 ? std::min(leaves, tree.leaves) : tree.leaves), must_(must) {
  std::vector<std::uint32_t> rows(data.rows());
  std::iota(rows.begin(), rows.end(), 0u);
  root_ = node(tree, rows.data(), rows.size());
}

// Rows of a node are moved so that those of its left child come first.
Prunings::Node Prunings::node(const Grown& tree, std::uint32_t* rows, std::size_t count) {
  const Problem& p = data_.problem;
  const std::size_t labels = static_cast<std::size_t>(data_.loss.labels),
                    most = static_cast<std::size_t>(std::min(leaves_, tree.leaves));
  std::vector<Loss> sums(labels, 0);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t c = 0; c < labels; ++c) sums[c] += data_.loss.loss(p, rows[i], c);
  Node made;
  made.tree = &tree;
  made.any.assign(most + 1, kInfinite);
  made.with = made.any;
  const auto least = std::min_element(sums.begin(), sums.end());
  made.label = static_cast<int>(least - sums.begin());
  made.any[1] = *least;
  if (tree.feature < 0) return made;
  const std::size_t f = static_cast<std::size_t>(tree.feature);
  const std::uint32_t* rank = p.ranks(f);
  const std::size_t left = static_cast<std::size_t>(
      std::stable_partition(rows, rows + count,
                            [&](std::uint32_t i) { return rank[i] < tree.bound; }) -
      rows);
  made.left = std::make_unique<Node>(node(*tree.left, rows, left));
  made.right = std::make_unique<Node>(node(*tree.right, rows + left, count - left));
  const bool tests = p.tests_must(f);
  const Node &l = *made.left, &r = *made.right;
  for (std::size_t a = 1; a < l.any.size(); ++a)
    for (std::size_t b = 1; b < r.any.size() && a + b <= most; ++b) {
      made.any[a + b] = std::min(made.any[a + b], l.any[a] + r.any[b]);
      const Loss with =
          tests ? l.any[a] + r.any[b] : std::min(l.with[a] + r.any[b], l.any[a] + r.with[b]);
      made.with[a + b] = std::min(made.with[a + b], with);
    }
  return made;
}

int Prunings::best(Loss price) const {
  int found = 0;
  Loss least = kInfinite;
  for (std::size_t j = 1; j < losses().size(); ++j) {
    if (losses()[j] >= kInfinite) continue;
    const Loss value = losses()[j] + price * static_cast<Loss>(j);
    if (value >= least) continue;
    least = value;
    found = static_cast<int>(j);
  }
  return found;
}

Grown::Ptr Prunings::made(const Node& node, int leaves, bool with, Loss price) const {
  auto tree = std::make_shared<Grown>();
  const std::size_t j = static_cast<std::size_t>(leaves);
  tree->value = (with ? node.with : node.any)[j] + price * leaves;
  tree->leaves = leaves;
  tree->label = node.label;
  if (leaves == 1) return tree;
  const Node &l = *node.left, &r = *node.right;
  const bool tests = data_.problem.tests_must(static_cast<std::size_t>(node.tree->feature));
  const Loss wanted = (with ? node.with : node.any)[j];
  for (std::size_t a = 1; a < l.any.size() && a < j; ++a) {
    const std::size_t b = j - a;
    if (b >= r.any.size()) continue;
    for (int way = 0; way < 3; ++way) {  // which side tests the column
      if ((way == 0) != (!with || tests)) continue;
      const Loss left = way == 1 ? l.with[a] : l.any[a], right = way == 2 ? r.with[b] : r.any[b];
      if (left + right != wanted) continue;
      tree->feature = node.tree->feature;
      tree->bound = node.tree->bound;
      tree->label = -1;
      tree->left = made(l, static_cast<int>(a), way == 1, price);
      tree->right = made(r, static_cast<int>(b), way == 2, price);
      return tree;
    }
  }
  throw std::logic_error("a pruning is lost");
}

namespace {

int levels_of(const Grown& tree) {
  return tree.feature < 0 ? 0 : 1 + std::max(levels_of(*tree.left), levels_of(*tree.right));
}

}  // namespace

// Few leaves lie near the root, where moves in a deep tree seldom begin and take long. So most
// steps have no more room than the tree takes, or than so many leaves need. And moves from one tree
// with few leaves soon end, so that half of the steps grow another.
void Anytime::step_within(int leaves) {
  const int depth = top_.depth;
  if (leaves == 0 || leaves >= full_leaves(std::min(depth, 20)) ||
      static_cast<std::size_t>(leaves) >= p_.rows || !best_)
    return step();
  if (dice_.real() < 0.75) {
    int room = std::max(1, levels_of(*best_));
    while (room < depth && (std::int64_t{1} << std::min(room, 40)) < leaves) ++room;
    top_.depth = std::min(room, depth);
  }
  if (dice_.real() < 0.5)
    grow_anew(leaves);
  else
    step();
  top_.depth = depth;
}

// Another tree than the best, grown with some luck, pruned and polished.
void Anytime::grow_anew(int leaves) {
  View& root = *views_[0];
  const std::size_t most = dice_.real() < 0.5 ? 0 : 2 * p_.features + 10;
  const double noise = dice_.real() * 0.6;
  const Grown::Ptr tree =
      grow(root, top_, kInfinite,
           {dice_.real() < 0.5 ? Impurity::gini : Impurity::entropy, most, noise});
  if (!tree) return;
  Grown::Ptr pruned = tree;
  if (tree->leaves > leaves) {
    const Prunings within(data_, *tree, leaves, false);
    pruned = within.tree(within.best(price_), price_);
  }
  offer(polish(root, top_, pruned));
  offer(tree);  // the price is learnt from the last
}

// Between the prices at which one leaf less and one leaf more than the limit would be best.
void LimitedAnytime::learn(const std::vector<Loss>& losses) {
  const std::size_t k = static_cast<std::size_t>(most_);
  if (most_ == 0) return;
  if (losses.size() <= k + 1) {  // too dear for more leaves
    low_ /= 2;
    return;
  }
  double low = 0, high = kInfinite;
  for (std::size_t j = 1; j < losses.size(); ++j) {
    if (j == k || losses[j] >= kInfinite || losses[k] >= kInfinite) continue;
    const double slope = static_cast<double>(losses[k] - losses[j]) /
                         (static_cast<double>(j) - static_cast<double>(k));
    if (j > k)
      low = std::max(low, slope);
    else
      high = std::min(high, slope);
  }
  low_ = std::min(low, high);
  high_ = std::min(std::max(low, high), 4 * low + 2);
}

void LimitedAnytime::reprice() {
  const double wish = low_ + dice_.real() * (high_ - low_);
  const Loss price = own_price_ + std::max<Loss>(0, static_cast<Loss>(std::llround(wish)));
  if (price == price_) return;
  priced_.leaf_price = price_ = price;
  forget();
  if (best_) best_ = measure(*views_[0], top_, plan_of(*best_), 0);
}

void LimitedAnytime::offer(const Grown::Ptr& tree) {
  if (!tree || tree == best_) return;
  const auto pruned = [&](const Grown::Ptr& of) { return Prunings(data_, *of, 0, must_); };
  Prunings all = pruned(tree);
  if (must_ && all.best(own_price_) == 0) {
    const Grown::Ptr made = forced(*views_[0], top_, tree);
    if (!made) return;
    // The tree itself goes first: what it is made of is referred to.
    return offer(made);
  }
  learn(all.losses());
  Prunings within(data_, *tree, most_, must_);
  const int leaves = within.best(own_price_);
  if (leaves == 0) return;
  const Loss value = within.losses()[static_cast<std::size_t>(leaves)] + own_price_ * leaves;
  if (value > best_value_) return;
  const bool better = value < best_value_;
  best_ = within.tree(leaves, price_);
  best_value_ = value;
  if (better) told_(best_, value);
}

void LimitedAnytime::run(int depth, Loss target, const SharedBest* others) {
  constexpr std::uint64_t kRound = 60000000;
  const auto done = [&] { return best_value_ <= target; };
  begin(depth);
  first_trees(target);
  if (!done()) {
    reprice();
    first_trees(target);
  }
  if (depth == 0 || !best_) return;
  for (int round = 0; !done(); ++round) {
    reprice();
    if (round < 2) look_ahead(3, 6, 2 * p_.features + 10);
    const std::uint64_t end = control_.work() + kRound;
    while (!done() && control_.work() < end) {
      Loss value = best_value_;
      Plan plan;
      if (others && others->take(value, plan)) adopt(plan);
      step_within(most_);
    }
  }
}

}  // namespace odt
