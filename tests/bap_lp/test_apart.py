"""Eliminations in a process of their own: tasks of any length, the deadline, and where that process finds modules."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path
from random import Random

import pytest
from flint import fmpq

import bap_lp
from bap_lp.engines.linear.apart import solved_apart
from bap_lp.support.clock import OutOfTime, time_limited

Task = tuple[tuple[list[int], list[int], list[fmpq], int], list[fmpq]]


def task(size: int, digits: int) -> Task:
    """A full square system with numbers of so many digits."""
    draw = Random(0)
    values = [fmpq(draw.randrange(10**digits), 7) for _ in range(size * size)]
    rows = [i for i in range(size) for _ in range(size)]
    return (rows, list(range(size)) * size, values, size), [fmpq(draw.randrange(9)) for _ in range(size)]


@pytest.mark.slow
def test_a_task_of_a_megabyte_is_sent_whole_and_its_answer_is_exact() -> None:
    matrix, right = task(60, 300)
    assert sum(len(str(v)) for v in matrix[2]) > 2**20
    x = solved_apart(matrix, right, False)
    assert isinstance(x, list)
    assert all(sum(v * x[j] for j, v in enumerate(matrix[2][60 * i : 60 * i + 60])) == right[i] for i in range(60))


@pytest.mark.slow
def test_a_child_ends_with_the_time_limit() -> None:
    with time_limited(0.1), pytest.raises(OutOfTime):
        solved_apart(*task(120, 100), False)


@pytest.mark.slow
def test_the_child_runs_nothing_of_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("bap_lp", "flint", "numpy"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("open('marker', 'w')")
    (tmp_path / "pickle.py").write_text("open('marker', 'w')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert solved_apart(([0], [0], [fmpq(2)], 1), [fmpq(1)], False) == [fmpq(1, 2)]
    assert not Path("marker").exists()


@pytest.mark.slow
def test_the_child_of_a_package_in_an_archive_finds_it(tmp_path: Path) -> None:
    root = Path(bap_lp.__file__).parents[1]
    with zipfile.ZipFile(tmp_path / "code.zip", "w") as archive:
        for file in root.glob("bap_lp/**/*.py"):
            archive.write(file, file.relative_to(root))
    script = (
        "import sys; sys.path.insert(0, 'code.zip'); import bap_lp; assert 'code.zip' in bap_lp.__file__\n"
        "from flint import fmpq; from bap_lp.engines.linear.apart import solved_apart\n"
        "print(solved_apart(([0], [0], [fmpq(2)], 1), [fmpq(1)], False))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[1/2]\n", "")
