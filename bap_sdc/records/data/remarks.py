"""What the name and the cells of a column warn of. A warning decides nothing: the roles of columns are asked.

Warned of are what people keep secret (health, income, a vote, a religion), what others recognise them by (a postcode, a
date of birth, coordinates, numbers of persons and households), survey weights, codes for missing cells such as 99, and
columns that determine another.

Column a determines b if all records with the same level of a have the same level of b. Let r be the records beyond the
first of their level of a, and q the chance that two records agree in b: then it happens by accident with a probability
near q^r, and it is said if this is below one in a million.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import Any

import numpy as np

from bap_lp.support.rational import Array

_WORD = re.compile(r"[A-Z]+(?![a-z])|[^\W\d_A-Z]+|[A-Z][^\W\d_A-Z]*|\d+")
_IDENTIFIER = re.compile(
    r"_(id|ids|uuid|guid|(case|resp|person|patient)_?(id|nr|no)|rownames?|(sur|first|last)?name|e_?mail|phone|ssn|iban)_"
)
_HOUSEHOLD = re.compile(r"_(hh|household|haushalt|family)_((id|no|nr|num|number|nummer)_)?$|_hh(id|no|nr|num)_")
_WEIGHT = re.compile(r"_((p|f|hh|per|pers|ind|fnl|sample)?_?(weight|wgh?t|wt)s?|gewicht)_")
_REFUSED = re.compile(
    "refus(ed|al)|declined|unknown|not (known|stated|applicable|available|asked)|inapplicable|dk|(don'?t|do not) know|"
    "no (answer|response|reply)|prefer not to (say|answer)|keine angabe|weiß nicht"
)
_CODE = re.compile("[789]|7+|8+|9+|9+[678]")
_STEPS = 5  # of the numbers next to it, beyond which a code stands apart
_UNLIKELY = math.log(1e6)
_COMPARED = 200  # columns that are compared with each other
_TRIED = 1000  # records of a pair of columns that are compared first
_NEAR = 0.01  # of one, the mean of normed weights
_YEARS = 40  # dates further apart than this may be those of births


@dataclass(frozen=True)
class Topic:
    """What a column may be about, the role to suggest, words of its name, and words of its cells, or all of a cell."""

    about: str
    role: str
    name: str
    word: str = "(?!)"
    cell: str = "(?!)"

    def named(self, words: str) -> bool:
        return re.search(f"_({self.name})", words) is not None

    def held(self, cells: Sequence[str]) -> bool:
        """Whether two levels hold one of its words, or all levels are of its form."""
        hits = sum(re.search(rf"(?<![a-z])({self.word})", cell, re.IGNORECASE) is not None for cell in cells)
        return hits >= 2 or (len(cells) >= 2 and all(re.fullmatch(self.cell, cell.strip()) for cell in cells))


SECRET, KNOWN = "secret, or drop", "known: somebody may have it without this file"
TOPICS = (
    Topic(
        "health", SECRET,
        "health|diagnos|disease|ill_|illness|sick|disab|hiv_|aids_|icd|cancer|tumou?r|diabet|depress|medic|drug|symptom|"
        "pregnan|mental|bmi_|blood|therap|treatment|hospital|smok|alcohol|krank",
        "diabet|cancer|tumou?r|asthma|depress|hiv\\b|hypertens|infarct|stroke|schizo|dementia|migraine|influenza|healthy",
        r"[A-TV-Z]\d[\dA-Z](\.\w{1,4})",
    ),
    Topic("income", SECRET, "income|salar|wage|earn|pay_|payment|wealth|debt|revenue|benefits|fortune|einkommen|gehalt",
          r"[<>]=?\s?[$€£]?\d+\s?k\b|[$€£]\s?\d"),
    Topic("a vote", SECRET, "vote|voti|ballot|part(y|ei)_|elect(ion|or)|politic|ideolog|wahl",
          "democrat|republican|conservative|labour|liberal|socialist|green party|tory|cdu|spd|ukip"),
    Topic("religion", SECRET, "relig|church|faith|denominat|confession|worship|muslim|christian|jew",
          "catholic|protestant|muslim|islam|jewish|hindu|buddhis|orthodox|atheis|christian|lutheran|methodist|baptist"),
    Topic("origin", SECRET, "race_|racial|ethnic|caste_"),
    Topic("sexual life", SECRET, "sexual|affairs?_|orientation_|partners_"),
    Topic("offences", SECRET, "crim(e|inal)|offen[cd]|convict|arrest|prison"),
    Topic("a postcode", KNOWN, "post_?code|postal|zip_?(code)?_|plz|postleitzahl",
          cell=r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}"),
    Topic("a date of birth", KNOWN, "dob_|birth_|birth_?(day|date|year|month)|born|geburt|year_of_birth|yob_"),
    Topic("coordinates", KNOWN, "lat_|lon_|lng_|latitude|longitude|coord|easting|northing|gps|geo_",
          cell=r"(POINT ?)?\(?-?\d{1,3}\.\d{3,}[,; ] ?-?\d{1,3}\.\d{3,}\)?"),
)  # fmt: skip
_OTHERS_KNOW = re.compile(
    "_(age_|sex_|gender|marital|married|children_|kids_|educ|school|occupation|job_|region|county|city_|town_|district|"
    "municip|nationalit|country|alter_|geschlecht|beruf)"
)


def words_of(name: str) -> str:
    """The words of a name, in small letters, with _ around each: dateOfBirth, DATE OF BIRTH -> _date_of_birth_."""
    return f"_{'_'.join(_WORD.findall(name)).lower()}_"


def topic_of(name: str, cells: Sequence[str]) -> tuple[str, str] | None:
    """(role to suggest, what to say) of a column by its name, or else by its cells of text."""
    words, cells = words_of(name), cells[:_TRIED]
    by_name, by_cells = (
        (topic for topic in TOPICS if topic.named(words)),
        (topic for topic in TOPICS if topic.held(cells)),
    )
    for how, found in (("name", next(by_name, None)), ("cells", next(by_cells, None))):
        if found is not None:
            why = "people keep it secret" if found.role == SECRET else "others may know it or find it out"
            return found.role, f"by its {how} about {found.about}: {why}"
    return (KNOWN, "") if _OTHERS_KNOW.search(words) else None


def spans_births(years: Sequence[float]) -> bool:
    """Whether years may be those of births: they are of people alive, and lie far apart."""
    return bool(years) and min(years) >= 1880 and max(years) <= 2100 and max(years) - min(years) >= _YEARS


def identifier_of(name: str) -> str | None:
    """What an identifier is one of, by its name."""
    words = words_of(name)
    if _HOUSEHOLD.search(words):
        return "a household number"
    return "an identifier" if _IDENTIFIER.search(words) else None


def weight_of_records(name: str, numbers: Array, times: Array) -> str | None:
    """By what different numbers, each on so many records, may be survey weights: they are positive, and have such a
    name, or are many fractions that are one on average."""
    if len(numbers) < 3 or not (numbers > 0).all() or not np.isfinite(numbers).all():
        return None
    if _WEIGHT.search(words_of(name)):
        return "name"
    mean = float(numbers @ times) / times.sum()
    broken = np.count_nonzero(numbers != np.rint(numbers)) > len(numbers) / 2
    return "cells" if broken and abs(mean - 1) < _NEAR and len(numbers) > math.sqrt(times.sum()) else None


def codes_among(numbers: Iterable[float]) -> list[int]:
    """Codes such as -9, 99 or 999 at an end of different numbers, far from the other ones."""
    values, found = sorted(set(numbers)), []
    for sign in (-1, 1):
        ordered = [sign * v for v in (values if sign < 0 else reversed(values))]  # downwards, codes first
        far = [v for v in ordered if v >= (7 if sign < 0 else 77)]
        codes = list(takewhile(lambda v: v < 1e9 and v == int(v) and _CODE.fullmatch(str(int(v))), far))
        rest = ordered[len(codes) :]
        gaps = sorted(a - b for a, b in pairwise(rest))
        if codes and gaps and codes[-1] - rest[0] > _STEPS * gaps[(len(gaps) - 1) // 2]:
            found += [int(sign * v) for v in codes]
    return sorted(found)


def codes_in_words(cells: Iterable[str]) -> list[str]:
    """Cells that say in words that there is no answer."""
    return [cell for cell in cells if _REFUSED.fullmatch(" ".join(cell.lower().strip(" .()-").split()))]


def determined(columns: Mapping[str, Array]) -> dict[str, list[str]]:
    """By column, the others that it determines; a column is the codes 0, 1, ... of its records."""
    columns = dict(list(columns.items())[:_COMPARED])
    surprise = {}
    for name, codes in columns.items():
        share = np.bincount(codes) / len(codes)
        surprise[name] = -math.log(float(share @ share))
    out: dict[str, list[str]] = {}
    for name, codes in columns.items():
        _, first, index = np.unique(codes, return_index=True, return_inverse=True)
        twin = first[index.ravel()]
        again = np.flatnonzero(twin != np.arange(len(codes)))
        some = again[:: max(1, len(again) // _TRIED)]
        others = [b for b, rate in surprise.items() if b != name and len(again) * rate > _UNLIKELY]
        for rows in (some, again):
            others = [b for b in others if (columns[b][rows] == columns[b][twin[rows]]).all()]
        if others:
            out[name] = others
    return out


def years_of(cells: Iterable[Any]) -> list[float]:
    """The years in dates, as objects or as text."""
    return [float(found[0]) for cell in cells if (found := re.search(r"(?<!\d)(1[89]|20)\d\d(?!\d)", str(cell)))]
