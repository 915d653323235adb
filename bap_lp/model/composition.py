"""Composition: what is left of Eve's risk when several signals about the same data are drawn.

Each release is a fresh draw, so K signals have the probability q(s_1|x) ... q(s_K|x). Their order says nothing about x,
so the number of times that each signal occurred carries all the information. The mechanism that sends these counts has
the risks of K draws: q(c|x) = K! / (c_1! ... c_m!) q(1|x)^c_1 ... q(m|x)^c_m.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations_with_replacement
from math import comb, factorial, prod

import numpy as np

from bap_lp.model.mechanism import Mechanism
from bap_lp.support.labels import joined
from bap_lp.support.rational import InputError, field_of

_MOST = 2_000_000  # entries of the channel of counts
_MOST_PRODUCTS = 4_000_000  # an entry is a product of as many probabilities as there are draws


def composed(mechanism: Mechanism, draws: int) -> Mechanism:
    """The mechanism whose signal is the outcome of several independent draws for the same data.

    Args:
        mechanism: the mechanism that is drawn from.
        draws: how many signals are drawn for one state.

    Returns:
        The mechanism that sends how often each signal was drawn; exact if the mechanism is.

    Raises:
        InputError: draws is not a positive integer, or there are too many outcomes.

    >>> from bap_lp import Mechanism, Problem, composed, evaluate
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> hide = Mechanism([[1, 0], ["3/10", "7/10"]], signals=["0", "1"])
    >>> [str(evaluate(coin, composed(hide, draws)).risks.eve) for draws in (1, 2, 3)]
    ['3/4', '9/40', '27/400']
    """
    if isinstance(draws, bool) or not isinstance(draws, int) or draws < 1:
        raise InputError("draws", draws, "must be a positive integer")
    states, signals = mechanism.q.shape
    # more draws than entries are too many with two signals already, so their outcomes are not counted
    outcomes = comb(min(draws, _MOST) + signals - 1, signals - 1)
    if outcomes * states > _MOST or outcomes * states * draws > _MOST_PRODUCTS:
        rule = f"give too many outcomes for {states} states: at most {_MOST} entries are computed"
        raise InputError("draws", draws, rule)
    names, columns = [], []
    for drawn in combinations_with_replacement(range(signals), draws):
        counts = [drawn.count(s) for s in range(signals)]
        names.append(joined([f"{c} x {mechanism.signals[s]}" for s, c in enumerate(counts) if c], " + "))
        columns.append(orders(drawn) * np.prod([mechanism.q[:, s] for s in drawn], axis=0))
    return Mechanism.of(np.stack(columns, axis=1), names, mechanism.states, f"{draws} draws of {mechanism.name}")


def orders(drawn: Sequence[int]) -> int:
    """In how many orders these signals can be drawn."""
    return factorial(len(drawn)) // prod(map(factorial, Counter(drawn).values()))


def without_end(mechanism: Mechanism) -> Mechanism:
    """What draws without end tell: which of the different rows of the channel the state has.

    Any number of draws can be made from it, so it leaves Eve no more risk than they do.

    >>> from bap_lp import Mechanism
    >>> without_end(Mechanism([["1/2", "1/2"], ["1/2", "1/2"], [0, 1]])).q.tolist()
    [[1, 0], [1, 0], [0, 1]]
    """
    rows = list(map(tuple, mechanism.q.tolist()))
    place = {row: k for k, row in enumerate(dict.fromkeys(rows))}
    q = field_of(mechanism.q).zeros((len(rows), len(place)))
    for x, row in enumerate(rows):
        q[x, place[row]] = field_of(mechanism.q).number(1)
    names = [f"row {k + 1}" for k in range(len(place))]
    return Mechanism.of(q, names, mechanism.states, f"draws of {mechanism.name} without end")
