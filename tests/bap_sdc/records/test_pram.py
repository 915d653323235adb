"""Matrices of others: read as R writes them, with exact risks and a certified distance to the optimum."""

from __future__ import annotations

import json
from fractions import Fraction as F
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bap_cli.main import main
from bap_lp import InputError, evaluate
from bap_lp.model.mechanism import Mechanism
from bap_lp.support.rational import public
from bap_sdc import Eve, Study
from bap_sdc.records.release.pram import foreign_release, pram_text, read_pram


def study() -> Study:
    random = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "pay": random.choice(["low", "mid", "high"], 60),
            "ill": random.choice(["no", "yes"], 60, p=[0.7, 0.3]),
            "age": random.integers(0, 2, 60),
        }
    )
    columns = {"pay": {"levels": ["low", "mid", "high"]}}
    return Study(frame, {"pay": "absolute"}, [Eve("ill", ["age"], [[0, 1], [3, 0]])], columns=columns)


# as write.csv(pd) of R writes it, rows and columns in an order of their own
WRITTEN = (
    '"","high","low","mid"\n"low",0.1,0.8,0.1\n"mid",0.05,0.05,0.9\n"high",0.333333333333333,0,0.666666666666667\n'
)


def test_a_matrix_is_read_by_its_names(tmp_path: Path) -> None:
    (tmp_path / "pd.csv").write_text(WRITTEN)
    matrix = public(read_pram(tmp_path / "pd.csv", study()["pay"]))
    assert matrix[0].tolist() == [F(4, 5), F(1, 10), F(1, 10)]
    assert matrix[1].tolist() == [F(1, 20), F(9, 10), F(1, 20)]
    assert [sum(row) for row in matrix] == [1, 1, 1]
    (tmp_path / "again.csv").write_text(pram_text(study()["pay"].labels, matrix))
    assert np.allclose(public(read_pram(tmp_path / "again.csv", study()["pay"])).astype(float), matrix.astype(float))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("0.8", "0.7"), "sums to 0.9, must sum to 1"),
        (('"mid",0.05', '"middle",0.05'), "row = 'middle' is not a level of pay"),
        (("0.9", "-0.9"), "must be a probability"),
        (("0.9", "x"), "is not a number"),
        ((",0.9", ""), "as many cells in every row"),
        (('"low",0.1,0.8,0.1\n', ""), "row = 'low' is missing"),
        (('"","high"', '"","low"'), "there twice"),
    ],
)
def test_what_is_no_matrix_is_refused_in_one_line(tmp_path: Path, change: tuple[str, str], words: str) -> None:
    (tmp_path / "pd.csv").write_text(WRITTEN.replace(*change))
    with pytest.raises(InputError, match=words) as error:
        read_pram(tmp_path / "pd.csv", study()["pay"])
    assert "\n" not in str(error.value)


def test_a_given_matrix_has_the_risks_of_the_ordinary_problem_and_is_above_the_bound(
    tmp_path: Path,
) -> None:
    (tmp_path / "pd.csv").write_text(WRITTEN)
    table = study()
    matrix = read_pram(tmp_path / "pd.csv", table["pay"])
    solution = table.solve("1/2")
    given = foreign_release(solution, {"pay": matrix})
    problem = table.problem()
    q = matrix[table.prior.types[:, table.names.index("pay")]]
    found = evaluate(problem, Mechanism.of(q, ["a", "b", "c"], problem.states)).risks
    assert (given.risks.bob, given.risks.eve) == (found.bob, found.eve)
    assert given.distance == given.alice - solution.value > 0


def test_the_identity_is_best_if_nobody_cares_about_eve(tmp_path: Path) -> None:
    table = study()
    (tmp_path / "same.csv").write_text(pram_text(table["pay"].labels, np.eye(3)))
    matrix = read_pram(tmp_path / "same.csv", table["pay"])
    assert foreign_release(table.solve(0), {"pay": matrix}).distance == 0


STUDY = """
data = "a.csv"
[publish.pay]
[publish.job]
[[eve]]
secret = "ill"
[alice]
lambda = 1
"""


def test_the_command_takes_a_matrix_for_every_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("ill,pay,job\n" + "no,a,x\nyes,b,y\nno,b,x\nyes,b,x\n" * 4)
    Path("study.toml").write_text(STUDY)
    Path("pay.csv").write_text(pram_text(["a", "b"], [[0.75, 0.25], [0.25, 0.75]]))
    Path("job.csv").write_text(pram_text(["x", "y"], [[0.5, 0.5], [0.5, 0.5]]))
    command = ["microdata", "compare", "study.toml", "--channel", "pay=pay.csv"]
    assert main([*command, "--channel", "job=job.csv", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert F(told["distance"]) == F(told["given"]["risks"]["alice"]) - F(told["bound"]) >= 0
    assert main(command) == 0
    assert "the distance to the proved bound is" in capsys.readouterr().out
    assert main(["microdata", "compare", "study.toml", "--channel", "pay.csv"]) == 2
    assert "must be COLUMN=CSV" in capsys.readouterr().err
    assert main([*command, "--channel", "pay=job.csv"]) == 2
    assert "is the second matrix of this column" in capsys.readouterr().err
