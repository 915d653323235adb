"""Reading who is counted: the number of people, the prior of their shares, and the public totals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bap_lp import InputError
from discretise.tables.layout import Layout, Set
from discretise.tables.questions import exact_number
from discretise.tables.spaces import Population

MOST_PEOPLE = 100_000
_LARGEST = 1_000_000  # of an alpha


def read_population(
    layout: Layout, n: Any, alpha: Any, across: Any, down: Any, further: Any
) -> tuple[Population, bool]:
    """The population, and whether its prior was given in floats; `across` and `down` are totals of rows and columns."""
    alphas = _alphas(alpha, layout)
    people, totals = _totals(n, layout, across, down, further)
    exact = tuple(exact_number(a, "alpha") for a in alphas)
    return Population(people, exact, totals), any(isinstance(a, float) for a in alphas)


def _alphas(alpha: Any, layout: Layout) -> list[Any]:
    shape = len(layout.rows), len(layout.columns)
    if isinstance(alpha, (list, tuple, np.ndarray)):
        given = list(alpha)
        if layout.rows and len(given) == shape[0] and all(isinstance(r, (list, tuple, np.ndarray)) for r in given):
            for r, row in enumerate(given):
                if len(row) != shape[1]:
                    raise InputError(f"alpha[{r}]", None, f"has {len(row)} entries, must have {shape[1]}")
            given = [a for row in given for a in row]
        if len(given) != len(layout.cells):
            raise InputError("alpha", None, f"has {len(given)} entries, must have {len(layout.cells)}, one per cell")
    else:
        given = [alpha] * len(layout.cells)
    for i, a in enumerate(given):
        place = "alpha" if not isinstance(alpha, (list, tuple, np.ndarray)) else f"alpha[{i}]"
        value = exact_number(a, place)
        if value <= 0:
            raise InputError(place, value, "must be positive")
        if value > _LARGEST:
            raise InputError(place, value, f"must be at most {_LARGEST:,}")
    return given


def _whole(value: Any, place: str, most: int | None = None) -> int:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise InputError(place, value, "must be a whole number")
    if value < 0:
        raise InputError(place, value, "must not be negative")
    if most is not None and value > most:
        raise InputError(place, value, f"must be at most n = {most}")
    return int(value)


def _totals(n: Any, layout: Layout, across: Any, down: Any, further: Any) -> tuple[int, tuple[tuple[Set, int], ...]]:
    """n and the public totals, each checked by its rule."""
    found: list[tuple[Set, int]] = []
    for given, names, place in ((across, layout.rows, "row_totals"), (down, layout.columns, "column_totals")):
        if given is None:
            continue
        if not names:
            raise InputError(place, None, "needs rows and columns")
        if not isinstance(given, (list, tuple, np.ndarray)) or len(given) != len(names):
            raise InputError(place, given, f"must be a list of {len(names)} whole numbers")
        values = [_whole(v, f"{place}[{k}]") for k, v in enumerate(given)]
        if n is None:
            n = sum(values)
        if sum(values) != n:
            raise InputError(f"sum of {place}", sum(values), f"must be the number of people, n = {n}")
        found += [(layout.groups[name], v) for name, v in zip(names, values, strict=True)]
    if n is None:
        raise InputError("n", None, "is missing: the number of people")
    people = _whole(n, "n")
    if not 1 <= people <= MOST_PEOPLE:
        raise InputError("n", n, f"must be between 1 and {MOST_PEOPLE:,}")
    if not isinstance(further, (list, tuple)):
        raise InputError("totals", further, "must be a list of tables with cells and total")
    for k, entry in enumerate(further):
        if not isinstance(entry, Mapping) or set(entry) != {"cells", "total"}:
            raise InputError(f"totals[{k}]", None, "must be a table with cells and total")
        cells = layout.read(entry["cells"], f"totals[{k}].cells")
        found.append((cells, _whole(entry["total"], f"totals[{k}].total", people)))
    return people, tuple(found)
