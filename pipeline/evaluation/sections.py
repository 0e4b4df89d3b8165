"""What an evaluation shows: tables with titles and notes, which the terminal and the page draw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pipeline.charts import WANTED, most_taken
from pipeline.evaluation.findings import Findings
from pipeline.evaluation.metrics import (
    SOURCE_ROWS,
    TOPS,
    Figures,
    GroupFigures,
    Share,
    broad,
    shown_depths,
    shown_pairs,
)
from pipeline.evaluation.phrases import (
    flips_sentence,
    group_name,
    headline_shares,
    p_value,
    percent,
    points,
    right_word,
    rows,
    within,
)
from pipeline.quoting import readable

__all__ = ["LETTERS", "Section", "sections"]

LETTERS = ("A", "B")
"""What two subjects are called in a table."""

PAIRS = 8
"""Confused pairs of a level that are shown."""

GROUPS = 12
"""Languages or sources that are shown."""

KEY = ("", "key")
"""The column that says whose figures they are; only tables of two subjects have it."""

COUNTED = [("share", "n"), ("95 % interval", "n"), ("rows", "n")]

_Named = Sequence[tuple[str, Figures]]


@dataclass(frozen=True, slots=True)
class Section:
    """A table with its title.

    Attributes:
        name: by this name the page has a chart or an explanation of it.
        title: its title.
        columns: the heading of each column and its kind: "" for words, ``n`` for numbers,
            ``share`` for a share that the page also draws, ``code`` for a code and its title,
            ``key`` for a letter of `LETTERS`.
        rows: the cells of each line.
        notes: what else is to say, a sentence each.
        for_page: whether only the page shows it, because its chart says more.
    """

    name: str
    title: str
    columns: Sequence[tuple[str, str]]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    for_page: bool = False

    def without_key(self) -> Section:
        """Return the table of a single subject, which needs no letter."""
        if KEY not in self.columns:
            return self
        place = self.columns.index(KEY)
        columns = [*self.columns[:place], *self.columns[place + 1 :]]
        rows = [[*row[:place], *row[place + 1 :]] for row in self.rows]
        return replace(self, columns=columns, rows=rows)


def sections(found: Findings) -> list[Section]:
    """Return the tables of one subject or of two, in the order in which to read them."""
    all_of_them = list(_sections(found))
    return all_of_them if found.comparison else [each.without_key() for each in all_of_them]


def _sections(found: Findings) -> Iterator[Section]:
    named = [(letter, each.figures) for letter, each in zip(LETTERS, found.subjects, strict=False)]
    word = right_word(named[0][1])
    if found.comparison is not None:
        yield _differences(found)
    if found.review is not None:
        cells = [[name, *_cells(share)] for name, share in found.review.shares.items()]
        yield Section("review", "What people did with the codes", [("codes", ""), *COUNTED], cells)
    yield _headline(named)
    yield _levels(named)
    yield _confidence(named, word)
    yield _bands(named, word)
    yield _coverage(named, word)
    yield _curve(named, word)
    yield from _confused(named)
    level = broad(found.settings.system).name
    yield from _groups("language", level, [(key, each.languages) for key, each in named])
    yield from _groups("source", level, [(key, each.sources) for key, each in named])


def _cells(share: Share) -> list[str]:
    """Return a share, its interval, and of how many rows it is."""
    return [percent(share.value) if share.rows else "-", within(share), f"{share.rows:,}"]


def _differences(found: Findings) -> Section:
    cells = []
    for each, shares in found.differences():
        low, high = each.interval
        both = [percent(share.value) for share in shares]
        interval = f"{points(low)} to {points(high)}"
        cells.append([each.depth.name, *both, points(each.value), interval, p_value(each.p)])
    head = [*LETTERS, "B minus A, points", "95 % interval", "McNemar"]
    columns = [("right code first", ""), *((name, "n") for name in head)]
    notes = [flips_sentence(found.comparison.flips)] if found.comparison else []
    return Section("difference", "Side by side", columns, cells, notes)


def _headline(named: _Named) -> Section:
    shares = [(key, headline_shares(each)) for key, each in named]
    names = dict.fromkeys(name for _, own in shares for name in own)
    none = Share(0, 0)
    cells = [[name, key, *_cells(own.get(name, none))] for name in names for key, own in shares]
    return Section("headline", "In short", [("", ""), KEY, *COUNTED], cells)


def _levels(named: _Named) -> Section:
    depths = {each.depth: None for _, one in named for each in shown_depths(one)}
    cells, notes = [], []
    for depth in depths:
        for key, figures in named:
            first, *more = (figures.at(depth)[most] for most in TOPS)
            among = [percent(share.value) for share in more]
            cells.append([depth.name, key, percent(first.value), within(first), *among])
    for key, figures in named:
        whose, answered = f" of {key}" * (len(named) > 1), sum(figures.answer_levels.values())
        levels = [f"{name} {percent(n / answered)}" for name, n in figures.answer_levels.items()]
        if levels:
            notes.append(f"Levels of the best codes{whose}: {', '.join(levels)}.")
    head = ["first", "95 % interval", *(f"among {top}" for top in TOPS[1:])]
    columns = [("right code", ""), KEY, *((name, "n") for name in head)]
    return Section("levels", "How often the right code is found, by level", columns, cells, notes)


def _confidence(named: _Named, word: str) -> Section:
    cells = []
    for key, figures in named:
        for each in figures.bins:
            if each.confidence is not None:
                tenth = f"{100 * each.low:.0f} to {100 * each.high:.0f} %"
                shares = map(percent, (each.confidence, each.right.value))
                cells.append([tenth, key, f"{each.right.rows:,}", *shares])
    columns = [("confidence", ""), KEY, ("rows", "n"), ("mean", "n"), (f"{word} first", "n")]
    return Section("confidence", "Is the confidence right?", columns, cells, for_page=True)


def _bands(named: _Named, word: str) -> Section:
    cells = [
        [band, key, *_cells(figures.bands[band])]
        for band in named[0][1].bands
        for key, figures in named
    ]
    notes = []
    for key, figures in named:
        whose, error = f" of {key}" * (len(named) > 1), figures.calibration_error
        notes.append(f"Confidence{whose} is off by {error:.3f} (expected calibration error).")
        if (worst := figures.worst_source) is not None:
            notes.append(
                f"Confidence{whose} is off by {worst.calibration_error:.3f} for "
                f"{readable(worst.name or '')} ({rows(worst.rows)}), the worst source with "
                f"{SOURCE_ROWS} rows or more."
            )
    word = word if named[0][1].verdicts else "right as far as stated"
    columns = [("codes", ""), KEY, (word, "n"), *COUNTED[1:]]
    return Section("bands", "Sure, likely and doubtful codes", columns, cells, notes)


def _coverage(named: _Named, word: str) -> Section:
    cells = []
    for wanted in WANTED:
        for key, figures in named:
            most, found = most_taken(figures.surest, wanted), ["-", "-", "-"]
            if most is not None:
                share = percent(most.rows / figures.curve[-1].right.rows)
                found = [share, f"{most.rows:,}", f"{most.confidence:.2f}"]
            cells.append([f"{100 * wanted:.0f} %", key, *found])
    numbers = [("share", "share"), ("rows go through", "n"), ("--min-confidence", "n")]
    columns = [(f"if so many must be {word}", ""), KEY, *numbers]
    return Section("coverage", "How many rows can go through without a look?", columns, cells)


def _curve(named: _Named, word: str) -> Section:
    cells = []
    for part in range(10, 101, 10):
        for key, figures in named:
            point = figures.curve[part - 1]
            shares = [percent(point.confidence), percent(point.right.value)]
            cells.append([f"{part} %", key, f"{point.right.rows:,}", *shares])
    numbers = [("rows", "n"), ("confidence from", "n"), (f"{word} first", "n")]
    columns = [("most confident", ""), KEY, *numbers]
    title = "Accuracy of the most confident rows"
    return Section("curve", title, columns, cells, for_page=True)


def _confused(named: _Named) -> Iterator[Section]:
    for level in named[0][1].confused:
        cells = []
        for key, figures in named:
            for pair in shown_pairs(figures.confused[level], PAIRS):
                both = ((pair.truth, pair.truth_title), (pair.answer, pair.answer_title))
                titled = [
                    f"{readable(code)} {readable(title, 90) or 'not in the code table'}"
                    for code, title in both
                ]
                cells.append([key, *titled, f"{pair.rows:,}"])
        columns = [KEY, ("right", "code"), ("answered first", "code"), ("rows", "n")]
        if cells:
            title = f"Most frequent confusions: {level}"
            yield Section(f"confused-{level.split()[0]}", title, columns, cells)


def _groups(
    kind: str, level: str, named: Sequence[tuple[str, Sequence[GroupFigures]]]
) -> Iterator[Section]:
    """Yield the figures by language or by source, if there are any; all subjects saw the same."""
    by_name = [(key, {each.name: each for each in groups}) for key, groups in named]
    names = list(by_name[0][1])
    cells = []
    for name in names[:GROUPS]:
        for key, groups in by_name:
            each = groups[name]
            shares = [*(each.top[top].value for top in TOPS), each.broad.value]
            shares += [each.unanswered.value, each.confidence]
            error = f"{each.calibration_error:.3f}"
            cells.append([group_name(name), key, f"{each.rows:,}", *map(percent, shares), error])
    more = len(names) - GROUPS
    notes = [f"And {more:,} more (--json has all)."] if more > 0 else []
    numbers = ["among 5", "among 10", level, "no answer", "confidence", "off by"]
    columns = [(kind, ""), KEY, ("rows", "n"), ("first", "share")]
    columns += [(name, "n") for name in numbers]
    if names:
        yield Section(kind, f"By {kind}", columns, cells, notes)
