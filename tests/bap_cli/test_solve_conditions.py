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
    assert main(["solve", str(path), "--deterministic", "--condition", "max_leakage=1"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Conditions: min_eve_risk = 1/2, exp_epsilon = 2, max_leakage = 1, deterministic" in out
    assert "no mechanism that meets the conditions has a smaller R_A" in out


def conditions(**wanted: object) -> list[str]:
    """`--condition` for each."""
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in wanted.items()}
    return [word for key, text in texts.items() for word in ("--condition", f"{key}={text}")]


def test_every_condition_of_a_file_can_be_stated_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = {
        "posterior_caps": [{"event": ["heads"], "at_most": "1/2"}, {"event": ["heads"], "at_least": "1/10"}],
        "pufferfish": [{"pairs": [[["heads"], ["tails"]]], "exp_epsilon": "4", "priors": [["1/3", "2/3"]]}],
        "posterior_ratio": [{"event": ["heads"], "exp_epsilon": "3"}],
        "signal_floor": {"Eve": "1/4"},
        "max_leakage": "7/4",
        "delta": "1/10",
    }
    file = tmp_path / "coin.json"
    file.write_text(json.dumps(COIN))
    assert main(["solve", str(file), *conditions(**wanted), "--exp-epsilon", "5", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["conditions"] == {**wanted, "exp_epsilon": "5"}
    file.write_text(json.dumps({**COIN, "conditions": {**wanted, "exp_epsilon": 5}}))
    assert main(["solve", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == told


def test_what_conditions_cost_is_told_and_a_conflict_is_proved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cap = conditions(posterior_caps=[{"event": ["heads"], "at_most": "1/2"}], max_leakage="7/4")
    assert main(["solve", "coin_toss", *cap]) == 0
    assert "Condition max_leakage: cost = " in " ".join(capsys.readouterr().out.split())
    out = tmp_path / "o"
    cap = conditions(posterior_caps=[{"event": ["tails"], "at_most": "1/2"}])
    assert main(["solve", "coin_toss", *cap, "--out", str(out)]) == 2
    assert capsys.readouterr().err == "bap: --condition posterior_caps[0].at_most = 1/2 cannot be met\n"
    assert [p.name for p in out.iterdir()] == ["conflict.json"]
    assert main(["verify", "coin_toss", str(out / "conflict.json")]) == 1  # the file itself asks for no such cap
    assert main(["verify", "coin_toss", str(out / "conflict.json"), "--as-claimed"]) == 0
    assert "no mechanism meets the conditions" in capsys.readouterr().out
    changed = json.loads((out / "conflict.json").read_text())
    changed["conditions"]["posterior_caps"][0]["at_most"] = "4/5"
    (out / "conflict.json").write_text(json.dumps(changed))
    assert main(["verify", "coin_toss", str(out / "conflict.json"), "--as-claimed"]) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--condition", "max_leak=2"], "--condition = 'max_leak' is not a condition; did you mean max_leakage?"),
        (["--condition", "max_signals=2"], "--condition = 'max_signals' is no longer there: deterministic = true"),
        (["--condition", "zzz=2"], "--condition = 'zzz' is not a condition; did you mean "),
        (["--condition", "max_leakage"], "--condition = 'max_leakage' must be KEY=VALUE, such as max_leakage=2"),
        (["--condition", "max_leakage="], "must be KEY=VALUE"),
        (["--condition", "max_leakage=two"], "--condition max_leakage = 'two' is not a number"),
        (["--condition", "max_leakage=2", "--condition", "max_leakage=3"], "max_leakage = '3' must be given once"),
        (["--min-eve-risk", "1/3", "--condition", "min_eve_risk=1/4"], "min_eve_risk = '1/4' must be given once"),
        (["--condition", "deterministic=yes"], "--condition deterministic = 'yes' must be"),
        (["--condition", 'pufferfish=[{"pairs": ['], "--condition pufferfish = '[{\"pairs\": [' is not JSON"),
        (conditions(posterior_caps=[{"event": ["edge"], "at_most": "1/2"}]), "= 'edge' is not a state"),
        (conditions(pufferfish=[{"pairs": [], "exp_epsilon": 2, "prior": []}]), "prior is not a known key"),
        (conditions(signal_floor={"Mallory": "1/2"}), "names no Eve"),
        (conditions(delta="1/2"), "--condition delta = 1/2 needs epsilon or exp_epsilon"),
    ],
)
def test_a_bad_condition_is_one_line(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "coin_toss", *options]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert message in err
