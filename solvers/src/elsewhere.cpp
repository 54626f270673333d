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

// Seven bits to a byte, the least first: most values are small, and answers are thousands.
void put_small(std::string& text, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) text.push_back(static_cast<char>(value | 0x80));
  text.push_back(static_cast<char>(value));
}

// A feature, where -1 stands for none, so that it is small too.
void put_feature(std::string& text, std::uint32_t feature) { put_small(text, feature + 1); }

void put_learnt(std::string& text, const std::vector<Learnt>& all) {
  put(text, all.size());
  for (const Learnt& one : all) {
    for (const BoxCache::Range& range : one.box.ranges) {
      put_feature(text, range.feature);
      put_small(text, range.low);
      put_small(text, range.high);
    }
    const BoxCache::Answer& answer = one.answer;
    put_small(text, static_cast<std::uint32_t>(one.box.state));
    put_small(text, static_cast<std::uint64_t>(one.load));
    put_small(text, static_cast<std::uint64_t>(answer.bound));
    put_small(text, (answer.known ? 1U : 0U) | (answer.exact ? 2U : 0U) | (answer.stump ? 4U : 0U));
    put_feature(text, static_cast<std::uint32_t>(answer.split.feature));
    put_small(text, answer.split.bound);
  }
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
  // Of what takes so many bytes or more each.
  std::size_t count(std::size_t least) {
    const auto all = take<std::size_t>();
    if (all > (text_.size() - at_) / least) refuse();
    return all;
  }
  Rest take_rest() {
    Rest rest{take_all<Interval>(), take_all<CutRecord>(), take<BestCut>(),
              take<bool>(),         take<Loss>(),          {}};
    rest.plan.nodes = take_all<PlanNode>();
    const auto records = static_cast<std::int32_t>(rest.records.size());
    for (const Interval& part : rest.open)
      for (const std::int32_t record : {part.low_record, part.high_record})
        if (record < 0 || record >= records) refuse();
    if (records < 2) refuse();
    return rest;
  }
  std::vector<Learnt> take_learnt() {
    constexpr std::size_t kLeast = 3 * BoxCache::kMostFeatures + 6;
    std::vector<Learnt> all(count(kLeast));
    for (Learnt& one : all) {
      for (BoxCache::Range& range : one.box.ranges)
        range = {take_feature(), take_word(), take_word()};
      one.box.state = static_cast<std::int32_t>(take_word());
      one.load = static_cast<Loss>(take_small());
      one.answer.bound = static_cast<Loss>(take_small());
      const std::uint64_t flags = take_small();
      one.answer.known = flags & 1;
      one.answer.exact = flags & 2;
      one.answer.stump = flags & 4;
      one.answer.split.feature = static_cast<int>(take_feature());
      one.answer.split.bound = take_word();
    }
    return all;
  }
  void end() const {
    if (at_ != text_.size()) refuse();
  }
  [[noreturn]] static void refuse() {
    throw std::invalid_argument("a message of another version of the engine");
  }

 private:
  std::uint64_t take_small() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ == text_.size()) refuse();
      const auto byte = static_cast<unsigned char>(text_[at_++]);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    refuse();
  }
  std::uint32_t take_word() { return static_cast<std::uint32_t>(take_small()); }
  std::uint32_t take_feature() { return take_word() - 1; }

  const std::string& text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string packed(const RemoteTask& task) {
  std::string text;
  put(text, task.shape);
  put(text, task.best);
  put(text, task.cutoff);
  put(text, task.work);
  put_all(text, task.cuts);
  put_learnt(text, task.learnt);
  return text;
}

RemoteTask task_of(const std::string& text) {
  Reader reader(text);
  RemoteTask task{reader.take<Shape>(),         reader.take<Loss>(),          reader.take<Loss>(),
                  reader.take<std::uint64_t>(), reader.take_all<RemoteCut>(), reader.take_learnt()};
  reader.end();
  return task;
}

std::string packed(const RemoteValue& answer) {
  std::string text;
  put(text, answer.rests.size());
  for (const Rest& rest : answer.rests) {
    put_all(text, rest.open);
    put_all(text, rest.records);
    put(text, rest.cut);
    put(text, rest.better);
    put(text, rest.value);
    put_all(text, rest.plan.nodes);
  }
  put(text, answer.counters);
  put(text, answer.work);
  put_learnt(text, answer.learnt);
  return text;
}

RemoteValue value_of(const std::string& text) {
  Reader reader(text);
  RemoteValue answer;
  answer.rests.resize(reader.count(3 * sizeof(std::size_t) + sizeof(BestCut) + sizeof(Loss)));
  for (Rest& rest : answer.rests) rest = reader.take_rest();
  answer.counters = reader.take<Counters>();
  answer.work = reader.take<std::uint64_t>();
  answer.learnt = reader.take_learnt();
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
  } catch (...) {
    made_.reset();
    throw;
  }
  options_.interrupted = nullptr;
  return answer;
}

}  // namespace odt
