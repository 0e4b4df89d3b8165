"""What `pipeline.train` returns: the folder of a model, and its figures on held-out rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import fspath
from pathlib import Path
from typing import Any

from pipeline.answers import System
from pipeline.codes import Retired
from pipeline.engine.training import Dataset
from pipeline.quoting import how_many

__all__ = ["TrainedModel", "TrainedSystem", "model_summary", "skipped_rows", "summary_lines"]


@dataclass(frozen=True, slots=True)
class TrainedSystem:
    """What a model learned of one system, and how good it is on rows held out from a first model.

    Attributes:
        rows: how many rows the table has.
        learned_rows: how many of them the finished model learned.
        codes: how many codes it can answer with.
        held_out_rows: how many rows measured it.
        accuracy: the share of them whose right code is the first (1), among 5 and among 10.
        calibration_error: the mean difference between confidence and accuracy.
        ok_from: the lowest confidence from which the held-out rows show that two in three of the
            first codes are right; None if they do not show it, and then no code will be ``ok``.
        changed: the share of the rows whose first code differs from that of the package's model.
        better: the share of the rows that only the new model gets right.
        worse: the share of the rows that only the package's model gets right.
    """

    rows: int
    learned_rows: int
    codes: int
    held_out_rows: int
    accuracy: Mapping[int, float]
    calibration_error: float
    ok_from: float | None
    changed: float
    better: float
    worse: float

    @classmethod
    def of(cls, figures: Mapping[str, Any]) -> TrainedSystem:
        """Return the figures of one system, from those of `pipeline.training.figures`."""
        held_out = figures["held_back"]
        return cls(
            rows=figures["rows"],
            learned_rows=figures["learned_rows"],
            codes=figures["codes"],
            held_out_rows=held_out["rows"],
            accuracy={int(top): share for top, share in held_out["right"].items()},
            calibration_error=held_out["calibration_error"],
            ok_from=held_out["ok"]["confidence"],
            **held_out["flips"],
        )


@dataclass(frozen=True, slots=True, repr=False)
class TrainedModel:
    """A trained model in its folder; pass it as ``models`` to `classify`.

    ``str`` returns what the command line prints.

    Attributes:
        path: the folder of the model.
        systems: the figures of each system that it learned.
        skipped: a line for each reason why rows were skipped.
        figures: all figures, as ``tender-pipeline train --json`` prints them.
    """

    path: Path
    systems: Mapping[System, TrainedSystem]
    skipped: Sequence[str]
    figures: Mapping[str, Any]

    def __fspath__(self) -> str:
        return fspath(self.path)

    def __str__(self) -> str:
        return "\n".join([*self.skipped, model_summary(self.figures, self.path)])

    def __repr__(self) -> str:
        return str(self)


SHOWN = 10
"""The most unknown codes, and the most retired codes, in one line."""


def model_summary(about: Mapping[str, Any], output: Path) -> str:
    """Return the figures of `pipeline.training.figures` as lines."""
    return "\n".join([*summary_lines(about), f"model: {output}"])


def summary_lines(about: Mapping[str, Any]) -> Iterator[str]:
    """Yield the figures of one system as lines."""
    held = about["held_back"]
    right = held["right"]
    yield (
        f"{about['system']}: learned {how_many(about['learned_rows'], 'row')} with "
        f"{how_many(about['codes_from_examples'], 'code')}, can answer with {about['codes']:,}"
    )
    if about["weight_of_the_history"] < 1:
        yield (
            f"  answers: {_percent(about['weight_of_the_history'])} the history, the rest the "
            "model that comes with this tool"
        )
    yield (
        f"  held back {how_many(held['rows'], 'row')}; {held['repeats']:,} of their texts were "
        "learned, too"
    )
    yield (
        f"  right code first: {_percent(right['1'])}, among 5: {_percent(right['5'])}, "
        f"among 10: {_percent(right['10'])}; calibration error {held['calibration_error']:.3f}"
    )
    yield _ok_line(held["ok"])
    flips = held["flips"]
    yield (
        f"  first code other than the package's: {_percent(flips['changed'])}; right instead of "
        f"wrong {_percent(flips['better'])}, wrong instead of right {_percent(flips['worse'])}"
    )


def _ok_line(ok: Mapping[str, float | None]) -> str:
    if ok["confidence"] is None:
        return (
            "  no code will be `ok`: the held-back rows do not show from which confidence two in "
            "three codes are right; train on more rows, or run with --min-confidence"
        )
    return (
        f"  `ok` from a confidence of {ok['confidence']:.2f}: {_percent(ok['rows'] or 0)} of these "
        f"rows, {_percent(ok['right'] or 0)} of them right as far as stated"
    )


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


def skipped_rows(dataset: Dataset) -> Iterator[str]:
    """Yield a line for each reason to skip rows, with the number of rows."""
    if dataset.without_text:
        yield f"skipped: {how_many(dataset.without_text, 'row')} without text"
    if dataset.without_code:
        yield f"skipped: {how_many(dataset.without_code, 'row')} without a code"
    if dataset.unknown:
        most = [f"{code[:40]} ({rows:,})" for code, rows in dataset.unknown.most_common()]
        yield (
            f"skipped: {how_many(dataset.unknown.total(), 'row')} whose code the "
            f"{dataset.table.system} table lacks, or that is not a full code: {_named(most)}"
        )
    yield from _retired(dataset)
    if dataset.beyond:
        yield (
            f"{how_many(dataset.beyond, 'row')} with commodities that the table lacks: their class "
            "is the answer until you add the full table (tender-pipeline codes add unspsc FILE)"
        )


def _retired(dataset: Dataset) -> Iterator[str]:
    ended = list(_ended(dataset))
    kept = [(code, rows, end) for code, rows, end in ended if end.successor]
    lost = [(code, rows, end) for code, rows, end in ended if not end.successor]
    if kept:
        most = [f"{code} ({n:,}, until {end.until}, now {end.successor})" for code, n, end in kept]
        yield f"learned as its successor: {_whose(dataset, kept)}: {_named(most)}"
    if lost:
        most = [f"{code} ({n:,}, until {end.until})" for code, n, end in lost]
        yield f"skipped: {_whose(dataset, lost)}, with no successor known: {_named(most)}"


def _ended(dataset: Dataset) -> Iterator[tuple[str, int, Retired]]:
    """Yield (code, rows, end) for the retired codes, the most frequent first."""
    for code, rows in dataset.retired.most_common():
        yield code, rows, dataset.retirements[code]


def _whose(dataset: Dataset, some: Iterable[tuple[str, int, Retired]]) -> str:
    rows = sum(rows for _, rows, _ in some)
    return f"{how_many(rows, 'row')} whose {dataset.table.system} code is retired"


def _named(codes: list[str]) -> str:
    more = len(codes) - SHOWN
    return ", ".join(codes[:SHOWN]) + (f" and {more:,} more" if more > 0 else "")
