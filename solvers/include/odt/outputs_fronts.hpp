// Trees of numbers under rules on the whole tree: fronts of sub-trees, of which none is better
// than another in loss, components and facts.
//
// Trees under the rules on paths, splits and leaves alone, from the search of one lane, bound all
// sub-trees from below. Budgets for the loss grow until a tree keeps the rules, and then shrink to
// it.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "odt/front.hpp"
#include "odt/monotone.hpp"
#include "odt/outputs_lane.hpp"
#include "odt/outputs_triples.hpp"

namespace odt {

struct NumberEntry {
  double value = 0;  // loss above the floor, with prices
  std::uint64_t facts = 0;
  int plan = -1;         // a split that is kept, or a leaf as -1 - its place
  std::uint32_t at = 0;  // its components in the pool
};

using NumberFront = FrontOf<NumberEntry, &NumberEntry::value>;

class OutputFronts {
 public:
  // `found` hears of every better tree: its value (of the goal, where there is one), and it.
  // `by_first`: per cut, what trees lose at least above the floor that begin with it; or none.
  using Found = std::function<void(double value, const Plan&)>;
  OutputFronts(const OutputRows& data, OutputLane& lane, Control& control, std::size_t memory,
               double tolerance, const std::vector<double>& by_first, Found found);

  // All trees of a value below `budget` that are better than the best known one.
  void search(const OutputNode& root, const OutputAsk& ask, double budget);
  // Whether all such trees are told from sums over pairs of cuts, in one search and without bounds
  // from below that are made before.
  bool at_once(const OutputAsk& ask) const { return tabled(ask); }
  // The best known: only less is of interest.
  double best = kUnbounded;

 private:
  using Front = std::shared_ptr<NumberFront>;
  struct Key {
    SubProblem of;
    int context;
    bool operator==(const Key& o) const { return of == o.of && context == o.context; }
    std::uint64_t hash() const { return of.hash(); }
  };
  struct Known {
    double budget = 0;
    Front front;
    RowPath path;
  };
  // A node, or a side of one that was not made.
  struct Part {
    std::uint64_t set;
    const std::uint32_t* row;
    std::size_t rows;
    const RowPath* passed;  // by all of them
  };
  struct Split {  // of a node: feature, bound, and what it adds
    int feature;
    std::uint32_t bound;
    std::uint64_t facts;
    double price;
    std::vector<double> values;
    double threshold = 0;  // where rules ask for order
  };
  // Sub-trees on both sides of a split that lie within limits.
  struct Case {
    std::uint64_t given_up = 0;  // facts that are not to be kept clear
    Monotone::Limits limits[2];
    Front front[2];
  };

  Front solve(const OutputNode& node, const OutputAsk& ask, double budget);
  Known* known(const Part& part, const OutputAsk& ask);
  Front recall(const Part& part, const OutputAsk& ask, double budget);
  // Whether limits from above decide on a node's trees, so that none are remembered.
  bool limited(const OutputAsk& ask) const {
    return monotone_ && !monotone_->limits(static_cast<int>(ask.level)).empty();
  }
  void leaf(const OutputNode& node, const OutputAsk& ask, double budget, NumberFront& front);
  void branch(const OutputNode& node, const OutputAsk& ask, double budget, NumberFront& front);
  void by_pairs(const OutputNode& node, const OutputAsk& ask, double budget, NumberFront& front);
  void cut(const OutputNode& node, const OutputAsk& ask, const OutputFrontier::Span& span,
           std::size_t place, double budget, const OutputAnswer sides[2], NumberFront& front);
  bool split_of(const OutputNode& node, const OutputAsk& ask, std::size_t feature,
                std::uint32_t bound, Split& split);
  // `step`: makes the step of a side's plan, where that is none yet.
  void join(const OutputAsk& ask, const Split& split, const NumberFront& left,
            const NumberFront& right, double budget, NumberFront& front,
            const std::function<int(int plan, bool low)>& step = {});
  // Rules on order: outputs_ordered.cpp.
  void untangle(const OutputAsk& ask, const OutputAsk asked[2], const Split& split,
                const std::vector<std::uint32_t>& rows, Front sides[2], double budget,
                NumberFront& front);
  bool untangled(const OutputAsk& ask, const Split& split, const Monotone::Meeting& here,
                 const Case& c, double budget, NumberFront& front, Monotone::Regions regions[2],
                 std::vector<Monotone::Tangle>& tangles);
  bool of_use(const OutputAsk& ask, const NumberEntry& e, const double* values,
              const NumberFront& front) const;
  double tightened(const OutputAsk& ask, double budget) const;
  int predict(const std::uint32_t* rows, std::size_t n, const double* sums);
  void stumps(const OutputNode& node, const OutputAsk& ask, double budget, NumberFront& front);
  void halve(const OutputNode& node, const OutputAsk& ask, std::size_t f, std::size_t low,
             std::size_t high, double left, double right, double budget, NumberFront& front);
  void stump(const OutputNode& node, const OutputAsk& ask, std::size_t f, std::size_t at,
             const double lost[2], double budget, NumberFront& front);
  bool offer(const OutputAsk& ask, NumberEntry e, const double* values, NumberFront& front,
             const Split* split, int left, int right);
  bool within(std::uint64_t facts, const double* values) const;
  void keep_by_first(const std::vector<double>& by_cut);
  void round_measures();
  bool nearly_holds(std::uint64_t facts, const double* values) const;
  void consider(const NumberEntry& e, const double* values, const Split* split, int left,
                int right);
  Plan plan_of(int step) const;
  double limit(const OutputAsk& ask, double budget) const;
  // By sums over pairs of cuts: outputs_pair_fronts.cpp.
  struct Classes {
    std::vector<int> of;                    // per column, -1: it may not stand
    std::vector<std::size_t> first;         // per class: a column
    std::vector<std::vector<double>> only;  // per class: 0 for its columns, else minus infinity
  };
  // A measure's bound, loosened by what sums round, and what it is compared by.
  struct Cap {
    std::size_t measure;
    double at_most, scale;
  };
  bool tabled(const OutputAsk& ask) const;
  const Classes& classes(int state, std::size_t level);
  std::uint64_t parted(const OutputPairs::Column& column) const;
  std::uint64_t within_side(std::uint64_t inside, const OutputPairs::Column& column,
                            bool low) const;
  std::uint64_t pairs_inside(const OutputNode& node) const;
  bool split_by(const OutputPairs::Column& column, const std::vector<double>& all,
                std::uint64_t inside, int state, std::size_t level, Split& split);
  // What leaves out trees of two levels by a scan: those of so much of a mix, or more.
  struct Screen {
    const OutputPairs::Scan* scan;
    OutputPairs::Mix mix;
    double most;
  };
  struct SideScreen {  // the same of one side's leaf or split
    const double* gains;
    double own, most;
  };
  void choices(const std::vector<Screen>& screens, std::size_t column, bool low, int state,
               std::size_t level, std::uint64_t inside, double budget, NumberFront& found);
  void choose(int plan, std::uint64_t facts, double budget, NumberFront& found);
  int step_of(int plan, const double* gains, const Classes& classed);
  void by_table(const OutputPairs::Table& table, std::uint64_t inside, const OutputAsk& ask,
                const std::vector<Screen>& screens, double budget, NumberFront& front);
  void leaf_by(const OutputPairs::Table& table, const OutputAsk& ask, double budget,
               NumberFront& front);
  struct RootCut {  // of a tree of three levels
    OutputPairs::Column column;
    std::size_t place;
    OutputAsk asked{};  // of both sides
    Split split{};
    double low[2] = {0, 0};      // what both sides lose at least
    double least = 0;            // what such trees lose at least, with prices
    OutputPairs::Mix mix{};      // none: the loss alone
    const Cap* tight = nullptr;  // that the mix is of
  };
  static constexpr double kShare = 256;  // of what all rows lose: the first step of budgets
  void sum_sides(const OutputNode& node, const RootCut& cut, bool measured);
  void scan_sides(const OutputAsk& asked);
  std::size_t by_sides(const RootCut& cut, std::uint64_t inside, const OutputAsk& ask,
                       double budget, NumberFront& front);
  void by_tables(const OutputNode& node, const OutputAsk& ask, double budget, NumberFront& front);
  void by_budgets(const OutputNode& node, const std::vector<RootCut>& open, std::uint64_t inside,
                  const OutputAsk& ask, double budget, NumberFront& front);
  double all_lost();
  double first_step(const RootCut& cut, const OutputAsk& ask, double budget);
  bool looked(RootCut& cut, std::uint64_t inside, const OutputAsk& ask, double budget,
              NumberFront& front);
  double mix_bound(const OutputPairs::Mix& mix) const;
  double least_mix(const NumberFront& front, const OutputPairs::Mix& mix) const;
  OutputPairs::Sums propose(const OutputPairs::Column& column, int state,
                            const OutputPairs::Mix& mix, const OutputPairs::Scan scans[2],
                            double room);
  double scan_mixed(const OutputAsk& asked, const OutputPairs::Mix& mix,
                    OutputPairs::Scan scans[2]);
  OutputPairs::Mix mix_of(double loss, std::size_t measure, double multiple) const;
  bool bounded(const OutputAsk& ask) const;
  bool refuted(const OutputAsk& asked, double room);
  bool over(const OutputPairs::Mix& mix, double least, double room) const;
  std::size_t column_of(const RootCut& cut, const OutputNode& node) const;
  bool refuted_by_first(const RootCut& cut, const OutputNode& node, double room) const;
  void tell_by_first(std::size_t cuts, int state);
  // A component with a bound, and costs of paths: the least step of a path, the least that a row
  // weighs there, and by how much that is more than its weight (0: it differs).
  struct Toll {
    std::size_t component;
    double split, step, lightest = 0, factor = 0;
    std::vector<double> weight;  // per row
  };
  double toll_of(const Toll& toll, const OutputPairs::Column& column,
                 const OutputTriples::Sides& weight, int state, int left, int right) const;
  std::vector<Toll> tolls(const OutputNode& node) const;
  void tell_shapes(const OutputNode& node, const OutputAsk& ask);
  double least_by_rows(const OutputPairs::Table& table, std::size_t column, bool low, int state,
                       std::size_t m, const OutputPairs::Scan& scan, double most);
  bool attained(const OutputAsk& asked, const Cap& cap);
  bool mixed(RootCut& cut, double budget);
  bool sized(std::size_t rows) const { return rows >= leaf_rows_; }
  bool goal() const { return !model_.goal.empty(); }
  int context(std::size_t level);
  NumberFront front_at(std::size_t level) const;
  void poll(std::uint64_t work);

  const OutputRows& data_;
  const NumberRules& rules_;
  const NumberModel& model_;
  OutputLane& lane_;
  Control& control_;
  std::size_t leaf_rows_, memory_, bytes_ = 0;
  double tolerance_;
  std::vector<double> by_first_;   // per feature, what trees lose at least that test it first
  std::vector<double> by_column_;  // the same per column of the pairs
  bool shaped_ = false;            // whether shapes that may keep bounds on costs have told of them
  Found found_;
  NumberParts parts_;
  RuleCheck check_;
  FrontOrder order_;
  std::vector<double> slack_;  // per component: more is never within the rules
  std::vector<double>
      rounded_;  // per component: by how much sums over pairs may differ; empty: none
  std::uint64_t forbidden_ = 0;  // facts
  bool rising_ = false;          // no part of a tree makes the goal less
  bool plain_means_;             // outputs are the means of their rows
  std::vector<ArenaNode> steps_;
  std::unique_ptr<Monotone> monotone_;  // none without such rules
  std::vector<double> predicted_;       // [leaf * targets + target], where there are
  std::unordered_map<std::string, int> contexts_;
  RowCache<Key, Known> known_;
  struct Level {
    OutputNode left, right;
    std::vector<Loss> sums;
  };
  std::vector<std::unique_ptr<Level>> levels_;
  std::vector<char> side_;
  // Of the stumps of a node: of a feature, the places of cuts and the sums of the rows below each.
  std::vector<std::uint32_t> places_;
  std::vector<double> below_, rest_, values_;
  std::vector<Loss> sums_;
  // Of sums over pairs of cuts.
  std::map<std::pair<int, std::size_t>, Classes> classes_;
  std::vector<Cap> caps_;
  OutputPairs::Table whole_, sides_[2];
  // Of the sides of a cut: by its mix, by the last one, and by the measure that is bounded alone.
  OutputPairs::Scan scans_[2], mixed_scans_[2], alone_scans_[2];
  OutputPairs::Side side_sums_;
  OutputPairs::Rows side_rows_;
  std::size_t told_ = 0;  // columns of a side whose absolute measures are told
  std::vector<SideScreen> side_screens_;
  NumberFront options_[2];
  OutputPairs::Sums made_;
  Split split_, last_split_;
  OutputPairs::Mix last_mix_;  // that told of a cut of the root
  struct ByFirst {             // what trees lose at least of a mix by their first column
    OutputPairs::Mix mix;
    std::vector<double> least;
  };
  std::vector<ByFirst> mixes_;
  OutputTriples triples_;
  std::size_t spread_ = 0;         // cuts that mixes have left out since first columns were told
  std::vector<double> told_measures_;
};

}  // namespace odt
