"""Eves who report probabilities: what they want, what a report costs them, and what they lose at best.

Eve wants a(x), one of finitely many values, and reports a distribution r over them. Her loss is
    log:    -log r(a), in nats            Brier:  sum_k (1{a = k} - r_k)^2 = 1 - 2 r_a + sum_k r_k^2.
At a signal with masses m_a she reports the posterior m_a / M, M = sum_a m_a, and loses
    log:    sum_a m_a log(M / m_a)        Brier:  M - sum_a m_a^2 / M.
Both are concave and positively homogeneous in m, so pooling signals raises her risk as it does any agent's. Summed over
signals, the first is the conditional entropy H(A|S); I(A;S) = H(A) - H(A|S).

A list of reports makes her an agent with finitely many decisions who does no better than she does. A log report need
only be positive with a sum of at most one, and a Brier report any vector: both losses stay valid upper bounds.
Logarithms are rounded (`logarithms`), losses up and risks to the side that is asked for: all numbers are rational.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bap_lp.model.sums.merging import class_sums
from bap_lp.support.logarithms import log_above, log_below
from bap_lp.support.rational import EXACT, Array, ReadOnly, tree_sum

if TYPE_CHECKING:
    from bap_lp.model.agents import Agent

SCORES = ("log", "brier")


def reports(agent: Agent) -> bool:
    """Whether an agent reports probabilities instead of choosing among decisions."""
    return isinstance(agent.loss, str)


@dataclass(frozen=True, eq=False)
class Reporter(ReadOnly):
    """An agent who reports probabilities, at one value of what she knows.

    where[x] is the number of her value a(x), or -1 where state x has no mass for her; values are in the order of their
    first appearance. She loses factor[x] times her loss: her weight times k(z|x).
    """

    kind: str
    where: Array
    values: tuple[str, ...]
    factor: Array

    @classmethod
    def of(cls, kind: str, labels: Sequence[str], mass: Array, factor: Array) -> Reporter:
        """mass: p(x) k(z|x)."""
        live = [bool(m) for m in mass.tolist()]
        found = (value for value, ok in zip(labels, live, strict=True) if ok)
        place = {value: k for k, value in enumerate(dict.fromkeys(found))}
        where = [place[value] if ok else -1 for value, ok in zip(labels, live, strict=True)]
        return cls(kind, np.array(where), tuple(place) or ("none",), factor)

    def on(self, first: Array, weight: Array) -> Reporter:
        """On some of the states, with factors multiplied by these weights."""
        return Reporter(self.kind, self.where[first], self.values, self.factor[first] * weight)

    def masses(self, rho: Array) -> Array:
        """m[a,s]: factor times the mass of every value at every signal."""
        return class_sums(self.factor[:, None] * rho, self.where, len(self.values))

    def losses(self, table: Array) -> Array:
        """factor[x] l(r_j, a(x)), states x reports."""
        found = report_losses(self.kind, table)
        out = EXACT.zeros((len(self.where), len(table)))
        live = self.where >= 0
        out[live] = self.factor[live][:, None] * found[self.where[live]]
        return out

    def risk(self, rho: Array, above: bool = False) -> Array:
        """What she loses at every signal of an exact table, at best."""
        return least_risk(self.kind, self.masses(rho), above)

    def risk_ends(self, rho: Array) -> tuple[Any, Any]:
        """Rationals below and above what she loses in all, of an exact joint table; equal for the Brier loss."""
        low = tree_sum(self.risk(rho))
        return low, low if self.kind == "brier" else tree_sum(self.risk(rho, above=True))

    def flaw(self, table: Array) -> str:
        """Why reports prove nothing, or ""."""
        if table.ndim != 2 or table.shape[1] != len(self.values):
            return f"the reports have shape {table.shape}, must have a number for each of {len(self.values)} values"
        if self.kind == "log" and ((table <= 0).any() or (table.sum(axis=1) > 1).any()):
            return "the reports must be positive and sum to at most 1"
        return ""


def report_losses(kind: str, table: Array) -> Array:
    """l(r_j, a) of every value and report (values x reports), never below the true loss; table: reports x values."""
    if kind == "log":
        return np.array([[-log_below(v) for v in row] for row in table.tolist()], dtype=object).T
    squares = (table * table).sum(axis=1)
    return (1 - 2 * table + squares[:, None]).T


def least_risk(kind: str, m: Array, above: bool = False) -> Array:
    """What the agent loses at every signal of an exact table m[a,s] at best; a log risk rounded down, or up."""
    total = m.sum(axis=0)
    if kind == "brier":
        return EXACT.list(t - (m[:, s] ** 2).sum() / t if t else t for s, t in enumerate(total))
    log = log_above if above else log_below
    terms = (EXACT.list(v * log(t / v) if v else v for v in m[:, s]) for s, t in enumerate(total))
    return EXACT.list(own.sum() for own in terms)
