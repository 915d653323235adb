"""The table of all notions, in the order of their rows. It is read when conditions are, and not before."""

from __future__ import annotations

from bap_lp.notions.base import Notion
from bap_lp.notions.beliefs import Obedience
from bap_lp.notions.delta import ApproximatePrivacy
from bap_lp.notions.deterministic import Deterministic
from bap_lp.notions.independent_of import Independence
from bap_lp.notions.margin import Margin
from bap_lp.notions.max_bob_risk import BobCap
from bap_lp.notions.max_information import MaxInformation
from bap_lp.notions.max_leakage import MaximalLeakage
from bap_lp.notions.max_signals import MaxSignals
from bap_lp.notions.min_eve_risk import EveFloor
from bap_lp.notions.posterior_caps import PosteriorCaps
from bap_lp.notions.posterior_ratio import PosteriorRatios
from bap_lp.notions.privacy import Privacy
from bap_lp.notions.pufferfish import Pufferfish
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
    MaxSignals,
)
TABLE: dict[str, type[Notion]] = {kind.name: kind for kind in _KINDS}
