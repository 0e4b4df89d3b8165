"""Turns the figures into JSON types, in the shape that docs/how-to/evaluate.md describes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from decimal import Decimal
from typing import Any

from pipeline.evaluation.depths import Depth
from pipeline.evaluation.metrics import DepthFigures, Figures, GroupFigures, Share
from pipeline.evaluation.significance import Comparison
from pipeline.money import plain

__all__ = ["comparison_dict", "encoded", "figures_dict"]


def encoded(value: Any) -> Any:
    """Return a value as JSON types: money as text, a share with its interval."""
    match value:
        case None | str() | int() | float():
            return value
        case Decimal():
            return plain(value)
        case Depth():
            return value.name
        case Share():
            low, high = value.interval
            return {"hits": value.hits, "share": value.value, "low": low, "high": high}
        case Mapping():
            names = (f"top_{key}" if isinstance(key, int) else key for key in value)
            return dict(zip(names, map(encoded, value.values()), strict=True))
        case Sequence():
            return [encoded(each) for each in value]
        case _:
            return {each.name: encoded(getattr(value, each.name)) for each in fields(value)}


def figures_dict(figures: Figures) -> dict[str, Any]:
    """Return the figures of one candidate."""
    found: dict[str, Any] = encoded(figures)
    del found["depths"], found["bins"]
    return {
        **found,
        "accuracy": {each.depth.name: _accuracy(each) for each in figures.depths},
        "reliability": [
            {
                "from": each.low,
                "to": each.high,
                "rows": each.right.rows,
                "confidence": each.confidence,
                "right": encoded(each.right),
            }
            for each in figures.bins
        ],
        "curve": [{**encoded(each), "rows": each.right.rows} for each in figures.curve],
        "languages": [_group("language", each) for each in figures.languages],
        "sources": [_group("source", each) for each in figures.sources],
        "worst_source": figures.worst_source and _group("source", figures.worst_source),
    }


def comparison_dict(comparison: Comparison) -> dict[str, Any]:
    """Return what two candidates, "a" and "b", differ in."""
    flips = comparison.flips
    return {
        "better": comparison.better,
        "flips": {**encoded(flips), "neither": flips.neither, "rate": encoded(flips.rate)},
        "differences": [
            {
                "depth": each.depth.name,
                "top": each.top,
                "a_alone": each.only_a,
                "b_alone": each.only_b,
                "difference": each.value,
                "low": each.interval[0],
                "high": each.interval[1],
                "p": each.p,
            }
            for each in comparison.differences
        ],
        "paid": comparison.paid,
        "answers_usd": encoded(comparison.usd),
        "usd_per_right_code": encoded(comparison.usd_per_code),
    }


def _accuracy(found: DepthFigures) -> dict[str, Any]:
    digits = found.depth.digits
    return {"digits": digits if isinstance(digits, int) else None, **encoded(found.top)}


def _group(kind: str, group: GroupFigures) -> dict[str, Any]:
    found: dict[str, Any] = encoded(group)
    return {kind: found.pop("name"), "rows": group.rows, **found.pop("top"), **found}
