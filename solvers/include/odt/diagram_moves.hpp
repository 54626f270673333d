// Better diagrams from one at hand: moves that keep what is not moved, for as long as there is
// time. Nothing is a proof.
//
// What every row loses from every node on is known while the layers above change. So the best test
// of a node, with the best ends of both its arcs, comes out of one scan over its rows; a sweep does
// that node by node from the last layer up. Where no sweep gains any more, a node gets another
// test, is taken out or is copied for some of its rows, and sweeps follow; what comes out is kept
// where it loses no more.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "odt/control.hpp"
#include "odt/diagram_annealing.hpp"
#include "odt/diagrams.hpp"
#include "odt/dice.hpp"

namespace odt {

class DiagramMoves {
 public:
  // Whether a diagram of this value, no worse than the best, may be kept.
  using Judge = std::function<bool(Loss, const Layers&)>;

  // `widths`: nodes at most per layer; `price`: of a split; with `picky` the judge is asked of
  // every diagram that is kept, else of better ones only.
  DiagramMoves(const LayeredProblem& table, std::vector<int> widths, Loss price, bool picky,
               std::uint64_t seed, Control& control, Judge judge);

  // Goes on from a diagram until so many moves in a row have gained nothing (0: never), or a limit
  // is met (Stop). What is below `upper` is better than the best.
  void run(const Layers& start, Loss upper, std::uint64_t patience);
  Loss value() const { return best_; }
  std::uint64_t moves() const { return moves_; }

 private:
  struct Split {
    Loss value = kInfinite;
    LayeredNode node;
  };
  using Rows = std::vector<std::uint32_t>;

  // ---- what follows from the layers as they are
  void measure();
  void cost_of(std::size_t layer, std::size_t node);
  void route(std::size_t from);
  Loss worth() const;
  const Loss* end(std::size_t layer, int arc) const;

  // ---- moves
  bool sweep(std::size_t from, std::size_t to);
  void settle();
  void fill();
  bool fill_one(std::size_t layer);
  void tidy();
  void kick();
  void retest(std::size_t layer, std::size_t node);
  void take_out(std::size_t layer, std::size_t node);
  void lead(std::size_t layer, std::size_t node);
  bool consider(const Layers& before, Loss most);
  Loss slack(std::uint64_t idle, Loss best);
  void go_on(Loss best, std::uint64_t patience);
  void anneal(std::uint64_t patience);

  // What rows lose from each end: [row * ends + end], and by set of rows.
  template <class T>
  struct Block {
    std::vector<T> cost, total, low;
  };
  std::vector<Split> best_splits(std::size_t layer, const std::vector<Rows>& sets,
                                 const std::vector<Loss>& below, int only = -1);
  template <class T>
  std::vector<Split> best_splits(std::size_t layer, const std::vector<Rows>& sets,
                                 const std::vector<Loss>& below, int only, Block<T>& block);
  template <class T>
  std::size_t gather(std::size_t layer, const std::vector<Rows>& sets, Block<T>& block);
  template <class T>
  void scan(std::size_t feature, const std::uint32_t* order, std::size_t count, std::size_t wide,
            const T* total, Block<T>& block, Split& best);
  void put_in_order(std::size_t feature, const std::vector<Rows>& sets, std::size_t count);
  Layers first() const;
  bool stands(std::size_t feature, std::uint32_t low, std::uint32_t high, std::uint32_t& cut) const;
  const std::uint32_t* rank(std::size_t f) const { return p_.rank.data() + f * p_.rows; }
  int arc_of(std::size_t end, std::size_t layer) const;

  // Moves in a row that gained nothing, after which worse diagrams are taken too, and after which
  // the best comes back.
  static constexpr std::uint64_t kSettled = 150, kReturn = 400;

  const LayeredProblem& p_;
  std::vector<int> widths_;
  Loss price_;
  bool picky_;
  Control& control_;
  Judge judge_;
  Dice dice_;
  Layers layers_;
  std::vector<std::vector<std::vector<Loss>>>
      cost_;                             // [layer][node][row]: what a row loses from there on
  std::vector<std::vector<Rows>> rows_;  // [layer][node]: that come there
  std::vector<std::vector<Loss>> label_loss_;
  std::vector<Rows> order_;          // per feature: rows by rank
  std::vector<std::int32_t> owner_;  // of a row: the set that is scanned
  std::vector<std::size_t> next_;
  Rows ordered_, all_;
  Block<std::int32_t> block32_;
  Block<Loss> block64_;
  bool small_ = false;      // whether all sums fit in 32 bits
  std::vector<Loss> most_;  // that a row can lose
  Loss best_ = kInfinite;
  std::uint64_t moves_ = 0;
};

}  // namespace odt
