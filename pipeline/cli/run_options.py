"""The options of ``run``, ``plan`` and ``doctor``, each declared once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from pipeline.answers import SYSTEMS, System
from pipeline.cli.options import (
    TABLE,
    AddressPath,
    DialectOptions,
    Names,
    argument,
    of_fields,
    option,
)
from pipeline.cli.paid_options import PaidOptions
from pipeline.cli.settings_file import settings_file
from pipeline.file_options import Format
from pipeline.files.paths import AnyPath
from pipeline.languages import LANGUAGES
from pipeline.processes import Jobs
from pipeline.settings import TEXT_COLUMNS, EngineName, Settings, parse_systems

if TYPE_CHECKING:  # --help needs no engine
    from pipeline.decisions import Decisions
    from pipeline.engine.model import ModelFolder

__all__ = ["CONFIG", "RunOptions"]

ANSWER, ENGINE, OUTPUT = "Answer", "Embedded engine", "Output"


@dataclass(frozen=True, kw_only=True)
class RunOptions(PaidOptions, DialectOptions):
    """The options of a job; `Settings` checks most of them."""

    input_paths: tuple[AnyPath, ...] = argument(
        metavar="INPUT...",
        nargs=-1,
        required=True,
        type=AddressPath(path_type=Path, allow_dash=True),
    )
    output: AnyPath | None = option(
        "Where the enriched table goes: a path, an address such as s3://bucket/out.csv, or - for "
        "standard output. The folder of the outputs if there are several inputs.  "
        "[default: outputs/<name>.classified.<format>, or - if INPUT is -]",
        OUTPUT,
        essential=True,
        example="outputs/tenders.csv",
    )
    text_columns: tuple[str, ...] = option(
        "A column with the text; repeat it to join several.",
        TABLE,
        default=list(TEXT_COLUMNS),
        essential=True,
    )
    limit_rows: int | None = option(
        "Read only this many rows: a sample.", TABLE, essential=True, example=100
    )
    systems: str = option(
        "Classification systems, comma-separated.",
        ANSWER,
        type=Names(SYSTEMS),
        default=",".join(SYSTEMS),
        essential=True,
    )
    top: int = option("Matches for each row, 1 to 10.", ANSWER, default=1, essential=True)
    min_confidence: float | None = option(
        "Mark a best match under this for review.  [default: where 2 of 3 are right; 0 with "
        "--base-url]",
        ANSWER,
        essential=True,
        example=0.3,
    )
    roll_up: float | None = option(
        "If the best match is less sure than this, give its nearest parent code that is sure "
        "enough. If none is, the match stays, for review.",
        ANSWER,
        example=0.5,
    )
    language: str = option(
        "The language of the CPV titles: de, fr, pl, ... PSC, UNSPSC and NAICS have English titles "
        "only.",
        ANSWER,
        default="en",
        shell_complete=lambda _context, _option, start: [
            language for language in LANGUAGES if language.startswith(start)
        ],
    )
    fail_if_no_match: float | None = option(
        "Exit with 3 if a larger share of a system's rows with text has no match.",
        ANSWER,
        metavar="SHARE",
        example=0.5,
    )
    decisions: tuple[str, ...] = option(
        "A file of decisions (see review), which replace codes; repeat it for several.",
        ANSWER,
        type=Names(paths="file"),
        example=["outputs/tenders.classified.csv.decisions.jsonl"],
    )
    engine: EngineName = option(
        "Use the learned models, or only the titles of the codes.", ENGINE, default="learned"
    )
    models: tuple[str, ...] = option(
        "The folder of a learned model (see train); repeat it for several systems.",
        ENGINE,
        type=Names(paths="dir"),
        example=["my-model"],
    )
    explain: bool = option("Add the words that decided the best match.", ENGINE)
    jobs: Jobs = option(
        "Processes for the embedded engine. auto: one for a small table, all cores for a large "
        "one. A number: for several files at once, or for one.",
        ENGINE,
        default="auto",
    )
    output_format: Format | None = option(
        "The output's format, if its name does not show it.", OUTPUT, example="parquet"
    )
    overwrite: bool = option(
        "Replace an output that this tool did not write, or a full table by a sample.", OUTPUT
    )
    partial: bool = option("If the run stops early, write the table so far.", OUTPUT)
    column_prefix: str = option(
        "A prefix for the name of every new column.", OUTPUT, default="", example="new_"
    )
    report: Path | None = option(
        "Write a page about the run: FILE.html.", OUTPUT, example="report.html"
    )
    metrics_file: Path | None = option(
        "Write the figures of the run for Prometheus: FILE.prom.",
        OUTPUT,
        type=click.Path(path_type=Path),
        example="tenders.prom",
    )
    as_json: bool = option("Print the summary as JSON.", OUTPUT, flag="--json", essential=True)
    quiet: bool = option("Print errors only: no progress, log or summary.", OUTPUT)
    log_format: Literal["text", "json"] = option(
        "Write the log, and errors, as text or as one JSON object per line.", OUTPUT, default="text"
    )

    def settings(self, models: Mapping[System, ModelFolder], decisions: Decisions) -> Settings:
        """Return the settings of the job.

        Raises:
            SettingsError: an option has a wrong value, or does not go with a paid service.
        """
        given = of_fields(Settings, self) | {
            "systems": parse_systems(self.systems),
            "models": {str(model.path): model.sha256 for model in models.values()},
            "decisions": decisions.files,
        }
        return Settings(**given).for_service() if self.base_url else Settings(**given)

    @property
    def to_standard_output(self) -> bool:
        """Whether the table goes to standard output: the output is -, or only the input is."""
        return str(self.output or self.input_paths[0]) == "-"


CONFIG = click.Option(
    ["--config"],
    type=click.Path(path_type=Path),
    is_eager=True,
    expose_value=False,
    callback=settings_file,
    help="A TOML file of settings.  [default: tender-pipeline.toml]",
    envvar="TENDER_PIPELINE_CONFIG",
)
