"""The `sat` back end, measured: encodings, solvers, cross-validation, generators.

    ODTDSL_DATA=... python benchmarks/sat.py WHAT [options]

`encodings`: least depth and least size of trees without error on the sets of the DT_depth /
DT_size study, by the study's encoding, by ordered thresholds and by `exact`; the known values,
equal answers and the ratios are asserted. `solvers`: solvers of python-sat on ordered
thresholds. `folds`: accuracy of ten folds on mouse and car. `generators`: how often the tree
that made the rows is found again, beside CART. `choice`: `exact` beside `sat` on the sets of the
decision-diagram study, which is what `auto` chooses by. `errors`: least errors at a depth by
`exact`, `cpsat`, `milp` and `sat`. Times are CPU seconds of one thread, as the machine may be
shared. `--docs` puts the tables into `docs/explanation/sat-measured.md`.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from measures import choice, errors, generators, sat

MEASURES: dict[str, Callable[[argparse.Namespace], None]] = {
    "encodings": sat.encodings,
    "solvers": sat.solvers,
    "folds": sat.folds,
    "generators": generators.generators,
    "choice": choice.choice,
    "errors": errors.errors,
}


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=list(MEASURES))
    parser.add_argument("--sets", default=None, help="names, by commas")
    parser.add_argument("--runs", type=int, default=3, help="medians of so many")
    parser.add_argument("--limit", type=float, default=600, help="seconds of each run")
    parser.add_argument("--solvers", default=None, help="names, by commas")
    parser.add_argument("--using", default="sat,exact", help="back ends of folds, by commas")
    parser.add_argument("--trees", type=int, default=1000, help="generators")
    parser.add_argument("--sat-trees", type=int, default=1000, help="those that `sat` is given")
    parser.add_argument("--rows", default="200,400,600,800,1000,1500,2000", help="by commas")
    parser.add_argument("--depths", default="2,3", help="errors, by commas")
    parser.add_argument("--no-paper", dest="paper", action="store_false")
    parser.add_argument("--docs", action="store_true", help="put the table into the page")
    args = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        MEASURES[args.what](args)


if __name__ == "__main__":
    main()
