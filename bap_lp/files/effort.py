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

from bap_lp.limits import limit, raising
from bap_lp.rational import InputError

_NUMBER = re.compile(r"[ \t\r\n]*[-+]?[0-9]+(?:/([0-9]+))?[ \t\r\n]*")
_CONES = ("posterior_caps", "posterior_ratio", "independent_of")
_PRICED = ("privacy", "approximate_privacy", "beliefs", "max_leakage", *_CONES, "signal_floor", "pufferfish")
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


def proof_steps(problem: Any, certificate: Any, states: int = 0) -> int:
    """Steps to check the certificate of one problem; what is not a table counts as nothing, and is refused later.

    The proof of a conflict has no rho: it is about `states` states, and a signal per row of u.
    """
    signals = length(certificate, "u") if states else width(certificate, "rho")
    shape = states or length(certificate, "rho"), signals, width(certificate, "u")
    N, S, e = (max(1, size) for size in shape)
    agents = [agent for role in ("bob", "eve") for agent in items(problem, role)]
    decisions = sum(length(agent, "decisions") for agent in agents)
    asked = table(certificate, "conditions")
    vectors = 2 * sum(length(asked, name) for name in _CONES) + e * ("signal_floor" in asked)
    vectors += sum(2 * length(one, "pairs") * max(1, length(one, "priors")) for one in items(asked, "pufferfish"))
    pairs = 2 * length(asked, "neighbours") if "neighbours" in asked else N * N * bool({"metric", "delta"} & {*asked})
    steps = N * S * (2 + e + decisions + vectors) + pairs * (S + N * ("metric" in asked))
    if not asked and _floating(table(certificate)):
        return N  # large tables of floats are judged in floats; `verify` bounds what it does in rationals
    parts = [certificate, *items(certificate, "branches")]
    for part in parts[1:]:
        steps += N * length(part, "signals") * (2 + e)
    for part in parts:  # a price is about a row of up to N numbers
        steps += N * sum(length(part, name) for name in ("obedience", *_PRICED))
    if asked.get("deterministic") is True and len(parts) == 1:
        bobs = math.prod(min(length(bob, "decisions"), 2**20) for bob in items(problem, "bob"))
        live = sum(mass not in (0, "0") for mass in items(table(problem, "data"), "prior"))
        maps = bobs ** min(live, 64)
        steps += maps * N * min(S, 64) if maps <= limit("maps") else 0
    return steps


def nested_steps(certificate: Any, joint: str) -> int:
    """Steps to check a certificate with a table of replies per tier or scenario, and a joint table of this name."""
    rows, columns = length(certificate, joint), width(certificate, joint)
    replies = [u for u in items(certificate, "replies") if isinstance(u, list)]
    return rows * columns * sum(2 + max(map(_size, u), default=0) for u in replies)


def _written(documents: Iterable[Any]) -> tuple[int, set[str]]:
    """The mean digits of the numbers in the table where it is largest, and the denominators in tables.

    A table is what lists hold under one key.
    """
    found: set[str] = set()
    sizes: dict[str, list[int]] = {}
    todo: list[tuple[str, Any]] = [("", document) for document in documents]
    while todo:
        key, node = todo.pop()
        if isinstance(node, dict):
            todo.extend((name, item) for name, item in node.items() if isinstance(item, (dict, list)))
        elif isinstance(node, list):
            todo.extend((key, item) for item in node)
        else:
            number = _NUMBER.fullmatch(node) if isinstance(node, str) else None
            below = number[1] if number is not None else None
            sizes.setdefault(key, []).append(len(node) // (1 if below is None else 2) if number is not None else 0)
            found |= {below} if below is not None else set()
    return max((sum(own) // len(own) for own in sizes.values()), default=0), found


def _floating(value: Any) -> bool:
    """Whether a certificate holds a float."""
    if isinstance(value, (dict, list)):
        return any(map(_floating, value.values() if isinstance(value, dict) else value))
    return isinstance(value, float)


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
    """The number of rows of a list in a table."""
    return _size(table(document).get(key))


def width(document: Any, key: str) -> int:
    """The length of the longest row of a list in a table."""
    return max(map(_size, items(document, key)), default=0)
