"""What a report shows, as one JSON document: numbers exact, labels as text, every price of privacy at once.

The optimum is constant between two breakpoints of lambda and R_A = R_B - lambda R_E, so the pieces of the path are all
a page needs to answer for every lambda. A release that is tuned to lambda is a lower envelope of lines as well.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from bap_cli.words import both, clean, fraction
from bap_lp.calibration import extremes, lam_of
from bap_lp.evaluate import evaluate, risks
from bap_lp.families import lower_envelope, randomised_response_family
from bap_lp.path import Path, Piece, lambda_path
from bap_lp.problem import Agent, Problem
from bap_lp.rational import Array, InputError, public, text
from bap_lp.region import attainable_region
from bap_lp.releases import RATIOS, Comparison, compare, truncated_geometric
from bap_lp.risks import Number

LABEL = 200  # characters of a label that are shown
_ROWS = 40  # states listed one by one; more are grouped by what the mechanism does with them
_NAMED = 6  # states of a group that are named
_SIGNALS = 24
_SHARES = 8  # states of a posterior that are listed
_STOPS = 240  # positions of the slider
_DETAILS = 2_000_000  # characters of JSON for mechanisms, and half of it for the proof
_PIECES = 1000
_TUNED = {"randomised response": 200, "truncated geometric": 40}  # states up to which every lambda is served
_JOINER = "\N{ZERO WIDTH JOINER}"

Progress = Callable[[str], None]


class _TooMany(Exception):
    pass


def report_document(problem: Problem, lam: Any, choice: str, file: str, progress: Progress = lambda _: None) -> Any:
    """The document of a report that opens at lam; `choice` says in words how lam was chosen."""
    wanted = public(lam_of(problem, lam))
    path, partial = _path(problem, wanted, progress)
    problem = path.problem
    if not problem.exact:
        wanted = float(wanted)
    progress("usual releases")
    comparison = compare(problem, wanted)
    progress("attainable region")
    region, whole = attainable_region(problem, path) if not partial else ((), False)
    calibrated = _calibrated(problem)
    stops, marks = _slider(path, wanted, calibrated, partial)
    progress("explanations")
    details = _details(problem, path, wanted)
    return {
        "title": label(problem.title),
        "exact": problem.exact,
        "file": file,
        "tolerance": path.tolerance,
        "method": path.method,
        "partial": partial,
        "problem": _problem(problem),
        "lambda": {"wanted": text(wanted), "choice": choice, "calibrated": calibrated and text(calibrated)},
        "full": _pair(*map(public, extremes(problem)[0])),
        "null": _pair(*map(public, extremes(problem)[1])),
        "region": [[float(r.bob), float(r.eve)] for r in region],
        "whole": whole,
        "stops": [text(s) for s in stops],
        "marks": marks,
        "pieces": [
            {"start": text(p.start), "end": None if p.end == math.inf else text(p.end), "bob": text(p.risks.bob),
             "eve": text(p.risks.eve), "detail": detail}
            for p, detail in zip(path.pieces, details, strict=True)
        ],
        "releases": _releases(problem, comparison),
        "omitted": [[name, label(reason)] for name, reason in comparison.omitted],
        "proof": None if partial else _proof(problem, path),
    }  # fmt: skip


def label(words: str) -> str:
    """Other people's text, printable and not endless; joiners stay, for they hold emoji together."""
    return _JOINER.join(clean(part, LABEL) for part in words[: LABEL + 1].split(_JOINER))


def _path(problem: Problem, wanted: Number, progress: Progress) -> tuple[Path, bool]:
    """The whole path; or, where it has too many pieces, the one piece around the wanted lam, and True."""

    def count(pieces: int, lam: float) -> None:
        if pieces > _PIECES:
            raise _TooMany
        progress(f"{pieces} optimal mechanisms, lambda up to {lam:.3g}")

    try:
        return lambda_path(problem, progress=count), False
    except _TooMany:
        from bap_lp.solve import merge, solve

        best = solve(problem, wanted)
        data = merge(best.problem)
        index = data.index.tolist()
        first = [index.index(k) for k in range(len(data.p))]
        rho = best.certificate.rho[first] * (data.p / best.problem.p[first])[:, None]
        alone = Piece(best.problem, data, best.lam, best.lam, best.risks, rho, (best.certificate.u,) * 2)
        return Path(best.problem, (alone,), float(best.gap), best.method), True


def _calibrated(problem: Problem) -> Number | None:
    try:
        return public(lam_of(problem, "calibrated"))
    except InputError:
        return None


def _pair(bob: Number, eve: Number) -> dict[str, Any]:
    return {"bob": text(bob), "eve": text(eve)}


def _problem(problem: Problem) -> dict[str, Any]:
    def agent(one: Agent, several: bool) -> dict[str, Any]:
        losses = [[fraction(v) for v in row] for row in public(one.loss[:_ROWS]).tolist()]
        weight = both(public(one.weight)) if several else None
        return {"name": label(one.name), "weight": weight, "decisions": _labels(one.decisions or ()), "loss": losses}

    ranked = sorted(range(len(problem.states)), key=lambda x: -problem.p[x])[:_SHARES]
    return {
        "count": len(problem.states),
        "likely": [[label(problem.states[x]), both(public(problem.p[x]))] for x in ranked],
        "states": _labels(problem.states[:_ROWS]),
        "prior": [fraction(v) for v in public(problem.p[:_ROWS]).tolist()],
        "theta": problem.theta and _labels(problem.theta.labels),
        "bobs": [agent(a, len(problem.bobs) > 1) for a in problem.bobs],
        "eves": [agent(a, len(problem.eves) > 1) for a in problem.eves],
        "empty": _labels(problem.null_states[:_NAMED]),
        "emptyCount": len(problem.null_states),
    }


def _labels(names: Sequence[str]) -> list[str]:
    return [label(name) for name in names]


def _slider(path: Path, wanted: Number, calibrated: Number | None, partial: bool) -> tuple[list[Number], list[Any]]:
    """Positions of the slider by increasing lam, and which of them are marks: every mark is a position of its own."""
    if partial:
        return [wanted], []
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


def _details(problem: Problem, path: Path, wanted: Number) -> list[Any]:
    """What each piece's mechanism does and means; nearest the wanted lam first, until the page is large enough."""
    here = path.pieces.index(path.piece(wanted))
    out: list[Any] = [None] * len(path.pieces)
    size = 0
    for k in sorted(range(len(out)), key=lambda k: abs(k - here)):
        detail = _detail(problem, path.pieces[k])
        size += len(json.dumps(detail))
        if size > _DETAILS:
            break
        out[k] = detail
    return out


def _detail(problem: Problem, piece: Piece) -> dict[str, Any]:
    mechanism = piece.mechanism
    evaluation = evaluate(problem, mechanism)
    told = mechanism.signals[:_SIGNALS]
    groups: dict[Any, list[int]] = {}
    for x, row in enumerate(mechanism.q[:, :_SIGNALS].tolist()):
        groups.setdefault(x if len(problem.states) <= _ROWS else tuple(row), []).append(x)
    shown = sorted(groups.values(), key=lambda m: m[0] if len(problem.states) <= _ROWS else -len(m))[:_ROWS]
    ratio = mechanism.max_ratio
    return {
        "signals": _labels(told),
        "hiddenSignals": len(mechanism.signals) - len(told),
        "rows": [
            {"states": _labels([problem.states[x] for x in m[:_NAMED]]), "more": max(len(m) - _NAMED, 0),
             "cells": [[fraction(v), float(v)] for v in public(mechanism.q[m[0], :_SIGNALS]).tolist()]}
            for m in shown
        ],
        "hiddenRows": len(groups) - len(shown),
        "epsilon": None if ratio == math.inf else [fraction(ratio), mechanism.epsilon],
        "cards": [
            {
                "signal": label(s.signal),
                "probability": both(s.probability),
                "share": float(s.probability),
                "data": _shares(s.posterior),
                "theta": s.theta_posterior and _shares(s.theta_posterior),
                "bob": _decided(problem.bobs, s.bob),
                "eve": _decided(problem.eves, s.eve),
            }
            for s in evaluation.signals[:_SIGNALS]
        ],
    }  # fmt: skip


def _shares(posterior: dict[str, Number]) -> dict[str, Any]:
    ranked = sorted(((v, k) for k, v in posterior.items() if v > 0), key=lambda pair: -pair[0])
    return {"listed": [[label(k), both(v), float(v)] for v, k in ranked[:_SHARES]], "others": len(ranked[_SHARES:])}


def _decided(agents: Sequence[Agent], best: list[str]) -> list[Any]:
    """Per agent: its name and all decisions that are best for it."""
    out = []
    for agent in agents:
        names = best if len(agents) == 1 else [d for d in agent.decisions or () if f"{agent.name}: {d}" in best]
        out.append([label(agent.name), _labels(names[:_NAMED]), max(len(names) - _NAMED, 0)])
    return out


def _releases(problem: Problem, comparison: Comparison) -> list[dict[str, Any]]:
    out = []
    for row in comparison.rows:
        if row.name == "optimum":
            continue
        pieces = [{"start": "0", "parameter": row.parameter, **_pair(row.risks.bob, row.risks.eve)}]
        tuned = row.parameter is not None and len(problem.states) <= _TUNED.get(row.name, 0)
        if tuned:
            pieces = (_randomised if row.name == "randomised response" else _geometric)(problem)
        out.append({"name": row.name, "fixed": row.parameter is not None and not tuned, "pieces": pieces})
    return out


def _randomised(problem: Problem) -> list[dict[str, Any]]:
    return [
        {"start": text(p.start), "parameter": f"w = {fraction(p.w)}", **_pair(p.risks.bob, p.risks.eve)}
        for p in randomised_response_family(problem).thresholds()
    ]


def _geometric(problem: Problem) -> list[dict[str, Any]]:
    found = [risks(problem, truncated_geometric(problem, ratio)) for ratio in RATIOS]
    return [
        {"start": text(start), "parameter": f"ratio = {RATIOS[k]}", **_pair(found[k].bob, found[k].eve)}
        for start, k in lower_envelope([r.bob for r in found], [-r.eve for r in found])
    ]


def _proof(problem: Problem, path: Path) -> dict[str, Any] | None:
    """Everything the page needs to check the proof itself, on merged states; None if that is too much to carry."""
    data = path.pieces[0].data
    if not problem.exact or data.B.size + data.E.size > 20_000:
        return None

    def table(values: Array) -> Any:
        return [[str(v) for v in row] for row in values.tolist()]

    pieces = []
    for piece in path.pieces:
        rho = [[x, i, str(v)] for x, row in enumerate(piece.rho.tolist()) for i, v in enumerate(row) if v]
        pieces.append({"rho": rho, "u": table(piece.replies[0]), "onward": table(piece.replies[1])})
    out = {
        "p": [str(v) for v in data.p.tolist()],
        "B": table(data.B),
        "E": table(data.E),
        "groups": [[g.start, g.stop] for g in data.groups],
        "pieces": pieces,
    }
    return out if len(json.dumps(out)) <= _DETAILS // 2 else None
