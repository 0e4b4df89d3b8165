"""What an evaluation says, in sentences and in tables, which the terminal and the page draw."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeVar

from pipeline.evaluation.dataset import LeftOut
from pipeline.evaluation.findings import Evaluated, Review
from pipeline.evaluation.metrics import (
    FEW,
    STATED,
    TOPS,
    Bin,
    Figures,
    GroupFigures,
    Pair,
    Share,
    percent,
    shown_depths,
)
from pipeline.evaluation.significance import Comparison, Difference
from pipeline.money import plain
from pipeline.pages import WANTED, most_taken
from pipeline.wording import first_of, how_many, readable


def _part_of(share: Share, noun: str = "row") -> str:
    """Write a share and of what it is: ``41.3 % of 121 rows``, ``2 of 3 rows``."""
    end = f" of {share.rows:,}" if share.rows >= FEW else ""
    return f"{share}{end} {noun if share.rows == 1 else f'{noun}s'}"


def _within(share: Share) -> str:
    """Write the interval of a share: ``34.4 to 47.9 %``; ``-`` for few rows."""
    if share.rows < FEW:
        return "-"
    low, high = share.interval
    return f"{100 * low:.1f} to {percent(high)}"


def _points(difference: float) -> str:
    """Write a difference of two shares in points, with its sign: ``+21.0``."""
    signed = f"{100 * difference:+.1f}"
    return "0.0" if float(signed) == 0 else signed.replace("-", "\N{MINUS SIGN}")


def _p_value(p: float) -> str:
    """Write a probability: ``p = 0.031``, ``p < 0.0001``."""
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}"


def _usd(amount: Decimal) -> str:
    """Write a computed amount: ``0.00052 USD``."""
    digits = f"{amount:.2g}" if amount < 1 else f"{amount:.2f}"
    return f"{plain(Decimal(digits))} USD"


def rows(number: int) -> str:
    """Write a number of rows."""
    return how_many(number, "row")


NAMED = 10
"""Malformed or unknown codes that are listed."""


def left_out_lines(left_out: LeftOut) -> Iterator[str]:
    """Yield the counts of the rows that are skipped, and of the unknown codes."""
    if left_out.without_text:
        yield f"skipped, no text: {rows(left_out.without_text)}"
    if left_out.without_code:
        yield f"skipped, no code: {rows(left_out.without_code)}"
    if left_out.no_codes:
        count = rows(left_out.no_codes.total())
        yield f"skipped, malformed code: {count}: {_named(left_out.no_codes)}"
    if left_out.unknown:
        count = rows(left_out.unknown.total())
        yield f"not in the code table, judged by level: {count}: {_named(left_out.unknown)}"


def _named(codes: Mapping[str, int]) -> str:
    most = sorted(codes.items(), key=lambda counted: (-counted[1], counted[0]))
    return first_of([f"{readable(code)} ({count:,})" for code, count in most], NAMED)


def _headline_shares(figures: Figures) -> dict[str, Share]:
    """Return the figures that come first, by what they are called."""
    right, broad = figures.right, figures.broad
    division = {f"right {broad.name}": figures.depths[broad][1]}
    if figures.verdicts is not None:
        among = {"accepted among the first ten": right[10]}
        general, wrong = figures.verdicts["general"], figures.verdicts["wrong"]
        others = {**among, **division, "right, but too general": general, "wrong": wrong}
        return {"first code accepted": figures.verdicts["accepted"], **others}
    among = {f"{figures.measured.name} among the first ten": right[10]}
    if figures.specific is None or figures.bare is None:
        return {f"{figures.measured.name} first": right[1], **among, **division}
    return {
        f"exactly right, label deeper than a {broad.name}": figures.specific,
        "right as far as the label states": figures.depths[STATED][1],
        **among,
        **division,
        f"best code is a bare {broad.name}": figures.bare,
    }


def right_word(figures: Figures) -> str:
    """Return what a code is that counts as right."""
    return "accepted" if figures.verdicts else "right"


def verdict(names: Sequence[str], figures: Sequence[Figures], comparison: Comparison | None) -> str:
    """Return how good one subject is, or which of two is better and what that costs."""
    if comparison is None:
        (alone,) = figures
        if alone.verdicts is not None:
            return _accepted(names[0], alone)
        if alone.specific is not None and alone.bare is not None and alone.specific.rows:
            return _exactly(names[0], alone, alone.specific, alone.bare)
        right = alone.right
        return (
            f"{_capital(names[0])} gives the right code first for {_part_of(right[1])}, has it "
            f"among its first ten for {right[10]}, and gives the right "
            f"{alone.broad.name} for {alone.depths[alone.broad][1]}."
        )
    return " ".join(filter(None, [_difference(names, figures, comparison), _price(comparison)]))


def threshold_sentence(figures: Figures) -> str:
    """Return from which confidence rows can go through without a look, and how many do."""
    word, all_rows = right_word(figures), figures.judged
    for accuracy in WANTED[1:]:
        most = most_taken(figures.surest, accuracy)
        if most is not None:
            return (
                f"Let rows through from a confidence of {most.confidence:.2f} to have "
                f"{100 * accuracy:.0f} % of their codes {word}: {most.rows:,} of {rows(all_rows)} "
                f"({percent(most.rows / all_rows)})."
            )
    if not figures.surest:
        return f"{rows(all_rows)} cannot show from which confidence rows can go through."
    return (
        f"However high the confidence, fewer than half of the codes are {word}: look at every row."
    )


def _accepted(name: str, figures: Figures) -> str:
    accepted = (figures.verdicts or {})["accepted"]
    return (
        f"{_capital(name)}: the first code is accepted for {_part_of(accepted)}, and one of the "
        f"first ten for {figures.right[10]}; the {figures.broad.name} is right for "
        f"{figures.depths[figures.broad][1]}."
    )


def _exactly(name: str, figures: Figures, specific: Share, bare: Share) -> str:
    level, stated = figures.broad.name, figures.depths[STATED][1]
    bares = f"; {_part_of(bare, 'code')} are a bare {level}" if bare.hits else ""
    return (
        f"{_capital(name)} is exactly right for {_part_of(specific)} whose label is deeper than a "
        f"{level}, and right as far as the label states for {_part_of(stated)}; the {level} is "
        f"right for {figures.depths[figures.broad][1]}, and the {figures.measured.name} is "
        f"among the first ten for {figures.right[10]}{bares}."
    )


def _difference(names: Sequence[str], figures: Sequence[Figures], comparison: Comparison) -> str:
    first = comparison.first
    right = [subject.right[1] for subject in figures]
    shares = [str(share.hits) if share.rows < FEW else percent(share.value) for share in right]
    on = f"the same {rows(first.rows)}"
    if not first.only_a and not first.only_b:
        same = f"are right for the same {shares[0]} of {rows(first.rows)}"
        return f"{_capital(names[0])} and {names[1]} {same}: neither is better."
    best, other = (1, 0) if first.value > 0 else (0, 1)
    by = f"{abs(100 * first.value):.1f} points"
    if comparison.better is None:
        return (
            f"The difference between {names[0]} ({shares[0]} right) and {names[1]} "
            f"({shares[1]} right) is not significant: {by} on {on} may be chance "
            f"({_significance(first)})."
        )
    return (
        f"{_capital(names[best])} is better than {names[other]}: it gives the right code first for "
        f"{shares[best]} instead of {shares[other]} of {on}, a difference of {by} "
        f"({_significance(first)})."
    )


def _significance(first: Difference) -> str:
    """Return the interval of the absolute difference, and McNemar's test."""
    low, high = first.interval
    if first.value < 0:
        low, high = -high, -low
    ends = f"{_points(low).lstrip('+')} to {_points(high).lstrip('+')}"
    return f"95 % interval {ends}, {_p_value(first.p)}"


def _price(comparison: Comparison) -> str:
    if comparison.paid is None:
        return ""
    if comparison.usd is None:
        return "The cost of the paid answers is unknown: some responses stated no price."
    spent = _usd(comparison.usd)
    usd = comparison.usd_per_code
    if usd is None:
        return f"The paid answers cost {spent} and brought no additional right code."
    if comparison.better is None:
        return f"If the difference is real, each additional right code costs about {_usd(usd)}."
    return f"Each additional right code costs {_usd(usd)}; all paid answers cost {spent}."


def _capital(name: str) -> str:
    """Return a name with a capital for the start of a sentence; an address stays unchanged."""
    return name[:1].upper() + name[1:] if "://" not in name else name


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
    shares = {name: name for _, each in named for name in _headline_shares(each)}
    cells = _rows(named, shares, lambda one, name: _cells(_headline_shares(one).get(name, NONE)))
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
    return [
        [name, *key, *cells(subject, line)]
        for name, line in lines.items()
        for key, subject in named
    ]


def _cells(share: Share) -> list[str]:
    """Return a share, its interval, and of how many rows it is."""
    return [str(share), _within(share), f"{share.rows:,}"]


def _differences(named: _Named, comparison: Comparison) -> Iterator[list[str]]:
    """Yield how two subjects differ at the depths to show."""
    shown = {depth for _, difference in named for depth in shown_depths(difference)}
    for difference in comparison.differences:
        if difference.depth in shown:
            both = [str(subject.depths[difference.depth][1]) for _, subject in named]
            low, high = difference.interval
            interval = f"{_points(low)} to {_points(high)}"
            yield [
                difference.depth.name,
                *both,
                _points(difference.value),
                interval,
                _p_value(difference.p),
            ]


def _level(top: Mapping[int, Share]) -> list[str]:
    first, *others = (top[most] for most in TOPS)
    return [str(first), _within(first), *map(str, others)]


def _bin(bin_: Bin) -> list[str]:
    return [f"{bin_.right.rows:,}", percent(bin_.confidence or 0), str(bin_.right)]


def _through(figures: Figures, accuracy: float) -> list[str]:
    """Return how many rows reach an accuracy, and from which confidence."""
    most = most_taken(figures.surest, accuracy)
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
        [readable(source.name) or "not named", *key, *_group(subject.sources[at])]
        for at, source in enumerate(sources[:GROUPS])
        for key, subject in named
    ]
    unshown = len(sources) - GROUPS
    notes = [f"And {unshown:,} more (--json has all)."] if unshown > 0 else []
    numbers = ["among 5", "among 10", level, "confidence"]
    columns = [("source", ""), *keys, ("rows", "n"), ("first", "share")]
    columns += [(name, "n") for name in numbers]
    if cells:
        yield Section("source", "By source", columns, cells, notes)


def _group(group: GroupFigures) -> list[str]:
    shares = [*(group.top[top] for top in TOPS), group.broad]
    return [f"{group.broad.rows:,}", *map(str, shares), percent(group.confidence)]
