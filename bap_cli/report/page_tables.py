"""Tables of a report that serve every lambda: the slider's positions, the usual releases, and the proof.

A release that is tuned to lambda has, for each lambda, the parameter with the least R_A: a lower envelope of lines.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from bap_lp.conditions.given import Conditions
from bap_lp.model.agents import Agent, shares_of, values_of
from bap_lp.model.evaluation import risks
from bap_lp.model.problem import Problem
from bap_lp.questions.path.pieces import Path
from bap_lp.releases import RATIOS, Comparison, Parameter, meets, truncated_geometric
from bap_lp.releases.families import lower_envelope, randomised_response_family
from bap_lp.support.display import equals, fraction
from bap_lp.support.rational import EXACT, Array, text
from bap_lp.support.risks import Number, Risks

_STOPS = 240  # positions of the slider
_TUNED = {"randomised response": 200, "truncated geometric": 40}  # states up to which every lambda is served
_SIZE = 1_000_000  # characters of JSON for the proof


def pair(bob: Number, eve: Number) -> dict[str, Any]:
    return {"bob": text(bob), "eve": text(eve)}


def slider(path: Path, wanted: Number, calibrated: Number | None) -> tuple[list[Number], list[Any]]:
    """Positions of the slider by increasing lam, and which of them are marks: every mark is a position of its own."""
    kinds: dict[Number, list[str]] = {path.pieces[0].start: []}
    named = [(b, "change") for b in path.breakpoints] + [(wanted, "start")]
    for lam, kind in named + ([(calibrated, "calibrated")] if calibrated is not None else []):
        kinds.setdefault(lam, []).append(kind)
    fixed = sorted(kinds)
    fixed.append(2 * fixed[-1] or fixed[-1] + 1)
    share = max(_STOPS // (len(fixed) - 1), 1)
    stops: list[Number] = []
    for low, high in pairwise(fixed):
        stops += [low, *_round_numbers(low, high, share)]
    stops.append(fixed[-1])
    return stops, [{"at": stops.index(lam), "kinds": kinds[lam]} for lam in sorted(kinds) if kinds[lam]]


def _round_numbers(low: Number, high: Number, count: int) -> list[Number]:
    """Multiples of a round step strictly between two numbers: at most `count`, at least one."""
    if float(low) == float(high):
        return []
    gap = Fraction(high) - Fraction(low)
    step = Fraction(10) ** (math.floor(math.log10(float(gap))) - 3)
    steps = (step * k * 10**n for n in range(9) for k in (1, 2, 5))
    step = next(s for s in steps if gap / s <= count + 1)
    found: list[Fraction] = []
    while not found:
        first, last = math.floor(Fraction(low) / step) + 1, math.ceil(Fraction(high) / step) - 1
        found = [step * k for k in range(first, last + 1)][:count]
        step /= 2
    return [float(f) for f in found] if isinstance(low, float) else list(found)


def release_lines(problem: Problem, comparison: Comparison) -> list[dict[str, Any]]:
    out = []
    for row in comparison.releases:
        if row.name == "optimum":
            continue
        risks = pair(row.risks.bob, row.risks.eve)
        pieces = [{"start": "0", "parameter": row.parameter, "meets": row.meets_conditions, **risks}]
        tuned = row.parameter is not None and len(problem.states) <= _TUNED.get(row.name, 0)
        tuned = tuned and not (problem.misaligned and row.name == "randomised response")
        if tuned:
            lines = _randomised if row.name == "randomised response" else _geometric
            pieces = lines(problem, comparison.conditions)
        out.append({"name": row.name, "fixed": row.parameter is not None and not tuned, "pieces": pieces})
    return out


def _randomised(problem: Problem, conditions: Conditions | None) -> list[dict[str, Any]]:
    family = randomised_response_family(problem)
    out = []
    for p in family.thresholds():
        kept = None if conditions is None else not meets(problem, family.mechanism(p.w), conditions)
        out.append(_line(p.start, Parameter("w", p.w), p.risks, kept))
    return out


def _geometric(problem: Problem, conditions: Conditions | None) -> list[dict[str, Any]]:
    built = [truncated_geometric(problem, ratio) for ratio in RATIOS]
    found = [risks(problem, mechanism) for mechanism in built]
    out = []
    for start, k in lower_envelope([r.bob for r in found], [-r.eve for r in found]):
        kept = None if conditions is None else not meets(problem, built[k], conditions)
        out.append(_line(start, Parameter("ratio", RATIOS[k]), found[k], kept))
    return out


def _line(start: Number, parameter: Parameter, own: Risks, kept: bool | None) -> dict[str, Any]:
    """A release that is tuned to lambda, from lambda = start on; `kept` says whether it meets the conditions."""
    words = equals(parameter.name, parameter.value, fraction)
    return {"start": text(start), "parameter": words, "meets": kept, **pair(own.bob, own.eve)}


def proof_tables(problem: Problem, path: Path) -> dict[str, Any] | None:
    """What the page needs to check the proof itself and to derive what it shows; None if that is too much to carry.

    Losses are given by class of states that nobody can tell apart, agent by agent; `index` is the class of each state,
    -1 where its probability is zero. An Eve who knows something has `shares`, k(z|x) of every value z. The page adds up
    the probabilities of the classes, and everybody's losses.
    """
    piece = path.pieces[0]
    data, index = piece.arrays, piece.index
    if not problem.exact or data.B.size + data.E.size + len(problem.p) > 20_000:
        return None

    def table(values: Array) -> Any:
        return [[str(v) for v in row] for row in values.tolist()]

    first = np.array([int(np.flatnonzero(index == k)[0]) for k in range(len(data.p))])

    def agents(group: Sequence[Agent]) -> list[dict[str, Any]]:
        out = []
        for a in group:
            own: dict[str, Any] = {"weight": str(a.weight), "loss": table(a.loss[first])}
            if values_of(a.knows, a.knowledge) is not None:
                own["shares"] = table(shares_of(a.knows, a.knowledge, len(problem.p), EXACT)[first])
            out.append(own)
        return out

    pieces = []
    for piece in path.pieces:
        rho = [[x, i, str(v)] for x, row in enumerate(piece.rho.tolist()) for i, v in enumerate(row) if v]
        pieces.append({"rho": rho, "u": table(piece.replies[0]), "onward": table(piece.replies[1])})
    out = {
        "index": index.tolist(),
        "prior": [str(v) for v in problem.p.tolist()],
        "bobs": agents(problem.bobs),
        "eves": agents(problem.eves),
        "pieces": pieces,
    }
    return out if len(json.dumps(out)) <= _SIZE else None
