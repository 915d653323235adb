"""Mutations of folders: bytes, structure, a number everywhere, other demands, probability that is moved."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from fractions import Fraction
from hashlib import sha256
from typing import Any

from bap_lp import Conditions
from bap_lp.files.bundles import FILES, MANIFEST
from bap_lp.support.proof_tables import read_proof_table

Files = dict[str, bytes]
HOSTILE: list[Any] = [
    *(0, 1, -1, 2, 10**6, 0.5, -0.0, 1e-12, 1e300, -1e300, 1e308, 1e-320, None, True, False, "", " ", "0", "1", "-1"),
    *("1/3", "199/-400", "1/0", "-0/1", "1e9_999_999", "1e300", "1e-300", "1e400", "0x10", "½", "١", "nan", "inf"),
    *("Infinity", " 1/2 ", "1 /2", "+1/2", "0.25", ".5", "5.", "1e", "1" * 301, "1" * 5000, "9" * 25_000, [], {}, [[]]),
    *([None], {"a": 1}, [[0.1]], "fixed", "0" * 400 + "1", "1/" + "3" * 400, 10**9, 10**400, "calibrated"),
    *(
        {"shape": [3], "at": []},
        {"shape": [2, 2], "at": [[0, 0, "1"], [1, 1, "1"]]},
        {"over": "2", "rows": [["1", "1"]]},
    ),
    *({"shape": [0], "at": []}, {"shape": [3], "at": [[0, "1/2"], [2, "1/3"]]}, json.loads("[" * 80 + "]" * 80)),
]


def refitted(files: Files) -> Files:
    """The files with a manifest that fits them, as far as they can be read."""
    try:
        manifest = json.loads(files[MANIFEST])
        if "study.json" in files:
            study, proof = (json.loads(files[name]) for name in ("study.json", "certificate.json"))
            manifest |= {"lambda": proof["lambda"], "conditions": study["conditions"] or {}}
        else:
            problem = json.loads(files[FILES[0]])
            several = problem.get("scenarios") or problem.get("tiers")
            prices = [one["alice"]["lambda"] for one in several or [problem]]
            tables = [one.get("conditions", {}) for one in several or [problem]]
            tables = tables[0] if not several else tables if any(tables) else {}
            manifest |= {"lambda": prices if several else prices[0], "conditions": tables}
        manifest["files"] = {name: sha256(raw).hexdigest() for name, raw in files.items() if name != MANIFEST}
        return files | {MANIFEST: json.dumps(manifest).encode()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return files


def mutated(draw: random.Random, bundles: list[Files], restate: Callable[[random.Random, Files], None]) -> Files:
    """A mutation of a bundle, or of a folder of records; `restate` states what the changed files prove."""
    source, kind = draw.choice(bundles), draw.random()
    files = dict(source)
    names = [name for name in files if name != MANIFEST]
    records = "study.json" in files
    if kind < 0.15:
        _bytes(draw, files)
    elif kind < 0.25:
        name, other = draw.choice(names), draw.choice(bundles)
        files[name] = other[name]
    elif kind < 0.35:
        _everywhere(draw, files)
    elif kind < 0.45 and not records:
        _demand(draw, files, bundles)
    elif kind < 0.6 and not records:
        for _ in range(draw.choice((1, 1, 2, 3))):
            _shift(draw, files)
    else:
        for _ in range(draw.choice((1, 1, 1, 2, 3))):
            name = draw.choice((*names, "certificate.json", "certificate.json", MANIFEST))
            document = json.loads(files[name])
            _structure(draw, document)
            files[name] = json.dumps(document).encode()
    if draw.random() < 0.5 and not records:
        restate(draw, files)
    files = _restored(files, source) if records else files
    return refitted(files) if draw.random() < 0.9 else files


MEASURED = {  # what no proof covers: how cells are read, held-out counts, measurements and sentences
    "study.json": ("title", "holdout", "seed", "keep"),
    "columns": ("numeric", "bands", "named", "merged", "whole", "missing", "strip", "decimal", "ordered"),
    "eves": ("fresh", "reported"),
    "prior.json": ("margins", "likelihoods", "scores", "fresh", "held_out"),
    "result.json": ("conditions", "scores", "likelihoods"),
}


def _restored(files: Files, source: Files) -> Files:
    """With what no proof covers as it was, and a prior of floats, which is as it is written."""
    out, restored = dict(files), json.loads(source["prior.json"])
    if isinstance(restored["smoothing"], float):
        out["prior.json"] = source["prior.json"]

    def restore(now: Any, then: Any, keys: tuple[str, ...]) -> None:
        for key in keys if isinstance(now, dict) else ():
            now |= {key: then[key]} if key in then else {}

    for name in ("study.json", "prior.json", "result.json"):
        try:
            now, then = json.loads(out[name]), json.loads(source[name])
            restore(now, then, MEASURED[name])
            for part in ("columns", "eves"):
                rows = (now.get(part), then.get(part)) if name != "prior.json" else ()
                for own, old in zip(*rows, strict=False) if rows and isinstance(rows[0], list) else ():
                    restore(own, old, MEASURED[part])
            out[name] = json.dumps(now).encode()
        except (ValueError, TypeError, AttributeError, RecursionError):
            continue
    return out


def _shift(draw: random.Random, files: Files) -> None:
    """Probability moved between signals in mechanism and proof alike, or weight between the replies of an observer."""
    mechanism, proof = (json.loads(files[name]) for name in FILES[1:])
    rows = _rows(proof["channel"])
    share = draw.choice((Fraction(1), Fraction(1, 2), Fraction(1, 3), Fraction(1, 2**60)))
    if draw.random() < 0.5 and len(rows[0]) == len(mechanism["signals"]):
        _move(draw, draw.choice(rows), share)
        proof["channel"] = mechanism["channel"] = [[str(v) for v in row] for row in rows]
    elif proof["replies"]:
        part = draw.choice([proof, *proof.get("cases", [])])
        name = draw.choice(list(part["replies"]))
        rows = _rows(part["replies"][name])
        _move(draw, draw.choice(rows), share)
        part["replies"][name] = [[str(v) for v in row] for row in rows]
    files |= {FILES[1]: json.dumps(mechanism).encode(), FILES[2]: json.dumps(proof).encode()}


def _move(draw: random.Random, row: list[Fraction], share: Fraction) -> None:
    a, b = (draw.randrange(len(row)) for _ in range(2))
    moved = row[a] * share
    row[a] -= moved
    row[b] += moved


def _rows(table: Any) -> list[list[Fraction]]:
    return [[Fraction(int(v.p), int(v.q)) for v in row] for row in read_proof_table(table, "table").tolist()]


def _bytes(draw: random.Random, files: Files) -> None:
    name = draw.choice([*files])
    raw = bytearray(files[name])
    for _ in range(draw.choice((1, 1, 2, 8))):
        at = draw.randrange(len(raw) + 1)
        match draw.randrange(4):
            case 0 if at < len(raw):
                raw[at] = draw.randrange(256)
            case 1:
                raw[at:at] = bytes(
                    draw.choice((b"0", b"1", b'"', b",", b"/", b"-", b".", b"e", b"_", b"{", b"\xff", b" "))
                )
            case 2:
                del raw[at : at + draw.choice((1, 1, 2, 10))]
            case _:
                raw[at:at] = raw[max(0, at - draw.randrange(1, 40)) : at]
    files[name] = bytes(raw)


def _everywhere(draw: random.Random, files: Files) -> None:
    """One number rewritten in all files: a consistent lie."""
    numbers = sorted({m for raw in files.values() for m in _numbers(json.loads(raw))})
    old, new = draw.choice(numbers), draw.choice([*numbers, "1/7", "0", "2"])
    for name in files:
        files[name] = files[name].replace(json.dumps(old).encode(), json.dumps(new).encode())


def _demand(draw: random.Random, files: Files, bundles: list[Files]) -> None:
    """A condition of another bundle, or a hostile one, in the problem and mostly in the certificate too."""
    theirs = json.loads(draw.choice(bundles)[FILES[0]])
    theirs = draw.choice(theirs.get("scenarios") or theirs.get("tiers") or [theirs]).get("conditions", {})
    name = draw.choice([*theirs, *Conditions.names()])
    value = theirs[name] if name in theirs and draw.random() < 0.5 else draw.choice(HOSTILE)
    problem, proof = (json.loads(files[place]) for place in (FILES[0], FILES[2]))
    several = problem.get("scenarios") or problem.get("tiers")
    part = draw.choice(several or [problem])
    part["conditions"] = part.get("conditions", {}) | {name: value}
    if draw.random() < 0.8:
        proof["conditions"] = [one.get("conditions", {}) for one in several] if several else part["conditions"]
    files |= {FILES[0]: json.dumps(problem).encode(), FILES[2]: json.dumps(proof).encode()}


def _numbers(node: Any) -> list[str]:
    if isinstance(node, (dict, list)):
        return [m for child in (node.values() if isinstance(node, dict) else node) for m in _numbers(child)]
    return [node] if isinstance(node, str) and node[:1].isdigit() else []


def _structure(draw: random.Random, document: Any) -> None:
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        for key, child in node.items() if isinstance(node, dict) else enumerate(node):
            places.append((node, key))
            if isinstance(child, (dict, list)):
                walk(child)

    walk(document)
    if not places:
        return
    node, key = draw.choice(places)
    match draw.randrange(6):
        case 0:
            node[key] = draw.choice(HOSTILE)
        case 1:
            node[key] = _near(draw, node[key])
        case 2:
            other, there = draw.choice(places)
            node[key] = json.loads(json.dumps(other[there]))
        case 3:
            del node[key]
        case 4 if isinstance(node, list):
            node.insert(draw.randrange(len(node) + 1), json.loads(json.dumps(node[key])))
        case 4:
            node[
                draw.choice(
                    ("knows", "conditions", "channel", "cases", "theta", "void", "delta", "prior", "harm", "rows", "x")
                )
            ] = draw.choice(HOSTILE)
        case _:
            if isinstance(node[key], list):
                draw.shuffle(node[key])
            else:
                node[key] = _near(draw, node[key])


def _near(draw: random.Random, value: Any) -> Any:
    """A number close to this one, or the same one written otherwise."""
    step = draw.choice((Fraction(1, 10**12), Fraction(1, 10**9), Fraction(1, 10), Fraction(1), Fraction(0)))
    step *= draw.choice((1, -1))
    if isinstance(value, float):
        return draw.choice((value * (1 + float(step)), value + float(step), Fraction(value).__str__(), -value))
    try:
        exact = Fraction(value) if not isinstance(value, bool) else Fraction(0)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        return draw.choice(HOSTILE)
    if abs(exact) > 10**300:
        return draw.choice(HOSTILE)
    spelled = [
        str(exact + step),
        str(exact * (1 + step)),
        float(exact + step),
        f"{exact.numerator * 2}/{exact.denominator * 2}",
    ]
    return draw.choice(spelled)
