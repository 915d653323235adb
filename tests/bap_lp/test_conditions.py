"""Conditions: closed forms, what asks nothing or cannot hold, files, large ones (more in `test_every_condition`)."""

from __future__ import annotations

import math
from fractions import Fraction as F
from itertools import combinations, product
from typing import Any

import definitions
import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import (
    LIMITS,
    any_problem,
    channels,
    demands,
    few_lams,
    few_states,
)

from bap_lp import Agent, Conditions, InputError, Mechanism, Problem, evaluate, solve, verify
from bap_lp.files.problems import SCHEMA, problem_from_dict
from bap_lp.releases import bob_decision, full, meets, null, truncated_geometric

ZERO_ONE = [[0, 1], [1, 0]]
COIN = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]], states=["heads", "tails"])


def spread_out(problem: Problem, data: st.DataObject) -> Any:
    """A random channel, mixed with the null release so that it meets many conditions."""
    channel = data.draw(channels(problem)).channel
    share = data.draw(st.sampled_from([F(0), F(1, 2), F(9, 10), F(1)]))
    return (1 - share) * channel + share * problem.prior.dot(channel)


@pytest.mark.slow
@settings(max_examples=80)
@given(any_problem(), st.sets(st.sampled_from(LIMITS), min_size=1, max_size=2), st.data())
def test_a_mechanism_meets_its_conditions_by_the_definition(
    problem: Problem, kinds: set[str], data: st.DataObject
) -> None:
    conditions, q = data.draw(demands(problem, kinds)), spread_out(problem, data)
    broken = definitions.broken(problem, conditions, q)
    assert (meets(problem, Mechanism(q.tolist()), conditions) == "") == (not broken)


def test_epsilon_is_a_float_condition_unless_it_is_zero() -> None:
    problem = Problem(["1/2", "1/2"], ZERO_ONE, ZERO_ONE)
    solution = solve(problem, 0, conditions=Conditions(epsilon=1.0))
    assert not solution.exact
    assert math.isclose(solution.value, 1 / (1 + math.e), rel_tol=1e-12)
    assert verify(problem, solution.certificate)
    with pytest.raises(InputError, match="exp_epsilon, not epsilon"):
        solve(problem, 0, True, conditions=Conditions(epsilon=1))
    assert solve(problem, 0, conditions=Conditions(epsilon=0)).value == F(1, 2)


BAD = [
    ({"min_eve_risk": "4/5"}, "min_eve_risk = 4/5 is not attainable: R_E lies between 0 .* and 3/4"),
    ({"max_bob_risk": "1/5"}, "max_bob_risk = 1/5 is not attainable: R_B lies between 1/4 .* and 1/2"),
    ({"max_bob_risk": "1/4", "exp_epsilon": 2}, "conditions cannot be met together: .*exp_epsilon"),
    ({"max_bob_risk": "1/4", "min_eve_risk": "1/2"}, "conditions cannot be met together: .*max_bob_risk"),
    ({"margin": 5}, "margin = 5 is not attainable: full release leaves a margin of 1/3, null release 0"),
    ({"deterministic": True, "max_bob_risk": "3/10", "min_eve_risk": "1/4"}, "deterministic = True cannot be met"),
    ({"exp_epsilon": "1/2"}, "exp_epsilon = 1/2 must be at least 1"),
    ({"epsilon": 1, "exp_epsilon": 2}, "epsilon = 1 must not be given together"),
    ({"neighbours": [(0, 1)]}, "neighbours needs epsilon"),
    ({"exp_epsilon": 2, "neighbours": [("tails", "edge")]}, r"neighbours\[0\] = 'edge' is not a state"),
    ({"exp_epsilon": 2, "neighbours": [(0, 2)]}, r"neighbours\[0\] = 2 must be a label or a position"),
    *(({"exp_epsilon": 2, "neighbours": [[wrong, 1]]}, "a label or a position") for wrong in (None, 2**70, 1.0, True)),
    ({"exp_epsilon": 2, "neighbours": [0]}, r"neighbours\[0\] = 0 must be a pair"),
    ({"exp_epsilon": 2, "metric": [[0, 1]]}, "metric has 1 rows"),
    ({"exp_epsilon": 2, "metric": [[0, -1], [1, 0]]}, r"metric\[0\]\[1\] = -1 must not be negative"),
    ({"exp_epsilon": 2, "metric": [[0, 1000], [1000, 0]]}, r"metric\[0\]\[1\] = 1000 makes"),
    ({"max_signals": 2}, "^max_signals is no longer there: deterministic = true makes the signal a function"),
    ({"min_eve_risk": -1}, "min_eve_risk = -1 must be at least 0"),
    ({"deterministic": 1}, "deterministic = 1 must be true or false"),
    ({"posterior_caps": [{"event": ["edge"], "at_most": "1/2"}]}, r"posterior_caps\[0\].event = 'edge' is not a state"),
    ({"posterior_caps": [{"event": [], "at_most": "1/2"}]}, r"posterior_caps\[0\].event must name at least one state"),
    ({"posterior_caps": [{"event": "heads", "at_most": "1/2"}]}, "must be a list of states"),
    ({"posterior_caps": [{"event": ["heads"]}]}, "needs at_most or at_least"),
    ({"posterior_caps": [{"event": ["heads"], "at_most": "3/2"}]}, r"at_most = 3/2 must be at most 1"),
    ({"posterior_caps": [{"event": ["heads"], "at_most": "1/4", "at_least": "1/2"}]}, "must not be above at_most"),
    ({"posterior_caps": [{"event": ["heads"], "atmost": 1}]}, "atmost is not a known key"),
    ({"posterior_caps": [{"at_most": 1}]}, r"posterior_caps\[0\].event is missing"),
    ({"posterior_caps": {"event": ["heads"], "at_most": 1}}, "must be a list of tables"),
    ({"posterior_ratio": [{"event": ["heads"]}]}, "needs exp_epsilon or epsilon, one of the two"),
    ({"posterior_ratio": [{"event": ["heads"], "exp_epsilon": "1/2"}]}, "exp_epsilon = 1/2 must be at least 1"),
    ({"signal_floor": {"Mallory": 1}}, "signal_floor.Mallory = 1 names no Eve: there is Eve"),
    ({"signal_floor": {}}, "must name at least one Eve"),
    ({"signal_floor": [1, 2]}, "must be a number, or a table of numbers by Eve's name"),
    ({"pufferfish": 3}, "must be a list of tables"),
    ({"posterior_caps": [{"event": [["heads"]], "at_most": 1}]}, "must be labels or positions of states"),
    ({"posterior_caps": [{"event": ["heads"], "at_most": float("nan")}]}, "at_most"),
    ({"signal_floor": -1}, "signal_floor = -1 must be at least 0"),
    ({"delta": "1/2"}, "delta = 1/2 needs epsilon or exp_epsilon"),
    ({"max_leakage": "1/2"}, "max_leakage = 1/2 must be at least 1"),
    ({"pufferfish": {"pairs": [[["heads"]]], "exp_epsilon": 2}}, "must be a pair of events"),
    ({"pufferfish": {"pairs": [[["heads"], []]], "exp_epsilon": 2}}, "must name at least one state"),
    ({"pufferfish": {"exp_epsilon": 2}}, r"pufferfish\[0\].pairs is missing"),
    ({"pufferfish": {"pairs": [], "exp_epsilon": 2, "priors": [["1/2", "1/3"]]}}, "must be 1"),
    ({"pufferfish": {"pairs": [], "exp_epsilon": 2, "priors": [[1]]}}, "has 1 entries, must have 2, one per state"),
    ({"independent_of": ["heads"]}, r"independent_of\[0\] = 'heads' must be a list of states"),
    ({"independent_of": [[True]]}, "must be labels or positions of states"),
    ({"independent_of": [[2]]}, "must be a label or a position between 0 and 1"),
]  # fmt: skip


@pytest.mark.parametrize(("wanted", "message"), BAD)
def test_what_makes_no_sense_is_refused_in_one_line(wanted: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        solve(COIN, 0, conditions=Conditions(**wanted))
    assert "\n" not in str(error.value)


def test_demands_that_ask_nothing_change_nothing() -> None:
    free = solve(COIN, "1/3").value
    for wanted in (
        {"posterior_caps": []},
        {"posterior_caps": [{"event": ["heads", "tails"], "at_least": 1}]},
        {"posterior_ratio": [{"event": ["heads", "tails"], "exp_epsilon": 1}]},
        {"independent_of": [["heads", "tails"]]},
        {"independent_of": []},
        {"exp_epsilon": 1, "delta": 1},
        {"exp_epsilon": 1, "delta": 5},
        {"max_leakage": 2},
        {"max_leakage": 100},
        {"signal_floor": 0},
        {"pufferfish": {"pairs": [], "exp_epsilon": 1}},
        {"pufferfish": [{"pairs": [[["heads"], ["heads"]]], "exp_epsilon": 1}]},
    ):
        found = solve(COIN, "1/3", conditions=Conditions(**wanted))
        assert (found.value, found.gap) == (free, 0)
        assert verify(COIN, found.certificate)


def test_an_event_of_probability_zero_has_posterior_zero() -> None:
    problem = Problem(["1/2", "1/2", 0], [[0, 1], [1, 0], [0, 0]], [[0, 1], [1, 0], [1, 1]])
    free = solve(problem, "1/4").value
    for wanted in (
        {"posterior_caps": [{"event": [2], "at_most": 0}]},
        {"posterior_ratio": [{"event": [2], "exp_epsilon": 1}]},
        {"independent_of": [[2]]},
        {"pufferfish": {"pairs": [[[0], [2]]], "exp_epsilon": 1}},
    ):
        assert solve(problem, "1/4", conditions=Conditions(**wanted)).value == free
    # under another prior the state exists, and its row is a variable of its own
    prior = ["1/3", "1/3", "1/3"]
    tied = Conditions(pufferfish={"pairs": [[[0], [2]], [[1], [2]]], "exp_epsilon": 1, "priors": [prior]})
    assert solve(problem, 0, conditions=tied).value == F(1, 2)
    assert verify(problem, solve(problem, 0, conditions=tied).certificate)


def test_K_equal_to_one_is_independence() -> None:
    for wanted in (
        {"posterior_ratio": [{"event": ["heads"], "exp_epsilon": 1}]},
        {"posterior_ratio": [{"event": ["heads"], "epsilon": 0}]},
        {"independent_of": [["heads"]]},
        {"pufferfish": {"pairs": [[["heads"], ["tails"]]], "exp_epsilon": 1}},
        {"posterior_caps": [{"event": ["heads"], "at_most": "3/4"}]},
        {"max_leakage": 1},
        {"exp_epsilon": 1},
    ):
        found = solve(COIN, 0, conditions=Conditions(**wanted))
        assert (found.exact, found.value) == (True, F(1, 2))


def test_a_floor_is_on_the_loss_of_each_eve_without_her_weight() -> None:
    eves = [Agent([[0, 1], [1, 0]], name="a", weight=3), Agent([[0, 2], [2, 0]], name="b")]
    problem = Problem(["1/2", "1/2"], [[0, 1], [1, 0]], eves=eves)
    for floor, risk in (({"a": "1/4"}, F(1, 4)), ({"b": "1/2"}, F(1, 4)), ("1/3", F(1, 3)), ({"a": 0}, F(0))):
        assert solve(problem, 0, conditions=Conditions(signal_floor=floor)).risks.bob == risk


@pytest.mark.parametrize(
    "wanted",
    [
        {"independent_of": [[1, 2, 3]]},
        {"independent_of": [[0]]},
        {"posterior_ratio": [{"event": [1, 2, 3], "exp_epsilon": 1}]},
        {"posterior_ratio": [{"event": [0], "exp_epsilon": 2}]},
    ],
)
def test_an_event_that_is_certain_in_floats_asks_nothing(wanted: Any) -> None:
    """The probabilities of the states sum to one up to rounding: that is no information about the event."""
    prior = [0.0, 0.7, 0.2, 0.1]
    assert (0.0 + 0.7) + 0.2 + 0.1 != 1  # `sum` is compensated from Python 3.12 on
    problem = Problem(prior, [[0, 1], [1, 0], [0, 1], [1, 0]], [[0, 1], [0, 1], [1, 0], [1, 0]])
    free, found = solve(problem, 0.5), solve(problem, 0.5, conditions=Conditions(**wanted))
    assert found.value == pytest.approx(free.value, abs=1e-12)
    assert verify(problem, found.certificate)


@pytest.mark.parametrize("wanted", [None, {"posterior_ratio": [{"event": [0], "exp_epsilon": 2}]}])
def test_tables_may_lie_in_memory_column_by_column(wanted: Any) -> None:
    """Tables of one column, transposed tables, and rows of conditions that are transposed ones."""
    conditions = None if wanted is None else Conditions(**wanted)
    for bob, eve in (([[0], [1], [2]], [[0], [1], [2]]), ([[0, 1], [1, 0], [1, 1]], [[0, 1], [1, 0], [2, 0]])):
        exact = solve(Problem(["1/2", "1/4", "1/4"], bob, eve), 1, conditions=conditions)
        columns = (np.asfortranarray(table, dtype=float) for table in (bob, eve))
        found = solve(Problem([0.5, 0.25, 0.25], *columns), 1.0, conditions=conditions)
        assert found.value == pytest.approx(float(exact.value), abs=1e-9)


# deterministic mechanisms, against brute force


def test_the_price_of_determinism_of_the_coin_toss_is_what_a_coin_saves() -> None:
    coin = Problem.from_model(["1/2", "1/2"], [[1, 0], ["1/2", "1/2"]], ZERO_ONE, [[0, 1], [10, 0]])
    solution = solve(coin, "1/3", conditions=Conditions(deterministic=True))
    assert solution.price_of_determinism == solution.price_of_conditions == solution.value - solve(coin, "1/3").value
    assert solution.value == min(evaluate(coin, m).alice(F(1, 3)) for m in (full(coin), null(coin), bob_decision(coin)))


def brute(problem: Problem, lam: F, conditions: Conditions) -> tuple[Any, ...] | None:
    """(R_A, -R_E, map) of the best deterministic map to Bob's decisions, most private and lexicographically first."""
    N, b = problem.bob_loss.shape
    live = [x for x in range(N) if problem.prior[x] > 0]
    best = None
    for choice in product(range(b), repeat=len(live)):
        q = np.zeros((N, b), dtype=object) + F(0)
        for x, s in zip(live, choice, strict=True):
            q[x, s] = F(1)
        for x in set(range(N)) - set(live):
            q[x] = q[live[0]]
        if not definitions.broken(problem, conditions, q):
            told = sum(problem.prior[x] * problem.bob_loss[x, s] for x, s in zip(live, choice, strict=True))
            eve = evaluate(problem, Mechanism(q.tolist())).eve
            score = (told - lam * eve, -eve, choice)
            best = score if best is None or score < best else best
    return best


@settings(max_examples=20)
@given(few_states(5), few_lams, st.data())
def test_the_best_deterministic_map_is_found_exactly(problem: Problem, lam: F, data: st.DataObject) -> None:
    low, high = evaluate(problem, solve(problem, 0).mechanism), evaluate(problem, Mechanism([[1]] * len(problem.p)))
    wanted: dict[str, Any] = {}
    if data.draw(st.booleans()):
        wanted["min_eve_risk"] = low.eve + (high.eve - low.eve) * data.draw(st.sampled_from([F(1, 3), F(2, 3), F(1)]))
    if data.draw(st.booleans()):
        wanted["max_bob_risk"] = low.bob + (high.bob - low.bob) * data.draw(st.sampled_from([F(0), F(1, 2), F(1)]))
    conditions = Conditions(deterministic=True, **wanted)
    best = brute(problem, lam, conditions)
    try:
        found = solve(problem, lam, conditions=conditions)
    except InputError:
        assert best is None
        return
    assert verify(problem, found.certificate)
    assert best is not None
    assert (found.value, found.gap, -found.risks.eve) == (best[0], 0, best[1])
    names = [problem.bob_decisions[s] for s in best[2]]
    live = [x for x in range(len(problem.p)) if problem.prior[x] > 0]
    assert [found.mechanism.signals[int(found.mechanism.channel[x].argmax())] for x in live] == names


@pytest.mark.parametrize(
    ("prior", "bob", "eve", "lam", "margin", "floor", "value"),
    [
        ([10000000, 1, 5000000], [[0, 3], [3, 3], [2, 0]], [[0, 1], [1, 5], [5, 4]], 0, 0,
         F(20000005, 15000001), F(3, 15000001)),
        ([800000000, 1], [["4/5", "13/2"], ["9/4", "19/4"]], [["13/2", "5/4"], ["13/7", "5/2"]], F(5, 3), None,
         F(2000000005, 1600000002), F(-12320000023, 9600000012)),
    ],
)  # fmt: skip
def test_wide_scales_are_settled_exactly(
    prior: list[int], bob: Any, eve: Any, lam: Any, margin: Any, floor: F, value: F
) -> None:
    problem = Problem([F(w, sum(prior)) for w in prior], bob, eve)
    found = solve(problem, lam, conditions=Conditions(deterministic=True, margin=margin, min_eve_risk=floor))
    assert (found.value, found.gap) == (value, 0)
    assert found.risks.eve >= floor
    assert verify(problem, found.certificate)


def test_many_states_are_searched_within_the_limit_and_the_gap_is_honest() -> None:
    # 300 states in pairs: too many maps for lexicographic weights, and each program is large
    random = np.random.default_rng(11)
    bob, eve = (np.repeat(random.integers(0, 9, (150, k)), 2, axis=0).tolist() for k in (3, 2))
    problem = Problem([F(1, 300)] * 300, bob, eve)
    best = solve(problem, "1/3", conditions=Conditions(deterministic=True))
    assert isinstance(best.value, F)
    assert best.gap >= 0
    assert set(map(F, best.mechanism.channel.ravel())) == {0, 1}
    assert best.bound <= best.value


# distances


@pytest.mark.parametrize(("ratio", "distance"), [("2", 10**17), ("1000001/1000000", 10**7), ("2", 10**300)])
def test_absurd_distances_are_refused_without_large_powers(ratio: str, distance: int) -> None:
    problem = Problem(["1/2", "1/2"], [[0, 1], [1, 0]], [[0], [0]])
    metric = [[0, distance], [distance, 0]]
    with pytest.raises(InputError, match=r"metric\[0\]\[1\] = .* makes exp\(eps d\) too large"):
        solve(problem, 0, conditions=Conditions(exp_epsilon=ratio, metric=metric))
    assert solve(problem, 0, conditions=Conditions(exp_epsilon=1, metric=metric)).value == F(1, 2)


def test_distances_too_large_to_write_down_are_checked_by_logarithms() -> None:
    n = 40
    problem = Problem([F(1, n)] * n, [[x % 2, 1 - x % 2] for x in range(n)], [[0]] * n)
    conditions = Conditions(exp_epsilon=2, metric=[[60 * abs(x - y) for y in range(n)] for x in range(n)])
    steps = [F(1, 2 ** (60 * x + 1)) for x in range(n)]
    for chosen, ok in ((steps, True), ([*steps[:-1], F(0)], False), ([*steps[:-1], steps[-1] / 2**60], False)):
        assert (meets(problem, Mechanism([[v, 1 - v] for v in chosen]), conditions) == "") == ok


@pytest.mark.slow
def test_a_metric_of_several_hundred_states_is_kept() -> None:
    """A grid of 18 x 18: 104,652 pairs, of which the neighbours on the grid are needed."""
    places = [(i, j) for i in range(18) for j in range(18)]
    apart = [[abs(a - c) + abs(b - d) for c, d in places] for a, b in places]
    n = len(places)
    problem = Problem([F(1, n)] * n, [[i, 17 - i] for i, _ in places], [[0]] * n)
    conditions = Conditions(exp_epsilon=2, metric=apart)
    found = solve(problem, 0, exact=False, conditions=conditions)
    assert abs(found.gap) < 1e-8 * 17
    assert verify(problem, found.certificate)


# beliefs of others, and files


COIN_FILE = {
    "data": {"labels": ["tails", "heads"], "prior": ["3/4", "1/4"]},
    "bob": {"loss": [["1/3", "2/3"], [1, 0]]},
    "eve": {"loss": [[0, 1], [10, 0]]},
}


def test_a_file_states_its_conditions_in_a_table() -> None:
    table = {
        "min_eve_risk": "3/8",
        "max_bob_risk": 0.5,
        "exp_epsilon": 2,
        "metric": [[0, 3], ["inf", 0]],
        "deterministic": True,
        "margin": "1/100",
    }
    document = {**COIN_FILE, "conditions": table}
    jsonschema.validate(document, SCHEMA)
    found = problem_from_dict(document).conditions
    assert found == Conditions(**table)
    assert problem_from_dict(COIN_FILE).conditions is None


@pytest.mark.parametrize(
    ("table", "message", "schema"),
    [
        (
            {"min_eve": 1},
            r"coin: conditions.min_eve is not a condition: did you mean min_eve_risk\?$",
            True,
        ),
        ({"min_eve_risk": -1}, "coin: conditions.min_eve_risk = -1 must be at least 0", True),
        ({"min_eve_risk": "1/0"}, "coin: conditions.min_eve_risk = '1/0' divides by zero", True),
        ({"max_bob_risk": 10**301}, "coin: conditions.max_bob_risk = 1000.* must be at most 1e300", True),
        ({"exp_epsilon": 2, "neighbours": "all"}, "coin: conditions.neighbours = 'all' must be a list", True),
        ({"exp_epsilon": 2, "neighbours": [["x", "heads"]]}, r"conditions.neighbours\[0\] = 'x' is not a state", False),
        ({"exp_epsilon": 2, "epsilon": 1}, "conditions.epsilon = 1 must not be given together with exp_epsilon", True),
        ({"deterministic": "yes"}, "conditions.deterministic = 'yes' must be true or false", True),
        ({"max_signals": 2}, "^coin: conditions.max_signals is no longer there: deterministic = true makes", True),
        ([], r"conditions = \[\] must be a table", True),
    ],
)
def test_a_bad_condition_of_a_file_is_named(table: Any, message: str, schema: bool) -> None:
    document = {**COIN_FILE, "conditions": table}
    with pytest.raises(InputError, match=message):
        problem_from_dict(document, "coin")
    assert jsonschema.Draft202012Validator(SCHEMA).is_valid(document) != schema


def chain(n: int) -> tuple[Problem, Conditions]:
    losses = [[abs(x - i) for i in range(n)] for x in range(n)]
    neighbours = [(x, x + 1) for x in range(n - 1)]
    return Problem([F(1, n)] * n, losses, [[0]] * n), Conditions(exp_epsilon=2, neighbours=neighbours)


@pytest.mark.slow
@pytest.mark.parametrize("n", [15, 36])
def test_a_long_chain_is_solved_exactly_and_in_floats(n: int) -> None:
    """Ghosh, Roughgarden and Sundararajan (2012): the truncated geometric mechanism, remapped, is optimal."""
    problem, conditions = chain(n)
    exact = solve(problem, 0, conditions=conditions)
    assert exact.value == evaluate(problem, truncated_geometric(problem, "1/2")).bob
    assert exact.gap == 0
    assert verify(problem, exact.certificate)
    rough = solve(problem, 0, False, conditions=conditions)
    assert abs(rough.gap) < 1e-9
    assert rough.value == pytest.approx(float(exact.value), abs=1e-9)
    assert verify(problem.as_float(), rough.certificate)


@pytest.mark.slow
def test_a_euclidean_metric_in_floats_agrees_with_scipy() -> None:
    k = 4
    places = [(i, j) for i in range(k) for j in range(k)]
    apart = [[math.dist(a, b) for b in places] for a in places]
    problem = Problem([1 / k**2] * k**2, apart, [[0]] * k**2)
    conditions = Conditions(epsilon=0.7, metric=apart)
    found = solve(problem, 0, conditions=conditions)
    assert abs(found.gap) < 1e-9
    assert found.value == pytest.approx(definitions.least_risk(problem, 0, conditions), abs=1e-7)
    assert verify(problem, found.certificate)


@pytest.mark.slow
def test_many_states_alike_in_pairs_have_the_published_risk() -> None:
    """Ghazi et al. (arXiv 2212.06074): randomised response on the best set of outputs."""
    random, N, b, K = np.random.default_rng(3), 340, 6, 2
    losses, weights = random.integers(0, 60, (N, b)), random.integers(1, 50, N)
    p = weights / weights.sum()
    sets = [list(few) for k in range(1, b + 1) for few in combinations(range(b), k)]
    least = min(
        p @ (losses[:, few].sum(axis=1) + (K - 1) * losses[:, few].min(axis=1)) / (K + len(few) - 1) for few in sets
    )
    problem, conditions = Problem(p, losses.tolist(), [[0]] * N), Conditions(exp_epsilon=K)
    found = solve(problem, 0, conditions=conditions)
    assert found.value == pytest.approx(least, abs=1e-9)
    assert abs(found.gap) < 1e-8
    assert verify(problem, found.certificate)


@pytest.mark.parametrize("distance", [59, 60, 61, 200])
def test_huge_ratios_of_a_metric_are_no_obstacle(distance: int) -> None:
    n = 4
    problem = Problem([F(1, n)] * n, [[abs(x - i) for i in range(n)] for x in range(n)], [[0]] * n)
    conditions = Conditions(exp_epsilon=2, metric=[[distance * abs(x - y) for y in range(n)] for x in range(n)])
    found = solve(problem, 0, conditions=conditions)
    K = F(2) ** distance
    assert 0 < found.value < 4 / K
    assert verify(problem, found.certificate)
    rough = solve(problem, 0, False, conditions=conditions)
    assert rough.gap < 1e-9


EVERY_THIRD, NEXT = list(range(0, 60, 3)), list(range(1, 60, 3))


@pytest.mark.parametrize(
    "given",
    [{"independent_of": [EVERY_THIRD]}, {"pufferfish": {"pairs": [[EVERY_THIRD, NEXT]], "exp_epsilon": 1}}],
    ids=["independence", "pufferfish"],
)
def test_float_rows_that_hold_with_equality_need_no_exact_pivots(given: dict[str, Any]) -> None:
    """0-1 losses: a vertex with many ties, at which exact pivots took a hundred times as long as the solver."""
    draw = np.random.default_rng(0)
    problem = Problem([1 / 60] * 60, draw.integers(0, 2, (60, 6)) * 1.0, draw.integers(0, 2, (60, 4)) * 1.0)
    found = solve(problem, 1.0, conditions=Conditions(**given))
    assert "exact" not in found.method
    assert found.gap < 1e-12
    assert verify(problem, found.certificate).gap == found.gap
