// All trees up to an objective: each is handed to a Python function as it is found.
#include <optional>
#include <vector>

#include "odt/enumerate.hpp"
#include "values.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace odt_python;
using odt::Loss;

struct Listed : odt::Listed {
  bool interrupted = false;
};

using Found = nb::typed<nb::callable, bool(TreeArrays, Loss)>;

Listed enumerate(const odt::RuledProblem& p, const Limits& limits, Loss at_most, const Found& found,
                 bool collapse, const std::optional<std::vector<int>>& twin,
                 const std::optional<Cuts>& absent) {
  odt::Listing listing;
  listing.at_most = at_most;
  listing.collapse = collapse;
  listing.twin = twin.value_or(std::vector<int>(p.base.features, -1));
  listing.absent.resize(p.base.features);
  if (absent)
    for (std::size_t f = 0; f < absent->size(); ++f)
      if (const auto& rows = (*absent)[f]) {
        if (rows->shape(0) != p.base.rows)
          throw std::invalid_argument("absent needs one flag per row");
        listing.absent.at(f).assign(rows->data(), rows->data() + rows->shape(0));
      }
  Callback heard(found);
  listing.found = [&heard](const odt::Tree& tree, Loss value) {
    nb::gil_scoped_acquire lock;
    return heard.ask(false, TreeArrays(tree), value);
  };
  odt::Options o = options_of(limits);
  Interrupt interrupt(limits.interrupted);
  o.interrupted = [&interrupt] { return interrupt(); };
  Listed listed;
  {
    nb::gil_scoped_release free;
    static_cast<odt::Listed&>(listed) = odt::enumerate(p, listing, o);
  }
  heard.rethrow();
  listed.interrupted = interrupt.raised();
  return listed;
}

}  // namespace

void bind_enumerate(nb::module_& m) {
  nb::class_<Listed>(m, "Listed")
      .def_ro("complete", &Listed::complete, "There are no others.")
      .def_ro("no_memory", &Listed::no_memory)
      .def_prop_ro("counters", [](const Listed& l) { return counts_of(l.counters); })
      .def_ro("seconds", &Listed::seconds)
      .def_ro("interrupted", &Listed::interrupted);
  m.def("enumerate", &enumerate, "problem"_a, "limits"_a, "at_most"_a, "found"_a, nb::kw_only(),
        "collapse"_a = false, "twin"_a = nb::none(), "absent"_a = nb::none(),
        "Tell `found` of each tree with its objective, the least first, as long as it answers\n"
        "True. collapse: no split of two leaves with one label. twin: per feature one that\n"
        "differs by the side of missing cells only, or -1; absent: the rows with such a cell.");
}
