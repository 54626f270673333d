#include "odt/depth_two.hpp"

#include <utility>

namespace odt {

int DepthTwo::new_record() {
  if (record_count_ == static_cast<int>(records_.size())) records_.emplace_back();
  Record& record = records_[static_cast<std::size_t>(record_count_)];
  for (Floors* floors : {&record.any, &record.large}) {
    floors->left.assign(p_, 0);
    floors->right.assign(p_, 0);
    if (least_ == 1) break;
  }
  record.best_left = record.best_right = -1;
  return record_count_++;
}

void DepthTwo::begin(View& view) {
  data_ = &view.data();
  p_ = view.features();
  labels_ = data_->loss.labels;
  price_ = data_->problem.leaf_price;
  each_ = data_->loss.each;
  mask_.reserve((view.words() + 8) / 8 * 8);
  for (auto* mask : {&wide_, &window_[0], &window_[1]}) mask->reserve((view.words() + 8) / 8 * 8);
  if (view.stride() > 1)
    scratch_.reserve((view.words() + 1) * static_cast<std::size_t>(2 * view.stride() + 4));
  record_count_ = 0;
}

const DepthTwo::Open& DepthTwo::open(int state, bool must) {
  const Problem& p = data_->problem;
  if (open_for_ != data_) {
    for (auto& of : open_) of = std::vector<Open>(static_cast<std::size_t>(p.states()));
    open_for_ = data_;
  }
  Open& found = open_[must][static_cast<std::size_t>(state)];
  if (found.known) return found;
  found.known = true;
  for (std::size_t f = 0; f < p_; ++f)
    found.feature.push_back(p.after(state, f) >= 0 && (!must || p.tests_must(f)));
  for (std::size_t f : data_->sorted)
    if (found.feature[f]) found.sorted.push_back(f);
  if (p.next.empty() && !must) return found;
  std::int64_t* lanes = found.lanes.reserve(std::max<std::size_t>(8, data_->column_stride()));
  std::fill(lanes, lanes + data_->column_stride(), 0);
  for (std::size_t j = 0; j < data_->columns.size(); ++j)
    lanes[j] = -static_cast<std::int64_t>(found.feature[data_->columns[j].feature]);
  return found;
}

// All rows on one side: the records of both outermost "cuts", shared by every outer feature.
void DepthTwo::whole(View& view, Ask ask) {
  new_record();
  const int at_start = new_record(), at_end = new_record();
  totals(view, 0, static_cast<std::int32_t>(view.rows()));
  whole_weight_ = left_weight_;
  Record& end = records_[static_cast<std::size_t>(at_end)];
  count_columns(view);
  const Open& all = open(ask.state, false);
  whole_.any = whole_.large = whole(view, end.any, false, all, false, end.best_left) + 2 * price_;
  if (least_ > 1)
    whole_.large = whole(view, end.large, true, all, false, end.best_left) + 2 * price_;
  if (ask.must)
    whole_.must = whole(view, least_ > 1 ? end.large : end.any, least_ > 1, open(ask.state, true),
                        true, end.best_left) +
                  2 * price_;
  Record& start = records_[static_cast<std::size_t>(at_start)];
  start.any.right = end.any.left;
  if (least_ > 1) start.large.right = end.large.left;
  start.best_right = end.best_left;
}

Loss DepthTwo::whole(View& view, Floors& floors, bool large, const Open& open, bool must,
                     int& best_feature) {
  Loss best = must ? kInfinite : leaf_left_ - price_, none = -1;
  std::uint64_t* mask = mask_.data();
  if (!data_->columns.empty()) {
    std::copy(view.all(0), view.all(0) + view.words(), mask);
    scan_columns(view, mask, large, open, open, best, none);
  }
  for (std::size_t w = 0; w < view.words(); ++w) mask[w] = valid_bits(view.rows(), w);
  const auto visit = [&](std::size_t f, Loss& least, int& first) {
    if (!view.splittable(f)) {
      floors.left[f] = kInfinite;
      return;
    }
    if (floors.left[f] >= least) return;
    const Loss before = least;
    Loss floor = 0, ignored = 0;
    ends_[0] = ends_[1] = view.ends(f);
    if (large || must) set_ends(view, f, 0, mask, left_size_);
    if (must && may_cut(view, 0))
      least = std::min<Loss>(least, leaf_left_);  // with one label on both sides
    scan(view, f, mask, least, none, floor, ignored);
    if (least < before) first = static_cast<int>(f);
    floors.left[f] = std::max(floors.left[f], floor);
  };
  if (rounds()) {
    Loss least = best;
    int first = -1;
    rough_ = true;
    for (std::size_t f : open.sorted) visit(f, least, first);
    rough_ = false;
    if (first >= 0) visit(static_cast<std::size_t>(first), best, best_feature);
  }
  for (std::size_t f : open.sorted) visit(f, best, best_feature);
  return best;
}

Outcome DepthTwo::stump(View& view, Loss upper, Ask ask) {
  least_ = ask.least;
  begin(view);
  control_.poll(view.rows() * p_ / 8 + 1);
  whole(view, ask);
  Outcome out;
  out.value = ask.must ? whole_.must : whole_.large;
  out.exact = out.value < upper;
  if (out.exact) out.plan = Plan::stump(ask.must);
  return out;
}

// Where the next scan may cut a side of so many rows, so that both of its leaves are large enough:
// behind `least` of them and before as many.
void DepthTwo::set_ends(View& view, std::size_t inner, int side, const std::uint64_t* left,
                        std::int32_t size) {
  std::uint64_t* ends = window_[side].data();
  std::fill(ends, ends + view.words(), 0);
  ends_[side] = ends;
  if (size < 2 * least_) return;
  const auto rows_of = [&](std::size_t w) {
    return (side == 0 ? left[w] : ~left[w]) & valid_bits(view.rows(), w);
  };
  std::size_t first = 0, last = view.words() - 1;
  std::int32_t rest = least_;
  for (; rest > popcount(rows_of(first)); ++first) rest -= popcount(rows_of(first));
  const std::uint64_t from = from_bit(rows_of(first), rest);
  for (rest = least_; rest > popcount(rows_of(last)); --last) rest -= popcount(rows_of(last));
  const std::uint64_t behind = from_bit(rows_of(last), popcount(rows_of(last)) - rest + 1);
  std::copy(view.ends(inner) + first, view.ends(inner) + last + 1, ends + first);
  ends[first] &= from;
  ends[last] &= ~behind;
}

bool DepthTwo::may_cut(const View& view, int side) const {
  return std::any_of(ends_[side], ends_[side] + view.words(),
                     [](std::uint64_t bits) { return bits != 0; });
}

// Bounds on splits by each feature: those of fewer rows and what the others lose at least, and
// those of more less what these may lose.
void DepthTwo::inherit(const std::vector<Loss>& fewer, const std::vector<Loss>& more, Loss lost,
                       Loss apart, std::vector<Loss>& floor) const {
  for (std::size_t f : data_->sorted) floor[f] = std::max(fewer[f] + lost, more[f] - apart);
}

// Optimal losses of both sides of a cut. Inner features whose bounds, inherited from the interval's
// ends, cannot improve either side are skipped.
DepthTwo::Values DepthTwo::evaluate(View& view, std::size_t outer, std::int32_t cut,
                                    const Interval& around, const Inner& inner, int state,
                                    Loss upper, int& record_index) {
  record_index = new_record();
  Record& record = records_[static_cast<std::size_t>(record_index)];
  const Record& low = records_[static_cast<std::size_t>(around.low_record)];
  const Record& high = records_[static_cast<std::size_t>(around.high_record)];
  const RowWeights w = weights(view, outer);
  const Loss from_low = w.between(around.low, cut), from_high = w.between(cut, around.high);
  totals(view, outer, cut);
  const std::uint32_t bound = view.sorted(outer)[cut - 1] + 1;
  const int first[4] = {low.best_left, low.best_right, high.best_left, high.best_right};
  const bool large = least_ > 1;
  const Loss lost_left = loses_ ? few_leaves_.lost(around.low, cut, kStump) : 0,
             lost_right = loses_ ? few_leaves_.lost(cut, around.high, kStump) : 0;
  inherit(low.any.left, large ? high.large.left : high.any.left, lost_left, from_high,
          record.any.left);
  inherit(high.any.right, large ? low.large.right : low.any.right, lost_right, from_low,
          record.any.right);
  // First by losses that are rounded down; as they are where that leaves the cut open.
  const auto sides = [&](bool sized) {
    rough_ = rounds();
    Sides found = pass(view, outer, bound, around, inner, state, first, sized, record);
    if (std::exchange(rough_, false) && sized == large && found.left + found.right < upper) {
      const int best[4] = {record.best_left, record.best_right, first[0], first[2]};
      found = pass(view, outer, bound, around, inner, state, best, sized, record);
    }
    return found;
  };
  Values v;
  v.any = v.large = sides(false);
  if (large) {
    inherit(record.any.left, high.large.left, 0, from_high, record.large.left);
    inherit(record.any.right, low.large.right, 0, from_low, record.large.right);
  }
  if (large && v.sum() < upper)
    v.large = sides(true);
  // Fewer rows may leave no split on the column that must be tested: then a leaf does no better
  // than the split did.
  if (inner.must[0]) v.any.left = std::min(v.any.left, leaf_left_ + price_);
  if (inner.must[1]) v.any.right = std::min(v.any.right, leaf_right_ + price_);
  control_.poll(view.rows() * p_ / 8);
  return v;
}

// With leaves of a least size and not `large`, rows up to the ends of the interval count for it: so
// the values bound those of all cuts on the way there.
DepthTwo::Sides DepthTwo::pass(View& view, std::size_t outer, std::uint32_t bound,
                               const Interval& around, const Inner& inner, int state,
                               const int (&first)[4], bool large, Record& record) {
  const std::int32_t rows = static_cast<std::int32_t>(view.rows());
  const bool wider = least_ > 1 && !large, windows = least_ > 1 || inner.must[0] || inner.must[1];
  const std::int32_t size[2] = {wider ? around.high : left_size_,
                                wider ? rows - around.low : right_size_};
  const Ranks sorted = view.sorted(outer);
  const std::uint32_t wide[2] = {around.high == rows ? View::kPad : sorted[around.high],
                                 around.low == 0 ? 0 : sorted[around.low]};
  const Loss leaf[2] = {leaf_left_, leaf_right_};
  const Open* open[2];
  Loss best[2];
  bool scanned[2];  // a side that stays a leaf gets a target that no split reaches
  for (int s = 0; s < 2; ++s) {
    open[s] = &this->open(state, inner.must[s]);
    scanned[s] = inner.split[s] && size[s] >= 2 * least_;
    best[s] = !scanned[s] ? -1 : inner.must[s] ? kInfinite : leaf[s] - price_;
  }
  Floors& floors = large ? record.large : record.any;
  std::uint64_t* mask = mask_.data();
  if (!data_->columns.empty()) {
    below(data_->kernels, view.pair(outer, 0), view.words(), bound, mask);
    for (std::size_t w = 0; view.idle() && w < view.words(); ++w) mask[w] &= view.all(0)[w];
    Loss found[2] = {best[0], best[1]};
    scan_columns(view, mask, large, *open[0], *open[1], found[0], found[1]);
    for (int s = 0; s < 2; ++s)
      if (scanned[s]) best[s] = found[s];
  }
  const auto visit = [&](std::size_t f) {
    Loss target[2];
    for (int s = 0; s < 2; ++s) target[s] = open[s]->feature[f] ? best[s] : -1;
    if (floors.left[f] >= target[0] && floors.right[f] >= target[1]) {
      ++counters_.scans_skipped;
      return;
    }
    Loss floor_left = 0, floor_right = 0;
    const Ranks ranks = view.pair(outer, f);
    below(data_->kernels, ranks, windows ? view.words() : view.words_to_cut(f), bound, mask);
    ends_[0] = ends_[1] = view.ends(f);
    for (int s = 0; s < 2; ++s) {
      if (least_ == 1 && !inner.must[s]) continue;
      if (wider) below(data_->kernels, ranks, view.words(), wide[s], wide_.data());
      set_ends(view, f, s, wider ? wide_.data() : mask, size[s]);
      if (inner.must[s] && scanned[s] && open[s]->feature[f] && may_cut(view, s))
        best[s] = target[s] = std::min(best[s], leaf[s]);
    }
    scan(view, f, mask, target[0], target[1], floor_left, floor_right);
    if (target[0] >= 0 && target[0] < best[0])
      best[0] = target[0], record.best_left = static_cast<int>(f);
    if (target[1] >= 0 && target[1] < best[1])
      best[1] = target[1], record.best_right = static_cast<int>(f);
    floors.left[f] = std::max(floors.left[f], floor_left);
    floors.right[f] = std::max(floors.right[f], floor_right);
  };
  const Open& either =
      scanned[0] && (!scanned[1] || open[0]->sorted.size() > open[1]->sorted.size()) ? *open[0]
                                                                                     : *open[1];
  for (int i = 0; i < 4; ++i)
    if (first[i] >= 0 && either.feature[static_cast<std::size_t>(first[i])] &&
        std::find(first, first + i, first[i]) == first + i)
      visit(static_cast<std::size_t>(first[i]));
  for (std::size_t f : either.sorted)
    if (std::find(first, first + 4, static_cast<int>(f)) == first + 4) visit(f);
  Loss value[2];
  for (int s = 0; s < 2; ++s) {
    if (scanned[s])
      value[s] = best[s] + 2 * price_;
    else
      value[s] = inner.must[s] ? kInfinite : leaf[s] + price_;
  }
  return {value[0], value[1]};
}

RowWeights DepthTwo::weights(View& view, std::size_t) {
  return RowWeights{data_->loss.unit() && !view.idle() ? nullptr : upto_.data(), each_};
}

// The admissible cut nearest to the hint or, without one, to the middle; -1 if there is none.
std::int32_t DepthTwo::pick(View& view, std::size_t outer, const OpenCuts& open,
                            const Hint* hint) const {
  std::int32_t want = open.first + (open.last - open.first) / 2;
  if (hint) {
    const Ranks sorted = view.sorted(outer);
    want = static_cast<std::int32_t>(sorted.below(hint->bound, view.rows()));
    want = std::max(open.first, std::min(open.last, want));
  }
  return nearest_cut(view.ends(outer), want, open.first, open.last);
}

// Worst losses of the rows below each cut of a feature.
void DepthTwo::set_upto(View& view, std::size_t outer) {
  if (view.idle()) {
    upto_.resize(view.rows() + 1);
    upto_[0] = 0;
    const std::uint64_t* all = view.all(outer);
    for (std::size_t i = 0; i < view.rows(); ++i)
      upto_[i + 1] = upto_[i] + each_ * static_cast<Loss>(all[i / kBlock] >> (i % kBlock) & 1);
  } else if (!data_->loss.unit()) {
    upto_.resize(view.rows() + 1);
    upto_[0] = 0;
    for (std::size_t i = 0; i < view.rows(); ++i)
      upto_[i + 1] = upto_[i] + data_->loss.worst(view.order(outer)[i]);
  }
}

Loss DepthTwo::load(const View& view) {
  const LossModel& loss = view.data().loss;
  if (loss.unit()) return loss.each * static_cast<Loss>(view.rows());
  Loss all = 0;
  for (std::size_t i = 0; i < view.rows(); ++i) all += loss.worst(view.order(0)[i]);
  return all;
}

// The cuts of a neighbour, with what they say of this view.
void DepthTwo::take_over(View& view, std::size_t outer, const KnownCuts& from, bool fewer,
                         const RowWeights& w, std::vector<KnownCut>& cuts) const {
  const std::int32_t rows = static_cast<std::int32_t>(view.rows()),
                     apart = std::abs(rows - from.rows);
  const Ranks sorted = view.sorted(outer);
  for (std::uint32_t i = from.of[outer].first; i < from.of[outer].second; ++i) {
    const KnownCuts::Kept& kept = from.cuts[i];
    KnownCut known{kept.bound, kept.rows_left, kept.left, kept.right, kept.load_left};
    const std::int32_t first = fewer ? known.rows_left : std::max(0, known.rows_left - apart),
                       last = fewer ? known.rows_left + apart : std::min(rows, known.rows_left);
    const std::int32_t cut = static_cast<std::int32_t>(
        sorted.below(known.bound, static_cast<std::size_t>(last), static_cast<std::size_t>(first)));
    if (cut == 0 || cut == rows) continue;
    if (!fewer) {
      known.left -= known.load_left - w.between(0, cut);
      known.right -= from.load - known.load_left - w.between(cut, rows);
    }
    known.rows_left = cut;
    known.load_left = w.between(0, cut);
    cuts.push_back(known);
  }
}

// The intervals that neighbours leave open come on the stack. A cut that they do not close is no
// end of one.
void DepthTwo::stack_known(View& view, std::size_t outer, Loss best, const RowWeights& w) {
  const std::int32_t rows = static_cast<std::int32_t>(view.rows());
  std::vector<KnownCut>&cuts = known_[0], &more = known_[1];
  cuts.clear();
  more.clear();
  if (neighbours_.fewer) take_over(view, outer, *neighbours_.fewer, true, w, cuts);
  if (neighbours_.more) take_over(view, outer, *neighbours_.more, false, w, more);
  const std::size_t middle = cuts.size();
  cuts.insert(cuts.end(), more.begin(), more.end());
  std::inplace_merge(
      cuts.begin(), cuts.begin() + static_cast<long>(middle), cuts.end(),
      [](const KnownCut& a, const KnownCut& b) { return a.rows_left < b.rows_left; });
  Loss most = price_;
  for (KnownCut& c : cuts) c.left = most = std::max(most, c.left);
  most = price_;
  for (auto c = cuts.rbegin(); c != cuts.rend(); ++c) c->right = most = std::max(most, c->right);
  Interval rest{0, rows, price_, whole_.large, whole_.large, price_, 1, 0};
  for (const KnownCut& c : cuts) {
    if (c.left + c.right < best || c.rows_left == rest.low) continue;
    closed_.push_back(c);
    const Interval before{rest.low, c.rows_left, rest.low_left,   rest.low_right,
                          c.left,   c.right,     rest.low_record, 0};
    if (interval_bound(before, w) < best) stack_.push_back(before);
    rest.low = c.rows_left;
    rest.low_left = c.left;
    rest.low_right = c.right;
    rest.low_record = 0;
  }
  rest.high_record = 2;
  if (interval_bound(rest, w) < best) stack_.push_back(rest);
}

void DepthTwo::keep_known(View& view, std::size_t outer, Loss best, const RowWeights& w) {
  std::sort(closed_.begin(), closed_.end(),
            [](const KnownCut& a, const KnownCut& b) { return a.bound < b.bound; });
  KnownCuts& found = *near_.found;
  const auto first = static_cast<std::uint32_t>(found.cuts.size());
  const std::int32_t rows = static_cast<std::int32_t>(view.rows());
  KnownCut low{0, 0, price_, whole_.large, 0};
  const auto closes = [&](const KnownCut& high) {
    return interval_bound(Interval{low.rows_left, high.rows_left, low.left, low.right, high.left,
                                   high.right, 0, 0},
                          w) >= best;
  };
  for (std::size_t i = 0; i < closed_.size(); ++i) {
    const KnownCut next =
        i + 1 < closed_.size() ? closed_[i + 1] : KnownCut{0, rows, whole_.large, price_, 0};
    if (closes(next)) continue;
    low = closed_[i];
    const auto narrow = [](Loss x) { return static_cast<std::int32_t>(x); };
    found.cuts.push_back(
        {low.bound, low.rows_left, narrow(low.left), narrow(low.right), narrow(low.load_left)});
  }
  found.of[outer] = {first, static_cast<std::uint32_t>(found.cuts.size())};
}

void DepthTwo::search_feature(View& view, std::size_t outer, const Inner& inner, int state,
                              Loss& best, Loss lower, Hint& found, const Hint* hint) {
  const std::int32_t rows = static_cast<std::int32_t>(view.rows());
  set_upto(view, outer);
  const RowWeights w = weights(view, outer);
  record_count_ = 3;
  stack_.clear();
  const auto all = [&](int side) { return inner.must[side] ? whole_.must : whole_.large; };
  loses_ = least_ == 1 && !inner.must[0] && !inner.must[1] && FewLeaves::suits(view, kStump);
  if (loses_) few_leaves_.begin(view, outer);
  closed_.clear();
  if (neighbours_.fewer || neighbours_.more)
    stack_known(view, outer, best, w);
  else
    stack_.push_back({0, rows, price_, all(1), all(0), price_, 1, 2});
  while (!stack_.empty() && best > lower) {
    Interval interval = stack_.back();
    stack_.pop_back();
    if (interval_bound(interval, w) >= best) {
      ++counters_.pruned_interval;
      continue;
    }
    OpenCuts open = open_cuts(interval, w, best).within(least_, rows - least_);
    if (loses_) open = few_leaves_.narrow(interval, open, best, kStump, kStump);
    if (open.first > interval.low + 1 || open.last < interval.high - 1)
      ++counters_.pruned_neighbour;
    const std::int32_t cut = open.first > open.last ? -1 : pick(view, outer, open, hint);
    hint = nullptr;
    if (cut < 0) continue;
    int record = 0;
    const Values v = evaluate(view, outer, cut, interval, inner, state, best, record);
    if (v.sum() < best) {
      best = v.sum();
      found.feature = static_cast<int>(outer);
      found.bound = view.sorted(outer)[cut - 1] + 1u;
    }
    if (near_.found)
      closed_.push_back(
          {view.sorted(outer)[cut - 1] + 1u, cut, v.large.left, v.large.right, w.between(0, cut)});
    const Interval left{interval.low, cut,         interval.low_left,   interval.low_right,
                        v.large.left, v.any.right, interval.low_record, record};
    const Interval right{cut,           interval.high,       v.any.left,
                         v.large.right, interval.high_left,  interval.high_right,
                         record,        interval.high_record};
    const bool left_first = interval_bound(left, w) <= interval_bound(right, w);
    stack_.push_back(left_first ? right : left);
    stack_.push_back(left_first ? left : right);
  }
  if (near_.found) keep_known(view, outer, best, w);
}

// One or both sides split again; if a column must be tested below the cut, either side does.
std::vector<DepthTwo::Inner> DepthTwo::inner_kinds(const Shape& shape, bool must) const {
  std::vector<Inner> kinds;
  for (int a = 0; a < (shape.leaves >= 4 ? 1 : 2); ++a) {
    Inner inner;
    if (shape.leaves < 4) inner.split[1 - a] = false;
    if (!must) kinds.push_back(inner);
    for (int s = 0; must && s < 2; ++s) {
      if (!inner.split[s]) continue;
      inner.must[s] = true;
      inner.must[1 - s] = false;
      kinds.push_back(inner);
    }
  }
  return kinds;
}

Outcome DepthTwo::solve(View& view, Shape shape, Loss upper, Loss lower, Ask ask, const Hint* hints,
                        int hint_count, const Neighbours& near) {
  least_ = ask.least;
  begin(view);
  ++counters_.depth_two;
  whole(view, ask);
  const Problem& p = data_->problem;
  const Loss flat = ask.must ? whole_.must : whole_.large;
  Outcome out;
  Loss best = upper;
  if (flat < best) {
    best = flat;
    out.plan = Plan::stump(ask.must);
  }
  Hint found;
  Inner found_inner;
  order_.clear();
  for (int i = 0; i < hint_count; ++i)
    if (hints[i].feature >= 0 &&
        std::find(order_.begin(), order_.end(), hints[i].feature) == order_.end())
      order_.push_back(hints[i].feature);
  const std::size_t hinted = order_.size();
  for (std::size_t f = 0; f < p_; ++f)
    if (std::find(order_.begin(), order_.begin() + static_cast<long>(hinted),
                  static_cast<int>(f)) == order_.begin() + static_cast<long>(hinted))
      order_.push_back(static_cast<int>(f));
  const std::vector<Inner> kinds = inner_kinds(shape, false),
                           must_kinds = ask.must ? inner_kinds(shape, true) : kinds;
  const bool by_lanes = best > lower && suits_lanes(view, ask, best);
  near_ = by_lanes ? Neighbours{} : near;
  neighbours_ = best > lower ? near_.cuts() : NearBoxes::Cuts{};
  if (near_.found && near_.found->load + 4 * price_ > KnownCuts::kMost) near_.found = nullptr;
  if (near_.found) near_.found->of.assign(p_, {});
  for (std::size_t i = 0; i < order_.size() && best > lower; ++i) {
    const std::size_t outer = static_cast<std::size_t>(order_[i]);
    const int state = p.after(ask.state, outer);
    if (!view.splittable(outer) || state < 0) continue;
    const Hint* hint = nullptr;
    for (int h = 0; h < hint_count; ++h)
      if (hints[h].feature == order_[i]) hint = hints + h;
    for (const Inner& inner : ask.must && !p.tests_must(outer) ? must_kinds : kinds) {
      const Loss before = best;
      if (by_lanes)
        search_lanes(view, outer, inner, state, best, lower, found, hint);
      else
        search_feature(view, outer, inner, state, best, lower, found, hint);
      if (best < before) found_inner = inner;
    }
  }
  out.value = best;
  out.exact = best < upper;
  if (found.feature >= 0) out.plan = plan_of(found, found_inner);
  return out;
}

Plan DepthTwo::plan_of(const Hint& found, const Inner& inner) {
  const auto side = [&](int s) {
    return inner.split[s] ? Plan::stump(inner.must[s]) : Plan::leaf();
  };
  return Plan::split(found.feature, found.bound, side(0), side(1));
}

Outcome DepthTwo::sketch(View& view, Shape shape, Loss upper, Ask ask,
                         const std::vector<std::uint32_t>& first, std::size_t most,
                         bool& complete) {
  least_ = ask.least;
  loses_ = false;
  begin(view);
  ++counters_.depth_two;
  whole(view, ask);
  const Problem& p = data_->problem;
  const std::int32_t rows = static_cast<std::int32_t>(view.rows());
  Outcome out;
  Loss best = upper;
  if (whole_.large < best) {
    best = whole_.large;
    out.plan = Plan::stump();
  }
  Hint found;
  Inner found_inner;
  const std::vector<Inner> kinds = inner_kinds(shape, false);
  pending_.clear();
  const auto push = [&](std::size_t outer, std::size_t kind, const Interval& i) {
    pending_.push_back({std::min(i.low_left + i.low_right, i.high_left + i.high_right),
                        i.high - i.low, outer, kind, i});
    std::push_heap(pending_.begin(), pending_.end());
  };
  record_count_ = 3;
  for (std::size_t f = 0; f < p_; ++f)
    for (std::size_t k = 0; view.splittable(f) && p.after(ask.state, f) >= 0 && k < kinds.size();
         ++k)
      push(f, k, {0, rows, price_, whole_.large, whole_.large, price_, 1, 2});
  std::size_t tried = 0, weighed = p_;
  const bool weigh = view.idle() || !data_->loss.unit();
  for (; !pending_.empty() && tried < most;) {
    std::pop_heap(pending_.begin(), pending_.end());
    const Pending next = pending_.back();
    pending_.pop_back();
    const Interval& interval = next.interval;
    if (weigh && next.outer != weighed) set_upto(view, weighed = next.outer);
    const RowWeights w = weights(view, next.outer);
    if (interval_bound(interval, w) >= best) continue;
    const OpenCuts open = open_cuts(interval, w, best).within(least_, rows - least_);
    const bool fresh = interval.low == 0 && interval.high == rows && first[next.outer] > 0;
    const Hint hint{static_cast<int>(next.outer), fresh ? first[next.outer] : 0};
    const std::int32_t cut =
        open.first > open.last ? -1 : pick(view, next.outer, open, fresh ? &hint : nullptr);
    if (cut < 0) continue;
    ++tried;
    int record = 0;
    const Values v = evaluate(view, next.outer, cut, interval, kinds[next.kind],
                              p.after(ask.state, next.outer), best, record);
    if (v.sum() < best) {
      best = v.sum();
      found = {static_cast<int>(next.outer), view.sorted(next.outer)[cut - 1] + 1u};
      found_inner = kinds[next.kind];
    }
    push(next.outer, next.kind,
         {interval.low, cut, interval.low_left, interval.low_right, v.large.left, v.any.right,
          interval.low_record, record});
    push(next.outer, next.kind,
         {cut, interval.high, v.any.left, v.large.right, interval.high_left, interval.high_right,
          record, interval.high_record});
  }
  complete = pending_.empty();
  out.value = best;
  out.exact = best < upper;
  if (found.feature >= 0) out.plan = plan_of(found, found_inner);
  return out;
}

}  // namespace odt
