"""Where a command's results go: one JSON document on stdout, or a folder that gets all of its files or none."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from bap_lp.files.certificates import certificate_document
from bap_lp.files.conflicts import conflict_document
from bap_lp.files.documents import dumps, write_files
from bap_lp.files.mechanisms import mechanism_document
from bap_lp.programs.solution import Solution
from bap_lp.proof.infeasible import ConflictError


def print_json(document: Any) -> None:
    sys.stdout.write(dumps(document))


def check_folder(out: Path | None) -> None:
    if out is not None and out.exists() and not out.is_dir():
        raise ValueError(f"--out = {str(out)!r} must be a directory, and is a file")


def write_folder(out: Path, solution: Solution) -> str:
    texts = {
        out / "mechanism.json": dumps(mechanism_document(solution.mechanism)),
        out / "certificate.json": dumps(certificate_document(solution.certificate)),
    }
    return _written(out, texts)


@contextmanager
def conflict_in(out: Path | None) -> Iterator[None]:
    """If the conditions cannot be met, the proof goes to conflict.json in the folder."""
    try:
        yield
    except ConflictError as error:
        if out is not None and error.proof is not None:
            _written(out, {out / "conflict.json": dumps(conflict_document(error))})
        raise


def _written(out: Path, texts: dict[Path, str]) -> str:
    created = not out.exists()
    try:
        out.mkdir(parents=True, exist_ok=True)
        write_files(texts)
    except BaseException:
        if created:
            with suppress(OSError):
                out.rmdir()
        raise
    return str(out)
