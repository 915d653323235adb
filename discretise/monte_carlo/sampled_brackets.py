"""A bracket with a stated level from simulated draws: u is fitted on one sample and judged on fresh draws.

With u fixed, phi(x) = min_i (B(x,i) - u_i . E(x,.)) has a mean that is below R_A of every mechanism, and the rule that
releases the least i has R_A = max over maps j(.) of E[L_B - lam sum_g E(x, j_g(i(x)))], Bob obeying the signal. Fresh
draws give a confidence bound for each (module confidence), and a third one for their difference, whose draws are
paired. All three hold together with probability at least `level`.

B in closed form: phi is exact at each draw. Posterior draws: Bhat is unbiased, and E min <= min E (Jensen), so that the
lower end stays valid and rises with the number of posterior draws. Neighbours: Bhat is biased; the rule is still a
rule, so the upper end is claimed and the lower end is not. The upper end needs only the losses at the drawn theta; a B
in closed form takes their place, because it has the same mean and less variance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bap_lp import InputError, Risks, calibrate
from bap_lp.engines.many_states import solve_game
from bap_lp.support.arguments import whole_number
from bap_lp.support.display import Displayed
from discretise.extensions import rule_of
from discretise.losses import names
from discretise.monte_carlo.confidence import interval_terms, largest_mean
from discretise.samples import Draws, SampledProblem, draw_block
from gaussian.optimum.gaussian_brackets import price_of
from gaussian.real_arrays import Array

_BLOCK = 100_000
_FIT = 100_000  # draws on which Eve's replies are fitted
_MOST_REPLIES = 20_000  # joint replies of several Eves
_LARGEST = 1e150  # losses
_CONTRADICTION = 7.0  # standard errors between the mean of B and that of Bob's losses


@dataclass(frozen=True, eq=False, repr=False)
class SampleBracket(Displayed):
    """[lower, upper] around the least R_A over all mechanisms, with a probability of at least `level`.

    Attributes:
        problem: the draws of the fit.
        lam: the price of privacy.
        level: the probability with which the bracket holds.
        draws: the number of fresh draws on which it is judged.
        lower: the lower end; -inf if B was estimated from neighbours.
        upper: the upper end, about R_A of the rule.
        width: a confidence bound on the distance of the two true ends, from paired draws.
        estimates: the means of the two ends on the fresh draws.
        risks: the estimated R_B and R_E of the rule.
        u: the dual solution that the fit found.
        rests_on: what the level assumes, in words.

    >>> from scipy import stats
    >>> from discretise import bracket, sample, zero_one
    >>> def simulator(rng, size):
    ...     theta = rng.normal(size=size)
    ...     return theta, theta + rng.normal(size=size)
    >>> def posterior(x, rng, count):
    ...     return rng.normal(x[..., None] / 2, 0.5**0.5, (*x.shape, count))
    >>> drawn = sample(simulator, 500, zero_one(0), zero_one(1),
    ...                bob_decisions=[0, 1], eve_decisions=[0, 1], posterior_draws=posterior)
    >>> found = bracket(drawn, 0.5, level=0.99)
    >>> bool(found.lower < found.upper), found.draws, found.rests_on[:11]
    (True, 500, 'level 0.99 ')
    """

    problem: SampledProblem
    lam: float
    level: float
    draws: int
    lower: float
    upper: float
    width: float
    estimates: tuple[float, float]
    risks: Risks
    u: Array
    rests_on: str

    def _lines(self) -> Iterator[str]:
        low = f"{self.lower:.6f} <= " if self.claims_lower else ""
        ends = f"{low}R_A <= {self.upper:.6f}" if self.claims_lower else f"inf R_A <= {self.upper:.6f}"
        yield f"{ends} at level {self.level:g}, lam = {self.lam:.6g}, {self.draws} fresh draws"
        yield self.rests_on

    def rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """The estimates, and the bounds that hold at the level."""
        low = (self.estimates[0], self.lower) if self.claims_lower else (None, None)
        rows = [("lower", *low), ("upper", self.estimates[1], self.upper), ("R_B of the rule", self.bob, None)]
        rows += [("R_E of the rule", self.eve, None), ("width", None, self.width if self.claims_lower else None)]
        names = ("end", "estimate", f"bound at level {self.level:g}")
        return [dict(zip(names, row, strict=True)) for row in rows[:most]]

    @property
    def claims_lower(self) -> bool:
        """Whether the lower end is claimed."""
        return self.lower > -math.inf

    @property
    def bob(self) -> float:
        """The estimate of R_B of the rule."""
        return float(self.risks.bob)

    @property
    def eve(self) -> float:
        """The estimate of R_E of the rule."""
        return float(self.risks.eve)

    @property
    def error(self) -> float:
        """How far the ends were moved outwards from their estimates to hold at the level."""
        ends = [self.upper - self.estimates[1]]
        return max([*ends, self.estimates[0] - self.lower] if self.claims_lower else ends)

    def rule(self, x: ArrayLike, statistic: ArrayLike | None = None) -> NDArray[np.intp]:
        """The position of the decision that Alice releases for each data set."""
        return self.problem.choose(self.u, x, statistic)

    def release(self, x: ArrayLike, statistic: ArrayLike | None = None) -> NDArray[Any]:
        """The decision that is released for each data set. It is random only if posterior draws are."""
        grid = self.problem.decision_grids[0]
        found = grid[self.rule(x, statistic)]
        return found.astype(np.int64) if (grid == np.round(grid)).all() else found

    def describe(self) -> str:
        """The rule in one sentence."""
        signals = ", ".join(names(self.problem.decision_grids[0])[:6])
        return f"release the decision i (of {signals}) with the least B(x, i) - u_i . E(x, .)"

    def simulate(self, size: int = 100_000, seed: int = 2) -> Risks:
        """Risks of the rule on new draws, with standard errors."""
        return _judge(self.problem, self.u, self.lam, size, seed, 0.999).risks

    def document(self) -> dict[str, Any]:
        """The result as plain JSON values."""
        return {
            "lambda": self.lam,
            "level": self.level,
            "draws": self.draws,
            "lower": self.lower if self.claims_lower else None,
            "upper": self.upper,
            "width": self.width if self.claims_lower else None,
            "estimates": [self.estimates[0] if self.claims_lower else None, self.estimates[1]],
            "bob": self.bob,
            "eve": self.eve,
            "rests_on": self.rests_on,
            "u": self.u.tolist(),
        }


def sample_bracket(
    problem: SampledProblem, lam: Any = "calibrated", level: float = 0.999, draws: int | None = None, seed: int = 1
) -> SampleBracket:
    """`discretise.bracket` of a sample: Eve's replies are fitted on its draws, at most the first 100,000."""
    if not isinstance(level, (int, float)) or not 0 < level < 1:
        raise InputError("level", level, "must be between 0 and 1")
    size = whole_number("draws", len(problem.p) if draws is None else draws, 10)
    if whole_number("seed", seed, 0) == problem.seed:
        raise InputError("seed", seed, "must differ from the seed of the problem: the draws must be fresh")
    weight, calibrated = price_of(lam, lambda: float(calibrate(problem)))
    largest = float(problem.B.max() + weight * problem.E.max())
    if not largest < _LARGEST:
        raise InputError("lam", weight, f"makes losses of {largest:.1e}, whose squares are no floats")
    u = _fitted(problem, weight)
    found = _judge(problem, u, weight, int(size), seed, float(level))
    words = [found.rests_on]
    if calibrated:
        words.append(f"lambda was calibrated on the {len(problem.p)} draws of the fit and then fixed")
    return SampleBracket(
        problem, weight, float(level), int(size), found.lower, found.upper, found.width, found.estimates, found.risks,
        u, "; ".join(words) + ".",
    )  # fmt: skip


def _fitted(problem: SampledProblem, lam: float) -> Array:
    """Eve's replies to the draws of the problem, computed once for each lam."""
    if lam not in problem.fits:
        # errors of u of order n^(-1/2) lower D(u) by order 1/n, far less than n draws can tell: more would not help
        few, _ = problem.arrays.states(slice(_FIT)).merged()
        found = solve_game(few.p / few.p.sum(), few.B, few.E, few.groups, lam, stoppable=False)
        u = problem.arrays.on_simplex(found.u, lam)
        u.flags.writeable = False
        problem.fits[lam] = u
    return problem.fits[lam]


@dataclass(frozen=True)
class _Judged:
    lower: float
    upper: float
    width: float
    estimates: tuple[float, float]
    risks: Risks
    rests_on: str


class _Sums:
    """What is kept of the fresh draws: a few sums per signal, none per draw."""

    def __init__(self, problem: SampledProblem, lam: float, centre: float) -> None:
        b, groups = problem.B.shape[1], problem.eve_groups
        count = math.prod(g.stop - g.start for g in groups)
        if count > _MOST_REPLIES:
            rule = f"have {count} joint replies, at most {_MOST_REPLIES} are allowed: use fewer decisions"
            raise InputError("eves", None, rule)
        # the columns of E that each joint reply of the Eves adds up
        self.replies = np.array(list(product(*(range(g.start, g.stop) for g in groups))), dtype=np.intp)
        self.n, self.lam, self.centre, self.b = 0, lam, centre, b
        self.first, self.square = np.zeros((b, len(self.replies))), np.zeros((b, len(self.replies)))
        self.paired, self.paired_square = np.zeros_like(self.first), np.zeros_like(self.first)
        self.eve, self.eve_square = np.zeros_like(self.first), np.zeros_like(self.first)
        self.bob, self.phi = np.zeros(2), np.zeros(2)
        self.contrast, self.contrast_square = np.zeros(b), np.zeros(b)

    def add(self, chosen: NDArray[np.intp], bob: Array, E: Array, phi: Array, contrast: Array) -> None:
        self.n += len(bob)
        self.bob += [bob.sum(), bob @ bob]
        self.phi += [phi.sum(), phi @ phi]
        self.contrast += contrast.sum(axis=0)
        self.contrast_square += (contrast**2).sum(axis=0)
        for i in range(self.b):
            here = np.flatnonzero(chosen == i)
            for r, reply in enumerate(self.replies):
                eve = E[here][:, reply].sum(axis=1) if len(reply) > 1 else E[here, reply[0]]
                w = bob[here] - self.lam * eve - self.centre
                d = bob[here] - self.lam * eve - phi[here]
                for kept, values in ((self.first, w), (self.paired, d), (self.eve, eve)):
                    kept[i, r] += values.sum()
                for kept, values in ((self.square, w), (self.paired_square, d), (self.eve_square, eve)):
                    kept[i, r] += values @ values


def _judge(problem: SampledProblem, u: Array, lam: float, size: int, seed: int, level: float) -> _Judged:
    rng = np.random.default_rng(seed)
    guess = float((problem.B - problem.E @ u.T).min(axis=1).mean())
    sums = _Sums(problem, lam, guess)
    exact = problem.posterior_loss is not None
    span = problem.loss_span(lam)
    for start in range(0, size, _BLOCK):
        count = min(_BLOCK, size - start)
        fresh = draw_block(problem, rng, count, len(problem.p) + start)
        B, E, lost = _losses(problem, fresh, rng)
        value, chosen = rule_of(u, B, E)
        # an exact B is the mean of Bob's loss over theta given the data, with the same mean and less variance
        bob = (B if exact else lost)[np.arange(count), chosen]
        sums.add(chosen, bob, E, value.min(axis=1), B - lost)
    return _ends(problem, sums, level, span)


def _losses(problem: SampledProblem, fresh: Draws, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    B, _ = problem.posterior(fresh.statistic, fresh.x, rng)
    return B, problem.eve_losses(fresh.target), problem.bob_losses(fresh.theta)


def _ends(problem: SampledProblem, sums: _Sums, level: float, span: float | None) -> _Judged:
    n, delta = sums.n, (1 - level) / 3
    unbiased = problem.posterior_loss is not None or problem.posterior_draws is not None
    if unbiased:
        _agreement(sums)
    log_maps = sums.b * math.log(len(sums.replies))
    upper = largest_mean(sums.first / n, sums.square / n, n, log_maps, delta, span) + sums.centre
    estimate = float((sums.first / n).max(axis=1).sum()) + sums.centre
    lower, low = -math.inf, -math.inf
    width = math.inf
    if unbiased:
        low = float(sums.phi[0] / n)
        z, c = interval_terms(n, delta, span)
        spread = math.sqrt(max(sums.phi[1] / n - low**2, 0.0) * n / (n - 1))
        lower = low - z * spread - c
        twice = None if span is None else 2 * span
        width = largest_mean(sums.paired / n, sums.paired_square / n, n, log_maps, delta, twice)
        if lower > upper:
            rule = f"exceeds the upper end {upper:.6g}: the posterior that was given is not that of the simulator"
            raise InputError("lower end", f"{lower:.6g}", rule)
    reply = sums.eve.argmin(axis=1)
    row = np.arange(sums.b)
    eve = float(sums.eve[row, reply].sum() / n)
    bob = float(sums.bob[0] / n)
    errors = [
        math.sqrt(max(square - mean**2, 0.0) / n)
        for mean, square in ((bob, float(sums.bob[1] / n)), (eve, float(sums.eve_square[row, reply].sum() / n)))
    ]
    return _Judged(
        float(lower),
        float(upper),
        float(width),
        (low, estimate),
        Risks(bob, eve, *errors),
        _words(problem, n, level, span),
    )


def _agreement(sums: _Sums) -> None:
    """The mean of B(x, i) over the draws must be that of L_B(theta, i), whatever the model."""
    mean = sums.contrast / sums.n
    error = np.sqrt(np.maximum(sums.contrast_square / sums.n - mean**2, 0.0) / sums.n)
    off = np.abs(mean) > _CONTRADICTION * error + 1e-9
    if off.any():
        i = int(np.flatnonzero(off)[0])
        rule = (
            f"contradicts the simulator: at decision {i} it differs from bob_loss by {mean[i]:.3g} on average, with a "
            f"standard error of {error[i]:.1g}"
        )
        raise InputError("posterior", None, rule)


def _words(problem: SampledProblem, n: int, level: float, span: float | None) -> str:
    if span is None:
        how = (
            f"level {level:g} rests on {n} independent fresh draws and on the central limit theorem, since the losses "
            "are not known to be bounded"
        )
    else:
        how = f"level {level:g} holds for {n} independent fresh draws of bounded losses (empirical Bernstein)"
    if problem.posterior_loss is not None:
        return how + "; B is the posterior_loss that was given"
    if problem.posterior_draws is not None:
        return how + "; the lower end also rests on posterior draws that come from the posterior"
    return how + "; B is estimated from neighbours, so that only the upper end is claimed"
