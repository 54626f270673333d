#include "odt/tree_function.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace odt {
namespace {

std::int64_t bits_of(double x) {
  if (x == 0) x = 0;  // one zero
  std::int64_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}

std::uint64_t ones(std::size_t n) {
  return n >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
}

}  // namespace

std::size_t Functions::Hash::operator()(const std::vector<std::int64_t>& v) const {
  std::uint64_t h = 0x9e3779b97f4a7c15ULL;
  for (std::int64_t x : v) {
    h = (h ^ static_cast<std::uint64_t>(x)) * 0xff51afd7ed558ccdULL;
    h ^= h >> 32;
  }
  return static_cast<std::size_t>(h);
}

int Functions::add(Region region) {
  regions_.push_back(region);
  return static_cast<int>(regions_.size()) - 1;
}

std::uint64_t Functions::passing(const Cells& cells, const Region& r) const {
  if (!r.line)
    return std::uint64_t{1} << (std::lower_bound(cells.values.begin(), cells.values.end(),
                                                 r.value) -
                                cells.values.begin());
  const auto index = [&](const std::pair<double, int>& cut) {
    return static_cast<std::size_t>(std::lower_bound(cells.cuts.begin(), cells.cuts.end(), cut) -
                                    cells.cuts.begin());
  };
  const std::size_t first = std::isinf(r.low.first) ? 0 : index(r.low) + 1;
  const std::size_t last = std::isinf(r.high.first) ? cells.cuts.size() : index(r.high);
  return ones(last + 1) & ~ones(first);
}

void Functions::walk(const std::vector<FunctionNode>& tree, int at,
                     std::vector<std::uint64_t>& box) {
  const FunctionNode& node = tree[static_cast<std::size_t>(at)];
  if (node.region < 0) {
    leaves_.push_back({box, node.label});
    return;
  }
  const Region& region = regions_[static_cast<std::size_t>(node.region)];
  const std::size_t index = static_cast<std::size_t>(
      std::find_if(cells_.begin(), cells_.end(),
                   [&](const Cells& c) { return c.column == region.column; }) -
      cells_.begin());
  const Cells& cells = cells_[index];
  std::uint64_t left = passing(cells, region);
  if (missing_[static_cast<std::size_t>(cells.column)] && node.missing_left)
    left |= std::uint64_t{1} << cells.present();
  const std::uint64_t whole = box[index];
  box[index] = whole & left;
  walk(tree, node.left, box);
  box[index] = whole & ~left;
  walk(tree, node.right, box);
  box[index] = whole;
}

int Functions::of(const std::vector<FunctionNode>& tree) {
  cells_.clear();
  leaves_.clear();
  for (const FunctionNode& node : tree) {
    if (node.region < 0) continue;
    const Region& r = regions_[static_cast<std::size_t>(node.region)];
    auto at = std::lower_bound(cells_.begin(), cells_.end(), r.column,
                               [](const Cells& c, int column) { return c.column < column; });
    if (at == cells_.end() || at->column != r.column)
      at = cells_.insert(at, Cells{r.column, {}, {}});
    if (!r.line) at->values.push_back(r.value);
    for (const auto* cut : {&r.low, &r.high})
      if (r.line && !std::isinf(cut->first)) at->cuts.push_back(*cut);
  }
  std::vector<std::uint64_t> whole;
  for (Cells& cells : cells_) {
    std::sort(cells.cuts.begin(), cells.cuts.end());
    cells.cuts.erase(std::unique(cells.cuts.begin(), cells.cuts.end()), cells.cuts.end());
    std::sort(cells.values.begin(), cells.values.end());
    cells.values.erase(std::unique(cells.values.begin(), cells.values.end()), cells.values.end());
    whole.push_back(
        ones(cells.present() + (missing_[static_cast<std::size_t>(cells.column)] ? 1 : 0)));
  }
  walk(tree, 0, whole);
  known_.assign(cells_.size(), {});
  return rest(0, ones(leaves_.size()));
}

// The function of the columns from `index` on, where only these leaves are left.
int Functions::rest(std::size_t index, std::uint64_t leaves) {
  if (index == cells_.size()) {
    std::size_t last = 0;
    while (leaves >>= 1) ++last;
    return -1 - leaves_[last].label;
  }
  for (const auto& [of, number] : known_[index])
    if (of == leaves) return number;
  const int number = written(index, leaves);
  known_[index].emplace_back(leaves, number);
  return number;
}

int Functions::written(std::size_t index, std::uint64_t leaves) {
  const Cells& cells = cells_[index];
  const bool missing = missing_[static_cast<std::size_t>(cells.column)];
  std::vector<int> parts(cells.present() + (missing ? 1 : 0));
  for (std::size_t part = 0; part < parts.size(); ++part) {
    std::uint64_t left = 0;
    for (std::size_t leaf = 0; leaf < leaves_.size(); ++leaf)
      if (leaves >> leaf & 1 && leaves_[leaf].box[index] >> part & 1)
        left |= std::uint64_t{1} << leaf;
    parts[part] = rest(index + 1, left);
  }
  if (std::all_of(parts.begin(), parts.end(), [&](int p) { return p == parts[0]; }))
    return parts[0];
  std::vector<std::int64_t> text{cells.column, missing ? parts.back() : 0};
  if (missing) parts.pop_back();
  if (!cells.values.empty()) {
    const int other = parts.back();
    text.push_back(other);
    for (std::size_t v = 0; v < cells.values.size(); ++v)
      if (parts[v] != other) text.insert(text.end(), {cells.values[v], parts[v]});
  } else {
    text.push_back(parts[0]);
    for (std::size_t c = 0; c < cells.cuts.size(); ++c)
      if (parts[c] != parts[c + 1])
        text.insert(text.end(), {bits_of(cells.cuts[c].first), cells.cuts[c].second, parts[c + 1]});
  }
  return numbers_.emplace(std::move(text), static_cast<int>(numbers_.size())).first->second;
}

}  // namespace odt
