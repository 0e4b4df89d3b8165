"""Declares the options of ``run`` and ``plan``, and gives their values types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from pipeline.answers import SYSTEMS, System
from pipeline.cli.options import (
    AddressPath,
    DialectOptions,
    JobsType,
    LocalPath,
    Names,
    as_json,
    declared,
    dialect_options,
    input_format,
    option,
)
from pipeline.cli.paid_options import PaidOptions, terms_options, yes
from pipeline.cli.settings_file import settings_file
from pipeline.file_options import FORMATS, Format
from pipeline.files.paths import AnyPath
from pipeline.languages import LANGUAGES
from pipeline.processes import Jobs
from pipeline.settings import ENGINES, TEXT_COLUMNS, EngineName, Settings, parse_systems

if TYPE_CHECKING:  # --help needs no engine
    from pipeline.decisions import Decisions
    from pipeline.engine.model import ModelFolder

__all__ = ["PRESETS", "RunOptions", "run_options"]

PRESETS: Mapping[str, tuple[str, ...]] = {
    "sam": ("Title", "Description"),
    "ted": ("TITLE",),
}
"""The text columns of well-known tables: contract opportunities of SAM.gov, and contract award
notices of TED. Where the description is empty, the title remains."""

run_options = declared(
    click.argument(
        "input_paths",
        metavar="INPUT...",
        nargs=-1,
        required=True,
        type=AddressPath(path_type=Path, allow_dash=True),
    ),
    option(
        "--output",
        type=AddressPath(path_type=Path),
        help="Where the enriched table goes: a path, an address such as s3://bucket/out.csv, or - "
        "for standard output. The folder of the outputs if there are several inputs.  "
        "[default: outputs/<name>.classified.<format>, or - if INPUT is -]",
    ),
    option(
        "--systems",
        default=",".join(SYSTEMS),
        type=Names(SYSTEMS),
        help="Classification systems, comma-separated.",
    ),
    option(
        "--text-column",
        "text_columns",
        multiple=True,
        type=Names(),
        default=list(TEXT_COLUMNS),
        help="A column with the text; repeat it to join several.",
    ),
    option("--top", default=1, help="Matches for each row, 1 to 10."),
    option(
        "--min-confidence",
        type=float,
        help="Mark a best match under this for review.  [default: where 2 of 3 are right; 0 with "
        "--base-url]",
    ),
    option(
        "--roll-up",
        "--back-off",
        "roll_up",
        type=float,
        help="If the best match is less sure than this, give its nearest parent code that is sure "
        "enough. If none is, the match stays, for review.",
    ),
    option(
        "--jobs",
        type=JobsType(),
        metavar="N|auto",
        default="auto",
        help="Processes for the embedded engine. auto: one for a small table, all cores for a "
        "large one. A number: for several files at once, or for one.",
    ),
    option(
        "--engine",
        type=click.Choice(ENGINES),
        default="learned",
        help="Use the learned models, or only the titles of the codes.",
    ),
    option(
        "--model",
        "models",
        multiple=True,
        type=Names(paths="dir"),
        help="The folder of a learned model (see train); repeat it for several systems.",
    ),
    option("--explain", is_flag=True, help="Add the words that decided the best match."),
    option(
        "--language",
        default="en",
        shell_complete=lambda _context, _option, start: [
            language for language in LANGUAGES if language.startswith(start)
        ],
        help="The language of the CPV titles: de, fr, pl, ... PSC, UNSPSC and NAICS have English "
        "titles only.",
    ),
    option(
        "--fail-if-no-match",
        type=float,
        metavar="SHARE",
        help="Exit with 3 if a larger share of a system's rows with text has no match.",
    ),
    option(
        "--decisions",
        multiple=True,
        type=Names(paths="file"),
        help="A file of decisions (see review), which replace codes; repeat it for several.",
    ),
    option("--column-prefix", default="", help="A prefix for the name of every new column."),
    option("--limit-rows", type=int, help="Read only this many rows: a sample."),
    option(
        "--overwrite",
        is_flag=True,
        help="Replace an output that this tool did not write, or a full table by a sample.",
    ),
    option(
        "--preset",
        type=click.Choice(sorted(PRESETS)),
        help="The text columns of a well-known CSV: sam for SAM.gov contract opportunities, ted "
        "for TED contract award notices.",
    ),
    input_format(option),
    option(
        "--output-format",
        type=click.Choice(FORMATS),
        help="The output's format, if its name does not show it.",
    ),
    dialect_options(option),
    option(
        "--endpoint-url",
        metavar="URL",
        help="The address of an S3-compatible server for s3:// addresses.  [default: "
        "AWS_ENDPOINT_URL, or Amazon's]",
    ),
    as_json(option),
    option("--quiet", is_flag=True, help="Print errors only: no progress, log or summary."),
    option(
        "--log-format",
        type=click.Choice(["text", "json"]),
        default="text",
        help="Write the log, and errors, as text or as one JSON object per line.",
    ),
    option(
        "--config",
        type=click.Path(path_type=Path),
        is_eager=True,
        expose_value=False,
        callback=settings_file,
        help="A TOML file of settings.  [default: tender-pipeline.toml]",
    ),
    terms_options,
    option(
        "--report", type=LocalPath(path_type=Path), help="Write a page about the run: FILE.html."
    ),
    option(
        "--metrics-file",
        type=click.Path(path_type=Path),
        help="Write the figures of the run for Prometheus: FILE.prom.",
    ),
    option("--partial", is_flag=True, help="If the run stops early, write the table so far."),
    yes,
)


@dataclass(frozen=True, kw_only=True)
class RunOptions(PaidOptions, DialectOptions):
    """The options that `run_options` declares and documents; `Settings` checks most of them."""

    input_paths: tuple[AnyPath, ...]
    output: AnyPath | None
    endpoint_url: str | None
    systems: str
    text_columns: tuple[str, ...]
    preset: str | None
    top: int
    min_confidence: float | None
    roll_up: float | None
    jobs: Jobs
    engine: EngineName
    models: tuple[str, ...]
    explain: bool
    fail_if_no_match: float | None
    language: str
    column_prefix: str
    limit_rows: int | None
    overwrite: bool
    output_format: Format | None
    as_json: bool
    quiet: bool
    log_format: Literal["text", "json"]
    report: Path | None
    metrics_file: Path | None
    partial: bool
    decisions: tuple[str, ...]

    def settings(self, models: Mapping[System, ModelFolder], decisions: Decisions) -> Settings:
        """Return the settings of the job.

        Raises:
            SettingsError: an option has a wrong value, or does not go with a paid service.
        """
        settings = Settings(
            systems=parse_systems(self.systems),
            text_columns=self._text_columns,
            top=self.top,
            min_confidence=self.min_confidence,
            roll_up=self.roll_up,
            jobs=self.jobs,
            column_prefix=self.column_prefix,
            limit_rows=self.limit_rows,
            models={str(model.path): model.sha256 for model in models.values()},
            engine=self.engine,
            explain=self.explain,
            fail_if_no_match=self.fail_if_no_match,
            language=self.language,
            decisions=decisions.files,
        )
        return settings.for_service() if self.base_url else settings

    @property
    def _text_columns(self) -> tuple[str, ...]:
        usual = self.text_columns == TEXT_COLUMNS
        return PRESETS[self.preset] if self.preset and usual else self.text_columns

    @property
    def to_standard_output(self) -> bool:
        """Whether the table goes to standard output: the output is -, or only the input is."""
        return str(self.output or self.input_paths[0]) == "-"
