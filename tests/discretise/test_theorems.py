"""Theorems of the page on brackets, away from the models that the library integrates: atoms, jumps, exact fractions."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.polynomial import chebyshev
from scipy import optimize, stats

from bap_lp import Mechanism, Problem, solve
from bap_lp.model.evaluation import risks
from discretise import bracket, closed_form, model, zero_one
from discretise.continuum import mixtures, panels
from discretise.continuum import scalar_brackets as model_brackets
from discretise.continuum.continuum_optimum import RuleOptimum
from discretise.continuum.envelope import lower_envelope
from gaussian import GaussianModel, MaxEve, MeanEve, OneBit
from gaussian.optimum.cells import cell_law
from gaussian.optimum.closed_forms import applicable_theorem
from gaussian.optimum.dual import dual_value, split_risks
from gaussian.tuning import optimise as best_bit

HALF = F(1, 2)


class Monotone:
    """Atoms of T with a nondecreasing pi, and cells s with masses w[t, s]; Eve bets against a cell."""

    def __init__(self, pi: list[F], weights: list[list[int]]) -> None:
        self.pi, total = pi, sum(map(sum, weights))
        self.mass = [[F(w, total) for w in row] for row in weights]
        self.cells = range(len(weights[0]))
        self.M = [sum(row[s] for row in self.mass) for s in self.cells]
        self.P = min(self.M)

    def problem(self) -> Problem:
        at = [(t, s) for t in range(len(self.pi)) for s in self.cells]
        bob = [[self.pi[t], 1 - self.pi[t]] for t, _ in at]
        eve = [[int(s == bet) for bet in self.cells] for _, s in at]
        return Problem([self.mass[t][s] for t, s in at], bob, eve)

    def cost(self, signal: int, s: int, nu: F) -> F:
        """c_s^1: the integral of (1 - 2 pi)^+ over the upper part of mass nu; c_s^0: of (2 pi - 1)^+ over the lower."""
        total, left = F(0), nu
        for t in sorted(range(len(self.pi)), reverse=signal == 1):
            part = min(left, self.mass[t][s])
            total += part * max((1 - 2 * self.pi[t]) * (1 if signal else -1), F(0))
            left -= part
        return total

    def kinks(self, signal: int) -> set[F]:
        out = {F(0), self.P}
        for s in self.cells:
            total = F(0)
            for t in sorted(range(len(self.pi)), reverse=signal == 1):
                total += self.mass[t][s]
                out.add(min(total, self.P))
        return out

    def least(self, lam: F) -> tuple[F, F, F]:
        """(value, nu_0, nu_1): a piecewise linear convex function is least at a kink, or where the sum is P."""
        pairs = set(product(self.kinks(0), self.kinks(1)))
        pairs |= {(a, self.P - a) for a in self.kinks(0)} | {(self.P - a, a) for a in self.kinks(1)}
        full = sum(m * min(p, 1 - p) for p, row in zip(self.pi, self.mass, strict=True) for m in row)
        return min(
            (full + sum(self.cost(0, s, a) + self.cost(1, s, b) for s in self.cells) - lam * (a + b), a, b)
            for a, b in pairs
            if a + b <= self.P
        )

    def rule(self, nu: tuple[F, F]) -> Mechanism:
        """In cell s the upper part of mass m_s sends 1, m_s in [nu_1, M_s - nu_0] nearest to Bob's own decision."""
        rows = np.zeros((len(self.pi), len(self.mass[0]), 2), dtype=object)
        for s in self.cells:
            a, o = (
                sum(row[s] for p, row in zip(self.pi, self.mass, strict=True) if test(p))
                for test in (lambda p: p > HALF, lambda p: p == HALF)
            )
            low, high = nu[1], self.M[s] - nu[0]
            left = min(max(a, low), high) if a >= low else min(max(low, a), max(a + o, low), high)
            for t in reversed(range(len(self.pi))):
                part = min(left, self.mass[t][s])
                share = part / self.mass[t][s] if self.mass[t][s] else F(0)
                rows[t, s] = [1 - share, share]
                left -= part
        return Mechanism(rows.reshape(-1, 2).tolist())


@st.composite
def monotone_models(draw: st.DrawFn) -> Monotone:
    atoms, cells = draw(st.integers(1, 5)), draw(st.integers(2, 4))
    pi = sorted(F(k, 8) for k in draw(st.lists(st.integers(0, 8), min_size=atoms, max_size=atoms)))
    row = st.lists(st.integers(0, 4), min_size=cells, max_size=cells)
    return Monotone(pi, draw(st.lists(row, min_size=atoms, max_size=atoms).filter(lambda w: any(map(sum, w)))))


@pytest.mark.slow
@settings(max_examples=100)
@given(monotone_models(), st.builds(F, st.integers(0, 16), st.just(4)))
@example(Monotone([F(1, 4), F(3, 4)], [[1, 3], [1, 1]]), F(1))  # pi jumps over 1/2 where nu_1 = a_s and nu_0 = b_s
@example(Monotone([F(1, 4), F(3, 4)], [[1, 4, 0], [1, 0, 4]]), F(3, 4))
def test_with_a_monotone_posterior_and_bets_against_cells_the_optimum_is_one_root(given_: Monotone, lam: F) -> None:
    problem = given_.problem()
    value, *nu = given_.least(lam)
    assert solve(problem, lam).value == value
    assert risks(problem, given_.rule((nu[0], nu[1]))).alice(lam) == value


FAMILIES: dict[str, Any] = {
    "Poisson": (lambda t: stats.poisson(t).pmf(np.arange(40)), 1),
    "binomial": (lambda t: stats.binom(12, t / 10).pmf(np.arange(13)), 1),
    "exponential": (lambda t: stats.expon(scale=1 / t).pdf(np.linspace(0, 9, 40)), -1),
    "normal": (lambda t: stats.norm(t, 2).pdf(np.linspace(-4, 14, 40)), 1),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_an_exponential_family_has_a_monotone_posterior_whatever_the_prior(family: str) -> None:
    density, sign = FAMILIES[family]
    rng = np.random.default_rng(3)
    for _ in range(20):
        theta, prior = rng.uniform(0.2, 9.0, 6), rng.dirichlet(np.full(6, 0.3))
        joint = prior[:, None] * np.array([density(t) for t in theta])
        pi = joint[theta > 4].sum(axis=0) / joint.sum(axis=0)
        assert (sign * np.diff(pi) >= -1e-12).all()


@pytest.mark.parametrize(("c", "lam"), [(0.1, 0.5), (0.1, 3.0), (0.2, 1.0)])
def test_where_mu_and_lambda_exceed_delta_no_bit_of_the_mean_is_optimal(c: float, lam: float) -> None:
    gauss, eve = GaussianModel(5, 1.0, 0.0), MeanEve(c)
    delta = 2 * float(gauss.bob_posterior(c)) - 1
    found = bracket(gauss, eve, lam)
    assert delta < min(lam, 1 - 2 * float(gauss.bob_posterior(found.thresholds[0])))
    assert found.theorem is None
    assert found.upper < best_bit(gauss, eve, OneBit, lam=lam).alice - 1e-3
    assert found.thresholds[1] > c  # some data above c release 0


def test_the_corner_is_claimed_only_if_the_rare_cell_is_the_least_for_sure() -> None:
    """At this c the cells have the same mass above t_B up to rounding: the last digits must not decide."""
    gauss = GaussianModel(5, 1.0, 0.0)

    def difference(c: float) -> float:
        no, yes = cell_law(gauss, MaxEve(c)).own[1]
        return float(no - yes)

    equal = optimize.brentq(difference, 1.0, 3.0, xtol=1e-15)
    assert abs(difference(equal)) < 1e-15
    assert applicable_theorem(gauss, MaxEve(equal), 2.0, False) is None
    assert bracket(gauss, MaxEve(equal), 2.0).width < 1e-13
    assert closed_form(gauss, MaxEve(equal + 1e-9), 2.0).theorem == "corner"


@pytest.mark.parametrize("losses", [((1.0, 1.0), (1.0, 1.0)), ((3.0, 0.5), (2.0, 1.5))])
def test_the_gap_of_any_rule_and_any_reply_is_that_of_the_formula(losses: Any) -> None:
    """R_A(rule) - D(u) = sum_i [sum_s w_s u_i(s) m_i(s) - lam min_s w_s m_i(s)] where the rule is the switch of u."""
    bob_loss, eve_loss = losses
    gauss = GaussianModel(5, 1.0, 0.2, bob_loss=bob_loss)
    law, lam = cell_law(gauss, MeanEve(0.4, loss=eve_loss)), 0.3
    u = np.array([[0.1, 0.2], [0.25, 0.05]])
    miss, alarm = bob_loss
    tau = (alarm + law.weights * (u[0] - u[1])) / (miss + alarm)
    rule = gauss.bit_threshold(tau)
    masses = law.weights * law.split(rule).sum(1)
    gap = float((u * masses).sum() - lam * masses.min(axis=1).sum())
    assert gap > 0.01
    bob = law.split(rule)
    obeyed = miss * bob[0, 1].sum() + alarm * bob[1, 0].sum() - lam * masses.min(axis=1).sum()
    assert obeyed - dual_value(law, u, lam).value == pytest.approx(gap, abs=1e-14)
    found = split_risks(law, rule, lam)
    assert found.bob - lam * found.eve <= obeyed + 1e-15


@pytest.mark.parametrize("width", [0.2, 0.02, 0.004])
def test_a_dip_between_the_points_of_an_integral_is_not_missed(width: float) -> None:
    """G_1 - G_0 = (t - a)^2 (..) - d is negative on a short interval only, which the starting points do not see."""
    a, half = 0.3137, 1.7
    dip = np.array(chebyshev.poly2cheb([a * a - width * width / 4, -2 * a, 1.0]))
    coefs = np.zeros((1, 2, panels.NODES))
    coefs[0, 0, :2] = [0.4, 0.1]
    coefs[0, 1] = coefs[0, 0]
    coefs[0, 1, :3] += dip
    found = lower_envelope(coefs, np.array([half]))
    law = panels.PanelLaw(np.array([-half]), np.array([half]), coefs, np.zeros((1, 2)))
    whole = law.integrals(found.panel, found.left, found.right)
    chosen = float(whole[np.arange(len(whole)), found.choice].sum())
    exact = half * (2 * 0.4 - width**3 / 6)  # the parabola -(w^2/4 - s^2) integrates to -w^3/6
    assert chosen - found.slack <= exact + 1e-15
    assert chosen - found.slack == pytest.approx(exact, abs=1e-13)


def test_ends_in_the_wrong_order_claim_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    right = model_brackets.optimise_rule

    def wrong(law: Any, lam: float, tell: Any) -> RuleOptimum:
        found = right(law, lam, tell)
        return RuleOptimum(found.u, found.bound + 1e-6, found.value, found.table, found.sent)

    problem = model(stats.gamma(3), stats.poisson, zero_one(2), zero_one(2), bob_decisions=[0, 1], eve_decisions=[0, 1])
    monkeypatch.setattr(model_brackets, "optimise_rule", wrong)
    with pytest.raises(ValueError, match="nothing is claimed"):
        bracket(problem, 0.5)


def test_the_page_says_how_a_scalar_model_is_integrated() -> None:
    assert (panels.NODES - 1, mixtures._RELATIVE) == (15, 1e-12)
