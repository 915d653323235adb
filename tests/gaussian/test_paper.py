"""Every printed entry of the paper's three tables agrees with ours or is listed with its correct value in the docs."""

from pathlib import Path

import pytest
from gaussian_cases import paper_table

from gaussian.paper import PAPER_MODEL, PAPER_TABLES, printed

DOCS = Path(__file__).parents[2] / "docs" / "gaussian.md"
ROUNDING, MONTE_CARLO = 0.005, 0.0005


def documented():
    """(table, mechanism, entry) -> (paper, correct) from the last table of the documentation."""
    rows = [[cell.strip() for cell in line.strip("|\n ").split("|")] for line in DOCS.read_text().splitlines()]
    return {tuple(row[:3]): (float(row[3]), float(row[4])) for row in rows if len(row) == 5 and row[0] in PAPER_TABLES}


def entries(name, computed):
    paper = PAPER_TABLES[name]
    yield (name, "all", "lambda"), paper.lam, computed.lam, 0.05 if name == "both" else ROUNDING
    for row in computed.releases:
        old = paper.rows[row.mechanism]
        if old.parameter is not None:
            yield (name, row.mechanism, "parameter"), old.parameter, row.parameter, ROUNDING
        for entry, theirs, mine in (
            ("bob", old.bob, row.risks.bob),
            ("eve", old.eve, row.risks.eve),
            ("alice", old.alice, row.alice),
        ):
            yield (name, row.mechanism, entry), theirs, mine, ROUNDING


@pytest.mark.slow
def test_printed_entries_agree_or_are_documented():
    listed = documented()
    differing = {}
    for name in PAPER_TABLES:
        for key, theirs, mine, rounding in entries(name, paper_table(name)):
            if abs(theirs - mine) > rounding + MONTE_CARLO:
                differing[key] = (theirs, mine)
    assert set(differing) == set(listed)
    for key, (theirs, mine) in differing.items():
        assert listed[key][0] == theirs
        assert listed[key][1] == pytest.approx(mine, abs=6e-5)


@pytest.mark.slow
def test_every_error_estimate_is_small():
    for computed in map(paper_table, PAPER_TABLES):
        for row in computed.releases:
            assert 0 < row.error < (1e-4 if row.mechanism == "noisy full" else 1e-10)
            assert row.alice >= computed.corner - row.error


def test_printed_tables_are_found_only_at_the_papers_parameters():
    assert printed(PAPER_MODEL, PAPER_TABLES["max"].eve) is PAPER_TABLES["max"]
    assert printed(PAPER_MODEL, type(PAPER_TABLES["max"].eve)(1.0)) is None
