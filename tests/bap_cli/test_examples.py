"""Every example states its optimum in its header, and that is what `solve` finds, exactly."""

import math
import re
from fractions import Fraction
from pathlib import Path

import pytest

from bap_cli.catalogue import catalogue, locate, titles
from bap_cli.inputs import load
from bap_lp import solve, verify

HEADER = re.compile(r"^# optimum: R_A = (\S+) at lambda = (\S+)$", re.MULTILINE)


def test_the_catalogue_is_the_examples_folder() -> None:
    folder = Path(__file__).parents[2] / "examples"
    assert sorted(catalogue()) == sorted(p.stem for p in folder.glob("*.toml"))
    assert all(titles().values())


@pytest.mark.parametrize("name", catalogue())
def test_the_header_states_the_optimum(name: str) -> None:
    stated = HEADER.findall(locate(name).read_text())
    assert len(stated) == 1
    value, lam = map(Fraction, stated[0])
    loaded = load(name)
    small = math.prod(loaded.problem.shape) <= 1000  # the paper's program has a signal for every pair of decisions
    for formulation in ("compact", "paper") if small else ("compact",):
        solution = solve(loaded.problem, loaded.lam, formulation=formulation)
        assert (solution.exact, solution.value, solution.lam) == (True, value, lam)
        assert verify(loaded.problem, solution.certificate)
