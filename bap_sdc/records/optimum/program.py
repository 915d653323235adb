"""The compact program of a table of records, kept as sums over columns.

A record type x has a published level x_k in every published column k, a secret s_n(x) for every Eve n, and the joint
value z_n(x) of the columns that Eve n knows. A decision of Bob is a tuple i = (i_1, ..., i_c) of published levels, so
that
    B(x,i) = sum_k L_k(x_k, i_k),        E_n(x,j) = w_n L_n(s_n(x), j),        one Eve group per pair (n, z).
All tuples are decisions, also those that no record has; a decision is numbered with the last column changing fastest.
Only the small tables L_k and L_n are stored: never a table of record types times decisions.

An Eve may stand for one value of something random that is known besides z: then `chance` is k(x), the probability of
that value at x, her losses are k(x) w_n L_n(s_n(x), j), and one such Eve per value is an Eve who knows it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from bap_lp.support.labels import probability, weight_of
from bap_lp.support.rational import Array, InputError, ReadOnly, array, floats, is_exact, lifted

_MOST = 10_000_000  # decisions


@dataclass(frozen=True, eq=False)
class TableEve(ReadOnly):
    """One Eve: what she wants and what she knows about the record she attacks.

    Args:
        name: her name.
        secret: (N,) codes of the attribute she wants.
        known: (N,) codes of the joint value of the columns she knows (all zero if she knows none).
        loss: her loss, a row per level of the secret, a column per guess.
        weight: of her risk in R_E.
        chance: (N,) the probability that she is the Eve who attacks this record; 1 if left out.

    Raises:
        InputError: when a `RecordProgram` is made with an Eve who does not fit it.

    >>> import numpy as np
    >>> TableEve("neighbour", np.array([0, 1, 1]), np.zeros(3, int), [[0, 1], [1, 0]]).name
    'neighbour'
    """

    name: str
    secret: Array
    known: Array
    loss: Any
    weight: Any = 1
    chance: Any = None

    def heard(self, mass: Array, state: Any = slice(None)) -> Array:
        """Masses of record types as she hears them: times her chance."""
        return mass if self.chance is None else mass * self.chance[state]

    def among(self, chosen: Array) -> TableEve:
        """The same Eve on some of the record types."""
        chance = None if self.chance is None else self.chance[chosen]
        return replace(self, secret=self.secret[chosen], known=self.known[chosen], chance=chance)


@dataclass(frozen=True, eq=False)
class RecordProgram(ReadOnly):
    """Probabilities, published levels, losses by column and the Eves of a table of N record types.

    Exact (fmpq inside) if all numbers are; one float makes all of them floats.

    Args:
        p: (N,) probabilities of the record types, positive.
        codes: (N, c) level of each published column.
        losses: c tables, row: true level, column: published level, weights included.
        eves: the Eves.

    Raises:
        InputError: a probability, code, loss or weight breaks a rule.

    >>> import numpy as np
    >>> from bap_sdc import TableEve, RecordProgram
    >>> eve = TableEve("neighbour", np.array([0, 1, 1]), np.zeros(3, int), [[0, 1], [1, 0]])
    >>> records = np.array([[0], [0], [1]])
    >>> program = RecordProgram(["1/2", "1/4", "1/4"], records, ([[0, 1], [1, 0]],), (eve,))
    >>> program.exact, program.decisions
    (True, 2)
    """

    p: Any
    codes: Array
    losses: tuple[Any, ...]
    eves: tuple[TableEve, ...]

    def __post_init__(self) -> None:
        p = probability(self.p, "p")
        losses = [array(table, f"losses[{k}]", 2) for k, table in enumerate(self.losses)]
        eves = tuple(self.eves)
        if not losses:
            raise InputError("losses", None, "must not be empty")
        if not eves:
            raise InputError("eves", None, "must not be empty")
        codes = _codes(self.codes, "codes", (len(p), len(losses)))
        for k, table in enumerate(losses):
            _within(codes[:, k], len(table), f"codes[:, {k}]")
        if not (p > 0).all():
            at = int(np.flatnonzero(~(p > 0))[0])
            raise InputError(f"p[{at}]", p[at], "must be positive: leave out record types of probability zero")
        tables, weights, chances = [], [], []
        for n, eve in enumerate(eves):
            tables.append(array(eve.loss, f"eves[{n}].loss", 2))
            weights.append(weight_of(eve.weight, f"eves[{n}].weight"))
            chances.append(None if eve.chance is None else _chance(eve.chance, f"eves[{n}].chance", len(p)))
        exact = all(map(is_exact, (p, *losses, *tables, *weights, *(c for c in chances if c is not None))))
        if not exact:
            p, losses, tables = floats(p), [floats(t) for t in losses], [floats(t) for t in tables]
            weights = [float(w) for w in weights]
            chances = [None if c is None else floats(c) for c in chances]
        read = []
        for n, (eve, table, weight) in enumerate(zip(eves, tables, weights, strict=True)):
            secret, known = (
                _codes(a, f"eves[{n}].{f}", (len(p),)) for f, a in (("secret", eve.secret), ("known", eve.known))
            )
            _within(secret, len(table), f"eves[{n}].secret")
            read.append(TableEve(eve.name or f"Eve{n + 1 if n else ''}", secret, known, table, weight, chances[n]))
        for name, value in (("p", p), ("codes", codes), ("losses", tuple(losses)), ("eves", tuple(read))):
            object.__setattr__(self, name, value)
        if self.decisions > _MOST:
            raise InputError("decisions", self.decisions, f"must be at most {_MOST}: band or merge levels")
        super().__post_init__()

    @property
    def exact(self) -> bool:
        return is_exact(self.p)

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """The number of published levels of each column."""
        return tuple(table.shape[1] for table in self.losses)

    @cached_property
    def decisions(self) -> int:
        """The number of Bob's decisions: all combinations of published levels."""
        return prod(self.levels)

    def decision(self, levels: Any) -> Any:
        """The number of the decision with these published levels (a tuple, or arrays of levels by column)."""
        return np.ravel_multi_index(tuple(levels), self.levels)

    def published(self, decision: Any) -> tuple[Any, ...]:
        """The published levels of a decision, column by column."""
        return np.unravel_index(decision, self.levels)

    def as_float(self) -> RecordProgram:
        """The same program in floats."""
        return self if not self.exact else RecordProgram(floats(self.p), self.codes, self.losses, self.eves)

    def lifted(self) -> RecordProgram:
        """Floats as the rationals they are; the probabilities are divided by their sum."""
        if self.exact:
            return self
        p = lifted(self.p)
        eves = tuple(
            replace(
                e,
                loss=lifted(e.loss),
                weight=lifted(np.array([e.weight]))[0],
                chance=None if e.chance is None else lifted(e.chance),
            )
            for e in self.eves
        )
        return RecordProgram(p / p.sum(), self.codes, tuple(map(lifted, self.losses)), eves)


def _codes(values: Any, field: str, shape: tuple[int, ...]) -> Array:
    out = np.asarray(values)
    if out.shape != shape:
        raise InputError(field, None, f"has shape {out.shape}, must have {shape}")
    if out.dtype.kind not in "iu" or (out < 0).any():
        raise InputError(field, None, "must be non-negative integers")
    return out.astype(np.int64)


def _chance(values: Any, field: str, count: int) -> Array:
    out = array(values, field, 1)
    if len(out) != count:
        raise InputError(field, None, f"has {len(out)} entries, must have {count}, one per record type")
    if not ((out >= 0) & (out <= 1)).all():
        at = int(np.flatnonzero(~((out >= 0) & (out <= 1)))[0])
        raise InputError(f"{field}[{at}]", out[at], "must be a probability")
    return out


def _within(codes: Array, count: int, field: str) -> None:
    if codes.max(initial=0) >= count:
        at = int(codes.argmax())
        raise InputError(f"{field}[{at}]", int(codes[at]), f"must be below {count}, the rows of its loss")
