"""Docstrings: their examples run, and fit the pages of the site."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from types import ModuleType

import pytest

import bap_lp
import bap_sdc
import discretise
import gaussian

PACKAGES = [bap_lp, bap_sdc, discretise, gaussian]


def modules(package: ModuleType) -> list[str]:
    """The package and all its modules."""
    inside = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    return [package.__name__, *(found.name for found in inside)]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for package in PACKAGES for name in modules(package)])
def test_the_examples_in_the_docstrings_run(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize("name", [name for package in PACKAGES for name in modules(package)])
def test_the_examples_in_the_docstrings_fit_the_pages_of_the_site(name: str) -> None:
    """A line of code with more than a hundred characters has to be scrolled there."""
    module = importlib.import_module(name)
    examples = [e for test in doctest.DocTestFinder().find(module) for e in test.examples]
    lines = [f"    {line}" for e in examples for line in e.source.splitlines()]
    assert [line for line in lines + [line for e in examples for line in e.want.splitlines()] if len(line) > 100] == []


@pytest.mark.parametrize("package", PACKAGES[1:])
def test_no_public_name_is_hidden_by_a_module(package: ModuleType) -> None:
    assert [name for name in package.__all__ if inspect.ismodule(getattr(package, name))] == []
