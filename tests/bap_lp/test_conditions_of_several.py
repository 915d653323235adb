"""Scenarios and tiers under conditions: kept by definition, proved by both checkers, conflicts proved too."""

from __future__ import annotations

import json
from fractions import Fraction as F
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tampering import refit

from bap_lp import (
    ConflictError,
    InputError,
    Problem,
    compare,
    load_bundle,
    load_certificate,
    robust,
    save_bundle,
    save_certificate,
    solve,
    tiers,
    verify,
)
from bap_lp.verify_standalone import Refused
from bap_lp.verify_standalone import check as standalone

PRIOR = ["1/2", "1/4", "1/4"]
NOTIONS: list[dict[str, Any]] = [
    {"exp_epsilon": 2},
    {"exp_epsilon": "3/2", "neighbours": [[0, 1]]},
    {"exp_epsilon": 2, "metric": [[0, 1, 2], [1, 0, 1], [2, 1, 0]]},
    {"exp_epsilon": 2, "delta": "1/8"},
    {"max_leakage": "5/4"},
    {"posterior_caps": [{"event": [0], "at_most": "2/3", "at_least": "1/3"}]},
    {"posterior_ratio": [{"event": [0, 1], "exp_epsilon": "5/4"}]},
    {"independent_of": [[0]]},
    {"signal_floor": "1/4"},
    {"pufferfish": {"pairs": [[[0], [2]]], "exp_epsilon": 2}},
    {"min_eve_risk": "1/4", "max_bob_risk": "3/2"},
]


def problems(seed: int, count: int, prior: Any = PRIOR) -> list[Problem]:
    rng = Random(seed)

    def table(columns: int) -> list[list[F]]:
        return [[F(rng.randrange(9), 4) for _ in range(columns)] for _ in prior]

    return [Problem(prior, table(2), table(2)) for _ in range(count)]


@pytest.mark.parametrize("asked", NOTIONS, ids=lambda asked: "-".join(asked))
@pytest.mark.parametrize("exact", [None, False])
def test_one_problem_among_several_has_its_own_optimum(asked: dict[str, Any], exact: bool | None) -> None:
    [one] = problems(3, 1)
    alone = solve(one, 1, exact=exact, conditions=asked)
    for found in (tiers([one], 1, exact=exact, conditions=asked), robust([one], 1, exact=exact, conditions=[asked])):
        assert float(found.value) == pytest.approx(float(alone.value), abs=1e-9 if exact is False else 0)
        assert verify([one], found.certificate).optimal


@pytest.mark.parametrize("asked", NOTIONS, ids=lambda asked: "-".join(asked))
@pytest.mark.parametrize("question", [tiers, robust])
def test_conditions_are_kept_and_proved_by_both_checkers(asked: dict[str, Any], question: Any, tmp_path: Path) -> None:
    first, second = problems(5, 2)
    found = question([first, second], [1, "1/2"], conditions=[None, asked])
    assert found.value >= question([first, second], [1, "1/2"]).value
    sent = found.mechanisms[1] if question is tiers else found.mechanism
    assert compare(second, "1/2", mechanisms=[sent], conditions=asked)[sent.name].meets_conditions
    save_bundle(tmp_path / "b", found)
    assert load_bundle(tmp_path / "b").verify().optimal
    assert "optimal" in standalone(str(tmp_path / "b"))
    document = json.loads((tmp_path / "b" / "certificate.json").read_text())
    assert document["conditions"][0] == {}
    document["conditions"].reverse()  # supposed of the wrong problem
    (tmp_path / "b" / "certificate.json").write_text(json.dumps(document))
    refit(tmp_path / "b")
    with pytest.raises(InputError, match="other conditions"):
        load_bundle(tmp_path / "b")
    with pytest.raises(Refused, match="other conditions"):
        standalone(str(tmp_path / "b"))


def test_only_the_tier_that_is_asked_keeps_a_condition() -> None:
    one = Problem(["1/2", "1/2"], [[0, 1], [1, 0]], [[0, 1], [1, 0]])
    public, research = tiers([one, one], 0, conditions=[{"exp_epsilon": 1}, None]).mechanisms
    assert len({tuple(row) for row in public.q.tolist()}) == 1
    assert len({tuple(row) for row in research.q.tolist()}) > 1


@pytest.mark.parametrize("exact", [None, False])
def test_a_conflict_of_tiers_is_proved(tmp_path: Path, exact: bool | None) -> None:
    """Tier 2 sees what tier 1 needs to know."""
    one = Problem(["1/2", "1/2"], [[0, 1], [1, 0]], [[0, 1], [1, 0]])
    asked = [{"max_bob_risk": "1/8", "max_leakage": 2}, {"min_eve_risk": "1/4"}]
    for own in asked:
        solve(one, 1, conditions=own)
    with pytest.raises(ConflictError, match="cannot be met together") as caught:
        tiers([one, one], 1, exact=exact, conditions=asked)
    assert caught.value.conflict == ("problems[0].max_bob_risk", "problems[1].min_eve_risk")
    assert caught.value.proof is not None
    assert verify([one, one], caught.value.proof)
    assert not verify([one, Problem(["1/2", "1/2"], [[0, 1], [1, 0]], [[1, 1], [1, 1]])], caught.value.proof)
    save_certificate(tmp_path / "proof.json", caught.value.proof)
    assert verify([one, one], load_certificate(tmp_path / "proof.json"))


def test_a_conflict_of_scenarios_is_proved() -> None:
    pair = [Problem(p, [[0, 1], [1, 0]], [[0, 1], [1, 0]]) for p in (["1/2", "1/2"], ["1/4", "3/4"])]
    with pytest.raises(ConflictError, match=r"problems\[0\]\.max_bob_risk, problems\[1\]\.min_eve_risk") as caught:
        robust(pair, 1, conditions=[{"max_bob_risk": 0}, {"min_eve_risk": "1/8"}])
    assert caught.value.proof is not None
    assert verify(pair, caught.value.proof)


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"deterministic": True}, r"problems\[0\]: deterministic is a condition for one problem"),
        ([None, {"margin": "1/8"}], r"problems\[1\]: margin is a condition for one problem"),
        ([None], "conditions has 1 entries, must have 2"),
        ([None, 3], r"conditions\[1\] = 3 must be a table"),
        ({"max_leakages": 2}, r"conditions\.max_leakages is not a condition: did you mean max_leakage\?"),
    ],
)
def test_what_several_problems_cannot_keep_is_refused_in_one_line(asked: Any, why: str) -> None:
    for question in (tiers, robust):
        with pytest.raises(InputError, match=why):
            question(problems(0, 2), 1, conditions=asked)
