"""How a path and its pieces show themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bap_lp.model.display import Displayed, Grid, Tabular, counted, fraction, kind, listed, risks_line
from bap_lp.model.risks import Number, Risks
from bap_lp.rational import ReadOnly

if TYPE_CHECKING:
    from bap_lp.path.piece import Piece


class ShownPiece(ReadOnly, Displayed):
    """One line: where the piece lies, and its risks."""

    start: Number
    end: Number
    risks: Risks

    def _headline(self) -> str:
        to = "infinity" if self.end == math.inf else fraction(self.end)
        return f": lambda from {fraction(self.start)} to {to}, {risks_line(self.risks.bob, self.risks.eve)}"


class ShownPath(Tabular):
    """A table with a row per piece."""

    pieces: tuple[Piece, ...]

    @property
    def exact(self) -> bool:
        raise NotImplementedError

    @property
    def breakpoints(self) -> Sequence[Number]:
        raise NotImplementedError

    def summary(self) -> str:
        """How the optimum changes with lam, in plain sentences."""
        first, last = self.pieces[0].risks, self.pieces[-1].risks
        if len(self.pieces) == 1:
            return f"One mechanism is optimal for every lambda: {risks_line(first.bob, first.eve)}."
        changes = listed([fraction(b) for b in self.breakpoints], " and ")
        return (
            f"From lambda = 0 to infinity there are {len(self.pieces)} optimal mechanisms, with changes at {changes}.\n"
            f"At first {risks_line(first.bob, first.eve)}; in the end {risks_line(last.bob, last.eve)}."
        )

    def _headline(self) -> str:
        changes = [fraction(b) for b in self.breakpoints[:4]] + ["..."] * (len(self.pieces) > 5)
        where = f", breakpoints {', '.join(changes)}" if changes else ""
        return f": {kind(self.exact)}, {counted(len(self.pieces), 'piece')}{where}"

    def _grid(self, most: int | None = None) -> Grid:
        columns = ("piece", "lambda from", "to", "R_B", "R_E", "signals")
        rows = [
            (k, p.start, p.end, p.risks.bob, p.risks.eve, len(p.mechanism.signals))
            for k, p in enumerate(self.pieces[:most], start=1)
        ]
        return Grid(columns, rows, len(self.pieces))
