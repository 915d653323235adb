"""A folder that somebody else filled is a current directory like any other: nothing in it is executed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from bap_cli.app import COMMANDS, command
from bap_cli.main import main

PACKAGES = ["bap_lp", "bap_cli", "bap_sdc", "discretise", "gaussian", "numpy", "scipy", "flint", "highspy", "sympy",
            "pandas", "pyarrow", "sklearn", "joblib", "matplotlib", "cvxpy", "typer", "rich", "encodings"]  # fmt: skip
MODULES = ["json", "pickle", "subprocess", "multiprocessing", "signal", "threading", "typing", "site", "sitecustomize",
           "usercustomize", "tomllib", "random", "threadpoolctl", "openpyxl", "__main__"]  # fmt: skip
STUDY = """
data = "survey.csv"
[publish.rating]
loss = "absolute"
[[eve]]
secret = "affair"
knows = ["age"]
"""
# what pip writes for `bap`; the first long elimination is left to another process, although it is short
PROGRAM = """
import sys
import bap_lp.engines.linear.core as core
real, asked = core.solved_apart, []
def once(*task):
    asked.append(task)
    return real(*task) if len(asked) == 1 else None
core.LONG, core.solved_apart = 0, once
from bap_cli.main import main
sys.exit(main())
"""
CALLS = {
    "solve": "location_grid --condition exp_epsilon=2 --out new",
    "verify": "location_grid B/certificate.json",
    "evaluate": "location_grid B/mechanism.json",
    "compare": "coin_toss --condition exp_epsilon=2",
    "report": "coin_toss -o page.html",
    "plot": "coin_toss --kind channel -o channel.svg",
    "release": "B --from states.csv",
    "examples": "",
    "schema": "",
    "explain": "coin_toss --condition exp_epsilon=2",
    "path": "coin_toss",
    "tiers": "file_public file_research file_secure",
    "counts": "small_counts",
    "model": "rare_disease --plot rule.svg",
    "gaussian table": "--eve mean --time-limit 0",
    "gaussian curve": "--eve mean --family noisy-mean --points 3",
    "gaussian plot": "--eve mean --kind noise -o noise.svg",
    "gaussian optimum": "--eve mean --n 1 --simulate 10",
    "microdata init": "survey.csv",
    "microdata solve": "audited.toml --workers 2",
    "microdata path": "study.toml --workers 2",
    "microdata compare": "study.toml",
    "microdata publish": "S --released released.csv --out kit",
    "microdata estimate": "K",
    "microdata release": "S survey.csv -o drawn.csv",
    "microdata audit": "S survey.csv",
    "microdata report": "S -o records.html",
}
CODES = {"gaussian table": (2,), "microdata solve": (0, 3)}  # out of time; whatever the audit says


def leaves() -> Iterator[str]:
    """Every command, `bap gaussian plot` by two words."""
    for name in COMMANDS:
        for inner in getattr(command(name), "commands", [""]):
            yield f"{name} {inner}".strip()


def test_every_command_is_called_in_a_hostile_folder() -> None:
    assert set(leaves()) == set(CALLS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the commands read, amid files that would leave a mark if they were executed."""
    place = tmp_path_factory.mktemp("hostile")
    draw = np.random.default_rng(0)
    records = zip(draw.choice(["yes", "no"], 200), draw.integers(1, 5, 200), draw.integers(1, 4, 200), strict=True)
    lines = ["affair,rating,age", *(f"{a},{r},{z}" for a, r, z in records)]
    (place / "survey.csv").write_text("\n".join(lines))
    (place / "study.toml").write_text(STUDY)
    (place / "audited.toml").write_text(f'{STUDY}[audit]\nholdout = "1/2"\n')
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        assert main(["solve", "location_grid", "--out", "B"]) == 0
        assert main(["microdata", "solve", "study.toml", "--out", "S", "--no-attackers"]) == 0
        assert main(["microdata", "release", "S", "survey.csv", "-o", "released.csv"]) == 0
        assert main(["microdata", "publish", "S", "--released", "released.csv", "--out", "K"]) == 0

    (place / "states.csv").write_text("A1\n")
    mark = f"with open({str(place / 'mark')!r}, 'a') as file:\n    print(__name__, file=file)\n"
    for name in PACKAGES:
        (place / name).mkdir()
        (place / name / "__init__.py").write_text(mark)
    for name in MODULES:
        (place / f"{name}.py").write_text(mark)
    return place


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_no_command_executes_what_is_in_the_current_directory(folder: Path, tmp_path: Path, name: str) -> None:
    """The shell starts `bap` by its own file, whose folder is the one that Python searches first."""
    program, mark = tmp_path / "bap", folder / "mark"
    mark.unlink(missing_ok=True)
    program.write_text(PROGRAM)
    call = [sys.executable, str(program), *name.split(), *CALLS[name].split()]
    done = subprocess.run(call, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode in CODES.get(name, (0,)), done.stderr
    assert not mark.exists(), mark.read_text()
