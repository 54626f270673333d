// odtcheck: checks a certificate that no decision tree is better than the one it holds.
//
//     c++ -O2 -std=c++17 odtcheck.cpp -o odtcheck
//     ./odtcheck FILE.cert DATA.csv [--sample 1%] [--problem]
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
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
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
void need(bool holds, const char* what) {
  if (!holds) throw Unreadable(what);
}
void demand(bool holds, const char* what) {
  if (!holds) throw Refused(what);
}

// ---- texts: fields of a line are parted by tabs; a backslash escapes tab, line end and itself

vector<string> fields(const string& line) {
  vector<string> found(1);
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\t')
      found.emplace_back();
    else if (line[i] != '\\' || i + 1 == line.size())
      found.back() += line[i];
    else {
      const char c = line[++i];
      found.back() += c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c;
    }
  }
  return found;
}

Int integer(const string& text) {
  need(!text.empty() && text.size() < 19 && text.find_first_not_of("0123456789") == string::npos,
       "not a whole number");
  const Int value = std::stoll(text);
  need(value < kLargest, "a number is too large");
  return value;
}

double number(const string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  while (end && (*end == ' ' || *end == '\t' || *end == '\r')) ++end;
  need(!text.empty() && end && !*end && std::isfinite(value), ("not a number: " + text).c_str());
  return value;
}

// A table of comma-separated cells; quoted ones may hold commas, line ends and doubled quotes.
struct Table {
  vector<string> names;
  vector<vector<string>> columns;
  size_t column(const string& name) const {
    const auto at = std::find(names.begin(), names.end(), name);
    need(at != names.end(), ("the data have no column " + name).c_str());
    return static_cast<size_t>(at - names.begin());
  }
};

Table read_table(const string& text, char separator) {
  Table table;
  vector<string> row(1);
  bool quoted = false, any = false;
  const auto end_row = [&] {
    if (!any) return;
    if (table.names.empty()) {
      table.names = row;
      table.columns.resize(row.size());
    } else {
      need(row.size() == table.names.size(),
           "a row of the data has more or fewer cells than the first line");
      for (size_t i = 0; i < row.size(); ++i) table.columns[i].push_back(row[i]);
    }
    row.assign(1, "");
    any = false;
  };
  for (size_t i = text.compare(0, 3, "\xef\xbb\xbf") == 0 ? 3 : 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c != '"')
        row.back() += c;
      else if (i + 1 < text.size() && text[i + 1] == '"')
        row.back() += text[++i];
      else
        quoted = false;
    } else if (c == '"') {
      quoted = true;
      any = true;
    } else if (c == separator) {
      row.emplace_back();
      any = true;
    } else if (c == '\n')
      end_row();
    else if (c != '\r') {
      row.back() += c;
      any = true;
    }
  }
  need(!quoted, "a quote in the data is not closed");
  end_row();
  need(!table.names.empty() && !table.columns[0].empty(), "the data have no rows");
  for (auto& column : table.columns)  // blanks around a cell do not count
    for (string& cell : column) {
      const size_t from = cell.find_first_not_of(" \t"), to = cell.find_last_not_of(" \t");
      cell = from == string::npos ? "" : cell.substr(from, to - from + 1);
    }
  return table;
}

// ---- the problem

// A column as ranks: a test is a rank r, and rows of rank <= r go left. Two ranks differ iff a test
// that may stand parts them, so every gap between ranks is a test that may stand.
struct Feature {
  string kind, column;
  vector<string> given;
  vector<std::uint32_t> rank;  // per row
  vector<double> value;        // of numbers, per row
};

struct Stage {
  string name;
  bool zero = false;         // must be 0
  Int price = 0, unit = 1;   // of a leaf; what one step weighs among all stages
  vector<vector<Int>> loss;  // per kind of row and predicted class
  vector<std::uint32_t> kind;
};

struct Node {
  int feature = -1;
  string threshold;
  int left = -1, right = -1, label = -1;
};

struct Problem {
  size_t rows = 0;
  string target;
  char separator = ',';
  vector<string> classes;
  vector<Feature> features;
  vector<Stage> stages;
  int depth = 0;
  bool least_depth = false;  // the depth comes before all stages
  Int leaves = 0, leaf_rows = 1, price = 0, limit = -1, base = 0;
  vector<vector<int>> next;  // path rules: the state behind a test on a feature; -1: may not stand
  vector<Node> tree;
  // All stages in one loss: per kind of row, how much less a class loses than the worst, and the
  // most that it can lose. The last kind is of rows that do not count.
  vector<std::uint32_t> kind;
  vector<vector<Int>> gain;
  vector<Int> most;
  int states() const { return next.empty() ? 1 : static_cast<int>(next.size()); }
  int after(int state, size_t f) const {
    return next.empty() ? 0 : next[static_cast<size_t>(state)][f];
  }
};

int read_tree(Problem& p, const vector<vector<string>>& lines, size_t& at, int level) {
  need(at < lines.size() && level <= 30, "the tree ends too early or is too deep");
  const vector<string>& line = lines[at++];
  const int here = static_cast<int>(p.tree.size());
  p.tree.emplace_back();
  Node node;
  if (line[0] == "leaf") {
    need(line.size() == 2, "a leaf has one class");
    node.label = static_cast<int>(std::min<Int>(integer(line[1]), 1 << 20));
    need(static_cast<size_t>(node.label) < p.classes.size(), "a leaf has no class");
  } else {
    need(line[0] == "split" && line.size() == 3, "a node is neither leaf nor split");
    node.feature = static_cast<int>(std::min<Int>(integer(line[1]), 1 << 20));
    need(static_cast<size_t>(node.feature) < p.features.size(), "a split is on no feature");
    node.threshold = line[2];
    node.left = read_tree(p, lines, at, level + 1);
    node.right = read_tree(p, lines, at, level + 1);
  }
  p.tree[static_cast<size_t>(here)] = node;
  return here;
}

Problem read_problem(const string& text) {
  Problem p;
  vector<vector<string>> tree;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const vector<string> line = fields(text.substr(at, end - at));
    at = end + 1;
    const string& word = line[0];
    const bool one = line.size() == 2;
    if (word == "target" && one)
      p.target = line[1];
    else if (word == "separator" && one && line[1].size() == 1)
      p.separator = line[1][0];
    else if (word == "class" && one)
      p.classes.push_back(line[1]);
    else if (word == "feature" && line.size() >= 3) {
      Feature f;
      f.kind = line[1];
      f.column = line[2];
      f.given.assign(line.begin() + 3, line.end());
      p.features.push_back(f);
    } else if (word == "depth" && one)
      p.depth = static_cast<int>(integer(line[1]));
    else if (word == "least depth")
      p.least_depth = true;
    else if (word == "leaves" && one)
      p.leaves = integer(line[1]);
    else if (word == "leaf rows" && one)
      p.leaf_rows = integer(line[1]);
    else if (word == "stage" && line.size() == 4) {
      need(line[2] == "least" || line[2] == "zero", "a stage is least or zero");
      p.stages.emplace_back();
      p.stages.back().name = line[1];
      p.stages.back().zero = line[2] == "zero";
      p.stages.back().price = integer(line[3]);
    } else if (word == "loss" && !p.stages.empty()) {
      vector<Int> of;
      for (size_t i = 1; i < line.size(); ++i) of.push_back(integer(line[i]));
      p.stages.back().loss.push_back(of);
    } else if (word == "rows" &&
               !p.stages.empty()) {  // the kind of each row, as KIND or KINDxCOUNT
      for (size_t i = 1; i < line.size(); ++i) {
        const size_t x = line[i].find('x');
        const Int kind = integer(line[i].substr(0, x)),
                  count = x == string::npos ? 1 : integer(line[i].substr(x + 1));
        need(count < (1 << 30) && kind < (1 << 30), "too many rows");
        p.stages.back().kind.insert(p.stages.back().kind.end(), static_cast<size_t>(count),
                                    static_cast<std::uint32_t>(kind));
      }
    } else if (word == "path") {  // per feature the next state, 0 where the test may not stand,
                                  // else 1 + state
      vector<int> to;
      for (size_t i = 1; i < line.size(); ++i)
        to.push_back(static_cast<int>(std::min<Int>(integer(line[i]), 1 << 20)) - 1);
      p.next.push_back(to);
    } else if (word == "leaf" || word == "split")
      tree.push_back(line);
    else
      need(word == "problem" || word == "made" || word == "data" || word == "spec" || word.empty(),
           ("an unknown line of the problem: " + word).c_str());
  }
  need(p.classes.size() >= 1 && !p.features.empty() && !p.stages.empty(),
       "classes, features or stages are missing");
  need(p.depth >= 0 && p.depth <= 30 && p.leaf_rows >= 1 && p.leaves >= 1,
       "depth, leaves or leaf rows make no sense");
  at = 0;
  if (!tree.empty()) read_tree(p, tree, at, 0);
  need(at == tree.size(), "lines follow the tree");
  for (const auto& to : p.next) {
    need(to.size() == p.features.size(), "a path rule needs an entry per feature");
    for (int s : to) need(s < p.states(), "a path rule leads to no state");
  }
  return p;
}

// Ranks of a feature from the cells themselves.
void rank_feature(Feature& f, const vector<string>& cells) {
  f.rank.assign(cells.size(), 0);
  if (f.kind == "is") {  // cells of a listed value go left
    const std::set<string> left(f.given.begin(), f.given.end());
    for (size_t i = 0; i < cells.size(); ++i) f.rank[i] = left.count(cells[i]) ? 0 : 1;
  } else if (f.kind == "order") {  // "|" stands where a test may
    std::map<string, std::uint32_t> rank;
    std::uint32_t tests = 0;
    for (const string& value : f.given)
      if (value == "|")
        ++tests;
      else
        rank.emplace(value, tests);
    for (size_t i = 0; i < cells.size(); ++i) {
      const auto found = rank.find(cells[i]);
      need(found != rank.end(), ("a value is not in the order of " + f.column).c_str());
      f.rank[i] = found->second;
    }
  } else {
    need(f.kind == "number" || f.kind == "cuts", "a feature of an unknown kind");
    vector<double> cuts;
    for (const string& cell : cells) f.value.push_back(number(cell));
    for (const string& cut : f.given) cuts.push_back(number(cut));
    if (f.kind == "number") cuts = f.value;  // a test behind every value: as good as between them
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    for (size_t i = 0; i < cells.size(); ++i)  // thresholds below the value
      f.rank[i] = static_cast<std::uint32_t>(
          std::lower_bound(cuts.begin(), cuts.end(), f.value[i]) - cuts.begin());
  }
  vector<std::uint32_t> used = f.rank;  // numbered without gaps
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  for (auto& r : f.rank)
    r = static_cast<std::uint32_t>(std::lower_bound(used.begin(), used.end(), r) - used.begin());
}

// Stages stand above each other like the digits of a number: a step of one weighs more than all
// later ones together can. What a row loses whatever is predicted goes into `base`.
void stack(Problem& p, const vector<std::uint32_t>& label) {
  Int leaves = std::min<Int>(p.leaves, static_cast<Int>(p.rows));
  if (p.depth < 30) leaves = std::min(leaves, Int{1} << p.depth);
  p.leaves = std::min(p.leaves, Int{1} << p.depth);
  Int unit = 1;
  const size_t n = p.classes.size();
  for (size_t s = p.stages.size(); s-- > 0;) {
    Stage& stage = p.stages[s];
    if (stage.kind.empty()) stage.kind = label;  // the kind of a row is its class
    need(stage.kind.size() == p.rows, "a stage needs a kind for each row");
    for (const auto& loss : stage.loss) need(loss.size() == n, "a loss needs an entry per class");
    for (auto k : stage.kind) need(k < stage.loss.size(), "a row is of no kind");
    stage.unit = unit;
    Int span = 0;
    for (auto k : stage.kind) {
      span += *std::max_element(stage.loss[k].begin(), stage.loss[k].end());
      need(span < kLargest, "losses are too large");
    }
    need(stage.price < kLargest / (leaves + 1), "a price is too large");
    span += stage.price * leaves;
    if (stage.zero) p.limit = std::max(p.limit, unit);
    need(span < kLargest && unit < kLargest / (span + 1), "the stages together are too large");
    p.price += stage.price * unit;
    unit *= span + 1;
  }
  for (size_t s = 0; s + 1 < p.stages.size(); ++s)
    need(!p.stages[s + 1].zero || p.stages[s].zero, "stages that must be 0 come first");
  if (p.limit >= 0)  // the unit of the last stage that must be 0
    for (const Stage& stage : p.stages)
      if (stage.zero) p.limit = stage.unit;
  std::map<vector<Int>, std::uint32_t> known;
  p.kind.resize(p.rows);
  vector<Int> total(n);
  for (size_t i = 0; i < p.rows; ++i) {
    std::fill(total.begin(), total.end(), 0);
    for (const Stage& stage : p.stages)
      for (size_t l = 0; l < n; ++l) total[l] += stage.unit * stage.loss[stage.kind[i]][l];
    const Int least = *std::min_element(total.begin(), total.end()),
              most = *std::max_element(total.begin(), total.end());
    p.base += least;
    for (Int& t : total) t = most - t;
    const auto found = known.emplace(total, static_cast<std::uint32_t>(known.size()));
    if (found.second) {
      p.gain.push_back(total);
      p.most.push_back(most - least);
    }
    p.kind[i] = found.first->second;
  }
  p.gain.push_back(vector<Int>(n, 0));
  p.most.push_back(0);
}

// MONO drops tests that part nothing from a path, so each state must allow all that the states
// behind it do: the largest relation of that kind is found, and must hold of every step.
void check_paths(const Problem& p) {
  const size_t n = p.next.size();
  vector<vector<char>> more(n, vector<char>(n, 1));
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t a = 0; a < n; ++a)
      for (size_t b = 0; b < n; ++b)
        for (size_t f = 0; f < p.features.size() && more[a][b]; ++f) {
          const int to_a = p.next[a][f], to_b = p.next[b][f];
          if (to_b < 0 || (to_a >= 0 && more[static_cast<size_t>(to_a)][static_cast<size_t>(to_b)]))
            continue;
          more[a][b] = 0;
          changed = true;
        }
  }
  for (size_t s = 0; s < n; ++s)
    for (int to : p.next[s])
      demand(to < 0 || more[s][static_cast<size_t>(to)],
             "a path rule that dropping a test may break");
}

Problem load(const string& text, const string& data) {
  Problem p = read_problem(text);
  const Table table = read_table(data, p.separator);
  const vector<string>& target = table.columns[table.column(p.target)];
  p.rows = target.size();
  need(p.rows < (size_t{1} << 30), "too many rows");
  vector<std::uint32_t> label;
  for (const string& cell : target) {
    const auto at = std::find(p.classes.begin(), p.classes.end(), cell);
    need(at != p.classes.end(), ("a class of the data is not listed: " + cell).c_str());
    label.push_back(static_cast<std::uint32_t>(at - p.classes.begin()));
  }
  for (Feature& f : p.features) rank_feature(f, table.columns[table.column(f.column)]);
  stack(p, label);
  check_paths(p);
  return p;
}

// ---- the rows of a node, in the order of every feature

constexpr int kLanes = 32;  // tests that are tried in one pass over the rows

struct View {
  size_t rows = 0;
  vector<std::uint32_t> kind;           // per row
  vector<vector<std::uint32_t>> order;  // per feature: the rows by rank
  vector<vector<std::uint32_t>> rank;   // per feature and row
  std::uint32_t key(size_t f, size_t at) const { return rank[f][order[f][at]]; }
  vector<vector<char>> end;  // per feature and place: whether a test parts it from the place before
  bool ends(size_t f, size_t at) const { return end[f][at] != 0; }
  void find_ends() {
    for (size_t f = 0; f < order.size(); ++f) {
      end.emplace_back(rows, 0);
      for (size_t at = 1; at < rows; ++at) end[f][at] = key(f, at - 1) != key(f, at);
    }
  }
  // How many rows have at most this rank.
  size_t upto(size_t f, Int r) const {
    const auto above = [&](Int x, std::uint32_t row) { return x < static_cast<Int>(rank[f][row]); };
    return static_cast<size_t>(std::upper_bound(order[f].begin(), order[f].end(), r, above) -
                               order[f].begin());
  }
};

View whole(const Problem& p) {
  View v;
  v.rows = p.rows;
  v.kind = p.kind;
  for (const Feature& f : p.features) {
    v.order.emplace_back(p.rows);
    std::iota(v.order.back().begin(), v.order.back().end(), 0u);
    std::stable_sort(v.order.back().begin(), v.order.back().end(),
                     [&](auto a, auto b) { return f.rank[a] < f.rank[b]; });
    v.rank.push_back(f.rank);
  }
  v.find_ends();
  return v;
}

// The rows at places from..to of a feature. Those outside of count_from..count_to only make leaves
// large: they lose nothing.
View part(const View& v, size_t f, size_t from, size_t to, size_t count_from, size_t count_to,
          std::uint32_t idle) {
  View made;
  vector<std::uint32_t> number(v.rows, ~0u), rows;
  for (size_t at = from; at < to; ++at) number[v.order[f][at]] = 0;
  for (std::uint32_t i = 0; i < v.rows; ++i)
    if (number[i] == 0) {
      number[i] = static_cast<std::uint32_t>(rows.size());
      rows.push_back(i);
    }
  made.rows = rows.size();
  for (auto i : rows) made.kind.push_back(v.kind[i]);
  for (size_t at = from; at < to; ++at)
    if (at < count_from || at >= count_to) made.kind[number[v.order[f][at]]] = idle;
  for (size_t g = 0; g < v.order.size(); ++g) {
    made.order.emplace_back();
    made.order.back().reserve(rows.size());
    for (auto i : v.order[g])
      if (number[i] != ~0u) made.order.back().push_back(number[i]);
    made.rank.emplace_back();
    made.rank.back().reserve(rows.size());
    for (auto i : rows) made.rank.back().push_back(v.rank[g][i]);
  }
  made.find_ends();
  return made;
}

// ---- depth two: both sides of a test may be split once more

// For 32 tests at a time: per lane the best split of each side, as the most that two leaves gain
// together. `Value` is wide enough for the sums of all rows. Leaves that hold fewer than `least`
// rows count for `any` only.
template <class Value>
struct Lanes {
  Value left[kLanes], right[kLanes], any_left[kLanes],
      any_right[kLanes];  // gains of the best splits
};

// Two classes: a row gains one of them, `delta` says which and how much; a leaf gains max(0, sum)
// beyond what predicting class 0 does.
template <class Value>
WIDE void scan_two(const View& v, size_t g, const Value* mask, const Value* delta,
                   const Value* total, Value all, Lanes<Value>& best) {
  Value in[kLanes] = {}, below = 0;
  for (size_t at = 0; at + 1 < v.rows; ++at) {
    const std::uint32_t row = v.order[g][at];
    const Value* m = mask + size_t{row} * kLanes;
    const Value d = delta[row];
    below = static_cast<Value>(below + d);
    for (int l = 0; l < kLanes; ++l) in[l] = static_cast<Value>(in[l] + (d & m[l]));
    if (!v.ends(g, at + 1)) continue;
    for (int l = 0; l < kLanes; ++l) {
      const Value a = in[l], b = static_cast<Value>(total[l] - a);
      const Value c = static_cast<Value>(below - a), e = static_cast<Value>(all - total[l] - c);
      const Value x = static_cast<Value>(std::max<Value>(a, 0) + std::max<Value>(b, 0));
      const Value y = static_cast<Value>(std::max<Value>(c, 0) + std::max<Value>(e, 0));
      best.any_left[l] = std::max(best.any_left[l], x);
      best.any_right[l] = std::max(best.any_right[l], y);
    }
  }
}

// Any number of classes, and leaves of a least size: `in` holds the gain per class and lane, its
// last block the rows.
template <class Value>
WIDE void scan_many(const View& v, size_t g, size_t classes, Int least, const Value* mask,
                    const Value* gain, const std::uint32_t* kind, const Value* total,
                    const Value* all, Value* in, Value* below, Lanes<Value>& best) {
  const size_t blocks = classes + 1;
  std::fill(in, in + blocks * kLanes, Value{0});
  std::fill(below, below + blocks, Value{0});
  for (size_t at = 0; at + 1 < v.rows; ++at) {
    const std::uint32_t row = v.order[g][at];
    const Value* m = mask + size_t{row} * kLanes;
    const Value* of = gain + kind[row] * blocks;
    for (size_t k = 0; k < blocks; ++k) {
      const Value d = of[k];
      if (!d) continue;
      below[k] = static_cast<Value>(below[k] + d);
      for (int l = 0; l < kLanes; ++l)
        in[k * kLanes + l] = static_cast<Value>(in[k * kLanes + l] + (d & m[l]));
    }
    if (!v.ends(g, at + 1)) continue;
    Value x[4][kLanes] = {};
    for (size_t k = 0; k < classes; ++k)
      for (int l = 0; l < kLanes; ++l) {
        const Value a = in[k * kLanes + l], b = static_cast<Value>(total[k * kLanes + l] - a);
        const Value c = static_cast<Value>(below[k] - a),
                    e = static_cast<Value>(all[k] - total[k * kLanes + l] - c);
        x[0][l] = std::max(x[0][l], a);
        x[1][l] = std::max(x[1][l], b);
        x[2][l] = std::max(x[2][l], c);
        x[3][l] = std::max(x[3][l], e);
      }
    for (int l = 0; l < kLanes; ++l) {
      const Value s = static_cast<Value>(x[0][l] + x[1][l]),
                  t = static_cast<Value>(x[2][l] + x[3][l]);
      best.any_left[l] = std::max(best.any_left[l], s);
      best.any_right[l] = std::max(best.any_right[l], t);
      if (least <= 1) continue;
      const Value a = in[classes * kLanes + l],
                  b = static_cast<Value>(total[classes * kLanes + l] - a);
      const Value c = static_cast<Value>(below[classes] - a),
                  e = static_cast<Value>(all[classes] - total[classes * kLanes + l] - c);
      if (a >= least && b >= least) best.left[l] = std::max(best.left[l], s);
      if (c >= least && e >= least) best.right[l] = std::max(best.right[l], t);
    }
  }
}

// What is known of the two sides of each test of a feature. `any` holds for trees whose leaves may
// be of any size, and goes up and down the feature (MONO, DEL); what holds for leaves of the least
// size goes to fewer rows only (DEL). Places are the rows on the left.
struct Stairs {
  const vector<Int>& most;  // that the rows at lower places lose
  vector<Int> left, right, any_left, any_right;
  Stairs(const vector<Int>& upto, Int price)
      : most(upto), left(upto.size(), price), right(left), any_left(left), any_right(left) {}
  void add(vector<Int>& to, size_t at, Int value) { to[at] = std::max(to[at], value); }
  // Carries every bound as far as it goes.
  void spread() {
    const size_t n = most.size() - 1;
    for (size_t t = n; t-- > 0;) {
      const Int lost = most[t + 1] - most[t];
      any_left[t] = std::max(any_left[t], any_left[t + 1] - lost);
      left[t] = std::max(left[t], left[t + 1] - lost);
      any_right[t] = std::max(any_right[t], any_right[t + 1]);
    }
    for (size_t t = 1; t <= n; ++t) {
      const Int lost = most[t] - most[t - 1];
      any_right[t] = std::max(any_right[t], any_right[t - 1] - lost);
      right[t] = std::max(right[t], right[t - 1] - lost);
      any_left[t] = std::max(any_left[t], any_left[t - 1]);
    }
  }
  Int sum(size_t t) const {
    return std::max(left[t], any_left[t]) + std::max(right[t], any_right[t]);
  }
};

struct Checker {
  const Problem& p;
  double share = 1;  // of the depth-two checks that are made
  std::uint64_t dice = 88172645463325252ull;
  Int steps = 0, pairs = 0, skipped = 0;
  std::set<string> rules;
  std::uint32_t idle;
  const unsigned char *at, *end;

  Checker(const Problem& problem)
      : p(problem), idle(static_cast<std::uint32_t>(problem.most.size() - 1)) {}

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
  void use(const char* rule) { rules.insert(rule); }

  vector<Int> most_upto(const View& v, size_t f) const {
    vector<Int> upto(v.rows + 1, 0);
    for (size_t i = 0; i < v.rows; ++i) upto[i + 1] = upto[i] + p.most[v.kind[v.order[f][i]]];
    return upto;
  }
  // LEAF: what the best leaf on all rows loses, with its price.
  Int leaf(const View& v) const {
    vector<Int> gain(p.classes.size(), 0);
    Int most = 0;
    for (auto k : v.kind) {
      most += p.most[k];
      for (size_t l = 0; l < gain.size(); ++l) gain[l] += p.gain[k][l];
    }
    return p.price + most - *std::max_element(gain.begin(), gain.end());
  }
  // POINTS: rows that no test parts get one class.
  Int points(const View& v) const {
    vector<std::uint32_t> rows(v.rows);
    std::iota(rows.begin(), rows.end(), 0u);
    const auto less = [&](auto a, auto b) {
      for (const auto& rank : v.rank)
        if (rank[a] != rank[b]) return rank[a] < rank[b];
      return false;
    };
    std::sort(rows.begin(), rows.end(), less);
    Int loss = 0;
    for (size_t i = 0, j; i < rows.size(); i = j) {
      vector<Int> gain(p.classes.size(), 0);
      for (j = i; j < rows.size() && !less(rows[i], rows[j]); ++j) {
        loss += p.most[v.kind[rows[j]]];
        for (size_t l = 0; l < gain.size(); ++l) gain[l] += p.gain[v.kind[rows[j]]][l];
      }
      loss -= *std::max_element(gain.begin(), gain.end());
    }
    return p.price + loss;
  }

  // The least loss of one split, with the prices of its leaves. Per feature that may be tested, all
  // of its tests.
  Int stump(const View& v, int state, Int least) const {
    Int found = std::numeric_limits<Int>::max();
    const size_t n = p.classes.size();
    vector<Int> all(n, 0), below(n);
    Int most = 0;
    for (auto k : v.kind) {
      most += p.most[k];
      for (size_t l = 0; l < n; ++l) all[l] += p.gain[k][l];
    }
    for (size_t f = 0; f < p.features.size(); ++f) {
      if (p.after(state, f) < 0) continue;
      std::fill(below.begin(), below.end(), 0);
      for (size_t t = 1; t < v.rows; ++t) {
        const auto& gain = p.gain[v.kind[v.order[f][t - 1]]];
        for (size_t l = 0; l < n; ++l) below[l] += gain[l];
        if (!v.ends(f, t) || static_cast<Int>(t) < least || static_cast<Int>(v.rows - t) < least)
          continue;
        Int a = 0, b = 0;
        for (size_t l = 0; l < n; ++l) {
          a = std::max(a, below[l]);
          b = std::max(b, all[l] - below[l]);
        }
        found = std::min(found, 2 * p.price + most - a - b);
      }
    }
    return found;
  }

  // TWO: whether every tree of depth two, of at most `leaves` leaves, loses `target`. Tests are
  // tried 32 at a time; those that the stairs close need not be.
  void two(const View& v, Int leaves, int state, Int least, Int target) {
    if (share < 1) {
      dice ^= dice << 13, dice ^= dice >> 7, dice ^= dice << 17;
      if (static_cast<double>(dice >> 11) >= share * 9007199254740992.0) {
        ++skipped;
        return;
      }
    }
    ++pairs;
    Int most = 0;
    for (auto k : v.kind) most += p.most[k];
    const Int largest = std::max(2 * most + 2, static_cast<Int>(v.rows));
    if (largest < 32000)
      two_of<std::int16_t>(v, leaves, state, least, target);
    else if (largest < 2000000000)
      two_of<std::int32_t>(v, leaves, state, least, target);
    else
      two_of<Int>(v, leaves, state, least, target);
  }

  struct Open {
    size_t f, t;
  };

  template <class Value>
  void two_of(const View& v, Int leaves, int state, Int least, Int target) {
    // A split of all rows bounds what one side and the rest of the rows lose.
    const Int flat = std::min(leaf(v), stump(v, state, 1));
    std::map<int, vector<size_t>> groups;  // features by the state behind them
    for (size_t f = 0; f < p.features.size(); ++f)
      if (p.after(state, f) >= 0 && v.rows > 1 && v.key(f, 0) != v.key(f, v.rows - 1))
        groups[p.after(state, f)].push_back(f);
    const size_t n = p.classes.size(), blocks = n + 1;
    const bool plain = n == 2 && least <= 1;
    vector<Value> delta(v.rows), gain(p.gain.size() * blocks);
    for (size_t i = 0; plain && i < v.rows; ++i)
      delta[i] = static_cast<Value>(p.gain[v.kind[i]][1] - p.gain[v.kind[i]][0]);
    for (size_t k = 0; k < p.gain.size(); ++k) {
      for (size_t l = 0; l < n; ++l) gain[k * blocks + l] = static_cast<Value>(p.gain[k][l]);
      gain[k * blocks + n] = 1;
    }
    vector<Value> mask(v.rows * kLanes), in(blocks * kLanes), below(blocks);
    for (const auto& [next, features] : groups) {
      vector<vector<Int>> upto;
      vector<Stairs> stairs;
      vector<vector<Int>> alone_left, alone_right;  // with three leaves: of a leaf at every place
      for (size_t f : features) upto.push_back(most_upto(v, f));
      for (size_t i = 0; i < features.size(); ++i) {
        stairs.emplace_back(upto[i], p.price);
        stairs[i].add(stairs[i].any_left, v.rows, flat);
        stairs[i].add(stairs[i].any_right, 0, flat);
        if (leaves == 3) alone(v, features[i], upto[i], alone_left, alone_right);
      }
      const auto closed = [&](size_t i, size_t t) {
        const Stairs& s = stairs[i];
        if (leaves != 3) return s.sum(t) >= target;
        return std::max(s.left[t], s.any_left[t]) + alone_right[i][t] >= target &&
               alone_left[i][t] + std::max(s.right[t], s.any_right[t]) >= target;
      };
      for (;;) {
        vector<Open> batch;
        for (size_t i = 0; i < features.size() && batch.size() < kLanes; ++i) {
          stairs[i].spread();
          vector<size_t> open;
          for (size_t t = static_cast<size_t>(least);
               t + static_cast<size_t>(least) <= v.rows && t < v.rows; ++t)
            if (v.ends(features[i], t) && !closed(i, t)) open.push_back(t);
          const size_t wanted = std::min<size_t>({open.size(), 16, kLanes - batch.size()});
          for (size_t j = 0; j < wanted; ++j)
            batch.push_back({i, open[(2 * j + 1) * open.size() / (2 * wanted)]});
        }
        if (batch.empty()) break;
        std::fill(mask.begin(), mask.end(), Value{0});
        for (size_t l = 0; l < batch.size(); ++l) {
          const auto& order = v.order[features[batch[l].f]];
          for (size_t at = 0; at < batch[l].t; ++at)
            mask[size_t{order[at]} * kLanes + l] = static_cast<Value>(-1);
        }
        Lanes<Value> best;
        vector<Value> total(blocks * kLanes), all(blocks);
        for (size_t i = 0; i < v.rows; ++i)
          for (size_t k = 0; k < blocks; ++k) {
            const Value d = plain ? (k == 0 ? delta[i] : Value{0}) : gain[v.kind[i] * blocks + k];
            all[k] = static_cast<Value>(all[k] + d);
            for (int l = 0; d && l < kLanes; ++l)
              total[k * kLanes + l] =
                  static_cast<Value>(total[k * kLanes + l] + (d & mask[i * kLanes + l]));
          }
        std::fill_n(best.left, kLanes, Value{-1});
        std::fill_n(best.right, kLanes, Value{-1});
        std::fill_n(best.any_left, kLanes, Value{-1});
        std::fill_n(best.any_right, kLanes, Value{-1});
        for (size_t g = 0; g < p.features.size(); ++g) {
          if (p.after(next, g) < 0) continue;
          if (plain)
            scan_two(v, g, mask.data(), delta.data(), total.data(), all[0], best);
          else
            scan_many(v, g, n, least, mask.data(), gain.data(), v.kind.data(), total.data(),
                      all.data(), in.data(), below.data(), best);
        }
        for (size_t l = 0; l < batch.size(); ++l) {
          Stairs& s = stairs[batch[l].f];
          const size_t f = features[batch[l].f], t = batch[l].t;
          Int most[2] = {s.most[t], s.most[v.rows] - s.most[t]}, zero[2] = {0, 0},
              leaf_gain[2] = {0, 0};
          for (size_t k = 0; k < n; ++k) {
            const Int a = plain ? (k ? std::max<Int>(0, total[l]) : 0) : total[k * kLanes + l];
            const Int b = plain ? (k ? std::max<Int>(0, all[0] - total[l]) : 0)
                                : all[k] - total[k * kLanes + l];
            leaf_gain[0] = std::max(leaf_gain[0], a);
            leaf_gain[1] = std::max(leaf_gain[1], b);
          }
          for (size_t at = 0; plain && at < v.rows; ++at)
            zero[at >= t] += p.gain[v.kind[v.order[f][at]]][0];
          for (int side = 0; side < 2; ++side) {
            const Int off = most[side] - zero[side], alone = p.price + off - leaf_gain[side];
            const Int any = side == 0 ? best.any_left[l] : best.any_right[l];
            const Int sized = plain ? any : side == 0 ? best.left[l] : best.right[l];
            const Int free = any < 0 ? alone : std::min(alone, 2 * p.price + off - any);
            s.add(side == 0 ? s.any_left : s.any_right, t, free);
            if (least > 1)
              s.add(side == 0 ? s.left : s.right, t,
                    sized < 0 ? alone : std::min(alone, 2 * p.price + off - sized));
          }
          demand(closed(batch[l].f, t), "a tree of depth two loses less than is claimed");
        }
      }
    }
  }

  // What a leaf on each side of every test loses.
  void alone(const View& v, size_t f, const vector<Int>& upto, vector<vector<Int>>& left,
             vector<vector<Int>>& right) const {
    const size_t n = p.classes.size();
    vector<Int> a(v.rows + 1, p.price), b = a, sum(n, 0);
    for (size_t t = 0; t <= v.rows; ++t) {
      a[t] += upto[t] - *std::max_element(sum.begin(), sum.end());
      if (t < v.rows)
        for (size_t l = 0; l < n; ++l) sum[l] += p.gain[v.kind[v.order[f][t]]][l];
    }
    std::fill(sum.begin(), sum.end(), 0);
    for (size_t t = v.rows + 1; t-- > 0;) {
      b[t] += upto[v.rows] - upto[t] - *std::max_element(sum.begin(), sum.end());
      if (t > 0)
        for (size_t l = 0; l < n; ++l) sum[l] += p.gain[v.kind[v.order[f][t - 1]]][l];
    }
    left.push_back(a);
    right.push_back(b);
  }

  // The judgement: every tree on the rows of a view, of at most this depth and so many leaves, each
  // of at least `least` rows, allowed in this state of the path, loses at least `target`.
  void claim(const View& v, int depth, Int leaves, int state, Int least, Int target) {
    ++steps;
    if (target <= p.price) return use("ZERO");
    leaves = depth < 40 ? std::min(leaves, Int{1} << depth) : leaves;
    depth = static_cast<int>(std::min<Int>(depth, leaves - 1));
    if (depth >= 3) {
      const Int how = read();
      if (how == 0) {
        use("POINTS");
        return demand(points(v) >= target, "rows that no test parts lose less than is claimed");
      }
      demand(how == 1, "a step of an unknown kind");
    }
    use("LEAF");
    demand(leaf(v) >= target, "a leaf loses less than is claimed");
    if (depth == 0) return;
    if (depth <= 2) {
      demand(stump(v, state, least) >= target, "a single split loses less than is claimed");
      if (depth == 1) return;
      use("TWO");
      return two(v, leaves, state, least, target);
    }
    split(v, depth, leaves, state, least, target);
  }

  // SPLIT and STAIR: for every division of the leaves and every feature, bounds at some tests close
  // all others. WHOLE: a bound for trees of one level less on all rows.
  void split(const View& v, int depth, Int leaves, int state, Int least, Int target) {
    use("SPLIT");
    const Int flat = read();
    if (flat) {
      use("WHOLE");
      claim(v, depth - 1, leaves, state, least, flat);
    }
    const Int half = depth - 1 < 40 ? Int{1} << (depth - 1) : leaves;
    if (leaves < 2 * half) use("LEAVES");
    for (Int l = std::max<Int>(1, leaves - half); l <= std::min(half, leaves - 1); ++l)
      for (size_t f = 0; f < p.features.size(); ++f) {
        const int next = p.after(state, f);
        if (next < 0) {
          use("PATH");
          continue;
        }
        if (v.rows < 2 || v.key(f, 0) == v.key(f, v.rows - 1)) continue;
        const vector<Int> upto = most_upto(v, f);
        Stairs s(upto, p.price);
        if (flat) {
          s.add(least > 1 ? s.left : s.any_left, v.rows, flat);
          s.add(least > 1 ? s.right : s.any_right, 0, flat);
        }
        Int count = read(), cut = -1;
        while (count-- > 0) {
          cut += read() + 1;
          lemma(v, f, cut, depth - 1, l, leaves - l, next, least, s);
        }
        s.spread();
        for (size_t t = static_cast<size_t>(least);
             t + static_cast<size_t>(least) <= v.rows && t < v.rows; ++t)
          if (v.ends(f, t)) demand(s.sum(t) >= target, "a test is left open");
        use("STAIR");
      }
  }

  // The bounds at one test. Bits of the mask: 0 left and 1 right for trees with leaves of any size
  // (without a least size: all trees); 2, 3 the same with leaves of the least size; 4, 5 with sizes
  // counted on the rows up to a wider cut (INTERVAL).
  void lemma(const View& v, size_t f, Int cut, int depth, Int left, Int right, int state, Int least,
             Stairs& s) {
    const size_t t = v.upto(f, cut);
    demand(t > 0 && t < v.rows, "a test that parts nothing");
    const Int mask = read();
    demand(mask < (least > 1 ? 64 : 4), "a bound of an unknown kind");
    for (int bit = 0; bit < 6; ++bit) {
      if (!(mask >> bit & 1)) continue;
      const bool on_left = bit % 2 == 0;
      size_t other = t;
      if (bit >= 4) {
        use("INTERVAL");
        other = v.upto(f, read() - 1);
        demand(on_left ? other >= t : other <= t, "an interval of no tests");
      }
      const Int value = read();
      const View side =
          on_left ? part(v, f, 0, other, 0, t, idle) : part(v, f, other, v.rows, t, v.rows, idle);
      claim(side, depth, on_left ? left : right, state, bit < 2 ? 1 : least, value);
      if (bit < 2)
        s.add(on_left ? s.any_left : s.any_right, t, value);
      else
        for (size_t u = std::min(t, other); u <= std::max(t, other); ++u)
          s.add(on_left ? s.left : s.right, u, value);
    }
  }
};

// ---- the tree that the certificate is about

struct Held {
  Int value = 0;
  int depth = 0;
  Int leaves = 0;
  vector<Int> stages;
};

struct Evaluation {
  const Problem& p;
  const Table& table;
  Held held;

  bool left(const Node& node, size_t row) const {
    const Feature& f = p.features[static_cast<size_t>(node.feature)];
    if (f.value.empty()) return f.rank[row] <= static_cast<std::uint32_t>(integer(node.threshold));
    return f.value[row] <= number(node.threshold);
  }

  void visit(int at, const vector<std::uint32_t>& rows, int level, int state) {
    const Node& node = p.tree[static_cast<size_t>(at)];
    held.depth = std::max(held.depth, level);
    demand(level <= p.depth, "the tree is too deep");
    if (node.feature < 0) {
      ++held.leaves;
      demand(static_cast<Int>(rows.size()) >= p.leaf_rows, "a leaf of the tree holds too few rows");
      for (size_t s = 0; s < p.stages.size(); ++s) {
        held.stages[s] += p.stages[s].price;
        for (auto i : rows)
          held.stages[s] += p.stages[s].loss[p.stages[s].kind[i]][static_cast<size_t>(node.label)];
      }
      return;
    }
    const size_t f = static_cast<size_t>(node.feature);
    const int next = p.after(state, f);
    demand(next >= 0, "a path of the tree breaks a path rule");
    vector<std::uint32_t> sides[2];
    for (auto i : rows) sides[left(node, i) ? 0 : 1].push_back(i);
    demand(!sides[0].empty() && !sides[1].empty(), "a split of the tree parts nothing");
    std::uint32_t low = 0, high = ~0u;  // the ranks next to the threshold: some test lies between
    for (auto i : sides[0]) low = std::max(low, p.features[f].rank[i]);
    for (auto i : sides[1]) high = std::min(high, p.features[f].rank[i]);
    demand(low < high, "a split of the tree is none of the tests that may stand");
    visit(node.left, sides[0], level + 1, next);
    visit(node.right, sides[1], level + 1, next);
  }

  Held run() {
    held.stages.assign(p.stages.size(), 0);
    vector<std::uint32_t> rows(p.rows);
    std::iota(rows.begin(), rows.end(), 0u);
    visit(0, rows, 0, 0);
    demand(held.leaves <= p.leaves, "the tree has too many leaves");
    for (size_t s = 0; s < p.stages.size(); ++s) {
      demand(!p.stages[s].zero || held.stages[s] == 0,
             "the tree breaks a rule that must hold for all rows");
      held.value += p.stages[s].unit * held.stages[s];
    }
    return held;
  }
};

struct Bound {
  int depth;
  Int value;
};

string slurp(const char* path) {
  std::ifstream in(path, std::ios::binary);
  need(in.good(), (string("cannot read ") + path).c_str());
  return {std::istreambuf_iterator<char>(in), {}};
}

// One bound on the values of all trees, as the values of the stages at which it lies.
string told(const Problem& p, Int value) {
  if (p.limit >= 0 && value >= p.limit) return "no tree keeps the rules";
  string text;
  for (const Stage& s : p.stages) {
    if (s.zero) continue;
    text += (text.empty() ? "" : ", then ") + s.name + " " + std::to_string(value / s.unit);
    value %= s.unit;
  }
  return "no tree is better than " + text;
}

int run(const string& file, const string& data, double share, bool show) {
  constexpr char magic[] = "ODTCERT1\n";
  const size_t head = sizeof magic - 1;
  need(file.compare(0, head, magic) == 0, "not a certificate of odtdsl");
  const size_t line = file.find('\n', head);
  need(line != string::npos, "the certificate has no problem");
  const size_t size = static_cast<size_t>(integer(file.substr(head, line - head)));
  need(size <= file.size() - line - 1, "the certificate ends too early");
  const string text = file.substr(line + 1, size);
  if (show) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return 0;
  }
  const Problem p = load(text, data);
  std::printf("problem: %zu rows, %zu features, %zu classes, depth %d, at most %lld leaves\n",
              p.rows, p.features.size(), p.classes.size(), p.depth,
              static_cast<long long>(p.leaves));

  const Table none;
  Held tree;
  if (!p.tree.empty()) {
    tree = Evaluation{p, none, {}}.run();
    std::printf("tree: depth %d, %lld leaves", tree.depth, static_cast<long long>(tree.leaves));
    for (size_t s = 0; s < p.stages.size(); ++s)
      std::printf(", %s %lld", p.stages[s].name.c_str(), static_cast<long long>(tree.stages[s]));
    std::printf("\nvalues: %d", tree.depth);
    for (Int value : tree.stages) std::printf(" %lld", static_cast<long long>(value));
    std::printf("\n");
  }
  Checker check(p);
  check.share = share;
  check.at = reinterpret_cast<const unsigned char*>(file.data()) + line + 1 + size;
  check.end = reinterpret_cast<const unsigned char*>(file.data()) + file.size();
  const View all = whole(p);
  vector<Bound> bounds;
  try {
    demand(static_cast<Int>(p.rows) >= p.leaf_rows, "a leaf of all rows is too small");
    for (Int count = check.read(); count > 0; --count) {
      const Int depth = check.read(), value = check.read();
      demand(depth <= p.depth, "a bound for deeper trees than are asked for");
      check.claim(all, static_cast<int>(depth), p.leaves, 0, p.leaf_rows, value);
      bounds.push_back({static_cast<int>(depth), value + p.base});
    }
    demand(check.at == check.end, "bytes follow the certificate");
  } catch (const Refused& why) {
    std::printf("refused at step %lld: %s\n", static_cast<long long>(check.steps), why.what());
    return 1;
  }
  std::printf("steps: %lld, of them %lld checks of depth two%s\nrules:",
              static_cast<long long>(check.steps), static_cast<long long>(check.pairs),
              check.skipped ? (", " + std::to_string(check.skipped) + " left out").c_str() : "");
  for (const string& rule : check.rules) std::printf(" %s", rule.c_str());
  std::printf("\n");
  bool best = !p.tree.empty(), least = !p.least_depth || p.tree.empty() || tree.depth == 0,
       reached = false;
  const int asked = p.least_depth && !p.tree.empty() ? tree.depth : p.depth;
  for (const Bound& b : bounds) {
    std::printf("claim: of depth at most %d, %s\n", b.depth, told(p, b.value).c_str());
    if (b.depth >= asked &&
        (p.tree.empty() ? p.limit >= 0 && b.value >= p.limit : b.value >= tree.value))
      reached = true;
    if (b.depth >= asked && !p.tree.empty())
      demand(b.value <= tree.value,
             "a bound above the value of the tree: a mistake of this checker");
    if (b.depth + 1 >= tree.depth && p.limit >= 0 && b.value >= p.limit) least = true;
  }
  best = best && reached && least;
  const char* end = check.skipped ? "sampled" : "certified";
  if (best)
    std::printf("%s: the tree is optimal\n", end);
  else if (p.tree.empty() && reached)
    std::printf("%s: no tree keeps the rules\n", end);
  else
    std::printf("%s: the bounds above, not that the tree is optimal\n", end);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  vector<const char*> files;
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
        files.push_back(argv[i]);
    }
    if (files.size() != (show ? 1u : 2u)) {
      std::fprintf(stderr,
                   "usage: odtcheck FILE.cert DATA.csv [--sample 1%%]\n       odtcheck FILE.cert "
                   "--problem\n");
      return 2;
    }
    return run(slurp(files[0]), show ? "" : slurp(files[1]), share, show);
  } catch (const Refused& why) {
    std::printf("refused at step 0: %s\n", why.what());
    return 1;
  } catch (const std::exception& why) {
    std::fprintf(stderr, "odtcheck: %s\n", why.what());
    return 2;
  }
}
