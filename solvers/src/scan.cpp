#include "odt/scan.hpp"

#include <algorithm>
#include <numeric>

namespace odt {
namespace {

constexpr std::int32_t kLeft = -1;
// Counting beats comparing as long as there are not many more values than rows.
constexpr std::int64_t kSparse = 8;

class Sums {
 public:
  Sums(const Node& node, Score score) : node_(node), score_(score) {}

  std::size_t width() const {
    return static_cast<std::size_t>(node_.n_gains + node_.n_bounded + 1);
  }

  // Sums are laid out as gains, bounded quantities, and the number of rows.
  void add(std::int64_t* sums, std::int32_t position) const {
    const std::int64_t row = node_.rows[position];
    const std::int64_t* gains = node_.gains + row * node_.n_gains;
    for (std::int64_t c = 0; c < node_.n_gains; ++c) sums[c] += gains[c];
    const std::int64_t* bounded = node_.bounded + row * node_.n_bounded;
    for (std::int64_t k = 0; k < node_.n_bounded; ++k) sums[node_.n_gains + k] += bounded[k];
    ++sums[node_.n_gains + node_.n_bounded];
  }

  bool enough(const std::int64_t* left, const std::int64_t* total) const {
    const std::int64_t size = node_.n_gains + node_.n_bounded;
    if (left[size] == 0 || left[size] == total[size]) return false;
    for (std::int64_t k = 0; k < node_.n_bounded; ++k) {
      const std::int64_t here = left[node_.n_gains + k];
      const std::int64_t there = total[node_.n_gains + k] - here;
      if (here < node_.minima[k] || there < node_.minima[k]) return false;
    }
    return true;
  }

  // Whether a test with these sums beats the best so far, and if so, keeps it.
  void offer(Best& best, std::int64_t test, const std::int64_t* left,
             const std::int64_t* total) const {
    Best found;
    found.test = test;
    if (score_ == Score::sides) {
      found.gain = left[0] + (total[1] - left[1]);
    } else {
      measure(found, left, total);
    }
    const bool better =
        best.test < 0 || (score_ != Score::gini && found.gain > best.gain) ||
        ((score_ == Score::gini || found.gain == best.gain) && found.gini > best.gini);
    if (better) best = found;
  }

 private:
  void measure(Best& found, const std::int64_t* left, const std::int64_t* total) const {
    std::int64_t most_left = 0, most_right = 0;
    double sum_left = 0, sum_right = 0, squares_left = 0, squares_right = 0;
    for (std::int64_t c = 0; c < node_.n_gains; ++c) {
      const std::int64_t a = left[c], b = total[c] - left[c];
      most_left = std::max(most_left, a);
      most_right = std::max(most_right, b);
      const double x = static_cast<double>(a), y = static_cast<double>(b);
      sum_left += x;
      sum_right += y;
      squares_left += x * x;
      squares_right += y * y;
    }
    found.gain = most_left + most_right;
    found.gini = (sum_left > 0 ? squares_left / sum_left : 0.0) +
                 (sum_right > 0 ? squares_right / sum_right : 0.0);
  }

  const Node& node_;
  Score score_;
};

}  // namespace

void Scanner::sort_rows(const Node& node, const Family& family) {
  const std::size_t n = static_cast<std::size_t>(node.n_rows);
  codes_.resize(n);
  order_.resize(n);
  for (std::size_t i = 0; i < n; ++i) codes_[i] = family.codes[node.rows[i]];
  if (family.n_values > kSparse * node.n_rows) {
    std::iota(order_.begin(), order_.end(), 0);
    std::sort(order_.begin(), order_.end(), [this](std::int32_t a, std::int32_t b) {
      return codes_[a] != codes_[b] ? codes_[a] < codes_[b] : a < b;
    });
    return;
  }
  starts_.assign(static_cast<std::size_t>(family.n_values) + 3, 0);
  for (std::size_t i = 0; i < n; ++i) ++starts_[static_cast<std::size_t>(codes_[i] + 2)];
  std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
  for (std::size_t i = 0; i < n; ++i)
    order_[static_cast<std::size_t>(starts_[static_cast<std::size_t>(codes_[i] + 1)]++)] =
        static_cast<std::int32_t>(i);
}

Best Scanner::best(const Node& node, const Family& family, Score score) {
  Best best;
  if (node.n_rows < 2 || family.n_tests == 0) return best;
  const Sums sums(node, score);
  sort_rows(node, family);
  total_.assign(sums.width(), 0);
  left_.assign(sums.width(), 0);
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(node.n_rows); ++i)
    sums.add(total_.data(), i);

  std::size_t i = 0;
  const std::size_t n = order_.size();
  for (; i < n && codes_[static_cast<std::size_t>(order_[i])] == kLeft; ++i)
    sums.add(left_.data(), order_[i]);
  below_ = left_;  // missing cells alone, which join every left side

  const auto code_at = [this](std::size_t at) {
    return static_cast<std::int64_t>(codes_[static_cast<std::size_t>(order_[at])]);
  };
  while (i < n && code_at(i) < family.n_values) {
    const std::int64_t code = code_at(i);
    if (family.kind == Kind::equals) left_ = below_;
    for (; i < n && code_at(i) == code; ++i) sums.add(left_.data(), order_[i]);
    std::int64_t next = code + 1;
    if (family.kind == Kind::threshold) {
      // The gap runs to the next value that is present here; beyond the last there is none.
      if (i == n || code_at(i) >= family.n_values) break;
      next = code_at(i);
    }
    if (code >= family.n_tests || family.allowed[next] == family.allowed[code]) continue;
    if (sums.enough(left_.data(), total_.data()))
      sums.offer(best, code, left_.data(), total_.data());
  }
  return best;
}

}  // namespace odt
