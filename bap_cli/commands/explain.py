"""`bap explain`: the coin toss in plain words, and then a problem of the user in the same words.

Every sentence is read off a result. At signal s an agent's decision d costs sum_x P(x|s) L(x,d); those with the least
cost are the ones between which the agent is indifferent. The certificate's replies u price a state: to send state x to
signal i costs Alice the margin m(x,i) = B(x,i) - u_i.E(x,.), and only signals with the least margin are sent. So a
state is randomised only between signals whose margins are equal.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np
import typer

from bap_cli import inputs
from bap_cli.app import Condition
from bap_cli.progress import Progress
from bap_cli.show import costs_in_words, learned, own_beliefs
from bap_cli.terminal import console, told
from bap_cli.terminal import short as brief
from bap_lp.files.problems import ProblemFile
from bap_lp.model.agents import values_of
from bap_lp.model.calibration import extremes
from bap_lp.model.display import clean, counted, decimal, equals, listed, person, printable
from bap_lp.model.evaluated import Evaluation, certainty_in_words
from bap_lp.model.evaluation import evaluate
from bap_lp.model.mechanism import Mechanism
from bap_lp.model.problem import Problem
from bap_lp.model.reports import reports
from bap_lp.model.risks import Number
from bap_lp.notions.conditions import Conditions
from bap_lp.program.prior_set import PriorSet
from bap_lp.questions.optimum.solution import Solution
from bap_lp.questions.optimum.solving import solve
from bap_lp.questions.uniqueness import is_unique
from bap_lp.rational import Array, floats, public

_CHANGE = "What would change the answer"
_REPORTED = (
    "Who reports probabilities has infinitely many reports, and one report per signal is enough for the proof: Eve's "
    "least loss is at most that of any report."
)
_NAMED = 6  # states, signals and decisions that are named one by one
_ENTRIES = 300  # states times decisions up to which uniqueness is decided

News = Callable[..., None]
short = partial(brief, longest=9)  # of a fraction that is still read in a sentence
_COIN = (
    "The smallest example first. A coin is fair, or it always shows tails; Alice has seen one toss. Bob wants to know "
    "which coin it is. Eve wants to know what the toss was. What helps Bob also helps Eve: Alice cannot tell him all."
)


def both(value: Number) -> str:
    text = short(value)
    return f"{text} ({decimal(value)})" if "/" in text else text


def equal(name: str, value: Number) -> str:
    return equals(name, value, both)


def _asked(file: ProblemFile) -> tuple[object, ...]:
    return file.problem, file.lam, file.conditions, file.priors


def explain(
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="Problem file, or a name of `bap examples`.")
    ] = None,
    lam: Annotated[
        str | None,
        typer.Option("--lambda", metavar="L", help='For FILE: "calibrated", or a number; the file\'s own by default.'),
    ] = None,
    own: Annotated[bool, typer.Option("--own", help="Leave the coin toss out.")] = False,
    condition: Condition = None,
) -> None:
    """Explain an optimum in plain words: why these signals, who is indifferent, what would change the answer.

    The coin toss comes first, then the problem of FILE in the same words.
    """
    asked = inputs.asked_conditions({}, condition or ())
    if file is None and (own or asked or lam is not None):
        raise ValueError(f"{'--own' if own else '--condition' if asked else '--lambda'} needs a FILE")
    if file is not None and inputs.is_study(file, asked):
        from bap_cli.records.explained import explain_study

        explain_study(file, lam)
        return
    loaded = None if file is None else inputs.asking(inputs.load(file, sets=True), asked)
    if loaded is not None:
        inputs.number(loaded, lam)  # refuses a bad lambda before anything is printed
    coin = inputs.load("coin_toss")
    texts: list[tuple[ProblemFile, str | None, str]] = [] if own else [(coin, None, _COIN)]
    again = texts and loaded is not None and lam is None and _asked(loaded) == _asked(coin)  # once is enough
    texts += [] if loaded is None or again else [(loaded, lam, "" if own else "Now the same for this problem.")]
    out = console()
    for k, (one, price, words) in enumerate(texts):
        with inputs.named(one, price, asked), Progress("explaining") as progress:
            chapters = explanation(
                one.problem, inputs.wanted(one, price), inputs.choice(one, price), one.conditions, progress, one.priors
            )
        show_chapters(out, one.problem.title or one.source, chapters, words, first=not k)


@dataclass(frozen=True)
class Chapter:
    """A heading and its sentences, one paragraph each."""

    title: str
    lines: tuple[str, ...]


def show_chapters(out: Any, title: str, chapters: Iterable[Chapter], words: str = "", first: bool = True) -> None:
    """A title, perhaps some words, and the chapters."""
    title = clean(title, 200)
    out.print(f"{'' if first else chr(10)}{title}\n{'=' * len(title)}", soft_wrap=True)
    for line in [words] if words else []:
        out.print(textwrap.fill(line, out.width))
    for chapter in chapters:
        out.print(f"\n{chapter.title}")
        for line in chapter.lines:
            indent = " " * (len(line) - len(line.lstrip()))
            filled = textwrap.fill(
                printable(line.strip()), out.width, initial_indent=f"{indent}- ", subsequent_indent=f"{indent}  ",
                break_on_hyphens=False, break_long_words=False,
            )  # fmt: skip
            out.print(filled, soft_wrap=True)


def explanation(
    problem: Problem,
    lam: Any,
    choice: str = "",
    conditions: Conditions | None = None,
    progress: News = lambda *_: None,
    priors: PriorSet | None = None,
) -> list[Chapter]:
    """The chapters about a problem and its optimum at lam; `choice` says in words how lam was chosen."""
    best = solve(problem, lam, progress=progress, conditions=conditions, priors=priors)
    found = evaluate(best.problem, best.mechanism)
    chapters: list[tuple[str, Iterable[str]]] = [
        ("What is asked", _question(best, choice)),
        ("Why these signals", _signals(best, found)),
        ("Who is indifferent", _indifferent(best, found)),
        ("Which data are randomised, and why", _randomised(best)),
    ]
    if priors is not None:
        chapters.append(("What may be wrong", _wrong(best)))
    elif problem.reporting:
        chapters.append(("What is proved", [*best.summary().splitlines()[2:3], *learned(found), _REPORTED]))
    else:
        chapters.append((_CHANGE, _changes(best)))
    return [Chapter(title, tuple(lines)) for title, lines in chapters]


def _changes(best: Solution) -> Iterator[str]:
    """The slope of R_A in lambda, -R_E; whether another mechanism is as good; what the conditions cost."""
    yield f"A small change of lambda changes R_A by {both(-best.risks.eve)} times as much, at this mechanism."
    small = len(best.problem.p) * best.problem.shape[1] <= _ENTRIES
    if best.conditions is None and best.exact and not best.problem.misaligned and small:
        alone = is_unique(best.problem, best.lam)
        yield f"The optimal mechanism is {'' if alone else 'not '}unique."
    if best.price_of_conditions is not None:
        yield f"If all conditions were dropped, R_A would fall by {both(best.price_of_conditions)}."
        yield from costs_in_words(best.costs())


def _question(best: Solution, choice: str) -> Iterator[str]:
    problem = best.problem
    ranked = sorted(range(len(problem.p)), key=lambda x: -problem.p[x])[:_NAMED]
    likely = ", ".join(f"{told(problem.states[x])} {short(public(problem.p[x]))}" for x in ranked)
    rest = len(problem.p) - len(ranked)
    yield (
        f"Alice holds data in one of {counted(len(problem.states), 'state')}: {likely}"
        + (f", and {rest} more." if rest else ".")
    )
    for agents, want in ((problem.bobs, "should lose little"), (problem.eves, "should lose much")):
        for agent in agents:
            known = values_of(agent.knows, agent.knowledge)
            also = f" and already knows which of {counted(len(known), 'case')} holds" if known else ""
            if reports(agent):
                what = "the data" if agent.secret is None else "a secret"
                name, score = person(agent.name, start=True), {"log": "logarithmic", "brier": "Brier"}[agent.loss]
                yield f"{name} reports probabilities of {what}{also}, and {want} ({score} loss)."
                continue
            if len(agent.decisions or ()) == 1:
                continue
            between = listed(agent.decisions or (), " and ")
            often = "" if agent.weight == 1 else f" (a loss that counts {short(public(agent.weight))} times)"
            yield f"{person(agent.name, start=True)} will choose between {between}{also}, and {want}{often}."
    if problem.misaligned:
        yield f"{own_beliefs(problem)}."
    (bob_full, eve_full), (bob_null, eve_null) = ((public(b), public(e)) for b, e in extremes(problem))
    yield (
        f"If Alice releases everything, {equal('R_B', bob_full)} and {equal('R_E', eve_full)}. "
        f"If she releases nothing, {equal('R_B', bob_null)} and {equal('R_E', eve_null)}."
    )
    how = f", {choice}" if choice else ""
    yield f"She minimises R_A = R_B - lambda R_E at {equal('lambda', best.lam)}{how}."
    bobs = "Bob's" if len(problem.bobs) == 1 else "the Bobs'"
    eves = "Eve's" if len(problem.eves) == 1 else "the Eves'"
    units = "1 unit" if best.lam == 1 else f"{short(best.lam)} units"
    yield f"So one unit of {eves} loss counts as much as {units} of {bobs} loss."
    if best.conditions is not None:
        yield f"The mechanism must meet conditions: {clean(best.conditions.words(), 500)}."


def _wrong(best: Solution) -> Iterator[str]:
    assert best.priors is not None
    assert best.worst_prior is not None
    yield f"The promise holds even if {best.priors.words()}."
    yield (
        "Alice fixes one rule and publishes it. Bob does what the signal says, whatever the shares are; Eve knows the "
        "shares and does what is best for her. R_A is the largest one that any shares of the set can cause."
    )
    ranked = sorted(range(len(best.worst_prior)), key=lambda x: -best.worst_prior[x])[:_NAMED]  # type: ignore[index]
    shares = ", ".join(f"{told(best.problem.states[x])} {short(best.worst_prior[x])}" for x in ranked)
    end = equal("R_A", best.risks.alice(best.lam))
    yield f"The worst shares for this mechanism are {shares}{', ...' if len(best.worst_prior) > _NAMED else ''}: {end}."
    if not best.attained:
        yield f"The search for worse ones was not finished, but none has an R_A above {both(best.value)}."
    stated = solve(best.problem, best.lam)
    yield f"If the stated shares were sure to be right, {equal('R_A', stated.value)} could be had."


def _costs(problem: Problem, mechanism: Mechanism, s: int, table: Array) -> Array:
    """The cost of every decision at signal s, given the signal."""
    weight = problem.p * mechanism.q[:, s]
    return public(weight.dot(table) / weight.sum())


def _signals(best: Solution, found: Evaluation) -> Iterator[str]:
    problem, mechanism = best.problem, best.mechanism
    count = len(mechanism.signals)
    value = f"{equal('R_B', best.risks.bob)}, {equal('R_E', best.risks.eve)} and so {equal('R_A', best.value)}"
    value += "" if best.priors is None else " under the worst shares; what follows is about the stated ones"
    if count == 1:
        yield f"Alice always sends “{clean(mechanism.signals[0])}”, which tells nothing: {value}."
        yield "At this lambda nothing that Bob could learn is worth more to her than what Eve would learn with it."
    else:
        yield f"Alice sends one of {counted(count, 'signal')}, with {value}."
    for signal in sorted(found.signals, key=lambda one: -one.probability)[:_NAMED]:
        s = mechanism.signals.index(signal.signal)
        often = f"“{clean(signal.signal)}” is sent with probability {both(signal.probability)}"
        yield f"{often}; {_pooled(signal.posterior)}."
        for agent in (*problem.bobs, *problem.eves):
            own = [d for d in signal.decisions if d.agent == agent.name]
            if (
                agent.prior is not None
                or agent.harm is not None
                or len(own) != 1
                or values_of(agent.knows, agent.knowledge)
            ):
                continue
            if reports(agent):
                yield f"  {person(agent.name, start=True)} {own[0].decisions[0]}."
                continue
            yield "  " + _choice(agent, own[0].decisions, _costs(problem, mechanism, s, np.asarray(agent.loss)))
    if count > _NAMED:
        yield f"{count - _NAMED} more signals are left out here; `bap solve` lists them."


def _pooled(posterior: dict[str, Any]) -> str:
    ranked = sorted(((v, k) for k, v in posterior.items() if v > 0), key=lambda pair: -pair[0])
    if len(ranked) == 1:
        return f"it says that the data are {told(ranked[0][1])}"
    parts = ", ".join(f"{told(k)} {short(v)}" for v, k in ranked[:_NAMED])
    rest = len(ranked) - _NAMED
    return f"it pools {counted(len(ranked), 'state')}: {parts}" + (f", and {rest} more" if rest > 0 else "")


def _choice(agent: Any, chosen: tuple[str, ...], costs: Array) -> str:
    names = list(agent.decisions)
    at = names.index(chosen[0])
    others = [k for k in range(len(names)) if names[k] not in chosen]
    name = person(agent.name, start=True)
    if len(chosen) > 1:
        return f"{name} finds {listed(chosen, ' and ')} equally good: each costs {both(costs[at])}."
    if not others:
        return f"{name} has no other decision than “{clean(chosen[0])}”, which costs {both(costs[at])}."
    second = min(others, key=lambda k: costs[k])
    return (
        f"{name} decides {clean(chosen[0])}, which costs {both(costs[at])}; "
        f"the next best, {clean(names[second])}, would cost {both(costs[second])}."
    )


def _indifferent(best: Solution, found: Evaluation) -> Iterator[str]:
    problem = best.problem
    how = "exactly" if best.exact else "up to rounding"
    ties = [(s.signal, d) for s in found.signals for d in s.decisions if len(d.decisions) > 1]
    for signal, one in ties[:_NAMED]:
        yield (
            f"At “{clean(signal)}” {person(one.agent)} is {how} indifferent between {listed(one.decisions, ' and ')}. "
            "With slightly different probabilities of the data at this signal, one of them alone would be best."
        )
    if len(ties) > _NAMED:
        yield f"The same holds at {counted(len(ties) - _NAMED, 'more place')}."
    if not ties:
        yield "Nobody: at every signal every agent has a single best decision."
    if not problem.misaligned and best.priors is None:
        (_, eve_full), (_, eve_null) = ((public(b), public(e)) for b, e in extremes(problem))
        eves, them = ("Eve loses", "her") if len(problem.eves) == 1 else ("the Eves lose", "them")
        if best.risks.eve == eve_null:
            yield f"After the release {eves} as much as before: on average the signals do not help {them}."
        elif best.risks.eve == eve_full:
            yield f"After the release {eves} as little as with all the data: Alice protects nothing at this lambda."
    yield from certainty_in_words(problem, best.mechanism)


def margins(best: Solution) -> Array | None:
    """m(x,i) = B(x,i) - u_i.E(x,.), row per state; None where conditions or beliefs add prices of their own."""
    proof = best.certificate
    other = best.problem.misaligned or best.problem.reporting or best.priors is not None
    if other or not proof.conditions.empty:
        return None
    u = proof.u if best.exact else floats(proof.u)
    return public(best.problem.B - best.problem.E.dot(u.T))


def _randomised(best: Solution) -> Iterator[str]:
    problem, mechanism = best.problem, best.mechanism
    live = np.asarray(problem.p) > 0
    mixed = np.flatnonzero(((mechanism.q > 0).sum(axis=1) > 1) & live)
    if not len(mixed):
        yield "None: the data determine the signal, and nothing is drawn at random."
        return
    table = margins(best)
    exact = best.exact and best.gap == 0
    yield (
        f"{len(mixed)} of {counted(len(problem.p), 'state')} {'has' if len(mixed) == 1 else 'have'} a random signal. "
        "So a part of the data in such a state gets one signal, and the rest gets another."
    )
    if table is not None:
        yield (
            "A state has several signals only if they cost Alice the same. The cost of a signal is B - u.E: Bob's loss "
            "minus Eve's loss under her replies u in the proof, which have total weight lambda."
        )
    names = {name: i for i, name in enumerate(problem.bob_decisions)}
    for x in sorted(map(int, mixed), key=lambda x: -problem.p[x])[:_NAMED]:
        sent = sorted(((v, s) for s, v in enumerate(public(mechanism.q[x])) if v > 0), key=lambda pair: -pair[0])
        parts = ", ".join(f"“{clean(mechanism.signals[s])}” {both(v)}" for v, s in sent[:_NAMED])
        line = f"{told(problem.states[x])} goes to {parts}."
        if table is not None:
            costs = []
            for _, s in sent[:_NAMED]:
                bob, margin = public(problem.B[x])[names[mechanism.signals[s]]], table[x, names[mechanism.signals[s]]]
                costs.append(f"“{clean(mechanism.signals[s])}” costs {_difference(bob, bob - margin)}")
            same = "the same" if exact else "the same up to rounding"
            line += f" Here {' and '.join(costs)}: {same}, {both(margin)}."
        yield line
    if len(mixed) > _NAMED:
        yield f"{counted(len(mixed) - _NAMED, 'more state')} like these."


def _difference(bob: Number, eve: Number) -> str:
    return f"{short(bob)} - {short(eve)}".replace("≈ ", "")
