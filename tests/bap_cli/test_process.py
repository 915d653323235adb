"""`bap` as the shell sees it: exit codes, clean streams, interrupts, closed pipes, and what start-up loads."""

import errno
import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bap_cli.main import main

BAP = [sys.executable, "-m", "bap_cli.main"]


def bap(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*BAP, *arguments], cwd=cwd, capture_output=True, text=True, timeout=60, check=False)


def _usual_signals() -> None:
    """A child inherits the signals that are ignored, as under nohup or in the background of a shell."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@contextmanager
def running(command: list[str], cwd: Path) -> Iterator[subprocess.Popen[str]]:
    """A process with the usual signals, which ends with the block whatever happens in it."""
    process = subprocess.Popen(
        command,
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_usual_signals,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


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
    assert refused.stderr == "bap: d cannot be read: Is a directory; `bap verify` and `bap release` read bundles\n"


@pytest.mark.slow
def test_an_interrupt_while_reading_is_one_line(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with (
        running([*BAP, "solve", "pipe", "--out", "d"], tmp_path) as process,
        open(tmp_path / "pipe", "wb"),  # returns once the command has opened the other end
    ):
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


@pytest.mark.slow
def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    with open("/dev/full", "wb") as full:
        process = subprocess.run([*BAP, "schema"], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, check=False)
        assert (process.returncode, process.stderr) == (2, b"bap: No space left on device\n")
        bap("solve", "coin_toss", "--out", "d", cwd=tmp_path)
        checker = [sys.executable, "-m", "bap_lp.verify_standalone", "d"]
        for errors, words in ((subprocess.PIPE, b"verify_standalone: No space left on device\n"), (full, None)):
            process = subprocess.run(checker, cwd=tmp_path, stdout=full, stderr=errors, check=False)
            assert (process.returncode, process.stderr) == (2, words)  # 1 would say that nothing is proved


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


@pytest.mark.slow
def test_a_command_loads_its_own_file_and_none_of_other_commands(tmp_path: Path) -> None:
    code = (
        "from bap_cli.main import main; main(['solve', 'coin_toss']); import sys; print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    ours = {name.removeprefix("bap_cli.") for name in done.stderr.split() if name.startswith("bap_cli.")}
    assert ours - {"commands", "commands.solve"} == {
        "app", "catalogue", "inputs", "main", "progress", "show", "terminal"
    }  # fmt: skip


@pytest.mark.slow
def test_importing_the_library_loads_nothing_before_a_name_is_used(tmp_path: Path) -> None:
    assert LIBRARY.isdisjoint(loaded_by("import bap_lp; dir(bap_lp)", tmp_path))
    assert HEAVY.isdisjoint(loaded_by("from bap_lp import Problem, solve, verify, lambda_path, compare", tmp_path))


@pytest.mark.slow
def test_masked_arrays_are_not_loaded_to_solve(tmp_path: Path) -> None:
    code = "from bap_cli.main import main; main(['solve', 'coin_toss', '--json'])"
    loaded_by(f"{code}; import sys; assert 'numpy.ma' not in sys.modules", tmp_path)


def test_an_interrupt_that_the_solver_answers_with_its_best_pair_still_ends_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import bap_lp

    real = bap_lp.solve

    def best_so_far(*arguments: object, **options: object) -> object:
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(10)
        except KeyboardInterrupt:
            pass
        return real(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("bap_lp.solve", best_so_far)
    assert main(["solve", "coin_toss", "--out", str(tmp_path / "d")]) == 130
    assert capsys.readouterr() == ("", "bap: interrupted\n")
    assert list(tmp_path.iterdir()) == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_stopped_solve_writes_nothing(tmp_path: Path, number: signal.Signals, code: int) -> None:
    name = large(tmp_path / "large.json")
    for delay in (0.0, 0.2, 0.5):
        # the command tells when its solver starts, and is stopped a moment later
        start = (
            "import bap_lp, sys; from bap_cli.main import main; real = bap_lp.solve\n"
            "def told(*a, **k):\n print('solving', flush=True)\n while True: real(*a, **k)\n"
            "bap_lp.solve = told; sys.exit(main())"
        )
        command = [sys.executable, "-c", start, "solve", name, "--float", "--out", "d"]
        with running(command, tmp_path) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "solving\n"
            time.sleep(delay)
            process.send_signal(number)
            out, err = process.communicate(timeout=60)
        assert (process.returncode, out, err) == (code, "", "bap: interrupted\n" if code == 130 else "")
        assert [p.name for p in tmp_path.iterdir()] == [name]


def test_a_defect_has_an_exit_code_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def crash(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("bap_lp.solve", crash)
    assert main(["solve", "coin_toss"]) == 70
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "a defect of bap, not of your input: ZeroDivisionError: by zero" in err
    monkeypatch.setenv("BAP_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        main(["solve", "coin_toss"])


@pytest.mark.slow
@pytest.mark.parametrize("command", ["solve coin_toss", "solve nothing", "verify coin_toss nothing.json", "--help"])
@pytest.mark.parametrize("streams", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_are_no_tracebacks(tmp_path: Path, command: str, streams: str) -> None:
    line = f"{sys.executable} -m bap_cli.main {command} {streams}"
    process = subprocess.run(["/bin/sh", "-c", line], cwd=tmp_path, capture_output=True, check=False, timeout=60)
    assert process.returncode == (0 if ("coin_toss" in command and "verify" not in command) or "help" in command else 2)
    assert b"Traceback" not in process.stdout + process.stderr
    assert b"Exception" not in process.stdout + process.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_closed_pipe_for_errors_is_quiet(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    process = subprocess.run(
        [*BAP, "solve", "nothing"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=write, check=False
    )
    os.close(write)
    assert (process.returncode, process.stdout) == (2, b"")


STOPPED = """
import os, signal, sys
import bap_cli.main as program

signal.signal(NUMBER, signal.SIG_DFL)  # whoever runs the tests may have asked to live on

def load(arguments):
    try:
        os.kill(os.getpid(), NUMBER)
    except BaseException:
        raise ImportError("initialization failed") from None

program._run = load
again = program._stopped
program._stopped = lambda number: (again(number), os.kill(os.getpid(), NUMBER))[0]
sys.exit(program.main())
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_while_a_module_is_loaded_is_no_defect_and_a_second_one_changes_nothing(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    """C modules turn what is raised while they are loaded into an ImportError: the exit code was 70, and 1 if twice."""
    command = [sys.executable, "-c", STOPPED.replace("NUMBER", str(int(number)))]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr == ("bap: interrupted\n" if number == signal.SIGINT else "")


@pytest.mark.parametrize(
    "command",
    ["gaussian optimum --eve mean", "gaussian table --eve mean", "counts small_counts", "model rare_disease"],
)
def test_long_computations_take_a_time_limit(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    for limit, said in (("0", "time limit"), ("-1", "--time-limit = -1 must be")):
        assert main([*command.split(), "--time-limit", limit]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert said in line


def test_what_cannot_be_written_is_told_by_its_own_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A full disk was told without a name, and a folder without permission by the name of a staged file."""

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.chdir(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        for command, name in (("report coin_toss -o r.html", "r.html"), ("solve coin_toss --out d", "d/problem.json")):
            assert main(command.split()) == 2
            assert capsys.readouterr().err == f"bap: {name}: No space left on device\n"
    monkeypatch.setattr("os.access", lambda *_: False)
    for command, place in (("report coin_toss -o r.html", "r.html"), ("solve coin_toss --out d", "d")):
        assert main(command.split()) == 2
        assert capsys.readouterr().err == f"bap: --out = '{place}' must be in a directory that you may write to\n"
    assert list(tmp_path.iterdir()) == []


def test_a_page_does_not_replace_what_it_is_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["examples", "coin_toss"]) == 0
    Path("p.toml").write_text(capsys.readouterr().out)
    assert main(["solve", "p.toml", "--out", "d"]) == 0
    for read, out in (("p.toml", "p.toml"), ("d", "d/problem.json")):
        before = Path(out).read_bytes()
        capsys.readouterr()
        assert main(["report", read, "-o", out]) == 2
        assert capsys.readouterr().err == f"bap: --out = '{out}' must not be a file that is read\n"
        assert Path(out).read_bytes() == before
    assert [main(["report", "d", "-o", "d/page.html"]) for _ in range(2)] == [0, 0]


def test_a_message_about_a_very_long_name_is_short(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "x" * 10_000]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert len(line) < 2000


def test_a_picture_is_silent_about_the_caches_of_matplotlib(tmp_path: Path) -> None:
    """Without a home that can be written to matplotlib says so, in two lines on stderr."""
    (tmp_path / "file").touch()
    environment = {**os.environ, "HOME": str(tmp_path / "file"), "MPLCONFIGDIR": str(tmp_path / "file" / "none")}
    command = [*BAP, "plot", "coin_toss", "--kind", "channel", "-o", "m.svg"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
