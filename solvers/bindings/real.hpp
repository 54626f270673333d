// What the searches for number targets share: limits in, answers out. The interpreter's lock is
// free during the search.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "odt/regression.hpp"
#include "shared.hpp"

namespace odt_python {

inline std::vector<double> weights_of(const std::optional<Vector<double>>& weights,
                                      std::size_t rows) {
  if (!weights) return {};
  if (weights->shape(0) != rows) throw std::invalid_argument("weights need one entry per row");
  return {weights->data(), weights->data() + rows};
}

// Of the search that finds trees early: `method` is `auto`, `prove` (without it) or `anytime` (it
// alone).
struct AnytimeArgs {
  std::string method;
  std::uint64_t seed, alone, work_limit;
};

struct RealLimits {
  std::optional<double> time_limit;
  double absolute_gap, relative_gap;
  int threads;
  std::optional<std::size_t> memory_limit;
  std::optional<double> upper_bound;
  const nb::object& start;
  const AnytimeArgs& anytime;
};

inline void set_limits(odt::RegressionOptions& o, const RealLimits& limits) {
  o.time_limit = limits.time_limit.value_or(-1);
  o.absolute_gap = limits.absolute_gap;
  o.relative_gap = limits.relative_gap;
  o.threads = limits.threads;
  o.memory_limit = limits.memory_limit.value_or(0);
  const std::string& method = limits.anytime.method;
  if (method != "auto" && method != "prove" && method != "anytime")
    throw std::invalid_argument("method must be auto, prove or anytime");
  o.prove = method != "anytime";
  o.beside = method == "auto";
  o.seed = limits.anytime.seed;
  o.alone = limits.anytime.alone;
  o.work_limit = limits.anytime.work_limit;
  if (limits.upper_bound) o.upper_bound = *limits.upper_bound;
  if (!limits.start.is_none()) o.start = start_of(nb::cast<nb::dict>(limits.start));
}

inline nb::dict result_of(const odt::RegressionResult& r) {
  nb::dict d;
  const bool has_tree = !r.tree.empty();
  d["status"] = name_of(r.status);
  d["objective"] = has_tree ? nb::cast(r.value) : nb::none();
  d["bound"] = r.bound;
  d["tree"] = nb::none();
  if (has_tree) {
    nb::dict tree = tree_of(r.tree);
    tree["output"] = array_of<double>(r.output.size(), [&](std::size_t i) { return r.output[i]; });
    d["tree"] = tree;
  }
  d["counters"] = counters_of(r.counters);
  nb::list timeline;
  for (const odt::RealIncumbent& i : r.timeline)
    timeline.append(nb::make_tuple(i.seconds, i.value, i.bound));
  d["timeline"] = timeline;
  d["seconds"] = r.seconds;
  d["work"] = r.work;
  return d;
}

// Runs `solve(options)` under limits and callbacks, and gives its answer.
template <class Options, class Solve>
nb::dict answered(Options o, const RealLimits& limits, const nb::object& progress,
                  const nb::object& interrupted, Solve solve) {
  set_limits(o, limits);
  Progress heard(progress);
  if (heard.wanted())
    o.progress = [&heard](const odt::RealIncumbent& i, const odt::Found& found) {
      heard(i.value, i.bound, i.seconds, found);
    };
  Interrupt interrupt(interrupted);
  o.interrupted = [&interrupt] { return interrupt(); };
  odt::RegressionResult r;
  {
    nb::gil_scoped_release free;
    r = solve(o);
  }
  heard.rethrow();
  nb::dict d = result_of(r);
  d["interrupted"] = interrupt.raised();
  return d;
}

}  // namespace odt_python
