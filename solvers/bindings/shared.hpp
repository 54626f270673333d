// What the bindings of the searches share: arrays and dictionaries in, trees and counters out,
// signals and callbacks.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "odt/control.hpp"
#include "odt/plan.hpp"
#include "odt/problem.hpp"

namespace odt_python {

namespace nb = nanobind;

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

inline const char* name_of(odt::Status status) {
  switch (status) {
    case odt::Status::optimal:
      return "optimal";
    case odt::Status::feasible:
      return "feasible";
    case odt::Status::infeasible:
      return "infeasible";
    case odt::Status::unknown:
      break;
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

inline nb::dict tree_of(const odt::Tree& tree) {
  const auto& nodes = tree.nodes;
  nb::dict d;
  d["feature"] =
      array_of<std::int32_t>(nodes.size(), [&](std::size_t i) { return nodes[i].feature; });
  d["cut"] = array_of<std::int64_t>(nodes.size(), [&](std::size_t i) {
    return nodes[i].feature < 0 ? -1 : static_cast<std::int64_t>(nodes[i].cut);
  });
  d["next"] = array_of<std::int64_t>(nodes.size(), [&](std::size_t i) {
    return nodes[i].feature < 0 ? -1 : static_cast<std::int64_t>(nodes[i].next);
  });
  d["left"] = array_of<std::int32_t>(nodes.size(), [&](std::size_t i) { return nodes[i].left; });
  d["right"] = array_of<std::int32_t>(nodes.size(), [&](std::size_t i) { return nodes[i].right; });
  d["label"] = array_of<std::int32_t>(nodes.size(), [&](std::size_t i) { return nodes[i].label; });
  return d;
}

// `stump` is 1 for a best split of depth one, 2 for one that tests the column that must be tested.
inline nb::dict arrays_of(const odt::Plan& plan) {
  const auto& nodes = plan.nodes;
  nb::dict d;
  d["feature"] =
      array_of<std::int32_t>(nodes.size(), [&](std::size_t i) { return nodes[i].feature; });
  d["bound"] = array_of<std::uint32_t>(nodes.size(), [&](std::size_t i) { return nodes[i].bound; });
  d["left"] = array_of<std::int32_t>(nodes.size(), [&](std::size_t i) { return nodes[i].left; });
  d["right"] = array_of<std::int32_t>(nodes.size(), [&](std::size_t i) { return nodes[i].right; });
  d["stump"] = array_of<std::int8_t>(
      nodes.size(), [&](std::size_t i) { return nodes[i].stump ? 1 + nodes[i].must : 0; });
  return d;
}

inline odt::Plan plan_of(const nb::dict& d) {
  const auto feature = nb::cast<Vector<std::int32_t>>(d["feature"]);
  const auto bound = nb::cast<Vector<std::uint32_t>>(d["bound"]);
  const auto left = nb::cast<Vector<std::int32_t>>(d["left"]);
  const auto right = nb::cast<Vector<std::int32_t>>(d["right"]);
  const auto stump = nb::cast<Vector<std::int8_t>>(d["stump"]);
  odt::Plan plan;
  plan.nodes.resize(feature.shape(0));
  const int count = static_cast<int>(plan.nodes.size());
  for (int i = 0; i < count; ++i) {
    const std::size_t at = static_cast<std::size_t>(i);
    odt::PlanNode& node = plan.nodes[at];
    node = {feature(at), bound(at), left(at), right(at), stump(at) > 0, stump(at) > 1};
    const bool inside = node.left > i && node.left < count && node.right > i && node.right < count;
    if (node.feature >= 0 && !inside)
      throw std::invalid_argument("a plan's nodes stand before those below them");
  }
  return plan;
}

inline nb::dict counters_of(const odt::Counters& c) {
  nb::dict d;
  for (const odt::CounterName& name : odt::kCounters) d[name.name] = c.*name.field;
  return d;
}

using Ranks = nb::ndarray<nb::ndim<2>, nb::c_contig, nb::device::cpu>;

inline odt::Problem problem_of(const Ranks& ranks, const Vector<std::uint32_t>& distinct,
                               int depth) {
  odt::Problem p;
  p.features = ranks.shape(0);
  p.rows = ranks.shape(1);
  if (distinct.shape(0) != p.features)
    throw std::invalid_argument("distinct needs one entry per feature");
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

inline void set_allowed(odt::Problem& p, const nb::object& allowed) {
  if (allowed.is_none()) return;
  p.allowed.resize(p.features);
  std::size_t f = 0;
  for (nb::handle item : allowed) {
    if (f >= p.features) throw std::invalid_argument("allowed needs one entry per feature");
    if (!item.is_none()) {
      const auto flags = nb::cast<Vector<bool>>(item);
      if (flags.shape(0) != p.distinct[f])
        throw std::invalid_argument("allowed needs one flag per rank");
      p.allowed[f].assign(flags.data(), flags.data() + flags.shape(0));
    }
    ++f;
  }
  if (f != p.features) throw std::invalid_argument("allowed needs one entry per feature");
}

inline odt::Tree start_of(const nb::dict& d) {
  const auto feature = nb::cast<Vector<std::int32_t>>(d["feature"]);
  const auto cut = nb::cast<Vector<std::int64_t>>(d["cut"]);
  const auto left = nb::cast<Vector<std::int32_t>>(d["left"]);
  const auto right = nb::cast<Vector<std::int32_t>>(d["right"]);
  // Regression trees have no labels.
  std::optional<Vector<std::int32_t>> label;
  if (d.contains("label")) label = nb::cast<Vector<std::int32_t>>(d["label"]);
  odt::Tree tree;
  tree.nodes.resize(feature.shape(0));
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    odt::TreeNode& node = tree.nodes[i];
    node.feature = feature(i);
    node.cut = cut(i) < 0 ? 0 : static_cast<std::uint32_t>(cut(i));
    node.next = node.cut + 1;
    node.left = left(i);
    node.right = right(i);
    if (label) node.label = (*label)(i);
  }
  return tree;
}

// The interpreter is asked for signals a few times a second, not at every poll: taking its lock is
// not free.
class Interrupt {
 public:
  // `asked` is a Python predicate, for callers whose signal handler only takes a note.
  explicit Interrupt(nb::object asked = nb::none()) : asked_(std::move(asked)) {}

  bool operator()() {
    const auto now = std::chrono::steady_clock::now();
    if (!odt::Looks::counted && now - last_ < std::chrono::milliseconds(50)) return raised_;
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

// A Python callback called from the search. Its exception is kept until the search has ended; later
// calls are left out.
class Progress {
 public:
  explicit Progress(nb::object callback) : callback_(std::move(callback)) {}

  bool wanted() const { return !callback_.is_none(); }
  template <class T>
  void operator()(T value, T bound, double seconds, const odt::Found& found) {
    if (error_) return;
    nb::gil_scoped_acquire lock;
    try {
      callback_(value, bound, seconds,
                found.plan   ? nb::object(arrays_of(*found.plan))
                : found.tree ? nb::object(tree_of(*found.tree))
                             : nb::none());
    } catch (nb::python_error& e) {
      error_ = std::make_unique<nb::python_error>(std::move(e));
    }
  }
  void rethrow() {
    if (error_) throw nb::python_error(std::move(*error_));
  }

 private:
  nb::object callback_;
  std::unique_ptr<nb::python_error> error_;
};

}  // namespace odt_python
