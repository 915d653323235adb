"""Print pip constraints that hold every dependency of pyproject.toml, extras included, at its lowest version."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
extras = [line for name, lines in project["optional-dependencies"].items() if name != "dev" for line in lines]
for line in [*project["dependencies"], *extras]:
    found = re.match(r"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)", line)
    if found:
        print(f"{found[1]}=={found[2]}")
