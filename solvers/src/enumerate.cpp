#include "odt/enumerate.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <unordered_set>

#include "odt/ruled_choice.hpp"
#include "odt/tree_graph.hpp"
#include "odt/workers.hpp"

namespace odt {
namespace {

// Multipliers for the clauses and maxima under which no tree weighs little that breaks them by
// much: then few trees come before those that are wanted. Any will do; these are found as RuledRun
// has it.
Multipliers multipliers_of(const RuledProblem& p, Loss at_most, Control& control,
                           Counters& counters) {
  constexpr int kRounds = 40;
  constexpr double kNear = 0.03;
  Prices prices(p);
  return choose_multipliers(p, prices, prices.first(), at_most, kRounds, kNear, control, counters)
      .m;
}

class Run {
 public:
  Run(const RuledProblem& p, const Listing& listing, Control& control, Listed& listed)
      : p_(p),
        listing_(listing),
        control_(control),
        listed_(listed),
        free_(p, multipliers_of(p, listing.at_most, control, listed.counters), p.base.depth,
              control),
        graph_(free_, listing, control) {}

  void run() {
    try {
      listed_.complete = list();
    } catch (const Stop&) {
    } catch (const NoMemory&) {
      listed_.no_memory = true;
    } catch (const std::overflow_error&) {
      listed_.no_memory = true;
    }
    graph_.count(listed_.counters);
    listed_.counters.cache_entries = graph_.nodes();
  }

 private:
  using Item = GraphNode::Item;
  using Class = GraphNode::Class;

  bool list() {
    const Loss limit = free_.weights.sum_below(listing_.at_most + 1) - 1;
    Loss before = -kInfinite;
    if (!listing_.count && listing_.least < listing_.at_most) {
      // The best trees need a small part of the graph only, so it grows in steps: it may grow
      // manifold from one error to the next, so that none is skipped near the best.
      const Loss least = free_.weights.sum_below(listing_.least + 1) - 1;
      constexpr Loss kFinest = 1024;
      for (Loss part = 2 * kFinest; part >= 2; part /= 2) {
        const Loss upto = part > kFinest ? least : least + (limit - least) / part;
        if (upto <= before || upto >= limit) continue;
        if (!tell(graph_.upto(upto), free_.weights.objective_from(upto + 1) - 1)) return false;
        before = upto;
      }
    }
    GraphNode& root = graph_.upto(limit);
    count(root);
    return tell(root, listing_.at_most);
  }

  // The objective of a class; kInfinite where it breaks a rule or is not wanted.
  Loss value_of(const TreeKey& key) const {
    if (listing_.deepest && key.depth < p_.base.depth) return kInfinite;
    if (!keeps_clauses(p_, key.facts, key.values.data())) return kInfinite;
    Loss value = 0;
    if (graph_.values_known()) {
      value = objective_of(p_, key.facts, key.values.data());
    } else {
      value = free_.weights.objective_from(key.weight);
      for (const ObjectiveTerm& t : p_.objective)
        if (t.fact >= 0 && key.facts >> t.fact & 1) value += t.coefficient;
    }
    return value <= listing_.at_most ? value : kInfinite;
  }

  void count(const GraphNode& root) {
    std::map<Loss, BigCount> counts;
    for (const Class& c : root.trees->classes)
      if (const Loss value = value_of(c.key); value < kInfinite) counts[value] += c.count;
    listed_.counts.assign(counts.begin(), counts.end());
    listed_.counted = true;
    if (!listing_.count) return;
    graph_.number_classes();
    listed_.without.resize(static_cast<std::size_t>(p_.columns));
    const Options& o = control_.options();
    Workers workers(control_.work() < o.alone ? 1 : o.threads);
    workers.run(listed_.without.size(), [&](int, std::size_t column) {
      const std::vector<BigCount> of = graph_.without(static_cast<int>(column));
      for (std::size_t k = 0; k < of.size(); ++k)
        if (value_of(root.trees->classes[k].key) < kInfinite) listed_.without[column] += of[k];
    });
  }

  // Trees that are not told yet, of at most this objective; all that are better are known.
  bool tell(GraphNode& root, Loss upto) {
    std::map<Loss, std::vector<const Class*>> classes;
    for (const Class& c : root.trees->classes)
      if (const Loss value = value_of(c.key); value <= upto && value > told_upto_)
        classes[value].push_back(&c);
    for (const auto& [value, of] : classes)
      if (!(listing_.merge ? tell_functions(root, value, of) : tell_trees(root, value, of)))
        return false;
    told_upto_ = std::max(told_upto_, upto);
    return true;
  }

  bool tell_trees(GraphNode& root, Loss value, const std::vector<const Class*>& of) {
    for (const Class* c : of)
      if (!graph_.each(root, *c, [&](const Item& item) {
            ++listed_.told;
            return tell_one(root, *c, item, value, -1);
          }))
        return false;
    return true;
  }

  // Each function that no better tree computes, and again where a tree of fewer leaves (then: a
  // shallower one) computes it too.
  bool tell_functions(GraphNode& root, Loss value, const std::vector<const Class*>& of) {
    std::unordered_map<int, std::pair<int, int>> sizes;
    for (const Class* c : of) {
      const bool on = graph_.each(root, *c, [&](const Item& item) {
        control_.poll(100);
        const int function = graph_.function_of(root, item);
        const std::pair<int, int> size{item.leaves, item.depth};
        if (functions_.count(function)) return true;
        if (functions_.size() + sizes.size() == listing_.most && !sizes.count(function)) {
          listed_.enough = true;
          return false;
        }
        const auto [known, made] = sizes.emplace(function, size);
        if (!made && known->second <= size) return true;
        known->second = size;
        listed_.told += made;
        return tell_one(root, *c, item, value, function);
      });
      if (!on) return false;
    }
    for (const auto& one : sizes) functions_.insert(one.first);
    return true;
  }

  bool tell_one(const GraphNode& root, const Class& c, const Item& item, Loss value, int function) {
    if (!listing_.found) return true;
    control_.poll(p_.base.rows * static_cast<std::size_t>(p_.base.depth + 1));
    const Tree tree = graph_.tree_of(root, item);
    const Measured m = measure(p_, tree);
    if (!m.stands || !keeps_clauses(p_, m.facts, m.values.data()) ||
        objective_of(p_, m.facts, m.values.data()) != value ||
        (graph_.values_known() && m.values != c.key.values))
      throw std::logic_error("a tree was listed that is not as its class");
    return listing_.found(tree, value, function);
  }

  const RuledProblem& p_;
  const Listing& listing_;
  Control& control_;
  Listed& listed_;
  FreeTrees free_;
  TreeGraph graph_;
  Loss told_upto_ = -kInfinite;
  std::unordered_set<int> functions_;  // of the trees told
};

}  // namespace

Listed enumerate(const RuledProblem& p, const Listing& listing, const Options& options) {
  check(p);
  if (!p.monotone.empty()) throw std::invalid_argument("orders of predictions are not listed");
  if (listing.twin.size() != p.base.features || listing.absent.size() != p.base.features)
    throw std::invalid_argument("one twin per feature");
  if (listing.merge &&
      std::min<std::size_t>(
          p.base.leaves > 0 ? static_cast<std::size_t>(p.base.leaves) : p.base.rows,
          static_cast<std::size_t>(full_leaves(p.base.depth))) > Functions::kMostLeaves)
    throw std::invalid_argument("functions of trees of too many leaves");
  for (std::size_t f = 0; f < p.base.features; ++f)
    if (listing.twin[f] >= 0 && listing.absent[f].size() != p.base.rows)
      throw std::invalid_argument("absent needs an entry per row");
  Control control(options);
  Listed listed;
  try {
    Run(p, listing, control, listed).run();
  } catch (const Stop&) {      // before the first tree
  } catch (const NoMemory&) {  // for all rows
    listed.no_memory = true;
  }
  listed.seconds = control.seconds();
  return listed;
}

}  // namespace odt
