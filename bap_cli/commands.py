"""The commands of `bap`. Each reads files, calls the library and prints; the library is imported when one runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from bap_cli.catalogue import catalogue, example, locate, titles
from bap_cli.lazy import mount

if TYPE_CHECKING:
    from bap_lp.files import ProblemFile
    from bap_lp.risks import Number

app = typer.Typer(
    name="bap",
    help="Decide what to release about data: exact optimal mechanisms, each with its proof.",
    add_completion=False,
    rich_markup_mode=None,
)

Problem = Annotated[str, typer.Argument(metavar="FILE", help="Problem file (TOML, JSON) or a name of `bap examples`.")]
MechanismFile = Annotated[str, typer.Argument(metavar="MECHANISM", help="Mechanism file (JSON or TOML).")]
Lambda = Annotated[
    str | None,
    typer.Option("--lambda", metavar="L", help='"calibrated", or a number such as 1/3; the file\'s own by default.'),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]


@app.callback(invoke_without_command=True)
def _options(show_version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if show_version:
        print(f"bap {version('bap-lp')}")
        raise typer.Exit


@app.command()
def solve(
    file: Problem,
    lam: Lambda = None,
    use_floats: Annotated[bool, typer.Option("--float", help="Work in floats, even if the numbers are exact.")] = False,
    as_json: Json = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write mechanism.json and certificate.json there.")
    ] = None,
    formulation: Annotated[
        Literal["compact", "paper"], typer.Option(help="The linear program to solve; both have the same value.")
    ] = "compact",
) -> None:
    """Find the optimal mechanism and prove it.

    It minimises R_A = R_B - lambda R_E over all mechanisms.
    """
    from bap_lp import evaluate
    from bap_lp import solve as solve_problem

    _check_folder(out)
    loaded = _load(file)
    with _lambda_named(loaded, lam), _working(loaded):
        solution = solve_problem(loaded.problem, _wanted(loaded, lam), False if use_floats else None, formulation)
        evaluation = evaluate(loaded.problem, solution.mechanism)
    written = _write_folder(out, solution) if out is not None else ""
    if as_json:
        from bap_cli.results import solution_document

        _print_json(solution_document(solution, evaluation))
        return
    from bap_cli.show import show_solution

    show_solution(solution, evaluation, file, _choice(loaded, lam), written)


@app.command()
def verify(
    file: Problem,
    certificate: Annotated[str, typer.Argument(metavar="CERTIFICATE", help="certificate.json of `bap solve --out`.")],
    lam: Lambda = None,
) -> None:
    """Check a certificate with arithmetic alone.

    The exit code is 1 if it does not prove the optimum of the problem, at the lambda it names itself or at --lambda.
    """
    from bap_lp import verify as check
    from bap_lp.files import load_certificate
    from bap_lp.problem import lam_of
    from bap_lp.rational import public

    loaded = _load(file)
    proof = load_certificate(certificate)
    verdict = check(loaded.problem, proof)
    reason = verdict.reason
    if verdict and lam is not None:
        with _lambda_named(loaded, lam):
            wanted = public(lam_of(loaded.problem, lam))
        if wanted != proof.lam:
            verdict, reason = type(verdict)(False, ""), f"it is about lambda = {proof.lam}, not {wanted}"
    if not verdict:
        print(f"bap: {_source(certificate)} does not prove the optimum of {loaded.source}: {reason}", file=sys.stderr)
        raise typer.Exit(1)
    from bap_cli.show import show_verdict

    show_verdict(loaded, proof, reason)


@app.command()
def evaluate(file: Problem, mechanism: MechanismFile, lam: Lambda = None, as_json: Json = False) -> None:
    """Explain a given mechanism.

    Its risks and its epsilon, and what each agent believes and decides at every signal.
    """
    from bap_lp import evaluate as evaluate_mechanism
    from bap_lp.files import load_mechanism

    loaded = _load(file)
    channel = load_mechanism(mechanism, loaded.problem.states)
    price = _number(loaded, lam)
    evaluation = evaluate_mechanism(loaded.problem, channel)
    if as_json:
        from bap_cli.results import evaluation_document

        _print_json(evaluation_document(loaded.problem, channel, evaluation, price))
        return
    from bap_cli.show import show_evaluation

    show_evaluation(loaded.problem, channel, evaluation, price, _choice(loaded, lam))


@app.command()
def compare(file: Problem, lam: Lambda = None, as_json: Json = False) -> None:
    """Put the optimum next to the usual releases."""
    from bap_lp.releases import compare as compare_releases

    loaded = _load(file)
    price = _number(loaded, lam)
    with _working(loaded):
        comparison = compare_releases(loaded.problem, price)
    if as_json:
        from bap_cli.results import comparison_document

        _print_json(comparison_document(comparison))
        return
    from bap_cli.show import show_comparison

    show_comparison(loaded.problem, comparison, _choice(loaded, lam))


@app.command()
def release(
    mechanism: MechanismFile,
    state: Annotated[str, typer.Argument(metavar="STATE", help="Label of the observed data.")],
    count: Annotated[int, typer.Option(min=1, metavar="K", help="How many independent signals to draw.")] = 1,
    seed: Annotated[
        int | None, typer.Option(metavar="S", help="Reproducible draws, for rehearsals: never for publication.")
    ] = None,
) -> None:
    """Draw the signal to publish.

    An exact mechanism is drawn from exactly, with integers from the operating system's secure source of randomness.
    """
    from random import Random

    from bap_cli.show import clean
    from bap_lp.files import load_mechanism

    channel = load_mechanism(mechanism)
    generator = None if seed is None else Random(seed)
    names = {signal: clean(signal) for signal in channel.signals}
    for _ in range(count):
        sys.stdout.write(names[channel.release(state, generator)] + "\n")


@app.command()
def examples(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Print this example's file.")] = None,
) -> None:
    """List the problems that come with bap, or print one."""
    if name is not None:
        sys.stdout.write(example(name).read_text(encoding="utf-8"))
        return
    width = max(map(len, catalogue()), default=0)
    for key, title in titles().items():
        print(f"{key:{width}}  {title}")


@app.command()
def schema() -> None:
    """Print the JSON Schema of problem files."""
    spec = find_spec("bap_lp")  # finds the folder without importing the library
    assert spec is not None
    assert spec.submodule_search_locations
    sys.stdout.write((Path(next(iter(spec.submodule_search_locations))) / "schema.json").read_text(encoding="utf-8"))


mount(app, "gaussian", "bap_cli.gaussian_commands", "The continuous Gaussian model.")


def _load(name: str) -> ProblemFile:
    from bap_lp.files import load_problem

    return load_problem(locate(name))


def _source(path: str) -> str:
    from bap_lp.documents import source_name

    return source_name(path)


def _wanted(loaded: ProblemFile, lam: str | None) -> Any:
    return loaded.lam if lam is None else lam


def _number(loaded: ProblemFile, lam: str | None) -> Number:
    from bap_lp.problem import lam_of
    from bap_lp.rational import public

    with _lambda_named(loaded, lam):
        return public(lam_of(loaded.problem, _wanted(loaded, lam)))


def _choice(loaded: ProblemFile, lam: str | None) -> str:
    """How lambda was chosen, in words."""
    if str(_wanted(loaded, lam)).strip().lower() == "calibrated":
        return "calibrated: full and null release tie"
    return "from the file" if lam is None else "from --lambda"


@contextmanager
def _lambda_named(loaded: ProblemFile, lam: str | None) -> Iterator[None]:
    """The library's `lam` is the option --lambda, or the file's alice.lambda."""
    from bap_lp import InputError

    try:
        yield
    except InputError as error:
        if error.field != "lam":
            raise
        field = f"{loaded.source}: alice.lambda" if lam is None else "--lambda"
        raise InputError(field, error.value, error.rule) from None


def _working(loaded: ProblemFile) -> Any:
    """A sign of life on stderr while a large problem is solved, if somebody is watching."""
    if not sys.stderr.isatty() or loaded.problem.B.size + loaded.problem.E.size < 2000:
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status("solving")


def _print_json(document: Any) -> None:
    from bap_lp.documents import dumps

    sys.stdout.write(dumps(document))


def _check_folder(out: Path | None) -> None:
    if out is not None and out.exists() and not out.is_dir():
        raise ValueError(f"--out = {str(out)!r} must be a directory, and is a file")


def _write_folder(out: Path, solution: Any) -> str:
    from bap_lp.documents import dumps, write_files
    from bap_lp.files import certificate_document, mechanism_document

    texts = {
        out / "mechanism.json": dumps(mechanism_document(solution.mechanism)),
        out / "certificate.json": dumps(certificate_document(solution.certificate)),
    }
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
