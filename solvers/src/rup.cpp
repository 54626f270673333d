#include "odt/rup.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <stdexcept>
#include <unordered_map>
#include <vector>

namespace odt {
namespace {

// A literal as an index: 2 v for variable v, 2 v + 1 for its negation; variables are numbered as
// they are met.
using Lit = std::uint32_t;
using Ref = std::size_t;
using Clause = std::vector<Lit>;

constexpr Ref kNoReason = std::numeric_limits<Ref>::max();
constexpr std::uint64_t kPoll = 1 << 16;

enum Value : std::uint8_t { kUnset, kTrue, kFalse };

// Numbers of the variables met so far. A lone large name takes no memory for those below it.
class Names {
 public:
  Lit literal(std::int32_t given) {
    if (given == std::numeric_limits<std::int32_t>::min())
      throw std::invalid_argument("a literal is too large");
    const auto name = static_cast<std::uint32_t>(given < 0 ? -given : given);
    if (name < kNear && name >= near_.size())
      near_.resize(std::max<std::size_t>(name + 1, 2 * near_.size()), 0);
    std::uint32_t& number = name < kNear ? near_[name] : far_[name];
    if (number == 0) number = ++count_;
    return 2 * (number - 1) + (given < 0);
  }
  std::size_t count() const { return count_; }

 private:
  static constexpr std::uint32_t kNear = 1 << 22;
  std::vector<std::uint32_t> near_;
  std::unordered_map<std::uint32_t, std::uint32_t> far_;
  std::uint32_t count_ = 0;
};

// Clauses in one array: length, then literals, of which the first two are watched. The lowest bit
// of the length marks the deleted.
class Store {
 public:
  Ref add(const Clause& clause) {
    const Ref ref = cells_.size();
    cells_.push_back(static_cast<std::uint32_t>(clause.size()) << 1);
    cells_.insert(cells_.end(), clause.begin(), clause.end());
    return ref;
  }
  void drop(Ref ref) {
    cells_[ref] |= 1;
    wasted_ += size(ref) + 1;
  }
  bool dead(Ref ref) const { return cells_[ref] & 1; }
  std::uint32_t size(Ref ref) const { return cells_[ref] >> 1; }
  Lit* begin(Ref ref) { return &cells_[ref + 1]; }
  bool wasteful() const { return wasted_ > 4096 && wasted_ > cells_.size() / 2; }

  // Closes the gaps; `moved` is told of each clause that stays, in order.
  template <class Moved>
  void compact(Moved moved) {
    Ref to = 0;
    for (Ref from = 0; from < cells_.size();) {
      const std::size_t cells = size(from) + 1;
      if (!dead(from)) {
        std::copy_n(cells_.begin() + static_cast<std::ptrdiff_t>(from), cells,
                    cells_.begin() + static_cast<std::ptrdiff_t>(to));
        moved(from, to);
        to += cells;
      }
      from += cells;
    }
    cells_.resize(to);
    cells_.shrink_to_fit();
    wasted_ = 0;
  }

 private:
  std::vector<std::uint32_t> cells_;
  std::size_t wasted_ = 0;
};

std::uint64_t hash_of(const Lit* literals, std::size_t size) {
  // Sums do not depend on the order, which watching changes.
  std::uint64_t sum = size;
  for (std::size_t i = 0; i < size; ++i) {
    std::uint64_t x = literals[i] + 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    sum += x ^ (x >> 31);
  }
  return sum;
}

class Checker {
 public:
  explicit Checker(const std::function<bool()>& interrupted) : interrupted_(interrupted) {}

  Names names;
  RupResult result;
  bool stopped = false;

  bool refuted() const { return conflict_; }

  // A step is done: once in a while the caller is asked whether to go on.
  void poll() {
    if (++steps_ % kPoll == 0 && interrupted_ && interrupted_()) stopped = true;
  }

  // Sorts a clause and leaves out what stands twice; false where it holds whatever its variables
  // are.
  bool tidy(Clause& clause) {
    grow();
    std::sort(clause.begin(), clause.end());
    clause.erase(std::unique(clause.begin(), clause.end()), clause.end());
    for (std::size_t i = 1; i < clause.size(); ++i)
      if ((clause[i - 1] ^ 1) == clause[i]) return false;
    return true;
  }

  // Whether propagation meets a conflict where all literals of the clause are false.
  bool implied(const Clause& clause) {
    if (conflict_) return true;
    bool met = false;
    for (const Lit lit : clause) {
      if (value_[lit] == kTrue) met = true;
      if (met) break;
      if (value_[lit] == kUnset) assign(lit ^ 1, kNoReason);
    }
    met = met || !propagate();
    undo();
    return met;
  }

  // A clause from now on, with what it implies.
  void add(Clause& clause) {
    // Those that are not false come first, true ones before all: they are watched.
    std::stable_sort(clause.begin(), clause.end(), [&](Lit a, Lit b) { return rank(a) < rank(b); });
    Ref ref = kNoReason;
    if (clause.size() > 1) {
      ref = store_.add(clause);
      known_.emplace(hash_of(clause.data(), clause.size()), ref);
      watch_[clause[0]].push_back({ref, clause[1]});
      watch_[clause[1]].push_back({ref, clause[0]});
    }
    if (conflict_) return;
    if (clause.empty() || value_[clause[0]] == kFalse) {
      conflict_ = true;
    } else if (value_[clause[0]] == kUnset && (clause.size() == 1 || value_[clause[1]] == kFalse)) {
      assign(clause[0], ref);
      if (!propagate()) conflict_ = !stopped;
      fixed_ = trail_.size();
    }
  }

  // Takes one clause away that has these literals.
  void drop(const Clause& clause) {
    const auto [first, last] = known_.equal_range(hash_of(clause.data(), clause.size()));
    for (auto at = first; at != last; ++at) {
      const Ref ref = at->second;
      if (!same(ref, clause)) continue;
      if (implies_now(ref)) break;
      store_.drop(ref);
      known_.erase(at);
      ++result.deletions;
      if (store_.wasteful()) compact();
      return;
    }
    ++result.kept;
  }

 private:
  struct Watch {
    Ref ref;
    Lit other;  // a literal of the clause: where it is true, the clause need not be looked at
  };

  void grow() {
    const std::size_t literals = 2 * names.count();
    if (value_.size() >= literals) return;
    value_.resize(literals, kUnset);
    watch_.resize(literals);
    reason_.resize(names.count(), kNoReason);
    marked_.resize(literals, 0);
  }

  int rank(Lit lit) const { return value_[lit] == kTrue ? 0 : value_[lit] == kUnset ? 1 : 2; }

  void assign(Lit lit, Ref reason) {
    value_[lit] = kTrue;
    value_[lit ^ 1] = kFalse;
    reason_[lit / 2] = reason;
    trail_.push_back(lit);
  }

  void undo() {
    while (trail_.size() > fixed_) {
      const Lit lit = trail_.back();
      trail_.pop_back();
      value_[lit] = value_[lit ^ 1] = kUnset;
      reason_[lit / 2] = kNoReason;
    }
    next_ = fixed_;
  }

  // False on a conflict, and where it was stopped.
  bool propagate() {
    while (next_ < trail_.size()) {
      poll();
      if (stopped || !visit(trail_[next_++] ^ 1)) return false;
    }
    return true;
  }

  // Clauses that watch a literal which is now false.
  bool visit(Lit gone) {
    std::vector<Watch>& watches = watch_[gone];
    std::size_t kept = 0, at = 0;
    bool fine = true;
    for (; at < watches.size() && fine; ++at) {
      const Watch watch = watches[at];
      if (value_[watch.other] == kTrue) {
        watches[kept++] = watch;
        continue;
      }
      if (store_.dead(watch.ref)) continue;
      Lit* lits = store_.begin(watch.ref);
      if (lits[0] == gone) std::swap(lits[0], lits[1]);
      if (value_[lits[0]] != kTrue && elsewhere(watch.ref, lits)) continue;
      watches[kept++] = {watch.ref, lits[0]};
      if (value_[lits[0]] == kFalse) fine = false;
      if (value_[lits[0]] == kUnset) assign(lits[0], watch.ref);
    }
    kept = static_cast<std::size_t>(std::copy(watches.begin() + static_cast<std::ptrdiff_t>(at),
                                              watches.end(),
                                              watches.begin() + static_cast<std::ptrdiff_t>(kept)) -
                                    watches.begin());
    watches.resize(kept);
    return fine;
  }

  // Another literal to watch in place of the second.
  bool elsewhere(Ref ref, Lit* lits) {
    const std::uint32_t size = store_.size(ref);
    for (std::uint32_t i = 2; i < size; ++i)
      if (value_[lits[i]] != kFalse) {
        std::swap(lits[1], lits[i]);
        watch_[lits[1]].push_back({ref, lits[0]});
        return true;
      }
    return false;
  }

  bool same(Ref ref, const Clause& clause) {
    if (store_.size(ref) != clause.size()) return false;
    for (const Lit lit : clause) marked_[lit] = 1;
    const Lit* lits = store_.begin(ref);
    const bool all =
        std::all_of(lits, lits + clause.size(), [&](Lit lit) { return marked_[lit] != 0; });
    for (const Lit lit : clause) marked_[lit] = 0;
    return all;
  }

  bool implies_now(Ref ref) {
    const Lit* lits = store_.begin(ref);
    return reason_[lits[0] / 2] == ref || reason_[lits[1] / 2] == ref;
  }

  void compact() {
    std::unordered_map<Ref, Ref> implying;
    for (const Lit lit : trail_)
      if (reason_[lit / 2] != kNoReason) implying.emplace(reason_[lit / 2], lit / 2);
    known_.clear();
    for (std::vector<Watch>& watches : watch_) std::vector<Watch>().swap(watches);
    store_.compact([&](Ref from, Ref to) {
      const Lit* lits = store_.begin(to);
      known_.emplace(hash_of(lits, store_.size(to)), to);
      watch_[lits[0]].push_back({to, lits[1]});
      watch_[lits[1]].push_back({to, lits[0]});
      if (const auto found = implying.find(from); found != implying.end())
        reason_[found->second] = to;
    });
  }

  const std::function<bool()>& interrupted_;
  Store store_;
  std::unordered_multimap<std::uint64_t, Ref> known_;
  std::vector<std::vector<Watch>> watch_;
  std::vector<std::uint8_t> value_, marked_;
  std::vector<Ref> reason_;  // of the variables that are set for good: the clause that implied them
  std::vector<Lit> trail_;
  std::size_t fixed_ = 0, next_ = 0;  // literals set for good; the first that is not propagated
  bool conflict_ = false;
  std::uint64_t steps_ = 0;
};

// Lines of a proof, one after the other.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  enum class Kind { lemma, deletion, end, malformed };
  std::size_t number = 0;

  Kind next(Names& names, Clause& clause) {
    while (!rest_.empty()) {
      ++number;
      const std::size_t end = std::min(rest_.find('\n'), rest_.size());
      const std::string_view line = rest_.substr(0, end);
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      const char* at = skip(line.data(), line.data() + line.size());
      const char* const stop = line.data() + line.size();
      if (at == stop || *at == 'c') continue;
      const bool deletion = *at == 'd';
      return literals(at + deletion, stop, names, clause)
                 ? (deletion ? Kind::deletion : Kind::lemma)
                 : Kind::malformed;
    }
    return Kind::end;
  }

 private:
  static const char* skip(const char* at, const char* stop) {
    while (at != stop && (*at == ' ' || *at == '\t' || *at == '\r')) ++at;
    return at;
  }

  static bool literals(const char* at, const char* stop, Names& names, Clause& clause) {
    clause.clear();
    while ((at = skip(at, stop)) != stop) {
      std::int32_t value = 0;
      const auto [behind, failure] = std::from_chars(at, stop, value);
      if (failure != std::errc{} || value == std::numeric_limits<std::int32_t>::min()) return false;
      if (behind != stop && *behind != ' ' && *behind != '\t' && *behind != '\r') return false;
      if (value == 0) return skip(behind, stop) == stop;
      clause.push_back(names.literal(value));
      at = behind;
    }
    return false;
  }

  std::string_view rest_;
};

void read_formula(Checker& checker, const std::int32_t* formula, std::size_t size) {
  if (size > 0 && formula[size - 1] != 0)
    throw std::invalid_argument("the formula's last clause is not ended by 0");
  Clause clause;
  for (std::size_t i = 0; i < size && !checker.stopped; ++i) {
    if (formula[i] != 0) {
      clause.push_back(checker.names.literal(formula[i]));
      continue;
    }
    if (checker.tidy(clause)) checker.add(clause);
    clause.clear();
    checker.poll();
  }
}

RupStatus check(Checker& checker, Lines& lines) {
  Clause clause;
  while (true) {
    const Lines::Kind kind = lines.next(checker.names, clause);
    if (kind == Lines::Kind::end) return RupStatus::no_empty;
    if (kind == Lines::Kind::malformed) return RupStatus::malformed;
    checker.poll();
    const bool proper = checker.tidy(clause);
    if (kind == Lines::Kind::deletion) {
      if (proper) checker.drop(clause);
      if (checker.stopped) return RupStatus::interrupted;
      continue;
    }
    ++checker.result.lemmas;
    const bool implied = !proper || checker.implied(clause);
    if (checker.stopped) return RupStatus::interrupted;
    if (!implied) return RupStatus::not_implied;
    if (clause.empty()) return RupStatus::verified;
    if (proper) checker.add(clause);
    if (checker.stopped) return RupStatus::interrupted;
  }
}

}  // namespace

RupResult check_rup(const std::int32_t* formula, std::size_t size, std::string_view proof,
                    const std::function<bool()>& interrupted) {
  Checker checker(interrupted);
  Lines lines(proof);
  read_formula(checker, formula, size);
  RupResult& result = checker.result;
  result.status = checker.stopped ? RupStatus::interrupted : check(checker, lines);
  result.conflict = checker.refuted();
  const bool of_a_line =
      result.status != RupStatus::no_empty && result.status != RupStatus::interrupted;
  result.line = of_a_line ? lines.number : 0;
  return result;
}

}  // namespace odt
