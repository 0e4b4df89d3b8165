"""``tender-pipeline doctor``: check what a run needs on this machine, and say what to do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipeline.cli.command import OptionGroups
from pipeline.cli.commands.run import check_files_apart, run
from pipeline.cli.ledger_options import ledger_place
from pipeline.cli.output.console import say
from pipeline.cli.run_options import RunOptions
from pipeline.cli.settings_file import confirm_found_file, unknown_variables
from pipeline.errors import PipelineError, SettingsError
from pipeline.settings import parse_systems

if TYPE_CHECKING:  # imported if the command runs
    from pipeline.cli.health import Finding
    from pipeline.files.paths import AnyPath

__all__ = ["doctor"]

MARKS = {"ok": "ok     ", "warning": "WARNING", "error": "ERROR  "}


def _doctor(input_paths: tuple[AnyPath, ...], **values: Any) -> int:
    confirm_found_file(click.get_current_context())
    options = RunOptions(input_paths=input_paths or (Path("-"),), **values)
    findings: list[Finding] = []
    for finding in _findings(options, bool(input_paths)):
        findings.append(finding)
        if not options.as_json:
            found = [*finding.found.split("\n"), finding.remedy]
            say(f"{MARKS[finding.verdict]} {finding.what}: {found[0]}")
            for line in filter(None, found[1:]):
                say(f"        {line}")
    ready = all(finding.verdict != "error" for finding in findings)
    if options.as_json:
        say(json.dumps({"checks": [asdict(each) for each in findings], "ready": ready}))
    elif ready:
        say("Ready to run." if options.base_url else "Ready to run with the embedded engine.")
    return 0 if ready else SettingsError.exit_code


def _findings(options: RunOptions, with_tables: bool) -> Iterator[Finding]:
    """Check each thing by itself, then the options together; yield each finding at once."""
    sound = True
    for finding in _separate_findings(options, with_tables):
        sound = sound and finding.verdict != "error"
        yield finding
    yield from _terms(options, sound, with_tables)


def _separate_findings(options: RunOptions, with_tables: bool) -> Iterator[Finding]:
    from pipeline.cli.health import (
        Finding,
        check_engine,
        check_files,
        check_installation,
        check_ledger,
    )

    workers = options.workers if options.base_url else None
    yield from check_installation(buys=workers is not None)
    for unknown in unknown_variables(run.params):
        yield Finding("variables", "warning", unknown, "Correct its name, or remove it.")
    yield from check_engine(parse_systems(options.systems), options.models)
    yield check_ledger(options.ledger or ledger_place(None), workers)
    yield from check_files(options, with_output=not with_tables)


def _terms(options: RunOptions, sound: bool, with_tables: bool) -> Iterator[Finding]:
    """Check the options together and the tables, if each is sound by itself, and the service."""
    from pipeline.cli.health import Finding, check_service, check_tables
    from pipeline.cli.job import asked

    try:
        check_files_apart(options)
        request, service = asked(options) if sound else (None, options.service())
    except PipelineError as error:
        yield Finding("settings", "error", error.message, error.hint)
        return
    if request:
        yield Finding("settings", "ok", "can be used together")
        if with_tables:
            yield from check_tables(options, request)
    if service:
        yield from check_service(service)


doctor = OptionGroups(
    "doctor",
    params=[
        click.Argument(["input_paths"], metavar="[INPUT]...", nargs=-1, type=run.params[0].type),
        *run.params[1:],
    ],
    callback=_doctor,
    help="""Check what a run with these options needs on this machine, and say what to do.

    It checks the installation, the folders, the models, the ledger, the decisions, where the
    output, the report and the metrics go and, with --base-url, the key, the locks, the connection
    and the clock. It sends the service one GET request without the key, which buys nothing. The
    exit code is 2 if a run would fail.

    Of each INPUT, it reads the first rows as run would, and shows which column has the text and
    some of the texts. plan reads a whole table.
    """,
)
