"""Command groups that are imported only when somebody calls them."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import typer
from typer.core import TyperGroup


def mount(app: typer.Typer, name: str, module: str, summary: str) -> None:
    """Mount `module.app` as `name` if the module is installed: listed in the help, imported when it is first used."""
    if find_spec(module) is None:
        return

    class Group(TyperGroup):
        def _group(self) -> Any:
            return typer.main.get_group(import_module(module).app)

        def list_commands(self, ctx: Any) -> list[str]:
            return self._group().list_commands(ctx)

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            return self._group().get_command(ctx, cmd_name)

    settings = {"help_option_names": ["--help"]}
    app.add_typer(typer.Typer(cls=Group, rich_markup_mode=None, context_settings=settings), name=name, help=summary)
