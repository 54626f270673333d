// How threads grow one graph: members of TreeGraph.
//
// A thread that waits for a node takes parts of nodes that are no higher. So what stands above
// another part on its stack is of a lower node, and the lowest part of all waits for none.
#include <algorithm>
#include <chrono>

#include "odt/tree_graph.hpp"
#include "odt/workers.hpp"

namespace odt {

// All sub-trees of at most this weight.
const GraphNode::Trees& TreeGraph::expand(Hand& hand, GraphNode& n, Loss budget) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (n.growing && n.trees->budget < budget) help(hand, lock, n.depth);
  if (n.trees->budget >= budget) return *n.trees;
  n.growing = true;
  lock.unlock();
  const auto growth = std::make_shared<Growth>(n, budget);
  begin(hand, *growth);
  lock.lock();
  if (growth->open > 0) {
    growing_.push_back(growth);
    if (asleep_ > 0) wake_.notify_all();
    while (growth->next < growth->parts.size()) take_part(hand, lock, growth);
    while (growth->open > 0) help(hand, lock, n.depth);
  }
  lock.unlock();
  finish(*growth);
  lock.lock();
  if (control_.options().threads > 1) retired_.push_back(std::move(n.trees));
  n.trees = std::move(growth->made);
  n.growing = false;
  if (asleep_ > 0) wake_.notify_all();
  return *n.trees;
}

void TreeGraph::take_part(Hand& hand, std::unique_lock<std::mutex>& lock,
                          std::shared_ptr<Growth> growth) {
  if (failure_) throw Ended{};
  Part& part = growth->parts[growth->next++];
  if (growth->next == growth->parts.size())
    growing_.erase(std::find(growing_.begin(), growing_.end(), growth));
  lock.unlock();
  if (hand.leads) begin_helping();
  do_part(hand, *growth, part);
  lock.lock();
  if (--growth->open == 0 && asleep_ > 0) wake_.notify_all();
}

// Takes a part of another node's work, or waits for news.
void TreeGraph::help(Hand& hand, std::unique_lock<std::mutex>& lock, int depth) {
  constexpr std::chrono::milliseconds kLook{20};
  if (failure_) throw Ended{};
  for (const auto& growth : growing_)
    if (growth->n.depth <= depth) return take_part(hand, lock, growth);
  ++asleep_;
  wake_.wait_for(lock, kLook);
  --asleep_;
  if (!hand.leads) return;
  lock.unlock();
  control_.check();
  lock.lock();
}

// Short lists are made by the calling thread alone.
void TreeGraph::begin_helping() {
  const Options& o = control_.options();
  if (o.threads < 2 || !helpers_.empty() || control_.work() < o.alone) return;
  for (int k = 1; k < o.threads; ++k) helpers_.push_back(std::make_unique<Helper>(control_));
  for (const auto& helper : helpers_)
    helper->thread = std::thread([this, &helper = *helper] { serve(helper); });
}

void TreeGraph::serve(Helper& helper) {
  Control::mark_worker();
  try {
    free_.make_root(helper.root);
    if (lead_.bits) helper.hand.bits = BitBounds::make(free_.data, control_);
    std::unique_lock<std::mutex> lock(mutex_);
    while (!over_) {
      if (!growing_.empty()) {
        take_part(helper.hand, lock, growing_.front());
        continue;
      }
      ++asleep_;
      wake_.wait(lock, [&] { return over_ || !growing_.empty(); });
      --asleep_;
    }
  } catch (const Ended&) {
  } catch (...) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
    wake_.notify_all();
  }
}

TreeGraph::~TreeGraph() {
  end();
  if (helpers_.empty()) return;
  Workers workers(control_.options().threads);  // to free large graphs takes long
  workers.run(kShelves, [&](int, std::size_t k) { shelves_[k].known.clear(); });
}

void TreeGraph::end() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    over_ = true;
    if (!failure_) failure_ = std::current_exception();
  }
  wake_.notify_all();
  for (const auto& helper : helpers_)
    if (helper->thread.joinable()) helper->thread.join();
}

}  // namespace odt
