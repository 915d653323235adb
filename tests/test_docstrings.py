"""Docstrings: their examples run, and public functions say what they take and return."""

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

PACKAGES = [gaussian, discretise, bap_sdc]
DOCUMENTED = [  # in bap_lp
    "array_blocks",
    "calibrate",
    "minimum_of",
    "parquet_blocks",
    "quadratic",
    "rank_worst_case",
    "robust",
    "sensitivity",
    "solve_chunks",
    "sweep",
    "to_cvxpy",
    "uniqueness",
    "verify_robust",
]


def modules(package: ModuleType) -> list[str]:
    """The package and all its modules."""
    inside = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    return [package.__name__, *(found.name for found in inside)]


def public_functions(package: ModuleType) -> list[tuple[str, str]]:
    names = [name for name in package.__all__ if inspect.isroutine(inspect.unwrap(getattr(package, name)))]
    return [(package.__name__, name) for name in names]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for package in (*PACKAGES, bap_lp) for name in modules(package)])
def test_the_examples_in_the_docstrings_run(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize("name", [name for package in (*PACKAGES, bap_lp) for name in modules(package)])
def test_the_examples_in_the_docstrings_fit_the_pages_of_the_site(name: str) -> None:
    """A line of code with more than a hundred characters has to be scrolled there."""
    module = importlib.import_module(name)
    examples = [e for test in doctest.DocTestFinder().find(module) for e in test.examples]
    lines = [f"    {line}" for e in examples for line in e.source.splitlines()]
    assert [line for line in lines + [line for e in examples for line in e.want.splitlines()] if len(line) > 100] == []


@pytest.mark.parametrize(
    ("package", "name"),
    [*(pair for package in PACKAGES for pair in public_functions(package)), *(("bap_lp", name) for name in DOCUMENTED)],
)
def test_a_public_function_documents_parameters_result_and_an_example(package: str, name: str) -> None:
    function = getattr(importlib.import_module(package), name)
    text = inspect.getdoc(function) or ""
    assert [p for p in inspect.signature(function).parameters if f"    {p}: " not in text.replace("*", "")] == []
    assert "\nReturns:\n" in text
    assert "\n>>> " in text


@pytest.mark.parametrize("package", PACKAGES)
def test_no_public_name_is_hidden_by_a_module(package: ModuleType) -> None:
    assert [name for name in package.__all__ if inspect.ismodule(getattr(package, name))] == []
