#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

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

nb::dict check(const odt_python::Vector<std::int32_t>& formula, const nb::bytes& proof,
               const nb::object& interrupted) {
  odt_python::Interrupt interrupt(interrupted);
  odt::RupResult result;
  {
    const std::string_view text(proof.c_str(), proof.size());
    nb::gil_scoped_release release;
    result = odt::check_rup(formula.data(), formula.shape(0), text, [&] { return interrupt(); });
  }
  nb::dict d;
  d["status"] = name_of(result.status);
  d["line"] = result.line;
  d["conflict"] = result.conflict;
  d["lemmas"] = result.lemmas;
  d["deletions"] = result.deletions;
  d["kept"] = result.kept;
  d["propagations"] = result.propagations;
  return d;
}

}  // namespace

void bind_rup(nb::module_& module) {
  module.def("check_rup", &check, "formula"_a, "proof"_a, "interrupted"_a = nb::none(),
             "Check a refutation by unit propagation, with deletions.\n\n"
             "formula: int32, literals, each clause ended by 0. proof: lines such as b'1 -2 0' and "
             "b'd 1 -2 0'.\n"
             "interrupted: asked now and then whether to stop; Ctrl-C stops too.\n"
             "Returns status (verified, not_implied, no_empty, malformed, interrupted), line (of "
             "the proof, from 1,\n"
             "that the status is of), conflict (propagation alone refutes what is there), lemmas, "
             "deletions, kept\n"
             "(deletions passed over: units, clauses that imply a literal now, clauses not there), "
             "propagations.");
}
