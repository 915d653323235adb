"""Conditions as sentences for the person who signs: what is promised, with decimals and without the names of keys."""

from __future__ import annotations

from bap_lp.conditions.given import Conditions
from bap_lp.conditions.table import TABLE
from bap_lp.model.problem import Problem
from bap_lp.support.display import counted

_LISTED = 8  # sentences; the problem's section has all conditions


def conditions_for_people(problem: Problem, conditions: Conditions) -> list[str]:
    """One short sentence per condition, with the names of the problem's agents."""
    found = [sentence for condition in TABLE.values() for sentence in condition.sentences(conditions, problem)]
    more = len(found) - _LISTED
    return found if more <= 0 else [*found[:_LISTED], f"And {counted(more, 'more condition')}, listed below."]
