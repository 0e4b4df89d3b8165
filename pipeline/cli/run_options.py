"""The options of a job, those for buying among them, each declared once."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click
from click.core import ParameterSource

from pipeline.answers import SYSTEMS
from pipeline.cli.options import (
    BUYING,
    TABLE,
    AddressPath,
    DialectOptions,
    LocalPath,
    Names,
    argument,
    of_fields,
    option,
)
from pipeline.cli.settings_file import check_apart, settings_file
from pipeline.errors import SettingsError
from pipeline.files.paths import AnyPath
from pipeline.files.regular import read_text
from pipeline.processes import Jobs
from pipeline.settings import (
    KEY_VARIABLE,
    TEXT_COLUMNS,
    Format,
    Settings,
)

if TYPE_CHECKING:  # imported if there is a service
    from pipeline.paid.service import PaidService


@dataclass(frozen=True, kw_only=True)
class PaidOptions:
    """The options for buying, in the order of the help; `PaidService` checks most of them."""

    base_url: str | None = option(
        "The paid service; without it the embedded engine answers.",
        BUYING,
        metavar="URL",
    )
    api_key_file: Path | None = option(
        f"A file with the API key.  [default: the variable {KEY_VARIABLE}]",
        BUYING,
    )
    language_model: str | None = option(
        "Let this language model choose among the codes that the engine finds. The URL is then an "
        "OpenAI-compatible API, such as http://localhost:8080/v1.",
        BUYING,
        metavar="NAME",
    )
    token_prices: str | None = option(
        "What its tokens cost, US dollars per million input and output tokens, such as 0.15/0.60; "
        "0 for your own server.",
        BUYING,
        metavar="IN/OUT",
    )
    request_fields: tuple[str, ...] = option(
        "One more field of its requests, such as reasoning_effort=low, or max_tokens=2000 for a "
        "model that reasons; null leaves one out.",
        BUYING,
        metavar="NAME=JSON",
    )
    rate: str | None = option(
        "The rate limit: 100/min, 60/6s, none.  [default: 100/min, or 10/hour without a key; "
        "none for a language model]",
        BUYING,
        metavar="N/WINDOW",
    )
    max_cost: str | None = option(
        "Stop before this job costs more, US dollars. The same command continues a stopped run.",
        BUYING,
        metavar="USD",
    )
    max_cost_per_day: str | None = option(
        "Stop before all jobs with this key and ledger cost more in a UTC day.",
        BUYING,
        metavar="USD",
    )
    max_cost_per_month: str | None = option(
        "The same for a calendar month (UTC).", BUYING, metavar="USD"
    )
    max_price: str = option(
        "Stop if one call costs more, US dollars.",
        BUYING,
        metavar="USD",
        default="0.01",
    )
    max_duration: str | None = option(
        "Stop after this time, such as 90min or 6h.",
        BUYING,
        metavar="TIME",
    )
    yes: bool = option("Buy without asking.", BUYING)
    ledger: Path | None = option(
        "The file of answers and payments.  [default: in your data folder]",
        BUYING,
    )
    max_age: str | None = option(
        "Buy answers again that are older, such as 30d.", BUYING, metavar="TIME"
    )
    retry_failed: bool = option("Buy calls again that failed for good.", BUYING)
    on_unconfirmed: Literal["retry", "hold"] = option(
        "What to do if an answer was lost that may have been billed.", BUYING, default="retry"
    )
    timeout: str | None = option(
        "The time limit of one request.  [default: 60s, or 5min for a language model]",
        BUYING,
        metavar="TIME",
    )
    workers: int = option("Concurrent requests.", BUYING, default=16)
    burst: bool = option("Send as fast as the limit allows, not evenly.", BUYING)
    wait: bool = option("Wait for another run, demo limits and long pauses.", BUYING)
    ignore_pause: bool = option("Send even if the service asked to wait.", BUYING)

    def service(self) -> PaidService | None:
        """Return the paid service to buy from; None without a base URL.

        Raises:
            SettingsError: an option has a wrong value, or the key file cannot be read.
        """
        if not self.base_url:
            return None
        from pipeline.cli.output.console import warn
        from pipeline.paid.service import PaidService

        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            values = of_fields(PaidService, self) | {"api_key": self._api_key()}
            unset = {each.name for each in fields(PaidOptions) if values.get(each.name) == ""}
            service = PaidService(**{each: values[each] for each in values if each not in unset})
        for warning in warned:
            warn(str(warning.message))
        return service

    def _api_key(self) -> str | None:
        if self.api_key_file is None:
            return None
        try:
            return read_text(self.api_key_file)
        except (OSError, UnicodeDecodeError) as error:
            # The name may be the key itself, and so may what cannot be decoded: repeat neither.
            reason = error.strerror or error if isinstance(error, OSError) else "it is not UTF-8"
            raise SettingsError(
                f"The file of the API key cannot be read: {reason}.",
                "Give --api-key-file the path of a text file that holds only the key.",
            ) from error


def check_no_terms() -> None:
    """Refuse terms of buying on the command line of a job that buys nothing.

    Probably the service was forgotten, or the variable that should name it is empty. Settings files
    and variables may have terms for other jobs, ``--yes`` agrees to any cost, also to none, and
    ``--ledger`` names what ``doctor`` checks without a service, too.

    Raises:
        SettingsError: there are some.
    """
    context = click.get_current_context()
    terms = {field.name for field in fields(PaidOptions)} - {"base_url", "yes", "ledger"}
    stated = [
        param.opts[0]
        for param in context.command.params
        if param.name in terms
        and context.get_parameter_source(param.name) == ParameterSource.COMMANDLINE
    ]
    if stated:
        names = " and ".join(stated)
        verb, them = ("is", "it") if len(stated) == 1 else ("are", "them")
        raise SettingsError(
            f"{names} {verb} for buying answers, and no paid service is named.",
            f"Name the service, --base-url URL, or leave {them} out: the embedded engine is free.",
        )


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
        "[default: outputs/<name>.classified.<suffix>, or - if INPUT is -]",
        OUTPUT,
    )
    text_columns: tuple[str, ...] = option(
        "A column with the text; repeat it to join several.",
        TABLE,
        default=list(TEXT_COLUMNS),
    )
    limit_rows: int | None = option("Read only this many rows: a sample.", TABLE)
    systems: tuple[str, ...] = option(
        "Classification systems, comma-separated.", ANSWER, default=list(SYSTEMS)
    )
    top: int = option("Matches for each row, 1 to 10.", ANSWER, default=1)
    min_confidence: float | None = option(
        "A best match under this is one to check: its status is review.  [default: the confidence "
        "from which an expert accepts 85 of 100 codes; 0 with --base-url]",
        ANSWER,
    )
    roll_up: float | None = option(
        "If the best match is less sure than this, give its nearest parent code that is sure "
        "enough. If none is, the match stays, to check.",
        ANSWER,
    )
    language: str = option(
        "The language of the CPV titles: de, fr, pl, ... PSC, UNSPSC and NAICS have English titles "
        "only.",
        ANSWER,
        default="en",
    )
    fail_if_no_match: float | None = option(
        "Exit with 3 if a larger share of a system's rows with text has no match.",
        ANSWER,
        metavar="SHARE",
    )
    decisions: tuple[str, ...] = option(
        "A file of decisions, which replace codes: one that review has written, or an output of "
        "run with corrected codes; repeat it for several.",
        ANSWER,
        type=Names("path"),
    )
    models: tuple[str, ...] = option(
        "The folder of a learned model (see train); repeat it for several systems.",
        ENGINE,
        type=Names("path"),
    )
    explain: bool = option("Add the words that decided the best match.", ENGINE)
    jobs: Jobs = option(
        "The most processes for the embedded engine. auto: one for a small table, all cores for a "
        "large one.",
        ENGINE,
        default="auto",
    )
    output_format: Format | None = option(
        "The output's format, if its name does not show it.", OUTPUT
    )
    overwrite: bool = option(
        "Replace an output that this tool did not write, or a full table by a sample.", OUTPUT
    )
    partial: bool = option("If the run stops early, write the table so far.", OUTPUT)
    column_prefix: str = option("A prefix for the name of every new column.", OUTPUT, default="")
    report: Path | None = option("Write a page about the run: FILE.html.", OUTPUT)
    metrics_file: Path | None = option(
        "Write the figures of the run for Prometheus: FILE.prom.", OUTPUT
    )
    as_json: bool = option("Print the summary as JSON.", OUTPUT, flag="--json")
    quiet: bool = option("Print errors only: no progress, log or summary.", OUTPUT)
    log_format: Literal["text", "json"] = option(
        "Write the log, and errors, as text or as one JSON object per line.", OUTPUT, default="text"
    )

    @property
    def settings(self) -> Settings:
        """The settings of the job, without the models and the decisions, which are to be read.

        Raises:
            SettingsError: an option has a wrong value.
        """
        return Settings(**of_fields(Settings, self) | {"models": {}, "decisions": {}})

    def check_apart(self, output: AnyPath | None) -> None:
        """Check that the files to write, such as an output, are none that the run keeps.

        Raises:
            SettingsError: one is, whose loss would cost money or work.
        """
        from pipeline.classification.sink import files_of  # --help needs none of it

        written: dict[str, AnyPath | None] = {
            "--report": self.report,
            "metrics-file": self.metrics_file,
        }
        if output is not None and not (isinstance(output, Path) and output.is_dir()):
            written |= files_of(output, "--output")
        inputs = [path for path in self.input_paths if str(path) != "-"]
        kept: list[tuple[str, AnyPath | None]] = [("the input", path) for path in inputs]
        kept += [("--decisions", Path(path)) for path in self.decisions]
        kept += [("--model", Path(path)) for path in self.models]
        kept.append(("--api-key-file", self.api_key_file))
        check_apart(written, kept, self.ledger)

    @property
    def named_output(self) -> AnyPath | None:
        """Where the table goes if that is named; None for standard output and by default."""
        return None if self.to_standard_output else self.output

    @property
    def to_standard_output(self) -> bool:
        """Whether the table goes to standard output: the output is -, or only the input is."""
        return str(self.output or self.input_paths[0]) == "-"


CONFIG = click.Option(
    ["--config"],
    type=LocalPath(path_type=Path),
    is_eager=True,
    expose_value=False,
    callback=settings_file,
    help="A TOML file of settings.  [default: tender-pipeline.toml]",
    envvar="TENDER_PIPELINE_CONFIG",
)
