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


@pytest.mark.slow
def test_exit_codes_and_streams_are_kept_apart(tmp_path: Path) -> None:
    done = bap("solve", "coin_toss", "--json", "--out", "d", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["risks"]["alice"] == "3/40"
    failed = bap("verify", "warner_survey", "d/certificate.json", cwd=tmp_path)
    assert (failed.returncode, failed.stdout, failed.stderr.count("\n")) == (1, "", 1)
    refused = bap("solve", "d", cwd=tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == "bap: d cannot be read: Is a directory\n"


@pytest.mark.slow
def test_an_interrupt_while_reading_is_one_line(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    process = subprocess.Popen(
        [*BAP, "solve", "pipe", "--out", "d"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with open(tmp_path / "pipe", "wb"):  # returns once the command has opened the other end
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "bap: interrupted\n")
    assert [p.name for p in tmp_path.iterdir()] == ["pipe"]


@pytest.mark.parametrize("where", ["bap_lp.solve", "bap_cli.outputs.save_bundle", "os.fsync"])
def test_an_interrupt_while_solving_or_writing_leaves_nothing(
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


@pytest.mark.slow
def test_a_closed_pipe_is_quiet(tmp_path: Path) -> None:
    name = large(tmp_path / "large.json")
    for arguments in (["solve", name, "--json"], ["examples"], ["solve", "coin_toss"]):
        read, write = os.pipe()
        os.close(read)
        process = subprocess.run([*BAP, *arguments], cwd=tmp_path, stdout=write, stderr=subprocess.PIPE, check=False)
        os.close(write)
        assert (process.returncode, process.stderr) == (141, b"")


def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    with open("/dev/full", "wb") as full:
        process = subprocess.run([*BAP, "schema"], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, check=False)
    assert (process.returncode, process.stderr) == (2, b"bap: No space left on device\n")


@pytest.mark.slow
def test_a_sign_of_life_is_shown_on_a_terminal_only(tmp_path: Path) -> None:
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


@pytest.mark.slow
def test_ascii_terminals_get_ascii(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    process = subprocess.run(
        [*BAP, "solve", "coin_toss"], cwd=tmp_path, capture_output=True, env=environment, check=False, timeout=60
    )
    assert (process.returncode, process.stderr) == (0, b"")
    assert process.stdout.isascii()


HEAVY = {"scipy", "cvxpy", "sympy", "matplotlib", "pandas"}
LIBRARY = {"numpy", "flint", "highspy", "rich", *HEAVY}


def loaded_by(code: str, cwd: Path, *arguments: str) -> set[str]:
    """The top-level modules that a new process has loaded in the end."""
    tail = "; import sys; print(*sys.modules, file=sys.stderr)"
    process = subprocess.run(
        [sys.executable, "-c", code + tail, *arguments], cwd=cwd, capture_output=True, text=True, check=True, timeout=60
    )
    return {name.split(".")[0] for name in process.stderr.split()}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "refused"),
    [
        (["schema"], {"pydantic", "email", "tempfile", *LIBRARY}),
        (["examples"], {"pydantic", "email", "tempfile", *LIBRARY}),
        (["--help"], {"pydantic", "email", *LIBRARY}),
        (["solve", "coin_toss"], HEAVY),
        (["path", "coin_toss"], HEAVY),
        (["compare", "coin_toss"], HEAVY),
    ],
    ids=["schema", "examples", "help", "solve", "path", "compare"],
)
def test_a_command_loads_only_what_it_needs(tmp_path: Path, arguments: list[str], refused: set[str]) -> None:
    code = "import sys; from bap_cli.main import main; assert main(sys.argv[1:]) == 0"
    assert refused.isdisjoint(loaded_by(code, tmp_path, *arguments))


def test_importing_the_library_loads_nothing_before_a_name_is_used(tmp_path: Path) -> None:
    assert LIBRARY.isdisjoint(loaded_by("import bap_lp; dir(bap_lp)", tmp_path))
    assert HEAVY.isdisjoint(loaded_by("from bap_lp import Problem, solve, verify, lambda_path, compare", tmp_path))


@pytest.mark.slow
def test_masked_arrays_are_not_loaded_to_solve(tmp_path: Path) -> None:
    code = "from bap_cli.main import main; main(['solve', 'coin_toss', '--json'])"
    loaded_by(f"{code}; import sys; assert 'numpy.ma' not in sys.modules", tmp_path)
