"""Sorts a history into what can be learned and what is left out, and says why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from pipeline.codes import CodeTable, spelt, titles_by_language
from pipeline.engine.learned.train import Examples

__all__ = ["Labels", "Lessons", "title_examples"]

MOST_CODES = 20_000
"""Titles of a larger table (the full UNSPSC) are taught for the codes of the history only: the
others are found by their titles all the same, and learning them would take hours."""


@dataclass(frozen=True, slots=True)
class Labels:
    """Reads codes as buyers wrote them.

    Attributes:
        table: the codes there are.
    """

    table: CodeTable

    def code(self, written: str) -> str | None:
        """Return the code to learn, None if the table lacks it.

        A UNSPSC commodity that the table lacks goes to its class, if that is there.
        """
        found = spelt(self.table, written)
        if found is None and self.table.system == "unspsc":
            digits = written.strip().replace("-", "")
            if len(digits) == 8 and digits.isdigit():
                found = spelt(self.table, digits[:6])
        return found if found is None or self.table.assignable(found) else None


@dataclass(slots=True)
class Lessons:
    """What was read of a history so far.

    Attributes:
        labels: reads its codes.
        rows: how many rows there were.
        without_text: rows left out because they have no text.
        without_code: rows left out because they have no code.
        unknown: how many rows had each code that is unknown or no full code; left out too.
        generalised: rows whose commodity the table lacks; their class is learned.
    """

    labels: Labels
    rows: int = 0
    without_text: int = 0
    without_code: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    generalised: int = 0
    _parts: list[Examples] = field(default_factory=list)

    def read(self, texts: Sequence[str], codes: Sequence[str]) -> None:
        """Take in some rows; "" stands for no text or no code."""
        kept_texts, kept_codes = [], []
        for text, written in zip(texts, codes, strict=True):
            self.rows += 1
            code = self._code(text, written.strip())
            if code is not None:
                kept_texts.append(text)
                kept_codes.append(code)
        if kept_texts:
            self._parts.append(Examples.of(kept_texts, kept_codes))

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
        code = self.labels.code(written)
        if code is None:
            self.unknown[written] += 1
        elif self.labels.table.system == "unspsc" and spelt(self.labels.table, written) is None:
            self.generalised += 1
        return code


def title_examples(table: CodeTable, examples: Examples) -> Examples:
    """Return the titles of a table's assignable codes, in every language there is."""
    wanted = {code for code in table.titles if table.assignable(code)}
    if len(wanted) > MOST_CODES:
        wanted &= set(examples.codes.tolist())
    titles, codes = [], []
    for language in titles_by_language(table):
        for code, title in zip(table.titles, language, strict=True):
            if code in wanted and title:
                titles.append(title)
                codes.append(code)
    return Examples.of(titles, codes)
