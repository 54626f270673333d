// An AND/OR graph of all sub-trees up to a weight.
//
// A node is a set of rows, the state of the path to them, and a shape. It knows its sub-trees by
// classes: those of equal weighted sum (and, where rules on whole trees ask for them, of equal
// components, facts, leaves or depth), how many each one has, and the splits that they begin with.
// The classes of a split are the sums of those of its sides. Free trees bound a split from below
// before its sides are looked at: by bit sets, for all tests of a node at once, or by intervals of
// cuts whose ends bound what lies in between (M and D hold for free trees). Nodes are kept by their
// rows, written out, so nothing rests on a hash.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "odt/bit_bounds.hpp"
#include "odt/enumerate.hpp"
#include "odt/ruled_free.hpp"
#include "odt/ruled_tree.hpp"

namespace odt {

struct NoMemory {};

// What trees of one class have in common. What is not asked for is 0.
struct TreeKey {
  Loss weight = 0;
  std::uint64_t facts = 0;
  int leaves = 0, depth = 0;
  std::vector<Loss> values;  // components
  bool operator==(const TreeKey& o) const {
    return weight == o.weight && facts == o.facts && leaves == o.leaves && depth == o.depth &&
           values == o.values;
  }
  bool operator<(const TreeKey& o) const {
    if (weight != o.weight) return weight < o.weight;
    if (facts != o.facts) return facts < o.facts;
    if (leaves != o.leaves) return leaves < o.leaves;
    if (depth != o.depth) return depth < o.depth;
    return values < o.values;
  }
};

struct GraphNode {
  // A tree: a leaf with a label, a stump, or a tree of the left and one of the right side of a
  // split, by their classes and places in these.
  struct Item {
    enum Kind : std::uint8_t { leaf, stump, pair } kind;
    std::uint32_t which;
    std::uint32_t left_class, left, right_class, right;
    int leaves, depth;
  };
  struct Class {
    TreeKey key;
    BigCount count;
    std::vector<Item> items;
    bool listed = false;
  };
  struct Split {
    std::size_t feature;
    std::uint32_t bound;
    TreeKey own;
    GraphNode* side[2];
    int left_leaves;  // of each tree of the left side; 0: any number
    int region = -1;
    bool missing_left = false;
  };
  struct Stump {
    std::size_t feature;
    std::uint32_t bound;
    int label[2];
    TreeKey key;
    int region = -1;
    bool missing_left = false;
  };

  std::vector<std::uint32_t> rows;
  std::vector<Step> path;  // one that leads here
  int depth, state;
  int most;                    // leaves of each tree; 0: any number
  Loss budget = -kInfinite;    // all sub-trees of at most this weight are known
  std::vector<Loss> totals;    // of the rows: weighted sum per label, then sums
  std::vector<int> labels;     // that a leaf may have here
  std::vector<Class> classes;  // ascending
  std::vector<Split> splits;
  std::vector<Stump> stumps;
  std::set<int> functions;  // of the sub-trees listed

  Loss least() const { return classes.empty() ? kInfinite : classes.front().key.weight; }
};

class TreeGraph {
 public:
  using Item = GraphNode::Item;
  using Class = GraphNode::Class;

  TreeGraph(FreeTrees& free, const Listing& listing, Control& control);

  // All trees of at most this weight. What was listed before is forgotten.
  GraphNode& upto(Loss weight);
  // Tells `found` of each tree of a class, until it answers false. Of sub-trees on the same rows
  // that compute one function it takes the best, where that is enough.
  template <class Found>
  bool each(GraphNode& n, const Class& c, Found found);
  Tree tree_of(const GraphNode& node, const Item& item) const;
  int function_of(GraphNode& node, const Item& item);
  // Of each class the trees that never test a column.
  std::vector<BigCount> without(int column);

  std::size_t nodes() const { return known_.size(); }
  bool values_known() const { return values_; }

 private:
  struct Key {
    std::vector<std::uint64_t> bits;
    bool operator==(const Key& o) const { return bits == o.bits; }
  };
  struct Hash {
    std::size_t operator()(const Key& k) const {
      std::uint64_t h = 0x9e3779b97f4a7c15ULL;
      for (std::uint64_t b : k.bits) h = (h ^ b) * 0xff51afd7ed558ccdULL, h ^= h >> 32;
      return static_cast<std::size_t>(h);
    }
  };
  using Counts = std::map<TreeKey, BigCount>;
  struct Cut {
    std::size_t feature;
    std::uint32_t bound;
    Loss least[2];
  };

  // ---- what there is: tree_graph.cpp
  GraphNode& node(std::vector<std::uint32_t> rows, std::vector<Step> path, int depth, int state,
                  int most);
  void expand(GraphNode& n, Loss budget);
  void add_stumps(GraphNode& n, Loss budget, Counts& counts);
  void rank_totals(const GraphNode& n, std::size_t f);
  void add_stumps_of(GraphNode& n, std::size_t f, Loss budget, Counts& counts);
  void add_stump(GraphNode& n, std::size_t f, std::uint32_t bound, const TreeKey& own,
                 const std::vector<Loss> (&part)[2], Loss budget, Counts& counts);
  std::vector<Cut> open_cuts_of(GraphNode& n, int left, int right, Loss budget);
  void cuts_by_bits(GraphNode& n, int left, int right, Loss budget, std::vector<Cut>& cuts);
  void cuts_by_scans(GraphNode& n, std::size_t f, const int (&most)[2], Loss budget,
                     const Interval& all, std::vector<Cut>& cuts);
  void join(GraphNode& n, const Cut& cut, int left, int right, Loss budget, Counts& counts);
  template <class Use>
  void pairs(const GraphNode::Split& split, Loss budget, Use use) const;
  template <class Use>
  void idle_pairs(const GraphNode::Split& split, Use use) const;
  View& view(const GraphNode& n);

  // ---- how it is listed: tree_graph_list.cpp
  const std::vector<Item>& list(GraphNode& node, std::size_t at);
  template <class Found>
  bool each_pair(GraphNode& n, const Class& c, Found found);
  void keep_new(GraphNode& n, Class& c);
  int add_function(GraphNode& n, const Item& item);
  int build(const GraphNode& n, const Item& item, Tree& tree) const;
  void place(const GraphNode& n, std::size_t f, std::uint32_t bound, int& region,
             bool& missing_left);

  // ---- what is asked of one node
  int after(const GraphNode& n, std::size_t f) const;
  bool may_stand(const GraphNode& n, std::size_t f, std::uint32_t low, std::uint32_t high) const;
  std::uint64_t facts_of(const GraphNode& n, std::size_t f, std::uint32_t bound) const;
  Loss value_of(const GraphNode& n, std::size_t f, std::size_t k) const;
  Loss price_of(const GraphNode& n, std::size_t f) const;
  TreeKey own_key(const GraphNode& n, std::size_t f, std::uint32_t bound) const;
  TreeKey leaf_key(const std::vector<Loss>& totals, int label) const;
  TreeKey joined(const TreeKey& own, const TreeKey& left, const TreeKey& right) const;
  std::vector<Loss> totals_of(const std::vector<std::uint32_t>& rows) const;
  void add_row(std::uint32_t row, Loss* totals) const;
  const Loss* sums_of(const std::vector<Loss>& totals) const { return totals.data() + w_.labels; }
  std::vector<int> labels_of(const std::vector<Loss>& totals, int state) const;
  void charge(std::size_t bytes);

  FreeTrees& free_;
  const Weights& w_;
  const RuledProblem& p_;
  const Listing& listing_;
  Control& control_;
  Counters& counters_;
  bool values_ = false, leaves_ = false,
       reduce_ = false;  // what classes tell apart; see the constructor
  std::uint64_t facts_ = 0;
  std::size_t width_;  // of totals: sums are left out where none is asked for
  std::unordered_map<Key, std::unique_ptr<GraphNode>, Hash> known_;
  GraphNode* root_ = nullptr;
  std::unique_ptr<BitBounds> bits_;
  std::vector<std::unique_ptr<View>> views_;
  std::vector<Step> loaded_;
  std::vector<std::uint32_t> ranks_, place_of_;
  std::vector<Loss> rank_totals_;
  std::map<std::vector<int>, int> regions_;
  Functions functions_;
  std::vector<FunctionNode> form_;  // of the tree at hand
  std::size_t bytes_ = 0;
};

// Tells `found` of each tree of a class, until it answers false.
template <class Found>
bool TreeGraph::each(GraphNode& n, const Class& c, Found found) {
  for (int label : n.labels)
    if (leaf_key(n.totals, label) == c.key &&
        !found({Item::leaf, static_cast<std::uint32_t>(label), 0, 0, 0, 0, 1, 0}))
      return false;
  for (std::size_t k = 0; k < n.stumps.size(); ++k)
    if (n.stumps[k].key == c.key &&
        !found({Item::stump, static_cast<std::uint32_t>(k), 0, 0, 0, 0, 2, 1}))
      return false;
  return each_pair(n, c, found);
}

template <class Found>
bool TreeGraph::each_pair(GraphNode& n, const Class& c, Found found) {
  for (std::size_t k = 0; k < n.splits.size(); ++k) {
    const GraphNode::Split& split = n.splits[k];
    GraphNode &left = *split.side[0], &right = *split.side[1];
    const Loss sum = c.key.weight - split.own.weight;
    for (std::size_t i = 0; i < left.classes.size(); ++i) {
      const TreeKey& key = left.classes[i].key;
      if (key.weight + right.least() > sum) break;
      if (split.left_leaves > 0 && key.leaves != split.left_leaves) continue;
      auto at = std::lower_bound(
          right.classes.begin(), right.classes.end(), sum - key.weight,
          [](const Class& other, Loss weight) { return other.key.weight < weight; });
      for (; at != right.classes.end() && at->key.weight == sum - key.weight; ++at) {
        if (!(joined(split.own, key, at->key) == c.key)) continue;
        const std::size_t j = static_cast<std::size_t>(at - right.classes.begin());
        const std::vector<Item>&ls = list(left, i), &rs = list(right, j);
        for (std::size_t a = 0; a < ls.size(); ++a)
          for (std::size_t b = 0; b < rs.size(); ++b) {
            if (listing_.collapse && ls[a].kind == Item::leaf && rs[b].kind == Item::leaf &&
                ls[a].which == rs[b].which)
              continue;
            if (!found({Item::pair, static_cast<std::uint32_t>(k), static_cast<std::uint32_t>(i),
                        static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(j),
                        static_cast<std::uint32_t>(b), ls[a].leaves + rs[b].leaves,
                        1 + std::max(ls[a].depth, rs[b].depth)}))
              return false;
          }
      }
    }
  }
  return true;
}

// Each pair of classes of a split that begins trees of at most a weight.
template <class Use>
void TreeGraph::pairs(const GraphNode::Split& split, Loss budget, Use use) const {
  const Loss room = budget - split.own.weight;
  for (const Class& l : split.side[0]->classes) {
    if (l.key.weight + split.side[1]->least() > room) break;
    if (split.left_leaves > 0 && l.key.leaves != split.left_leaves) continue;
    for (const Class& r : split.side[1]->classes) {
      if (l.key.weight + r.key.weight > room) break;
      use(l, r, joined(split.own, l.key, r.key));
    }
  }
}

// Each split into two leaves of one label.
template <class Use>
void TreeGraph::idle_pairs(const GraphNode::Split& split, Use use) const {
  if (split.left_leaves > 1) return;
  for (int a : split.side[0]->labels)
    for (int b : split.side[1]->labels)
      if (a == b)
        use(joined(split.own, leaf_key(split.side[0]->totals, a),
                   leaf_key(split.side[1]->totals, b)));
}

}  // namespace odt
