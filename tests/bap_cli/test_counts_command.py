"""`bap counts`: text, JSON and picture say the same, as do the other commands on the same file."""

from __future__ import annotations

import json
import random
import re
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from bap_cli.main import main
from bap_lp import InputError, plots, solve
from bap_sdc.count_tables.files import TABLE_KEYS, counts_from_dict, load_counts
from bap_sdc.count_tables.protections import RELEASE_KEYS, USUAL
from bap_sdc.count_tables.reading import QUESTION_KEYS

EXAMPLES, DOCS = (Path(__file__).parents[2] / name for name in ("examples", "docs"))
NAMES = ["small_counts", "public_margins"]
DOCUMENT: dict[str, Any] = {
    "title": "t",
    "table": {"n": 6, "cells": ["a", "b", "c"]},
    "bob": {"cells": "a", "loss": "0-1", "thresholds": ["1/3"]},
    "eve": {"cells": "b", "asks": "empty"},
}


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0
    return capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_text_and_json_show_every_release(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(printed(capsys, "counts", name, "--json"))
    text = printed(capsys, "counts", name)
    assert document["exact"]
    assert f"{document['tables']:,} tables of {document['n']} people" in text
    names = [row["name"] for row in document["releases"]]
    assert names[0] == "optimum"
    assert set(names) >= {"full", "null", "Bob's decision", "rounding 3", "rounding 5", "random rounding 3",
                          "random rounding 5", "suppression < 3", "cell key (2, 1)", "geometric 1/2"}  # fmt: skip
    for row in document["releases"]:
        assert row["name"] in text
        value = Fraction(row["risks"]["bob"]) - Fraction(document["lambda"]) * Fraction(row["risks"]["eve"])
        assert value == Fraction(row["risks"]["alice"])
        assert Fraction(row["excess"]) >= 0
        assert row["errors"] == {"bob": 0.0, "eve": 0.0}
    assert document["optimum"] == document["risks"]["alice"] == document["bound"]
    assert document["notes"][0] in text
    assert document["omitted"] == []
    assert document["loss_errors"] == {"bob": 0.0, "eve": 0.0}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_other_commands_read_the_same_file(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counted = json.loads(printed(capsys, "counts", name, "--json", "--out", str(tmp_path / "c")))
    solved = json.loads(printed(capsys, "solve", name, "--json"))
    assert {key: counted[key] for key in solved} == solved
    assert "verified" in printed(capsys, "verify", name, str(tmp_path / "c" / "certificate.json"))
    releases = {row["name"]: row for row in json.loads(printed(capsys, "compare", name, "--json"))["releases"]}
    for row in counted["releases"]:
        if row["name"] in releases:
            assert releases[row["name"]]["risks"] == row["risks"]
            assert releases[row["name"]]["epsilon"] == row["epsilon"]
    state = counted["mechanism"]["states"][0]
    assert (
        printed(capsys, "release", str(tmp_path / "c" / "mechanism.json"), state).strip()
        in solved["mechanism"]["signals"]
    )


@pytest.mark.slow
def test_the_map_is_drawn_with_every_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = []
    original = plots.risk_utility_map
    monkeypatch.setattr("bap_lp.plots.risk_utility_map", lambda *a, **k: (seen.append(original(*a, **k)), seen[-1])[1])
    assert "Wrote" in printed(capsys, "counts", "small_counts", "--plot", str(tmp_path / "map.svg"))
    assert (tmp_path / "map.svg").stat().st_size > 1000
    drawn = "\n".join(text.get_text() for text in seen[0].texts).split("\n")
    assert {"rounding 3", "random rounding 5", "suppression < 3", "cell key (2, 1)", "geometric 1/2"} <= set(drawn)


def test_a_picture_of_another_kind_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["counts", "small_counts", "--plot", str(tmp_path / "map.gif")]) == 2
    assert "--plot = " in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_lambda_and_floats_are_as_for_solve(capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(printed(capsys, "counts", "small_counts", "--lambda", "1/2", "--json"))
    assert document["lambda"] == "1/2"
    rough = json.loads(printed(capsys, "counts", "small_counts", "--lambda", "1/2", "--float", "--json"))
    assert not rough["exact"]
    assert rough["risks"]["alice"] == pytest.approx(float(Fraction(document["risks"]["alice"])))
    exact = {row["name"]: Fraction(row["risks"]["eve"]) for row in document["releases"]}
    for row in rough["releases"]:
        if row["name"] != "optimum":
            assert row["risks"]["eve"] == pytest.approx(float(exact[row["name"]]))


def test_conditions_of_the_file_hold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "c.json"
    path.write_text(json.dumps({**DOCUMENT, "conditions": {"min_eve_risk": "1/5"}, "alice": {"lambda": 0}}))
    document = json.loads(printed(capsys, "counts", str(path), "--json"))
    assert Fraction(document["risks"]["eve"]) >= Fraction(1, 5)
    assert {row["name"]: row["meets_conditions"] for row in document["releases"]}["full"] is False
    path.write_text(json.dumps({**DOCUMENT, "conditions": {"deterministic": True}}))
    assert main(["solve", str(path), "--json"]) == 0
    capsys.readouterr()
    assert main(["counts", str(path)]) == 2
    assert "conditions.deterministic cannot be checked" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"table": {"n": -1, "cells": 2}}, "f.toml: table.n = -1 must not be negative"),
        ({"table": {"n": 3, "cells": 2, "alpha": 0}}, "f.toml: table.alpha = 0 must be positive"),
        ({"table": {"n": 3, "cels": 2}}, "f.toml: table.cels is not a known key: [table] may have n, cells, rows"),
        ({"table": 3}, "f.toml: table = 3 must be a table"),
        ({"bob": {"cells": "z", "loss": "0-1", "thresholds": [1]}}, "f.toml: bob.cells = 'z' is not a cell"),
        ({"eve": {"asks": "empty"}}, "f.toml: eve.cells is missing"),
        ({"eve": {"cells": "a", "ask": "empty"}}, "f.toml: eve.ask is not a known key"),
        ({"alice": {"lambda": -1}}, "f.toml: alice.lambda = -1 must not be negative"),
        ({"releases": {"rounding": 0}}, "f.toml: releases.rounding = 0 must be a whole number"),
        ({"table": {"n": 3, "cells": 3, "merge": 1}}, "f.toml: table.merge = 1 must be true or false"),
        (
            {"table": {"rows": 2, "columns": 2, "row_totals": [1, 2], "column_totals": [1, 1]}},
            "f.toml: sum of table.column_totals = 2 must be the number of people, n = 3",
        ),
        (
            {"table": {"n": 3, "cells": ["a", "b", "c"], "totals": [{"cells": ["a"], "total": 4}]}},
            "f.toml: table.totals[0].total = 4 must be at most n = 3",
        ),
        ({"conditions": {"min_eve": 1}}, "f.toml: conditions.min_eve is not a condition"),
        ({"conditions": {"exp_epsilon": 0}}, "f.toml: conditions.exp_epsilon = 0 must be"),
    ],
)
def test_bad_files_are_refused_in_one_line(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as refused:
        counts_from_dict({**DOCUMENT, **change}, "f.toml")
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_problem_file_is_not_about_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["counts", "coin_toss"]) == 2
    assert "`bap counts` reads files about tables of counts" in capsys.readouterr().err


def test_a_file_can_be_loaded_from_python() -> None:
    loaded = load_counts(EXAMPLES / "public_margins.toml")
    assert loaded.problem.title == "Sick leave by shift, margins public"
    assert loaded.lam == "calibrated"


def test_the_file_shown_in_the_docs_is_read_and_every_key_is_described() -> None:
    page = (DOCS / "counts.md").read_text()
    (block,) = re.findall(r"^```toml\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    document = tomllib.loads(block)
    loaded = counts_from_dict(document)
    assert set(loaded.protections) == set(USUAL)
    assert solve(loaded.problem).gap == 0
    described = [*(f"`table.{key}`" for key in TABLE_KEYS), *(f"`releases.{key}`" for key in RELEASE_KEYS)]
    described += [f"`.{key}`" for key in QUESTION_KEYS if key != "cells"]
    assert [key for key in described if key not in page] == []


JUNK = [None, [], {}, -1, 0, 3.5, float("nan"), float("inf"), "x", "", "1/0", "1e999", True, 10**30, [[1]], ["a", "a"]]
JUNK += [[None], {"a": 1}, "all", [1, 2, 3], "1/3", ["x", "b"], 1e-320, "9" * 400, "a\nb"]


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(place for key, part in inside for place in places(part, (*at, key)))]


@pytest.mark.parametrize("seed", range(3))
def test_junk_anywhere_in_a_file_is_refused_in_one_line(seed: int) -> None:
    chance, said = random.Random(seed), []
    for _ in range(150):
        document = tomllib.loads((EXAMPLES / f"{NAMES[seed % 2]}.toml").read_text())
        *way, last = chance.choice(places(document)[1:])
        table: Any = document
        for key in way:
            table = table[key]
        table[last] = chance.choice(JUNK)
        try:
            counts_from_dict(document, "f.toml")
        except InputError as refused:
            said.append(str(refused))
    assert said
    assert [line for line in said if "\n" in line or len(line) > 500] == []
