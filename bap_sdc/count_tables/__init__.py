"""Tables of counts: their prior, the questions asked about them, the usual ways to protect them, and the optimum."""
