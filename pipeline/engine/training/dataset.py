"""Sorts a history into what can be learned and what is left out, and says why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pipeline.codes import CodeTable, Retired, find_code, normalized
from pipeline.engine.training.examples import Examples

__all__ = ["Dataset", "learnable"]


def learnable(table: CodeTable, written: str) -> str | None:
    """Return the code to learn, None if the table lacks it or it is no full code.

    A UNSPSC commodity that the table lacks is learned all the same, if its segment is there: it is
    given once the full table was added, and its nearest known ancestor until then.

    Args:
        table: the codes there are.
        written: a code as a buyer wrote it.
    """
    found = find_code(table, written)
    if found is None and table.system == "unspsc":
        code = normalized("unspsc", written)
        if code and f"{code[:2]}000000" in table:
            return code
    return found if found is None or table.assignable(found) else None


@dataclass(slots=True)
class Dataset:
    """What was read of a history so far.

    Attributes:
        table: the codes there are.
        retirements: the codes there were; what has one that one code of the table replaced is
            learned as that code. Retired codes that are not named here are unknown.
        rows: how many rows there were.
        without_text: rows left out because they have no text.
        without_code: rows left out because they have no code.
        unknown: how many rows had each code that is unknown or no full code; left out too.
        retired: how many rows had each retired code, left out or learned as its successor.
        beyond: rows whose commodity the table lacks.
    """

    table: CodeTable
    retirements: Mapping[str, Retired] = field(default_factory=dict)
    rows: int = 0
    without_text: int = 0
    without_code: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    retired: Counter[str] = field(default_factory=Counter)
    beyond: int = 0
    _parts: list[Examples] = field(default_factory=list)

    def read(self, texts: Sequence[str], codes: Sequence[str]) -> list[bool]:
        """Add rows; "" means no text or no code. Return which of them can be learned."""
        kept_texts, kept_codes, kept = [], [], []
        for text, written in zip(texts, codes, strict=True):
            self.rows += 1
            code = self._code(text, written.strip())
            kept.append(code is not None)
            if code is not None:
                kept_texts.append(text)
                kept_codes.append(code)
        if kept_texts:
            self._parts.append(Examples.of(kept_texts, kept_codes))
        return kept

    def examples(self) -> Examples:
        """Return what can be learned."""
        return Examples.joined(self._parts)

    def _code(self, text: str, written: str) -> str | None:
        if not text:
            self.without_text += 1
            return None
        if not written:
            self.without_code += 1
            return None
        code = learnable(self.table, written)
        if code is None:
            return self._successor(written)
        if code not in self.table:
            self.beyond += 1
        return code

    def _successor(self, written: str) -> str | None:
        """Return the code that replaced one that the table lacks, None if none is known."""
        code = normalized(self.table.system, written)
        if code is None or code not in self.retirements:
            self.unknown[written] += 1
            return None
        self.retired[code] += 1
        return self.retirements[code].successor
