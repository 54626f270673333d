// The search under rules in several threads, which share the cuts of the root.
//
// Each thread has a search of its own, with its own views, fronts and sub-trees; what they share is
// the best tree, the root's rows, and a stack of intervals of cuts that are still open. Short
// searches stay in one thread.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "odt/ruled_search.hpp"
#include "odt/workers.hpp"

namespace odt {

class RuledCrew {
 public:
  // `lead` is the search of the calling thread, and takes part.
  RuledCrew(FreeTrees& free, Control& control, RuledBest& best, Workers& workers, RuledSearch& lead)
      : workers_(workers), members_{&lead} {
    const int threads = control.options().threads;
    for (int k = 1; k < threads; ++k) {
      bounds_.push_back(std::make_unique<Search>(control));
      made_.push_back(std::make_unique<RuledSearch>(free, *bounds_.back(), control, best, threads));
      members_.push_back(made_.back().get());
    }
  }

  bool ready(const Control& control) const { return control.work() >= control.options().alone; }

  // Every cut of the root below the budget.
  void branch(View& view, int depth, int state, Loss budget, const RuledInterval& all,
              std::uint64_t until) {
    view.make_all_pairs();
    open_.clear();
    for (std::size_t f = view.features(); f-- > 0;) open_.push_back({f, all});
    busy_ = 0;
    over_ = false;
    workers_.run(members_.size(), [&](int, std::size_t k) {
      members_[k]->until_ = until;
      try {
        work(*members_[k], view, depth, state, budget);
      } catch (...) {
        end();
        throw;
      }
    });
    for (std::size_t k = 1; k < members_.size(); ++k) merge(*members_[k]);
  }

  // What the others counted; the nodes they keep.
  std::size_t count(Counters& counters) const {
    std::size_t kept = 0;
    for (const auto& one : made_) {
      counters.add(one->counters());
      kept += one->nodes_kept();
    }
    return kept;
  }

 private:
  struct Cuts {
    std::size_t feature;
    RuledInterval interval;
  };

  void work(RuledSearch& me, View& view, int depth, int state, Loss budget) {
    if (&me != members_[0]) {
      me.arena_.clear();
      me.enter(view, 0, state);
    }
    Front none;
    none.clear(me.w_.components, me.w_.order,
               me.monotone_ ? me.monotone_->facts_above(0) & me.w_.order.wanted : 0);
    RuledSearch::Column column;
    std::size_t begun = view.features();
    bool may_split = false;
    Cuts mine;
    while (take(mine)) {
      if (mine.feature != begun) {
        begun = mine.feature;
        may_split = me.begin(view, 0, depth, state, begun, column);
      }
      RuledInterval halves[2];
      const bool parted = may_split && me.part(view, 0, depth, column, mine.interval,
                                               me.tightened(budget, none, 0), none, halves);
      give(mine.feature, halves, parted);
    }
  }

  // False once nothing is open, and nobody has more to come.
  bool take(Cuts& mine) {
    std::unique_lock<std::mutex> lock(mutex_);
    wake_.wait(lock, [&] { return over_ || !open_.empty() || busy_ == 0; });
    if (over_ || open_.empty()) return false;
    mine = open_.back();
    open_.pop_back();
    ++busy_;
    return true;
  }

  void give(std::size_t feature, const RuledInterval halves[2], bool parted) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      --busy_;
      if (parted)
        for (int s = 0; s < 2; ++s) open_.push_back({feature, halves[s]});
    }
    wake_.notify_all();
  }

  void end() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      over_ = true;
    }
    wake_.notify_all();
  }

  // What another search missed is missed by all.
  void merge(RuledSearch& from) {
    RuledSearch& lead = *members_[0];
    lead.missed_at_ = std::min(lead.missed_at_, from.missed_at_);
    for (std::size_t k = 0; k < from.missing_.size(); ++k)
      lead.missing_[k] = lead.missing_[k] || from.missing_[k];
  }

  Workers& workers_;
  std::vector<std::unique_ptr<Search>> bounds_;
  std::vector<std::unique_ptr<RuledSearch>> made_;
  std::vector<RuledSearch*> members_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Cuts> open_;
  int busy_ = 0;
  bool over_ = false;
};

}  // namespace odt
