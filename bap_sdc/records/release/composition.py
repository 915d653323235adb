"""What several independent draws of a record leave of Eve's risk.

K draws have the probability q(s_1|x) ... q(s_K|x), and only how often each signal came matters: the joint table of
record types and these counts has Eve's risk. A type has few signals, so this table is small where that of all signals
is not. If it is large too, Eve may as well know the row q(.|x) itself, where draws without end lead: her risk is then a
lower bound for every number of draws.
"""

from __future__ import annotations

from itertools import combinations_with_replacement, groupby
from math import comb, prod
from typing import Any

import numpy as np

from bap_lp.model.composition import orders
from bap_lp.support.rational import floats, is_exact, objects, public
from bap_sdc.records.optimum.risks import eve_risk, weighted_risk
from bap_sdc.records.solution import StudySolution

_MOST = 400_000  # entries of the joint table, a second or two


def composed_risk(solution: StudySolution, draws: int) -> tuple[Any, bool]:
    """(R_E, True) if every record is drawn this many times, or (a lower bound of it, False) if that is too much.

    >>> import pandas
    >>> from bap_sdc import Eve, Study
    >>> frame = pandas.DataFrame({"ill": [0, 0, 0, 1], "pay": [1, 1, 2, 2]})
    >>> best = Study(frame, {"pay": "0-1"}, [Eve("ill", loss=[[0, 1], [3, 0]])]).solve(2)
    >>> [str(composed_risk(best, k)[0]) for k in (1, 2)]
    ['3/4', '5/12']
    """
    study = solution.study
    state, signal, q = solution.channel.rows(study.prior.types)
    exact = is_exact(q) and is_exact(study.program.p)
    program = study.program if exact else study.program.as_float()
    shares = (q if exact else floats(q)).tolist()
    rows = [
        [(int(s), v) for _, s, v in group]
        for _, group in groupby(zip(state.tolist(), signal.tolist(), shares, strict=True), key=lambda entry: entry[0])
    ]
    whole = sum(comb(len(row) + draws - 1, draws) for row in rows) * draws <= _MOST
    place: dict[Any, int] = {}
    states, outcomes, mass = [], [], []
    for x, row in enumerate(rows):
        told = _counts(row, draws) if whole else [(tuple(row), 1)]
        for outcome, share in told:
            states.append(x)
            outcomes.append(place.setdefault(outcome, len(place)))
            mass.append(program.p[x] * share)
    rho = objects(mass) if exact else np.array(mass, dtype=float)
    at = (np.array(states, dtype=np.int64), np.array(outcomes, dtype=np.int64), rho)
    return public(weighted_risk(program, [eve_risk(eve, *at) for eve in program.eves])), whole


def _counts(row: list[tuple[int, Any]], draws: int) -> list[tuple[tuple[int, ...], Any]]:
    """The outcomes of a row of the channel, in the order of their signals, with their probabilities."""
    return [
        (tuple(s for s, _ in drawn), orders([s for s, _ in drawn]) * prod((v for _, v in drawn), start=1))
        for drawn in combinations_with_replacement(sorted(row, key=lambda entry: entry[0]), draws)
    ]
