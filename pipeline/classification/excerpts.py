"""What pages show of a row: the part of a long text that spoke for its code, and other columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import zip_longest
from math import log
from types import MappingProxyType
from typing import TYPE_CHECKING

import pyarrow as pa

from pipeline.answers import System
from pipeline.classification.columns import new_fields
from pipeline.codes import load
from pipeline.errors import SettingsError
from pipeline.quoting import readable
from pipeline.settings import Settings

if TYPE_CHECKING:  # the report of a paid run needs no engine
    from pipeline.engine.model import ModelFolder


NO_MODELS: Mapping[System, ModelFolder] = MappingProxyType({})

LENGTH = 200
"""Characters of an excerpt; shorter texts are shown whole."""

READ = 20_000
"""Characters of a text in which its excerpt is looked for."""

KEPT = 100_000
"""Different sentences that are counted; the rarest are forgotten if there are more."""

UNSPOKEN = 0.2
"""The weight of a sentence without a word that spoke for the code; the strongest word has 1."""

STOP = re.compile(r"[.!?;\n](?:(?<=\n)|(?<=[^\W\d]{2}.)\s)")
LONGEST_PIECE = 160
PIECE = re.compile(rf"\S.{{0,{LONGEST_PIECE - 1}}}(?!\S)|\S{{{LONGEST_PIECE}}}", re.DOTALL)
"""A part of a long sentence."""

WORD = re.compile(r"[^\W\d_]+")
DOTS = "\N{HORIZONTAL ELLIPSIS}"
DIGITS = re.compile(r"\d+")

MOST_COLUMNS = 20
LONGEST_VALUE = 200


class Excerpts:
    """Makes excerpts of the texts of one table.

    Boilerplate says little about a row, so a sentence weighs the less the more rows have it.
    """

    def __init__(self) -> None:
        self._texts = 0
        self._rows: Counter[int] = Counter()

    def count(self, texts: Iterable[str]) -> None:
        """Count in how many rows each sentence is; in bounded memory."""
        for text in texts:
            if len(text) > LENGTH:
                self._texts += 1
                self._rows.update({_key(piece) for _, piece in _pieces(text)})
        if len(self._rows) > KEPT:
            self._rows = Counter(dict(self._rows.most_common(KEPT // 2)))

    def of(self, text: str, words: Sequence[str] = (), most: int = LENGTH) -> str:
        """Return the part of a text that spoke for its code, on one line; a short text whole.

        Args:
            text: the text.
            words: the words that spoke for the code, the strongest first; see `spoken_words`.
            most: the most characters of the excerpt.
        """
        if len(text) <= most:
            return readable(text, most)
        start, end = self._best(text, [word.casefold() for word in words], most)
        before, after = (DOTS + " " if start else ""), ("" if end == len(text) else " " + DOTS)
        shown = readable(text[start:end], most - len(before + after))
        return before + shown + ("" if shown.endswith(DOTS) else after)

    def _best(self, text: str, words: Sequence[str], most: int) -> tuple[int, int]:
        """Return where the best sentence begins, and where boilerplate follows it or the end."""
        pieces = [*_pieces(text)]
        if not pieces:
            return 0, len(text)
        rarity = [self._rarity(piece) for _, piece in pieces]
        worths = [
            _spoken(piece, words) * own for (_, piece), own in zip(pieces, rarity, strict=True)
        ]
        best = worths.index(max(worths))
        dull = [2 * own < rarity[best] for own in rarity]
        last = next((at for at in range(best, len(pieces)) if dull[at]), len(pieces))
        end = pieces[last][0] if last < len(pieces) else len(text)
        while best and end - pieces[best - 1][0] <= most and not dull[best - 1]:
            best -= 1  # there is room for what comes before it
        return pieces[best][0], end

    def _rarity(self, piece: str) -> float:
        """Return the inverse document frequency of a sentence: 0 if all texts have it."""
        if self._texts < 2:
            return 1.0
        return max(0.0, log(self._texts / max(1, self._rows[_key(piece)])))


def spoken_words(
    text: str,
    matches: Iterable[tuple[System, str, str]],
    by_engine: bool = False,
    models: Mapping[System, ModelFolder] = NO_MODELS,
) -> list[str]:
    """Return the words of a text that speak for its codes, the strongest of each system first.

    Args:
        text: the text.
        matches: each system with a code and its title, whose words speak where the engine names
            none.
        by_engine: whether the engine gave the codes; a service names no words.
        models: the learned models that replace the package's.
    """
    found = [
        (by_engine and named_words(text, system, code, models.get(system))) or WORD.findall(title)
        for system, code, title in matches
    ]
    return [word for words in zip_longest(*found) for word in words if word]


def models_there(
    models: Mapping[str, str], systems: Sequence[System]
) -> Mapping[System, ModelFolder]:
    """Return the learned models of a run that are still as its settings have them."""
    if not models:
        return NO_MODELS
    from pipeline.engine.model import opened

    found: dict[System, ModelFolder] = {}
    for folder, sha256 in models.items():
        with suppress(SettingsError):
            there = opened([folder], systems)
            found |= {system: each for system, each in there.items() if each.sha256 == sha256}
    return found


def named_words(text: str, system: System, code: str, model: ModelFolder | None) -> list[str]:
    """Return the words of a text that count for a code, as `run --explain` names them."""
    from pipeline.engine import ranker  # takes a while, and the report of a paid run needs none
    from pipeline.engine.model.ranker import REPEATED

    if code not in load(system):
        return []
    (why,) = ranker(system, model).why([text], [code])
    return [] if why == REPEATED else [word for word in why.split(", ") if word]


def other_columns(columns: pa.RecordBatch | pa.Table, settings: Settings) -> list[dict[str, str]]:
    """Return what each row has in the columns that are neither its text nor of a run."""
    every = Settings(
        systems=settings.systems, top=2, explain=True, column_prefix=settings.column_prefix
    )
    known = {*settings.text_columns, *(each.name for each in new_fields(every))}
    positions = [at for at, name in enumerate(columns.schema.names) if name not in known]
    values = [columns.column(at).to_pylist() for at in positions[:MOST_COLUMNS]]
    names = [readable(columns.schema.names[at]) for at in positions]
    return [
        {
            name: readable(str(value), LONGEST_VALUE)
            for name, value in zip(names, row, strict=False)
            if value is not None and value != ""
        }
        for row in (zip(*values, strict=True) if values else [()] * columns.num_rows)
    ]


def _spoken(piece: str, words: Sequence[str]) -> float:
    found = {word.casefold() for word in WORD.findall(piece)}
    return UNSPOKEN + sum(1 / rank for rank, word in enumerate(words, 1) if word in found)


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """Yield the sentences of a text, and where each begins."""
    text, start = text[:READ], 0
    for end in (*(match.end() for match in STOP.finditer(text)), len(text)):
        if end - start <= LONGEST_PIECE:
            if piece := text[start:end].strip():
                yield start, piece
        else:
            yield from ((each.start(), each[0]) for each in PIECE.finditer(text, start, end))
        start = end


def _key(piece: str) -> int:
    """Identify a sentence, whatever its numbers are, such as those of a form."""
    return hash(DIGITS.sub("", piece.casefold().strip()))
