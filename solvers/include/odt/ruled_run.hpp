// A whole search under rules: depth by depth, multipliers and fronts in turns.
//
// Good multipliers make the budgets small, but each try of them is a search of its own, and often
// the tree of the free problem or its neighbours will do. So both get time in turns, twice as much
// each time, until one of them ends it.
#pragma once

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "odt/ruled_best.hpp"
#include "odt/ruled_anytime.hpp"
#include "odt/ruled_partner.hpp"
#include "odt/ruled_choice.hpp"
#include "odt/ruled_crew.hpp"
#include "odt/ruled_search.hpp"
#include "odt/workers.hpp"

namespace odt {

class RuledRun {
 public:
  RuledRun(const RuledProblem& p, Control& control, Result& result)
      : p_(p),
        control_(control),
        result_(result),
        best_(control, result, p.offset, largest_objective(p)),
        prices_(p) {}

  void run() {
    const Tree& start = control_.options().start;
    if (!start.empty() && start_fits(start)) learn(start);
    if (control_.options().method == 3)
      improve();
    else
      prove();
    const bool found = !result_.tree.empty();
    // A gap that was asked for and reached is not a proof.
    const bool proven = best_.bound() >= best_.value();
    if (proven)
      result_.status = found ? Status::optimal : Status::infeasible;
    else
      result_.status = found ? Status::feasible : Status::unknown;
    if (control_.options().certify && result_.status == Status::optimal) tell_multipliers();
  }

 private:
  void prove() {
    RuledPartner partner(p_, control_, best_);
    try {
      // Shallower trees first: an incumbent and multipliers early, at a small part of the cost.
      for (int depth = 0; depth <= p_.base.depth && !best_.done(); ++depth) search(depth);
    } catch (const Stop&) {
    }
    result_.counters.add(partner.end());
  }

  void improve() {
    try {
      improve_ruled(p_, control_.options().start, control_, result_.counters, best_);
    } catch (const Stop&) {
    }
  }

  static constexpr int kShallowRounds = 8;
  static constexpr int kLateRounds = 20;
  static constexpr double kNear = 0.05;
  static constexpr std::uint64_t kFirstTurn = 1 << 24, kShallowWork = 1 << 25, kShallowShare = 4;
  static constexpr std::uint64_t kEver = std::numeric_limits<std::uint64_t>::max() / 2;

  // Multipliers with their bound on trees of the depth, and how far the search with them has come.
  struct Way {
    Multipliers m;
    Loss least = 0;
    double bound = -std::numeric_limits<double>::infinity();
    RuledSearch::Progress progress{0, 0};
  };

  void search(int depth) {
    const bool final = depth == p_.base.depth;
    const std::uint64_t start = control_.proof_work();
    Way way, tried;
    way.m = prices_.first();
    converged_ = !prices_.any();
    solve_free(way, depth, kEver);
    const std::uint64_t end = final ? kEver
                                    : control_.proof_work() +
                                          kShallowShare * (control_.proof_work() - start) +
                                          kShallowWork;
    for (std::uint64_t turn = kFirstTurn; !done(depth) && control_.proof_work() < end; turn *= 2) {
      if (grow(way, depth, converged_ ? end : std::min(end, control_.proof_work() + turn))) return;
      if (converged_) {
        if (!final) return;
        continue;
      }
      if (tried.m.of.empty()) {
        tried = Way{};
        tried.m = prices_.rounded(wanted_);
      }
      if (!solve_free(tried, depth, std::min(end, control_.proof_work() + turn))) continue;
      if (tried.bound > way.bound) way = tried;
      const double room = static_cast<double>(best_.value()) - way.bound;
      converged_ = top_ - way.bound <= kNear * room;
      tried = Way{};
    }
  }

  // Labels of a start are those of a finished tree.
  static bool start_fits(const Tree& tree) {
    return std::all_of(tree.nodes.begin(), tree.nodes.end(),
                       [](const TreeNode& n) { return n.feature >= 0 || n.label >= 0; });
  }

  // Whether no better tree of this depth is left.
  bool done(int depth) const { return depth == p_.base.depth && best_.done(); }

  // The multipliers of a certificate, which has no bound on leaves beside the rules: where there is
  // one here, other multipliers are wanted than the search needs.
  void tell_multipliers() {
    RuledProblem open = p_;
    open.base.leaves = 0;
    const bool limited =
        p_.base.leaves > 0 && p_.base.leaves < full_leaves(std::min(p_.base.depth, 30));
    Multipliers told = shown_.m.of.empty() ? prices_.first() : shown_.m;
    const double room = std::max(1.0, static_cast<double>(best_.value()) - shown_.bound);
    if (limited || shown_.m.of.empty() || top_ - shown_.bound > kNear * room) {
      Options rest = control_.options();
      if (rest.time_limit >= 0)
        rest.time_limit = std::max(0.0, rest.time_limit - control_.seconds());
      Control control(rest);  // the other one was told to stop
      try {
        if (!wanted_.empty()) told = prices_.rounded(wanted_);
        told = choose_multipliers(open, prices_, told, best_.value(), kLateRounds, kNear, control,
                                  result_.counters)
                   .m;
      } catch (const Stop&) {  // the check takes longer with what there is
      }
    }
    result_.multipliers = prices_.of_clauses(told);
    result_.scale = told.scale;
  }

  // The bound of a way's multipliers, until so much work is behind. False if that came too early.
  bool solve_free(Way& way, int depth, std::uint64_t until) {
    FreeTrees free(p_, way.m, depth, control_);
    Options o;
    o.isa = control_.options().isa;
    o.memory_limit = control_.options().memory_limit;
    o.threads = control_.options().threads;
    o.outer = &control_;
    if (until < kEver)
      o.work_limit = std::max<std::uint64_t>(1, until - std::min(until, control_.proof_work()));
    const bool final = depth == p_.base.depth;
    if (final)
      o.progress = [&](const Incumbent& i, const Found&) {
        best_.raise(free.weights.objective_from(free.sum_of(i.bound)));
      };
    const FreeTrees::Answer answer = free.solve(o, result_.counters);
    if (final) best_.raise(free.weights.objective_from(answer.bound));
    if (!answer.tree.empty()) learn(answer.tree);
    control_.check();
    if (!answer.complete) return false;
    way.least = answer.bound;
    way.bound = free.weights.objective(answer.bound);
    way.progress = {
        answer.bound,
        std::max<Loss>(free.weights.grain, (answer.bound - free.weights.below_zero(depth)) / 32)};
    if (prices_.any()) top_ = prices_.best(wanted_);
    if (final && way.bound > shown_.bound) shown_ = way;
    return true;
  }

  // A turn of the search. True if nothing is left.
  bool grow(Way& way, int depth, std::uint64_t until) {
    const bool final = depth == p_.base.depth;
    for (;;) {
      FreeTrees free(p_, way.m, depth, control_);
      const bool shared = depth > 1 && control_.options().threads > 1;
      if (shared && !workers_) workers_ = std::make_unique<Workers>(control_.options().threads);
      RuledSearch search(free, free.search, control_, best_,
                         shared ? control_.options().threads : 1);
      std::optional<RuledCrew> crew;
      if (shared) search.share(crew.emplace(free, control_, best_, *workers_, search));
      const auto count = [&] {
        free.search.counters.cache_entries = search.nodes_kept();
        if (crew) free.search.counters.cache_entries += crew->count(result_.counters);
        result_.counters.add(free.search.counters);
      };
      bool complete;
      try {
        complete = search.grow(depth, way.progress, final ? -1 : kShallowRounds, until);
      } catch (const Stop&) {
        count();
        throw;
      }
      count();
      if (search.missed().empty()) {
        if (final && complete) best_.raise(best_.cutoff(), false);
        return complete;
      }
      for (std::size_t k = 0; k < way.m.compared.size(); ++k)
        way.m.compared[k] = way.m.compared[k] || search.missed()[k];
    }
  }

  void learn(const Tree& tree) {
    const Measured m = measure(p_, tree);
    prices_.add(m);
    if (m.stands && keeps_clauses(p_, m.facts, m.values.data()))
      best_.offer(objective_of(p_, m.facts, m.values.data()), [&] { return tree; });
  }

  const RuledProblem& p_;
  Control& control_;
  Result& result_;
  RuledBest best_;
  Prices prices_;
  std::vector<double> wanted_;
  double top_ = 0;
  Way shown_;  // the best of the whole depth
  bool converged_ = false;
  std::unique_ptr<Workers> workers_;
};

}  // namespace odt
