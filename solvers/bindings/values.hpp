// What the searches are asked and what they answer, as Python holds it.
#pragma once

#include <nanobind/stl/variant.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "odt/plan.hpp"
#include "odt/problem.hpp"
#include "odt/number_problem.hpp"
#include "shared.hpp"

namespace odt_python {

using Ranks = nb::ndarray<nb::ndim<2>, nb::c_contig, nb::device::cpu>;
// Per feature the cuts that may stand, or none: all of them.
using Cuts = std::vector<std::optional<Vector<bool>>>;

std::vector<std::vector<char>> flags_of(const Cuts& cuts, const Vector<std::uint32_t>& distinct);

// The cells as ranks, and the cuts that may stand. Keeps views of the arrays, and them alive.
struct RankTable {
  RankTable(const Ranks& cells, const Vector<std::uint32_t>& counts,
            const std::optional<Cuts>& cuts);
  odt::Problem problem(int depth) const;

  Ranks ranks;
  Vector<std::uint32_t> distinct;
  std::vector<std::vector<char>> allowed;
};

// A tree as arrays, an entry per node, the root first.
struct TreeArrays {
  explicit TreeArrays(const odt::Tree& tree);
  TreeArrays(const odt::Tree& tree, const std::vector<double>& outputs);
  // As the start of a search.
  odt::Tree start() const;

  Array<std::int32_t> feature;
  Array<std::int64_t> cut, next;
  Array<std::int32_t> left, right, label;
  std::optional<Array<double>> output;
};

struct Limits {
  std::optional<double> time_limit;
  std::optional<std::size_t> memory_limit;
  std::uint64_t work_limit;
  double absolute_gap, relative_gap;
  int threads;
  std::string method, isa;
  std::uint64_t seed;
  bool beside;
  std::optional<std::uint64_t> alone;
  Asked interrupted;
  bool certify;
};

// Of the searches for classes, with and without rules.
odt::Options options_of(const Limits& limits);
// Of the searches for numbers.
odt::NumberOptions real_options_of(const Limits& limits);

// Called with value, bound, seconds, and the tree where a new one was found.
template <class Value>
using Progress = std::optional<
    nb::typed<nb::callable, nb::object(Value, Value, double,
                                       std::optional<std::variant<odt::Plan, TreeArrays>>)>>;

inline nb::object told(const odt::Found& found) {
  if (found.plan) return nb::cast(*found.plan);
  return found.tree ? nb::cast(TreeArrays(*found.tree)) : nb::none();
}

// `Bound` is optional where a search can end without a bound.
template <class Value, class Bound = Value>
struct Answer {
  odt::Status status;
  std::optional<Value> objective;
  Bound bound;
  std::optional<TreeArrays> tree;
  odt::Counters counters;
  std::vector<std::tuple<double, Value, Value>> timeline;
  double seconds;
  std::uint64_t work;
  std::string isa, method;
  bool interrupted = false;
  std::string certificate;
  odt::Loss certified = 0;
  std::vector<odt::Loss> multipliers;
  odt::Loss scale = 1;
  std::vector<double> by_first;
};

using ClassAnswer = Answer<odt::Loss>;
using RuledAnswer = Answer<odt::Loss, std::optional<odt::Loss>>;
using NumberAnswer = Answer<double>;

template <class Made, class Result>
Made answer_of(const Result& r, bool interrupted = false) {
  Made made{};
  made.status = r.status;
  if (!r.tree.empty()) made.objective = r.value;
  made.bound = r.bound;
  if constexpr (std::is_same_v<Result, odt::NumberResult>) {
    if (!r.tree.empty()) made.tree.emplace(r.tree, r.output);
    made.by_first = r.by_first;
  } else {
    if (!r.tree.empty()) made.tree.emplace(r.tree);
    made.isa = r.isa;
    made.method = r.method;
    if constexpr (std::is_same_v<Result, odt::Result>) {
      made.certificate = r.certificate;
      made.certified = r.certified;
      made.multipliers = r.multipliers;
      made.scale = r.scale;
    }
  }
  made.counters = r.counters;
  for (const auto& i : r.timeline) made.timeline.emplace_back(i.seconds, i.value, i.bound);
  made.seconds = r.seconds;
  made.work = r.work;
  made.interrupted = interrupted;
  return made;
}

using Counts = nb::typed<nb::dict, nb::str, nb::int_>;
inline Counts counts_of(const odt::Counters& c) {
  Counts d;
  for (const odt::CounterName& name : odt::kCounters) d[name.name] = c.*name.field;
  return d;
}

// Runs `solve(options)` under the limits, tells of progress, and gives its answer. The
// interpreter's lock is free meanwhile.
template <class Made, class Value, class Options, class Solve>
Made answered(Options o, const Limits& limits, const Progress<Value>& progress, Solve solve) {
  Interrupt interrupt(limits.interrupted);
  o.interrupted = [&interrupt] { return interrupt(); };
  Callback heard(progress ? nb::handle(*progress) : nb::handle());
  if (progress)
    o.progress = [&heard](const auto& i, const odt::Found& found) {
      if (heard.raised()) return;
      Locked lock;
      heard.tell(i.value, i.bound, i.seconds, told(found));
    };
  decltype(solve(o)) result;
  {
    Unlocked free;
    result = solve(o);
  }
  heard.rethrow();
  return answer_of<Made>(result, interrupt.raised());
}

}  // namespace odt_python
