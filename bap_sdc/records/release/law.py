"""The law of a mechanism: every released combination that a record may become, with its probability.

Whoever checks a promise, or attacks it, needs this and no more. A secret may be any level of its column: an adversary
compares what a record would become if its secret were another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bap_lp.support.rational import Array, InputError, floats
from bap_sdc.records.data.prior import keys, rows_of
from bap_sdc.records.data.tables import as_pandas, pandas_module

if TYPE_CHECKING:
    from bap_sdc.records.solution import StudySolution
    from bap_sdc.records.study import Study

OWN = ("row", "probability")  # columns of the answer that are not released


def law_of(solution: StudySolution, frame: Any) -> Any:
    """The law at the rows of a frame; see `StudySolution.law`."""
    study = solution.study
    for target in study.targets:
        if target.column in OWN:
            raise InputError("frame: column", target.column, "has the name of a column of the law: rename it")
    frame = as_pandas(frame)
    codes = study.encode(frame)
    frame = frame.set_axis(list(map(str, frame.columns)), axis=1)
    _require_known(study, codes)
    types, at = np.unique(keys(codes, study.levels), return_inverse=True)
    rows = rows_of(types, study.levels)
    channel = solution.channel.over(rows)
    row, signal, q = channel.rows(rows)
    start = np.searchsorted(row, np.arange(len(rows) + 1))
    length = np.diff(start)[at]
    entry = np.repeat(start[:-1][at] - np.cumsum(length) + length, length) + np.arange(length.sum())
    released = channel.decode(signal[entry])
    cells = {
        target.column: study.columns[k].cells(released[:, j], frame[target.column])
        for j, (target, k) in enumerate(zip(study.targets, study.published, strict=True))
    }
    position = np.repeat(np.arange(len(codes)), length)
    return pandas_module().DataFrame({"row": position, **cells, "probability": floats(q).astype(float)[entry]})


def _require_known(study: Study, codes: Array) -> None:
    """Every row has columns, but for the secrets, that a record of the study's file has."""
    rest = study.rest
    sizes = [study.levels[k] for k in rest]
    new = ~np.isin(keys(codes[:, rest], sizes), keys(study.codes[:, rest], sizes))
    if new.any():
        row = int(np.flatnonzero(new)[0])
        record = ", ".join(f"{study.names[k]}={study.columns[k].labels[codes[row, k]]}" for k in rest)
        raise InputError(f"frame: row {row}", record, "is like no record of the study's file in these columns")
