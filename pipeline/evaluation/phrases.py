"""Numbers, phrases and the verdict, in the words that the reports of an evaluation share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from pipeline.evaluation.dataset import LeftOut
from pipeline.evaluation.metrics import FEW, STATED, Figures, Share
from pipeline.evaluation.significance import Comparison, Difference
from pipeline.money import plain
from pipeline.pages import WANTED, most_taken
from pipeline.wording import first_of, how_many, readable


def percent(share: float) -> str:
    """Write a share: ``41.3 %``."""
    return f"{share:.1%}".replace("%", " %")


def part(share: Share) -> str:
    """Write a share: ``41.3 %``, of few rows ``2 of 3``, ``-`` of none."""
    if not share.rows:
        return "-"
    return f"{share.hits} of {share.rows}" if share.rows < FEW else percent(share.value)


def part_of(share: Share, noun: str = "row") -> str:
    """Write a share and of what it is: ``41.3 % of 121 rows``, ``2 of 3 rows``."""
    end = f" of {share.rows:,}" if share.rows >= FEW else ""
    return f"{part(share)}{end} {noun if share.rows == 1 else f'{noun}s'}"


def within(share: Share) -> str:
    """Write the interval of a share: ``34.4 to 47.9 %``; ``-`` for few rows."""
    if share.rows < FEW:
        return "-"
    low, high = share.interval
    return f"{100 * low:.1f} to {percent(high)}"


def points(difference: float) -> str:
    """Write a difference of two shares in points, with its sign: ``+21.0``."""
    found = f"{100 * difference:+.1f}"
    return "0.0" if float(found) == 0 else found.replace("-", "\N{MINUS SIGN}")


def p_value(p: float) -> str:
    """Write a probability: ``p = 0.031``, ``p < 0.0001``."""
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}"


def _usd(amount: Decimal) -> str:
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
    return first_of([f"{readable(code)} ({count:,})" for code, count in most], NAMED)


def headline_shares(figures: Figures) -> dict[str, Share]:
    """Return the figures that come first, by what they are called."""
    right, broad = figures.right, figures.broad
    division = {f"right {broad.name}": figures.depths[broad][1]}
    if figures.verdicts is not None:
        among = {"accepted among the first ten": right[10]}
        general, wrong = figures.verdicts["general"], figures.verdicts["wrong"]
        more = {**among, **division, "right, but too general": general, "wrong": wrong}
        return {"first code accepted": figures.verdicts["accepted"], **more}
    among = {f"{figures.measured.name} among the first ten": right[10]}
    if figures.specific is None or figures.bare is None:
        return {f"{figures.measured.name} first": right[1], **among, **division}
    return {
        f"exactly right, label deeper than a {broad.name}": figures.specific,
        "right as far as the label states": figures.depths[STATED][1],
        **among,
        **division,
        f"best code is a bare {broad.name}": figures.bare,
    }


def right_word(figures: Figures) -> str:
    """Return what a code is that counts as right."""
    return "accepted" if figures.verdicts else "right"


def verdict(names: Sequence[str], figures: Sequence[Figures], comparison: Comparison | None) -> str:
    """Return how good one subject is, or which of two is better and what that costs."""
    if comparison is None:
        (one,) = figures
        if one.verdicts is not None:
            return _accepted(names[0], one)
        if one.specific is not None and one.bare is not None and one.specific.rows:
            return _exactly(names[0], one, one.specific, one.bare)
        right = one.right
        return (
            f"{_capital(names[0])} gives the right code first for {part_of(right[1])}, has it "
            f"among its first ten for {part(right[10])}, and gives the right "
            f"{one.broad.name} for {part(one.depths[one.broad][1])}."
        )
    return " ".join(filter(None, [_difference(names, figures, comparison), _price(comparison)]))


def threshold_sentence(figures: Figures) -> str:
    """Return from which confidence rows can go through without a look, and how many do."""
    word, all_rows = right_word(figures), figures.judged
    for wanted in WANTED[1:]:
        most = most_taken(figures.surest, wanted)
        if most is not None:
            return (
                f"Let rows through from a confidence of {most.confidence:.2f} to have "
                f"{100 * wanted:.0f} % of their codes {word}: {most.rows:,} of {rows(all_rows)} "
                f"({percent(most.rows / all_rows)})."
            )
    if not figures.surest:
        return f"{rows(all_rows)} cannot show from which confidence rows can go through."
    return (
        f"However high the confidence, fewer than half of the codes are {word}: look at every row."
    )


def _accepted(name: str, found: Figures) -> str:
    accepted = (found.verdicts or {})["accepted"]
    return (
        f"{_capital(name)}: the first code is accepted for {part_of(accepted)}, and one of the "
        f"first ten for {part(found.right[10])}; the {found.broad.name} is right for "
        f"{part(found.depths[found.broad][1])}."
    )


def _exactly(name: str, figures: Figures, specific: Share, bare: Share) -> str:
    level, stated = figures.broad.name, figures.depths[STATED][1]
    bares = f"; {part_of(bare, 'code')} are a bare {level}" if bare.hits else ""
    return (
        f"{_capital(name)} is exactly right for {part_of(specific)} whose label is deeper than a "
        f"{level}, and right as far as the label states for {part_of(stated)}; the {level} is "
        f"right for {part(figures.depths[figures.broad][1])}, and the {figures.measured.name} is "
        f"among the first ten for {part(figures.right[10])}{bares}."
    )


def _difference(names: Sequence[str], figures: Sequence[Figures], comparison: Comparison) -> str:
    first = comparison.first
    right = [each.right[1] for each in figures]
    shares = [str(each.hits) if each.rows < FEW else percent(each.value) for each in right]
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
    spent = _usd(comparison.usd)
    each = comparison.usd_per_code
    if each is None:
        return f"The paid answers cost {spent} and brought no additional right code."
    if comparison.better is None:
        return f"If the difference is real, each additional right code costs about {_usd(each)}."
    return f"Each additional right code costs {_usd(each)}; all paid answers cost {spent}."


def _capital(name: str) -> str:
    """Return a name with a capital for the start of a sentence; an address stays unchanged."""
    return name[:1].upper() + name[1:] if "://" not in name else name
