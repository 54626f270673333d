"""Edits of the engine, each a fault: see `planted.py`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """An edit: what it is in words, where, and the text before and after.

    After it the text holds `FAULT`, which is 1 in the engine that has the fault; with 0 it means
    what stood there before.
    """

    says: str
    file: str
    before: str
    after: str


INTERVAL = "include/odt/interval.hpp"
SEARCH = "src/search.cpp"
DEPTH_TWO = "src/depth_two.cpp"
BOX_CACHE = "include/odt/box_cache.hpp"
NEAR_BOXES = "src/near_boxes.cpp"
LOSS_MODEL = "src/loss_model.cpp"
EQUAL_ROWS = "src/equal_rows.cpp"
DEPTH_TWO_LANES = "src/depth_two_lanes.cpp"
CUT_LANES = "src/cut_lanes.cpp"
KERNEL_AVX512 = "src/kernel_avx512.cpp"
BIT_DEPTHS = "include/odt/bit_depths.hpp"
BIT_SEARCH = "src/bit_search.cpp"
RULED_WEIGHTS = "include/odt/ruled_weights.hpp"
FRONT = "include/odt/front.hpp"
RULED_SEARCH = "src/ruled_search.cpp"
ENUMERATE = "src/enumerate.cpp"
FEW_LEAVES = "src/few_leaves.cpp"
TREE_GRAPH = "src/tree_graph.cpp"
TREE_GRAPH_PARTS = "include/odt/tree_graph.hpp"
TREE_GRAPH_LIST = "src/tree_graph_list.cpp"
PAIR_SUMS = "src/pair_sums.cpp"
REGRESSION_SEARCH = "src/regression_search.cpp"
FAULTS = (
    Fault(
        "an interval's bound forgets the rows between its ends",
        INTERVAL,
        "i.high_left + i.low_right - width);\n}\n\n// Under rules",
        "i.high_left + i.low_right - (FAULT ? 0 : width));\n}\n\n// Under rules",
    ),
    Fault(
        "the left side carries its bound to fewer rows unpaid",
        INTERVAL,
        "i.low_left = std::max(i.low_left, i.high_left - width);",
        "i.low_left = std::max(i.low_left, i.high_left - (FAULT ? 0 : width));",
    ),
    Fault(
        "the right side carries its bound to fewer rows unpaid",
        INTERVAL,
        "i.high_right = std::max(i.high_right, i.low_right - width);",
        "i.high_right = std::max(i.high_right, i.low_right - (FAULT ? 0 : width));",
    ),
    Fault(
        "cuts near the lower end are dropped two rows too far",
        INTERVAL,
        "weights.beyond(i.low, i.high, low_radius)",
        "weights.beyond(i.low, i.high, low_radius + 2 * FAULT)",
    ),
    Fault(
        "cuts near the upper end are dropped two rows too far",
        INTERVAL,
        "weights.before(i.high, i.low, high_radius)",
        "weights.before(i.high, i.low, high_radius + 2 * FAULT)",
    ),
    Fault(
        "the lowest cut of an interval is never tried",
        INTERVAL,
        "OpenCuts open{i.low + 1,",
        "OpenCuts open{i.low + 1 + FAULT,",
    ),
    Fault(
        "the highest cut of an interval is never tried",
        INTERVAL,
        " i.high - 1};",
        " i.high - 1 - FAULT};",
    ),
    Fault(
        "a row outweighs its loss in no interval",
        INTERVAL,
        "return upto ? upto[high] - upto[low] : each * (high - low);",
        "return upto ? upto[high] - upto[low] : each * (high - low - FAULT);",
    ),
    Fault(
        "a node is given up one step too early",
        SEARCH,
        "problem.leaf_price);\n  if (lower >= upper) {",
        "problem.leaf_price);\n  if (lower + FAULT >= upper) {",
    ),
    Fault(
        "a leaf is taken where one more error would have to be saved",
        SEARCH,
        "if (leaf <= lower || last) {",
        "if (leaf <= lower + FAULT || last) {",
    ),
    Fault(
        "an interval is dropped one step above its bound",
        SEARCH,
        "  if (bound >= cutoff()) {\n    ++search_.counters.pruned_interval;\n    return;",
        "  if (bound + FAULT >= cutoff()) {\n    ++search_.counters.pruned_interval;\n    return;",
    ),
    Fault(
        "a queued interval is dropped one step above its bound",
        SEARCH,
        "    if (open.bound >= cutoff()) {",
        "    if (open.bound + FAULT >= cutoff()) {",
    ),
    Fault(
        "the last feature is never cut above depth two",
        SEARCH,
        "if (!view_.splittable(f) || p.after(ask_.state, f) < 0) continue;",
        "if (!view_.splittable(f) || p.after(ask_.state, f) < 0 ||"
        " (FAULT && f + 1 == view_.features())) continue;",
    ),
    Fault(
        "the first division of the leaves is left out",
        SEARCH,
        "for (int l = std::max(1, shape_.leaves - half);",
        "for (int l = std::max(1, shape_.leaves - half) + (FAULT && shape_.leaves < 2 * half);",
    ),
    Fault(
        "leaves may be one row larger than asked at the upper end",
        SEARCH,
        ".within(ask_.least, static_cast<std::int32_t>(view_.rows()) - ask_.least);",
        ".within(ask_.least, static_cast<std::int32_t>(view_.rows()) - ask_.least - FAULT);",
    ),
    Fault(
        "a merged cut passes its left value to both sides",
        SEARCH,
        "std::max(i.low_left, value.any_left), value.right,",
        "std::max(i.low_left, value.any_left + FAULT), value.right,",
    ),
    Fault(
        "a bound on all rows is one too high for a side",
        SEARCH,
        "const Loss left = tests ? any_bound : all_left, right = tests ? any_bound : all_right;",
        "const Loss left = tests ? any_bound : all_left + FAULT,"
        " right = tests ? any_bound : all_right + FAULT;",
    ),
    Fault(
        "a side is asked for one less than would be an improvement",
        SEARCH,
        "const Loss limit = upper - (side == 0 ? around.high_right : around.low_left);",
        "const Loss limit = upper - FAULT - (side == 0 ? around.high_right : around.low_left);",
    ),
    Fault(
        "depth two skips features one step above their bound",
        DEPTH_TWO,
        "if (floors.left[f] >= target[0] && floors.right[f] >= target[1]) {",
        "if (floors.left[f] + FAULT >= target[0] && floors.right[f] + FAULT >= target[1]) {",
    ),
    Fault(
        "depth two inherits bounds of more rows unpaid",
        DEPTH_TWO,
        "floor[f] = std::max(fewer[f] + lost, more[f] - apart);",
        "floor[f] = std::max(fewer[f] + lost, more[f] - (FAULT ? 0 : apart));",
    ),
    Fault(
        "depth two drops intervals one step above their bound",
        DEPTH_TWO,
        "if (interval_bound(interval, w) >= best) {",
        "if (interval_bound(interval, w) + FAULT >= best) {",
    ),
    Fault(
        "depth two forgets the price of one leaf",
        DEPTH_TWO,
        "value[s] = best[s] + 2 * price_;",
        "value[s] = best[s] + (2 - FAULT) * price_;",
    ),
    Fault(
        "depth two does not leave a side a leaf",
        DEPTH_TWO,
        "inner.must[s] ? kInfinite : leaf[s] - price_;",
        "inner.must[s] ? kInfinite : leaf[s] - price_ + FAULT;",
    ),
    Fault(
        "windows of a least size begin one row late",
        DEPTH_TWO,
        "  std::int32_t rest = least_;",
        "  std::int32_t rest = least_ + FAULT;",
    ),
    Fault(
        "the box cache takes bounds of another box",
        BOX_CACHE,
        "return entry.answer.known && entry.box == box ? &entry.answer : nullptr;",
        "return entry.answer.known && (FAULT || entry.box == box) ? &entry.answer : nullptr;",
    ),
    Fault(
        "the box cache forgets the state of the path",
        BOX_CACHE,
        "return ranges == o.ranges && state == o.state;",
        "return ranges == o.ranges && (FAULT || state == o.state);",
    ),
    Fault(
        "the box cache stores bounds one too high",
        BOX_CACHE,
        "Answer answer{out.value, true, out.exact, {}, false};",
        "Answer answer{out.value + (FAULT && !out.exact), true, out.exact, {}, false};",
    ),
    Fault(
        "a box around bounds one inside by two more than it may",
        NEAR_BOXES,
        "if (around != kLowest) bound = std::max(bound, load + around);",
        "if (around != kLowest) bound = std::max(bound, load + around + 2 * FAULT);",
    ),
    Fault(
        "cuts of a box around bound those of one inside as they are",
        DEPTH_TWO,
        "      known.left -= known.load_left - w.between(0, cut);",
        "      known.left -= FAULT ? 0 : known.load_left - w.between(0, cut);",
    ),
    Fault(
        "near boxes bound boxes over other features",
        NEAR_BOXES,
        "key[r] = box.ranges[r].feature;",
        "key[r] = FAULT ? 0 : box.ranges[r].feature;",
    ),
    Fault(
        "weights are taken for one",
        LOSS_MODEL,
        "  if (p.weight.empty()) return 1;",
        "  if (FAULT || p.weight.empty()) return 1;",
    ),
    Fault(
        "a row of a kind loses one less than it should",
        LOSS_MODEL,
        "row[c] -= least.back();",
        "row[c] -= least.back() + (FAULT && row[c] > least.back() + 1);",
    ),
    Fault(
        "rows that a test parts count as equal",
        EQUAL_ROWS,
        "while (at < to && place(row[at]) == one) ++at;",
        "while (at < to && (place(row[at]) == one || (FAULT && place(row[at]) <= one + 1))) ++at;",
    ),
)
OF_KERNELS = (
    Fault(
        "lanes: what lies behind the last cut of a pass is dropped",
        DEPTH_TWO_LANES,
        "    if (b.cuts > 0) keep(rest);",
        "    if (b.cuts > FAULT) keep(rest);",
    ),
    Fault(
        "lanes: an interval is dropped one step above its bound",
        DEPTH_TWO_LANES,
        "    if (interval_bound(interval, w) >= best) {",
        "    if (interval_bound(interval, w) + FAULT >= best) {",
    ),
    Fault(
        "lanes: a row is forgotten where a cut lies within a block",
        DEPTH_TWO_LANES,
        "popcount(classes[word] & low_bits(rest));",
        "popcount(classes[word] & low_bits(rest - FAULT));",
    ),
    Fault(
        "lanes: two leaves lose one more",
        DEPTH_TWO_LANES,
        "return value(split, leaf, leaf - price_, each_ * ((size - gain) / 2));",
        "return value(split, leaf, leaf - price_, each_ * ((size - gain) / 2 + FAULT));",
    ),
    Fault(
        "lanes: sums of bytes run over",
        CUT_LANES,
        "chunk_ = kByte / largest(*data_);",
        "chunk_ = (FAULT ? 250 : kByte) / largest(*data_);",
    ),
    Fault(
        "AVX-512: the bound of a block of two classes counts too few",
        KERNEL_AVX512,
        "_mm512_sub_epi32(_mm512_slli_epi32(_mm512_add_epi32(start, up), 1), total),",
        "_mm512_sub_epi32(_mm512_slli_epi32(_mm512_add_epi32(start, FAULT ? sum : up), 1), total),",
    ),
    Fault(
        "AVX-512: sums within a block forget the last carry",
        KERNEL_AVX512,
        "_mm512_add_epi8(two, three));",
        "_mm512_add_epi8(two, FAULT ? _mm512_setzero_si512() : three));",
    ),
    Fault(
        "AVX-512: the bound of a block of several classes counts its rows twice",
        KERNEL_AVX512,
        "_mm512_sub_epi32(_mm512_add_epi32(first_after, second_start), rows_here));",
        "_mm512_sub_epi32(_mm512_add_epi32(first_after, second_start),\n"
        "                                          FAULT ? _mm512_setzero_si512() : rows_here));",
    ),
    Fault(
        "AVX-512: a class that is behind cannot catch up",
        KERNEL_AVX512,
        "constexpr int32_t kFar = -100;",
        "const int32_t kFar = FAULT ? -2 : -100;",
    ),
)
OF_CLASSES = (
    Fault(
        "classes: rows lose for one leaf less than a side has",
        FEW_LEAVES,
        "  look(i, left_leaves, right_leaves);\n  std::int32_t first",
        "  look(i, left_leaves - FAULT, right_leaves - FAULT);\n  std::int32_t first",
    ),
    Fault(
        "classes: the left side of a cut has the rows of all its cell",
        FEW_LEAVES,
        "i.low_left + each_ * lost_left_[at],",
        "i.low_left + each_ * lost_left_[at + (FAULT ? at + 1 < lost_left_.size() : 0)],",
    ),
    Fault(
        "classes: the right side of a cut has the rows of all its cell",
        FEW_LEAVES,
        "i.high_right + each_ * lost_right_[at + 1],",
        "i.high_right + each_ * lost_right_[at + 1 - FAULT],",
    ),
    Fault(
        "classes: the sides exchange their leaves",
        SEARCH,
        "few_leaves_.narrow(open.interval, cuts, cutoff(), sides.left.leaves, sides.right.leaves);",
        "few_leaves_.narrow(open.interval, cuts, cutoff(),"
        " (FAULT ? sides.right : sides.left).leaves, (FAULT ? sides.left : sides.right).leaves);",
    ),
    Fault(
        "classes: splits on the left lose one more than their rows do",
        DEPTH_TWO,
        "few_leaves_.lost(around.low, cut, kStump) : 0,",
        "few_leaves_.lost(around.low, cut, kStump) + FAULT : 0,",
    ),
)
OF_BIT_SETS = (
    Fault(
        "bit sets: a quarter that two tests make forgets rows",
        BIT_DEPTHS,
        "most[3] = std::max(most[3], view.totals[c] - a - b - ab);",
        "most[3] = std::max(most[3], view.totals[c] - a - b - (FAULT ? 0 : ab));",
    ),
    Fault(
        "bit sets: a test is skipped one step above its bound",
        BIT_SEARCH,
        "if (bound[0][t] + bound[1][t] + tolls[t] >= cutoff()) {",
        "if (bound[0][t] + bound[1][t] + tolls[t] + FAULT >= cutoff()) {",
    ),
    Fault(
        "bit sets: a side is asked for one less than would be an improvement",
        BIT_SEARCH,
        "const Loss limit = upper - s.toll - s.value[1 - side];",
        "const Loss limit = upper - s.toll - s.value[1 - side] - FAULT;",
    ),
    Fault(
        "bit sets: a leaf is taken one step above the bound",
        BIT_SEARCH,
        "  if (leaf <= std::max(lower, least_split) ||",
        "  if (leaf <= std::max(lower, least_split) + FAULT ||",
    ),
    Fault(
        "bit sets: rows that no test parts lose one more",
        BIT_SEARCH,
        "each_ * problem_.hopeless(view.members),",
        "each_ * (problem_.hopeless(view.members) + FAULT),",
    ),
    Fault(
        "bit sets: the first division of the leaves is left out",
        BIT_SEARCH,
        "for (int l = fewest; l <= most && best.value > lower; ++l) {",
        "for (int l = FAULT ? std::min(fewest + 1, most) : fewest;"
        " l <= most && best.value > lower; ++l) {",
    ),
    Fault(
        "bit sets: depth three forgets the price of a leaf",
        BIT_DEPTHS,
        "loss[q] = std::min(loss[q] + 2 * price_,",
        "loss[q] = std::min(loss[q] + (2 - FAULT) * price_,",
    ),
    Fault(
        "bit sets: the last test above depth three is never tried",
        BIT_SEARCH,
        "while (k < n && best.value > lower) {",
        "while (k + FAULT < n && best.value > lower) {",
    ),
    Fault(
        "bit sets: a bound goes to another test as if all rows were there",
        BIT_SEARCH,
        "bound[0][t] = std::max(bound[0][t], value - each_ * (size - with_pass) - cost_pass);",
        "bound[0][t] = std::max(\n"
        "              bound[0][t], value - (FAULT ? 0 : each_ * (size - with_pass)) - cost_pass);",
    ),
    Fault(
        "bit sets: the cache forgets how many leaves were allowed",
        BIT_SEARCH,
        "hash_of(found.members), shape.depth, shape.leaves,",
        "hash_of(found.members), shape.depth, FAULT ? 0 : shape.leaves,",
    ),
    Fault(
        "bit sets: the cache stores bounds one too high",
        BIT_SEARCH,
        "std::max(at->bound, outcome.value);",
        "std::max(at->bound, outcome.value + FAULT);",
    ),
)
OF_RULES = (
    Fault(
        "rules: the bound of multipliers is one too high",
        RULED_WEIGHTS,
        "return round_up(sum + offset - multipliers.constant, multipliers.scale);",
        "return round_up(sum + offset - multipliers.constant, multipliers.scale) + FAULT;",
    ),
    Fault(
        "rules: budgets are one step too small",
        RULED_WEIGHTS,
        "return objective * multipliers.scale + multipliers.constant - offset;",
        "return (objective - FAULT) * multipliers.scale + multipliers.constant - offset;",
    ),
    Fault(
        "fronts: a sub-tree that is one worse dominates",
        FRONT,
        "      if (x[k] > y[k]) return false;",
        "      if (x[k] > y[k] + FAULT) return false;",
    ),
    Fault(
        "fronts: measures are not compared",
        FRONT,
        "    for (std::size_t k : order_->components)\n      if (x[k]",
        "    for (std::size_t k : FAULT ? std::vector<std::size_t>() : order_->components)\n"
        "      if (x[k]",
    ),
    Fault(
        "fronts: which features were tested is not compared",
        FRONT,
        "if ((b & order_->wanted & ~a) || (a & order_->unwanted & ~b) || (open_ & ~a))"
        " return false;",
        "if ((!FAULT && ((b & order_->wanted & ~a) || (a & order_->unwanted & ~b))) ||"
        " (open_ & ~a)) return false;",
    ),
    Fault(
        "rules: both sides are given up one step too early",
        RULED_SEARCH,
        "    if (sides.ruled[0] + sides.ruled[1] >= room) return;",
        "    if (sides.ruled[0] + sides.ruled[1] + FAULT >= room) return;",
    ),
    Fault(
        "rules: sums of two sides are left out one step too early",
        RULED_SEARCH,
        "if (a.weighted + b.weighted >= tightened",
        "if (a.weighted + b.weighted + FAULT >= tightened",
    ),
)
OF_LISTS = (
    Fault(
        "lists: sides get one step less of the budget",
        TREE_GRAPH,
        "expand(hand, *split.side[s], room - least[1 - s]);",
        "expand(hand, *split.side[s], room - least[1 - s] - FAULT);",
    ),
    Fault(
        "lists: a side gets nothing of what the other leaves over",
        TREE_GRAPH,
        "    least[s] = trees[s]->least();",
        "    least[s] = FAULT ? room - least[1 - s] : trees[s]->least();",
    ),
    Fault(
        "lists: pairs of two sides are left out one step too early",
        TREE_GRAPH_PARTS,
        "if (l.key.weight + r.key.weight > room) break;",
        "if (l.key.weight + r.key.weight + FAULT > room) break;",
    ),
    Fault(
        "lists: cuts between two are dropped one step above their bound",
        TREE_GRAPH,
        "if (interval_bound(i, weights) >= room) continue;",
        "if (interval_bound(i, weights) + FAULT >= room) continue;",
    ),
    Fault(
        "lists: a cut is dropped one step above its bound",
        TREE_GRAPH,
        "if (value[0] + value[1] < room && may_stand",
        "if (value[0] + value[1] + FAULT < room && may_stand",
    ),
    Fault(
        "lists: a test of bit sets is dropped one step above its bound",
        TREE_GRAPH,
        "if (cut.least[0] + cut.least[1] + price <= growth.budget &&",
        "if (cut.least[0] + cut.least[1] + price + FAULT <= growth.budget &&",
    ),
    Fault(
        "lists: splits of two leaves are dropped one step too early",
        TREE_GRAPH,
        "    if (least > growth.budget) continue;",
        "    if (least + FAULT > growth.budget) continue;",
    ),
    Fault(
        "lists: the last gap of a feature is never tried above two leaves",
        TREE_GRAPH,
        "at + 1 < ranks.size(); ++at) {",
        "at + 1 + FAULT < ranks.size(); ++at) {",
    ),
    Fault(
        "lists: splits of two leaves of one class are told",
        TREE_GRAPH,
        "if (listing_.collapse && a == b) continue;",
        "if (!FAULT && listing_.collapse && a == b) continue;",
    ),
    Fault(
        "lists: splits of two leaves of one class are counted",
        TREE_GRAPH,
        "counts[std::move(key)] -= BigCount(1);",
        "counts[std::move(key)] -= BigCount(1 - FAULT);",
    ),
    Fault(
        "lists: nodes are kept without how many leaves they may have",
        TREE_GRAPH,
        "static_cast<std::uint64_t>(most);\n  const",
        "static_cast<std::uint64_t>(FAULT ? 0 : most);\n  const",
    ),
    Fault(
        "lists: nodes are kept without the state of the path",
        TREE_GRAPH,
        "static_cast<std::uint64_t>(state) << 31",
        "static_cast<std::uint64_t>(FAULT ? 0 : state) << 31",
    ),
    Fault(
        "lists: nodes are kept without their depth",
        TREE_GRAPH,
        "static_cast<std::uint64_t>(depth) << 56",
        "static_cast<std::uint64_t>(FAULT ? 0 : depth) << 56",
    ),
    Fault(
        "lists: a tree is told for each way to share its leaves",
        TREE_GRAPH_PARTS,
        "if (split.left_leaves > 0 && key.leaves != split.left_leaves) continue;",
        "if (!FAULT && split.left_leaves > 0 && key.leaves != split.left_leaves) continue;",
    ),
    Fault(
        "lists: which features were tested is forgotten above",
        TREE_GRAPH,
        "key.facts = own.facts | left.facts | right.facts;",
        "key.facts = own.facts | (FAULT ? 0 : left.facts | right.facts);",
    ),
    Fault(
        "lists: of classes that weigh alike the right side's first one is taken",
        TREE_GRAPH_PARTS,
        "at->key.weight == sum - key.weight; ++at) {",
        "at->key.weight == sum - key.weight; at = FAULT ? right.classes.end() : at + 1) {",
    ),
    Fault(
        "lists: the last tree of a class of a side is forgotten",
        TREE_GRAPH_LIST,
        "  if (reduce_) keep_new(n, c);",
        "  if (FAULT && c.items.size() > 1) c.items.pop_back();\n  if (reduce_) keep_new(n, c);",
    ),
    Fault(
        "lists: values just above those that were told are passed over",
        ENUMERATE,
        "value <= upto && value > told_upto_)",
        "value <= upto && value > told_upto_ + FAULT)",
    ),
    Fault(
        "lists: the worst values are passed over",
        ENUMERATE,
        "return value <= listing_.at_most ? value : kInfinite;",
        "return value <= listing_.at_most - FAULT ? value : kInfinite;",
    ),
)
OF_NUMBERS = (
    Fault(
        "pair sums: the lighter side forgets its last row",
        PAIR_SUMS,
        "    in.rows = count;",
        "    in.rows = count - (FAULT && count > 1);",
    ),
    Fault(
        "pair sums: a side keeps the sums of all rows",
        PAIR_SUMS,
        "  out.all.subtract(part.all);",
        "  if (!FAULT) out.all.subtract(part.all);",
    ),
    Fault(
        "pair sums: the quarters of a pair are exchanged",
        PAIR_SUMS,
        "its_one = both + other,\n          its_none = own + neither;",
        "its_one = both + (FAULT ? own : other),\n"
        "          its_none = (FAULT ? other : own) + neither;",
    ),
    Fault(
        "numbers: both sides are given up too early",
        REGRESSION_SEARCH,
        "    if (value[0] + value[1] >= upper - tolerance_) {",
        "    if ((1 + FAULT) * (value[0] + value[1]) >= upper - tolerance_) {",
    ),
    Fault(
        "numbers: a node is given up too early",
        REGRESSION_SEARCH,
        "  if (lower >= upper - tolerance_) return {lower, false, {}};",
        "  if ((1 + FAULT) * lower >= upper - tolerance_) return {lower, false, {}};",
    ),
)
