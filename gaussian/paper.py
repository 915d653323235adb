"""The three tables that the paper prints, at n = 5, sigma_0 = 1, c_B = 0.

The risks and the parameters sigma* and tau*, which come from grids, are rounded to two decimals.
"""

from __future__ import annotations

from dataclasses import dataclass

from gaussian.model import BothEves, Eve, GaussianModel, MaxEve, MeanEve

PAPER_MODEL = GaussianModel(n=5, prior_sd=1.0, bob_threshold=0.0)


@dataclass(frozen=True)
class PrintedRow:
    """One printed row: the parameter (None for full and null) and the three risks."""

    parameter: float | None
    bob: float
    eve: float
    alice: float


@dataclass(frozen=True)
class PrintedTable:
    """One printed table, its rows by mechanism, and the printed lambda."""

    eve: Eve
    lam: float
    rows: dict[str, PrintedRow]


def _rows(*numbers: tuple[float | None, float, float, float]) -> dict[str, PrintedRow]:
    names = ("full", "null", "noisy full", "noisy mean", "noisy median", "one-bit")
    return {name: PrintedRow(*row) for name, row in zip(names, numbers, strict=True)}


PAPER_TABLES: dict[str, PrintedTable] = {
    "mean": PrintedTable(
        MeanEve(0.5),
        1.13,
        _rows(
            (None, 0.13, 0.00, 0.13),
            (None, 0.50, 0.32, 0.13),
            (3.04, 0.31, 0.25, 0.03),
            (1.37, 0.31, 0.25, 0.03),
            (1.44, 0.32, 0.26, 0.03),
            (0.20, 0.18, 0.32, -0.19),
        ),
    ),
    "max": PrintedTable(
        MaxEve(2.0),
        1.52,
        _rows(
            (None, 0.13, 0.00, 0.13),
            (None, 0.50, 0.24, 0.13),
            (1.63, 0.23, 0.17, -0.03),
            (0.62, 0.21, 0.16, -0.03),
            (0.00, 0.16, 0.14, -0.05),
            (0.50, 0.13, 0.24, -0.23),
        ),
    ),
    "both": PrintedTable(
        BothEves(0.5, 2.0),
        12.4,
        _rows(
            (None, 0.13, 0.00, 0.13),
            (None, 0.50, 0.03, 0.13),
            (1.80, 0.24, 0.03, -0.10),
            (0.63, 0.21, 0.03, -0.11),
            (0.85, 0.25, 0.03, -0.08),
            (0.31, 0.15, 0.03, -0.18),
        ),
    ),
}


def printed(model: GaussianModel, eve: Eve) -> PrintedTable | None:
    """The printed table of this model and Eve, if the paper has one."""
    if model != PAPER_MODEL:
        return None
    return next((table for table in PAPER_TABLES.values() if table.eve == eve), None)
