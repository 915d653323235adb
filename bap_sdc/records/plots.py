"""Pictures of a study: the optimum and the alternatives on one map, and the Eves of an audit side by side.

The map has U = -R_B to the right and R = -R_E upwards, as in all maps of this project: R_A falls towards the bottom
right. A filled mark is what the model says; the hollow mark at the end of its line is what held-out records say.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bap_sdc.records.audit.audit import Audit
from bap_sdc.records.path import StudyPath
from bap_sdc.records.release.alternatives import ReleaseComparison


def release_map(
    comparison: ReleaseComparison, *, audited: bool = True, path: StudyPath | None = None, ax: Any = None
) -> Any:
    """The optimum next to what people would have used instead.

    Args:
        comparison: of `StudySolution.compare`.
        audited: whether to draw where held-out records put each release, if there is an audit.
        path: of `Study.path`, to draw the frontier of all releases.
        ax: the Axes to draw on, by default a new one.

    Returns:
        The Axes.
    """
    from bap_lp.plots import palette as pt
    from bap_lp.plots import placed_labels as lt

    ax = lt.axes(ax, 7.6, 6.2)
    rows = comparison.releases
    places = {row.name: (-float(row.risks.bob), -float(row.risks.eve)) for row in rows}
    lines, held = [], []
    for row in rows:
        if audited and row.audit is not None:
            there = (-row.audit.bob.value, -row.audit.eve.value)
            lines.append(np.array([places[row.name], there]))
            held.append(there)
    for line in lines:
        ax.plot(*line.T, "-", color=pt.GREY, lw=0.8, zorder=2)
    if held:
        ax.plot(*np.array(held).T, "o", mfc="white", mec=pt.GREY, ms=5, ls="", label="on held-out records", zorder=3)
    others = np.array([places[row.name] for row in rows if row.name != "optimum"])
    ax.plot(
        *others.T, "D", color=pt.RELEASE, mec=pt.INK, mew=0.7, ms=6, ls="", label="alternatives, in the model", zorder=4
    )
    best = places["optimum"]
    ax.plot(*best, "*", color=pt.GREEN, mec=pt.INK, mew=0.7, ms=17, ls="", label="optimum, in the model", zorder=5)
    lam = float(comparison.lam)
    alice = -best[0] + lam * best[1]
    everything = np.array([*places.values(), *held])
    low, high = everything.min(axis=0), everything.max(axis=0)
    pad = np.where(high > low, 0.14 * (high - low), 0.1)
    ax.set_xlim(low[0] - pad[0], high[0] + pad[0])
    ax.set_ylim(low[1] - pad[1], high[1] + pad[1])
    if lam > 0:
        x = np.array(ax.get_xlim())
        level = np.column_stack([x, (x + alice) / lam])  # U - lam R = -R_A
        ax.plot(*level.T, color=pt.GREEN, lw=1.4, ls=(0, (6, 3)), label="$R_A$ of the optimum", zorder=1)
        lines.append(level)
    if path is not None:
        edge = np.array([(-float(line.risks.bob), -float(line.risks.eve)) for line in path.lines])
        ax.plot(*edge.T, "-", color=pt.FRONTIER, lw=2.2, label="frontier: nothing is better", zorder=2.5)
        lines.append(edge)
    scale = [float(v) or 1.0 for v in high - low]
    named = [(best, "optimum", pt.DARK_GREEN)]
    named += [
        (places[row.name], lt.drawable(row.name.replace("e^eps", "e^ε"), 20), pt.INK)
        for row in rows
        if row.name != "optimum"
    ]
    points, texts, colours = zip(*lt.shared(named, scale), strict=True)
    lt.Labels(ax, points, texts, colours, lines, size=8.5, room=[9.5, *[6.0] * (len(points) - 1)], others=held)
    ax.set_xlabel("utility  $U = -R_B$   (better for Bob →)")
    ax.set_ylabel("disclosure risk  $R = -R_E$   (better for Eve →)")
    ax.spines[["top", "right"]].set_visible(False)
    columns = 1 if _narrow(ax) else 2
    place = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "frameon": False, "borderaxespad": 0.2}
    ax.legend(**place, ncols=columns, fontsize=8.5)
    return ax


def _narrow(ax: Any) -> bool:
    """Whether a picture is as wide as a phone."""
    return bool(ax.figure.get_figwidth() < 5)


def frontier(path: StudyPath, *, ax: Any = None) -> Any:
    """The best release for every lam: what the analyst loses and what is left of Eve's risk.

    Args:
        path: of `Study.path`; with `audited` also what held-out records say.
        ax: the Axes to draw on, by default a new one.

    Returns:
        The Axes.
    """
    from bap_lp.plots import palette as pt
    from bap_lp.plots import placed_labels as lt

    ax = lt.axes(ax, 7.0, 5.0)
    model = np.array([(float(line.risks.bob), float(line.risks.eve)) for line in path.lines])
    judged = [line.audit for line in path.lines if line.audit is not None]
    ax.plot(*model.T, "-o", color=pt.FRONTIER, lw=2.2, ms=5, label="in the model")
    if judged:
        held = np.array([(a.bob.value, a.eve.value) for a in judged])
        ax.plot(*held.T, "--s", color=pt.EVE, mfc="white", lw=1.6, ms=5, label="on held-out records")
        least = np.array([(a.bob.value, a.informed.value) for a in judged])
        ax.plot(*least.T, ":^", color=pt.GREY, mfc="white", lw=1.4, ms=5, label="Eve knows their shares: a limit")
    null = sum(float(s.weight) * float(v) for s, v in zip(path.study.spies, path.nulls, strict=True))
    ax.axhline(null, color=pt.GREEN, lw=1.2, ls=(0, (6, 3)), label="no release, in the model")
    ax.set_xlabel("what the analyst loses  $R_B$")
    ax.set_ylabel("what is left of Eve's risk  $R_E$")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, fontsize=8.5, frameon=False, borderaxespad=0.2)
    return ax


def eves_of_audit(audit: Audit, *, ax: Any = None) -> Any:
    """The risk of every kind of Eve on the audited records, with two standard errors; further left is better for Eve.

    Args:
        audit: of `StudySolution.audit`.
        ax: the Axes to draw on, by default a new one.

    Returns:
        The Axes.
    """
    from bap_lp.plots import palette as pt
    from bap_lp.plots import placed_labels as lt

    rows = []
    for eve in audit.eves:
        kinds = {"no release": eve.null} | eve.kinds | {"informed: a limit": eve.informed}
        many = len(audit.eves) > 1
        rows += [(f"{eve.name}, {name}" if many else name, one) for name, one in kinds.items()]
    ax = lt.axes(ax, 6.6, 0.6 + 0.36 * len(rows))
    y = np.arange(len(rows))[::-1]
    values = np.array([one.value for _, one in rows])
    errors = 2 * np.array([one.error for _, one in rows])
    for k, (name, _) in enumerate(rows):
        shape, colour = ("s", pt.GREY) if name.endswith("no release") else ("o", pt.EVE)
        face = "white" if name.endswith("informed: a limit") else colour
        ax.errorbar(values[k], y[k], xerr=errors[k], fmt=shape, color=colour, mfc=face, mec=colour, capsize=3, ms=6)
    ax.set_yticks(y, [lt.drawable(name, 34, 2) for name, _ in rows], fontsize=9)
    gap = "\n" if _narrow(ax) else " "
    ax.set_xlabel(f"Eve's risk on held-out records{gap}(two standard errors)")
    ax.spines[["top", "right"]].set_visible(False)
    ax.margins(y=0.12)
    return ax
