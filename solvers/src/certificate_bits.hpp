// Certificates where every feature has two values: the checker carries bounds between features and
// sweeps depth three there, so few records are needed, and sets of rows are bits.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "certificate_bytes.hpp"
#include "odt/dataset.hpp"
#include "odt/lanes.hpp"
#include "odt/proof_log.hpp"

namespace odt {
namespace {

using Record = ProofLog::Record;

// How many rows are in all of three sets.
ODT_POPCNT std::int64_t count_common(const std::uint64_t* a, const std::uint64_t* b,
                                     const std::uint64_t* c, std::size_t words) {
  std::int64_t many = 0;
  for (std::size_t w = 0; w < words; ++w) many += __builtin_popcountll(a[w] & b[w] & c[w]);
  return many;
}

// What rows lose at most, summed over sets of them. (Of bits; every feature has two values.)
class Sets {
 public:
  using Members = std::vector<std::uint64_t>;

  explicit Sets(const Dataset& data) : words_((data.problem.rows + 63) / 64) {
    const Problem& p = data.problem;
    left_.assign(p.features * words_, 0);
    all_.assign(words_, 0);
    for (std::size_t row = 0; row < p.rows; ++row) {
      const std::uint64_t bit = std::uint64_t{1} << row % 64;
      Members& of = of_most_[data.loss.most(row)];
      of.resize(words_, 0);
      of[row / 64] |= bit;
      all_[row / 64] |= bit;
    }
    for (std::size_t f = 0; f < p.features; ++f) {
      std::uint64_t* left = &left_[f * words_];
      const std::uint32_t* rank = p.ranks(f);
      for (std::size_t row = 0; row < p.rows; ++row)
        left[row / 64] |= std::uint64_t{rank[row] == 0} << row % 64;
    }
  }

  const Members& all() const { return all_; }
  std::size_t features() const { return left_.size() / words_; }
  Members side(const Members& rows, std::size_t feature, bool right) const {
    Members found(rows);
    const std::uint64_t* left = &left_[feature * words_];
    for (std::size_t w = 0; w < words_; ++w) found[w] &= right ? ~left[w] : left[w];
    return found;
  }
  // Of some rows, which can lose `all`: what those can that are not on the left, and not on the
  // right of a test.
  std::array<Loss, 2> apart(const Members& rows, Loss all, std::size_t feature) const {
    const Loss left = lost(rows, &left_[feature * words_]);
    return {all - left, left};
  }
  Loss lost(const Members& rows) const { return lost(rows, all_.data()); }
  Loss lost(const Members& rows, const std::uint64_t* those) const {
    Loss sum = 0;
    for (const auto& one : of_most_)
      sum += one.first * count_common(rows.data(), one.second.data(), those, words_);
    return sum;
  }
  bool parts(const Members& rows, std::size_t feature) const {
    bool lower = false, upper = false;
    const std::uint64_t* left = &left_[feature * words_];
    for (std::size_t w = 0; w < words_; ++w) {
      lower = lower || (rows[w] & left[w]);
      upper = upper || (rows[w] & ~left[w]);
    }
    return lower && upper;
  }
  static std::size_t size(const Members& rows) {
    std::size_t many = 0;
    for (std::uint64_t word : rows) many += static_cast<std::size_t>(popcount(word));
    return many;
  }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> left_;
  Members all_;
  std::map<Loss, Members> of_most_;
};

// The bounds of a node on both sides of the tests that part its rows, for one division of the
// leaves: its records, each carried to all tests.
class Carried {
 public:
  // `alike`: both sides may have as many leaves, so that bounds go to either.
  Carried(const Sets& sets, const Sets::Members& rows, Loss price, bool alike)
      : sets_(sets), price_(price), alike_(alike) {
    std::set<Sets::Members> known;  // tests that part the rows alike are one
    for (std::size_t f = 0; f < sets.features(); ++f)
      if (sets.parts(rows, f) && known.insert(sets.side(rows, f, false)).second &&
          (!alike || known.insert(sets.side(rows, f, true)).second))
        tests_.push_back(f);
    const Loss all = sets.lost(rows);
    for (std::size_t test : tests_)
      for (Loss lost : sets.apart(rows, all, test)) apart_.push_back(lost);
  }

  void set(const Sets::Members& rows, const std::vector<const Record*>& records, Loss flat) {
    for (const Record* r : records) {
      const Sets::Members side = sets_.side(rows, r->feature, r->right);
      Held held{r->value, std::vector<Loss>(2 * tests_.size(), kNowhere), true};
      const Loss all = sets_.lost(side);
      for (std::size_t t = 0; t < tests_.size(); ++t) {
        const std::array<Loss, 2> lost = sets_.apart(side, all, tests_[t]);
        for (std::size_t k = 0; k < 2; ++k)
          if (alike_ || (k == 1) == r->right) held.lost[2 * t + k] = lost[k];
      }
      held_.push_back(std::move(held));
    }
    set_flat(flat);
  }
  void set_flat(Loss flat) {
    base_.clear();
    for (Loss lost : apart_) base_.push_back(std::max(price_, flat - lost));
    bound_.resize(base_.size());
    for (std::size_t i = 0; i < base_.size(); ++i) bound_[i] = without(held_.size(), i);
  }
  // The largest target that is closed.
  Loss shown() const { return least(bound_); }

  // Leaves a record out, if the others close the target.
  bool leave_out(std::size_t record, Loss target) {
    std::vector<Loss> bound = bound_;
    for (std::size_t i = 0; i < bound.size(); ++i)
      if (held_[record].at(i) >= bound[i]) bound[i] = without(record, i);
    if (least(bound) < target) return false;
    held_[record].kept = false;
    bound_ = std::move(bound);
    return true;
  }
  // The least value of a record that closes the target with the others.
  Loss lowered(std::size_t record, Loss target) {
    Held& held = held_[record];
    std::vector<Loss> others(bound_.size()), bound(bound_.size());
    for (std::size_t i = 0; i < others.size(); ++i) others[i] = without(record, i);
    Loss low = 0, high = held.value;
    while (low < high) {
      held.value = low + (high - low) / 2;
      for (std::size_t i = 0; i < bound.size(); ++i) bound[i] = std::max(others[i], held.at(i));
      if (least(bound) >= target)
        high = held.value;
      else
        low = held.value + 1;
    }
    held.value = high;
    for (std::size_t i = 0; i < bound.size(); ++i) bound_[i] = std::max(others[i], held.at(i));
    return high;
  }

 private:
  static constexpr Loss kNowhere = kInfinite;
  struct Held {
    Loss value;
    std::vector<Loss> lost;  // on the way to each side of each test
    bool kept;
    Loss at(std::size_t i) const { return value - lost[i]; }
  };
  Loss without(std::size_t record, std::size_t i) const {
    Loss most = base_[i];
    for (std::size_t r = 0; r < held_.size(); ++r)
      if (held_[r].kept && r != record) most = std::max(most, held_[r].at(i));
    return most;
  }
  static Loss least(const std::vector<Loss>& bound) {
    Loss found = kInfinite;
    for (std::size_t i = 0; i < bound.size(); i += 2)
      found = std::min(found, bound[i] + bound[i + 1]);
    return found;
  }

  const Sets& sets_;
  Loss price_;
  bool alike_;
  std::vector<std::size_t> tests_;
  std::vector<Loss> apart_;         // what the rows lose that are not on a side
  std::vector<Loss> base_, bound_;  // left and right side of each test in turn
  std::vector<Held> held_;
};

// Writes claims that the checker checks on bits.
class BitWriter : public Bytes {
 public:
  BitWriter(const Dataset& data, const ProofLog& log) : p_(data.problem), log_(log), sets_(data) {}

  const Sets::Members& all() const { return sets_.all(); }

  // The largest target that a node's records close, up to `most`.
  Loss shown(std::int32_t id, const Sets::Members& rows, const Claim& claim, Loss most) {
    const ProofLog::Node& node = log_.nodes[static_cast<std::size_t>(id)];
    if (node.sweep) return std::min(most, node.flat);
    last_ = divided(node, rows, claim);
    last_id_ = id;
    for (const Division& d : last_) most = std::min(most, d.carried.shown());
    return std::max<Loss>(most, 0);
  }

  void write(std::int32_t id, const Sets::Members& rows, Claim claim, Loss target) {
    if (target <= p_.leaf_price || !normal(claim)) return;
    if (id < 0) throw Hole{};
    const ProofLog::Node& node = log_.nodes[static_cast<std::size_t>(id)];
    number(node.points ? 0 : node.sweep ? 2 : 1);
    if (node.sweep && (node.flat < target || claim.depth != 3 || claim.leaves != 8)) throw Hole{};
    if (node.points || node.sweep) return;
    std::vector<Division> divisions =
        last_id_ == id ? std::move(last_) : divided(node, rows, claim);
    last_id_ = -1;
    // Whether a bound on all rows is needed.
    Loss flat = 0;
    for (Division& d : divisions) {
      d.carried.set_flat(0);
      if (d.carried.shown() < target) flat = node.flat;
    }
    number(static_cast<std::uint64_t>(flat));
    if (flat) write(node.flat_child, rows, {claim.depth - 1, claim.leaves, 0, 1}, flat);
    for (Division& d : divisions) write(d, rows, claim, flat, target);
  }

 private:
  using Records = std::vector<const Record*>;
  struct Division {
    std::int64_t left;  // leaves
    Records records;
    Carried carried;
  };

  std::vector<Division> divided(const ProofLog::Node& node, const Sets::Members& rows,
                                const Claim& claim) {
    const std::int64_t half = std::int64_t{1} << (claim.depth - 1);
    std::vector<Division> found;
    for (std::int64_t l = std::max<std::int64_t>(1, claim.leaves - half);
         l <= std::min(half, claim.leaves - 1); ++l) {
      Records records;
      for (const Record& r : node.records)
        if (r.division == found.size()) records.push_back(&r);
      found.push_back({l, records, Carried(sets_, rows, p_.leaf_price, 2 * l == claim.leaves)});
      found.back().carried.set(rows, records, node.flat);
    }
    return found;
  }

  void write(Division& d, const Sets::Members& rows, const Claim& claim, Loss flat, Loss target) {
    d.carried.set_flat(flat);
    const std::vector<Record> kept = trimmed(d.carried, d.records, rows, target);
    std::size_t at = 0;
    for (std::size_t f = 0; f < p_.features; ++f) {
      if (!sets_.parts(rows, f)) continue;
      unsigned mask = 0;
      const std::size_t from = at;
      for (; at < kept.size() && kept[at].feature == f; ++at) mask |= 1u << kept[at].right;
      number(mask != 0);
      if (mask == 0) continue;
      number(0);  // the first cut
      number(mask);
      for (std::size_t i = from; i < at; ++i) {
        number(static_cast<std::uint64_t>(kept[i].value));
        const std::int64_t leaves = kept[i].right ? claim.leaves - d.left : d.left;
        write(kept[i].child, sets_.side(rows, f, kept[i].right), {claim.depth - 1, leaves, 0, 1},
              kept[i].value);
      }
    }
  }

  // The records that are needed, by feature and side: the dearest are left out first.
  std::vector<Record> trimmed(Carried& carried, const Records& records, const Sets::Members& rows,
                              Loss target) {
    if (carried.shown() < target) throw Hole{};
    std::vector<std::pair<std::size_t, std::size_t>> by_cost;  // and the record
    for (std::size_t i = 0; i < records.size(); ++i) {
      const Record& r = *records[i];
      std::size_t cost = Sets::size(sets_.side(rows, r.feature, r.right));
      if (r.child >= 0) cost += log_.nodes[static_cast<std::size_t>(r.child)].records.size();
      by_cost.emplace_back(cost, i);
    }
    std::stable_sort(by_cost.begin(), by_cost.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<std::size_t> left;
    for (const auto& one : by_cost)
      if (!carried.leave_out(one.second, target)) left.push_back(one.second);
    std::vector<Record> kept;
    for (std::size_t i : left) {
      const Record& r = *records[i];
      kept.push_back(r);
      // A sweep takes as long for any value.
      if (r.child < 0 || !log_.nodes[static_cast<std::size_t>(r.child)].sweep)
        kept.back().value = carried.lowered(i, target);
    }
    std::sort(kept.begin(), kept.end(), [](const Record& a, const Record& b) {
      return a.feature != b.feature ? a.feature < b.feature : a.right < b.right;
    });
    return kept;
  }

  const Problem& p_;
  const ProofLog& log_;
  Sets sets_;
  std::int32_t last_id_ = -1;  // of which node `last_` is
  std::vector<Division> last_;
};

}  // namespace
}  // namespace odt
