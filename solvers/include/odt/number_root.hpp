// The root of a search for trees of numbers: incumbents, the bound that is shown, threads, limits,
// and the search for good trees before and beside the proof.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "odt/number_finish.hpp"
#include "odt/numbers_anytime.hpp"
#include "odt/numbers_beside.hpp"
#include "odt/workers.hpp"

namespace odt {

// Losses are without `offset_`, which all trees lose.
class NumberRoot {
 public:
  virtual ~NumberRoot() = default;
  NumberResult run();

 protected:
  NumberRoot(const NumberProblem& problem, const NumberOptions& options, Control& control);

  // Reads the rows, sets bound, offset and tolerance, and calls `begin_with`; false where nothing
  // is to be searched.
  virtual bool begin() = 0;
  // A bound that is told before the proof: `soon` where it takes little beside growth, else where
  // it is worth its time. Whether it has been told.
  virtual bool bound(bool /*soon*/) { return true; }
  // Until the bound says that the best tree is known.
  virtual void prove() = 0;
  virtual std::unique_ptr<NumberRows> rows() = 0;
  virtual Counters counters() const = 0;
  // Whether trees are proven about as soon as grown.
  virtual bool quick() { return false; }
  // Of the proof, as it is polled, at most.
  virtual std::uint64_t work() { return ~std::uint64_t{0}; }
  // Whether the search for good trees helps a proof.
  virtual bool grows() const { return NumberBeside::grows(o_, p_.base.depth); }
  // Whether a tree keeps the rules that the search for good trees does not know; what it adds to
  // the loss.
  virtual bool keeps(const Plan&, double& price) {
    price = 0;
    return true;
  }
  // A plan without stumps, whose splits part the rows.
  virtual Plan whole(const Plan& plan) { return plan; }

  // The upper bound that is asked for, and the tree to begin with.
  void begin_with();
  // A tree that is given, with its loss.
  virtual void consider(const Plan& plan, double loss) { offer(loss, plan); }
  void begin_beside();
  // No tree of this loss, or more, is of interest; and none that is better by rounding alone.
  double upper() const { return std::min(value_, most_); }
  double limit() const { return upper() - tolerance_; }
  void offer(double value, const Plan& plan) {
    if (value < limit()) accept(value, plan);
  }
  void accept(double value, const Plan& plan);
  void raise(double bound);
  void take();
  bool close_enough() const;
  std::size_t threads() const { return static_cast<std::size_t>(std::max(1, o_.threads)); }
  std::size_t memory() const { return o_.memory_limit ? o_.memory_limit : std::size_t{1} << 29; }

  // The cuts of a frontier, as many at once as there are threads: each searches on its own, with
  // its own cache, so the answer does not depend on who is faster. What is left open is a bound in
  // the `last` stage.
  template <class Cut, class Frontier, class Evaluate, class Merge>
  void explore(Frontier& frontier, bool last, const Evaluate& evaluate, const Merge& merge) {
    std::vector<Cut> round;
    for (;;) {
      take();
      if (last) raise(std::min(upper(), frontier.least_bound()));
      if (close_enough()) return;
      round.clear();
      Cut cut{};
      while (round.size() < threads() && frontier.pop(limit(), cut.span)) round.push_back(cut);
      if (round.empty()) {
        if (last) raise(upper());
        return;
      }
      const auto work = [&](int, std::size_t k) { evaluate(k, round[k]); };
      if (workers_ && round.size() > 1) {
        workers_->run(round.size(), work);
      } else {
        for (std::size_t k = 0; k < round.size(); ++k) work(0, k);
      }
      for (const Cut& done : round) merge(done);
      control_.check();
    }
  }

  const NumberProblem& p_;
  const NumberOptions& o_;
  Control& control_;
  const Shape goal_;
  Plan plan_;
  double value_ = kUnbounded, most_ = kUnbounded, bound_ = 0, offset_ = 0, tolerance_ = 0;
  NumberResult result_;

 private:
  bool improve() { return finder_->run(p_.leaf_price + tolerance_, &beside_.shared); }
  void conclude(bool complete);

  std::unique_ptr<Workers> workers_;
  RealStory story_;
  std::unique_ptr<NumberRows> rows_;
  std::unique_ptr<NumberAnytime> finder_;
  NumberBeside beside_;
};

std::unique_ptr<NumberRoot> make_scan_root(const NumberProblem& problem,
                                           const NumberOptions& options, Control& control);
std::unique_ptr<NumberRoot> make_vector_root(const NumberProblem& problem,
                                             const NumberOptions& options, Control& control);
// The plan of a search by scans as one without stumps.
Plan whole_plan(const NumberProblem& problem, const Plan& plan);

}  // namespace odt
