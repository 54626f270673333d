"""Turns lark's parse tree into the syntax tree. Nothing of lark leaves through here."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

from odtdsl.base.diagnostics.model import Diagnostic, Label
from odtdsl.base.diagnostics.suggest import closest
from odtdsl.base.source import Source, Span
from odtdsl.base.tasks import heads_of_targets, timed_targets
from odtdsl.language import ast
from odtdsl.language.constructors import negate
from odtdsl.language.vocabulary import SCOPES_BY_WORD

if TYPE_CHECKING:
    from lark import Tree

MAX_DIGITS = 400
"""Longest number literal, and largest decimal exponent: exact numbers grow with both."""

MOST_COMPLAINTS = 100
"""Of one text: what a file of nonsense would say more helps nobody."""


SCOPES = ("path", "leaf", "split")

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|(.))")
_ONLY_HEADS = {"if", "not"}


class Builder:
    """Builds the nodes of one text; what is wrong with them gathers in `diagnostics`.

    `offset` is where the parsed text begins in the source.
    """

    def __init__(self, source: Source, offset: int = 0) -> None:
        self.source = source
        self.offset = offset
        self.diagnostics: list[Diagnostic] = []

    def statements(self, tree: Tree[Any]) -> tuple[ast.Statement, ...]:
        """The statements of a parse tree, in order."""
        return tuple(self.node(child) for child in tree.children)

    def node(self, tree: Any) -> Any:
        """The syntax node of a parse tree: calls the method named after its grammar rule."""
        return getattr(self, "_" + tree.data)(tree.children, self.span(tree))

    # ---- helpers

    def span(self, item: Any) -> Span:
        """The span of a tree or a token."""
        place = item.meta if hasattr(item, "children") else item
        return Span(start=self.offset + place.start_pos, end=self.offset + place.end_pos)

    def complain(
        self, code: str, message: str, span: Span, label: str = "", helps: tuple[str, ...] = ()
    ) -> None:
        """Adds an error, unless there are too many already."""
        if len(self.diagnostics) >= MOST_COMPLAINTS:
            return
        self.diagnostics.append(
            Diagnostic(
                code=code,
                message=message,
                labels=(Label(span=span, text=label),),
                helps=helps,
                source=self.source,
            )
        )

    def nodes(self, children: list[Any]) -> tuple[Any, ...]:
        """All nodes among the children; tokens between them are punctuation and keywords."""
        return tuple(self.node(child) for child in children if hasattr(child, "children"))

    def names(self, tree: Any) -> Any:
        """Columns, or the star that stands for them."""
        return self.node(tree)

    def word(self, tree: Any) -> str:
        """A name that is only a name: of a rule, a group, a `let`."""
        return cast(ast.Name, self.node(tree)).name

    def fraction(self, text: str, span: Span) -> Fraction:
        """The exact value of a decimal literal; too many digits are an error (S019)."""
        mantissa, _, exponent = text.lower().partition("e")
        if len(mantissa) > MAX_DIGITS or abs(int(exponent[:9] or 0)) > MAX_DIGITS:
            self.complain(
                "S019",
                "this number is too long",
                span,
                f"at most {MAX_DIGITS} digits, and exponents up to {MAX_DIGITS}",
            )
            return Fraction(0)
        return Fraction(text)

    def whole(self, tree: Any) -> int:
        """The value of a literal that must be a whole number, else an error (S018)."""
        number = cast(ast.Number, self.node(tree))
        if number.value.denominator != 1:
            self.complain("S018", "a whole number is needed here", number.span)
        return int(number.value)

    def string(self, token: Any) -> str:
        """The text of a string literal, with its escapes resolved."""

        def unescape(match: re.Match[str]) -> str:
            code, char = match.groups()
            if code is not None and int(code, 16) <= 0x10FFFF:
                return chr(int(code, 16))
            if char in _ESCAPES:
                return _ESCAPES[char]
            start = self.offset + token.start_pos + 1 + match.start()
            self.complain(
                "S025",
                f"unknown escape `{match[0]}`",
                Span(start=start, end=start + len(match[0])),
                helps=(
                    r"write `\\` for a backslash; the escapes are `\"`, `\\`, `\n`, `\t`, "
                    r"`\r` and `\u{...}`; in paths, `/` works on every system",
                ),
            )
            return ""

        return _ESCAPE.sub(unescape, token[1:-1]) if "\\" in token else str(token[1:-1])

    # ---- data

    def _data(self, c: list[Any], span: Span) -> ast.Data:
        return ast.Data(span=span, source=self.node(c[1]), options=self.nodes(c[2:]))

    def _file_source(self, c: list[Any], span: Span) -> ast.FileSource:
        return ast.FileSource(span=span, path=self.string(c[0]))

    def _library_source(self, c: list[Any], span: Span) -> ast.LibrarySource:
        return ast.LibrarySource(span=span, library=str(c[0]), name=self.string(c[1]))

    def _frame_source(self, c: list[Any], span: Span) -> ast.FrameSource:
        if c[0] != "frame":
            self.complain(
                "S029",
                f"`{c[0]}` alone does not name a data source",
                span,
                helps=(
                    (
                        f'for a file write `data "{c[0]}.csv"`, for a data set of a library '
                        f'`data {c[0]} "name"`, for a data frame passed from Python `data '
                        f"frame` (with `frame={c[0]}`, or `%%odt {c[0]}` in a notebook)"
                    ),
                ),
            )
        return ast.FrameSource(span=span)

    def _test_file(self, c: list[Any], span: Span) -> ast.TestFile:
        return ast.TestFile(span=span, path=self.string(c[1]))

    def _test_share(self, c: list[Any], span: Span) -> ast.TestShare:
        kinds = [getattr(child, "type", "") for child in c]
        return ast.TestShare(
            span=span,
            share=self.node(c[1]),
            by=self.node(c[kinds.index("BY") + 1]) if "BY" in kinds else None,
            stratified="STRATIFIED" in kinds,
            seed=self.whole(c[-1]) if "SEED" in kinds else None,
        )

    def _na_marks(self, c: list[Any], span: Span) -> ast.NaMarks:
        return ast.NaMarks(span=span, marks=self.node(c[1]).items)

    def _separator(self, c: list[Any], span: Span) -> ast.Separator:
        return ast.Separator(span=span, text=self.string(c[1]))

    def _decimal(self, c: list[Any], span: Span) -> ast.Decimal:
        return ast.Decimal(span=span, text=self.string(c[1]))

    def _thousands(self, c: list[Any], span: Span) -> ast.Thousands:
        return ast.Thousands(span=span, text=self.string(c[1]))

    def _header(self, c: list[Any], span: Span) -> ast.Header:
        return ast.Header(span=span, word=str(c[1]))

    def _encoding(self, c: list[Any], span: Span) -> ast.Encoding:
        return ast.Encoding(span=span, name=self.string(c[1]))

    def _sheet(self, c: list[Any], span: Span) -> ast.Sheet:
        return ast.Sheet(span=span, name=self.string(c[1]))

    def _id_column(self, c: list[Any], span: Span) -> ast.IdColumn:
        return ast.IdColumn(span=span, column=self.node(c[1]))

    def _days(self, c: list[Any], span: Span) -> ast.Days:
        return ast.Days(span=span, columns=self.node(c[1]).items)

    def _parts(self, c: list[Any], span: Span) -> ast.Parts:
        return ast.Parts(span=span, columns=self.node(c[1]).items)

    def _dates(self, c: list[Any], span: Span) -> ast.Dates:
        return ast.Dates(span=span, order=self.string(c[1]))

    def _target(self, c: list[Any], span: Span) -> ast.Target:
        kinds = [getattr(child, "type", "") for child in c]
        kind = self.node(c[kinds.index("COLON") + 1]) if "COLON" in kinds else None
        if kind is not None and kind.kind in ("category", "binary"):
            self.complain(
                "S030",
                f"`{kind.kind}` is a type for features, not for targets",
                kind.span,
                helps=("for a target with labels write `class`",),
            )
        return ast.Target(
            span=span,
            columns=self.node(c[1]),
            type=kind,
            positive=self.node(c[-1]) if "POSITIVE" in kinds else None,
        )

    def _choice_target(self, c: list[Any], span: Span) -> ast.Target:
        head, by = c[1], c[-1]
        if head not in heads_of_targets():
            self.complain(
                "S028",
                f"`target {head} {{...}} by ...` is not a kind of target",
                self.span(head),
                f"write `{heads_of_targets()[0]}`",
            )
        return ast.Target(
            span=span,
            columns=self.node(c[3]),
            type=ast.TypeSpec(span=self.span(head), kind=str(head)),
            by=ast.Name(span=self.span(by), name=str(by)),
        )

    def _timed_target(self, c: list[Any], span: Span) -> ast.Target:
        head = c[1]
        if head not in timed_targets():
            self.complain(
                "S028",
                f"`target {head} ... event ...` is not a kind of target",
                self.span(head),
                f"write `{timed_targets()[0]}`",
            )
        return ast.Target(
            span=span,
            columns=(self.node(c[2]), self.node(c[4])),
            type=ast.TypeSpec(span=self.span(head), kind=str(head)),
        )

    def _feature(self, c: list[Any], span: Span) -> ast.Feature:
        kind = self.node(c[3])
        if kind.kind == "class":
            self.complain(
                "S030",
                "`class` is a type for targets, not for features",
                kind.span,
                helps=("for a feature with labels write `category`",),
            )
        return ast.Feature(span=span, columns=self.node(c[1]), type=kind)

    def _number_type(self, c: list[Any], span: Span) -> ast.TypeSpec:
        step = self.node(c[2]) if len(c) > 1 else None
        return ast.TypeSpec(span=span, kind="number", step=step)

    def _class_type(self, c: list[Any], span: Span) -> ast.TypeSpec:
        values = self.node(c[1]).items if len(c) > 1 else None
        return ast.TypeSpec(span=span, kind=str(c[0]), values=values)

    _ordered_type = _class_type

    def _plain_type(self, c: list[Any], span: Span) -> ast.TypeSpec:
        return ast.TypeSpec(span=span, kind=str(c[0]))

    def _drop(self, c: list[Any], span: Span) -> ast.Drop:
        return ast.Drop(span=span, columns=self.node(c[1]))

    def _weight(self, c: list[Any], span: Span) -> ast.Weight:
        return ast.Weight(span=span, column=self.node(c[1]))

    def _missing(self, c: list[Any], span: Span) -> ast.Missing:
        columns = self.node(c[2]) if len(c) > 2 else None
        return ast.Missing(span=span, policy=str(c[-1]), columns=columns)

    def _candidates(self, c: list[Any], span: Span) -> ast.Candidates:
        columns, place = self.node(c[1]), c[3]
        if place.data == "listed_place":
            values = self.node(place.children[0]).items
            return ast.Candidates(span=span, columns=columns, place="values", values=values)
        count = self.whole(place.children[1]) if place.data == "counted_place" else None
        words = place.children[:1] if place.data == "counted_place" else place.children
        said = " ".join(str(word) for word in words if word is not None)
        return ast.Candidates(span=span, columns=columns, place=said, count=count)

    def _cost(self, c: list[Any], span: Span) -> ast.Cost:
        return ast.Cost(span=span, items=self.nodes(c))

    def _own_cost(self, c: list[Any], span: Span) -> ast.CostItem:
        who = self.node(c[0])
        columns = who if isinstance(who, ast.Star) else (who,)
        return ast.CostItem(span=span, columns=columns, shared=False, amount=self.node(c[2]))

    def _shared_cost(self, c: list[Any], span: Span) -> ast.CostItem:
        return ast.CostItem(
            span=span, columns=self.node(c[1]), shared=True, amount=self.node(c[-1])
        )

    def _loss(self, c: list[Any], span: Span) -> ast.Loss:
        predicted, actual, amount = self.nodes(c)
        return ast.Loss(span=span, predicted=predicted, actual=actual, amount=amount)

    def _group(self, c: list[Any], span: Span) -> ast.Group:
        return ast.Group(span=span, name=self.word(c[1]), condition=self.node(c[3]))

    def _let(self, c: list[Any], span: Span) -> ast.Let:
        return ast.Let(span=span, name=self.word(c[1]), value=self.node(c[3]))

    # ---- skeleton, objective, rules, solve

    def _tree(self, c: list[Any], span: Span) -> ast.Tree:
        bounds = tuple(self.node(child) for child in c if getattr(child, "data", "") == "bound")
        splits = [child for child in c if getattr(child, "data", "") == "splits"]
        for second in splits[1:]:
            self.complain("S031", "`splits` is given twice", self.span(second))
        return ast.Tree(
            span=span, bounds=bounds, splits=str(splits[0].children[1]) if splits else None
        )

    def _bound(self, c: list[Any], span: Span) -> ast.SkeletonBound:
        value, measure, op = self.node(c[2]), str(c[0]), _operator(c[1])
        if op == "=":
            said = value.text or str(value.value)
            self.complain(
                "S023",
                f"the skeleton takes only an upper bound on `{measure}`",
                self.span(c[1]),
                f"write `{measure} <= {said}`",
                (f"for exactly {said}, also write `rule exact: {measure} = {said}`",),
            )
        return ast.SkeletonBound(span=span, measure=measure, op=op, value=value)

    def _diagram(self, c: list[Any], span: Span) -> ast.Diagram:
        numbers = [child for child in c if getattr(child, "data", "") in ("signed", "date")]
        widths = tuple(map(self.whole, numbers))
        last = c[-1]
        splits = str(last.children[1]) if last.data == "splits" else None
        return ast.Diagram(span=span, widths=widths, splits=splits)

    def _objective(self, c: list[Any], span: Span) -> ast.Objective:
        stages: list[ast.Stage] = []
        sense, start = None, None
        for child in c:
            if hasattr(child, "children"):
                measure = self.node(child)
                whole = measure.span if start is None else start.to(measure.span)
                stages.append(ast.Stage(span=whole, sense=sense, measure=measure))
                sense, start = None, None
            elif child.type != "THEN":
                sense, start = cast(Any, str(child)), self.span(child)
        return ast.Objective(span=span, stages=tuple(stages))

    def _rule(self, c: list[Any], span: Span) -> ast.Rule:
        condition, name, name_span = self.node(c[-1]), self.word(c[1]), self.span(c[1])
        if len(c) == 4:
            return ast.Rule(span=span, name=name, condition=condition, name_span=name_span)
        scope, scope_span = str(c[4]), self.span(c[4])
        if scope not in SCOPES:
            self._wrong_scope(scope, scope_span)
        return ast.Rule(
            span=span,
            name=name,
            name_span=name_span,
            condition=condition,
            scope=scope,
            scope_span=scope_span,
        )

    def _wrong_scope(self, scope: str, span: Span) -> None:
        guess = SCOPES_BY_WORD.get(scope) or closest(scope, SCOPES)
        if guess is not None:
            helps = (f"did you mean `forall {guess}:`?",)
        elif scope in ("model", "tree", "diagram"):
            helps = ("for a rule about the whole model, leave `forall` out",)
        else:
            helps = ("write `forall path:`, `forall leaf:` or `forall split:`",)
        self.complain("S013", f"a rule cannot range over `{scope}`", span, helps=helps)

    def _solve(self, c: list[Any], span: Span) -> ast.Solve:
        return ast.Solve(span=span, options=self.nodes(c))

    def _using(self, c: list[Any], span: Span) -> ast.Using:
        return ast.Using(span=span, backend=str(c[1]), settings=self.nodes(c))

    def _setting(self, c: list[Any], span: Span) -> ast.Setting:
        amount = self.node(c[3]) if len(c) > 3 else None
        return ast.Setting(span=span, key=str(c[0]), value=str(c[2]), amount=amount)

    def _counted_setting(self, c: list[Any], span: Span) -> ast.Setting:
        return ast.Setting(span=span, key=str(c[0]), value="", amount=self.node(c[2]))

    def _within(self, c: list[Any], span: Span) -> ast.Within:
        return ast.Within(span=span, amount=self.node(c[1]), unit=str(c[2]))

    def _gap_limit(self, c: list[Any], span: Span) -> ast.GapLimit:
        return ast.GapLimit(span=span, amount=self.node(c[-1]))

    def _steady(self, c: list[Any], span: Span) -> ast.Steady:
        return ast.Steady(span=span, amount=self.node(c[2]), unit=str(c[3]))

    def _threads(self, c: list[Any], span: Span) -> ast.Threads:
        return ast.Threads(span=span, count=self.whole(c[1]))

    def _seed(self, c: list[Any], span: Span) -> ast.Seed:
        return ast.Seed(span=span, value=self.whole(c[1]))

    def _memory(self, c: list[Any], span: Span) -> ast.Memory:
        return ast.Memory(span=span, amount=self.node(c[1]), unit=str(c[2]))

    def _warm_start(self, c: list[Any], span: Span) -> ast.Start:
        return ast.Start(span=span, path=self.string(c[1]))

    # ---- expressions

    def _if_then(self, c: list[Any], span: Span) -> ast.If:
        return ast.If(span=span, condition=self.node(c[1]), consequence=self.node(c[3]))

    def _disjunction(self, c: list[Any], span: Span) -> ast.Or:
        return ast.Or(span=span, items=self.nodes(c))

    def _conjunction(self, c: list[Any], span: Span) -> ast.And:
        return ast.And(span=span, items=self.nodes(c))

    def _not_(self, c: list[Any], span: Span) -> ast.Not:
        return ast.Not(span=span, operand=self.node(c[1]))

    def _compare(self, c: list[Any], span: Span) -> ast.Compare:
        ops = tuple(_operator(token) for token in c[1::2])
        return ast.Compare(span=span, operands=self.nodes(c), ops=ops)

    def _member(self, c: list[Any], span: Span) -> ast.Member:
        return ast.Member(span=span, item=self.node(c[0]), within=self.node(c[2]))

    def _is_missing(self, c: list[Any], span: Span) -> ast.IsMissing:
        return ast.IsMissing(span=span, item=self.node(c[0]))

    def _infix(self, c: list[Any], span: Span) -> ast.Infix:
        left, right = self.node(c[0]), self.node(c[2])
        return ast.Infix(span=span, word=cast(Any, str(c[1])), left=left, right=right)

    def _sum(self, c: list[Any], span: Span) -> ast.Expr:
        result: ast.Expr = self.node(c[0])
        for operator, operand in zip(c[1::2], c[2::2], strict=True):
            right = self.node(operand)
            result = ast.Binary(
                span=Span(start=span.start, end=self.span(operand).end),
                op=cast(Any, str(operator)),
                left=result,
                right=right,
            )
        return result

    _product = _sum

    def _negate(self, c: list[Any], span: Span) -> ast.Expr:
        return replace(negate(self.node(c[1])), span=span)

    def _paren(self, c: list[Any], span: Span) -> ast.Expr:
        inner: ast.Expr = self.node(c[1])
        return replace(inner, span=span)

    def _call(self, c: list[Any], span: Span) -> ast.Call:
        if c[0] in _ONLY_HEADS:
            self.complain(
                "S032",
                f"`{c[0]}` makes a condition, which cannot stand inside arithmetic",
                self.span(c[0]),
                helps=("put the whole condition in parentheses",),
            )
        return ast.Call(span=span, function=str(c[0]), args=self.nodes(c))

    def _number(self, c: list[Any], span: Span) -> ast.Number:
        text = "".join(c)
        return ast.Number(span=span, value=self.fraction(text, span), text=text)

    _signed = _number

    def _date(self, c: list[Any], span: Span) -> ast.Number:
        """A date as the number of days that `days` reads."""
        import datetime  # few specs have dates

        try:
            days = (datetime.date.fromisoformat(c[0]) - datetime.date(1970, 1, 1)).days
        except ValueError:
            self.complain("S034", f"`{c[0]}` is not a date", span, helps=("write `2021-03-04`",))
            days = 0
        return ast.Number(span=span, value=Fraction(days), text=str(c[0]))

    def _percentage(self, c: list[Any], span: Span) -> ast.Percent:
        text = "".join(c[:-1])
        return ast.Percent(span=span, value=self.fraction(text, span), text=text)

    _percent = _percentage

    def _text(self, c: list[Any], span: Span) -> ast.Text:
        return ast.Text(span=span, value=self.string(c[0]))

    def _column(self, c: list[Any], span: Span) -> ast.Name:
        if c[0].type == "QUOTED":
            return ast.Name(span=span, name=c[0][1:-1].replace("``", "`"), quoted=True)
        return ast.Name(span=span, name=str(c[0]))

    def _columns(self, c: list[Any], span: Span) -> tuple[ast.Name, ...]:
        return self.nodes(c)

    def _star(self, c: list[Any], span: Span) -> ast.Star:
        return ast.Star(span=span)

    def _set(self, c: list[Any], span: Span) -> ast.SetOf:
        return ast.SetOf(span=span, items=self.nodes(c))

    def _interval(self, c: list[Any], span: Span) -> ast.Interval:
        low, high = self.nodes(c)
        return ast.Interval(span=span, low=low, high=high)


def _operator(token: Any) -> Any:
    return "=" if token == "==" else str(token)
