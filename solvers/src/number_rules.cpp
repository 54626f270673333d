#include "odt/number_rules.hpp"

#include <algorithm>
#include <stdexcept>

namespace odt {
namespace {

bool all_hold(const std::vector<int>& asked, const std::vector<RowConditions>& conditions,
              const std::vector<Loss>& total) {
  return std::all_of(asked.begin(), asked.end(), [&](int which) {
    const RowConditions& any = conditions[static_cast<std::size_t>(which)];
    return std::any_of(any.begin(), any.end(), [&](const RowCondition& one) {
      return total[static_cast<std::size_t>(one.sum)] <= one.at_most;
    });
  });
}

}  // namespace

bool NumberRules::any_strict() const {
  for (std::size_t state = 0; state < relaxed.size(); ++state)
    if (relaxed[state] != static_cast<int>(state)) return true;
  return false;
}

PathKinds::PathKinds(const NumberRules& rules) {
  constexpr std::size_t kMost = std::size_t{1} << 22;  // looked at
  if (rules.none()) return;
  const std::size_t width = static_cast<std::size_t>(rules.columns), states = rules.need.size();
  unordered = told_by_two = states * width * width <= kMost;
  if (!unordered) return;
  std::vector<std::size_t> first;  // columns, one of each kind
  for (std::size_t c = 0; c < width; ++c) {
    const auto like = std::find_if(first.begin(), first.end(), [&](std::size_t other) {
      for (std::size_t at = 0; at < rules.next.size(); at += width)
        if (rules.next[at + c] != rules.next[at + other]) return false;
      return true;
    });
    of.push_back(static_cast<std::size_t>(like - first.begin()));
    if (like == first.end()) first.push_back(c);
  }
  count = first.size();
  for (std::size_t at = 0; at < rules.next.size(); at += width)
    for (std::size_t c : first) next.push_back(rules.next[at + c]);
  const auto ends = [&](int state) { return state >= 0 && rules.ends(state); };
  for (std::size_t state = 0; state < states; ++state)
    for (std::size_t a = 0; a < count; ++a)
      for (std::size_t b = 0; b < a; ++b) {
        const int one = after(after(static_cast<int>(state), a), b),
                  other = after(after(static_cast<int>(state), b), a);
        if (one == other) continue;
        unordered = false;
        for (std::size_t c = 0; one >= 0 && other >= 0 && c < count; ++c)
          told_by_two = told_by_two && ends(after(one, c)) == ends(after(other, c));
      }
}

bool NumberRules::leaf_holds(int state, const std::vector<Loss>& total) const {
  return all_hold(leaf_rules[static_cast<std::size_t>(state)], leaf_conditions, total);
}

bool NumberRules::split_holds(int state, const std::vector<Loss>& total) const {
  return all_hold(split_rules[static_cast<std::size_t>(state)], split_conditions, total);
}

const std::vector<Loss>& RuleCheck::sums_of(const std::uint32_t* rows, std::size_t n) {
  total_.assign(static_cast<std::size_t>(rules_.sums), 0);
  for (std::size_t i = 0; i < n; ++i) rules_.add(rows[i], total_);
  return total_;
}

bool RuleCheck::leaf(int state, const std::uint32_t* rows, std::size_t n) {
  if (!rules_.ends(state)) return false;
  return !rules_.asks_leaf(state) || rules_.leaf_holds(state, sums_of(rows, n));
}

bool RuleCheck::split(int state, const std::uint32_t* rows, std::size_t n) {
  return !rules_.asks_split(state) || rules_.split_holds(state, sums_of(rows, n));
}

bool RuleCheck::keeps(const Plan& plan, int state, std::size_t level,
                      std::vector<std::uint32_t> rows, std::size_t at) {
  const PlanNode& node = plan.nodes[at];
  if (node.feature < 0) return leaf(state, rows.data(), rows.size());
  const std::size_t f = static_cast<std::size_t>(node.feature);
  const int next = rules_.after(state, f);
  if (next < 0 || !split(state, rows.data(), rows.size())) return false;
  auto [sides, low, high] = PartedRows(base_, f, node.bound, rows);
  if (sides[0].empty() || sides[1].empty() || !rules_.open(f, low, high, level)) return false;
  return keeps(plan, next, level + 1, std::move(sides[0]), static_cast<std::size_t>(node.left)) &&
         keeps(plan, next, level + 1, std::move(sides[1]), static_cast<std::size_t>(node.right));
}

void check(const NumberRules& rules, const Problem& base) {
  const auto demand = [](bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
  };
  if (rules.none()) return;
  const std::size_t states = rules.need.size(), columns = static_cast<std::size_t>(rules.columns);
  demand(columns > 0 && rules.next.size() == states * columns, "a row of next states per state");
  demand(rules.column.size() == base.features, "rules need a column per feature");
  for (int c : rules.column) demand(c >= 0 && c < rules.columns, "an unknown column");
  demand(rules.relaxed.size() == states && rules.leaf_rules.size() == states &&
             rules.split_rules.size() == states,
         "an entry per state");
  const auto known = [&](int state) { return state >= 0 && state < static_cast<int>(states); };
  for (int state : rules.next) demand(state == -1 || known(state), "an unknown state");
  for (int state : rules.relaxed) demand(known(state) && !rules.strict(state), "not relaxed");
  for (std::size_t state = 0; state < states; ++state) {
    if (rules.strict(static_cast<int>(state))) continue;
    demand(rules.need[state] == 0 && rules.leaf_rules[state].empty() &&
               rules.split_rules[state].empty(),
           "a relaxed state asks nothing");
    for (std::size_t c = 0; c < columns; ++c) {
      const int next = rules.next[state * columns + c];
      demand(next < 0 || !rules.strict(next), "behind a relaxed state all are");
    }
  }
  const auto valid = [&](const std::vector<std::vector<int>>& asked,
                         const std::vector<RowConditions>& conditions) {
    for (const auto& of_state : asked)
      for (int which : of_state)
        demand(which >= 0 && which < static_cast<int>(conditions.size()), "an unknown condition");
    for (const auto& any : conditions)
      for (const RowCondition& one : any)
        demand(one.sum >= 0 && one.sum < rules.sums, "an unknown sum");
  };
  valid(rules.leaf_rules, rules.leaf_conditions);
  valid(rules.split_rules, rules.split_conditions);
  demand(rules.value.size() == base.rows * static_cast<std::size_t>(rules.sums),
         "rules need sums for each row");
  demand(rules.missing_low.size() == rules.missing_high.size() &&
             (rules.missing_low.empty() || rules.missing_low.size() == base.features),
         "an entry per feature");
  demand(!rules.asks_cuts() || rules.strict(0), "rules on cuts are no relaxed ones");
}

}  // namespace odt
