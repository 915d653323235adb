"""Published theorems about privacy and information design, each over a family of instances with tolerance zero.

One of them is a linear program without a closed form: it is solved as published, by another solver in floats.

docs/literature.md has the table; `test_the_page_states_numbers_that_are_true` recomputes every number on it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction as F
from itertools import chain, combinations, product
from math import prod
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from bap_lp import Agent, Conditions, Mechanism, Problem, Solution, evaluate, sdc, solve, verify
from bap_lp.releases import randomised_response, randomised_response_epsilon, truncated_geometric

RATIOS = (F(1), F(3, 2), F(2), F(7, 2), F(9))
PAGE = (Path(__file__).parents[2] / "docs" / "literature.md").read_text(encoding="utf-8")


def prior(rng: Random, size: int, low: int = 0) -> list[F]:
    weights = [0]
    while not any(weights):
        weights = [rng.randrange(low, 9) for _ in range(size)]
    return [F(w, sum(weights)) for w in weights]


def alone(p: list[Any], loss: list[list[Any]]) -> Problem:
    """A problem without an Eve to speak of: she has one decision, and it costs her nothing."""
    return Problem(p, loss, [[0]] * len(p))


def hamming(size: int) -> list[list[int]]:
    return [[int(x != y) for y in range(size)] for x in range(size)]


def proved(problem: Problem, lam: Any = 0, **wanted: Any) -> Solution:
    best = solve(problem, lam, conditions=Conditions(**wanted) if wanted else None)
    assert best.exact
    assert best.gap == 0
    assert verify(best.problem, best.certificate)
    return best


# Ghosh, Roughgarden, Sundararajan (2012), Universally utility-maximizing privacy mechanisms, Theorem 3.2


def geometric_claim(p: list[F], loss: Callable[[int], F], K: F) -> tuple[F, F]:
    """The least risk under chain DP, and the Bayes risk of the truncated geometric mechanism, remapped."""
    n = len(p)
    problem = alone(p, [[loss(abs(i - r)) for r in range(n)] for i in range(n)])
    neighbours = [(x, x + 1) for x in range(n - 1)]
    found = proved(problem, exp_epsilon=K, neighbours=neighbours).risks.bob
    return found, evaluate(problem, truncated_geometric(problem, 1 / K)).bob


@pytest.mark.parametrize("K", RATIOS)
def test_the_truncated_geometric_mechanism_is_universally_optimal_for_counts(K: F) -> None:
    rng = Random(int(100 * K))
    losses: list[Callable[[int], F]] = [
        lambda d: F(d),
        lambda d: F(d * d),
        lambda d: F(int(d > 0)),
        lambda d: F(min(d, 2)),
        lambda d: F(int(d > 1)),
    ]
    for loss in losses:
        found, claimed = geometric_claim(prior(rng, rng.randrange(2, 6)), loss, K)
        assert found == claimed


# Kairouz, Oh, Viswanath (2014), Extremal mechanisms for local differential privacy, Theorem 2 and Corollary 3


def hypotheses_claim(P0: list[F], P1: list[F], K: F) -> tuple[F, F]:
    problem = Problem.from_model(["1/2", "1/2"], [P0, P1], bob_loss=[[0, 1], [1, 0]], eve_loss=[[0]] * len(P0))
    variation = sum(abs(a - b) for a, b in zip(P0, P1, strict=True)) / 2
    return proved(problem, exp_epsilon=K).risks.bob, F(1, 2) * (1 - (K - 1) / (K + 1) * variation)


@pytest.mark.parametrize("K", RATIOS)
def test_two_hypotheses_are_told_apart_as_well_as_total_variation_allows(K: F) -> None:
    rng = Random(int(7 * K))
    for _ in range(5):
        size = rng.randrange(2, 6)
        found, claimed = hypotheses_claim(prior(rng, size), prior(rng, size), K)
        assert found == claimed


# Asoodeh, Diaz, Alajaji, Linder (2017), Privacy-aware guessing efficiency (arXiv 1704.03606), Theorem 2; and Estimation
# efficiency under privacy constraints (arXiv 1707.02409)


def guessing_optimum(p: F, a: F, b: F, eps: F) -> F:
    """X ~ Bern(p), P(Y=1|X=0) = a, P(Y=0|X=1) = b; the release sees Y only, and P_c(X|Z) must not exceed eps."""
    joint = [[(1 - p) * (1 - a), (1 - p) * a], [p * b, p * (1 - b)]]  # X, Y
    mass = [joint[0][y] + joint[1][y] for y in (0, 1)]
    eve = [[joint[1][y] / mass[y], joint[0][y] / mass[y]] for y in (0, 1)]  # guess X = 0, X = 1
    return F(1 - proved(Problem(mass, hamming(2), eve), min_eve_risk=1 - eps).risks.bob)


def guessing_claim(p: F, a: F, b: F, eps: F) -> tuple[F, F]:
    found = guessing_optimum(p, a, b, eps)
    q, most = a * (1 - p) + (1 - b) * p, (1 - a) * (1 - p) + (1 - b) * p
    if a * (1 - a) * (1 - p) ** 2 < b * (1 - b) * p**2:
        return found, 1 - q * (most - eps) / ((1 - b) * p - a * (1 - p))
    return found, 1 - (1 - q) * (most - eps) / ((1 - a) * (1 - p) - b * p)


def guessing_cases() -> list[tuple[F, F, F, F]]:
    grid = [F(k, 12) for k in range(1, 6)]
    cases = []
    for p, a, b in product([F(1, 2), F(7, 12), F(2, 3), F(3, 4)], grid, grid):
        most = (1 - a) * (1 - p) + (1 - b) * p
        if most > p:  # otherwise nothing has to be hidden: see the next test
            cases += [(p, a, b, p + (most - p) * share) for share in (F(0), F(1, 3), F(3, 4), F(1))]
    return cases


@pytest.mark.slow
def test_guessing_under_a_cap_on_the_guess_of_a_secret_follows_the_two_lines() -> None:
    cases = guessing_cases()
    assert len(cases) > 150
    for case in cases[::3]:
        found, claimed = guessing_claim(*case)
        assert found == claimed, case


def test_where_an_observation_helps_nobody_to_guess_the_secret_all_of_it_is_released() -> None:
    """P_c(X | Y) is the larger of p and `most`: at most <= p the least cap there is, p, is met by Y itself."""
    grid = [F(k, 12) for k in range(1, 6)]
    helpless = [
        (p, a, b)
        for p, a, b in product([F(2, 3), F(3, 4), F(9, 10)], grid, grid)
        if (1 - a) * (1 - p) + (1 - b) * p <= p
    ]
    assert len(helpless) > 20
    for p, a, b in helpless:
        assert guessing_optimum(p, a, b, p) == 1


# Saeidian, Cervia, Oechtering, Skoglund (2021), Optimal maximal leakage-distortion tradeoff (arXiv 2105.01033)


def leakage_claim(p: list[F], c: F) -> tuple[F, F]:
    whole = int(c)
    ranked = [*sorted(p, reverse=True), F(0)]
    claimed = sum(ranked[:whole]) + (c - whole) * ranked[min(whole, len(p))]
    return 1 - proved(alone(p, hamming(len(p))), max_leakage=c).risks.bob, claimed


@pytest.mark.parametrize("c", [F(1), F(5, 4), F(2), F(8, 3), F(7, 2)])
def test_under_maximal_leakage_the_likeliest_symbols_are_disclosed(c: F) -> None:
    rng = Random(int(12 * c))
    for size in (4, 5):
        found, claimed = leakage_claim(prior(rng, size), c)
        assert found == claimed


# Alvim, Andres, Chatzikokolakis, Palamidessi (2011), On the relation between differential privacy and quantitative
# information flow (arXiv 1109.6761), Theorem on utility for graphs with symmetries


def product_claim(u: int, v: int, K: F) -> tuple[F, F]:
    states = list(product(range(v), repeat=u))
    pairs = [
        (k, m)
        for (k, x), (m, y) in combinations(enumerate(states), 2)
        if sum(a != b for a, b in zip(x, y, strict=True)) == 1
    ]
    n = len(states)
    problem = alone([F(1, n)] * n, hamming(n))
    best, accuracy = proved(problem, exp_epsilon=K, neighbours=pairs), (K / (v - 1 + K)) ** u
    one = randomised_response_epsilon(alone([F(1, v)] * v, hamming(v)), K).channel
    answers = Mechanism([[prod(one[a, b] for a, b in zip(x, y, strict=True)) for y in states] for x in states])
    assert 1 - evaluate(problem, answers).bob == accuracy  # an independent randomised response to each question
    return 1 - best.risks.bob, accuracy


@pytest.mark.parametrize(("u", "v", "K"), [(1, 4, F(3)), (2, 2, F(2)), (2, 2, F(5, 2)), (3, 2, F(3)), (2, 3, F(2))])
def test_hamming_neighbours_leave_the_accuracy_of_independent_answers(u: int, v: int, K: F) -> None:
    found, claimed = product_claim(u, v, K)
    assert found == claimed


# Ghazi, Golowich, Kumar, Manurangsi, Zhang (2021), Deep learning with label differential privacy (arXiv 2102.06062)


def label_claim(p: list[F], K: F) -> tuple[F, F]:
    ranked = sorted(p, reverse=True)
    claimed = max(K / (K + k - 1) * sum(ranked[:k]) for k in range(1, len(p) + 1))
    return 1 - proved(alone(p, hamming(len(p))), exp_epsilon=K).risks.bob, claimed


@pytest.mark.parametrize("K", RATIOS)
def test_randomised_response_on_the_likeliest_labels_is_best(K: F) -> None:
    rng = Random(int(3 * K))
    for size in (2, 3, 5, 6):
        found, claimed = label_claim(prior(rng, size), K)
        assert found == claimed


# Ghazi, Kamath, Kumar, Leeman, Manurangsi, Varadarajan, Zhang (2022), Regression with label differential privacy
# (arXiv 2212.06074): randomised response on bins


def bins_claim(p: list[F], loss: list[list[F]], K: F) -> tuple[F, F]:
    outputs = range(len(loss[0]))
    sets = chain.from_iterable(combinations(outputs, k) for k in range(1, len(loss[0]) + 1))
    claimed = min(
        sum(m * (sum(row[s] for s in S) + (K - 1) * min(row[s] for s in S)) for m, row in zip(p, loss, strict=True))
        / (K + len(S) - 1)
        for S in sets
    )
    return proved(alone(p, loss), exp_epsilon=K).risks.bob, claimed


@pytest.mark.parametrize("K", RATIOS)
def test_any_loss_is_minimised_by_randomised_response_on_some_outputs(K: F) -> None:
    rng = Random(int(5 * K))
    for _ in range(5):
        size, outputs = rng.randrange(2, 6), rng.randrange(1, 5)
        loss = [[F(rng.randrange(9), 4) for _ in range(outputs)] for _ in range(size)]
        found, claimed = bins_claim(prior(rng, size), loss, K)
        assert found == claimed


# Shokri, Theodorakopoulos, Troncoso, Hubaux, Le Boudec (2012), Protecting location privacy: optimal strategy against
# localization attacks: the user's linear program, on a grid


def grid_distance(size: int = 3) -> list[list[int]]:
    cells = list(product(range(size), repeat=2))
    return [[abs(a - c) + abs(b - d) for c, d in cells] for a, b in cells]


def location_claim(p: list[F], quality: F) -> F:
    """The adversary's largest expected error if the user's place is right with probability 1 - quality."""
    found = sdc(Problem(p, hamming(9), grid_distance()), max_bob_risk=quality)
    assert verify(found.problem, found.certificate)
    return F(found.risks.eve)


def location_program(p: list[F], quality: F) -> float:
    """The program as published, in floats: the largest sum over o of x_o, where x_o is the least error at o."""
    n, d = len(p), np.array(grid_distance(), dtype=float)
    weights = np.array(p, dtype=float)
    # the columns: f(o | r) by r and o, then x_o; the rows: x_o - sum over r of p_r f(o | r) d(guess, r) <= 0
    errors = [
        np.append(np.outer(-weights * d[guess], np.eye(n)[o]), np.eye(n)[o]) for guess in range(n) for o in range(n)
    ]
    loss = np.append(weights[:, None] * (1 - np.eye(n)), np.zeros(n))
    found = linprog(
        np.append(np.zeros(n * n), -np.ones(n)),
        A_ub=np.vstack([*errors, loss]),
        b_ub=[0.0] * (n * n) + [float(quality)],
        A_eq=np.hstack([np.kron(np.eye(n), np.ones(n)), np.zeros((n, n))]),
        b_eq=np.ones(n),
    )
    return float(-found.fun)


@pytest.mark.slow
@pytest.mark.parametrize("quality", [F(0), F(1, 8), F(1, 4), F(1, 2)])
def test_the_location_privacy_of_a_grid_is_that_of_the_published_program(quality: F) -> None:
    rng = Random(17)
    for p in ([F(1, 9)] * 9, prior(rng, 9, low=1), prior(rng, 9)):
        assert float(location_claim(p, quality)) == pytest.approx(location_program(p, quality), abs=1e-9)


# ElSalamouny, Chatzikokolakis, Palamidessi (2014), Generalized differential privacy: regions of priors that admit
# robust optimal mechanisms: the tight-constraints mechanism on a grid


def tight_claim(K: F) -> tuple[F, F]:
    """The tight-constraints mechanism is a product of two truncated geometric ones; its accuracy is theirs, squared."""
    line = alone([F(1, 3)] * 3, hamming(3))
    one = 1 - evaluate(line, truncated_geometric(line, 1 / K)).bob
    assert one == (2 * K / (K + 1) + (K - 1) / (K + 1)) / 3 == (3 * K - 1) / (3 * K + 3)
    q, apart = truncated_geometric(line, 1 / K).channel, grid_distance()
    both = np.kron(q, q)
    assert all(both[x, y] * K ** apart[x][y] == both[y, y] for x, y in np.ndindex(9, 9))  # every constraint is tight
    found = proved(alone([F(1, 9)] * 9, hamming(9)), exp_epsilon=K, metric=grid_distance()).risks.bob
    return 1 - found, one**2


@pytest.mark.parametrize("K", [F(5, 4), F(2), F(3), F(9, 2)])
def test_the_tight_constraints_mechanism_is_optimal_on_a_grid(K: F) -> None:
    found, claimed = tight_claim(K)
    assert found == claimed


# Warner (1965) and Kairouz, Oh, Viswanath (2014): randomised response as an extreme point


@pytest.mark.parametrize("K", RATIOS)
def test_warner_s_and_k_ary_randomised_response_are_optimal(K: F) -> None:
    for size in (2, 3, 5):
        problem = alone([F(1, size)] * size, hamming(size))
        used = randomised_response_epsilon(problem, K)
        assert used.max_ratio == K
        assert evaluate(problem, used).bob == proved(problem, exp_epsilon=K).risks.bob == 1 - K / (K + size - 1)
    coin = alone([F(1, 2), F(1, 2)], hamming(2))
    assert randomised_response(coin, 1 / (K + 1)) == randomised_response_epsilon(coin, K)


# Kairouz, Oh, Viswanath (2015), The composition theorem for differential privacy: the dominating pair


def approximate_claim(K: F, delta: F) -> tuple[F, F]:
    found = proved(alone([F(1, 2), F(1, 2)], hamming(2)), exp_epsilon=K, delta=delta).risks.bob
    return 1 - found, (K + delta) / (K + 1)


@pytest.mark.parametrize("delta", [F(0), F(1, 100), F(1, 3), F(1)])
@pytest.mark.parametrize("K", RATIOS)
def test_one_bit_under_epsilon_and_delta_is_guessed_as_the_dominating_pair_says(K: F, delta: F) -> None:
    found, claimed = approximate_claim(K, delta)
    assert found == claimed


# Kamenica and Gentzkow (2011), Bayesian persuasion, Corollary 2: the concave closure


def persuasion(p: F, loss: list[list[F]], gain: list[list[F]], believed: F | None = None) -> Problem:
    """Two states, an agent who minimises `loss`, and Alice who gains gain[x][d]; p is the probability of state 1."""
    own = None if believed is None else [1 - believed, believed]
    return Problem([1 - p, p], bobs=[Agent([[0], [0]])], eves=[Agent(loss, harm=gain, prior=own)])


def closure_claim(p: F, loss: list[list[F]], gain: list[list[F]]) -> tuple[F, F]:
    """The optimum, and the concave closure at p of what Alice gains at every posterior, ties for her.

    Between two posteriors at which the agent changes his decision the gain is linear, so chords between such posteriors
    and the ends are enough.
    """
    decisions = range(len(loss[0]))

    def value(m: F) -> F:
        costs = [(1 - m) * loss[0][d] + m * loss[1][d] for d in decisions]
        return max((1 - m) * gain[0][d] + m * gain[1][d] for d in decisions if costs[d] == min(costs))

    knots = {F(0), F(1), p}
    for d, e in combinations(decisions, 2):
        slope = (loss[1][d] - loss[0][d]) - (loss[1][e] - loss[0][e])
        if slope and 0 <= (loss[0][e] - loss[0][d]) / slope <= 1:
            knots.add((loss[0][e] - loss[0][d]) / slope)
    chords = [
        value(a) + (value(b) - value(a)) * (p - a) / (b - a) for a, b in combinations(sorted(knots), 2) if a <= p <= b
    ]
    return proved(persuasion(p, loss, gain), 1).risks.eve, max(chords)


def test_persuasion_attains_the_concave_closure() -> None:
    rng = Random(11)
    for _ in range(25):
        count = rng.randrange(2, 5)
        loss, gain = ([[F(rng.randrange(9), 4) for _ in range(count)] for _ in range(2)] for _ in range(2))
        found, claimed = closure_claim(F(rng.randrange(1, 12), 12), loss, gain)
        assert found == claimed


# Alonso and Camara (2016), Bayesian persuasion with heterogeneous priors: the prosecutor whose judge has a prior r


def heterogeneous_claim(p: F, r: F) -> tuple[F, F]:
    """Convict all guilty, and innocents as often as leaves the judge, by her own prior r, indifferent."""
    found = proved(persuasion(p, [[F(0), F(1)], [F(1), F(0)]], [[F(0), F(1)]] * 2, believed=r), 1).risks.eve
    return found, p + (1 - p) * min(F(1), r / (1 - r))


@pytest.mark.parametrize("p", [F(1, 10), F(3, 10), F(3, 4)])
@pytest.mark.parametrize("r", [F(1, 20), F(3, 10), F(2, 5), F(1, 2), F(4, 5)])
def test_a_judge_with_a_prior_of_her_own_is_persuaded_at_her_own_odds(p: F, r: F) -> None:
    found, claimed = heterogeneous_claim(p, r)
    assert found == claimed


# Bergemann, Brooks, Morris (2015), The limits of price discrimination, Theorem 1


def market(values: list[F], p: list[F], counted: str) -> Problem:
    """The seller, in Eve's place, sets a price among the values; Alice counts the buyers' or the seller's surplus."""
    top = max(values)
    loss = [[top - (price if v >= price else 0) for price in values] for v in values]
    buyers = [[v - price if v >= price else F(0) for price in values] for v in values]
    sellers = [[price if v >= price else F(0) for price in values] for v in values]
    harm = {"buyers": buyers, "seller": sellers, "no seller": [[top - s for s in row] for row in sellers]}[counted]
    return Problem(p, bobs=[Agent([[0]] * len(values))], eves=[Agent(loss, harm=harm)])


def surplus_claim(values: list[F], p: list[F]) -> tuple[F, F]:
    """The buyers' largest surplus over all segmentations, and all gains from trade less the uniform monopoly profit."""
    efficient = sum(m * v for m, v in zip(p, values, strict=True))
    monopoly = max(price * sum(m for m, v in zip(p, values, strict=True) if v >= price) for price in values)
    return proved(market(values, p, "buyers"), 1).risks.eve, efficient - monopoly


def test_buyers_can_have_all_that_the_uniform_monopoly_profit_leaves() -> None:
    rng = Random(13)
    for _ in range(12):
        size = rng.randrange(2, 6)
        values, p = [F(v) for v in sorted(rng.sample(range(1, 12), size))], prior(rng, size, low=1)
        found, claimed = surplus_claim(values, p)
        assert found == claimed
        # no segmentation pushes the seller below the monopoly profit, and one takes all gains from trade for him
        efficient = sum(m * v for m, v in zip(p, values, strict=True))
        least = max(values) - proved(market(values, p, "no seller"), 1).risks.eve
        assert least == efficient - claimed
        assert proved(market(values, p, "seller"), 1).risks.eve == efficient


# the page


EXAMPLES: dict[str, tuple[F, F]] = {
    "1": geometric_claim([F(1, 8), F(3, 8), F(3, 8), F(1, 8)], lambda d: F(d), F(2)),
    "2": hypotheses_claim([F(1, 2), F(1, 4), F(1, 4)], [F(1, 4), F(1, 4), F(1, 2)], F(3)),
    "3": guessing_claim(F(2, 3), F(1, 4), F(1, 6), F(3, 4)),
    "4": leakage_claim([F(1, 2), F(1, 4), F(1, 8), F(1, 8)], F(3, 2)),
    "5": product_claim(3, 2, F(3)),
    "6": label_claim([F(1, 2), F(1, 4), F(1, 8), F(1, 8)], F(3)),
    "7": bins_claim([F(1, 3)] * 3, [[F(0), F(1), F(4)], [F(1), F(0), F(1)], [F(4), F(1), F(0)]], F(4)),
    "8": (location_claim([F(1, 9)] * 9, F(1, 4)), F(location_program([F(1, 9)] * 9, F(1, 4))).limit_denominator(1000)),
    "9": tight_claim(F(2)),
    "10": (1 - proved(alone([F(1, 5)] * 5, hamming(5)), exp_epsilon=F(3)).risks.bob, F(3, 7)),
    "11": closure_claim(F(3, 10), [[F(0), F(1)], [F(1), F(0)]], [[F(0), F(1)]] * 2),
    "12": heterogeneous_claim(F(3, 10), F(2, 5)),
    "13": surplus_claim([F(1), F(2), F(3)], [F(1, 3)] * 3),
    "14": approximate_claim(F(2), F(1, 10)),
}


def test_the_page_states_numbers_that_are_true() -> None:
    rows = re.findall(r"^\| (\d+) \|.*: \*\*([-\d/]+)\*\* \|$", PAGE, re.MULTILINE)
    assert [number for number, _ in rows] == list(EXAMPLES)
    for number, shown in rows:
        found, claimed = EXAMPLES[number]
        assert found == claimed == F(shown), number
