"""What `bap microdata` prints: the optimum in sentences, and tables of columns, Eves and the audit."""

from __future__ import annotations

from math import isnan
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from bap_lp.model.display import clean, counted
from microdata.audit import Audit
from microdata.solution import StudySolution


def show_solution(solution: StudySolution, source: str) -> None:
    """The optimum and its proof."""
    study = solution.study
    console = Console(highlight=False, markup=False)
    console.print(clean(study.title or source, 200), style="bold")
    types = counted(len(study.prior.types), "record type")
    console.print(
        f"{counted(study.records, 'record')} of {types}; {counted(study.decisions, 'possible release')} for each; "
        f"{counted(solution.components, 'independent part')}; smoothing {study.prior.alpha}."
    )
    for line in solution.summary().splitlines():
        console.print(clean(line, 500))
    console.print(f"Method: {solution.method}.")


def grid(title: str, *headings: str) -> Table:
    table = Table(title=title, box=SIMPLE, title_justify="left", pad_edge=False, collapse_padding=True)
    for k, heading in enumerate(headings):
        table.add_column(heading, justify="left" if k < 2 else "right")
    return table


def show_audit(audit: Audit) -> None:
    """The audit as tables."""
    console = Console(highlight=False, markup=False)
    title = f"Audit on {counted(audit.records, 'record')}, {audit.unseen} of types that were not fitted"
    table = grid(title, "agent", "column, or how she decides", "risk", "standard error")
    for agent, how, risk, error in audit._grid().rows:
        table.add_row(clean(agent), clean(how or "all columns"), f"{risk:.4f}", f"{error:.4f}")
    console.print(table)
    table = grid("Disclosure, given the columns Eve knows", "Eve", "", "without release", "with release")
    for eve in audit.eves:
        d = eve.disclosure
        rows: list[tuple[str, Any, Any]] = [
            ("k-anonymity", d.k, d.k),
            ("l-diversity", d.l, d.l),
            ("records alone with what she knows", d.unique, d.unique),
            ("expected correct links", f"{d.reidentified_before:.1f}", f"{d.reidentified:.1f}"),
            ("largest posterior of a secret", f"{d.posterior_null:.3f}", f"{d.posterior:.3f}"),
            ("records guessed at less cost", "", f"{d.better:.1%}"),
            ("records guessed at more cost", "", f"{d.worse:.1%}"),
        ]
        for k, (name, before, after) in enumerate(rows):
            table.add_row(clean(eve.name) if not k else "", name, str(before), str(after))
    console.print(table)
    u = audit.utility
    changed = ", ".join(f"{clean(name)} {share:.1%}" for name, share in u.changed.items())
    pairs = "" if isnan(u.two_way) else f", two-way {u.two_way:.4f}"  # one column has no pairs
    console.print(f"Changed cells: {changed}. Distance of margins: one-way {u.one_way:.4f}{pairs}.")
