"""Trains a model on a history, measures it on held-out rows, and saves it in a folder."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import fspath
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest

from pipeline.answers import System
from pipeline.arguments import check_column, check_flag, whole_number
from pipeline.codes import Retired, load, retirements, table
from pipeline.decisions.decisions import NO_DECISIONS, DecidedLabels, Decisions
from pipeline.engine.model import Model, check_free, load_model, save, shipped_model
from pipeline.engine.model.matrices import Bools, Texts
from pipeline.engine.training import Dataset, Examples, Task, Trained, history_recipe, history_task
from pipeline.engine.training.dataset import encode_examples
from pipeline.engine.training.train import train, work
from pipeline.errors import InputError
from pipeline.files.atomic import check_place
from pipeline.progress import Display
from pipeline.settings import parse_system
from pipeline.tables.arrow import labels
from pipeline.tables.table import Reader
from pipeline.tables.texts import find_all
from pipeline.wording import first_of, how_many, option


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
        """Return the figures of one system, from those of `pipeline.training.run`."""
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
        corrections: how many codes of corrected tables are ``changed``, ``confirmed``, ``emptied``,
            ``unchanged``, ...
    """

    path: Path
    systems: Mapping[System, TrainedSystem]
    skipped: Sequence[str]
    figures: Mapping[str, Any]
    corrections: Mapping[str, int] = field(default_factory=dict)

    def __fspath__(self) -> str:
        return fspath(self.path)

    def __str__(self) -> str:
        return "\n".join([*self.skipped, model_summary(self.figures, self.path)])

    def __repr__(self) -> str:
        return str(self)


SHOWN = 10
"""The most unknown codes, and the most retired codes, in one line."""


def model_summary(about: Mapping[str, Any], output: Path) -> str:
    """Return the figures of `pipeline.training.run` as lines."""
    return "\n".join([*summary_lines(about), f"model: {output}"])


def summary_lines(about: Mapping[str, Any]) -> Iterator[str]:
    """Yield the figures of one system as lines."""
    held = about["held_back"]
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
    few = held["rows"] if held["rows"] < FEWEST_OK else 0
    first, five, ten, broad = (
        _percent(share, few) for share in (*held["right"].values(), held["broad"])
    )
    error = "" if few else f"; calibration error {held['calibration_error']:.3f}"
    yield (
        f"  right code first: {first}, among 5: {five}, among 10: {ten}; "
        f"right {table.levels_above(about['system'])[2]}: {broad}{error}"
    )
    yield _ok_line(held["ok"])
    changed, better, worse = (_percent(share, few) for share in held["flips"].values())
    yield (
        f"  first code other than the package's: {changed}; right instead of wrong {better}, "
        f"wrong instead of right {worse}"
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


def _percent(share: float, few: int = 0) -> str:
    """Write a share; as a count, if it is of few rows."""
    return f"{round(share * few)} of {few}" if few else f"{share:.0%}".replace("%", " %")


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
            f"{dataset.table.system} table lacks, or that is not a full code: "
            f"{first_of(most, SHOWN)}"
        )
    yield from _retired(dataset)
    if dataset.beyond:
        yield (
            f"{how_many(dataset.beyond, 'row')} with commodities that the table lacks: their class "
            "is the answer until you add the full table (tender-pipeline codes add unspsc FILE)"
        )


def _retired(dataset: Dataset) -> Iterator[str]:
    ended = [
        (code, rows, dataset.retirements[code]) for code, rows in dataset.retired.most_common()
    ]
    kept = [(code, rows, end) for code, rows, end in ended if end.successor]
    lost = [(code, rows, end) for code, rows, end in ended if not end.successor]
    if kept:
        most = [f"{code} ({n:,}, until {end.until}, now {end.successor})" for code, n, end in kept]
        yield f"learned as its successor: {_whose(dataset, kept)}: {first_of(most, SHOWN)}"
    if lost:
        most = [f"{code} ({n:,}, until {end.until})" for code, n, end in lost]
        yield f"skipped: {_whose(dataset, lost)}, with no successor known: {first_of(most, SHOWN)}"


def _whose(dataset: Dataset, some: Iterable[tuple[str, int, Retired]]) -> str:
    rows = sum(rows for _, rows, _ in some)
    return f"{how_many(rows, 'row')} whose {dataset.table.system} code is retired"


def about_model(dataset: Dataset, task: Task, trained: Trained, previous: Model) -> dict[str, Any]:
    """Return the figures that are saved with the model and printed as JSON.

    The previous model is the one that answers without it.
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
        "codes": len(trained.model.codes),
        "codes_from_examples": len(set(task.examples(whole=True).codes.tolist())),
        "weight_of_the_history": trained.model.weight,
        "held_back": {
            "rows": len(trained.truth),
            "repeats": trained.repeats,
            "right": {str(top): round(trained.right(top), 4) for top in (1, 5, 10)},
            "broad": _broad(trained, task.system),
            "ok": _ok_from(trained, task.system),
            "calibration_error": round(trained.error, 4),
            "flips": flips(trained, task, previous),
        },
    }


def _retired_codes(dataset: Dataset) -> dict[str, dict[str, Any]]:
    return {
        code: {
            "rows": rows,
            "until": dataset.retirements[code].until.isoformat(),
            "successor": dataset.retirements[code].successor,
        }
        for code, rows in dataset.retired.most_common()
    }


RIGHT = 2 / 3
"""Share of the codes with the status `ok` that are right as far as the buyer states a code."""

FEWEST_OK = 20
"""The fewest held-out rows that show a threshold of `ok`."""

CERTAINTY = 0.95
"""How certain it must be that at least `RIGHT` of such codes are right."""


def _broad(trained: Trained, system: System) -> float:
    """Return how often the first two digits of the first code are right."""
    both = zip(trained.truth.tolist(), trained.found[:, 0].tolist(), strict=True)
    return _share([table.cut(system, a, 2) == table.cut(system, b, 2) for a, b in both])


def _ok_from(trained: Trained, system: System) -> dict[str, float | None]:
    """Return the lowest confidence from which two in three of the first codes are surely right.

    A code is right if it is right to the depth of the buyer's code. The held-out rows must show
    it: with few rows, or a poor model, there is no such confidence, and no code may be `ok`.

    Returns:
        ``confidence``: this threshold; None if there is none. ``rows``: the share of the rows at or
        above it; ``right``: the share of those whose code is right; ``right_at_least``: Wilson's
        lower bound of that share.
    """
    right = _right(system, trained.truth, trained.found[:, 0])
    sure = np.floor(trained.sure * 10_000) / 10_000  # not above any row that the threshold counts
    for least in np.unique(sure).tolist():
        reached = right[sure >= least]
        if len(reached) < FEWEST_OK:
            break
        test = binomtest(int(reached.sum()), len(reached), alternative="greater")
        low = test.proportion_ci(CERTAINTY, "wilson").low
        if low >= RIGHT:
            rows = len(reached) / len(right)
            measured = {"rows": rows, "right": reached.mean(), "right_at_least": low}
            rounded = {name: round(float(value), 4) for name, value in measured.items()}
            return {"confidence": least, **rounded}
    return {"confidence": None, "rows": 0.0, "right": 0.0, "right_at_least": 0.0}


def flips(trained: Trained, task: Task, previous: Model) -> dict[str, float]:
    """Return how many first codes on the held-out rows differ from those of another model.

    The previous model is the one that is replaced, or that was used without the new one. It ranks
    by its networks alone: judging its codes needs the texts, which are not kept.

    Returns:
        ``changed``: the flip rate; ``better`` and ``worse``: the share of the rows for which only
        the new first code, or only the previous one, is right to the depth of the buyer's code.
    """
    before = np.concatenate([_first(previous, portion) for portion in task.held_back.portions()])
    was = _right(task.system, trained.truth, before)
    now = _right(task.system, trained.truth, trained.found[:, 0])
    shares = {"changed": before != trained.found[:, 0], "better": now & ~was, "worse": was & ~now}
    return {name: _share(rows) for name, rows in shares.items()}


def _first(model: Model, examples: Examples) -> Texts:
    indices, _ = model.ranked(encode_examples(examples), examples.hashes, 1)
    codes: Texts = model.codes[indices[:, 0]]
    return codes


def _right(system: System, truth: Texts, codes: Texts) -> Bools:
    """Tell which codes are right to the depth of the buyer's code."""
    rows = zip(truth.tolist(), codes.tolist(), strict=True)
    return np.array([code.startswith(table.stem(system, label)) for label, code in rows])


def _share(some: Bools | Sequence[bool]) -> float:
    return round(float(np.mean(some)), 4)


FEWEST = 20
"""The fewest rows to learn from; with fewer, none can be held out to measure the model."""

log = logging.getLogger("pipeline")


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """How to train on a history.

    These are arguments of `pipeline.train`, which describes them.
    """

    system: System
    code_column: str
    output: Path
    only_history: bool = False
    jobs: int = 1
    overwrite: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "system", parse_system(self.system))
        object.__setattr__(self, "jobs", whole_number("jobs", self.jobs, 1))
        for name in ("only_history", "overwrite"):
            check_flag(name, getattr(self, name))
        check_column("code_column", self.code_column)


def check_output(output: Path, overwrite: bool) -> None:
    """Check, before any work is done, that a model can be written to a folder.

    Raises:
        OutputError: it may not be replaced, or cannot be written.
    """
    check_free(output, overwrite)
    check_place(output.resolve())


def from_history(
    reader: Reader | None,
    name: str | None,
    settings: TrainingSettings,
    shown: Display,
    warn: Callable[[str], None],
    decisions: Decisions = NO_DECISIONS,
) -> TrainedModel:
    """Train on a table of texts with codes, and save the model.

    Without a reader, it learns from decisions alone. What people decided replaces the codes of the
    table, and adds to them. ``warn`` gets a line for each reason why rows are skipped.

    Raises:
        InputError: the table cannot be read, or has too few rows to learn from.
        OutputError: the model cannot be written.
    """
    system, name = settings.system, name or " and ".join(decisions.files)
    dataset = _dataset(reader, name, settings, DecidedLabels(decisions, system))
    skipped = list(skipped_rows(dataset))
    for line in skipped:
        warn(line)
    _check_enough(dataset, name, reader is None)
    examples = dataset.examples()
    package = load_model(shipped_model(), system)
    task = history_task(system, examples, None if settings.only_history else package)
    recipe = history_recipe(len(examples))
    log.info("learning from %s, each read several times", how_many(len(examples), "row"))
    with shown(work([task], recipe), "reads") as advance:
        (trained,) = train([task], recipe, advance, settings.jobs)
    about = about_model(dataset, task, trained, package)
    save([trained.model], settings.output, about, settings.overwrite)
    systems = {system: TrainedSystem.of(about)}
    return TrainedModel(settings.output, systems, skipped, about, decisions.counts)


def _dataset(
    reader: Reader | None, name: str, settings: TrainingSettings, decided: DecidedLabels
) -> Dataset:
    dataset = Dataset(load(settings.system), retirements(settings.system))
    if reader is not None:
        names, column = reader.schema.names, settings.code_column
        (index,) = find_all(names, [("code_column", column)], name)
        for batch in reader.batches():
            codes = labels(batch.to_arrow(), index, "code_column")
            dataset.read(batch.texts, decided.corrected(batch.texts, codes))
    dataset.read(*decided.rest())
    return dataset


def _check_enough(dataset: Dataset, name: str, only_decisions: bool) -> None:
    kept, system = len(dataset.examples().codes), dataset.table.system
    if kept < FEWEST and only_decisions:
        raise InputError(
            f"{name} has codes for {how_many(kept, f'{system} text')}, and {FEWEST} are needed.",
            f"Check {option('system')}, decide more {system} texts, or give a history as well.",
        )
    if kept < FEWEST:
        raise InputError(
            f"{name} has {how_many(kept, 'row')} of {dataset.rows:,} to learn from, and {FEWEST} "
            "are needed.",
            f"Check {option('text_columns')}, {option('code_column')} and {option('system')}, or "
            "give a longer history.",
        )
