"""Run every benchmark, or those named: python -m benchmarks [core grid path conditions information ...]."""

import sys
from importlib import import_module

names = [a for a in sys.argv[1:] if not a.isdigit() and a != "draw"]
for name in names or [
    "core",
    "grid",
    "path",
    "conditions",
    "information",
    "gaussian",
    "microdata",
    "priors",
    "trust",
    "startup",
]:
    print(f"== {name}: {(import_module(f'benchmarks.{name}').__doc__ or '').splitlines()[0]}")
    import_module(f"benchmarks.{name}").main()
