"""`bap release`: draw the signals to publish, for one state or for a file of states.

States come from the command line only if the user puts them there, since other users of a computer can read command
lines; a file or standard input keeps them private. A mechanism that lies in a bundle is drawn from only if the bundle
verifies: what is deployed is what was proved. A state that is drawn from K times leaves Eve less risk than one signal
does; how much less is computed and printed. What was drawn from a bundle is in its ledger, and the same states give
the same signals again, unless new ones are asked for.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
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
from bap_cli.draws import Again

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

    In a bundle of tiers `seen` has what every tier sees, by the signal of the last one; `tier` is the one to publish,
    if it is one. All tiers come from one draw, so that a later one fits what was published before.
    """

    mechanism: Any
    problem: Any
    digest: str
    seen: dict[str, tuple[str, ...]] | None = None
    tier: int | None = None
    folder: Path | None = None  # of the bundle, where draws are noted

    @property
    def key(self) -> str:
        """SHA-256 of what is drawn from, whatever it was written with."""
        from bap_lp.files.mechanisms import mechanism_document

        return hashlib.sha256(json.dumps(mechanism_document(self.mechanism), sort_keys=True).encode()).hexdigest()

    def shown(self, signal: str) -> tuple[str, ...]:
        """The signals to publish, the public tier's first."""
        if self.seen is None:
            return (signal,)
        return self.seen[signal] if self.tier is None else self.seen[signal][self.tier - 1 : self.tier]


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
    again: Again = False,
    allow_float: AllowFloat = False,
    log: Annotated[Path | None, typer.Option(metavar="FILE", help="Add a line about this run to a log file.")] = None,
) -> None:
    """Draw the signal to publish.

    An exact mechanism is drawn from exactly, with integers from the operating system's secure source of randomness. A
    bundle that does not verify is refused. With --from, one signal is drawn for every state of a file, in its order.
    """
    from bap_cli.draws import say_repeated
    from bap_lp.files.ledger import open_ledger
    from bap_lp.support.display import clean
    from bap_lp.support.rational import InputError

    many = states_from is not None
    if many and (state is not None or count > 1):
        given = "STATE" if state is not None else "--count"
        raise InputError(given, None, "must not be given with --from, which draws one signal per state")
    if column is not None and not many:
        raise InputError("--column", column, "needs --from")
    if again and seed is not None:
        raise InputError("--again", None, "must not be given with --seed, whose draws are not noted")
    _check_places(source, states_from, out, log)
    found = _load(source, allow_float)
    if states_from is not None:
        wanted, where = _states(states_from, column)
    elif state is None:
        wanted, where = _states("-", None)
    else:
        wanted, where = [state], ""
    named = _states_of(found.mechanism, wanted, where, column)
    asked = hashlib.sha256(json.dumps(named).encode()).hexdigest()

    def signals_of(generator: Random | None) -> list[str]:
        return [s for _ in range(count) for s in found.mechanism.release_many(wanted, generator)]

    # the ledger and the log say what was drawn before anybody can see it: no release is without a trace
    drawn = count
    if seed is None and found.folder is not None:
        with open_ledger(found.folder) as ledger:
            draw = ledger.draw(found.key, asked, count, again)
            if many and not again and not ledger.drawn(found.key, asked):
                _require_same(ledger.entries, named, where, 1 + (column is not None))
            signals = signals_of(draw.source)
            output = "\n".join(signals).encode()
            ledger.note(found.key, asked, draw, output, len(signals), count, rows=named if many else ())
        drawn = ledger.drawn(found.key, asked)
        say_repeated(draw, "signal" if len(signals) == 1 else "signals")
    else:
        signals = signals_of(None if seed is None else Random(seed))
    _note(found, len(signals), seed, log, loud=many)
    if seed is None and (count > 1 or (again and drawn > 1)):
        print(f"bap: {_composed(found, drawn)}", file=sys.stderr)
    if found.tier is not None:
        words = f"this is the signal of tier {found.tier} alone: the other tiers that fit it come from the same bundle"
        print(f"bap: {words}", file=sys.stderr)
    rows = [[clean(part, sys.maxsize - 1) for part in found.shown(signal)] for signal in signals]
    if out is not None or many:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        several = found.seen is not None and found.tier is None
        header = [f"tier {k + 1}" for k in range(len(rows[0]))] if several else ["signal"]
        writer.writerows([header] * (column is not None) + rows)
        _write(out, text.getvalue())
    else:
        sys.stdout.write("".join(f"{part}\n" for row in rows for part in row))


def _states_of(mechanism: Any, wanted: list[str], where: str, column: str | None) -> list[str]:
    """The states that signals are asked for, as the mechanism calls them; one that is not a state is refused."""
    from bap_lp.support.rational import InputError

    names = []
    for at, state in enumerate(wanted):
        try:
            names.append(mechanism.states[mechanism.state_index(state)])
        except InputError as error:
            hint = "" if not where or at or column is not None else " (if it is a header, give --column)"
            line = "state" if not where else f"{where}: line {at + 1 + (column is not None)}"
            raise InputError(line, error.value, error.rule + hint) from None
    return names


def _require_same(entries: list[Any], rows: list[str], where: str, first: int) -> None:
    """Refuse states that are not those of the file that was drawn last: all of its rows would get new signals."""
    from bap_lp.support.rational import InputError

    files = [entry for entry in entries if entry.rows]
    if not files:
        return
    at = files[-1].differs(rows)
    rule = f"is not as in the file that was drawn on {files[-1].time}: every row would get a second signal, and two "
    state = rows[at] if at < len(rows) else None
    raise InputError(f"{where}: line {at + first}", state, f"{rule}tell more than one. --again draws all rows anew")


def _check_places(source: str, states: str | None, out: Path | None, log: Path | None) -> None:
    """Refuse places that cannot be written to, and what is read: a bundle, or the states."""
    from bap_cli.pictures import check_file
    from bap_lp.files.bundles import FILES, MANIFEST
    from bap_lp.files.ledger import LEDGER
    from bap_lp.support.rational import InputError

    path = Path(source)
    folder = path if path.is_dir() else path.parent
    parts = [folder / name for name in (*FILES, MANIFEST, LEDGER)]
    read = [*parts, *([] if path.is_dir() else [path]), *([Path(states)] if states not in (None, "-") else [])]
    for option, place in (("--out", out), ("--log", log)):
        if place is not None:
            check_file(place, option=option, reads=read)
    if out is not None and log is not None and out.resolve() == log.resolve():
        raise InputError("--log", str(log), "must not be the file of the signals")


def _load(source: str, allow_float: bool) -> _Released:
    """The mechanism of a bundle that verifies, or of a file that is not part of one."""
    from bap_cli.commands.verify import proved_bundle
    from bap_lp.files.bundles import MANIFEST
    from bap_lp.files.mechanisms import load_mechanism
    from bap_lp.program.several import tier_views
    from bap_lp.support.documents import source_name
    from bap_lp.support.rational import InputError

    path = Path(source).resolve()  # a link to the mechanism of a bundle is the mechanism of a bundle
    folder, name = path if path.is_dir() else path.parent, _MECHANISM.fullmatch(path.name)
    if not (path.is_dir() or (name is not None and (folder / MANIFEST).exists())):
        before, mechanism = _sha256(source), load_mechanism(source)
        if _sha256(source) != before:
            raise InputError(source_name(source), None, "was changed while it was read")
        return _Released(mechanism, None, before)
    bundle = proved_bundle(source if path.is_dir() else str(folder), allow_float)
    if not path.is_dir() and name is not None and name[1]:
        _check_tier(bundle, int(name[1]), source)
    tier = None if path.is_dir() or name is None or not name[1] else int(name[1])
    problem = None if bundle.tiered or bundle.robust else bundle.problem
    seen = tier_views([file.problem for file in bundle.problems]) if bundle.tiered else None
    return _Released(bundle.mechanism, problem, bundle.digest, seen, tier, folder)


def _sha256(source: str) -> str:
    from bap_lp.support.documents import read_bytes

    return hashlib.sha256(read_bytes(source, plain=True)).hexdigest()


def _check_tier(bundle: Any, tier: int, source: str) -> None:
    """Refuse the mechanism of a file that a bundle of tiers has besides its own, if it is not what that tier sees."""
    from bap_cli.commands.verify import refuse
    from bap_lp.files.mechanisms import load_mechanism
    from bap_lp.support.documents import source_name
    from bap_lp.support.rational import TOLERANCE

    mechanism = load_mechanism(source)
    if not (bundle.tiered and 1 <= tier <= len(bundle.problems)):
        refuse(f"{source_name(source)} is not part of the bundle in its folder")
    own = bundle.tier(tier - 1)
    same = (mechanism.states, mechanism.signals, mechanism.exact) == (own.states, own.signals, own.exact)
    if not same or (abs(mechanism.q - own.q) > (0 if own.exact else TOLERANCE)).any():
        refuse(f"{source_name(source)} is not what tier {tier} of the bundle sees")


def _states(source: str, column: str | None) -> tuple[list[str], str]:
    """The states of a CSV file or of stdin, and how errors call it."""
    from bap_lp.support.documents import bounded, read_bytes, source_name
    from bap_lp.support.limits import limit
    from bap_lp.support.rational import InputError
    from bap_lp.support.sizes import require_lines

    where = "stdin" if source == "-" else source_name(source)
    if source == "-" and sys.stdin is None:
        raise InputError(where, None, "is closed: give STATE or --from")
    try:
        raw = bounded(sys.stdin.buffer, where, limit("bytes")) if source == "-" else read_bytes(source)
        text = raw.decode("utf-8-sig")
        require_lines(text, ",", where)
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
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
    from bap_lp.support.rational import InputError

    if not rows:
        raise InputError(where, None, "has no states")
    for k, row in enumerate(rows):
        if len(row) <= place or (not header and len(row) != 1):
            rule = "must have the column of the states" if header else "must be one state (or give --column)"
            raise InputError(f"{where}: line {k + 1 + header}", ",".join(row)[:60] or None, rule)
        yield row[place]


def _composed(found: _Released, count: int) -> str:
    """What several signals about the same data leave of Eve's risk."""
    from bap_cli.draws import risk_left
    from bap_lp import composed, evaluate
    from bap_lp.model.composition import without_end
    from bap_lp.support.rational import InputError

    said = f"{count} signals about the same data"
    if found.problem is None:
        words = "Eve's risk may be lower than the mechanism's own (release from a bundle to see by how much)"
        return f"{said} can say more than one: {words}"
    once, whole = evaluate(found.problem, found.mechanism).risks.eve, True
    try:
        several = composed(found.mechanism, count)
    except InputError:
        several, whole = without_end(found.mechanism), False
    return risk_left(said, once, evaluate(found.problem, several).risks.eve, whole)


def _write(out: Path | None, text: str) -> None:
    if out is None:
        sys.stdout.write(text)
        return
    from bap_lp.support.writing import write_files

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
