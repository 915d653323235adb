"""Which packages are built; everything else about the project stands in pyproject.toml.

`[tool.setuptools.packages.find]` cannot add a package whose folder has another name: the examples of the installed
command.
"""

from setuptools import find_packages, setup

PROGRAMS = ("bap_lp", "gaussian", "discretise", "bap_sdc", "bap_cli")
DATA = ["bap_cli.examples", "bap_cli.examples.models", "bap_cli.report.page"]

setup(
    packages=find_packages(include=[pattern for name in PROGRAMS for pattern in (name, f"{name}.*")]) + DATA,
    package_dir={"bap_cli.examples": "examples"},
)
