// All trees up to an objective: each is handed to a Python function as it is found.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <vector>

#include "odt/enumerate.hpp"
#include "ruled.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace odt_python;
using odt::Loss;

// Asks a Python function whether to go on. What it raises is kept until the search has ended.
class Found {
 public:
  explicit Found(nb::object callback) : callback_(std::move(callback)) {}
  bool operator()(const odt::Tree& tree, Loss value) {
    nb::gil_scoped_acquire lock;
    try {
      return nb::cast<bool>(callback_(tree_of(tree), value));
    } catch (nb::python_error& e) {
      error_ = std::make_unique<nb::python_error>(std::move(e));
      return false;
    }
  }
  void rethrow() {
    if (error_) throw nb::python_error(std::move(*error_));
  }

 private:
  nb::object callback_;
  std::unique_ptr<nb::python_error> error_;
};

nb::dict enumerate(const Ranks& ranks, const Vector<std::uint32_t>& distinct, int classes,
                   int depth, const nb::dict& rules, Loss at_most, const nb::object& found,
                   const nb::object& allowed, std::optional<int> max_leaves, bool collapse,
                   const std::optional<std::vector<int>>& twin, const nb::object& absent,
                   std::optional<double> time_limit, std::optional<std::size_t> memory_limit,
                   const nb::object& interrupted) {
  const odt::RuledProblem p =
      ruled_problem_of(ranks, distinct, classes, depth, rules, allowed, max_leaves);
  odt::Listing listing;
  listing.at_most = at_most;
  listing.collapse = collapse;
  listing.twin = twin.value_or(std::vector<int>(p.base.features, -1));
  listing.absent.resize(p.base.features);
  if (!absent.is_none()) {
    std::size_t f = 0;
    for (nb::handle item : absent) {
      if (!item.is_none()) {
        const auto flags = nb::cast<Vector<bool>>(item);
        listing.absent.at(f).assign(flags.data(), flags.data() + flags.shape(0));
      }
      ++f;
    }
  }
  Found heard(found);
  listing.found = [&heard](const odt::Tree& tree, Loss value) { return heard(tree, value); };
  odt::Options o;
  o.time_limit = time_limit.value_or(-1);
  o.memory_limit = memory_limit.value_or(0);
  Interrupt interrupt(interrupted);
  o.interrupted = [&interrupt] { return interrupt(); };
  odt::Listed listed;
  {
    nb::gil_scoped_release free;
    listed = odt::enumerate(p, listing, o);
  }
  heard.rethrow();
  nb::dict d;
  d["complete"] = listed.complete;
  d["no_memory"] = listed.no_memory;
  d["counters"] = counters_of(listed.counters);
  d["seconds"] = listed.seconds;
  d["interrupted"] = interrupt.raised();
  return d;
}

}  // namespace

void bind_enumerate(nb::module_& m) {
  m.def("enumerate", &enumerate, "ranks"_a, "distinct"_a, "classes"_a, "depth"_a, "rules"_a,
        "at_most"_a, "found"_a, nb::kw_only(), "allowed"_a = nb::none(),
        "max_leaves"_a = nb::none(), "collapse"_a = false, "twin"_a = nb::none(),
        "absent"_a = nb::none(), "time_limit"_a = nb::none(), "memory_limit"_a = nb::none(),
        "interrupted"_a = nb::none());
}
