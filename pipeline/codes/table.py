"""A classification system's codes, with their titles and their tree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

from pipeline.answers import System
from pipeline.codes.levels import assignable, level, parent, stem

__all__ = ["CodeTable"]


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
        """Return the name of a code's level."""
        return level(self.system, code)

    def assignable(self, code: str) -> bool:
        """Return whether a tender may have this code; see `pipeline.codes.levels`."""
        return assignable(self.system, code)

    def ancestors(self, code: str) -> list[str]:
        """Return the codes above a code, nearest first."""
        above = []
        while code := self.parents[code]:
            above.append(code)
        return above

    def children(self, code: str) -> Sequence[str]:
        """Return the codes directly below a code."""
        return self._children.get(code, [])

    @cached_property
    def assignable_codes(self) -> Set[str]:
        """The codes that a tender may have."""
        return {code for code in self.titles if assignable(self.system, code)}

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
