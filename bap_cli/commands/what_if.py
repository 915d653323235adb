"""What would change the answer: another lambda, another number of the problem, a condition less.

V(lambda) is linear between two breakpoints, where another mechanism takes over. The intervals of `sensitivity` say how
far one number may move before another basis of the program is optimal. The basis says which states may get which
signals. If several bases are optimal, an interval may be too short, so the words are "at least while".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from bap_cli.show import costs_in_words
from bap_cli.terminal import short as brief
from bap_cli.terminal import told
from bap_lp.model.display import clean, decimal, equals
from bap_lp.model.problem import Problem
from bap_lp.model.risks import Number
from bap_lp.questions.optimum.conditioned import condition_costs
from bap_lp.questions.optimum.solution import Solution
from bap_lp.questions.path.pieces import lambda_path
from bap_lp.questions.sensitivity import Interval, sensitivity
from bap_lp.questions.uniqueness import is_unique
from bap_lp.rational import Array, InputError, public

_STATES = 2000  # up to which the path is followed
_PIECES = 400
_ENTRIES = 300  # N (b + e), up to which every number is moved

News = Callable[..., None]


short = partial(brief, longest=9)  # of a fraction that is still read in a sentence


def both(value: Number) -> str:
    text = short(value)
    return f"{text} ({decimal(value)})" if "/" in text else text


def equal(name: str, value: Number) -> str:
    return equals(name, value, both)


class _Enough(Exception):
    pass


def changes(best: Solution, progress: News) -> Iterator[str]:
    yield from _other_prices(best, progress)
    yield from _alone(best)
    yield from _moved_numbers(best, progress)
    if best.conditions is not None:
        if best.price_of_conditions is not None:
            yield f"If all conditions were dropped, R_A would fall by {both(best.price_of_conditions)}."
        yield from costs_in_words(condition_costs(best))


def _other_prices(best: Solution, progress: News) -> Iterator[str]:
    def count(pieces: int, lam: float) -> None:
        if pieces > _PIECES:
            raise _Enough
        progress(pieces, lam)

    if len(best.problem.p) > _STATES:
        yield "There are too many states to show other values of lambda here; `bap path` does it."
        return
    try:
        path = lambda_path(best.problem, progress=count, conditions=best.conditions)
    except (_Enough, InputError):
        yield "Other values of lambda are not shown: there are too many breakpoints, or the conditions do not allow it."
        return
    piece = path.piece(best.lam)
    k = path.pieces.index(piece)
    if len(path.pieces) == 1:
        yield "This mechanism is optimal for every lambda."
        return
    if k and best.lam == piece.start:
        yield f"{equal('lambda', best.lam)} is a breakpoint: two mechanisms, and their mixtures, are equally good here."
    for other, words in ((k - 1, "below"), (k + 1, "above")):
        if 0 <= other < len(path.pieces):
            at, risks = (piece.start if other < k else piece.end), path.pieces[other].risks
            yield (
                f"If lambda were just {words} {both(at)}, another mechanism would be optimal, with "
                f"{equal('R_B', risks.bob)} and {equal('R_E', risks.eve)}."
            )
        elif words == "above":
            yield "For every larger lambda this mechanism stays optimal."
        else:
            yield "For every smaller lambda this mechanism stays optimal."


def _alone(best: Solution) -> Iterator[str]:
    problem = best.problem
    states, b, _ = problem.shape
    if best.conditions is None and best.exact and not problem.misaligned and states * b <= _ENTRIES:
        if is_unique(problem, best.lam):
            yield "The optimal mechanism is unique: no other one reaches the same R_A."
        else:
            yield "The optimal mechanism is not unique: this is one of several that reach the same R_A."


def _moved_numbers(best: Solution, progress: News) -> Iterator[str]:
    problem = best.problem
    states, b, e = problem.shape
    if best.conditions is not None or problem.misaligned or states * (b + e) > _ENTRIES:
        return
    progress("moving the numbers")
    found = sensitivity(problem, best.lam)
    for x in sorted(range(states), key=lambda x: -problem.p[x])[:3]:
        yield (
            f"If {equals(f'P({clean(problem.states[x])})', public(problem.p[x]), short)} changed, and the others in "
            f"proportion, the same states would get the same signals at least while it is "
            f"{_range(found.prior_interval[x])}."
        )
    yield from _most(problem, "Bob", "raises", found.bob, found.bob_interval)
    if best.lam != 0:
        yield from _most(problem, "Eve", "lowers", -found.eve, found.eve_interval)


def _most(problem: Problem, who: str, moves: str, slopes: Array, intervals: Any) -> Iterator[str]:
    """The loss with the largest derivative, among those that may rise inside their interval: the others have none."""
    agents, values, names = (
        (problem.bobs, problem.bob_loss, problem.bob_decisions)
        if who == "Bob"
        else (problem.eves, problem.eve_loss, problem.eve_decisions)
    )
    steep = [
        (float(slopes[x, k]), -x, -k)
        for x, row in enumerate(intervals)
        for k, one in enumerate(row)
        if slopes[x, k] > 0 and (one.high is None or one.high > values[x, k])
    ]
    if not steep:
        return
    x, k = (-place for place in max(steep)[1:])
    weighted = "weighted " if any(agent.weight != 1 for agent in agents) else ""
    which = f"that of “{clean(names[k])}” at {told(problem.states[x])} matters most"
    yield (
        f"Of the {weighted}losses of {who} that can rise before a state gets another signal, {which}: "
        f"a small increase of it {moves} R_A by {both(slopes[x, k])} times as much. The same states get the same "
        f"signals at least while this loss is {_range(intervals[x][k])}."
    )


def _range(one: Interval) -> str:
    low = both(one.low)
    if one.high is None or one.high == math.inf:
        return f"at least {low}"
    return f"exactly {low}" if one.high == one.low else f"between {low} and {both(one.high)}"
