// A tree of any structure as one that keeps the rules, as far as labels of leaves can make it.
#pragma once

#include <memory>
#include <vector>

#include "odt/anytime.hpp"
#include "odt/monotone.hpp"
#include "odt/ruled_tree.hpp"

namespace odt {

class Judge {
 public:
  explicit Judge(const RuledProblem& p);

  struct Verdict {
    double broken = 0;  // by how much rules are broken; 0: all hold
    Loss objective = kInfinite;
    Tree tree;          // with the labels chosen
    Measured as_given;  // under the labels that the tree came with

    bool better_than(const Verdict& other) const {
      return broken < other.broken || (broken == other.broken && objective < other.objective);
    }
  };
  Verdict judge(const Grown& tree);

 private:
  struct Leaf {
    int node;
    int given;                 // label
    std::vector<int> open;     // labels that the rules on leaves leave
    std::vector<Loss> values;  // [label * components + component]
  };
  using Sums = std::vector<Loss>;
  Sums walk(const Grown& tree, std::uint32_t* rows, std::size_t count, int level, int state);
  void leaf(const Grown& tree, const Sums& sums, int state, bool empty);
  int split(int level, int state, std::size_t f, const std::uint32_t* rows, std::size_t count,
            std::size_t left, std::uint32_t low, std::uint32_t high, const Sums& sums);
  bool rules_hold(const std::vector<std::vector<int>>& open, const std::vector<RowClause>& clauses,
                  int state, const Sums& sums, int label) const;
  std::vector<Loss> totals(const std::vector<int>& labels) const;
  double violation(const Loss* values) const;
  void improve(std::vector<int>& labels);
  void mend_order(std::vector<int>& labels);
  std::uint64_t order_facts(const std::vector<int>& labels,
                            std::vector<std::pair<int, int>>* wrong);
  int arena_of(int node, int level, const std::vector<int>& labels, const std::uint32_t* rows,
               std::size_t count, int& leaf, std::uint64_t& facts,
               std::vector<std::pair<int, int>>* wrong);

  const RuledProblem& p_;
  std::size_t labels_, components_, sums_, columns_;
  std::vector<double> range_;
  std::unique_ptr<Monotone> monotone_;
  std::uint64_t order_ = 0;  // facts of monotone rules
  // Of the tree at hand.
  Tree tree_;
  std::vector<Leaf> leaves_;
  std::vector<Loss> base_;  // components of splits
  std::uint64_t facts_ = 0;
  double structure_ = 0;  // what labels cannot mend
  bool cut_off_ = false;  // a split may not stand: what is below was not looked at
  std::vector<ArenaNode> arena_;
};

}  // namespace odt
