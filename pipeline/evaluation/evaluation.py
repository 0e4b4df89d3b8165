"""The result of an evaluation, as text and as a page: an HTML file without scripts or network."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment
from markupsafe import Markup, escape

from pipeline.arguments import fraction, public
from pipeline.evaluation.dataset import LeftOut
from pipeline.evaluation.findings import Evaluated, Review, comparison_dict, encoded
from pipeline.evaluation.metrics import FEW, STATED
from pipeline.evaluation.sections import (
    LETTERS,
    Section,
    left_out_lines,
    right_word,
    rows,
    sections,
    threshold_sentence,
    verdict,
)
from pipeline.evaluation.settings import EvaluationSettings
from pipeline.evaluation.significance import Comparison
from pipeline.files.atomic import MarkedFile
from pipeline.money import plain
from pipeline.pages import WANTED, environment
from pipeline.wording import aligned, option, readable

OPTION = re.compile(r"--[a-z][a-z-]+( \d+)?")

MARK = "<!-- an evaluation by tender-pipeline -->"
"""The mark of a page of this tool, which the next one may replace."""


def page(evaluation: Evaluation) -> str:
    """Return the page as text."""
    figures = evaluation.subjects[0].figures
    return (
        _templates()
        .get_template("page.html.j2")
        .render(
            found=evaluation,
            named=list(zip("ab", evaluation.subjects, strict=False)),
            drawn=_drawn(evaluation),
            sections=list(sections(evaluation.subjects, evaluation.comparison, evaluation.review)),
            has_bars=evaluation.rows >= FEW,
            word=right_word(figures),
            level=figures.broad.name,
            full_code=figures.measured != STATED,
            notes=list(_notes(evaluation)),
        )
    )


def page_file(path: Path) -> MarkedFile:
    """Return where the page goes; it checks the place and writes the page."""
    return MarkedFile(path, MARK, option("report"))


@cache
def _templates() -> Environment:
    templates = environment("pipeline.evaluation")
    templates.filters |= {"glued": _glued, "usd": plain}
    return templates


def _glued(text: str) -> Markup:
    """Keep numbers and their signs on one line, and mark options."""
    glued = text.replace(" %", "\N{NO-BREAK SPACE}%")
    glued = glued.replace("p = ", "p\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")
    return Markup(OPTION.sub(r"<code>\g<0></code>", str(escape(glued))))  # noqa: S704 - it is escaped


def _drawn(evaluation: Evaluation) -> str:
    """Return from how many rows the sample was drawn; "" if all of them are evaluated."""
    if evaluation.rows == evaluation.left_out.usable:
        return ""
    return f", drawn from {evaluation.left_out.usable:,} with seed {evaluation.settings.seed}"


def _notes(evaluation: Evaluation) -> Iterator[str]:
    left_out = evaluation.left_out
    yield f"The table has {rows(left_out.rows)}; {left_out.usable:,} of them have text and code."
    yield from (f"{line[:1].upper()}{line[1:]}." for line in left_out_lines(left_out))
    for subject in evaluation.subjects:
        yield from subject.counted()
    if evaluation.settings.decisions:
        yield (
            "Right means that people accepted the code: the one they chose, any code below it, or "
            "one that they named besides. A text that no code fits counts as wrong. Doubtful texts "
            "are harder than the whole table."
        )
    yield (
        "Right as far as the label states: a label that ends with zeros states a division, a group "
        "or a class, and every code below it is right too. At a level, the leading digits are "
        "compared; a NAICS sector such as 31-33 is one."
    )
    yield (
        "Intervals of shares are Wilson's, those of differences Agresti and Min's, both at 95 %. "
        "They hold for tenders like these; other tenders may be easier or harder."
    )


def _lines(evaluation: Evaluation) -> Iterator[str]:
    """Yield the lines of the report; the conclusions come last, next to the prompt."""
    of_table = f"{rows(evaluation.rows)} of {evaluation.table}{_drawn(evaluation)}"
    yield f"{evaluation.settings.system}, {of_table}"
    yield from left_out_lines(evaluation.left_out)
    for key, subject in zip(LETTERS, evaluation.subjects, strict=False):
        yield subject.name if evaluation.comparison is None else f"{key}: {subject.name}"
    for section in sections(evaluation.subjects, evaluation.comparison, evaluation.review):
        yield ""
        yield section.title
        yield from _table(section)
        yield from section.notes
    yield ""
    for subject in evaluation.subjects:
        yield from subject.counted()
    yield from evaluation.conclusions


def _table(section: Section) -> Iterator[str]:
    kinds = [kind for _, kind in section.columns]
    cells = [
        [readable(cell) if kind == "code" else cell for kind, cell in zip(kinds, row, strict=True)]
        for row in section.rows
    ]
    for above, row in reversed(list(pairwise(cells))):
        if "key" in kinds[1:] and row[0] == above[0]:
            row[0] = ""  # the second subject's line about the same
    numbers = sum(kind in ("n", "share", "among") for kind in kinds)
    yield from aligned([name for name, _ in section.columns], cells, numbers)


FRAME = (
    '<iframe title="Evaluation" srcdoc="{}" style="width:100%;height:80vh;border:0" onload="'
    "this.style.height=this.contentDocument.documentElement.scrollHeight+'px'\"></iframe>"
)
"""The page in a notebook, as high as the page is; without scripts it scrolls."""


@dataclass(frozen=True, repr=False)
class Evaluation:
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
        review: what people did with the codes that they were shown; None without decisions that
            say which code was shown.
    """

    settings: EvaluationSettings
    table: str
    table_sha256: str
    edition: str
    left_out: LeftOut
    subjects: Sequence[Evaluated]
    comparison: Comparison | None = None
    review: Review | None = None

    @property
    def rows(self) -> int:
        """The rows that were evaluated."""
        return self.subjects[0].figures.rows

    @property
    def verdict(self) -> str:
        """The outcome in a few sentences."""
        names = [subject.name for subject in self.subjects]
        figures = [subject.figures for subject in self.subjects]
        sentences, level = [verdict(names, figures, self.comparison)], figures[0].broad.name
        if figures[0].measured == STATED:
            sentences.append(
                f"No label is deeper than a {level}, so every code of the right {level} counts as "
                "right; full codes cannot be judged."
            )
        sentences += [
            f"But {subject.name} was trained on the texts of {subject.learned:,} of the "
            f"{rows(self.rows)}, and repeats what it learned: evaluate it on other rows."
            for subject in self.subjects
            if subject.learned
        ]
        return " ".join(sentences)

    @property
    def conclusions(self) -> list[str]:
        """What follows from the figures, in plain words: a sentence or a few each."""
        alone = self.comparison is None
        threshold = [threshold_sentence(subject.figures) for subject in self.subjects if alone]
        return [*([str(self.review)] if self.review else []), self.verdict, *threshold]

    @property
    def corrections(self) -> Mapping[str, int]:
        """How many codes of corrected tables are ``changed``, ``confirmed``, ``unchanged``, ..."""
        return self.settings.decisions.counts

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON types, as docs/how-to/evaluate.md describes; money as text."""
        left_out: Mapping[str, Any] = {
            "without_text": self.left_out.without_text,
            "without_code": self.left_out.without_code,
            "no_codes": dict(self.left_out.no_codes.most_common()),
        }
        return {
            "system": self.settings.system,
            "edition": self.edition,
            "table": self.table,
            "table_sha256": self.table_sha256,
            "table_rows": self.left_out.rows,
            "left_out": left_out,
            "unknown_codes": dict(self.left_out.unknown.most_common()),
            "sample": self.settings.sample,
            "seed": self.settings.seed,
            "rows": self.rows,
            "verdict": self.verdict,
            "review": self.review and encoded(self.review),
            "subjects": [subject.to_dict() for subject in self.subjects],
            "comparison": self.comparison and comparison_dict(self.comparison),
        }

    def to_json(self) -> str:
        """Return the figures as JSON."""
        return json.dumps(self.to_dict())

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
        accuracies = [fraction("accuracy", value) for value in asked]
        lines = [
            {"subject": subject.name, **subject.figures.coverage(wanted)}
            for subject in self.subjects
            for wanted in accuracies
        ]
        return pd.DataFrame(lines).astype({"min_confidence": float, "right": float})

    def _repr_html_(self) -> str:
        return FRAME.format(escape(self.to_html()))

    def __str__(self) -> str:
        return "\n".join(_lines(self))

    def __repr__(self) -> str:
        return str(self)
