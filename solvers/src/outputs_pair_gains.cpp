#include "odt/outputs_pair_gains.hpp"

#include "odt/masked_sums.hpp"
#include "odt/paired_lanes.hpp"

namespace odt {
namespace {

enum class Beside { none, squared, any };

// What an absolute loss adds: leaves with the means x and y lose no less than any tangent tells.
template <class L>
ODT_INLINE void tangents(const PairGainRow& in, std::size_t part, std::size_t j, const L& x,
                         const L& y, L& low, L& high) {
  low = high = L{};
  for (std::size_t k = 0; k < PairMeasure::kTangents; ++k, part += 2) {
    L n, s;
    load(n, in.left + part * in.stride + j);
    load(s, in.left + (part + 1) * in.stride + j);
    const L a = s - x * n, b = (in.all[part + 1] - s) - y * (in.all[part] - n);
    low = larger(a, low);
    high = larger(b, high);
  }
}

// By how much both leaves hold more than is asked.
template <class L>
ODT_INLINE void more_than(const PairGainRow& in, const PairSize& size, std::size_t j, L& low,
                          L& high) {
  L n;
  load(n, in.left + size.part * in.stride + j);
  low = n - size.least;
  high = in.all[size.part] - n - size.least;
}

template <class L, Beside kBeside, bool kSized>
ODT_INLINE PairGains gain_row(const PairGainRow& in) {
  L most = L{} - kUnbounded, sized = most;
  for (std::size_t j = 0; j < in.stride; j += kLanes) {
    L w, open;
    load(w, in.left + j);
    load(open, in.allowed + j);
    L v = in.all[0] - w, rows;
    load(rows, in.left + in.rows * in.stride + j);
    w = larger(w, L{} + in.lightest);
    v = larger(v, L{} + in.lightest);
    const L inverse = 1 / (w * v);
    L low = {}, high = {};
    for (std::size_t t = 0; t < in.targets; ++t) {
      L s;
      load(s, in.left + (1 + t) * in.stride + j);
      const L r = in.all[1 + t] - s;
      if constexpr (kBeside != Beside::none) {
        const L x = s * (v * inverse), y = r * (w * inverse);  // the means
        L a = in.factor[t] * s, b = in.factor[t] * r;
        for (std::size_t m = 0; m < in.measures; ++m) {
          const std::size_t at = in.measure[m].part;
          const double scale = in.scale[m * in.targets + t];
          if constexpr (kBeside == Beside::any) {
            if (in.measure[m].signs) continue;
            if (in.measure[m].absolute) {
              L lost_low, lost_high;
              tangents(in, at + 2 * PairMeasure::kTangents * t, j, x, y, lost_low, lost_high);
              low -= scale * lost_low;
              high -= scale * lost_high;
              continue;
            }
          }
          L gw, gs;
          load(gw, in.left + at * in.stride + j);
          load(gs, in.left + (at + 1 + t) * in.stride + j);
          a += scale * (2 * gs - x * gw);
          b += scale * (2 * (in.all[at + 1 + t] - gs) - y * (in.all[at] - gw));
        }
        low += x * a;
        high += y * b;
      } else {
        low += in.factor[t] * s * s;
        high += in.factor[t] * r * r;
      }
    }
    L both = kBeside != Beside::none ? low + high : (low * v + high * w) * inverse;
    both = both - in.price + open;
    // Minus infinity where a side has no rows, else infinity.
    const L others = in.all[in.rows] - rows, fewer = smaller(rows, others),
            limit = (fewer - in.fewest) * in.heavy * 1e300;
    both = smaller(both, limit);
    most = larger(both, most);
    if constexpr (kSized) {
      for (std::size_t k = 0; k < in.sizes; ++k) {
        L x, y;
        more_than(in, in.size[k], j, x, y);
        for (; in.size[k].or_next; ++k) {
          L a, b;
          more_than(in, in.size[k + 1], j, a, b);
          x = larger(a, x);
          y = larger(b, y);
        }
        both = smaller(both, smaller(x, y) * 1e300 * 1e300);
      }
      sized = larger(both, sized);
    }
    store(both, in.out + j);
  }
  const double found = largest(most);
  return {found, kSized ? largest(sized) : found};
}

ODT_VERSIONS(PairGains free_gains(const PairGainRow& in),
             return gain_row<L, Beside::none, false>(in))
ODT_VERSIONS(PairGains sized_gains(const PairGainRow& in),
             return gain_row<L, Beside::none, true>(in))
ODT_VERSIONS(PairGains mixed_gains(const PairGainRow& in),
             return gain_row<L, Beside::squared, false>(in))
ODT_VERSIONS(PairGains sized_mixed_gains(const PairGainRow& in),
             return gain_row<L, Beside::squared, true>(in))
ODT_VERSIONS(PairGains tangent_gains(const PairGainRow& in),
             return gain_row<L, Beside::any, true>(in))

template <class L>
ODT_INLINE void lose_absolutely(const AbsoluteRows& in, double* out) {
  const std::int64_t (*lanes)[kLanes] = lane_masks().of;
  L w, s, total;
  load(w, in.left_w);
  load(s, in.left_s);
  load(total, out);
  const L y = (in.all_s - s) / larger(in.all_w - w, L{} + in.lightest),
          x = s / larger(w, L{} + in.lightest);
  for (std::size_t i = 0; i < in.rows; ++i) {
    typename BitsOf<L>::type left;
    load_bits(left, lanes[in.masks[in.row[i] * in.blocks]]);
    total += in.part[2 * i] * magnitude(in.part[2 * i + 1] - choose(left, x, y));
  }
  store(total, out);
}
ODT_VERSIONS(void lose(const AbsoluteRows& in, double* out), lose_absolutely<L>(in, out))

}  // namespace

PairGains pair_gains(const PairGainRow& in, bool absolute) {
  if (in.measures > 0 && absolute) return tangent_gains(in);
  if (in.sizes > 0) return in.measures > 0 ? sized_mixed_gains(in) : sized_gains(in);
  return in.measures > 0 ? mixed_gains(in) : free_gains(in);
}

void absolute_losses(const AbsoluteRows& in, double* out) { lose(in, out); }

}  // namespace odt
