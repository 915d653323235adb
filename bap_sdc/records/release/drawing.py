"""The file to publish: every record replaced by a draw from the channel at its type.

A row of the channel is written over its least common denominator d, and a uniform integer below d picks the released
record, so an exact channel is drawn from exactly; the integers come from the operating system's secure source
unless a seed is given. Draws of different records are independent. The released rows are shuffled by the same source:
in the order of a sorted table the position of a row would tell what the mechanism hides. Types are drawn in the order
of their levels, so that the file depends on the records and on the source, and not on the order of the records.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from bap_lp.model.display import Grid, Tabular, counted
from bap_lp.rational import EXACT, Array, InputError, common_denominator
from bap_sdc.records.data.prior import keys, rows_of
from bap_sdc.records.data.tables import as_pandas

if TYPE_CHECKING:
    from bap_sdc.records.solution import StudySolution
    from bap_sdc.records.study import Study


@dataclass(frozen=True, repr=False)
class ReleaseLog(Tabular, dict[str, Any]):
    """What a release did: records, changed cells by published column, records of types never fitted, columns kept.

    records: how many were released. touched: how many have a changed cell. seed: None for a release that may be
    published. It is an empty mapping: pandas writes what is attached to a frame into Parquet files as JSON, and what a
    release changed is not for those who get the file.
    """

    records: int
    changed: dict[str, int]
    touched: int
    unseen: int
    kept: tuple[str, ...]
    dropped: tuple[str, ...]
    seed: int | None

    def document(self) -> dict[str, Any]:
        return {
            "records": self.records,
            "changed": self.changed,
            "touched": self.touched,
            "unseen": self.unseen,
            "kept": list(self.kept),
            "dropped": list(self.dropped),
            "rehearsal": self.seed is not None,
        }

    def _headline(self) -> str:
        rehearsal = "" if self.seed is None else ", a rehearsal"
        return f": {counted(self.records, 'record')}, {self.touched} changed, {self.unseen} of new types{rehearsal}"

    def _grid(self, most: int | None = None) -> Grid:
        rows = [(name, count, count / self.records) for name, count in self.changed.items()]
        return Grid(("column", "changed cells", "share"), rows[:most], len(rows))


def draw_release(
    solution: StudySolution, frame: Any, keep: Sequence[str] = (), seed: int | None = None, *,
    keep_order: bool = False, source: Random | None = None,
) -> Any:  # fmt: skip
    """Draw a release; see `StudySolution.release`. `source` gives the integers, if there is no seed."""
    study = solution.study
    kept = check_kept(study, keep)
    frame = as_pandas(frame)
    codes = study.encode(frame)
    frame = frame.set_axis(list(map(str, frame.columns)), axis=1)
    new = solution.channel.unseen(codes)
    channel = solution.channel.over(codes)
    source = (source or secrets.SystemRandom()) if seed is None else Random(seed)
    told = channel.decode(draw_signals(channel, codes, source))
    place_of = list(range(len(codes)))
    if not keep_order:
        source.shuffle(place_of)
        place_of = np.argsort(keys(codes, study.levels), kind="stable")[place_of].tolist()
    place = {t.column: j for j, t in enumerate(study.targets)}
    changed, cells = {}, {}
    for name in frame.columns:
        if name in place:
            j, k = place[name], study.published[place[name]]
            cells[name] = study.columns[k].cells(told[place_of, j], frame[name])
            changed[name] = int((told[:, j] != codes[:, k]).sum())
        elif name in kept:
            k = study.names.index(name)
            cells[name] = study.columns[k].cells(codes[place_of, k], frame[name])
    touched = int((told != codes[:, list(study.published)]).any(axis=1).sum())
    dropped = tuple(name for name in frame.columns if name not in cells)
    log = ReleaseLog(len(codes), changed, touched, int(new.sum()), tuple(kept), dropped, seed)
    import pandas

    out = pandas.DataFrame(cells)
    out.attrs["log"] = log
    return out


def input_digest(study: Study, frame: Any) -> str:
    """SHA-256 of the records as the study sees them: their levels, whatever their order and spelling."""
    codes = study.encode(frame)
    names = json.dumps([[column.name, column.labels] for column in study.columns])
    return hashlib.sha256(names.encode() + np.sort(keys(codes, study.levels)).astype("<i8").tobytes()).hexdigest()


def check_kept(study: Study, keep: Sequence[str]) -> tuple[str, ...]:
    """The columns to keep, if every Eve knows them: otherwise the file would tell an Eve more than the model says."""
    for name in (keep,) if isinstance(keep, str) else keep:
        if name in [t.column for t in study.targets]:
            raise InputError("keep", name, "is published already, perturbed")
        if name not in study.names:
            raise InputError("keep", name, "is not a column that an Eve of the study knows")
        at = study.names.index(name)
        if ignorant := [spy.name for spy in study.spies if at not in spy.knows]:
            raise InputError("keep", name, f"would tell {ignorant[0]} more than the study says she knows")
    return (keep,) if isinstance(keep, str) else tuple(keep)


def draw_signals(channel: Any, codes: Array, source: Random) -> Array:
    """One signal per record, drawn with integers; types in the order of their levels."""
    distinct, inverse = np.unique(keys(codes, channel.levels), return_inverse=True)
    row, signal, q = channel.rows(rows_of(distinct, channel.levels))
    start = np.searchsorted(row, np.arange(len(distinct) + 1))
    out = np.empty(len(codes), dtype=np.int64)
    order = np.argsort(inverse, kind="stable")
    ends = np.cumsum(np.bincount(inverse, minlength=len(distinct)))
    for x in range(len(distinct)):
        mine = order[ends[x - 1] if x else 0 : ends[x]]
        choices = signal[start[x] : start[x + 1]]
        if len(choices) == 1:
            out[mine] = choices[0]
            continue
        shares = EXACT.array(q[start[x] : start[x + 1]])
        common = common_denominator(shares)
        # float rows may miss one by rounding: the draw is below the sum of the row
        wheel = list(accumulate(int((v * common).p) for v in shares))
        out[mine] = [choices[bisect_right(wheel, source.randrange(wheel[-1]))] for _ in range(len(mine))]
    return out
