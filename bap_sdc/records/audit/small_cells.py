"""Small cells: combinations of known columns that few records share. A number about them is about few people."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bap_lp.model.display import counted, person
from bap_sdc.records.data.prior import rows_of
from bap_sdc.records.study import Study

THRESHOLD = 10


@dataclass(frozen=True)
class SmallCells:
    """The cells of one Eve's known columns with fewer records than a threshold, the smallest first."""

    eve: str
    threshold: int
    cells: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        named = "; ".join(f"{name} ({count})" for name, count in self.cells[:3])
        more = f" and {len(self.cells) - 3} more" if len(self.cells) > 3 else ""
        cells = f"{counted(len(self.cells), 'combination')} of the columns that {person(self.eve)} knows"
        return f"{cells} with fewer than {self.threshold} records: {named}{more}"


def small_cells(study: Study, threshold: int = THRESHOLD) -> tuple[SmallCells, ...]:
    """For every Eve with knowledge, the cells with fewer fitted records than the threshold, if there are any."""
    codes = study.codes[~study.left_out]
    out = []
    for spy in study.spies:
        if not spy.knows:
            continue
        value, counts = np.unique(study.known(codes, spy), return_counts=True)
        rows = rows_of(value, [study.levels[k] for k in spy.knows])
        few = sorted(np.flatnonzero(counts < threshold).tolist(), key=lambda k: int(counts[k]))
        cells = tuple(
            (
                ", ".join(
                    f"{study.names[c]}={study.columns[c].labels[v]}" for c, v in zip(spy.knows, rows[k], strict=True)
                ),
                int(counts[k]),
            )
            for k in few
        )
        if cells:
            out.append(SmallCells(spy.name, threshold, cells))
    return tuple(out)
