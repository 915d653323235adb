"""Beta distributions with rational parameters: probabilities, moments, and the losses of estimates.

theta ~ Beta(a, b), s = a + b. For integers a and b the incomplete beta function is a finite sum,

    I_z(a, b) = P(theta <= z) = P(Binomial(s - 1, z) >= a),

so it is rational for rational z. For other parameters it is enclosed in a ball (arb) and rounded to a float. Moments
are rational: E theta = a/s, E theta^2 = a(a+1) / (s(s+1)). With m = E theta,

    E (d - theta)+ = d I_d(a, b) - m I_d(a+1, b),      E (theta - d)+ = E (d - theta)+ - d + m.

The ratio r = theta / (1 - theta) is at most d if and only if theta is at most z = d / (1 + d). If b > 1 its mean is
m = a/(b-1) and E (d - r)+ = d I_z(a, b) - m I_z(a+1, b-1); if b > 2, E r^2 = a(a+1) / ((b-1)(b-2)).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from flint import arb, ctx, fmpq, fmpz

_BITS, _MOST_BITS = 200, 100_000
_NARROW = 2.0**-120  # the radius of a ball that is good enough
_LONGEST = 2**18  # bits of a probability that is computed as a rational
Value = Any  # fmpq, or arb where a value is not rational


@lru_cache(maxsize=4096)
def _tails(trials: int, z: fmpq) -> tuple[fmpz, ...]:
    """P(Binomial(trials, z) >= j) for j = 0..trials + 1, times the denominator of z to the power `trials`."""
    up, down = z.p, z.q - z.p
    term, terms = fmpz(up) ** trials, []
    for j in range(trials, -1, -1):  # C(trials, j) up^j down^(trials - j), from above
        terms.append(term)
        if j:
            term = term * j * down // ((trials - j + 1) * up)
    out, total = [fmpz(0)], fmpz(0)
    for value in terms:
        total += value
        out.append(total)
    return tuple(reversed(out))


def incomplete_beta(z: fmpq, a: fmpq, b: fmpq) -> Value:
    """I_z(a, b): a rational for integers a and b, a ball otherwise."""
    if z <= 0 or z >= 1:
        return fmpq(0 if z <= 0 else 1)
    if a.q == 1 and b.q == 1 and int(a.p + b.p) * int(z.q).bit_length() <= _LONGEST:
        trials = int(a.p + b.p) - 1
        return fmpq(_tails(trials, z)[int(a.p)], z.q**trials)
    bits = _BITS
    while True:
        with ctx.workprec(bits):
            found = arb(z).beta_lower(arb(a), arb(b), True)
        if float(found.rad()) < _NARROW or bits > _MOST_BITS:
            return found
        bits *= 2  # large parameters cancel many digits


@dataclass(frozen=True)
class Share:
    """theta ~ Beta(a, b)."""

    a: fmpq
    b: fmpq
    moments = 2  # that are finite, of those that are needed

    @property
    def mean(self) -> fmpq:
        return self.a / (self.a + self.b)

    @property
    def square(self) -> fmpq:
        s = self.a + self.b
        return self.a * (self.a + 1) / (s * (s + 1))

    def below(self, d: fmpq) -> Value:
        """P(theta <= d)."""
        return incomplete_beta(d, self.a, self.b)

    def shortfall(self, d: fmpq) -> Value:
        """E (d - theta)+."""
        if d <= 0 or d >= 1:
            return fmpq(0) if d <= 0 else d - self.mean
        return _difference(d, self.below(d), self.mean, incomplete_beta(d, self.a + 1, self.b))


@dataclass(frozen=True)
class Ratio:
    """r = theta / (1 - theta), theta ~ Beta(a, b)."""

    a: fmpq
    b: fmpq

    @property
    def moments(self) -> int:
        return 2 if self.b > 2 else 1 if self.b > 1 else 0

    @property
    def mean(self) -> fmpq:
        return self.a / (self.b - 1)

    @property
    def square(self) -> fmpq:
        return self.a * (self.a + 1) / ((self.b - 1) * (self.b - 2))

    def below(self, d: fmpq) -> Value:
        """P(r <= d)."""
        return incomplete_beta(d / (1 + d), self.a, self.b) if d > 0 else fmpq(0)

    def shortfall(self, d: fmpq) -> Value:
        """E (d - r)+."""
        if d <= 0:
            return fmpq(0)
        return _difference(d, self.below(d), self.mean, incomplete_beta(d / (1 + d), self.a + 1, self.b - 1))


@dataclass(frozen=True)
class Point:
    """The number a / b, known for certain; 0 / 0 is 0, and a / 0 is above every threshold."""

    a: fmpq
    b: fmpq

    @property
    def moments(self) -> int:
        return 2 if self.b > 0 or self.a == 0 else 0

    @property
    def mean(self) -> fmpq:
        return self.a / self.b if self.b > 0 else fmpq(0)

    @property
    def square(self) -> fmpq:
        return self.mean * self.mean

    def below(self, d: fmpq) -> fmpq:
        """Whether a / b <= d, as 1 or 0."""
        return fmpq(int(self.a <= d * self.b))

    def shortfall(self, d: fmpq) -> fmpq:
        """(d - a / b)+."""
        return max(d - self.mean, fmpq(0))


Target = Share | Ratio | Point


def _difference(d: fmpq, below: Value, mean: fmpq, tilted: Value) -> Value:
    if isinstance(below, fmpq) and isinstance(tilted, fmpq):
        return d * below - mean * tilted
    with ctx.workprec(_BITS):
        return arb(d) * below - arb(mean) * tilted


def weighted_sum(*terms: tuple[fmpq, Value]) -> Value:
    """sum of coefficient * value, exact if every value with a non-zero coefficient is."""
    live = [(c, v) for c, v in terms if c != 0]
    if all(isinstance(v, fmpq) for _, v in live):
        return sum((c * v for c, v in live), fmpq(0))
    with ctx.workprec(_BITS):
        return sum((arb(c) * v for c, v in live), arb(0))


def squared_loss(target: Target, d: fmpq) -> Value:
    """E (target - d)^2."""
    return target.square - 2 * d * target.mean + d * d


def absolute_loss(target: Target, d: fmpq, over: fmpq, under: fmpq) -> Value:
    """over * E (d - target)+ + under * E (target - d)+."""
    one = fmpq(1)
    return weighted_sum((over + under, target.shortfall(d)), (under, (target.mean - d) * one))


def interval_losses(target: Target, thresholds: tuple[fmpq, ...], over: fmpq, under: fmpq) -> list[Value]:
    """For every claim "exactly i thresholds are below the target": over if it is too high, under if it is too low."""
    below = [fmpq(0), *(target.below(t) for t in thresholds), fmpq(1)]
    one = fmpq(1)
    return [weighted_sum((over, below[i]), (under, one), (-under, below[i + 1])) for i in range(len(thresholds) + 1)]
