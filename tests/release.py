"""Try distributions in empty environments: `python tests/release.py dist/bap_lp-0.2.0-py3-none-any.whl ...`.

Every module of the tree is in them and can be imported with the core alone, which solves, proves and names the extra
that tables of records need; with `bap-lp[all]` they work. The stand-alone checker runs without the package.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROGRAMS = ("bap_lp", "gaussian", "discretise", "bap_sdc", "bap_cli")
IMPORTS = "import importlib, sys; [importlib.import_module(name) for name in sys.argv[1:]]"
TABLE = "age,ill,pay\n" + "".join(f"{20 + k % 3},{k % 2},{k % 4}\n" for k in range(40))


def ran(*command: object, code: int = 0) -> str:
    """What a command prints; an error if its exit code is another one."""
    found = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=HERE, check=False)
    if found.returncode != code:
        sys.exit(f"{' '.join(map(str, command))}: exit code {found.returncode}\n{found.stdout}{found.stderr}")
    return found.stdout + found.stderr


def modules() -> list[str]:
    """The names of all modules of the tree."""
    paths = [path.relative_to(ROOT) for name in PROGRAMS for path in (ROOT / name).rglob("*.py")]
    return sorted(".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in paths)


def tried(archive: Path) -> None:
    """Install one distribution and use it."""
    home = HERE / "env"
    venv.create(home, clear=True, with_pip=True)
    python, bap = home / "bin" / "python", home / "bin" / "bap"
    install = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    ran(*install, archive)
    ran(python, "-W", "error", "-c", IMPORTS, *modules())
    assert "3/40" in ran(bap, "solve", "coin_toss", "--out", "proof")
    checker = next((home / "lib").glob("python*/site-packages/bap_lp/verify_standalone.py"))
    shutil.copy(checker, HERE / "checker.py")
    ran(sys.executable, "-I", "checker.py", "proof")
    assert "bap-lp[microdata]" in ran(bap, "microdata", "init", "table.csv", "-o", "study.toml", code=2)
    ran(*install, f"{archive}[all]")
    ran(
        bap,
        "microdata",
        "init",
        "table.csv",
        "-o",
        "study.toml",
        "--publish",
        "pay",
        "--secret",
        "ill",
        "--knows",
        "age",
    )
    shutil.rmtree(HERE / "proof")
    (HERE / "study.toml").unlink()
    print(f"{archive.name}: {len(modules())} modules, solves, proves and reads tables in an empty environment")


if __name__ == "__main__":
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    with tempfile.TemporaryDirectory() as folder:
        HERE = Path(folder)
        (HERE / "table.csv").write_text(TABLE)
        for name in sys.argv[1:]:
            tried(Path(name).resolve())
    print(f"""What is left to do by hand:
  1. read CHANGELOG.md and give the section of {version} its date, here and in CITATION.cff;
  2. git tag -s v{version} -m "bap-lp {version}", and push the tag;
  3. twine upload {" ".join(sys.argv[1:])};
  4. in an empty environment: pip install bap-lp=={version}, bap solve coin_toss.""")
