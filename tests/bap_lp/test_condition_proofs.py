"""Every condition: its check is its definition, its multipliers prove its optimum, and false ones are refused."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from fractions import Fraction as F
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from definitions import holds
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import conditioned, few_lams, few_states, private

from bap_lp import (
    Conditions,
    InputError,
    Mechanism,
    Problem,
    lambda_path,
    limits,
    load_certificate,
    save_certificate,
    solve,
    verify,
)
from bap_lp.conditions.base import Condition, LinearRows
from bap_lp.conditions.conditions import TABLE
from bap_lp.conditions.distances import PairDistances
from bap_lp.conditions.lagrangian import Multipliers, Prices, SentSignals
from bap_lp.conditions.privacy import Privacy
from bap_lp.conditions.signals import Signals
from bap_lp.model.arrays import Arrays
from bap_lp.model.evaluation import risks
from bap_lp.programs import branch_and_bound
from bap_lp.programs.constrained import ChannelLayout, ChannelProgram
from bap_lp.proof.conditional import ConditionedProblem
from bap_lp.rational import EXACT, Array, number, public

quick = settings(max_examples=40, deadline=None)


@pytest.mark.slow
@quick
@given(conditioned(), st.data())
def test_the_check_of_every_condition_is_its_definition(
    case: tuple[Problem, F, Conditions], data: st.DataObject
) -> None:
    problem, _, conditions = case
    asked = ConditionedProblem.of(problem, conditions)
    signals, rows = asked.signals, []
    for _ in problem.p:
        some = data.draw(st.lists(st.integers(0, 2), min_size=len(signals), max_size=len(signals)).filter(any))
        rows.append([F(v, sum(some)) for v in some])
    q = Mechanism(rows).q
    sent = SentSignals(problem.arrays, signals, q)
    checked = not any(demand.check(sent, EXACT.zero) for demand in asked.demands)
    assert checked == holds(problem, conditions, public(q), signals.bob, signals.eve)


@pytest.mark.slow
@quick
@given(conditioned(), st.data())
def test_changed_prices_are_refused_or_prove_less(case: tuple[Problem, F, Conditions], data: st.DataObject) -> None:
    """Any price >= 0 is a valid multiplier if u follows it, otherwise it is refused: none proves too much."""
    problem, lam, conditions = case
    try:
        solution = solve(problem, lam, conditions=conditions)
    except InputError:
        return
    certificate, proof = solution.certificate, solution.certificate.proof
    if proof is None:
        return
    assert verify(problem, certificate)
    assert not verify(problem, replace(certificate, value=solution.value - F(1, 1000)))
    for name, own in proof.prices.items():
        if not len(own.weights):
            continue
        k = data.draw(st.integers(0, len(own.weights) - 1))
        for change in (-own.weights[k] - 1, EXACT.number(data.draw(st.sampled_from([F(1, 7), F(5)])))):
            weights = own.weights.copy()
            weights[k] += change
            changed = {**proof.prices, name: Prices(own.places, weights)}
            asked = ConditionedProblem.of(problem, conditions)
            dual = Multipliers(certificate.u, changed)
            wrong, bound, _ = asked.least(dual, (), number(lam, "lam"), EXACT.number(solution.value), EXACT.zero)
            assert wrong or bound <= EXACT.number(solution.value)
            assert change > 0 or wrong


@dataclass(frozen=True, eq=False)
class Leakage(Condition):
    """sum_s max_x q(s|x) <= c, with auxiliary columns m[s]: a notion that the table does not have."""

    most: Any
    name = "leakage"
    width = 3
    states = (1,)

    def check(self, sent: SentSignals, unit: Any) -> str:
        return "leaks" if sent.q.max(axis=0).sum() > self.most + unit else ""

    def places(self, arrays: Arrays, signals: Signals) -> Array:
        S, N = len(signals), len(arrays.p)
        return np.array([(0, x, s) for x in range(N) for s in range(S)] + [(1, -1, -1)])

    def linear(self, places: Array, arrays: Arrays, signals: Signals) -> LinearRows:
        row, one = np.arange(len(places)), EXACT.one
        single, total = row[places[:, 0] == 0], row[places[:, 0] == 1]
        S = len(signals)
        k = np.concatenate([single, np.repeat(total, S)])
        column = np.concatenate([places[single, 2], np.tile(np.arange(S), len(total))])
        value = np.concatenate([EXACT.full(len(single), -1), EXACT.full(len(total) * S, 1)])
        rhs = EXACT.zeros(len(places))
        rhs[total] = self.most
        return LinearRows(rhs, q=(single, places[single, 1], places[single, 2], EXACT.full(len(single), one)),
                          a=(k, column, value), columns=S)  # fmt: skip


@quick
@given(st.lists(st.integers(1, 9), min_size=2, max_size=5), st.fractions(1, 4, max_denominator=6))
def test_a_new_notion_needs_its_rows_and_its_check_only(weights: list[int], most: F) -> None:
    """Maximal leakage at most log c with Hamming loss: Saeidian et al., arXiv 2105.01033."""
    N = len(weights)
    prior = [F(w, sum(weights)) for w in weights]
    problem = Problem(prior, [[int(x != i) for i in range(N)] for x in range(N)], [[0]] * N)
    layout = replace(ChannelLayout.of(problem, Conditions()), demands=(Leakage(EXACT.number(most)),))
    found = ChannelProgram(layout, EXACT.zero).solve()
    ranked, whole = sorted(prior, reverse=True), math.floor(most)
    known = sum(ranked[:whole]) + (most - whole) * sum(ranked[whole : whole + 1])
    assert public(layout.sent(found.q).told_risk) == public(found.bound) == 1 - min(known, F(1))
    assert not layout.demands[0].check(layout.sent(found.q), EXACT.zero)


@pytest.mark.slow
@quick
@given(few_states(), few_lams, st.fractions(1, 3, max_denominator=4))
def test_multipliers_of_merged_states_prove_the_optimum_of_all(problem: Problem, lam: F, most: F) -> None:
    layout = replace(ChannelLayout.of(problem, Conditions()), demands=(Leakage(EXACT.number(most)),))
    found = ChannelProgram(layout, EXACT.number(lam)).solve()
    sent = SentSignals(problem.arrays, layout.signals, layout.rows(found.q))
    assert sent.score(EXACT.number(lam))[0] == found.bound
    assert not layout.demands[0].check(sent, EXACT.zero)


# deterministic mechanisms and few signals, against brute force


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
        if holds(problem, conditions, q, np.arange(b), None):
            told = sum(problem.prior[x] * problem.bob_loss[x, s] for x, s in zip(live, choice, strict=True))
            eve = risks(problem, Mechanism(q.tolist())).eve
            score = (told - lam * eve, -eve, choice)
            best = score if best is None or score < best else best
    return best


@pytest.mark.slow
@pytest.mark.parametrize("tried", [True, False])
@settings(max_examples=40, deadline=None)
@given(few_states(5), few_lams, st.data())
def test_the_best_deterministic_map_is_found_exactly(
    tried: bool, problem: Problem, lam: F, data: st.DataObject
) -> None:
    low, high = risks(problem, solve(problem, 0).mechanism), risks(problem, Mechanism([[1]] * len(problem.p)))
    wanted: dict[str, Any] = {}
    if data.draw(st.booleans()):
        wanted["min_eve_risk"] = low.eve + (high.eve - low.eve) * data.draw(st.sampled_from([F(1, 3), F(2, 3), F(1)]))
    if data.draw(st.booleans()):
        wanted["max_bob_risk"] = low.bob + (high.bob - low.bob) * data.draw(st.sampled_from([F(0), F(1, 2), F(1)]))
    if data.draw(st.booleans()):
        wanted["max_signals"] = data.draw(st.integers(1, 2))
    conditions = Conditions(deterministic=True, **wanted)
    best = brute(problem, lam, conditions)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(limits._LIMITS, "maps", limits.DEFAULTS["maps"] if tried else 0.5)
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


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(few_states(), few_lams, st.integers(1, 2), st.data())
def test_few_signals_are_the_best_of_all_sets_of_decisions(
    problem: Problem, lam: F, most: int, data: st.DataObject
) -> None:
    wanted = data.draw(private(len(problem.p))) if data.draw(st.booleans()) else {}
    values = []
    for keep in combinations(range(problem.shape[1]), min(most, problem.shape[1])):
        part = Problem(problem.prior.tolist(), problem.bob_loss[:, list(keep)].tolist(), eves=list(problem.eves))
        values.append(solve(part, lam, conditions=Conditions(**wanted) if wanted else None).value)
    found = solve(problem, lam, conditions=Conditions(max_signals=most, **wanted))
    assert (found.value, found.gap) == (min(values), 0)
    assert verify(problem, found.certificate)


def test_a_state_that_never_occurs_may_not_send_a_signal_of_its_own() -> None:
    problem = Problem(
        ["1/2", 0, 0, "1/2"], [[0, 1, 2], [2, 1, 0], [1, 0, 1], [0, 2, 1]], [[0, 1], [1, 0], [1, 0], [1, 0]]
    )
    for most in (1, 2):
        conditions = Conditions(exp_epsilon=3, neighbours=[(0, 3)], max_signals=most)
        for lam in (0, 1, 3):
            found = solve(problem, lam, conditions=conditions)
            assert found.gap == 0
            assert found.mechanism.channel.shape[1] <= most
            assert verify(problem, found.certificate)
            assert verify(problem, lambda_path(problem, conditions=conditions).certificate(lam))


def test_a_search_that_is_cut_short_leaves_an_honest_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(3)
    bob, eve = (random.integers(0, 9, (9, 3)).tolist() for _ in range(2))
    problem = Problem([F(1, 9)] * 9, bob, eve)
    best = solve(problem, 2, conditions=Conditions(deterministic=True))
    monkeypatch.setitem(limits._LIMITS, "maps", 1)
    full = solve(problem, 2, conditions=Conditions(deterministic=True))
    assert (full.value, full.gap) == (best.value, 0)
    monkeypatch.setattr(branch_and_bound, "_NODES", 2)
    short = solve(problem, 2, conditions=Conditions(deterministic=True))
    assert isinstance(short.bound, F)
    assert short.bound < best.value <= short.value
    assert not verify(problem, short.certificate)


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


# distances


def test_only_exactly_implied_pairs_of_a_metric_are_left_out() -> None:
    """In floats 10^17 + 1 is 10^17: the sum of two parts would seem to reach the whole."""
    problem = Problem(["1/3"] * 3, [[0, 1], [1, 0], [1, 1]], [[0]] * 3)
    far = 10**17
    metric = [[0, far, far], [far, 0, 1], [far, 1, 0]]
    demand = Conditions(exp_epsilon=1, metric=metric).demands(problem)[0]
    assert isinstance(demand, Privacy)
    assert set(map(tuple, demand.needed.tolist())) == {(x, y) for x in range(3) for y in range(3) if x != y}
    chain = [[abs(x - y) for y in range(3)] for x in range(3)]
    implied = Conditions(exp_epsilon=2, metric=chain).demands(problem)[0]
    assert isinstance(implied, Privacy)
    assert set(map(tuple, implied.needed.tolist())) == {(0, 1), (1, 0), (1, 2), (2, 1)}
    equal = Conditions(exp_epsilon=2, metric=[[0] * 3] * 3).demands(problem)[0]
    assert isinstance(equal, Privacy)
    assert len(equal.needed) == 6


def test_implied_pairs_are_checked_too() -> None:
    problem = Problem(["1/3"] * 3, [[0, 1], [1, 0], [1, 1]], [[0]] * 3)
    chain = Conditions(exp_epsilon=2, metric=[[abs(x - y) for y in range(3)] for x in range(3)]).demands(problem)[0]
    signals = ConditionedProblem.of(problem, Conditions(exp_epsilon=2)).signals
    q = Mechanism([["8/10", "2/10"], ["4/10", "6/10"], ["1/10", "9/10"]]).q
    assert isinstance(chain, Privacy)
    assert "between states 0 and 2" in Privacy(
        chain.base, PairDistances.of([(0, 2, chain.distances[0, 2])]), EXACT
    ).check(SentSignals(problem.arrays, signals, q), 0)  # type: ignore[index]


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
    demand, signals = conditions.demands(problem)[0], ConditionedProblem.of(problem, conditions).signals
    assert isinstance(demand, Privacy)
    assert len(demand.needed) == 2 * (n - 1)
    assert demand.ratio(0, n - 1) is None
    steps = [F(1, 2 ** (60 * x + 1)) for x in range(n)]
    for chosen, ok in ((steps, True), ([*steps[:-1], F(0)], False), ([*steps[:-1], steps[-1] / 2**60], False)):
        sent = SentSignals(problem.arrays, signals, Mechanism([[v, 1 - v] for v in chosen]).q)
        assert (demand.check(sent, 0) == "") == ok


# files of earlier versions

OLD = [
    {"lambda": "1/3", "value": "1/9", "rho": [["1/2", "0", "0"], ["1/3", "0", "0"], ["0", "0", "1/6"]],
     "u": [["1/3", "0"], ["0", "1/3"], ["1/3", "0"]], "conditions": {"max_signals": 2},
     "channel": [["1", "0", "0"], ["1", "0", "0"], ["0", "0", "1"]],
     "prices": {"min_eve_risk": "0", "max_bob_risk": "0"}, "privacy": [],
     "branches": [{"signals": [0, 1], "u": [["1/3", "0"], ["0", "1/3"]], "privacy": []},
                  {"signals": [0, 2], "u": [["0", "1/3"], ["0", "1/3"]], "privacy": []},
                  {"signals": [1, 2], "u": [["0", "1/3"], ["1/3", "0"]], "privacy": []}]},
    {"lambda": "1/3", "value": "1/114",
     "rho": [["1/2", "0", "0", "0", "0", "0"], ["1/6", "0", "0", "3/19", "0", "1/114"],
             ["0", "0", "0", "0", "0", "1/6"]],
     "u": [["0", "0"], ["5/11", "0"], ["0", "10/21"], ["0", "0"], ["0", "10/19"], ["10/19", "0"]],
     "conditions": {"min_eve_risk": "1/2", "margin": "1/10"},
     "channel": [["1", "0", "0", "0", "0", "0"], ["1/2", "0", "0", "9/19", "0", "1/38"],
                 ["0", "0", "0", "0", "0", "1"]],
     "prices": {"min_eve_risk": "1/6", "max_bob_risk": "0"}, "privacy": [], "obedience": [["0", "0", "0"]] * 6},
    {"lambda": "1/3", "value": "37/90", "rho": [["2/5", "1/10", "0"], ["1/5", "2/15", "0"], ["1/10", "1/15", "0"]],
     "u": [["1/5", "2/15"], ["0", "1/3"], ["1/5", "2/15"]], "conditions": {"max_bob_risk": "4/5", "exp_epsilon": "2"},
     "channel": [["4/5", "1/5", "0"], ["3/5", "2/5", "0"], ["3/5", "2/5", "0"]],
     "prices": {"min_eve_risk": "0", "max_bob_risk": "0"}, "privacy": [[1, 1, 0, "1/5"], [2, 2, 0, "1/3"]]},
]  # fmt: skip


@pytest.mark.parametrize("document", OLD)
def test_certificates_of_earlier_versions_still_verify(document: dict[str, Any], tmp_path: Path) -> None:
    problem = Problem(["1/2", "1/3", "1/6"], [[0, 1, 2], [1, 0, 1], [2, 2, 0]], [[0, 1], [2, 0], [1, 1]])
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(document))
    certificate = load_certificate(path)
    assert verify(problem, certificate)
    assert solve(problem, "1/3", conditions=Conditions(**document["conditions"])).value == certificate.value
    save_certificate(path, certificate)
    assert {key: value for key, value in json.loads(path.read_text()).items() if key != "branches"}.items() >= {
        key: document[key] for key in ("conditions", "channel", "prices", "u")
    }.items()


def test_branches_on_states_survive_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(3)
    bob, eve = (random.integers(0, 9, (9, 3)).tolist() for _ in range(2))
    problem = Problem([F(1, 9)] * 9, bob, eve)
    monkeypatch.setitem(limits._LIMITS, "maps", 1)
    solution = solve(problem, 2, conditions=Conditions(deterministic=True, min_eve_risk=2))
    proof = solution.certificate.proof
    assert proof is not None
    assert len(proof.branches) > 1
    save_certificate(tmp_path / "c.json", solution.certificate)
    again = load_certificate(tmp_path / "c.json")
    assert verify(problem, again)
    assert again.proof is not None
    for k in range(len(again.proof.branches)):
        fewer = (*again.proof.branches[:k], *again.proof.branches[k + 1 :])
        assert not verify(problem, replace(again, proof=replace(again.proof, branches=fewer)))


def test_branches_that_prove_nothing_are_refused() -> None:
    problem = Problem(["1/2", "1/3", "1/6"], [[0, 1, 2], [1, 0, 1], [2, 2, 0]], [[0, 1], [2, 0], [1, 1]]).as_float()
    certificate = solve(problem, 1 / 3, conditions=Conditions(max_signals=2)).certificate
    proof = certificate.proof
    assert proof is not None
    assert verify(problem, certificate)
    first = proof.branches[0]
    nan = replace(first, multipliers=Multipliers(first.multipliers.u * np.nan, first.multipliers.prices))
    for wrong in (nan, replace(first, void=True), replace(first, keep=()), replace(first, keep=(0, 9))):
        changed = replace(proof, branches=(wrong, *proof.branches[1:]))
        assert not verify(problem, replace(certificate, proof=changed))


def test_every_condition_of_the_table_is_stated_by_a_field() -> None:
    fields = set(Conditions.__dataclass_fields__)
    assert all(set(kind.numbers) <= fields for kind in TABLE.values())
    assert list(TABLE) == [kind.name for kind in TABLE.values()]


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
