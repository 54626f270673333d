#include "odt/number_repeats.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <unordered_map>

#include "odt/lanes.hpp"
#include "odt/number_finish.hpp"
#include "odt/row_path.hpp"

namespace odt {
namespace {

template <class T>
void add_asked(std::string& to, const std::vector<T>& from, std::size_t at, std::size_t step) {
  for (; at < from.size(); at += step)
    to.append(reinterpret_cast<const char*>(&from[at]), sizeof from[at]);
}

// The exclusive or of the hashes of rows of rank 1, where there is none but 0.
ODT_CLONES std::uint64_t hash_of_ones(const std::uint32_t* rank, const std::uint64_t* hash,
                                      std::size_t rows) {
  std::uint64_t found = 0;
  for (std::size_t i = 0; i < rows; ++i) found ^= hash[i] & (0 - std::uint64_t{rank[i]});
  return found;
}

// Per column of the rules a number: the same for those of which rules ask the same.
std::vector<int> column_kinds(const NumberProblem& problem) {
  const NumberModel& model = problem.model;
  std::vector<int> found;
  std::unordered_map<std::string, int> known;
  const std::size_t columns = static_cast<std::size_t>(problem.rules.columns);
  for (std::size_t c = 0; c < columns; ++c) {
    std::string asked;
    add_asked(asked, problem.rules.next, c, columns);
    if (!model.none()) {
      add_asked(asked, model.split, c, columns);
      add_asked(asked, model.split_facts, c, columns);
      for (const auto& delta : model.path_delta) add_asked(asked, delta, c, columns);
    }
    found.push_back(
        known.try_emplace(std::move(asked), static_cast<int>(known.size())).first->second);
  }
  return found;
}

}  // namespace

NumberRepeats::NumberRepeats(const NumberProblem& problem) : problem_(problem) {
  constexpr std::size_t kMost = std::size_t{1} << 14;  // cuts; of more, few are alike
  const Problem& p = problem.base;
  const NumberRules& rules = problem.rules;
  if (!problem.model.monotone.empty()) return;  // directions are of features
  std::vector<std::vector<std::uint32_t>> counts;
  std::size_t cuts = 0;
  for (std::size_t f = 0; f < p.features; ++f) {
    counts.push_back(p.cuts_below(f));
    cuts += counts[f].back();
    if (cuts > kMost) return;
  }
  if (!rules.none()) kind_ = column_kinds(problem);
  const std::vector<std::uint64_t> hash = row_hashes(p.rows);
  std::uint64_t all = 0;
  for (std::uint64_t one : hash) all ^= one;
  std::unordered_multimap<std::uint64_t, Cut> known;
  known.reserve(cuts);
  std::vector<std::uint64_t> left;
  for (std::uint32_t f = 0; f < p.features; ++f) {
    if (!rules.missing_low.empty() && (rules.missing_low[f] != NumberRules::kNoRank ||
                                       rules.missing_high[f] != NumberRules::kNoRank))
      continue;
    left.assign(p.distinct[f] + 1, 0);
    const std::uint32_t* rank = p.ranks(f);
    if (p.distinct[f] == 2)
      left[1] = all ^ hash_of_ones(rank, hash.data(), p.rows);
    else
      for (std::size_t i = 0; i < p.rows; ++i) left[rank[i] + 1] ^= hash[i];
    for (std::uint32_t bound = 1; bound < p.distinct[f]; ++bound) {
      left[bound] ^= left[bound - 1];
      if (counts[f][bound] == counts[f][bound - 1]) continue;
      const Cut cut{f, bound};
      const std::uint64_t key = std::min(left[bound], left[bound] ^ all);
      const auto range = known.equal_range(key);
      bool turned = false;
      const auto at = std::find_if(range.first, range.second, [&](const auto& one) {
        return !told_apart(one.second, cut) && alike(one.second, cut, turned);
      });
      if (at == range.second)
        known.emplace(key, cut);
      else
        repeats_.push_back({cut, at->second, turned});
    }
  }
}

// Whether rules ask for something else of one of two cuts.
bool NumberRepeats::told_apart(Cut a, Cut b) const {
  const NumberRules& rules = problem_.rules;
  const auto kind = [&](Cut cut) {
    return kind_[static_cast<std::size_t>(rules.column[cut.feature])];
  };
  if (!rules.none() && kind(a) != kind(b)) return true;
  for (std::size_t level = 0; level < rules.cuts_at.size(); ++level)
    if (rules.open(a.feature, a.bound - 1, a.bound, level) !=
        rules.open(b.feature, b.bound - 1, b.bound, level))
      return true;
  return false;
}

bool NumberRepeats::alike(Cut a, Cut b, bool& turned) const {
  const std::uint32_t *x = problem_.base.ranks(a.feature), *y = problem_.base.ranks(b.feature);
  turned = (x[0] < a.bound) != (y[0] < b.bound);
  for (std::size_t i = 1; i < problem_.base.rows; ++i)
    if (((x[i] < a.bound) != (y[i] < b.bound)) != turned) return false;
  return true;
}

NumberProblem NumberRepeats::without() const {
  NumberProblem few = problem_;
  auto& allowed = few.base.allowed;
  allowed.resize(few.base.features);
  for (const Repeat& one : repeats_) {
    auto& of = allowed[one.cut.feature];
    if (of.empty()) of.assign(few.base.distinct[one.cut.feature], 1);
    of[one.cut.bound - 1] = 0;
    for (auto& level : few.rules.cuts_at) {
      auto& counts = level[one.cut.feature];
      if (counts[one.cut.bound] == counts[one.cut.bound - 1]) continue;
      for (std::size_t r = one.cut.bound; r < counts.size(); ++r) --counts[r];
    }
  }
  return few;
}

Tree NumberRepeats::retold(const Tree& tree) const {
  std::size_t fewest = 0;
  const Plan plan = plan_of_tree(problem_, tree, fewest);
  std::vector<std::uint32_t> rows(problem_.base.rows);
  std::iota(rows.begin(), rows.end(), 0u);
  Tree made;
  made.nodes.resize(plan.nodes.size());
  retell(plan, 0, rows, 0, made);
  return made;
}

void NumberRepeats::retell(const Plan& plan, int at, const std::vector<std::uint32_t>& rows,
                           std::size_t level, Tree& made) const {
  const PlanNode& node = plan.nodes[static_cast<std::size_t>(at)];
  if (node.feature < 0) return;
  const std::size_t f = static_cast<std::size_t>(node.feature);
  const auto [sides, low, high] = PartedRows(problem_.base, f, node.bound, rows);
  Cut cut{static_cast<std::uint32_t>(f), node.bound};
  // Of cuts that part these rows alike, one that may stand here.
  for (std::uint32_t bound = low + 1; bound <= high; ++bound)
    if (problem_.base.gap_open(f, bound - 1, bound) &&
        problem_.rules.open(f, bound - 1, bound, level)) {
      cut.bound = bound;
      break;
    }
  const auto found = std::lower_bound(repeats_.begin(), repeats_.end(), cut,
                                      [](const Repeat& one, Cut to) { return one.cut < to; });
  const bool is = found != repeats_.end() && !(cut < found->cut), turned = is && found->turned;
  if (is) cut = found->first;
  TreeNode& split = made.nodes[static_cast<std::size_t>(at)];
  split.feature = static_cast<int>(cut.feature);
  split.cut = cut.bound - 1;
  split.next = cut.bound;
  split.left = turned ? node.right : node.left;
  split.right = turned ? node.left : node.right;
  retell(plan, node.left, sides[0], level + 1, made);
  retell(plan, node.right, sides[1], level + 1, made);
}

void NumberRepeats::spread(std::vector<double>& by_first) const {
  if (by_first.empty()) return;
  const std::vector<std::size_t> first = first_cuts(problem_.base);
  const auto place = [&](Cut cut) { return first[cut.feature] + cut.bound - 1; };
  for (const Repeat& one : repeats_) by_first[place(one.cut)] = by_first[place(one.first)];
}

}  // namespace odt
