"""Each command, called in this process: what it prints, where it prints it, and with which exit code it ends."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from bap_cli.inputs import load
from bap_lp import load_problem, save_mechanism, save_problem, solve
from bap_lp.files.problems import SCHEMA

EXAMPLES = Path(__file__).parents[2] / "examples"
Run = Callable[..., tuple[int, str, str]]
COIN_MECHANISM = {"states": ["tails", "heads"], "signals": ["fixed", "fair"], "channel": [["1", "0"], ["3/10", "7/10"]]}


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_solve_explains_the_coin_toss_in_words(run: Run) -> None:
    code, out, err = run("solve", "coin_toss")
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    words = " ".join(out.split())
    assert " ".join(solve(load("coin_toss").problem).summary().split()).partition(" signals ")[2] in words
    for piece in ("Coin toss", "lambda = 1/3", "13/40 0.325", "heads 3/10 7/10", "w = 3/13", "bap verify DIR"):
        assert piece in words


def test_floats_are_json_numbers_and_said_to_be_floats(run: Run) -> None:
    document = json.loads(run("solve", "coin_toss", "--float", "--json")[1])
    assert document["exact"] is False
    assert document["risks"]["alice"] == pytest.approx(0.075, abs=1e-12)
    assert 0 <= document["gap"] <= 1e-9
    assert "In float arithmetic" in run("solve", "coin_toss", "--float")[1]


def test_lambda_of_the_command_line_is_exact(run: Run) -> None:
    document = json.loads(run("solve", "coin_toss", "--lambda", "0.05", "--json")[1])
    assert (document["lambda"], document["risks"]["alice"]) == ("1/20", "1/4")
    assert "lambda = 1/20 (0.05), from --lambda" in run("solve", "coin_toss", "--lambda", "0.05")[1]


@pytest.mark.parametrize("formulation", ["compact", "paper"])
def test_what_solve_writes_can_be_verified_evaluated_and_released(run: Run, formulation: str) -> None:
    assert run("solve", "coin_toss", "--out", "a/b", "--json", "--formulation", formulation)[0] == 0
    assert sorted(p.name for p in Path("a/b").iterdir()) == [
        *("certificate.json", "manifest.json", "mechanism.json", "problem.json")
    ]
    assert run("verify", "a/b")[0] == 0
    code, out, err = run("verify", "coin_toss", "a/b/certificate.json")
    assert (code, err) == (0, "")
    assert out.startswith("Coin toss: verified at lambda = 1/3 (0.333333).\nR_A = 3/40 is optimal")
    code, out, err = run("evaluate", "coin_toss", "a/b/mechanism.json", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["risks"] == {"bob": "13/40", "eve": "3/4", "alice": "3/40"}
    assert json.loads(out)["epsilon"] == "inf"
    assert json.loads(out)["bob_invariant"] is False
    out = " ".join(run("evaluate", "coin_toss", "a/b/mechanism.json")[1].split())
    assert "Not Bob-invariant: some signal leads Bob to a decision that is worse than with the data." in out
    code, out, err = run("release", "a/b/mechanism.json", "tails", "--count", "20", "--seed", "1")
    assert (code, err, len(set(out.split("\n")[:-1]))) == (0, "", 1)


def test_release_is_reproducible_only_with_a_seed(run: Run) -> None:
    Path("m.json").write_text(json.dumps({"channel": [["1/2", "1/2"]]}))
    first = run("release", "m.json", "0", "--count", "200", "--seed", "1")
    assert first == run("release", "m.json", "0", "--count", "200", "--seed", "1")
    assert first != run("release", "m.json", "0", "--count", "200")
    assert set(first[1].split()) == {"0", "1"}


def test_verify_says_why_a_certificate_proves_nothing(run: Run) -> None:
    run("solve", "coin_toss", "--out", "d")
    text = Path("d/certificate.json").read_text()
    Path("bad.json").write_text(text.replace('"value": "3/40"', '"value": "3/41"'))
    code, out, err = run("verify", "coin_toss", "bad.json")
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert "bad.json does not prove the optimum of" in err
    assert "the channel has value 3/40, the certificate claims 3/41" in err
    assert run("verify", "district", "d/certificate.json")[0] == 1
    assert run("verify", "coin_toss", "d/certificate.json", "--lambda", "1/3")[0] == 0
    code, _, err = run("verify", "coin_toss", "d/certificate.json", "--lambda", "1/2")
    assert code == 1
    assert "it is about lambda = 1/3, not 1/2" in err


def test_compare_lists_the_usual_releases_and_what_is_left_out(run: Run) -> None:
    code, out, err = run("compare", "coin_toss", "--json")
    assert (code, err) == (0, "")
    document = json.loads(out)
    rows = {row["name"]: row for row in document["releases"]}
    assert document["optimum"] == "3/40"
    assert rows["full"]["risks"] == {"bob": "1/4", "eve": "0", "alice": "1/4"}
    assert rows["full"]["epsilon"] == "inf"
    assert rows["null"]["excess"] == "7/40"
    assert {name for name, row in rows.items() if row["bob_invariant"]} == {"full", "Bob's decision"}
    assert rows["randomised response"]["parameter"] == "w = 3/13"
    out = " ".join(run("compare", "coin_toss")[1].split())
    assert "Bob-invariant (Bob decides as well as with the data): full and Bob's decision." in out
    code, out, err = run("compare", "district")
    assert (code, err) == (0, "")
    assert "Left out: posterior sample, because theta is needed" in out


def test_binary_files_are_read_by_every_command(run: Run) -> None:
    """A problem in a binary file was refused: it is not UTF-8 text."""
    coin = load_problem(EXAMPLES / "coin_toss.toml").problem
    save_problem("coin.npz", coin, "1/3")
    save_mechanism("best.npz", solve(coin, "1/3").mechanism)
    for command in (["solve"], ["path"], ["compare"], ["evaluate"]):
        given = ["best.npz"] if command == ["evaluate"] else []
        code, out, err = run(*command, "coin.npz", *given, "--json")
        assert (code, err) == (0, "")
        assert json.loads(out)["exact"] is True
    assert run("solve", "coin.npz", "--out", "d")[0] == 0
    assert run("verify", "coin.npz", "d")[0] == 0
    assert run("verify", "coin.npz", "d/certificate.json", "--mechanism", "best.npz")[0] == 0
    assert run("release", "best.npz", "tails") == (0, "fixed\n", "")
    assert run("report", "coin.npz", "-o", "r.html")[0] == 0
    assert run("tiers", "coin.npz", "coin.npz")[0] == 0


@pytest.mark.slow
def test_the_work_of_a_problem_file_is_bounded_for_every_command(run: Run) -> None:
    """The command did not have the bound that `load_problem` has."""
    draw = random.Random(1)
    prior = [f"1/{draw.randrange(10**1999, 10**2000)}" for _ in range(900)]
    losses = {"loss": [[0, 1]] * 900}
    Path("p.json").write_text(json.dumps({"data": {"prior": prior}, "bob": losses, "eve": losses}))
    code, out, err = run("solve", "p.json")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "takes more than 20000000 steps" in err


def test_a_float_answer_out_of_time_says_its_gap_and_does_not_verify(run: Run) -> None:
    rng = random.Random(0)
    tables = {who: {"loss": [[rng.random() for _ in range(8)] for _ in range(400)]} for who in ("bob", "eve")}
    document = {"data": {"prior": ["1/400"] * 400}, "alice": {"lambda": "1/2"}, **tables}
    Path("p.json").write_text(json.dumps(document))
    code, out, _ = run("solve", "p.json", "--time-limit", "0", "--json", "--out", "d")
    assert (code, json.loads(out)["gap"] > 1e-3) == (0, True)
    code, _, err = run("verify", "d")
    assert (code, "does not prove an optimum: R_A = " in err, "of optimal" in err) == (1, True, True)
    exact = document | {w: {"loss": [[round(99 * v) for v in row] for row in t["loss"]]} for w, t in tables.items()}
    Path("p.json").write_text(json.dumps(exact))
    code, out, err = run("solve", "p.json", "--time-limit", "0", "--out", "e")
    assert (code, out, err) == (2, "", "bap: the time limit was reached before the optimum\n")
    assert not Path("e").exists()


def test_zero_probability_states_are_reported(run: Run) -> None:
    assert "Of probability zero: above 80k; left out" in " ".join(run("solve", "income_brackets")[1].split())
    document = json.loads(run("solve", "income_brackets", "--json")[1])
    assert document["zero_probability_states"] == ["above 80k"]
    assert len(document["mechanism"]["channel"]) == 5


def test_hostile_labels_are_only_text(run: Run) -> None:
    problem = {
        "title": "[bold]x[/bold] :smile: \x1b[31m\n" + "long " * 100,
        "data": {"labels": ["[red]a[/]", "\x1b]0;evil\x07\u202e" + "z" * 500], "prior": ["1/3", "2/3"]},
        "bob": {"decisions": ["[/]", ":smile:"], "loss": [[0, 1], [1, 0]]},
        "eve": {"decisions": ["[link=x]", "\r\n"], "loss": [[0, 1], [1, 0]]},
    }
    Path("p.json").write_text(json.dumps(problem))
    for command in (["solve"], ["compare"], ["solve", "--float"]):
        code, out, err = run(*command, "p.json", "--lambda", "1/9")
        assert (code, err) == (0, "")
        assert all(c.isprintable() or c == "\n" for c in out)
        assert max(map(len, out.splitlines())) <= 80
        assert "[bold]x[/bold] :smile: \\x1b[31m\\n" in out
    assert "[red]a[/]" in run("solve", "p.json", "--lambda", "1/9")[1]
    run("solve", "p.json", "--lambda", "1/9", "--out", "d")
    assert run("release", "d/mechanism.json", "[red]a[/]")[1] == "[/]\n"


def test_many_states_are_counted_not_shown(run: Run) -> None:
    n = 300
    losses = [[(7 * x + 3 * d) % 11 for d in range(3)] for x in range(n)]
    Path("p.json").write_text(
        json.dumps({"data": {"prior": [f"1/{n}"] * n}, "bob": {"loss": losses}, "eve": {"loss": losses[::-1]}})
    )
    code, out, _ = run("solve", "p.json", "--lambda", "1/2")
    assert code == 0
    assert "... and 288 more states (--json or --out gives all)" in out
    assert len(out.splitlines()) < 70
    assert len(json.loads(run("solve", "p.json", "--lambda", "1/2", "--json")[1])["mechanism"]["channel"]) == n


@pytest.mark.slow
def test_examples_schema_version_and_help_are_printed(run: Run) -> None:
    code, out, err = run("examples")
    assert (code, err) == (0, "")
    assert "Coin toss" in [title.strip() for name, _, title in (line.partition(" ") for line in out.splitlines())]
    assert "# optimum: R_A = 3/40 at lambda = 1/3" in run("examples", "coin_toss")[1]
    assert json.loads(run("schema")[1]) == SCHEMA
    assert run("--version")[1].startswith("bap ")
    assert run()[1] == run("--help")[1]
    for command in ("solve", "verify", "evaluate", "compare", "release", "examples", "schema"):
        assert run(command, "--help")[0] == 0
        assert f"\n  {command} " in run("--help")[1]


UNDEFINED = '[data]\nprior = ["1/2", "1/2"]\n[bob]\nloss = [[0, 1], [1, 0]]\n[eve]\nloss = [[0, 1], [0, 1]]\n'
USAGE = [
    (["solve"], "Missing argument 'FILE' (see `bap solve --help`)"),
    (["--foo"], "No such option: --foo"),
    (["frobnicate"], "No such command 'frobnicate'"),
    (["--"], "Missing command"),
    (["solve", "a", "b"], "Got unexpected extra argument"),
    (["solve", "rare_disease"], "'rare_disease' is a model: `bap model` reads it"),
    (["solve", "coin_tos"], "'coin_tos' is neither a file nor in the catalogue; did you mean coin_toss?"),
    (["solve", "zzz"], "'zzz' is neither a file nor in the catalogue (`bap examples` lists it)"),
    (["examples", "zzz"], "'zzz' is not in the catalogue (`bap examples` lists it)"),
    (["solve", "no.toml"], "no.toml cannot be read: No such file or directory"),
    (["solve", "no/where"], "no/where cannot be read: No such file or directory"),
    (["solve", "."], ". cannot be read: Is a directory"),
    (["solve", "a\nb\x1b[31m.toml"], "'a\\nb\\x1b[31m.toml' cannot be read: No such file or directory"),
    (["solve", "coin_toss", "--lambda", "-1"], "--lambda = -1 must not be negative"),
    (["solve", "coin_toss", "--lambda", "1/0"], "--lambda = '1/0' divides by zero"),
    (["solve", "coin_toss", "--lambda", "often"], "--lambda = 'often' is not a number"),
    (["solve", "coin_toss", "--lambda", "nan"], "--lambda = 'nan' must be finite"),
    (["solve", "coin_toss", "--formulation", "x"], "Invalid value for '--formulation'"),
    (["solve", "coin_toss", "--out", "file"], "--out = 'file' must be a directory, and is a file"),
    (["solve", "coin_toss", "--out", "file/below"], "file/below: Not a directory"),
    (["evaluate", "coin_toss", "no.json"], "no.json cannot be read: No such file or directory"),
    (["evaluate", "district", "m.json"], "m.json: channel has 2 rows, must have 4, one per state"),
    (["evaluate", "undefined.toml", "plain.json"], "undefined.toml: alice.lambda = 'calibrated' is undefined: Eve"),
    (["solve", "undefined.toml"], "undefined.toml: alice.lambda = 'calibrated' is undefined: Eve"),
    (["compare", "undefined.toml", "--lambda", "calibrated"], "--lambda = 'calibrated' is undefined: Eve"),
    (["verify", "coin_toss", "m.json"], "m.json: states is not a known key"),
    (["release", "m.json", "nope"], "state = 'nope' is not one of 'tails', 'heads'"),
    (["release", "m.json", "heads", "--count", "0"], "Invalid value for '--count'"),
    (["release", "m.json", "heads", "--count", "many"], "Invalid value for '--count'"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("arguments", "message"), USAGE, ids=[" ".join(map(ascii, a)) for a, _ in USAGE])
def test_whatever_is_wrong_is_one_line(run: Run, arguments: list[str], message: str) -> None:
    Path("file").write_text("")
    Path("m.json").write_text(json.dumps(COIN_MECHANISM))
    Path("plain.json").write_text(json.dumps({"channel": [[1], [1]]}))
    Path("undefined.toml").write_text(UNDEFINED)
    before = sorted(p.name for p in Path().iterdir())
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"bap: {message}")
    assert err.count("\n") == 1
    assert sorted(p.name for p in Path().iterdir()) == before
