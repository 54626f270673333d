// What a search leaves behind for a certificate: the bounds that it found at cuts, node by node.
//
// A node of depth three or more is a list of them. What a side of depth two loses needs no record
// of its own: the checker finds it again; so with depth three where every feature has two values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "odt/interval.hpp"
#include "odt/plan.hpp"
#include "odt/problem.hpp"

namespace odt {

struct Dataset;

class ProofLog {
 public:
  // A bound on one side of a cut. `any`: for trees whose leaves may be of any size (all trees,
  // where no least size is asked); `sized`: of the least size; `wide`: the same, with sizes counted
  // on the rows up to another cut.
  enum Kind : std::uint8_t { any, sized, wide };
  struct Record {
    std::uint32_t feature, bound;  // ranks below it go left
    std::uint32_t other = 0;       // `wide`: ranks below it go left at the other cut
    std::int32_t child = -1;       // the node that shows it; -1: depth two or less
    Loss value = 0;
    std::uint16_t division = 0;
    Kind kind = any;
    bool right = false;
  };
  struct Node {
    Loss flat = 0;  // what no tree of one level less undercuts on the same rows
    std::int32_t flat_child = -1;
    std::vector<Record> records;
    bool points = false;  // rows that no test parts lose as much by themselves
    bool sweep = false;   // the checker tries all trees of depth three: none loses less than `flat`
  };

  std::int32_t open(Loss flat, std::int32_t flat_child) {
    nodes.push_back({flat, flat_child, {}});
    return static_cast<std::int32_t>(nodes.size()) - 1;
  }

  // Whether every feature has two values, and the checker therefore works on bits: it carries
  // bounds from one feature to another, and sweeps depth three.
  bool by_bits = false;
  std::vector<Node> nodes;
  std::vector<std::int32_t> roots;  // of the whole problem, the last one last
  std::int32_t last = -1;           // the node of the sub-problem that was solved last
};

// Whether the checker works on bits; it may also where this says no.
bool checked_by_bits(const Dataset& data);

// The certificate that no tree loses less than a bound: as few records as close all cuts, at the
// lowest bounds that do. `bound` is lowered to what the log shows, and is 0 where it shows nothing.
std::string certificate(const Dataset& data, const ProofLog& log, Loss& bound);

}  // namespace odt
