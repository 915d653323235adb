"""Objects that users hand over: one of another kind is refused in one line that names it, as a wrong number is.

`checked` reads the annotations of a public function. An argument annotated with a class of this package, with that or
None, or with a sequence of such objects, must be one. So must flags (bool) and names of files (a string or a path). All
other arguments are the function's own business. A class with `from_plain` also takes what users may write instead: a
table of names for `Conditions`, rows of numbers for a `Mechanism` on the states of the call's problem.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, wraps
from inspect import signature
from types import NoneType, UnionType
from typing import Any, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from bap_lp.rational import InputError

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class _Kind:
    """The classes of an argument, in words; whether it is a sequence of such objects, and whether None will do."""

    classes: tuple[Any, ...]
    words: str
    several: bool
    optional: bool


def checked(function: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
    """The function, which first looks at the kinds of its arguments."""
    names = tuple(signature(function).parameters)

    @cache
    def kinds() -> dict[str, _Kind]:
        hints = get_type_hints(function)
        found = {name: _kind(hints[name]) for name in names if name in hints}
        return {name: kind for name, kind in found.items() if kind is not None}

    @wraps(function)
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Answer:
        wanted, given = kinds(), {**kwargs, **dict(zip(names, args, strict=False))}
        found: dict[str, Any] = {}
        for name in filter(given.__contains__, names):  # in the order of the signature: a problem before its mechanisms
            kind, value = wanted.get(name), given[name]
            if kind is not None and not (value is None and kind.optional):
                problem = found["problem"] if "problem" in found else next(iter(found.get("problems") or ()), None)
                value = (_all if kind.several else _one)(name, value, kind, getattr(problem, "states", None))
            found[name] = value
        named = {name: found.get(name, value) for name, value in kwargs.items()}
        return function(*map(found.get, names[: len(args)]), *args[len(names) :], **named)  # type: ignore[arg-type]

    return call


_PATH, _FLAG = (str, os.PathLike), (bool, np.bool_)


def _kind(hint: Any) -> _Kind | None:
    """What an annotation asks for; None if that is not checked here."""
    parts = [part for part in _parts(hint) if part is not NoneType]
    optional = len(parts) < len(_parts(hint))
    if [get_origin(part) or part for part in parts] == list(_PATH):
        return _Kind(_PATH, "a string or a path", False, optional)
    if len(parts) != 1:
        return None
    several = get_origin(parts[0]) is Sequence
    one = get_args(parts[0])[0] if several else parts[0]
    if one is bool:
        return _Kind(_FLAG, "True or False", False, optional)
    ours = isinstance(one, type) and one.__module__.partition(".")[0] == __name__.partition(".")[0]
    return _Kind((one,), _article(one), several, optional) if ours else None


def _article(kind: type) -> str:
    return f"a{'n' if kind.__name__[0] in 'AEIOU' else ''} {kind.__name__}"


def _parts(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def real_numbers(name: str, value: Any) -> Any:
    """An array of floats; refuses what is not made of numbers, such as text, a ragged table or complex numbers."""
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InputError(name, None, f"must be an array of numbers, is {_said(value)}") from None


def whole_number(name: str, value: Any, least: int) -> int:
    """An integer, at least so large; 1e5 is one too."""
    whole = isinstance(value, (int, np.integer)) or (isinstance(value, (float, np.floating)) and value == value // 1)
    if isinstance(value, (bool, np.bool_)) or not whole or value < least:
        raise InputError(name, value, f"must be an integer, at least {least}")
    return int(value)


def text_of(name: str, value: Any) -> str:
    """Text; none if it is None."""
    if value is not None and not isinstance(value, str):
        raise InputError(name, None, f"must be text, is {_said(value)}")
    return value or ""


def several(name: str, value: Any, kind: type) -> list[Any]:
    """A list of objects of one kind; refuses all else."""
    return _all(name, value, _Kind((kind,), _article(kind), True, False))


def _all(name: str, value: Any, kind: _Kind, states: Sequence[str] | None = None) -> list[Any]:
    if not isinstance(value, Iterable) or isinstance(value, (str, bytes, *kind.classes)):
        raise InputError(name, None, f"must be a list, each of them {kind.words}, is {_said(value)}")
    return [_one(f"{name}[{k}]", item, kind, states) for k, item in enumerate(value)]


def _one(name: str, value: Any, kind: _Kind, states: Sequence[str] | None = None) -> Any:
    if isinstance(value, kind.classes):
        return value
    plain = getattr(kind.classes[0], "from_plain", None)
    found = None if plain is None else plain(value, name, states)
    if found is None:
        raise InputError(name, None, f"must be {kind.words}, is {_said(value)}")
    return found


def _said(value: Any) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"
