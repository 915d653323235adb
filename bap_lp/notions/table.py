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
