"""Questions as tables of a file or dictionaries: the keys of a question and which question they make.

With `asks` it is one of the questions of disclosure control, without it an estimate or a test, by its `loss`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bap_lp import InputError
from bap_lp.rational import public
from discretise.tables.disclosure import ASKS, Cell, Member, Person
from discretise.tables.questions import Asked, Estimate, Threshold, exact_number

_SHARED = ("name", "weight", "cells", "costs")
_KEYS: dict[str, tuple[type[Asked], tuple[str, ...]]] = {
    "empty": (Cell, ("asks",)),
    "below": (Cell, ("asks", "below")),
    "small": (Cell, ("asks", "below")),
    "share": (Cell, ("asks", "above", "of")),
    "person": (Person, ("asks", "knows")),
    "member": (Member, ("asks", "knows", "probability")),
    "0-1": (Threshold, ("loss", "thresholds", "of", "per", "about")),
    "absolute": (Estimate, ("loss", "decisions", "of", "per", "about")),
    "squared": (Estimate, ("loss", "decisions", "of", "per", "about")),
}
QUESTION_KEYS = tuple(dict.fromkeys([*_SHARED, *(key for _, keys in _KEYS.values() for key in keys)]))
_MOST_STEPS = 1000


def read_questions(given: Any, role: str) -> tuple[Asked, ...]:
    """The questions of all Bobs or all Eves."""
    several = isinstance(given, (list, tuple))
    group = list(given) if several else [given]
    if not group:
        raise InputError(role, None, "must not be empty")
    found = tuple(_question(one, f"{role}[{k}]" if len(group) > 1 else role) for k, one in enumerate(group))
    seen: dict[str, int] = {}
    for k, asked in enumerate(found):
        if asked.name and seen.setdefault(asked.name, k) != k:
            raise InputError(f"{role}[{k}].name", asked.name, f"repeats {role}[{seen[asked.name]}].name")
    return found


def _question(given: Any, place: str) -> Asked:
    if isinstance(given, Asked):
        return given
    if not isinstance(given, Mapping):
        raise InputError(place, given, "must be a question: a table with cells, and asks or loss")
    if "asks" in given and "loss" in given:
        raise InputError(f"{place}.loss", None, "must not be given together with asks")
    if "asks" not in given and "loss" not in given:
        raise InputError(place, None, 'must have asks (such as "empty") or loss ("0-1", "absolute" or "squared")')
    kind = given["asks"] if "asks" in given else given["loss"]
    known = ASKS if "asks" in given else ("0-1", "absolute", "squared")
    if not isinstance(kind, str) or kind not in known:
        key = "asks" if "asks" in given else "loss"
        raise InputError(f"{place}.{key}", kind, "must be one of " + ", ".join(map(repr, known)))
    make, keys = _KEYS[kind]
    for key in given:
        if key not in _SHARED and key not in keys:
            raise InputError(f"{place}.{key}", None, f"does not belong to {kind!r}: it has {', '.join(_SHARED + keys)}")
    if "cells" not in given:
        raise InputError(f"{place}.cells", None, "is missing")
    options = {key: value for key, value in given.items() if key not in ("cells",)}
    if make in (Person, Member):
        options.pop("asks")
    if make is Threshold:
        options.pop("loss")
    if make is Estimate and isinstance(options.get("decisions"), Mapping):
        options["decisions"] = grid_of(options["decisions"], f"{place}.decisions")
    if not isinstance(options.get("name", ""), str):
        raise InputError(f"{place}.name", options["name"], "must be a string")
    return make(given["cells"], **options)


def grid_of(table: Mapping[str, Any], place: str) -> list[Any]:
    """{from, to, steps}: the ends and the points between them that divide the way into equal steps."""
    if set(table) != {"from", "to", "steps"}:
        raise InputError(place, None, "must be a list of numbers, or a table with from, to and steps")
    low, high = (exact_number(table[key], f"{place}.{key}") for key in ("from", "to"))
    steps = table["steps"]
    if not isinstance(steps, int) or isinstance(steps, bool) or not 1 <= steps <= _MOST_STEPS:
        raise InputError(f"{place}.steps", steps, f"must be a whole number between 1 and {_MOST_STEPS}")
    if not low < high:
        raise InputError(f"{place}.to", high, f"must be above from = {low}")
    values = [public(low + (high - low) * k / steps) for k in range(steps + 1)]
    floats = any(isinstance(table[key], float) for key in ("from", "to"))
    return [float(v) for v in values] if floats else values
