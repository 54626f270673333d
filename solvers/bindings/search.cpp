// Trees of classes: the plain search.
#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>

#include "odt/elsewhere.hpp"
#include "odt/kernels.hpp"
#include "values.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace odt_python;
using odt::Loss;

odt::Problem problem_of(const RankTable& table, const Vector<std::int32_t>& labels, int classes,
                        int depth, const std::optional<Vector<std::int64_t>>& weights,
                        const std::optional<Matrix<std::int64_t>>& costs,
                        std::optional<int> max_leaves, Loss leaf_price, std::int32_t min_leaf_rows,
                        const std::optional<Vector<std::int32_t>>& column,
                        const std::optional<Matrix<std::int32_t>>& next, int must, bool smallest) {
  odt::Problem p = table.problem(depth);
  if (labels.shape(0) != p.rows) throw std::invalid_argument("labels need one entry per row");
  p.classes = classes;
  p.label = copied(labels);
  if (weights) {
    if (weights->shape(0) != p.rows) throw std::invalid_argument("weights need one entry per row");
    p.weight = copied(*weights);
  }
  if (costs) {
    const std::size_t n = static_cast<std::size_t>(classes);
    if (costs->shape(0) != n || costs->shape(1) != n)
      throw std::invalid_argument("costs must be classes x classes");
    p.cost = copied(*costs);
  }
  if (max_leaves && *max_leaves < 1) throw std::invalid_argument("max_leaves must be positive");
  // As many as depth and rows allow are no limit: searches that know none may run.
  const std::int64_t possible = std::min<std::int64_t>(static_cast<std::int64_t>(p.rows),
                                                       std::int64_t{1} << std::clamp(depth, 0, 30));
  p.leaves = max_leaves && *max_leaves < possible ? *max_leaves : 0;
  p.leaf_price = leaf_price;
  p.leaf_rows = min_leaf_rows;
  p.must = must;
  if (column) {
    p.column = copied(*column);
    p.columns = must + 1;
    for (int c : p.column) p.columns = std::max(p.columns, c + 1);
  }
  if (next) {
    p.columns = static_cast<int>(next->shape(1));
    p.next = copied(*next);
  }
  p.smallest = smallest;
  return p;
}

// Python's side of `odt::Elsewhere`; None: nothing more will come.
using Values = std::vector<std::tuple<std::uint64_t, nb::bytes>>;
using Exchange = nb::typed<nb::callable, std::optional<std::tuple<std::size_t, Values>>(
                                             std::vector<nb::bytes>, bool)>;

nb::bytes bytes_of(const std::string& text) { return nb::bytes(text.data(), text.size()); }
std::string text_of(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

odt::Returned exchanged(Callback& exchange, const std::vector<odt::RemoteTask>& tasks, bool drop) {
  odt::Returned back;
  Locked lock;
  std::vector<nb::bytes> given;
  for (const odt::RemoteTask& task : tasks) given.push_back(bytes_of(odt::packed(task)));
  const auto answer = exchange.ask<std::optional<std::tuple<std::size_t, Values>>>(
      std::nullopt, std::move(given), drop);
  back.over = !answer;
  if (!answer) return back;
  back.threads = std::get<0>(*answer);
  for (const auto& [number, value] : std::get<1>(*answer))
    back.values.emplace_back(number, odt::value_of(text_of(value)));
  return back;
}

ClassAnswer solve_classes(const odt::Problem& p, const Limits& limits,
                          const std::optional<TreeArrays>& start, std::optional<Loss> upper_bound,
                          const Progress<Loss>& progress,
                          const std::optional<Exchange>& elsewhere) {
  odt::Options o = options_of(limits);
  Callback exchange(elsewhere ? nb::handle(*elsewhere) : nb::handle());
  if (elsewhere)
    o.elsewhere = [&exchange](const std::vector<odt::RemoteTask>& tasks, bool drop) {
      return exchanged(exchange, tasks, drop);
    };
  o.upper_bound = upper_bound.value_or(odt::kInfinite);
  if (start) o.start = start->start();
  ClassAnswer answer = answered<ClassAnswer, Loss>(
      std::move(o), limits, progress, [&p](const odt::Options& o) { return odt::solve(p, o); });
  exchange.rethrow();
  return answer;
}

std::optional<nb::bytes> evaluated(odt::RemoteProblem& problem, const nb::bytes& task,
                                   const Asked& asked) {
  Interrupt interrupt(asked);
  const odt::RemoteTask given = odt::task_of(text_of(task));
  std::optional<odt::RemoteValue> answer;
  {
    Unlocked free;
    answer = problem.evaluate(given, [&interrupt] { return interrupt(); });
  }
  if (!answer) return std::nullopt;
  return bytes_of(odt::packed(*answer));
}

}  // namespace

void bind_search(nb::module_& m) {
  nb::class_<odt::Problem>(
      m, "ClassProblem",
      "A tree of classes of least loss, with prices of leaves.\n\n"
      "costs: int64 (label, prediction). column: per feature, what `next` and `must_column` speak\n"
      "of. next: int32 (state, column), the automaton of rules on paths, -1 where a test may not\n"
      "stand. smallest: least depth, then fewest leaves, among trees without loss.")
      .def(
          "__init__",
          [](odt::Problem* self, const RankTable& table, const Vector<std::int32_t>& labels,
             int classes, int depth, const std::optional<Vector<std::int64_t>>& weights,
             const std::optional<Matrix<std::int64_t>>& costs, std::optional<int> max_leaves,
             Loss leaf_price, std::int32_t min_leaf_rows,
             const std::optional<Vector<std::int32_t>>& column,
             const std::optional<Matrix<std::int32_t>>& next, int must, bool smallest) {
            new (self)
                odt::Problem(problem_of(table, labels, classes, depth, weights, costs, max_leaves,
                                        leaf_price, min_leaf_rows, column, next, must, smallest));
          },
          "table"_a, "labels"_a, "classes"_a, "depth"_a, nb::kw_only(), "weights"_a = nb::none(),
          "costs"_a = nb::none(), "max_leaves"_a = nb::none(), "leaf_price"_a = 0,
          "min_leaf_rows"_a = 1, "column"_a = nb::none(), "next"_a = nb::none(),
          "must_column"_a = -1, "smallest"_a = false);
  m.def(
      "solve", &solve_classes, "problem"_a, "limits"_a, nb::kw_only(), "start"_a = nb::none(),
      "upper_bound"_a = nb::none(), "progress"_a = nb::none(), "elsewhere"_a = nb::none(),
      "elsewhere: given tasks, cuts of the root for others to evaluate, and whether those given\n"
      "before are no longer wanted, it waits a moment and answers how many threads they have and\n"
      "what came back, by the number of the task; None ends the search.");
  nb::class_<odt::RemoteProblem>(m, "RemoteProblem",
                                 "Evaluates cuts of a problem's root for a search elsewhere; one "
                                 "thread at a time.\n\nmemory_limit: bytes of tables.")
      .def(
          "__init__",
          [](odt::RemoteProblem* self, const odt::Problem& problem,
             std::optional<std::size_t> memory_limit) {
            new (self) odt::RemoteProblem(problem, memory_limit.value_or(0));
          },
          "problem"_a, nb::kw_only(), "memory_limit"_a = nb::none())
      .def("evaluate", &evaluated, "task"_a, nb::kw_only(), "interrupted"_a = nb::none(),
           "What became of it; None where it was interrupted.");
  m.def(
      "finish",
      [](const odt::Problem& p, const odt::Plan& plan) {
        return answer_of<ClassAnswer>(odt::finished(p, plan));
      },
      "problem"_a, "plan"_a, "The tree of a plan that `solve` told of.");
  m.def("counter_meanings", [] {
    nb::typed<nb::dict, nb::str, nb::str> d;
    for (const odt::CounterName& c : odt::kCounters) d[c.name] = c.meaning;
    return d;
  });
  m.def("instruction_sets", [] {
    std::vector<std::string> names{"portable"};
    if (odt::kernels_avx2()) names.push_back("avx2");
    if (odt::kernels_avx512()) names.push_back("avx512");
    return names;
  });
}
