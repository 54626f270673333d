// An AND/OR graph of all sub-trees up to a weight.
//
// A node is a set of rows, the state of the path to them, and a shape. It knows its sub-trees by
// classes: those of equal weighted sum (and, where rules on whole trees ask for them, of equal
// components, facts, leaves or depth), how many each one has, and the splits that they begin with.
// The classes of a split are the sums of those of its sides. Free trees bound a split from below
// before its sides are looked at: by bit sets, for all tests of a node at once, or by intervals of
// cuts whose ends bound what lies in between (M and D hold for free trees). Nodes are kept by their
// rows, written out, so nothing rests on a hash.
//
// Several threads grow the graph together. A node's work is parted by its features; who waits for a
// node takes such a part of it, or of one that is no higher, so nobody waits for ever. Splits are
// kept in the order of their cuts: a list does not depend on who was where first.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
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

  // Sub-trees. Threads read them while others make more, which then take their place.
  struct Trees {
    Loss budget = -kInfinite;    // all of at most this weight are known
    std::vector<Class> classes;  // ascending
    std::vector<Split> splits;
    std::vector<Stump> stumps;
    Loss least() const { return classes.empty() ? kInfinite : classes.front().key.weight; }
  };

  std::vector<std::uint32_t> rows;
  std::vector<Step> path;  // one that leads here
  int depth, state;
  int most;                  // leaves of each tree; 0: any number
  std::vector<Loss> totals;  // of the rows: weighted sum per label, then sums
  std::vector<int> labels;   // that a leaf may have here
  std::unique_ptr<Trees> trees = std::make_unique<Trees>();
  bool growing = false;     // some thread makes more
  std::set<int> functions;  // of the sub-trees listed
  std::size_t first = 0;    // number of its first class among those of all nodes
};

class TreeGraph {
 public:
  using Item = GraphNode::Item;
  using Class = GraphNode::Class;

  TreeGraph(FreeTrees& free, const Listing& listing, Control& control);
  ~TreeGraph();

  // All trees of at most this weight. What was listed before is forgotten.
  GraphNode& upto(Loss weight);
  // Tells `found` of each tree of a class, until it answers false. Of sub-trees on the same rows
  // that compute one function it takes the best, where that is enough.
  template <class Found>
  bool each(GraphNode& n, const Class& c, Found found);
  Tree tree_of(const GraphNode& node, const Item& item) const;
  int function_of(GraphNode& node, const Item& item);
  // Of each class of the root the trees that never test a column; `number_classes` comes first,
  // then threads may ask.
  std::vector<BigCount> without(int column) const;
  void number_classes();

  std::size_t nodes() const;
  void count(Counters& counters) const;
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

  using Trees = GraphNode::Trees;
  // What a thread works with.
  struct Hand {
    Hand(Search& search, View& root) : search(search), root(root) {}
    Search& search;
    View& root;
    std::unique_ptr<BitBounds> bits;
    std::vector<std::unique_ptr<View>> views;  // of the path that was asked for last
    std::vector<Step> loaded;
    std::vector<std::uint32_t> ranks, place_of;
    std::vector<Loss> rank_totals;
    bool leads = true;  // the calling thread
  };
  struct Helper {
    explicit Helper(Control& control) : search(control), hand(search, root) { hand.leads = false; }
    Search search;
    View root;
    Hand hand;
    std::thread thread;
  };
  // The cuts of a feature; the left side has trees of `left` leaves (0: of any number).
  struct Part {
    std::size_t feature;
    int left, right;
    std::size_t sides;  // which bounds, by bit sets
    std::vector<GraphNode::Split> splits;
    Counts counts;
  };
  // A node's way to all sub-trees of at most `budget`.
  struct Growth {
    Growth(GraphNode& node, Loss most) : n(node), budget(most) { made->budget = most; }
    GraphNode& n;
    Loss budget;
    std::unique_ptr<Trees> made = std::make_unique<Trees>();
    Counts counts;
    Interval all{};                              // of cuts, by scans
    std::vector<std::array<BitSides, 2>> sides;  // by bit sets
    std::vector<Part> parts;
    std::size_t next = 0, open = 0;  // parts: the first that nobody has; those that are not done
  };
  struct Ended {};  // another thread failed

  // ---- how threads share that: tree_graph_crew.cpp
  const Trees& expand(Hand& hand, GraphNode& n, Loss budget);
  void take_part(Hand& hand, std::unique_lock<std::mutex>& lock, std::shared_ptr<Growth> growth);
  void help(Hand& hand, std::unique_lock<std::mutex>& lock, int depth);
  void begin_helping();
  void serve(Helper& helper);
  void end();

  // ---- what there is: tree_graph.cpp
  GraphNode& node(Hand& hand, std::vector<std::uint32_t> rows, std::vector<Step> path, int depth,
                  int state, int most);
  void begin(Hand& hand, Growth& growth);
  void do_part(Hand& hand, Growth& growth, Part& part);
  void finish(Growth& growth);
  void add_stumps(Hand& hand, Growth& growth);
  void rank_totals(Hand& hand, const GraphNode& n, std::size_t f);
  void add_stumps_of(Hand& hand, Growth& growth, std::size_t f);
  void add_stump(Growth& growth, std::size_t f, std::uint32_t bound, const TreeKey& own,
                 const std::vector<Loss> (&part)[2]);
  bool bound_by_bits(Hand& hand, Growth& growth, int left, int right);
  void cuts_by_bits(Hand& hand, const Growth& growth, const Part& part, std::vector<Cut>& cuts);
  void cuts_by_scans(Hand& hand, const Growth& growth, const Part& part, std::vector<Cut>& cuts);
  void join(Hand& hand, const Growth& growth, const Cut& cut, Part& part);
  template <class Use>
  void pairs(const GraphNode::Split& split, const Trees& left, const Trees& right, Loss budget,
             Use use) const;
  template <class Use>
  void idle_pairs(const GraphNode::Split& split, Use use) const;
  View& view(Hand& hand, const GraphNode& n);

  // ---- how it is listed: tree_graph_list.cpp
  const std::vector<Item>& list(GraphNode& node, std::size_t at);
  template <class Found>
  bool each_pair(GraphNode& n, const Class& c, Found found);
  void keep_new(GraphNode& n, Class& c);
  int add_function(GraphNode& n, const Item& item);
  int build(const GraphNode& n, const Item& item, Tree& tree) const;
  void place(const GraphNode& n, std::size_t f, std::uint32_t bound, int& region,
             bool& missing_left);

  // ---- how it is counted, there, too
  void add_without(int column, const GraphNode& n, std::vector<BigCount>& counts,
                   std::vector<char>& known) const;

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
  bool values_ = false, leaves_ = false,
       reduce_ = false;  // what classes tell apart; see the constructor
  std::uint64_t facts_ = 0;
  std::size_t width_;  // of totals: sums are left out where none is asked for
  struct Shelf {
    std::mutex mutex;
    std::unordered_map<Key, std::unique_ptr<GraphNode>, Hash> known;
  };
  static constexpr std::size_t kShelves = 64;
  std::array<Shelf, kShelves> shelves_;
  GraphNode* root_ = nullptr;
  std::size_t classes_ = 0;  // of all nodes
  Hand lead_;
  std::vector<std::unique_ptr<Helper>> helpers_;
  std::mutex mutex_;  // of all that follows, and of which trees a node has
  std::condition_variable wake_;
  std::vector<std::shared_ptr<Growth>> growing_;
  std::vector<std::unique_ptr<Trees>> retired_;  // others may read them
  int asleep_ = 0;
  bool over_ = false;
  std::exception_ptr failure_;

  std::map<std::vector<int>, int> regions_;
  Functions functions_;
  std::vector<FunctionNode> form_;  // of the tree at hand
  std::atomic<std::size_t> bytes_{0};
};

// Tells `found` of each tree of a class, until it answers false.
template <class Found>
bool TreeGraph::each(GraphNode& n, const Class& c, Found found) {
  for (int label : n.labels)
    if (leaf_key(n.totals, label) == c.key &&
        !found({Item::leaf, static_cast<std::uint32_t>(label), 0, 0, 0, 0, 1, 0}))
      return false;
  for (std::size_t k = 0; k < n.trees->stumps.size(); ++k)
    if (n.trees->stumps[k].key == c.key &&
        !found({Item::stump, static_cast<std::uint32_t>(k), 0, 0, 0, 0, 2, 1}))
      return false;
  return each_pair(n, c, found);
}

template <class Found>
bool TreeGraph::each_pair(GraphNode& n, const Class& c, Found found) {
  for (std::size_t k = 0; k < n.trees->splits.size(); ++k) {
    const GraphNode::Split& split = n.trees->splits[k];
    const Trees &left = *split.side[0]->trees, &right = *split.side[1]->trees;
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
        const std::vector<Item>&ls = list(*split.side[0], i), &rs = list(*split.side[1], j);
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
void TreeGraph::pairs(const GraphNode::Split& split, const Trees& left, const Trees& right,
                      Loss budget, Use use) const {
  const Loss room = budget - split.own.weight;
  for (const Class& l : left.classes) {
    if (l.key.weight + right.least() > room) break;
    if (split.left_leaves > 0 && l.key.leaves != split.left_leaves) continue;
    for (const Class& r : right.classes) {
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
