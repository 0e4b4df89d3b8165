"""``tender-pipeline evaluate``: how good the engine, a model or a paid service is."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from pipeline.answers import System
from pipeline.classification.corrections import decisions_in
from pipeline.classification.summary import COMPLETE, WITH_FAILED_ROWS
from pipeline.cli.command import OptionGroups
from pipeline.cli.options import LabelledOptions, LocalPath, argument, of_fields, option, parameters
from pipeline.cli.output.console import log_to_stderr, progress_display, say, warn
from pipeline.cli.output.run import buyer_of
from pipeline.cli.run_options import PaidOptions, check_no_terms
from pipeline.cli.settings_file import check_apart
from pipeline.decisions.decisions import label_table
from pipeline.errors import SettingsError
from pipeline.evaluation.dataset import Labelled, labelled
from pipeline.evaluation.evaluation import page, page_file
from pipeline.evaluation.run import Stopped, evaluated
from pipeline.evaluation.sections import left_out_lines
from pipeline.evaluation.settings import (
    Embedded,
    EvaluationSettings,
    Subject,
    check_given,
    check_subjects,
    model,
    offline,
)
from pipeline.processes import Jobs
from pipeline.settings import Settings
from pipeline.tables.arrow import ArrowReader
from pipeline.tables.table import Reader

if TYPE_CHECKING:  # what buys is imported if there is a service
    from pipeline.paid.purchase import PaidPurchase
    from pipeline.paid.service import PaidService


log = logging.getLogger("pipeline")


@dataclass(frozen=True, kw_only=True)
class _Options(PaidOptions, LabelledOptions):
    """The options of the command; `EvaluationSettings` checks those of the same names."""

    labelled: Path | None = argument(required=False, type=LocalPath(path_type=Path))
    system: System = option("The system of the codes (required).")
    source_column: str | None = option(
        "A column with the source, or the language, for figures by each."
    )
    model_folder: Path | None = option(
        "Evaluate a learned model (see train).  [default: the embedded engine]", flag="--model"
    )
    compare: tuple[str, str] | None = option(
        "Evaluate two on the same rows. Each is engine, the folder of a model, or the "
        "address of a paid service.",
        nargs=2,
        type=str,
        multiple=False,
        metavar="A B",
    )
    sample: int | None = option("Draw this many rows at random.  [default: all rows]")
    seed: int = option("The same seed draws the same rows again.", default=0)
    jobs: Jobs = option(
        "The most processes for the embedded engine. auto: one for a small table, all cores for a "
        "large one.",
        default="auto",
    )
    report: Path | None = option("Write the figures as a page, too: FILE.html.")
    overwrite: bool = option("Replace a page that this tool did not write.")
    as_json: bool = option("Print the figures as JSON.", flag="--json")

    @property
    def evaluation(self) -> EvaluationSettings:
        """Which rows are evaluated, and how; the class checks it, and the decisions are read."""
        decided = decisions_in(self.decisions, warn, self.text_columns, self.system)
        return EvaluationSettings(**of_fields(EvaluationSettings, self) | {"decisions": decided})


@click.command(cls=OptionGroups, params=parameters(_Options))
def evaluate(**values: Any) -> int:
    """Compare answers with the right codes of LABELLED, a table of tenders.

    With --decisions in place of LABELLED, the codes that people chose one by one are the right
    ones.

    It evaluates the embedded engine, unless --model, --base-url or --compare name another. Answers
    of a paid service are bought as by run: planned, confirmed on a terminal, kept in the ledger,
    and never bought twice. --sample 200 is enough to see whether a service is worth it.
    """
    log_to_stderr()
    options = _Options(**values)
    check_given(options.labelled, options.decisions, options.system)
    source = options.labelled or options.decisions[0]
    kept = [("LABELLED", options.labelled), ("--model", options.model_folder)]
    kept += [("--decisions", path) for path in options.decisions]
    kept += [("--api-key-file", options.api_key_file)]
    check_apart({"--report": options.report}, kept, options.ledger)
    settings = options.evaluation
    if options.report is not None:
        page_file(options.report).check(options.overwrite)
    subjects = _subjects(options)
    check_subjects(subjects)
    buys = not all(isinstance(subject, Embedded) for subject in subjects)
    if not buys:
        check_no_terms()
    rows = labelled(_reader(source, settings, options), settings, str(source))
    _log(rows, subjects, with_skipped=buys or options.as_json)

    def open_paid(service: PaidService, asked: Settings, identity: str) -> PaidPurchase:
        return buyer_of(service, options.yes).open(asked, identity)

    evaluation = evaluated(rows, subjects, open_paid, progress_display())
    if isinstance(evaluation, Stopped):
        say(_describe_stop(evaluation, options.as_json))
        return evaluation.parked.exit_code
    if not options.as_json:
        say(str(evaluation))
    if options.report is not None:
        page_file(options.report).write(page(evaluation))
        log.info("report: %s", options.report)
    if options.as_json:  # last: an error before it is the only object that is printed
        say(evaluation.to_json())
    return WITH_FAILED_ROWS if any(each.failed for each in evaluation.subjects) else COMPLETE


def _log(rows: Labelled, subjects: Sequence[Subject], with_skipped: bool) -> None:
    """Log what is evaluated on how many rows, and the skipped ones if no report says so soon."""
    names = " and ".join(subject.name for subject in subjects)
    counts = f"{rows.rows:,} of {rows.left_out.rows:,}"
    log.info("%s: %s, %s rows", rows.name, names, counts)
    if with_skipped:
        for line in left_out_lines(rows.left_out):
            log.warning("%s", line)


def _reader(path: Path, settings: EvaluationSettings, options: _Options) -> Reader:
    if options.decisions:
        table = label_table(settings.decisions, settings.system)
        return ArrowReader(table, settings.text_columns)
    return options.reader(path, settings.label_columns.items(), warn)


def _subjects(options: _Options) -> list[Subject]:
    """Return what is evaluated.

    Raises:
        SettingsError: two options name different subjects, or one names nothing.
    """
    source = click.get_current_context().get_parameter_source("base_url")
    named = [
        options.model_folder is not None,
        options.compare is not None,
        source == ParameterSource.COMMANDLINE,
    ]
    if sum(named) > 1:
        raise SettingsError(
            "--model, --base-url and --compare each say what to evaluate.",
            "Give one of them; --compare A B can name a model's folder and a service's address.",
        )
    if options.compare is not None:
        return _compared_subjects(options.compare, options)
    if options.model_folder is not None:
        return [model(options.model_folder, options.system)]
    return [options.service() or Embedded()]


def _compared_subjects(words: tuple[str, str], options: _Options) -> list[Subject]:
    subjects: list[Subject] = []
    for word in words:
        service = replace(options, base_url=word).service() if "://" in word else None
        subjects.append(service or offline(word, options.system))
    return subjects


def _describe_stop(stopped: Stopped, as_json: bool) -> str:
    if as_json:
        return json.dumps({"paid": stopped.paid.to_dict(), "parked": asdict(stopped.parked)})
    return f"{stopped.paid}\n{stopped.parked}\nNothing is evaluated before all answers are there."
