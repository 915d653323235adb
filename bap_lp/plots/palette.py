"""The colours of every picture and page: Okabe and Ito's palette, and what each of them means.

Bob is blue, Eve vermilion, Alice green: her R_A, the optimum, and what she sends. The usual releases are orange, the
frontier of all mechanisms navy on its pale region, full and null release, thresholds and helping lines grey or ink,
and probabilities of the data slate. A colour keeps its meaning from picture to picture.

No meaning depends on colour alone. `tests/test_colours.py` simulates the three kinds of colour blindness and a grey
print: what means different things in one picture differs by at least `APART` in CIE Lab for every eye, and on grey
paper also in its dashes, its marker or its lightness. What lies behind the lines (regions, level lines, empty cells) is
pale.
"""

from __future__ import annotations

APART = 15.0  # Delta E, the distance in CIE Lab; 2.3 is just noticeable on large patches, lines are thin

BLUE, ORANGE, VERMILION, GREEN, SKY, PURPLE = "#0072B2", "#E69F00", "#D55E00", "#009E73", "#56B4E9", "#CC79A7"
BROWN, NAVY, SLATE = "#5c3d00", "#00304f", "#5a6b7b"
INK, GREY, DARK_GREEN = "#1b1b1b", "#595959", "#00684c"
SOFT, FAINT, PALE, EDGE, CARD = "#4a4a4a", "#757575", "#e4e7ea", "#c0c4c8", "#fcfdfe"
REGION, REGION_EDGE = "#dcecf7", "#9fc3de"
GREENS = ("#ffffff", "#cdeade", GREEN, "#003d2d")
SLATES = ("#ffffff", "#d9e0e6", SLATE, "#222c35")

BOB, EVE, ALICE = BLUE, VERMILION, GREEN
FRONTIER, RELEASE = NAVY, ORANGE


def signal_colours(count: int) -> list[str]:
    """One colour per signal, light to dark, so that neighbours differ on grey paper too.

    Args:
        count: how many signals there are.

    Returns:
        As many colours.

    >>> signal_colours(2)
    ['#b7e2d2', '#006247']
    """
    light, dark = (0xB7, 0xE2, 0xD2), (0x00, 0x62, 0x47)
    steps = [k / (count - 1) if count > 1 else 1.0 for k in range(count)]
    return [
        "#" + "".join(f"{round(a + (b - a) * step):02x}" for a, b in zip(light, dark, strict=True)) for step in steps
    ]
