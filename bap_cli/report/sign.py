"""What the first screen of a report needs: how often an agent is wrong now, and with nothing or everything released.

A loss that is 0 for a right and 1 for a wrong decision makes an agent's risk a probability, P(wrong). So does
B(x,i) = 1 - pi(theta_i | x), the average over the parameter of the 0-1 loss of naming theta. With another loss the risk
is an expected loss, and the page says so.

Inside a piece of the path the set of optimal mechanisms is constant: R_A of a mechanism is linear in lambda and nowhere
below V, which is linear there. So a mechanism that touches V inside the piece touches it on the whole piece, and
uniqueness is computed once per piece.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from bap_cli.outputs import made_on
from bap_lp.model.agents import Agent
from bap_lp.model.evaluation import evaluate
from bap_lp.model.mechanism import Mechanism, degenerate
from bap_lp.model.problem import Problem
from bap_lp.model.reports import reports
from bap_lp.support.rational import EXACT, FLOAT, Array, public, text

_ASKED = 12  # pieces of which uniqueness is asked
_ENTRIES = 400  # of the joint table, states times decisions, up to which it is asked
_NEAR = 1e-12  # a float loss this close to 1 - pi(theta|x) is the same number


def signing(problem: Problem) -> dict[str, Any]:
    """Per agent: whether its risk is the probability to be wrong, and its risk if all or nothing is released.

    `most` is the largest number of its table: without it an expected loss has no unit. Reports have no table.
    """
    full, null = _agent_extremes(problem)
    agents, bobs = (*problem.bobs, *problem.eves), len(problem.bobs)
    told = [
        {
            "wrong": counts_errors(problem, agent, k < bobs),
            "full": text(full[k]),
            "null": text(null[k]),
            "most": "0" if reports(agent) else text(public(_counted(problem, agent).max())),
        }
        for k, agent in enumerate(agents)
    ]
    return {"bobs": told[:bobs], "eves": told[bobs:]}


def _counted(problem: Problem, agent: Agent) -> Array:
    """What Alice counts for the agent, in the states that occur."""
    return np.asarray(agent.loss if agent.harm is None else agent.harm)[np.asarray(problem.p) > 0]


def counts_errors(problem: Problem, agent: Agent, bob: bool) -> bool:
    """Whether the agent's risk is the probability that its decision is wrong.

    A harm of its own says what Alice counts, not what is right: if it is 1 for every conviction, a judge who acquits is
    not therefore right.
    """
    if agent.harm is not None or reports(agent):
        return False
    live = _counted(problem, agent)
    if ((live == 0) | (live == 1)).all():
        return is_zero_one(live)
    return bob and problem.theta is not None and _names_theta(live, problem.theta.posterior[np.asarray(problem.p) > 0])


def is_zero_one(loss: Array) -> bool:
    """Whether a loss is 0 for what is right, which every row has, and 1 for what is wrong."""
    return bool(((loss == 0) | (loss == 1)).all() and (loss == 0).any(axis=1).all() and (loss == 1).any())


def _names_theta(loss: Array, posterior: Array) -> bool:
    """Whether each decision names a value of theta of its own, at the 0-1 loss."""
    if loss.shape != posterior.shape:
        return False
    wrong, free = 1 - posterior, set(range(posterior.shape[1]))
    for column in loss.T:
        found = next((k for k in sorted(free) if _same(column, wrong[:, k])), None)
        if found is None:
            return False
        free.discard(found)
    return True


def _same(a: Array, b: Array) -> bool:
    return bool((a == b).all() if a.dtype == object else (abs(a - b) <= _NEAR).all())


def _agent_extremes(problem: Problem) -> tuple[list[Any], list[Any]]:
    """Every agent's own unweighted risk under the full and under the null release, Bobs first."""
    if problem.misaligned or problem.reporting:
        rows = len(problem.p)
        out = []
        for to in (list(range(rows)), [0] * rows):
            q = degenerate(to, max(to) + 1, problem.exact)
            out.append(
                list(
                    evaluate(
                        problem, Mechanism.of(q, [str(k) for k in range(q.shape[1])], problem.states)
                    ).agents.values()
                )
            )
        return out[0], out[1]
    field, p = EXACT if problem.exact else FLOAT, problem.p
    full, null = [field.zero] * len(problem.eves), [field.zero] * len(problem.eves)
    for (n, _), place in zip(problem.eve_views, problem.eve_groups, strict=True):
        losses, weight = problem.E[:, place], problem.eves[n].weight
        full[n] = full[n] + p.dot(losses.min(axis=1)) / weight
        null[n] = null[n] + p.dot(losses).min() / weight
    bobs = [np.asarray(a.loss) for a in problem.bobs]
    every = [p.dot(loss.min(axis=1)) for loss in bobs] + full
    none = [p.dot(loss).min() for loss in bobs] + null
    return [public(v) for v in every], [public(v) for v in none]


def asked_uniqueness(problem: Problem, shown: Sequence[Any], whole: bool) -> list[bool | None]:
    """Per piece of the path without conditions: whether one mechanism only is optimal inside it; None: not asked."""
    from bap_lp.questions.uniqueness import is_unique

    states, b, _ = problem.shape
    if not whole or not problem.exact or problem.misaligned or len(shown) > _ASKED or states * b > _ENTRIES:
        return [None] * len(shown)
    inside = [p.start + 1 if p.end == math.inf else (p.start + p.end) / 2 for p in shown]
    return [is_unique(problem, lam) for lam in inside]


def origin(path: Path | None) -> dict[str, Any]:
    """Today's date (UTC, or SOURCE_DATE_EPOCH), the version of bap-lp, and the file with its SHA-256."""
    try:
        own = version("bap-lp")
    except PackageNotFoundError:
        own = "unknown"
    return {"date": made_on(), "version": own, "source": path and fingerprint(path)}


def fingerprint(path: Path) -> dict[str, str]:
    """A file's name and SHA-256."""
    return {"name": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
