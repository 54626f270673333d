// The exact search: arrays in, a dictionary out. The interpreter's lock is free during the search.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <stdexcept>
#include <string>

#include "odt/kernels.hpp"
#include "odt/problem.hpp"
#include "shared.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace odt_python;
using odt::Loss;

odt::Isa parse_isa(const std::string& name) {
  if (name == "best") return odt::Isa::best;
  if (name == "portable") return odt::Isa::portable;
  if (name == "avx2") return odt::Isa::avx2;
  if (name == "avx512") return odt::Isa::avx512;
  throw std::invalid_argument("isa must be best, portable, avx2 or avx512");
}

int parse_method(const std::string& name) {
  if (name == "auto") return 0;
  if (name == "sorted") return 1;
  if (name == "bitset") return 2;
  if (name == "anytime") return 3;
  throw std::invalid_argument("method must be auto, sorted, bitset or anytime");
}

nb::dict result_of(const odt::Result& r) {
  nb::dict d;
  const bool has_tree = !r.tree.empty();
  d["status"] = name_of(r.status);
  d["objective"] = has_tree ? nb::cast(r.value) : nb::none();
  d["bound"] = nb::cast(r.bound);
  d["tree"] = has_tree ? nb::object(tree_of(r.tree)) : nb::none();
  d["counters"] = counters_of(r.counters);
  nb::list timeline;
  for (const odt::Incumbent& i : r.timeline)
    timeline.append(nb::make_tuple(i.seconds, i.value, i.bound));
  d["timeline"] = timeline;
  d["isa"] = r.isa;
  d["method"] = r.method;
  d["seconds"] = r.seconds;
  return d;
}

nb::dict solve(const Ranks& ranks, const Vector<std::uint32_t>& distinct,
               const Vector<std::int32_t>& labels, int classes, int depth,
               const nb::object& allowed, const std::optional<Vector<std::int64_t>>& weights,
               const std::optional<Matrix<std::int64_t>>& costs, std::optional<int> max_leaves,
               Loss leaf_price, std::int32_t min_leaf_rows,
               const std::optional<Vector<std::int32_t>>& column,
               const std::optional<Matrix<std::int32_t>>& next, int must, bool smallest,
               std::optional<double> time_limit, Loss absolute_gap, double relative_gap,
               int threads, std::optional<std::size_t> memory_limit,
               std::optional<Loss> upper_bound, const nb::object& start, const nb::object& progress,
               const nb::object& interrupted, const std::string& isa, const std::string& method,
               std::uint64_t seed, bool beside, std::uint64_t alone, std::uint64_t work_limit,
               const nb::object& plan) {
  odt::Problem p = problem_of(ranks, distinct, depth);
  if (labels.shape(0) != p.rows) throw std::invalid_argument("labels need one entry per row");
  p.classes = classes;
  p.label.assign(labels.data(), labels.data() + p.rows);
  set_allowed(p, allowed);
  if (weights) {
    if (weights->shape(0) != p.rows) throw std::invalid_argument("weights need one entry per row");
    p.weight.assign(weights->data(), weights->data() + p.rows);
  }
  if (costs) {
    const std::size_t n = static_cast<std::size_t>(classes);
    if (costs->shape(0) != n || costs->shape(1) != n)
      throw std::invalid_argument("costs must be classes x classes");
    p.cost.assign(costs->data(), costs->data() + n * n);
  }
  if (max_leaves && *max_leaves < 1) throw std::invalid_argument("max_leaves must be positive");
  // As many as depth and rows allow are no limit: searches that know none may run.
  const std::int64_t possible = std::min<std::int64_t>(static_cast<std::int64_t>(p.rows),
                                                       std::int64_t{1} << std::clamp(depth, 0, 30));
  p.leaves = max_leaves && *max_leaves < possible ? *max_leaves : 0;
  p.leaf_price = leaf_price;
  p.leaf_rows = min_leaf_rows;
  p.must = must;
  if (column) {
    p.column.assign(column->data(), column->data() + column->shape(0));
    p.columns = must + 1;
    for (int c : p.column) p.columns = std::max(p.columns, c + 1);
  }
  if (next) {
    p.columns = static_cast<int>(next->shape(1));
    p.next.assign(next->data(), next->data() + next->shape(0) * next->shape(1));
  }
  p.smallest = smallest;
  if (!plan.is_none()) return result_of(odt::finished(p, plan_of(nb::cast<nb::dict>(plan))));
  odt::Options o;
  o.time_limit = time_limit.value_or(-1);
  o.absolute_gap = absolute_gap;
  o.relative_gap = relative_gap;
  o.threads = threads;
  o.memory_limit = memory_limit.value_or(0);
  o.upper_bound = upper_bound.value_or(odt::kInfinite);
  o.isa = parse_isa(isa);
  o.method = parse_method(method);
  o.seed = seed;
  o.beside = beside;
  o.alone = alone;
  o.work_limit = work_limit;
  if (!start.is_none()) o.start = start_of(nb::cast<nb::dict>(start));
  Interrupt interrupt(interrupted);
  o.interrupted = [&interrupt] { return interrupt(); };
  Progress heard(progress);
  if (heard.wanted())
    o.progress = [&heard](const odt::Incumbent& i, const odt::Found& found) {
      heard(i.value, i.bound, i.seconds, found);
    };
  odt::Result result;
  {
    nb::gil_scoped_release free;
    result = odt::solve(p, o);
  }
  heard.rethrow();
  nb::dict d = result_of(result);
  d["interrupted"] = interrupt.raised();
  return d;
}

}  // namespace

void bind_search(nb::module_& m) {
  m.def("solve", &solve, "ranks"_a, "distinct"_a, "labels"_a, "classes"_a, "depth"_a, nb::kw_only(),
        "allowed"_a = nb::none(), "weights"_a = nb::none(), "costs"_a = nb::none(),
        "max_leaves"_a = nb::none(), "leaf_price"_a = 0, "min_leaf_rows"_a = 1,
        "column"_a = nb::none(), "next"_a = nb::none(), "must_column"_a = -1, "smallest"_a = false,
        "time_limit"_a = nb::none(), "absolute_gap"_a = 0, "relative_gap"_a = 0.0, "threads"_a = 1,
        "memory_limit"_a = nb::none(), "upper_bound"_a = nb::none(), "start"_a = nb::none(),
        "progress"_a = nb::none(), "interrupted"_a = nb::none(), "isa"_a = "best",
        "method"_a = "auto", "seed"_a = 0, "beside"_a = true, "alone"_a = odt::Options{}.alone,
        "work_limit"_a = 0, "plan"_a = nb::none());
  m.def("counter_meanings", [] {
    nb::dict d;
    for (const odt::CounterName& c : odt::kCounters) d[c.name] = c.meaning;
    return d;
  });
  m.def("instruction_sets", [] {
    std::vector<std::string> names{"portable"};
    if (odt::kernels_avx2()) names.push_back("avx2");
    if (odt::kernels_avx512()) names.push_back("avx512");
    return names;
  });
}
