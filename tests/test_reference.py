"""The reference of the site: every public name is on it, and says what it takes, returns, raises and how it is used."""

from __future__ import annotations

import ast
import builtins
import doctest
import importlib
import inspect
import re
from pathlib import Path

import pytest

API = Path(__file__).parents[1] / "docs" / "api"
PACKAGES = ("bap_lp", "bap_sdc", "discretise", "gaussian")
NAMES = [(package, name) for package in PACKAGES for name in importlib.import_module(package).__all__]
UNIONS = {("gaussian", "Eve"), ("gaussian", "Release")}  # types that stand for several classes
RAISES_NOTHING = {  # the arguments are checked already, or the answer is a verdict
    ("bap_lp", "verify"),
    ("gaussian", "corner"),
    ("gaussian", "decision_rate"),
    ("gaussian", "mean_lost_band"),
}


def listed(package: str) -> list[str]:
    """The names that the page of a package shows."""
    text = (API / f"{package}.rst").read_text()
    # a dotted path is the class behind a name that is shown before it
    names = re.findall(r"^\.\. auto(?:class|function|exception|data):: (\w+)$", text, re.MULTILINE)
    modules = re.findall(rf"^\.\. automodule:: {package}\.(\w+)$", text, re.MULTILINE)
    return [*names, *modules]


@pytest.mark.parametrize("package", PACKAGES)
def test_the_reference_shows_every_public_name_once(package: str) -> None:
    assert sorted(listed(package)) == sorted(importlib.import_module(package).__all__)


@pytest.mark.parametrize(("package", "name"), sorted({*NAMES} - UNIONS), ids=lambda part: part)
def test_a_public_name_documents_its_parameters_and_shows_an_example(package: str, name: str) -> None:
    value = getattr(importlib.import_module(package), name)
    text = inspect.getdoc(value) or ""
    if inspect.ismodule(value):
        assert [part for part in value.__all__ if not inspect.getdoc(getattr(value, part))] == []
        return
    assert not inspect.isclass(value) or value.__doc__
    if not inspect.isclass(value) and not inspect.isroutine(inspect.unwrap(value)):
        value = type(value)  # an instance, which its class documents
    parameters = [p.lstrip("*") for p in inspect.signature(value).parameters]
    assert [p for p in parameters if not re.search(rf"^    \*{{0,2}}{p}: ", text, re.MULTILINE)] == []
    assert re.search(r"^>>> ", text, re.MULTILINE), "shows no example"


@pytest.mark.parametrize(("package", "name"), sorted({*NAMES} - UNIONS), ids=lambda part: part)
def test_a_public_function_says_what_it_returns_and_raises(package: str, name: str) -> None:
    value = getattr(importlib.import_module(package), name)
    if not inspect.isroutine(inspect.unwrap(value)):
        return
    text = inspect.getdoc(value) or ""
    writes = inspect.signature(value).return_annotation in (None, "None")
    assert writes or "\nReturns:\n" in text
    assert (package, name) in RAISES_NOTHING or "\nRaises:\n" in text


@pytest.mark.parametrize(("package", "name"), NAMES, ids=lambda part: part)
def test_every_entry_of_a_section_has_a_name(package: str, name: str) -> None:
    """A second line that is not indented would be shown as a parameter of its own."""
    text = inspect.getdoc(getattr(importlib.import_module(package), name)) or ""
    sections = re.findall(r"^(?:Args|Attributes|Raises):\n((?: {4}.*\n?)+)", text, re.MULTILINE)
    entries = [line for section in sections for line in section.splitlines() if re.match(r" {4}\S", line)]
    assert [line for line in entries if not re.match(r" {4}\*{0,2}[\w.]+: ", line)] == []


@pytest.mark.parametrize(("package", "name"), NAMES, ids=lambda part: part)
def test_an_example_uses_only_names_that_a_reader_has(package: str, name: str) -> None:
    """Public names, and what the example itself imports or defines; doctest alone accepts every name of the module."""
    module = importlib.import_module(package)
    examples = doctest.DocTestParser().get_examples(inspect.getdoc(getattr(module, name)) or "")
    parts = list(ast.walk(ast.parse("\n".join(example.source for example in examples))))
    has = {*dir(builtins), *module.__all__}
    for part in parts:
        if isinstance(part, (ast.Import, ast.ImportFrom)):
            has |= {alias.asname or alias.name.split(".")[0] for alias in part.names}
        elif isinstance(part, (ast.FunctionDef, ast.ClassDef, ast.ExceptHandler)):
            has.add(part.name or "")
        elif isinstance(part, ast.arg):
            has.add(part.arg)
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            has.add(part.id)
    assert {part.id for part in parts if isinstance(part, ast.Name)} - has == set()
