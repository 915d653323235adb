"""pufferfish: P(s|A) <= K P(s|B) and P(s|B) <= K P(s|A) for pairs of secrets A, B, under each of several priors.

Kifer and Machanavajjhala (2014). With a prior r, P_r(s|A) = sum_{x in A} r(x) q[x,s] / r(A). A pair of which one secret
has probability zero under a prior asks nothing under it. The rows (module `cone`) are, demand by demand, prior by prior
and pair by pair, first A against B, then B against A:
    g(x) = r(x) 1_A(x) / r(A) - K r(x) 1_B(x) / r(B).
Without priors, r is the problem's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from bap_lp.conditions.cone import ConeRow, SignalCone
from bap_lp.conditions.events import RatioBound, event_named, factor, indicator, listed, read_event
from bap_lp.model.problem import Problem
from bap_lp.support.display import counted
from bap_lp.support.display import listed as all_of
from bap_lp.support.labels import exact_distribution, probability
from bap_lp.support.rational import Array, InputError, public


@dataclass(frozen=True)
class SecretPairs(RatioBound):
    """Pairs of events that must look alike, up to the ratio K, to somebody with any of the priors."""

    pairs: Any = None
    priors: Any = None
    required: ClassVar[str] = "pairs"

    def read(self, field: str) -> Self:
        whole, out = super().read(field), []
        for k, given in enumerate(listed(self.pairs, f"{field}.pairs", "must be a list of pairs of events")):
            pair = listed(given, f"{field}.pairs[{k}]", "must be a pair of events")
            if len(pair) != 2:
                raise InputError(f"{field}.pairs[{k}]", given, "must be a pair of events")
            out.append(tuple(read_event(event, f"{field}.pairs[{k}][{m}]") for m, event in enumerate(pair)))
        if self.priors is None:
            return replace(whole, pairs=tuple(out))
        rows = listed(self.priors, f"{field}.priors", "must be a list of priors")
        if not len(rows):
            raise InputError(f"{field}.priors", None, "must hold at least one prior")
        read = [probability(row, f"{field}.priors[{k}]") for k, row in enumerate(rows)]
        return replace(whole, pairs=tuple(out), priors=tuple(tuple(public(row).tolist()) for row in read))

    @property
    def exact(self) -> bool:
        return super().exact and not any(isinstance(v, float) for row in self.priors or () for v in row)


class Pufferfish(SignalCone):
    name = "pufferfish"
    kind = SecretPairs

    @classmethod
    def stated(cls, value: Any) -> tuple[SecretPairs, ...]:
        alone = isinstance(value, (Mapping, SecretPairs))
        return super().stated([value] if alone else value)

    @classmethod
    def sentence(cls, value: Any, problem: Problem) -> str:
        readers = f", to each of {counted(len(value.priors), 'reader')}" if value.priors else ""
        pairs = [f"{event_named(a)} and {event_named(b)}" for a, b in value.pairs]
        return f"Alike up to a factor of {factor(value)} for every message{readers}: {all_of(pairs)}."

    @classmethod
    def vectors(cls, stated: Any, problem: Problem) -> Iterator[tuple[Array, ConeRow]]:
        p = problem.p
        for d, one in enumerate(stated):
            label, K = f"{cls.name}[{d}]", one.ratio
            events = [
                [indicator(problem, event, f"{label}.pairs[{k}][{m}]") for m, event in enumerate(pair)]
                for k, pair in enumerate(one.pairs)
            ]
            for n, prior in enumerate(one.priors or [None]):
                if prior is not None and len(prior) != len(p):
                    rule = f"has {len(prior)} entries, must have {len(p)}, one per state"
                    raise InputError(f"{label}.priors[{n}]", None, rule)
                r = p if prior is None else exact_distribution(prior)
                for a, b in events:
                    if r.dot(a) > 0 and r.dot(b) > 0:
                        first, second = r * a / r.dot(a), r * b / r.dot(b)
                        for more, less in ((first, second), (second, first)):
                            yield more - K * less, ConeRow(label, less, K)
