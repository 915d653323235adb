"""The usual releases: a problem comes in, a `Mechanism`, a `Family` or a `Comparison` goes out."""

from bap_lp.releases.comparison import (
    BEST,
    RATIOS,
    Comparison,
    Row,
    best_randomised_response,
    best_truncated_geometric,
    compare,
    meets,
)
from bap_lp.releases.families import (
    Family,
    hidden_mixture,
    public_mixture,
    randomised_response_family,
)
from bap_lp.releases.library import (
    RELEASES,
    Parameter,
    bob_decision,
    full,
    null,
    partition,
    posterior_sample,
    randomised_response,
    randomised_response_epsilon,
    statistic,
    synthetic,
    truncated_geometric,
)

__all__ = [
    "BEST",
    "RATIOS",
    "RELEASES",
    "Comparison",
    "Family",
    "Parameter",
    "Row",
    "best_randomised_response",
    "best_truncated_geometric",
    "bob_decision",
    "compare",
    "full",
    "hidden_mixture",
    "meets",
    "null",
    "partition",
    "posterior_sample",
    "public_mixture",
    "randomised_response",
    "randomised_response_epsilon",
    "randomised_response_family",
    "statistic",
    "synthetic",
    "truncated_geometric",
]
