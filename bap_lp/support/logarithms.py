"""Logarithms of rationals, rounded to multiples of 2^-128 in a stated direction.

log q of a rational q other than 1 is irrational, so floor(2^128 log q) is one integer that every correct method finds:
Arb encloses the logarithm in a ball, and the precision grows until the ball lies between two integers. So results that
contain logarithms are rationals, the same for whoever computes them, and certified bounds need no error terms.
"""

from __future__ import annotations

from typing import Any

from flint import arb, ctx, fmpq, fmpz

from bap_lp.support.rational import InputError

LOG_BITS = 128
_UNIT = fmpz(1) << LOG_BITS


def log_below(value: Any) -> Any:
    """The largest multiple of 2^-128 that is at most log(value), in nats; value is a positive fmpq."""
    return fmpq(_floor(value), _UNIT)


def log_above(value: Any) -> Any:
    """The least multiple of 2^-128 that is at least log(value), in nats."""
    return fmpq(-_floor(1 / value) if value > 0 else _floor(value), _UNIT)


def _floor(value: fmpq) -> fmpz:
    if value <= 0:
        raise InputError("logarithm", value, "must be of a positive number")
    near = value - 1
    if abs(near) * _UNIT < min(fmpq(1), value):  # 0 < log q < q - 1 above one, (q - 1) / q < log q < 0 below
        return fmpz(0) if near >= 0 else fmpz(-1)
    before, bits = ctx.prec, LOG_BITS + 64
    try:
        while True:
            ctx.prec = bits
            found = (arb(value).log() * arb(_UNIT)).floor().unique_fmpz()
            if found is not None:
                return found
            bits *= 2
    finally:
        ctx.prec = before
