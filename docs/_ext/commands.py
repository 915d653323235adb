"""The reference of the command is what `bap COMMAND --help` says: it is written once, in the program.

The line `<!-- commands -->` of a page is replaced by a section for each command, with its sentences and its options.
Options that all commands of a group have are listed once, before them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import typer

MARK = "<!-- commands -->"


def parts(command: Any) -> dict[str, Any]:
    """The commands of a group, by name; none for a command."""
    if not hasattr(command, "list_commands"):
        return {}
    context = typer.Context(command)
    return {name: command.get_command(context, name) for name in command.list_commands(context)}


def options(command: Any) -> list[str]:
    """A line for each option: its names and what it is for."""
    lines = []
    for part in command.params:
        if part.param_type_name == "option":
            names = "`, `".join([*part.opts, *part.secondary_opts])
            usual = "" if part.default is None or isinstance(part.default, bool) else f" (default: {part.default})"
            lines.append(f"- `{names}{f' {part.metavar}' if part.metavar else ''}`: {literal(part.help)}{usual}")
    return lines


def literal(text: str) -> str:
    """Options inside a sentence are set as code: two hyphens would become a dash."""
    return re.sub(r"(?<![`\w-])(--[a-z-]+)", r"`\1`", text)


def section(command: Any, words: tuple[str, ...], known: list[str]) -> list[str]:
    """Markdown for one command, without the options that are known already."""
    said = [literal(" ".join(paragraph.split())) for paragraph in (command.help or "").split("\n\n")]
    arguments = [part.metavar for part in command.params if part.param_type_name == "argument"]
    own = [line for line in options(command) if line not in known]
    return [f"### `{' '.join(['bap', *words, *arguments])}`", *said, "\n".join(own)]


def reference() -> str:
    """All commands, in the order of `bap --help`."""
    from bap_cli.app import app

    out: list[str] = []
    for name, command in parts(typer.main.get_command(app)).items():
        below = parts(command)
        if not below:
            out += section(command, (name,), [])
            continue
        lists = [options(one) for one in below.values()]
        shared = [line for line in lists[0] if all(line in lines for lines in lists)]
        if shared:
            out += [f"### `bap {name} COMMAND`", "All of these commands have:", "\n".join(shared)]
        for word, one in below.items():
            out += section(one, (name, word), shared)
    return "\n\n".join(filter(None, out))


def insert(app: Any, name: str, source: list[str]) -> None:
    """Put the sections in their place."""
    if MARK in source[0]:
        source[0] = source[0].replace(MARK, reference())


def outdated(app: Any, env: Any, added: Any, changed: Any, removed: Any) -> list[str]:
    """The page depends on the program, so it is read again in every build."""
    return [name for name in env.found_docs if MARK in Path(env.doc2path(name)).read_text(encoding="utf-8")]


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", insert)
    app.connect("env-get-outdated", outdated)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
