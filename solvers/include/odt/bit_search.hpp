// Search over 0/1 tests: depth three in one sweep over pairs of tests, above it branch and bound
// with a cache.
//
// A pair of tests makes four sets of rows; the best stump of each is shared by all trees of depth
// three that test the pair in either order. So depth three costs one pass over unordered pairs, and
// the deeper levels branch on tests in the order of what depth three says of them.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "odt/bit_view.hpp"
#include "odt/control.hpp"
#include "odt/dataset.hpp"
#include "odt/plan.hpp"
#include "odt/proof_log.hpp"
#include "odt/root.hpp"
#include "odt/row_path.hpp"
#include "odt/workers.hpp"

namespace odt {

struct BitRows {
  std::vector<std::uint64_t> members;
  RowPath path;  // to them
};

class BitCache {
 public:
  struct Entry {
    Loss bound = 0;  // lower bound, or the value
    bool exact = false;
    Plan plan;
    std::int32_t node = -1;  // of the log
    RowPath path;
  };
  BitCache(const BitProblem& problem, std::size_t limit) : problem_(problem), limit_(limit) {}
  // Threads share the cache; entries are copied out.
  bool find(const BitRows& rows, const SubProblem& key, Entry& entry);
  void store(const BitRows& rows, const SubProblem& key, const Outcome& outcome, std::int32_t node);
  std::size_t size() const { return entries_.size(); }

 private:
  Entry* known(const BitRows& rows, const SubProblem& key);
  const BitProblem& problem_;
  std::size_t limit_, bytes_ = 0;
  RowCache<SubProblem, Entry> entries_;
  std::mutex mutex_;
};

// Few-valued features.
bool suits_bits(const Problem& p, const Options& options);

// T holds the weight of all rows.
template <class T>
class BitSearch {
 public:
  BitSearch(const BitProblem& problem, Control& control, BitCache& cache)
      : problem_(problem),
        price_(problem.problem.leaf_price),
        each_(problem.each),
        control_(control),
        cache_(cache),
        log_(control.log) {}

  RootAnswer run(Result& result, const RootAnswer& start);

  struct BitNode : BitView {
    DepthThree<T> three;
    // What tests cost, by state of the path, as far as it was asked for.
    std::unordered_map<int, std::size_t> rate_at;
    std::vector<Aligned<std::int32_t>> rates;
    Aligned<std::int32_t> fixed;
    // Other rows.
    void renew() {
      three.ready = false;
      rate_at.clear();
    }
  };
  // Losses of the best sub-trees of a shape on both sides of each test of a node, exact where they
  // are below `upper` together.
  void sides(BitNode& view, Shape shape, Loss upper, std::vector<Loss>& pass,
             std::vector<Loss>& fail);

  Counters counters;

 private:
  using Quarter = std::array<Loss, 4>;
  // A test at a node, with bounds on (then values of) its two sides: passing, failing.
  struct Split {
    int test;
    bool pass_first;
    Loss value[2];
    Outcome side[2];
    Loss toll;                        // what the test itself costs
    std::int32_t node[2] = {-1, -1};  // of the log
    bool solved[2] = {false, false};
  };

  // How the leaves are divided between the sides: which way, of how many.
  struct Division {
    std::size_t at, of;
  };

  void evaluate(const BitNode& view, int level, const Shape (&shapes)[2], Loss upper, Split& split);
  Outcome solve(BitNode& view, int level, Shape shape, Loss upper, Loss lower);
  Outcome child(const BitNode& view, int level, int test, bool pass, Shape shape, Loss upper,
                Loss lower);
  Outcome branch(BitNode& view, int level, Shape shape, Loss upper, Loss lower);
  Outcome depth_two(BitNode& view, Shape shape, Loss upper);
  Outcome depth_three_outcome(BitNode& view, Loss upper);
  void depth_three(BitNode& view);
  void count_pairs(BitNode& view);
  void stumps(BitNode& view, std::vector<Loss>& pass, std::vector<Loss>& fail, Loss& whole);
  const std::int32_t* rates(BitNode& view, int state);
  void quarter_losses(BitNode& view, const QuarterScan<T>& scan, int state, const Quarter& size,
                      const Quarter& load, Quarter& loss);
  Loss toll(int state, int test, Loss load) const {
    return problem_.paid ? problem_.toll(state, test, load) : 0;
  }
  int after(const BitView& view, std::size_t test) const { return after(view.state, view, test); }
  int after(int state, const BitView& view, std::size_t test) const {
    return problem_.after(state, view.ids[test]);
  }
  // What the rows that pass two local tests weigh for costs.
  Loss load_of(const BitNode& view, std::size_t s, std::size_t t) const {
    if (!problem_.paid) return 0;
    return problem_.apart ? view.three.load[s * view.stride + t]
                          : problem_.along * weight_of(view, s, t);
  }
  // Their weight.
  Loss weight_of(const BitNode& view, std::size_t s, std::size_t t) const {
    if (problem_.shared) return view.three.size[s * view.stride + t];
    Loss sum = 0;
    for (std::size_t c = 0; c < view.totals.size(); ++c)
      sum += view.three.counts[(s * view.totals.size() + c) * view.stride + t];
    return sum;
  }
  Loss least_toll(const BitView& view) const;
  Loss furthest_rate(const BitView& view) const;
  Loss leaf_loss(const BitView& view) const;
  Plan split(const BitView& view, int test, const Plan& pass, const Plan& fail) const;
  BitNode& view_at(int level);
  void raise_bound(Loss bound);
  void note(const BitView& view, std::int32_t node, int test, bool pass, Loss value,
            std::int32_t child, Division division);
  void note_points();

  const BitProblem& problem_;
  Loss price_, each_;  // of a leaf, of an error of weight one
  Control& control_;
  BitCache& cache_;
  ProofLog* log_;  // of this thread
  std::vector<std::unique_ptr<BitNode>> views_;
  std::vector<RowStep> path_;  // to the node that is being solved
  Aligned<std::uint16_t> narrow_, row_, keep_;
  Aligned<T> a_count_;
  std::vector<std::int32_t> narrow_start_;
  // At the root only:
  std::vector<std::unique_ptr<BitSearch>> helpers_;
  std::unique_ptr<Workers> workers_;
  std::size_t round_ = 1;
  Result* result_ = nullptr;
  RootAnswer answer_;
  bool gap_used_ = false;
};

}  // namespace odt

#include "odt/bit_depths.hpp"

namespace odt {

extern template class BitSearch<std::int16_t>;
extern template class BitSearch<std::int32_t>;

}  // namespace odt
