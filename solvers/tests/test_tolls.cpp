// Tests that cost something, on bit sets, against all trees. Rows weigh for costs otherwise than
// for losses, so that every part of the bounds counts somewhere.
#include <map>
#include <tuple>

#include "check.hpp"
#include "odt/dataset.hpp"
#include "odt/finish.hpp"
#include "odt/kernels.hpp"
#include "odt/root.hpp"
#include "random_problem.hpp"

using namespace odt;
using namespace odt_test;

namespace {

// Every tree within depth and leaves, tests that part nothing left out: they only cost.
class TolledOracle {
 public:
  explicit TolledOracle(const Problem& p) : p_(p), losses_(p) {}
  Loss best() {
    const int leaves = p_.leaves > 0 ? p_.leaves : 1 << p_.depth;
    return losses_.offset + best((1u << p_.rows) - 1, p_.depth, leaves, 0);
  }

 private:
  Loss leaf(unsigned rows) const {
    Loss least = kInfinite;
    for (int c = 0; c < p_.classes; ++c) {
      Loss sum = 0;
      for (std::size_t i = 0; i < p_.rows; ++i)
        if (rows >> i & 1) sum += losses_.loss(p_, i, static_cast<std::size_t>(c));
      least = std::min(least, sum);
    }
    return least + p_.leaf_price;
  }
  Loss load(unsigned rows) const {
    Loss sum = 0;
    for (std::size_t i = 0; i < p_.rows; ++i)
      if (rows >> i & 1) sum += p_.paths.weight[i];
    return sum;
  }
  Loss best(unsigned rows, int depth, int leaves, int state) {
    Loss value = leaf(rows);
    if (depth == 0 || leaves == 1) return value;
    const auto key = std::make_tuple(rows, depth, leaves, state);
    if (const auto at = known_.find(key); at != known_.end()) return at->second;
    for (std::size_t f = 0; f < p_.features; ++f)
      for (std::uint32_t cut = 0; cut + 1 < p_.distinct[f]; ++cut) {
        if (f < p_.allowed.size() && !p_.allowed[f].empty() && !p_.allowed[f][cut]) continue;
        unsigned left = 0;
        for (std::size_t i = 0; i < p_.rows; ++i)
          if ((rows >> i & 1) && p_.ranks(f)[i] <= cut) left |= 1u << i;
        if (left == 0 || left == rows) continue;
        const Loss toll = p_.toll(state, f, load(rows));
        const int next = p_.after(state, f);
        for (int l = 1; l < leaves; ++l)
          value = std::min(value, toll + best(left, depth - 1, l, next) +
                                      best(rows & ~left, depth - 1, leaves - l, next));
      }
    return known_[key] = value;
  }

  const Problem& p_;
  LossModel losses_;
  std::map<std::tuple<unsigned, int, int, int>, Loss> known_;
};

// What a column costs on a path: an amount each time, and parts that other columns need as well,
// each paid once. That comes to the same in any order, and to no more behind others.
void draw_tolls(Random& random, Problem& p) {
  p.columns = draw(random, 1, static_cast<int>(p.features));
  for (std::size_t f = 0; f < p.features; ++f) p.column.push_back(draw(random, 0, p.columns - 1));
  const std::size_t columns = static_cast<std::size_t>(p.columns);
  const int most = 1 << draw(random, 0, 5);
  const bool each_time = draw(random, 0, 2) > 0, once = draw(random, 0, 2) > 0;
  std::vector<Loss> amount(columns), parts(4);
  std::vector<int> needs(columns);
  for (std::size_t c = 0; c < columns; ++c) {
    amount[c] = each_time ? draw(random, 0, most) : 0;
    needs[c] = draw(random, 0, 15) & draw(random, 0, 15);
    p.paths.fixed.push_back(0);
  }
  if (draw(random, 0, 3) == 0) amount.assign(columns, draw(random, 0, most));
  for (Loss& part : parts) part = draw(random, 0, most);
  for (int state = 0; state < (once ? 16 : 1); ++state)
    for (std::size_t c = 0; c < columns; ++c) {
      Loss rate = amount[c];
      for (int part = 0; once && part < 4; ++part)
        if (needs[c] >> part & ~state >> part & 1) rate += parts[static_cast<std::size_t>(part)];
      p.paths.rate.push_back(rate);
      if (once) p.next.push_back(state | needs[c]);
    }
  if (draw(random, 0, 2) == 0)
    for (Loss& fixed : p.paths.fixed) fixed = draw(random, 0, most);
  const int kind = draw(random, 0, 3), unit = draw(random, 1, 3);
  for (std::size_t i = 0; i < p.rows; ++i)
    p.paths.weight.push_back(kind == 0   ? unit
                             : kind == 1 ? unit * (p.weight.empty() ? 1 : p.weight[i])
                             : kind == 2 ? draw(random, 0, 4)
                                         : (draw(random, 0, 3) ? 0 : draw(random, 1, 9)));
}

Problem tolled_problem(Random& random) {
  Problem p = random_problem(random, draw(random, 2, 11), draw(random, 1, 5), draw(random, 1, 4),
                             draw(random, 2, 3));
  p.depth = draw(random, 1, 4);
  if (draw(random, 0, 2) > 0) p.leaves = draw(random, 1, 9);
  p.leaf_price = draw(random, 0, 2) ? 0 : draw(random, 1, 5);
  const int heavy = 1 << draw(random, 0, 5);
  if (draw(random, 0, 1))
    for (std::size_t i = 0; i < p.rows; ++i) p.weight.push_back(draw(random, 0, heavy));
  if (draw(random, 0, 1))
    for (int i = 0; i < p.classes * p.classes; ++i) p.cost.push_back(draw(random, 0, heavy));
  if (draw(random, 0, 3) == 0) {
    p.allowed.resize(p.features);
    for (std::size_t f = 0; f < p.features; ++f)
      for (std::uint32_t r = 0; r < p.distinct[f]; ++r)
        p.allowed[f].push_back(static_cast<char>(draw(random, 0, 3) > 0));
  }
  draw_tolls(random, p);
  return p;
}

// On one side of a gate labels are parities of three bits, so that no tree of depth three does
// better than another, and the order of tests says nothing. Several columns are almost the gate:
// they differ by rows that weigh little for losses and much for costs, or in what they have paid
// for. One of them bounds the others closely, and only what the rows between them pay, or what the
// other path has paid, keeps the best one in.
Problem gates(Random& random) {
  Problem p;
  const std::size_t inside = 8, outside = static_cast<std::size_t>(draw(random, 1, 5));
  p.rows = inside + outside;
  p.classes = 2;
  p.depth = 4;
  p.leaves = draw(random, 0, 1) * draw(random, 8, 12);
  p.leaf_price = draw(random, 0, 1);
  const std::size_t likenesses = static_cast<std::size_t>(draw(random, 2, 4));
  p.features = likenesses + 3;
  const int heavy = draw(random, 8, 60), light = draw(random, 0, 2);
  for (std::size_t i = 0; i < p.rows; ++i) {
    const int bits = i < inside ? static_cast<int>(i) : draw(random, 0, 7);
    p.label.push_back(i < inside ? (bits ^ bits >> 1 ^ bits >> 2) & 1 : draw(random, 0, 3) == 0);
    p.weight.push_back(i < inside ? heavy : draw(random, 0, 1) ? light : draw(random, 0, heavy));
    for (std::size_t b = 0; b < 3; ++b) p.rank.push_back(bits >> b & 1);
  }
  std::vector<std::uint32_t> rank;
  std::vector<std::size_t> order(p.features);
  for (std::size_t f = 0; f < p.features; ++f) order[f] = f;
  std::shuffle(order.begin(), order.end(), random);
  const int strays = draw(random, 0, 2);
  for (std::size_t f : order) {
    const std::uint32_t in = static_cast<std::uint32_t>(draw(random, 0, 1));
    for (std::size_t i = 0; i < p.rows; ++i) {
      const bool strays_in = i >= inside && draw(random, 0, 4) < strays;
      rank.push_back(f < 3 ? p.rank[3 * i + f] : i < inside || strays_in ? in : 1 - in);
    }
  }
  p.rank = rank;
  for (std::size_t f = 0; f < p.features; ++f) {
    const auto first = p.rank.begin() + static_cast<std::ptrdiff_t>(f * p.rows);
    p.distinct.push_back(1 + *std::max_element(first, first + static_cast<std::ptrdiff_t>(p.rows)));
  }
  draw_tolls(random, p);
  for (std::size_t i = inside; i < p.rows; ++i) p.paths.weight[i] += draw(random, 0, 9);
  return p;
}

// Whether bit sets take a problem; its least value is checked.
bool solved(const Problem& p, int trial) {
  Options options;
  options.method = 2;
  options.threads = 1 + (trial % 16 == 0);
  Control control(options);
  const Dataset data(p, choose_kernels(trial % 2 ? Isa::best : Isa::portable), &control);
  Result result;
  const auto answer = prove_on_bits(data, control, result, {});
  if (!answer) return false;
  const Loss best = TolledOracle(p).best();
  CHECK(answer->complete);
  CHECK(answer->value + data.loss.offset == best);
  CHECK(answer->bound + data.loss.offset == best);
  const Finished done = finish(p, data.loss, answer->plan);
  CHECK(done.value == best);
  for (const Incumbent& i : result.timeline) CHECK(i.bound <= best && i.value >= best);
  return true;
}

}  // namespace

CASE(tolls_against_all_trees) {
  Random random(41);
  int count = 0;
  for (int trial = 0; trial < check::trials(4000); ++trial)
    count += solved(tolled_problem(random), trial);
  CHECK(count > check::trials(3000));
}

CASE(tolls_behind_gates) {
  Random random(42);
  int count = 0;
  for (int trial = 0; trial < check::trials(4000); ++trial) count += solved(gates(random), trial);
  CHECK(count > check::trials(3000));
}
