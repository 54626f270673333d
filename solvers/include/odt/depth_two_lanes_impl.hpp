// Depth two by lanes: see cut_lanes.hpp.
#pragma once

#include "odt/depth_two.hpp"

namespace odt {

template <class R>
bool DepthTwo<R>::suits_lanes(View<R>& view, Ask ask, Loss best) {
  if (ask.least > 1 || ask.must || view.idle()) return false;
  if (lanes_for_ != data_) {
    lanes_for_ = data_;
    lanes_suit_ = CutLanes<R>::suits(*data_);
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
template <class R>
void DepthTwo<R>::choose_cuts(View<R>& view, std::size_t outer, Loss best, const RowWeights& w,
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
    if (open.first <= open.last) batch_.push_back({interval, open, 1});
  }
  for (std::size_t total = batch_.size(); !batch_.empty() && total < room; ++total) {
    const auto share = [](const Batched& b) {
      return (b.open.last - b.open.first + 1) / (b.cuts + 1);
    };
    Batched& widest =
        *std::max_element(batch_.begin(), batch_.end(),
                          [&](const Batched& a, const Batched& b) { return share(a) < share(b); });
    if (share(widest) < 1) break;
    ++widest.cuts;
  }
  for (Batched& b : batch_) {
    std::int32_t from = b.open.first, found = 0, hinted = 0;
    if (hint)
      hinted = nearest_cut(view.ends(outer), pick(view, outer, b.open, hint), from, b.open.last);
    for (std::int32_t i = 1; i <= b.cuts && from <= b.open.last; ++i) {
      const std::int32_t length = b.open.last - b.open.first + 1;
      std::int32_t want = b.open.first + length * i / (b.cuts + 1);
      // The cut of the hint stands for the one that is asked next to it.
      if (hinted > 0 &&
          (i == b.cuts || b.open.first + length * (2 * i + 1) / (2 * b.cuts + 2) > hinted)) {
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
template <class R>
void DepthTwo<R>::value_cuts(View<R>& view, std::size_t outer, const Inner& inner, int state) {
  const Open& open = this->open(state, false);
  const bool unit = data_->loss.unit();
  struct Known {
    Sides leaf, stump, weight;
  };
  Known known[CutLanes<R>::kLanes / 8];
  for (std::size_t c = 0; c < lane_cuts_.size(); ++c) {
    LaneCut& at = lane_cuts_[c];
    totals(view, outer, at.cut);
    at.left_total = unit ? 2 * left_count_[0] - left_rows_ : left_sum_;
    at.right_total = unit ? 2 * right_count_[0] - right_rows_ : right_sum_;
    Known& k = known[c];
    k.leaf = {leaf_left_, leaf_right_};
    k.weight = unit ? Sides{left_rows_, right_rows_} : Sides{left_weight_, right_weight_};
    k.stump = {leaf_left_ - price_, leaf_right_ - price_};
    if (data_->columns.empty()) continue;
    std::uint64_t* mask = mask_.data();
    below(data_->kernels, view.pair(outer, 0), view.words(),
          static_cast<R>(view.sorted(outer)[at.cut - 1] + 1), mask);
    scan_columns(view, mask, false, open, open, k.stump.left, k.stump.right);
  }
  lanes_.scan(view, outer, open.feature, lane_cuts_);
  lane_values_.clear();
  for (std::size_t c = 0; c < lane_cuts_.size(); ++c) {
    const LaneCut& at = lane_cuts_[c];
    const Known& k = known[c];
    const auto value = [&](bool split, Loss leaf, Loss stump, Loss weight, std::int32_t gain) {
      return split ? std::min(stump, (unit ? each_ : 1) * ((weight - gain) / 2)) + 2 * price_
                   : leaf + price_;
    };
    lane_values_.push_back(
        {value(inner.split[0], k.leaf.left, k.stump.left, k.weight.left, at.left),
         value(inner.split[1], k.leaf.right, k.stump.right, k.weight.right, at.right)});
  }
  counters_.scans += lane_cuts_.size() * data_->sorted.size();
  control_.poll(view.rows() * p_ / 2);
}

template <class R>
void DepthTwo<R>::search_lanes(View<R>& view, std::size_t outer, const Inner& inner, int state,
                               Loss& best, Loss lower, Hint& found, const Hint* hint) {
  const std::int32_t rows = static_cast<std::int32_t>(view.rows());
  set_upto(view, outer);
  const RowWeights w = weights(view, outer);
  lanes_.set_outer(view, outer);
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
    const std::size_t start = stack_.size();
    std::size_t c = 0;
    for (const Batched& b : batch_) {
      Interval rest = b.interval;
      for (const std::size_t behind = c + static_cast<std::size_t>(b.cuts); c < behind; ++c) {
        const std::int32_t cut = lane_cuts_[c].cut;
        const Sides v = lane_values_[c];
        if (v.left + v.right < best) {
          best = v.left + v.right;
          found = {static_cast<int>(outer), view.sorted(outer)[cut - 1] + 1u};
        }
        stack_.push_back({rest.low, cut, rest.low_left, rest.low_right, v.left, v.right, 0, 0});
        rest.low = cut;
        rest.low_left = v.left;
        rest.low_right = v.right;
      }
      if (b.cuts > 0) stack_.push_back(rest);
    }
    std::sort(stack_.begin() + static_cast<long>(start), stack_.end(),
              [&](const Interval& a, const Interval& b) {
                return interval_bound(a, w) > interval_bound(b, w);
              });
  }
}

}  // namespace odt
