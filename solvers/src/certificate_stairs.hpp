// Which bounds along a feature close all of its cuts, and which of them are needed for it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "odt/dataset.hpp"
#include "odt/few_leaves.hpp"
#include "odt/interval.hpp"
#include "odt/proof_log.hpp"

namespace odt {
namespace {

// The rows of a node in the order of each feature, and what each of them can lose.
struct SortedRows {
  std::vector<std::uint32_t> order;  // [feature * size + place]
  std::size_t size = 0;
  std::shared_ptr<const std::vector<Loss>> most;  // of all rows of the problem
  Loss each = 0;                                  // what all of them can lose alike, or 0
  const std::uint32_t* of(std::size_t feature) const { return &order[feature * size]; }
};

// A feature at a node: how its bounds close its cuts. Places are the rows on the left.
class Stairs {
 public:
  explicit Stairs(const Dataset& data)
      : price_(data.problem.leaf_price), p_(data.problem), loss_(data.loss) {}

  // `left`, `right`: the most leaves on each side.
  void begin(const SortedRows& rows, std::size_t feature, std::int32_t least, std::int64_t left,
             std::int64_t right) {
    rows_ = static_cast<std::int32_t>(rows.size);
    least_ = least;
    rank_ = p_.ranks(feature);
    order_ = rows.of(feature);
    weights_ = {nullptr, rows.each};
    leaves_[0] = static_cast<int>(std::min<std::int64_t>(left, loss_.labels));
    leaves_[1] = static_cast<int>(std::min<std::int64_t>(right, loss_.labels));
    loses_ = rows.each > 0 && least <= 1 &&
             FewLeaves::suits(loss_, rows.size, std::min(leaves_[0], leaves_[1]));
    if (rows.each > 0) return;
    most_.resize(rows.size + 1);
    most_[0] = 0;
    for (std::size_t t = 1; t <= rows.size; ++t)
      most_[t] = most_[t - 1] + (*rows.most)[order_[t - 1]];
    weights_.upto = most_.data();
  }

  std::int32_t place(std::uint32_t bound, std::int32_t from = 0) const {
    return static_cast<std::int32_t>(
        std::partition_point(order_ + from, order_ + rows_,
                             [&](std::uint32_t row) { return rank_[row] < bound; }) -
        order_);
  }

  // The records that `closed` looks at; `dropped` and `lowered` change them by their places here.
  void set(const std::vector<const ProofLog::Record*>& records) {
    sized_ = least_ > 1;
    held_.clear();
    ends_.clear();
    for (const ProofLog::Record* r : records) {
      sized_ = sized_ || r->kind != ProofLog::any;
      const std::uint32_t record = static_cast<std::uint32_t>(held_.size());
      ends_.push_back({r->bound, record, true});
      if (r->kind == ProofLog::wide) ends_.push_back({r->other, record, false});
      held_.push_back({0, 0, r->kind, r->right, true, r->value});
    }
    std::sort(ends_.begin(), ends_.end(), [](const End& a, const End& b) {
      return a.bound != b.bound ? a.bound < b.bound : a.record < b.record;
    });
    knots_.clear();
    knot(0, 0);
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      if (i == 0 || ends_[i].bound != ends_[i - 1].bound) {
        const std::int32_t at = place(ends_[i].bound, knots_.back().at);
        if (at != knots_.back().at) knot(at, i);
      }
      Held& held = held_[ends_[i].record];
      (ends_[i].own ? held.here : held.there) = knots_.size() - 1;
    }
    for (Held& held : held_)
      if (held.kind != ProofLog::wide) held.there = held.here;
    if (knots_.back().at != rows_) knot(rows_, ends_.size());
    loses_ = loses_ && !sized_;
    if (loses_) count();
  }
  // The records in the order of their cuts.
  template <class Each>
  void by_cut(Each each) const {
    for (const End& end : ends_)
      if (end.own) each(end.record);
  }
  bool kept(std::size_t record) const { return held_[record].kept; }
  Loss value(std::size_t record) const { return held_[record].value; }
  // The rows on the left up to which sizes are counted in a record: of its own cut or the other.
  std::int32_t counted(std::size_t record) const { return knots_[held_[record].there].at; }

  // Whether all cuts are closed, and what follows from the records one by one is kept, so that
  // little is done again where one of them changes.
  bool begin_changes(Loss flat, Loss target) {
    if (sized_) return closed(flat, target);
    for (std::size_t k = 0; k < knots_.size(); ++k) {
      for (const bool right : {false, true}) knots_[k].of[right].own = own(k, right, flat);
      knots_[k].of[0].fewer = carried(k, false, false);
      knots_[k].of[1].more = carried(k, true, true);
    }
    for (std::size_t k = knots_.size(); k-- > 0;) {
      knots_[k].of[0].more = carried(k, false, true);
      knots_[k].of[1].fewer = carried(k, true, false);
      knots_[k].settle();
    }
    return all_closed(0, knots_.size() - 1, target);
  }
  // Drops a record unless a cut would be open without it.
  bool dropped(std::size_t record, Loss flat, Loss target) {
    Held& held = held_[record];
    held.kept = false;
    held.kept = !(sized_ ? closed(flat, target) : still_closed(held, flat, target));
    return !held.kept;
  }
  // Gives a record the least value, of those up to its own, with which the target is still closed.
  void lower(std::size_t record, Loss flat, Loss target) {
    Held& held = held_[record];
    const auto enough = [&](Loss value) {
      const Loss before = held.value;
      held.value = value;
      const bool closes = sized_ ? closed(flat, target) : still_closed(held, flat, target);
      if (!closes) held.value = before;
      return closes;
    };
    if (held.value <= 0 || !enough(held.value - 1)) return;
    // Many need be as high as the other side leaves open at their own cut.
    const Loss guess = target - (held.right ? left(held.here) : right(held.here));
    Loss low = 0;
    if (guess > 0 && guess < held.value && !enough(guess)) low = guess + 1;
    if (low < held.value && !enough(held.value - 1)) return;
    while (low < held.value) {
      const Loss middle = low + (held.value - low) / 2;
      if (!enough(middle)) low = middle + 1;
    }
  }

  // Whether the records that are kept, and a bound on all rows, close every cut against a target.
  bool closed(Loss flat, Loss target) {
    for (Knot& k : knots_) k.any_left = k.any_right = price_;
    if (sized_) sizes_.assign(knots_.size(), {price_, price_, price_, price_});
    raise(least_ > 1 ? sizes_.back().left : knots_.back().any_left, flat);
    raise(least_ > 1 ? sizes_.front().right : knots_.front().any_right, flat);
    for (const Held& h : held_)
      if (h.kept) enter(h);
    for (std::size_t i = knots_.size() - 1; i-- > 0;) {
      Knot &k = knots_[i], &after = knots_[i + 1];
      const Loss lost = weights_.between(k.at, after.at);
      if (sized_) raise(sizes_[i].left, sizes_[i + 1].left - lost);
      raise(k.any_left, after.any_left - lost);
      raise(k.any_right, after.any_right + k.lost[1]);
    }
    for (std::size_t i = 1; i < knots_.size(); ++i) {
      Knot &k = knots_[i], &before = knots_[i - 1];
      const Loss lost = weights_.between(before.at, k.at);
      if (sized_) raise(sizes_[i].right, sizes_[i - 1].right - lost);
      raise(k.any_right, before.any_right - lost);
      raise(k.any_left, before.any_left + before.lost[0]);
    }
    return all_closed(0, knots_.size() - 1, target);
  }

 private:
  // `cut`: one may stand here.
  struct Knot {
    std::int32_t at;
    bool cut;
    std::size_t first;  // of the ends that are here
    Loss any_left, any_right;
    Loss lost[2];  // on the left and the right side, of the rows up to the next knot (CLASSES)
    // Of the left and the right side, where changes are followed: the bound of the records here,
    // and what comes from fewer rows and from more rows, itself included.
    struct Carried {
      Loss own, fewer, more;
      Loss best() const { return std::max(fewer, more); }
    };
    Carried of[2];
    void settle() {
      any_left = of[0].best();
      any_right = of[1].best();
    }
  };
  // Bounds of trees with leaves of the least size; those over a knot hold from there to the next.
  struct Sized {
    Loss left, right, over_left, over_right;
  };
  // A record between two knots; `here` is that of its own cut.
  struct Held {
    std::size_t here, there;
    ProofLog::Kind kind;
    bool right, kept;
    Loss value;
  };
  // An end of a record: ranks below the bound go left at it.
  struct End {
    std::uint32_t bound, record;
    bool own;  // its own cut
  };
  static void raise(Loss& to, Loss value) { to = std::max(to, value); }
  void knot(std::int32_t at, std::size_t first) {
    const std::int32_t least = std::max(least_, 1);
    knots_.push_back({at, at >= least && at <= rows_ - least, first, price_, price_, {0, 0}, {}});
  }

  // The largest bound on a side of a knot that its own records state; `flat` holds at the ends.
  Loss own(std::size_t knot, bool right, Loss flat) const {
    Loss found = price_;
    if (knot == (right ? 0 : knots_.size() - 1)) raise(found, flat);
    const std::size_t to = knot + 1 < knots_.size() ? knots_[knot + 1].first : ends_.size();
    for (std::size_t i = knots_[knot].first; i < to; ++i) {
      const Held& held = held_[ends_[i].record];
      if (held.kept && held.right == right) raise(found, held.value);
    }
    return found;
  }

  // Counts the classes between knots.
  void count() {
    const std::size_t stride = loss_.labels <= 8 ? 8 : 16;
    classes_.assign((static_cast<std::size_t>(rows_) / kBlock + 1) * stride, 0);
    for (std::size_t i = 0; i < static_cast<std::size_t>(rows_); ++i)
      classes_[i / kBlock * stride + static_cast<std::size_t>(p_.label[order_[i]])] |=
          std::uint64_t{1} << i % kBlock;
    few_leaves_.begin(classes_.data(), static_cast<int>(stride), static_cast<std::size_t>(rows_),
                      loss_);
    for (std::size_t k = 0; k + 1 < knots_.size(); ++k)
      for (const bool right : {false, true})
        knots_[k].lost[right] = few_leaves_.lost(knots_[k].at, knots_[k + 1].at, leaves_[right]);
  }

  // What a knot has of the one before it in a direction: from fewer rows a bound comes with what
  // the rows between lose at least, from more rows less what they lose at most.
  Loss carried(std::size_t knot, bool right, bool deleted) const {
    const Knot& k = knots_[knot];
    if (knot == (right == deleted ? 0 : knots_.size() - 1)) return k.of[right].own;
    const Knot& before = knots_[right == deleted ? knot - 1 : knot + 1];
    const Loss come = deleted ? before.of[right].more - between(k, before)
                              : before.of[right].fewer + (right ? k : before).lost[right];
    return std::max(k.of[right].own, come);
  }
  Loss between(const Knot& a, const Knot& b) const {
    return weights_.between(std::min(a.at, b.at), std::max(a.at, b.at));
  }

  // Whether the cuts at some knots, and between them and those beside them, are closed.
  bool all_closed(std::size_t from, std::size_t to, Loss target) {
    for (std::size_t i = from; i <= to; ++i)
      if (knots_[i].cut && left(i) + right(i) < target) return false;
    const std::size_t last = std::min(to, knots_.size() - 2);
    for (std::size_t i = from > 0 ? from - 1 : 0; i <= last; ++i)
      if (!closed_between(i, target)) return false;
    return true;
  }

  // Whether all cuts that were closed still are, now that a record has a lower value; where they
  // are not, all is as before.
  bool still_closed(const Held& changed, Loss flat, Loss target) {
    const std::size_t here = changed.here;
    const bool right = changed.right;
    Knot& k = knots_[here];
    const Loss before = k.of[right].own, now = own(here, right, flat);
    if (now == before) return true;
    k.of[right].own = now;
    // Most changes open a cut here, or beside it even if all other knots kept what they have.
    (right ? k.any_right : k.any_left) =
        std::max(carried(here, right, false), carried(here, right, true));
    if (!all_closed(here, here, target)) {
      k.of[right].own = before;
      k.settle();
      return false;
    }
    std::size_t from = here, to = here;
    undo_.clear();
    undo_.push_back({here, &Knot::Carried::own, before});
    for (const bool deleted : {false, true}) {
      const auto what = deleted ? &Knot::Carried::more : &Knot::Carried::fewer;
      const bool upwards = right == deleted;
      for (std::size_t k = here;;) {
        Loss& value = knots_[k].of[right].*what;
        const Loss next = carried(k, right, deleted);
        if (next == value) break;
        undo_.push_back({k, what, value});
        value = next;
        from = std::min(from, k), to = std::max(to, k);
        if (k == (upwards ? knots_.size() - 1 : 0)) break;
        k = upwards ? k + 1 : k - 1;
      }
    }
    for (std::size_t k = from; k <= to; ++k) knots_[k].settle();
    if (from == to || all_closed(from, to, target)) return true;
    for (const Undo& one : undo_) knots_[one.knot].of[right].*one.what = one.before;
    for (std::size_t k = from; k <= to; ++k) knots_[k].settle();
    return false;
  }

  // The bounds of both sides at a knot.
  Loss left(std::size_t knot) const {
    const Loss any = knots_[knot].any_left;
    return sized_ ? std::max(any, sizes_[knot].left) : any;
  }
  Loss right(std::size_t knot) const {
    const Loss any = knots_[knot].any_right;
    return sized_ ? std::max(any, sizes_[knot].right) : any;
  }

  // Whether a cut may stand at one of some places.
  bool may_cut(OpenCuts at) const {
    at = at.within(std::max(least_, 1), rows_ - std::max(least_, 1));
    return at.first <= at.last && rank_[order_[at.first - 1]] != rank_[order_[at.last]];
  }

  void enter(const Held& h) {
    if (h.kind == ProofLog::any) {
      Knot& k = knots_[h.here];
      raise(h.right ? k.any_right : k.any_left, h.value);
      return;
    }
    const std::size_t to = std::max(h.here, h.there);
    for (std::size_t i = std::min(h.here, h.there); i <= to; ++i) {
      Sized& k = sizes_[i];
      raise(h.right ? k.right : k.left, h.value);
      if (i < to) raise(h.right ? k.over_right : k.over_left, h.value);
    }
  }

  // Whether the cuts between a knot and the next one are closed.
  bool closed_between(std::size_t knot, Loss target) {
    const Knot &low = knots_[knot], &high = knots_[knot + 1];
    Interval interval{low.at, high.at, low.any_left, right(knot), left(knot + 1), high.any_right,
                      0,      0};
    if (sized_) {
      raise(interval.low_left, sizes_[knot].over_left);
      raise(interval.high_right, sizes_[knot].over_right);
    }
    if (interval_bound(interval, weights_) >= target) return true;
    const OpenCuts open = open_cuts(interval, weights_, target);
    if (!loses_ || !may_cut(open)) return !may_cut(open);
    const std::int32_t first = open.first - 1, last = open.last + 1;
    return lose(interval, first, last, left(interval, first), right(interval, last), target);
  }
  // CLASSES: what the left side of a cut between two knots loses rises with the cut, and what the
  // right side loses falls.
  Loss left(const Interval& i, std::int32_t cut) {
    return std::max(i.low_left + few_leaves_.lost(i.low, cut, leaves_[0]),
                    i.high_left - weights_.between(cut, i.high));
  }
  Loss right(const Interval& i, std::int32_t cut) {
    return std::max(i.high_right + few_leaves_.lost(cut, i.high, leaves_[1]),
                    i.low_right - weights_.between(i.low, cut));
  }
  // Whether they lose the target at all cuts between two; what they lose at these is known.
  bool lose(const Interval& i, std::int32_t low, std::int32_t high, Loss low_left, Loss high_right,
            Loss target) {
    if (low_left + high_right >= target || !may_cut({low + 1, high - 1})) return true;
    const std::int32_t cut = low + (high - low) / 2;
    const Loss here[2] = {left(i, cut), right(i, cut)};
    if (here[0] + here[1] < target && may_cut({cut, cut})) return false;
    return lose(i, low, cut, low_left, here[1], target) &&
           lose(i, cut, high, here[0], high_right, target);
  }

  const Loss price_;
  const Problem& p_;
  const LossModel& loss_;
  std::int32_t rows_ = 0, least_ = 1;
  bool sized_ = false;  // not all bounds are of trees with leaves of any size
  const std::uint32_t *rank_ = nullptr, *order_ = nullptr;
  RowWeights weights_;
  std::vector<Loss> most_;    // of the rows up to a place
  std::vector<Knot> knots_;   // by place
  std::vector<Sized> sizes_;  // where `sized_`: of the same knots
  std::vector<Held> held_;
  std::vector<End> ends_;  // by bound
  struct Undo {
    std::size_t knot;
    Loss Knot::Carried::* what;
    Loss before;
  };
  std::vector<Undo> undo_;
  bool loses_ = false;  // for want of leaves
  int leaves_[2] = {0, 0};
  FewLeaves few_leaves_;
  std::vector<std::uint64_t> classes_;  // as views have them
};

}  // namespace
}  // namespace odt
