"""`bap` as the shell sees it: exit codes, clean streams, interrupts, closed pipes, and what start-up loads."""

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bap_cli.main import main

BAP = [sys.executable, "-m", "bap_cli.main"]


def bap(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*BAP, *arguments], cwd=cwd, capture_output=True, text=True, timeout=60, check=False)


def large(path: Path) -> str:
    rows = [[(7 * x + 3 * d + x * d) % 101 for d in range(6)] for x in range(400)]
    document = {"data": {"prior": ["1/400"] * 400}, "bob": {"loss": rows}, "eve": {"loss": rows[::-1]}}
    path.write_text(json.dumps({**document, "alice": {"lambda": "1/2"}}))
    return path.name


def test_exit_codes_and_streams(tmp_path: Path) -> None:
    done = bap("solve", "coin_toss", "--json", "--out", "d", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["risks"]["alice"] == "3/40"
    failed = bap("verify", "warner_survey", "d/certificate.json", cwd=tmp_path)
    assert (failed.returncode, failed.stdout, failed.stderr.count("\n")) == (1, "", 1)
    refused = bap("solve", "d", cwd=tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == "bap: d cannot be read: Is a directory\n"


def test_interrupt_while_reading(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    process = subprocess.Popen(
        [*BAP, "solve", "pipe", "--out", "d"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with open(tmp_path / "pipe", "wb"):  # returns once the command has opened the other end
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "bap: interrupted\n")
    assert [p.name for p in tmp_path.iterdir()] == ["pipe"]


@pytest.mark.parametrize("where", ["bap_lp.solve", "bap_cli.outputs.write_files", "os.fsync"])
def test_interrupt_while_solving_or_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], where: str
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    import bap_cli.outputs  # noqa: F401 - so that its names are there to be replaced

    monkeypatch.setattr(where, interrupt)
    assert main(["solve", "coin_toss", "--out", str(tmp_path / "d")]) == 130
    out, err = capsys.readouterr()
    assert (out, err) == ("", "bap: interrupted\n")
    assert list(tmp_path.iterdir()) == []


def test_closed_pipe_is_quiet(tmp_path: Path) -> None:
    name = large(tmp_path / "large.json")
    for arguments in (["solve", name, "--json"], ["examples"], ["solve", "coin_toss"]):
        read, write = os.pipe()
        os.close(read)
        process = subprocess.run([*BAP, *arguments], cwd=tmp_path, stdout=write, stderr=subprocess.PIPE, check=False)
        os.close(write)
        assert (process.returncode, process.stderr) == (141, b"")


def test_full_disk_is_one_line(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    with open("/dev/full", "wb") as full:
        process = subprocess.run([*BAP, "schema"], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, check=False)
    assert (process.returncode, process.stderr) == (2, b"bap: No space left on device\n")


def test_sign_of_life_only_for_a_terminal(tmp_path: Path) -> None:
    name = large(tmp_path / "large.json")
    assert bap("solve", name, "--json", cwd=tmp_path).stderr == ""
    ours, theirs = pty.openpty()
    process = subprocess.run(
        [*BAP, "solve", name, "--json"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=theirs, check=False, timeout=60
    )
    os.close(theirs)
    seen = os.read(ours, 1 << 16)
    os.close(ours)
    assert b"solving" in seen
    assert json.loads(process.stdout)["exact"] is True


def test_ascii_terminals_get_ascii(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    process = subprocess.run(
        [*BAP, "solve", "coin_toss"], cwd=tmp_path, capture_output=True, env=environment, check=False, timeout=60
    )
    assert (process.returncode, process.stderr) == (0, b"")
    assert process.stdout.isascii()


@pytest.mark.parametrize(
    ("arguments", "refused"),
    [
        (["schema"], {"numpy", "flint", "highspy", "scipy", "cvxpy", "sympy", "matplotlib", "rich"}),
        (["--help"], {"numpy", "flint", "highspy", "scipy", "cvxpy", "sympy", "matplotlib", "rich"}),
        (["solve", "coin_toss"], {"cvxpy", "sympy", "matplotlib"}),
    ],
    ids=["schema", "help", "solve"],
)
def test_start_up_loads_little(tmp_path: Path, arguments: list[str], refused: set[str]) -> None:
    code = (
        "import sys; from bap_cli.main import main; code = main(sys.argv[1:]); "
        "print(code, *(m for m in sys.modules if '.' not in m), file=sys.stderr)"
    )
    process = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60
    )
    exit_code, *modules = process.stderr.split()
    assert exit_code == "0"
    assert refused.isdisjoint(modules)
