"""Every notion against a program that nobody here wrote for it: HiGHS on channels with several signals per decision."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction as F
from itertools import product
from typing import Any

import jsonschema
import numpy as np
import pytest
from definitions import broken
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from strategies import NOTIONS, channels, few_lams, few_states, notion

from bap_lp import (
    Conditions,
    ConflictError,
    InputError,
    Mechanism,
    Problem,
    load_certificate,
    save_certificate,
    solve,
    verify,
)
from bap_lp.conditions.conditions import TABLE
from bap_lp.conditions.lagrangian import Prices
from bap_lp.files.problems import SCHEMA, conditions_document, conditions_from
from bap_lp.model.evaluation import risks
from bap_lp.proof.conditional import ConditionedProblem
from bap_lp.releases import meets, null

COPIES = 3  # signals per decision of Bob


class Reference:
    """min R_B - lam R_E over channels q(s|x) with COPIES signals per decision, in scipy's words."""

    def __init__(self, problem: Problem, lam: F) -> None:
        self.p, self.B, self.E = (a.astype(float) for a in (problem.prior, problem.bob_loss, problem.eve_loss))
        self.N, b = self.B.shape
        self.told, G = np.repeat(np.arange(b), COPIES), len(problem.eve_groups)
        self.S = len(self.told)
        self.count = self.N * self.S + self.S * G
        self.cost = np.zeros(self.count)
        self.cost[: self.N * self.S] = (self.p[:, None] * self.B[:, self.told]).ravel()
        self.cost[self.N * self.S :] = -float(lam)
        self.rows: list[dict[int, float]] = []
        self.rhs: list[float] = []
        for s in range(self.S):
            for g, group in enumerate(problem.eve_groups):
                for j in range(group.start, group.stop):
                    row = {self.q(x, s): -self.p[x] * self.E[x, j] for x in range(self.N)}
                    self.at_most(row | {self.N * self.S + s * G + g: 1.0}, 0.0)

    def q(self, x: int, s: int) -> int:
        return x * self.S + s

    def fresh(self) -> int:
        self.count += 1
        return self.count - 1

    def at_most(self, row: dict[int, float], rhs: float) -> None:
        self.rows.append(row)
        self.rhs.append(rhs)

    def value(self) -> float | None:
        A = np.zeros((len(self.rows), self.count))
        for k, row in enumerate(self.rows):
            for column, v in row.items():
                A[k, column] += v
        whole = np.zeros((self.N, self.count))
        for x in range(self.N):
            whole[x, [self.q(x, s) for s in range(self.S)]] = 1
        signed = [(0, None)] * (self.N * self.S)
        bounds = [
            *signed,
            *[(None, None)] * (len(self.cost) - len(signed)),
            *[(0, None)] * (self.count - len(self.cost)),
        ]
        cost = np.append(self.cost, np.zeros(self.count - len(self.cost)))
        found = linprog(cost, A, self.rhs, whole, np.ones(self.N), bounds)
        return float(found.fun) if found.status == 0 else None


def reference(problem: Problem, lam: F, c: Conditions) -> float | None:
    """The optimum under the new notions, None if there is no channel."""
    lp = Reference(problem, lam)
    p, N, S = lp.p, lp.N, lp.S
    for cap in c.posterior_caps or ():
        for s in range(S):
            if cap.at_most is not None:
                lp.at_most({lp.q(x, s): p[x] * ((x in cap.event) - float(cap.at_most)) for x in range(N)}, 0)
            if cap.at_least is not None:
                lp.at_most({lp.q(x, s): p[x] * (float(cap.at_least) - (x in cap.event)) for x in range(N)}, 0)
    for one in c.posterior_ratio or ():
        whole, K = sum(p[list(set(one.event))]), float(one.exp_epsilon)
        for s in range(S):
            lp.at_most({lp.q(x, s): p[x] * ((x in one.event) - K * whole) for x in range(N)}, 0)
            lp.at_most({lp.q(x, s): p[x] * (whole - K * (x in one.event)) for x in range(N)}, 0)
    for event in c.independent_of or ():
        whole = sum(p[list(set(event))])
        for s in range(S):
            for sign in (1, -1):
                lp.at_most({lp.q(x, s): sign * p[x] * ((x in event) - whole) for x in range(N)}, 0)
    if c.signal_floor is not None:
        names = [eve.name for eve in problem.eves]
        floors = dict(c.signal_floor) if isinstance(c.signal_floor, tuple) else dict.fromkeys(names, c.signal_floor)
        for eve in problem.eves:
            for z, j, s in product(set(eve.knows or [None]), range(eve.loss.shape[1]), range(S)):
                floor, seen = float(floors[eve.name]), [x for x in range(N) if z is None or eve.knows[x] == z]
                lp.at_most({lp.q(x, s): p[x] * (floor - float(eve.loss[x, j])) for x in seen}, 0)
    if c.max_leakage is not None:
        top = [lp.fresh() for _ in range(S)]
        for x, s in np.ndindex(N, S):
            lp.at_most({lp.q(x, s): 1, top[s]: -1}, 0)
        lp.at_most(dict.fromkeys(top, 1.0), float(c.max_leakage))
    for one in c.pufferfish or ():
        for prior in one.priors or [problem.prior.tolist()]:
            r = np.array(prior, dtype=float)
            for pair in one.pairs:
                a, b = (np.array([x in event for x in range(N)]) * r for event in pair)
                if a.sum() > 0 and b.sum() > 0:
                    for more, less in ((a / a.sum(), b / b.sum()), (b / b.sum(), a / a.sum())):
                        for s in range(S):
                            lp.at_most({lp.q(x, s): more[x] - float(one.exp_epsilon) * less[x] for x in range(N)}, 0)
    if c.private:
        for x, y in np.ndindex(N, N):
            if x == y or (c.neighbours is not None and not {(x, y), (y, x)} & set(c.neighbours)):
                continue
            K = float(c.exp_epsilon) ** (1 if c.metric is None else float(c.metric[x][y]))
            over = [lp.fresh() for _ in range(S)]
            for s in range(S):
                lp.at_most({lp.q(x, s): 1, lp.q(y, s): -K, over[s]: -1}, 0)
            lp.at_most(dict.fromkeys(over, 1.0), float(c.delta or 0))
    return lp.value()


@pytest.mark.slow
@pytest.mark.parametrize("kind", NOTIONS)
@settings(max_examples=40, deadline=None)
@given(few_states(), few_lams, st.data())
def test_the_optimum_is_that_of_a_program_with_many_signals(
    kind: str, problem: Problem, lam: F, data: st.DataObject
) -> None:
    conditions = Conditions(**data.draw(notion(problem, kind)))
    found = solve(problem, lam, conditions=conditions)
    assert found.gap == 0
    assert found.value == pytest.approx(reference(problem, lam, conditions), abs=1e-7)
    assert broken(problem, conditions, found.mechanism.channel, told(problem, found.mechanism)) == []
    assert verify(problem, found.certificate)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(few_states(), few_lams, st.sets(st.sampled_from(NOTIONS), min_size=2, max_size=4), st.data())
def test_notions_combine(problem: Problem, lam: F, kinds: set[str], data: st.DataObject) -> None:
    wanted: dict[str, Any] = {}
    for kind in sorted(kinds):
        wanted |= data.draw(notion(problem, kind))
    conditions = Conditions(**wanted)
    found = solve(problem, lam, conditions=conditions)
    assert found.value == pytest.approx(reference(problem, lam, conditions), abs=1e-7)
    assert verify(problem, found.certificate)
    rough = solve(problem, lam, exact=False, conditions=conditions)
    assert rough.value == pytest.approx(float(found.value), abs=1e-8)
    assert verify(problem, rough.certificate)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(few_states(), few_lams, st.sets(st.sampled_from(NOTIONS), min_size=1, max_size=3), st.data())
def test_notions_combine_with_what_eves_know_and_weigh(
    problem: Problem, lam: F, kinds: set[str], data: st.DataObject
) -> None:
    """Eves with labels of what they know and weights of their own, and states that are copies of others."""
    N = len(problem.p)
    labels = st.lists(st.sampled_from("ab"), min_size=N, max_size=N)
    eves = [
        replace(eve, knows=data.draw(st.none() | labels), weight=data.draw(st.sampled_from([1, F(1, 3), 2])))
        for eve in problem.eves
    ]
    knowing = Problem(problem.p, bobs=problem.bobs, eves=eves, states=problem.states)
    wanted: dict[str, Any] = {}
    for kind in sorted(kinds):
        wanted |= data.draw(notion(knowing, kind))
    conditions = Conditions(**wanted)
    expected = reference(knowing, lam, conditions)
    try:
        found = solve(knowing, lam, conditions=conditions)
    except ConflictError:
        assert expected is None  # a floor may be above what is left to an Eve who knows more
        return
    assert found.value == pytest.approx(expected, abs=1e-7)
    assert verify(knowing, found.certificate)
    assert broken(knowing, conditions, found.mechanism.channel, told(knowing, found.mechanism)) == []


@pytest.mark.slow
@pytest.mark.parametrize("limit", ["deterministic", "max_signals", "margin"])
@settings(max_examples=25, deadline=None)
@given(few_states(3), few_lams, st.sampled_from(NOTIONS), st.data())
def test_notions_hold_together_with_what_is_not_convex(
    limit: str, problem: Problem, lam: F, kind: str, data: st.DataObject
) -> None:
    wanted = data.draw(notion(problem, kind))
    b = problem.shape[1]
    if limit == "margin":
        conditions = Conditions(**wanted, margin=0)  # weak obedience: the same optimum, on tuples of decisions
        found = solve(problem, lam, conditions=conditions)
        assert found.value == solve(problem, lam, conditions=Conditions(**wanted)).value
        assert verify(problem, found.certificate)
        return
    conditions = Conditions(**wanted, **{limit: True if limit == "deterministic" else 1})
    found = solve(problem, lam, conditions=conditions)
    assert found.gap == 0
    assert verify(problem, found.certificate)
    if limit == "max_signals":
        assert found.value == min(problem.prior.dot(problem.bob_loss)) - lam * risks(problem, null(problem)).eve
        return
    values = []
    for choice in product(range(b), repeat=len(problem.p)):
        q = np.array([[F(int(s == c)) for s in range(b)] for c in choice])
        if not broken(problem, conditions, q, range(b)):
            values.append(risks(problem, Mechanism(q.tolist())).alice(lam))
    assert found.value == min(values)


def told(problem: Problem, mechanism: Mechanism) -> Any:
    return (problem.prior[:, None] * mechanism.channel).T.dot(problem.bob_loss).argmin(axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", NOTIONS)
@settings(max_examples=40, deadline=None)
@given(few_states(), st.data())
def test_pooling_two_signals_keeps_the_condition(kind: str, problem: Problem, data: st.DataObject) -> None:
    """Mixing with the null release makes most channels feasible; what is feasible stays so when signals are pooled."""
    conditions = Conditions(**data.draw(notion(problem, kind)))
    channel = data.draw(channels(problem)).channel
    share = data.draw(st.sampled_from([F(0), F(1, 2), F(9, 10), F(1)]))
    q = (1 - share) * channel + share * problem.prior.dot(channel)
    if q.shape[1] < 2 or broken(problem, conditions, q, [0] * q.shape[1]):
        return
    a, b = data.draw(st.lists(st.integers(0, q.shape[1] - 1), min_size=2, max_size=2, unique=True))
    pooled = np.delete(q, b, axis=1)
    pooled[:, a - (a > b)] += q[:, b]
    assert broken(problem, conditions, pooled, [0] * pooled.shape[1]) == []
    assert meets(problem, Mechanism(pooled.tolist()), conditions) == ""


@pytest.mark.slow
@pytest.mark.parametrize("kind", NOTIONS)
@settings(max_examples=12, deadline=None)
@given(few_states(), few_lams, st.data())
def test_false_prices_prove_nothing_and_files_keep_the_true_ones(
    kind: str, tmp_path_factory: pytest.TempPathFactory, problem: Problem, lam: F, data: st.DataObject
) -> None:
    conditions = Conditions(**data.draw(notion(problem, kind)))
    found = solve(problem, lam, conditions=conditions)
    proof = found.certificate.proof
    assert proof is not None
    document = conditions_document(conditions)
    assert conditions_from(json.loads(json.dumps(document))) == conditions
    jsonschema.validate(document, {**SCHEMA["$defs"]["conditions"], "$defs": SCHEMA["$defs"]})
    path = tmp_path_factory.mktemp("c") / "certificate.json"
    save_certificate(path, found.certificate)
    assert verify(problem, load_certificate(path))
    bound = ConditionedProblem.of(problem, conditions)
    for name, own in proof.prices.items():
        if not len(own.weights) or not found.value > solve(problem, lam).value:
            continue
        for wrong in (
            Prices(own.places[:0], own.weights[:0]),
            Prices(own.places, -own.weights),
            Prices(own.places + 1000, own.weights),
        ):
            changed = replace(found.certificate, proof=replace(proof, prices={**proof.prices, name: wrong}))
            assert not verify(problem, changed) or name not in {d.name for d in bound.demands}


COIN = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]], states=["heads", "tails"])
BAD = [
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
    from bap_lp import Agent

    eves = [Agent([[0, 1], [1, 0]], name="a", weight=3), Agent([[0, 2], [2, 0]], name="b")]
    problem = Problem(["1/2", "1/2"], [[0, 1], [1, 0]], eves=eves)
    for floor, risk in (({"a": "1/4"}, F(1, 4)), ({"b": "1/2"}, F(1, 4)), ("1/3", F(1, 3)), ({"a": 0}, F(0))):
        assert solve(problem, 0, conditions=Conditions(signal_floor=floor)).risks.bob == risk


def test_every_notion_has_its_own_key_in_a_certificate() -> None:
    keys = [key for kind in TABLE.values() if kind.priced for key in kind.schema() if key != "prices"]
    assert len(keys) == len(set(keys))


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
    assert sum(prior) != 1
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
