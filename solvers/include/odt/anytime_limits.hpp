// Good trees early where the number of leaves is limited, or a column must be tested.
//
// A price for each leaf steers growth and moves; each tree is then pruned to the limit, as well as
// can be done by leaving out splits (dynamic programming over its nodes), and moves are judged by
// what the pruned tree loses. Prices come from what the leaves next to the limit are worth in the
// last tree that had more of them.
#pragma once

#include <cmath>

#include "odt/anytime.hpp"

namespace odt {

// The best prunings of a tree, by the number of leaves.
class Prunings {
 public:
  // At most `leaves` of them (0: any number). `must`: a split has to test the problem's column.
  Prunings(const Dataset& data, const Grown& tree, int leaves, bool must);

  // What the best pruning of so many leaves loses, without prices; index 0 is none.
  const std::vector<Loss>& losses() const { return (must_ ? root_.with : root_.any); }
  // The number of leaves that is best at a price for each; 0: there is no such tree.
  int best(Loss price) const;
  // The pruning of so many leaves, with values at a price for each.
  Grown::Ptr tree(int leaves, Loss price) const { return made(root_, leaves, must_, price); }

 private:
  struct Node {
    const Grown* tree = nullptr;
    int label = 0;
    std::vector<Loss> any, with;  // per number of leaves; `with`: trees that test the column
    std::unique_ptr<Node> left, right;
  };
  Node node(const Grown& tree, std::uint32_t* rows, std::size_t count);
  Grown::Ptr made(const Node& node, int leaves, bool with, Loss price) const;

  const Dataset& data_;
  int leaves_;
  bool must_;
  Node root_;
};

class LimitedAnytime : public Anytime {
 public:
  // `priced` is the problem of `data`, without its limits; its price per leaf is changed.
  LimitedAnytime(const Dataset& data, Problem& priced, const Problem& limits, Control& control,
                 Counters& counters, std::uint64_t seed, Anytime::Told told)
      : Anytime(data, control, counters, seed, std::move(told)),
        priced_(priced),
        own_price_(limits.leaf_price),
        most_(limits.leaves),
        must_(limits.must >= 0) {}

  void run(int depth, Loss target, const SharedBest* others);

 protected:
  void offer(const Grown::Ptr& tree) override;
  Loss limit() const override { return kInfinite; }

 private:
  void learn(const std::vector<Loss>& losses);
  void reprice();

  Problem& priced_;
  Loss own_price_;
  int most_;
  bool must_;
  double low_ = 0, high_ = 0;  // prices that the limit is worth
};

}  // namespace odt
