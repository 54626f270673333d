// odtcheck: checks a certificate that no decision tree is better than the one it holds.
//     c++ -O2 -std=c++17 odtcheck.cpp -o odtcheck     # the files odtcheck_*.hpp lie beside it
//     ./odtcheck FILE.cert DATA.csv [--sample 1%]
//     ./odtcheck FILE.cert --problem > PROBLEM       # to read, and keep, what is claimed
//     ./odtcheck PROBLEM DATA.csv FILE.cert          # of the problem of that file, and no other
// It reads the data and the problem itself, ranks the values, lists the cuts that may stand,
// evaluates the tree, and follows the certificate step by step. It does not search, and shares
// nothing with the solver. docs/explanation/certificates.md proves the rules that it applies, by
// the names in capitals below; docs/reference/proof.md has the format. Here is the judgement:
// STAIR, POINTS, LEAF, TWO, SPLIT, INTERVAL, and what is claimed in the end. The files beside it
// read the problem, sort rows, try pairs of tests fast, follow rules on whole trees, and say what
// was found.
// Exit code: 0 certified (or sampled), 1 refused, 2 the files could not be read.
#include "odtcheck_all.hpp"
#include "odtcheck_two.hpp"
#include "odtcheck_words.hpp"

namespace {

struct Checker : Done {
  const Problem& p;
  double share;  // of the depth-two checks that are made
  const unsigned char *at, *end;
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
      for (size_t f = 0; f < p.features.size(); ++f)
        if (v.rank(f, a) != v.rank(f, b)) return v.rank(f, a) < v.rank(f, b);
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

  // At most three levels on some rows where every feature has two ranks: a leaf, a split, TWO and
  // THREE, that with as many leaves as there can be.
  void few(const Bits& bits, const vector<std::uint64_t>& rows, int depth, Int most_leaves,
           Int target) {
    Few of(p, bits, rows);
    demand(of.alone >= target, "a leaf loses less than is claimed");
    const vector<Int> leaf[2] = {of.side[0], of.side[1]};
    for (size_t t = 0; depth > 0 && t < of.tests; ++t)
      demand(leaf[0][t] + leaf[1][t] >= target, "a single split loses less than is claimed");
    if (depth < 2 || (depth == 3 && !of.tests) || !sampled(depth == 2 ? "TWO" : "THREE")) return;
    if (depth == 3) pairs += 2 * static_cast<Int>(of.tests) - 1;  // so many checks of depth two
    depth == 2 ? of.two() : of.three();
    for (size_t t = 0; t < of.tests; ++t) {
      const Int a = of.side[0][t], b = of.side[1][t];
      demand((most_leaves == 3 ? std::min(a + leaf[1][t], leaf[0][t] + b) : a + b) >= target,
             depth == 2 ? "a tree of depth two loses less than is claimed"
                        : "a tree of depth three loses less than is claimed");
    }
  }

  // At most two levels: a leaf, a split, and TWO.
  void low(const View& v, int depth, Int most_leaves, int state, Int least, Int target) {
    const Int alone = leaves(v, 0, false, p.loss, p.price).back();
    demand(alone >= target, "a leaf loses less than is claimed");
    if (depth == 0) return;
    const auto tables = by_feature(v, state);
    const vector<vector<Int>>* leaf = tables.data();
    demand(stump(v, leaf, least) >= target, "a single split loses less than is claimed");
    if (depth == 1) return;
    if (!sampled("TWO")) return;
    demand(two(v, leaf, most_leaves, state, least, alone, target) >= target,
           "a tree of depth two loses less than is claimed");
  }

  // For ALL: the least loss of all trees of at most two levels, with leaves of any size, or
  // `limit` where none loses less.
  Int least_of_two(const View& v, int state, Int limit) const {
    const Int alone = leaves(v, 0, false, p.loss, p.price).back();
    const auto leaf = by_feature(v, state);
    limit = std::min({limit, alone, stump(v, leaf.data(), 1)});
    return two(v, leaf.data(), 4, state, 1, alone, limit);
  }

  // What a leaf on the left, and one on the right, loses at each test that may stand.
  std::array<vector<vector<Int>>, 2> by_feature(const View& v, int state) const {
    std::array<vector<vector<Int>>, 2> leaf;
    for (size_t f = 0; f < p.features.size(); ++f)
      for (size_t side = 0; side < 2; ++side)
        leaf[side].push_back(p.after(state, f) < 0 ? vector<Int>()
                                                   : leaves(v, f, side, p.loss, p.price));
    return leaf;
  }

  // TWO: the least loss of a tree of depth two, of at most `most_leaves` leaves, or `target` where
  // none loses less. Tests are tried 32 at a time; those that the stairs close need not be. WHOLE:
  // what a leaf, `alone`, or a split of all rows loses bounds what one side loses.
  Int two(const View& v, const vector<vector<Int>>* leaf, Int most_leaves, int state, Int least,
          Int alone, Int target) const {
    const bool sized = least > 1;
    const Int flat = std::min(alone, stump(v, leaf, 1));
    Int sum = 0;
    for (Index k : v.kind) sum += std::max<Int>(p.most[k], 1);
    const auto gains_of = sum < 32767        ? gains<std::int16_t>
                          : sum < 2147483647 ? gains<std::int32_t>
                                             : gains<Int>;
    // Sums of losses are concave along rows of one kind: the ends of such a run are enough.
    vector<vector<char>> look = v.cut;
    for (size_t g = 0; !sized && g < look.size(); ++g)
      for (size_t t = 1, run = 0, last = 0, before = 0; t <= v.rows(); ++t) {
        if (t == v.rows() || v.cut[g][t]) {
          look[g][last] = run > before;  // where the rows of its kind begin
          before = last;
          last = t;
        }
        if (t < v.rows() && v.kinds[g][t] != v.kinds[g][t - 1]) run = t;
      }
    std::map<int, vector<size_t>> groups;  // features by the state behind them
    for (size_t f = 0; f < p.features.size(); ++f)
      if (p.after(state, f) >= 0) groups[p.after(state, f)].push_back(f);
    for (const auto& [next, features] : groups) {
      vector<Stairs> stairs;
      vector<vector<size_t>> todo(features.size());  // tests that are not closed yet
      const auto bound = [&](size_t i, size_t t) {
        const Int a = stairs[i].best(0, t), b = stairs[i].best(1, t);
        if (most_leaves > 3) return a + b;
        return std::min(a + leaf[1][features[i]][t], leaf[0][features[i]][t] + b);
      };
      for (size_t i = 0; i < features.size(); ++i) {
        stairs.emplace_back(upto(v, features[i], p.most), p.price, least);
        stairs[i].add(false, 0, v.rows(), flat);
        stairs[i].add(false, 1, 0, flat);
        for (size_t t = 1; t < v.rows(); ++t)
          if (open(v, features[i], t, least)) todo[i].push_back(t);
      }
      for (;;) {
        size_t some = 0;  // features with tests that are not closed
        for (size_t i = 0; i < features.size(); ++i) {
          const auto closed = [&](size_t t) { return bound(i, t) >= target; };
          vector<size_t>& left = todo[i];
          left.erase(std::remove_if(left.begin(), left.end(), closed), left.end());
          some += !left.empty();
        }
        vector<Test> tests;
        vector<size_t> of;
        for (size_t i = 0; i < features.size(); ++i) {
          const size_t n = todo[i].size(), free = kLanes - tests.size();
          if (n == 0 || free == 0) continue;
          const size_t share = std::min(n, std::max<size_t>(1, free / some--));
          for (size_t j = 0; j < share; ++j) {
            tests.push_back({features[i], todo[i][(2 * j + 1) * n / (2 * share)]});
            of.push_back(i);
          }
        }
        if (tests.empty()) break;
        const Gains found = gains_of(p, v, tests, next, least, look);
        for (size_t l = 0; l < tests.size(); ++l)
          for (int size = 0; size <= sized; ++size)
            for (int side = 0; side < 2; ++side) {
              Stairs& s = stairs[of[l]];
              const size_t t = tests[l].t;
              const Int most = side ? s.most.back() - s.most[t] : s.most[t];
              s.add(size, side, t,
                    std::min(leaf[side][tests[l].f][t],
                             most + 2 * p.price - found.of[size][side][l]));
            }
        // Bounds at tests that were tried are what they lose.
        for (size_t l = 0; l < tests.size(); ++l)
          target = std::min(target, bound(of[l], tests[l].t));
      }
    }
    return target;
  }

  vector<Int> read_multipliers(Int& scale) {
    const Int far = Int{1} << 40;
    scale = read();
    vector<Int> multipliers;
    for (size_t i = 0; i < p.rules.size(); ++i)
      if (p.rules[i].scope == "tree") multipliers.push_back(read());
    for (Int m : multipliers) demand(m < far, "a multiplier is too large");
    demand(scale < far, "a scale is too large");
    return multipliers;
  }

  // ALL: every tree that keeps the rules and is of at most this value, and the tree itself where
  // `named`. By values, how many there are.
  std::map<Int, Int> all_trees(const View& v, Int value, bool named, std::set<Told>& found) {
    rules.insert("ALL");
    All all(p, named, [this] { return sampled("ALL"); });
    Int scale = 0, budget = 0;
    const vector<Int> multipliers = read_multipliers(scale);
    std::map<Int, Int> counts;
    if (!p.ruled && scale == 1)  // weights are losses
      all.of_two = [this](const View& rows, int state, Int limit) {
        return least_of_two(rows, state, limit);
      };
    if (value < p.base || !all.begin(v, value - p.base + 1, scale, multipliers, budget))
      return counts;
    for (auto& one : all.trees(v, p.depth, 0, budget, all.most_leaves())) {
      const Sort& sort = one.first;
      if (sort.point.loss + p.base > value || !keeps_rules(p, sort.point.sums, sort.point.facts))
        continue;
      counts[sort.point.loss + p.base] += one.second.count;
      found.insert(one.second.told.begin(), one.second.told.end());
    }
    steps += all.nodes;
    return counts;
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
    Int scale = 0;
    const vector<Int> multipliers = read_multipliers(scale);
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
      demand(how <= 2, "a step of an unknown kind");
      if (how == 0) {
        rules.insert("POINTS");
        return demand(points(v) >= target, "rows that no test parts lose less than is claimed");
      }
      if (how == 2) {
        demand(p.by_bits && depth == 3 && most_leaves == 8, "a step of other levels or tests");
        v.find_bits(p.most.size() - 1);
        return few(v.bits, v.places(0, 0, v.rows()), depth, most_leaves, target);
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
    for (Int l = std::max<Int>(1, most_leaves - half); l <= std::min(half, most_leaves - 1); ++l) {
      std::map<size_t, Stairs> stairs;
      vector<Near> near;
      for (size_t f = 0; f < p.features.size(); ++f) {
        const int next = p.after(state, f);
        if (next < 0) rules.insert("PATH");
        if (next < 0 || std::count(v.cut[f].begin(), v.cut[f].end(), 1) == 0) continue;
        Stairs& s = stairs.emplace(f, Stairs(upto(v, f, p.most), p.price, least)).first->second;
        s.add(sized, 0, v.rows(), flat);
        s.add(sized, 1, 0, flat);
        Int cut = -1;
        for (Int count = read(); count > 0; --count) {
          cut += read() + 1;
          lemma(v, f, cut, depth - 1, l, most_leaves - l, next, least, s, near);
        }
      }
      for (auto& [f, s] : stairs) {
        if (p.by_bits) carry(v, f, near, 2 * l == most_leaves, s);
        vector<char> left(v.rows(), 0);  // tests that are not closed
        for (size_t t = 1; t < v.rows(); ++t) left[t] = open(v, f, t, least) && s.sum(t) < target;
        if (std::count(left.begin(), left.end(), 1) == 0) continue;
        rules.insert("CLASSES");
        s.lose(p, v.kinds[f], 0, l, left);
        s.lose(p, v.kinds[f], 1, most_leaves - l, left);
        for (size_t t = 1; t < v.rows(); ++t)
          demand(!left[t] || s.sum(t) >= target, "a test is left open");
      }
      if (!stairs.empty()) rules.insert("STAIR");
    }
  }

  // NEAR: where every feature has two ranks, a bound on one side of a test also holds for a side of
  // any other one with as many leaves, less what the rows lose that are on the first side only.
  void carry(const View& v, size_t f, const vector<Near>& near, bool alike, Stairs& s) {
    const size_t words = v.bits.words, t = v.upto(f, 0);
    for (const Near& one : near)
      for (int side = 0; side < 2; ++side) {
        if (one.side != side && !alike) continue;
        Int lost = 0;
        for (size_t k = 0; k + 1 < p.most.size(); ++k) {
          Int many = 0;
          for (size_t w = 0; w < words; ++w) {
            const std::uint64_t left = v.bits.left[f * words + w];
            many += __builtin_popcountll(one.rows[w] & v.bits.kind[k * words + w] &
                                         (side ? left : ~left));
          }
          lost += many * p.most[k];
        }
        if (s.best(side, t) < one.value - lost) rules.insert("NEAR");
        s.add(false, side, t, one.value - lost);
      }
  }

  // The bounds at one test. Bits of the mask: 0 left and 1 right for trees with leaves of any size
  // (without a least size: all trees); 2, 3 the same with leaves of the least size; 4, 5 with sizes
  // counted on the rows up to a wider cut (INTERVAL).
  void lemma(const View& v, size_t f, Int cut, int depth, Int left, Int right, int state, Int least,
             Stairs& s, vector<Near>& near) {
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
        const bool sweep = levels == 3 && most_leaves == 8 && at < end && *at == 2;
        if (p.by_bits && (levels <= 2 || sweep)) {
          rules.insert("LEAF");
          at += sweep;
          few(v.bits, v.places(f, from, to), levels, most_leaves, value);
        } else {
          View rows = part(v, f, from, to, side ? t : 0, side ? v.rows() : t, idle);
          show(rows, levels, most_leaves, state, bit < 2 ? 1 : least, value);
        }
      }
      if (p.by_bits) near.push_back({side, value, v.places(f, side ? t : 0, side ? v.rows() : t)});
      for (size_t u = std::min(t, other); u <= std::max(t, other); ++u)
        s.add(bit >= 2, side, u, value);
    }
  }
};

// ALL: that some trees, or so many, are all that are no worse than claimed.
int run_all(const Problem& p, Checker& check) {
  const View all = whole(p);
  const Int worst = worst_value(p);
  std::map<Int, Int> counts;
  Int total = 0;
  try {
    const std::set<Told> named = listed(p, all, worst);
    std::set<Told> found;
    counts = check.all_trees(all, worst, p.counted < 0, found);
    for (const auto& one : counts) total += one.second;
    for (const Told& one : found) demand(named.count(one), "a tree is missing from the list");
    if (!check.skipped) {
      demand(p.counted >= 0 || found.size() == named.size(), "a listed tree is none of them");
      demand(p.counted < 0 || total == p.counted, "there are more trees than counted, or fewer");
    }
    demand(check.at == check.end, "bytes follow the certificate");
  } catch (const Refused& why) {
    std::printf("refused at step %lld: %s\n", static_cast<long long>(check.steps), why.what());
    return 1;
  }
  if (check.skipped)
    return ended(p, check, "", "of the tests that were tried, all trees are listed");
  return ended(p, check, told_all(p, counts, total),
               p.counted < 0 ? "these are all the trees" : "so many trees are all there are");
}

int run(const string& file, const string& text, const char* steps, const string& data,
        double share) {
  using Long = long long;
  Problem p = load(text, data);
  if (p.all) {
    need(p.numbers.empty(), "trees of numbers are not listed");
    need(p.levels == p.depth || (p.least_depth && p.levels < p.depth), "of trees of another depth");
    p.depth = p.levels;
    p.leaves = std::min(p.leaves, Int{1} << p.depth);
  }
  std::printf("problem: %zu rows, %zu features, %zu classes, depth %d, at most %lld leaves\n",
              p.rows, p.features.size(), p.classes.size(), p.depth, static_cast<Long>(p.leaves));
  Checker check{{},
                p,
                share,
                reinterpret_cast<const unsigned char*>(steps),
                reinterpret_cast<const unsigned char*>(file.data()) + file.size()};
  if (p.all) return run_all(p, check);
  const Held tree(p);
  const bool held = !p.tree.empty();
  if (held) tell(p, tree);
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
      claims += "claim: of depth at most " + std::to_string(depth) + ", " + told(p, value);
    }
    demand(check.at == check.end, "bytes follow the certificate");
  } catch (const Refused& why) {
    std::printf("refused at step %lld: %s\n", static_cast<Long>(check.steps), why.what());
    return 1;
  }
  return ended(p, check, claims,
               !reached || !least ? "the bounds above, not that the tree is optimal"
               : held             ? "the tree is optimal"
                                  : "no tree keeps the rules");
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
    if (show) {
      std::fwrite(text.data(), 1, text.size(), stdout);
      return 0;
    }
    // The digest that the certificate names is not compared: `odt audit` does that.
    std::printf("data: %s; what follows is about the rows of this file\n", files[1].c_str());
    return run(file, text, file.data() + line + 1 + size, slurp(files[1]), share);
  } catch (const Refused& why) {
    std::printf("refused at step 0: %s\n", why.what());
    return 1;
  } catch (const std::exception& why) {
    std::fprintf(stderr, "odtcheck: %s\n", why.what());
    return 2;
  }
}
