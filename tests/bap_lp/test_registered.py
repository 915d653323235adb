"""A condition of one's own: written in this file, registered, and then known to everything that conditions have.

The signal of Bob's first decision has a probability of at least `often`: sum_x p(x) q(0|x) >= often.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction as F
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from bap_cli.report.conditions import conditions_for_people
from bap_lp import (
    Conditions,
    ConflictError,
    InputError,
    Problem,
    lambda_path,
    load_bundle,
    load_problem,
    robust,
    save_bundle,
    save_problem,
    solve,
    verify,
    verify_standalone,
)
from bap_lp.conditions import table
from bap_lp.conditions.base import Condition, limit
from bap_lp.program.lowering import Lowering, SentSignals
from bap_lp.support.rational import EXACT

COIN = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])


class Often(Condition):
    name = "often"
    numbers: ClassVar[dict[str, int]] = {"often": 0}

    def __init__(self, least: Any) -> None:
        self.least = least

    @classmethod
    def of(cls, given: Conditions, problem: Problem) -> Often | None:
        return None if given.often is None else cls(limit(given.often, -1, problem))

    @classmethod
    def sentence(cls, value: Any, problem: Problem) -> str:
        return f"The first message is published with probability {value} at least."

    def broken(self, sent: SentSignals) -> str:
        return "the first message is too rare" if sent.arrays.p.dot(sent.q[:, 0]) < self.least else ""

    def lower(self, program: Lowering) -> None:
        x = np.arange(len(program.arrays.p))
        program.demand(self.name, EXACT.full(1, -self.least), (0 * x, x, 0 * x, -program.arrays.p))


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    table.register(Often)
    yield
    del table.TABLE["often"]


def test_the_optimum_is_proved_and_costs_what_it_must() -> None:
    free, found = solve(COIN, 0), solve(COIN, 0, conditions={"often": "1/2"})
    assert found.exact
    assert found.gap == 0
    assert verify(COIN, found.certificate, found.mechanism)
    assert sum(p * row[0] for p, row in zip(COIN.prior, found.mechanism.channel, strict=True)) >= F(1, 2)
    [cost] = found.costs()
    assert (cost.name, cost.cost) == ("often", found.value - free.value)


def test_a_mechanism_that_breaks_it_is_refused_by_definition() -> None:
    found, asked = solve(COIN, 0, conditions={"often": "9/10"}), solve(COIN, 0, conditions={"often": "1/10"})
    claimed = replace(asked.certificate, conditions=found.certificate.conditions)
    assert "too rare" in verify(COIN, claimed).reason


@pytest.mark.parametrize("exact", [None, False])
def test_it_combines_and_conflicts_with_a_proof(exact: bool | None) -> None:
    assert solve(COIN, "1/3", exact, conditions={"often": "1/2", "exp_epsilon": 2})
    assert solve(COIN, "1/3", conditions={"often": "1/2", "deterministic": True}).gap == 0
    with pytest.raises(ConflictError) as refused:
        solve(COIN, "1/3", exact, conditions={"often": "2", "exp_epsilon": 2})
    assert refused.value.conflict == ("often",)
    assert refused.value.proof is not None
    assert verify(COIN, refused.value.proof)


def test_paths_and_several_problems_take_it() -> None:
    asked = Conditions(often="1/2")
    path = lambda_path(COIN, conditions=asked)
    for lam in (F(0), F(1, 7), F(1, 3), F(3)):
        assert path.value(lam) == solve(COIN, lam, conditions=asked).value
    found = robust([COIN, COIN], ["1/3", "1/3"], conditions=asked)
    assert found.value == solve(COIN, "1/3", conditions=asked).value


def test_files_and_bundles_carry_it_and_the_checker_in_one_file_reads_its_rows(tmp_path: Path) -> None:
    save_problem(tmp_path / "coin.json", COIN, 0)
    document = json.loads((tmp_path / "coin.json").read_text()) | {"conditions": {"often": "1/2"}}
    (tmp_path / "coin.json").write_text(json.dumps(document))
    loaded = load_problem(tmp_path / "coin.json")
    found = solve(loaded.problem, 0, conditions=loaded.conditions)
    save_bundle(tmp_path / "b", found)
    assert load_bundle(tmp_path / "b").verify()
    assert "where often is what the rows of certificate.json say" in verify_standalone.check(str(tmp_path / "b"))
    proof, manifest = (tmp_path / "b" / name for name in ("certificate.json", "manifest.json"))
    for change in (lambda d: d.pop("rows"), lambda d: d["rows"].update(max_leakage=d["rows"]["often"])):
        other = json.loads(proof.read_text())
        change(other)
        folder = tmp_path / "changed"
        save_bundle(folder, found)
        (folder / "certificate.json").write_text(json.dumps(other))
        listed = json.loads(manifest.read_text())
        listed["files"]["certificate.json"] = sha256((folder / "certificate.json").read_bytes()).hexdigest()
        (folder / "manifest.json").write_text(json.dumps(listed))
        with pytest.raises(verify_standalone.Refused):
            verify_standalone.check(str(folder))
        with pytest.raises(InputError):
            load_bundle(folder)


def test_the_page_says_it_in_a_sentence() -> None:
    [sentence] = conditions_for_people(COIN, Conditions(often="1/2"))
    assert sentence == "The first message is published with probability 1/2 at least."


def test_names_of_the_library_and_unknown_names_are_refused() -> None:
    with pytest.raises(InputError, match="did you mean often"):
        Conditions(oftn="1/2")
    with pytest.raises(InputError, match="must be at least 0"):
        Conditions(often=-1)

    class Other(Often):
        name = "epsilon"

    with pytest.raises(InputError, match="none of the library's"):
        table.register(Other)
