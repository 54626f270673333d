#include "odt/few_rows.hpp"

namespace odt {

void FewRows::set_classes(View& view) {
  const Problem& p = data_->problem;
  const std::uint32_t* order = view.order(0);
  std::vector<int> number(static_cast<std::size_t>(std::max(p.classes, 2)), -1);
  labels_.clear();
  place_.resize(p.rows);
  class_at_.resize(rows_);
  for (std::size_t i = 0; i < rows_; ++i) {
    const int label = p.label[order[i]];
    int& known = number[static_cast<std::size_t>(label)];
    if (known < 0) {
      known = static_cast<int>(labels_.size());
      labels_.push_back(label);
    }
    place_[order[i]] = static_cast<std::uint32_t>(i);
    class_at_[i] = static_cast<std::uint16_t>(known);
  }
  const std::size_t classes = labels_.size();
  std::uint64_t* bits = classes_.reserve(words_ * classes);
  std::fill(bits, bits + words_ * classes, 0);
  for (std::size_t i = 0; i < rows_; ++i)
    bits[i / kBlock * classes + class_at_[i]] |= 1ULL << (i % kBlock);
}

std::uint32_t FewRows::mask_number(const std::uint64_t* rows, bool inner, bool& flipped) {
  flipped = rows[0] & 1;
  std::uint64_t mask[kMostRows / kBlock], hash = 0;
  for (std::size_t w = 0; w < words_; ++w) {
    mask[w] = flipped ? ~rows[w] & valid_bits(rows_, w) : rows[w];
    hash = (hash ^ mask[w]) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 32;
  }
  const std::size_t size = table_.size();
  for (std::size_t at = hash & (size - 1);; at = (at + 1) & (size - 1)) {
    const std::uint32_t known = table_[at];
    if (known == 0) {
      table_[at] = static_cast<std::uint32_t>(inner_.size());
      masks_.insert(masks_.end(), mask, mask + words_);
      inner_.push_back(inner);
      return table_[at];
    }
    if (!std::equal(mask, mask + words_, masks_.begin() + static_cast<long>(known * words_)))
      continue;
    inner_[known] |= inner;
    return known;
  }
}

// A stump of some of the rows need not cut between two groups of ties that are of one class: there
// is a cut between different classes on the way to the next row that it holds of another, unless
// that one may not stand.
void FewRows::set_cuts(View& view) {
  cuts_.resize(view.features());
  masks_.assign(words_, 0);
  inner_.assign(1, 0);
  std::size_t most = 2;
  while (most < 2 * rows_ * view.features()) most *= 2;
  table_.assign(most, 0);
  std::vector<int> group;  // per end: the one class of the group before it; -1: several
  for (std::size_t f = 0; f < view.features(); ++f) {
    std::vector<Cut>& cuts = cuts_[f];
    cuts.clear();
    if (!view.splittable(f)) continue;
    const std::uint32_t* order = view.order(f);
    const std::uint64_t* ends = view.ends(f);
    const Ranks sorted = view.sorted(f);
    const bool free = data_->allowed_upto[f].empty();
    // With the class of the group behind: -2 where there is none alike.
    const auto behind = [&](std::size_t i) {
      const int c = class_at_[place_[order[i]]];
      for (; i + 1 < rows_ && sorted[i + 1] == sorted[i]; ++i)
        if (class_at_[place_[order[i + 1]]] != c) return -2;
      return c;
    };
    std::uint64_t low[kMostRows / kBlock] = {};
    int here = -1;
    bool fresh = true;
    for (std::size_t i = 0; i + 1 < rows_; ++i) {
      const std::uint32_t bit = place_[order[i]];
      low[bit / kBlock] |= 1ULL << (bit % kBlock);
      const int c = class_at_[bit];
      here = fresh || here == c ? c : -1;
      fresh = false;
      if (!(ends[i / kBlock] >> (i % kBlock) & 1)) continue;
      Cut cut{static_cast<std::uint32_t>(sorted[i]) + 1, static_cast<std::int32_t>(i) + 1, 0,
              false};
      cut.mask = mask_number(low, !free || here < 0 || behind(i + 1) != here, cut.flipped);
      cuts.push_back(cut);
      fresh = true;
    }
  }
}

void FewRows::set_columns() {
  stride_ = 0;
  for (char inner : inner_) stride_ += inner != 0;
  stride_ = std::max<std::size_t>(8, (stride_ + 7) / 8 * 8);
  std::uint64_t* columns = columns_.reserve(words_ * stride_);
  std::fill(columns, columns + words_ * stride_, 0);
  for (std::size_t m = 0, j = 0; m < inner_.size(); ++m) {
    if (!inner_[m]) continue;
    for (std::size_t w = 0; w < words_; ++w) columns[w * stride_ + j] = masks_[m * words_ + w];
    ++j;
  }
  std::uint64_t all[kMostRows / kBlock];
  for (std::size_t w = 0; w < words_; ++w) all[w] = valid_bits(rows_, w);
  ColumnScan s{};
  s.left = all;
  s.columns = columns;
  s.classes = classes_.data();
  s.words = words_;
  s.stride = stride_;
  s.class_count = s.class_stride = static_cast<int>(labels_.size());
  data_->kernels.column_counts(s, passing_.reserve(labels_.size() * stride_));
  known_.assign(inner_.size(), {-1, -1});
}

std::int32_t FewRows::count(const std::uint64_t* rows, std::size_t c) const {
  std::int32_t sum = 0;
  for (std::size_t w = 0; w < words_; ++w)
    sum += popcount(rows[w] & classes_[w * labels_.size() + c]);
  return sum;
}

// The least losses of the rows of a mask and of the others.
FewRows::Sides FewRows::sides(std::uint32_t mask) {
  Sides& known = known_[mask];
  if (known.left >= 0) return known;
  const std::uint64_t* rows = masks_.data() + mask * words_;
  const std::size_t classes = labels_.size();
  std::int32_t total[2][16], size[2] = {0, 0}, leaf[2] = {0, 0};
  for (std::size_t c = 0; c < classes; ++c) {
    total[0][c] = count(rows, c);
    total[1][c] = -total[0][c];
    for (std::size_t w = 0; w < words_; ++w) total[1][c] += popcount(classes_[w * classes + c]);
    for (int s = 0; s < 2; ++s) {
      size[s] += total[s][c];
      leaf[s] = std::max(leaf[s], total[s][c]);
    }
  }
  const int n = static_cast<int>(classes);
  const ColumnScan s{rows, columns_.data(),   classes_.data(), words_,   stride_, n,
                     n,    passing_.data(),   total[0],        total[1], size[0], size[1],
                     1,    {nullptr, nullptr}};
  ColumnBest best{0, 0};
  data_->kernels.columns(s, best);
  ++counters_.column_scans;
  control_.poll(stride_ * classes * (words_ + 3) / 32 + 20);
  known.left = value(size[0], leaf[0], best.left);
  known.right = value(size[1], leaf[1], best.right);
  return known;
}

std::int32_t FewRows::below(const Interval& i, long cut) const {
  const std::vector<Cut>& cuts = cuts_[i.feature];
  return cut < 0                                 ? 0
         : cut >= static_cast<long>(cuts.size()) ? static_cast<std::int32_t>(rows_)
                                                 : cuts[static_cast<std::size_t>(cut)].below;
}

// The middle of the cuts that may be below `best`: fewer rows lose no more, and a row less takes
// one error away at most.
long FewRows::pick(const Interval& i, Loss best) const {
  if (i.at_low.left + i.at_high.right >= best) return -1;
  const Loss from = below(i, i.low) + (i.at_low.left + i.at_low.right - best) / each_;
  const Loss upto = below(i, i.high) - (i.at_high.left + i.at_high.right - best) / each_;
  long first = i.low + 1, last = i.high - 1;
  if (i.at_low.left + i.at_low.right >= best)
    while (first <= last && below(i, first) <= from) ++first;
  if (i.at_high.left + i.at_high.right >= best)
    while (first <= last && below(i, last) >= upto) --last;
  return first > last ? -1 : first + (last - first) / 2;
}

// The split of some rows into two leaves, or the leaf, that is known to reach a value.
BottomSplit FewRows::stump(const std::uint64_t* rows, Loss value) const {
  Stump best;
  Loss least = kInfinite;
  const auto take = [&](const std::uint64_t* left, int feature, std::uint32_t bound) {
    std::int32_t size[2] = {0, 0}, most[2] = {-1, -1};
    Stump made;
    made.feature = feature;
    made.bound = bound;
    for (std::size_t c = 0; c < labels_.size(); ++c) {
      std::int32_t of[2] = {0, 0};
      for (std::size_t w = 0; w < words_; ++w) {
        const std::uint64_t here = rows[w] & classes_[w * labels_.size() + c];
        of[0] += popcount(here & left[w]);
        of[1] += popcount(here & ~left[w]);
      }
      for (int s = 0; s < 2; ++s) {
        size[s] += of[s];
        if (of[s] <= most[s]) continue;
        most[s] = of[s];
        made.label[s] = labels_[c];
      }
    }
    if (feature >= 0 && (size[0] == 0 || size[1] == 0)) return;
    for (int s = 0; s < 2; ++s) made.lost[s] = each_ * (size[s] - most[s]);
    const Loss here = made.lost[0] + made.lost[1] + price_ * (feature < 0 ? 1 : 2);
    if (here >= least) return;
    least = here;
    best = made;
  };
  take(rows, -1, 0);
  std::uint64_t left[kMostRows / kBlock];
  for (std::size_t f = 0; f < cuts_.size(); ++f)
    for (const Cut& cut : cuts_[f]) {
      if (least <= value) return best;
      if (!inner_[cut.mask]) continue;
      for (std::size_t w = 0; w < words_; ++w) {
        const std::uint64_t mask = masks_[cut.mask * words_ + w];
        left[w] = cut.flipped ? ~mask & valid_bits(rows_, w) : mask;
      }
      take(left, static_cast<int>(f), cut.bound);
    }
  return best;
}

bool FewRows::solve(View& view, Loss upper, Tree& tree) {
  data_ = &view.data();
  each_ = data_->loss.each;
  price_ = data_->problem.leaf_price;
  rows_ = view.rows();
  words_ = view.words();
  ++counters_.depth_two;
  set_classes(view);
  set_cuts(view);
  set_columns();
  const Loss whole = sides(0).right;  // leaf or stump
  Loss best = std::min(upper, whole);
  const Cut* found = nullptr;
  std::size_t feature = 0;
  open_.clear();
  const auto push = [&](const Interval& i) {
    if (i.high - i.low < 2) return;
    open_.push_back(i);
    std::push_heap(open_.begin(), open_.end());
  };
  for (std::size_t f = 0; f < cuts_.size(); ++f)
    push({f, -1, static_cast<long>(cuts_[f].size()), {price_, whole}, {whole, price_}});
  while (!open_.empty()) {
    std::pop_heap(open_.begin(), open_.end());
    const Interval next = open_.back();
    open_.pop_back();
    const long middle = pick(next, best);
    if (middle < 0) continue;
    const Cut& cut = cuts_[next.feature][static_cast<std::size_t>(middle)];
    const Sides here = at(cut);
    if (here.left + here.right < best) {
      best = here.left + here.right;
      found = &cut;
      feature = next.feature;
    }
    push({next.feature, next.low, middle, next.at_low, here});
    push({next.feature, middle, next.high, here, next.at_high});
  }
  if (best >= upper) return false;
  tree.value = best;
  std::uint64_t left[kMostRows / kBlock], right[kMostRows / kBlock];
  for (std::size_t w = 0; w < words_; ++w) {
    left[w] = found ? masks_[found->mask * words_ + w] : valid_bits(rows_, w);
    right[w] = ~left[w] & valid_bits(rows_, w);
  }
  if (found && found->flipped) std::swap_ranges(left, left + words_, right);
  tree.feature = found ? static_cast<int>(feature) : -1;
  tree.bound = found ? found->bound : 0;
  const Sides values = found ? at(*found) : Sides{whole, 0};
  tree.side[0] = stump(left, values.left);
  if (found) tree.side[1] = stump(right, values.right);
  return true;
}

}  // namespace odt
