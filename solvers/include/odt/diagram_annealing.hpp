// Good diagrams of few rows by simulated annealing: millions of small changes, each followed by
// the rows below it as sets of bits. Nothing is a proof.
//
// Every layer has as many places as it may have nodes; a place that no row comes to costs nothing
// and keeps its node until an arc leads there again.
#pragma once

#include <cstdint>
#include <vector>

#include "odt/control.hpp"
#include "odt/diagrams.hpp"
#include "odt/dice.hpp"

namespace odt {

class DiagramAnnealing {
 public:
  using Layers = std::vector<std::vector<LayeredNode>>;

  DiagramAnnealing(const LayeredProblem& table, std::vector<int> widths, Loss price, Dice& dice,
                   Control& control);

  // Rows and labels that fit, cuts, and sets of rows that take little room.
  static bool takes(const LayeredProblem& table);

  // From a diagram at random down from a heat, in prices of a split, in so many steps: the best
  // diagram on the way, without what no row comes to.
  Layers cool(double warm, std::uint64_t steps);

 private:
  using Word = std::uint64_t;

  Loss begin();
  std::size_t layer_of(std::size_t place) const;
  std::size_t change(std::size_t place);
  void new_test(std::size_t place);
  int any_arc(std::size_t layer);
  bool changed(std::size_t place) const;
  Loss follow(std::size_t layer, Loss most);
  void keep(std::size_t layer);
  Loss lost(const Word* rows) const;
  int label(const Word* rows, const Word* left, bool right) const;
  bool empty(const Word* rows) const;
  const Word* side(const LayeredNode& n) const {
    return side_.data() + (first_side_[static_cast<std::size_t>(n.feature)] + n.cut) * words_;
  }
  Layers layers() const;

  const LayeredProblem& p_;
  std::vector<int> widths_;
  Loss price_;
  Dice& dice_;
  Control& control_;
  std::size_t words_;
  std::vector<std::size_t> first_;       // place of each layer, and after the last
  std::vector<std::size_t> first_side_;  // per feature
  std::vector<Word> side_;               // rows left of each rank
  std::vector<std::vector<std::uint32_t>> cuts_;
  std::vector<std::size_t> splitting_;  // features with cuts
  std::vector<LayeredNode> node_;
  std::vector<std::pair<std::size_t, LayeredNode>> undo_;
  std::vector<Word> rows_, next_;  // per place
  std::vector<Loss> sums_, next_sums_;  // per layer: its nodes, and what ends there
  std::vector<Loss> loss_, next_loss_;  // per place: of what ends there
};

}  // namespace odt
