// Good diagrams of few rows by simulated annealing: small changes, two to three million a second,
// each followed by the rows below it as sets of bits. In between, draws: what every row loses from
// each end of a node's arcs being known, all cuts of a few features with all ends are looked at in
// one go, and one of those that lose least is taken. Nothing is a proof.
//
// Every layer has as many places as it may have nodes; a place that no row comes to costs nothing
// and keeps its node until an arc leads there again.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "odt/control.hpp"
#include "odt/diagrams.hpp"

namespace odt {

class DiagramAnnealing {
 public:
  DiagramAnnealing(const LayeredProblem& table, std::vector<int> widths, Loss price,
                   std::uint64_t seed, Control& control);

  // Few rows, some cut, and sets of rows that take little room.
  static bool takes(const LayeredProblem& table);

  // From a diagram, or from one at random and hotter: the best diagram on the way, without what no
  // row comes to.
  Layers cool(const Layers& from);
  // What that one loses, with the prices of its nodes.
  Loss value() const { return value_; }

 private:
  using Word = std::uint64_t;
  struct Node : LayeredNode {
    bool fresh = true;  // changed since its loss was told
  };

  using Eight = std::int16_t __attribute__((vector_size(16)));
  static constexpr Loss kMostSum = 16'000;
  static constexpr std::size_t kSome = 12;  // features asked at once

  template <std::size_t W>
  Layers cool_words(double warm);
  template <std::size_t W>
  Loss follow(std::size_t layer, Loss most);
  double real();
  std::size_t pick(std::size_t n) {
    return static_cast<std::size_t>(real() * static_cast<double>(n));
  }
  void begin();
  void begin_from(const Layers& from);
  void change(std::size_t place);
  void touch(std::size_t place);
  void new_test(std::size_t place, std::size_t rows_of);
  int any_arc(std::size_t layer);
  void keep(std::size_t layer);
  bool empty(std::size_t place) const;
  int label(std::size_t place, const Word* rows, bool right) const;
  void prepare_draws();
  void costs_below(std::size_t layer, const Word* rows);
  void gather(std::size_t place, const Word* rows);
  void draw(std::size_t place, const Word* rows, Loss slack);
  const Eight* end(std::size_t layer, int arc) const {
    return arc < 0 ? label_cost_.data() + static_cast<std::size_t>(~arc) * eights_
                   : cost_.data() + (first_[layer + 1] + static_cast<std::size_t>(arc)) * eights_;
  }
  const Word* side(const LayeredNode& n) const {
    return side_.data() + (first_side_[static_cast<std::size_t>(n.feature)] + n.cut) * words_;
  }
  Layers layers() const;

  const LayeredProblem& p_;
  std::vector<int> widths_;
  Loss price_, value_ = 0;
  Loss unit_ = 0;    // what all losses are multiples of
  double heat_ = 1;  // a price or a loss
  std::uint64_t state_;
  Control& control_;
  std::size_t words_, planes_ = 0;
  std::vector<std::size_t> first_;       // place of each layer, and after the last
  std::vector<std::size_t> layer_;       // of each place
  std::vector<std::size_t> first_side_;  // per feature
  std::vector<Word> side_;               // rows left of each rank
  std::vector<Word> plane_;              // [label][plane]: rows of whose loss there a bit is set
  std::vector<std::vector<std::uint32_t>> cuts_;
  std::vector<std::size_t> splitting_;  // features with cuts
  std::vector<Node> node_;
  std::vector<std::pair<std::size_t, Node>> undo_;
  std::vector<Word> rows_, next_;       // per place
  std::vector<Loss> sums_, next_sums_;  // per layer: its nodes, and what ends there
  std::vector<Loss> loss_, next_loss_;  // per place: of what ends there
  // ---- of draws: what rows lose, in sixteen bits each
  Loss scale_ = 1;                        // of what one stands for
  std::size_t eights_ = 0;                // that hold all rows
  std::vector<Eight> rank_;               // per feature
  std::vector<Eight> label_cost_, cost_;  // per label; per place, from there on
  std::vector<std::uint16_t> order_;      // per feature: rows by rank
  std::vector<int> ends_;                 // of the arcs of a place
  std::vector<Eight> of_row_;             // by end
  std::vector<std::int16_t> spread_;      // per row: between ends; 0 where it does not come
  Eight open_{}, total_{};                // by end: what opening it costs; that and the rows
};

}  // namespace odt
