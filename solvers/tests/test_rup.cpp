// The checker of refutations against its definition, spelled out naively, and on the corners of the
// format.
#include "odt/rup.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "check.hpp"
#include "random_problem.hpp"

using namespace odt;
using namespace odt_test;

namespace {

using Literals = std::vector<int>;
using Clauses = std::vector<Literals>;

std::vector<std::int32_t> flat(const Clauses& clauses) {
  std::vector<std::int32_t> all;
  for (const Literals& clause : clauses) {
    all.insert(all.end(), clause.begin(), clause.end());
    all.push_back(0);
  }
  return all;
}

RupResult run(const Clauses& formula, const std::string& proof) {
  const auto all = flat(formula);
  return check_rup(all.data(), all.size(), proof);
}

// All assignments of the variables, one after the other.
bool satisfiable(const Clauses& clauses, int variables) {
  for (unsigned at = 0; at < (1u << variables); ++at)
    if (std::all_of(clauses.begin(), clauses.end(), [&](const Literals& clause) {
          return std::any_of(clause.begin(), clause.end(), [&](int lit) {
            return ((at >> (std::abs(lit) - 1)) & 1) == (lit > 0);
          });
        }))
      return true;
  return false;
}

// Unit propagation by looking at every clause until nothing changes.
bool refutes(const Clauses& clauses, std::set<int> facts) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const Literals& clause : clauses) {
      int open = 0, left = 0;
      bool holds = false;
      for (const int lit : std::set<int>(clause.begin(), clause.end())) {
        holds = holds || facts.count(lit) > 0;
        if (facts.count(-lit) == 0) ++open, left = lit;
      }
      if (holds || open > 1) continue;
      if (open == 0) return true;
      changed = facts.insert(left).second;
      if (changed) break;
    }
  }
  return false;
}

bool implied(const Clauses& clauses, const Literals& lemma) {
  std::set<int> facts;
  for (const int lit : lemma) {
    if (facts.count(lit) > 0) return true;
    facts.insert(-lit);
  }
  return refutes(clauses, facts);
}

Literals random_clause(Random& random, int variables, int longest) {
  Literals clause;
  const int length = draw(random, 1, longest);
  for (int i = 0; i < length; ++i)
    clause.push_back((draw(random, 0, 1) ? 1 : -1) * draw(random, 1, variables));
  return clause;
}

std::string line_of(const Literals& clause, bool deletion) {
  std::string text = deletion ? "d " : "";
  for (const int lit : clause) text += std::to_string(lit) + " ";
  return text + "0\n";
}

}  // namespace

CASE(rup_says_of_each_lemma_what_propagation_says) {
  Random random(41);
  int bad = 0, empty = 0;
  for (int trial = 0; trial < check::trials(20000); ++trial) {
    const int variables = draw(random, 1, 7);
    Clauses clauses;
    for (int i = draw(random, 0, 22); i > 0; --i)
      clauses.push_back(random_clause(random, variables, 4));
    const Clauses formula = clauses;
    std::string proof;
    std::size_t line = 0, first_bad = 0, ended = 0;
    for (int i = draw(random, 0, 12); i > 0 && first_bad == 0 && ended == 0; --i) {
      ++line;
      const Literals lemma =
          draw(random, 0, 9) == 0 ? Literals{} : random_clause(random, variables, 3);
      proof += line_of(lemma, false);
      if (!implied(clauses, lemma))
        first_bad = line;
      else if (lemma.empty())
        ended = line;
      clauses.push_back(lemma);
    }
    const RupResult result = run(formula, proof);
    if (first_bad > 0) {
      ++bad;
      CHECK(result.status == RupStatus::not_implied);
      CHECK(result.line == first_bad);
    } else if (ended > 0) {
      ++empty;
      CHECK(result.status == RupStatus::verified);
      CHECK(result.line == ended);
      CHECK(!satisfiable(formula, variables));
    } else {
      CHECK(result.status == RupStatus::no_empty);
      CHECK(result.conflict == refutes(clauses, {}));
    }
  }
  CHECK(bad > check::trials(1000));
  CHECK(empty > check::trials(100));
}

CASE(rup_with_deletions_never_refutes_what_holds) {
  Random random(42);
  int verified = 0, deleted = 0;
  for (int trial = 0; trial < check::trials(20000); ++trial) {
    const int variables = draw(random, 2, 6);
    Clauses formula, all;
    for (int i = draw(random, 5, 26); i > 0; --i)
      formula.push_back(random_clause(random, variables, 3));
    all = formula;
    std::string proof;
    Clauses there = formula;
    for (int i = draw(random, 0, 20); i > 0; --i) {
      if (draw(random, 0, 2) == 0 && !there.empty()) {
        const auto at =
            static_cast<std::size_t>(draw(random, 0, static_cast<int>(there.size()) - 1));
        Literals gone = there[at];
        std::shuffle(gone.begin(), gone.end(), random);
        proof += line_of(gone, true);
        there.erase(there.begin() + static_cast<std::ptrdiff_t>(at));
        continue;
      }
      const Literals lemma = random_clause(random, variables, 3);
      if (!implied(there, lemma)) continue;  // implied by what is surely there
      proof += line_of(lemma, false);
      there.push_back(lemma);
      all.push_back(lemma);
    }
    const bool ends = refutes(there, {});
    const RupResult result = run(formula, proof + "0\n");
    // What is left out by a deletion may still be there (units, reasons), never the other way
    // round.
    if (ends) CHECK(result.status == RupStatus::verified);
    if (result.status == RupStatus::verified) CHECK(!satisfiable(formula, variables));
    if (!refutes(all, {})) CHECK(result.status == RupStatus::not_implied);
    verified += result.status == RupStatus::verified;
    deleted += result.deletions > 0;
  }
  CHECK(verified > check::trials(1000));
  CHECK(deleted > check::trials(1000));
}

CASE(rup_forgets_what_was_deleted) {
  const Clauses square{{1, 2}, {1, -2}, {-1, 2}, {-1, -2}};
  CHECK(run(square, "1 0\n0\n").status == RupStatus::verified);
  // Without -1 2 nothing follows from 1; it is no reason yet, since nothing is set.
  const RupResult gone = run(square, "d 2 -1 0\n1 0\n0\n");
  CHECK(gone.status == RupStatus::not_implied);
  CHECK(gone.line == 3);
  CHECK(gone.deletions == 1);
  // Twice there, once deleted: one is left.
  Clauses twice = square;
  twice.push_back({2, -1, 2});
  CHECK(run(twice, "d -1 2 0\n1 0\n0\n").status == RupStatus::verified);
  CHECK(run(twice, "d -1 2 0\nd -1 2 0\n1 0\n0\n").status == RupStatus::not_implied);
}

CASE(rup_keeps_units_and_reasons) {
  const RupResult unit = run({{1}, {-1, 2}, {-2, 3}, {-3, -1}}, "d 1 0\nd -1 2 0\n0\n");
  CHECK(unit.status == RupStatus::verified);
  CHECK(unit.deletions == 0);
  CHECK(unit.kept == 2);
  // 2 is implied by the clause that is then deleted, and stays.
  const RupResult reason =
      run({{1}, {-1, 2}, {-2, 3, 4}, {-2, 3, -4}, {-2, -3, 4}, {-2, -3, -4}}, "d 2 -1 0\n3 0\n0\n");
  CHECK(reason.status == RupStatus::verified);
  CHECK(reason.kept == 1);
  CHECK(run({{1, 2}, {-1}}, "d 3 4 0\nd 5 0\nd 0\n2 0\n").kept == 3);
}

CASE(rup_wants_the_empty_clause_said) {
  const RupResult silent = run({{1}, {-1}}, "");
  CHECK(silent.status == RupStatus::no_empty);
  CHECK(silent.conflict);
  CHECK(silent.line == 0);
  CHECK(run({{1}, {-1}}, "0\n").status == RupStatus::verified);
  CHECK(run({{}}, "0").status == RupStatus::verified);
  CHECK(run({{}}, "").status == RupStatus::no_empty);
  CHECK(run({}, "").status == RupStatus::no_empty);
  CHECK(run({}, "0\n").status == RupStatus::not_implied);
  CHECK(run({{1, 2}}, "1 0\n0\n").line == 1);
  // Behind the empty clause nothing is read.
  CHECK(run({{1}, {-1}}, "0\nnonsense\n").status == RupStatus::verified);
}

CASE(rup_reads_the_format) {
  const Clauses square{{1, 2}, {1, -2}, {-1, 2}, {-1, -2}};
  const RupResult noted = run(square, "c a note\n\n  1   0 \r\n\t0");
  CHECK(noted.status == RupStatus::verified);
  CHECK(noted.line == 4);
  CHECK(noted.lemmas == 2);
  for (const char* text : {"1 2\n0\n", "1 x 0\n", "1 0 2 0\n", "1-2 0\n", "99999999999 0\n",
                           "-2147483648 0\n", "- 0\n", "e 1 0\n", "1 2"}) {
    const RupResult broken = run(square, text);
    CHECK(broken.status == RupStatus::malformed);
    CHECK(broken.line == 1);
  }
  CHECK(run(square, "1 -1 0\n1 1 0\n0\n").status ==
        RupStatus::verified);  // a tautology, a literal twice
  CHECK(run(square, "2147483647 -2147483647 0\n2147483647 1 0\n1 0\n0\n").status ==
        RupStatus::verified);
  CHECK(run({{1, -1}, {2, -2, 3}}, "0\n").status == RupStatus::not_implied);
  CHECK(run({{1, -1}}, "d 1 -1 0\n1 0\n").line == 2);
  bool threw = false;
  const std::int32_t open[] = {1, 2};
  try {
    check_rup(open, 2, "");
  } catch (const std::invalid_argument&) {
    threw = true;
  }
  CHECK(threw);
}

CASE(rup_takes_much_and_gives_back_what_is_deleted) {
  // A chain of implications from 1 to n, whose shortcuts come and go.
  const int n = 200000;
  Clauses chain;
  for (int i = 1; i < n; ++i) chain.push_back({-i, i + 1, n + 1});
  std::string proof;
  for (int i = 1; i + 2 < n; i += 2) {
    const Literals shortcut{-i, i + 2, n + 1};
    proof += line_of(shortcut, false);
    if (i % 3 == 0) proof += line_of({-i, i + 1, n + 1}, true);
    if (i > 8 && i % 4 == 1) proof += line_of({-(i - 8), i - 6, n + 1}, true);
  }
  chain.push_back({-(n + 1)});
  RupResult result = run(chain, proof);
  CHECK(result.status == RupStatus::no_empty);
  CHECK(result.deletions > 50000);
  chain.push_back({1});
  chain.push_back({-n});
  result = run(chain, "0\n");
  CHECK(result.status == RupStatus::verified);
}

CASE(rup_stops_where_asked) {
  Clauses clauses;
  for (int i = 1; i < 100000; ++i) clauses.push_back({-i, i + 1});
  std::string proof;
  for (int i = 1; i < 100; ++i) proof += line_of({-1, 100000 - i}, false);
  const auto all = flat(clauses);
  int asked = 0;
  const RupResult result = check_rup(all.data(), all.size(), proof, [&] { return ++asked > 3; });
  CHECK(result.status == RupStatus::interrupted);
  CHECK(asked == 4);
}
