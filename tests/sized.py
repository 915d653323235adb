"""One problem of a given size under one condition, solved and verified: run as a program, so that a crash is seen.

python tests/sized.py '{"shape": [100, 20, 10], "condition": "exp_epsilon", "exact": true, "losses": "integers"}'
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from bap_lp import Conditions, Problem, evaluate, solve, verify
from bap_lp.releases.library import full, null

LOSSES = ("integers", "0-1", "absolute")


def problem(N: int, b: int, e: int, losses: str = "integers", seed: int = 0) -> Problem:
    draw, x = np.random.default_rng(seed), np.arange(N)[:, None]
    if losses == "absolute":
        B, E = (np.abs(x * step % N * k // N - np.arange(k)) for step, k in ((1, b), (7, e)))
    else:
        B, E = (draw.integers(0, 2 if losses == "0-1" else 100, (N, k)) for k in (b, e))
    weight = draw.integers(1, 100, N)
    return Problem([f"{w}/{weight.sum()}" for w in weight], B.tolist(), E.tolist())


def _third(given: Problem) -> list[int]:
    return list(range(0, given.shape[0], 3))


def _share(given: Problem) -> Any:
    return sum(given.prior[x] for x in _third(given))


def _chain(given: Problem) -> list[tuple[int, int]]:
    return [(x, x + 1) for x in range(given.shape[0] - 1)]


def _metric(given: Problem) -> list[list[int | None]]:
    states = range(given.shape[0])
    return [[abs(x - y) if abs(x - y) < 3 else None for y in states] for x in states]


def _halves(given: Problem) -> list[list[int]]:
    N = given.shape[0]
    return [list(range(N // 2)), list(range(N // 2, N))]


def _limits(given: Problem) -> tuple[Any, Any, Any]:
    """Between full and null release: Eve's risk half way, Bob's half way, and nine tenths of hers without a release."""
    most, least = (evaluate(given, release(given)).risks for release in (full, null))
    return (most.eve + least.eve) / 2, (most.bob + least.bob) / 2, least.eve * 9 / 10


# every one of them is satisfied by null release, or by some mechanism close to full release
TABLE: dict[str, Callable[[Problem], dict[str, Any]]] = {
    "free": lambda given: {},
    "exp_epsilon": lambda given: {"exp_epsilon": 2},
    "exp_epsilon, neighbours": lambda given: {"exp_epsilon": 2, "neighbours": _chain(given)},
    "exp_epsilon, metric": lambda given: {"exp_epsilon": 2, "metric": _metric(given)},
    "epsilon, metric": lambda given: {"epsilon": 0.5, "metric": _metric(given)},
    "delta": lambda given: {"exp_epsilon": 2, "delta": "1/10", "neighbours": _chain(given)[:20]},
    "posterior_caps": lambda given: {
        "posterior_caps": [{"event": _third(given), "at_most": (1 + _share(given)) / 2, "at_least": _share(given) / 2}]
    },
    "posterior_ratio": lambda given: {"posterior_ratio": [{"event": _third(given), "exp_epsilon": "3/2"}]},
    "independent_of": lambda given: {"independent_of": [_third(given)]},
    "signal_floor": lambda given: {"signal_floor": _limits(given)[2]},
    "pufferfish": lambda given: {"pufferfish": {"pairs": [_halves(given)], "exp_epsilon": 2}},
    "max_leakage": lambda given: {"max_leakage": "3/2"},
    "min_eve_risk": lambda given: {"min_eve_risk": _limits(given)[0]},
    "max_bob_risk": lambda given: {"max_bob_risk": _limits(given)[1]},
    "margin": lambda given: {"margin": "1/1000"},
}
ASKED = tuple(TABLE)


def main(case: dict[str, Any]) -> str:
    given = problem(*case["shape"], case.get("losses", "integers"), case.get("seed", 0))
    asked = Conditions(**TABLE[case["condition"]](given))
    exact = case["exact"] and asked.exact
    best = solve(given, case.get("lam", "1/10"), exact, conditions=asked, time_limit=case.get("time_limit"))
    if "stopped" in best.method:
        raise TimeoutError(best.method)
    verdict = verify(given, best.certificate)
    assert verdict, verdict.reason
    return f"{float(best.value):.6g} {float(best.gap):.1e} {best.method}"


if __name__ == "__main__":
    print(main(json.loads(sys.argv[1])))
