"""Risks of a sparse joint table of records, and of full and null release; in working numbers.

R_B is a sum over columns, sum_xk L_k(x_k, i_k) rho[x,i]. Eve n sees the decision i and z_n(x), so her risk is
sum_iz min_j sum_s L_n(s,j) m(i,z,s), where m sums rho over the records with secret s and known value z.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bap_lp.support.rational import UNIT, Array, InputError, field_of, floats, is_exact, number, public, tree_sum
from bap_sdc.records.optimum.program import RecordProgram, TableEve


def summed(values: Array, group: Array, count: int) -> Array:
    """Sums over groups, numbered 0 to count - 1."""
    if not is_exact(values):
        return np.bincount(group, weights=values, minlength=count)
    parts: list[Any] = [0] * count
    for g, v in zip(group.tolist(), values.tolist(), strict=True):
        parts[g] = parts[g] + v
    return field_of(values).zeros(count) + np.array(parts, dtype=object)


def column_risks(losses: Sequence[Array], codes: Array, state: Array, decision: Array, rho: Array) -> tuple[Any, ...]:
    """The part of each published column in R_B."""
    published = np.unravel_index(decision, tuple(table.shape[1] for table in losses))
    out = []
    for k, table in enumerate(losses):
        mass = summed(rho, codes[state, k] * table.shape[1] + published[k], table.size)
        out.append(tree_sum(mass * table.ravel()))
    return tuple(out)


def eve_risk(eve: TableEve, state: Array, decision: Array, rho: Array) -> Any:
    """The unweighted risk of an Eve who sees the decision and the columns she knows."""
    levels = len(eve.loss)
    known = eve.known[state]
    seen, place = np.unique(decision * (int(eve.known.max()) + 1) + known, return_inverse=True)
    mass = summed(eve.heard(rho, state), place * levels + eve.secret[state], len(seen) * levels).reshape(-1, levels)
    return tree_sum(mass.dot(eve.loss).min(axis=1))


def extremes_of(program: RecordProgram) -> tuple[tuple[Any, list[Any]], tuple[Any, list[Any]]]:
    """(R_B, unweighted risks of the Eves) of the full release, and of the null release, at which Eve still knows z."""
    p, everywhere = program.p, np.arange(len(program.p))
    full_bob = null_bob = field_of(p).zero
    for k, table in enumerate(program.losses):
        mass = summed(p, program.codes[:, k], len(table))
        full_bob = full_bob + mass.dot(table.min(axis=1))
        null_bob = null_bob + mass.dot(table).min()
    full = [summed(eve.heard(p), eve.secret, len(eve.loss)).dot(eve.loss.min(axis=1)) for eve in program.eves]
    null = [eve_risk(eve, everywhere, np.zeros(len(p), dtype=np.int64), p) for eve in program.eves]
    return (full_bob, full), (null_bob, null)


def weighted_risk(program: RecordProgram, risks: list[Any]) -> Any:
    """R_E, the sum of the Eves' risks times their weights."""
    return sum((eve.weight * risk for eve, risk in zip(program.eves, risks, strict=True)), field_of(program.p).zero)


def as_is_of(program: RecordProgram) -> tuple[Any, list[Any]]:
    """(R_B, unweighted risks of the Eves) if the published columns are released as they are."""
    (bob, _), _ = extremes_of(program)
    everywhere = np.arange(len(program.p))
    sizes = tuple(len(table) for table in program.losses)
    told = np.ravel_multi_index(tuple(program.codes.T), sizes)
    return bob, [eve_risk(eve, everywhere, told, program.p) for eve in program.eves]


TIES = {  # lambdas with a name: the release that is as good as none, and what Eve may do no better with
    "calibrated": ("full", "the data"),
    "as is": ("published columns as they are", "the published columns as they are"),
}


def risks_of(
    program: RecordProgram, state: Array, decision: Array, rho: Array
) -> tuple[tuple[Any, ...], list[Any], Any, Any]:
    """The part of each column in R_B, the unweighted risk of each Eve, R_B and R_E."""
    columns = column_risks(program.losses, program.codes, state, decision, rho)
    risks = [eve_risk(eve, state, decision, rho) for eve in program.eves]
    return columns, risks, sum(columns[1:], columns[0]), weighted_risk(program, risks)


def record_lam(program: RecordProgram, lam: Any) -> Any:
    """Read lam: a non-negative number, or a lam at which no release is as good as another one.

    "calibrated": as the full release, the whole record with its secrets. "as is": as the published columns unchanged.
    """
    name = lam.strip().lower() if isinstance(lam, str) else ""
    if name not in TIES:
        value = number(lam, "lam")
        if value < 0:
            raise InputError("lam", value, "must not be negative")
        largest = max(float(eve.weight) * float(floats(eve.loss).max()) for eve in program.eves)
        if public(value) >= 1e300 / max(largest, 1.0):  # a fraction may be larger than any float
            raise InputError("lam", value, "times Eve's largest loss must be below 1e300")
        return value
    full, (bob_null, null) = extremes_of(program)
    bob_other, other = full if name == "calibrated" else as_is_of(program)
    eve_other, eve_null = weighted_risk(program, other), weighted_risk(program, null)
    gains = []
    for low, high in ((bob_other, bob_null), (eve_other, eve_null)):
        rounding = 0 if program.exact else 2 * (len(program.p) + 8) * UNIT * (low + high)
        gains.append(high - low if high - low > rounding else field_of(program.p).zero)
    if gains[1] == 0:
        release, what = TIES[name]
        rule = f"is undefined: Eve does no better with {what} than without (R_E = {public(eve_null)} for both"
        raise InputError("lam", name, f"{rule} {release} and null release)")
    return gains[0] / gains[1]
