"""`bap counts`: the optimum for a table of counts next to what offices do, in one table and one picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bap_cli import inputs, outputs, pictures, show
from bap_cli import json_documents as documents
from bap_cli.app import Floats, Folder, Json, Lambda, TimeLimit
from bap_cli.progress import Progress, limited
from bap_cli.terminal import console, say
from bap_lp import evaluate, solve
from bap_lp.model.evaluated import Evaluation
from bap_lp.questions.optimum.solution import Solution
from bap_lp.support.display import clean
from bap_sdc.count_tables.comparisons import TableComparison, compare_tables
from bap_sdc.count_tables.files import CountsFile
from bap_sdc.count_tables.problems import TableProblem


def counts(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file with [table], or a name of `bap examples`.")],
    lam: Lambda = None,
    use_floats: Floats = False,
    as_json: Json = False,
    out: Folder = None,
    time_limit: TimeLimit = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="PICTURE", help="Draw the map to this .png, .svg or .pdf file.")
    ] = None,
) -> None:
    """Protect a table of counts: the optimum next to rounding, suppression, cell keys and noise.

    The file says how many people are in which cells a priori, which totals are public, and what Bob and Eve ask.
    """
    outputs.check_folder(out)
    if plot is not None:
        pictures.check_file(plot, pictures.FORMATS, "--plot")
    with limited(time_limit):
        _protect(file, lam, use_floats, as_json, out, plot)


def _protect(file: str, lam: str | None, use_floats: bool, as_json: bool, out: Path | None, plot: Path | None) -> None:
    with Progress("reading tables"):
        loaded = inputs.load(file)
    if not isinstance(loaded, CountsFile) or not isinstance(loaded.problem, TableProblem):
        rule = "table is missing: `bap counts` reads files about tables of counts, and `bap solve` reads this one"
        raise ValueError(f"{loaded.source}: {rule}")
    with inputs.named(loaded, lam), Progress() as progress:
        price = inputs.wanted(loaded, lam)
        exact = False if use_floats else None
        solution = solve(loaded.problem, price, exact, progress=progress, conditions=loaded.conditions)
        comparison = compare_tables(
            loaded.problem,
            solution.lam,
            solution,
            protections=loaded.protections,
            conditions=loaded.conditions,
            progress=progress,
        )
    if plot is not None:
        pictures.write_counts_plot(loaded, lam, comparison, plot)
    written = outputs.write_folder(out, solution, loaded, price, file) if out is not None else ""
    if as_json:
        evaluation = evaluate(loaded.problem, solution.mechanism)
        outputs.print_json(counts_document(loaded, solution, evaluation, comparison))
        return
    paper = console()
    rounded, chosen = use_floats and loaded.problem.exact, inputs.choice(loaded, lam)
    show.show_solution(solution, comparison, solution.summary(), rounded, chosen, written)
    say(paper, "A state is a table of " + " | ".join(clean(name) for name in loaded.problem.cells))
    for note in (*comparison.notes, *(f"Left out: {name}, because {reason}." for name, reason in comparison.omitted)):
        say(paper, clean(note, 500))
    inexact = [row.name for row in comparison.releases if isinstance(row.alice, float)]
    if solution.exact and inexact:
        say(paper, f"In floats, with errors below 1e-9: {', '.join(inexact)}.")
    if not loaded.problem.exact:
        bob, eve = loaded.problem.error
        say(paper, f"The losses are rounded, which moves R_B by at most {bob:.1g} and R_E by at most {eve:.1g}.")
    if plot is not None:
        say(paper, f"Wrote {clean(str(plot), 500)}.")


def counts_document(
    loaded: CountsFile, solution: Solution, evaluation: Evaluation, comparison: TableComparison
) -> dict[str, Any]:
    """What `bap counts --json` prints: the document of `bap solve`, the tables, and the releases of `bap compare`."""
    problem: Any = loaded.problem
    compared = documents.comparison_document(comparison)
    for entry, row in zip(compared["releases"], comparison.releases, strict=True):
        entry["errors"] = {"bob": row.risks.bob_error, "eve": row.risks.eve_error}
    return documents.solution_document(solution, evaluation) | {
        "n": problem.model.population.n,
        "cells": list(problem.cells),
        "tables": problem.tables,
        "states": len(problem.p),
        "loss_errors": dict(zip(("bob", "eve"), problem.error, strict=True)),
        "optimum": compared["optimum"],
        "releases": compared["releases"],
        "omitted": compared["omitted"],
        "notes": list(comparison.notes),
    }
