"""A few coded rows for the terminal: what a run made of texts, before its figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle

from pipeline.answers import BANDS, BatchAnswers, Match, Matched, System, band
from pipeline.quoting import visible
from pipeline.tables import Batch

MOST = 5
"""How many rows are shown."""

TEXT_SHARE = 0.42
"""The part of a line's width, after how sure the code is, that the text of the row takes."""


class Examples:
    """The first coded rows, with one code each, of the systems in turn; `observe` gets all rows."""

    def __init__(self, systems: Sequence[System]) -> None:
        self._systems = cycle(systems)
        self._found: dict[str, tuple[System, Match]] = {}

    def observe(self, batch: Batch, answers: BatchAnswers) -> None:
        """Keep what is still missing of a batch."""
        for index, text in enumerate(batch.texts):
            if len(self._found) == MOST:
                return
            system = next(self._systems)
            match answers[system][index]:
                case Matched(matches=(first, *_)):
                    self._found.setdefault(text, (system, first))

    def lines(self, width: int) -> Iterator[str]:
        """Yield a heading and a line for each example, at most ``width`` columns wide."""
        if not self._found:
            return
        margin = max(map(len, BANDS)) + 2
        left = int((width - margin) * TEXT_SHARE)
        yield f"{'':<{margin}}{'text':<{left}}code"
        for text, (system, match) in self._found.items():
            start = f"{band(match.confidence):<{margin}}{_short(text, left - 2):<{left}}"
            code = f"{system} {match.code} {match.title}"
            yield start + _short(code, width - len(start))


def _short(text: str, width: int) -> str:
    text = visible(" ".join(text.split()))
    return text if len(text) <= width else f"{text[: width - 1].rstrip()}…"
