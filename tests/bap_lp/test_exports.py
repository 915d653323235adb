"""The public names of bap_lp: imported when first used, the same objects as in their modules, seen by tools."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

import bap_lp
import bap_sdc
import discretise
import gaussian


def test_what_tools_see_is_what_is_exported() -> None:
    """Type checkers read the imports under TYPE_CHECKING, the interpreter the table of modules."""
    tree = ast.parse(Path(bap_lp.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert sorted(seen) == sorted(bap_lp.__all__)
    homes = {name: home for name, home in seen.items() if home != "bap_lp"}
    assert homes == bap_lp._HOMES


@pytest.mark.parametrize("name", bap_lp.__all__)
def test_every_public_name_can_be_used_and_is_listed(name: str) -> None:
    value = getattr(bap_lp, name)
    assert name in dir(bap_lp)
    home = bap_lp._HOMES.get(name)
    assert value is (
        importlib.import_module(f"bap_lp.{name}") if home is None else vars(importlib.import_module(home))[name]
    )


def test_only_public_names_are_listed() -> None:
    for package in (bap_lp, gaussian, discretise, bap_sdc):
        assert set(dir(package)) - {"__version__"} == set(package.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'sovle'"):
        _ = bap_lp.sovle


def test_the_version_is_that_of_the_distribution() -> None:
    assert bap_lp.__version__.split(".")[0].isdecimal()
    assert "__version__" in dir(bap_lp)
