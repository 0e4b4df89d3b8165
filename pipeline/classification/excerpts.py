"""What pages show of a row: the part of a long text that spoke for its code, and other columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import zip_longest
from types import MappingProxyType
from typing import TYPE_CHECKING

import pyarrow as pa

from pipeline.answers import System
from pipeline.classification.columns import new_fields
from pipeline.codes import load
from pipeline.errors import SettingsError
from pipeline.settings import Settings
from pipeline.wording import readable

if TYPE_CHECKING:  # the report of a paid run needs no engine
    from pipeline.engine.model import ModelFolder


NO_MODELS: Mapping[System, ModelFolder] = MappingProxyType({})

LENGTH = 200
"""Characters of an excerpt; shorter texts are shown whole."""

READ = 20_000
"""Characters of a text in which its excerpt is looked for."""

STOP = re.compile(r"[.!?;\n](?:(?<=\n)|(?<=[^\W\d]{2}.)\s)")
LONGEST_PIECE = 160
PIECE = re.compile(rf"\S.{{0,{LONGEST_PIECE - 1}}}(?!\S)|\S{{{LONGEST_PIECE}}}", re.DOTALL)
"""A part of a long sentence."""

WORD = re.compile(r"[^\W\d_]+")
DOTS = "\N{HORIZONTAL ELLIPSIS}"

MOST_COLUMNS = 20
LONGEST_VALUE = 200


def excerpt(text: str, words: Sequence[str] = (), most: int = LENGTH) -> str:
    """Return a text from the sentence that spoke for its code, on one line; a short text whole.

    Args:
        text: the text.
        words: the words that spoke for the code, the strongest first; see `spoken_words`.
        most: the most characters of the excerpt.
    """
    if len(text) <= most:
        return readable(text, most)
    starts, pieces = zip(*_pieces(text) or [(0, text)], strict=True)
    folded = [word.casefold() for word in words]
    worths = [_worth(piece, folded) for piece in pieces]
    best = worths.index(max(worths))
    before = f"{DOTS} " if best else ""
    return before + readable(text[starts[best] :], most - len(before))


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
    spoken = [
        (by_engine and named_words(text, system, code, models.get(system))) or WORD.findall(title)
        for system, code, title in matches
    ]
    return [word for words in zip_longest(*spoken) for word in words if word]


def models_there(
    models: Mapping[str, str], systems: Sequence[System]
) -> Mapping[System, ModelFolder]:
    """Return the learned models of a run that are still as its settings have them."""
    if not models:
        return NO_MODELS
    from pipeline.engine.model import open_models

    found: dict[System, ModelFolder] = {}
    for folder, sha256 in models.items():
        with suppress(SettingsError):
            there, _ = open_models(folder, systems)
            found |= {system: model for system, model in there.items() if model.sha256 == sha256}
    return found


def named_words(text: str, system: System, code: str, model: ModelFolder | None) -> list[str]:
    """Return the words of a text that count for a code, as `run --explain` names them."""
    from pipeline.engine import ranker  # takes a while, and the report of a paid run needs none
    from pipeline.engine.engine import REPEATED

    if code not in load(system):
        return []
    (why,) = ranker(system, model).why([text], [code])
    return [] if why == REPEATED else [word for word in why.split(", ") if word]


def other_columns(columns: pa.RecordBatch | pa.Table, settings: Settings) -> list[dict[str, str]]:
    """Return what each row has in the columns that are neither its text nor of a run."""
    every = Settings(
        systems=settings.systems, top=2, explain=True, column_prefix=settings.column_prefix
    )
    known_names = {*settings.text_columns, *(each.name for each in new_fields(every))}
    positions = [at for at, name in enumerate(columns.schema.names) if name not in known_names]
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


def _worth(piece: str, words: Sequence[str]) -> float:
    """Return how much a sentence says of the code: the strongest word counts 1, the next 1/2."""
    words_of_piece = {word.casefold() for word in WORD.findall(piece)}
    return sum(1 / rank for rank, word in enumerate(words, 1) if word in words_of_piece)


def _pieces(text: str) -> list[tuple[int, str]]:
    """Return the sentences of a text, and where each begins."""
    text, start = text[:READ], 0
    pieces: list[tuple[int, str]] = []
    for end in (*(match.end() for match in STOP.finditer(text)), len(text)):
        if end - start > LONGEST_PIECE:
            pieces += [(each.start(), each[0]) for each in PIECE.finditer(text, start, end)]
        elif piece := text[start:end].strip():
            pieces.append((start, piece))
        start = end
    return pieces
