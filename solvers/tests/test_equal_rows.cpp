// Groups of equal rows against a comparison of every two rows; and a limit that passes while rows
// are sorted.
#include "check.hpp"
#include "odt/equal_rows.hpp"
#include "odt/problem.hpp"
#include "random_problem.hpp"

using namespace odt;
using namespace odt_test;

namespace {

bool parted(const Problem& p, std::size_t a, std::size_t b) {
  for (std::size_t f = 0; f < p.features; ++f) {
    const std::uint32_t low = std::min(p.ranks(f)[a], p.ranks(f)[b]),
                        high = std::max(p.ranks(f)[a], p.ranks(f)[b]);
    for (std::uint32_t cut = low; cut < high; ++cut)
      if (p.allowed[f].empty() || p.allowed[f][cut]) return true;
  }
  return false;
}

}  // namespace

CASE(equal_rows_are_those_that_no_cut_parts) {
  Random random(21);
  for (int trial = 0; trial < 500; ++trial) {
    Problem p =
        random_problem(random, draw(random, 1, 30), draw(random, 1, 4), 2, draw(random, 1, 5));
    p.allowed.resize(p.features);
    for (std::size_t f = 0; f < p.features; ++f)
      if (draw(random, 0, 1))
        for (std::uint32_t r = 0; r < p.distinct[f]; ++r)
          p.allowed[f].push_back(static_cast<char>(draw(random, 0, 1)));
    const EqualRows equal(p);
    std::vector<std::size_t> group(p.rows, p.rows);
    for (std::size_t g = 0; g < equal.groups(); ++g)
      for (std::uint32_t i = equal.start[g]; i < equal.start[g + 1]; ++i) group[equal.row[i]] = g;
    for (std::size_t a = 0; a < p.rows; ++a) {
      CHECK(group[a] < p.rows);
      for (std::size_t b = 0; b < a; ++b) CHECK((group[a] != group[b]) == parted(p, a, b));
    }
  }
}

CASE(a_limit_that_passes_while_rows_are_sorted_leaves_nothing_known) {
  Random random(22);
  Problem p = random_problem(random, 4000, 1200, 2, 3);
  p.depth = 2;
  Options o;
  o.time_limit = 0;
  const Result r = solve(p, o);
  CHECK(r.status == Status::unknown);
  CHECK(r.tree.empty());
  CHECK(r.bound == 0);
}
