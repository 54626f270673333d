// Every instruction set against the portable kernels, on random input.
#include <algorithm>
#include <cstring>
#include <vector>

#include "check.hpp"
#include "odt/aligned.hpp"
#include "odt/kernels.hpp"
#include "random_problem.hpp"

using namespace odt;
using odt_test::draw;
using odt_test::Random;

namespace {

std::vector<const Kernels*> variants() {
  std::vector<const Kernels*> all;
  if (kernels_avx2()) all.push_back(kernels_avx2());
  if (kernels_avx512()) all.push_back(kernels_avx512());
  return all;
}

template <class T>
void fill(Random& random, Aligned<T>& a, std::size_t count, unsigned most) {
  a.reserve(count);
  for (std::size_t i = 0; i < count; ++i) a[i] = static_cast<T>(random() % (most + 1u));
}
void fill_bits(Random& random, Aligned<std::uint64_t>& a, std::size_t count) {
  a.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    a[i] = (static_cast<std::uint64_t>(random()) << 32) ^ random();
    if (random() % 5 == 0) a[i] = 0;
    if (random() % 5 == 0) a[i] = ~0ULL;
  }
}

}  // namespace

CASE(masks_and_compression_agree) {
  Random random(1);
  const Kernels& base = kernels_portable();
  for (int trial = 0; trial < 200; ++trial) {
    const std::size_t words = static_cast<std::size_t>(draw(random, 1, 9));
    Aligned<std::uint16_t> rank, one, two;
    Aligned<std::uint32_t> rank32, one32, two32;
    Aligned<std::uint64_t> keep, a, b;
    fill(random, rank, (words + 1) * 64, trial % 2 ? 5 : 65535);
    fill(random, rank32, (words + 1) * 64, trial % 2 ? 5 : 1000000);
    fill_bits(random, keep, words);
    a.reserve((words + 1) * 16);
    b.reserve((words + 1) * 16);
    one.reserve((words + 2) * 64);
    two.reserve((words + 2) * 64);
    one32.reserve((words + 2) * 64);
    two32.reserve((words + 2) * 64);
    for (const Kernels* k : variants()) {
      for (unsigned bound : {0u, 1u, 3u, 40000u, 65535u}) {
        base.below16(rank.data(), words, static_cast<std::uint16_t>(bound), a.data());
        k->below16(rank.data(), words, static_cast<std::uint16_t>(bound), b.data());
        CHECK(std::memcmp(a.data(), b.data(), words * 8) == 0);
        base.below32(rank32.data(), words, bound, a.data());
        k->below32(rank32.data(), words, bound, b.data());
        CHECK(std::memcmp(a.data(), b.data(), words * 8) == 0);
      }
      base.changes16(rank.data(), words, a.data());
      k->changes16(rank.data(), words, b.data());
      CHECK(std::memcmp(a.data(), b.data(), words * 8) == 0);
      const std::size_t kept = base.compress16(rank.data(), words, keep.data(), one.data());
      CHECK(kept == k->compress16(rank.data(), words, keep.data(), two.data()));
      CHECK(std::memcmp(one.data(), two.data(), kept * 2) == 0);
      CHECK(kept == base.compress32(rank32.data(), words, keep.data(), one32.data()));
      CHECK(kept == k->compress32(rank32.data(), words, keep.data(), two32.data()));
      CHECK(std::memcmp(one32.data(), two32.data(), kept * 4) == 0);
      for (int stride : {1, 8, 16}) {
        const std::size_t s = static_cast<std::size_t>(stride);
        Aligned<std::uint64_t> bits;
        fill_bits(random, bits, words * s);
        base.compress_bits(bits.data(), words, stride, keep.data(), a.data());
        k->compress_bits(bits.data(), words, stride, keep.data(), b.data());
        CHECK(std::memcmp(a.data(), b.data(), words_of(kept) * s * 8) == 0);
      }
    }
  }
}

CASE(scans_agree) {
  Random random(2);
  const Kernels& base = kernels_portable();
  for (int trial = 0; trial < 600; ++trial) {
    const std::size_t rows = static_cast<std::size_t>(draw(random, 1, 1400)),
                      words = words_of(rows);
    const int classes = trial % 3 == 0 ? 2 : draw(random, 3, 16), stride = classes == 2   ? 1
                                                                           : classes <= 8 ? 8
                                                                                          : 16;
    const std::size_t s = static_cast<std::size_t>(stride);
    Aligned<std::uint64_t> left, all, bits, ends, right_ends;
    fill_bits(random, left, words);
    all.reserve(words + 8);
    for (std::size_t w = 0; w < words; ++w)
      all[w] = valid_bits(rows, w) & (trial % 4 ? ~0ULL : random());
    for (auto* side : {&ends, &right_ends}) {
      fill_bits(random, *side, words);
      (*side)[words - 1] &= low_bits(rows - 1 - (words - 1) * 64);
    }
    bits.reserve((words + 8) * s);
    std::memset(bits.data(), 0, (words + 8) * s * 8);
    std::int32_t left_total[16] = {0}, right_total[16] = {0}, left_rows = 0, counted = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      // long runs of a class make blocks that are worth opening
      const int c = (static_cast<int>(i) / draw(random, 1, 300) + (random() % 4 == 0)) % classes;
      if (!(all[i / 64] >> (i % 64) & 1)) {  // a row that does not count, whatever its class
        if (stride > 1) bits[i / 64 * s + static_cast<std::size_t>(c)] |= 1ULL << (i % 64);
        continue;
      }
      const bool is_left = left[i / 64] >> (i % 64) & 1;
      ++counted;
      left_rows += is_left;
      if (stride > 1)
        bits[i / 64 * s + static_cast<std::size_t>(c)] |= 1ULL << (i % 64);
      else if (c)
        bits[i / 64] |= 1ULL << (i % 64);
      ++(is_left ? left_total : right_total)[c];
    }
    const std::int32_t right_rows = counted - left_rows;
    Aligned<std::int32_t> scratch;
    scratch.reserve((words + 1) * (2 * s + 4));
    for (const Kernels* k : variants()) {
      if (stride == 1) {
        const TwoClassScan scan{left.data(),
                                all.data(),
                                bits.data(),
                                {ends.data(), right_ends.data()},
                                rows,
                                words,
                                left_total[1] - left_total[0],
                                right_total[1] - right_total[0]};
        TwoClassGain a{-5, 3, 0, 0, 0}, b = a;
        base.two_class(scan, a);
        k->two_class(scan, b);
        CHECK(a.left == b.left && a.right == b.right);
        CHECK(b.left_cap >= a.left || a.left == -5);
        CHECK(b.right_cap >= a.right || a.right == 3);
        // With more to beat, most blocks stay closed; what they tell is no less than the truth.
        const std::int32_t to_beat[2] = {draw(random, 0, left_rows),
                                         draw(random, 3, right_rows + 3)};
        TwoClassGain c{to_beat[0], to_beat[1], 0, 0, 0};
        k->two_class(scan, c);
        CHECK(c.left == std::max(to_beat[0], a.left));
        CHECK(c.right == std::max(to_beat[1], a.right));
        CHECK(c.left_cap >= a.left || a.left == -5);
        CHECK(c.right_cap >= a.right || a.right == 3);
      } else {
        const MultiClassScan scan{
            left.data(),   all.data(),  bits.data(), {ends.data(), right_ends.data()},
            rows,          words,       classes,     stride,
            left_total,    right_total, left_rows,   right_rows,
            scratch.data()};
        MultiClassLoss a{left_rows + 1, right_rows + 1, 0, 0, 0}, b = a;
        base.multi_class(scan, a);
        k->multi_class(scan, b);
        CHECK(a.left == b.left && a.right == b.right);
        CHECK(b.left_floor <= b.left || a.left == left_rows + 1);
        CHECK(b.right_floor <= b.right || a.right == right_rows + 1);
        // With less to beat, most blocks stay closed; what they tell is no more than the truth.
        const std::int32_t to_beat[2] = {draw(random, 0, left_rows), draw(random, 0, right_rows)};
        MultiClassLoss c{to_beat[0], to_beat[1], 0, 0, 0};
        k->multi_class(scan, c);
        CHECK(c.left == std::min(to_beat[0], a.left));
        CHECK(c.right == std::min(to_beat[1], a.right));
        CHECK(c.left_floor <= a.left || a.left == left_rows + 1);
        CHECK(c.right_floor <= a.right || a.right == right_rows + 1);
      }
    }
  }
}

namespace {

// Least loss of a cut of one side, label by label and row by row.
template <class T>
T plain_least(const LabelScan<T>& s, bool left, const T* total, T best) {
  std::vector<T> sum(s.lanes, 0);
  for (std::size_t i = 0; i < s.rows; ++i) {
    if ((s.left[i / 64] >> (i % 64) & 1) == left)
      for (std::size_t c = 0; c < s.lanes; ++c)
        sum[c] += s.table[static_cast<std::size_t>(s.kind[i]) * s.lanes + c];
    if (!(s.ends[left ? 0 : 1][i / 64] >> (i % 64) & 1)) continue;
    T low = s.none, high = s.none;
    for (std::size_t c = 0; c < s.lanes; ++c) {
      low = std::min(low, sum[c]);
      high = std::min(high, static_cast<T>(total[c] - sum[c]));
    }
    best = std::min(best, static_cast<T>(low + high));
  }
  return best;
}

template <class T>
void label_scans_agree(Random& random, T largest) {
  std::vector<const Kernels*> all = variants();
  all.push_back(&kernels_portable());
  const std::size_t rows = static_cast<std::size_t>(draw(random, 1, 700)), words = words_of(rows);
  const std::size_t labels = static_cast<std::size_t>(draw(random, 1, 40)), n = labels + 1;
  const std::size_t lanes = n <= 4   ? 4
                            : n <= 8 ? 8
                                     : (n + 15) / 16 * 16,
                    kinds = static_cast<std::size_t>(draw(random, 1, 50));
  Aligned<std::uint64_t> left, ends[2];
  Aligned<std::int32_t> kind;
  Aligned<T> table, blocks, total, scratch, spare;
  fill_bits(random, left, words);
  for (auto& side : ends) {
    fill_bits(random, side, words);
    side[words - 1] &= low_bits(rows - 1 - (words - 1) * 64);
  }
  fill(random, kind, words * 64, 0);
  for (std::size_t i = 0; i < rows; ++i)  // long runs of a kind make blocks that are worth opening
    kind[i] = static_cast<std::int32_t>((i / 90 + (random() % 4 == 0 ? random() : 0)) % kinds);
  table.reserve(kinds * lanes);
  for (std::size_t k = 0; k < kinds; ++k) {
    T worst = 0;
    for (std::size_t c = 0; c < labels; ++c)
      worst = std::max(worst, table[k * lanes + c] = static_cast<T>(
                                  random() % 4 ? random() % 1000 * largest / 1000 : 0));
    for (std::size_t c = labels; c < lanes; ++c) table[k * lanes + c] = worst;
  }
  total.reserve(2 * lanes);
  std::fill(total.data(), total.data() + 2 * lanes, T{0});
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t c = 0; c < lanes; ++c)
      total[(left[i / 64] >> (i % 64) & 1 ? 0 : lanes) + c] +=
          table[static_cast<std::size_t>(kind[i]) * lanes + c];
  LabelScan<T> s{};
  s.left = left.data();
  s.kind = kind.data();
  s.table = table.data();
  s.ends[0] = ends[0].data();
  s.ends[1] = ends[1].data();
  s.rows = rows;
  s.words = words;
  s.lanes = lanes;
  s.left_total = total.data();
  s.right_total = total.data() + lanes;
  s.scratch = scratch.reserve((words + 1) * (2 * lanes + 4));
  s.spare = spare.reserve(4 * lanes);
  s.none = static_cast<T>(1) << (8 * sizeof(T) - 3);
  T* sums = blocks.reserve(words * lanes);
  s.block_sum = sums;
  const T target[2] = {static_cast<T>(s.left_total[lanes - 1] / draw(random, 1, 3)),
                       static_cast<T>(s.right_total[lanes - 1] + 1)};
  for (const Kernels* k : all) {
    label_blocks(*k, s, sums);
    LabelLoss<T> loss{target[0], target[1], 0, 0, 0};
    label_scan(*k, s, loss);
    CHECK(loss.left == plain_least(s, true, s.left_total, target[0]));
    CHECK(loss.right == plain_least(s, false, s.right_total, target[1]));
    CHECK(loss.left_floor <= plain_least(s, true, s.left_total, s.none));
    CHECK(loss.right_floor <= plain_least(s, false, s.right_total, s.none));
  }
}

}  // namespace

CASE(label_scans_find_the_least_loss) {
  Random random(4);
  for (int trial = 0; trial < 300; ++trial) {
    label_scans_agree<std::int32_t>(random, 1000);
    label_scans_agree<std::int64_t>(random, std::int64_t{1} << 40);
  }
}

namespace {

// As plain_least, of margins.
std::int32_t plain_least(const MarginScan& s, std::size_t rows, bool left, std::int32_t best) {
  const std::size_t n = static_cast<std::size_t>(s.margins);
  std::vector<std::int32_t> sum(n, 0);
  const std::int32_t* total = left ? s.left_total : s.right_total;
  for (std::size_t i = 0; i < rows; ++i) {
    if ((s.left[i / 64] >> (i % 64) & 1) == left)
      for (std::size_t k = 0; k < n; ++k) sum[k] += s.value[k * s.stride + i];
    if (!(s.ends[left ? 0 : 1][i / 64] >> (i % 64) & 1)) continue;
    std::int32_t head = 0, tail = 0;
    for (std::size_t k = 0; k < n; ++k) {
      head = std::min(head, sum[k]);
      tail = std::min(tail, total[k] - sum[k]);
    }
    best = std::min(best, head + tail - total[n]);
  }
  return best;
}

void margin_scans_agree(Random& random) {
  std::vector<const Kernels*> all = variants();
  all.push_back(&kernels_portable());
  const std::size_t rows = static_cast<std::size_t>(draw(random, 1, 3000)), words = words_of(rows),
                    n = static_cast<std::size_t>(draw(random, 1, MarginScan::kMost)),
                    upto_words = MarginScan::upto_stride(words);
  const int largest = draw(random, 0, 3) ? (1 << 28) / static_cast<int>(rows) : 5;
  Aligned<std::uint64_t> left, ends[2];
  Aligned<std::int32_t> value;
  std::vector<std::int32_t> sums((n + 1) * upto_words), totals[2];
  fill_bits(random, left, words);
  for (auto& side : ends) {
    fill_bits(random, side, words);
    side[words - 1] &= low_bits(rows - 1 - (words - 1) * 64);
  }
  MarginScan s{};
  s.left = left.data();
  s.stride = (words + 1) * 64;
  s.upto_words = upto_words;
  s.words = words;
  s.margins = static_cast<int>(n);
  s.ends[0] = ends[0].data();
  s.ends[1] = ends[1].data();
  s.value = value.reserve(n * s.stride);
  std::fill(value.data(), value.data() + n * s.stride, 0);
  for (auto& of : totals) of.assign(n + 1, 0);
  for (std::size_t i = 0; i < rows; ++i) {  // the best label stays the same for some rows
    const std::size_t ahead = i / 150 % (n + 1);
    std::int32_t least = 0;
    for (std::size_t k = 0; k < n; ++k) {
      const int tilt = k + 1 == ahead ? -largest / 3 : ahead == 0 ? largest / 3 : 0;
      const std::int32_t v = draw(random, -largest, largest) / 2 + tilt;
      value[k * s.stride + i] = v;
      totals[left[i / 64] >> (i % 64) & 1 ? 0 : 1][k] += v;
      least = std::min(least, v);
    }
    totals[left[i / 64] >> (i % 64) & 1 ? 0 : 1][n] += least;
  }
  s.left_total = totals[0].data();
  s.right_total = totals[1].data();
  const std::int32_t part = draw(random, 1, 3),
                     target[2] = {-totals[0][n] / part, -totals[1][n] / 2 + 1};
  LabelLoss<std::int32_t> first{};
  for (const Kernels* k : all) {
    k->margin_upto(s, sums.data());
    for (std::size_t j = 0; j <= n; ++j)
      CHECK(sums[j * upto_words + words] == totals[0][j] + totals[1][j]);
    s.upto = sums.data();
    LabelLoss<std::int32_t> loss{target[0], target[1], 0, 0, 0};
    k->margin_scan(s, loss);
    CHECK(loss.left == plain_least(s, rows, true, target[0]));
    CHECK(loss.right == plain_least(s, rows, false, target[1]));
    CHECK(loss.left_floor <= plain_least(s, rows, true, MarginScan::kNone));
    CHECK(loss.right_floor <= plain_least(s, rows, false, MarginScan::kNone));
    if (k == all.front()) first = loss;
    CHECK(loss.left_floor == first.left_floor && loss.right_floor == first.right_floor);
    CHECK(loss.opened == first.opened);
  }
}

}  // namespace

CASE(margin_scans_find_the_least_loss) {
  Random random(8);
  for (int trial = 0; trial < check::trials(1000); ++trial) margin_scans_agree(random);
}

CASE(columns_count_the_best_stump) {
  Random random(5);
  std::vector<const Kernels*> all = variants();
  all.push_back(&kernels_portable());
  for (int trial = 0; trial < 300; ++trial) {
    const std::size_t rows = static_cast<std::size_t>(draw(random, 1, 500)), words = words_of(rows);
    const int classes = draw(random, 2, 16), class_stride = classes == 2   ? 1
                                                            : classes <= 8 ? 8
                                                                           : 16;
    const std::size_t tests = static_cast<std::size_t>(draw(random, 1, 20)),
                      stride = (tests + 7) / 8 * 8;
    const std::size_t cs = static_cast<std::size_t>(class_stride);
    Aligned<std::uint64_t> left, whole, columns, bits;
    Aligned<std::int64_t> counts;
    fill_bits(random, left, words);
    fill(random, columns, words * stride, 0);
    fill(random, bits, words * cs, 0);
    whole.reserve(words);
    for (std::size_t w = 0; w < words; ++w) whole[w] = ~0ULL;
    std::vector<int> label(rows);
    std::int32_t total[2][16] = {{0}, {0}}, size[2] = {0, 0};
    const auto side = [&](std::size_t i) { return left[i / 64] >> (i % 64) & 1 ? 0 : 1; };
    for (std::size_t i = 0; i < rows; ++i) {
      label[i] = draw(random, 0, classes - 1);
      const std::uint64_t bit = 1ULL << (i % 64);
      if (class_stride > 1)
        bits[i / 64 * cs + static_cast<std::size_t>(label[i])] |= bit;
      else if (label[i] == 1)
        bits[i / 64] |= bit;
      for (std::size_t j = 0; j < tests; ++j)
        if (random() % (j + 2) == 0) columns[i / 64 * stride + j] |= bit;
      ++size[side(i)];
      if (class_stride > 1)
        ++total[side(i)][label[i]];
      else
        total[side(i)][0] += label[i];
    }
    std::int32_t most[2] = {0, 0};
    const std::int32_t least = trial % 2 ? draw(random, 0, static_cast<int>(rows) / 4) : 0;
    for (int s = 0; s < 2; ++s)
      for (std::size_t j = 0; j < stride; ++j) {
        std::vector<std::int32_t> count(2 * static_cast<std::size_t>(classes), 0);
        std::int32_t pass = 0;
        for (std::size_t i = 0; i < rows; ++i)
          if (side(i) == s) {
            pass += columns[i / 64 * stride + j] >> (i % 64) & 1;
            ++count[static_cast<std::size_t>(
                label[i] + (columns[i / 64 * stride + j] >> (i % 64) & 1 ? 0 : classes))];
          }
        if (pass < least || size[s] - pass < least) continue;
        most[s] = std::max(most[s], *std::max_element(count.begin(), count.begin() + classes) +
                                        *std::max_element(count.begin() + classes, count.end()));
      }
    for (const Kernels* k : all) {
      ColumnScan s{whole.data(), columns.data(), bits.data(), words,    stride,
                   classes,      class_stride,   nullptr,     total[0], total[1],
                   size[0],      size[1],        least};
      k->column_counts(s, counts.reserve(static_cast<std::size_t>(classes) * stride));
      s.left = left.data();
      s.all = counts.data();
      ColumnBest best{0, 0};
      k->columns(s, best);
      CHECK(best.left == most[0]);
      CHECK(best.right == most[1]);
    }
  }
}

CASE(bit_tables_agree) {
  Random random(3);
  const Kernels& base = kernels_portable();
  for (int trial = 0; trial < 300; ++trial) {
    const int classes = draw(random, 1, 5);
    std::vector<std::int32_t> start{0};
    for (int c = 0; c < classes; ++c) start.push_back(start.back() + draw(random, 0, 4));
    const std::size_t words = static_cast<std::size_t>(start.back()),
                      stride = static_cast<std::size_t>(32 * draw(random, 1, 4));
    Aligned<std::uint16_t> bits, keep, one, two;
    fill(random, bits, (words + 1) * stride, 65535);
    fill(random, keep, words + 1, 65535);
    one.reserve((words + 2) * stride);
    two.reserve((words + 2) * stride);
    const std::vector<std::int64_t> weight{1, 2, 5, 1, 3};
    const std::vector<std::int32_t> groups{0, 1, 2, 3, 4, 5};
    const BitTable table{bits.data(), stride, start.data(), weight.data(), groups.data(), classes};
    const std::size_t per = static_cast<std::size_t>(classes) * stride;
    Aligned<std::int16_t> a, b, all;
    a.reserve(per);
    b.reserve(per);
    Aligned<std::int32_t> wide_a, wide_b, wide_all;
    wide_a.reserve(per);
    wide_b.reserve(per);
    for (const Kernels* k : variants()) {
      base.bit_counts16(table, keep.data(), a.data());
      k->bit_counts16(table, keep.data(), b.data());
      CHECK(std::memcmp(a.data(), b.data(), per * 2) == 0);
      base.bit_counts32(table, keep.data(), wide_a.data());
      k->bit_counts32(table, keep.data(), wide_b.data());
      CHECK(std::memcmp(wide_a.data(), wide_b.data(), per * 4) == 0);
      CHECK(std::equal(a.data(), a.data() + per, wide_a.data()));
      std::vector<std::int32_t> s1(start.size()), s2(start.size());
      base.bit_compress(table, keep.data(), one.data(), s1.data());
      k->bit_compress(table, keep.data(), two.data(), s2.data());
      CHECK(s1 == s2);
      CHECK(std::memcmp(one.data(), two.data(), static_cast<std::size_t>(s1.back()) * stride * 2) ==
            0);
      std::vector<std::int16_t> total(static_cast<std::size_t>(classes), 200),
          part(static_cast<std::size_t>(classes), 90);
      all.reserve(per);
      for (std::size_t i = 0; i < per; ++i) all[i] = 150;
      const QuarterScan<std::int16_t> scan{table,       keep.data(), a.data(),
                                           b.data(),    all.data(),  part.data(),
                                           part.data(), part.data(), total.data()};
      std::int16_t x[4], y[4];
      base.quarters16(scan, x);
      k->quarters16(scan, y);
      CHECK(std::memcmp(x, y, sizeof x) == 0);
      wide_all.reserve(per);
      std::copy(all.data(), all.data() + per, wide_all.data());
      const std::vector<std::int32_t> wide_total(total.begin(), total.end()),
          wide_part(part.begin(), part.end());
      const QuarterScan<std::int32_t> wide{table,
                                           keep.data(),
                                           wide_a.data(),
                                           wide_b.data(),
                                           wide_all.data(),
                                           wide_part.data(),
                                           wide_part.data(),
                                           wide_part.data(),
                                           wide_total.data()};
      std::int32_t z[4];
      k->quarters32(wide, z);
      CHECK(std::equal(x, x + 4, z));
      Aligned<std::int32_t> rate, fixed, none;
      for (auto* of : {&rate, &fixed, &none}) of->reserve(stride);
      for (std::size_t j = 0; j < stride; ++j) {
        rate[j] = draw(random, 0, 3);
        fixed[j] = draw(random, 0, 2);
        none[j] = 0;
      }
      const std::int32_t each = draw(random, 1, 50);
      std::int32_t paid[4], paid_base[4], paid_wide[4], free_of_cost[4];
      const auto priced = [&](auto of, const std::int32_t* r, const std::int32_t* f) {
        return PaidScan<std::remove_const_t<std::remove_pointer_t<decltype(of.a_count)>>>{
            of, r, f, {7, 0, 3, 11}, each};
      };
      base.paid_quarters16(priced(scan, rate.data(), fixed.data()), paid_base);
      k->paid_quarters16(priced(scan, rate.data(), fixed.data()), paid);
      k->paid_quarters32(priced(wide, rate.data(), fixed.data()), paid_wide);
      k->paid_quarters16(priced(scan, none.data(), none.data()), free_of_cost);
      CHECK(std::equal(paid, paid + 4, paid_base) && std::equal(paid, paid + 4, paid_wide));
      for (int q = 0; q < 4; ++q)
        CHECK(free_of_cost[q] == each * x[q] && paid[q] <= free_of_cost[q]);
    }
  }
}

// Against sums row by row: other sizes, ties, odd counts, and values up to what a chunk holds.
CASE(lanes_agree_with_sums_row_by_row) {
  Random random(9);
  std::vector<const Kernels*> all = variants();
  all.push_back(&kernels_portable());
  for (int trial = 0; trial < check::trials(400); ++trial) {
    const bool large = trial % 200 == 0;
    const std::size_t inner = large ? 8 : std::size_t{8} << draw(random, 0, 3),
                      count = static_cast<std::size_t>(draw(random, 1, static_cast<int>(inner))),
                      positions = static_cast<std::size_t>(large ? 32767 : draw(random, 1, 200));
    // As the caller does: the largest value says how long a chunk is, and all together fit.
    const int most = large ? 1 : draw(random, 1, 15);
    const int ranks = draw(random, 1, 3) == 1 ? 65535 : draw(random, 1, 40);
    LaneScan s{};
    s.positions = positions;
    s.chunk = static_cast<std::size_t>(127 / most);
    s.inner = inner;
    s.cuts = static_cast<std::size_t>(draw(random, 1, static_cast<int>(64 / inner)));
    std::vector<Aligned<std::uint16_t>> rows(count);
    std::vector<const std::uint16_t*> pointers;
    const std::size_t padded = (positions + 63) / 64 * 64;
    for (auto& row : rows) {
      fill(random, row, padded, static_cast<unsigned>(ranks));
      pointers.push_back(row.data());
    }
    Aligned<std::int8_t> value, ends;
    value.reserve(padded * inner);
    ends.reserve(padded * inner);
    const int each_end = draw(random, 1, 4);
    const bool drift = draw(random, 0, 1) == 1;  // sums that run away
    for (std::size_t i = 0; i < padded * inner; ++i) {
      const int v = draw(random, drift ? most : -most, most);
      value[i] = static_cast<std::int8_t>(i / inner < positions ? v : 0);
      ends[i] = static_cast<std::int8_t>(draw(random, 1, each_end) == 1 ? -1 : 0);
    }
    for (std::size_t c = 0; c < s.cuts; ++c) {
      s.bound[c] = static_cast<std::uint16_t>(draw(random, 0, ranks));
      s.left_total[c] = static_cast<std::int16_t>(draw(random, 0, 100));
      s.right_total[c] = static_cast<std::int16_t>(draw(random, -100, 0));
    }
    s.value = value.data();
    s.ends = ends.data();
    alignas(64) std::int16_t cap[64];
    for (auto& c : cap) c = static_cast<std::int16_t>(draw(random, 0, 1) == 1 ? 32767 : -32767);
    s.cap = cap;
    for (const Kernels* k : all) {
      Aligned<std::uint16_t> rank;
      rank.reserve((positions + 64) * inner);
      std::memset(rank.data(), 0, (positions + 64) * inner * 2);
      k->interleave16(pointers.data(), count, positions, inner, rank.data());
      s.rank = rank.data();
      LaneGains gains;
      k->lanes(s, gains);
      for (std::size_t c = 0; c < s.cuts; ++c) {
        std::int16_t most[2] = {-32767, -32767};
        for (std::size_t j = 0; j < inner; ++j) {
          most[0] = std::max(most[0], std::min(gains.left[c * inner + j], cap[j]));
          most[1] = std::max(most[1], std::min(gains.right[c * inner + j], cap[j]));
        }
        CHECK(gains.most_left[c] == most[0] && gains.most_right[c] == most[1]);
      }
      for (std::size_t c = 0; c < s.cuts; ++c)
        for (std::size_t j = 0; j < count; ++j) {
          int sum[2] = {0, 0}, gain[2] = {-1 << 30, -1 << 30};
          const int total[2] = {s.left_total[c], s.right_total[c]};
          bool any = false;
          for (std::size_t i = 0; i < positions; ++i) {
            sum[rows[j][i] < s.bound[c] ? 0 : 1] += value[i * inner + j];
            if (ends[i * inner + j] == 0) continue;
            any = true;
            for (int side = 0; side < 2; ++side)
              gain[side] =
                  std::max({gain[side], 2 * sum[side] - total[side], total[side] - 2 * sum[side]});
          }
          // Totals are arbitrary here, and only gains that fit are promised.
          if (!any || std::max(gain[0], gain[1]) > 32767) continue;
          CHECK(gains.left[c * inner + j] == gain[0]);
          CHECK(gains.right[c * inner + j] == gain[1]);
        }
    }
  }
}
