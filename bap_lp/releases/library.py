"""The releases a statistician would consider without an optimiser, each a channel q(s|x), and how far they fall short.

    full                 s = x                                   null       s = nothing
    Bob's decision       s = argmin_i B(x,i)                     statistic  s = T(x); a partition is a T given by blocks
    randomised response  q(x|x) = 1 - w, q(s|x) = w / (N - 1)    for two states the paper's q^(w)
    posterior sample     q(theta|x) = pi(theta|x)
    synthetic data       q(x'|x) = sum_theta pi(theta|x) p(x'|theta),  p(x'|theta) = pi(theta|x') p(x') / pi(theta)
    truncated geometric  s = x + Z clipped to the ends,  P(Z = z) = (1 - a)/(1 + a) a^|z|,  a = exp(-eps), exact for
                         rational a; eps is the privacy between adjacent states, (N - 1) eps between all of them

A state of probability zero has no posterior: where a release needs one, its row is the null row sum_x p(x) q(.|x),
which leaves every risk and the largest likelihood ratio as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from numbers import Integral
from typing import Any

import numpy as np

from bap_lp.model.beliefs import joint_decision
from bap_lp.model.mechanism import Mechanism, degenerate, without_unused
from bap_lp.model.problem import Problem
from bap_lp.support.rational import Array, InputError, floats, is_exact, number, public, sequence
from bap_lp.support.risks import Number


def full(problem: Problem) -> Mechanism:
    """The data themselves."""
    count = len(problem.states)
    return _named(problem, degenerate(range(count), count, problem.exact), problem.states, "full")


def null(problem: Problem) -> Mechanism:
    """Nothing: one signal, whatever the data."""
    return _named(problem, degenerate([0] * len(problem.states), 1, problem.exact), ["nothing"], "null")


def bob_decision(problem: Problem) -> Mechanism:
    """The decision Bob would take if he saw the data (the first of several best ones)."""
    best = joint_decision(problem, [bob.loss.argmin(axis=1).astype(int) for bob in problem.bobs]).tolist()
    q = degenerate(best, len(problem.bob_decisions), problem.exact)
    q, signals = without_unused(_null_rows(problem, q), problem.bob_decisions, problem.p)
    return _named(problem, q, signals, "Bob's decision")


def statistic(
    problem: Problem, values: Sequence[Hashable] | Callable[[str], Hashable], name: str = "statistic"
) -> Mechanism:
    """T(x), given as a value per state or as a function of the state's label; states of equal value are pooled."""
    found = [values(s) for s in problem.states] if callable(values) else list(sequence(values, "values"))
    if len(found) != len(problem.states):
        raise InputError("values", None, f"has {len(found)} entries, must have {len(problem.states)}, one per state")
    index: dict[Hashable, int] = {}
    for x, value in enumerate(found):
        if not isinstance(value, Hashable):
            raise InputError(f"values[{x}]", value, "must be a label or a number")
        index.setdefault(value, len(index))
    q = degenerate([index[v] for v in found], len(index), problem.exact)
    return _named(problem, q, [str(v) for v in index], name)


def partition(
    problem: Problem, blocks: Sequence[Sequence[str | int]] | Mapping[str, Sequence[str | int]], name: str = "partition"
) -> Mechanism:
    """The block that holds x. Blocks list states by label or position, each state once; a mapping names its blocks."""
    named = blocks.values() if isinstance(blocks, Mapping) else sequence(blocks, "blocks")
    members = [list(sequence(block, f"blocks[{k}]")) for k, block in enumerate(named)]
    if not members:
        raise InputError("blocks", None, "must not be empty")
    position = {s: x for x, s in enumerate(problem.states)}
    block_of: dict[int, int] = {}
    for k, block in enumerate(members):
        for member in block:
            known = member if isinstance(member, Integral) else -1
            x = position.get(member, -1) if isinstance(member, str) else int(known)
            if not 0 <= x < len(position):
                raise InputError(f"blocks[{k}]", member, "is not a state")
            if x in block_of:
                raise InputError(f"blocks[{k}]", problem.states[x], f"is in blocks[{block_of[x]}] already")
            block_of[x] = k
    for x, mass in enumerate(problem.p):
        if mass > 0 and x not in block_of:
            raise InputError("blocks", problem.states[x], "is in no block")
    q = degenerate([block_of.get(x, 0) for x in range(len(position))], len(members), problem.exact)
    q = _null_rows(problem, q, [x for x in range(len(position)) if x not in block_of])
    if isinstance(blocks, Mapping):
        return _named(problem, q, list(blocks), name)
    own = [[problem.states[position[m] if isinstance(m, str) else int(m)] for m in block] for block in members]
    names = [" | ".join(part[:4]) + (f" | ... ({len(part)})" if len(part) > 4 else "") for part in own]
    return _named(problem, q, names, name)


def randomised_response(problem: Problem, w: Any) -> Mechanism:
    """The data with probability 1 - w, otherwise one of the other states, all equally likely."""
    count = len(problem.states)
    w = _parameter(problem, w, "w", 0, 1)
    name = f"randomised response ({Parameter('w', w)})"
    if count == 1:
        return _named(problem, full(problem).q, problem.states, name)
    q = np.full((count, count), w / (count - 1))
    np.fill_diagonal(q, 1 - w)
    return _named(problem, q, problem.states, name)


def randomised_response_epsilon(problem: Problem, exp_epsilon: Any) -> Mechanism:
    """Randomised response whose likelihood ratio is exp(epsilon): (1 - w)(N - 1) / w = exp(epsilon)."""
    ratio = _parameter(problem, exp_epsilon, "exp_epsilon", 1, None)
    others = len(problem.states) - 1
    return randomised_response(problem, others / (ratio + others))


def posterior_sample(problem: Problem) -> Mechanism:
    """One draw of theta from pi(theta|x)."""
    q = _null_rows(problem, _posterior(problem, "posterior sample").copy())
    assert problem.theta is not None
    q, signals = without_unused(q, problem.theta.labels, problem.p)
    return _named(problem, q, signals, "posterior sample")


def synthetic(problem: Problem) -> Mechanism:
    """One dataset from the posterior predictive distribution given x."""
    posterior = _posterior(problem, "synthetic data")
    joint = problem.p[:, None] * posterior  # x', theta
    marginal = joint.sum(axis=0)
    live = [t for t, mass in enumerate(marginal) if mass > 0]
    q = posterior[:, live].dot((joint[:, live] / marginal[live]).T)
    q, signals = without_unused(_null_rows(problem, q), problem.states, problem.p)
    return _named(problem, q, signals, "synthetic data")


def truncated_geometric(problem: Problem, ratio: Any) -> Mechanism:
    """The position of x among the ordered states plus two-sided geometric noise, clipped to the end states."""
    a = _parameter(problem, ratio, "ratio", 0, 1)
    count = len(problem.states)
    power = np.array([a**d for d in range(count)])
    distance = np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
    q = (1 - a) / (1 + a) * power[distance]
    # P(Z >= d) = a^d / (1 + a) for d >= 1: an end collects its own mass and the tail behind it
    q[:, 0] = power / (1 + a)
    q[:, -1] = power[::-1] / (1 + a) if count > 1 else power
    return _named(problem, q, problem.states, f"truncated geometric ({Parameter('ratio', a)})")


Release = Callable[[Problem], Mechanism]
RELEASES: dict[str, Release] = {
    "full": full,
    "null": null,
    "Bob's decision": bob_decision,
    "posterior sample": posterior_sample,
    "synthetic data": synthetic,
}


def _named(problem: Problem, q: Array, signals: Sequence[str], name: str) -> Mechanism:
    return Mechanism(q, signals=signals, states=problem.states, name=name)


def _null_rows(problem: Problem, q: Array, where: Sequence[int] | None = None) -> Array:
    """Give states of probability zero (all, or those listed) the signal's marginal distribution."""
    missing = [x for x, mass in enumerate(problem.p) if mass == 0] if where is None else list(where)
    if missing:
        q[missing] = problem.p.dot(q)
    return q


def _posterior(problem: Problem, release: str) -> Array:
    if problem.theta is None:
        raise InputError("theta", None, f"is needed for '{release}': give the problem as a model")
    table = problem.theta.posterior
    return table if problem.exact else floats(table)


def _parameter(problem: Problem, value: Any, field: str, low: int, high: int | None) -> Any:
    """Read a parameter between its ends, as a float if the problem is one."""
    value = number(value, field)
    if value < low or (high is not None and value > high):
        raise InputError(field, value, f"must be at least {low}" + (f" and at most {high}" if high is not None else ""))
    return value if problem.exact else float(value)


class Parameter(str):
    """The parameter of a release: `name` and `value`, and as text "w = 3/13"."""

    name: str
    value: Number

    def __new__(cls, name: str, value: Any) -> Parameter:
        self = super().__new__(cls, f"{name} = {value if is_exact(value) else format(value, '.6g')}")
        self.name, self.value = name, value if isinstance(value, (float, Fraction)) else public(value)
        return self

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.name, self.value
