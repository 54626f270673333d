#include "diagram_last_tests.hpp"

#include <algorithm>
#include <numeric>

#include "odt/kernels.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define ODT_LAST_TESTS 1
#define ODT_LAST_TARGET __attribute__((target("avx2,popcnt")))
#endif

namespace odt {
namespace {

bool has_last_tests() {
#ifdef ODT_LAST_TESTS
  return may_use(Isa::avx2) && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
#else
  return false;
#endif
}

}  // namespace

LastTests::LastTests(const LayeredProblem& p) {
  if (!has_last_tests() || p.labels != 2 || p.rows > kMostRows) return;
  Loss sum = 0;
  Set all;
  for (std::size_t r = 0; r < p.rows; ++r) {
    const Loss by_first = p.loss[2 * r], by_second = p.loss[2 * r + 1];
    const Loss here = std::max(by_first, by_second);
    if (std::min(by_first, by_second) != 0 || here > kMostLoss || (sum += here) > kMostLoss) return;
    label.push_back(by_first == 0 ? 0 : 1);
    loss.push_back(static_cast<std::uint8_t>(here));
    all.put(r);
    if (here > 0) can_lose.put(r);
  }
  std::vector<Set> found;
  for (std::size_t f = 0; f < p.features; ++f)
    for (std::uint32_t c = 0; c + 1 < p.distinct[f]; ++c) {
      if (!p.allowed[f].empty() && !p.allowed[f][c]) continue;
      Set on_left;
      for (std::size_t r = 0; r < p.rows; ++r)
        if (p.rank[f * p.rows + r] <= c) on_left.put(r);
      const Set on_right = all.without(on_left);
      const auto known = [&](const Set& s) { return s == on_left || s == on_right; };
      if (std::any_of(found.begin(), found.end(), known)) continue;
      if (found.size() == kMost) return;
      found.push_back(on_left);
    }
  loss_left_of.resize(p.rows);
  tests.resize(p.rows);
  for (std::size_t r = 0; r < p.rows; ++r)
    for (std::size_t t = 0; t < found.size(); ++t)
      if (found[t].has(r)) {
        loss_left_of[r].at[t] = loss[r];
        tests[r] |= std::uint32_t{1} << t;
      }
  for (const Set& s : found) left.push_back(s.both(can_lose));
}

bool SharedLastTests::works(std::size_t layer) const {
  // The further up, the more sets there are below a node; the first layers have few nodes.
  const std::size_t most = layer <= 1 ? 3 : 2;
  return !choices_.empty() && below(layer) <= most;
}

SharedLastTests::SharedLastTests(const LastTests& tests, const std::vector<int>& shape)
    : t_(tests), shape_(shape), kept_(shape.size()) {
  for (const std::size_t half : {std::size_t{0}, LastTests::kMost})
    for (std::size_t t = 0; t < t_.left.size(); ++t)
      functions_.push_back(static_cast<int>(half + t));
  if (t_.works() && shape.back() <= kMostShared) list_choices({}, 0, 0);
  left_.emplace_back(choices_.size());
  std::iota(left_[0].begin(), left_[0].end(), std::uint16_t{0});
}

void SharedLastTests::clear() {
  for (auto& sets : kept_) sets.clear();
  bytes_ = 0;
}

// In the order of their places, so that none comes twice.
void SharedLastTests::list_choices(std::array<int, 3> others, int many, std::size_t from) {
  if (many + 1 == shape_.back()) {
    const bool second = many > 0 && others[many - 1] >= static_cast<int>(LastTests::kMost);
    for (int v = second ? 1 : 0; v < 2; ++v) choices_.push_back({others, v});
    return;
  }
  for (std::size_t g = from; g < functions_.size(); ++g) {
    others[many] = functions_[g];
    list_choices(others, many + 1, g + 1);
  }
}

#ifdef ODT_LAST_TESTS

namespace {

constexpr std::uint64_t kSharedPairWork = 300;  // in visits of rows
constexpr std::size_t kSharedEntryBytes = 96;   // of a table, without what it holds

using LastLanes = __m256i;

ODT_LAST_TARGET inline LastLanes last_load(const std::uint8_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const LastLanes*>(from));
}
ODT_LAST_TARGET inline void last_store(std::uint8_t* to, LastLanes v) {
  _mm256_storeu_si256(reinterpret_cast<LastLanes*>(to), v);
}
ODT_LAST_TARGET inline LastLanes last_all(int value) {
  return _mm256_set1_epi8(static_cast<char>(value));
}

// What rows lose by each function; no more than with one label. So many are of each label, and so
// many of these left of each test.
ODT_LAST_TARGET inline void lose_by_functions(LastLanes first, LastLanes second, int firsts,
                                              int seconds, std::uint8_t* to) {
  const LastLanes most = last_all(std::min(firsts, seconds)),
                  on_left = _mm256_add_epi8(first, _mm256_sub_epi8(last_all(seconds), second)),
                  on_right = _mm256_add_epi8(second, _mm256_sub_epi8(last_all(firsts), first));
  last_store(to, _mm256_min_epu8(most, on_left));
  last_store(to + LastTests::kMost, _mm256_min_epu8(most, on_right));
}

}  // namespace

// What the rows of each label can lose in all, left of each test, and left of each two.
struct SharedLastTests::Counts {
  int all[2] = {};
  Bytes left[2];
  Bytes both[2][LastTests::kMost];

  // By each function, what those on one side of a test lose; with one label.
  ODT_LAST_TARGET int side(std::size_t test, bool on_left, std::uint8_t* by_function) const {
    LastLanes here[2];
    int of[2];
    for (int k = 0; k < 2; ++k) {
      here[k] = last_load(both[k][test].at);
      of[k] = left[k].at[test];
      if (on_left) continue;
      here[k] = _mm256_sub_epi8(last_load(left[k].at), here[k]);
      of[k] = all[k] - of[k];
    }
    lose_by_functions(here[0], here[1], of[0], of[1], by_function);
    return std::min(of[0], of[1]);
  }
};

ODT_LAST_TARGET SharedLastTests::Counts SharedLastTests::count(const Set& s) const {
  Counts c;
  for (std::size_t w = 0; w < std::size(s.word); ++w)
    for (std::uint64_t bits = s.word[w]; bits; bits &= bits - 1) {
      const std::size_t r = 64 * w + static_cast<std::size_t>(__builtin_ctzll(bits));
      const std::size_t k = t_.label[r];
      const LastLanes lost = last_load(t_.loss_left_of[r].at);
      c.all[k] += t_.loss[r];
      last_store(c.left[k].at, _mm256_add_epi8(last_load(c.left[k].at), lost));
      for (std::uint32_t tests = t_.tests[r]; tests; tests &= tests - 1) {
        std::uint8_t* both = c.both[k][__builtin_ctz(tests)].at;
        last_store(both, _mm256_add_epi8(last_load(both), lost));
      }
    }
  return c;
}

int SharedLastTests::with_one_label(const Set& s) const {
  int of[2] = {};
  for (std::size_t w = 0; w < std::size(s.word); ++w)
    for (std::uint64_t bits = s.word[w]; bits; bits &= bits - 1) {
      const std::size_t r = 64 * w + static_cast<std::size_t>(__builtin_ctzll(bits));
      of[t_.label[r]] += t_.loss[r];
    }
  return std::min(of[0], of[1]);
}

// A node of the last layer, by its function.
ODT_LAST_TARGET void SharedLastTests::last(const Set& s, Bytes* lost) {
  const Counts c = count(s);
  lose_by_functions(last_load(c.left[0].at), last_load(c.left[1].at), c.all[0], c.all[1],
                    lost[0].at);
}

// A node above the last layer, by the functions of two nodes below, or of the only one, to which
// one arc of a node leads at most. They are told so far `apart`.
ODT_LAST_TARGET void SharedLastTests::pair(const Set& s, Bytes* lost, std::size_t apart) {
  const Counts c = count(s);
  const std::size_t tests = t_.left.size();
  std::uint8_t left[LastTests::kMost][kFunctions], right[LastTests::kMost][kFunctions];
  int left_ends[LastTests::kMost], right_ends[LastTests::kMost];
  for (std::size_t t = 0; t < tests; ++t) {
    left_ends[t] = c.side(t, true, left[t]);
    right_ends[t] = c.side(t, false, right[t]);
  }
  work_ += kSharedPairWork;
  if (shape_.back() == 1) {
    for (std::size_t v = 0; v < 2; ++v) {
      LastLanes least = last_all(255);
      for (std::size_t t = 0; t < tests; ++t) {
        const LastLanes l = last_load(left[t] + v * LastTests::kMost),
                        r = last_load(right[t] + v * LastTests::kMost);
        least = _mm256_min_epu8(least, _mm256_add_epi8(l, last_all(right_ends[t])));
        least = _mm256_min_epu8(least, _mm256_add_epi8(r, last_all(left_ends[t])));
      }
      last_store(lost[v * apart].at, least);
    }
    return;
  }
  for (const int g : functions_)
    for (std::size_t v = g < static_cast<int>(LastTests::kMost) ? 0 : 1; v < 2; ++v) {
      LastLanes least = last_all(255);
      for (std::size_t t = 0; t < tests; ++t) {
        const LastLanes l = last_load(left[t] + v * LastTests::kMost),
                        r = last_load(right[t] + v * LastTests::kMost);
        least = _mm256_min_epu8(least, _mm256_add_epi8(_mm256_min_epu8(last_all(left[t][g]), l),
                                                       _mm256_min_epu8(last_all(right[t][g]), r)));
      }
      last_store(lost[(2 * static_cast<std::size_t>(g) + v) * apart].at, least);
    }
}

// By each choice the least sum of what two sides lose, or of one side that alone. `pairs` has what
// sides lose by two functions, first by these. By several functions a side loses the least of any
// two, so what is known of all but the last two serves many choices in a row.
template <int Others>
ODT_LAST_TARGET void SharedLastTests::best_of_pairs(const Bytes* pairs, std::size_t sides,
                                                    const Which& which, Lost& lost) const {
  constexpr int kBefore = Others > 1 ? Others - 1 : 0;
  Bytes before[2][2 * LastTests::kMost];  // by the functions before the last two
  std::array<int, 3> of = {-1, -1, -1};
  for (std::size_t n = 0; n < which.size(); ++n) {
    const Choice& choice = choices_[which[n]];
    const auto v = static_cast<std::size_t>(choice.vector);
    if (kBefore > 0 && !std::equal(of.begin(), of.begin() + kBefore, choice.others.begin())) {
      of = choice.others;
      for (std::size_t u = 0; u < 2; ++u)
        for (std::size_t t = 0; t < sides; ++t) {
          const auto lost_by = [&](int g, std::size_t w) {
            return pairs[(2 * static_cast<std::size_t>(g) + w) * sides + t].at;
          };
          LastLanes least = last_load(lost_by(of[0], u));
          if (kBefore > 1) {
            const auto g = static_cast<std::size_t>(of[1]);
            const int both = lost_by(of[0], g / LastTests::kMost)[g % LastTests::kMost];
            least = _mm256_min_epu8(_mm256_min_epu8(least, last_load(lost_by(of[1], u))),
                                    last_all(both));
          }
          last_store(before[u][t].at, least);
        }
    }
    const auto g = static_cast<std::size_t>(Others > 0 ? choice.others[Others - 1] : 0);
    const Bytes *here = pairs + (2 * g + v) * sides, *more = before[v],
                *one = before[g / LastTests::kMost];
    const auto side = [&](std::size_t k) ODT_LAST_TARGET {
      const LastLanes by = last_load(here[k].at);
      if (kBefore == 0) return by;
      return _mm256_min_epu8(_mm256_min_epu8(by, last_load(more[k].at)),
                             last_all(one[k].at[g % LastTests::kMost]));
    };
    LastLanes least = sides == 1 ? side(0) : last_all(255);
    for (std::size_t t = 0; t + 1 < sides; t += 2)
      least = _mm256_min_epu8(least, _mm256_add_epi8(side(t), side(t + 1)));
    last_store(lost[n].at, least);
  }
}

void SharedLastTests::by_choice(const Bytes* pairs, std::size_t sides, const Which& which,
                                Lost& lost) const {
  switch (shape_.back()) {
    case 1: best_of_pairs<0>(pairs, sides, which, lost); break;
    case 2: best_of_pairs<1>(pairs, sides, which, lost); break;
    case 3: best_of_pairs<2>(pairs, sides, which, lost); break;
    default: best_of_pairs<3>(pairs, sides, which, lost);
  }
}

// A node above the last two layers: of each of these choices the best test.
ODT_LAST_TARGET void SharedLastTests::cuts(std::size_t layer, const Set& s, const Which& which,
                                           Lost& lost) {
  lost.assign(which.size(), {});
  work_ += lost.size() * t_.left.size() / 8;
  if (below(layer) == 2 && shape_[layer + 1] > 1) {  // the most frequent case
    const std::size_t sides = 2 * t_.left.size();
    pairs_.resize((shape_.back() == 1 ? 2 : 2 * kFunctions) * sides);
    for (std::size_t t = 0; t < t_.left.size(); ++t) {
      pair(s.both(t_.left[t]), &pairs_[2 * t], sides);
      pair(s.without(t_.left[t]), &pairs_[2 * t + 1], sides);
    }
    by_choice(pairs_.data(), sides, which, lost);
    return;
  }
  for (Bytes& b : lost) last_store(b.at, last_all(255));
  const bool narrows = shape_[layer + 1] == 1;
  Lost left, right;
  for (const Set& test : t_.left) {
    const Set on_left = s.both(test), on_right = s.without(test);
    spell(layer + 1, on_left, which, false, left);
    spell(layer + 1, on_right, which, false, right);
    const LastLanes left_ends = last_all(with_one_label(on_left)),
                    right_ends = last_all(with_one_label(on_right));
    for (std::size_t n = 0; n < lost.size(); ++n) {
      const LastLanes by_left = last_load(left[n].at), by_right = last_load(right[n].at);
      const LastLanes here = narrows ? _mm256_min_epu8(_mm256_add_epi8(by_left, right_ends),
                                                       _mm256_add_epi8(left_ends, by_right))
                                     : _mm256_add_epi8(by_left, by_right);
      last_store(lost[n].at, _mm256_min_epu8(last_load(lost[n].at), here));
    }
  }
}

// What is kept of the rows of a node, by these choices at least.
const SharedLastTests::Kept& SharedLastTests::kept(std::size_t layer, const Set& s,
                                                   const Which& which) {
  const auto [at, added] = kept_[layer].try_emplace(s);
  Kept& kept = at->second;
  if (added) bytes_ += kSharedEntryBytes;
  if (below(layer) < 2) {
    if (!added) return kept;
    kept.lost.resize(below(layer) == 0 || shape_.back() == 1 ? 2 : 2 * kFunctions);
    if (below(layer) == 0)
      last(s, kept.lost.data());
    else
      pair(s, kept.lost.data(), 1);
    bytes_ += kept.lost.size() * sizeof(Bytes);
    return kept;
  }
  Kept more, all;
  std::set_difference(which.begin(), which.end(), kept.which.begin(), kept.which.end(),
                      std::back_inserter(more.which));
  if (more.which.empty()) return kept;
  cuts(layer, s, more.which, more.lost);
  bytes_ += more.which.size() * (sizeof(Bytes) + sizeof(more.which[0]));
  if (kept.which.empty()) return kept = std::move(more);
  std::size_t k = 0;
  for (std::size_t n = 0; n < more.which.size(); ++n) {
    for (; k < kept.which.size() && kept.which[k] < more.which[n]; ++k) {
      all.which.push_back(kept.which[k]);
      all.lost.push_back(kept.lost[k]);
    }
    all.which.push_back(more.which[n]);
    all.lost.push_back(more.lost[n]);
  }
  all.which.insert(all.which.end(), kept.which.begin() + static_cast<std::ptrdiff_t>(k),
                   kept.which.end());
  all.lost.insert(all.lost.end(), kept.lost.begin() + static_cast<std::ptrdiff_t>(k),
                  kept.lost.end());
  return kept = std::move(all);
}

// What the rows of a node lose by each of these choices. Of the last two layers it is kept by
// functions, and only if asked to; further up, unless too much is.
ODT_LAST_TARGET void SharedLastTests::spell(std::size_t layer, const Set& s, const Which& which,
                                            bool keep, Lost& lost) {
  lost.resize(which.size());
  if (below(layer) > 1) {
    if (!keep && bytes_ > most_) {
      cuts(layer, s, which, lost);
      return;
    }
    const Kept& known = kept(layer, s, which);
    auto at = known.which.begin();
    for (std::size_t n = 0; n < which.size(); ++n) {
      at = std::lower_bound(at, known.which.end(), which[n]);
      lost[n] = known.lost[static_cast<std::size_t>(at - known.which.begin())];
    }
    return;
  }
  if (!keep) {
    one_.resize(2 * kFunctions);
    if (below(layer) == 0)
      last(s, one_.data());
    else
      pair(s, one_.data(), 1);
  }
  const Bytes* by_functions = (keep ? kept(layer, s, which).lost : one_).data();
  if (below(layer) == 1) {
    by_choice(by_functions, 1, which, lost);
    return;
  }
  const std::uint8_t* of = by_functions[0].at;
  for (std::size_t n = 0; n < which.size(); ++n) {
    const Choice& choice = choices_[which[n]];
    LastLanes least = last_load(by_functions[choice.vector].at);
    for (int k = 0; k + 1 < shape_.back(); ++k)
      least = _mm256_min_epu8(least, last_all(of[choice.others[k]]));
    last_store(lost[n].at, least);
  }
}

// Choices by which as much as `room` is lost are left out.
ODT_LAST_TARGET void SharedLastTests::add(std::size_t layer, const Set& s, Loss room) {
  Which& which = left_.back();
  if (room <= 0) which.clear();
  spell(layer, s, which, true, more_);
  work_ += which.size() / 8;
  const LastLanes most = last_all(static_cast<int>(std::min<Loss>(room - 1, 255)));
  std::size_t left = 0;
  for (std::size_t n = 0; n < which.size(); ++n) {
    const LastLanes sum = _mm256_add_epi8(last_load(sum_[n].at), last_load(more_[n].at));
    if (_mm256_testz_si256(_mm256_cmpeq_epi8(_mm256_min_epu8(sum, most), sum), last_all(255)))
      continue;
    last_store(sum_[left].at, sum);
    which[left++] = which[n];
  }
  which.resize(left);
}

#else

void SharedLastTests::add(std::size_t, const Set&, Loss) {}

#endif

}  // namespace odt
