"""What each keyword says, in a sentence: for hovers. A test holds it to the grammar's keywords."""

from __future__ import annotations

from odtdsl.base.back_ends import wishes_text

MEANINGS: dict[str, str] = {
    # ---- statements
    "data": 'The rows: `data "train.csv"` (CSV, TSV, Parquet, ARFF), `data sklearn "wine"`,'
    ' `data openml "haberman"`, or `data frame` for rows from Python.',
    "target": 'What is predicted: a class column (`target y positive "yes"`), numbers'
    " (`target a, b: number`), a choice (`target choice {a, b} by reward`),"
    " or survival (`target survival months event died`).",
    "feature": "The type of columns: `feature a, b: number`, `category`, `ordered {...}`, `binary`."
    " Types are inferred where nothing is said.",
    "drop": "Columns that no split may test; groups, weights and rules about rows may use them.",
    "weight": "The column of row weights.",
    "missing": "What happens to missing values: `refuse` (an error), `drop` the rows, send them"
    " `left` or `right`, or let each split `branch` as is best.",
    "candidates": "Where a number may be split: `at midpoints`, `at quantiles 10`,"
    " `at {40, 50, 60}`, `at guessed`, or in bins: `at bins 3`.",
    "cost": "The price of asking for a feature: `cost chol = 7.27`; `cost {a, b} shared = 5` is"
    " paid once on a path that asks any of them.",
    "loss": 'What an error costs: `loss predict "no" when "yes" = 5`. Unlisted errors cost 1.',
    "group": 'A named set of rows: `group women = sex = "female"`.',
    "let": "A named number or expression; `odt solve --set NAME=VALUE` overrides it.",
    "tree": "A decision tree: `tree depth <= 3, leaves <= 6`; `tree` alone where the objective"
    " makes it small.",
    "diagram": "A decision diagram with so many nodes in each layer: `diagram widths 1, 2, 4`.",
    "minimize": "What is made least; after `then`, among the models that are best before.",
    "maximize": "What is made largest; after `then`, among the models that are best before.",
    "rule": "A condition that the model keeps: `rule NAME: condition`, or for every path, leaf or"
    " split: `rule NAME: forall path: condition`.",
    "solve": "How to solve, unless the command line says otherwise:"
    " `solve using exact, within 60 s, gap 1%`.",
    # ---- options of data
    "test": 'Rows to report on: a file, `test "test.csv"`, or a share,'
    " `test 33% stratified seed 1`; `test 33% by patient` keeps the rows of each value together.",
    "stratified": "The share of test rows keeps the shares of the classes.",
    "seed": "The number that fixes what is drawn at random.",
    "na": 'Marks of missing values, besides empty cells and NaN: `na {"?", "NA"}`.',
    "separator": 'What stands between the cells: `separator ";"`; `" "` is any run of blanks.',
    "decimal": 'The decimal sign of the numbers of a file: `decimal ","`.',
    "thousands": 'What stands between thousands in the numbers of a file: `thousands "."`.',
    "header": "`header none`: the first line is data, and columns are `c1`, `c2`, ...",
    "sheet": 'The sheet of an Excel file, by default the first: `sheet "2024"`.',
    "encoding": 'The encoding of a file that is not UTF-8: `encoding "latin-1"`.',
    "days": "Columns of dates that are read as days since 1970-01-01: `days {admitted}`.",
    "parts": "Columns of dates that are read as year, month and weekday: `parts {admitted}` makes"
    " `admitted_year`, `admitted_month` and `admitted_weekday`.",
    "dates": 'Whether dates that end in the year begin with the day or the month: `dates "dmy"`.',
    "id": "The column that names the rows, for `row in {...}`; it is no feature.",
    # ---- types
    "number": "A number: tests ask `x <= t`. `number step 1` for values on a grid.",
    "integer": "A whole number: `number step 1`.",
    "category": "Labels without an order: tests ask `x == v`.",
    "ordered": "Labels in an order: `ordered {low, middle, high}`; tests ask `x <= v`.",
    "binary": "Two values.",
    "class": 'The classes of the target, in order: `class {"no", "yes"}`.',
    "step": "The grid that the values lie on: `number step 0.5`.",
    "positive": "The class that the target is about; in two classes the upper one.",
    "event": "The column that says whether the event came: `target survival months event died`.",
    "by": "What columns of choices hold: `target choice {a, b} by reward`, or `by loss`. Behind a"
    " share of test rows the column whose values stay together: `test 33% by patient`.",
    # ---- candidates, costs, losses
    "at": "Says where candidates are.",
    "exact": "The middle of each gap, with all its digits, instead of its shortest decimal.",
    "midpoints": "Every gap between two values: the default. The shortest decimal of the gap comes"
    " out; with `midpoints exact` its middle.",
    "quantiles": "The cut points of so many equal shares of the rows.",
    "bins": 'Quantile bins: tests ask "in this bin?", as in the CPTree study.',
    "guessed": "The thresholds of a small boosted ensemble.",
    "shared": "Paid once on a path that asks any of the columns.",
    "predict": "The predicted class of an error.",
    "when": "The true class of an error.",
    # ---- skeletons
    "depth": "The most splits on a path.",
    "leaves": "The number of leaves.",
    "nodes": "Splits and leaves together.",
    "splits": "The number of splits; or how rows are split: `splits axis`, `splits hyperplane`.",
    "widths": "The most nodes in each layer of a diagram, from the root.",
    # ---- objective, rules
    "then": "The next stage of an objective; or what follows a condition: `if a then b`.",
    "forall": "The condition holds for every `path`, `leaf` or `split`.",
    "if": "`if a then b`: where a holds, b does.",
    "and": "Both hold.",
    "or": "At least one holds.",
    "not": "It does not hold.",
    "in": "Is one of `{...}`, or within `[low, high]`, both ends included.",
    "is": "`x is missing`: the row has no value.",
    "before": "`a before b`: on every path, each test of a stands above each test of b.",
    "requires": "`b requires a`: each test of b has a test of a above it.",
    "multiple_of": "`threshold(f) multiple_of 5`: the threshold is a multiple.",
    # ---- limits
    "using": f"The back end: {wishes_text('`')}.",
    "within": "The time limit: `within 60 s`, `2 min`, `1 h`.",
    "gap": "Stop where the bound is this near: `gap 1%`, or `gap 18` in units of the objective.",
    "until": "Stop early: `until gap 5%`, or `until steady 10 s`.",
    "steady": "No better model came for so long: `until steady 10 s`.",
    "threads": "The number of threads.",
    "memory": "The memory limit: `memory 4 GB`.",
    "start": 'A saved tree to start from: `start "tree.json"`.',
    "s": "Seconds.",
    "min": "Minutes.",
    "h": "Hours.",
    "MB": "Megabytes.",
    "GB": "Gigabytes.",
}

FUNCTIONS: dict[str, str] = {
    "abs": "`abs(x)`: the size of a number without its sign.",
    "sum": "`sum(a, b, ...)`: all added up.",
    "count": "`count(c1, ..., cn)`: how many of the conditions hold.",
}
"""Words in call form that are no terms."""

SCOPES: dict[str, str] = {
    "path": "Every path from the root to a leaf.",
    "leaf": "Every leaf.",
    "split": "Every split (branch node).",
}
SPLITS = ("axis", "hyperplane")
ENCODINGS = ("utf-8", "latin-1", "cp1252", "utf-16")
