// What leaves out cuts of the root by their columns, before anything is summed behind them: one
// pass over all three columns tells it of all first ones.
#include <algorithm>
#include <cmath>
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

// Tells what trees lose of the last mix by their first column, if many cuts may be left out so.
void OutputFronts::tell_by_first(std::size_t cuts, int state) {
  constexpr std::size_t kMost = 4;
  if (!std::exchange(spread_, false) || mixes_.size() >= kMost ||
      3 * cuts < lane_.pairs().columns().size() || !triples_.tells(last_mix_))
    return;
  const auto same = [&](const ByFirst& one) {
    return one.mix.loss == last_mix_.loss && one.mix.measure == last_mix_.measure;
  };
  if (std::none_of(mixes_.begin(), mixes_.end(), same))
    mixes_.push_back({last_mix_, triples_.least(last_mix_, state, control_)});
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
  by_column_.assign(columns.size(), kUnbounded);
  for (std::size_t c = 0; c < columns.size(); ++c)
    for (int l = 1; l <= 4; ++l)
      for (int r = 1; r <= 4; ++r) {
        const double least = shapes[c][static_cast<std::size_t>(l)][static_cast<std::size_t>(r)];
        bool open = least < by_column_[c];
        for (std::size_t t = 0; t < asked.size() && open; ++t)
          open = !(toll_of(asked[t], columns[c], weight[t][c], ask.state, l, r) > most(asked[t]));
        if (open) by_column_[c] = least;
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
