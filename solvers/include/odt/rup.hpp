// A forward checker of refutations by unit propagation (RUP), with deletion.
//
// A refutation is a list of clauses, each implied by the formula and those before it: where all
// literals of the clause are false, unit propagation meets a conflict. The last is the empty
// clause. The checker shares no code with what makes formulas, and knows nothing of trees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

namespace odt {

enum class RupStatus {
  verified,     // every clause is implied, and the empty clause is among them
  not_implied,  // the clause at `line` is not implied by unit propagation
  no_empty,     // every clause is implied, and none is empty
  malformed,    // `line` is no clause
  interrupted,
};

struct RupResult {
  RupStatus status = RupStatus::no_empty;
  std::size_t line = 0;  // of the proof, from 1; 0 where the status is of no line. The empty
                         // clause's where verified
  bool conflict =
      false;  // propagation alone refutes what is there, whether or not the proof says so
  std::uint64_t lemmas = 0;     // clauses that were checked
  std::uint64_t deletions = 0;  // clauses that were taken away
  std::uint64_t kept =
      0;  // deletions passed over: units, clauses that imply a literal now, clauses not there
};

// `formula`: literals, each clause ended by 0. `proof`: lines as "1 -2 0" and "d 1 -2 0"; lines
// that are blank or begin with 'c' say nothing. What comes behind the empty clause is not read. A
// clause of the formula that is empty refutes it, but the proof must say so all the same: the
// formula's empty clause is no line of the proof, and "0" is implied.
//
// Deletions of clauses that imply a literal by the units known are passed over, as usual in
// checkers of this kind: more clauses than meant imply more, never anything wrong.
//
// Throws std::invalid_argument where the formula's last clause is not ended, or a literal is the
// least 32-bit number.
RupResult check_rup(const std::int32_t* formula, std::size_t size, std::string_view proof,
                    const std::function<bool()>& interrupted = {});

}  // namespace odt
