"""The page of an evaluation: one HTML file with its charts, without scripts or network."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup, escape

from pipeline.charts import (
    FEWEST,
    Bar,
    Bin,
    Curve,
    CurvePoint,
    bars,
    curves,
    environment,
    reliability,
)
from pipeline.evaluation.findings import Evaluated, Findings
from pipeline.evaluation.metrics import SOURCE_ROWS, STATED, TOPS, Figures, Share, shown_depths
from pipeline.evaluation.phrases import left_out_lines, part, percent, right_word, rows, within
from pipeline.evaluation.sections import Section, sections
from pipeline.files.atomic import MarkedFile
from pipeline.money import plain
from pipeline.wording import option

QUARTERS = (25, 50, 75, 100)

Named = Sequence[tuple[str, Evaluated]]


def _accuracy_by_level(named: Named, section: Section, narrow: bool = False) -> Markup:
    """Draw how often the right code is found, by level, for subjects with their CSS classes.

    A narrow drawing is for a phone.
    """
    depths = {found.depth: None for _, each in named for found in shown_depths(each.figures)}
    groups = {
        depth.name: [_bar(style, each.figures.at(depth)) for style, each in named]
        for depth in depths
    }
    columns = ("first", "among 5", "among 10")
    return bars(groups, columns, title=section.title, description=section.words, narrow=narrow)


def _confidence_and_accuracy(style: str, subject: Evaluated) -> Markup:
    """Draw how often a subject's codes are right, by their confidence."""
    return reliability(
        style,
        [
            Bin(
                low=each.low,
                confidence=each.confidence,
                share=each.right.value,
                interval=each.right.interval,
                rows=each.right.rows,
                text=f"confidence {each.name}: {rows(each.right.rows)}, "
                f"{percent(each.right.value)} right, {within(each.right)}",
            )
            for each in subject.figures.bins
            if each.confidence is not None
        ],
        title=f"Confidence and accuracy: {subject.name}",
        axes=("confidence, % (below: how many rows)", "right first, %"),
    )


def _surest_rows(named: Named, section: Section, narrow: bool = False) -> Markup:
    """Draw the accuracy of the most confident rows; for a phone, if it should be narrow."""
    return curves(
        [Curve(style, _points(each.figures)) for style, each in named],
        title=section.title,
        description=section.words,
        axes=("share of the rows taken, the most confident first, %", "right first, %"),
        narrow=narrow,
    )


def _bar(style: str, top: Mapping[int, Share]) -> Bar:
    shares = [top[most] for most in TOPS]
    return Bar(style, [each.value for each in shares], [*map(part, shares)], top[1].interval)


def _points(figures: Figures) -> list[CurvePoint]:
    drawn = [each for each in figures.curve if each.right.rows >= FEWEST] or [figures.curve[-1]]
    return [
        CurvePoint(
            point.percent / 100,
            point.right.value,
            point.right.interval,
            percent(point.right.value) if point.percent in QUARTERS else None,
        )
        for point in drawn
    ]


OPTION = re.compile(r"--[a-z][a-z-]+( \d+)?")

MARK = "<!-- an evaluation by tender-pipeline -->"
"""The mark of a page of this tool, which the next one may replace."""


def page(found: Findings) -> str:
    """Return the page as text."""
    named = list(zip("ab", found.subjects, strict=False))
    figures, shown = found.subjects[0].figures, sections(found)
    return (
        _templates()
        .get_template("page.html.j2")
        .render(
            found=found,
            named=named,
            drawn=_drawn(found),
            sections=shown,
            charts=_charts(named, {each.name: each for each in shown}),
            word=right_word(figures),
            level=figures.broad.depth.name,
            full_code=figures.measured != STATED,
            source_rows=SOURCE_ROWS,
            notes=list(_notes(found)),
        )
    )


def _charts(named: Named, shown: Mapping[str, Section]) -> dict[str, tuple[Markup, Markup | None]]:
    """Return the chart of each section that has one, and how it is drawn for a phone."""
    levels, curve = shown["levels"], shown["curve"]
    confidence = Markup("").join(_confidence_and_accuracy(*each) for each in named)
    return {
        "levels": (
            _accuracy_by_level(named, levels),
            _accuracy_by_level(named, levels, narrow=True),
        ),
        "confidence": (confidence, None),
        "curve": (_surest_rows(named, curve), _surest_rows(named, curve, narrow=True)),
    }


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


def _drawn(found: Findings) -> str:
    if found.rows == found.left_out.usable:
        return f"all {found.rows:,} with text and code"
    return f"{found.rows:,} drawn from {found.left_out.usable:,}, seed {found.settings.seed}"


def _notes(found: Findings) -> Iterator[str]:
    left_out = found.left_out
    yield f"The table has {rows(left_out.rows)}; {left_out.usable:,} of them have text and code."
    yield from (f"{line[:1].upper()}{line[1:]}." for line in left_out_lines(left_out))
    yield from found.counted()
    if found.settings.decisions:
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
