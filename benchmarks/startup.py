"""Start-up: how long a new process takes, as a ratio to `import numpy`, the median of interleaved runs.

    python -m benchmarks startup

Compiled files are kept in a temporary folder, as an installed package keeps them: the first round writes them and is
not counted.
"""

from __future__ import annotations

import os
import subprocess
import sys
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

TASKS = {
    "import numpy": ["-c", "import numpy"],
    "import bap_lp": ["-c", "import bap_lp"],
    "from bap_lp import solve": ["-c", "from bap_lp import Problem, solve, verify"],
    "bap examples": ["-m", "bap_cli.main", "examples"],
    "bap solve coin_toss": ["-m", "bap_cli.main", "solve", "coin_toss"],
}


def measure(runs: int = 15) -> dict[str, float]:
    """Median seconds of every task."""
    times: dict[str, list[float]] = {name: [] for name in TASKS}
    with TemporaryDirectory() as folder:
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = folder
        for k in range(runs + 1):
            for name, arguments in TASKS.items():
                start = perf_counter()
                subprocess.run([sys.executable, *arguments], env=environment, stdout=subprocess.DEVNULL, check=True)
                if k:
                    times[name].append(perf_counter() - start)
    return {name: median(found) for name, found in times.items()}


def main() -> None:
    found = measure()
    for name, seconds in found.items():
        print(f"{name:26} {1000 * seconds:6.0f} ms {seconds / found['import numpy']:6.2f}")


if __name__ == "__main__":
    main()
