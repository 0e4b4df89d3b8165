"""The charts of the page: passes figures to `pipeline.charts` as numbers and labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
    reliability,
)
from pipeline.evaluation.findings import Evaluated
from pipeline.evaluation.metrics import TOPS, Figures, Share, shown_depths
from pipeline.evaluation.phrases import percent, within

__all__ = [
    "accuracy_by_level",
    "confidence_and_accuracy",
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
