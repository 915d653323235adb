"""Gaussian Eves that do not reduce to one statistic are bracketed by draws; those that do must contain the optimum."""

import json

import pytest

from bap_cli.main import main
from discretise import SampleBracket, bracket
from discretise.brackets import gaussian_sample
from gaussian import Eve, GaussianEves, GaussianModel, MaxEve, MeanEve, RecordEve

MODEL = GaussianModel(n=5, prior_sd=1.0, bob_threshold=0.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "eve", [MeanEve(0.5), MaxEve(1.5), GaussianEves((MeanEve(0.5), MaxEve(1.5)), either=True)], ids=repr
)
def test_a_bracket_by_draws_contains_the_proved_optimum(eve: Eve) -> None:
    proved = bracket(MODEL, eve)
    drawn = bracket(gaussian_sample(MODEL, eve, size=50_000), lam=float(proved.lam))
    assert drawn.lower <= proved.upper
    assert proved.lower <= drawn.upper
    assert drawn.upper - drawn.lower < 0.15


@pytest.mark.slow
@pytest.mark.parametrize("either", [False, True])
def test_several_questions_go_by_draws(either: bool) -> None:
    eves = GaussianEves((RecordEve(-1.0), MaxEve(1.5)), either=either)
    found = bracket(MODEL, eves, 1.0, draws=20_000, seed=5)
    assert isinstance(found, SampleBracket)
    assert found.lower < found.upper
    assert found.problem.shape[1:] == (2, 4)


@pytest.mark.slow
def test_the_command_says_the_level_and_the_draws(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["gaussian", "optimum", "--n", "5", "--eve", "mean=0.5", "--eve", "max=2"]
    assert main(arguments) == 0
    assert "both hold with probability 0.999, from 200000 fresh draws" in capsys.readouterr().out
    assert main([*arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["lower"] < document["upper"]
    assert main([*arguments, "--simulate", "10"]) == 2
