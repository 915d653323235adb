"""One light for a release: does the promise hold on records that were not fitted, against the strongest Eve?

G is what she gains, as a share of the risk `null` without a release; null is that of the best guess anybody tried
from the known columns alone. s is the standard error of G, from the differences record by record. g is the gain that
was asked for, or with a given lambda the one that the proof states, 1 - R_E / null.
    red      G - 2s > 2g for some Eve, or R_A above that of the file as it is by more than two standard errors
    green    not red, and for every Eve G - 2s <= g and 2s <= g; R_B is within two standard errors of what is stated;
             R_A is not above that of publishing nothing by more than two
    amber    everything else, and whenever nothing was held out or no attacker was tried
R_A is taken at the lambda of the release, with the strongest Eves on both sides. Every reason for a light other than
green is a sentence that says what to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bap_lp.support.display import percent, person

RED, AMBER, GREEN = "red", "amber", "green"
_CLEAR = 2.0  # standard errors


@dataclass(frozen=True)
class Gain:
    """What the strongest kind of one Eve gains: G and s, next to the g that was asked for or stated; and her risks."""

    eve: str
    strongest: str
    risk: float
    null: float
    gain: float
    error: float
    allowed: float

    @property
    def low(self) -> float:
        """What she gains for all that the audited records tell: G - 2s."""
        return self.gain - _CLEAR * self.error

    def words(self) -> str:
        """Her gain as the beginning of a sentence."""
        size = f"gains {percent(self.gain)} (give or take {percent(_CLEAR * self.error)}) of the risk without a release"
        return f"{person(self.eve, start=True)} ({self.strongest}) {size}, where {percent(self.allowed)} was promised"


@dataclass(frozen=True)
class Light:
    """The numbers that the light follows from.

    against: by release ("as is", "nothing"), the difference in R_A and its standard error, for the strongest Eves. bob:
    R_B on held-out records, its standard error, and as stated. attacked: whether attackers were tried.
    """

    records: int
    attacked: bool
    gains: tuple[Gain, ...]
    against: Mapping[str, tuple[float, float]]
    bob: tuple[float, float, float]

    @property
    def colour(self) -> str:
        """ "green", "amber" or "red"."""
        if self._alarms():
            return RED
        return AMBER if self._doubts() else GREEN

    def words(self, public: bool = False) -> list[str]:
        """A sentence with the light, and one for every reason; in public with three decimals."""
        first = {
            RED: "RED: do not publish this release.",
            AMBER: "AMBER: the promise is neither confirmed nor refuted.",
            GREEN: "GREEN: on records that were not fitted the promise holds.",
        }[self.colour]
        kept = [f"{one.words()}." for one in self.gains] if self.colour == GREEN else []
        return [first, *(self._alarms() or self._doubts(public) or kept)]

    def _alarms(self) -> list[str]:
        out = [
            f"{one.words()}: ask for less, publish fewer columns or coarser ones, or hold out fewer records."
            for one in self.gains
            if one.low > 2 * one.allowed
        ]
        if self._worse("as is"):
            rule = "R_A is clearly above that of the file as it is"
            out.append(f"With the strongest Eves {rule}: publish the file as it is, or nothing, rather than this.")
        return out

    def _doubts(self, public: bool = False) -> list[str]:
        if not self.records:
            return ["No records were held out, so nothing was tried: hold out a half (audit.holdout)."]
        out = [] if self.attacked else ["No attackers were tried: leave out --no-attackers."]
        for one in self.gains:
            if one.low > one.allowed:
                out.append(f"{one.words()}: a smaller gain or a larger lambda would be safer.")
            elif _CLEAR * one.error > one.allowed:
                out.append(f"{one.words()}: more records would be needed to tell.")
        value, error, stated = self.bob
        if abs(value - stated) > _CLEAR * error:
            loses, off, said = (f"{v:.3f}" if public else f"{v:.4g}" for v in (value, _CLEAR * error, stated))
            rule = f"the analyst loses {loses} (give or take {off}), where {said} was stated"
            out.append(f"On held-out records {rule}: do not rely on the stated R_B.")
        if self._worse("nothing"):
            out.append("With the strongest Eves R_A is clearly above that of publishing nothing: publish nothing.")
        return out

    def _worse(self, other: str) -> bool:
        difference, error = self.against.get(other, (0.0, 0.0))
        return difference > _CLEAR * error

    def document(self) -> dict[str, Any]:
        """As JSON; `of_document` reads it."""
        return {
            "records": self.records,
            "attacked": self.attacked,
            "eves": [
                {"name": one.eve, "strongest": one.strongest, "risk": one.risk, "null": one.null, "gain": one.gain,
                 "error": one.error, "allowed": one.allowed}
                for one in self.gains
            ],
            "against": {name: {"value": value, "error": error} for name, (value, error) in self.against.items()},
            "bob": {"value": self.bob[0], "error": self.bob[1], "stated": self.bob[2]},
            "words": self.words(),
        }  # fmt: skip

    @staticmethod
    def of_document(document: Mapping[str, Any]) -> Light:
        """What `document` wrote.

        Raises:
            KeyError, TypeError, ValueError: it is something else.
        """
        gains = tuple(
            Gain(str(one["name"]), str(one["strongest"]), *(float(one[key]) for key in _GAIN))
            for one in document["eves"]
        )
        against = {str(name): (float(v["value"]), float(v["error"])) for name, v in document["against"].items()}
        value, error, stated = (float(document["bob"][key]) for key in ("value", "error", "stated"))
        return Light(int(document["records"]), document["attacked"] is True, gains, against, (value, error, stated))


_GAIN = ("risk", "null", "gain", "error", "allowed")
