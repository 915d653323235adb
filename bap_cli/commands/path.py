"""`bap path`: the optimal mechanism for every lambda at once."""

from __future__ import annotations

import math
from pathlib import Path as FilePath
from typing import Any

from bap_cli import inputs, outputs
from bap_cli.app import Condition, File, Floats, Json
from bap_cli.progress import Progress
from bap_cli.show import heading
from bap_cli.terminal import console, say, say_lines, show_rows
from bap_lp.conditions.given import Conditions
from bap_lp.files.mechanisms import mechanism_document
from bap_lp.files.problems import ProblemFile
from bap_lp.model.calibration import lam_of
from bap_lp.model.problem import Problem
from bap_lp.questions.path.frontier import Corner, corner
from bap_lp.questions.path.piece import Piece
from bap_lp.questions.path.pieces import Path, lambda_path
from bap_lp.support.display import equals
from bap_lp.support.rational import InputError, public, text

_ROWS = 40  # pieces shown before the rest is only counted


def path(file: File, use_floats: Floats = False, as_json: Json = False, condition: Condition = None) -> None:
    """Find an optimal mechanism for every lambda.

    At lambda = 0 only utility counts; the larger lambda is, the more privacy counts. Each piece of the path has one
    optimal mechanism, a vertex of the risk-utility frontier, under the conditions of the file and of --condition, which
    replaces the file's of the same name.
    FILE may also be a study of records, or its folder.
    """
    given = inputs.asked_conditions({}, condition or ())
    if inputs.is_study(file, given):
        from bap_cli.records.explore import path_command

        path_command(FilePath(file), as_json=as_json)
        return
    loaded = inputs.asking(inputs.load(file), given)
    with inputs.named(loaded, asked=given), Progress("every lambda") as progress:
        found = lambda_path(loaded.problem, False if use_floats else None, progress, loaded.conditions)
    if as_json:
        outputs.print_json(path_document(found.problem, found, loaded.conditions))
    else:
        show_path(loaded, found)


def path_document(problem: Problem, path: Path, conditions: Conditions | None = None) -> dict[str, Any]:
    """What `bap path --json` prints; "to" of the last piece is null, and a float path states its tolerance."""
    at = corner(path.problem, path=path)
    stated = {} if conditions is None else {"conditions": conditions.written()}
    return stated | {
        "exact": path.exact,
        "pieces": [_piece(piece) for piece in path.pieces],
        "calibrated": None if at.lam is None else text(at.lam),
        "corner": {
            "risks": {"bob": text(at.risks.bob), "eve": text(at.risks.eve)},
            "value": None if at.value is None else text(at.value),
            "excess": text(at.excess),
            "attained": at.attained,
        },
        "tolerance": path.tolerance,
        "method": path.method,
        "zero_probability_states": list(problem.null_states),
    }


def _piece(piece: Piece) -> dict[str, Any]:
    return {
        "from": text(piece.start),
        "to": None if piece.end == math.inf else text(piece.end),
        "risks": {"bob": text(piece.risks.bob), "eve": text(piece.risks.eve)},
        "value": [text(v) for v in piece.line],
        "mechanism": mechanism_document(piece.mechanism),
    }


def show_path(loaded: ProblemFile, path: Path) -> None:
    """What `bap path` prints."""
    out = console()
    heading(out, path.problem)
    if loaded.conditions is not None:
        say(out, f"Conditions: {loaded.conditions.words()}")
    out.print()
    show_rows(out, path.rows(), _ROWS)
    say(out, "On a piece the least R_A is R_B - lambda R_E.")
    out.print()
    try:
        lam = public(lam_of(path.problem, loaded.lam))
    except InputError as error:
        say(out, f"The calibrated lambda {error.rule}.")
    else:
        say(out, f"{equals('lambda', lam)}, {inputs.choice(loaded, None)}")
        where = f"is on piece {1 + path.pieces.index(path.piece(lam))} of {len(path.pieces)}"
        say(out, f"  {where}, with {equals('R_A', path.value(lam))}.")
    _corner(out, corner(path.problem, path=path), loaded.conditions is not None, path.problem.misaligned)
    out.print()
    say_lines(out, path.summary().splitlines()[2:])
    say(out, "The mechanism of a piece: --json, or `bap solve` with a --lambda on it.")


def _corner(out: Any, at: Corner, conditioned: bool, misaligned: bool) -> None:
    where = f"{equals('R_B', at.risks.bob)} of the full release, {equals('R_E', at.risks.eve)} of the null one"
    if misaligned:
        where = f"the least {equals('R_B', at.risks.bob)} and the largest {equals('R_E', at.risks.eve)}"
    among = " that meets the conditions" if conditioned else ""
    what = f"{'a' if at.attained else 'no'} mechanism{among} attains both"
    say(out, f"The corner, {where}: {what}.")
