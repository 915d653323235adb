"""One mechanism per question: every command shows the same optimal mechanism at the same lambda, exactly."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from bap_cli.catalogue import catalogue
from bap_cli.inputs import load
from bap_cli.main import main
from bap_cli.report.page_data import _detail
from bap_lp import compare, load_mechanism

LARGE = {"location_grid", "raw_records"}
NAMES = [pytest.param(name, marks=pytest.mark.slow) if name in LARGE else name for name in catalogue()]


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(arguments) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_command_shows_the_same_mechanism(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    solved = printed(capsys, "solve", name, "--json", "--out", str(tmp_path / "out"))
    assert json.loads((tmp_path / "out" / "mechanism.json").read_text()) == solved["mechanism"]

    lam = Fraction(solved["lambda"])
    pieces = printed(capsys, "path", name, "--json")["pieces"]
    piece = [p for p in pieces if Fraction(p["from"]) <= lam][-1]
    assert piece["mechanism"] == solved["mechanism"]
    assert Fraction(piece["risks"]["bob"]) - lam * Fraction(piece["risks"]["eve"]) == Fraction(solved["risks"]["alice"])

    problem = load(name).problem
    mechanism = load_mechanism(tmp_path / "out" / "mechanism.json", problem.states)
    assert compare(problem, lam).optimum.mechanism == mechanism

    assert main(["report", name, "-o", str(tmp_path / "report.html")]) == 0
    island = json.loads(re.search(r'id="data">(.*?)</script>', (tmp_path / "report.html").read_text())[1])
    shown = [p for p in island["pieces"] if Fraction(p["start"]) <= lam][-1]
    assert (shown["bob"], shown["eve"]) == (solved["risks"]["bob"], solved["risks"]["eve"])
    assert shown["detail"] == json.loads(json.dumps(_detail(problem, mechanism)))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["coin_toss", "ties", "two_eves"])
def test_the_pictures_are_drawn_from_the_mechanism_of_solve(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    solved = printed(capsys, "solve", name, "--json")["mechanism"]
    seen = []
    original = __import__("bap_lp.plots", fromlist=["plots"]).channel_heatmap
    monkeypatch.setattr("bap_lp.plots.channel_heatmap", lambda m, prior: (seen.append(m), original(m, prior))[1])
    assert main(["plot", name, "--kind", "channel", "-o", str(tmp_path / "p.svg")]) == 0
    assert [list(m.signals) for m in seen] == [solved["signals"]]
    assert [[str(v) for v in row] for row in seen[0].channel.tolist()] == solved["channel"]
