"""The least worst R_A over a set of priors: against brute force, closed forms and published results; and its proof."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable
from fractions import Fraction as F
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from tampering import alter, both, change, limited, refit

from bap_lp import (
    Agent,
    Conditions,
    InputError,
    PriorSet,
    Problem,
    calibrate,
    evaluate,
    load_bundle,
    load_problem,
    robust,
    save_bundle,
    solve,
    sweep,
    verify,
)
from bap_lp.files.problems import problem_from_dict
from bap_lp.support.clock import OutOfTime

COIN = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
LINE = [[0, 1, 2], [1, 0, 1], [2, 1, 0]]


def some(seed: int, states: int = 0) -> Problem:
    """A problem with small integers; some states may have probability zero."""
    draw = random.Random(seed)
    N, b, e = states or draw.randint(2, 4), draw.randint(2, 3), draw.randint(2, 3)
    weights = [draw.randint(1, 9), *(draw.randint(0, 9) for _ in range(N - 1))]
    table = lambda wide: [[draw.randint(0, 8) for _ in range(wide)] for _ in range(N)]  # noqa: E731
    return Problem([F(w, sum(weights)) for w in weights], table(b), table(e))


def ball(problem: Problem, r: F) -> tuple[PriorSet, list[tuple[list[F], F]]]:
    p, N = problem.prior, len(problem.prior)
    events = [[F(m >> x & 1) for x in range(N)] for m in range(1, 2**N - 1)]
    return PriorSet.total_variation(r), [(a, sum(map(F.__mul__, a, p)) + r) for a in events]


def box(problem: Problem, r: F) -> tuple[PriorSet, list[tuple[list[F], F]]]:
    lower, upper = ([max(F(0), v - r) for v in problem.prior], [v + r / 2 for v in problem.prior])
    unit = np.array([[F(x == y) for y in range(len(lower))] for x in range(len(lower))])
    rows = [*zip(unit.tolist(), upper, strict=True), *zip((-unit).tolist(), [-v for v in lower], strict=True)]
    return PriorSet.box(lower, upper), rows


def polytope(problem: Problem, r: F) -> tuple[PriorSet, list[tuple[list[F], F]]]:
    draw = random.Random(len(problem.prior))
    A = [[F(draw.randint(-4, 4)) for _ in problem.prior] for _ in range(3)]
    b = [sum(map(F.__mul__, row, problem.prior)) + r for row in A]
    return PriorSet.polytope(A, b), list(zip(A, b, strict=True))


def vertices(rows: list[tuple[list[F], F]], N: int) -> list[np.ndarray]:
    """All vertices of the distributions with a.p <= b: a solution of every system of N equations that is feasible."""
    A = np.array([[float(v) for v in a] for a, _ in rows] + (-np.eye(N)).tolist())
    b = np.array([float(v) for _, v in rows] + [0.0] * N)
    out: list[np.ndarray] = []
    for tight in itertools.combinations(range(len(A)), N - 1):
        system = np.vstack([np.ones(N), A[list(tight)]])
        if abs(np.linalg.det(system)) > 1e-9:
            p = np.linalg.solve(system, np.append(1, b[list(tight)]))
            if (A @ p <= b + 1e-9).all() and not any(np.allclose(p, other, atol=1e-9) for other in out):
                out.append(p)
    return out


def least_worst(problem: Problem, lam: float, priors: list[np.ndarray]) -> float:
    """min over q of the largest R_A under these priors, as a linear program of scipy's: q, Eve's t, and v."""
    N, b, e = problem.shape
    B, E, K = problem.B.astype(float), problem.E.astype(float), len(priors)
    size = N * b + K * b + 1
    rows = []
    for k, p in enumerate(priors):
        row = np.zeros(size)
        row[: N * b], row[N * b + k * b : N * b + (k + 1) * b], row[-1] = (p[:, None] * B).ravel(), -lam, -1
        rows.append(row)
        for i, j in itertools.product(range(b), range(e)):
            row = np.zeros(size)
            row[N * b + k * b + i] = 1
            row[i : N * b : b] = -p * E[:, j]
            rows.append(row)
    sums = np.hstack([np.kron(np.eye(N), np.ones(b)), np.zeros((N, K * b + 1))])
    cost, bounds = np.append(np.zeros(size - 1), 1), [(0, None)] * (N * b) + [(None, None)] * (K * b + 1)
    return float(linprog(cost, np.array(rows), np.zeros(len(rows)), sums, np.ones(N), bounds).fun)


def alice(problem: Problem, q: np.ndarray, lam: float, p: np.ndarray) -> float:
    """R_A by its definition, with a Bob who follows the signal."""
    rho = p[:, None] * q
    heard = rho.T @ problem.E.astype(float)
    return float((rho * problem.B.astype(float)).sum() - lam * heard.min(axis=1).sum())


def told(best: Any) -> np.ndarray:
    """The channel over all decisions of Bob."""
    out = np.zeros(best.problem.shape[:2])
    for s, name in enumerate(best.mechanism.signals):
        out[:, best.problem.bob_decisions.index(name)] = best.mechanism.q[:, s].astype(float)
    return out


@pytest.mark.parametrize("make", [ball, box, polytope])
@pytest.mark.parametrize("seed", range(8))
def test_the_value_is_that_of_a_linear_program_over_all_vertices(make: Callable[..., Any], seed: int) -> None:
    problem = some(seed)
    priors, rows = make(problem, F(1, 8))
    corners, lam = vertices(rows, len(problem.p)), seed % 3 + 1
    best = solve(problem, lam, priors=priors)
    assert best.gap == 0
    assert best.attained
    assert float(best.value) == pytest.approx(least_worst(problem, lam, corners), abs=1e-8)
    assert verify(problem, best.certificate).optimal


@pytest.mark.parametrize("seed", range(5))
def test_moved_mass_gives_the_value_of_a_program_with_the_coupling_spelt_out(seed: int) -> None:
    """The worst prior for every pair of replies by scipy, which moves mass by a linear program of its own."""
    problem = some(300 + seed, states=3)
    best, r = solve(problem, 1, priors=PriorSet.wasserstein("1/4", LINE)), 0.25
    q, B, E = told(best), problem.B.astype(float), problem.E.astype(float)
    worst = -np.inf
    stays = np.kron(np.eye(3), np.ones(3))
    for replies in itertools.product(range(E.shape[1]), repeat=B.shape[1]):
        c = (q * (B - E[:, replies])).sum(axis=1)
        cost = [np.array(LINE, float).ravel()]
        worst = max(worst, -linprog(-np.tile(c, 3), cost, [r], stays, problem.p.astype(float)).fun)
    assert worst == pytest.approx(float(best.value), abs=1e-9)
    assert verify(problem, best.certificate).optimal


def test_a_set_of_one_prior_is_the_problem_itself() -> None:
    for seed in range(5):
        problem = some(500 + seed)
        alone = [PriorSet.total_variation(0), PriorSet.vertices([problem.prior]), PriorSet.box(*[problem.prior] * 2)]
        for priors in alone:
            best = solve(problem, "1/2", priors=priors)
            assert best.value == solve(problem, "1/2").value
            assert best.worst_prior.tolist() == problem.prior.tolist()
            in_floats = solve(problem.as_float(), 0.5, priors=priors)
            assert in_floats.value == pytest.approx(float(best.value), abs=1e-9)


def test_larger_sets_are_worse_and_the_value_changes_by_no_more_than_the_losses_times_the_radius() -> None:
    """Hu and Weng (2018): vanishing ambiguity is no ambiguity."""
    for seed in range(6):
        problem = some(600 + seed, states=2)
        values = [solve(problem, 1, priors=PriorSet.total_variation(F(k, 40))).value for k in (0, 1, 2, 4, 8, 40)]
        assert values == sorted(values)
        most = max(map(max, problem.bob_loss)) + max(map(max, problem.eve_loss))
        for k, value in zip((1, 2, 4, 8, 40), values[1:], strict=True):
            assert value - values[0] <= 2 * most * F(k, 40)


def test_under_full_ambiguity_full_disclosure_is_optimal() -> None:
    """Hu and Weng (2018). Eve, who may know x, then loses min_j E(x,j): nothing is left to hide."""
    for seed in range(6):
        problem = some(700 + seed)
        full = max(min(b) - 2 * min(e) for b, e in zip(problem.bob_loss, problem.eve_loss, strict=True))
        assert solve(problem, 2, priors=PriorSet.total_variation(1)).value == full


@pytest.mark.parametrize(
    ("leakage", "worst"), [(1, F(11, 20)), ("3/2", F(23, 60)), (2, F(13, 60)), ("5/2", F(13, 120)), (3, F(0))]
)
def test_the_least_worst_distortion_under_maximal_leakage_is_that_of_the_flattest_prior(leakage: Any, worst: F) -> None:
    """Saeidian, Cervia, Oechtering, Skoglund (arXiv 2105.01033).

    With sum_x q(x|x) <= c the least distortion at a known prior is one minus its c largest probabilities, and over a
    set it is that of the prior for which these are least: 1/20 of mass moves from 1/2 to 1/6.
    """
    hamming = [[int(x != y) for y in range(3)] for x in range(3)]
    problem = Problem(["1/2", "1/3", "1/6"], hamming, [[0], [0], [0]])
    asked = Conditions(max_leakage=leakage)
    best = solve(problem, 0, conditions=asked, priors=PriorSet.total_variation("1/20"))
    assert best.value == worst
    assert best.gap == 0
    assert verify(problem, best.certificate).optimal
    uniform = solve(problem, 0, conditions=asked, priors=PriorSet.total_variation(1))
    assert uniform.value == 1 - F(leakage) / 3


@pytest.mark.parametrize(("states", "ratio"), [(2, 3), (3, 2), (4, "7/2")])
def test_the_least_worst_hamming_distortion_under_differential_privacy_is_known(states: int, ratio: Any) -> None:
    """Kalantari, Sankar, Sarwate (2018): over all sources exp(epsilon) = (M - 1) (1 - D) / D."""
    hamming = [[int(x != y) for y in range(states)] for x in range(states)]
    problem = Problem([1, *[0] * (states - 1)], hamming, [[0]] * states)
    best = solve(problem, 0, conditions=Conditions(exp_epsilon=ratio), priors=PriorSet.total_variation(1))
    assert best.value == F(states - 1) / (states - 1 + F(ratio))
    assert best.gap == 0


def test_bobs_who_know_the_prior_lose_less_and_no_less_where_they_all_decide_alike() -> None:
    alike = 0
    for seed in range(40):
        problem, other = some(800 + seed, states=3), some(900 + seed, states=3)
        rows = [problem.prior, other.prior]
        scenarios = [Problem(row, problem.bob_loss, problem.eve_loss) for row in rows]
        informed = robust(scenarios, 1)
        one_rule = solve(problem, 1, priors=PriorSet.vertices(rows))
        assert informed.value <= one_rule.value
        if all(len({*signal.split(" | ")}) == 1 for signal in informed.mechanism.signals):
            alike += 1
            assert informed.value == one_rule.value
    assert alike > 5


def test_states_without_probability_are_live_in_a_ball() -> None:
    problem = Problem([1, 0], [[0, 1], [5, 0]], [[0, 1], [1, 0]])
    best = solve(problem, 0, priors=PriorSet.total_variation("1/2"))
    assert (best.value, best.mechanism.q[1].tolist()) == (0, [0, 1])
    model = Problem.from_model(["1/2", "1/2"], [[1, 0], [1, 0]], [[0, 1], [1, 0]], [[0, 1], [1, 0]])
    with pytest.raises(InputError, match="priors reach state 1"):
        solve(model, 1, priors=PriorSet.total_variation("1/2"))
    assert solve(model, 1, priors=PriorSet.box(["1", "0"], ["1", "0"])).value == solve(model, 1).value


def test_several_agents_weights_and_knowledge_are_those_of_the_merged_problem() -> None:
    """Two Eves, one with knowledge, against the same losses written as one Eve per view, by brute force."""
    prior, bob = ["1/2", "1/4", "1/4"], [[0, 2], [1, 1], [3, 0]]
    eves = [
        Agent([[0, 1], [2, 0], [1, 1]], knows=[0, 0, 1], name="a"),
        Agent([[1, 0], [0, 1], [2, 1]], weight=2, name="b"),
    ]
    bobs = [Agent(bob, name="c"), Agent([[1, 0], [0, 1], [0, 1]], name="d", weight="1/2")]
    problem, priors = Problem(prior, bobs=bobs, eves=eves), PriorSet.total_variation("1/10")
    best = solve(problem, 1, priors=priors)
    assert verify(problem, best.certificate).optimal
    rows = ball(problem, F(1, 10))[1]
    q, B, E = told(best), problem.B.astype(float), problem.E.astype(float)
    values = []
    for p in vertices(rows, 3):
        heard = (p[:, None] * q).T @ E
        values.append((p[:, None] * q * B).sum() - sum(heard[:, g].min(axis=1).sum() for g in problem.eve_groups))
    assert max(values) == pytest.approx(float(best.value), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_conditions_hold_and_cost_something(seed: int) -> None:
    problem, priors = some(1000 + seed, states=3), PriorSet.total_variation("1/10")
    asked = Conditions(exp_epsilon=2)
    best = solve(problem, 1, conditions=asked, priors=priors)
    assert best.mechanism.max_ratio <= 2
    assert best.value >= best.unconstrained == solve(problem, 1, priors=priors).value
    assert [one.cost for one in best.costs()] == [best.price_of_conditions]
    assert verify(problem, best.certificate).optimal
    floor = solve(problem, 1, conditions=Conditions(min_eve_risk=0), priors=priors)
    assert floor.value == best.unconstrained


def test_conditions_that_cannot_hold_and_those_without_a_program_are_refused() -> None:
    priors = PriorSet.total_variation("1/20")
    with pytest.raises(InputError, match="min_eve_risk"):
        solve(COIN, "1/3", conditions=Conditions(min_eve_risk=5), priors=priors)
    for asked in ({"deterministic": True}, {"margin": "1/9"}):
        with pytest.raises(InputError, match=f"conditions.{next(iter(asked))}"):
            solve(COIN, "1/3", conditions=asked, priors=priors)
    stubborn = Problem(["1/2", "1/2"], [[0, 1], [1, 0]], eves=[Agent([[0, 1], [1, 0]], prior=["1/3", "2/3"])])
    with pytest.raises(InputError, match="priors"):
        solve(stubborn, 1, priors=priors)
    with pytest.raises(InputError, match="formulation"):
        solve(COIN, 1, formulation="paper", priors=priors)


def test_calibrated_is_about_the_own_prior_and_a_sweep_goes_over_lambda() -> None:
    priors = PriorSet.total_variation("1/20")
    assert solve(COIN, priors=priors).lam == calibrate(COIN)
    values = [best.value for best in sweep(["1/10", "1/3", "1/2", 2], partial(solve, COIN, priors=priors))]
    assert values[1] == F(12, 115)
    assert values == sorted(values, reverse=True)


def test_floats_state_their_gap_and_wide_scales_are_kept() -> None:
    for scale in (1e-9, 1.0, 1e9):
        problem = Problem(
            [0.2, 0.3, 0.5], np.array([[0, 1, 2], [1, 0, 1], [2, 2, 0]]) * scale, [[0, 3], [2, 0], [1, 1.0]]
        )
        best = solve(problem, 0.7 * scale, priors=PriorSet.total_variation(0.1))
        assert best.gap <= 1e-12 * scale
        assert verify(problem, best.certificate).optimal
        exact = solve(problem.rationalised(), str(0.7 * scale), priors=PriorSet.total_variation("0.1"))
        assert best.value == pytest.approx(float(exact.value), rel=1e-9)
    with pytest.raises(InputError, match="priors must be exact"):
        solve(COIN, 1, exact=True, priors=PriorSet.total_variation(0.1))


def test_a_search_that_is_cut_short_proves_an_upper_end_and_says_so(tmp_path: Path) -> None:
    """With one node the sum over open places is all that is known; both checkers accept it as an upper end."""
    draw = random.Random(5)
    table = [[[draw.randint(0, 8) for _ in range(3)] for _ in range(4)] for _ in range(2)]
    problem, priors = Problem(["1/4"] * 4, *table), PriorSet.total_variation("1/3")
    whole = solve(problem, 1, priors=priors)
    with limited("work=80"):
        best = solve(problem, 1, priors=priors)
        assert not best.attained
        assert best.value > whole.value
        assert best.value >= best.risks.alice(1)
        assert best.bound <= whole.value
        assert "above the largest R_A" in best.summary()
        verdict = verify(problem, best.certificate)
    assert verdict.ok
    assert not verdict.optimal
    assert verdict.reason.startswith("over all priors of the set R_A <= ")
    save_bundle(tmp_path / "b", best)
    assert both(tmp_path / "b") == (True, True)


@pytest.mark.parametrize("kind", ["ball", "box", "moved"])
def test_ties_at_many_states_still_close_the_gap(kind: str) -> None:
    """Where many states are mixed, a vertex of the set for each of them would be listed; few tuples of replies bind."""
    draw = random.Random(11)
    N = 30
    prior = [F(w, 300) for w in [10] * N]
    tables = [[[draw.randint(0, 3) for _ in range(3)] for _ in range(N)] for _ in range(2)]
    line = [[F(abs(x - y), 10) for y in range(N)] for x in range(N)]
    sets = {
        "ball": PriorSet.total_variation("1/20"),
        "box": PriorSet.box(["1/60"] * N, ["1/15"] * N),
        "moved": PriorSet.wasserstein("1/20", line),
    }
    best = solve(Problem(prior, *tables), 1, priors=sets[kind])
    assert (best.gap, best.attained) == (0, True)
    assert verify(best.problem, best.certificate).optimal
    near = solve(Problem(prior, *tables).as_float(), 1.0, priors=sets[kind])
    assert near.value == pytest.approx(float(best.value), abs=1e-9)
    assert near.gap < 1e-9


def test_time_limits_end_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Floats give the best pair so far, with a gap that holds; an exact optimum has nothing to show before the end."""
    problem, priors = some(1106, states=5), PriorSet.total_variation("1/5")
    with pytest.raises(TimeoutError):
        solve(problem, 1, priors=priors, time_limit=0)
    from bap_lp.engines.linear import highs
    from bap_lp.questions import prior_sets

    def late(solver: Any, count: list[int] = [0]) -> None:  # noqa: B006
        count[0] += 1
        if count[0] > 1:
            raise OutOfTime("late")
        highs.run(solver)

    best = solve(problem, 1, exact=False, priors=priors)
    monkeypatch.setattr(prior_sets, "run", late)
    stopped = solve(problem, 1, exact=False, priors=priors)
    assert "stopped before the optimum" in stopped.method
    assert stopped.value - stopped.gap <= best.value <= stopped.value
    assert verify(problem, stopped.certificate).ok


def test_agents_who_report_probabilities_are_refused() -> None:
    problem = Problem(["1/2", "1/2"], [[0, 1], [1, 0]], eves=[Agent("log")])
    with pytest.raises(InputError, match="with tables of losses"):
        solve(problem, 1, priors=PriorSet.total_variation("1/20"))


def test_many_vertices_are_added_on_demand() -> None:
    draw = random.Random(7)
    rows = [[draw.randint(1, 9) for _ in range(3)] for _ in range(40)]
    problem, corners = some(1200, states=3), [[F(v, sum(row)) for v in row] for row in rows]
    best = solve(problem, 1, priors=PriorSet.vertices(corners))
    value = least_worst(problem, 1, [np.array(p, dtype=float) for p in corners])
    assert float(best.value) == pytest.approx(value, abs=1e-9)
    assert verify(problem, best.certificate).optimal


SETS = {
    "ball": PriorSet.total_variation("1/10"),
    "box": PriorSet.box(["1/3", "1/4", 0], ["2/3", 1, "1/3"]),
    "hull": PriorSet.vertices([["1/2", "1/4", "1/4"], ["1/3", "1/3", "1/3"]]),
    "polytope": PriorSet.polytope([[1, -1, 0], [-1, 0, 0], [0, 0, 1]], ["1/3", "-1/3", "1/4"]),
    "moved": PriorSet.wasserstein("1/10", LINE),
}
THREE = Problem(["1/2", "1/3", "1/6"], [[0, 1, 2], [1, 0, 1], [2, 2, 0]], [[0, 3], [2, 0], [3, 0]])


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    out = {name: tmp_path_factory.mktemp("bundles") / name for name in SETS}
    for name, folder in out.items():
        save_bundle(folder, solve(THREE, 1, priors=SETS[name]))
        assert both(folder) == (True, True)
    return out


def copied(source: Path, target: Path) -> dict[str, Any]:
    target.mkdir(exist_ok=True)
    for file in source.iterdir():
        (target / file.name).write_bytes(file.read_bytes())
    return {file.stem: json.loads(file.read_text()) for file in target.iterdir()}


@pytest.mark.parametrize("name", SETS)
def test_a_larger_set_in_both_files_a_lower_value_or_a_prior_outside_is_refused(
    name: str, bundles: dict[str, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "b"
    parts = copied(bundles[name], folder)
    more: dict[str, Any] = {
        "ball": {"total_variation": "1/5"},
        "box": {"lower": ["0", "0", "0"], "upper": ["1", "1", "1/2"]},
        "hull": {"vertices": [["1/2", "1/4", "1/4"], ["1/3", "1/3", "1/3"], ["0", "1/2", "1/2"]]},
        "polytope": {"polytope": {"A": [["1", "-1", "0"], ["-1", "0", "0"], ["0", "0", "1"]], "b": ["1", "0", "1/2"]}},
        "moved": {"wasserstein": {"radius": "1/2", "metric": [[str(v) for v in row] for row in LINE]}},
    }[name]
    change(folder, "problem.json", priors=more)
    assert both(folder) == (False, False)
    change(folder, "certificate.json", priors=more)
    assert solve(THREE, 1, priors=more).value > F(parts["certificate"]["value"])
    assert both(folder) == (False, False)
    for changes in (
        {"value": str(F(parts["certificate"]["value"]) - F(1, 1000))},
        {"listed": [["0", "0", "1"], *parts["certificate"]["listed"][1:]]},
        {"listed": [["2", "-1", "0"], *parts["certificate"]["listed"][1:]]},
        {"listed": [["1/2", "1/2"]]},
        {"weights": {"priors": {"shape": [len(parts["certificate"]["listed"])], "at": []}}},
        {"witness": [["-1", "0"], ["0", "0"]]},
        {"kind": "release"},
    ):
        copied(bundles[name], folder)
        change(folder, "certificate.json", **changes)
        assert both(folder) == (False, False), changes


@pytest.mark.parametrize(
    "metric", [[[0, 1, 3], [1, 0, 1], [3, 1, 0]], [[0, 1, 2], [1, 0, 1], [1, 1, 0]], [[0, 1], [1, 0]]]
)
def test_moves_along_what_is_no_metric_are_refused(metric: Any, bundles: dict[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "b"
    copied(bundles["moved"], folder)
    table = {"wasserstein": {"radius": "1/10", "metric": [[str(v) for v in row] for row in metric]}}
    for file in ("problem.json", "certificate.json"):
        change(folder, file, priors=table)
    assert both(folder) == (False, False)


@pytest.mark.parametrize(
    "junk", [None, 1, [], [[]], {}, "x", {"total_variation": None}, {"lower": 3}, {"polytope": [1]}]
)
def test_junk_in_the_place_of_a_set_is_refused_by_both_checkers(
    junk: Any, bundles: dict[str, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "b"
    copied(bundles["ball"], folder)
    for file in ("problem.json", "certificate.json"):
        change(folder, file, priors=junk)
    assert both(folder) == (False, False)


@settings(max_examples=60)
@given(st.data())
def test_both_checkers_judge_changed_certificates_alike(bundles: dict[str, Path], data: st.DataObject) -> None:
    import tempfile

    name = data.draw(st.sampled_from(sorted(SETS)))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        parts = copied(bundles[name], folder)
        file = data.draw(st.sampled_from(["certificate", "problem"]))
        alter(parts[file], data)
        (folder / f"{file}.json").write_text(json.dumps(parts[file]))
        refit(folder)
        ours, theirs = both(folder)
        assert ours == theirs
        if ours:  # a proof of something true
            bundle = load_bundle(folder)
            best = solve(bundle.problem, bundle.lam, priors=bundle.problems[0].priors)
            assert bundle.certificate.value >= best.value >= bundle.certificate.value - bundle.certificate.gap


BAD: list[tuple[Any, str]] = [  # and the field that is named
    ({"total_variation": "-1/20"}, "priors.total_variation"),
    ({"total_variation": 2}, "priors.total_variation"),
    ({"total_variation": "wide"}, "priors.total_variation"),
    ({"total_variation": float("nan")}, "priors.total_variation"),
    ({"lower": ["2/3", "2/3"]}, "sum of priors.lower"),
    ({"upper": ["1/3", "1/3"]}, "sum of priors.upper"),
    ({"lower": ["1/2", 0], "upper": ["1/3", 1]}, "priors.lower[0]"),
    ({"lower": ["1/2"]}, "priors.lower"),
    ({"lower": ["1/2", 0], "upper": [1]}, "priors.upper"),
    ({"vertices": [["1/2", "1/3"]]}, "sum of priors.vertices[0]"),
    ({"vertices": []}, "priors.vertices"),
    ({"vertices": [[1]]}, "priors.vertices[0]"),
    ({"polytope": {"A": [[1, 1]], "b": ["1/2"]}}, "priors.polytope"),
    ({"polytope": {"A": [[1, 1]], "b": [1, 2]}}, "priors.polytope.b"),
    ({"polytope": {"A": [[1]], "b": [1]}}, "priors.polytope.A[0]"),
    ({"polytope": {"A": [[1, 1]]}}, "priors.polytope"),
    ({"wasserstein": {"radius": -1, "metric": [[0, 1], [1, 0]]}}, "priors.wasserstein.radius"),
    ({"wasserstein": {"radius": 1, "metric": [[0, 1], [2, 0]]}}, "priors.wasserstein.metric[0][1]"),
    ({"wasserstein": {"radius": 1, "metric": [[1, 1], [1, 0]]}}, "priors.wasserstein.metric[0][0]"),
    ({"wasserstein": {"radius": 1, "metric": [[0, 1, 3], [1, 0, 1], [3, 1, 0]]}}, "priors.wasserstein.metric[0][2]"),
    ({"wasserstein": {"radius": 1, "metric": [[0, 1]]}}, "priors.wasserstein.metric"),
    ({"total_variatoin": "1/20"}, "priors.total_variatoin"),
    ({"total_variation": "1/20", "vertices": [[1, 0]]}, "priors.total_variation and vertices"),
    ({}, "priors.table"),
]


@pytest.mark.parametrize(("table", "field"), BAD)
def test_a_bad_set_is_refused_in_one_line_with_its_field(table: Any, field: str) -> None:
    with pytest.raises(InputError) as refused:
        solve(COIN, "1/3", priors=table)
    assert refused.value.field == field
    assert "\n" not in str(refused.value)


def test_a_set_that_is_no_set_is_refused() -> None:
    with pytest.raises(InputError, match=r"^priors = .* must be a table"):
        solve(COIN, "1/3", priors="1/20")


@pytest.mark.parametrize("priors", SETS.values(), ids=list(SETS))
def test_a_set_survives_its_file(priors: PriorSet, tmp_path: Path) -> None:
    from bap_lp.files.problems import problem_document
    from bap_lp.support.documents import dumps

    document = problem_document(THREE) | {"priors": priors.document()}
    (tmp_path / "three.json").write_text(dumps(document))
    found = load_problem(tmp_path / "three.json")
    assert found.priors == priors
    assert hash(found.priors) == hash(priors)
    assert found.priors != PriorSet.total_variation("1/11")
    with pytest.raises(InputError, match=r"three: priors.total_variation = 3 must be at most 1"):
        problem_from_dict(document | {"priors": {"total_variation": 3}}, "three")


def test_a_float_condition_at_its_edge_is_met_exactly_over_a_set_of_priors() -> None:
    bob, eve = [[3.0, 0.0], [2.0, 3.0], [2.0, 3.0]], [[1.0, 0.0], [1.0, 3.0], [2.0, 1.0]]
    problem = Problem([3 / 8, 3 / 8, 1 / 4], bob, eve)
    found = solve(problem, 1.0, conditions={"min_eve_risk": 1.25}, priors={"total_variation": 0.1})
    assert verify(problem, found.certificate)
    assert evaluate(problem, found.mechanism).risks.eve == pytest.approx(1.25)


@pytest.mark.parametrize("exact", [True, False])
def test_a_condition_whose_numbers_highs_cannot_take_is_met_over_a_set_of_priors(exact: bool) -> None:
    problem = Problem(["1/2", "1/2"], [[0, 1], [1, 0]], [[1, 10**17], [3, 10**15]])
    found = solve(problem, 1, exact, conditions={"min_eve_risk": 2}, priors={"total_variation": "1/2"})
    assert verify(problem, found.certificate)
    assert (found.value, found.gap) == (-1, 0)
