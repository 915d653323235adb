"""Agents: one Bob or Eve as users write them, read and checked; and several Eves as one.

The paper's criterion for several Eves is L_E = min over the Eves of their losses: a breach occurs as soon as one of
them learns her target. The joint Eve chooses a decision for each, so she acts on the product of their decision spaces,
and she loses only what the best of them loses.

What an Eve knows besides the signal is z, drawn from k(z|x) apart from it:
    R_E = sum_{s,z} min_j sum_x p(x) k(z|x) q(s|x) E(x,j)
So an Eve with knowledge is one Eve per value z, with the losses k(z|x) E(x,j): a group of columns of its own. With
`knows`, a label per state, z is a function of x and k(z|x) is one or zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from math import prod
from typing import Any

import numpy as np

from bap_lp.model.reports import SCORES, reports
from bap_lp.support.labels import BY_GRID, joined, joints, labels, probability, state_labels, weight_of
from bap_lp.support.limits import limit, raising
from bap_lp.support.rational import EXACT, Array, Field, InputError, array, floats, is_exact


@dataclass(frozen=True)
class Agent:
    """One Bob or one Eve: a loss table (row per state, or per theta for a Bob of a model; column per decision).

    Args:
        loss: the table that the agent minimises, row by row; numbers, fractions, or strings such as "1/3". An Eve
            who reports probabilities has the loss "log" or "brier" instead.
        decisions: a name for every column; by default their numbers.
        name: what results call the agent; needed if there are several.
        weight: what R_B or R_E counts of the agent's risk.
        knows: what an Eve knows besides the signal: a label per state.
        knowledge: the same as k(z|x), a row per state, if what she knows is random.
        harm: what Alice counts instead of the loss, a table of the same shape. See `beliefs`.
        prior: what the agent believes about the states, instead of p(x).
        secret: what an Eve with the loss "log" or "brier" wants, a label per state; by default the state itself. She
            reports probabilities of its values. See `reports`.

    Raises:
        InputError: when a `Problem` is built with an agent whose tables do not fit it.

    >>> from bap_lp import Agent, Problem, solve
    >>> neighbour = Agent([[0, 1], [10, 0]], decisions=["tails", "heads"], name="neighbour")
    >>> stranger = Agent([[0, 1], [1, 0]], name="stranger", weight="1/2")
    >>> both = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], eves=[neighbour, stranger])
    >>> print(solve(both, "1/3").value)
    1/16
    """

    loss: Any
    decisions: Sequence[str] | None = None
    name: str = ""
    weight: Any = 1
    _: KW_ONLY
    knows: Any = None
    knowledge: Any = None
    harm: Any = None
    prior: Any = None
    secret: Any = None


def read_agents(
    agents: Sequence[Agent] | None, loss: Any, decisions: Any, role: str, rows: int, per: str = "state"
) -> tuple[Agent, ...]:
    """The agents of a role, given as a list or as one table, with everything read and checked."""
    if (agents is None) == (loss is None):
        raise InputError(f"{role}_loss", None, f"or {role}s must be given, one of the two")
    alone = agents is None
    out = []
    for k, agent in enumerate([Agent(loss, decisions)] if agents is None else agents):
        field = f"{role}_loss" if alone else f"{role}s[{k}].loss"
        if isinstance(agent.loss, str):
            out.append(_read_reporter(agent, role, k, field, rows))
            continue
        if agent.secret is not None:
            rule = f'needs the loss "{SCORES[0]}" or "{SCORES[1]}"' if role == "eve" else "is for an Eve"
            raise InputError(f"{role}s[{k}].secret", None, rule)
        table = array(agent.loss, field, 2)
        if len(table) != rows:
            raise InputError(field, None, f"has {len(table)} rows, must have {rows}, one per {per}")
        where = f"{role}_decisions" if alone else f"{role}s[{k}].decisions"
        names = labels(agent.decisions, where, table.shape[1])
        weight, name = weight_of(agent.weight, f"{role}s[{k}].weight"), _name_of(agent, role, k)
        knows, knowledge = knowledge_of(agent.knows, agent.knowledge, f"{role}s[{k}]", rows)
        if role == "bob" and (knows is not None or knowledge is not None):
            rule = "is for an Eve: a Bob has the signal alone"
            raise InputError(f"bobs[{k}].{'knows' if knowledge is None else 'knowledge'}", None, rule)
        harm = None if agent.harm is None else array(agent.harm, f"{role}s[{k}].harm", 2)
        if harm is not None and harm.shape != table.shape:
            raise InputError(
                f"{role}s[{k}].harm", None, f"has shape {harm.shape}, must have {table.shape} like the loss"
            )
        prior = agent.prior
        if prior is not None and per == "state":
            prior = probability(prior, f"{role}s[{k}].prior")
            if len(prior) != rows:
                rule = f"has {len(prior)} entries, must have {rows}, one per state"
                raise InputError(f"{role}s[{k}].prior", None, rule)
        read = {"loss": table, "decisions": names, "name": name, "weight": weight, "harm": harm, "prior": prior}
        out.append(replace(agent, **read, knows=knows, knowledge=knowledge))
    if not out:
        raise InputError(f"{role}s", None, "must not be empty")
    labels([a.name for a in out], f"names of {role}s", len(out))
    return tuple(out)


def _name_of(agent: Agent, role: str, k: int) -> str:
    if not isinstance(agent.name, str):
        raise InputError(f"{role}s[{k}].name", agent.name, "must be a string")
    return agent.name or role.capitalize() + (str(k + 1) if k else "")


def _read_reporter(agent: Agent, role: str, k: int, field: str, rows: int) -> Agent:
    if role == "bob" and agent.loss in SCORES:
        raise InputError(field, agent.loss, f"must be a table: {BY_GRID}")
    if agent.loss not in SCORES:
        raise InputError(field, agent.loss, 'must be a table, "log" or "brier"' if role == "eve" else "must be a table")
    where = f"eves[{k}]"
    for name in ("decisions", "harm", "prior"):
        if getattr(agent, name) is not None:
            raise InputError(f"{where}.{name}", None, "is not for an Eve who reports probabilities")
    knows, knowledge = knowledge_of(agent.knows, agent.knowledge, where, rows)
    weight = weight_of(agent.weight, f"{where}.weight")
    if weight > 10**295:
        raise InputError(f"{where}.weight", weight, "must be at most 1e295")
    secret = None if agent.secret is None else state_labels(agent.secret, f"{where}.secret", rows)
    read = {"name": _name_of(agent, role, k), "weight": weight, "secret": secret}
    return replace(agent, **read, knows=knows, knowledge=knowledge)


def knowledge_of(knows: Any, knowledge: Any, field: str, rows: int) -> tuple[tuple[str, ...] | None, Array | None]:
    """Read `knows` (a label per state) or `knowledge` (k(z|x), a row per state); at most one of them."""
    if knows is not None and knowledge is not None:
        raise InputError(f"{field}.knowledge", None, "must not be given with knows: one of the two")
    if knows is not None:
        return state_labels(knows, f"{field}.knows", rows), None
    if knowledge is not None:
        table = array(knowledge, f"{field}.knowledge", 2)
        if len(table) != rows:
            raise InputError(f"{field}.knowledge", None, f"has {len(table)} rows, must have {rows}, one per state")
        read = [probability(row, f"{field}.knowledge[{x}]") for x, row in enumerate(table)]
        return None, np.array(read, dtype=table.dtype)
    return None, None


def values_of(knows: tuple[str, ...] | None, knowledge: Array | None) -> tuple[str, ...] | None:
    """The values z, in order of first appearance; None for an Eve who knows nothing."""
    if knows is not None:
        return tuple(dict.fromkeys(knows))
    return None if knowledge is None else tuple(map(str, range(knowledge.shape[1])))


def shares_of(knows: tuple[str, ...] | None, knowledge: Array | None, rows: int, field: Field) -> Array:
    """k(z|x), states x values; a column of ones for an Eve who knows nothing."""
    if knowledge is not None:
        return field.array(knowledge)
    if knows is None:
        return field.full((rows, 1), 1)
    place = {z: k for k, z in enumerate(dict.fromkeys(knows))}
    out = field.zeros((rows, len(place)))
    out[np.arange(rows), [place[z] for z in knows]] = field.one
    return out


def expanded_losses(loss: Array, shares: Array) -> Array:
    """k(z|x) E(x,j), the values z one after another."""
    if shares.shape[1] == 1:
        return loss if (shares == 1).all() else shares * loss
    if not is_exact(loss):
        return (floats(shares)[:, :, None] * loss[:, None, :]).reshape(len(loss), -1)
    out = np.full((len(loss), shares.shape[1], loss.shape[1]), loss.ravel()[0] * 0, dtype=object)
    x, z = np.nonzero(shares != 0)
    out[x, z] = loss[x] * shares[x, z][:, None]
    return out.reshape(len(loss), -1)


def float_agent(agent: Agent) -> Agent:
    return replace(changed_agent(agent, floats), weight=float(agent.weight))


def changed_agent(agent: Agent, change: Callable[[Array], Array]) -> Agent:
    own = (None if part is None else change(part) for part in (agent.harm, agent.prior, agent.knowledge))
    harm, prior, knowledge = own
    loss = agent.loss if reports(agent) else change(agent.loss)
    return replace(agent, loss=loss, harm=harm, prior=prior, knowledge=knowledge)


def agent_numbers(agent: Agent) -> list[Any]:
    own = (None if reports(agent) else agent.loss, agent.weight, agent.harm, agent.prior, agent.knowledge)
    return [part for part in own if part is not None]


def require_views(eves: Sequence[Agent]) -> None:
    """Refuse a table of what Eves decide at every value of what they know that would be too large."""
    tables = [eve for eve in eves if not reports(eve)]
    known = [len(values_of(eve.knows, eve.knowledge) or ("",)) for eve in tables]
    if max(known, default=1) > 1:
        columns = sum(count * len(eve.decisions or ()) for count, eve in zip(known, tables, strict=True))
        _require_size("eves", columns, len(tables[0].loss))


def _require_size(role: str, columns: int, states: int) -> None:
    """Refuse a table of so many columns: decisions multiply, and a short text can ask for a large table."""
    for name, size in (("columns", columns), ("cells", columns * states)):
        if size > limit(name):
            what = f"have {columns} decisions together" + (f" in {states} states" if name == "cells" else "")
            raise InputError(role, None, f"{what}, must have at most {limit(name)} {name} {raising(name)}")


def product_loss(bobs: tuple[Agent, ...]) -> Array:
    if len(bobs) > 1:
        _require_size("bobs", prod(bob.loss.shape[1] for bob in bobs), len(bobs[0].loss))
    total = counted_loss(bobs[0])
    for bob in bobs[1:]:
        total = (total[:, :, None] + counted_loss(bob)[:, None, :]).reshape(len(total), -1)
    return total


def counted_loss(agent: Agent) -> Array:
    """What Alice counts."""
    table = agent.loss if agent.harm is None else agent.harm
    if agent.weight == 1:
        return table
    with np.errstate(over="ignore"):
        out: Array = agent.weight * table
    if not is_exact(out) and not np.isfinite(out).all():
        raise InputError(f"weight of {agent.name}", agent.weight, "makes a loss too large for floats")
    if is_exact(out) and agent.weight > 1 and out.max() > 10**300:
        raise InputError(f"weight of {agent.name}", agent.weight, "makes a loss larger than 1e300")
    return out


def minimum_of(eves: Sequence[Agent], name: str = "") -> Agent:
    """One Eve on the product of the decision spaces, with the smallest of the weighted losses.

    Args:
        eves: the agents, with losses for the same states.
        name: the name of the joint agent; "minimum of ..." by default.

    Returns:
        The joint agent. Her decisions are named "a, b, ..." and ordered with the last Eve's changing fastest. If some
        Eves know labels, she knows all of them. In floats she has the weight of the Eves if they all have the same, and
        nothing is rounded; otherwise her table has the smallest products, compared exactly and rounded once.

    Raises:
        InputError: there is no Eve, their tables have different numbers of rows, there are too many joint decisions, or
            an Eve has harm or a prior of her own or a table of knowledge.

    >>> from bap_lp import Agent, minimum_of
    >>> both = minimum_of([Agent([[0, 1]], ["low", "high"]), Agent([["1/2", 2]], ["no", "yes"])])
    >>> both.decisions, [str(v) for v in both.loss[0]]
    (['low, no', 'low, yes', 'high, no', 'high, yes'], ['0', '0', '1/2', '1'])
    """
    if not eves:
        raise InputError("eves", None, "must not be empty")
    for k, eve in enumerate(eves):
        if isinstance(eve.loss, str):
            raise InputError(f"eves[{k}].loss", eve.loss, "is not possible here: the joint Eve needs tables of losses")
        if eve.harm is not None or eve.prior is not None:
            raise InputError(f"eves[{k}]", None, "must not have harm or a prior: the joint Eve shares Alice's")
        if eve.knowledge is not None:
            rule = "is not possible here: the joint Eve needs a label per state, as in knows"
            raise InputError(f"eves[{k}].knowledge", None, rule)
    unnamed = [replace(eve, name="") for eve in eves]
    given = read_agents(unnamed, None, None, "eve", len(array(eves[0].loss, "eves[0].loss", 2)))
    _require_size("eves", prod(eve.loss.shape[1] for eve in given), len(given[0].loss))
    exact = all(is_exact(part) for eve in given for part in agent_numbers(eve))
    alike = not exact and len({EXACT.number(eve.weight) for eve in given}) == 1
    tables = [eve.loss if alike else counted_loss(_of_one_kind(eve)) for eve in given]
    first, *rest = tables if exact else map(floats, tables)
    for table in rest:  # rounding keeps the order, so the least of rounded products is the least product, rounded
        first = np.minimum(first[:, :, None], table[:, None, :]).reshape(len(first), -1)
    called = [eve.name or f"Eve{k + 1}" for k, eve in enumerate(eves)]
    columns = [eve.knows for eve in given if eve.knows is not None]
    knows = [joined(row) for row in zip(*columns, strict=True)] if columns else None
    decisions = joints([eve.decisions or () for eve in given])
    weight = given[0].weight if alike else 1
    return Agent(first, decisions, name or f"minimum of {', '.join(called)}", weight, knows=knows)


def _of_one_kind(agent: Agent) -> Agent:
    """The agent, in rationals if loss and weight are not of one kind: so their products are rounded only once."""
    if is_exact(agent.loss) == is_exact(agent.weight):
        return agent
    return replace(agent, loss=EXACT.array(agent.loss), weight=EXACT.number(agent.weight))
