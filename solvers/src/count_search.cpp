#include "odt/count_search.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "odt/count_scan.hpp"
#include "odt/workers.hpp"

namespace odt {
namespace {

constexpr std::size_t kMostBins = 64, kMostCuts = 800, kMostKinds = 16;
constexpr std::size_t kTableCells = std::size_t{1} << 19;  // of one table: it stays in the cache
constexpr std::size_t kLeastRows = std::size_t{1} << 15;

// The best split behind two others.
struct Stump {
  Loss value = kInfinite;
  std::uint32_t code = ~0u;  // feature and cut

  void offer(Loss other, std::uint32_t other_code) {
    if (other < value || (other == value && other_code < code)) *this = {other, other_code};
  }
};
constexpr std::uint32_t code_of(std::size_t feature, std::size_t cut) {
  return static_cast<std::uint32_t>(feature << 8 | cut);
}

// A feature with cuts: rows of bin b have ranks from bounds[b - 1] to below bounds[b].
struct Binned {
  std::size_t column;
  std::vector<std::uint32_t> bounds;  // ranks below go left of the cut
  std::size_t bins() const { return bounds.size() + 1; }
  std::size_t first = 0;             // the number of its first cut, among those of all features
  std::vector<std::uint8_t> bin_of;  // per row, rows of one kind together
};

std::vector<std::uint32_t> bounds_of(const Problem& p, std::size_t f) {
  const bool all = f >= p.allowed.size() || p.allowed[f].empty();
  std::vector<std::uint32_t> found;
  for (std::uint32_t cut = 0; cut + 1 < p.distinct[f] && found.size() < kMostBins; ++cut)
    if (all || p.allowed[f][cut]) found.push_back(cut + 1);
  return found;
}

// What a prediction loses on a row: a row of each kind.
struct Kinds {
  std::size_t count;
  std::vector<Loss> loss;  // [kind * labels + label]

  explicit Kinds(const LossModel& model) {
    const std::size_t labels = static_cast<std::size_t>(model.labels);
    count = model.unit() ? labels
                         : static_cast<std::size_t>(
                               *std::max_element(model.kind_of.begin(), model.kind_of.end())) +
                               1;
    for (std::size_t k = 0; k < count; ++k)
      for (std::size_t l = 0; l < labels; ++l)
        loss.push_back(model.unit() ? model.each * (k != l) : model.wide[k * model.lanes + l]);
  }
  static std::size_t of(const Problem& p, const LossModel& model, std::size_t row) {
    return static_cast<std::size_t>(model.unit() ? p.label[row] : model.kind_of[row]);
  }
};

// ---- the search

class CountSearch {
 public:
  CountSearch(const Problem& p, const LossModel& loss, Control& control, Result& result)
      : p_(p),
        loss_(loss),
        control_(control),
        result_(result),
        kinds_(loss),
        labels_(static_cast<std::size_t>(loss.labels)),
        lanes_(labels_ + (p.leaf_rows > 1)) {}

  RootAnswer run(const RootAnswer& start) {
    answer_ = start;
    upper_ = control_.options().upper_bound >= kInfinite
                 ? kInfinite
                 : control_.options().upper_bound - loss_.offset + 1;
    answer_.bound = std::min(p_.leaf_price, best());
    try {
      bin_rows();
      count_ones();
      for (std::size_t f = 0; f < features_.size(); ++f)
        for (std::size_t g = f + 1; g < features_.size(); ++g) count_two(f, g);
      Loss exact = tell();
      if (p_.depth > 2) exact = count_threes();
      answer_.bound = std::min(exact, best());
      answer_.complete = true;
    } catch (const Stop&) {
      answer_.complete = control_.close_enough(answer_.value, answer_.bound, loss_.offset);
    }
    return answer_;
  }

 private:
  Loss best() const { return std::min(upper_, answer_.value); }
  std::size_t rows() const { return p_.rows; }

  void bin_rows() {
    std::vector<std::uint32_t> begin(kinds_.count + 1, 0), to(rows());
    for (std::size_t i = 0; i < rows(); ++i) ++begin[Kinds::of(p_, loss_, i) + 1];
    for (std::size_t k = 0; k < kinds_.count; ++k) begin[k + 1] += begin[k];
    kind_begin_ = begin;
    for (std::size_t i = 0; i < rows(); ++i) to[i] = begin[Kinds::of(p_, loss_, i)]++;
    for (std::size_t f = 0; f < p_.features; ++f) {
      Binned one{f, bounds_of(p_, f), cuts_, {}};
      if (one.bounds.empty()) continue;
      std::vector<std::uint8_t> bin(p_.distinct[f], 0);
      for (std::uint32_t rank = 0, b = 0; rank < p_.distinct[f]; ++rank) {
        while (b < one.bounds.size() && one.bounds[b] <= rank) ++b;
        bin[rank] = static_cast<std::uint8_t>(b);
      }
      one.bin_of.resize(rows());
      const std::uint32_t* rank = p_.ranks(f);
      for (std::size_t i = 0; i < rows(); ++i) one.bin_of[to[i]] = bin[rank[i]];
      cuts_ += one.bounds.size();
      features_.push_back(std::move(one));
      control_.poll(rows());
    }
    const std::size_t sides = 2 * cuts_;
    leaf_of_two_.assign(sides * sides, kInfinite);
    stump_of_two_.assign(workers(), std::vector<Stump>(sides * sides));
    leaf_of_one_.assign(sides, kInfinite);
    stump_of_one_.assign(sides, {});
    leaf_between_.assign(cuts_ * cuts_, kInfinite);
    stump_between_.assign(cuts_ * cuts_, {});
  }
  std::size_t workers() const {
    return static_cast<std::size_t>(std::max(1, control_.options().threads));
  }

  // Sides of cuts: 2 * cut, and one more for the rows above it.
  std::size_t side(std::size_t f, std::size_t cut, std::size_t above) const {
    return 2 * (features_[f].first + cut) + above;
  }
  std::size_t at(std::size_t a, std::size_t b) const {  // of two sides
    return std::min(a, b) * 2 * cuts_ + std::max(a, b);
  }
  std::size_t between(std::size_t f, std::size_t low, std::size_t high) const {
    return (features_[f].first + low) * cuts_ + features_[f].first + high;
  }

  // Sums of a table of counts [kind][cell] as losses per lane and cell.
  template <class V>
  void weigh(const std::uint32_t* counts, std::size_t cells, V* to) const {
    std::fill(to, to + lanes_ * cells, V{0});
    for (std::size_t k = 0; k < kinds_.count; ++k) {
      const std::uint32_t* of = counts + k * cells;
      for (std::size_t l = 0; l < lanes_; ++l) {
        const V each = l < labels_ ? static_cast<V>(kinds_.loss[k * labels_ + l]) : V{1};
        if (each == 0) continue;
        V* lane = to + l * cells;
        for (std::size_t c = 0; c < cells; ++c) lane[c] += each * static_cast<V>(of[c]);
      }
    }
  }

  // ---- boxes of one and two features

  // Sums over boxes of two features, with a line of zeros before each.
  struct Boxes {
    const CountSearch& of;
    std::size_t a, b;
    std::vector<Loss> sums;  // [lane][a + 1][b + 1]

    // The loss of a leaf on the bins from `a0` to below `a1`, `b0` to below `b1`.
    Loss leaf(std::size_t a0, std::size_t a1, std::size_t b0, std::size_t b1) const {
      const std::size_t line = b + 1, size = (a + 1) * line;
      const auto sum = [&](std::size_t l) {
        const Loss* s = sums.data() + l * size;
        return s[a1 * line + b1] - s[a0 * line + b1] - s[a1 * line + b0] + s[a0 * line + b0];
      };
      if (of.lanes_ > of.labels_ && sum(of.labels_) < of.p_.leaf_rows) return kInfinite;
      Loss least = sum(0);
      for (std::size_t l = 1; l < of.labels_; ++l) least = std::min(least, sum(l));
      return least + of.p_.leaf_price;
    }
  };

  Boxes boxes(const std::uint32_t* counts, std::size_t a, std::size_t b) const {
    std::vector<Loss> cell(lanes_ * a * b);
    weigh(counts, a * b, cell.data());
    Boxes made{*this, a, b, std::vector<Loss>(lanes_ * (a + 1) * (b + 1), 0)};
    for (std::size_t l = 0; l < lanes_; ++l)
      for (std::size_t i = 0; i < a; ++i)
        for (std::size_t j = 0; j < b; ++j) {
          Loss* s = made.sums.data() + l * (a + 1) * (b + 1);
          const std::size_t line = b + 1;
          s[(i + 1) * line + j + 1] = cell[(l * a + i) * b + j] + s[i * line + j + 1] +
                                      s[(i + 1) * line + j] - s[i * line + j];
        }
    return made;
  }

  void count_ones() {
    std::vector<std::uint32_t> counts;
    for (std::size_t f = 0; f < features_.size(); ++f) {
      const Binned& one = features_[f];
      const std::size_t n = one.bins();
      counts.assign(kinds_.count * n, 0);
      for (std::size_t k = 0; k < kinds_.count; ++k)
        for (std::size_t i = kind_begin_[k]; i < kind_begin_[k + 1]; ++i)
          ++counts[k * n + one.bin_of[i]];
      const Boxes sums = boxes(counts.data(), n, 1);
      const auto leaf = [&](std::size_t from, std::size_t to) { return sums.leaf(from, to, 0, 1); };
      all_ = leaf(0, n);
      for (std::size_t t = 0; t + 1 < n; ++t) {
        leaf_of_one_[side(f, t, 0)] = leaf(0, t + 1);
        leaf_of_one_[side(f, t, 1)] = leaf(t + 1, n);
        for (std::size_t u = t + 1; u + 1 < n; ++u) {
          leaf_between_[between(f, t, u)] = leaf(t + 1, u + 1);
          for (std::size_t v = t + 1; v < u; ++v)
            stump_between_[between(f, t, u)].offer(leaf(t + 1, v + 1) + leaf(v + 1, u + 1),
                                                   code_of(f, v));
        }
      }
      control_.poll(rows());
    }
    if (!features_.empty()) return;
    Loss least = kInfinite;  // nothing can be cut
    for (std::size_t l = 0; l < labels_; ++l) {
      Loss sum = p_.leaf_price;
      for (std::size_t k = 0; k < kinds_.count; ++k)
        sum +=
            kinds_.loss[k * labels_ + l] * static_cast<Loss>(kind_begin_[k + 1] - kind_begin_[k]);
      least = std::min(least, sum);
    }
    all_ = least;
  }

  void count_two(std::size_t f, std::size_t g) {
    const Binned &one = features_[f], &two = features_[g];
    const std::size_t a = one.bins(), b = two.bins();
    std::vector<std::uint32_t> counts(kinds_.count * a * b, 0);
    for (std::size_t k = 0; k < kinds_.count; ++k) {
      std::uint32_t* to = counts.data() + k * a * b;
      for (std::size_t i = kind_begin_[k]; i < kind_begin_[k + 1]; ++i)
        ++to[one.bin_of[i] * b + two.bin_of[i]];
    }
    control_.poll(rows());
    const Boxes sums = boxes(counts.data(), a, b);
    leaves_of_two(f, g, sums);
    if (p_.depth < 3) return;
    const auto straight = [&](std::size_t a0, std::size_t a1, std::size_t b0, std::size_t b1) {
      return sums.leaf(a0, a1, b0, b1);
    };
    const auto turned = [&](std::size_t a0, std::size_t a1, std::size_t b0, std::size_t b1) {
      return sums.leaf(b0, b1, a0, a1);
    };
    own_stumps(f, g, straight);
    own_stumps(g, f, turned);
    stumps_between(f, g, straight);
    stumps_between(g, f, turned);
  }

  void leaves_of_two(std::size_t f, std::size_t g, const Boxes& sums) {
    for (std::size_t t = 0; t + 1 < sums.a; ++t)
      for (std::size_t u = 0; u + 1 < sums.b; ++u)
        for (std::size_t box = 0; box < 4; ++box) {
          const bool right = box >> 1, up = box & 1;
          leaf_of_two_[at(side(f, t, right), side(g, u, up))] = sums.leaf(
              right ? t + 1 : 0, right ? sums.a : t + 1, up ? u + 1 : 0, up ? sums.b : u + 1);
        }
  }

  // In a box of f and g, the best split on f again.
  template <class Leaf>
  void own_stumps(std::size_t f, std::size_t g, const Leaf& leaf) {
    const std::size_t a = features_[f].bins(), b = features_[g].bins();
    for (std::size_t t = 0; t + 1 < a; ++t)
      for (std::size_t u = 0; u + 1 < b; ++u)
        for (std::size_t box = 0; box < 4; ++box) {
          const bool right = box >> 1, up = box & 1;
          const std::size_t from = right ? t + 1 : 0, to = right ? a : t + 1;
          const std::size_t low = up ? u + 1 : 0, high = up ? b : u + 1;
          Stump& best = stump_of_two_[0][at(side(f, t, right), side(g, u, up))];
          for (std::size_t v = from; v + 1 < to; ++v)
            best.offer(leaf(from, v + 1, low, high) + leaf(v + 1, to, low, high), code_of(f, v));
        }
  }

  // Between two cuts of f, the best split on g.
  template <class Leaf>
  void stumps_between(std::size_t f, std::size_t g, const Leaf& leaf) {
    const std::size_t a = features_[f].bins(), b = features_[g].bins();
    for (std::size_t t = 0; t + 1 < a; ++t)
      for (std::size_t u = t + 1; u + 1 < a; ++u)
        for (std::size_t v = 0; v + 1 < b; ++v)
          stump_between_[between(f, t, u)].offer(
              leaf(t + 1, u + 1, 0, v + 1) + leaf(t + 1, u + 1, v + 1, b), code_of(g, v));
  }

  // ---- boxes of three features

  // Scratch of one thread.
  struct Tables {
    std::vector<std::uint16_t> pair;
    std::vector<std::uint32_t> counts;
    std::vector<std::int64_t> wide[4], wide_work, wide_best;
    std::vector<std::int32_t> narrow[4], narrow_work, narrow_best;
  };

  bool fits32() const {
    Loss most = 2 * p_.leaf_price + static_cast<Loss>(rows());
    for (std::size_t k = 0; k < kinds_.count; ++k) {
      const Loss* of = kinds_.loss.data() + k * labels_;
      const Loss worst = *std::max_element(of, of + labels_);
      const Loss held = static_cast<Loss>(kind_begin_[k + 1] - kind_begin_[k]);
      if (held > 0 && worst > kLargest / held) return false;
      most += worst * held;
      if (most >= kLargest) return false;
    }
    return true;
  }

  Loss count_threes() {
    Workers pool(static_cast<int>(workers()));
    std::vector<Tables> tables(workers());
    const bool narrow = fits32();
    Loss exact = tell();
    for (std::size_t f = 0; f + 2 < features_.size(); ++f) {
      pool.run(features_.size() - f - 2, [&](int worker, std::size_t i) {
        const std::size_t w = static_cast<std::size_t>(worker);
        const std::size_t g = f + 1 + i;
        number_pairs(f, g, tables[w]);
        for (std::size_t h = g + 1; h < features_.size(); ++h)
          narrow ? count_three<std::int32_t>(f, g, h, tables[w], stump_of_two_[w])
                 : count_three<std::int64_t>(f, g, h, tables[w], stump_of_two_[w]);
      });
      for (std::size_t w = 1; w < workers(); ++w)
        for (std::size_t i = 0; i < stump_of_two_[0].size(); ++i)
          stump_of_two_[0][i].offer(stump_of_two_[w][i].value, stump_of_two_[w][i].code);
      exact = tell();
    }
    return exact;
  }

  // Numbers the pairs of bins of each row.
  void number_pairs(std::size_t f, std::size_t g, Tables& tables) const {
    const std::uint8_t *one = features_[f].bin_of.data(), *two = features_[g].bin_of.data();
    const std::uint32_t b = static_cast<std::uint32_t>(features_[g].bins());
    tables.pair.resize(rows());
    for (std::size_t i = 0; i < rows(); ++i)
      tables.pair[i] = static_cast<std::uint16_t>(one[i] * b + two[i]);
  }

  template <class V>
  void count_three(std::size_t f, std::size_t g, std::size_t h, Tables& tables,
                   std::vector<Stump>& found) {
    const std::size_t n[3] = {features_[f].bins(), features_[g].bins(), features_[h].bins()};
    const std::size_t cells = n[0] * n[1] * n[2];
    tables.counts.assign(kinds_.count * cells, 0);
    const std::uint8_t* third = features_[h].bin_of.data();
    const std::uint32_t c = static_cast<std::uint32_t>(n[2]);
    for (std::size_t k = 0; k < kinds_.count; ++k) {
      std::uint32_t* to = tables.counts.data() + k * cells;
      for (std::size_t i = kind_begin_[k]; i < kind_begin_[k + 1]; ++i)
        ++to[tables.pair[i] * c + third[i]];
    }
    std::vector<V>* sums = scratch<V>(tables).sums;
    for (std::size_t way = 0; way < 3; ++way) sums[way].resize(lanes_ * cells);
    weigh(tables.counts.data(), cells, sums[0].data());
    for (std::size_t l = 0; l < lanes_; ++l) add_up(sums[0].data() + l * cells, n);
    turn(sums[0].data(), n, {0, 2, 1}, sums[1].data());
    turn(sums[0].data(), n, {1, 2, 0}, sums[2].data());
    keep_best<V>(f, g, h, sums[0].data(), tables, found);
    keep_best<V>(f, h, g, sums[1].data(), tables, found);
    keep_best<V>(g, h, f, sums[2].data(), tables, found);
    control_.poll(rows() + cells);
  }

  template <class V>
  struct Scratch {
    std::vector<V>* sums;
    std::vector<V>&work, &best;
  };
  template <class V>
  static Scratch<V> scratch(Tables& t) {
    if constexpr (sizeof(V) == 4)
      return {t.narrow, t.narrow_work, t.narrow_best};
    else
      return {t.wide, t.wide_work, t.wide_best};
  }

  template <class V>
  static void add_up(V* cell, const std::size_t* n) {
    const std::size_t line = n[2], layer = n[1] * line;
    for (std::size_t i = 0; i < n[0] * n[1]; ++i)
      for (std::size_t c = 1; c < line; ++c) cell[i * line + c] += cell[i * line + c - 1];
    for (std::size_t a = 0; a < n[0]; ++a)
      for (std::size_t i = line; i < layer; ++i) cell[a * layer + i] += cell[a * layer + i - line];
    for (std::size_t i = layer; i < n[0] * layer; ++i) cell[i] += cell[i - layer];
  }

  // The same sums with the features in another order.
  template <class V>
  void turn(const V* from, const std::size_t* n, const std::size_t (&order)[3], V* to) const {
    const std::size_t step[3] = {n[1] * n[2], n[2], 1}, cells = n[0] * n[1] * n[2];
    for (std::size_t l = 0; l < lanes_; ++l)
      for (std::size_t a = 0; a < n[order[0]]; ++a)
        for (std::size_t b = 0; b < n[order[1]]; ++b)
          for (std::size_t c = 0; c < n[order[2]]; ++c)
            *to++ = from[l * cells + a * step[order[0]] + b * step[order[1]] + c * step[order[2]]];
  }

  // The best splits on the third feature behind a cut of the first and one of the second.
  template <class V>
  void keep_best(std::size_t f, std::size_t g, std::size_t h, const V* sums, Tables& tables,
                 std::vector<Stump>& found) const {
    const std::size_t a = features_[f].bins(), b = features_[g].bins(), c = features_[h].bins();
    Scratch<V> s = scratch<V>(tables);
    s.work.resize((4 * lanes_ + 2) * c);
    s.best.resize(4 * (a - 1) * (b - 1));
    const ThirdScan<V> asked{sums,          labels_,      lanes_, {a, b, c}, V(p_.leaf_rows),
                             s.work.data(), s.best.data()};
    scan(asked);
    const V* value = s.best.data();
    for (std::size_t t = 0; t + 1 < a; ++t)
      for (std::size_t u = 0; u + 1 < b; ++u)
        for (std::size_t box = 0; box < 4; ++box, ++value) {
          if (*value >= kNone<V>) continue;
          Stump& best = found[at(side(f, t, box >> 1), side(g, u, box & 1))];
          const Loss loss = static_cast<Loss>(*value) + 2 * p_.leaf_price;
          if (loss > best.value || (loss == best.value && code_of(h, 0) >= best.code)) continue;
          best.offer(loss, code_of(h, cut_of(asked, t, u, box, *value)));
        }
  }

  // ---- the best tree of what is known

  struct Part {
    Loss leaf = kInfinite;
    Stump stump;
  };

  // The rows of a side that lie on a side of a second cut; of the same feature, inside it.
  Part part(std::size_t f, std::size_t t, std::size_t above, std::size_t g, std::size_t u,
            std::size_t up) const {
    if (f != g) {
      const std::size_t i = at(side(f, t, above), side(g, u, up));
      return {leaf_of_two_[i], stump_of_two_[0][i]};
    }
    if (above == up) return {leaf_of_one_[side(f, u, up)], stump_of_one_[side(f, u, up)]};
    const std::size_t i = between(f, std::min(t, u), std::max(t, u));
    return {leaf_between_[i], stump_between_[i]};
  }

  // The best subtree of a side with so many leaves: a leaf, or a split and what stands behind it.
  struct Subtree {
    Loss value = kInfinite;
    std::size_t feature = 0, cut = 0;
    bool splits[2] = {false, false};  // its two parts
  };
  using Subtrees = std::array<Subtree, 5>;  // by leaves, from 1

  Subtrees subtrees(std::size_t f, std::size_t t, std::size_t above) const {
    Subtrees best;
    best[1].value = leaf_of_one_[side(f, t, above)];
    if (p_.depth < 2) return best;
    for (std::size_t g = 0; g < features_.size(); ++g)
      for (std::size_t u = 0; u + 1 < features_[g].bins(); ++u) {
        if (f == g && (above ? u <= t : u >= t)) continue;
        const Part parts[2] = {part(f, t, above, g, u, 0), part(f, t, above, g, u, 1)};
        for (int form = 0; form < (p_.depth < 3 ? 1 : 4); ++form) {
          const bool splits[2] = {(form & 1) != 0, (form & 2) != 0};
          Loss value = 0;
          for (std::size_t s = 0; s < 2; ++s)
            value += splits[s] ? parts[s].stump.value : parts[s].leaf;
          Subtree& of = best[static_cast<std::size_t>(2 + splits[0] + splits[1])];
          if (value < of.value) of = {value, g, u, {splits[0], splits[1]}};
        }
      }
    return best;
  }

  // Tells the best tree that is known by now; its value.
  Loss tell() {
    set_stumps_of_one();
    const int most = p_.leaves > 0 ? p_.leaves : 8;
    Loss least = all_;
    Plan plan = all_ < kInfinite ? Plan::leaf() : Plan{};
    if (most < 2) return offer(least, plan);
    std::size_t leaves = 1;
    std::size_t root[4] = {features_.size(), 0, 0, 0};  // feature, cut, leaves of both sides
    for (std::size_t f = 0; f < features_.size(); ++f)
      for (std::size_t t = 0; t + 1 < features_[f].bins(); ++t) {
        const Subtrees sides[2] = {subtrees(f, t, 0), subtrees(f, t, 1)};
        for (std::size_t l = 1; l < 5; ++l)
          for (std::size_t r = 1; r < 5 && l + r <= static_cast<std::size_t>(most); ++r) {
            const Loss value = sides[0][l].value + sides[1][r].value;
            // Of equal trees, one of the fewest leaves.
            if (value > least || (value == least && l + r >= leaves)) continue;
            least = value;
            leaves = l + r;
            root[0] = f, root[1] = t, root[2] = l, root[3] = r;
          }
      }
    if (root[0] < features_.size())
      plan = split(root[0], root[1], plan_of(root[0], root[1], 0, root[2]),
                   plan_of(root[0], root[1], 1, root[3]));
    return offer(least, plan);
  }

  void set_stumps_of_one() {
    for (std::size_t f = 0; f < features_.size() && p_.depth > 2; ++f)
      for (std::size_t t = 0; t + 1 < features_[f].bins(); ++t)
        for (std::size_t above = 0; above < 2; ++above) {
          Stump& best = stump_of_one_[side(f, t, above)];
          for (std::size_t g = 0; g < features_.size(); ++g)
            for (std::size_t u = 0; u + 1 < features_[g].bins(); ++u)
              if (f != g || (above ? u > t : u < t))
                best.offer(part(f, t, above, g, u, 0).leaf + part(f, t, above, g, u, 1).leaf,
                           code_of(g, u));
        }
  }

  Plan split(std::size_t f, std::size_t t, const Plan& left, const Plan& right) const {
    const Binned& one = features_[f];
    return Plan::split(static_cast<int>(one.column), one.bounds[t], left, right);
  }

  Plan plan_of(std::size_t f, std::size_t t, std::size_t above, std::size_t leaves) const {
    if (leaves == 1) return Plan::leaf();
    const Subtree found = subtrees(f, t, above)[leaves];
    Plan parts[2] = {Plan::leaf(), Plan::leaf()};
    for (std::size_t s = 0; s < 2; ++s) {
      if (!found.splits[s]) continue;
      const std::uint32_t code = part(f, t, above, found.feature, found.cut, s).stump.code;
      parts[s] = split(code >> 8, code & 255, Plan::leaf(), Plan::leaf());
    }
    return split(found.feature, found.cut, parts[0], parts[1]);
  }

  Loss offer(Loss value, const Plan& plan) {
    if (value < best() && !plan.empty()) {
      answer_.value = value;
      answer_.plan = plan;
      control_.incumbent(result_.timeline, value + loss_.offset, answer_.bound + loss_.offset,
                         {&answer_.plan});
    }
    return value;
  }

  const Problem& p_;
  const LossModel& loss_;
  Control& control_;
  Result& result_;
  const Kinds kinds_;
  const std::size_t labels_, lanes_;
  std::vector<std::uint32_t> kind_begin_;
  std::vector<Binned> features_;
  std::size_t cuts_ = 0;
  Loss all_ = kInfinite;
  std::vector<Loss> leaf_of_one_, leaf_of_two_, leaf_between_;
  std::vector<Stump> stump_of_one_, stump_between_;
  std::vector<std::vector<Stump>> stump_of_two_;  // per thread
  Loss upper_ = kInfinite;
  RootAnswer answer_;
};

// Whether rows are of few kinds: of one label and weight.
bool has_few_kinds(const Problem& p) {
  if (p.weight.empty()) return p.classes <= static_cast<int>(kMostKinds);
  std::set<std::pair<int, Loss>> found;
  for (std::size_t i = 0; i < p.rows && found.size() <= kMostKinds; ++i)
    found.emplace(p.label[i], p.weight[i]);
  return found.size() <= kMostKinds;
}

// A rough guess, in seconds of one thread.
double seconds_of(const Problem& p, const std::vector<std::size_t>& bins) {
  const double n = static_cast<double>(bins.size()), rows = static_cast<double>(p.rows);
  double boxes = 12 * static_cast<double>(p.classes);
  for (std::size_t i = 0; i < 3; ++i)
    boxes *= static_cast<double>(bins[std::min(i, bins.size() - 1)]);
  return 1e-9 * (p.depth < 3 ? n * n / 2 * rows : n * n * n / 6 * (1.3 * rows + boxes));
}

}  // namespace

bool suits_counts(const Problem& p, const Options& options) {
  if (options.method != 4 && (options.method != 0 || p.rows < kLeastRows)) return false;
  if (p.depth < 1 || p.depth > 3 || p.must >= 0 || !p.next.empty() || p.smallest) return false;
  if (p.classes > static_cast<int>(kMostKinds) || !p.paths.weight.empty()) return false;
  std::vector<std::size_t> bins;
  std::size_t cuts = 0;
  for (std::size_t f = 0; f < p.features; ++f) {
    const std::size_t found = bounds_of(p, f).size();
    if (found >= kMostBins || (cuts += found) > kMostCuts) return false;
    if (found > 0) bins.push_back(found + 1);
  }
  if (bins.empty()) return false;
  std::sort(bins.rbegin(), bins.rend());
  std::size_t cells = kMostKinds;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, bins.size()); ++i) cells *= bins[i];
  const std::size_t threads = static_cast<std::size_t>(std::max(1, options.threads));
  const std::size_t bytes = p.rows * (bins.size() + 4 + 2 * threads) +
                            4 * cuts * cuts * (sizeof(Loss) + threads * sizeof(Stump));
  if (cells > kTableCells || (options.memory_limit > 0 && bytes > options.memory_limit))
    return false;
  // A limit that ends the counts leaves what pairs of features show, and no bound.
  const double seconds = seconds_of(p, bins) / static_cast<double>(threads);
  return (options.time_limit < 0 || seconds < options.time_limit / 2) && has_few_kinds(p);
}

RootAnswer solve_by_counts(const Problem& problem, const LossModel& loss, Control& control,
                           Result& result, const RootAnswer& start) {
  result.method = "counts";
  return CountSearch(problem, loss, control, result).run(start);
}

}  // namespace odt
