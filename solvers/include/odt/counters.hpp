// What a search did and what it left out, by which bound. All methods count under the same names,
// listed here once.
#pragma once

#include <cstdint>

namespace odt {

struct Counters {
  std::uint64_t nodes = 0, depth_two = 0, cuts = 0, scans = 0, column_scans = 0, blocks = 0;
  std::uint64_t scans_skipped = 0, pruned_neighbour = 0, pruned_interval = 0, pruned_lower = 0,
                pruned_leaf = 0;
  std::uint64_t cache_hits = 0, cache_entries = 0;

  inline void add(const Counters& other);
};

struct CounterName {
  const char* name;
  std::uint64_t Counters::*field;
  const char* meaning;
};
inline constexpr CounterName kCounters[] = {
    {"nodes", &Counters::nodes, "sub-problems that were branched on"},
    {"depth_two", &Counters::depth_two,
     "sub-problems whose last two levels were scanned at once (bit sets: three levels)"},
    {"cuts", &Counters::cuts, "cuts or tests of branched nodes whose two sides were solved"},
    {"scans", &Counters::scans,
     "passes over one inner feature under one outer cut (bit sets: over all stumps of a pair of "
     "tests)"},
    {"column_scans", &Counters::column_scans,
     "passes over all few-valued features at once under one outer cut"},
    {"blocks", &Counters::blocks,
     "blocks of 64 rows opened in scans, their bound being below the best known"},
    {"scans_skipped", &Counters::scans_skipped,
     "inner features left out by what they reach at neighbouring cuts"},
    {"pruned_neighbour", &Counters::pruned_neighbour,
     "intervals cut short, or tests left out, by a neighbour's loss less the rows between "
     "(deletion bound)"},
    {"pruned_interval", &Counters::pruned_interval,
     "intervals closed by the losses at their two ends (subset bound)"},
    {"pruned_lower", &Counters::pruned_lower,
     "sub-problems closed by a lower bound: inherited, prices, equal rows of different classes, "
     "number of classes"},
    {"pruned_leaf", &Counters::pruned_leaf,
     "sub-problems closed by a leaf that reaches their lower bound"},
    {"cache_hits", &Counters::cache_hits, "sub-problems answered from the cache"},
    {"cache_entries", &Counters::cache_entries, "sub-problems in the cache at the end"},
};

inline void Counters::add(const Counters& other) {
  for (const CounterName& c : kCounters) this->*c.field += other.*c.field;
}

}  // namespace odt
