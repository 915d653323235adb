"""Linear programs in any numbers.

A `LinearProgram` comes in; its optimum goes out, with duals and basis, exact if the numbers are. Nothing here knows
what the rows mean, and `optimum` is the one way from a program to its solution.
"""
