"""The result of `pipeline.evaluate`: the findings as text, as JSON and as a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import nan

import pandas as pd

from pipeline.charts import WANTED, most_taken
from pipeline.checks import fraction
from pipeline.evaluation.findings import Evaluated, Findings
from pipeline.evaluation.metrics import (
    SOURCE_ROWS,
    TOPS,
    Figures,
    GroupFigures,
    Share,
    shown_depths,
    shown_pairs,
)
from pipeline.evaluation.page import page
from pipeline.evaluation.phrases import (
    difference_cells,
    flip_line,
    group_name,
    headline_shares,
    known_as,
    left_out_lines,
    no_answers,
    percent,
    rows,
    within,
)
from pipeline.money import plain
from pipeline.python_messages import reworded
from pipeline.quoting import readable
from pipeline.text_table import aligned

__all__ = ["Evaluation", "lines"]


LETTERS = ("A", "B")
PAIRS = 6
GROUPS = 12
SURE = (10, 25, 50, 75, 100)
"""The points of the accuracy curve that are printed, in per cent; the page has all."""


def lines(found: Findings) -> Iterator[str]:
    """Yield the lines of the report."""
    yield _basis(found)
    yield from left_out_lines(found.left_out)
    if found.comparison is not None:
        yield ""
        yield from _differences(found)
    for key, candidate in zip(LETTERS, found.subjects, strict=False):
        yield ""
        yield candidate.name if found.comparison is None else f"{key}: {candidate.name}"
        yield from _candidate(candidate)
    if found.suspects is not None:
        yield ""
        yield f"suspicious labels: {rows(len(found.suspects))}"
        yield (
            "A model agrees too often with the labels that it was trained on: check those with a "
            "model trained on other rows."
        )
    yield ""
    yield found.verdict


def _basis(found: Findings) -> str:
    drawn = ""
    if found.rows < found.left_out.usable:
        drawn = f", drawn from {found.left_out.usable:,} with seed {found.settings.seed}"
    return f"{found.settings.system}, {rows(found.rows)} of {found.table}{drawn}"


def _candidate(candidate: Evaluated) -> Iterator[str]:
    figures = candidate.figures
    if shares := headline_shares(figures):
        cells = _cells(shares.items())
        yield from aligned(["", "share", "95 % interval", "rows"], cells, numbers=3)
        yield ""
    yield from _accuracy(figures)
    answered = sum(figures.answer_levels.values())
    if answered:
        levels = [f"{name} {percent(n / answered)}" for name, n in figures.answer_levels.items()]
        yield f"levels of the best codes: {', '.join(levels)}"
    yield from _answered(candidate)
    yield ""
    yield from _confidence(candidate)
    yield from _confused(candidate)
    yield from _groups("language", figures.languages)
    yield from _groups("source", figures.sources)


def _accuracy(figures: Figures) -> Iterator[str]:
    more = TOPS[1:]
    cells = [
        [
            each.depth.name,
            percent(each.top[1].value),
            within(each.top[1]),
            *(percent(each.top[top].value) for top in more),
        ]
        for each in shown_depths(figures)
    ]
    header = ["right code", "first", "95 % interval", *(f"among {top}" for top in more)]
    yield from aligned(header, cells, numbers=4)


def _answered(candidate: Evaluated) -> Iterator[str]:
    without = no_answers(candidate.figures)
    if without:
        yield f"no answer: {without}"
    if candidate.cost is not None:
        usd = candidate.cost.answers_usd
        prices = "at prices that are partly unknown" if usd is None else f"worth {plain(usd)} USD"
        yield f"{candidate.cost.answers:,} answers {prices}"
        yield str(candidate.cost.paid)


def _cells(shares: Iterable[tuple[str, Share]]) -> list[list[str]]:
    """Return a line of a table for each share: what it is of, the share, and of how many rows."""
    return [
        [name, percent(share.value) if share.rows else "-", within(share), f"{share.rows:,}"]
        for name, share in shares
    ]


def _confidence(candidate: Evaluated) -> Iterator[str]:
    figures = candidate.figures
    curve = {point.percent: point.right for point in figures.curve}
    header = ["of the most confident", *(f"{percent_} %" for percent_ in SURE)]
    right = ["right first", *(percent(curve[percent_].value) for percent_ in SURE)]
    yield from aligned(header, [right], numbers=len(SURE))
    yield ""
    yield from _through(figures)
    yield ""
    header = ["band", known_as(figures), "95 % interval", "rows"]
    yield from aligned(header, _cells(figures.bands.items()), numbers=3)
    yield f"confidence is off by {figures.calibration_error:.3f} (expected calibration error)"
    worst = figures.worst_source
    if worst is not None:
        yield (
            f"confidence is off by {worst.calibration_error:.3f} for {readable(worst.name or '')} "
            f"({rows(worst.rows)}), the worst source with {SOURCE_ROWS} rows or more"
        )
    if figures.odd_confidences:
        count = rows(figures.odd_confidences)
        yield f"confidence outside 0 to 1, clipped: {count}"


def _through(figures: Figures) -> Iterator[str]:
    """Yield how many rows can go through without a look, by the accuracy that is wanted."""
    all_rows = figures.curve[-1].right.rows
    cells = []
    for wanted in WANTED:
        most = most_taken(figures.surest, wanted)
        found = ["-", "-", "-"]
        if most is not None:
            share = percent(most.rows / all_rows)
            found = [f"{most.rows:,}", share, f"{most.confidence:.2f}"]
        cells.append([f"{100 * wanted:.0f} %", *found])
    header = [
        f"if so many must be {'accepted' if figures.verdicts else 'right'}",
        "rows go through",
        "share",
        "--min-confidence",
    ]
    yield from aligned(header, cells, numbers=3)


def _confused(candidate: Evaluated) -> Iterator[str]:
    for level, pairs in candidate.figures.confused.items():
        if pairs:
            yield ""
            cells = [
                [
                    f"{pair.rows:,}".rjust(len("rows")),
                    *(pair.truth, readable(pair.truth_title)),
                    *(pair.answer, readable(pair.answer_title)),
                ]
                for pair in shown_pairs(pairs, PAIRS)
            ]
            yield from aligned(["rows", "right", f"({level})", "answered", ""], cells)


def _groups(kind: str, groups: Sequence[GroupFigures]) -> Iterator[str]:
    if not groups:
        return
    cells = [
        [
            group_name(each.name),
            f"{each.rows:,}",
            *(percent(each.top[top].value) for top in TOPS),
            percent(each.unanswered.value),
            percent(each.confidence),
            f"{each.calibration_error:.3f}",
        ]
        for each in groups[:GROUPS]
    ]
    header = [kind, "rows", "first", "among 5", "among 10", "no answer", "confidence", "off by"]
    yield ""
    yield from aligned(header, cells, numbers=7)
    if len(groups) > GROUPS:
        yield f"and {len(groups) - GROUPS} more (--json and --report have them)"


def _differences(found: Findings) -> Iterator[str]:
    yield from (f"{key}: {one.name}" for key, one in zip(LETTERS, found.subjects, strict=True))
    cells = list(difference_cells(found.differences()))
    header = ["right code first", *LETTERS, "points", "95 % interval", "McNemar"]
    yield from aligned(header, cells, numbers=5)
    if found.comparison is not None:
        yield flip_line(found.comparison.flips)


FRAME = '<iframe title="Evaluation" srcdoc="{}" style="width:100%;height:80vh;border:0"></iframe>'

COLUMNS = ["candidate", "accuracy", "min_confidence", "rows", "share", "right"]

NONE = (nan, 0, 0.0, nan)


@dataclass(frozen=True, repr=False)
class Evaluation(Findings):
    """The figures of one candidate on a labelled table, or of two on the same rows.

    ``str`` returns what the command line prints; a notebook shows the page.

    Attributes:
        settings: the system, the columns and the sample.
        table: the table's name.
        table_sha256: of its bytes; "" for a table in memory.
        edition: the edition of the code table.
        left_out: counts of the rows that were not evaluated.
        subjects: the candidates, one or two.
        comparison: how two candidates differ; None for one.
        suspects: the rows whose code is most likely wrong, the most suspicious first; None unless
            they were asked for.
    """

    def to_html(self) -> str:
        """Return a self-contained page with the figures and their charts."""
        return page(self)

    @reworded
    def coverage(self, accuracy: float | Sequence[float] = WANTED) -> pd.DataFrame:
        """Return how many rows can go through without a look, by the accuracy that you want.

        The columns are ``candidate``, ``accuracy`` (the one that you want), ``min_confidence``
        (which to pass to `classify`), ``rows`` (the most confident ones, down to that confidence),
        ``share`` (of all rows) and ``right`` (the share of these rows with exactly the right code
        first, or, with ``decisions``, one that is accepted). If no ten rows or more are as
        accurate, ``rows`` and ``share`` are 0 and the others NaN.

        Args:
            accuracy: one or several, from 0 to 1.

        Raises:
            SettingsError: an accuracy is something else, such as 90 for 90 %.
        """
        asked = accuracy if isinstance(accuracy, Iterable) else [accuracy]
        accuracies = [fraction("accuracy", each) for each in asked]
        found = []
        for candidate in self.subjects:
            points = candidate.figures.surest
            all_rows = candidate.figures.curve[-1].right.rows
            for wanted in accuracies:
                most = most_taken(points, wanted)
                figures = (
                    (most.confidence, most.rows, most.rows / all_rows, most.share) if most else NONE
                )
                found.append((candidate.name, wanted, *figures))
        return pd.DataFrame(found, columns=COLUMNS)

    def _repr_html_(self) -> str:
        return FRAME.format(escape(self.to_html()))

    def __str__(self) -> str:
        return "\n".join(lines(self))

    def __repr__(self) -> str:
        return str(self)
