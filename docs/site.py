"""Build the documentation as a site, without a warning.

Usage: python -m docs.site [FOLDER]

Needs the extra `docs` (Sphinx, myst-parser, furo). The pages are those of the repository, copied to
a scratch folder that is laid out alike, so that links lead where they lead there; their examples
are run by `docs.pages`. Two pages are made here: the first one, from docs/README.md, and the
reference of the Python API, from docstrings.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build" / "site"
KINDS = {
    "tutorial": "Tutorial",
    "how-to": "How to",
    "reference": "Reference",
    "explanation": "Explanation",
}
BESIDE = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "CITATION.cff", "LICENSE")
FOLDERS = ("docs", "models", "grammar", "benchmarks", "odtdsl")
"""What pages link to. Code is there as files to look at, not as pages."""
PROJECT = (
    "README",
    "models/README",
    "grammar/README",
    "grammar/vscode/README",
    "benchmarks/README",
    "CONTRIBUTING",
    "CHANGELOG",
)

CONF = """
project = "odtdsl"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["docs/README.md", "odtdsl/**"]
suppress_warnings = ["myst.header"]  # tables of measurements under headings of the third level
master_doc = "index"
html_theme = "furo"
html_title = "odtdsl"
html_show_copyright = False
smartquotes = False  # options begin with two hyphens
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "mixed"
napoleon_google_docstring = False
napoleon_use_ivar = True
maximum_signature_line_length = 80
highlight_language = "none"


def setup(app):
    from docs.site import as_rst, foreign
    from odtdsl.interfaces.editor.lexer import OdtLexer
    app.connect("autodoc-process-docstring", as_rst, priority=1)  # before napoleon
    app.add_lexer("odt", OdtLexer)
    app.connect("autodoc-skip-member", foreign)
"""

LINK = re.compile(r"\[[^\]]*\]\(([^)#]+\.md)[^)]*\)")


def foreign(_app: object, _what: str, name: str, value: object, skip: bool, _opts: object) -> bool:
    """Leave out what scikit-learn gives its estimators: its own pages describe it."""
    home = str(getattr(value, "__module__", ""))
    return skip or home.startswith("sklearn.") or bool(re.fullmatch(r"set_\w+_request", name))


def as_rst(
    _app: object, _what: str, _name: str, _obj: object, _opts: object, lines: list[str]
) -> None:
    """Docstrings mark code with single backticks, over line ends too; reStructuredText with two."""
    text = re.sub(r"(?<!`)`([^`]+)`(?!`)(\w?)", _literal, "\n".join(lines))
    lines[:] = text.split("\n")


def _literal(match: re.Match[str]) -> str:
    return f"``{match[1]}``" + (rf"\ {match[2]}" if match[2] else "")


def stage(folder: Path) -> None:
    """Lay out the sources of the site."""
    for name in BESIDE:
        shutil.copy(ROOT / name, folder / name)
    for name in FOLDERS:
        shutil.copytree(
            ROOT / name,
            folder / name,
            ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.pyd", "_data"),
        )
    for page in folder.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        page.write_text(_for_sphinx(text), encoding="utf-8")
    decisions = folder / "docs" / "explanation" / "decisions" / "README.md"
    listed = (
        decisions.read_text(encoding="utf-8") + "\n```{toctree}\n:hidden:\n:glob:\n\n[0-9]*\n```\n"
    )
    decisions.write_text(listed, encoding="utf-8")
    (folder / "conf.py").write_text(CONF, encoding="utf-8")
    (folder / "index.md").write_text(_index(), encoding="utf-8")
    (folder / "docs" / "reference" / "api.rst").write_text(_api(), encoding="utf-8")


def _for_sphinx(text: str) -> str:
    """File names behind the language of a block become its caption; folders lead to the index.

    Pictures become Markdown: Sphinx copies only those.
    """
    text = re.sub(r'<img src="([^"]+)" alt="([^"]+)"[^>]*>', r"![\2](\1)", text)
    captioned = r"```{code-block} \1\n:caption: \2\n"
    text = re.sub(r"^```(\w+) (\S+)$", captioned, text, flags=re.MULTILINE)
    text = re.sub(r"\]\(docs/(how-to/|reference/|explanation/|README\.md)\)", "](index.md)", text)
    return text.replace("../docs/README.md", "../index.md")


def _index() -> str:
    """The first page: what the README says first, and every page by its kind."""
    pages = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    lines = ["# odtdsl", "", *_lead(), ""]
    for kind, title in KINDS.items():
        row = next(line for line in pages.split("\n") if line.startswith(f"| {kind} |"))
        listed = dict.fromkeys(LINK.findall(row))
        if kind == "reference":
            listed["reference/api"] = None
        lines += ["```{toctree}", f":caption: {title}", ":maxdepth: 1", ""]
        lines += [f"docs/{page.removesuffix('.md')}" for page in listed]
        lines += ["```", ""]
    lines += ["```{toctree}", ":caption: The project", ":maxdepth: 1", "", *PROJECT, "```", ""]
    return "\n".join(lines)


def _lead() -> list[str]:
    """The README's paragraphs up to its first block, and that."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").partition("\n")[2]
    found = re.match(r".*?^```\w*$.*?^```$", text, flags=re.MULTILINE | re.DOTALL)
    assert found is not None, "the README shows how to begin"
    return [found[0].strip()]


def _api() -> str:
    """The public names with their docstrings: functions first, then what they return."""
    import inspect

    import odtdsl

    names = [name for name in odtdsl.__all__ if not name.startswith("_")]
    values = {name: getattr(odtdsl, name) for name in names}
    kinds = (
        ("Functions", inspect.isfunction, "autofunction", ()),
        ("Classes", inspect.isclass, "autoclass", (":members:",)),
    )
    lines = [
        "Python API",
        "==========",
        "",
        "All names are in ``odtdsl``. ``odtdsl.words`` holds the words of the language as objects:",
        ":doc:`rules` says what each means, and :doc:`../how-to/python` how they are used.",
        "",
    ]
    for title, is_kind, directive, options in kinds:
        lines += [title, "-" * len(title), ""]
        for name in names:
            if is_kind(values[name]):
                lines += [f".. {directive}:: odtdsl.{name}", *(f"   {o}" for o in options), ""]
    return "\n".join(lines)


def build(out: Path) -> int:
    """Build the site; every warning is an error."""
    from sphinx.cmd.build import build_main

    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "source"
        source.mkdir()
        stage(source)
        options = ["-b", "html", "-W", "--keep-going", "-d", str(Path(scratch) / "doctrees")]
        return int(build_main([*options, str(source), str(out)]))


def main() -> int:
    """Build into the folder that is named, else `build/site`."""
    reader = argparse.ArgumentParser("python -m docs.site", description=main.__doc__)
    reader.add_argument("folder", nargs="?", type=Path, default=OUT, help="default: %(default)s")
    out = reader.parse_args().folder
    lacking = [name for name in ("sphinx", "myst_parser", "furo") if find_spec(name) is None]
    if lacking:
        print(f'not installed: {", ".join(lacking)}; pip install "odtdsl[docs]"')
        return 1
    failed = build(out)
    print(f"{out / 'index.html'}" if not failed else "the site has warnings")
    return failed


if __name__ == "__main__":
    sys.exit(main())
