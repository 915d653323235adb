"""The layout of the packages: unique names, and light imports at the top of a module."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
OURS = ("gaussian", "discretise")
HEAVY = ("matplotlib", "scipy.stats", "scipy.optimize", "scipy.interpolate", "scipy.spatial", "cvxpy", "sympy")
LIGHT = ("bap_lp.rational", "bap_lp.model", "bap_lp.plots")


def files(*packages: str) -> list[Path]:
    return [path for package in packages for path in sorted((ROOT / package).rglob("*.py"))]


def definitions(path: Path, kinds: type | tuple[type, ...]) -> list[str]:
    body = ast.parse(path.read_text()).body
    return [node.name for node in body if isinstance(node, kinds) and not node.name.startswith("_")]


def imports(path: Path) -> Iterator[str]:
    """The modules that are imported at the top level of a module."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def test_every_class_and_function_of_the_gaussian_packages_has_a_name_of_its_own() -> None:
    where = defaultdict(list)
    for path in files(*OURS):
        for name in definitions(path, (ast.ClassDef, ast.FunctionDef)):
            where[name].append(path.name)
    assert {name: found for name, found in where.items() if len(found) > 1} == {}


def test_no_class_of_the_gaussian_packages_has_the_name_of_another_class() -> None:
    ours = {name for path in files(*OURS) for name in definitions(path, ast.ClassDef)}
    others = {name for path in files("bap_lp", "bap_cli") for name in definitions(path, ast.ClassDef)}
    assert ours & others == set()


def test_heavy_libraries_are_imported_where_they_are_used() -> None:
    found = [(path.name, name) for path in files(*OURS) for name in imports(path) if name.startswith(HEAVY)]
    assert found == []


def test_importing_bap_lp_loads_no_heavy_library() -> None:
    code = "import bap_lp, sys; print(*sys.modules.keys() & {'scipy', 'cvxpy', 'sympy', 'matplotlib', 'pandas'})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_gaussian_imports_only_the_light_part_of_bap_lp() -> None:
    found = [name for path in files("gaussian") for name in imports(path) if name.split(".")[0] == "bap_lp"]
    assert [name for name in found if not name.startswith(LIGHT)] == []
