#include "odt/perfect.hpp"

namespace odt {

bool Perfect::suits(const Dataset& data) {
  const Problem& p = data.problem;
  return data.loss.unit() && p.leaf_rows <= 1 && p.leaf_price == 0 && p.must < 0 &&
         p.next.empty() && p.features <= kLanes * kMost &&
         std::all_of(
             p.distinct.begin(), p.distinct.end(), [](std::uint32_t d) { return d <= kBeyond; }) &&
         std::all_of(
             data.allowed_upto.begin(), data.allowed_upto.end(),
             [](const auto& allowed) { return allowed.empty(); });
}

Perfect::Perfect(const Dataset& data, Control& control) : p_(data.problem), control_(control) {
  while (vectors_ * kLanes < p_.features) vectors_ *= 2;
  Ranks* to = ranks_.reserve(p_.rows * vectors_);
  std::fill(to, to + p_.rows * vectors_, Ranks{});
  for (std::size_t f = 0; f < p_.features; ++f) {
    const std::uint32_t* rank = p_.ranks(f);
    for (std::size_t i = 0; i < p_.rows; ++i)
      to[i * vectors_ + f / kLanes][f % kLanes] = static_cast<Rank>(rank[i]);
  }
  rows_ = to;
}

template <int N>
inline bool Perfect::Spread<N>::add(int of, const Ranks* row) {
  if (label[0] < 0) label[0] = of;
  const bool second = of != label[0];
  if (second && of != label[1]) {
    if (label[1] >= 0) return false;  // a third class
    label[1] = of;
  }
  // Of both classes, as it is not known which: a row of one is none of the other.
  const Ranks out[2] = {Ranks{} - static_cast<Rank>(second), Ranks{} - static_cast<Rank>(!second)};
  Ranks apart{};
  for (int k = 0; k < N; ++k) {
    for (int c = 0; c < 2; ++c) {
      const Ranks low = row[k] | (out[c] & kBeyond), high = row[k] | out[c];
      least[c][k] = low < least[c][k] ? low : least[c][k];
      most[c][k] = high > most[c][k] ? high : most[c][k];
    }
    apart |= (most[0][k] < least[1][k]) | (most[1][k] < least[0][k]);
  }
  const Halves halves = (Halves)apart;
  return (halves[0] | halves[1]) != 0;
}

template <int N>
BottomSplit Perfect::stump(const Spread<N>& spread) const {
  Stump made;
  made.label[0] = spread.label[0];
  if (spread.label[1] < 0) return made;
  for (std::size_t f = 0; f < p_.features; ++f)
    for (int low = 0; low < 2; ++low) {
      const Rank end = spread.most[low][f / kLanes][f % kLanes];
      if (end >= spread.least[1 - low][f / kLanes][f % kLanes]) continue;
      made.feature = static_cast<int>(f);
      made.bound = static_cast<std::uint32_t>(end) + 1;
      made.label[0] = spread.label[low];
      made.label[1] = spread.label[1 - low];
      return made;
    }
  return made;
}

// A first cut on a feature with one split on both sides of it. Some rows are not told apart by one.
template <int N>
bool Perfect::cut(View& view, const Part& part, std::size_t f, std::uint32_t& bound) {
  const std::uint32_t *order = view.order(f), *rank = p_.ranks(f);
  const std::size_t rows = view.rows();
  std::size_t i = 0;
  Spread<N> low, high;
  while (!part.has(order[i]) || low.add(p_.label[order[i]], row(order[i]))) ++i;
  visits_ += i + 1;
  // No cut above it leaves rows below that one split tells apart.
  const std::uint32_t upto = rank[order[i]];
  for (i = rows; i-- > 0;) {
    if (!part.has(order[i])) continue;
    bound = rank[order[i]] + 1;
    if (bound <= upto || !high.add(p_.label[order[i]], row(order[i]))) break;
  }
  visits_ += rows - i;
  return bound <= upto;
}

template <int N>
BottomSplit Perfect::side(View& view, const Part& part, std::size_t f, std::uint32_t bound,
                          bool left) {
  const std::uint32_t *order = view.order(f), *rank = p_.ranks(f);
  Spread<N> spread;
  for (std::size_t i = 0; i < view.rows(); ++i)
    if ((rank[order[i]] < bound) == left && part.has(order[i]))
      spread.add(p_.label[order[i]], row(order[i]));
  visits_ += view.rows();
  return stump(spread);
}

template <int N>
bool Perfect::two(View& view, const Part& part, Two& tree) {
  const std::uint32_t* order = view.order(0);
  Spread<N> spread;
  std::size_t i = 0;
  while (i < view.rows() && (!part.has(order[i]) || spread.add(p_.label[order[i]], row(order[i]))))
    ++i;
  visits_ += i;
  if (i == view.rows()) {
    tree.feature = -1;
    tree.side[0] = stump(spread);
    return true;
  }
  for (std::size_t f = 0; f < p_.features; ++f) {
    std::uint32_t bound = 0;
    if (!view.splittable(f) || !cut<N>(view, part, f, bound)) continue;
    tree.feature = static_cast<int>(f);
    tree.bound = bound;
    for (int s = 0; s < 2; ++s) tree.side[s] = side<N>(view, part, f, bound, s == 0);
    return true;
  }
  return false;
}

bool Perfect::two(View& view, const Part& part, Two& tree) {
  visits_ = 0;
  const bool found = vectors_ == 1   ? two<1>(view, part, tree)
                     : vectors_ == 2 ? two<2>(view, part, tree)
                     : vectors_ == 4 ? two<4>(view, part, tree)
                                     : two<8>(view, part, tree);
  control_.poll(visits_ * vectors_ / 8 + 1);
  return found;
}

bool Perfect::three(View& view, const std::vector<std::size_t>& features, int most, Three& tree) {
  tree.feature = -1;
  if (two(view, tree.side[0])) return true;
  for (const std::size_t f : features) {
    // Fewer rows are no harder: one cut is too far for the rows below it, or not far enough for
    // those above.
    std::int32_t low = 0, high = static_cast<std::int32_t>(view.rows());
    for (int tried = 0; tried < most; ++tried) {
      const std::int32_t middle = nearest_cut(view.ends(f), (low + high) / 2, low + 1, high - 1);
      if (middle < 0) break;
      const std::uint32_t bound = static_cast<std::uint32_t>(view.sorted(f)[middle - 1]) + 1;
      if (!two(view, {p_.ranks(f), bound, true}, tree.side[0])) {
        high = middle;
      } else if (!two(view, {p_.ranks(f), bound, false}, tree.side[1])) {
        low = middle;
      } else {
        tree.feature = static_cast<int>(f);
        tree.bound = bound;
        return true;
      }
    }
  }
  return false;
}

}  // namespace odt
