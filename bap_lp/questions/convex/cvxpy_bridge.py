"""Alice's program in cvxpy, open to any convex constraint, with information measures ready to use.

    min  sum B(x,i) rho[x,i] - lam sum t[i,g]   s.t.  sum_i rho[x,i] = p(x),  t[i,g] <= sum_x E(x,j) rho[x,i],  rho >= 0

The variables are the channel q(i|x), with rho[x,i] = p(x) q(i|x) an expression, t, and the signal probabilities P(i)
with the constraint P(i) = sum_x rho[x,i]. A variable of its own for P keeps the cones below sparse, and q is of order
one however small p is.

Information, in nats. Since posterior_i(x) / p(x) = q(i|x) / P(i), every term of
    D_i = sum_x p(x) q(i|x) log(q(i|x) / P(i)) = P(i) KL(posterior_i || prior),      I(X; signal) = sum_i D_i
is a relative entropy, jointly convex in q(i|x) and P(i): I <= cap and KL(posterior_i || prior) <= k at every signal
(written D_i <= k P(i)) are convex. So is the other direction, P(i) KL(prior || posterior_i) =
sum_x p(x) P(i) log(P(i) / q(i|x)).

One signal per Bob decision stays enough for every constraint that survives pooling, by the argument of the program
itself: pooling signals on which Bob does the same leaves R_B and can only raise R_E. Mutual information survives: the
pooled signal is a function of the finer one, so data processing lowers I. A cap on KL at each signal survives, in
either direction: the posterior at a pooled signal is an average of posteriors, and KL is convex in it. So do
R_E >= floor, R_B <= cap and differential privacy. For the same reason Bob obeys at the optimum: pooling a signal he
disobeys with the one he prefers stays feasible and lowers R_B. A constraint that pooling can break (a cap on the
probability of a signal, say) leaves a program over mechanisms with one signal per decision only; add
`Bridge.obedience` to it.

What is certified. Risks are recomputed from the channel, whatever the solver reported. A lower bound is computed by
weak duality from multipliers m_i >= 0 and u (rows in lam simplex), which the solver only suggests. Write
c(x,i) = B(x,i) - sum_j u[i,j] E(x,j) - k m_i. For every mechanism with KL at each signal <= k,
    R_A >= sum c rho + sum_i m_i D_i
        >= sum_x p(x) y(x) + sum_i P(i) min_post [ sum_x post(x) (c(x,i) - y(x)) + m_i KL(post || p) ]
and the minimum is -m log sum_x p(x) exp((y(x) - c(x,i)) / m) (Gibbs; for m = 0: min_x c - y). Lowering y by the largest
-minimum makes every bracket non-negative, so R_A >= sum p y. Further constraints enter by their tangents (`tangents`):
a linear cost of q, which joins p c, and of t, which joins the price of Eve's risk. The bound is then about mechanisms
whose signals are the decisions that Bob takes; if he disobeys at the solution, it is that of all mechanisms. No bound
is below the optimum without constraints, which `solve` bounds.

Any y gives a bound, and the better of two is taken: the solver's multiplier of the rows (accurate if m > 0), and the y
with sum_i P(i) exp((y(x) - c(x,i)) / m) = 1, as at the optimum, where the terms are the q(i|x) (accurate if m is near
0). The solver's own dual value is never reported.

The cap on KL is met to the last digit. Mixing the channel with the null release of the same signal probabilities moves
every posterior towards the prior. KL is convex and zero at the prior, so it shrinks at least in proportion.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bap_lp.model.beliefs import shared
from bap_lp.model.calibration import lam_of
from bap_lp.model.evaluation import risks as risks_of
from bap_lp.model.mechanism import Mechanism, without_unused
from bap_lp.model.problem import Problem
from bap_lp.questions.convex.tangents import Tangents, tangents
from bap_lp.questions.optimum.solving import solve
from bap_lp.support.rational import Array, InputError, floats, sized_number
from bap_lp.support.risks import Risks

_DUST = 1e-7  # channel entries below this are the interior-point solver's distance from zero
_RARE = (1e-6, 1e-5, 1e-4)  # signals less probable than one of these carry few digits of a posterior
# with Clarabel's own 1e-8 the certified gap of 90 programs of eight states was up to 9e-7; with 1e-10 it was 6e-8
_CLOSE = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-10)


@dataclass(frozen=True)
class BridgeSolution:
    """What cvxpy found, recomputed: `value` is R_A of the channel, `bound` lies below R_A of every mechanism that meets
    the constraints (one signal per decision that Bob takes), `violation` is the largest amount by which the channel
    misses any constraint."""

    lam: float
    mechanism: Mechanism
    risks: Risks
    value: float
    bound: float
    violation: float
    status: str

    @property
    def gap(self) -> float:
        return self.value - self.bound


class Bridge:
    """The program as cvxpy objects: variables `channel` (states x Bob's decisions), `signal_probability` and `t` (Bob's
    decisions x Eves), `constraints`, and expressions that enter objectives and further constraints: `rho`, the joint
    table; the risks; the information measures.

    `eve_risk` is the concave function sum_ig min_j of rho, so cvxpy accepts R_E >= floor and refuses R_E <= cap, which
    is not convex. `bob_risk` is the risk of an obedient Bob, never below his Bayes risk.
    """

    def __init__(self, problem: Problem, lam: Any = None) -> None:
        import cvxpy as cp

        shared(problem, "to_cvxpy")
        self.cp = cp
        self.problem = problem
        self.lam = None if lam is None else float(lam_of(problem, lam))
        self.p, self.B, self.E = (floats(a) for a in (problem.p, problem.B, problem.E))
        N, b, _ = problem.shape
        self.live = np.flatnonzero(self.p > 0)
        self.channel = cp.Variable((N, b), name="channel", nonneg=True)
        self.signal_probability = cp.Variable(b, name="signal_probability", nonneg=True)
        self.rho = cp.multiply(np.repeat(self.p[:, None], b, axis=1), self.channel)
        self.t = cp.Variable((b, len(problem.eve_groups)), name="t")
        losses = self.rho.T @ self.E  # signals x Eve's decisions
        self.rows = cp.sum(self.channel, axis=1) == 1
        self.unit = unit = float(self.E.max()) or 1.0  # of Eve's losses
        self.hypograph = [self.t[:, [k]] / unit <= losses[:, g] / unit for k, g in enumerate(problem.eve_groups)]
        self.constraints = [self.rows, cp.sum(self.rho, axis=0) == self.signal_probability, *self.hypograph]
        self.bob_risk = cp.sum(cp.multiply(self.B, self.rho))
        self.eve_risk = sum(cp.sum(cp.min(losses[:, g], axis=1)) for g in problem.eve_groups)

    def alice(self, lam: Any = None) -> Any:
        """R_A as a convex expression; lam a number, "calibrated" or a non-negative cvxpy Parameter."""
        if isinstance(lam, self.cp.Expression):
            if not lam.is_nonneg():
                raise InputError("lam", lam, "must be declared non-negative, as in cvxpy.Parameter(nonneg=True)")
            return self.bob_risk - lam * self.cp.sum(self.t)
        return self.bob_risk - self._lam(lam) * self.cp.sum(self.t)

    def kl_to_prior(self, i: int) -> Any:
        """P(i) KL(posterior_i || prior): a cap k on the divergence is kl_to_prior(i) <= k * signal_probability[i]."""
        own, average = self._columns([i])
        return self.cp.sum(self.p[self.live] @ self.cp.rel_entr(own, average))

    def kl_from_prior(self, i: int) -> Any:
        """P(i) KL(prior || posterior_i); finite only where signal i leaves no state excluded."""
        own, average = self._columns([i])
        return self.cp.sum(self.p[self.live] @ self.cp.rel_entr(average, own))

    @cached_property
    def mutual_information(self) -> Any:
        """I(X; signal) in nats, the sum of kl_to_prior over the signals."""
        return self.cp.sum(self.p[self.live] @ self.cp.rel_entr(*self._columns(list(range(self.B.shape[1])))))

    @cached_property
    def obedience(self) -> list[Any]:
        """At signal i no decision is better for Bob than i: needed only with constraints that pooling can break."""
        return [
            (self.B[:, [i]] - np.delete(self.B, i, axis=1)).T @ self.rho[:, i] <= 0
            for i in range(self.B.shape[1])
            if self.B.shape[1] > 1
        ]

    def _columns(self, i: list[int]) -> tuple[Any, Any]:
        average = self.cp.reshape(self.signal_probability[i], (1, len(i)), order="C")
        return self.channel[self.live][:, i], np.ones((len(self.live), 1)) @ average

    def _lam(self, lam: Any) -> float:
        if lam is not None:
            return float(lam_of(self.problem, lam))
        if self.lam is None:
            raise InputError("lam", None, "must be given, to the bridge or here")
        return self.lam

    def mechanism(self, name: str = "convex optimum") -> Mechanism:
        """The channel of the solved variable without tiny entries; rare signals are pooled and unused ones dropped."""
        return self._mechanism(self._channel(), name)

    def _mechanism(self, channel: Array, name: str) -> Mechanism:
        q, signals = without_unused(channel, self.problem.bob_decisions, self.p)
        return Mechanism(q, signals=signals, states=self.problem.states, name=name)

    def _channel(self, rarity: float = _RARE[0]) -> Array:
        if self.channel.value is None:
            raise InputError("channel", None, "has no value: solve a program over it first")
        q = np.where(self.channel.value > _DUST, self.channel.value, 0.0)
        marginal = self.p @ q
        rare = marginal < rarity
        q[:, marginal.argmax()] += q[:, rare].sum(axis=1)  # pooling cannot increase a divergence
        q[:, rare] = 0.0
        q[self.p == 0] = self.p @ q  # a state that never occurs gets the null row
        return q / q.sum(axis=1, keepdims=True)

    def _withdrawn(self, q: Array, each: float | None) -> Array:
        """The channel, mixed with its null release as far as the cap requires."""
        marginal, divergence = self.p @ q, _divergences(self.p, q)
        if each is None or not (divergence > each * marginal).any():
            return q
        used = divergence > 0
        keep = each * float((marginal[used] / divergence[used]).min())
        return marginal + keep * (1 - 1e-12) * (q - marginal)

    def solve(
        self,
        constraints: Sequence[Any] = (),
        *,
        lam: Any = None,
        max_kl: Any = None,
        **options: Any,
    ) -> BridgeSolution:
        """Minimise R_A under convex constraints.

        Args:
            constraints: cvxpy constraints on the variables and expressions of this bridge. Floors on R_E and limits on
                information are conditions of `bap_lp.solve`, which proves them.
            lam: a number or "calibrated"; by default the lam of the bridge.
            max_kl: KL(posterior || prior) is at most this at every signal, in nats.
            options: for cvxpy.Problem.solve; the default solver is Clarabel, with tolerances of 1e-10.

        Returns:
            The mechanism with its risks, recomputed, and a lower bound.

        Raises:
            InputError: no mechanism satisfies the constraints, lam is missing, or it or the cap is negative.
        """
        cp, price = self.cp, self._lam(lam)
        each = None if max_kl is None else float(sized_number(max_kl, "max_kl"))
        if each is not None and each >= -np.log(self.p[self.live].min()):
            each = None  # no posterior is as far from the prior
        decisions = list(range(self.B.shape[1]))
        single, flat = [], []
        if each == 0:  # no interior: independence itself is the linear constraint
            own, average = self._columns(decisions)
            flat = [own == average]
        elif each is not None:
            single = [self.kl_to_prior(i) <= each * self.signal_probability[i] for i in decisions]
        every = [*self.constraints, *single, *flat, *constraints]
        size = float(max(self.B.max(), price * self.E.max())) or 1.0
        problem = cp.Problem(cp.Minimize(self.alice(price) / size), every)  # of size one, whatever the losses are
        with warnings.catch_warnings():  # the bound below judges the accuracy, and `status` says what the solver thinks
            warnings.filterwarnings("ignore", "Solution may be inaccurate")
            try:
                problem.solve(**(options if "solver" in options else {"solver": cp.CLARABEL, **_CLOSE, **options}))
            except cp.SolverError:  # no progress on the way to 1e-10: its own tolerances
                problem.solve(**{"solver": cp.CLARABEL, **options})
        if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
            raise InputError("constraints", None, f"leave no mechanism: the solver reports {problem.status!r}")
        for dual in (dual for row in every for dual in row.dual_variables):
            dual.save_value(size * dual.value)
        self.channel.value = np.maximum(self.channel.value, 1e-12)  # inside the domain of logarithms
        added = tangents(constraints, [self.channel, self.signal_probability, self.t])
        bound = self._bound(price, single, each, bool(flat), added)
        # under max_kl one rare signal, slightly off, would mix all others with the null release: pool it if better
        rarities = _RARE if each is not None else _RARE[:1]
        channels = [self._withdrawn(self._channel(rarity), each) for rarity in rarities]
        channel = min(channels, key=lambda q: risks_of(self.problem, Mechanism(q)).alice(price))
        mechanism = self._mechanism(channel, "convex optimum")
        self.channel.value, self.signal_probability.value = channel, self.p @ channel
        self.t.value = self.problem.arrays.least_replies(self.rho.value.T @ self.E)
        risks = risks_of(self.problem, mechanism)
        violation = max(float(np.max(c.violation())) for c in every)
        value = float(risks.alice(price))
        told, slack = float(self.alice(price).value), 1e-7 * self.problem.arrays.size(price)
        free = solve(self.problem, price, exact=False).bound
        bound = float(free) if constraints and value < told - slack else max(bound, float(free))
        return BridgeSolution(price, mechanism, risks, value, bound, violation, str(problem.status))

    def _bound(self, lam: float, single: list[Any], each: float | None, null: bool, added: Tangents) -> float:
        """The lower bound of the module's docstring, from the multipliers that the solver suggests."""
        from scipy.special import logsumexp

        u = np.empty((self.B.shape[1], self.E.shape[1]))
        for row, g in zip(self.hypograph, self.problem.eve_groups, strict=True):
            u[:, g] = row.dual_value / self.unit
        risk = added.coefficients[2]
        if (risk > lam).any():  # less of all multipliers, so that no price of Eve's risk is negative
            added = added.scaled(float(lam / risk.max()))
        sent, marginal, risk = added.coefficients
        u = self.problem.arrays.on_simplex(u, np.maximum(lam - risk, 0.0))
        cost = sent + self.p[:, None] * marginal  # of q(i|x)
        p, c = self.p[self.live], (self.B - self.E @ u.T)[self.live] + cost[self.live] / self.p[self.live, None]
        constant = added.constant + float(cost[self.p == 0].min(axis=1).sum())
        size = float(self.B.max() + (lam + np.abs(risk).max()) * self.E.sum(axis=1).max())
        size += added.size + float(np.abs(cost).sum(axis=0).max())
        rounding = (sum(self.problem.shape) + 40) * float(np.finfo(float).eps)
        if null:  # only the null releases are left, and one of them sends a single signal
            return float((p @ c).min()) + constant - rounding * size
        own = np.array([max(float(s.dual_value), 0.0) for s in single] or [0.0])
        c = c - own * (each or 0.0)
        m = np.broadcast_to(own, (c.shape[1],))
        size += float(m.max() * (1 + (each or 0.0)))
        best = -np.inf
        for y in (_potential(c, m, self.signal_probability.value), -self.rows.dual_value[self.live] / p):
            excess = [
                mi * logsumexp((y - ci) / mi, b=p) if mi > 0 else (y - ci).max() for mi, ci in zip(m, c.T, strict=True)
            ]
            best = max(best, float(p @ y - max(excess)) - rounding * (size + float(np.abs(y).max())))
        return best + constant


def _potential(c: Array, m: Array, weight: Array) -> Array:
    """The y(x) with sum_i P(i) exp((y(x) - c(x,i)) / m_i) = 1, between min_i c and max_i c; m = 0 asks for y <= c."""
    weight = np.maximum(weight, 1e-300) / np.maximum(weight, 1e-300).sum()
    low, high = c.min(axis=1), c.max(axis=1)
    with np.errstate(over="ignore"):
        for _ in range(64):
            y = (low + high) / 2
            above = np.exp((y[:, None] - c) / np.maximum(m, 1e-300)) @ weight > 1
            low, high = np.where(above, low, y), np.where(above, y, high)
    return low


def to_cvxpy(problem: Problem, lam: Any = None) -> Bridge:
    """The problem as a cvxpy program, to which any convex constraint can be added.

    Args:
        problem: the problem; its numbers are rounded to floats.
        lam: a non-negative number or "calibrated"; None: it is given later, on solving.

    Returns:
        The program: cvxpy variables and expressions, with a method `solve`.

    Raises:
        InputError: lam is negative, it is "calibrated" and Eve does no better with the data than without, or an agent
            has beliefs of his own.

    >>> from bap_lp import Problem, to_cvxpy
    >>> bridge = to_cvxpy(Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]]), "1/3")
    >>> found = bridge.solve([bridge.mutual_information <= 0.1])
    >>> round(found.value, 5), found.gap < 1e-5
    (0.12412, True)
    """
    return Bridge(problem, lam)


def information(problem: Problem, mechanism: Mechanism) -> float:
    """I(X; signal) in nats of any mechanism, computed from its channel."""
    return float(_divergences(floats(problem.p), floats(mechanism.q)).sum())


def _divergences(p: Array, q: Array) -> Array:
    """P(s) KL(posterior_s || prior) at every signal."""
    from scipy.special import rel_entr

    rho = p[:, None] * q
    return np.maximum(rel_entr(rho, p[:, None] * rho.sum(axis=0)).sum(axis=0), 0.0)
