// The problem of a certificate, as odtcheck keeps it.
#pragma once

#include "odtcheck_text.hpp"

namespace {

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
  vector<Index> kind;        // per row
  vector<Index> of_class;    // per kind that is told
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
  vector<Node> tree;                    // one after the other, where there are several
  vector<int> roots;                    // of the trees
  // That these are all the trees of at most so many levels, and of values no worse than these.
  bool all = false, idle = false;  // `idle`: with splits of two leaves of one class
  int levels = 0;
  vector<Int> upto;  // per stage that is no `zero`; later ones may be anything
  Int counted = -1;  // how many there are, where they are not told one by one
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

}  // namespace
