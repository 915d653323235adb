"""The problem and what can be said of it without a solver.

Data, losses and labels come in; `Problem`, `Mechanism`, `Risks` and `Evaluation` go out. `arrays` holds the numbers
that every other room computes with.
"""
