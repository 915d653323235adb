"""`bap explain`: the coin toss in plain words, and then a problem of the user in the same words."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from bap_lp.files.problems import ProblemFile

_COIN = (
    "The smallest example first. A coin is fair, or it always shows tails; Alice has seen one toss. Bob wants to know "
    "which coin it is. Eve wants to know what the toss was. What helps Bob also helps Eve: Alice cannot tell him all."
)


def register(app: typer.Typer) -> None:
    app.command(context_settings={"help_option_names": ["--help"]})(explain)


def _asked(file: ProblemFile) -> tuple[object, ...]:
    return file.problem, file.lam, file.conditions


def explain(
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="Problem file, or a name of `bap examples`.")
    ] = None,
    lam: Annotated[
        str | None,
        typer.Option("--lambda", metavar="L", help='For FILE: "calibrated", or a number; the file\'s own by default.'),
    ] = None,
    own: Annotated[bool, typer.Option("--own", help="Leave the coin toss out.")] = False,
) -> None:
    """Explain an optimum in plain words: why these signals, who is indifferent, what would change the answer.

    The coin toss comes first, then the problem of FILE in the same words.
    """
    from bap_cli import inputs

    if file is None and (own or lam is not None):
        raise ValueError(f"{'--own' if own else '--lambda'} needs a FILE")
    loaded = None if file is None else inputs.load(file)
    if loaded is not None:
        inputs.number(loaded, lam)  # refuses a bad lambda before anything is printed
    coin = inputs.load("coin_toss")
    texts: list[tuple[ProblemFile, str | None, str]] = [] if own else [(coin, None, _COIN)]
    told = texts and loaded is not None and lam is None and _asked(loaded) == _asked(coin)  # once is enough
    texts += [] if loaded is None or told else [(loaded, lam, "" if own else "Now the same for this problem.")]
    from bap_cli.explanation import explanation
    from bap_cli.progress import Progress
    from bap_cli.show import console
    from bap_lp.model.display import clean

    out = console()
    for k, (one, price, words) in enumerate(texts):
        with inputs.named(one, price), Progress("explaining") as progress:
            chapters = explanation(
                one.problem, inputs.wanted(one, price), inputs.choice(one, price), one.conditions, progress
            )
        title = clean(one.problem.title or one.source, 200)
        out.print(f"{chr(10) if k else ''}{title}\n{'=' * len(title)}", soft_wrap=True)
        for line in [words] if words else []:
            out.print(textwrap.fill(line, out.width))
        for chapter in chapters:
            out.print(f"\n{chapter.title}")
            for line in chapter.lines:
                indent = " " * (len(line) - len(line.lstrip()))
                first = f"{indent}- "
                filled = textwrap.fill(
                    line.strip(), out.width, initial_indent=first, subsequent_indent=f"{indent}  ",
                    break_on_hyphens=False, break_long_words=False,
                )  # fmt: skip
                out.print(filled, soft_wrap=True)
