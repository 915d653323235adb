"""`bap release`: draw the signals to publish, for one state or for a file of states.

States come from the command line only if the user puts them there, since other users of a computer can read command
lines; a file or standard input keeps them private. A mechanism that lies in a bundle is drawn from only if the bundle
verifies: what is deployed is what was proved. A state that is drawn from K times leaves Eve less risk than one signal
does; how much less is computed and printed.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Annotated, Any

import typer

from bap_cli.app import AllowFloat

_MECHANISM = re.compile(r"mechanism(?:-([1-9][0-9]{0,3}))?\.json")

Source = Annotated[
    str,
    typer.Argument(metavar="BUNDLE", help="Directory of `bap solve --out`, or a mechanism file (JSON, .npz)."),
]
State = Annotated[
    str | None, typer.Argument(metavar="[STATE]", help="Label of the observed data; read from stdin if left out.")
]


@dataclass(frozen=True)
class _Released:
    """The mechanism to draw from, the problem it belongs to if known, and the SHA-256 of what was read.

    In a bundle of tiers `seen` has what every tier sees, by the signal of the last one.
    """

    mechanism: Any
    problem: Any
    digest: str
    seen: dict[str, tuple[str, ...]] | None = None
    tier: int | None = None

    def shown(self, signal: str) -> tuple[str, ...]:
        """The signals to publish, the public tier's first."""
        return (signal,) if self.seen is None else self.seen[signal]


def release(
    source: Source,
    state: State = None,
    states_from: Annotated[
        str | None, typer.Option("--from", metavar="CSV", help="A file of states, one signal for each; - for stdin.")
    ] = None,
    column: Annotated[
        str | None, typer.Option(metavar="NAME", help="The column of the states, if the file has a header.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="CSV", help="Where to write the signals; stdout by default.")
    ] = None,
    count: Annotated[
        int, typer.Option(min=1, max=1_000_000, metavar="K", help="How many independent signals to draw.")
    ] = 1,
    seed: Annotated[
        int | None, typer.Option(metavar="S", help="Reproducible draws, for rehearsals: never for publication.")
    ] = None,
    allow_float: AllowFloat = False,
    log: Annotated[Path | None, typer.Option(metavar="FILE", help="Add a line about this run to a log file.")] = None,
) -> None:
    """Draw the signal to publish.

    An exact mechanism is drawn from exactly, with integers from the operating system's secure source of randomness. A
    bundle that does not verify is refused. With --from, one signal is drawn for every state of a file, in its order.
    """
    from bap_lp.model.display import clean
    from bap_lp.rational import InputError

    many = states_from is not None
    if many and (state is not None or count > 1):
        given = "STATE" if state is not None else "--count"
        raise InputError(given, None, "must not be given with --from, which draws one signal per state")
    if column is not None and not many:
        raise InputError("--column", column, "needs --from")
    _check_places(source, states_from, out, log)
    found = _load(source, allow_float)
    generator = None if seed is None else Random(seed)
    if states_from is not None:
        wanted, where = _states(states_from, column)
    elif state is None:
        wanted, where = _states("-", None)
    else:
        wanted, where = [state], ""
    try:
        signals = [s for _ in range(count) for s in found.mechanism.release_many(wanted, generator)]
    except InputError as error:
        at = int(error.field.removeprefix("states[").removesuffix("]"))
        hint = "" if not where or at or column is not None else " (if it is a header, give --column)"
        line = "state" if not where else f"{where}: line {at + 1 + (column is not None)}"
        raise InputError(line, error.value, error.rule + hint) from None
    # the log says that signals were drawn before anybody can see them: a release without a trace is not possible
    _note(found, len(signals), seed, log, loud=many)
    if count > 1 and seed is None:
        print(f"bap: {_composed(found, count)}", file=sys.stderr)
    if found.tier is not None:
        words = (
            f"bap: this is the signal of tier {found.tier} alone: later tiers must be drawn given it, or all at once"
        )
        print(f"{words} from the bundle", file=sys.stderr)
    rows = [[clean(part, sys.maxsize - 1) for part in found.shown(signal)] for signal in signals]
    if out is not None or many:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        header = ["signal"] if found.seen is None else [f"tier {k + 1}" for k in range(len(rows[0]))]
        writer.writerows([header] * (column is not None) + rows)
        _write(out, text.getvalue())
    else:
        sys.stdout.write("".join(f"{part}\n" for row in rows for part in row))


def _check_places(source: str, states: str | None, out: Path | None, log: Path | None) -> None:
    """Refuse places that cannot be written to, and what is read: a bundle, or the states."""
    from bap_cli.pictures import check_file
    from bap_lp.files.bundles import FILES, MANIFEST
    from bap_lp.rational import InputError

    path = Path(source)
    folder = path if path.is_dir() else path.parent
    read = [
        path,
        *(folder / name for name in (*FILES, MANIFEST)),
        *([Path(states)] if states not in (None, "-") else []),
    ]
    for option, place in (("--out", out), ("--log", log)):
        if place is None:
            continue
        check_file(place, option=option)
        if place.exists() and any(other.exists() and place.samefile(other) for other in read):
            raise InputError(option, str(place), "must not be a file that is read")
    if out is not None and log is not None and out.resolve() == log.resolve():
        raise InputError("--log", str(log), "must not be the file of the signals")


def _load(source: str, allow_float: bool) -> _Released:
    """The mechanism of a bundle that verifies, or of a file that is not part of one."""
    from bap_cli.commands.verify import proved_bundle
    from bap_lp.files.bundles import MANIFEST
    from bap_lp.files.documents import source_name
    from bap_lp.files.mechanisms import load_mechanism
    from bap_lp.program.several import tier_views
    from bap_lp.rational import InputError

    path = Path(source).resolve()  # a link to the mechanism of a bundle is the mechanism of a bundle
    folder, name = path if path.is_dir() else path.parent, _MECHANISM.fullmatch(path.name)
    if not (path.is_dir() or (name is not None and (folder / MANIFEST).exists())):
        before, mechanism = _sha256(source), load_mechanism(source)
        if _sha256(source) != before:
            raise InputError(source_name(source), None, "was changed while it was read")
        return _Released(mechanism, None, before)
    bundle = proved_bundle(source if path.is_dir() else str(folder), allow_float)
    if not path.is_dir() and name is not None and name[1]:
        return _Released(_tier(bundle, int(name[1]), source), None, bundle.digest, tier=int(name[1]))
    if bundle.tiered:
        return _Released(bundle.mechanism, None, bundle.digest, tier_views([file.problem for file in bundle.problems]))
    return _Released(bundle.mechanism, None if bundle.robust else bundle.problem, bundle.digest)


def _sha256(source: str) -> str:
    from bap_lp.files.documents import read_bytes

    return hashlib.sha256(read_bytes(source, plain=True)).hexdigest()


def _tier(bundle: Any, tier: int, source: str) -> Any:
    """The mechanism of a file that a bundle of tiers has besides its own, if it is what that tier sees."""
    from bap_cli.commands.verify import refuse
    from bap_lp.files.documents import source_name
    from bap_lp.files.mechanisms import load_mechanism
    from bap_lp.rational import TOLERANCE

    mechanism = load_mechanism(source)
    if not (bundle.tiered and 1 <= tier <= len(bundle.problems)):
        refuse(f"{source_name(source)} is not part of the bundle in its folder")
    own = bundle.tier(tier - 1)
    same = (mechanism.states, mechanism.signals, mechanism.exact) == (own.states, own.signals, own.exact)
    if not same or (abs(mechanism.q - own.q) > (0 if own.exact else TOLERANCE)).any():
        refuse(f"{source_name(source)} is not what tier {tier} of the bundle sees")
    return own


def _states(source: str, column: str | None) -> tuple[list[str], str]:
    """The states of a CSV file or of stdin, and how errors call it."""
    from bap_lp.files.documents import bounded, read_bytes, source_name
    from bap_lp.limits import limit
    from bap_lp.rational import InputError

    where = "stdin" if source == "-" else source_name(source)
    if source == "-" and sys.stdin is None:
        raise InputError(where, None, "is closed: give STATE or --from")
    try:
        raw = bounded(sys.stdin.buffer, where, limit("bytes")) if source == "-" else read_bytes(source)
        rows = list(csv.reader(io.StringIO(raw.decode("utf-8-sig"), newline=""), strict=True))
    except OSError as error:
        raise InputError(where, None, f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(where, None, f"is not UTF-8 text: byte 0x{raw[error.start]:02x}") from None
    except csv.Error as error:
        raise InputError(where, None, f"is not CSV: {error}") from None
    place = 0
    if column is not None:
        header = rows.pop(0) if rows else []
        if header.count(column) != 1:
            known = ", ".join(map(repr, header[:12]))
            raise InputError(where, column, f"must be the name of one column; the header has {known or 'none'}")
        place = header.index(column)
    return list(_column(rows, place, column is not None, where)), where


def _column(rows: list[list[str]], place: int, header: bool, where: str) -> Iterator[str]:
    from bap_lp.rational import InputError

    if not rows:
        raise InputError(where, None, "has no states")
    for k, row in enumerate(rows):
        if len(row) <= place or (not header and len(row) != 1):
            rule = "must have the column of the states" if header else "must be one state (or give --column)"
            raise InputError(f"{where}: line {k + 1 + header}", ",".join(row)[:60] or None, rule)
        yield row[place]


def _composed(found: _Released, count: int) -> str:
    """What several signals about the same data leave of Eve's risk."""
    from bap_lp import composed, evaluate
    from bap_lp.model.display import both
    from bap_lp.rational import InputError

    warning = f"{count} signals about the same data can say more than one"
    if found.problem is None:
        return f"{warning}: Eve's risk may be lower than the mechanism's own (release from a bundle to see by how much)"
    once = evaluate(found.problem, found.mechanism).risks.eve
    try:
        often = evaluate(found.problem, composed(found.mechanism, count)).risks.eve
    except InputError as error:
        return f"{warning}: Eve's risk may be lower than {both(once)} ({error})"
    if both(once) == both(often):  # a signal that is certain, or that tells her nothing, says the same again
        return f"{count} signals about the same data leave Eve the risk that one leaves, {both(once)}"
    return f"{warning}: Eve's risk {'falls' if often < once else 'rises'} from {both(once)} to {both(often)}"


def _write(out: Path | None, text: str) -> None:
    if out is None:
        sys.stdout.write(text)
        return
    from bap_lp.files.writing import write_files

    write_files({out: text})


def _note(found: _Released, count: int, seed: int | None, log: Path | None, loud: bool) -> None:
    """A line about this run: when, from what, how many."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    how = "secure" if seed is None else f"rehearsal with seed {seed}"
    line = f"{now} sha256={found.digest} signals={count} {how}"
    if loud:
        print(f"bap: {line}", file=sys.stderr)
    if log is not None:
        with open(log, "a", encoding="utf-8") as file:
            file.write(line + "\n")
