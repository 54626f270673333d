#include "odt/ranks.hpp"

#include "shared.hpp"

namespace nb = nanobind;
using namespace nb::literals;

void bind_ranks(nb::module_& module) {
  module.def(
      "ranked",
      [](const odt_python::Vector<double>& numbers)
          -> std::optional<std::tuple<odt_python::Array<double>, odt_python::Array<std::int64_t>>> {
        std::vector<std::int64_t> places(numbers.shape(0));
        std::optional<std::vector<double>> values;
        {
          nb::gil_scoped_release release;
          values = odt::ranked(numbers.data(), numbers.shape(0), places.data());
        }
        if (!values) return std::nullopt;
        return std::make_tuple(odt_python::array_of(std::move(*values)),
                               odt_python::array_of(std::move(places)));
      },
      "numbers"_a,
      "The different numbers, ascending and without NaN, and the place of each cell among them.\n\n"
      "numbers: float64 (n,). The place, int64, of NaN is behind all others.\n"
      "None where more than 2048 differ.");
}
