"""A study from its file or from its folder, and the lambda that was asked for: a number, a name, or Eve's gain."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from bap_cli.progress import Progress
from bap_lp.support.rational import InputError, public

StudyOrFolder = Annotated[
    Path, typer.Argument(metavar="STUDY", help="Study file, or the folder that `bap microdata solve --out` wrote.")
]
Price = Annotated[
    str | None,
    typer.Option("--lambda", metavar="L", help='"calibrated", "as is", or a number; the file\'s by default.'),
]
Gain = Annotated[
    str | None,
    typer.Option("--eve-gain", metavar="G", help="Choose lambda so that no Eve gains more than this, such as 2%."),
]
Workers = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Number of processes; by default one per core for large tables."),
]


@dataclass(frozen=True)
class Opened:
    """A study from its file or folder, the lambda asked for, how it was chosen, and the solution if there is one."""

    study: Any
    source: str
    lam: Any
    eve_gain: Any
    choice: str
    solution: Any = None

    def solved(self, progress: Progress, **options: Any) -> Any:
        """The solution at the lambda that was asked for."""
        if self.solution is not None:
            return self.solution
        from bap_sdc.records.path import lam_within_gain

        tell = lambda done, total: progress(f"solving: {done} of {total} record types")  # noqa: E731
        lam = self.lam
        if self.eve_gain is not None:
            lam = lam_within_gain(self.study, self.eve_gain, progress=progress, workers=options.get("workers"))
        return replace(self.study.solve(lam, progress=tell, **options), eve_gain=self.eve_gain)


def asked(loaded: Any, lam: str | None, gain: str | None) -> Opened:
    """A study file with lambda or Eve's gain from the command line, or its own."""
    from bap_sdc.records.path import gain_of

    if lam is not None and gain is not None:
        raise InputError("--eve-gain", gain, "chooses lambda: leave out one of the two")
    if gain is not None:
        with called(loaded.source, lam):
            share = public(gain_of(gain))
    else:
        share = loaded.eve_gain if lam is None else None
    price = loaded.lam if lam is None else lam
    return Opened(loaded.study, loaded.source, price, share, choice_words(price, share, lam is None))


def choice_words(lam: Any, gain: Any, of_file: bool) -> str:
    """How lambda was chosen."""
    if gain is not None:
        return f"chosen so that no Eve is more than {100 * float(gain):.3g}% better off than without a release"
    named = {
        "calibrated": "calibrated: no release is as good as the whole record, secrets included",
        "as is": '"as is": no release is as good as the published columns unchanged',
    }
    return named.get(str(lam).strip().lower(), "from the file" if of_file else "from --lambda")


@contextmanager
def called(source: str, lam: str | None, names: Mapping[str, str] | None = None) -> Iterator[None]:
    """Errors call things what the user calls them."""
    try:
        yield
    except InputError as error:
        if error.field == "lam":
            field = f"{source}: alice.lambda" if lam is None else "--lambda"
        elif error.field in ("eve_gain", "time_limit"):
            field = f"--{error.field.replace('_', '-')}"
        elif error.field.startswith(("conditions", "problem", "smoothing")):
            field = f"{source}: {re.sub(r'^conditions[.](?=(cap|floor|dp|min_cell))', '', error.field)}"
        else:
            field = (names or {}).get(error.field, error.field)
        raise InputError(field, error.value, error.rule) from None


def audited(work: Callable[[], Any]) -> Any:
    """The answer of an audit, whose classifiers neither look at the clock nor hear an interrupt."""
    from bap_lp.support.clock import OutOfTime, watched

    try:
        return watched(work)
    except OutOfTime:
        raise OutOfTime("the time limit was reached before the end of the audit") from None


def opened(file: str | Path, progress: Progress, lam: str | None = None, gain: str | None = None) -> Opened:
    """A study file or a folder; of a folder the lambda is that of its proof, unless another one is asked for."""
    from bap_cli.records.commands import proved_solution
    from bap_lp.support.documents import source_name
    from bap_sdc.records.files import StudyFile, load_study

    if not os.path.isdir(file):
        return asked(load_study(file), lam, gain)
    solution = proved_solution(Path(file), progress, True)
    source = source_name(file)
    if lam is None and gain is None:
        return Opened(solution.study, source, solution.lam, None, "of the folder", solution)
    return asked(StudyFile(solution.study, solution.lam, (), source, source), lam, gain)
