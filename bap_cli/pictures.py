"""What `bap report` and `bap plot` write: one file each, complete or not at all."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bap_cli import inputs
from bap_cli.progress import Progress
from bap_lp.files.documents import write_files
from bap_lp.files.problems import ProblemFile
from bap_lp.path.pieces import lambda_path
from bap_lp.programs.solving import solve

if TYPE_CHECKING:
    from gaussian import Eve, GaussianModel

_DPI = 160
_FORMATS = (".png", ".svg", ".pdf")


def check_file(out: Path, suffixes: tuple[str, ...] = (), option: str = "--out") -> None:
    """Refuse a place that cannot be written to before anything is computed."""
    if suffixes and out.suffix.lower() not in suffixes:
        raise ValueError(f"{option} = {str(out)!r} must end in {', '.join(suffixes[:-1])} or {suffixes[-1]}")
    if out.is_dir():
        raise ValueError(f"{option} = {str(out)!r} must be a file, and is a directory")
    if not out.parent.is_dir():
        raise ValueError(f"{option} = {str(out)!r} must be in a directory that exists")


def write_report(loaded: ProblemFile, lam: str | None, file: str, out: Path) -> None:
    from bap_cli.report import report_page
    from bap_cli.report_data import report_document

    check_file(out)
    inputs.number(loaded, lam)  # refuses a bad lambda under the name the user gave it
    with inputs.named(loaded, lam), Progress("every lambda") as progress:
        wanted, words = inputs.wanted(loaded, lam), inputs.choice(loaded, lam)
        document = report_document(loaded.problem, wanted, words, shlex.quote(file), loaded.conditions, progress)
    write_files({out: report_page(document)})


def write_plot(loaded: ProblemFile, lam: str | None, kind: str, out: Path) -> None:
    check_file(out, _FORMATS)
    price = inputs.number(loaded, lam)
    import matplotlib

    matplotlib.use("agg")
    from bap_lp import plots

    problem, conditions = loaded.problem, loaded.conditions
    style = matplotlib.rc_context({"svg.hashsalt": "bap", "text.usetex": False})
    with inputs.named(loaded, lam), Progress("drawing") as progress, style:
        if kind == "map":
            ax = plots.risk_utility_map(problem, price, conditions=conditions)
        elif kind == "path":
            ax = plots.value_of_lambda(lambda_path(problem, progress=progress, conditions=conditions), price)
        else:
            best = solve(problem, price, progress=progress, conditions=conditions)
            if kind == "channel":
                ax = plots.channel_heatmap(best.mechanism, best.problem.prior)
            else:
                ax = plots.signal_cards(best.problem, best.mechanism)
        save(ax.figure, out)


def write_gaussian_plot(model: GaussianModel, eve: Eve, kind: str, out: Path) -> None:
    """A figure of the Gaussian model, with the proved optimum over all mechanisms."""
    check_file(out, _FORMATS)
    import matplotlib

    matplotlib.use("agg")
    from bap_lp import Risks
    from discretise import bracket
    from gaussian import plots
    from gaussian.optimum.plots import rule_picture

    with Progress("drawing"), matplotlib.rc_context({"svg.hashsalt": "bap", "text.usetex": False}):
        found = bracket(model, eve)
        optimum = Risks(found.bob, found.eve)
        if kind == "rule":
            ax = rule_picture(found)
        elif kind == "map":
            ax = plots.risk_utility_map(model, eve, optimum=optimum)
        elif kind == "noise":
            ax = plots.risk_against_noise(model, eve, optimum=optimum)
        else:
            ax = plots.risk_against_threshold(model, eve, optimum=optimum)
        save(ax.figure, out)


def save(figure: Any, out: Path) -> None:
    """Write a figure, whole or not at all, and close it."""
    from matplotlib import pyplot

    # the date is left out, so that the same picture is the same file
    metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(out.suffix.lower())
    staged = out.with_name(f".{out.stem}.{os.getpid()}.tmp{out.suffix}")
    try:
        figure.savefig(staged, dpi=_DPI, metadata=metadata)
        os.replace(staged, out)
    finally:
        staged.unlink(missing_ok=True)
        pyplot.close(figure)
