"""``tender-pipeline evaluate``: how good the engine, a model or a paid service is."""

from __future__ import annotations

import json
import logging
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from pipeline.answers import SYSTEMS, System
from pipeline.cli.options import csv_options, labelled_columns, log_to_stderr, say
from pipeline.cli.paid import buying, buying_options, paid_service
from pipeline.errors import SettingsError
from pipeline.evaluation import (
    Embedded,
    Evaluation,
    EvaluationSettings,
    Labelled,
    Paid,
    Stopped,
    Subject,
    check_page,
    evaluated,
    is_address,
    left_out_lines,
    model,
    offline,
    write_page,
)
from pipeline.paid import PaidService, Purchase
from pipeline.progress import bar, log_lines
from pipeline.settings import ENGINES, FORMATS, Settings
from pipeline.tables import open_reader

__all__ = ["evaluate"]

COMPLETE, WITH_FAILED_ROWS = 0, 3

log = logging.getLogger("pipeline")


@click.command(short_help="Say how good the codes are, on a labelled table.")
@click.argument("labelled", type=click.Path(path_type=Path))
@click.option("--system", required=True, type=click.Choice(SYSTEMS), help="Whose codes they are.")
@labelled_columns
@click.option("--language-column", help="A column that names the language, to tell them apart.")
@click.option(
    "--model",
    "model_folder",
    type=click.Path(path_type=Path),
    help="Evaluate a learned model, see train.  [default: the embedded engine]",
)
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default="learned",
    show_default=True,
    help="Evaluate the engine by its models, or by the titles of the codes alone.",
)
@click.option(
    "--compare",
    nargs=2,
    metavar="A B",
    help="Evaluate two on the same rows: engine, lexical (the titles alone), the folder of a "
    "model, or the address of a paid service.",
)
@click.option("--sample", type=int, help="Draw so many rows at random.  [default: all rows]")
@click.option(
    "--seed", default=0, show_default=True, help="Which rows are drawn: the same seed, the same."
)
@click.option(
    "--jobs", default=1, show_default=True, help="Processes that the embedded engine uses."
)
@click.option(
    "--page", type=click.Path(path_type=Path), help="Write a page with the plots: FILE.html."
)
@click.option("--overwrite", is_flag=True, help="Replace a page that this tool did not write.")
@click.option("--input-format", type=click.Choice(FORMATS), help="Where the name does not tell.")
@click.option("--delimiter", help="CSV: what separates the fields.  [default: found out]")
@click.option("--encoding", help="CSV: how characters are encoded.  [default: UTF-8]")
@click.option("--line-end", type=click.Choice(["lf", "crlf", "cr"]), help="CSV: what ends a line.")
@click.option(
    "--quote-escape",
    type=click.Choice(["double", "backslash"]),
    default="double",
    show_default=True,
    help="CSV: how a quote inside quotes is written.",
)
@click.option("--no-header", is_flag=True, help="CSV: the first record is data; see run.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@buying_options
@click.pass_context
def evaluate(context: click.Context, /, **values: Any) -> int:
    """Compare answers with the right codes of LABELLED, a CSV or Parquet table of tenders.

    The embedded engine is evaluated, unless --model, --base-url or --compare name another. What
    a paid service answers is bought on the terms of run: planned, asked for on a terminal, kept
    in the ledger and never bought twice. --sample 200 is enough to see whether it is worth it.
    """
    log_to_stderr()
    settings = _settings(values)
    page: Path | None = values["page"]
    if page is not None:
        check_page(page, values["overwrite"])
    found = _found(settings, _subjects(context, settings.system, values), values)
    if isinstance(found, Stopped):
        say(_stopped(found, values["as_json"]))
        return found.parked.exit_code
    say(found.to_json() if values["as_json"] else str(found))
    if page is not None:
        write_page(page, found)
        log.info("page: %s", page)
    return WITH_FAILED_ROWS if any(each.failed for each in found.subjects) else COMPLETE


def _settings(values: dict[str, Any]) -> EvaluationSettings:
    return EvaluationSettings(
        system=values["system"],
        text_columns=values["text_columns"],
        code_column=values["code_column"],
        language_column=values["language_column"],
        sample=values["sample"],
        seed=values["seed"],
        jobs=values["jobs"],
    )


def _found(
    settings: EvaluationSettings, subjects: list[Subject], values: dict[str, Any]
) -> Evaluation | Stopped:
    path: Path = values["labelled"]
    paid = any(isinstance(subject, Paid) for subject in subjects)

    def open_purchase(service: PaidService, asked: Settings, identity: str) -> Purchase:
        return buying(service, asked, identity, values["yes"])

    def told(rows: Labelled) -> None:
        who = " and ".join(subject.name for subject in subjects)
        log.info("%s: %s, %s of %s rows", path, who, f"{rows.rows:,}", f"{rows.left_out.rows:,}")
        if paid or values["as_json"]:  # else the report says so soon enough
            for line in left_out_lines(rows.left_out):
                log.warning("%s", line)

    progress = bar if sys.stderr.isatty() else log_lines
    reader = open_reader(path, settings.text_columns, csv_options(values), values["input_format"])
    return evaluated(reader, str(path), settings, subjects, open_purchase, progress, told)


def _subjects(context: click.Context, system: System, values: dict[str, Any]) -> list[Subject]:
    """Return who is evaluated.

    Raises:
        SettingsError: two options name different ones, or one names nothing.
    """
    compared: tuple[str, str] | None = values["compare"]
    typed = context.get_parameter_source("base_url") == ParameterSource.COMMANDLINE
    titles = values["engine"] == "lexical"
    named = [values["model_folder"] is not None, compared is not None, titles]
    if sum(named) + typed > 1:
        raise SettingsError(
            "--model, --engine lexical, --base-url and --compare each say who is evaluated.",
            "Give one of them; --compare A B can name a model's folder and a service's address.",
        )
    if compared is not None:
        return _compared(compared, system, values)
    if values["model_folder"] is not None:
        return [model(values["model_folder"], system)]
    service = None if titles else paid_service(values)
    return [Embedded(values["engine"]) if service is None else Paid(service)]


def _compared(words: tuple[str, str], system: System, values: dict[str, Any]) -> list[Subject]:
    addresses = [word for word in words if is_address(word)]
    if len(addresses) == 2:
        raise SettingsError(
            "Both subjects are paid services, and there is one --api-key-file.",
            "Evaluate each by itself with the same --sample and --seed: "
            "--base-url URL --json has all figures.",
        )
    subjects: list[Subject] = []
    for word in words:
        service = paid_service({**values, "base_url": word}) if is_address(word) else None
        subjects.append(offline(word, system) if service is None else Paid(service))
    if subjects[0] == subjects[1]:
        raise SettingsError(
            f"--compare names {words[0]!r} twice.", "Name two that may differ, or one: --model DIR."
        )
    return subjects


def _stopped(found: Stopped, as_json: bool) -> str:
    if as_json:
        return json.dumps({"paid": found.paid.to_dict(), "parked": asdict(found.parked)})
    return f"{found.paid}\n{found.parked}\nNothing is evaluated before all answers are there."
