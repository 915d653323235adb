"""Conditions on a mechanism, beside the smallest R_A, and what they mean for a given problem.

    min_eve_risk           R_E >= floor
    max_bob_risk           R_B <= cap
    exp_epsilon, epsilon   q(s|x) <= exp(eps) q(s|x') for every signal s and neighbours x, x': all pairs of states, the
                           pairs listed in `neighbours` (both ways round), or exp(eps d(x,x')) with a `metric` d
    deterministic          q(s|x) is 0 or 1
    max_signals            at most so many signals are ever sent
    margin                 at every signal sent, Bob's decision is better than any other by at least margin * P(signal),
                           and so is each Eve's (losses with the agents' weights)

Which signals are needed. Pool the signals on which Bob takes the same decision i. That is post-processing, so it keeps
DP and determinism and sends no more signals; R_B stays and R_E can only rise, so floor and cap hold as well. Without a
margin one signal per decision of Bob is enough. With a margin pool the signals on which Bob and all Eves decide alike:
the margins are linear in rho[.,s], hence kept, and both risks stay. One signal per tuple of decisions is then enough.

Which states. A swap of two states with equal loss rows that maps the conditions to themselves maps feasible mechanisms
to feasible ones of the same value, and averaging the two raises R_E and keeps every linear condition. So equal states
may be merged under floor, cap, margin, max_signals (the average sends no new signal) and DP between all pairs; not
under determinism (the average is random), nor under DP between some pairs. A state of probability zero is part of the
channel: DP between all pairs holds for the null row sum_x p(x) q(.|x), and DP between some pairs keeps the state as a
variable.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

import numpy as np

from bap_lp.model.problem import Problem
from bap_lp.rational import Array, InputError, is_exact, number, objects, public, zeros

_LARGEST = 10**300
_LARGEST_LOG = 600.0  # of exp(eps d): beyond it floats cannot follow


@dataclass(frozen=True)
class Conditions:
    """What a mechanism must satisfy; all may be combined. Numbers become Fractions if exact, floats if not.

    neighbours: pairs of states (labels or positions) between which DP holds; metric: d(x,x') row by row, None or inf
    where nothing is asked. With neither, DP holds between all pairs.
    """

    min_eve_risk: Any = None
    max_bob_risk: Any = None
    exp_epsilon: Any = None
    epsilon: Any = None
    neighbours: Any = None
    metric: Any = None
    deterministic: bool = False
    max_signals: int | None = None
    margin: Any = None

    def __post_init__(self) -> None:
        for name in ("min_eve_risk", "max_bob_risk", "exp_epsilon", "epsilon", "margin"):
            given = getattr(self, name)
            if given is not None:
                value = number(given, name)
                low = 1 if name == "exp_epsilon" else 0
                if value < low:
                    raise InputError(name, value, f"must be at least {low}")
                if value > _LARGEST:
                    raise InputError(name, value, "must be at most 1e300")
                object.__setattr__(self, name, public(value))
        if self.exp_epsilon is not None and self.epsilon is not None:
            raise InputError("epsilon", self.epsilon, "must not be given together with exp_epsilon")
        if self.private and self._log_ratio() > _LARGEST_LOG:
            raise InputError("epsilon", self._log_ratio(), f"must be at most {_LARGEST_LOG:.0f}")
        if not isinstance(self.deterministic, bool):
            raise InputError("deterministic", self.deterministic, "must be true or false")
        if self.max_signals is not None and (
            isinstance(self.max_signals, bool) or not isinstance(self.max_signals, int) or self.max_signals < 1
        ):
            raise InputError("max_signals", self.max_signals, "must be a positive integer")
        for name in ("neighbours", "metric"):
            if getattr(self, name) is not None:
                if not self.private:
                    raise InputError(name, None, "needs epsilon or exp_epsilon")
                object.__setattr__(self, name, _pairs(self.neighbours) if name == "neighbours" else _table(self.metric))
        if self.neighbours is not None and self.metric is not None:
            raise InputError("metric", None, "must not be given together with neighbours")

    @property
    def private(self) -> bool:
        """Whether differential privacy is asked for."""
        return self.exp_epsilon is not None or self.epsilon is not None

    @property
    def empty(self) -> bool:
        return not self.given()

    @property
    def combinatorial(self) -> bool:
        """Whether the feasible mechanisms are not a convex set."""
        return self.deterministic or self.max_signals is not None

    @property
    def exact(self) -> bool:
        """Whether every number is exact; epsilon is not (unless 0), as its exponential is irrational."""
        numbers = (self.min_eve_risk, self.max_bob_risk, self.margin, self.exp_epsilon)
        if any(isinstance(v, float) for v in numbers) or self.epsilon not in (None, 0):
            return False
        distances = [d for row in self.metric or () for d in row if d is not None]
        return all(isinstance(d, Fraction) and d.denominator == 1 for d in distances)

    def given(self) -> dict[str, Any]:
        """The conditions that are set, by name."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: v for name, v in values.items() if v is not None and v is not False}

    def _log_ratio(self) -> float:
        if self.epsilon is not None:
            return float(self.epsilon)
        ratio = Fraction(self.exp_epsilon)
        return math.log(ratio.numerator) - math.log(ratio.denominator)

    def limits(self, problem: Problem) -> Limits:
        """The conditions in the working numbers of a problem."""

        def working(value: Any) -> Any:
            return None if value is None else number(value, "value") if problem.exact else float(value)

        ratio = self.exp_epsilon
        if self.epsilon is not None:
            ratio = Fraction(1) if self.epsilon == 0 else math.exp(self.epsilon)
        ratio = working(ratio)
        pairs = None
        if self.neighbours is not None:
            pairs = self._listed(problem, ratio)
        elif self.metric is not None:
            pairs = self._measured(problem, ratio)
        return Limits(
            working(self.min_eve_risk),
            working(self.max_bob_risk),
            None if pairs is not None else ratio,
            pairs,
            bool(self.deterministic),
            self.max_signals,
            working(self.margin),
        )

    def _listed(self, problem: Problem, ratio: Any) -> Pairs:
        found: dict[tuple[int, int], None] = {}
        for k, pair in enumerate(self.neighbours):
            x, other = (_position(problem, state, f"neighbours[{k}]") for state in pair)
            if x != other:
                found[x, other] = found[other, x] = None
        ends = np.array(list(found), dtype=np.int64).reshape(-1, 2)
        return Pairs(ends[:, 0], ends[:, 1], _filled(len(ends), ratio))

    def _measured(self, problem: Problem, ratio: Any) -> Pairs:
        """Pairs of a metric; d(x,x') is implied wherever d(x,y) + d(y,x') <= d(x,x') through smaller distances."""
        size = len(problem.p)
        if len(self.metric) != size or any(len(row) != size for row in self.metric):
            raise InputError("metric", None, f"has {len(self.metric)} rows, must be {size} x {size}, one per state")
        d = np.array([[math.inf if v is None else float(v) for v in row] for row in self.metric])
        np.fill_diagonal(d, math.inf)
        wanted = np.isfinite(d)
        for y in range(size):
            apart = (d[:, y] > 0)[:, None] & (d[y] > 0)[None, :]
            wanted &= ~(apart & (d[:, y][:, None] + d[y][None, :] <= d))
        x, other = np.nonzero(wanted)
        ratios = []
        for k, m in zip(x.tolist(), other.tolist(), strict=True):
            distance = self.metric[k][m]
            if float(distance) * self._log_ratio() > _LARGEST_LOG:
                raise InputError(f"metric[{k}][{m}]", distance, "makes exp(eps d) too large; use inf to ask nothing")
            ratios.append(ratio ** int(distance) if is_exact(ratio) else float(ratio ** float(distance)))
        return Pairs(x, other, objects(ratios) if problem.exact else np.array(ratios, dtype=float))


@dataclass(frozen=True)
class Pairs:
    """Rows q(s|x) <= ratio q(s|other), by position."""

    x: Array
    other: Array
    ratio: Array


@dataclass(frozen=True)
class Limits:
    """Conditions in working numbers; `ratio` asks for DP between all pairs of states, `pairs` between some."""

    floor: Any
    cap: Any
    ratio: Any
    pairs: Pairs | None
    deterministic: bool
    max_signals: int | None
    margin: Any


@dataclass(frozen=True)
class Signals:
    """bob[s]: the decision recommended to Bob; eve[s,g]: with a margin, the column of E prescribed to Eve g."""

    bob: Array
    eve: Array | None
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.bob)

    def only(self, keep: Sequence[int]) -> Signals:
        eve = None if self.eve is None else self.eve[list(keep)]
        return Signals(self.bob[list(keep)], eve, tuple(self.names[s] for s in keep))


def signals_of(problem: Problem, margin: bool) -> Signals:
    """One signal per decision of Bob, or with a margin one per tuple of everybody's decisions."""
    b = problem.shape[1]
    if not margin:
        return Signals(np.arange(b), None, problem.bob_decisions)
    sizes = [g.stop - g.start for g in problem.eve_groups]
    table = np.indices((b, *sizes)).reshape(1 + len(sizes), -1).T
    eves = [a.decisions or () for a in problem.eves]
    names = tuple(
        f"{problem.bob_decisions[row[0]]} / " + ", ".join(eves[g][j] for g, j in enumerate(row[1:]))
        for row in table.tolist()
    )
    return Signals(table[:, 0], table[:, 1:] + np.array([g.start for g in problem.eve_groups]), names)


def _pairs(values: Any) -> tuple[tuple[Any, Any], ...]:
    if isinstance(values, (str, bytes, dict)) or not isinstance(values, (Sequence, np.ndarray)):
        raise InputError("neighbours", values, "must be a list of pairs of states")
    out = []
    for k, pair in enumerate(values):
        if isinstance(pair, (str, bytes, dict)) or not isinstance(pair, (Sequence, np.ndarray)) or len(pair) != 2:
            raise InputError(f"neighbours[{k}]", pair, "must be a pair of states")
        out.append((pair[0], pair[1]))
    return tuple(out)


def _table(rows: Any) -> tuple[tuple[Any, ...], ...]:
    if isinstance(rows, (str, bytes, dict)) or not isinstance(rows, (Sequence, np.ndarray)):
        raise InputError("metric", rows, "must be a table, a row per state")
    out = []
    for k, row in enumerate(rows):
        if isinstance(row, (str, bytes, dict)) or not isinstance(row, (Sequence, np.ndarray)):
            raise InputError(f"metric[{k}]", row, "must be a list")
        out.append(tuple(_distance(v, f"metric[{k}][{m}]") for m, v in enumerate(row)))
    return tuple(out)


def _distance(value: Any, field: str) -> Any:
    if value is None or value == "inf" or (isinstance(value, float) and value == math.inf):
        return None
    value = number(value, field)
    if value < 0:
        raise InputError(field, value, "must not be negative")
    return public(value)


def _position(problem: Problem, state: Any, field: str) -> int:
    if isinstance(state, str):
        if state not in problem.states:
            raise InputError(field, state, "is not a state")
        return problem.states.index(state)
    if isinstance(state, (bool, float)) or not 0 <= int(state) < len(problem.states):
        raise InputError(field, state, f"must be a label or a position between 0 and {len(problem.states) - 1}")
    return int(state)


def _filled(size: int, value: Any) -> Array:
    out = zeros(size, is_exact(value))
    out[:] = value
    return out
