// Rules on whole trees of numbers.
#include "odt/number_model.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "space.hpp"
#include "values.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace odt_python;
using odt::Loss;

using Literals = std::vector<std::vector<std::tuple<std::string, int, double>>>;
using Terms = std::vector<std::tuple<double, int, int>>;
using Deltas = std::vector<std::optional<Matrix<Loss>>>;
using Measures = std::vector<std::tuple<int, std::string, std::vector<double>, Vector<double>>>;

odt::MeasuredLoss kind_of(const std::string& name) {
  if (name == "squared") return odt::MeasuredLoss::squared;
  if (name == "absolute") return odt::MeasuredLoss::absolute;
  if (name == "poisson") return odt::MeasuredLoss::poisson;
  throw std::invalid_argument("no such loss");
}

std::vector<odt::NumberTerm> terms_of(const Terms& given) {
  std::vector<odt::NumberTerm> made;
  for (const auto& [coefficient, component, fact] : given)
    made.push_back({coefficient, component, fact});
  return made;
}

void add_clauses(odt::NumberModel& model, const Literals& clauses) {
  for (const auto& clause : clauses) {
    model.clauses.emplace_back();
    for (const auto& [kind, index, value] : clause) {
      odt::NumberLiteral one;
      if (kind == "component") {
        one.component = index;
        one.at_most = value;
      } else {
        one.fact = index;
        one.positive = value != 0;
      }
      model.clauses.back().push_back(one);
    }
  }
}

void add_components(odt::NumberModel& model, const std::vector<double>& leaf,
                    const Matrix<double>& split, const std::vector<int>& path_sum,
                    const Deltas& path_delta, const Measures& measures) {
  model.components = leaf.size();
  model.columns = split.shape(1);
  model.leaf = leaf;
  model.split = copied(split);
  model.path_sum = path_sum;
  for (const auto& delta : path_delta)
    model.path_delta.push_back(delta ? copied(*delta) : std::vector<Loss>{});
  for (const auto& [component, kind, factor, weight] : measures)
    model.measures.push_back({component, kind_of(kind), factor, copied(weight)});
}

void set_space(odt::NumberModel& model, const Space& given, const std::vector<int>& column) {
  model.space = given.problem;
  if (column.size() != model.space.tests.size())
    throw std::invalid_argument("a test needs a column");
  for (std::size_t f = 0; f < column.size(); ++f) model.space.tests[f].column = column[f];
  model.monotone = given.monotone;
}

}  // namespace

void bind_number_model(nb::module_& m) {
  nb::class_<odt::NumberModel>(
      m, "NumberModel",
      "Rules on a whole tree of numbers, by components (less is better) and facts.\n\n"
      "leaf, split: what each leaf, and each split of a column, adds: (component,), (component,\n"
      "column). path_sum, path_delta: the sum of the rules that weighs path costs, or -1, and "
      "these\n"
      "per state and column. measures: (component, loss, factor per target, weight per row).\n"
      "split_facts: bits per (level, column). pairs: (fact, row, row). clauses: lists of\n"
      "(\"component\", index, at most) or (\"fact\", index, whether it is set), of which one "
      "holds.\n"
      "prices, goal: (coefficient, component or -1, fact); prices are added to the loss, the goal\n"
      "is made least among trees below the upper bound. space: with rules on the order of\n"
      "predictions; column: per feature, for it.")
      .def(
          "__init__",
          [](odt::NumberModel* self, const std::vector<double>& leaf, const Matrix<double>& split,
             const std::vector<int>& path_sum, const Deltas& path_delta, const Measures& measures,
             int facts, const std::vector<std::uint64_t>& split_facts,
             const std::vector<std::tuple<int, std::uint32_t, std::uint32_t>>& pairs,
             const Literals& clauses, const Terms& prices, const Terms& goal, const Space* space,
             const std::vector<int>& column) {
            odt::NumberModel* model = new (self) odt::NumberModel();
            add_components(*model, leaf, split, path_sum, path_delta, measures);
            model->facts = static_cast<std::size_t>(facts);
            model->split_facts = split_facts;
            for (const auto& [fact, first, second] : pairs)
              model->pairs.push_back({fact, first, second});
            add_clauses(*model, clauses);
            model->prices = terms_of(prices);
            model->goal = terms_of(goal);
            if (space != nullptr) set_space(*model, *space, column);
          },
          nb::kw_only(), "leaf"_a, "split"_a, "path_sum"_a, "path_delta"_a, "measures"_a, "facts"_a,
          "split_facts"_a, "pairs"_a, "clauses"_a, "prices"_a, "goal"_a,
          "space"_a.none() = nb::none(), "column"_a = std::vector<int>{});
}
