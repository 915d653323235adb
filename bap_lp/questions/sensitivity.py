"""How the optimum moves with lambda and with every entry of prior and losses.

At an optimal pair (rho, u) with y_x = min_i (B(x,i) - u_i.E(x,.)) the envelope theorem gives
    dV/dB(x,i) = rho[x,i],   dV/dE(x,j) = -sum_i u[i,j] rho[x,i],   dV/dlam = -R_E,
    dV/dp(x) = y_x for a weight added to p(x) alone (V is homogeneous in p), and
    y_x - V along p_h = (1 - h) p + h e_x, which moves weight to x and renormalises the rest in proportion.
V is concave in B and in lambda: for any change d of one of these, V(d) <= V + d slope. It is convex in p: for any other
prior p', V(p') >= sum_x p'(x) y_x. If several pairs are optimal, V has a kink, and the slopes are those of one pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bap_lp.model.beliefs import shared
from bap_lp.model.problem import Problem
from bap_lp.questions.optimum.solving import solve
from bap_lp.support.display import Displayed
from bap_lp.support.rational import EXACT, FLOAT, Array, ReadOnly, public
from bap_lp.support.risks import Number


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivity(ReadOnly, Displayed):
    """The slopes of the optimal R_A.

    bob[x,i], eve[x,j]: with respect to problem.bob_loss and problem.eve_loss (weights included). prior[x]: y_x;
    towards[x]: y_x - V, weight moved to x.
    """

    value: Number
    lam_derivative: Number
    bob: Array
    eve: Array
    prior: Array
    towards: Array


def sensitivity(problem: Problem, lam: Any = "calibrated") -> Sensitivity:
    """The slopes of the optimal R_A in lambda and in every entry of prior and losses.

    Args:
        problem: the problem.
        lam: a non-negative number, or "calibrated".

    Returns:
        The slopes: exact if problem and lam are exact, otherwise floats.

    Raises:
        InputError: lam is negative, it is "calibrated" and Eve does no better with the data than without, or an agent
            has beliefs of his own, or reports probabilities.

    >>> from bap_lp import Problem, sensitivity
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> found = sensitivity(coin, "1/3")
    >>> print(found.value, found.lam_derivative, found.bob[1, 0])
    3/40 -3/4 3/40
    """
    shared(problem, "sensitivity")
    best = solve(problem, lam)
    B, E, proof, field = best.problem.B, best.problem.E, best.certificate, EXACT if best.exact else FLOAT
    assert proof.rho is not None
    rho, u = field.array(proof.rho), field.array(proof.u)
    y = (B - E.dot(u.T)).min(axis=1)
    slopes = (rho, -rho.dot(u), y, y - field.number(best.value))
    return Sensitivity(best.value, -best.risks.eve, *map(public, slopes))
