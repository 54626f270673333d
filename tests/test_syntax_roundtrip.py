"""What is printed parses back equal, for every kind of node."""

from __future__ import annotations

from fractions import Fraction

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from scale import scaled

from odtdsl.base.diagnostics.model import OdtError
from odtdsl.base.source import Source
from odtdsl.language import ast, constructors
from odtdsl.language.parser import parse
from odtdsl.language.printer import expr_to_text, format_source, to_text

WORDS = (
    "a",
    "größe",
    "cost",
    "if",
    "not",
    "forall",
    "minimize",
    "maximize",
    "rule",
    "in",
    "is",
    "and",
    "then",
    "missing",
    "before",
    "at",
    "s",
    "frame",
    "x_1",
    "Ω",
)


def spec_of(text: str) -> ast.Spec:
    return parse(Source(name="text", text=text))


def optional(strategy: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.none() | strategy


plain = st.sampled_from([w for w in WORDS if w not in ("if", "not")])
any_text = st.text(st.characters(), max_size=6)
titles = st.text(st.characters(exclude_characters="\r\n"), min_size=1, max_size=6)
decimals = st.builds(
    lambda n, places: Fraction(n, 10**places), st.integers(-9999, 9999), st.integers(0, 5)
)
numbers = st.builds(lambda v: ast.Number(value=v), decimals)
percents = st.builds(lambda v: ast.Percent(value=v), decimals)
texts = st.builds(lambda v: ast.Text(value=v), any_text)
names = st.builds(lambda w: ast.Name(name=w, quoted=True), titles) | st.sampled_from(WORDS).map(
    lambda w: ast.Name(name=w)
)
safe_names = names.filter(lambda n: n.quoted or n.name not in constructors.HIDING)
literals = numbers | percents | texts | names
sets = st.lists(literals, min_size=1, max_size=3).map(lambda i: ast.SetOf(items=tuple(i)))
intervals = st.builds(lambda a, b: ast.Interval(low=a, high=b), numbers, numbers)
columns = st.lists(names, min_size=1, max_size=3).map(tuple)
columns_or_star = columns | st.just(ast.Star())


def _grow(inner: st.SearchStrategy[ast.Expr]) -> st.SearchStrategy[ast.Expr]:
    ops = st.sampled_from(["<=", ">=", "<", ">", "=", "!="])
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        st.builds(
            lambda f, a: ast.Call(function=f, args=tuple(a)),
            plain.filter(lambda w: w not in constructors.HIDING),
            st.lists(inner, max_size=3),
        ),
        inner.filter(lambda e: not isinstance(e, ast.Number | ast.Percent)).map(
            lambda e: ast.Negate(operand=e)
        ),
        st.builds(
            lambda o, a, b: ast.Binary(op=o, left=a, right=b), st.sampled_from("+-*/"), inner, inner
        ),
        st.builds(lambda a, b, o: ast.Compare(operands=(a, b), ops=(o,)), inner, inner, ops),
        st.builds(
            lambda a, b, c, o, p: ast.Compare(operands=(a, b, c), ops=(o, p)),
            inner,
            inner,
            inner,
            ops,
            ops,
        ),
        st.builds(lambda a, w: ast.Member(item=a, within=w), inner, sets | intervals),
        inner.map(lambda a: ast.IsMissing(item=a)),
        st.builds(
            lambda w, a, b: ast.Infix(word=w, left=a, right=b),
            st.sampled_from(["before", "requires", "multiple_of"]),
            inner,
            inner,
        ),
        inner.map(lambda a: ast.Not(operand=a)),
        several.map(lambda i: ast.And(items=i)),
        several.map(lambda i: ast.Or(items=i)),
        st.builds(lambda a, b: ast.If(condition=a, consequence=b), inner, inner),
    )


exprs = st.recursive(numbers | percents | texts | safe_names, _grow, max_leaves=8)
whole = st.integers(-3, 500)
data_options = st.one_of(
    any_text.map(lambda t: ast.TestFile(path=t)),
    st.builds(
        lambda p, s, n: ast.TestShare(share=p, stratified=s, seed=n),
        percents,
        st.booleans(),
        optional(whole),
    ),
    sets.map(lambda s: ast.NaMarks(marks=s.items)),
    any_text.map(lambda t: ast.Separator(text=t)),
    any_text.map(lambda t: ast.Decimal(text=t)),
    any_text.map(lambda t: ast.Thousands(text=t)),
    plain.map(lambda w: ast.Header(word=w)),
    any_text.map(lambda t: ast.Encoding(name=t)),
    any_text.map(lambda t: ast.Sheet(name=t)),
    names.map(lambda n: ast.IdColumn(column=n)),
)
sources = st.one_of(
    any_text.map(lambda t: ast.FileSource(path=t)),
    st.builds(lambda w, t: ast.LibrarySource(library=w, name=t), plain, any_text),
    st.just(ast.FrameSource()),
)
number_types = optional(numbers).map(lambda s: ast.TypeSpec(kind="number", step=s))  # type: ignore[arg-type]
ordered_types = sets.map(lambda s: ast.TypeSpec(kind="ordered", values=s.items))
integers = st.just(ast.TypeSpec(kind="integer"))
class_types = optional(sets).map(
    lambda s: ast.TypeSpec(kind="class", values=None if s is None else s.items)  # type: ignore[attr-defined]
)
feature_types = st.sampled_from(["category", "binary"]).map(lambda k: ast.TypeSpec(kind=k))
bounds = st.builds(
    lambda m, o, v: ast.SkeletonBound(measure=m, op=o, value=v),
    st.sampled_from(["depth", "leaves", "nodes", "splits"]),
    st.sampled_from(["<=", "<", ">", ">=", "!="]),
    numbers,
)
cost_items = st.one_of(
    st.builds(lambda c, a: ast.CostItem(columns=(c,), shared=False, amount=a), names, numbers),
    numbers.map(lambda a: ast.CostItem(columns=ast.Star(), shared=False, amount=a)),
    st.builds(lambda c, a: ast.CostItem(columns=c, shared=True, amount=a), columns, numbers),
)
options = st.one_of(
    st.builds(
        lambda b, s: ast.Using(backend=b, settings=tuple(s)),
        plain,
        st.lists(
            st.builds(
                lambda k, v, a: ast.Setting(key=k, value=v, amount=a),
                plain,
                plain,
                optional(numbers),
            ),
            max_size=2,
        ),
    ),
    st.builds(
        lambda a, u: ast.Within(amount=a, unit=u), numbers, st.sampled_from(["s", "min", "h"])
    ),
    (percents | numbers).map(lambda a: ast.GapLimit(amount=a)),
    st.builds(ast.Steady, amount=numbers, unit=st.sampled_from(["s", "min", "h"])),
    whole.map(lambda n: ast.Threads(count=n)),
    whole.map(lambda n: ast.Seed(value=n)),
    st.builds(lambda a, u: ast.Memory(amount=a, unit=u), numbers, st.sampled_from(["MB", "GB"])),
    any_text.map(lambda t: ast.Start(path=t)),
)
free_words = st.sampled_from(WORDS) | titles
stages = st.builds(
    lambda s, m: ast.Stage(sense=s, measure=m),
    st.sampled_from(["minimize", "maximize", None]),
    exprs,
)
splits = optional(plain)
statements = st.one_of(
    st.builds(
        lambda s, o: ast.Data(source=s, options=tuple(o)),
        sources,
        st.lists(data_options, max_size=3),
    ),
    st.builds(
        lambda c, t, p: ast.Target(columns=c, type=t, positive=p),
        columns,
        optional(number_types | ordered_types | integers | class_types),
        optional(literals),
    ),
    st.builds(
        lambda c, t: ast.Feature(columns=c, type=t),
        columns_or_star,
        number_types | ordered_types | integers | feature_types,
    ),
    columns.map(lambda c: ast.Drop(columns=c)),
    names.map(lambda c: ast.Weight(column=c)),
    st.builds(lambda p, c: ast.Missing(policy=p, columns=c), plain, optional(columns)),
    st.builds(
        lambda c, p: ast.Candidates(columns=c, place=p),
        columns_or_star,
        st.sampled_from(["midpoints", "midpoints exact", "guessed"]),
    ),
    st.builds(
        lambda c, p, n: ast.Candidates(columns=c, place=p, count=n),
        columns_or_star,
        st.sampled_from(["quantiles", "bins"]),
        whole,
    ),
    st.builds(
        lambda c, s: ast.Candidates(columns=c, place="values", values=s.items),
        columns_or_star,
        sets,
    ),
    st.lists(cost_items, min_size=1, max_size=3).map(lambda i: ast.Cost(items=tuple(i))),
    st.builds(
        lambda a, b, n: ast.Loss(predicted=a, actual=b, amount=n), literals, literals, numbers
    ),
    st.builds(lambda n, e: ast.Group(name=n, condition=e), free_words, exprs),
    st.builds(lambda n, e: ast.Let(name=n, value=e), free_words, exprs),
    st.builds(
        lambda b, s: ast.Tree(bounds=tuple(b), splits=s), st.lists(bounds, max_size=2), splits
    ),
    st.builds(
        lambda w, s: ast.Diagram(widths=tuple(w), splits=s),
        st.lists(whole, min_size=1, max_size=3),
        splits,
    ),
    st.builds(
        lambda m, s: ast.Objective(stages=(ast.Stage(sense="minimize", measure=m), *s)),
        exprs,
        st.lists(stages, max_size=2),
    ),
    st.builds(
        lambda n, e, s: ast.Rule(name=n, condition=e, scope=s),
        free_words,
        exprs,
        st.sampled_from([None, "path", "leaf", "split"]),
    ),
    st.lists(options, min_size=1, max_size=3).map(lambda o: ast.Solve(options=tuple(o))),
)
specs = st.lists(statements, max_size=3).map(lambda s: ast.Spec(statements=tuple(s)))


@settings(max_examples=scaled(400), deadline=None)
@given(specs)
def test_a_printed_tree_parses_back_equal(spec: ast.Spec) -> None:
    text = to_text(spec)
    assert spec_of(text) == spec
    assert to_text(spec_of(text)) == text
    assert format_source(Source(name="text", text=text)) == text


@settings(max_examples=scaled(150), deadline=None)
@given(specs, st.data())
def test_comments_and_line_breaks_anywhere_survive_the_formatter(
    spec: ast.Spec, data: st.DataObject
) -> None:
    """A comment after any token that a blank follows changes nothing and is kept."""
    text = to_text(spec)
    pieces: list[str] = []
    said: list[str] = []
    for line in text.split("\n")[:-1]:
        for i, word in enumerate(line.split(" ")):
            pieces.append(word if i == 0 else " " + word)
            quiet = not ('"' in line or "`" in line)
            if quiet and data.draw(st.integers(0, 5)) == 0:
                said.append(f"# note {len(said)}")
                pieces.append(f" {said[-1]}\n" + "\n" * data.draw(st.integers(0, 3)))
        pieces.append("\n")
    written = Source(name="text", text="".join(pieces))
    assert parse(written) == spec
    once = format_source(written)
    assert spec_of(once) == spec
    assert format_source(Source(name="text", text=once)) == once
    assert [c.text for c in spec_of(once).comments] == said


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("((a + b)) + c", "a + b + c"),
        ("a + (b + c)", "a + (b + c)"),
        ("a - (b - c)", "a - (b - c)"),
        ("(a * b) / c", "a * b / c"),
        ("a * (b / c)", "a * (b / c)"),
        ("-(a + b)", "-(a + b)"),
        ("- 5 + -(5)", "-5 + -5"),
        ("-5%", "-5%"),
        ("a == 1.50", "a = 1.50"),
        ("not (a < b)", "not a < b"),
        ("(not a) and b", "not a and b"),
        ("not (a and b)", "not (a and b)"),
        ("(a and b) or c", "a and b or c"),
        ("a and (b or c)", "a and (b or c)"),
        ("(a and b) and c", "(a and b) and c"),
        ("if (a) then (b)", "if a then b"),
        ("(if a then b) and c", "(if a then b) and c"),
        ('x in { "a\\"b" , 3 }', 'x in {"a\\"b", 3}'),
    ],
)
def test_parentheses_are_the_fewest(written: str, printed: str) -> None:
    rule = spec_of(f"rule r: {written}").statements[0]
    assert isinstance(rule, ast.Rule)
    assert expr_to_text(rule.condition) == printed


def test_smart_constructors_build_what_the_parser_builds() -> None:
    five = constructors.number(5)
    assert constructors.negate(five) == constructors.number(-5) == ast.Number(value=Fraction(-5))
    assert constructors.number(0.1) == ast.Number(value=Fraction(1, 10))
    assert expr_to_text(constructors.number(Fraction(-1, 3))) == "-1 / 3"
    a, b, c = (constructors.name(word) for word in ("a", "b c", "not"))
    assert [n.quoted for n in (a, b, c)] == [False, True, True]
    both = constructors.conjunction([constructors.conjunction([a, b]), c])
    assert both == ast.And(items=(a, b, c))
    assert constructors.disjunction([both]) is both
    rule = ast.Rule(name="r", condition=constructors.disjunction([both, constructors.negate(a)]))
    spec = ast.Spec(statements=(rule,))
    assert spec_of(to_text(spec)) == spec


@pytest.mark.parametrize(
    "expr",
    [
        ast.Number(value=Fraction(1, 3)),
        ast.Name(name="two\nlines", quoted=True),
        ast.Name(name="", quoted=True),
        ast.And(items=(ast.Name(name="a"),)),
        ast.Member(item=ast.Name(name="a"), within=ast.SetOf(items=())),
        ast.Call(function="not", args=()),
        ast.Call(function="two words", args=()),
    ],
)
def test_what_no_text_can_say_is_refused(expr: ast.Expr) -> None:
    with pytest.raises(OdtError) as caught:
        to_text(ast.Spec(statements=(ast.Rule(name="r", condition=expr),)))
    assert [d.code for d in caught.value.diagnostics] == ["S090"]


def test_comments_without_a_place_are_kept_too() -> None:
    comments = (ast.Comment(text="by hand\ntwo lines", own_line=True),)
    spec = ast.Spec(statements=(ast.Drop(columns=(constructors.name("a"),)),), comments=comments)
    assert to_text(spec) == "# by hand\n# two lines\ndrop a\n"
