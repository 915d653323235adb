"""The commands of `bap`. Each reads files, calls the library and prints; the library is imported when one runs."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from bap_cli.catalogue import catalogue, example, models, titles
from bap_cli.counts_command import register as register_counts
from bap_cli.explain_command import register as register_explain
from bap_cli.lazy import mount
from bap_cli.model_command import model_command
from bap_cli.path_command import register as register_path
from bap_cli.release_command import AllowFloat, release
from bap_cli.tiers_command import register as register_tiers

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
Limits = Annotated[
    list[str] | None,
    typer.Option("--limit", metavar="NAME=N", help="Raise a limit on what files may ask for, such as digits=50000."),
]
Version = Annotated[bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)]


@app.callback()
def _options(version: Version = False, limit: Limits = None, shown: Help = False) -> None:
    """Decide what to release about data: exact optimal mechanisms, each with its proof."""
    if limit:
        from bap_lp.limits import set_limits

        set_limits(limit)


@app.command(**_USUAL)
def solve(
    file: Problem,
    lam: Lambda = None,
    use_floats: Annotated[
        bool, typer.Option("--float", help="Compute in floats, even if the numbers are exact.")
    ] = False,
    as_json: Json = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write a bundle there: problem, mechanism, proof, manifest.")
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
    max_signals: Annotated[int | None, typer.Option(metavar="K", help="At most this many signals.")] = None,
    margin: Annotated[
        str | None, typer.Option(metavar="M", help="Decisions must be better than any other by M times P(signal).")
    ] = None,
    delta: Annotated[
        str | None, typer.Option(metavar="D", help="With --epsilon or --exp-epsilon: (epsilon, delta).")
    ] = None,
    max_leakage: Annotated[
        str | None, typer.Option(metavar="C", help="The sum over signals of the largest q(s|x) is at most this.")
    ] = None,
    signal_floor: Annotated[
        list[str] | None, typer.Option(metavar="R", help="Eve's risk given any signal is at least this; or EVE:R.")
    ] = None,
    posterior_cap: Annotated[
        list[str] | None, typer.Option(metavar="A:C", help="P(A | signal) is at most C; A are states, a,b,...")
    ] = None,
    posterior_floor: Annotated[
        list[str] | None, typer.Option(metavar="A:C", help="P(A | signal) is at least C.")
    ] = None,
    posterior_ratio: Annotated[
        list[str] | None, typer.Option(metavar="A:K", help="P(A | signal) / P(A) is between 1/K and K.")
    ] = None,
    independent_of: Annotated[
        list[str] | None, typer.Option(metavar="A", help="The signal must not depend on whether A holds.")
    ] = None,
    pufferfish: Annotated[
        list[str] | None,
        typer.Option(metavar="A|B:K", help="P(signal | A) and P(signal | B) differ at most by a factor K."),
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(metavar="S", help="End after S seconds; floats then give the best answer so far.")
    ] = None,
) -> None:
    """Find an optimal mechanism and prove it.

    It minimises R_A = R_B - lambda R_E over all mechanisms, or over those that meet the conditions of the file and of
    the options below. An option replaces the file's condition of the same name.
    """
    from bap_cli import inputs, outputs, results, show
    from bap_cli.condition_options import structured
    from bap_cli.progress import Progress
    from bap_lp import condition_costs, evaluate, solve

    outputs.check_folder(out)
    loaded = inputs.load(file)
    events = structured(posterior_cap, posterior_floor, posterior_ratio, independent_of, pufferfish, signal_floor)
    asked = {
        "min_eve_risk": min_eve_risk,
        "max_bob_risk": max_bob_risk,
        "epsilon": epsilon,
        "exp_epsilon": exp_epsilon,
        "deterministic": deterministic,
        "max_signals": max_signals,
        "margin": margin,
        "delta": delta,
        "max_leakage": max_leakage,
        **events,
    }
    with outputs.conflict_in(out), inputs.named(loaded, lam, asked), Progress() as progress:
        price, wanted = inputs.wanted(loaded, lam), inputs.conditions(loaded, asked)
        exact = False if use_floats else None
        solution = solve(loaded.problem, price, exact, formulation, progress, wanted, time_limit=time_limit)
        evaluation = evaluate(loaded.problem, solution.mechanism)
        costs = condition_costs(solution)
        comparison = None if as_json else show.small_comparison(solution, progress)
    written = outputs.write_folder(out, solution, loaded, price, file) if out is not None else ""
    if as_json:
        outputs.print_json(results.solution_document(solution, evaluation, costs))
    else:
        rounded = use_floats and loaded.problem.exact
        show.show_solution(solution, evaluation, comparison, rounded, inputs.choice(loaded, lam), written, costs)


@app.command(**_USUAL)
def verify(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A bundle (directory), or a problem file or name.")],
    certificate: Annotated[
        str | None, typer.Argument(metavar="[CERTIFICATE]", help="certificate.json, or a bundle; with a problem file.")
    ] = None,
    lam: Lambda = None,
    mechanism: Annotated[
        str | None, typer.Option(metavar="MECHANISM", help="Also check that the proof is about this mechanism.")
    ] = None,
    as_claimed: Annotated[
        bool, typer.Option("--as-claimed", help="Check what the certificate claims, for its own lambda and conditions.")
    ] = False,
    allow_float: AllowFloat = False,
) -> None:
    """Check a proof with arithmetic alone.

    `bap verify DIR` checks a bundle; `bap verify FILE CERTIFICATE` a certificate for the lambda and the conditions of
    the file. The exit code is 1 if the optimum that is asked for is not proved.
    """
    from bap_cli import verifying

    verifying.run(file, certificate, lam, mechanism, as_claimed, allow_float)


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
    file: Annotated[str, typer.Argument(metavar="FILE", help="Problem file, a name of `bap examples`, or a bundle.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="HTML", help="Where to write the page.")] = Path(
        "report.html"
    ),
    lam: Lambda = None,
    allow_float: AllowFloat = False,
) -> None:
    """Write a report to share: one HTML page that needs no server and no network.

    It opens at lambda, and its slider shows the exact optimum for every other one. Of a bundle it shows the mechanism
    and the proof in the bundle, after they were verified.
    """
    from bap_cli import inputs, pictures, verifying
    from bap_cli.show import console, say
    from bap_lp.model.display import clean

    if Path(file).is_dir():
        verifying.report(file, lam, allow_float, out)
    else:
        pictures.write_report(inputs.load(file), lam, file, out)
    say(console(), f"Wrote {clean(str(out), 500)}: open it in a browser.")


@app.command(**_USUAL)
def plot(
    file: Problem,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="PICTURE", help="A .png, .svg or .pdf file.")] = Path(
        "map.png"
    ),
    kind: Annotated[
        Literal["map", "path", "epsilon", "channel", "signals"],
        typer.Option(help="Risk-utility map, least R_A by lambda or epsilon, an optimal mechanism, or its signals."),
    ] = "map",
    lam: Lambda = None,
) -> None:
    """Draw a picture of the problem and its optimum."""
    from bap_cli import inputs, pictures
    from bap_cli.show import console, say
    from bap_lp.model.display import clean

    pictures.write_plot(inputs.load(file), lam, kind, out)
    say(console(), f"Wrote {clean(str(out), 500)}.")


app.command(**_USUAL)(release)


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


register_explain(app)
register_path(app)
register_tiers(app)
register_counts(app)
app.command(name="model", **_USUAL)(model_command)
mount(app, "gaussian", "bap_cli.gaussian_commands", "The continuous Gaussian model.")
mount(app, "microdata", "bap_cli.microdata_commands", "A table of records: optimal release, audit, report.")
