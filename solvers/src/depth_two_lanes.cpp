// Depth two by lanes: see cut_lanes.hpp.
#include "odt/depth_two.hpp"

namespace odt {

bool DepthTwo::suits_lanes(View& view, Ask ask, Loss best) {
  if (ask.least > 1 || ask.must || view.idle()) return false;
  if (lanes_for_ != data_) {
    lanes_for_ = data_;
    lanes_suit_ = CutLanes::suits(*data_);
  }
  if (!lanes_suit_) return false;
  std::int64_t weight = static_cast<std::int64_t>(view.rows());
  if (!data_->loss.unit()) weight = whole_weight_;
  // A small loss to beat closes most cuts by few: one after the other is better then.
  if (best / each_ < weight / 32) return false;
  return lanes_.begin(view, weight);
}

// Cuts of the topmost intervals, as many as a pass takes: one of each at least, and more where many
// are open.
void DepthTwo::choose_cuts(View& view, std::size_t outer, Loss best, const RowWeights& w,
                           const Hint* hint) {
  const std::int32_t rows = static_cast<std::int32_t>(view.rows());
  const std::size_t room = lanes_.most_cuts();
  batch_.clear();
  lane_cuts_.clear();
  while (!stack_.empty() && batch_.size() < room) {
    const Interval interval = stack_.back();
    stack_.pop_back();
    if (interval_bound(interval, w) >= best) {
      ++counters_.pruned_interval;
      continue;
    }
    const OpenCuts open = open_cuts(interval, w, best).within(1, rows - 1);
    if (open.first > interval.low + 1 || open.last < interval.high - 1)
      ++counters_.pruned_neighbour;
    if (open.first <= open.last)
      batch_.push_back({interval, open, 1, (open.last - open.first + 1) / 2});
  }
  if (batch_.size() == 1) {  // as below
    Batched& only = batch_.front();
    only.cuts = std::min(static_cast<std::int32_t>(room), only.open.last - only.open.first + 1);
  }
  for (std::size_t total = batch_.size(); batch_.size() > 1 && total < room; ++total) {
    Batched& widest =
        *std::max_element(batch_.begin(), batch_.end(),
                          [](const Batched& a, const Batched& b) { return a.share < b.share; });
    if (widest.share < 1) break;
    ++widest.cuts;
    widest.share = (widest.open.last - widest.open.first + 1) / (widest.cuts + 1);
  }
  for (Batched& b : batch_) {
    std::int32_t from = b.open.first, found = 0, hinted = 0;
    if (hint) hinted = pick(view, outer, b.open, hint);
    const std::int32_t length = b.open.last - b.open.first + 1, parts = b.cuts + 1,
                       step = length / parts, rest = length % parts;
    std::int32_t even = b.open.first, over = 0;  // first + length * i / parts
    for (std::int32_t i = 1; i <= b.cuts && from <= b.open.last; ++i) {
      even += step;
      over += rest;
      if (over >= parts) ++even, over -= parts;
      std::int32_t want = even;
      // The cut of the hint stands for the one that is asked next to it.
      if (hinted > 0 &&
          (i == b.cuts || b.open.first + length * (2 * i + 1) / (2 * parts) > hinted)) {
        want = hinted;
        hinted = 0;
      }
      if (want < from) continue;
      const std::int32_t cut = nearest_cut(view.ends(outer), want, from, b.open.last);
      if (cut < 0) break;
      lane_cuts_.push_back({cut, 0, 0, 0, 0});
      ++found;
      from = cut + 1;
    }
    b.cuts = found;
  }
}

// The optimal losses of both sides of each cut.
void DepthTwo::value_cuts(View& view, std::size_t outer, const Inner& inner, int state) {
  const Open& open = this->open(state, false);
  lane_values_.clear();
  const auto value = [&](bool split, Loss leaf, Loss stump, Loss found) {
    return split ? std::min(stump, found) + 2 * price_ : leaf + price_;
  };
  if (!lane_ones_.empty()) {  // errors are counted, and there are no 0/1 tests
    const std::int32_t rows = static_cast<std::int32_t>(view.rows());
    const std::uint64_t* classes = view.classes(outer);
    for (LaneCut& at : lane_cuts_) {
      const std::size_t word = static_cast<std::size_t>(at.cut) / kBlock,
                        rest = static_cast<std::size_t>(at.cut) % kBlock;
      std::int32_t ones = lane_ones_[word];
      if (rest > 0) ones += popcount(classes[word] & low_bits(rest));
      at.left_total = 2 * ones - at.cut;
      at.right_total = 2 * (all_count_[0] - ones) - (rows - at.cut);
    }
    lanes_.scan(view, outer, open.feature, lane_cuts_);
    const auto side = [&](bool split, std::int32_t size, std::int32_t total, std::int32_t gain) {
      const Loss leaf = each_ * ((size - std::abs(total)) / 2);
      return value(split, leaf, leaf - price_, each_ * ((size - gain) / 2));
    };
    for (const LaneCut& at : lane_cuts_)
      lane_values_.push_back({side(inner.split[0], at.cut, at.left_total, at.left),
                              side(inner.split[1], rows - at.cut, at.right_total, at.right)});
  } else {
    value_cuts_by_totals(view, outer, open);
    const bool unit = data_->loss.unit();
    for (std::size_t c = 0; c < lane_cuts_.size(); ++c) {
      const LaneCut& at = lane_cuts_[c];
      const LaneKnown& k = lane_known_[c];
      const Loss each = unit ? each_ : 1;
      lane_values_.push_back(
          {value(inner.split[0], k.leaf.left, k.stump.left, each * ((k.weight.left - at.left) / 2)),
           value(inner.split[1], k.leaf.right, k.stump.right,
                 each * ((k.weight.right - at.right) / 2))});
    }
  }
  counters_.scans += lane_cuts_.size() * data_->sorted.size();
  control_.poll(view.rows() * p_ / 2);
}

void DepthTwo::value_cuts_by_totals(View& view, std::size_t outer, const Open& open) {
  const bool unit = data_->loss.unit();
  lane_known_.resize(lane_cuts_.size());
  for (std::size_t c = 0; c < lane_cuts_.size(); ++c) {
    LaneCut& at = lane_cuts_[c];
    totals(view, outer, at.cut);
    at.left_total = unit ? 2 * left_count_[0] - left_rows_ : left_sum_;
    at.right_total = unit ? 2 * right_count_[0] - right_rows_ : right_sum_;
    LaneKnown& k = lane_known_[c];
    k.leaf = {leaf_left_, leaf_right_};
    k.weight = unit ? Sides{left_rows_, right_rows_} : Sides{left_weight_, right_weight_};
    k.stump = {leaf_left_ - price_, leaf_right_ - price_};
    if (data_->columns.empty()) continue;
    std::uint64_t* mask = mask_.data();
    below(data_->kernels, view.pair(outer, 0), view.words(), view.sorted(outer)[at.cut - 1] + 1,
          mask);
    scan_columns(view, mask, false, open, open, k.stump.left, k.stump.right);
  }
  lanes_.scan(view, outer, open.feature, lane_cuts_);
}

// Rows of the positive class below each block of the outer feature.
void DepthTwo::set_ones(View& view, std::size_t outer) {
  lane_ones_.clear();
  if (!data_->loss.unit() || !data_->columns.empty()) return;
  const std::uint64_t* classes = view.classes(outer);
  std::int32_t ones = 0;
  for (std::size_t w = 0; w < view.words(); ++w) {
    lane_ones_.push_back(ones);
    ones += popcount(classes[w] & valid_bits(view.rows(), w));
  }
  lane_ones_.push_back(ones);
}

// What is still open comes on the stack, the least bound on top.
void DepthTwo::stack_lanes(Loss best, const RowWeights& w) {
  const std::size_t start = stack_.size();
  lane_bounds_.clear();
  const auto keep = [&](const Interval& i) {
    const Loss bound = interval_bound(i, w);
    if (bound >= best) {
      ++counters_.pruned_interval;
      return;
    }
    std::size_t at = lane_bounds_.size();
    stack_.push_back(i);
    lane_bounds_.push_back(bound);
    for (; at > 0 && lane_bounds_[at - 1] < bound; --at) {
      lane_bounds_[at] = lane_bounds_[at - 1];
      stack_[start + at] = stack_[start + at - 1];
    }
    lane_bounds_[at] = bound;
    stack_[start + at] = i;
  };
  std::size_t c = 0;
  for (const Batched& b : batch_) {
    Interval rest = b.interval;
    for (const std::size_t behind = c + static_cast<std::size_t>(b.cuts); c < behind; ++c) {
      const std::int32_t cut = lane_cuts_[c].cut;
      const Sides v = lane_values_[c];
      keep({rest.low, cut, rest.low_left, rest.low_right, v.left, v.right, 0, 0});
      rest.low = cut;
      rest.low_left = v.left;
      rest.low_right = v.right;
    }
    if (b.cuts > 0) keep(rest);
  }
}

void DepthTwo::search_lanes(View& view, std::size_t outer, const Inner& inner, int state,
                            Loss& best, Loss lower, Hint& found, const Hint* hint) {
  const std::int32_t rows = static_cast<std::int32_t>(view.rows());
  set_upto(view, outer);
  const RowWeights w = weights(view, outer);
  lanes_.set_outer(view, outer);
  set_ones(view, outer);
  stack_.clear();
  stack_.push_back({0, rows, price_, whole_.large, whole_.large, price_, 0, 0});
  while (best > lower) {
    choose_cuts(view, outer, best, w, hint);
    hint = nullptr;
    if (lane_cuts_.empty()) {
      if (stack_.empty()) return;
      continue;
    }
    value_cuts(view, outer, inner, state);
    for (std::size_t c = 0; c < lane_cuts_.size(); ++c) {
      const Sides v = lane_values_[c];
      if (v.left + v.right >= best) continue;
      best = v.left + v.right;
      found = {static_cast<int>(outer), view.sorted(outer)[lane_cuts_[c].cut - 1] + 1u};
    }
    stack_lanes(best, w);
  }
}

}  // namespace odt
