// Monotone rules against all trees, each asked on a grid of points; and where thresholds come out.
#include <cmath>
#include <memory>

#include "check.hpp"
#include "odt/ruled.hpp"
#include "random_problem.hpp"

using namespace odt;
using namespace odt_test;

namespace {

struct Grown {
  Loss loss = 0;
  int label = -1;  // -1: a split
  std::size_t feature = 0;
  double threshold = 0;
  std::shared_ptr<const Grown> left, right;
};
using Trees = std::vector<std::shared_ptr<const Grown>>;

class TreesOnGrid {
 public:
  explicit TreesOnGrid(const RuledProblem& p) : p_(p) {}

  Loss best() const {
    Loss least = kInfinite;
    for (const auto& tree : trees((1u << p_.base.rows) - 1, p_.base.depth))
      if (tree->loss < least && kept(*tree)) least = tree->loss;
    return least;
  }

  // Of a tree of the engine; infinite if it breaks a rule.
  Loss value(const Tree& tree) const {
    const auto same = of(tree, 0, (1u << p_.base.rows) - 1);
    return kept(*same) ? same->loss : kInfinite;
  }

 private:
  double cell(std::size_t column, std::size_t row) const {
    return p_.space.cells[column * p_.base.rows + row];
  }

  std::shared_ptr<Grown> leaf(unsigned rows, int label) const {
    auto made = std::make_shared<Grown>();
    made->label = label;
    for (std::size_t i = 0; i < p_.base.rows; ++i)
      if (rows >> i & 1)
        made->loss +=
            p_.value[i * static_cast<std::size_t>(p_.sums) + static_cast<std::size_t>(label)];
    return made;
  }
  std::optional<double> threshold(std::size_t f, unsigned left, unsigned right) const {
    if (p_.space.tests[f].code >= 0) return 0;
    double low = -1e9, high = 1e9;
    for (std::size_t i = 0; i < p_.base.rows; ++i) {
      const double x = cell(static_cast<std::size_t>(p_.column[f]), i);
      if (left >> i & 1) low = std::max(low, x);
      if (right >> i & 1) high = std::min(high, x);
    }
    return place(p_.space.tests[f].admitted[0], low, high, p_.space.tests[f].shorten);
  }
  std::shared_ptr<Grown> split(std::size_t f, unsigned left, unsigned right,
                               std::shared_ptr<const Grown> a,
                               std::shared_ptr<const Grown> b) const {
    auto made = std::make_shared<Grown>();
    made->feature = f;
    made->loss = a->loss + b->loss;
    made->threshold = *threshold(f, left, right);
    made->left = std::move(a);
    made->right = std::move(b);
    return made;
  }
  unsigned left_of(unsigned rows, std::size_t f, std::uint32_t cut) const {
    unsigned left = 0;
    for (std::size_t i = 0; i < p_.base.rows; ++i)
      if ((rows >> i & 1) && p_.base.ranks(f)[i] <= cut) left |= 1u << i;
    return left;
  }
  Trees trees(unsigned rows, int depth) const {
    Trees found;
    for (int label = 0; label < p_.base.classes; ++label) found.push_back(leaf(rows, label));
    if (depth == 0) return found;
    for (std::size_t f = 0; f < p_.base.features; ++f) {
      unsigned before = 0;
      for (std::uint32_t cut = 0; cut + 1 < p_.base.distinct[f]; ++cut) {
        const unsigned left = left_of(rows, f, cut);
        if (left == before || left == rows || !threshold(f, left, rows & ~left)) continue;
        before = left;
        const Trees rights = trees(rows & ~left, depth - 1);
        for (const auto& a : trees(left, depth - 1))
          for (const auto& b : rights) found.push_back(split(f, left, rows & ~left, a, b));
      }
    }
    return found;
  }
  std::shared_ptr<Grown> of(const Tree& tree, int at, unsigned rows) const {
    const TreeNode& n = tree.nodes[static_cast<std::size_t>(at)];
    if (n.feature < 0) return leaf(rows, n.label);
    const std::size_t f = static_cast<std::size_t>(n.feature);
    const unsigned left = left_of(rows, f, n.cut);
    return split(f, left, rows & ~left, of(tree, n.left, left), of(tree, n.right, rows & ~left));
  }

  void values(const Grown& tree, std::vector<std::vector<double>>& grid) const {
    if (tree.label >= 0) return;
    const SpaceTest& test = p_.space.tests[tree.feature];
    if (test.code < 0) {
      auto& line = grid[static_cast<std::size_t>(test.column)];
      line.push_back(tree.threshold);
      line.push_back(std::nextafter(tree.threshold, 1e9));
    }
    values(*tree.left, grid);
    values(*tree.right, grid);
  }
  bool kept(const Grown& tree) const {
    std::vector<std::vector<double>> grid(p_.space.columns.size());
    for (std::size_t c = 0; c < grid.size(); ++c)
      for (int v = 0; v <= p_.space.columns[c].known; ++v)
        grid[c].push_back(v);  // one value that no row has
    for (auto& line : grid)
      if (line.empty()) line.push_back(0);
    values(tree, grid);
    for (const ModelClause& clause : p_.clauses) {
      bool one = false;
      for (const ModelLiteral& l : clause)
        one =
            one || breaks(tree, grid, p_.monotone[static_cast<std::size_t>(l.fact)]) == l.positive;
      if (!one) return false;
    }
    return true;
  }
  bool breaks(const Grown& tree, const std::vector<std::vector<double>>& grid,
              const MonotoneRule& rule) const {
    const std::size_t own = static_cast<std::size_t>(rule.column), other = 1 - own;
    const std::size_t known =
        grid[own].size() - (p_.space.columns[own].known >= 0);  // the unseen value has no place
    for (double z : grid[other])
      for (std::size_t i = 0; i < known; ++i)
        for (std::size_t j = 0; j < known; ++j) {
          if (grid[own][i] >= grid[own][j]) continue;
          std::vector<double> low(2, z), high(2, z);
          low[own] = grid[own][i];
          high[own] = grid[own][j];
          const int a = label(tree, low), b = label(tree, high);
          if (rule.increasing ? a > b : a < b) return true;
        }
    return false;
  }
  int label(const Grown& tree, const std::vector<double>& point) const {
    const Grown* at = &tree;
    while (at->label < 0) {
      const SpaceTest& test = p_.space.tests[at->feature];
      const double x = point[static_cast<std::size_t>(test.column)];
      at = (test.code < 0 ? x <= at->threshold : x == test.code) ? at->left.get() : at->right.get();
    }
    return at->label;
  }

  const RuledProblem& p_;
};

const RealSet kAll{{{-kEvery, 0}, {kEvery, 1}}};

// Numbers in column 0; numbers, or values with a test each, in column 1.
void draw_space(Random& r, RuledProblem& p, bool codes) {
  const std::size_t n = p.base.rows;
  const double at[] = {0, 1, 2.5, 6, 6.5, 13};
  for (int c = 0; c < 2; ++c) {
    const bool number = c == 0 || !codes;
    std::vector<int> x(n);
    for (int& v : x) v = draw(r, 0, number ? 5 : 2);
    for (int v : x) p.space.cells.push_back(number ? at[v] : v);
    p.space.columns.push_back({number ? -1 : 3, !number, false});
    const RealSet admitted = draw(r, 0, 3) ? kAll : RealSet{{{2.5, 0}, {4, 1}}, {{6, 0}, {6, 1}}};
    for (int code = 0; code < (number ? 1 : 3); ++code) {
      const auto in = static_cast<std::size_t>(std::count(x.begin(), x.end(), code));
      if (!number && (in == 0 || in == n)) continue;
      const std::size_t f = p.base.features++;
      p.column.push_back(c);
      std::vector<int> sorted = x;
      std::sort(sorted.begin(), sorted.end());
      sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
      for (int v : x)
        p.base.rank.push_back(
            number ? static_cast<std::uint32_t>(std::lower_bound(sorted.begin(), sorted.end(), v) -
                                                sorted.begin())
                   : static_cast<std::uint32_t>(v != code));
      p.base.distinct.push_back(number ? static_cast<std::uint32_t>(sorted.size()) : 2);
      const bool shorten = draw(r, 0, 1) == 1;
      p.space.tests.push_back({c, number ? -1 : code, -1, shorten,
                               number ? std::vector<RealSet>{admitted} : std::vector<RealSet>{}});
      p.base.allowed.emplace_back();
      if (!number || admitted == kAll) continue;
      p.steady = false;
      for (std::size_t k = 0; k + 1 < sorted.size(); ++k)
        p.base.allowed[f].push_back(
            place(admitted, at[sorted[k]], at[sorted[k + 1]], shorten).has_value());
      p.base.allowed[f].push_back(0);
    }
  }
}

RuledProblem monotone_problem(Random& r) {
  RuledProblem p;
  const bool deep = draw(r, 0, 5) == 0;
  p.base.rows = static_cast<std::size_t>(draw(r, 2, deep ? 5 : 7));
  p.base.classes = draw(r, 2, 3);
  p.base.depth = deep ? 3 : 2;
  p.columns = 2;
  p.steady = true;
  draw_space(r, p, draw(r, 0, 2) == 0);
  p.components = 1;
  p.sums = p.base.classes;
  for (std::size_t i = 0; i < p.base.rows; ++i) {
    const int least = draw(r, 0, p.base.classes - 1);
    for (int c = 0; c < p.base.classes; ++c) p.value.push_back(c == least ? 0 : draw(r, 0, 3));
  }
  p.base.label.assign(p.base.rows, 0);
  for (int c = 0; c < p.base.classes; ++c) p.sum_of.push_back(c);
  p.leaf = {0};
  p.split = {0, 0};
  p.path_weight = {-1};
  p.path_delta.resize(1);
  p.next = {0, 0};
  p.need = {0};
  p.leaf_rules.resize(1);
  p.split_rules.resize(1);
  p.missing_low.assign(p.base.features, 0);
  p.missing_high.assign(p.base.features, 0);
  p.objective.push_back({1, {0}, -1});
  p.facts = draw(r, 1, 2);
  for (int i = 0; i < p.facts; ++i) p.monotone.push_back({i, i, draw(r, 0, 1) == 1});
  p.split_facts.assign(static_cast<std::size_t>(p.base.depth * p.columns), 0);
  const bool together = draw(r, 0, 3) == 0;
  for (int i = 0; i < p.facts; ++i) {
    ModelLiteral l;
    l.fact = i;
    l.positive = draw(r, 0, 5) == 0;
    if (together && i)
      p.clauses.back().push_back(l);
    else
      p.clauses.push_back({l});
  }
  return p;
}

}  // namespace

CASE(the_optimum_under_monotone_rules_equals_every_tree_on_a_grid) {
  Random random(31);
  int bound = 0;
  for (int trial = 0; trial < 400; ++trial) {
    RuledProblem p = monotone_problem(random);
    const TreesOnGrid all(p);
    const Loss best = all.best();
    const Result r = solve_ruled(p, Options{});
    CHECK(r.status == (best >= kInfinite ? Status::infeasible : Status::optimal));
    if (best >= kInfinite) continue;
    CHECK(r.value == best);
    CHECK(all.value(r.tree) == best);
    p.clauses.clear();
    bound += solve_ruled(p, Options{}).value < best;
  }
  CHECK(bound > 40);
}

CASE(the_anytime_search_keeps_monotone_rules) {
  Random random(32);
  int stopped = 0;
  for (int trial = 0; trial < check::trials(600); ++trial) {
    const RuledProblem p = monotone_problem(random);
    const TreesOnGrid all(p);
    const Loss best = all.best();
    Options o;
    o.alone = 0;
    o.work_limit = static_cast<std::uint64_t>(draw(random, 1, 4000));
    const Result r = solve_ruled(p, o);
    stopped += r.status == Status::feasible;
    CHECK(r.bound <= best || best >= kInfinite);
    CHECK(r.tree.empty() || (r.value >= best && all.value(r.tree) == r.value));
    CHECK(r.status != Status::optimal || r.value == best);
  }
  CHECK(stopped > check::trials(30));
}

CASE(thresholds_are_the_admitted_ones_nearest_to_the_middle) {
  const auto middle = [](const RealSet& admitted, double low, double high) {
    return place(admitted, low, high, false);
  };
  CHECK(middle(kAll, 1, 2) == 1.5);
  CHECK(middle(kAll, 1, std::nextafter(1.0, 2.0)) == 1.0);
  CHECK(middle(kAll, -1.7e308, -1.6e308) == -1.7e308 / 2 - 1.6e308 / 2);
  const RealSet some{{{0, 0}, {1, 1}}, {{2, 1}, {3, 0}}};  // [0, 1] and (2, 3)
  CHECK(middle(some, 0.5, 4) == 2.25);
  CHECK(middle(some, 2.5, 8) == 2.75);  // the middle of what is left of an open piece
  CHECK(middle(some, 0.5, 2) == 1);
  CHECK(!middle(some, 1.5, 2));
  CHECK(middle(some, 1.5, 2.5) == 2.25);
  CHECK(!middle(some, 3, 4));
}

CASE(thresholds_are_the_shortest_admitted_decimals) {
  const auto shorter = [](const RealSet& admitted, double low, double high) {
    return place(admitted, low, high, true);
  };
  CHECK(shorter(kAll, 152, 154.33333333333348) == 153);
  CHECK(shorter(kAll, 1, 2) == 1);  // never the upper value
  CHECK(shorter(kAll, 150, 160) == 155);
  CHECK(shorter(kAll, 0.1, 0.2) == 0.1);
  CHECK(shorter(kAll, 0.55, 0.75) == 0.6 || shorter(kAll, 0.55, 0.75) == 0.7);
  CHECK(shorter(kAll, -0.25, 0.25) == 0);
  CHECK(shorter(kAll, 1e-30, 9e-30) == 5e-30);
  CHECK(shorter(kAll, 1e17, 9e17) == 5e17);
  CHECK(shorter(kAll, 5e-324, 1e-323) == 5e-324);
  CHECK(shorter(kAll, 1, std::nextafter(1.0, 2.0)) == 1.0);
  const RealSet some{{{0.5, 1}, {1, 0}}, {{2.25, 0}, {2.25, 1}}};  // (0.5, 1) and 2.25
  CHECK(shorter(some, 0, 4) == 0.9);
  CHECK(shorter(some, 1, 4) == 2.25);
  CHECK(!shorter(some, 1, 2));
}
