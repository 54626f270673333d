// What a search leaves behind for a certificate: the bounds that it found at cuts, node by node.
//
// A node of depth three or more is a list of them. What a side of depth two loses needs no record
// of its own: the checker finds it again; so with depth three where every feature has two values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
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
    return (static_cast<std::int32_t>(nodes.size()) - 1) * many_ + place_;
  }
  Node& at(std::int32_t id) { return nodes[static_cast<std::size_t>(id / many_)]; }
  void note(std::int32_t id, const Record& record) {
    (id == aside_of_ ? *aside_ : at(id).records).push_back(record);
  }

  // With several threads each one writes a log of its own. Their nodes have numbers of their own,
  // every so manieth, so that one log can name nodes of another; in the end all become one.
  void share(int threads) {
    many_ = threads;
    for (int place = 1; place < threads; ++place) {
      others_.push_back(std::make_unique<ProofLog>());
      others_.back()->by_bits = by_bits;
      others_.back()->many_ = many_;
      others_.back()->place_ = place;
    }
  }
  ProofLog* of(int thread) {
    return thread == 0 ? this : others_[static_cast<std::size_t>(thread) - 1].get();
  }
  // What is noted of a node that other threads note as well goes here from now on.
  void set_aside(std::int32_t id, std::vector<Record>* to) {
    aside_of_ = id;
    aside_ = to;
  }
  void gather() {
    if (many_ == 1) return;
    std::size_t most = nodes.size();
    for (const auto& other : others_) most = std::max(most, other->nodes.size());
    std::vector<Node> all(most * static_cast<std::size_t>(many_));
    for (std::int32_t place = 0; place < many_; ++place) {
      std::size_t id = static_cast<std::size_t>(place);
      for (Node& node : of(place)->nodes) {
        all[id] = std::move(node);
        id += static_cast<std::size_t>(many_);
      }
    }
    nodes = std::move(all);
    others_.clear();
    many_ = 1;
  }

  // Whether every feature has two values, and the checker therefore works on bits: it carries
  // bounds from one feature to another, and sweeps depth three.
  bool by_bits = false;
  std::vector<Node> nodes;
  std::vector<std::int32_t> roots;  // of the whole problem, the last one last
  std::int32_t last = -1;           // the node of the sub-problem that was solved last

 private:
  std::int32_t many_ = 1, place_ = 0, aside_of_ = -1;
  std::vector<Record>* aside_ = nullptr;
  std::vector<std::unique_ptr<ProofLog>> others_;
};

// Whether the checker works on bits; it may also where this says no.
bool checked_by_bits(const Dataset& data);

// The certificate that no tree loses less than a bound: as few records as close all cuts, at the
// lowest bounds that do. `bound` is lowered to what the log shows, and is 0 where it shows nothing.
std::string certificate(const Dataset& data, const ProofLog& log, Loss& bound);

}  // namespace odt
