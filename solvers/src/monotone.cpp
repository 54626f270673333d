#include "odt/monotone.hpp"

#include <numeric>

namespace odt {
namespace {

constexpr int kDeepest = 32;
// Half of what a tree is allowed when it is looked at as a whole.
constexpr double kRounding = 0.25e-9;

const Cells& cells_in(const Monotone::Region& region, int column, const Cells& otherwise) {
  for (const auto& [c, cells] : region.cells)
    if (c == column) return cells;
  return otherwise;
}

// Whether some value here is less than some value there.
bool less(const Cells& a, const Cells& b) {
  if (a.ranked()) return a.low < a.high && b.low < b.high && a.low < b.high;
  const int least = extreme(a, true), most = extreme(b, false);
  return least >= 0 && least < most;
}

}  // namespace

Monotone::Monotone(const std::vector<MonotoneRule>& rules, const SpaceProblem& space,
                   std::size_t rows, int labels)
    : rules_(rules),
      space_(space, rows),
      classes_(static_cast<std::size_t>(labels)),
      outputs_(&classes_),
      of_column_(space.columns.size(), 0),
      at_(kDeepest) {
  std::iota(classes_.begin(), classes_.end(), 0.0);
  for (const MonotoneRule& r : rules)
    of_column_[static_cast<std::size_t>(r.column)] |= std::uint64_t{1} << r.fact;
}

Monotone::Monotone(const std::vector<MonotoneRule>& rules, const SpaceProblem& space,
                   std::size_t rows, const std::vector<double>& outputs, std::size_t targets)
    : Monotone(rules, space, rows, 0) {
  outputs_ = &outputs;
  targets_ = targets;
  rounding_ = kRounding;
}

std::uint64_t Monotone::facts_of(std::size_t feature) const {
  return of_column_[static_cast<std::size_t>(space_.test(feature).column)];
}

std::uint64_t Monotone::facts_above(int level) const {
  std::uint64_t facts = 0;
  for (int k = 0; k < level; ++k) facts |= facts_of(at_[static_cast<std::size_t>(k)].feature);
  return facts;
}

// ---- the path

void Monotone::split(int level, std::size_t feature, std::uint32_t low_row,
                     std::uint32_t high_row) {
  At& here = at_[static_cast<std::size_t>(level)];
  here.feature = feature;
  here.low_row = low_row;
  here.high_row = high_row;
  here.placed = false;
}

const Monotone::At& Monotone::placed(int level) const {
  const At& here = at_[static_cast<std::size_t>(level)];
  if (here.placed) return here;
  const std::size_t column = static_cast<std::size_t>(space_.test(here.feature).column);
  here.threshold = space_.threshold(here.feature, space_.cell(column, here.low_row),
                                    space_.cell(column, here.high_row), level);
  here.placed = true;
  return here;
}

void Monotone::enter(int level, int side, Limits limits) {
  at_[static_cast<std::size_t>(level)].side = side;
  at_[static_cast<std::size_t>(level) + 1].limits = std::move(limits);
}

Monotone::Limits Monotone::limits_of(int level, int side) const {
  const At& here = placed(level);
  Limits found;
  for (const Limit& l : here.limits)
    if (reaches(here, l, side)) found.push_back(l);
  return found;
}

Cells Monotone::cells(int level, int column) const {
  Cells found = space_.everything(static_cast<std::size_t>(column));
  for (int k = 0; k < level; ++k) {
    const At& above = placed(k);
    if (space_.test(above.feature).column == column)
      found = space_.side(found, above.feature, above.threshold, above.side == 0);
  }
  return found;
}

// ---- leaves and stumps

void Monotone::drop(const Limit& l, std::vector<int>& labels) const {
  labels.erase(
      std::remove_if(labels.begin(), labels.end(), [&](int label) { return !holds(l, label); }),
      labels.end());
}

void Monotone::keep(int level, std::vector<int>& labels) const {
  for (const Limit& l : limits(level)) drop(l, labels);
}

void Monotone::keep(int level, int side, std::vector<int>& labels) const {
  if (limits(level).empty()) return;
  const At& here = placed(level);
  for (const Limit& l : here.limits)
    if (reaches(here, l, side)) drop(l, labels);
}

bool Monotone::admits(int level, int label) const {
  const Limits& all = limits(level);
  return std::all_of(all.begin(), all.end(), [&](const Limit& l) { return holds(l, label); });
}

bool Monotone::admits(int level, int side, int label) const {
  if (limits(level).empty()) return true;
  const At& here = placed(level);
  return std::all_of(here.limits.begin(), here.limits.end(),
                     [&](const Limit& l) { return !reaches(here, l, side) || holds(l, label); });
}

std::string Monotone::context(int level) const {
  std::string found(1, static_cast<char>(level));
  for (std::size_t c = 0; c < space_.columns(); ++c) {
    const Cells whole = space_.everything(c);
    if (whole.ranked() && !whole.missing) continue;  // its thresholds lie between rows
    const Cells left = cells(level, static_cast<int>(c));
    found.append(left.codes.begin(), left.codes.end());
    found.push_back(static_cast<char>(left.missing));
  }
  return found;
}

std::uint64_t Monotone::stump_facts(int level, int left, int right) const {
  if (left == right || facts_of(at_[static_cast<std::size_t>(level)].feature) == 0) return 0;
  const At& here = placed(level);
  Meeting m{here.feature, space_.test(here.feature).column, {}, {}};
  const Cells whole = cells(level, m.column);
  for (int s = 0; s < 2; ++s) m.side[s] = space_.side(whole, here.feature, here.threshold, s == 0);
  return wrong(m, m.side[0], m.side[1], left, right, 0, nullptr);
}

// ---- sub-trees

Monotone::Meeting Monotone::meeting(int level) const {
  const At& here = placed(level);
  Meeting m{here.feature, space_.test(here.feature).column, {}, {}};
  for (std::size_t c = 0; c < space_.columns(); ++c)
    m.box.push_back(cells(level, static_cast<int>(c)));
  for (int s = 0; s < 2; ++s)
    m.side[s] = space_.side(m.box[static_cast<std::size_t>(m.column)], here.feature, here.threshold,
                            s == 0);
  return m;
}

Monotone::Regions Monotone::regions(const std::vector<ArenaNode>& arena, int node,
                                    const Meeting& here, int side) const {
  Regions found;
  Region path;
  walk(arena, node, here, side, path, found);
  return found;
}

void Monotone::walk(const std::vector<ArenaNode>& arena, int node, const Meeting& here, int side,
                    Region& path, Regions& found) const {
  if (node < 0) {
    found.push_back(path);
    found.back().label = -1 - node;
    return;
  }
  const ArenaNode& n = arena[static_cast<std::size_t>(node)];
  const std::size_t f = static_cast<std::size_t>(n.feature);
  const int column = space_.test(f).column;
  std::size_t i = 0;
  while (i < path.cells.size() && path.cells[i].first != column) ++i;
  const bool first = i == path.cells.size();
  if (first)
    path.cells.emplace_back(column, column == here.column
                                        ? here.side[side]
                                        : here.box[static_cast<std::size_t>(column)]);
  const Cells before = path.cells[i].second;
  for (int s = 0; s < 2; ++s) {
    path.cells[i].second = space_.side(before, f, n.threshold, s == 0);
    walk(arena, s == 0 ? n.left : n.right, here, side, path, found);
  }
  path.cells[i].second = before;
  if (first) path.cells.pop_back();
}

// The first target in which the prediction falls from one label to another, or -1.
int Monotone::fallen(int from, int to) const {
  for (std::size_t t = 0; t < targets_; ++t)
    if (falls(value(to, t), value(from, t))) return static_cast<int>(t);
  return -1;
}

// The facts of labels in the wrong order along the column, all else being equal.
std::uint64_t Monotone::wrong(const Meeting& here, const Cells& left, const Cells& right,
                              int left_label, int right_label, std::uint64_t wish,
                              Tangle* tangle) const {
  std::uint64_t facts = 0;
  for (const MonotoneRule& r : rules_) {
    if (r.column != here.column || left_label == right_label) continue;
    for (int low = 0; low < 2; ++low) {
      if (!(low == 0 ? less(left, right) : less(right, left))) continue;
      const bool along = (low == 0) == r.increasing;
      const int target = along ? fallen(left_label, right_label) : fallen(right_label, left_label);
      if (target < 0) continue;
      const std::uint64_t fact = std::uint64_t{1} << r.fact;
      facts |= fact;
      if (!tangle || tangle->fact || !(wish & fact)) continue;
      tangle->fact = fact;
      tangle->low = low;
      tangle->falls = r.increasing;
      tangle->target = static_cast<std::size_t>(target);
      tangle->labels[0] = left_label;
      tangle->labels[1] = right_label;
    }
  }
  return facts;
}

std::uint64_t Monotone::facts_between(const Regions& left, const Regions& right,
                                      const Meeting& here, std::uint64_t wish,
                                      std::vector<Tangle>* tangles) const {
  const auto meet_elsewhere = [&](const Region& a, const Region& b) {
    const auto met = [&](int c) {
      const Cells& whole = here.box[static_cast<std::size_t>(c)];
      return c == here.column || meet(cells_in(a, c, whole), cells_in(b, c, whole));
    };
    for (const Region* region : {&a, &b})
      for (const auto& column : region->cells)
        if (!met(column.first)) return false;
    return true;
  };
  std::uint64_t facts = 0;
  for (const Region& a : left)
    for (const Region& b : right) {
      Tangle found;
      const std::uint64_t more =
          wrong(here, cells_in(a, here.column, here.side[0]),
                cells_in(b, here.column, here.side[1]), a.label, b.label, wish, &found);
      if (more == 0 || !meet_elsewhere(a, b)) continue;
      facts |= more;
      if (!tangles || !found.fact) continue;
      found.regions[0] = &a;
      found.regions[1] = &b;
      tangles->push_back(found);
    }
  return facts;
}

// Those of which both leaves hold the other columns.
std::vector<std::uint32_t> Monotone::rows_between(const Tangle& t, const Meeting& here,
                                                  const std::vector<std::uint32_t>& rows) const {
  std::vector<std::uint32_t> found = rows;
  for (const Region* region : t.regions)
    for (const auto& item : region->cells) {
      const auto outside = [&](std::uint32_t row) {
        return !item.second.holds(space_.cell(static_cast<std::size_t>(item.first), row));
      };
      if (item.first != here.column)
        found.erase(std::remove_if(found.begin(), found.end(), outside), found.end());
    }
  return found;
}

Monotone::Ways Monotone::ways(const std::vector<Tangle>& tangles, const Meeting& here,
                              const std::vector<std::uint32_t>& rows) {
  // Where most rows are, in their midst: limits there cost most.
  std::vector<std::uint32_t> inside;
  const Tangle* most = &tangles.front();
  for (const Tangle& one : tangles) {
    auto found = rows_between(one, here, rows);
    if (found.size() <= inside.size()) continue;
    inside = std::move(found);
    most = &one;
  }
  const Tangle& t = *most;
  const std::size_t columns = space_.columns(), own = static_cast<std::size_t>(here.column);
  Point point(columns);
  for (std::size_t c = 0; c < columns; ++c) {
    const Cells& whole = here.box[c];
    const int column = static_cast<int>(c);
    const Cells both =
        common(cells_in(*t.regions[0], column, whole), cells_in(*t.regions[1], column, whole));
    if (c != own) point[c] = space_.typical(both, c, inside.empty() ? rows : inside);
  }
  const std::uint32_t first = static_cast<std::uint32_t>(points_.size());
  for (int s = 0; s < 2; ++s) {
    const Cells& cells = cells_in(*t.regions[s], here.column, here.side[s]);
    // Of numbers, one side lies below the other as a whole.
    point[own] = cells.ranked() ? kEvery : extreme(cells, s == t.low);
    points_.push_back(point);
  }
  // With `falls`: the prediction at the lower point is less than `at`, or that at the upper one no
  // less. Else turned. The one excludes the larger prediction, the other the smaller one.
  const int high = 1 - t.low, larger = t.falls ? t.low : high;
  const double most_of = value(t.labels[larger], t.target),
               least_of = value(t.labels[1 - larger], t.target),
               middle = most_of / 2 + least_of / 2,
               at = falls(least_of, middle) && middle <= most_of ? middle : most_of;
  const auto limit = [&](int side, bool below) {
    return Limit{first + static_cast<std::uint32_t>(side), t.target, at, below};
  };
  return {t.fact, {t.low, high}, {limit(t.low, t.falls), limit(high, !t.falls)}};
}

}  // namespace odt
