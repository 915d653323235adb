"""`bap microdata path`, and what `bap path`, `compare`, `plot` and `explain` say about a study or its folder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from bap_cli.app import Json
from bap_cli.outputs import print_json
from bap_cli.progress import Progress
from bap_lp.model.display import clean, counted, equals
from bap_lp.rational import InputError, public

_ROWS = 40  # lines shown before the rest is only counted

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
        lam = self.lam
        if self.eve_gain is not None:
            path = self.study.path(progress=progress, **{k: v for k, v in options.items() if k == "workers"})
            lam = path.within_gain(self.eve_gain).lam
        tell = lambda done, total: progress(f"solving: {done} of {total} record types")  # noqa: E731
        return self.study.solve(lam, progress=tell, **options)


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


def called(source: str, lam: str | None, names: Any = None) -> Any:
    """Errors call things what the user calls them."""
    from bap_cli.records.commands import _called

    return _called(source, lam, names)


def is_study(file: str | Path) -> bool:
    """Whether this is a study file or the folder of a solved study; a file that cannot be read is not."""
    from bap_lp.files.documents import read_document

    place = os.fspath(file)
    if os.path.isdir(place):
        return os.path.exists(os.path.join(place, "study.json"))
    if not os.path.isfile(place) or not place.lower().endswith((".toml", ".json")):
        return False
    try:
        document = read_document(place)
    except InputError:
        return False
    return isinstance(document, dict) and "publish" in document and "data" in document


def opened(file: str | Path, progress: Progress, lam: str | None = None, gain: str | None = None) -> Opened:
    """A study file or a folder; of a folder the lambda is that of its proof, unless another one is asked for."""
    from bap_cli.records.commands import _proved
    from bap_lp.files.documents import source_name
    from bap_sdc.records.files import StudyFile, load_study

    if not os.path.isdir(file):
        return asked(load_study(file), lam, gain)
    solution = _proved(Path(file), progress, True)
    source = source_name(file)
    if lam is None and gain is None:
        return Opened(solution.study, source, solution.lam, None, "of the folder", solution)
    return asked(StudyFile(solution.study, solution.lam, (), source, source), lam, gain)


def path_command(
    file: StudyOrFolder,
    in_model: Annotated[bool, typer.Option("--no-held-out", help="Leave out what held-out records say.")] = False,
    workers: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Number of processes; by default one per core for large tables."),
    ] = None,
    time_limit: Annotated[float | None, typer.Option(metavar="S", help="Give up after S seconds.")] = None,
    as_json: Json = False,
) -> None:
    """Find the best release for every lambda, in the model and on held-out records."""
    from bap_sdc.records.path import study_path

    with Progress("reading") as progress:
        found = opened(file, progress)
        with called(found.source, None):
            path = study_path(
                found.study, workers="all" if workers is None else workers, progress=progress, time_limit=time_limit
            )
            if not in_model:
                path = path.audited(progress=progress)
    if as_json:
        print_json(path.document())
    else:
        show_path(path, found)


def show_path(path: Any, found: Opened) -> None:
    """The lines as a table, and where the lambdas with a name lie."""
    from bap_cli.terminal import console, plain_table, put, say, short

    study, out = path.study, console()
    say(out, clean(study.title or found.source, 200))
    audited = any(line.audit for line in path.lines)
    held = ["R_B held-out", "R_E held-out", "R_E informed"] if audited else []
    start = "lambda from" if path.whole else "lambda"
    table = plain_table("line", start, "R_B", "R_E", "Eve gains", *held, right=range(5 + len(held)))
    for k, line in enumerate(path.lines[:_ROWS], start=1):
        cells = [str(k), short(line.start, 12), f"{float(line.risks.bob):.4f}", f"{float(line.risks.eve):.4f}"]
        cells.append(f"{100 * max(map(float, path.gains(line))):.1f}%")
        if audited:
            one = line.audit
            cells += [""] * 3 if one is None else [f"{v.value:.4f}" for v in (one.bob, one.eve, one.informed)]
        table.add_row(*cells)
    out.print()
    put(out, table)
    if len(path.lines) > _ROWS:
        out.print(f"... and {counted(len(path.lines) - _ROWS, 'more line')} (--json gives all)")
    out.print()
    say(out, "Eve gains: how much better off she is than without a release, as a share of her risk without one;")
    say(out, "of several Eves the one who gains most. Informed: she knows the shares of the held-out records.")
    named = [(found.lam, found.choice)] if found.eve_gain is None else []
    named += [(name, choice_words(name, None, True)) for name in ("calibrated", "as is") if name != found.lam]
    for lam, words in named:
        _where(out, path, lam, words)
    for gain in dict.fromkeys([*([] if found.eve_gain is None else [found.eve_gain]), "2%"]):
        try:
            line = path.within_gain(gain)
        except InputError:
            continue
        share = gain if isinstance(gain, str) else f"{100 * float(gain):.3g}%"
        first = f"Line {1 + path.lines.index(line)} is the first on which no Eve gains more than {share}"
        say(out, f"{first}: --eve-gain {share} chooses it.")
    if path.whole:
        say(
            out,
            "Every line is exact. A --lambda between its start and the next one solves for it, with proof.",
        )
    else:
        say(out, f"Each point is proved. Between two of them the least R_A is known up to {float(path.width):.2g}.")


def _where(out: Any, path: Any, lam: Any, words: str) -> None:
    from bap_cli.terminal import say
    from bap_sdc.records.optimum.risks import record_lam

    try:
        price = public(record_lam(path.study.program, lam))
    except InputError as error:
        say(out, f"lambda = {error.value!r} {error.rule}.")
        return
    line = 1 + path.lines.index(path.line(price))
    say(out, f"{equals('lambda', price)} ({words}) is on line {line} of {len(path.lines)}.")
