"""The Lagrangian bound under conditions, as it is summed up, and the multipliers behind it.

The program's variables are q[x,s] = q(s|x), Eve's risks t[s,g] <= sum_x p(x) E(x,j) q[x,s] for j in g, and auxiliary
columns 0 <= a <= 1 of the conditions. A linear condition is rows  C q + D t + F a <= r  with multipliers w >= 0. Let
u >= 0 be the multipliers of the rows of t. For every feasible channel
    beta R_B - lam R_E >= beta sum p B q - lam sum t + w.(C q + D t + F a - r) + u.(t - p E q)
                       >= sum_x min_s (beta p(x) B(x,i_s) - sum_j u[s,j] p(x) E(x,j) + (C'w)[x,s])
                          + sum min(0, F'w) - w.r        if  sum_{j in g} u[s,j] = lam - (D'w)[s,g],
as sum_s q[x,s] = 1. beta is one in a proof of a value; a bound above zero with beta = lam = 0 proves that no channel
meets the conditions. Where signals prescribe Eve's decisions, t[s,g] = sum_x p(x) E(x,j_sg) q[x,s] and u is not needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bap_lp.conditions.signals import Signals
from bap_lp.model.arrays import Arrays
from bap_lp.model.signal_sums import signal_losses
from bap_lp.rational import Array, Field, ReadOnly


@dataclass(frozen=True, eq=False)
class Prices(ReadOnly):
    """Multipliers of the rows of a condition: the row named by places[k] has weights[k]; a place may come twice."""

    places: Array
    weights: Array

    @classmethod
    def of(cls, places: Sequence[Sequence[int]], weights: Sequence[Any], width: int, field: Field) -> Prices:
        return cls(np.array(places, dtype=np.int64).reshape(len(places), width), field.list(weights))

    @property
    def total(self) -> Any:
        return self.weights.sum() if len(self.weights) else 0

    def in_field(self, field: Field) -> Prices:
        return Prices(self.places, field.array(self.weights))

    def plus(self, other: Prices, share: Any, onward: Any) -> Prices:
        """share * self + onward * other."""
        places = np.concatenate([self.places, other.places])
        return Prices(places, np.concatenate([self.weights * share, other.weights * onward]))


@dataclass(frozen=True, eq=False)
class Multipliers(ReadOnly):
    """A point of the dual: Eve's replies u[s,j], and the prices of the conditions by name.

    Where signals are tuples, u are the prices of Eve's obedience.
    """

    u: Array
    prices: Mapping[str, Prices]

    def in_field(self, field: Field) -> Multipliers:
        prices = {name: own.in_field(field) for name, own in self.prices.items()}
        return Multipliers(field.array(self.u), prices)

    def plus(self, other: Multipliers, share: Any, onward: Any) -> Multipliers:
        """share * self + onward * other: the bound is concave and positively homogeneous in (beta, lam, u, w)."""
        prices = {name: own.plus(other.prices[name], share, onward) for name, own in self.prices.items()}
        return Multipliers(self.u * share + other.u * onward, prices)


@dataclass(frozen=True, eq=False)
class SentSignals:
    """A channel and what the agents lose at its signals."""

    arrays: Arrays
    signals: Signals
    q: Array

    @cached_property
    def rho(self) -> Array:
        return self.arrays.p[:, None] * self.q

    @cached_property
    def bob(self) -> Array:
        return signal_losses(self.rho, self.arrays.B)

    @cached_property
    def eve(self) -> Array:
        return signal_losses(self.rho, self.arrays.E)

    @property
    def told_risk(self) -> Any:
        """R_B of a Bob who decides what he is told."""
        return self.bob[np.arange(len(self.signals)), self.signals.bob].sum()

    @property
    def eve_risk(self) -> Any:
        """R_E of Eves who decide for themselves, or what they are told where signals prescribe it."""
        if self.signals.eve is not None:
            return self.eve[np.arange(len(self.signals))[:, None], self.signals.eve].sum()
        return self.arrays.least_replies(self.eve).sum()

    def score(self, lam: Any, bob_weight: int = 1) -> tuple[Any, Any]:
        """bob_weight R_B - lam R_E, and what chooses among equal ones: -R_E, or R_B where R_B has no weight."""
        bob, eve = self.told_risk, self.eve_risk
        return bob_weight * bob - lam * eve, -eve if bob_weight else bob


class Lagrangian:
    """The bound as it is summed up: cost[x,s] of sending s at x, price risk[s,g] of Eve's risk, and a constant.

    `size` and `scale` sum the sizes of the terms: rounding errors in floats are judged on them.
    """

    def __init__(self, arrays: Arrays, signals: Signals, u: Array, lam: Any, bob_weight: int = 1) -> None:
        self.arrays, self.signals, self.u = arrays, signals, u
        self.own = arrays.p[:, None] * arrays.B[:, signals.bob]
        self.cost = bob_weight * self.own
        self.size = abs(self.cost)
        self.risk = arrays.field.zeros((len(signals), len(arrays.groups))) + lam
        self.constant = self.scale = arrays.field.zero

    def charge(self, x: Any, s: Any, amount: Array) -> None:
        """Add to the costs of sending s at x; positions may come twice."""
        np.add.at(self.cost, (x, s), amount)
        np.add.at(self.size, (x, s), abs(amount))

    def pay(self, amount: Any) -> None:
        """Add to the constant."""
        self.constant, self.scale = self.constant + amount, self.scale + abs(amount)

    def replied(self, unit: Any) -> str:
        """Charge Eve's replies; what is wrong with them, if anything."""
        p, E = self.arrays.p[:, None], self.arrays.E
        if (self.u < 0).any():
            return "u must not be negative"
        if self.signals.eve is not None:
            for k in range(len(self.arrays.groups)):
                self.charge(..., slice(None), -self.risk[:, k] * p * E[:, self.signals.eve[:, k]])
            return ""
        u = self.u if not unit else self.u.copy()
        for k, g in enumerate(self.arrays.groups):
            for s, total in enumerate(self.u[:, g].sum(axis=1)):
                if abs(total - self.risk[s, k]) > unit * abs(self.risk[s, k]):
                    return f"u[{s}] sums to {total}, lambda and the prices of Eve's risk to {self.risk[s, k]}"
                if (
                    self.arrays.exact and total != self.risk[s, k]
                ):  # replies in floats: a reply of the right size is one
                    u[s, g] = u[s, g] * (self.risk[s, k] / total)
        self.charge(..., slice(None), -p * E.dot(u.T))
        return ""

    def bound(self, allowed: Array | None = None) -> Any:
        """Below the value of every channel (that sends only allowed[x,s]); in floats less more than its rounding."""
        if allowed is None:
            least = self.cost.min(axis=1).sum()
        else:
            least = self.arrays.field.list(row[ok].min() for row, ok in zip(self.cost, allowed, strict=True)).sum()
        if self.arrays.exact:
            return least + self.constant
        size = float(self.size.max(axis=1).sum() + self.scale)
        return float(least + self.constant) - (sum(self.arrays.shape) + 40) * float(np.finfo(float).eps) * size
