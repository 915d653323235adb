"""An Eve who reports probabilities: the certified bracket against Clarabel through cvxpy, and checking it.

    python -m benchmarks information

Every problem has random floats. Ours ends with a bracket in rationals, cvxpy with a float. Both are timed in turn in
one process, and the shortest of a few runs counts. cvxpy is asked for sizes that it solves within a minute.
"""

from __future__ import annotations

import numpy as np

from bap_lp.model.agents import Agent
from bap_lp.model.problem import Problem
from bap_lp.proof.checking import verify
from bap_lp.questions.optimum.solving import solve
from benchmarks.instances import best_time

SIZES = [(50, 5, 5), (50, 5, 50), (200, 5, 3), (1000, 5, 10), (1000, 5, 1000)]
COMPARED = 1000  # values times signals up to which cvxpy is timed
LAM = 0.3


def random_problem(states: int, decisions: int, values: int, kind: str) -> Problem:
    draw = np.random.default_rng(states + values)
    eve = Agent(kind, secret=[x % values for x in range(states)])
    return Problem(draw.dirichlet(np.ones(states)), draw.random((states, decisions)), eves=[eve])


def peer(problem: Problem) -> float:
    """The same program in cvxpy's own atoms."""
    import cvxpy as cp

    eve, p = problem.eves[0], problem.p
    secret = np.array([int(a) for a in eve.secret])
    values = np.array([secret == a for a in range(secret.max() + 1)]) * p
    q = cp.Variable(problem.shape[:2], nonneg=True)
    m, total = values @ q, p @ q
    if eve.loss == "log":
        risk = -cp.sum(cp.rel_entr(m, np.ones((len(values), 1)) @ cp.reshape(total, (1, q.shape[1]), order="C")))
    else:
        risk = 1 - sum(cp.quad_over_lin(m[:, s], total[s]) for s in range(q.shape[1]))
    goal = cp.sum(cp.multiply(p[:, None] * problem.B, q)) - LAM * risk
    return float(cp.Problem(cp.Minimize(goal), [cp.sum(q, axis=1) == 1]).solve(solver=cp.CLARABEL))


def main() -> None:
    print("(N, b, values)  loss    ours s  check s  cvxpy s  ours/cvxpy      gap")
    for size in SIZES:
        for kind in ("log", "brier"):
            problem = random_problem(*size, kind)
            repeats = 2 if size[0] < 1000 else 1
            ours, best = best_time(lambda problem=problem: solve(problem, LAM), repeats)
            check, verdict = best_time(lambda problem=problem, best=best: verify(problem, best.certificate), 1)
            if not verdict:
                raise ArithmeticError(verdict.reason)
            other, ratio = "      -", "         -"
            if size[1] * size[2] <= COMPARED:
                seconds, value = best_time(lambda problem=problem: peer(problem), repeats)
                if not best.bound - 1e-5 < value < best.value + 1e-5:
                    raise ArithmeticError(f"cvxpy finds {value}, outside of the bracket")
                other, ratio = f"{seconds:7.3f}", f"{ours / seconds:10.2f}"
            gap = f"{best.gap:8.1e}"
            print(f"{size!s:15} {kind:6} {ours:7.3f} {check:8.3f} {other:>8} {ratio:>11} {gap}")


if __name__ == "__main__":
    main()
