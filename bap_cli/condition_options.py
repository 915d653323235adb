"""Conditions on the command line: the compact forms of demands about events.

    --posterior-cap 'heads:1/2'           P(heads | signal) at most 1/2; --posterior-floor is at least
    --posterior-ratio 'heads,edge:2'      P(heads or edge | signal) / P(heads or edge) between 1/2 and 2
    --independent-of 'heads'              the signal does not depend on the event
    --pufferfish 'a,b|c,d:2'              the two events look alike up to a factor 2; or a JSON table, as in a
                                          file, which may have several pairs and priors
    --signal-floor 1/3, 'Eve:1/3'         for every Eve, or by name

Labels are separated by commas; the number stands behind the last colon. A label that holds one of , : | is written as a
JSON list: '["a,b"]:1/2'. Options may be repeated; they take the place of the file's condition.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from bap_lp.rational import InputError


def structured(
    caps: Sequence[str] | None,
    floors: Sequence[str] | None,
    ratios: Sequence[str] | None,
    independent: Sequence[str] | None,
    secrets: Sequence[str] | None,
    signal: Sequence[str] | None,
) -> dict[str, Any]:
    """The fields of Conditions that the options state; None where there is no option."""
    bounds = [
        {"event": _event(event, name), kind: value}
        for texts, name, kind in ((caps, "--posterior-cap", "at_most"), (floors, "--posterior-floor", "at_least"))
        for event, value in (_divided(text, name) for text in texts or ())
    ]
    ratio = [(_divided(text, "--posterior-ratio")) for text in ratios or ()]
    return {
        "posterior_caps": bounds or None,
        "posterior_ratio": [{"event": _event(e, "--posterior-ratio"), "exp_epsilon": v} for e, v in ratio] or None,
        "independent_of": [_event(text, "--independent-of") for text in independent or ()] or None,
        "pufferfish": [_secrets(text) for text in secrets or ()] or None,
        "signal_floor": _floors(signal),
    }


def _divided(text: str, option: str) -> tuple[str, str]:
    event, colon, value = text.rpartition(":")
    if not colon or not event.strip() or not value.strip():
        form = "EVE:NUMBER, one per Eve" if option == "--signal-floor" else "STATES:NUMBER, such as heads:1/2"
        raise InputError(option, text, f"must be {form}")
    return event, value


def _event(text: str, option: str) -> list[Any]:
    if text.strip().startswith("["):
        try:
            found = json.loads(text)
        except ValueError:
            raise InputError(option, text, "must be a JSON list of states, or labels separated by commas") from None
        return found if isinstance(found, list) else [found]
    return [part.strip() for part in text.split(",")]


def _secrets(text: str) -> Any:
    if text.strip().startswith("{"):
        try:
            return json.loads(text)
        except ValueError:
            raise InputError(
                "--pufferfish", text, "must be a JSON table, or two events and a number: a,b|c:2"
            ) from None
    events, value = _divided(text, "--pufferfish")
    return {"pairs": [_pair(events)], "exp_epsilon": value}


def _pair(text: str) -> list[list[Any]]:
    sides = text.split("]|[") if text.strip().startswith("[") else text.split("|")
    if len(sides) != 2:
        raise InputError("--pufferfish", text, "must be two events with | between them, such as a,b|c:2")
    if text.strip().startswith("["):
        sides = [sides[0] + "]", "[" + sides[1]]
    return [_event(side, "--pufferfish") for side in sides]


def _floors(texts: Sequence[str] | None) -> Any:
    if not texts:
        return None
    if len(texts) == 1 and ":" not in texts[0]:
        return texts[0]
    pairs = [_divided(text, "--signal-floor") for text in texts]
    floors = dict(pairs)
    if len(floors) < len(pairs):
        raise InputError("--signal-floor", ", ".join(texts), "must have one number per Eve")
    return floors
