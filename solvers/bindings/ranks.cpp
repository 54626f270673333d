#include "odt/ranks.hpp"

#include "odt/loss_model.hpp"
#include "shared.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using Places = odt_python::Array<std::int64_t>;

void bind_ranks(nb::module_& module) {
  module.def(
      "ranked",
      [](const odt_python::Vector<double>& numbers) {
        if (numbers.shape(0) > UINT32_MAX) throw std::invalid_argument("ranked takes 2^32 numbers");
        std::vector<std::int64_t> places(numbers.shape(0));
        std::vector<double> values;
        {
          odt_python::Unlocked release;
          values = odt::ranked(numbers.data(), numbers.shape(0), places.data());
        }
        return std::make_tuple(odt_python::array_of(std::move(values)),
                               odt_python::array_of(std::move(places)));
      },
      "numbers"_a,
      "The different numbers, ascending and without NaN, and the place of each cell among them.\n\n"
      "numbers: float64 (n,). The place, int64, of NaN is behind all others.");
  module.def(
      "all_finite",
      [](const odt_python::Vector<double>& numbers) {
        return odt::all_finite(numbers.data(), numbers.shape(0));
      },
      "numbers"_a, "numbers: float64 (n,).");
  module.def(
      "few_words",
      [](const odt_python::Matrix<std::uint32_t>& cells,
         std::size_t most) -> std::optional<std::tuple<std::vector<std::size_t>, Places>> {
        const std::size_t count = cells.shape(0);
        std::vector<std::int64_t> places(count);
        auto first = odt::few_words(cells.data(), count, cells.shape(1), most, places.data());
        if (!first) return std::nullopt;
        return std::make_tuple(*std::move(first), odt_python::array_of(std::move(places)));
      },
      "cells"_a, "most"_a,
      "The first row of each different text, and the place of each row's text among them.\n\n"
      "cells: uint32 (n, width), characters. None where more than `most` differ.");
  module.def(
      "plain_errors",
      [](const odt_python::Matrix<std::int64_t>& losses)
          -> std::optional<std::tuple<odt_python::Array<std::int32_t>, odt::Loss>> {
        std::vector<std::int32_t> labels(losses.shape(0));
        const auto least =
            odt::plain_errors(losses.data(), losses.shape(0), losses.shape(1), labels.data());
        if (!least) return std::nullopt;
        return std::make_tuple(odt_python::array_of(std::move(labels)), *least);
      },
      "losses"_a,
      "The right label of each row, int32, and the sum of the losses of right labels.\n\n"
      "losses: int64 (n_rows, n_labels). None unless each row has one label of least loss, and "
      "all\n"
      "others lose one more.");
}
