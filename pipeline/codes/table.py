"""A classification system's codes, with their titles and their tree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

from pipeline.answers import System

SECTORS = {
    **dict.fromkeys(("31", "32", "33"), "31-33"),
    **dict.fromkeys(("44", "45"), "44-45"),
    **dict.fromkeys(("48", "49"), "48-49"),
}
"""The NAICS sectors that span several two-digit numbers, by number."""

LEVELS: dict[System, dict[int, str]] = {
    "cpv": {2: "division", 3: "group", 4: "class", 5: "category"},
    "psc": {1: "category", 2: "group", 4: "code"},
    "unspsc": {2: "segment", 4: "family", 6: "class", 8: "commodity"},
    "naics": {2: "sector", 3: "subsector", 4: "industry group", 5: "industry"},
}
DEEPEST = {"cpv": "subcategory", "naics": "national industry", "psc": "code", "unspsc": "commodity"}


def stem(system: System, code: str) -> str:
    """Return the significant digits of a code, without trailing zeros."""
    if system == "cpv":
        return code[:2] + code[2:].rstrip("0")
    if system == "unspsc":
        pairs = [code[start : start + 2] for start in range(0, 8, 2)]
        while len(pairs) > 1 and pairs[-1] == "00":
            pairs.pop()
        return "".join(pairs)
    return code[:2] if system == "naics" and "-" in code else code


def levels_above(system: System) -> Mapping[int, str]:
    """Return the levels above the full code, from the top: number of digits and name."""
    return {
        digits: name for digits, name in LEVELS[system].items() if name != DEEPEST.get(system, "")
    }


def cut(system: System, code: str, digits: int) -> str:
    """Return the leading digits of a code; for a NAICS sector of several numbers, its range."""
    short = code[:digits]
    return SECTORS.get(short, short) if system == "naics" else short


def parent(system: System, code: str, codes: Container[str]) -> str:
    """Return the nearest existing code above a code; "" at the top.

    A level in between may be missing: CPV has 35 codes whose parent is two levels up.
    """
    if system == "psc" and len(code) == 2 and code.isdigit():
        return ""  # a supply group: 71 to 79 do not belong to category 7, which is IT
    short = stem(system, code)
    step = 2 if system == "unspsc" else 1
    for length in range(len(short) - step, min(LEVELS[system]) - 1, -step):
        above = full_code(system, short[:length])
        if above in codes and above != code:
            return above
    return ""


def full_code(system: System, short: str) -> str:
    """Return the code that starts with these digits: ``45000000`` for CPV ``45``."""
    if system in ("cpv", "unspsc"):
        return short.ljust(8, "0")
    return SECTORS.get(short, short) if system == "naics" else short


@dataclass(frozen=True)
class CodeTable:
    """The codes of one system.

    Attributes:
        system: the system.
        edition: the edition of the system.
        source: the publisher, and where the table was taken from.
        licence: the licence of the table.
        titles: English titles by code, in the official order.
    """

    system: System
    edition: str
    source: str
    licence: str
    titles: Mapping[str, str]

    def __len__(self) -> int:
        return len(self.titles)

    def __contains__(self, code: object) -> bool:
        return code in self.titles

    def level(self, code: str) -> str:
        """Return the name of a code's level, such as ``division`` or ``national industry``."""
        return LEVELS[self.system].get(len(stem(self.system, code)), DEEPEST[self.system])

    def assignable(self, code: str) -> bool:
        """Return whether a tender may have a code of this depth.

        PSC and NAICS require the full code. CPV and UNSPSC allow general codes.
        """
        if self.system == "psc":
            return len(code) == 4
        return self.system != "naics" or len(code) == 6

    def ancestors(self, code: str) -> list[str]:
        """Return the codes above a code, nearest first."""
        above = []
        while code := parent(self.system, code, self.titles):
            above.append(code)
        return above

    def children(self, code: str) -> Sequence[str]:
        """Return the codes directly below a code."""
        return self._children.get(code, [])

    @cached_property
    def assignable_codes(self) -> Set[str]:
        """The codes that a tender may have."""
        return {code for code in self.titles if self.assignable(code)}

    @cached_property
    def parents(self) -> Mapping[str, str]:
        """For each code, the code above it; "" at the top."""
        return {code: parent(self.system, code, self.titles) for code in self.titles}

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """The number of codes at each level, from the top down."""
        counts: dict[str, int] = defaultdict(int)
        for code in sorted(self.titles, key=lambda code: len(stem(self.system, code))):
            counts[self.level(code)] += 1
        return dict(counts)

    @cached_property
    def _children(self) -> Mapping[str, Sequence[str]]:
        children: dict[str, list[str]] = defaultdict(list)
        for code, above in self.parents.items():
            children[above].append(code)
        return children
