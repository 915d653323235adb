"""The problem and what can be computed about it without a solver.

Data, losses and labels come in; `Problem`, `Mechanism`, `Risks` and `Evaluation` go out. `arrays` holds the numbers
that all other parts compute with.
"""
