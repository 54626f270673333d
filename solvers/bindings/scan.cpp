#include <stdexcept>
#include <tuple>
#include <vector>

#include "odt/scan.hpp"
#include "shared.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace odt_python;

void check_rows(const Vector<std::int64_t>& rows, std::int64_t n_rows) {
  for (std::size_t i = 0; i < rows.shape(0); ++i)
    if (rows.data()[i] < 0 || rows.data()[i] >= n_rows)
      throw std::invalid_argument("scan: a row is out of range");
}

// The families of one core. Keeps views of the arrays that it is given, and them alive.
class SplitScan {
 public:
  SplitScan(Matrix<std::int32_t> codes, Vector<std::uint8_t> kinds, Vector<std::int64_t> n_tests,
            Vector<std::int64_t> n_values)
      : codes_(codes), kinds_(kinds), n_tests_(n_tests), n_values_(n_values), offsets_{0} {
    const std::size_t n = codes.shape(0);
    if (kinds.shape(0) != n || n_tests.shape(0) != n || n_values.shape(0) != n)
      throw std::invalid_argument("scan: as many kinds, tests and values as families");
    for (std::size_t f = 0; f < n; ++f) {
      check_codes(f);
      offsets_.push_back(offsets_.back() + n_tests.data()[f] + 1);
    }
  }

  using Best = std::tuple<Array<std::int64_t>, Array<std::int64_t>, Array<double>>;

  Best best(Vector<std::int64_t> rows, Matrix<std::int64_t> gains, Matrix<std::int64_t> bounded,
            Vector<std::int64_t> minima, Vector<std::int64_t> allowed,
            Vector<std::int64_t> families, int score) {
    const auto n_rows = static_cast<std::int64_t>(codes_.shape(1));
    if (static_cast<std::int64_t>(gains.shape(0)) != n_rows ||
        static_cast<std::int64_t>(bounded.shape(0)) != n_rows ||
        bounded.shape(1) != minima.shape(0) || score < 0 || score > 2 ||
        (score == 2 && gains.shape(1) != 2) ||
        static_cast<std::int64_t>(allowed.shape(0)) != offsets_.back())
      throw std::invalid_argument("scan: arrays of unequal shapes");
    for (std::size_t i = 0; i < families.shape(0); ++i)
      if (families.data()[i] < 0 ||
          families.data()[i] >= static_cast<std::int64_t>(codes_.shape(0)))
        throw std::invalid_argument("scan: a family is out of range");
    check_rows(rows, n_rows);

    const odt::Node node{rows.data(),
                         static_cast<std::int64_t>(rows.shape(0)),
                         gains.data(),
                         static_cast<std::int64_t>(gains.shape(1)),
                         bounded.data(),
                         minima.data(),
                         static_cast<std::int64_t>(bounded.shape(1))};
    const std::size_t n = families.shape(0);
    std::vector<std::int64_t> tests(n), exact(n);
    std::vector<double> gini(n);
    {
      Unlocked release;
      odt::Scanner scanner;
      for (std::size_t i = 0; i < n; ++i) {
        const auto found = scanner.best(node, family(families.data()[i], allowed.data()),
                                        static_cast<odt::Score>(score));
        tests[i] = found.test;
        exact[i] = found.gain;
        gini[i] = found.gini;
      }
    }
    return {array_of(std::move(tests)), array_of(std::move(exact)), array_of(std::move(gini))};
  }

 private:
  void check_codes(std::size_t f) const {
    const std::int64_t values = n_values_.data()[f], tests = n_tests_.data()[f];
    if (kinds_.data()[f] > 1 || tests < 0 || tests > values)
      throw std::invalid_argument("scan: more tests than values");
    if (kinds_.data()[f] == 0 && tests > 0 && tests != values - 1)
      throw std::invalid_argument("scan: thresholds are one less than values");
    for (std::size_t i = 0; i < codes_.shape(1); ++i) {
      const std::int64_t code = codes_.data()[f * codes_.shape(1) + i];
      if (code < -1 || code > values) throw std::invalid_argument("scan: a code is out of range");
    }
  }

  odt::Family family(std::int64_t index, const std::int64_t* allowed) const {
    const auto f = static_cast<std::size_t>(index);
    return odt::Family{codes_.data() + f * codes_.shape(1), allowed + offsets_[f],
                       n_tests_.data()[f], n_values_.data()[f],
                       static_cast<odt::Kind>(kinds_.data()[f])};
  }

  Matrix<std::int32_t> codes_;
  Vector<std::uint8_t> kinds_;
  Vector<std::int64_t> n_tests_, n_values_;
  std::vector<std::int64_t> offsets_;
};

}  // namespace

void bind_scan(nb::module_& module) {
  nb::class_<SplitScan>(
      module, "SplitScan",
      "Scans the candidate tests of all families at a node.\n\n"
      "codes: int32 (n_families, n_rows); kinds: uint8, 0 thresholds, 1 equality;\n"
      "n_tests, n_values: int64 (n_families,).")
      .def(nb::init<Matrix<std::int32_t>, Vector<std::uint8_t>, Vector<std::int64_t>,
                    Vector<std::int64_t>>(),
           "codes"_a, "kinds"_a, "n_tests"_a, "n_values"_a)
      .def("best", &SplitScan::best, "rows"_a, "gains"_a, "bounded"_a, "minima"_a, "allowed"_a,
           "families"_a, "score"_a,
           "The best test of each of `families` for the rows of a node: (tests, exact, gini).\n\n"
           "tests: int64, -1 where none may stand. exact: int64 score of 1 (gain) and 2 (sides).\n"
           "gini: float64 score of 0. bounded, minima: each side must sum to at least the minima.\n"
           "allowed: int64, for all families one after the other the running count of allowed\n"
           "tests, n_tests + 1 entries each.");
}
