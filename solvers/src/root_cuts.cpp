#include <algorithm>
#include <stdexcept>

#include "odt/elsewhere.hpp"

namespace odt {

namespace {

class RootCutsOf final : public RootCuts {
 public:
  RootCutsOf(const Dataset& data, Control& control, std::size_t memory)
      : data_(data), control_(control), search_(control, memory) {
    view_.make_root(data, pairs_fit(data, control.options().memory_limit));
  }

  RemoteValue evaluate(const RemoteTask& task) override {
    check(task);
    for (const Learnt& one : task.learnt) search_.memory().learn(one);
    began_ = Control::own_work();
    search_.counters = Counters{};
    RemoteValue answer;
    search_.memory().learnt = &answer.learnt;
    Loss best = task.best;
    for (const RemoteCut& cut : task.cuts) {
      const bool left = !answer.rests.empty() && done(task);
      answer.rests.push_back(left ? Rest{{around(cut)}, {cut.low, cut.high}, {}, false, best, {}}
                                  : rest_of(cut, task, best));
      best = std::min(best, answer.rests.back().value);
    }
    search_.memory().learnt = nullptr;
    answer.counters = search_.counters;
    answer.work = Control::own_work() - began_;
    return answer;
  }

 private:
  Rest rest_of(const RemoteCut& cut, const RemoteTask& task, Loss best) {
    const Ask ask{data_.problem.leaf_rows, data_.problem.must >= 0, 0};
    Branch node(search_, view_, 0, task.shape, best, 0, ask);
    if (!node.resume(cut.low, cut.high, cut.division)) refuse();
    node.set_cutoff(task.cutoff);
    Branch::Task at{cut.feature, cut.cut, cut.division, around(cut)};
    do {
      CutValue value = node.evaluate(search_, at);
      node.merge(at, value);
    } while (!done(task) && node.next(at));
    return node.rest(cut.feature);
  }

  static Interval around(const RemoteCut& cut) {
    Interval whole = cut.interval;
    whole.low_record = 0;
    whole.high_record = 1;
    return whole;
  }
  bool done(const RemoteTask& task) const { return Control::own_work() - began_ >= task.work; }

  void check(const RemoteTask& task) const {
    const auto rows = static_cast<std::int32_t>(data_.rows());
    if (task.shape.depth < 3 || task.shape.depth > data_.problem.depth) refuse();
    for (const RemoteCut& cut : task.cuts) {
      const Interval& i = cut.interval;
      if (cut.feature >= data_.features() || i.low < 0 || i.low >= cut.cut || cut.cut >= i.high ||
          i.high > rows)
        refuse();
    }
  }
  [[noreturn]] static void refuse() { throw std::invalid_argument("a cut of another problem"); }

  const Dataset& data_;
  Control& control_;
  Search search_;
  View view_;
  std::uint64_t began_ = 0;  // the task: work that was done before
};

}  // namespace

std::unique_ptr<RootCuts> root_cuts(const Dataset& data, Control& control, std::size_t memory) {
  return std::make_unique<RootCutsOf>(data, control, memory);
}

}  // namespace odt
