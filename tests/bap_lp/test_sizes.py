"""Every condition from 60 to 1000 states, floats and exact, each in a process of its own: a crash is a failure."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sized import ASKED

SIZED = Path(__file__).parents[1] / "sized.py"
SHAPES = [(60, 30, 3), (150, 8, 6), (80, 12, 10), (300, 3, 4)]
LOSSES = ("integers", "0-1", "absolute")


def _cases() -> list[dict[str, Any]]:
    """Each condition once, sizes and kinds of numbers in turn; and shapes that once took minutes."""
    found: list[dict[str, Any]] = []
    for k, condition in enumerate(ASKED):
        shape = (60, 4, 3) if condition == "margin" else SHAPES[k % len(SHAPES)]
        found.append({"shape": shape, "condition": condition, "losses": LOSSES[k % 3], "exact": k % 2 == 0})
    found += [{"shape": (100, 20, 10), "condition": "exp_epsilon", "exact": exact} for exact in (True, False)]
    found += [{"shape": (1000, 20, 5), "condition": "free", "exact": exact} for exact in (True, False)]
    found += [{"shape": (40, 40, 40), "condition": "free", "exact": exact} for exact in (True, False)]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("case", _cases(), ids=json.dumps)
def test_a_problem_of_this_size_is_solved_and_verified(case: dict[str, Any]) -> None:
    done = subprocess.run(
        [sys.executable, "-P", str(SIZED), json.dumps(case)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
