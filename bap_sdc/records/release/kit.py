"""The kit for analysts: the released file, and all that is needed to use it, with nothing that is confidential.

    the released file       as it was drawn
    codebook.csv            columns and levels
    channel.json            C(s|t) on published columns (`published`), by column and for small pairs
    pd_COLUMN.csv           the same by column, as sdcMicro has it
    risks.json              risks of the model and of the audit
    README.md               how to read all this
    manifest.json           SHA-256 of these files, and of the manifest of the study's folder
C is an average over records. Where fewer records than a threshold have a true level, or a pair of them, its row says
that nothing is changed; a level of so few records is not named, unless the released file shows it. There is no prior,
no record type, no proof and no path here.

Solving is deterministic. Somebody who knows all records but one could solve the study for every candidate and compare
the files: one record in n moves a mean over n records by a few n-ths. So a mean over n records is a multiple of
1, 2 or 5 times a power of ten that is at least 10 / n of its range, and 50 / n under conditions, where one record can
move a whole decision: few numbers then part the candidates, mostly into two large groups. What varies more than that
from one candidate to another is left out: the attackers of the audit one by one, and what was counted. channel.json
says how its rows are rounded, and intervals allow for it.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bap_lp.files.bundles import MANIFEST, Mismatch, digest_of, manifested, with_manifest
from bap_lp.support.display import clean, counted, percent
from bap_lp.support.documents import document_of, dumps, read_document, source_name
from bap_lp.support.rational import Array, InputError
from bap_sdc.records.data.prior import keys
from bap_sdc.records.data.tables import harmless, is_parquet, quoted_columns, quoting_for, read_table
from bap_sdc.records.release.pram import pram_text
from bap_sdc.records.release.published import PublishedChannel, moments

if TYPE_CHECKING:
    from bap_sdc.records.solution import StudySolution
    from bap_sdc.records.study import Study

FORMAT = "bap kit 2"
_ALWAYS = ("README.md", "channel.json", "codebook.csv", "risks.json")
_FINE = 1e-4  # the smallest step of the channel
_COARSE = 0.2  # the largest step of a row of the channel; one that needs more says that nothing changes
_MOVED = 10.0  # n-ths for a mean over n records, which moved by 5 to 20 of them in the studies that were tried
_MOVED_MORE = 50.0  # under conditions: 10 to 80, and 240 for pairs


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
    return with_manifest(files, FORMAT, "drawn from a proved mechanism", _price(solution), stated, source)


def check_kit(folder: Path) -> tuple[dict[str, Any], str]:
    """The manifest of a whole kit whose files are those that it names, and its SHA-256.

    Whoever exchanges rows can fit the manifest to them: only the SHA-256 that the publisher announces tells.

    Raises:
        InputError: the folder is no kit; Mismatch, a kind of it, if a file is missing or was changed, or cells of the
            released file are no levels of the channel.
    """
    where = source_name(folder / MANIFEST)
    found = read_document(folder / MANIFEST)
    files = found.get("files") if isinstance(found, dict) else None
    names = list(files) if isinstance(files, dict) else []
    if not names or any(name != Path(name).name for name in names):
        raise InputError(where, None, "must name files of its folder")
    if lost := [name for name in _ALWAYS if name not in names]:
        raise Mismatch(where, None, f"must name {lost[0]}, which every kit has")
    released = [name for name in names if name.startswith("released.")]
    if len(released) != 1:
        raise Mismatch(where, None, f"must name one released file, and names {len(released)}")
    manifest, raw = manifested(folder, FORMAT, names)
    try:
        channel = PublishedChannel.from_document(document_of(raw["channel.json"], folder / "channel.json"))
        table = read_table(folder / released[0])
        for name in channel.columns:
            if name not in table.columns:
                raise InputError("column", name, "is missing")
            channel.codes(name, table[name])
    except InputError as error:
        raise Mismatch(source_name(folder / released[0]), None, f"does not fit channel.json: {error}") from None
    matrices = sum(name.startswith("pd_") for name in names)
    if matrices != len(channel.columns):
        rule = f"must name a matrix for each of {counted(len(channel.columns), 'column')}, and names {matrices}"
        raise Mismatch(where, None, rule)
    return manifest, digest_of(raw)


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
    tables, steps, spreads = {}, {}, {}
    for group, found in moments(study, solution.channel, codes).items():
        places = [study.names.index(name) for name in group]
        sizes = [study.levels[k] for k in places]
        count = np.bincount(keys(codes[:, places], sizes), minlength=prod(sizes))
        grid = np.meshgrid(*(shown[name] for name in group), indexing="ij")
        at = keys(np.column_stack([g.ravel() for g in grid]), sizes)
        few, same, own = count[at] < threshold, np.eye(len(at)), found.table[np.ix_(at, at)]
        step = np.array([step_of(study, n, least=_FINE) for n in count[at].tolist()])
        shown_rows = np.where((few | (step > _COARSE))[:, None], same, own)
        tables[group] = _on_grid(shown_rows, step)
        steps[group] = np.where((own == same).all(), 0.0, np.where(few, 1.0, step))
        spreads[group] = _near_power(found.spread(at, tables[group], steps[group]))
    return PublishedChannel(levels, tables, steps, spreads)


def _near_power(value: float) -> float:
    """The nearest power of 2^(1/2), with three digits: an interval is at most a tenth too long or too short."""
    if value <= 0:
        return 0.0
    return float(f"{2 ** (round(2 * math.log2(value)) / 2):.3g}")


def step_of(study: Study, records: int, size: float = 1.0, least: float = 1e-3) -> float:
    """The step of a mean over records whose terms are at most `size`: 1, 2 or 5 times a power of ten."""
    many = _MOVED if study.conditions is None else _MOVED_MORE
    moved = max(many * size / max(records, 1), least)
    power = 10.0 ** math.floor(math.log10(moved))
    return min(next((k * power for k in (1, 2, 5) if k * power >= moved * (1 - 1e-9)), 10 * power), max(size, least))


def _on_grid(table: Array, step: Array) -> Array:
    """Rows of multiples of a step that sum to one: what is released as a level that is not shown is unchanged."""
    grid = np.rint(1 / step).astype(np.int64)
    whole = np.rint(table * grid[:, None]).astype(np.int64)
    rows = np.arange(len(table))
    whole[rows, rows] = 0
    spare = grid - whole.sum(axis=1)
    whole[rows, rows] = np.maximum(spare, 0)
    most = whole.argmax(axis=1)
    whole[rows, most] += np.minimum(spare, 0)
    return whole / grid[:, None]


def _near(value: Any, step: float) -> float:
    return round(round(float(value) / step) * step, 6) + 0.0


def _price(solution: StudySolution) -> float:
    """lambda with three decimals if a person wrote it, and coarser if it is calibrated and follows from the records."""
    lam, study = Fraction(str(solution.lam)), solution.study
    written = lam.denominator <= 12 or (1000 * lam).denominator == 1
    return _near(lam, 1e-3 if written else step_of(study, study.records, max(1.0, float(lam))))


def _sizes(solution: StudySolution) -> tuple[list[float], list[float]]:
    """The largest loss of each column and of each Eve."""
    study = solution.study
    return [float(t.loss.max()) for t in study.targets], [float(s.loss.max()) for s in study.spies]


def _risks(solution: StudySolution, audit: Mapping[str, Any] | None, threshold: int) -> dict[str, Any]:
    study, (columns, eves) = solution.study, _sizes(solution)
    bob = sum(size * float(t.weight) for size, t in zip(columns, study.targets, strict=True))
    eve = sum(size * float(s.weight) for size, s in zip(eves, study.spies, strict=True))

    def told(n: int, **values: tuple[Any, float]) -> dict[str, Any]:
        return {name: _near(value, step_of(study, n, size)) for name, (value, size) in values.items()}

    n, alice = study.records, bob + float(solution.lam) * eve
    out: dict[str, Any] = {
        "lambda": _price(solution),
        "risks": told(n, bob=(solution.risks.bob, bob), eve=(solution.risks.eve, eve), alice=(solution.value, alice)),
        "columns": [
            {"name": t.column} | told(n, risk=(risk, size), changed=(share, 1.0))
            for t, size, risk, share in zip(study.targets, columns, solution.columns, solution.changed, strict=True)
        ],
        "eves": [
            {"name": s.name, "secret": study.names[s.secret], "knows": [study.names[k] for k in s.knows]}
            | told(n, **{name: (value, size) for name, value in zip(("risk", "null", "full"), own, strict=True)})
            for s, size, *own in zip(study.spies, eves, solution.eves, solution.nulls, solution.fulls, strict=True)
        ],
        "audit": None,
    }
    if audit is not None and audit["records"] >= threshold:
        n = audit["records"]
        ends = {"bob": bob, "eve": eve, "informed": eve, "strongest": eve}
        out["audit"] = {
            name: told(n, **{key: (audit[name][key], size) for key in ("value", "error")})
            for name, size in ends.items()
        }
    return out


def _codebook(solution: StudySolution, channel: PublishedChannel, frame: Any, kept: Sequence[str]) -> str:
    out = io.StringIO()
    quoting = quoting_for(v for values in (channel.levels, *channel.levels.values()) for v in values)
    writer = csv.writer(out, lineterminator="\n", quoting=quoting)
    writer.writerow(["column", "level", "what was done"])
    for (name, values), share in zip(channel.levels.items(), solution.changed, strict=True):
        about = _about(share, solution.study)
        words = f"cells are changed at random: about {about} of them in expectation" if share else "unchanged"
        writer.writerows([harmless(name), "" if v is None else harmless(v), words] for v in values)
    for name in kept:
        if name in frame.columns:
            levels = sorted({str(v) for v in frame[name].dropna()})
            writer.writerows([harmless(name), harmless(v), "released as it is"] for v in levels)
    return out.getvalue()


def _about(share: Any, study: Study) -> str:
    """A share of cells as a percentage, rounded as it may be told."""
    step = step_of(study, study.records)
    near = _near(share, step)
    return percent(near) if near else f"less than {percent(step)}"


def _proved(solution: StudySolution) -> str:
    """What the proof says of the release, with its gap and its conditions."""
    gap = 1000.0 ** math.ceil(math.log(float(solution.gap), 1000)) if solution.gap else 0
    less = (
        "a smaller R_A = R_B - lambda R_E"
        if not gap
        else f"an R_A = R_B - lambda R_E that is smaller by more than {gap:.0e}"
    )
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
        f"{clean(t.column, 80)} {_about(share, study) if share else '0%'}"
        for t, share in zip(study.targets, solution.changed, strict=True)
    )
    matrices = ", ".join(f"`{name}`" for name in names if name.startswith("pd_"))
    steps = [step_of(study, study.records, size) for size in _sizes(solution)[1]]
    eves = [
        f"- {clean(s.name, 80)}, who wants {clean(study.names[s.secret], 80)} and knows "
        f"{clean(', '.join(study.names[k] for k in s.knows) or 'nothing', 200)}: risk {_near(risk, step):g}, "
        f"{_near(null, step):g} without a release (rounded to multiples of {step:g})."
        for s, risk, null, step in zip(study.spies, solution.eves, solution.nulls, steps, strict=True)
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
        "Numbers are rounded coarsely, so that one record more or less can hardly be seen in them; `rounded` in "
        "`channel.json` has the steps, and the intervals allow for them.",
        *quoted,
        "",
        "A single row says little: its cells need not be those of any person. Tables of columns that were not "
        "published, and pairs of columns that `channel.json` does not have, cannot be corrected with it.",
        "",
        "## What was promised",
        "",
        f"{_proved(solution)} at lambda = {_price(solution):g}; the office has a proof of this. In the model:",
        "",
        *eves,
        *(f"- {clean(words, 500)}" for words in _kept(solution, threshold)),
        "",
        "`risks.json` has these numbers, and those of the audit. `manifest.json` has the SHA-256 of every file, and "
        "under `source` that of the manifest that the office keeps. Who made this folder, no file in it can tell: "
        "`bap verify .` prints the SHA-256 of `manifest.json`, to be compared with the one that the office announces.",
    ]
    return "\n".join(lines) + "\n"
