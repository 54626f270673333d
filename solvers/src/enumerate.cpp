#include "odt/enumerate.hpp"

#include <algorithm>
#include <queue>
#include <stdexcept>

#include "odt/enumerate_impl.hpp"
#include "odt/ruled_prices.hpp"

namespace odt {
namespace {

// A whole tree that keeps the rules, until no other one can be better.
struct Candidate {
  Loss value;
  std::size_t number;
  Tree tree;
  bool operator<(const Candidate& o) const {
    return value != o.value ? value > o.value : number > o.number;
  }
};

// Multipliers for the clauses and maxima under which no tree weighs little that breaks them by
// much: then few trees come before those that are wanted. Any will do; these are found as RuledRun
// has it.
template <class R>
Multipliers choose_multipliers(const RuledProblem& p, Loss at_most, Control& control,
                               Counters& counters) {
  constexpr int kRounds = 40;
  constexpr double kNear = 0.03;
  Prices prices(p);
  Multipliers tried = prices.first(), best = tried;
  if (!prices.any()) return best;
  double bound = 0;
  std::vector<double> wanted;
  for (int round = 0; round < kRounds; ++round) {
    control.check();
    FreeTrees<R> free(p, tried, p.base.depth, control);
    Options o;
    o.interrupted = control.options().interrupted;
    if (control.options().time_limit >= 0)
      o.time_limit = std::max(0.0, control.options().time_limit - control.seconds());
    const typename FreeTrees<R>::Answer answer = free.solve(o, counters);
    if (!answer.complete || answer.tree.empty()) break;
    const double found = free.weights.objective(answer.bound);
    if (round == 0 || found > bound) {
      bound = found;
      best = tried;
    }
    prices.add(measure(p, answer.tree));
    const double top = prices.best(wanted);
    if (top - bound <= kNear * std::max(1.0, static_cast<double>(at_most) - bound)) break;
    tried = prices.rounded(wanted);
  }
  return best;
}

template <class R>
class Run {
 public:
  Run(const RuledProblem& p, const Listing& listing, Control& control, Listed& listed)
      : p_(p),
        listing_(listing),
        control_(control),
        listed_(listed),
        free_(p, choose_multipliers<R>(p, listing.at_most, control, listed.counters), p.base.depth,
              control),
        streams_(free_, listing, control) {
    // Where the leaves are limited, each number of leaves has a stream, so that none is filled with
    // trees that are too large.
    const int most = std::min<int>(full_leaves(p.base.depth),
                                   static_cast<int>(std::min<std::size_t>(p.base.rows, 1u << 30)));
    const bool limited = p.base.leaves > 0 && p.base.leaves < most;
    for (int leaves = limited ? 1 : 0; leaves <= (limited ? p.base.leaves : 0); ++leaves)
      roots_.push_back(&streams_.root(leaves));
  }

  void run() {
    try {
      listed_.complete = list();
    } catch (const Stop&) {
    } catch (const NoMemory&) {
      listed_.no_memory = true;
    }
    listed_.counters.add(free_.search.counters);
    listed_.counters.cache_entries = streams_.streams();
  }

 private:
  static Loss least(const TreeStream* s) { return s->least(s->found.size()); }

  bool list() {
    const Loss limit = free_.weights.sum_below(listing_.at_most + 1) - 1;
    for (;;) {
      TreeStream* next = *std::min_element(roots_.begin(), roots_.end(),
                                           [](auto* a, auto* b) { return least(a) < least(b); });
      const Loss weight = least(next);
      const bool last = weight > limit;
      if (!tell(last ? listing_.at_most : free_.weights.objective_from(weight))) return false;
      if (last) return true;
      if (streams_.advance(*next, limit)) consider(*next);
    }
  }

  void consider(const TreeStream& s) {
    control_.poll(p_.base.rows * static_cast<std::size_t>(p_.base.depth + 1));
    Tree tree = streams_.tree_of(s, s.found.size() - 1);
    const Measured m = measure(p_, tree);
    if (!m.stands) throw std::logic_error("a tree was listed that may not stand");
    if (!keeps_clauses(p_, m.facts, m.values.data())) return;
    const Loss value = objective_of(p_, m.facts, m.values.data());
    if (value <= listing_.at_most) waiting_.push({value, number_++, std::move(tree)});
  }

  // Trees of at most this objective come before all others.
  bool tell(Loss objective) {
    for (; !waiting_.empty() && waiting_.top().value <= objective; waiting_.pop())
      if (!listing_.found(waiting_.top().tree, waiting_.top().value)) return false;
    return true;
  }

  const RuledProblem& p_;
  const Listing& listing_;
  Control& control_;
  Listed& listed_;
  FreeTrees<R> free_;
  TreeStreams<R> streams_;
  std::vector<TreeStream*> roots_;
  std::priority_queue<Candidate> waiting_;
  std::size_t number_ = 0;
};

}  // namespace

Listed enumerate(const RuledProblem& p, const Listing& listing, const Options& options) {
  check(p);
  if (!p.monotone.empty()) throw std::invalid_argument("orders of predictions are not listed");
  if (listing.twin.size() != p.base.features || listing.absent.size() != p.base.features)
    throw std::invalid_argument("one twin per feature");
  for (std::size_t f = 0; f < p.base.features; ++f)
    if (listing.twin[f] >= 0 && listing.absent[f].size() != p.base.rows)
      throw std::invalid_argument("absent needs an entry per row");
  Control control(options);
  Listed listed;
  const bool narrow = *std::max_element(p.base.distinct.begin(), p.base.distinct.end()) < 65535;
  try {
    if (narrow)
      Run<std::uint16_t>(p, listing, control, listed).run();
    else
      Run<std::uint32_t>(p, listing, control, listed).run();
  } catch (const Stop&) {  // before the first tree
  }
  listed.seconds = control.seconds();
  return listed;
}

}  // namespace odt
