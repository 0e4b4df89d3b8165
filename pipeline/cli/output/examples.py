"""A few coded rows for the terminal: what a run made of texts, before its figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle, islice

from pipeline.answers import BANDS, Band, BatchAnswers, Match, Matched, System, band
from pipeline.classification.excerpts import Excerpts, spoken_words
from pipeline.quoting import visible
from pipeline.tables import Batch

MOST = 5
"""How many rows are shown."""

TEXT_SHARE = 0.42
"""The part of a line's width, after how sure the code is, that the text of the row takes."""


class Examples:
    """The first coded rows of each band, in turn from each system; `observe` is shown them all."""

    def __init__(self, systems: Sequence[System]) -> None:
        self._systems = cycle(systems)
        self._excerpts = Excerpts()
        self._found: Mapping[Band, dict[str, tuple[System, Match]]] = {name: {} for name in BANDS}

    def observe(self, batch: Batch, answers: BatchAnswers) -> None:
        """Keep what is still missing of a batch."""
        if self._full:
            return
        self._excerpts.count(batch.texts)
        for index, text in enumerate(batch.texts):
            if self._full:
                return
            system = next(self._systems)
            match answers[system][index]:
                case Matched(matches=(first, *_)):
                    kept = self._found[band(first.confidence)]
                    if len(kept) < MOST:
                        kept.setdefault(text, (system, first))

    @property
    def _full(self) -> bool:
        return all(len(kept) == MOST for kept in self._found.values())

    def lines(self, width: int) -> Iterator[str]:
        """Yield a heading and a line for each example, at most `width` columns wide.

        There are examples of each band that the rows have, and more of the surer ones.
        """
        shown = self._chosen()
        if not shown:
            return
        margin = max(map(len, BANDS)) + 2
        left = int((width - margin) * TEXT_SHARE)
        yield f"{'':<{margin}}{'text':<{left}}code"
        for name, text, system, match in shown:
            code = f"{system} {match.code} {match.title}"
            words = spoken_words(text, [(system, match.code, match.title)])
            excerpt = _short(self._excerpts.of(text, words, left - 2), left - 2)
            start = f"{name:<{margin}}{excerpt:<{left}}"
            yield start + _short(code, width - len(start))

    def _chosen(self) -> list[tuple[Band, str, System, Match]]:
        queues = {
            name: [(name, text, *found) for text, found in kept.items()]
            for name, kept in self._found.items()
        }
        turns = [queues[name][turn : turn + 1] for turn in range(MOST) for name in BANDS]
        chosen = list(islice((row for turn in turns for row in turn), MOST))
        return sorted(chosen, key=lambda row: BANDS.index(row[0]))


def _short(text: str, width: int) -> str:
    text = visible(" ".join(text.split()))
    return text if len(text) <= width else f"{text[: width - 1].rstrip()}…"
