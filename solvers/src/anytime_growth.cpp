#include <algorithm>
#include <cmath>

#include "odt/anytime.hpp"

namespace odt {

std::size_t Anytime::KeyHash::operator()(const std::vector<std::uint32_t>& key) const {
  std::uint64_t h = key.size();
  for (std::uint32_t x : key) h = (h ^ x) * 0x9e3779b97f4a7c15ULL, h ^= h >> 29;
  return static_cast<std::size_t>(h);
}

Anytime::Anytime(const Dataset& data, Control& control, Counters& counters, std::uint64_t seed,
                 Told told)
    : data_(data),
      p_(data.problem),
      control_(control),
      counters_(counters),
      depth_two_(control, counters),
      few_rows_(control, counters),
      exact_(control),
      told_(std::move(told)),
      dice_(seed),
      price_(p_.leaf_price),
      least_(p_.leaf_rows) {
  const std::size_t labels = static_cast<std::size_t>(data.loss.labels);
  class_of_.resize(p_.rows);
  if (!data.loss.unit()) weight_of_.resize(p_.rows);
  for (std::size_t i = 0; i < p_.rows; ++i) {
    if (data.loss.unit()) {
      class_of_[i] = static_cast<std::uint16_t>(p_.label[i]);
      continue;
    }
    const Loss* losses = data.loss.losses(i);
    class_of_[i] = static_cast<std::uint16_t>(std::min_element(losses, losses + labels) - losses);
    weight_of_[i] = static_cast<double>(data.loss.worst(i));
  }
}

double Anytime::xlogx(double x) const {
  if (!xlogx_.empty()) return xlogx_[static_cast<std::size_t>(x + 0.5)];
  return x > 0 ? x * std::log(x) : 0;
}

View& Anytime::child(const Place& at, std::size_t feature, std::uint32_t bound, bool left) {
  const std::size_t level = static_cast<std::size_t>(at.level) + 1;
  View& view = *views_[level];
  view.make_child(*views_[level - 1], feature, bound, left);
  control_.poll(view.rows() * p_.features / 32 + 1);
  return view;
}

Place Anytime::below(const Place& at, std::size_t feature) const {
  return {at.level + 1, at.depth - 1, p_.after(at.state, feature)};
}

Grown::Ptr Anytime::leaf(View& view, const Place&) {
  const std::size_t labels = static_cast<std::size_t>(data_.loss.labels);
  auto tree = std::make_shared<Grown>();
  if (data_.loss.kind == LossKind::two_class) {
    const std::uint64_t* ones = view.classes(0);
    Loss of[2] = {static_cast<Loss>(view.rows()), 0};
    for (std::size_t w = 0; w < view.words(); ++w)
      of[1] += popcount(ones[w] & valid_bits(view.rows(), w));
    of[0] -= of[1];
    tree->label = of[1] > of[0];
    tree->value = data_.loss.each * of[1 - tree->label] + price_;
    return tree;
  }
  std::vector<Loss> sums(labels, 0);
  const std::uint32_t* order = view.order(0);
  if (data_.loss.unit()) {
    for (std::size_t i = 0; i < view.rows(); ++i) ++sums[class_of_[order[i]]];
    for (Loss& s : sums) s = data_.loss.each * (static_cast<Loss>(view.rows()) - s);
  } else {
    for (std::size_t i = 0; i < view.rows(); ++i)
      for (std::size_t c = 0; c < labels; ++c) sums[c] += data_.loss.losses(order[i])[c];
  }
  const auto least = std::min_element(sums.begin(), sums.end());
  tree->value = *least + price_;
  tree->label = static_cast<int>(least - sums.begin());
  return tree;
}

Grown::Ptr Anytime::join(const Cut& cut, const Grown::Ptr& left, const Grown::Ptr& right,
                         Loss price) const {
  auto tree = std::make_shared<Grown>();
  tree->value = left->value + right->value + price;
  tree->price = price;
  tree->feature = static_cast<int>(cut.feature);
  tree->bound = cut.bound;
  tree->leaves = left->leaves + right->leaves;
  tree->left = left;
  tree->right = right;
  return tree;
}

// The best tree of depth one; with `must` one that tests the column that must be tested, or none.
Grown::Ptr Anytime::stump(View& view, const Place& at, bool must) {
  const Grown::Ptr one = must ? nullptr : leaf(view, at);
  if ((one && one->value <= price_) || at.depth == 0 ||
      static_cast<std::int32_t>(view.rows()) < 2 * least_)
    return one;
  const std::size_t rows = view.rows(), labels = static_cast<std::size_t>(data_.loss.labels);
  const bool unit = data_.loss.unit();
  const Loss each = data_.loss.each;
  Loss best = one ? one->value - 2 * price_ : kInfinite;
  Cut cut{0, 0, 0};
  Loss left_value = 0;
  int left_label = 0, right_label = 0;
  // Rows of a class in place of losses where all errors count alike: fewer sums a row.
  std::vector<Loss> all(labels, 0), low, high;
  const std::uint32_t* any = view.order(0);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t c = 0; c < labels; ++c)
      all[c] += unit ? Loss{class_of_[any[i]] == c} : data_.loss.losses(any[i])[c];
  for (std::size_t f = 0; f < p_.features; ++f) {
    if (!view.splittable(f) || !open(at, f) || (must && !p_.tests_must(f))) continue;
    const std::uint32_t* order = view.order(f);
    const std::uint64_t* ends = view.ends(f);
    low.assign(labels, 0);
    high = all;
    const std::size_t stop =
        std::min(rows - static_cast<std::size_t>(least_), view.words_to_cut(f) * kBlock);
    for (std::size_t i = 0; i < stop; ++i) {
      if (unit) {
        ++low[class_of_[order[i]]];
        --high[class_of_[order[i]]];
      } else {
        for (std::size_t c = 0; c < labels; ++c) {
          const Loss x = data_.loss.losses(order[i])[c];
          low[c] += x;
          high[c] -= x;
        }
      }
      if (!(ends[i / kBlock] >> (i % kBlock) & 1) || static_cast<std::int32_t>(i) + 1 < least_)
        continue;
      const auto l = unit ? std::max_element(low.begin(), low.end())
                          : std::min_element(low.begin(), low.end());
      const auto h = unit ? std::max_element(high.begin(), high.end())
                          : std::min_element(high.begin(), high.end());
      const Loss value = unit ? each * (static_cast<Loss>(rows) - *l - *h) : *l + *h;
      if (value >= best) continue;
      best = value;
      cut = {0, f, static_cast<std::uint32_t>(view.sorted(f)[i]) + 1};
      left_value = price_ + (unit ? each * (static_cast<Loss>(i) + 1 - *l) : *l);
      left_label = static_cast<int>(l - low.begin());
      right_label = static_cast<int>(h - high.begin());
    }
  }
  if (cut.bound == 0) return one;
  auto left = std::make_shared<Grown>(), right = std::make_shared<Grown>();
  left->value = left_value;
  left->label = left_label;
  right->value = best + 2 * price_ - left_value;
  right->label = right_label;
  return join(cut, left, right);
}

Grown::Ptr Anytime::few_rows(View& view, Loss upper) {
  FewRows::Tree found;
  return few_rows_.solve(view, upper, found) ? grown(found) : nullptr;
}

Grown::Ptr Anytime::grown(const BottomSplit& split) const {
  Grown::Ptr leaves[2];
  for (int s = 0; s < (split.feature < 0 ? 1 : 2); ++s) {
    auto leaf = std::make_shared<Grown>();
    leaf->label = split.label[s];
    leaf->value = split.lost[s] + price_;
    leaves[s] = leaf;
  }
  if (split.feature < 0) return leaves[0];
  return join({0, static_cast<std::size_t>(split.feature), split.bound}, leaves[0], leaves[1]);
}

Grown::Ptr Anytime::scan_bottom(View& view, const Place& at, Loss upper, std::size_t most,
                                bool& complete) {
  if (FewRows::suits(data_, view.rows())) {
    complete = true;
    return few_rows(view, upper);
  }
  std::vector<std::uint32_t> first(p_.features, 0);
  const std::vector<Cut> pure = cuts(view, at, Impurity::gini, 1);
  for (const Cut& cut : pure) first[cut.feature] = cut.bound;
  const Ask ask{least_, false, at.state};
  const Outcome out = depth_two_.sketch(view, shape(2, 4), upper, ask, first, most, complete);
  if (!out.exact || out.plan.empty()) return nullptr;
  return measure(view, at, out.plan, 0);
}

// Two sets of rows with the same least and largest ranks are the same set: all rows within.
std::vector<std::uint32_t> Anytime::key_of(View& view, const Place& at) const {
  std::vector<std::uint32_t> key;
  key.reserve(2 * p_.features + 2);
  for (std::size_t f = 0; f < p_.features; ++f) {
    key.push_back(view.sorted(f)[0]);
    key.push_back(view.sorted(f)[view.rows() - 1]);
  }
  key.push_back(static_cast<std::uint32_t>(at.state & 0xffff));
  key.push_back(static_cast<std::uint32_t>(at.state >> 16));
  return key;
}

void Anytime::forget() {
  memory_.clear();
  sketches_.clear();
  memory_bytes_ = 0;
}

void Anytime::spare_memory() {
  constexpr std::size_t kMost = std::size_t{1} << 28;
  const std::size_t limit = control_.options().memory_limit;
  if (memory_bytes_ > (limit ? limit / 4 : kMost)) forget();
}

// A tree of depth two or less: by scans, as good as `how` says, or nothing below `upper`.
Grown::Ptr Anytime::bottom(View& view, const Place& at, Loss upper, const How& how) {
  const Grown::Ptr one = leaf(view, at);
  const auto below_upper = [upper](const Grown::Ptr& tree) {
    return tree && tree->value < upper ? tree : nullptr;
  };
  if (one->value <= price_ || at.depth == 0 || static_cast<std::int32_t>(view.rows()) < 2 * least_)
    return below_upper(one);
  if (at.depth == 1) return below_upper(stump(view, at));
  const std::vector<std::uint32_t> key = key_of(view, at);
  Remembered& known = memory_[key];
  if (known.most >= how.most && known.most > 0 &&
      ((known.tree && known.tree->value < known.upper) || upper <= known.upper)) {
    ++counters_.cache_hits;
    return below_upper(known.tree);
  }
  if (known.most == 0) memory_bytes_ += key.size() * sizeof key[0] + 600;
  bool complete = false;
  Grown::Ptr tree = scan_bottom(view, at, upper, how.most, complete);
  Remembered& entry = memory_[key];
  if (tree && (!entry.tree || tree->value < entry.tree->value)) entry.tree = tree;
  entry.most = complete ? static_cast<std::size_t>(-1) : how.most;
  entry.upper = upper;
  tree = below_upper(entry.tree);
  spare_memory();
  return tree;
}

// The subtree of a plan on the rows of a view, with labels and losses; none where a leaf is too
// small or a cut may not stand between the rows as they are now.
Grown::Ptr Anytime::measure(View& view, const Place& at, const Plan& plan, int node) {
  const PlanNode& n = plan.nodes[static_cast<std::size_t>(node)];
  if (n.feature < 0) {
    if (static_cast<std::int32_t>(view.rows()) < least_) return nullptr;
    return n.stump ? stump(view, {at.level, std::max(1, at.depth), at.state}, n.must)
                   : leaf(view, at);
  }
  const Cut cut{0, static_cast<std::size_t>(n.feature), n.bound};
  const Place next = below(at, cut.feature);
  const Ranks sorted = view.sorted(cut.feature);
  // A cut beside all rows is none.
  if (sorted[0] >= cut.bound) return measure(view, at, plan, n.right);
  if (sorted[view.rows() - 1] < cut.bound) return measure(view, at, plan, n.left);
  const std::size_t above = sorted.below(cut.bound, view.rows());
  if (!data_.gap_allowed(cut.feature, sorted[above - 1], sorted[above])) return nullptr;
  const Grown::Ptr left = measure(child(at, cut.feature, cut.bound, true), next, plan, n.left);
  const Grown::Ptr right =
      left ? measure(child(at, cut.feature, cut.bound, false), next, plan, n.right) : nullptr;
  return right ? join(cut, left, right, split_price(view, at, cut.feature)) : nullptr;
}

Grown::Ptr Anytime::grow_below(View& view, const Place& at, const Cut& cut, Loss upper,
                               const How& how) {
  const Loss price = split_price(view, at, cut.feature);
  const Grown::Ptr left = grow_side(view, at, cut, true, upper - price - price_, how);
  if (!left) return nullptr;
  const Grown::Ptr right = grow_side(view, at, cut, false, upper - price - left->value, how);
  return right ? join(cut, left, right, price) : nullptr;
}

// Many sides have rows of one class: they need no view.
Grown::Ptr Anytime::grow_side(View& view, const Place& at, const Cut& cut, bool left, Loss upper,
                              const How& how) {
  if (data_.loss.kind == LossKind::two_class && plain()) {
    const Ranks sorted = view.sorted(cut.feature);
    const std::size_t rows = view.rows();
    const std::size_t middle = sorted.below(cut.bound, rows);
    const std::size_t from = left ? 0 : middle, to = left ? middle : rows;
    const int label = only_class(view.classes(cut.feature), from, to);
    if (label >= 0) {
      control_.poll((to - from) * p_.features / 32 + 1);
      if (price_ >= upper) return nullptr;
      auto tree = std::make_shared<Grown>();
      tree->value = price_;
      tree->label = label;
      return tree;
    }
  }
  return grow(child(at, cut.feature, cut.bound, left), below(at, cut.feature), upper, how);
}

// The class of some rows in the order of a feature, of two classes; -1 where there are both.
int Anytime::only_class(const std::uint64_t* ones, std::size_t from, std::size_t to) {
  bool some[2] = {false, false};
  for (std::size_t w = from / kBlock; w * kBlock < to; ++w) {
    std::uint64_t rows = valid_bits(to, w);
    if (w == from / kBlock) rows &= ~low_bits(from % kBlock);
    some[1] |= (ones[w] & rows) != 0;
    some[0] |= (ones[w] & rows) != rows;
    if (some[0] && some[1]) return -1;
  }
  return some[1];
}

// A tree by the purest cuts, optimal (or nearly so) in its last two levels; nothing where it would
// not be below `upper`.
Grown::Ptr Anytime::grow(View& view, const Place& at, Loss upper, const How& how) {
  if (at.depth <= (how.most > 0 ? 2 : 1)) return bottom(view, at, upper, how);
  const Grown::Ptr one = leaf(view, at);
  const Grown::Ptr fallback = one->value < upper ? one : nullptr;
  if (one->value <= price_ || static_cast<std::int32_t>(view.rows()) < 2 * least_) return fallback;
  const std::vector<Cut> pure = cuts(view, at, how.impurity, 1);
  if (pure.empty()) return fallback;
  std::size_t which = 0;
  while (how.noise > 0 && which + 1 < pure.size() && dice_.real() < how.noise) ++which;
  const Grown::Ptr tree = grow_below(view, at, pure[which], std::min(upper, one->value), how);
  return tree ? tree : fallback;
}

// Of the purest cuts the one whose grown completion loses least, and so on below it; nothing where
// that is far from `upper`.
Grown::Ptr Anytime::look(View& view, const Place& at, std::size_t segments, std::size_t width,
                         std::size_t most, Loss upper) {
  const How how{Impurity::gini, most, 0};
  if (at.depth <= 2) return bottom(view, at, upper, how);
  const Grown::Ptr one = leaf(view, at);
  // What is below makes up for a part of what the completion loses.
  Loss least = upper >= kInfinite ? upper : upper + upper / 8 + 1;
  Grown::Ptr best;
  if (one->value < least) best = one, least = one->value;
  if (one->value <= price_ || static_cast<std::int32_t>(view.rows()) < 2 * least_) return best;
  std::vector<Cut> tried = cuts(view, at, Impurity::gini, segments);
  if (tried.size() > width) tried.resize(width);
  std::vector<Cut> other = cuts(view, at, Impurity::entropy, segments);
  if (other.size() > (width + 2) / 3) other.resize((width + 2) / 3);
  for (const Cut& cut : other)
    if (std::none_of(tried.begin(), tried.end(), [&](const Cut& t) {
          return t.feature == cut.feature && t.bound == cut.bound;
        }))
      tried.push_back(cut);
  Cut chosen{0, 0, 0};
  for (const Cut& cut : tried) {
    const Grown::Ptr tree = grow_below(view, at, cut, least, how);
    if (!tree) continue;
    if (at.level == 0) offer(tree);  // the whole takes long on many rows
    best = tree;
    least = tree->value;
    chosen = cut;
  }
  if (!best || best->feature < 0) return best;
  const Place next = below(at, chosen.feature);
  Grown::Ptr side[2] = {best->left, best->right};
  for (int s = 0; s < 2; ++s) {
    const Grown::Ptr found = look(child(at, chosen.feature, chosen.bound, s == 0), next, segments,
                                  width, most, side[s]->value);
    if (found && found->value < side[s]->value) side[s] = found;
  }
  return join(chosen, side[0], side[1], best->price);
}

int Anytime::predicted(const Grown& tree, std::uint32_t row) const {
  const Grown* at = &tree;
  while (at->feature >= 0)
    at = p_.ranks(static_cast<std::size_t>(at->feature))[row] < at->bound ? at->left.get()
                                                                          : at->right.get();
  return at->label;
}

void Anytime::offer(const Grown::Ptr& tree) {
  if (!tree || tree->value > best_value_) return;
  const bool better = tree->value < best_value_;
  best_ = tree;
  best_value_ = tree->value;
  if (better) told_(tree, tree->value);
}

void Anytime::adopt(const Plan& plan) { offer(measure(*views_[0], top_, plan, 0)); }

void Anytime::begin(int depth) {
  began_ = Control::own_work();
  while (views_.size() < static_cast<std::size_t>(depth) + 2)
    views_.push_back(std::make_unique<View>());
  const std::size_t limit =
      control_.options().memory_limit ? control_.options().memory_limit / 4 : std::size_t{1} << 28;
  views_[0]->make_root(data_, p_.features * p_.features * p_.rows * data_.rank_bytes() * 3 <= limit,
                       true);
  top_ = {0, depth, 0};
}

// A leaf, and growth by purity, without and with the best trees of depth two at the bottom; with
// `perfect` a tree without an error, where one grown has few.
void Anytime::first_trees(Loss target, bool perfect) {
  View& root = *views_[0];
  const std::size_t cap = 2 * p_.features + 10, all = static_cast<std::size_t>(-1);
  offer(leaf(root, top_));
  if (top_.depth == 0) return;
  // Each level takes long on many rows, so that a shallow tree is told before a whole one.
  constexpr std::size_t kManyCells = std::size_t{1} << 20;
  if (top_.depth > 3 && p_.rows * p_.features > kManyCells)
    offer(grow(root, {top_.level, 2, top_.state}, limit(), How{}));
  for (const How& how : {How{Impurity::gini, 0, 0}, How{Impurity::entropy, 0, 0},
                         How{Impurity::gini, cap, 0}, How{Impurity::entropy, cap, 0}}) {
    if (best_value_ <= target) return;
    offer(grow(root, top_, limit(), how));
    control_.grow_first(false);
    if (perfect && target <= 0) look_for_perfect();
    perfect = false;
  }
  if (top_.depth <= 2) offer(bottom(root, top_, limit(), {Impurity::gini, all, 0}));
}

void Anytime::look_ahead(std::size_t segments, std::size_t width, std::size_t most) {
  offer(polish(*views_[0], top_, look(*views_[0], top_, segments, width, most, kInfinite)));
}

void Anytime::step() {
  nested_ = false;
  // A node twice as high holds twice the rows: all heights get about the same time.
  int height = 3;
  while (height < top_.depth && dice_.real() < 0.5) ++height;
  const Grown::Ptr made = move(*views_[0], top_, best_, height);
  if (made != best_) offer(made);
  control_.poll(p_.rows + 2000);  // turns end, even where there is nothing to do
  control_.check();
}

// What grows trees, then reaches, each closer than the one before, and moves for as long as all of
// the reaches took.
void Anytime::run(int depth, Loss target, const SharedBest* others) {
  begin(depth);
  const auto done = [&] { return best_value_ <= target; };
  first_trees(target, true);
  if (depth <= 2) return;
  if (depth == 4) share_turns(false, spent());
  const std::uint64_t work = control_.work();
  if (!done()) look_ahead(3, 6, 2 * p_.features + 10);
  // A wider one costs twenty times as much: where that is long, sketches of deeper trees find more.
  const std::uint64_t cheap = depth > 5 && sketches(*views_[0], top_) ? 10000000 : 2000000000;
  if (!done() && control_.work() - work < cheap) look_ahead(4, 12, static_cast<std::size_t>(-1));
  if (!done()) offer(polish(*views_[0], top_, best_));
  const std::vector<Parts> parts = reaches();
  std::size_t next = 0;
  std::uint64_t reached = 0, moved = 0, improved_at = spent();
  for (Loss last = best_value_; !done();) {
    Loss value = best_value_;
    Plan plan;
    if (others && others->take(value, plan)) adopt(plan);
    if (best_value_ < last) improved_at = spent();
    last = best_value_;
    const bool reaching = next < parts.size() && (reached <= moved || depth == 4);
    if (depth == 4) share_turns(reaching, improved_at);
    const std::uint64_t began = spent();
    if (reaching && next == 0) reach_in_levels(parts[0]);
    if (reaching)
      offer(polish(*views_[0], top_, reach(*views_[0], top_, parts[next++], kInfinite)));
    else
      step();
    (reaching ? reached : moved) += spent() - began;
  }
}

// The first reach of a deep tree takes long. That of one level less meets the same nodes, which are
// remembered: so a deeper tree is told no later than a shallower one would be.
void Anytime::reach_in_levels(Parts parts) {
  for (int depth = 5; depth < top_.depth; ++depth)
    offer(reach(*views_[0], {top_.level, depth, top_.state}, parts, kInfinite));
}

// The proof gets most of the time where moves have found nothing for long, and little before them.
void Anytime::share_turns(bool reaching, std::uint64_t improved_at) {
  // Trees of depth four are proven in a second or two where cells are so few, and where they are
  // not many in less than a minute or two, long after the best tree was found.
  constexpr std::size_t kFewCells = std::size_t{1} << 13, kManyCells = std::size_t{1} << 16;
  if (!control_.turns) return;
  const std::size_t cells = p_.rows * p_.features;
  const bool few = cells <= kFewCells;
  if (reaching && !few)
    control_.turns->favour(1, 3);
  else
    control_.turns->favour_proof(spent(), improved_at, few ? 10 : 1, cells <= kManyCells ? 2 : 1);
}

}  // namespace odt
