// Cuts of the root that other processes evaluate, and how they travel.
//
// Whoever proves keeps the root's queue and its incumbent, and hands out intervals with a cut to
// begin at, several in a task, under the cutoff of the moment. An answer says which parts are still
// open under that cutoff, or under the loss of a better tree that it tells, and what is known at
// their ends. Cutoffs only fall, so it is true whenever it comes and whatever became of the
// incumbent: tasks may be lost, evaluated twice, or merged in any order. Both ends are of one
// version, on processors of one byte order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "odt/counters.hpp"
#include "odt/plan.hpp"
#include "odt/search.hpp"

namespace odt {

struct RemoteCut {
  std::size_t feature;
  Interval interval;  // its records are `low` and `high`
  CutRecord low, high;
  std::int32_t cut, division;
};

// Of each cut what is left of its interval. Where an earlier one met a better tree, later ones are
// under its loss: to be merged in this order.
struct RemoteValue {
  std::vector<Rest> rests;
  Counters counters;
  std::uint64_t work = 0;
  std::vector<Learnt> learnt;
};

// Cuts, after how much work no further one of them and of their intervals is begun, and what others
// have learnt of late: each has tables of its own, and who will evaluate the cuts is not known.
struct RemoteTask {
  Shape shape;
  Loss best, cutoff;  // as Branch has them
  std::uint64_t work;
  std::vector<RemoteCut> cuts;
  std::vector<Learnt> learnt;
};

// What an `Elsewhere` answers. It is given more tasks and waits a moment. With `drop`, those given
// before are no longer wanted.
struct Returned {
  bool over = false;                                          // nothing more will come
  std::size_t threads = 0;                                    // of all that evaluate tasks
  std::vector<std::pair<std::uint64_t, RemoteValue>> values;  // by number, from 0 as given
};

std::string packed(const RemoteTask& task);
std::string packed(const RemoteValue& value);
// Both throw invalid_argument where the text is of another version.
RemoteTask task_of(const std::string& text);
RemoteValue value_of(const std::string& text);

// What evaluates cuts of one problem's root; one thread at a time.
class RootCuts {
 public:
  virtual ~RootCuts() = default;
  // Throws Stop, after which another must be made; invalid_argument for a cut of another problem.
  virtual RemoteValue evaluate(const RemoteTask& task) = 0;
};
std::unique_ptr<RootCuts> root_cuts(const Dataset& data, Control& control, std::size_t memory);

// A problem with what evaluates its cuts, made at the first of them.
class RemoteProblem {
 public:
  RemoteProblem(Problem problem, std::size_t memory_limit);
  ~RemoteProblem();
  // Nothing where it was interrupted.
  std::optional<RemoteValue> evaluate(const RemoteTask& task, std::function<bool()> interrupted);

 private:
  struct Made;
  Problem problem_;
  Options options_;
  std::unique_ptr<Made> made_;
};

}  // namespace odt
