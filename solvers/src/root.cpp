#include <deque>
#include <map>
#include <stdexcept>

#include "odt/elsewhere.hpp"
#include "odt/root.hpp"
#include "odt/search.hpp"
#include "odt/workers.hpp"

namespace odt {

namespace {

class Root {
 public:
  Root(const Dataset& data, Control& control, Result& result)
      : data_(data),
        control_(control),
        result_(result),
        workers_(std::max(1, control.options().threads)),
        memory_(most_memory(control.options())) {
    const int threads = std::max(1, control.options().threads);
    for (int i = 0; i < threads; ++i) {
      searches_.push_back(std::make_unique<Search>(control));
      searches_.back()->remember(&memory_, nullptr);
    }
    if (control.log && threads > 1) control.log->share(threads);
    for (int i = 0; control.log && i < threads; ++i)
      searches_[static_cast<std::size_t>(i)]->keep(control.log->of(i));
    round_ = threads == 1 ? 1 : static_cast<std::size_t>(4 * threads);
  }

  RootAnswer run(const RootAnswer& start) {
    answer_ = start;
    try {
      deepen();
    } catch (const Stop&) {
      answer_.complete = control_.close_enough(answer_.value, answer_.bound, data_.loss.offset);
    }
    for (const auto& search : searches_) result_.counters.add(search->counters);
    result_.counters.cache_entries += memory_.boxes.size();
    return answer_;
  }

 private:
  static std::size_t most_memory(const Options& options) {
    return options.memory_limit ? options.memory_limit / 4 : std::size_t{1} << 27;
  }

  void deepen() {
    view_.make_root(data_, pairs_fit(data_, control_.options().memory_limit));
    const Problem& p = data_.problem;
    const Shape goal = shape(p.depth, p.leaves > 0 ? p.leaves : full_leaves(30));
    upper_ = control_.options().upper_bound >= kInfinite
                 ? kInfinite
                 : control_.options().upper_bound - data_.loss.offset + 1;
    lower_ = data_.problem.leaf_price + data_.inseparable();
    answer_.bound = std::max(answer_.bound, std::min(lower_, best()));
    for (int depth = 0; depth <= std::min(2, goal.depth); ++depth) {
      const Outcome out = searches_[0]->solve(view_, 0, shape(depth, goal.leaves), best(), lower_,
                                              ask(), nullptr, 0);
      improve(out);
      last_ = out;
      last_bound_ = out.value;
      if (depth == goal.depth) answer_.bound = out.value;
    }
    if (goal.depth > 2 && workers() > 1) view_.make_all_pairs();
    if (goal.depth > 3) bound_by_parts(goal);
    // At the end of a step workers wait for its last cut, so there are fewer steps with workers.
    const double factor = goes_elsewhere(goal) ? 16 : 4;
    if (goal.depth > 3) rise(goal, 0.25, factor, factor);
    for (int depth = 3; depth < goal.depth; ++depth) search(shape(depth, goal.leaves), false);
    if (goal.depth > 3) rise(goal, 0.475, 1.42, 2);
    if (goal.depth > 2) search(goal, true);
    answer_.complete = true;
  }

  // A part of the rows loses no more, and is searched in a part of the time: each has eight times
  // the rows of the one before, and refutes a small part of what the incumbent loses on so many.
  void bound_by_parts(Shape goal) {
    constexpr std::size_t kCells = 1 << 15, kTimes = 8, kShare = 64;
    for (std::size_t every = data_.rows() * data_.features() / kCells; every > 1; every /= kTimes) {
      take_over();
      if (best() >= kInfinite) return;
      const Problem problem = thinned(data_.problem, every);
      const Dataset part(problem, data_.kernels, &control_);
      View view;
      view.make_root(part, false);
      const Loss target = best() / static_cast<Loss>(kShare * every) + 1;
      Search search(control_, 0);
      const Outcome out =
          search.solve(view, 0, goal, target, problem.leaf_price, {1, false, 0}, nullptr, 0);
      searches_[0]->counters.add(search.counters);
      raise_bound(std::min({out.value, target, best()}));
    }
  }

  // Refutes small losses first, then larger ones, up to a part of the incumbent's: that takes
  // little of the time of the whole proof, and the bound moves from the first second. What was
  // cheap so far is followed by a larger step.
  void rise(Shape shape, double part, double factor, double factor_if_cheap) {
    constexpr std::uint64_t kCheap = 580000000;
    for (;;) {
      take_over();
      if (best() >= kInfinite) return;
      // Beyond the cutoff nothing is refuted: with a wide gap it lies below that part.
      const Loss upto = std::min(cutoff(), static_cast<Loss>(part * static_cast<double>(best())));
      const double times = risen_work_ < kCheap ? factor_if_cheap : factor;
      const Loss target = std::min(
          upto, std::max({lower_ + 1, static_cast<Loss>(times * static_cast<double>(answer_.bound)),
                          best() / 128}));
      if (target <= std::max(lower_, answer_.bound)) return;
      const Shape flatter = odt::shape(shape.depth - 1, shape.leaves);
      const Outcome flat = flat_tree(flatter, target, lower_, ask());
      improve(flat);
      Branch node(*searches_[0], view_, 0, shape, best(), lower_, ask());
      log(node, flat.value > lower_ ? flat.value : 0, control_.log ? control_.log->last : -1);
      const Loss any =
          ask().must ? flat_tree(flatter, target, 0, ask().relaxed()).value : flat.value;
      node.begin(flat, flat.value, any, nullptr, 0);
      const std::uint64_t began = Control::own_work();
      explore(node, shape, target, true);
      risen_work_ += Control::own_work() - began;
      if (node.best() < target) return;
    }
  }

  Ask ask() const { return {data_.problem.leaf_rows, data_.problem.must >= 0, 0}; }
  std::size_t workers() const { return searches_.size(); }
  Loss best() const { return std::min(upper_, answer_.value); }

  void improve(const Outcome& out) {
    if (!out.exact || out.value >= answer_.value) return;
    answer_.value = out.value;
    answer_.plan = out.plan;
    if (control_.turns) control_.turns->found(static_cast<double>(out.value + data_.loss.offset));
    if (control_.shared) control_.shared->offer(out.value, out.plan);
    control_.incumbent(result_.timeline, out.value + data_.loss.offset,
                       answer_.bound + data_.loss.offset, {&out.plan});
  }

  // What the search beside this one found.
  bool take_over() { return control_.shared && control_.shared->take(answer_.value, answer_.plan); }

  // With an incumbent, a gap that is allowed is not searched.
  Loss cutoff() const {
    return answer_.value < kInfinite && answer_.value <= upper_
               ? control_.cutoff(answer_.value, data_.loss.offset)
               : upper_;
  }

  void raise_bound(Loss bound) {
    if (bound <= answer_.bound) return;
    answer_.bound = bound;
    if (control_.turns) control_.turns->proven(static_cast<double>(bound + data_.loss.offset));
    control_.bound(result_.timeline, bound + data_.loss.offset);
  }

  void search(Shape shape, bool final) {
    // One better than the incumbent would do; the incumbent itself stays the answer otherwise.
    Branch node(*searches_[0], view_, 0, shape, best(), lower_, ask());
    ++searches_[0]->counters.nodes;
    log(node, last_bound_, last_logged_);
    const Shape flatter = odt::shape(shape.depth - 1, shape.leaves);
    const Loss any =
        ask().must ? flat_tree(flatter, best(), lower_, ask().relaxed()).value : last_bound_;
    node.begin(last_, last_bound_, any, nullptr, 0, best_cuts_.empty() ? nullptr : &best_cuts_);
    explore(node, shape, kInfinite, final);
    last_ = node.outcome();
    last_bound_ = std::min(node.bound(), last_.value);
    best_cuts_ = node.best_cuts();
    last_logged_ = node.logged;
  }

  void log(Branch& node, Loss flat, std::int32_t flat_child) {
    node.log(flat, flat_child);
    if (control_.log) control_.log->roots.push_back(node.logged);
  }

  // One depth less, on all rows.
  Outcome flat_tree(Shape shape, Loss upper, Loss lower, Ask ask) {
    return searches_[0]->solve(view_, 0, shape, upper, lower, ask, nullptr, 0);
  }

  // Evaluates cuts until no open one can lose less than `target`, or than the incumbent. `final`:
  // the node is the whole problem, and its bound is told.
  void explore(Branch& node, Shape shape, Loss target, bool final) {
    const auto set_cutoff = [&] { node.set_cutoff(std::min(target, cutoff())); };
    set_cutoff();
    if (goes_elsewhere(shape))
      explore_elsewhere(node, shape, set_cutoff, final);
    else
      explore_here(node, set_cutoff, final);
    if (final) raise_bound(std::min(node.bound(), best()));
  }

  template <class SetCutoff>
  void explore_here(Branch& node, const SetCutoff& set_cutoff, bool final) {
    std::vector<Branch::Task> tasks(round_);
    std::vector<CutValue> values(round_);
    std::vector<std::vector<ProofLog::Record>> noted(round_);  // of this node, by several threads
    const bool aside = control_.log && workers() > 1;
    // With several threads, which of them meets a box first would depend on their speed, and the
    // tree on it. So each cut of a round remembers by itself, beside what all rounds before did.
    std::vector<Memory> met(workers() > 1 ? round_ : 0,
                            Memory(most_memory(control_.options()) / round_));
    for (;;) {
      if (take_over()) set_cutoff();
      const Loss bound = node.bound();
      if (final) raise_bound(std::min(bound, best()));
      if (bound >= node.cutoff()) break;
      std::size_t count = 0;
      while (count < round_ && node.next(tasks[count])) ++count;
      if (count == 0) break;
      const auto evaluate = [&](int worker, std::size_t i) {
        Search& search = *searches_[static_cast<std::size_t>(worker)];
        if (aside) search.log()->set_aside(node.logged, &noted[i]);
        if (!met.empty()) search.remember(&met[i], &memory_);
        values[i] = node.evaluate(search, tasks[i]);
        search.remember(&memory_, nullptr);
      };
      if (workers() == 1)
        evaluate(0, 0);
      else
        workers_.run(count, evaluate);
      for (std::size_t i = 0; !met.empty() && i < count; ++i) memory_.take(met[i]);
      for (std::size_t i = 0; aside && i < count; ++i) {  // in the order in which they were merged
        auto& records = control_.log->at(node.logged).records;
        records.insert(records.end(), noted[i].begin(), noted[i].end());
        noted[i].clear();
      }
      for (std::size_t i = 0; i < count; ++i)
        if (node.merge(tasks[i], values[i])) {
          improve(node.outcome());
          set_cutoff();
        }
      control_.check();
    }
  }

  // Below depth four a cut takes less than its way, but on many rows.
  bool goes_elsewhere(Shape shape) const {
    constexpr std::size_t kManyCells = std::size_t{1} << 20;
    return control_.options().elsewhere && !control_.log &&
           (shape.depth > 3 || (shape.depth == 3 && data_.rows() * data_.features() > kManyCells));
  }

  // Cuts that others evaluate, by the number of their task.
  using Away = std::map<std::uint64_t, std::vector<Branch::Task>>;

  // The same by others. What is away keeps its interval's bound.
  template <class SetCutoff>
  void explore_elsewhere(Branch& node, Shape shape, const SetCutoff& set_cutoff, bool final) {
    // An answer is worth a part of its work in turns of this thread: the search beside it is to
    // have its own, but neither a processor that workers need nor the time of what they wait for.
    constexpr std::uint64_t kPart = 64, kMostTurn = 2000000;
    Away away;
    std::vector<RemoteTask> more;
    const auto bound = [&] {
      Loss least = node.bound();
      for (const auto& [number, tasks] : away)
        for (const Branch::Task& task : tasks) least = std::min(least, node.bound(task));
      return least;
    };
    for (;;) {
      if (take_over()) set_cutoff();
      const Loss least = bound();
      if (final) raise_bound(std::min(least, best()));
      if (least >= node.cutoff()) break;
      if (threads_ == 0) hear(control_.options().elsewhere({}, false));
      give(node, shape, more, away);
      if (away.empty()) break;
      Returned back = control_.options().elsewhere(more, false);
      hear(back);
      for (auto& [number, answer] : back.values) {
        const auto known = away.find(number);
        if (known == away.end()) continue;
        if (merge(node, known->second, answer)) {
          improve(node.outcome());
          set_cutoff();
        }
        away.erase(known);
        learnt_.push_front(std::move(answer.learnt));
        if (learnt_.size() > 2 * threads_) learnt_.resize(2 * threads_);
        searches_[0]->counters.add(answer.counters);
        control_.poll(std::min(answer.work / kPart, kMostTurn));
      }
      control_.check();
    }
    if (!away.empty()) control_.options().elsewhere({}, true);
  }

  // Two tasks for each thread, one that it evaluates and the next. While many intervals wait, only
  // one: what lies ready does not know what is learnt meanwhile, and that costs more than its way.
  void give(Branch& node, Shape shape, std::vector<RemoteTask>& more, Away& away) {
    // Who evaluates cuts goes on with what they leave open, for so many looks (some 10 ms): that a
    // task goes and comes takes as long. For more (some 300 ms) while other intervals wait: then
    // nobody misses it.
    constexpr std::uint64_t kAtLeast = 30, kAtMost = 750;
    more.clear();
    while (away.size() < (node.waiting() > threads_ ? threads_ : 2 * threads_)) {
      std::vector<Branch::Task> tasks = taken(node);
      if (tasks.empty()) break;
      more.push_back(remote(node, shape, tasks));
      away.emplace(sent_++, std::move(tasks));
    }
    const std::uint64_t looks = node.waiting() > 0 ? kAtMost : kAtLeast;
    for (RemoteTask& task : more) task.work = looks * Looks::work;
  }

  void hear(const Returned& back) {
    if (back.over) {
      control_.stop();
      throw Stop{};
    }
    threads_ = std::max<std::size_t>(1, back.threads);
  }

  // Cuts for one task: few enough that as many are left for each of the others.
  std::vector<Branch::Task> taken(Branch& node) const {
    constexpr std::size_t kMost = 8;
    const std::size_t most = std::clamp<std::size_t>(node.waiting() / (2 * threads_), 1, kMost);
    std::vector<Branch::Task> tasks;
    Branch::Task task;
    while (tasks.size() < most && node.next(task)) tasks.push_back(task);
    return tasks;
  }

  RemoteTask remote(const Branch& node, Shape shape, const std::vector<Branch::Task>& tasks) const {
    RemoteTask task{shape, node.best(), node.cutoff(), 0, {}, recent()};
    for (const Branch::Task& one : tasks)
      task.cuts.push_back({one.feature, one.interval, node.record(one.interval.low_record),
                           node.record(one.interval.high_record), one.cut, one.division});
    return task;
  }

  // True if the incumbent improved.
  static bool merge(Branch& node, const std::vector<Branch::Task>& tasks,
                    const RemoteValue& answer) {
    if (answer.rests.size() != tasks.size())
      throw std::invalid_argument("an answer to another task");
    bool better = false;
    for (std::size_t i = 0; i < tasks.size(); ++i) better |= node.merge(tasks[i], answer.rests[i]);
    return better;
  }

  // What the last answers tell, two for each thread, so that most of it comes to all.
  std::vector<Learnt> recent() const {
    std::vector<Learnt> all;
    for (const auto& one : learnt_)
      all.insert(all.end(), one.begin(),
                 one.begin() + static_cast<long>(std::min(one.size(), Learnt::kMost - all.size())));
    return all;
  }

  const Dataset& data_;
  Control& control_;
  Result& result_;
  Workers workers_;
  Memory memory_;
  std::vector<std::unique_ptr<Search>> searches_;
  std::size_t round_;
  View view_;
  Loss upper_ = kInfinite, lower_ = 0;
  Outcome last_;  // of the depth before
  Loss last_bound_ = 0;
  std::int32_t last_logged_ = -1;
  std::vector<BestCut> best_cuts_;
  std::uint64_t sent_ = 0;                  // tasks that went elsewhere
  std::size_t threads_ = 0;                 // of those elsewhere; 0: not asked yet
  std::deque<std::vector<Learnt>> learnt_;  // by answers from elsewhere, the last one first
  std::uint64_t risen_work_ = 0;            // of all steps that raised the bound
  RootAnswer answer_;
};

}  // namespace

RootAnswer solve_sorted(const Dataset& data, Control& control, Result& result,
                        const RootAnswer& start) {
  return Root(data, control, result).run(start);
}

}  // namespace odt
