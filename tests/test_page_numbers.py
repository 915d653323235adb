"""Numbers in the text of the pages, outside their examples, are those that the library computes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from bap_lp import load_problem, solve
from bap_lp.support.limits import DEFAULTS
from bap_sdc import counts
from bap_sdc.count_tables.reading import MOST_PEOPLE
from bap_sdc.count_tables.spaces import MOST_TABLES
from bap_sdc.records.data.levels import MOST_LEVELS
from benchmarks import trust
from discretise import bracket, max_bracket
from discretise.squared_loss.squared_grids import residual_variance
from gaussian import (
    BothEves,
    Eve,
    Full,
    GaussianModel,
    MaxEve,
    MeanEve,
    NoisyMean,
    NoisyMedian,
    Null,
    OneBit,
    optimise,
    risks,
)
from gaussian.laws.statistics import MOST_MEDIAN
from gaussian.optimum import cells
from gaussian.optimum.cells import cell_law
from gaussian.paper import PAPER_MODEL as PAPER
from gaussian.paper import PAPER_TABLES

ROOT = Path(__file__).parents[1]
BOTH = BothEves(0.5, 2.0)


def page(name: str) -> str:
    """A page as one line, so that it does not matter where its lines end."""
    return " ".join((ROOT / name).read_text(encoding="utf-8").split())


def rows(text: str) -> dict[str, list[str]]:
    """The rows of all tables in a text, by their first cell."""
    found = [
        [cell.strip(" *`") for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"
    ]
    return {row[0]: row[1:] for row in found}


def test_the_pages_on_brackets_say_what_each_rule_costs() -> None:
    text, proofs = page("docs/gaussian.md"), page("docs/proofs/brackets.md")
    mean, both = bracket(PAPER, MeanEve(0.5)), bracket(PAPER, BOTH)
    edge = 2 * PAPER.bob_posterior(0.5) - 1
    assert rf"$\mu = {mean.price:.6f}$, $\delta = {edge:.3f}$, $\lambda = {mean.lam:.4f}$" in proofs
    full, bit = risks(PAPER, BOTH, Full()).bob, optimise(PAPER, BOTH, OneBit)
    costs = f"This rule costs Bob {both.bob - full:.4f}; the best one-bit release costs him {bit.risks.bob - full:.4f}."
    assert costs in text
    assert f"the best of them is {bit.alice - both.upper:.3f} worse" in text
    rare = cell_law(PAPER, BOTH).split(np.zeros(4)).sum((0, 1))[1]
    assert rf"$M_{{01}} = {rare:.7f}$ and $\pi(c_1) = {PAPER.bob_posterior(0.5):.3f}$" in proofs


def test_the_page_on_brackets_says_why_bobs_decision_is_optimal_against_the_maximum() -> None:
    law, here = cell_law(PAPER, MaxEve(2.0)), np.zeros(1)
    a, b = (side(here).sum((0, 2)) for side in (law.above, law.below))
    assert f"$a = ({a[0]:.4f}, {a[1]:.4f})$, $b = ({b[0]:.4f}, {b[1]:.4f})$" in page("docs/proofs/brackets.md")


@pytest.mark.parametrize("eve", [MeanEve(19.3), MaxEve(25.0)])
def test_brackets_keep_their_width_where_the_event_is_very_rare(eve: Eve) -> None:
    found = bracket(PAPER, eve)
    assert risks(PAPER, eve, Null()).eve < 1e-68
    assert found.lam > 1e68
    assert found.width < 1e-13


@pytest.mark.slow
def test_the_page_on_the_gaussian_example_starts_with_the_three_optima() -> None:
    table = rows((ROOT / "docs/gaussian.md").read_text())
    for name, eve in (
        ("mean, $c = 1/2$", MeanEve(0.5)),
        ("maximum, $c = 2$", MaxEve(2.0)),
        ("both, $c_1 = 1/2$, $c_2 = 2$", BOTH),
    ):
        optimum, rule, best, width = table[name]
        found = bracket(PAPER, eve)
        assert optimum == f"{found.upper:.7f}"
        words = rule.replace(r"\bar x", "xbar").replace(r"\max", "max").replace("$", "")
        assert found.describe() == f"{words}, else 0"
        assert best == f"{found.best_parametric.mechanism}, {found.best_parametric.alice:.7f}"
        assert found.width < float(width.removeprefix("below "))


def test_the_least_of_every_printed_table_is_the_rounded_optimum_or_worse() -> None:
    """The paper's best release is ours up to rounding; with both Eves it is not the optimum."""
    text = (ROOT / "docs/gaussian.md").read_text()
    coin = solve(load_problem(ROOT / "examples" / "coin_toss.toml").problem)
    assert f"The coin toss of the paper has the optimum {coin.value}, exactly" in text
    table = rows(text)
    for name, title in (
        ("mean", "mean, $c = 1/2$"),
        ("max", "maximum, $c = 2$"),
        ("both", "both, $c_1 = 1/2$, $c_2 = 2$"),
    ):
        best = float(table[title][2].split(", ")[1])
        assert round(best, 2) == min(row.alice for row in PAPER_TABLES[name].rows.values())


def test_the_full_release_by_gauss_hermite_is_as_inaccurate_as_the_page_says() -> None:
    x, w = np.polynomial.hermite_e.hermegauss(80)
    p = PAPER.bob_posterior(PAPER.xbar_sd * x)
    rough, right = np.minimum(p, 1 - p) @ w / w.sum(), risks(PAPER, MaxEve(2.0), Full()).bob
    text = page("docs/gaussian.md")
    assert rf"with 80 nodes it gives $R_B^{{\text{{full}}}}$ = {rough:.4f}; the correct value is {right:.7f}" in text
    assert rf"\tau_{{\max}}(p) = {optimise(PAPER, MeanEve(0.5), OneBit).parameter:.7f}$" in text


def test_the_median_is_slightly_better_than_the_mean_as_the_page_says() -> None:
    median, mean = (optimise(PAPER, MeanEve(0.5), family).alice for family in (NoisyMedian, NoisyMean))
    assert f"it is lower, {median:.7f} against {mean:.7f}" in page("docs/gaussian.md")
    case = risks(GaussianModel(n=5), MaxEve(0.0), NoisyMean(0.0)).eve
    assert f"is {case:.6f}, not 0.079" in page("docs/gaussian.md")


def test_the_page_on_squared_losses_has_the_numbers_of_its_model() -> None:
    w, d = 1 + 1 / 5, residual_variance(5)
    k, r = 1 / w, 1 / 6
    lam = k**2 * w / (w + d)
    text = page("docs/proofs/squared_loss.md")
    assert rf"d = \mathrm{{Var}}(D) = {d:.7f}$" in text
    assert rf"\lambda = \frac{{k^2 w}}{{w + d}} = {lam:.7f}." in text
    assert rf"$R_A = r - \lambda d = {r - lam * d:.7f}$" in text
    assert rf"r - \lambda \sqrt{{d (d + w)}} = {r - lam * (d * (d + w)) ** 0.5:.7f}$" in text
    assert f"without a release it would be {w + d:.2f}, and with all the data 0" in text
    assert f"with all the data it would be {r:.2f}" in text


@pytest.mark.slow
def test_the_reply_of_eve_who_estimates_the_maximum_is_convex() -> None:
    found = max_bracket(GaussianModel(n=5, prior_sd=1.0))
    assert "$m'$ increases with $a$" in page("docs/proofs/squared_loss.md")
    assert (np.diff(np.diff(found.replies) / np.diff(found.knots)) > 0).all()


def test_one_of_a_hundred_cells_has_a_state_per_count() -> None:
    asked = {"bob": {"cells": "7", "loss": "0-1", "thresholds": ["1/4"]}, "eve": {"cells": "7", "asks": "empty"}}
    assert len(counts(12, [str(cell) for cell in range(100)], **asked).states) == 12 + 1


def test_the_limits_shown_are_the_limits_set() -> None:
    table = rows((ROOT / "docs/certificates.md").read_text())
    assert {name: int(table[name][0]) for name in DEFAULTS} == DEFAULTS
    assert f"A column has at most {MOST_LEVELS} levels" in page("docs/microdata_reference.md")
    assert f"| the number of people | 1 to {MOST_PEOPLE:,};" in page("docs/counts.md")
    assert MOST_TABLES == 2_000_000
    assert "Up to two million tables of the parts are enumerated" in page("docs/counts.md")
    assert f"(the median for $n$ up to {MOST_MEDIAN})" in page("docs/gaussian.md")


def test_the_page_on_verifying_says_how_many_mutations_are_judged() -> None:
    text = page("docs/verify.md")
    assert f"`python -m benchmarks trust` mutates bundles of every kind {trust.COUNT:,} times" in text


def test_the_page_on_brackets_says_which_rules_integrate() -> None:
    low, high = cells._ORDERS
    text = page("docs/proofs/brackets.md")
    assert f"out to {cells._FAR:g} standard deviations of each" in text
    assert f"by Gauss-Legendre rules with {low} and {high} nodes per panel" in text


def test_the_first_page_asks_for_the_python_that_the_package_needs() -> None:
    needed = re.search(r'requires-python = ">=([\d.]+)"', (ROOT / "pyproject.toml").read_text())
    assert needed is not None
    for name in ("README.md", "docs/index.md"):
        assert f"Python {needed[1]} or later" in page(name)
