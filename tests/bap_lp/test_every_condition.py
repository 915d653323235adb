"""Every condition on every kind of problem, against definitions and a program written apart from the library.

A new condition needs a way to be drawn in `strategies.condition`, its name in `strategies.LIMITS`, its sentence in
`definitions.broken` and its rows in `definitions.least_risk`; then it meets all that is here.
"""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction as F
from pathlib import Path
from typing import Any

import definitions
import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import LIMITS, any_problem, channels, demands, few_lams
from tampering import alter

from bap_lp import (
    Agent,
    Conditions,
    ConflictError,
    InputError,
    Problem,
    Solution,
    evaluate,
    load_bundle,
    load_certificate,
    releases,
    save_bundle,
    save_certificate,
    solve,
    verify,
    verify_standalone,
)
from bap_lp.files.problems import SCHEMA

KINDS = ("free", *LIMITS)
NEAR = F(1, 10**8)  # what a float channel may break a condition by
VALID = jsonschema.Draft202012Validator(SCHEMA)


def drawn(data: st.DataObject, kind: str, more: int, own: bool | None = None) -> tuple[Problem, F, Conditions]:
    problem = data.draw(any_problem(own=own), "problem")
    others = data.draw(st.sets(st.sampled_from(LIMITS), max_size=more)) if kind != "free" else set()
    kinds = others | {kind} if kind != "free" else set()
    return problem, data.draw(few_lams, "lam"), data.draw(demands(problem, kinds), "conditions")


def solved(problem: Problem, lam: Any, conditions: Conditions, exact: bool | None = None) -> Solution | None:
    """The solution; None if the conditions are refused, with a proof of it if there is a proof."""
    proof = None
    try:
        return solve(problem, lam, exact, conditions=conditions)
    except InputError as error:
        proof = error.proof if isinstance(error, ConflictError) else None
    assert proof is None or proof.verify(problem), proof.verify(problem).reason
    return None


def judge(problem: Problem, lam: F, conditions: Conditions, folder: Path) -> None:
    found, expected = solved(problem, lam, conditions), definitions.least_risk(problem, lam, conditions)
    assert (found is None) == (expected is None)
    if found is None:
        return
    assert found.exact
    assert found.gap == 0
    assert found.value == found.bound
    near = 1e-6 if conditions.deterministic else 1e-7
    assert float(found.value) == pytest.approx(expected, abs=near)
    bob, eve = definitions.risks(problem, found.mechanism.channel)
    assert found.value == bob - lam * eve == evaluate(problem, found.mechanism).alice(lam)
    assert (found.risks.bob, found.risks.eve) == (bob, eve)
    assert definitions.broken(problem, conditions, found.mechanism.channel) == set()
    assert releases.meets(problem, found.mechanism, conditions) == ""
    if conditions.deterministic:
        assert found.value == definitions.best_partition(problem, lam, conditions)
    verdict = verify(problem, found.certificate, allow_float=False)
    assert verdict, verdict.reason
    assert verify(problem, found.certificate, found.mechanism)
    save_certificate(folder / "c.json", found.certificate)
    again = load_certificate(folder / "c.json")
    assert again.value == found.value
    assert verify(problem, again) == verdict
    if found.conditions is not None:
        assert found.price_of_conditions == found.value - solve(problem, lam).value >= 0


def judge_floats(problem: Problem, lam: F, conditions: Conditions) -> None:
    near = problem.as_float()
    if conditions.margin:  # whether one at the edge of what is possible holds depends on the last digit of a loss
        conditions = Conditions(**conditions.given() | {"margin": conditions.margin * F(999, 1000)})
    exact, rough = solved(problem, lam, conditions), solved(near, float(lam), conditions)
    if rough is None:
        assert exact is None  # also a limit at the edge of what is possible
        return
    assert exact is None or float(rough.value) == pytest.approx(float(exact.value), abs=1e-7)
    assert abs(rough.gap) <= 1e-7
    assert definitions.broken(near, conditions, rough.mechanism.channel, NEAR) == set()
    verdict = verify(near, rough.certificate)
    assert verdict, verdict.reason


@pytest.mark.parametrize("own", [False, True], ids=["shared", "own"])
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=6)
@given(data=st.data())
def test_the_optimum_is_that_of_the_definitions_and_is_proved(
    kind: str, own: bool, tmp_path: Path, data: st.DataObject
) -> None:
    """With beliefs that all agents share, and with their own."""
    judge(*drawn(data, kind, 1, own), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=8)
@given(data=st.data())
def test_conditions_combine(kind: str, tmp_path: Path, data: st.DataObject) -> None:
    judge(*drawn(data, kind, 3), tmp_path)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=5)
@given(data=st.data())
def test_floats_find_the_same_optimum_with_a_small_proved_gap(kind: str, data: st.DataObject) -> None:
    judge_floats(*drawn(data, kind, 1))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=4)
@given(data=st.data())
def test_a_changed_certificate_is_refused_or_says_something_true(
    kind: str, tmp_path: Path, data: st.DataObject
) -> None:
    """A multiplier, a probability, a limit or a position is another one, or something is missing."""
    problem, lam, conditions = drawn(data, kind, 1)
    found, file = solved(problem, lam, conditions), tmp_path / "c.json"
    if found is None:
        return
    for _ in range(12):
        save_certificate(file, found.certificate)
        document = json.loads(file.read_text())
        alter(document, data)
        file.write_text(json.dumps(document))
        try:
            again = load_certificate(file)
            if not verify(problem, again):
                continue
        except InputError:
            continue
        claimed = Conditions(**document.get("conditions", {}))
        assert again.value == solve(problem, again.lam, conditions=claimed).value


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=6)
@given(data=st.data())
def test_the_proof_of_a_poor_mechanism_is_about_another_problem(kind: str, data: st.DataObject) -> None:
    """If all decisions of Bob but one are made very dear, one signal is optimal, at the value that it has anyway.

    So the mechanism and the value of that proof are true of the problem itself, and only its bound is not.
    """
    problem, lam, conditions = drawn(data, kind, 1)
    silent = [1] * len(problem.prior)

    def dearer(agent: Agent, view: definitions.View) -> Agent:
        own = view.sums(view.belief, view.loss, silent)
        extra = [0 if d == own.index(min(own)) else 50 for d in range(len(own))]
        raised = [[[v + more for v, more in zip(row, extra, strict=True)] for row in t] for t in (view.loss, view.harm)]
        return replace(agent, loss=raised[0], harm=None if agent.harm is None else raised[1])

    bobs = [dearer(bob, view) for bob, view in zip(problem.bobs, definitions.views(problem), strict=False)]
    other = solved(Problem(problem.p, bobs=bobs, eves=problem.eves, states=problem.states), lam, conditions)
    best = solved(problem, lam, conditions)
    if best is not None and other is not None:
        assert not verify(problem, other.certificate) or other.value == best.value


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=3)
@given(data=st.data())
def test_a_bundle_is_verified_by_both_checkers(
    kind: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    problem, lam, conditions = drawn(data, kind, 2)
    for exact in (True, False):
        found = solved(problem, lam, conditions, exact)
        if found is not None:
            folder = tmp_path_factory.mktemp("bundle") / "d"
            save_bundle(folder, found)
            document = json.loads((folder / "problem.json").read_text())
            VALID.validate(document)
            assert Conditions(**document.get("conditions", {})) == conditions
            assert load_bundle(folder).verify(allow_float=not exact)
            verify_standalone.check(folder, not exact)


@settings(max_examples=40)
@given(any_problem(), few_lams, st.data())
def test_every_mechanism_is_scored_by_the_definition_and_none_goes_below(
    problem: Problem, lam: F, data: st.DataObject
) -> None:
    best = solve(problem, lam)
    for _ in range(3):
        mechanism = data.draw(channels(problem))
        found, (bob, eve) = evaluate(problem, mechanism), definitions.risks(problem, mechanism.channel)
        assert (found.bob, found.eve) == (bob, eve)
        assert found.alice(lam) == bob - lam * eve >= best.value
        for agents, whole in ((problem.bobs, bob), (problem.eves, eve)):
            assert sum(definitions.fraction(a.weight) * found.agents[a.name] for a in agents) == whole
