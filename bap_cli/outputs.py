"""Where a command's results go: one JSON document on stdout, or a folder that gets all of its files or none."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from bap_lp.files.certificates import certificate_document
from bap_lp.files.documents import dumps
from bap_lp.files.mechanisms import mechanism_document
from bap_lp.files.writing import write_bundle
from bap_lp.programs.solution import Solution


def print_json(document: Any) -> None:
    sys.stdout.write(dumps(document))


def check_folder(out: Path | None) -> None:
    if out is not None and out.exists() and not out.is_dir():
        raise ValueError(f"--out = {str(out)!r} must be a directory, and is a file")


def write_folder(out: Path, solution: Solution) -> str:
    contents = {
        "mechanism.json": dumps(mechanism_document(solution.mechanism)),
        "certificate.json": dumps(certificate_document(solution.certificate)),
    }
    write_bundle(out, contents)
    return str(out)
