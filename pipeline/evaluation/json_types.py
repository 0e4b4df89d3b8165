"""The figures as JSON types, in the shape that the README describes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pipeline.evaluation.metrics import Bin, Figures, LanguageFigures, Point
from pipeline.evaluation.shares import Share
from pipeline.evaluation.significance import Comparison, Difference
from pipeline.money import plain

__all__ = ["comparison_dict", "figures_dict"]


def figures_dict(figures: Figures) -> dict[str, Any]:
    """Return the figures of one subject."""
    return {
        "rows": figures.rows,
        "unanswered": figures.unanswered.to_dict(),
        "statuses": dict(figures.statuses),
        "accuracy": {
            found.depth.name: {"digits": max(0, found.depth.digits) or None, **_top(found.top)}
            for found in figures.depths
        },
        "calibration_error": figures.calibration_error,
        "odd_confidences": figures.odd_confidences,
        "reliability": [_bin(each) for each in figures.bins],
        "curve": [_point(each) for each in figures.curve],
        "confused": {
            name: [asdict(pair) for pair in pairs] for name, pairs in figures.confused.items()
        },
        "languages": [_language(each) for each in figures.languages],
    }


def comparison_dict(comparison: Comparison) -> dict[str, Any]:
    """Return what two subjects, "a" and "b", differ in."""
    usd, by_code = comparison.usd, comparison.usd_per_code
    return {
        "better": comparison.better,
        "differences": [_difference(each) for each in comparison.differences],
        "paid": comparison.paid,
        "answers_usd": None if usd is None else plain(usd),
        "usd_per_right_code": None if by_code is None else plain(by_code),
    }


def _top(top: Mapping[int, Share]) -> dict[str, Any]:
    return {f"top_{most}": share.to_dict() for most, share in top.items()}


def _bin(found: Bin) -> dict[str, Any]:
    return {
        "from": found.low,
        "to": found.high,
        "rows": found.right.rows,
        "confidence": found.confidence,
        "right": found.right.to_dict(),
    }


def _point(found: Point) -> dict[str, Any]:
    return {
        "percent": found.percent,
        "rows": found.right.rows,
        "confidence": found.confidence,
        "right": found.right.to_dict(),
    }


def _language(found: LanguageFigures) -> dict[str, Any]:
    return {
        "language": found.language,
        "rows": found.unanswered.rows,
        **_top(found.top),
        "broad": found.broad.to_dict(),
        "unanswered": found.unanswered.to_dict(),
    }


def _difference(found: Difference) -> dict[str, Any]:
    low, high = found.interval
    return {
        "depth": found.depth.name,
        "top": found.top,
        "a_alone": found.only_a,
        "b_alone": found.only_b,
        "difference": found.value,
        "low": low,
        "high": high,
        "p": found.p,
    }
