"""Exact solves against QSopt_ex, GLPK, qif and sympy on the same data.

Ours is the time of `solve` on a problem that was not solved before. Peers are given the compact program on merged
states, the form that is best for them (qif: its own constrained form at Eve's optimal risk, which has the same
optimum). QSopt_ex and GLPK run as programs on a file; the time of reading it is taken off: QSopt_ex tells it, and that
of GLPK is the time of `glpsol --check`, less the same for an empty program. GLPK reads decimals, so its exact
arithmetic works on rounded data. Everybody runs in turns, and the shortest run of each counts, in seconds of the
processor, which other programs on the machine disturb least. A peer that needs more than LIMIT seconds is stopped and
shown as >.
"""

from __future__ import annotations

import math
import re
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from bap_lp import Problem, Solution, solve
from bap_lp.engines.linear.linear_program import LinearProgram
from bap_lp.support.rational import number
from benchmarks.instances import KINDS, SIZES, best_time, compact_program

LIMIT = 120.0
GLPK = "GLPK --xcheck"
LAM = Fraction(1)


def lp_text(lp: LinearProgram) -> str:
    """The program in LP format; rationals as a/b, floats in full."""
    m = lp.shape[0]
    rows: list[list[str]] = [[] for _ in range(m)]
    for j, r, v in zip(lp.column_of.tolist(), lp.index.tolist(), lp.value.tolist(), strict=True):
        rows[r].append(f"{'+' if v >= 0 else '-'} {abs(v)} z{j}")
    objective = " ".join(f"{'+' if v >= 0 else '-'} {abs(v)} z{j}\n" for j, v in enumerate(lp.cost.tolist()) if v != 0)
    lines = ["Minimize", " obj: " + (objective or "0 z0"), "Subject To"]
    for r, terms in enumerate(rows):
        lines.append(f" r{r}: " + "\n ".join(terms) + (" = " if lp.equality[r] else " <= ") + str(lp.rhs[r]))
    lines += ["Bounds", *(f" z{j} free" for j in np.flatnonzero(lp.free)), "End", ""]
    return "\n".join(lines)


def by_children() -> float:
    """Seconds of the processor that programs started here have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(command: list[str], folder: str) -> str | None:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return None
    return done.stdout + done.stderr


def qsopt(problem: Problem, solution: Solution) -> float | None:
    lp = compact_program(problem.arrays.merged()[0], number(LAM, "lam"))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "p.lp").write_text(lp_text(lp))
        start = by_children()
        said = run(["esolver", "-L", "-O", "p.sol", "p.lp"], folder)
        elapsed = by_children() - start
        if said is None:
            return None
        value = re.search(r"Value = (\S+)", Path(folder, "p.sol").read_text())
        assert value, said[-500:]
        assert Fraction(value[1]) == solution.value, "QSopt_ex disagrees"
        reading = re.search(r"Time for SOLVER_READ_MPQ: ([\d.]+)", said)
        return elapsed - (float(reading[1]) if reading else 0.0)


def glpk(problem: Problem, solution: Solution) -> float | None:
    lp = compact_program(problem.arrays.merged()[0].rounded, float(LAM))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "p.lp").write_text(lp_text(lp))
        start = by_children()
        said = run(["glpsol", "--lp", "p.lp", "--xcheck", "-o", "p.sol"], folder)
        elapsed = by_children() - start
        if said is None:
            return None
        value = re.search(r"obj = (\S+)", Path(folder, "p.sol").read_text())
        assert value, said[-500:]
        assert abs(float(value[1]) - float(solution.value)) < 1e-5, "GLPK disagrees"
        return elapsed


def glpk_reading(problem: Problem | None) -> float:
    """The time in which GLPK starts, reads a problem (or an empty program) and stops."""
    lp = None if problem is None else compact_program(problem.arrays.merged()[0].rounded, float(LAM))
    with tempfile.TemporaryDirectory() as folder:
        empty = "Minimize\n obj: z0\nSubject To\n r0: z0 <= 1\nEnd\n"
        Path(folder, "p.lp").write_text(empty if lp is None else lp_text(lp))
        start = by_children()
        assert run(["glpsol", "--lp", "p.lp", "--check"], folder)
        return by_children() - start


def ours(problem: Problem, exact: bool) -> float:
    fresh = Problem(problem.p, problem.B, problem.E)
    start = time.process_time()
    solve(fresh, LAM, exact=exact)
    return time.process_time() - start


def qif(problem: Problem, solution: Solution) -> float | None:
    import qif as peer

    peer.set_default_type(peer.rat)
    p, B, E = problem.prior, problem.bob_loss, problem.eve_loss
    prior = np.array([peer.rat(v.numerator, v.denominator) for v in p])
    floor = peer.rat(solution.risks.eve.numerator, solution.risks.eve.denominator)
    N, b, e = problem.shape
    start = time.process_time()
    C = peer.mechanism.l_risk.min_loss_given_min_risk(prior, b, e, floor, lambda w, x: E[x, w], lambda x, y: B[x, y])
    elapsed = time.process_time() - start
    bob = sum((p[x] * Fraction(C[x, i]) * B[x, i] for x in range(N) for i in range(b) if C[x, i] != 0), Fraction(0))
    assert bob == solution.risks.bob, "qif disagrees"
    return elapsed


def sympy_lpmin(problem: Problem, solution: Solution) -> float | None:
    import sympy
    from sympy.solvers.simplex import lpmin

    lp = compact_program(problem.arrays, number(LAM, "lam"))
    z = sympy.symbols(f"z:{lp.shape[1]}", real=True)

    def rat(v: Any) -> Any:
        return sympy.Rational(int(v.p), int(v.q))

    sides: list[Any] = [sympy.S.Zero] * lp.shape[0]
    for j, r, v in zip(lp.column_of.tolist(), lp.index.tolist(), lp.value.tolist(), strict=True):
        sides[r] += rat(v) * z[j]
    rows = [sympy.Eq(s, rat(h)) if q else s <= rat(h) for s, h, q in zip(sides, lp.rhs, lp.equality, strict=True)]
    rows += [z[j] >= 0 for j in np.flatnonzero(~lp.free)]
    start = time.process_time()
    value, _ = lpmin(sum(rat(c) * v for c, v in zip(lp.cost, z, strict=True)), rows)
    elapsed = time.process_time() - start
    assert value == sympy.Rational(solution.value.numerator, solution.value.denominator), "sympy disagrees"
    return elapsed


def exact_peers() -> dict[str, Callable[[Problem, Solution], float | None]]:
    peers: dict[str, Callable[[Problem, Solution], float | None]] = {}
    for name, program, package, peer in (
        ("QSopt_ex", "esolver", "qsopt-ex", qsopt),
        (GLPK, "glpsol", "glpk-utils", glpk),
    ):
        if shutil.which(program):
            peers[name] = peer
        else:
            print(f"{name} is left out: install the Debian package {package}")
    return {**peers, "qif (rational)": qif, "sympy lpmin": sympy_lpmin}


# the largest N*b*e at which a peer ends within minutes
REACH = {"QSopt_ex": 10**6, GLPK: 10**6, "qif (rational)": 10**5, "sympy lpmin": 300}


def shortest(runners: dict[str, Callable[[], float | None]]) -> dict[str, float]:
    """The shortest run of everyone, in turns for a second and a half and three runs each; infinite if one was stopped.

    Ten runs of 50 ms, which is half a second, left an error of five per cent on a machine with other work.
    """
    times: dict[str, list[float]] = {name: [] for name in runners}
    waiting = set(runners)
    while waiting:
        for name in [name for name in runners if name in waiting]:
            taken = runners[name]()
            times[name].append(math.inf if taken is None else taken)
            if sum(times[name]) > 5 or (len(times[name]) >= 3 and sum(times[name]) > 1.5):
                waiting.remove(name)
    return {name: min(found) for name, found in times.items()}


def exact_table(console: Console, sizes: list[tuple[int, int, int]]) -> None:
    peers = exact_peers()
    table = Table("data", "(N, b, e)", "exact, s", "exact / float", *(f"{p} / ours" for p in peers))
    for kind, make in KINDS.items():
        for size in sizes:
            problem = make(*size)
            solution = solve(problem, LAM)
            runners = {
                "exact": partial(ours, problem, True),
                "float": partial(ours, problem, False),
                **{
                    name: partial(peer, problem, solution)
                    for name, peer in peers.items()
                    if prod(size) <= REACH[name] and not (name == "qif (rational)" and size[0] > 500)
                },
            }
            if GLPK in peers:
                runners |= {"reading": partial(glpk_reading, problem), "empty": partial(glpk_reading, None)}
            found = shortest(runners)
            if GLPK in found:
                found[GLPK] -= max(found["reading"] - found["empty"], 0.0)
            exact = found["exact"]
            ratios = [
                "-" if name not in found
                else f"> {LIMIT / exact:.0f}" if found[name] == math.inf
                else f"{found[name] / exact:.2f}"
                for name in peers
            ]  # fmt: skip
            table.add_row(kind, str(size), f"{exact:.5f}", f"{exact / found['float']:.2f}", *ratios)
            console.print(f"done: {kind} {size}", style="dim")
    console.print(table)


def growth_table(console: Console) -> None:
    table = Table("(N, b, e)", "exact, s", "per state, ms", title="Exact optima of many states")
    for size in [(1000, 3, 3), (10_000, 3, 3), (100_000, 3, 3)]:
        problem = KINDS["rationals to 1000"](*size)
        ours, solution = best_time(lambda problem=problem: solve(problem, "1/2"), 1)
        assert solution.exact
        assert solution.gap == 0
        table.add_row(str(size), f"{ours:.2f}", f"{1000 * ours / size[0]:.3f}")
    console.print(table)


def main(sizes: list[tuple[int, int, int]] | None = None) -> None:
    console = Console(width=140)
    growth_table(console)
    exact_table(console, sizes or SIZES)


if __name__ == "__main__":
    main()
