"""margin m: at every signal sent Bob's decision is better than any other by m P(signal), and so is each Eve's.

A signal s prescribes a decision to Bob and to every Eve. Number the decisions of all agents d, Bob's first, let L be
their (weighted) losses and own(s,d) the decision prescribed at s to the agent of d. For all d != own(s,d)
    sum_x p(x) (L(x,own(s,d)) - L(x,d) + m) q[x,s] <= 0.
An Eve who knows z has the losses k(z|x) E(x,j) there, and m k(z|x) in place of m: she prefers her decision by m times
the probability of the signal and z. The prices of Bob's rows are the condition's own; those of Eve's rows take the
place of her replies u[s,j] in the certificate, which are not needed, as t[s,g] = sum_x p(x) E(x,j_sg) q[x,s] is
linear.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bap_lp.conditions.base import Condition, LinearRows, Part, Reader, RowSink, broken_row
from bap_lp.conditions.lagrangian import Lagrangian, Prices, SentSignals
from bap_lp.conditions.signals import Signals
from bap_lp.model.arrays import Arrays
from bap_lp.rational import Array, Field, InputError, field_of, text

if TYPE_CHECKING:
    from bap_lp.conditions.conditions import Conditions
    from bap_lp.model.problem import Problem


class Margin(Condition):
    name = "margin"
    numbers: ClassVar[dict[str, int]] = {"margin": 0}
    width = 2
    tuples = True

    def __init__(self, margin: Any, names: list[str]) -> None:
        self.margin, self.names = margin, names

    @classmethod
    def of(cls, given: Conditions, problem: Problem, field: Field) -> Margin | None:
        if given.margin is None or problem.misaligned:
            return None  # agents with beliefs of their own have the margin in their obedience
        views = ((problem.view_name(*view), g) for view, g in zip(problem.eve_views, problem.eve_groups, strict=True))
        names = ["Bob"] * problem.shape[1] + [name for name, g in views for _ in range(g.stop - g.start)]
        out = cls(field.number(given.margin), names)
        out.merges = problem.eve_shares is None  # states with the same losses may differ in k(z|x)
        return out

    def check(self, sent: SentSignals, unit: Any) -> str:
        places = self.places(sent.arrays, sent.signals)
        _, x, k, gains = self.linear(places, sent.arrays, sent.signals).q
        # the scale of two decisions is that of what tells them apart where the signal is sent, not that of all losses
        row = broken_row(gains, sent.q[x, k], abs(gains * sent.q[x, k]).sum(axis=0), unit)
        if row is None:
            return ""
        s, d = places[row].tolist()
        return f"at signal {s} {self.names[d]} prefers its decision by less than the margin"

    def places(self, arrays: Arrays, signals: Signals) -> Array:
        own = _own(arrays, signals)
        return np.argwhere(own != np.arange(own.shape[1]))

    def linear(self, places: Array, arrays: Arrays, signals: Signals) -> LinearRows:
        losses, (s, d) = np.hstack([arrays.B, arrays.E]), places.T
        margins = self.margin * _shares(arrays)[:, d]
        gains = arrays.p[:, None] * (losses[:, _own(arrays, signals)[s, d]] - losses[:, d] + margins)
        x, k = np.indices(gains.shape)
        return LinearRows(arrays.field.zeros(len(places)), q=(k, x, s[k], gains))

    def prices(self, program: RowSink, place: Any, duals: Array) -> Prices:
        """Bob's, as a whole table."""
        return _dense(self._table(program, place, duals)[:, : program.arrays.shape[1]])

    def replies(self, program: RowSink, place: Any, duals: Array) -> Array:
        """The prices of Eve's obedience, as a table like her replies."""
        return self._table(program, place, duals)[:, program.arrays.shape[1] :]

    def _table(self, program: RowSink, place: Any, duals: Array) -> Array:
        table = program.arrays.field.zeros((len(program.signals), len(self.names)))
        table[tuple(place[0].T)] = duals[place[1]]
        return table

    def parts(self, arrays: Arrays, signals: Signals) -> list[Part]:
        return [Part(self.name, self.margin, -1, 0 * self.margin, lambda m: Margin(m, self.names))]

    def shadow(self, prices: Prices, sent: SentSignals) -> dict[str, Any]:
        """R_A falls by sum w[s,d] P(s) per unit; the part of Eve's obedience is in u and not counted here."""
        return {}

    def bound_term(self, prices: Prices, lagrangian: Lagrangian) -> str:
        S, b = len(lagrangian.signals), lagrangian.arrays.shape[1]
        own = _own(lagrangian.arrays, lagrangian.signals)
        if set(map(tuple, prices.places.tolist())) != set(np.ndindex(S, b)):
            return "a margin needs prices of Bob's obedience, one per signal and decision"
        both = prices.plus(_dense(lagrangian.u, b), 1, 1)
        places, weights = both.places[both.weights != 0], both.weights[both.weights != 0]
        if (own[tuple(places.T)] == places[:, 1]).any():
            return "obedience has a price for the decision itself"
        return super().bound_term(Prices(places, weights), lagrangian)

    @classmethod
    def document(cls, prices: Prices) -> dict[str, Any]:
        if not len(prices.places):
            return {}
        table = field_of(prices.weights).zeros(tuple(prices.places.max(axis=0) + 1))
        np.add.at(table, tuple(prices.places.T), prices.weights)
        return {"obedience": [[text(w) for w in row] for row in table.tolist()]}

    @classmethod
    def schema(cls) -> dict[str, Any]:
        return {"obedience": {"type": "array"}}

    @classmethod
    def read(cls, document: dict[str, Any], read: Reader, field: Field) -> Prices:
        rows = document.get("obedience", [])
        for s, row in enumerate(rows):
            if not isinstance(row, list) or not row or len(row) != len(rows[0]):
                raise InputError(f"obedience[{s}]", row, "must be a list as long as the other rows")
        values = [
            field.number(read(w, f"obedience[{s}][{i}]")) for s, row in enumerate(rows) for i, w in enumerate(row)
        ]
        return _dense(field.list(values).reshape(len(rows), -1)) if rows else Prices.of([], [], 2, field)


def _own(arrays: Arrays, signals: Signals) -> Array:
    """own(s,d): what the agent of decision d is told at s."""
    assert signals.eve is not None
    b = arrays.shape[1]
    told = np.hstack([signals.bob[:, None], b + signals.eve])
    return told[:, np.append(np.zeros(b, dtype=int), 1 + arrays.group_of)]


def _shares(arrays: Arrays) -> Array:
    """The probability with which the agent of decision d is at hand: k(z|x), or one; states x decisions."""
    N, b, e = arrays.shape
    if arrays.shares is None:
        return arrays.field.full((N, b + e), 1)
    return np.hstack([arrays.field.full((N, b), 1), arrays.shares[:, arrays.group_of]])


def _dense(table: Array, first: int = 0) -> Prices:
    """A whole table of prices; its first column is decision `first`."""
    s, d = np.indices(table.shape).reshape(2, -1)
    return Prices(np.column_stack([s, first + d]), table.ravel())
