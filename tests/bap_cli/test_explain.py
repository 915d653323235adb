"""`bap explain`: every sentence is what the library finds, for every example of the catalogue."""

import re
from fractions import Fraction

import numpy as np
import pytest

from bap_cli.catalogue import catalogue
from bap_cli.commands.explain import explanation, margins
from bap_cli.inputs import load
from bap_cli.main import main
from bap_lp import Conditions, Problem, evaluate, lambda_path, sensitivity, solve
from bap_lp.model.display import person
from bap_lp.questions.uniqueness import is_unique

TITLES = [
    "What is asked",
    "Why these signals",
    "Who is indifferent",
    "Which data are randomised, and why",
    "What would change the answer",
]


def told(name: str) -> dict[str, str]:
    loaded = load(name)
    return {c.title: "\n".join(c.lines) for c in explanation(loaded.problem, loaded.lam, "", loaded.conditions)}


@pytest.mark.slow
@pytest.mark.parametrize("name", catalogue())
def test_an_explanation_says_what_the_optimum_is(name: str) -> None:
    loaded = load(name)
    best = solve(loaded.problem, loaded.lam, conditions=loaded.conditions)
    chapters = told(name)
    assert list(chapters) == TITLES
    assert all(chapters.values())
    words = "\n".join(chapters.values())
    assert not re.search(r"\bnan\b|None\b(?!:)|\binf\b|fmpq|np\.", words)
    ties = [
        (s.signal, d.agent)
        for s in evaluate(best.problem, best.mechanism).signals
        for d in s.decisions
        if len(d.decisions) > 1
    ]
    assert chapters["Who is indifferent"].startswith("Nobody") == (not ties)
    for signal, agent in ties[:6]:
        assert f"At “{signal}” {person(agent)} is exactly indifferent" in chapters["Who is indifferent"]
    random = int(((best.mechanism.q > 0).sum(axis=1)[np.asarray(best.problem.p) > 0] > 1).sum())
    first = chapters[TITLES[3]].split()[0]
    assert first == ("None:" if random == 0 else str(random))


@pytest.mark.parametrize("name", ["coin_toss", "two_eves", "warner_survey", "salary_bands", "respondents"])
def test_a_randomised_state_has_equal_least_margins(name: str) -> None:
    loaded = load(name)
    best = solve(loaded.problem, loaded.lam)
    table = margins(best)
    assert table is not None
    names = list(best.problem.bob_decisions)
    for x, row in enumerate(best.mechanism.q):
        if best.problem.p[x] > 0:
            sent = {table[x, names.index(s)] for s, v in zip(best.mechanism.signals, row, strict=True) if v > 0}
            assert sent == {min(table[x])}


def test_the_coin_toss_is_told_with_its_numbers() -> None:
    chapters = told("coin_toss")
    assert (
        "heads goes to “fair” 7/10 (0.7), “fixed” 3/10 (0.3). Here “fair” costs 0 - 0 and “fixed” costs 1 - 1"
        in (chapters[TITLES[3]])
    )
    assert "Eve finds tails and heads equally good: each costs 10/11 (0.909091)" in chapters[TITLES[1]]
    assert "Eve loses as much as before" in chapters[TITLES[2]]


@pytest.mark.parametrize("name", ["coin_toss", "two_eves", "salary_bands", "medical_test"])
def test_uniqueness_and_the_slope_in_lambda_are_told(name: str) -> None:
    loaded = load(name)
    for lam in (Fraction(1, 20), lambda_path(loaded.problem).breakpoints[0] + Fraction(1, 1000)):
        words = "\n".join(explanation(loaded.problem, lam)[-1].lines)
        assert ("mechanism is unique" in words) == is_unique(loaded.problem, lam)
        slope = sensitivity(loaded.problem, lam).lam_derivative
        said = re.search(r"changes R_A by (\S+)", words)
        assert said is not None
        assert float(Fraction(said[1])) == pytest.approx(float(slope))


def test_conditions_are_explained_with_what_they_cost() -> None:
    problem = load("coin_toss").problem
    conditions = Conditions(exp_epsilon=2)
    words = "\n".join(line for c in explanation(problem, "1/3", "", conditions) for line in c.lines)
    best = solve(problem, "1/3", conditions=conditions)
    assert "must meet conditions: exp_epsilon = 2" in words
    assert f"R_A would fall by {best.price_of_conditions}" in words


def test_floats_and_a_certain_prior_are_explained() -> None:
    for prior in ([0.75, 0.25], [1, 0]):
        chapters = explanation(Problem(prior, [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]]), "1/3")
        assert [c.title for c in chapters] == TITLES
        assert all(c.lines for c in chapters)


def test_the_command_tells_the_coin_toss_and_then_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == 0
    alone = capsys.readouterr().out
    assert main(["explain", "two_eves"]) == 0
    after = capsys.readouterr().out
    assert after.startswith(alone.rstrip("\n"))
    assert main(["explain", "coin_toss"]) == 0
    assert capsys.readouterr().out == alone
    assert main(["explain", "coin_toss", "--lambda", "1/20"]) == 0
    assert "Now the same for this problem." in capsys.readouterr().out
    assert main(["explain", "two_eves", "--own", "--lambda", "1/5"]) == 0
    own = capsys.readouterr().out
    assert "Coin toss" not in own
    assert own.startswith("Two adversaries")
    for wrong in (["--own"], ["--lambda", "1"], ["two_eves", "--lambda", "-1"], ["nowhere"]):
        assert main(["explain", *wrong]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.count("\n") == 1


def test_the_price_is_told_for_one_eve_and_for_several() -> None:
    assert "one unit of Eve's loss counts as much as 1/3 units of Bob's loss" in told("coin_toss")[TITLES[0]]
    assert "one unit of the Eves' loss counts as much as 1/5 units of Bob's loss" in told("two_eves")[TITLES[0]]
    assert "one unit of Eve's loss counts as much as 1 unit of Bob's loss" in told("prosecutor")[TITLES[0]]
    # R_E = 1.36 is twice the 0.5 of the journalist and once the 0.36 of the employer
    assert "psychiatric, and should lose much (a loss that counts 2 times)." in told("two_eves")[TITLES[0]]
    assert "long, and should lose much." in told("two_eves")[TITLES[0]]
