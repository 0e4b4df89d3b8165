"""What an evaluation shows: tables with titles and notes, which the terminal and the page draw."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pipeline.evaluation.findings import Evaluated, Review
from pipeline.evaluation.metrics import (
    FEW,
    TOPS,
    Bin,
    Figures,
    GroupFigures,
    Pair,
    Share,
    shown_depths,
)
from pipeline.evaluation.phrases import (
    headline_shares,
    p_value,
    part,
    percent,
    points,
    right_word,
    within,
)
from pipeline.evaluation.significance import Comparison
from pipeline.pages import WANTED, most_taken
from pipeline.wording import readable

LETTERS = ("A", "B")
"""What two subjects are called in a table."""

PAIRS = 8
"""Confused pairs of a level that are shown."""

GROUPS = 12
"""Sources that are shown."""

KEY = ("", "key")
"""The column that says whose figures they are; only tables of two subjects have it."""

COUNTED = [("share", "n"), ("95 % interval", "n"), ("rows", "n")]

NONE = Share(0, 0)

ACCEPTANCE = (
    "The confidence of the embedded engine is the chance that an expert accepts a code, not that a "
    "buyer wrote it: --decisions measures it."
)

Line = TypeVar("Line")

_Named = Sequence[tuple[Sequence[str], Figures]]
"""Figures, each with the letter of its subject if there are two."""


@dataclass(frozen=True, slots=True)
class Section:
    """A table with its title.

    Attributes:
        name: by this name the page explains it.
        title: its title.
        columns: the heading of each column and its kind: "" for words, ``n`` for numbers,
            ``share`` for a share that the page also draws, ``among`` for one that it draws behind
            that, ``code`` for a code and its title, ``key`` for a letter of `LETTERS`.
        rows: the cells of each line.
        notes: what else is to say, a sentence each.
    """

    name: str
    title: str
    columns: Sequence[tuple[str, str]]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    def drawn(self, row: Sequence[str]) -> list[str]:
        """Return the shares of a line that the page draws, the longest first; no counts."""
        kinds = [kind for _, kind in self.columns]
        cells = zip(reversed(kinds), reversed(row), strict=True)
        return [cell for kind, cell in cells if kind in ("share", "among") and "%" in cell]


def sections(
    subjects: Sequence[Evaluated], comparison: Comparison | None, review: Review | None
) -> Iterator[Section]:
    """Yield the tables of one subject or of two, in the order in which to read them."""
    letters = [[letter] if comparison else [] for letter in LETTERS]
    named = [(key, each.figures) for key, each in zip(letters, subjects, strict=False)]
    keys = [KEY] if comparison else []
    figures = named[0][1]
    word = right_word(figures)
    if comparison:
        head = [*LETTERS, "B minus A, points", "95 % interval", "McNemar"]
        columns = [("right code first", ""), *((name, "n") for name in head)]
        yield Section("difference", "Side by side", columns, [*_differences(named, comparison)])
    if review is not None:
        lines = [[name, *_cells(share)] for name, share in review.shares.items()]
        yield Section("review", "What people did with the codes", [("codes", ""), *COUNTED], lines)
    shares = {name: name for _, each in named for name in headline_shares(each)}
    cells = _rows(named, shares, lambda one, name: _cells(headline_shares(one).get(name, NONE)))
    yield Section("headline", "In short", [("", ""), *keys, *COUNTED], cells)
    depths = {depth.name: depth for _, one in named for depth in shown_depths(one)}
    title = "How often the right code is found, by level"
    columns = [("right code", ""), *keys, ("first", "share"), ("95 % interval", "n")]
    columns += [(f"among {top}", "among") for top in TOPS[1:]]
    cells = _rows(named, depths, lambda one, depth: _level(one.depths[depth]))
    yield Section("levels", title, columns, cells)
    columns = [("confidence", ""), *keys, ("rows", "n"), ("mean", "n"), (f"{word} first", "share")]
    cells = [
        [each.name, *key, *_bin(each)] for key, one in named for each in one.bins if each.right.rows
    ]
    yield Section("confidence", "Is the confidence right?", columns, cells)
    of_band = word if figures.verdicts else "right as far as stated"
    columns = [("codes", ""), *keys, (of_band, "n"), *COUNTED[1:]]
    cells = _rows(
        named, {each: each for each in figures.bands}, lambda one, of: _cells(one.bands[of])
    )
    title = "Sure, likely and doubtful codes"
    notes = [*_calibration(named)]
    if notes and not figures.verdicts and any(each.kind == "engine" for each in subjects):
        notes.append(ACCEPTANCE)
    yield Section("bands", title, columns, cells, notes)
    numbers = [("share", "share"), ("rows go through", "n"), ("--min-confidence", "n")]
    columns = [(f"if so many must be {word}", ""), *keys, *numbers]
    cells = _rows(named, {f"{100 * wanted:.0f} %": wanted for wanted in WANTED}, _through)
    if any(one.surest for _, one in named):
        yield Section("coverage", "How many rows can go through without a look?", columns, cells)
    for level in figures.confused:
        columns = [*keys, ("right", "code"), ("answered first", "code"), ("rows", "n")]
        cells = [[*key, *_pair(pair)] for key, one in named for pair in one.confused[level][:PAIRS]]
        title = f"Most frequent confusions: {level}"
        if cells:
            yield Section(f"confused-{level.split()[0]}", title, columns, cells)
    yield from _sources(named, keys, figures.broad.name)


def _rows(
    named: _Named, lines: Mapping[str, Line], cells: Callable[[Figures, Line], list[str]]
) -> list[list[str]]:
    """Return a row for each line and each subject, with the cells that they have there."""
    return [[name, *key, *cells(one, line)] for name, line in lines.items() for key, one in named]


def _cells(share: Share) -> list[str]:
    """Return a share, its interval, and of how many rows it is."""
    return [part(share), within(share), f"{share.rows:,}"]


def _differences(named: _Named, comparison: Comparison) -> Iterator[list[str]]:
    """Yield how two subjects differ at the depths to show."""
    shown = {depth for _, each in named for depth in shown_depths(each)}
    for each in comparison.differences:
        if each.depth in shown:
            both = [part(one.depths[each.depth][1]) for _, one in named]
            low, high = each.interval
            interval = f"{points(low)} to {points(high)}"
            yield [each.depth.name, *both, points(each.value), interval, p_value(each.p)]


def _level(top: Mapping[int, Share]) -> list[str]:
    first, *more = (top[most] for most in TOPS)
    return [part(first), within(first), *map(part, more)]


def _bin(each: Bin) -> list[str]:
    return [f"{each.right.rows:,}", percent(each.confidence or 0), part(each.right)]


def _through(figures: Figures, wanted: float) -> list[str]:
    """Return how many rows reach an accuracy, and from which confidence."""
    most = most_taken(figures.surest, wanted)
    if most is None:
        return ["-", "-", "-"]
    share = percent(most.rows / figures.judged)
    return [share, f"{most.rows:,}", f"{most.confidence:.2f}"]


def _pair(pair: Pair) -> list[str]:
    both = ((pair.truth, pair.truth_title), (pair.answer, pair.answer_title))
    none = "not in the code table"
    titled = [f"{readable(code)} {readable(title, 90) or none}" for code, title in both]
    return [*titled, f"{pair.rows:,}"]


def _calibration(named: _Named) -> Iterator[str]:
    for key, figures in named:
        if figures.rows >= FEW:
            of = "".join(f" of {letter}" for letter in key)
            error = f"{figures.calibration_error:.3f} (expected calibration error)"
            yield f"Confidence{of} is off by {error}."


def _sources(named: _Named, keys: Sequence[tuple[str, str]], level: str) -> Iterator[Section]:
    """Yield the figures by source, if there are any; all subjects saw the same sources."""
    sources = named[0][1].sources
    cells = [
        [readable(each.name) or "not named", *key, *_group(one.sources[at])]
        for at, each in enumerate(sources[:GROUPS])
        for key, one in named
    ]
    more = len(sources) - GROUPS
    notes = [f"And {more:,} more (--json has all)."] if more > 0 else []
    numbers = ["among 5", "among 10", level, "confidence"]
    columns = [("source", ""), *keys, ("rows", "n"), ("first", "share")]
    columns += [(name, "n") for name in numbers]
    if cells:
        yield Section("source", "By source", columns, cells, notes)


def _group(each: GroupFigures) -> list[str]:
    shares = [*(each.top[top] for top in TOPS), each.broad]
    return [f"{each.broad.rows:,}", *map(part, shares), percent(each.confidence)]
