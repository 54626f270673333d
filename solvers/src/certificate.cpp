// From the log of a search to a certificate; the format is in docs/reference/proof.md.
#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <set>

#include "certificate_bits.hpp"
#include "certificate_stairs.hpp"

namespace odt {
namespace {

class Writer : public Bytes {
 public:
  Writer(const Dataset& data, const ProofLog& log) : p_(data.problem), log_(log), stairs_(data) {
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
    of_.resize(p_.features);
    std::uint16_t division = 0;
    for (std::int64_t l = std::max<std::int64_t>(1, claim.leaves - half);
         l <= std::min(half, claim.leaves - 1); ++l, ++division) {
      for (auto& records : of_) records.clear();
      for (const Record& r : node.records)
        if (r.division == division) of_[r.feature].push_back(&r);
      for (std::size_t f = 0; f < p_.features; ++f) {
        const std::uint32_t* rank = p_.ranks(f);
        const std::uint32_t* order = rows.of(f);
        if (p_.after(claim.state, f) < 0 || rank[order[0]] == rank[order[rows.size - 1]]) continue;
        if (!each(f, l, of_[f])) return false;
      }
    }
    return true;
  }

  bool closes(std::int32_t id, const SortedRows& rows, const Claim& claim, Loss target, Loss flat) {
    const ProofLog::Node& node = log_.nodes[static_cast<std::size_t>(id)];
    return each_feature(node, rows, claim,
                        [&](std::size_t f, std::int64_t l, std::vector<const Record*>& records) {
                          if (both_sides(records, claim, f) >= target) return true;
                          stairs_.begin(rows, f, claim.least, l, claim.leaves - l);
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
                          stairs_.begin(rows, f, claim.least, l, claim.leaves - l);
                          stairs_.set(records);
                          if (!stairs_.begin_changes(flat, target)) return false;
                          kept.push_back({f, l, trimmed(records, rows, flat, target)});
                          return true;
                        });
  }

  // Without the records that are not needed, the dearest first, and with the least bounds that are.
  std::vector<Record> trimmed(const std::vector<const Record*>& records, const SortedRows& rows,
                              Loss flat, Loss target) {
    by_cost_.clear();
    for (std::size_t i = 0; i < records.size(); ++i)
      by_cost_.emplace_back(cost(*records[i], i, rows), i);
    std::sort(by_cost_.begin(), by_cost_.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    std::size_t left = 0;
    for (const auto& one : by_cost_)
      if (!stairs_.dropped(one.second, flat, target)) by_cost_[left++] = one;
    for (std::size_t i = 0; i < left; ++i) stairs_.lower(by_cost_[i].second, flat, target);
    std::vector<Record> kept;
    kept.reserve(left);
    stairs_.by_cut([&](std::size_t i) {
      if (!stairs_.kept(i)) return;
      kept.push_back(*records[i]);
      kept.back().value = stairs_.value(i);
    });
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
  std::vector<std::vector<const Record*>> of_;                // a node, by feature
  std::vector<std::pair<std::size_t, std::size_t>> by_cost_;  // and the record
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
