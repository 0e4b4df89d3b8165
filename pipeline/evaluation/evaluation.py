"""What `pipeline.evaluate` returns: the findings, for people, for programs and as a page."""

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
    """How good one subject is on a labelled table, or two of them on the same rows.

    Its text is what the command line prints; in a notebook it shows its page.
    """

    def to_html(self) -> str:
        """Return a page with the figures and their plots, complete in itself."""
        return page(self)

    def _repr_html_(self) -> str:
        return FRAME.format(escape(self.to_html()))

    def __str__(self) -> str:
        return "\n".join(lines(self))

    def __repr__(self) -> str:
        return str(self)
