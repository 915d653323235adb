"""One-parameter families whose channel is affine in the parameter: q_w = q_start + (w - start) * slope.

At signal s decision d costs an agent sum_x p(x) q_w(s|x) L(x,d), an affine function of w. The Bayes decision takes the
lowest of these lines, so R_B(w) and R_E(w), sums over signals of lower envelopes of lines, are concave and piecewise
linear, with breakpoints where two lines cross: rational numbers, found without a grid. Their union holds every kink of
R_A(w) = R_B(w) - lam R_E(w), so a minimiser is one of these finitely many w_k; and as lam grows the minimum over k
of R_B(w_k) - lam R_E(w_k) is again a lower envelope of lines, now in lam, whose crossings are the exact thresholds.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from bap_lp.model.beliefs import shared
from bap_lp.model.calibration import lam_of
from bap_lp.model.evaluation import joint, risks
from bap_lp.model.mechanism import Mechanism
from bap_lp.model.problem import Problem
from bap_lp.model.sums.signal_sums import signal_losses
from bap_lp.releases.library import full, randomised_response
from bap_lp.support.display import Displayed, fraction, kind, titled
from bap_lp.support.rational import EXACT, Array, InputError, field_of, is_exact, number, public
from bap_lp.support.risks import Number, Risks

_TIE = 1e-12  # two values of a float family tie when they differ by less than this, relatively


@dataclass(frozen=True)
class PiecewiseLinear:
    """A continuous function on an interval: its breakpoints (both ends included), values there, slopes in between."""

    breakpoints: tuple[Number, ...]
    values: tuple[Number, ...]
    slopes: tuple[Number, ...]

    @property
    def kinks(self) -> tuple[Number, ...]:
        """The breakpoints inside the interval, where the slope changes."""
        return self.breakpoints[1:-1]

    def __call__(self, w: Any) -> Number:
        at = public(number(w, "w"))
        low, high = self.breakpoints[0], self.breakpoints[-1]
        if not low <= at <= high:
            raise InputError("w", at, f"must be between {low} and {high}")
        k = min(bisect_right(self.breakpoints, at), len(self.slopes)) - 1
        return self.values[k] + (at - self.breakpoints[k]) * self.slopes[k]

    def to_sympy(self, symbol: Any) -> Any:
        """The function as a sympy expression in `symbol`, defined on the interval only."""
        import sympy

        read = sympy.sympify
        pieces = [(sympy.nan, symbol < read(self.breakpoints[0]))]
        for (at, to), value, slope in zip(pairwise(self.breakpoints), self.values, self.slopes, strict=False):
            pieces.append((sympy.expand(read(value) + (symbol - read(at)) * read(slope)), symbol <= read(to)))
        return sympy.Piecewise(*pieces)


@dataclass(frozen=True, repr=False)
class Minimum(Displayed):
    """The least R_A(w) at one lam: all its minimisers as closed intervals, and the one of them with the largest R_E."""

    lam: Number
    value: Number
    w: Number
    minimisers: tuple[tuple[Number, Number], ...]
    risks: Risks
    mechanism: Mechanism


@dataclass(frozen=True)
class FamilyPiece:
    """lam from `start` to `end` (inf on the last piece): inside, exactly `minimisers` are best, with equal risks."""

    start: Number
    end: Number
    w: Number
    minimisers: tuple[tuple[Number, Number], ...]
    risks: Risks


class Family(Displayed):
    """The channels on the segment from `at_start` (at w = start) to `at_end` (at w = end); their signals agree.

    R_B(w) and R_E(w) are piecewise linear, so the best w is exact.

    Args:
        problem: the problem.
        at_start: the channel at one end.
        at_end: the channel at the other end.
        start: the parameter of the first.
        end: the parameter of the second.
        name: what comparisons call the family.

    Raises:
        InputError: end is not above start, or the signals differ.

    >>> from bap_lp import Problem, randomised_response_family
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> best = randomised_response_family(coin).minimise("1/3")
    >>> print(best.w, best.value)
    3/13 3/26
    """

    def __init__(
        self, problem: Problem, at_start: Mechanism, at_end: Mechanism, start: Any = 0, end: Any = 1, name: str = ""
    ) -> None:
        shared(problem, "a family of channels")
        start, end = number(start, "start"), number(end, "end")
        if not EXACT.number(start) < EXACT.number(end):
            raise InputError("end", end, f"must be above start = {start}")
        if at_start.signals != at_end.signals:
            raise InputError("at_end.signals", at_end.signals, f"must be those of at_start, {at_start.signals}")
        self.exact = all((problem.exact, at_start.exact, at_end.exact, is_exact(start), is_exact(end)))
        if not self.exact:
            problem, at_start, at_end = problem.as_float(), at_start.as_float(), at_end.as_float()
            start, end = float(start), float(end)
        self.problem, self.at_start, self.at_end, self.name = problem, at_start, at_end, name
        self._start, self._end = start, end
        self.start: Number = public(start)
        self.end: Number = public(end)

    @cached_property
    def bob(self) -> PiecewiseLinear:
        """R_B(w)."""
        return self._risk([self.problem.B])

    @cached_property
    def eve(self) -> PiecewiseLinear:
        """R_E(w), summed over the Eves."""
        return self._risk([self.problem.E[:, g] for g in self.problem.eve_groups])

    def alice(self, lam: Any) -> PiecewiseLinear:
        """R_A(w) = R_B(w) - lam R_E(w)."""
        weight = public(lam_of(self.problem, lam))
        return PiecewiseLinear(
            self._knots,
            tuple(self.bob(w) - weight * self.eve(w) for w in self._knots),
            tuple(
                self.bob.slopes[bisect_right(self.bob.breakpoints, w) - 1]
                - weight * self.eve.slopes[bisect_right(self.eve.breakpoints, w) - 1]
                for w in self._knots[:-1]
            ),
        )

    def mechanism(self, w: Any) -> Mechanism:
        """The channel at w."""
        at = number(w, "w")
        if not self.start <= public(at) <= self.end:
            raise InputError("w", at, f"must be between {self.start} and {self.end}")
        first, last, low, high = self.at_start.q, self.at_end.q, self._start, self._end
        if not (self.exact and is_exact(at)):
            first, last = self.at_start.as_float().q, self.at_end.as_float().q
            at, low, high = float(at), float(low), float(high)
        share = (at - low) / (high - low)
        name = f"{self.name} (w = {at})" if is_exact(at) else f"{self.name} (w = {at:.6g})"
        return Mechanism(
            (1 - share) * first + share * last, signals=self.at_start.signals, states=self.problem.states, name=name
        )

    def minimise(self, lam: Any = "calibrated") -> Minimum:
        """Every w that minimises R_A at lam, the value, and the channel of the most private of them."""
        weight = public(lam_of(self.problem, lam))
        values = self.alice(weight).values
        low = min(values)
        slack = _TIE * max(abs(float(v)) for v in values) if isinstance(low, float) else 0
        tied = [v <= low + slack for v in values]
        w = max((w for w, is_best in zip(self._knots, tied, strict=True) if is_best), key=self.eve)
        best = self.mechanism(w)
        return Minimum(weight, low, w, self._intervals(tied), risks(self.problem, best), best)

    def _lines(self) -> Iterator[str]:
        ends = f"w from {fraction(self.start)} to {fraction(self.end)}"
        yield titled(self.name, f"{kind(self.exact)}, {ends}")

    def rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """Where R_B or R_E bend."""
        return [{"w": w, "R_B": self.bob(w), "R_E": self.eve(w)} for w in self._knots[:most]]

    def thresholds(self) -> tuple[FamilyPiece, ...]:
        """How the minimiser changes as lam runs through [0, inf): the pieces and the exact lam between them."""
        points = [(self.bob(w), self.eve(w)) for w in self._knots]
        found = lower_envelope([bob for bob, _ in points], [-eve for _, eve in points])
        ends: list[Number] = [*(lam for lam, _ in found[1:]), math.inf]
        return tuple(
            FamilyPiece(
                start, end, self._knots[k], self._intervals([p == points[k] for p in points]), Risks(*points[k])
            )
            for (start, k), end in zip(found, ends, strict=True)
        )

    @cached_property
    def _knots(self) -> tuple[Number, ...]:
        return tuple(sorted({*self.bob.breakpoints, *self.eve.breakpoints}))

    def _intervals(self, chosen: Sequence[bool]) -> tuple[tuple[Number, Number], ...]:
        """Runs of chosen knots: R_B and R_E are linear in between, so a tie at two neighbours is a tie between them."""
        edges = [k for k, (before, after) in enumerate(pairwise([False, *chosen, False])) if before != after]
        return tuple((self._knots[a], self._knots[b - 1]) for a, b in zip(edges[::2], edges[1::2], strict=True))

    def _risk(self, losses: list[Array]) -> PiecewiseLinear:
        first, last = joint(self.problem, self.at_start)[0], joint(self.problem, self.at_end)[0]
        length = self._end - self._start
        value, slope = 0 * length, 0 * length
        bends: dict[Any, Any] = {}
        for loss in losses:
            low = signal_losses(first, loss)
            rise = (signal_losses(last, loss) - low) / length
            for heights, slopes in zip(low.tolist(), rise.tolist(), strict=True):
                pieces = lower_envelope(heights, slopes, length)
                value += heights[pieces[0][1]]
                slope += slopes[pieces[0][1]]
                for (_, before), (t, after) in pairwise(pieces):
                    bends[t] = bends.get(t, 0) + slopes[after] - slopes[before]
        ts = [0 * length, *sorted(bends), length]
        slants = list(accumulate((bends[t] for t in ts[1:-1]), initial=slope))
        steps = ((t - s) * slant for (s, t), slant in zip(pairwise(ts), slants, strict=True))
        return PiecewiseLinear(
            (*(public(self._start + t) for t in ts[:-1]), self.end),
            tuple(public(v) for v in accumulate(steps, initial=value)),
            tuple(public(v) for v in slants),
        )


def lower_envelope(heights: Sequence[Any], slopes: Sequence[Any], length: Any = None) -> list[tuple[Any, int]]:
    """min_d heights[d] + t slopes[d] over 0 <= t < length: (t, d) where line d takes over, starting at t = 0.

    The lowest line can only be overtaken from below, by a flatter or falling one: follow the first crossing each time.
    """
    line = min(range(len(heights)), key=lambda d: (heights[d], slopes[d]))
    pieces = [(0 * heights[line], line)]
    while True:
        height, slope = heights[line], slopes[line]
        ahead = [((heights[d] - height) / (slope - s), s, d) for d, s in enumerate(slopes) if s < slope]
        if not ahead:
            return pieces
        t, _, line = min(ahead)
        t = max(t, pieces[-1][0])  # exact crossings are in order; float ones may step back by a rounding
        if length is not None and t >= length:
            return pieces
        if t == pieces[-1][0]:
            pieces.pop()
        pieces.append((t, line))


def randomised_response_family(problem: Problem, end: Any = None) -> Family:
    """Randomised response for w from 0 (full) to (N - 1)/N (null), where the true state is the likeliest signal.

    Args:
        problem: the problem, with N states.
        end: the largest w; (N - 1)/N by default.

    Returns:
        The family of these channels.

    Raises:
        InputError: there is one state, or end is not between 0 and 1.

    >>> from bap_lp import Problem, randomised_response_family
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> print(*randomised_response_family(coin).mechanism("1/4").channel[0])
    3/4 1/4
    """
    count = len(problem.states)
    if count < 2:
        raise InputError("states", None, "are one: randomised response needs two")
    top = number(f"{count - 1}/{count}" if end is None else end, "end")
    return Family(problem, full(problem), randomised_response(problem, top), 0, top, "randomised response")


def hidden_mixture(problem: Problem, first: Mechanism, second: Mechanism) -> Family:
    """Release by `second` with probability w, else by `first`; the receiver sees the signal but not the coin."""
    signals = list(dict.fromkeys((*first.signals, *second.signals)))

    def spread(mechanism: Mechanism) -> Mechanism:
        q = field_of(mechanism.q).zeros((len(mechanism.states), len(signals)))
        q[:, [signals.index(s) for s in mechanism.signals]] = mechanism.q
        return Mechanism(q, signals=signals, states=mechanism.states, name=mechanism.name)

    return Family(problem, spread(first), spread(second), 0, 1, f"{first.name} or {second.name}, hidden coin")


def public_mixture(problem: Problem, first: Mechanism, second: Mechanism) -> Family:
    """The same with the coin published: no signal is shared, so both risks are linear in w."""
    signals = [*(f"first: {s}" for s in first.signals), *(f"second: {s}" for s in second.signals)]
    exact = first.exact and second.exact
    sides = [m if exact else m.as_float() for m in (first, second)]
    blank = [field_of(m.q).zeros(m.q.shape) for m in sides]
    at_start, at_end = np.hstack([sides[0].q, blank[1]]), np.hstack([blank[0], sides[1].q])
    start, end = (Mechanism(q, signals=signals, states=problem.states) for q in (at_start, at_end))
    return Family(problem, start, end, 0, 1, f"{first.name} or {second.name}, public coin")
