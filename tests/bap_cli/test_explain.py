"""`bap explain` prints the summaries of a problem and of its optimum, for every example of the catalogue."""

from __future__ import annotations

import pytest

from bap_cli.catalogue import catalogue
from bap_cli.inputs import load
from bap_cli.main import main
from bap_lp import solve


@pytest.mark.slow
@pytest.mark.parametrize("name", catalogue())
def test_every_example_is_explained_by_its_summaries(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    loaded = load(name)
    best = solve(loaded.problem, loaded.lam, conditions=loaded.conditions, priors=loaded.priors)
    assert main(["explain", name]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert best.summary().splitlines() == printed[printed.index("") + 1 :]
    assert all(line in printed for line in best.problem.summary().splitlines()[1:])


def test_without_a_file_it_is_the_coin_toss_and_lambda_and_conditions_are_those_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["explain"]) == 0
    alone = capsys.readouterr().out
    assert main(["explain", "coin_toss"]) == 0
    assert capsys.readouterr().out == alone
    assert main(["explain", "coin_toss", "--lambda", "1/20", "--condition", "exp_epsilon=2"]) == 0
    coin = load("coin_toss").problem
    assert solve(coin, "1/20", conditions={"exp_epsilon": 2}).summary().splitlines()[0] in capsys.readouterr().out
    for wrong in (["two_eves", "--lambda", "-1"], ["nowhere"]):
        assert main(["explain", *wrong]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.count("\n") == 1
