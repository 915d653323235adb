"""`bap solve` under conditions: from the file, from the command line, and how errors call them."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from bap_cli.main import main

COIN = {
    "data": {"labels": ["tails", "heads"], "prior": ["3/4", "1/4"]},
    "bob": {"loss": [["1/3", "2/3"], [1, 0]]},
    "eve": {"loss": [[0, 1], [10, 0]]},
}


def test_the_command_line_wins_over_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "coin.json"
    conditions = {"min_eve_risk": "1/2", "exp_epsilon": 2}
    path.write_text(json.dumps({**COIN, "conditions": conditions, "alice": {"lambda": 0}}))
    assert main(["solve", str(path), "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert first["conditions"] == {"min_eve_risk": "1/2", "exp_epsilon": "2"}
    arguments = ["solve", str(path), "--epsilon", "3", "--min-eve-risk", "3/8", "--json"]
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 0
    second = json.loads(capsys.readouterr().out)
    assert second["conditions"] == {"min_eve_risk": "3/8", "epsilon": "3"}
    assert not second["exact"]
    assert second["risks"]["bob"] < float(Fraction(first["risks"]["bob"]))
    assert main(["verify", str(tmp_path / "out")]) == 0
    capsys.readouterr()
    assert main(["verify", str(path), str(tmp_path / "out" / "certificate.json")]) == 1
    err = capsys.readouterr().err
    assert "it does not keep exp_epsilon; it supposes another min_eve_risk" in err
    assert "it supposes epsilon, which is not demanded" in err
    assert main(["verify", str(path), str(tmp_path / "out" / "certificate.json"), "--as-claimed"]) == 0
    assert "Note: the file asks for other conditions: min_eve_risk = 1/2, exp_epsilon = 2" in capsys.readouterr().out
    assert main(["solve", str(path), "--max-bob-risk", "1/100"]) == 2
    assert "--max-bob-risk = 1/100 is not attainable" in capsys.readouterr().err
    assert main(["solve", str(path), "--deterministic", "--max-signals", "1"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Conditions: min_eve_risk = 1/2, exp_epsilon = 2, deterministic, max_signals = 1" in out
    assert "Proved optimal among all mechanisms that meet the conditions" in out


def test_a_condition_that_costs_nothing_is_not_said_to_lower_the_risk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the cap R_A is the same, so relaxing it gains nothing, whatever its multiplier is."""
    file = tmp_path / "clinic.json"
    file.write_text(
        json.dumps(
            {
                "data": {"labels": ["well", "cold", "flu", "tuberculosis"], "prior": ["1/2", "1/4", "1/8", "1/8"]},
                "bob": {"loss": [[0, 2], [1, 1], [3, 0], [4, 0]]},
                "eve": {"loss": [[0, 1], [0, 1], [2, 0], [2, 0]]},
                "alice": {"lambda": "1/2"},
                "conditions": {
                    "posterior_caps": [{"event": ["tuberculosis"], "at_most": "1/5"}],
                    "max_leakage": "7/4",
                },
            }
        )
    )
    assert main(["solve", str(file)]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "Without posterior_caps R_A would be the same." in words
    assert "Without max_leakage R_A would be 3/32 (0.09375) lower; its shadow price is 3/8 (0.375) per unit" in words
