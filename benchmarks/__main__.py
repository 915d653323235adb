"""Run every benchmark: python -m benchmarks [core game path gaussian models startup]."""

import sys
from importlib import import_module

for name in sys.argv[1:] or ["core", "game", "path", "gaussian", "models", "startup"]:
    print(f"== {name}: {(import_module(f'benchmarks.{name}').__doc__ or '').splitlines()[0]}")
    import_module(f"benchmarks.{name}").main()
