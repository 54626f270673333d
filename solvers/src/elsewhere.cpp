#include "odt/elsewhere.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <type_traits>

#include "odt/dataset.hpp"

namespace odt {

namespace {

template <class T>
void put(std::string& text, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}
template <class T>
void put_all(std::string& text, const std::vector<T>& values) {
  put(text, values.size());
  for (const T& value : values) put(text, value);
}

class Reader {
 public:
  explicit Reader(const std::string& text) : text_(text) {}
  template <class T>
  T take() {
    static_assert(std::is_trivially_copyable_v<T>);
    if (text_.size() - at_ < sizeof(T)) refuse();
    T value;
    std::memcpy(&value, text_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  template <class T>
  std::vector<T> take_all() {
    const auto count = take<std::size_t>();
    if (count > (text_.size() - at_) / sizeof(T)) refuse();
    std::vector<T> values;
    values.reserve(count);
    while (values.size() < count) values.push_back(take<T>());
    return values;
  }
  void end() const {
    if (at_ != text_.size()) refuse();
  }
  [[noreturn]] static void refuse() {
    throw std::invalid_argument("a cut of another version of the engine");
  }

 private:
  const std::string& text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string packed(const RemoteTask& task) {
  std::string text;
  put(text, task.cut);
  put(text, task.work);
  put_all(text, task.learnt);
  return text;
}

RemoteTask task_of(const std::string& text) {
  Reader reader(text);
  RemoteTask task{reader.take<RemoteCut>(), reader.take<std::uint64_t>(),
                  reader.take_all<Learnt>()};
  reader.end();
  return task;
}

std::string packed(const RemoteValue& answer) {
  const Rest& rest = answer.rest;
  std::string text;
  put_all(text, rest.open);
  put_all(text, rest.records);
  put(text, rest.cut);
  put(text, rest.better);
  put(text, rest.value);
  put_all(text, rest.plan.nodes);
  put(text, answer.counters);
  put(text, answer.work);
  put_all(text, answer.learnt);
  return text;
}

RemoteValue value_of(const std::string& text) {
  Reader reader(text);
  RemoteValue answer;
  Rest& rest = answer.rest;
  rest.open = reader.take_all<Interval>();
  rest.records = reader.take_all<CutRecord>();
  rest.cut = reader.take<BestCut>();
  rest.better = reader.take<bool>();
  rest.value = reader.take<Loss>();
  rest.plan.nodes = reader.take_all<PlanNode>();
  answer.counters = reader.take<Counters>();
  answer.work = reader.take<std::uint64_t>();
  answer.learnt = reader.take_all<Learnt>();
  reader.end();
  const auto records = static_cast<std::int32_t>(rest.records.size());
  for (const Interval& part : rest.open)
    for (const std::int32_t record : {part.low_record, part.high_record})
      if (record < 0 || record >= records) Reader::refuse();
  if (records < 2) Reader::refuse();
  return answer;
}

struct RemoteProblem::Made {
  Made(const Problem& problem, const Options& options)
      : control(options), data(problem, choose_kernels(Isa::best), &control) {
    const std::size_t boxes =
        options.memory_limit ? options.memory_limit / 4 : std::size_t{1} << 27;
    cuts = root_cuts(data, control, boxes);
  }
  Control control;
  Dataset data;
  std::unique_ptr<RootCuts> cuts;
};

RemoteProblem::RemoteProblem(Problem problem, std::size_t memory_limit)
    : problem_(std::move(problem)) {
  options_.memory_limit = memory_limit;
}

RemoteProblem::~RemoteProblem() = default;

std::optional<RemoteValue> RemoteProblem::evaluate(const RemoteTask& task,
                                                   std::function<bool()> interrupted) {
  options_.interrupted = std::move(interrupted);
  std::optional<RemoteValue> answer;
  try {
    if (!made_) made_ = std::make_unique<Made>(problem_, options_);
    answer = made_->cuts->evaluate(task);
  } catch (const Stop&) {
    made_.reset();  // what it was at is left as it stood
  }
  options_.interrupted = nullptr;
  return answer;
}

}  // namespace odt
