"""What is signed is what is deployed: `verify`, `release` and `report` on bundles, and other demands."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tampering import change, refit

from bap_cli.main import main
from bap_lp import Problem, robust, save_bundle
from bap_lp.support import limits

Run = Callable[..., tuple[int, str, str]]


COIN: dict[str, Any] = {
    "data": {"labels": ["tails", "heads"], "prior": ["3/4", "1/4"]},
    "bob": {"loss": [["1/3", "2/3"], [1, 0]]},
    "eve": {"loss": [[0, 1], [10, 0]]},
    "alice": {"lambda": "1/3"},
}


def test_the_demands_of_the_file_count(run: Run) -> None:
    """A certificate for another lambda, or without the file's conditions, exited with 0."""
    Path("plain.json").write_text(json.dumps(COIN))
    Path("asks.json").write_text(json.dumps(COIN | {"conditions": {"min_eve_risk": "2/3"}}))
    Path("other.json").write_text(json.dumps(COIN | {"alice": {"lambda": "1/2"}}))
    assert run("solve", "plain.json", "--out", "d")[0] == 0
    assert run("verify", "plain.json", "d/certificate.json")[0] == 0
    code, out, err = run("verify", "asks.json", "d/certificate.json")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "it does not keep min_eve_risk" in err
    code, _, err = run("verify", "other.json", "d/certificate.json")
    assert code == 1
    assert "it is about lambda = 1/3, not 1/2" in err
    assert run("verify", "other.json", "d/certificate.json", "--lambda", "1/3")[0] == 0
    code, out, _ = run("verify", "asks.json", "d/certificate.json", "--as-claimed")
    assert code == 0
    assert "Note: the file asks for other conditions: min_eve_risk = 2/3." in out
    assert run("solve", "asks.json", "--out", "e")[0] == 0
    code, _, err = run("verify", "plain.json", "e/certificate.json")
    assert code == 1
    assert "it supposes min_eve_risk, which is not demanded" in err
    assert run("verify", "asks.json", "e/certificate.json")[0] == 0


def test_an_exact_problem_needs_an_exact_certificate(run: Run) -> None:
    assert "bap verify f --allow-float" in run("solve", "coin_toss", "--float", "--out", "f")[1]
    for arguments in (["f"], ["coin_toss", "f/certificate.json"]):
        code, out, err = run("verify", *arguments)
        assert (code, out) == (1, "")
        assert "the numbers of the problem are exact and those of the certificate are floats" in err
        assert run("verify", *arguments, "--allow-float")[0] == 0
    assert run("release", "f", "tails")[0] == 1
    assert run("release", "f", "tails", "--allow-float")[0] == 0


def test_a_channel_that_is_not_proved_is_not_released(run: Run) -> None:
    """With the identity in mechanism.json, verify exited with 0 and release published the data."""
    assert run("solve", "coin_toss", "--out", "d")[0] == 0
    assert run("release", "d", "tails") == (0, "fixed\n", "")
    change(Path("d"), "mechanism.json", channel=[["1", "0"], ["0", "1"]])
    for arguments in (
        ["verify", "d"],
        ["release", "d", "heads"],
        ["release", "d/mechanism.json", "heads"],
        ["report", "d"],
    ):
        code, out, err = run(*arguments)
        assert (code, out) == (1, "")
        assert "the mechanism is not the one that is proved: in state heads it sends fixed with probability 0" in err
    code, _, err = run("verify", "coin_toss", "d/certificate.json", "--mechanism", "d/mechanism.json")
    assert code == 1
    assert "is not the one that is proved" in err
    assert not Path("report.html").exists()
    Path("d/mechanism.json").write_text("{}")
    code, _, err = run("verify", "d")
    assert code == 1
    assert err == "bap: d/manifest.json does not fit mechanism.json, which has another SHA-256\n"


def test_a_bundle_belongs_to_its_problem(run: Run) -> None:
    assert run("solve", "coin_toss", "--out", "d")[0] == 0
    code, out, err = run("verify", "d")
    assert (code, err) == (0, "")
    assert "The mechanism is the one that is proved, and the files are those of the manifest." in out
    assert "from coin_toss.toml." in out
    assert run("verify", "coin_toss", "d")[0] == 0
    code, _, err = run("verify", "district", "d")
    assert code == 1
    assert "it is about another problem" in err
    shutil.copytree("d", "e")
    change(Path("e"), "problem.json", title="Another title")
    assert run("verify", "e")[0] == 0
    document = json.loads(Path("e/problem.json").read_text())
    document["eve"][0]["loss"][1][0] = "9"
    Path("e/problem.json").write_text(json.dumps(document))
    refit(Path("e"))
    assert run("verify", "e")[0] == 1


def test_the_problem_of_a_bundle_is_the_one_that_was_solved(run: Run) -> None:
    """The coin toss has a parameter: Bob's losses are its posterior means, and lambda is a number."""
    assert run("solve", "coin_toss", "--exp-epsilon", "3", "--out", "d")[0] == 0
    document = json.loads(Path("d/problem.json").read_text())
    assert document["data"] == {"labels": ["tails", "heads"], "prior": ["3/4", "1/4"]}
    assert document["bob"][0]["loss"] == [["1/3", "2/3"], ["1", "0"]]
    assert (document["alice"], document["conditions"]) == ({"lambda": "1/3"}, {"exp_epsilon": "3"})


def test_what_the_manifest_says_of_its_origin_is_not_checked(run: Run) -> None:
    assert run("solve", "coin_toss", "--out", "d")[0] == 0
    manifest = json.loads(Path("d/manifest.json").read_text())
    checked = {"format", "lambda", "conditions", "files"}
    others = {"made": "1999", "version": "0", "how": "by hand", "method": "none", "source": None}
    assert {*manifest} == checked | {*others}
    for changed, code in (
        *(({name: value}, 0) for name, value in others.items()),
        ({"files": manifest["files"] | {"problem.json": "0" * 64}}, 1),
        ({"lambda": "1/2"}, 1),
        ({"conditions": {"deterministic": True}}, 1),
    ):
        Path("d/manifest.json").write_text(json.dumps(manifest | changed))
        assert run("verify", "d")[0] == code, changed


def test_the_title_of_a_file_is_no_part_of_its_problem(run: Run) -> None:
    Path("coin.json").write_text(json.dumps(COIN | {"title": "A coin"}))
    assert run("solve", "coin.json", "--out", "d")[0] == 0
    Path("coin.json").write_text(json.dumps(COIN | {"title": "The same coin"}))
    assert run("verify", "coin.json", "d")[0] == 0
    Path("coin.json").write_text(json.dumps(COIN | {"bob": {"loss": [["1/3", "2/3"], [1, "1/9"]]}}))
    assert run("verify", "coin.json", "d")[0] == 1


def test_the_report_of_a_bundle_shows_the_bundle(run: Run) -> None:
    assert run("solve", "coin_toss", "--lambda", "1/2", "--out", "d", "--formulation", "paper")[0] == 0
    assert run("report", "d", "-o", "r.html")[0] == 0
    page = Path("r.html").read_text()
    island = json.loads(page.split('id="data">')[1].split("</script>")[0])
    manifest = json.loads(Path("d/manifest.json").read_text())
    assert island["bundle"]["files"] == manifest["files"]
    assert island["partial"]  # the paper's signals are other ones than those of the path
    signals = json.loads(Path("d/mechanism.json").read_text())["signals"]
    assert island["pieces"][0]["detail"]["signals"] == signals
    assert run("report", "d", "--lambda", "1/3")[0] == 2


def test_worst_cases_are_verified_and_released_but_not_reported(run: Run) -> None:
    bob = [["1/3", "2/3"], [1, 0]]
    coins = [Problem(["3/4", "1/4"], bob, [[0, 1], [k, 0]], states=["t", "h"]) for k in (4, 10)]
    save_bundle("d", robust(coins, "1/3"))
    code, out, _ = run("verify", "d")
    assert code == 0
    assert "the worst case 3/16 is optimal" in out
    assert run("release", "d", "t")[0] == 0
    code, _, err = run("report", "d")
    assert code == 2
    assert err.startswith("bap: d is about several scenarios")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["verify", "coin_toss"], "a certificate must be given with a problem file"),
        (["verify", "d", "--lambda", "1"], "--lambda needs a problem file and a certificate"),
        (["verify", "empty"], "empty/manifest.json cannot be read"),
        (["--limit", "digits", "verify", "d"], "limit 'digits' must be NAME=NUMBER"),
        (
            ["--limit", "keys=3", "verify", "d"],
            "d/manifest.json: table has more than 3 keys (--limit keys=N raises this)",
        ),
    ],
)
def test_whatever_is_wrong_with_a_bundle_is_one_line(run: Run, arguments: list[str], message: str) -> None:
    from bap_lp.support.limits import DEFAULTS, set_limits

    assert run("solve", "coin_toss", "--out", "d")[0] == 0
    Path("empty").mkdir()
    try:
        code, out, err = run(*arguments)
    finally:
        set_limits([f"keys={DEFAULTS['keys']}"])
    assert (code, out) == (2, "")
    assert err.startswith(f"bap: {message}")
    assert err.count("\n") == 1


def test_a_conflict_of_other_conditions_is_none_of_the_file(run: Run) -> None:
    Path("asks.json").write_text(json.dumps(COIN | {"conditions": {"min_eve_risk": "2/3", "max_bob_risk": "1/4"}}))
    Path("plain.json").write_text(json.dumps(COIN))
    assert run("solve", "asks.json", "--out", "d")[0] == 2
    assert run("verify", "asks.json", "d/conflict.json")[0] == 0
    code, _, err = run("verify", "plain.json", "d/conflict.json")
    assert code == 1
    assert "it supposes min_eve_risk, which is not demanded" in err
    assert run("verify", "plain.json", "d/conflict.json", "--as-claimed")[0] == 0


@pytest.mark.parametrize("bound", [{"digits": 40}, {"work": 20}, {"digits": 40, "work": 20}])
def test_the_command_that_checks_a_bundle_raises_the_limits_that_its_numbers_need(
    run: Run, monkeypatch: pytest.MonkeyPatch, bound: dict[str, int]
) -> None:
    """The losses are short enough to be read, what is proved of them is not; `bap verify DIR` refused to read it."""
    monkeypatch.setattr(limits, "_LIMITS", dict(limits.DEFAULTS) | bound)
    long = {"loss": [[f"{7**30 + k}/{3**60 + k * k}" for k in (i, i + 5)] for i in range(2)]}
    Path("long.json").write_text(json.dumps(COIN | {"bob": long}))
    code, out, _ = run("solve", "long.json", "--out", "d")
    command = out.splitlines()[-1].removeprefix("Check it:").split()
    assert (code, command[0], command[-2:]) == (0, "bap", ["verify", "d"])
    assert run("verify", "d")[0] == 2
    assert [part.split("=")[0] for part in command if "=" in part] == list(bound)
    assert run(*command[1:])[0] == 0


def test_a_bundle_with_short_numbers_is_checked_without_options(run: Run) -> None:
    Path("coin.json").write_text(json.dumps(COIN))
    out = run("solve", "coin.json", "--out", "d d")[1]
    assert out.splitlines()[-1] == "Check it:  bap verify 'd d'"


def test_the_hash_in_the_log_is_that_of_the_files_that_were_checked(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The manifest was read again for its hash, and could be another one by then."""
    from bap_cli.commands import verify

    Path("coin.json").write_text(json.dumps(COIN))
    assert run("solve", "coin.json", "--out", "d")[0] == 0
    before, load = hashlib.sha256(Path("d/manifest.json").read_bytes()).hexdigest(), verify.load_bundle

    def replaced(path: str) -> Any:
        bundle = load(path)
        Path("d/manifest.json").write_text("{}")
        return bundle

    monkeypatch.setattr(verify, "load_bundle", replaced)
    Path("states.csv").write_text("tails\n")
    assert run("release", "d", "--from", "states.csv", "-o", "signals.csv", "--log", "log.txt")[0] == 0
    assert before in Path("log.txt").read_text()


@pytest.mark.parametrize("place", ["{}", "--out={}"])
def test_a_manifest_and_a_page_do_not_tell_where_files_lie(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, folder, page = (tmp_path / "private" / name for name in ("coin.json", "proof", "page.html"))
    file.parent.mkdir()
    file.write_text(json.dumps(COIN))
    command = ["solve", str(file), "--lambda", "1/3", *(["--out"] if place == "{}" else []), place.format(folder)]
    monkeypatch.setattr(sys, "argv", ["bap", *command])
    assert main(command) == main(["report", str(file), "-o", str(page)]) == 0
    assert "private" not in (folder / "manifest.json").read_text() + page.read_text()
    how = json.loads((folder / "manifest.json").read_text())["how"]
    assert how == f"bap solve coin.json --lambda 1/3 {'--out proof' if place == '{}' else '--out=proof'}"
