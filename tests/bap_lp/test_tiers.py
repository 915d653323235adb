"""Nested releases against an independent program over finer signals, brute force, and their own certificate."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction as F
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from definitions import least_joint
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import few_lams, few_states, parts_of, table
from tampering import alter, edit

from bap_lp import (
    Agent,
    InputError,
    Mechanism,
    Problem,
    evaluate,
    load_bundle,
    load_problem,
    robust,
    save_bundle,
    solve,
    tiers,
    verify,
)

EXAMPLES = Path(__file__).parents[2] / "examples"


@st.composite
def nests(draw: st.DrawFn, most: int = 3) -> tuple[list[Problem], list[F]]:
    first = draw(few_states(most=3))
    N, out = len(first.p), [first]
    for _ in range(draw(st.integers(0, most - 1))):
        out.append(
            Problem(first.p, draw(table(parts_of(0, 2), N, draw(st.integers(1, 3)))), draw(table(parts_of(0, 2), N, 2)))
        )
    return out, [draw(few_lams) for _ in out]


@settings(max_examples=25)
@given(nests(most=2), st.lists(st.integers(1, 3), min_size=3, max_size=3))
def test_nested_releases_have_the_value_of_an_independent_program(nest: Any, scale: list[int]) -> None:
    problems, lams = nest
    weights = [F(w, 2) for w in scale[: len(problems)]]
    found = tiers(problems, lams, weights)
    assert found.exact
    assert found.gap == 0
    assert found.verify(), found.verify().reason
    assert float(found.value) == pytest.approx(least_joint(problems, lams, weights), abs=1e-7)
    assert found.price_of_nesting >= 0
    assert found.separate == sum(w * solve(p, lam).value for w, p, lam in zip(weights, problems, lams, strict=True))


@settings(max_examples=25)
@given(nests())
def test_every_release_refines_the_one_before_it(nest: Any) -> None:
    problems, lams = nest
    found = tiers(problems, lams)
    for k, (mechanism, own) in enumerate(zip(found.mechanisms, found.risks, strict=True)):
        assert evaluate(problems[k], mechanism).risks == own
        if k:
            pooled = np.zeros_like(found.mechanisms[k - 1].q)
            for s, parent in enumerate(found.parents[k]):
                pooled[:, parent] = pooled[:, parent] + mechanism.q[:, s]
            assert (pooled == found.mechanisms[k - 1].q).all()
            for s, name in enumerate(found.mechanisms[k - 1].signals):
                onward = found.refinement(k, name)
                before = found.mechanisms[k - 1].channel[:, s]
                after = mechanism.channel[:, [t for t, up in enumerate(found.parents[k]) if up == s]]
                assert (onward.channel * before[:, None] == after).all()
    assert found.value == sum(own.alice(lam) for own, lam in zip(found.risks, found.lams, strict=True))


def _random(rng: Random, prior: list[F], b: int, e: int) -> Problem:
    def tab(columns: int) -> list[list[F]]:
        return [[F(rng.randrange(9), 4) for _ in range(columns)] for _ in prior]

    return Problem(prior, tab(b), tab(e))


def test_independent_draws_for_two_tiers_tell_more_than_the_proof_allows() -> None:
    public, research = (load_problem(EXAMPLES / f"file_{name}.toml") for name in ("public", "research"))
    found = tiers([public.problem, research.problem], [public.lam, research.lam])
    rows = [[a * b for a in x for b in y] for x, y in zip(*(m.channel for m in found.mechanisms), strict=True)]
    seen = Mechanism(rows, states=public.problem.states)
    before, after = found.risks[1].eve, evaluate(research.problem, seen).eve
    assert after < before
    page = " ".join((EXAMPLES.parent / "docs" / "several.md").read_text(encoding="utf-8").split())
    assert f"In this example the insurer's risk would fall from {before} to {after}." in page


def test_the_hospital_example_has_a_price_of_nesting() -> None:
    loaded = [load_problem(EXAMPLES / f"file_{name}.toml") for name in ("public", "research", "secure")]
    found = tiers([one.problem for one in loaded], [one.lam for one in loaded])
    assert (found.value, found.separate, found.price_of_nesting) == (F(-23, 40), F(-29, 40), F(3, 20))
    assert found.verify()


@settings(max_examples=10)
@given(nests())
def test_floats_have_a_certified_gap(nest: Any) -> None:
    problems, lams = nest
    exact, rough = tiers(problems, lams), tiers(problems, lams, exact=False)
    assert rough.value == pytest.approx(float(exact.value), abs=1e-9)
    assert abs(rough.gap) <= 1e-8
    assert rough.bound <= float(exact.value) + 1e-12
    assert rough.verify()


def test_states_below_the_float_solvers_tolerances_are_released_too() -> None:
    for least in (1e-12, 1e-15, 1e-30):
        p = [1 - 3 * least, 2 * least, least]
        public = Problem(p, [[0, 1], [1, 0], [0, 1]], [[0, 1], [1, 0], [1, 0]])
        research = Problem(p, [[0, 1], [1, 0], [1, 0]], [[0, 1], [0, 1], [1, 0]])
        found = tiers([public, research], 0.5)
        assert found.verify()
        for mechanism in found.mechanisms:
            np.testing.assert_allclose(mechanism.channel.sum(axis=1), 1)


@pytest.mark.slow
@pytest.mark.parametrize("question", [tiers, robust])
@settings(max_examples=12)
@given(nest=nests(), data=st.data())
def test_a_changed_certificate_of_several_problems_is_refused_or_says_the_same(
    question: Any, nest: Any, tmp_path: Path, data: st.DataObject
) -> None:
    found, folder = question(*nest), tmp_path / "b"
    for _ in range(6):
        save_bundle(folder, found)
        assert load_bundle(folder).verify()
        edit(folder, "certificate.json", lambda document: alter(document, data))
        with suppress(InputError):
            bundle = load_bundle(folder)
            assert not bundle.verify() or bundle.certificate.value == found.value


def test_a_certificate_of_other_tiers_is_refused() -> None:
    rng = Random(9)
    pair = [_random(rng, [F(1, 4)] * 4, 2, 2) for _ in range(2)]
    proof = tiers(pair, 1).certificate
    assert verify(pair, proof)
    for others in (pair[::-1], pair[:1], [*pair, pair[0]]):
        assert not verify(others, proof)


def test_what_cannot_be_nested_is_refused_in_one_line() -> None:
    coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]], states=["tails", "heads"])
    with pytest.raises(InputError, match=r"problems\[1\] must have the same prior as problems\[0\]"):
        tiers([coin, Problem(["1/2", "1/2"], coin.B, coin.E, states=coin.states)], 1)
    with pytest.raises(InputError, match=r"problems\[1\] must have the same states as problems\[0\]"):
        tiers([coin, Problem(["3/4", "1/4"], coin.B, coin.E)], 1)
    with pytest.raises(InputError, match="problems must not be empty"):
        tiers([], 1)
    with pytest.raises(InputError, match="lams has 1 entries, must have 2, one per tier"):
        tiers([coin, coin], [1])
    with pytest.raises(InputError, match=r"weights\[1\] = 0 must be positive"):
        tiers([coin, coin], 1, [1, 0])
    with pytest.raises(InputError, match="lam = -1 must not be negative"):
        tiers([coin, coin], [1, -1])
    own = Problem(coin.p, bobs=coin.bobs, eves=[Agent(coin.E, prior=["1/2", "1/2"])], states=coin.states)
    with pytest.raises(InputError, match="needs agents who share Alice's prior"):
        tiers([coin, own], 1)
    with pytest.raises(InputError, match="must be exact"):
        tiers([coin.as_float()], 1, exact=True)
    found = tiers([coin, coin], 1)
    with pytest.raises(InputError, match="tier = 0 must be between 1 and 1"):
        found.refinement(0, "0")
    with pytest.raises(InputError, match="signal = 'x' is not one of"):
        found.refinement(1, "x")
