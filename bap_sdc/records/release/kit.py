"""The kit for analysts: the released file, and all that is needed to use it, with nothing that is confidential.

    the released file       as it was drawn
    codebook.csv            columns and levels
    channel.json            C(s|t) on published columns (`published`), by column and for small pairs
    pd_COLUMN.csv           the same by column, as sdcMicro has it
    risks.json              risks of the model and of the audit
    README.md               how to read all this
    manifest.json           SHA-256 of these files, and of the manifest that was signed
C is an average over records. Where fewer records than a threshold have a true level, or a pair of them, its row says
that nothing is changed; a level of so few records is not named, unless the released file shows it. Numbers have four
decimals (risks three), so that no fraction tells counts; standard errors have two digits, and hold what this rounding
does. There is no prior, no record type, no proof and no path here.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bap_lp.files.bundles import MANIFEST, manifested, with_manifest
from bap_lp.files.documents import dumps, read_document, source_name
from bap_lp.model.display import clean, counted, percent
from bap_lp.rational import Array, InputError
from bap_sdc.records.data.prior import keys
from bap_sdc.records.data.tables import harmless, is_parquet, quoted_columns, quoting_for
from bap_sdc.records.release.pram import pram_text
from bap_sdc.records.release.published import PublishedChannel, moments

if TYPE_CHECKING:
    from bap_sdc.records.solution import StudySolution

FORMAT = "bap kit 1"
_GRID = 10**4


def kit_files(
    solution: StudySolution,
    released: bytes,
    frame: Any,
    *,
    ending: str = ".csv",
    records: Any = None,
    kept: Sequence[str] = (),
    audit: Mapping[str, Any] | None = None,
    threshold: int = 10,
    signed: bytes | None = None,
) -> dict[str, bytes]:
    """The files of a kit.

    Args:
        solution: the solution whose mechanism drew the file.
        released: the bytes of the released file; frame: what they hold; ending: of its name.
        records: the records that were released, a DataFrame; those of the study by default.
        kept: known columns that were released as they are.
        audit: the audit of the result, as a document.
        threshold: the smallest number of records that something may be about.
        signed: manifest.json of the folder, of which the kit has the SHA-256.

    Raises:
        InputError: the file has other columns than the release, or other levels.
    """
    names = [t.column for t in solution.study.targets]
    for name in frame.columns:
        if str(name) not in (*names, *kept):
            raise InputError("released: column", str(name), "is not one that the release publishes")
    codes = solution.study.codes if records is None else solution.study.encode(records)
    channel = disclosed_channel(solution, frame, threshold, codes)
    files = {
        f"released{ending}": released,
        "codebook.csv": _codebook(solution, channel, frame, kept).encode(),
        "channel.json": dumps(channel.document()).encode(),
        "risks.json": dumps(_risks(solution, audit, threshold)).encode(),
    }
    for name, values in channel.levels.items():
        labels = ["(missing)" if v is None else v for v in values]
        files[_unused(f"pd_{re.sub(r'[^A-Za-z0-9_-]', '_', name)[:60]}", files)] = pram_text(
            labels, channel.tables[name,]
        ).encode()
    files["README.md"] = _readme(solution, list(files), frame, threshold).encode()
    asked = solution.study.conditions
    # a condition on record types may list them: its name is in the README, its numbers stay in the house
    stated = {} if asked is None else json.loads(dumps(asked.disclosed(solution.study, threshold)))
    source = None if signed is None else (MANIFEST, signed)
    return with_manifest(files, FORMAT, "drawn from a proved mechanism", _rounded(solution.lam), stated, source)


def check_kit(folder: Path) -> dict[str, Any]:
    """The manifest of a kit whose files are those that it names.

    Raises:
        InputError: the folder is no kit; Mismatch, a kind of it, if a file was changed.
    """
    found = read_document(folder / MANIFEST)
    files = found.get("files") if isinstance(found, dict) else None
    names = list(files) if isinstance(files, dict) else []
    if not names or any(name != Path(name).name for name in names):
        raise InputError(source_name(folder / MANIFEST), None, "must name files of its folder")
    return manifested(folder, FORMAT, names)[0]


def _unused(name: str, files: Mapping[str, bytes]) -> str:
    number = 1
    while (found := f"{name}{number if number > 1 else ''}.csv") in files:
        number += 1
    return found


def disclosed_channel(
    solution: StudySolution, frame: Any, threshold: int, codes: Array | None = None
) -> PublishedChannel:
    """The channel on published columns as it may be shown next to this released file.

    Args:
        solution: the solution whose mechanism drew the file; frame: the file.
        threshold: the smallest number of records that something may be about.
        codes: of the records that were released; those of the study by default.
    """
    study, codes = solution.study, solution.study.codes if codes is None else codes
    whole = PublishedChannel({t.column: study[t.column].values for t in study.targets}, {})
    shown: dict[str, list[int]] = {}
    for name in whole.columns:
        if name not in frame.columns:
            raise InputError("released: column", name, "is missing")
        column, k = study[name], study.names.index(name)
        count = np.bincount(codes[:, k], minlength=len(column))
        seen = np.bincount(whole.codes(name, frame[name]), minlength=len(column))
        often = np.flatnonzero((count >= threshold) | (seen > 0)).tolist()
        # the order in which text appears in the table is part of the table
        shown[name] = often if column.ordered else sorted(often, key=lambda v: column.labels[v])
    levels = {name: tuple(whole.levels[name][v] for v in own) for name, own in shown.items()}
    tables, errors = {}, {}
    for group, found in moments(study, solution.channel, codes).items():
        places = [study.names.index(name) for name in group]
        sizes = [study.levels[k] for k in places]
        count = np.bincount(keys(codes[:, places], sizes), minlength=prod(sizes))
        grid = np.meshgrid(*(shown[name] for name in group), indexing="ij")
        at = keys(np.column_stack([g.ravel() for g in grid]), sizes)
        few = count[at] < threshold
        tables[group] = _on_grid(np.where(few[:, None], np.eye(len(at)), found.table[np.ix_(at, at)]))
        errors[group] = _rounded_up(found.errors(at, tables[group]))
    return PublishedChannel(levels, tables, len(codes), errors)


def _rounded_up(errors: Array) -> Array:
    """Two digits of each."""
    unit = 10.0 ** np.floor(np.log10(np.where(errors > 0, errors, 1)) - 1)
    return np.round(np.ceil(np.round(errors / unit, 6)) * unit, 12)


def _on_grid(table: Array) -> Array:
    """Rows of four decimals that sum to one: what is released as a level that is not shown counts as unchanged."""
    whole = np.rint(table * _GRID).astype(np.int64)
    rows = np.arange(len(table))
    whole[rows, rows] = 0
    spare = _GRID - whole.sum(axis=1)
    whole[rows, rows] = np.maximum(spare, 0)
    most = whole.argmax(axis=1)
    whole[rows, most] += np.minimum(spare, 0)
    return whole / _GRID


def _rounded(value: Any, digits: int = 3) -> Any:
    """Numbers of a document with a few decimals."""
    if isinstance(value, Mapping):
        return {key: _rounded(item, digits) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(item, digits) for item in value]
    if value is None or isinstance(value, (str, bool, int)):
        return value
    return round(float(value), digits) + 0.0


def _risks(solution: StudySolution, audit: Mapping[str, Any] | None, threshold: int) -> dict[str, Any]:
    study = solution.study
    told = zip(study.targets, solution.columns, solution.changed, strict=True)
    eves = zip(study.spies, solution.eves, solution.nulls, solution.fulls, strict=True)
    out: dict[str, Any] = {
        "lambda": solution.lam,
        "risks": {"bob": solution.risks.bob, "eve": solution.risks.eve, "alice": solution.value},
        "columns": [{"name": t.column, "risk": risk, "changed": share} for t, risk, share in told],
        "eves": [
            {"name": s.name, "secret": study.names[s.secret], "knows": [study.names[k] for k in s.knows],
             "risk": risk, "null": null, "full": full}
            for s, risk, null, full in eves
        ],
        "audit": None,
    }  # fmt: skip
    if audit is not None and audit["records"] >= threshold:
        own = {key: audit[key] for key in ("bob", "eve", "informed", "columns", "utility")}
        people = [{key: value for key, value in eve.items() if key != "disclosure"} for eve in audit["eves"]]
        out["audit"] = own | {"eves": people}
    found: dict[str, Any] = _rounded(out)
    return found


def _codebook(solution: StudySolution, channel: PublishedChannel, frame: Any, kept: Sequence[str]) -> str:
    out = io.StringIO()
    quoting = quoting_for(v for values in (channel.levels, *channel.levels.values()) for v in values)
    writer = csv.writer(out, lineterminator="\n", quoting=quoting)
    writer.writerow(["column", "level", "what was done"])
    for (name, values), share in zip(channel.levels.items(), solution.changed, strict=True):
        words = f"cells are changed at random: {percent(share)} of them in expectation" if share else "unchanged"
        writer.writerows([harmless(name), "" if v is None else harmless(v), words] for v in values)
    for name in kept:
        if name in frame.columns:
            levels = sorted({str(v) for v in frame[name].dropna()})
            writer.writerows([harmless(name), harmless(v), "released as it is"] for v in levels)
    return out.getvalue()


def _proved(solution: StudySolution) -> str:
    """What the proof says of the release, with its gap and its conditions."""
    gap = float(solution.gap)
    less = "a smaller R_A = R_B - lambda R_E" if not gap else f"an R_A = R_B - lambda R_E that is smaller by {gap:.1g}"
    under = " that keeps the promises below" if solution.study.conditions is not None else ""
    return f"No release of these columns{under} has {less}"


def _kept(solution: StudySolution, threshold: int) -> list[str]:
    asked = solution.study.conditions
    return [] if asked is None else asked.sentences(solution.study, threshold)


def _readme(solution: StudySolution, names: Sequence[str], frame: Any, threshold: int) -> str:
    study, records = solution.study, len(frame)
    quoted = []
    if columns := [] if is_parquet(names[0]) else quoted_columns(frame):
        where = f"Cells of {clean(', '.join(columns), 500)} that a spreadsheet would take for a formula"
        words = "have an apostrophe in front, which is no part of the level: `bap microdata estimate` removes it."
        quoted = [f"{where} {words}"]
    title = clean(study.title or "Released records", 200)
    changed = ", ".join(
        f"{clean(t.column, 80)} {percent(share)}" for t, share in zip(study.targets, solution.changed, strict=True)
    )
    matrices = ", ".join(f"`{name}`" for name in names if name.startswith("pd_"))
    eves = [
        f"- {clean(s.name, 80)}, who wants {clean(study.names[s.secret], 80)} and knows "
        f"{clean(', '.join(study.names[k] for k in s.knows) or 'nothing', 200)}: risk {float(risk):.3f}, "
        f"{float(null):.3f} without a release."
        for s, risk, null in zip(study.spies, solution.eves, solution.nulls, strict=True)
    ]
    lines = [
        f"# {title}",
        "",
        f"`{names[0]}` has {counted(records, 'record')}. Before the release some cells were changed at random, and the "
        "records were shuffled.",
        f"Expected shares of changed cells: {changed}.",
        "",
        "## How to use it",
        "",
        "A share in the file is the true share, mixed by the channel. `channel.json` has the probability of every "
        "released level given the true one, so the mixing can be undone:",
        "",
        "    bap microdata estimate .",
        "",
        "gives the shares that the file had before, with intervals that allow for the changed cells. For other models "
        f"treat the columns as misclassified with these probabilities. The matrices {matrices} are the same, as "
        "sdcMicro has them.",
        f"Where fewer than {threshold} records have a level, or a pair of levels, its row says that nothing changes.",
        *quoted,
        "",
        "A single row says little: its cells need not be those of any person. Tables of columns that were not "
        "published, and pairs of columns that `channel.json` does not have, cannot be corrected with it.",
        "",
        "## What was promised",
        "",
        f"{_proved(solution)} at lambda = {_rounded(solution.lam):g}; the office has a proof of this. In the model:",
        "",
        *eves,
        *(f"- {clean(words, 500)}" for words in _kept(solution, threshold)),
        "",
        "`risks.json` has these numbers, and those of the audit. `manifest.json` has the SHA-256 of every file, and "
        "under `source` that of the office's own manifest, which was signed.",
    ]
    return "\n".join(lines) + "\n"
