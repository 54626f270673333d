// The scan over general losses: every row has a vector of losses, one per label. Included by one
// file per instruction set (see kernel_generic.hpp); GNU vector types let one source serve all of
// them.
//
// Rows have kinds, few vectors are distinct: `table` holds one per kind, padded to `lanes` with the
// row's worst loss. The padding never is the least lane, and its sums are what the deletion bound
// needs.
#pragma once

#include <type_traits>
#include <utility>

#include "kernel_generic.hpp"

namespace {

template <class T, int Bytes>
struct Lanes {
  typedef T Vector __attribute__((vector_size(Bytes), aligned(Bytes), may_alias));
  static constexpr int kCount = Bytes / static_cast<int>(sizeof(T));

  static Vector load(const T* p) { return *reinterpret_cast<const Vector*>(p); }
  static void store(T* p, Vector v) { *reinterpret_cast<Vector*>(p) = v; }
  static Vector least(Vector a, Vector b) { return a < b ? a : b; }
  static T least_lane(Vector v) {
    return folded<kCount / 2>(v, std::make_index_sequence<kCount>{})[0];
  }

 private:
  // Indices as constants: a loop that fills them is not seen through.
  template <int Step, size_t... I>
  static Vector folded(Vector v, std::index_sequence<I...> lanes) {
    if constexpr (Step == 0) {
      return v;
    } else {
#if defined(__clang__)
      v = least(v, __builtin_shufflevector(v, v, (static_cast<int>(I) ^ Step)...));
#else
      using Index = decltype(v < v);
      v = least(v, __builtin_shuffle(v, Index{(static_cast<int>(I) ^ Step)...}));
#endif
      return folded<Step / 2>(v, lanes);
    }
  }
};

// N vectors a row; 0: as many as the scan says, with sums kept in memory.
template <class T, int Bytes, int N>
class LabelKernel {
  using L = Lanes<T, Bytes>;
  using V = typename L::Vector;
  static constexpr size_t kLocal = N > 0 ? N : 1;

  struct Sums {
    alignas(64) V local[kLocal];
    V* at;
    explicit Sums(T* spare) : at(N > 0 ? local : reinterpret_cast<V*>(spare)) {}
  };
  // What is lost if prefix and suffix of one side each get their best label.
  struct Ends {
    T head, tail;
  };

  const odt::LabelScan<T>& s_;
  const int n_;
  const size_t lanes_;

  const T* row(size_t i) const { return s_.table + static_cast<size_t>(s_.kind[i]) * lanes_; }
  int vectors() const { return N > 0 ? N : n_; }

  void add_rows(V* sum, size_t w, uint64_t bits) const {
    for (; bits; bits &= bits - 1) {
      const T* from = row(w * 64 + static_cast<size_t>(__builtin_ctzll(bits)));
      for (int r = 0; r < vectors(); ++r) sum[r] += L::load(from + r * L::kCount);
    }
  }
  Ends ends_of(const V* before, const T* total) const {
    V head = before[0], tail = L::load(total) - before[0];
    for (int r = 1; r < vectors(); ++r) {
      head = L::least(head, before[r]);
      tail = L::least(tail, L::load(total + r * L::kCount) - before[r]);
    }
    return {L::least_lane(head), L::least_lane(tail)};
  }
  static T smaller_of(T a, T b) { return a < b ? a : b; }
  static T larger_of(T a, T b) { return a > b ? a : b; }

  // Least loss of a cut of one side inside a block if it is below `best`; else a lower bound.
  T open(size_t w, uint64_t side, uint64_t ends, const T* before, const T* total, T best) const {
    Sums sums(s_.spare);
    for (int r = 0; r < vectors(); ++r) sums.at[r] = L::load(before + r * L::kCount);
    T floor = best;
    uint64_t seen = 0;
    bool moved = true;
    while (ends) {
      const uint64_t upto = ends ^ (ends - 1), rows = side & upto & ~seen;
      ends &= ends - 1;
      seen = upto;
      add_rows(sums.at, w, rows);
      if (rows == 0 && !moved)
        continue;  // the same cut as the last one, as far as this side's rows go
      moved = false;
      const Ends e = ends_of(sums.at, total);
      floor = smaller_of(floor, e.head + e.tail);
    }
    return floor;
  }

 public:
  explicit LabelKernel(const odt::LabelScan<T>& s)
      : s_(s),
        n_(static_cast<int>(s.lanes) / L::kCount),
        lanes_(N > 0 ? static_cast<size_t>(N) * L::kCount : s.lanes) {}

  // Sums of each block of 64 rows.
  static void blocks(const odt::LabelScan<T>& s, T* out) {
    const LabelKernel k(s);
    for (size_t w = 0; w < s.words; ++w) {
      V* sum = reinterpret_cast<V*>(out + w * k.lanes_);
      for (int r = 0; r < k.vectors(); ++r) sum[r] = V{};
      Sums sums(s.spare);
      for (int r = 0; r < k.vectors(); ++r) sums.at[r] = V{};
      k.add_rows(sums.at, w, valid(s.rows, w));
      for (int r = 0; r < k.vectors(); ++r) sum[r] = sums.at[r];
    }
  }

  void scan(odt::LabelLoss<T>& loss) const {
    // Per block boundary: sums of both sides; behind them, per boundary, the ends of both.
    T* const sums = s_.scratch;
    T* const bounds = sums + (s_.words + 1) * 2 * lanes_;
    Sums left(s_.spare), right(s_.spare + lanes_), part(s_.spare + 2 * lanes_);
    for (int r = 0; r < vectors(); ++r) left.at[r] = right.at[r] = V{};
    for (size_t w = 0; w <= s_.words; ++w) {
      T* at = sums + w * 2 * lanes_;
      for (int r = 0; r < vectors(); ++r) {
        L::store(at + r * L::kCount, left.at[r]);
        L::store(at + lanes_ + r * L::kCount, right.at[r]);
      }
      const Ends l = ends_of(left.at, s_.left_total), r = ends_of(right.at, s_.right_total);
      T* b = bounds + 4 * w;
      b[0] = l.head;
      b[1] = l.tail;
      b[2] = r.head;
      b[3] = r.tail;
      if (w == s_.words) break;
      add_block(w, left.at, right.at, part.at);
    }
    T left_floor = s_.none, right_floor = s_.none;
    for (size_t w = 0; w < s_.words; ++w) {
      const uint64_t v = valid(s_.rows, w), left_ends = s_.ends[0][w], right_ends = s_.ends[1][w];
      const T* at = sums + w * 2 * lanes_;
      if (left_ends)
        side(w, s_.left[w] & v, left_ends, at, bounds + 4 * w, s_.left_total, loss.left, left_floor,
             loss.opened);
      if (right_ends)
        side(w, v & ~s_.left[w], right_ends, at + lanes_, bounds + 4 * w + 2, s_.right_total,
             loss.right, right_floor, loss.opened);
    }
    loss.left_floor = left_floor;
    loss.right_floor = right_floor;
  }

 private:
  // Row by row on the side with fewer rows; the other one is the rest of the block.
  void add_block(size_t w, V* left, V* right, V* part) const {
    const uint64_t v = valid(s_.rows, w), l = s_.left[w] & v, r = v & ~l;
    const bool few_left = __builtin_popcountll(l) <= __builtin_popcountll(r);
    for (int i = 0; i < vectors(); ++i) part[i] = V{};
    add_rows(part, w, few_left ? l : r);
    const T* block = s_.block_sum + w * lanes_;
    for (int i = 0; i < vectors(); ++i) {
      const V rest = L::load(block + i * L::kCount) - part[i];
      left[i] += few_left ? part[i] : rest;
      right[i] += few_left ? rest : part[i];
    }
  }

  // Two bounds on a cut inside the block: its rows in neither part, or in both.
  void side(size_t w, uint64_t rows, uint64_t ends, const T* before, const T* bound, const T* total,
            T& best, T& floor, uint32_t& opened) const {
    const T worst = before[2 * lanes_ + lanes_ - 1] - before[lanes_ - 1];
    T lower = larger_of(bound[0] + bound[5], bound[4] + bound[1] - worst);
    if (lower < best) {
      lower = open(w, rows, ends, before, total, best);
      best = smaller_of(best, lower);
      ++opened;
    }
    floor = smaller_of(floor, lower);
  }
};

// Calls `use` with the kernel whose registers fit the lanes.
template <class T, class Use>
void with_label_kernel(size_t lanes, Use use) {
  switch (lanes * sizeof(T)) {
    case 16:
      return use(static_cast<LabelKernel<T, 16, 1>*>(nullptr));
    case 32:
      return use(static_cast<LabelKernel<T, 32, 1>*>(nullptr));
    case 64:
      return use(static_cast<LabelKernel<T, 64, 1>*>(nullptr));
    case 128:
      return use(static_cast<LabelKernel<T, 64, 2>*>(nullptr));
    default:
      return use(static_cast<LabelKernel<T, 64, 0>*>(nullptr));
  }
}

template <class T>
void label_blocks_generic(const odt::LabelScan<T>& scan, T* out) {
  with_label_kernel<T>(scan.lanes, [&](auto* kernel) {
    std::remove_pointer_t<decltype(kernel)>::blocks(scan, out);
  });
}

template <class T>
void label_scan_generic(const odt::LabelScan<T>& scan, odt::LabelLoss<T>& loss) {
  with_label_kernel<T>(
      scan.lanes, [&](auto* kernel) { std::remove_pointer_t<decltype(kernel)>(scan).scan(loss); });
}

}  // namespace
