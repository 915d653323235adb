"""From a proved optimum to the solution of a study: its risks, and a channel with a rule for types never seen.

The rule is Alice's, argmin_i B(x,i) - u_i.E(x). Under conditions it is the overall distribution of the signals, which
tells nothing; if a column has differential privacy, the mean row of the fitted types that differ in such columns only,
which is within the ratio of each of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from flint import fmpq

from bap_lp.clock import check
from bap_lp.model.risks import Risks
from bap_lp.rational import EXACT, Array, floats, in_floats, is_exact, number, objects, public, stated
from bap_sdc.records.conditions.proof import StudyProof
from bap_sdc.records.data.prior import keys
from bap_sdc.records.optimum.result import RecordOptimum
from bap_sdc.records.optimum.risks import extremes_of, summed
from bap_sdc.records.release.channels import TableChannel
from bap_sdc.records.solution import StudySolution
from bap_sdc.records.study import Study

if TYPE_CHECKING:
    from bap_lp.engines.compact.workers import Workers


def solve_study(
    study: Study, lam: Any = "calibrated", exact: bool | None = None, *, workers: Workers = None, client: Any = None,
    progress: Any = None,
) -> StudySolution:  # fmt: skip
    """The optimal release of a study; see `Study.solve`."""
    if study.conditions is not None:
        from bap_sdc.records.conditions.solving import solve_parts

        return conditioned_solution(study, solve_parts(study, lam, exact, progress))
    from bap_sdc.records.optimum.optimise import optimise

    def tell(done: int, total: int) -> None:
        check()
        if progress is not None:
            progress(done, total)

    return solution_of(study, optimise(study.program, lam, exact, workers, client, tell))


def solution_of(study: Study, best: RecordOptimum) -> StudySolution:
    """The solution with this optimum."""
    row, decision, q = best.rows()
    start = np.searchsorted(row, np.arange(len(study.prior.types) + 1))
    channel = _channel(study, start, decision, working(q), _alices_rule(study, best))
    weights = [t.weight for t in study.targets]
    columns = [v / (public(w) if best.exact else float(w)) for v, w in zip(best.columns, weights, strict=True)]
    return _solution(
        study, best, Risks(best.bob, best.eve), columns, study.by_eve(best.eves), len(best.components), channel, best
    )


def _channel(study: Study, start: Array, decision: Array, q: Array, rule: Any) -> TableChannel:
    key = keys(study.prior.types, study.levels)
    return TableChannel("optimum", study.levels, study.published, key, start, decision, q, rule)


def _solution(
    study: Study, best: Any, risks: Risks, columns: Any, eves: Any, components: int, channel: TableChannel, proof: Any
) -> StudySolution:
    exact = not isinstance(best.value, float)
    (_, full), (_, null) = extremes_of(study.fractions(exact))
    fulls, nulls = ([stated(v, exact) for v in risks] for risks in (full, null))
    return StudySolution(
        study, best.lam, best.value, risks, best.bound, best.gap, tuple(columns), tuple(eves), study.by_eve(nulls),
        study.by_eve(fulls), components, best.method, channel, proof,
    )  # fmt: skip


def working(q: Array) -> Array:
    """Probabilities as working numbers."""
    if not is_exact(q):
        return q
    return objects(number(v, "probability") for v in q.tolist())


def _alices_rule(study: Study, best: RecordOptimum) -> Any:
    one = objects([fmpq(1)]) if best.exact else np.ones(1)

    def rule(types: Array) -> list[tuple[Array, Array]]:
        spies = [spy for spy in study.spies for _ in range(max(spy.informed, 1))]
        known = np.column_stack([study.known(types, spy) for spy in spies])
        secrets = types[:, [spy.secret for spy in spies]]
        codes = types[:, list(study.published)]
        return [(np.array([i], dtype=np.int64), one) for i in best.rules(codes, secrets, known).tolist()]

    return rule


def conditioned_solution(study: Study, proof: StudyProof) -> StudySolution:
    """The solution with this proof."""
    row, decision, q = proof.rows
    q = q if proof.exact else in_floats(q)
    start = np.searchsorted(row, np.arange(len(study.prior.types) + 1))
    told, eves = proof.risks
    shown = public if proof.exact else float
    columns = [
        shown(v) / (public(t.weight) if proof.exact else float(t.weight))
        for v, t in zip(told, study.targets, strict=True)
    ]
    weights = [EXACT.number(spy.weight) for spy in study.spies]
    bob, eve = sum(told, EXACT.zero), sum((w * r for w, r in zip(weights, eves, strict=True)), EXACT.zero)
    channel = _channel(study, start, decision, q, _told_nothing(study, row, decision, q))
    risks, own = Risks(shown(bob), shown(eve)), [shown(v) for v in eves]
    return _solution(study, proof, risks, columns, own, proof.size, channel, proof)


def _told_nothing(study: Study, row: Array, decision: Array, q: Array) -> Any:
    """The overall distribution; of the fitted types that differ in private columns only, if there are any."""
    mass = study.program.lifted().p[row] * EXACT.array(q)
    asked = study.conditions
    private = {column for column, _ in asked.private(study)} if asked is not None else set()
    rest = [k for k in range(len(study.names)) if k not in private]

    def mean(live: Array) -> tuple[Array, Array]:
        sent, at = np.unique(decision[live], return_inverse=True)
        total = summed(mass[live], at.ravel(), len(sent))
        share = total / total.sum()
        return sent, share if is_exact(q) else floats(share)

    def rule(types: Array) -> list[tuple[Array, Array]]:
        overall, own = mean(np.arange(len(row))), study.prior.types[row][:, rest]
        if not private:
            return [overall] * len(types)
        near = [np.flatnonzero((own == one).all(axis=1)) for one in types[:, rest]]
        return [mean(live) if len(live) else overall for live in near]

    return rule
