"""What agents ask, against definitions played out person by person."""

from __future__ import annotations

import random
from collections import defaultdict
from fractions import Fraction as F
from itertools import product
from typing import Any

import pytest

from bap_lp import Mechanism, evaluate
from bap_lp.releases import full, null
from bap_sdc import TableProblem, counts

BOB = {"cells": "1", "loss": "squared", "decisions": ["1/4", "1/2"]}
N, ALPHA = 3, [F(1), F(2), F(1, 2)]


def problem(eve: Any, **options: Any) -> TableProblem:
    return counts(N, 3, alpha=ALPHA, bob=BOB, eve=eve, merge=False, **options)


def sequences(people: int, alpha: list[F]) -> dict[tuple[int, ...], F]:
    """The joint law of the cells of exchangeable people."""
    out = {}
    for cells in product(range(len(alpha)), repeat=people):
        mass, seen = F(1), [F(0)] * len(alpha)
        for k, i in enumerate(cells):
            mass *= (alpha[i] + seen[i]) / (sum(alpha) + k)
            seen[i] += 1
        out[cells] = mass
    return out


def table(cells: Any) -> str:
    return "|".join(str(list(cells).count(i)) for i in range(len(ALPHA)))


def channel(states: Any, seed: int) -> Mechanism:
    """A random channel with three signals."""
    chance = random.Random(seed)
    rows = [[chance.randint(0, 4) for _ in range(3)] for _ in states]
    return Mechanism([[F(v + (not any(row)), sum(row) or 3) for v in row] for row in rows], states=states)


def played(law: dict[Any, F], send: Mechanism, over: int, under: int) -> F:
    """Eve's Bayes risk when she sees a signal and `known`: law maps (table, known, answer) to its probability."""
    yes: dict[Any, F] = defaultdict(F)
    no: dict[Any, F] = defaultdict(F)
    for (x, known, answer), mass in law.items():
        for s, chance in enumerate(send.channel[send.state_index(x)]):
            (yes if answer else no)[s, known] += mass * chance
    keys = {*yes, *no}
    return sum((min(under * yes[key], over * no[key]) for key in keys), F(0))


@pytest.mark.parametrize("knows", ["others", "nothing"])
@pytest.mark.parametrize("cells", [["1"], ["2", "3"]])
@pytest.mark.parametrize("seed", range(3))
def test_the_person_is_found_as_in_a_game_with_named_people(knows: str, cells: list[str], seed: int) -> None:
    found = problem({"cells": cells, "asks": "person", "knows": knows, "costs": [2, 3]})
    send = channel(found.states, seed)
    law: dict[Any, F] = defaultdict(F)
    inside = {int(c) - 1 for c in cells}
    for people, mass in sequences(N, ALPHA).items():  # the last one is the person whom Eve knows
        law[table(people), table(people[:-1]) if knows == "others" else "", people[-1] in inside] += mass
    assert evaluate(found, send).eve == played(law, send, 2, 3)


@pytest.mark.parametrize("knows", ["others", "nothing"])
@pytest.mark.parametrize("cells", [["1"], ["1", "3"]])
@pytest.mark.parametrize("seed", range(3))
def test_membership_is_guessed_as_in_a_game_with_named_people(knows: str, cells: list[str], seed: int) -> None:
    asked = {"cells": cells, "asks": "member", "knows": knows, "probability": "1/3", "costs": [2, 3]}
    found = problem(asked)
    send = channel(found.states, seed)
    law: dict[Any, F] = defaultdict(F)
    inside = {int(c) - 1 for c in cells}
    for people, mass in sequences(N + 1, ALPHA).items():
        # she is the last of N + 1 people; with probability 1/3 she stands in the table for the one before her
        *rest, other, she = people
        if she in inside:
            known = table(rest) if knows == "others" else ""
            law[table([*rest, she]), known, True] += F(1, 3) * mass
            law[table([*rest, other]), known, False] += F(2, 3) * mass
    total = sum(law.values())
    assert total == sum(ALPHA[i] for i in inside) / sum(ALPHA)
    assert evaluate(found, send).eve == played(law, send, 2, 3) / total


@pytest.mark.parametrize(
    ("asked", "truth"),
    [
        ({"asks": "empty"}, lambda x: x[0] == 0),
        ({"asks": "below", "below": 2}, lambda x: x[0] < 2),
        ({"asks": "small", "below": 3}, lambda x: 0 < x[0] < 3),
        ({"asks": "share", "above": "1/3"}, lambda x: 3 * x[0] > N),
        ({"asks": "share", "above": "1/2", "of": ["1", "2"]}, lambda x: 2 * x[0] > x[0] + x[1]),
    ],
)
@pytest.mark.parametrize("seed", range(2))
def test_questions_about_a_cell_are_their_definitions(asked: dict[str, Any], truth: Any, seed: int) -> None:
    found = problem({"cells": "1", "costs": [2, 5], **asked})
    send = channel(found.states, seed)
    law: dict[Any, F] = defaultdict(F)
    for people, mass in sequences(N, ALPHA).items():
        law[table(people), "", truth([people.count(i) for i in range(3)])] += mass
    assert evaluate(found, send).eve == played(law, send, 2, 5)
    assert evaluate(found, full(found)).eve == 0


def test_with_all_margins_public_the_others_give_the_person_away() -> None:
    eve = {"cells": "a x", "asks": "person"}
    bob = {"cells": "a x", "loss": "squared", "decisions": [0, 1]}
    shared: dict[str, Any] = {"rows": ["a", "b"], "columns": ["x", "y"], "bob": bob, "eve": eve}
    known = counts(row_totals=[2, 3], column_totals=[3, 2], **shared)
    assert evaluate(known, null(known)).eve == 0
    free = counts(5, **shared)
    assert evaluate(free, null(free)).eve > 0


@pytest.mark.parametrize("about", ["population", "table"])
@pytest.mark.parametrize("more", [{}, {"of": ["1", "2"]}])
def test_bob_estimates_what_he_is_asked_for(about: str, more: dict[str, Any]) -> None:
    grid = [F(0), F(1, 3), F(1), F(2)]
    bob = {"cells": "1", "loss": "squared", "about": about, "decisions": grid, **more}
    found = counts(N, 3, alpha=ALPHA, bob=bob, eve={"cells": "1", "asks": "empty"}, merge=False)
    for label, row in zip(found.states, found.bob_loss, strict=True):
        x = list(map(int, label.split("|")))
        first, rest = x[0], x[1] if more else x[1] + x[2]
        if about == "table":
            value = F(first) if not more else F(first, first + rest) if first + rest else F(0)
            assert row.tolist() == [(value - d) ** 2 for d in grid]
        else:
            a, b = ALPHA[0] + first, (ALPHA[1] if more else ALPHA[1] + ALPHA[2]) + rest
            square = a * (a + 1) / ((a + b) * (a + b + 1))
            assert row.tolist() == [square - 2 * d * a / (a + b) + d * d for d in grid]


def test_a_ratio_is_tested_at_the_transformed_threshold() -> None:
    eve = {"cells": "3", "asks": "empty"}
    shared = {"cells": "1", "loss": "0-1"}
    ratio = counts(6, 3, bob={**shared, "per": "2", "thresholds": ["1/2", 3]}, eve=eve)
    share = counts(6, 3, bob={**shared, "of": ["1", "2"], "thresholds": ["1/3", "3/4"]}, eve=eve)
    assert (ratio.bob_loss == share.bob_loss).all()
    table = counts(6, 3, bob={**shared, "per": "2", "thresholds": ["1/2"], "about": "table"}, eve=eve, merge=False)
    for label, row in zip(table.states, table.bob_loss, strict=True):
        first, second, _ = map(int, label.split("|"))
        assert row.tolist() == ([1, 0] if 2 * first > second else [0, 1])
