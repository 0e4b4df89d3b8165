"""The page of an evaluation: one HTML file with its charts, without scripts or network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup

from pipeline.charts import (
    FEWEST,
    Bar,
    Bin,
    Curve,
    CurvePoint,
    bars,
    coverage,
    curves,
    environment,
    reliability,
)
from pipeline.evaluation.findings import Evaluated, Findings
from pipeline.evaluation.metrics import (
    SOURCE_ROWS,
    STATED,
    TOPS,
    Figures,
    GroupFigures,
    Share,
    broad,
    shown_depths,
    shown_pairs,
)
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
from pipeline.files.atomic import MarkedFile
from pipeline.money import plain
from pipeline.quoting import readable

__all__ = [
    "accuracy_by_level",
    "confidence_and_accuracy",
    "page",
    "page_file",
    "rows_without_a_look",
    "surest_rows",
]


QUARTERS = (25, 50, 75, 100)

Named = Sequence[tuple[str, Evaluated]]


def accuracy_by_level(named: Named, narrow: bool = False) -> Markup:
    """Draw how often the right code is found, by level, for candidates with their CSS classes.

    A narrow drawing is for a phone.
    """
    depths = {found.depth: None for _, each in named for found in shown_depths(each.figures)}
    groups = {}
    texts = []
    for depth in depths:
        groups[depth.name] = [_bar(style, each.figures.at(depth)) for style, each in named]
        for _, each in named:
            first = each.figures.at(depth)[1]
            right = f"{percent(first.value)} right first, {within(first)}"
            texts.append(f"{each.name}, {depth.name}: {right}.")
    return bars(
        groups,
        ("first", "among 5", "among 10"),
        title="How often the right code is found, by level",
        description=" ".join(texts),
        narrow=narrow,
    )


def confidence_and_accuracy(style: str, candidate: Evaluated) -> Markup:
    """Draw how often a candidate's codes are right, by their confidence."""
    return reliability(
        style,
        [
            Bin(
                low=each.low,
                confidence=each.confidence,
                share=each.right.value,
                interval=each.right.interval,
                rows=each.right.rows,
                text=f"confidence {each.low:.1f} to {each.high:.1f}: {each.right.rows:,} rows, "
                f"{percent(each.right.value)} right, {within(each.right)}",
            )
            for each in candidate.figures.bins
            if each.confidence is not None
        ],
        title=f"Confidence and accuracy: {candidate.name}",
        axes=("confidence, % (below: how many rows)", "right first, %"),
    )


def surest_rows(named: Named, narrow: bool = False) -> Markup:
    """Draw the accuracy of the most confident rows; for a phone, if it should be narrow."""
    drawn = [Curve(style, _points(each.figures)) for style, each in named]
    texts = [
        f"{each.name}: the most confident quarter, half, three quarters and all of the rows are "
        f"right for {', '.join(point.text for point in curve.points if point.text)}."
        for (_, each), curve in zip(named, drawn, strict=True)
    ]
    return curves(
        drawn,
        title="Accuracy of the most confident rows",
        description=" ".join(texts),
        axes=("share of the rows taken, the most confident first, %", "right first, %"),
        narrow=narrow,
    )


def rows_without_a_look(style: str, candidate: Evaluated) -> Markup:
    """Draw how many rows can go through without a look, by the accuracy that is wanted."""
    return coverage(candidate.figures.surest, candidate.figures.curve[-1].right.rows, style=style)


def _bar(style: str, top: Mapping[int, Share]) -> Bar:
    shares = [top[most].value for most in TOPS]
    return Bar(style, shares, [percent(share) for share in shares], top[1].interval)


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


MARK = "<!-- an evaluation by tender-pipeline -->"
"""The mark of a page of this tool, which the next one may replace."""


@dataclass(frozen=True, slots=True)
class _Group:
    name: str
    rows: int
    figures: Sequence[tuple[str, GroupFigures]]


def page(found: Findings) -> str:
    """Return the page as text."""
    candidates = [candidate.figures for candidate in found.subjects]
    named = list(zip("ab", found.subjects, strict=False))
    return (
        _templates()
        .get_template("page.html.j2")
        .render(
            found=found,
            named=named,
            names={key: candidate.name for key, candidate in named},
            drawn=_drawn(found),
            levels=accuracy_by_level(named),
            narrow_levels=accuracy_by_level(named, narrow=True),
            reliability={key: confidence_and_accuracy(key, each) for key, each in named},
            surest=surest_rows(named),
            narrow_surest=surest_rows(named, narrow=True),
            through={key: rows_without_a_look(key, each) for key, each in named},
            broad=broad(found.settings.system).name,
            broadest=candidates[0].depths[-1].depth.name,
            differences=list(difference_cells(found.differences())),
            headlines=_headlines(found),
            full_code=candidates[0].measured != STATED,
            known=known_as(candidates[0]),
            flips=found.comparison and flip_line(found.comparison.flips),
            groups=_groups(named),
            source_rows=SOURCE_ROWS,
            notes=list(_notes(found)),
        )
    )


def page_file(path: Path) -> MarkedFile:
    """Return where the page goes; it checks the place and writes the page."""
    return MarkedFile(path, MARK, "--report")


@cache
def _templates() -> Environment:
    templates = environment("pipeline.evaluation")
    templates.filters |= {
        "percent": percent,
        "within": lambda share: _glued(within(share)),
        "readable": readable,
        "usd": plain,
        "shown_pairs": shown_pairs,
        "glued": _glued,
    }
    return templates


def _glued(text: str) -> str:
    """Keep numbers and their signs on one line."""
    return text.replace(" %", "\N{NO-BREAK SPACE}%").replace(
        "p = ", "p\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}"
    )


def _drawn(found: Findings) -> str:
    if found.rows == found.left_out.usable:
        return f"all {found.rows:,} with text and code"
    return f"{found.rows:,} drawn from {found.left_out.usable:,}, seed {found.settings.seed}"


def _headlines(found: Findings) -> list[tuple[str, Sequence[Share]]]:
    """Return the names of the figures that come first, each with those of all candidates."""
    shares = [headline_shares(candidate.figures) for candidate in found.subjects]
    names = dict.fromkeys(name for each in shares for name in each)
    return [(name, [each.get(name, Share(0, found.rows)) for each in shares]) for name in names]


def _groups(named: Sequence[tuple[str, Evaluated]]) -> Iterator[tuple[str, list[_Group]]]:
    """Yield the figures by language and by source, if there are any."""
    languages = [(key, candidate.figures.languages) for key, candidate in named]
    sources = [(key, candidate.figures.sources) for key, candidate in named]
    for kind, groups in (("language", languages), ("source", sources)):
        if found := _together(groups):
            yield kind, found


def _together(groups: Sequence[tuple[str, Sequence[GroupFigures]]]) -> list[_Group]:
    """Return the figures of all candidates in each group; all of them saw the same rows."""
    by_name = [(key, {each.name: each for each in own}) for key, own in groups]
    _, first = groups[0]
    return [
        _Group(group_name(one.name), one.rows, [(key, own[one.name]) for key, own in by_name])
        for one in first
    ]


def _notes(found: Findings) -> Iterator[str]:
    left_out = found.left_out
    yield f"The table has {rows(left_out.rows)}; {left_out.usable:,} of them have text and code."
    yield from (f"{line[:1].upper()}{line[1:]}." for line in left_out_lines(left_out))
    for candidate in found.subjects:
        without = no_answers(candidate.figures)
        if without:
            yield f"No answer from {candidate.name}: {without}. It counts as wrong."
        if candidate.figures.odd_confidences:
            odd = rows(candidate.figures.odd_confidences)
            yield f"Confidence of {candidate.name} outside 0 to 1, clipped: {odd}."
    if found.settings.decisions:
        yield (
            "Right means that people accepted the code: the one they chose, any code below it, or "
            "one that they named besides. A text that no code fits counts as wrong."
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
