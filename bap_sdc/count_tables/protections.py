"""How offices protect tables: each cell is changed on its own, by a matrix q(o|m) from its count m to what is shown.

    rounding           to the nearest multiple of the base, halves up
    random rounding    m = c base + r goes to (c + 1) base with probability r / base, else to c base: unbiased
    suppression        counts from 1 to the threshold less one are not shown; zeros are
    cell key           m + D with |D| at most d, E D = 0 and variance v in every row; zeros stay, nothing gets negative.
                       A cell's key decides D, so one cell always shows one number; different cells are independent.
    geometric          m + Z clipped to 0..n, P(Z = z) = (1 - a)/(1 + a) a^|z|

In the row m >= 1 of the cell-key table let c = min(m, d). With probability 1 - w nothing changes. Otherwise D is
uniform on -c..-1 with probability u = (d+1)/(c+d+2) and uniform on 1..d with probability 1 - u: the mean is
-u (c+1)/2 + (1-u) (d+1)/2 = 0, the variance v_c = u (c+1)(2c+1)/6 + (1-u)(d+1)(2d+1)/6, and w = v / v_c.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from flint import fmpq

from bap_lp import InputError
from bap_lp.model.mechanism import degenerate
from bap_lp.support.rational import EXACT, Array, objects
from bap_sdc.count_tables.questions import exact_number, label

_MOST = 1000


@dataclass(frozen=True)
class Protection:
    """A release that changes every cell on its own."""

    hidden: ClassVar[bool] = False  # whether the first output says only that a count is suppressed

    @property
    def title(self) -> str:
        raise NotImplementedError

    def matrix(self, n: int) -> Array:
        """q(o|m), a row for every count m = 0..n."""
        raise NotImplementedError


@dataclass(frozen=True)
class Rounding(Protection):
    """Rounding to the nearest multiple of a base."""

    base: int

    @property
    def title(self) -> str:
        return f"rounding {self.base}"

    def matrix(self, n: int) -> Array:
        shown = (2 * np.arange(n + 1) + self.base) // (2 * self.base)
        return degenerate(shown.tolist(), int(shown.max()) + 1)


@dataclass(frozen=True)
class RandomRounding(Protection):
    """Unbiased random rounding to a base."""

    base: int

    @property
    def title(self) -> str:
        return f"random rounding {self.base}"

    def matrix(self, n: int) -> Array:
        m = np.arange(n + 1)
        q = EXACT.zeros((n + 1, n // self.base + 2))
        q[m, m // self.base] = objects(fmpq(self.base - r, self.base) for r in (m % self.base).tolist())
        q[m, m // self.base + 1] = objects(fmpq(r, self.base) for r in (m % self.base).tolist())
        return q


@dataclass(frozen=True)
class Suppression(Protection):
    """Primary suppression of the counts below a threshold, zeros excepted."""

    below: int
    hidden: ClassVar[bool] = True

    @property
    def title(self) -> str:
        return f"suppression < {self.below}"

    def matrix(self, n: int) -> Array:
        m = np.arange(n + 1)
        return degenerate(np.where((m > 0) & (m < self.below), 0, m + 1).tolist(), n + 2)


@dataclass(frozen=True)
class CellKey(Protection):
    """The cell-key method with a perturbation of at most `maximum` and a given variance."""

    maximum: int
    variance: Any

    @property
    def title(self) -> str:
        return f"cell key ({self.maximum}, {label(exact_number(self.variance, 'variance'))})"

    def spread(self, count: int) -> fmpq:
        """v_c, the largest variance that this row can have."""
        c, d = min(count, self.maximum), self.maximum
        u = fmpq(d + 1, c + d + 2)
        return u * fmpq((c + 1) * (2 * c + 1), 6) + (1 - u) * fmpq((d + 1) * (2 * d + 1), 6)

    def matrix(self, n: int) -> Array:
        variance, d = exact_number(self.variance, "variance"), self.maximum
        q = EXACT.zeros((n + 1, n + d + 1))
        q[0, 0] = fmpq(1)
        for m in range(1, n + 1):
            c, w = min(m, d), variance / self.spread(m)
            u = fmpq(d + 1, c + d + 2)
            q[m, m] = 1 - w
            q[m, m - c : m] = w * u / c
            q[m, m + 1 : m + d + 1] = w * (1 - u) / d
        return q


@dataclass(frozen=True)
class Geometric(Protection):
    """Two-sided geometric noise with the given ratio, clipped to 0..n."""

    ratio: Any

    @property
    def title(self) -> str:
        return f"geometric {label(exact_number(self.ratio, 'ratio'))}"

    def matrix(self, n: int) -> Array:
        a = exact_number(self.ratio, "ratio")
        power = objects(a**d for d in range(n + 1))
        q = (1 - a) / (1 + a) * power[np.abs(np.subtract.outer(np.arange(n + 1), np.arange(n + 1)))]
        # P(Z >= d) = a^d / (1 + a) for d >= 1: an end collects its own mass and the tail behind it
        q[:, 0], q[:, -1] = power / (1 + a), power[::-1] / (1 + a)
        return q


USUAL: tuple[Protection, ...] = (
    Rounding(3),
    Rounding(5),
    RandomRounding(3),
    RandomRounding(5),
    Suppression(3),
    CellKey(2, 1),
    Geometric("1/2"),
)
RELEASE_KEYS = ("rounding", "random_rounding", "suppression", "cell_key", "geometric")


def read_protections(table: Mapping[str, Any] | None) -> tuple[Protection, ...]:
    """The releases that a file asks for; the usual ones if it has no such table."""
    if table is None:
        return USUAL
    out: list[Protection] = []
    for key in table:
        if key not in RELEASE_KEYS:
            raise InputError(f"releases.{key}", None, f"is not a known key: it may have {', '.join(RELEASE_KEYS)}")
    for key in RELEASE_KEYS:
        given = table.get(key, [])
        for k, value in enumerate(given if isinstance(given, list) else [given]):
            place = f"releases.{key}[{k}]" if isinstance(given, list) else f"releases.{key}"
            out.append(_protection(key, value, place))
    return tuple(dict.fromkeys(out))


def _protection(key: str, value: Any, place: str) -> Protection:
    if key == "cell_key":
        if not isinstance(value, Mapping) or set(value) != {"maximum", "variance"}:
            raise InputError(place, value, "must be a table with maximum and variance")
        found = CellKey(_step(value["maximum"], f"{place}.maximum", 1), value["variance"])
        variance, most = exact_number(found.variance, f"{place}.variance"), found.spread(1)
        if not 0 <= variance <= most:
            rule = f"must be between 0 and {most}: a count of 1 can only go down by 1"
            raise InputError(f"{place}.variance", found.variance, rule)
        return found
    if key == "geometric":
        ratio = exact_number(value, place)
        if not 0 <= ratio < 1:
            raise InputError(place, value, "must be at least 0 and below 1")
        return Geometric(value)
    kinds = {"rounding": Rounding, "random_rounding": RandomRounding, "suppression": Suppression}
    return kinds[key](_step(value, place, 2))


def _step(value: Any, place: str, low: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= _MOST:
        raise InputError(place, value, f"must be a whole number between {low} and {_MOST}")
    return value
