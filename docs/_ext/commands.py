"""The reference of the command is what `bap COMMAND --help` says: it is written once, in the program.

The line `<!-- commands -->` of a page is replaced by a section for each command, with its sentences and its options.
"""

from __future__ import annotations

from typing import Any

import typer

MARK = "<!-- commands -->"


def sections(command: Any, *words: str) -> list[str]:
    """Markdown for a command, or for all commands of a group."""
    if hasattr(command, "list_commands"):
        context = typer.Context(command)
        return [line for name in command.list_commands(context)
                for line in sections(command.get_command(context, name), *words, name)]  # fmt: skip
    arguments, options = [], []
    for part in command.params:
        if part.param_type_name == "argument":
            arguments.append(part.metavar)
            continue
        names = "`, `".join([*part.opts, *part.secondary_opts])
        usual = f" (default: {part.default})" if part.default not in (None, True, False) else ""
        options.append(f"- `{names}{f' {part.metavar}' if part.metavar else ''}`: {part.help}{usual}")
    said = [" ".join(paragraph.split()) for paragraph in (command.help or "").split("\n\n")]
    title = " ".join(["bap", *words, *arguments])
    return [f"### `{title}`", *said, "\n".join(options)]


def reference() -> str:
    """All commands, in the order of `bap --help`."""
    from bap_cli.app import app

    return "\n\n".join(filter(None, sections(typer.main.get_command(app))))


def insert(app: Any, name: str, source: list[str]) -> None:
    """Put the sections in their place."""
    if MARK in source[0]:
        source[0] = source[0].replace(MARK, reference())


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", insert)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
