"""The ledger of a folder: what was drawn from its mechanism, so that nothing is drawn twice by accident.

`ledger.jsonl` has a line per release: `time`, `mechanism` and `input` (SHA-256 of the mechanism and of what was asked
for), `seed`, `draws` (how many of each record or state), `output` (SHA-256) and `count` (records or signals in it), and
`rows` of a file whose rows are drawn one by one (eight digits each of the SHA-256 of the seed and the row).
Draws are a function of their seed, 256 secret bits, so the same input gives the same release again.

The line is on the disk before anybody can see the release: a run that is killed in between is repeated by the next
one. Runs at the same time wait for each other. The file is as confidential as the data, because the seed tells which
draw a record got. So it must belong to the user and be closed to others, or it is refused. It is also refused if its
last line has no end: what is cut off may be a draw that was published.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

from bap_lp.support.documents import bounded, source_name
from bap_lp.support.limits import limit
from bap_lp.support.rational import InputError

LEDGER = "ledger.jsonl"
_BLOCK = 1 << 12
_SEED = 32  # bytes
_DIGITS = 8  # of a row


class SecretSource(Random):
    """Integers that follow from a secret seed: the bytes of SHAKE-256 of the seed and 0, 1, 2, ...

    Whoever does not have the seed cannot tell them from chance, unlike those of `random.Random`.

    >>> SecretSource("00").randrange(10**6) == SecretSource("00").randrange(10**6)
    True
    """

    def __init__(self, seed: str) -> None:
        self._key, self._used, self._rest = bytes.fromhex(seed), 0, b""
        super().__init__()

    def seed(self, *_: Any, **__: Any) -> None:
        """The seed is given once."""

    def getrandbits(self, k: int, /) -> int:
        size = (k + 7) // 8
        while len(self._rest) < size:
            self._rest += hashlib.shake_256(self._key + self._used.to_bytes(8, "big")).digest(_BLOCK)
            self._used += 1
        taken, self._rest = self._rest[:size], self._rest[size:]
        return int.from_bytes(taken, "big") >> (8 * size - k)

    def random(self) -> float:
        return self.getrandbits(53) * 2.0**-53


@dataclass(frozen=True)
class Entry:
    """A line of the ledger; see the module."""

    time: str
    mechanism: str
    input: str
    seed: str
    draws: int
    output: str
    count: int
    rows: str = ""
    although: str = ""

    def differs(self, rows: Sequence[str]) -> int:
        """The first row, counted from 0, that the file of this entry did not have there."""
        size = min(len(self.rows) // _DIGITS, len(rows))
        places = ((k, self.rows[k * _DIGITS : (k + 1) * _DIGITS]) for k in range(size))
        return next((k for k, mark in places if mark != _mark(self.seed, rows[k])), size)


@dataclass(frozen=True)
class Draw:
    """Where a release comes from: its seed, and when it was made, if it was made before."""

    seed: str
    made: str | None = None

    @property
    def source(self) -> SecretSource:
        return SecretSource(self.seed)


class Ledger:
    """The ledger of a folder, whose lock is held: `open_ledger` makes it."""

    def __init__(self, file: Any, where: str) -> None:
        self._file, self._where = file, where
        file.seek(0)
        self.entries = entries_of(file, where)

    def draw(self, mechanism: str, asked: str, count: int = 1, again: bool = False) -> Draw:
        """The latest draw of this input, or a new one if there is none or `again`; more of it go on where it ended.

        Raises:
            InputError: the same input was drawn from another mechanism, and a new draw was not asked for.
        """
        mine = [e for e in self.entries if (e.mechanism, e.input) == (mechanism, asked)]
        if again:
            return Draw(secrets.token_hex(_SEED))
        if mine:
            seed = mine[-1].seed
            made = [e.time for e in mine if e.seed == seed and e.draws >= count]
            return Draw(seed, made[0] if made else None)
        if other := [e for e in self.entries if e.input == asked]:
            rule = f"was drawn on {other[-1].time} from another mechanism, and two releases tell more than one"
            raise InputError(self._where, None, f"says that this input {rule}: --again draws anew")
        return Draw(secrets.token_hex(_SEED))

    def drawn(self, mechanism: str, asked: str | None = None) -> int:
        """How many draws were made from this mechanism, of this input or of all."""
        return _total(e for e in self.entries if e.mechanism == mechanism and asked in (None, e.input))

    def elsewhere(self, mechanism: str) -> int:
        """How many draws were made from other mechanisms."""
        return _total(e for e in self.entries if e.mechanism != mechanism)

    def note(
        self, mechanism: str, asked: str, draw: Draw, output: bytes, count: int, draws: int = 1, *,
        rows: Sequence[str] = (), although: str = "",
    ) -> None:  # fmt: skip
        """Write that this draw leaves as this output; although: why, if its light is red."""
        now, digest = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), hashlib.sha256(output).hexdigest()
        marks = "".join(_mark(draw.seed, row) for row in rows)
        entry = Entry(now, mechanism, asked, draw.seed, draws, digest, count, marks, although)
        self._file.seek(0, os.SEEK_END)
        self._file.write(json.dumps(asdict(entry)).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self.entries.append(entry)


def entries_of(file: Any, where: str) -> list[Entry]:
    """The lines of a ledger.

    Raises:
        InputError: a line is something else, or has no end.
    """
    raw = bounded(file, where, limit("bytes"))
    lines = raw.splitlines()
    if lines and not raw.endswith(b"\n"):
        cut = "has no end, and may be a draw: restore it"
        rule = f"{cut}. If a run was killed while it wrote, nothing left with it: remove the line"
        raise InputError(f"{where}: line {len(lines)}", None, rule)
    return [_entry(line, f"{where}: line {k + 1}") for k, line in enumerate(lines)]


def _entry(line: bytes, where: str) -> Entry:
    kinds = {"draws": int, "count": int}
    try:
        document = json.loads(line)
        entry = Entry(**document)
        if len(bytes.fromhex(entry.seed)) != _SEED:
            raise ValueError("a seed has another size")
        if any(type(getattr(entry, f.name)) is not kinds.get(f.name, str) for f in fields(Entry)):
            raise ValueError("a field has another type")
    except (ValueError, TypeError, RecursionError):
        raise InputError(where, None, "is not a line of a ledger") from None
    return entry


def _mark(seed: str, row: str) -> str:
    return hashlib.sha256(bytes.fromhex(seed) + row.encode()).hexdigest()[:_DIGITS]


def _total(entries: Iterable[Entry]) -> int:
    """The draws of all seeds: a seed that gave more of them later gave the first ones again."""
    most: dict[str, int] = {}
    for entry in entries:
        most[entry.seed] = max(entry.draws, most.get(entry.seed, 0))
    return sum(most.values())


@contextmanager
def open_ledger(folder: str | os.PathLike[str]) -> Iterator[Ledger]:
    """The ledger of a folder, for this process alone until the block ends; it is made if it is not there.

    Raises:
        InputError: it cannot be written, is open to others, or is not a ledger.
    """
    import fcntl

    path = Path(folder) / LEDGER
    where = source_name(path)
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        rule = f"cannot be written ({error.strerror}): nothing is drawn without a note of it"
        raise InputError(where, None, rule) from None
    with os.fdopen(handle, "r+b") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
            raise InputError(where, None, "must be a file of yours that is closed to others (chmod 600)")
        fcntl.flock(file, fcntl.LOCK_EX)
        yield Ledger(file, where)
