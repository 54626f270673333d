// Trees without an error, against all trees.
#include <numeric>

#include "check.hpp"
#include "odt/dataset.hpp"
#include "odt/perfect.hpp"
#include "odt/view.hpp"
#include "random_problem.hpp"

using namespace odt;
using namespace odt_test;

namespace {

int above(const Problem& p, int feature, std::uint32_t bound, std::size_t row) {
  return feature >= 0 && p.ranks(static_cast<std::size_t>(feature))[row] >= bound ? 1 : 0;
}

template <class Tree>
auto label(const Problem& p, const Tree& stump, std::size_t row) -> decltype(stump.label[0] + 0) {
  return stump.label[above(p, stump.feature, stump.bound, row)];
}

template <class Tree>
auto label(const Problem& p, const Tree& tree, std::size_t row)
    -> decltype(tree.side[0].feature + 0) {
  return label(p, tree.side[above(p, tree.feature, tree.bound, row)], row);
}

template <class Tree>
void check_right(const Problem& p, const View& view, const Tree& tree) {
  for (std::size_t i = 0; i < view.rows(); ++i)
    CHECK(label(p, tree, view.order(0)[i]) == p.label[view.order(0)[i]]);
}

// Rows that a random tree labels, but for a few.
void planted(Random& random, Problem& p) {
  const auto cell = [&](std::size_t f, std::size_t i) { return p.ranks(f % p.features)[i]; };
  const std::uint32_t a = static_cast<std::uint32_t>(draw(random, 0, 4));
  for (std::size_t i = 0; i < p.rows; ++i)
    if (draw(random, 0, 12) > 0)
      p.label[i] = static_cast<int>((cell(0, i) > a) + (cell(1, i) > a + 1)) % p.classes;
}

void against_all_trees(int seed) {
  Random random(static_cast<unsigned>(seed));
  int found[2] = {0, 0}, missed[2] = {0, 0};
  for (int trial = 0; trial < 3000; ++trial) {
    const int features = trial % 10 == 0 ? draw(random, 9, 20) : draw(random, 1, 4);
    Problem p = random_problem(random, draw(random, 2, features > 8 ? 8 : 12), features,
                               draw(random, 2, 4), draw(random, 1, 12));
    planted(random, p);
    const Dataset data(p, choose_kernels(trial % 2 ? Isa::best : Isa::portable));
    CHECK(Perfect::suits(data));
    const Options options;
    Control control(options);
    Perfect perfect(data, control);
    View view;
    view.make_root(data, true, true);
    p.depth = 2;
    Perfect::Two two;
    const bool has_two = Oracle(p).best() == 0;
    CHECK(perfect.two(view, two) == has_two);
    if (has_two) check_right(p, view, two);
    p.depth = 3;
    std::vector<std::size_t> all(p.features);
    std::iota(all.begin(), all.end(), std::size_t{0});
    Perfect::Three three;
    const bool has_three = Oracle(p).best() == 0;
    CHECK(perfect.three(view, all, 100, three) == has_three);
    if (has_three) check_right(p, view, three);
    if (perfect.three(view, {0}, 2, three)) check_right(p, view, three);
    ++(has_two ? found : missed)[0];
    ++(has_three ? found : missed)[1];
    // A child, whose ranks are not dense, as a problem of its own.
    const std::uint32_t bound = static_cast<std::uint32_t>(draw(random, 1, 6));
    if (bound >= p.distinct[0]) continue;
    View part;
    part.make_child(view, 0, bound, trial % 3 == 0);
    std::vector<std::size_t> rows(part.rows());
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = part.order(0)[i];
    Problem own = p;
    own.rows = rows.size();
    own.rank.clear();
    for (std::size_t f = 0; f < p.features; ++f)
      for (const std::size_t i : rows) own.rank.push_back(p.ranks(f)[i]);
    for (std::size_t i = 0; i < rows.size(); ++i) own.label[i] = p.label[rows[i]];
    own.label.resize(rows.size());
    CHECK(perfect.three(part, all, 100, three) == (Oracle(own).best() == 0));
    if (perfect.three(part, all, 100, three)) check_right(p, part, three);
  }
  for (int which = 0; which < 2; ++which) CHECK(found[which] > 200 && missed[which] > 200);
}

}  // namespace

CASE(perfect_against_all_trees) {
  against_all_trees(41);
  against_all_trees(42);
}

CASE(perfect_suits_plain_errors_only) {
  Random random(43);
  const auto suits = [](const Problem& p) {
    return Perfect::suits(Dataset(p, choose_kernels(Isa::best)));
  };
  const Problem plain = random_problem(random, 10, 3, 2, 5);
  CHECK(suits(plain));
  Problem other = plain;
  other.leaf_price = 1;
  CHECK(!suits(other));
  other = plain;
  other.leaf_rows = 2;
  CHECK(!suits(other));
  other = plain;
  other.allowed = {{}, {}, std::vector<char>(other.distinct[2], 1)};
  CHECK(!suits(other));
  other = plain;
  for (std::size_t i = 0; i < other.rows; ++i) other.weight.push_back(static_cast<Loss>(i) + 1);
  CHECK(!suits(other));
  CHECK(!suits(random_problem(random, 10, 65, 2, 5)));
}
