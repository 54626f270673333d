#include "odt/regression_view.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>

namespace odt {
namespace {
constexpr std::uint32_t kAbsent = ~0u;
}

void RegressionView::make_root(const RegressionData& data) {
  points = data.points;
  source = this;
  id.resize(points);
  std::iota(id.begin(), id.end(), 0u);
  point = data.point;
  target = data.target;
  by_target = id;
  // The order serves clusterings, which do not bound counts.
  if (!data.problem.poisson())
    std::stable_sort(by_target.begin(), by_target.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return target[a] < target[b]; });
  for (std::size_t i = 0; i < points; ++i) {
    total.add(point[i]);
    set ^= data.hash[i];
  }
  path.rows = points;
  renew();
  code_.resize(data.cell.size() * points);
  for (std::size_t f = 0; f < data.cell.size(); ++f) {
    std::uint32_t* codes = code_.data() + columns.size() * points;
    std::copy(data.cell[f].begin(), data.cell[f].end(), codes);
    std::vector<std::uint32_t> cells(data.bound[f].size() + 1);
    std::iota(cells.begin(), cells.end(), 0u);
    add_column(static_cast<std::uint32_t>(f), cells, codes);
  }
}

// Makes the codes of a new column dense; a column with one code only is left out.
void RegressionView::add_column(std::uint32_t column, const std::vector<std::uint32_t>& cell_of,
                                std::uint32_t* codes) {
  if (cell_of.size() == 2) {
    const std::size_t ones = std::accumulate(codes, codes + points, std::size_t{0});
    if (ones == 0 || ones == points) return;
    columns.push_back({column, 2, cell_.size()});
    cell_.insert(cell_.end(), cell_of.begin(), cell_of.end());
    return;
  }
  place_.assign(cell_of.size(), kAbsent);
  for (std::size_t i = 0; i < points; ++i) place_[codes[i]] = 0;
  const std::size_t cells = cell_.size();
  std::uint32_t values = 0;
  for (std::size_t c = 0; c < cell_of.size(); ++c) {
    if (place_[c] == kAbsent) continue;
    place_[c] = values++;
    cell_.push_back(cell_of[c]);
  }
  if (values < 2) {
    cell_.resize(cells);
    return;
  }
  if (values < cell_of.size())
    for (std::size_t i = 0; i < points; ++i) codes[i] = place_[codes[i]];
  columns.push_back({column, values, cells});
}

void RegressionView::part(const RegressionData& data, const RegressionView& parent,
                          std::size_t column, std::uint32_t cut, RegressionView (&sides)[2]) {
  const std::uint32_t* codes = parent.codes(column);
  for (RegressionView& side : sides) {
    side.source = &parent;
    side.by_target.resize(parent.points);
    side.total = Moments{};
    side.set = 0;
    side.renew();
  }
  std::size_t counts[2] = {0, 0};
  for (std::uint32_t i : parent.by_target) {
    const std::size_t k = codes[i] < cut ? 0 : 1;
    sides[k].by_target[counts[k]++] = i;
  }
  for (std::size_t k = 0; k < 2; ++k) {
    sides[k].points = counts[k];
    sides[k].by_target.resize(counts[k]);
  }
  // Sums are exact, so those of one side tell the other's.
  const std::size_t few = counts[0] <= counts[1] ? 0 : 1;
  RegressionView &small = sides[few], &large = sides[1 - few];
  for (std::uint32_t i : small.by_target) {
    small.total.add(parent.point[i]);
    small.set ^= data.hash[parent.id[i]];
  }
  large.total = parent.total;
  large.total.subtract(small.total);
  large.set = parent.set ^ small.set;
  const Column& c = parent.columns[column];
  for (std::size_t k = 0; k < 2; ++k)
    sides[k].path.follow(parent.path, {c.column, parent.cell_[c.cells + cut - 1], k == 1},
                         counts[k]);
}

void RegressionView::renew() {
  static std::atomic<std::uint64_t> last{0};
  stamp = ++last;
}

bool RegressionView::at_end_of(const RegressionData& data, const RowPath& way) const {
  return way.leads_to(
      points, path, [&](std::size_t i) { return source->id[by_target[i]]; },
      [&](std::uint32_t k, std::uint32_t i) { return data.cell[k][i]; });
}

void RegressionView::make_points(const RegressionView& parent) {
  place_.assign(parent.points, kAbsent);
  for (std::uint32_t i : by_target) place_[i] = 0;
  from_.clear();
  for (std::uint32_t i = 0; i < parent.points; ++i)
    if (place_[i] != kAbsent) from_.push_back(i);
  id.resize(points);
  point.resize(points);
  target.resize(points);
  for (std::uint32_t k = 0; k < points; ++k) {
    const std::uint32_t i = from_[k];
    place_[i] = k;
    id[k] = parent.id[i];
    point[k] = parent.point[i];
    target[k] = parent.target[i];
  }
  for (std::uint32_t& i : by_target) i = place_[i];
  source = this;
}

void RegressionView::make_columns(const RegressionView& parent) {
  columns.clear();
  cell_.clear();
  code_.resize((parent.columns.size() + 1) * points);
  std::vector<std::uint32_t> cells;
  for (std::size_t k = 0; k < parent.columns.size(); ++k) {
    const Column& column = parent.columns[k];
    const std::uint32_t* source = parent.codes(k);
    std::uint32_t* codes = code_.data() + columns.size() * points;
    for (std::size_t i = 0; i < points; ++i) codes[i] = source[from_[i]];
    const auto first = parent.cell_.begin() + static_cast<std::ptrdiff_t>(column.cells);
    cells.assign(first, first + column.values);
    add_column(column.column, cells, codes);
  }
}

int RegressionView::find(const RegressionData& data, int wanted, std::uint32_t wanted_bound,
                         std::uint32_t& cut) const {
  for (std::size_t k = 0; k < columns.size(); ++k) {
    if (feature(data, k) != wanted) continue;
    const auto& bounds = data.bound[columns[k].column];
    if (bounds.size() == 1 && bounds[0] != wanted_bound) continue;  // another cut of the feature
    for (cut = 0; cut < columns[k].values; ++cut) {
      const std::uint32_t cell = cell_[columns[k].cells + cut];
      if (cell >= bounds.size() || bounds[cell] > wanted_bound) break;
    }
    return cut > 0 && cut < columns[k].values ? static_cast<int>(k) : -1;
  }
  return -1;
}

}  // namespace odt
