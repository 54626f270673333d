// What odtcheck says: the tree, values, claims, and how a check ended.
#pragma once

#include "odtcheck_rules.hpp"

namespace {

// ---- the tree in words

// A text of the problem on one line.
string plain(string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 32 || c == 127) c = '?';
  return text;
}

// Which cells go left at a test.
string left_at(const Feature& f, const string& threshold) {
  const string column = plain(f.column), kind = f.kind.substr(0, f.kind.find(' '));
  if (kind == "is") return column + " is " + plain(f.given[0]);
  if (kind == "in") {
    const bool empty = std::find(f.given.begin(), f.given.end(), "empty") != f.given.end();
    return column + " from " + f.given[0] + " to below " + f.given[1] + (empty ? ", or empty" : "");
  }
  const string end = f.kind == kind + " left" ? ", or empty" : "";
  if (kind != "order") return column + " <= " + plain(threshold) + end;
  string listed;
  double bars = number(threshold);
  for (const string& word : f.given) {
    if (word == "|" && bars < 1) break;
    if (word == "|")
      --bars;
    else
      listed += (listed.empty() ? "" : ", ") + plain(word);
  }
  return column + " is one of " + listed + end;
}

void print_tree(const Problem& p, const Node& node, const string& before, const string& answer) {
  std::printf("%s%s", before.c_str(), answer.c_str());
  const string indent = string(before.size(), ' ') + "  ";
  if (node.feature >= 0) {
    const Feature& f = p.features[static_cast<size_t>(node.feature)];
    std::printf("%s\n", left_at(f, node.threshold).c_str());
    print_tree(p, p.tree[static_cast<size_t>(node.left)], indent, "yes: ");
    print_tree(p, p.tree[static_cast<size_t>(node.right)], indent, "no: ");
  } else if (p.numbers.empty()) {
    std::printf("predicts %s\n", plain(p.classes[node.label]).c_str());
  } else if (node.outputs.empty()) {
    std::printf("predicts the mean of its rows\n");
  } else {
    std::printf("predicts");
    for (double output : node.outputs) std::printf(" %.10g", output);
    std::printf("\n");
  }
}

// ---- values in words

// The value of a stage; of numbers the mean square, as far as it is known.
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

// A bound on the values of all trees, as the values of the stages at which it lies; then these
// alone, in units, for programs.
string told(const Problem& p, Int value) {
  if (p.limit >= 0 && value >= p.limit) return "no tree keeps the rules\n";
  string text, units;
  for (const Stage& s : p.stages) {
    if (s.zero) continue;
    text += (text.empty() ? "no tree is better than " : ", then ") + s.name + " " +
            shown(p, value / s.unit);
    units += " " + std::to_string(value / s.unit);
    value %= s.unit;
  }
  return text + "\nbound:" + units + "\n";
}

// The tree that the certificate is about, with its values.
void tell(const Problem& p, const Held& tree) {
  using Long = long long;
  std::printf("tree: depth %d, %lld leaves", tree.depth, static_cast<Long>(tree.leaves));
  for (size_t s = 0; s < p.stages.size(); ++s)
    std::printf(", %s %s", p.stages[s].name.c_str(), shown(p, tree.stages[s]).c_str());
  std::printf("\nvalues: %d", tree.depth);
  for (Int value : tree.stages) std::printf(" %lld", static_cast<Long>(value));
  std::printf("\n");
  print_tree(p, p.tree[0], "  ", "");
}

// What is claimed of all trees: how many there are, by the first stage.
string told_all(const Problem& p, const std::map<Int, Int>& counts, Int total) {
  string text = "claim: ", no_worse, units;
  const Stage* first = nullptr;
  size_t at = 0;
  for (const Stage& s : p.stages) {
    if (s.zero) continue;
    if (!first) first = &s;
    if (at < p.upto.size()) {
      units += " " + std::to_string(p.upto[at]);
      no_worse += (at ? ", then " : " no worse than ") + s.name + " " + std::to_string(p.upto[at]);
    }
    ++at;
  }
  text += std::to_string(total) + (total == 1 ? " tree" : " trees") + " of depth at most " +
          std::to_string(p.depth) + (total == 1 ? " is" : " are") +
          (no_worse.empty() ? " admitted" : no_worse + "\nbound:" + units) + "\n";
  if (!p.idle) text += "claim: splits of two leaves of one class are left out\n";
  std::map<Int, Int> by_first;
  for (const auto& one : counts) by_first[first ? one.first / first->unit : 0] += one.second;
  for (const auto& one : by_first)
    text += "count: " + std::to_string(one.first) + " " + std::to_string(one.second) + "\n";
  return text;
}

// ---- the end of a check

// What a check did.
struct Done {
  std::set<string> rules;  // that were used
  Int steps = 0, pairs = 0, skipped = 0;
};

// How a check ended: what was done, what is claimed, and the verdict.
int ended(const Problem& p, const Done& check, const string& claims, const string& verdict) {
  using Long = long long;
  const bool roots = p.ruled || p.all;
  std::printf("steps: %lld, with %lld %s%s of %s", static_cast<Long>(check.steps),
              static_cast<Long>(check.pairs), roots ? "test" : "check",
              check.pairs == 1 ? "" : "s", roots ? "the root" : "depth two");
  if (check.skipped) std::printf(", %lld left out", static_cast<Long>(check.skipped));
  std::printf("\nrules:");
  for (const string& rule : check.rules) std::printf(" %s", rule.c_str());
  if (!p.numbers.empty()) std::printf("\nwithin: a billionth of the loss of one leaf");
  std::printf("\n%s%s: %s\n", claims.c_str(), check.skipped ? "sampled" : "certified",
              verdict.c_str());
  return 0;
}

}  // namespace
