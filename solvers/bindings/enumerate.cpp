// All trees up to an objective: each is handed to a Python function as it is found.
#include <optional>
#include <string>
#include <tuple>
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

// How the functions of trees are compared: see tree_function.hpp.
struct FunctionSpace {
  std::vector<bool> column_missing;
  std::vector<std::optional<std::vector<std::int32_t>>> codes;
  std::vector<std::int32_t> values;
  std::vector<int> policy, own;
  Cuts absent;
  std::vector<std::int64_t> weight;
  nb::object region;
};

using Found = nb::typed<nb::callable, bool(TreeArrays, Loss, int)>;
using Regions = nb::typed<nb::callable,
                          std::tuple<int, bool, double, int, double, int, int>(int, int, int, int)>;
using RegionGiven = std::tuple<int, bool, double, int, double, int, int>;

odt::FunctionSpace space_of(const FunctionSpace& given, Callback& region) {
  odt::FunctionSpace space;
  space.column_missing.assign(given.column_missing.begin(), given.column_missing.end());
  for (const auto& codes : given.codes)
    space.codes.push_back(codes.value_or(std::vector<std::int32_t>{}));
  space.values = given.values;
  space.policy.assign(given.policy.begin(), given.policy.end());
  space.own.assign(given.own.begin(), given.own.end());
  space.weight = given.weight;
  space.region = [&region](int feature, int low, int high, int level) {
    Locked lock;
    const auto [column, line, from, behind, to, to_behind, value] =
        region.ask(RegionGiven{0, true, 0, 0, 0, 0, 0}, feature, low, high, level);
    return odt::Region{column, line, {from, behind}, {to, to_behind}, value};
  };
  return space;
}

// Which features differ by the side of missing cells only: see enumerate.hpp.
struct Twins {
  std::vector<int> of;
  Cuts absent;
};

struct Wish {
  Loss at_most;
  std::optional<Loss> least;
  std::size_t most;
  bool count, collapse, deepest;
};

std::vector<std::vector<char>> row_flags(const Cuts& given, std::size_t rows) {
  std::vector<std::vector<char>> flags(given.size());
  for (std::size_t f = 0; f < given.size(); ++f)
    if (const auto& of = given[f]) {
      if (of->shape(0) != rows) throw std::invalid_argument("one flag per row");
      flags[f].assign(of->data(), of->data() + rows);
    }
  return flags;
}

Listed enumerate(const odt::RuledProblem& p, const Limits& limits, const Wish& wish,
                 const std::optional<Found>& found, const std::optional<Twins>& twins,
                 const std::optional<FunctionSpace>& functions) {
  odt::Listing listing;
  listing.at_most = wish.at_most;
  listing.least = wish.least.value_or(odt::kInfinite);
  listing.collapse = wish.collapse;
  listing.deepest = wish.deepest;
  listing.most = wish.most;
  listing.count = wish.count;
  listing.twin.assign(p.base.features, -1);
  listing.absent.resize(p.base.features);
  if (twins) {
    listing.twin = twins->of;
    listing.absent = row_flags(twins->absent, p.base.rows);
  }
  std::optional<Callback> heard;
  if (found) {
    heard.emplace(*found);
    listing.found = [&heard](const odt::Tree& tree, Loss value, int function) {
      Locked lock;
      return heard->ask(false, TreeArrays(tree), value, function);
    };
  }
  std::optional<Callback> region;
  listing.merge = functions.has_value();
  if (functions) {
    region.emplace(functions->region);
    listing.space = space_of(*functions, *region);
    listing.space.absent = row_flags(functions->absent, p.base.rows);
  }
  odt::Options o = options_of(limits);
  Interrupt interrupt(limits.interrupted);
  o.interrupted = [&interrupt] { return interrupt(); };
  Listed listed;
  {
    Unlocked free;
    static_cast<odt::Listed&>(listed) = odt::enumerate(p, listing, o);
  }
  if (heard) heard->rethrow();
  if (region) region->rethrow();
  listed.interrupted = interrupt.raised();
  return listed;
}

}  // namespace

void bind_enumerate(nb::module_& m) {
  nb::class_<Listed>(m, "Listed")
      .def_ro("complete", &Listed::complete, "There are no others.")
      .def_ro("enough", &Listed::enough, "There are more than were asked for.")
      .def_ro("no_memory", &Listed::no_memory)
      .def_ro("told", &Listed::told, "How many trees were told, or would have been.")
      .def_ro("counted", &Listed::counted, "All trees were counted.")
      .def_prop_ro(
          "counts",
          [](const Listed& l) {
            std::vector<std::tuple<Loss, std::string>> counts;
            for (const auto& [value, count] : l.counts) counts.emplace_back(value, count.digits());
            return counts;
          },
          "How many trees have which objective, in hexadecimal digits.")
      .def_prop_ro(
          "without",
          [](const Listed& l) {
            std::vector<std::string> counts;
            for (const auto& count : l.without) counts.push_back(count.digits());
            return counts;
          },
          "How many trees do without each column, in hexadecimal digits.")
      .def_prop_ro("counters", [](const Listed& l) { return counts_of(l.counters); })
      .def_ro("seconds", &Listed::seconds)
      .def_ro("interrupted", &Listed::interrupted);
  nb::class_<Twins>(m, "Twins",
                    "Per feature one that differs by the side of missing cells only, or -1, and "
                    "the rows\nwith such a cell.")
      .def(
          "__init__",
          [](Twins* self, const std::vector<int>& of, const Cuts& absent) {
            new (self) Twins{of, absent};
          },
          nb::kw_only(), "of"_a, "absent"_a);
  nb::class_<FunctionSpace>(
      m, "FunctionSpace",
      "How splits part the feature space, for the functions of trees.\n\n"
      "column_missing: may cells of a column be missing. Per feature: codes of the rows where it\n"
      "has thresholds, and how many codes are values; policy: where missing cells go (0 left, 1\n"
      "right, 2 as `own` says where rows there have some, else to the heavier side); absent: the\n"
      "rows with such a cell. weight: of rows. region: what of a feature goes left between two\n"
      "codes at a level: column, whether a line, both places on it (a number, and whether behind\n"
      "it), the value else.")
      .def(
          "__init__",
          [](FunctionSpace* self, const std::vector<bool>& column_missing,
             const std::vector<std::optional<std::vector<std::int32_t>>>& codes,
             const std::vector<std::int32_t>& values, const std::vector<int>& policy,
             const std::vector<int>& own, const Cuts& absent,
             const std::vector<std::int64_t>& weight, const Regions& region) {
            new (self)
                FunctionSpace{column_missing, codes, values, policy, own, absent, weight, region};
          },
          nb::kw_only(), "column_missing"_a, "codes"_a, "values"_a, "policy"_a, "own"_a, "absent"_a,
          "weight"_a, "region"_a);
  nb::class_<Wish>(
      m, "Wish",
      "Trees of at most an objective. least: that of the best one, where it is known.\n"
      "most: trees to tell. count: count all, and those without each column."
      "\ncollapse: no split of two leaves with one label. deepest: only trees "
      "that reach the depth bound.")
      .def(
          "__init__",
          [](Wish* self, Loss at_most, std::optional<Loss> least, std::size_t most, bool count,
             bool collapse,
             bool deepest) { new (self) Wish{at_most, least, most, count, collapse, deepest}; },
          nb::kw_only(), "at_most"_a, "least"_a = nb::none(), "most"_a = std::size_t{1} << 62,
          "count"_a = false, "collapse"_a = false, "deepest"_a = false);
  m.def("enumerate", &enumerate, "problem"_a, "limits"_a, "wish"_a, "found"_a, nb::kw_only(),
        "twins"_a = nb::none(), "functions"_a = nb::none(),
        "Tell `found` of each tree with its objective, the least first, and the number of its\n"
        "function (-1: not compared), as long as it answers True; None: they are only counted.\n"
        "functions: of trees that compute one function only better ones are told again.");
}
