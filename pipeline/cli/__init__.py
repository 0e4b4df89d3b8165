"""The command line: arguments to settings to a job to an exit code."""

from __future__ import annotations

import signal
import sys
from types import FrameType

import click

from pipeline.cli.codes import codes
from pipeline.cli.run import run
from pipeline.errors import PipelineError

__all__ = ["main"]

INTERRUPTED, TERMINATED = 130, 143


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="tender-pipeline")
def app() -> None:
    """Tables of public tenders in, procurement codes out: CPV, PSC, UNSPSC and NAICS."""


app.add_command(run)
app.add_command(codes)


def main() -> None:
    """Run the command line and exit with its code."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        code = app(prog_name="tender-pipeline", standalone_mode=False)
    except PipelineError as error:
        click.echo(f"Error: {error.message}\n{error.hint}", err=True)
        code = error.exit_code
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted; no output was written.", err=True)
        code = INTERRUPTED
    sys.exit(code)


def _terminate(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the signal's shape
    """Leave by way of every ``finally``, so that no half-written file stays."""
    raise SystemExit(TERMINATED)
