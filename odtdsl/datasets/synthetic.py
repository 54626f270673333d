"""Made-up data whose outputs obey rules: seeded, and called what they are.

Each function returns columns by name, for `data frame` or a data frame's constructor. The same
seed gives the same numbers. `elective_grades` follows Appendix C of the Output-Constrained
Decision Trees study; `manifold` and `series` are of the kinds of its larger sets, and
`exam_scores` and `car_claims` are shaped like the sets of its section 3.1, made from scratch.
"""

from __future__ import annotations

import numpy as np

from odtdsl.base.diagnostics.model import error
from odtdsl.datasets.table import FloatArray

Columns = dict[str, list[object]]
"""Columns by name, each a list of cells."""


def elective_grades(rows: int = 500, targets: int = 3, seed: int = 0) -> Columns:
    """Grades of elective courses, of which a student takes a few (Appendix C).

    Features as in its Table 1: `EnrolledElectiveBefore` 0 or 1, `GradeAvgPrevElec` and `Grade`
    clipped normal, `Major` 1 to 3, `Class` 1 to 4, `GradePerm` a permutation of `Grade`. A
    grade is the mean of both averages and noise within 10, or `Grade` and about 10 for who had
    no elective; first-year students may take the first two courses. At most two of a student's
    grades are above 0: most often one.

    Parameters
    ----------
    rows, targets, seed
        `Course1`, `Course2`, ... are the targets; at least 2.

    Raises
    ------
    OdtError
        U331: too few rows or targets.
    """
    _enough(rows, targets, 2)
    random = np.random.default_rng(seed)
    before = random.integers(0, 2, rows)
    previous = np.where(before == 1, np.clip(random.normal(60, 15, rows), 0, 100), 0).round(2)
    grade = np.clip(random.normal(70, 10, rows), 0, 100).round(2)
    major, year = random.integers(1, 4, rows), random.integers(1, 5, rows)
    blended = (grade + previous) / 2 + random.uniform(-10, 10, rows)
    fresh = grade + random.normal(10, 2, rows)
    level = np.clip(np.where(previous > 0, blended, fresh), 0, 100)
    grades = np.zeros((rows, targets))
    for row in range(rows):
        open_to = 2 if year[row] == 1 else targets
        taken = random.choice(open_to, size=1 + int(random.random() < 0.38), replace=False)
        own = level[row] + random.normal(0, 2, len(taken))
        grades[row, taken] = np.clip(own, 1, 100).round(2)
    columns: Columns = {
        "EnrolledElectiveBefore": before.tolist(),
        "GradeAvgPrevElec": previous.tolist(),
        "Grade": grade.tolist(),
        "Major": major.tolist(),
        "Class": year.tolist(),
        "GradePerm": random.permutation(grade).tolist(),
    }
    return columns | _named("Course", grades)


def manifold(rows: int = 500, targets: int = 5, seed: int = 0) -> Columns:
    """Targets beside a plane that their rules describe: six features on a grid of tenths.

    The rules of h = targets // 2: every target at least 0, the first h sum to 1, and
    y(h + 2j) - y(h + 2j + 1) = (j + 1) / 10. Targets are smooth functions of the features with
    noise, so that hardly a row obeys the rules.

    Raises
    ------
    OdtError
        U331: too few rows or targets.
    """
    _enough(rows, targets, 4)
    random = np.random.default_rng(seed)
    features = random.integers(0, 10, (rows, 6)) / 10
    slopes = random.normal(0, 1, (6, targets))
    waves = np.sin(3 * features @ random.normal(0, 1, (6, targets)))
    values = features @ slopes + waves
    half = targets // 2
    values[:, :half] += (1 - values[:, :half].sum(axis=1, keepdims=True)) / half
    for first in range(half - 1, targets - 1, 2):
        values[:, first + 1] = values[:, first] - (first - half + 3) // 2 / 10
    values += random.normal(0, 0.2, values.shape)
    return _named("X", features) | _named("y", values)


def series(rows: int = 500, seed: int = 0) -> Columns:
    """Sales of 13 articles in a period: whole numbers that sum to 15, at most 4 above 0.

    Six features on a grid of ninths decide which articles are wanted.

    Raises
    ------
    OdtError
        U331: too few rows.
    """
    _enough(rows, 13, 13)
    random = np.random.default_rng(seed)
    features = random.integers(0, 10, (rows, 6)) / 9
    wanted = features @ random.normal(0, 2, (6, 13)) + random.normal(0, 0.7, (rows, 13))
    sold = np.zeros((rows, 13))
    for row in range(rows):
        chosen = np.argsort(-wanted[row])[: int(random.integers(2, 5))]
        shares = np.exp(wanted[row, chosen])
        sold[row, chosen] = 1 + random.multinomial(15 - len(chosen), shares / shares.sum())
    return _named("X", features) | _named("y", sold)


def exam_scores(rows: int = 1000, seed: int = 0) -> Columns:
    """Exam scores of three subjects, 0 to 100, by five categories of students.

    Who reads below 50 has no writing score (0), and who reads and writes below 110 together has
    none in maths.

    Raises
    ------
    OdtError
        U331: too few rows.
    """
    _enough(rows, 3, 3)
    random = np.random.default_rng(seed)
    kinds = {
        "gender": ("female", "male"),
        "group": ("A", "B", "C", "D", "E"),
        "parents": ("school", "college", "bachelor", "master"),
        "lunch": ("free", "standard"),
        "course": ("completed", "none"),
    }
    picked = {name: random.integers(0, len(values), rows) for name, values in kinds.items()}
    level = (
        56
        + 3 * picked["parents"]
        + 7 * picked["lunch"]
        + 5 * (1 - picked["course"])
        + picked["group"]
        + random.normal(0, 11, rows)
    )
    female = picked["gender"] == 0
    reading = np.clip((level + 4 * female + random.normal(0, 4, rows)).round(), 0, 100)
    writing = np.clip((level + 5 * female + random.normal(0, 4, rows)).round(), 0, 100)
    maths = np.clip((level - 4 * female + random.normal(0, 5, rows)).round(), 0, 100)
    writing[reading < 50] = 0
    maths[reading + writing < 110] = 0
    columns: Columns = {
        name: [values[code] for code in picked[name].tolist()] for name, values in kinds.items()
    }
    scores = {"math": maths, "reading": reading, "writing": writing}
    return columns | {name: values.tolist() for name, values in scores.items()}


def car_claims(rows: int = 500, seed: int = 0) -> Columns:
    """Whether an insured car had a claim (0 or 1) and its amount: 0 without one, else 1 to 100,000.

    Raises
    ------
    OdtError
        U331: too few rows.
    """
    _enough(rows, 2, 2)
    random = np.random.default_rng(seed)
    age = np.clip(random.normal(45, 12, rows), 18, 80).round()
    income = np.clip(random.lognormal(10.8, 0.6, rows), 0, 400_000).round(-2)
    points = np.minimum(random.poisson(1.5, rows), 12)
    earlier = np.minimum(random.poisson(0.7, rows), 6)
    value = np.clip(random.lognormal(9.5, 0.5, rows), 1_500, 70_000).round(-1)
    commute = np.clip(random.normal(33, 15, rows), 5, 120).round()
    city = random.integers(0, 2, rows)
    risk = 0.35 * points + 0.4 * earlier + 0.9 * city - 0.02 * (age - 45) + 0.008 * commute - 2.6
    claim = random.random(rows) < 1 / (1 + np.exp(-risk))
    amount = np.clip(value * random.lognormal(-1.2, 0.7, rows), 1, 100_000).round()
    return {
        "AGE": age.tolist(),
        "INCOME": income.tolist(),
        "MVR_PTS": points.tolist(),
        "CLM_FREQ": earlier.tolist(),
        "BLUEBOOK": value.tolist(),
        "TRAVTIME": commute.tolist(),
        "CITY": ["city" if one else "country" for one in city.tolist()],
        "FLAG": claim.astype(int).tolist(),
        "AMT": np.where(claim, amount, 0).tolist(),
    }


def houses(rows: int = 500, seed: int = 0) -> Columns:
    """Houses, what they sold for (in thousands), and what of them only a survey finds out.

    The area, rooms, year and district stand in an advertisement; the state of the roof (1 to 5) and
    dampness (0 to 100) need a surveyor.

    Raises
    ------
    OdtError
        U331: too few rows.
    """
    _enough(rows, 1, 1)
    random = np.random.default_rng(seed)
    area = np.clip(random.normal(120, 40, rows), 40, 300).round()
    rooms = np.clip((area / 28 + random.normal(0, 1, rows)).round(), 1, 10)
    year = random.integers(1900, 2021, rows)
    district = random.choice(["centre", "hills", "harbour"], rows)
    roof = np.clip((5 - (2020 - year) / 40 + random.normal(0, 1, rows)).round(), 1, 5)
    damp = np.clip(random.normal(25, 18, rows) + 20 * (district == "harbour"), 0, 100).round()
    place = np.select([district == "centre", district == "hills"], [120, 70], 0)
    worth = 40 + 1.9 * area + place + 0.4 * (year - 1960) + 14 * roof - 90 * (damp > 40)
    price = np.maximum(worth * random.normal(1, 0.06, rows), 30).round()
    return {
        "area": area.astype(int).tolist(),
        "rooms": rooms.astype(int).tolist(),
        "year": year.tolist(),
        "district": district.tolist(),
        "roof": roof.astype(int).tolist(),
        "damp": damp.astype(int).tolist(),
        "price": price.astype(int).tolist(),
    }


def treatments(rows: int = 1000, seed: int = 0) -> Columns:
    """Patients, what they were given, and what came of it: observed, not randomized.

    A drug helps from `severity` 5 on, surgery only those of them below age 50, and both harm the
    others, so that the best policy is a tree of depth two: no treatment up to severity 4; above,
    surgery below age 50 and the drug from there on. The sicker patients are treated more often, so
    that means by treatment mislead.

    Parameters
    ----------
    rows, seed
        How many patients, and the seed of all draws.

    Returns
    -------
    columns
        `age` (20 to 80), `severity` (0 to 9) and `sex`; `treatment` (`none`, `drug` or `surgery`),
        `propensity`, the probability with which it was given, and `outcome`, of which more is
        better;
        `true_none`, `true_drug`, `true_surgery`, the mean outcomes that nobody observes.

    Raises
    ------
    OdtError
        U331: too few rows.
    """
    _enough(rows, 3, 3)
    random = np.random.default_rng(seed)
    age, severity = random.integers(20, 81, rows), random.integers(0, 10, rows)
    sex = np.where(random.random(rows) < 0.5, "f", "m")
    none = 50 - 2 * severity - 0.1 * (age - 50)
    sick = severity >= 5
    means = np.column_stack(
        [none, none + np.where(sick, 6, -3), none + np.where(sick & (age < 50), 10, -8)]
    )
    drug, surgery = 0.3 * (severity - 5), 0.2 * (severity - 6) - 0.02 * (age - 50)
    odds = np.exp(np.column_stack([0 * drug, drug, surgery]))
    shares = odds / odds.sum(axis=1, keepdims=True)
    given = (random.random((rows, 1)) > shares.cumsum(axis=1)).sum(axis=1)
    each = np.arange(rows)
    outcome = means[each, given] + random.normal(0, 5, rows)
    names = np.array(["none", "drug", "surgery"])
    columns: Columns = {
        "age": age.tolist(),
        "severity": severity.tolist(),
        "sex": sex.tolist(),
        "treatment": names[given].tolist(),
        "propensity": shares[each, given].round(6).tolist(),
        "outcome": outcome.round(2).tolist(),
    }
    truth = {f"true_{name}": means[:, k].round(2).tolist() for k, name in enumerate(names.tolist())}
    return columns | truth


def _named(prefix: str, values: FloatArray) -> Columns:
    return {f"{prefix}{k + 1}": column.tolist() for k, column in enumerate(values.T)}


def _enough(rows: int, targets: int, least: int) -> None:
    if rows < 1 or targets < least:
        raise error(
            "U331",
            f"{rows} rows of {targets} targets cannot be made",
            helps=(f"ask for a row or more, and {least} targets or more",),
        )


__all__ = ["car_claims", "elective_grades", "exam_scores", "manifold", "series", "treatments"]


def survival(rows: int = 500, seed: int = 0) -> Columns:
    """Patients after a diagnosis: how long each was watched, and whether the patient died then.

    The hazard is that of a tree of depth two: up to stage 2 it is 0.5 for a marker of at most
    1.5, and 1 above; from stage 3 on it is 2 below age 60, and 4 from there on. Sex has no part
    in it. Patients leave early at random, and all are watched for 60 months at most.

    Parameters
    ----------
    rows, seed
        How many patients, and the seed of all draws.

    Returns
    -------
    columns
        `age` (20 to 89), `stage` (1 to 4), `marker` (above 0) and `sex`; `months` (0.1 to 60) and
        `died` (1; 0 where the patient was alive when last seen); `true_hazard`, relative to a
        common course of all patients, which nobody observes.

    Raises
    ------
    OdtError
        U331: too few rows.
    """
    _enough(rows, 4, 4)
    random = np.random.default_rng(seed)
    age, stage = random.integers(20, 90, rows), random.integers(1, 5, rows)
    marker = random.lognormal(0.4, 0.6, rows).round(2)
    sex = np.where(random.random(rows) < 0.5, "f", "m")
    hazard = np.where(stage <= 2, np.where(marker <= 1.5, 0.5, 1.0), np.where(age < 60, 2.0, 4.0))
    death = 45 * (random.exponential(1, rows) / hazard) ** (1 / 1.3)
    left = np.minimum(random.exponential(80, rows), 60)
    return {
        "age": age.tolist(),
        "stage": stage.tolist(),
        "marker": marker.tolist(),
        "sex": sex.tolist(),
        "months": np.maximum(np.minimum(death, left), 0.1).round(1).tolist(),
        "died": (death <= left).astype(int).tolist(),
        "true_hazard": hazard.tolist(),
    }
