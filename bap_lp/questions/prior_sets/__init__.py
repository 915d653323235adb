"""The least R_A over the worst prior of a set: cuts in floats, tuple blocks in rationals, and the proof."""
