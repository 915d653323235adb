"""The light of a release: what is said first, what is refused, and what the ledger and the page keep of it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier

from bap_cli.main import main
from bap_lp import InputError
from bap_sdc.records.audit.light import Gain, Light
from bap_sdc.records.bundle import load_solution

STUDY = """
data = "people.csv"
[publish.pay]
loss = "absolute"
[[eve]]
secret = "ill"
knows = ["age"]
[alice]
eve_gain = "1/50"
[audit]
holdout = "1/2"
"""


def people(count: int = 1200) -> pd.DataFrame:
    """Illness shows in pay."""
    random = np.random.default_rng(3)
    ill = random.random(count) < 0.4
    pay = np.clip(random.integers(0, 4, count) + 2 * ill, 0, 5)
    return pd.DataFrame({"age": random.integers(20, 23, count), "ill": np.where(ill, "yes", "no"), "pay": pay})


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    people().to_csv("people.csv", index=False)
    Path("study.toml").write_text(STUDY)
    return tmp_path


@pytest.fixture
def blind(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study whose model believes that the secret has nothing to do with anything: it protects nobody."""
    learners = ((False, lambda: DummyClassifier(strategy="prior")),)
    monkeypatch.setattr("bap_sdc.records.data.conditional.LEARNERS", learners)
    return place


def drawn(*more: str) -> int:
    return main(["microdata", "release", "D", "people.csv", "-o", "out.csv", *more])


def test_a_red_release_is_refused_without_a_reason_which_the_ledger_and_the_page_keep(blind: Path, capsys) -> None:
    assert main(["microdata", "solve", "study.toml", "--out", "D"]) == 0
    shown = capsys.readouterr().out
    assert "RED: do not publish this release" in shown.splitlines()[0]
    assert json.loads(Path("D/result.json").read_text())["light"] == "red"
    assert drawn() == 3
    refused = capsys.readouterr().err
    assert "RED: do not publish" in refused
    assert "--although" in refused
    assert not Path("out.csv").exists()
    assert not Path("D/ledger.jsonl").exists()
    assert drawn("--although", " ") == 2
    with pytest.raises(InputError, match=r"although must say why this is released\. RED"):
        load_solution("D").release(people())
    capsys.readouterr()
    assert drawn("--although", "a court ordered <it>") == 0
    assert capsys.readouterr().out.startswith("RED: do not publish this release.")
    assert Path("out.csv").exists()
    assert json.loads(Path("D/ledger.jsonl").read_text())["although"] == "a court ordered <it>"
    assert main(["microdata", "report", "D", "-o", "page.html"]) == 0
    page = Path("page.html").read_text()
    assert 'class="light red"' in page
    assert "Released although it is red: a court ordered &lt;it&gt;" in page


def test_a_rehearsal_of_a_red_release_says_so_and_is_drawn(blind: Path, capsys) -> None:
    assert main(["microdata", "solve", "study.toml", "--out", "D"]) == 0
    capsys.readouterr()
    assert drawn("--seed", "1") == 0
    assert "RED: do not publish" in capsys.readouterr().out
    assert drawn("--seed", "1", "--although", "why not") == 2


def test_a_release_that_is_not_red_is_drawn_and_amber_is_a_warning(place: Path, capsys) -> None:
    assert main(["microdata", "solve", "study.toml", "--out", "D", "--no-attackers"]) == 0
    assert "AMBER" in capsys.readouterr().out.splitlines()[0]
    assert drawn() == 0
    told = capsys.readouterr()
    assert told.out.startswith("AMBER: the promise is neither confirmed nor refuted.")
    assert next(line for line in told.err.splitlines() if "AMBER" in line).startswith("bap: warning: AMBER")
    assert drawn("--json") == 0
    assert json.loads(capsys.readouterr().out)["light"] == "amber"


def light(gain: float, error: float, **more) -> Light:
    given = {"records": 500, "attacked": True, "against": {"as is": (-0.1, 0.01)}, "bob": (0.1, 0.01, 0.1)} | more
    return Light(gains=(Gain("Eve", "a logistic", 0.3, 0.33, gain, error, 0.02),), **given)


def test_the_colours_are_those_of_the_rule() -> None:
    """red: G - 2s > 2g; green: G - 2s <= g and 2s <= g; here g = 0.02."""
    assert light(0.02, 0.01).colour == "green"
    assert light(0.04, 0.01).colour == "green"  # G - 2s = g
    assert light(0.041, 0.01).colour == "amber"
    assert light(0.06, 0.01).colour == "amber"  # G - 2s = 2g
    assert light(0.061, 0.01).colour == "red"
    assert light(0.0, 0.011).colour == "amber"  # 2s > g
    assert light(0.0, 0.01, against={"as is": (0.021, 0.01)}).colour == "red"
    assert light(0.0, 0.01, against={"as is": (0.02, 0.01)}).colour == "green"
    assert light(0.0, 0.01, against={"nothing": (0.021, 0.01)}).colour == "amber"
    assert light(0.0, 0.01, bob=(0.121, 0.01, 0.1)).colour == "amber"
    assert light(0.0, 0.01, bob=(0.12, 0.01, 0.1)).colour == "green"
    assert light(0.0, 0.01, attacked=False).colour == "amber"
    assert light(0.9, 0.01, records=0).colour == "red"
    assert light(0.0, 0.01, records=0).colour == "amber"


def test_a_light_is_read_as_it_was_written() -> None:
    one = light(0.041, 0.01)
    assert Light.of_document(json.loads(json.dumps(one.document()))) == one
    assert all(sentence.endswith(".") for sentence in one.words())
