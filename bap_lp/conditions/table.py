"""The table of all conditions, in the order of their rows. It is read when conditions are, and not before."""

from __future__ import annotations

from bap_lp.conditions.base import Condition
from bap_lp.conditions.deterministic import Deterministic
from bap_lp.conditions.max_information import MaxInformation
from bap_lp.conditions.max_leakage import MaximalLeakage
from bap_lp.conditions.obedience import Margin, Obedience
from bap_lp.conditions.posteriors import Independence, PosteriorCaps, PosteriorRatios
from bap_lp.conditions.privacy import ApproximatePrivacy, Privacy
from bap_lp.conditions.pufferfish import Pufferfish
from bap_lp.conditions.risk_limits import BobCap, EveFloor
from bap_lp.conditions.signal_floor import SignalFloor
from bap_lp.support.rational import InputError

LIBRARY: tuple[type[Condition], ...] = (
    EveFloor,
    BobCap,
    Privacy,
    ApproximatePrivacy,
    PosteriorCaps,
    PosteriorRatios,
    Independence,
    SignalFloor,
    Pufferfish,
    MaximalLeakage,
    MaxInformation,
    Margin,
    Obedience,
    Deterministic,
)
TABLE: dict[str, type[Condition]] = {kind.name: kind for kind in LIBRARY}


def register(kind: type[Condition]) -> None:
    """Add a condition to the table, after all others; one of the same name is replaced unless it is the library's."""
    if kind.fields() != (kind.name,) or any(kind.name in (own.name, *own.fields()) for own in LIBRARY):
        raise InputError("name", kind.name, "must be the one field of the condition, and none of the library's")
    TABLE[kind.name] = kind
