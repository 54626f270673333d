"""A model as a TreeModel of PMML 4.4."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from odtdsl.base.diagnostics.model import error
from odtdsl.base.printing import printable
from odtdsl.datasets.dataset import Value
from odtdsl.datasets.levels import level_text
from odtdsl.predictors.leaves import leaf_shares
from odtdsl.presentation.exports.base import Format
from odtdsl.presentation.exports.names import check_name, refuse_texts
from odtdsl.presentation.exports.plan import (
    AtMost,
    Cell,
    Column,
    Condition,
    End,
    Item,
    OneOf,
    Plan,
    Plane,
    Term,
)

NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
SIGNS = {">=": "greaterOrEqual", "<=": "lessOrEqual", "<": "lessThan"}


def to_pmml(plan: Plan, name: str | None = None) -> str:
    """A PMML document.

    A split is a node with two children: the left one with the condition, the right one with
    `True`. Where the condition is unknown, the cell being missing, the default child decides.
    What `predict` refuses is an invalid value, and evaluators return no result. Hyperplanes are
    derived fields.

    Parameters
    ----------
    plan
        The model.
    name
        Of the model; default none.

    Raises
    ------
    OdtError
        U371: several targets, of which a TreeModel predicts one; a target and a feature of one
        name, or a name that is empty; characters that XML cannot hold. U373: such in `name`.
    """
    refuse_texts(plan, "pmml", NOT_XML, "characters that XML cannot hold")
    check_name(name, "pmml", NOT_XML, "characters that XML cannot hold")
    _check(plan)
    return "\n".join(_Writer(plan, name).lines()) + "\n"


FORMAT = Format(
    what="a TreeModel of PMML 4.4",
    suffixes=(".pmml", ".xml"),
    begins=rb'<\?xml [^\n]*\n<PMML [^\n]*\n\s*<Header [^\n]*\n\s*<Application name="odtdsl"/>',
    write=to_pmml,
)


def _check(plan: Plan) -> None:
    if len(plan.targets) > 1:
        raise error(
            "U371",
            f"a PMML tree predicts one target, but this tree predicts {len(plan.targets)}",
            helps=("export to onnx, sql, python or c",),
        )
    names = [*plan.targets, *(column.name for column in plan.columns)]
    for name in names:
        if not name or names.count(name) > 1:
            what = "an empty name" if not name else f"`{printable(name)}` as target and as feature"
            raise error(
                "U371",
                f"PMML identifies fields by name, but there is {what}",
                helps=("rename it in the data, or export to onnx, sql, python or c",),
            )


class _Writer:
    def __init__(self, plan: Plan, name: str | None) -> None:
        self.plan, self.name = plan, name
        self.planes: dict[Plane, str] = {}
        taken = {*plan.targets, *(column.name for column in plan.columns)}
        for fork in plan.forks():
            if isinstance(fork.question, Plane) and fork.question not in self.planes:
                number = len(self.planes) + 1
                while f"hyperplane {number}" in taken:
                    number += 1
                taken.add(f"hyperplane {number}")
                self.planes[fork.question] = f"hyperplane {number}"
        self.nodes = 0

    def lines(self) -> Iterator[str]:
        plan = self.plan
        kind = "classification" if plan.classes else "regression"
        yield '<?xml version="1.0" encoding="UTF-8"?>'
        yield '<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">'
        yield f"  <Header description={attribute(plan.title)}>"
        yield '    <Application name="odtdsl"/>'
        yield "  </Header>"
        yield f'  <DataDictionary numberOfFields="{len(plan.columns) + 1}">'
        for column in plan.columns:
            yield from _data_field(column)
        yield from self.target_field()
        yield "  </DataDictionary>"
        named = f" modelName={attribute(self.name)}" if self.name else ""
        yield (
            f'  <TreeModel{named} functionName="{kind}" missingValueStrategy="defaultChild"'
            ' splitCharacteristic="binarySplit">'
        )
        yield "    <MiningSchema>"
        yield f'      <MiningField name={attribute(plan.targets[0])} usageType="target"/>'
        yield from map(_mining_field, plan.columns)
        yield "    </MiningSchema>"
        if self.planes:
            yield "    <LocalTransformations>"
            for plane, field in self.planes.items():
                yield from self.derived(plane, field)
            yield "    </LocalTransformations>"
        yield from self.item(plan.root, _asked_first(plan.refusing), "    ")
        yield "  </TreeModel>"
        yield "</PMML>"

    def target_field(self) -> Iterator[str]:
        name, classes = attribute(self.plan.targets[0]), self.plan.classes
        if not classes:
            yield f'    <DataField name={name} optype="continuous" dataType="double"/>'
            return
        yield f'    <DataField name={name} optype="categorical" dataType="{_type(classes)}">'
        yield from (f"      <Value value={attribute(level_text(label))}/>" for label in classes)
        yield "    </DataField>"

    # ---- nodes

    def item(self, item: Item, predicate: str, indent: str) -> Iterator[str]:
        self.nodes += 1
        if isinstance(item, End):
            yield from self.end(item, predicate, indent)
            return
        question = item.question
        here, left = self.nodes, self.nodes + 1
        # The right child comes after all below the left one.
        right = left + _size(item.left)
        if isinstance(question, Plane):
            field, default = self.planes[question], right
            words = simple(field, "lessThan", question.bound)
        else:
            default = left if question.missing else right
            words = condition(self.plan.columns[question.column].name, question.condition)
        yield f'{indent}<Node id="{here}" defaultChild="{default}">'
        yield f"{indent}  {predicate}"
        yield from self.item(item.left, words, indent + "  ")
        yield from self.item(item.right, "<True/>", indent + "  ")
        yield f"{indent}</Node>"

    def end(self, item: End, predicate: str, indent: str) -> Iterator[str]:
        leaf, plan = self.plan.leaves[item.leaf], self.plan
        if leaf.label is None:
            assert leaf.output is not None, "check_tree: a leaf says something"
            said, spread = repr(leaf.output[0]), []
        else:
            said = level_text(plan.classes[leaf.label])
            weights = leaf.class_weights or (0.0,) * len(plan.classes)
            shares = leaf_shares(leaf, len(plan.classes))
            spread = list(zip(plan.classes, weights, shares, strict=True))
        count = f' recordCount="{leaf.size}"' if plan.kind == "tree" else ""
        head = f'{indent}<Node id="{self.nodes}" score={attribute(said)}{count}>'
        if not spread:
            yield f"{head}{predicate}</Node>"
            return
        yield head
        yield f"{indent}  {predicate}"
        for label, weight, share in spread:
            yield (
                f"{indent}  <ScoreDistribution value={attribute(level_text(label))}"
                f' recordCount="{weight!r}" probability="{share!r}"/>'
            )
        yield f"{indent}</Node>"

    # ---- hyperplanes

    def derived(self, plane: Plane, field: str) -> Iterator[str]:
        yield f'      <DerivedField name={attribute(field)} optype="continuous" dataType="double">'
        total = ""
        for term in plane.terms:
            product = apply("*", constant(term.weight), self.cell(term))
            total = product if not total else apply("+", total, product)
        yield f"        {total}"
        yield "      </DerivedField>"

    def cell(self, term: Term) -> str:
        column = self.plan.columns[term.column]
        field = f"<FieldRef field={attribute(column.name)}/>"
        if term.value is not None:
            return apply(
                "if", apply("equal", field, _literal(term.value)), constant(1), constant(0)
            )
        if not column.ordered:
            return field
        rank = constant(len(column.levels) - 1)
        for i, level in reversed(list(enumerate(column.levels[:-1]))):
            rank = apply("if", apply("equal", field, _literal(level)), constant(i), rank)
        return rank


def _data_field(column: Column) -> Iterator[str]:
    """The declaration of a column; values are closed where `predict` refuses others."""
    name, text = attribute(column.name), column.kind == "text"
    optype = "categorical" if text or column.ordered else "continuous"
    kind = f'optype="{optype}" dataType="{"string" if text else "double"}"'
    if not column.ordered and not text:
        yield f"    <DataField name={name} {kind}/>"
        return
    yield f"    <DataField name={name} {kind}>"
    if text:
        yield '      <Value value="" property="missing"/>'
    levels = (level for level in column.levels if level != "")
    yield from (f"      <Value value={attribute(_cell_text(level))}/>" for level in levels)
    yield "    </DataField>"


def _mining_field(column: Column) -> str:
    """How a column is used: unseen categories count as they are, unknown ranks are invalid."""
    invalid = "returnInvalid" if column.ordered else "asIs"
    missing = ' missingValueTreatment="returnInvalid"' if column.weighed else ""
    name = attribute(column.name)
    return f'      <MiningField name={name} invalidValueTreatment="{invalid}"{missing}/>'


def condition(field: str, asked: Condition) -> str:
    """A predicate; unknown where the cell is missing."""
    if isinstance(asked, AtMost):
        return simple(field, "lessOrEqual", asked.value)
    if isinstance(asked, OneOf):
        if not asked.values:  # "" is missing, so that no text equals it
            return simple(field, "equal", "")
        parts = [simple(field, "equal", value) for value in asked.values]
        return parts[0] if len(parts) == 1 else _compound("or", parts)
    parts = [simple(field, SIGNS[sign], end) for sign, end in asked.ends]
    if not parts:
        # Each number is one or the other: true, and unknown where there is none.
        parts = [simple(field, "lessOrEqual", 0.0), simple(field, "greaterThan", 0.0)]
        return _compound("or", parts)
    return parts[0] if len(parts) == 1 else _compound("and", parts)


def _asked_first(columns: tuple[Column, ...]) -> str:
    """A predicate that is true of all rows, and reads columns of which some cells are invalid:
    evaluators read a column when it is asked for, and `predict` refuses a row whatever its
    path."""
    parts = [
        _compound(
            "or",
            [
                f'<SimplePredicate field={name} operator="{sign}"/>'
                for sign in ("isMissing", "isNotMissing")
            ],
        )
        for name in (attribute(column.name) for column in columns)
    ]
    if len(parts) < 2:
        return parts[0] if parts else "<True/>"
    return _compound("and", parts)


def simple(field: str, operator: str, value: Cell) -> str:
    """A comparison of a field with a value."""
    name, text = attribute(field), attribute(_cell_text(value))
    return f'<SimplePredicate field={name} operator="{operator}" value={text}/>'


def _compound(operator: str, parts: list[str]) -> str:
    """Predicates joined by `and` or `or`."""
    return f'<CompoundPredicate booleanOperator="{operator}">{"".join(parts)}</CompoundPredicate>'


def apply(function: str, *arguments: str) -> str:
    """A call of a built-in function."""
    return f'<Apply function="{function}">{"".join(arguments)}</Apply>'


def constant(value: float) -> str:
    """A number in an expression."""
    return f'<Constant dataType="double">{float(value)!r}</Constant>'


def _literal(value: Cell) -> str:
    if isinstance(value, str):
        text = escape(value, {"\r": "&#13;"})
        return f'<Constant dataType="string">{text}</Constant>'
    return constant(value)


def _cell_text(value: Cell) -> str:
    """A cell as PMML writes it: numbers with the digits that read back equal."""
    return value if isinstance(value, str) else repr(value)


def attribute(text: str) -> str:
    """A quoted attribute; line ends are spelled, for parsers make blanks of them."""
    return quoteattr(
        text, {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;", "\x85": "&#133;", "\u2028": "&#8232;"}
    )


def _type(classes: tuple[Value, ...]) -> str:
    """The type that keeps labels apart: integers have 32 bits, and doubles merge large ones."""
    if all(isinstance(label, int) and abs(label) < 2**31 for label in classes):
        return "integer"
    if any(isinstance(x, str) or (isinstance(x, int) and abs(x) > 2**53) for x in classes):
        return "string"
    return "double"


def _size(item: Item) -> int:
    """Nodes of a subtree."""
    return 1 if isinstance(item, End) else 1 + _size(item.left) + _size(item.right)
