#include "odt/bit_search.hpp"

#include <algorithm>
#include <numeric>

namespace odt {
namespace {

std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ULL;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ULL;
  return x ^ x >> 32;
}

// Rows of `members` that pass (or fail) a test.
std::vector<std::uint64_t> part(const std::vector<std::uint64_t>& members, const std::vector<std::uint64_t>& passes, bool pass) {
  std::vector<std::uint64_t> out(members.size());
  for (std::size_t w = 0; w < members.size(); ++w) out[w] = members[w] & (pass ? passes[w] : ~passes[w]);
  return out;
}

}  // namespace

// 128 bits of hash stand for the set of rows: a collision is less likely than a broken processor.
BitCache::Key BitCache::key(const std::vector<std::uint64_t>& members, Shape shape) {
  std::uint64_t low = mix(static_cast<std::uint64_t>(shape.depth) << 32 | static_cast<std::uint32_t>(shape.leaves));
  std::uint64_t high = ~low;
  for (std::uint64_t w : members) {
    low = mix(low + w);
    high = mix((high ^ w) + 0x9e3779b97f4a7c15ULL);
  }
  return {low, high};
}

bool BitCache::find(const Key& key, Entry& entry) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto at = entries_.find(key);
  if (at == entries_.end()) return false;
  entry = at->second;
  return true;
}

void BitCache::store(const Key& key, const Outcome& outcome) {
  const std::size_t size = sizeof(Key) + sizeof(Entry) + 32 + outcome.plan.nodes.size() * sizeof(PlanNode);
  std::lock_guard<std::mutex> lock(mutex_);
  if (bytes_ + size > limit_) return;
  Entry& entry = entries_[key];
  if (entry.exact) return;
  bytes_ += size;
  entry.exact = outcome.exact;
  entry.bound = outcome.exact ? outcome.value : std::max(entry.bound, outcome.value);
  if (outcome.exact) entry.plan = outcome.plan;
}

template <class T>
typename BitSearch<T>::BitNode& BitSearch<T>::view_at(int level) {
  while (static_cast<int>(views_.size()) <= level) views_.push_back(std::make_unique<BitNode>());
  return *views_[static_cast<std::size_t>(level)];
}

template <class T>
Loss BitSearch<T>::leaf_loss(const BitView& view) const {
  return each_ * (view.weight - *std::max_element(view.totals.begin(), view.totals.end())) + price_;
}

template <class T>
Plan BitSearch<T>::split(const BitView& view, int test, const Plan& pass, const Plan& fail) const {
  const Test& t = problem_.tests[static_cast<std::size_t>(view.ids[static_cast<std::size_t>(test)])];
  return Plan::split(t.feature, t.bound, pass, fail);
}

template <class T>
void BitSearch<T>::count_pairs(BitNode& view) {
  DepthThree<T>& three = view.three;
  const std::size_t per_test = view.totals.size() * view.stride;
  three.all.reserve(per_test);
  three.counts.reserve(per_test * std::max<std::size_t>(1, view.tests()));
  std::uint16_t* row = row_.reserve(view.words() + 1);
  view.all_rows(row);
  bit_counts(problem_.kernels, view.table(), row, three.all.data());
  for (std::size_t t = 0; t < view.tests(); ++t) {
    view.column(static_cast<int>(t), true, row);
    bit_counts(problem_.kernels, view.table(), row, three.counts.data() + t * per_test);
  }
}

// Best stump on each side of every test and on all rows, leaf prices included.
template <class T>
void BitSearch<T>::stumps(BitNode& view, std::vector<Loss>& pass, std::vector<Loss>& fail, Loss& whole) {
  const std::size_t n = view.tests(), classes = view.totals.size(), per_test = classes * view.stride;
  std::uint16_t* all = keep_.reserve(view.words() + 1);
  view.all_rows(all);
  std::vector<T> total(classes);
  const std::vector<T> totals(view.totals.begin(), view.totals.end());
  const auto value = [&](Loss rows, Loss most_leaf, Loss most) { return std::min(each_ * (rows - most_leaf) + price_, each_ * (rows - most) + 2 * price_); };
  pass.assign(n, 0);
  fail.assign(n, 0);
  whole = leaf_loss(view);
  T best[4];
  for (std::size_t t = 0; t < n; ++t) {
    // b = the rows of test t within a = all rows
    std::uint16_t* row = row_.reserve(view.words() + 1);
    view.column(static_cast<int>(t), true, row);
    const T* count = view.three.counts.data() + t * per_test;
    Loss rows = 0, leaf = 0, other_leaf = 0;
    for (std::size_t c = 0; c < classes; ++c) {
      total[c] = count[c * view.stride + t];
      rows += total[c];
      leaf = std::max<Loss>(leaf, total[c]);
      other_leaf = std::max<Loss>(other_leaf, view.totals[c] - total[c]);
    }
    const QuarterScan<T> scan{view.table(), row, view.three.all.data(), count, view.three.all.data(), totals.data(),
                           total.data(), total.data(), totals.data()};
    quarters(problem_.kernels, scan, best);
    const Loss others = view.weight - rows;
    pass[t] = value(rows, leaf, best[0]);
    fail[t] = value(others, other_leaf, best[1]);
    whole = std::min(whole, each_ * (rows - leaf + others - other_leaf) + 2 * price_);
  }
  counters.scans += n;
}

template <class T>
void BitSearch<T>::depth_three(BitNode& view) {
  DepthThree<T>& three = view.three;
  if (three.ready) return;
  ++counters.depth_two;
  count_pairs(view);
  const std::size_t n = view.tests(), classes = view.totals.size(), stride = view.stride, per_test = classes * stride;
  three.pass.assign(n, kInfinite);
  three.fail.assign(n, kInfinite);
  three.pass_test.assign(n, -1);
  three.fail_test.assign(n, -1);
  Loss whole = 0;
  if (price_ > 0 || n == 1) stumps(view, three.pass, three.fail, whole);
  narrow_.reserve((view.words() + 2) * stride);
  narrow_start_.resize(view.groups() + 1);
  std::vector<T> a_total(classes), b_total(classes), ab_total(classes);
  const std::vector<T> totals(view.totals.begin(), view.totals.end());
  std::uint16_t* row = row_.reserve(view.words() + 1);
  const T* all = three.all.data();
  for (std::size_t t = 0; t + 1 < n; ++t) {
    const T* own = three.counts.data() + t * per_test;
    Loss passing = 0;
    for (std::size_t c = 0; c < classes; ++c) passing += own[c * stride + t];
    // a: the side with fewer rows, whose table is shorter
    const bool pass = 2 * passing <= view.weight;
    std::uint16_t* keep = keep_.reserve(view.words() + 1);
    view.column(static_cast<int>(t), pass, keep);
    problem_.kernels.bit_compress(view.table(), keep, narrow_.data(), narrow_start_.data());
    const BitTable table = view.table(narrow_.data(), narrow_start_.data());
    const T* a_count = own;
    if (!pass) {
      T* rest = a_count_.reserve(per_test);
      for (std::size_t j = 0; j < per_test; ++j) rest[j] = static_cast<T>(all[j] - own[j]);
      a_count = rest;
    }
    Loss a_rows = 0;
    for (std::size_t c = 0; c < classes; ++c) {
      a_total[c] = static_cast<T>(pass ? own[c * stride + t] : view.totals[c] - own[c * stride + t]);
      a_rows += a_total[c];
    }
    std::vector<Loss>& a_value = pass ? three.pass : three.fail;
    std::vector<Loss>& rest_value = pass ? three.fail : three.pass;
    std::vector<int>& a_test = pass ? three.pass_test : three.fail_test;
    std::vector<int>& rest_test = pass ? three.fail_test : three.pass_test;
    const std::size_t words = static_cast<std::size_t>(narrow_start_[view.groups()]);
    for (std::size_t i = t + 1; i < n; ++i) {
      const T* b_count = three.counts.data() + i * per_test;
      for (std::size_t w = 0; w < words; ++w) row[w] = narrow_[w * stride + i];
      Loss b_rows = 0, ab_rows = 0;
      for (std::size_t c = 0; c < classes; ++c) {
        b_total[c] = b_count[c * stride + i];
        ab_total[c] = a_count[c * stride + i];
        b_rows += b_total[c];
        ab_rows += ab_total[c];
      }
      const QuarterScan<T> scan{table, row, a_count, b_count, all, a_total.data(), b_total.data(), ab_total.data(), totals.data()};
      T best[4];
      quarters(problem_.kernels, scan, best);
      const Loss size[4] = {ab_rows, a_rows - ab_rows, b_rows - ab_rows, view.weight - a_rows - b_rows + ab_rows};
      Loss loss[4];
      for (int q = 0; q < 4; ++q) loss[q] = each_ * (size[q] - best[q]);
      if (price_ > 0) {
        Loss most[4] = {0, 0, 0, 0};
        for (std::size_t c = 0; c < classes; ++c) {
          const Loss ab = ab_total[c], a = a_total[c] - ab, b = b_total[c] - ab;
          most[0] = std::max(most[0], ab);
          most[1] = std::max(most[1], a);
          most[2] = std::max(most[2], b);
          most[3] = std::max(most[3], view.totals[c] - a - b - ab);
        }
        for (int q = 0; q < 4; ++q) loss[q] = std::min(loss[q] + 2 * price_, each_ * (size[q] - most[q]) + price_);
      }
      const auto lower = [](std::vector<Loss>& value, std::vector<int>& arg, std::size_t at, Loss x, std::size_t test) {
        if (x >= value[at]) return;
        value[at] = x;
        arg[at] = static_cast<int>(test);
      };
      lower(a_value, a_test, t, loss[0] + loss[1], i);
      lower(rest_value, rest_test, t, loss[2] + loss[3], i);
      lower(three.pass, three.pass_test, i, loss[0] + loss[2], t);
      lower(three.fail, three.fail_test, i, loss[1] + loss[3], t);
    }
    counters.scans += n - t - 1;
    control_.poll(words * stride * (n - t) / 64 + 1);  // as much time as the work of sorted scans with weights takes
  }
  three.ready = true;
}

template <class T>
Outcome BitSearch<T>::depth_three_outcome(BitNode& view, Loss upper) {
  depth_three(view);
  const DepthThree<T>& three = view.three;
  std::size_t best = 0;
  for (std::size_t t = 1; t < view.tests(); ++t)
    if (three.pass[t] + three.fail[t] < three.pass[best] + three.fail[best]) best = t;
  Outcome out{three.pass[best] + three.fail[best], false, {}};
  const Loss leaf = leaf_loss(view);
  if (leaf <= out.value) {
    out.value = leaf;
    out.exact = leaf < upper;
    out.plan = Plan::leaf();
    return out;
  }
  out.exact = out.value < upper;
  if (!out.exact) return out;
  const auto side = [&](int test) { return test < 0 ? Plan::stump() : split(view, test, Plan::stump(), Plan::stump()); };
  out.plan = split(view, static_cast<int>(best), side(three.pass_test[best]), side(three.fail_test[best]));
  return out;
}

// Depth two, or one, or fewer than four leaves.
template <class T>
Outcome BitSearch<T>::depth_two(BitNode& view, Shape shape, Loss upper) {
  count_pairs(view);
  std::vector<Loss> pass, fail;
  Outcome out;
  stumps(view, pass, fail, out.value);
  out.plan = Plan::stump();
  if (shape.leaves > 2 && shape.depth > 1) {
    const std::size_t classes = view.totals.size();
    for (std::size_t t = 0; t < view.tests(); ++t) {
      Loss rows = 0, most = 0, most_fail = 0;
      for (std::size_t c = 0; c < classes; ++c) {
        const Loss x = view.three.counts[(t * classes + c) * view.stride + t];
        rows += x;
        most = std::max(most, x);
        most_fail = std::max<Loss>(most_fail, view.totals[c] - x);
      }
      const Loss leaf_pass = each_ * (rows - most) + price_, leaf_fail = each_ * (view.weight - rows - most_fail) + price_;
      const auto offer = [&](Loss value, const Plan& a, const Plan& b) {
        if (value >= out.value) return;
        out.value = value;
        out.plan = split(view, static_cast<int>(t), a, b);
      };
      if (shape.leaves >= 4) offer(pass[t] + fail[t], Plan::stump(), Plan::stump());
      offer(pass[t] + leaf_fail, Plan::stump(), Plan::leaf());
      offer(leaf_pass + fail[t], Plan::leaf(), Plan::stump());
    }
  }
  out.exact = out.value < upper;
  return out;
}

template <class T>
Outcome BitSearch<T>::solve(BitNode& view, int level, Shape shape, Loss upper, Loss lower) {
  const Loss leaf = leaf_loss(view);
  lower = std::max(lower, price_ + each_ * problem_.hopeless(view.members));
  if (lower >= upper) {
    ++counters.pruned_lower;
    return {lower, false, {}};
  }
  if (leaf <= lower || shape.depth == 0 || shape.leaves == 1 || view.tests() == 0) {
    counters.pruned_leaf += leaf <= lower;
    if (leaf >= upper) return {leaf, false, {}};
    return {leaf, true, Plan::leaf()};
  }
  if (shape.depth <= 2 || shape.leaves <= 3) return depth_two(view, odt::shape(std::min(shape.depth, 2), shape.leaves), upper);
  if (shape.depth == 3 && shape.leaves == 8) return depth_three_outcome(view, upper);
  return branch(view, level, shape, upper, lower);
}

template <class T>
Outcome BitSearch<T>::child(const BitNode& view, int level, int test, bool pass, Shape shape, Loss upper, Loss lower) {
  const auto& passes = problem_.passes[static_cast<std::size_t>(view.ids[static_cast<std::size_t>(test)])];
  const bool cached = shape.depth >= 3;
  BitCache::Key key{};
  if (cached) {
    key = BitCache::key(part(view.members, passes, pass), shape);
    BitCache::Entry entry;
    if (cache_.find(key, entry)) {
      if (entry.exact || entry.bound >= upper) {
        ++counters.cache_hits;
        return {entry.bound, entry.exact && entry.bound < upper, std::move(entry.plan)};
      }
      lower = std::max(lower, entry.bound);
    }
  }
  BitNode& rows = view_at(level + 1);
  rows.make_child(problem_, view, test, pass);
  rows.three.ready = false;
  Outcome out = solve(rows, level + 1, shape, upper, lower);
  if (cached) cache_.store(key, out);
  return out;
}

template <class T>
Outcome BitSearch<T>::branch(BitNode& view, int level, Shape shape, Loss upper, Loss lower) {
  ++counters.nodes;
  // The bound of a shallower tree of the same rows is not the root's.
  const bool root = level == 0 && shape.depth == problem_.problem.depth;
  Outcome best = solve(view, level, odt::shape(shape.depth - 1, shape.leaves), upper, lower);
  if (!best.exact) best = {upper, false, {}};
  depth_three(view);
  const DepthThree<T>& three = view.three;
  const std::size_t n = view.tests(), classes = view.totals.size();
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    const std::size_t x = static_cast<std::size_t>(a), y = static_cast<std::size_t>(b);
    return three.pass[x] + three.fail[x] < three.pass[y] + three.fail[y];
  });
  // With an incumbent, a gap that is allowed is not searched.
  const auto cutoff = [&] {
    if (!root || answer_.value > best.value) return best.value;
    const Loss least = control_.cutoff(best.value, problem_.offset);
    gap_used_ = gap_used_ || least < best.value;
    return least;
  };
  // Rows that pass both tests.
  const auto both = [&](std::size_t s, std::size_t t) {
    Loss sum = 0;
    for (std::size_t c = 0; c < classes; ++c) sum += three.counts[(s * classes + c) * view.stride + t];
    return sum;
  };
  const Loss rows = view.weight;
  const int half = full_leaves(shape.depth - 1);
  for (int l = std::max(1, shape.leaves - half); l <= std::min(half, shape.leaves - 1) && best.value > lower; ++l) {
    const Shape shapes[2] = {odt::shape(shape.depth - 1, l), odt::shape(shape.depth - 1, shape.leaves - l)};
    const bool same = shapes[0].leaves == shapes[1].leaves;
    std::vector<Loss> bound[2] = {std::vector<Loss>(n, price_), std::vector<Loss>(n, price_)};  // of the passing, failing side
    // A solved side bounds every other side of the same shape by the rows that it has and the other has not.
    const auto spread = [&](std::size_t s, bool pass, Loss value) {
      const Loss own = both(s, s), size = pass ? own : rows - own;
      for (std::size_t t = 0; t < n; ++t) {
        const Loss common = both(s, t), t_rows = both(t, t);
        const Loss with_pass = pass ? common : t_rows - common, with_fail = size - with_pass;
        if (pass || same) bound[0][t] = std::max(bound[0][t], value - each_ * (size - with_pass));
        if (!pass || same) bound[1][t] = std::max(bound[1][t], value - each_ * (size - with_fail));
      }
    };
    std::size_t k = 0;
    while (k < n && best.value > lower) {
      if (root) {
        if (control_.shared && control_.shared->take(answer_.value, answer_.plan) && answer_.value < best.value)
          best = {answer_.value, true, answer_.plan};
        Loss open = best.value;
        for (std::size_t q = k; q < n; ++q) {
          const std::size_t u = static_cast<std::size_t>(order[q]);
          open = std::min(open, bound[0][u] + bound[1][u]);
        }
        if (shape.leaves >= full_leaves(shape.depth)) raise_bound(std::max(lower, std::min(open, cutoff())));
        if (answer_.value <= best.value && answer_.bound >= cutoff()) return best;
      }
      // A round of tests under one upper bound, merged in order: threads change nothing but the time.
      std::vector<Split> round;
      for (; k < n && round.size() < (root ? round_ : 1); ++k) {
        const std::size_t t = static_cast<std::size_t>(order[k]);
        if (bound[0][t] + bound[1][t] >= cutoff()) {
          ++counters.pruned_neighbour;
          continue;
        }
        const bool pass_first = 2 * both(t, t) <= rows;
        round.push_back({order[k], pass_first, {bound[0][t], bound[1][t]}, {}});
      }
      const Loss limit = cutoff();
      const auto work = [&](int worker, std::size_t i) {
        BitSearch& search = worker == 0 ? *this : *helpers_[static_cast<std::size_t>(worker - 1)];
        search.evaluate(view, level, shapes, limit, round[i]);
      };
      if (root && workers_) workers_->run(round.size(), work);
      else if (!round.empty()) work(0, 0);
      for (Split& s : round) {
        spread(static_cast<std::size_t>(s.test), true, s.value[0]);
        spread(static_cast<std::size_t>(s.test), false, s.value[1]);
        if (!s.side[0].exact || !s.side[1].exact || s.value[0] + s.value[1] >= best.value) continue;
        best = {s.value[0] + s.value[1], true, split(view, s.test, s.side[0].plan, s.side[1].plan)};
        if (root && best.value < answer_.value) {
          answer_.value = best.value;
          answer_.plan = best.plan;
          if (control_.shared) control_.shared->offer(best.value, best.plan);
          control_.incumbent(result_->timeline, best.value + problem_.offset, answer_.bound + problem_.offset, {&best.plan});
        }
      }
    }
  }
  if (root && best.value <= lower) raise_bound(best.value);
  return best;
}

// Solves both sides of a test as far as they can still beat `upper`.
template <class T>
void BitSearch<T>::evaluate(const BitNode& view, int level, const Shape (&shapes)[2], Loss upper, Split& s) {
  ++counters.cuts;
  for (int k = 0; k < 2; ++k) {
    const int side = s.pass_first ? k : 1 - k;
    const Loss limit = upper - s.value[1 - side];
    if (s.value[side] >= limit) break;
    s.side[side] = child(view, level, s.test, side == 0, shapes[side], limit, s.value[side]);
    s.value[side] = std::max(s.value[side], s.side[side].value);
  }
}

template <class T>
void BitSearch<T>::raise_bound(Loss bound) {
  if (bound <= answer_.bound) return;
  answer_.bound = bound;
  control_.bound(result_->timeline, bound + problem_.offset);
}

template <class T>
RootAnswer BitSearch<T>::run(Result& result, const RootAnswer& start) {
  result_ = &result;
  answer_ = start;
  const Problem& p = problem_.problem;
  const Shape goal = shape(p.depth, p.leaves > 0 ? p.leaves : full_leaves(30));
  const Loss upper = control_.options().upper_bound >= kInfinite ? kInfinite : control_.options().upper_bound - problem_.offset + 1;
  const int threads = control_.options().threads;
  if (threads > 1) {
    for (int i = 1; i < threads; ++i) helpers_.push_back(std::make_unique<BitSearch>(problem_, control_, cache_));
    workers_ = std::make_unique<Workers>(threads);
    round_ = static_cast<std::size_t>(4 * threads);
  }
  try {
    BitNode& root = view_at(0);
    root.make_root(problem_);
    root.three.ready = false;
    for (int depth = 0; depth <= goal.depth; ++depth) {
      const Outcome out = solve(root, 0, shape(depth, goal.leaves), std::min(upper, answer_.value), 0);
      if (out.exact && out.value < answer_.value) {
        answer_.value = out.value;
        answer_.plan = out.plan;
        if (control_.shared) control_.shared->offer(out.value, out.plan);
        control_.incumbent(result.timeline, out.value + problem_.offset, answer_.bound + problem_.offset, {&out.plan});
      }
      control_.check();
    }
    if (!gap_used_) answer_.bound = std::min(upper, answer_.value);
    else answer_.bound = std::max(answer_.bound, control_.cutoff(answer_.value, problem_.offset));
    answer_.complete = true;
  } catch (const Stop&) {
    answer_.complete = control_.close_enough(answer_.value, answer_.bound, problem_.offset);
  }
  counters.cache_entries = cache_.size();
  result.counters.add(counters);
  for (const auto& helper : helpers_) result.counters.add(helper->counters);
  return answer_;
}

template class BitSearch<std::int16_t>;
template class BitSearch<std::int32_t>;

}  // namespace odt
