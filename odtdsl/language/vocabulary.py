"""The words of the language in messages: names of terminals, and what people write instead."""

from __future__ import annotations

from collections.abc import Iterable

STATEMENTS = (
    "data",
    "target",
    "feature",
    "drop",
    "weight",
    "missing",
    "candidates",
    "cost",
    "loss",
    "group",
    "let",
    "tree",
    "diagram",
    "minimize",
    "maximize",
    "rule",
    "solve",
)
"""The keywords that start statements, in the order of the reference."""

SPELLINGS = {"minimise": "minimize", "maximise": "maximize"}

SCOPES_BY_WORD = {
    "path": "path",
    "paths": "path",
    "leaf": "leaf",
    "leafs": "leaf",
    "leaves": "leaf",
    "split": "split",
    "splits": "split",
}
"""What rules range over, in the number in which people write it."""

OTHER_STATEMENTS = {
    **SPELLINGS,
    "min": "minimize",
    "minimum": "minimize",
    "max": "maximize",
    "maximum": "maximize",
    "objective": "minimize",
    "constraint": "rule",
    "require": "rule",
    "dataset": "data",
    "load": "data",
    "read": "data",
    "label": "target",
    "class": "target",
    "predict": "target",
    "features": "feature",
    "input": "feature",
    "inputs": "feature",
    "ignore": "drop",
    "exclude": "drop",
    "weights": "weight",
    "def": "let",
    "define": "let",
    "var": "let",
    "param": "let",
    "const": "let",
    "costs": "cost",
    "groups": "group",
    "limit": "solve",
}
"""Words that other languages start such a statement with."""

OTHER_WORDS = {
    "numeric": "number",
    "numerical": "number",
    "float": "number",
    "real": "number",
    "continuous": "number",
    "double": "number",
    "int": "integer",
    "categorical": "category",
    "nominal": "category",
    "string": "category",
    "str": "category",
    "enum": "category",
    "bool": "binary",
    "boolean": "binary",
    "ordinal": "ordered",
    "factor": "category",
    "label": "class",
    "labels": "class",
    "classes": "class",
    "time": "within",
    "timeout": "within",
    "limit": "within",
    "solver": "using",
    "backend": "using",
    "with": "using",
    "method": "using",
    "by": "using",
    "jobs": "threads",
    "cores": "threads",
    "max_depth": "depth",
    "height": "depth",
    "size": "nodes",
    "max_leaves": "leaves",
    "tolerance": "gap",
    "ram": "memory",
    "width": "widths",
    "split": "splits",
    "delimiter": "separator",
    "sep": "separator",
    "implies": "then",
    "instead": "when",
    "random_state": "seed",
    "patience": "until",
    "needs": "requires",
    "precedes": "before",
    "null": "missing",
    "None": "missing",
    "nan": "missing",
    "NaN": "missing",
    "NA": "missing",
    "empty": "missing",
    "quantile": "quantiles",
}
"""Words for what has another name here; good only where that name could stand."""

WORDS_OF_TARGETS = dict.fromkeys(
    (
        "categorical",
        "category",
        "nominal",
        "string",
        "str",
        "enum",
        "factor",
        "binary",
        "bool",
        "boolean",
    ),
    "class",
)
"""Words that mean labels behind the colon of a target; elsewhere they mean a type of feature."""

UNITS = {
    "sec": "s",
    "secs": "s",
    "second": "s",
    "seconds": "s",
    "m": "min",
    "mins": "min",
    "minute": "min",
    "minutes": "min",
    "hour": "h",
    "hours": "h",
    "hr": "h",
    "hrs": "h",
    "mb": "MB",
    "mib": "MB",
    "gb": "GB",
    "g": "GB",
    "gib": "GB",
}

OPERATORS = {
    "=<": "<=",
    "=>": ">=",
    "<>": "!=",
    "===": "=",
    ":=": "=",
    "&&": "and",
    "&": "and",
    "||": "or",
    "|": "or",
    "!": "not",
    "~": "not",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "−": "-",
    "–": "-",
    "×": "*",
    "·": "*",
    "÷": "/",
    "∧": "and",
    "∨": "or",
    "¬": "not",
    "∈": "in",
    "⩽": "<=",
    "⩾": ">=",
    "≦": "<=",
    "≧": ">=",
}
"""Operators of other languages, longest first where one begins another."""

INFIX = ("and", "or", "before", "requires", "multiple_of", "then")
"""Words between two operands."""

_OPERAND = {"NAME", "NUMBER", "STRING", "QUOTED", "LPAR"}
_ARITHMETIC = {"PLUS", "MINUS", "STAR", "SLASH"}
_RELATIONS = {"COMPARISON", "EQUAL", "IN", "IS", "BEFORE", "REQUIRES", "MULTIPLE_OF"}
_PLAIN = {
    "COMMA": "`,`",
    "COLON": "`:`",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "LBRACE": "`{`",
    "RBRACE": "`}`",
    "LSQB": "`[`",
    "RSQB": "`]`",
    "EQUAL": "`=`",
    "PERCENT": "`%`",
    "STAR": "`*`",
    "COMPARISON": "`<=`",
    "STRING": 'a text in `"`',
    "MINUS": "`-`",
    "TIME_UNIT": "a unit (`s`, `min` or `h`)",
    "MEMORY_UNIT": "a unit (`MB` or `GB`)",
    "NUMBER_TYPE": "`number`",
}


MISSING_POLICIES = ["refuse", "drop", "left", "right", "branch"]
"""What a `missing` statement says of cells."""


def expected_words(terminals: Iterable[str]) -> list[str]:
    """What could stand somewhere, in words, the likeliest first."""
    left = set(terminals) - {"DATE"}  # stands where a number does
    words: list[str] = []

    def take(names: set[str], word: str) -> None:
        if names <= left:
            left.difference_update(names)
            words.append(word)

    statements = {word.upper() for word in STATEMENTS} | {"$END"}
    if statements <= left:
        left.difference_update(statements)
        ending = ["the next statement"]
    else:
        left.discard("$END")
        ending = []
    if left >= _OPERAND:
        take({"IF", "NOT"} | _OPERAND | {"MINUS"}, "a condition")
        take({"NOT"} | _OPERAND | {"MINUS"}, "a condition")
        take(_OPERAND | {"MINUS"}, "a name, a number or another expression")
    take(_ARITHMETIC | _RELATIONS, "a comparison or another operator")
    take(_ARITHMETIC, "an arithmetic operator")
    take({"NAME", "QUOTED"}, "a name")
    take({"NUMBER", "MINUS"}, "a number")
    take({"NUMBER"}, "a number")
    take({"NAME"}, "a word")
    take({"COMPARISON", "EQUAL"}, "a comparison")
    words.extend(_PLAIN.get(name) or f"`{name.lower()}`" for name in sorted(left))
    return words + ending


def one_of(words: list[str]) -> str:
    """`a`, `a or b`, `a, b or c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
