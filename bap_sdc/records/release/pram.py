"""Matrices of PRAM as sdcMicro's `pram(pd = )` takes them: CSV files with the levels as names of rows and columns.

pd[i, j] is the probability that level i is released as level j. Rows must sum to one. A file that R has written has 15
digits, so that a row may miss one by 1e-9: it is then divided by its sum. A column without a matrix stays as it is; so
do missing cells, if the matrix does not name them. Columns are perturbed independently, which makes a channel with
exact risks; its distance to the optimum is R_A less the bound that is proved.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bap_lp.support.display import Displayed
from bap_lp.support.documents import read_bytes, source_name
from bap_lp.support.rational import EXACT, Array, InputError, number, text
from bap_lp.support.risks import Number
from bap_lp.support.sizes import require_lines
from bap_sdc.records.data.tables import harmless, meant, quoting_for
from bap_sdc.records.release.channel_risks import ChannelRisks, channel_risks
from bap_sdc.records.release.channels import ColumnChannel, identity

if TYPE_CHECKING:
    from bap_sdc.records.data.levels import Column
    from bap_sdc.records.solution import StudySolution
    from bap_sdc.records.study import Study

_ROUNDED = 1e-9  # a row of decimals may miss one by this


def read_pram(path: str | os.PathLike[str], column: Column) -> Array:
    """The matrix of a column, in the order of its levels, exact.

    Raises:
        InputError: the file is no such matrix, or names other levels.
    """
    where = source_name(path)
    try:
        text = read_bytes(path).decode("utf-8-sig")
        require_lines(text, ",", where)
        rows = [row for row in csv.reader(io.StringIO(text), strict=True) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(where, None, f"is not CSV: {error}") from None
    if not rows or any(len(row) != len(rows[0]) for row in rows):
        raise InputError(where, None, "must have a header, and as many cells in every row")
    labels = [name.strip() for name in column.labels]
    names = [meant(name.strip()) for name in rows[0][1:]], [meant(row[0].strip()) for row in rows[1:]]
    for what, found in zip(("column", "row"), names, strict=True):
        for name in found:
            if name not in labels or found.count(name) > 1:
                rule = f"is not a level of {column.name}, or is there twice: it has {', '.join(labels[:12])}"
                raise InputError(f"{where}: {what}", name, rule)
        for level, name in enumerate(labels):
            if name not in found and level != column.missing:
                raise InputError(f"{where}: {what}", name, "is missing")
    out = identity(len(labels))
    for name, row in zip(names[1], rows[1:], strict=True):
        out[labels.index(name)] = EXACT.zero
        for to, cell in zip(names[0], row[1:], strict=True):
            field = f"{where}: {name} to {to}"
            value = EXACT.number(number(cell, field))
            if not 0 <= value <= 1:
                raise InputError(field, cell, "must be a probability")
            out[labels.index(name), labels.index(to)] = value
        total = out[labels.index(name)].sum()
        if abs(float(total) - 1) > _ROUNDED:
            raise InputError(f"{where}: row", name, f"sums to {float(total):.12g}, must sum to 1")
        out[labels.index(name)] = out[labels.index(name)] / total
    return out


def pram_text(labels: Sequence[str], matrix: Any) -> str:
    """The CSV text of a matrix; in R: `as.matrix(read.csv(file, row.names = 1, check.names = FALSE))`. Levels are
    written as the released file has them."""
    out = io.StringIO()
    names = [harmless(name) for name in labels]
    writer = csv.writer(out, lineterminator="\n", quoting=quoting_for(names))
    writer.writerow(["", *names])
    for name, row in zip(names, np.asarray(matrix).tolist(), strict=True):
        writer.writerow([name, *(repr(float(v)) for v in row)])
    return out.getvalue()


def foreign_channel(study: Study, matrices: Mapping[str, Array], name: str = "given") -> ColumnChannel:
    """Published columns perturbed by these matrices; those without one stay as they are."""
    known = [target.column for target in study.targets]
    for column in matrices:
        if column not in known:
            raise InputError("channel", column, f"is not a published column: these are {', '.join(known)}")
    tables = (matrices.get(column, identity(len(study[column]))) for column in known)
    return ColumnChannel(name, study.published, tuple(tables))


@dataclass(frozen=True, repr=False)
class ForeignRelease(Displayed):
    """A channel that was given, next to the optimum.

    Attributes:
        risks: its risks under the prior of the study.
        alice: its R_A.
        distance: its R_A less the bound of the optimum: no release is better than it by more.
        solution: the optimum.
    """

    risks: ChannelRisks
    alice: Number
    distance: Number
    solution: StudySolution

    def document(self) -> dict[str, Any]:
        best, eves = self.solution, self.solution.study.by_eve(self.risks.eves)
        return {
            "lambda": text(best.lam),
            "exact": self.risks.exact and best.exact,
            "given": {
                "risks": {"bob": text(self.risks.bob), "eve": text(self.risks.eve), "alice": text(self.alice)},
                "eves": {s.name: text(r) for s, r in zip(best.study.spies, eves, strict=True)},
            },
            "optimum": {"bob": text(best.risks.bob), "eve": text(best.risks.eve), "alice": text(best.value)},
            "bound": text(best.bound),
            "distance": text(self.distance),
        }


def foreign_release(solution: StudySolution, matrices: Mapping[str, Array]) -> ForeignRelease:
    """Exact risks of a release by these matrices, and how far from the optimum it is."""
    study = solution.study
    risks = channel_risks(study, foreign_channel(study, matrices))
    if risks.exact and solution.exact:
        lam, bound = solution.lam, solution.bound
        alice = risks.bob - lam * risks.eve
        return ForeignRelease(risks, alice, alice - bound, solution)
    value = EXACT.number(risks.bob) - EXACT.number(solution.lam) * EXACT.number(risks.eve)
    return ForeignRelease(risks, float(value), float(value - EXACT.number(solution.bound)), solution)
