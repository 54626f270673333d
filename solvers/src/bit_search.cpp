#include "odt/bit_search.hpp"

#include <algorithm>
#include <numeric>

namespace odt {
namespace {

// Rows of `members` that pass (or fail) a test.
std::vector<std::uint64_t> part(const std::vector<std::uint64_t>& members,
                                const std::vector<std::uint64_t>& passes, bool pass) {
  std::vector<std::uint64_t> out(members.size());
  for (std::size_t w = 0; w < members.size(); ++w)
    out[w] = members[w] & (pass ? passes[w] : ~passes[w]);
  return out;
}

}  // namespace

BitCache::Entry* BitCache::known(const BitRows& rows, const SubProblem& key) {
  return entries_.find(
      key, [&](const RowPath& path) { return problem_.same_rows(path, rows.members, rows.path); });
}

bool BitCache::find(const BitRows& rows, const SubProblem& key, Entry& entry) {
  std::lock_guard<std::mutex> lock(mutex_);
  const Entry* const at = known(rows, key);
  if (at) entry = *at;
  return at;
}

void BitCache::store(const BitRows& rows, const SubProblem& key, const Outcome& outcome,
                     std::int32_t node) {
  const std::size_t size = sizeof(SubProblem) + sizeof(Entry) + 32 + rows.path.bytes() +
                           outcome.plan.nodes.size() * sizeof(PlanNode);
  std::lock_guard<std::mutex> lock(mutex_);
  if (bytes_ + size > limit_) return;
  Entry* at = known(rows, key);
  if (!at) at = &entries_.add(key, rows.path);
  if (at->exact) return;
  bytes_ += size;
  if (outcome.exact || outcome.value > at->bound) at->node = node;
  at->exact = outcome.exact;
  at->bound = outcome.exact ? outcome.value : std::max(at->bound, outcome.value);
  if (outcome.exact) at->plan = outcome.plan;
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

// What any split of the rows costs.
template <class T>
Loss BitSearch<T>::least_toll(const BitView& view) const {
  if (!problem_.paid || view.tests() == 0) return 0;
  Loss least = kInfinite;
  for (int id : view.ids) least = std::min(least, toll(view.state, id, view.load));
  return least;
}

// The most that a test takes from a unit of weight; behind others it takes no more.
template <class T>
Loss BitSearch<T>::furthest_rate(const BitView& view) const {
  Loss most = 0;
  for (int id : view.ids) most = std::max(most, problem_.rate(view.state, id));
  return most;
}

template <class T>
Plan BitSearch<T>::split(const BitView& view, int test, const Plan& pass, const Plan& fail) const {
  const Test& t =
      problem_.tests[static_cast<std::size_t>(view.ids[static_cast<std::size_t>(test)])];
  return Plan::split(t.feature, t.bound, pass, fail);
}

template <class T>
Outcome BitSearch<T>::solve(BitNode& view, int level, Shape shape, Loss upper, Loss lower) {
  if (log_) log_->last = -1;
  const Loss leaf = leaf_loss(view);
  // A certificate has no rule for what any split costs beside the rows that no test parts.
  const Loss hopeless = each_ * problem_.hopeless(view.members),
             least_split = hopeless + price_ + (log_ ? 0 : price_ + least_toll(view));
  lower = std::max(lower, price_ + hopeless);
  if (log_ && (lower >= upper || leaf <= lower || view.tests() == 0)) note_points();
  if (lower >= upper) {
    ++counters.pruned_lower;
    return {lower, false, {}};
  }
  if (leaf <= std::max(lower, least_split) || shape.depth == 0 || shape.leaves == 1 ||
      view.tests() == 0) {
    counters.pruned_leaf += leaf <= std::max(lower, least_split);
    if (leaf >= upper) return {leaf, false, {}};
    return {leaf, true, Plan::leaf()};
  }
  if (shape.depth <= 2 || shape.leaves <= 3)
    return depth_two(view, odt::shape(std::min(shape.depth, 2), shape.leaves), upper);
  if (shape.depth == 3 && shape.leaves == 8) return depth_three_outcome(view, upper);
  return branch(view, level, shape, upper, lower);
}

template <class T>
Outcome BitSearch<T>::child(const BitNode& view, int level, int test, bool pass, Shape shape,
                            Loss upper, Loss lower) {
  const int id = view.ids[static_cast<std::size_t>(test)];
  ProofLog* const log = log_;
  const bool cached = shape.depth >= 3 && shape.leaves > 3;
  path_.push_back({static_cast<std::uint32_t>(id), 0, !pass});
  BitRows found;
  SubProblem key{};
  if (cached) {
    found.members = part(view.members, problem_.passes[static_cast<std::size_t>(id)], pass);
    found.path = {count_of(found.members), path_};
    key = {hash_of(found.members), shape.depth, shape.leaves,
           after(view, static_cast<std::size_t>(test))};
    BitCache::Entry entry;
    if (cache_.find(found, key, entry)) {
      if (entry.exact || entry.bound >= upper) {
        path_.pop_back();
        ++counters.cache_hits;
        if (log) log->last = entry.node;
        return {entry.bound, entry.exact && entry.bound < upper, std::move(entry.plan)};
      }
      // What is shown of the rows has to be shown without the bound.
      if (!log) lower = std::max(lower, entry.bound);
    }
  }
  BitNode& rows = view_at(level + 1);
  rows.make_child(problem_, view, test, pass);
  rows.renew();
  Outcome out = solve(rows, level + 1, shape, upper, lower);
  if (cached) cache_.store(found, key, out, log ? log->last : -1);
  path_.pop_back();
  return out;
}

template <class T>
Outcome BitSearch<T>::branch(BitNode& view, int level, Shape shape, Loss upper, Loss lower) {
  ++counters.nodes;
  // The bound of a shallower tree of the same rows is not the root's.
  const bool root = level == 0 && shape.depth == problem_.problem.depth;
  Outcome best = solve(view, level, odt::shape(shape.depth - 1, shape.leaves), upper, lower);
  ProofLog* const log = log_;
  const std::int32_t logged = log ? log->open(best.value, log->last) : -1;
  if (log && root) log->roots.push_back(logged);
  if (!best.exact) best = {upper, false, {}};
  depth_three(view);
  const DepthThree<T>& three = view.three;
  const std::size_t n = view.tests();
  std::vector<Loss> tolls(n);
  for (std::size_t t = 0; t < n; ++t) tolls[t] = toll(view.state, view.ids[t], view.load);
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    const std::size_t x = static_cast<std::size_t>(a), y = static_cast<std::size_t>(b);
    return three.pass[x] + three.fail[x] + tolls[x] < three.pass[y] + three.fail[y] + tolls[y];
  });
  // With an incumbent, a gap that is allowed is not searched.
  const auto cutoff = [&] {
    if (!root || answer_.value > best.value) return best.value;
    const Loss least = control_.cutoff(best.value, problem_.offset);
    gap_used_ = gap_used_ || least < best.value;
    return least;
  };
  const auto both = [&](std::size_t s, std::size_t t) { return weight_of(view, s, t); };
  const Loss rows = view.weight, furthest = furthest_rate(view) * (shape.depth - 1);
  const int half = full_leaves(shape.depth - 1);
  const int fewest = std::max(1, shape.leaves - half), most = std::min(half, shape.leaves - 1);
  for (int l = fewest; l <= most && best.value > lower; ++l) {
    const Division division{static_cast<std::size_t>(l - fewest),
                            static_cast<std::size_t>(most - fewest + 1)};
    const Shape shapes[2] = {odt::shape(shape.depth - 1, l),
                             odt::shape(shape.depth - 1, shape.leaves - l)};
    const bool same = shapes[0].leaves == shapes[1].leaves;
    std::vector<Loss> bound[2] = {std::vector<Loss>(n, price_),
                                  std::vector<Loss>(n, price_)};  // of the passing, failing side
    // A solved side bounds every other side of the same shape by the rows that it has and the other
    // has not: these lose no more, and pay no more on the way, than the worst. What the other
    // side's path has paid for, this one's may have to.
    const auto spread = [&](std::size_t s, bool pass, Loss value) {
      // Else a certificate carries bounds along one feature only.
      if (log && !(log->by_bits && division.of == 1)) return;
      const Loss own = both(s, s), size = pass ? own : rows - own;
      const Loss own_load = load_of(view, s, s), load = pass ? own_load : view.load - own_load;
      for (std::size_t t = 0; t < n; ++t) {
        const Loss common = both(s, t), t_rows = both(t, t);
        const Loss with_pass = pass ? common : t_rows - common, with_fail = size - with_pass;
        Loss cost_pass = 0, cost_fail = 0;
        if (problem_.paid) {
          const Loss common_load = load_of(view, s, t),
                     load_pass = pass ? common_load : load_of(view, t, t) - common_load;
          const Loss debt =
              after(view, t) == after(view, s) ? 0 : problem_.rate(view.state, view.ids[t]);
          cost_pass = furthest * (load - load_pass) + debt * load_pass;
          cost_fail = furthest * load_pass + debt * (load - load_pass);
        }
        if (pass || same)
          bound[0][t] = std::max(bound[0][t], value - each_ * (size - with_pass) - cost_pass);
        if (!pass || same)
          bound[1][t] = std::max(bound[1][t], value - each_ * (size - with_fail) - cost_fail);
      }
    };
    std::size_t k = 0;
    while (k < n && best.value > lower) {
      if (root) {
        if (control_.shared && control_.shared->take(answer_.value, answer_.plan) &&
            answer_.value < best.value)
          best = {answer_.value, true, answer_.plan};
        Loss open = best.value;
        for (std::size_t q = k; q < n; ++q) {
          const std::size_t u = static_cast<std::size_t>(order[q]);
          open = std::min(open, bound[0][u] + bound[1][u] + tolls[u]);
        }
        if (shape.leaves >= full_leaves(shape.depth))
          raise_bound(std::max(lower, std::min(open, cutoff())));
        if (answer_.value <= best.value && answer_.bound >= cutoff()) {
          if (log) log->last = logged;
          return best;
        }
      }
      // A round of tests under one upper bound, merged in order: threads change nothing but the
      // time.
      std::vector<Split> round;
      for (; k < n && round.size() < (root ? round_ : 1); ++k) {
        const std::size_t t = static_cast<std::size_t>(order[k]);
        if (bound[0][t] + bound[1][t] + tolls[t] >= cutoff()) {
          ++counters.pruned_neighbour;
          continue;
        }
        const bool pass_first = 2 * both(t, t) <= rows;
        round.push_back({order[k], pass_first, {bound[0][t], bound[1][t]}, {}, tolls[t]});
      }
      const Loss limit = cutoff();
      const auto work = [&](int worker, std::size_t i) {
        BitSearch& search = worker == 0 ? *this : *helpers_[static_cast<std::size_t>(worker - 1)];
        search.evaluate(view, level, shapes, limit, round[i]);
      };
      if (root && workers_)
        workers_->run(round.size(), work);
      else if (!round.empty())
        work(0, 0);
      for (Split& s : round) {
        for (int side = 0; log && side < 2; ++side)
          if (s.solved[side])
            note(view, logged, s.test, side == 0, s.side[side].value, s.node[side], division);
        spread(static_cast<std::size_t>(s.test), true, s.value[0]);
        spread(static_cast<std::size_t>(s.test), false, s.value[1]);
        const Loss value = s.value[0] + s.value[1] + s.toll;
        if (!s.side[0].exact || !s.side[1].exact || value >= best.value) continue;
        best = {value, true, split(view, s.test, s.side[0].plan, s.side[1].plan)};
        if (root && best.value < answer_.value) {
          answer_.value = best.value;
          answer_.plan = best.plan;
          if (control_.shared) control_.shared->offer(best.value, best.plan);
          control_.incumbent(result_->timeline, best.value + problem_.offset,
                             answer_.bound + problem_.offset, {&best.plan});
        }
      }
    }
  }
  if (root && best.value <= lower) raise_bound(best.value);
  if (log) {
    log->at(logged).points = best.value <= lower;
    log->last = logged;
  }
  return best;
}

// Solves both sides of a test as far as they can still beat `upper`.
template <class T>
void BitSearch<T>::evaluate(const BitNode& view, int level, const Shape (&shapes)[2], Loss upper,
                            Split& s) {
  ++counters.cuts;
  for (int k = 0; k < 2; ++k) {
    const int side = s.pass_first ? k : 1 - k;
    const Loss limit = upper - s.toll - s.value[1 - side];
    if (s.value[side] >= limit) break;
    s.side[side] =
        child(view, level, s.test, side == 0, shapes[side], limit, log_ ? price_ : s.value[side]);
    s.value[side] = std::max(s.value[side], s.side[side].value);
    s.solved[side] = true;
    if (log_) s.node[side] = log_->last;
  }
}

// Writes down a bound on a side of a test, for all cuts that part the rows alike. Bounds go to them
// by themselves where the checker works on bits, and both sides have as many leaves.
template <class T>
void BitSearch<T>::note(const BitView& view, std::int32_t node, int test, bool pass, Loss value,
                        std::int32_t child, Division division) {
  if (value <= price_) return;
  const auto id = static_cast<std::size_t>(view.ids[static_cast<std::size_t>(test)]);
  for (const BitProblem::Twin& twin : problem_.twins[id]) {
    const std::size_t at = twin.exchanged ? division.of - 1 - division.at : division.at;
    log_->note(node, {static_cast<std::uint32_t>(twin.feature), twin.bound, 0, child, value,
                      static_cast<std::uint16_t>(at), ProofLog::any, pass == twin.exchanged});
    if (log_->by_bits && division.of == 1) return;
  }
}

template <class T>
void BitSearch<T>::note_points() {
  log_->last = log_->open(0, -1);
  log_->nodes.back().points = true;
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
  const Loss upper = control_.options().upper_bound >= kInfinite
                         ? kInfinite
                         : control_.options().upper_bound - problem_.offset + 1;
  const int threads = control_.options().threads;
  if (threads > 1) {
    if (log_) log_->share(threads);
    for (int i = 1; i < threads; ++i) {
      helpers_.push_back(std::make_unique<BitSearch>(problem_, control_, cache_));
      if (log_) helpers_.back()->log_ = log_->of(i);
    }
    workers_ = std::make_unique<Workers>(threads);
    round_ = static_cast<std::size_t>(4 * threads);
  }
  try {
    BitNode& root = view_at(0);
    root.make_root(problem_);
    root.renew();
    for (int depth = 0; depth <= goal.depth; ++depth) {
      const Outcome out =
          solve(root, 0, shape(depth, goal.leaves), std::min(upper, answer_.value), 0);
      if (out.exact && out.value < answer_.value) {
        answer_.value = out.value;
        answer_.plan = out.plan;
        if (control_.shared) control_.shared->offer(out.value, out.plan);
        control_.incumbent(result.timeline, out.value + problem_.offset,
                           answer_.bound + problem_.offset, {&out.plan});
      }
      control_.check();
      if (log_ && depth == goal.depth && log_->last >= 0) log_->roots.push_back(log_->last);
    }
    if (!gap_used_)
      answer_.bound = std::min(upper, answer_.value);
    else
      answer_.bound = std::max(answer_.bound, control_.cutoff(answer_.value, problem_.offset));
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
