#include <string_view>

#include "odt/rup.hpp"
#include "shared.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

const char* name_of(odt::RupStatus status) {
  switch (status) {
    case odt::RupStatus::verified:
      return "verified";
    case odt::RupStatus::not_implied:
      return "not_implied";
    case odt::RupStatus::no_empty:
      return "no_empty";
    case odt::RupStatus::malformed:
      return "malformed";
    case odt::RupStatus::interrupted:
      break;
  }
  return "interrupted";
}

struct RupAnswer : odt::RupResult {};

RupAnswer check(const odt_python::Vector<std::int32_t>& formula, const nb::bytes& proof,
                const odt_python::Asked& interrupted) {
  odt_python::Interrupt interrupt(interrupted);
  const std::string_view text(proof.c_str(), proof.size());
  odt_python::Unlocked release;
  return {odt::check_rup(formula.data(), formula.shape(0), text, [&] { return interrupt(); })};
}

}  // namespace

void bind_rup(nb::module_& module) {
  nb::class_<RupAnswer>(module, "RupAnswer")
      .def_prop_ro(
          "status", [](const RupAnswer& a) { return name_of(a.status); },
          nb::sig("def status(self) -> typing.Literal['verified', 'not_implied', 'no_empty', "
                  "'malformed', 'interrupted']"))
      .def_ro("line", &RupAnswer::line, "Of the proof, from 1, that the status is of.")
      .def_ro("conflict", &RupAnswer::conflict, "Propagation alone refutes what is there.")
      .def_ro("lemmas", &RupAnswer::lemmas)
      .def_ro("deletions", &RupAnswer::deletions)
      .def_ro("kept", &RupAnswer::kept,
              "Deletions passed over: units, clauses that imply a literal now, clauses not there.");
  module.def("check_rup", &check, "formula"_a, "proof"_a, "interrupted"_a = nb::none(),
             "Check a refutation by unit propagation, with deletions.\n\n"
             "formula: int32, literals, each clause ended by 0.\n"
             "proof: lines such as b'1 -2 0' and b'd 1 -2 0'.\n"
             "interrupted: asked now and then whether to stop; Ctrl-C stops too.");
}
