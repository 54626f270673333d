// Depth three in one sweep over pairs of tests, depth two and one from counts of pairs: members of
// BitSearch.
#pragma once

#include <algorithm>

namespace odt {

template <class T>
void BitSearch<T>::count_pairs(BitNode& view) {
  DepthThree<T>& three = view.three;
  const std::size_t per_test = view.totals.size() * view.stride;
  three.all.reserve(per_test);
  three.counts.reserve(per_test * std::max<std::size_t>(1, view.tests()));
  if (problem_.shared) three.size.reserve(view.stride * std::max<std::size_t>(1, view.tests()));
  if (problem_.apart) three.load.reserve(view.stride * std::max<std::size_t>(1, view.tests()));
  std::uint16_t* row = row_.reserve(view.words() + 1);
  view.all_rows(row);
  bit_counts(problem_.kernels, view.table(), row, three.all.data());
  for (std::size_t t = 0; t < view.tests(); ++t) {
    view.column(static_cast<int>(t), true, row);
    bit_counts(problem_.kernels, view.table(), row, three.counts.data() + t * per_test);
    if (problem_.shared)
      bit_counts(problem_.kernels, view.sizes(), row, three.size.data() + t * view.stride);
    if (problem_.apart)
      bit_counts(problem_.kernels, view.loads(), row, three.load.data() + t * view.stride);
  }
}

// What each test costs per unit of weight behind a path of this state, as the kernels read it.
template <class T>
const std::int32_t* BitSearch<T>::rates(BitNode& view, int state) {
  const auto at = view.rate_at.emplace(state, view.rate_at.size());
  if (at.second) {
    if (view.rates.size() < view.rate_at.size()) view.rates.emplace_back();
    std::int32_t* to = view.rates[at.first->second].reserve(view.stride);
    for (std::size_t j = 0; j < view.stride; ++j)
      to[j] = j < view.tests() ? static_cast<std::int32_t>(problem_.rate(state, view.ids[j])) : 0;
  }
  return view.rates[at.first->second].data();
}

// Least losses of a stump in each of the four sets, with what its test costs but without prices of
// leaves. `state`: of the paths to them.
template <class T>
void BitSearch<T>::quarter_losses(BitNode& view, const QuarterScan<T>& scan, int state,
                                  const Quarter& size, const Quarter& load, Quarter& loss) {
  if (problem_.even) {
    T best[4];
    quarters(problem_.kernels, scan, best);
    for (std::size_t q = 0; q < 4; ++q)
      loss[q] = each_ * (size[q] - best[q]) + toll(state, view.ids[0], load[q]);
    return;
  }
  if (view.rate_at.empty()) {
    std::int32_t* to = view.fixed.reserve(view.stride);
    for (std::size_t j = 0; j < view.stride; ++j)
      to[j] = j < view.tests() ? static_cast<std::int32_t>(problem_.fixed(view.ids[j])) : 0;
  }
  PaidScan<T> paid{
      scan, rates(view, state), view.fixed.data(), {}, static_cast<std::int32_t>(each_)};
  std::int32_t best[4];
  for (std::size_t q = 0; q < 4; ++q) paid.load[q] = static_cast<std::int32_t>(load[q]);
  paid_quarters(problem_.kernels, paid, best);
  for (std::size_t q = 0; q < 4; ++q) loss[q] = each_ * size[q] - best[q];
}

// Best stump on each side of every test and on all rows, leaf prices included.
template <class T>
void BitSearch<T>::stumps(BitNode& view, std::vector<Loss>& pass, std::vector<Loss>& fail,
                          Loss& whole) {
  const std::size_t n = view.tests(), classes = view.totals.size(),
                    per_test = classes * view.stride;
  std::uint16_t* all = keep_.reserve(view.words() + 1);
  view.all_rows(all);
  std::vector<T> total(classes);
  const std::vector<T> totals(view.totals.begin(), view.totals.end());
  const auto value = [&](Loss rows, Loss most_leaf, Loss stump) {
    return std::min(each_ * (rows - most_leaf) + price_, stump + 2 * price_);
  };
  pass.assign(n, 0);
  fail.assign(n, 0);
  whole = leaf_loss(view);
  Quarter best;
  for (std::size_t t = 0; t < n; ++t) {
    // b = the rows of test t within a = all rows
    std::uint16_t* row = row_.reserve(view.words() + 1);
    view.column(static_cast<int>(t), true, row);
    const T* count = view.three.counts.data() + t * per_test;
    const Loss rows = weight_of(view, t, t);
    Loss leaf = 0, other_leaf = 0;
    for (std::size_t c = 0; c < classes; ++c) {
      total[c] = count[c * view.stride + t];
      leaf = std::max<Loss>(leaf, total[c]);
      other_leaf = std::max<Loss>(other_leaf, view.totals[c] - total[c]);
    }
    const QuarterScan<T> scan{
        view.table(),  row,          view.three.all.data(), count,        view.three.all.data(),
        totals.data(), total.data(), total.data(),          totals.data()};
    const Loss others = view.weight - rows, load = load_of(view, t, t);
    quarter_losses(view, scan, after(view, t), {rows, others, 0, 0}, {load, view.load - load, 0, 0},
                   best);
    pass[t] = value(rows, leaf, best[0]);
    fail[t] = value(others, other_leaf, best[1]);
    whole = std::min(whole, each_ * (rows - leaf + others - other_leaf) + 2 * price_ +
                                toll(view.state, view.ids[t], view.load));
  }
  counters.scans += n;
}

template <class T>
void BitSearch<T>::depth_three(BitNode& view) {
  DepthThree<T>& three = view.three;
  if (three.ready) return;
  ++counters.depth_two;
  count_pairs(view);
  const std::size_t n = view.tests(), classes = view.totals.size(), stride = view.stride,
                    per_test = classes * stride;
  three.pass.assign(n, kInfinite);
  three.fail.assign(n, kInfinite);
  three.pass_test.assign(n, -1);
  three.fail_test.assign(n, -1);
  Loss whole = 0;
  const bool priced = price_ > 0 || problem_.paid;
  if (priced || n == 1) stumps(view, three.pass, three.fail, whole);
  narrow_.reserve((view.words() + 2) * stride);
  narrow_start_.resize(view.groups() + 1);
  std::vector<T> a_total(classes), b_total(classes), ab_total(classes);
  const std::vector<T> totals(view.totals.begin(), view.totals.end());
  std::uint16_t* row = row_.reserve(view.words() + 1);
  const T* all = three.all.data();
  for (std::size_t t = 0; t + 1 < n; ++t) {
    const T* own = three.counts.data() + t * per_test;
    const Loss passing = weight_of(view, t, t);
    // a: the side with fewer rows, whose table is shorter
    const bool pass = 2 * passing <= view.weight;
    std::uint16_t* keep = keep_.reserve(view.words() + 1);
    view.column(static_cast<int>(t), pass, keep);
    problem_.kernels.bit_compress(view.table(), keep, narrow_.data(), narrow_start_.data());
    const BitTable table = view.table(narrow_.data(), narrow_start_.data());
    const T* a_count = own;
    if (!pass) {
      T* rest = a_count_.reserve(per_test);
      for (std::size_t j = 0; j < per_test; ++j) rest[j] = static_cast<T>(all[j] - own[j]);
      a_count = rest;
    }
    const Loss a_rows = pass ? passing : view.weight - passing;
    for (std::size_t c = 0; c < classes; ++c)
      a_total[c] =
          static_cast<T>(pass ? own[c * stride + t] : view.totals[c] - own[c * stride + t]);
    const int behind = after(view, t);
    const Loss t_load = load_of(view, t, t), a_load = pass ? t_load : view.load - t_load;
    std::vector<Loss>& a_value = pass ? three.pass : three.fail;
    std::vector<Loss>& rest_value = pass ? three.fail : three.pass;
    std::vector<int>& a_test = pass ? three.pass_test : three.fail_test;
    std::vector<int>& rest_test = pass ? three.fail_test : three.pass_test;
    const std::size_t words = static_cast<std::size_t>(
        narrow_start_[static_cast<std::size_t>(problem_.class_start.back())]);
    for (std::size_t i = t + 1; i < n; ++i) {
      const T* b_count = three.counts.data() + i * per_test;
      for (std::size_t w = 0; w < words; ++w) row[w] = narrow_[w * stride + i];
      Loss b_rows = 0, ab_rows = 0;
      for (std::size_t c = 0; c < classes; ++c) {
        b_total[c] = b_count[c * stride + i];
        ab_total[c] = a_count[c * stride + i];
        b_rows += b_total[c];
        ab_rows += ab_total[c];
      }
      if (problem_.shared) {
        b_rows = weight_of(view, i, i);
        ab_rows = pass ? weight_of(view, t, i) : b_rows - weight_of(view, t, i);
      }
      const QuarterScan<T> scan{
          table,           row,          a_count, b_count, all, a_total.data(), b_total.data(),
          ab_total.data(), totals.data()};
      const Loss b_load = load_of(view, i, i),
                 ab_load = pass ? load_of(view, t, i) : b_load - load_of(view, t, i);
      const Quarter size = {ab_rows, a_rows - ab_rows, b_rows - ab_rows,
                            view.weight - a_rows - b_rows + ab_rows};
      const Quarter load = {ab_load, a_load - ab_load, b_load - ab_load,
                            view.load - a_load - b_load + ab_load};
      Quarter loss;
      quarter_losses(view, scan, after(behind, view, i), size, load, loss);
      if (priced) {
        Quarter most = {0, 0, 0, 0};
        for (std::size_t c = 0; c < classes; ++c) {
          const Loss ab = ab_total[c], a = a_total[c] - ab, b = b_total[c] - ab;
          most[0] = std::max(most[0], ab);
          most[1] = std::max(most[1], a);
          most[2] = std::max(most[2], b);
          most[3] = std::max(most[3], view.totals[c] - a - b - ab);
        }
        for (std::size_t q = 0; q < 4; ++q)
          loss[q] = std::min(loss[q] + 2 * price_, each_ * (size[q] - most[q]) + price_);
      }
      const auto lower = [](std::vector<Loss>& value, std::vector<int>& arg, std::size_t at, Loss x,
                            std::size_t test) {
        if (x >= value[at]) return;
        value[at] = x;
        arg[at] = static_cast<int>(test);
      };
      const int behind_i = after(view, i);
      lower(a_value, a_test, t, loss[0] + loss[1] + toll(behind, view.ids[i], a_load), i);
      lower(rest_value, rest_test, t,
            loss[2] + loss[3] + toll(behind, view.ids[i], view.load - a_load), i);
      lower(three.pass, three.pass_test, i, loss[0] + loss[2] + toll(behind_i, view.ids[t], b_load),
            t);
      lower(three.fail, three.fail_test, i,
            loss[1] + loss[3] + toll(behind_i, view.ids[t], view.load - b_load), t);
    }
    counters.scans += n - t - 1;
    control_.poll(words * stride * (n - t) / 64 +
                  1);  // as much time as the work of sorted scans with weights takes
  }
  three.ready = true;
}

template <class T>
Outcome BitSearch<T>::depth_three_outcome(BitNode& view, Loss upper) {
  depth_three(view);
  const DepthThree<T>& three = view.three;
  const auto value = [&](std::size_t t) {
    return three.pass[t] + three.fail[t] + toll(view.state, view.ids[t], view.load);
  };
  std::size_t best = 0;
  for (std::size_t t = 1; t < view.tests(); ++t)
    if (value(t) < value(best)) best = t;
  ProofLog* const log = log_;
  if (log && log->by_bits) {
    log->last = log->open(std::min(value(best), leaf_loss(view)), -1);
    log->nodes.back().sweep = true;
  } else if (log) {
    log->last = log->open(0, -1);
    for (std::size_t t = 0; t < view.tests(); ++t)
      for (const bool pass : {true, false})
        note(view, log->last, static_cast<int>(t), pass, (pass ? three.pass : three.fail)[t], -1,
             {0, 1});
  }
  Outcome out{value(best), false, {}};
  const Loss leaf = leaf_loss(view);
  if (leaf <= out.value) {
    out.value = leaf;
    out.exact = leaf < upper;
    out.plan = Plan::leaf();
    return out;
  }
  out.exact = out.value < upper;
  if (!out.exact) return out;
  const auto side = [&](int test) {
    return test < 0 ? Plan::stump() : split(view, test, Plan::stump(), Plan::stump());
  };
  out.plan =
      split(view, static_cast<int>(best), side(three.pass_test[best]), side(three.fail_test[best]));
  return out;
}

// Depth two, or one, or fewer than four leaves.
template <class T>
Outcome BitSearch<T>::depth_two(BitNode& view, Shape shape, Loss upper) {
  count_pairs(view);
  std::vector<Loss> pass, fail;
  Outcome out;
  stumps(view, pass, fail, out.value);
  out.plan = Plan::stump();
  if (shape.leaves > 2 && shape.depth > 1) {
    const std::size_t classes = view.totals.size();
    for (std::size_t t = 0; t < view.tests(); ++t) {
      const Loss rows = weight_of(view, t, t);
      Loss most = 0, most_fail = 0;
      for (std::size_t c = 0; c < classes; ++c) {
        const Loss x = view.three.counts[(t * classes + c) * view.stride + t];
        most = std::max(most, x);
        most_fail = std::max<Loss>(most_fail, view.totals[c] - x);
      }
      const Loss paid = toll(view.state, view.ids[t], view.load);
      const Loss leaf_pass = each_ * (rows - most) + price_,
                 leaf_fail = each_ * (view.weight - rows - most_fail) + price_;
      const auto offer = [&](Loss value, const Plan& a, const Plan& b) {
        if (value + paid >= out.value) return;
        out.value = value + paid;
        out.plan = split(view, static_cast<int>(t), a, b);
      };
      if (shape.leaves >= 4) offer(pass[t] + fail[t], Plan::stump(), Plan::stump());
      offer(pass[t] + leaf_fail, Plan::stump(), Plan::leaf());
      offer(leaf_pass + fail[t], Plan::leaf(), Plan::stump());
    }
  }
  out.exact = out.value < upper;
  return out;
}

template <class T>
void BitSearch<T>::sides(BitNode& view, Shape shape, Loss upper, std::vector<Loss>& pass,
                         std::vector<Loss>& fail) {
  pass.clear();
  fail.clear();
  if (view.tests() == 0) return;
  Loss whole;
  if (shape.depth == 1) {
    count_pairs(view);
    stumps(view, pass, fail, whole);
  } else if (shape.depth == 2 && shape.leaves == 4) {
    depth_three(view);
    pass = view.three.pass;
    fail = view.three.fail;
  } else {
    pass.assign(view.tests(), price_);
    fail.assign(view.tests(), price_);
    for (std::size_t t = 0; t < view.tests(); ++t) {
      const int test = static_cast<int>(t);
      pass[t] = child(view, 0, test, true, shape, upper - price_, 0).value;
      if (pass[t] + price_ < upper)
        fail[t] = child(view, 0, test, false, shape, upper - pass[t], 0).value;
    }
  }
}

}  // namespace odt
