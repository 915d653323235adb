"""`bap path`, `compare`, `plot` and `explain` take a study file or the folder of a solved study."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from bap_cli.main import main
from bap_sdc import load_study

STUDY = """
data = "a.csv"
title = "Pay and illness"
[publish.pay]
loss = "absolute"
[publish.town]
[[eve]]
name = "boss"
secret = "ill"
knows = ["age"]
loss = [[0, 1], [2, 0]]
[columns]
ill = { levels = ["no", "yes"] }
[audit]
holdout = "1/2"
[alice]
lambda = "1/2"
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    draws = np.random.default_rng(3)
    ill = draws.random(300) < 0.3
    pay = np.clip(draws.integers(0, 4, 300) - ill, 0, 3)
    columns = {"age": draws.integers(0, 3, 300), "pay": pay, "town": draws.integers(0, 2, 300)}
    pd.DataFrame(columns | {"ill": np.where(ill, "yes", "no")}).to_csv(folder / "a.csv", index=False)
    (folder / "study.toml").write_text(STUDY)
    assert main(["microdata", "solve", str(folder / "study.toml"), "--no-attackers", "--out", str(folder / "D")]) == 0
    return folder


@pytest.mark.parametrize("name", ["study.toml", "D"])
def test_compare_ranks_the_optimum_first(place, name, capsys):
    assert main(["compare", str(place / name), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["lambda"], document["releases"][0]["name"]) == ("1/2", "optimum")
    assert main(["compare", str(place / name)]) == 0
    assert "PRAM" in capsys.readouterr().out


def test_another_lambda_of_a_folder_is_solved_for(place, capsys):
    assert main(["compare", str(place / "D"), "--lambda", "0", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["lambda"] == "0"
    assert document["releases"][0]["risks"]["bob"] == "0"


@pytest.mark.parametrize("name", ["study.toml", "D"])
def test_explain_says_what_the_summary_says(place, name, capsys):
    assert main(["explain", str(place / name)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    for line in load_study(place / "study.toml").study.solve("1/2").summary().splitlines():
        assert " ".join(line.split()) in out


def test_plot_draws_the_map_and_the_path_and_refuses_the_rest(place, tmp_path, capsys):
    for kind in ("map", "path"):
        out = tmp_path / f"{kind}.svg"
        assert main(["plot", str(place / "D"), "--kind", kind, "-o", str(out)]) == 0
        assert "<svg" in out.read_text()
    assert main(["plot", str(place / "study.toml"), "--kind", "signals", "-o", str(tmp_path / "no.png")]) == 2
    assert "--kind = 'signals' is not drawn for a study" in capsys.readouterr().err
    assert not (tmp_path / "no.png").exists()


def test_path_is_that_of_the_group_of_commands(place, capsys):
    assert main(["path", str(place / "D"), "--json"]) == 0
    one = capsys.readouterr().out
    assert main(["microdata", "path", str(place / "D"), "--json"]) == 0
    assert capsys.readouterr().out == one
    assert len(json.loads(one)["pieces"]) > 2
