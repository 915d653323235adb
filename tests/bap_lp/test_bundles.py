"""Bundles: what belongs together verifies, whatever made it; anything else does not."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction as F
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tampering import MANIFEST, both, change, refit

import bap_lp
from bap_lp import (
    Agent,
    Conditions,
    InputError,
    Mechanism,
    Problem,
    load_bundle,
    robust,
    save_bundle,
    solve,
    tiers,
    verify,
    verify_standalone,
)

FILES = ("problem.json", "mechanism.json", "certificate.json")
COIN = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]], title="Coin")


@pytest.mark.slow
def test_cases_scenarios_and_many_float_states_bundle(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    bob, eve = (random.integers(0, 9, (9, 3)).tolist() for _ in range(2))
    nine = Problem([F(1, 9)] * 9, bob, eve)
    found: list[Any] = [solve(nine, 2, conditions=Conditions(deterministic=True, min_eve_risk=2))]
    found += [
        robust([nine, Problem([F(1, 9)] * 9, eve, bob)], lam, exact) for lam in ("1/2",) for exact in (None, False)
    ]
    n = 3000
    found.append(solve(Problem(random.dirichlet(np.ones(n)), random.random((n, 4)), random.random((n, 3))), 0.5))
    found.append(solve(COIN, "1/3", formulation="paper"))
    for k, solution in enumerate(found):
        save_bundle(tmp_path / str(k), solution)
        assert load_bundle(tmp_path / str(k)).verify()
        if len(solution.mechanism.states) < 100:
            assert both(tmp_path / str(k)) == (True, True)


def test_another_channel_in_a_bundle_does_not_verify(tmp_path: Path) -> None:
    """The identity in mechanism.json was published while the certificate, which is about another one, verified."""
    save_bundle(tmp_path / "d", solve(COIN, "1/3"))
    (tmp_path / "d" / "mechanism.json").write_text(
        json.dumps({"states": ["0", "1"], "signals": ["0", "1"], "channel": [["1", "0"], ["0", "1"]]})
    )
    with pytest.raises(InputError, match=r"does not fit mechanism\.json, which has another SHA-256"):
        load_bundle(tmp_path / "d")
    refit(tmp_path / "d")
    verdict = load_bundle(tmp_path / "d").verify()
    assert verdict.reason.startswith("the mechanism is not the one that is proved: in state 1 it sends 0")
    assert both(tmp_path / "d") == (False, False)


def test_signals_keep_their_names(tmp_path: Path) -> None:
    best = solve(COIN, "1/3")
    swapped = Mechanism(best.mechanism.channel, signals=["1", "0"], states=best.mechanism.states)
    assert "is not the one that is proved" in verify(COIN, best.certificate, swapped).reason
    renamed = Mechanism(best.mechanism.channel, signals=["yes", "no"], states=best.mechanism.states)
    assert verify(COIN, best.certificate, renamed).reason == "the proof has no signal 'yes'"
    other = Mechanism(best.mechanism.channel, signals=best.mechanism.signals, states=["1", "0"])
    assert verify(COIN, best.certificate, other).reason.startswith("the states of the mechanism")


def test_a_finer_mechanism_must_have_the_same_value() -> None:
    """The paper's signals name Eve's decision too; splitting a signal so that she learns more is not optimal."""
    best = solve(COIN, "1/3", formulation="paper")
    assert verify(COIN, best.certificate, best.mechanism)
    names = ["0 / 0", "0 / 1", "1 / 1"]
    split = Mechanism([[1, 0, 0], [0, "3/10", "7/10"]], signals=names, states=COIN.states)
    verdict = verify(COIN, best.certificate, split)
    assert verdict.reason == "the mechanism has another R_A than the one that is proved"


@pytest.mark.parametrize("asked", [None, {"exp_epsilon": 3}])
def test_a_state_that_never_occurs_has_the_row_that_is_proved(tmp_path: Path, asked: Any) -> None:
    """The null row, and under conditions that of the certificate."""
    problem = Problem(["3/4", 0, "1/4"], [["1/3", "2/3"], [0, 0], [1, 0]], [[0, 1], [5, 5], [10, 0]])
    save_bundle(tmp_path / "d", solve(problem, "1/3", conditions=asked))
    assert both(tmp_path / "d") == (True, True)
    channel = json.loads((tmp_path / "d" / "mechanism.json").read_text())["channel"]
    change(tmp_path / "d", "mechanism.json", channel=[channel[0], channel[2], channel[2]])
    assert both(tmp_path / "d") == (False, False)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("problem.json", {"alice": {"lambda": "1/2"}}),
        ("problem.json", {"conditions": {"min_eve_risk": "1/2"}}),
        ("problem.json", {"conditions": {"deterministic": True}}),
        ("certificate.json", {"lambda": "1/2"}),
        ("certificate.json", {"value": "3/41"}),
        ("certificate.json", {"value": 0.075}),
        ("certificate.json", {"conditions": {"deterministic": True}}),
        ("certificate.json", {"more": 1}),
        ("mechanism.json", {"channel": [["1", "0"], [0.3, 0.7]]}),
        ("mechanism.json", {"states": ["1", "0"]}),
        (MANIFEST, {"lambda": "1/2"}),
        (MANIFEST, {"conditions": {"margin": 0}}),
        (MANIFEST, {"format": "bap-lp bundle 99"}),
        (MANIFEST, {"extra": 1}),
        (MANIFEST, {"source": {"name": "x"}}),
    ],
)
def test_no_file_of_a_bundle_can_be_changed_alone(tmp_path: Path, name: str, values: dict[str, Any]) -> None:
    save_bundle(tmp_path / "d", solve(COIN, "1/3"))
    assert both(tmp_path / "d") == (True, True)
    change(tmp_path / "d", name, **values)
    assert both(tmp_path / "d") == (False, False)


def test_files_of_two_bundles_do_not_mix(tmp_path: Path) -> None:
    cases = [solve(COIN, "1/3"), solve(COIN, "1/2"), solve(COIN, "1/3", conditions=Conditions(min_eve_risk="1/2"))]
    for k, solution in enumerate(cases):
        save_bundle(tmp_path / str(k), solution)
    for a in range(3):
        for b in range(3):
            for name in FILES:
                folder = tmp_path / "mixed"
                shutil.copytree(tmp_path / str(a), folder)
                shutil.copy(tmp_path / str(b) / name, folder / name)
                same = (folder / name).read_bytes() == (tmp_path / str(a) / name).read_bytes()
                assert both(folder) == (same, same)
                refit(folder)
                found = both(folder)
                assert found[0] == found[1]
                shutil.rmtree(folder)


def test_the_manifest_says_where_it_comes_from(tmp_path: Path) -> None:
    source = tmp_path / "coin.toml"
    source.write_text("anything")
    save_bundle(tmp_path / "d", solve(COIN, "1/3"), source=source, how="bap solve coin.toml")
    manifest = json.loads((tmp_path / "d" / MANIFEST).read_text())
    digest = hashlib.sha256(b"anything").hexdigest()
    assert manifest["source"] == {"name": "coin.toml", "sha256": digest}
    assert (manifest["lambda"], manifest["conditions"], manifest["how"]) == ("1/3", {}, "bap solve coin.toml")
    assert abs(datetime.now(UTC) - datetime.fromisoformat(manifest["made"])) < timedelta(hours=1)
    assert manifest["version"] == bap_lp.__version__
    assert sorted(manifest["files"]) == sorted(FILES)


def test_a_manifest_tells_whether_a_guess_of_the_problem_is_right(tmp_path: Path) -> None:
    """So it is no more public than the problem is."""
    for name, heads in (("secret", 3), ("right", 3), ("wrong", 4)):
        counts = [F(7, 7 + heads), F(heads, 7 + heads)]
        save_bundle(tmp_path / name, solve(Problem(counts, COIN.B.tolist(), COIN.E.tolist()), "1/3"))
    secret, right, wrong = (
        json.loads((tmp_path / name / MANIFEST).read_text())["files"]["problem.json"]
        for name in ("secret", "right", "wrong")
    )
    assert secret == right != wrong


@pytest.mark.slow
def test_the_stand_alone_checker_is_one_file_that_can_be_copied(tmp_path: Path) -> None:
    """It imports the standard library only, and works where nothing else is installed."""
    save_bundle(tmp_path / "d", solve(COIN, "1/3"))
    copy = tmp_path / "check.py"
    shutil.copy(Path(verify_standalone.__file__), copy)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-I", "-S", str(copy), *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    done = run("d")
    assert (done.returncode, done.stdout, done.stderr) == (0, "verified: R_A = 3/40 is optimal\n", "")
    change(tmp_path / "d", "certificate.json", value="1/40")
    done = run("d")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "not proved: R_A is 0.075, not 0.025\n"
    assert run().returncode == 2
    assert run("nowhere").returncode == 1


@pytest.mark.slow
def test_a_proof_of_many_cases_is_carried_whole(tmp_path: Path) -> None:
    """Certificates had 200 branches at most; a longer proof was left out, and the solution called itself proved."""
    draw = np.random.default_rng(5)
    for states, decisions in ((6, 2), (10, 3), (14, 3)):
        tables = [draw.integers(0, 9, (states, decisions)).tolist() for _ in range(2)]
    best = solve(Problem([F(1, 14)] * 14, *tables), "3/2", conditions=Conditions(deterministic=True, margin="1/100"))
    save_bundle(tmp_path / "d", best)
    assert both(tmp_path / "d") == (True, True)


def test_a_condition_in_a_bundle_is_never_null(tmp_path: Path) -> None:
    save_bundle(tmp_path, solve(COIN, "1/3"))
    for name in Conditions.names():
        change(tmp_path, "problem.json", conditions={name: None})
        manifest = json.loads((tmp_path / "manifest.json").read_text()) | {"conditions": {name: None}}
        (tmp_path / "manifest.json").write_text(json.dumps(manifest))
        with pytest.raises(InputError, match=rf"conditions\.{name} must"):
            load_bundle(tmp_path)
        with pytest.raises(verify_standalone.Refused):
            verify_standalone.check(str(tmp_path))


@pytest.mark.parametrize("name", ["manifest.json", "problem.json", "mechanism.json", "certificate.json"])
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path, name: str) -> None:
    save_bundle(tmp_path, solve(COIN, "1/3"))
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    with pytest.raises(InputError, match="must be a file, and is a directory, a pipe or a device"):
        load_bundle(tmp_path)
    with pytest.raises(verify_standalone.Refused, match="is not a file"):
        verify_standalone.check(str(tmp_path))


@pytest.mark.parametrize("name", ["problem.json", "mechanism.json", "certificate.json"])
def test_a_changed_file_is_another_file_even_if_it_cannot_be_read(tmp_path: Path, name: str) -> None:
    save_bundle(tmp_path, solve(COIN, "1/3"))
    (tmp_path / name).write_bytes(b"{")
    with pytest.raises(InputError, match="another SHA-256"):
        load_bundle(tmp_path)
    with pytest.raises(verify_standalone.Refused, match="not the file of the manifest"):
        verify_standalone.check(str(tmp_path))


def test_a_bundle_that_is_replaced_while_it_is_read_is_the_one_or_the_other(tmp_path: Path) -> None:
    folder, cases, done = tmp_path / "d", [solve(COIN, "1/3"), solve(COIN, "1/2")], threading.Event()
    save_bundle(folder, cases[0])

    def replace_it() -> None:
        for k in range(30):
            save_bundle(folder, cases[k % 2])
        done.set()

    with ThreadPoolExecutor(1) as pool:
        writing, read = pool.submit(replace_it), 0
        while not done.is_set() or read < 5:
            with suppress(InputError):  # replaced again and again, its files may never fit its manifest
                found, read = load_bundle(folder), read + 1
                assert found.verify()
                assert found.lam in (F(1, 3), F(1, 2))
        writing.result()


def test_a_bob_and_an_eve_who_are_alike_are_two_agents(tmp_path: Path) -> None:
    loss = [[0, 1], [1, 0], [2, 1]]
    for harm in (None, [[0, 2], [1, 0], [1, 1]]):
        twin = Agent(loss, name="twin", harm=harm)
        problem = Problem(["1/2", "1/3", "1/6"], bobs=[twin], eves=[twin])
        save_bundle(tmp_path / "b", solve(problem, "1/3"))
        assert both(tmp_path / "b") == (True, True)


def test_floats_of_any_part_make_a_float_bundle(tmp_path: Path) -> None:
    """Nothing has to be allowed for them: there is no exact certificate that could be asked for."""
    losses = [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]]
    bobs = [Agent(losses[0], name="a", weight=0.3), Agent(losses[1], name="b", weight=1.7)]
    eves = [replace(bobs[1], name="e"), replace(bobs[0], name="f")]
    for solution in (
        solve(Problem(["3/4", "1/4"], bobs=bobs, eves=eves), "1/3"),
        solve(Problem([0.75, 0.25], *losses), "1/3"),
        solve(Problem(["3/4", "1/4"], losses[0], [[0, 1], [10, 0.5]]), "1/3"),
        solve(COIN, 1 / 3),
        solve(COIN, "1/3", conditions=Conditions(epsilon="1/2")),
        solve(COIN, "1/3", conditions=Conditions(min_eve_risk=0.5)),
    ):
        assert not solution.exact
        save_bundle(tmp_path / "d", solution)
        assert both(tmp_path / "d") == (True, True)
    save_bundle(tmp_path / "d", solve(COIN, "1/3", exact=False), COIN, "1/3")
    assert both(tmp_path / "d") == (False, False)
    assert both(tmp_path / "d", allow=True) == (True, True)


@pytest.mark.parametrize("zero", [0, 0.0, -0.0, "0"])
def test_an_epsilon_of_zero_is_exact_however_it_is_written(tmp_path: Path, zero: Any) -> None:
    problem = Problem(["1/2", "1/3", "1/6"], [[0, 1], [1, 0], [2, 1]], [[0, 1], [2, 0], [1, 1]])
    for asked in (
        Conditions(epsilon=zero),
        Conditions(posterior_ratio=[{"event": [0], "epsilon": zero}]),
        Conditions(pufferfish=[{"pairs": [[[0], [1]]], "epsilon": zero}]),
    ):
        save_bundle(tmp_path / "b", solve(problem, "1/3", conditions=asked))
        assert both(tmp_path / "b") == (True, True)


@pytest.mark.parametrize("weights", [(1, 3, 0, 1), (2, 5, 2, 1), (3, 2, 0, 1)])
def test_both_checkers_allow_the_rounding_of_a_coefficient_that_is_a_difference(
    weights: tuple[int, ...], tmp_path: Path
) -> None:
    """With K P(A) = 1 the coefficient 1 - K P(A) is all rounding."""
    prior = [F(w, sum(weights)) for w in weights]
    problem, K = Problem(prior, [[0, 1], [1, 0], [1, 0], [0, 1]], [[0], [0], [1], [0]]), 1 / (prior[1] + prior[2])
    for name, wanted in (
        ("ratio", Conditions(posterior_ratio=[{"event": [1, 2], "exp_epsilon": K}])),
        ("pufferfish", Conditions(pufferfish={"pairs": [[[1, 2], [0, 1, 2, 3]]], "exp_epsilon": K})),
    ):
        found = solve(problem.as_float(), 0.0, conditions=wanted)
        assert found.value == pytest.approx(float(solve(problem, 0, conditions=wanted).value), abs=1e-12)
        save_bundle(tmp_path / name, found)
        assert both(tmp_path / name) == (True, True)


CLASHING = (["a", "a, b", "a / b"], ["b, c", "c"])


@pytest.mark.parametrize("prior", [["1/2", "1/4", "1/4"], ["1/2", "1/2", 0]])
@pytest.mark.parametrize("how", ["solve", "paper", "margin", "tiers", "robust"])
def test_both_checkers_tell_joint_labels_apart(tmp_path: Path, prior: list[Any], how: str) -> None:
    """ "a" and "b, c" are other decisions than "a, b" and "c"."""
    bobs = [
        Agent([[4 * (x != i) + i for i in range(3)] for x in range(3)], CLASHING[0], "one"),
        Agent([[3 * (x % 2 != i) for i in range(2)] for x in range(3)], CLASHING[1], "two"),
    ]
    eves = [Agent([[int(x % 2 == j) for j in range(2)] for x in range(3)], ["b", "b / b"], "eve")]
    one = Problem(prior, bobs=bobs, eves=eves)
    other = Problem(prior, bobs=bobs[:1], eves=eves)
    found: Any = {
        "solve": lambda: solve(one, "1/3"),
        "paper": lambda: solve(one, "1/3", formulation="paper"),
        "margin": lambda: solve(one, "1/3", conditions=Conditions(margin="1/1000")),
        "tiers": lambda: tiers([other, one], "1/3"),
        "robust": lambda: robust([one, other], "1/3"),
    }[how]()
    save_bundle(tmp_path / "d", found)
    verdict = load_bundle(tmp_path / "d").verify()
    assert verdict, verdict.reason
    verify_standalone.check(tmp_path / "d")
