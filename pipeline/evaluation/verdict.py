"""Words the outcome of an evaluation in a sentence or two."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.evaluation.metrics import Figures, Headline
from pipeline.evaluation.phrases import p_value, percent, points, price, rows
from pipeline.evaluation.significance import Comparison, Difference

__all__ = ["caveat", "verdict"]


def verdict(names: Sequence[str], figures: Sequence[Figures], comparison: Comparison | None) -> str:
    """Return how good one candidate is, or which of two is better and what that costs."""
    if comparison is None:
        (one,) = figures
        if one.headline is not None and one.headline.specific.rows:
            return _headline(names[0], one.headline)
        right = one.right
        return (
            f"{_capital(names[0])} gives the right code first for {percent(right[1].value)} of "
            f"{rows(one.rows)}, and has it among its first ten for {percent(right[10].value)}."
        )
    return " ".join(filter(None, [_difference(names, figures, comparison), _price(comparison)]))


def caveat(name: str, learned: int, all_rows: int) -> str:
    """Return why the figures of a model are too good."""
    return (
        f"But {name} was trained on the texts of {learned:,} of the {rows(all_rows)}, and repeats "
        "what it learned: evaluate it on other rows."
    )


def _headline(name: str, found: Headline) -> str:
    bare = percent(found.bare.value)
    general = "" if bare == percent(0) else f"; {bare} of its codes are a bare {found.level}"
    return (
        f"{_capital(name)} is exactly right for {percent(found.specific.value)} of "
        f"{rows(found.specific.rows)} whose label is deeper than a {found.level}, and right as "
        f"far as the label states for {percent(found.stated.value)} of {rows(found.stated.rows)}"
        f"{general}."
    )


def _difference(names: Sequence[str], figures: Sequence[Figures], comparison: Comparison) -> str:
    first = comparison.first
    shares = [percent(each.right[1].value) for each in figures]
    on = f"the same {rows(first.rows)}"
    if not first.only_a and not first.only_b:
        same = f"are right for the same {shares[0]} of {rows(first.rows)}"
        return f"{_capital(names[0])} and {names[1]} {same}: neither is better."
    best, other = (1, 0) if first.value > 0 else (0, 1)
    by = f"{abs(100 * first.value):.1f} points"
    if comparison.better is None:
        return (
            f"The difference between {names[0]} ({shares[0]} right) and {names[1]} "
            f"({shares[1]} right) is not significant: {by} on {on} may be chance "
            f"({_significance(first)})."
        )
    return (
        f"{_capital(names[best])} is better than {names[other]}: it gives the right code first for "
        f"{shares[best]} instead of {shares[other]} of {on}, a difference of {by} "
        f"({_significance(first)})."
    )


def _significance(first: Difference) -> str:
    """Return the interval of the absolute difference, and McNemar's test."""
    low, high = first.interval
    if first.value < 0:
        low, high = -high, -low
    ends = f"{points(low).lstrip('+')} to {points(high).lstrip('+')}"
    return f"95 % interval {ends}, {p_value(first.p)}"


def _price(comparison: Comparison) -> str:
    if comparison.paid is None:
        return ""
    if comparison.usd is None:
        return "The cost of the paid answers is unknown: some responses stated no price."
    spent = price(comparison.usd)
    each = comparison.usd_per_code
    if each is None:
        return f"The paid answers cost {spent} and brought no additional right code."
    if comparison.better is None:
        return f"If the difference is real, each additional right code costs about {price(each)}."
    return f"Each additional right code costs {price(each)}; all paid answers cost {spent}."


def _capital(name: str) -> str:
    """Return a name with a capital for the start of a sentence; an address stays unchanged."""
    return name[:1].upper() + name[1:] if "://" not in name else name
