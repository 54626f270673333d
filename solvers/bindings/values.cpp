// The values that the searches share: tables of ranks, trees, plans, limits, answers.
#include "values.hpp"

#include <algorithm>

using namespace nanobind::literals;

namespace odt_python {

std::vector<std::vector<char>> flags_of(const Cuts& cuts, const Vector<std::uint32_t>& distinct) {
  if (cuts.size() != distinct.shape(0))
    throw std::invalid_argument("allowed needs one entry per feature");
  std::vector<std::vector<char>> made(cuts.size());
  for (std::size_t f = 0; f < cuts.size(); ++f) {
    if (!cuts[f]) continue;
    if (cuts[f]->shape(0) != distinct(f))
      throw std::invalid_argument("allowed needs one flag per rank");
    made[f].assign(cuts[f]->data(), cuts[f]->data() + cuts[f]->shape(0));
  }
  return made;
}

RankTable::RankTable(const Ranks& cells, const Vector<std::uint32_t>& counts,
                     const std::optional<Cuts>& cuts)
    : ranks(cells), distinct(counts) {
  if (distinct.shape(0) != ranks.shape(0))
    throw std::invalid_argument("distinct needs one entry per feature");
  if (ranks.dtype() != nb::dtype<std::uint16_t>() && ranks.dtype() != nb::dtype<std::uint32_t>())
    throw std::invalid_argument("ranks must be uint16 or uint32");
  if (cuts) allowed = flags_of(*cuts, distinct);
}

odt::Problem RankTable::problem(int depth) const {
  odt::Problem p;
  p.features = ranks.shape(0);
  p.rows = ranks.shape(1);
  p.depth = depth;
  const std::size_t cells = p.features * p.rows;
  if (ranks.dtype() == nb::dtype<std::uint16_t>()) {
    const auto* data = static_cast<const std::uint16_t*>(ranks.data());
    p.rank.assign(data, data + cells);
  } else {
    const auto* data = static_cast<const std::uint32_t*>(ranks.data());
    p.rank.assign(data, data + cells);
  }
  p.distinct = copied(distinct);
  p.allowed = allowed;
  return p;
}

TreeArrays::TreeArrays(const odt::Tree& tree) {
  const auto& nodes = tree.nodes;
  const std::size_t n = nodes.size();
  const auto rank = [&nodes](std::size_t i, std::uint32_t at) {
    return nodes[i].feature < 0 ? -1 : static_cast<std::int64_t>(at);
  };
  feature = array_of<std::int32_t>(n, [&](std::size_t i) { return nodes[i].feature; });
  cut = array_of<std::int64_t>(n, [&](std::size_t i) { return rank(i, nodes[i].cut); });
  next = array_of<std::int64_t>(n, [&](std::size_t i) { return rank(i, nodes[i].next); });
  left = array_of<std::int32_t>(n, [&](std::size_t i) { return nodes[i].left; });
  right = array_of<std::int32_t>(n, [&](std::size_t i) { return nodes[i].right; });
  label = array_of<std::int32_t>(n, [&](std::size_t i) { return nodes[i].label; });
}

TreeArrays::TreeArrays(const odt::Tree& tree, const std::vector<double>& outputs)
    : TreeArrays(tree) {
  output = array_of<double>(outputs.size(), [&](std::size_t i) { return outputs[i]; });
}

odt::Tree TreeArrays::start() const {
  odt::Tree tree;
  tree.nodes.resize(feature.shape(0));
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    odt::TreeNode& node = tree.nodes[i];
    node.feature = feature(i);
    node.cut = cut(i) < 0 ? 0 : static_cast<std::uint32_t>(cut(i));
    node.next = node.cut + 1;
    node.left = left(i);
    node.right = right(i);
    node.label = label(i);
  }
  return tree;
}

namespace {

// Python's own: the labels of trees of numbers may be left out.
TreeArrays given_tree(const Vector<std::int32_t>& feature, const Vector<std::int64_t>& cut,
                      const Vector<std::int32_t>& left, const Vector<std::int32_t>& right,
                      const std::optional<Vector<std::int32_t>>& label) {
  const std::size_t n = feature.shape(0);
  if (cut.shape(0) != n || left.shape(0) != n || right.shape(0) != n ||
      (label && label->shape(0) != n))
    throw std::invalid_argument("a tree needs one entry per node");
  odt::Tree tree;
  tree.nodes.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto at = static_cast<std::uint32_t>(std::max<std::int64_t>(0, cut(i)));
    tree.nodes[i] = {feature(i), at, at + 1, left(i), right(i), label ? (*label)(i) : -1};
  }
  return TreeArrays(tree);
}

odt::Isa parse_isa(const std::string& name) {
  if (name == "best") return odt::Isa::best;
  if (name == "portable") return odt::Isa::portable;
  if (name == "avx2") return odt::Isa::avx2;
  if (name == "avx512") return odt::Isa::avx512;
  throw std::invalid_argument("isa must be best, portable, avx2 or avx512");
}

int parse_method(const std::string& name) {
  if (name == "auto") return 0;
  if (name == "sorted") return 1;
  if (name == "bitset") return 2;
  if (name == "anytime") return 3;
  if (name == "counts") return 4;
  throw std::invalid_argument("method must be auto, sorted, bitset, anytime or counts");
}

const char* name_of(odt::Status status) {
  switch (status) {
    case odt::Status::optimal:
      return "optimal";
    case odt::Status::feasible:
      return "feasible";
    case odt::Status::infeasible:
      return "infeasible";
    case odt::Status::unknown:
      break;
  }
  return "unknown";
}

template <class Made>
void bind_answer(nb::module_& m, const char* name) {
  nb::class_<Made>(m, name)
      .def_prop_ro(
          "status", [](const Made& a) { return name_of(a.status); },
          nb::sig("def status(self) -> "
                  "typing.Literal['optimal', 'feasible', 'infeasible', 'unknown']"))
      .def_ro("objective", &Made::objective, "Of the best tree; None without one.")
      .def_ro("bound", &Made::bound)
      .def_ro("tree", &Made::tree)
      .def_prop_ro("counters", [](const Made& a) { return counts_of(a.counters); })
      .def_ro("timeline", &Made::timeline, "Seconds, value and bound of each improvement.")
      .def_ro("seconds", &Made::seconds)
      .def_ro("work", &Made::work, "Visits of rows, as `Limits.work_limit` counts them.")
      .def_ro("isa", &Made::isa)
      .def_ro("method", &Made::method)
      .def_ro("interrupted", &Made::interrupted)
      .def_prop_ro(
          "certificate",
          [](const Made& a) { return nb::bytes(a.certificate.data(), a.certificate.size()); },
          "Of `certified`, if it was asked for.")
      .def_ro("certified", &Made::certified, "The bound that the certificate shows.")
      .def_ro("multipliers", &Made::multipliers,
              "Under rules, if they were asked for: of each clause on whole trees, over `scale`.")
      .def_ro("scale", &Made::scale)
      .def_ro("by_first", &Made::by_first,
              "Of numbers, per cut: no tree that splits there first loses less. Empty: not told.");
}

// The state of a plan, for copies.
using PlanState = std::vector<std::tuple<int, std::uint32_t, int, int, bool, bool>>;

PlanState state_of(const odt::Plan& plan) {
  PlanState state;
  for (const odt::PlanNode& n : plan.nodes)
    state.emplace_back(n.feature, n.bound, n.left, n.right, n.stump, n.must);
  return state;
}

odt::Plan plan_of(const PlanState& state) {
  odt::Plan plan;
  const int count = static_cast<int>(state.size());
  for (const auto& [feature, bound, left, right, stump, must] : state) {
    const int i = static_cast<int>(plan.nodes.size());
    const bool inside = left > i && left < count && right > i && right < count;
    if (feature >= 0 && !inside)
      throw std::invalid_argument("a plan's nodes stand before those below them");
    plan.nodes.push_back({feature, bound, left, right, stump, must});
  }
  return plan;
}

using TreeState =
    std::tuple<Array<std::int32_t>, Array<std::int64_t>, Array<std::int64_t>, Array<std::int32_t>,
               Array<std::int32_t>, Array<std::int32_t>, std::optional<Array<double>>>;

void bind_trees(nb::module_& m) {
  // An array with an owner of its own is handed out, not copied.
  constexpr auto shared = nb::rv_policy::automatic;
  nb::class_<TreeArrays>(m, "Tree",
                         "A tree as arrays, an entry per node: the root first, -1 for none.")
      .def(
          "__init__",
          [](TreeArrays* self, const Vector<std::int32_t>& feature, const Vector<std::int64_t>& cut,
             const Vector<std::int32_t>& left, const Vector<std::int32_t>& right,
             const std::optional<Vector<std::int32_t>>& label) {
            new (self) TreeArrays(given_tree(feature, cut, left, right, label));
          },
          nb::kw_only(), "feature"_a, "cut"_a, "left"_a, "right"_a, "label"_a = nb::none())
      .def_prop_ro(
          "feature", [](const TreeArrays& t) { return t.feature; }, shared)
      .def_prop_ro(
          "cut", [](const TreeArrays& t) { return t.cut; }, shared,
          "The largest rank of the node's rows that goes left.")
      .def_prop_ro(
          "next", [](const TreeArrays& t) { return t.next; }, shared,
          "The smallest rank of the node's rows that goes right.")
      .def_prop_ro(
          "left", [](const TreeArrays& t) { return t.left; }, shared)
      .def_prop_ro(
          "right", [](const TreeArrays& t) { return t.right; }, shared)
      .def_prop_ro(
          "label", [](const TreeArrays& t) { return t.label; }, shared)
      .def_prop_ro(
          "output", [](const TreeArrays& t) { return t.output; }, shared,
          "Of trees of numbers: node by node, one per target.")
      .def("__getstate__",
           [](const TreeArrays& t) {
             return TreeState(t.feature, t.cut, t.next, t.left, t.right, t.label, t.output);
           })
      .def("__setstate__", [](TreeArrays& self, const TreeState& state) {
        new (&self) TreeArrays(odt::Tree{});
        std::tie(self.feature, self.cut, self.next, self.left, self.right, self.label,
                 self.output) = state;
      });
  nb::class_<odt::Plan>(m, "Plan",
                        "A tree as a search holds it: without labels, outputs, and its last tests.")
      .def("__getstate__", &state_of)
      .def("__setstate__",
           [](odt::Plan& self, const PlanState& state) { new (&self) odt::Plan(plan_of(state)); });
}

void bind_limits(nb::module_& m) {
  nb::class_<Limits>(m, "Limits",
                     "When a search ends, and how it goes about.\n\n"
                     "memory_limit: bytes of tables. work_limit: visits of rows, 0 for any.\n"
                     "isa: best, portable, avx2 or avx512, of the kernels of searches for classes; "
                     "what chooses by\nitself, of numbers and diagrams, asks the variable "
                     "ODTDSL_ISA, and loops that the compiler\nclones for several sets, which "
                     "answer alike, are chosen as the module is loaded.\n"
                     "beside: the search for good trees runs beside a proof that takes longer than "
                     "`alone`,\nso many visits of rows. interrupted: asked now and then whether to "
                     "stop; Ctrl-C stops too.\n"
                     "certify: with a certificate of the bound, or multipliers under rules.")
      .def(
          "__init__",
          [](Limits* self, std::optional<double> time_limit,
             std::optional<std::size_t> memory_limit, std::uint64_t work_limit, double absolute_gap,
             double relative_gap, int threads, const std::string& method, const std::string& isa,
             std::uint64_t seed, bool beside, std::optional<std::uint64_t> alone,
             const Asked& interrupted, bool certify) {
            new (self) Limits{time_limit, memory_limit, work_limit, absolute_gap, relative_gap,
                              threads,    method,       isa,        seed,         beside,
                              alone,      interrupted,  certify};
          },
          nb::kw_only(), "time_limit"_a = nb::none(), "memory_limit"_a = nb::none(),
          "work_limit"_a = 0, "absolute_gap"_a = 0.0, "relative_gap"_a = 0.0, "threads"_a = 1,
          "method"_a = "auto", "isa"_a = "best", "seed"_a = 0, "beside"_a = true,
          "alone"_a = nb::none(), "interrupted"_a = nb::none(), "certify"_a = false);
}

template <class Options>
Options common_of(const Limits& limits) {
  Options o;
  o.time_limit = limits.time_limit.value_or(-1);
  o.work_limit = limits.work_limit;
  o.absolute_gap = static_cast<decltype(o.absolute_gap)>(limits.absolute_gap);
  o.relative_gap = limits.relative_gap;
  o.threads = limits.threads;
  o.memory_limit = limits.memory_limit.value_or(0);
  o.seed = limits.seed;
  o.beside = limits.beside;
  if (limits.alone) o.alone = *limits.alone;
  return o;
}

}  // namespace

odt::Options options_of(const Limits& limits) {
  auto o = common_of<odt::Options>(limits);
  o.isa = parse_isa(limits.isa);
  o.method = parse_method(limits.method);
  o.certify = limits.certify;
  return o;
}

odt::NumberOptions real_options_of(const Limits& limits) {
  const std::string& method = limits.method;
  if (method != "auto" && method != "prove" && method != "anytime")
    throw std::invalid_argument("method must be auto, prove or anytime");
  auto o = common_of<odt::NumberOptions>(limits);
  o.prove = method != "anytime";
  o.beside = method == "auto" && limits.beside;
  return o;
}

}  // namespace odt_python

void bind_values(nanobind::module_& m) {
  using namespace odt_python;
  nb::class_<RankTable>(
      m, "RankTable",
      "Cells as ranks, and the cuts that may stand: rows of at most the cut's rank go left.\n\n"
      "ranks: uint16 or uint32 (n_features, n_rows), dense from 0. distinct: ranks per feature.\n"
      "allowed: per feature a flag per rank, or None for all.")
      .def(nb::init<const Ranks&, const Vector<std::uint32_t>&, const std::optional<Cuts>&>(),
           "ranks"_a, "distinct"_a, "allowed"_a = nb::none());
  bind_trees(m);
  bind_limits(m);
  bind_answer<ClassAnswer>(m, "ClassAnswer");
  bind_answer<RuledAnswer>(m, "RuledAnswer");
  bind_answer<NumberAnswer>(m, "NumberAnswer");
}
