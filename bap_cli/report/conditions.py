"""Conditions as sentences for the person who signs: what is promised, with decimals and without the names of keys.

The sentences are those at the head of each section of `docs/conditions.md`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from bap_lp.model.display import clean, counted, listed, people, person
from bap_lp.model.problem import Problem
from bap_lp.notions.conditions import Conditions
from bap_lp.notions.reading import named

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
    found = list(_sentences(problem, conditions))
    more = len(found) - _LISTED
    return found if more <= 0 else [*found[:_LISTED], f"And {counted(more, 'more condition')}, listed below."]


def _sentences(problem: Problem, conditions: Conditions) -> Iterator[str]:
    bobs, eves = (_together(group) for group in (problem.bobs, problem.eves))
    given = conditions.given()
    if conditions.min_eve_risk is not None:
        yield f"On average {eves} at least {_figure(conditions.min_eve_risk)}."
    if conditions.max_bob_risk is not None:
        yield f"On average {bobs} at most {_figure(conditions.max_bob_risk)}."
    if conditions.private:
        yield _private(conditions)
    for cap in given.get("posterior_caps", ()):
        ends = [f"at most {_hundred(cap.at_most)}"] if cap.at_most is not None else []
        ends += [f"at least {_hundred(cap.at_least)}"] if cap.at_least is not None else []
        yield f"After every message, the probability of {_event(cap.event)} is {' and '.join(ends)} in 100."
    for ratio in given.get("posterior_ratio", ()):
        yield f"No message changes the probability of {_event(ratio.event)} by more than a factor of {_factor(ratio)}."
    for event in given.get("independent_of", ()):
        yield f"The messages tell nothing about whether the data are {_event(event)}."
    floor = given.get("signal_floor")
    every = problem.eves[0].name if len(problem.eves) == 1 else "every Eve"
    for name, value in floor if isinstance(floor, tuple) else [] if floor is None else [(every, floor)]:
        yield f"After every message, {person(str(name))} loses at least {_figure(value)} on average."
    for table in given.get("pufferfish", ()):
        readers = f", to each of {counted(len(table.priors), 'reader')}" if table.priors else ""
        pairs = [f"{_event(a)} and {_event(b)}" for a, b in table.pairs]
        yield f"Alike up to a factor of {_factor(table)} for every message{readers}: {listed(pairs)}."
    if conditions.max_leakage is not None:
        times = _figure(conditions.max_leakage)
        yield f"Whatever somebody wants to guess, the messages make the guess right at most {times} times as often."
    if conditions.margin is not None:
        yield f"At every message each decision is better than any other by at least {_figure(conditions.margin)}."
    if conditions.deterministic:
        yield "Nothing is drawn at random: the data decide the message."
    if conditions.max_signals is not None:
        yield f"There are at most {counted(conditions.max_signals, 'different message')}."


def _together(agents: Any) -> str:
    if len(agents) == 1:
        return f"{person(agents[0].name)} loses"
    return f"{people(agent.name for agent in agents)} together, by their weights, lose"


def _private(conditions: Conditions) -> str:
    among = "two data sets that are neighbours" if conditions.neighbours is not None else "any two data sets"
    if conditions.metric is not None:
        among = "two data sets at distance one"
    slack = "" if conditions.delta is None else f", up to a probability of {_figure(conditions.delta)}"
    rule = f"Each message is at most {_factor(conditions)} times as likely for one of {among} as for the other{slack}"
    return f"{rule}: differential privacy with ε = {_log(conditions):.3g}."


def _log(one: Any) -> float:
    return float(one.epsilon) if one.epsilon is not None else math.log(float(one.exp_epsilon))


def _factor(one: Any) -> str:
    return _figure(one.exp_epsilon if one.exp_epsilon is not None else math.exp(float(one.epsilon)))


def _event(event: Any) -> str:
    return f"“{clean(named(event), 120)}”"


def _figure(value: Any) -> str:
    return f"{float(value):.4g}"


def _hundred(value: Any) -> str:
    return f"{100 * float(value):.4g}"
