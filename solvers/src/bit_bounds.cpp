#include "odt/bit_bounds.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "odt/bit_search.hpp"

namespace odt {
namespace {

template <class T>
class BitBoundsOf : public BitBounds {
 public:
  BitBoundsOf(std::unique_ptr<BitProblem> problem, Control& control)
      : problem_(std::move(problem)), cache_(*problem_, 0), search_(*problem_, control, cache_) {
    views_.push_back(std::make_unique<Node>());
    views_[0]->make_root(*problem_);
    views_[0]->renew();
    match();
  }

  BitSides sides(const std::vector<Step>& path, Shape shape, Loss upper) override {
    Node& here = view(path);
    std::vector<Loss> pass, fail;
    search_.sides(here, shape, upper, pass, fail);
    BitSides found;
    found.pass.assign(problem_->tests.size(), kInfinite);
    found.fail.assign(problem_->tests.size(), kInfinite);
    for (std::size_t t = 0; t < here.tests(); ++t) {
      const std::size_t id = static_cast<std::size_t>(here.ids[t]);
      found.pass[id] = pass[t];
      found.fail[id] = fail[t];
    }
    return found;
  }

 private:
  using Node = typename BitSearch<T>::BitNode;

  void match() {
    std::map<std::vector<std::uint64_t>, Same> known;
    const std::size_t n = problem_->order.size();
    for (std::size_t t = 0; t < problem_->tests.size(); ++t) {
      std::vector<std::uint64_t> other = problem_->passes[t];
      for (std::size_t i = 0; i < n; ++i) other[i / 64] ^= std::uint64_t{1} << (i % 64);
      known.emplace(problem_->passes[t], Same{static_cast<int>(t), false});
      known.emplace(std::move(other), Same{static_cast<int>(t), true});
    }
    const Problem& p = problem_->problem;
    for (std::size_t f = 0; f < p.features; ++f) {
      same_.emplace_back(std::max<std::size_t>(1, p.distinct[f]));
      for (std::uint32_t bound = 1; bound < p.distinct[f]; ++bound) {
        std::vector<std::uint64_t> column(problem_->member_words, 0);
        for (std::size_t i = 0; i < n; ++i)
          if (p.ranks(f)[problem_->order[i]] < bound)
            column[i / 64] |= std::uint64_t{1} << (i % 64);
        const auto at = known.find(column);
        if (at != known.end()) same_[f][bound - 1] = at->second;
      }
    }
  }

  Node& view(const std::vector<Step>& path) {
    std::size_t same = 0;
    while (same < loaded_.size() && same < path.size() && loaded_[same] == path[same]) ++same;
    if (same < path.size()) loaded_.resize(same);
    for (; same < path.size(); ++same) {
      if (views_.size() <= same + 1) views_.push_back(std::make_unique<Node>());
      const Step& step = path[same];
      const Same& test = this->same(step.feature, step.bound);
      const Node& parent = *views_[same];
      const auto at = std::find(parent.ids.begin(), parent.ids.end(), test.test);
      if (at == parent.ids.end()) throw std::logic_error("a step of a path is no test there");
      Node& made = *views_[same + 1];
      made.make_child(*problem_, parent, static_cast<int>(at - parent.ids.begin()),
                      step.left != test.swapped);
      made.renew();
      loaded_.push_back(step);
    }
    return *views_[path.size()];
  }

  std::unique_ptr<BitProblem> problem_;
  BitCache cache_;  // keeps nothing: nodes are asked for one by one, without their paths
  BitSearch<T> search_;
  std::vector<std::unique_ptr<Node>> views_;  // of the path that was asked for last
  std::vector<Step> loaded_;
};

}  // namespace

std::unique_ptr<BitBounds> BitBounds::make(const Dataset& data, Control& control) {
  if (!suits_bits(data.problem, control.options()) || data.loss.offset != 0) return nullptr;
  auto bits = std::make_unique<BitProblem>(data.problem, data.loss, data.kernels);
  // Rows that all labels lose alike are in no group, so tests of theirs are not told apart.
  std::vector<char> there(data.problem.rows, 0);
  for (std::uint32_t row : bits->order) there[row] = 1;
  if (bits->offset != 0 || !bits->fits<std::int32_t>() ||
      std::count(there.begin(), there.end(), 1) != static_cast<std::ptrdiff_t>(there.size()))
    return nullptr;
  if (bits->fits<std::int16_t>())
    return std::make_unique<BitBoundsOf<std::int16_t>>(std::move(bits), control);
  return std::make_unique<BitBoundsOf<std::int32_t>>(std::move(bits), control);
}

}  // namespace odt
