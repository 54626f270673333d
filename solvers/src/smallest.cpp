#include "odt/smallest.hpp"

#include <algorithm>
#include <stdexcept>

namespace odt {

Smallest::Smallest(const BitProblem& problem, Control& control, std::size_t cache_limit)
    : problem_(problem), control_(control), limit_(cache_limit / 160) {
  chains_.resize(problem.problem.features);
  for (std::size_t t = 0; t < problem.tests.size(); ++t)
    chains_[static_cast<std::size_t>(problem.tests[t].feature)].tests.push_back(
        static_cast<int>(t));
  classes_.assign(static_cast<std::size_t>(problem.problem.classes),
                  Members(problem.member_words, 0));
  for (std::size_t i = 0; i < problem.order.size(); ++i)
    classes_[static_cast<std::size_t>(problem.problem.label[problem.order[i]])][i / 64] |=
        1ULL << (i % 64);
}

int Smallest::class_count(const Members& rows) const {
  int count = 0;
  for (const Members& c : classes_)
    for (std::size_t w = 0; w < rows.size(); ++w)
      if (rows[w] & c[w]) {
        ++count;
        break;
      }
  return count;
}

void Smallest::part(const Members& rows, int test, bool pass, Members& out) const {
  const Members& passes = problem_.passes[static_cast<std::size_t>(test)];
  out.resize(rows.size());
  for (std::size_t w = 0; w < rows.size(); ++w) out[w] = rows[w] & (pass ? passes[w] : ~passes[w]);
}

// The cuts first .. last of a chain send rows both ways.
void Smallest::cuts_of(const Members& rows, const Chain& chain, int& first, int& last) const {
  const auto any = [&](int cut, bool pass) {
    const Members& passes =
        problem_.passes[static_cast<std::size_t>(chain.tests[static_cast<std::size_t>(cut)])];
    for (std::size_t w = 0; w < rows.size(); ++w)
      if (rows[w] & (pass ? passes[w] : ~passes[w])) return true;
    return false;
  };
  const int n = static_cast<int>(chain.tests.size());
  int low = 0, high = n;  // first cut that some row passes
  while (low < high) {
    const int mid = (low + high) / 2;
    if (any(mid, true))
      high = mid;
    else
      low = mid + 1;
  }
  first = low;
  low = -1;
  high = n - 1;  // last cut that some row fails
  while (low < high) {
    const int mid = (low + high + 1) / 2;
    if (any(mid, false))
      low = mid;
    else
      high = mid - 1;
  }
  last = low;
}

Smallest::Known& Smallest::known(const Members& rows, int depth) {
  const SubProblem key{hash_of(rows), depth, 0, 0};
  const RowPath own{count_of(rows), path_};
  const auto same = [&](const RowPath& path) { return problem_.same_rows(path, rows, own); };
  if (Known* at = cache_.find(key, same)) return *at;
  // A full cache is emptied: everything in it can be found again.
  if (cache_.size() >= limit_) cache_.clear();
  return cache_.add(key, own);
}

// Whether some test has all rows of one class on one side, and those of the other one on the other.
// Most tests fail in a word or two, so that this takes less time than to remember it.
bool Smallest::parted_at_once(const Members& rows) const {
  const Members* of[2] = {nullptr, nullptr};
  for (const Members& c : classes_)
    for (std::size_t w = 0; w < rows.size(); ++w)
      if (rows[w] & c[w]) {
        of[of[0] != nullptr] = &c;
        break;
      }
  const auto parts = [&](const Members& passes, const Members& passing) {
    for (std::size_t w = 0; w < rows.size(); ++w)
      if (rows[w] & (passes[w] ^ passing[w])) return false;
    return true;
  };
  return std::any_of(problem_.passes.begin(), problem_.passes.end(), [&](const Members& passes) {
    return parts(passes, *of[0]) || parts(passes, *of[1]);
  });
}

bool Smallest::feasible(const Members& rows, int depth) {
  const int classes = class_count(rows);
  if (classes <= 1) return true;
  if (depth == 0 || (depth < 20 && classes > 1 << depth)) {
    ++counters_.pruned_lower;
    return false;
  }
  if (depth == 1) {
    ++counters_.nodes;
    control_.poll(problem_.tests.size() + 1);
    return parted_at_once(rows);
  }
  {
    const Known& k = known(rows, depth);
    if (k.feasible >= 0) {
      ++counters_.cache_hits;
      return k.feasible;
    }
  }
  ++counters_.nodes;
  control_.poll(rows.size() * problem_.tests.size() / 8 + 1);
  Members side;
  int found = -1;
  for (const Chain& chain : chains_) {
    if (found >= 0) break;
    if (chain.tests.empty()) continue;
    int first, last;
    cuts_of(rows, chain, first, last);
    while (first <= last) {
      const int mid = (first + last) / 2, test = chain.tests[static_cast<std::size_t>(mid)];
      part(rows, test, true, side);
      const auto ask = [&] { return feasible(side, depth - 1); };
      if (!behind(test, true, ask)) {
        last = mid - 1;
        continue;
      }
      part(rows, test, false, side);
      if (behind(test, false, ask)) {
        found = test;
        break;
      }
      first = mid + 1;
    }
  }
  Known& k = known(rows, depth);
  k.feasible = found >= 0;
  if (k.test < 0) k.test = found;
  if (found < 0) {
    k.least = kNone;
    k.exact = true;
  }
  return found >= 0;
}

// The least number of leaves if it is below `upper`; else a lower bound that is at least `upper`.
std::int32_t Smallest::least(const Members& rows, int depth, std::int32_t upper) {
  const int classes = class_count(rows);
  if (classes <= 1) return 1;
  if (classes >= upper) {
    ++counters_.pruned_lower;
    return classes;
  }
  if (!feasible(rows, depth)) return kNone;
  if (depth == 1) return 2;  // two classes
  std::int32_t lower = classes;
  {
    const Known& k = known(rows, depth);
    if (k.exact || k.least >= upper) {
      ++counters_.cache_hits;
      return k.least;
    }
    lower = std::max(lower, k.least);
  }
  ++counters_.cuts;
  control_.poll(rows.size() * problem_.tests.size() / 8 + 1);
  std::int32_t best = upper;
  int best_test = -1;
  Members left, right;
  std::vector<Span> spans;
  for (const Chain& chain : chains_) {
    if (best <= lower) break;
    if (chain.tests.empty()) continue;
    int first, last;
    cuts_of(rows, chain, first, last);
    spans.assign(1, {first - 1, last + 1, 1, 1});
    while (!spans.empty() && best > lower) {
      const Span s = spans.back();
      spans.pop_back();
      if (s.high - s.low < 2) continue;
      if (s.left + s.right >= best) {
        ++counters_.pruned_interval;
        continue;
      }
      const int mid = (s.low + s.high) / 2, test = chain.tests[static_cast<std::size_t>(mid)];
      part(rows, test, true, left);
      part(rows, test, false, right);
      const std::int32_t l = std::max(
          s.left, behind(test, true, [&] { return least(left, depth - 1, best - s.right); }));
      std::int32_t r = s.right;
      if (l + r < best)
        r = std::max(r, behind(test, false, [&] { return least(right, depth - 1, best - l); }));
      if (l + r < best) {
        best = l + r;
        best_test = test;
      }
      spans.push_back({s.low, mid, s.left, r});
      spans.push_back({mid, s.high, l, s.right});
    }
  }
  Known& k = known(rows, depth);
  k.feasible = 1;
  if (best_test >= 0) {
    k.exact = true;
    k.test = best_test;
    k.least = best;
  } else {
    k.least = std::max(k.least, best);
  }
  return best;
}

Plan Smallest::rebuild(const Members& rows, int depth, bool smallest) {
  if (class_count(rows) <= 1) return Plan::leaf();
  if (depth == 1) return Plan::stump();
  if (smallest)
    least(rows, depth, kNone);
  else
    feasible(rows, depth);
  int test = known(rows, depth).test;
  if (test < 0) throw std::logic_error("a solved set of rows has no split");
  const Test& t = problem_.tests[static_cast<std::size_t>(test)];
  Members left, right;
  part(rows, test, true, left);
  part(rows, test, false, right);
  const auto side = [&](bool pass) {
    return behind(test, pass, [&] { return rebuild(pass ? left : right, depth - 1, smallest); });
  };
  const Plan pass = side(true);
  return Plan::split(t.feature, t.bound, pass, side(false));
}

RootAnswer Smallest::run(Result& result) {
  Members all(problem_.member_words);
  for (std::size_t w = 0; w < all.size(); ++w) all[w] = valid_bits(problem_.problem.rows, w);
  const bool hopeless = problem_.hopeless(all) > 0;
  try {
    int depth = 0;
    const int deepest = problem_.problem.depth;
    while (!hopeless && depth <= deepest && !feasible(all, depth)) ++depth;
    if (hopeless || depth > deepest) {
      answer_.complete = true;
    } else {
      answer_.plan = rebuild(all, depth, false);
      Loss leaves = 0;
      for (const PlanNode& node : answer_.plan.nodes)
        leaves += node.feature >= 0 ? 0 : node.stump ? 2 : 1;
      answer_.value = leaves;
      answer_.bound = class_count(all);
      control_.incumbent(result.timeline, answer_.value, answer_.bound, {&answer_.plan});
      const std::int32_t found = least(all, depth, static_cast<std::int32_t>(leaves));
      if (found < leaves) {
        answer_.value = found;
        answer_.plan = rebuild(all, depth, true);
        control_.incumbent(result.timeline, answer_.value, answer_.value, {&answer_.plan});
      }
      answer_.bound = answer_.value;
      answer_.complete = true;
    }
  } catch (const Stop&) {
  }
  counters_.cache_entries = cache_.size();
  result.counters.add(counters_);
  return answer_;
}

}  // namespace odt
