"""``tender-pipeline train``: trains on a history of tenders and their codes."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from pipeline.answers import System
from pipeline.classification.corrections import decisions_in
from pipeline.cli.command import OptionGroups
from pipeline.cli.options import LabelledOptions, LocalPath, argument, option, parameters
from pipeline.cli.output.console import log_to_stderr, progress_display, say, warn
from pipeline.cli.settings_file import check_apart
from pipeline.settings import check_labels
from pipeline.training import TrainedModel
from pipeline.training.run import (
    TrainingSettings,
    check_output,
    from_history,
    model_summary,
)

log = logging.getLogger("pipeline")


@dataclass(frozen=True, kw_only=True)
class _Options(LabelledOptions):
    """The options of the command."""

    history: Path | None = argument(required=False, type=LocalPath(path_type=Path))
    system: System = option("The system of the codes.")
    output: Path = option(
        "The folder for the model; it replaces an older model there.", required=True
    )
    only_history: bool = option("Use only the history, not the shipped model.")
    jobs: int = option(
        "Networks to train at once, each in its own process.",
        type=click.IntRange(min=1),
        default=1,
    )
    overwrite: bool = option("Replace a folder that is not a model.")
    as_json: bool = option("Print the summary as JSON.", flag="--json")


@click.command(cls=OptionGroups, params=parameters(_Options))
def train(**values: Any) -> int:
    """Learn the codes of one system from HISTORY, a table of tenders with codes.

    Decisions of people replace the codes of its rows, and add to them; they can be the whole
    history.

    The model goes into a folder, which is complete or does not exist. Use it with tender-pipeline
    run --model DIR. It answers together with the model that comes with this tool, with the weight
    that suits a tenth of the rows best. A first model learns without that tenth, and is measured
    on it; then the model is trained on all rows.
    """
    log_to_stderr()
    options = _Options(**values)
    kept = [("HISTORY", options.history)]
    kept += [("--decisions", path) for path in options.decisions]
    check_apart({"--output": options.output}, kept, None)
    trained = _train(options)
    as_text = model_summary(trained.figures, trained.path)
    say(json.dumps(trained.figures) if options.as_json else as_text)
    return 0


def _train(options: _Options) -> TrainedModel:
    """Train and save the model that the options describe."""
    decisions = decisions_in(options.decisions, warn, options.text_columns)
    check_labels(options.history, decisions.files, options.system)
    settings = TrainingSettings(
        options.system,
        options.code_column,
        options.output,
        options.only_history,
        options.jobs,
        options.overwrite,
    )
    check_output(options.output, options.overwrite)
    path, reader = options.history, None
    if path is not None:
        reader = options.reader(path, [("code_column", options.code_column)], warn)
    name = None if path is None else str(path)
    return from_history(reader, name, settings, progress_display(), log.warning, decisions)
