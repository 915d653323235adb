"""An audit by anonymeter: what its attackers are given, and what is said of them."""

from __future__ import annotations

import json
import sys
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

from bap_cli.main import main

STUDY = """
data = "a.csv"
[publish.pay]
[publish.ill]
[[eve]]
name = "boss"
secret = "ill"
knows = ["age"]
[release]
keep = ["age"]
[audit]
holdout = "1/2"
[alice]
lambda = 3
"""


class Evaluator:
    """Notes what an attacker is given, and finds a risk of one half."""

    made: ClassVar[list[tuple[str, dict[str, Any]]]] = []

    def __init__(self, **given: Any) -> None:
        self.made.append((type(self).__name__, given))

    def evaluate(self, **_: Any) -> Evaluator:
        return self

    def risk(self, confidence_level: float) -> SimpleNamespace:
        return SimpleNamespace(value=0.5, ci=(0.25, confidence_level))


@pytest.fixture
def solved(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(1)
    ill = draw.random(80) < 0.4
    columns = {"age": draw.integers(1, 4, 80), "pay": np.where(ill, draw.integers(1, 3, 80), draw.integers(2, 4, 80))}
    pd.DataFrame(columns | {"ill": np.where(ill, "yes", "no")}).to_csv("a.csv", index=False)
    (tmp_path / "study.toml").write_text(STUDY)
    assert main(["microdata", "solve", "study.toml", "--no-attackers", "--out", "D"]) == 0
    capsys.readouterr()


def test_the_attackers_of_anonymeter_get_the_released_columns_and_the_audited_records_as_control(
    solved, monkeypatch, capsys
):
    names = ("SinglingOutEvaluator", "LinkabilityEvaluator", "InferenceEvaluator")
    evaluators = {name: type(name, (Evaluator,), {}) for name in names}
    module = ModuleType("anonymeter")
    module.evaluators = SimpleNamespace(**evaluators)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "anonymeter", module)
    monkeypatch.setattr(Evaluator, "made", [])
    command = ["microdata", "audit", "D", "a.csv", "--no-attackers", "--anonymeter"]
    assert main([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["anonymeter"]
    assert [one["attack"] for one in told] == ["singling out", "linkability", "inference"]
    assert told[2] == {"attack": "inference", "eve": "boss", "risk": 0.5, "low": 0.25, "high": 0.95}
    assert [name for name, _ in Evaluator.made] == list(names)
    (_, first), (_, linking), (_, guessing) = Evaluator.made
    assert list(first["syn"].columns) == list(first["ori"].columns) == ["age", "pay", "ill"]
    assert (len(first["syn"]), len(first["ori"]), len(first["control"])) == (40, 40, 80)
    assert (first["syn"]["age"] == first["ori"]["age"]).all()  # kept as it is
    assert (first["syn"] != first["ori"]).any(axis=None)
    assert linking["aux_cols"] == (["age"], ["pay", "ill"])
    assert (guessing["aux_cols"], guessing["secret"]) == (["age"], "ill")
    assert main(command) == 0
    assert "linkability   boss" in capsys.readouterr().out


def test_without_anonymeter_one_line_says_what_to_install(solved, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "anonymeter", None)
    assert main(["microdata", "audit", "D", "a.csv", "--no-attackers", "--anonymeter"]) == 2
    assert capsys.readouterr().err == "bap: anonymeter is not installed: pip install anonymeter\n"
