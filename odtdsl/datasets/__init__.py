"""Rows: readers, types, candidates and weights; synthetic sets for users.

What users import is the synthetic sets, whose outputs obey rules.
"""

from odtdsl.datasets.synthetic import (
    car_claims,
    elective_grades,
    exam_scores,
    houses,
    manifold,
    series,
    survival,
    treatments,
)

__all__ = [
    "car_claims",
    "elective_grades",
    "exam_scores",
    "houses",
    "manifold",
    "series",
    "survival",
    "treatments",
]
