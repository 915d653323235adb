"""The promise, tested: does the certified R_E hold on other records, for each model of the prior?

    python -m benchmarks priors [splits] [draw]        draw: also write promises.csv and the picture of the page

Three public tables of statsmodels are split into halves, several times. A mechanism is made from one half and judged on
the other, at one lambda per table. The certificate promises R_E, and these Eves try to go below it:
    model        the Eve of the certificate, who decides by Alice's prior
    attackers    logistic regression and boosting, trained on the released first half with its secrets
    informed     an Eve with better data than Alice: the first half and four fifths of the second, one fifth after the
                 other. She decides by the shares of the secrets among those records at each (released record, known
                 columns), shrunk towards what she would believe without the release
The randomness of the release is averaged out. A promise is kept in a split if no Eve's risk is below it by more than
two standard errors. The last number is R_A on the second half, R_B - lambda R_E with the smallest R_E.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bap_lp.support.rational import floats
from bap_sdc import Eve, Study, StudySolution
from bap_sdc.records.audit.audit import AuditedRisk, counted_types
from bap_sdc.records.data.prior import keys

ATTACKED = ("logistic regression", "gradient boosting")
NUMBERS = Path(__file__).with_name("promises.csv")
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "promises.png"
FOLDS, SHRINK = 5, 4.0  # records' worth of what she believes without the release
METHODS: Mapping[str, tuple[dict[str, Any], int | None]] = {
    "as it is": ({}, None),
    "conditional": ({}, None),
    "conditional, informed 20": ({}, 20),
}


@dataclass(frozen=True)
class Case:
    """A public table, its study, and lambda."""

    frame: pd.DataFrame
    publish: tuple[str, ...]
    secret: str
    knows: tuple[str, ...]
    loss: list[list[int]]
    lam: str

    def study(self, seed: int, informed: int | None = None, **prior: Any) -> Study:
        eve = Eve(self.secret, self.knows, self.loss, informed=informed)
        publish = dict.fromkeys(self.publish, "absolute")
        return Study(self.frame, publish, [eve], holdout="1/2", seed=seed, **prior)


def survey() -> Case:
    """Fair (1978): a neighbour wants to know about affairs."""
    from statsmodels.datasets import fair

    raw = fair.load_pandas().data
    frame = raw[["rate_marriage", "religious", "educ"]].assign(
        affair=(raw.affairs > 0).astype(int),
        age=np.digitize(raw.age, [25, 35]),
        children=np.digitize(raw.children, [1, 3]),
    )
    return Case(frame, ("rate_marriage", "religious", "educ"), "affair", ("age", "children"), [[0, 1], [3, 0]], "2")


def insurance() -> Case:
    """The RAND experiment: an employer wants to know who is in poor health."""
    from statsmodels.datasets import randhie

    raw = randhie.load_pandas().data
    frame = pd.DataFrame(
        {
            "visits": np.digitize(raw.mdvis, [1, 2, 4, 8]),
            "diseases": np.digitize(raw.disea, [6, 10, 15]),
            "poor": (raw.hlthf + raw.hlthp > 0).astype(int),
            "plan": np.digitize(raw.lncoins, [1, 3.5]),
            "limited": (raw.physlm > 0).astype(int),
        }
    )
    return Case(frame, ("visits", "diseases"), "poor", ("plan", "limited"), [[0, 1], [6, 0]], "3")


def election() -> Case:
    """The American National Election Study of 1996: a canvasser wants to know the vote."""
    from statsmodels.datasets import anes96

    raw = anes96.load_pandas().data
    frame = pd.DataFrame(
        {
            "ideology": raw.selfLR.astype(int),
            "news": np.digitize(raw.TVnews, [1, 4, 7]),
            "vote": raw.vote.astype(int),
            "age": np.digitize(raw.age, [35, 55]),
            "education": np.digitize(raw.educ, [4, 6]),
        }
    )
    return Case(frame, ("ideology", "news"), "vote", ("age", "education"), [[0, 1], [1, 0]], "3")


CASES: Mapping[str, Callable[[], Case]] = {"survey": survey, "insurance": insurance, "election": election}


@dataclass(frozen=True)
class Judged:
    """One mechanism on one split."""

    bob: float
    promise: float
    null: float
    eves: dict[str, AuditedRisk]

    @property
    def worst(self) -> AuditedRisk:
        return min(self.eves.values(), key=lambda one: one.value)

    @property
    def kept(self) -> bool:
        return all(one.value >= self.promise - 2 * one.error for one in self.eves.values())


def better_informed(solution: StudySolution, channel: Any) -> AuditedRisk:
    """The risk, on the second half, of an Eve who has the first half and four fifths of the second."""
    study, spy = solution.study, solution.study.spies[0]
    loss, levels = floats(spy.loss).astype(float), len(spy.loss)
    codes, left = study.codes, np.flatnonzero(study.left_out)
    fold = np.random.default_rng(study.seed).permutation(len(left)) % FOLDS
    types, which = np.unique(keys(codes, study.levels), return_inverse=True)
    rows = codes[np.unique(which, return_index=True)[1]]
    z = np.unique(study.known(rows, spy), return_inverse=True)[1]
    row, signal, q = channel.rows(rows)
    cell = np.unique(z[row] * channel.signals + signal, return_inverse=True)[1]
    home = np.zeros(cell.max() + 1, dtype=np.int64)
    home[cell] = z[row]
    secret, mass = rows[:, spy.secret], floats(q).astype(float)
    losses = np.zeros(len(left))
    for k in range(FOLDS):
        judged = left[fold == k]
        has = np.bincount(np.delete(which, judged), minlength=len(types)).astype(float)
        heard = np.bincount(cell * levels + secret[row], has[row] * mass, len(home) * levels).reshape(-1, levels)
        before = np.bincount(z * levels + secret, has, (z.max() + 1) * levels).reshape(-1, levels) + 1e-9
        believed = heard + SHRINK * (before / before.sum(axis=1, keepdims=True))[home]
        guess = (believed @ loss).argmin(axis=1)
        v = np.bincount(row, mass * loss[secret[row], guess[cell]], minlength=len(types))
        losses[fold == k] = v[which[judged]]
    return AuditedRisk(float(losses.mean()), float(losses.std(ddof=1) / np.sqrt(len(losses))))


def judged(case: Case, method: str, seed: int) -> Judged:
    """A method on one split."""
    prior, informed = METHODS[method]
    study = case.study(seed, informed, **prior)
    solution = study.solve(0 if method == "as it is" else case.lam, exact=False)
    audit = solution.audit(attackers=ATTACKED)
    assert audit is not None
    channel = solution.channel.over(counted_types(study.codes, study.levels)[0])
    one = audit.eves[0]
    eves = {"model": one.prior, **one.attackers, "informed": better_informed(solution, channel)}
    return Judged(audit.bob.value, float(solution.eves[0]), one.null.value, eves)


def row_of(case: Case, method: str, seed: int) -> dict[str, float]:
    """The numbers of a method on one split."""
    one = judged(case, method, seed)
    return {
        "R_B": one.bob,
        "promised": one.promise,
        "model": one.eves["model"].value,
        "attackers": min(one.eves[name].value for name in ATTACKED),
        "informed": one.eves["informed"].value,
        "no release": one.null,
        "kept": float(one.kept),
        "R_A": one.bob - float(case.lam) * one.worst.value,
    }


def measured(splits: int) -> pd.DataFrame:
    """A row per table, split and method."""
    rows = []
    for name, make in CASES.items():
        case = make()
        for seed, method in product(range(splits), METHODS):
            rows.append({"table": name, "prior": method, "split": seed, **row_of(case, method, seed)})
            print(f"{name}, split {seed}, {method}: R_A = {rows[-1]['R_A']:.3f}", file=sys.stderr, flush=True)
    return pd.DataFrame(rows).round(5)


def means(found: pd.DataFrame) -> pd.DataFrame:
    """Means over the splits."""
    return found.drop(columns="split").groupby(["table", "prior"], sort=False).mean().reset_index()


def markdown(found: pd.DataFrame) -> str:
    """How often a promise was kept, and the mean R_A on the other half, as a table of the documentation."""
    part = means(found)
    names = part["table"].unique()
    lines = ["| prior | " + " | ".join(names) + " |", "|---" * (1 + len(names)) + "|"]
    for prior, rows in part.groupby("prior", sort=False):
        cells = [f"{row['kept']:.0%}, {row['R_A']:.3f}" for _, row in rows.set_index("table").loc[names].iterrows()]
        lines.append(f"| {prior} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def picture(found: pd.DataFrame) -> Any:
    """The promise and what the Eves reach, a panel per table; a matplotlib figure."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib.figure import Figure

    from bap_lp.plots.palette import EVE, FAINT, INK

    found = means(found)
    names = found["table"].unique()
    figure = Figure(figsize=(11, 3.6), layout="constrained")
    axes = figure.subplots(1, len(names), sharey=True)
    for axis, name in zip(axes, names, strict=True):
        part = found[found["table"] == name].iloc[::-1].reset_index(drop=True)
        places = np.arange(len(part))
        axis.axvline(part["no release"].mean(), color=FAINT, linestyle=":", label="no release")
        lowest = part[["attackers", "informed"]].min(axis=1)
        axis.hlines(places, lowest, part["promised"], color=FAINT, linewidth=1)
        axis.plot(part["promised"], places, "|", color=INK, markersize=14, markeredgewidth=2, label="promised")
        axis.plot(part["attackers"], places, "o", color=EVE, mfc="white", label="best trained attacker")
        axis.plot(part["informed"], places, "D", color=EVE, label="better informed Eve")
        axis.set_yticks(places, part["prior"])
        axis.set_title(name)
        axis.set_xlabel("Eve's risk on the other half")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].legend(loc="lower left", fontsize=7, frameon=False)
    return figure


def draw(found: pd.DataFrame) -> None:
    """Write the picture of the page."""
    picture(found).savefig(PICTURE, dpi=130, metadata={"Software": None})


def main() -> None:
    splits = next((int(a) for a in sys.argv[1:] if a.isdigit()), 5)
    found = measured(splits)
    print(markdown(found))
    if "draw" in sys.argv:
        found.to_csv(NUMBERS, index=False)
        draw(found)


if __name__ == "__main__":
    main()
