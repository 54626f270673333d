// How odtcheck reads a problem, with all that follows from it alone.
#pragma once

#include "odtcheck_problem.hpp"

namespace {

Int signed_integer(const string& text) {
  return !text.empty() && text[0] == '-' ? -integer(text.substr(1)) : integer(text);
}

// "3 <= 12" of measure 3, "fact 2" or "not fact 2".
Literal literal(const string& text) {
  const size_t at = text.find(" <= ");
  if (at != string::npos)
    return {false, true, static_cast<size_t>(integer(text.substr(0, at))),
            signed_integer(text.substr(at + 4))};
  const bool no = text.compare(0, 4, "not ") == 0;
  const string rest = text.substr(no ? 4 : 0);
  need(rest.compare(0, 5, "fact ") == 0, "a literal of an unknown kind: " + text);
  return {true, !no, static_cast<size_t>(integer(rest.substr(5), 63)), 0};
}

// States without `ends` and `asks` allow leaves and ask nothing; facts go by level and feature.
void read_rules(Problem& p) {
  p.ruled = !p.rules.empty() || !p.ends.empty();
  const size_t states = std::max<size_t>(1, p.next.size());
  if (p.ends.empty()) p.ends.assign(states, 1);
  if (p.asks.empty()) p.asks.resize(states);
  need(p.ends.size() == states && p.asks.size() == states, "`ends` and `asks` are per state");
  for (const Rule& rule : p.rules)
    for (const Literal& l : rule.literals)
      need(rule.scope == "tree" ? l.fact || l.at < p.measures.size()
                                : !l.fact && l.at < p.measures.size(),
           "a rule on what there is not");
  for (const auto& asked : p.asks)
    for (size_t at : asked)
      need(at < p.rules.size() && p.rules[at].scope != "tree", "a state asks for no rule");
  p.facts.assign(static_cast<size_t>(p.depth), vector<std::uint64_t>(p.features.size(), 0));
  for (const auto& line : p.told)
    for (size_t level = 0; level < p.facts.size(); ++level)
      for (size_t i = 2; i < line.size(); ++i)
        if (line[1] == "*" || line[1] == std::to_string(level))
          p.facts[level]
                 [static_cast<size_t>(integer(line[i], static_cast<Int>(p.features.size()) - 1))] |=
              std::uint64_t{1} << integer(line[0], 63);
}

// Multipliers m of some conditions of a piece, so that the point nearest to a given one where all
// of them hold with equality lies m * normals away; none where there is no such point. `over`: what
// the given point exceeds each bound by.
vector<double> multipliers(const Piece& piece, const vector<size_t>& chosen,
                           const vector<double>& over) {
  const size_t n = chosen.size();
  vector<vector<double>> a(n, vector<double>(n + 1));
  for (size_t i = 0; i < n; ++i) {
    const auto& one = piece.normals[chosen[i]];
    for (size_t j = 0; j < n; ++j)
      a[i][j] = std::inner_product(one.begin(), one.end(), piece.normals[chosen[j]].begin(), 0.0);
    a[i][n] = over[chosen[i]];
  }
  for (size_t i = 0; i < n; ++i) {  // the matrix is symmetric, none of its pivots below 0
    if (a[i][i] < 1e-12) return {};
    for (size_t k = 0; k < n; ++k)
      for (size_t j = n + 1; k != i && j-- > i;) a[k][j] -= a[i][j] * a[k][i] / a[i][i];
  }
  vector<double> found;
  for (size_t i = 0; i < n; ++i) found.push_back(a[i][n] / a[i][i]);
  return found;
}

// How far a point lies from a piece, squared, or less: for any multipliers m >= 0 of what the point
// exceeds the bounds by, all of the piece is at least 2 m * over - |m * normals| ^ 2 away. Those of
// as many conditions as there are numbers are enough.
double beyond(const Piece& piece, const vector<double>& point) {
  vector<double> over;
  for (size_t j = 0; j < piece.bounds.size(); ++j)
    over.push_back(
        std::inner_product(point.begin(), point.end(), piece.normals[j].begin(), -piece.bounds[j]));
  if (over.empty() || *std::max_element(over.begin(), over.end()) <= 0) return 0;
  double best = 0;
  vector<size_t> chosen;
  const std::function<void(size_t)> choose = [&](size_t from) {
    for (size_t j = from; j < over.size(); ++j) {
      chosen.push_back(j);
      const vector<double> m = multipliers(piece, chosen, over);
      double found = 0;
      vector<double> sum(point.size(), 0);
      for (size_t i = 0; i < m.size(); ++i) {
        found = m[i] < 0 ? -std::numeric_limits<double>::infinity()
                         : found + 2 * m[i] * over[chosen[i]];
        for (size_t t = 0; t < sum.size(); ++t) sum[t] += m[i] * piece.normals[chosen[i]][t];
      }
      best = std::max(best, found - std::inner_product(sum.begin(), sum.end(), sum.begin(), 0.0));
      if (chosen.size() < point.size()) choose(j + 1);
      chosen.pop_back();
    }
  };
  choose(0);
  return best;
}

constexpr Int kFarOff = Int{1} << 48;  // what lies farther off counts as much; trees lose less than
constexpr Int kNoTree = Int{1} << 55;  // this

// Of the means, or of the outputs that are allowed and nearest to them.
Int error_of(const Problem& p, const Moments& of, bool allowed) {
  if (of.weight == 0) return 0;
  const double w = static_cast<double>(of.weight);
  double apart = 0;
  for (size_t t = 0; t < p.numbers.size(); ++t) {
    const double s = static_cast<double>(of.sum[t]);
    apart += p.numbers[t].parts * (static_cast<double>(of.squares[t]) - s * s / w);
  }
  if (allowed && !p.pieces.empty()) {
    vector<double> mean;
    for (size_t t = 0; t < p.numbers.size(); ++t)
      mean.push_back(std::sqrt(p.numbers[t].parts) * static_cast<double>(of.sum[t]) / w);
    double far = std::numeric_limits<double>::max();
    for (const Piece& piece : p.pieces) far = std::min(far, beyond(piece, mean));
    apart = std::min(apart + w * far * (1 - 1e-11), static_cast<double>(kFarOff));
  }
  return std::max<Int>(0, static_cast<Int>(apart) - 1);
}

// The targets around their mean, and what is taken for equal: a billionth of the loss of one leaf.
Int read_numbers(Problem& p, const vector<const vector<string>*>& cells,
                 vector<vector<Int>>& targets) {
  need(p.classes.size() == 1 && p.stages.size() == 1 && p.ruled && p.numbers.size() <= kNumbers,
       "numbers have one class, one stage and `ends`, and there are few of them");
  p.weights.resize(p.rows, 1);
  targets.resize(p.rows);
  const long double total = std::accumulate(p.weights.begin(), p.weights.end(), 0.0L);
  long double all = 0;
  for (size_t t = 0; t < p.numbers.size(); ++t) {
    Number& n = p.numbers[t];
    long double sum = 0, squares = 0;
    for (size_t i = 0; i < p.rows; ++i) {
      const double x = number((*cells[t])[i]) * static_cast<double>(n.scale);
      need(std::abs(x) < 1e15 && std::abs(x - std::round(x)) < 1e-4, "a target has more digits");
      targets[i].push_back(static_cast<Int>(std::llround(x)));
      sum += static_cast<long double>(p.weights[i]) * static_cast<long double>(targets[i][t]);
    }
    n.centre = total > 0 ? static_cast<Int>(sum / total) : 0;
    for (size_t i = 0; i < p.rows; ++i) {
      const long double x = static_cast<long double>(targets[i][t] -= n.centre);
      squares += static_cast<long double>(p.weights[i]) * x * x;
    }
    need(squares < 1e18L, "the targets are too large");
    all += squares * static_cast<long double>(n.parts);
  }
  need(total < 1e12L && all < 1.2e12L, "the targets are too large");
  need(p.pieces.empty() || p.depth <= 6, "rules on outputs of more than six levels");
  for (Piece& piece : p.pieces)  // from outputs to units
    for (size_t j = 0; j < piece.bounds.size(); ++j) {
      double length = 0;
      for (size_t t = 0; t < p.numbers.size(); ++t) {
        const Number& n = p.numbers[t];
        double& x = piece.normals[j][t];
        x /= static_cast<double>(n.scale);
        piece.bounds[j] -= x * static_cast<double>(n.centre);
        x /= std::sqrt(n.parts);
        length += x * x;
      }
      need(length > 0, "a condition on no output");
      for (double& x : piece.normals[j]) x /= std::sqrt(length);
      piece.bounds[j] /= std::sqrt(length);
    }
  p.tolerance = static_cast<Int>(all / 1e9L) + 3 * (Int{1} << p.depth);
  return static_cast<Int>(all) + 1;
}

int read_tree(Problem& p, const vector<vector<string>>& lines, size_t& at, int level) {
  need(at < lines.size() && level <= 30, "the tree ends too early or is too deep");
  const vector<string>& line = lines[at++];
  const size_t here = p.tree.size();
  p.tree.emplace_back();
  Node node;
  if (line[0] == "leaf") {
    need(line.size() >= 2 && !p.classes.empty(), "a leaf has one class");
    node.label = static_cast<size_t>(integer(line[1], static_cast<Int>(p.classes.size()) - 1));
    for (size_t i = 2; i < line.size(); ++i) node.outputs.push_back(number(line[i]));
  } else {
    need(line.size() == 3 && !p.features.empty(), "a split has a feature and a threshold");
    node.feature = static_cast<int>(integer(line[1], static_cast<Int>(p.features.size()) - 1));
    node.threshold = line[2];
    node.left = read_tree(p, lines, at, level + 1);
    node.right = read_tree(p, lines, at, level + 1);
  }
  p.tree[here] = node;
  return static_cast<int>(here);
}

Problem read_problem(const string& text) {
  Problem p;
  vector<vector<string>> tree;
  vector<Stage>* of = nullptr;  // losses and rows are of the last one
  for (size_t at = 0, end; at < text.size(); at = end + 1) {
    end = std::min(text.find('\n', at), text.size());
    const vector<string> line = fields(text.substr(at, end - at));
    const string& word = line[0];
    const bool one = line.size() == 2;
    if (word == "target" && one)
      p.target = line[1];
    else if (word == "separator" && one && line[1].size() == 1)
      p.separator = line[1][0];
    else if (word == "class" && one)
      p.classes.push_back(line[1]);
    else if (word == "feature" && line.size() >= 3)
      p.features.push_back({line[1], line[2], {line.begin() + 3, line.end()}, {}, {}});
    else if (word == "depth" && one)
      p.depth = static_cast<int>(integer(line[1], 30));
    else if (word == "least depth")
      p.least_depth = true;
    else if (word == "leaves" && one)
      p.leaves = integer(line[1]);
    else if (word == "leaf rows" && one)
      p.leaf_rows = integer(line[1]);
    else if (word == "number" && line.size() == 4) {
      need(p.pieces.empty(), "a number stands behind the conditions on outputs");
      p.numbers.push_back({line[1], integer(line[2]), 0, number(line[3])});
      need(p.numbers.back().scale > 0 && p.numbers.back().parts > 0, "a number is not scaled");
    } else if (word == "outputs") {
      p.pieces.emplace_back();
      for (size_t i = 1; i < line.size(); i += p.numbers.size() + 1) {
        vector<double> all;
        for (size_t t = 0; t <= p.numbers.size() && i + t < line.size(); ++t)
          all.push_back(number(line[i + t]));
        need(all.size() == p.numbers.size() + 1, "a condition on outputs is cut short");
        p.pieces.back().bounds.push_back(all.back());
        all.pop_back();
        p.pieces.back().normals.push_back(all);
      }
    } else if (word == "weights") {
      for (size_t i = 1; i < line.size(); ++i) p.weights.push_back(integer(line[i]));
    } else if (word == "measure" && line.size() == 3) {
      p.measures.push_back({line[1], false, signed_integer(line[2]), 1, {}, {}, {}});
      of = &p.measures;
    } else if (word == "fact" && line.size() >= 3) {
      need(integer(line[1]) < 64, "at most 64 facts");
      p.told.push_back({line.begin() + 1, line.end()});
    } else if (word == "rule" && line.size() >= 3) {
      p.rules.push_back({line[1], line[2], {}});
      for (size_t i = 3; i < line.size(); ++i) p.rules.back().literals.push_back(literal(line[i]));
    } else if (word == "ends") {
      for (size_t i = 1; i < line.size(); ++i) p.ends.push_back(line[i] != "0");
    } else if (word == "asks") {
      p.asks.emplace_back();
      for (size_t i = 1; i < line.size(); ++i)
        p.asks.back().push_back(static_cast<size_t>(integer(line[i])));
    } else if (word == "stage" && line.size() == 4 && (line[2] == "least" || line[2] == "zero")) {
      p.stages.push_back({line[1], line[2] == "zero", integer(line[3]), 1, {}, {}, {}});
      of = &p.stages;
    } else if (word == "loss" && of) {
      of->back().loss.emplace_back();
      for (size_t i = 1; i < line.size(); ++i)
        of->back().loss.back().push_back(of == &p.stages ? integer(line[i])
                                                         : signed_integer(line[i]));
    } else if (word == "kinds" && of) {
      for (size_t i = 1; i < line.size(); ++i)
        of->back().of_class.push_back(static_cast<Index>(integer(line[i], 1 << 28)));
    } else if (word == "rows" && of) {  // KIND or KINDxCOUNT
      vector<Index>& kind = of->back().kind;
      for (size_t i = 1; i < line.size(); ++i) {
        const size_t x = line[i].find('x');
        const Int count = x == string::npos ? 1 : integer(line[i].substr(x + 1), 1 << 28);
        need(kind.size() < (1u << 28), "too many rows");
        kind.insert(kind.end(), static_cast<size_t>(count),
                    static_cast<Index>(integer(line[i].substr(0, x), 1 << 28)));
      }
    } else if (word == "path") {
      p.next.emplace_back();
      for (size_t i = 1; i < line.size(); ++i)
        p.next.back().push_back(static_cast<int>(integer(line[i], 1 << 20)) - 1);
    } else if (word == "all" && line.size() >= 3) {
      p.all = true;
      p.levels = static_cast<int>(integer(line[1], 30));
      p.idle = line[2] != "0";
      for (size_t i = 3; i < line.size(); ++i) p.upto.push_back(integer(line[i]));
    } else if (word == "count" && one)
      p.counted = integer(line[1]);
    else if (word == "leaf" || word == "split")
      tree.push_back(line);
    else if (word == "problem")
      need(line.size() == 2 && line[1] == "1", "the format is of another version");
    else
      need(word == "made" || word == "data" || word == "only" || word.empty(),
           "an unknown line of the problem: " + word);
  }
  need(!p.classes.empty() && !p.features.empty() && !p.stages.empty() && p.leaf_rows >= 1 &&
           p.leaves >= 1 && p.depth >= 0,
       "classes, features, stages, the depth, leaves or rows of a leaf are missing");
  size_t at = 0;
  while (at < tree.size() && (p.all || p.roots.empty()))
    p.roots.push_back(read_tree(p, tree, at, 0));
  need(at == tree.size(), "lines follow the tree");
  need(p.counted < 0 || (p.all && p.roots.empty()), "trees are told, or counted");
  for (const Node& node : p.tree)
    need(node.feature >= 0 || node.outputs.size() == (p.pieces.empty() ? 0 : p.numbers.size()),
         "a leaf has outputs where a rule asks for them");
  read_rules(p);
  for (const auto& to : p.next) {
    need(to.size() == p.features.size(), "a path rule needs an entry per feature");
    for (int s : to) need(s < static_cast<int>(p.next.size()), "a path rule leads to no state");
  }
  return p;
}

// Ranks of a feature from the cells themselves: how many tests stand below its value.
void rank_feature(Feature& f, const vector<string>& cells) {
  const double far = std::numeric_limits<double>::infinity();
  const size_t space = f.kind.find(' ');  // where empty cells go, of numbers and ordered values
  const string kind = f.kind.substr(0, space), side = f.kind.substr(kind.size());
  const bool is = kind == "is", listed = kind == "order", in = kind == "in",
             every = kind == "number", moved = side == " left" || side == " right";
  need((is || listed || in || every || kind == "cuts") && (moved || side.empty()),
       "a feature of an unknown kind");
  std::map<string, double> order;  // of the listed values
  vector<double> cuts;             // a value at most this goes left
  bool with_empty = false;         // of a bin
  for (const string& word : f.given)
    if (in && word == "empty")
      with_empty = true;
    else if (listed && word == "|")  // it stands where a test may
      cuts.push_back(static_cast<double>(cuts.size()));
    else if (is || listed)
      order.emplace(word, static_cast<double>(cuts.size()));
    else
      cuts.push_back(in && word == "-inf" ? -far : in && word == "inf" ? far : number(word));
  need(!in || cuts.size() == 2, "a bin has two ends");
  for (const string& cell : cells) {
    const auto found = order.find(cell);
    if (in) {  // those of the bin go left
      const double x = cell.empty() ? 0 : number(cell);
      f.value.push_back(cell.empty() ? !with_empty : x < cuts[0] || x >= cuts[1]);
    } else if (is) {  // cells of a listed value go left
      f.value.push_back(found == order.end());
    } else if (moved && cell.empty()) {
      f.value.push_back(side == " left" ? -far : far);
    } else {
      need(!listed || found != order.end(), "a value is not in the order of " + f.column);
      f.value.push_back(listed ? found->second : number(cell));
    }
  }
  if (is || in) cuts.assign(1, 0);
  if (every)  // a test behind every value but the largest: as good as between them
    for (double x : f.value)
      if (std::isfinite(x)) cuts.push_back(x);
  std::sort(cuts.begin(), cuts.end());
  if (every && !cuts.empty())
    cuts.erase(std::lower_bound(cuts.begin(), cuts.end(), cuts.back()), cuts.end());
  for (double x : f.value)
    f.rank.push_back(
        x == far ? static_cast<Index>(cuts.size() + 2)
        : x == -far
            ? 0
            : static_cast<Index>(std::lower_bound(cuts.begin(), cuts.end(), x) - cuts.begin() + 1));
  const std::set<Index> met(f.rank.begin(), f.rank.end());  // numbered without gaps
  const vector<Index> used(met.begin(), met.end());
  for (size_t i = 0; i < f.rank.size(); ++i) {
    f.rank[i] =
        static_cast<Index>(std::lower_bound(used.begin(), used.end(), f.rank[i]) - used.begin());
    if (!std::isfinite(f.value[i])) f.absent = f.rank[i];
  }
}

// The kinds of rows of a stage or measure. The kind of a row is its class unless it is told; then
// the rows of a kind are of one class, which their targets must be.
void find_kinds(const Problem& p, Stage& s, const vector<Index>& label) {
  const bool told = !s.kind.empty();
  if (!told) s.kind = label;
  need(s.kind.size() == p.rows, "a stage or measure needs a kind for each row");
  for (const auto& loss : s.loss)
    need(loss.size() == p.classes.size(), "a loss needs an entry per class");
  for (Index k : s.kind) need(k < s.loss.size(), "a row is of no kind");
  if (!told || label.empty()) return;
  need(s.of_class.size() == s.loss.size(), "a kind of rows needs a class");
  for (size_t i = 0; i < p.rows; ++i)
    demand(s.of_class[s.kind[i]] == label[i], "a target is not that of the problem");
}

// Stages stand above each other like the digits of a number: a step of one weighs more than all
// later ones together can. What a row loses whatever is predicted goes into `base`.
void stack(Problem& p, const vector<Index>& label, const vector<vector<Int>>& targets, Int worst) {
  p.leaves = std::min(p.leaves, Int{1} << p.depth);
  const Int leaves = std::min(p.leaves, static_cast<Int>(p.rows));
  Int unit = 1;
  for (size_t s = p.stages.size(); s-- > 0;) {
    Stage& stage = p.stages[s];
    find_kinds(p, stage, label);
    need(stage.price <= kLargest / std::max<Int>(leaves, 1), "a price is too large");
    need(s == 0 || !stage.zero || p.stages[s - 1].zero, "stages that must be 0 come first");
    Int span = stage.price * leaves + worst;
    for (Index k : stage.kind) {
      need(span < kLargest, "losses are too large");
      span += *std::max_element(stage.loss[k].begin(), stage.loss[k].end());
    }
    need(span < kLargest && unit <= kLargest / (span + 1), "the stages together are too large");
    stage.unit = unit;
    if (stage.zero && p.limit < 0) p.limit = unit;  // of the last stage that must be 0
    p.price += stage.price * unit;
    unit *= span + 1;
  }
  if (p.ruled) p.limit = p.pieces.empty() ? unit : kNoTree;  // above all values
  for (Stage& m : p.measures) {
    find_kinds(p, m, label);
    Int span = std::abs(m.price) * leaves;
    for (Index k : m.kind) {
      need(span < kLargest, "sums are too large");
      Int most = 0;
      for (Int x : m.loss[k]) most = std::max(most, std::abs(x));
      span += most;
    }
  }
  std::map<vector<Int>, Index> known;
  for (size_t i = 0; i < p.rows; ++i) {
    vector<Int> total(p.classes.size(), 0);
    for (const Stage& stage : p.stages)
      for (size_t l = 0; l < total.size(); ++l)
        total[l] += stage.unit * stage.loss[stage.kind[i]][l];
    const Int least = *std::min_element(total.begin(), total.end());
    p.base += least;
    for (Int& t : total) t -= least;
    vector<Int> sums, key = total;
    for (const Stage& m : p.measures)
      sums.insert(sums.end(), m.loss[m.kind[i]].begin(), m.loss[m.kind[i]].end());
    key.insert(key.end(), sums.begin(), sums.end());
    if (!targets.empty()) {
      key.insert(key.end(), targets[i].begin(), targets[i].end());
      key.push_back(p.weights[i]);
    }
    const auto found = known.emplace(key, static_cast<Index>(known.size()));
    if (found.second) {
      p.loss.push_back(total);
      p.sums.push_back(sums);
      p.goal.push_back(targets.empty() ? vector<Int>() : targets[i]);
      p.moments.emplace_back();
      p.moments.back().weight = targets.empty() ? 0 : p.weights[i];
      for (size_t t = 0; t < p.numbers.size(); ++t) {
        p.moments.back().sum[t] = p.weights[i] * targets[i][t];
        p.moments.back().squares[t] = p.weights[i] * targets[i][t] * targets[i][t];
      }
    }
    p.kind.push_back(found.first->second);
  }
  p.loss.emplace_back(p.classes.size(), 0);
  for (const auto& loss : p.loss) p.most.push_back(*std::max_element(loss.begin(), loss.end()));
}

// MONO drops tests that part nothing from a path, so each state must allow all that the states
// behind it do: the largest relation of that kind is found, and must hold of every step.
bool may_drop(const Problem& p) {
  const size_t n = p.next.size();
  if (n > 1000) return false;
  vector<vector<char>> more(n, vector<char>(n, 1));
  for (size_t a = 0; a < n; ++a)
    for (size_t b = 0; b < n; ++b) more[a][b] = p.ends[a] >= p.ends[b];
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t a = 0; a < n; ++a)
      for (size_t b = 0; b < n; ++b)
        for (size_t f = 0; f < p.features.size() && more[a][b]; ++f) {
          const int i = p.next[a][f], j = p.next[b][f];
          if (j < 0 || (i >= 0 && more[static_cast<size_t>(i)][static_cast<size_t>(j)])) continue;
          more[a][b] = 0;
          changed = true;
        }
  }
  for (size_t s = 0; s < n; ++s)
    for (int to : p.next[s])
      if (to >= 0 && !more[s][static_cast<size_t>(to)]) return false;
  return true;
}

Problem load(const string& text, const string& data) {
  Problem p = read_problem(text);
  const auto table = read_table(data, p.separator);
  const auto column = [&](const string& name) -> const vector<string>& {
    need(table.count(name) == 1, "the data have no column " + name);
    return table.at(name);
  };
  vector<Index> label;
  need(!table.empty(), "the data have no columns");
  p.rows = table.begin()->second.size();
  for (const string& cell : p.target.empty() ? vector<string>() : column(p.target)) {
    const auto at = std::find(p.classes.begin(), p.classes.end(), cell);
    need(at != p.classes.end(), "a class of the data is not listed: " + cell);
    label.push_back(static_cast<Index>(at - p.classes.begin()));
  }
  need(p.rows < (size_t{1} << 28), "too many rows");
  for (Feature& f : p.features) rank_feature(f, column(f.column));
  vector<vector<Int>> targets;
  vector<const vector<string>*> cells;
  for (const Number& n : p.numbers) cells.push_back(&column(n.column));
  const Int worst = cells.empty() ? 0 : read_numbers(p, cells, targets);
  stack(p, label, targets, worst);
  Int total = 0;
  for (Index k : p.kind) total += p.most[k];
  p.by_bits =
      !p.ruled && p.leaf_rows == 1 && p.next.empty() && p.most.size() <= 17 && total < (1 << 30);
  for (const Feature& f : p.features)
    p.by_bits = p.by_bits && *std::max_element(f.rank.begin(), f.rank.end()) <= 1;
  demand(p.ruled || may_drop(p), "a path rule that dropping a test may break");
  return p;
}

}  // namespace
