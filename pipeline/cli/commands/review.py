"""``tender-pipeline review``: decide doubtful rows on a local page."""

from __future__ import annotations

import getpass
import os
import webbrowser
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import click

from pipeline.classification.corrections import decision_file
from pipeline.classification.manifest import DECISIONS
from pipeline.cli.commands.serve import service_extra
from pipeline.cli.options import LocalPath, argument, option, parameters
from pipeline.cli.output.console import say, warn
from pipeline.cli.process import INTERRUPTED
from pipeline.cli.settings_file import check_apart
from pipeline.decisions.decision_file import DecisionFile, DecisionLog
from pipeline.decisions.decisions import merged
from pipeline.errors import SettingsError
from pipeline.files.atomic import translated
from pipeline.wording import how_many, in_shell

if TYPE_CHECKING:  # needs the packages of an extra
    from pipeline.review.session import Review


HOST = "127.0.0.1"

LONGEST_NAME = 100
"""Characters of a reviewer's name."""

FORWARD = """\
<!DOCTYPE html><html lang="en"><meta charset="utf-8"><meta name="referrer" content="no-referrer">\
<title>Review</title><meta http-equiv="refresh" content="0; url={url}"><a href="{url}">Review</a>
"""


@dataclass(frozen=True, kw_only=True)
class _Options:
    """The options of the command."""

    output: Path = argument(type=LocalPath(path_type=Path))
    decisions: Path | None = option(
        "Where your decisions are saved.  [default: OUTPUT.decisions.jsonl]"
    )
    merge: tuple[Path, ...] = option(
        "Take over the decisions in another person's file, or the codes corrected in another copy "
        "of OUTPUT, and show you where you disagree; repeat it for several."
    )
    reviewer: str | None = option("Your name in the decisions.  [default: your user name]")
    blind: bool = option("Do not show which match is the best, or how sure it is.")
    port: int | None = option(
        "The port of the page.  [default: a free one]", type=click.IntRange(0, 65535)
    )
    no_browser: bool = option("Print the link, and do not open a browser.")
    text_columns: tuple[str, ...] = option(
        "A column with the text; repeat it for several.  [default: as in the manifest]", type=str
    )
    column_prefix: str | None = option("The prefix of the code columns.  [default: as run]")


@click.command(params=parameters(_Options))
def review(**values: Any) -> int:
    """Decide the codes of doubtful rows in OUTPUT, a table that run has written.

    A page opens in your browser. It shows one text at a time with its matches; one key decides.
    Every decision is saved at once, and the same command continues. The page is for this machine
    and this browser only.

    Write the decisions into the table with tender-pipeline run and --decisions.
    """
    options = _Options(**values)
    name, output = _name(options.reviewer), options.output
    with service_extra():
        import pipeline.service.server  # noqa: F401 - it needs them all
        from pipeline.classification.enriched import open_enriched
        from pipeline.review.queue import Queue
        from pipeline.review.session import Review
    log_path = options.decisions or Path(f"{output}{DECISIONS}")
    merge = [
        merged_path for merged_path in options.merge if not _are_same(merged_path, log_path)
    ]  # its decisions are there
    other_files = [decision_file(path) for path in merge]
    table = open_enriched(output, options.text_columns, options.column_prefix)
    for model in table.lost_models:
        warn(
            f"The run's model {model} is gone or has changed, so the package's model suggests "
            "further codes. Put the model back to see its own."
        )
    kept: list[tuple[str, Path | None]] = [("OUTPUT", output), *(("--merge", m) for m in merge)]
    check_apart({"--decisions": log_path}, kept, None)
    with closing(Queue(table)) as queue, DecisionLog(log_path) as log:
        _warn([log.before, *other_files])
        browser = None if options.no_browser else _with_window()
        session = Review(table, queue, log, name, options.blind, other_files)
        return _serve(session, options.port or 0, browser)


def _are_same(path: Path, other: Path) -> bool:
    return path.exists() and other.exists() and path.samefile(other)


def _name(reviewer: str | None) -> str:
    """Return the reviewer's name, the user's by default.

    Raises:
        SettingsError: it is empty, too long or has control characters.
    """
    name = (_user() if reviewer is None else reviewer).strip()
    if not name or not name.isprintable() or len(name) > LONGEST_NAME:
        raise SettingsError(
            f"The reviewer's name {name[:LONGEST_NAME]!r} is empty, too long or not one line.",
            f"Give a name of at most {LONGEST_NAME} characters: --reviewer NAME.",
        )
    return name


def _warn(files: list[DecisionFile]) -> None:
    """Print what is wrong with the files; conflicts are shown on the page."""
    for file in files:
        if file.warning:
            warn(file.warning)
    for conflict in merged(files).conflicts:
        click.echo(f"Conflict: {conflict}", err=True)


def _serve(sitting: Review, port: int, browser: webbrowser.BaseBrowser | None) -> int:
    """Serve the page until a signal, and print what to do with the decisions."""
    from pipeline.review.pages import START, Access, Candidates, create_app
    from pipeline.service.server import Server, address, listening

    with listening(HOST, port) as listener:
        port = listener.getsockname()[1]
        access = Access(port)
        server = Server(create_app(sitting, access))
        url = f"{address(listener)}{START}?token={access.token}"
        link = f"Open this link, which works in one browser only: {url}"
        say("\n".join([*_about(sitting), link]))
        say("Press Ctrl-C to finish.")
        Thread(target=Candidates(sitting.table).load, daemon=True).start()
        with _browser(browser, url, sitting.log.path):
            server.run([listener])
    say("\n".join(_closing(sitting)))
    return INTERRUPTED if server.force_exit else 0


def _about(sitting: Review) -> Iterator[str]:
    from pipeline.review.queue import Filters

    systems = ", ".join(
        f"{system.upper()} {sitting.queue.progress(Filters(system=system)).left:,}"
        for system in sitting.table.systems
    )
    progress = sitting.queue.progress(Filters())
    items_left = how_many(progress.left, sitting.unit)
    yield f"to check: {items_left} ({systems}); decided: {progress.done:,}"
    if sitting.taken_over:
        yield f"Taken over from others: {sitting.taken_over:,} decisions"
    if sitting.conflicts:
        disputed = how_many(len(sitting.conflicts), sitting.unit)
        yield f"Reviewers disagree about {disputed}, shown first"
    yield f"Decisions: {sitting.log.path}"


def _closing(sitting: Review) -> Iterator[str]:
    made = how_many(sitting.made, "decision")
    yield f"{made} by {sitting.reviewer} saved in {sitting.log.path}"
    if not (sitting.made or sitting.taken_over or sitting.log.before.decisions):
        return
    named = in_shell(sitting.log.path)
    yield f"next, to write them into the table, repeat the run with --decisions {named}"


@contextmanager
def _browser(browser: webbrowser.BaseBrowser | None, url: str, decisions: Path) -> Iterator[None]:
    """Open a browser with a window, if there is one, for as long as the page is served.

    The link goes through a file that only the user can read, because other users of the machine
    can see the arguments of the browser's process.
    """
    if browser is None:
        yield
        return
    page = decisions.resolve().with_name(f"{decisions.name}.html")
    try:
        with translated(page, "--no-browser"):
            page.unlink(missing_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            with os.fdopen(os.open(page, flags, 0o600), "w", encoding="utf-8") as file:
                file.write(FORWARD.format(url=url))
        with suppress(webbrowser.Error):
            browser.open(page.as_uri())
        yield
    finally:
        page.unlink(missing_ok=True)


def _with_window() -> webbrowser.BaseBrowser | None:
    """Return the user's browser; None if there is none, or it would take over the terminal."""
    with suppress(webbrowser.Error):
        browser = webbrowser.get()
        return None if type(browser) is webbrowser.GenericBrowser else browser
    return None


def _user() -> str:
    with suppress(OSError, KeyError, ImportError):
        return getpass.getuser()
    return ""
