#include "odt/smallest.hpp"

#include <algorithm>
#include <stdexcept>

namespace odt {

SmallestTable::Known* SmallestTable::known(Shelf& shelf, const Asked& asked) {
  return shelf.cache.find(asked.key, [&](const RowPath& path) {
    return problem_.same_rows(path, *asked.rows, asked.path);
  });
}

SmallestTable::Facts SmallestTable::look(const Asked& asked) {
  Shelf& at = shelf(asked);
  std::lock_guard<std::mutex> lock(at.mutex);
  const Known* const one = known(at, asked);
  return one ? one->facts : Facts{};
}

template <class Change>
void SmallestTable::change(const Asked& asked, const Change& change) {
  Shelf& at = shelf(asked);
  std::lock_guard<std::mutex> lock(at.mutex);
  Known* one = known(at, asked);
  if (!one) {
    // A full shelf is emptied: everything in it can be found again.
    if (at.cache.size() >= most_) at.cache.clear();
    one = &at.cache.add(asked.key, asked.path);
  }
  change(one->facts);
}

void SmallestTable::enter(const Asked& asked) {
  change(asked, [](Facts& facts) { ++facts.busy; });
}

void SmallestTable::leave(const Asked& asked) {
  change(asked, [](Facts& facts) { facts.busy = std::max(0, facts.busy - 1); });
}

void SmallestTable::set_feasible(const Asked& asked, bool feasible) {
  change(asked, [&](Facts& facts) {
    facts.feasible = feasible ? 1 : 0;
    if (!feasible) facts.least = kNone;
    if (facts.busy > 1) news_.fetch_add(1, std::memory_order_relaxed);
  });
}

void SmallestTable::set_leaves(const Asked& asked, std::int32_t least, std::int32_t most) {
  change(asked, [&](Facts& facts) {
    facts.feasible = 1;
    facts.least = std::max(facts.least, least);
    facts.most = std::min(facts.most, most);
    if (facts.busy > 1) news_.fetch_add(1, std::memory_order_relaxed);
  });
}

std::size_t SmallestTable::size() const {
  std::size_t size = 0;
  for (const Shelf& shelf : shelves_) size += shelf.cache.size();
  return size;
}

// A search as long as it lasts.
class Smallest::Inside {
 public:
  Inside(Smallest& search, const Asked& asked, std::int32_t upper)
      : search_(search), asked_(asked) {
    if (search_.many_) search_.table_.enter(asked);
    search_.frames_.push_back({&asked, upper});
  }
  ~Inside() {
    search_.frames_.pop_back();
    if (search_.many_) search_.table_.leave(asked_);
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  Smallest& search_;
  const Asked& asked_;
};

Smallest::Smallest(const BitProblem& problem, Control& control, SmallestTable& table)
    : problem_(problem), control_(control), table_(table), many_(control.options().threads > 1) {
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

std::int32_t Smallest::feasible(const Members& rows, int depth, bool stay) {
  const int classes = class_count(rows);
  if (classes <= 1) return 1;
  if (depth == 0 || (depth < 20 && classes > 1 << depth)) {
    ++counters_.pruned_lower;
    return 0;
  }
  if (depth == 1) {
    ++counters_.nodes;
    control_.poll(problem_.tests.size() + 1);
    return parted_at_once(rows);
  }
  const Asked asked = ask(rows, depth);
  const Facts known = table_.look(asked);
  if (known.feasible >= 0) {
    ++counters_.cache_hits;
    return known.feasible;
  }
  if (known.busy > 0 && !stay) return kAway;
  ++counters_.nodes;
  look_around();
  control_.poll(rows.size() * problem_.tests.size() / 8 + 1);
  const std::size_t frame = frames_.size();
  const Inside inside(*this, asked, 0);
  try {
    const std::int32_t found = search_feasible(rows, depth);
    table_.set_feasible(asked, found > 0);
    return found;
  } catch (const Settled& settled) {
    if (settled.frame != frame) throw;
    return settled.facts.feasible;
  }
}

std::int32_t Smallest::search_feasible(const Members& rows, int depth) {
  std::vector<Range> away;
  int test;
  for (const Chain& chain : chains_) {
    if (chain.tests.empty()) continue;
    Range range{&chain, 0, 0};
    cuts_of(rows, chain, range.first, range.last);
    const Step step = walk(rows, depth, range, false, test);
    if (step == Step::found) return 1;
    if (step == Step::away) away.push_back(range);
  }
  for (Range& range : away)
    if (walk(rows, depth, range, true, test) == Step::found) return 1;
  return 0;
}

// Looks for a cut of a chain with trees on both sides.
Smallest::Step Smallest::walk(const Members& rows, int depth, Range& range, bool stay, int& test) {
  Members side;
  const auto ask = [&](bool pass) {
    part(rows, test, pass, side);
    return behind(test, pass, [&] { return feasible(side, depth - 1, stay); });
  };
  while (range.first <= range.last) {
    const int mid = (range.first + range.last) / 2;
    test = range.chain->tests[static_cast<std::size_t>(mid)];
    const std::int32_t left = ask(true);
    if (left == kAway) return Step::away;
    if (left == 0) {
      range.last = mid - 1;
      continue;
    }
    const std::int32_t right = ask(false);
    if (right == kAway) return Step::away;
    if (right > 0) return Step::found;
    range.first = mid + 1;
  }
  return Step::end;
}

// The least number of leaves if it is below `upper`; else a lower bound that is at least `upper`.
std::int32_t Smallest::least(const Members& rows, int depth, std::int32_t upper, bool stay) {
  const int classes = class_count(rows);
  if (classes <= 1) return 1;
  if (classes >= upper) {
    ++counters_.pruned_lower;
    return classes;
  }
  const std::int32_t any = feasible(rows, depth, stay);
  if (any <= 0) return any == 0 ? kNone : kAway;
  if (depth == 1) return 2;  // two classes
  const Asked asked = ask(rows, depth);
  const Facts known = table_.look(asked);
  if (known.exact() || known.least >= upper) {
    ++counters_.cache_hits;
    return known.least;
  }
  if (known.busy > 0 && !stay) return kAway;
  ++counters_.cuts;
  look_around();
  control_.poll(rows.size() * problem_.tests.size() / 8 + 1);
  const std::size_t frame = frames_.size();
  const Inside inside(*this, asked, upper);
  try {
    Aim aim{&asked, std::min(upper, known.most), std::max(classes, known.least), -1, table_.news()};
    return search_least(rows, depth, upper, aim);
  } catch (const Settled& settled) {
    if (settled.frame != frame) throw;
    return settled.facts.least;
  }
}

std::int32_t Smallest::search_least(const Members& rows, int depth, std::int32_t upper, Aim& aim) {
  std::vector<Spans> away;
  const auto ends = [&](Spans& spans, bool stay) {
    for (;;) {
      const Step step = walk(rows, depth, spans, stay, aim);
      if (step != Step::found) return step == Step::end;
      table_.set_leaves(*aim.asked, 1, aim.best);
    }
  };
  Spans spans;
  for (const Chain& chain : chains_) {
    if (aim.best <= aim.lower) break;
    if (chain.tests.empty()) continue;
    int first, last;
    cuts_of(rows, chain, first, last);
    spans.chain = &chain;
    spans.open.assign(1, {first - 1, last + 1, 1, 1});
    if (!ends(spans, false)) away.push_back(spans);
  }
  for (Spans& one : away) ends(one, true);
  table_.set_leaves(*aim.asked, aim.best, aim.best < upper ? aim.best : kNone);
  return aim.best;
}

// Looks for a cut of a chain whose sides have less than `best` leaves together, and lowers that.
Smallest::Step Smallest::walk(const Members& rows, int depth, Spans& spans, bool stay, Aim& aim) {
  Members left, right;
  while (!spans.open.empty() && aim.best > aim.lower) {
    if (aim.asked && aim.seen != table_.news()) {
      aim.seen = table_.news();
      const Facts known = table_.look(*aim.asked);
      aim.best = std::min(aim.best, known.most);
    }
    const Span s = spans.open.back();
    spans.open.pop_back();
    if (s.high - s.low < 2) continue;
    if (s.left + s.right >= aim.best) {
      ++counters_.pruned_interval;
      continue;
    }
    const int mid = (s.low + s.high) / 2, test = spans.chain->tests[static_cast<std::size_t>(mid)];
    part(rows, test, true, left);
    part(rows, test, false, right);
    const auto wait = [&] {
      spans.open.push_back(s);
      return Step::away;
    };
    std::int32_t l =
        behind(test, true, [&] { return least(left, depth - 1, aim.best - s.right, stay); });
    if (l == kAway) return wait();
    l = std::max(l, s.left);
    std::int32_t r = s.right;
    if (l + r < aim.best) {
      r = behind(test, false, [&] { return least(right, depth - 1, aim.best - l, stay); });
      if (r == kAway) return wait();
      r = std::max(r, s.right);
    }
    spans.open.push_back({s.low, mid, s.left, r});
    spans.open.push_back({mid, s.high, l, s.right});
    if (l + r < aim.best) {
      aim.best = l + r;
      aim.test = test;
      return Step::found;
    }
  }
  return Step::end;
}

// The first test in order that begins a tree of so many leaves, which is the least number; of any
// number: kNone.
int Smallest::first_test(const Members& rows, int depth, std::int32_t leaves) {
  Aim aim{nullptr, leaves + 1, leaves, -1, 0};
  for (const Chain& chain : chains_) {
    if (chain.tests.empty()) continue;
    int first, last;
    cuts_of(rows, chain, first, last);
    if (leaves < kNone) {
      Spans spans{&chain, {{first - 1, last + 1, 1, 1}}};
      if (walk(rows, depth, spans, true, aim) == Step::found) return aim.test;
    } else {
      Range range{&chain, first, last};
      int test;
      if (walk(rows, depth, range, true, test) == Step::found) return test;
    }
  }
  throw std::logic_error("a solved set of rows has no split");
}

Plan Smallest::rebuild(const Members& rows, int depth, bool smallest) {
  if (class_count(rows) <= 1) return Plan::leaf();
  if (depth == 1) return Plan::stump();
  const int test = first_test(rows, depth, smallest ? least(rows, depth, kNone, true) : kNone);
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

SmallestTable::Asked Smallest::ask(const Members& rows, int depth) const {
  return {&rows, {hash_of(rows), depth, 0, 0}, {count_of(rows), path_}};
}

// Whether other threads are to begin, or have settled what this one is in.
void Smallest::look_around() {
  if (leads_ && many_ && threads_.empty() && control_.work() >= control_.options().alone) join_in();
  if (table_.over()) throw Over{};
  const std::uint64_t news = table_.news();
  if (news == seen_) return;
  seen_ = news;
  for (std::size_t k = 0; k < frames_.size(); ++k) {
    const Facts facts = table_.look(*frames_[k].asked);
    const std::int32_t upper = frames_[k].upper;
    if (upper == 0 ? facts.feasible >= 0 : facts.exact() || facts.least >= upper)
      throw Settled{k, facts};
  }
}

void Smallest::join_in() {
  for (int k = 1; k < control_.options().threads; ++k) {
    others_.push_back(std::make_unique<Smallest>(problem_, control_, table_));
    threads_.emplace_back([this, &other = *others_.back()] {
      Control::mark_worker();
      try {
        other.search(nullptr);
      } catch (const Over&) {
      } catch (const Stop&) {
      } catch (...) {
        std::lock_guard<std::mutex> lock(failing_);
        failure_ = std::current_exception();
        table_.end();
      }
    });
  }
}

void Smallest::end() {
  table_.end();
  for (std::thread& one : threads_) one.join();
  for (const auto& other : others_) counters_.add(other->counters_);
}

// The leading thread tells `result` what it finds.
void Smallest::search(Result* result) {
  Members all(problem_.member_words);
  for (std::size_t w = 0; w < all.size(); ++w) all[w] = valid_bits(problem_.problem.rows, w);
  const bool hopeless = problem_.hopeless(all) > 0;
  int depth = 0;
  const int deepest = problem_.problem.depth;
  while (!hopeless && depth <= deepest && !feasible(all, depth, true)) ++depth;
  if (hopeless || depth > deepest) {
    answer_.complete = true;
    return;
  }
  answer_.plan = rebuild(all, depth, false);
  Loss leaves = 0;
  for (const PlanNode& node : answer_.plan.nodes)
    leaves += node.feature >= 0 ? 0 : node.stump ? 2 : 1;
  answer_.value = leaves;
  answer_.bound = class_count(all);
  const auto tell = [&] {
    if (result) control_.incumbent(result->timeline, answer_.value, answer_.bound, {&answer_.plan});
  };
  tell();
  const std::int32_t found = least(all, depth, static_cast<std::int32_t>(leaves), true);
  if (found < leaves) {
    const Plan plan = rebuild(all, depth, true);
    answer_.value = answer_.bound = found;
    answer_.plan = plan;
    tell();
  }
  answer_.bound = answer_.value;
  answer_.complete = true;
}

RootAnswer Smallest::run(Result& result) {
  leads_ = true;
  std::exception_ptr thrown;
  try {
    search(&result);
  } catch (const Stop&) {
  } catch (const Over&) {  // another thread failed
  } catch (...) {
    thrown = std::current_exception();
  }
  end();
  if (thrown) std::rethrow_exception(thrown);
  if (failure_) std::rethrow_exception(failure_);
  counters_.cache_entries = table_.size();
  result.counters.add(counters_);
  return answer_;
}

}  // namespace odt
