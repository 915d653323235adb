"""The commands of `bap`. Each reads files, calls the library and prints; the library is imported when one runs."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from bap_cli.catalogue import catalogue, example, models, titles
from bap_cli.lazy import mount
from bap_cli.model_command import model_command
from bap_cli.path_command import register as register_path

# typer imports pydantic for every parameter that is not a plain flag, and its own --help is none: the commands that
# should answer at once have a flag of ours instead
_QUICK: dict[str, Any] = {"context_settings": {"help_option_names": []}}
_USUAL: dict[str, Any] = {"context_settings": {"help_option_names": ["--help"]}}

app = typer.Typer(name="bap", add_completion=False, rich_markup_mode=None, **_QUICK)

Problem = Annotated[str, typer.Argument(metavar="FILE", help="Problem file (TOML, JSON) or a name of `bap examples`.")]
MechanismFile = Annotated[str, typer.Argument(metavar="MECHANISM", help="Mechanism file (JSON or TOML).")]
Lambda = Annotated[
    str | None,
    typer.Option("--lambda", metavar="L", help='"calibrated", or a number such as 1/3; the file\'s own by default.'),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"bap {version('bap-lp')}")
        raise typer.Exit


def _help(context: typer.Context, wanted: bool) -> None:
    if wanted:
        print(context.get_help())
        raise typer.Exit


Help = Annotated[bool, typer.Option("--help", help="Show this message and exit.", callback=_help, is_eager=True)]
Version = Annotated[bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)]


@app.callback()
def _options(version: Version = False, shown: Help = False) -> None:
    """Decide what to release about data: exact optimal mechanisms, each with its proof."""


@app.command(**_USUAL)
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
    min_eve_risk: Annotated[str | None, typer.Option(metavar="R", help="R_E must be at least this.")] = None,
    max_bob_risk: Annotated[str | None, typer.Option(metavar="R", help="R_B must be at most this.")] = None,
    epsilon: Annotated[str | None, typer.Option(metavar="E", help="Differential privacy, in floats.")] = None,
    exp_epsilon: Annotated[
        str | None, typer.Option(metavar="R", help="Differential privacy by its ratio exp(epsilon), exact.")
    ] = None,
    deterministic: Annotated[bool | None, typer.Option(help="No randomisation.")] = None,
    max_signals: Annotated[int | None, typer.Option(metavar="K", help="At most so many signals.")] = None,
    margin: Annotated[
        str | None, typer.Option(metavar="M", help="Every decision better than any other by M times P(signal).")
    ] = None,
) -> None:
    """Find an optimal mechanism and prove it.

    It minimises R_A = R_B - lambda R_E over all mechanisms, or over those that meet the conditions of the file and of
    the options below. An option takes the place of the file's condition.
    """
    from bap_cli import inputs, outputs, results, show
    from bap_cli.progress import Progress
    from bap_lp import evaluate, solve

    outputs.check_folder(out)
    loaded = inputs.load(file)
    asked = {
        "min_eve_risk": min_eve_risk,
        "max_bob_risk": max_bob_risk,
        "epsilon": epsilon,
        "exp_epsilon": exp_epsilon,
        "deterministic": deterministic,
        "max_signals": max_signals,
        "margin": margin,
    }
    with inputs.named(loaded, lam, asked), Progress() as progress:
        price, wanted = inputs.wanted(loaded, lam), inputs.conditions(loaded, asked)
        solution = solve(loaded.problem, price, False if use_floats else None, formulation, progress, wanted)
        evaluation = evaluate(loaded.problem, solution.mechanism)
        comparison = None if as_json else show.small_comparison(solution, progress)
    written = outputs.write_folder(out, solution) if out is not None else ""
    if as_json:
        outputs.print_json(results.solution_document(solution, evaluation))
    else:
        show.show_solution(solution, evaluation, comparison, file, inputs.choice(loaded, lam), written)


@app.command(**_USUAL)
def verify(
    file: Problem,
    certificate: Annotated[str, typer.Argument(metavar="CERTIFICATE", help="certificate.json of `bap solve --out`.")],
    lam: Lambda = None,
) -> None:
    """Check a certificate with arithmetic alone.

    The exit code is 1 if it does not prove the optimum of the problem, at the lambda it names itself or at --lambda.
    """
    from bap_cli import inputs, show
    from bap_cli.progress import Progress
    from bap_lp import Verdict, verify
    from bap_lp.files.certificates import load_certificate
    from bap_lp.files.documents import source_name

    loaded = inputs.load(file)
    proof = load_certificate(certificate)
    wanted = proof.lam if lam is None else inputs.number(loaded, lam)
    with Progress("checking"):
        verdict = verify(loaded.problem, proof)
    if verdict and wanted != proof.lam:
        verdict = Verdict(False, f"it is about lambda = {proof.lam}, not {wanted}")
    if not verdict:
        reason = f"does not prove the optimum of {loaded.source}: {verdict.reason}"
        print(f"bap: {source_name(certificate)} {show.clean(reason, 500)}", file=sys.stderr)
        raise typer.Exit(1)
    show.show_verdict(loaded, proof, verdict.reason)


@app.command(**_USUAL)
def evaluate(file: Problem, mechanism: MechanismFile, lam: Lambda = None, as_json: Json = False) -> None:
    """Explain a given mechanism.

    Its risks and its epsilon, and what each agent believes and decides at every signal.
    """
    from bap_cli import inputs, outputs, results, show
    from bap_cli.progress import Progress
    from bap_lp import evaluate
    from bap_lp.files.mechanisms import load_mechanism

    loaded = inputs.load(file)
    channel = load_mechanism(mechanism, loaded.problem.states)
    price = inputs.number(loaded, lam)
    with Progress("evaluating"):
        evaluation = evaluate(loaded.problem, channel)
    if as_json:
        outputs.print_json(results.evaluation_document(loaded.problem, channel, evaluation, price))
    else:
        show.show_evaluation(loaded.problem, channel, evaluation, price, inputs.choice(loaded, lam))


@app.command(**_USUAL)
def compare(file: Problem, lam: Lambda = None, as_json: Json = False) -> None:
    """Put the optimum next to the usual releases.

    Under the file's conditions it is the optimum among the mechanisms that meet them, and every release is checked.
    """
    from bap_cli import inputs, outputs, results, show
    from bap_cli.progress import Progress
    from bap_lp.releases import compare

    loaded = inputs.load(file)
    price = inputs.number(loaded, lam)
    with inputs.named(loaded, lam), Progress("comparing"):
        comparison = compare(loaded.problem, price, conditions=loaded.conditions)
    if as_json:
        outputs.print_json(results.comparison_document(comparison))
    else:
        show.show_comparison(loaded.problem, comparison, inputs.choice(loaded, lam))


@app.command(**_USUAL)
def report(
    file: Problem,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="HTML", help="Where to write the page.")] = Path(
        "report.html"
    ),
    lam: Lambda = None,
) -> None:
    """Write a report to share: one HTML page that needs no server and no network.

    It opens at lambda, and its slider shows the exact optimum for every other one.
    """
    from bap_cli import inputs, pictures
    from bap_lp.model.display import clean

    pictures.write_report(inputs.load(file), lam, file, out)
    print(f"Wrote {clean(str(out), 500)}: open it in a browser.")


@app.command(**_USUAL)
def plot(
    file: Problem,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="PICTURE", help="A .png, .svg or .pdf file.")] = Path(
        "map.png"
    ),
    kind: Annotated[
        Literal["map", "path", "channel", "signals"],
        typer.Option(help="Risk-utility map, least R_A for every lambda, an optimal mechanism, or its signals."),
    ] = "map",
    lam: Lambda = None,
) -> None:
    """Draw a picture of the problem and its optimum."""
    from bap_cli import inputs, pictures
    from bap_lp.model.display import clean

    pictures.write_plot(inputs.load(file), lam, kind, out)
    print(f"Wrote {clean(str(out), 500)}.")


@app.command(**_USUAL)
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

    from bap_lp.files.mechanisms import load_mechanism
    from bap_lp.model.display import clean

    channel = load_mechanism(mechanism)
    generator = None if seed is None else Random(seed)
    names = {signal: clean(signal, sys.maxsize - 1) for signal in channel.signals}
    for _ in range(count):
        sys.stdout.write(names[channel.release(state, generator)] + "\n")


@app.command(options_metavar="[OPTIONS] [NAME]", context_settings={"help_option_names": [], "allow_extra_args": True})
def examples(context: typer.Context, shown: Help = False) -> None:
    """List the problems that come with bap, or print the file of the one called NAME."""
    if len(context.args) > 1:
        context.fail(f"Got unexpected extra argument ({context.args[1]})")
    if context.args:
        sys.stdout.write(example(context.args[0]).read_text(encoding="utf-8"))
        return
    width = max(map(len, catalogue() | models()), default=0)
    for key, title in titles().items():
        print(f"{key:{width}}  {title}")
    for key, title in titles(models()).items():
        print(f"{key:{width}}  {title} (for `bap model`)")


@app.command(**_QUICK)
def schema(shown: Help = False) -> None:
    """Print the JSON Schema of problem files."""
    spec = find_spec("bap_lp")  # finds the folder without importing the library
    assert spec is not None
    assert spec.submodule_search_locations
    sys.stdout.write(
        (Path(next(iter(spec.submodule_search_locations))) / "files" / "schema.json").read_text(encoding="utf-8")
    )


register_path(app)
app.command(name="model", **_USUAL)(model_command)
mount(app, "gaussian", "bap_cli.gaussian_commands", "The continuous Gaussian model.")
