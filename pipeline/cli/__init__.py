"""The command line: arguments to settings to a job to an exit code."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from types import FrameType

import click

from pipeline.errors import PipelineError

__all__ = ["main"]

HUNG_UP, INTERRUPTED, TERMINATED = 129, 130, 143

STOPPED = {HUNG_UP: "Hung up", TERMINATED: "Terminated"}


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="tender-pipeline")
def app() -> None:
    """Tables of public tenders in, procurement codes out: CPV, PSC, UNSPSC and NAICS."""


def main() -> None:
    """Run the command line and exit with its code."""
    try:
        _open_closed_streams()
        _listen_for_signals()
        _add_commands()
        code = app(prog_name="tender-pipeline", standalone_mode=False)
    except PipelineError as error:
        _complain(f"Error: {error.message}\n{error.hint}")
        code = error.exit_code
    except click.ClickException as error:
        with suppress(OSError):
            error.show()
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        _complain("Interrupted; no output was written.")
        code = INTERRUPTED
    except SystemExit as stop:
        code = stop.code
        if code in STOPPED:
            _complain(f"{STOPPED[code]}; no output was written.")
    sys.exit(code)


def _add_commands() -> None:
    """Import the commands, as late as that, so that an interrupt finds `main` waiting for it."""
    from pipeline.cli.codes import codes
    from pipeline.cli.run import plan, run
    from pipeline.cli.serve import serve

    for command in (run, plan, codes, serve):
        app.add_command(command)


def _complain(text: str) -> None:
    """Print to standard error; if nobody can hear it, the exit code has to do."""
    with suppress(OSError):
        click.echo(text, err=True)


def _open_closed_streams() -> None:
    """Put the null device where a standard stream is closed (``2>&-``).

    Else the next file that is opened would get its number, and what is meant for the stream.
    Standard input stays ``None``: nothing is something else than an empty table.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def _listen_for_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup would have it
            signal.signal(number, _stop)


def _stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the signal's shape
    """Leave by way of every ``finally``, so that no half-written file stays."""
    raise SystemExit(128 + number)
