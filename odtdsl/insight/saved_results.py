"""What a saved result says beside its model, counted again.

`odt solve --json` writes the model with its errors, objective, status, bounds, audit and figures
of test rows. An audit counts each of them once more. What no count can show, as that a bound is
proven, it holds against the rest: a status and bounds that contradict the objective are told.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from odtdsl.auditor.results import Audit, AuditLine, audit_to_json
from odtdsl.base.numbers import as_number, only
from odtdsl.driver.result import problem_digest
from odtdsl.driver.scoring import score

if TYPE_CHECKING:
    from odtdsl.compiler import Analysis
    from odtdsl.predictors.predictor import Predictor

SHOWN = 5

CLOSE = 1e-9
"""What figures of floats may be off, as a share."""


def recounted(
    said: object, model: Predictor, analysis: Analysis, audit: Audit
) -> tuple[AuditLine, ...]:
    """Lines on what a file of `odt solve --json` says; none for a file of a model alone.

    Of another spec, as one with a rule less, the file's stages, rules and status are not those
    of this audit: only what the model and the rows decide is compared.
    """
    if not isinstance(said, dict) or "stages" not in said or "status" not in said:
        return ()
    mine = said.get("problem") == problem_digest(analysis.problem)
    parts = [
        (
            "result figures",
            "sizes and errors match the model",
            list(_figures(said, model, audit)),
        )
    ]
    if mine:
        stages = [stage.text for stage in analysis.problem.objective]
        senses = [stage.sense for stage in analysis.problem.objective]
        parts += [
            (
                "result objective",
                "the objective and every rule match the recount",
                [
                    *_objective(said, stages, audit),
                    *_rules(said.get("audit"), audit_to_json(audit)),
                ],
            ),
            (
                "result status",
                "status and bounds agree with the objective",
                list(_status(said, senses, audit)),
            ),
        ]
    test = analysis.test
    if said.get("test") is not None and test is not None and test.n_rows:
        found = score(model, test, analysis.rows).to_json()
        apart = list(_differing(said["test"], found, "test", rules=mine))
        parts.append(("result test", "figures on test rows match the recount", apart))
    return tuple(
        AuditLine(
            rule=name,
            text=text,
            holds=not wrong,
            note="; ".join(wrong[:SHOWN])
            + (f"; and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""),
        )
        for name, text, wrong in parts
    )


def _figures(said: Mapping[str, Any], model: Predictor, audit: Audit) -> Iterator[str]:
    found = {
        "errors": as_number(audit.errors),
        "depth": model.depth,
        "leaves": model.n_leaves,
        "splits": model.n_splits,
        "nodes": model.n_leaves + model.n_splits,
    }
    for name, value in found.items():
        yield from _differing(said.get(name), value, name)


def _objective(said: Mapping[str, Any], texts: list[str], audit: Audit) -> Iterator[str]:
    yield from _differing(said.get("objective"), as_number(only(audit.objective)), "objective")
    found = [
        {"text": text, "value": as_number(value)}
        for text, value in zip(texts, audit.objective, strict=True)
    ]
    for at, (theirs, mine) in enumerate(_pairs(said.get("stages"), found)):
        for name, value in mine.items():
            yield from _differing(_get(theirs, name), value, f"stages[{at}].{name}")


def _rules(said: object, found: list[dict[str, Any]]) -> Iterator[str]:
    """The lines of the file's audit; those of the skeleton that say nothing wrong may differ."""
    lines = (
        {line.get("rule"): line for line in said if isinstance(line, dict)}
        if isinstance(said, list)
        else {}
    )
    for line in found:
        for name in ("holds", "value", "bound", "slack"):
            if line["rule"] in lines:
                theirs = lines[line["rule"]].get(name)
                yield from _differing(theirs, line[name], f"{line['rule']}: {name}")
        groups = lines.get(line["rule"], {}).get("groups")
        if groups is not None:  # files of earlier versions do not tell them
            yield from _differing(groups, line.get("groups", []), f"{line['rule']}: groups")


def _status(said: Mapping[str, Any], senses: Sequence[str], audit: Audit) -> Iterator[str]:
    status = said["status"]
    stages = said["stages"] if isinstance(said["stages"], list) else []
    proven = [_get(stage, "proven") is True for stage in stages]
    if status not in ("optimal", "feasible"):
        yield f"status {status}, although there is a model"
    if status == "optimal" and not (proven and all(proven)):
        yield "status optimal, although a stage is not proven"
    bounds = only(tuple(_get(stage, "bound") for stage in stages))
    if not _same(said.get("bound"), bounds):
        yield f"bound {_short(said.get('bound'))}, but the stages have {_short(bounds)}"
    for at, (stage, done) in enumerate(zip(stages, proven, strict=True)):
        if at >= len(audit.objective):
            break
        bound, value, place = _get(stage, "bound"), as_number(audit.objective[at]), f"stages[{at}]"
        if bound is None or value is None:
            if done:
                yield f"{place}: proven, but without a bound"
            continue
        if not _is_number(bound):
            yield f"{place}: bound {_short(bound)} is not a number"
        elif done and not _same(bound, value):
            yield f"{place}: proven with bound {bound}, but counted {value}"
        elif (bound > value) == (senses[at] == "minimize") and not _same(bound, value):
            yield f"{place}: bound {bound} contradicts the counted {value}"


# ---- comparing


def _differing(said: object, found: object, place: str, *, rules: bool = True) -> Iterator[str]:
    """What a file says otherwise than was counted; objects by their keys, lists by their items."""
    if isinstance(found, dict):
        for name, value in found.items():
            if name == "groups" and _get(said, name) is None:
                continue  # files of earlier versions do not tell them
            if rules or name not in ("objective", "audit", "baseline"):
                yield from _differing(_get(said, name), value, f"{place}.{name}")
    elif isinstance(found, list) and isinstance(said, list | tuple) and len(said) == len(found):
        for at, (theirs, mine) in enumerate(zip(said, found, strict=True)):
            name = mine["rule"] if isinstance(mine, dict) and "rule" in mine else at
            yield from _differing(theirs, mine, f"{place}[{name}]")
    elif not _same(list(said) if isinstance(said, tuple) else said, found):
        yield f"{place} {_short(said)}, counted {_short(found)}"


def _pairs(said: object, found: list[dict[str, Any]]) -> Iterator[tuple[object, dict[str, Any]]]:
    theirs = said if isinstance(said, list) else []
    for at, mine in enumerate(found):
        yield (theirs[at] if at < len(theirs) else None), mine


def _get(said: object, name: str) -> Any:
    return said.get(name) if isinstance(said, dict) else None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _same(said: object, found: object) -> bool:
    if isinstance(said, tuple):
        said = list(said)
    if _is_number(said) and _is_number(found):
        if isinstance(said, int) and isinstance(found, int):
            return said == found
        try:
            return math.isclose(said, found, rel_tol=CLOSE, abs_tol=1e-12)  # type: ignore[arg-type]
        except OverflowError:
            return False
    found = list(found) if isinstance(found, tuple) else found
    if isinstance(said, list) and isinstance(found, list):
        return len(said) == len(found) and all(map(_same, said, found))
    return type(said) is type(found) and said == found


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:37] + "..."
