"""The path over epsilon: exact values, a band that is true between them, other conditions kept."""

from __future__ import annotations

import math
from fractions import Fraction as F
from itertools import pairwise
from typing import Any

import matplotlib.pyplot as plt
import pytest
from hypothesis import given, settings
from strategies import few_lams, few_states, parts_of

from bap_cli.main import main
from bap_lp import Agent, Conditions, InputError, Problem, epsilon_path, plots, releases, solve

BIT = Problem(["1/2", "1/2"], [[0, 1], [1, 0]], [[0, 1], [1, 0]])
COIN = Problem.from_model(["1/2", "1/2"], [[1, 0], ["1/2", "1/2"]], [[0, 1], [1, 0]], [[0, 1], [10, 0]])


def test_for_a_fair_bit_it_is_randomised_response() -> None:
    path = epsilon_path(BIT, 0)
    assert path.exact
    assert path.points[0].exp_epsilon == 1
    assert all(point.value == 1 / (1 + point.exp_epsilon) for point in path.points)
    assert path.free == 0
    assert path.width <= F(1, 50) * F(1, 2)
    assert path.verify()
    for K in (F(1), F(7, 5), F(33, 10), F(1000)):
        low, high = path.band(K)
        assert low <= 1 / (1 + K) <= high
        assert high - low <= path.width


@pytest.mark.slow
@settings(max_examples=12)
@given(few_states(3), few_lams, parts_of(1, 6))
def test_the_band_holds_where_nothing_was_computed(problem: Problem, lam: F, K: F) -> None:
    path = epsilon_path(problem, lam, tolerance="1/4")
    assert path.verify()
    assert all(a.value >= b.value for a, b in pairwise(path.points))
    low, high = path.band(K)
    assert low <= solve(problem, lam, conditions=Conditions(exp_epsilon=K)).value <= high
    assert high - low <= path.width


def test_pairs_metric_delta_and_other_conditions_are_kept() -> None:
    line = [[abs(x - y) for y in range(3)] for x in range(3)]
    problem = Problem(["1/3"] * 3, line, [[0, 1], [1, 0], [1, 1]])
    for asked in (
        Conditions(exp_epsilon=9, neighbours=[(0, 1)]),
        Conditions(epsilon=1, metric=line),
        Conditions(exp_epsilon=2, delta="1/5"),
        Conditions(max_leakage="3/2"),
        Conditions(deterministic=True),
        Conditions(exp_epsilon=2, posterior_caps=[{"event": [0], "at_most": "1/2"}]),
    ):
        path = epsilon_path(problem, "1/4", conditions=asked, tolerance="1/3")
        assert path.exact
        assert path.verify()
        kept = {name: v for name, v in asked.given().items() if name not in ("epsilon", "exp_epsilon")}
        for point in path.points:
            wanted = Conditions(**kept, exp_epsilon=point.exp_epsilon)
            assert releases.meets(problem, point.mechanism, wanted) == ""
            assert point.value == solve(problem, "1/4", conditions=wanted).value


def test_it_starts_where_the_other_conditions_become_possible() -> None:
    path = epsilon_path(COIN, "1/10", conditions=Conditions(max_bob_risk="1/3"), tolerance="1/4")
    assert path.impossible is not None
    assert path.impossible < path.points[0].exp_epsilon <= path.impossible * F(101, 100)
    assert all(point.risks.bob <= F(1, 3) for point in path.points)
    with pytest.raises(InputError, match="must be at least"):
        path.band(1)
    with pytest.raises(InputError, match="max_bob_risk = 1/10 is not attainable"):
        epsilon_path(COIN, 0, conditions=Conditions(max_bob_risk="1/10"))


@pytest.mark.parametrize("cap", ["1/10000000", 1e-7, f"1/{10**250}"])
def test_it_starts_however_large_the_least_possible_k_is(cap: Any) -> None:
    """A fair bit under K has R_B = 1 / (1 + K)."""
    path = epsilon_path(BIT, 0, conditions=Conditions(max_bob_risk=cap), tolerance=1)
    assert path.impossible is not None
    assert path.impossible < 1 / F(cap) - 1 <= path.points[0].exp_epsilon <= path.impossible * F(101, 100)
    assert path.verify()
    asked = Conditions(max_bob_risk=cap, exp_epsilon=path.points[0].exp_epsilon)
    assert solve(BIT, 0, conditions=asked).value == path.points[0].value


def test_powers_that_are_too_large_do_not_hide_a_possible_k() -> None:
    asked = Conditions(max_bob_risk="1/4", exp_epsilon=2, metric=[[0, 1000], [1000, 0]])
    path = epsilon_path(BIT, 0, conditions=asked, tolerance=1)
    assert path.impossible == 1
    assert path.points[0].risks.bob <= F(1, 4)


def test_conditions_that_no_k_allows_are_refused_without_a_k_that_nobody_set() -> None:
    rule = r"^conditions cannot be met together with differential privacy, not even at exp\(epsilon\) = [0-9.]+e\+2..$"
    for asked in (Conditions(max_bob_risk=0), Conditions(deterministic=True, max_bob_risk="1/4")):
        with pytest.raises(InputError, match=rule):
            epsilon_path(BIT, 0, conditions=asked)


def test_floats_and_bad_tolerances() -> None:
    rough = epsilon_path(COIN, 0.1, tolerance=0.2, exact=False)
    assert not rough.exact
    assert rough.verify()
    for wrong in (0, "-1/2", "x"):
        with pytest.raises(InputError, match="tolerance"):
            epsilon_path(COIN, 0, tolerance=wrong)


def test_a_changed_path_is_found_out() -> None:
    from dataclasses import replace

    path = epsilon_path(BIT, 0, tolerance="1/2")
    first, second = path.points[:2]
    for wrong in (replace(second, exp_epsilon=second.exp_epsilon + 1), replace(second, solution=first.solution)):
        assert not replace(path, points=(first, wrong)).verify()


@pytest.mark.parametrize(
    "wrong", [["--tolerance", "1/4"], ["--over", "epsilon", "--tolerance", "0"], ["--lambda", "1"]]
)
def test_the_command_refuses_options_of_the_other_path(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["path", "coin_toss", *wrong]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_picture_has_the_values_of_the_path() -> None:
    path = epsilon_path(BIT, 0, tolerance="1/4")
    top, below = plots.value_of_epsilon(path)
    drawn = next(line for line in top.lines if line.get_label() == "optimum, proved")
    assert drawn.get_ydata().tolist() == [float(p.value) for p in path.points]
    assert {line.get_label()[:5] for line in below.lines} == {"$R_B$", "$R_E$"}
    assert math.isclose(path.points[1].epsilon, math.log(path.points[1].exp_epsilon))
    plt.close(top.figure)


CAPS: Any = {"posterior_caps": [{"event": [0], "at_most": "2/3"}]}


@pytest.mark.parametrize(
    ("problem", "conditions"),
    [
        (Problem(["1/2", "1/4", "1/4"], [[0, 1], [1, 0], [1, 0]], eves=[Agent("log")]), None),
        (Problem(["1/2", "1/2"], [[0, 1], [1, 0]], [[0, 1], [1, 0]]), {"max_information": "1/2"}),
        (Problem([0.5, 0.5], [[0, 1], [1, 0]], [[0, 1], [1, 0]]), CAPS),
    ],
    ids=["log", "max_information", "floats"],
)
def test_what_solve_takes_has_an_epsilon_path(problem: Problem, conditions: Any) -> None:
    path = epsilon_path(problem, 1, conditions=conditions, tolerance="1/3")
    assert path.points[0].exp_epsilon == 1
    assert path.verify()
    low, high = path.band("3/2")
    asked = {**(conditions or {}), "exp_epsilon": "3/2"}
    assert low <= solve(problem, 1, conditions=asked).value <= high
