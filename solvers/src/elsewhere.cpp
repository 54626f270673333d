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

 private:
  [[noreturn]] static void refuse() {
    throw std::invalid_argument("a cut of another version of the engine");
  }
  const std::string& text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string packed(const RemoteTask& task) {
  std::string text;
  put(text, task.cut);
  put_all(text, task.learnt);
  return text;
}

RemoteTask task_of(const std::string& text) {
  Reader reader(text);
  RemoteTask task{reader.take<RemoteCut>(), reader.take_all<Learnt>()};
  reader.end();
  return task;
}

std::string packed(const RemoteValue& answer) {
  const CutValue& value = answer.value;
  std::string text;
  for (const Loss bound : {value.left, value.right, value.any_left, value.any_right})
    put(text, bound);
  put(text, value.exact);
  put(text, value.record);
  put(text, answer.counters);
  put(text, answer.work);
  put_all(text, value.plan.nodes);
  put_all(text, answer.learnt);
  return text;
}

RemoteValue value_of(const std::string& text) {
  Reader reader(text);
  RemoteValue answer;
  CutValue& value = answer.value;
  for (Loss* bound : {&value.left, &value.right, &value.any_left, &value.any_right})
    *bound = reader.take<Loss>();
  value.exact = reader.take<bool>();
  value.record = reader.take<CutRecord>();
  answer.counters = reader.take<Counters>();
  answer.work = reader.take<std::uint64_t>();
  value.plan.nodes = reader.take_all<PlanNode>();
  answer.learnt = reader.take_all<Learnt>();
  reader.end();
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
