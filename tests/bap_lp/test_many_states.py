"""The game against a general solver on the compact program: values, vertices, ties, interrupts, chunks, workers."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sparse
from clusters import local_client
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from bap_lp import solve
from bap_lp.engines.many_states import solve_game

Array = np.ndarray
Game = tuple[Array, Array, Array, tuple[slice, ...], float]


def compact(p: Array, B: Array, E: Array, groups: tuple[slice, ...], lam: float) -> tuple[Array, Array, Array]:
    """Costs, matrix and right side of the compact program with slacks: columns rho, t, slack; rows marginals, Eve."""
    n, b = B.shape
    e, G = E.shape[1], len(groups)
    member = np.zeros((G, e))
    for g, part in enumerate(groups):
        member[g, part] = 1.0
    marginal = np.kron(np.eye(n), np.ones((1, b)))
    eve = np.zeros((b, e, n, b))
    for i in range(b):
        eve[i, :, :, i] = E.T
    t = -np.kron(np.eye(b), member.T)
    top = np.hstack([marginal, np.zeros((n, b * G + b * e))])
    bottom = np.hstack([eve.reshape(b * e, n * b), t, -np.eye(b * e)])
    costs = np.concatenate([B.ravel(), np.full(b * G, -lam), np.zeros(b * e)])
    return costs, np.vstack([top, bottom]), np.concatenate([p, np.zeros(b * e)])


def reference(game: Game) -> float:
    # a general solver has absolute tolerances: losses of order one
    p, B, E, groups, lam = game
    unit = max(float(np.abs(B).max()), float(np.abs(E).max())) or 1.0
    costs, matrix, right = compact(p, B / unit, E / unit, groups, lam)
    n, b = B.shape
    free = b * len(groups)
    bounds = [(0, None)] * (n * b) + [(None, None)] * free + [(0, None)] * (len(costs) - n * b - free)
    return unit * float(linprog(costs, A_eq=sparse.csc_array(matrix), b_eq=right, bounds=bounds, method="highs").fun)


def spread(game: Game) -> float:
    _, B, E, _, lam = game
    return max(float(np.ptp(B, axis=1).max()), lam * float(np.ptp(E, axis=1).max()), float(np.abs(B).max()))


def check(game: Game, found: Any) -> None:
    p, B, E, groups, lam = game
    tol = 1e-9 * max(spread(game), lam * float(np.abs(E).max()))
    assert (found.rho >= 0).all()
    np.testing.assert_allclose(found.rho.sum(axis=1), p, rtol=1e-12)
    assert (found.u >= 0).all()
    for part in groups:
        np.testing.assert_allclose(found.u[:, part].sum(axis=1), lam, rtol=1e-12)
    rows = found.rho.T @ E
    eve = sum(rows[:, part].min(axis=1).sum() for part in groups)
    assert found.value == pytest.approx(float((B * found.rho).sum() - lam * eve), abs=tol)
    assert found.bound == pytest.approx(float(p @ (B - E @ found.u.T).min(axis=1)), abs=tol)
    assert abs(found.gap) <= tol
    assert found.vertex


def check_basis(game: Game, found: Any) -> None:
    """The basis is square and regular; its primal and dual solutions are feasible and agree with rho."""
    p, B, E, _, _ = game
    costs, matrix, right = compact(*game)
    basic = np.concatenate([found.basic_columns.ravel(), found.basic_t.ravel(), found.basic_slack.ravel()])
    assert basic.sum() == len(p) + B.shape[1] * E.shape[1]
    assert found.basic_columns.any(axis=1).all()
    square = matrix[:, basic]
    x = np.zeros(len(costs))
    x[basic] = np.linalg.solve(square, right)
    reduced = costs - matrix.T @ np.linalg.solve(square.T, costs[basic])
    free = np.zeros(len(costs), dtype=bool)
    free[B.size : B.size + found.basic_t.size] = True
    tol = 1e-8 * max(1.0, spread(game))
    assert x[~free].min() >= -tol
    assert reduced.min() >= -tol
    np.testing.assert_allclose(x[: B.size].reshape(B.shape), found.rho, atol=tol)


def dense(n: int, b: int, e: int, seed: int = 0, lam: float = 1.0) -> Game:
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(n)), rng.random((n, b)), rng.random((n, e)), (slice(0, e),), lam


@st.composite
def games(draw: st.DrawFn) -> Game:
    """Small games rich in ties: integer losses, integer prior weights, lam from a short list, one or two Eves."""
    n, b, e = draw(st.integers(1, 9)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    top = draw(st.sampled_from([1, 3, 1000]))
    whole = st.integers(-top, top)
    B = np.array(draw(st.lists(whole, min_size=n * b, max_size=n * b)), dtype=float).reshape(n, b)
    E = np.array(draw(st.lists(whole, min_size=n * e, max_size=n * e)), dtype=float).reshape(n, e)
    weight = np.array(draw(st.lists(st.integers(1, 5), min_size=n, max_size=n)), dtype=float)
    cut = draw(st.integers(0, e - 1))
    groups = (slice(0, e),) if cut == 0 else (slice(0, cut), slice(cut, e))
    return weight / weight.sum(), B, E, groups, draw(st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.0]))


@pytest.mark.slow
@settings(max_examples=150)
@given(games())
def test_small_games_end_at_an_optimal_vertex(game: Game) -> None:
    found = solve_game(*game)
    check(game, found)
    check_basis(game, found)
    assert found.value == pytest.approx(reference(game), abs=1e-7 * max(1.0, spread(game)))


def families() -> Iterator[tuple[str, Game]]:
    n, b, e = 120, 4, 5
    rng = np.random.default_rng(5)
    p, B, E, one, lam = dense(n, b, e)
    uniform = np.full(n, 1 / n)
    bits = (rng.random((n, b)) < 0.5).astype(float), (rng.random((n, e)) < 0.5).astype(float)
    whole = rng.integers(0, 4, (n, b)).astype(float), rng.integers(0, 4, (n, e)).astype(float)
    copies = np.arange(n) % 12
    tiny = np.where(np.arange(n) % 3 == 0, 1e-12, 1.0) * p
    halves = (slice(0, 2), slice(2, e))
    yield "random", (p, B, E, one, lam)
    yield "two Eves", (p, B, E, halves, lam)
    yield "0-1", (p, *bits, one, lam)
    yield "0-1, uniform prior", (uniform, *bits, one, 0.5)
    yield "0-1, two Eves", (uniform, *bits, halves, lam)
    yield "integers", (uniform, *whole, one, lam)
    yield "copies", (uniform, B[copies], E[copies], one, lam)
    yield "copies of bits", (p, bits[0][copies], bits[1][copies], one, lam)
    yield "no Eve", (p, B, E, one, 0.0)
    yield "all constant", (p, B * 0 + 1, E * 0 + 1, one, lam)
    yield "Bob indifferent", (p, B * 0, E, one, lam)
    yield "Eve indifferent", (p, B, E * 0, one, lam)
    yield "large losses", (p, B * 1e6, E * 1e6, one, lam)
    yield "small losses", (p, B * 1e-6, E * 1e-6, one, lam)
    yield "small lam", (p, B, E, one, 1e-6)
    yield "large lam", (p, B, E, one, 1e4)
    yield "tiny priors", (tiny / tiny.sum(), B, E, one, lam)
    yield "same losses", (uniform, B, np.hstack([B, B[:, :1]]), one, lam)
    yield "one decision", (p, B[:, :1], E, one, lam)
    yield "one reply", (p, B, E[:, :1], (slice(0, 1),), lam)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "game"), list(families()), ids=lambda v: v if isinstance(v, str) else "")
def test_games_of_every_kind_end_at_an_optimal_vertex(name: str, game: Game) -> None:
    found = solve_game(*game)
    check(game, found)
    if name != "tiny priors":
        check_basis(game, found)
    assert found.value == pytest.approx(reference(game), rel=1e-7, abs=1e-7 * spread(game))


@pytest.mark.slow
@pytest.mark.parametrize("size", [(700, 5, 5), (400, 8, 8), (300, 2, 12), (300, 12, 2)])
def test_dense_games_end_at_an_optimal_vertex(size: tuple[int, int, int]) -> None:
    game = dense(*size)
    found = solve_game(*game)
    check(game, found)
    check_basis(game, found)
    assert found.value == pytest.approx(reference(game), abs=1e-7)


def test_a_game_at_a_breakpoint_ends_at_an_optimal_vertex() -> None:
    """V is piecewise linear with slope -R_E; where the lines of two solutions meet on V the optimum is a segment."""
    p, B, E, groups, _ = dense(40, 3, 3)

    def line(lam: float) -> tuple[float, float]:
        found = solve_game(p, B, E, groups, lam)
        eve = float((found.rho.T @ E).min(axis=1).sum())
        return found.value + lam * eve, eve

    met = 0
    pairs = [(line(0.0), line(5.0))]
    while pairs and met < 4:
        left, right = pairs.pop()
        lam = (right[0] - left[0]) / (right[1] - left[1])
        game = p, B, E, groups, lam
        found = solve_game(*game)
        check(game, found)
        check_basis(game, found)
        if found.value > left[0] - lam * left[1] - 1e-12:
            met += 1
        else:
            middle = line(lam)
            pairs += [(left, middle), (middle, right)]
    assert met >= 2


def test_a_large_game_is_learned_on_a_sample() -> None:
    game = dense(60_000, 3, 3)
    found = solve_game(*game)
    check(game, found)
    assert found.basic_columns.sum() + found.basic_t.sum() + found.basic_slack.sum() == 60_000 + 9


@pytest.mark.parametrize("levels", [2, 3])
def test_a_large_game_with_many_ties_ends_at_an_optimal_vertex(levels: int) -> None:
    rng = np.random.default_rng(1)
    B, E = (rng.integers(0, levels, (5000, k)).astype(float) for k in (6, 7))
    game = np.full(5000, 1 / 5000), B, E, (slice(0, 7),), 1.0
    check(game, solve_game(*game))


def test_inputs_are_left_alone() -> None:
    game = dense(1, 3, 2)
    before = [part.copy() for part in game[:3]]
    solve_game(*game)
    for part, copy in zip(game[:3], before, strict=True):
        np.testing.assert_array_equal(part, copy)


@pytest.mark.parametrize("size", [(500, 4, 4), (45_000, 2, 3)])
@pytest.mark.parametrize("after", [1, 5])
def test_an_interrupt_returns_a_certified_pair(size: tuple[int, int, int], after: int) -> None:
    game = dense(*size)
    seen = []

    def stop(iteration: int, bound: float, value: float) -> None:
        seen.append((bound, value))
        if iteration == after:
            raise KeyboardInterrupt

    found = solve_game(*game, progress=stop)
    optimum = solve_game(*game).value
    assert not found.vertex
    assert found.bound <= optimum + 1e-12 <= found.value + 2e-12
    np.testing.assert_allclose(found.rho.sum(axis=1), game[0])
    assert all(bound <= optimum + 1e-12 and value >= optimum - 1e-12 for bound, value in seen)


def test_progress_ends_with_the_answer() -> None:
    seen: list[tuple[int, float, float]] = []
    found = solve_game(*dense(500, 4, 4), progress=lambda *args: seen.append(args))
    assert seen[-1] == (found.iterations, found.bound, found.value)


def chunked(game: Game, count: int, wrap: Callable[[tuple[Array, ...]], object] = lambda block: block) -> list[object]:
    cuts = np.array_split(np.arange(len(game[0])), count)
    return [wrap(tuple(part[cut] for part in game[:3])) for cut in cuts]


def attained(game: Game, q: Array) -> float:
    p, B, E, groups, lam = game
    rho = q * p[:, None]
    rows = rho.T @ E
    return float((B * rho).sum() - lam * sum(rows[:, part].min(axis=1).sum() for part in groups))


@pytest.mark.slow
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("size", [(300, 3, 4), (90_000, 3, 2)])
def test_chunks_give_the_same_optimum(size: tuple[int, int, int], ties: bool) -> None:
    p, B, E, groups, lam = dense(*size)
    game = (p, np.round(B), np.round(E), groups, lam) if ties else (p, B, E, groups, lam)
    whole = solve_game(*game)
    found = solve(chunked(game, 7), lam)
    assert found.states == size[0]
    assert abs(found.gap) <= 1e-9
    assert found.value == pytest.approx(whole.value, abs=1e-9)
    assert attained(game, found.rule.channel(game[1], game[2])) == pytest.approx(found.value, abs=1e-12)
    assert game[0] @ (game[1] - game[2] @ found.u.T).min(axis=1) == pytest.approx(found.bound, abs=1e-12)


def test_interrupted_chunks_return_a_certified_answer() -> None:
    game = dense(90_000, 3, 2)

    def stop(iteration: int, bound: float, value: float) -> None:
        raise KeyboardInterrupt

    found = solve(chunked(game, 4), 1.0, progress=stop)
    assert found.iterations == 1
    assert found.bound <= solve_game(*game).value <= found.value + 1e-12


def test_workers_give_the_same_digits() -> None:
    game = dense(5000, 3, 3)
    alone = solve(chunked(game, 4), 1.0)
    with local_client() as client:
        found = solve(chunked(game, 4), 1.0, client=client)
        futures = client.scatter(chunked(game, 4, lambda block: lambda: block))
        again = solve(futures, 1.0, client=client)
    for other in (found, again):
        assert (other.value, other.bound) == (alone.value, alone.bound)
        np.testing.assert_array_equal(other.u, alone.u)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two worker processes that are started again when they die."""
    with local_client(processes=True) as client:
        yield client


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["arrays", "loaders", "futures"])
def test_a_lost_worker_is_made_up_for(cluster: Any, kind: str) -> None:
    game = dense(30_000, 3, 3)
    alone = solve(chunked(game, 4), 1.0)
    blocks: Any = chunked(game, 4, (lambda block: lambda: block) if kind == "loaders" else lambda block: block)
    if kind == "futures":
        blocks = [cluster.submit(lambda block=block: block, pure=False) for block in chunked(game, 4)]
    killed: list[int] = []

    def kill(iteration: int, bound: float, value: float) -> None:
        if not killed:
            killed.extend(list(cluster.run(os.getpid).values())[:1])
            os.kill(killed[0], signal.SIGKILL)

    found = solve(blocks, 1.0, client=cluster, progress=kill)
    assert killed
    assert (found.value, found.bound) == (alone.value, alone.bound)


@pytest.mark.slow
def test_a_lost_cluster_leaves_the_best_certified_answer(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bap_lp.engines.block_workers._PATIENCE", 1.0)
    game = dense(30_000, 3, 3)

    def close(iteration: int, bound: float, value: float) -> None:
        cluster.cluster.scale(0)
        while cluster.scheduler_info()["workers"]:
            time.sleep(0.1)

    found = solve(chunked(game, 4), 1.0, client=cluster, progress=close)
    assert found.iterations == 1
    assert found.bound <= solve_game(*game).value <= found.value + 1e-12


def test_chunks_out_of_time_return_the_best_certified_answer() -> None:
    game = dense(20_000, 3, 2)
    best = solve(chunked(game, 4), 1.0)
    found = solve(chunked(game, 4), 1.0, time_limit=0)
    assert found.iterations == 1 < best.iterations
    assert found.bound <= best.value <= found.value + 1e-12
