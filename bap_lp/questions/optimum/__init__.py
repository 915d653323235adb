"""solve: the least R_A, with and without conditions, what the conditions cost, and why some cannot be met."""
