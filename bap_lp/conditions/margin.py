"""margin m: at every signal sent Bob's decision is better than any other by m P(signal), and so is each Eve's.

A signal s prescribes Bob's decision i_s and Eve g's decision j_sg (columns of the weighted losses), and for i != i_s
    sum_x p(x) (B(x,i_s) - B(x,i) + m) q[x,s] <= 0,
and the same for every Eve. The prices v[s,i] of Bob's rows are the condition's own; those of Eve's rows take the place
of her replies u[s,j] in the certificate, as t[s,g] = sum_x p(x) E(x,j_sg) q[x,s] needs none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bap_lp.conditions.base import Condition, Lagrangian, Prices, Reader, RowSink, SentSignals
from bap_lp.conditions.signals import Signals
from bap_lp.model.arrays import Arrays
from bap_lp.rational import Array, Field, InputError, field_of, number, text

if TYPE_CHECKING:
    from bap_lp.conditions.conditions import Conditions
    from bap_lp.model.problem import Problem


class Margin(Condition):
    name = "margin"
    numbers = {"margin": 0}
    width = 2
    tuples = True

    def __init__(self, margin: Any, names: list[str]) -> None:
        self.margin, self.names = margin, names

    @classmethod
    def of(cls, given: Conditions, problem: Problem, field: Field) -> Margin | None:
        if given.margin is None:
            return None
        return cls(field.number(number(given.margin, "margin")), ["Bob", *(eve.name for eve in problem.eves)])

    def check(self, sent: SentSignals, unit: Any) -> str:
        mass = sent.rho.sum(axis=0)
        agents = _agents(sent.arrays, sent.signals)
        for k, (losses, own, others) in enumerate(agents):
            played = sent.eve if k else sent.bob
            for s, d in zip(*_rivals(own, others), strict=True):
                if played[s, own[s]] + self.margin * mass[s] > played[s, d] + unit * losses.max():
                    return f"at signal {s} {self.names[k]} prefers its decision by less than the margin"
        return ""

    def rows(self, program: RowSink) -> list[slice]:
        p, place = program.arrays.p[:, None], []
        for losses, own, others in _agents(program.arrays, program.signals):
            s, d = _rivals(own, others)
            gains = p * (losses[:, own[s]] - losses[:, d] + self.margin)
            place.append(program.rows(len(s), [(np.arange(len(s)), program.q[:, s], gains)] if len(s) else []))
        return place

    def prices(self, program: RowSink, place: list[slice], duals: Array) -> Prices:
        S, b = len(program.signals), program.arrays.shape[1]
        v = program.arrays.field.zeros((S, b))
        v[_rivals(program.signals.bob, np.arange(b))] = duals[place[0]]
        return _dense(v)

    def replies(self, program: RowSink, place: list[slice], duals: Array) -> Array:
        """The prices of Eve's obedience, as a table like her replies."""
        u = program.arrays.field.zeros((len(program.signals), program.arrays.shape[2]))
        for (_, own, others), where in zip(_agents(program.arrays, program.signals)[1:], place[1:], strict=True):
            u[_rivals(own, others)] = duals[where]
        return u

    def bound_term(self, prices: Prices, lagrangian: Lagrangian) -> str:
        arrays, S, b = lagrangian.arrays, len(lagrangian.signals), lagrangian.arrays.shape[1]
        s, i = prices.places.T
        if len(s) < S * b or len(s) and (s.min() < 0 or s.max() >= S or i.min() < 0 or i.max() >= b):
            return "a margin needs non-negative prices of Bob's obedience, one per signal and decision"
        v = arrays.field.zeros((S, b))
        np.add.at(v, (s, i), prices.weights)
        for k, (losses, own, others) in enumerate(_agents(arrays, lagrangian.signals)):
            w = lagrangian.u if k else v
            if (w[np.arange(S), own] != 0).any():
                return "obedience has a price for the decision itself"
            priced = w[:, others]
            p = arrays.p[:, None]
            lagrangian.charge(p * (losses[:, own] + self.margin) * priced.sum(axis=1))
            lagrangian.charge(-p * losses[:, others].dot(priced.T))
        return ""

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
        values = [field.number(read(v, f"obedience[{s}][{i}]")) for s, row in enumerate(rows) for i, v in enumerate(row)]
        return _dense(field.list(values).reshape(len(rows), -1)) if rows else Prices.of([], [], 2, field)


def _agents(arrays: Arrays, signals: Signals) -> list[tuple[Array, Array, Array]]:
    """(losses, own decision per signal, all decisions) of Bob and of every Eve, decisions as columns of the losses."""
    assert signals.eve is not None
    eves = [(arrays.E, signals.eve[:, k], np.arange(g.start, g.stop)) for k, g in enumerate(arrays.groups)]
    return [(arrays.B, signals.bob, np.arange(arrays.shape[1])), *eves]


def _rivals(own: Array, others: Array) -> tuple[Array, Array]:
    """(s, d) for every decision d of the agent other than its own at s."""
    s, k = np.nonzero(own[:, None] != others[None, :])
    return s, others[k]


def _dense(table: Array) -> Prices:
    return Prices(np.indices(table.shape).reshape(2, -1).T, table.ravel())
