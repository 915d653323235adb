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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from os import PathLike
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from bap_lp.files.ledger import Draw, open_ledger
from bap_lp.support.display import Displayed, counted
from bap_lp.support.rational import EXACT, Array, InputError, common_denominator
from bap_sdc.records.audit.light import RED
from bap_sdc.records.data.prior import keys, rows_of
from bap_sdc.records.data.tables import as_pandas, table_bytes
from bap_sdc.records.release.published import PublishedChannel, published_channel, same_records

if TYPE_CHECKING:
    from bap_sdc.records.solution import StudySolution
    from bap_sdc.records.study import Study


@dataclass(frozen=True, repr=False)
class ReleaseLog(Displayed, dict[str, Any]):
    """What a release did: records, changed cells by published column, records of new types, columns kept.

    records: how many were released. touched: how many have a changed cell. rehearsal: whether it is in no ledger and
    must not be published. channel: of these records on published columns, if they are not those of the study. It is an
    empty mapping: pandas writes what is attached to a frame into Parquet files as JSON, and what a release changed is
    not for those who get the file.
    """

    records: int
    changed: dict[str, int]
    touched: int
    unseen: int
    kept: tuple[str, ...]
    dropped: tuple[str, ...]
    rehearsal: bool
    channel: PublishedChannel | None = None

    def document(self) -> dict[str, Any]:
        return {
            "records": self.records,
            "changed": self.changed,
            "touched": self.touched,
            "unseen": self.unseen,
            "kept": list(self.kept),
            "dropped": list(self.dropped),
            "rehearsal": self.rehearsal,
        }

    def _lines(self) -> Iterator[str]:
        rehearsal = ", a rehearsal" if self.rehearsal else ""
        yield f"{counted(self.records, 'record')}, {self.touched} changed, {self.unseen} of new types{rehearsal}"

    def rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """The columns."""
        changed = list(self.changed.items())[:most]
        return [{"column": name, "changed cells": n, "share": n / self.records} for name, n in changed]


def draw_release(
    solution: StudySolution, frame: Any, keep: Sequence[str] = (), seed: int | None = None, *,
    keep_order: bool = False, source: Random | None = None,
) -> Any:  # fmt: skip
    """Draw a release; see `StudySolution.release`. Without a `source` from a ledger it is a rehearsal."""
    study = solution.study
    kept = check_kept(study, keep)
    frame = as_pandas(frame)
    codes = study.encode(frame)
    frame = frame.set_axis(list(map(str, frame.columns)), axis=1)
    new = solution.channel.unseen(codes)
    channel = solution.channel.over(codes)
    rehearsal = source is None
    if source is None:
        source = secrets.SystemRandom() if seed is None else Random(seed)
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
    log = ReleaseLog(len(codes), changed, touched, int(new.sum()), tuple(kept), dropped, rehearsal)
    import pandas

    out = pandas.DataFrame(cells)
    out.attrs["log"] = log
    if rehearsal:
        out.attrs["rehearsal"] = True
    return out


def release(
    solution: StudySolution, frame: Any, keep: Sequence[str], seed: int | None, keep_order: bool, ledger: Any,
    again: bool, although: str | None,
) -> Any:  # fmt: skip
    """A release that is noted, if there is a ledger and no seed; see `StudySolution.release`."""
    released = _drawn(solution, frame, keep, seed, keep_order, ledger, again, although)
    study, log = solution.study, released.attrs["log"]
    codes = study.encode(frame)
    if not same_records(study, codes):
        released.attrs["log"] = replace(log, channel=published_channel(study, solution.channel, codes))
    return released


def _drawn(
    solution: StudySolution, frame: Any, keep: Sequence[str], seed: int | None, keep_order: bool, ledger: Any,
    again: bool, although: str | None,
) -> Any:  # fmt: skip
    place = ledger
    if solution.folder is not None:
        if ledger is not None:
            raise InputError("ledger", str(ledger), "must be left out: it is in the folder that the solution has")
        place = solution.folder.path
    if seed is None and place is not None:
        more: dict[str, Any] = {"again": again, "keep_order": keep_order, "although": although}
        return noted_release(solution, frame, keep, place, **more).frame
    if although is not None:
        raise InputError("although", although, "needs a ledger and no seed: it is noted there")
    if again:
        raise InputError("again", again, "needs a ledger and no seed: other draws are not noted")
    return draw_release(solution, frame, keep, seed, keep_order=keep_order)


@dataclass(frozen=True)
class Noted:
    """A release, its bytes, and where it comes from.

    drawn: how many draws of these records, of all records, and from other mechanisms the ledger has with it.
    """

    frame: Any
    content: bytes
    draw: Draw
    drawn: tuple[int, int, int]


def noted_release(
    solution: StudySolution, frame: Any, keep: Sequence[str], folder: str | PathLike[str], *, again: bool = False,
    keep_order: bool = False, although: str | None = None, written: Callable[[Any], bytes] | None = None,
) -> Noted:  # fmt: skip
    """Draw a release from the seed that the ledger of a folder has for these records, and note it.

    One whose light is red needs a reason, `although`, which is noted with it. It is noted before it can be seen: a run
    that is killed afterwards is repeated by the next one. `written` gives the bytes of the file; by default they are
    those of a CSV file, or of Parquet where text cannot hold a cell.
    """
    from bap_sdc.records.bundle import mechanism_digest

    _require_reason(solution, although)
    kept = check_kept(solution.study, keep)
    records, key = input_digest(solution.study, solution.study.encode(frame)), mechanism_digest(solution)
    with open_ledger(folder) as ledger:
        draw = ledger.draw(key, records, again=again)
        released = draw_release(solution, frame, kept, keep_order=keep_order, source=draw.source)
        content = (written or _file_of)(released)
        ledger.note(key, records, draw, content, len(released), although=although or "")
        drawn = ledger.drawn(key, records), ledger.drawn(key), ledger.elsewhere(key)
    return Noted(released, content, draw, drawn)


def _require_reason(solution: StudySolution, although: str | None) -> None:
    """A release whose light is red needs a reason."""
    if although is not None and not although.strip():
        raise InputError("although", although, "must be a reason")
    if although is None and solution.light.colour == RED:
        raise Red("although", None, f"must say why this is released. {' '.join(solution.light.words())}")


class Red(InputError):
    """The light of a release is red, and there is no reason to publish it."""


def _file_of(released: Any) -> bytes:
    try:
        return table_bytes(released, "released.csv")
    except InputError:
        return table_bytes(released, "released.parquet")


def input_digest(study: Study, codes: Array) -> str:
    """SHA-256 of the records as the study sees them: their levels, whatever their order and spelling."""
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
