"""An Eve who knows which of several priors is the true one.

Let omega be one of K priors p_1, ..., p_K, equally likely, and let p be their mean. Alice's mechanism sees x only; Eve
sees the signal and omega. Then P(omega | x) = p_omega(x) / (K p(x)), so she is an Eve with the knowledge
    k(omega | x) = p_omega(x) / sum of p_1(x), ..., p_K(x),
and the program, its proof and one signal per decision stay as they are. If the problem has another prior p than the
mean, she is as well informed as if the priors were p_omega(x) p(x) / mean(x): centred on p, with the same ratios.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bap_lp.model.agents import Agent, expanded_losses, knowledge_of, shares_of
from bap_lp.support.labels import probability
from bap_lp.support.rational import EXACT, FLOAT, Array, InputError, floats, is_exact, same_kind, sequence


def informed(eve: Agent, priors: Sequence[Any]) -> Agent:
    """An Eve who also knows which of these priors is true.

    Args:
        eve: the Eve; what she knows already she keeps.
        priors: equally likely priors on the states, such as draws from a posterior. The problem's own prior should be
            their mean.

    Returns:
        The same Eve with the table `knowledge`: a row per state, a column per value she knew and prior.

    Raises:
        InputError: there is no prior, one of them is not a distribution, or their lengths differ.

    >>> from bap_lp import Agent, Problem, informed, solve
    >>> eve = Agent([[0, 1], [1, 0]], name="neighbour")
    >>> better = informed(eve, [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> [[str(v) for v in row] for row in better.knowledge]
    [['3/4', '1/4'], ['1/4', '3/4']]
    >>> table = Problem(["1/2", "1/2"], [[0, 1], [1, 0]], eves=[better])
    >>> print(solve(table, 2).risks.eve)
    1/4
    """
    given = [probability(prior, f"priors[{k}]") for k, prior in enumerate(sequence(priors, "priors"))]
    if not given:
        raise InputError("priors", None, "must not be empty")
    rows = len(given[0])
    for k, prior in enumerate(given):
        if len(prior) != rows:
            raise InputError(f"priors[{k}]", None, f"has {len(prior)} entries, must have {rows}, one per state")
    draws = np.stack(same_kind(*given), axis=1)
    total = draws.sum(axis=1)
    empty = total == 0  # where all are zero they are equal
    shares = np.where(empty[:, None], 1 + 0 * draws, draws)
    return knowing(eve, shares / np.where(empty, draws.shape[1] + 0 * total, total)[:, None])


def knowing(eve: Agent, kernel: Array) -> Agent:
    """The Eve who also knows omega, drawn from k(omega | x) apart from what she knew; a row of `kernel` per state."""
    rows, exact = len(kernel), is_exact(kernel)
    knows, knowledge = knowledge_of(eve.knows, eve.knowledge, "eve", rows)
    if knowledge is not None and is_exact(knowledge) != exact:
        kernel, knowledge, exact = floats(kernel), floats(knowledge), False
    before = shares_of(knows, knowledge, rows, EXACT if exact else FLOAT)
    return replace(eve, knows=None, knowledge=expanded_losses(kernel, before))
