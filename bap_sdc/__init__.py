"""Statistical disclosure control: optimal releases of tables of records and of tables of counts.

A name is imported from its module when it is first used, so that `import bap_sdc` costs nothing by itself.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bap_sdc.count_tables.comparisons import compare_tables
    from bap_sdc.count_tables.problems import TableProblem, counts
    from bap_sdc.records.agents import Eve
    from bap_sdc.records.data.tables import read_table
    from bap_sdc.records.files import load_study
    from bap_sdc.records.optimum.optimise import optimise
    from bap_sdc.records.optimum.program import RecordProgram, TableEve
    from bap_sdc.records.optimum.result import RecordOptimum
    from bap_sdc.records.release.estimates import ReleaseEstimates, estimates
    from bap_sdc.records.release.published import PublishedChannel
    from bap_sdc.records.solution import StudySolution
    from bap_sdc.records.study import Study

__all__ = [
    "Eve",
    "PublishedChannel",
    "RecordOptimum",
    "RecordProgram",
    "ReleaseEstimates",
    "Study",
    "StudySolution",
    "TableEve",
    "TableProblem",
    "compare_tables",
    "counts",
    "estimates",
    "load_study",
    "optimise",
    "read_table",
]

_MODULES = {
    "count_tables.comparisons": "compare_tables",
    "count_tables.problems": "TableProblem counts",
    "records.data.tables": "read_table",
    "records.files": "load_study",
    "records.optimum.optimise": "optimise",
    "records.optimum.program": "TableEve RecordProgram",
    "records.optimum.result": "RecordOptimum",
    "records.release.estimates": "ReleaseEstimates estimates",
    "records.release.published": "PublishedChannel",
    "records.solution": "StudySolution",
    "records.agents": "Eve",
    "records.study": "Study",
}
_HOMES = {name: f"bap_sdc.{module}" for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'bap_sdc' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
