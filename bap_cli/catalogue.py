"""The catalogue: problem files that come with the package, called by name."""

from __future__ import annotations

import tomllib
from difflib import get_close_matches
from pathlib import Path


def catalogue() -> dict[str, Path]:
    """Name -> file. An installed package carries its examples inside; a source tree has them at its root."""
    inside = Path(__file__).with_name("examples")
    folder = inside if inside.is_dir() else Path(__file__).parent.parent / "examples"
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def models() -> dict[str, Path]:
    """Name -> model file, for `bap model`."""
    folder = next(iter(catalogue().values())).parent / "models"
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def titles(files: dict[str, Path] | None = None) -> dict[str, str]:
    """Name -> title of every example: a title stands before the first table, and no more is read."""
    found = catalogue() if files is None else files
    heads = {name: path.read_text(encoding="utf-8").partition("\n[")[0] for name, path in found.items()}
    return {name: tomllib.loads(head)["title"] for name, head in heads.items()}


def example(name: str) -> Path:
    """The file of a catalogue name."""
    known = catalogue() | models()
    if name not in known:
        raise ValueError(f"{name!r} is not in the catalogue{_hint(name, known)}")
    return known[name]


def locate(name: str) -> Path:
    """The problem file a user means: a path, or else a catalogue name."""
    return _found(name, "in the catalogue", catalogue(), models(), "a model: `bap model` reads it")


def locate_model(name: str) -> Path:
    """The model file a user means: a path, or else the name of a model."""
    return _found(name, "a model of the catalogue", models(), catalogue(), "a problem: `bap solve` reads it")


def _found(name: str, kind: str, known: dict[str, Path], others: dict[str, Path], reads: str) -> Path:
    """The file of a name of one kind; a name of the other kind is said to be one."""
    path = Path(name)
    if name in known and not path.is_file():
        return known[name]
    if not path.exists() and path.name == name and not path.suffix:
        if name in others:
            raise ValueError(f"{name!r} is {reads}")
        raise ValueError(f"{name!r} is neither a file nor {kind}{_hint(name, known)}")
    return path


def _hint(name: str, known: dict[str, Path]) -> str:
    near = get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]}?" if near else " (`bap examples` lists it)"
