"""Every code of a diagnostic: what it says in one line, and a text that earns it.

A code never changes its meaning and is never given to another mistake. `example` is a spec or a
part of one; empty where the mistake is not in the text of a spec.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """One registered code."""

    code: str
    meaning: str
    example: str = ""


_ALL: tuple[tuple[str, str, str], ...] = (  # code, meaning, example
    # ---- F: files
    ("F001", "the spec file does not exist", ""),
    ("F002", "the spec file is a directory", ""),
    ("F003", "the spec file is larger than 1 MB", ""),
    ("F004", "the spec file is not UTF-8", ""),
    ("F005", "the spec file holds zero bytes", ""),
    ("F006", "the spec file is an OpenDocument file or another archive", ""),
    ("F007", "the spec file cannot be read", ""),
    ("F201", "a saved tree cannot be read", ""),
    ("F202", "a saved tree is larger than 50 MB", ""),
    ("F203", "a saved tree is not JSON, or cut short", ""),
    ("F204", "a JSON file is not a saved tree", ""),
    ("F205", "a saved tree of an unknown version", ""),
    ("F206", "a saved tree has a key missing, unknown or repeated", ""),
    ("F207", "a value in a tree has a wrong type or does not fit its place", ""),
    ("F208", "a tree deeper than 64", ""),
    ("F209", "a number in a tree is not finite", ""),
    ("F210", "a tree speaks of a feature, level or class that it does not have", ""),
    ("F211", "a tree cannot be written", ""),
    # ---- U: use of what was solved
    ("U201", "the data to predict on lack a column that the tree tests", ""),
    ("U202", "an array to predict on has a wrong shape", ""),
    ("U203", "a cell of a number column to predict on is not a number", ""),
    ("U204", "a cell to predict on is no level of its ordered column", ""),
    ("U205", "a mapping to predict on holds single values", ""),
    ("U206", "class shares of a tree of number targets", ""),
    # ---- S: syntax
    ("S001", "something else should stand here", "drop 5"),
    ("S002", "no statement starts with this word", "tagret y"),
    ("S003", "a statement ends too early", "rule r: errors <="),
    ("S004", "a character that means nothing here", "drop a; b"),
    ("S005", "a text without its closing quote", 'data "x.csv'),
    ("S006", "single quotes around a text", "data 'x.csv'"),
    ("S007", "an opening bracket without its partner", "rule r: (a"),
    ("S008", "a closing bracket without its partner", "rule r: a)"),
    ("S009", "a percent sign without a number", "rule r: accuracy >= %"),
    ("S010", "an operator of another language", "rule r: errors =< 3"),
    ("S011", "a chain of three comparisons", "rule r: 0 < a < b < 1"),
    ("S012", "a `forall` inside a rule", "rule r: not forall leaf: size > 1"),
    ("S013", "`forall` over an unknown scope", "rule r: forall paths: cost < 3"),
    ("S014", "a rule without a name", "rule errors <= 3"),
    ("S015", "a missing colon, of a rule, a scope or a type", "rule r errors <= 3"),
    ("S016", "a keyword where a name should stand", "rule r: if <= 3"),
    ("S017", "a number in another notation", "cost a = 1,5"),
    ("S018", "a number that has to be whole", "solve threads 1.5"),
    ("S019", "a number with too many digits", "cost a = 1e999"),
    ("S020", "a limit without a unit, or with an unknown one", "solve within 60"),
    ("S021", "a column of several words without backticks", "drop math score"),
    ("S022", "a missing comma", "tree depth <= 3 leaves <= 6"),
    ("S023", "a skeleton bound with `=`", "tree depth = 3"),
    ("S024", "a keyword in another spelling", "minimise errors"),
    ("S025", "an unknown escape in a text", r'data "C:\data.csv"'),
    ("S026", "a backtick without its partner", "drop `math score"),
    ("S027", "an expression that nests too deep", ""),
    ("S028", "an unknown word, or one that is missing", "target y: numeric"),
    ("S029", "a word that is no source of data", "data iris"),
    ("S030", "a type of features for a target, or the reverse", "feature a: class"),
    ("S031", "something said twice in a statement", "tree splits axis, splits axis"),
    ("S032", "a condition inside arithmetic", "rule r: 1 + not (a) <= 3"),
    ("S090", "a tree built in Python that no text can say", ""),
)

CODES: dict[str, Code] = {
    code: Code(code=code, meaning=meaning, example=example) for code, meaning, example in _ALL
}
"""All codes, by stage."""
