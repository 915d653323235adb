"""How much work a proof asks for, estimated from its documents before a number of them is used.

Every number of a file is bounded, and so is the file. Still, a sum of fractions has the least common multiple L of
their denominators, which a short file can make very long, and a product of three tables takes many more steps than
there are numbers. The unit is one operation with short fractions. An operation that adds a fraction of m digits to a
sum with d digits takes about d m / 32000 units more (measured with `fractions.Fraction`). So the work is about
    steps (1 + d m / 32000),
with d the digits of L, m the mean digits of the fractions of a table (of the table where they are digits), and as many
steps as the loops of the check have: N S (e + ...) for N states, S signals and e decisions of the Eves. Numbers outside
tables, such as the value, are used once and do not count. `verify_standalone` has the same estimate.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from flint import fmpz

from bap_lp.support.limits import limit, raising
from bap_lp.support.rational import InputError

_NUMBER = re.compile(r"[ \t\r\n]*[-+]?[0-9]+(?:/([0-9]+))?[ \t\r\n]*")
_CONES = ("posterior_caps", "posterior_ratio", "independent_of")
_LABELS = {"labels", "decisions", "states", "signals", "knows", "secret"}  # lists of names, also where these are digits
_SLOW = 32_000  # products of digits that take as long as one operation with short fractions


def check_effort(documents: Sequence[Any], steps: int, source: str) -> None:
    """Raise InputError if a check of so many steps with the numbers of these documents takes too much work."""
    check_denominators(*_written(documents), steps, source)


def check_denominators(digits: int, denominators: Iterable[str], steps: int, source: str) -> None:
    """The same, given the mean digits of the numbers and all denominators."""
    most = limit("work")
    if _work(digits, denominators, steps, most) > most:
        rule = f"takes more than {most} steps: its tables are too large or its numbers too long"
        raise InputError(source, None, f"{rule} {raising('work')}")


def _work(digits: int, denominators: Iterable[str], steps: int, most: float) -> int:
    """The work of a check; once it is more than `most`, some number above it."""
    denominators, work = list(denominators), steps
    if most < math.inf and steps * (1 + sum(map(len, denominators)) * digits // _SLOW) <= most:
        return steps  # however little they have in common
    common = fmpz(1)
    for q in denominators:
        if work > most:
            break
        common = common.lcm(fmpz(q)) if q.strip("0") else common
        work = steps * (1 + int(common.bit_length()) * 3 // 10 * digits // _SLOW)
    return work


def limits_needed(documents: Sequence[Any], steps: int, longest: int) -> list[str]:
    """Limits to raise so that a check of so many steps can be made, if the longest integer has so many digits."""
    needed = {"digits": longest, "work": _work(*_written(documents), steps, math.inf)}
    return [f"{name}={value}" for name, value in needed.items() if value > limit(name)]


def proof_steps(problem: Any, certificate: Any) -> int:
    """Steps to check a certificate; what is not a table counts as nothing, and is refused later.

    A table of N states and S signals is gone through once for every column of every observer, for every vector that a
    condition has, and once more for every case.
    """
    replies = table(certificate, "replies")
    sizes = [shape(u) for u in replies.values()]
    N, S = shape(table(certificate).get("channel"))
    states = len(items(table(problem, "data"), "prior"))
    N, S = max(N, states, 1), max(S, 1, *(views for views, _ in sizes), 1)
    columns = sum(width if width < 2 * N else width // max(N, 1) for _, width in sizes)  # devices are sparse
    vectors = pairs = 0
    for asked in map(table, items(certificate, "conditions")):
        vectors += 2 * sum(length(asked, name) for name in _CONES) + columns * ("signal_floor" in asked)
        vectors += sum(2 * length(one, "pairs") * max(1, length(one, "priors")) for one in items(asked, "pufferfish"))
        every = N * N * bool({"metric", "delta"} & {*asked})
        pairs += 2 * length(asked, "neighbours") if "neighbours" in asked else every
    metric = any("metric" in table(asked) for asked in items(certificate, "conditions"))
    agents = [agent for role in ("bob", "eve") for agent in items(problem, role)]
    vectors += sum(length(agent, "decisions") for agent in agents)
    cases = items(certificate, "cases")
    return (N * S * (2 + columns + vectors) + pairs * (S + N * metric)) * (1 + len(cases))


def shape(value: Any) -> tuple[int, int]:
    """Rows and columns of a table of a proof, as far as they are written."""
    value = value.get("rows", value.get("shape")) if isinstance(value, dict) else value
    if isinstance(value, list) and len(value) == 2 and all(type(n) is int for n in value):
        return max(value[0], 0), max(value[1], 0)
    return (len(value), max(map(_size, value), default=0)) if isinstance(value, list) else (0, 0)


def _written(documents: Iterable[Any]) -> tuple[int, set[str]]:
    """The mean digits of the numbers in the table where it is largest, and the denominators in tables.

    A table is what lists hold under one key; labels are no numbers.
    """
    found: set[str] = set()
    sizes: dict[str, list[int]] = {}
    todo: list[tuple[str, Any]] = [("", document) for document in documents]
    while todo:
        key, node = todo.pop()
        if isinstance(node, dict):
            common = node.get("over")  # of a table of integers
            if isinstance(common, str) and common.isascii() and common.isdigit():
                found.add(common)
                sizes.setdefault(f"{key} over", []).append(len(common) // 2)
            todo.extend((name, item) for name, item in node.items() if isinstance(item, (dict, list)))
        elif isinstance(node, list):
            todo.extend((key, item) for item in node)
        elif key not in _LABELS:
            number = _NUMBER.fullmatch(node) if isinstance(node, str) else None
            below = number[1] if number is not None else None
            sizes.setdefault(key, []).append(len(node) // (1 if below is None else 2) if number is not None else 0)
            found |= {below} if below is not None else set()
    return max((sum(own) // len(own) for own in sizes.values()), default=0), found


def _size(value: Any) -> int:
    return len(value) if isinstance(value, list) else 0


def table(document: Any, key: str | None = None) -> dict[str, Any]:
    """A table, or the table of this name in it; empty if there is none."""
    value = document.get(key) if key is not None and isinstance(document, dict) else document
    return value if isinstance(value, dict) else {}


def items(document: Any, key: str) -> list[Any]:
    """A list in a table; a table alone counts as a list of one; empty if there is none."""
    value = table(document).get(key)
    return value if isinstance(value, list) else [value] if isinstance(value, dict) else []


def length(document: Any, key: str) -> int:
    return _size(table(document).get(key))
