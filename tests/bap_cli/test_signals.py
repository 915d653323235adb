"""An interrupt ends every phase of a command in one line, also where Python does not hear of it, and leaves nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from bap_cli.main import main

# what pip writes for `bap`, after a change that a test makes; an hour of compiled code hears no signal
PROGRAM = """
import hashlib, os, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)
def hour(*_, **__):
    os.write(1, b"ready\\n")  # in one piece, also from two workers
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)
CHANGE
from bap_cli.main import main
sys.exit(main())
"""
COMPILED = "import bap_cli.commands.examples as home; home.schema = lambda: hour()"
SWALLOWED = """
import bap_cli.commands.examples as home
def deaf():
    os.write(1, b"ready\\n")
    while True:
        try:
            time.sleep(3600)
        except BaseException:
            pass
home.schema = deaf
"""
WORKERS = """
import bap_cli.commands.examples as home
from bap_sdc.records.pricing import workers
class Hour:
    effort = 1.0
    def solve(self):
        hour()
home.schema = lambda: list(workers.answers([Hour(), Hour()], 2))
"""
TRAINING = """
import bap_sdc.records.audit.attackers as home
class Model:
    fit = hour
home.ATTACKERS = {"an hour": Model}
"""
STUDY = """
data = "t.csv"
[publish.pay]
[[eve]]
secret = "ill"
[audit]
holdout = "1/2"
"""


def records(folder: Path) -> None:
    draw = np.random.default_rng(0)
    lines = ["ill,pay", *(f"{a},{b}" for a, b in zip(draw.integers(0, 2, 200), draw.integers(0, 3, 200), strict=True))]
    (folder / "t.csv").write_text("\n".join(lines))
    (folder / "study.toml").write_text(STUDY)


def started(folder: Path, change: str, *arguments: str) -> subprocess.Popen[str]:
    program = folder.with_name("bap.py")
    program.write_text(PROGRAM.replace("CHANGE", change))
    return subprocess.Popen(
        [sys.executable, str(program), *arguments],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "here").mkdir()
    return tmp_path / "here"


CASES = {
    "compiled code": (COMPILED, ["schema"]),
    "a library that swallows it": (SWALLOWED, ["schema"]),
    "workers": (WORKERS, ["schema"]),
    "the audit": (TRAINING, ["microdata", "solve", "study.toml", "--out", "D"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_an_interrupt_ends_what_would_take_an_hour(name: str, folder: Path) -> None:
    change, command = CASES[name]
    records(folder)
    before = sorted(folder.iterdir())
    process = started(folder, change, *command)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)  # also the workers have closed the stream
    finally:
        process.kill()
    assert (process.returncode, err) == (130, "bap: interrupted\n")
    assert sorted(folder.iterdir()) == before


@pytest.mark.slow
def test_a_time_limit_covers_the_audit(folder: Path) -> None:
    records(folder)
    process = started(folder, TRAINING, "microdata", "solve", "study.toml", "--out", "D", "--time-limit", "20")
    try:
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert (process.returncode, out) == (2, "ready\n")
    assert err == "bap: the time limit was reached before the end of the audit\n"
    assert not (folder / "D").exists()


def test_an_audit_looks_at_the_clock(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from bap_lp.support.clock import OutOfTime, time_limited
    from bap_sdc import load_study

    records(folder)
    best = load_study(folder / "study.toml").study.solve()
    for attackers in ((), ("logistic regression",)):
        with time_limited(0), pytest.raises(OutOfTime):
            best.verdict(attackers)


@pytest.mark.slow
@pytest.mark.parametrize("law", ["prior", "likelihood"])
def test_a_model_whose_law_takes_long_ends_at_its_time_limit(law: str, folder: Path) -> None:
    """A quantile of `ksone` is a search, and scipy.stats makes many of them between two looks at our clock."""
    slow, normal = 'name = "ksone"\nn = 20000', 'name = "norm"'
    laws = (slow, f'{normal}\nloc = "theta"') if law == "prior" else (normal, f'{slow}\nloc = "theta"')
    agents = '[bob]\nloss = "0-1"\nthresholds = [0.02]\n[eve]\nloss = "0-1"\nthresholds = [0.05]\n'
    (folder / "m.toml").write_text(f"[prior]\n{laws[0]}\n[likelihood]\n{laws[1]}\n{agents}")
    sleeping = "import discretise.model_files as home; home.scalar_model = hour" if law == "prior" else ""
    process = started(folder, sleeping, "model", "m.toml", "--time-limit", "2")
    try:
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, err) == (2, "bap: the time limit was reached before the optimum\n")


# a signal comes while this module is loaded, or while a callback runs whose exceptions nobody gets
LOADING = """
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "MODULE":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
"""
CALLBACK = """
class Finder:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
import bap_cli.commands.examples as home
def schema():
    Finder()
    hour()
home.schema = schema
"""


@pytest.mark.slow
@pytest.mark.parametrize("module", ["typer", "rich.console", "bap_cli.app", "bap_lp", "numpy"])
def test_an_interrupt_while_modules_are_loaded_is_one_line(module: str, folder: Path) -> None:
    process = started(folder, LOADING.replace("MODULE", module), "solve", "coin_toss")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "bap: interrupted\n")


@pytest.mark.slow
def test_an_interrupt_that_is_lost_in_a_callback_still_ends_the_command(folder: Path) -> None:
    process = started(folder, CALLBACK, "schema")
    try:
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, err) == (130, "bap: interrupted\n")


def test_nothing_is_loaded_before_an_interrupt_is_heard() -> None:
    """The first lines of `bap` import what Python has loaded by then, and `signal`."""
    code = "import sys, signal; before = {*sys.modules}; import bap_cli.main; print(*({*sys.modules} - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"bap_cli", "bap_cli.main"}


@pytest.mark.parametrize("epoch", ["1e30", "1" + "0" * 30, "99999999999999", "x"])
@pytest.mark.parametrize("command", ["plot coin_toss --kind channel -o a.svg", "report coin_toss -o a.html"])
def test_a_date_that_is_none_is_one_line(
    epoch: str, command: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    assert main(command.split()) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"bap: SOURCE_DATE_EPOCH = '{epoch}' must be a number of seconds since 1970")
    assert os.listdir(folder) == []


def test_a_worker_that_is_still_busy_ends_with_the_first_failure() -> None:
    """It was waited for."""
    from bap_sdc.records.pricing.workers import answers

    begun = time.monotonic()
    with pytest.raises(ZeroDivisionError):
        list(answers([Failing(0.0), Failing(3600.0)], 2))
    assert time.monotonic() - begun < 1800


class Failing:
    """Fails at once, or sleeps."""

    def __init__(self, seconds: float) -> None:
        self.seconds = self.effort = seconds

    def solve(self) -> float:
        time.sleep(self.seconds)
        return 1 / self.seconds
