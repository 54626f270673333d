#include "odt/ruled_anytime.hpp"

#include <algorithm>

#include "odt/anytime.hpp"
#include "odt/anytime_limits.hpp"

namespace odt {

namespace {

// Rows that a leaf must hold, if the clause says that; else 0.
std::int32_t size_of(const RuledProblem& p, const RowClause& clause) {
  if (clause.size() != 1 || clause[0].sum.size() != 1 || clause[0].sum[0] < 0) return 0;
  const std::size_t sums = static_cast<std::size_t>(p.sums),
                    s = static_cast<std::size_t>(clause[0].sum[0]);
  const Loss each = p.value[s];
  if (each >= 0) return 0;
  for (std::size_t i = 0; i < p.base.rows; ++i)
    if (p.value[i * sums + s] != each) return 0;
  const Loss least = round_up(clause[0].constant - clause[0].at_most, -each);
  return static_cast<std::int32_t>(std::clamp<Loss>(least, 1, static_cast<Loss>(p.base.rows) + 1));
}

}  // namespace

RuledLane::RuledLane(const RuledProblem& p, const Multipliers& m)
    : weights(p, m, p.base.depth), problem(weights.free) {
  problem.leaves = 0;
  problem.must = -1;
  problem.column = p.column;
  problem.columns = p.columns;
  problem.next = p.next;
  problem.leaf_rows = 1;
  std::vector<bool> known(p.leaf_clauses.size(), false);
  for (std::size_t c = 0; c < p.leaf_clauses.size(); ++c) {
    const bool always =
        std::all_of(p.leaf_rules.begin(), p.leaf_rules.end(), [&](const std::vector<int>& rules) {
          return std::find(rules.begin(), rules.end(), static_cast<int>(c)) != rules.end();
        });
    const std::int32_t least = always ? size_of(p, p.leaf_clauses[c]) : 0;
    known[c] = least > 0;
    problem.leaf_rows = std::max(problem.leaf_rows, least);
  }
  const auto any = [](const std::vector<char>& flags) {
    return std::find(flags.begin(), flags.end(), 1) != flags.end();
  };
  local = std::find(known.begin(), known.end(), false) != known.end() || !p.allowed_at.empty() ||
          any(p.missing_low) || any(p.missing_high) ||
          std::any_of(p.need.begin(), p.need.end(), [](int n) { return n > 0; });
  for (std::size_t k = 0; k < static_cast<std::size_t>(p.components); ++k) {
    if (m.of[k] == 0) continue;
    const auto first = p.split.begin() + static_cast<std::ptrdiff_t>(k) * p.columns;
    const bool split = std::any_of(first, first + p.columns, [](Loss x) { return x != 0; });
    priced = priced || split || (p.path_weight[k] >= 0 && !p.path_delta[k].empty());
  }
  local = local || priced;
  // A fact that one column alone sets, wherever it stands, and that must be set.
  for (const ModelClause& clause : p.clauses) {
    if (clause.size() != 1 || clause[0].component >= 0 || !clause[0].positive) continue;
    int found = -1, columns = 0;
    for (int c = 0; c < p.columns; ++c) {
      bool all = p.base.depth > 0;
      for (int level = 0; level < p.base.depth; ++level)
        all =
            all &&
            (p.split_facts[static_cast<std::size_t>(level * p.columns + c)] >> clause[0].fact & 1);
      if (!all) continue;
      ++columns;
      found = c;
    }
    if (columns == 1) asked.push_back(found);
  }
}

void RuledAnytime::set_broken() {
  Loss sum = 1 + 64 * price_;
  for (Loss w : lane_.weights.worst) sum = std::min(Loss{1} << 50, sum + w / lane_.weights.grain);
  broken_ = sum;
}

bool RuledAnytime::open(const Place& at, std::size_t f) const {
  const int next = at.state < 0 ? -1 : data_.problem.after(at.state, f);
  if (next < 0 || at.depth <= 0 || p_.need[static_cast<std::size_t>(next)] > at.depth - 1)
    return false;
  const std::size_t column = static_cast<std::size_t>(p_.column[f]);
  return !(
      p_.split_facts[static_cast<std::size_t>(at.level) * static_cast<std::size_t>(p_.columns) +
                     column] &
      lane_.weights.forbidden);
}

bool RuledAnytime::may_cut(const Place& at, std::size_t f, std::uint32_t low,
                           std::uint32_t high) const {
  return lane_.weights.may_stand(f, low, high, at.level);
}

void RuledAnytime::add_sums(std::uint32_t row, Loss* sums) const {
  const std::size_t n = static_cast<std::size_t>(p_.sums);
  const Loss* value = p_.value.data() + row * n;
  for (std::size_t s = 0; s < n; ++s) sums[s] += value[s];
}

Loss RuledAnytime::price_of(const Loss* sums, int state, std::size_t f) const {
  const std::size_t columns = static_cast<std::size_t>(p_.columns),
                    column = static_cast<std::size_t>(p_.column[f]);
  Loss total = 0;
  for (std::size_t k = 0; k < lane_.weights.components; ++k) {
    const Loss m = lane_.weights.multipliers.of[k];
    if (m == 0) continue;
    total += m * p_.split[k * columns + column];
    if (p_.path_weight[k] >= 0 && !p_.path_delta[k].empty())
      total += m * sums[static_cast<std::size_t>(p_.path_weight[k])] *
               p_.path_delta[k][static_cast<std::size_t>(state) * columns + column];
  }
  return total / lane_.weights.grain;
}

Loss RuledAnytime::split_price(View& view, const Place& at, std::size_t f) const {
  if (!lane_.priced || at.state < 0) return 0;
  std::vector<Loss> sums(static_cast<std::size_t>(p_.sums), 0);
  for (std::size_t i = 0; i < view.rows(); ++i) add_sums(view.order(0)[i], sums.data());
  return price_of(sums.data(), at.state, f);
}

Loss RuledAnytime::best_label(const Loss* losses, const Loss* sums, int state, int& label) const {
  const std::size_t labels = lane_.weights.labels;
  label = -1;
  if (state >= 0 && p_.need[static_cast<std::size_t>(state)] <= 0) {
    for (std::size_t c = 0; c < labels; ++c) {
      bool holds = true;
      for (int rule : p_.leaf_rules[static_cast<std::size_t>(state)])
        holds = holds && row_clause_holds(p_.leaf_clauses[static_cast<std::size_t>(rule)], sums,
                                          static_cast<int>(c));
      if (holds && (label < 0 || losses[c] < losses[label])) label = static_cast<int>(c);
    }
    if (label >= 0) return losses[label] + price_;
  }
  label = static_cast<int>(std::min_element(losses, losses + labels) - losses);
  return losses[label] + price_ + broken_;
}

Grown::Ptr RuledAnytime::leaf(View& view, const Place& at) {
  if (!lane_.local) return Anytime::leaf(view, at);
  std::vector<Loss> losses(lane_.weights.labels, 0), sums(static_cast<std::size_t>(p_.sums), 0);
  for (std::size_t i = 0; i < view.rows(); ++i) {
    const std::uint32_t row = view.order(0)[i];
    add_sums(row, sums.data());
    for (std::size_t c = 0; c < losses.size(); ++c)
      losses[c] += data_.loss.loss(data_.problem, row, c);
  }
  auto tree = std::make_shared<Grown>();
  tree->value = best_label(losses.data(), sums.data(), at.state, tree->label);
  return tree;
}

Grown::Ptr RuledAnytime::stump(View& view, const Place& at, bool must) {
  if (!lane_.local) return Anytime::stump(view, at, must);
  const Grown::Ptr one = must ? nullptr : leaf(view, at);
  const std::size_t rows = view.rows(), labels = lane_.weights.labels,
                    least = static_cast<std::size_t>(least_);
  if ((one && one->value <= price_) || at.depth == 0 || rows < 2 * least) return one;
  std::vector<Loss> all(labels, 0), low, high, sums(static_cast<std::size_t>(p_.sums), 0), low_sums,
      high_sums(sums.size());
  for (std::size_t i = 0; i < rows; ++i) {
    const std::uint32_t row = view.order(0)[i];
    add_sums(row, sums.data());
    for (std::size_t c = 0; c < labels; ++c) all[c] += data_.loss.loss(data_.problem, row, c);
  }
  Grown::Ptr best = one;
  for (std::size_t f = 0; f < p_.base.features; ++f) {
    if (!view.splittable(f) || !open(at, f) || (must && !data_.problem.tests_must(f))) continue;
    const int next = data_.problem.after(at.state, f);
    const Loss price = lane_.priced ? price_of(sums.data(), at.state, f) : 0;
    const std::uint32_t* order = view.order(f);
    const std::uint64_t* ends = view.ends(f);
    low.assign(labels, 0);
    high = all;
    low_sums.assign(sums.size(), 0);
    std::size_t summed = 0;
    const std::size_t stop = std::min(rows - least, view.words_to_cut(f) * kBlock);
    for (std::size_t i = 0; i < stop; ++i) {
      for (std::size_t c = 0; c < labels; ++c) {
        const Loss x = data_.loss.loss(data_.problem, order[i], c);
        low[c] += x;
        high[c] -= x;
      }
      if (!(ends[i / kBlock] >> (i % kBlock) & 1) || i + 1 < least) continue;
      const Loss bound = *std::min_element(low.begin(), low.end()) +
                         *std::min_element(high.begin(), high.end()) + price + 2 * price_;
      if ((best && bound >= best->value) ||
          !may_cut(at, f, view.sorted(f)[i], view.sorted(f)[i + 1]))
        continue;
      for (; summed <= i; ++summed) add_sums(order[summed], low_sums.data());
      for (std::size_t s = 0; s < sums.size(); ++s) high_sums[s] = sums[s] - low_sums[s];
      int label[2];
      const Loss left = best_label(low.data(), low_sums.data(), next, label[0]);
      const Loss right = best_label(high.data(), high_sums.data(), next, label[1]);
      if (best && left + right + price >= best->value) continue;
      auto l = std::make_shared<Grown>(), r = std::make_shared<Grown>();
      l->value = left;
      l->label = label[0];
      r->value = right;
      r->label = label[1];
      best = join({0, f, static_cast<std::uint32_t>(view.sorted(f)[i]) + 1}, l, r, price);
    }
  }
  control_.poll(rows * p_.base.features / 4 + 1);
  return best;
}

Grown::Ptr RuledAnytime::scan_bottom(View& view, const Place& at, Loss upper, std::size_t most,
                                     bool& complete) {
  if (!lane_.local) return Anytime::scan_bottom(view, at, upper, most, complete);
  complete = false;
  Grown::Ptr best = stump(view, {at.level, 1, at.state});
  const bool wide = most > 4 * p_.base.features + 40;
  std::vector<Anytime::Cut> tried = cuts(view, at, Anytime::Impurity::gini, wide ? 4 : 2);
  tried.resize(std::min<std::size_t>(tried.size(), wide ? 40 : 12));
  for (const auto& cut : tried) {
    const Place next = below(at, cut.feature);
    const Loss price = split_price(view, at, cut.feature);
    const Grown::Ptr left = stump(child(at, cut.feature, cut.bound, true), next);
    if (left->value + price_ + price >= std::min(best->value, upper)) continue;
    const Grown::Ptr right = stump(child(at, cut.feature, cut.bound, false), next);
    if (left->value + right->value + price < best->value) best = join(cut, left, right, price);
  }
  return best;
}

bool tests(const Grown& tree, const std::vector<int>& column_of, int column) {
  return tree.feature >= 0 &&
         (column_of[static_cast<std::size_t>(tree.feature)] == column ||
          tests(*tree.left, column_of, column) || tests(*tree.right, column_of, column));
}

// The tree with a split on each column that is asked for, where it costs least.
Grown::Ptr RuledAnytime::with_asked(const Grown::Ptr& tree) {
  Grown::Ptr made = tree;
  for (int column : lane_.asked) {
    if (tests(*made, p_.column, column)) continue;
    lane_.problem.must = column;
    const Grown::Ptr found = forced(*views_[0], top_, made);
    lane_.problem.must = -1;
    if (found) made = found;
  }
  return made;
}

void RuledAnytime::offer(const Grown::Ptr& tree) {
  if (!tree || tree == best_) return;
  Grown::Ptr judged = with_asked(tree);
  if (p_.base.leaves > 0 && judged->leaves > p_.base.leaves) {
    const Prunings within(data_, *judged, p_.base.leaves, false);
    judged = within.tree(within.best(price_), price_);
  }
  control_.poll(p_.base.rows * static_cast<std::size_t>(p_.base.depth + 1) *
                    (lane_.weights.sums + 1) / 8 +
                1);
  Judge::Verdict found = judge_.judge(*judged);
  if (judged->value < lightest_value_ && !found.as_given.free_values.empty()) {
    lightest_value_ = judged->value;
    lightest_ = found.as_given;
  }
  if (best_ && verdict_.better_than(found)) return;
  const bool better = !best_ || found.better_than(verdict_);
  verdict_ = std::move(found);
  best_ = judged;
  best_value_ = judged->value;
  if (better) told_(judged, judged->value);
}

namespace {

Plan plan_of(const Tree& tree, int at) {
  const TreeNode& n = tree.nodes[static_cast<std::size_t>(at)];
  return n.feature < 0
             ? Plan::leaf()
             : Plan::split(n.feature, n.cut + 1, plan_of(tree, n.left), plan_of(tree, n.right));
}

// Rounds of the anytime search, each under the multipliers that are best by all trees before.
class Rounds {
 public:
  Rounds(const RuledProblem& p, Control& control, Counters& counters, RuledBest& best)
      : p_(p), control_(control), counters_(counters), best_(best), judge_(p), prices_(p) {}

  void run(const Tree& start) {
    if (!start.empty()) take(start);
    Multipliers m = prices_.first();
    for (int round = 0; !best_.done(); ++round) {
      const bool short_round = prices_.any() && round < kShort;
      search(m, round, short_round);
      std::vector<double> wanted;
      if (prices_.any() && prices_.trees() > 0) {
        prices_.best(wanted);
        m = prices_.rounded(wanted);
      }
    }
  }

 private:
  static constexpr int kShort = 6;
  static constexpr std::uint64_t kRound = 40000000;

  void take(const Tree& tree) {
    plan_ = plan_of(tree, 0);
    known_ = true;
  }

  void search(const Multipliers& m, int round, bool short_round) {
    RuledLane lane(p_, m);
    const Dataset data(lane.problem, choose_kernels(control_.options().isa));
    control_.poll(p_.base.rows * p_.base.features / 4 + 1);
    const std::uint64_t seed = control_.options().seed + static_cast<std::uint64_t>(round);
    RuledAnytime search(lane, data, judge_, control_, counters_, seed,
                        [&](const Grown::Ptr&, Loss) { tell(search.verdict()); });
    if (round < kShort) {  // what rows alone lose
      const Loss least = lane.problem.leaf_price + data.inseparable();
      best_.raise(lane.weights.objective_from(least * lane.weights.grain +
                                              lane.weights.below_zero(p_.base.depth)));
      if (best_.done()) return;
    }
    search.begin(p_.base.depth);
    adopt_best(search);
    if (round < kShort || !search.best()) search.first_trees(-1);
    if (p_.base.depth >= 3 && !short_round && looks_ < 4) {
      ++looks_;
      search.look_ahead(3, 6, 2 * p_.base.features + 10);
    }
    const std::uint64_t end = control_.work() + (short_round ? kRound / 8 : kRound);
    // Without multipliers to choose there is one round; without splits there is little to do.
    while (p_.base.depth > 0 && search.best() && !best_.done() &&
           (!prices_.any() || control_.work() < end)) {
      adopt_best(search);
      search.step_within(p_.base.leaves);
      share_turns();
    }
    if (!search.lightest().free_values.empty()) prices_.add(search.lightest());
    if (search.best()) {
      plan_ = odt::plan_of(*search.best());
      known_ = true;
    }
    control_.check();
  }

  // The proof gets most of the time where moves have found nothing for long.
  void share_turns() {
    if (!control_.turns || p_.base.depth > 4) return;
    const std::uint64_t now = Control::own_work();
    if (best_.value() < last_) improved_at_ = now;
    last_ = best_.value();
    control_.turns->favour_proof(now, improved_at_);
  }

  void adopt_best(RuledAnytime& search) {
    Tree tree;
    if (best_.take(seen_, tree))
      take(tree);
    else if (search.best())
      return;
    if (!known_) return;
    if (const Grown::Ptr made = search.of(plan_)) search.give(made);
  }

  void tell(const Judge::Verdict& v) {
    if (v.broken > 0) return;
    best_.offer(v.objective, [&] { return v.tree; });
    seen_ = std::min(seen_, v.objective);
  }

  const RuledProblem& p_;
  Control& control_;
  Counters& counters_;
  RuledBest& best_;
  Judge judge_;
  Prices prices_;
  Plan plan_;
  bool known_ = false;
  Loss seen_ = kInfinite, last_ = kInfinite;
  std::uint64_t improved_at_ = 0;  // in own work
  int looks_ = 0;
};

}  // namespace

void improve_ruled(const RuledProblem& p, const Tree& start, Control& control, Counters& counters,
                   RuledBest& best) {
  Rounds(p, control, counters, best).run(start);
}

}  // namespace odt
