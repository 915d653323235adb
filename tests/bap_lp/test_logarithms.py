"""Logarithms of rationals, rounded to multiples of 2^-128."""

from __future__ import annotations

import random
from fractions import Fraction

import mpmath
import pytest
from flint import fmpq

from bap_lp import verify_standalone
from bap_lp.support.logarithms import LOG_BITS, log_above, log_below
from bap_lp.support.rational import InputError

UNIT = fmpq(1, 2**LOG_BITS)


def _floor(value: fmpq) -> int:
    with mpmath.workdps(120):
        return int(mpmath.floor(mpmath.log(mpmath.mpf(int(value.p)) / int(value.q)) * 2**LOG_BITS))


def _values() -> list[fmpq]:
    draw = random.Random(5)
    odd = [fmpq(2), fmpq(1, 2), fmpq(10**300), fmpq(1, 10**300), 1 + UNIT, 1 - UNIT, 1 + UNIT / 3, fmpq(3, 4)]
    odd += [fmpq(1), 1 + 2 * UNIT, 1 - fmpq(1, 10**60), 1 + fmpq(1, 10**20)]
    pairs = ((draw.randrange(1, 10 ** draw.randrange(1, 40)), draw.randrange(1, 10**9)) for _ in range(200))
    return odd + [fmpq(*pair) for pair in pairs]


@pytest.mark.parametrize("value", _values())
def test_a_rounded_logarithm_is_the_next_multiple_below_or_above(value: fmpq) -> None:
    verify_standalone.EFFORT.left = 10**9
    low, high = log_below(value) / UNIT, log_above(value) / UNIT
    assert low.q == high.q == 1
    assert int(low.p) == _floor(value) == verify_standalone.log_floor(Fraction(int(value.p), int(value.q)))
    assert high - low == (0 if value == 1 else 1)


@pytest.mark.parametrize("power", [129, 5_000, 60_000])
def test_numbers_next_to_one_need_no_precision(power: int) -> None:
    tiny = fmpq(1, 2**power)
    assert [verify_standalone.log_floor(1 + Fraction(sign, 2**power)) for sign in (1, -1)] == [0, -1]
    assert (log_below(1 + tiny), log_above(1 + tiny)) == (0, UNIT)
    assert (log_below(1 - tiny), log_above(1 - tiny)) == (-UNIT, 0)


def test_a_number_chosen_next_to_a_multiple_is_still_told_apart() -> None:
    with mpmath.workdps(600):
        near = mpmath.exp(mpmath.mpf(3) / 2**5)  # whose logarithm is a multiple of 2^-128
        digits = int(mpmath.floor(near * 10**500))
    below, above = Fraction(digits, 10**500), Fraction(digits + 1, 10**500)
    goal = fmpq(3, 32)
    assert log_above(fmpq(below.numerator, below.denominator)) == goal
    assert log_below(fmpq(above.numerator, above.denominator)) == goal


@pytest.mark.parametrize("value", [fmpq(0), fmpq(-1, 2)])
def test_only_positive_numbers_have_a_logarithm(value: fmpq) -> None:
    for rounded in (log_below, log_above):
        with pytest.raises(InputError, match="must be of a positive number"):
            rounded(value)
