// The native module of odtdsl: every capability binds itself in a file of its own.
#include <nanobind/nanobind.h>

#include "odt/control.hpp"

namespace nb = nanobind;

void bind_diagrams(nb::module_& module);
void bind_enumerate(nb::module_& module);
void bind_number_model(nb::module_& module);
void bind_number_rules(nb::module_& module);
void bind_numbers(nb::module_& module);
void bind_outputs(nb::module_& module);
void bind_ranks(nb::module_& module);
void bind_ruled(nb::module_& module);
void bind_rup(nb::module_& module);
void bind_scan(nb::module_& module);
void bind_search(nb::module_& module);
void bind_values(nb::module_& module);

NB_MODULE(_engine, module) {
  module.doc() = "Native kernels of odtdsl.";
  nb::set_leak_warnings(false);  // what lives as long as the interpreter is no leak
  bind_values(module);           // before what speaks of them
  bind_diagrams(module);
  bind_ruled(module);
  bind_enumerate(module);
  bind_number_model(module);
  bind_number_rules(module);
  bind_outputs(module);
  bind_numbers(module);
  bind_ranks(module);
  bind_rup(module);
  bind_scan(module);
  bind_search(module);
  module.def(
      "look_every",
      [](std::uint64_t work) {
        odt::Looks::work = work ? work : odt::Looks::kUsual;
        odt::Looks::counted = work > 0;
      },
      nb::arg("work"),
      "For tests: searches look at the clock after so many visits of a row, and each look is a\n"
      "second of it; 0: as usual.");
}
