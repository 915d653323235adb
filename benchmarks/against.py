"""Two checkouts on the same random problems: python -m benchmarks.against OTHER [COUNT [SEED]].

OTHER is a folder with a checkout and, if it has one, its `.venv`. Every case is drawn from its number, solved in a
process of its own checkout, and compared: value, bound and risks as rationals, refusals by their kind, and the
mechanism where `uniqueness` says that it is the only one. Under conditions and own beliefs that is not asked: there
the mechanisms that agree are only counted.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from fractions import Fraction as F
from pathlib import Path
from typing import Any

Case = dict[str, Any]
HOME = Path(__file__).parents[1]
QUESTIONS = {  # how often each is asked
    "free": 24, "several": 10, "beliefs": 10, "knowledge": 8, "conditions": 60, "deterministic": 14, "reports": 8,
    "robust": 10, "robust conditions": 4, "tiers": 8, "tiers conditions": 4, "priors": 14, "path": 12, "sdc": 6,
    "unique": 6, "slopes": 4, "large": 4, "floats": 10,
}  # fmt: skip
ASKED = (
    *("min_eve_risk", "max_bob_risk", "exp_epsilon", "neighbours", "metric", "delta", "posterior_caps"),
    *("posterior_ratio", "signal_floor", "max_leakage", "pufferfish", "independent_of", "margin"),
)
_PATIENCE = 60  # seconds for a case
_SHOWN = 20  # differences


class Draw(random.Random):
    """Problems of every temper, as plain tables of text."""

    def number(self, temper: str) -> F:
        match temper:
            case "zero_one":
                return F(self.randint(0, 1))
            case "small":
                return F(self.randint(0, 3))
            case "quarters":
                return F(self.randint(0, 8), 4)
            case "close":
                return F(self.randint(0, 2)) + F(self.randint(0, 3), 10 ** self.randint(7, 20))
            case "wide":
                return F(self.randint(0, 999), self.randint(1, 99)) * F(10) ** self.randint(-9, 9)
        return F(self.randint(0, 1000), self.randint(1, 1000))

    def table(self, rows: int, columns: int, temper: str) -> list[list[str]]:
        if temper == "distances":
            at = [F(x, max(rows - 1, 1)) for x in range(rows)]
            return [[str(abs(x - F(j, max(columns - 1, 1)))) for j in range(columns)] for x in at]
        few = [[str(self.number(temper)) for _ in range(columns)] for _ in range(rows)]
        return [few[self.randrange(rows)] if self.random() < 0.15 else row for row in few]  # equal states

    def prior(self, size: int, zeros: bool = True) -> list[str]:
        weights = [F(self.randint(0 if zeros else 1, 12)) for _ in range(size)]
        if self.random() < 0.15:
            weights = [w / 2 ** self.randint(0, 60) for w in weights]
        weights[self.randrange(size)] += 1
        return [str(w / sum(weights)) for w in weights]

    def problem(self, states: int = 6, bobs: int = 1, eves: int = 1, own: bool = False, knows: bool = False) -> Case:
        temper = self.choice(["ordinary", "zero_one", "small", "quarters", "close", "wide", "distances"])
        N = self.randint(1, states)
        out: Case = {}
        for role, count in (("bobs", bobs), ("eves", eves)):
            group = []
            for k in range(count):
                d = self.randint(1, 4 if count == 1 else 2)
                one: Case = {"loss": self.table(N, d, temper), "name": f"{role[0]}{k}", "weight": self.choice("1112")}
                if own and self.random() < 0.5:
                    one["harm"] = self.table(N, d, temper)
                if own and self.random() < 0.5:
                    one["prior"] = self.prior(N)
                if knows and role == "eves":
                    if self.random() < 0.5:
                        one["knows"] = [self.choice("ab") for _ in range(N)]
                    else:
                        one["knowledge"] = [self.prior(2) for _ in range(N)]
                group.append(one)
            out[role] = group
        return {"p": self.prior(N), **out}

    def lam(self) -> str:
        return self.choice(
            ["calibrated", "0", str(F(self.randint(0, 40), self.randint(1, 12))), str(F(self.randint(0, 12), 4))]
        )

    def event(self, N: int) -> list[int]:
        return sorted(self.sample(range(N), self.randint(1, N)))

    def conditions(self, N: int, eves: list[Case]) -> Case:
        out: Case = {}
        for name in self.sample(ASKED, self.choice([1, 1, 1, 2, 2, 3])):
            factor = str(1 + F(self.randint(0, 12), 4))
            match name:
                case "min_eve_risk" | "max_bob_risk":
                    out[name] = f"share {self.randint(0, 8)}/8"
                case "exp_epsilon" | "neighbours" | "metric" | "delta":
                    out["exp_epsilon"] = factor
                    if name == "neighbours" and "metric" not in out:
                        out[name] = [[x, x + 1] for x in range(N - 1)]
                    if name == "metric" and "neighbours" not in out:
                        out[name] = [[abs(x - y) for y in range(N)] for x in range(N)]
                    if name == "delta":
                        out[name] = f"{self.randint(0, 4)}/8"
                case "posterior_caps":
                    out[name] = [{"event": self.event(N), "at_most": f"{self.randint(2, 8)}/8"}]
                case "posterior_ratio":
                    out[name] = [{"event": self.event(N), "exp_epsilon": factor}]
                case "signal_floor":
                    out[name] = f"{self.randint(0, 3)}/8"
                case "max_leakage":
                    out[name] = factor
                case "pufferfish":
                    out[name] = {"pairs": [[self.event(N), self.event(N)]], "exp_epsilon": factor}
                case "independent_of":
                    out[name] = [self.event(N)]
                case "margin":
                    out[name] = self.choice(["0", "1/20", "1/4"])
        return out


def drawn(number: int, seed: int) -> Case:
    """The case of this number."""
    draw = Draw(f"{seed} {number}")
    question = draw.choices([*QUESTIONS], [*QUESTIONS.values()])[0]
    case: Case = {"question": question, "lam": draw.lam(), "conditions": {}}
    match question.partition(" ")[0]:
        case "several":
            case["problem"] = draw.problem(5, draw.randint(1, 2), draw.randint(1, 3))
        case "beliefs":
            case["problem"] = draw.problem(4, draw.randint(1, 2), draw.randint(1, 2), own=True)
        case "knowledge":
            case["problem"] = draw.problem(5, 1, draw.randint(1, 2), knows=True)
        case "large":
            case["problem"] = draw.problem(40)
        case "robust" | "tiers":
            first = draw.problem(5)
            case["problem"], case["lam"] = first, str(F(draw.randint(0, 12), 4))
            case["others"] = [_like(draw, first, question.startswith("robust")) for _ in range(draw.randint(1, 2))]
        case _:
            case["problem"] = draw.problem(
                5, 1, draw.choice([1, 1, 2]), own=question == "conditions" and draw.random() < 0.2
            )
    N = len(case["problem"]["p"])
    if question in ("conditions", "floats") or question.endswith(" conditions"):
        case["conditions"] = draw.conditions(N, case["problem"]["eves"])
        if question.endswith(" conditions") or question == "floats":
            case["conditions"].pop("margin", None)
    if question == "deterministic":
        case["conditions"] = {"deterministic": True, **(draw.conditions(N, []) if draw.random() < 0.4 else {})}
    if question == "reports":
        case["conditions"] = {"max_information": f"{draw.randint(1, 8)}/8"} if draw.random() < 0.5 else {}
        case["problem"]["eves"] = [{"loss": draw.choice(["log", "brier"]), "name": "e0"}]
    if question == "priors":
        match draw.choice(["tv", "box", "vertices"]):
            case "tv":
                case["priors"] = {"total_variation": f"{draw.randint(0, 4)}/8"}
            case "box":
                p = [F(w) for w in case["problem"]["p"]]
                case["priors"] = {"lower": [str(w / 2) for w in p], "upper": [str((w + 1) / 2) for w in p]}
            case "vertices":
                case["priors"] = {"vertices": [draw.prior(N) for _ in range(draw.randint(1, 3))]}
    case["at"] = str(F(draw.randint(0, 16), 16))
    return case


def _like(draw: Draw, first: Case, own: bool) -> Case:
    """Another problem on the same states with as many decisions, perhaps with a prior of its own."""
    N = len(first["p"])
    out: Case = {"p": draw.prior(N) if own else first["p"]}
    for role in ("bobs", "eves"):
        out[role] = [{**one, "loss": draw.table(N, len(one["loss"][0]), "quarters")} for one in first[role]]
    return out


def answered(case: Case) -> Case:
    """What this checkout says: the numbers as text."""
    import bap_lp
    from bap_lp import Agent, Conditions, InputError, Problem

    def problem(given: Case) -> Problem:
        bobs, eves = ([Agent(**one) for one in given[role]] for role in ("bobs", "eves"))
        return Problem(given["p"], bobs=bobs, eves=eves)

    def stated(given: Case, about: Problem) -> Conditions | None:
        out = dict(given)
        for name, key in (("min_eve_risk", "eve"), ("max_bob_risk", "bob")):
            if name in out:
                ends = [getattr(bap_lp.evaluate(about, q).risks, key) for q in usual(about)]
                out[name] = ends[0] + (ends[1] - ends[0]) * F(out[name].partition(" ")[2])
        return Conditions(**out) if out else None

    try:
        about = problem(case["problem"])
        return _asked(
            bap_lp, case, about, stated(case["conditions"], about), [problem(o) for o in case.get("others", [])]
        )
    except InputError as error:
        return {"refused": type(error).__name__}
    except TimeoutError:
        return {"late": True}


def usual(about: Any) -> tuple[Any, Any]:
    """Its full and its null release."""
    from bap_lp import releases

    return releases.full(about), releases.null(about)


def _asked(bap_lp: Any, case: Case, about: Any, conditions: Any, others: list[Any]) -> Case:
    question, lam = case["question"].partition(" ")[0], case["lam"]
    lam = lam if lam == "calibrated" else F(lam)
    if question in ("robust", "tiers"):
        several = [about, *others]
        found = getattr(bap_lp, question)(several, [lam] * len(several), conditions=conditions)
        return {"value": str(found.value), "bound": str(found.bound)}
    if question == "path":
        path = bap_lp.lambda_path(about, conditions=conditions)
        return {"breakpoints": list(map(str, path.breakpoints)), "values": [str(path.value(F(k, 3))) for k in range(8)]}
    if question == "sdc":
        ends = [bap_lp.evaluate(about, q).risks.bob for q in usual(about)]
        found = bap_lp.sdc(about, max_bob_risk=ends[0] + (ends[1] - ends[0]) * F(case["at"]))
        return {"risks": [str(found.risks.bob), str(found.risks.eve)]}
    if question == "unique":
        found = bap_lp.uniqueness(about, lam)
        return {"unique": bool(found.unique)}
    priors = None
    if "priors" in case:
        kind = bap_lp.PriorSet
        (name, value), *more = case["priors"].items()
        priors = kind.box(**case["priors"]) if more else getattr(kind, name)(value)
    if question == "slopes":
        found = bap_lp.sensitivity(about, lam)
        return {"value": str(bap_lp.solve(about, lam).value), "unique": bool(getattr(found, "unique", False))}
    if question == "floats":
        found = bap_lp.solve(about.as_float(), lam if lam == "calibrated" else float(lam), False, conditions=conditions)
        verdict = bap_lp.verify(about.as_float(), found.certificate)
        return {"near": found.value, "gap": found.gap, "verified": bool(verdict)}
    found = bap_lp.solve(about, lam, conditions=conditions, priors=priors, time_limit=60)
    out = {
        "value": str(found.value),
        "bound": str(found.bound),
        "verified": bool(bap_lp.verify(about, found.certificate)),
    }
    if found.exact:
        out["risks"] = [str(found.risks.bob), str(found.risks.eve)]
        out["channel"] = [[str(v) for v in row] for row in found.mechanism.channel]
        if conditions is None and question in ("free", "several", "knowledge", "large"):
            out["unique"] = bool(bap_lp.uniqueness(about, lam).unique)
    return out


def _answers(tree: Path, cases: Path, out: Path) -> subprocess.Popen[bytes]:
    python = tree / ".venv" / "bin" / "python"
    command = [
        str(python if python.exists() else sys.executable),
        "-P",
        str(Path(__file__)),
        "--answer",
        str(cases),
        str(out),
    ]
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1"}, cwd=tree)


def _late(*_: Any) -> None:
    raise TimeoutError


def _answer(cases: Path, out: Path) -> None:
    signal.signal(signal.SIGALRM, _late)
    with out.open("w") as file:
        for line in cases.read_text().splitlines():
            begin = time.perf_counter()
            signal.alarm(_PATIENCE)
            try:
                found = answered(json.loads(line))
            except Exception as error:
                found = {"crash": f"{type(error).__name__}: {error}"}
            file.write(json.dumps({**found, "seconds": time.perf_counter() - begin}) + "\n")
            file.flush()


def differs(case: Case, ours: Case, theirs: Case) -> str:
    """What is not the same, or ""."""
    if "crash" in ours:
        return str(ours["crash"])
    if "late" in ours or "late" in theirs or "crash" in theirs:
        return ""
    if ours.get("verified") is False:
        return "does not verify"
    if "near" in ours and "near" in theirs:
        far = abs(ours["near"] - theirs["near"]) > 1e-7 * max(1, abs(theirs["near"]))
        return "value" if far else "gap" if ours["gap"] > max(1e-7 * max(1, abs(ours["near"])), theirs["gap"]) else ""
    for key in ("refused", "value", "bound", "breakpoints", "values", "unique", "near"):
        if ours.get(key) != theirs.get(key):
            return f"{key}: {ours.get(key)} here, {theirs.get(key)} there"
    if ours.get("channel") != theirs.get("channel") and ours.get("unique"):
        return "mechanism"
    if ours.get("unique") and ours.get("risks") != theirs.get("risks"):
        return "risks"
    return ""


def main(report: Callable[[str], None] = print) -> None:
    other, given = Path(sys.argv[1]), [int(v) for v in sys.argv[2:4]]
    count, seed = [*given, *(3000, 0)[len(given) :]]
    with tempfile.TemporaryDirectory() as folder:
        cases, outs = Path(folder) / "cases", [Path(folder) / name for name in ("ours", "theirs")]
        cases.write_text("".join(json.dumps(drawn(k, seed)) + "\n" for k in range(count)))
        running = [_answers(tree, cases, out) for tree, out in zip((HOME, other), outs, strict=True)]
        for process in running:
            process.wait()
        both = [[json.loads(line) for line in out.read_text().splitlines()] for out in outs]
    wrong, kinds, refused, alike, late = 0, Counter[str](), 0, 0, 0
    for k, (ours, theirs) in enumerate(zip(*both, strict=True)):
        case = drawn(k, seed)
        kinds[case["question"]] += 1
        refused += "refused" in ours
        late += "late" in ours
        alike += "channel" in ours and ours["channel"] == theirs.get("channel")
        if how := differs(case, ours, theirs):
            wrong += 1
            if wrong > _SHOWN:
                continue
            report(f"case {k} ({case['question']}, {case['conditions']}): {how}")
    seconds = [sum(one["seconds"] for one in answers) for answers in both]
    report(
        f"{count} cases, {refused} refused, {late} late, {alike} the same mechanism, {wrong} differ; "
        f"{seconds[1] / seconds[0]:.2f} times as fast"
    )
    report(str(dict(kinds)))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    if sys.argv[1] == "--answer":
        _answer(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        main()
