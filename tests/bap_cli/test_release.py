"""`bap release`: only what verifies is released, in bulk too, and several draws are warned about."""

import csv
import json
import os
import re
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from bap_cli.main import main
from bap_lp import load_problem, save_bundle, solve
from bap_lp.support import limits

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def bundle(tmp_path: Path) -> str:
    examples = Path(__file__).parents[2] / "examples"
    save_bundle(tmp_path / "d", solve(load_problem(examples / "coin_toss.toml").problem))
    return "d"


def test_a_state_is_released_from_a_bundle_by_argument_or_stdin(run: Run, bundle: str) -> None:
    labels = json.loads(Path("d/problem.json").read_text())["data"]["labels"]
    code, out, err = run("release", bundle, labels[0])
    assert (code, err) == (0, "")
    assert out.strip() in json.loads(Path("d/mechanism.json").read_text())["signals"]
    assert run("release", bundle, stdin=labels[0] + "\n")[0] == 0


def test_a_file_of_states_becomes_a_file_of_signals(run: Run, bundle: str) -> None:
    states = json.loads(Path("d/problem.json").read_text())["data"]["labels"]
    rows = [["id", "result"], *([str(k), states[k % 2]] for k in range(50))]
    with open("states.csv", "w", newline="") as file:
        csv.writer(file).writerows(rows)
    code, out, err = run("release", bundle, "--from", "states.csv", "--column", "result", "-o", "signals.csv")
    assert (code, out) == (0, "")
    written = Path("signals.csv").read_text().splitlines()
    assert written[0] == "signal"
    assert len(written) == 51
    assert "signals=50 secure" in err
    assert "sha256=" in err
    again = run("release", bundle, "--from", "-", "--seed", "1", stdin="\n".join(states))
    assert again[0] == 0
    assert len(again[1].splitlines()) == 2
    assert "rehearsal with seed 1" in again[2]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("state\n{0}\n", [], "bad.csv: line 1 = 'state' is not"),
        ("state\n{0}\n", [], "(if it is a header, give --column)"),
        ("{0}\nnope\n", [], "bad.csv: line 2 = 'nope' is not"),
        ("a,b\n{0},1\n", [], "bad.csv: line 1 = 'a,b' must be one state (or give --column)"),
        ("a,b\n{0},1\n", ["--column", "c"], "bad.csv = 'c' must be the name of one column; the header has 'a', 'b'"),
        ("a,a\n{0},1\n", ["--column", "a"], "must be the name of one column"),
        ("a,b\n{0},1\nx\n", ["--column", "b"], "bad.csv: line 3 = 'x' must have the column"),
        ("", [], "bad.csv has no states"),
        ("a\n", ["--column", "a"], "bad.csv has no states"),
        ('"open\n', [], "is not CSV"),
        ("\udcff", [], "is not UTF-8 text"),
    ],
)
def test_a_wrong_file_of_states_is_one_line_and_nothing_is_written(
    run: Run, bundle: str, text: str, options: list[str], message: str
) -> None:
    states = json.loads(Path("d/problem.json").read_text())["data"]["labels"]
    Path("bad.csv").write_bytes(text.format(*states).encode(errors="surrogateescape"))
    before = sorted(os.listdir())
    code, out, err = run("release", bundle, "--from", "bad.csv", "-o", "out.csv", *options)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["STATE", "--from", "x.csv"], "STATE must not be given with --from"),
        (["--from", "x.csv", "--count", "2"], "--count must not be given with --from"),
        (["STATE", "--column", "x"], "--column = 'x' needs --from"),
        (["--from", "nowhere.csv"], "nowhere.csv cannot be read"),
        (["STATE", "-o", "/dev/null"], "--out = '/dev/null' must be a file, and is a device"),
    ],
)
def test_options_that_do_not_fit_are_refused(run: Run, bundle: str, arguments: list[str], message: str) -> None:
    code, out, err = run("release", bundle, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_several_draws_warn_with_the_risk_that_is_left(run: Run, bundle: str) -> None:
    state = json.loads(Path("d/problem.json").read_text())["data"]["labels"][1]
    code, out, err = run("release", bundle, state, "--count", "3")
    assert (code, len(out.splitlines())) == (0, 3)
    fall = "Eve's risk falls from 3/4 (0.75) to 27/400 (0.0675)"
    assert err == f"bap: 3 signals about the same data can say more than one: {fall}\n"
    assert run("release", bundle, state, "--count", "3", "--seed", "1")[2] == ""
    Path("loose.json").write_text(Path("d/mechanism.json").read_text())
    assert "release from a bundle to see by how much" in run("release", "loose.json", state, "--count", "2")[2]


@pytest.mark.parametrize("options", [["--deterministic"], ["--lambda", "0"], ["--exp-epsilon", "1"], ["--float"]])
def test_draws_that_say_the_same_again_are_not_said_to_lower_the_risk(run: Run, options: list[str]) -> None:
    """The risk was said to fall from 3/4 to 3/4."""
    once = json.loads(run("solve", "coin_toss", *options, "--json", "--out", "d")[1])
    certain = all(float(Fraction(v)) in (0, 1) for row in once["mechanism"]["channel"] for v in row)
    code, _, err = run("release", "d", "heads", "--count", "3", "--allow-float")
    assert code == 0
    assert (
        ("leave Eve the risk that one leaves" in err) == certain == ("falls" not in err) == ("--float" not in options)
    )


def test_what_alice_counts_of_an_eve_who_learns_more_may_rise(run: Run) -> None:
    loss, right = [[0, 1], [1, 0]], [[1, 0], [0, 1]]
    document = {"data": {"prior": ["1/2", "1/2"]}, "bob": {"loss": loss}, "eve": {"loss": loss, "harm": right}}
    document |= {"alice": {"lambda": "0"}, "conditions": {"exp_epsilon": 2}}
    Path("p.json").write_text(json.dumps(document))
    assert run("solve", "p.json", "--out", "d")[0] == 0
    err = run("release", "d", "0", "--count", "3")[2]
    assert "can say more than one: Eve's risk rises from 2/3 (0.666667) to 20/27 (0.740741)" in err


def test_every_run_adds_a_line_to_the_log(run: Run, bundle: str) -> None:
    state = json.loads(Path("d/problem.json").read_text())["data"]["labels"][0]
    for _ in range(2):
        assert run("release", bundle, state, "--log", "log.txt")[0] == 0
    lines = Path("log.txt").read_text().splitlines()
    assert len(lines) == 2
    form = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ sha256=[0-9a-f]{64} signals=1 secure"
    assert all(re.fullmatch(form, line) for line in lines)


def test_signals_are_not_shown_before_the_log_has_them(run: Run, bundle: str) -> None:
    states = json.loads(Path("d/problem.json").read_text())["data"]["labels"]
    Path("states.csv").write_text(states[0] + "\n")
    os.mkfifo("pipe")
    for log, rule in (("nowhere/log", "must be in a directory"), ("pipe", "is a pipe"), ("/dev/full", "is a device")):
        code, out, err = run("release", bundle, "--from", "states.csv", "-o", "signals.csv", "--log", log)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "--log" in err
        assert rule in err
        assert not Path("signals.csv").exists()


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--out", "--log"])
@pytest.mark.parametrize("place", ["states.csv", "d/mechanism.json", "d/manifest.json", "link"])
def test_what_is_read_is_not_written_over(run: Run, bundle: str, option: str, place: str) -> None:
    states = json.loads(Path("d/problem.json").read_text())["data"]["labels"]
    Path("states.csv").write_text(states[0] + "\n")
    Path("link").symlink_to("d/certificate.json")
    before = Path(place).read_bytes()
    code, out, err = run("release", bundle, "--from", "states.csv", option, place)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "must not be a file that is read" in err
    assert Path(place).read_bytes() == before
    assert (
        "must not be the file of the signals"
        in run("release", bundle, states[0], "-o", "same.csv", "--log", "./same.csv")[2]
    )


def test_a_link_to_a_mechanism_does_not_lead_around_its_bundle(run: Run, bundle: str) -> None:
    document = json.loads(Path("d/mechanism.json").read_text())
    Path("d/mechanism.json").write_text(json.dumps(document | {"channel": [["1", "0"], ["0", "1"]]}))
    Path("own.json").symlink_to("d/mechanism.json")
    code, out, err = run("release", "own.json", document["states"][0])
    assert (code, out) == (1, "")
    assert "which has another SHA-256" in err


@pytest.mark.parametrize("count", ["1000001", "99999999999999"])
def test_too_many_draws_are_refused_at_once(run: Run, bundle: str, count: str) -> None:
    state = json.loads(Path("d/problem.json").read_text())["data"]["labels"][0]
    code, out, err = run("release", bundle, state, "--count", count)
    assert (code, out, err.count("\n")) == (2, "", 1)
    code, out, err = run("release", bundle, state, "--count", "5000")
    assert (code, len(out.splitlines())) == (0, 5000)
    assert "Eve's risk falls from 3/4 (0.75) to no less than 0, which draws without end would leave" in err


def test_a_closed_stdin_is_one_line(bundle: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["release", bundle]) == 2
    assert capsys.readouterr() == ("", "bap: stdin is closed: give STATE or --from\n")


def test_states_are_bounded_as_other_files_are(run: Run, bundle: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """/dev/zero as standard input took all memory."""
    monkeypatch.setattr(limits, "_LIMITS", dict(limits.DEFAULTS) | {"bytes": 5000})
    Path("states.csv").write_text("heads\n" * 1000)
    for arguments, where in ((("-",), "stdin"), (("states.csv",), "states.csv")):
        code, out, err = run("release", bundle, "--from", *arguments, stdin="heads\n" * 1000)
        assert (code, out) == (2, "")
        assert err == f"bap: {where} must be at most 0.00477 MB (--limit bytes=N raises this)\n"
