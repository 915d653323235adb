"""signal_floor: every Eve's risk given any signal is at least f, whatever she knows besides.

E_g[L(x,j)|s,z] >= f for every decision j of Eve g and all z she may know; multiplied by the probability of s and z it
is a row of a cone, g(x) = p(x) k(z|x) (f - L(x,j)). Decisions of the first Eve come before those of the second, and of
her first value z before the next. The losses are an Eve's own, without her weight. Where agents act on beliefs of their
own, her risk is the harm that Alice counts, and a signal prescribes what she does: then the row of decision j is only
about the signals that prescribe j to her.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bap_lp.conditions.base import limit
from bap_lp.conditions.cone import ConeRow, SignalCone
from bap_lp.conditions.events import figure, read_number
from bap_lp.model.problem import Problem
from bap_lp.support.display import person
from bap_lp.support.rational import Array, InputError, text


class SignalFloor(SignalCone):
    name = "signal_floor"

    @classmethod
    def stated(cls, value: Any) -> Any:
        """One floor for all Eves, or pairs of an Eve's name and her floor."""
        if not isinstance(value, (Mapping, tuple, list)):
            return read_number(value, cls.name, 0)
        pairs = list(value.items() if isinstance(value, Mapping) else value)
        if not all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in pairs):
            raise InputError(cls.name, value, "must be a number, or a table of numbers by Eve's name")
        if not pairs:
            raise InputError(cls.name, None, "must name at least one Eve")
        return tuple((str(name), read_number(floor, f"{cls.name}.{name}", 0)) for name, floor in pairs)

    @classmethod
    def label(cls, k: int, one: Any) -> str:
        return f"{cls.name}.{one[0]}"

    @classmethod
    def written(cls, name: str, value: Any) -> Any:
        return {eve: text(floor) for eve, floor in value} if isinstance(value, tuple) else text(value)

    @classmethod
    def sentence(cls, value: Any, problem: Problem) -> str:
        every = problem.eves[0].name if len(problem.eves) == 1 else "every Eve"
        name, floor = value if isinstance(value, tuple) else (every, value)
        return f"After every message, {person(str(name))} loses at least {figure(floor)} on average."

    @classmethod
    def vectors(cls, stated: Any, problem: Problem) -> Iterator[tuple[Array, ConeRow]]:
        names, by_name = [eve.name for eve in problem.eves], isinstance(stated, tuple)
        wanted = dict(stated) if by_name else dict.fromkeys(names, stated)
        for name, floor in wanted.items():
            if name not in names:
                raise InputError(f"{cls.name}.{name}", floor, f"names no Eve: there is {', '.join(names)}")
        for k, (n, _) in enumerate(problem.eve_views):
            if k in problem.reporters and problem.eves[n].name in wanted:
                rule = f"needs an Eve with a table of losses: {problem.eves[n].name} reports probabilities"
                raise InputError(cls.name, wanted[problem.eves[n].name], rule)
        p = problem.p
        for group, ((n, _), columns) in enumerate(zip(problem.eve_views, problem.eve_groups, strict=True)):
            eve = problem.eves[n]
            if eve.name in wanted:
                floor, counted = limit(wanted[eve.name], -1, problem), eve.loss if eve.harm is None else eve.harm
                label = f"{cls.name}.{eve.name}" if by_name else cls.name
                here = p if problem.eve_shares is None else p * problem.eve_shares[:, group]
                for j, loss in enumerate(counted.T):
                    told = (group, columns.start + j) if problem.misaligned else None
                    yield here * (floor - loss), ConeRow(label, here, floor, told)
