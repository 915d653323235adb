"""An audit by anonymeter, where it is installed: its attackers on a rehearsed release.

They see what is released, the published and the kept columns, of the fitted records, and attack these and, as a
control, the audited records. What their attacks do better on the fitted ones is the *risk*, from 0 to 1: what the file
tells about its own records beyond what it tells about the population.
    singling out    "one record has these cells": any released columns
    linkability     which two parts of a record belong together: the released columns that Eve knows, and the others
    inference       the secret of a record, given the released columns that Eve knows
The last two need a released column that she knows, and inference a secret that is released.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bap_lp.support.rational import Array, InputError
from bap_sdc.records.audit.audit import REHEARSAL
from bap_sdc.records.data.tables import pandas_module
from bap_sdc.records.release.channels import sample

if TYPE_CHECKING:
    from bap_sdc.records.solution import StudySolution

_ATTACKS = 500
_TRIED = 5_000  # queries for singling out: where records are alike, few single somebody out


@dataclass(frozen=True)
class Attacked:
    """What one kind of attack achieved: its risk, and the interval in which it lies in 95 of 100 cases."""

    attack: str
    eve: str | None
    risk: float
    low: float
    high: float

    def document(self) -> dict[str, Any]:
        return {"attack": self.attack, "eve": self.eve, "risk": self.risk, "low": self.low, "high": self.high}


def anonymeter_audit(solution: StudySolution, codes: Array, keep: Sequence[str] = ()) -> list[Attacked]:
    """The risks that anonymeter finds.

    Args:
        solution: the release.
        codes: levels of the audited records, a row for each.
        keep: known columns that are released as they are.

    Raises:
        InputError: anonymeter is not installed, or an attack of it fails.
    """
    try:
        from anonymeter import evaluators
    except ImportError:
        raise InputError("anonymeter", None, "is not installed: pip install anonymeter") from None
    try:
        return list(_attacks(evaluators, solution, codes, keep))
    except (ValueError, RuntimeError, TypeError) as error:
        raise InputError("anonymeter", None, f"cannot attack these records: {error}") from None


def _attacks(evaluators: Any, solution: StudySolution, codes: Array, keep: Sequence[str]) -> Iterator[Attacked]:
    study = solution.study
    fitted = study.codes[~study.left_out]
    channel = solution.channel.over(fitted)
    told = fitted.copy()
    told[:, list(study.published)] = channel.decode(sample(channel, fitted, np.random.default_rng(REHEARSAL)))
    shown = [k for k, name in enumerate(study.names) if k in study.published or name in keep]
    original, released, control = (_texts(study, table, shown) for table in (fitted, told, codes))
    both = {"ori": original, "syn": released, "control": control, "n_attacks": min(_ATTACKS, len(codes), len(fitted))}
    singling = evaluators.SinglingOutEvaluator(**both, n_cols=min(3, len(shown)), max_attempts=_TRIED, seed=0)
    yield _risk("singling out", None, singling.evaluate(mode="multivariate" if len(shown) > 1 else "univariate"))
    for spy in study.spies:
        known = [study.names[k] for k in shown if k in spy.knows]
        rest = [study.names[k] for k in shown if k not in spy.knows]
        if known and rest:
            linking = evaluators.LinkabilityEvaluator(**both, aux_cols=(known, rest))
            yield _risk("linkability", spy.name, linking.evaluate(n_jobs=1))
        if known and spy.secret in shown:
            guessing = evaluators.InferenceEvaluator(**both, aux_cols=known, secret=study.names[spy.secret])
            yield _risk("inference", spy.name, guessing.evaluate(n_jobs=1))


def _texts(study: Any, codes: Array, shown: Sequence[int]) -> Any:
    """Records with the labels of their levels."""
    cells = {study.names[k]: np.array(study.columns[k].labels, dtype=object)[codes[:, k]] for k in shown}
    return pandas_module().DataFrame(cells, dtype=object)


def _risk(attack: str, eve: str | None, evaluated: Any) -> Attacked:
    found = evaluated.risk(confidence_level=0.95)
    low, high = map(float, found.ci)
    return Attacked(attack, eve, float(found.value), low, high)
