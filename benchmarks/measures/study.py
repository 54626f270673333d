"""What the CPTree study printed: mean accuracies of its tables 7 (test) and 8 (training).

Nanfack, Temple, Frénay, Pattern Recognition 142 (2023), for the sets whose splits are public.
A cell is left out where the study has no tree (T/O) or where our copy of it is not legible.
"""

from __future__ import annotations

METHODS = ("CART", "DL8.5", "CPTree-1", "CPTree-1*", "CPTree-2")
"""Printed columns; CPTree-1* chose its leaves on a third of the training rows."""

_PRINTED = {
    ("test", 2): """
        balance_scale            61.15 65.35 65.35 66.50 66.62
        banknote_authentication  86.30 88.28 88.28 87.46 90.38
        car                      77.13 77.13 77.13 77.13 72.08
        credit_approval          85.37 84.03 84.27 85.61 74.27
        iris                     93.68 94.21 93.68 93.68 92.11
        pima_indian_diabetes     74.58 74.58 74.58 74.58 73.02
        post_operative_patient   73.64 70.91 65.45 66.36 67.27
        spect_heart              76.42 77.50 76.42 76.42 76.42
        tic_tac_toe              68.92 67.50 67.50 68.00 68.67
        wine                     88.89 91.55 91.56 89.78 92.00
    """,
    ("test", 3): """
        balance_scale            66.75 69.94 69.68 69.68 64.33
        banknote_authentication  86.30 92.54 92.59 90.50 92.13
        car                      78.89 79.82 79.81 79.81 -
        credit_approval          84.39 85.74 85.98 86.10 76.52
        iris                     93.16 93.68 95.26 93.68 96.32
        pima_indian_diabetes     73.96 70.52 70.62 73.02 71.48
        post_operative_patient   72.73 66.36 59.09 62.73 61.82
        spect_heart              75.82 77.67 78.51 79.10 77.91
        tic_tac_toe              72.83 73.33 73.17 74.25 -
        wine                     87.56 92.44 90.22 93.33 94.22
    """,
    ("test", 4): """
        balance_scale            65.48 72.40 72.61 71.46 61.31
        banknote_authentication  92.36 94.58 94.46 93.76 93.41
        car                      79.44 82.82 82.18 82.36 -
        credit_approval          85.85 85.25 84.76 85.73 -
        iris                     93.16 93.68 95.26 94.21 95.79
        monk1                    82.88 100.0 100.0 100.0 81.58
        monk2                    65.03 60.13 56.82 62.78 63.25
        pima_indian_diabetes     71.88 70.52 69.38 72.08 74.35
        tic_tac_toe              81.75 81.25 80.33 77.08 -
        wine                     92.00 89.33 88.44 92.89 92.89
    """,
    ("train", 2): """
        balance_scale            65.64 69.10 69.10 68.72 68.68
        banknote_authentication  87.27 88.80 88.80 87.81 92.30
        car                      77.99 77.99 77.99 77.99 71.40
        credit_approval          86.95 87.28 87.28 87.03 75.01
        iris                     95.18 95.54 95.54 95.18 93.93
        monk1                    73.91 79.00 78.13 77.46 78.13
        monk2                    65.78 65.88 65.78 65.78 65.78
        pima_indian_diabetes     76.70 76.70 76.70 76.70 78.23
        post_operative_patient   72.62 80.00 75.38 73.85 75.38
    """,
    ("train", 3): """
        balance_scale            70.34 75.00 75.09 73.80 66.32
        banknote_authentication  87.27 93.37 93.37 92.23 93.22
        car                      79.63 81.57 81.57 81.57 -
        credit_approval          87.28 89.57 89.57 88.63 78.53
        iris                     95.54 98.22 98.39 96.79 98.75
        monk1                    77.84 90.72 90.46 85.28 83.65
        monk2                    66.09 69.71 68.62 67.47 66.71
        wine                     95.19 97.89 97.89 96.39 99.40
    """,
    ("train", 4): """
        balance_scale            72.01 79.06 78.93 76.79 61.75
        banknote_authentication  93.26 94.83 94.83 94.36 94.50
        car                      80.19 84.55 83.89 83.80 -
        credit_approval          89.98 91.74 90.67 89.53 -
        iris                     97.50 98.39 98.39 97.68 97.68
        monk1                    83.69 100.0 100.0 100.0 81.97
        monk2                    68.53 74.51 72.22 70.13 66.89
        pima_indian_diabetes     78.44 80.97 79.90 79.06 77.82
        post_operative_patient   77.85 91.69 90.46 79.08 78.77
        spect_heart              82.90 86.95 86.90 84.60 82.25
        tic_tac_toe              83.62 86.69 84.43 80.84 -
        wine                     98.80 100.0 100.0 97.44 98.80
    """,
}


def printed(side: str, depth: int) -> dict[str, dict[str, float]]:
    """By set and method, in per cent; `side` is `train` or `test`, depth 2, 3 or 4."""
    found: dict[str, dict[str, float]] = {}
    for line in _PRINTED.get((side, depth), "").split("\n"):
        name, *cells = line.split() or [""]
        if name:
            pairs = zip(METHODS, cells, strict=True)
            found[name] = {method: float(cell) for method, cell in pairs if cell != "-"}
    return found
