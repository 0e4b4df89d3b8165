"""The result of `pipeline.evaluate`: the findings as text, as JSON and as a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from math import nan

import pandas as pd

from pipeline.charts import WANTED, most_taken
from pipeline.checks import fraction
from pipeline.evaluation.findings import Findings
from pipeline.evaluation.page import page
from pipeline.evaluation.text import lines
from pipeline.python_messages import reworded

__all__ = ["Evaluation"]

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
