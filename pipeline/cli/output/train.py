"""The output of ``train``: the skipped rows, and the model's accuracy on held-out rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.answers import System
from pipeline.cli.output.held_out import flips, headline, ok_from
from pipeline.codes import Retired, levels
from pipeline.engine.model import Model
from pipeline.engine.model.arrays import Bools
from pipeline.engine.model.calibration import calibration_error
from pipeline.engine.training import Dataset, Task, Trained

__all__ = ["about_model", "by_level", "by_source", "model_summary", "skipped_rows"]

SHOWN = 10
"""The most unknown codes, and the most retired codes, in one line."""


def about_model(dataset: Dataset, task: Task, trained: Trained, previous: Model) -> dict[str, Any]:
    """Return the figures that are saved with the model and printed as JSON.

    Args:
        dataset: the rows that were read.
        task: the training data.
        trained: the model.
        previous: the model that answers without it.
    """
    return {
        "system": task.system,
        "rows": dataset.rows,
        "learned_rows": len(task.examples(whole=True)),
        "rows_without_text": dataset.without_text,
        "rows_without_code": dataset.without_code,
        "unknown_codes": dict(dataset.unknown.most_common()),
        "retired_codes": _retired_codes(dataset),
        "rows_beyond_the_table": dataset.beyond,
        "phrases": len(task.phrases),
        "codes": len(trained.model.codes),
        "codes_from_examples": len(set(task.examples(whole=True).codes.tolist())),
        "weight_of_the_history": trained.model.weight,
        "held_back": {
            "rows": len(trained.truth),
            "repeats": trained.repeats,
            "right": {str(top): round(trained.right(top), 4) for top in (1, 5, 10)},
            **headline(trained, task.system),
            "ok": ok_from(trained, task.system),
            "calibration_error": round(trained.error, 4),
            "flips": flips(trained, task, previous),
        },
    }


def model_summary(about: Mapping[str, Any], output: Path) -> str:
    """Return the figures of `about_model` as lines for people."""
    systems = [about] if "held_back" in about else list(about.values())
    return "\n".join(
        [*(line for each in systems for line in _summary_lines(each)), f"model: {output}"]
    )


def _summary_lines(about: Mapping[str, Any]) -> Iterator[str]:
    held = about["held_back"]
    right = held["right"]
    yield (
        f"{about['system']}: learned {about['learned_rows']:,} rows with "
        f"{about['codes_from_examples']:,} codes, can answer with {about['codes']:,}"
    )
    if about["weight_of_the_history"] < 1:
        yield (
            f"  answers: {about['weight_of_the_history']:.0%} the history, the rest the model that "
            "comes with this tool"
        )
    yield f"  held back {held['rows']:,} rows; {held['repeats']:,} of their texts were learned, too"
    yield (
        f"  right code first: {right['1']:.0%}, among 5: {right['5']:.0%}, "
        f"among 10: {right['10']:.0%}; mean confidence error {held['calibration_error']:.3f}"
    )
    flips = held["flips"]
    yield (
        f"  first code other than the package's: {flips['changed']:.0%}; right instead of wrong "
        f"{flips['better']:.0%}, wrong instead of right {flips['worse']:.0%}"
    )


def skipped_rows(dataset: Dataset) -> Iterator[str]:
    """Yield a line for each reason to skip rows, with the number of rows."""
    if dataset.without_text:
        yield f"skipped: {_rows(dataset.without_text)} without text"
    if dataset.without_code:
        yield f"skipped: {_rows(dataset.without_code)} without a code"
    if dataset.unknown:
        most = [f"{code[:40]} ({rows:,})" for code, rows in dataset.unknown.most_common()]
        yield (
            f"skipped: {_rows(dataset.unknown.total())} whose code the "
            f"{dataset.table.system} table lacks, or that is not a full code: {_named(most)}"
        )
    yield from _retired(dataset)
    if dataset.beyond:
        yield (
            f"{_rows(dataset.beyond)} with commodities that the table lacks: their class is the "
            "answer until you add the full table (tender-pipeline codes add unspsc FILE)"
        )


def _retired_codes(dataset: Dataset) -> dict[str, dict[str, Any]]:
    return {
        code: {"rows": rows, "until": end.until.isoformat(), "successor": end.successor}
        for code, rows, end in _ended(dataset)
    }


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
    return f"{_rows(rows)} whose {dataset.table.system} code is retired"


def _named(codes: list[str]) -> str:
    more = len(codes) - SHOWN
    return ", ".join(codes[:SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def _rows(number: int) -> str:
    return "1 row" if number == 1 else f"{number:,} rows"


def by_source(trained: Trained, sources: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return each source's number of rows, share of right codes, and mean confidence.

    Args:
        trained: the model and its answers for the held-out rows.
        sources: the source of each row.
    """
    source = np.array(sources)
    return {name: _source_figures(trained, source == name) for name in sorted(set(source.tolist()))}


def by_level(trained: Trained, system: System) -> dict[str, dict[str, float]]:
    """Return the first code's accuracy at each level, on the rows coded to that depth."""
    rows = list(zip(trained.truth.tolist(), trained.found[:, 0].tolist(), strict=True))
    figures = {}
    for digits, name in levels.LEVELS[system].items():
        right = [
            levels.cut(system, truth, digits) == levels.cut(system, found, digits)
            for truth, found in rows
            if len(levels.stem(system, truth)) >= digits
        ]
        share = round(float(np.mean(right or [False])), 4)
        figures[name] = {"rows": len(right), "right_1": share}
    return figures


def _source_figures(trained: Trained, rows: Bools) -> dict[str, Any]:
    hits, sure = trained.hits()[rows], trained.sure[rows]
    right = {f"right_{top}": float(hits[:, :top].any(axis=1).mean()) for top in (1, 5, 10)}
    error = calibration_error(sure, hits[:, 0])
    figures = right | {"says": float(sure.mean()), "calibration_error": error}
    rounded = {name: round(value, 4) for name, value in figures.items()}
    return {"rows": int(rows.sum())} | rounded
