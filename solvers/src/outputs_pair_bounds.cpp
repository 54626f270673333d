// What leaves out cuts of the root: mixes of losses, tried on the sums of one cut, or on all by
// their columns before anything is summed behind them, as one pass over all three columns tells.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "odt/outputs_fronts.hpp"

namespace odt {

// Whether no tree that loses at least so much of a mix keeps the rules and loses less than `room`
// or the best known one.
bool OutputFronts::over(const OutputPairs::Mix& mix, double least, double room) const {
  const double more = least - mix_bound(mix);
  return mix.loss > 0 ? !(more < std::min(room, best - tolerance_)) : more > 0;
}

// The same of the trees behind a cut, by mixes of which all first columns are told.
bool OutputFronts::refuted_by_first(const RootCut& cut, const OutputNode& node, double room) const {
  return std::any_of(mixes_.begin(), mixes_.end(), [&](const ByFirst& one) {
    return over(one.mix, one.least[column_of(cut, node)], room);
  });
}

// The column that parts the rows as a cut of the root does.
std::size_t OutputFronts::column_of(const RootCut& cut, const OutputNode& node) const {
  const auto& columns = lane_.pairs().columns();
  const std::uint32_t f = cut.column.feature, cell = data_.cells(f)[node.of(f)[cut.place - 1]];
  const auto at = std::find_if(columns.begin(), columns.end(), [&](const auto& one) {
    return one.feature == f && one.stands && one.cell >= cell;
  });
  if (at == columns.end()) throw std::logic_error("a cut is none of the columns");
  return static_cast<std::size_t>(at - columns.begin());
}

// Tells what trees lose of the last mix by their first column, if many cuts may be left out so:
// once some are that were tried one by one.
void OutputFronts::tell_by_first(std::size_t cuts, int state) {
  constexpr std::size_t kMost = 4;
  const std::size_t columns = lane_.pairs().columns().size();
  if (12 * spread_ < columns || mixes_.size() >= kMost || 3 * cuts < columns ||
      !triples_.tells(last_mix_))
    return;
  spread_ = 0;
  const auto same = [&](const ByFirst& one) {
    return one.mix.loss == last_mix_.loss && one.mix.measure == last_mix_.measure;
  };
  if (std::none_of(mixes_.begin(), mixes_.end(), same))
    mixes_.push_back({last_mix_, triples_.least(last_mix_, state, control_)});
}

// ---- bounds on losses of some rows

// What a mix adds at most to the loss of a tree within the bounds.
double OutputFronts::mix_bound(const OutputPairs::Mix& mix) const {
  double total = 0;
  for (const Cap& cap : caps_)
    if (!mix.measure.empty()) total += mix.measure[cap.measure] * cap.at_most;
  return total;
}

double OutputFronts::least_mix(const NumberFront& front, const OutputPairs::Mix& mix) const {
  if (mix.measure.empty()) return front.least(kUnbounded);
  double least = kUnbounded;
  for (const NumberEntry& e : front.entries()) {
    double total = mix.loss * e.value;
    for (std::size_t m = 0; m < mix.measure.size(); ++m)
      total += mix.measure[m] *
               front.components(e)[static_cast<std::size_t>(model_.measures[m].component)];
    least = std::min(least, total);
  }
  return least;
}

// The best tree of both sides by their scans, and in `told_measures_` what its rows tell of
// measures; it is the answer so far if it loses less than `room` and keeps all rules.
OutputPairs::Sums OutputFronts::propose(const OutputPairs::Column& column, int state,
                                        const OutputPairs::Mix& mix,
                                        const OutputPairs::Scan scans[2], double room) {
  OutputPairs& pairs = lane_.pairs();
  OutputPairs::Sums sums;
  Plan plans[2];
  for (int s = 0; s < 2; ++s)
    plans[s] = pairs.plan_of(pairs.tree(sides_[s], state, mix, scans[s], sums));
  told_measures_ = sums.measure;
  bool open = sums.loss < std::min(best, room);
  for (const Cap& cap : caps_) open = open && sums.measure[cap.measure] <= cap.at_most;
  if (!open && !pairs.tangents()) return sums;
  const Plan plan = Plan::split(static_cast<int>(column.feature), column.bound, std::move(plans[0]),
                                std::move(plans[1]));
  std::vector<double> values;
  const std::uint64_t facts = parts_.measure(plan, data_.used, values);
  for (std::size_t m = 0; m < told_measures_.size(); ++m)
    told_measures_[m] = values[static_cast<std::size_t>(model_.measures[m].component)];
  if (!open || !model_.holds(facts, values.data())) return sums;
  best = sums.loss;
  found_(best, plan);
  return sums;
}

// Whether bounds on measures leave out trees of three levels of a node.
bool OutputFronts::bounded(const OutputAsk& ask) const {
  return ask.level == 0 && !model_.measures.empty() && model_.prices.empty();
}

// What both sides of a cut lose at least of so much of the loss and of a measure; their scans.
double OutputFronts::scan_mixed(const OutputAsk& asked, const OutputPairs::Mix& mix,
                                OutputPairs::Scan scans[2]) {
  for (int s = 0; s < 2; ++s)
    lane_.pairs().scan(sides_[s], {asked.state, asked.level}, mix, scans[s]);
  return scans[0].least + scans[1].least;
}

OutputPairs::Mix OutputFronts::mix_of(double loss, std::size_t measure, double multiple) const {
  OutputPairs::Mix mix{loss, std::vector<double>(model_.measures.size(), 0.0)};
  mix.measure[measure] = multiple;
  return mix;
}

// Whether the last mix shows that no tree behind a cut keeps the rules and loses less than `room`
// or the best known one.
bool OutputFronts::refuted(const OutputAsk& asked, double room) {
  if (last_mix_.measure.empty()) return false;
  const bool left_out = over(last_mix_, scan_mixed(asked, last_mix_, mixed_scans_), room);
  spread_ += left_out;
  return left_out;
}

// What all trees of one level on a side of a column lose at least of an absolute measure, as their
// rows tell; no less than `most`.
double OutputFronts::least_by_rows(const OutputPairs::Table& table, std::size_t column, bool low,
                                   int state, std::size_t m, const OutputPairs::Scan& scan,
                                   double most) {
  OutputPairs& pairs = lane_.pairs();
  const OutputPairs::Mix alone = mix_of(0, m, 1);
  OutputPairs::Sums made;
  made.measure.resize(model_.measures.size());
  pairs.enter(table, column, low, true, side_sums_);
  pairs.fill_rows(table, column, low, side_rows_);
  if (pairs.gain(side_sums_.all, state, alone) > -kUnbounded) {
    pairs.measure(side_sums_.all, side_rows_, made);
    most = std::min(most, made.measure[m]);
  }
  const double* gains = pairs.gains(scan, column, low);
  const double own = pairs.own(side_sums_.all, alone);
  for (std::size_t c = 0, told = 0; c < pairs.columns().size(); ++c) {
    if (!(own - gains[c] < most)) continue;
    poll(side_rows_.row.size());
    if (c >= told) told = pairs.measure(side_sums_, side_rows_, c);
    pairs.told(c, made);
    most = std::min(most, made.measure[m]);
  }
  return most;
}

// Whether the trees behind a cut of the root may keep the bound on an absolute measure, as rows
// tell. Those come first that may lose least of it.
bool OutputFronts::attained(const OutputAsk& asked, const Cap& cap) {
  OutputPairs& pairs = lane_.pairs();
  double least[2] = {alone_scans_[0].least, alone_scans_[1].least};
  std::vector<std::size_t> order(pairs.columns().size());
  for (int s = 0; s < 2; ++s) {
    const OutputPairs::Scan& scan = alone_scans_[s];
    const auto bound = [&](std::size_t c) { return scan.low[c] + scan.high[c]; };
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return bound(a) < bound(b); });
    double best = kUnbounded;
    if (pairs.leaf_holds(sides_[s].all, asked.state)) {
      OutputPairs::Sums leaf;
      leaf.measure.resize(model_.measures.size());
      pairs.fill_rows(sides_[s], OutputPairs::kAll, true, side_rows_);
      pairs.measure(sides_[s].all, side_rows_, leaf);
      best = leaf.measure[cap.measure];
    }
    for (std::size_t c : order) {
      if (!(bound(c) < best)) break;
      const int next = rules_.after(asked.state, pairs.columns()[c].feature);
      const double low =
          least_by_rows(sides_[s], c, true, next, cap.measure, scan, best - scan.high[c]);
      if (!(low + scan.high[c] < best)) continue;
      best = std::min(
          best, low + least_by_rows(sides_[s], c, false, next, cap.measure, scan, best - low));
    }
    least[s] = best;
    if (least[0] + least[1] > cap.at_most) return false;
  }
  return true;
}

// The mix of the loss and a bounded one that bounds the trees behind a cut of the root best, and
// what they lose at least by it. False where it shows that none loses less than the budget or the
// best known one.
bool OutputFronts::mixed(RootCut& cut, double budget) {
  constexpr int kTurns = 8;
  const double room = budget - cut.split.price;
  const int state = cut.asked.state;
  OutputPairs::Sums low = propose(cut.column, state, {}, scans_, room);
  const Cap* tight = nullptr;
  double most = 0;
  for (const Cap& cap : caps_) {
    const double over = (told_measures_[cap.measure] - cap.at_most) / cap.scale;
    if (over <= most) continue;
    most = over;
    tight = &cap;
  }
  if (tight == nullptr) return true;
  const std::size_t m = tight->measure;
  OutputPairs::Mix trial = mix_of(0, m, 1);
  const bool scanned = last_mix_.loss == 0 && last_mix_.measure == trial.measure;  // by refuted()
  if (scanned)
    std::swap(alone_scans_, mixed_scans_);
  else
    scan_mixed(cut.asked, trial, alone_scans_);
  if (alone_scans_[0].least + alone_scans_[1].least > tight->at_most) {
    last_mix_ = std::move(trial);
    ++spread_;
    return false;
  }
  if (lane_.pairs().absolute(m) && !(best < kUnbounded) && !attained(cut.asked, *tight)) {
    last_mix_ = std::move(trial);
    ++spread_;
    return false;
  }
  cut.tight = tight;
  OutputPairs::Sums high = propose(cut.column, state, trial, alone_scans_, room);
  if (!(low.measure[m] > tight->at_most)) return true;  // tangents tell less than rows
  for (int turn = 0; turn < kTurns; ++turn) {
    const double multiple = (high.loss - low.loss) / (low.measure[m] - high.measure[m]);
    if (!(multiple > 0) || !(multiple < kUnbounded)) return true;
    const double known = low.loss + multiple * low.measure[m];
    last_mix_ = trial = mix_of(1, m, multiple);
    const double least = scan_mixed(cut.asked, trial, mixed_scans_),
                 bound = least - mix_bound(trial);
    if (!(bound < std::min(room, best - tolerance_))) return false;
    const bool more = bound > cut.least;
    if (more) {
      cut.mix = trial;
      cut.least = bound;
      std::swap(scans_, mixed_scans_);
    }
    if (least >= known - 1e-9 * std::fabs(known)) break;
    OutputPairs::Sums one = propose(cut.column, state, trial, more ? scans_ : mixed_scans_, room);
    (one.measure[m] > tight->at_most ? low : high) = std::move(one);
  }
  return true;
}

// ---- bounds on costs of paths

// The bounds that hold alone on costs of paths. Slacks are those of components that no part of a
// tree makes less, so no step is below zero.
std::vector<OutputFronts::Toll> OutputFronts::tolls(const OutputNode& node) const {
  std::vector<Toll> found;
  for (std::size_t k = 0; k < model_.components; ++k) {
    if (!(slack_[k] < kUnbounded) || model_.path_sum[k] < 0 || model_.path_delta[k].empty())
      continue;
    Toll toll{k,          kUnbounded, kUnbounded,
              kUnbounded, 0,          std::vector<double>(data_.problem.base.rows, 0.0)};
    for (const OutputPairs::Column& one : lane_.pairs().columns()) {
      const std::size_t column = static_cast<std::size_t>(rules_.column[one.feature]);
      toll.split = std::min(toll.split, model_.split[k * model_.columns + column]);
      for (std::size_t at = column; at < rules_.next.size(); at += model_.columns)
        if (rules_.next[at] >= 0)
          toll.step = std::min(toll.step, static_cast<double>(model_.path_delta[k][at]));
    }
    if (!(toll.step < kUnbounded)) continue;
    bool alike = true;
    for (std::size_t i = 0; i < node.rows; ++i) {
      const std::uint32_t row = node.of(0)[i];
      const double weight =
          static_cast<double>(rules_.value[row * static_cast<std::size_t>(rules_.sums) +
                                           static_cast<std::size_t>(model_.path_sum[k])]);
      toll.weight[row] = weight;
      toll.lightest = std::min(toll.lightest, weight);
      if (i == 0) toll.factor = weight / data_.of(row)[kWeight];
      alike = alike && weight == toll.factor * data_.of(row)[kWeight];
    }
    if (!alike || !(toll.factor > 0)) toll.factor = 0;
    found.push_back(std::move(toll));
  }
  return found;
}

// What trees of three levels cost at least, with so many leaves on both sides of their first
// column, whose rows weigh so much each.
double OutputFronts::toll_of(const Toll& toll, const OutputPairs::Column& column,
                             const OutputTriples::Sides& weight, int state, int left,
                             int right) const {
  const std::size_t k = toll.component,
                    first = static_cast<std::size_t>(rules_.column[column.feature]);
  double total = model_.leaf[k] * (left + right) + model_.split[k * model_.columns + first] +
                 toll.split * (left + right - 2);
  total += (weight[0] + weight[1]) *
           static_cast<double>(
               model_.path_delta[k][static_cast<std::size_t>(state) * model_.columns + first]);
  const int leaves[2] = {left, right};
  for (std::size_t s = 0; s < 2; ++s) {
    if (leaves[s] > 1) total += toll.step * weight[s];
    if (leaves[s] == 3) total += toll.step * toll.lightest;
    if (leaves[s] == 4) total += toll.step * weight[s];
  }
  return total;
}

// What trees lose at least, by their first columns: of those shapes alone that bounds on costs of
// paths leave.
void OutputFronts::tell_shapes(const OutputNode& node, const OutputAsk& ask) {
  constexpr std::size_t kMost = 16;  // of a feature with more cuts, neighbours bound most
  const std::vector<Toll> asked = tolls(node);
  if (asked.empty() || !model_.prices.empty() || !triples_.tells({})) return;
  const auto& columns = lane_.pairs().columns();
  std::size_t features = 1;
  for (std::size_t c = 1; c < columns.size(); ++c)
    features += columns[c].feature != columns[c - 1].feature;
  if (columns.size() > kMost * features) return;
  const auto most = [&](const Toll& toll) {
    return slack_[toll.component] + 1e-9 * std::fabs(slack_[toll.component]);
  };
  std::vector<std::vector<OutputTriples::Sides>> weight(asked.size());
  std::vector<OutputTriples::Sides> heavy(columns.size(), {kUnbounded, kUnbounded});
  for (std::size_t t = 0; t < asked.size(); ++t) {
    const Toll& toll = asked[t];
    weight[t].assign(columns.size(), {0, 0});
    for (std::size_t c = 0; c < columns.size(); ++c) {
      OutputTriples::Sides& of = weight[t][c];
      const std::uint32_t* cells = data_.cells(columns[c].feature);
      for (std::size_t i = 0; i < node.rows; ++i) {
        const std::uint32_t row = node.of(0)[i];
        of[cells[row] <= columns[c].cell ? 0 : 1] += toll.weight[row];
      }
      for (std::size_t s = 0; s < 2 && toll.factor > 0 && toll.step > 0; ++s) {
        const double spent =
                         toll_of(toll, columns[c], of, ask.state, s == 0 ? 3 : 1, s == 0 ? 1 : 3),
                     left = most(toll) - spent + toll.step * toll.lightest;
        heavy[c][s] = std::min(heavy[c][s], left / (toll.step * toll.factor) * (1 + 1e-9));
      }
    }
  }
  const std::vector<OutputTriples::Shapes> shapes = triples_.shapes(heavy, ask.state, control_);
  by_column_.resize(columns.size(), -kUnbounded);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    double of_column = kUnbounded;
    for (int l = 1; l <= 4; ++l)
      for (int r = 1; r <= 4; ++r) {
        const double least = shapes[c][static_cast<std::size_t>(l)][static_cast<std::size_t>(r)];
        bool open = least < of_column;
        for (std::size_t t = 0; t < asked.size() && open; ++t)
          open = !(toll_of(asked[t], columns[c], weight[t][c], ask.state, l, r) > most(asked[t]));
        if (open) of_column = least;
      }
    by_column_[c] = std::max(by_column_[c], of_column);
  }
  // Cuts come in the order of these.
  std::vector<double> by_first(data_.problem.base.features, kUnbounded);
  for (std::size_t c = 0; c < columns.size(); ++c)
    by_first[columns[c].feature] =
        std::min(by_first[columns[c].feature], by_column_[c] - 8 * tolerance_);
  by_first_.resize(by_first.size(), -kUnbounded);
  for (std::size_t f = 0; f < by_first.size(); ++f)
    by_first_[f] = std::max(by_first_[f], by_first[f]);
}

}  // namespace odt
