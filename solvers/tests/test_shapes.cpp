// Diagrams of one shape, searched by several threads at once, turn by turn and by memory that is
// short: the answers are those of one thread, on tables that a diagram of the shape tells but for
// some rows. Built with ODT_SANITIZE=thread, every race between the threads is told.
#include <atomic>
#include <deque>
#include <thread>
#include <vector>

#include "../src/shape_job.hpp"
#include "check.hpp"
#include "odt/control.hpp"
#include "odt/diagram_annealing.hpp"
#include "odt/diagrams.hpp"
#include "random_problem.hpp"

using namespace odt;
using namespace odt_test;

namespace {

std::size_t label_by(const LayeredProblem& p, const Layers& layers, std::size_t row) {
  int at = 0;
  for (const auto& layer : layers) {
    const LayeredNode& node = layer[static_cast<std::size_t>(at)];
    const auto f = static_cast<std::size_t>(node.feature);
    at = p.rank[f * p.rows + row] <= node.cut ? node.left : node.right;
    if (at < 0) break;
  }
  return static_cast<std::size_t>(~at);
}

Loss loss_by(const LayeredProblem& p, const Layers& layers) {
  Loss sum = 0;
  for (std::size_t r = 0; r < p.rows; ++r)
    sum += p.loss[r * static_cast<std::size_t>(p.labels) + label_by(p, layers, r)];
  return sum;
}

// Arcs end or lead anywhere below; both arcs of a node may end.
Layers any_diagram(Random& random, const LayeredProblem& p, const std::vector<int>& shape) {
  Layers layers;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    layers.emplace_back();
    const int below = i + 1 < shape.size() ? shape[i + 1] : 0;
    const auto arc = [&] {
      const int to = draw(random, 0, 2 * below);
      return to < 2 * below ? to / 2 : ~draw(random, 0, p.labels - 1);
    };
    for (int j = 0; j < shape[i]; ++j) {
      const int f = draw(random, 0, static_cast<int>(p.features) - 1);
      const auto many = static_cast<int>(p.distinct[static_cast<std::size_t>(f)]);
      layers[i].push_back({f, static_cast<std::uint32_t>(draw(random, 0, many - 2)), arc(), arc()});
    }
  }
  return layers;
}

LayeredProblem planted_shape(unsigned seed, const std::vector<int>& shape, int values) {
  Random random(seed);
  const bool two = values == 2;
  LayeredProblem p;
  p.rows = static_cast<std::size_t>(two ? draw(random, 90, 128) : draw(random, 70, 120));
  p.features = two ? 8 : 4;
  p.labels = draw(random, 2, 3);
  p.distinct.assign(p.features, static_cast<std::uint32_t>(values));
  p.allowed.resize(p.features);
  for (std::size_t k = 0; k < p.rows * p.features; ++k)
    p.rank.push_back(static_cast<std::uint32_t>(draw(random, 0, values - 1)));
  const Layers layers = any_diagram(random, p, shape);
  p.loss.assign(p.rows * static_cast<std::size_t>(p.labels), 1);
  for (std::size_t r = 0; r < p.rows; ++r) {
    const bool noise = draw(random, 0, 2) == 0;
    const std::size_t label =
        noise ? static_cast<std::size_t>(draw(random, 0, p.labels - 1)) : label_by(p, layers, r);
    p.loss[r * static_cast<std::size_t>(p.labels) + label] = 0;
  }
  return p;
}

}  // namespace

CASE(threads_search_a_shape_together_as_one_does) {
  int shared = 0, turns = 0;
  const std::vector<std::vector<int>> shapes = {
      {1, 2, 2, 1}, {1, 2, 2, 2}, {1, 2, 3}, {1, 1, 2, 2}};
  for (int seed = 0; seed < check::trials(10, 0.2); ++seed)
    for (const std::vector<int>& shape : shapes) {
      const LayeredProblem p = planted_shape(static_cast<unsigned>(seed), shape, seed % 2 ? 2 : 8);
      const LayeredAnswer alone = layered_search(p)->solve(shape, kInfinite, {}, {});
      CHECK(alone.complete && alone.value == alone.bound && alone.value < kInfinite);

      const auto search = layered_search(p);
      std::atomic<Loss> told{kInfinite};
      std::atomic<int> worked{0}, again{0}, wrong{0};
      const auto thread = [&](bool by_turns) {
        LayeredWish wish;
        wish.told = [&](Loss value, const Layers& layers) {
          if (loss_by(p, layers) != value) ++wrong;
          Loss known = told;
          while (value < known && !told.compare_exchange_weak(known, value)) continue;
        };
        Options options;
        options.memory_limit = seed % 3 ? 0 : 1;
        for (std::uint64_t work = by_turns ? 1 : 0;; work *= 2) {
          options.work_limit = work;
          const LayeredAnswer found = search->solve(shape, kInfinite, wish, options);
          worked += found.work > 0;
          if (found.bound > alone.value || found.value < alone.value) ++wrong;
          if (found.value < kInfinite && loss_by(p, found.layers) != found.value) ++wrong;
          if (found.complete && (found.value != alone.value || found.bound != alone.value)) ++wrong;
          if (found.complete) break;
          ++again;
        }
      };
      std::vector<std::thread> threads;
      for (int k = 0; k < 3; ++k) threads.emplace_back(thread, k < 2 && seed % 4 > 1);
      for (std::thread& one : threads) one.join();
      CHECK(wrong == 0);
      CHECK(told == alone.value);
      shared += worked > 1;
      turns += again > 0;
    }
  CHECK(shared > 0);
  CHECK(check::trials(10, 0.2) < 3 || turns > 0);
}

CASE(what_is_enough_may_fall_while_choices_are_dealt_out) {
  struct OneChoice {
    Loss bound;
    int feature, cut, left, right;
  };
  struct Nothing {};
  using Dealt = ShapeJob<OneChoice, Nothing>;
  constexpr int kMany = 300;
  std::atomic<Dealt*> open{nullptr};
  std::atomic<bool> over{false};
  std::thread other([&] {
    for (unsigned wait = 1; !over;) {
      Dealt* job = open.exchange(nullptr);
      if (job == nullptr) continue;
      wait = wait * 1'664'525 + 1'013'904'223;
      for (volatile unsigned k = 0; k < wait >> 21; k = k + 1) continue;
      job->lower(5);
    }
  });
  int wrong = 0, ended = 0;
  std::deque<Dealt> jobs;  // all are kept, as the other thread may be late
  for (int n = 0; n < check::trials(2'000) || ended == 0; ++n) {
    Dealt& job = jobs.emplace_back(100);
    const OneChoice* from = nullptr;
    int seen = 0;
    const bool done = job.run(
        [&] {
          std::vector<OneChoice> choices;
          for (int k = 0; k < kMany; ++k) choices.push_back({10, k, 0, 0, 0});
          from = choices.data();
          return choices;
        },
        [](const OneChoice&, const OneChoice&) { return true; },
        [&](const OneChoice& one) {
          wrong += &one < from || &one >= from + kMany;
          if (seen++ == 0) open = &job;
        },
        [] { return false; });
    wrong += !done;
    ended += seen < kMany;
  }
  over = true;
  other.join();
  CHECK(wrong == 0);
}

CASE(annealing_tells_what_rows_lose_and_loses_no_start) {
  int better = 0;
  const std::vector<int> widths = {1, 2, 3, 2};
  for (int seed = 0; seed < check::trials(2, 0.5); ++seed) {
    std::atomic<int> wrong{0}, gained{0};
    const auto thread = [&](int rows, int number) {
      Random random(static_cast<unsigned>(7 * seed + number));
      LayeredProblem p = planted_shape(static_cast<unsigned>(seed), widths, seed % 2 ? 2 : 9);
      p.rank.clear();
      p.rows = static_cast<std::size_t>(rows);
      for (std::size_t k = 0; k < p.rows * p.features; ++k)
        p.rank.push_back(static_cast<std::uint32_t>(
            draw(random, 0, static_cast<int>(p.distinct[k / p.rows]) - 1)));
      p.loss.clear();
      for (std::size_t k = 0; k < p.rows * static_cast<std::size_t>(p.labels); ++k)
        p.loss.push_back(draw(random, 0, 2) ? 3 * draw(random, 0, 5) : 0);
      const Loss price = draw(random, 0, 2) * 5;
      const auto value = [&](const Layers& layers) {
        Loss sum = loss_by(p, layers);
        for (const auto& layer : layers) sum += price * static_cast<Loss>(layer.size());
        return sum;
      };
      const Options options;
      Control control(options);
      DiagramAnnealing one(p, widths, price, 5, control), other(p, widths, price, 5, control);
      const Layers first = one.cool({});
      if (one.value() != value(first) || value(other.cool({})) != one.value()) ++wrong;
      const Layers given = any_diagram(random, p, widths);
      const Layers next = one.cool(given);
      if (one.value() != value(next) || value(next) > value(given)) ++wrong;
      gained += value(next) < value(given);
      for (const Layers& found : {first, next})
        for (std::size_t l = 0; l < found.size(); ++l) {
          if (found[l].size() > static_cast<std::size_t>(widths[l])) ++wrong;
          const int below = l + 1 < found.size() ? static_cast<int>(found[l + 1].size()) : 0;
          for (const LayeredNode& n : found[l])
            if (std::max(n.left, n.right) >= below || std::min(n.left, n.right) < -p.labels)
              ++wrong;
        }
    };
    std::vector<std::thread> threads;
    for (int rows : {40, 200, 512}) threads.emplace_back(thread, rows, rows % 7);
    for (std::thread& each : threads) each.join();
    CHECK(wrong == 0);
    better += gained;
  }
  CHECK(better > 0);
}
