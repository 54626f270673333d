#include <algorithm>
#include <chrono>
#include <exception>
#include <future>
#include <stdexcept>
#include <thread>

#include "odt/anytime.hpp"
#include "odt/bit_search.hpp"
#include "odt/control.hpp"
#include "odt/count_search.hpp"
#include "odt/dataset.hpp"
#include "odt/finish.hpp"
#include "odt/proof_log.hpp"
#include "odt/ranks.hpp"
#include "odt/root.hpp"
#include "odt/smallest.hpp"

namespace odt {

namespace {

void check(const Problem& p) {
  const auto demand = [](bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
  };
  demand(p.rows > 0, "no rows");
  demand(p.rows < (1u << 30), "too many rows");
  demand(p.features > 0, "no features");
  demand(p.classes > 0, "no classes");
  demand(p.depth >= 0 && p.depth <= 30, "depth must be between 0 and 30");
  demand(p.leaf_price >= 0, "the price per leaf must not be negative");
  demand(p.leaf_rows >= 1, "leaves must hold a row");
  demand(p.leaves >= 0, "the number of leaves must not be negative");
  const bool ruled = p.must >= 0 || !p.next.empty();
  demand(!ruled || (p.columns > 0 && p.column.size() == p.features),
         "rules need the column of each feature");
  for (int c : p.column) demand(c >= 0 && c < p.columns, "a column is out of range");
  demand(p.must < p.columns, "the column that must be tested is out of range");
  demand(p.next.empty() || p.next.size() % static_cast<std::size_t>(std::max(1, p.columns)) == 0,
         "the automaton needs an entry per state and column");
  for (int state : p.next) demand(state < p.states(), "a state is out of range");
  for (int label : p.label) demand(label >= 0 && label < p.classes, "a label is not a class");
  for (Loss w : p.weight) demand(w >= 0, "a weight is negative");
  for (std::size_t f = 0; f < p.features; ++f)
    demand(all_below(p.ranks(f), p.rows, p.distinct[f]), "a rank is out of range");
}

// Bit sets pay for every pair of tests, sorted scans for every pair of features: measured on
// quantized sets, they are even at 20 to 40 tests a feature, whatever the number of either. One
// long feature among short ones is for the scans, which count the stumps of the short ones by
// bitmaps.
constexpr std::size_t kBitTestsPerFeature = 20, kBitTestsOfOne = 40;
constexpr std::size_t kMostPairBytes = std::size_t{1}
                                       << 24;  // counts of pairs, per level of the search

}  // namespace

bool suits_bits(const Problem& p, const Options& options) {
  if (options.method == 1 || p.classes > 16 || p.rows > 32767 || p.leaf_rows > 1 || p.must >= 0)
    return false;
  if (!p.next.empty() && p.paths.weight.empty()) return false;
  const TestCount count = BitProblem::count_tests(p);
  if (count.tests == 0) return false;
  if (options.method == 2) return count.tests <= 4000;
  const std::size_t pair_bytes =
      count.tests * count.tests * static_cast<std::size_t>(p.classes) * sizeof(std::int16_t);
  return count.tests <= kBitTestsPerFeature * count.features && count.most <= kBitTestsOfOne &&
         pair_bytes <= kMostPairBytes;
}

namespace {

// A given tree as a first incumbent. It must keep the limits; labels are chosen anew.
RootAnswer start_answer(const Problem& p, const LossModel& loss, const Tree& tree) {
  RootAnswer start;
  if (tree.empty()) return start;
  const auto demand = [](bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
  };
  int leaves = 0;
  const int n = static_cast<int>(tree.nodes.size());
  // Children come after their parents, so one pass finds all depths.
  std::vector<int> depth(tree.nodes.size(), 0);
  for (int i = 0; i < n; ++i) {
    const TreeNode& node = tree.nodes[static_cast<std::size_t>(i)];
    PlanNode made;
    if (node.feature >= 0) {
      demand(node.feature < static_cast<int>(p.features),
             "the start tree splits on an unknown feature");
      demand(node.left > i && node.right > i && node.left < n && node.right < n,
             "the start tree's nodes are out of order");
      const auto& flags = p.allowed.empty() ? std::vector<char>{}
                                            : p.allowed[static_cast<std::size_t>(node.feature)];
      demand(node.cut < p.distinct[static_cast<std::size_t>(node.feature)] &&
                 (flags.empty() || flags[node.cut]),
             "the start tree has a cut that is not allowed");
      made.feature = node.feature;
      made.bound = node.cut + 1;
      made.left = node.left;
      made.right = node.right;
      for (int c : {node.left, node.right})
        depth[static_cast<std::size_t>(c)] = depth[static_cast<std::size_t>(i)] + 1;
    } else {
      ++leaves;
    }
    start.plan.nodes.push_back(made);
  }
  demand(*std::max_element(depth.begin(), depth.end()) <= p.depth,
         "the start tree is deeper than asked");
  demand(p.leaves == 0 || leaves <= p.leaves, "the start tree has too many leaves");
  const Finished done = finish(p, loss, start.plan);
  std::vector<std::size_t> held;
  evaluate(p, done.tree, &held);
  for (std::size_t i = 0; i < held.size(); ++i)
    demand(done.tree.nodes[i].feature >= 0 || held[i] >= static_cast<std::size_t>(p.leaf_rows),
           "the start tree has a leaf of too few rows");
  start.value = done.value - loss.offset;
  return start;
}

}  // namespace

std::optional<RootAnswer> prove_on_bits(const Dataset& data, Control& control, Result& result,
                                        const RootAnswer& start) {
  const Options& options = control.options();
  if (!suits_bits(data.problem, options)) return std::nullopt;
  const BitProblem bits(data.problem, data.loss, data.kernels);
  const std::size_t limit = options.memory_limit ? options.memory_limit : std::size_t{1} << 29;
  BitCache cache(bits, limit);
  if (!bits.fits<std::int32_t>()) return std::nullopt;
  result.method = "bitset";
  if (bits.fits<std::int16_t>())
    return BitSearch<std::int16_t>(bits, control, cache).run(result, start);
  return BitSearch<std::int32_t>(bits, control, cache).run(result, start);
}

// Whether bit sets can keep a log: tests are told apart there by rows that can lose something, and
// in a certificate by all rows.
static bool logs_bits(const Dataset& data) {
  bool all = data.problem.paths.weight.empty();
  for (std::size_t i = 0; all && i < data.problem.rows; ++i) all = data.loss.most(i) > 0;
  return all;
}

RootAnswer prove(const Dataset& data, Control& control, Result& result, const RootAnswer& start) {
  if (!control.log || logs_bits(data))
    if (const auto answer = prove_on_bits(data, control, result, start)) return *answer;
  result.method = "sorted";
  return solve_sorted(data, control, result, start);
}

namespace {

// Branch and bound, and the anytime search beside it, which tell each other their trees. With one
// thread they take turns. The proof on bit sets begins, so that what is proven at once is not held
// up; before one by scans a tree is grown, which takes little beside it.
class Beside {
 public:
  Beside(const Dataset& data, Control& control, Result& result, const RootAnswer& start)
      : data_(data),
        control_(control),
        result_(result),
        start_(start),
        turns_(first_turn(data.problem, control.options()), kSlice,
               data.problem.depth >= 5 ? 4 * kSlice : kSlice, head(data.problem),
               data.problem.depth >= 5 ? kShort : 1, growth(data.problem, control.options())) {
    if (data.problem.depth == 4) turns_.wait_for_bound(kPatience * control.options().alone);
  }

  // Depth three is proven too soon for it to be of use, but on many rows.
  static bool suits(const Problem& p, const Options& options) {
    const std::size_t cells = p.rows * p.features;
    return options.beside && options.method == 0 &&
           (p.depth >= 4 || (p.depth == 3 && cells > (std::size_t{1} << 20)));
  }

  RootAnswer run() {
    control_.shared = &shared_;
    if (!start_.plan.empty() && shared_.offer(start_.value, start_.plan))
      turns_.found(static_cast<double>(start_.value + data_.loss.offset));
    const Options& o = control_.options();
    if (o.threads == 1) control_.turns = &turns_;
    if (o.elsewhere) turns_.share_processors();  // workers would wait for the proof, too
    const bool leads = growth(data_.problem, o) > 0;
    if (control_.turns && leads && !o.elsewhere && !o.outer)
      lead();
    else
      follow();
    control_.shared = nullptr;
    control_.turns = nullptr;
    if (proof_failure_) std::rethrow_exception(proof_failure_);
    if (failure_) std::rethrow_exception(failure_);
    result_.counters.add(counters_);
    shared_.take(answer_.value, answer_.plan);
    answer_.bound = std::max(answer_.bound, std::min(lower_, answer_.value));
    answer_.complete = answer_.complete || answer_.value <= answer_.bound;
    return answer_;
  }

 private:
  // Of polled work: some hundredths of a second.
  static constexpr std::uint64_t kSlice = 5000000;
  // What is soon proven at depth 5 and more must not wait for whole turns.
  static constexpr double kShort = 1.0 / 16;
  // At depth 4 a first bound takes little more than the first turn of the proof.
  static constexpr std::uint64_t kPatience = 3;
  // What growth by purity alone takes, where the proof is not on bit sets.
  static std::uint64_t growth(const Problem& p, const Options& options) {
    return suits_bits(p, options) ? 0 : p.rows * p.features * static_cast<std::uint64_t>(p.depth);
  }
  // What growth and the first lookahead take.
  static std::uint64_t head(const Problem& p) {
    constexpr std::uint64_t kMost = 100000000, kEachCell = 600;
    return p.depth >= 4 ? std::min<std::uint64_t>(kMost, kEachCell * p.rows * p.features) : 0;
  }
  // At depth 5 and more little is proven at once: at depth 5 on bit sets what takes no longer than
  // the first turn of the other, whose work takes a quarter of the time.
  static std::uint64_t first_turn(const Problem& p, const Options& options) {
    if (p.depth < 5) return options.alone;
    const auto least = static_cast<std::uint64_t>(kShort * kSlice);
    return std::min(options.alone,
                    p.depth == 5 && suits_bits(p, options) ? std::max(least, head(p) / 4) : least);
  }

  // The proof in the calling thread.
  void follow() {
    std::thread other([this] {
      Control::mark_worker();
      Control::lane() = 1;
      improve();
    });
    prove_in_turn();
    other.join();
  }

  // The search beside the proof in the calling thread: where it leads, it often ends all, and
  // nothing waits for a thread. That of the proof begins with its first turn.
  void lead() {
    std::thread proof;
    std::promise<void> over;
    turns_.lead_here(
        [&] {
          proof = std::thread([&] {
            Control::mark_worker();
            prove_in_turn();
            over.set_value();
          });
        },
        [&] { control_.look(); });
    Control::lane() = 1;
    improve();
    Control::lane() = 0;
    if (proof.joinable()) {
      std::future<void> end = over.get_future();
      while (end.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready)
        control_.look();
      proof.join();
    } else if (nothing_left_) {
      result_.method = "sorted";
    } else {
      prove_in_turn();
    }
  }

  void prove_in_turn() {
    try {
      if (control_.turns) turns_.enter(0);
      answer_ = prove(data_, control_, result_, start_);
    } catch (...) {
      proof_failure_ = std::current_exception();
    }
    control_.stop();
    turns_.leave();
  }

  void improve() {
    try {
      if (control_.turns)
        turns_.enter(1);
      else if (growth(data_.problem, control_.options()) == 0)
        while (control_.work() < control_.options().alone && !control_.stopped())
          std::this_thread::sleep_for(std::chrono::milliseconds(2));
      control_.check();
      lower_ = data_.problem.leaf_price + data_.inseparable();
      improve_tree(data_, control_, counters_, shared_, result_, lower_);
      Loss value = lower_ + 1;
      Plan plan;
      nothing_left_ = shared_.take(value, plan);
      if (nothing_left_) control_.stop();
    } catch (const Stop&) {
    } catch (...) {
      failure_ = std::current_exception();
      control_.stop();
    }
    turns_.leave();
  }

  const Dataset& data_;
  Control& control_;
  Result& result_;
  const RootAnswer& start_;
  SharedBest shared_;
  Turns turns_;
  Counters counters_;
  RootAnswer answer_ = start_;
  Loss lower_ = 0;
  bool nothing_left_ = false;  // to improve
  std::exception_ptr proof_failure_, failure_;
};

// The start tree, told as the first incumbent.
RootAnswer first_answer(const Problem& p, const LossModel& loss, Control& control, Result& result) {
  const RootAnswer start = start_answer(p, loss, control.options().start);
  if (!start.plan.empty())
    control.incumbent(result.timeline, start.value + loss.offset, 0, {&start.plan});
  return start;
}

RootAnswer search(const Dataset& data, Control& control, Result& result) {
  const Problem& p = data.problem;
  const Options& options = control.options();
  if (p.rows < static_cast<std::size_t>(p.leaf_rows)) {
    RootAnswer none;
    none.complete = true;
    return none;
  }
  const RootAnswer start = first_answer(p, data.loss, control, result);
  if (options.method == 3) {
    result.method = "anytime";
    return solve_anytime(data, control, result, start);
  }
  return Beside::suits(p, options) ? Beside(data, control, result, start).run()
                                   : prove(data, control, result, start);
}

}  // namespace

// Least depth, then least leaves, without error; the objective counts leaves.
Result solve_smallest(const Problem& problem, const Kernels& kernels, Control& control) {
  Result result;
  result.isa = kernels.name;
  result.method = "smallest";
  if (!problem.weight.empty() || !problem.cost.empty() || problem.leaf_rows > 1 ||
      problem.must >= 0 || !problem.next.empty())
    throw std::invalid_argument(
        "the smallest tree without error takes neither weights, costs nor rules");
  const LossModel loss(problem);
  const BitProblem bits(problem, loss, kernels);
  const std::size_t limit =
      control.options().memory_limit ? control.options().memory_limit : std::size_t{1} << 29;
  SmallestTable table(bits, limit);
  const RootAnswer answer = Smallest(bits, control, table).run(result);
  result.bound = answer.bound;
  if (!answer.plan.empty()) {
    Problem plain = problem;
    plain.leaf_price = 0;
    Finished done = finish(plain, loss, answer.plan);
    if (done.value != 0) throw std::logic_error("the smallest tree has errors");
    result.tree = std::move(done.tree);
    result.value =
        static_cast<Loss>(std::count_if(result.tree.nodes.begin(), result.tree.nodes.end(),
                                        [](const TreeNode& n) { return n.feature < 0; }));
    result.status = answer.complete ? Status::optimal : Status::feasible;
  } else if (answer.complete) {
    result.status = Status::infeasible;
  }
  result.seconds = control.seconds();
  return result;
}

namespace {

// The answer of a search as a tree.
void take(const Problem& problem, const LossModel& loss, const RootAnswer& answer, Result& result) {
  result.bound = answer.bound + loss.offset;
  if (!answer.plan.empty()) {
    Finished done = finish(problem, loss, answer.plan);
    if (done.value > answer.value + loss.offset)
      throw std::logic_error("the tree's loss differs from the search's claim");
    result.tree = std::move(done.tree);
    result.value = done.value;
    // A gap that was asked for and reached is not a proof.
    result.status =
        answer.complete && result.bound >= result.value ? Status::optimal : Status::feasible;
  } else if (answer.complete) {
    result.status = Status::infeasible;
  }
}

// Whether a tree is grown before anything is proven.
bool grows_first(const Problem& p, const Options& options) {
  if (!options.start.empty()) return false;
  return options.method == 3 || (Beside::suits(p, options) && !suits_bits(p, options));
}

void solve_general(const Problem& problem, const Kernels& kernels, Control& control,
                   Result& result) {
  const bool enough = problem.rows >= static_cast<std::size_t>(problem.leaf_rows);
  const bool certify = control.options().certify;
  if (enough && !certify && suits_counts(problem, control.options())) {
    const LossModel loss(problem);
    const RootAnswer start = first_answer(problem, loss, control, result);
    return take(problem, loss, solve_by_counts(problem, loss, control, result, start), result);
  }
  control.grow_first(enough && grows_first(problem, control.options()));
  const Dataset data(problem, kernels, &control);
  ProofLog log;
  if (certify) {
    log.by_bits = checked_by_bits(data);
    control.log = &log;
  }
  const RootAnswer answer = search(data, control, result);
  if (certify) {
    log.gather();
    result.certified = answer.bound;
    result.certificate = certificate(data, log, result.certified);
    result.certified += data.loss.offset;
  }
  take(problem, data.loss, answer, result);
}

}  // namespace

Result finished(const Problem& problem, const Plan& plan) {
  check(problem);
  const Problem& p = problem;
  const auto known = [&](const PlanNode& node) {
    return node.feature < static_cast<int>(p.features) && (node.left < 0) == (node.feature < 0);
  };
  if (!std::all_of(plan.nodes.begin(), plan.nodes.end(), known))
    throw std::invalid_argument("a plan of another problem");
  Finished done = finish(problem, LossModel(problem), plan);
  Result result;
  result.tree = std::move(done.tree);
  result.value = done.value;
  result.status = Status::feasible;
  return result;
}

Result solve(const Problem& problem, const Options& options) {
  check(problem);
  Control control(options);
  Result result;
  const Kernels& kernels = choose_kernels(options.isa);
  result.isa = kernels.name;
  if (problem.smallest) return solve_smallest(problem, kernels, control);
  try {
    solve_general(problem, kernels, control, result);
  } catch (const Stop&) {  // while rows were sorted: nothing is known
  }
  result.seconds = control.seconds();
  result.work = control.work();
  return result;
}

}  // namespace odt
