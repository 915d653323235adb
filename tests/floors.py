"""Print pip constraints that hold every dependency of pyproject.toml, extras included, at its lowest version."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
extras = [line for lines in project["optional-dependencies"].values() for line in lines]
floors: dict[str, str] = {}
for line in [*project["dependencies"], *extras]:
    found = re.match(r"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)", line)
    if found:
        floors[found[1]] = max(floors.get(found[1], "0"), found[2], key=lambda v: [*map(int, v.split("."))])
for name, floor in floors.items():
    print(f"{name}=={floor}")
