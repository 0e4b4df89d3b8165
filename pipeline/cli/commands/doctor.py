"""``tender-pipeline doctor``: check what a run needs on this machine, and say what to do."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from pipeline.answers import System
from pipeline.classification.file_sink import FileSink
from pipeline.cli.command import OptionGroups
from pipeline.cli.commands.run import run
from pipeline.cli.output.console import say
from pipeline.cli.run_options import RunOptions
from pipeline.cli.settings_file import confirm_found_file, ledger_file, unknown_variables
from pipeline.errors import PipelineError, SettingsError
from pipeline.files.paths import is_seen, machine_folder
from pipeline.report import page_file
from pipeline.settings import parse_systems
from pipeline.tables.formats import output_format_of
from pipeline.versions import VERSIONS

if TYPE_CHECKING:  # imported only if they are needed
    import httpx

    from pipeline.paid.service import PaidService


Verdict = Literal["ok", "warning", "error"]

MARKS = {"ok": "ok     ", "warning": "WARNING", "error": "ERROR  "}

LEAST_ROOM = 200 * 2**20
"""Bytes: enough for the answers of some ten thousand calls, or for a table of a million rows."""

SENTENCE = "Road resurfacing works"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check, and what to do about it; "" if nothing."""

    what: str
    verdict: Verdict
    found: str
    remedy: str = ""


def check_installation(buys: bool) -> Iterator[Finding]:
    """Check the installation and the folder of the locks, without which no run buys."""
    versions = ", ".join(f"{name} {version}" for name, version in VERSIONS.items())
    python = f"Python {platform.python_version()} on {sys.platform}"
    yield Finding("installation", "ok", f"{versions}, {python}")
    yield _run_check("lock folder", _lock_folder, buys)


def _check_engine(systems: Sequence[System], models: Sequence[str]) -> Iterator[Finding]:
    """Check the models of the package and the user's, and ask the engine for a code."""
    yield _run_check("models", _models, systems, models)
    for system in systems:
        yield _run_check(f"engine {system}", _engine, system)


def check_ledger(path: Path, workers: int | None) -> Finding:
    """Check a ledger, if there is one, and that a purchase with so many workers can write to it.

    Without workers, nothing is bought.
    """
    return _run_check("ledger", _ledger, path, workers)


def check_files(options: RunOptions) -> Iterator[Finding]:
    """Check where each file goes that the options name."""
    if isinstance(output := options.named_output, Path):
        yield _run_check("output", _output, output, options)
    if (report := options.report) is not None:
        may_go_there = partial(page_file(report).check, options.overwrite)
        yield _run_check("report", _can_be_written, "report", report, may_go_there)
    if (metrics := options.metrics_file) is not None:
        from pipeline.cli.output.metrics import MetricsFile

        opens = partial(MetricsFile.at, metrics, options.overwrite)
        yield _run_check("metrics", _can_be_written, "metrics", metrics, opens)


def _run_check(what: str, check: Callable[..., Finding], *arguments: object) -> Finding:
    """Return what a check found, or the error that it raised, as a finding."""
    try:
        return check(*arguments)
    except PipelineError as error:
        return _failure(what, error)
    except OSError as error:
        return Finding(what, "error", str(error))


def _failure(what: str, error: PipelineError) -> Finding:
    return Finding(what, "error", error.message, error.hint)


def _lock_folder(needed: bool) -> Finding:
    return _folder("lock folder", machine_folder(), needed, "set HOME to a folder of this user")


def _folder(
    name: str, folder: Path, needed: bool = True, instead: str = "name another folder"
) -> Finding:
    existing = next(parent for parent in (folder, *folder.parents) if is_seen(parent))
    if not os.access(existing, os.W_OK | os.X_OK):
        verdict: Verdict = "error" if needed else "warning"
        remedy = f"Make {folder} a folder that this user may write to, or {instead}."
        return Finding(name, verdict, f"{existing} is not writable", remedy)
    room = shutil.disk_usage(existing).free
    what = f"{folder}, {room / 2**30:.1f} GB free"
    if room < LEAST_ROOM:
        return Finding(name, "warning", what, "Free some space before a large run.")
    return Finding(name, "ok", what)


def _models(systems: Sequence[System], models: Sequence[str]) -> Finding:
    from pipeline.engine.model import check_arrays, open_models, shipped_model

    check_arrays(shipped_model())
    learned, _ = open_models(models, systems)
    lines = [
        "the model of the package is undamaged",
        *(f"{s}: {m.path}" for s, m in learned.items()),
    ]
    return Finding("models", "ok", "; ".join(lines))


def _engine(system: System) -> Finding:
    from pipeline.codes import load
    from pipeline.engine import ranker

    (matches,) = ranker(system).rank([SENTENCE], 1)
    best = f"{matches[0].code} {matches[0].title}" if matches else "no match"
    what = f"{len(load(system)):,} codes; {SENTENCE!r} gets {best}"
    return Finding(f"engine {system}", "ok", what)


def _ledger(path: Path, workers: int | None) -> Finding:
    from pipeline.cli.commands.ledger import count_jobs
    from pipeline.paid.ledger.checks import open_usable
    from pipeline.paid.ledger.database import check_not_gone, check_writable
    from pipeline.paid.ledger.mark import HighWaterMark
    from pipeline.paid.ledger.room import spare_file
    from pipeline.paid.ledger.totals import open_jobs

    what = f"{path} does not exist; the first paid run creates it"
    if path.exists():
        with open_usable(path) as snapshot:
            jobs = count_jobs(open_jobs(snapshot), path)
            what = f"{path}, {snapshot.size / 2**20:.1f} MB, {jobs}"
            HighWaterMark(snapshot).check()
    else:
        check_not_gone(path)
    if workers is None:
        return Finding("ledger", "ok", what)
    check_writable(path)
    if path.exists() and not os.access(path, os.W_OK):
        return Finding("ledger", "error", f"{what} and is read-only", "Make it writable.")
    folder = _folder("ledger", path.parent)
    if folder.verdict != "error" and path.parent.is_dir():
        spare = path.with_name(f"{path.name}.answers-{os.getpid()}")
        with spare_file(path, spare, workers):  # as a run does before it sends anything
            pass
    return Finding("ledger", "ok", what) if folder.verdict == "ok" else folder


def _output(output: Path, options: RunOptions) -> Finding:
    if output.is_dir() or not (output.suffix or options.output_format):  # for several inputs
        return _folder("output", output)
    output_format = output_format_of(output, options.output_format)
    sink = FileSink(output, output_format, options.overwrite, sample=options.limit_rows is not None)
    may_go_there = _can_be_written("output", output, sink.check)
    folder = _folder("output", output.absolute().parent)
    return may_go_there if folder.verdict == "ok" else folder


def _can_be_written(what: str, file: Path, check: Callable[[], object]) -> Finding:
    check()
    return Finding(what, "ok", f"{file} can be written")


KEY_HINT = "Set TENDER_PIPELINE_API_KEY, or name a file with the key: --api-key-file."

PATIENCE_S = 10.0

MOST_READ = 1 << 20
"""Bytes of a response."""

REFUSED = "A firewall, a proxy or a rate limit refuses; only the first call shows whether it does."
REDIRECTED = "Use the address that it redirects to as --base-url."
FAILING = "The service or a proxy has an error of its own. Try again later, or ask its operator."


def _judge(status: int) -> tuple[Verdict, str, str]:
    """Return what the status of an answer that nobody pays for says of a run, and what to do."""
    match status:
        case 401:
            return "ok", ", as expected: the request has no key", ""
        case 405 | 501:
            return "ok", ", as expected: GET buys nothing", ""
        case 403 | 429:
            return "warning", "", REFUSED
        case 301 | 302 | 307 | 308:
            return "error", "", REDIRECTED
        case _ if status == 407 or status >= 500:
            return "error", "", FAILING
    return "ok", "; only the first call shows whether the address is right", ""


def _check_service(service: PaidService) -> Iterator[Finding]:
    """Check the key and the connection; one request is sent, which buys nothing."""
    from pipeline.paid.client.urls import in_the_clear

    if service.is_demo:
        yield Finding("key", "warning", "no API key: demo requests only, 10 an hour", KEY_HINT)
    elif not service.api_key:
        yield Finding("key", "ok", "no API key; servers of your own seldom need one")
    elif in_the_clear(service.base_url):
        yield Finding("key", "warning", f"goes to {service.base_url} unencrypted", "Use https.")
    else:
        what = "has a valid form; only the first call shows whether it is right"
        yield Finding("key", "ok", what)
    yield _connection(service)


def _connection(service: PaidService) -> Finding:
    import httpx

    from pipeline.paid.client.client import Interface, cause

    url = f"{service.base_url}/models"
    if service.chat is None:
        url = Interface().url(service.base_url, "cpv")
    started = time.perf_counter()
    try:
        status = asyncio.run(_ask(httpx.URL(url)))
    except (httpx.HTTPError, TimeoutError, OSError) as error:
        hint = "Check --base-url, the network, the proxy and the service's certificate."
        what = f"{service.base_url} does not answer ({cause(error)[0]})"
        return Finding("service", "error", what, hint)
    milliseconds = 1000 * (time.perf_counter() - started)
    verdict, means, remedy = _judge(status)
    what = f"{service.base_url} answers in {milliseconds:.0f} ms (HTTP {status}{means})"
    return Finding("service", verdict, what, remedy)


async def _ask(url: httpx.URL) -> int:
    """Send a GET request without the key: the service sells answers to POST requests only."""
    from pipeline.paid.client.transport import Exchange, HttpTransport

    exchange = Exchange("GET", url, [(b"Host", url.netloc), (b"Connection", b"close")], b"")
    async with asyncio.timeout(PATIENCE_S):
        await HttpTransport(url).send(exchange, MOST_READ)
    return exchange.status or 0


def _doctor(**values: Any) -> int:
    confirm_found_file(click.get_current_context())
    options = RunOptions(input_paths=(Path("-"),), **values)
    findings: list[Finding] = []
    for finding in _findings(options):
        findings.append(finding)
        if not options.as_json:
            lines = [*finding.found.split("\n"), finding.remedy]
            say(f"{MARKS[finding.verdict]} {finding.what}: {lines[0]}")
            for line in filter(None, lines[1:]):
                say(f"        {line}")
    ready = all(finding.verdict != "error" for finding in findings)
    if options.as_json:
        say(json.dumps({"checks": [asdict(each) for each in findings], "ready": ready}))
    elif ready:
        say("Ready to run." if options.base_url else "Ready to run with the embedded engine.")
    return 0 if ready else SettingsError.exit_code


def _findings(options: RunOptions) -> Iterator[Finding]:
    """Check each thing by itself, then the options together and the service."""
    from pipeline.cli.job import request_of, service_of

    workers = options.workers if options.base_url else None
    yield from check_installation(buys=workers is not None)
    for unknown in unknown_variables(run.params):
        yield Finding("variables", "warning", unknown, "Correct its name, or remove it.")
    yield from _check_engine(parse_systems(options.systems), options.models)
    yield check_ledger(options.ledger or ledger_file(None), workers)
    yield from check_files(options)
    try:
        options.check_apart(options.named_output)
        service = service_of(request_of(options))
    except PipelineError as error:
        yield _failure("settings", error)
        return
    yield Finding("settings", "ok", "can be used together")
    if service:
        yield from _check_service(service)


doctor = OptionGroups(
    "doctor",
    params=run.params[1:],
    callback=_doctor,
    help="""Check what a run with these options needs on this machine, and say what to do.

    It checks the installation, the folders, the models, the ledger, where the output, the report
    and the metrics go, the options together with the decisions and, with --base-url, the key and
    the connection. It sends the service one GET request without the key, which buys nothing. The
    exit code is 2 if a run would fail. plan checks the table.
    """,
)
