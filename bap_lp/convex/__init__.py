"""Beyond linear programs: convex side conditions through cvxpy, and squared losses in closed form."""
