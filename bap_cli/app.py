"""The command line: the commands by name, each imported when it is called, and the options that they share."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

COMMANDS = {  # in bap_cli: the module that has the command, or an `app` of several; and its line in `bap --help`
    "solve": ("commands.solve", "Find an optimal mechanism and prove it."),
    "verify": ("commands.verify", "Check a proof with arithmetic alone."),
    "evaluate": ("commands.solve", "Explain a given mechanism."),
    "compare": ("commands.solve", "Put the optimum next to the usual releases."),
    "report": ("commands.report", "Write a report to share: one HTML page."),
    "plot": ("commands.report", "Draw a picture of the problem and its optimum."),
    "release": ("commands.release", "Draw the signal to publish."),
    "examples": ("commands.examples", "List the problems that come with bap, or print one."),
    "schema": ("commands.examples", "Print the JSON Schema of problem files."),
    "explain": ("commands.explain", "Explain an optimum in plain words."),
    "path": ("commands.path", "Find an optimal mechanism for every lambda."),
    "tiers": ("commands.tiers", "Find releases that refine each other."),
    "counts": ("commands.counts", "Protect a table of counts."),
    "model": ("commands.model", "Bracket the optimum of a model of your own."),
    "gaussian": ("gaussian.commands", "The continuous Gaussian model."),
    "microdata": ("records.commands", "A table of records: optimal release, audit, report."),
}

File = Annotated[str, typer.Argument(metavar="FILE", help="Problem file (TOML, JSON) or a name of `bap examples`.")]
Lambda = Annotated[
    str | None,
    typer.Option("--lambda", metavar="L", help='"calibrated", or a number such as 1/3; the file\'s own by default.'),
]
Floats = Annotated[bool, typer.Option("--float", help="Compute in floats, even if the numbers are exact.")]
TimeLimit = Annotated[float | None, typer.Option("--time-limit", metavar="S", help="Give up after S seconds.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Folder = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Write a bundle there: problem, mechanism, proof, manifest.")
]
Condition = Annotated[
    list[str] | None,
    typer.Option(metavar="KEY=VALUE", help="Any condition of a file, such as max_leakage=2; lists in JSON."),
]
AllowFloat = Annotated[
    bool, typer.Option("--allow-float", help="Accept a float certificate although the problem is exact.")
]


class Group(TyperGroup):
    """A group whose list of commands has the first paragraph of each, whole."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            summaries = ((name, one.help or "") for name, one in self.commands.items())
            formatter.write_dl([(name, " ".join(words.partition("\n\n")[0].split())) for name, words in summaries])


class _Commands(TyperGroup):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = dict.fromkeys(COMMANDS)  # type: ignore[assignment]  # names, for "did you mean"

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return command(cmd_name) if cmd_name in COMMANDS else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


def command(name: str) -> Any:
    """The command, or the group of commands, of this name; its module is imported."""
    home = import_module(f"bap_cli.{COMMANDS[name][0]}")
    if hasattr(home, "app"):
        return typer.main.get_group(home.app)
    one = typer.Typer(add_completion=False, rich_markup_mode=None)
    one.command(name)(getattr(home, name))
    return typer.main.get_command(one)


app = typer.Typer(name="bap", cls=_Commands, add_completion=False, rich_markup_mode=None)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"bap {version('bap-lp')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            "--limit", metavar="NAME=N", help="Raise a limit on what files may ask for, such as digits=50000."
        ),
    ] = None,
) -> None:
    """Decide what to release about data: exact optimal mechanisms, each with its proof."""
    if limit:
        from bap_lp.support.limits import set_limits

        set_limits(limit)
