"""Conditions as sentences for the person who signs: what is promised, with decimals and without the names of keys."""

from __future__ import annotations

from bap_lp.model.display import counted
from bap_lp.model.problem import Problem
from bap_lp.notions.conditions import Conditions
from bap_lp.notions.table import TABLE

_LISTED = 8  # sentences; the problem's section has all conditions


def conditions_for_people(problem: Problem, conditions: Conditions) -> list[str]:
    """One short sentence per condition.

    Args:
        problem: the problem, for the names of its agents.
        conditions: what the mechanism meets.

    Returns:
        The sentences.

    >>> from bap_lp import Conditions, Problem
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> conditions_for_people(coin, Conditions(min_eve_risk="1/10", max_signals=2))
    ['On average Eve loses at least 0.1.', 'There are at most 2 different messages.']
    """
    found = [sentence for notion in TABLE.values() for sentence in notion.sentences(conditions, problem)]
    more = len(found) - _LISTED
    return found if more <= 0 else [*found[:_LISTED], f"And {counted(more, 'more condition')}, listed below."]
