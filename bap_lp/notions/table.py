"""The table of all notions, in the order of their rows. It is read when conditions are, and not before."""

from __future__ import annotations

from bap_lp.notions.base import Notion
from bap_lp.notions.deterministic import Deterministic
from bap_lp.notions.max_information import MaxInformation
from bap_lp.notions.max_leakage import MaximalLeakage
from bap_lp.notions.obedience import Margin, Obedience
from bap_lp.notions.posteriors import Independence, PosteriorCaps, PosteriorRatios
from bap_lp.notions.privacy import ApproximatePrivacy, Privacy
from bap_lp.notions.pufferfish import Pufferfish
from bap_lp.notions.risk_limits import BobCap, EveFloor
from bap_lp.notions.signal_floor import SignalFloor
from bap_lp.rational import InputError

_KINDS: tuple[type[Notion], ...] = (
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
TABLE: dict[str, type[Notion]] = {kind.name: kind for kind in _KINDS}


def register(kind: type[Notion]) -> None:
    """Add a condition to the table, after all others; one of the same name is replaced unless it is the library's."""
    if any(kind.name == own.name or {*kind.fields()} & {*own.fields()} for own in _KINDS):
        raise InputError("name", kind.name, "is a condition of the library")
    TABLE[kind.name] = kind
