"""What the page on tables of counts says in its text, outside its examples."""

from __future__ import annotations

from fractions import Fraction as F
from pathlib import Path
from typing import Any

import mpmath
import pytest

from bap_cli.main import main
from bap_lp import InputError, evaluate, solve
from bap_lp.releases import null
from bap_lp.support.rational import public
from bap_sdc import counts
from bap_sdc.count_tables.channels import Evaluator
from bap_sdc.count_tables.comparisons import compare_tables
from bap_sdc.count_tables.protections import Geometric, Rounding, Suppression

REGIONS = ["north", "east", "south", "west"]
BOB: dict[str, Any] = {"cells": "north", "loss": "0-1", "thresholds": ["1/4"]}
EVE: dict[str, Any] = {"cells": "north", "asks": "small", "below": 3, "costs": [1, 2]}


def test_the_first_example_hides_all_and_suppression_nothing() -> None:
    problem = counts(12, REGIONS, bob=BOB, eve=EVE)
    table = compare_tables(problem)
    assert solve(problem).risks.eve == evaluate(problem, null(problem)).eve
    assert table["suppression < 3"].risks.eve == 0
    assert [row.alice for row in table.releases] == sorted(row.alice for row in table.releases)
    assert all(isinstance(v, F) for row in table.releases for v in (row.risks.bob, row.risks.eve, row.alice))


@pytest.mark.parametrize(
    "loss", [{"loss": "0-1", "thresholds": ["1/3"]}, {"loss": "absolute", "decisions": [0, "1/3"]}]
)
def test_the_stated_error_covers_what_rounding_the_losses_does(loss: dict[str, Any]) -> None:
    """The risk of every decision that ignores the table, with losses of 60 digits, and with those that were rounded."""
    alpha = [F(1, 2), F(5, 2), F(1, 3)]
    problem = counts(5, 3, alpha=alpha, bob={"cells": "1", **loss}, eve={"cells": "2", "asks": "empty"}, merge=False)
    exact = counts(5, 3, alpha=alpha, bob={"cells": "1", "loss": "squared", "decisions": [0]},
                   eve={"cells": "2", "asks": "empty"}, merge=False)  # fmt: skip
    assert not problem.exact
    assert exact.states == problem.states
    true = [mpmath.mpf(0), mpmath.mpf(0)]
    with mpmath.workdps(60):
        for label, p in zip(exact.states, exact.prior, strict=True):
            first = int(label.split("|")[0])
            a, b = mpmath.mpf(1) / 2 + first, mpmath.mpf(17) / 6 + 5 - first
            share, third = mpmath.mpf(p.numerator) / p.denominator, mpmath.mpf(1) / 3
            below = mpmath.betainc(a, b, 0, third, regularized=True)
            mean = a / (a + b)
            if loss["loss"] == "0-1":
                own = [1 - below, below]
            else:
                over = third * below - mean * mpmath.betainc(a + 1, b, 0, third, regularized=True)
                own = [mean, 2 * over + mean - third]
            true = [t + share * v for t, v in zip(true, own, strict=True)]
        for d in (0, 1):
            found = sum(p * F(float(row[d])) for p, row in zip(exact.prior, problem.bob_loss, strict=True))
            gap = abs(mpmath.mpf(found.numerator) / found.denominator - true[d])
            assert 0 < gap <= problem.error[0] < 1e-14


@pytest.mark.parametrize(("loss", "alpha", "rule"), [("absolute", 1, "no mean"), ("squared", 2, "no variance")])
def test_a_ratio_without_the_moment_that_its_loss_needs_is_refused(loss: str, alpha: int, rule: str) -> None:
    bob = {"cells": "1", "per": "2", "loss": loss, "decisions": [0, 1]}
    eve = {"cells": "3", "asks": "empty"}
    with pytest.raises(InputError, match=rule):
        counts(4, 3, bob=bob, eve=eve, alpha=alpha)
    assert counts(4, 3, bob=bob, eve=eve, alpha=alpha + 1).exact


def test_the_odds_of_membership_are_those_of_the_formula() -> None:
    alpha, n, chance = [F(1), F(2), F(1, 2)], 6, F(1, 3)
    eve = {"cells": ["1", "3"], "asks": "member", "knows": "nothing", "probability": "1/3"}
    problem = counts(n, 3, alpha=alpha, bob={"cells": "1", "loss": "squared", "decisions": [0]}, eve=eve, merge=False)
    assert problem.eve_decisions == ("not in the table", "in the table")
    for label, row in zip(problem.states, problem.eve_loss, strict=True):
        x = list(map(int, label.split("|")))
        inside, a, whole = x[0] + x[2], alpha[0] + alpha[2], sum(alpha)
        no, yes = row  # to say no costs P(member | x), to say yes P(not a member | x), both over Z
        assert no / yes == chance / (1 - chance) * F(inside, 1) / (a + inside) * (whole + n) / n


def test_of_eves_who_cannot_lose_anything_one_is_kept() -> None:
    shared: dict[str, Any] = {
        "rows": ["a", "b"], "columns": ["x", "y"], "eve": {"cells": "a x", "asks": "person"},
        "bob": {"cells": "a x", "loss": "squared", "decisions": [0, 1]},
    }  # fmt: skip
    assert len(counts(row_totals=[2, 3], column_totals=[3, 2], **shared).eves) == 1
    assert len(counts(5, **shared).eves) == 5  # the others have from 0 to 4 people in the cell


def test_what_offices_do_is_what_the_table_says() -> None:
    n = 7
    rounding, hidden, noise = (public(p.matrix(n)) for p in (Rounding(3), Suppression(3), Geometric("1/2")))
    assert [int(row.argmax()) * 3 for row in rounding] == [0, 0, 3, 3, 3, 6, 6, 6]
    shown = [hidden[m].tolist() for m in range(n + 1)]
    assert shown[1] == shown[2]
    assert len({tuple(row) for row in shown}) == n  # all other counts can be told apart
    weight = {z: F(1, 2) ** abs(z) for z in range(-200, 201)}
    total = F(3)  # 1 + 2 (1/2 + 1/4 + ...)
    for m in range(n + 1):
        for s in range(1, n):
            assert noise[m, s] == weight[s - m] / total
        assert noise[m, 0] == sum(F(1, 2) ** k for k in range(m, m + 300)) / total + F(1, 2) ** (m + 299) / total
        assert noise[m].sum() == 1


def test_a_release_with_a_vast_channel_is_evaluated() -> None:
    """1771 tables and 194,481 published ones: the channel would have more than 300 million entries."""
    problem = counts(20, 4, bob={**BOB, "cells": "1"}, eve=[{**EVE, "cells": "2"}, {"cells": "3", "asks": "empty"}])
    assert problem.tables == 1771
    found = Evaluator(problem.model, False).risks(Geometric("1/2"))
    assert max(found.bob_error, found.eve_error) < 1e-10
    exact = Evaluator(problem.model, True).risks(Rounding(5))
    assert isinstance(exact.bob, F)


@pytest.mark.slow
@pytest.mark.parametrize("command", [["path"], ["report", "-o", "r.html"], ["plot", "-o", "m.png"]])
def test_other_commands_read_a_file_about_counts(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([command[0], "small_counts", *command[1:]]) == 0
