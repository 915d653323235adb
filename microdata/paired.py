"""From the losses of a component with one Eve of two replies to its joint table: pairs, and the decisions they meet at.

`ColumnLosses` has the cost d of all pairs, the decisions at which a pair attains it, and the decisions at which a state
that is not paired loses nothing. Among these the fixed weights of `bap_lp.programs.ties` choose: the weight of a unit
pair at i is w(x,i)/a(x) + w(y,i)/a(y).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bap_lp.programs.ties import weight_at
from bap_lp.rational import Array, is_exact
from microdata.columns import ColumnLosses
from microdata.pairing import Pairing, solve_pairs


@dataclass(frozen=True, eq=False)
class PairedOptimum:
    """The pairing, and for every non-zero entry of the joint table: side, state, decision and amount times a(x)."""

    pairing: Pairing
    side: Array
    state: Array
    decision: Array
    amount: Array


class _Choice:
    """Which decision a pair or a single state takes, and the weight of that."""

    def __init__(self, losses: ColumnLosses, places: tuple[Array, Array]) -> None:
        self.losses, self.places = losses, places  # the place of (x, 0) in the table of weights
        self.single = [self._singles(side) for side in (0, 1)]

    def _weight(self, side: int, state: Array, decision: Array) -> Array:
        rate = self.losses.rates[side][state]
        weight = weight_at(self.places[side][state] + decision)
        if is_exact(rate):
            weight = np.array([int(w) for w in weight.tolist()], dtype=object)
        return weight * rate

    def _singles(self, side: int) -> tuple[Array, Array]:
        state, decision = self.losses.alone(side)
        weight = self._weight(side, state, decision)
        first = _least(state, weight)
        return decision[first], weight[first]

    def pairs(self, row: Array, column: Array) -> tuple[Array, Array]:
        """Decision and weight of pairs, relative to leaving both states alone."""
        k, decision = self.losses.tied(row, column)
        weight = self._weight(0, row[k], decision) + self._weight(1, column[k], decision)
        first = _least(k, weight)
        return decision[first], weight[first] - self.single[0][1][row] - self.single[1][1][column]


def _least(group: Array, weight: Array) -> Array:
    """The place of the least weight of each group; groups are sorted and none is missing."""
    order = np.lexsort((weight, group)) if weight.dtype != object else _object_order(group, weight)
    group = group[order]
    return order[np.flatnonzero(np.append(True, group[1:] != group[:-1]))] if len(group) else order


def _object_order(group: Array, weight: Array) -> Array:
    keys = list(zip(group.tolist(), weight.tolist(), strict=True))
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)


def paired_optimum(
    losses: ColumnLosses, supply: tuple[Array, Array], lam: Any, places: tuple[Array, Array]
) -> PairedOptimum:
    """The optimal joint table of a component.

    supply: p a of the left and right states; lam: in the unit of the losses; places: x * b of their states, which
    number the fixed weights.
    """
    choice = _Choice(losses, places)
    weigh: Callable[[Array, Array], Array] = lambda row, column: choice.pairs(row, column)[1]  # noqa: E731
    found = solve_pairs(supply, losses.cost, lam, weigh)
    met = choice.pairs(found.row, found.column)[0]
    side, state, decision, amount = [], [], [], []
    for k, states in enumerate((found.row, found.column)):
        left = np.flatnonzero(found.rest[k] > 0)
        side.append(np.full(len(states) + len(left), k))
        state.append(np.concatenate([states, left]))
        decision.append(np.concatenate([met, choice.single[k][0][left]]))
        amount.append(np.concatenate([found.flow, found.rest[k][left]]))
    return PairedOptimum(found, *_collected(*(np.concatenate(part) for part in (side, state, decision, amount))))


def _collected(side: Array, state: Array, decision: Array, amount: Array) -> tuple[Array, Array, Array, Array]:
    """Several pairs of a state may meet at one decision: their amounts are added."""
    order = np.lexsort((decision, state, side))
    side, state, decision, amount = (a[order] for a in (side, state, decision, amount))
    new = (np.diff(side, prepend=-1) != 0) | (np.diff(state, prepend=-1) != 0) | (np.diff(decision, prepend=-1) != 0)
    starts = np.flatnonzero(new)
    if len(starts) < len(amount):
        amount = np.add.reduceat(amount, starts)
    return side[starts], state[starts], decision[starts], amount
