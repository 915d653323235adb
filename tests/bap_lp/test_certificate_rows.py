"""A certificate read by its description in `docs/files.md` alone: the rows that it lists prove its value."""

from __future__ import annotations

import json
from collections import defaultdict
from fractions import Fraction as F
from itertools import product
from typing import Any

import pytest

from bap_lp import Agent, Conditions, Problem, solve, tiers
from bap_lp.files.certificates import certificate_document
from bap_lp.files.tiers import tier_certificate_document

P, N = [F(1, 2), F(1, 3), F(1, 6)], range(3)
BOB, EVE = [[0, 1, 2], [1, 0, 1], [2, 2, 0]], [[0, 1], [2, 0], [1, 1]]
THREE = Problem(P, BOB, EVE)
KNOWS = ["u", "u", "v"]
EVES = [Agent(EVE, name="a", weight=2), Agent([row[::-1] for row in EVE], name="b", knows=KNOWS)]
TWO = Problem(P, BOB, eves=EVES)


def fractions(table: Any) -> Any:
    return [fractions(row) for row in table] if isinstance(table, list) else F(table)


def within(event: list[int], x: int) -> int:
    return int(x in event)


def vectors(name: str, asked: Any) -> list[list[F]]:
    """The vectors g_k of a condition, in the order of the page."""
    out: list[list[F]] = []

    def mass(event: list[int], r: list[F] = P) -> F:
        return sum((r[x] for x in event), F(0))

    for one in asked if name != "signal_floor" else ():
        if name == "posterior_caps":
            A = one["event"]
            out += [[P[x] * (within(A, x) - F(one["at_most"])) for x in N]] if "at_most" in one else []
            out += [[P[x] * (F(one["at_least"]) - within(A, x)) for x in N]] if "at_least" in one else []
        elif name == "posterior_ratio":
            A, K = one["event"], F(one["exp_epsilon"])
            out += [[P[x] * (within(A, x) - K * mass(A)) for x in N], [P[x] * (mass(A) - K * within(A, x)) for x in N]]
        elif name == "independent_of":
            g = [P[x] * (within(one, x) - mass(one)) for x in N]
            out += [g, [-v for v in g]]
        else:
            K = F(one["exp_epsilon"])
            for prior, (A, B) in product(one.get("priors", [P]), one["pairs"]):
                r = fractions(list(prior))
                if mass(A, r) and mass(B, r):
                    for up, down in ((A, B), (B, A)):
                        share = [[r[x] * within(event, x) / mass(event, r) for x in N] for event in (up, down)]
                        out.append([share[0][x] - K * share[1][x] for x in N])
    if name == "signal_floor":
        out += [[P[x] * (F(asked["a"]) - EVE[x][j]) for x in N] for j in range(2)]
        for z, j in product(("u", "v"), range(2)):
            out.append([P[x] * (KNOWS[x] == z) * (F(asked["b"]) - EVE[x][1 - j]) for x in N])
    return out


CASES: list[tuple[Problem, dict[str, Any]]] = [
    (THREE, {"min_eve_risk": "1/2", "max_bob_risk": "2/3"}),
    (THREE, {"exp_epsilon": 2}),
    (THREE, {"exp_epsilon": 2, "metric": [[0, 1, 2], [1, 0, 1], [2, 1, 0]]}),
    (THREE, {"exp_epsilon": 2, "delta": "1/10", "min_eve_risk": "1/5"}),
    (THREE, {"max_leakage": "3/2"}),
    (
        THREE,
        {"posterior_caps": [{"event": [0], "at_most": "2/3", "at_least": "1/3"}, {"event": [2], "at_most": "1/4"}]},
    ),
    (THREE, {"posterior_ratio": [{"event": [0, 2], "exp_epsilon": "5/4"}, {"event": [1], "exp_epsilon": "3/2"}]}),
    (THREE, {"independent_of": [[0], [1]]}),
    (TWO, {"signal_floor": {"a": "1/3", "b": "1/5"}}),
    (
        THREE,
        {"pufferfish": [{"pairs": [[[0], [1]], [[1], [2]]], "exp_epsilon": 2, "priors": [P, [F(1, 2), F(1, 2), 0]]}]},
    ),
]


@pytest.mark.parametrize(("problem", "asked"), CASES, ids=[", ".join(asked) for _, asked in CASES])
def test_the_rows_of_a_certificate_prove_its_value_as_the_page_describes_them(
    problem: Problem, asked: dict[str, Any]
) -> None:
    document = json.loads(
        json.dumps(certificate_document(solve(problem, "1/3", conditions=Conditions(**asked)).certificate))
    )
    u, lam, K = fractions(document["u"]), F(1, 3), F(asked.get("exp_epsilon", 1))
    floor, cap = (F(document["prices"][name]) for name in ("min_eve_risk", "max_bob_risk"))
    for row, group in product(u, problem.eve_groups):
        assert sum(row[group]) == lam + floor
    E = [[2 * v for v in EVE[x]] + [v * (KNOWS[x] == z) for z in ("u", "v") for v in EVE[x][::-1]] for x in N]
    E = E if problem is TWO else EVE
    cost = [
        [P[x] * ((1 + cap) * BOB[x][s] - sum(v * e for v, e in zip(u[s], E[x], strict=True))) for s in N] for x in N
    ]
    constant, extra = floor * F(asked.get("min_eve_risk", 0)) - cap * F(asked.get("max_bob_risk", 0)), defaultdict(F)
    distance = asked.get("metric", [[1] * 3] * 3)
    used = 0
    for name in ("privacy", "approximate_privacy"):
        for s, x, y, w in document.get(name, []):
            used += 1
            if s >= 0:
                cost[x][s] += F(w)
                cost[y][s] -= K ** distance[x][y] * F(w)
                extra[x, y, s] -= F(w) if name == "approximate_privacy" else 0
            else:
                constant -= F(w) * F(asked["delta"])
                for t in N:
                    extra[x, y, t] += F(w)
    for s, x, w in document.get("max_leakage", []):
        used += 1
        if s >= 0:
            cost[x][s] += F(w)
            extra[s] -= F(w)
        else:
            constant -= F(w) * F(asked["max_leakage"])
            for t in N:
                extra[t] += F(w)
    for name in ("posterior_caps", "posterior_ratio", "independent_of", "signal_floor", "pufferfish"):
        for s, k, w in document.get(name, []):
            used += 1
            for x, g in enumerate(vectors(name, asked[name])[k]):
                cost[x][s] += F(w) * g
    assert used or floor or cap  # the condition has a price
    assert sum(map(min, cost)) + constant + sum(min(0, v) for v in extra.values()) == F(document["value"])


def test_with_a_margin_u_has_the_prices_of_eves_obedience() -> None:
    found = solve(THREE, "1/3", conditions=Conditions(margin="1/10")).certificate
    document, m, lam = certificate_document(found), F(1, 10), F(1, 3)
    bob, eve = fractions(document["obedience"]), fractions(document["u"])
    assert any(sum(row) != lam for row in eve)
    least = F(0)
    for x in N:
        least += P[x] * min(
            BOB[x][i] - lam * EVE[x][j]
            + sum(w * (BOB[x][i] - BOB[x][d] + m) for d, w in enumerate(bob[s]))
            + sum(w * (EVE[x][j] - EVE[x][d] + m) for d, w in enumerate(eve[s]))
            for s, (i, j) in enumerate(product(range(3), range(2)))
        )  # fmt: skip
    assert least == F(document["value"])


def test_the_prices_of_beliefs_prove_the_value_as_the_page_describes_them() -> None:
    harm, prior = [[0, 2], [1, 0], [1, 1]], [F(1, 4), F(1, 4), F(1, 2)]
    counted = [[2, 0, 1], [0, 2, 1], [1, 1, 2]]
    problem = Problem(P, bobs=[Agent(BOB, harm=counted)], eves=[Agent(EVE, harm=harm, prior=prior)])
    document = certificate_document(solve(problem, "1/3").certificate)
    rows = [(s, a, d, F(w)) for s, a, d, w in document["beliefs"]]
    assert {a for _, a, _, _ in rows} == {0, 1}
    assert not any(map(any, fractions(document["u"])))
    beliefs, losses = (P, prior), (BOB, EVE)
    least = F(0)
    for x in N:
        terms = []
        for s, told in enumerate(product(range(3), range(2))):
            own = [w * beliefs[a][x] * (losses[a][x][told[a]] - losses[a][x][d]) for t, a, d, w in rows if t == s]
            terms.append(P[x] * (counted[x][told[0]] - F(1, 3) * harm[x][told[1]]) + sum(own))
        least += min(terms)
    assert least == F(document["value"])


def test_the_replies_of_tiers_prove_their_value_as_the_page_describes_them() -> None:
    second = [[0, 1], [1, 0], [2, 1]]
    found = tiers([THREE, Problem(P, second, EVE)], ["1", "1/2"], [1, 3])
    document = tier_certificate_document(found.certificate)
    lams, weights, rho = (fractions(document[name]) for name in ("lambdas", "weights", "rho"))
    replies, signals = fractions(document["replies"]), list(product(range(3), range(2)))
    assert [sum(row) for row in rho] == P
    assert [len(table) for table in replies] == [3, 6]
    assert all(sum(row) == w * lam for w, lam, table in zip(weights, lams, replies, strict=True) for row in table)

    def cost(u: list[F], x: int) -> Any:
        return sum(v * e for v, e in zip(u, EVE[x], strict=True))

    least = F(0)
    for x in N:
        first = [weights[0] * BOB[x][i] - cost(replies[0][i], x) for i in range(3)]
        least += P[x] * min(first[i] + weights[1] * second[x][j] - cost(replies[1][2 * i + j], x) for i, j in signals)
    assert least == F(document["value"])


@pytest.mark.parametrize("problem", [THREE, TWO], ids=["one Eve", "two Eves"])
def test_the_numbers_of_a_certificate_prove_its_value_as_the_page_says(problem: Problem) -> None:
    document = certificate_document(solve(problem, "1/3").certificate)
    rho, u, E = fractions(document["rho"]), fractions(document["u"]), problem.eve_loss
    assert [sum(row) for row in rho] == P
    blocks = [(0, 2)] if problem is THREE else [(0, 2), (2, 4), (4, 6)]
    assert all(sum(row[a:b]) == F(1, 3) for row in u for a, b in blocks)
    terms = [[BOB[x][i] - sum(v * e for v, e in zip(u[i], E[x], strict=True)) for i in N] for x in N]
    assert sum(P[x] * min(terms[x]) for x in N) == F(document["value"])
    attained = sum(rho[x][i] * BOB[x][i] for x in N for i in N)
    risks = [min(sum(rho[x][i] * E[x][j] for x in N) for j in range(*block)) for i in N for block in blocks]
    assert attained - sum(risks) / 3 == F(document["value"])
