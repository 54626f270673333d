// How the search for good trees and the proof share one thread, and when bounds are told.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>
#include <vector>

#include "check.hpp"
#include "odt/control.hpp"

using namespace odt;

namespace {

// Two lanes that do work one by one, until `all` is done. `at` is called with the work of each.
struct TwoLanes {
  std::uint64_t all = 0, of[2] = {0, 0};

  void run(Turns& turns, const std::function<void(int)>& at, std::uint64_t until) {
    const auto lane = [&](int number) {
      turns.enter(number);
      while (all < until) {
        ++all;
        ++of[number];
        at(number);
        turns.step(number, all);
      }
      turns.leave();
    };
    std::thread other(lane, 1);
    lane(0);
    other.join();
  }
};

}  // namespace

CASE(the_nearer_a_proof_is_the_more_turns_it_gets) {
  for (const double bound : {0.0, 50.0, 80.0, 99.0, 100.0}) {
    Turns turns(10, 10, 10);
    turns.found(100);
    turns.proven(bound);
    TwoLanes lanes;
    lanes.run(turns, [](int) {}, 100000);
    const double share = static_cast<double>(lanes.of[0]) / static_cast<double>(lanes.of[1]);
    const double wanted = bound < 95 ? 1 / (1 - bound / 100) : 20;
    CHECK(share > 0.98 * wanted && share < 1.02 * wanted);
  }
}

CASE(the_longer_no_tree_was_found_the_more_turns_the_proof_gets) {
  for (const auto& [now, power] : std::vector<std::pair<std::uint64_t, int>>{
           {10, 1}, {10, 2}, {130, 1}, {130, 2}, {390, 2}, {520, 1}, {100000, 1}, {100000, 2}}) {
    Turns turns(10, 10, 10);
    turns.proven(0);
    turns.favour_proof(now, 99, 1, power);
    TwoLanes lanes;
    lanes.run(turns, [](int) {}, 100000);
    const double share = static_cast<double>(lanes.of[0]) / static_cast<double>(lanes.of[1]);
    const double wanted = std::clamp(std::pow(static_cast<double>(now) / 130, power), 1.0, 20.0);
    CHECK(share > 0.98 * wanted && share < 1.02 * wanted);
  }
}

CASE(a_long_turn_ends_with_a_tree_that_nearly_closes_the_gap) {
  for (const bool near : {false, true}) {
    Turns turns(100, 10, 10, 10000);
    TwoLanes lanes;
    std::uint64_t first = 0;  // turn of the search for trees, all of it
    lanes.run(
        turns,
        [&](int lane) {
          if (lane == 0 && lanes.of[0] == 50) turns.proven(near ? 90 : 10);
          if (lane == 1 && lanes.of[1] == 40) turns.found(100);
          if (lane == 0 && lanes.of[1] > 0 && first == 0) first = lanes.of[1];
        },
        20000);
    CHECK(near ? first == 40 : first == 10010);
  }
}

CASE(a_proof_by_others_waits_for_no_turn_and_gives_no_more_of_them) {
  Turns turns(10, 10, 5);
  turns.share_processors();
  std::atomic<std::uint64_t> all{0}, of_1{0};
  std::atomic<bool> over{false};
  turns.enter(0);
  const auto step = [&] { turns.step(0, ++all); };
  for (int i = 0; i < 100; ++i) step();  // would wait for ever for a lane that is not there
  std::thread other([&] {
    turns.enter(1);
    while (!over) {
      ++of_1;
      turns.step(1, ++all);
    }
  });
  while (of_1 < 1) std::this_thread::yield();
  // Its turn was over long ago: it gives as much, and waits for that to be done.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(of_1 == 1);
  while (all < 500) step();
  while (of_1 < 2) std::this_thread::yield();
  over = true;
  turns.leave();
  other.join();
  CHECK(of_1 >= 2 && of_1 < 100);
}

CASE(the_calling_thread_looks_while_it_waits_for_its_turn) {
  Turns turns(1, 1, 1000000);
  std::atomic<int> looks{0};
  turns.look_here(0, [&] { ++looks; });
  int seen = 0;
  TwoLanes lanes;
  lanes.run(
      turns,
      [&](int lane) {
        if (lane == 0 || seen > 0) return;
        for (int wait = 0; wait < 2000 && looks == 0; ++wait)
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
        seen = looks;
      },
      10);
  CHECK(seen > 0);
}

CASE(a_bound_that_came_too_soon_after_another_is_told_by_a_later_look) {
  Looks::counted = true;
  Options options;
  std::vector<Loss> told;
  options.progress = [&](const Incumbent& now, const Found&) { told.push_back(now.bound); };
  Control control(options);
  std::vector<Incumbent> timeline;
  control.incumbent(timeline, 10, 0, {});
  control.check();
  control.bound(timeline, 2);
  control.bound(timeline, 3);
  control.bound(timeline, 5);
  CHECK((told == std::vector<Loss>{0, 2}));
  control.check();
  CHECK((told == std::vector<Loss>{0, 2, 5}));
  control.check();
  CHECK((told == std::vector<Loss>{0, 2, 5}));
  CHECK(timeline.back().bound == 5 && timeline.back().value == 10);
  Looks::counted = false;
}
