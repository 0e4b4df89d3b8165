"""The result of `pipeline.evaluate`: the findings as text, as JSON and as a page."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from pipeline.evaluation.findings import Findings
from pipeline.evaluation.page import page
from pipeline.evaluation.text import lines

__all__ = ["Evaluation"]

FRAME = '<iframe title="Evaluation" srcdoc="{}" style="width:100%;height:80vh;border:0"></iframe>'


@dataclass(frozen=True, repr=False)
class Evaluation(Findings):
    """The figures of one candidate on a labelled table, or of two on the same rows.

    ``str`` returns what the command line prints; a notebook shows the page.
    """

    def to_html(self) -> str:
        """Return a self-contained page with the figures and their charts."""
        return page(self)

    def _repr_html_(self) -> str:
        return FRAME.format(escape(self.to_html()))

    def __str__(self) -> str:
        return "\n".join(lines(self))

    def __repr__(self) -> str:
        return str(self)
