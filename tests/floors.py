"""Print pip constraints that hold every dependency of pyproject.toml, extras included, at its lowest version."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
tools = {"pytest", "hypothesis", "ruff", "mypy"}  # they test the project and are no part of it
for line in [*project["dependencies"], *(d for group in project["optional-dependencies"].values() for d in group)]:
    found = re.match(r"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)", line)
    if found and found[1] not in tools:
        print(f"{found[1]}=={found[2]}")
