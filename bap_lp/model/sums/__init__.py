"""The numbers of a problem, and the sums over states that every question needs."""
