"""The layout of the packages: what each part may import and weigh, unique names, light imports at the top of a module.

`PARTS` is the table of the folders and single modules of `bap_lp`: each may import the parts listed behind it and
nothing else, also inside functions and for type checkers. A part is listed after all that it imports, so that there is
no cycle. The other packages use the public names of `bap_lp`, its rooms `program` and `support`, the colours and labels
of its pictures, and for annotations the classes of results; what they use beyond that is listed in `BEYOND`, which
only gets shorter.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = {
    "bap_lp": set(),
    "gaussian": {"bap_lp"},
    "discretise": {"bap_lp", "gaussian"},
    "bap_sdc": {"bap_lp"},
    "bap_cli": {"bap_lp", "gaussian", "discretise", "bap_sdc"},
}
BASE = {"support", "model"}
SOLVERS = BASE | {"program", "conditions", "engines", "proof"}
PARTS = {
    "verify_standalone": set(),
    "support": set(),
    "model": {"support"},
    "program": BASE,
    "conditions": BASE | {"program"},
    "engines": BASE | {"program"},
    "proof": BASE | {"program", "conditions"},
    "questions": SOLVERS,
    "releases": SOLVERS | {"questions"},
    "files": BASE | {"program", "conditions", "proof"},
    "plots": SOLVERS | {"questions", "releases"},
}
LINES = {  # of code, at most
    "verify_standalone": 1800,
    "support": 1750,
    "model": 2550,
    "program": 1950,
    "conditions": 2000,
    "engines": 4450,
    "proof": 1150,
    "questions": 4800,
    "releases": 850,
    "files": 1550,
    "plots": 750,
}
BEYOND = {
    "discretise": """
        engines.many_states: solve_game
        model.mechanism: Generator
        model.problem: Theta
        model.sums.arrays: Arrays
        questions.convex.linear_releases: Quadratic Squared
    """,
    "bap_cli": """
        conditions.table: TABLE
        files.binary: is_binary
        files.bundles: Bundle FILES MANIFEST Mismatch bundle_files digest_of limits_for
        files.certificates: conflict_document
        files.ledger: Draw LEDGER entries_of open_ledger
        files.mechanisms: mechanism_document
        files.problems: ProblemFile bounded_problem problem_document
        model.agents: shares_of values_of
        model.calibration: extremes lam_of
        model.composition: without_end
        model.evaluated: AgentDecisions certainties certainty_in_words
        model.evaluation: risks
        model.mechanism: degenerate
        model.problem: own_beliefs
        model.reports: reports
        proof.binding: not_demanded other_demands other_priors other_several
        questions.path.frontier: Corner edge_points
        questions.path.piece: Piece
        questions.path.pieces: Path
        questions.path.region: attainable_region
        questions.tiers: TierSolution
        questions.uniqueness: is_unique
        releases: Comparison Parameter RATIOS meets truncated_geometric
        releases.families: lower_envelope
    """,
    "bap_sdc": """
        conditions.base: LOOSE
        conditions.events: all_exact figure hundred plain read_number rows_of
        engines.blas: one_blas_thread
        engines.driver: Infeasible optimise
        engines.linear.highs: PRIMAL SolverError Start basic_flags loaded run set_basis solve_interior solve_lp
        engines.linear.linear_optimum: optimum scaled
        engines.linear.linear_program: LinearProgram from_entries
        engines.ties: weight_at
        files.bundles: MANIFEST Mismatch digest_of manifested with_manifest written
        files.certificates: certificate_document certificate_from_dict stated_number
        files.ledger: Draw open_ledger
        files.problems: ProblemFile conditions_for lam_from
        model.calibration: extremes lam_of
        model.composition: orders
        model.evaluation: risks
        model.informed: knowing
        model.mechanism: degenerate
        model.reports: SCORES least_risk report_losses
        proof.binding: other_demands
        proof.certificate: NEAR nearest reported
        proof.statement: release_statement statement_of
        questions.path.lower_envelope: Stretch SupportLine envelope
        releases: Comparison Row bob_decision
    """,
}
OURS = ("gaussian", "discretise")
HEAVY = (
    "matplotlib",
    "scipy.stats",
    "scipy.optimize",
    "scipy.interpolate",
    "scipy.spatial",
    "cvxpy",
    "sympy",
    "pandas",
)
LIGHT = ("bap_lp.support", "bap_lp.model", "bap_lp.plots")


def files(*packages: str) -> list[Path]:
    return [path for package in packages for path in sorted((ROOT / package).rglob("*.py"))]


def definitions(path: Path, kinds: type | tuple[type, ...]) -> list[str]:
    body = ast.parse(path.read_text()).body
    found = [node for node in body if isinstance(node, kinds) and not node.name.startswith("_")]
    return [node.name for node in found if "overload" not in map(ast.unparse, getattr(node, "decorator_list", []))]


def imports(path: Path, everywhere: bool = False) -> Iterator[str]:
    """The modules that are imported at the top level of a module, or anywhere in it."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree) if everywhere else tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ([node.module] if not everywhere else (f"{node.module}.{alias.name}" for alias in node.names))


def part_of(path: Path) -> str:
    inside = path.relative_to(ROOT / "bap_lp").parts
    return inside[0] if len(inside) > 1 else path.stem


@pytest.mark.slow
def test_a_part_imports_only_the_parts_listed_for_it() -> None:
    found = set()
    for path in files("bap_lp"):
        for name in imports(path, everywhere=True):
            package, _, rest = name.partition(".")
            if package == "bap_lp" and path != ROOT / "bap_lp" / "__init__.py":
                found |= {(part_of(path), rest.split(".")[0])} - {(part_of(path), part_of(path))}
    assert sorted((part, other) for part, other in found if other not in PARTS[part]) == []


def test_the_table_of_parts_has_no_cycle_and_no_gap() -> None:
    names = list(PARTS)
    assert [(name, other) for k, name in enumerate(names) for other in PARTS[name] if other not in names[:k]] == []
    assert {part_of(path) for path in files("bap_lp")} - {"__init__"} == set(PARTS)


@pytest.mark.slow
def test_no_part_outgrows_its_lines() -> None:
    weight = dict.fromkeys(PARTS, 0)
    for path in files("bap_lp"):
        if path != ROOT / "bap_lp" / "__init__.py":
            weight[part_of(path)] += len(path.read_text().splitlines())
    assert {part: lines for part, lines in weight.items() if lines > LINES[part]} == {}


def beyond(path: Path) -> Iterator[str]:
    """What a module imports of `bap_lp` that is neither public nor in a room that is open to all."""
    import bap_lp

    tree = ast.parse(path.read_text())
    typing = [node for node in tree.body if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)]
    for_types = {id(inner) for node in typing for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("bap_lp."):
            continue
        room = str(node.module).removeprefix("bap_lp.")
        for name in (alias.name for alias in node.names):
            is_class = name[0].isupper() and not name.isupper()
            drawing = f"{room}.{name}" in ("plots.placed_labels", "plots.palette")
            open_ = room.split(".")[0] in ("program", "support") or drawing
            if not (open_ or bap_lp._HOMES.get(name) == node.module or (is_class and id(node) in for_types)):
                yield f"{room}: {name}"


@pytest.mark.parametrize("package", [name for name in PACKAGES if name != "bap_lp"])
def test_other_packages_use_public_names_and_the_rooms_open_to_all(package: str) -> None:
    allowed = set()
    for line in filter(None, map(str.strip, BEYOND.get(package, "").splitlines())):
        room, _, names = line.partition(": ")
        allowed |= {f"{room}: {name}" for name in names.split()}
    assert {one for path in files(package) for one in beyond(path)} == allowed


@pytest.mark.slow
def test_a_package_imports_only_the_packages_below_it() -> None:
    for package, below in PACKAGES.items():
        for path in files(package):
            used = {name.split(".")[0] for name in imports(path, everywhere=True)} & set(PACKAGES)
            assert used <= below | {package}, path


def test_every_folder_of_modules_is_a_package_that_a_wheel_takes() -> None:
    assert {path.parent for path in files(*PACKAGES) if not (path.parent / "__init__.py").is_file()} == set()


def test_few_modules_lie_outside_the_rooms() -> None:
    assert len(list((ROOT / "bap_lp").glob("*.py"))) <= 2


@pytest.mark.parametrize("package", PACKAGES)
def test_no_submodule_is_shadowed_by_another_name(package: str) -> None:
    home = importlib.import_module(package)
    names = [found.name for found in pkgutil.walk_packages(home.__path__, f"{package}.")]
    for name in names:
        importlib.import_module(name)
    for name in names:
        parent, _, last = name.rpartition(".")
        assert getattr(sys.modules[parent], last) is sys.modules[name], name


@pytest.mark.slow
def test_no_two_classes_have_the_same_name() -> None:
    where = defaultdict(list)
    for path in files(*PACKAGES):
        for name in definitions(path, ast.ClassDef):
            where[name].append(str(path.relative_to(ROOT)))
    assert {name: found for name, found in where.items() if len(found) > 1} == {}


@pytest.mark.slow
def test_every_class_and_function_of_the_gaussian_packages_has_a_name_of_its_own() -> None:
    where = defaultdict(list)
    for path in files(*OURS):
        for name in definitions(path, (ast.ClassDef, ast.FunctionDef)):
            where[name].append(path.name)
    assert {name: found for name, found in where.items() if len(found) > 1} == {}


@pytest.mark.slow
def test_heavy_libraries_are_imported_where_they_are_used() -> None:
    drawing = {*(ROOT / "bap_lp" / "plots").glob("*.py")}
    found = [
        (path.name, name)
        for path in files(*PACKAGES)
        for name in imports(path)
        if name.startswith(HEAVY) and path not in drawing
    ]
    assert found == []


def test_importing_bap_lp_loads_no_heavy_library() -> None:
    code = "import bap_lp, sys; print(*sys.modules.keys() & {'scipy', 'cvxpy', 'sympy', 'matplotlib', 'pandas'})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_discretise_forwards_tables_of_counts_and_loads_their_package_only_then() -> None:
    code = "import discretise, sys; print('bap_sdc' in sys.modules); print(discretise.counts.__module__)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "bap_sdc.count_tables.problems"]


@pytest.mark.parametrize("package", ["bap_cli", "bap_sdc", "discretise", "gaussian"])
def test_a_folder_of_more_than_twelve_modules_has_rooms(package: str) -> None:
    folders = {path.parent for path in files(package)}
    sizes = {str(f.relative_to(ROOT)): len([p for p in f.glob("*.py") if p.stem != "__init__"]) for f in folders}
    assert {name: size for name, size in sizes.items() if size > 12} == {}


def test_gaussian_imports_only_the_light_part_of_bap_lp() -> None:
    found = [name for path in files("gaussian") for name in imports(path) if name.split(".")[0] == "bap_lp"]
    assert [name for name in found if not name.startswith(LIGHT)] == []
