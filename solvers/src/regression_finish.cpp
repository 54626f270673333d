#include "odt/regression_finish.hpp"

#include <memory>
#include <stdexcept>

#include "odt/regression_search.hpp"

namespace odt {
namespace {

class Resolver {
 public:
  Resolver(const RegressionData& data, Control& control)
      : data_(data), scan_(make_scan(data, control)) {}

  Plan resolve(const Plan& plan, int at, const RegressionView& view, int state,
               std::size_t level = 0) {
    if (at < 0) return Plan::leaf();
    PlanNode node = plan.nodes[static_cast<std::size_t>(at)];
    if (node.feature < 0 && node.stump && !view.columns.empty()) {
      const Pick pick = scan_->stump(view, state);
      if (pick.column < 0) throw std::logic_error("a split of the search breaks a rule");
      node.feature = view.feature(data_, static_cast<std::size_t>(pick.column));
      node.bound = view.bound(data_, static_cast<std::size_t>(pick.column), pick.cut);
    }
    if (node.feature < 0) return Plan::leaf();
    if (!has_stump(plan, at)) return parted(plan, at, view.id);
    std::uint32_t cut = 0;
    const int column = view.find(data_, node.feature, node.bound, cut);
    if (column < 0)
      return resolve(plan, goes_below(view.id[0], node) ? node.left : node.right, view, state,
                     level);
    const int after = data_.after(state, view.columns[static_cast<std::size_t>(column)].column);
    Plan sides[2];
    if (level >= views_.size()) views_.push_back(std::make_unique<Pair>());
    auto& inner = views_[level]->views;
    RegressionView::part(data_, view, static_cast<std::size_t>(column), cut, inner);
    for (int k = 0; k < 2; ++k) {
      const int side = k == 0 ? node.left : node.right;
      sides[k] = Plan::leaf();
      if (is_leaf(plan, side)) continue;
      inner[k].make_points(view);
      inner[k].make_columns(view);
      sides[k] = resolve(plan, side, inner[k], after, level + 1);
    }
    return Plan::split(node.feature, view.bound(data_, static_cast<std::size_t>(column), cut),
                       sides[0], sides[1]);
  }

 private:
  static bool is_leaf(const Plan& plan, int at) {
    if (at < 0) return true;
    const PlanNode& node = plan.nodes[static_cast<std::size_t>(at)];
    return node.feature < 0 && !node.stump;
  }
  static bool has_stump(const Plan& plan, int at) {
    if (at < 0) return false;
    const PlanNode& node = plan.nodes[static_cast<std::size_t>(at)];
    return node.stump || (node.feature >= 0 &&
                          (has_stump(plan, node.left) || has_stump(plan, node.right)));
  }
  // Of splits alone, those that part the points.
  Plan parted(const Plan& plan, int at, const std::vector<std::uint32_t>& points) const {
    if (is_leaf(plan, at)) return Plan::leaf();
    const PlanNode& node = plan.nodes[static_cast<std::size_t>(at)];
    std::vector<std::uint32_t> side[2];
    for (std::uint32_t point : points) side[goes_below(point, node) ? 0 : 1].push_back(point);
    if (side[0].empty()) return parted(plan, node.right, points);
    if (side[1].empty()) return parted(plan, node.left, points);
    return Plan::split(node.feature, node.bound, parted(plan, node.left, side[0]),
                       parted(plan, node.right, side[1]));
  }
  bool goes_below(std::uint32_t point, const PlanNode& node) const {
    return data_.problem.base.ranks(static_cast<std::size_t>(node.feature))[data_.row[point]] <
           node.bound;
  }

  const RegressionData& data_;
  std::unique_ptr<RegressionScan> scan_;
  struct Pair {
    RegressionView views[2];
  };
  std::vector<std::unique_ptr<Pair>> views_;  // by level, for all nodes of it
};

}  // namespace

Plan resolved(const RegressionData& data, const RegressionView& root, Control& control,
              const Plan& plan) {
  return data.points > 0 ? Resolver(data, control).resolve(plan, 0, root, 0) : Plan::leaf();
}

}  // namespace odt
