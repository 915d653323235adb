"""Files and bundles are written whole or not at all, and nothing but files is replaced."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bap_lp import InputError
from bap_lp.support.writing import write_bundle, write_files

PAIR = {"a": "after", "b": "after"}


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("blow", [KeyboardInterrupt, OSError])
def test_all_files_are_written_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, blow: type[BaseException]
) -> None:
    def fail(*_: object) -> None:
        raise blow

    (tmp_path / "a").write_text("before")
    monkeypatch.setattr(os, step, fail)
    with pytest.raises(blow):
        write_files({tmp_path / name: text for name, text in PAIR.items()})
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_text() == "before"


def test_a_file_that_cannot_be_moved_in_takes_the_others_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.replace

    def fail_at_b(source: Path, target: Path) -> None:
        if target.name == "b":
            raise OSError("no")
        real(source, target)

    (tmp_path / "a").write_text("before")
    monkeypatch.setattr(os, "replace", fail_at_b)
    with pytest.raises(OSError, match="no"):
        write_files({tmp_path / name: text for name, text in PAIR.items()})
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"a": "before"}


def test_no_file_is_written_if_the_second_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    for wrong, rule in (("nowhere/b", "a directory that exists"), ("b", "must be a file, and is a directory")):
        with pytest.raises(InputError, match=rule):
            write_files({tmp_path / "a": "x", tmp_path / wrong: "x"})
        assert [p.name for p in tmp_path.iterdir()] == ["b"]


def test_devices_pipes_sockets_and_foreign_links_are_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
        (tmp_path / "device").symlink_to("/dev/null")
        for name in ("pipe", "socket", "dangling", "device", "/dev/null"):
            before = os.lstat(tmp_path / name)
            with pytest.raises(InputError, match="must be a file, and is"):
                write_files({tmp_path / name: "x"})
            assert os.lstat(tmp_path / name).st_ino == before.st_ino
    assert not (tmp_path / "nothing").exists()


def test_a_link_of_ones_own_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("before")
    (tmp_path / "link").symlink_to("old")
    write_files({tmp_path / "link": "after"})
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "old").read_text() == "after"


@pytest.mark.parametrize("exists", [False, True])
@pytest.mark.parametrize("step", ["fsync", "chmod"])
def test_an_interrupted_bundle_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exists: bool, step: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    if exists:
        write_bundle(tmp_path / "deep" / "d", {"a": "before"})
    monkeypatch.setattr(os, step, fail)
    with pytest.raises(KeyboardInterrupt):
        write_bundle(tmp_path / "deep" / "d", PAIR)
    monkeypatch.undo()
    found = {str(p.relative_to(tmp_path)): p.read_text() for p in tmp_path.rglob("*") if p.is_file()}
    assert found == ({"deep/d/a": "before"} if exists else {})
    assert exists or list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("swap", [True, False], ids=["one step", "two renames"])
def test_a_bundle_replaces_its_files_and_keeps_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, swap: bool
) -> None:
    if not swap:
        monkeypatch.setattr("bap_lp.support.writing._swapped", lambda a, b: False)
    folder = tmp_path / "d"
    write_bundle(folder, {"a": "before", "b": "before"})
    (folder / "notes.txt").write_text("mine")
    (folder / "more").mkdir()
    (folder / "more" / "deep.txt").write_text("mine too")
    write_bundle(folder, PAIR)
    found = {str(p.relative_to(tmp_path)): p.read_text() for p in tmp_path.rglob("*") if p.is_file()}
    assert found == {"d/a": "after", "d/b": "after", "d/notes.txt": "mine", "d/more/deep.txt": "mine too"}
    assert [p.name for p in tmp_path.iterdir()] == ["d"]


def test_a_bundle_is_refused_where_a_file_is(tmp_path: Path) -> None:
    (tmp_path / "d").write_text("x")
    with pytest.raises(InputError, match="must be a directory, and is a file"):
        write_bundle(tmp_path / "d", PAIR)
    assert (tmp_path / "d").read_text() == "x"


@pytest.mark.parametrize("kind", ["a directory", "a pipe", "a link"])
def test_a_bundle_replaces_nothing_but_files(tmp_path: Path, kind: str) -> None:
    """A directory with the name of a file of the bundle was deleted with all that was in it."""
    folder = tmp_path / "d"
    folder.mkdir()
    (tmp_path / "elsewhere").write_text("mine")
    if kind == "a directory":
        (folder / "b").mkdir()
        (folder / "b" / "mine").write_text("mine")
    elif kind == "a pipe":
        os.mkfifo(folder / "b")
    else:
        (folder / "b").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=rf"d/b must be a file, and is {kind}"):
        write_bundle(folder, PAIR)
    assert [p.name for p in folder.iterdir()] == ["b"]
    assert kind != "a directory" or (folder / "b" / "mine").read_text() == "mine"


def test_the_folder_that_somebody_is_in_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user was left in a folder that was gone."""
    monkeypatch.chdir(tmp_path)
    for here in (".", "", str(tmp_path)):
        with pytest.raises(InputError, match="must not be the directory that you are in"):
            write_bundle(Path(here), PAIR)
    with pytest.raises(InputError, match="is where a disk is mounted"):
        write_bundle(Path("/"), PAIR)
    assert list(tmp_path.iterdir()) == []


def test_what_else_a_folder_holds_survives_an_interrupt_at_any_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the exchange of the folders and the return of the others, an interrupt deleted them."""
    folder, real = tmp_path / "d", os.rename

    def interrupted(source: str | Path, target: str | Path) -> None:
        if Path(source).name == "more":
            raise KeyboardInterrupt
        real(source, target)

    write_bundle(folder, {"a": "before"})
    (folder / "more").mkdir()
    (folder / "more" / "mine").write_text("mine")
    monkeypatch.setattr(os, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_bundle(folder, PAIR)
    monkeypatch.undo()
    assert [p.read_text() for p in tmp_path.rglob("mine")] == ["mine"]
    write_bundle(folder, PAIR)
    assert (folder / "a").read_text() == "after"


def test_what_another_writer_moves_in_at_the_last_moment_is_not_left_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of the user was left in the staged one, whose name starts with a dot."""
    folder, real = tmp_path / "d", os.rmdir

    def late(path: Path) -> None:
        if not (folder / "more").exists():
            (path / "more").mkdir()
        real(path)

    write_bundle(folder, {"a": "before"})
    monkeypatch.setattr(os, "rmdir", late)
    write_bundle(folder, PAIR)
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["a", "b", "d", "more"]


def test_threads_that_write_one_place_keep_what_else_is_there(tmp_path: Path) -> None:
    folder = tmp_path / "d"
    write_bundle(folder, PAIR)
    (folder / "notes").write_text("mine")
    (folder / "more").mkdir()
    (folder / "more" / "mine").write_text("mine")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda k: write_bundle(folder, {"a": f"{k}", "b": f"{k}"}), range(60)))
    assert (folder / "a").read_text() == (folder / "b").read_text()
    assert (folder / "notes").read_text() == (folder / "more" / "mine").read_text() == "mine"
    assert [p.name for p in tmp_path.iterdir()] == ["d"]


WRITER = """
import sys
from pathlib import Path
from bap_lp.support.writing import write_bundle
k = 0
while True:
    k += 1
    write_bundle(Path(sys.argv[1]), {name: f"{sys.argv[2]} {k}" for name in "abcdef"})
    if k == 1:
        print(flush=True)
"""


@pytest.mark.slow
def test_killed_writers_leave_a_whole_bundle(tmp_path: Path) -> None:
    folder = tmp_path / "d"
    for turn in range(6):
        writers = [
            subprocess.Popen([sys.executable, "-c", WRITER, str(folder), who], stdout=subprocess.PIPE) for who in "xy"
        ]
        for writer in writers:
            assert writer.stdout is not None
            writer.stdout.readline()
        time.sleep(0.01 * turn)
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
            writer.communicate()
        assert len({(folder / name).read_text() for name in "abcdef"}) == 1


def test_a_solution_is_written_over_an_older_one_with_all_its_files(tmp_path: Path) -> None:
    from bap_cli.main import main

    assert main(["solve", "coin_toss", "--out", str(tmp_path / "d"), "--json"]) == 0
    assert main(["solve", "coin_toss", "--lambda", "1", "--out", str(tmp_path / "d"), "--json"]) == 0
    assert json.loads((tmp_path / "d" / "certificate.json").read_text())["lambda"] == "1"
