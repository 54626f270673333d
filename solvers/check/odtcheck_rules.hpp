// DUAL, FRONT, SQUARES and OUTPUTS: rules that only a whole tree, or the rows of a leaf, can break,
// and the tree that the certificate is about.
#pragma once

#include "odtcheck_rows.hpp"

namespace {

// ---- rules that only a whole tree, or the rows of a leaf, can break

// What some rows count for each measure, if a leaf with this class holds them.
vector<Int> sums_of(const Problem& p, const vector<Index>& kinds, size_t label) {
  vector<Int> found(p.measures.size(), 0);
  for (Index k : kinds)
    for (size_t m = 0; m < found.size(); ++m) found[m] += p.sums[k][m * p.classes.size() + label];
  return found;
}

Int error_of(const Problem& p, const vector<Index>& kinds) {
  Moments moments;
  for (Index k : kinds) moments.add(p.moments[k], p.numbers.size());
  return error_of(p, moments, true);
}

bool holds(const Rule& rule, const vector<Int>& sums, std::uint64_t facts) {
  for (const Literal& l : rule.literals)
    if (l.fact ? (facts >> l.at & 1) == l.positive : sums[l.at] <= l.at_most) return true;
  return false;
}

// Whether a leaf or split in a state of the path keeps the rules that are asked of its rows.
bool meets(const Problem& p, int state, const char* scope, const vector<Int>& sums) {
  for (size_t at : p.asks[static_cast<size_t>(state)])
    if (p.rules[at].scope == scope && !holds(p.rules[at], sums, 0)) return false;
  return true;
}

bool keeps_rules(const Problem& p, const vector<Int>& sums, std::uint64_t facts) {
  for (const Rule& rule : p.rules)
    if (rule.scope == "tree" && !holds(rule, sums, facts)) return false;
  return true;
}

// All that matters of a tree on some rows: the weighted sum, the loss, the measures, the facts.
struct Point {
  Int weighted, loss;
  vector<Int> sums;
  std::uint64_t facts;
};

// FRONT: all trees whose weighted sum is within a budget, but for those that another one on the
// same rows is no worse than in everything. The weighted sum is scale * loss + multipliers *
// measures. Rules on leaves, splits and whole trees only leave out trees; so the least weighted sum
// of trees without these rules says which tests need not be tried.
struct Fronts {
  const Problem& p;
  std::function<bool()> sampled;
  Int scale = 1, price = 0, nodes = 0;
  vector<Int> multiplier;       // per measure
  vector<vector<Int>> weights;  // per kind and class, above the least of the kind
  vector<Int> most;             // per kind
  bool drops = false;           // MONO holds
  std::function<Int(const View&, int, Int)> of_two;  // `least_of` at depth two, if it is faster

  Fronts(const Problem& problem, std::function<bool()> chance)
      : p(problem), sampled(std::move(chance)) {}

  // How many points were left; refuses where one of them keeps the rules below the target.
  Int check(const View& v, Int target, Int of_loss, const vector<Int>& multipliers) {
    Int budget = 0;
    if (!begin(v, target, of_loss, multipliers, budget)) return 0;
    const vector<Point> found = front(v, p.depth, 0, budget);
    for (const Point& point : found)
      demand(point.loss >= target || !keeps_rules(p, point.sums, point.facts),
             "a tree that keeps the rules loses less than is claimed");
    return static_cast<Int>(found.size());
  }

  // The budget of trees that lose less than the target; false where no tree keeps the rules.
  bool begin(const View& v, Int target, Int of_loss, const vector<Int>& multipliers, Int& within) {
    scale = of_loss;
    multiplier.assign(p.measures.size(), 0);
    size_t at = 0;
    // A tree that keeps the rules and loses less than the target stays within this budget.
    Wide budget = Wide{scale} * (target - 1), reach = 0;
    for (const Rule& rule : p.rules) {
      const Int m = rule.scope == "tree" ? multipliers[at++] : 0;
      if (rule.scope == "tree" && rule.literals.empty()) return false;  // no tree keeps it
      if (!m) continue;
      demand(rule.literals.size() == 1 && !rule.literals[0].fact, "a multiplier of no bound");
      multiplier[rule.literals[0].at] += m;
      budget += Wide{m} * rule.literals[0].at_most;
    }
    weigh(v, budget, reach);
    demand(reach < kLargest && budget < kLargest && budget > -kLargest, "sums are too large");
    drops = price >= 0 && may_drop(p);
    within = static_cast<Int>(budget);
    return true;
  }

  // Weights above the least of each kind, which are taken off the budget.
  void weigh(const View& v, Wide& budget, Wide& reach) {
    const size_t classes = p.classes.size(), measures = multiplier.size();
    const auto fits = [](Wide x) {
      demand(x < kLargest && x > -kLargest, "sums are too large");
      return static_cast<Int>(x);
    };
    vector<Int> least;
    Wide each = Wide{scale} * p.price;
    for (size_t m = 0; m < measures; ++m) each += Wide{multiplier[m]} * p.measures[m].price;
    price = fits(each);
    for (size_t k = 0; k < p.loss.size(); ++k) {
      vector<Int> weight;
      for (size_t c = 0; c < classes; ++c) {
        Wide sum = Wide{scale} * p.loss[k][c];
        for (size_t m = 0; k < p.sums.size() && m < measures; ++m)
          sum += Wide{multiplier[m]} * p.sums[k][m * classes + c];
        weight.push_back(fits(sum));
      }
      least.push_back(*std::min_element(weight.begin(), weight.end()));
      for (Int& x : weight) x -= least.back();
      most.push_back(*std::max_element(weight.begin(), weight.end()));
      weights.push_back(weight);
    }
    for (size_t k = 0; !p.numbers.empty() && k < p.goal.size(); ++k) {
      const double far = std::ceil(farthest(p.goal[k]) * (1 + 1e-11)) + 1;
      demand(far < static_cast<double>(kLargest), "sums are too large");
      most[k] += fits(Wide{scale} * p.moments[k].weight * static_cast<Int>(far));
    }
    for (Index k : v.kind) {
      budget -= least[k];
      reach += Wide{most[k]} + std::abs(least[k]);
    }
    reach += Wide{std::abs(price)} << p.depth;
  }

  // DEL for numbers: no mean lies beyond the least and the largest target. Bounds are those of
  // trees whose leaves may predict anything.
  double farthest(const vector<Int>& goal) const {
    double sum = 0;
    for (size_t t = 0; t < p.numbers.size(); ++t) {
      Int apart = 0;
      for (const auto& other : p.goal) apart = std::max(apart, std::abs(goal[t] - other[t]));
      sum += p.numbers[t].parts * static_cast<double>(apart) * static_cast<double>(apart);
    }
    return sum;
  }

  // The least weighted sums of a leaf on the lower rows, or of one on the others, at every place.
  // Rules on outputs are left to `front`.
  vector<Int> alone(const View& v, size_t f, bool right) const {
    if (p.numbers.empty()) return leaves(v, f, right, weights, price);
    vector<Int> found(v.rows() + 1, price);
    Moments moments;
    for (size_t t = 1; t <= v.rows(); ++t) {
      moments.add(p.moments[v.kinds[f][right ? v.rows() - t : t - 1]], p.numbers.size());
      found[right ? v.rows() - t : t] += scale * error_of(p, moments, false);
    }
    return found;
  }

  // Calls `visit` with each test of a feature where trees on both sides, of one level less, may
  // have a weighted sum below `limit`, which visits may lower; with a bound on each side that is no
  // more than `limit`.
  template <class Visit>
  void tests(const View& v, size_t f, int depth, int next, Int& limit, Visit visit) {
    vector<size_t> place;
    for (size_t t = 1; t < v.rows(); ++t)
      if (v.cut[f][t]) place.push_back(t);
    if (depth == 1) {
      if (place.empty() || !p.ends[static_cast<size_t>(next)]) return;
      const vector<Int> left = alone(v, f, false), right = alone(v, f, true);
      for (size_t t : place)
        if (left[t] + right[t] < limit) visit(t, left[t], right[t]);
      return;
    }
    struct Known {  // what holds on the two sides of a place
      size_t at;
      Int side[2];
    };
    struct Open {  // tests between two places
      size_t from, to;
      Known low, high;
    };
    const vector<Int> lost_upto = upto(v, f, most);
    const Int least = price >= 0 ? price : price * (Int{1} << (depth - 1));
    vector<Open> open{{0, place.size(), {0, {least, least}}, {v.rows(), {least, least}}}};
    while (!open.empty()) {
      Open o = open.back();
      open.pop_back();
      // MONO from fewer rows, DEL from more.
      const auto bound = [&](size_t t, int side) {
        const Known &fewer = side ? o.high : o.low, &more = side ? o.low : o.high;
        const Int lost =
            side ? lost_upto[t] - lost_upto[more.at] : lost_upto[more.at] - lost_upto[t];
        return std::max({least, drops ? fewer.side[side] : least, more.side[side] - lost});
      };
      const auto closed = [&](size_t i) {
        return bound(place[i], 0) + bound(place[i], 1) >= limit;
      };
      while (o.from < o.to && closed(o.from)) ++o.from;
      while (o.from < o.to && closed(o.to - 1)) --o.to;
      if (o.from == o.to) continue;
      const size_t middle = (o.from + o.to) / 2, t = place[middle];
      Known here{t, {bound(t, 0), bound(t, 1)}};
      if (depth < p.depth || sampled()) {
        const Index idle = static_cast<Index>(p.most.size() - 1);
        const View left = part(v, f, 0, t, 0, t, idle);
        const Int inherited = here.side[0];  // more than is needed here closes tests beside
        here.side[0] =
            std::max(here.side[0], least_of(left, depth - 1, next, limit - here.side[1]));
        if (here.side[0] + here.side[1] < limit) {
          const View right = part(v, f, t, v.rows(), t, v.rows(), idle);
          here.side[1] =
              std::max(here.side[1], least_of(right, depth - 1, next, limit - inherited));
          if (here.side[0] + here.side[1] < limit) visit(t, here.side[0], here.side[1]);
        }
      }
      open.push_back({o.from, middle, o.low, here});
      open.push_back({middle + 1, o.to, here, o.high});
    }
  }

  // The least weighted sum of all trees on the rows, without rules on leaves, splits and the whole
  // tree; or `limit`, where it is no less.
  Int least_of(const View& v, int depth, int state, Int limit) {
    ++nodes;
    if (depth == 2 && of_two) return of_two(v, state, limit);
    if (p.ends[static_cast<size_t>(state)]) limit = std::min(limit, alone(v, 0, false).back());
    if (depth == 0) return limit;
    for (size_t f = 0; f < p.features.size(); ++f)
      if (p.after(state, f) >= 0)
        tests(v, f, depth, p.after(state, f), limit,
              [&](size_t, Int a, Int b) { limit = std::min(limit, a + b); });
    return limit;
  }

  // Calls `use` with the point of each leaf within a budget, and its class.
  template <class Use>
  void leaves_of(const View& v, int state, Int budget, Use use) const {
    if (!p.ends[static_cast<size_t>(state)]) return;
    for (size_t c = 0; c < p.classes.size(); ++c) {
      Point leaf{price, p.price, sums_of(p, v.kind, c), 0};
      for (Index k : v.kind) {
        leaf.weighted += weights[k][c];
        leaf.loss += p.loss[k][c];
      }
      const Int apart = error_of(p, v.kind);
      if (leaf.weighted + Wide{scale} * apart > budget || !meets(p, state, "leaf", leaf.sums))
        continue;
      leaf.weighted += scale * apart;
      leaf.loss += apart;
      for (size_t m = 0; m < leaf.sums.size(); ++m) leaf.sums[m] += p.measures[m].price;
      use(leaf, c);
    }
  }

  static Point joined(const Point& x, const Point& y, std::uint64_t facts) {
    Point both{x.weighted + y.weighted, x.loss + y.loss, x.sums, x.facts | y.facts | facts};
    for (size_t m = 0; m < both.sums.size(); ++m) both.sums[m] += y.sums[m];
    return both;
  }

  // Bounds are those of all tests that part rows; a tree's must part cells that are there.
  bool may_stand(const View& v, size_t f, size_t t) const {
    return v.cut[f][t] && v.rank(f, v.order[f][t - 1]) != p.features[f].absent &&
           v.rank(f, v.order[f][t]) != p.features[f].absent;
  }

  // The points within a budget.
  vector<Point> front(const View& v, int depth, int state, Int budget) {
    ++nodes;
    vector<Point> found;
    leaves_of(v, state, budget, [&](const Point& leaf, size_t) { add(found, leaf); });
    if (depth == 0 || !meets(p, state, "split", sums_of(p, v.kind, 0))) return found;
    const Index idle = static_cast<Index>(p.most.size() - 1);
    for (size_t f = 0; f < p.features.size(); ++f) {
      const int next = p.after(state, f);
      if (next < 0) continue;
      const std::uint64_t facts = p.facts[static_cast<size_t>(p.depth - depth)][f];
      Int limit = budget + 1;
      tests(v, f, depth, next, limit, [&](size_t t, Int, Int b) {
        if (!may_stand(v, f, t)) return;
        const vector<Point> left = front(part(v, f, 0, t, 0, t, idle), depth - 1, next, budget - b);
        if (left.empty()) return;
        Int least = left[0].weighted;
        for (const Point& point : left) least = std::min(least, point.weighted);
        const vector<Point> right =
            front(part(v, f, t, v.rows(), t, v.rows(), idle), depth - 1, next, budget - least);
        for (const Point& x : left)
          for (const Point& y : right)
            if (x.weighted + y.weighted <= budget) add(found, joined(x, y, facts));
      });
    }
    return found;
  }

  // Keeps a point unless one of the front is no worse; drops those that it is no worse than.
  static void add(vector<Point>& front, const Point& point) {
    const auto no_worse = [](const Point& a, const Point& b) {
      bool fine = a.facts == b.facts && a.loss <= b.loss;
      for (size_t m = 0; fine && m < a.sums.size(); ++m) fine = a.sums[m] <= b.sums[m];
      return fine;
    };
    for (const Point& other : front)
      if (no_worse(other, point)) return;
    front.erase(std::remove_if(front.begin(), front.end(),
                               [&](const Point& other) { return no_worse(point, other); }),
                front.end());
    front.push_back(point);
  }
};

// ---- the tree that the certificate is about

struct Held {
  const Problem& p;
  int depth = 0;
  Int value = 0, leaves = 0;
  vector<Int> stages, sums;
  std::uint64_t facts = 0;

  explicit Held(const Problem& problem, size_t at = 0)
      : p(problem), stages(problem.stages.size(), 0), sums(problem.measures.size(), 0) {
    if (p.roots.empty()) return;
    vector<Index> rows(p.rows);
    std::iota(rows.begin(), rows.end(), 0u);
    visit(p.tree[static_cast<size_t>(p.roots[at])], rows, 0, 0);
    demand(leaves <= p.leaves, "the tree has too many leaves");
    for (size_t s = 0; s < stages.size(); ++s) {
      demand(!p.stages[s].zero || !stages[s], "the tree breaks a rule that must hold for all rows");
      value += p.stages[s].unit * stages[s];
    }
    demand(keeps_rules(p, sums, facts), "the tree breaks a rule on the whole tree");
  }

  // What a leaf loses that tells its outputs, which lie in one of the pieces, or as near to it as
  // floats come.
  Int told_error(const Node& leaf, const vector<Index>& kinds) const {
    const size_t n = p.numbers.size();
    vector<double> point;
    double loss = 0;
    for (size_t t = 0; t < n; ++t) {
      const Number& number = p.numbers[t];
      const double output =
          leaf.outputs[t] * static_cast<double>(number.scale) - static_cast<double>(number.centre);
      point.push_back(output * std::sqrt(number.parts));
      for (Index k : kinds) {
        const double apart = static_cast<double>(p.goal[k][t]) - output;
        loss += static_cast<double>(p.moments[k].weight) * number.parts * apart * apart;
      }
    }
    bool inside = false;
    for (const Piece& piece : p.pieces) {
      bool fine = true;
      for (size_t j = 0; j < piece.bounds.size(); ++j) {
        double sum = -piece.bounds[j], size = std::abs(piece.bounds[j]);
        for (size_t t = 0; t < n; ++t) {
          sum += piece.normals[j][t] * point[t];
          size += std::abs(piece.normals[j][t] * point[t]);
        }
        fine = fine && sum <= 1e-9 * size;
      }
      inside = inside || fine;
    }
    demand(inside, "a leaf of the tree predicts what no leaf may");
    demand(loss < static_cast<double>(kFarOff), "a leaf of the tree loses too much");
    return static_cast<Int>(loss);
  }

  void visit(const Node& node, const vector<Index>& rows, int level, int state) {
    depth = std::max(depth, level);
    demand(level + (node.feature >= 0) <= p.depth, "the tree is too deep");
    vector<Index> kinds;
    for (Index i : rows) kinds.push_back(p.kind[i]);
    if (node.feature < 0) {
      ++leaves;
      demand(static_cast<Int>(rows.size()) >= p.leaf_rows, "a leaf of the tree holds too few rows");
      for (size_t s = 0; s < stages.size(); ++s) {
        stages[s] += p.stages[s].price;
        for (Index i : rows) stages[s] += p.stages[s].loss[p.stages[s].kind[i]][node.label];
      }
      stages[0] += node.outputs.empty() ? error_of(p, kinds) : told_error(node, kinds);
      demand(p.ends[static_cast<size_t>(state)], "a path of the tree ends too early");
      const vector<Int> found = sums_of(p, kinds, node.label);
      demand(meets(p, state, "leaf", found), "a leaf of the tree breaks a rule");
      for (size_t m = 0; m < sums.size(); ++m) sums[m] += found[m] + p.measures[m].price;
      return;
    }
    demand(meets(p, state, "split", sums_of(p, kinds, 0)), "a split of the tree breaks a rule");
    facts |= p.facts[static_cast<size_t>(level)][static_cast<size_t>(node.feature)];
    const int next = p.after(state, static_cast<size_t>(node.feature));
    demand(next >= 0, "a path of the tree breaks a path rule");
    const Feature& f = p.features[static_cast<size_t>(node.feature)];
    const double threshold = number(node.threshold);
    vector<Index> sides[2];
    std::set<Index> ranks[2];  // of cells that are not empty: some test lies between
    for (Index i : rows) {
      const bool right = f.value[i] > threshold;
      sides[right].push_back(i);
      if (f.rank[i] != f.absent) ranks[right].insert(f.rank[i]);
    }
    demand(!ranks[0].empty() && !ranks[1].empty(), "a split of the tree parts nothing");
    demand(*ranks[0].rbegin() < *ranks[1].begin(),
           "a split of the tree is none of the tests that may stand");
    visit(p.tree[static_cast<size_t>(node.left)], sides[0], level + 1, next);
    visit(p.tree[static_cast<size_t>(node.right)], sides[1], level + 1, next);
  }
};

}  // namespace
