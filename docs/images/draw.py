"""Draws the pictures of the documentation again: python docs/images/draw.py."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("agg")

from bap_cli.inputs import load
from bap_lp import Risks, solve
from bap_lp.plots import risk_utility_map, signal_cards
from gaussian.optimum.brackets import bracket
from gaussian.optimum.frontier import attainable_frontier
from gaussian.optimum.plots import rule_pictures
from gaussian.paper import PAPER_MODEL, PAPER_TABLES
from gaussian.plots import three_maps

FOLDER = Path(__file__).parent
DPI = 130


def draw(folder: Path = FOLDER) -> list[Path]:
    """Write every picture to a folder, and say which."""
    coin = load("coin_toss")
    found = {name: bracket(PAPER_MODEL, printed.eve) for name, printed in PAPER_TABLES.items()}
    frontiers = {name: attainable_frontier(PAPER_MODEL, one.adversary, 24).points for name, one in found.items()}
    figures = {
        "coin_toss_map": risk_utility_map(coin.problem, coin.lam).figure,
        "coin_toss_signals": signal_cards(coin.problem, solve(coin.problem, coin.lam).mechanism).figure,
        "gaussian_maps": three_maps({name: Risks(one.bob, one.eve) for name, one in found.items()}, frontiers),
        "gaussian_rules": rule_pictures(list(found.values())),
    }
    paths = []
    for name, figure in figures.items():
        paths.append(folder / f"{name}.png")
        figure.savefig(paths[-1], dpi=DPI, metadata={"Software": None})
    return paths


if __name__ == "__main__":
    print(*draw(), sep="\n")
