"""From a table of records to an optimal release, proved, audited and written: `bap microdata`.

A name is imported from its module when it is first used, so that `import microdata` costs nothing by itself.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from microdata.optimum import optimise
    from microdata.records import RecordEve, RecordProgram
    from microdata.solved import RecordOptimum

__all__ = ["RecordEve", "RecordOptimum", "RecordProgram", "optimise"]

_MODULES = {
    "optimum": "optimise",
    "records": "RecordEve RecordProgram",
    "solved": "RecordOptimum",
}
_HOMES = {name: f"microdata.{module}" for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'microdata' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
