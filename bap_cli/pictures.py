"""What `bap report` and `bap plot` write: one file each, complete or not at all."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bap_cli import inputs
from bap_cli.catalogue import locate
from bap_cli.outputs import made_on
from bap_cli.progress import Progress
from bap_cli.report.html import MADE
from bap_lp.files.bundles import Bundle
from bap_lp.files.problems import ProblemFile
from bap_lp.questions.optimum.solving import solve
from bap_lp.questions.path.pieces import lambda_path
from bap_lp.support.rational import InputError
from bap_lp.support.writing import file_place, write_files

if TYPE_CHECKING:
    from bap_lp.releases import Comparison
    from gaussian import Eve, GaussianModel

_DPI = 160
FORMATS = (".png", ".svg", ".pdf")


@contextmanager
def drawing() -> Iterator[None]:
    """Pictures that go to files and are the same everywhere, without notes about a folder for matplotlib's caches."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    import matplotlib

    matplotlib.use("agg")
    with matplotlib.rc_context({"svg.hashsalt": "bap", "text.usetex": False}):
        yield


def check_file(
    out: Path, suffixes: tuple[str, ...] = (), option: str = "--out", reads: Iterable[Path] = (), own: bool = False
) -> None:
    """Refuse a place that cannot be written to, or that is read, before all computing.

    own: a page, or with suffixes a picture, replaces only what was made in this way.
    """
    made_on()  # a page has its date; matplotlib reads it too, although pictures have none
    if suffixes and out.suffix.lower() not in suffixes:
        raise ValueError(f"{option} = {str(out)!r} must end in {', '.join(suffixes[:-1])} or {suffixes[-1]}")
    try:
        file_place(out)
    except InputError as error:
        raise InputError(option, str(out), error.rule) from None
    for read in filter(Path.exists, reads if out.exists() else ()):
        if out.samefile(read):
            raise InputError(option, str(out), "must not be a file that is read")
    there = out.read_bytes() if (own or suffixes) and out.exists() else b""
    if there and MADE.encode() not in there:
        raise InputError(option, str(out), "is there already, and was not made with bap: give another name")


def write_report(loaded: ProblemFile, lam: str | None, file: str, out: Path) -> None:
    from bap_cli.report.html import report_page
    from bap_cli.report.page_data import report_document
    from bap_cli.report.sign import origin

    check_file(out, reads=[locate(file)], own=True)
    inputs.number(loaded, lam)  # refuses a bad lambda under the name the user gave it
    with inputs.named(loaded, lam), Progress("every lambda") as progress:
        wanted, words = inputs.wanted(loaded, lam), inputs.choice(loaded, lam)
        document = report_document(loaded.problem, wanted, words, shlex.quote(file), loaded.conditions, progress)
    document["made"] = origin(locate(file))
    write_files({out: report_page(document)})


def write_bundle_report(bundle: Bundle, folder: str, out: Path) -> None:
    """The page of a bundle that was verified: its own mechanism and proof, nothing is solved for it again."""
    from bap_cli.report.html import report_page
    from bap_cli.report.page_data import report_document
    from bap_cli.report.sign import origin
    from bap_lp.model.evaluation import risks
    from bap_lp.proof.certificate import Certificate
    from bap_lp.questions.optimum.solution import Solution

    assert isinstance(bundle.certificate, Certificate)
    certificate, mechanism = bundle.certificate, bundle.mechanism
    problem = bundle.problem if mechanism.exact else bundle.problem.as_float()
    own, method = risks(problem, mechanism), bundle.manifest["method"]
    value, gap = own.alice(certificate.lam), certificate.gap
    best = Solution(problem, certificate.lam, value, mechanism, own, value - gap, gap, method, certificate)
    with Progress("every lambda") as progress:
        document = report_document(
            problem, certificate.lam, "of the bundle", shlex.quote(folder), bundle.conditions, progress, best
        )
    document["bundle"] = {key: bundle.manifest[key] for key in ("made", "how", "version", "source", "files")}
    document["bundle"]["sha256"] = bundle.digest
    document["made"] = origin(None)
    write_files({out: report_page(document)})


def write_plot(loaded: ProblemFile, lam: str | None, kind: str, out: Path) -> None:
    check_file(out, FORMATS)
    price = inputs.number(loaded, lam)
    problem, conditions, priors = loaded.problem, loaded.conditions, loaded.priors
    with inputs.named(loaded, lam), Progress("drawing") as progress, drawing():
        from bap_lp import plots

        if kind == "map":
            ax = plots.risk_utility_map(problem, price, conditions=conditions)
        elif kind == "path":
            ax = plots.value_of_lambda(lambda_path(problem, None, progress, conditions), price)
        else:
            best = solve(problem, price, progress=progress, conditions=conditions, priors=priors)
            if kind == "channel":
                ax = plots.channel_heatmap(best.mechanism, best.problem.prior)
            else:
                ax = plots.signal_cards(best.problem, best.mechanism)
        save(ax.figure, out)


def write_counts_plot(loaded: ProblemFile, lam: str | None, comparison: Comparison, out: Path) -> None:
    """The map of a table of counts, with the releases of offices on it."""
    with inputs.named(loaded, lam), Progress("drawing") as progress, drawing():
        from bap_lp import plots

        path = lambda_path(loaded.problem, None if comparison.optimum.exact else False, progress)
        ax = plots.risk_utility_map(
            path.problem, comparison.lam, path=path, comparison=comparison, families=[], conditions=loaded.conditions
        )
        save(ax.figure, out)


def write_gaussian_plot(model: GaussianModel, eve: Eve, kind: str, out: Path) -> None:
    """A figure of the Gaussian model, with the proved optimum over all mechanisms."""
    check_file(out, FORMATS)
    with Progress("drawing"), drawing():
        from bap_lp import Risks
        from discretise import bracket
        from gaussian import plots
        from gaussian.optimum.frontier import attainable_frontier
        from gaussian.optimum.optimum_plots import rule_picture

        found = bracket(model, eve)
        optimum = Risks(found.bob, found.eve)
        if kind == "rule":
            ax = rule_picture(found)
        elif kind == "map":
            ax = plots.risk_utility_map(
                model, eve, optimum=optimum, frontier=attainable_frontier(model, eve, 24).points
            )
        elif kind == "noise":
            ax = plots.risk_against_noise(model, eve, optimum=optimum)
        else:
            ax = plots.risk_against_threshold(model, eve, optimum=optimum)
        save(ax.figure, out)


def save(figure: Any, out: Path) -> None:
    """Write a figure, whole or not at all, and close it."""
    from matplotlib import pyplot

    # the date is left out, so that the same picture is the same file
    own = {".svg": {"Date": None, "Creator": MADE}, ".pdf": {"CreationDate": None, "Creator": MADE}}
    metadata = own.get(out.suffix.lower(), {"Software": MADE})
    picture = BytesIO()
    try:
        figure.savefig(picture, dpi=_DPI, metadata=metadata, format=out.suffix.lower()[1:])
        write_files({out: picture.getvalue()})
    finally:
        pyplot.close(figure)
