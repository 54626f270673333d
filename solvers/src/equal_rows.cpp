#include "odt/equal_rows.hpp"

#include <algorithm>
#include <numeric>

namespace odt {

EqualRows::EqualRows(const Problem& p) : row(p.rows), first_(p.rows, 0) {
  std::iota(row.begin(), row.end(), 0u);
  if (p.rows > 0) first_[0] = 1;
  if (p.rows > 1) open_.push_back({0, static_cast<std::uint32_t>(p.rows)});
  for (std::size_t f = 0; f < p.features && !open_.empty(); ++f) refine(p, f);
  for (std::size_t i = 0; i < p.rows; ++i)
    if (first_[i]) start.push_back(static_cast<std::uint32_t>(i));
  start.push_back(static_cast<std::uint32_t>(p.rows));
}

void EqualRows::refine(const Problem& p, std::size_t f) {
  const std::uint32_t* rank = p.ranks(f);
  below_.clear();  // admissible cuts below a rank
  if (f < p.allowed.size() && !p.allowed[f].empty()) {
    below_.assign(p.distinct[f], 0);
    for (std::size_t r = 0; r + 1 < p.distinct[f]; ++r)
      below_[r + 1] = below_[r] + (p.allowed[f][r] != 0);
  }
  const auto place = [&](std::uint32_t i) { return below_.empty() ? rank[i] : below_[rank[i]]; };
  const std::uint32_t places = below_.empty() ? p.distinct[f] : below_.back() + 1;
  next_.clear();
  for (const auto& [from, to] : open_) {
    const std::uint32_t one = place(row[from]);
    std::uint32_t at = from + 1;
    while (at < to && place(row[at]) == one) ++at;
    if (at == to)
      next_.push_back({from, to});
    else
      part(place, places, from, to);
  }
  open_.swap(next_);
}

template <class Place>
void EqualRows::part(const Place& place, std::uint32_t places, std::uint32_t from,
                     std::uint32_t to) {
  sorted_.resize(to - from);
  if (places / 4 < to - from) {  // to count is quicker than to compare
    begin_.assign(places + 1, 0);
    for (std::uint32_t i = from; i < to; ++i) ++begin_[place(row[i]) + 1];
    for (std::uint32_t r = 0; r < places; ++r) begin_[r + 1] += begin_[r];
    for (std::uint32_t i = from; i < to; ++i) {
      const std::uint32_t here = place(row[i]);
      sorted_[begin_[here]++] = {here, row[i]};
    }
  } else {
    for (std::uint32_t i = from; i < to; ++i) sorted_[i - from] = {place(row[i]), row[i]};
    std::sort(sorted_.begin(), sorted_.end());
  }
  std::uint32_t begin = from;
  for (std::uint32_t i = from; i < to; ++i) {
    row[i] = sorted_[i - from].second;
    const bool ends = i + 1 == to || sorted_[i - from].first != sorted_[i + 1 - from].first;
    if (!ends) continue;
    if (i > begin) next_.push_back({begin, i + 1});
    first_[begin] = 1;
    begin = i + 1;
  }
}

}  // namespace odt
