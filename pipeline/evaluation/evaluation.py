"""The result of `pipeline.evaluate`: the findings as text, as JSON and as a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from math import nan

import pandas as pd

from pipeline.charts import WANTED, most_taken
from pipeline.checks import fraction
from pipeline.evaluation.findings import Findings
from pipeline.evaluation.page import page
from pipeline.evaluation.phrases import left_out_lines, rows
from pipeline.evaluation.sections import LETTERS, Section, sections
from pipeline.public import public
from pipeline.quoting import aligned, readable


def _lines(found: Findings) -> Iterator[str]:
    """Yield the lines of the report; the conclusions come last, next to the prompt."""
    drawn = ""
    if found.rows < found.left_out.usable:
        drawn = f", drawn from {found.left_out.usable:,} with seed {found.settings.seed}"
    yield f"{found.settings.system}, {rows(found.rows)} of {found.table}{drawn}"
    yield from left_out_lines(found.left_out)
    for key, subject in zip(LETTERS, found.subjects, strict=False):
        yield subject.name if found.comparison is None else f"{key}: {subject.name}"
    for section in sections(found):
        if not section.for_page:
            yield ""
            yield section.title
            yield from _table(section)
            yield from section.notes
    yield ""
    yield from found.counted()
    if found.suspects is not None:
        yield f"Suspicious labels: {rows(len(found.suspects))}."
        yield (
            "A model agrees too often with the labels that it was trained on: check those with a "
            "model trained on other rows."
        )
    yield from found.conclusions


def _table(section: Section) -> Iterator[str]:
    kinds = [kind for _, kind in section.columns]
    cells = [
        [readable(cell) if kind == "code" else cell for kind, cell in zip(kinds, row, strict=True)]
        for row in section.rows
    ]
    for above, row in reversed(list(pairwise(cells))):
        if "key" in kinds[1:] and row[0] == above[0]:
            row[0] = ""  # the second subject's line about the same
    numbers = sum(kind in ("n", "share") for kind in kinds)
    yield from aligned([name for name, _ in section.columns], cells, numbers)


FRAME = (
    '<iframe title="Evaluation" srcdoc="{}" style="width:100%;height:80vh;border:0" onload="'
    "this.style.height=this.contentDocument.documentElement.scrollHeight+'px'\"></iframe>"
)
"""The page in a notebook, as high as the page is; without scripts it scrolls."""

COLUMNS = ["subject", "accuracy", "min_confidence", "rows", "share", "right"]

NONE = (nan, 0, 0.0, nan)


@dataclass(frozen=True, repr=False)
class Evaluation(Findings):
    """The figures of one subject on a labelled table, or of two on the same rows.

    ``str`` returns what the command line prints; a notebook shows the page.

    Attributes:
        settings: the system, the columns and the sample.
        table: the table's name.
        table_sha256: of its bytes; "" for a table in memory.
        edition: the edition of the code table.
        left_out: counts of the rows that were not evaluated.
        subjects: what was evaluated, one or two.
        comparison: how two subjects differ; None for one.
        suspects: the rows whose code is most likely wrong, the most suspicious first; None unless
            they were asked for.
        review: what people did with the codes that they were shown; None without decisions that
            say which code was shown.
    """

    @property
    def corrections(self) -> Mapping[str, int]:
        """How many codes of corrected tables are ``changed``, ``confirmed``, ``unchanged``, ..."""
        return self.settings.decisions.counts

    def to_html(self) -> str:
        """Return a self-contained page with the figures and their charts."""
        return page(self)

    @public
    def coverage(self, accuracy: float | Sequence[float] = WANTED) -> pd.DataFrame:
        """Return how many rows can go through without a look, by the accuracy that you want.

        The columns are ``subject``, ``accuracy`` (the one that you want), ``min_confidence``
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
        for subject in self.subjects:
            points = subject.figures.surest
            all_rows = subject.figures.curve[-1].right.rows
            for wanted in accuracies:
                most = most_taken(points, wanted)
                figures = (
                    (most.confidence, most.rows, most.rows / all_rows, most.share) if most else NONE
                )
                found.append((subject.name, wanted, *figures))
        return pd.DataFrame(found, columns=COLUMNS)

    def _repr_html_(self) -> str:
        return FRAME.format(escape(self.to_html()))

    def __str__(self) -> str:
        return "\n".join(_lines(self))

    def __repr__(self) -> str:
        return str(self)
