"""`bap model`: the numbers of `bracket`, one JSON document, a picture, and errors in one line."""

from __future__ import annotations

import json
import math
import re
import tomllib
from pathlib import Path

import pytest

from bap_cli.catalogue import locate_model, models, titles
from bap_cli.main import main
from discretise import bracket, load_model
from discretise.model_files import model_from_dict

HEADER = re.compile(r"^# bracket: R_A = (\S+) at lambda = (\S+)$", re.MULTILINE)
MODEL = """
[prior]
name = "gamma"
a = 3

[likelihood]
name = "expon"
scale = "1 / theta"

[bob]
loss = "0-1"
thresholds = [2]

[[eve]]
loss = "0-1"
thresholds = [0.5]

[[eve]]
loss = "absolute"
decisions = [0.2, 0.5, 1]
weight = "1/2"
"""


def test_the_model_file_of_the_docs_is_a_model() -> None:
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text()
    (text,) = (b for b in re.findall(r"^```toml\n(.*?)^```", page, re.DOTALL | re.MULTILINE) if "[likelihood]" in b)
    loaded = model_from_dict(tomllib.loads(text))
    assert loaded.problem.shape[1:] == (2, 11)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("expression", "at_two"),
    [("theta", 2), ("1 / (theta + 1) - 0", 1 / 3), ("2 * theta ** 2", 8), ("sqrt(theta)", math.sqrt(2)),
     ("exp(-theta)", math.exp(-2)), ("log(1 + abs(theta))", math.log(3))],
)  # fmt: skip
def test_every_operation_of_the_page_may_be_in_an_expression(expression: str, at_two: float) -> None:
    model = model_from_dict(tomllib.loads(MODEL.replace("1 / theta", expression))).problem
    assert model.likelihood.given(2.0).mean() == pytest.approx(at_two)


@pytest.mark.slow
@pytest.mark.parametrize(
    "loss",
    ['"squared"', '"absolute"', '"asymmetric"\nover = 1\nunder = 3'],
    ids=["squared", "absolute", "asymmetric"],
)
def test_every_loss_of_the_page_is_read(loss: str) -> None:
    text = MODEL.replace('loss = "absolute"', f"loss = {loss}")
    assert model_from_dict(tomllib.loads(text)).problem.shape[1:] == (2, 5)
    grid = text.replace("[0.2, 0.5, 1]", "{from = 0, to = 10, count = 11}")
    assert model_from_dict(tomllib.loads(grid)).problem.shape[1:] == (2, 13)
    atoms = text.replace('name = "gamma"\na = 3', "values = [1, 2]\nweights = [0.5, 0.5]")
    assert model_from_dict(tomllib.loads(atoms)).problem.shape[1:] == (2, 5)


@pytest.mark.parametrize("name", models())
def test_a_model_of_the_catalogue_states_its_bracket(name: str) -> None:
    value, lam = map(float, HEADER.findall(locate_model(name).read_text())[0])
    loaded = load_model(locate_model(name))
    found = bracket(loaded.problem, loaded.lam)
    assert (found.upper, found.lam) == (pytest.approx(value, abs=1e-6), pytest.approx(lam, abs=1e-5))
    assert titles(models())[name]


@pytest.mark.slow
def test_the_command_prints_what_bracket_finds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, picture = tmp_path / "lifetimes.toml", tmp_path / "rule.png"
    file.write_text(MODEL)
    assert main(["model", str(file), "--json", "--lambda", "1/2", "--plot", str(picture)]) == 0
    document = json.loads(capsys.readouterr().out)
    found = bracket(load_model(file).problem, 0.5)
    assert (document["lower"], document["upper"], document["lambda"]) == (found.lower, found.upper, 0.5)
    assert document["description"] == found.describe()
    assert len(document["u"][0]) == 5
    assert picture.stat().st_size > 1000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('name = "gamma"', 'name = "gama"'), "is not a scalar distribution of scipy.stats; did you mean gamma?"),
        (('name = "gamma"', 'name = "dirichlet"'), "prior.name = 'dirichlet' is not a scalar"),
        (("a = 3", "b = 3"), "prior.b is not a parameter of gamma: it has a, loc, scale"),
        (("a = 3", ""), "prior.a is missing: gamma has a, loc, scale"),
        (("a = 3", "a = -3"), "prior has parameters that gamma does not allow"),
        (('"1 / theta"', "\"__import__('os')\""), "likelihood.scale = .* may have numbers, theta"),
        (('"1 / theta"', '"1 /"'), "likelihood.scale = '1 /' is not an expression in theta"),
        (('"1 / theta"', "1"), "likelihood must depend on theta"),
        (('loss = "0-1"\nthresholds = [2]', 'loss = "0-2"'), "bob.loss = '0-2' must be one of"),
        (("thresholds = [2]", "thresholds = [2, 1]"), "must be finite and increasing"),
        (("thresholds = [2]", ""), "bob.decisions is missing"),
        (('weight = "1/2"', "weight = 0"), r"eve.weight\[1\] = 0.0 must be positive"),
        (("[prior]", "[pryor]"), "pryor is not a known key"),
        (
            ('loss = "absolute"', 'loss = "absolute"\nthresholds = [1]'),
            r"eve\[1\].thresholds belongs to the loss '0-1' only",
        ),
        (("[bob]", '[alice]\nlambda = "dear"\n[bob]'), "alice.lambda = 'dear' is not a number"),
        (("[bob]", "[alice]\nlambda = -1\n[bob]"), "alice.lambda = -1.0 must not be negative"),
    ],
)
def test_a_bad_file_gets_one_line(
    change: tuple[str, str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(MODEL.replace(*change, 1))
    assert main(["model", str(file)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert re.search(message, captured.err)
    assert captured.err.count("\n") == 1
    assert "bad.toml" in captured.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rare_desease"], "did you mean rare_disease"),
        (["coin_toss"], "'coin_toss' is a problem: `bap solve` reads it"),
        (["rare_disease", "--plot", "rule.jpg"], "--plot = 'rule.jpg' must end in"),
        (["rare_disease", "--simulate", "1"], "--simulate = 1 must be between"),
        (["rare_disease", "--lambda", "-1"], "--lambda = -1.0 must not be negative"),
        (["absent.toml"], "absent.toml"),
    ],
)
def test_bad_options_get_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", *arguments]) == 2
    assert message in capsys.readouterr().err
