"""The command line: from arguments to settings, to a job, to an exit code."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from pipeline.cli.signals import ENDED, INTERRUPTED, ended, leaving_at_once, listen

__all__ = ["main"]


def main() -> None:
    """Run the command line and exit with its code."""
    with leaving_at_once():
        _check_platform()
        import click

        from pipeline.cli.app import app
        from pipeline.errors import PipelineError
    try:
        _open_closed_streams()
        listen()
        code = app(prog_name="tender-pipeline", standalone_mode=False)
    except PipelineError as error:
        _complain(f"Error: {error.message}\n{error.hint}")
        code = error.exit_code
    except click.ClickException as error:
        with suppress(OSError):
            error.show()
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        _complain(ended(INTERRUPTED))
        code = INTERRUPTED
    except SystemExit as stop:
        code = stop.code
        if code in ENDED:
            _complain(ended(code))
    sys.exit(code)


def _check_platform() -> None:
    """Exit before importing modules that an unsupported system lacks."""
    from pipeline.errors import PipelineError
    from pipeline.platforms import check_platform

    try:
        check_platform()
    except PipelineError as error:
        _complain(f"Error: {error.message}\n{error.hint}")
        sys.exit(error.exit_code)


def _complain(text: str) -> None:
    """Print to standard error; if that fails, the exit code remains."""
    with suppress(OSError):
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def _open_closed_streams() -> None:
    """Open the null device in place of a closed standard stream (``2>&-``).

    Otherwise the next file to be opened would get the stream's number, and its output. Standard
    input stays ``None``: a closed input is not an empty table.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)
