"""The optimal release of a table of records, component by component, with priced decisions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from microdata.records import RecordProgram
from microdata.solved import RecordOptimum

RecordProgress = Callable[[int, int], None]  # record types solved, of how many


def optimise(
    program: RecordProgram,
    lam: Any = "calibrated",
    exact: bool | None = None,
    workers: int | None = None,
    client: Any = None,
    progress: RecordProgress | None = None,
) -> RecordOptimum:
    """Minimise R_A = R_B - lam R_E over all releases of the records.

    Args:
        program: the records.
        lam: a non-negative number, or "calibrated": full and null release tie (the null release tells nothing, but
            every Eve still has the columns that she knows).
        exact: True insists on rationals, False works in floats, None follows the numbers given.
        workers: processes to solve components in; None decides by the size.
        client: a Dask client to solve components on instead.
        progress: called with the number of record types solved so far, and of all.

    Returns:
        The optimum with its certificate.

    Raises:
        InputError: lam is negative or undefined, or an exact solution of floats is asked for.
    """
    raise NotImplementedError
