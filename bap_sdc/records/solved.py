"""From a proved optimum to the solution of a study: its risks, and a channel with a rule for types never seen.

The rule is the overall distribution of the signals, which tells nothing: a decision that looks at the secret of a
record which nobody took into account would tell it. If a column has differential privacy, it is the mean row of the
fitted types that differ in such columns only, which is within the ratio of each of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bap_lp.support.clock import check
from bap_lp.support.rational import EXACT, Array, floats, in_floats, is_exact, stated
from bap_lp.support.risks import Risks
from bap_sdc.records.conditions.parts import Prices
from bap_sdc.records.conditions.proof import ComponentsProof, StudyProof
from bap_sdc.records.data.prior import keys
from bap_sdc.records.optimum.risks import extremes_of, summed
from bap_sdc.records.release.channels import TableChannel
from bap_sdc.records.solution import StudySolution
from bap_sdc.records.study import Study

if TYPE_CHECKING:
    from bap_sdc.records.pricing.workers import Workers


def solve_study(
    study: Study, lam: Any = "calibrated", exact: bool | None = None, *, workers: Workers = None, client: Any = None,
    progress: Any = None,
) -> StudySolution:  # fmt: skip
    """The optimal release of a study; see `Study.solve`."""
    if study.conditions is not None:
        from bap_sdc.records.conditions.solving import solve_parts

        return solution_of(study, solve_parts(study, lam, exact, progress))
    from bap_sdc.records.optimum.optimise import optimise

    def tell(done: int, total: int) -> None:
        check()
        if progress is not None:
            progress(done, total)

    best = optimise(study.program, lam, exact, workers, client, tell)
    told = best.lam, Prices(), best.value, best.bound, best.gap, best.method, best.exact
    return solution_of(study, ComponentsProof(study, *told, best.components))


def solution_of(study: Study, proof: StudyProof) -> StudySolution:
    """The solution with this proof."""
    exact = proof.exact
    row, decision, q = proof.rows
    q = q if exact else in_floats(q)
    start = np.searchsorted(row, np.arange(len(study.prior.types) + 1))
    told, eves = proof.risks
    weights = [stated(EXACT.number(t.weight), exact) for t in study.targets]
    columns = tuple(stated(v, exact) / w for v, w in zip(told, weights, strict=True))
    risks = Risks(*(stated(v, exact) for v in proof.totals))
    (_, full), (_, null) = extremes_of(study.fractions(exact))
    fulls, nulls = (tuple(stated(v, exact) for v in study.by_eve(side)) for side in (full, null))
    return StudySolution(
        study, proof.lam, proof.value, risks, proof.bound, proof.gap, columns, tuple(stated(v, exact) for v in eves),
        nulls, fulls, len(proof.parts), proof.method,
        TableChannel("optimum", study.levels, study.published, keys(study.prior.types, study.levels), start, decision,
                     q, _told_nothing(study, row, decision, q)),
        proof,
    )  # fmt: skip


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
