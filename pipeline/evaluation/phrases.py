"""Numbers and phrases that the reports of an evaluation share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

from pipeline.evaluation.dataset import LeftOut
from pipeline.evaluation.metrics import Figures, Headline, Share
from pipeline.evaluation.significance import Difference, Flips
from pipeline.money import plain
from pipeline.quoting import how_many, readable

__all__ = [
    "difference_cells",
    "flip_line",
    "group_name",
    "headline_shares",
    "left_out_lines",
    "no_answers",
    "p_value",
    "percent",
    "points",
    "price",
    "rows",
    "within",
]


def percent(share: float) -> str:
    """Write a share: ``41.3 %``."""
    return f"{share:.1%}".replace("%", " %")


def within(share: Share) -> str:
    """Write the interval of a share: ``34.4 to 47.9 %``; ``-`` for no rows."""
    if not share.rows:
        return "-"
    low, high = share.interval
    return f"{100 * low:.1f} to {percent(high)}"


def points(difference: float) -> str:
    """Write a difference of two shares in points, with its sign: ``+21.0``."""
    points = f"{100 * difference:+.1f}"
    return "0.0" if float(points) == 0 else points.replace("-", "\N{MINUS SIGN}")


def p_value(p: float) -> str:
    """Write a probability: ``p = 0.031``, ``p < 0.0001``."""
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}"


def price(amount: Decimal) -> str:
    """Write a computed amount: ``0.00052 USD``."""
    digits = f"{amount:.2g}" if amount < 1 else f"{amount:.2f}"
    return f"{plain(Decimal(digits))} USD"


def rows(number: int) -> str:
    """Write a number of rows."""
    return how_many(number, "row")


NAMED = 10
"""Malformed or unknown codes that are listed."""


def left_out_lines(left_out: LeftOut) -> Iterator[str]:
    """Yield the counts of the rows that are skipped, and of the unknown codes."""
    if left_out.without_text:
        yield f"skipped, no text: {rows(left_out.without_text)}"
    if left_out.without_code:
        yield f"skipped, no code: {rows(left_out.without_code)}"
    if left_out.no_codes:
        count = rows(left_out.no_codes.total())
        yield f"skipped, malformed code: {count}: {_named(left_out.no_codes)}"
    if left_out.unknown:
        count = rows(left_out.unknown.total())
        yield f"not in the code table, judged by level: {count}: {_named(left_out.unknown)}"


def _named(codes: Mapping[str, int]) -> str:
    most = sorted(codes.items(), key=lambda found: (-found[1], found[0]))
    named = ", ".join(f"{readable(code)} ({count:,})" for code, count in most[:NAMED])
    return named + (f" and {len(most) - NAMED:,} more" if len(most) > NAMED else "")


def headline_shares(found: Headline) -> dict[str, Share]:
    """Return the three figures that come first, by what they are called."""
    return {
        f"exactly right, label deeper than a {found.level}": found.specific,
        "right as far as the label states": found.stated,
        f"best code is a bare {found.level}": found.bare,
    }


def no_answers(figures: Figures) -> str:
    """Return the share of rows without an answer and their statuses; "" if all have one."""
    without = {name: count for name, count in figures.statuses.items() if name != "ok"}
    stated = ", ".join(f"{readable(name)} {count:,}" for name, count in without.items())
    return f"{percent(figures.unanswered.value)} ({stated})" if stated else ""


def group_name(name: str | None) -> str:
    """Return the name of a language or source."""
    return "others" if name is None else readable(name) or "not named"


def difference_cells(
    differences: Iterable[tuple[Difference, Sequence[Share]]],
) -> Iterator[list[str]]:
    """Yield for each depth its name, the share of each candidate, and their difference.

    The difference is in points, followed by its 95 % interval and McNemar's p.
    """
    for each, shares in differences:
        low, high = each.interval
        yield [
            each.depth.name,
            *(percent(share.value) for share in shares),
            points(each.value),
            f"{points(low)} to {points(high)}",
            p_value(each.p),
        ]


def flip_line(flips: Flips) -> str:
    """Return how many best codes change from A to B, and what that buys, as a sentence."""
    return (
        f"flip rate: {percent(flips.rate.value)} of the best codes change from A to B: "
        f"{flips.better:,} for the better, {flips.worse:,} for the worse, {flips.neither:,} "
        "neither (as far as the label states)"
    )
