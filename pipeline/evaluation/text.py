"""What an evaluation prints on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pipeline.evaluation.dataset import LeftOut
from pipeline.evaluation.findings import Evaluated, Findings
from pipeline.evaluation.metrics import TOPS, LanguageFigures, told_depths, told_pairs
from pipeline.evaluation.wording import p_value, percent, points, readable, rows, within
from pipeline.money import plain
from pipeline.text_table import aligned

__all__ = ["left_out_lines", "lines", "tongue"]

NAMED = 10
"""Odd codes that are named, of each kind."""

SUBJECTS = ("A", "B")
PAIRS = 6
LANGUAGES = 12
SURE = (10, 25, 50, 75, 100)
"""Per cent of the rows at which the accuracy is printed; the page has all of the curve."""


def lines(found: Findings) -> Iterator[str]:
    """Say what was found."""
    yield _basis(found)
    yield from left_out_lines(found.left_out)
    if found.comparison is not None:
        yield ""
        yield from _differences(found)
    for key, subject in zip(SUBJECTS, found.subjects, strict=False):
        yield ""
        yield subject.name if found.comparison is None else f"{key}: {subject.name}"
        yield from _subject(subject)
    yield ""
    yield found.verdict


def _basis(found: Findings) -> str:
    """Say which rows were evaluated."""
    drawn = ""
    if found.rows < found.left_out.usable:
        drawn = f", drawn from {found.left_out.usable:,} with seed {found.settings.seed}"
    return f"{found.settings.system}, {rows(found.rows)} of {found.table}{drawn}"


def left_out_lines(left_out: LeftOut) -> Iterator[str]:
    """Say which rows are left out, and which codes are odd."""
    if left_out.without_text:
        yield f"left out for want of text: {rows(left_out.without_text)}"
    if left_out.without_code:
        yield f"left out for want of a code: {rows(left_out.without_code)}"
    if left_out.no_codes:
        said = rows(left_out.no_codes.total())
        yield f"left out because their code is none: {said}: {_named(left_out.no_codes)}"
    if left_out.unknown:
        said = rows(left_out.unknown.total())
        yield f"not in the code table, but right at its levels: {said}: {_named(left_out.unknown)}"


def _named(codes: Mapping[str, int]) -> str:
    most = sorted(codes.items(), key=lambda found: (-found[1], found[0]))
    named = ", ".join(f"{readable(code)} ({count:,})" for code, count in most[:NAMED])
    return named + (f" and {len(most) - NAMED:,} more" if len(most) > NAMED else "")


def _subject(subject: Evaluated) -> Iterator[str]:
    header = ["right code", "first", "95 % interval", *(f"among {top}" for top in TOPS[1:])]
    yield from aligned(
        header,
        [
            [
                each.depth.name,
                percent(each.top[1].value),
                within(each.top[1]),
                *(percent(each.top[top].value) for top in TOPS[1:]),
            ]
            for each in told_depths(subject.figures)
        ],
        numbers=4,
    )
    yield from _answered(subject)
    yield ""
    yield from _confidence(subject)
    yield from _confused(subject)
    yield from _languages(subject.figures.languages)


def _answered(subject: Evaluated) -> Iterator[str]:
    """Say what had no answer and what the answers cost."""
    without = {name: count for name, count in subject.figures.statuses.items() if name != "ok"}
    if without:
        said = ", ".join(f"{name} {count:,}" for name, count in without.items())
        yield f"no answer: {percent(subject.figures.unanswered.value)} ({readable(said)})"
    if subject.cost is not None:
        usd = subject.cost.answers_usd
        prices = "at prices that not all are known" if usd is None else f"worth {plain(usd)} USD"
        yield f"{subject.cost.answers:,} answers {prices}"
        yield str(subject.cost.paid)


def _confidence(subject: Evaluated) -> Iterator[str]:
    figures = subject.figures
    curve = {point.percent: point.right for point in figures.curve}
    header = ["of the most confident", *(f"{percent_} %" for percent_ in SURE)]
    right = ["right first", *(percent(curve[percent_].value) for percent_ in SURE)]
    yield from aligned(header, [right], numbers=len(SURE))
    yield f"confidence is off by {figures.calibration_error:.3f} (expected calibration error)"
    if figures.odd_confidences:
        said = rows(figures.odd_confidences)
        yield f"confidence that is no fraction from 0 to 1, and was cut: {said}"


def _confused(subject: Evaluated) -> Iterator[str]:
    for level, pairs in subject.figures.confused.items():
        if pairs:
            yield ""
            cells = [
                [
                    f"{pair.rows:,}".rjust(len("rows")),
                    *(pair.truth, readable(pair.truth_title)),
                    *(pair.answer, readable(pair.answer_title)),
                ]
                for pair in told_pairs(pairs, PAIRS)
            ]
            yield from aligned(["rows", "right", f"({level})", "answered", ""], cells)


def _languages(languages: Sequence[LanguageFigures]) -> Iterator[str]:
    if not languages:
        return
    cells = [
        [
            tongue(each.language),
            f"{each.unanswered.rows:,}",
            *(percent(each.top[top].value) for top in TOPS),
            percent(each.unanswered.value),
        ]
        for each in languages[:LANGUAGES]
    ]
    header = ["language", "rows", "first", "among 5", "among 10", "no answer"]
    yield ""
    yield from aligned(header, cells, numbers=5)
    if len(languages) > LANGUAGES:
        yield f"and {len(languages) - LANGUAGES} more (--json and --page have them)"


def tongue(language: str | None) -> str:
    """Name a language."""
    return "others" if language is None else readable(language) or "not named"


def _differences(found: Findings) -> Iterator[str]:
    yield from (f"{key}: {one.name}" for key, one in zip(SUBJECTS, found.subjects, strict=True))
    cells = []
    for each, shares in found.differences():
        low, high = each.interval
        cells.append(
            [
                each.depth.name,
                *(percent(share.value) for share in shares),
                points(each.value),
                f"{points(low)} to {points(high)}",
                p_value(each.p),
            ]
        )
    header = ["right code first", *SUBJECTS, "points", "95 % interval", "McNemar"]
    yield from aligned(header, cells, numbers=5)
