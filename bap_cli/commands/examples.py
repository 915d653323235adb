"""`bap examples` and `bap schema`: what comes with the package, printed without importing the library."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from bap_cli.catalogue import catalogue, example, models, titles


def examples(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="The example whose file is printed.")] = None,
) -> None:
    """List the problems that come with bap, or print the file of the one called NAME."""
    if name is not None:
        sys.stdout.write(example(name).read_text(encoding="utf-8"))
        return
    width = max(map(len, catalogue() | models()), default=0)
    for key, title in titles().items():
        print(f"{key:{width}}  {title}")
    for key, title in titles(models()).items():
        print(f"{key:{width}}  {title} (for `bap model`)")


def schema() -> None:
    """Print the JSON Schema of problem files."""
    spec = find_spec("bap_lp")  # finds the folder without importing the library
    assert spec is not None
    assert spec.submodule_search_locations
    folder = Path(next(iter(spec.submodule_search_locations))) / "files"
    sys.stdout.write((folder / "schema.json").read_text(encoding="utf-8"))
