"""`bap tiers`: what it prints and writes, how it checks, and what it refuses; own beliefs on the command line."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import pytest
from tampering import change

from bap_cli.main import main
from bap_lp import load_mechanism, verify_standalone

FILES = ["file_public", "file_research", "file_secure"]


def test_tiers_write_nested_mechanisms_and_a_certificate_that_is_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "proof"
    assert main(["tiers", *FILES, "--out", str(out), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["value"], document["bound"], document["gap"]) == ("-23/40", "-23/40", "0")
    assert (document["separate"], document["price_of_nesting"]) == ("-29/40", "3/20")
    assert sorted(path.name for path in out.iterdir()) == [
        "certificate.json",
        "manifest.json",
        *(f"mechanism-{k}.json" for k in (1, 2, 3)),
        "mechanism.json",
        "problem.json",
    ]
    for k, tier in enumerate(document["tiers"], start=1):
        assert load_mechanism(out / f"mechanism-{k}.json").signals == tuple(tier["mechanism"]["signals"])
    certificate = out / "certificate.json"
    assert main(["tiers", *FILES, "--check", str(certificate)]) == 0
    assert "Verified at lambda = 1, 3/4, 1/4: -23/40 is optimal" in capsys.readouterr().out
    forged = json.loads(certificate.read_text()) | {"value": "-24/40"}
    certificate.write_text(json.dumps(forged))
    assert main(["tiers", *FILES, "--check", str(certificate)]) == 1
    assert "does not prove the optimum: the channel has value -23/40" in capsys.readouterr().err


def test_lambdas_and_weights_are_given_once_or_per_tier(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tiers", *FILES[:2], "--lambda", "1/2", "--weight", "1", "--weight", "3", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [tier["lambda"] for tier in document["tiers"]] == ["1/2", "1/2"]
    assert [tier["weight"] for tier in document["tiers"]] == ["1", "3"]
    assert main(["tiers", *FILES[:2], "--float", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["exact"] is False


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["file_public", "coin_toss"], "coin_toss.toml must have the same states as"),
        ([*FILES, "--lambda", "1", "--lambda", "2"], "--lambda is given 2 times, must be given once, or 3 times"),
        ([*FILES, "--lambda", "x"], "--lambda = 'x' is not a number"),
        ([*FILES[:1], "--weight", "0"], "--weight = 0 must be positive"),
        (["prosecutor"], "prosecutor.toml needs agents who share Alice's prior and count: judge has harm or prior"),
        ([*FILES, "--check", "no_such_file.json"], "no_such_file.json cannot be read"),
        ([], "Missing argument"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tiers", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_tier_keeps_the_conditions_of_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["examples", "file_public"]) == 0
    text, own, out = capsys.readouterr().out, tmp_path / "own.toml", tmp_path / "out"
    own.write_text(text + "\n[conditions]\nexp_epsilon = 2\n")
    assert main(["tiers", str(own), "file_secure", "--out", str(out), "--json"]) == 0
    capsys.readouterr()
    assert load_mechanism(out / "mechanism-1.json").epsilon <= math.log(2) * (1 + 1e-12)
    assert load_mechanism(out / "mechanism-2.json").epsilon > 1
    assert main(["verify", str(out)]) == 0
    assert verify_standalone.check(str(out))
    assert "under the conditions" in capsys.readouterr().out
    assert main(["tiers", str(own), "file_secure", "--check", str(out / "certificate.json")]) == 0
    assert main(["tiers", "file_public", "file_secure", "--check", str(out / "certificate.json")]) == 1
    assert "it supposes exp_epsilon, which is not demanded" in capsys.readouterr().err
    own.write_text(text + "\n[conditions]\nmax_bob_risk = 0\nexp_epsilon = 2\n")
    assert main(["tiers", str(own), "file_secure", "--out", str(out)]) == 2
    assert "own.toml.max_bob_risk" in capsys.readouterr().err
    assert (out / "conflict.json").exists()


def test_tiers_are_a_bundle_that_is_verified_and_released_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "proof"
    assert main(["tiers", *FILES, "--out", str(out)]) == 0
    assert f"Check it:  bap verify {out}" in capsys.readouterr().out
    assert main(["verify", str(out)]) == 0
    assert "-23/40 is optimal: rho attains it and no nested releases go below" in capsys.readouterr().out
    assert verify_standalone.check(str(out)) == "the sum over the tiers -23/40 is optimal"
    states = load_mechanism(out / "mechanism.json").states
    seen = [set(load_mechanism(out / f"mechanism-{k}.json").signals) for k in (1, 2, 3)]
    for state in states:
        assert main(["release", str(out), state]) == 0
        signals = capsys.readouterr().out.splitlines()
        assert len(signals) == 3
        assert all(signal in tier for signal, tier in zip(signals, seen, strict=True))
        assert signals[2].startswith(signals[1] + " > ")
        assert signals[1].startswith(signals[0] + " > ")
    assert main(["release", str(out / "mechanism-1.json"), states[0]]) == 0
    first = capsys.readouterr()
    assert first.out.strip() in seen[0]
    assert "tier 1 alone" in first.err
    (tmp_path / "states.csv").write_text("".join(f'"{state}"\n' for state in states))
    assert main(["release", str(out), "--from", str(tmp_path / "states.csv")]) == 0
    rows = list(csv.reader(capsys.readouterr().out.splitlines()))
    assert len(rows) == len(states)
    assert all(signal in tier for row in rows for signal, tier in zip(row, seen, strict=True))
    assert main(["report", str(out), "-o", str(tmp_path / "page.html")]) == 2
    assert "is about several tiers; a report shows one problem" in capsys.readouterr().err


def test_no_mechanism_of_tiers_can_be_swapped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "proof"
    assert main(["tiers", *FILES, "--out", str(out), "--json"]) == 0
    state = load_mechanism(out / "mechanism.json").states[0]
    whole = json.loads((out / "mechanism-2.json").read_text())
    identity = [[str(int(x == s % 4)) for s in range(len(whole["signals"]))] for x in range(4)]
    (out / "mechanism-2.json").write_text(json.dumps(whole | {"channel": identity}))
    capsys.readouterr()
    assert main(["release", str(out / "mechanism-2.json"), state]) == 1
    assert "is not what tier 2 of the bundle sees" in capsys.readouterr().err
    last = json.loads((out / "mechanism.json").read_text())
    rows = last["channel"][1:] + last["channel"][:1]
    change(out, "mechanism.json", channel=rows)
    for place in (out, out / "mechanism.json", out / "mechanism-1.json"):
        assert main(["release", str(place), state]) == 1
        captured = capsys.readouterr()
        assert captured.out == ""
        assert "the mechanism is not the one that is proved" in captured.err


def test_a_certificate_of_tiers_is_about_the_lambdas_weights_and_numbers_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, options in (("a", ["--lambda", "5"]), ("b", ["--weight", "2"]), ("c", ["--float"])):
        assert main(["tiers", *FILES, "--out", str(tmp_path / name), "--json", *options]) == 0
    capsys.readouterr()

    def checked(name: str, *options: str) -> tuple[int, str]:
        code = main(["tiers", *FILES, "--check", str(tmp_path / name / "certificate.json"), *options])
        return code, "".join(capsys.readouterr())

    code, words = checked("a")
    assert code == 1
    assert "it is about lambda = 5, not 1" in words
    assert checked("a", "--lambda", "5")[0] == 0
    code, words = checked("b")
    assert code == 1
    assert "it is about weight = 2, not 1" in words
    assert checked("b", "--weight", "2")[0] == 0
    code, words = checked("c")
    assert code == 1
    assert "those of the certificate are floats" in words
    assert checked("c", "--allow-float")[0] == 0
    assert main(["verify", str(tmp_path / "c")]) == 1
    assert main(["verify", str(tmp_path / "c"), "--allow-float"]) == 0
