// From the log of a search to a certificate; the format is in docs/reference/proof.md.
#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <set>

#include "certificate_bits.hpp"

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
  explicit Stairs(const Problem& p) : price_(p.leaf_price), p_(p) {}

  void begin(const SortedRows& rows, std::size_t feature, std::int32_t least) {
    rows_ = static_cast<std::int32_t>(rows.size);
    least_ = least;
    rank_ = p_.ranks(feature);
    order_ = rows.of(feature);
    weights_ = {nullptr, rows.each};
    if (rows.each > 0) return;
    most_.resize(rows.size + 1);
    most_[0] = 0;
    for (std::size_t t = 1; t <= rows.size; ++t)
      most_[t] = most_[t - 1] + (*rows.most)[order_[t - 1]];
    weights_.upto = most_.data();
  }

  std::int32_t place(std::uint32_t bound) const {
    return static_cast<std::int32_t>(
        std::partition_point(order_, order_ + rows_,
                             [&](std::uint32_t row) { return rank_[row] < bound; }) -
        order_);
  }

  // The records that `closed` looks at; `dropped` and `lowered` change them by their places here.
  void set(const std::vector<const Record*>& records) {
    held_.clear();
    knots_.clear();
    sized_ = least_ > 1;
    places_.assign({0, rows_});
    for (const Record* r : records) {
      sized_ = sized_ || r->kind != ProofLog::any;
      const std::int32_t here = place(r->bound);
      const std::int32_t there = r->kind == ProofLog::wide ? place(r->other) : here;
      places_.push_back(here);
      if (there != here) places_.push_back(there);
      held_.push_back({std::min(here, there), std::max(here, there), r->kind, r->right, true,
                       r->value, here, -1});
    }
    std::sort(places_.begin(), places_.end());
    places_.erase(std::unique(places_.begin(), places_.end()), places_.end());
    for (std::int32_t at : places_) knot(at);
    for (Held& h : held_) {
      h.from = find(static_cast<std::int32_t>(h.from));
      h.to = find(static_cast<std::int32_t>(h.to));
      h.here = find(static_cast<std::int32_t>(h.here));
    }
  }
  // The rows on the left up to which sizes are counted in a record: of its own cut or the other.
  std::int32_t counted(std::size_t record) const {
    const Held& held = held_[record];
    return knots_[static_cast<std::size_t>(held.from == held.here ? held.to : held.from)].at;
  }
  // Whether all cuts are closed, and what follows from the records one by one is kept, so that
  // little is done again where one of them changes.
  bool begin_changes(Loss flat, Loss target) {
    if (sized_) return closed(flat, target);
    for (Knot& k : knots_) k.first = -1;
    for (std::size_t i = 0; i < held_.size(); ++i) {
      Knot& own = knots_[static_cast<std::size_t>(held_[i].here)];
      held_[i].next = own.first;
      own.first = static_cast<std::int32_t>(i);
    }
    for (std::size_t k = 0; k < knots_.size(); ++k)
      for (const bool right : {false, true}) knots_[k].of[right].own = own(k, right, flat);
    for (const bool right : {false, true})
      for (const bool deleted : {false, true}) carry(right, deleted);
    for (Knot& k : knots_) k.settle();
    return all_closed(0, knots_.size() - 1, target);
  }
  // Drops a record unless a cut would be open without it.
  bool dropped(std::size_t record, Loss flat, Loss target) {
    Held& held = held_[record];
    held.kept = false;
    held.kept = !(sized_ ? closed(flat, target) : still_closed(held, flat, target));
    return !held.kept;
  }
  // The least value of a record, of those up to its own, with which the target is still closed.
  Loss lowered(std::size_t record, Loss flat, Loss target) {
    Held& held = held_[record];
    const auto enough = [&](Loss value) {
      const Loss before = held.value;
      held.value = value;
      const bool closes = sized_ ? closed(flat, target) : still_closed(held, flat, target);
      if (!closes) held.value = before;
      return closes;
    };
    // Most are needed for their own cut, and as high as the other side leaves open there.
    const Knot& own = knots_[static_cast<std::size_t>(held.here)];
    const Loss guess = target - (held.right ? left(own) : right(own));
    Loss low = 0;
    if (guess > 0 && guess < held.value && !enough(guess)) low = guess + 1;
    if (low < held.value && !enough(held.value - 1)) return held.value;
    while (low < held.value) {
      const Loss middle = low + (held.value - low) / 2;
      if (!enough(middle)) low = middle + 1;
    }
    return held.value;
  }

  // Whether the records that are kept, and a bound on all rows, close every cut against a target.
  bool closed(Loss flat, Loss target) {
    for (Knot& k : knots_) {
      k.any_left = k.any_right = price_;
      if (sized_) k.left = k.right = k.over_left = k.over_right = price_;
    }
    raise(knots_.back().*(least_ > 1 ? &Knot::left : &Knot::any_left), flat);
    raise(knots_.front().*(least_ > 1 ? &Knot::right : &Knot::any_right), flat);
    for (const Held& h : held_)
      if (h.kept) enter(h);
    for (std::size_t i = knots_.size() - 1; i-- > 0;) {
      Knot &k = knots_[i], &after = knots_[i + 1];
      const Loss lost = weights_.between(k.at, after.at);
      if (sized_) raise(k.left, after.left - lost);
      raise(k.any_left, after.any_left - lost);
      raise(k.any_right, after.any_right);
    }
    for (std::size_t i = 1; i < knots_.size(); ++i) {
      Knot &k = knots_[i], &before = knots_[i - 1];
      const Loss lost = weights_.between(before.at, k.at);
      if (sized_) raise(k.right, before.right - lost);
      raise(k.any_right, before.any_right - lost);
      raise(k.any_left, before.any_left);
      if ((k.cut && left(k) + right(k) < target) || !closed_between(before, k, target))
        return false;
    }
    return true;
  }

 private:
  // `cut`: one may stand here. `over_left` and `over_right` hold from this knot to the next.
  struct Knot {
    std::int32_t at;
    bool cut;
    Loss left, right, any_left, any_right, over_left, over_right;
    // Of the left and the right side, where changes are followed: the bound of the records here,
    // and what comes from fewer rows and from more rows, itself included.
    struct Carried {
      Loss own, fewer, more;
      Loss best() const { return std::max(fewer, more); }
    };
    Carried of[2] = {};
    std::int32_t first = -1;  // of the records whose own cut this is
    void settle() {
      any_left = of[0].best();
      any_right = of[1].best();
    }
  };
  // A record between two knots; `here` is that of its own cut.
  struct Held {
    std::int64_t from, to;
    ProofLog::Kind kind;
    bool right, kept;
    Loss value;
    std::int64_t here;
    std::int32_t next;  // of the same cut
  };
  static void raise(Loss& to, Loss value) { to = std::max(to, value); }
  void knot(std::int32_t at) {
    Knot made{};
    made.at = at;
    made.cut = may_cut({at, at});
    made.left = made.right = made.any_left = made.any_right = price_;
    made.over_left = made.over_right = price_;
    knots_.push_back(made);
  }

  // The largest bound on a side of a knot that its own records state; `flat` holds at the ends.
  Loss own(std::size_t knot, bool right, Loss flat) const {
    Loss found = price_;
    if (knot == (right ? 0 : knots_.size() - 1)) raise(found, flat);
    for (std::int32_t i = knots_[knot].first; i >= 0;) {
      const Held& held = held_[static_cast<std::size_t>(i)];
      if (held.kept && held.right == right) raise(found, held.value);
      i = held.next;
    }
    return found;
  }

  // What a knot has of the one before it in a direction: from fewer rows a bound comes as it is,
  // from more rows less what the rows between lose.
  Loss carried(std::size_t knot, bool right, bool deleted) const {
    const Knot& k = knots_[knot];
    if (knot == (right == deleted ? 0 : knots_.size() - 1)) return k.of[right].own;
    const Knot& before = knots_[right == deleted ? knot - 1 : knot + 1];
    const Loss come = deleted ? before.of[right].more - between(k, before) : before.of[right].fewer;
    return std::max(k.of[right].own, come);
  }
  Loss between(const Knot& a, const Knot& b) const {
    return weights_.between(std::min(a.at, b.at), std::max(a.at, b.at));
  }
  void carry(bool right, bool deleted) {
    const std::size_t n = knots_.size();
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t k = right == deleted ? i : n - 1 - i;
      (deleted ? knots_[k].of[right].more : knots_[k].of[right].fewer) = carried(k, right, deleted);
    }
  }

  bool all_closed(std::size_t from, std::size_t to, Loss target) const {
    for (std::size_t i = from > 0 ? from - 1 : 0; i <= to; ++i) {
      const Knot& k = knots_[i];
      if (k.cut && k.any_left + k.any_right < target) return false;
      if (i + 1 < knots_.size() && !closed_between(k, knots_[i + 1], target)) return false;
    }
    return true;
  }

  // Whether all cuts that were closed still are, now that a record has another value; where they
  // are not, all is as before.
  bool still_closed(const Held& changed, Loss flat, Loss target) {
    const std::size_t here = static_cast<std::size_t>(changed.here);
    const bool right = changed.right;
    const Loss now = own(here, right, flat);
    if (now == knots_[here].of[right].own) return true;
    std::size_t from = here, to = here;
    undo_.clear();
    undo_.push_back({here, &Knot::Carried::own, knots_[here].of[right].own});
    knots_[here].of[right].own = now;
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
    if (all_closed(from, to, target)) return true;
    for (const Undo& one : undo_) knots_[one.knot].of[right].*one.what = one.before;
    for (std::size_t k = from; k <= to; ++k) knots_[k].settle();
    return false;
  }

  static Loss left(const Knot& k) { return std::max(k.left, k.any_left); }
  static Loss right(const Knot& k) { return std::max(k.right, k.any_right); }

  // Whether a cut may stand at one of some places.
  bool may_cut(OpenCuts at) const {
    at = at.within(std::max(least_, 1), rows_ - std::max(least_, 1));
    return at.first <= at.last && rank_[order_[at.first - 1]] != rank_[order_[at.last]];
  }

  std::int64_t find(std::int32_t place) const {
    return std::lower_bound(places_.begin(), places_.end(), place) - places_.begin();
  }

  void enter(const Held& h) {
    if (h.kind == ProofLog::any) {
      Knot& k = knots_[static_cast<std::size_t>(h.here)];
      raise(h.right ? k.any_right : k.any_left, h.value);
      return;
    }
    for (std::int64_t i = h.from; i <= h.to; ++i) {
      Knot& k = knots_[static_cast<std::size_t>(i)];
      raise(h.right ? k.right : k.left, h.value);
      if (i < h.to) raise(h.right ? k.over_right : k.over_left, h.value);
    }
  }

  bool closed_between(const Knot& low, const Knot& high, Loss target) const {
    const Interval interval{low.at,
                            high.at,
                            std::max(low.any_left, low.over_left),
                            std::max(low.right, low.any_right),
                            std::max(high.left, high.any_left),
                            std::max(high.any_right, low.over_right),
                            0,
                            0};
    return interval_bound(interval, weights_) >= target ||
           !may_cut(open_cuts(interval, weights_, target));
  }

  const Loss price_;
  const Problem& p_;
  std::int32_t rows_ = 0, least_ = 1;
  bool sized_ = false;  // not all bounds are of trees with leaves of any size
  const std::uint32_t *rank_ = nullptr, *order_ = nullptr;
  RowWeights weights_;
  std::vector<Loss> most_;            // of the rows up to a place
  std::vector<std::int32_t> places_;  // of the knots
  std::vector<Knot> knots_;
  std::vector<Held> held_;
  struct Undo {
    std::size_t knot;
    Loss Knot::Carried::* what;
    Loss before;
  };
  std::vector<Undo> undo_;
};

class Writer : public Bytes {
 public:
  Writer(const Dataset& data, const ProofLog& log) : p_(data.problem), log_(log), stairs_(p_) {
    std::vector<Loss> most(p_.rows);
    for (std::size_t i = 0; i < p_.rows; ++i) most[i] = data.loss.most(i);
    rows_.most = std::make_shared<const std::vector<Loss>>(std::move(most));
    rows_.each = data.loss.unit() ? data.loss.each : 0;
    rows_.size = p_.rows;
    rows_.order.assign(data.order.begin(), data.order.end());
    keep_.assign(p_.rows, 0);
  }

  const SortedRows& all() const { return rows_; }

  // The largest target that a node's records close, up to `most`; what lies below is not looked at.
  Loss shown(std::int32_t id, const SortedRows& rows, const Claim& claim, Loss most) {
    if (closes(id, rows, claim, most)) return most;
    Loss low = 0, high = most;
    while (low < high) {
      const Loss middle = high - (high - low) / 2;
      if (closes(id, rows, claim, middle))
        low = middle;
      else
        high = middle - 1;
      if (low == 0 && high == 0) break;
    }
    return low;
  }

  // The steps of a claim; nothing where the checker needs none.
  void write(std::int32_t id, const SortedRows& rows, Claim claim, Loss target) {
    if (target <= p_.leaf_price || !normal(claim)) return;
    if (id < 0) throw Hole{};
    const ProofLog::Node& node = log_.nodes[static_cast<std::size_t>(id)];
    number(node.points ? 0 : 1);
    if (node.points) return;
    std::vector<Kept> kept;
    Loss flat = 0;
    if (!trimmed(node, rows, claim, flat, target, kept)) {
      flat = node.flat;
      if (!flat || !trimmed(node, rows, claim, flat, target, kept)) throw Hole{};
    }
    number(static_cast<std::uint64_t>(flat));
    if (flat)
      write(node.flat_child, rows, {claim.depth - 1, claim.leaves, claim.state, claim.least}, flat);
    for (Kept& one : kept) side_by_side(one.feature, one.records, rows, claim, one.left_leaves);
  }

 private:
  // What is needed of a feature at a node, for a division of the leaves.
  struct Kept {
    std::size_t feature;
    std::int64_t left_leaves;
    std::vector<Record> records;
  };

  // Calls with each feature that may be cut, for each division of the leaves; ends where it says
  // so.
  template <class Each>
  bool each_feature(const ProofLog::Node& node, const SortedRows& rows, const Claim& claim,
                    Each each) {
    const std::int64_t half = std::int64_t{1} << (claim.depth - 1);
    std::vector<std::vector<const Record*>> of(p_.features);
    std::uint16_t division = 0;
    for (std::int64_t l = std::max<std::int64_t>(1, claim.leaves - half);
         l <= std::min(half, claim.leaves - 1); ++l, ++division) {
      for (auto& records : of) records.clear();
      for (const Record& r : node.records)
        if (r.division == division) of[r.feature].push_back(&r);
      for (std::size_t f = 0; f < p_.features; ++f) {
        const std::uint32_t* rank = p_.ranks(f);
        const std::uint32_t* order = rows.of(f);
        if (p_.after(claim.state, f) < 0 || rank[order[0]] == rank[order[rows.size - 1]]) continue;
        if (!each(f, l, of[f])) return false;
      }
    }
    return true;
  }

  bool closes(std::int32_t id, const SortedRows& rows, const Claim& claim, Loss target, Loss flat) {
    const ProofLog::Node& node = log_.nodes[static_cast<std::size_t>(id)];
    return each_feature(node, rows, claim,
                        [&](std::size_t f, std::int64_t, std::vector<const Record*>& records) {
                          if (both_sides(records, claim, f) >= target) return true;
                          stairs_.begin(rows, f, claim.least);
                          stairs_.set(records);
                          return stairs_.closed(flat, target);
                        });
  }
  bool closes(std::int32_t id, const SortedRows& rows, const Claim& claim, Loss target) {
    return closes(id, rows, claim, target, log_.nodes[static_cast<std::size_t>(id)].flat);
  }

  // What records of a feature with a single cut show of it; 0 of other features.
  Loss both_sides(const std::vector<const Record*>& records, const Claim& claim,
                  std::size_t f) const {
    if (p_.distinct[f] > 2 || claim.least > 1) return 0;
    Loss side[2] = {p_.leaf_price, p_.leaf_price};
    for (const Record* r : records) side[r->right] = std::max(side[r->right], r->value);
    return side[0] + side[1];
  }

  // What a record costs the checker: a node, or the rows of a side.
  std::size_t cost(const Record& r, std::size_t at, const SortedRows& rows) const {
    if (r.child >= 0)
      return rows.size + log_.nodes[static_cast<std::size_t>(r.child)].records.size();
    const std::size_t left = static_cast<std::size_t>(stairs_.counted(at));
    return r.right ? rows.size - left : left;
  }

  // Whether records and a bound on all rows close all cuts, and the records without those that are
  // not needed.
  bool trimmed(const ProofLog::Node& node, const SortedRows& rows, const Claim& claim, Loss flat,
               Loss target, std::vector<Kept>& kept) {
    kept.clear();
    return each_feature(node, rows, claim,
                        [&](std::size_t f, std::int64_t l, std::vector<const Record*>& records) {
                          stairs_.begin(rows, f, claim.least);
                          stairs_.set(records);
                          if (!stairs_.begin_changes(flat, target)) return false;
                          kept.push_back({f, l, trimmed(records, rows, flat, target)});
                          return true;
                        });
  }

  // Without the records that are not needed, the dearest first, and with the least bounds that are.
  std::vector<Record> trimmed(const std::vector<const Record*>& records, const SortedRows& rows,
                              Loss flat, Loss target) {
    std::vector<std::pair<std::size_t, std::size_t>> by_cost;  // and the record
    for (std::size_t i = 0; i < records.size(); ++i)
      by_cost.emplace_back(cost(*records[i], i, rows), i);
    std::stable_sort(by_cost.begin(), by_cost.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<std::size_t> left;
    for (const auto& [price, i] : by_cost)
      if (!stairs_.dropped(i, flat, target)) left.push_back(i);
    std::vector<Record> kept;
    for (std::size_t i : left) {
      kept.push_back(*records[i]);
      kept.back().value = stairs_.lowered(i, flat, target);
    }
    return kept;
  }

  void side_by_side(std::size_t f, std::vector<Record>& kept, const SortedRows& rows,
                    const Claim& claim, std::int64_t left_leaves) {
    const auto bit = [](const Record& r) { return 2 * static_cast<int>(r.kind) + r.right; };
    std::sort(kept.begin(), kept.end(), [&](const Record& a, const Record& b) {
      if (a.bound != b.bound) return a.bound < b.bound;
      if (bit(a) != bit(b)) return bit(a) < bit(b);
      return a.value > b.value;
    });
    kept.erase(std::unique(kept.begin(), kept.end(),
                           [&](const Record& a, const Record& b) {
                             return a.bound == b.bound && bit(a) == bit(b);
                           }),
               kept.end());
    std::size_t cuts = 0;
    for (std::size_t i = 0; i < kept.size(); ++i)
      cuts += i == 0 || kept[i].bound != kept[i - 1].bound;
    number(cuts);
    std::int64_t before = -1;
    for (std::size_t i = 0, j; i < kept.size(); i = j) {
      unsigned mask = 0;
      for (j = i; j < kept.size() && kept[j].bound == kept[i].bound; ++j)
        mask |= 1u << bit(kept[j]);
      const std::int64_t cut = static_cast<std::int64_t>(kept[i].bound) - 1;
      number(static_cast<std::uint64_t>(cut - before - 1));
      number(mask);
      before = cut;
      for (std::size_t k = i; k < j; ++k) side(f, kept[k], rows, claim, left_leaves);
    }
  }

  void side(std::size_t f, const Record& r, const SortedRows& rows, const Claim& claim,
            std::int64_t left_leaves) {
    if (r.kind == ProofLog::wide) number(r.other);
    number(static_cast<std::uint64_t>(r.value));
    Claim below{claim.depth - 1, r.right ? claim.leaves - left_leaves : left_leaves,
                p_.after(claim.state, f), r.kind == ProofLog::any ? 1 : claim.least};
    if (r.value <= p_.leaf_price || !normal(below)) return;
    const std::size_t t = place(rows, f, r.bound),
                      u = r.kind == ProofLog::wide ? place(rows, f, r.other) : t;
    write(r.child,
          r.right ? part_of(rows, claim.depth, f, u, rows.size, t, rows.size)
                  : part_of(rows, claim.depth, f, 0, u, 0, t),
          below, r.value);
  }

  std::size_t place(const SortedRows& rows, std::size_t f, std::uint32_t bound) const {
    const std::uint32_t *rank = p_.ranks(f), *order = rows.of(f);
    return static_cast<std::size_t>(
        std::partition_point(order, order + rows.size,
                             [&](std::uint32_t row) { return rank[row] < bound; }) -
        order);
  }

  // The rows at some places of a feature; those outside of the counted ones lose nothing. They stay
  // until the next part of a node of this depth.
  const SortedRows& part_of(const SortedRows& rows, int depth, std::size_t f, std::size_t from,
                            std::size_t to, std::size_t count_from, std::size_t count_to) {
    const std::uint32_t* order = rows.of(f);
    SortedRows& part = parts_[depth];
    part.size = to - from;
    part.most = rows.most;
    part.each = rows.each;
    if (from < count_from || to > count_to) {
      std::vector<Loss> most = *rows.most;
      for (std::size_t at = from; at < to; ++at)
        if (at < count_from || at >= count_to) most[order[at]] = 0;
      part.most = std::make_shared<const std::vector<Loss>>(std::move(most));
      part.each = 0;
    }
    for (std::size_t at = from; at < to; ++at) keep_[order[at]] = 1;
    part.order.resize(p_.features * part.size + 1);  // one is written behind the last, in vain
    for (std::size_t g = 0; g < p_.features; ++g) {
      std::uint32_t* next = &part.order[g * part.size];
      for (const std::uint32_t *at = rows.of(g), *end = at + rows.size; at != end; ++at) {
        const std::uint32_t row = *at;
        *next = row;
        next += keep_[row];
      }
    }
    for (std::size_t at = from; at < to; ++at) keep_[order[at]] = 0;
    return part;
  }

  const Problem& p_;
  const ProofLog& log_;
  SortedRows rows_;
  Stairs stairs_;                    // of the feature that is looked at
  std::map<int, SortedRows> parts_;  // of a node, by its depth
  std::vector<char> keep_;
};

}  // namespace

bool checked_by_bits(const Dataset& data) {
  const Problem& p = data.problem;
  if (p.leaf_rows > 1 || !p.next.empty() || p.must >= 0) return false;
  std::set<Loss> weights;
  Loss total = 0;
  for (std::size_t i = 0; i < p.rows; ++i) {
    weights.insert(data.loss.most(i));
    total += data.loss.most(i);
    if (weights.size() * static_cast<std::size_t>(data.loss.labels) > 16) return false;
  }
  return total < (Loss{1} << 30) &&
         std::all_of(p.distinct.begin(), p.distinct.end(), [](auto many) { return many <= 2; });
}

namespace {

// Depth and bound of a claim.
template <class Any>
void begin(Any& writer, const Problem& p, Loss bound) {
  writer.number(static_cast<std::uint64_t>(p.depth));
  writer.number(static_cast<std::uint64_t>(bound));
}

// The claim that what the log shows of all rows comes to, or what rows show that no test parts.
template <class Any>
std::string written(Any writer, const Dataset& data, const ProofLog& log, const Claim& claim,
                    Loss& bound) {
  const Problem& p = data.problem;
  // A search ends there without a log. One by scans has found it; on bit sets that would take
  // longer than what is written, and is not asked where a node shows the bound.
  const auto by_rows = [&] { return p.leaf_price + data.inseparable(); };
  Loss points = log.by_bits ? 0 : by_rows();
  Loss best = points < bound ? 0 : points;
  std::int32_t root = -1;
  for (auto id = log.roots.rbegin(); id != log.roots.rend() && best < bound; ++id) {
    if (log.nodes[static_cast<std::size_t>(*id)].points) continue;  // as `points` has it
    const Loss shown = writer.shown(*id, writer.all(), claim, bound);
    if (shown > best) best = shown, root = *id;
  }
  if (log.by_bits && best < bound) points = by_rows();
  const bool by_points = root < 0 || best <= points;
  bound = std::min(bound, std::max(best, points));
  try {
    begin(writer, p, bound);
    if (bound <= p.leaf_price) return writer.bytes;
    if (by_points)
      writer.number(0);
    else
      writer.write(root, writer.all(), claim, bound);
    return writer.bytes;
  } catch (const Hole&) {
    bound = std::min(bound, by_rows());
    Bytes less;
    begin(less, p, bound);
    if (bound > p.leaf_price) less.number(0);
    return less.bytes;
  }
}

}  // namespace

std::string certificate(const Dataset& data, const ProofLog& log, Loss& bound) {
  const Problem& p = data.problem;
  Claim claim{p.depth, p.leaves > 0 ? p.leaves : std::int64_t{1} << p.depth, 0, p.leaf_rows};
  bound = std::max<Loss>(bound, 0);
  if (!normal(claim) || bound <= p.leaf_price) {
    Bytes none;
    begin(none, p, bound);
    return none.bytes;
  }
  if (log.by_bits) return written(BitWriter(data, log), data, log, claim, bound);
  return written(Writer(data, log), data, log, claim, bound);
}

}  // namespace odt
