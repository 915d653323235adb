"""Trust: mutated bundles against both checkers, which must agree, accept nothing false, and stay quick.

    python -m benchmarks trust [COUNT]          100,000 by default

A mutation changes bytes or the structure of a bundle's files, mixes the files of two bundles, or rewrites a number
everywhere; mostly the manifest is made to fit again, so that only the proof is in the way. What is accepted is solved
again: the mechanism must have the value that the bundle states, and no optimum may lie below that by more than the gap.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from bap_lp import Conditions, InputError, Problem, load_bundle, robust, solve, tiers, verify_standalone
from bap_lp.files.bundles import FILES, MANIFEST, Bundle, bundle_files
from bap_lp.files.certificates import certificate_from_dict
from bap_lp.files.problems import kind_of, problem_from_dict
from bap_lp.model.evaluation import risks
from bap_lp.model.problem import Agent
from bap_lp.proof.certificate import reported
from bap_lp.proof.statement import statement_of
from bap_sdc import Eve, Study
from bap_sdc.records.bundle import Unproved, bundle_texts, proved_solution
from benchmarks.mutations import Files, mutated

COUNT = 100_000  # mutations, unless a number is given


@dataclass
class Tally:
    """What happened: counts, what went wrong, and the slowest checks in seconds."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    slowest: dict[str, float] = field(default_factory=lambda: {"main": 0.0, "standalone": 0.0})


@cache
def corpus() -> list[Files]:
    """Bundles of every kind: exact and float, with each condition, by enumeration, by cases, scenarios and tiers."""
    coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]], title="Coin")
    three = Problem(["1/2", "1/3", "1/6"], [[0, 1, 2], [1, 0, 1], [2, 2, 0]], [[0, 1], [2, 0], [1, 1]])
    bob, eve = [[0, 1], [1, 0], [1, 1], [0, 2]], [[0, 1], [2, 0], [1, 0], [0, 1]]
    agents = [Agent(eve, name="a", weight="1/2"), Agent([row[::-1] for row in eve], name="b", weight=2)]
    many = Problem(["1/4", "1/4", "1/2", 0], bobs=[Agent(bob, name="x"), Agent(bob[::-1], name="y")], eves=agents)
    found = [solve(p, lam, exact) for p, lam in ((coin, "1/3"), (three, "1/2"), (many, 1)) for exact in (True, False)]
    found.append(solve(coin, "1/3", formulation="paper"))
    wanted: list[tuple[Problem, dict[str, Any]]] = [
        (coin, {"min_eve_risk": "3/4"}),
        (three, {"max_bob_risk": "1/4", "min_eve_risk": "1/8"}),
        (three, {"exp_epsilon": 2}),
        (three, {"exp_epsilon": 2, "neighbours": [(0, 1), (1, 2)]}),
        (three, {"exp_epsilon": 2, "metric": [[0, 1, 2], [1, 0, 1], [2, 1, 0]]}),
        (three, {"epsilon": 0.7}),
        (three, {"margin": "1/10"}),
        (three, {"deterministic": True}),
        (three, {"deterministic": True, "min_eve_risk": "1/4"}),
        (three, {"deterministic": True, "margin": "1/100"}),
        (many, {"exp_epsilon": 3, "deterministic": True}),
    ]
    half, loss = "1/2", [[0, 1], [2, 0], [1, 1]]
    known = [
        Agent(loss, name="a", knows=["u", "v", "v"]),
        Agent(loss, name="b", knowledge=[[half, half], [1, 0], [0, 1]]),
    ]
    knowing = Problem(["1/2", "1/3", "1/6"], [[0, 1, 2], [1, 0, 1], [2, 2, 0]], eves=known)
    acting = Agent([[0, 1], [1, 0], [2, 1]], harm=[[0, 2], [1, 0], [1, 1]])
    beliefs = Problem([half, half, 0], bobs=[acting], eves=[Agent(loss, prior=["1/4", "1/4", half], weight=2)])
    wanted += [
        (three, {"exp_epsilon": 2, "delta": "1/10"}),
        (three, {"posterior_caps": [{"event": [0], "at_most": "2/3", "at_least": "1/3"}]}),
        (three, {"posterior_ratio": [{"event": [0, "2"], "exp_epsilon": 2}], "deterministic": True}),
        (three, {"independent_of": [[0]], "signal_floor": "1/4"}),
        (three, {"max_leakage": "3/2", "signal_floor": {"Eve": "1/8"}}),
        (three, {"pufferfish": {"pairs": [[[0], [1]]], "exp_epsilon": 2, "priors": [["1/3", "1/3", "1/3"]]}}),
        (knowing, {"min_eve_risk": "1/10"}),
        (beliefs, {"deterministic": True}),
    ]
    wanted += [
        (knowing, {"signal_floor": [["b", 0]], "margin": "1/50"}),
        (beliefs, {"signal_floor": "1/9", "min_eve_risk": "1/9", "margin": "1/99"}),
        (many, {"margin": "1/100"}),
        (many, {"deterministic": True, "posterior_caps": [{"event": [3, 0], "at_most": "3/4"}]}),
        (three, {"min_eve_risk": 0.2, "max_bob_risk": 0.5, "max_leakage": 2.5}),
        (three, {"epsilon": 0.7, "delta": 0.05, "neighbours": [(0, 1)]}),
        (three, {"exp_epsilon": 2, "metric": [[0, "1/2", "inf"], [0.5, 0, 1], [3, 1, 0]]}),
        (
            three,
            {"posterior_caps": [{"event": [1], "at_most": 0.5}], "pufferfish": {"pairs": [[[0], [2]]], "epsilon": 1}},
        ),
        (three, {"exp_epsilon": 2, "delta": 1}),
    ]
    bob, eve = ([[(7 * x + 3 * i + x * x * k) % 9 for i in range(3)] for x in range(6)] for k in (2, 5))
    six = Problem(["1/6"] * 6, bob, eve)
    wanted += [(six, {"deterministic": True, "min_eve_risk": 3}), (six, {"deterministic": True, "max_leakage": 2})]
    found += [solve(p, "1/3", exact) for p in (knowing, beliefs) for exact in (True, False)]
    found.append(solve(three, "1/2", exact=False, formulation="paper"))
    for problem, demands in wanted:
        found += [solve(problem, "1/3", exact, conditions=Conditions(**demands)) for exact in (None, False)]
    coins = [Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [k, 0]]) for k in (4, 10)]
    skewed = Problem(["1/4", "3/4"], [[0, 1], [1, 0]], [[0, 1], [1, 0]])
    out = [bundle_files(solution) for solution in found]
    out += [
        bundle_files(robust(group, "1/3", exact)) for group in (coins, [coins[0], skewed]) for exact in (True, False)
    ]
    more = Problem(coins[0].prior, [[0, 1, "1/2"], [1, 0, "1/2"]], [[0, 1], [1, 0]])
    never = [Problem(["3/4", "1/4", 0], [["1/3", "2/3"], [1, 0], [0, 1]], [[0, 1], [k, 0], [1, 1]]) for k in (2, 9)]
    for group in ([coins[1]], coins, [*coins, more], never):
        out += [bundle_files(tiers(group, "1/3", [1, 2, 3][: len(group)], exact)) for exact in (True, False)]
    demands: list[Any] = [{"exp_epsilon": 3}, {"min_eve_risk": "1/9", "max_leakage": "3/2"}]
    for exact in (True, False):
        out.append(bundle_files(robust(coins, "1/3", exact, demands[0])))
        out.append(bundle_files(tiers(coins, "1/3", [1, 2], exact, demands)))
    return out + [bundle_files(solution) for solution in (*_over_priors(three), *_reports())]


@cache
def record_corpus() -> list[Files]:
    """Folders of records: every form of prior, of losses and of Eves, and conditions by part and at prices."""
    import numpy as np
    import pandas as pd

    draw = np.random.default_rng(1)
    columns = {"age": list("abc"), "ill": ["no", "yes"], "pay": [1, 2, 3], "sex": ["x", "y"]}
    table = pd.DataFrame({name: draw.choice(values, 40) for name, values in columns.items()})
    levels: Any = {"pay": {"levels": [1, 2, 3]}, "ill": {"levels": ["no", "yes"]}}
    near, far = Eve("ill", ["age"], [[0, 1], [3, 0]], name="near"), Eve("sex", ["age", "ill"], name="far")
    informed = Eve("ill", ["age"], informed=3, name="near")
    cap, floor = {"secret": "ill", "level": "yes", "at_most": "3/5"}, {"eve": "near", "at_least": "1/2"}
    studies: list[tuple[list[Eve], dict[str, Any]]] = [
        ([near], {}),
        ([near, far], {"smoothing": "1/3", "toward": "pooled"}),
        ([near, far], {"holdout": "1/3"}),
        ([near], {"smoothing": 0.7}),
        ([informed], {"smoothing": 2}),
        ([Eve("ill", ["age"], "brier")], {"model": "independent"}),
        ([near], {"publish": {"pay": {"loss": "squared", "weight": 0.3}}}),
        ([near], {"conditions": {"cap": [cap]}}),
        ([near, far], {"conditions": {"floor": [floor], "max_bob_risk": "1/2"}}),
        ([near], {"conditions": {"cap": [cap], "floor": [floor], "min_cell": 2}}),
        ([near], {"conditions": {"dp": [{"column": "ill", "exp_epsilon": "5/4"}], "min_eve_risk": "1/3"}}),
        ([near], {"conditions": {"exp_epsilon": 3, "deterministic": False}}),
        ([near], {"conditions": {"deterministic": True, "cap": [cap]}}),
        ([informed], {"conditions": {"cap": [cap]}, "smoothing": 2}),
    ]
    out = []
    for eves, more in studies:
        study = Study(table, **{"publish": {"pay": "absolute", "sex": "0-1"}} | more, eves=eves, columns=levels)
        for exact in (None, False):
            found = study.solve("1/4", exact)
            out.append(bundle_texts(found, found.document()))
    return out


def _over_priors(problem: Problem) -> Iterator[Any]:
    """A set of priors of every form, exact and in floats, and under a condition."""
    line, half = [[0, 1, 2], [1, 0, 1], [2, 1, 0]], ["1/2", "1/4", "1/4"]
    sets: list[Any] = [
        {"total_variation": "1/10"},
        {"lower": ["1/3", "1/4", 0], "upper": ["2/3", 1, "1/3"]},
        {"vertices": [half, ["1/3", "1/3", "1/3"]]},
        {"polytope": {"A": [[1, -1, 0], [-1, 0, 0], [0, 0, 1]], "b": ["1/3", "-1/3", "1/4"]}},
        {"wasserstein": {"radius": "1/10", "metric": line}},
        {"total_variation": 0.05},
    ]
    for one in sets:
        yield solve(problem, "1/2", priors=one)
        yield solve(problem, "1/3", exact=False, priors=one)
    yield solve(problem, "1/3", priors=sets[0], conditions={"exp_epsilon": 2})
    yield solve(problem, "1/3", priors=sets[1], conditions={"min_eve_risk": "1/9"})


def _reports() -> Iterator[Any]:
    """Eves who report probabilities, and limits on information."""
    prior, guess = ["1/2", "1/3", "1/6"], [[0, 1, 2], [1, 0, 1], [2, 2, 0]]
    eves = [Agent("log", secret=["a", "b", "a"], name="a"), Agent("brier", knows=["u", "v", "v"], name="b", weight=2)]
    for group in (eves[:1], eves[1:], eves):
        told = Problem(prior, guess, eves=group)
        yield solve(told, "1/3")
        yield solve(told, "1/3", exact=False)
    told = Problem(prior, guess, eves=eves)
    yield solve(told, "1/9", conditions={"min_eve_risk": "1/3", "exp_epsilon": 4})
    plain = Problem(prior, guess, [[0, 1], [2, 0], [1, 1]])
    yield solve(plain, "1/3", conditions={"max_information": [{"secret": ["a", "b", "a"], "at_most": "1/4"}]})
    yield solve(told, "1/9", conditions={"max_information": [{"eve": "a", "at_most": "1/2"}]})


def _restate(draw: random.Random, files: Files) -> None:
    """The value and the gap that the changed files prove, or a little less: what is left is the proof alone."""
    try:
        whole, proof = (json.loads(files[name]) for name in (FILES[0], FILES[2]))
        certificate, kind = certificate_from_dict(proof, "proof"), kind_of(whole, "problem")
        problems = [problem_from_dict(part).problem for part in (whole[kind] if kind else [whole])]
        statement = statement_of(problems, certificate)
        value = statement.value(certificate.channel)
        bound, _ = statement.bound(certificate.dual, certificate.cases, value)
        found, _, gap = reported(value, bound, certificate.exact)
        gap *= draw.choice((1, 1, 1, 2, 1 - 2**-40 if isinstance(gap, float) else Fraction(99, 100)))
        proof |= {"value": str(Fraction(found)), "gap": str(Fraction(gap))}
    except (ArithmeticError, ValueError, LookupError, TypeError, AttributeError):
        return
    files[FILES[2]] = json.dumps(proof).encode()


def judged(check: Callable[[], Any]) -> tuple[Any, str, float]:
    """What a check returned, the name of the exception that it should not have raised, and its processor time."""
    start = time.process_time()
    try:
        result, crash = check(), ""
    except (InputError, verify_standalone.Refused):
        result, crash = None, ""
    except Exception as error:
        result, crash = None, f"{type(error).__name__}: {error}"[:200]
    return result, crash, time.process_time() - start


def optimum(bundle: Bundle, problem: bytes, known: dict[bytes, Any] = {}) -> Any:  # noqa: B006
    """What a solver finds for the problem of a bundle, kept by the text of its problem.json."""
    if problem not in known:
        problems, lams = [file.problem for file in bundle.problems], [file.lam for file in bundle.problems]
        each: Any = [file.conditions or {} for file in bundle.problems]
        each = {"conditions": each} if any(each) else {}
        if bundle.tiered:
            known[problem] = tiers(problems, lams, bundle.weights, **each)
        elif bundle.robust:
            known[problem] = robust(problems, lams, **each)
        else:
            more = {"conditions": bundle.conditions, "priors": bundle.problems[0].priors}
            known[problem] = solve(problems[0], lams[0], **more)
    return known[problem]


def truth(bundle: Bundle) -> str:
    """What is wrong with the claims of a bundle that was accepted, by other means than a certificate; "" if nothing.

    The agents decide for themselves, which Bob does no worse than he is told. What a solver finds must not be below the
    value by more than the gap, and equal to it if there is no gap. Over a set of priors the value is only compared with
    what a solver finds.
    """
    problems, lams = [file.problem for file in bundle.problems], [file.lam for file in bundle.problems]
    exact, weights = bundle.certificate.exact, [Fraction(w) for w in bundle.weights or [1]]
    best = optimum(bundle, (Path(bundle.path) / FILES[0]).read_bytes())
    least, stated, gap = (Fraction(v) for v in (best.value, bundle.certificate.value, bundle.certificate.gap))
    reports = any(p.reporting for p in problems)
    size = 1 if reports else sum(
        float(p.B.max()) + float(lam) * float(p.E.max()) for p, lam in zip(problems, lams, strict=True)
    )  # fmt: skip
    exactly = best.exact and exact and bundle.mechanism.exact and not reports
    slack = 0 if exactly else Fraction(1e-8 * size * float(max(weights)))
    if least < stated - gap - slack:
        return f"{float(least)} is attainable, below {float(stated)} - {float(gap)}"
    if bundle.certificate.kind == "priors":
        return "" if stated >= least - Fraction(best.gap) - slack else f"{float(stated)} is below what can be attained"
    seen = [bundle.tier(k) if bundle.tiered else bundle.mechanism for k in range(len(problems))]
    own = [
        risks(p if exact else p.as_float(), m if exact else m.as_float()) for p, m in zip(problems, seen, strict=True)
    ]
    parts = [Fraction(r.bob) - Fraction(lam) * Fraction(r.eve) for r, lam in zip(own, lams, strict=True)]
    value = sum(w * v for w, v in zip(weights, parts, strict=True)) if bundle.tiered else max(parts)
    if value > stated + slack:
        return f"the mechanism has value {float(value)}, stated is {float(stated)}"
    return "another value than the optimum" if gap == 0 and abs(value - least) > slack else ""


def of_bundle(folder: str, allow: bool) -> tuple[bool, Callable[[], str]]:
    """What the library says of a bundle, and what is wrong with its claims."""
    bundle = load_bundle(folder)
    return bundle.verify(allow).ok, lambda: truth(bundle)


def of_records(folder: str, allow: bool) -> tuple[bool | None, Callable[[], str]]:
    """What the library says of a folder of records, and what is wrong with its claims.

    None: only its sentences about conditions are those of others, which the checker in one file does not read.
    """
    try:
        found, _ = proved_solution(folder, allow)
    except Unproved as error:
        if str(error).endswith("another conditions than the proof"):
            return None, str
        raise

    def wrong() -> str:
        best, near = found.study.solve(found.lam), 0 if found.exact else 1e-8
        low, high = Fraction(found.value) - Fraction(found.gap), Fraction(best.value)
        return "" if low <= high + Fraction(near) else f"{float(high)} is attainable, below {float(low)}"

    return True, wrong


def run(count: int, seed: int = 0, tell: Callable[[int, Tally], None] | None = None, records: bool = False) -> Tally:
    """Check `count` mutations of bundles, or of folders of records."""
    draw, bundles, tally = random.Random(seed), record_corpus() if records else corpus(), Tally()
    library, known = of_records if records else of_bundle, {}  # type: ignore[var-annotated]
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        for k in range(count):
            files, allow = mutated(draw, bundles, _restate), draw.random() < 0.3
            for name, raw in files.items():
                (Path(folder) / name).write_bytes(raw)
            checks: dict[str, Callable[[], Any]] = {
                "main": lambda allow=allow: library(folder, allow),
                "standalone": lambda allow=allow: verify_standalone.check(folder, allow),
            }
            verdicts = {}
            for name, check in checks.items():
                verdicts[name], crash, seconds = judged(check)
                tally.slowest[name] = max(tally.slowest[name], seconds)
                problems = [f"{name} crashed: {crash}"] if crash else []
                problems += [f"{name} took {seconds:.2f} s"] if seconds > 1 else []
                tally.wrong += [f"{k}: {problem}" for problem in problems]
            ours, theirs = verdicts["main"], verdicts["standalone"] is not None
            accepted = theirs if ours is not None and ours[0] is None else ours is not None and ours[0]
            tally.counts["accepted" if accepted and theirs else "refused"] += 1
            if accepted != theirs:
                tally.wrong.append(f"{k}: main says {accepted}, standalone {theirs}")
            elif accepted and ours[0]:
                claim = tuple(raw for name, raw in files.items() if name != MANIFEST)
                if claim not in known:
                    result, crash, _ = judged(ours[1])
                    refused = "it is refused when it is solved again"
                    known[claim] = f"solving it again: {crash}" if crash else refused if result is None else result
                if known[claim]:
                    tally.wrong.append(f"{k}: accepted, and {known[claim]}")
            if tell is not None and (k + 1) % 5000 == 0:
                tell(k + 1, tally)
    return tally


def main() -> None:
    given = [int(a) for a in sys.argv[1:] if a.isdigit()] or [COUNT]
    for records, count in ((False, given[0] * 4 // 5), (True, given[0] // 5)):
        start = time.perf_counter()
        told = lambda k, t: print(f"{k} {dict(t.counts)} {t.wrong[:5]}", flush=True)  # noqa: E731
        tally = run(count, tell=told, records=records)
        slow = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in tally.slowest.items())
        what = "folders of records" if records else "bundles"
        spent = time.perf_counter() - start
        print(f"{what}: {dict(tally.counts)}, {len(tally.wrong)} wrong, slowest {slow}, {spent:.0f} s")
        print(*tally.wrong[:50], sep="\n")


if __name__ == "__main__":
    main()
