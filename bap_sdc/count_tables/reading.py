"""From tables of a file or dictionaries to questions, and to who is counted.

With `asks` a question is one of disclosure control, without it an estimate or a test, by its `loss`. Who is counted:
the number of people, the prior of their shares, and the public totals.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bap_lp import InputError
from bap_lp.support.rational import public
from bap_sdc.count_tables.disclosure import ASKS, Cell, Member, Person
from bap_sdc.count_tables.layout import Layout, Set
from bap_sdc.count_tables.questions import Asked, Estimate, Threshold, exact_number
from bap_sdc.count_tables.spaces import Population

_SHARED = ("name", "weight", "cells", "costs")
_KEYS: dict[str, tuple[type[Asked], tuple[str, ...]]] = {
    "empty": (Cell, ("asks",)),
    "below": (Cell, ("asks", "below")),
    "small": (Cell, ("asks", "below")),
    "share": (Cell, ("asks", "above", "of")),
    "person": (Person, ("asks", "knows")),
    "member": (Member, ("asks", "knows", "probability")),
    "0-1": (Threshold, ("loss", "thresholds", "of", "per", "about")),
    "absolute": (Estimate, ("loss", "decisions", "of", "per", "about")),
    "squared": (Estimate, ("loss", "decisions", "of", "per", "about")),
}
QUESTION_KEYS = tuple(dict.fromkeys([*_SHARED, *(key for _, keys in _KEYS.values() for key in keys)]))
_MOST_STEPS = 1000


def read_questions(given: Any, role: str) -> tuple[Asked, ...]:
    """The questions of all Bobs or all Eves."""
    several = isinstance(given, (list, tuple))
    group = list(given) if several else [given]
    if not group:
        raise InputError(role, None, "must not be empty")
    found = tuple(_question(one, f"{role}[{k}]" if len(group) > 1 else role) for k, one in enumerate(group))
    seen: dict[str, int] = {}
    for k, asked in enumerate(found):
        if asked.name and seen.setdefault(asked.name, k) != k:
            raise InputError(f"{role}[{k}].name", asked.name, f"repeats {role}[{seen[asked.name]}].name")
    return found


def _question(given: Any, place: str) -> Asked:
    if isinstance(given, Asked):
        return given
    if not isinstance(given, Mapping):
        raise InputError(place, given, "must be a question: a table with cells, and asks or loss")
    if "asks" in given and "loss" in given:
        raise InputError(f"{place}.loss", None, "must not be given together with asks")
    if "asks" not in given and "loss" not in given:
        raise InputError(place, None, 'must have asks (such as "empty") or loss ("0-1", "absolute" or "squared")')
    kind = given["asks"] if "asks" in given else given["loss"]
    known = ASKS if "asks" in given else ("0-1", "absolute", "squared")
    if not isinstance(kind, str) or kind not in known:
        key = "asks" if "asks" in given else "loss"
        raise InputError(f"{place}.{key}", kind, "must be one of " + ", ".join(map(repr, known)))
    make, keys = _KEYS[kind]
    for key in given:
        if key not in _SHARED and key not in keys:
            raise InputError(f"{place}.{key}", None, f"does not belong to {kind!r}: it has {', '.join(_SHARED + keys)}")
    if "cells" not in given:
        raise InputError(f"{place}.cells", None, "is missing")
    options = {key: value for key, value in given.items() if key != "cells"}
    if make in (Person, Member):
        options.pop("asks")
    if make is Threshold:
        options.pop("loss")
    if make is Estimate and isinstance(options.get("decisions"), Mapping):
        options["decisions"] = grid_of(options["decisions"], f"{place}.decisions")
    if not isinstance(options.get("name", ""), str):
        raise InputError(f"{place}.name", options["name"], "must be a string")
    return make(given["cells"], **options)


def grid_of(table: Mapping[str, Any], place: str) -> list[Any]:
    """{from, to, steps}: the ends and the points between them that divide the way into equal steps."""
    if set(table) != {"from", "to", "steps"}:
        raise InputError(place, None, "must be a list of numbers, or a table with from, to and steps")
    low, high = (exact_number(table[key], f"{place}.{key}") for key in ("from", "to"))
    steps = table["steps"]
    if not isinstance(steps, int) or isinstance(steps, bool) or not 1 <= steps <= _MOST_STEPS:
        raise InputError(f"{place}.steps", steps, f"must be a whole number between 1 and {_MOST_STEPS}")
    if not low < high:
        raise InputError(f"{place}.to", high, f"must be above from = {low}")
    values = [public(low + (high - low) * k / steps) for k in range(steps + 1)]
    floats = any(isinstance(table[key], float) for key in ("from", "to"))
    return [float(v) for v in values] if floats else values


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
