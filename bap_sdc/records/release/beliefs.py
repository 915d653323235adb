"""What an Eve believes about one record: P(secret | released cells, known cells), by Bayes' rule under the prior."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bap_lp.support.rational import InputError, floats, is_exact, public
from bap_lp.support.risks import Number
from bap_sdc.records.data.tables import pandas_module
from bap_sdc.records.optimum.risks import summed

if TYPE_CHECKING:
    from bap_sdc.records.solution import StudySolution


def believed(
    solution: StudySolution, column: str, released: Mapping[str, Any], known: Mapping[str, Any]
) -> dict[str, Number]:
    """See `StudySolution.believes`."""
    pandas, study, channel = pandas_module(), solution.study, solution.channel
    for name in (column, *known):
        if name not in study.names:
            raise InputError("column", name, f"must be one of {', '.join(study.names)}")
    wanted = []
    for target in study.targets:
        if target.column not in released:
            raise InputError("released", target.column, "is missing")
        cells = pandas.Series([released[target.column]])
        wanted.append(int(solution.published.codes(target.column, cells)[0]))
    types, p = study.prior.types, study.program.p
    possible = np.ones(len(types), dtype=bool)
    for name, cell in known.items():
        possible &= types[:, study.names.index(name)] == study[name].codes(pandas.Series([cell]), "known")[0]
    row, signal, q = channel.rows(types)
    use = np.flatnonzero((channel.decode(signal) == np.array(wanted)).all(axis=1) & possible[row])
    if not (is_exact(p) and is_exact(q)):
        p, q = floats(p), floats(q)
    at, labels = study.names.index(column), study[column].labels
    mass = summed(p[row[use]] * q[use], types[row[use], at], len(labels))
    if not len(use) or not mass.sum() > 0:
        rule = "cannot come from any fitted record type with these known cells"
        raise InputError("released", str(dict(released)), rule)
    return dict(zip(labels, public(mass / mass.sum()).tolist(), strict=True))
