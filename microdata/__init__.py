"""From a table of records to an optimal release, proved, audited and written: `bap microdata`.

A name is imported from its module when it is first used, so that `import microdata` costs nothing by itself.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from microdata.files import load_study
    from microdata.optimum import optimise
    from microdata.records import RecordProgram, TableEve
    from microdata.solution import StudySolution
    from microdata.solved import RecordOptimum
    from microdata.study import Eve, Study
    from microdata.tables import read_table

__all__ = [
    "Eve",
    "RecordOptimum",
    "RecordProgram",
    "Study",
    "StudySolution",
    "TableEve",
    "load_study",
    "optimise",
    "read_table",
]

_MODULES = {
    "files": "load_study",
    "optimum": "optimise",
    "records": "TableEve RecordProgram",
    "solution": "StudySolution",
    "solved": "RecordOptimum",
    "study": "Eve Study",
    "tables": "read_table",
}
_HOMES = {name: f"microdata.{module}" for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'microdata' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
