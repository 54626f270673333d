// odtcheck: checks a certificate that no decision tree is better than the one it holds.
//
//     c++ -O2 -std=c++17 odtcheck.cpp -o odtcheck
//     ./odtcheck FILE.cert DATA.csv [--sample 1%]
//     ./odtcheck FILE.cert --problem > PROBLEM       # to read, and keep, what is claimed
//     ./odtcheck PROBLEM DATA.csv FILE.cert          # of the problem of that file, and no other
//
// It reads the data and the problem itself, ranks the values, lists the cuts that may stand,
// evaluates the tree, and follows the certificate step by step. It does not search, and shares
// nothing with the solver. docs/explanation/certificates.md proves the rules that it applies, by
// the names in capitals below; docs/reference/proof.md has the format.
//
// Exit code: 0 certified (or sampled), 1 refused, 2 the files could not be read.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

// Where the machine can, the loops over 32 lanes also exist for wider vectors. Only speed.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__) && \
    !defined(__SANITIZE_ADDRESS__)
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
#endif

namespace {

using Int = std::int64_t;
using Index = std::uint32_t;
using Small = std::int32_t;
__extension__ typedef __int128 Wide;
using std::size_t;
using std::string;
using std::vector;
constexpr Int kLargest = Int{1} << 53;  // sums of losses stay below; nothing overflows

struct Unreadable : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};
void need(bool holds, const string& what) {
  if (!holds) throw Unreadable(what);
}
void demand(bool holds, const char* what) {
  if (!holds) throw Refused(what);
}

// ---- texts: fields of a line are parted by tabs; a backslash escapes tab, line end and itself

vector<string> fields(const string& line) {
  vector<string> found(1);
  for (size_t i = 0; i < line.size(); ++i) {
    char c = line[i];
    if (c == '\t') {
      found.emplace_back();
      continue;
    }
    if (c == '\\' && i + 1 < line.size()) {
      c = line[++i];
      c = c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c;
    }
    found.back() += c;
  }
  return found;
}

Int integer(const string& text, Int most = kLargest - 1) {
  need(!text.empty() && text.size() < 19 && text.find_first_not_of("0123456789") == string::npos,
       "not a whole number: " + text);
  need(std::stoll(text) <= most, "a number is too large: " + text);
  return std::stoll(text);
}

double number(const string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  need(!text.empty() && !*end && std::isfinite(value), "not a number: " + text);
  return value;
}

// Columns of comma-separated cells; quoted ones may hold commas, line ends and doubled quotes.
// Blanks around a cell do not count.
std::map<string, vector<string>> read_table(const string& text, char separator) {
  vector<vector<string>> lines(1, vector<string>(1));
  bool quoted = false, any = false;
  for (size_t i = text.compare(0, 3, "\xef\xbb\xbf") == 0 ? 3 : 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : '\n';
    string& cell = lines.back().back();
    if (quoted && (c != '"' || (i + 1 < text.size() && text[i + 1] == '"'))) {
      need(i < text.size(), "a quote in the data is not closed");
      cell += c;
      i += c == '"';
    } else if (c == '"') {
      quoted = !quoted;
      any = true;
    } else if (c == '\n') {
      if (any) lines.emplace_back();
      lines.back().assign(1, "");
      any = false;
    } else if (c != '\r') {
      any = true;
      if (c == separator)
        lines.back().emplace_back();
      else
        cell += c;
    }
  }
  lines.pop_back();
  need(lines.size() > 1, "the data have no rows");
  std::map<string, vector<string>> columns;
  for (const auto& line : lines) {
    need(line.size() == lines[0].size(),
         "a row of the data has more or fewer cells than the first");
    for (size_t i = 0; &line != &lines[0] && i < line.size(); ++i) {
      const size_t from = line[i].find_first_not_of(" \t"), to = line[i].find_last_not_of(" \t");
      columns[lines[0][i]].push_back(from == string::npos ? ""
                                                          : line[i].substr(from, to + 1 - from));
    }
  }
  for (const auto& column : columns)
    need(column.second.size() + 1 == lines.size(), "two columns have one name");
  return columns;
}

// ---- the problem

// A column as ranks: a test is a rank r, and rows of rank <= r go left. Two ranks differ iff a test
// that may stand parts them, so every gap between ranks is a test that may stand.
struct Feature {
  string kind, column;
  vector<string> given;
  vector<Index> rank;    // per row
  vector<double> value;  // per row: at most the threshold goes left
  Index absent = ~0u;    // the rank of empty cells; a test parts others as well
};

struct Stage {
  string name;
  bool zero = false;         // must be 0
  Int price = 0, unit = 1;   // of a leaf; what one step weighs among all stages
  vector<vector<Int>> loss;  // per kind of row and predicted class
  vector<Index> kind;
};

// measure <= at_most, or whether a fact is set. Of a rule one literal must hold.
struct Literal {
  bool fact, positive;
  size_t at;
  Int at_most;
};
struct Rule {
  string scope, name;  // tree; leaf or split: asked where `asks` says so
  vector<Literal> literals;
};

struct Node {
  int feature = -1, left = -1, right = -1;
  size_t label = 0;
  string threshold;
  vector<double> outputs;
};

// A number that is predicted: targets and what leaves predict are multiplied by `scale`, less
// `centre`; the square of a difference is `parts` units of loss.
constexpr size_t kNumbers = 8;
struct Number {
  string column;
  Int scale = 1, centre = 0;
  double parts = 1;
};

// Outputs that a leaf may have: normal * output <= bound, for each. In units: times the square root
// of `parts`, and each normal is of length 1.
struct Piece {
  vector<vector<double>> normals;
  vector<double> bounds;
};

// Of some rows: the sums of weights, of targets and of their squares.
struct Moments {
  Int weight = 0;
  std::array<Int, kNumbers> sum{}, squares{};
  void add(const Moments& other, size_t numbers) {
    weight += other.weight;
    for (size_t t = 0; t < numbers; ++t) {
      sum[t] += other.sum[t];
      squares[t] += other.squares[t];
    }
  }
};

struct Problem {
  size_t rows = 0;
  string target;
  char separator = ',';
  vector<string> classes;
  vector<Feature> features;
  vector<Stage> stages;
  int depth = -1;
  bool least_depth = false;  // the depth comes before all stages
  Int leaves = 0, leaf_rows = 1, price = 0, limit = -1, base = 0;
  vector<vector<int>> next;  // path rules: the state behind a test on a feature; -1: may not stand
  // Beside the path: whether a leaf may stand in a state, and which rules on rows are asked there.
  bool ruled = false;
  vector<char> ends;
  vector<vector<size_t>> asks;
  vector<Stage> measures;
  vector<Rule> rules;
  vector<vector<string>> told;          // of facts: number, level or *, features that set it
  vector<vector<std::uint64_t>> facts;  // per level and feature: what a test sets
  vector<vector<Int>> sums;             // per kind: of measures, [measure * classes + class]
  vector<Node> tree;
  // All stages in one loss: per kind of row and class, above the least; and the most that a row of
  // the kind can lose. The last kind is of rows that do not count.
  vector<Index> kind;
  vector<vector<Int>> loss;
  vector<Int> most;
  // Squared error instead: targets and weights as whole numbers, per kind. Losses of leaves are
  // rounded down, by less than three units. Outputs lie in one of the pieces, if there are any.
  vector<Number> numbers;
  vector<Piece> pieces;
  Int tolerance = 0;
  vector<Int> weights;
  vector<vector<Int>> goal;
  vector<Moments> moments;
  bool by_bits = false;  // two ranks a feature, and neither sizes of leaves nor path rules
  int after(int state, size_t f) const {
    return next.empty() ? 0 : next[static_cast<size_t>(state)][f];
  }
};

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
      p.measures.push_back({line[1], false, signed_integer(line[2]), 1, {}, {}});
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
      p.stages.push_back({line[1], line[2] == "zero", integer(line[3]), 1, {}, {}});
      of = &p.stages;
    } else if (word == "loss" && of) {
      of->back().loss.emplace_back();
      for (size_t i = 1; i < line.size(); ++i)
        of->back().loss.back().push_back(of == &p.stages ? integer(line[i])
                                                         : signed_integer(line[i]));
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
    } else if (word == "leaf" || word == "split")
      tree.push_back(line);
    else
      need(word == "problem" || word == "made" || word == "data" || word == "only" || word.empty(),
           "an unknown line of the problem: " + word);
  }
  need(!p.classes.empty() && !p.features.empty() && !p.stages.empty() && p.leaf_rows >= 1 &&
           p.leaves >= 1 && p.depth >= 0,
       "classes, features, stages, the depth, leaves or rows of a leaf are missing");
  size_t at = 0;
  if (!tree.empty()) read_tree(p, tree, at, 0);
  need(at == tree.size(), "lines follow the tree");
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

// Stages stand above each other like the digits of a number: a step of one weighs more than all
// later ones together can. What a row loses whatever is predicted goes into `base`.
void stack(Problem& p, const vector<Index>& label, const vector<vector<Int>>& targets, Int worst) {
  p.leaves = std::min(p.leaves, Int{1} << p.depth);
  const Int leaves = std::min(p.leaves, static_cast<Int>(p.rows));
  Int unit = 1;
  for (size_t s = p.stages.size(); s-- > 0;) {
    Stage& stage = p.stages[s];
    if (stage.kind.empty()) stage.kind = label;  // the kind of a row is its class
    need(stage.kind.size() == p.rows, "a stage needs a kind for each row");
    for (const auto& loss : stage.loss)
      need(loss.size() == p.classes.size(), "a loss needs an entry per class");
    need(stage.price < kLargest / (leaves + 1), "a price is too large");
    need(s == 0 || !stage.zero || p.stages[s - 1].zero, "stages that must be 0 come first");
    Int span = stage.price * leaves + worst;
    for (Index k : stage.kind) {
      need(k < stage.loss.size() && span < kLargest,
           "a row is of no kind, or losses are too large");
      span += *std::max_element(stage.loss[k].begin(), stage.loss[k].end());
    }
    need(span < kLargest && unit < kLargest / (span + 1), "the stages together are too large");
    stage.unit = unit;
    if (stage.zero && p.limit < 0) p.limit = unit;  // of the last stage that must be 0
    p.price += stage.price * unit;
    unit *= span + 1;
  }
  if (p.ruled) p.limit = p.pieces.empty() ? unit : kNoTree;  // above all values
  for (Stage& m : p.measures) {
    if (m.kind.empty()) m.kind = label;
    need(m.kind.size() == p.rows, "a measure needs a kind for each row");
    Int span = std::abs(m.price) * leaves;
    for (const auto& loss : m.loss)
      need(loss.size() == p.classes.size(), "a measure needs an entry per class");
    for (Index k : m.kind) {
      need(k < m.loss.size() && span < kLargest, "a row is of no kind, or sums are too large");
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

// ---- the rows of a node, in the order of every feature

// Where every feature has two ranks: sets of rows as bits, per feature those that go left, and per
// kind.
struct Bits {
  size_t words = 0;
  vector<std::uint64_t> left, kind;
};

struct View {
  vector<Index> kind;           // per row
  vector<vector<Index>> order;  // per feature: the rows by rank
  vector<vector<Index>> rank;   // per feature and row
  vector<vector<char>> cut;  // per feature and place: whether a test parts it from the one before
  Bits bits;                 // only where the problem says `by_bits`
  size_t rows() const { return kind.size(); }
  void find_bits(size_t kinds) {
    bits.words = (rows() + 63) / 64;
    bits.left.assign(order.size() * bits.words, 0);
    bits.kind.assign(kinds * bits.words, 0);
    for (size_t i = 0; i < rows(); ++i) {
      const std::uint64_t bit = std::uint64_t{1} << i % 64;
      bits.kind[kind[i] * bits.words + i / 64] |= bit;
      for (size_t f = 0; f < order.size(); ++f)
        if (rank[f][i] == 0) bits.left[f * bits.words + i / 64] |= bit;
    }
  }
  // The rows at some places of a feature.
  vector<std::uint64_t> places(size_t f, size_t from, size_t to) const {
    vector<std::uint64_t> found(bits.words, 0);
    for (size_t at = from; at < to; ++at)
      found[order[f][at] / 64] |= std::uint64_t{1} << order[f][at] % 64;
    return found;
  }
  void find_cuts() {
    for (size_t f = 0; f < order.size(); ++f) {
      cut.emplace_back(rows() + 1, 0);
      for (size_t t = 1; t < rows(); ++t)
        cut[f][t] = rank[f][order[f][t - 1]] != rank[f][order[f][t]];
    }
  }
  // How many rows have at most this rank.
  size_t upto(size_t f, Int r) const {
    const auto above = [&](Int x, Index row) { return x < static_cast<Int>(rank[f][row]); };
    return static_cast<size_t>(std::upper_bound(order[f].begin(), order[f].end(), r, above) -
                               order[f].begin());
  }
};

View whole(const Problem& p) {
  View v;
  v.kind = p.kind;
  for (const Feature& f : p.features) {
    v.order.emplace_back(p.rows);
    std::iota(v.order.back().begin(), v.order.back().end(), 0u);
    std::stable_sort(v.order.back().begin(), v.order.back().end(),
                     [&](Index a, Index b) { return f.rank[a] < f.rank[b]; });
    v.rank.push_back(f.rank);
  }
  v.find_cuts();
  return v;
}

// The rows at places from..to of a feature. Those outside of count_from..count_to only make leaves
// large: they are of the kind `idle`, which loses nothing.
View part(const View& v, size_t f, size_t from, size_t to, size_t count_from, size_t count_to,
          Index idle) {
  View made;
  vector<Index> place(v.rows(), ~0u);
  for (size_t at = from; at < to; ++at)
    place[v.order[f][at]] = at < count_from || at >= count_to ? 1 : 0;
  made.rank.resize(v.order.size());
  for (Index i = 0; i < v.rows(); ++i) {
    if (place[i] == ~0u) continue;
    const Index kind = place[i] ? idle : v.kind[i];
    place[i] = static_cast<Index>(made.rows());
    made.kind.push_back(kind);
    for (size_t g = 0; g < v.order.size(); ++g) made.rank[g].push_back(v.rank[g][i]);
  }
  for (const auto& order : v.order) {
    made.order.emplace_back();
    for (Index i : order)
      if (place[i] != ~0u) made.order.back().push_back(place[i]);
  }
  made.find_cuts();
  return made;
}

// ---- depth two: both sides of a test may be split once more

constexpr size_t kLanes = 32;  // tests of the first level that are tried in one pass over the rows
constexpr size_t kAtOnce = 8;  // of a feature, before the stairs are looked at again

struct Test {
  size_t f, t;  // feature, and how many rows go left
};

// Up to 32 tests of the first level. A sum is kept per block and lane, as the block of a class is
// the loss of that class less the loss of class 0: a leaf loses that of class 0 and the least of 0
// and the sums. Where leaves have a least size, one block more counts rows. `Value` is wide enough
// for the sums of all rows.
template <class Value>
struct Batch {
  const View& v;
  size_t classes, blocks;
  Value least;
  vector<Value> delta;                  // per kind and block
  vector<Index> pattern;                // per row: which tests it goes left at, as a row of `mask`
  vector<Value> mask;                   // per pattern and lane: -1 left, 0 right
  vector<Value> all, total, in, below;  // sums of all rows, and of those on the left
  Value best[2][2][kLanes];  // [leaves of any size, of the least][side]: two leaves; 1: none

  Batch(const Problem& p, const View& view, Int size)
      : v(view),
        classes(p.classes.size() - 1),
        blocks(classes + (size > 1)),
        least(static_cast<Value>(std::min<Int>(size, static_cast<Int>(view.rows()) + 1))),
        pattern(view.rows()) {
    for (const auto& loss : p.loss)
      for (size_t k = 0; k < blocks; ++k)
        delta.push_back(static_cast<Value>(k < classes ? loss[k + 1] - loss[0] : 1));
    all.assign(blocks, 0);
    for (Index kind : v.kind) add(all, 0, 1, kind);
  }
  void add(vector<Value>& to, size_t from, size_t step, Index kind) const {
    for (size_t k = 0; k < blocks; ++k)
      to[from + k * step] = static_cast<Value>(to[from + k * step] + delta[kind * blocks + k]);
  }

  void fill(const vector<Test>& tests) {
    vector<std::uint32_t> sides(v.rows(), 0);
    for (size_t l = 0, end; l < tests.size(); l = end) {  // tests of a feature, in order
      std::uint32_t bits = 0;
      for (end = l; end < tests.size() && tests[end].f == tests[l].f; ++end) bits |= 1u << end;
      for (size_t at = 0, next = l; at < tests[end - 1].t; ++at) {
        for (; tests[next].t <= at; ++next) bits &= ~(1u << next);
        sides[v.order[tests[l].f][at]] |= bits;
      }
    }
    std::unordered_map<std::uint32_t, Index> known;
    vector<Value> sums;  // per pattern and block
    mask.clear();
    std::uint32_t last = 0;
    Index id = 0;
    for (Index row : v.order[tests[0].f]) {
      if (mask.empty() || sides[row] != last) {
        last = sides[row];
        const auto found = known.emplace(last, static_cast<Index>(known.size()));
        id = found.first->second;
        for (size_t l = 0; found.second && l < kLanes; ++l)
          mask.push_back(static_cast<Value>(last >> l & 1 ? -1 : 0));
        sums.resize(known.size() * blocks, 0);
      }
      pattern[row] = id;
      add(sums, id * blocks, 1, v.kind[row]);
    }
    total.assign(blocks * kLanes, 0);
    for (size_t i = 0; i < known.size(); ++i)
      for (size_t k = 0; k < blocks; ++k)
        for (size_t l = 0; l < kLanes; ++l)
          total[k * kLanes + l] = static_cast<Value>(total[k * kLanes + l] +
                                                     (sums[i * blocks + k] & mask[i * kLanes + l]));
    std::fill_n(&best[0][0][0], 4 * kLanes, Value{1});
  }
};

// Every test of feature g on both sides of the tests of a batch; `look` says which places count.
// First for two classes and leaves of any size, then for all else.
template <class Value>
WIDE void scan_two(Batch<Value>& b, size_t g, const char* look) {
  Value in[kLanes] = {}, left[kLanes], right[kLanes], total[kLanes], below = 0;
  for (size_t l = 0; l < kLanes; ++l) left[l] = right[l] = 0, total[l] = b.total[l];
  const Value all = b.all[0];
  const Index *order = b.v.order[g].data(), *pattern = b.pattern.data(), *kind = b.v.kind.data();
  const Value *mask = b.mask.data(), *delta = b.delta.data();
  bool any = false;
  for (size_t at = 0; at + 1 < b.v.rows(); ++at) {
    const Value d = delta[kind[order[at]]], *m = mask + size_t{pattern[order[at]]} * kLanes;
    below = static_cast<Value>(below + d);
    for (size_t l = 0; l < kLanes; ++l) in[l] = static_cast<Value>(in[l] + (d & m[l]));
    if (!look[at + 1]) continue;
    any = true;
    const Value rest = static_cast<Value>(all - below);
    for (size_t l = 0; l < kLanes; ++l) {
      const Value a = in[l], w = static_cast<Value>(total[l] - a),
                  c = static_cast<Value>(below - a), e = static_cast<Value>(rest - w);
      left[l] = std::min<Value>(left[l],
                                static_cast<Value>(std::min<Value>(a, 0) + std::min<Value>(w, 0)));
      right[l] = std::min<Value>(right[l],
                                 static_cast<Value>(std::min<Value>(c, 0) + std::min<Value>(e, 0)));
    }
  }
  for (size_t l = 0; any && l < kLanes; ++l) {
    b.best[0][0][l] = b.best[0][0][l] > 0 ? left[l] : std::min(b.best[0][0][l], left[l]);
    b.best[0][1][l] = b.best[0][1][l] > 0 ? right[l] : std::min(b.best[0][1][l], right[l]);
  }
}

template <class Value>
WIDE void scan_many(Batch<Value>& b, size_t g, const char* look) {
  b.in.assign(b.blocks * kLanes, 0);
  b.below.assign(b.blocks, 0);
  Value *in = b.in.data(), *below = b.below.data();
  const Value *total = b.total.data(), *all = b.all.data();
  for (size_t at = 0; at + 1 < b.v.rows(); ++at) {
    const Index row = b.v.order[g][at];
    const Value *m = &b.mask[size_t{b.pattern[row]} * kLanes],
                *of = b.delta.data() + b.v.kind[row] * b.blocks;
    for (size_t k = 0; k < b.blocks; ++k) {
      const Value d = of[k];
      if (!d) continue;
      below[k] = static_cast<Value>(below[k] + d);
      for (size_t l = 0; l < kLanes; ++l)
        in[k * kLanes + l] = static_cast<Value>(in[k * kLanes + l] + (d & m[l]));
    }
    if (!look[at + 1]) continue;
    // Both sides of this test on the left of those of the batch, and on the right of them.
    const auto four = [&](size_t k, size_t l, Value* x) {
      x[0] = in[k * kLanes + l];
      x[1] = static_cast<Value>(total[k * kLanes + l] - x[0]);
      x[2] = static_cast<Value>(below[k] - x[0]);
      x[3] = static_cast<Value>(all[k] - below[k] - x[1]);
    };
    Value low[4][kLanes] = {}, x[4];
    for (size_t k = 0; k < b.classes; ++k)
      for (size_t l = 0; l < kLanes; ++l) {
        four(k, l, x);
        for (int i = 0; i < 4; ++i) low[i][l] = std::min(low[i][l], x[i]);
      }
    for (int side = 0; side < 2; ++side)
      for (size_t l = 0; l < kLanes; ++l) {
        const Value sum = static_cast<Value>(low[2 * side][l] + low[2 * side + 1][l]);
        b.best[0][side][l] = std::min(b.best[0][side][l], sum);
        if (b.blocks == b.classes) continue;
        four(b.classes, l, x);
        if (x[2 * side] >= b.least && x[2 * side + 1] >= b.least)
          b.best[1][side][l] = std::min(b.best[1][side][l], sum);
      }
  }
}

// What some rows of one kind lose that go left, by class and feature from a first one on: `loss`
// per class times how many they are. It is added up.
WIDE void add_left(const std::uint64_t* rows, const Bits& bits, const vector<size_t>& features,
                   size_t from, const vector<Int>& loss, Small* found, Small* sum) {
  const size_t n = features.size(), words = bits.words;
  for (size_t g = from; g < n; ++g) {
    const std::uint64_t* left = bits.left.data() + features[g] * words;
    int many = 0;
    for (size_t w = 0; w < words; ++w) many += __builtin_popcountll(rows[w] & left[w]);
    found[g] = many;
  }
  for (size_t c = 0; c < loss.size(); ++c) {
    const Small each = static_cast<Small>(loss[c]);
    Small* to = sum + c * n;
    for (size_t g = from; each && g < n; ++g) to[g] += each * found[g];
  }
}

// The least losses of the four quarters that a test makes with each later one, and with them of two
// leaves on each side of both, `best`. `meet`: by class and test, what the rows lose that go left
// at both.
WIDE void quarters(const Small* meet, const Small* left, const Small* all, size_t classes, size_t n,
                   size_t f, Small* low, Small* best) {
  for (size_t q = 0; q < 4; ++q) std::fill_n(low + q * n, n, std::numeric_limits<Small>::max());
  for (size_t c = 0; c < classes; ++c) {
    const Small mine = left[c * n + f], others = all[c] - mine;
    for (size_t g = f + 1; g < n; ++g) {
      const Small a = meet[c * n + g], rest = left[c * n + g] - a;
      low[g] = std::min<Small>(low[g], a);
      low[n + g] = std::min<Small>(low[n + g], mine - a);
      low[2 * n + g] = std::min<Small>(low[2 * n + g], rest);
      low[3 * n + g] = std::min<Small>(low[3 * n + g], others - rest);
    }
  }
  Small lower = best[f], upper = best[n + f];
  for (size_t g = f + 1; g < n; ++g) {
    const Small a = low[g], b = low[n + g], c = low[2 * n + g], d = low[3 * n + g];
    lower = std::min<Small>(lower, a + b);
    upper = std::min<Small>(upper, c + d);
    best[g] = std::min<Small>(best[g], a + c);
    best[n + g] = std::min<Small>(best[n + g], b + d);
  }
  best[f] = lower;
  best[n + f] = upper;
}

// What is known of the two sides of each test of a feature, by places: the rows on the left.
// [0] holds for trees whose leaves may be of any size, and goes up and down the feature (MONO,
// DEL); [1] for leaves of the least size, and goes to fewer rows only (DEL).
struct Stairs {
  vector<Int> most;        // that the rows at lower places lose
  vector<Int> side[2][2];  // [size][0 left, 1 right]
  bool sized;
  Stairs(vector<Int> upto, Int price, Int least) : most(std::move(upto)), sized(least > 1) {
    for (int size = 0; size <= sized; ++size)
      for (auto& one : side[size]) one.assign(most.size(), price);
  }
  void add(bool size, int which, size_t at, Int value) {
    side[size][which][at] = std::max(side[size][which][at], value);
  }
  // Carries every bound as far as it goes.
  void spread() {
    const auto carry = [](vector<Int>& x, size_t to, size_t from, Int lost) {
      x[to] = std::max(x[to], x[from] - lost);
    };
    const size_t n = most.size() - 1;
    for (int size = 0; size <= sized; ++size) {
      for (size_t t = n; t > 0; --t) carry(side[size][0], t - 1, t, most[t] - most[t - 1]);
      for (size_t t = 0; t < n; ++t) carry(side[size][1], t + 1, t, most[t + 1] - most[t]);
    }
    for (size_t t = n; t > 0; --t) carry(side[0][1], t - 1, t, 0);
    for (size_t t = 0; t < n; ++t) carry(side[0][0], t + 1, t, 0);
  }
  Int best(int which, size_t t) const {
    return sized ? std::max(side[0][which][t], side[1][which][t]) : side[0][which][t];
  }
  Int sum(size_t t) const { return best(0, t) + best(1, t); }
};

// What the rows at lower places can lose together.
vector<Int> upto(const View& v, size_t f, const vector<Int>& most) {
  vector<Int> found(1, 0);
  for (Index row : v.order[f]) found.push_back(found.back() + most[v.kind[row]]);
  return found;
}

// What a leaf on the lower rows, or one on the others, loses at every place, with its price.
vector<Int> leaves(const View& v, size_t f, bool right, const vector<vector<Int>>& loss,
                   Int price) {
  const size_t n = loss[0].size(), rows = v.rows();
  vector<Int> sum(n, price), found(rows + 1, price);
  for (size_t t = 1; t <= rows; ++t) {
    const Int* row = loss[v.kind[v.order[f][right ? rows - t : t - 1]]].data();
    Int least = sum[0] += row[0];
    for (size_t l = 1; l < n; ++l) least = std::min(least, sum[l] += row[l]);
    found[right ? rows - t : t] = least;
  }
  return found;
}

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

  Fronts(const Problem& problem, std::function<bool()> chance)
      : p(problem), sampled(std::move(chance)) {}

  // How many points were left; refuses where one of them keeps the rules below the target.
  Int check(const View& v, Int target, Int of_loss, const vector<Int>& multipliers) {
    scale = of_loss;
    multiplier.assign(p.measures.size(), 0);
    size_t at = 0;
    // A tree that keeps the rules and loses less than the target stays within this budget.
    Wide budget = Wide{scale} * (target - 1), reach = 0;
    for (const Rule& rule : p.rules) {
      const Int m = rule.scope == "tree" ? multipliers[at++] : 0;
      if (rule.scope == "tree" && rule.literals.empty()) return 0;  // no tree keeps it
      if (!m) continue;
      demand(rule.literals.size() == 1 && !rule.literals[0].fact, "a multiplier of no bound");
      multiplier[rule.literals[0].at] += m;
      budget += Wide{m} * rule.literals[0].at_most;
    }
    weigh(v, budget, reach);
    demand(reach < kLargest && budget < kLargest && budget > -kLargest, "sums are too large");
    drops = price >= 0 && may_drop(p);
    const vector<Point> found = front(v, p.depth, 0, static_cast<Int>(budget));
    for (const Point& point : found)
      demand(point.loss >= target || !keeps_rules(p, point.sums, point.facts),
             "a tree that keeps the rules loses less than is claimed");
    return static_cast<Int>(found.size());
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
      moments.add(p.moments[v.kind[v.order[f][right ? v.rows() - t : t - 1]]], p.numbers.size());
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
    if (p.ends[static_cast<size_t>(state)]) limit = std::min(limit, alone(v, 0, false).back());
    if (depth == 0) return limit;
    for (size_t f = 0; f < p.features.size(); ++f)
      if (p.after(state, f) >= 0)
        tests(v, f, depth, p.after(state, f), limit,
              [&](size_t, Int a, Int b) { limit = std::min(limit, a + b); });
    return limit;
  }

  // The points within a budget.
  vector<Point> front(const View& v, int depth, int state, Int budget) {
    ++nodes;
    vector<Point> found;
    if (p.ends[static_cast<size_t>(state)])
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
        add(found, leaf);
      }
    if (depth == 0 || !meets(p, state, "split", sums_of(p, v.kind, 0))) return found;
    const Index idle = static_cast<Index>(p.most.size() - 1);
    for (size_t f = 0; f < p.features.size(); ++f) {
      const int next = p.after(state, f);
      if (next < 0) continue;
      const std::uint64_t facts = p.facts[static_cast<size_t>(p.depth - depth)][f];
      Int limit = budget + 1;
      tests(v, f, depth, next, limit, [&](size_t t, Int, Int b) {
        // Bounds are those of all tests that part rows; here one must part cells that are there.
        if (v.rank[f][v.order[f][t - 1]] == p.features[f].absent ||
            v.rank[f][v.order[f][t]] == p.features[f].absent)
          return;
        const vector<Point> left = front(part(v, f, 0, t, 0, t, idle), depth - 1, next, budget - b);
        if (left.empty()) return;
        Int least = left[0].weighted;
        for (const Point& point : left) least = std::min(least, point.weighted);
        const vector<Point> right =
            front(part(v, f, t, v.rows(), t, v.rows(), idle), depth - 1, next, budget - least);
        for (const Point& x : left)
          for (const Point& y : right) {
            if (x.weighted + y.weighted > budget) continue;
            Point both{x.weighted + y.weighted, x.loss + y.loss, x.sums, x.facts | y.facts | facts};
            for (size_t m = 0; m < both.sums.size(); ++m) both.sums[m] += y.sums[m];
            add(found, both);
          }
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

struct Checker {
  const Problem& p;
  double share;  // of the depth-two checks that are made
  const unsigned char *at, *end;
  std::set<string> rules;  // that were used
  Int steps = 0, pairs = 0, skipped = 0;
  std::uint64_t dice = 88172645463325252ull;

  Int read() {
    Int value = 0;
    for (int shift = 0; shift < 56; shift += 7) {
      demand(at < end, "the certificate ends too early");
      const unsigned char byte = *at++;
      value |= static_cast<Int>(byte & 127) << shift;
      if (byte < 128) return value;
    }
    throw Refused("a number of the certificate is too long");
  }

  bool open(const View& v, size_t f, size_t t, Int least) const {
    return v.cut[f][t] && static_cast<Int>(t) >= least && static_cast<Int>(v.rows() - t) >= least;
  }

  // POINTS: rows that no test parts get one class.
  Int points(const View& v) const {
    const auto less = [&](Index a, Index b) {
      for (const auto& rank : v.rank)
        if (rank[a] != rank[b]) return rank[a] < rank[b];
      return false;
    };
    vector<Index> rows = v.order[0];
    std::sort(rows.begin(), rows.end(), less);
    Int loss = p.price;
    for (size_t i = 0, j; i < rows.size(); i = j) {
      vector<Int> sum(p.classes.size(), 0);
      for (j = i; j < rows.size() && !less(rows[i], rows[j]); ++j)
        for (size_t l = 0; l < sum.size(); ++l) sum[l] += p.loss[v.kind[rows[j]]][l];
      loss += *std::min_element(sum.begin(), sum.end());
    }
    return loss;
  }

  // The least loss of one split, with the prices of its leaves: all tests that may stand.
  Int stump(const View& v, const vector<vector<Int>>* leaf, Int least) const {
    Int found = std::numeric_limits<Int>::max();
    for (size_t f = 0; f < p.features.size(); ++f)
      for (size_t t = 1; t < leaf[0][f].size(); ++t)
        if (open(v, f, t, least)) found = std::min(found, leaf[0][f][t] + leaf[1][f][t]);
    return found;
  }

  // Whether a sample has a check of depth two, or of a test of the root under rules.
  bool sampled(const char* rule) {
    rules.insert(rule);
    dice ^= dice << 13, dice ^= dice >> 7, dice ^= dice << 17;
    const bool taken = share >= 1 || static_cast<double>(dice >> 11) < share * 9007199254740992.0;
    ++(taken ? pairs : skipped);
    return taken;
  }

  // At most two levels on some rows of a view, where every feature has two ranks: what a leaf, a
  // split and two levels lose follows from how many rows of a kind go left at two tests.
  void few(const Bits& bits, const vector<std::uint64_t>& rows, int depth, Int most_leaves,
           Int target) {
    const size_t classes = p.classes.size(), words = bits.words, kinds = p.most.size() - 1;
    vector<Small> all(classes, 0);
    vector<std::uint64_t> of_kind(kinds * words);
    vector<size_t> met, features;  // kinds, and features that part the rows
    for (size_t k = 0; k < kinds; ++k) {
      Small sum = 0;
      for (size_t w = 0; w < words; ++w) {
        of_kind[k * words + w] = rows[w] & bits.kind[k * words + w];
        sum += static_cast<Small>(__builtin_popcountll(of_kind[k * words + w]));
      }
      for (size_t c = 0; c < classes; ++c) all[c] += sum * static_cast<Small>(p.loss[k][c]);
      if (sum > 0) met.push_back(k);
    }
    const Int alone = p.price + *std::min_element(all.begin(), all.end());
    demand(alone >= target, "a leaf loses less than is claimed");
    if (depth == 0) return;
    for (size_t f = 0; f < p.features.size(); ++f) {
      bool lower = false, upper = false;
      for (size_t w = 0; w < words; ++w) {
        lower = lower || (rows[w] & bits.left[f * words + w]);
        upper = upper || (rows[w] & ~bits.left[f * words + w]);
      }
      if (lower && upper) features.push_back(f);
    }
    const size_t n = features.size();
    vector<Small> counts(n);
    vector<Small> left(classes * n, 0), meet(classes * n), low(4 * n);
    vector<Small> best(2 * n, std::numeric_limits<Small>::max());
    vector<Int> leaf[2];
    for (size_t k : met)
      add_left(&of_kind[k * words], bits, features, 0, p.loss[k], counts.data(), left.data());
    for (size_t f = 0; f < n; ++f) {
      Int lower = kLargest, upper = kLargest;
      for (size_t c = 0; c < classes; ++c) {
        lower = std::min(lower, Int{left[c * n + f]});
        upper = std::min(upper, Int{all[c]} - left[c * n + f]);
      }
      leaf[0].push_back(lower + p.price);
      leaf[1].push_back(upper + p.price);
      demand(lower + upper + 2 * p.price >= target, "a single split loses less than is claimed");
    }
    if (depth == 1 || !sampled("TWO")) return;
    vector<std::uint64_t> both(words);
    for (size_t f = 0; f < n; ++f) {
      std::fill(meet.begin(), meet.end(), Small{0});
      for (size_t k : met) {
        for (size_t w = 0; w < words; ++w)
          both[w] = of_kind[k * words + w] & bits.left[features[f] * words + w];
        add_left(both.data(), bits, features, f + 1, p.loss[k], counts.data(), meet.data());
      }
      quarters(meet.data(), left.data(), all.data(), classes, n, f, low.data(), best.data());
    }
    for (size_t f = 0; f < n; ++f) {
      const Int a = std::min(leaf[0][f], best[f] + 2 * p.price),
                b = std::min(leaf[1][f], best[n + f] + 2 * p.price);
      demand((most_leaves == 3 ? std::min(a + leaf[1][f], leaf[0][f] + b) : a + b) >= target,
             "a tree of depth two loses less than is claimed");
    }
  }

  // At most two levels: a leaf, a split, and TWO.
  void low(const View& v, int depth, Int most_leaves, int state, Int least, Int target) {
    const Int alone = leaves(v, 0, false, p.loss, p.price).back();
    demand(alone >= target, "a leaf loses less than is claimed");
    if (depth == 0) return;
    vector<vector<Int>> leaf[2];  // by feature, if it may be tested
    for (size_t f = 0; f < p.features.size(); ++f)
      for (int side = 0; side < 2; ++side)
        leaf[side].push_back(p.after(state, f) < 0 ? vector<Int>()
                                                   : leaves(v, f, side, p.loss, p.price));
    demand(stump(v, leaf, least) >= target, "a single split loses less than is claimed");
    if (depth == 1) return;
    if (!sampled("TWO")) return;
    const Int flat = std::min(alone, stump(v, leaf, 1));
    Int sum = static_cast<Int>(v.rows());
    for (Index k : v.kind) sum += 2 * p.most[k];
    if (sum < 32000)
      two<std::int16_t>(v, leaf, most_leaves, state, least, flat, target);
    else if (sum < 2000000000)
      two<std::int32_t>(v, leaf, most_leaves, state, least, flat, target);
    else
      two<Int>(v, leaf, most_leaves, state, least, flat, target);
  }

  // TWO: whether every tree of depth two, of at most `most_leaves` leaves, loses `target`. Tests
  // are tried 32 at a time; those that the stairs close need not be. WHOLE: what a leaf or a split
  // of all rows loses, `flat`, bounds what one side loses.
  template <class Value>
  void two(const View& v, const vector<vector<Int>>* leaf, Int most_leaves, int state, Int least,
           Int flat, Int target) {
    const bool sized = least > 1;
    Batch<Value> batch(p, v, least);
    // Sums of losses are concave along rows of one kind: the ends of such a run are enough.
    vector<vector<char>> look = v.cut;
    for (size_t g = 0; !sized && g < look.size(); ++g)
      for (size_t t = 1, run = 0, last = 0, before = 0; t <= v.rows(); ++t) {
        if (t < v.rows() && !v.cut[g][t]) continue;
        for (size_t i = std::max<size_t>(last, 1); i < t; ++i)  // where rows of one kind begin
          if (v.kind[v.order[g][i]] != v.kind[v.order[g][i - 1]]) run = i;
        if (last > 0 && run <= before) look[g][last] = 0;
        before = last;
        last = t;
      }
    std::map<int, vector<size_t>> groups;  // features by the state behind them
    for (size_t f = 0; f < p.features.size(); ++f)
      if (p.after(state, f) >= 0) groups[p.after(state, f)].push_back(f);
    for (const auto& [next, features] : groups) {
      vector<Stairs> stairs;
      vector<vector<size_t>> todo(features.size());  // tests that are not closed yet
      const auto refresh = [&](size_t i) {
        stairs[i].spread();
        todo[i].clear();
        for (size_t t = 1; t < v.rows(); ++t) {
          if (!open(v, features[i], t, least)) continue;
          const Int a = stairs[i].best(0, t), b = stairs[i].best(1, t);
          if (most_leaves == 3
                  ? std::min(a + leaf[1][features[i]][t], leaf[0][features[i]][t] + b) < target
                  : a + b < target)
            todo[i].push_back(t);
        }
      };
      for (size_t i = 0; i < features.size(); ++i) {
        stairs.emplace_back(upto(v, features[i], p.most), p.price, least);
        stairs[i].add(false, 0, v.rows(), flat);
        stairs[i].add(false, 1, 0, flat);
        refresh(i);
      }
      for (;;) {
        vector<Test> tests;
        vector<size_t> of;
        for (size_t i = 0; i < features.size(); ++i) {
          const size_t n = todo[i].size(), some = std::min({n, kLanes - tests.size(), kAtOnce});
          for (size_t j = 0; j < some; ++j) {
            tests.push_back({features[i], todo[i][(2 * j + 1) * n / (2 * some)]});
            of.push_back(i);
          }
        }
        if (tests.empty()) break;
        batch.fill(tests);
        for (size_t g = 0; g < p.features.size(); ++g)
          if (p.after(next, g) >= 0) {
            if (batch.blocks == 1 && !sized)
              scan_two(batch, g, look[g].data());
            else
              scan_many(batch, g, look[g].data());
          }
        for (size_t l = 0; l < tests.size(); ++l) {
          const size_t i = of[l], t = tests[l].t;
          for (int side = 0; side < 2; ++side) {
            const Int alone = leaf[side][tests[l].f][t];
            Int lowest = 0;  // class by class, as in a batch
            for (size_t k = 0; k < batch.classes; ++k) {
              const Int sum = batch.total[k * kLanes + l];
              lowest = std::min(lowest, side ? batch.all[k] - sum : sum);
            }
            for (int size = 0; size <= sized; ++size) {
              const Int two = batch.best[size][side][l];
              stairs[i].add(size, side, t,
                            two > 0 ? alone : std::min(alone, alone + p.price + two - lowest));
            }
          }
        }
        for (size_t i = 0; i < features.size(); ++i) {
          if (std::find(of.begin(), of.end(), i) == of.end()) continue;
          refresh(i);
          for (size_t l = 0; l < tests.size(); ++l)
            demand(of[l] != i || !std::binary_search(todo[i].begin(), todo[i].end(), tests[l].t),
                   "a tree of depth two loses less than is claimed");
        }
      }
    }
  }

  // DUAL and FRONT: a scale and a multiplier for each rule; then no tree below the budget keeps all
  // rules and loses less than is claimed.
  void under_rules(const View& v, Int target) {
    ++steps;
    if (target <= 0) {
      rules.insert("ZERO");
      return;
    }
    demand(p.leaves >= Int{1} << p.depth && p.leaf_rows == 1, "sizes and leaves are rules here");
    Fronts fronts(p, [this] { return sampled("FRONT"); });
    const Int scale = read(), far = Int{1} << 40;
    vector<Int> multipliers;
    for (size_t i = 0; i < p.rules.size(); ++i)
      if (p.rules[i].scope == "tree") multipliers.push_back(read());
    for (Int m : multipliers) demand(m < far, "a multiplier is too large");
    demand(scale < far, "a scale is too large");
    rules.insert("DUAL");
    if (fronts.check(v, target, scale, multipliers) > 0) rules.insert("FRONT");
    steps += fronts.nodes;
  }

  // The judgement: every tree on the rows of a view, of at most this depth and so many leaves, each
  // of at least `least` rows, allowed in this state of the path, loses at least `target`.
  void claim(View& v, int depth, Int most_leaves, int state, Int least, Int target) {
    if (begun(depth, most_leaves, target)) show(v, depth, most_leaves, state, least, target);
  }
  // Whether there is anything to show; no more levels and leaves than make a difference.
  bool begun(int& depth, Int& most_leaves, Int target) {
    ++steps;
    most_leaves = std::min(most_leaves, Int{1} << depth);
    depth = static_cast<int>(std::min<Int>(depth, most_leaves - 1));
    if (target > p.price) return true;
    rules.insert("ZERO");
    return false;
  }
  void show(View& v, int depth, Int most_leaves, int state, Int least, Int target) {
    if (depth >= 3) {
      const Int how = read();
      demand(how <= 1, "a step of an unknown kind");
      if (how == 0) {
        rules.insert("POINTS");
        return demand(points(v) >= target, "rows that no test parts lose less than is claimed");
      }
    }
    rules.insert("LEAF");
    if (depth < 3) return low(v, depth, most_leaves, state, least, target);
    split(v, depth, most_leaves, state, least, target);
  }

  // SPLIT and STAIR: for every division of the leaves and every feature, bounds at some tests close
  // all others. WHOLE: a bound for trees of one level less on all rows.
  void split(View& v, int depth, Int most_leaves, int state, Int least, Int target) {
    rules.insert("SPLIT");
    demand(leaves(v, 0, false, p.loss, p.price).back() >= target,
           "a leaf loses less than is claimed");
    const bool sized = least > 1;
    const Int flat = read(), half = Int{1} << (depth - 1);
    if (flat) {
      rules.insert("WHOLE");
      claim(v, depth - 1, most_leaves, state, least, flat);
    }
    if (p.by_bits) v.find_bits(p.most.size() - 1);
    if (most_leaves < 2 * half) rules.insert("LEAVES");
    for (Int l = std::max<Int>(1, most_leaves - half); l <= std::min(half, most_leaves - 1); ++l)
      for (size_t f = 0; f < p.features.size(); ++f) {
        const int next = p.after(state, f);
        if (next < 0) rules.insert("PATH");
        if (next < 0 || std::count(v.cut[f].begin(), v.cut[f].end(), 1) == 0) continue;
        Stairs s(upto(v, f, p.most), p.price, least);
        s.add(sized, 0, v.rows(), flat);
        s.add(sized, 1, 0, flat);
        Int cut = -1;
        for (Int count = read(); count > 0; --count) {
          cut += read() + 1;
          lemma(v, f, cut, depth - 1, l, most_leaves - l, next, least, s);
        }
        s.spread();
        for (size_t t = 1; t < v.rows(); ++t)
          demand(!open(v, f, t, least) || s.sum(t) >= target, "a test is left open");
        rules.insert("STAIR");
      }
  }

  // The bounds at one test. Bits of the mask: 0 left and 1 right for trees with leaves of any size
  // (without a least size: all trees); 2, 3 the same with leaves of the least size; 4, 5 with sizes
  // counted on the rows up to a wider cut (INTERVAL).
  void lemma(const View& v, size_t f, Int cut, int depth, Int left, Int right, int state, Int least,
             Stairs& s) {
    const size_t t = v.upto(f, cut);
    const Index idle = static_cast<Index>(p.most.size() - 1);
    demand(t > 0 && t < v.rows(), "a test that parts nothing");
    const Int mask = read();
    demand(mask < (least > 1 ? 64 : 4), "a bound of an unknown kind");
    for (int bit = 0; bit < 6; ++bit) {
      if (!(mask >> bit & 1)) continue;
      const int side = bit % 2;
      size_t other = t;
      if (bit >= 4) {
        rules.insert("INTERVAL");
        other = v.upto(f, read() - 1);
        demand(side ? other <= t : other >= t, "an interval of no tests");
      }
      const Int value = read();
      int levels = depth;
      Int most_leaves = side ? right : left;
      if (begun(levels, most_leaves, value)) {
        const size_t from = side ? other : 0, to = side ? v.rows() : other;
        if (p.by_bits && levels <= 2) {
          rules.insert("LEAF");
          few(v.bits, v.places(f, from, to), levels, most_leaves, value);
        } else {
          View rows = part(v, f, from, to, side ? t : 0, side ? v.rows() : t, idle);
          show(rows, levels, most_leaves, state, bit < 2 ? 1 : least, value);
        }
      }
      for (size_t u = std::min(t, other); u <= std::max(t, other); ++u)
        s.add(bit >= 2, side, u, value);
    }
  }
};

// ---- the tree that the certificate is about

struct Held {
  const Problem& p;
  int depth = 0;
  Int value = 0, leaves = 0;
  vector<Int> stages, sums;
  std::uint64_t facts = 0;

  explicit Held(const Problem& problem)
      : p(problem), stages(problem.stages.size(), 0), sums(problem.measures.size(), 0) {
    if (p.tree.empty()) return;
    vector<Index> rows(p.rows);
    std::iota(rows.begin(), rows.end(), 0u);
    visit(p.tree[0], rows, 0, 0);
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

// The lines of a problem, without those that say nothing of it: who wrote it, and the tree.
string stated(const string& text) {
  string kept;
  for (size_t at = 0, end; at < text.size(); at = end + 1) {
    end = std::min(text.find('\n', at), text.size());
    const string line = text.substr(at, end - at), word = fields(line)[0];
    if (word != "made" && word != "leaf" && word != "split" && !word.empty()) kept += line + '\n';
  }
  return kept;
}

string slurp(const string& path) {
  std::ifstream in(path, std::ios::binary);
  need(in.good(), "cannot read " + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A bound on the values of all trees, as the values of the stages at which it lies.
// Of numbers the mean square, as far as it is known.
string shown(const Problem& p, Int value) {
  if (p.numbers.empty()) return std::to_string(value);
  const long double total = std::accumulate(p.weights.begin(), p.weights.end(), 0.0L);
  const long double scale = static_cast<long double>(p.numbers[0].scale);
  const long double unit =
      scale * scale * static_cast<long double>(p.numbers[0].parts) * std::max(total, 1.0L);
  char text[40];
  std::snprintf(text, sizeof text, "%.10g",
                static_cast<double>(static_cast<long double>(value) / unit));
  return text;
}

string told(const Problem& p, Int value) {
  if (p.limit >= 0 && value >= p.limit) return "no tree keeps the rules";
  string text;
  for (const Stage& s : p.stages) {
    if (s.zero) continue;
    text += (text.empty() ? "no tree is better than " : ", then ") + s.name + " " +
            shown(p, value / s.unit);
    value %= s.unit;
  }
  return text;
}

int run(const string& file, const string& text, const char* steps, const string& data,
        double share) {
  using Long = long long;
  const Problem p = load(text, data);
  std::printf("problem: %zu rows, %zu features, %zu classes, depth %d, at most %lld leaves\n",
              p.rows, p.features.size(), p.classes.size(), p.depth, static_cast<Long>(p.leaves));
  const Held tree(p);
  const bool held = !p.tree.empty();
  if (held) {
    std::printf("tree: depth %d, %lld leaves", tree.depth, static_cast<Long>(tree.leaves));
    for (size_t s = 0; s < p.stages.size(); ++s)
      std::printf(", %s %s", p.stages[s].name.c_str(), shown(p, tree.stages[s]).c_str());
    std::printf("\nvalues: %d", tree.depth);
    for (Int value : tree.stages) std::printf(" %lld", static_cast<Long>(value));
    std::printf("\n");
  }
  Checker check{p,
                share,
                reinterpret_cast<const unsigned char*>(steps),
                reinterpret_cast<const unsigned char*>(file.data()) + file.size(),
                {}};
  View all = whole(p);
  // Depth first: the claim that all trees of the tree's depth are no better, and that of one level
  // less none keeps the rules.
  const int asked = p.least_depth && held ? tree.depth : p.depth;
  const Int tolerance = p.tolerance + (p.pieces.empty() ? 0 : tree.value / 1000000000);
  bool reached = false, least = !p.least_depth || !held || tree.depth == 0;
  string claims;
  try {
    demand(static_cast<Int>(p.rows) >= p.leaf_rows, "a leaf of all rows is too small");
    for (Int count = check.read(); count > 0; --count) {
      const Int depth = check.read(), target = check.read(), value = target + p.base;
      demand(depth <= p.depth && (!p.ruled || depth == p.depth),
             "a bound for trees of another depth");
      if (p.ruled)
        check.under_rules(all, target);
      else
        check.claim(all, static_cast<int>(depth), p.leaves, 0, p.leaf_rows, target);
      demand(!held || depth < asked || value <= tree.value + tolerance,
             "a bound above the value of the tree: a mistake of this checker");
      const bool none = p.limit >= 0 && value >= p.limit;
      reached = reached || (depth >= asked && (held ? value >= tree.value - tolerance : none));
      least = least || (depth + 1 >= tree.depth && none);
      claims += "claim: of depth at most " + std::to_string(depth) + ", " + told(p, value) + "\n";
    }
    demand(check.at == check.end, "bytes follow the certificate");
  } catch (const Refused& why) {
    std::printf("refused at step %lld: %s\n", static_cast<Long>(check.steps), why.what());
    return 1;
  }
  std::printf("steps: %lld, of them %lld %s", static_cast<Long>(check.steps),
              static_cast<Long>(check.pairs),
              p.ruled ? "tests of the root" : "checks of depth two");
  if (check.skipped) std::printf(", %lld left out", static_cast<Long>(check.skipped));
  std::printf("\nrules:");
  for (const string& rule : check.rules) std::printf(" %s", rule.c_str());
  if (!p.numbers.empty()) std::printf("\nwithin: a billionth of the loss of one leaf");
  std::printf("\n%s%s: %s\n", claims.c_str(), check.skipped ? "sampled" : "certified",
              !reached || !least ? "the bounds above, not that the tree is optimal"
              : held             ? "the tree is optimal"
                                 : "no tree keeps the rules");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  vector<string> files;
  double share = 1;
  bool show = false;
  try {
    for (int i = 1; i < argc; ++i) {
      const string word = argv[i];
      if (word == "--problem")
        show = true;
      else if (word == "--sample" && i + 1 < argc) {
        string much = argv[++i];
        const bool percent = !much.empty() && much.back() == '%';
        if (percent) much.pop_back();
        share = number(much) / (percent ? 100 : 1);
        need(share > 0 && share <= 1, "a sample is a share like 1%");
      } else
        files.push_back(word);
    }
    const bool given = files.size() == 3 && !show;
    need(given || files.size() == (show ? 1u : 2u),
         "usage: odtcheck FILE.cert DATA.csv [--sample 1%], odtcheck PROBLEM DATA.csv FILE.cert, "
         "or odtcheck FILE.cert --problem");
    const string file = slurp(files[given ? 2 : 0]), magic = "ODTCERT1\n";
    need(file.compare(0, magic.size(), magic) == 0, "not a certificate of odtdsl");
    const size_t line = std::min(file.find('\n', magic.size()), file.size() - 1);
    const Int size = integer(file.substr(magic.size(), line - magic.size()));
    need(size <= static_cast<Int>(file.size() - line - 1), "the certificate ends too early");
    const string text = file.substr(line + 1, static_cast<size_t>(size));
    demand(!given || stated(slurp(files[0])) == stated(text), "it is of another problem");
    if (!show) return run(file, text, file.data() + line + 1 + size, slurp(files[1]), share);
    std::fwrite(text.data(), 1, text.size(), stdout);
    return 0;
  } catch (const Refused& why) {
    std::printf("refused at step 0: %s\n", why.what());
    return 1;
  } catch (const std::exception& why) {
    std::fprintf(stderr, "odtcheck: %s\n", why.what());
    return 2;
  }
}
