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
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

from bap_lp import Conditions, InputError, Problem, load_bundle, robust, solve, tiers, verify_standalone
from bap_lp.files.bundles import FILES, MANIFEST, Bundle, bundle_files
from bap_lp.files.canonical import kind_of
from bap_lp.files.certificates import certificate_from_dict
from bap_lp.files.problems import problem_from_dict
from bap_lp.files.tables import read_proof_table
from bap_lp.model.evaluation import risks
from bap_lp.model.problem import Agent
from bap_lp.proof.certificate import reported, statement_of

Files = dict[str, bytes]
HOSTILE: list[Any] = [
    *(0, 1, -1, 2, 10**6, 0.5, -0.0, 1e-12, 1e300, -1e300, 1e308, 1e-320, None, True, False, "", " ", "0", "1", "-1"),
    *("1/3", "199/-400", "1/0", "-0/1", "1e9_999_999", "1e300", "1e-300", "1e400", "0x10", "½", "١", "nan", "inf"),
    *("Infinity", " 1/2 ", "1 /2", "+1/2", "0.25", ".5", "5.", "1e", "1" * 301, "1" * 5000, "9" * 25_000, [], {}, [[]]),
    *([None], {"a": 1}, [[0.1]], "fixed", "0" * 400 + "1", "1/" + "3" * 400, 10**9, 10**400, "calibrated"),
    *(
        {"shape": [3], "at": []},
        {"shape": [2, 2], "at": [[0, 0, "1"], [1, 1, "1"]]},
        {"over": "2", "rows": [["1", "1"]]},
    ),
    *({"shape": [0], "at": []}, {"shape": [3], "at": [[0, "1/2"], [2, "1/3"]]}, json.loads("[" * 80 + "]" * 80)),
]
COUNT = 100_000  # mutations, unless a number is given


@dataclass
class Tally:
    """What happened: counts, what went wrong, and the slowest checks in seconds."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    slowest: dict[str, float] = field(default_factory=lambda: {"main": 0.0, "standalone": 0.0})


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
        (three, {"max_signals": 2}),
        (three, {"max_signals": 1, "min_eve_risk": "1/4"}),
        (three, {"deterministic": True, "max_signals": 2, "margin": "1/100"}),
        (many, {"exp_epsilon": 3, "max_signals": 2}),
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
        (three, {"posterior_ratio": [{"event": [0, "2"], "exp_epsilon": 2}], "max_signals": 2}),
        (three, {"independent_of": [[0]], "signal_floor": "1/4"}),
        (three, {"max_leakage": "3/2", "signal_floor": {"Eve": "1/8"}}),
        (three, {"pufferfish": {"pairs": [[[0], [1]]], "exp_epsilon": 2, "priors": [["1/3", "1/3", "1/3"]]}}),
        (knowing, {"min_eve_risk": "1/10"}),
        (beliefs, {"max_signals": 2}),
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
    wanted += [(six, {"deterministic": True, "min_eve_risk": 3}), (six, {"deterministic": True, "max_signals": 2})]
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
    return out


def refitted(files: Files) -> Files:
    """The files with a manifest that fits them, as far as they can be read."""
    try:
        manifest, problem = (json.loads(files[name]) for name in (MANIFEST, FILES[0]))
        several = problem.get("scenarios") or problem.get("tiers")
        prices = [one["alice"]["lambda"] for one in several or [problem]]
        manifest |= {"lambda": prices if several else prices[0], "conditions": problem.get("conditions", {})}
        manifest["files"] = {name: sha256(files[name]).hexdigest() for name in FILES}
        return files | {MANIFEST: json.dumps(manifest).encode()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return files


def mutated(draw: random.Random, bundles: list[Files]) -> Files:
    """A mutation of a bundle."""
    files, kind = dict(draw.choice(bundles)), draw.random()
    if kind < 0.15:
        _bytes(draw, files)
    elif kind < 0.25:
        name, other = draw.choice(FILES), draw.choice(bundles)
        files[name] = other[name]
    elif kind < 0.35:
        _everywhere(draw, files)
    elif kind < 0.45:
        _demand(draw, files, bundles)
    elif kind < 0.6:
        for _ in range(draw.choice((1, 1, 2, 3))):
            _shift(draw, files)
    else:
        for _ in range(draw.choice((1, 1, 1, 2, 3))):
            name = draw.choice((*FILES, FILES[2], FILES[2], MANIFEST))
            document = json.loads(files[name])
            _structure(draw, document)
            files[name] = json.dumps(document).encode()
    if draw.random() < 0.5:
        _restate(draw, files)
    return refitted(files) if draw.random() < 0.9 else files


def _shift(draw: random.Random, files: Files) -> None:
    """Probability moved between signals in mechanism and proof alike, or weight between the replies of an observer."""
    mechanism, proof = (json.loads(files[name]) for name in FILES[1:])
    rows = _rows(proof["channel"])
    share = draw.choice((Fraction(1), Fraction(1, 2), Fraction(1, 3), Fraction(1, 2**60)))
    if draw.random() < 0.5 and len(rows[0]) == len(mechanism["signals"]):
        _move(draw, draw.choice(rows), share)
        proof["channel"] = mechanism["channel"] = [[str(v) for v in row] for row in rows]
    elif proof["replies"]:
        part = draw.choice([proof, *proof.get("cases", [])])
        name = draw.choice(list(part["replies"]))
        rows = _rows(part["replies"][name])
        _move(draw, draw.choice(rows), share)
        part["replies"][name] = [[str(v) for v in row] for row in rows]
    files |= {FILES[1]: json.dumps(mechanism).encode(), FILES[2]: json.dumps(proof).encode()}


def _move(draw: random.Random, row: list[Fraction], share: Fraction) -> None:
    a, b = (draw.randrange(len(row)) for _ in range(2))
    moved = row[a] * share
    row[a] -= moved
    row[b] += moved


def _rows(table: Any) -> list[list[Fraction]]:
    return [[Fraction(int(v.p), int(v.q)) for v in row] for row in read_proof_table(table, "table").tolist()]


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


def _bytes(draw: random.Random, files: Files) -> None:
    name = draw.choice((*FILES, MANIFEST))
    raw = bytearray(files[name])
    for _ in range(draw.choice((1, 1, 2, 8))):
        at = draw.randrange(len(raw) + 1)
        match draw.randrange(4):
            case 0 if at < len(raw):
                raw[at] = draw.randrange(256)
            case 1:
                raw[at:at] = bytes(
                    draw.choice((b"0", b"1", b'"', b",", b"/", b"-", b".", b"e", b"_", b"{", b"\xff", b" "))
                )
            case 2:
                del raw[at : at + draw.choice((1, 1, 2, 10))]
            case _:
                raw[at:at] = raw[max(0, at - draw.randrange(1, 40)) : at]
    files[name] = bytes(raw)


def _everywhere(draw: random.Random, files: Files) -> None:
    """One number rewritten in all files: a consistent lie."""
    numbers = sorted({m for name in FILES for m in _numbers(json.loads(files[name]))})
    old, new = draw.choice(numbers), draw.choice([*numbers, "1/7", "0", "2"])
    for name in FILES:
        files[name] = files[name].replace(json.dumps(old).encode(), json.dumps(new).encode())


def _demand(draw: random.Random, files: Files, bundles: list[Files]) -> None:
    """A condition of another bundle, or a hostile one, in the problem and mostly in the certificate too."""
    theirs = json.loads(draw.choice(bundles)[FILES[0]]).get("conditions", {})
    name = draw.choice([*theirs, *Conditions.__dataclass_fields__])
    value = theirs[name] if name in theirs and draw.random() < 0.5 else draw.choice(HOSTILE)
    for place in (FILES[0], FILES[2]) if draw.random() < 0.8 else (FILES[0],):
        document = json.loads(files[place])
        document["conditions"] = document.get("conditions", {}) | {name: value}
        files[place] = json.dumps(document).encode()


def _numbers(node: Any) -> list[str]:
    if isinstance(node, (dict, list)):
        return [m for child in (node.values() if isinstance(node, dict) else node) for m in _numbers(child)]
    return [node] if isinstance(node, str) and node[:1].isdigit() else []


def _structure(draw: random.Random, document: Any) -> None:
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        for key, child in node.items() if isinstance(node, dict) else enumerate(node):
            places.append((node, key))
            if isinstance(child, (dict, list)):
                walk(child)

    walk(document)
    if not places:
        return
    node, key = draw.choice(places)
    match draw.randrange(6):
        case 0:
            node[key] = draw.choice(HOSTILE)
        case 1:
            node[key] = _near(draw, node[key])
        case 2:
            other, there = draw.choice(places)
            node[key] = json.loads(json.dumps(other[there]))
        case 3:
            del node[key]
        case 4 if isinstance(node, list):
            node.insert(draw.randrange(len(node) + 1), json.loads(json.dumps(node[key])))
        case 4:
            node[
                draw.choice(
                    ("knows", "conditions", "channel", "cases", "theta", "void", "delta", "prior", "harm", "rows", "x")
                )
            ] = draw.choice(HOSTILE)
        case _:
            if isinstance(node[key], list):
                draw.shuffle(node[key])
            else:
                node[key] = _near(draw, node[key])


def _near(draw: random.Random, value: Any) -> Any:
    """A number close to this one, or the same one written otherwise."""
    step = draw.choice((Fraction(1, 10**12), Fraction(1, 10**9), Fraction(1, 10), Fraction(1), Fraction(0)))
    step *= draw.choice((1, -1))
    if isinstance(value, float):
        return draw.choice((value * (1 + float(step)), value + float(step), Fraction(value).__str__(), -value))
    try:
        exact = Fraction(value) if not isinstance(value, bool) else Fraction(0)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        return draw.choice(HOSTILE)
    if abs(exact) > 10**300:
        return draw.choice(HOSTILE)
    spelled = [
        str(exact + step),
        str(exact * (1 + step)),
        float(exact + step),
        f"{exact.numerator * 2}/{exact.denominator * 2}",
    ]
    return draw.choice(spelled)


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


def truth(bundle: Bundle) -> str:
    """What is wrong with the claims of a bundle that was accepted, by other means than a certificate; "" if nothing.

    The agents decide for themselves, which Bob does no worse than he is told. What a solver finds must not be below the
    value by more than the gap, and equal to it if there is no gap.
    """
    problems, lams = [file.problem for file in bundle.problems], [file.lam for file in bundle.problems]
    exact, weights = bundle.certificate.exact, [Fraction(w) for w in bundle.weights or [1]]
    seen = [bundle.tier(k) if bundle.tiered else bundle.mechanism for k in range(len(problems))]
    own = [
        risks(p if exact else p.as_float(), m if exact else m.as_float()) for p, m in zip(problems, seen, strict=True)
    ]
    parts = [Fraction(r.bob) - Fraction(lam) * Fraction(r.eve) for r, lam in zip(own, lams, strict=True)]
    value = sum(w * v for w, v in zip(weights, parts, strict=True)) if bundle.tiered else max(parts)
    if bundle.tiered:
        best: Any = tiers(problems, lams, bundle.weights)
    else:
        best = robust(problems, lams) if bundle.robust else solve(problems[0], lams[0], conditions=bundle.conditions)
    least, stated, gap = (Fraction(v) for v in (best.value, bundle.certificate.value, bundle.certificate.gap))
    size = sum(float(p.B.max()) + float(lam) * float(p.E.max()) for p, lam in zip(problems, lams, strict=True))
    slack = 0 if best.exact and exact and bundle.mechanism.exact else Fraction(1e-8 * size * float(max(weights)))
    if value > stated + slack:
        return f"the mechanism has value {float(value)}, stated is {float(stated)}"
    if least < stated - gap - slack:
        return f"{float(least)} is attainable, below {float(stated)} - {float(gap)}"
    return "another value than the optimum" if gap == 0 and abs(value - least) > slack else ""


def run(count: int, seed: int = 0, tell: Callable[[int, Tally], None] | None = None) -> Tally:
    """Check `count` mutations."""
    draw, bundles, tally = random.Random(seed), corpus(), Tally()
    known: dict[tuple[bytes, ...], str] = {}
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        for k in range(count):
            files, allow = mutated(draw, bundles), draw.random() < 0.3
            for name, raw in files.items():
                (Path(folder) / name).write_bytes(raw)
            bundle: list[Bundle] = []

            def ours(allow: bool = allow, bundle: list[Bundle] = bundle) -> bool:
                bundle.append(load_bundle(folder))
                return bundle[0].verify(allow).ok or None  # type: ignore[return-value]

            checks = {"main": ours, "standalone": lambda allow=allow: verify_standalone.check(folder, allow)}
            verdicts = {}
            for name, check in checks.items():
                verdicts[name], crash, seconds = judged(check)
                tally.slowest[name] = max(tally.slowest[name], seconds)
                problems = [f"{name} crashed: {crash}"] if crash else []
                problems += [f"{name} took {seconds:.2f} s"] if seconds > 1 else []
                tally.wrong += [f"{k}: {problem}" for problem in problems]
            accepted = [verdicts[name] is not None for name in checks]
            tally.counts["accepted" if all(accepted) else "refused"] += 1
            if accepted[0] != accepted[1]:
                tally.wrong.append(f"{k}: main says {accepted[0]}, standalone {accepted[1]}")
            elif accepted[0]:
                claim = (
                    files[FILES[0]],
                    files[FILES[1]],
                    repr((bundle[0].certificate.value, bundle[0].certificate.gap)).encode(),
                )
                if claim not in known:
                    result, crash, _ = judged(lambda bundle=bundle: truth(bundle[0]))
                    known[claim] = (
                        f"solving it again: {crash}"
                        if crash
                        else "it is refused when it is solved again"
                        if result is None
                        else result
                    )
                if known[claim]:
                    tally.wrong.append(f"{k}: accepted, and {known[claim]}")
            if tell is not None and (k + 1) % 5000 == 0:
                tell(k + 1, tally)
    return tally


def main() -> None:
    given = [a for a in sys.argv[1:] if a.isdigit()]
    start = time.perf_counter()
    tally = run(
        int(given[0]) if given else COUNT, tell=lambda k, t: print(f"{k} {dict(t.counts)} {t.wrong[:5]}", flush=True)
    )
    slow = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in tally.slowest.items())
    print(f"{dict(tally.counts)}, {len(tally.wrong)} wrong, slowest {slow}, {time.perf_counter() - start:.0f} s")
    for line in tally.wrong[:50]:
        print(line)


if __name__ == "__main__":
    main()
