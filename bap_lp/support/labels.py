"""Reading what users write: probability vectors, labels and weights, each checked by its rule."""

from __future__ import annotations

import json
from collections.abc import Sequence
from difflib import get_close_matches
from itertools import product
from math import prod
from typing import Any

import numpy as np

from bap_lp.support.limits import limit, raising
from bap_lp.support.rational import EXACT, Array, InputError, array, is_exact, number

_MANY = 10_000
_SUM_TOLERANCE = 1e-9  # a float prior may miss one by this much; it is then normalised
ROUNDED = 1e-12  # what misses one by less is left alone, so that a vector that was normalised stays as it is when read


def probability(values: Any, field: str) -> Array:
    """Read a probability vector: non-negative, summing to one (exactly, or within rounding for floats)."""
    p = array(values, field, 1)
    total = p.sum()
    if total != 1 and (is_exact(p) or abs(total - 1) > _SUM_TOLERANCE):
        raise InputError(f"sum of {field}", total, "must be 1")
    return p if is_exact(p) or abs(total - 1) <= ROUNDED else p / total


def state_labels(values: Any, field: str, rows: int, per: str = "state") -> tuple[str, ...]:
    """Read a label per state, such as what an Eve knows: a string or a whole number; labels may repeat."""
    if isinstance(values, (str, bytes, dict)) or not isinstance(values, (Sequence, np.ndarray)):
        raise InputError(field, values, f"must be a list of labels, one per {per}")
    if len(values) != rows:
        raise InputError(field, None, f"has {len(values)} labels, must have {rows}, one per {per}")
    for k, label in enumerate(values):
        whole = isinstance(label, (int, np.integer)) and not isinstance(label, bool)
        if not (whole or (isinstance(label, str) and label)):
            raise InputError(f"{field}[{k}]", label, "must be a non-empty string or an integer")
    return tuple(map(str, values))


def exact_distribution(values: Any) -> Array:
    """Probabilities as rationals that sum to one: floats are the fractions they are, over their sum."""
    out = EXACT.list(map(EXACT.number, values))
    total = out.sum()
    return out if total == 1 else out / total


class Numbers(Sequence[str]):
    """The labels "0", "1", ... of many items, made when asked for: a million strings take much memory."""

    def __init__(self, count: int) -> None:
        self._range = range(count)

    def __len__(self) -> int:
        return len(self._range)

    def __getitem__(self, k: Any) -> Any:
        return tuple(map(str, self._range[k])) if isinstance(k, slice) else str(self._range[k])

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.isdecimal() and str(int(name)) == name and int(name) in self._range

    def index(self, name: str, start: int = 0, stop: int | None = None) -> int:
        if name not in self:
            raise ValueError(f"{name!r} is not a label")
        return int(name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(str.__eq__, self, other))

    def __hash__(self) -> int:
        return hash(self._range)


def labels(names: Sequence[str] | None, field: str, count: int) -> Sequence[str]:
    """Read labels: distinct non-empty strings, one per item; default "0", "1", ..."""
    if names is None:
        return tuple(map(str, range(count))) if count <= _MANY else Numbers(count)
    if isinstance(names, Numbers) and len(names) == count:
        return names
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise InputError(field, names, "must be a list of strings")
    for k, name in enumerate(names):
        if not isinstance(name, str) or not name:
            raise InputError(f"{field}[{k}]", name, "must be a non-empty string")
    if len(names) != count:
        raise InputError(field, None, f"has {len(names)} labels, must have {count}")
    seen: dict[str, int] = {}
    for k, name in enumerate(names):
        if seen.setdefault(name, k) != k:
            raise InputError(f"{field}[{k}]", name, f"repeats {field}[{seen[name]}]")
    return tuple(names)


def quoted(part: str, by: str = ", ") -> str:
    """A part of a joint label, in quotes if its end could be mistaken.

    A part that is not quoted ends where the separator first occurs after its start, and a quoted one at its quote. So
    the parts can be read off a joint label, and two joint labels of as many parts are equal only if their parts are.
    """
    return json.dumps(part, ensure_ascii=False) if part[:1] == '"' or (part + by).index(by) < len(part) else part


def joined(parts: Sequence[str], by: str = ", ") -> str:
    """The joint label of some parts; a part alone is its own label."""
    return by.join(quoted(part, by) for part in parts) if len(parts) > 1 else parts[0]


def joints(groups: Sequence[Sequence[str]], by: str = ", ") -> list[str]:
    """The joint labels of every choice of one part per group, the last group changing fastest."""
    letters = sum(prod(map(len, groups)) // max(len(group), 1) * sum(map(len, group)) for group in groups)
    if letters > limit("bytes"):
        rule = f"have {letters} letters in their joint names, must have at most {limit('bytes')} {raising('bytes')}"
        raise InputError("decisions", None, rule)
    parts = [[quoted(part, by) for part in group] for group in groups] if len(groups) > 1 else groups
    return [by.join(choice) for choice in product(*parts)]


BY_GRID = "a Bob who reports probabilities decides among a grid of reports, by their Brier losses"
_INSTEAD = {
    "max_signals": "deterministic = true makes the signal a function of the data",
    "splits": BY_GRID,
    "bob.secret": BY_GRID,
}


def gone(name: str) -> str:
    """The rule that refuses a name that earlier versions had, with what serves instead; "" for any other name."""
    return f"is no longer there: {_INSTEAD[name]}" if name in _INSTEAD else ""


def nearest(name: str, known: Sequence[str], cutoff: float = 0.6) -> str | None:
    """The known name that somebody who wrote this one may have meant."""
    return next(iter(get_close_matches(name, known, n=1, cutoff=cutoff)), None)


def weight_of(value: Any, field: str) -> Any:
    weight = number(value, field)
    if weight <= 0:
        raise InputError(field, weight, "must be positive")
    return weight
