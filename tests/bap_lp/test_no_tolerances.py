"""What leaves is rational: float problems at the edges of their conditions, with ties, beliefs and losses of any size.

Every solution verifies, with the gap that it states; the published floats, read as the fractions they are, keep every
promise; and no condition is refused that a listed release meets.
"""

from __future__ import annotations

import math
import random
import re
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

from bap_lp import (
    Agent,
    Conditions,
    InputError,
    Mechanism,
    Problem,
    evaluate,
    minimum_of,
    releases,
    robust,
    solve,
    tiers,
    verify,
)
from bap_lp.support.rational import EXACT, float_above

UNITS = {"beside 1e9": (1e9, 1.0), "beside 1e15": (1e15, 1.0), "beside 1e3": (1e3, 1e-6), "tiny": (0.0, 1e-9)}


def loss(draw: random.Random, style: str) -> float:
    if style == "wide":
        return float(10 ** draw.uniform(-9, 9))
    if style in UNITS:  # beside a large loss, or all of them tiny
        offset, unit = UNITS[style]
        return offset + unit * 5 * draw.random()
    if style == "near":
        return 1 + draw.choice([0, 1e-9, 1e-12, 2.0**-52]) * draw.randint(0, 3)
    return draw.random() if style == "plain" else draw.randint(0, 9) / draw.choice([1, 3, 7])


def table(draw: random.Random, rows: int, columns: int, style: str) -> list[list[float]]:
    return [[loss(draw, style) for _ in range(columns)] for _ in range(rows)]


def distribution(draw: random.Random, count: int, least: float = 0.0) -> list[float]:
    weights = [draw.choice([least, draw.random(), 1.0, 1e-8]) for _ in range(count)]
    weights[draw.randrange(count)] += 1.0
    return (np.array(weights) / sum(weights)).tolist()


def float_problem(draw: random.Random, beliefs: bool) -> Problem:
    style, N = draw.choice(["plain", "ties", "wide", "near", *UNITS]), draw.randint(1, 5)
    bob, eve = ({"loss": table(draw, N, draw.randint(1, 3), style)} for _ in range(2))
    agents: list[dict[str, Any]] = [bob, eve]
    eve["weight"] = draw.choice([1.0, 0.1, 0.3])
    if beliefs:
        own = draw.choice(agents)
        own["harm"] = table(draw, N, len(own["loss"][0]), style)
        own["prior"] = distribution(draw, N)
    return Problem(distribution(draw, N), bobs=[Agent(**bob)], eves=[Agent(**eve)])


def at_the_edge(draw: random.Random, problem: Problem, listed: Mechanism) -> dict[str, Any]:
    """A condition or two, whose limits are what a listed release attains."""
    found, N = evaluate(problem, listed), len(problem.p)
    event = draw.sample(range(N), draw.randint(1, N))
    share = min(1.0, float(problem.p[event].sum()))
    ratio = listed.max_ratio if listed.max_ratio < 1e9 else 2.0
    able: dict[str, dict[str, Any]] = {
        "floor": {"min_eve_risk": found.eve},
        "cap": {"max_bob_risk": found.bob},
        "privacy": {"exp_epsilon": ratio},
        "delta": {"exp_epsilon": ratio, "delta": 0.1},
        "leakage": {"max_leakage": float(listed.channel.max(axis=0).sum())},
        "cap of a posterior": {"posterior_caps": [{"event": event, "at_most": share}]},
        "ratio": {"posterior_ratio": [{"event": event, "exp_epsilon": 1.0}]},
        "independence": {"independent_of": [event]},
        "floors at every signal": {
            "signal_floor": {eve.name: 0.999 * float(min(problem.p @ eve.loss)) for eve in problem.eves}
        },
        "secrets": {"pufferfish": {"pairs": [[event, [0]]], "exp_epsilon": 1.5}},
        "no chance": {"deterministic": True},
        "margin": {"margin": draw.choice([0.0, 0.002 * float(np.ptp(problem.bobs[0].loss))])},
    }
    return {key: v for name in draw.sample(sorted(able), draw.choice([1, 2])) for key, v in able[name].items()}


def exact_risks(problem: Problem, mechanism: Mechanism) -> tuple[F, F]:
    """The risks of the published numbers, in fractions, with every agent's own best decision and ties for Alice."""
    q = [[F(v) for v in row] for row in mechanism.channel.tolist()]
    assert all(sum(row) == 1 for row in q)
    total = sum(map(F, problem.p.tolist()))
    p = [F(v) / total for v in problem.p.tolist()]
    out = [F(0), F(0)]
    for role, agents in enumerate((problem.bobs, problem.eves)):
        for agent in agents:
            act = [[F(v) for v in row] for row in agent.loss.tolist()]
            harm = act if agent.harm is None else [[F(v) for v in row] for row in agent.harm.tolist()]
            prior = p if agent.prior is None else [F(v) for v in agent.prior.tolist()]
            weight = F(agent.weight)
            for s in range(len(q[0])):
                acts, harms = zip(prior, q, act, strict=True), zip(p, q, harm, strict=True)
                heard = [[m * row[s] * v for v in own] for m, row, own in acts]
                counts = [[m * row[s] * v for v in own] for m, row, own in harms]
                loss, counted = ([sum(column) for column in zip(*rows, strict=True)] for rows in (heard, counts))
                best = [counted[d] for d in range(len(loss)) if loss[d] == min(loss)]
                out[role] += weight * (max(best) if role else min(best))
    return out[0], out[1]


def judge(problem: Problem, given: dict[str, Any], lam: float, listed: list[Mechanism]) -> None:
    conditions = Conditions(**given)
    try:
        found = solve(problem, lam, conditions=conditions)
    except InputError:
        found = None
    if found is None:
        assert [one.name for one in listed if not releases.meets(problem, one, conditions)] == []
        return
    verdict = verify(problem, found.certificate)
    assert verdict, verdict.reason
    assert verdict.gap == found.gap
    bob, eve = exact_risks(problem, found.mechanism)
    value = bob - F(lam) * eve
    loose = F(2) ** -48
    scale = abs(F(found.value)) + F(float(problem.arrays.spread(lam)))
    assert F(found.bound) - F(found.gap) - scale * F(2) ** -50 <= value <= F(found.value) + scale * F(2) ** -50
    if "max_bob_risk" in given:
        assert bob <= F(given["max_bob_risk"]) * (1 + loose)
    if "min_eve_risk" in given:
        assert eve >= F(given["min_eve_risk"]) * (1 - loose)


def run(seed: int, beliefs: bool) -> None:
    draw = random.Random(seed)
    problem = float_problem(draw, beliefs)
    listed = [releases.null(problem), releases.full(problem)]
    if len(problem.p) > 1:
        listed.append(releases.randomised_response(problem, draw.choice([0.1, 0.25, 0.5])))
    judge(problem, at_the_edge(draw, problem, draw.choice(listed)), draw.choice([0.0, 1.0, draw.random()]), listed)


@pytest.mark.parametrize("beliefs", [False, True])
@pytest.mark.parametrize("block", range(4))
def test_float_problems_at_the_edge_keep_their_promises(block: int, beliefs: bool) -> None:
    for seed in range(50 * block, 50 * block + 50):
        run(seed, beliefs)


def test_what_the_null_release_meets_is_not_refused() -> None:
    problem = Problem([1 - 1e-8, 1e-8], [[1, 0], [1, 0]], [[2], [2]])
    asked = Conditions(exp_epsilon=1.5, pufferfish={"pairs": [[[0, 1], [0]]], "exp_epsilon": 1})
    found = solve(problem, 1.0, conditions=asked)
    assert found.gap == 0
    assert verify(problem, found.certificate)


@pytest.mark.parametrize("seed", range(12))
def test_worst_cases_and_tiers_of_any_scale_are_proved(seed: int) -> None:
    draw = random.Random(seed)
    N, style = draw.randint(2, 3), draw.choice(["wide", *UNITS])
    prior = distribution(draw, N, 0.1)
    problems = [Problem(prior, table(draw, N, 2, style), table(draw, N, 2, style)) for _ in range(2)]
    worst, nested = robust(problems, 1.0), tiers(problems, 1.0)
    for found in (worst, nested):
        verdict = verify(problems, found.certificate)
        assert verdict, verdict.reason
        assert verdict.gap == found.gap


def test_weights_multiply_losses_without_rounding() -> None:
    """0.1 times 0.3 is no float: in floats the two decisions would tie."""
    near = math.nextafter(0.3, 1)
    problem = Problem([1.0], bobs=[Agent([[0.3, near]], weight=0.1)], eves=[Agent([[0.0]])])
    assert problem.exactly.B[0, 0] < problem.exactly.B[0, 1]
    best = solve(problem, 0.0)
    assert best.mechanism.signals == ("0",)
    assert 0 < best.certificate.gap <= math.ulp(best.value)


def test_the_joint_eve_of_equal_weights_has_losses_that_were_not_multiplied() -> None:
    near = math.nextafter(0.3, 1)
    both = minimum_of([Agent([[0.3, 1.0]], weight=0.1), Agent([[near]], weight=0.1)])
    assert (both.weight, both.loss.tolist()) == (0.1, [[0.3, near]])
    other = minimum_of([Agent([[0.3, 1.0]], weight=0.1), Agent([[near]], weight="1/10")])
    assert (other.weight, other.loss.tolist()) == (1, [[float(F(0.1) * F(0.3)), float(F(near) / 10)]])


def test_agents_with_beliefs_decide_exactly_between_floats() -> None:
    """Decision 2 is better than decision 1, however large another loss is: nothing ties."""
    own = [[1e15, 0.2, 0.4], [0.5, 0.9, 0.02]]
    bob = Agent(own, harm=[[1.0, 1e9, 1e15], [1.0, 1e9, 1e15]])
    problem = Problem([0.5, 0.5], bobs=[bob], eve_loss=[[0.0], [0.0]])
    null = releases.null(problem)
    assert evaluate(problem, null).bob == 1e15
    assert evaluate(problem, null).signals[0].bob == ["2"]
    assert releases.meets(problem, null, Conditions(deterministic=True)) == ""
    spied = Problem([0.5, 0.5], [[0.0], [0.0]], [[5.0, 1.0, 3.0], [5.0, 1.0, 3.0]])
    assert evaluate(spied, null, eve_acts_on=own).eve == 3


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"max_leakage": 1.1}, r"the signals leak 2, more than max_leakage = 1\.1\d*"),
        ({"min_eve_risk": 0.1}, r"R_E = 0 is below min_eve_risk = 0\.09\d*"),
        ({"exp_epsilon": 1.1}, r"signal 0 breaks differential privacy: 1 against 0"),
        (
            {"exp_epsilon": 1.1, "delta": 0.1},
            r"states 0 and 1 break \(epsilon, delta\)-privacy: 1 against delta = 0\.1\d*",
        ),
    ],
)
def test_what_floats_break_is_said_in_decimals(asked: dict[str, Any], message: str) -> None:
    problem = Problem([0.7, 0.3], [[0.0, 0.3], [0.3, 0.0]], [[0.0, 0.3], [0.3, 0.0]])
    assert re.fullmatch(message, releases.meets(problem, releases.full(problem), Conditions(**asked)))


def test_the_published_optimum_meets_what_it_attains() -> None:
    """Where its channel is not in floats, rounding it would break the tie that somebody's obedience hangs on."""
    for seed in range(40):
        problem = float_problem(random.Random(seed), beliefs=True)
        best = solve(problem, 1.0)
        assert releases.meets(problem, best.mechanism, Conditions(max_bob_risk=best.risks.bob)) == ""


def test_bob_decides_what_the_signals_of_a_float_optimum_say() -> None:
    # a trace of a signal that a strictly feasible channel left would have Bob decide 1 in state 1
    problem = Problem([2 / 7, 5 / 7], [[1.5, 1.5], [0.1, 1.9]], [[0.4, 1.9], [1.0, 0.8]])
    found = solve(problem, 1.0, conditions={"max_leakage": 1.1})
    bob, eve = exact_risks(problem, found.mechanism)
    assert abs(found.risks.bob - bob) <= found.risks.bob_error
    assert found.value == float_above(EXACT.number(bob - eve))


@pytest.mark.parametrize("formulation", ["compact", "paper"])
def test_no_published_mechanism_is_below_its_bound(formulation: str) -> None:
    draw = random.Random(17)
    for _ in range(200):
        N = draw.randint(2, 6)
        problem = Problem(distribution(draw, N, 0.1), table(draw, N, 3, "plain"), table(draw, N, 2, "plain"))
        found = solve(problem, draw.random(), formulation=formulation)
        bob, eve = exact_risks(problem, found.mechanism)
        assert F(found.bound) <= bob - F(found.lam) * eve <= F(found.value)
        assert F(found.gap) >= F(found.value) - F(found.bound)
        assert verify(problem, found.certificate).value == found.certificate.value


@pytest.mark.parametrize(
    "given", [{"exp_epsilon": 2.0}, {"deterministic": True}, {"max_bob_risk": 0.4}, {"max_leakage": 1.5}]
)
def test_no_mechanism_under_conditions_is_below_its_bound(given: dict[str, Any]) -> None:
    draw = random.Random(5)
    for _ in range(12):
        problem = Problem(distribution(draw, 3, 0.1), table(draw, 3, 3, "plain"), table(draw, 3, 2, "plain"))
        try:
            found = solve(problem, draw.random(), conditions=given)
        except InputError:
            continue
        bob, eve = exact_risks(problem, found.mechanism)
        assert F(found.bound) <= bob - F(found.lam) * eve <= F(found.value)
        assert F(found.gap) >= F(found.value) - F(found.bound)


def test_risks_are_those_of_agents_who_decide_for_themselves() -> None:
    bob = [[3.0000000000000003e-13, 1e-12, 2.000000002], [2.000000000000001, 2.00000000000001, 2.0000003]]
    eve = [[0.0, 1000.000002, 2e-10], [1000.000002, 3.0000000000000005e-10, 2000.0000000000998]]
    rare = Problem([0.9997000899730081, 0.00029991002699190244], bob, eve)  # Bob would not follow a signal of 2^-52
    tied = Agent([[3, 2], [3, 3], [1, 1]], harm=[[0, 0], [1, 1], [3, 1]])  # as good to her, and not to Alice
    full = Problem([1 / 2, 1 / 4, 1 / 4], [[1e4, 1e5], [1e-7, 1e-8], [2e5, 1e3]], eves=[tied])
    for problem, lam in ((rare, 1.0), (full, 0.0)):
        found = solve(problem, lam, False)
        own = evaluate(problem, found.mechanism).risks
        assert found.risks.bob == pytest.approx(own.bob, rel=1e-14)
        assert found.risks.eve == pytest.approx(own.eve, rel=1e-14)


@pytest.mark.parametrize("seed", range(8))
def test_a_float_search_beside_rare_states_ends_with_a_small_gap(seed: int) -> None:
    draw = random.Random(seed)
    masses = np.array([1.0, 1e-8, 1e-8, draw.random()])
    problem = Problem(masses / masses.sum(), table(draw, 4, 5, "ties"), table(draw, 4, 2, "ties"))
    for asked in ({}, {"max_leakage": 1.7}):
        found = solve(problem, 0.001, conditions={"deterministic": True, **asked})
        assert found.gap <= 1e-9 * float(problem.arrays.spread(0.001)) + math.ulp(found.value)


def test_a_float_certificate_is_made_of_fractions_and_its_channel_of_floats() -> None:
    problem = Problem([0.7, 0.3], [[1 / 3, 2 / 3], [1.0, 0.0]], [[0.0, 1.0], [10.0, 0.0]])
    for given in ({}, {"exp_epsilon": 3.0}, {"max_leakage": 1.25}):
        found = solve(problem, 1 / 3, conditions=given)
        rows = [[F(v) for v in row] for row in found.mechanism.channel.tolist()]
        assert all(sum(row) == 1 for row in rows)
        assert {type(v) for v in found.certificate.public_u.ravel().tolist()} == {F}
        assert found.gap == verify(problem, found.certificate).gap < 1e-12
