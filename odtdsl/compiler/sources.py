"""The `data` statement as a request: each option once, with its meaning."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from odtdsl.compiler.context import Reporter
from odtdsl.datasets.request import ORDERS, DataRequest, TestFile, TestShare
from odtdsl.language import ast

LIBRARIES = ("sklearn", "openml")


def data_request(
    statement: ast.Data, reporter: Reporter, *, data: str | None, test: str | None
) -> DataRequest:
    """What to read. `data` and `test` are files that replace those of the spec.

    A share for testing stays where `test` is given: it does not train.
    """
    request = _source(statement, reporter)
    said: dict[type[ast.Node], ast.Node] = {}
    for option in statement.options:
        kind = ast.TestFile if isinstance(option, ast.TestShare) else type(option)
        if kind in said:
            reporter.error(
                "N102",
                "this option of `data` is given twice",
                option,
                label="again here",
                also=((said[kind], "first here"),),
            )
            continue
        said[kind] = option
        request = _with(request, option, reporter)
    if data is not None:
        request = replace(request, kind="file", name=str(Path(data).absolute()))
    if test is not None and not isinstance(request.test, TestShare):
        request = replace(request, test=TestFile(path=str(Path(test).absolute())))
    return request


def _source(statement: ast.Data, reporter: Reporter) -> DataRequest:
    match statement.source:
        case ast.FileSource() as file:
            return DataRequest(kind="file", name=file.path)
        case ast.FrameSource():
            return DataRequest(kind="frame")
        case ast.LibrarySource(library="sklearn") as library:
            return DataRequest(kind="sklearn", name=library.name)
        case ast.LibrarySource(library="openml") as library:
            return DataRequest(kind="openml", name=library.name)
        case ast.LibrarySource() as library:
            reporter.unknown("N120", "library", library.library, LIBRARIES, library)
            return DataRequest(kind="sklearn", name=library.name)


def _with(request: DataRequest, option: ast.DataOption, reporter: Reporter) -> DataRequest:
    match option:
        case ast.TestFile():
            return replace(request, test=TestFile(path=option.path))
        case ast.TestShare():
            share = option.share.value / 100
            if not 0 < share < 1:
                reporter.error("D151", "a test share must be above 0% and below 100%", option.share)
            by = None if option.by is None else option.by.name
            if by is not None and option.stratified:
                reporter.error(
                    "D206",
                    "a share of test rows is either `by` a column or `stratified`",
                    option,
                    notes=("where rows of one value stay together, classes fall as they may",),
                    helps=("leave `stratified` out",),
                )
            test = TestShare(
                fraction=share, by=by, stratified=option.stratified, seed=option.seed or 0
            )
            return replace(request, test=test)
        case ast.NaMarks():
            return replace(request, na=tuple(_mark(mark) for mark in option.marks))
        case ast.Separator():
            return replace(request, separator=option.text)
        case ast.Decimal():
            return replace(request, decimal=option.text)
        case ast.Thousands():
            return replace(request, thousands=option.text)
        case ast.Header():
            if option.word != "none":
                reporter.error(
                    "N121",
                    f"`header {option.word}` is unknown",
                    option,
                    helps=("if the first line is data, write `header none`",),
                )
            return replace(request, header=False)
        case ast.Encoding():
            return replace(request, encoding=option.name)
        case ast.Sheet():
            return replace(request, sheet=option.name)
        case ast.IdColumn():
            return replace(request, id_column=option.column.name)
        case ast.Days():
            return replace(request, days=tuple(map(_mark, option.columns)))
        case ast.Parts():
            return replace(request, parts=tuple(map(_mark, option.columns)))
        case ast.Dates():
            if option.order not in ORDERS:
                reporter.unknown("N124", "order of dates", option.order, ORDERS, option)
            return replace(request, date_order=option.order)


def _mark(mark: ast.Literal) -> str:
    match mark:
        case ast.Text():
            return mark.value
        case ast.Name():
            return mark.name
        case ast.Number():
            return mark.text or str(mark.value)
        case ast.Percent():
            return mark.text or f"{mark.value}%"
