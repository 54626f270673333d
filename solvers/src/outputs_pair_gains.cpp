#include "odt/outputs_pair_gains.hpp"

#include <algorithm>

#include "odt/lanes.hpp"
#include "odt/masked_sums.hpp"

namespace odt {
namespace {

enum class Beside { none, squared, any };

double most_of(const Lanes& lanes) {
  double found = lanes[0];
  for (std::size_t l = 1; l < kLanes; ++l) found = std::max(found, lanes[l]);
  return found;
}

// What an absolute loss adds: leaves with the means x and y lose no less than any tangent tells.
ODT_INLINE void tangents(const PairGainRow& in, std::size_t part, std::size_t j, const Lanes& x,
                         const Lanes& y, Lanes& low, Lanes& high) {
  low = high = Lanes{};
  for (std::size_t k = 0; k < PairMeasure::kTangents; ++k, part += 2) {
    Lanes n, s;
    load(n, in.left + part * in.stride + j);
    load(s, in.left + (part + 1) * in.stride + j);
    const Lanes a = s - x * n, b = (in.all[part + 1] - s) - y * (in.all[part] - n);
    low = a > low ? a : low;
    high = b > high ? b : high;
  }
}

// By how much both leaves hold more than is asked.
ODT_INLINE void more_than(const PairGainRow& in, const PairSize& size, std::size_t j, Lanes& low,
                          Lanes& high) {
  Lanes n;
  load(n, in.left + size.part * in.stride + j);
  low = n - size.least;
  high = in.all[size.part] - n - size.least;
}

template <Beside kBeside, bool kSized>
ODT_INLINE PairGains gain_row(const PairGainRow& in) {
  Lanes most = Lanes{} - kUnbounded, sized = most;
  for (std::size_t j = 0; j < in.stride; j += kLanes) {
    Lanes w, open;
    load(w, in.left + j);
    load(open, in.allowed + j);
    Lanes v = in.all[0] - w, rows;
    load(rows, in.left + in.rows * in.stride + j);
    w = w > in.lightest ? w : Lanes{} + in.lightest;
    v = v > in.lightest ? v : Lanes{} + in.lightest;
    const Lanes inverse = 1 / (w * v);
    Lanes low = {}, high = {};
    for (std::size_t t = 0; t < in.targets; ++t) {
      Lanes s;
      load(s, in.left + (1 + t) * in.stride + j);
      const Lanes r = in.all[1 + t] - s;
      if constexpr (kBeside != Beside::none) {
        const Lanes x = s * (v * inverse), y = r * (w * inverse);  // the means
        Lanes a = in.factor[t] * s, b = in.factor[t] * r;
        for (std::size_t m = 0; m < in.measures; ++m) {
          const std::size_t at = in.measure[m].part;
          const double scale = in.scale[m * in.targets + t];
          if constexpr (kBeside == Beside::any) {
            if (in.measure[m].signs) continue;
            if (in.measure[m].absolute) {
              Lanes lost_low, lost_high;
              tangents(in, at + 2 * PairMeasure::kTangents * t, j, x, y, lost_low, lost_high);
              low -= scale * lost_low;
              high -= scale * lost_high;
              continue;
            }
          }
          Lanes gw, gs;
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
    Lanes both = kBeside != Beside::none ? low + high : (low * v + high * w) * inverse;
    both = both - in.price + open;
    // Minus infinity where a side has no rows, else infinity. (GCC compares lane by lane for
    // masks.)
    const Lanes others = in.all[in.rows] - rows, fewer = rows < others ? rows : others,
                limit = (fewer - in.fewest) * in.heavy * 1e300;
    both = both < limit ? both : limit;
    most = both > most ? both : most;
    if constexpr (kSized) {
      for (std::size_t k = 0; k < in.sizes; ++k) {
        Lanes x, y;
        more_than(in, in.size[k], j, x, y);
        for (; in.size[k].or_next; ++k) {
          Lanes a, b;
          more_than(in, in.size[k + 1], j, a, b);
          x = a > x ? a : x;
          y = b > y ? b : y;
        }
        const Lanes held = (x < y ? x : y) * 1e300 * 1e300;
        both = both < held ? both : held;
      }
      sized = both > sized ? both : sized;
    }
    store(both, in.out + j);
  }
  const double found = most_of(most);
  return {found, kSized ? most_of(sized) : found};
}

ODT_CLONES PairGains free_gains(const PairGainRow& in) { return gain_row<Beside::none, false>(in); }
ODT_CLONES PairGains sized_gains(const PairGainRow& in) { return gain_row<Beside::none, true>(in); }
ODT_CLONES PairGains mixed_gains(const PairGainRow& in) {
  return gain_row<Beside::squared, false>(in);
}
ODT_CLONES PairGains sized_mixed_gains(const PairGainRow& in) {
  return gain_row<Beside::squared, true>(in);
}
ODT_CLONES PairGains tangent_gains(const PairGainRow& in) {
  return gain_row<Beside::any, true>(in);
}

}  // namespace

PairGains pair_gains(const PairGainRow& in, bool absolute) {
  if (in.measures > 0 && absolute) return tangent_gains(in);
  if (in.sizes > 0) return in.measures > 0 ? sized_mixed_gains(in) : sized_gains(in);
  return in.measures > 0 ? mixed_gains(in) : free_gains(in);
}

ODT_CLONES void absolute_losses(const AbsoluteRows& in, double* out) {
  const std::int64_t (*lanes)[kLanes] = lane_masks().of;
  Lanes w, s, total;
  load(w, in.left_w);
  load(s, in.left_s);
  load(total, out);
  Lanes rest = in.all_w - w;
  const Lanes y = (in.all_s - s) / (rest > in.lightest ? rest : Lanes{} + in.lightest),
              x = s / (w > in.lightest ? w : Lanes{} + in.lightest);
  for (std::size_t i = 0; i < in.rows; ++i) {
    LaneBits left;
    std::memcpy(&left, lanes[in.masks[in.row[i] * in.blocks]], sizeof left);
    const Lanes mean = (Lanes)(((LaneBits)x & left) | ((LaneBits)y & ~left)),
                away = in.part[2 * i + 1] - mean;
    total += in.part[2 * i] * (away > 0 ? away : -away);
  }
  store(total, out);
}

}  // namespace odt
