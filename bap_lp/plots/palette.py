"""The colours of every picture and page: Okabe and Ito's palette, told apart by every kind of colour vision.

Bob is blue, Eve vermilion, Alice and the optimum green, in pictures and in reports. What lies behind the lines
(regions, level lines, empty cells) is pale, and no meaning depends on distinguishing two pale colours.
"""

from __future__ import annotations

BLUE, ORANGE, VERMILION, GREEN, SKY, PURPLE = "#0072B2", "#E69F00", "#D55E00", "#009E73", "#56B4E9", "#CC79A7"
BROWN = "#7a5200"
INK, GREY, DARK_GREEN = "#1b1b1b", "#6e6e6e", "#00684c"
SOFT, FAINT, PALE, EDGE, CARD = "#4a4a4a", "#757575", "#e4e7ea", "#b5b5b5", "#fcfdfe"
REGION = "#dcecf7"
BLUES = ("#ffffff", "#cfe3f3", BLUE, "#003a5c")
ORANGES = ("#ffffff", "#fbe3c2", VERMILION, "#6b2c00")
BOB, EVE, ALICE = BLUE, VERMILION, GREEN
