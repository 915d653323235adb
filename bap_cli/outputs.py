"""Where a command's results go: one JSON document on stdout, or a folder that gets all of its files or none."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bap_cli.catalogue import locate
from bap_lp.files.bundles import MANIFEST, save_bundle
from bap_lp.files.certificates import conflict_document
from bap_lp.files.problems import ProblemFile
from bap_lp.model.calibration import lam_of
from bap_lp.proof.certificate import ConflictError
from bap_lp.questions.optimum.solution import Solution
from bap_lp.support.documents import dumps, read_document
from bap_lp.support.rational import InputError, public
from bap_lp.support.writing import folder_place, write_bundle

_BEYOND_ASCII = re.compile(r"[^\x20-\x7e\n]")
_FRACTION = re.compile(r"[0-9]+/[0-9]+")


def print_json(document: Any) -> None:
    """On a terminal labels must not act: what is not printable is escaped, which JSON reads as the same text."""
    sys.stdout.write(_BEYOND_ASCII.sub(_escaped, dumps(document)))


def _escaped(found: re.Match[str]) -> str:
    return found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1]


def made_on() -> str:
    """Today's date (UTC), or that of SOURCE_DATE_EPOCH."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        now = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
    except (ValueError, OverflowError, OSError):
        rule = "must be a number of seconds since 1970, up to the year 9999"
        raise InputError("SOURCE_DATE_EPOCH", epoch, rule) from None
    return now.strftime("%Y-%m-%d")


def check_folder(out: Path | None, form: str = "") -> None:
    """Refuse a place where no bundle can be written before anything is computed.

    form: how the form of the folders begins that may be written again; a folder with other files is somebody else's.
    """
    if out is not None:
        try:
            place = folder_place(out)
        except InputError as error:
            raise InputError("--out", str(out), error.rule) from None
        if form and place.is_dir() and any(place.iterdir()) and not _form_of(place).startswith(form):
            raise InputError("--out", str(out), "has files, and is no folder of an earlier solve: give one of its own")


def _form_of(folder: Path) -> str:
    try:
        return str(read_document(folder / MANIFEST)["format"])
    except (InputError, LookupError, TypeError):
        return ""


@contextmanager
def conflict_in(out: Path | None) -> Iterator[None]:
    """If the conditions cannot be met, the proof goes to conflict.json in the folder."""
    try:
        yield
    except ConflictError as error:
        if out is not None and error.proof is not None:
            write_bundle(out, {"conflict.json": dumps(conflict_document(error))})
        raise


def write_folder(out: Path, solution: Solution, loaded: ProblemFile, lam: Any, file: str) -> str:
    """Write the bundle of a solution of this problem at this lam; the source is the file that was named."""
    problem, price = loaded.problem, lam_of(loaded.problem, lam)
    save_bundle(out, solution, problem, public(price), locate(file), command_line(f"bap solve {file}"))
    return str(out)


def command_line(otherwise: str) -> str:
    """The command that was given, for readers of a manifest; `otherwise` if Python called it.

    Readers may be strangers: a file is called by its name, without the folders of the computer that it lies on.
    """
    given = sys.argv[1:] if Path(sys.argv[0]).stem in ("bap", "main") else shlex.split(otherwise)[1:]
    return shlex.join(["bap", *map(_without_folders, given)])


def _without_folders(argument: str) -> str:
    option, equals, value = argument.partition("=") if argument.startswith("--") else ("", "", argument)
    return option + equals + (os.path.basename(value.rstrip("/")) if _is_path(value) else value)


def _is_path(value: str) -> bool:
    """Whether this names a place in a folder, as opposed to a fraction such as 1/3."""
    folder = os.path.dirname(value.rstrip("/"))
    return value.startswith(("~", os.sep)) or (
        folder != "" and not _FRACTION.fullmatch(value) and os.path.isdir(folder)
    )
