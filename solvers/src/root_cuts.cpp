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
    const RemoteCut& cut = task.cut;
    check(cut);
    for (const Learnt& one : task.learnt) search_.memory().learn(one);
    const std::uint64_t began = Control::own_work();
    search_.counters = Counters{};
    const Ask ask{data_.problem.leaf_rows, data_.problem.must >= 0, 0};
    Branch node(search_, view_, 0, cut.shape, cut.best, 0, ask);
    if (!node.resume(cut.low, cut.high, cut.division))
      throw std::invalid_argument("a cut of another problem");
    node.set_cutoff(cut.cutoff);
    Interval around = cut.interval;
    around.low_record = 0;
    around.high_record = 1;
    RemoteValue answer;
    search_.memory().learnt = &answer.learnt;
    Branch::Task at{cut.feature, cut.cut, cut.division, around};
    do {
      CutValue value = node.evaluate(search_, at);
      node.merge(at, value);
    } while (Control::own_work() - began < task.work && node.next(at));
    search_.memory().learnt = nullptr;
    answer.rest = node.rest(cut.feature);
    answer.counters = search_.counters;
    answer.work = Control::own_work() - began;
    return answer;
  }

 private:
  void check(const RemoteCut& cut) const {
    const auto rows = static_cast<std::int32_t>(data_.rows());
    const Interval& i = cut.interval;
    if (cut.feature >= data_.features() || i.low < 0 || i.low >= cut.cut || cut.cut >= i.high ||
        i.high > rows || cut.shape.depth < 3 || cut.shape.depth > data_.problem.depth)
      throw std::invalid_argument("a cut of another problem");
  }

  const Dataset& data_;
  Control& control_;
  Search search_;
  View view_;
};

}  // namespace

std::unique_ptr<RootCuts> root_cuts(const Dataset& data, Control& control, std::size_t memory) {
  return std::make_unique<RootCutsOf>(data, control, memory);
}

}  // namespace odt
