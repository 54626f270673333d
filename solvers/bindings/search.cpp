// The exact search: arrays in, a dictionary out. The interpreter's lock is free during the search.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>

#include "odt/kernels.hpp"
#include "odt/problem.hpp"
#include "odt/regression.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using odt::Loss;
template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

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
  throw std::invalid_argument("method must be auto, sorted or bitset");
}

const char* name_of(odt::Status status) {
  switch (status) {
    case odt::Status::optimal: return "optimal";
    case odt::Status::feasible: return "feasible";
    case odt::Status::infeasible: return "infeasible";
    case odt::Status::unknown: break;
  }
  return "unknown";
}

template <class T, class Get>
nb::object array_of(std::size_t count, Get get) {
  T* data = new T[count > 0 ? count : 1];
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  for (std::size_t i = 0; i < count; ++i) data[i] = static_cast<T>(get(i));
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {count}, owner));
}

nb::dict tree_of(const odt::Tree& tree) {
  const auto& nodes = tree.nodes;
  nb::dict d;
  d["feature"] = array_of<std::int32_t>(nodes.size(), [&](std::size_t i) { return nodes[i].feature; });
  d["cut"] = array_of<std::int64_t>(nodes.size(), [&](std::size_t i) { return nodes[i].feature < 0 ? -1 : static_cast<std::int64_t>(nodes[i].cut); });
  d["next"] = array_of<std::int64_t>(nodes.size(), [&](std::size_t i) { return nodes[i].feature < 0 ? -1 : static_cast<std::int64_t>(nodes[i].next); });
  d["left"] = array_of<std::int32_t>(nodes.size(), [&](std::size_t i) { return nodes[i].left; });
  d["right"] = array_of<std::int32_t>(nodes.size(), [&](std::size_t i) { return nodes[i].right; });
  d["label"] = array_of<std::int32_t>(nodes.size(), [&](std::size_t i) { return nodes[i].label; });
  return d;
}

nb::dict counters_of(const odt::Counters& c) {
  nb::dict d;
  d["nodes"] = c.nodes;
  d["depth_two"] = c.depth_two;
  d["cuts"] = c.cuts;
  d["scans"] = c.scans;
  d["scans_skipped"] = c.scans_skipped;
  d["blocks"] = c.blocks;
  d["pruned_neighbour"] = c.pruned_neighbour;
  d["pruned_interval"] = c.pruned_interval;
  d["pruned_lower"] = c.pruned_lower;
  d["cache_hits"] = c.cache_hits;
  d["cache_entries"] = c.cache_entries;
  return d;
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
  for (const odt::Incumbent& i : r.timeline) timeline.append(nb::make_tuple(i.seconds, i.value, i.bound));
  d["timeline"] = timeline;
  d["isa"] = r.isa;
  d["method"] = r.method;
  d["seconds"] = r.seconds;
  return d;
}

using Ranks = nb::ndarray<nb::ndim<2>, nb::c_contig, nb::device::cpu>;

odt::Problem problem_of(const Ranks& ranks, const Vector<std::uint32_t>& distinct, int depth) {
  odt::Problem p;
  p.features = ranks.shape(0);
  p.rows = ranks.shape(1);
  if (distinct.shape(0) != p.features) throw std::invalid_argument("distinct needs one entry per feature");
  p.depth = depth;
  const std::size_t cells = p.features * p.rows;
  if (ranks.dtype() == nb::dtype<std::uint16_t>()) {
    const auto* data = static_cast<const std::uint16_t*>(ranks.data());
    p.rank.assign(data, data + cells);
  } else if (ranks.dtype() == nb::dtype<std::uint32_t>()) {
    const auto* data = static_cast<const std::uint32_t*>(ranks.data());
    p.rank.assign(data, data + cells);
  } else {
    throw std::invalid_argument("ranks must be uint16 or uint32");
  }
  p.distinct.assign(distinct.data(), distinct.data() + p.features);
  return p;
}

void set_allowed(odt::Problem& p, const nb::object& allowed) {
  if (allowed.is_none()) return;
  p.allowed.resize(p.features);
  std::size_t f = 0;
  for (nb::handle item : allowed) {
    if (f >= p.features) throw std::invalid_argument("allowed needs one entry per feature");
    if (!item.is_none()) {
      const auto flags = nb::cast<Vector<bool>>(item);
      if (flags.shape(0) != p.distinct[f]) throw std::invalid_argument("allowed needs one flag per rank");
      p.allowed[f].assign(flags.data(), flags.data() + flags.shape(0));
    }
    ++f;
  }
  if (f != p.features) throw std::invalid_argument("allowed needs one entry per feature");
}

odt::Tree start_of(const nb::dict& d) {
  const auto feature = nb::cast<Vector<std::int32_t>>(d["feature"]);
  const auto cut = nb::cast<Vector<std::int64_t>>(d["cut"]);
  const auto left = nb::cast<Vector<std::int32_t>>(d["left"]);
  const auto right = nb::cast<Vector<std::int32_t>>(d["right"]);
  const auto label = nb::cast<Vector<std::int32_t>>(d["label"]);
  odt::Tree tree;
  tree.nodes.resize(feature.shape(0));
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    odt::TreeNode& node = tree.nodes[i];
    node.feature = feature(i);
    node.cut = cut(i) < 0 ? 0 : static_cast<std::uint32_t>(cut(i));
    node.next = node.cut + 1;
    node.left = left(i);
    node.right = right(i);
    node.label = label(i);
  }
  return tree;
}

struct PythonError {};

// The interpreter is asked for signals a few times a second, not at every poll: taking its lock is not free.
class Interrupt {
 public:
  // `asked` is a Python predicate, for callers whose signal handler only takes a note.
  explicit Interrupt(nb::object asked = nb::none()) : asked_(std::move(asked)) {}

  bool operator()() {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(50)) return raised_;
    last_ = now;
    nb::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) {
      // Kept back: the caller gets the best tree so far and is told.
      PyErr_Clear();
      raised_ = true;
    }
    if (!raised_ && !asked_.is_none()) raised_ = nb::cast<bool>(asked_());
    return raised_;
  }
  bool raised() const { return raised_; }

 private:
  nb::object asked_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  bool raised_ = false;
};

nb::dict solve(const Ranks& ranks, const Vector<std::uint32_t>& distinct,
               const Vector<std::int32_t>& labels, int classes, int depth, const nb::object& allowed,
               const std::optional<Vector<std::int64_t>>& weights, const std::optional<Matrix<std::int64_t>>& costs,
               std::optional<int> max_leaves, Loss leaf_price, bool smallest, std::optional<double> time_limit,
               Loss absolute_gap, double relative_gap, int threads, std::optional<std::size_t> memory_limit,
               std::optional<Loss> upper_bound, const nb::object& start, const nb::object& progress,
               const nb::object& interrupted, const std::string& isa, const std::string& method) {
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
    if (costs->shape(0) != n || costs->shape(1) != n) throw std::invalid_argument("costs must be classes x classes");
    p.cost.assign(costs->data(), costs->data() + n * n);
  }
  if (max_leaves && *max_leaves < 1) throw std::invalid_argument("max_leaves must be positive");
  p.leaves = max_leaves.value_or(0);
  p.leaf_price = leaf_price;
  p.smallest = smallest;
  odt::Options o;
  o.time_limit = time_limit.value_or(-1);
  o.absolute_gap = absolute_gap;
  o.relative_gap = relative_gap;
  o.threads = threads;
  o.memory_limit = memory_limit.value_or(0);
  o.upper_bound = upper_bound.value_or(odt::kInfinite);
  o.isa = parse_isa(isa);
  o.method = parse_method(method);
  if (!start.is_none()) o.start = start_of(nb::cast<nb::dict>(start));
  Interrupt interrupt(interrupted);
  o.interrupted = [&interrupt] { return interrupt(); };
  bool failed = false;
  nb::python_error* error = nullptr;
  if (!progress.is_none())
    o.progress = [&](const odt::Incumbent& i) {
      if (failed) return;
      nb::gil_scoped_acquire lock;
      try {
        progress(i.value, i.bound, i.seconds);
      } catch (nb::python_error& e) {
        failed = true;
        error = new nb::python_error(std::move(e));
      }
    };
  odt::Result result;
  {
    nb::gil_scoped_release free;
    result = odt::solve(p, o);
  }
  if (error) {
    nb::python_error e(std::move(*error));
    delete error;
    throw e;
  }
  nb::dict d = result_of(result);
  d["interrupted"] = interrupt.raised();
  return d;
}

nb::dict solve_regression(const Ranks& ranks, const Vector<std::uint32_t>& distinct, const Vector<double>& targets, int depth,
                          const nb::object& allowed, const std::optional<Vector<double>>& weights,
                          std::optional<int> max_leaves, double leaf_price, bool absolute, std::optional<double> time_limit) {
  odt::RegressionProblem p;
  p.base = problem_of(ranks, distinct, depth);
  set_allowed(p.base, allowed);
  if (targets.shape(0) != p.base.rows) throw std::invalid_argument("targets need one entry per row");
  p.target.assign(targets.data(), targets.data() + p.base.rows);
  if (weights) {
    if (weights->shape(0) != p.base.rows) throw std::invalid_argument("weights need one entry per row");
    p.weight.assign(weights->data(), weights->data() + p.base.rows);
  }
  if (max_leaves && *max_leaves < 1) throw std::invalid_argument("max_leaves must be positive");
  p.base.leaves = max_leaves.value_or(0);
  p.leaf_price = leaf_price;
  p.absolute = absolute;
  odt::Options o;
  o.time_limit = time_limit.value_or(-1);
  Interrupt interrupt;
  o.interrupted = [&interrupt] { return interrupt(); };
  odt::RegressionResult r;
  {
    nb::gil_scoped_release free;
    r = odt::solve_regression(p, o);
  }
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
  d["seconds"] = r.seconds;
  d["interrupted"] = interrupt.raised();
  return d;
}

}  // namespace

void bind_search(nb::module_& m) {
  m.def("solve", &solve, "ranks"_a, "distinct"_a, "labels"_a, "classes"_a, "depth"_a, nb::kw_only(), "allowed"_a = nb::none(),
        "weights"_a = nb::none(), "costs"_a = nb::none(), "max_leaves"_a = nb::none(), "leaf_price"_a = 0,
        "smallest"_a = false, "time_limit"_a = nb::none(), "absolute_gap"_a = 0, "relative_gap"_a = 0.0, "threads"_a = 1,
        "memory_limit"_a = nb::none(), "upper_bound"_a = nb::none(), "start"_a = nb::none(), "progress"_a = nb::none(),
        "interrupted"_a = nb::none(), "isa"_a = "best", "method"_a = "auto");
  m.def("solve_regression", &solve_regression, "ranks"_a, "distinct"_a, "targets"_a, "depth"_a, nb::kw_only(),
        "allowed"_a = nb::none(), "weights"_a = nb::none(), "max_leaves"_a = nb::none(), "leaf_price"_a = 0.0,
        "absolute"_a = false, "time_limit"_a = nb::none());
  m.def("instruction_sets", [] {
    std::vector<std::string> names{"portable"};
    if (odt::kernels_avx2()) names.push_back("avx2");
    if (odt::kernels_avx512()) names.push_back("avx512");
    return names;
  });
}
