"""Conditions that nothing meets: a minimal conflict and a proof; and what conditions cost."""

from __future__ import annotations

import json
import re
from fractions import Fraction as F
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import ASKED, condition, few_lams, few_states
from tampering import alter

from bap_cli.main import main
from bap_lp import (
    Agent,
    Conditions,
    ConflictError,
    Problem,
    evaluate,
    load_problem,
    save_problem,
    solve,
)
from bap_lp.files.certificates import certificate_document, conflict_document
from bap_lp.releases import full, null

PRIVACY = {"exp_epsilon", "epsilon", "neighbours", "metric", "delta"}
COIN = Problem.from_model(
    ["1/2", "1/2"], [[1, 0], ["1/2", "1/2"]], [[0, 1], [1, 0]], [[0, 1], [10, 0]], states=["heads", "tails"]
)
REFUSED: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    ({"posterior_caps": [{"event": ["heads"], "at_most": "1/2"}]}, ("posterior_caps[0].at_most",)),
    ({"posterior_caps": [{"event": ["heads"], "at_most": "3.1415926e-6"}]}, ("posterior_caps[0].at_most",)),
    ({"posterior_caps": [{"event": ["heads", "tails"], "at_most": "1/2"}]}, ("posterior_caps[0].at_most",)),
    ({"posterior_caps": [{"event": ["heads"], "at_most": "4/5"}, {"event": ["heads"], "at_least": "9/10"}]},
     ("posterior_caps[1].at_least",)),
    ({"signal_floor": 1}, ("signal_floor",)),
    ({"signal_floor": {"Eve": 2}, "max_leakage": 2}, ("signal_floor.Eve",)),
    ({"max_leakage": "5/4", "max_bob_risk": "3/10"}, ("max_bob_risk", "max_leakage")),
    ({"exp_epsilon": 2, "delta": "1/10", "max_bob_risk": "3/10", "max_leakage": 2}, ("max_bob_risk", "exp_epsilon")),
    ({"independent_of": [["heads"]], "max_bob_risk": "3/10"}, ("max_bob_risk", "independent_of[0]")),
    ({"pufferfish": {"pairs": [[["heads"], ["tails"]]], "exp_epsilon": 2}, "max_bob_risk": "3/10"},
     ("max_bob_risk", "pufferfish[0]")),
    ({"posterior_ratio": [{"event": ["heads"], "exp_epsilon": "11/10"}], "max_bob_risk": "3/10"},
     ("max_bob_risk", "posterior_ratio[0]")),
    ({"margin": "1/3", "exp_epsilon": 2}, ("exp_epsilon", "margin")),
    ({"min_eve_risk": 1}, ("min_eve_risk",)),
]  # fmt: skip


@pytest.mark.parametrize(("wanted", "conflict"), REFUSED)
def test_a_conflict_is_named_and_proved_and_no_other_number_is_told(
    wanted: dict[str, Any], conflict: tuple[str, ...]
) -> None:
    with pytest.raises(ConflictError) as refused:
        solve(COIN, "1/3", conditions=Conditions(**wanted))
    error = refused.value
    assert error.conflict == conflict
    assert "\n" not in str(error)
    assert error.proof is not None
    assert error.proof.verify(COIN)
    assert {*conflict_document(error)} - {*certificate_document(error.proof)} == {"conflict"}
    if conflict != ("min_eve_risk",):  # whose range is told
        several = f"conditions cannot be met together: {', '.join(conflict)}"
        assert str(error) == (several if len(conflict) > 1 else f"{conflict[0]} = {error.value} cannot be met")


@pytest.mark.slow
@pytest.mark.parametrize("own", [{}, {"knowledge": True}, {"prior": True}])
def test_a_conflict_is_explained_for_any_float_probabilities(own: dict[str, bool]) -> None:
    """Their decimals seldom sum to one; that is no reason to refuse the prior instead of the demand."""
    random = np.random.default_rng(2)
    prior = random.dirichlet(np.ones(4))
    assert sum(F(repr(float(v))) for v in prior) != 1
    given: dict[str, Any] = {}
    if "knowledge" in own:
        given["knowledge"] = random.dirichlet(np.ones(2), 4)
    if "prior" in own:
        given["prior"] = random.dirichlet(np.ones(4))
    eve = Agent(random.random((4, 2)), **given)
    problem = Problem(prior, bobs=[Agent(random.random((4, 2)))], eves=[eve])
    secrets = {"pairs": [[[0, 1], [2, 3]]], "exp_epsilon": 1, "priors": [random.dirichlet(np.ones(4)).tolist()]}
    for wanted, name in (
        ({"signal_floor": 5.0}, "signal_floor"),
        ({"max_bob_risk": solve(problem, 0).risks.bob + 1e-3, "pufferfish": secrets}, "max_bob_risk"),
    ):
        with pytest.raises(ConflictError, match="cannot be met") as caught:
            solve(problem, 1.0, conditions=Conditions(**wanted))
        assert name in caught.value.conflict


def test_of_two_conflicts_one_is_explained() -> None:
    """R_B is too low without information about heads, and the cap is below the prior: no single number helps."""
    caps = [{"event": ["heads"], "at_most": "1/2"}]
    with pytest.raises(ConflictError) as caught:
        solve(COIN, 1, conditions=Conditions(posterior_caps=caps, max_bob_risk="3/10", independent_of=[["heads"]]))
    assert str(caught.value) == "posterior_caps[0].at_most = 1/2 cannot be met"
    assert caught.value.conflict == ("posterior_caps[0].at_most",)
    assert caught.value.proof is not None


def test_floats_become_the_decimals_they_print_as_and_probabilities_stay_some() -> None:
    problem = Problem([0.1, 0.2, 0.7], [[0.3], [0], [0]], [[0], [0], [0.1]])
    assert problem.rationalised().prior.tolist() == [F(1, 10), F(1, 5), F(7, 10)]
    rough = Problem([1 / 3, 1 / 3, 1 / 3], [[0.3], [0], [0]], [[0], [0], [0.1]]).rationalised()
    assert rough.exact
    assert rough.prior.tolist() == [F(1, 3)] * 3


def test_the_conflict_is_explained_in_floats_too() -> None:
    with pytest.raises(ConflictError, match=r"at_most = 0.5 cannot be met$") as refused:
        solve(COIN, "1/3", False, conditions=Conditions(posterior_caps=[{"event": [0], "at_most": 0.5}]))
    assert refused.value.proof is not None
    assert refused.value.proof.verify(COIN.as_float())


@pytest.mark.slow
@settings(max_examples=15)
@given(few_states(3, eves=1), few_lams, st.sets(st.sampled_from(ASKED), min_size=1, max_size=2), st.data())
def test_a_conflict_is_minimal(problem: Problem, lam: F, kinds: set[str], data: st.DataObject) -> None:
    low, high = evaluate(problem, full(problem)), evaluate(problem, null(problem))
    share = data.draw(st.sampled_from([F(0), F(1, 4)]))
    wanted: dict[str, Any] = {"max_bob_risk": low.bob + (high.bob - low.bob) * share}
    for kind in sorted(kinds):
        wanted |= data.draw(condition(problem, kind))
    error = refused(problem, lam, wanted)
    if error is None:
        return
    assert error.proof is not None
    assert error.proof.verify(problem)
    # the null release meets everything but the cap, so the cap is in every conflict
    assert "max_bob_risk" in error.conflict
    demands = {re.split(r"[\[.]", label)[0] for label in error.conflict}
    demands |= PRIVACY if demands & PRIVACY else set()
    assert refused(problem, lam, {name: value for name, value in wanted.items() if name in demands}) is not None
    assert refused(problem, lam, {name: value for name, value in wanted.items() if name != "max_bob_risk"}) is None


def refused(problem: Problem, lam: F, wanted: dict[str, Any]) -> ConflictError | None:
    try:
        solve(problem, lam, conditions=Conditions(**wanted))
    except ConflictError as error:
        return error
    return None


@pytest.mark.parametrize(
    ("wanted", "label", "at", "looser"),
    [
        (lambda v: {"posterior_caps": [{"event": [0], "at_most": v}]}, "posterior_caps[0].at_most", F(9, 10), 1),
        (lambda v: {"posterior_caps": [{"event": [0], "at_least": v}]}, "posterior_caps[0].at_least", F(1, 10), -1),
        (lambda v: {"posterior_ratio": [{"event": [0], "exp_epsilon": v}]}, "posterior_ratio[0]", F(11, 10), 1),
        (lambda v: {"signal_floor": v}, "signal_floor", F(1, 3), -1),
        (lambda v: {"exp_epsilon": v, "metric": [[0, 2], [2, 0]]}, "exp_epsilon", F(3), 1),
        (lambda v: {"exp_epsilon": v, "delta": F(1, 10)}, "exp_epsilon", F(3), 1),
        (lambda v: {"exp_epsilon": 3, "delta": v}, "delta", F(1, 10), 1),
        (lambda v: {"max_leakage": v}, "max_leakage", F(3, 2), 1),
        (lambda v: {"pufferfish": {"pairs": [[[0], [1]]], "exp_epsilon": v}}, "pufferfish[0]", F(3), 1),
    ],
)
def test_a_shadow_price_is_the_slope_of_the_optimum(wanted: Any, label: str, at: F, looser: int) -> None:
    lam, step = F(1, 30), F(1, 10**6)
    found = solve(COIN, lam, conditions=Conditions(**wanted(at)))
    [cost] = found.costs()
    assert cost.cost == found.price_of_conditions > 0
    sides = [solve(COIN, lam, conditions=Conditions(**wanted(at + way * looser * step))).value for way in (1, -1)]
    falls = (found.value - sides[0]) / step, (sides[1] - found.value) / step
    assert min(falls) <= cost.shadow_prices[label] <= max(falls)


def test_the_costs_of_several_conditions_are_differences_of_optima() -> None:
    wanted = {"max_leakage": "3/2", "posterior_caps": [{"event": [0], "at_most": "9/10"}], "signal_floor": "1/4"}
    found = solve(COIN, "1/30", conditions=Conditions(**wanted))
    for one in found.costs():
        rest = {name: value for name, value in wanted.items() if name != one.name}
        assert one.cost == found.value - solve(COIN, "1/30", conditions=Conditions(**rest)).value
    assert solve(COIN, "1/30").costs() == ()


THREE = Problem(
    ["1/2", "1/3", "1/6"], [[0, 1, 2], [2, 0, 1], [1, 2, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]], states=["a", "b", "c"]
)
SEARCHED: list[tuple[Problem, dict[str, Any], set[str]]] = [
    (COIN, {"deterministic": True, "max_bob_risk": "13/40", "min_eve_risk": "1/2", "max_leakage": 2},
     {"deterministic", "max_bob_risk", "min_eve_risk"}),
    (COIN, {"deterministic": True, "max_bob_risk": "13/40", "exp_epsilon": 7, "posterior_caps": [
        {"event": ["heads"], "at_most": 1}]}, {"deterministic", "max_bob_risk", "exp_epsilon"}),
    (THREE, {"deterministic": True, "max_bob_risk": "1/10", "max_leakage": "5/2", "posterior_caps": [
        {"event": ["a"], "at_most": 1}]}, {"deterministic", "max_bob_risk", "max_leakage"}),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    ("problem", "wanted"),
    [*((COIN, wanted) for wanted, _ in REFUSED), *((one, wanted) for one, wanted, _ in SEARCHED)],
)
@settings(max_examples=1)
@given(data=st.data())
def test_the_file_of_a_conflict_proves_it_and_a_changed_one_proves_nothing_false(
    problem: Problem, wanted: dict[str, Any], exact: bool, tmp_path: Path, data: st.DataObject
) -> None:
    """Also where the proof goes case by case."""
    save_problem(tmp_path / "p.json", problem if exact else problem.as_float(), "1/3" if exact else 1 / 3)
    document = json.loads((tmp_path / "p.json").read_text())
    (tmp_path / "p.json").write_text(json.dumps(document | {"conditions": wanted}))
    assert main(["solve", str(tmp_path / "p.json"), "--out", str(tmp_path / "o")]) == 2
    file = tmp_path / "o" / "conflict.json"
    assert main(["verify", str(tmp_path / "p.json"), str(file)]) == 0
    kept = file.read_text()
    for _ in range(8):
        changed = json.loads(kept)
        alter(changed, data)
        file.write_text(json.dumps(changed))
        if main(["verify", str(tmp_path / "p.json"), str(file), "--as-claimed"]) == 0:
            claimed = load_problem(tmp_path / "p.json").problem
            assert refused(claimed, F(0), changed["conditions"]) is not None


@pytest.mark.parametrize(("problem", "wanted", "conflict"), SEARCHED)
def test_a_conflict_found_by_search_is_minimal(problem: Problem, wanted: dict[str, Any], conflict: set[str]) -> None:
    with pytest.raises(ConflictError) as refused:
        solve(problem, "1/3", conditions=Conditions(**wanted))
    assert set(refused.value.conflict) == conflict
    assert all(name in str(refused.value) for name in conflict)
    solve(problem, "1/3", conditions=Conditions(**{k: v for k, v in wanted.items() if k not in conflict}))
    with pytest.raises(ConflictError):
        solve(problem, "1/3", conditions=Conditions(**{name: wanted[name] for name in conflict}))
    for left_out in conflict:
        solve(problem, "1/3", conditions=Conditions(**{k: wanted[k] for k in conflict - {left_out}}))


def test_a_conflict_in_floats_is_proved_where_the_float_solver_sees_none() -> None:
    """Losses of 1e9 next to 1e-9 and a state of probability 1e-16: to the float solver the floor seems attainable."""
    problem = Problem(
        [5e-16, 0.5 - 2.5e-16, 0.5 - 2.5e-16],
        bobs=[Agent([[6e-9], [2e9], [2e9]], name="Bob", weight=3.0, harm=[[1.0], [0.0], [1.0]])],
        eves=[Agent([[0.0, 3e9], [3e-9, 1e-9], [2e9, 6e-9]], name="Eve")],
    )
    with pytest.raises(ConflictError) as refused:
        solve(problem, 0.5, conditions=Conditions(signal_floor={"Eve": 1.5}))
    proof = refused.value.proof
    assert proof is not None
    assert proof.verify(problem)
