"""Releases with a parameter, at the parameter that is best for Alice."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from bap_lp.model.calibration import lam_of
from bap_lp.model.evaluation import risks
from bap_lp.model.mechanism import Mechanism
from bap_lp.model.problem import Problem
from bap_lp.model.risks import Number
from bap_lp.model.sums.signal_sums import signal_losses
from bap_lp.rational import InputError, public
from bap_lp.releases.families import lower_envelope, randomised_response_family
from bap_lp.releases.library import Parameter, full, randomised_response, truncated_geometric

_MOST_ENTRIES = 1_000_000  # of the channels that are tried for agents with beliefs of their own
_BESIDE = 2.0**-40  # far above the rounding of a w at which somebody changes his decision
RATIOS = tuple(Fraction(k, 20) for k in range(1, 20))  # of the truncated geometric releases that `compare` tries


def best_randomised_response(problem: Problem, lam: Any) -> tuple[Parameter, Mechanism]:
    """The exact minimiser of R_A over w in [0, (N - 1)/N], from the full release to the null one."""
    if problem.misaligned:
        return _own_randomised_response(problem, public(lam_of(problem, lam)))
    best = randomised_response_family(problem).minimise(lam)
    return Parameter("w", best.w), best.mechanism


def _own_randomised_response(problem: Problem, lam: Number) -> tuple[Parameter, Mechanism]:
    """The same with agents who act on beliefs of their own.

    Between two w at which somebody changes his decision the counted risks are linear in w. At such a w the agents are
    indifferent, which can only help Alice. So one of these w, or an end, is best.
    """
    count = len(problem.states)
    if count < 2:
        raise InputError("states", None, "are one: randomised response needs two")
    top = problem.arrays.field.number(f"{count - 1}/{count}" if problem.exact else (count - 1) / count)
    ends = full(problem), randomised_response(problem, public(top))
    switches = {0 * top, top}
    for belief in problem.beliefs:
        low, high = (signal_losses(end.q, belief.act) for end in ends)
        for heights, slopes in zip(low.tolist(), ((high - low) / top).tolist(), strict=True):
            switches |= {t for t, _ in lower_envelope(heights, slopes, top)}
    if not problem.exact:  # a float is rarely the tie itself: what it gives Alice is nearly had on one of its sides
        switches |= {min(top, w * (1 + side)) for w in switches for side in (-_BESIDE, _BESIDE)}
    if len(switches) * count**2 > _MOST_ENTRIES:
        raise InputError("states", None, f"are {count}: too many for randomised response to agents with own beliefs")
    built = {w: randomised_response(problem, public(w)) for w in sorted(switches)}
    found = {w: risks(problem, mechanism) for w, mechanism in built.items()}
    w = min(built, key=lambda w: (found[w].alice(lam), -found[w].eve))
    return Parameter("w", public(w)), built[w]


def best_truncated_geometric(problem: Problem, lam: Any) -> tuple[Parameter, Mechanism]:
    """The best of RATIOS. The channel is not an affine function of the ratio, so this is a choice from a stated set.

    Floats discard the ratios that are clearly worse; those within rounding of the best are compared in the problem's
    own numbers, and a tie goes to the larger R_E.
    """
    price = public(lam_of(problem, lam))
    built = {a: truncated_geometric(problem, a) for a in (RATIOS if problem.misaligned else _near_best(problem, price))}
    found = {a: risks(problem, mechanism) for a, mechanism in built.items()}
    ratio = min(built, key=lambda a: (found[a].alice(price), -found[a].eve))
    return Parameter("ratio", ratio), built[ratio]


def _near_best(problem: Problem, lam: Number) -> list[Fraction]:
    """The ratios that floats cannot tell from the best."""
    rough, weight = problem.as_float(), float(lam)
    rho = rough.p[:, None] * np.hstack([truncated_geometric(rough, a).q for a in RATIOS])  # all signals side by side
    bob = signal_losses(rho, rough.B).min(axis=1)
    eve = rough.arrays.least_replies(signal_losses(rho, rough.E)).sum(axis=1)
    scores = (bob - weight * eve).reshape(len(RATIOS), -1).sum(axis=1)
    slack = 1e-9 * (rough.B.max() + weight * rough.E.max())
    return [a for a, score in zip(RATIOS, scores.tolist(), strict=True) if score <= scores.min() + slack]


Best = Callable[[Problem, Any], tuple[Parameter, Mechanism]]
BEST: dict[str, Best] = {
    "randomised response": best_randomised_response,
    "truncated geometric": best_truncated_geometric,
}
