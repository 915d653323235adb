"""Which line would you sign? The lines of a study's path in its report, and a slider that reaches all of them.

A line is told as on the first screen: what the analyst loses, and Eve's risk as right guesses of 100 where that is what
her loss counts. Its step is told against the line above. The page needs no arithmetic: it gets a sentence per line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

from bap_cli.records.first_screen import counts_wrong, of_hundred, symbols
from bap_cli.report.page_tables import slider
from bap_lp.support.display import clean, percent, person
from bap_lp.support.rational import InputError, public
from bap_sdc.records.optimum.risks import record_lam
from bap_sdc.records.path import StudyLine, StudyPath

OFFERED = 7  # lines of the table; the slider reaches the others


class LinesOfStudy:
    """How the lines of a path are told; `chosen` is the number of the line that was solved."""

    def __init__(self, path: StudyPath, chosen: int) -> None:
        self.path, self.chosen = path, chosen
        spies = path.study.spies
        self.alone = spies[0] if len(spies) == 1 else None
        self.wrong = self.alone is not None and counts_wrong(self.alone.loss)
        self.who = person(self.alone.name) if self.alone is not None else "the adversaries together"

    def eve(self, line: StudyLine) -> float:
        return float(line.eves[0]) if self.alone is not None else float(line.risks.eve)

    def risk(self, risk: float) -> str:
        return of_hundred(1 - risk) if self.wrong else f"{risk:.3g}"

    def range(self, line: StudyLine) -> str:
        if line.end == math.inf:
            return f"from {float(line.start):.3g} on"
        return f"{float(line.start):.3g} to {float(line.end):.3g}"

    def gain(self, line: StudyLine) -> str:
        return percent(max(self.path.gains(line)))

    def held(self, line: StudyLine) -> str:
        one = line.audit
        if one is None:
            return ""
        alone = one.eves[0]
        both = (
            (alone.kinds[alone.strongest], alone.informed) if self.alone is not None else (one.strongest, one.informed)
        )
        own, informed = (self.risk(risk.value) for risk in both)
        eve = f"{self.who} {own}, one who knows the shares {informed}"
        if self.wrong:
            eve = f"{self.who} is right in {own} of 100 guesses, one who knows the shares in {informed}"
        return f"Held-out records: the analyst loses {one.bob.value:.3g}, {eve}."

    def step(self, line: StudyLine, above: StudyLine | None) -> str:
        if above is None:
            return ""
        bob, eve = float(line.risks.bob - above.risks.bob), self.eve(line) - self.eve(above)
        change = f"{of_hundred(eve)} fewer right guesses in 100" if self.wrong else f"{eve:.3g} more loss"
        return f"Compared with the line above: {change} for {self.who}, {bob:.3g} more loss for the analyst."

    def words(self, k: int) -> str:
        """A line as one sentence."""
        line = self.path.lines[k]
        told = (
            f"right in {self.risk(self.eve(line))} of 100 guesses"
            if self.wrong
            else f"loss {self.risk(self.eve(line))}"
        )
        said = f"the analyst loses {float(line.risks.bob):.3g}; {self.who}: {told}, gain {self.gain(line)}."
        where = f"Line {k + 1} of {len(self.path.lines)}, λ {self.range(line)}"
        return clean(f"{where}: {said} {self.held(line)}", 600)

    def table(self, shown: Sequence[int]) -> str:
        what = "right in 100" if self.wrong else "average loss" if self.alone is not None else "weighted loss"
        name = person(self.alone.name, start=True) if self.alone is not None else "The adversaries"
        two = (("The analyst", "loses"), (name, what), ("Gain", "at most"))
        bob, eve, gain = (f'{escape(clean(who, 60))}<span class="what">{below}</span>' for who, below in two)
        heads = ["λ", bob, eve, "in words", gain]
        rows, above = [], None
        for k in shown:
            line = self.path.lines[k]
            cells = [self.range(line), f"{float(line.risks.bob):.3g}", self.risk(self.eve(line))]
            text = " ".join(filter(None, (self.step(line, above), self.held(line))))
            mark = ' class="here"' if k == self.chosen else ""
            plain = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
            last = f'<td class="words">{escape(text)}</td><td>{self.gain(line)}</td>'
            rows.append(f'<tr data-line="{k}"{mark}>{plain}{last}</tr>')
            above = line
        head = "".join(f'<th scope="col">{cell}</th>' for cell in heads)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def lines_section(path: StudyPath, lam: Any) -> tuple[str, dict[str, Any]]:
    """The section of a page that opens at lam, and the document of its slider."""
    chosen = path.lines.index(path.line(lam))
    told = LinesOfStudy(path, chosen)
    shown = path.offered(OFFERED, [chosen])
    hidden = len(path.lines) - len(shown)
    more = f'<p class="hint">{hidden} more between these; the slider reaches them.</p>' if hidden else ""
    words = (
        "Each line is the best release for its range of λ, proved for this prior. The gain is how much better off an "
        "adversary is than without a release, on average, as a share of the loss without one. A line without a gain "
        "can still give some records away; the plain words of its own page say so. Sign the last line whose step is "
        "still worth its price to you, and look at what held-out records say first."
    )
    control = (
        '<div class="control" id="line-control" hidden><div class="slider screen">'
        '<input type="range" id="slider" min="0" max="0" step="1" value="0" aria-label="lambda, the price of privacy">'
        '</div><p class="buttons screen"><button type="button" id="back">the line of this report</button></p>'
        '<p id="now" class="now" aria-live="polite"></p></div>'
    )
    box = '<div class="scroll" id="lines" tabindex="0" role="region" aria-label="Which line would you sign?">'
    title = "<h2>Which line would you sign?</h2>"
    section = f"<section>{title}<p>{symbols(words)}</p>{box}{told.table(shown)}</div>{more}{control}</section>"
    stops, _ = slider(path, public(record_lam(path.study.program, lam)), None)  # type: ignore[arg-type]
    at = [path.lines.index(path.line(stop)) for stop in stops]
    document = {"at": at, "start": at.index(chosen), "words": [told.words(k) for k in range(len(path.lines))]}
    return section, document


def offered_path(solution: Any, progress: Any) -> StudyPath | None:
    """The path with audits of the lines that the page offers; None under conditions, where it has points only."""
    if solution.study.conditions is not None:
        return None
    try:
        path = solution.study.path(workers="all", progress=progress)
    except InputError:
        return None
    return path.audited(path.offered(OFFERED, [path.lines.index(path.line(solution.lam))]), progress)
