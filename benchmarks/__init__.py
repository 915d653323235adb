"""Measured against the best alternatives, as ratios in one run: absolute times on shared machines mean little."""
