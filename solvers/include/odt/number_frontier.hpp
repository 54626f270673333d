// The cuts of a node that are still open, as spans between known ones: the searches for numbers
// take them by what they lose at least.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "odt/outputs.hpp"
#include "odt/plan.hpp"

namespace odt {

struct NumberSpan {
  std::uint32_t column, low, high;  // cuts strictly between these are open
  std::uint32_t cut;                // the next to evaluate
  int leaves;                       // of the side below the cut
  double bound[2];   // what the side below the low cut, and that beside the high cut, lose at least
  double both = 0;   // and both together
  double order = 0;  // of spans that lose as much, the one that has less comes first
  double least() const { return std::max(bound[0] + bound[1], both); }
};

// `Cuts` derives from this. It has `enter`, which sets what a new span has beside its ends and
// bounds, and `choose`, which names the cut of a span that is taken; false where none may stand.
template <class Cuts>
class NumberFrontier {
 public:
  using Span = NumberSpan;

  // The open cut of the least bound, if that is below `limit`.
  bool pop(double limit, Span& span) {
    while (!heap_.empty() && heap_.front().least() < limit) {
      std::pop_heap(heap_.begin(), heap_.end(), later);
      span = heap_.back();
      heap_.pop_back();
      if (own().choose(span)) return true;
      dropped_ = std::min(dropped_, span.least());
    }
    return false;
  }
  // What both sides of the span's cut lose at least: the one below it no less further up, the one
  // beside it no less further down.
  void part(const Span& span, double below, double beside) {
    Span low = span, high = span;
    low.high = high.low = span.cut;
    low.bound[1] = std::max(beside, span.bound[1]);
    high.bound[0] = std::max(below, span.bound[0]);
    push(low);
    push(high);
  }
  double least_bound() const { return heap_.empty() ? kUnbounded : heap_.front().least(); }
  // What spans lose at least in which no cut may stand.
  double dropped() const { return dropped_; }
  std::size_t open() const { return heap_.size(); }
  std::size_t cuts(double limit) const {  // of the spans of lower bounds
    std::size_t total = 0;
    for (const Span& one : heap_)
      if (one.least() < limit) total += one.high - one.low - 1;
    return total;
  }

 protected:
  // All cuts of a column, for every way to share out the leaves.
  void begin(std::uint32_t column, std::size_t cuts, Shape shape, double price, double both = 0) {
    const int half = full_leaves(shape.depth - 1);
    for (int l = std::max(1, shape.leaves - half); l <= std::min(half, shape.leaves - 1); ++l)
      push({column, 0, static_cast<std::uint32_t>(cuts) + 1, 0, l, {price, price}, both});
  }

 private:
  Cuts& own() { return static_cast<Cuts&>(*this); }
  static bool later(const Span& a, const Span& b) {
    if (a.least() != b.least()) return a.least() > b.least();
    if (a.order != b.order) return a.order > b.order;
    return a.column != b.column ? a.column > b.column : a.low > b.low;
  }
  void push(Span span) {
    if (span.high - span.low < 2) return;
    own().enter(span);
    heap_.push_back(span);
    std::push_heap(heap_.begin(), heap_.end(), later);
  }

  std::vector<Span> heap_;
  double dropped_ = kUnbounded;
};

}  // namespace odt
